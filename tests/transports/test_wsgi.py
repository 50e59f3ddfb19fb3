"""The WSGI application: what `wsgiref.validate` asks, statuses, mounting, bodies, streams, and the library's server."""
import io
import json
import threading
import urllib.error
import urllib.request
import wsgiref.simple_server
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import pytest

from mcp_ref import deadline
from mcp_ref.http11.server.responses import Refused
from mcp_ref.limits import Limits
from mcp_ref.server import SqliteStore
from mcp_ref.streamable.server.endpoint import Endpoint
from mcp_ref.streamable.server.http_sse import SseEndpoint
from mcp_ref.streamable.server.wsgi import Application, request_of
from tests.support.clocks import by_hand
from tests.support.http_exchange import BOTH, opening, request
from tests.support.requirements_table import HANDSHAKE
from tests.support.scripted import PATIENCE
from tests.support.sides import Gate, eventually, in_thread, said, work_params, working_server
from tests.transports.http_raw import records

PING = request(1, "ping")
QUICK = {"quick": lambda ctx: "done"}


class Answer:
    """What the application made of one request, read as far as the test does."""

    def __init__(self, app, environ):
        self.started = []

        def start_response(status, headers, exc_info=None):
            self.started.append((status, headers))
            return lambda data: pytest.fail("written instead of iterated")

        self.iterable = app(environ, start_response)
        self._pieces = iter(self.iterable)

    @property
    def status(self):
        (status, _), = self.started
        return int(status[:3])

    @property
    def headers(self):
        return dict(self.started[0][1])

    def next(self):
        """The message in the next piece."""
        return json.loads(next(self._pieces).split(b"data: ")[-1])

    def rest(self):
        try:
            return b"".join(self._pieces)
        finally:
            self.close()

    def close(self):
        if hasattr(self.iterable, "close"):
            self.iterable.close()


class Site:
    """The application of a server inside the validator, and a client; a context manager."""

    def __init__(self, handlers=None, revision="2025-06-18", limits=None, root="", endpoint=None, **options):
        server = working_server(handlers or QUICK, **({"limits": limits} if limits else {}))
        self.endpoint = endpoint or Endpoint(server.connect, limits=server.limits, **{"streams": False, **options})
        self.application = Application(self.endpoint)
        self.app = validator(self.application)
        self.root = root
        self.fields = {"HTTP_HOST": "localhost", "HTTP_ACCEPT": BOTH, "CONTENT_TYPE": "application/json"}
        self.answers = []
        if revision is not None:
            opened = self.post(opening(revision, capabilities={"sampling": {}}))
            opened.rest()
            self.fields["HTTP_MCP_SESSION_ID"] = opened.headers["Mcp-Session-Id"]
            assert self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).rest() == b""

    def environ(self, method, body=b"", **fields):
        made = {"REQUEST_METHOD": method, "PATH_INFO": "/mcp", "SCRIPT_NAME": self.root, "wsgi.input": io.BytesIO(body),
                "QUERY_STRING": "", **self.fields}
        if body:
            made["CONTENT_LENGTH"] = str(len(body))
        made.update((name.replace("__", "."), value) for name, value in fields.items())
        made = {name: value for name, value in made.items() if value is not None}
        setup_testing_defaults(made)
        return made

    def send(self, method, body=b"", **fields):
        answer = Answer(self.app, self.environ(method, body, **fields))
        self.answers.append(answer)
        return answer

    def post(self, body, **fields):
        return self.send("POST", body if isinstance(body, bytes) else json.dumps(body).encode(), **fields)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.application.close()
        for answer in self.answers:
            answer.close()


# -- Statuses ----------------------------------------------------------------------------------

