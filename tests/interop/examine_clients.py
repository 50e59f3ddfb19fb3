"""Examine clients of other makers, and compare with what was judged by hand: `make examined ARGS=--clients`.

`examine_servers` calls this, and has made the paths. `examined_clients` has the clients; each is put through revisions
and transports by ``mcp_ref examine --client``, which writes its report and its trace below `build/examine_clients`. The
faults are held against `tests/examiner/real_clients.tsv`: each in it was judged by hand
against the page of its revision. Another fault fails the run, and so does one that the table names and that did not
come, unless it comes ``sometimes``. Rows that are ``mended`` were faults of the examiner, and must not come again.
`tests/examiner/real_clients_figures.tsv` has what came of the requirements, in figures.

Where the programs cannot be fetched, this says so and ends with 0, or with 2 in a judge's run (`CI`).

Options: `--only NAME` (runs whose names begin so, repeatable), `--list`, `--judge` (the reports that are there),
`--update` (write the figures anew, and new faults with an empty judgement, which fails the next run).
"""
import argparse
import csv
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import environments
from examined_clients import CLIENTS, Client, Programs, Run, install
from tests.support.patience import patience

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAULTS = ROOT / "tests" / "examiner" / "real_clients.tsv"
FIGURES = FAULTS.with_name("real_clients_figures.tsv")
REPORTS = ROOT / "build" / "examine_clients"
SECONDS = 600
STATES = ("kept", "broken", "warned", "not examined", "cannot tell")
WHO = ("client", "version", "over", "revision")
WHAT = ("scene", "id")
_FIELDS = (*WHO, *WHAT, "judged", "why")
Row = Dict[str, str]


class ExaminationFailed(Exception):
    """There is no report."""


def name_of(client: Client, run: Run) -> str:
    """The name of a run, which is that of its folder."""
    return "%s-%s-%s" % (client.name, run.over, run.revision)


def examine(programs: Programs, client: Client, run: Run) -> None:
    """Examine one; its report and its trace are written."""
    folder = REPORTS / name_of(client, run)
    shutil.rmtree(str(folder), ignore_errors=True)
    work = folder / "work"
    work.mkdir(parents=True)
    variables = dict(os.environ, HOME=str(work), MCP_REMOTE_CONFIG_DIR=str(work))
    if client.library:
        variables["NODE_PATH"] = programs.modules[client.library]
    command = [sys.executable, "-m", "mcp_ref", "examine", "--client", "--inherit-env",
               "--timeout", "%.1f" % patience(2), "--json", "--out", str(folder / "report.json"),
               "--trace=" + str(folder / "trace.jsonl"), "--over", run.over, "--revision", run.revision,
               *(word for scene in run.scenes for word in ("--only", scene)),
               " ".join(map(shlex.quote, client.words(programs, run)))]
    started = time.monotonic()
    with open(str(folder / "said.txt"), "wb") as said:
        code = subprocess.run(command, cwd=str(ROOT), env=variables, stdin=subprocess.DEVNULL, stdout=said,
                              stderr=said, timeout=SECONDS).returncode
    if code not in (0, 1):
        raise ExaminationFailed("examine ended with %d; see %s" % (code, said.name))
    (folder / "seconds.txt").write_text("%.1f" % (time.monotonic() - started), encoding="utf-8")


def result(client: Client, run: Run) -> Dict[str, Any]:
    """What the report says: the figures, the scenes that were played, and the faults."""
    folder = REPORTS / name_of(client, run)
    report = json.loads((folder / "report.json").read_text("utf-8"))
    chapter = report["revisions"][run.revision]
    if not chapter["spoken"]:
        raise ExaminationFailed(chapter["why"])
    return {"who": (client.client, client.version, run.over, run.revision), "totals": chapter["totals"],
            "played": [scene for scene, why in chapter["scenes"].items() if not why],
            "faults": {(each["scene"] or "", each["id"]): each["evidence"] for each in report["faults"]},
            "seconds": (folder / "seconds.txt").read_text("utf-8")}


