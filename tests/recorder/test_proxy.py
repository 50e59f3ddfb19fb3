"""The proxy `trace --http`: what passes is what came, whatever both sides do, and the trace tells it."""
import errno
import gzip
import json
import os
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

import pytest

import mcp_ref
from mcp_ref.devtools.recorder import exchanges, proxy
from mcp_ref.devtools.recorder.proxy import host_of, listen_address
from mcp_ref.limits import Limits
from mcp_ref.server.serving.http_listener import HttpListener
from mcp_ref.wiretrace import Trace
from tests.recorder.proxying import Recorded, Upstream, exactly, proxied, receive, rest
from tests.recorder.shimming import ROOT, SHIM, events
from tests.support.patience import WAIT, patience

CERTIFICATE = ROOT / "tests" / "data" / "tls" / "localhost.pem"
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
PONG = b'{"jsonrpc":"2.0","id":1,"result":{}}'
PACKED = gzip.compress(PONG)
GET = b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def post(body, *fields):
    head = b"".join(b"%s\r\n" % field for field in (b"POST /mcp HTTP/1.1", b"Host: 127.0.0.1", *fields))
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def answer(body, *fields):
    head = b"".join(b"%s\r\n" % field for field in (b"HTTP/1.1 200 OK", *fields))
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def exchange(recorded, upstream, request, response):
    """Send both through the proxy on new connections; return what arrived at the server and at the client."""
    client = recorded.client()
    client.sendall(request)
    server = upstream.accept()
    arrived = exactly(server, len(request) + len(upstream.authority) - len("127.0.0.1"))
    server.sendall(response)
    return arrived, exactly(client, len(response))


def test_everything_passes_as_it_is_but_host():
    with proxied() as (upstream, recorded):
        request = (b"PURGE /mcp?scope=%20b&c HTTP/1.1\r\nhOsT:  127.0.0.1\r\nX-Odd:   two  spaces \r\nx-odd: again\r\n"
                   b"Transfer-Encoding: chunked\r\n\r\n5;ext=1\r\nhello\r\n0\r\nTrailer: x\r\n\r\n")
        response = (b"HTTP/1.1 299 Very  Odd\r\nServer: x\r\nset-cookie: a=b\r\nTransfer-Encoding: chunked\r\n\r\n"
                    b"00003\r\nabc\r\n0\r\n\r\n")
        client = recorded.client()
        client.sendall(request)
        server = upstream.accept()
        assert receive(server, b"Trailer: x\r\n\r\n") == request.replace(
            b"hOsT:  127.0.0.1", b"hOsT: " + upstream.authority.encode())
        server.sendall(response)
        assert exactly(client, len(response)) == response
    (asked,), (said,), (end,) = recorded.of("request"), recorded.of("response"), recorded.of("end")
    assert (asked.more["method"], asked.more["target"]) == ("PURGE", "/mcp?scope=%20b&c")
    assert [name for name, _ in asked.more["fields"]] == ["hOsT", "X-Odd", "x-odd", "Transfer-Encoding"]
    assert asked.more["fields"][0][1] == "127.0.0.1"
    assert asked.more["url"] == "http://" + upstream.authority
    assert said.more["status"] == 299 and said.more["fields"][0] == ["Server", "x"]
    assert [event.more.get("text") for event in recorded.of("body")] == ["hello", "abc"]
    assert (end.more["complete"], end.direction) == (True, "server")


