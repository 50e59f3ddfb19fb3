"""Tasks between a client of one generation and a server of the other, and extensions that a bridge leaves alone."""
import threading

import pytest

from mcp_ref import Context, Server, connect
from mcp_ref.devtools.bridge import Bridge
from mcp_ref.errors import McpError, PeerError, RequestCancelled, RpcError
from mcp_ref.server import Tasks
from tests.support.patience import WAIT

OLD, NEW = "2025-11-25", "2026-07-28"
BETWEEN = pytest.mark.parametrize("front, behind", [(OLD, NEW), (NEW, OLD)])


def texts(result):
    return [block.text for block in result.content]


class Jobs:
    """A server with tools that are tasks, and what a test does with them."""

    def __init__(self, revision):
        self.go, self.started = threading.Event(), threading.Event()
        server = self.server = Server("jobs", revisions=[revision], tasks=Tasks(ttl=600, poll=0.05))

        @server.tool(task="optional")
        def work(ctx: Context) -> str:
            self.started.set()
            ctx.progress(1, 2, "half")
            for _ in range(2000):
                ctx.check()
                if self.go.wait(0.01):
                    break
            return "worked"

        @server.tool(task="required")
        def must() -> str:
            return "only so"

        @server.tool(task="optional")
        def ask(ctx: Context) -> str:
            region = ctx.elicit("Which region?", {"region": str})
            size = ctx.elicit("Which size?", {"size": int})
            return "%s %s" % (region["region"], size["size"])

        @server.tool(task="optional")
        def fail() -> str:
            raise ValueError("no good")

        @server.tool(task="optional")
        def refuse() -> str:
            raise RpcError(-31999, "not today", {"why": "rain"})

        @server.tool
        def plain() -> str:
            return "plain"


def answer(params, context):
    return {"region": "eu"} if "region" in params.message else {"size": 3}


@BETWEEN
def test_a_task_begins_is_looked_at_and_ends(front, behind):
    jobs = Jobs(behind)
    with Bridge(jobs.server) as bridge, connect(bridge, revisions=[front]) as client:
        if front == OLD:
            assert client.server_capabilities["tasks"] == {"cancel": {}, "requests": {"tools": {"call": {}}}}
            assert {tool.execution.task_support for tool in client.tools()} == {"optional"}
        else:
            assert client.server_extensions == {"io.modelcontextprotocol/tasks": {}}
        task = client.start_tool("work")
        assert jobs.started.wait(WAIT)
        assert task.refresh().status == "working" and (task.ttl, task.poll_interval) == (600.0, 0.05)
        jobs.go.set()
        assert texts(task.result(WAIT)) == ["worked"] and task.status == "completed"
        again = client.task(task.id)
        assert texts(again.result(WAIT)) == ["worked"] and again.created_at == task.created_at


@pytest.mark.spec("tasks.related-metadata")
@BETWEEN
def test_the_questions_of_a_task_are_asked_and_answered(front, behind):
    jobs, asked = Jobs(behind), []

    def noted(params, context):
        asked.append(context.meta.get("io.modelcontextprotocol/related-task"))
        return answer(params, context)

    with Bridge(jobs.server) as bridge, connect(bridge, revisions=[front], elicitation=noted) as client:
        task = client.start_tool("ask")
        assert texts(task.result(WAIT)) == ["eu 3"]
        assert asked == [{"taskId": task.id}] * 2 if front == OLD else len(asked) == 2
        if front == OLD:
            meta = client.connection.request("tasks/result", {"taskId": task.id})["_meta"]
            assert meta["io.modelcontextprotocol/related-task"] == {"taskId": task.id}


@pytest.mark.spec("tasks.related-metadata")
def test_an_answer_that_came_at_once_is_the_result_of_a_task_that_it_names():
    """[2025-11-25 basic/utilities/tasks §Associating Task-Related Messages] MUST"""
    with Bridge(Jobs(NEW).server) as bridge, connect(bridge, revisions=[OLD]) as client:
        made = client.connection.request("tools/call", {"name": "plain", "arguments": {}, "task": {}})
        related = {"io.modelcontextprotocol/related-task": {"taskId": made["task"]["taskId"]}}
        result = client.connection.request("tasks/result", {"taskId": made["task"]["taskId"]})
        assert (made["_meta"], result["_meta"], result["content"][0]["text"]) == (related, related, "plain")


