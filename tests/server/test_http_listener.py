"""A server on HTTP as a whole: engine, endpoint and clock, by plain requests of `http.client`."""
import http.client
import io
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import urllib.parse
import wsgiref.util
import wsgiref.validate

import pytest

from mcp_ref.client import connect
from mcp_ref.errors import ConnectFailed
from mcp_ref.limits import Limits
from mcp_ref.server import Context, Server
from mcp_ref.server.serving.http_listener import HttpListener
from tests.support.children import heed_interrupts
from tests.support.scripted import PATIENCE

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
ECHO = str(EXAMPLES / "echo_server.py")
USUAL = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
OPENING = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "0"}}}


def demo(**options):
    server = Server("demo", **options)

    @server.tool
    def echo(text: str) -> str:
        return text

    @server.tool
    def count(to: int, ctx: Context) -> str:
        for step in range(1, to + 1):
            ctx.progress(step, to)
        return "done"

    return server


class Caller:
    """A client that knows nothing of MCP."""

    def __init__(self, address):
        parts = urllib.parse.urlsplit(address)
        self.path = parts.path
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
        self.session = {}

    def ask(self, method="POST", message=None, **headers):
        body = None if message is None else json.dumps(message)
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.request(method, self.path, body, dict(USUAL, **self.session, **fields))
        answer = self.connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def open(self, **headers):
        status, fields, body = self.ask(message=OPENING, **headers)
        assert status == 200, body
        self.session = {"Mcp-Session-Id": fields["Mcp-Session-Id"], "MCP-Protocol-Version": "2025-11-25"}
        assert self.ask(message={"jsonrpc": "2.0", "method": "notifications/initialized"}, **headers)[0] == 202
        return json.loads(body)["result"]

    def tool(self, id, name, arguments, token=None, **headers):
        params = {"name": name, "arguments": arguments}
        if token is not None:
            params["_meta"] = {"progressToken": token}
        return self.ask(message={"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}, **headers)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.connection.close()


@pytest.mark.parametrize("path", ["/mcp", "/", "/deep/er"])
def test_a_server_listens_on_any_free_port_and_says_where(path):
    with demo().listen("http://127.0.0.1:0" + path) as listener, Caller(listener.address) as caller:
        assert caller.path == path and caller.open()["serverInfo"]["name"] == "demo"
        status, headers, body = caller.tool(1, "echo", {"text": "h\u00e9"})
        assert (status, headers["Content-Type"]) == (200, "application/json")
        assert json.loads(body)["result"]["content"][0]["text"] == "h\u00e9"
        status, headers, body = caller.tool(2, "count", {"to": 2}, token="t")
        assert (status, headers["Content-Type"]) == (200, "text/event-stream")
        assert body.count(b'"progress":') == 2 and b'"text":"done"' in body
        assert caller.ask("DELETE")[0] == 204
        assert caller.tool(3, "echo", {"text": "x"})[0] == 404


def test_a_token_lets_in_who_shows_it_and_sessions_are_theirs():
    with demo().listen("http://127.0.0.1:0", token="s3cret") as listener, Caller(listener.address) as caller:
        for shown in ({}, {"Authorization": "Bearer s3cre"}, {"Authorization": "Bearer s3cret2"},
                      {"Authorization": "Basic s3cret"}, {"Authorization": "Bearer \u00e9"}):
            status, headers, _ = caller.ask(message=OPENING, **shown)
            assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
        caller.open(Authorization="Bearer s3cret")
        assert caller.tool(1, "echo", {"text": "x"}, Authorization="Bearer s3cret")[0] == 200
        assert caller.tool(2, "echo", {"text": "x"})[0] == 401


@pytest.mark.parametrize("headers, status", [
    ({"Host": "localhost:1"}, 200), ({"Host": "evil.example"}, 403), ({"Origin": "http://evil.example"}, 403),
    ({"Origin": "http://localhost:9"}, 200),
])
def test_only_pages_and_names_of_this_machine_are_let_in(headers, status):
    """[2025-11-25 basic/transports §Security Warning] MUST"""
    with demo().listen("http://127.0.0.1:0") as listener, Caller(listener.address) as caller:
        assert caller.ask(message=OPENING, **headers)[0] == status


def test_without_sessions_each_request_stands_alone():
    with demo().listen("http://127.0.0.1:0", sessions="none") as listener, Caller(listener.address) as caller:
        status, headers, _ = caller.ask(message=OPENING)
        assert status == 200 and "Mcp-Session-Id" not in headers
        assert caller.tool(1, "echo", {"text": "x"}, MCP_Protocol_Version="2025-06-18")[0] == 200
        assert caller.ask("GET", Accept="text/event-stream")[0] == 405


@pytest.mark.parametrize("address, options, problem", [
    ("https://127.0.0.1:0", {}, "https needs an ssl_context"),
    ("http://127.0.0.1:0/?x", {}, "scheme, host, port and path"),
    ("http://me@127.0.0.1:0/", {}, "scheme, host, port and path"),
    ("http://127.0.0.1:0", {"token": "a b"}, "visible ASCII"),
    ("http://127.0.0.1:0", {"token": "a", "authenticate": print}, "pass one of auth, token and authenticate"),
    ("http://127.0.0.1:0", {"sessions": "disk"}, "sessions is"),
    ("http://127.0.0.1:0", {"allowed_hosts": ["a b"]}, "is no host"),
])
def test_what_cannot_be_served_is_said_before_anything_is_opened(address, options, problem):
    with pytest.raises(ValueError, match=problem):
        demo().listen(address, **options)


def test_options_of_http_are_refused_elsewhere():
    with pytest.raises(TypeError, match="takes no option token"):
        demo().listen("tcp://127.0.0.1:0", token="x")


def test_a_port_that_is_taken_is_told():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ConnectFailed, match=str(taken.getsockname()[1])):
            demo().listen("http://127.0.0.1:%d" % taken.getsockname()[1])


def test_one_that_everybody_can_reach_is_logged_unless_they_must_show_who_they_are(caplog):
    for options, told in (({}, 1), ({"token": "x"}, 0), ({"authenticate": lambda headers: "me"}, 0)):
        caplog.clear()
        demo().listen("http://0.0.0.0:0", **options).close()
        assert len([record for record in caplog.records if "show who they are" in record.getMessage()]) == told


def test_closing_again_does_nothing_and_idle_sessions_are_ended_by_the_clock():
    server = demo(limits=Limits(session_idle=0.0))
    listener = HttpListener(server, "http://127.0.0.1:0")
    listener.open()
    with Caller(listener.address) as caller:
        caller.open()
        listener.endpoint.tick()
        assert caller.tool(1, "echo", {"text": "x"})[0] == 404
        assert not listener.wait(0)
    listener.close()
    listener.close()
    assert listener.wait(0)


@pytest.mark.parametrize("number, how", [
    (signal.SIGINT, [ECHO]),
    (signal.SIGINT, ["-m", "mcp_ref", "run", ECHO]),
    (signal.SIGTERM, [ECHO]),
    (signal.SIGTERM, ["-m", "mcp_ref", "run", ECHO]),
])
def test_a_program_serves_over_http_until_it_is_told_to_end(number, how):
    command = [sys.executable, *how, "--http", "127.0.0.1:0"]
    process = subprocess.Popen(command, cwd=str(EXAMPLES.parent), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, preexec_fn=heed_interrupts)
    try:
        line = process.stderr.readline().decode()
        url, words = re.findall(r"(http://127\.0\.0\.1:[1-9]\d*/mcp)(.*)", line)[0]
        assert words == "; Ctrl-C ends it", line
        with Caller(url) as caller:
            caller.open()
            answer = json.loads(caller.tool(1, "add", {"a": 1, "b": 2})[2])
            assert answer["result"]["structuredContent"] == {"result": 3}
        os.kill(process.pid, number)
        assert process.wait(PATIENCE) == (130 if number == signal.SIGINT and "-m" in how else 0)
        assert b"Traceback" not in process.stderr.read()
    finally:
        process.kill()
        process.communicate()


def test_clients_of_the_first_revision_find_their_transport_beside_the_endpoint():
    """[2024-11-05 basic/transports §HTTP with SSE]"""
    with demo().listen("http://127.0.0.1:0/mcp", token="t") as listener:
        with connect(listener.address[:-4] + "/sse", token="t", revisions=["2024-11-05"]) as client:
            assert client.call_tool("echo", {"text": "old"}).text == "old"
            seen = []
            client.call_tool("count", {"to": 2}, progress=lambda value, total, message: seen.append(value))
            assert seen == [1, 2]
        with connect(listener.address, token="t") as client:
            assert client.call_tool("echo", {"text": "new"}).text == "new"
        assert len(listener.legacy.sessions.all()) == 0 or not listener.server.connections
    with demo().listen("http://127.0.0.1:0/mcp", legacy=False) as listener, Caller(listener.address) as caller:
        caller.path = "/sse"
        assert caller.ask("GET", Accept="text/event-stream")[0] == 404


def test_a_server_can_be_mounted_in_any_framework():
    server = demo()
    headers = dict(USUAL, Host="localhost")
    opened = server.handle("POST", "/mcp", headers, json.dumps(OPENING).encode())
    assert opened.status == 200 and b'"serverInfo"' in b"".join(opened.chunks)
    session = dict(opened.headers)["Mcp-Session-Id"]
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "x"}}}
    answer = server.handle("POST", "/mcp", dict(headers, **{"Mcp-Session-Id": session}), json.dumps(call).encode())
    assert answer.status == 200 and b'"text":"x"' in b"".join(answer.chunks)
    assert server.handle("DELETE", "/mcp", dict(headers, **{"Mcp-Session-Id": session})).status == 204
    assert server.handle("GET", "/mcp", dict(headers, Accept="text/event-stream")).status == 405
    assert server.handle("GET", "/elsewhere", headers).status == 404
    server.handler.close(0)


