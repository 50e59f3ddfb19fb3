"""A field that has one value and comes twice is refused by name, not joined: of those on the way each may take another.

[RFC 9110 §5.3] MUST NOT be sent.
"""
import http.client
import json

import pytest

from mcp_ref import Server
from mcp_ref.http11.message import Headers
from mcp_ref.protocol.streamable_http.refusals import SINGLE
from tests.spec.basic.test_http_modern_headers import refused
from tests.support.http_exchange import Web, exchange, request
from tests.support.http_modern import ModernWeb, made
from tests.support.patience import WAIT
from tests.support.sides import working_server
from tests.transports.http_raw import Raw, serving
from tests.transports.test_wsgi import Site

PING = request(1, "ping")
VALUES = {"Origin": "http://localhost:8000", "Content-Type": "application/json", "Host": "localhost:8000",
          "MCP-Protocol-Version": "2025-11-25", "Last-Event-ID": "1-1", "Authorization": "Bearer secret"}


def web(**options):
    return Web(working_server({"quick": lambda ctx: "done"}), "2025-11-25", **options)


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("same", [True, False])
def test_each_is_refused_whatever_it_says(name, method, same):
    with web() as client:
        value = VALUES.get(name) or client.headers[name]
        body = PING if method == "POST" else None
        fields = {**client.headers, name: value}
        reply = client.handle(exchange(method, fields, body, more=[(name.swapcase(), value if same else "other")]))
        assert reply.status == 400 and reply.message["error"]["code"] in (-32600, -32020)
        assert "more than one field %s" % name in reply.message["error"]["message"]
        assert client.endpoint.counters.snapshot()["refused: repeated"] == 1
        assert client.post(PING).status == 200, "the session lives"


def test_lists_may_come_in_several_fields():
    with web() as client:
        fields = dict(client.headers, Accept="application/json")
        more = [("Accept", "text/event-stream"), ("X-Forwarded-For", "a"), ("X-Forwarded-For", "b"), ("Cookie", "a=1"),
                ("Cookie", "b=2")]
        assert client.handle(exchange("POST", fields, PING, more=more)).status == 200


@pytest.mark.parametrize("authenticate", ["token", lambda headers: "somebody"])
def test_credentials_come_once(authenticate):
    from mcp_ref.streamable.server.authenticate import OneToken

    guard = OneToken("secret") if authenticate == "token" else authenticate
    with Web(working_server({"quick": lambda ctx: "done"}), None, authenticate=guard) as client:
        for more in ("Bearer secret", "Bearer other"):
            reply = client.handle(exchange("POST", {"Authorization": "Bearer secret"}, PING,
                                           more=[("authorization", more)]))
            assert reply.status == 400 and "Authorization" in reply.message["error"]["message"]


def test_what_repeats_an_argument_comes_once_even_where_both_together_are_the_argument():
    """0.5.0 joined them: a proxy that goes by the first routes by "a", and the call is one for "a, b"."""
    server = Server("places")

    region = {"type": "string", "x-mcp-header": "Region"}

    @server.tool(input_schema={"type": "object", "properties": {"region": region}})
    def query(region):
        return region

    with ModernWeb(server) as client:
        message = client.message(5, "tools/call", {"name": "query", "arguments": {"region": "a, b"}})
        once = {"Mcp-Param-Region": "a, b"}
        assert client.handle(made(message, once)).status == 200
        twice = [("Mcp-Param-Region", "a"), ("mcp-param-region", "b")]
        assert refused(client.handle(made(message, more=twice)), "more than one field Mcp-Param-Region")
        for name in ("Mcp-Method", "Mcp-Name"):
            reply = client.handle(made(message, once, more=[(name, "")]))
            assert refused(reply, name)
        reply = client.handle(made(message, once, more=[("MCP-Protocol-Version", "2026-07-28")]))
        assert (reply.status, reply.code) == (400, -32020)
        assert "MCP-Protocol-Version" in reply.message["error"]["message"]


def test_a_name_that_is_two():
    server = Server("names")

    @server.prompt(name="a, b")
    def both():
        return "both"

    with ModernWeb(server) as client:
        message = client.message(5, "prompts/get", {"name": "a, b"})
        assert client.handle(made(message, {"Mcp-Name": "a, b"})).status == 200
        reply = client.handle(made(message, {"Mcp-Name": None}, more=[("Mcp-Name", "a"), ("Mcp-Name", "b")]))
        assert refused(reply, "more than one field Mcp-Name")


def test_over_a_socket():
    server = Server("web")
    with server.listen("http://127.0.0.1:0/mcp") as listener:
        address = listener.address.split("/")[2].split(":")
        with Raw((address[0], int(address[1]))) as raw:
            body = json.dumps(PING).encode()
            head = ("POST /mcp HTTP/1.1\r\nHost: %s:%s\r\nContent-Type: application/json\r\nAccept: */*\r\n"
                    "Mcp-Session-Id: a\r\nMcp-Session-Id: b\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                    % (*address, len(body)))
            raw.send(head.encode() + body)
            said = raw.rest()
    assert said.startswith(b"HTTP/1.1 400 ") and b"more than one field Mcp-Session-Id" in said


def test_a_head_like_the_one_before_is_still_known_to_repeat_something():
    block = b"POST / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n%bContent-Length: %d\r\n\r\n%b"
    seen = []

    def handler(exchange):
        seen.append(bool(exchange.request.headers.several))
        exchange.reply(200)

    with serving(handler) as running, Raw(running.address) as raw:
        raw.send(*(block % (more, length, b"x" * length) for more in (b"", b"X-A: 2\r\n") for length in (1, 2, 3)))
        raw.send(b"GET http://b/ HTTP/1.1\r\nHost: b\r\nX-A: 1\r\nX-A: 1\r\n\r\n")
        raw.send(b"GET http://b/ HTTP/1.0\r\nX-A: 1\r\n\r\n")
        raw.rest()
    assert seen == [False] * 3 + [True] * 4 + [False]
    assert Headers([("a", "1"), ("A", "2")]).repeated(["b", "A"]) == "A"
    assert not Headers([("a", "1"), ("b", "2")]).several


@pytest.mark.parametrize("variable", ["HTTP_MCP_SESSION_ID", "HTTP_MCP_PROTOCOL_VERSION", "CONTENT_TYPE", "HTTP_ORIGIN",
                                      "HTTP_LAST_EVENT_ID", "HTTP_MCP_METHOD"])
def test_what_a_wsgi_server_has_joined_is_taken_apart_where_no_comma_belongs(variable):
    with Site() as site:
        values = dict(site.fields, HTTP_MCP_PROTOCOL_VERSION="2025-06-18", HTTP_ORIGIN="http://localhost",
                      HTTP_LAST_EVENT_ID="1-1", HTTP_MCP_METHOD="ping")
        value = values[variable]
        answer = site.post(PING, **dict(site.fields, **{variable: "%s,%s" % (value, value)}))
        if variable == "HTTP_MCP_METHOD":  # of the other era
            assert answer.status == 200
        else:
            assert answer.status == 400 and b"more than one field" in answer.rest()


def test_a_client_of_the_standard_library_sends_each_once():
    """So that what is refused is no ordinary client: `http.client` with the fields of a proper request."""
    server = Server("web")
    with server.listen("http://127.0.0.1:0/mcp") as listener:
        connection = http.client.HTTPConnection(listener.address.split("/")[2], timeout=WAIT)
        connection.request("POST", "/mcp", json.dumps(request(1, "initialize", {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}})),
            {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"})
        assert connection.getresponse().status == 200
        connection.close()
