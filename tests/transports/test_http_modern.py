"""The stateless era over sockets, and in WSGI: what the shells have to do with it."""
import io
import json
import threading
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import pytest

from mcp_ref.limits import Limits
from mcp_ref.server.serving.http_listener import HttpListener
from mcp_ref.streamable.server.reply_stream import ReplyStream
from tests.support.http_exchange import opening, request
from tests.support.http_modern import OUT, STATELESS, enveloped, made, mirror
from tests.support.scripted import PATIENCE
from tests.support.sides import Gate, eventually, in_thread, said, work_params, working_server
from tests.transports.http_raw import Raw, post, replies

BOTH = ("Accept: application/json, text/event-stream", "Content-Type: application/json")
LISTEN = {"notifications": {"toolsListChanged": True}}


class Handlers:
    """A handler that waits until it is cancelled, or for the gate."""

    def __init__(self):
        self.gate = Gate()
        self.cancelled = threading.Event()

    def stay(self, ctx):
        if "progressToken" in ctx.meta:
            ctx.progress(1)
        ctx.incoming.watch(self.cancelled.set)
        self.gate.hold()
        return "done"

    def listener(self, **options):
        limits = Limits(shutdown_grace=0.1)
        server = working_server({"stay": self.stay, "quick": lambda ctx: "done"}, limits=limits)
        return HttpListener(server, "http://127.0.0.1:0/mcp", **options)


def sent(message, *more, **headers):
    """The bytes of a POST of the stateless era."""
    fields = dict(mirror(message), **headers) if "method" in message else headers
    lines = ["%s: %s" % pair for pair in fields.items() if pair[1] is not OUT]
    return post(json.dumps(message).encode(), "/mcp", *BOTH, *lines, *more)


def called(do, id=1, **meta):
    return request(id, "tools/call", enveloped(work_params(do), **meta))


# --- Sockets ----------------------------------------------------------------------------------------------------------

@pytest.mark.spec("http.header-case-insensitive")
@pytest.mark.parametrize("change", [str.lower, str.upper, str.swapcase])
def test_the_bytes_of_a_request_name_their_fields_in_any_case(change):
    """[2026-07-28 basic/transports/streamable-http §Case Sensitivity] MUST: by a server, and not in a parser alone."""
    head, mark, body = sent(called("quick"), "Connection: close").partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    fields = [line.partition(":") for line in lines]
    assert {"MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Content-Length"} <= {name for name, _, _ in fields}
    for chosen in ({name for name, _, _ in fields}, {"Mcp-Method"}, {"MCP-Protocol-Version"}, {"Accept", "Mcp-Name"}):
        changed = [(change(name) if name in chosen else name) + ":" + value for name, _, value in fields]
        with Handlers().listener() as listener, Raw(listener.http.address) as raw:
            raw.send("\r\n".join([first, *changed]).encode() + mark + body)
            (reply,) = replies(raw.rest())
            assert reply.status == 200 and said(json.loads(reply.body)) == "done"


@pytest.mark.race
@pytest.mark.spec("cancel.http-disconnect-cancels")
@pytest.mark.parametrize("way", ["reset", "end", "close"])
@pytest.mark.parametrize("meta", [{}, {"progressToken": 1}], ids=["JSON", "stream"])
def test_a_client_that_ends_its_connection_cancels_its_request(meta, way):
    """[2026-07-28 basic/patterns/cancellation §Transport-Specific Cancellation] MUST"""
    handlers = Handlers()
    with handlers.gate, handlers.listener() as listener:
        with Raw(listener.http.address) as raw:
            raw.send(sent(called("stay", **meta)))
            handlers.gate.entered()
            assert not handlers.cancelled.is_set()
            {"reset": raw.reset, "end": raw.end, "close": raw.sock.close}[way]()
            assert handlers.cancelled.wait(PATIENCE)
        handlers.gate.open()
        eventually(lambda: listener.http.connections == 0)
        with Raw(listener.http.address) as raw:
            raw.send(sent(called("quick"), "Connection: close"))
            (reply,) = replies(raw.rest())
            assert reply.status == 200 and said(json.loads(reply.body)) == "done"


@pytest.mark.spec("cancel.no-further-messages")
def test_nothing_is_sent_to_who_has_gone_away():
    """[2026-07-28 basic/transports/streamable-http §Cancellation] MUST NOT"""
    for begun in (False, True):
        gone = made(called("quick"))
        reply = ReplyStream(gone, (), True, True)
        if begun:
            assert reply.send(b"{}")
        before = list(gone.calls)
        reply.lost(gone)
        assert reply.send(b"{}") is False
        reply.keep_alive(1e9, 0)
        reply.answer(b"{}")
        reply.cut(503, b"{}")
        assert gone.calls == before


