"""Streamable HTTP of the stateless era, the server's side; no sockets (those are in tests/transports)."""
import inspect
import threading

import pytest

from mcp_ref.errors import RpcError
from mcp_ref.limits import Limits
from mcp_ref.protocol import envelope
from mcp_ref.revisions import HANDSHAKE_REVISIONS
from mcp_ref.server import Server
from mcp_ref.server.serving.http_listener import HttpListener
from mcp_ref.streamable.server.stateless import StatelessTransport
from mcp_ref.wiretrace import Trace
from tests.support.http_exchange import exchange, opening, request
from tests.support.http_modern import OUT, STATELESS, ModernWeb, enveloped, made
from tests.support.scripted import PATIENCE
from tests.support.sides import Gate, eventually, in_thread, said, work_params, working_server

LEGACY = [revision.name for revision in HANDSHAKE_REVISIONS]
SPOKEN = {"dual": None, "modern only": [STATELESS]}
both_kinds = pytest.mark.parametrize("revisions", list(SPOKEN.values()), ids=list(SPOKEN))
NOTE = {"jsonrpc": "2.0", "method": "notifications/whatever", "params": {}}
LISTEN = {"notifications": {"toolsListChanged": True}}


def web(handlers=None, revisions=None, limits=None, **options):
    more = {} if limits is None else {"limits": limits}
    return ModernWeb(working_server(handlers or {"quick": lambda ctx: "done"}, revisions=revisions, **more), **options)


def work(do, **more):
    return dict(work_params(do), **more)


def tell(ctx):
    """A handler that says something before it answers."""
    ctx.progress(1, 2, "half")
    ctx.log("info", "on the way")
    return "done"


def stay(gate):
    """A handler that waits at a gate, and tells whether it was cancelled."""
    seen = []

    def handler(ctx):
        gate.hold()
        seen.append(ctx.cancelled.is_set())
        return "done"

    handler.seen = seen
    return handler


# -- The endpoint ------------------------------------------------------------------------------


@pytest.mark.spec("http.endpoint-post")
@both_kinds
def test_one_path_takes_posts(revisions):
    """[2026-07-28 basic/transports/streamable-http §Sending Messages] MUST"""
    with web(revisions=revisions) as client:
        answer = client.ask(1, "tools/call", work("quick"))
        assert answer.status == 200 and answer.message["id"] == 1 and said(answer.message) == "done"
        assert client.post(client.message(1, "server/discover"), path="/elsewhere").status == 404


@pytest.mark.spec("http.origin-validate", "http.origin-403", "http.error-body-no-id")
@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example", "nonsense"])
def test_pages_of_other_sites_are_refused(origin):
    """[2026-07-28 basic/transports/streamable-http §Security & Endpoint] MUST"""
    with web() as client:
        refused = client.ask(1, "tools/call", work("quick"), {"Origin": origin})
        assert refused.status == 403 and "id" not in refused.message and refused.code == -32600
        assert "access-control-allow-origin" not in refused.headers
        assert client.connected == []
        assert client.ask(1, "server/discover", headers={"Origin": "http://localhost:5173"}).status == 200


@pytest.mark.spec("http.bind-localhost")
def test_a_server_that_is_told_nothing_is_there_for_this_machine_only():
    """[2026-07-28 basic/transports/streamable-http §Security & Endpoint] SHOULD"""
    assert inspect.signature(Server.run_http).parameters["host"].default == "127.0.0.1"
    with HttpListener(working_server({}, revisions=[STATELESS]), "http:///mcp") as listener:
        assert listener.address.startswith("http://127.0.0.1:")


@pytest.mark.spec("http.authenticate")
def test_every_request_shows_who_sends_it_and_is_that_ones_alone():
    """[2026-07-28 basic/transports/streamable-http §Security & Endpoint] SHOULD"""
    def who(headers):
        return {"Bearer a": "anna", "Bearer b": ["bert"]}.get(headers.get("authorization"))

    with web({"who": lambda ctx: ctx.principal}, authenticate=who) as client:
        unknown = client.ask(1, "tools/call", work("who"))
        assert unknown.status == 401 and unknown.headers.get("www-authenticate") == "Bearer"
        for token, name in (("a", "anna"), ("b", "['bert']"), ("a", "anna")):
            assert said(client.ask(1, "tools/call", work("who"), {"Authorization": "Bearer " + token}).message) == name


# -- Bodies ------------------------------------------------------------------------------------