def test_fields_for_one_connection_do_not_pass():
    with proxied() as (upstream, recorded):
        client = recorded.client()
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, X-Own\r\nX-Own: 1\r\n"
                       b"TE: trailers\r\nUpgrade: h2c\r\nKeep-Alive: 5\r\nX-Other: 2\r\n\r\n")
        server = upstream.accept()
        assert receive(server, b"\r\n\r\n") == (
            b"GET / HTTP/1.1\r\nHost: %s\r\nConnection: keep-alive\r\nKeep-Alive: 5\r\nX-Other: 2\r\n\r\n"
            % upstream.authority.encode())
        server.sendall(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        server.close()
        assert rest(client) == b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize("option", [b"content-length", b"Content-Length, host", b"transfer-encoding"])
def test_no_option_of_a_connection_makes_another_request_of_a_body(option):
    inner = b"GET /smuggled HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    with proxied() as (upstream, recorded):
        client = recorded.client()
        client.sendall(post(inner, b"Connection: " + option))
        head = receive(upstream.accept(), inner)
        assert b"Content-Length: %d\r\n" % len(inner) in head and head.endswith(inner)
    assert [event.more["method"] for event in recorded.of("request")] == ["POST"]


@pytest.mark.parametrize("charset", [b"undefined", b"unicode_escape", b"punycode", b"utf-7"])
def test_a_body_in_a_coding_that_is_none_is_recorded_as_bytes(charset):
    with proxied() as (upstream, recorded):
        exchange(recorded, upstream, GET, answer(b"abc", b"Content-Type: text/html; charset=" + charset))
    assert [event.more.get("base64") for event in recorded.of("body")] == ["YWJj"]
    assert recorded.of("end")


def test_a_form_that_is_cut_is_a_form_and_its_secrets_are_masked(monkeypatch):
    monkeypatch.setattr(exchanges, "LONGEST_BODY", 40)
    body = b"grant_type=x&code=SECRET99SECRET&state=SECRET"
    with proxied() as (upstream, recorded):
        exchange(recorded, upstream, post(body, b"Content-Type: application/x-www-form-urlencoded"), answer(b"x"))
    form = recorded.of("body")[0].more
    assert form["form"][0] == ["grant_type", "x"] and form["size"] == len(body) and "SECRET" not in repr(form)


def test_a_form_of_many_parameters_is_recorded_in_part(monkeypatch):
    monkeypatch.setattr(exchanges, "MOST_PAIRS", 3)
    body = b"a=1&b=2&c=3&d=4&e=5"
    with proxied() as (upstream, recorded):
        exchange(recorded, upstream, post(body, b"Content-Type: application/x-www-form-urlencoded"), answer(b"x"))
    assert [name for name, _ in recorded.of("body")[0].more["form"]] == ["a", "b", "c"]
    assert recorded.of("body")[0].more["size"] == len(body)


def test_endpoints_that_are_remembered_are_bounded(monkeypatch):
    monkeypatch.setattr(exchanges, "MOST_ENDPOINTS", 2)
    http = exchanges.HttpRecorder(None, "http://h")
    for path in ("/a", "/b", "/a", "/c"):
        http.add(path)
    assert list(http.endpoints) == ["/b", "/c"]


def test_host_passes_where_it_is_asked_for():
    with proxied(keep_host=True) as (upstream, recorded):
        recorded.client().sendall(GET)
        assert receive(upstream.accept(), b"\r\n\r\n") == GET


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "[::2]:80"])
def test_a_request_for_another_host_is_refused_here(host):
    with proxied() as (upstream, recorded):
        client = recorded.client()
        client.sendall(b"POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Length: 100\r\n\r\n" % host.encode())
        client.shutdown(socket.SHUT_WR)
        data = rest(client)
        assert data.startswith(b"HTTP/1.1 403 Forbidden\r\n") and b"DNS rebinding" in data
        upstream.listener.settimeout(0)
        with pytest.raises(BlockingIOError):
            upstream.listener.accept()
    (end,) = recorded.of("end")
    assert not recorded.of("response") and not end.direction and "the recorder answered 403" in end.text


@pytest.mark.parametrize("host, code", [
    ("evil.example", 403), ("127.0.0.1.evil.example:80", 403), ("192.0.2.7:80", 0), ("[2001:db8::1]", 0),
    ("localhost:7", 0), ("recorder.example:9", 0),
])
def test_other_machines_reach_it_by_an_address_or_an_allowed_name(host, code):
    with proxied(host="0.0.0.0", allowed_hosts=["recorder.example"]) as (upstream, recorded):
        client = recorded.client()
        client.sendall(b"GET /mcp HTTP/1.1\r\nHost: %s\r\n\r\n" % host.encode())
        if code:
            assert receive(client, b"\r\n").startswith(b"HTTP/1.1 403") and b"--allowed-host" in rest(client)
        else:
            assert upstream.authority.encode() in receive(upstream.accept(), b"\r\n\r\n")


@pytest.mark.parametrize("host", ["localhost:1", "LOCALHOST", "127.0.0.1:9", "[::1]:3"])
def test_a_request_for_this_machine_is_not(host):
    with proxied() as (upstream, recorded):
        recorded.client().sendall(b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % host.encode())
        assert upstream.authority.encode() in receive(upstream.accept(), b"\r\n\r\n")


