"""Failures are tried again in `.ci/run`, and nowhere else; small suites of their own show what then counts."""
import json
import pathlib
import shlex
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


def made(folder: pathlib.Path, text: str) -> steady.Run:
    """Return a run of a suite of one module, which goes through `tests/conftest.py`."""
    (folder / "tests").mkdir()
    shutil.copy(str(TESTS / "conftest.py"), str(folder / "tests"))
    shutil.copy(str(TESTS.parent / "setup.cfg"), str(folder))
    (folder / "tests" / "test_it.py").write_text(text, encoding="utf-8")
    return steady.Run(sys.executable, ["-p", "no:cacheprovider"], folder, folder / "build" / "journal.jsonl", "here")


def run(folder: pathlib.Path, text: str) -> Tuple[int, int]:
    """Run such a suite: pytest's exit code and the one that counts."""
    suite = made(folder, text)
    with (folder / "log").open("wb") as log:
        code = suite.go(log)
    return code, suite.judge(code)


@pytest.fixture
def ledger(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    path = tmp_path / "unsteady.jsonl"
    monkeypatch.setenv(steady.LEDGER, str(path))
    return path


def names(ledger: pathlib.Path) -> List[str]:
    return [failure.name for failure in steady.read()]


def test_what_fails_once_is_listed_and_does_not_count(
    ledger: pathlib.Path, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(tmp_path, ONCE_WRONG) == (1, 0)
    assert names(ledger) == ["tests/test_it.py::test_once[a::b [c]]"]
    capsys.readouterr()
    assert steady.main() == 0
    printed = capsys.readouterr().out
    assert "unsteady: 1" in printed and "test_once[a::b [c]]\n    on here, new: mend it" in printed
    assert "today's date: call: AssertionError: a coin" in printed
    monkeypatch.setitem(steady.KNOWN, "tests/test_it.py::test_once[a::b [c]]", "2026-11-28")
    steady.main()
    assert "on here, known since 2026-11-28: call:" in capsys.readouterr().out


def test_what_fails_again_counts(ledger: pathlib.Path, tmp_path: pathlib.Path) -> None:
    assert run(tmp_path, ONCE_WRONG + "def test_wrong(): assert False\n") == (1, 1)
    assert names(ledger) == ["tests/test_it.py::test_once[a::b [c]]"]


def test_without_the_variable_each_failure_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.delenv(steady.LEDGER, raising=False)
    assert run(tmp_path, ONCE_WRONG) == (1, 1)


ENDS = HELPERS + """
def test_fails(): assert not "told why"
def test_ends(): {0}os._exit(7)
@pytest.mark.skip("not today")
def test_skipped(): pass
def test_after_it(): once("after it")
@pytest.mark.parametrize("text", ["$a 'b'"])
def test_wrong(text): assert False, "no\\nwonder"
"""


def test_a_test_that_ends_its_process_is_named_and_the_others_run(monkeypatch: pytest.MonkeyPatch,
                                                                  tmp_path: pathlib.Path) -> None:
    monkeypatch.delenv(steady.LEDGER, raising=False)
    suite = made(tmp_path, ENDS.format(""))
    with (tmp_path / "log").open("wb") as log:
        code = suite.go(log)
    assert code == suite.judge(code) == 1 and (tmp_path / "after it").exists()
    printed = (tmp_path / "log").read_text(encoding="utf-8")
    assert printed.count('>   def test_fails(): assert not "told why"') == 1, "pytest had no time to print it"
    assert steady.report([suite]) == [
        "failed: tests/test_it.py::test_fails: call: AssertionError: assert not 'told why'",
        "failed: tests/test_it.py::test_wrong[$a 'b']: call: AssertionError: no",
        "ended: tests/test_it.py::test_ends: its process exited with code 7",
        "6 tests ran, 2 failed, 1 ended their process, 0 never ran",
        "one alone: %s -m pytest tests/test_it.py::test_fails" % shlex.quote(sys.executable)]
    assert steady.skips([suite.journal]) == ["left out: 1 test: not today"]


def test_the_command_for_one_alone_runs_it(tmp_path: pathlib.Path) -> None:
    suite = made(tmp_path, ENDS.format("").replace("test_ends", "ends").replace("test_fails", "fails"))
    with (tmp_path / "log").open("wb") as log:
        suite.go(log)
    command = steady.report([suite])[-1].partition(": ")[2]
    assert shlex.split(command)[-1] == "tests/test_it.py::test_wrong[$a 'b']"
    done = subprocess.run(command, shell=True, cwd=str(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 1 and b"1 failed in" in done.stdout


def test_a_limit_that_was_reached_is_the_reason(tmp_path: pathlib.Path) -> None:
    suite = made(tmp_path, HELPERS + "@pytest.mark.time_limit(0.2)\ndef test_spins():\n    while True: pass\n")
    with (tmp_path / "log").open("wb") as log:
        assert suite.go(log) == 1
    assert "ended: tests/test_it.py::test_spins: more than 0.2 s of processor time" in steady.report([suite])


def test_a_run_in_which_too_many_tests_end_their_process_is_given_up(ledger: pathlib.Path,
                                                                     tmp_path: pathlib.Path) -> None:
    suite = made(tmp_path, HELPERS + "@pytest.mark.parametrize('x', range(9))\ndef test_ends(x): os._exit(7)\n")
    with (tmp_path / "log").open("wb") as log:
        code = suite.go(log)
    assert code == suite.judge(code) == 7 and names(ledger) == []
    assert "6 tests ran, 0 failed, 5 ended their process, 4 never ran" in steady.report([suite])


def test_a_test_that_ends_its_process_is_tried_again_in_ci(ledger: pathlib.Path, tmp_path: pathlib.Path) -> None:
    text = ENDS.format("once('seen') or ").replace("test_fails", "fails").partition("@pytest.mark.param")[0]
    assert run(tmp_path, text) == (1, 0)
    assert names(ledger) == ["tests/test_it.py::test_ends"] and (tmp_path / "after it").exists()


def test_a_failure_after_a_test_that_ended_its_process_counts(ledger: pathlib.Path, tmp_path: pathlib.Path) -> None:
    assert run(tmp_path, ENDS.format("once('seen') or ")) == (1, 1)


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
