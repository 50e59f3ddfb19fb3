"""`python3 -m mcp_ref check`: the exit code, the forms, what is accepted, and what cannot be read."""
import json
import signal
import subprocess
import sys

import pytest

from mcp_ref.cli import main
from mcp_ref.devtools.checker.rules import load
from mcp_ref.devtools.checker.scenes import traces
from mcp_ref.wiretrace import to_object
from tests.support.patience import WAIT

from .running import ROOT


@pytest.fixture
def files(tmp_path):
    kept, broken = traces(load()["progress.increases"].scene)
    for name, events in (("kept", kept), ("broken", broken)):
        (tmp_path / name).write_text("".join(json.dumps(to_object(event)) + "\n" for event in events))
    return tmp_path


def test_a_session_that_keeps_the_rules_is_clean(files, capsys):
    assert main(["check", str(files / "kept")]) == 0
    assert "0 violations, 0 warnings" in capsys.readouterr().out


def test_a_broken_rule_makes_the_exit_code_1_and_is_named(files, capsys):
    assert main(["check", str(files / "broken")]) == 1
    out = capsys.readouterr().out
    assert "VIOLATION by the server: progress.increases [MUST]" in out and "message 6" in out


def test_a_collector_of_garbage_that_counts_nothing_is_left_alone(files, capsys, monkeypatch):
    for name in ("freeze", "unfreeze", "get_count"):  # as on PyPy
        monkeypatch.delattr("gc." + name, raising=False)
    assert main(["check", str(files / "kept")]) == 0


def test_several_traces_are_judged_each(files, capsys):
    assert main(["check", "--json", str(files / "kept"), str(files / "broken")]) == 1
    assert [len(each["findings"]) for each in json.loads(capsys.readouterr().out)] == [0, 1]


def test_an_accepted_fault_is_printed_and_passes(files, capsys):
    main(["check", "--json", str(files / "broken")])
    key = json.loads(capsys.readouterr().out)["findings"][0]["key"]
    (files / "accept").write_text("%s it counts down\n" % key)
    assert main(["check", str(files / "broken"), "--accept", str(files / "accept")]) == 0
    assert "accepted: it counts down" in capsys.readouterr().out


@pytest.mark.parametrize("words, text", [
    ([], "check what"),
    (["/nowhere/to/be/found"], "cannot be judged"),
    (["{kept}", "--accept", "/nowhere/to/be/found"], "--accept"),
    (["{odd}"], "neither a trace"),
    (["{empty}"], "is empty"),
    (["{kept}", "--format", "morse"], "invalid choice"),
])
def test_what_cannot_be_judged_says_why(files, capsys, words, text):
    (files / "odd").write_text("not json\n")
    (files / "empty").write_text("")
    named = {name: files / name for name in ("kept", "odd", "empty")}
    assert main(["check", *(word.format(**named) for word in words)]) == 2
    assert text in capsys.readouterr().err


@pytest.mark.parametrize("form", ["text", "json", "junit", "sarif", "github"])
def test_reports_can_go_to_a_file(files, capsys, form):
    out = files / "out"
    assert main(["check", str(files / "broken"), "--format", form, "--out", str(out)]) == 1
    assert capsys.readouterr().out == "" and "progress.increases" in out.read_text()


