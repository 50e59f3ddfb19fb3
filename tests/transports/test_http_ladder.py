"""The ladder of a request: every reason of the table is looked for, in its order, whatever the way."""
import json

import pytest

from mcp_ref.http11.message import Headers
from mcp_ref.protocol.streamable_http.refusals import HTTP_SSE, ORDER
from mcp_ref.server import Server
from mcp_ref.streamable.server.authenticate import AccessDenied, Guard
from mcp_ref.streamable.server.endpoint import Endpoint
from mcp_ref.streamable.server.http_sse import SseEndpoint
from mcp_ref.streamable.server.post import RUNGS, RequestRefusal
from tests.support.http_exchange import BOTH, exchange, opening, request
from tests.support.http_modern import STATELESS, enveloped, mirror

BY_HEADERS = {"repeated", "host", "origin", "path", "method", "media type", "accept", "stream accept"}
"""The reasons that `Rules` finds, and the endpoint before it."""
BY_ANSWER = {"event"}
"""The reason that a GET finds as it answers."""
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


def ways(made):
    """All ways of an endpoint by the name of their class."""
    found = [made._ways[method] for method in ("GET", "POST", "DELETE") if method in made._ways]
    found += [made.stateless, made.in_session, made.opening, made.sessionless]
    return {type(way).__name__: way for way in found}


def places(order, names):
    """Where checks stand in the order of a method: the first of the reasons that each looks for."""
    return [min(order.index(reason) for reason in order if RUNGS.get(reason) == name) for name in names]


# -- The table ---------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [*ORDER.values(), *HTTP_SSE.values()])
def test_every_reason_is_found_by_the_header_fields_or_is_a_rung(order):
    assert [reason for reason in order if reason not in RUNGS and reason not in BY_HEADERS | BY_ANSWER] == []


def test_every_rung_of_a_post_is_a_check_of_one_of_its_ways():
    kinds = ways(endpoint())
    wanted = {RUNGS[reason] for reason in ORDER["POST"] if reason in RUNGS}
    found = {name: kind for kind in ("AnyPost", "InSession", "OpeningPost", "Sessionless", "Stateless")
             for name in kinds[kind].rungs()}
    assert set(found) == wanted


def test_the_checks_of_every_way_stand_in_the_order_of_the_table():
    made, legacy = endpoint(), SseEndpoint(Server("ladder").connect, authenticate=Porter())
    found = [*ways(made).values(), legacy._streams._ways["GET"], legacy._messages._ways["POST"]]
    assert len(found) == 9
    for way in found:
        taken = places(way.order, way.rungs())
        assert taken == sorted(set(taken)) and len(way.checks) == len(taken) > 0, type(way)
    first = places(ORDER["POST"], ways(made)["AnyPost"].rungs())[-1]
    for kind in ("InSession", "OpeningPost", "Sessionless", "Stateless"):
        assert places(ORDER["POST"], ways(made)[kind].rungs())[0] > first, "it goes on where the first part ends"


def test_without_a_guard_nobody_is_asked():
    made = Endpoint(Server("ladder").connect)
    assert not {"admit", "allow"} & {name for way in ways(made).values() for name in way.rungs()}


# -- The walk ----------------------------------------------------------------------------------


def recorded(made, walked):
    """Have the ways of an endpoint say which checks they walk."""
    for way in ways(made).values():
        way.checks = tuple(_said(name, check, walked) for name, check in zip(way.rungs(), way.checks))


def _said(name, check, walked):
    def said(case):
        walked.append(name)
        return check(case)

    return said


def posted(made, message, **fields):
    sent = exchange("POST", {"Accept": BOTH, **fields}, message)
    made.handle(sent)
    return sent


@pytest.mark.parametrize("kind, options, message, fields", [
    ("OpeningPost", {}, opening("2025-11-25"), {}),
    ("Sessionless", {"sessions": "none"}, PING, {"MCP-Protocol-Version": "2025-11-25"}),
    ("Stateless", {}, request(1, "server/discover", enveloped()), mirror(request(1, "server/discover", enveloped()))),
])
def test_a_post_that_is_answered_has_passed_every_rung_in_order(kind, options, message, fields):
    made, walked = endpoint(**options), []
    recorded(made, walked)
    assert posted(made, message, **fields).done().status == 200
    assert walked == ways(made)["AnyPost"].rungs() + ways(made)[kind].rungs()
    made.close(0)


@pytest.fixture
def opened():
    made = endpoint()
    id = posted(made, opening("2025-03-26")).headers.get("Mcp-Session-Id")
    yield made, {"Mcp-Session-Id": id}
    made.closing = False
    made.close(0)


def test_a_post_of_a_session_has_passed_every_rung_in_order(opened):
    made, fields = opened
    walked = []
    recorded(made, walked)
    assert posted(made, PING, **fields).done().status == 200
    assert walked == ways(made)["AnyPost"].rungs() + ways(made)["InSession"].rungs()
    walked.clear()
    assert posted(made, [PING], **fields).done().status == 200
    assert walked == ways(made)["AnyPost"].rungs() + ways(made)["InSession"].rungs()


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


def test_a_check_that_refuses_ends_the_walk():
    made, walked = endpoint(), []
    recorded(made, walked)
    way = ways(made)["AnyPost"]
    way.checks = (way.checks[0], lambda case: RequestRefusal("length", "1"), *way.checks[1:])
    assert posted(made, PING).status == 413 and walked == ["admit"]
