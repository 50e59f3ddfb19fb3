"""Record sessions between programs of other makers, and judge each: `make foreign`. It takes about ten minutes.

None of the programs is ours, but for the recorder between them (`mcp_ref trace`). `foreign_sessions` has the table;
each trace is written below `build/foreign`. What the checker finds is held against `tests/data/foreign_findings.json`:
each fault in it was judged by hand against the page of its revision. A session with another fault fails the run, and so
does one without a fault that the fixture names for it, unless that comes `sometimes`.

Where the programs cannot be fetched, this says so and ends with 0, or with 2 in a judge's run (`CI`).

Options: `--only NAME` (sessions whose names begin so, repeatable), `--list`, `--judge` (the traces that are there),
`--update` (write the fixture anew; new faults get an empty reason, which fails the next run).
"""
import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
from typing import Any, Dict, Iterator, List, NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE), str(HERE.parent / "tools")]

import environments  # noqa: E402 - the paths come first
import http_walks  # noqa: E402
import peers  # noqa: E402
import small_servers  # noqa: E402
from foreign_sessions import SESSIONS, Session  # noqa: E402
from tests.support.patience import WAIT  # noqa: E402

FIXTURE = ROOT / "tests" / "data" / "foreign_findings.json"
TRACES = ROOT / "build" / "foreign"
SECONDS = 600
WORKERS = 5  # sessions wait more than they work
TRIES = 2  # a program may be slow to start beside the others
PATHS = {"http": "/mcp", "sse": "/sse", "py1.9": "/mcp/"}  # it redirects from /mcp, past the recorder
FASTMCP_NAMES = {"http": "http", "sse": "sse"}
EVERYTHING_NAMES = {"http": "streamableHttp", "sse": "sse"}


class SessionFailed(Exception):
    """A session could not be had: there is nothing to judge."""


class Programs(NamedTuple):
    """Where the programs are."""

    commands: Dict[str, List[str]]
    fastmcp: str
    first_typescript: Dict[str, str]
    earlier: Dict[str, str]
    """Those of earlier revisions: interpreters, and folders for NODE_PATH."""


def install() -> Programs:
    """Fetch them. SetupError where that is not possible."""
    return Programs(peers.install(), peers.fastmcp(), peers.first_typescript(), peers.earlier())


def server_command(programs: Programs, session: Session, folder: str) -> List[str]:
    """The command of a server; over HTTP with ``{port}``."""
    commands, name, web = programs.commands, session.server, session.transport != "stdio"
    if name in programs.earlier:
        return earlier_command(programs, session, folder)
    if name == "everything":
        return [*commands[name], EVERYTHING_NAMES[session.transport] if web else "stdio"]
    if name == "fastmcp":
        return [programs.fastmcp, str(HERE / "fastmcp_server.py"),
                *(["{port}", FASTMCP_NAMES[session.transport]] if web else [])]
    if name in ("python", "typescript"):
        script = {"python": "official_server_v2.py", "typescript": "typescript_server.cjs"}[name]
        peer = {"python": "official_v2", "typescript": "typescript"}[name]
        return [*commands[peer], str(HERE / script), *(["{port}"] if web else [])]
    if name.startswith("mcp"):
        maker, mode = name.split("_")
        mode = {"streamable": "streamable-http"}.get(mode, mode)
        return [*commands["official_v" + maker[3]], str(HERE / "official_everything_http.py"), "{port}", mode]
    more = {"filesystem": [folder], "git": ["--repository", folder], "sqlite": ["--db-path", folder + "/places.db"]}
    return [*commands[name], *more.get(name, [])]


def earlier_command(programs: Programs, session: Session, folder: str) -> List[str]:
    """The command of a server of an earlier revision."""
    name, place = session.server, programs.earlier[session.server]
    if name.startswith("everything"):
        script = os.path.join(place, "@modelcontextprotocol", "server-everything", "dist", "index.js")
        return [*programs.commands["typescript"], script, EVERYTHING_NAMES.get(session.transport, "stdio")]
    if name.startswith("py"):
        mode = "sse" if session.transport == "sse" else session.what or "streamable-http"
        return [place, str(HERE / "official_everything_http.py"), "{port}", mode]
    more = ["--repository", folder] if name == "git0" else []
    return [str(pathlib.Path(place).with_name("mcp-server-" + name[:-1])), *more]


