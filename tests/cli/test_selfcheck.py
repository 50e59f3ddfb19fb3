"""`python3 -m mcp_ref selfcheck`: the report, what fails in it, and what a system does not have."""
import json
import os
import subprocess
import sys

import pytest

from mcp_ref.cli import selfcheck
from tests.support.patience import WAIT

from .running import ROOT, here, one_line_of

QUICK = [row for row in selfcheck.CHECKS if row[1] in ("memory", "TCP", "that are not there", "roots", "HTTP+SSE")]


@pytest.fixture
def quick(monkeypatch):
    def choose(*rows):
        monkeypatch.setattr(selfcheck, "CHECKS", tuple(rows or QUICK))
    choose()
    return choose


def test_the_report_has_the_system_and_each_check(capsys, quick):
    code, out, err = here(capsys, "selfcheck")
    assert code == 0, out
    assert "CPython" in out or "PyPy" in out
    assert out.count("ok ") >= len(QUICK) and "%d checks, 0 failed" % len(QUICK) in out


def test_each_check_passes_here():
    """The whole table, as a user runs it, in the tests of a release: `make selfcheck`. Here: names and areas."""
    names = [row[:2] for row in selfcheck.CHECKS]
    assert len(set(names)) == len(names)
    assert {area for area, _ in names} == {"transports", "child processes", "encodings", "paths", "signals"}


def test_an_ascii_console_works_where_the_package_is_below_a_folder_with_an_umlaut(tmp_path):
    """The child decodes paths as ASCII, unlike the process that starts it."""
    folder = tmp_path / "f\u00fcr neue"
    folder.mkdir()
    (folder / "mcp_ref").symlink_to(ROOT / "mcp_ref", target_is_directory=True)
    code = ("import sys; from mcp_ref.cli import main, selfcheck; "
            "selfcheck.CHECKS = [row for row in selfcheck.CHECKS if row[1] == 'a narrow console']; "
            "sys.exit(main(['selfcheck']))")
    done = subprocess.run([sys.executable, "-c", code], cwd=str(folder), env=dict(os.environ, PYTHONPATH=str(folder)),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=WAIT)
    assert done.returncode == 0 and b"1 checks, 0 failed" in done.stdout, done.stdout.decode("utf-8", "replace")


def failing(stage):
    raise ValueError("no such thing in %s" % stage.folder)


def missing(stage):
    raise selfcheck.LeftOut("not on this system")


def test_a_check_that_fails_makes_the_exit_code_1(capsys, quick):
    quick(("paths", "bad", failing), ("paths", "none", missing))
    code, out, _ = here(capsys, "selfcheck", "--json")
    told = json.loads(out)
    assert code == 1
    assert [each["state"] for each in told["checks"]] == ["FAILED", "left out"]
    assert told["checks"][0]["detail"] == "ValueError: no such thing in FOLDER"


def test_a_check_that_hangs_is_given_up(quick, tmp_path, monkeypatch):
    import threading

    never = threading.Event()
    monkeypatch.setattr(selfcheck, "SECONDS", 0.05)
    outcome = selfcheck.attempt("paths", "slow", lambda stage: str(never.wait(20)), selfcheck.Workspace(str(tmp_path)))
    never.set()
    assert outcome.state == "FAILED" and "no end after" in outcome.detail


def test_the_report_goes_to_a_file(capsys, quick, tmp_path):
    quick(QUICK[0])
    assert here(capsys, "selfcheck", "--out", str(tmp_path / "report"))[1] == "\n1 checks, 0 failed\n"
    report = (tmp_path / "report").read_text(encoding="utf-8")
    assert report.startswith("mcp_ref ") and "transports" in report
    code, _, err = here(capsys, "selfcheck", "--out", str(tmp_path / "no" / "folder"))
    assert code == 2 and "cannot write" in one_line_of(err)


def test_the_report_names_no_person(quick, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/people/ada")

    def tells(stage):
        return "in /people/ada/x and %s" % stage.folder
    outcome = selfcheck.attempt("paths", "x", tells, selfcheck.Workspace(str(tmp_path)))
    assert outcome.detail == "in HOME/x and FOLDER"
