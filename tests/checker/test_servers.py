"""Tools, resources, prompts, completion, pagination and caching: what a single scene of a rule does not show."""
import pytest

from mcp_ref.devtools.checker.listed import lists
from tests.checker.helpers import judged, roots, unsure

TOOL = '{"name": "t", "inputSchema": {"type": "object"}}'
OTHER = '{"name": "u", "inputSchema": {"type": "object"}}'
COMPLETE = 'completion/complete {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "x"}}'

LEVEL = 'on stdio 2025-06-18\n C #1 logging/setLevel {"level": %s}\n S #1 %s'
META = '%sC #2 tools/list {"_meta": {"io.modelcontextprotocol/logLevel": %s}}\n S #2 %s'
NEW = 'on stdio 2026-07-28 server={"logging": {}, "tools": {}}\n '
KNOWN = NEW + 'C #1 tools/list {}\n S #1 {"tools": []}\n '
LOGGED = '\n S notifications/message {"level": "info", "data": "x"}\n '


@pytest.mark.parametrize("text, ids", [
    (LEVEL % ('"verbose"', "{}"), ["logging.invalid-level"]),
    (LEVEL % ('"verbose"', '!-32603 "Internal error"'), ["logging.invalid-level"]),
    (LEVEL % ('"verbose"', '!-32602 "Unknown level"'), []), (LEVEL % ('"verbose"', '!-32601 "Method not found"'), []),
    (LEVEL % ('"DEBUG"', "{}"), ["logging.invalid-level"]), (LEVEL % ('"debug"', "{}"), []),
    (LEVEL % ('"debug"', '!-32603 "Internal error"'), []), (LEVEL % ("7", '!-32603 "Internal error"'), []),
    (META % (KNOWN, '"loud"', '{"tools": []}'), ["logging.invalid-level-meta"]),
    (META % (KNOWN, "7", '{"tools": []}'), ["logging.invalid-level-meta"]),
    (META % (KNOWN, '"loud"', '!-32602 "Unknown level"'), []),
    (META % (KNOWN, '"loud"', '!-32603 "Internal error"'), []), (META % (KNOWN, '"info"', '{"tools": []}'), []),
    (META % (KNOWN, '"info"', '{"tools": []}') + LOGGED, ["logging.opt-in"]),
    (KNOWN + 'C #2 tools/list {"_meta": {"io.modelcontextprotocol/logLevel": "info"}}' + LOGGED
     + 'S #2 {"tools": []}', []),
    (KNOWN + 'C #2 tools/list {"_meta": {"io.modelcontextprotocol/logLevel": "info"}}\n'
     ' C #3 tools/list {"_meta": {"io.modelcontextprotocol/logLevel": "info"}}\n S #2 {"tools": []}' + LOGGED
     + 'S #3 {"tools": []}', []),
    (KNOWN + "C #2 tools/list {}" + LOGGED + 'S #2 {"tools": []}', ["logging.opt-in"]),
])
def test_requests_that_name_a_level_of_the_log(text, ids):
    """[2025-06-18 server/utilities/logging §Error Handling], [2026-07-28 server/utilities/logging §Error Handling]"""
    assert [each for each in roots(text) if each.startswith("logging.")] == ids


