"""Streamable HTTP, the server's side, on every revision that a session may agree on; no sockets.

The revision that is agreed and the transport do not depend on each other, so most rules are tried in a session of
2024-11-05, too, which knows another HTTP transport only.
"""
import json
import re

import pytest

from mcp_ref.limits import Limits
from mcp_ref.streamable.server.session import new_id
from tests.support.http_exchange import BOTH, Web, exchange, opening, request
from tests.support.requirements_table import HANDSHAKE, revisions_of
from tests.support.sides import Gate, eventually, said, work_params, working_server

SAMPLE = {"messages": [{"role": "user", "content": {"type": "text", "text": "?"}}], "maxTokens": 1}
SAMPLED = {"role": "assistant", "model": "none", "content": {"type": "text", "text": "sampled"}}
every_revision = pytest.mark.parametrize("revision", HANDSHAKE)


def revisions(*ids):
    """The revisions that state these rows; and 2024-11-05, where all that have the transport do."""
    found = revisions_of(*ids)
    return pytest.mark.parametrize("revision", HANDSHAKE if found == HANDSHAKE[1:] else found)


def work(do, token=None):
    params = work_params(do)
    return params if token is None else dict(params, _meta={"progressToken": token})


def web(revision, handlers=None, limits=None, **options):
    server_options = {} if limits is None else {"limits": limits}
    options.update(server_options)
    return Web(working_server(handlers or {"quick": lambda ctx: "done"}, **server_options), revision, **options)


def tell(ctx):
    """A handler that says something before it answers."""
    ctx.log("info", "on the way")
    return "done"


def told(ctx):
    """One that asks the client something."""
    return said(ctx.call("sampling/createMessage", SAMPLE))


# -- The endpoint ------------------------------------------------------------------------------


@pytest.mark.spec("http.endpoint-post-get", "http.get-sse-or-405")
@revisions("http.endpoint-post-get")
def test_one_path_takes_post_and_get(revision):
    """[2025-03-26..2025-11-25 basic/transports §Streamable HTTP] MUST"""
    with web(revision) as client:
        assert client.ask(1, "ping").message == {"jsonrpc": "2.0", "id": 1, "result": {}}
        stream = client.get()
        assert stream.status == 200 and stream.headers.get("content-type") == "text/event-stream"
        assert not stream.finished
        assert client.handle(client.made("GET", path="/elsewhere")).status == 404


@pytest.mark.spec("http.get-sse-or-405")
@revisions("http.get-sse-or-405")
def test_an_endpoint_without_get_says_so(revision):
    """[2025-03-26..2025-11-25 basic/transports §Listening for Messages from the Server] MUST"""
    with web(None, sessions="none") as client:
        refused = client.get(headers={"MCP-Protocol-Version": revision})
        assert refused.status == 405 and "GET" not in refused.headers.get("allow")


FOREIGN = ["https://evil.example", "null", "http://localhost.evil.example", "http://127.0.0.1.evil.example", "file://",
           "http://evil.example:8000", "nonsense", "http://localhost@evil.example"]


@pytest.mark.spec("http.origin-validate", "http.origin-403", "http.error-body-no-id")
@pytest.mark.parametrize("origin", FOREIGN)
@revisions("http.origin-validate")
def test_pages_of_other_sites_are_refused(revision, origin):
    """[..2025-11-25 basic/transports §Security Warning] MUST"""
    with web(revision) as client:
        for method, body in (("POST", request(1, "ping")), ("GET", None), ("DELETE", None), ("OPTIONS", None),
                             ("POST", opening(revision))):
            refused = client.handle(client.made(method, body, {"Origin": origin}))
            assert refused.status == 403, (method, refused)
            assert refused.message["error"]["code"] == -32600 and "id" not in refused.message
            assert "allowed_origins" in refused.message["error"]["message"]
            assert "access-control-allow-origin" not in refused.headers
        client.lives()


@pytest.mark.spec("http.origin-validate")
@pytest.mark.parametrize("origin", ["http://localhost", "http://localhost:5173", "http://127.0.0.1:1", "http://[::1]:9",
                                    "https://LOCALHOST:1"])
def test_pages_of_this_machine_may_call(origin):
    """[..2025-11-25 basic/transports §Security Warning] MUST"""
    with web("2025-11-25", headers={"Origin": origin}) as client:
        answer = client.ask(1, "ping")
        assert answer.status == 200 and answer.headers.get("access-control-allow-origin") == origin


@pytest.mark.spec("http.authenticate")
@every_revision
@pytest.mark.sends_illegal(why="callers are known by other means than the protocol's", rules=lambda revision: [
    "auth.www-authenticate-401"] * (revision == "2025-06-18"))
