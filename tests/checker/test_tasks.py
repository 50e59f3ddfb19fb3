"""Tasks of 2025-11-25, and the extension apps: what a single scene of a rule does not show."""
import pytest

from mcp_ref.devtools.checker import Checker
from mcp_ref.devtools.checker.pages.tasks.known import (
    ANSWER, ASKING, DONE, ID, OTHER_ID, RELATED, created, listed, report,
)
from mcp_ref.devtools.checker.rules import RULES, load
from mcp_ref.devtools.checker.scenes import traces
from tests.checker.helpers import judged, roots, unsure

load()

GET = '\n C #%d tasks/get {"taskId": "' + ID + '"}\n S #%d %s\n'
FETCH = '\n C #%d tasks/result {"taskId": "' + ID + '"}\n S #%d %s\n'
CANCEL = '\n C #%d tasks/cancel {"taskId": "' + ID + '"}\n S #%d %s\n'
OWN = '"_meta": {"%s": {"taskId": "%s"}}' % (RELATED, ID)
SAMPLING = ('on stdio 2025-11-25 client={"sampling": {}, "tasks": {"list": {}, "cancel": {}, "requests": {"sampling": '
            '{"createMessage": {}}}}}\n S #1 sampling/createMessage {"messages": [], "maxTokens": 1, "task": {}}\n'
            ' C #1 {"task": %s}\n')
SAID = '{"role": "assistant", "content": {"type": "text", "text": "Hi"}, "model": "m", %s}' % OWN
CALL = '\n C #9 tools/call {"name": "slow"}\n S #9 {"content": []}\n'
FAILURE = report("failed", more={"statusMessage": "The disk is full"})
CHART = '{"name": "chart", "inputSchema": {"type": "object"}, "_meta": {"ui": {"resourceUri": "ui://chart"%s}}}'
APPS = ('on stdio 2025-11-25 client={"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": '
        '["text/html;profile=mcp-app"]}}}\n C #1 tools/list\n S #1 {"tools": [%s]}\n')

POLLED = created(task={"pollInterval": 5000})
WANTED = report("input_required")


def polls(*pauses, first=3):
    """Polls of a task at work, each so many seconds after the one before."""
    return "".join("\n @ %s" % pause + GET % (first + number, first + number, report(more={"pollInterval": 5000}))
                   for number, pause in enumerate(pauses))


@pytest.mark.parametrize("text, ids", [
    (POLLED + polls(5, 0.1, 0.1), []), (POLLED + polls(5, 0.1, 0.1, 0.1), ["tasks.respect-poll-interval"]),
    (POLLED + polls(5, 0.1, 0.1, 0.1, 0.1), ["tasks.respect-poll-interval"]),
    (POLLED + polls(5, 2.4, 2.4, 2.4), ["tasks.respect-poll-interval"]), (POLLED + polls(5, 2.6, 2.6, 2.6), []),
    (POLLED + polls(5, 0.1, 0.1, 5, 0.1, 0.1), []),
    (created() + "\n @ 590" + CALL, []), (created() + "\n @ 610" + CALL, ["tasks.keep-polling"]),
    (created() + GET % (3, 3, report()) + "\n @ 590" + CALL, []),
    (created() + GET % (3, 3, report()) + "\n @ 610" + CALL, ["tasks.poll-until-terminal"]),
    (created() + GET % (3, 3, report("completed")) + "\n @ 610" + CALL, []),
    (created() + FETCH % (3, 3, '!-32603 "Internal error"') + "\n @ 610" + CALL,
     ["tasks.poll-while-result-pending"]),
    (created() + FETCH % (3, 3, '!-32603 "Internal error"') + "\n @ 590" + CALL, []),
    (created() + GET % (3, 3, WANTED) + GET % (4, 4, WANTED) + FETCH % (5, 5, DONE), []),
    (created() + GET % (3, 3, WANTED) + GET % (4, 4, WANTED) + GET % (5, 5, WANTED),
     ["tasks.input-required-result-call"]),
    (created() + GET % (3, 3, WANTED) + GET % (4, 4, WANTED) + GET % (5, 5, WANTED) + GET % (6, 6, WANTED),
     ["tasks.input-required-result-call"]),
    (created() + "\n S #7 " + ASKING + "\n @ 29" + GET % (3, 3, report()) + "\n C #7 " + ANSWER,
     ["tasks.input-required"]),
    (created() + "\n S #7 " + ASKING + "\n @ 31" + GET % (3, 3, report()) + "\n C #7 " + ANSWER, []),
    (created() + "\n S #7 " + ASKING + GET % (3, 3, WANTED) + "\n C #7 " + ANSWER, []),
])
def test_how_a_task_is_polled(text, ids):
    """[2025-11-25 basic/utilities/tasks §Getting Tasks], [2025-11-25 basic/utilities/tasks §Input Required Status]"""
    found = [each.rule.id for each in judged(text).findings if each.cause is None]
    assert [each for each in found if each.startswith("tasks.")] == ids