LEGAL = {
    "a list that changes, announced a moment later": """
        on stdio 2025-06-18
        C #1 tools/list
        S #1 {"tools": []}
        C #2 tools/list
        S #2 {"tools": [%s]}
        @ 1
        S notifications/tools/list_changed
        @ 60
        C #3 ping
        S #3 {}
    """ % TOOL,
    "a list that changes, and listChanged was not declared": """
        on stdio 2025-06-18 server={"tools": {}}
        C #1 tools/list
        S #1 {"tools": []}
        C #2 tools/list
        S #2 {"tools": [%s]}
        @ 60
        C #3 ping
        S #3 {}
    """ % TOOL,
    "a list that changes over HTTP, and no stream is open": """
        on http 2025-06-18
        C #1 tools/list
        S #1 {"tools": []}
        C #2 tools/list
        S #2 {"tools": [%s]}
        @ 60
        C #3 ping
        S #3 {}
    """ % TOOL,
    "a list that changes without a subscription": """
        on stdio 2026-07-28
        C #1 server/discover
        S #1 {}
        C #2 tools/list
        S #2 {"tools": []}
        C #3 tools/list
        S #3 {"tools": [%s]}
        @ 60
        C #4 tools/list
        S #4 {"tools": [%s]}
    """ % (TOOL, TOOL),
    "two lists that differ in the middle of their pages": """
        on stdio 2025-06-18
        C #1 tools/list
        S #1 {"tools": [%s], "nextCursor": "a"}
        C #2 tools/list
        S #2 {"tools": [%s], "nextCursor": "b"}
        @ 60
        C #3 ping
        S #3 {}
    """ % (TOOL, OTHER),
    "other order after a change": """
        on stdio 2026-07-28
        C #1 tools/list
        S #1 {"tools": [%s, %s]}
        C #2 tools/list
        S #2 {"tools": [%s]}
    """ % (TOOL, OTHER, OTHER),
    "output that does not fit in a result that says it failed": """
        on stdio 2025-06-18
        C #1 tools/list
        S #1 {"tools": [{"name": "t", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", \
            "required": ["a"]}}]}
        C #2 tools/call {"name": "t"}
        S #2 {"content": [], "isError": true}
    """,
    "a task in place of the result": """
        on stdio 2025-11-25 server={"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}
        C #1 tools/list
        S #1 {"tools": [{"name": "t", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "optional"}, \
            "outputSchema": {"type": "object", "required": ["a"]}}]}
        C #2 tools/call {"name": "t", "task": {}}
        S #2 {"task": {"taskId": "786512e2-9e0d-44bd", "status": "working", "createdAt": "2026-01-01T00:00:00Z", \
            "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": 60000}}
    """,
    "a server that converts what it gets": """
        on stdio 2025-06-18
        C #1 tools/list
        S #1 {"tools": [{"name": "t", "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}, \
            "additionalProperties": false}}]}
        C #2 tools/call {"name": "t", "arguments": {"a": "5", "more": null}}
        S #2 {"content": []}
        C #3 tools/call {"name": "t", "arguments": {"a": null}}
        S #3 {"content": []}
    """,
    "a masked argument": """
        on stdio 2025-06-18
        C #1 tools/list
        S #1 {"tools": [{"name": "t", "inputSchema": {"type": "object", "properties": {"token": {"type": "object"}}}, \
            "outputSchema": {"type": "object", "properties": {"token": {"type": "integer"}}}}]}
        C #2 tools/call {"name": "t", "arguments": {"token": "***1a2b3c4d"}}
        S #2 {"content": [{"type": "text", "text": "***"}], "structuredContent": {"token": "***1a2b3c4d"}}
    """,
    "a schema that only older dialects read": """
        on stdio 2025-06-18
        C #1 tools/list
        S #1 {"tools": [{"name": "t", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", \
            "properties": {"a": {"items": [{"type": "string"}], "additionalItems": {"type": "integer"}}}}}]}
        C #2 tools/call {"name": "t"}
        S #2 {"content": [{"type": "text", "text": "{\\"a\\": [\\"x\\", 1]}"}], "structuredContent": {"a": ["x", 1]}}
    """,
    "structured content that wraps a text": """
        on stdio 2025-06-18
        C #1 tools/call {"name": "t"}
        S #1 {"content": [{"type": "text", "text": "hello"}], "structuredContent": {"result": "hello"}}
    """,
    "structured content that wraps an array, one text for each item": """
        on stdio 2025-06-18
        C #1 tools/call {"name": "t"}
        S #1 {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], \
            "structuredContent": {"result": ["a", "b"]}}
    """,
    "a resource that is not found though it is listed": """
        on stdio 2025-06-18
        C #1 resources/list
        S #1 {"resources": [{"uri": "file:///a", "name": "a"}]}
        C #2 resources/read {"uri": "file:///a"}
        S #2 !-32603 "Resource not found"
    """,
    "a method that is not found": """
        on stdio 2025-06-18 server={"tools": {}}
        C #1 resources/read {"uri": "file:///a"}
        S #1 !-32601 "Method not found: unknown resource method"
    """,
    "an empty resource from a template": """
        on stdio 2026-07-28
        C #1 resources/list
        S #1 {"resources": []}
        C #2 resources/templates/list
        S #2 {"resourceTemplates": [{"uriTemplate": "file:///{name}", "name": "f"}]}
        C #3 resources/read {"uri": "file:///x"}
        S #3 {"contents": []}
    """,
    "base64 in lines": """
        on stdio 2025-06-18
        C #1 resources/read {"uri": "file:///a"}
        S #1 {"contents": [{"uri": "file:///a", "blob": "aGkg\\naGk=\\n"}]}
    """,
    "a cursor from before, in a revision in which clients may keep pages": """
        on stdio 2026-07-28
        C #1 tools/list {"cursor": "kept"}
        S #1 {"tools": []}
    """,
    "a list that is asked for again when the user wants it": """
        on stdio 2026-07-28
        C #1 tools/list
        S #1 {"tools": [], "ttlMs": 60000}
        C #2 tools/list
        S #2 {"tools": [], "ttlMs": 60000}
        C #3 tools/list
        S #3 {"tools": [], "ttlMs": 60000}
    """,
    "a fresh list that is asked for again after errors": """
        on stdio 2026-07-28
        C #1 tools/list
        S #1 {"tools": [], "ttlMs": 60000}
        C #2 tools/call {"name": "t"}
        S #2 !-32602 "Unknown tool"
        C #3 tools/list
        S #3 {"tools": [], "ttlMs": 60000}
        C #4 tools/call {"name": "t"}
        S #4 !-32602 "Unknown tool"
        C #5 tools/list
        S #5 {"tools": [], "ttlMs": 60000}
        C #6 tools/call {"name": "t"}
        S #6 !-32602 "Unknown tool"
        C #7 tools/list
        S #7 {"tools": [], "ttlMs": 60000}
    """,
    "a fresh list that is asked for with more in the request": "on stdio 2026-07-28\n" + "\n".join(
        'C #%d tools/list {"_meta": {"progressToken": %d}}\nS #%d {"tools": [], "ttlMs": 60000}' % (
            number, number, number) for number in range(1, 9)),
    "completion before the session has begun": """
        on stdio 2025-06-18 bare
        C #1 completion/complete {}
        S #1 !-32600 "The session has not begun"
    """,
    "the last page again after a while": """
        on stdio 2026-07-28
        C #1 tools/list
        S #1 {"tools": [], "nextCursor": "a"}
        C #2 tools/list {"cursor": "a"}
        S #2 {"tools": []}
        @ 30
        C #3 tools/list {"cursor": "a"}
        S #3 {"tools": []}
    """,
    "a client that stops at a page": """
        on stdio 2025-06-18
        C #1 prompts/list
        S #1 {"prompts": [], "nextCursor": "a"}
        @ 900
        C #2 ping
        S #2 {}
    """,
    "completion of a word, letter by letter": "on stdio 2025-06-18\n" + "\n".join(
        "C #%d %s\nS #%d {\"completion\": {\"values\": []}}" % (number, COMPLETE.replace('"x"', '"%s"' % word), number)
        for number, word in enumerate(("p", "py", "pyt", "pyth", "pytho", "python"), 1)),
    "an older revision, in which completion has no capability": """
        on stdio 2024-11-05 server={}
        C #1 %s
        S #1 {"completion": {"values": []}}
    """ % COMPLETE,
}


