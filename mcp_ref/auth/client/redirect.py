"""The redirect listener: a small HTTP server on this machine that takes one request, that of the browser coming back.

It listens on 127.0.0.1 and on ::1, at the same port, since ``localhost`` may be either; no other machine reaches it.
The request that counts is a GET of exactly the path of the redirect URI, with exactly the ``state`` of the
authorization. Everything else gets 404, and the waiting goes on, so that only a request that knows the state ends it
[2025-06-18..2025-11-25 basic/authorization §Open Redirection] SHOULD
[2026-07-28 basic/authorization/security-considerations §Open Redirection] SHOULD.

The browser gets its page when it is known how the authorization ended. The page says just that: it shows nothing of
what the request or the server said, and the browser keeps nothing of it and passes nothing on.
"""

import re
import selectors
import socket
import sys
from typing import Callable, Dict, List, Optional, Tuple

from ...deadline import Deadline
from ...errors import AuthError, Unauthorized
from .code_flow import parameters, same

MAX_HEAD = 16 * 1024
"""Bytes of a request; browsers send some 2 KB and the query."""
MAX_OPEN = 16
"""Connections at a time; browsers open some in advance. The oldest is closed first."""
_SLICE = 0.1
"""Seconds between two checks that a request still waits for the authorization."""
_TRIES = 20
"""Random ports to try until one is free on both addresses."""

_LINE = re.compile(rb"GET (/[!-~]*) HTTP/1\.[01]\r?\n")
_PAGE = ("<!DOCTYPE html><html lang=en><meta charset=utf-8><title>%s</title>"
         "<body style='font-family: sans-serif; margin: 4em'><h1>%s</h1><p>%s</html>\n")
_DONE = ("Access allowed", "The program has what it needs. You can close this window.")
_FAILED = ("Access not allowed", "The program got no access, and says why. You can close this window.")
_HEAD = ("HTTP/1.1 %s\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n"
         "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n"
         "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n\r\n")