EVENTS = {"HTTP_ACCEPT": "text/event-stream"}
ROWS = [
    ("POST", request(1, "tools/call", work_params("quick")), {}, 200),
    ("POST", {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}, {}, 202),
    ("DELETE", b"", {}, 204), ("OPTIONS", b"", {}, 204), ("OPTIONS", b"", {"HTTP_ORIGIN": "http://localhost"}, 204),
    ("POST", b"{", {}, 400), ("POST", PING, {"HTTP_MCP_SESSION_ID": None}, 400),
    ("POST", PING, {"HTTP_MCP_PROTOCOL_VERSION": "1999-01-01"}, 400), ("POST", [PING], {}, 400),
    ("POST", PING, {"CONTENT_LENGTH": "500"}, 400),
    ("POST", PING, {"HTTP_ORIGIN": "https://evil.example"}, 403), ("GET", b"", {"HTTP_HOST": "evil.example"}, 403),
    ("POST", PING, {"PATH_INFO": "/"}, 404), ("POST", PING, {"PATH_INFO": "/mc%70"}, 404),
    ("POST", PING, {"HTTP_MCP_SESSION_ID": "unknown"}, 404),
    ("GET", b"", EVENTS, 405), ("HEAD", b"", {}, 405), ("PUT", PING, {}, 405), ("PATCH", PING, {}, 405),
    ("POST", PING, {"HTTP_ACCEPT": "text/html"}, 406),
    ("POST", PING, {"CONTENT_LENGTH": None, "HTTP_TRANSFER_ENCODING": "chunked"}, 411),
    ("POST", PING, {"CONTENT_LENGTH": "1001"}, 413),
    ("POST", b" " * 1001, {"CONTENT_LENGTH": None, "wsgi__input_terminated": True}, 413),
    ("POST", PING, {"CONTENT_TYPE": "text/plain"}, 415), ("POST", PING, {"CONTENT_TYPE": ""}, 415),
    ("POST", opening("2025-06-18"), {"HTTP_MCP_SESSION_ID": None}, 503),
]


@pytest.mark.parametrize("json_response", [None, True])
@pytest.mark.parametrize("method, body, fields, status", ROWS)
def test_each_status_is_what_the_validator_takes(method, body, fields, status, json_response):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    with Site(limits=Limits(max_sessions=1, max_message_bytes=1000), json_response=json_response) as site:
        answer = site.send(method, body, **fields)
        assert answer.status == status
        data = answer.rest()
        assert (status == 204) == ("Content-Length" not in answer.headers)
        if method != "HEAD":
            assert answer.headers.get("Content-Length", "0") == str(len(data))
            assert bool(data) == (status not in (202, 204))
        else:
            assert data == b"" and answer.headers["Content-Length"] != "0"
        if status == 405:
            assert answer.headers["Allow"] == "POST, DELETE, OPTIONS"
        if status not in (202, 204, 411, 413) and data and "CONTENT_LENGTH" not in fields:
            assert json.loads(data)["jsonrpc"] == "2.0"


@pytest.mark.parametrize("authenticate, status", [
    pytest.param(lambda headers: None, 401, marks=pytest.mark.sends_illegal("auth.www-authenticate-401")),
    (lambda headers: 1 / 0, 500), (lambda headers: headers.get("authorization"), 200)])
def test_who_it_is_comes_from_the_headers(authenticate, status):
    with Site(revision=None, authenticate=authenticate) as site:
        answer = site.post(opening("2025-06-18"), HTTP_AUTHORIZATION="Bearer ada")
        assert answer.status == status
        answer.rest()
        assert ("WWW-Authenticate" in answer.headers) == (status == 401)


def test_a_server_that_fails_is_500():
    with Site(revision=None) as site:
        site.endpoint.connect = lambda transport: 1 / 0
        answer = site.post(opening("2025-06-18"))
        assert answer.status == 500 and answer.rest() == b""


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_session_of_each_revision(revision):
    with Site(revision=revision) as site:
        assert said(json.loads(site.post(request(1, "tools/call", work_params("quick"))).rest())) == "done"
        assert site.send("DELETE").status == 204
        assert site.post(PING).status == 404


