"""`Server.around`: hooks around every request; the counts of requests; the context without a parameter; log lines."""
import contextvars
import logging
import threading

import pytest

from mcp_ref import connect
from mcp_ref.errors import LocalProtocolError, PeerError
from mcp_ref.server import Context, RequestNames, RpcError, Server, access_log, current
from mcp_ref.server.registry.around import NAMING
from tests.support.by_hand import ByHand, accept
from tests.support.patience import WAIT
from tests.support.sides import Gate, eventually

ERAS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")


def served(**options):
    server = Server("around", "1", **options)
    server.seen = []

    @server.tool
    def echo(text: str) -> str:
        return text

    @server.tool
    def fails() -> str:
        raise ValueError("it has failed")

    @server.resource("test://one")
    def one() -> str:
        return "one"

    return server


@pytest.mark.parametrize("era", ERAS)
def test_hooks_see_every_request_in_the_order_of_registration(era):
    server = served()

    @server.around
    def first(method, params, principal, proceed):
        server.seen.append(("first", method))
        result = proceed()
        server.seen.append(("first", type(result)))
        return result

    @server.around
    def second(method, params, principal, proceed):
        server.seen.append(("second", params.get("name")))
        return proceed()

    with connect(server, era=era) as client:
        assert client.call_tool("echo", {"text": "a"}).text == "a"
    opening = "server/discover" if era == "2026-07-28" else "initialize"
    assert server.seen[0] == ("first", opening)
    assert server.seen[-3:] == [("first", "tools/call"), ("second", "echo"), ("first", dict)]


def test_a_hook_changes_params_and_results_and_answers_itself():
    server = served()

    @server.around
    def louder(method, params, principal, proceed):
        if method == "resources/read":
            return dict(proceed(), contents=[{"uri": params["uri"], "text": "from the hook"}])
        if method != "tools/call":
            return proceed()
        result = proceed(dict(params, arguments={"text": params["arguments"]["text"].upper()}))
        return dict(result, _meta={"hooked": True})

    for era in ("2025-11-25", "2026-07-28"):
        with connect(server, era=era) as client:
            result = client.call_tool("echo", {"text": "a"})
            assert result.text == "A" and result.meta["hooked"] is True
            assert client.read_resource("test://one").contents[0].text == "from the hook"


def test_a_page_of_a_list_is_a_dict_too():
    server = served()

    @server.around
    def shorter(method, params, principal, proceed):
        result = proceed()
        return dict(result, tools=result["tools"][:1]) if method == "tools/list" else result

    for era in ("2025-11-25", "2026-07-28"):
        with connect(server, era=era) as client:
            assert [tool.name for tool in client.tools()] == ["echo"]


def test_exceptions_pass_hooks_as_they_are_and_hooks_may_refuse():
    server, caught = served(), []

    @server.around
    def watched(method, params, principal, proceed):
        if params.get("uri"):
            raise RpcError(-31001, "the quota is used up", {"retry": 5})
        try:
            return proceed()
        except Exception as error:
            caught.append(error)
            raise

    with connect(server) as client:
        result = client.connection.request("tools/call", {"name": "fails", "arguments": {}})
        assert result["isError"] and "it has failed" in result["content"][0]["text"]
        assert [type(error) for error in caught] == [ValueError]
        with pytest.raises(PeerError, match="the quota is used up") as refused:
            client.read_resource("test://one")
        assert refused.value.code == -31001


def test_a_hook_that_forgets_to_return_is_named(caplog):
    server = served()

    @server.around
    def forgetful(method, params, principal, proceed):
        result = proceed()
        return result if method != "tools/list" else None

    with connect(server) as client, pytest.raises(PeerError):
        client.list_tools()
    assert "forgetful" in caplog.text and "has to return what the function that it is given returns" in caplog.text


def test_a_cancellation_passes():
    server, gate, seen = served(), Gate(), []

    @server.tool
    def hold(ctx: Context) -> str:
        gate.hold()
        ctx.cancelled.wait(WAIT)
        ctx.check()
        return "late"

    @server.around
    def watched(method, params, principal, proceed):
        try:
            return proceed()
        except BaseException as error:
            seen.append(type(error).__name__)
            raise

    with connect(server) as client:
        pending = client.submit_tool("hold")
        gate.entered()
        gate.open()
        pending.cancel()
        eventually(lambda: seen == ["RequestCancelled"])


def test_hooks_are_registered_before_the_server_serves():
    server = served()
    with connect(server) as client:
        client.ping()
        with pytest.raises(LocalProtocolError, match="before it serves"):
            server.around(lambda method, params, principal, proceed: proceed())


class Hooks:
    def hook(self, method, params, principal, proceed):
        return proceed()


async def waits(method, params, principal, proceed):
    return proceed()


