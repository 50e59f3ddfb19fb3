"""Failures are tried again in `.ci/run`, and nowhere else; small suites of their own show what then counts."""
import json
import pathlib
import shutil
import subprocess
import sys
from typing import List, Optional, Tuple

import pytest

from tests.tools import steady

TESTS = pathlib.Path(__file__).resolve().parents[1]
HELPERS = '''
import os, pathlib, time
import pytest

def once(name):
    """False the first time, in whichever process."""
    path = pathlib.Path(name)
    there = path.exists()
    path.write_text("")
    return there

def test_good(): pass
'''
ONCE_WRONG = HELPERS + '''
@pytest.mark.parametrize("text", ["a::b [c]"])
def test_once(text): assert once("seen"), "a coin"
'''


def run(folder: pathlib.Path, text: str) -> Tuple[int, int]:
    """Run a suite of one module, which goes through `tests/conftest.py`: pytest's exit code and the one that counts."""
    (folder / "tests").mkdir()
    shutil.copy(str(TESTS / "conftest.py"), str(folder / "tests"))
    shutil.copy(str(TESTS.parent / "setup.cfg"), str(folder))
    (folder / "tests" / "test_it.py").write_text(text, encoding="utf-8")
    made = steady.Run(sys.executable, [], folder, folder / "build" / "journal.jsonl", "here")
    code = subprocess.call(made.command, cwd=str(folder), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=25)
    return code, made.judge(code)


@pytest.fixture
def ledger(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    path = tmp_path / "unsteady.jsonl"
    monkeypatch.setenv(steady.LEDGER, str(path))
    return path


def names(ledger: pathlib.Path) -> List[str]:
    return [failure.name for failure in steady.read()]


def test_what_fails_once_is_listed_and_does_not_count(ledger: pathlib.Path, tmp_path: pathlib.Path,
                                                      capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, ONCE_WRONG) == (1, 0)
    assert names(ledger) == ["tests/test_it.py::test_once[a::b [c]]"]
    capsys.readouterr()
    assert steady.main() == 0
    printed = capsys.readouterr().out
    assert "unsteady: 1" in printed and "test_once[a::b [c]]\n    on here: call: AssertionError: a coin" in printed


def test_what_fails_again_counts(ledger: pathlib.Path, tmp_path: pathlib.Path) -> None:
    assert run(tmp_path, ONCE_WRONG + "def test_wrong(): assert False\n") == (1, 1)
    assert names(ledger) == ["tests/test_it.py::test_once[a::b [c]]"]


def test_without_the_variable_each_failure_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.delenv(steady.LEDGER, raising=False)
    assert run(tmp_path, ONCE_WRONG) == (1, 1)


def test_a_run_that_broke_off_is_made_again_for_the_tests_behind(ledger: pathlib.Path, tmp_path: pathlib.Path) -> None:
    text = HELPERS + "def test_ends():\n    if not once('seen'): os._exit(7)\ndef test_behind(): once('behind')\n"
    assert run(tmp_path, text) == (7, 0)
    assert names(ledger) == ["tests/test_it.py::test_ends"] and (tmp_path / "behind").exists()


def test_a_failure_behind_the_place_where_a_run_broke_off_counts(ledger: pathlib.Path, tmp_path: pathlib.Path) -> None:
    text = HELPERS + "def test_ends():\n    if not once('seen'): os._exit(1)\ndef test_behind(): assert False\n"
    assert run(tmp_path, text) == (1, 1)


def test_a_module_that_cannot_be_collected_counts(ledger: pathlib.Path, tmp_path: pathlib.Path) -> None:
    code, counts = run(tmp_path, "import nothing_of_this_name\n")
    assert code == counts == 2 and names(ledger) == []


def test_more_than_five_are_too_many(ledger: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    tried = []

    def attempt(failure: steady.Failure) -> Optional[str]:
        tried.append(failure.name)
        return None

    five = [steady.Failure("test %d" % number, "here", "wrong") for number in range(5)]
    assert steady.unsteady(five, attempt) and len(tried) == 15 and steady.main() == 0
    assert not steady.unsteady([steady.Failure("one more", "here", "wrong")], attempt) and len(tried) == 15
    with ledger.open("a", encoding="ascii") as more:
        more.write(json.dumps(["one more", "there", "wrong"]) + "\n")
    assert steady.main() == 1


def test_each_of_three_times_has_to_pass(ledger: pathlib.Path) -> None:
    for bad in range(3):
        results = iter([None] * bad + ["wrong"])  # type: ignore[list-item]
        assert not steady.unsteady([steady.Failure("test", "here", "wrong")], lambda failure: next(results))
    assert names(ledger) == []


def test_what_two_runs_have_skipped_is_counted_by_reason(tmp_path: pathlib.Path) -> None:
    text = HELPERS + '''
@pytest.mark.parametrize("x", [1, 2])
@pytest.mark.skip("no luck here")
def test_skipped(x): pass
def test_skips_itself(): pytest.skip("a Tuesday")
'''
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        assert run(tmp_path / name, text) == (0, 0)
    lines = steady.skips(tmp_path / name / "build" / "journal.jsonl" for name in ("one", "two"))
    assert lines == ["left out: 4 tests: no luck here", "left out: 2 tests: a Tuesday"]


def test_ci_names_the_file_and_ends_with_the_list() -> None:
    script = (TESTS.parent / ".ci" / "run").read_text(encoding="utf-8")
    assert 'export %s="$PWD/build/' % steady.LEDGER in script
    steps = [line for line in script.splitlines() if line.startswith("step ")]
    assert steps[-1] == "step python3 tests/tools/steady.py"