def test_rules_are_listed_with_level_and_party(capsys):
    assert main(["check", "--list"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("progress.increases "))
    assert line.split()[1:3] == ["MUST", "sender"]


# The drawing of a session


def test_a_ladder_has_the_finding_below_its_message(files, capsys):
    assert main(["ladder", str(files / "broken")]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("      !! violation by the server: progress.increases")
    assert lines[at - 1].startswith("    6 ") and lines[at - 1].endswith(" notifications/progress")
    assert lines[at + 1].strip() == "progress 1 after 1" and max(map(len, lines)) == 80
    assert main(["ladder", str(files / "kept")]) == 0
    assert "!!" not in capsys.readouterr().out


def test_a_ladder_can_be_a_part_and_a_diagram(files, capsys):
    assert main(["ladder", str(files / "broken"), "--mermaid", "--from", "6", "--to", "6"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("sequenceDiagram\n") and "S1-->>C1: 6. notifications/progress\n" in out
    assert "7. " not in out and "VIOLATION by the server, progress.increases" in out


@pytest.mark.parametrize("words, text", [
    (["/nowhere/to/be/found"], "cannot be drawn"), (["{odd}"], "cannot be drawn"),
    (["{kept}", "--width", "40"], "too narrow"), (["{kept}", "--from", "9", "--to", "8"], "the last one is 7"),
    (["{kept}", "--from", "0", "--to", "0"], "the last one is 7"), (["{header}"], "nothing to draw"),
])
def test_what_cannot_be_drawn_says_why(files, capsys, words, text):
    (files / "odd").write_text("not json\n")
    (files / "header").write_text('{"trace": 1, "recorded": []}\n')
    named = {name: files / name for name in ("kept", "odd", "header")}
    assert main(["ladder", *(word.format(**named) for word in words)]) == 2
    assert text in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "ladder"])
def test_a_recording_may_come_through_a_pipe(files, command):
    with open(str(files / "kept"), "rb") as recording:
        done = subprocess.run([sys.executable, "-m", "mcp_ref", command, "-"], stdin=recording, timeout=WAIT,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0 and done.stderr == b"" and done.stdout
    piped = subprocess.run([sys.executable, "-m", "mcp_ref", command, "-"], input=(files / "kept").read_bytes(),
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WAIT, check=False)
    assert (piped.returncode, piped.stdout) == (0, done.stdout)


@pytest.mark.parametrize("text", ["{\"a\": 1}\n", "[1, 2]\n", "{\n  \"name\": \"package\"\n}\n"])
@pytest.mark.parametrize("command", ["check", "ladder"])
def test_json_that_is_no_recording_is_no_recording(tmp_path, capsys, command, text):
    (tmp_path / "odd.json").write_text(text)
    assert main([command, str(tmp_path / "odd.json")]) == 2
    assert "neither a trace, nor a HAR" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "ladder"])
def test_a_file_that_is_not_there_is_named_once(tmp_path, capsys, command):
    assert main([command, str(tmp_path / "nothing")]) == 2
    said = capsys.readouterr().err
    assert said.count("nothing") == 1 and "Errno" not in said and "No such file" in said


def test_a_file_and_a_command_are_refused_together(files, capsys):
    assert main(["check", str(files / "kept"), "--", "python3", "x.py"]) == 2
    assert "not both" in capsys.readouterr().err


@pytest.mark.parametrize("words, text", [
    (["8001"], "--http takes 2 values: --http LISTEN URL"), (["99999", "http://127.0.0.1:1/mcp"], "0 to 65535"),
    (["http://127.0.0.1:1/mcp", "8001"], "first where to listen"), (["0", "ftp://127.0.0.1/"], "--http LISTEN URL"),
])
def test_what_is_wrong_with_both_ends_of_a_proxy_is_wrong_usage(capsys, words, text):
    assert main(["check", "--http", *words]) == 2
    assert text in capsys.readouterr().err


def test_a_part_of_a_ladder_has_the_findings_of_that_part(files, capsys):
    assert main(["ladder", str(files / "broken"), "--from", "1", "--to", "3"]) == 0
    out = capsys.readouterr().out
    assert "!!" not in out and "1 finding" in out
    assert main(["ladder", str(files / "broken"), "--to", "6"]) == 0
    assert "!!" in capsys.readouterr().out


def test_a_ladder_shows_reasons_in_full_and_what_has_no_response(tmp_path, capsys):
    note = "the peer has closed the pipe while a request was under way, and " * 3 + "that is the reason"
    lines = [{"trace": 1, "recorded": ["both"]}, {"time": 0, "kind": "open", "transport": "stdio"},
             {"time": 1, "from": "client", "message": {"jsonrpc": "2.0", "id": "1", "method": "ping"}},
             {"time": 1, "from": "client", "message": {"jsonrpc": "2.0", "id": 2, "method": "ping"}},
             {"time": 1, "from": "client", "message": {"jsonrpc": "2.0", "method": "notifications/cancelled",
                                                       "params": {"requestId": 2}}},
             {"time": 2, "from": "server", "kind": "close", "note": note}]
    (tmp_path / "x").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["ladder", str(tmp_path / "x")]) == 0
    out = capsys.readouterr().out
    assert note in " ".join(out.split()) and max(map(len, out.splitlines())) <= 80
    assert 'ping #"1"  (no response)' in out and "ping #2  (cancelled)" in out