def test_messages_are_told_with_their_exchange_and_secrets_are_masked():
    secret = b"sk-abcdefghijklmnopqrstuvwx"
    with proxied() as (upstream, recorded):
        for _ in range(2):
            request = post(PING, b"Content-Type: application/json", b"Authorization: Bearer " + secret,
                           b"Mcp-Session-Id: one")
            exchange(recorded, upstream, request, answer(
                PONG, b"Content-Type: application/json", b"Mcp-Session-Id: o\xe9"))
    assert [(event.direction, event.message, event.exchange) for event in recorded.of("message")] == [
        ("client", json.loads(PING), 1), ("server", json.loads(PONG), 1),
        ("client", json.loads(PING), 2), ("server", json.loads(PONG), 2)]
    assert secret.decode() not in repr(recorded.events)
    fields = [dict(event.more["fields"]) for event in recorded.of("request")]
    assert fields[0]["Authorization"] == fields[1]["Authorization"]
    assert fields[0]["Authorization"].startswith("Bearer ***")
    assert fields[0]["Mcp-Session-Id"] == fields[1]["Mcp-Session-Id"] != "one"
    assert dict(recorded.of("response")[0].more["fields"])["Mcp-Session-Id"].endswith("!")
    assert [event.more["transport"] for event in recorded.of("open")] == ["streamable-http"]


@pytest.mark.parametrize("length", [
    b"Content-Length: %d\r\n\r\n%s", b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n"])
def test_a_field_that_repeats_a_secret_of_the_message_is_masked_as_there(length):
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"password":"hunter2","city":"Bern"}}}'
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Param-Word: hunter2\r\nMcp-Param-City: Bern\r\n"
    with proxied() as (upstream, recorded):
        client = recorded.client()
        client.sendall(head + length % (len(body), body))
        receive(upstream.accept(), b"}}}")
        recorded.wait("message")
    assert [event.kind for event in recorded.events[1:4]] == ["request", "open", "message"]
    fields = dict(recorded.of("request")[0].more["fields"])
    arguments = recorded.of("message")[0].message["params"]["arguments"]
    assert fields["Mcp-Param-Word"] == arguments["password"] != "hunter2" and fields["Mcp-Param-City"] == "Bern"
    assert "hunter2" not in repr(recorded.events)


def test_events_pass_as_they_come_and_are_told_with_their_fields():
    with proxied() as (upstream, recorded):
        client = recorded.client()
        client.sendall(GET)
        server = upstream.accept()
        receive(server, b"\r\n\r\n")
        server.sendall(STREAM)
        assert receive(client, b"\r\n\r\n") == STREAM
        for part in (b"id: 7\r\nretry: 50\ndata: {\"json", b"rpc\":\"2.0\",\ndata: \"method\":\"a\"}\r",
                     b"\n\r\n: comment\n\n", b"event: ping\ndata: x\n\nid: 8\ndata:\n\n"):
            server.sendall(chunk(part))
            assert exactly(client, len(chunk(part))) == chunk(part)
        recorded.wait("event", 2)
        assert not recorded.of("end")
        server.sendall(b"0\r\n\r\n")
        assert exactly(client, 5) == b"0\r\n\r\n"
        recorded.wait("end")
    (message,) = recorded.of("message")
    assert message.message == {"jsonrpc": "2.0", "method": "a"} and message.more["sse"] == {"id": "7", "retry": 50}
    assert message.text == '{"jsonrpc":"2.0",\n"method":"a"}'  # not on one line
    assert [dict(event.more) for event in recorded.of("event")] == [
        {"event": "ping", "data": "x"}, {"id": "8", "data": ""}]
    assert recorded.of("end")[0].more["complete"]


def test_old_transport_is_recognised_by_its_endpoint_event():
    with proxied() as (upstream, recorded):
        client = recorded.client()
        client.sendall(GET)
        server = upstream.accept()
        receive(server, b"\r\n\r\n")
        server.sendall(STREAM + chunk(b"event: endpoint\ndata: /letters?sessionId=secret\n\n"))
        recorded.wait("event")
        other = recorded.client()
        other.sendall(b"POST /letters?sessionId=secret HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nnope")
        receive(upstream.accept(), b"nope")
        recorded.wait("message")
    assert [event.more["transport"] for event in recorded.of("open")] == ["http+sse"]
    assert recorded.of("message")[0].text == "nope"  # posted to where messages are posted
    assert "secret" not in recorded.of("request")[1].more["target"]