@pytest.mark.spec("http.notification-202")
@pytest.mark.parametrize("headers", [{}, {"MCP-Protocol-Version": OUT}, {"Mcp-Method": OUT}, {"Mcp-Method": "other"}])
@pytest.mark.parametrize("meta", [True, False])
@both_kinds
def test_notifications_are_accepted_without_a_body_whatever_their_headers(revisions, meta, headers):
    """[2026-07-28 basic/transports/streamable-http §Sending Messages] MUST"""
    with web(revisions=revisions) as client:
        if revisions is None and not meta and "MCP-Protocol-Version" in headers:
            return  # nothing says that it is not one of a session
        accepted = client.post(dict(NOTE, params=enveloped() if meta else {}), headers)
        assert accepted.status == 202 and accepted.done().raw == b""
        client.lives()


@pytest.mark.spec("http.notification-rejected")
@pytest.mark.parametrize("body", [NOTE, dict(NOTE, method="notifications/initialized")])
@pytest.mark.parametrize("version", ["2099-01-01", "nonsense"])
@both_kinds
def test_notifications_of_versions_that_are_not_served_are_refused(revisions, version, body):
    """[2026-07-28 basic/transports/streamable-http §Sending Messages] MUST"""
    with web(revisions=revisions) as client:
        refused = client.post(body, {"MCP-Protocol-Version": version})
        assert refused.status == 400 and refused.code == -32022 and "id" not in refused.message


RESPONSE = {"jsonrpc": "2.0", "id": 1, "result": {}}
NO_REQUESTS = {
    "batch": [request(1, "tools/list", enveloped())], "batch of notes": [NOTE], "empty batch": [], "result": RESPONSE,
    "error": {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}}, "broken": b"{", "nothing": b"",
    "no message": {"jsonrpc": "2.0"}, "old": {"jsonrpc": "1.0", "id": 1, "method": "tools/list"}, "text": "hello",
    "binary": b"\xff\xfe", "two": b"{}{}",
}


@pytest.mark.spec("http.notification-rejected", "http.error-body-no-id")
@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in NO_REQUESTS.items()])
@both_kinds
def test_what_is_neither_a_request_nor_a_notification_is_refused(revisions, body):
    """[2026-07-28 basic/transports/streamable-http §Sending Messages] MUST"""
    with web(revisions=revisions) as client:
        for headers in ({}, {"Mcp-Session-Id": "nobody's"}):
            refused = client.post(body, headers)
            assert refused.status == 400 and refused.code in (-32600, -32700), refused
            assert client.connected == []
        client.lives()


def test_a_broken_body_is_one_whatever_session_it_names_where_there_are_none():
    """[2026-07-28 basic/transports/streamable-http §Earlier Streamable HTTP Revisions]"""
    for options in ({"sessions": "none"}, {"revisions": [STATELESS]}):
        with web(**options) as client:
            for version in (OUT, "2025-11-25", STATELESS):
                refused = client.post(b"{", {"MCP-Protocol-Version": version, "Mcp-Session-Id": "x"})
                assert (refused.status, refused.code) == (400, -32700)


@pytest.mark.parametrize("id", [0, 7, -1, 2**53, "a", "", "ü", "x" * 1000])
def test_answers_have_the_id_of_their_request(id):
    """[2026-07-28 basic/index §Responses] MUST"""
    with web() as client:
        assert client.ask(id, "tools/call", work("quick")).message["id"] == id
        assert client.ask(id, "no/such").message["id"] == id
        assert client.ask(id, "tools/call", work("quick"), {"Mcp-Name": "other"}).message["id"] == id


# -- Replies -----------------------------------------------------------------------------------


@pytest.mark.spec("http.post-response-content-type")
@pytest.mark.parametrize("json_response, quick, telling", [
    (None, "application/json", "text/event-stream"), (True, "application/json", "application/json"),
    (False, "text/event-stream", "text/event-stream")])
def test_replies_are_json_or_streams(json_response, quick, telling):
    """[2026-07-28 basic/transports/streamable-http §Sending Messages] MUST"""
    with web({"quick": lambda ctx: "done", "tell": tell}, json_response=json_response) as client:
        for do, kind in (("quick", quick), ("tell", telling)):
            reply = client.ask(3, "tools/call", work(do), progressToken=5)
            assert reply.status == 200 and reply.done().headers.get("content-type") == kind
            assert said(reply.answer()) == "done" and reply.answer()["id"] == 3


@pytest.mark.parametrize("accept, quick, telling", [
    ("application/json", 1, 1), ("text/event-stream", 1, 2), ("*/*", 1, 2), (None, 1, 2)])