def client_command(programs: Programs, session: Session) -> List[str]:
    """The command of a client; what it talks to comes behind."""
    if session.client == "inspector":
        return [*programs.commands["inspector"], "--cli"]
    if session.client in programs.earlier and session.client.startswith("py"):
        return [programs.earlier[session.client], str(HERE / "foreign_client.py")]
    if session.client.startswith("ts"):
        return [*programs.commands["typescript"], str(HERE / "foreign_client.cjs")]
    return [*programs.commands["official_v" + session.client[2]], str(HERE / "foreign_client.py")]


def client_environment(programs: Programs, session: Session, folder: str) -> Dict[str, str]:
    """The variables of a client; a server over stdio has them too."""
    node = programs.first_typescript if session.client == "ts1" else peers.node_path()
    if session.client in programs.earlier:
        node = {"NODE_PATH": programs.earlier[session.client]}
    if session.client == "ts1" and session.server == "typescript":
        node = {"NODE_PATH": os.pathsep.join([node["NODE_PATH"], peers.node_path()["NODE_PATH"]])}
    steps = json.dumps(session.steps).replace("{folder}", folder)
    return dict(os.environ, PYTHONPATH=str(ROOT), PYTHONDONTWRITEBYTECODE="1", FOREIGN_STEPS=steps,
                FOREIGN_SDK=session.client[2:3], FOREIGN_MODE=session.mode, FOREIGN_ANSWER=session.answer,
                FOREIGN_END=session.end, FOREIGN_TASKS=session.tasks, MCP_CATALOG_PATH=folder + "/catalog.json",
                MEMORY_FILE_PATH=folder + "/memory.jsonl", **node)


def record(programs: Programs, session: Session) -> None:
    """Let them talk."""
    folder = TRACES / session.name
    shutil.rmtree(str(folder), ignore_errors=True)
    work = folder / "work"
    work.mkdir(parents=True)
    if session.server in ("git", "git0"):
        small_servers.repository(str(work))
    environment = client_environment(programs, session, str(work))
    command = server_command(programs, session, str(work))
    proxy = [sys.executable, "-m", "mcp_ref", "trace", "--out", str(folder / "trace.jsonl")]
    with open(str(folder / "client.txt"), "wb") as said:
        if session.transport == "stdio":
            shim = [sys.executable, str(HERE / "foreign_shim.py"), str(folder)]
            _talk(programs, session, [*shim, *command], environment, said)
        else:
            path = PATHS.get(session.server, PATHS[session.transport])
            with http_walks.serving(command, path, PORT="{port}", **peers.node_path()) as url:
                with proxied(proxy, url, folder / "proxy.txt") as place:
                    _talk(programs, session, [place], environment, said)


