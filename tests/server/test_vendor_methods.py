"""Methods and notifications outside of the specification, between a client and a server of ours and with others."""
import contextlib
import io
import queue
import re

import pytest

from mcp_ref.client import Client, connect, to_text
from mcp_ref.errors import LocalProtocolError, PeerError, RpcError
from mcp_ref.methods import METHODS, is_vendor
from mcp_ref.server import Context, Server
from mcp_ref.transports.memory import pair
from tests.support.requirements_table import HANDSHAKE
from tests.support.scripted import PATIENCE, ScriptedPeer
from tests.support.sides import eventually

MODERN = "2026-07-28"
over_each = pytest.mark.parametrize("over", ["memory", "http"])
each_revision = pytest.mark.parametrize("revision", [*HANDSHAKE, MODERN])


def searching(heard=None):
    server = Server("vendor", experimental={"acme": {}})

    @server.method("acme/search")
    def search(query: str, ctx: Context, limit: int = 3) -> dict:
        if query == "fail":
            raise KeyError("a secret of the handler")
        return {"found": [query] * limit, "id": ctx.request_id is not None}

    @server.method("acme/nothing")
    def nothing() -> None:
        pass

    @server.method("acme/number")
    def number() -> int:
        return 5

    @server.on_notification("acme/clicked")
    def clicked(connection, params):
        heard.put(params)

    return server


@contextlib.contextmanager
def connected(server, revision, over="memory", **options):
    if over == "http":
        with server.listen("http://127.0.0.1:0/mcp") as listener:
            with connect(listener.address, era=revision, **options) as client:
                if revision != MODERN:
                    eventually(lambda: server.connections)
                yield client
        return
    near, far = pair()
    options.pop("trace", None)
    connection = server.connect(far)
    with Client(revisions=[revision], **options).open(near) as client:
        if revision != MODERN:
            eventually(lambda: server.connections)
        yield client
    assert connection.wait_closed(PATIENCE)


def refusal(client, method, params=None):
    with pytest.raises(PeerError) as raised:
        client.request(method, params)
    return raised.value


@over_each
@each_revision
def test_a_client_asks_what_only_the_vendor_knows(revision, over):
    with connected(searching(), revision, over) as client:
        answer = client.request("acme/search", {"query": "x", "limit": 2})
        assert (answer["found"], answer["id"]) == (["x", "x"], True)
        assert client.request("acme/search", {"query": "y"})["found"] == ["y"] * 3
        assert "found" not in client.request("acme/nothing")


@each_revision
def test_what_does_not_fit_is_refused_as_anywhere(revision):
    with connected(searching(), revision) as client:
        assert refusal(client, "acme/other").code == -32601
        assert refusal(client, "acme/search", {"limit": 2}).code == -32602
        assert refusal(client, "acme/search", {"query": 5}).code == -32602
        failed = refusal(client, "acme/number")
        assert failed.code == -32603
        assert refusal(client, "acme/search", {"query": "fail"}).code == -32603


@over_each
@each_revision
def test_a_server_hears_of_a_vendors_notification(revision, over):
    heard = queue.Queue()
    with connected(searching(heard), revision, over) as client:
        client.notify("acme/clicked", {"at": 1})
        assert heard.get(timeout=PATIENCE)["at"] == 1
        client.notify("acme/unheard", {})
        client.notify("acme/clicked", {"at": 2})
        assert heard.get(timeout=PATIENCE)["at"] == 2


@over_each
@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_client_hears_of_a_vendors_notification(revision, over):
    heard = queue.Queue()
    server = searching()
    with connected(server, revision, over, on_notification=lambda method, params: heard.put((method, params))):
        assert server.broadcast("acme/event", {"n": 1}) == 1
        assert heard.get(timeout=PATIENCE) == ("acme/event", {"n": 1})


def asking():
    """A server with a tool that asks its client something of its own, and one that tells it something."""
    server = searching()

    @server.tool
    def ask(city: str, ctx: Context) -> dict:
        try:
            return ctx.call("acme/ask", {"city": city})
        except PeerError as error:
            return {"code": error.code, "message": str(error)}
        except LocalProtocolError as error:
            return {"message": str(error)}

    @server.tool
    def tell(ctx: Context) -> str:
        ctx.notify("acme/event", {"n": 1})
        return "told"

    return server


@over_each
@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_client_answers_what_a_vendors_server_asks(revision, over):
    with connected(asking(), revision, over) as client:
        @client.method("acme/ask")
        def answer(params, context):
            if params["city"] == "nowhere":
                raise RpcError(-32050, "no such city")
            if params["city"] == "broken":
                raise KeyError("a secret of the client")
            return None if params["city"] == "" else {"weather": "fine", "of": client.revision.name}

        def asked(city):
            result = client.call_tool("ask", {"city": city})
            return eval(result.text, {})

        assert asked("Oslo") == {"weather": "fine", "of": revision}
        assert asked("") == {}
        assert asked("nowhere")["code"] == -32050 and "no such city" in asked("nowhere")["message"]
        assert asked("broken")["code"] == -32603 and "secret" not in asked("broken")["message"]


