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


WRITES = {
    "say": (output.say, False), "note": (output.note, False), "write_prompt": (output.write_prompt, False),
    "say_json": (output.say_json, False), "fail": (output.fail, False),
    "raw": (lambda text: output.say(text, raw=True), True),
}
"""Each function that writes, and whether a file or a pipe gets the text as it is."""
HOSTILE = "\x1b[2J\x07\r\x7f\x9b\u200f\u2028\u202e\u2066\ufeff\U000e0041"


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("terminal", [False, True])
def test_control_characters_are_escaped_unless_a_caller_asks_for_them(monkeypatch, name, terminal):
    """What is written to a pipe may be shown on a terminal in the end."""
    write, raw = WRITES[name]
    stream = Terminal()
    stream.isatty = lambda: terminal
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", stream)
    write("a\u00e9" + HOSTILE)
    assert stream.text.count("a\u00e9") == 1
    kept = {sign for sign in stream.text if not sign.isprintable()} - {"\n"}
    assert kept == (set(filter(lambda sign: not sign.isprintable(), HOSTILE)) if raw and not terminal else set())
    if name == "say_json":
        assert json.loads(stream.text) == "a\u00e9" + HOSTILE
    if name in ("say", "note", "raw"):
        stream.text = ""
        write("a\tb\nc")
        assert stream.text == "a\tb\nc\n"


@pytest.mark.parametrize("words", [["replay", "--as-server"], ["check"], ["check", "--format=json"],
                                   ["ladder"], ["check", "--format=junit"], ["replay", "--as-client", "cat"]])
def test_a_recording_cannot_paint_over_a_terminal(tmp_path, words):
    record = tmp_path / "a\x1b[31m\u202e.jsonl"
    lines = [{"trace": 1, "recorder": HOSTILE, "recorded": ["start", "both", "end"]}, *(
        {"time": at, "from": party, "message": dict(message, jsonrpc="2.0")} for at, (party, message) in enumerate([
            ("client", {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {},
                                                                    "clientInfo": {"name": HOSTILE, "version": "1"}}}),
            ("server", {"id": 1, "result": {"protocolVersion": HOSTILE, "capabilities": {HOSTILE: HOSTILE}}}),
            ("client", {"id": HOSTILE, "method": "tools/" + HOSTILE, "params": {"name": HOSTILE, "uri": HOSTILE}}),
            ("server", {"id": HOSTILE, "error": {"code": 1, "message": HOSTILE, "data": HOSTILE}}),
        ]))]
    record.write_text("".join("%s\n" % json.dumps(line, ensure_ascii=False) for line in lines), encoding="utf-8")
    done = run(*words[:1], str(record), *words[1:], env={"PYTHONUTF8": "1"})
    assert done.returncode in (0, 1) and done.stdout + done.stderr
    said = (done.stdout + done.stderr).decode("utf-8")
    assert {sign for sign in said if not sign.isprintable()} <= {"\n", "\t"}


def test_an_error_is_one_line_whatever_it_holds(capsys):
    output.fail("a\nb\r\x1b[31m\u2028c \u00e9")
    assert capsys.readouterr().err == "mcp_ref: a b \\x1b[31m c \u00e9\n"