def test_without_sessions():
    with Site(revision=None, sessions="none") as site:
        answer = site.post(request(1, "tools/call", work_params("quick")), HTTP_MCP_PROTOCOL_VERSION="2025-06-18")
        assert said(json.loads(answer.rest())) == "done"
        assert site.send("GET", **EVENTS).status == 405


# -- Where it is mounted -----------------------------------------------------------------------


@pytest.mark.parametrize("path, script, info, status", [
    ("/mcp", "", "/mcp", 200), ("/mcp", "", "/mcp/", 200), ("/mcp", "/tools", "/mcp", 200),
    ("/mcp", "/mcp", "", 200), ("/mcp", "/mcp", "/", 200), ("/tools/mcp", "/tools/mcp", "", 200),
    (None, "/anywhere", "", 200), (None, "", "/any/where", 200), ("/mcp%20x", "", "/mcp x", 200),
    ("/m%C3%BCp", "", "/m\xc3\xbcp", 200),
    ("/mcp", "/tools", "", 404), ("/mcp", "", "", 404), ("/mcp", "/mcp", "/other", 404), ("/mcp", "", "/MCP", 404),
])
def test_where_it_is_mounted(path, script, info, status):
    with Site(revision=None, path=path) as site:
        answer = site.post(opening("2025-06-18"), SCRIPT_NAME=script, PATH_INFO=info)
        assert answer.status == status
        answer.rest()


def test_the_address_for_messages_has_the_prefix():
    server = working_server(QUICK)
    with Site(revision=None, endpoint=SseEndpoint(server.connect), root="/my tools") as site:
        stream = site.send("GET", PATH_INFO="/sse", HTTP_ACCEPT="text/event-stream")
        assert stream.status == 200 and stream.headers["X-Accel-Buffering"] == "no"
        address = next(stream._pieces).split(b"data: ")[1].strip().decode()
        assert address.startswith("/my%20tools/messages?")
        posted = site.post(opening("2024-11-05"), PATH_INFO="/messages", QUERY_STRING=address.partition("?")[2])
        assert posted.status == 202 and posted.rest() == b""
        assert stream.next()["result"]["protocolVersion"] == "2024-11-05"


def test_what_the_environment_says():
    environ = {
        "REQUEST_METHOD": "POST", "SCRIPT_NAME": "/a", "PATH_INFO": "/b", "QUERY_STRING": "c=d", "CONTENT_LENGTH": "3",
        "CONTENT_TYPE": "text/x", "HTTP_X_Y_Z": "v", "HTTP_CONTENT_TYPE": "no", "HTTP_CONTENT_LENGTH": "9",
        "SERVER_PROTOCOL": "HTTP/1.0", "REMOTE_ADDR": "192.0.2.1", "wsgi.url_scheme": "https",
        "wsgi.input": io.BytesIO(b"abcdef"),
    }
    made = request_of(environ, 100)
    assert made[:2] == ("POST", "/b") and made[3:] == (b"abc", "c=d", "HTTP/1.0", "192.0.2.1", True, "/a")
    assert made.headers.pairs() == [("x-y-z", "v"), ("content-type", "text/x")]


# -- Bodies ------------------------------------------------------------------------------------


class Trickle(io.RawIOBase):
    """Gives a byte at a time, and counts what it was asked for."""

    def __init__(self, data, error=None):
        self.data, self.error, self.largest = data, error, 0

    def read(self, size=-1):
        self.largest = max(self.largest, size)
        if not self.data and self.error is not None:
            raise self.error
        piece, self.data = self.data[:1], self.data[1:]
        return piece


@pytest.mark.parametrize("fields", [{"CONTENT_LENGTH": "5"}, {"wsgi.input_terminated": True},
                                    {"CONTENT_LENGTH": "", "wsgi.input_terminated": True}])
def test_a_body_in_pieces(fields):
    environ = {"REQUEST_METHOD": "POST", "PATH_INFO": "/", "wsgi.input": Trickle(b"hello"), **fields}
    assert request_of(environ, 5).body == b"hello"


