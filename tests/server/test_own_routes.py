"""Addresses of an author's own on the port of the endpoint: what they answer, and to whom."""
import http.client
import json
from typing import Any, Dict, Optional, Tuple
from urllib.parse import urlsplit

import pytest

from mcp_ref import connect
from mcp_ref.server import Server
from mcp_ref.streamable.server import own_routes
from tests.support.scripted import PATIENCE

ABROAD = {"X-Forwarded-For": "203.0.113.9"}
TOKEN = {"Authorization": "Bearer a-long-secret-for-this-test"}


def served() -> Any:
    server = Server("routed", "2.1")

    @server.http_route("GET", "/settings.html")
    def settings(request: Any) -> str:
        return "<title>%s</title>" % request.query

    @server.http_route("POST", "/settings.html", access="everybody")
    def save(request: Any) -> Any:
        return 303, [("Location", "/settings.html")], b"saved " + request.body

    values: Dict[str, Any] = {"/json": {"a": [1, None]}, "/list": [1], "/bytes": b"\0\1", "/image.png": b"png",
                              "/text": "Gr\u00fc\u00dfe", "/wrong": 3, "/none": None}
    for path in values:
        server.http_route("GET", path, lambda request: values[request.path])

    @server.http_route("GET", "/raises")
    def raises(request: Any) -> str:
        raise KeyError("a secret text")

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    return server


class Asked:
    """The reply to one request."""

    def __init__(self, listener: Any, method: str, path: str, fields: Optional[Dict[str, str]] = None,
                 body: Optional[bytes] = None) -> None:
        parts = urlsplit(listener.address)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, fields or {})
            reply = connection.getresponse()
            self.status, self.fields, self.body = reply.status, reply.headers, reply.read()
        finally:
            connection.close()


@pytest.fixture
def listener() -> Any:
    with served().listen("http://127.0.0.1:0/mcp") as opened:
        yield opened


@pytest.mark.parametrize("path, media_type, body", [
    ("/settings.html?q=1", "text/html; charset=utf-8", b"<title>q=1</title>"),
    ("/json", "application/json", b'{"a": [1, null]}'), ("/list", "application/json", b"[1]"),
    ("/bytes", "application/octet-stream", b"\0\1"), ("/image.png", "image/png", b"png"),
    ("/text", "text/plain; charset=utf-8", "Gr\u00fc\u00dfe".encode("utf-8")),
    ("/text/", "text/plain; charset=utf-8", None),
])
def test_what_a_function_returns_is_the_reply(listener: Any, path: str, media_type: str, body: Optional[bytes]) -> None:
    if body is None:
        assert Asked(listener, "GET", path).status == 500, "the function does not know the path with a slash"
        return
    reply = Asked(listener, "GET", path)
    assert (reply.status, reply.fields["Content-Type"], reply.body) == (200, media_type, body)
    assert reply.fields["X-Content-Type-Options"] == "nosniff" and reply.fields["Cache-Control"] == "no-store"
    head = Asked(listener, "HEAD", path)
    assert (head.status, head.body) == (200, b"")


def test_status_and_fields_are_the_functions_own(listener: Any) -> None:
    reply = Asked(listener, "POST", "/settings.html", body=b"x=1")
    assert (reply.status, reply.fields["Location"], reply.body) == (303, "/settings.html", b"saved x=1")


def test_the_endpoint_is_where_it_was(listener: Any) -> None:
    with connect(listener.address) as client:
        assert client.call_tool("add", {"a": 1, "b": 2}).text == "3"
    assert Asked(listener, "GET", "/elsewhere").status == 404


@pytest.mark.parametrize("path, words", [("/wrong", "returned 3"), ("/none", "returned None"), ("/raises", "KeyError")])
def test_what_goes_wrong_is_logged_and_not_told(listener: Any, caplog: Any, path: str, words: str) -> None:
    reply = Asked(listener, "GET", path)
    assert reply.status == 500 and b"secret" not in reply.body
    assert words in caplog.text and "GET " + path in caplog.text


@pytest.mark.parametrize("fields, status", [
    ({"Host": "evil.example"}, 403), ({"Origin": "https://evil.example"}, 403),
    ({"Origin": "http://localhost:3000"}, 200)])
def test_host_and_origin_are_checked(listener: Any, fields: Dict[str, str], status: int) -> None:
    assert Asked(listener, "GET", "/settings.html", fields).status == status


def test_another_method_is_refused_with_those_that_are_there(listener: Any) -> None:
    reply = Asked(listener, "DELETE", "/settings.html")
    assert reply.status == 405 and set(reply.fields["Allow"].replace(" ", "").split(",")) == {
        "GET", "HEAD", "POST", "OPTIONS"}


