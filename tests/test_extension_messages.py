"""The messages of the extensions: what comes, what goes, what is refused, and what the extensions' own schema says."""
import json
from typing import Any, Dict

import pytest

from mcp_ref.codec import DecodeError, Unrepresentable, decode, encode
from mcp_ref.jsonschema import compile
from mcp_ref.messages.extensions import skills, tasks
from mcp_ref.revisions import LATEST
from tests.support.official_schema import PATIENT
from tests.support.outside import SPEC

STATE: Dict[str, Any] = {"taskId": "786512e2", "createdAt": "2026-11-22T10:30:00Z",
                         "lastUpdatedAt": "2026-11-22T10:40:00Z", "ttlMs": None}
TIMED = {**STATE, "ttlMs": 60000, "pollIntervalMs": 5000, "statusMessage": "at work"}
QUESTION = {"method": "elicitation/create", "params": {
    "mode": "form", "message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}}
DETAILED = [
    {**STATE, "status": "working"},
    {**TIMED, "status": "working", "resultType": "complete"},
    {**STATE, "status": "input_required", "inputRequests": {}},
    {**TIMED, "status": "input_required", "inputRequests": {"name": QUESTION}},
    {**STATE, "status": "completed", "result": {"content": [], "isError": True}},
    {**STATE, "status": "failed", "error": {"code": -32603, "message": "rate limit", "data": 1}},
    {**STATE, "status": "cancelled", "_meta": {"io.modelcontextprotocol/subscriptionId": 7}},
]
FILE = {"uri": "skill://a/SKILL.md", "digest": "sha256:" + "0" * 64, "size": 3}
SKILL = {"uri": "skill://a/SKILL.md", "frontmatter": {"name": "a", "description": "d", "license": "MIT"},
         "resources": [FILE]}
CACHED = {"ttlMs": 0, "cacheScope": "public", "resultType": "complete"}


@pytest.mark.parametrize("cls, value", [
    *[(tasks.DetailedTask, each) for each in DETAILED],
    (tasks.TaskCreated, {**TIMED, "status": "input_required", "resultType": "task"}),
    (tasks.TaskParams, {"taskId": "1", "_meta": {}}),
    (tasks.UpdateTaskParams, {"taskId": "1", "inputResponses": {"name": {"action": "decline"}}, "_meta": {}}),
    (tasks.TaskSubscriptionFilter, {"taskIds": ["1"], "toolsListChanged": True}),
    (skills.Skill, SKILL),
    (skills.Skill, {**SKILL, "resources": "dynamic"}),
    (skills.ListSkillsResult, {"skills": [SKILL], "nextCursor": "", **CACHED}),
    (skills.GetSkillParams, {"uri": "skill://a/SKILL.md", "_meta": {}}),
    (skills.GetSkillResult, {"skill": SKILL, **CACHED}),
    (skills.ReadDirectoryParams, {"uri": "skill://a", "cursor": "1", "_meta": {}}),
    (skills.ReadDirectoryResult, {"resources": [{"uri": "skill://a/b", "name": "b"}], "resultType": "complete"}),
])
def test_messages_go_as_they_come(cls: Any, value: Any) -> None:
    if "_meta" in value:
        value["_meta"].setdefault("io.modelcontextprotocol/protocolVersion", "2026-07-28")
        value["_meta"].setdefault("io.modelcontextprotocol/clientCapabilities", {})
    assert encode(decode(cls, value, LATEST), LATEST) == value


@pytest.mark.parametrize("cls, value, words", [
    (tasks.DetailedTask, {**STATE, "status": "done"}, "params.status: expected one of working"),
    (tasks.DetailedTask, {**STATE, "status": "completed"}, "params.result: expected object, got nothing"),
    (tasks.DetailedTask, {**STATE, "status": "failed"}, "params.error: expected object, got nothing"),
    (tasks.DetailedTask, {**STATE, "status": "failed", "error": {"code": 1}}, "params.error.message"),
    (tasks.DetailedTask, {**STATE, "status": "input_required"}, "params.inputRequests: expected object"),
    (tasks.DetailedTask, {**STATE, "status": "working", "ttlMs": "1"}, "params.ttlMs: expected integer or null"),
    (tasks.TaskCreated, {"taskId": "1", "status": "working"}, "params.createdAt"),
    (skills.Skill, {**SKILL, "resources": "static"}, 'params.resources: expected "dynamic", got "static"'),
    (skills.Skill, {**SKILL, "resources": {}}, "params.resources: expected array or \"dynamic\""),
    (skills.Skill, {**SKILL, "frontmatter": {"name": "a"}}, "params.frontmatter.description"),
    (skills.Skill, {**SKILL, "resources": [{**FILE, "size": "3"}]}, "params.resources[0].size: expected integer"),
])
def test_messages_that_do_not_fit_are_refused(cls: Any, value: Any, words: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(cls, value, LATEST)
    assert words in str(caught.value)


def test_a_task_without_what_its_status_brings_along_is_not_sent() -> None:
    with pytest.raises(Unrepresentable, match="CompletedTask.result"):
        encode(tasks.CompletedTask("1", "then", "now", None), LATEST)


@pytest.mark.needs("specification")
def test_tasks_are_those_of_the_schema_of_the_extension() -> None:
    path = SPEC.parent / "spec-ext/tasks/schema.json"
    document = json.loads(path.read_text(encoding="utf-8"))

    def fits(name: str, value: Any) -> bool:
        return compile({**document, "$ref": "#/$defs/" + name}, bounds=PATIENT).is_valid(value)

    for each in DETAILED:
        assert fits("GetTaskResult", {**each, "resultType": "complete"}) and fits("DetailedTask", each), each
        for name in set(each) - {"pollIntervalMs", "statusMessage", "_meta", "resultType"}:
            less = {key: value for key, value in each.items() if key != name}
            with pytest.raises(DecodeError):
                decode(tasks.DetailedTask, less, LATEST)
            assert not fits("DetailedTask", less), less
    created = encode(tasks.TaskCreated("1", "working", "then", "now", None), LATEST)
    assert fits("CreateTaskResult", created) and not fits("CreateTaskResult", {**created, "resultType": "complete"})
