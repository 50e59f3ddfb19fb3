"""Examine servers of other makers, and compare what is found with what was judged by hand: `make examined`.

`examined_servers` has the table; each is put through every revision that it speaks by ``mcp_ref examine``, which
writes its report and the trace below `build/examine`. The faults are held against
`tests/examiner/data/servers.json`: each in it was judged by hand against the page of its revision. A server with
another fault fails the run, and so does one without a fault that the fixture names for it, unless that comes
`sometimes`. What came of the requirements is told as a table, in figures.

Where the programs cannot be fetched, this says so and ends with 0, or with 2 in a judge's run (`CI`).

With `--suite` the official conformance suite looks at three of them over HTTP as well (`examined_suite`). What both
look at they have to agree about, or the fixture has the reason why not. With `--clients` clients are examined in the
place of servers, see `examine_clients`.

Options: `--suite`, `--clients`, `--only NAME` (servers whose names begin so, repeatable), `--list`, `--judge` (the
reports that are there), `--update` (write the fixture anew; new faults get an empty judgement, which fails the next
run).
"""
import argparse
import concurrent.futures
import json
import pathlib
import shutil
import subprocess
import sys
import time
from functools import partial
from typing import Any, Dict, List

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE), str(HERE.parent / "tools")]

import environments  # noqa: E402 - the paths come first
import examine_clients  # noqa: E402
from examined_servers import SERVERS, Examined, Programs, install, reached  # noqa: E402
from tests.support.patience import patience  # noqa: E402

FIXTURE = ROOT / "tests" / "examiner" / "data" / "servers.json"
REPORTS = ROOT / "build" / "examine"
SECONDS = 600
WORKERS = 3  # they wait more than they work
TRIES = 2
STATES = ("kept", "broken", "warned", "not examined", "cannot tell")


class ExaminationFailed(Exception):
    """There is no report."""


def examine(programs: Any, server: Examined) -> None:
    """Examine one; its report and its trace are written."""
    folder = REPORTS / server.name
    shutil.rmtree(str(folder), ignore_errors=True)
    work = folder / "work"
    work.mkdir(parents=True)
    started = time.monotonic()
    with reached(server, programs, str(work)) as target, open(str(folder / "said.txt"), "wb") as said:
        command = [sys.executable, "-m", "mcp_ref", "examine", "--timeout", "%.1f" % patience(10), "--json",
                   "--out", str(folder / "report.json"),
                   "--trace=" + str(folder / "trace.jsonl"), *server.options, *target]
        code = subprocess.run(command, cwd=str(ROOT), stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                              timeout=SECONDS).returncode
    if code not in (0, 1):
        raise ExaminationFailed("examine ended with %d; see %s" % (code, said.name))
    (folder / "seconds.txt").write_text("%.1f" % (time.monotonic() - started), encoding="utf-8")


def result(server: Examined) -> Dict[str, Any]:
    """What the report says: the figures of each revision, and the faults."""
    report = json.loads((REPORTS / server.name / "report.json").read_text("utf-8"))
    states = {name: {id: row["state"] for id, row in each["requirements"].items()}
              for name, each in report["revisions"].items() if each["spoken"]}
    totals = {name: each["totals"] for name, each in report["revisions"].items() if each["spoken"]}
    return {"revisions": totals, "states": states, "faults": {each["key"]: each for each in report["faults"]},
            "seconds": float((REPORTS / server.name / "seconds.txt").read_text("utf-8"))}


def attempt(programs: Any, server: Examined) -> Dict[str, Any]:
    """Examine one and read its report; what went wrong has the member `failed`."""
    said = ""
    for _ in range(TRIES if programs else 1):
        try:
            if programs:
                examine(programs, server)
            return result(server)
        except Exception as error:
            said = "%s: %s" % (type(error).__name__, error)
    return {"failed": said}


def differences(results: Dict[str, Any], fixture: Dict[str, Any]) -> List[str]:
    """What is not as the fixture has it."""
    wrong = []
    for name, found in results.items():
        if "failed" in found:
            wrong.append("%s: %s" % (name, found["failed"]))
            continue
        known = fixture["servers"].get(name, {"faults": {}, "family": ""})
        sometimes = {each["key"] for each in fixture["faults"] if each.get("sometimes")}
        for key, fault in found["faults"].items():
            if known["faults"].get(key) != fault["revisions"] and key not in sometimes:
                wrong.append("%s: %s: %s in %s, expected in %s" % (
                    name, key, fault["evidence"], fault["revisions"], known["faults"].get(key)))
        wrong += ["%s: not found: %s" % (name, key) for key in known["faults"]
                  if key not in found["faults"] and key not in sometimes]
    return wrong + ["%s: %s has no judgement" % (each["family"], each["key"])
                    for each in fixture["faults"] if not each["judgement"]]


def walk(name: str, commands: Dict[str, List[str]]) -> None:
    """Examine one whose program `make interop` has, and compare."""
    server = next(each for each in SERVERS if each.name == name)
    programs = Programs(commands, {"mcp_1": commands["official_v1"][0]}, {})
    wrong = differences({name: attempt(programs, server)}, json.loads(FIXTURE.read_text("utf-8")))
    if wrong:
        raise ExaminationFailed("\n".join(wrong))


