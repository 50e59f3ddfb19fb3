"""`python3 -m mcp_ref examine`: the exit code, the forms of the report, the baseline, and what cannot be examined."""
import json
import sys
from shlex import quote
from xml.etree import ElementTree

import pytest

from mcp_ref.cli import main
from mcp_ref.devtools.examiner.clients import starts
from mcp_ref.devtools.examiner.scenes import load
from tests.cli.running import ROOT

GOOD = " ".join(map(quote, (sys.executable, str(ROOT / "examples" / "echo_server.py"))))
BAD = r'''
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    if asked["method"] == "initialize":
        answer["result"] = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {},
                            "serverInfo": {"name": "bad", "version": "1"}}
    elif asked["method"] == "ping":
        answer["result"] = {}
    else:
        answer["error"] = {"code": -32000, "message": "no"}
    print(json.dumps(answer), flush=True)
'''
ONLY = ["--revision", "2025-11-25", "--only", "unknown-method", "--only", "ping"]


@pytest.fixture
def bad(tmp_path):
    (tmp_path / "bad.py").write_text(BAD)
    return "%s %s" % (quote(sys.executable), tmp_path / "bad.py")


def examine(capsys, *words):
    code = main(["examine", *words])
    return code, capsys.readouterr()


def test_a_server_that_keeps_the_rules(capsys):
    code, said = examine(capsys, GOOD, *ONLY)
    assert code == 0 and "0 broken, 0 warned" in said.out


def test_a_fault_has_its_clause_and_an_id(capsys, bad):
    code, said = examine(capsys, bad, *ONLY)
    assert code == 1
    assert "BROKEN: lifecycle.base-required [MUST]" in said.out and "[2025-11-25 basic/index]" in said.out
    assert "error -32000 'no', in the place of -32601" in said.out and "scene unknown-method: A request" in said.out
    assert "again: examine SERVER --revision 2025-11-25 --only unknown-method" in said.out
    assert max(map(len, said.out.splitlines())) <= 100


def test_every_form_says_the_same(capsys, bad, tmp_path):
    found = json.loads(examine(capsys, bad, *ONLY, "--json")[1].out)
    assert [each["id"] for each in found["faults"]] == ["lifecycle.base-required"]
    assert found["revisions"]["2025-11-25"]["requirements"]["ping.respond"] == {"state": "kept", "said": None}
    suite = ElementTree.fromstring(examine(capsys, bad, *ONLY, "--format", "junit")[1].out).find("testsuite")
    assert suite.get("failures") == "2"  # one cause breaks both
    assert [each.get("name") for each in suite if each.find("failure") is not None] == [
        "jsonrpc.follow-spec", "lifecycle.base-required"]
    sarif = json.loads(examine(capsys, bad, *ONLY, "--format", "sarif")[1].out)
    assert [each["ruleId"] for each in sarif["runs"][0]["results"]] == ["lifecycle.base-required"]
    assert json.loads(examine(capsys, bad, *ONLY, "--format", "badge")[1].out)["message"] == "1 broken"


def test_what_the_baseline_has_is_known(capsys, bad, tmp_path):
    known = str(tmp_path / "known.json")
    assert examine(capsys, bad, *ONLY, "--json", "--out", known)[0] == 1
    code, said = examine(capsys, bad, *ONLY, "--baseline", known)
    assert code == 0 and "[MUST], known" in said.out
    code, said = examine(capsys, GOOD, *ONLY, "--baseline", known)
    assert code == 0 and "not found again:\n" in said.out
    assert "\n  lifecycle.base-required:unknown-method\n" in said.out


def test_the_whole_conversation_is_kept(capsys, tmp_path):
    trace = tmp_path / "trace.jsonl"
    assert examine(capsys, GOOD, *ONLY, "--trace=%s" % trace)[0] == 0
    assert "examiner/no-such-method" in trace.read_text()
    assert main(["check", str(trace)]) in (0, 1) and "unknown" not in capsys.readouterr().err


def test_a_revision_that_is_not_spoken_says_why(capsys, bad):
    code, said = examine(capsys, bad, "--only", "ping", "--revision", "2026-07-28")
    assert code == 3 and "not spoken: server/discover: error -32000 'no'" in said.out