def test_what_is_no_object_is_no_answer_of_a_client():
    with connected(asking(), "2025-11-25") as client:
        client.method("acme/ask")(lambda params, context: 5)
        assert '"code":-32603' in client.call_tool("ask", {"city": "x"}).text


@over_each
@each_revision
def test_a_request_may_tell_something_of_its_own_while_it_is_answered(revision, over):
    heard = queue.Queue()
    with connected(asking(), revision, over, on_notification=lambda *told: heard.put(told)) as client:
        assert client.call_tool("tell").text == "told"
        assert heard.get(timeout=PATIENCE) == ("acme/event", {"n": 1})


@over_each
def test_without_a_handshake_a_server_says_that_it_cannot_ask_or_tell_unasked(over):
    server = asking()
    with connected(server, MODERN, over) as client:
        client.method("acme/ask")(lambda params, context: {})
        assert "no requests from server to client" in client.call_tool("ask", {"city": "Oslo"}).text
        assert server.broadcast("acme/event", {}) == 0, "it is not told, and not counted"
    with pytest.raises(LocalProtocolError, match="acme/event: .* by ctx.notify"):
        Server("x", revisions=[MODERN]).broadcast("acme/event", {})
    assert Server("x", revisions=[MODERN]).broadcast("notifications/tools/list_changed") == 0


def test_traces_name_them_in_both_directions():
    shown, heard = io.StringIO(), queue.Queue()
    with connected(asking(), "2025-11-25", "http", trace=to_text(shown),
                   on_notification=lambda *told: heard.put(told)) as client:
        client.method("acme/ask")(lambda params, context: {})
        client.request("acme/search", {"query": "x"})
        client.call_tool("ask", {"city": "x"})
        client.call_tool("tell")
        heard.get(timeout=PATIENCE)
    assert re.findall(r"[CS]> .*\(vendor\)", shown.getvalue()) == [
        "C> acme/search (vendor)", "S> result #2 acme/search (vendor)", "S> acme/ask (vendor)",
        "C> result #1 acme/ask (vendor)", "S> acme/event (vendor)"]


def test_a_server_may_ask_a_client_which_answers_that_it_does_not_know_it():
    server = searching()

    @server.tool
    def ask(ctx: Context) -> str:
        try:
            ctx.connection.request("acme/ask", {}, within=ctx.incoming)
        except PeerError as error:
            return str(error.code)
        return "answered"

    with connected(server, "2025-11-25") as client:
        assert client.call_tool("ask").text == "-32601"


def test_in_the_stateless_era_a_server_asks_nothing():
    server = searching()

    @server.tool
    def ask(ctx: Context) -> str:
        try:
            ctx.connection.request("acme/ask", {}, within=ctx.incoming)
        except LocalProtocolError:
            return "refused"
        return "sent"

    with connected(server, MODERN) as client:
        assert client.call_tool("ask").text == "refused"


def test_nothing_of_a_vendor_goes_through_before_the_handshake():
    with ScriptedPeer.of_server(searching()) as peer:
        assert "error" in peer.call("early", "acme/search", {"query": "x"})


def test_a_callback_that_raises_ends_nothing():
    heard = queue.Queue()

    def fail(method, params):
        heard.put(params)
        raise KeyError(method)

    server = searching()
    with connected(server, "2025-11-25", on_notification=fail) as client:
        for number in range(2):
            server.broadcast("acme/event", {"n": number})
            assert heard.get(timeout=PATIENCE) == {"n": number}
        assert client.request("acme/nothing") == {}


@pytest.mark.parametrize("name", [
    *sorted({row.name for row in METHODS}), "tools/search", "notifications/acme", "search", "/x", "acme/", "", 5,
])
def test_names_of_the_specification_can_never_be_registered(name):
    server = Server("vendor")
    for register in (server.method, server.on_notification, Client().method):
        with pytest.raises(ValueError, match="needs a prefix"):
            register(name)(lambda *ignored: None)


def test_a_name_is_taken_once():
    server = searching()
    with pytest.raises(ValueError, match="already"):
        server.method("acme/search")(lambda: None)
    client = Client()
    client.method("acme/ask")(print)
    for register in (server, client):
        with pytest.raises(TypeError, match="expected a function"):
            register.method("acme/x")("no function")
    with pytest.raises(ValueError, match="already"):
        client.method("acme/ask")(print)


def test_which_names_are_a_vendors():
    assert is_vendor("acme/search") and is_vendor("com.example/a/b")
    assert not any(is_vendor(row.name) for row in METHODS)
