"""The values of tasks, in both forms that tasks have had: what is at fault, and what is legal though it looks odd."""
import pytest

from mcp_ref.devtools.checker.pages.extensions.task_requests import ID, WORDS, scene
from mcp_ref.devtools.checker.pages.tasks.known import RELATED, created, report
from tests.checker.helpers import judged, roots, unsure

START = "%(on)s\n%(created)s\n"
DECLARED = '{"extensions": {"io.modelcontextprotocol/tasks": {}}}'
OTHER_SERVER = "on stdio 2026-07-28 client=" + DECLARED + ' server={"tools": {}}\n'
KNOWN_SERVER = OTHER_SERVER + "%(discovered)s\n"
IDS = '{"notifications": {"taskIds": ["%s"]}}' % ID
LISTENING = ("C #70 subscriptions/listen " + IDS + "\nS notifications/subscriptions/acknowledged "
             '{"_meta": {"io.modelcontextprotocol/subscriptionId": 70}, ' + IDS[1:] + "\n")
STATES = {
    "working": "", "input_required": ', "inputRequests": {"a": %(question)s}',
    "completed": ', "result": {"content": []}',
    "failed": ', "statusMessage": "x", "error": {"code": -32603, "message": "x"}', "cancelled": "",
}
FINAL = {"completed": "tasks-ext.get-completed", "failed": "tasks-ext.get-failed",
         "cancelled": "tasks-ext.get-cancelled"}
TYPED = ('%(on)s\nC #80 tools/list\nS #80 {"tools": [{"name": "t", "inputSchema": {"type": "object"}, "outputSchema": '
         '{"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}}]}\n%(created)s\n')
OLD_TYPED = created().replace('"inputSchema"', '"outputSchema": {"type": "object", "required": ["x"]}, "inputSchema"')
META = '"_meta": {"%s": {"taskId": "%s"}}' % (RELATED, ID)
EARLIER = {"lastUpdatedAt": "2025-11-25T11:29:00+01:00"}


def task(**more):
    """The members of a task in a scene, with others or, where None is given, without."""
    found = {"taskId": '"%s"' % ID, "createdAt": '"2026-11-22T10:30:00Z"', "lastUpdatedAt": '"2026-11-22T10:30:00Z"',
             "ttlMs": "3600000", **more}
    return ", ".join('"%s": %s' % each for each in found.items() if each[1] is not None)


def look(number, status, more="", members=WORDS["task"]):
    """A look at the task, and its answer."""
    return 'C #%d tasks/get {%%(id)s}\nS #%d {"status": "%s", %s%s}\n' % (
        number, number, status, members, STATES[status] + more)


def told(status, members=WORDS["task"]):
    """A notification of the task, long after what was said before."""
    return ('@ 10\nS notifications/tasks {"_meta": {"io.modelcontextprotocol/subscriptionId": 70}, '
            '"status": "%s", %s%s}\n' % (status, members, STATES[status]))


def made(members):
    """The creation of a task."""
    return '%(on)s\nC #1 %(call)s\nS #1 {"resultType": "task", "status": "working", ' + members + "}\n"


def update(answer):
    """An answer to the question of the task."""
    return (START + look(2, "input_required") + 'C #3 tasks/update {%(id)s, "inputResponses": {"a": ' + answer + "}}\n"
            "S #3 {}\n")


def old(more, method="tasks/get"):
    """What a server of 2025-11-25 says about a task."""
    if method.startswith("notifications"):
        return created() + "\n S %s %s\n" % (method, report(more=more))
    return created() + '\n C #3 %s {"taskId": "%s"}\n S #3 %s\n' % (method, ID, report(more=more))


def fetched(result, start=OLD_TYPED):
    """The result of a task of 2025-11-25."""
    return start + '\n C #3 tasks/result {"taskId": "%s"}\n S #3 {%s, %s}\n' % (ID, result, META)