def test_a_client_that_has_left_at_once_cancels_its_request():
    """[2026-07-28 basic/patterns/cancellation §Transport-Specific Cancellation] MUST"""
    handlers = Handlers()
    with handlers.gate, handlers.listener() as listener:
        with Raw(listener.http.address) as raw:
            raw.send(sent(called("stay")))
            raw.end()
            eventually(lambda: handlers.cancelled.is_set() or listener.http.connections == 0)
            assert not handlers.gate.passed() or handlers.cancelled.wait(PATIENCE)  # it may never have begun
        handlers.gate.open()


def test_in_a_session_a_connection_that_breaks_cancels_nothing():
    """[2025-03-26..2025-11-25 basic/transports §Sending Messages to the Server] SHOULD NOT"""
    handlers = Handlers()
    with handlers.gate, handlers.listener() as listener:
        with Raw(listener.http.address) as raw:
            raw.send(post(json.dumps(opening("2025-11-25")).encode(), "/mcp", *BOTH))
            head = raw.until(b"}}}").decode().lower().split("\r\n")
            session = [line for line in head if line.startswith("mcp-session-id")][0].split(": ")[1]
            mine = "Mcp-Session-Id: " + listener.endpoint.sessions.all()[0].id
            assert session == mine.split(": ")[1].lower()
            raw.send(post(json.dumps(request(1, "tools/call", work_params("stay"))).encode(), "/mcp", *BOTH, mine))
            handlers.gate.entered()
            raw.end()
        with Raw(listener.http.address) as raw:
            raw.send(sent(called("quick"), "Connection: close"))
            assert replies(raw.rest())[0].status == 200
        assert not handlers.cancelled.is_set()
        handlers.gate.open()


@pytest.mark.parametrize("message, headers, status, code", [
    (request(1, "server/discover", enveloped()), {}, 200, None), (request(1, "ping", enveloped()), {}, 404, -32601),
    (request(1, "server/discover", {}), {}, 400, -32602),
    (request(1, "server/discover", enveloped()), {"Mcp-Method": "x"}, 400, -32020),
    (request(1, "server/discover", enveloped(version="v9")), {"MCP-Protocol-Version": "v9"}, 400, -32022),
    (called("quick"), {"Mcp-Name": "w\u00f6rk"}, 400, -32020), (called("quick"), {"Mcp-Name": " work\t"}, 200, None),
    (called("quick"), {"Mcp-Session-Id": "x", "Last-Event-ID": "y"}, 200, None),
])
def test_statuses_on_the_wire(message, headers, status, code):
    """[2026-07-28 basic/transports/streamable-http §Server Validation] MUST"""
    handlers = Handlers()
    with handlers.listener() as listener, Raw(listener.http.address) as raw:
        raw.send(sent(message, "Connection: close", **headers))
        (reply,) = replies(raw.rest())
        assert (reply.status, json.loads(reply.body).get("error", {}).get("code")) == (status, code)
        assert reply.headers["content-type"] == "application/json" and "mcp-session-id" not in reply.headers


def test_listening_streams_cost_no_thread_and_end_in_order_with_the_server():
    """[2026-07-28 basic/patterns/subscriptions §Graceful Closure] SHOULD"""
    handlers, raws = Handlers(), []
    try:
        with handlers.listener() as listener:
            before = threading.active_count()
            for number in range(50):
                raw = Raw(listener.http.address)
                raws.append(raw)
                raw.send(sent(request(number, "subscriptions/listen", enveloped(LISTEN))))
                raw.until(b"subscriptions/acknowledged")
            assert threading.active_count() <= before + 10  # some, where one is still busy when the next POST comes
            listener.server.remove_tool("work")
            for raw in raws:
                raw.until(b"tools/list_changed")
            raws[0].reset()
            raws[1].end()
            eventually(lambda: listener.http.connections == 48)
            closing = in_thread(listener.close)
            for number, raw in list(enumerate(raws))[2:]:
                rest = raw.rest()
                assert b'"id":%d,"result"' % number in rest and rest.endswith(b"0\r\n\r\n")
            closing.get()
    finally:
        for raw in raws:
            raw.sock.close()


def test_a_modern_server_has_no_older_addresses():
    """[2026-07-28 basic/transports/streamable-http §Earlier Streamable HTTP Revisions]"""
    with HttpListener(working_server({}, revisions=[STATELESS]), "http://127.0.0.1:0/mcp") as listener:
        assert listener.legacy is None
        for path, status in (("/mcp", 405), ("/sse", 404)):
            with Raw(listener.http.address) as raw:
                raw.send(("GET %s HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nConnection: close\r\n\r\n"
                          % path).encode())
                assert replies(raw.rest())[0].status == status


# --- WSGI, and any framework ------------------------------------------------------------------------------------------