def attempt(programs: Optional[Programs], client: Client, run: Run) -> Dict[str, Any]:
    """Examine one and read its report; what went wrong has the member `failed`."""
    try:
        if programs:
            examine(programs, client, run)
        return result(client, run)
    except (ExaminationFailed, OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
        return {"failed": "%s: %s" % (type(error).__name__, error)}


def read() -> List[Row]:
    """The judged faults."""
    with FAULTS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def key(row: Row) -> Tuple[str, ...]:
    """What a row is about."""
    return tuple(row[name] for name in (*WHO, *WHAT))


def found_by(results: Dict[str, Any]) -> Dict[Tuple[str, ...], str]:
    """The faults of all runs, with the evidence."""
    return {(*found["who"], *what): evidence for found in results.values() if "failed" not in found
            for what, evidence in found["faults"].items()}


def differences(results: Dict[str, Any], rows: List[Row]) -> Iterator[str]:
    """What is not as the table has it."""
    known, found = {key(row): row for row in rows}, found_by(results)
    played = {(*each["who"], scene) for each in results.values() if "failed" not in each for scene in each["played"]}
    for name, each in results.items():
        if "failed" in each:
            yield "%s: %s" % (name, each["failed"])
    for what, evidence in found.items():
        if known.get(what, {}).get("judged") not in ("fault", "sometimes"):
            yield "not in the table: %s: %s" % (", ".join(what), evidence)
    for what, row in known.items():
        if row["judged"] == "fault" and what[:-1] in played and what not in found:
            yield "not found: %s" % ", ".join(what)
        if not row["judged"] or not row["why"]:
            yield "no judgement: %s" % ", ".join(what)


def write(path: pathlib.Path, fields: Sequence[str], rows: List[Row]) -> None:
    """Write a table."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, fields, delimiter="\t", lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def update(results: Dict[str, Any], rows: List[Row]) -> List[Row]:
    """Write both tables as these results would have them; return the faults. The judgements stay."""
    known = {key(row) for row in rows}
    made = rows + [{**dict(zip((*WHO, *WHAT), what)), "judged": "", "why": evidence}
                   for what, evidence in found_by(results).items() if what not in known]
    write(FAULTS, _FIELDS, made)
    before: Dict[str, Row] = {}
    if FIGURES.exists():
        with FIGURES.open(encoding="utf-8", newline="") as file:
            before = {row["run"]: row for row in csv.DictReader(file, delimiter="\t")}
    for name, each in results.items():
        if "failed" not in each:
            before[name] = {"run": name, **dict(zip(WHO, each["who"])), "seconds": each["seconds"],
                            "scenes": str(len(each["played"])),
                            **{state: str(each["totals"][state]) for state in STATES}}
    order = [name_of(client, run) for client in CLIENTS for run in client.runs]
    write(FIGURES, ("run", *WHO, "scenes", *STATES, "seconds"), [before[name] for name in order if name in before])
    return made


def table(results: Dict[str, Any]) -> List[str]:
    """The figures."""
    lines = ["%-36s%7s%s%9s" % ("run", "scenes", "".join("%14s" % state for state in STATES), "seconds")]
    for name, each in results.items():
        if "failed" not in each:
            lines.append("%-36s%7d%s%9s" % (name, len(each["played"]), "".join(
                "%14d" % each["totals"][state] for state in STATES), each["seconds"]))
    return lines


def run(options: argparse.Namespace) -> int:
    """Examine, compare."""
    chosen = [(client, each) for client in CLIENTS for each in client.runs
              if not options.only or name_of(client, each).startswith(tuple(options.only))]
    if options.list:
        print("\n".join("%-36s %s %s" % (name_of(*each), each[0].client, each[0].version) for each in chosen))
        return 0
    try:
        programs = None if options.judge else install()
    except environments.SetupError as error:
        environments.say("examined: NOTHING WAS EXAMINED: %s" % error)
        return 2 if environments.in_ci() else 0
    started, results = time.monotonic(), {}
    for client, each in chosen:  # one after the other: many scenes wait for a silence, and a busy machine is silent
        name = name_of(client, each)
        if programs or (REPORTS / name).exists():
            results[name] = found = attempt(programs, client, each)
            print(json.dumps({"run": name, "faults": len(found.get("faults", ())), "seconds": found.get("seconds"),
                              "failed": found.get("failed")}), flush=True)
    rows = update(results, read()) if options.update else read()
    wrong = list(differences(results, rows))
    print("\n".join([*table(results), *wrong]))
    print("examined: %d runs of clients, %d differences, %.0f s" % (
        len(results), len(wrong), time.monotonic() - started))
    return 1 if wrong or not results else 0
