"""Multi round-trip requests, subscriptions, elicitation and sampling: what a single scene of a rule does not show."""
import pytest

from mcp_ref.devtools.checker.pages.extensions.task_requests import scene
from tests.checker.helpers import judged, roots, unsure

FORM = '{"message": "m", "requestedSchema": {"type": "object", "properties": {"n": {"type": "string"}}}}'
ASK = '{"method": "elicitation/create", "params": %s}' % FORM
LINK = '{"mode": "url", "message": "m", "url": "https://example.com/a", "elicitationId": "e"}'
SAID = '{"role": "assistant", "content": {"type": "text", "text": "Hi"}, "model": "m"}'
USES = """{"messages": [{"role": "user", "content": {"type": "text", "text": "Go"}}, {"role": "assistant", "content": \
[{"type": "text", "text": "I look"}, {"type": "tool_use", "id": "u", "name": "t", "input": {}}, {"type": "tool_use", \
"id": "v", "name": "t", "input": {}}]}, {"role": "user", "content": [{"type": "tool_result", "toolUseId": "v", \
"content": []}, {"type": "tool_result", "toolUseId": "u", "content": []}]}], "maxTokens": 9}"""

LEGAL = {
    "several rounds, with states that change": """
        on stdio 2026-07-28
        C #1 tools/call {"name": "t"}
        S #1 {"resultType": "input_required", "inputRequests": {"a": %(ask)s}, "requestState": "***11111111"}
        C #2 tools/call {"name": "t", "inputResponses": {"a": {"action": "decline"}}, "requestState": "***11111111"}
        S #2 {"resultType": "input_required", "inputRequests": {"a": %(ask)s}, "requestState": "***22222222"}
        C #3 tools/call {"name": "t", "inputResponses": {"a": {"action": "cancel"}}, "requestState": "***22222222"}
        S #3 {"content": []}
    """ % {"ask": ASK},
    "two calls of one tool at once, answered in other order": """
        on stdio 2026-07-28
        C #1 tools/call {"name": "t", "arguments": {"n": 1}}
        C #2 tools/call {"name": "t", "arguments": {"n": 2}}
        S #1 {"resultType": "input_required", "inputRequests": {"a": %(ask)s}, "requestState": "***11111111"}
        S #2 {"resultType": "input_required", "inputRequests": {"a": %(ask)s}, "requestState": "***22222222"}
        C #3 tools/call {"name": "t", "arguments": {"n": 2}, "inputResponses": {"a": {"action": "decline"}}, \
            "requestState": "***22222222"}
        C #4 tools/call {"name": "t", "arguments": {"n": 1}, "inputResponses": {"a": {"action": "decline"}}, \
            "requestState": "***11111111"}
        S #4 {"content": []}
        S #3 {"content": []}
    """ % {"ask": ASK},
    "an attempt that was sent twice": """
        on stdio 2026-07-28
        C #1 tools/call {"name": "t"}
        S #1 {"resultType": "input_required", "inputRequests": {"a": %(ask)s}, "requestState": "***11111111"}
        C #2 tools/call {"name": "t", "inputResponses": {"a": {"action": "decline"}}, "requestState": "***11111111"}
        S #2 !-32603 "try again"
        C #3 tools/call {"name": "t", "inputResponses": {"a": {"action": "decline"}}, "requestState": "***11111111"}
        S #3 {"content": []}
    """ % {"ask": ASK},
    "the same call anew, without an answer": """
        on stdio 2026-07-28
        C #1 tools/call {"name": "t"}
        S #1 {"resultType": "input_required", "inputRequests": {"a": %(ask)s}, "requestState": "***11111111"}
        C #2 tools/call {"name": "t"}
        S #2 {"resultType": "input_required", "inputRequests": {"a": %(ask)s}, "requestState": "***22222222"}
    """ % {"ask": ASK},
    "a state alone, at once": """
        on stdio 2026-07-28
        C #1 resources/read {"uri": "file:///a"}
        S #1 {"resultType": "input_required", "requestState": "***11111111"}
        C #2 resources/read {"uri": "file:///a", "requestState": "***11111111"}
        S #2 {"contents": []}
    """,
    "states behind a mask without digest": """
        on stdio 2026-07-28
        C #1 tools/call {"name": "t"}
        S #1 {"resultType": "input_required", "inputRequests": {"a": %(ask)s}, "requestState": "***"}
        C #2 tools/call {"name": "t", "inputResponses": {"a": {"action": "decline"}}, "requestState": "***"}
        S #2 {"content": []}
    """ % {"ask": ASK},
    "an answer whose content fits": """
        on stdio 2025-06-18
        C #1 tools/call {"name": "t"}
        S #7 elicitation/create %s
        C #7 {"action": "accept", "content": {"n": "ann"}}
        S #1 {"content": []}
    """ % FORM,
    "elicitation without modes is that of forms": """
        on stdio 2025-11-25 client={"elicitation": {}}
        C #1 tools/call {"name": "t"}
        S #7 elicitation/create %s
        C #7 {"action": "cancel"}
        S #1 {"content": []}
    """ % FORM,
    "a link by an error, its notification, and a call again": """
        on stdio 2025-11-25
        C #1 tools/call {"name": "t"}
        S #1 !-32042 "A link has to be visited" {"elicitations": [%s]}
        S notifications/elicitation/complete {"elicitationId": "e"}
        C #2 tools/call {"name": "t"}
        S #2 {"content": []}
    """ % LINK,
    "a link of an app": """
        on stdio 2025-11-25
        C #1 tools/call {"name": "t"}
        S #7 elicitation/create %s
        C #7 {"action": "accept"}
        S #1 {"content": []}
    """ % LINK.replace("https://example.com/a", "myapp:login"),
    "a history of tools": """
        on stdio 2025-11-25 client={"sampling": {"tools": {}}}
        C #1 tools/call {"name": "t"}
        S #7 sampling/createMessage %s
        C #7 %s
        S #1 {"content": []}
    """ % (USES, SAID),
    "a client that refuses in its own words": """
        on stdio 2025-11-25
        C #1 tools/call {"name": "t"}
        S #7 sampling/createMessage {"messages": [], "maxTokens": 9}
        C #7 !-32603 "The model is not there"
        S #1 {"content": []}
    """,
    "notifications of one channel, of two subscriptions": """
        on stdio 2026-07-28
        C #1 server/discover
        S #1 {}
        C #2 subscriptions/listen {"notifications": {"toolsListChanged": true}}
        C #3 subscriptions/listen {"notifications": {"resourceSubscriptions": ["file:///a/"]}}
        S notifications/subscriptions/acknowledged {"_meta": {"io.modelcontextprotocol/subscriptionId": 3}, \
            "notifications": {"resourceSubscriptions": ["file:///a/"]}}
        S notifications/resources/updated {"_meta": {"io.modelcontextprotocol/subscriptionId": 3}, \
            "uri": "file:///a/b"}
        S notifications/subscriptions/acknowledged {"_meta": {"io.modelcontextprotocol/subscriptionId": 2}, \
            "notifications": {"toolsListChanged": true}}
        C notifications/cancelled {"requestId": 2}
        S notifications/tools/list_changed {"_meta": {"io.modelcontextprotocol/subscriptionId": 2}}
    """,
    "a stream that the client closes": """
        on http 2026-07-28
        C [1] #1 subscriptions/listen {"notifications": {"toolsListChanged": true}}
        S [1] stream
        S [1] notifications/subscriptions/acknowledged {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}, \
            "notifications": {}}
        C [1] end
    """,
    "a result of an extension": """
        on stdio 2026-07-28 client={"extensions": {"io.modelcontextprotocol/tasks": {}}}
        C #1 tools/call {"name": "t"}
        S #1 {"resultType": "task", "taskId": "0a1b2c3d4e5f", "status": "working", "ttlMs": null, \
            "createdAt": "2026-11-22T10:30:00Z", "lastUpdatedAt": "2026-11-22T10:30:00Z"}
    """,
    "names of vendors": """
        on stdio 2025-06-18
        C #1 acme/search {"any": ["thing"]}
        S #1 {"found": 1}
        S notifications/acme/progress {"percent": 3}
        C #2 tools/list {"acme": {}, "_meta": {"acme/x": 1}}
        S #2 {"tools": [{"name": "t", "inputSchema": {"type": "object"}, "acme": [1], "icons": 3}], "acme": null}
    """,
    "methods of an extension": """
        on stdio 2026-07-28 client={"extensions": {"io.modelcontextprotocol/tasks": {}}}
        C #1 server/discover
        S #1 {}
        C #2 tasks/update {"taskId": "1", "inputResponses": {}}
        S #2 {}
    """,
    "what a later revision has added": """
        on stdio 2024-11-05
        C #1 tools/call {"name": "t"}
        S #1 {"content": [{"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}], "structuredContent": [1]}
    """,
}