LEGAL = {
    "a task that asks, with its notifications and its progress": (
        listed() + '\n C #2 tools/call {"name": "slow", "task": {}, "_meta": {"progressToken": 1}}'
        '\n S notifications/tasks/status ' + report() + '\n S #2 {"task": ' + report() + '}' + GET % (3, 3, report())
        + '\n S notifications/progress {"progressToken": 1, "progress": 1, ' + OWN + '}\n S notifications/tasks/status '
        + report("input_required") + GET % (4, 4, report("input_required"))
        + '\n C #5 tasks/result {"taskId": "' + ID + '"}\n S #7 ' + ASKING + '\n C #7 ' + ANSWER
        + '\n S notifications/tasks/status ' + report() + '\n S #8 roots/list\n C #8 {"roots": []}'
        + '\n S notifications/tasks/status ' + report("completed") + '\n S #5 ' + DONE
        + GET % (6, 6, report("completed"))
        + FETCH % (10, 10, DONE) + '\n C #11 tasks/list\n S #11 {"tasks": [' + report("completed") + ']}'),
    "a question on the GET stream, answered while tasks/result waits on another": (
        created(on="http") + '\n C [8] GET /mcp {"Accept": "text/event-stream"}\n S [8] stream'
        + GET % (3, 3, report("input_required")) + '\n C [9] #4 tasks/result {"taskId": "' + ID + '"}\n S [9] stream'
        '\n S [9] event {"id": "0", "data": ""}\n S [8] #7 ' + ASKING + '\n C #7 ' + ANSWER + '\n S [9] #4 ' + DONE
        + '\n S [8] notifications/tasks/status ' + report()),
    "a client that runs a sample as a task": (
        SAMPLING % report() + ' S #2 tasks/get {"taskId": "%s"}\n C #2 %s\n C notifications/tasks/status %s\n'
        ' S #3 tasks/result {"taskId": "%s"}\n C #3 %s\n S #4 tasks/list\n C #4 {"tasks": [%s]}' % (
            ID, report(), report("completed"), ID, SAID, report("completed"))),
    "two polls that are answered in the other order": (
        created() + '\n C #3 tasks/get {"taskId": "%s"}\n C #4 tasks/get {"taskId": "%s"}\n S #4 %s\n S #3 %s' % (
            ID, ID, report("completed"), report())),
    "a task that is gone after its lifetime": created(task={"ttl": 60000}) + "\n @ 100" + GET % (
        3, 3, '!-32602 "Task not found"'),
    "a cancelled task that is gone at once": created() + CANCEL % (3, 3, report("cancelled")) + GET % (
        4, 4, '!-32602 "Task not found"') + FETCH % (5, 5, '!-32602 "Task not found"'),
    "a wish to cancel that crosses the end": created() + (
        '\n C #3 tasks/cancel {"taskId": "%s"}\n S notifications/tasks/status %s\n S #3 !-32602 "It has completed"' % (
            ID, report("completed"))),
    "a tool that fails": created() + GET % (3, 3, FAILURE) + FETCH % (
        4, 4, '{"content": [{"type": "text", "text": "The disk is full"}], "isError": true, %s}' % OWN),
    "the error of the request itself, which speaks of a task": created() + GET % (3, 3, FAILURE) + FETCH % (
        4, 4, '!-32002 "Task 7 of the build was not found"'),
    "a task from another session": listed() + GET % (3, 3, report("completed")) + FETCH % (4, 4, DONE),
    "a short poll after a notification, and one of a second part of the client": (
        created(task={"pollInterval": 5000}) + "".join(GET % (each, each, report(more={"pollInterval": 5000}))
                                                       + "\n @ %s" % pause
                                                       for each, pause in ((3, 0.1), (4, 5), (5, 0.1), (6, 5)))),
    "three polls that find that input is wanted, the first of them given up": (
        created() + '\n C #3 tasks/get {"taskId": "%s"}\n C notifications/cancelled {"requestId": 3}\n S #3 %s' % (
            ID, report("input_required")) + GET % (4, 4, report("input_required"))
        + GET % (5, 5, report("input_required")) + '\n C #6 tasks/result {"taskId": "%s"}\n S #6 %s' % (ID, DONE)),
    "a task that is left alone, whose lifetime is short": created(task={"ttl": 60000}) + "\n @ 900" + CALL,
    "a task that is left alone by a client that does nothing else": created() + "\n @ 900\n * - close {}",
    "a result that is waited for, without a poll": (
        created() + '\n C #3 tasks/result {"taskId": "%s"}\n @ 900' % ID + CALL + "\n S #3 " + DONE),
    "a task that is cancelled, and then left": created() + CANCEL % (3, 3, report("cancelled")) + "\n @ 900" + CALL,
    "arguments that are refused before there is a task": listed() + (
        '\n C #2 tools/call {"name": "slow", "task": {}}\n S #2 {"content": [{"type": "text", "text": "No"}], '
        '"isError": true}'),
    "a call that a server refuses for another cause": listed("") + '\n C #2 tools/call {"name": "slow"}'
    '\n S #2 !-32603 "The task queue is full"',
    "a question for a plain call while a task waits": (
        created() + GET % (3, 3, report("input_required")) + '\n C #4 tasks/result {"taskId": "%s"}' % ID
        + '\n C #5 tools/call {"name": "slow"}\n S #7 ' + ASKING.replace(", " + OWN, "")
        + '\n C #7 {"action": "cancel"}\n S #5 {"content": []}'),
    "a question before the result that creates the task": listed() + (
        '\n C #2 tools/call {"name": "slow", "task": {}}\n S #7 ' + ASKING + '\n S #2 {"task": '
        + report("working") + '}\n C #7 ' + ANSWER),
    "an id again after the task was removed": created(task={"ttl": 60000}) + "\n @ 100" + (
        '\n C #3 tools/call {"name": "slow", "task": {}}\n S #3 {"task": %s}' % report()),
    "a task that shows again in a list with another order of members": created() + GET % (
        3, 3, report("completed")) + FETCH % (4, 4, '{"content": [], "structuredContent": {"a": 1, "b": 2}, %s}' % OWN)
    + FETCH % (5, 5, '{%s, "structuredContent": {"b": 2, "a": 1}, "content": []}' % OWN),
    "a question that the server has given up without a word": created() + "\n S #7 " + ASKING + "\n @ 90"
    + GET % (3, 3, report()) + "\n C #7 " + ANSWER,
    "progress that overtakes the task on another stream": (
        created(on="http", more=', "_meta": {"progressToken": "p"}') + '\n C [8] GET /mcp {"Accept": '
        '"text/event-stream"}\n S [8] stream\n S [8] notifications/progress {"progressToken": "p", "progress": 1}'),
    "a member task in the params of a vendor's method": 'on stdio 2025-11-25\n C #1 com.example/run {"task": {}}'
    '\n S #1 {"task": {}}',
    "a recording that begins late": 'on stdio 2025-11-25 late\n C #4 tools/call {"name": "slow", "task": {}}\n'
    ' S #4 {"task": ' + report() + '}' + GET % (5, 5, report()) + "\n S #7 " + ASKING.replace(ID, OTHER_ID)
    + "\n C #7 " + ANSWER.replace(ID, OTHER_ID),
    "a resource of an older kind of UI": APPS % '{"name": "a", "inputSchema": {"type": "object"}}'
    + ' C #2 resources/list\n S #2 {"resources": [{"uri": "ui://old", "name": "old", "mimeType": "text/uri-list"}]}\n'
      ' C #3 resources/read {"uri": "ui://old"}\n'
      ' S #3 {"contents": [{"uri": "ui://old", "mimeType": "text/uri-list", "text": "https://example.com"}]}',
    "a tool with a UI, listed where no session tells what the client has declared": (
        'on http 2025-11-25 nosession client={}\n C [9] #1 tools/list\n S [9] #1 {"tools": [%s]}' % (CHART % "")),
    "the media type of apps with a blank, and bytes": APPS % (CHART % "")
    + ' C #3 resources/read {"uri": "ui://chart"}\n S #3 {"contents": [{"uri": "ui://chart", '
      '"mimeType": "text/html; profile=mcp-app", "blob": "PGh0bWw+"}]}',
    "a tool for the app alone, which has nothing for the model": APPS % (CHART % ', "visibility": ["app"]')
    + ' C #2 tools/call {"name": "chart"}\n S #2 {"content": []}',
}