@pytest.mark.parametrize("hook, words", [
    (lambda method, params, proceed: proceed(), "<lambda>(method, params, proceed) cannot be a hook: it is called with"
     " (method, params, principal, proceed); too many positional arguments"),
    (lambda method, params, principal, proceed, more: proceed(), "missing a required argument: 'more'"),
    (waits, "waits is asynchronous; handlers are plain functions, each call in a thread of its own. For what is"
            " asynchronous: def waits(...): return asyncio.run(the_coroutine(...))"),
    (Hooks.hook, "Hooks.hook is a method without its object"),
    ("timed", "got 'timed': write @server.around without parentheses"),
])
def test_what_is_no_hook_is_refused_at_registration(hook, words):
    with pytest.raises(TypeError) as caught:
        served().around(hook)
    assert words in str(caught.value)


def test_parentheses_behind_around_are_told_to_be_left_out():
    with pytest.raises(TypeError, match="write @server.around without parentheses"):
        served().around()


@pytest.mark.parametrize("hook", [
    Hooks().hook, lambda *given: given[3](), lambda method, params, who, go_on, extra=1: go_on(), access_log,
])
def test_hooks_of_any_form_are_called(hook):
    server = served()
    assert server.around(hook) is hook
    with connect(server) as client:
        assert client.call_tool("echo", {"text": "x"}).text == "x"


def test_a_question_of_2026_07_28_is_a_result_that_passes():
    server, seen = served(), []

    @server.tool
    def ask(ctx: Context) -> str:
        return ctx.elicit("Who?", {"name": str}, key="who")["name"]

    @server.around
    def watched(method, params, principal, proceed):
        result = proceed()
        seen.append(sorted(result))
        return result

    with ByHand(server) as client:
        first = client.call("tools/call", {"name": "ask", "arguments": {}})["result"]
        again = client.call("tools/call", {"name": "ask", "arguments": {}, "requestState": first["requestState"],
                                           "inputResponses": {"who": accept(name="Ada")}})["result"]
        assert again["content"][0]["text"] == "Ada"
    assert "inputRequests" in seen[-2] and "content" in seen[-1]


def test_the_context_is_there_without_a_parameter():
    server, found = served(), []

    def deep():
        return current().request.params["name"]

    @server.tool
    def direct(ctx: Context) -> str:
        assert current() is ctx
        copied = contextvars.copy_context()
        thread = threading.Thread(target=lambda: found.append(copied.run(deep)))
        thread.start()
        thread.join()
        return deep()

    @server.tool(task="required")
    def tasked(ctx: Context) -> str:
        assert current() is ctx
        return deep()

    with connect(server) as client:
        assert client.call_tool("direct").text == "direct" and found == ["direct"]
        assert client.start_tool("tasked").result(WAIT).text == "tasked"
    with pytest.raises(LocalProtocolError, match="no request is handled here"):
        current()


def test_statistics_count_requests_connections_and_notes():
    server = served()
    assert server.statistics() == {"requests": {}, "connections": 0, "inflight": 0, "notes": {}}
    with connect(server, era="2025-11-25") as client:
        for _ in range(3):
            client.call_tool("echo", {"text": "a"})
        client.connection.request("tools/call", {"name": "fails", "arguments": {}})
        with pytest.raises(PeerError):
            client.connection.request("no/such")
        counted = server.statistics()
        calls = counted["requests"]["tools/call"]
        assert (calls["answered"], calls["failed"]) == (3, 1) and 0 < calls["seconds"] < 10
        assert counted["connections"] == 1 and counted["requests"]["initialize"]["answered"] == 1
        assert counted["notes"]["refused request"] == 1
    eventually(lambda: server.statistics()["connections"] == 0)
    assert server.statistics()["notes"]["refused request"] == 1


def test_each_request_is_one_line_of_the_access_log(caplog):
    caplog.set_level(logging.INFO, "mcp_ref.access")
    server = served()
    server.around(access_log)
    with connect(server, era="2025-11-25") as client:
        client.call_tool("echo", {"text": "a"})
        client.connection.request("tools/call", {"name": "fails", "arguments": {}})
        client.read_resource("test://one")
        with pytest.raises(PeerError):
            client.connection.request("tools/call", {"name": "evil\nname: forged", "arguments": {}})
    lines = [record.getMessage() for record in caplog.records if record.name == "mcp_ref.access"]
    assert all("\n" not in line and " ms" in line for line in lines)
    said = [line.split(" in ")[0] for line in lines]
    assert said[1:4] == ["tools/call echo id=2: answered", "tools/call fails id=3: failed with ValueError",
                         "resources/read test://one id=4: answered"]
    assert said[4].startswith("tools/call evil") and "failed with RpcError" in said[4]
    assert set(NAMING) == {"name", "uri", "taskId"}


def test_records_of_handlers_name_the_request(caplog):
    caplog.handler.addFilter(RequestNames())
    server = served()

    @server.tool
    def noisy() -> str:
        logging.getLogger("mine").warning("here")
        return ""

    with connect(server, era="2025-11-25") as client:
        client.call_tool("noisy")
    logging.getLogger("mine").warning("there")
    named = [record.mcp_request for record in caplog.records if record.name == "mine"]
    assert named == ["tools/call#2", "-"]