@BETWEEN
def test_questions_reach_the_client_over_http(front, behind):
    jobs = Jobs(behind)
    with jobs.server.listen("http://127.0.0.1:0/mcp") as back, Bridge(back.address) as bridge:
        with bridge.listen("http://127.0.0.1:0/mcp") as listener:
            with connect(listener.address, revisions=[front], elicitation=answer) as client:
                assert texts(client.start_tool("ask").result(WAIT)) == ["eu 3"]


@BETWEEN
def test_a_task_that_fails_has_the_status_of_its_generation(front, behind):
    with Bridge(Jobs(behind).server) as bridge, connect(bridge, revisions=[front]) as client:
        task = client.start_tool("fail")
        assert task.result(WAIT).is_error
        assert task.refresh().status == ("failed" if front == OLD else "completed")
        refused = client.start_tool("refuse")
        with pytest.raises(PeerError) as failed:
            refused.result(WAIT)
        error = failed.value
        assert (error.code, error.message, error.data) == (-31999, "not today", {"why": "rain"})
        assert refused.status == "failed"


@BETWEEN
def test_a_task_is_cancelled(front, behind):
    jobs = Jobs(behind)
    with Bridge(jobs.server) as bridge, connect(bridge, revisions=[front]) as client:
        task = client.start_tool("work")
        assert jobs.started.wait(WAIT)
        task.cancel()
        with pytest.raises(RequestCancelled):
            task.result(WAIT)
        assert task.status == "cancelled" and client.task(task.id).status == "cancelled"
        if front == OLD:
            with pytest.raises(PeerError, match="cancelled already"):
                client.request("tasks/cancel", {"taskId": task.id})
        else:
            assert client.request("tasks/cancel", {"taskId": task.id})["resultType"] == "complete"


@BETWEEN
def test_a_task_that_waits_for_input_is_cancelled(front, behind):
    def never(params, context):
        client.task(task.id).cancel()
        return {"region": "eu"}

    with Bridge(Jobs(behind).server) as bridge, connect(bridge, revisions=[front], elicitation=never) as client:
        task = client.start_tool("ask")
        with pytest.raises(McpError):
            task.result(WAIT)
        assert client.task(task.id).status == "cancelled"


@BETWEEN
@pytest.mark.sends_illegal("schema.json", "schema.params")
def test_ids_that_nobody_knows_and_methods_that_the_other_side_lacks(front, behind):
    with Bridge(Jobs(behind).server) as bridge, connect(bridge, revisions=[front]) as client:
        methods = ["tasks/get", "tasks/cancel", "tasks/result" if front == OLD else "tasks/update"]
        for method in methods:
            with pytest.raises(PeerError) as failed:
                client.request(method, {"taskId": "none", "inputResponses": {}} if method == "tasks/update" else {
                    "taskId": "none"})
            assert failed.value.code == -32602, method
            with pytest.raises(PeerError) as failed:
                client.request(method, {})
            assert failed.value.code == -32602, method
        with pytest.raises(McpError) as refused:
            client.list_tasks()
        if front == OLD:  # ours does not send it: it is not declared
            assert "tasks.list" in str(refused.value)


def test_a_call_that_the_server_answers_at_once_is_a_task_that_is_over():
    with Bridge(Jobs(NEW).server) as bridge, connect(bridge, revisions=[OLD]) as client:
        task = client.start_tool("plain")
        assert task.refresh().status == "completed" and texts(task.result(WAIT)) == ["plain"]
        assert texts(client.task(task.id).result(WAIT)) == ["plain"]
        with pytest.raises(PeerError, match="completed already"):
            client.request("tasks/cancel", {"taskId": task.id})


@pytest.mark.parametrize("front, behind", [(OLD, NEW), ("2025-06-18", NEW), ("2025-06-18", OLD), (NEW, OLD)])
def test_a_plain_call_of_a_tool_that_runs_as_a_task_is_waited_for(front, behind):
    jobs = Jobs(behind)
    jobs.go.set()
    with Bridge(jobs.server) as bridge, connect(bridge, revisions=[front], elicitation=answer) as client:
        for name, said in (("must", "only so"), ("work", "worked"), ("ask", "eu 3"), ("plain", "plain")):
            assert texts(client.call_tool(name)) == [said]


