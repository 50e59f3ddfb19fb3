"""The endpoint: refusals as they go out, browsers, principals, limits, shutting down, and POSTs that stand alone."""
import sys
import threading

import pytest

from mcp_ref.errors import AuthError
from mcp_ref.limits import Limits
from mcp_ref.server import Inline, MainThreadQueue, Server
from mcp_ref.streamable.server.endpoint import Endpoint
from tests.support.clocks import by_hand
from tests.support.http_exchange import Web, exchange, opening, request
from tests.support.patience import WAIT
from tests.support.requirements_table import HANDSHAKE
from tests.support.sides import Gate, eventually, in_thread, said, work_params, working_server

NOTE = {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}
PING = request(1, "ping")


def web(handlers=None, revision="2025-11-25", server=None, **options):
    limits = options.get("limits")
    made = server or working_server(handlers or {"quick": lambda ctx: "done"}, **({"limits": limits} if limits else {}))
    return Web(made, revision, **options)


# -- Refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method, headers, path, status", [
    ("POST", {"Host": "evil.example"}, "/mcp", 403), ("GET", {"Host": "evil.example:8000"}, "/mcp", 403),
    ("POST", {}, "/", 404), ("HEAD", {}, "/mcp", 405), ("PUT", {}, "/mcp", 405), ("PATCH", {}, "/mcp", 405),
    ("POST", {"Accept": "text/html"}, "/mcp", 406), ("GET", {"Accept": "application/json"}, "/mcp", 406),
    ("POST", {"Content-Type": "text/plain"}, "/mcp", 415), ("POST", {"Content-Type": None}, "/mcp", 415),
])
def test_each_refusal_is_a_json_rpc_error_without_id(method, headers, path, status):
    with web() as client:
        refused = client.handle(client.made(method, PING, headers, path=path))
        assert refused.status == status and refused.calls == ["reply"]
        assert refused.message["jsonrpc"] == "2.0" and "id" not in refused.message
        assert (refused.headers.get("Allow") == "GET, POST, DELETE, OPTIONS") == (status == 405)
        assert client.endpoint.counters.snapshot() == {"sessions begun": 1, "refused: " + {
            403: "host", 404: "path", 405: "method", 406: "stream accept" if method == "GET" else "accept",
            415: "media type"}[status]: 1}
        client.lives()


def test_a_body_over_the_limit():
    with web(limits=Limits(max_message_bytes=300)) as client:
        assert client.post(b"[" + b" " * 300).status == 413
        assert client.post(b'{"jsonrpc":"2.0","id":5,"method":"ping"}' + b" " * 260).message["id"] == 5


def test_nothing_is_kept_of_what_is_refused():
    bodies = [b"{", b"[]", request(1, "initialize", {}), request(1, "initialize", {"protocolVersion": 5}), PING, NOTE,
              [opening("2025-03-26")], dict(opening("2025-11-25"), method="tools/list")]
    with web(revision=None) as client:
        before = set(threading.enumerate())
        for body in bodies * 20:
            answer = client.post(body)
            assert "Mcp-Session-Id" not in answer.headers and answer.finished
            assert "error" in answer.message
        assert len(client.endpoint.sessions) == 0 and set(threading.enumerate()) <= before


def test_an_initialize_that_is_refused_opens_nothing():
    with web(revision=None) as client:
        refused = client.post(request("x", "initialize", {"protocolVersion": "2025-11-25"}))
        assert refused.status == 200 and refused.message["id"] == "x" and refused.code == -32602
        assert "Mcp-Session-Id" not in refused.headers and len(client.endpoint.sessions) == 0


def test_a_second_initialize_in_a_session():
    with web() as client:
        session = client.headers["Mcp-Session-Id"]
        answer = client.post(opening("2025-11-25", "again"))
        assert answer.code == -32600 and "Mcp-Session-Id" not in answer.headers
        assert client.headers["Mcp-Session-Id"] == session
        client.lives()


@pytest.mark.parametrize("kind", ["alone", "in a batch", "malformed", "used before"])
def test_ids_in_use(kind):
    with Gate() as gate, web({"slow": gate.hold, "quick": lambda ctx: "q"}, "2025-03-26") as client:
        first = client.begin(7, "tools/call", work_params("slow"))
        gate.entered()
        same = dict(PING, id=7)
        again = {"in a batch": [dict(PING, id=8), same], "malformed": dict(same, params=[])}.get(kind, same)
        if kind == "used before":
            gate.open()
            first.done()
        refused = client.post(again)
        assert refused.status == (200 if kind == "used before" else 400)
        assert ("result" if kind == "used before" else "error") in refused.message
        gate.open()
        assert first.answer()["id"] == 7 and "result" in first.answer()
        client.lives()