def test_a_client_gets_what_it_accepts(accept, quick, telling):
    """[2026-07-28 basic/transports/streamable-http §Sending Messages]"""
    with web({"quick": lambda ctx: "done", "tell": tell}) as client:
        for do, count in (("quick", quick), ("tell", telling)):
            reply = client.ask(3, "tools/call", work(do), {"Accept": accept or OUT}, progressToken=5)
            assert len(reply.messages()) == count and said(reply.answer()) == "done"
            if accept and "*" not in accept:
                assert reply.headers.get("content-type") == accept
        assert client.ask(3, "tools/call", work("quick"), {"Accept": "text/html"}).status == 406


@pytest.mark.spec("http.stream-notifications", "http.stream-related-notifications", "http.stream-close-after-response",
                  "http.x-accel-buffering")
def test_what_belongs_to_a_request_comes_on_its_stream_and_the_answer_ends_it():
    """[2026-07-28 basic/transports/streamable-http §Receiving Messages] MUST, SHOULD"""
    level = {envelope.LOG_LEVEL: "debug"}
    with Gate() as gate, web({"tell": lambda ctx: (gate.hold(), tell(ctx))[1]}) as client:
        streams = [client.begin(1, "tools/call", work("tell"), progressToken="t%d" % number, **level)
                   for number in range(3)]  # ids of clients that do not know of each other
        gate.entered(3)
        gate.open()
        for number, stream in enumerate(streams):
            progress, log, answer = stream.done().messages()
            assert progress["method"] == "notifications/progress"
            assert progress["params"]["progressToken"] == "t%d" % number
            assert log["method"] == "notifications/message" and log["params"]["data"] == "on the way"
            assert said(answer) == "done" and answer["id"] == 1
            assert stream.headers.get("x-accel-buffering") == "no" and stream.finished
            assert stream.headers.get("content-type") == "text/event-stream"


@pytest.mark.spec("http.x-accel-buffering")
def test_a_stream_of_one_event_is_not_held_back_by_a_proxy_either():
    """[2026-07-28 basic/transports/streamable-http §Receiving Messages] SHOULD"""
    with web() as client:
        stream = client.ask(1, "tools/call", work("quick"), {"Accept": "text/event-stream"})
        assert said(stream.answer()) == "done" and len(stream.events) == 1 and stream.finished
        assert stream.headers.get("content-type") == "text/event-stream"
        assert stream.headers.get("x-accel-buffering") == "no"


@pytest.mark.spec("http.stream-no-server-requests")
def test_no_request_of_the_server_is_on_any_stream():
    """[2026-07-28 basic/transports/streamable-http §Receiving Messages] MUST NOT"""
    tried = []

    def asks(ctx):
        ctx.progress(1)
        for method in ("sampling/createMessage", "elicitation/create", "roots/list", "ping"):
            with pytest.raises(Exception) as caught:
                ctx.call(method, {})
            tried.append(str(caught.value))
        return "done"

    with web({"asks": asks}) as client:
        reply = client.ask(1, "tools/call", work("asks"), capabilities={"sampling": {}, "elicitation": {}, "roots": {}},
                           progressToken=1)
        assert [message.get("method") for message in reply.done().messages()] == ["notifications/progress", None]
        assert len(tried) == 4


def test_no_session_and_no_connection_is_made_for_a_request():
    """[2026-07-28 basic/index §Statelessness] MUST NOT"""
    with web() as client:
        for number in range(5):
            assert client.ask(number, "tools/call", work("quick")).status == 200
        assert len(client.connected) == 1 and client.server.connections == []
        assert len(client.endpoint.sessions) == 0 and client.endpoint.counters.snapshot() == {}
        assert len(client.connected[0].inflight) == 0


def test_a_handler_that_closes_the_connection_does_so_for_nobody_who_comes_later():
    """Requests of all clients share one."""
    def closes(ctx):
        ctx.connection.close("a handler's whim")
        return "done"

    with web({"closes": closes, "quick": lambda ctx: "done"}) as client:
        assert client.ask(1, "tools/call", work("closes")).done().status == 503
        assert said(client.ask(2, "tools/call", work("quick")).message) == "done" and len(client.connected) == 2


# -- Refusals and their status -----------------------------------------------------------------

REMOVED = ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"]


@pytest.mark.spec("http.method-not-found-404")
@pytest.mark.parametrize("method", REMOVED + ["unknown/method", "tasks/list", "roots/list", "", "prompts/list"])
@both_kinds
def test_methods_that_are_not_there_are_not_found(revisions, method):
    """[2026-07-28 basic/transports/streamable-http §Protocol Version Header] MUST"""
    with web(revisions=revisions) as client:
        missing = client.ask(9, method)
        assert missing.status == 404 and missing.code == -32601 and missing.message["id"] == 9


