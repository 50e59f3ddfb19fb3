"""The benchmark itself: it runs, it writes what it measured, and no wrong answer gets past it.

No figure of the library is judged here: floors are measured against themselves, or rows are made up.
"""
import json
import pathlib
import shlex
import subprocess
import sys
from typing import Any, List, Tuple

import pytest

from tests.support.patience import WAIT

HERE = pathlib.Path(__file__).resolve().parent
FLOOR = (HERE / "floor_server.py").read_text(encoding="utf-8")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processor time of another process: Linux only")


def run(folder: pathlib.Path, *arguments: str) -> Tuple[int, str, List[Any]]:
    """Exit code, output and written rows of a short run."""
    written = folder / "figures.json"
    done = subprocess.run([sys.executable, str(HERE / "run.py"), "--quick", "--json", str(written), *arguments],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=WAIT,
                          universal_newlines=True)
    rows = json.loads(written.read_text(encoding="utf-8"))["figures"] if written.is_file() else []
    return done.returncode, done.stdout, rows


@linux
@pytest.mark.time_limit(120)
def test_floor_against_floor_measures_every_kind_of_side(tmp_path: pathlib.Path) -> None:
    names = ["start", "idle-memory", "stdio-call", "ping-flight", "blocking", "tools-list", "http-call-sockets",
             "http-32-selectors", "http-16m", "http-streams-threads", "client-flight", "client-http-sockets",
             "client-http-64", "host-open", "check-http"]
    code, output, rows = run(tmp_path, "--noise", *names)
    assert code == 0, output
    assert [row["name"] for row in rows] == names
    assert all(len(row["subject"]) == len(row["floor"]) == 1 and row["subject"][0][0] > 0 for row in rows), rows
    assert all(row["name"] in output for row in rows)


@linux
def test_a_resumed_run_measures_only_what_has_no_verdict(tmp_path: pathlib.Path) -> None:
    sides = {"floor": [[1.0, 2.0]], "subject": [[3.0, 4.0]], "problem": "", "today": 3.0, "foreign": 0.0, "took": 1.0}
    kept = dict(sides, name="stdio-call", verdict="MISSED")
    (tmp_path / "figures.json").write_text(json.dumps({"figures": [
        kept, dict(sides, name="stdio-flight", verdict="busy")]}), encoding="utf-8")
    code, output, rows = run(tmp_path, "--noise", "--resume", "stdio-call", "stdio-flight")
    assert code == 0, output  # a missed target does not fail a run
    assert rows[0] == kept
    assert rows[1]["name"] == "stdio-flight" and rows[1]["floor"] != sides["floor"]
    assert "MISSED: stdio-call" in output


@pytest.mark.parametrize("today, foreign, expected", [
    (2.0, 0.0, "met"), (2.1, 0.5, "MISSED"), (2.1, 0.51, "busy"), (1.0, 0.51, "busy"), (2.0, None, "met"),
])
def test_verdict_is_withheld_where_other_programs_took_more_than_half_a_core(
    monkeypatch: pytest.MonkeyPatch, today: float, foreign: Any, expected: str
) -> None:
    monkeypatch.syspath_prepend(str(HERE))
    import run as bench

    figure = next(figure for figure in bench.FIGURES if figure.name == "stdio-call")
    assert bench.verdict(figure._replace(target=2.0), today, foreign) == expected


# From the sixth request on: the handshake goes well, the calls do not.
@pytest.mark.parametrize("correct, broken", [
    ('str(arguments["text"])', '"call 7"'),
    ("    sys.stdout.buffer.write", "    for _ in range(1 + (message['id'] > 5)): sys.stdout.buffer.write"),
    ('"id": message["id"]', '"id": min(message["id"], 5)'),
    ('"result": result}', '"result" if message["id"] < 6 else "error": result}'),
    ('+ b"\\n")', '+ (b"\\n" if message["id"] < 6 else b"\\n\\n"))'),
    ("    result = ", "    if message['id'] > 5: raise SystemExit('enough')\n    result = "),
], ids=["another text", "twice", "another id", "an error", "an empty line", "the end"])
def test_wrong_answer_fails_the_run(tmp_path: pathlib.Path, correct: str, broken: str) -> None:
    assert correct in FLOOR
    server = tmp_path / "server.py"
    server.write_text(FLOOR.replace(correct, broken), encoding="utf-8")
    command = " ".join(map(shlex.quote, [sys.executable, str(server)]))
    code, output, rows = run(tmp_path, "stdio-call", "stdio-flight", "--server", command)
    assert code == 1, output
    assert [row["verdict"] for row in rows] == ["WRONG", "WRONG"]
    assert "WRONG: stdio-call, stdio-flight" in output


def test_unknown_figure_is_refused_with_a_hint(tmp_path: pathlib.Path) -> None:
    code, output, _ = run(tmp_path, "sequentially")
    assert code == 2
    assert "see --help" in output