def test_documents_and_forms_are_bodies_with_secrets_masked():
    form = b"grant_type=authorization_code&code=very-secret&code_verifier=very-secret&client_id=me"
    token = b'{"access_token":"very-secret","token_type":"Bearer","expires_in":3600}'
    with proxied() as (upstream, recorded):
        request = post(form, b"Content-Type: application/x-www-form-urlencoded").replace(b"/mcp", b"/token")
        exchange(recorded, upstream, request, answer(token, b"Content-Type: application/json"))
        exchange(recorded, upstream, GET, answer(b"\xff\xfe\x00", b"Content-Type: image/png"))
    sent, said, image = recorded.of("body")
    form = dict(sent.more["form"])
    assert (form["grant_type"], form["client_id"]) == ("authorization_code", "me")
    assert said.more["json"]["expires_in"] == 3600 and image.more == {"base64": "//4A"}
    assert "very-secret" not in repr(recorded.events) and not recorded.of("message")


@pytest.mark.parametrize("coding, packed", [
    (b"gzip", PACKED), (b"br", PONG), (b"gzip", PONG), (b"gzip", gzip.compress(b"x" * 17_000_000))],
    ids=["gzip", "unknown", "broken", "huge"])
def test_compressed_bodies_pass_as_they_are_and_are_recorded_as_they_were(coding, packed):
    response = answer(packed, b"Content-Type: application/json", b"Content-Encoding: " + coding)
    with proxied() as (upstream, recorded):
        assert exchange(recorded, upstream, post(PING), response)[1] == response
    said = [event for event in recorded.of("message") if event.direction == "server"]
    if packed is PACKED:
        assert said[0].message == json.loads(PONG)
    else:
        assert not said and len(recorded.of("gap")) == 1


@pytest.mark.parametrize("plain, whole", [
    (b"data:\n\n" * 1_000_000, False), (b"id\n\n" * 1_000_000, False), (b"data: 1\n\n" * 1_000_000, False),
    (b"".join(b'data: {"jsonrpc":"2.0","method":"notifications/x","params":{"n":%d}}\n\n' % number
              for number in range(3000)), True), (b"data:\n\n" * 900, True),
], ids=["no data", "an id alone", "tiny data", "honest", "few"])
def test_a_compressed_stream_has_no_more_recorded_events_than_bytes(plain, whole):
    packed = gzip.compress(plain)
    response = answer(packed, b"Content-Type: text/event-stream", b"Content-Encoding: gzip")
    with proxied() as (upstream, recorded):
        assert exchange(recorded, upstream, post(PING), response)[1] == response
    seen = [event for event in recorded.of("message") + recorded.of("event") if event.direction == "server"]
    if whole:
        assert len(seen) == plain.count(b"\n\n") and not recorded.of("gap")
    else:
        gap, = recorded.of("gap")
        assert len(seen) <= len(packed) + 1000 < 20_000 and "more events than bytes" in gap.text


def test_a_large_body_passes_in_parts_and_is_recorded_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(exchanges, "LONGEST_BODY", 100_000)
    size = 8_000_000
    with proxied() as (upstream, recorded):
        client = recorded.client()
        head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % size
        client.sendall(head)
        server = upstream.accept()
        receive(server, b"\r\n\r\n")
        for _ in range(8):  # each part arrives before the next one is sent
            client.sendall(b"x" * 1_000_000)
            assert exactly(server, 1_000_000) == b"x" * 1_000_000
        server.sendall(answer(b""))
        recorded.wait("end")
    (body,), (gap,) = recorded.of("body"), recorded.of("gap")
    assert body.more["size"] == size and len(body.more["text"]) == 100_000
    assert gap.text == "all but the first 100000 of the %d bytes of a body" % size


