"""The ladder of refusals as a table: every rung, alone and before all that come after it."""
import pytest

from mcp_ref.jsonrpc import parse
from mcp_ref.protocol.streamable_http.header_values import LOOPBACK, Hosts
from mcp_ref.protocol.streamable_http.refusals import (
    ORDER, REFUSALS, Rules, batch_fault, kinds, preflight, version_fault,
)
from mcp_ref.revisions import REVISIONS, revision

METHODS = ("GET", "POST", "DELETE", "OPTIONS")
BOTH = "application/json, text/event-stream"
GOOD = {"path": "/mcp", "host": "localhost:8000", "origin": None, "accept": BOTH, "content_type": "application/json"}
FAULTS = {
    "host": {"host": "evil.example"},
    "origin": {"origin": "https://evil.example"},
    "path": {"path": "/other"},
    "media type": {"content_type": "text/plain"},
    "accept": {"accept": "text/html"},
    "stream accept": {"accept": "application/json"},
}
"""Reason -> header fields that give it, and no other."""


def rules(strict=False, path="/mcp", methods=METHODS):
    return Rules(path, methods, Hosts(LOOPBACK), Hosts(LOOPBACK), strict)


def judged(method, strict=False, **fields):
    return rules(strict).judge(method, **dict(GOOD, **fields))


def test_every_reason_that_is_looked_for_has_an_answer_and_the_other_way_round():
    assert {reason for order in ORDER.values() for reason in order} | {"failure"} == set(REFUSALS)
    for name, refusal in REFUSALS.items():
        assert refusal.text.count("%s") == 1 and refusal.text % "x%sx", name
        assert 400 <= refusal.status <= 503 and refusal.code < 0, name


@pytest.mark.parametrize("method", METHODS)
def test_a_proper_request_is_let_in(method):
    verdict = judged(method)
    assert verdict == (None, "", (), True, True)


@pytest.mark.parametrize("method", METHODS)
def test_each_reason_is_found_and_the_first_of_two_wins(method):
    order = [reason for reason in ORDER[method] if reason in FAULTS]
    assert order
    for place, reason in enumerate(order):
        assert judged(method, **FAULTS[reason]).reason == reason
        for later in order[place + 1:]:
            fields = dict(FAULTS[later], **FAULTS[reason])
            assert judged(method, **fields).reason == reason, (reason, later)


@pytest.mark.parametrize("method", ["HEAD", "PUT", "PATCH", "TRACE", "CONNECT", "get", "Post", "", "MCP"])
def test_other_methods_are_not_allowed_but_nobody_foreign_learns_that(method):
    assert judged(method).reason == "method"
    assert judged(method, origin="https://evil.example").reason == "origin"
    assert judged(method, path="/other").reason == "path"


def test_methods_that_an_endpoint_lacks():
    verdict = rules(methods=("POST", "OPTIONS")).judge("GET", **GOOD)
    assert verdict.reason == "method" and rules(methods=("POST", "OPTIONS")).allow == "POST, OPTIONS"


@pytest.mark.parametrize("accept, lenient, strict", [
    (BOTH, None, None), (None, None, None), ("*/*", None, None), ("application/json", None, "accept"),
    ("text/event-stream", None, "accept"), ("text/*", None, "accept"), ("text/html", "accept", "accept"),
    ("application/json;q=0, text/event-stream;q=0", "accept", "accept"), ("", "accept", "accept"),
])
def test_what_a_post_must_accept(accept, lenient, strict):
    assert judged("POST", accept=accept).reason == lenient
    assert judged("POST", strict=True, accept=accept).reason == strict


@pytest.mark.parametrize("content_type, taken", [
    ("application/json", True), ("APPLICATION/JSON; charset=utf-8", True), (None, False), ("", False), ("json", False),
    ("application/json-seq", False), ("text/plain", False), ("application/x-www-form-urlencoded", False),
    ("text/plain; application/json", False), ("application/json, text/plain", False),
])
def test_a_post_is_json(content_type, taken):
    assert (judged("POST", content_type=content_type).reason is None) == taken
    assert judged("GET", content_type=content_type).reason is None


@pytest.mark.parametrize("path, right", [
    ("/mcp", True), ("/mcp/", True), ("/", False), ("/MCP", False), ("/mcp2", False), ("//mcp", False),
    ("/mcp/x", False), ("/%6dcp", False)])