@pytest.mark.parametrize("name", sorted(LEGAL))
def test_legal_traffic_is_silent(name):
    found = [each for each in judged(LEGAL[name]).findings if not each.rule.id.startswith("lifecycle.")]
    assert [(each.rule.id, each.evidence) for each in found] == []


BROKEN = {
    "tools.list-changed": """
        on sse 2025-06-18
        C #1 tools/list
        S #1 {"tools": []}
        @ 5
        C #2 tools/list
        S #2 {"tools": [%s]}
        @ 5
        C #3 ping
        S #3 {}
    """ % TOOL,
    "resources.list-changed": """
        on http 2025-06-18
        C [1] GET /mcp {"Accept": "text/event-stream"}
        S [1] stream
        C #1 resources/list
        S #1 {"resources": []}
        @ 5
        C #2 resources/list
        S #2 {"resources": [{"uri": "file:///a", "name": "a"}]}
        @ 5
        C #3 ping
        S #3 {}
    """,
    "resources.binary-encoded": """
        on stdio 2024-11-05
        C #1 tools/call {"name": "t"}
        S #1 {"content": [{"type": "resource", "resource": {"uri": "file:///a", "blob": "aGk"}}]}
    """,
    "tools.output-schema-conform": """
        on http 2026-07-28
        C #1 tools/list
        S #1 {"tools": [{"name": "t", "inputSchema": {"type": "object"}, "outputSchema": {"type": "array"}}]}
        C #2 tools/call {"name": "t"}
        S #2 {"content": [{"type": "text", "text": "none"}]}
    """,
    "tools.input-schema-object": """
        on stdio 2025-11-25
        C #1 tools/list
        S #1 {"tools": [], "nextCursor": "a"}
        C #2 tools/list {"cursor": "a"}
        S #2 {"tools": [%s, {"name": "v"}]}
    """ % TOOL,
    "pagination.cursor-unmodified": """
        on stdio 2026-07-28
        C #1 resources/list
        S #1 {"resources": [], "nextCursor": "10"}
        C #2 resources/list {"cursor": "20"}
        S #2 !-32602 "Invalid cursor"
    """,
    "prompts.audio-base64": """
        on stdio 2025-03-26
        C #1 prompts/get {"name": "p"}
        S #1 {"messages": [{"role": "user", "content": {"type": "audio", "data": "aGk="}}]}
    """,
    "cache.hints-tools-list": """
        on stdio 2026-07-28
        C #1 tools/list
        S #1 {"tools": [], "cacheScope": "shared"}
    """,
    "schema.result": """
        on stdio 2024-11-05
        C #1 tools/list
        S #1 {"tools": [{"name": "t"}]}
    """,
}


