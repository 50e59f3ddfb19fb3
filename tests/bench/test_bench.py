"""The benchmark itself: it runs, it writes what it measured, and no wrong answer gets past it.

No figure is judged here. The floor is measured against itself, so nothing depends on the library either.
"""
import json
import pathlib
import shlex
import subprocess
import sys
from typing import List, Tuple

import pytest

from tests.support.patience import WAIT

HERE = pathlib.Path(__file__).resolve().parent
FLOOR = (HERE / "floor_server.py").read_text(encoding="utf-8")
QUICK = ["--quick", "--rounds", "1"]


def run(*arguments: str) -> Tuple[int, str]:
    """Exit code and output of a short run."""
    done = subprocess.run([sys.executable, str(HERE / "run.py"), *QUICK, *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=WAIT, universal_newlines=True)
    return done.returncode, done.stdout


@pytest.mark.time_limit(120)
def test_floor_against_floor_measures_every_kind_of_figure(tmp_path: pathlib.Path) -> None:
    written = tmp_path / "figures.json"
    names = ["import", "sequential", "in-flight", "payload-1k", "quick-slow", "client-in-flight", "tools-list-warm",
             "http-json", "http-32", "http-16m", "http-streams-threads", "http-sessions", "client-http"]
    only: List[str] = [part for name in names for part in ("--only", name)]
    code, output = run("--noise", "--json", str(written), *only)
    assert code == 0, output
    figures = json.loads(written.read_text(encoding="utf-8"))["figures"]
    assert [figure["name"] for figure in figures] == names
    assert all(len(figure["measured"]) == len(figure["floor"]) == 1 for figure in figures)
    assert all(figure["measured"][0] > 0 for figure in figures)


def test_missed_target_is_named_and_does_not_fail_the_run() -> None:
    code, output = run("--noise", "--only", "slow-quick")
    assert code == 0, output
    assert "missed targets: 1 of 1\n  slow-quick: " in output


# From the sixth request on: the handshake goes well, the calls do not.
@pytest.mark.parametrize("correct, broken", [
    ('str(arguments["text"])', '"call 7"'),
    ("        sys.stdout.buffer.write", "        for _ in range(1 + (message['id'] > 5)): sys.stdout.buffer.write"),
    ('"id": message["id"]', '"id": min(message["id"], 5)'),
    ('"result": result}', '"result" if message["id"] < 6 else "error": result}'),
    ('+ b"\\n")', '+ (b"\\n" if message["id"] < 6 else b"\\n\\n"))'),
    ("        result = ", "        if message['id'] > 5: raise SystemExit('enough')\n        result = "),
], ids=["another text", "twice", "another id", "an error", "an empty line", "the end"])
@pytest.mark.parametrize("figure", ["sequential", "in-flight"])
def test_wrong_answer_fails_the_run(tmp_path: pathlib.Path, figure: str, correct: str, broken: str) -> None:
    assert correct in FLOOR
    server = tmp_path / "server.py"
    server.write_text(FLOOR.replace(correct, broken), encoding="utf-8")
    command = " ".join(map(shlex.quote, [sys.executable, str(server)]))
    code, output = run("--only", figure, "--server", command)
    assert code == 1, output
    assert "WRONG: %s" % figure in output


def test_unknown_figure_is_refused_with_a_hint() -> None:
    code, output = run("--only", "sequentially")
    assert code == 2
    assert "see --help" in output