def test_a_slow_reader_makes_the_server_wait(monkeypatch):
    monkeypatch.setattr(exchanges, "LONGEST_BODY", 100_000)
    with proxied() as (upstream, recorded):
        client = recorded.client()
        client.sendall(GET)
        server = upstream.accept()
        receive(server, b"\r\n\r\n")
        size = 64 * 1024 * 1024
        server.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        server.settimeout(patience(0.3))
        sent = 0
        with pytest.raises(socket.timeout):
            while sent < size:
                sent += server.send(b"y" * 65536)
        assert 0 < sent < 20_000_000
        receive(client, b"\r\n\r\n")
        assert exactly(client, sent) == b"y" * sent


def test_a_client_that_hangs_up_mid_stream_ends_the_stream():
    with proxied() as (upstream, recorded):
        client = recorded.client()
        client.sendall(GET)
        server = upstream.accept()
        receive(server, b"\r\n\r\n")
        server.sendall(STREAM + chunk(b"data: 1\n\n"))
        receive(client, chunk(b"data: 1\n\n"))
        client.close()
        try:
            assert server.recv(10) == b""
        except ConnectionResetError:
            pass
        recorded.wait("end")
    (end,) = recorded.of("end")
    assert (end.direction, end.more["complete"]) == ("client", False)


def test_a_client_that_ends_its_side_still_gets_its_answer():
    with proxied() as (upstream, recorded):
        client = recorded.client()
        client.sendall(GET)
        client.shutdown(socket.SHUT_WR)
        server = upstream.accept()
        receive(server, b"\r\n\r\n")
        assert server.recv(1) == b""
        server.sendall(answer(PONG))
        server.close()
        assert rest(client) == answer(PONG)


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", STREAM + b"5\r\nab"])
def test_a_server_that_resets_resets_the_client(sent):
    with proxied() as (upstream, recorded):
        client = recorded.client()
        client.sendall(GET)
        server = upstream.accept()
        receive(server, b"\r\n\r\n")
        server.sendall(sent)
        assert exactly(client, len(sent)) == sent
        server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        server.close()
        with pytest.raises(ConnectionResetError):
            client.recv(1)
        recorded.wait("end")
    (end,) = recorded.of("end")
    assert (end.direction, end.more["complete"]) == ("server", False) and "reset" in end.text


def test_a_server_that_ends_mid_body_ends_the_client():
    with proxied() as (upstream, recorded):
        client = recorded.client()
        client.sendall(GET)
        server = upstream.accept()
        receive(server, b"\r\n\r\n")
        server.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        server.close()
        assert rest(client).endswith(b"half")
        recorded.wait("end")
    assert not recorded.of("end")[0].more["complete"] and recorded.of("body")[0].more["size"] == 4


def test_a_body_that_only_the_end_of_the_connection_ends_is_whole():
    with proxied() as (upstream, recorded):
        client = recorded.client()
        client.sendall(GET)
        server = upstream.accept()
        receive(server, b"\r\n\r\n")
        server.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + PONG)
        server.close()
        assert rest(client).endswith(PONG)
    assert recorded.of("end")[0].more["complete"] and recorded.of("message")[0].message == json.loads(PONG)


def test_a_kept_connection_carries_many_exchanges_and_ends_with_the_servers():
    with proxied() as (upstream, recorded):
        client = recorded.client()
        server = None
        for _ in range(20):
            client.sendall(post(PING))
            server = server or upstream.accept()
            receive(server, PING)
            server.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" + answer(PONG))
            receive(client, PONG)
        server.close()
        assert client.recv(1) == b""
    assert [event.exchange for event in recorded.of("end")] == list(range(1, 21))
    assert [event.more["status"] for event in recorded.of("response")] == [100, 200] * 20