def _talk(programs: Programs, session: Session, target: List[str], environment: Dict[str, str], said: Any) -> None:
    command = [*client_command(programs, session), *target]
    if session.client == "inspector":
        command += ["--method", *session.steps]
    done = subprocess.run(command, env=environment, cwd=str(TRACES / session.name / "work"), timeout=SECONDS,
                          stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
    if done.returncode:
        raise SessionFailed("the client ended with %d; see %s" % (done.returncode, said.name))


@contextlib.contextmanager
def proxied(proxy: List[str], url: str, said: pathlib.Path) -> Iterator[str]:
    """The URL of the proxy before a server."""
    port, path = http_walks.free_port(), url.split("/", 3)[3]
    with open(str(said), "wb") as errors:
        process = subprocess.Popen([*proxy, "--http", "127.0.0.1:%d" % port, url], cwd=str(ROOT),
                                   stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)
    try:
        end = time.monotonic() + WAIT
        while not http_walks._answers(port):
            if process.poll() is not None or time.monotonic() > end:
                raise SessionFailed("the proxy did not start; see %s" % said)
            time.sleep(0.05)
        yield "http://127.0.0.1:%d/%s" % (port, path)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(WAIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def judge(session: Session) -> Dict[str, Any]:
    """The faults in a session by their ids, and which revisions were spoken."""
    from mcp_ref.devtools.checker import Checker
    from mcp_ref.devtools.checker.report import WIDTH, Report
    from mcp_ref.devtools.recorder.imported import imported

    faults: Dict[str, Dict[str, Any]] = {}
    revisions, messages = set(), 0
    for trace in sorted((TRACES / session.name).glob("trace*.jsonl")):
        checker = Checker()
        checker.check(imported(str(trace)))
        report = Report(checker, trace.name)
        if max(map(len, report.lines(True))) > WIDTH:
            raise SessionFailed("the report of %s is wider than %d columns" % (trace, WIDTH))
        faults.update((group.finding.key, fault(group)) for group in report.groups)
        revisions.update(name for _, name in checker.seen if name)
        messages += checker.messages
    if not messages:
        raise SessionFailed("nothing was recorded")
    return {"faults": faults, "revisions": sorted(revisions), "messages": messages}


def fault(group: Any) -> Dict[str, Any]:
    """One of them."""
    first = group.finding
    return {"rule": first.rule.id, "verdict": first.verdict, "party": first.party, "method": first.method,
            "where": first.where, "times": group.times, "evidence": first.evidence}


def attempt(programs: Any, session: Session) -> Dict[str, Any]:
    """Record and judge one session; what went wrong has the member `failed`."""
    said = ""
    for _ in range(TRIES if programs else 1):
        try:
            if programs:
                record(programs, session)
            return judge(session)
        except Exception as error:
            said = "%s: %s" % (type(error).__name__, error)
    return {"failed": said}


def differences(results: Dict[str, Any], fixture: Dict[str, Any]) -> List[str]:
    """What is not as the fixture has it."""
    wrong = []
    for name, result in results.items():
        if "failed" in result:
            wrong.append("%s: %s" % (name, result["failed"]))
            continue
        expected = set(fixture["sessions"].get(name, ()))
        for key in sorted(set(result["faults"]) - expected):
            wrong.append("%s: not expected: %s %s" % (name, key, result["faults"][key]))
        sometimes = {key for key in expected if fixture["faults"][key].get("sometimes")}
        for key in sorted(expected - sometimes - set(result["faults"])):
            wrong.append("%s: not found: %s" % (name, key))
    wrong += ["%s has no reason" % key for key, each in fixture["faults"].items() if not each["reason"]]
    return wrong


def update(results: Dict[str, Any], fixture: Dict[str, Any]) -> Dict[str, Any]:
    """The fixture as these results would have it; the reasons stay."""
    sessions, faults = dict(fixture["sessions"]), {}
    known = dict(fixture["faults"])
    for name, result in results.items():
        if "failed" in result:
            continue
        kept = [key for key in sessions.get(name, ()) if known.get(key, {}).get("sometimes")]
        sessions[name] = sorted({*result["faults"], *kept})
        for key, each in result["faults"].items():
            row = {member: each[member] for member in ("rule", "verdict", "party", "method", "where", "evidence")}
            known[key] = {**row, **known.get(key, {"reason": ""})}
    for key in sorted({key for keys in sessions.values() for key in keys}):
        faults[key] = known[key]
    return {"faults": faults, "sessions": {session.name: sessions[session.name] for session in SESSIONS
                                           if session.name in sessions}}


def main() -> int:
    """Record, judge, compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    chosen = [each for each in SESSIONS if not options.only or each.name.startswith(tuple(options.only))]
    if options.list:
        print("\n".join(each.name for each in chosen))
        return 0
    try:
        programs = None if options.judge else install()
    except environments.SetupError as error:
        environments.say("foreign: NOTHING WAS JUDGED: %s" % error)
        return 2 if environments.in_ci() else 0
    started = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        found = pool.map(lambda session: attempt(programs, session), chosen)
        results = {}
        for session, result in zip(chosen, found):
            results[session.name] = result
            print(json.dumps({"session": session.name, "revisions": result.get("revisions"),
                              "messages": result.get("messages"), "faults": len(result.get("faults", ())),
                              "failed": result.get("failed")}), flush=True)
    fixture = json.loads(FIXTURE.read_text("utf-8")) if FIXTURE.exists() else {"faults": {}, "sessions": {}}
    if options.update:
        fixture = update(results, fixture)
        FIXTURE.write_text(json.dumps(fixture, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    wrong = differences(results, fixture)
    print("\n".join(wrong))
    print("foreign: %d sessions, %d differences, %.0f s" % (len(results), len(wrong), time.monotonic() - started))
    return 1 if wrong or not results else 0


if __name__ == "__main__":
    sys.exit(main())
