"""What an author's code raises, for each kind of handler and each way of serving: the author's log has all of it, with
the request's id, and the client is told as much as its place allows.
"""
import contextlib
import io
import itertools
import json
import logging
import os
import re
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest

from mcp_ref import Context, Server
from mcp_ref.client import Client
from mcp_ref.client.connecting import transport_to
from mcp_ref.errors import CapabilityMissing, ConnectionLost, PeerError, ToolError
from mcp_ref.methods import CLIENT, REQUEST, Method
from mcp_ref.peer.context import Route
from mcp_ref.peer.extension import Extension
from mcp_ref.server.serving.http_listener import endpoint_of
from mcp_ref.server.serving.process import serve
from mcp_ref.streamable.client.http_sse import HttpSse
from mcp_ref.streamable.server.wsgi import Caller
from mcp_ref.transports.lines.sockets import connect_socket
from mcp_ref.transports.lines.stdio import StdioServer
from mcp_ref.transports.memory import pair
from tests.support.scripted import ScriptedPeer
from tests.support.serving import served
from tests.support.sides import eventually, in_thread

SECRET = "postgres://app:hunter2@db/x"
HANDSHAKE, STATELESS = "2025-11-25", "2026-07-28"
DO = "com.example/do"
Ask = Callable[[str, Dict[str, Any]], Any]
"""Method and params -> the id that the request had, and the error or result as a dict with one of these names."""


class Doing(Extension):
    identifier = "com.example/doing"
    since = None
    methods = (Method(DO, REQUEST, CLIENT, None, None, None, None, "x"),)

    def route(self, role: Any, method: str, revision: Any) -> Route:
        return Route(lambda context, params: fail())


def fail(*arguments: Any) -> Any:
    raise LookupError(SECRET)


def failing(**options: Any) -> Server:
    """A server on which everything fails."""
    server = Server("failing", extensions=[Doing()], on_log_level=lambda connection, level: fail(), **options)

    @server.tool
    def burn(ctx: Context) -> str:
        """Fail."""
        ctx.log("info", "burning")
        return str(fail())

    server.resource("config://app")(fail_plainly)
    server.resource("greeting://{name}")(lambda name: fail())
    server.prompt(name="review")(lambda language="x": fail())
    server.completion("review", "language")(lambda value: fail())
    return server


def fail_plainly() -> str:
    return str(fail())


KINDS: Dict[str, Tuple[str, Dict[str, Any], str]] = {
    "tool": ("tools/call", {"name": "burn", "arguments": {}}, "tool 'burn'"),
    "resource": ("resources/read", {"uri": "config://app"}, "resource 'config://app'"),
    "template": ("resources/read", {"uri": "greeting://you"}, "resource template 'greeting://{name}'"),
    "prompt": ("prompts/get", {"name": "review"}, "prompt 'review'"),
    "completion": ("completion/complete", {"ref": {"type": "ref/prompt", "name": "review"},
                                           "argument": {"name": "language", "value": "p"}},
                   "completion of language for prompt 'review'"),
    "extension": (DO, {}, "handler of com.example/do of extension com.example/doing"),
    "hook": ("logging/setLevel", {"level": "debug"}, "on_log_level"),
}
"""Kind -> a request that has it called, and what it is called in the log."""


# --- ways of serving --------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def asked_by(client: Client) -> Iterator[Ask]:
    def ask(method: str, params: Dict[str, Any]) -> Any:
        try:
            return None, {"result": client.request(method, params)}
        except PeerError as error:
            return error.request_id, {"error": {"code": error.code, "message": error.message}}

    with client:
        yield ask


def client_of(transport: Any, revision: str) -> Client:
    return Client(revisions=[revision], extensions=[Doing()]).open(transport)


@contextlib.contextmanager
def in_memory(server: Server, revision: str, path: Any) -> Iterator[Ask]:
    ours, theirs = pair()
    server.connect(ours)
    with asked_by(client_of(theirs, revision)) as ask:
        yield ask


@contextlib.contextmanager
def on_stdio(server: Server, revision: str, path: Any) -> Iterator[Ask]:
    """By `serve`, on pipes in the place of standard input and output."""
    (theirs, out), (back, ours) = os.pipe(), os.pipe()
    serving = in_thread(serve, server, StdioServer(descriptors=(back, out)), False)
    with asked_by(client_of(StdioServer(descriptors=(theirs, ours)), revision)) as ask:
        yield ask
    serving.get()


