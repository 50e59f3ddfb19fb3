"""What is written: help, one line for an error, any encoding of the console, readers that leave early."""
import json
import os
import subprocess
import sys

import pytest

from mcp_ref import __version__
from mcp_ref.cli import HOMES, output
from tests.support.patience import WAIT

from .running import ROOT, here, one_line_of, run

ODD = "na\u00efve \U0001f600 \u2028"
CODE = "from mcp_ref import Server; s = Server('x'); s.tool(lambda: %s, name='odd'); s.run()" % ascii(ODD)


def test_version_and_help(capsys):
    assert here(capsys, "--version") == (0, "mcp_ref %s\n" % __version__, "")
    code, out, err = here(capsys, "--help")
    assert (code, err) == (0, "") and "Exit codes:" in out and all("    " + name in out for name in HOMES)
    for number in (0, 1, 2, 3, 130):
        assert "\n    %-3d  " % number in out


@pytest.mark.parametrize("command", sorted(HOMES))
def test_every_command_has_help(command, capsys):
    code, out, err = here(capsys, command, "--help")
    assert (code, err) == (0, "") and out.startswith("usage: python3 -m mcp_ref %s" % command)


@pytest.mark.parametrize("words, hint", [
    ([], "which command"), (["explian"], "did you mean explain"), (["zzz"], "--help"), (["--zzz"], "--zzz"),
])
def test_without_a_command_the_line_says_what_to_write(words, hint, capsys):
    code, out, err = here(capsys, *words)
    assert (code, out) == (2, "") and hint in one_line_of(err)


@pytest.mark.parametrize("words, hint", [
    (["tools", "--timout=3", "server"], "unrecognized arguments: --timout=3; did you mean --timeout? See "),
    (["run", "server.py", "--trce"], "unrecognized arguments: --trce; did you mean --trace? See "),
    (["run", "server.py", "--sesions=none"], "unrecognized arguments: --sesions=none; did you mean --sessions? See "),
    (["tools", "--qqqqq", "server"], "unrecognized arguments: --qqqqq; see "),
])
def test_an_option_that_is_none_is_told_with_the_one_that_was_meant(words, hint, capsys):
    code, out, err = here(capsys, *words)
    assert (code, out) == (2, "") and hint in one_line_of(err) and "--help" in err


@pytest.mark.parametrize("encoding, shown", [
    ("cp1252", "na\u00efve \\U0001f600 \\u2028"), ("ascii", "na\\xefve \\U0001f600 \\u2028"),
])
def test_any_encoding_of_the_console_will_do(encoding, shown):
    """needs.md 9: text that the console lacks is escaped, JSON stays JSON, nothing raises."""
    env = {"PYTHONIOENCODING": encoding, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    words = ["call", "odd", "--", sys.executable, "-c", CODE]
    done = run(*words, env=env)
    assert done.returncode == 0 and done.stdout.decode(encoding) == shown + "\n"
    found = json.loads(run("call", "odd", "--json", "--", *words[3:], env=env).stdout.decode(encoding))
    assert found["content"][0]["text"] == ODD
    failed = run("call", ODD, "--", *words[3:], env=env)
    assert failed.returncode == 1 and failed.stderr.startswith(b"mcp_ref: ") and failed.stderr.count(b"\n") == 1


@pytest.mark.parametrize("words", [["explain", "--list"], ["explain", "--help"], ["demo"],
                                   ["explain", "zzz", "--json"]])
def test_a_reader_that_leaves_early_is_no_error(words):
    reading, writing = os.pipe()
    os.close(reading)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}  # as it usually is
    try:
        done = subprocess.run([sys.executable, "-m", "mcp_ref", *words], cwd=str(ROOT), stdin=subprocess.DEVNULL,
                              stdout=writing, stderr=subprocess.PIPE, timeout=WAIT, env=env)
    finally:
        os.close(writing)
    if "zzz" in words:
        assert done.returncode == 2 and done.stderr.count(b"\n") == 1
    else:
        assert (done.returncode, done.stderr) == (0, b"")


def test_without_streams_nothing_is_written_and_nothing_raised(monkeypatch):
    """A program without a console has none."""
    from mcp_ref.cli import main

    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["explain", "Tool"]) == 0 and main(["explain", "Tool", "--json"]) == 0
    assert main(["explain", "zzz"]) == 2 and main(["tools", "no-such-command"]) == 3


class Terminal:
    """A stream that says it is one."""

    encoding = "utf-8"

    def __init__(self):
        self.text = ""

    def isatty(self):
        return True

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_control_characters_reach_a_file_but_no_terminal(monkeypatch, capsys):
    output.say("a\x1b[2J\tb\nc")
    assert capsys.readouterr().out == "a\x1b[2J\tb\nc\n"
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    output.say("a\x1b[2J\tb\nc\u202e")
    assert terminal.text == "a\\x1b[2J\tb\nc\\u202e\n"


def test_an_error_is_one_line_whatever_it_holds(capsys):
    output.fail("a\nb\r\x1b[31m\u2028c \u00e9")
    assert capsys.readouterr().err == "mcp_ref: a b \\x1b[31m c \u00e9\n"