WHO: Tuple[Tuple[str, bool, Dict[str, str], int], ...] = (
    ("clients", True, {}, 401), ("clients", True, TOKEN, 200), ("clients", False, ABROAD, 200),
    ("here", True, {}, 200), ("here", True, ABROAD, 401), ("here", True, {**ABROAD, **TOKEN}, 200),
    ("here", True, {"Via": "1.1 proxy"}, 401), ("here", True, {"Forwarded": "for=203.0.113.9"}, 401),
    ("here", False, {}, 200), ("here", False, ABROAD, 403),
    ("everybody", True, ABROAD, 200), ("everybody", False, ABROAD, 200),
)


@pytest.mark.parametrize("access, guarded, fields, status", WHO)
def test_who_may_ask(access: str, guarded: bool, fields: Dict[str, str], status: int) -> None:
    server = Server("guarded")
    server.http_route("GET", "/mine", lambda request: "mine", access=access)
    token = TOKEN["Authorization"][7:] if guarded else None
    with server.listen("http://127.0.0.1:0/mcp", token=token) as opened:
        assert Asked(opened, "GET", "/mine", fields).status == status


@pytest.mark.parametrize("arguments, error, words", [
    (("BREW", "/x", print), ValueError, "one of DELETE, GET"), (("GET", "x", print), ValueError, "begins with /"),
    (("GET", "/x?y", print), ValueError, "no query"), (("GET", "/x", 3), TypeError, "a function answers"),
])
def test_what_is_no_route_is_refused_when_it_is_made(arguments: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        Server("x").http_route(*arguments)
    with pytest.raises(ValueError, match='access is "clients"'):
        Server("x").http_route("GET", "/x", print, access="friends")


@pytest.mark.parametrize("path", ["/mcp", "/sse", "/messages/", "/mine"])
def test_a_path_that_is_taken_is_refused_before_the_server_listens(path: str) -> None:
    server = Server("taken")
    server.http_route("GET", "/mine", lambda request: "")
    server.http_route("GET", path, lambda request: "")
    with pytest.raises(ValueError, match="there is something at GET %s already" % path):
        server.listen("http://127.0.0.1:0/mcp")


def test_health_and_metrics() -> None:
    server = served()
    with server.listen("http://127.0.0.1:0/mcp", health="/healthz", metrics="/metrics") as opened:
        assert json.loads(Asked(opened, "GET", "/healthz").body) == {
            "status": "ok", "server": "routed", "version": "2.1"}
        assert Asked(opened, "GET", "/healthz", ABROAD).status == 403
        with connect(opened.address, era="2025-11-25") as client:
            for _ in range(2):
                client.call_tool("add", {"a": 1, "b": 2})
            with pytest.raises(Exception):
                client.call_tool("nothing")
            reply = Asked(opened, "GET", "/metrics")
    assert reply.fields["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = reply.body.decode().splitlines()
    assert 'mcp_requests_total{method="tools/call",outcome="answered"} 2' in lines
    assert 'mcp_requests_total{method="tools/call",outcome="failed"} 1' in lines
    assert "mcp_connections 1" in lines and "# TYPE mcp_requests_inflight gauge" in lines
    for line in lines:
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            assert float(value) >= 0 and name.startswith("mcp_")


def test_labels_are_escaped() -> None:
    counted = {"requests": {}, "inflight": 0, "connections": 0, "notes": {'a "b"\n\\': 1}}
    assert 'mcp_notes_total{note="a \\"b\\"\\n\\\\"} 1' in own_routes._exposition(counted).splitlines()


def test_a_server_that_closes_refuses_health_checks() -> None:
    with Server("closing").listen("http://127.0.0.1:0/mcp", health="/healthz") as opened:
        assert opened.own is not None
        opened.own.close()
        assert Asked(opened, "GET", "/healthz").status == 503


def test_names_that_change_hold_at_every_address_of_the_listener_at_once() -> None:
    origins, hosts = {"https://a.example"}, {"localhost", "127.0.0.1"}
    rows = [("OPTIONS", path) for path in ("/mcp", "/sse", "/messages", "/settings.html", "/healthz")]
    with served().listen("http://127.0.0.1:0/mcp", allowed_origins=lambda: origins, allowed_hosts=lambda: hosts,
                         health="/healthz") as listener:
        def statuses(**fields: str) -> Any:
            return {Asked(listener, method, path, fields).status for method, path in rows}

        for wanted, names in (({204}, {"https://a.example"}), ({403}, {"https://b.example"}), ({403}, set()),
                              ({204}, {"*"}), ({403}, {"a.example:80"}), ({204}, {"a.example"})):
            origins.clear()
            origins.update(names)
            assert statuses(Origin="https://a.example") == wanted, names
        assert statuses(Host="new.example") == {403}
        hosts.add("new.example")
        assert statuses(Host="new.example") == {204}
        hosts.clear()
        assert statuses() == {403}