def test_requests_that_are_sent_ahead_keep_their_order():
    with proxied() as (upstream, recorded):
        client = recorded.client()
        client.sendall(post(PING) + b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n" + GET)
        server = upstream.accept()
        receive(server, b"GET /mcp HTTP/1.1\r\nHost: %s\r\n\r\n" % upstream.authority.encode())
        answers = answer(PONG) + b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" + answer(b"last!")
        server.sendall(answers)
        assert exactly(client, len(answers)) == answers
        recorded.wait("end", 3)
    assert [event.more.get("text") for event in recorded.of("body")] == ["last!"]
    assert [event.exchange for event in recorded.of("message")] == [1, 1]


@pytest.mark.parametrize("noise", [
    bytes(range(256)) * 100, b"\x16\x03\x01\x02\x00\x01", b"x" * 300_000, b"GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
], ids=["binary", "TLS", "no head", "folded", "two lengths", "length and chunks"])
def test_what_is_no_http_passes_unread(noise):
    noise += b"\r\n\r\n"
    with proxied() as (upstream, recorded):
        client = recorded.client()
        client.sendall(noise)
        server = upstream.accept()
        assert exactly(server, len(noise)) == noise
        server.sendall(noise[::-1])
        assert exactly(client, len(noise)) == noise[::-1]
        recorded.wait("gap", 2)
    assert {event.direction for event in recorded.of("gap")} == {"client", "server"}
    assert not recorded.of("request")


def test_broken_chunks_pass_unread_from_there_on():
    with proxied() as (upstream, recorded):
        client = recorded.client()
        client.sendall(GET)
        server = upstream.accept()
        receive(server, b"\r\n\r\n")
        broken = STREAM + b"3\r\nabc\r\nzz\r\nabcdef" + bytes(range(256))
        server.sendall(broken)
        assert exactly(client, len(broken)) == broken
        recorded.wait("gap")


def test_a_server_that_is_not_there_is_told_by_502_which_is_ours():
    upstream = Upstream()
    upstream.close()
    recorded = Recorded("http://127.0.0.1:9/mcp")
    client = recorded.client()
    client.sendall(post(PING))
    data = rest(client)
    recorded.close()
    assert data.startswith(b"HTTP/1.1 502 Bad Gateway\r\n") and b"Connection refused" in data
    (end,) = recorded.of("end")
    assert not end.direction and "the recorder answered 502" in end.text and not recorded.of("response")


def test_a_server_over_tls_whose_certificate_is_checked(monkeypatch):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(CERTIFICATE))
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    upstream = Upstream(context)
    recorded = Recorded(upstream.url.replace("127.0.0.1", "localhost"))
    try:
        client = recorded.client()
        for size in (10, 3_000_000):
            body = b"x" * size
            client.sendall(post(body))
            server = upstream.taken[0] if upstream.taken else upstream.accept()
            receive(server, b"\r\n\r\n")
            assert exactly(server, size) == body
            sending = threading.Thread(target=server.sendall, args=(answer(body),))
            sending.start()
            assert exactly(client, len(answer(body))) == answer(body)
            sending.join()
        client.close()
        assert server.recv(1) == b""
        recorded.wait("end", 2)
    finally:
        recorded.close()
        upstream.close()
    assert recorded.of("request")[0].more["url"].startswith("https://localhost:")


def test_a_certificate_that_nobody_vouches_for_is_refused():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(CERTIFICATE))
    upstream = Upstream(context)
    recorded = Recorded(upstream.url)

    def shake():
        with pytest.raises(OSError):
            upstream.accept()

    shaking = threading.Thread(target=shake)
    shaking.start()
    client = recorded.client()
    client.sendall(GET)
    data = rest(client)
    shaking.join()
    recorded.close()
    upstream.close()
    assert data.startswith(b"HTTP/1.1 502") and b"ertificate" in data


def test_many_connections_at_a_time():
    count = 200
    with proxied() as (upstream, recorded):
        clients = [recorded.client() for _ in range(count)]
        for number, client in enumerate(clients):
            client.sendall(GET.replace(b"/mcp", b"/%d" % number))
            server = upstream.accept()
            receive(server, b"\r\n\r\n")
            server.sendall(STREAM)
        for client in clients:
            receive(client, b"\r\n\r\n")
        for number, server in enumerate(upstream.taken):
            server.sendall(chunk(b"data: %d\n\n" % number))
        for number, client in enumerate(clients):
            assert receive(client, b"\n\n\r\n") == chunk(b"data: %d\n\n" % number)
        recorded.wait("message", count)
    assert len(recorded.of("end")) == count
    assert {event.text for event in recorded.of("end")} == {"the recorder was ended"}


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"])
def test_a_session_of_our_client_is_the_same_through_the_proxy(revision):
    server = mcp_ref.Server("through", version="1")

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    def session(url):
        seen = []
        with mcp_ref.connect(url, revisions=[revision], trace=Trace(seen.append)) as client:
            assert client.call_tool("add", {"a": 1, "b": 2}).structured_content in ({"result": 3}, None)
            client.list_tools()
        return [(event.direction, event.data()) for event in seen if event.kind == "message"]

    with HttpListener(server, "http://127.0.0.1:0/mcp") as listener:
        recorded = Recorded(listener.address)
        through = session(recorded.proxy.url)
        recorded.close()
        assert through == session(listener.address)
    told = [(event.direction, event.data()) for event in recorded.of("message")]
    assert sorted(told) == sorted(through) and len(told) >= 4
    assert not recorded.of("gap")