def test_a_client_without_the_extension_gets_no_task():
    jobs = Jobs(OLD)
    jobs.go.set()
    with Bridge(jobs.server) as bridge, connect(bridge, revisions=[NEW], tasks=False) as client:
        assert texts(client.call_tool("work")) == ["worked"]
        with pytest.raises(PeerError) as failed:
            client.call_tool("must")
        assert failed.value.code == -32021


def test_a_server_that_asks_by_tasks_of_the_client_is_answered_at_once():
    """`mcp_ref.ext.tasks.client.receiver` has such tasks; a client of the other revision has none."""
    with Bridge(Jobs(OLD).server) as bridge, connect(
            bridge, revisions=[OLD], elicitation=answer, tasks=True) as client:
        assert "tasks" in client.connection.session.capabilities
    server, seen = Server("asking", revisions=[OLD]), []

    @server.tool
    def ask(ctx: Context) -> str:
        seen.append("tasks" in ctx.session.peer_capabilities)
        return ctx.elicit("Which region?", {"region": str})["region"]

    with Bridge(server) as bridge, connect(bridge, revisions=[NEW], elicitation=answer) as client:
        assert texts(client.call_tool("ask")) == ["eu"] and seen and not any(seen)


@pytest.mark.parametrize("revision", [OLD, NEW])
def test_servers_with_tasks_side_by_side_are_waited_for(revision):
    jobs = Jobs(revision)
    jobs.go.set()
    bridge = Bridge()
    bridge.mount("one", jobs.server)
    with bridge, connect(bridge, revisions=[NEW]) as client:
        assert texts(client.call_tool("one__work")) == ["worked"]


# Extensions that pass as they are

@BETWEEN
def test_apps_and_the_resources_of_skills_pass_as_they_are(front, behind):
    server = Server("apps", revisions=[behind])

    @server.tool(meta={"ui": {"resourceUri": "ui://clock"}})
    def clock() -> str:
        return "noon"

    @server.resource("ui://clock", mime_type="text/html;profile=mcp-app", meta={"ui": {"prefersBorder": True}})
    def page() -> str:
        return "<p>noon</p>"

    @server.resource("skill://tell/SKILL.md", mime_type="text/markdown")
    def skill() -> str:
        return "---\nname: tell\ndescription: Tell the time.\n---\n"

    with Bridge(server) as bridge, connect(bridge, revisions=[front]) as client, connect(
            server, revisions=[behind]) as direct:
        assert client.tools()[0].meta == direct.tools()[0].meta == {"ui": {"resourceUri": "ui://clock"}}
        for through, straight in zip(client.resources(), direct.resources()):
            assert (through.uri, through.mime_type, through.meta) == (straight.uri, straight.mime_type, straight.meta)
        for uri in ("ui://clock", "skill://tell/SKILL.md"):
            made = [each.read_resource(uri).contents[0] for each in (client, direct)]
            assert (made[0].text, made[0].mime_type, made[0].meta) == (made[1].text, made[1].mime_type, made[1].meta)


UI = "io.modelcontextprotocol/ui"


@pytest.mark.parametrize("front, behind", [(OLD, NEW), (NEW, OLD), (OLD, OLD), (NEW, NEW)])
def test_the_declaration_of_apps_passes_both_ways(front, behind):
    """An extension that is older than the member ``extensions`` of the specification."""
    from mcp_ref.client import Extension

    class Apps(Extension):
        identifier, since = UI, None

        def settings(self, role):
            return {"mimeTypes": ["text/html;profile=mcp-app"]}

    server, seen = Server("apps", revisions=[behind], extensions=[Apps()]), []

    @server.tool
    def clock(ctx: Context) -> str:
        seen.append(ctx.extensions.get(UI))
        return "noon"

    with Bridge(server) as bridge, connect(bridge, revisions=[front], extensions=[Apps()]) as client:
        client.call_tool("clock")
        assert client.server_extensions[UI] == {"mimeTypes": ["text/html;profile=mcp-app"]} == seen[0]
