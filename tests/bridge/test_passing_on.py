"""What passes through a bridge besides calls: tasks, methods of vendors, questions at odd times, tokens."""
import contextlib
import threading

import pytest

from mcp_ref import Context, Server, connect
from mcp_ref.devtools.bridge import Bridge, translation
from mcp_ref.errors import HttpStatus, PeerError, Unauthorized
from mcp_ref.limits import Limits
from tests.support.patience import WAIT


def texts(result):
    return [block.text for block in result.content]


# Tasks

@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_tasks_pass_between_sides_of_one_revision(revision):
    server = Server("tasked", revisions=[revision])
    go = threading.Event()

    @server.tool(task="optional")
    def work(ctx: Context) -> str:
        go.wait(WAIT)
        return "worked"

    with Bridge(server) as bridge, connect(bridge, revisions=[revision]) as client:
        assert client.tools()[0].execution or revision == "2026-07-28"
        task = client.start_tool("work")
        assert not task.done
        with task.listen() if revision == "2026-07-28" else contextlib.nullcontext():
            go.set()
            assert texts(task.result(WAIT)) == ["worked"]


# Vendors

@pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])
@pytest.mark.parametrize("behind", ["2025-06-18", "2026-07-28"])
def test_methods_and_notifications_of_vendors_pass(revision, behind):
    server, heard, told = Server("vendor", revisions=[behind]), [], threading.Event()

    @server.method("acme/search")
    def search(text: str, ctx: Context) -> dict:
        ctx.notify("acme/found", {"count": 1})
        return {"found": text}

    def hear(method, params):
        heard.append((method, params))
        told.set()

    with Bridge(server) as bridge, connect(bridge, revisions=[revision], on_notification=hear) as client:
        assert client.request("acme/search", {"text": "x"})["found"] == "x"
        assert told.wait(WAIT) and heard == [("acme/found", {"count": 1})]
        with pytest.raises(PeerError) as failed:
            client.request("acme/none", {})
        assert failed.value.code == -32601


# Questions

def test_a_question_outside_of_calls_waits_for_a_round_of_a_stateless_client(tmp_path):
    """As servers do that ask for roots as soon as the handshake is over."""
    found, got = [], threading.Event()
    server = Server("asking", revisions=["2025-06-18"])

    @server.tool
    def wait() -> str:
        got.wait(WAIT)
        return " ".join(found)

    class Asking(Server):
        def on_open(self, connection):
            super().on_open(connection)

            def ask():
                answer = connection.request("roots/list")
                found.extend(root["uri"] for root in answer["roots"])
                got.set()

            threading.Thread(target=ask, daemon=True).start()

    server.__class__ = Asking
    with Bridge(server) as bridge, connect(bridge, revisions=["2026-07-28"], roots=[tmp_path]) as client:
        assert texts(client.call_tool("wait")) == [tmp_path.as_uri()]


@pytest.mark.race
@pytest.mark.parametrize("behind", ["2025-06-18", "2026-07-28"])
@pytest.mark.parametrize("front", ["2025-06-18", "2026-07-28"])
def test_questions_of_calls_side_by_side_are_all_answered(front, behind):
    server = Server("asking", revisions=[behind])

    @server.tool
    def ask(number: int, ctx: Context) -> int:
        return ctx.elicit("Number %d?" % number, {"value": int})["value"]

    def answer(params, context):
        return {"value": int(params.message.split()[1][:-1]) * 10}

    with Bridge(server) as bridge, connect(bridge, revisions=[front], elicitation=answer) as client:
        futures = [client.submit_tool("ask", {"number": number}) for number in range(8)]
        assert [texts(future.result(WAIT)) for future in futures] == [
            [str(10 * number)] for number in range(8)]


def test_an_error_of_the_client_reaches_the_server_as_it_is():
    from mcp_ref.errors import RpcError

    server, seen = Server("asking", revisions=["2025-06-18"]), []

    @server.tool
    def ask(ctx: Context) -> str:
        try:
            ctx.elicit("Which?", {"value": int})
        except PeerError as error:
            seen.append((error.code, error.message, error.data))
        return ""

    def answer(params, context):
        raise RpcError(-31999, "not today", {"why": "rain"})

    with Bridge(server) as bridge, connect(bridge, revisions=["2025-11-25"], elicitation=answer) as client:
        client.call_tool("ask")
    assert seen == [(-31999, "not today", {"why": "rain"})]


def test_a_state_of_another_session_opens_nothing():
    server = Server("asking", revisions=["2025-06-18"])

    @server.tool
    def ask(ctx: Context) -> str:
        return ctx.elicit("Which?", {"value": str})["value"]

    def answer(params, context):
        return {"value": "x"}

    with Bridge(server) as bridge:
        with connect(bridge, era="modern", elicitation=answer) as one, connect(
                bridge, era="modern", elicitation=answer, name="other") as two:
            first = one.call_tool("ask", rounds="manual")
            key, = first.input_requests
            with pytest.raises(PeerError, match="not open any more"):
                two.call_tool("ask", rounds="manual", request_state=first.request_state,
                              input_responses={key: {"action": "accept", "content": {"value": "x"}}})


# Tokens

def test_each_side_has_a_token_of_its_own():
    server = Server("guarded")

    @server.tool
    def hello() -> str:
        return "hello"

    with server.listen("http://127.0.0.1:0/mcp", token="behind") as back:
        with Bridge(back.address, token="behind") as bridge:
            with bridge.listen("http://127.0.0.1:0/mcp", token="front") as listener:
                with connect(listener.address, token="front") as client:
                    assert texts(client.call_tool("hello")) == ["hello"]
                with pytest.raises((Unauthorized, HttpStatus)):
                    connect(listener.address, token="behind")
        with Bridge(back.address, token="wrong") as bridge:
            with pytest.raises(PeerError, match="does not answer"):
                connect(bridge, era="legacy")


# Sessions of stateless clients over HTTP

def test_a_session_that_is_not_used_ends():
    server = Server("idle", revisions=["2025-06-18"])
    with Bridge(server, limits=Limits(session_idle=0.1)) as bridge, bridge.listen("http://127.0.0.1:0/mcp") as listener:
        with connect(listener.address) as client:
            client.discover(refresh=True)
            for _ in range(1000):
                if not bridge.sessions:
                    break
                threading.Event().wait(0.02)  # for a condition, bounded
            assert not bridge.sessions


# Names

@pytest.mark.parametrize("method, params, prefix", [
    ("tools/call", {"name": "git__status"}, "git"), ("tools/call", {"name": "status"}, ""),
    ("tools/call", {}, ""), ("tools/call", {"name": "Git__status"}, ""),
    ("resources/read", {"uri": "git+file:///a"}, "git"), ("resources/read", {"uri": "file:///a+b"}, ""),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "a__b"}}, "a"),
    ("completion/complete", {"ref": {"type": "ref/resource", "uri": "a+b://{c}"}}, "a"),
    ("completion/complete", {"ref": 7}, "")])
def test_the_prefix_of_a_request(method, params, prefix):
    assert translation.prefix_of(method, params) == prefix