def test_every_request_shows_who_sends_it(revision):
    """[..2025-11-25 basic/transports §Security Warning] SHOULD"""
    def who(headers):
        return {"Bearer a": "anna", "Bearer b": "bert"}.get(headers.get("authorization"))

    with web(revision, authenticate=who, headers={"Authorization": "Bearer a"}) as client:
        for method, body in (("POST", request(1, "ping")), ("GET", None), ("DELETE", None)):
            unknown = client.handle(client.made(method, body, {"Authorization": None}))
            assert unknown.status == 401 and unknown.headers.get("www-authenticate") == "Bearer", method
            assert client.handle(client.made(method, body, {"Authorization": "Bearer b"})).status == 404, method
        client.lives()


# -- POST --------------------------------------------------------------------------------------


@pytest.mark.spec("http.notification-202")
@revisions("http.notification-202")
def test_notifications_and_responses_are_accepted_without_a_body(revision):
    """[2025-03-26..2025-11-25 basic/transports §Sending Messages to the Server] MUST"""
    with web(revision) as client:
        bodies = [
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
            {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
            {"jsonrpc": "2.0", "id": 99, "result": {}},
            {"jsonrpc": "2.0", "id": 99, "error": {"code": -1, "message": "no"}},
        ]
        for body in bodies:
            accepted = client.post(body)
            assert (accepted.status, accepted.raw, accepted.finished) == (202, b"", True), body


BROKEN = [
    (b"{", -32700), (b"", -32700), (b"\xff", -32700), (b'{"jsonrpc":"2.0","method":"\\ud800"}', None), (b"[]", -32600),
    (b"7", -32600), (b"null", -32600), (b"{}", -32600), (b'{"jsonrpc":"2.0","method":5}', -32600),
    (b'{"jsonrpc":"2.0","method":"notifications/progress","params":[1]}', -32602),
    (b'{"jsonrpc":"2.0","method":"notifications/progress","params":5}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"both"}}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"result":5}', -32600), (b'{"jsonrpc":"2.0","id":null,"result":{}}', -32600),
    (b'{"jsonrpc":"1.0","method":"notifications/initialized"}', -32600),
]


@pytest.mark.spec("http.notification-rejected", "http.error-body-no-id", "transport.utf8")
@pytest.mark.parametrize("body, code", [row for row in BROKEN if row[1]])
@revisions("http.notification-rejected")
def test_what_cannot_be_accepted_is_an_error_status(revision, body, code):
    """[2025-03-26..2025-11-25 basic/transports §Sending Messages to the Server] MUST"""
    with web(revision) as client:
        refused = client.post(body)
        assert refused.status == 400 and refused.code == code and "id" not in refused.message
        client.lives()


@pytest.mark.spec("transport.utf8")
@revisions("transport.utf8")
def test_messages_are_utf_8(revision):
    """[2025-03-26..2025-11-25 basic/transports] MUST"""
    with web(revision, {"say": lambda ctx: "Grüße, 世界 \U0001f600"}) as client:
        answer = client.ask(1, "tools/call", work("say"))
        assert said(json.loads(answer.raw.decode("utf-8"))) == "Grüße, 世界 \U0001f600"
        latin = client.post('{"jsonrpc":"2.0","id":2,"method":"ping","params":{"x":"\u00e4"}}'.encode("latin-1"))
        assert latin.status == 400 and latin.code == -32700


@pytest.mark.spec("http.post-response-content-type")
@pytest.mark.parametrize("json_response, accept, kind", [
    (None, BOTH, "application/json"), (True, BOTH, "application/json"), (False, BOTH, "text/event-stream"),
    (None, "application/json", "application/json"), (None, "text/event-stream", "text/event-stream"),
    (None, "*/*", "application/json"), (None, None, "application/json"),
    (False, "application/json", "application/json"), (True, "text/event-stream", "text/event-stream"),
    (None, "text/event-stream, application/json;q=0", "text/event-stream"),
])
@revisions("http.post-response-content-type")
def test_a_request_is_answered_by_json_or_by_a_stream(revision, json_response, accept, kind):
    """[2025-03-26..2025-11-25 basic/transports §Sending Messages to the Server] MUST"""
    with web(revision, json_response=json_response) as client:
        for id, (method, params) in enumerate([("ping", None), ("tools/call", work("quick")), ("no/such", None)]):
            answer = client.ask(id, method, params, headers={"Accept": accept})
            assert answer.status == 200 and answer.headers.get("content-type") == kind and answer.finished
            assert answer.answer()["id"] == id and ("result" in answer.answer()) == (method != "no/such")


@revisions("http.post-response-content-type")
def test_no_proxy_holds_back_a_stream_that_has_the_answer_only(revision):
    with web(revision, json_response=False) as client:
        stream = client.ask(1, "tools/call", work("quick"))
        assert said(stream.answer()) == "done" and stream.headers.get("content-type") == "text/event-stream"
        assert stream.headers.get("x-accel-buffering") == "no"
        assert stream.headers.get("cache-control") == "no-cache, no-transform"


@pytest.mark.spec("http.stream-server-messages", "http.stream-related-messages", "http.stream-eventual-response",
                  "http.stream-close-after-response")
@revisions("http.stream-related-messages")
def test_what_belongs_to_a_request_comes_on_its_stream_before_the_answer(revision):
    """[2025-03-26..2025-11-25 basic/transports §Sending Messages to the Server] SHOULD"""
    def handler(ctx):
        ctx.progress(1)
        ctx.log("info", "logged")
        answer = told(ctx)
        ctx.notify("notifications/progress", {"progressToken": "t", "progress": 9})
        return answer

    with web(revision, {"all": handler}) as client:
        listening = client.get()
        reply = client.begin(1, "tools/call", work("all", "t"))
        question = [reply.next() for _ in range(3)][-1]
        assert not reply.finished and client.respond(question["id"], SAMPLED).status == 202
        reply.done()
        methods = [message.get("method") for message in reply.messages()]
        assert methods == ["notifications/progress", "notifications/message", "sampling/createMessage",
                           "notifications/progress", None]
        assert said(reply.answer()) == "sampled" and reply.headers.get("content-type") == "text/event-stream"
        assert reply.headers.get("x-accel-buffering") == "no"
        assert reply.headers.get("cache-control") == "no-cache, no-transform"
        assert listening.messages() == []


@pytest.mark.spec("http.stream-related-messages")
@revisions("http.stream-related-messages")
def test_the_cancellation_of_a_question_follows_it(revision):
    """[2025-03-26..2025-11-25 basic/transports §Sending Messages to the Server] SHOULD"""
    with web(revision, {"ask": told}) as client:
        listening, reply = client.get(), client.begin(1, "tools/call", work("ask"))
        question = reply.next()
        client.tell("notifications/cancelled", {"requestId": 1})
        reply.done()
        assert [message["method"] for message in reply.messages()] == [
            "sampling/createMessage", "notifications/cancelled"]
        assert reply.messages()[1]["params"]["requestId"] == question["id"] and listening.messages() == []


@pytest.mark.spec("http.stream-no-early-close")
@pytest.mark.parametrize("revision", revisions_of("http.stream-no-early-close"))
def test_a_stream_stays_open_until_the_answer(revision, monkeypatch):
    """[2025-03-26..2025-06-18 basic/transports §Sending Messages to the Server] SHOULD NOT"""
    with Gate() as gate, web(revision, {"slow": lambda ctx: (tell(ctx), ctx.poll_later(), gate.hold())[1]},
                             poll_after=5.0) as client:
        reply = client.begin(1, "tools/call", work("slow"))
        gate.entered()
        now = client.session.used
        monkeypatch.setattr("mcp_ref.deadline.clock", lambda: now + 1000.0)
        client.endpoint.tick()
        assert not reply.finished and reply.comments == 1
        monkeypatch.undo()
        gate.open()
        assert said(reply.answer()) == "False"


@pytest.mark.spec("http.disconnect-not-cancel", "http.disconnect-anytime", "http.resume-offer")
@pytest.mark.parametrize("found_when_sending", [False, True])
@revisions("http.disconnect-not-cancel")
def test_a_lost_connection_cancels_nothing(revision, found_when_sending):
    """[2025-03-26..2025-11-25 basic/transports §Sending Messages to the Server] SHOULD NOT"""
    cancelled = []

    def handler(ctx):
        tell(ctx)
        gate.hold()
        cancelled.append(ctx.cancelled.is_set())
        tell(ctx)
        return "survived"

    with Gate() as gate, web(revision, {"slow": handler}) as client:
        reply = client.begin(1, "tools/call", work("slow"))
        gate.entered()
        reply.next()
        if found_when_sending:
            reply.lose_next = True
        else:
            reply.leave()
        gate.open()
        eventually(lambda: not client.session.busy)
        rest = client.get(reply.events[-1].id).done()
        assert cancelled == [False]
        assert client.session.counters().get("answers kept for later") == 1
        assert [message.get("method") for message in rest.messages()] == ["notifications/message", None]
        assert said(rest.answer()) == "survived" and rest.answer()["id"] == 1


# -- Batches -----------------------------------------------------------------------------------

PING, NOTE, ANSWER = request(1, "ping"), {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}, \
    {"jsonrpc": "2.0", "id": 99, "result": {}}


@pytest.mark.spec("http.batch-body-single", "http.batch-body-requests", "http.batch-body-responses")
@pytest.mark.parametrize("body, strict, lenient", [
    (PING, 200, 200), (NOTE, 202, 202), (ANSWER, 202, 202), ([PING], 200, 200), ([PING, NOTE], 200, 200),
    ([NOTE, NOTE], 202, 202), ([ANSWER], 202, 202), ([ANSWER, dict(ANSWER, id=98)], 202, 202), ([], 400, 400),
    ([PING, ANSWER], 400, 200), ([ANSWER, NOTE], 400, 202), ([NOTE, ANSWER, PING], 400, 200), ([7], 200, 200),
])
@pytest.mark.parametrize("mode", ["strict", "lenient"])
@pytest.mark.parametrize("revision", revisions_of("http.batch-body-requests"))
def test_bodies_that_may_be_posted(revision, mode, body, strict, lenient):
    """[2025-03-26 basic/transports §Sending Messages to the Server] MUST"""
    with web(revision, strict=mode == "strict") as client:
        answer = client.post(body)
        assert answer.status == (strict if mode == "strict" else lenient)
        assert (answer.raw == b"") == (answer.status == 202)
        assert client.connection.counters["mixed batch"] == (strict != lenient and mode == "lenient")
        client.lives()


@pytest.mark.spec("http.batch-responses", "http.batch-body-requests")
@pytest.mark.parametrize("revision", revisions_of("http.batch-body-requests"))
def test_a_batch_has_one_reply(revision):
    """[2025-03-26 basic/transports §Sending Messages to the Server] MAY"""
    with web(revision, {"quick": lambda ctx: "quick", "tell": tell}) as client:
        plain = client.post([request(1, "ping"), request(2, "tools/call", work("quick")), request("x", "no/such"), 5])
        assert plain.headers.get("content-type") == "application/json"
        assert {answer.get("id") for answer in plain.message} == {1, 2, "x", None}
        stream = client.post([request(3, "tools/call", work("tell")), NOTE, request(4, "tools/call", work("tell"))])
        *before, answers = stream.done().messages()
        assert [message["method"] for message in before] == ["notifications/message"] * 2
        assert {answer["id"] for answer in answers} == {3, 4}


@pytest.mark.spec("http.batch-body-single")
@pytest.mark.parametrize("revision", [name for name in HANDSHAKE if name not in revisions_of("http.batch-body-single")])
def test_other_revisions_have_no_batches(revision):
    """[2025-06-18..2025-11-25 basic/transports §Sending Messages to the Server] MUST"""
    with web(revision) as client:
        for body in ([PING], [NOTE], [ANSWER]):
            refused = client.post(body)
            assert refused.status == 400 and refused.code == -32600
        client.lives()


@pytest.mark.parametrize("revision", revisions_of("http.batch-body-requests"))
def test_initialize_is_no_part_of_a_batch(revision):
    """[2025-03-26 basic/lifecycle §Initialization] MUST NOT"""
    with web(None) as client:
        refused = client.post([opening(revision)])
        assert refused.status == 400 and len(client.endpoint.sessions) == 0


# -- GET ---------------------------------------------------------------------------------------


@pytest.mark.spec("http.get-server-messages", "http.get-unrelated", "http.no-broadcast")
@revisions("http.no-broadcast")
def test_what_belongs_to_no_request_comes_on_one_stream_of_a_get(revision):
    """[2025-03-26..2025-11-25 basic/transports §Multiple Connections] MUST"""
    with Gate() as gate, web(revision, {"slow": lambda ctx: (tell(ctx), gate.hold())[0]}) as client:
        reply = client.begin(1, "tools/call", work("slow"))
        gate.entered()
        streams = [client.get() for _ in range(3)]
        pending = client.connection.open_request("ping")
        client.server.broadcast("notifications/tools/list_changed")
        heard = [[message["method"] for message in stream.messages()] for stream in streams]
        assert sorted(heard) == [[], [], ["ping", "notifications/tools/list_changed"]]
        assert client.respond(pending.id, {}).status == 202 and pending.next(0.01).result == {}
        streams[2].leave()
        client.server.broadcast("notifications/tools/list_changed")
        assert sorted(len(stream.messages()) for stream in streams) == [0, 1, 2]
        gate.open()
        reply.done()
        assert [message.get("method") for message in reply.messages()] == ["notifications/message", None]


@pytest.mark.spec("http.get-unrelated")
@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])  # that know progress, logs and elicitation
def test_what_belongs_to_a_running_request_does_not_come_on_the_stream_of_a_get(revision):
    """[2025-03-26..2025-11-25 basic/transports §Listening for Messages from the Server] SHOULD"""
    def handler(ctx):
        ctx.progress(1, 2)
        ctx.log("info", "related")
        name = ctx.elicit("Who?", {"name": str})["name"]
        ctx.progress(2, 2)
        return name

    with web(revision, {"all": handler}, capabilities={"elicitation": {}}) as client:
        listening = client.get()
        reply = client.begin(1, "tools/call", work("all", "t"))
        *before, question = [reply.next() for _ in range(3)]
        client.server.broadcast("notifications/tools/list_changed")
        assert client.respond(question["id"], {"action": "accept", "content": {"name": "Ada"}}).status == 202
        assert said(reply.done().answer()) == "Ada"
        assert [message.get("method") for message in reply.messages()] == [
            "notifications/progress", "notifications/message", "elicitation/create", "notifications/progress", None]
        assert [message["method"] for message in listening.messages()] == ["notifications/tools/list_changed"]


