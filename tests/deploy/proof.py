"""The run itself; `run` calls it with the libraries that it needs: ``proof.py --seconds N --clients N ...``."""
import argparse
import contextlib
import pathlib
import sys
import tempfile
import time
from typing import Callable, Dict, List, Tuple

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE)]

from cluster import Cluster  # noqa: E402
from load import Load, figures  # noqa: E402

AWAY = 0.04
"""The part of the run for which a host is away."""


def schedule(cluster: Cluster, seconds: float) -> List[Tuple[float, Callable[[], None], Callable[[], None], float]]:
    """When to kill what, how it comes back, and after how many seconds."""
    one, two, three = cluster.hosts

    def both(*hosts: "object") -> Tuple[Callable[[], None], Callable[[], None]]:
        def kill() -> None:
            for host in hosts:
                host.kill()  # type: ignore[attr-defined]

        def back() -> None:
            for host in hosts:
                host.start()  # type: ignore[attr-defined]
            for host in hosts:
                host.wait()  # type: ignore[attr-defined]

        return kill, back

    redis = (cluster.redis.kill, cluster.redis.start)
    plan = [(0.15, *both(one), AWAY), (0.40, *redis, 0.0), (0.60, *both(two), AWAY)]
    if seconds > 100:
        plan += [(0.72, *both(three), AWAY), (0.82, *both(one, two), AWAY)]
    return [(share * seconds, kill, back, away * seconds) for share, kill, back, away in plan]


def interrupt(load: Load, cluster: Cluster, seconds: float) -> None:
    """Kill and start again what the schedule says."""
    for at, kill, back, away in schedule(cluster, seconds):
        time.sleep(max(0.0, load.origin + at - time.monotonic()))
        begin = time.monotonic()
        load.interrupted.append((begin, float("inf")))
        kill()
        time.sleep(away)
        back()
        load.interrupted[-1] = (begin, time.monotonic())
        print("killed at %.1f s, back after %.1f s" % (begin - load.origin, time.monotonic() - begin), flush=True)


def main() -> int:
    """Run, say what came out, and return 1 for a fault."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--clients", type=int, required=True)
    parser.add_argument("--nginx", required=True)
    parser.add_argument("--pause", type=float, default=2.0, help="seconds between two steps of a client")
    parser.add_argument("--slow", type=float, default=0.0, help="seconds that the store takes for each command")
    parser.add_argument("--ahead", type=float, default=0.0, help="seconds by which the clock of one host is ahead")
    parser.add_argument("--keep", action="store_true", help="leave the logs where they are")
    options = parser.parse_args()
    wrong: Dict[str, str] = {}
    if options.ahead:
        wrong = {"MCP_TEST_AHEAD": str(options.ahead)}
    with contextlib.ExitStack() as stack:
        made = tempfile.mkdtemp() if options.keep else stack.enter_context(tempfile.TemporaryDirectory())
        folder = pathlib.Path(made)
        (folder / "a cluster").mkdir()
        cluster = Cluster(folder / "a cluster", sys.executable, options.nginx, options.slow, wrong)
        with cluster.running():
            load = Load(cluster, options.clients, options.seconds, options.pause)
            threads = load.run()
            load.origin = time.monotonic()
            interrupt(load, cluster, options.seconds)
            for thread in threads:
                thread.join()
        resumed = (folder / "a cluster" / "resumed.log").read_text().count(" 200\n")
        said = (folder / "a cluster" / "error.log").read_text(errors="replace")
        logs = "".join(path.read_text(errors="replace") for path in (folder / "a cluster").glob("host*.log"))
    print("\n".join(figures(load)))
    for what in ("no live upstreams", "upstream timed out", "reset by peer", "prematurely closed"):
        print("nginx says `%s`: %d times" % (what, said.count(what)))
    print("streams that were resumed at any host: %d" % resumed)
    print("errors in the logs of hosts: %d" % logs.count("Traceback"))
    for fault in load.faults[:40]:
        print("FAULT: %s" % fault)
    if options.keep:
        print(folder)
    return int(bool(load.faults))


if __name__ == "__main__":
    sys.exit(main())
