"""The examiner and tasks of both generations: our server keeps everything, and each scene notices a lie."""
from typing import Any, Callable, Dict, List, Optional

import pytest

from mcp_ref import Context, Server
from mcp_ref.devtools.examiner import wire_to
from mcp_ref.devtools.examiner.examination import Chapter, Examination
from mcp_ref.devtools.examiner.scenes import load
from mcp_ref.methods import TASKS
from mcp_ref.revisions import revision
from mcp_ref.server import Tasks
from tests.examiner.test_servers import (
    HANDSHAKE, LAST, Edit, Lie, Message, code, examined, fails, named, params, result,
)
from tests.support.patience import WAIT

PAGES = ("tasks",)
ROWS = {name: row for name, row in load().items() if row.play.__module__.rpartition(".")[2] in PAGES}
ENDLESS = {"task-cancel", "extension-cancel"}
"""Scenes whose lies need a task that is at work for as long as it takes."""


def make_server() -> Server:
    server = Server("tasks", "1", tasks=Tasks(ttl=60, poll=0.02))

    @server.tool(read_only=True, task="optional")
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool(read_only=True, task="required")
    def long(ctx: Context) -> str:
        ctx.progress(1, 2, "half")
        return "done"

    @server.tool(read_only=True, task="optional")
    def fail() -> str:
        raise ValueError("no")

    @server.tool(read_only=True, task="optional")
    def ask(ctx: Context) -> str:
        return str(ctx.elicit("Who?", {"name": str}))

    @server.tool(read_only=True)
    def plain() -> str:
        return "plain"

    return server


@pytest.fixture(scope="module")
def server() -> Server:
    return make_server()


@pytest.fixture
def worker() -> Server:
    server = Server("endless", "1", tasks=Tasks(ttl=60, poll=0.02))

    @server.tool(read_only=True, task="optional")
    def work(ctx: Context) -> str:
        ctx.cancelled.wait(WAIT)
        return "cancelled"

    return server


def expect_kept(chapter: Chapter, skipped: Any = ()) -> None:
    assert not chapter.refused and chapter.faults == []
    assert {name for name, why in chapter.scenes.items() if why and name in ROWS} == set(skipped)
    played = {name for name, row in ROWS.items() if row.plays_in(chapter.revision, chapter.wire)}
    assert played <= set(chapter.scenes)


NO_LIST = ("task-list",)
"""Without a principal our server has no list of tasks over HTTP."""


@pytest.mark.parametrize("name", [HANDSHAKE, LAST])
def test_our_tasks_keep_everything_on_a_pipe(server: Server, name: str) -> None:
    expect_kept(examined(server, name, ROWS))


@pytest.mark.parametrize("name, path", [(HANDSHAKE, "/mcp"), (HANDSHAKE, "/sse"), (LAST, "/mcp")])
def test_our_tasks_keep_everything_over_http(server: Server, name: str, path: str) -> None:
    with server.listen("http://127.0.0.1:0") as listener:
        url = listener.address.replace("/mcp", path)
        chapter = Examination(wire_to(url), [revision(name)], only=ROWS, patience=WAIT).run()[0]
        expect_kept(chapter, NO_LIST if name == HANDSHAKE else ())


@pytest.mark.parametrize("name", [HANDSHAKE, LAST])
def test_tasks_that_are_at_work_are_cancelled(worker: Server, name: str) -> None:
    chapter = examined(worker, name, ENDLESS)
    assert chapter.faults == [] and list(chapter.scenes.values()) == [""]


def test_a_server_without_tasks_is_not_examined() -> None:
    for name in (HANDSHAKE, LAST):
        chapter = examined(Server("plain", "1"), name, ROWS)
        assert chapter.faults == []
        assert {each for each, why in chapter.scenes.items() if not why} <= {"task-ignored"}


def in_task(change: Callable[[Message], Any], *methods: str) -> Edit:
    """The result of a method, or the task in it, is edited."""
    def edit(request: Message, response: Message) -> Message:
        if request.get("method") in methods and "result" in response:
            change(response["result"])
        return response
    return edit