@pytest.mark.spec("http.no-broadcast")
@revisions("http.no-broadcast")
def test_a_message_that_a_stream_did_not_take_goes_on_another(revision):
    """[2025-03-26..2025-11-25 basic/transports §Multiple Connections] MUST"""
    with web(revision) as client:
        older, newer = client.get(), client.get()
        newer.lose_next = True
        client.server.broadcast("notifications/tools/list_changed")
        assert (len(older.messages()), len(newer.messages())) == (1, 0)
        last = newer.events[-1].id if newer.events else "g2-0"
        assert client.get(last).messages() == []  # it was not sent there, so it is not sent again there


@pytest.mark.spec("http.get-unrelated")
@revisions("http.get-unrelated")
def test_messages_wait_for_a_stream(revision):
    """[2025-03-26..2025-11-25 basic/transports §Listening for Messages from the Server] SHOULD"""
    with web(revision, limits=Limits(max_waiting_messages=3)) as client:
        for _ in range(3):
            client.server.broadcast("notifications/tools/list_changed")
        client.connection.open_request("ping")
        first, second = client.get(), client.get()
        *heard, told = first.messages()
        assert [message["method"] for message in heard] == [
            "notifications/tools/list_changed", "notifications/tools/list_changed", "ping"]
        assert told["params"] == {"level": "warning", "data": {
            "message": "messages to this client that were dropped, because it had no stream open for them: 1"}}
        assert second.messages() == [] and client.session.counters() == {"messages that waited too long": 1}