class RedirectListener:
    """Listens until it is closed. ``uri`` is its redirect URI. Used by one thread.

    ``host``: ``localhost``, ``127.0.0.1`` or ``[::1]``: the name in the URI, and if it is an address the only one to
    listen at. ``port``: 0 for a random one; ``wanted``: a random one, preferably this. Raises `AuthError` if no port
    can be bound.
    """

    def __init__(self, host: str = "localhost", port: int = 0, path: str = "/callback", wanted: int = 0) -> None:
        self.path = path
        self._listening: List[socket.socket] = []
        self._open: Dict[socket.socket, bytes] = {}
        self._held: Optional[socket.socket] = None
        self.port = self._bind(host, port, wanted)
        self.uri = "http://%s:%d%s" % (host, self.port, path)

    def __enter__(self) -> "RedirectListener":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def wait(self, state: str, seconds: float, pause: Callable[[float], None]) -> str:
        """Wait for the browser. Returns the URL that it came back to with this state.

        ``pause(0)`` is called now and then, and may raise. Raises `Unauthorized` after ``seconds``.
        """
        deadline = Deadline(seconds)
        with selectors.DefaultSelector() as selector:
            for listening in self._listening:
                selector.register(listening, selectors.EVENT_READ)
            while not deadline.expired():
                for key, _ in selector.select(min(_SLICE, deadline.left() or 0.0)):
                    sock: socket.socket = key.fileobj  # type: ignore[assignment]
                    if sock in self._listening:
                        self._accept(sock, selector)
                        continue
                    if sock not in self._open:
                        continue  # closed a moment ago, to make room for a newer connection
                    url = self._read(sock, state, selector)
                    if url is not None:
                        return url
                pause(0)
        raise Unauthorized("access was not allowed within authorization_patience (%g seconds)" % seconds)

    def show_outcome(self, allowed: bool) -> None:
        """Send the browser a page that says how the authorization ended."""
        held, self._held = self._held, None
        if held is not None:
            _reply(held, "200 OK", *(_DONE if allowed else _FAILED))

    def close(self) -> None:
        """Stop listening. A browser that still waits for its page gets the one of a failure."""
        self.show_outcome(False)
        for sock in [*self._listening, *self._open]:
            sock.close()
        self._listening.clear()
        self._open.clear()

    # Listening

    def _bind(self, host: str, port: int, wanted: int) -> int:
        tries = [port] if port else [wanted] * bool(wanted) + [0] * _TRIES
        for number in tries:
            try:
                return self._bind_both(host, number)
            except OSError as error:
                self.close()
                why = error.strerror
        raise AuthError("cannot listen for the browser at %s%s: %s" % (host, ":%d" % port if port else "", why))

    def _bind_both(self, host: str, port: int) -> int:
        """Listen at one port of all addresses that the host may be. Returns the port. Raises OSError."""
        if host != "[::1]":
            first = _listener(socket.AF_INET, "127.0.0.1", port)
            self._listening.append(first)
            port = int(first.getsockname()[1])
        if host != "127.0.0.1" and (host == "[::1]" or _has_ipv6()):
            # Another program that had this port on ::1 would get the codes of browsers that prefer IPv6.
            second = _listener(socket.AF_INET6, "::1", port)
            self._listening.append(second)
            port = int(second.getsockname()[1])
        return port

    def _accept(self, listening: socket.socket, selector: selectors.BaseSelector) -> None:
        try:
            sock, _ = listening.accept()
        except OSError:
            return  # the browser has closed the connection already
        sock.setblocking(False)
        if len(self._open) >= MAX_OPEN:
            self._drop(next(iter(self._open)), selector).close()
        self._open[sock] = b""
        selector.register(sock, selectors.EVENT_READ)

    def _drop(self, sock: socket.socket, selector: selectors.BaseSelector) -> socket.socket:
        selector.unregister(sock)
        del self._open[sock]
        return sock

    def _read(self, sock: socket.socket, state: str, selector: selectors.BaseSelector) -> Optional[str]:
        """Read what has come. Returns the URL if it is the request that counts, whose connection is then held open."""
        try:
            data = sock.recv(MAX_HEAD)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        head = self._open[sock] = self._open.get(sock, b"") + data
        if not data or len(head) > MAX_HEAD:
            self._drop(sock, selector).close()
            return None
        if b"\r\n\r\n" not in head and b"\n\n" not in head:
            return None
        self._drop(sock, selector)
        target = self._target(head, state)
        if target is None:
            _reply(sock, "404 Not Found", "Not here", "There is nothing at this address.")
            return None
        self._held = sock
        return self.uri[:-len(self.path)] + target

    def _target(self, head: bytes, state: str) -> Optional[str]:
        """Return path and query of the request that counts; None for any other."""
        line = _LINE.match(head)
        target = line.group(1).decode("ascii") if line else ""
        path, _, query = target.partition("?")
        said = parameters(query) if path == self.path else None
        return target if said is not None and same(said.get("state"), state) else None


def _listener(family: "socket.AddressFamily", address: str, port: int) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform == "win32":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a fixed port again, right after its last use
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind((address, port))
        sock.listen(MAX_OPEN)
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    return sock


def _has_ipv6() -> bool:
    """True if this machine has the address ::1 at all."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as sock:
            sock.bind(("::1", 0))
    except OSError:
        return False
    return True


def _reply(sock: socket.socket, status: str, title: str, text: str) -> None:
    body = (_PAGE % (title, title, text)).encode("utf-8")
    try:
        sock.settimeout(1.0)
        sock.sendall((_HEAD % (status, len(body))).encode("ascii") + body)
        sock.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the browser has gone
    finally:
        sock.close()


def place_of(redirect_uri: str) -> Tuple[str, int, str]:
    """Return host, port (0: any) and path of a redirect URI at which one can listen. Raises ValueError for any other.
    """
    found = re.match(r"http://(localhost|127\.0\.0\.1|\[::1\])(?::([0-9]{1,5}))?(/[^?#\s]*)\Z", redirect_uri)
    port = int(found.group(2) or 0) if found else 0
    if found is None or port > 65535:
        raise ValueError("a redirect URI to listen at is http://localhost:PORT/path, or with 127.0.0.1 or [::1]; for "
                         "another one pass authorize=")
    return found.group(1), port, found.group(3)
