"""HTTP+SSE beside the rules of the page: refusals, whose session it is, and how sessions and handlers end."""
import json
import threading
import urllib.request

import pytest

from mcp_ref.errors import AuthError
from mcp_ref.limits import Limits
from tests.support.clocks import by_hand
from tests.support.http_exchange import opening, request
from tests.support.http_modern import STATELESS, enveloped
from tests.support.legacy_web import LegacyWeb
from tests.support.scripted import PATIENCE
from tests.support.sides import eventually, said, work_params, working_server
from tests.transports.http_raw import serving

PING = request(1, "ping")


def web(handlers=None, revision="2024-11-05", limits=None, strict=False, **options):
    given = {"limits": limits} if limits else {}
    made = working_server(handlers or {"quick": lambda ctx: "done"}, strict=strict, **given)
    return LegacyWeb(made, revision, limits=made.limits, strict=strict, **options)


def test_a_server_without_handshakes_has_no_such_endpoint():
    with pytest.raises(ValueError, match="serves sessions, and none of the revisions 2026-07-28 has them"):
        web(revision=None, revisions=[STATELESS])


# -- Refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("method, target, headers, status, allow", [
    ("POST", "/sse", {}, 405, "GET, OPTIONS"), ("HEAD", "/sse", {}, 405, "GET, OPTIONS"),
    ("DELETE", "/sse", {}, 405, "GET, OPTIONS"), ("GET", "/messages", {}, 405, "POST, OPTIONS"),
    ("GET", "/sse", {"Accept": "application/json"}, 406, None),
    ("POST", "/messages", {}, 400, None), ("POST", "/messages?session=1", {}, 400, None),
    ("POST", "/messages?sessionId=unknown", {}, 404, None), ("POST", "/messages?sessionId=", {}, 400, None),
    ("POST", "/messages?sessionId=unknown", {"Content-Type": "text/plain"}, 415, None),
    ("GET", "/elsewhere", {}, 404, None), ("GET", "/", {}, 404, None),
])
def test_each_refusal_is_a_json_rpc_error_without_id(method, target, headers, status, allow, strict):
    with web(revision=None, strict=strict) as client:
        before = set(threading.enumerate())
        refused = client.handle(client.made(method, target, PING, headers))
        assert refused.status == status and refused.calls == ["reply"]
        assert refused.code == -32600 and "id" not in refused.message
        assert refused.headers.get("Allow") == allow
        assert sum(client.endpoint.counters.snapshot().values()) == 1
        assert len(client.endpoint.sessions) == 0 and set(threading.enumerate()) <= before


def test_nothing_is_parsed_for_an_address_that_names_no_session(monkeypatch):
    with web(revision=None) as client:
        monkeypatch.setattr("mcp_ref.streamable.server.post.parse", lambda *given: pytest.fail("parsed"))
        for target, status in (("/messages", 400), ("/messages?sessionId=unknown", 404)):
            assert client.handle(client.made("POST", target, PING, {})).status == status


@pytest.mark.parametrize("body, code, id", [
    (b"{", -32700, None), (b"\xff", -32700, None), (b'{"jsonrpc":"2.0","id":7}', -32600, 7), (b"[]", -32600, None),
    (b'{"jsonrpc":"1.0","id":8,"method":"ping"}', -32600, 8), (b"", -32700, None),
])
def test_what_is_no_message_is_refused_in_the_reply_and_not_on_the_stream(body, code, id):
    with web() as client:
        refused = client.post(body)
        assert refused.status == 400 and refused.code == code and refused.message.get("id") == id
        client.lives()


def test_a_body_over_the_limit():
    with web(limits=Limits(max_message_bytes=300)) as client:
        assert client.post(b"[" + b" " * 300).status == 413
        client.lives()


@pytest.mark.parametrize("accept", [None, "text/html", "application/json", "text/event-stream"])
@pytest.mark.parametrize("strict", [False, True])
def test_what_a_post_accepts_does_not_matter_for_there_is_nothing_in_its_reply(strict, accept):
    with web(strict=strict) as client:
        assert client.post(PING, {"Accept": accept}).status == 202


def test_the_same_address_twice_in_one_is_none():
    with web() as client:
        assert client.post(PING, address=client.address + "&sessionId=x").status == 404
        assert client.post(PING, address=client.address + "&more=x").status == 202


def test_browsers_may_ask_first():
    origin = {"Origin": "http://localhost:3000"}
    asking = dict(origin, **{"Access-Control-Request-Headers": "content-type, authorization, x-other"})
    with web() as client:
        for target, method in (("/sse", "GET"), ("/messages", "POST")):
            allowed = client.handle(client.made("OPTIONS", target, None, asking))
            assert allowed.status == 204
            assert allowed.headers.get("Access-Control-Allow-Methods") == "%s, OPTIONS" % method
            assert allowed.headers.get("Access-Control-Allow-Headers") == "content-type, authorization"
        for answer in (client.open(origin), client.post(PING, origin)):
            assert answer.headers.get("Access-Control-Allow-Origin") == origin["Origin"]


# -- Whose session it is -----------------------------------------------------------------------


def test_a_session_belongs_to_its_principal():
    def authenticate(headers):
        if headers.get("Authorization") == "expired":
            raise AuthError("the token has expired")
        return headers.get("Authorization")

    with web(headers={"Authorization": "ada"}, authenticate=authenticate) as client:
        statuses = [client.post(PING, {"Authorization": who}).status for who in ("ada", "bob", None, "expired")]
        assert statuses == [202, 404, 401, 401]
        assert client.next()["id"] == 1
        nobody = client.open({"Authorization": None})
        assert nobody.status == 401 and nobody.headers.get("WWW-Authenticate") == "Bearer"
        assert len(client.endpoint.sessions) == 1