@pytest.mark.parametrize("sessions", ["memory", "none"])
def test_answers_to_ids_with_one_hash_find_their_places(sessions):
    """An integer hashes to its remainder by 2^61-1, so their table knows these by something else."""
    ids = [number * sys.hash_info.modulus for number in range(1, 200)]
    with Gate() as gate, web({"slow": gate.hold}, "2025-03-26", sessions=sessions) as client:
        answers = client.post([dict(PING, id=id) for id in ids]).message
        assert sorted(answer["id"] for answer in answers) == ids and all("result" in answer for answer in answers)
        if sessions == "memory":
            first = client.begin(ids[0], "tools/call", work_params("slow"))
            gate.entered()
            assert client.post(dict(PING, id=ids[0])).status == 400, "in use"
            assert client.post(dict(PING, id=ids[1])).message["id"] == ids[1]
            gate.open()
            assert first.answer()["id"] == ids[0] and "result" in first.answer()


# -- Browsers ----------------------------------------------------------------------------------


def test_a_preflight():
    with web(allowed_origins=["https://app.example"], authenticate=lambda headers: None, revision=None) as client:
        asked = exchange("OPTIONS", {"Origin": "https://app.example", "Access-Control-Request-Method": "POST",
                                     "Access-Control-Request-Headers": "authorization,mcp-protocol-version,x-other"})
        answer = client.handle(asked)
        assert answer.status == 204 and answer.raw == b""
        assert answer.headers.get("Access-Control-Allow-Origin") == "https://app.example"
        assert answer.headers.get("Access-Control-Allow-Methods") == "GET, POST, DELETE, OPTIONS"
        assert answer.headers.get("Access-Control-Allow-Headers") == "authorization, mcp-protocol-version"
        plain = client.handle(exchange("OPTIONS"))
        assert plain.status == 204 and plain.headers.get("allow") == "GET, POST, DELETE, OPTIONS"
        assert "access-control-allow-origin" not in plain.headers


def test_every_reply_to_a_page_that_is_allowed_can_be_seen_by_it():
    def refuse(headers):
        return None if headers.get("authorization") is None else "me"

    with web({"tell": lambda ctx: ctx.log("info", "x"), "quick": lambda ctx: "x"}, authenticate=refuse,
             allowed_origins=["https://app.example"],
             headers={"Origin": "https://app.example", "Authorization": "x"}) as client:
        replies = [client.post(PING), client.post(NOTE), client.post(b"{"), client.get(),
                   client.ask(2, "tools/call", work_params("tell")), client.ask(3, "tools/call", work_params("quick")),
                   client.post(PING, {"Authorization": None}), client.post(PING, {"Mcp-Session-Id": "x"}),
                   client.get("nonsense"), client.delete(), client.post(PING, path="/x")]
        assert len({reply.status for reply in replies}) == 6
        for reply in replies:
            assert reply.headers.get("Access-Control-Allow-Origin") == "https://app.example", reply
            assert "Mcp-Session-Id" in reply.headers.get("Access-Control-Expose-Headers")


# -- Principals --------------------------------------------------------------------------------


def test_authenticate_that_refuses_with_a_reason_and_one_that_fails(caplog):
    def who(headers):
        name = headers.get("authorization")
        if name == "expired":
            raise AuthError("the token has expired")
        return {"anna": ("anna", 1), "zero": 0}[name]

    with web(revision=None, authenticate=who) as client:
        expired = client.handle(exchange("POST", {"Authorization": "expired"}, opening("2025-11-25")))
        assert expired.status == 401 and "has expired" in expired.message["error"]["message"]
        failed = client.handle(exchange("POST", {"Authorization": "secret"}, opening("2025-11-25")))
        assert failed.status == 500 and "secret" not in repr(failed) and "authenticate raised KeyError" in caplog.text
        for name in ("anna", "zero"):
            client.headers = {"Authorization": name}
            client.open("2025-11-25")
            assert client.session.principal == {"anna": ("anna", 1), "zero": 0}[name]
            client.lives()


# -- How many ----------------------------------------------------------------------------------


def test_when_all_sessions_are_taken():
    with web(limits=Limits(max_sessions=2)) as client:
        for name in ("Mcp-Session-Id", "MCP-Protocol-Version"):
            del client.headers[name]
        client.open("2025-11-25")
        full = client.handle(exchange("POST", {}, opening("2025-11-25")))
        assert full.status == 503 and full.headers.get("Retry-After") and "max_sessions (2)" in repr(full.message)
        assert full.message["id"] == "init"
        client.delete()
        assert client.handle(exchange("POST", {}, opening("2025-11-25"))).status == 200


