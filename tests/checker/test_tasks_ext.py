"""The extension for tasks: what is at fault beyond the scenes of the rules, what looks odd and is legal, and what
cannot be told.
"""
import pytest

from mcp_ref.devtools.checker.pages.extensions.task_requests import ID, WORDS, scene
from tests.checker.helpers import judged, roots, unsure

GET = "C #%d tasks/get {%%(id)s}\nS #%d {%s, %%(task)s%s}\n"


def filled(text):
    """A scene with the words of the pages filled in."""
    return scene(text)


def look(number, status, more=""):
    """A look at the task and its answer."""
    return GET % (number, number, '"status": "%s"' % status, more)


START = "%(on)s\n%(created)s\n"
ASKED = ', "inputRequests": {"a": %(question)s}'
DONE = ', "result": {"content": []}'
FAILED = ', "statusMessage": "x", "error": {"code": -32603, "message": "x"}'
UPDATE = 'C #%d tasks/update {%%(id)s, "inputResponses": {"%s": %%(answer)s}}\nS #%d {}\n'
LISTEN = '{"notifications": {"taskIds": ["%s"]}}' % ID
NOTICE = ('S notifications/tasks {"_meta": {"io.modelcontextprotocol/subscriptionId": %d}, "status": "%s", '
          '%%(task)s%s}\n')
ACK = 'S notifications/subscriptions/acknowledged {"_meta": {"io.modelcontextprotocol/subscriptionId": %d}, ' \
      '"notifications": {"taskIds": ["' + ID + '"]}}\n'
HTTP = "%(http)s\nC [1 Authorization=\"Bearer ***0a1b2c3d\"] #1 %(call)s\n" \
       'S [1] #1 {"resultType": "task", "status": "working", %(task)s}\n'


@pytest.mark.parametrize("text, id", [
    (START + look(2, "completed", DONE) + look(3, "working"), "tasks-ext.get-completed"),
    (START + look(2, "failed", FAILED) + look(3, "completed", DONE), "tasks-ext.get-failed"),
    (START + 'C #2 tasks/get {%(id)s}\nS #2 {"status": "working", "taskId": "another-task", %(times)s}',
     "tasks-ext.get-working"),
    (START + look(2, "failed", ', "statusMessage": "x", "error": {"message": "x"}'), "tasks-ext.get-failed"),
    (START + look(2, "failed", ', "statusMessage": "x", "error": {"content": [], "isError": true}'),
     "tasks-ext.failed-only-for-protocol-errors"),
    (START + look(2, "failed", FAILED.replace('"statusMessage": "x"', '"statusMessage": " "')),
     "tasks-ext.failed-status-message"),
    (START + look(2, "completed", ', "result": {"content": [{"type": "text"}]}'),
     "tasks-ext.completed-carries-request-result"),
    ("%(on)s\nC #1 %(call)s\nS> " '{"jsonrpc": "2.0", "id": 1, "result": {"status": "working", %(task)s}}\n',
     "tasks-ext.result-type-task-on-create"),
    ("%(on)s\nC #1 tools/list\nS #1 " '{"resultType": "task", "status": "working", %(task)s}',
     "tasks-ext.result-type-task-only-on-create"),
    ("%(none)s\nC #1 %(call)s\nS #1 !-32021 \"the tasks extension\" {\"requiredCapabilities\": {\"roots\": {}}}",
     "tasks-ext.missing-capability-error"),
    ("%(on)s\nC #1 %(call)s\nS #1 " '{"resultType": "task", "status": "working", %(task)s, "inputRequests": {}}',
     "tasks-ext.mrtr-before-create-result"),
    ("%(on)s\n" + "".join("C #%d %%(call)s\nS #%d " % (n, n) + '{"resultType": "task", "status": "working", '
                          '"taskId": "task-000000%d", %%(times)s}\n' % n for n in (8, 9)) +
     'C #10 %(call)s\nS #10 {"resultType": "task", "status": "working", "taskId": "task-0000010", %(times)s}\n',
     "tasks-ext.id-unguessable"),
    (START + look(2, "input_required", ASKED) + UPDATE % (3, "a", 3) + "@ 10\n" + look(4, "working")
     + "C #5 tasks/update {%(id)s, \"inputResponses\": {\"a\": %(answer)s}}\nS #5 {}\n"
     + look(6, "completed", DONE), "tasks-ext.client-answers-once"),
    (START + look(2, "input_required", ASKED) + UPDATE % (3, "a", 3) + "@ 10\n"
     + look(4, "input_required", ', "inputRequests": {"b": %(question)s}') + "@ 10\n" + UPDATE % (5, "a", 5),
     "tasks-ext.update-answers-outstanding-keys"),
    (START + "C #2 tasks/cancel {%(id)s}\nS #2 {}\nC #3 tasks/get {%(id)s}\nS #3 !-32603 \"Unknown task\"",
     "tasks-ext.get-unknown-task-error"),
    ("%(on)s\nC #1 tasks/get {%(id)s}\nS #1 !-32602 \"Task not found\"\nC #2 tasks/cancel {%(id)s}\nS #2 {}",
     "tasks-ext.cancel-unknown-task-error"),
    ("%(on)s\nC #1 tasks/get {%(id)s}\nS #1 !-32602 \"Task not found\"\n" + UPDATE % (2, "a", 2),
     "tasks-ext.update-unknown-task-error"),
    ("%(none)s\nC #2 tasks/get {%(id)s}\nS #2 {\"status\": \"working\", %(task)s}",
     "tasks-ext.task-methods-undeclared-error"),
    ("%(none)s\n%(discovered)s\nC #2 tasks/cancel {%(id)s}\nS #2 !-32601 \"Method not found\"",
     "tasks-ext.task-methods-undeclared-error"),
    ("%(none)s\n%(discovered)s\nC #2 subscriptions/listen " + LISTEN + "\nS #2 !-32602 \"taskIds\"",
     "tasks-ext.listen-undeclared-error"),
    (START + "C #2 subscriptions/listen " + LISTEN + "\n" + ACK % 2
     + "S notifications/tasks {\"_meta\": {\"io.modelcontextprotocol/subscriptionId\": 2}, \"status\": \"working\", "
       "\"taskId\": \"another-task\", %(times)s}", "subscribe.only-requested"),
    (START + "C #2 subscriptions/listen " + LISTEN + "\n" + ACK % 2 + NOTICE % (2, "completed", ""), "schema.params"),
    (START + "C #2 tasks/get {\"taskId\": 7}\nS #2 !-32602 \"Invalid params\"", "schema.params"),
    (START + "C notifications/cancelled {\"taskId\": \"x\", \"requestId\": 1}",
     "tasks-ext.no-cancelled-notification-for-task"),
    ("%(on)s\nC #1 %(call)s\nS #1 {\"resultType\": \"task\", \"status\": \"working\", \"taskId\": \"" + ID + "\"}",
     "schema.result"),
])
def test_what_is_at_fault(text, id):
    assert roots(filled(text)) == [id]


