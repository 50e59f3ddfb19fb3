"""The listener that the browser comes back to: both addresses, one request, and nothing for anybody else."""
import contextlib
import socket
import threading
from typing import Any, Dict, Iterator, List, Tuple

import pytest

from mcp_ref import deadline
from mcp_ref.auth.client.oauth import MAX_HEAD, MAX_OPEN, RedirectListener, place_of
from mcp_ref.errors import AuthError, Unauthorized
from tests.support.patience import WAIT

STATE = "the-state-1"


def ask(port: int, data: bytes, address: str = "127.0.0.1") -> bytes:
    """What a connection answers; it ends it."""
    with socket.create_connection((address, port), WAIT) as sock:
        sock.sendall(data)
        parts = []
        while True:
            part = sock.recv(65536)
            if not part:
                return b"".join(parts)
            parts.append(part)


def get(target: str, method: str = "GET") -> bytes:
    return ("%s %s HTTP/1.1\r\nHost: localhost\r\nCookie: c\r\n\r\n" % (method, target)).encode()


class Waiting:
    """A listener that waits on a thread of its own."""

    def __init__(self, redirect: RedirectListener) -> None:
        self.redirect = redirect
        self.came: List[Any] = []
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _pause(self, seconds: float) -> None:
        if self._left.is_set():
            raise Unauthorized("nobody waits")

    def _run(self) -> None:
        try:
            self.came.append(self.redirect.wait(STATE, 60.0, self._pause))
        except AuthError as error:
            self.came.append(error)

    def leave(self) -> None:
        self._left.set()

    def result(self) -> Any:
        self._thread.join(WAIT)
        assert not self._thread.is_alive()
        return self.came[0]


@contextlib.contextmanager
def waiting(**options: Any) -> Iterator[Tuple[RedirectListener, Waiting]]:
    with RedirectListener(**options) as redirect:
        waits = Waiting(redirect)
        try:
            yield redirect, waits
        finally:
            waits.leave()
            waits.result()


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
        return True
    except OSError:
        return False


def head_of(reply: bytes) -> Tuple[str, Dict[str, str], str]:
    head, _, body = reply.decode().partition("\r\n\r\n")
    lines = head.split("\r\n")
    return lines[0], {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}, body


@pytest.mark.parametrize("allowed", [True, False])
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_the_browser_comes_back_and_reads_how_it_ended(address: str, allowed: bool) -> None:
    if address == "::1" and not has_ipv6():
        pytest.skip("no IPv6 here")
    target = "/callback?code=c-1&state=%s&error_description=<b>x" % STATE
    pages: List[bytes] = []
    with waiting() as (redirect, waits):
        browser = threading.Thread(target=lambda: pages.append(ask(redirect.port, get(target), address)))
        browser.start()
        assert redirect.uri.startswith("http://localhost:")
        assert waits.result() == redirect.uri + target[len("/callback"):]
        assert not pages
        redirect.show_outcome(allowed)
        browser.join(WAIT)
    status, headers, body = head_of(pages[0])
    assert status == "HTTP/1.1 200 OK" and ("Access allowed" in body) is allowed
    assert (headers["cache-control"], headers["referrer-policy"]) == ("no-store", "no-referrer")
    assert "default-src 'none'" in headers["content-security-policy"] and int(headers["content-length"]) == len(body)
    assert not any(word in body for word in ("c-1", STATE, "<b>"))


def test_who_closes_without_a_word_tells_of_a_failure() -> None:
    pages: List[bytes] = []
    with waiting() as (redirect, waits):
        browser = threading.Thread(target=lambda: pages.append(ask(redirect.port, get("/callback?state=" + STATE))))
        browser.start()
        waits.result()
    browser.join(WAIT)
    assert b"Access not allowed" in pages[0]


@pytest.mark.parametrize("data", [
    get("/callback?state=other&code=c"), get("/callback?code=c"), get("/callback"), get("/"), get("/favicon.ico"),
    get("/callback/?state=" + STATE), get("/Callback?state=" + STATE),
    get("/callback?state=%s&state=%s" % (STATE, STATE)),
    get("/callback?state=" + STATE, "POST"), get("/callback?state=" + STATE, "HEAD"), b"\r\n\r\n",
    b"x" * 100 + b"\r\n\r\n",
    get("http://localhost/callback?state=" + STATE), get("/callback?state=%s#x y" % STATE), b"GET /callback\r\n\r\n",
    get("//callback?state=" + STATE), get("/callback;x?state=" + STATE), b"\x16\x03\x01\r\n\r\n",
])
def test_anything_else_gets_404_and_the_waiting_goes_on(data: bytes) -> None:
    with waiting() as (redirect, waits):
        status, headers, body = head_of(ask(redirect.port, data))
        assert status == "HTTP/1.1 404 Not Found" and headers["cache-control"] == "no-store" and STATE not in body
        assert not waits.came
        with socket.create_connection(("127.0.0.1", redirect.port), WAIT) as sock:
            sock.sendall(get("/callback?state=" + STATE))
            assert waits.result() == redirect.uri + "?state=" + STATE