@pytest.mark.parametrize("name", sorted(LEGAL))
def test_legal_traffic_is_silent(name):
    checker = judged(LEGAL[name])
    assert checker.messages
    assert [(each.rule.id, each.evidence) for each in checker.findings] == []


# name -> the scene, and all root causes
BROKEN = {
    "a sample that begins at its end": (SAMPLING % report("completed"), {"tasks.starts-working"}),
    "a notification that says otherwise long after the end": (
        created() + GET % (3, 3, report("completed")) + "\n @ 20\n S notifications/tasks/status " + report(),
        {"tasks.terminal-final"}),
    "a list that says otherwise after the end": (
        created() + GET % (3, 3, FAILURE) + '\n C #4 tasks/list\n S #4 {"tasks": [%s]}' % report(),
        {"tasks.terminal-final"}),
    "ids that count": (
        listed() + "".join('\n C #%d tools/call {"name": "slow", "task": {}}\n S #%d {"task": %s}' % (
            each, each, report(id="a-long-prefix-%d" % each)) for each in (2, 3)), {"tasks.id-entropy"}),
    "a task that is gone before its time": (
        created() + GET % (3, 3, '!-32602 "Task not found"'), {"tasks.ttl-reported"}),
    "the report of another task": (
        created() + '\n C #3 tasks/cancel {"taskId": "%s"}\n S #3 %s' % (ID, report("cancelled", OTHER_ID)),
        {"tasks.id-param-authoritative"}),
    "a cancelled task that completes": (
        created() + CANCEL % (3, 3, report("cancelled")) + GET % (4, 4, report("completed")), {"tasks.cancel-final"}),
    "two results": (
        created() + GET % (3, 3, report("completed")) + FETCH % (4, 4, DONE) + FETCH % (
            5, 5, DONE.replace("[]", '[{"type": "text", "text": "a"}]')), {"tasks.result-exact"}),
    "two errors": (
        created() + GET % (3, 3, FAILURE) + FETCH % (4, 4, '!-32603 "The disk is full"') + FETCH % (
            5, 5, '!-32000 "No"'), {"tasks.result-error"}),
    "a result that is not ready": (
        created() + FETCH % (3, 3, '!-32000 "The task is still running"'), {"tasks.result-blocks"}),
    "a result that is not ready after the end": (
        created() + GET % (3, 3, report("completed")) + FETCH % (4, 4, '!-32000 "Not ready"'),
        {"tasks.result-terminal"}),
    "a report in place of the result": (
        created() + GET % (3, 3, report("completed")) + FETCH % (
            4, 4, report("completed", more={"_meta": {RELATED: {"taskId": ID}}})), {"tasks.result-terminal"}),
    "a sample with the result of a tool": (
        SAMPLING % report() + ' S #3 tasks/result {"taskId": "%s"}\n C #3 %s' % (ID, DONE), {"tasks.result-exact"}),
    "an answer without its task": (
        created() + '\n S #7 ' + ASKING + '\n C #7 {"action": "accept", "content": {"name": "Ada"}, "_meta": '
        '{"%s": {"taskId": "%s"}}}' % (RELATED, OTHER_ID), {"tasks.related-metadata"}),
    "a task that names itself by a text": (
        created(more=', "_meta": {"progressToken": "p"}') + '\n S notifications/progress {"progressToken": "p", '
        '"progress": 1, "_meta": {"%s": "%s"}}' % (RELATED, ID), {"tasks.related-metadata"}),
    "a task that nobody has asked for": (
        listed() + '\n C #2 tools/call {"name": "slow"}\n S #2 {"task": %s}' % report(), {"schema.result"}),
    "a report without its lifetime in a list": (
        created() + '\n C #3 tasks/list\n S #3 {"tasks": [%s]}' % report().replace(
            ', "ttl": 3600000', "").replace(',"ttl":3600000', ""), {"schema.result"}),
    "a task of another request than those that may be": (
        'on stdio 2025-11-25 server={"resources": {}, "tasks": {"requests": {"tools": {"call": {}}}}}\n'
        ' C #1 resources/list {"task": {}}\n S #1 {"resources": []}', {"tasks.only-if-declared"}),
    "the old place of the URI of a UI": (
        APPS % '{"name": "a", "inputSchema": {"type": "object"}, "_meta": {"ui/resourceUri": "file:///a"}}',
        {"apps.uri-scheme"}),
    "a listed app that is no UI": (
        APPS % (CHART % "") + ' C #2 resources/list\n S #2 {"resources": [{"uri": "file:///a", "name": "a", '
        '"mimeType": "text/html;profile=mcp-app"}]}', {"apps.uri-scheme"}),
    "bytes that are none": (
        APPS % (CHART % "") + ' C #3 resources/read {"uri": "ui://chart"}\n S #3 {"contents": [{"uri": "ui://chart", '
        '"mimeType": "text/html;profile=mcp-app", "blob": "<html>"}]}', {"apps.content-text-or-blob"}),
    "a client of the newest revision without types": (
        'on stdio 2026-07-28 client={"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": "text/html"}}}\n'
        ' C #1 tools/list\n S #1 {"tools": []}', {"apps.client-declares-mime-types"}),
}


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_fault_is_named(name):
    scene, expected = BROKEN[name]
    assert set(roots(scene)) == expected