@contextlib.contextmanager
def on_socket(server: Server, revision: str, address: str) -> Iterator[Ask]:
    with server.listen(address) as listener:
        with asked_by(client_of(connect_socket(listener.address), revision)) as ask:
            yield ask


def on_unix(server: Server, revision: str, path: Any) -> Any:
    return on_socket(server, revision, "unix://%s" % (path / "s"))


def on_tcp(server: Server, revision: str, path: Any) -> Any:
    return on_socket(server, revision, "tcp://127.0.0.1:0")


@contextlib.contextmanager
def on_http(server: Server, revision: str, path: Any) -> Iterator[Ask]:
    with server.listen("http://127.0.0.1:0/mcp") as listener:
        with asked_by(client_of(transport_to(listener.address), revision)) as ask:
            yield ask


@contextlib.contextmanager
def on_sse(server: Server, revision: str, path: Any) -> Iterator[Ask]:
    with server.listen("http://127.0.0.1:0/mcp") as listener:
        url = listener.address.replace("/mcp", "/sse")
        with asked_by(client_of(HttpSse(url), revision)) as ask:
            yield ask


@contextlib.contextmanager
def posting(post: Callable[[Dict[str, str], bytes], Tuple[Dict[str, str], bytes]], revision: str) -> Iterator[Ask]:
    """By raw POSTs, in a session or without."""
    info = {"name": "raw", "version": "0"}
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream",
               "host": "127.0.0.1", "mcp-protocol-version": revision}
    declared: Dict[str, Any] = {"extensions": {Doing.identifier: {}}}
    numbers = itertools.count(1)

    def send(message: Dict[str, Any], more: Dict[str, str]) -> Tuple[Dict[str, str], Any]:
        found, body = post(dict(headers, **more), json.dumps(message).encode("ascii"))
        events = [line[len(b"data: "):] for line in body.splitlines() if line.startswith(b"data: ")]
        return found, [json.loads(text) for text in (events or [body]) if text]

    if revision == HANDSHAKE:
        opening = {"protocolVersion": revision, "capabilities": declared, "clientInfo": info}
        found, _ = send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening}, {})
        headers["mcp-session-id"] = found["mcp-session-id"]
        send({"jsonrpc": "2.0", "method": "notifications/initialized"}, {})

    def ask(method: str, params: Dict[str, Any]) -> Any:
        id, more = next(numbers), {}
        if revision == STATELESS:
            key = "io.modelcontextprotocol/"
            params = dict(params, _meta={key + "protocolVersion": revision, key + "clientInfo": info,
                                         key + "clientCapabilities": declared})
            more = {"mcp-method": method}
            name = params.get("name", params.get("uri"))
            if name is not None:
                more["mcp-name"] = name
        _, messages = send({"jsonrpc": "2.0", "id": id, "method": method, "params": params}, more)
        answer, = (message for message in messages if message.get("id") == id)
        return id, {name: answer[name] for name in ("result", "error") if name in answer}

    yield ask


@contextlib.contextmanager
def by_handle(server: Server, revision: str, path: Any) -> Iterator[Ask]:
    def post(headers: Dict[str, str], body: bytes) -> Tuple[Dict[str, str], bytes]:
        answer = server.handle("POST", "/mcp", headers, body)
        return {name.lower(): value for name, value in answer.headers}, b"".join(answer.chunks)

    try:
        with posting(post, revision) as ask:
            yield ask
    finally:
        server.handler.close()