QUICK = {"examined-" + name: partial(walk, name) for name in ("python1-json",)}
"""Pairings of `make interop`, by name, as functions of the peers' commands; others take minutes."""


def update(results: Dict[str, Any], fixture: Dict[str, Any]) -> Dict[str, Any]:
    """The fixture as these results would have it; the judgements stay."""
    servers, known = dict(fixture["servers"]), {(each["family"], each["key"]): each for each in fixture["faults"]}
    faults = {}
    for server in SERVERS:
        found = results.get(server.name, {"failed": ""})
        if "failed" not in found:
            kept = {key: spoken for key, spoken in servers.get(server.name, {}).get("faults", {}).items()
                    if known.get((server.family, key), {}).get("sometimes")}
            servers[server.name] = {
                "family": server.family, "version": server.version, "wire": server.wire,
                "revisions": found["revisions"], "seconds": found["seconds"],
                "faults": {**kept, **{key: each["revisions"] for key, each in found["faults"].items()}}}
        for key, each in found.get("faults", {}).items():
            row = {"family": server.family, **{member: each[member] for member in (
                "key", "id", "level", "scene", "evidence", "citation")}}
            before = known.get((server.family, key), {})
            known[server.family, key] = {**row, "judgement": before.get("judgement", ""), **(
                {"sometimes": True} if before.get("sometimes") else {})}
        for key in servers.get(server.name, {}).get("faults", {}):
            faults[server.family, key] = known[server.family, key]
    return {**fixture, "servers": {each.name: servers[each.name] for each in SERVERS if each.name in servers},
            "faults": [faults[place] for place in sorted(faults)]}


def against_suite(programs: Any, results: Dict[str, Any], fixture: Dict[str, Any]) -> List[str]:
    """Compare with the official suite, and note it in the fixture; what has no reason there."""
    import examined_suite

    chosen = [each for each in SERVERS
              if each.name in examined_suite.SERVERS and "states" in results.get(each.name, {})]
    rows = examined_suite.compare({each.name: each.command(programs, "") for each in chosen},
                                  {each.name: results[each.name]["states"] for each in chosen})
    reasons = {(row["server"], row["revision"], row["check"]): row.get("reason", "")
               for row in fixture.get("suite", ())}
    noted = [{**row._asdict(), **({} if row.agree else {"reason": reasons.get(
        (row.server, row.revision, row.check), "")})} for row in rows]
    fixture["suite"] = [row for row in fixture.get("suite", ())
                        if row["server"] not in {each.name for each in chosen}] + noted
    print("the official suite: %d checks, %d differ" % (len(noted), sum("reason" in row for row in noted)))
    return ["the official suite: no reason: %s" % row for row in noted if row.get("reason") == ""]


def table(results: Dict[str, Any]) -> List[str]:
    """The figures."""
    lines = ["%-18s %-11s%s%9s" % ("server", "revision", "".join("%14s" % state for state in STATES), "seconds")]
    for name, found in results.items():
        for revision, totals in found.get("revisions", {}).items():
            lines.append("%-18s %-11s%s%9.1f" % (
                name, revision, "".join("%14d" % totals[state] for state in STATES), found["seconds"]))
    return lines


def main() -> int:
    """Examine, compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--suite", action="store_true")
    parser.add_argument("--clients", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    if options.clients:
        return examine_clients.run(options)
    chosen = [each for each in SERVERS if not options.only or each.name.startswith(tuple(options.only))]
    if options.list:
        print("\n".join("%-18s %s, %s" % (each.name, each.version, each.wire) for each in chosen))
        return 0
    try:
        programs = None if options.judge else install()
    except environments.SetupError as error:
        environments.say("examined: NOTHING WAS EXAMINED: %s" % error)
        return 2 if environments.in_ci() else 0
    started = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        results = {}
        for server, found in zip(chosen, pool.map(lambda server: attempt(programs, server), chosen)):
            results[server.name] = found
            print(json.dumps({"server": server.name, "revisions": list(found.get("revisions", ())),
                              "faults": len(found.get("faults", ())), "seconds": found.get("seconds"),
                              "failed": found.get("failed")}), flush=True)
    fixture = json.loads(FIXTURE.read_text("utf-8")) if FIXTURE.exists() else {"servers": {}, "faults": []}
    if options.update:
        fixture = update(results, fixture)
    wrong = against_suite(programs or install(), results, fixture) if options.suite else []
    wrong += differences(results, fixture)
    if options.update:
        FIXTURE.parent.mkdir(exist_ok=True)
        FIXTURE.write_text(json.dumps(fixture, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print("\n".join([*table(results), *wrong]))
    print("examined: %d servers, %d differences, %.0f s" % (len(results), len(wrong), time.monotonic() - started))
    return 1 if wrong or not results else 0


if __name__ == "__main__":
    sys.exit(main())