def test_the_path(path, right):
    assert (judged("POST", path=path).reason is None) == right
    assert rules(path=None).judge("POST", **dict(GOOD, path=path)).reason is None


def test_an_old_client_may_leave_host_out_but_not_leave_it_empty():
    assert judged("POST", host=None).reason is None
    assert judged("POST", host="").reason == "host" and judged("POST", origin="").reason == "origin"


@pytest.mark.parametrize("fields, fields_named", [
    ({"origin": "http://localhost:5173"}, True), ({"origin": None}, False), ({"origin": "https://evil.example"}, False),
    ({"origin": "http://localhost", "host": "evil.example"}, False),
    ({"origin": "http://localhost", "path": "/x"}, True),
])
def test_only_pages_that_are_allowed_may_see_the_reply(fields, fields_named):
    cors = dict(judged("POST", **fields).cors)
    assert bool(cors) == fields_named
    if cors:
        assert cors["Access-Control-Allow-Origin"] == fields["origin"] and cors["Vary"] == "Origin"
        assert "Mcp-Session-Id" in cors["Access-Control-Expose-Headers"]
        assert "WWW-Authenticate" in cors["Access-Control-Expose-Headers"]


@pytest.mark.parametrize("wanted, allowed", [
    ("authorization, mcp-protocol-version", {"authorization", "mcp-protocol-version"}),
    ("Mcp-Session-Id,Last-Event-ID, Mcp-Param-X", {"mcp-session-id", "last-event-id", "mcp-param-x"}),
    ("x-evil, cookie, accept", {"accept"}),
    (None, {"authorization", "dpop", "content-type", "accept", "last-event-id"}),
])
def test_a_preflight_is_told_which_fields_may_be_sent(wanted, allowed):
    fields = dict(preflight("GET, POST", wanted))
    assert set(fields["Access-Control-Allow-Headers"].split(", ")) == allowed
    assert fields["Access-Control-Allow-Methods"] == "GET, POST"


def test_a_refusal_quotes_no_more_than_it_must():
    assert len(judged("POST", origin="https://%s.example" % ("x" * 5000)).found) == 200


@pytest.mark.parametrize("agreed", [None, *REVISIONS])
@pytest.mark.parametrize("strict", [False, True])
def test_versions(agreed, strict):
    known = [str(each) for each in REVISIONS[:3]]
    for value in [str(each) for each in REVISIONS] + ["", "x", "2025-06-18 "]:
        fault = version_fault(value, known, agreed, strict)
        other = strict and agreed is not None and value != str(agreed)
        assert bool(fault) == (value not in known or other), value


REQUEST, NOTE, RESPONSE, ERROR = (
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}', b'{"jsonrpc":"2.0","method":"x"}',
    b'{"jsonrpc":"2.0","id":1,"result":{}}', b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}')
BAD_REQUEST, BAD_NOTE, BAD_RESPONSE = (
    b'{"jsonrpc":"2.0","id":1,"method":5}', b'{"jsonrpc":"2.0","method":"x","params":[]}',
    b'{"jsonrpc":"2.0","id":1,"result":5}')


@pytest.mark.parametrize("items, requests, responses, broken, others, mixed", [
    ([REQUEST], [1], False, False, False, False), ([NOTE], [], False, False, True, False),
    ([RESPONSE], [], True, False, False, False), ([ERROR], [], True, False, False, False),
    ([REQUEST, NOTE], [1], False, False, True, False), ([RESPONSE, ERROR], [], True, False, False, False),
    ([REQUEST, RESPONSE], [1], True, False, False, True), ([NOTE, ERROR], [], True, False, True, True),
    ([BAD_REQUEST], [], False, True, False, False), ([b"7"], [], False, True, False, False),
    ([BAD_NOTE], [], False, False, False, False), ([BAD_RESPONSE], [], True, False, False, False),
    ([BAD_RESPONSE, REQUEST], [1], True, False, False, True), ([b"7", RESPONSE], [], True, True, False, True),
])
def test_what_is_in_a_batch(items, requests, responses, broken, others, mixed):
    """[2025-03-26 basic/transports §Sending Messages to the Server] MUST"""
    found = kinds(parse(b"[%s]" % b",".join(items), True))
    assert found == (requests, responses, broken, others)
    assert bool(batch_fault(found, True)) == mixed and batch_fault(found, False)


def test_revisions_that_have_polling():
    assert [str(each) for each in REVISIONS if each.stream_polling] == ["2025-11-25"]
    assert revision("2025-11-25").stream_polling