def test_handlers_know_who_sends_by_whichever_rules():
    handlers = {"who": lambda ctx: ctx.principal}
    with web(handlers, headers={"Authorization": "ada"}, authenticate=lambda headers: "ada") as client:
        assert said(client.ask(1, "tools/call", work_params("who"))) == "ada"
        assert said(client.ask(2, "tools/call", enveloped(work_params("who")))) == "ada"


def test_sessions_hear_nothing_of_each_other():
    with web() as client:
        other = client.open()
        address = client.address_of(other)
        assert client.post(opening("2025-06-18"), address=address).status == 202
        assert client.next(other)["result"]["protocolVersion"] == "2025-06-18"
        client.lives()
        assert len(other.events) == 2
        assert client.post(request(5, "ping"), address=address).status == 202
        assert client.next(other)["id"] == 5
        client.lives()


# -- Ends --------------------------------------------------------------------------------------


def test_the_session_ends_with_its_stream_and_handlers_with_the_session():
    """Unlike in Streamable HTTP, where a connection that is lost cancels nothing: here it is all there is."""
    begun, outcome = threading.Event(), []

    def waits(ctx):
        begun.set()
        outcome.append(ctx.cancelled.wait(PATIENCE))
        return "nobody hears"

    with web({"waits": waits}) as client:
        client.later(request(1, "tools/call", work_params("waits")))
        assert begun.wait(PATIENCE)
        connection = client.session.connection
        client.stream.leave()
        assert connection.wait_closed(PATIENCE) and outcome == [True]
        assert client.post(PING).status == 404
        assert client.endpoint.counters.snapshot()["sessions ended"] == 1


def test_a_client_that_reads_too_slowly_is_let_go():
    with web() as client:
        connection = client.session.connection
        client.stream.lose_next = True
        assert client.post(PING).status == 202
        assert connection.wait_closed(PATIENCE) and len(client.endpoint.sessions) == 0


def test_there_is_a_cap():
    with web(limits=Limits(max_sessions=1)) as client:
        refused = client.open()
        assert refused.status == 503 and "max_sessions (1)" in refused.message["error"]["message"]
        client.stream.leave()
        streams = [client.open() for _ in range(2)]
        assert [stream.status for stream in streams] == [200, 200] and streams[0].finished, "it said nothing"


def test_who_opens_a_stream_and_says_nothing_is_idle(monkeypatch):
    clock = by_hand(monkeypatch)
    with web(limits=Limits(session_idle=100, stream_keepalive=15)) as client:
        silent = client.open()
        for _ in range(7):
            clock.now += 15
            client.endpoint.tick()
        assert silent.finished and not client.stream.finished
        assert client.stream.comments >= 6  # so that nobody takes it for dead
        client.lives()


@pytest.mark.time_limit(20)
def test_shutting_down_takes_answers_and_nothing_new():
    def asks(ctx):
        return said(ctx.call("sampling/createMessage", {"messages": [], "maxTokens": 1}))

    result = {"role": "assistant", "model": "none", "content": {"type": "text", "text": "sampled"}}
    with web({"asks": asks}) as client:
        client.later(request(1, "tools/call", work_params("asks")))
        asked = client.next()
        closing = threading.Thread(target=client.endpoint.close, args=(PATIENCE,))
        closing.start()
        eventually(lambda: client.endpoint._streams.closing)
        refused = [client.open(), client.post(request(2, "ping"))]
        assert [answer.status for answer in refused] == [503, 503]
        assert refused[1].message["id"] == 2 and refused[1].headers.get("Retry-After")
        assert client.post({"jsonrpc": "2.0", "id": asked["id"], "result": result}).status == 202
        assert said(client.next()) == "sampled"
        closing.join(PATIENCE)
        assert client.stream.done().status == 200


def test_a_connection_that_cannot_be_made_leaves_no_session():
    with web(revision=None) as client:
        client.endpoint._streams.connect = lambda transport: 1 / 0
        with pytest.raises(ZeroDivisionError):
            client.open()
        assert len(client.endpoint.sessions) == 0


# -- Over sockets ------------------------------------------------------------------------------


def test_over_the_engine():
    with web(revision=None) as client, serving(client.endpoint.handle) as server:
        with urllib.request.urlopen(server.url + "/sse", timeout=PATIENCE) as stream:
            assert stream.headers["Content-Type"] == "text/event-stream"
            lines = [stream.readline() for _ in range(3)]
            address = lines[1].decode().partition("data: ")[2].strip()
            assert lines[0] == b"event: endpoint\n" and lines[2] == b"\n"
            message = urllib.request.Request(
                server.url + address, json.dumps(opening("2024-11-05")).encode(), {"Content-Type": "application/json"})
            with urllib.request.urlopen(message, timeout=PATIENCE) as taken:
                assert (taken.status, taken.read()) == (202, b"")
            assert stream.readline() == b"event: message\n"
            answer = json.loads(stream.readline().partition(b"data: ")[2])
            assert answer["result"]["protocolVersion"] == "2024-11-05"
            session, = client.endpoint.sessions.all()
        assert session.connection.wait_closed(PATIENCE)  # the client went away
