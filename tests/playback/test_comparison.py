"""Two recordings, or two values, are compared by meaning."""
import pytest

from mcp_ref.devtools.playback.driver import compare
from mcp_ref.devtools.playback.script import differences

from .recorded import answer, ask, call, script, tell, text


@pytest.mark.parametrize("left, right, path", [
    ({"a": 1}, {"a": 1.0}, ""),
    ({"a": 1}, {"a": True}, "a"),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, ""),
    ({"a": [1, 2]}, {"a": [1, 3]}, "a[1]"),
    ({"a": [1]}, {"a": [1, 2]}, "a[1]"),
    ({"a": None}, {}, "a"),
    ({"nextCursor": "x"}, {"nextCursor": "y"}, ""),
    ({"nextCursor": "x"}, {}, "nextCursor"),
    ({"task": {"taskId": "x", "status": "working"}}, {"task": {"taskId": "y", "status": "failed"}}, "task.status"),
    ("at 2026-01-02T03:04:05Z", "at 2025-11-12T13:14:15.678+02:00", ""),
    ("at 4:05:06 PM", "at 11:05:06 AM", ""),
    ("2 of 3", "2 of 4", "all"),
    ("id 0b0e8f4e-2f2a-4a59-8e0b-5d2f7e0c1a2b", "id 1b0e8f4e-2f2a-4a59-8e0b-5d2f7e0c1a2c", ""),
    ("key ***0123abcd!", "key of mine", ""),
    ("key ***0123abcd!", "no key", "all"),
    ({"blob": "YXQgMTA6MDA6MDA="}, {"blob": "YXQgMTE6MDA6MDA="}, ""),
    ({"blob": "YQ=="}, {"blob": "Yg=="}, "blob"),
])
def test_what_is_made_anew_does_not_count(left, right, path):
    found = [each.path or "all" for each in differences(left, right)]
    assert found == ([path] if path else [])


def test_named_things_are_compared_by_their_names_and_then_by_their_order():
    left = {"tools": [{"name": "a", "inputSchema": {"type": "object"}}, {"name": "b"}, {"name": "c"}]}
    right = {"tools": [{"name": "b"}, {"name": "a", "inputSchema": {"type": "string"}}]}
    assert [each.path for each in differences(left, right)] == [
        "tools[a].inputSchema.type", "tools[c]", "tools, in another order"]


def session(version="2025-11-25", tools=(), results=(), capabilities=None, between=(), name="s"):
    steps = [("C", ask(0, "initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "c"})),
             ("S", answer(0, protocolVersion=version, capabilities=capabilities or {}, serverInfo={"name": name})),
             ("C", ask(1, "tools/list")), ("S", answer(1, tools=[{"name": each} for each in tools]))]
    for number, (tool, said) in enumerate(results, 2):
        steps += [("C", call(number, tool)), *(("S", each) for each in between), ("S", text(number, said))]
    return script(*steps)


@pytest.mark.parametrize("more, told", [
    ({}, []),
    ({"version": "2025-06-18"}, ["revision: spoken: 2025-11-25 | 2025-06-18"]),
    ({"name": "t"}, ['parties: server, serverInfo.name: "s" | "t"']),
    ({"capabilities": {"tools": {}}}, ["capabilities: server, tools: absent | {}"]),
    ({"tools": ["f"]}, ["tools: g: recorded | absent"]),
    ({"results": [("f", "1")]}, ["results: tools/call {\"name\":\"g\",\"arguments\":{}}: recorded | absent"]),
    ({"results": [("f", "1"), ("g", "3")]},
     ['results: tools/call {"name":"g","arguments":{}}, result.content[0].text: "2" | "3"']),
    ({"results": [("g", "2"), ("f", "1")]},
     ['order: request 3 that both have: tools/call {"name":"f","arguments":{}} | tools/call {"name":"g","arguments":{}}'
      ]),
    ({"between": [tell("notifications/message", level="info", data="x")]},
     ["order: notifications/message: absent | recorded"]),
])
def test_each_part_is_told(more, told):
    usual = {"tools": ["f", "g"], "results": [("f", "1"), ("g", "2")]}
    assert [str(each) for each in compare(session(**usual), session(**{**usual, **more}))] == told


def test_an_error_in_place_of_a_result_is_told():
    refused = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no"}}
    found = compare(script(("C", call(1, "f")), ("S", text(1, "x"))), script(("C", call(1, "f")), ("S", refused)))
    assert sorted(each.where.rpartition(", ")[2] for each in found if each.part == "results") == ["error", "result"]


def test_progress_belongs_to_the_order():
    def steps(times):
        said = [("S", tell("notifications/progress", progressToken=1, progress=each)) for each in range(times)]
        return script(("C", call(1, "f", {"progressToken": 1})), *said, ("S", text(1, "x")))
    found, = compare(steps(2), steps(3))
    assert (found.part, found.left, found.right) == (
        "order", "2 notifications/progress, result", "3 notifications/progress, result")