class Counted:
    """The n-th task of the examination is the first one, or another, to those who ask for it."""

    def __init__(self) -> None:
        self.ids: List[str] = []

    def other(self, request: Message, response: Message) -> Message:
        """`tasks/get` tells of the other task."""
        task = response.get("result", {}).get("task") or {}
        self.ids += [task["taskId"]] if "taskId" in task else []
        if request.get("method") == "tasks/get" and "result" in response and len(self.ids) > 1:
            one, two = self.ids[-2:]
            response["result"]["taskId"] = two if params(request)["taskId"] == one else one
        return response

    def by_meta(self, request: Message, response: Message) -> Message:
        """`tasks/get` believes the metadata."""
        related = params(request).get("_meta", {}).get("io.modelcontextprotocol/related-task")
        if request.get("method") == "tasks/get" and related and "result" in response:
            response["result"]["taskId"] = related["taskId"]
        return response

    def numbered(self, request: Message, response: Message) -> Message:
        """Ids are small numbers."""
        task: Dict[str, Any] = response.get("result", {})
        task = task.get("task") or task
        if request.get("method") == "tools/call" and "taskId" in task:
            self.ids.append(task["taskId"])
            task["taskId"] = str(len(self.ids))
        return response


def same_id(request: Message, response: Message) -> Message:
    if "task" in response.get("result", {}):
        response["result"]["task"]["taskId"] = "0123456789abcdef0123456789abcdef"
    return response


def at_once(request: Message, response: Message) -> Message:
    """`tools/call` forgets that a task was asked for."""
    if "task" in response.get("result", {}):
        response["result"] = {"content": []}
    return response


def creates(request: Message, response: Message) -> Message:
    """Whatever asks for a task gets one."""
    if "task" in params(request) and request["method"] == "tools/list":
        response["result"] = {"task": {"taskId": "1", "status": "working"}}
    return response


def still_working(request: Message, response: Message) -> Message:
    if request.get("method") == "tasks/get" and "result" in response:
        response["result"]["status"] = "working"
    return response


def always_a_task(request: Message, response: Message) -> Message:
    """Clients that do not know tasks get them, too."""
    if request.get("method") == "tools/call" and TASKS not in str(params(request)):
        return {"jsonrpc": "2.0", "id": response["id"], "result": {
            "resultType": "task", "taskId": "x" * 20, "status": "working", "createdAt": "2026-01-01T00:00:00Z",
            "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": None}}
    return response


def other_missing(request: Message, response: Message) -> Message:
    if "error" in response and "data" in response["error"]:
        response["error"]["data"] = {"requiredCapabilities": {}}
    return response


def set_to(**members: Any) -> Callable[[Message], Any]:
    return lambda found: found.update(members)


DONE: Message = {"taskId": "1", "status": "cancelled", "createdAt": "2026-01-01T00:00:00Z",
                 "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": None}