UNSURE = {
    "tasks.tool-forbidden": 'on stdio 2025-11-25 server={"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}\n'
                            ' C #2 tools/call {"name": "slow", "task": {}}\n S #2 {"task": ' + report() + '}',
    "tasks.tools-call-capability": 'on http 2025-11-25 late\n C #2 tools/call {"name": "slow", "task": {}}',
    "tasks.tool-required-error": listed(', "execution": {"taskSupport": "required"}')
    + '\n C #2 tools/call {"name": "slow"}\n S #2 !-32600 "Task augmentation required for tools/call requests"',
    "tasks.create-result-promptly": listed() + '\n C #2 tools/call {"name": "slow", "task": {}}\n S #7 roots/list\n'
    ' C #7 {"roots": []}\n @ 90\n S #2 {"task": ' + report() + '}',
    "tasks.terminal-final": created() + '\n C #3 tasks/get {"taskId": "%s"}\n C #4 tasks/get {"taskId": "%s"}\n'
                            ' S #4 %s\n S #3 %s' % (ID, ID, report("completed"), report()),
    "tasks.id-unique": created(task={"ttl": 60000}) + '\n @ 100\n C #3 tools/call {"name": "slow", "task": {}}\n'
    ' S #3 {"task": %s}' % report(),
    "tasks.result-success": created(task={"ttl": 60000}) + GET % (
        3, 3, report("completed", more={"ttl": 60000})) + "\n @ 100" + FETCH % (4, 4, '!-32602 "Task not found"'),
    "tasks.cancel-not-notification": created() + '\n C notifications/cancelled {"requestId": 2}',
    "tasks.related-metadata-elicitation": created(on="http") + '\n C [8] GET /mcp {"Accept": "text/event-stream"}\n'
    ' S [8] stream\n S [8] #7 ' + ASKING.replace(ID, OTHER_ID) + '\n C #7 ' + ANSWER.replace(ID, OTHER_ID),
    "tasks.list-complete": created() + '\n C #3 tasks/list\n S #3 {"tasks": [], "nextCursor": "a"}\n'
    ' C #4 tasks/list {"cursor": "a"}\n S #4 {"tasks": []}' + GET % (5, 5, report()),
    "tasks.id-entropy": listed(on="http") + '\n C #2 tools/call {"name": "slow", "task": {}}\n S #2 {"task": %s}' % (
        report(id="t1")),
    "tasks.no-list-without-identity": listed(on="http"),
    "tasks.context-rejected": listed(on="http") + '\n C [3 Authorization="Bearer ***0a1b2c3d"] #2 tools/call '
    '{"name": "slow", "task": {}}\n S [3] #2 {"task": %s}\n C [4 Authorization="Bearer ***99999999"] #3 tasks/get '
    '{"taskId": "%s"}\n S [4] #3 %s' % (report(), ID, report()),
    "apps.server-checks-client-capability": 'on http 2025-11-25 late\n C #1 tools/list\n S #1 {"tools": [%s]}' % (
        CHART % ""),
}