@pytest.mark.parametrize("name", sorted(LEGAL))
def test_legal_traffic_is_silent(name):
    assert [(each.rule.id, each.evidence, each.number) for each in judged(LEGAL[name]).findings] == []


BROKEN = {
    "elicit.form-params": """
        on stdio 2026-07-28
        C #1 tools/call {"name": "t"}
        S #1 {"resultType": "input_required", "inputRequests": {"a": {"method": "elicitation/create", "params": \
            {"message": "m"}}}}
    """,
    "sampling.tools-only-if-declared": """
        on stdio 2026-07-28
        C #1 tools/call {"name": "t"}
        S #1 {"resultType": "input_required", "inputRequests": {"a": {"method": "sampling/createMessage", \
            "params": %s}}}
    """ % USES.replace('"maxTokens": 9', '"maxTokens": 9, "tools": []'),
    "elicit.client-validates": """
        on stdio 2026-07-28
        C #1 tools/call {"name": "t"}
        S #1 {"resultType": "input_required", "inputRequests": {"a": %s}}
        C #2 tools/call {"name": "t", "inputResponses": {"a": {"action": "accept", "content": {"n": 3}}}}
        S #2 !-32602 "n is no string"
    """ % ASK,
    "mrtr.state-echo": """
        on http 2026-07-28
        C #1 tools/call {"name": "t"}
        S #1 {"resultType": "input_required", "inputRequests": {"a": %s}, "requestState": "***11111111"}
        C #2 tools/call {"name": "t", "inputResponses": {"a": {"action": "decline"}}}
        S #2 !-32602 "No state"
    """ % ASK,
    "mrtr.no-state-if-absent": """
        on stdio 2026-07-28
        C #1 tools/call {"name": "t"}
        S #1 {"resultType": "input_required", "inputRequests": {"a": %(ask)s}, "requestState": "***11111111"}
        C #2 tools/call {"name": "t", "inputResponses": {"a": {"action": "decline"}}, "requestState": "***11111111"}
        S #2 {"resultType": "input_required", "inputRequests": {"b": %(ask)s}}
        C #3 tools/call {"name": "t", "inputResponses": {"b": {"action": "decline"}}, "requestState": "***11111111"}
        S #3 {"content": []}
    """ % {"ask": ASK},
    "subscribe.only-requested": """
        on stdio 2026-07-28
        C #1 server/discover
        S #1 {}
        S notifications/tools/list_changed {}
    """,
    "schema.params": """
        on stdio 2025-11-25
        C #1 tools/list {"cursor": 3}
        S #1 !-32602 "Invalid params"
    """,
    "schema.unknown-method": """
        on stdio 2025-06-18
        C notifications/initialised
    """,
}


