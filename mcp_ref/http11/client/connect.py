"""A connector to an HTTP server: its URL, proxies, TLS.

`server_url` reads a URL. A `Connector` makes connections to one, directly or through a proxy: the variables
HTTPS_PROXY, HTTP_PROXY and NO_PROXY (and the settings of the system, where it has some) are honoured, but what is on
this machine itself is always reached directly. TLS checks certificates against those of the system, or of the file
that SSL_CERT_FILE names, or of ``cafile``, or by an `ssl.SSLContext` of your own.

A `CancelScope` is the scope of a cancellation: it lets another thread end what a thread waits for on a connection, at
every stage. `socket.shutdown` frees the thread from connecting, the TLS handshake, sending or receiving. The descriptor
itself is closed by the thread that uses it, so no other connection can get its number meanwhile.
"""

import os
import re
import socket
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Callable, Dict, Iterator, NamedTuple, Optional
from urllib.parse import quote, unquote, urljoin, urlsplit

from ...errors import ConnectFailed, ConnectionLost, TransportError
from ...transports.lines.fds import keep_socket_from_forks
from ...urls import BadUrl, Url, read_url
from .response import BROKEN, Reply, failure_text

if TYPE_CHECKING:
    import ssl

_HOST = re.compile(r"[A-Za-z0-9._:%\-]{1,255}\Z")
_KEPT = "%/:=&?~+!$,;'@()*[]"
"""Characters that a request target keeps, besides letters, digits and ``_.-``."""
_FORM = "{url} is no URL of the form http://host:port/path or https://..."
_FAULTS = {
    "syntax": "{url} is no URL: {why}", "scheme": _FORM, "port": _FORM, "host": "{url} names no host",
    "user": "a URL with a user or password in it: pass token=... or headers={{...}} instead",
}
"""The error texts for the faults of a `BadUrl`."""


class Abandoned(ConnectionLost):
    """The error of a request that was cancelled; see `CancelScope.cancel`."""