@contextlib.contextmanager
def by_wsgi(server: Server, revision: str, path: Any) -> Iterator[Ask]:
    application = server.wsgi()

    def post(headers: Dict[str, str], body: bytes) -> Tuple[Dict[str, str], bytes]:
        found: List[Any] = []
        environ = {"HTTP_" + name.upper().replace("-", "_"): value for name, value in headers.items()}
        environ.update({
            "REQUEST_METHOD": "POST", "PATH_INFO": "/mcp", "SCRIPT_NAME": "", "QUERY_STRING": "",
            "CONTENT_TYPE": headers["content-type"], "CONTENT_LENGTH": str(len(body)), "SERVER_NAME": "x",
            "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "wsgi.input": io.BytesIO(body),
            "wsgi.errors": io.StringIO(), "wsgi.url_scheme": "http", "wsgi.multithread": True,
            "wsgi.multiprocess": False, "wsgi.run_once": False, "wsgi.version": (1, 0)})  # type: ignore[dict-item]
        chunks = application(environ, lambda status, fields: found.append(fields))
        try:
            whole = b"".join(chunks)
        finally:
            getattr(chunks, "close", lambda: None)()
        return {name.lower(): value for name, value in found[0]}, whole

    try:
        with posting(post, revision) as ask:
            yield ask
    finally:
        application.close()


WAYS: Dict[str, Any] = {
    "memory": in_memory, "stdio": on_stdio, "unix": on_unix, "tcp": on_tcp, "http": on_http, "sse": on_sse,
    "handle": by_handle, "wsgi": by_wsgi,
}
ON_THIS_MACHINE = ("memory", "stdio", "unix")
WITH_SESSION = ("http", "sse", "handle", "wsgi")
CASES = [(way, revision) for way in WAYS for revision in (HANDSHAKE, STATELESS)
         if (way, revision) != ("sse", STATELESS)]


def records_of(caplog: Any, who: str) -> List[logging.LogRecord]:
    return [record for record in caplog.records if record.getMessage().startswith(who + " raised ")]


def text_told(answer: Dict[str, Any]) -> str:
    """What a client is told of a failure: in a result of a tool, or in an error."""
    if "error" in answer:
        assert answer["error"]["code"] == -32603
        return str(answer["error"]["message"])
    assert answer["result"]["isError"] is True
    return str(answer["result"]["content"][0]["text"])


@pytest.mark.parametrize("way, revision", CASES)
def test_each_exception_is_logged_and_what_the_client_is_told_goes_by_its_place(way, revision, tmp_path, caplog):
    server = failing()
    with WAYS[way](server, revision, tmp_path) as ask:
        for kind, (method, params, who) in KINDS.items():
            if kind == "hook" and revision == STATELESS:
                continue
            id, answer = ask(method, params)
            record, = records_of(caplog, who)
            said = record.getMessage()
            assert record.name.startswith("mcp_ref.") and record.levelno == logging.ERROR, kind
            assert "LookupError" in said and SECRET in said and "(%s, request " % method in said, said
            assert record.exc_info is not None and record.exc_info[2] is not None
            assert "in fail\n" in logging.Formatter().formatException(record.exc_info), "down to the author's own line"
            named = re.findall(r"request ([^,)]+)", said)
            assert id is None or named == [repr(id)]
            assert ("session " in said) == (way in WITH_SESSION and revision == HANDSHAKE), said
            told = text_told(answer)
            if way in ON_THIS_MACHINE:
                assert "LookupError: " + SECRET in told
            else:
                assert told == "Internal error in %s (request %s); the server's log has the details" % (who, named[0])


def test_no_record_has_a_whole_session_id(tmp_path, caplog):
    server = failing()
    with server.listen("http://127.0.0.1:0/mcp") as listener:
        with asked_by(client_of(transport_to(listener.address), HANDSHAKE)) as ask:
            ask(*KINDS["tool"][:2])
            whole = listener.endpoint.sessions.all()[0].id
    said = records_of(caplog, "tool 'burn'")[0].getMessage()
    begin = re.findall(r"session (.+)\.\.\.", said)
    assert len(begin) == 1 and whole.startswith(begin[0]) and 4 <= len(begin[0]) <= len(whole) // 4
    assert whole not in caplog.text


@pytest.mark.parametrize("mask_errors", [True, False])
@pytest.mark.parametrize("way", ["memory", "unix", "tcp", "http", "handle"])
def test_one_option_decides_for_all_places(way, mask_errors, tmp_path, caplog):
    with WAYS[way](failing(mask_errors=mask_errors), STATELESS, tmp_path) as ask:
        for kind in ("tool", "resource"):
            method, params, who = KINDS[kind]
            told = text_told(ask(method, params)[1])
            assert (SECRET in told) == (not mask_errors) and ("the server's log has the details" in told) == mask_errors
            assert records_of(caplog, who)