SHORT = '%(id)s, "createdAt": "2026-11-22T10:30Z", "lastUpdatedAt": "2026-11-22T10:30Z", "ttlMs": 10'
BRIEF = START.replace("%(created)s", 'C #1 %(call)s\nS #1 {"resultType": "task", "status": "working", ' + SHORT + "}")
LEGAL = {
    "terminal and again": START + look(2, "cancelled") + look(3, "cancelled"),
    "failed after its time": BRIEF
    + look(2, "completed", DONE).replace("%(task)s", SHORT) + "@ 5\n"
    + look(3, "failed", FAILED).replace("%(task)s", SHORT),
    "purged after its time": BRIEF
    + "@ 5\nC #2 tasks/get {%(id)s}\nS #2 !-32602 \"Task has expired\"",
    "a look that crosses the end": START + "C #2 subscriptions/listen " + LISTEN + "\n" + ACK % 2
    + "C #3 tasks/get {%(id)s}\n" + NOTICE % (2, "completed", DONE) + 'S #3 {"status": "working", %(task)s}',
    "acknowledged before it shows": START + look(2, "input_required", ASKED) + UPDATE % (3, "a", 3)
    + look(4, "input_required", ASKED) + look(5, "working") + look(6, "completed", DONE),
    "partial answers": START + look(2, "input_required", ', "inputRequests": {"a": %(question)s, "b": %(question)s}')
    + UPDATE % (3, "a", 3) + look(4, "input_required", ', "inputRequests": {"b": %(question)s}')
    + UPDATE % (5, "b", 5) + look(6, "completed", DONE),
    "cancelled too late": START + "C #2 tasks/cancel {%(id)s}\nS #2 {}\n" + look(3, "completed", DONE)
    + "C #4 tasks/cancel {%(id)s}\nS #4 {}",
    "asked once too early": START.replace("%(task)s", "%(task)s") + look(2, "working", ', "pollIntervalMs": 5000')
    + look(3, "working", ', "pollIntervalMs": 5000') + "@ 5\n" + look(4, "completed", DONE),
    "asked at once after an answer": START + look(2, "input_required", ASKED + ', "pollIntervalMs": 5000')
    + UPDATE % (3, "a", 3) + look(4, "working", ', "pollIntervalMs": 5000') + "C #5 tasks/cancel {%(id)s}\nS #5 {}\n"
    + look(6, "working", ', "pollIntervalMs": 5000') + "C #7 tasks/cancel {%(id)s}\nS #7 {}\n" + look(8, "cancelled"),
    "a task from before": "%(on)s\n" + look(2, "input_required", ASKED) + UPDATE % (3, "a", 3)
    + look(4, "completed", DONE),
    "answered from before": "%(on)s\n" + look(2, "working") + UPDATE % (3, "z", 3) + look(4, "completed", DONE),
    "never looked at": START + "@ 1000\nC #2 tools/list\nS #2 {\"tools\": []}",
    "given up after its time": START.replace("3600000", "1") + "@ 1000\nC #2 tools/list\nS #2 {\"tools\": []}",
    "a tool that has failed": START + look(2, "completed", ', "result": {"content": [], "isError": true}'),
    "a task at once completed": '%(on)s\nC #1 %(call)s\nS #1 {"resultType": "task", "status": "completed", %(task)s}\n'
    + look(2, "completed", DONE),
    "no extension at the server": '%(none)s\nC #9 server/discover\nS #9 {"capabilities": {"tools": {}}, '
    '"ttlMs": 60000}\nC #2 subscriptions/listen ' + LISTEN + '\nS notifications/subscriptions/acknowledged {"_meta": '
    '{"io.modelcontextprotocol/subscriptionId": 2}, "notifications": {}}',
    "only this request has it": '%(none)s\nC #1 tools/call {"name": "t", "arguments": {}, "_meta": '
    '{"io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}}}\n'
    'S #1 {"resultType": "task", "status": "working", %(task)s}',
    "a tool of its own with such members": '%(on)s\nC #1 %(call)s\nS #1 {"content": [], "taskId": "1", "status": '
    '"working", "createdAt": "a", "lastUpdatedAt": "b"}',
    "a token that was renewed": HTTP + 'C [2 Authorization="Bearer ***ffffffff"] #2 tasks/get {%(id)s}\n'
    'S [2] #2 {"status": "working", %(task)s}',
    "not found for somebody else": HTTP + 'C [2 Authorization="Bearer ***ffffffff"] #2 tasks/get {%(id)s}\n'
    'S [2] #2 !-32602 "Task not found"',
    "an id in a sentinel": '%(http)s\nC #1 %(call)s\nS #1 {"resultType": "task", "status": "working", "taskId": '
    '"\u00e4-long-enough", %(times)s}\nC [2 Mcp-Name==?base64?w6QtbG9uZy1lbm91Z2g=?=] #2 tasks/get '
    '{"taskId": "\u00e4-long-enough"}\nS [2] #2 {"status": "working", "taskId": "\u00e4-long-enough", %(times)s}',
    "a cancellation that crosses": START + 'C notifications/cancelled {"requestId": 1}',
    "the tasks of the revision before": 'on stdio 2025-11-25 server={"tools": {}, "tasks": {"requests": {"tools": '
    '{"call": {}}}}}\nC #1 tools/call {"name": "t", "arguments": {}, "task": {}}\nS #1 {"task": {"taskId": '
    '"0a1b2c3d-d81f", '
    '"status": "working", "createdAt": "2026-11-22T10:30:00Z", "lastUpdatedAt": "2026-11-22T10:30:00Z", "ttl": 1}}',
}


