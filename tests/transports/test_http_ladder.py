"""The order of refusals: a request with every fault is refused by the first, and each that is mended shows the next."""
import json

import pytest

from mcp_ref.http11.message import Headers
from mcp_ref.protocol.streamable_http.refusals import HTTP_SSE, ORDER
from mcp_ref.server import Server
from mcp_ref.streamable.server.authenticate import AccessDenied, Guard
from mcp_ref.streamable.server.endpoint import Endpoint
from mcp_ref.streamable.server.http_sse import SseEndpoint
from tests.support.http_exchange import BOTH, exchange, opening, request
from tests.support.http_modern import STATELESS, enveloped, mirror

PING = request(1, "ping")


class Porter(Guard):
    """A guard that lets in everybody, or refuses as it is told."""

    admits = allows_all = None

    def admit(self, request):
        if self.admits is not None:
            raise self.admits
        return "somebody"

    def allows(self, principal, frame):
        return self.allows_all


def endpoint(**options):
    return Endpoint(Server("ladder").connect, authenticate=Porter(), **options)


def posted(made, message, **fields):
    sent = exchange("POST", {"Accept": BOTH, **fields}, message)
    made.handle(sent)
    return sent


@pytest.fixture
def opened():
    made = endpoint()
    id = posted(made, opening("2025-03-26")).headers.get("Mcp-Session-Id")
    yield made, {"Mcp-Session-Id": id}
    made.closing = False
    made.close(0)


def refused(made, sent):
    """Why the endpoint refuses this exchange."""
    before = made.counters.snapshot()
    made.handle(sent)
    now = made.counters.snapshot()
    (reason,) = [name for name in now if now[name] != before.get(name, 0)]
    return reason.replace("refused: ", "")


def test_a_post_with_all_faults_is_refused_by_the_first_and_each_that_is_mended_shows_the_next(opened):
    made, session = opened
    long = b'["' + b"x" * made.limits.max_message_bytes + b'"]'
    made.guard.admits, made.guard.allows_all = AccessDenied(401), AccessDenied(403)
    made.closing = made.strict = True
    now = {"fields": {"Host": "evil.example", "Origin": "https://evil.example", "Content-Type": "text/plain",
                      "Accept": "text/html", "Mcp-Session-Id": "none", "MCP-Protocol-Version": "1999-01-01"},
           "path": "/other", "body": long, "several": [("x-host", "a"), ("host", "a"), ("host", "b")]}
    mixed = json.dumps([PING, {"jsonrpc": "2.0", "id": 1, "result": {}}]).encode()
    mend = {
        "repeated": lambda: now.pop("several"),
        "host": lambda: now["fields"].pop("Host"),
        "origin": lambda: now["fields"].pop("Origin"),
        "path": lambda: now.update(path="/mcp"),
        "media type": lambda: now["fields"].pop("Content-Type"),
        "accept": lambda: now["fields"].pop("Accept"),
        "principal": lambda: setattr(made.guard, "admits", None),
        "length": lambda: now.update(body=b"{"),
        "scope": lambda: setattr(made.guard, "allows_all", None),
        "session": lambda: now["fields"].update(session),
        "body": lambda: now.update(body=mixed),
        "version": lambda: now["fields"].update({"MCP-Protocol-Version": "2025-03-26"}),
        "batch": lambda: now.update(body=json.dumps(PING).encode()),
        "closing": lambda: setattr(made, "closing", False),
    }
    seen = []
    while len(seen) < len(mend):
        fields = {"Content-Type": "application/json", "Accept": BOTH, **now["fields"]}
        sent = exchange("POST", fields, now["body"], now["path"])
        if "several" in now:
            sent.request = sent.request._replace(headers=Headers([*sent.request.headers.pairs(), *now["several"]]))
        reason = refused(made, sent)
        assert reason not in seen
        seen.append(reason)
        mend[reason]()
    assert seen == [reason for reason in ORDER["POST"] if reason in mend] == list(mend)
    assert posted(made, PING, **session).done().status == 200


def test_a_stateless_post_shows_its_faults_in_the_same_order():
    made = endpoint(streams=False)
    running = request(1, "subscriptions/listen", enveloped({"notifications": {}}))
    fields = dict(mirror(running), **{"MCP-Protocol-Version": "2025-11-25", "Mcp-Method": "ping"})
    made.guard.allows_all, made.closing = AccessDenied(403), True
    mend = {
        "scope": lambda: setattr(made.guard, "allows_all", None),
        "era": lambda: fields.update({"MCP-Protocol-Version": STATELESS}),
        "closing": lambda: setattr(made, "closing", False),
        "fields": lambda: fields.update({"Mcp-Method": running["method"]}),
        "no stream": lambda: None,
    }
    for reason in mend:
        assert refused(made, exchange("POST", {"Accept": BOTH, **fields}, running)) == reason
        mend[reason]()
    assert list(mend) == [reason for reason in ORDER["POST"] if reason in mend]
    made.close(0)


