"""Record the official conformance suite in both roles, through the recorder, and judge it: a session for each leg.

The suite talks to our server, and each of its servers to our client, with `mcp_ref trace --http` between them. What the
checker finds is held against `tests/data/conformance_findings.json`: each fault in it was judged by hand. All of them
are of the suite: peers that are hostile on purpose, and its mocks. One of ours, or a wrong rule, would fail the run.
Scenarios of authorization are left out: their documents name the server's address, which the recorder changes.

Traces are written below `build/conformance/sessions`. Options: `--only NAME` (legs whose names begin so, repeatable),
`--judge` (the traces that are there), `--update` (write the fixture anew; new faults get an empty reason, which fails).
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
from typing import Any, Dict, List

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE), str(HERE.parent / "tools")]

import conformance  # noqa: E402 - the paths come first
import environments  # noqa: E402
import foreign  # noqa: E402
from tests.support.patience import WAIT  # noqa: E402

FIXTURE = ROOT / "tests" / "data" / "conformance_findings.json"
TRACES = ROOT / "build" / "conformance" / "sessions"
FOLDER = "CONFORMANCE_TRACES"
RECORDER = [sys.executable, "-m", "mcp_ref", "trace", "--keep-host", "--out"]


def record_server(suite: conformance.Suite, leg: str) -> None:
    """Let the suite talk to our server."""
    options, choice = conformance.SERVER_LEGS[leg]
    folder = emptied(leg)
    with conformance.OurServer(options) as server:
        url = "http://127.0.0.1:%d/mcp" % server.port
        with foreign.proxied([*RECORDER, str(folder / "server.jsonl")], url, folder / "proxy.txt") as place:
            suite.call("server", "--url", place.replace("127.0.0.1", "localhost"), *choice, "-o", str(folder / "out"))


def record_client(suite: conformance.Suite, leg: str) -> None:
    """Let our client talk to the servers of the suite, which starts this file for each scenario."""
    choice, scenarios = conformance.CLIENT_LEGS[leg]
    os.environ[FOLDER] = str(emptied(leg))
    for name in scenarios:
        if not name.startswith("auth/"):
            suite.call("client", "--command", "%s %s" % (sys.executable, __file__), "--scenario", name,
                       "--spec-version", choice[1], "--timeout", "%d" % (1000 * WAIT), "--force",
                       "-o", os.environ[FOLDER] + "/out")


def be_client(url: str) -> int:
    """Run our client behind the recorder, as the suite asks for it."""
    folder, name = pathlib.Path(os.environ[FOLDER]), os.environ["MCP_CONFORMANCE_SCENARIO"]
    url += "/" * (url.count("/") < 3)
    with foreign.proxied([*RECORDER, str(folder / (name + ".jsonl"))], url, folder / (name + ".txt")) as place:
        command = [sys.executable, str(ROOT / "tests" / "conformance" / "client.py")]
        return subprocess.run([*command, place.replace("127.0.0.1", "localhost")]).returncode


def emptied(leg: str) -> pathlib.Path:
    """A folder for the traces of a leg, without those of another time."""
    folder = TRACES / leg.replace(" ", "-")
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.jsonl"):
        path.unlink()
    return folder


def judge(leg: str) -> Dict[str, Any]:
    """The faults of a leg by their ids."""
    from mcp_ref.devtools.checker import Checker
    from mcp_ref.devtools.checker.report import Report
    from mcp_ref.devtools.recorder.imported import imported

    faults: Dict[str, Dict[str, Any]] = {}
    messages = 0
    for trace in sorted((TRACES / leg.replace(" ", "-")).glob("*.jsonl")):
        checker = Checker()
        checker.check(imported(str(trace)))
        faults.update((group.finding.key, foreign.fault(group)) for group in Report(checker).groups)
        messages += checker.messages
    return {"faults": faults, "messages": messages} if messages else {"failed": "nothing was recorded"}


def updated(results: Dict[str, Any], fixture: Dict[str, Any]) -> Dict[str, Any]:
    """The fixture as these results would have it; the reasons stay."""
    sessions = dict(fixture["sessions"])
    sessions.update((leg, sorted(result["faults"])) for leg, result in results.items() if "failed" not in result)
    known = dict(fixture["faults"])
    for result in results.values():
        for key, each in result.get("faults", {}).items():
            row = {name: each[name] for name in ("rule", "verdict", "party", "method", "where", "evidence")}
            known[key] = {**row, **known.get(key, {"reason": ""})}
    return {"faults": {key: known[key] for key in sorted({key for keys in sessions.values() for key in keys})},
            "sessions": sessions}


def main() -> int:
    """Record, judge, compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    legs: List[str] = [leg for leg in (*conformance.SERVER_LEGS, *conformance.CLIENT_LEGS)
                       if leg != "client 2025-03-26" and (not options.only or leg.startswith(tuple(options.only)))]
    if not options.judge:
        try:
            suite = conformance.install()
        except environments.SetupError as error:
            environments.say("conformance sessions: NOTHING WAS JUDGED: %s" % error)
            return 2 if environments.in_ci() else 0
        for leg in legs:
            (record_server if leg in conformance.SERVER_LEGS else record_client)(suite, leg)
    results = {leg: judge(leg) for leg in legs}
    fixture = json.loads(FIXTURE.read_text("utf-8")) if FIXTURE.exists() else {"faults": {}, "sessions": {}}
    if options.update:
        fixture = updated(results, fixture)
        FIXTURE.write_text(json.dumps(fixture, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    wrong = foreign.differences(results, fixture)
    print("\n".join(["%s: %d messages, %d faults" % (leg, result.get("messages", 0), len(result.get("faults", ())))
                     for leg, result in results.items()] + wrong))
    print("conformance sessions: %d legs, %d differences" % (len(results), len(wrong)))
    return 1 if wrong or not results else 0


if __name__ == "__main__":
    sys.exit(be_client(sys.argv[-1]) if FOLDER in os.environ else main())