@pytest.mark.parametrize("name", LEGAL)
def test_what_is_legal_is_silent(name):
    checker = judged(filled(LEGAL[name]))
    assert [(each.rule.id, each.evidence) for each in checker.findings] == []


@pytest.mark.parametrize("text, id, words", [
    (LEGAL["a token that was renewed"], "tasks-ext.authorize-each-request", "principal"),
    (LEGAL["not found for somebody else"], "tasks-ext.durable-before-create-result", "may see the task"),
    (LEGAL["purged after its time"], "tasks-ext.durable-before-create-result", "kept for so long"),
    (LEGAL["answered from before"], "tasks-ext.update-answers-outstanding-keys", "asked before"),
    (LEGAL["a cancellation that crosses"], "tasks-ext.no-cancelled-notification-for-task", "sent first"),
    ("%(on)s\n" + look(2, "completed", DONE), "tasks-ext.completed-carries-request-result", "become the task"),
    ("%(none)s\nC #2 tasks/get {%(id)s}\nS #2 !-32602 \"Task not found\"",
     "tasks-ext.task-methods-undeclared-error", "whether the server has the extension"),
    (HTTP + 'C [2 Authorization="Bearer ***0a1b2c3d"] #2 tasks/get {%(id)s}\nS [2] #2 {"status": "working", %(task)s}'
     "\n@ 1000\nC [3] #3 tools/list\nS [3] #3 {\"tools\": []}", "tasks-ext.poll-until-terminal", "another client"),
])
def test_what_cannot_be_told(text, id, words):
    checker = judged(filled(text))
    assert [each.rule.id for each in checker.findings if each.rule.id == id] == []
    assert any(words in each for each in unsure(filled(text), id)), unsure(filled(text), id)


def test_ids_that_do_not_count_are_no_fault():
    text = "%(on)s\n" + "".join("C #%d %%(call)s\nS #%d " % (n, n) + '{"resultType": "task", "status": "working", '
                                '"taskId": "0a1b2c%d-d81f-4ce2", %%(times)s}\n' % n for n in (1, 2, 3))
    assert roots(filled(text)) == [] and WORDS["id"].endswith('"%s"' % ID)