def test_what_a_handler_answers_has_status_200_unless_it_refuses_the_request_as_such():
    """[2026-07-28 basic/index §`_meta`] MUST"""
    def refuse(code):
        def handler(ctx):
            raise RpcError(code, "no", {"requiredCapabilities": {"sampling": {}}} if code == -32021 else None)

        return handler

    codes = {-32602: 200, -32601: 200, -32603: 200, -31999: 200, -32021: 400}
    with web({str(code): refuse(code) for code in codes}) as client:
        for code, status in codes.items():
            answer = client.ask(1, "tools/call", work(str(code)))
            assert (answer.status, answer.code) == (status, code)
        missing = client.ask(1, "tools/call", {"name": "nobody", "arguments": {}})
        assert (missing.status, missing.code) == (200, -32602)
        assert client.ask(1, "tools/call", work("none of these")).status == 200


@pytest.mark.parametrize("left_out", [envelope.VERSION, envelope.CAPABILITIES, "_meta", "all of it"])
@pytest.mark.parametrize("method", ["server/discover", "tools/call", "no/such"])
@both_kinds
def test_a_request_that_says_too_little_of_itself_is_malformed(revisions, method, left_out):
    """[2026-07-28 basic/index §`_meta`] MUST: -32602, and the status is 400."""
    params = enveloped(work("quick"))
    if left_out == "_meta":
        params["_meta"] = {}
    elif left_out == "all of it":
        del params["_meta"]
    else:
        del params["_meta"][left_out]
    with web(revisions=revisions) as client:
        for headers in ({}, {"Mcp-Session-Id": "nobody's"}, {"Mcp-Method": OUT}):
            refused = client.post(request(4, method, params), headers)
            assert (refused.status, refused.code, refused.message["id"]) == (400, -32602, 4)


@pytest.mark.parametrize("meta", [None, [], "x", 3, True, {envelope.VERSION: 3}, {envelope.VERSION: None},
                                  {envelope.VERSION: STATELESS, envelope.CAPABILITIES: []},
                                  {envelope.VERSION: STATELESS, envelope.CAPABILITIES: {}, envelope.LOG_LEVEL: "loud"},
                                  {envelope.VERSION: STATELESS, envelope.CAPABILITIES: {}, envelope.CLIENT_INFO: "me"}])
def test_what_a_request_says_of_itself_is_read_with_care(meta):
    """[2026-07-28 basic/index §`_meta`] MUST"""
    with web() as client:
        refused = client.post(request(4, "server/discover", {"_meta": meta}))
        assert (refused.status, refused.code) == (400, -32602)
        client.lives()


# -- Which era a POST belongs to ---------------------------------------------------------------

ERAS = {
    # header, version in _meta (OUT: no such member, None: no such _meta) -> (status, code) of a server of both eras
    (None, None): (400, -32600), (None, "2025-11-25"): (400, -32020), (None, STATELESS): (400, -32020),
    (None, "2099-01-01"): (400, -32020), (None, OUT): (400, -32602),
    ("2025-11-25", None): (400, -32600), ("2025-11-25", "2025-11-25"): (400, -32022),
    ("2025-11-25", STATELESS): (400, -32020), ("2025-11-25", "2099-01-01"): (400, -32020),
    ("2025-11-25", OUT): (400, -32602),
    (STATELESS, None): (400, -32602), (STATELESS, "2025-11-25"): (400, -32020), (STATELESS, STATELESS): (200, None),
    (STATELESS, "2099-01-01"): (400, -32020), (STATELESS, OUT): (400, -32602),
    ("2099-01-01", None): (400, -32022), ("2099-01-01", "2025-11-25"): (400, -32020),
    ("2099-01-01", STATELESS): (400, -32020), ("2099-01-01", "2099-01-01"): (400, -32022),
    ("2099-01-01", OUT): (400, -32602),
    ("", STATELESS): (400, -32020), (STATELESS + ", " + STATELESS, STATELESS): (400, -32020),
}
ALONE = {(None, None): (400, -32020), ("2025-11-25", None): (400, -32022)}
"""What a server without sessions answers, where that is another thing."""


def outcome(reply):
    return reply.status, reply.message.get("error", {}).get("code")