def test_a_ladder_of_a_recording_that_broke_off_is_drawn_so_far(files, capsys):
    (files / "kept").write_bytes((files / "kept").read_bytes()[:-9])
    assert main(["ladder", str(files / "kept")]) == 0
    captured = capsys.readouterr()
    assert "initialize" in captured.out and "the recording broke off there" in captured.err


# Live

SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": RESULTS.get(asked["method"], {})}), flush=True)
    elif BROKEN:
        print(json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "unknown"}}), flush=True)
"""
RESULTS = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {},
                          "serverInfo": {"name": "s", "version": "1"}}}
SAID = b"".join(json.dumps(dict(message, jsonrpc="2.0")).encode() + b"\n" for message in [
    {"id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}},
    {"method": "notifications/initialized"}])


def live(tmp_path, broken, *options):
    program = tmp_path / "server.py"
    program.write_text("RESULTS = %r\nBROKEN = %r\n%s" % (RESULTS, broken, SERVER))
    return subprocess.run([sys.executable, "-m", "mcp_ref", "check", *options, "--", sys.executable, str(program)],
                          input=SAID, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WAIT, check=False)


@pytest.mark.parametrize("broken, code", [(False, 0), (True, 1)])
def test_a_live_server_is_judged_and_its_output_left_alone(tmp_path, broken, code):
    done = live(tmp_path, broken)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["id"] for each in answers] == ([0, None] if broken else [0])
    assert done.returncode == code, done.stderr
    text = done.stderr.decode()
    assert ("jsonrpc.notification-no-response" in text) == broken and "2025-06-18 over stdio" in text


def test_a_live_report_can_go_to_a_file(tmp_path):
    done = live(tmp_path, True, "--out", str(tmp_path / "report"), "--format", "github")
    assert done.returncode == 1 and b"no-response" not in done.stderr
    assert "::error title=jsonrpc.notification-no-response" in (tmp_path / "report").read_text()


@pytest.mark.parametrize("out, text", [("{kept}", "is not overwritten"), ("/nowhere/to/be/found", "cannot write")])
def test_a_report_that_cannot_be_written_is_no_verdict(files, capsys, out, text):
    before = (files / "kept").read_bytes()
    assert main(["check", str(files / "kept"), "--out", out.format(kept=files / "kept")]) == 2
    assert text in capsys.readouterr().err and (files / "kept").read_bytes() == before


def test_a_server_that_cannot_be_started_is_no_verdict(tmp_path):
    done = subprocess.run([sys.executable, "-m", "mcp_ref", "check", "--", str(tmp_path / "nothing")], timeout=WAIT,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 3 and b"nothing" in done.stderr and done.stdout == b""


@pytest.mark.skipif(sys.platform == "win32", reason="no signals")
def test_ctrl_c_ends_a_proxy_and_the_report_comes_then():
    running = subprocess.Popen(
        [sys.executable, "-m", "mcp_ref", "check", "--http", "0", "http://127.0.0.1:9/mcp"], stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE, cwd=str(ROOT), preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    assert b"Ctrl-C ends it" in running.stderr.readline()
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=WAIT)
    assert (running.returncode, b"nothing was judged" in said) == (2, True), said
