"""The steps of CI: the table holds, and a step that fails keeps no other from running."""
import os
import pathlib
import re
import sys
from typing import IO, Optional, Tuple

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))  # they are programs, and import each other
import ci  # noqa: E402
import steady  # noqa: E402
import suite  # noqa: E402

sys.path.pop(0)


def step(name: str, lane: int, command: str, needs: Tuple[str, ...] = ()) -> ci.Step:
    return ci.Step(name, lane, 1, command, needs, "that a step of this kind works")


@pytest.mark.parametrize("lane", ci.LANES)
def test_the_steps_of_a_lane_fit_into_its_time(lane: int) -> None:
    seconds = {each.name: each.seconds for each in ci.STEPS if each.lane == lane}
    assert seconds and all(seconds.values())
    assert sum(seconds.values()) <= ci.LANE_SECONDS, "name what leaves: %s" % seconds


def test_each_step_has_a_name_a_purpose_and_a_command_that_exists() -> None:
    names = [each.name for each in ci.STEPS]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    assert len(set(names)) == len(names) and {each.lane for each in ci.STEPS} == set(ci.LANES)
    for each in ci.STEPS:
        assert each.proves, each.name
        assert set(re.findall(r"^make ([a-z-]+)", each.command)) <= targets, each.command
        scripts = re.findall(r"^python3 (tests/\S+)", each.command)
        assert all((ROOT / script).is_file() for script in scripts), each.command
        assert all((ROOT / path).is_file() for path in re.findall(r"--ignore=([^ \"]+)", each.command)), each.command
        assert " " in each.command or each.command in ci.FUNCTIONS, each.command


def test_a_step_that_fails_keeps_no_other_from_running(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ci, "BUILD", tmp_path)
    monkeypatch.setenv(steady.LEDGER, "")
    monkeypatch.setattr(ci, "STEPS", (
        step("wrong", 1, "echo it is wrong; exit 3"),
        step("needy", 1, "echo unseen", ("no-such-program", "NO_SUCH_NAME")),
        step("good", 1, "echo it is good"), step("beside", 2, "echo beside it >&2")))
    assert ci.main([]) == 1
    printed = capfd.readouterr().out
    assert "it is wrong\n==== wrong: FAILED after" in printed and "it is good\n==== good: passed after" in printed
    assert "needs no-such-program, NO_SUCH_NAME, not found here" in printed and "\nunseen" not in printed
    assert "beside it\n==== beside: passed after" in printed and (tmp_path / "ci" / "beside.log").is_file()
    assert re.findall(r"^(\w+) +(\d) +\d+ +1  (\w+)$", printed, re.M) == [
        ("wrong", "1", "FAILED"), ("needy", "1", "FAILED"), ("good", "1", "passed"), ("beside", "2", "passed")]
    assert "==== the last lines of wrong:\nit is wrong\n==== the last lines of needy:\nneeds no-such-program" in printed
    assert printed.endswith("==== FAILED: wrong, needy\n")


def test_the_lanes_run_side_by_side(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setattr(ci, "BUILD", tmp_path)
    monkeypatch.setenv(steady.LEDGER, "")
    os.mkfifo(str(tmp_path / "there"))
    os.mkfifo(str(tmp_path / "back"))  # opening a FIFO waits for the other side
    monkeypatch.setattr(ci, "STEPS", (
        step("one", 1, "echo > {0}/there; cat {0}/back".format(tmp_path)),
        step("two", 2, "cat {0}/there; echo > {0}/back".format(tmp_path))))
    assert ci.main([]) == 0


def test_chosen_steps_run_alone_and_an_unknown_one_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ci, "BUILD", tmp_path)
    monkeypatch.setenv(steady.LEDGER, "")
    monkeypatch.setattr(ci, "STEPS", (step("one", 1, "echo ran one"), step("two", 2, "echo ran two")))
    assert ci.main(["two"]) == 0
    printed = capfd.readouterr().out
    assert "ran two\n==== two" in printed and "ran one\n" not in printed
    assert ci.main(["three"]) == 2
    assert "no step is called three; there are one, two" in capfd.readouterr().err


def test_the_part_that_took_longest_the_last_time_starts_first(tmp_path: pathlib.Path) -> None:
    started = []

    class Part(steady.Run):
        def go(self, output: Optional[IO[bytes]] = None) -> int:
            started.append(self.where)
            return int(self.where)

    said = {"1": "= 5 passed in 12.50s =\n", "2": "", "3": "ended in 900s\n= 1 failed in 300.00s (0:05:00) =\n"}
    runs = [Part("python", [], tmp_path, tmp_path / (where + ".jsonl"), where) for where in said]
    for run, text in zip(runs, said.values()):
        if text:
            run.journal.with_suffix(".log").write_text(text, encoding="utf-8")
    assert suite.run_all(runs, 1) == [1, 2, 3] and started == ["3", "1", "2"]


def test_ci_runs_the_steps_and_keeps_a_list_of_what_is_unsteady() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert 'export %s="$PWD/build/' % steady.LEDGER in script
    assert script.endswith('exec python3 tests/tools/ci.py "$@"\n')