@pytest.mark.spec("http.get-no-response")
@pytest.mark.parametrize("json_response", [None, True, False])
@revisions("http.get-no-response")
def test_no_answer_comes_on_the_stream_of_a_get(revision, json_response):
    """[2025-03-26..2025-11-25 basic/transports §Listening for Messages from the Server] MUST NOT"""
    with Gate() as gate, web(revision, {"quick": tell, "slow": gate.hold}, json_response=json_response) as client:
        listening = client.get()
        client.ask(1, "tools/call", work("quick"))
        client.ask(2, "no/such")
        lost = client.begin(3, "tools/call", work("slow"))
        gate.entered()
        lost.leave()
        gate.open()
        eventually(lambda: not client.session._replies)
        assert [message for message in listening.messages() if "method" not in message] == []


@pytest.mark.spec("http.get-server-close", "http.session-terminate", "http.session-expired-stream")
@revisions("http.get-server-close")
def test_the_server_ends_streams_with_the_session(revision):
    """[2025-03-26..2025-11-25 basic/transports §Session Management] MAY"""
    with Gate() as gate, web(revision, {"slow": lambda ctx: (tell(ctx), gate.hold())[0], "mute": gate.hold}) as client:
        listening = client.get()
        stream, whole = client.begin(1, "tools/call", work("slow")), client.begin(2, "tools/call", work("mute"))
        gate.entered(2)
        client.endpoint.end(client.session, "the server has had enough")
        assert listening.finished and stream.finished
        gate.open()
        assert whole.done().status == 404 and "ended" in whole.message["error"]["message"]
        assert client.ask(3, "ping").status == 404


