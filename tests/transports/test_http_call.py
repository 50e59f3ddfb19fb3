"""An endpoint called as a function: replies whole and in pieces, clients that go away, time, and threads."""
import contextlib
import contextvars
import json
import threading

import pytest

from mcp_ref import deadline
from mcp_ref.errors import ConnectionLost, RequestTimeout
from mcp_ref.http11.message import HttpRequest
from mcp_ref.limits import Limits
from mcp_ref.streamable.server import wsgi as call_module
from mcp_ref.streamable.server.endpoint import Endpoint
from mcp_ref.streamable.server.wsgi import Caller
from tests.support.clocks import by_hand
from tests.support.http_exchange import BOTH, opening, request
from tests.support.requirements_table import HANDSHAKE
from tests.support.scripted import PATIENCE
from tests.support.sides import Gate, eventually, in_thread, said, work_params, working_server
from tests.transports.http_raw import records

SAMPLE = {"messages": [{"role": "user", "content": {"type": "text", "text": "?"}}], "maxTokens": 1}
SAMPLED = {"role": "assistant", "model": "none", "content": {"type": "text", "text": "sampled"}}


class Called:
    """A caller of an endpoint with a session there; a context manager."""

    def __init__(self, handlers=None, revision="2025-06-18", limits=None, **options):
        server = working_server(handlers or {"quick": lambda ctx: "done"}, **({"limits": limits} if limits else {}))
        self.endpoint = Endpoint(server.connect, limits=server.limits, **options)
        self.caller = Caller(self.endpoint)
        self.headers = {"Host": "localhost", "Accept": BOTH, "Content-Type": "application/json"}
        if revision is not None:
            opened = self.post(opening(revision, capabilities={"sampling": {}}))
            self.headers["Mcp-Session-Id"] = dict(opened.headers)["Mcp-Session-Id"]
            assert self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202

    def post(self, body, timeout=PATIENCE):
        return self.caller.call("POST", "/mcp", self.headers, json.dumps(body).encode(), timeout)

    def get(self):
        return self.caller.call("GET", "/mcp", self.headers, timeout=PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.caller.close()


def message(answer):
    body = b"".join(answer.chunks)
    assert dict(answer.headers)["Content-Length"] == str(len(body))
    return json.loads(body)


def next_event(answer):
    """The message in the next piece."""
    return json.loads(next(answer.chunks).split(b"data: ")[-1])


# -- Replies -----------------------------------------------------------------------------------


@pytest.mark.parametrize("json_response", [None, True, False])
@pytest.mark.parametrize("revision", HANDSHAKE)
def test_json_where_nothing_comes_before_the_result(revision, json_response):
    with Called(revision=revision, json_response=json_response) as called:
        answer = called.post(request(1, "tools/call", work_params("quick")))
        assert answer.status == 200
        if json_response is False:
            assert dict(answer.headers)["Content-Type"] == "text/event-stream"
            while b"done" not in next(answer.chunks):
                pass
            assert list(answer.chunks) == []
        else:
            assert dict(answer.headers)["Content-Type"] == "application/json"
            assert said(message(answer)) == "done"


def test_headers_may_be_pairs_and_the_path_may_have_a_query():
    with Called(revision=None) as called:
        pairs = [*called.headers.items(), ("Accept", "text/event-stream")]
        answer = called.caller.call("POST", "/mcp?x=1", pairs, json.dumps(opening("2025-06-18")).encode())
        assert answer.status == 200 and message(answer)["id"] == "init"


def test_a_reply_without_a_body():
    with Called() as called:
        told = called.post({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
        ended = called.caller.call("DELETE", "/mcp", called.headers)
        assert (told.status, list(told.chunks), dict(told.headers)) == (202, [], {"Content-Length": "0"})
        assert (ended.status, list(ended.chunks), dict(ended.headers)) == (204, [], {})


def test_what_comes_first_comes_at_once_and_the_client_can_be_asked():
    def asks(ctx):
        ctx.log("info", "on the way")
        return said(ctx.call("sampling/createMessage", SAMPLE))

    with Called({"asks": asks}) as called:
        answer = called.post(request(1, "tools/call", work_params("asks")))
        assert dict(answer.headers)["Content-Type"] == "text/event-stream"
        events = []
        while not events or "id" not in events[-1]:
            events += [json.loads(event.split(b"data: ")[1]) for event in next(answer.chunks).split(b"\n\n")[:-1]]
        assert [event["method"] for event in events] == ["notifications/message", "sampling/createMessage"]
        assert called.post({"jsonrpc": "2.0", "id": events[1]["id"], "result": SAMPLED}).status == 202
        assert said(next_event(answer)) == "sampled"
        assert list(answer.chunks) == []


def test_head_gets_the_length_of_a_body_and_no_body():
    with Called() as called:
        refused = called.caller.call("HEAD", "/mcp", called.headers)
        assert refused.status == 405 and list(refused.chunks) == []
        assert int(dict(refused.headers)["Content-Length"]) > 0


# -- Ends --------------------------------------------------------------------------------------


def test_a_client_that_goes_away_cancels_nothing():
    """[2025-03-26..2025-11-25 basic/transports §Sending Messages to the Server] SHOULD NOT"""
    with Gate() as gate:
        def handler(ctx):
            ctx.log("info", "on the way")
            gate.hold()
            return "cancelled" if ctx.cancelled.is_set() else "went on"

        with Called({"waits": handler}) as called:
            answer = called.post(request(1, "tools/call", work_params("waits")))
            name = next(answer.chunks).split(b"id: ")[1].split(b"\n")[0].decode()
            answer.chunks.close()
            answer.chunks.close()
            gate.entered()
            gate.open()
            called.headers["Last-Event-ID"] = name
            resumed = called.get()
            assert said(next_event(resumed)) == "went on" and list(resumed.chunks) == []


def test_a_stream_that_nobody_reads_is_let_go():
    lost = threading.Event()
    with Called(limits=Limits(max_stream_bytes=1000)) as called:
        endpoint_handles = called.endpoint.handle

        def handle(exchange):
            endpoint_handles(exchange)
            before = exchange.on_close
            exchange.on_close = lambda: (before(), lost.set())

        called.endpoint.handle = handle
        stream = called.get()
        session, = called.endpoint.sessions.all()
        sent = 0
        while session.busy and sent < 10:
            session.connection.notify("notifications/message", {"level": "info", "data": "x" * 300})
            sent += 1
        assert 2 < sent < 10  # the last one waits for another stream
        assert list(stream.chunks) == [] and lost.wait(PATIENCE)
        kept = called.get()
        assert b"x" * 300 in next(kept.chunks)
        kept.chunks.close()


def test_no_reply_in_time():
    with Gate() as gate, Called({"waits": gate.hold}) as called:
        with pytest.raises(RequestTimeout, match="POST /mcp within 0.05 seconds"):
            called.post(request(1, "tools/call", work_params("waits")), timeout=0.05)
        gate.open()
        assert message(called.post(request(2, "ping")))["result"] == {}


def test_who_sends_a_reply_too_late_is_told():
    told = []

    def handle(exchange):
        exchange.on_close = lambda: told.append(exchange)

    with scripted(handle) as caller:
        while not told:  # on a busy machine the time may be over before the handler has begun
            with pytest.raises(RequestTimeout):
                caller.call("GET", "/", timeout=0.01)
        exchange, = told
        exchange.start(200)
        assert not exchange.send(b"too late")


class Scripted:
    """What a caller needs of an endpoint."""

    json_response = None
    limits = Limits()

    def __init__(self, handle, tick=lambda: None):
        self.handle, self.tick = handle, tick

    def close(self, grace):
        pass


@contextlib.contextmanager
def scripted(handle, **options):
    caller = Caller(Scripted(handle, **options))
    try:
        yield caller
    finally:
        caller.close()


def test_a_handler_that_fails_is_500_or_breaks_the_stream_off(caplog):
    def handle(exchange):
        if exchange.request.path == "/late":
            exchange.start(200)
            exchange.send(b"half")
        raise SystemExit if exchange.request.path == "/exit" else ZeroDivisionError

    with scripted(handle) as caller, records(caplog) as logged:
        answers = [caller.call("GET", path) for path in ("/at-once", "/exit")]
        assert [(answer.status, list(answer.chunks)) for answer in answers] == [(500, []), (500, [])]
        late = caller.call("GET", "/late")
        assert late.status == 200
        with pytest.raises(ConnectionLost, match="in the middle"):
            assert b"".join(late.chunks) != b"half"
        assert "the handler of GET /at-once failed" in [record.getMessage() for record in logged]


@pytest.mark.parametrize("what", ["initialize", "tools/list"])
def test_a_request_that_comes_when_it_is_closed_is_refused(what):
    with Called() as called:
        called.caller.close()
        params = opening("2025-06-18")["params"] if what == "initialize" else {}
        headers = called.headers if what != "initialize" else {
            name: value for name, value in called.headers.items() if name != "Mcp-Session-Id"}
        body = {"jsonrpc": "2.0", "id": 7, "method": what, "params": params}
        answer = called.caller.call("POST", "/mcp", headers, json.dumps(body).encode(), PATIENCE)
        assert answer.status in (404, 503) and message(answer)["error"]["message"]


@pytest.mark.parametrize("headers", [[("X", "a\r\nSet-Cookie: b")], [("X\n", "a")], [("X", "\0")]])
def test_a_header_with_a_line_end_is_not_sent(headers):
    with scripted(lambda exchange: exchange.reply(200, headers)) as caller:
        answer = caller.call("GET", "/")
        assert answer.status == 500 and answer.headers == [("Content-Length", "0")]


def test_there_is_one_reply():
    failed = []

    def handle(exchange):
        exchange.start(200)
        for second in (exchange.reply, exchange.start):
            with pytest.raises(RuntimeError):
                second(200)
            failed.append(second)
        assert exchange.send(b"a")
        exchange.finish(b"b")
        exchange.finish(b"c")
        assert not exchange.send(b"d")

    with scripted(handle) as caller:
        answer = caller.call("GET", "/")
        assert b"".join(answer.chunks) == b"ab" and len(failed) == 2


def test_who_leaves_is_told_of_once_and_not_where_all_of_the_reply_was_there():
    made, told = {}, []

    def handle(exchange):
        made[exchange.request.path] = exchange
        exchange.on_close = lambda: told.append(exchange.request.path)
        exchange.start(200)
        exchange.send(b"a")
        if exchange.request.path == "/whole":
            exchange.finish(b"b")

    with scripted(handle) as caller:
        for path in ("/whole", "/half"):
            answer = caller.call("GET", path)
            eventually(lambda: made[path]._waiting == (2 if path == "/whole" else 1))
            answer.chunks.close()
            answer.chunks.close()
            made[path].abandon()
            assert made[path].gone and not made[path]._pieces, "nobody takes it, so nothing is kept"
        assert told == ["/half"]
        assert not made["/half"].send(b"c") and not made["/half"]._pieces


def test_an_on_close_that_fails_is_logged(caplog):
    def handle(exchange):
        exchange.on_close = lambda: 1 / 0
        exchange.start(200)

    with scripted(handle) as caller, records(caplog) as logged:
        caller.call("GET", "/x").chunks.close()
        assert [record.getMessage() for record in logged] == ["on_close of GET /x failed"]


# -- Threads and time --------------------------------------------------------------------------


@pytest.mark.parametrize("json_response, same", [(True, True), (None, False)])
def test_where_handlers_run_and_what_they_know(json_response, same):
    known = contextvars.ContextVar("known", default="nothing")
    seen = []
    handlers = {"looks": lambda ctx: seen.append((threading.get_ident(), known.get()))}
    with Called(handlers, json_response=json_response) as called:
        known.set("the caller's")
        assert called.post(request(1, "tools/call", work_params("looks"))).status == 200
        (thread, value), = seen
        assert (thread == threading.get_ident()) is same and value == "the caller's"


def test_a_clock_of_whoever_calls_or_waits(monkeypatch):
    clock, ticks = by_hand(monkeypatch), []
    with scripted(lambda exchange: exchange.reply(202), tick=lambda: ticks.append(clock.now)) as caller:
        for step in (0, 0.5, 0.5, 0.5, 0.5, 5, 0):
            clock.now += step
            assert caller.call("GET", "/").status == 202
        assert [tick - clock.now for tick in ticks] == [-6, -5, 0]  # at most once a second


def test_a_clock_that_fails_harms_nobody(monkeypatch, caplog):
    with scripted(lambda exchange: exchange.reply(202), tick=lambda: 1 / 0) as caller, records(caplog) as logged:
        by_hand(monkeypatch, deadline.clock() + 2)
        assert caller.call("GET", "/").status == 202
        assert [record.getMessage() for record in logged] == [
            "keeping sessions raised ZeroDivisionError: division by zero"]


def test_idle_sessions_end_when_somebody_asks(monkeypatch):
    with Called() as called:
        by_hand(monkeypatch, deadline.clock() + called.caller.limits.session_idle + 1)
        assert len(called.endpoint.sessions) == 1
        assert called.post(request(1, "ping")).status == 404 and len(called.endpoint.sessions) == 0


def test_a_stream_that_is_read_is_kept_alive_by_its_reader(monkeypatch):
    monkeypatch.setattr(call_module, "_TICK", 0.05)
    with Called(limits=Limits(stream_keepalive=0.1)) as called:
        stream = called.get()
        assert next(stream.chunks) == b": keep-alive\n\n"
        stream.chunks.close()
        eventually(lambda: not called.endpoint.sessions.all()[0].busy)


@pytest.mark.race
def test_a_client_that_leaves_while_the_stream_ends_is_told_once_or_not_at_all():
    told = []

    def handle(exchange):
        exchange.on_close = lambda: told.append(exchange)
        exchange.start(200)
        ending.append(in_thread(exchange.finish))

    ending = []
    with scripted(handle) as caller:
        answer = caller.call("GET", "/")
        answer.chunks.close()
        eventually(lambda: ending)
        ending[0].get()
        answer.chunks.close()
        assert len(told) <= 1 and list(answer.chunks) == []


def test_the_request_comes_through_as_it_is():
    seen = []

    def handle(exchange):
        seen.append(exchange.request)
        exchange.reply(200)

    with scripted(handle) as caller:
        caller.call("PUT", "/a%20b?c=d?e", {"X-Y": "z"}, b"body")
        assert seen[0][:2] == ("PUT", "/a%20b") and (seen[0].query, seen[0].body) == ("c=d?e", b"body")
        assert seen[0].headers.get("x-y") == "z" and isinstance(seen[0], HttpRequest)