def posted(client, header, version, session):
    params = {} if version is None else enveloped(version=version)
    headers = {"MCP-Protocol-Version": OUT if header is None else header}
    headers.update({} if session is None else {"Mcp-Session-Id": session})
    return client.post(request(6, "tools/list", params), headers)


@pytest.mark.spec("http.header-version-mismatch-rejected", "http.header-version-unsupported-400",
                  "http.header-version-absent-reject", "version.unsupported-error", "http.session-ignored-modern")
@pytest.mark.parametrize("header, version", list(ERAS))
@both_kinds
def test_the_era_of_a_request_is_decided_by_header_and_body(revisions, header, version):
    """[2026-07-28 basic/transports/streamable-http §Protocol Version Header] MUST"""
    with web(revisions=revisions) as client:
        expected = ERAS[header, version]
        if revisions is not None:
            expected = ALONE.get((header, version), expected)
        refused = posted(client, header, version, None)
        assert outcome(refused) == expected
        assert refused.message.get("id") == 6 and "mcp-session-id" not in refused.headers
        if expected[1] == -32022:
            data = refused.message["error"]["data"]
            assert data == {"supported": data["supported"], "requested": header}
            assert data["supported"] == ([STATELESS] if revisions else [STATELESS, *reversed(LEGACY)])


@pytest.mark.spec("http.session-ignored-modern", "version.dual-era-server", "version.dual-era-concurrent")
@pytest.mark.parametrize("header, version", list(ERAS))
def test_in_a_session_only_what_is_of_the_stateless_era_is_answered_by_its_rules(header, version):
    """[2026-07-28 basic/versioning §Compatibility Matrix]"""
    with web() as client:
        begun = client.handle(exchange("POST", None, opening("2025-11-25")))
        session = begun.headers.get("mcp-session-id")
        started = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert client.handle(exchange("POST", {"Mcp-Session-Id": session}, started)).status == 202
        expected = ERAS[header, version]
        legacy = version is None and header in (None, "2025-11-25")
        if legacy:
            expected = (200, None)
        elif version is None and header == "2099-01-01":
            expected = (400, -32600)  # the session's rules refuse the header
        reply = posted(client, header, version, session)
        assert outcome(reply) == expected and "mcp-session-id" not in reply.headers
        if expected == (200, None):
            assert ("resultType" in reply.message["result"]) == (not legacy)
        for id in ("nobody's", "", "x" * 5000, "\x01"):
            assert outcome(posted(client, STATELESS, STATELESS, id)) == (200, None)


@pytest.mark.spec("http.header-version-absent-may-assume")
def test_a_server_with_older_clients_takes_a_request_without_the_header_as_one_of_theirs():
    """[2026-07-28 basic/transports/streamable-http §Protocol Version Header] MAY"""
    with web(sessions="none") as client:
        assert outcome(posted(client, None, None, None)) == (200, None)


@pytest.mark.spec("version.modern-only-initialize-error")
@pytest.mark.parametrize("header", [None, "2025-11-25", STATELESS, "2099-01-01"])
def test_a_server_without_sessions_names_its_versions_to_who_wants_one(header):
    """[2026-07-28 basic/versioning §Backward Compatibility with Initialization-Based Versions] SHOULD"""
    with web(revisions=[STATELESS]) as client:
        refused = client.post(opening("2025-11-25"), {"MCP-Protocol-Version": header or OUT, "Mcp-Method": OUT})
        assert (refused.status, refused.code) == (400, -32022) and STATELESS in refused.message["error"]["message"]
        assert refused.message["error"]["data"] == {"supported": [STATELESS], "requested": "2025-11-25"}


@pytest.mark.parametrize("header", [None, "2025-11-25", STATELESS, "2099-01-01"])
def test_initialize_without_an_envelope_opens_a_session_whatever_the_header_says(header):
    """[2026-07-28 basic/versioning §Compatibility Matrix]"""
    with web() as client:
        begun = client.post(opening("2025-06-18"), {"MCP-Protocol-Version": header or OUT, "Mcp-Method": OUT})
        assert begun.status == 200 and begun.headers.get("mcp-session-id")


@pytest.mark.parametrize("session", [None, "nobody's"])
def test_a_server_of_the_older_era_answers_nothing_that_looks_modern(session):
    """[2026-07-28 basic/transports/streamable-http §Backward Compatibility]: so that clients fall back."""
    with web(revisions=LEGACY) as client:
        for header, version in ERAS:
            status, code = outcome(posted(client, header, version, session))
            assert 400 <= status < 500 and code == -32600