@pytest.mark.parametrize("way", ["memory", "http"])
@pytest.mark.parametrize("mask_errors", [None, True])
def test_what_was_meant_for_the_client_is_told_everywhere_and_not_logged(way, mask_errors, tmp_path, caplog):
    def refuse() -> str:
        raise ToolError("try another city")

    server = Server("kind", mask_errors=mask_errors)
    server.tool(refuse, name="burn")
    server.resource("config://app")(refuse)
    server.prompt(name="review")(refuse)
    with WAYS[way](server, STATELESS, tmp_path) as ask:
        for kind in ("tool", "resource", "prompt"):
            assert text_told(ask(*KINDS[kind][:2])[1]) == "try another city"
    assert not [record for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR]


def test_a_client_that_cannot_be_asked_is_told_so_everywhere(tmp_path, caplog):
    def needy() -> str:
        raise CapabilityMissing("this client did not declare roots", "tool-of-another-server")

    server = Server("asking")
    server.tool(needy, name="burn")
    with WAYS["http"](server, HANDSHAKE, tmp_path) as ask:
        assert "did not declare roots" in text_told(ask(*KINDS["tool"][:2])[1])
    assert records_of(caplog, "tool 'burn'")


@pytest.mark.parametrize("value, schema, words", [
    ([float("nan")], None, "is NaN"),
    ({"a": "x"}, {"type": "object", "required": ["b"]}, "does not fit the output schema"),
])
def test_a_result_that_may_not_be_sent_is_told_by_place_and_logged_each_time(value, schema, words, caplog):
    server = Server("promising", mask_errors=True)
    server.tool(lambda: value, name="bad", output_schema=schema)
    with served(server, HANDSHAKE) as peer:
        for number in range(15):
            assert words in text_told(peer.call(number, "tools/call", {"name": "bad", "arguments": {}}))
    found = records_of(caplog, "tool 'bad'")
    assert len(found) == 15 and all(record.exc_info for record in found)


def test_a_mistake_is_logged_however_often_others_have_happened(caplog):
    """0.5.0 logged ten exceptions of a process, and then every thousandth."""
    server = Server("many", mask_errors=True)
    server.tool(fail, name="old", input_schema={"type": "object"})
    server.tool(lambda: 1 / 0, name="new")
    with served(server, HANDSHAKE) as peer:
        for number in range(2500):
            peer.call(number, "tools/call", {"name": "old", "arguments": {}})
        peer.call("new", "tools/call", {"name": "new", "arguments": {}})
    assert 10 < len(records_of(caplog, "tool 'old'")) < 100
    record, = records_of(caplog, "tool 'new'")
    assert "request 'new'" in record.getMessage() and "ZeroDivisionError" in record.getMessage()


@pytest.mark.parametrize("id", ["a\nERROR forged", "\x1b[2J", "x" * 1000])
def test_an_id_that_a_client_chose_forges_no_line_of_the_log(id, caplog):
    with served(failing(mask_errors=True), HANDSHAKE) as peer:
        told = text_told(peer.call(id, "tools/call", {"name": "burn", "arguments": {}}))
    said = records_of(caplog, "tool 'burn'")[0].getMessage()
    assert said.isprintable() and told.isprintable() and len(said) < 400
    shown = re.findall(r"request ([^)]*)\)", told)[0]
    assert "request " + shown in said, "the two can be joined"