# -- Sessions ----------------------------------------------------------------------------------


@pytest.mark.spec("http.session-assign", "http.session-id-unique", "http.session-id-ascii")
@revisions("http.session-id-ascii")
def test_a_session_has_an_id_of_visible_ascii_that_nobody_guesses(revision):
    """[2025-03-26..2025-11-25 basic/transports §Session Management] MUST"""
    with web(None) as client:
        opened = [client.post(opening(revision)) for _ in range(50)]
        ids = {answer.headers.get("Mcp-Session-Id") for answer in opened}
        assert len(ids) == 50 and all(re.fullmatch(r"[\x21-\x7e]{32,}", id) for id in ids)
        assert all(answer.message["result"]["protocolVersion"] == revision for answer in opened)
        assert len({id[:8] for id in ids}) == 50 and len({new_id() for _ in range(1000)}) == 1000


@pytest.mark.spec("http.session-missing-400")
@revisions("http.session-missing-400")
def test_a_request_without_session_id_is_refused(revision):
    """[2025-03-26..2025-11-25 basic/transports §Session Management] SHOULD"""
    with web(revision) as client:
        for method, body in (("POST", request(7, "ping")), ("POST", NOTE), ("POST", ANSWER), ("GET", None),
                             ("DELETE", None), ("POST", [PING])):
            refused = client.handle(client.made(method, body, {"Mcp-Session-Id": None}))
            assert refused.status == 400 and "Mcp-Session-Id" in refused.message["error"]["message"], (method, body)
        client.lives()