def test_a_busy_session_is_not_idle(monkeypatch):
    with Gate() as gate, web({"slow": gate.hold}, limits=Limits(session_idle=60.0)) as client:
        clock = by_hand(monkeypatch, client.session.used)
        listening = client.get()
        clock.now += 100
        client.endpoint.tick()  # the stream is open
        listening.leave()
        slow = client.begin(1, "tools/call", work_params("slow"))
        gate.entered()
        clock.now += 100
        client.endpoint.tick()  # the request runs
        gate.open()
        slow.done()
        eventually(lambda: not client.session.busy)
        clock.now += 59
        client.endpoint.tick()
        assert len(client.endpoint.sessions) == 1
        clock.now += 1
        client.endpoint.tick()
        assert len(client.endpoint.sessions) == 0
        assert client.endpoint.counters.snapshot()["sessions ended"] == 1


def test_quiet_streams_are_kept_alive(monkeypatch):
    with web(limits=Limits(stream_keepalive=10.0)) as client:
        clock = by_hand(monkeypatch, client.session.used)
        stream = client.get()
        for later, comments in ((5, 0), (6, 1), (4, 1), (7, 2)):
            clock.now += later
            client.endpoint.tick()
            assert stream.comments == comments
        assert stream.messages() == []


def test_many_sessions_leave_nothing():
    with web(revision=None) as client:
        before = set(threading.enumerate())
        for _ in range(300):
            client.headers = {}
            client.open("2025-11-25")
            client.lives()
            client.delete()
        assert len(client.endpoint.sessions) == 0 and set(threading.enumerate()) <= before
        assert client.server.connections == []


# -- Executors ---------------------------------------------------------------------------------


def test_a_handler_runs_on_the_thread_that_brought_its_request():
    with web({"where": lambda ctx: threading.current_thread().name}) as client:
        assert said(client.ask(1, "tools/call", work_params("where")).message) == threading.current_thread().name


def test_the_requests_of_a_batch_run_side_by_side():
    both = threading.Barrier(2)
    with web({"meet": lambda ctx: both.wait(WAIT) is not None}, "2025-03-26") as client:
        answers = client.post([request(n, "tools/call", work_params("meet")) for n in (1, 2)])
        assert [said(answer) for answer in answers.message] == ["True", "True"]


def test_a_main_thread_queue_answers_later():
    queue = MainThreadQueue()
    with web(server=working_server({"quick": lambda ctx: threading.current_thread().name}, executor=queue)) as client:
        reply = client.ask(1, "tools/call", work_params("quick"))
        assert reply.calls == []
        assert queue.pump() == 1 and said(reply.message) == threading.current_thread().name
    queued = working_server({"quick": lambda ctx: "q"}, executor=queue)
    with web(server=queued, revision=None, sessions="none") as alone:
        reply = alone.ask(1, "tools/call", work_params("quick"))
        assert len(alone.endpoint._tracked) == 1 and queue.pump() == 1 and said(reply.message) == "q"
        eventually(lambda: not alone.endpoint._tracked)
    queue.close()


def test_an_inline_executor_answers_and_refuses_to_wait():
    def ask(ctx):
        ctx.call("ping")

    with web(server=working_server({"quick": lambda ctx: "q", "ask": ask}, executor=Inline())) as client:
        assert said(client.ask(1, "tools/call", work_params("quick")).message) == "q"
        assert client.ask(2, "tools/call", work_params("ask")).message["result"]["isError"]


# -- Shutting down -----------------------------------------------------------------------------


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_shutting_down_lets_what_runs_end_and_begins_nothing(revision):
    def asking(ctx):
        gate.hold()
        return said(ctx.call("sampling/createMessage", {
            "messages": [{"role": "user", "content": {"type": "text", "text": "?"}}], "maxTokens": 1}))

    with Gate() as gate, web({"ask": asking, "slow": gate.hold}, revision) as client:
        listening = client.get()
        asking_reply = client.begin(1, "tools/call", work_params("ask"))
        cancelled = client.begin(2, "tools/call", work_params("slow"))
        gate.entered(2)
        closing = in_thread(client.endpoint.close, 10.0)
        eventually(lambda: client.endpoint.closing)
        for refused in (client.ask(3, "ping"), client.get(), client.handle(exchange("POST", {}, opening(revision)))):
            assert refused.status == 503 and refused.headers.get("Retry-After"), refused
        assert client.tell("notifications/cancelled", {"requestId": 2}).status == 202
        gate.open()
        question = asking_reply.next()
        result = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "in time"}}
        assert not closing.over and client.respond(question["id"], result).status == 202
        assert said(asking_reply.answer()) == "in time"
        closing.get()
        assert listening.finished and cancelled.finished and len(client.endpoint.sessions) == 0