def test_an_exception_without_a_text_or_with_one_that_raises_is_logged_too(caplog):
    class Silent(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    def silent() -> str:
        raise Silent

    server = Server("silent")
    server.tool(silent, name="burn")
    server.resource("config://app")(silent)
    with served(server, HANDSHAKE) as peer:
        assert text_told(peer.call(1, *KINDS["tool"][:2])) == "Silent"
        assert text_told(peer.call(2, *KINDS["resource"][:2])).endswith(": Silent")
    assert records_of(caplog, "tool 'burn'") and records_of(caplog, "resource 'config://app'")


def test_an_exception_whose_text_is_no_unicode_gets_its_answer():
    def odd() -> str:
        raise OSError("caf\udce9")

    server = Server("odd")
    server.resource("config://app")(odd)
    with served(server, HANDSHAKE) as peer:
        assert "caf\\udce9" in text_told(peer.call(1, *KINDS["resource"][:2]))


def test_a_name_that_nobody_registered_is_not_in_the_log(caplog):
    class Broken(Doing):
        def adapt(self, role: Any, method: str, revision: Any, route: Route) -> Route:
            return Route(lambda context, params: fail(), route.fault) if method == "tools/call" else route

    server = Server("adapted", extensions=[Broken()])
    server.tool(lambda: "x", name="burn")
    with served(server, HANDSHAKE) as peer:
        peer.call(1, "tools/call", {"name": "chosen by a client", "arguments": {}})
        peer.call(2, "tools/call", {"name": ["no", "text"], "arguments": {}})
    assert "chosen by a client" not in caplog.text and len(records_of(caplog, "handler of tools/call")) == 2
    assert not server.has_feature("prompts")


@pytest.mark.parametrize("goes_on", [False, True])
def test_that_a_client_went_away_is_no_mistake_of_the_handler_that_asked_it(goes_on, caplog):
    ended: List[BaseException] = []

    def patient(ctx: Context) -> str:
        try:
            return str(ctx.list_roots())
        except ConnectionLost as error:
            ended.append(error)
            raise

    server = Server("patient")
    server.tool(patient)
    with ScriptedPeer.of_server(server) as peer:
        peer.handshake(HANDSHAKE, {"roots": {}})
        peer.request(1, "tools/call", {"name": "patient", "arguments": {}})
        assert peer.receive()["method"] == "roots/list"
        if goes_on:  # as a session over HTTP does, whose client may come back
            peer.connection.give_up_all("it has no connection")
            eventually(lambda: bool(ended) and not len(peer.connection.inflight))
    eventually(lambda: bool(ended) and peer.connection is not None and peer.connection.closed)
    assert not records_of(caplog, "tool 'patient'")


def test_the_tools_of_a_models_loop_are_named_by_their_own_names(caplog):
    def outer(ctx: Context) -> str:
        ctx.sample_with_tools("go on", 50, tools={"inner": lambda: fail()})
        return "done"

    uses = {"role": "assistant", "model": "m", "stopReason": "toolUse", "content": [
        {"type": "tool_use", "id": "u", "name": "inner", "input": {}}]}
    answer = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}}
    server = Server("loop", mask_errors=True)
    server.tool(outer)
    with ScriptedPeer.of_server(server) as peer:
        peer.handshake(HANDSHAKE, {"sampling": {"tools": {}}})
        peer.request(1, "tools/call", {"name": "outer", "arguments": {}})
        peer.respond(peer.receive()["id"], uses)
        asked = peer.receive()
        result = asked["params"]["messages"][-1]["content"][0]
        peer.respond(asked["id"], answer)
        peer.answer_to(1)
    assert result["isError"] and "in tool 'inner' (request 1)" in result["content"][0]["text"]
    assert records_of(caplog, "tool 'inner'") and not records_of(caplog, "tool 'outer'")


def test_a_notification_that_fails_is_logged_by_the_name_of_its_hook(caplog):
    def changed(connection: Any) -> None:
        fail()

    with ScriptedPeer.of_server(Server("roots", on_roots_changed=changed)) as peer:
        peer.handshake(HANDSHAKE, {"roots": {"listChanged": True}})
        peer.notify("notifications/roots/list_changed")
        eventually(lambda: bool(records_of(caplog, "on_roots_changed")))
    assert "(notifications/roots/list_changed)" in records_of(caplog, "on_roots_changed")[0].getMessage()


def test_what_authenticate_raises_is_logged_by_a_rate(caplog):
    """Anybody can have it called, as often as they like."""
    def authenticate(headers: Any) -> Optional[str]:
        raise OSError("the directory is down")

    caller = Caller(endpoint_of(Server("guarded"), streams=False, authenticate=authenticate))
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream",
               "host": "127.0.0.1"}
    try:
        for _ in range(200):
            assert caller.call("POST", "/mcp", headers, b'{"jsonrpc":"2.0","id":1,"method":"ping"}').status == 500
    finally:
        caller.close()
    assert 10 <= len(records_of(caplog, "authenticate")) < 50 and records_of(caplog, "authenticate")[0].exc_info