@pytest.mark.spec("http.session-404", "http.session-terminate")
@pytest.mark.parametrize("end", ["deleted", "idle", "ended by the server", "never begun"])
@revisions("http.session-404")
def test_a_session_that_has_ended_is_not_found(revision, end, monkeypatch):
    """[2025-03-26..2025-11-25 basic/transports §Session Management] MUST"""
    with web(revision, limits=Limits(session_idle=60.0)) as client:
        connection, now = client.connection, client.session.used
        if end == "deleted":
            assert client.delete().status == 204
        elif end == "idle":
            monkeypatch.setattr("mcp_ref.deadline.clock", lambda: now + 59.0)
            client.endpoint.tick()
            assert not connection.closed
            monkeypatch.setattr("mcp_ref.deadline.clock", lambda: now + 61.0)
            client.endpoint.tick()
        elif end == "ended by the server":
            client.endpoint.end(client.session, "maintenance")
        else:
            client.headers["Mcp-Session-Id"] = "never-begun"
        assert connection.closed == (end != "never begun")
        for method, body in (("POST", request(7, "ping")), ("POST", NOTE), ("GET", None), ("DELETE", None),
                             ("POST", opening(revision))):
            assert client.handle(client.made(method, body)).status == 404, (method, body)
        client.headers.pop("Mcp-Session-Id")
        client.open(revision)
        client.lives()


@pytest.mark.spec("http.session-delete-405")
@revisions("http.session-delete-405")
def test_a_server_need_not_let_clients_end_sessions(revision):
    """[2025-03-26..2025-11-25 basic/transports §Session Management] MAY"""
    with web(revision, delete=False) as client:
        refused = client.delete()
        assert refused.status == 405 and "DELETE" not in refused.headers.get("allow")
        client.lives()


# -- Event ids and what is sent again ----------------------------------------------------------


def counted(count):
    """A handler that says so much before it answers."""
    def handler(ctx):
        for number in range(count):
            ctx.log("info", number)
        return "counted"
    return handler


@pytest.mark.spec("http.resume-event-id-unique", "http.resume-event-id", "http.resume-event-id-encodes-stream")
@revisions("http.resume-event-id-unique")
def test_event_ids_are_unique_in_a_session_and_name_their_stream(revision):
    """[2025-03-26..2025-11-25 basic/transports §Resumability and Redelivery] MUST"""
    with web(revision, {"count": counted(5)}) as client:
        streams = [client.get()] + [client.ask(n, "tools/call", work("count")) for n in range(5)] + [client.get()]
        streams += [client.ask(n, "ping", headers={"Accept": "text/event-stream"}) for n in (6, 7)]
        client.server.broadcast("notifications/tools/list_changed")
        ids = [[event.id for event in stream.events] for stream in streams]
        flat = [id for each in ids for id in each]
        assert len(flat) == len(set(flat)) and len(flat) >= 33 and None not in flat
        names = [{id.partition("-")[0] for id in each} for each in ids if each]
        assert all(len(name) == 1 for name in names) and len(set.union(*names)) == len(names)


@pytest.mark.spec("http.resume-replay", "http.resume-no-cross-stream", "http.resume-offer")
@pytest.mark.parametrize("cut", range(7))
@revisions("http.resume-no-cross-stream")
def test_after_a_cut_comes_the_rest_of_that_stream_and_of_no_other(revision, cut):
    """[2025-03-26..2025-11-25 basic/transports §Resumability and Redelivery] MUST NOT"""
    with web(revision, {"count": counted(6)}) as client:
        listening = client.get()
        first, other = [client.ask(n, "tools/call", work("count")) for n in (1, 2)]
        client.server.broadcast("notifications/tools/list_changed")
        arrived = [event for event in first.events if event.data]
        rest = client.get(arrived[cut].id).done()
        assert [(event.id, event.data) for event in rest.events] == [(e.id, e.data) for e in arrived[cut + 1:]]
        assert len(other.messages()) == 7 and len(listening.messages()) == 1