@pytest.mark.parametrize("length, status", [
    ("three", 400), ("-3", 400), ("+3", 400), ("\u0663", 400), (" 3", 400), ("0x3", 400), ("6", 413),
    ("9" * 5000, 413)])
def test_a_length_that_is_none_or_too_large(length, status):
    stream = Trickle(b"hello")
    with pytest.raises(Refused) as caught:
        request_of({"REQUEST_METHOD": "POST", "wsgi.input": stream, "CONTENT_LENGTH": length}, 5)
    assert caught.value.status == status and not stream.largest  # it is not even read


@pytest.mark.parametrize("fields, error, status", [
    ({"CONTENT_LENGTH": "6"}, None, 400), ({"CONTENT_LENGTH": "6"}, ConnectionResetError(), 400),
    ({"wsgi.input_terminated": True}, OSError("no chunk"), 400)])
def test_a_body_that_is_cut_off(fields, error, status):
    environ = {"REQUEST_METHOD": "POST", "PATH_INFO": "/", "wsgi.input": Trickle(b"hello", error), **fields}
    with pytest.raises(Refused) as caught:
        request_of(environ, 100)
    assert caught.value.status == status


def test_a_length_costs_nothing_before_the_body_comes():
    stream = Trickle(b"")
    with pytest.raises(Refused):
        request_of({"REQUEST_METHOD": "POST", "wsgi.input": stream, "CONTENT_LENGTH": str(50 << 20)}, 60 << 20)
    assert stream.largest <= 1 << 20


@pytest.mark.parametrize("method", ["GET", "DELETE", "OPTIONS", "HEAD"])
def test_the_body_of_anything_but_a_post_is_not_read(method):
    environ = {"REQUEST_METHOD": method, "wsgi.input": None, "CONTENT_LENGTH": "9", "wsgi.input_terminated": True}
    assert request_of(environ, 5).body == b""


# -- Streams -----------------------------------------------------------------------------------


def test_a_stream_where_something_comes_first():
    with Gate() as gate:
        def handler(ctx):
            ctx.log("info", "on the way")
            gate.hold()
            return "done"

        with Site({"tells": handler}) as site:
            answer = site.post(request(1, "tools/call", work_params("tells")))
            assert answer.status == 200 and answer.headers["Content-Type"] == "text/event-stream"
            assert "Content-Length" not in answer.headers
            assert answer.next()["method"] == "notifications/message"  # while the handler waits
            gate.entered()
            gate.open()
            assert said(answer.next()) == "done" and answer.rest() == b""


def test_get_streams_where_they_are_wanted():
    with Site(streams=True) as site:
        stream = site.send("GET", **EVENTS)
        assert stream.status == 200
        session, = site.endpoint.sessions.all()
        session.connection.notify("notifications/message", {"level": "info", "data": "one"})
        assert stream.next()["params"]["data"] == "one"
        stream.close()  # as a server does that cannot write any more
        assert not session.busy
        session.connection.notify("notifications/message", {"level": "info", "data": "two"})
        assert site.send("GET", **EVENTS).next()["params"]["data"] == "two"


def test_no_header_goes_out_that_is_the_servers_business():
    class Chatty:
        json_response, limits, sessions = True, Limits(), None

        def handle(self, exchange):
            hops = [("Connection", "close"), ("Transfer-Encoding", "chunked"), ("TE", "x")]
            exchange.reply(299, [*hops, ("X-Mine", "1")])

        def tick(self):
            pass

        def close(self, grace):
            pass

    with Site(revision=None, endpoint=Chatty()) as site:
        answer = site.send("GET")
        assert answer.started == [("299 Unknown", [("X-Mine", "1"), ("Content-Type", "text/plain; charset=utf-8"),
                                                   ("Content-Length", "0")])]


# -- Servers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("sessions, processes, threads, advice", [
    ("memory", True, True, "sessions='none'"), ("memory", True, False, "sessions='none'"),
    ("memory", False, False, "give the WSGI server threads"), ("memory", False, True, None),
    ("none", True, False, None)])