def test_the_command_serves_until_it_is_ended_and_writes_its_trace(tmp_path):
    out = tmp_path / "trace.jsonl"
    for number, code in ((signal.SIGTERM, 0), (signal.SIGINT, 130)):
        upstream = Upstream()
        running = subprocess.Popen([*SHIM, "--out", str(out), "--http", "0", upstream.url], stdin=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, env=dict(os.environ, PYTHONPATH=str(ROOT)),
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        told = running.stderr.readline().decode()
        assert "give clients http://127.0.0.1:" in told and told.rstrip().endswith("Ctrl-C ends it")
        port = int(told.partition("http://127.0.0.1:")[2].partition("/mcp")[0])
        client = socket.create_connection(("127.0.0.1", port), 10)
        client.sendall(post(PING))
        server = upstream.accept()
        receive(server, PING)
        running.send_signal(number)
        assert running.wait(WAIT) == code, running.stderr.read()
        running.stderr.close()
        client.close()
        upstream.close()
        found = events(out)
        assert [event.kind for event in found] == ["request", "open", "message", "end", "close"]
        out.unlink()


@pytest.mark.parametrize("words, complaint", [
    (["nowhere", "http://localhost/"], "HOST:PORT or PORT"), (["1:2:99999", "http://localhost/"], "HOST:PORT or PORT"),
    (["0", "ftp://localhost/"], "is no URL of the form"), (["0", "http://a:b@localhost/"], "a user or password"),
    (["192.0.2.1:1", "http://localhost/"], "cannot listen on"),
])
def test_wrong_usage_says_what_to_write(tmp_path, words, complaint):
    done = subprocess.run([*SHIM, "--out", str(tmp_path / "t"), "--http", *words], stdin=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, timeout=WAIT)
    assert done.returncode in (2, 3) and complaint in done.stderr.decode(), sys.stderr.write(done.stderr.decode())


@pytest.mark.parametrize("text, address", [
    ("9000", ("127.0.0.1", 9000)), (":9000", ("127.0.0.1", 9000)), ("0.0.0.0:1", ("0.0.0.0", 1)),
    ("[::1]:2", ("::1", 2))])
def test_other_addresses_are_listened_on_only_if_written_out(text, address):
    assert listen_address(text) == address


@pytest.mark.parametrize("authority, host", [("A:1", "a"), ("[::1]:2", "::1"), ("b", "b"), ("", "")])
def test_the_host_of_an_authority(authority, host):
    assert host_of(authority) == host


def test_a_connection_too_many_is_refused_and_told():
    with proxied(limits=Limits(max_http_connections=1)) as (upstream, recorded):
        first, second = recorded.client(), recorded.client()
        assert second.recv(1) == b""
        first.sendall(GET)
        receive(upstream.accept(), b"\r\n\r\n")
    assert "max_http_connections (1)" in recorded.of("gap")[0].text


def test_a_proxy_without_descriptors_waits_for_one(monkeypatch):
    monkeypatch.setattr(proxy, "PAUSE_SECONDS", 0.01)

    class Exhausted:
        def accept(self):
            raise OSError(errno.EMFILE, "Too many open files")

    with proxied() as (upstream, recorded):
        recorded.proxy._accept(Exhausted())
        recorded.client().sendall(GET)
        receive(upstream.accept(), b"\r\n\r\n")
    assert recorded.of("gap")[0].text == (
        "connections wait, because the proxy has no descriptor left: Too many open files")


def test_nothing_is_left_of_connections_that_ended():
    before = threading.active_count()
    with proxied() as (upstream, recorded):
        for _ in range(10):
            exchange(recorded, upstream, post(PING), answer(PONG))
        for sock in upstream.taken:
            sock.close()
        deadline = time.monotonic() + WAIT
        while recorded.proxy._relays:
            assert time.monotonic() < deadline
            time.sleep(0.005)  # for a condition, bounded
    assert threading.active_count() <= before