@pytest.mark.spec("http.resume-no-cross-stream", "http.no-broadcast", "http.get-no-response")
@revisions("http.resume-no-cross-stream")
def test_a_stream_of_a_get_is_resumed_where_it_was_cut(revision):
    """[2025-03-26..2025-11-25 basic/transports §Resumability and Redelivery] MUST NOT"""
    with web(revision, {"count": counted(3)}) as client:
        stream = client.get()
        for _ in range(4):
            client.server.broadcast("notifications/tools/list_changed")
        client.ask(1, "tools/call", work("count"))
        events = [event for event in stream.events if event.data]
        stream.leave()
        client.server.broadcast("notifications/prompts/list_changed")
        client.server.broadcast("notifications/tools/list_changed")  # on no stream yet
        again = client.get(events[1].id)
        client.server.broadcast("notifications/tools/list_changed")
        assert not again.finished and all(message["method"].endswith("list_changed") for message in again.messages())
        ids = [event.id for event in again.events]
        assert ids[:2] == [event.id for event in events[2:]] and len(ids) == len(set(ids)) == 4
        assert {id.partition("-")[0] for id in ids} == {events[0].id.partition("-")[0]}


@pytest.mark.spec("http.resume-replay")
@revisions("http.resume-replay")
def test_a_stream_that_still_runs_goes_on_at_the_next_connection(revision):
    """[2025-03-26..2025-11-25 basic/transports §Resumability and Redelivery] MAY"""
    def handler(ctx):
        tell(ctx)
        gate.hold()
        tell(ctx)
        return "done"

    with Gate() as gate, web(revision, {"slow": handler}) as client:
        reply = client.begin(1, "tools/call", work("slow"))
        gate.entered()
        half_open = client.get(reply.events[-1].id)  # the server has not noticed yet that the first one is dead
        assert reply.finished and not half_open.finished and half_open.messages() == []
        half_open.leave()
        last = client.get(reply.events[-1].id)
        gate.open()
        assert said(last.answer()) == "done" and len(last.messages()) == 2


@pytest.mark.parametrize("last", ["p1-0", "p99-0", "g99-1", "x", "p1", "1-1", "p-1-1", "p1-\u0661", "", "P1-1",
                                  "p" + "9" * 99 + "-1"])
@every_revision
def test_an_event_id_of_nothing_that_is_kept_is_refused(revision, last):
    """[2025-03-26..2025-11-25 basic/transports §Resumability and Redelivery]; Reading: 400, so that nobody waits."""
    with web(revision) as client:
        refused = client.get(last)
        assert refused.status == 400 and refused.code == -32600
        client.lives()


def test_a_session_resumes_its_own_streams_only():
    """[2025-11-25 basic/transports §Resumability and Redelivery] MUST NOT"""
    with web("2025-11-25", {"count": counted(3)}) as one:
        secret = one.ask(1, "tools/call", work("count")).events[0].id
        one.headers.pop("Mcp-Session-Id")
        one.open("2025-11-25")
        assert one.get(secret).status == 400


# -- Polling, which 2025-11-25 has -------------------------------------------------------------


@pytest.mark.spec("http.resume-prime-event")
@every_revision
def test_a_stream_begins_with_an_event_that_has_only_an_id(revision):
    """[2025-11-25 basic/transports §Sending Messages to the Server] SHOULD; an older client would try to parse it."""
    with web(revision, {"tell": tell}) as client:
        only_streams = {"Accept": "text/event-stream"}
        for stream in (client.ask(1, "tools/call", work("tell")), client.ask(2, "ping", headers=only_streams),
                       client.get()):
            primed = revision in revisions_of("http.resume-prime-event")
            first = stream.events[0] if stream.events else None
            assert (first is not None and first.data == b"" and first.id is not None) == primed
            assert all(event.data and event.id for event in stream.events[1:])


@pytest.mark.spec("http.resume-server-may-close", "http.resume-retry-before-close")
@pytest.mark.parametrize("talking", [False, True])
@pytest.mark.parametrize("revision", revisions_of("http.resume-server-may-close"))
def test_a_handler_lets_go_of_the_connection_and_the_client_polls(revision, talking):
    """[2025-11-25 basic/transports §Sending Messages to the Server] SHOULD"""
    def handler(ctx):
        if talking:
            tell(ctx)
        assert ctx.poll_later() and not ctx.poll_later()
        tell(ctx)
        gate.hold()
        return "later"

    with Gate() as gate, web(revision, {"slow": handler}, limits=Limits(stream_retry=0.25)) as client:
        reply = client.begin(1, "tools/call", work("slow")).done()
        gate.entered()
        assert reply.events[0].data == b"" and reply.retries == [250]
        assert len(reply.messages()) == int(talking)
        again = client.get(reply.events[-1].id)
        assert [message["method"] for message in again.messages()] == ["notifications/message"]
        gate.open()
        assert said(again.answer()) == "later" and len(again.messages()) == 2