def test_a_request_may_come_in_pieces_and_others_may_say_nothing_or_go() -> None:
    with waiting() as (redirect, waits), contextlib.ExitStack() as closing:
        def connected() -> socket.socket:
            return closing.enter_context(socket.create_connection(("127.0.0.1", redirect.port), WAIT))

        silent = connected()
        connected().close()
        half = connected()
        half.sendall(b"GET /callback?sta")
        large = connected()
        large.sendall(b"GET /" + b"x" * MAX_HEAD)
        assert large.recv(1) == b""
        for _ in range(MAX_OPEN):
            connected()
        assert silent.recv(1) == b""  # the oldest goes first
        whole = connected()
        for part in (b"GET /callback?", b"state=the-st", b"ate-1 HTTP/1.1\r\n", b"Host: x\r\n\r", b"\n"):
            whole.sendall(part)
        assert waits.result() == redirect.uri + "?state=" + STATE


def test_after_the_time_limit_nobody_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(float(number * 100) for number in range(1000))
    monkeypatch.setattr(deadline, "clock", lambda: next(times))
    with RedirectListener() as redirect, pytest.raises(Unauthorized, match=r"authorization_patience \(250 seconds\)"):
        redirect.wait(STATE, 250.0, lambda seconds: None)


def test_who_has_left_is_not_waited_for() -> None:
    with waiting() as (_, waits):
        waits.leave()
        assert "nobody waits" in str(waits.result())


def test_closed_means_closed() -> None:
    with RedirectListener() as redirect:
        port = redirect.port
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), 1.0).close()


def test_a_port_may_be_fixed_and_used_again_at_once() -> None:
    with RedirectListener() as first:
        port = first.port
    for _ in range(2):
        with waiting(port=port, path="/a/b") as (redirect, waits):
            assert redirect.uri == "http://localhost:%d/a/b" % port
            ask(port, get("/callback?state=" + STATE))
            with socket.create_connection(("127.0.0.1", port), WAIT) as sock:
                sock.sendall(get("/a/b?state=" + STATE))
                waits.result()


def test_a_fixed_port_that_is_taken_is_an_error_and_a_wanted_one_is_not() -> None:
    with RedirectListener() as first:
        with pytest.raises(AuthError, match="localhost:%d" % first.port):
            RedirectListener(port=first.port)
        with RedirectListener(wanted=first.port) as second:
            assert second.port != first.port
        port = second.port
    with RedirectListener(wanted=port) as third:
        assert third.port == port


@pytest.mark.skipif(not has_ipv6(), reason="no IPv6 here")
def test_a_port_that_somebody_else_has_on_one_address_is_not_used() -> None:
    with socket.socket(socket.AF_INET6) as other:
        other.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        other.bind(("::1", 0))
        other.listen(1)
        taken = other.getsockname()[1]
        with pytest.raises(AuthError):
            RedirectListener(port=taken)
        with RedirectListener(wanted=taken) as redirect:
            assert redirect.port != taken


def test_a_literal_address_is_the_only_one() -> None:
    with RedirectListener(host="127.0.0.1") as redirect:
        assert redirect.uri == "http://127.0.0.1:%d/callback" % redirect.port
        with pytest.raises(OSError):
            socket.create_connection(("::1", redirect.port), 1.0).close()


@pytest.mark.parametrize(("uri", "place"), [
    ("http://localhost/callback", ("localhost", 0, "/callback")), ("http://localhost:80/", ("localhost", 80, "/")),
    ("http://127.0.0.1:7/a/b", ("127.0.0.1", 7, "/a/b")), ("http://[::1]:65535/x", ("[::1]", 65535, "/x")),
])
def test_places_to_listen_at(uri: str, place: Any) -> None:
    assert place_of(uri) == place


@pytest.mark.parametrize("uri", [
    "https://localhost/x", "http://localhost", "http://localhost:70000/x", "http://example.com/x",
    "http://localhost/x?y",
    "http://localhost/x#y", "http://localhost@evil.example/", "http://127.0.0.2/x", "http://localhost:x/", "x:/y", "",
    "http://localhost/x y", "HTTP://localhost/x",
])
def test_other_places_need_a_callback(uri: str) -> None:
    with pytest.raises(ValueError, match="authorize="):
        place_of(uri)