@pytest.mark.spec("http.legacy-get-delete-405", "http.resume-ignored-modern")
@pytest.mark.parametrize("headers", [{}, {"Last-Event-ID": "p1-0"}, {"Mcp-Session-Id": "x"}, {"Accept": "*/*"}])
def test_a_server_without_sessions_takes_neither_get_nor_delete(headers):
    """[2026-07-28 basic/transports/streamable-http §Earlier Streamable HTTP Revisions] SHOULD"""
    with web(revisions=[STATELESS]) as client:
        for method in ("GET", "DELETE", "PUT", "HEAD", "PATCH"):
            refused = client.handle(exchange(method, headers))
            assert refused.status == 405 and refused.headers.get("allow") == "POST, OPTIONS"


@pytest.mark.spec("http.resume-ignored-modern", "http.session-ignored-modern")
@both_kinds
def test_streams_have_no_ids_and_are_not_resumed(revisions):
    """[2026-07-28 basic/transports/streamable-http §Earlier Streamable HTTP Revisions] SHOULD"""
    with web({"tell": tell}, revisions, poll_after=0.0) as client:
        for headers in ({}, {"Last-Event-ID": "p1-0"}, {"Last-Event-ID": "junk", "Mcp-Session-Id": "junk"}):
            stream = client.ask(1, "tools/call", work("tell"), headers, progressToken=1)
            client.endpoint.tick()
            assert stream.status == 200 and len(stream.done().messages()) == 2
            assert b"id: " not in stream.raw and b"retry: " not in stream.raw
            assert "mcp-session-id" not in stream.headers


def test_browsers_may_send_the_header_fields_of_this_era():
    """[2026-07-28 basic/transports/streamable-http §Standard Request Headers]"""
    wanted = "content-type, mcp-protocol-version, mcp-method, mcp-name, mcp-param-region, x-evil"
    with web(revisions=[STATELESS]) as client:
        headers = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": wanted}
        asked = client.handle(exchange("OPTIONS", dict(headers, Origin="http://localhost:1")))
        assert asked.status == 204 and asked.headers.get("access-control-allow-methods") == "POST, OPTIONS"
        assert asked.headers.get("access-control-allow-headers") == wanted.replace(", x-evil", "")
        answer = client.ask(1, "server/discover", headers={"Origin": "http://localhost:1"})
        assert answer.headers.get("access-control-allow-origin") == "http://localhost:1"
        refused = client.ask(1, "server/discover", headers={"Origin": "http://localhost:1", "Mcp-Method": "x"})
        assert refused.headers.get("access-control-allow-origin") == "http://localhost:1"


# -- Clients that go away ----------------------------------------------------------------------


@pytest.mark.spec("cancel.http-disconnect-cancels", "cancel.no-further-messages", "cancel.stop-processing",
                  "cancel.no-response", "cancel.free-resources")
@pytest.mark.race
@pytest.mark.parametrize("says", [False, True], ids=["before anything was sent", "in the middle of the stream"])
def test_a_client_that_goes_away_cancels_its_request_and_hears_nothing_more(says):
    """[2026-07-28 basic/transports/streamable-http §Cancellation] MUST"""
    seen = []

    def handler(ctx):
        if says:
            ctx.progress(1)
        gate.hold()
        seen.append(ctx.cancelled.wait(PATIENCE))
        with pytest.raises(Exception):
            ctx.progress(2)
        return "nobody hears this"

    with Gate() as gate, Gate() as others, web({"stay": handler, "other": stay(others)}) as client:
        leaving = client.begin(1, "tools/call", work("stay"), progressToken=1)
        staying = client.begin(1, "tools/call", work("other"), progressToken=1)
        gate.entered()
        others.entered()
        before = leaving.raw
        leaving.leave()
        gate.open()
        eventually(lambda: len(client.connected[0].inflight) == 1)
        assert seen == [True] and leaving.raw == before and not leaving.finished
        others.open()
        assert said(staying.answer()) == "done"  # and nobody else's request is


@pytest.mark.spec("cancel.race", "cancel.in-flight")
def test_a_client_that_goes_away_when_all_is_over_cancels_nothing():
    """[2026-07-28 basic/patterns/cancellation §Timing Considerations] MUST"""
    with web() as client:
        reply = client.ask(1, "tools/call", work("quick"))
        assert said(reply.message) == "done"
        reply.gone = False
        reply.on_close()
        client.lives()