@pytest.mark.parametrize("words, text", [
    (["--only", "unknown-toll"], "--only unknown-toll: there is no such scene, and no such requirement; did you mean"),
    (["--baseline", "/nowhere/to/be/found"], "--baseline /nowhere/to/be/found cannot be read"),
    (["--baseline", __file__], "cannot be read"),
    (["--timeout", "0"], "--timeout must be more than 0 seconds"),
    (["--era", "modern"], "--revision names one"),
])
def test_wrong_usage_says_what_to_write(capsys, words, text):
    code, said = examine(capsys, GOOD, *words)
    assert code == 2 and text in said.err


ANSWERS = """
    if "method" not in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {}}), flush=True)
        continue
"""


def test_a_fault_is_found_again_by_its_scene_and_by_its_id(capsys, tmp_path):
    """The scene in which it shows is about another requirement."""
    (tmp_path / "loop.py").write_text(BAD.replace("        continue\n", "        continue" + ANSWERS, 1))
    server = "%s %s" % (quote(sys.executable), tmp_path / "loop.py")
    for name in ("response-to-nothing", "jsonrpc.response-same-id:6af9c735"):
        code, said = examine(capsys, server, "--revision", "2025-11-25", "--timeout", "1", "--json", "--only", name)
        faults = [each for each in json.loads(said.out)["faults"] if each["id"] == "jsonrpc.response-same-id"]
        assert code == 1 and [each["scene"] for each in faults] == ["response-to-nothing"], name


def test_a_report_says_that_no_tool_was_called(capsys):
    code, said = examine(capsys, GOOD, "--revision", "2025-11-25", "--only", "call-tools")
    assert code == 0 and "not played:\n  no tool may be called: " in said.out
    assert "--allow NAME or --all-tools" in said.out


def test_a_server_that_cannot_be_started(capsys):
    code, said = examine(capsys, "/nowhere/to/be/found", "--revision", "2025-11-25")
    assert code == 3 and "/nowhere/to/be/found" in said.err + said.out


def test_the_list_has_every_scene(capsys):
    code, said = examine(capsys, "-", "--list", "--json")
    assert code == 0 and [each["name"] for each in json.loads(said.out)] == list(load())
    assert all(each["text"] and each["revisions"] for each in json.loads(said.out))


# --- Clients -------------------------------------------------------------------------------------------------------

CLIENT = " ".join(map(quote, (sys.executable, str(ROOT / "tests" / "examiner" / "everything_client.py"))))


@pytest.mark.parametrize("words", [[], ["--over", "stdio"]])
def test_a_client_that_keeps_the_rules(capsys, words):
    code, said = examine(capsys, "--client", "--inherit-env", CLIENT, *words, "--revision", "2025-11-25",
                         "--only", "ping", "--only", "ordinary")
    assert code == 0 and "0 broken, 0 warned" in said.out


def test_a_client_that_never_connects_is_not_examined(capsys):
    code, said = examine(capsys, "--client", "%s -c pass" % quote(sys.executable), "--revision", "2025-11-25",
                         "--timeout", "1")
    assert code == 3 and "the client has sent nothing" in said.out


def test_somebody_is_told_how_to_start_a_client(capsys):
    """Here nobody starts it, and a host would be at a port that is known."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(starts._Person, "first_seconds", 0.2)
        code, said = examine(capsys, "--client", "-", "--by-hand", "--revision", "2025-11-25", "--timeout", "0.2")
    assert "Put the entry below into the file of the host" in said.err and "scene opening, revision" in said.err
    assert code == 3 and '{"mcpServers":{"examiner":{"url":"http://127.0.0.1:' in said.err.replace(" ", "")


@pytest.mark.parametrize("words, text", [
    (["--over", "stdio"], "--over is for the examination of a client: examine --client COMMAND"),
    (["--by-hand"], "--by-hand is for the examination of a client"),
    (["--port", "8765"], "--port is for the examination of a client"),
    (["--client", "--allow", "add"], "tools are allowed, and header fields sent, to servers"),
    (["--client", "--hostile"], "--hostile is for servers"),
    (["--client", "--only", "unknown-tool"], "--only unknown-tool: there is no such scene"),
])
def test_what_is_for_clients_or_for_servers_is_said(capsys, words, text):
    code, said = examine(capsys, GOOD, *words)
    assert code == 2 and text in said.err


def test_the_list_has_every_scene_for_clients(capsys):
    code, said = examine(capsys, "-", "--client", "--list", "--json")
    assert code == 0 and [each["name"] for each in json.loads(said.out)] == list(load("client"))