def walked(made, mend, send):
    """Return the reasons for which a request is refused; each is mended in its turn."""
    seen = []
    while len(seen) < len(mend):
        reason = refused(made, send())
        assert reason in mend and reason not in seen, (reason, seen)
        seen.append(reason)
        mend[reason]()
    return seen


def in_order(seen, order):
    return seen == [reason for reason in order if reason in seen]


def with_everybody_refused(made):
    """Have nobody let in, and the endpoint closing; return how to mend the three reasons."""
    made.guard.admits, made.guard.allows_all, made.closing = AccessDenied(401), AccessDenied(403), True
    return {"principal": lambda: setattr(made.guard, "admits", None),
            "scope": lambda: setattr(made.guard, "allows_all", None),
            "closing": lambda: setattr(made, "closing", False)}


def test_a_post_that_begins_a_session_shows_its_faults_in_order():
    made, sent = endpoint(), {"body": b"{"}
    mend = dict(with_everybody_refused(made), **{
        "body": lambda: sent.update(body=json.dumps(PING).encode()),
        "no session": lambda: sent.update(body=json.dumps(opening("2025-11-25")).encode())})
    seen = walked(made, mend, lambda: exchange("POST", {"Accept": BOTH}, sent["body"]))
    assert in_order(seen, ORDER["POST"])
    made.close(0)


def test_a_post_without_sessions_shows_its_faults_in_order():
    made, sent = endpoint(sessions="none", revisions=["2025-03-26", "2025-06-18"]), {"body": b"{"}
    fields = {"Accept": BOTH, "MCP-Protocol-Version": "1999-01-01"}
    mixed = [PING, {"jsonrpc": "2.0", "id": 1, "result": {}}]
    mend = dict(with_everybody_refused(made), **{
        "body": lambda: sent.update(body=json.dumps(mixed).encode()),
        "version": lambda: fields.update({"MCP-Protocol-Version": "2025-06-18"}),
        "batch": lambda: sent.update(body=json.dumps(PING).encode())})
    seen = walked(made, mend, lambda: exchange("POST", fields, sent["body"]))
    assert in_order(seen, ORDER["POST"])
    made.close(0)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_another_method_of_a_session_shows_its_faults_in_order(opened, method):
    made, session = opened
    fields = {"Accept": "text/html", "MCP-Protocol-Version": "1999-01-01"}
    mend = dict(with_everybody_refused(made), **{
        "stream accept": lambda: fields.update(Accept=BOTH),
        "no session": lambda: fields.update({"Mcp-Session-Id": "none"}),
        "session": lambda: fields.update(session),
        "version": lambda: fields.update({"MCP-Protocol-Version": "2025-03-26", "Last-Event-ID": "none"}),
        "event": lambda: fields.pop("Last-Event-ID")})
    mend = {reason: mend[reason] for reason in ORDER[method] if reason in mend}
    assert walked(made, mend, lambda: exchange(method, fields)) == list(mend)
    made.closing = False


def test_both_addresses_of_http_sse_show_their_faults_in_order():
    legacy = SseEndpoint(Server("ladder").connect, authenticate=Porter())
    streams, messages = legacy._streams, legacy._messages
    fields = {"Accept": "text/html", "MCP-Protocol-Version": "1999-01-01"}
    mend = dict(with_everybody_refused(streams), **{
        "stream accept": lambda: fields.update(Accept=BOTH),
        "version": lambda: fields.pop("MCP-Protocol-Version")})
    seen = walked(streams, mend, lambda: exchange("GET", fields, path="/sse"))
    assert in_order(seen, HTTP_SSE["GET"])
    stream = exchange("GET", fields, path="/sse")
    legacy.handle(stream)
    address = stream.events[0].data.decode()
    sent = {"query": "sessionId=none", "body": b"{"}
    fields = {"MCP-Protocol-Version": "1999-01-01"}

    def message():
        made = exchange("POST", fields, sent["body"], "/messages")
        made.request = made.request._replace(query=sent["query"])
        return made

    mend = dict(with_everybody_refused(messages), **{
        "session": lambda: sent.update(query=address.partition("?")[2]),
        "version": lambda: fields.pop("MCP-Protocol-Version"),
        "body": lambda: sent.update(body=json.dumps([PING]).encode()),
        "batch": lambda: sent.update(body=json.dumps(PING).encode())})
    seen = walked(messages, mend, message)
    assert in_order(seen, HTTP_SSE["POST"])
    legacy.close(0)