@pytest.mark.parametrize("id", sorted(UNSURE))
def test_what_was_not_seen_is_not_guessed(id):
    assert id not in roots(UNSURE[id])
    assert unsure(UNSURE[id], id)


BY_REQUESTOR = {
    "apps.client-declares-mime-types", "tasks.cancel-not-notification", "tasks.input-required-result-call",
    "tasks.keep-polling", "tasks.list-cursor-opaque", "tasks.poll-until-terminal", "tasks.poll-while-result-pending",
    "tasks.related-metadata", "tasks.related-metadata-omitted", "tasks.respect-poll-interval", "tasks.tool-forbidden",
    "tasks.tool-required", "tasks.tools-call-capability",
}
"""The rules whose scenes are broken by the client; all others by the server."""


@pytest.mark.parametrize("id", sorted(id for id in RULES if id.startswith(("tasks.", "apps."))))
def test_fault_is_that_of_the_party_that_has_made_it(id):
    checker = Checker()
    checker.check(traces(RULES[id].scene)[1])
    parties = {each.party for each in checker.findings if each.rule.id == id}
    assert parties == {"client" if id in BY_REQUESTOR else "server"}


def test_server_that_does_not_poll_is_at_fault_itself():
    lines = ' @ 900\n S #2 roots/list\n C #2 {"roots": []}'
    checker = judged((SAMPLING % report()).replace('"sampling": {},', '"sampling": {}, "roots": {},') + lines)
    assert [(each.rule.id, each.party) for each in checker.findings] == [("tasks.keep-polling", "server")]