def test_advice_where_sessions_cannot_work(caplog, sessions, processes, threads, advice):
    with Site(revision=None, sessions=sessions) as site, records(caplog) as logged:
        for _ in range(3):
            site.post(PING, wsgi__multiprocess=processes, wsgi__multithread=threads).rest()
        texts = [record.getMessage() for record in logged if record.name == "mcp_ref.streamable.server.wsgi"]
        assert len(texts) == (advice is not None) and all(advice in text for text in texts)


class QuietHandler(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *arguments):
        pass


def test_served_by_the_standard_library(monkeypatch):
    """One request at a time, over sockets."""
    with Site(revision=None) as site:
        server = wsgiref.simple_server.make_server("127.0.0.1", 0, site.app, handler_class=QuietHandler)
        serving = in_thread(server.serve_forever, 0.01)
        url = "http://127.0.0.1:%d/mcp" % server.server_port
        fields = {"Accept": BOTH, "Content-Type": "application/json"}

        def send(body, method="POST"):
            data = None if body is None else json.dumps(body).encode()
            made = urllib.request.Request(url, data, fields, method=method)
            try:
                with urllib.request.urlopen(made, timeout=PATIENCE) as reply:
                    return reply.status, reply.headers, reply.read()
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, error.headers, error.read()

        try:
            status, headers, body = send(opening("2025-11-25"))
            assert status == 200 and json.loads(body)["result"]["protocolVersion"] == "2025-11-25"
            fields["Mcp-Session-Id"] = headers["Mcp-Session-Id"]
            assert send({"jsonrpc": "2.0", "method": "notifications/initialized"})[::2] == (202, b"")
            assert said(json.loads(send(request(1, "tools/call", work_params("quick")))[2])) == "done"
            assert [send(None, method)[0] for method in ("GET", "HEAD", "PUT", "DELETE")] == [405, 405, 405, 204]
            assert send(PING)[0] == 404
        finally:
            server.shutdown()
            server.server_close()
            serving.get()


def test_idle_sessions_end_with_the_next_request(monkeypatch):
    with Site() as site:
        by_hand(monkeypatch, deadline.clock() + site.endpoint.limits.session_idle + 1)
        assert site.post(PING).status == 404
        eventually(lambda: len(site.endpoint.sessions) == 0)


def test_nothing_is_started_before_the_first_request():
    before = set(threading.enumerate())
    app = Application(Endpoint(working_server(QUICK).connect))
    assert set(threading.enumerate()) <= before
    app.close()


# -- Engines that cannot take an answer while a handler waits for it ----------------------------


@pytest.mark.parametrize("threads, processes, stored, refused, warned", [
    (True, False, False, False, ""), (True, False, True, False, ""), (True, True, True, False, ""),
    (False, True, True, False, ""), (True, True, False, False, "several processes"),
    (False, True, False, True, "several processes"), (False, False, False, True, "one thread"),
    (False, False, True, True, "one thread"),
])
def test_where_nobody_could_take_the_answer_a_client_cannot_be_asked(
        threads, processes, stored, refused, warned, tmp_path, caplog):
    server = working_server({"ask": lambda ctx: ctx.connection.session.check_askable("sampling") or "may be asked"})
    sessions = SqliteStore(tmp_path / "sessions.db") if stored else "memory"
    engine = {"wsgi__multithread": threads, "wsgi__multiprocess": processes}
    with Site(revision=None, endpoint=Endpoint(server.connect, streams=False, sessions=sessions)) as site:
        opened = site.post(opening("2025-06-18", capabilities={"sampling": {}}), **engine)
        opened.rest()
        site.fields["HTTP_MCP_SESSION_ID"] = opened.headers["Mcp-Session-Id"]
        site.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, **engine).rest()
        answer = site.post(request(1, "tools/call", work_params("ask")), **engine)
        text = said(json.loads(answer.rest()))
        assert text != "may be asked" if refused else text == "may be asked"
        assert not refused or "SqliteStore" in text
    assert warned in caplog.text and bool(warned) == bool(caplog.text)