class CancelScope:
    """The scope of one cancellation: the work of one thread on one connection, which others may end. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sock: Optional[socket.socket] = None
        self._waiting: Optional[threading.Event] = None
        self.gone = False
        self.on_pause: Optional[Callable[[bool], None]] = None
        """A function that is called when the clock stops (True) and when it goes on (False); see `pause_clock`."""
        self.asked = 0
        """The number of refusals for which authorization was asked, over all connections of this request."""

    def attach(self, sock: socket.socket) -> None:
        """Attach a socket, which the thread uses from now on. Raises `Abandoned` after `cancel`."""
        with self._lock:
            if self.gone:
                raise Abandoned("the request was given up")
            self._sock = sock

    def detach(self) -> None:
        """Detach the socket. Call this before the socket is closed or kept for others."""
        with self._lock:
            self._sock = None

    def cancel(self) -> None:
        """Cancel: free the thread that waits now, and refuse all later waits. Call this from any thread."""
        # The shutdown happens under the lock: `detach` takes it before the descriptor is closed, so its number cannot
        # belong to another connection yet.
        with self._lock:
            self.gone = True
            if self._sock is not None:
                _shut(self._sock)
            waiting = self._waiting
        if waiting is not None:
            waiting.set()

    def pause(self, seconds: float) -> None:
        """Wait for so many seconds. Raises `Abandoned` as soon as it is cancelled."""
        with self._lock:
            waiting = self._waiting = self._waiting or threading.Event()
            gone = self.gone
        if gone or waiting.wait(seconds):
            raise Abandoned("the request was given up")

    def wait(self, event: threading.Event) -> None:
        """Wait for an event that no other thread waits for. Raises `Abandoned` as `pause` does; the event is set
        then."""
        with self._lock:
            before, self._waiting = self._waiting, event
            gone = self.gone
        if not gone:
            event.wait()
        with self._lock:
            self._waiting = before
            gone = self.gone
        if gone:
            raise Abandoned("the request was given up")

    @contextmanager
    def pause_clock(self) -> Iterator[None]:
        """Stop the clock of the request while a person is asked. Must not be nested."""
        told = self.on_pause
        if told is None:
            yield
            return
        told(True)
        try:
            yield
        finally:
            told(False)


def _shut(sock: socket.socket) -> None:
    try:
        socket.socket.shutdown(sock, socket.SHUT_RDWR)  # that of `SSLSocket` would end TLS under the reader's feet
    except OSError:
        pass  # not connected, or not any more


def server_url(url: str) -> Url:
    """Read the URL of a server, and write its path and query as they go into a request.

    Raises `ConnectFailed` that says what is wrong with it, without repeating secrets.
    """
    try:
        found = read_url(url)
    except BadUrl as bad:
        raise ConnectFailed(_FAULTS[bad.fault].format(url="%.200r" % url, why=bad)) from None
    try:
        name = found.host.encode("idna").decode("ascii") if not found.host.isascii() else found.host
    except UnicodeError:
        name = ""
    if not _HOST.match(name):
        raise ConnectFailed("%.200r names no host" % url)
    return found._replace(host=name.lower(), path=quote(found.path or "/", safe=_KEPT),
                          query=quote(found.query, safe=_KEPT))


def server_url_from(base: str, reference: str, whence: str) -> Url:
    """Read a URL that a peer names, perhaps relative to ``base``.

    Raises `ConnectFailed`. ``whence`` begins its text, and says who names the URL.

    `urljoin` raises ValueError for some references, such as ``http://[::1``.
    """
    try:
        joined = urljoin(base, reference)
    except ValueError as error:
        raise ConnectFailed("%s %.200r, which is no URL: %s" % (whence, reference, error)) from None
    try:
        return server_url(joined)
    except ConnectFailed as error:
        raise ConnectFailed("%s an address that cannot be asked: %s" % (whence, error)) from None  # it hides secrets


class HttpProxy(NamedTuple):
    """An HTTP proxy; ``credentials`` is the value of Proxy-Authorization, "" for none."""

    host: str
    port: int
    credentials: str

    def __repr__(self) -> str:
        return "HttpProxy(%r, %d)" % (self.host, self.port)


def find_proxy(where: Url) -> Optional[HttpProxy]:
    """Return the proxy that the environment asks for, or None. Raises `ConnectFailed` if its URL is none."""
    asked = os.name == "nt" or sys.platform == "darwin" or any(name.lower().endswith("_proxy") for name in os.environ)
    if not asked or where.loopback:
        return None
    from urllib.request import getproxies, proxy_bypass  # late: it loads half of the library

    proxies: Dict[str, str] = getproxies()
    found = proxies.get(where.scheme) or proxies.get("all")
    if not found or proxy_bypass("%s:%d" % (where.host, where.port)):
        return None
    try:
        parts = urlsplit(found if "://" in found else "http://" + found)
        host, port = parts.hostname, parts.port or 80
    except ValueError:
        host, port, parts = None, 0, urlsplit("")
    if parts.scheme != "http" or not host:
        raise ConnectFailed("the proxy for %s is not of the form http://host:port" % where.scheme)
    credentials = ""
    if parts.username is not None:
        from base64 import b64encode

        pair = "%s:%s" % (unquote(parts.username), unquote(parts.password or ""))
        credentials = "Basic " + b64encode(pair.encode("utf-8")).decode("ascii")
    return HttpProxy(host, port, credentials)


class Connector:
    """Makes connections to one server; ``timeout``: seconds for each step. Thread-safe.

    ``refusal(address)`` returns the error for an address of the name that must not be connected to, or None. It is
    asked about the very address that is then connected to, and not where a proxy resolves the name. `dial` raises the
    error if no other address is left.

    Raises `ConnectFailed` for a proxy URL that is none, and for a ``cafile`` that cannot be read.
    """

    def __init__(
        self, where: Url, timeout: float, ssl_context: "Optional[ssl.SSLContext]" = None,
        cafile: Optional[str] = None, refusal: Optional[Callable[[str], Optional[Exception]]] = None,
    ) -> None:
        self.where = where
        self.proxy = find_proxy(where)
        self._timeout = timeout
        self._refusal = refusal if self.proxy is None else None
        self._context = (ssl_context or _context(cafile)) if where.scheme == "https" else None
        self.absolute = self.proxy is not None and self._context is None
        """True if requests go to a proxy that reads them, and so have whole URLs as targets."""

    def dial(self, cancel_scope: CancelScope) -> socket.socket:
        """Return a connected socket without timeout, attached to the cancel scope. Raises `ConnectFailed`,
        `Abandoned`."""
        host, port = (self.where.host, self.where.port) if self.proxy is None else self.proxy[:2]
        name = "%s:%d" % ("[%s]" % host if ":" in host else host, port)
        through = "" if self.proxy is None else " (proxy, for %s)" % self.where.origin
        try:
            sock = self._connect(host, port, cancel_scope)
        except OSError as error:
            raise _failure(cancel_scope, "cannot connect to %s%s: %s" % (name, through, failure_text(error))) from error
        try:
            if self.proxy is not None and not self.absolute:
                self._tunnel(sock, self.proxy)
            sock = self._secured(sock, cancel_scope)
            sock.settimeout(None)
        except BROKEN as error:
            cancel_scope.detach()
            sock.close()
            text = "cannot connect to %s%s: %s" % (self.where.origin, through, failure_text(error))
            raise _failure(cancel_scope, text) from error
        except BaseException:
            cancel_scope.detach()
            sock.close()
            raise
        return sock

    def _connect(self, host: str, port: int, cancel_scope: CancelScope) -> socket.socket:
        """Connect to the first address that answers. Raises OSError, or the error of ``refusal``."""
        failure: Exception = OSError("the name has no address")
        tried = False
        try:
            addresses = socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM)
        except UnicodeError:  # a label that is empty or too long; a peer may have named the host
            raise OSError("no host can have this name") from None
        for family, kind, protocol, _, address in addresses:
            refused = None if self._refusal is None else self._refusal(str(address[0]))
            if refused is not None:
                failure = failure if tried else refused
                continue
            tried = True
            sock = socket.socket(family, kind, protocol)
            keep_socket_from_forks(sock)
            try:
                cancel_scope.attach(sock)
                sock.settimeout(self._timeout)
                sock.connect(address)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                return sock
            except BaseException as error:
                cancel_scope.detach()
                sock.close()
                if not isinstance(error, OSError):
                    raise
                failure = error
        raise failure

    def _tunnel(self, sock: socket.socket, proxy: HttpProxy) -> None:
        """Have the proxy connect us through [RFC 9110 §9.3.6]. Raises one of BROKEN."""
        host = "[%s]" % self.where.host if ":" in self.where.host else self.where.host
        whom = "%s:%d" % (host, self.where.port)
        head = "CONNECT %s HTTP/1.1\r\nHost: %s\r\n" % (whom, whom)
        if proxy.credentials:
            head += "Proxy-Authorization: %s\r\n" % proxy.credentials
        sock.sendall(head.encode("ascii") + b"\r\n")
        reply = Reply(sock, "CONNECT")
        try:
            reply.begin()
            if not 200 <= reply.status < 300:
                raise OSError("the proxy answered %d %s" % (reply.status, reply.reason))
        finally:
            reply.close()

    def _secured(self, sock: socket.socket, cancel_scope: CancelScope) -> socket.socket:
        """Return the socket, for https with TLS on top. Raises OSError (`ssl.SSLError` is one)."""
        if self._context is None:
            return sock
        secure = self._context.wrap_socket(sock, server_hostname=self.where.host, do_handshake_on_connect=False)
        keep_socket_from_forks(secure)
        try:
            cancel_scope.attach(secure)
            secure.do_handshake()
        except BaseException:
            cancel_scope.detach()
            secure.close()
            raise
        return secure


def _failure(cancel_scope: CancelScope, text: str) -> TransportError:
    return Abandoned("the request was given up") if cancel_scope.gone else ConnectFailed(text)


def _context(cafile: Optional[str]) -> "ssl.SSLContext":
    import ssl

    try:
        context = ssl.create_default_context(cafile=cafile)
    except OSError as error:
        raise ConnectFailed("cannot read the certificates in %s: %s" % (cafile, error.strerror or error)) from error
    context.set_alpn_protocols(["http/1.1"])
    return context
