"""``call --task`` and the command ``tasks``: a server of 2026-07-28 on a socket, and a child of 2025-11-25."""
import json
import shlex
import sys

import pytest

from mcp_ref import Server
from tests.support.patience import patience
from tests.support.tasks import ID, Served, asking, completed, kept, payload, state, tool, working

from .running import here, one_line_of

CHILD = """
import json, sys
states, tools, end = json.loads(sys.argv[1])
capabilities = {"tools": {}, "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}
pages = {None: {"tasks": states[:1], "nextCursor": "2"}, "2": {"tasks": states[1:]}}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked or "method" not in asked:
        continue
    method, params, answer = asked["method"], asked.get("params", {}), {}
    if method == "server/discover":
        answer = None
    elif method == "initialize":
        answer = {"protocolVersion": params["protocolVersion"], "capabilities": capabilities,
                  "serverInfo": {"name": "child", "version": "1"}}
    elif method == "tools/list":
        answer = {"tools": tools}
    elif method == "tools/call":
        answer = {"task": states[0]} if "task" in params else end
    elif method == "tasks/get":
        answer = states.pop(0) if len(states) > 1 else states[0]
    elif method == "tasks/list":
        answer = pages[params.get("cursor")]
    elif method == "tasks/result":
        answer = end
    elif method == "tasks/cancel":
        answer = dict(states[0], status="cancelled", statusMessage="by request")
    reply = {"jsonrpc": "2.0", "id": asked["id"]}
    reply.update({"error": {"code": -32601, "message": "Method not found"}} if answer is None else {"result": answer})
    print(json.dumps(reply), flush=True)
"""


def child(*states, end=None):
    given = json.dumps([list(states), [tool("t", "optional"), tool("plain", None)], end or payload("yes")])
    return " ".join(map(shlex.quote, [sys.executable, "-c", CHILD, given]))


@pytest.fixture
def served():
    """A function: the address of a server of 2026-07-28 whose task has these states."""
    listeners = []

    def serve(*states):
        server = Server("jobs", extensions=[Served(*states)])
        server.tool(name="t")(lambda: "never")
        listeners.append(server.listen("tcp://127.0.0.1:0"))
        return listeners[-1].address

    yield serve
    for each in listeners:
        each.close()


def test_a_call_begins_a_task_and_shows_it(served, capsys):
    code, out, err = here(capsys, "call", "--task", served(working("busy\x1b[31m")), "t")
    assert (code, out, err) == (0, ID + " working\n", "")
    code, out, err = here(capsys, "call", "--task", "--json", child(kept("working", "half")), "t")
    assert code == 0 and json.loads(out) == kept("working", "half")
    assert "the server ends with this command, and the task with it: leave out --task" in err


def test_a_call_that_waits_shows_the_messages_of_its_task(served, capsys):
    code, out, err = here(capsys, "call", served(working("one"), working("two"), completed("yes")), "t")
    assert (code, out, err) == (0, "yes\n", "... one\n... two\n")


def test_a_call_that_is_answered_at_once_shows_its_result(capsys):
    code, out, err = here(capsys, "call", "--task", child(kept()), "plain")
    assert (code, out) == (0, "yes\n") and "answered at once" in err


@pytest.mark.parametrize("action, states, shown, said", [
    ("get", [working("half")], ID + " working: half", ""),
    ("wait", [working("one"), working("two\n\x1b[0m"), completed()], ID + " completed", "... one\n... two \\x1b[0m\n"),
    ("result", [working(), completed("yes")], "yes", ""),
    ("cancel", [working(), dict(working("as you wish"), status="cancelled")], ID + " cancelled: as you wish", ""),
    ("cancel", [completed()], ID + " completed", ""),
])
def test_actions_show_the_task_or_its_result(action, states, shown, said, served, capsys):
    assert here(capsys, "tasks", action, served(*states), ID) == (0, shown + "\n", said)


@pytest.mark.parametrize("action, shown", [
    ("get", ID + " working: half"), ("result", "yes"), ("wait", ID + " completed: half"),
    ("cancel", ID + " cancelled: by request"), ("list", "tasks: 2\n  %s working: half\n  %s failed" % (ID, ID)),
])
def test_the_same_of_a_child(action, shown, capsys):
    words = [action, child(kept("working", "half"), kept("failed")), *([] if action == "list" else [ID])]
    code, out, err = here(capsys, "tasks", *words)
    assert (code, out) == (0, shown + "\n"), err


def test_the_command_may_come_last(capsys):
    words = shlex.split(child(kept("working", "half")))
    assert here(capsys, "tasks", "get", ID, "--", *words)[:2] == (0, ID + " working: half\n")


def test_json_is_what_the_server_said(served, capsys):
    given = dict(working("half"), resultType="complete")
    code, out, err = here(capsys, "tasks", "get", "--json", served(given), ID)
    found = json.loads(out)
    assert code == 0 and {name: found[name] for name in given} == given
    code, out, err = here(capsys, "tasks", "list", "--json", child(kept(), kept("failed")))
    assert json.loads(out) == {"tasks": [kept(), kept("failed")]}
    code, out, err = here(capsys, "tasks", "result", "--json", served(completed("no", isError=True)), ID)
    assert code == 1 and json.loads(out)["isError"] is True


@pytest.mark.parametrize("words, hint", [
    ([], "Write one of these words first: list, get, wait, cancel, result"),
    (["wiat", "x"], "Write one of these words first"),
    (["get", "tcp://127.0.0.1:1"], "tasks get takes the id of a task"),
    (["list", "tcp://127.0.0.1:1", "a"], "tasks list takes no id"),
])
def test_what_is_missing_is_said(words, hint, capsys):
    code, out, err = here(capsys, "tasks", *words)
    assert code == 2 and hint in one_line_of(err)


def test_what_goes_wrong_is_said(served, capsys):
    code, out, err = here(capsys, "tasks", "wait", "--timeout=%g" % patience(0.5), served(working()), ID)
    assert code == 1 and "task %s is working still" % ID in one_line_of(err)
    code, out, err = here(capsys, "tasks", "list", served(working()))
    assert code == 1 and "2026-07-28 has no list of tasks: keep the ids that call --task shows" in one_line_of(err)
    failed = state("failed", ttlMs=1, error={"code": -32050, "message": "quota"})
    code, out, err = here(capsys, "tasks", "result", "--json", served(failed), ID)
    assert code == 1 and json.loads(out)["error"]["code"] == -32050


@pytest.mark.parametrize("action", ["wait", "result"])
def test_without_a_terminal_a_question_stays_open(action, served, capsys):
    code, out, err = here(capsys, "tasks", action, served(asking("who"), completed("too late")), ID)
    assert (code, out) == (1, "") and "elicitation/create Who?; it stays open" in one_line_of(err)
    assert "declined" not in err