@pytest.mark.spec("cancel.log-reason")
def test_why_a_request_was_cancelled_is_in_the_log(caplog):
    """[2026-07-28 basic/patterns/cancellation §Implementation Notes] SHOULD"""
    with Gate() as gate, caplog.at_level("INFO", "mcp_ref"), web({"stay": stay(gate)}) as client:
        leaving = client.begin("abc", "tools/call", work("stay"))
        gate.entered()
        leaving.leave()
        assert [record.getMessage() for record in caplog.records] == [
            "request 'abc' cancelled: the client went away"]
        gate.open()


def test_messages_after_a_piece_that_was_not_taken_count_as_sent_to_a_client_that_left():
    """The engine finds out by the failed send that a client is gone, and calls ``on_close`` only later."""
    def handler(ctx):
        for step in range(4):
            ctx.progress(step)
            leaving.gone = True
        return "nobody hears this"

    with web({"tell": handler}) as client:
        leaving = made(client.message(1, "tools/call", work("tell"), progressToken=1))
        client.handle(leaving)
        assert len(leaving.messages()) == 1
        assert client.connected[0].transport.counters() == {"messages after the client left": 3}


def test_a_client_that_goes_away_before_its_request_is_looked_at_is_noticed():
    """[2026-07-28 basic/transports/streamable-http §Cancellation] MUST"""
    ran = []
    with web({"quick": lambda ctx: ran.append(1)}) as client:
        leaving = made(client.message(1, "tools/call", work("quick")))
        leaving.watch = leaving.leave
        client.handle(leaving)
        assert ran == [] and leaving.raw == b"" and len(client.connected[0].inflight) == 0


@pytest.mark.spec("cancel.ignore-unknown", "cancel.may-ignore-unknown", "cancel.ignore-malformed",
                  "cancel.ignore-completed")
@both_kinds
@pytest.mark.parametrize("params", [{"requestId": 1}, {"requestId": "over"}, {"requestId": 9}, {"requestId": None}, {},
                                    {"requestId": [1]}, {"requestId": 1, "reason": 3}])
def test_a_cancellation_that_is_posted_cancels_nobodys_request(revisions, params):
    """[2026-07-28 basic/patterns/cancellation §Error Handling] SHOULD: over HTTP ids are those of one client."""
    with Gate() as gate:
        handler = stay(gate)
        with web({"stay": handler}, revisions) as client:
            client.ask("over", "server/discover")
            reply = client.begin(1, "tools/call", work("stay"))
            gate.entered()
            cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": enveloped(params)}
            assert client.post(cancelled).status == 202
            gate.open()
            assert said(reply.answer()) == "done" and handler.seen == [False]


# -- Listening ---------------------------------------------------------------------------------


def listening(client, **options):
    stream = client.ask("me", "subscriptions/listen", LISTEN, **options)
    assert stream.status == 200 and stream.next()["method"] == "notifications/subscriptions/acknowledged"
    return stream


@pytest.mark.parametrize("json_response", [None, True, False])
@both_kinds
def test_listening_keeps_a_stream_open_without_a_thread(revisions, json_response):
    """[2026-07-28 basic/patterns/subscriptions §Opening a Stream]"""
    with web(revisions=revisions, json_response=json_response) as client:
        client.lives()
        before = threading.active_count()
        streams = [listening(client) for _ in range(20)]
        assert threading.active_count() == before
        client.server.remove_tool("work")
        for stream in streams:
            assert stream.next()["method"] == "notifications/tools/list_changed" and not stream.finished
            assert stream.headers.get("x-accel-buffering") == "no"
        streams[0].leave()
        eventually(lambda: len(client.connected[0].inflight) == 19)


def test_quiet_streams_are_kept_alive(monkeypatch):
    """[2026-07-28 basic/transports/streamable-http §Receiving Messages]"""
    from mcp_ref import deadline

    now = [1000.0]
    monkeypatch.setattr(deadline, "clock", lambda: now[0])
    with web(limits=Limits(stream_keepalive=10)) as client:
        stream = listening(client)
        for seconds, comments in ((9, 0), (1, 1), (9, 1), (1, 2)):
            now[0] += seconds
            client.endpoint.tick()
            assert stream.comments == comments
        client.endpoint.close(0)
        now[0] += 100
        client.endpoint.tick()
        assert stream.comments == 2


@pytest.mark.spec("subscribe.graceful-close")
def test_a_listener_hears_that_the_server_ends_its_stream():
    """[2026-07-28 basic/patterns/subscriptions §Graceful Closure] SHOULD"""
    with web() as client:
        stream = listening(client)
        client.endpoint.close(PATIENCE)  # which it does not wait for
        last = stream.answer()
        assert last["id"] == "me" and last["result"]["_meta"][envelope.SUBSCRIPTION] == "me" and stream.finished