AT_FAULT = {
    "created with a time that is none": (made(task(createdAt='"yesterday"')), "schema.task-times"),
    "changed at a time that is none": (made(task(lastUpdatedAt='"11/22/2026"')), "schema.task-times"),
    "looked at with a time that is none": (
        START + look(2, "working", "", task(createdAt='"soon"')), "schema.task-times"),
    "told with a time that is none": (
        START + LISTENING + told("working", task(createdAt='"soon"')), "schema.task-times"),
    "changed before it was created": (
        START + look(2, "working", "", task(lastUpdatedAt='"2026-11-22T10:29:58Z"')), "schema.task-times"),
    "changed before it was created, by its offset": (old(EARLIER), "schema.task-times"),
    "an old notification with a time that is none": (
        old({"lastUpdatedAt": "gestern"}, "notifications/tasks/status"), "schema.task-times"),
    "kept for less than nothing": (made(task(ttlMs="-1")), "schema.task-durations"),
    "to be asked before it was made": (made(task(pollIntervalMs="-1")), "schema.task-durations"),
    "looked at, to be asked before": (
        START + look(2, "working", "", task(pollIntervalMs="-1")), "schema.task-durations"),
    "an old one, to be asked before": (old({"pollInterval": -1}), "schema.task-durations"),
    "an old one of which a notification says so": (
        old({"ttl": -1}, "notifications/tasks/status"), "schema.task-durations"),
    "a client that wants a task kept for less than nothing": (
        created().replace('"ttl": 3600000}', '"ttl": -1}'), "schema.task-durations"),
    "half a millisecond": (made(task(pollIntervalMs="0.5")), "schema.result"),
    "half a millisecond of life": (made(task(ttlMs="1.5")), "schema.result"),
    "half a millisecond to look": (START + look(2, "working", "", task(pollIntervalMs="1.5")), "schema.result"),
    "half a millisecond in an old one": (old({"pollInterval": 0.5}), "schema.result"),
    "an unknown status": (START + look(2, "working").replace('"working"', '"running"'), "schema.result"),
    "a question without a method": (
        START + look(2, "working", ', "inputRequests": {"a": {"params": {}}}').replace("working", "input_required"),
        "schema.result"),
    "an answer of another kind": (update('{"roots": []}'), "schema.task-answers"),
    "a content that the form does not allow": (
        update('{"action": "accept", "content": {"name": 5}}'), "elicit.client-validates"),
    "an answer in an envelope": (update('{"result": %(answer)s}'), "schema.params"),
    "a task of a server that has no tasks": (KNOWN_SERVER + "%(created)s", "schema.task-extension"),
    "a look at such a server": (KNOWN_SERVER + look(2, "working"), "schema.task-extension"),
    "a cancellation at such a server": (
        KNOWN_SERVER + "C #2 tasks/cancel {%(id)s}\nS #2 {}", "schema.task-extension"),
    "an old server that serves what it has not declared": (
        'on stdio 2025-11-25 server={"tools": {}}\n C #3 tasks/get {"taskId": "%s"}\n S #3 %s' % (ID, report()),
        "tasks.declare-capability"),
    "the result of an older revision": (
        START + 'C #3 tasks/result {%(id)s}\nS #3 !-32601 "Method not found"', "schema.unknown-method"),
    "the list of an older revision": (START + "C #3 tasks/list\nS #3 {}", "schema.unknown-method"),
    "the notification of an older revision": (
        START + 'S notifications/tasks/status {"status": "working", %(task)s}', "schema.unknown-method"),
    "a method of skills that there is none of": (
        START.replace(DECLARED, "{}") + 'C #3 skills/run {}\nS #3 !-32601 "No"', "schema.unknown-method"),
    "structured content of another type": (
        TYPED + look(2, "completed").replace('"content": []', '"content": [], "structuredContent": {"x": "a"}'),
        "tasks-ext.completed-carries-request-result"),
    "structured content that is missing": (
        TYPED + look(2, "completed"), "tasks-ext.completed-carries-request-result"),
    "structured content of another type in a notification": (
        TYPED + LISTENING + told("completed").replace('"content": []', '"content": [], "structuredContent": {"x": ""}'),
        "tasks-ext.completed-carries-request-result"),
    "a task in a task": (
        START + look(2, "completed").replace('"content"', '"resultType": "task", "content"'),
        "tasks-ext.completed-carries-request-result"),
    "another result than before": (
        START + look(2, "completed") + look(3, "completed").replace("[]", '[{"type": "text", "text": "a"}]'),
        "tasks-ext.completed-carries-request-result"),
    "an old result of another type": (fetched('"content": [], "structuredContent": {}'), "tasks.result-exact"),
    "an old result without structure": (fetched('"content": []'), "tasks.result-exact"),
}


def filled(text):
    """A scene with the words of the pages, if it has room for them."""
    return scene(text) if "%(" in text else text


@pytest.mark.parametrize("name", AT_FAULT)
def test_what_is_at_fault(name):
    text, id = AT_FAULT[name]
    assert roots(filled(text)) == [id]


@pytest.mark.parametrize("before", sorted(FINAL))
@pytest.mark.parametrize("after", sorted(STATES))
def test_a_notification_says_no_other_status_than_the_final_one(before, after):
    wrong = [FINAL[before]] if before != after else []
    assert roots(filled(START + LISTENING + look(2, before) + told(after))) == wrong
    assert roots(filled(START + LISTENING + told(before) + told(after))) == wrong


LEGAL = {
    "a notification that was overtaken": (
        START + LISTENING + look(2, "completed") + told("working").replace("@ 10\n", "@ 4\n")),
    "a task that never ends": made(task(ttlMs="null")),
    "a task that is gone at once": made(task(ttlMs="0", pollIntervalMs="0")),
    "clocks that differ by little": made(task(lastUpdatedAt='"2026-11-22T10:29:59.5Z"')),
    "times of which nobody knows where": made(task(lastUpdatedAt='"2026-11-22T10:29:00"')),
    "times with other offsets": made(task(lastUpdatedAt='"2026-11-22T05:30:00-05:00"')),
    "the same result with other metadata": (
        START + look(2, "completed")
        + look(3, "completed").replace('"content"', '"_meta": {"a.example/b": 1}, "content"')),
    "a tool that has failed has no structure": (
        TYPED + look(2, "completed").replace('"content": []', '"content": [], "isError": true')),
    "an old tool that has failed": fetched('"content": [], "isError": true'),
    "an answer that declines": update('{"action": "decline"}'),
    "a vendor's method": START + 'C #3 com.example/tasks/list {}\nS #3 {}',
}


@pytest.mark.parametrize("name", LEGAL)
def test_what_is_legal_is_silent(name):
    assert [(each.rule.id, each.evidence) for each in judged(filled(LEGAL[name])).findings] == []


@pytest.mark.parametrize("text", [
    OTHER_SERVER + "%(created)s",
    OTHER_SERVER + 'C #90 server/discover\nS #90 {"ttlMs": 1000}\n@ 2\n%(created)s',
])
def test_what_a_server_offers_now_cannot_be_told(text):
    assert judged(filled(text)).findings == []
    assert any("now" in each for each in unsure(filled(text), "schema.task-extension"))