def test_shutting_down_ends_what_does_not_end_by_itself():
    def stubborn(ctx):
        gate.hold()
        return ctx.cancelled.is_set()

    with Gate() as gate, web({"slow": stubborn}, limits=Limits(shutdown_grace=0.05)) as client:
        reply = client.begin(1, "tools/call", work_params("slow"))
        gate.entered()
        client.endpoint.close(0.01)
        assert reply.done().status == 404
        gate.open()


# -- POSTs that stand alone --------------------------------------------------------------------


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_each_post_stands_alone(revision):
    def handler(ctx):
        assert ctx.connection.session.revision.name == revision
        return "done"

    with web({"quick": handler, "tell": lambda ctx: ctx.log("info", "x")}, None, sessions="none",
             headers={"MCP-Protocol-Version": revision}) as client:
        opened = client.post(opening(revision))
        assert opened.message["result"]["protocolVersion"] == revision and "Mcp-Session-Id" not in opened.headers
        assert client.tell("notifications/initialized").status == 202
        for _ in range(3):  # the same id each time: nothing is remembered
            assert said(client.ask(1, "tools/call", work_params("quick")).message) == "done"
        stream = client.ask(2, "tools/call", work_params("tell"), headers={"Mcp-Session-Id": "whatever"})
        assert [event.id for event in stream.events] == [None, None] and stream.answer()["id"] == 2
        assert client.get().status == 405 and client.delete().status == 405
        assert client.respond(1, {}).status == 400
        assert client.post([PING]).status == (200 if revision == "2025-03-26" else 400)
        assert client.post(b"{").code == -32700 and client.post(PING, {"MCP-Protocol-Version": "x"}).status == 400
        assert not client.endpoint._tracked and client.server.connections == []


def test_handlers_know_who_sends_a_post_that_stands_alone():
    handlers = {"who": lambda ctx: ctx.principal}
    with web(handlers, None, sessions="none", authenticate=lambda headers: "ada") as client:
        assert said(client.ask(1, "tools/call", work_params("who")).message) == "ada"


QUESTIONS = {
    "elicitation": lambda ctx: ctx.elicit("?", {"a": str}),
    "sampling": lambda ctx: ctx.sample("?", 5),
    "roots": lambda ctx: ctx.list_roots(),
    "ping": lambda ctx: ctx.call("ping"),
}


@pytest.mark.parametrize("what", QUESTIONS)
def test_a_client_that_could_not_answer_is_not_asked(what):
    with web(QUESTIONS, None, sessions="none", headers={"MCP-Protocol-Version": "2025-11-25"}) as client:
        result = client.ask(1, "tools/call", work_params(what)).message["result"]
        assert result["isError"] and "--stateless" in said(result) and what in said(result)


@pytest.mark.parametrize("strict", [False, True])
def test_mixed_batches_that_stand_alone(strict):
    response = {"jsonrpc": "2.0", "id": 9, "result": {}}
    with web(revision=None, sessions="none", strict=strict) as client:
        mixed = client.post([PING, response])
        assert mixed.status == (400 if strict else 200)
        assert client.post([PING, opening("2025-03-26")]).message[1]["error"]["code"] == -32600
        assert client.post([response]).status == 202 and client.post([NOTE]).status == 202


def test_shutting_down_without_sessions():
    with Gate() as gate, web({"slow": gate.hold}, None, sessions="none") as client:
        reply = client.begin(1, "tools/call", work_params("slow"))
        gate.entered()
        closing = in_thread(client.endpoint.close, 10.0)
        eventually(lambda: client.endpoint.closing)
        assert client.ask(2, "ping").status == 503 and client.post(NOTE).status == 202
        gate.open()
        assert said(reply.answer()) == "None"
        closing.get()


def test_only_kinds_of_sessions_that_there_are():
    with pytest.raises(ValueError, match="'memory', 'none'"):
        Endpoint(Server("x").connect, sessions="redis")


@pytest.mark.parametrize("json_response, streams, askable", [
    (True, False, False), (True, True, True), (None, False, True), (False, False, True)])
def test_where_no_stream_can_carry_a_question_the_client_cannot_be_asked(json_response, streams, askable):
    handlers = {"ask": lambda ctx: ctx.connection.session.check_askable("sampling") or "may be asked"}
    with web(handlers, json_response=json_response, streams=streams) as client:
        text = said(client.ask(1, "tools/call", work_params("ask")).answer())
        assert (text == "may be asked") == askable and (askable or "json_response=True and streams=False" in text)