def test_listening_is_refused_where_no_stream_can_be():
    """Reading: as a method that is not there, which clients know what to do about."""
    with web(streams=False) as client:
        refused = client.ask(1, "subscriptions/listen", LISTEN)
        assert (refused.status, refused.code) == (404, -32601) and "streams=True" in refused.message["error"]["message"]
    with web() as client:
        refused = client.ask(1, "subscriptions/listen", LISTEN, {"Accept": "application/json"})
        assert (refused.status, refused.code) == (404, -32601)


# -- Many clients on one connection ------------------------------------------------------------


def test_one_principal_cannot_take_what_the_others_need():
    """See ``max_inflight``."""
    def who(headers):
        return headers.get("authorization")

    handlers, few = {"stay": lambda ctx: gate.hold()}, Limits(max_inflight=2)
    with Gate() as gate, web(handlers, limits=few, authenticate=who) as client:
        mine, yours = {"Authorization": "me"}, {"Authorization": "you"}
        listener = listening(client, headers=mine)
        begun = client.begin(1, "tools/call", work("stay"), mine)
        gate.entered()
        refused = client.ask(2, "tools/list", headers=mine)
        assert (refused.status, refused.code) == (503, -32603)
        assert "max_inflight (2)" in refused.message["error"]["message"]
        assert client.ask(2, "tools/list", headers=yours).status == 200
        listener.leave()
        eventually(lambda: client.ask(2, "tools/list", headers=mine).status == 200)
        gate.open()
        begun.done()


def test_a_request_stays_with_the_connection_that_has_counted_it(monkeypatch):
    """A handler may close the connection of all requests between the check and the answer: see `Endpoint.connect`."""
    with web(limits=Limits(max_inflight=1), authenticate=lambda headers: "me") as client:
        expect = StatelessTransport.expect

        def counted_and_closed(transport, reply, principal):
            found = expect(transport, reply, principal)
            if len(client.connected) == 1:
                transport.connection.close("a handler wants it")
            return found

        monkeypatch.setattr(StatelessTransport, "expect", counted_and_closed)
        client.ask(1, "tools/list").done()
        assert client.ask(2, "tools/list").status == 200 and len(client.connected) == 2
        assert [len(each.transport._clients) for each in client.connected] == [0, 0]


def test_clients_that_cannot_be_told_apart_are_not_held_to_the_limit_of_one():
    """See ``max_inflight``: open streams of others must not make a server refuse work."""
    with web(limits=Limits(max_inflight=2)) as client:
        streams = [listening(client) for _ in range(10)]
        assert said(client.ask(1, "tools/call", work("quick")).message) == "done"
        assert not any(stream.finished for stream in streams)


# -- The end -----------------------------------------------------------------------------------


def test_running_requests_finish_and_new_ones_are_refused_while_the_endpoint_closes():
    """See `Endpoint.close`."""
    with Gate() as gate, web({"stay": stay(gate), "quick": lambda ctx: "done"}) as client:
        running = client.begin(1, "tools/call", work("stay"))
        gate.entered()
        closing = in_thread(client.endpoint.close, PATIENCE)
        eventually(lambda: client.endpoint.closing)
        refused = client.ask(2, "tools/call", work("quick"))
        assert refused.status == 503 and refused.headers.get("retry-after") and refused.message["id"] == 2
        gate.open()
        assert said(running.answer()) == "done"
        closing.get()


def test_requests_that_do_not_end_in_time_are_cut_off():
    """See `Endpoint.close`."""
    def stubborn(ctx):
        if ctx.meta.get("progressToken"):
            ctx.progress(1)
        gate.hold()

    with Gate() as gate, web({"stay": stubborn}, limits=Limits(shutdown_grace=0.01)) as client:
        quiet, loud = client.begin(1, "tools/call", work("stay")), client.begin(2, "tools/call", work("stay"),
                                                                                progressToken=1)
        gate.entered(2)
        client.endpoint.close(0)
        assert quiet.done().status == 503 and quiet.message["id"] == 1
        assert len(loud.done().messages()) == 1
        gate.open()


def test_what_a_trace_sees():
    """Every message of this era, and no session."""
    events = []
    with web({"tell": tell}, trace=Trace(events.append)) as client:
        client.ask(1, "tools/call", work("tell"), progressToken=1).done()
    seen = [event.message.get("method", "answer") for event in events if event.message]
    assert seen == ["tools/call", "notifications/progress", "answer"]