@every_revision
def test_nothing_is_closed_for_polling_where_the_revision_has_none(revision):
    """[2025-11-25 basic/transports §Sending Messages to the Server] MAY"""
    with web(revision, {"try": lambda ctx: ctx.poll_later()}) as client:
        reply = client.ask(1, "tools/call", work("try"))
        assert reply.streaming == (revision in revisions_of("http.resume-server-may-close"))
        if not reply.streaming:
            assert said(reply.message) == "False"


@pytest.mark.spec("http.resume-get-polling", "http.resume-retry-before-close", "http.resume-server-may-close")
@pytest.mark.parametrize("revision", revisions_of("http.resume-get-polling"))
def test_streams_that_are_open_for_long_are_polled(revision, monkeypatch):
    """[2025-11-25 basic/transports §Listening for Messages from the Server] SHOULD"""
    with Gate() as gate, web(revision, {"slow": lambda ctx: (tell(ctx), gate.hold())[0]}, poll_after=30.0) as client:
        streams = [client.get(), client.begin(1, "tools/call", work("slow"))]
        gate.entered()
        now = client.session.used
        monkeypatch.setattr("mcp_ref.deadline.clock", lambda: now + 29.0)
        client.endpoint.tick()
        assert [stream.finished for stream in streams] == [False, False]
        monkeypatch.setattr("mcp_ref.deadline.clock", lambda: now + 31.0)
        client.endpoint.tick()
        assert [stream.finished for stream in streams] == [True, True]
        assert [stream.retries for stream in streams] == [[1000], [1000]]
        client.server.broadcast("notifications/tools/list_changed")
        again = [client.get(stream.events[-1].id) for stream in streams]
        assert [message["method"] for message in again[0].messages()] == ["notifications/tools/list_changed"]
        gate.open()
        assert again[1].answer()["id"] == 1


# -- The version header ------------------------------------------------------------------------


@pytest.mark.spec("http.header-version-invalid-400")
@pytest.mark.parametrize("version", ["1999-01-01", "2025-06-18 ", "nonsense", "", "2025-06-18, 2025-06-18",
                                     "2026-07-28"])
@revisions("http.header-version-invalid-400")
def test_a_version_that_is_not_served_is_refused(revision, version):
    """[2025-06-18..2025-11-25 basic/transports §Protocol Version Header] MUST"""
    with web(revision, revisions=HANDSHAKE) as client:
        for method, body in (("POST", request(7, "ping")), ("POST", NOTE), ("GET", None), ("DELETE", None)):
            refused = client.handle(client.made(method, body, {"MCP-Protocol-Version": version}))
            assert refused.status == 400 and "MCP-Protocol-Version" in refused.message["error"]["message"], method
        client.lives()


@pytest.mark.spec("http.header-version-invalid-400")
@pytest.mark.parametrize("strict", [False, True])
@revisions("http.header-version-invalid-400")
def test_the_version_of_another_session_is_for_lenient_servers(revision, strict):
    """[2025-06-18..2025-11-25 basic/transports §Protocol Version Header] SHOULD"""
    with web(revision, strict=strict) as client:
        other = client.ask(1, "ping", headers={"MCP-Protocol-Version": "2025-03-26"})
        assert other.status == (400 if strict else 200)
        assert client.connection.counters["other version header"] == int(not strict)


@pytest.mark.spec("http.header-version-absent-assume")
@revisions("http.header-version-absent-assume")
def test_without_the_header_a_session_goes_by_what_was_negotiated(revision):
    """[2025-06-18..2025-11-25 basic/transports §Protocol Version Header] SHOULD"""
    with web(revision) as client:
        client.headers.pop("MCP-Protocol-Version")
        client.lives()
        assert client.post([PING]).status == 400


@pytest.mark.spec("http.header-version-absent-assume")
@pytest.mark.parametrize("version", [None, "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_without_header_and_session_it_is_2025_03_26(version):
    """[2025-06-18..2025-11-25 basic/transports §Protocol Version Header] SHOULD"""
    with web(None, {"which": lambda ctx: ctx.connection.session.revision}, sessions="none") as client:
        headers = {"MCP-Protocol-Version": version}
        assert said(client.ask(1, "tools/call", work("which"), headers=headers).message) == (version or "2025-03-26")
        batched = client.post([PING], headers=headers)
        assert batched.status == (200 if version in (None, "2025-03-26") else 400)


def test_initialize_is_answered_whatever_the_header_says():
    """[2025-11-25 basic/lifecycle §Version Negotiation]: the version is not agreed yet."""
    with web(None) as client:
        answer = client.handle(exchange("POST", {"MCP-Protocol-Version": "2999-01-01"}, opening("2999-01-01")))
        assert answer.message["result"]["protocolVersion"] == "2025-11-25"