@pytest.mark.parametrize("id", sorted(BROKEN))
def test_rule_holds_in_other_revisions_and_transports(id):
    assert roots(BROKEN[id]) == [id]


def test_one_list_does_not_hold_all_that_came_before_it():
    listed = "".join('C #%d tools/list\nS #%d {"tools": [%s]}\n' % (number, number, TOOL) for number in range(1, 6))
    session = judged("on stdio 2026-07-28\n" + listed).connections[""].default
    newest = lists(session).complete["tools/list"]
    assert newest.first.id == 5 and newest.last.notes["before"].first.id == 4
    assert newest.last.notes["before"].last.notes == {}


UNSURE = {
    "tools.capability": """
        on stdio 2026-07-28
        C #1 tools/list
        S #1 {"tools": []}
    """,
    "tools.output-schema-conform": """
        on stdio 2025-06-18
        C #1 tools/call {"name": "t"}
        S #1 {"content": []}
    """,
    "pagination.cursor-unmodified": """
        on stdio 2025-06-18 late
        C #1 tools/list {"cursor": "a"}
        S #1 {"tools": []}
    """,
    "prompts.invalid-name": """
        on stdio 2025-06-18
        C #1 prompts/get {"name": "p"}
        S #1 !-32603 "Unknown prompt"
    """,
    "tools.list-changed": """
        on stdio 2025-06-18
        C #1 tools/list
        S #1 {"tools": []}
        C #2 tools/list
        S #2 {"tools": [%s]}
    """ % TOOL,
    "pagination.invalid-cursor-graceful": """
        on stdio 2025-06-18 without=process
        C #1 ping
        S #1 {}
    """,
    "mrtr.keys-unique": """
        on stdio 2026-07-28 without=bytes
        C #1 tools/list
        S #1 {"tools": []}
    """,
}


@pytest.mark.parametrize("id", sorted(UNSURE))
def test_what_was_not_recorded_is_not_guessed(id):
    assert unsure(UNSURE[id], id)
    assert id not in roots(UNSURE[id])
