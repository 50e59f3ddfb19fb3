"""One request to an authorization server: what is sent, what is taken, and what is not."""
import contextlib
import pathlib
import socket
import ssl
import threading
from typing import Any, Callable, Iterator, List, Sequence

import pytest

from mcp_ref import deadline
from mcp_ref.auth.fetch import Fetcher, HttpAnswer
from mcp_ref.errors import AuthError, DiscoveryFailed
from mcp_ref.limits import Limits
from tests.support.patience import WAIT
from tests.support.scripted_web import Asked, Reply, ScriptedWeb, redirect, reply_html, reply_json

PEM = str(pathlib.Path(__file__).parents[1] / "data" / "tls" / "localhost.pem")
SECRET = "s3cret"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


@pytest.fixture
def web() -> Iterator[ScriptedWeb]:
    with ScriptedWeb() as server:
        yield server


def fetcher(**limits: Any) -> Fetcher:
    return Fetcher(Limits(**{"auth_timeout": WAIT, **limits}))


@contextlib.contextmanager
def raw(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that says what ``talk`` says to one connection, once a whole head has come; its URL."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(WAIT)

    def serve() -> None:
        with contextlib.suppress(OSError), listener.accept()[0] as sock:
            head = b""
            while b"\r\n\r\n" not in head:
                head += sock.recv(4096) or b"\r\n\r\n"
            talk(sock)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield "http://127.0.0.1:%d/x?%s" % (listener.getsockname()[1], SECRET)
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        thread.join(WAIT)
        listener.close()
        assert not thread.is_alive()


# --- What is sent -----------------------------------------------------------------------------------------------------

def test_a_document_is_asked_for_with_few_words(web: ScriptedWeb) -> None:
    web.serve("/a", lambda asked: reply_json({"fine": True}, 200, [("X-One", "1"), ("x-one", "2")]))
    ask = Fetcher(headers=[("X-Mine", "always")])
    answer = ask.get(web.origin + "/a?b=c", [("MCP-Protocol-Version", "2025-11-25")])
    assert answer.json("thing") == {"fine": True} and answer.status == 200 and answer.url == web.origin + "/a?b=c"
    assert answer.headers["x-one"] == "1, 2" and answer.headers["content-type"] == "application/json"
    asked = web.seen("/a")[0]
    assert (asked.method, asked.target, asked.body) == ("GET", "/a?b=c", b"")
    assert asked.headers == {"host": web.origin[7:], "accept": "application/json", "connection": "close",
                             "user-agent": "mcp_ref", "x-mine": "always", "mcp-protocol-version": "2025-11-25"}


def test_a_form_and_a_json_value_are_sent(web: ScriptedWeb) -> None:
    web.serve("/a", lambda asked: reply_json({"error": "x"}, 400))
    fields = [("grant_type", "refresh_token"), ("scope", "a b"), ("odd", "\u20ac&=+%\n")]
    answer = fetcher().post_form(web.origin + "/a", fields, [("DPoP", "proof"), ("User-Agent", "mine")])
    assert answer.status == 400 and answer.json("error") == {"error": "x"}
    fetcher().post_json(web.origin + "/a", {"client_name": "\u20ac"}, [("Authorization", "Bearer x")])
    form, value = web.seen("/a", "POST")
    assert form.form == dict(fields) and value.json == {"client_name": "\u20ac"}
    assert value.headers["content-type"] == "application/json" and value.headers["authorization"] == "Bearer x"
    assert form.headers["dpop"] == "proof" and form.headers["user-agent"] == "mine"
    assert form.headers["content-length"] == str(len(form.body)) and "authorization" not in form.headers


@pytest.mark.parametrize("name, value", [
    ("X", "a\r\nEvil: " + SECRET), ("X", SECRET + "\n"), ("X", SECRET + "\x00"), ("X", SECRET + "\u20ac"),
    ("X\r\n", SECRET),
    ("", SECRET), ("X:", SECRET), ("X Y", SECRET), ("X", SECRET + "\x7f"),
])
def test_a_field_that_cannot_be_sent_is_refused_without_its_value(web: ScriptedWeb, name: str, value: str) -> None:
    for send in (fetcher().get, lambda url, headers: fetcher().post_form(url, [], headers)):
        with pytest.raises(AuthError, match="the header field .* cannot be sent") as caught:
            send(web.origin + "/a", [(name, value)])
        assert SECRET not in str(caught.value)
    assert not web.seen()


@pytest.mark.parametrize("url", ["http://example.com/", "file:///etc/passwd", "ftp://127.0.0.1/", "//127.0.0.1/", "",
                                 "https://user:%s@127.0.0.1/" % SECRET, "http://127.0.0.1:1/#" + SECRET])
def test_no_other_url_is_asked(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", None)
    for send in (fetcher().get, lambda url: fetcher().post_form(url, []), lambda url: fetcher().post_json(url, {})):
        with pytest.raises(DiscoveryFailed, match="the URL to be asked") as caught:
            send(url)
        assert SECRET not in str(caught.value)


# --- Redirects --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_document_may_have_moved_within_its_origin(web: ScriptedWeb, status: int) -> None:
    web.serve("/a", lambda asked: redirect("b/c?d", status))
    web.serve("/b/c", lambda asked: redirect(web.origin + "/e", status))
    web.serve("/e", lambda asked: redirect("//%s/f" % web.origin[7:], status))
    web.serve("/f", lambda asked: reply_json({"here": 1}))
    answer = fetcher().get(web.origin + "/a", [("X-Mine", "1")])
    assert answer.json("x") == {"here": 1} and answer.url == web.origin + "/f"
    assert [one.target for one in web.seen()] == ["/a", "/b/c?d", "/e", "/f"]
    assert all(one.headers["x-mine"] == "1" for one in web.seen())


def test_but_not_for_ever(web: ScriptedWeb) -> None:
    web.serve("/a", lambda asked: redirect("/a?" + SECRET))
    with pytest.raises(DiscoveryFailed, match="/a redirects more than 3 times") as caught:
        fetcher().get(web.origin + "/a")
    assert len(web.seen()) == 4 and SECRET not in str(caught.value)


@pytest.mark.parametrize("location, words", [
    ("{other}/x", "is on another origin, http://localhost"),
    ("//example.com/x", r"\(http://example.com\) is not https"),
    ("https://example.com/x", "is on another origin, https://example.com"), ("file:///etc/passwd", "is no https URL"),
    ("javascript:alert(1)", "is no https URL"), ("http://[", "is no URL"), ("/a b", "is no URL"),
    ("/a#b", "has a fragment"),
    ("http://u:%s@127.0.0.1/" % SECRET, "has a user"), ("http://127.0.0.1:1/?" + SECRET, "is on another origin"),
    ("/\u00e4", "is no URL"),
])
def test_nowhere_else(web: ScriptedWeb, location: str, words: str) -> None:
    with ScriptedWeb("localhost") as other:
        where = location.format(other=other.origin)
        web.serve("/a", lambda asked: redirect(where))
        with pytest.raises(DiscoveryFailed, match="the target of the redirect from .*/a " + words) as caught:
            fetcher().get(web.origin + "/a?" + SECRET)
        assert SECRET not in str(caught.value) and not other.seen() and len(web.seen()) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_what_is_posted_goes_nowhere_else(web: ScriptedWeb, status: int) -> None:
    web.serve("/a", lambda asked: redirect("/b", status))
    assert fetcher().post_form(web.origin + "/a", [("code", SECRET)]).status == status
    assert fetcher().post_json(web.origin + "/a", {}).status == status
    assert [one.path for one in web.seen()] == ["/a", "/a"]


def test_a_redirect_to_nowhere_is_an_answer(web: ScriptedWeb) -> None:
    web.serve("/a", lambda asked: Reply(302))
    web.serve("/b", lambda asked: Reply(304, [("Location", "/c")]))
    assert (fetcher().get(web.origin + "/a").status, fetcher().get(web.origin + "/b").status) == (302, 304)


# --- Limits -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("in_pieces", [False, True])
@pytest.mark.parametrize("size, fits", [(0, True), (1000, True), (1001, False), (10 * 1024 * 1024, False)])
def test_an_answer_has_a_size(web: ScriptedWeb, size: int, in_pieces: bool, fits: bool) -> None:
    whole = b"x" * size
    pieces: Any = [whole[at:at + 65536] for at in range(0, size, 65536)] if in_pieces else whole
    web.serve("/a", lambda asked: Reply(200, [], pieces))
    ask = fetcher(max_auth_response_bytes=1000)
    for send in (ask.get, lambda url: ask.post_form(url, [])):
        if fits:
            assert send(web.origin + "/a").body == whole
        else:
            with pytest.raises(DiscoveryFailed, match=r"exceeds max_auth_response_bytes \(1000\)"):
                send(web.origin + "/a?" + SECRET)


def test_an_answer_has_a_time(web: ScriptedWeb) -> None:
    gate = web.gate()
    web.serve("/a", lambda asked: gate.passing() or reply_json({}))  # type: ignore[func-returns-value]
    with pytest.raises(AuthError, match=r"no answer from .*/a: none within auth_timeout \(0.05 seconds\)"):
        fetcher(auth_timeout=0.05).get(web.origin + "/a?" + SECRET)
    gate.wait_arrived()


class Ticking:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("slow", ["head", "body", "chunks"])
def test_drop_by_drop_it_has_no_more_of_it(monkeypatch: pytest.MonkeyPatch, slow: str) -> None:
    clock = Ticking()
    monkeypatch.setattr(deadline, "clock", clock)
    head, body = b"HTTP/1.1 200 OK\r\nX: y\r\n", b"\r\n{}" + b" " * 20
    if slow == "chunks":
        head, body = head + b"Transfer-Encoding: chunked\r\n", b"\r\n" + b"1\r\nx\r\n" * 10

    def talk(sock: socket.socket) -> None:
        drops, rest = (head, body) if slow == "head" else (body, b"")
        if slow == "chunks":
            rest = b"%x\r\n%s\r\n0\r\n\r\n" % (100000, b"x" * 100000)  # more than one reading takes
        sock.sendall(b"" if slow == "head" else head)
        for drop in drops:
            clock.now += 1.0
            sock.sendall(bytes([drop]))
        sock.sendall(rest)

    with raw(talk) as url:
        with pytest.raises(AuthError, match="none within auth_timeout"):
            fetcher(auth_timeout=5.0).get(url)
    with raw(talk) as url:
        assert fetcher(auth_timeout=500.0).get(url).status == 200


def test_a_name_with_many_addresses_has_no_more_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hostile: a name leads to any number of addresses, none of which answers."""
    clock, tried = Ticking(), []

    def look_up(*name: Any) -> Any:
        for number in range(1000):
            clock.now += 1.0
            tried.append(number)
            yield socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 1)

    monkeypatch.setattr(deadline, "clock", clock)
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with pytest.raises(AuthError, match="no answer from https://many.example/a: none within auth_timeout"):
        fetcher(auth_timeout=5.0).get("https://many.example/a?" + SECRET)
    assert len(tried) == 5


# --- What goes wrong --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("sent, words", [
    (b"", "Remote end closed"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc" + SECRET.encode(), "it was cut off"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "it was cut off"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s\r\nab" % SECRET.encode(), "it was cut off"),
    (b"%s\r\n\r\n" % SECRET.encode(), "what came is no HTTP"),
    (b"HTTP/1.1 2%s\r\n\r\n" % SECRET.encode(), "is no HTTP"),
    (b"HTTP/9.9 200 %s\r\n\r\n" % SECRET.encode(), "what came is no HTTP"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n" % SECRET.encode(), "what came is no HTTP"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: %s\r\n\r\n" % SECRET.encode(), "what came is no HTTP"),
    (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70000, "what came is no HTTP"),
    (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 300, "what came is no HTTP"),
])
def test_an_answer_that_is_none_says_nothing_of_what_came(sent: bytes, words: str) -> None:
    def talk(sock: socket.socket) -> None:
        sock.sendall(sent)

    with raw(talk) as url, pytest.raises(AuthError, match="no answer from http://127.*/x: .*" + words) as caught:
        fetcher().post_form(url, [("code", SECRET)])
    assert SECRET not in str(caught.value) and caught.value.__suppress_context__ and caught.value.__cause__ is None


def test_nobody_there() -> None:
    with pytest.raises(AuthError, match="no answer from http://127.0.0.1:1/a: cannot connect to 127.0.0.1:1"):
        fetcher().get("http://127.0.0.1:1/a?" + SECRET)


def test_an_answer_with_an_odd_head_is_one() -> None:
    def talk(sock: socket.socket) -> None:
        sock.sendall(b"HTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.0 200 OK\r\nA: 1\r\n 2\r\na:3\r\n\r\n{}")

    with raw(talk) as url:
        answer = fetcher().get(url)
    assert (answer.status, answer.headers["a"], answer.json("x")) == (200, "1 2, 3", {})


@pytest.mark.parametrize("reply, words", [
    (reply_html(), r"the thing at .*/a is no JSON but 'text/html'"),
    (Reply(200, [], b""), "the thing at .*/a is no JSON: "),
    (reply_json([]), "the thing at .*: expected object, got array"), (reply_json("x"), "expected object, got string"),
    (reply_json(None), "expected object, got null"), (Reply(200, [], b'{"a": NaN}'), "no JSON"),
    (Reply(200, [], b'{"a": 1, "a": 2}'), 'duplicate key "a"'), (Reply(200, [], b"\xff\xfe"), "not valid UTF-8"),
    (Reply(200, [], b"[" * 100000), "max_depth"), (Reply(200, [], b"\x1f\x8b\x08"), "not valid UTF-8"),
])
def test_a_body_that_is_no_json_object(web: ScriptedWeb, reply: Reply, words: str) -> None:
    web.serve("/a", lambda asked: reply)
    with pytest.raises(DiscoveryFailed, match=words) as caught:
        fetcher().get(web.origin + "/a?" + SECRET).json("thing")
    assert SECRET not in str(caught.value)


def test_an_answer_shows_nothing_of_itself() -> None:
    answer = HttpAnswer(200, {"x-token": SECRET}, SECRET.encode(), "https://h/a?" + SECRET)
    assert repr(answer) == str(answer) == "HttpAnswer(200, 6 bytes, from https://h/a)"
    assert SECRET not in repr(Fetcher(headers=[("X", SECRET)]))


# --- TLS and proxies --------------------------------------------------------------------------------------------------

def secure() -> ScriptedWeb:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)
    web = ScriptedWeb("localhost", context)
    web.serve("/a", lambda asked: reply_json({"safe": True}))
    return web


def test_tls_is_of_those_who_are_trusted() -> None:
    with secure() as web:
        assert Fetcher(cafile=PEM).get(web.origin + "/a").json("x") == {"safe": True}
        trusting = ssl.create_default_context(cafile=PEM)
        assert Fetcher(ssl_context=trusting).post_form(web.origin + "/a", []).status == 200
        with pytest.raises(AuthError, match="no answer from https://localhost.*certificate"):
            fetcher().get(web.origin + "/a")
        assert len(web.seen()) == 2


def test_a_redirect_does_not_leave_tls() -> None:
    with secure() as web:
        web.serve("/b", lambda asked: redirect("http" + web.origin[5:] + "/a"))
        with pytest.raises(DiscoveryFailed, match="is on another origin, http://localhost"):
            Fetcher(cafile=PEM).get(web.origin + "/b")


def test_https_goes_through_a_proxy_and_this_machine_does_not(no_proxies: pytest.MonkeyPatch) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)
    heads: List[bytes] = []

    def talk(sock: socket.socket) -> None:
        sock.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        with context.wrap_socket(sock, server_side=True) as inner:
            heads.append(inner.recv(4096))
            inner.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    trusting = ssl.create_default_context(cafile=PEM)
    trusting.check_hostname = False
    with raw(talk) as url:
        for name in ("HTTPS_PROXY", "HTTP_PROXY"):
            no_proxies.setenv(name, url.rpartition("/")[0])
        with ScriptedWeb() as web:
            assert fetcher().get(web.origin + "/a").status == 404 and len(web.seen()) == 1
        answer = Fetcher(ssl_context=trusting).get("https://as.example.com/a?b")
    assert answer.json("x") == {} and heads[0].startswith(b"GET /a?b HTTP/1.1\r\nHost: as.example.com\r\n")


def test_many_ask_at_once(web: ScriptedWeb) -> None:
    web.serve("/a", lambda asked: Reply(200, [], asked.target.encode()))
    ask, found, threads = fetcher(), [], []
    for number in range(8):
        def run(number: int = number) -> None:
            found.append(ask.get("%s/a?%d" % (web.origin, number)).body == b"/a?%d" % number)
        threads.append(threading.Thread(target=run))
        threads[-1].start()
    for thread in threads:
        thread.join(WAIT)
    assert found == [True] * 8
    assert sorted(asked_targets(web.seen())) == ["/a?%d" % number for number in range(8)]


def asked_targets(asked: Sequence[Asked]) -> List[str]:
    return [one.target for one in asked]