@pytest.mark.parametrize("id", sorted(BROKEN))
def test_rule_holds_in_other_revisions_and_transports(id):
    assert roots(BROKEN[id]) == [id]


def test_one_wrong_type_is_one_fault():
    checker = judged("""
        on stdio 2025-11-25
        C #1 tools/call {"name": "t"}
        S #7 elicitation/create {"mode": "url", "message": "m", "url": 3, "elicitationId": "e"}
        C #7 !-32602 "Invalid params"
        S #1 {"content": []}
    """)
    assert {each.rule.id: each.cause and each.cause.rule.id for each in checker.findings} == {
        "elicit.url-params": None, "schema.params": "elicit.url-params"}


UNSURE = {
    "mrtr.state-echo": """
        on stdio 2026-07-28 late
        C #1 tools/call {"name": "t"}
        S #1 {"resultType": "input_required", "inputRequests": {"a": %s}, "requestState": "***11111111"}
        C #2 tools/call {"name": "t", "inputResponses": {"a": {"action": "decline"}}, "requestState": "***99999999"}
        S #2 !-32602 "No state"
    """ % ASK,
    "subscribe.only-requested": """
        on stdio 2026-07-28 late
        C #1 tools/list
        S #1 {"tools": []}
        S notifications/tools/list_changed {}
    """,
    "cancel.server-subscription-teardown": """
        on http 2026-07-28 without=end
        C [1] #1 subscriptions/listen {"notifications": {}}
        S [1] stream
        S [1] end
    """,
    "schema.unknown-method": """
        on stdio 2026-07-28
        C #1 tasks/update {"taskId": "1"}
        S #1 !-32601 "Method not found"
    """,
    "elicit.url-no-prefetch": """
        on http 2025-11-25 without=documents
        C #1 ping
        S #1 {}
    """,
}


@pytest.mark.parametrize("id", sorted(UNSURE))
def test_what_was_not_recorded_is_not_guessed(id):
    assert unsure(UNSURE[id], id)
    assert id not in roots(UNSURE[id])


ASK_BADLY = '{"method": "elicitation/create", "params": %s}' % LINK.replace("https://example.com/a", "here")
OF_TASK = """
    on stdio 2026-07-28 client={"elicitation": {"url": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}}}
    %(created)s
"""


@pytest.mark.parametrize("shown", [
    "C #%(n)d tasks/get {%%(id)s}\n"
    "S #%(n)d {\"status\": \"input_required\", %%(task)s, \"inputRequests\": {%(asked)s}}",
    "S notifications/tasks {\"_meta\": {\"io.modelcontextprotocol/subscriptionId\": 70}, "
    "\"status\": \"input_required\", %%(task)s, \"inputRequests\": {%(asked)s}}",
], ids=["looked at", "told"])
def test_question_of_a_task_is_judged_once_though_it_is_shown_again(shown):
    def said(number, *keys):
        return shown % {"n": number, "asked": ", ".join('"%s": %s' % (key, ASK_BADLY) for key in keys)}

    found = judged(scene("\n".join([OF_TASK, said(2, "a"), said(3, "a"), said(4, "a", "b")]))).findings
    assert [each.where.split(".")[2] for each in found if each.rule.id == "elicit.url-valid"] == ["a", "b"]