class Site:
    """The application of a server inside the validator; a context manager."""

    def __init__(self, handlers, revisions=None, **options):
        self.server = working_server(handlers, revisions=revisions)
        self.application = self.server.wsgi(**options)
        self.app = validator(self.application)
        self.open = []

    def post(self, message, **headers):
        """Status, header fields, and the iterable of the body."""
        body = json.dumps(message).encode()
        environ = {"REQUEST_METHOD": "POST", "PATH_INFO": "/mcp", "SCRIPT_NAME": "", "QUERY_STRING": "",
                   "wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body)), "CONTENT_TYPE": "application/json",
                   "HTTP_HOST": "localhost", "HTTP_ACCEPT": "application/json, text/event-stream"}
        for name, value in dict(mirror(message), **headers).items():
            environ["HTTP_" + name.upper().replace("-", "_")] = value
        setup_testing_defaults(environ)
        started = []
        iterable = self.app(environ, lambda status, fields, exc_info=None: started.append((status, dict(fields))))
        self.open.append(iterable)
        return int(started[0][0][:3]), started[0][1], iterable

    def answer(self, message, **headers):
        """Status and message of a reply that is JSON."""
        status, fields, iterable = self.post(message, **headers)
        assert fields["Content-Type"] == "application/json"
        body = b"".join(iterable)
        iterable.close()
        return status, json.loads(body)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.application.close()
        for iterable in self.open:
            iterable.close()


@pytest.mark.parametrize("json_response", [None, True])
@pytest.mark.parametrize("revisions", [None, [STATELESS]])
def test_in_wsgi_requests_are_answered_as_everywhere(revisions, json_response):
    """[2026-07-28 basic/transports/streamable-http §Sending Messages]"""
    refused = ((request(1, "ping", enveloped()), {}, (404, -32601)),
               (called("quick"), {"Mcp-Name": "x"}, (400, -32020)),
               (request(1, "subscriptions/listen", enveloped(LISTEN)), {}, (404, -32601)))
    with Site({"quick": lambda ctx: "done"}, revisions, json_response=json_response) as site:
        status, answer = site.answer(called("quick"))
        assert status == 200 and said(answer) == "done"
        for message, headers, expected in refused:
            status, answer = site.answer(message, **headers)
            assert (status, answer["error"]["code"]) == expected


def test_in_wsgi_names_of_fields_have_lost_what_a_variable_cannot_have():
    """So ``a_b`` and ``a-b`` are one there."""
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "my_Region"}}}
    with Site({}) as site:
        site.server.tool(lambda **arguments: "ran", name="t", input_schema=schema)
        call = request(1, "tools/call", enveloped({"name": "t", "arguments": {"a": "eu"}}))
        assert site.answer(call, **{"Mcp-Param-my_Region": "eu"})[0] == 200
        assert site.answer(call, **{"Mcp-Param-my_Region": "us"})[0] == 400


@pytest.mark.race
@pytest.mark.spec("cancel.http-disconnect-cancels")
def test_in_wsgi_closing_the_stream_cancels_its_request():
    """[2026-07-28 basic/patterns/cancellation §Transport-Specific Cancellation] MUST"""
    handlers = Handlers()
    with handlers.gate, Site({"stay": handlers.stay}) as site:
        status, fields, iterable = site.post(called("stay", progressToken=1))
        assert status == 200 and fields["Content-Type"] == "text/event-stream" and fields["X-Accel-Buffering"] == "no"
        assert b"notifications/progress" in next(iter(iterable))
        handlers.gate.entered()
        assert not handlers.cancelled.is_set()
        iterable.close()
        assert handlers.cancelled.wait(PATIENCE)
        handlers.gate.open()


@pytest.mark.parametrize("json_response", [None, True])
def test_in_wsgi_listening_is_allowed_where_streams_are(json_response):
    """[2026-07-28 basic/patterns/subscriptions §Opening a Stream]"""
    with Site({}, streams=True, json_response=json_response) as site:
        _, fields, iterable = site.post(request("me", "subscriptions/listen", enveloped(LISTEN)))
        pieces = iter(iterable)
        assert fields["Content-Type"] == "text/event-stream" and b"acknowledged" in next(pieces)
        site.server.remove_tool("work")
        assert b"tools/list_changed" in next(pieces)
        iterable.close()
        eventually(lambda: len(site.server.listeners) == 0)


def test_any_framework_can_answer_such_requests():
    """See `Server.handle`."""
    server = working_server({"quick": lambda ctx: "done"})
    message = called("quick")
    headers = dict(mirror(message), Host="localhost", Accept="application/json, text/event-stream")
    headers["Content-Type"] = "application/json"
    try:
        answer = server.handle("POST", "/mcp", headers, json.dumps(message).encode())
        assert answer.status == 200 and said(json.loads(b"".join(answer.chunks))) == "done"
    finally:
        server.handler.close()