def test_a_framework_can_say_who_its_client_is(monkeypatch):
    server, seen = demo(), []
    endpoint = server.handler.endpoint
    handle = endpoint.handle
    monkeypatch.setattr(endpoint, "handle", lambda exchange: [seen.append(exchange.request.peer), handle(exchange)])
    for given in ({}, {"peer": "10.0.0.1"}):
        server.handle("GET", "/elsewhere", dict(USUAL, Host="localhost"), **given)
    assert seen == ["", "10.0.0.1"]
    with pytest.raises(TypeError, match="peers"):
        server.handle("GET", "/elsewhere", {}, peers="10.0.0.1")
    server.handler.close(0)


def test_any_wsgi_engine_serves_it():
    served = demo().wsgi(sessions="none")
    application = wsgiref.validate.validator(served)
    body = json.dumps(OPENING).encode()
    environ = {
        "REQUEST_METHOD": "POST", "SCRIPT_NAME": "", "PATH_INFO": "/mcp", "QUERY_STRING": "", "HTTP_HOST": "localhost",
        "CONTENT_LENGTH": str(len(body)), "CONTENT_TYPE": "application/json", "HTTP_ACCEPT": USUAL["Accept"],
        "wsgi.input": io.BytesIO(body),
    }
    wsgiref.util.setup_testing_defaults(environ)
    started = []
    answer = application(environ, lambda status, headers, exc_info=None: started.append(status))
    try:
        assert b'"serverInfo"' in b"".join(answer) and started == ["200 OK"]
    finally:
        answer.close()
        served.close(0)


@pytest.mark.spec("http.bind-localhost")
@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_unless_told_otherwise_a_server_can_be_reached_from_this_machine_only(revision):
    """[2025-03-26..2025-11-25 basic/transports §Security Warning] SHOULD, and so [2024-11-05 basic/transports]."""
    bound = []

    def ready(url):
        bound.append(url)
        port = urllib.parse.urlsplit(url).port
        with socket.socket() as other:  # free on every other address of this machine
            other.bind(("127.0.0.2", port))
        with connect(url, revisions=[revision]) as client:
            bound.append(client.revision.name)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        demo().run_http(port=0, ready=ready)
    assert bound[0].startswith("http://127.0.0.1:") and bound[1] == revision