LIES = (
    Lie("task-created", "tasks.create-result", at_once, HANDSHAKE),
    Lie("task-created", "tasks.id-unique", same_id, HANDSHAKE),
    Lie("task-created", "tasks.id-entropy", Counted().numbered, HANDSHAKE),
    Lie("task-result", "tasks.result-exact", in_task(set_to(content=[]), "tasks/result"), HANDSHAKE),
    Lie("task-result", "tasks.result-blocks", still_working, HANDSHAKE),
    Lie("task-of-two", "tasks.id-param-authoritative", Counted().other, HANDSHAKE),
    Lie("task-of-two", "tasks.related-metadata-ignored", Counted().by_meta, HANDSHAKE),
    Lie("task-unknown", "tasks.invalid-id", code(-32600, -32602), HANDSHAKE),
    Lie("task-cancel", "tasks.cancel-terminal-error", result("tasks/cancel", DONE), HANDSHAKE),
    Lie("task-cancel", "tasks.cancel-transition", in_task(set_to(status="working"), "tasks/cancel"), HANDSHAKE),
    Lie("task-cancel", "tasks.cancel-final", in_task(set_to(status="completed"), "tasks/get"), HANDSHAKE),
    Lie("task-list", "tasks.list-complete", in_task(set_to(tasks=[]), "tasks/list"), HANDSHAKE),
    Lie("task-list", "tasks.list-next-cursor", in_task(set_to(tasks=[]), "tasks/list"), HANDSHAKE),
    Lie("task-list", "tasks.list-invalid-cursor", code(-32600, -32602), HANDSHAKE),
    Lie("task-support", "tasks.tool-forbidden-error", code(-32602, -32601), HANDSHAKE),
    Lie("task-support", "tasks.tool-required-error", code(-32602, -32601), HANDSHAKE),
    Lie("task-ignored", "tasks.ignored-when-undeclared", creates, HANDSHAKE),
    Lie("task-expired", "tasks.invalid-id", lambda request, response: code(-32600)(request, in_task(
        lambda found: found["task"].update(ttl=1), "tools/call")(request, fails("tasks/get")(request, response))),
        HANDSHAKE),
    Lie("extension-task", "tasks-ext.durable-before-create-result", fails("tasks/get")),
    Lie("extension-task", "tasks-ext.create-waits-for-consistency", fails("tasks/get")),
    Lie("extension-task", "tasks-ext.id-unguessable", Counted().numbered),
    Lie("extension-undeclared", "tasks-ext.no-task-for-undeclared", always_a_task),
    Lie("extension-undeclared", "extension.fallback", always_a_task),
    Lie("extension-undeclared", "tasks-ext.missing-capability-error", other_missing),
    Lie("extension-methods", "tasks-ext.task-methods-undeclared-error", code(-32602, -32021)),
    Lie("extension-methods", "tasks-ext.listen-undeclared-error", code(-32602, -32021)),
    Lie("extension-unknown", "tasks-ext.get-unknown-task-error", code(-32600, -32602)),
    Lie("extension-unknown", "tasks-ext.update-unknown-task-error", code(-32600, -32602)),
    Lie("extension-unknown", "tasks-ext.cancel-unknown-task-error", result("tasks/cancel", {})),
    Lie("extension-cancel", "tasks-ext.cancel-empty-ack", in_task(set_to(status="cancelled"), "tasks/cancel")),
    Lie("extension-cancel", "tasks-ext.update-empty-ack", in_task(set_to(status="working"), "tasks/update")),
    Lie("extension-cancel", "tasks-ext.update-ignores-unknown-keys", fails("tasks/update")),
)


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: "%s-%s" % (lie.scene, lie.id))
def test_a_lie_about_tasks_is_named(server: Server, worker: Server, lie: Lie) -> None:
    chapter = examined(worker if lie.scene in ENDLESS else server, lie.revision, [lie.scene], lie.edit)
    assert lie.id in named(chapter), (chapter.scenes, chapter.faults)


def test_every_scene_of_tasks_that_decides_has_a_lie() -> None:
    decided = {(name, id) for name, row in ROWS.items() for id in row.ids}
    assert decided - {(lie.scene, lie.id) for lie in LIES} == {("task-result", "tasks.result-error")}


def test_an_error_of_a_task_is_the_error_of_the_call(server: Server) -> None:
    def edit(request: Message, response: Message) -> Optional[Message]:
        if request.get("method") == "tools/call" and "task" not in params(request):
            return {"jsonrpc": "2.0", "id": response["id"], "error": {"code": -32001, "message": "no"}}
        if request.get("method") == "tasks/result":
            return {"jsonrpc": "2.0", "id": response["id"], "error": {"code": -32002, "message": "no"}}
        return response

    chapter = examined(server, HANDSHAKE, ["task-result"], edit)
    assert {"tasks.result-error", "tasks.result-exact"} <= named(chapter)
