"""Where a server's time goes: `python3 tests/bench/profile_server.py [OPTION ...] [SERVER ...]`, see `--help`.

Runs the server (subject.py unless another is named) in a process of its own under cProfile, in all of its
threads, feeds it `echo` calls through its pipes, or over HTTP, as the benchmark does, checks the answers, and prints
the functions that took most of the time. Functions written in C count as their own rows.

The clock is the processor time of each thread (`--clock wall` for real time): waiting for a lock, for the GIL or for
bytes is not counted, and what remains is work. Profiling makes small functions look worse than they are; check a
finding with run.py. Up to CPython 3.11 only: later cProfile watches all threads at once and mixes them up.
"""
import argparse
import cProfile
import functools
import io
import os
import pathlib
import pstats
import runpy
import sys
import tempfile
import threading
import time
from typing import Any, Callable, Dict, List

from http_peer import HttpPeer
from measures import ECHO
from peer import Peer, WrongAnswer

HERE = pathlib.Path(__file__).resolve().parent


def processor_clock() -> Callable[[], float]:
    """A clock of this thread's processor time, whoever reads it: the last reading is the main thread's."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.thread_time
    return functools.partial(time.clock_gettime, time.pthread_getcpuclockid(threading.get_ident()))


CLOCKS: Dict[str, Callable[[], Callable[[], float]]] = {"cpu": processor_clock, "wall": lambda: time.perf_counter}


def serve(clock: str, out: str, command: List[str]) -> None:
    """The profiled process: run the server's file as a program; write the statistics when it ends."""
    profiles: List[cProfile.Profile] = []

    def begin(*event: Any) -> None:
        profile = cProfile.Profile(CLOCKS[clock]())
        profiles.append(profile)
        profile.enable()  # takes the place of this function in its thread

    threading.setprofile(begin)
    sys.argv = command
    begin()
    try:
        runpy.run_path(command[0], run_name="__main__")
    except SystemExit:
        pass
    finally:
        profiles[0].disable()
        threading.setprofile(None)
        statistics = pstats.Stats(profiles[0])
        for profile in profiles[1:]:
            if profile.getstats():
                statistics.add(profile)
        statistics.dump_stats(out)


def feed(peer: Peer, calls: int, window: int, stateless: bool) -> float:
    """Send the calls and return how many went through per second."""
    peer.discover() if stateless else peer.initialize()
    return calls / peer.asked(ECHO, ["call %d" % number for number in range(calls)], window)


def main() -> None:
    """Profile and print."""
    if sys.argv[1:2] == ["--serve"]:
        return serve(sys.argv[2], sys.argv[3], sys.argv[4:])
    options = parsed()
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "profile")
        command = [sys.executable, __file__, "--serve", options.clock, out, *options.server]
        environment = dict(os.environ, PYTHONPATH=str(HERE.parents[1]))
        try:
            with (HttpPeer if options.http else Peer)(command, environment) as peer:
                print("%.0f calls/s under the profiler" % feed(peer, options.calls, options.window, options.stateless))
            text = shown(out, options)
        except (WrongAnswer, OSError) as error:
            raise SystemExit("no profile: %s" % error)
    print(text)


def shown(out: str, options: argparse.Namespace) -> str:
    """The statistics as text, paths shortened to where they start to differ."""
    stream = io.StringIO()
    statistics = pstats.Stats(out, stream=stream).sort_stats(options.sort)
    statistics.print_stats(options.rows)
    if options.callers:
        statistics.print_callers(options.callers)
    text = stream.getvalue()
    for folder in (str(HERE), str(HERE.parents[1]), os.path.dirname(os.__file__)):
        text = text.replace(folder + os.sep, "")
    return text


def parsed() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--http", action="store_true", help="over HTTP; the window counts connections")
    parser.add_argument("--stateless", action="store_true", help="without a handshake")
    parser.add_argument("--calls", type=int, default=20000, metavar="N", help="calls of echo (default 20000)")
    parser.add_argument("--window", type=int, default=64, metavar="N", help="calls in flight (default 64; 1: in turn)")
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="cpu", help="what is counted (default cpu)")
    parser.add_argument("--sort", choices=("tottime", "cumtime", "ncalls"), default="tottime", help="order of the rows")
    parser.add_argument("--rows", type=int, default=40, metavar="N", help="rows to print (default 40)")
    parser.add_argument("--callers", metavar="REGEX", help="print who calls the functions whose name matches, too")
    parser.add_argument("server", nargs=argparse.REMAINDER, help="file of the server and its arguments")
    options = parser.parse_args()
    options.server = options.server or [str(HERE / "subject.py"), *["--http"] * options.http]
    if sys.version_info >= (3, 12):
        parser.error("needs CPython 3.8 to 3.11: from 3.12 on cProfile mixes threads up")
    return options


if __name__ == "__main__":
    main()
