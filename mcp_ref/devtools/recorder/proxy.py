"""A reverse proxy that records: it listens in a server's place, and passes on to it whatever comes.

Methods, targets, header fields and bodies pass as they are: order, case, spaces and chunks of them too. The exceptions
are fields that are for one connection alone (`relay.passed_on`), and Host. Clients are to write there whom they
connect to, which is the proxy; servers are to refuse what is not for them, because a web page can make a browser send
requests to a name of its own that leads here (DNS rebinding)
[2025-06-18 basic/transports §Security Warning]. So a request gets the server's own Host, and for that the
proxy has to take over what the server can now not see any more: it refuses requests whose Host is neither this machine
nor among ``allowed_hosts``, as our own server does. Where it listens for other machines, too, an address in place of a
name is allowed: such an attack needs a name. Origin passes as it is, and stays the server's to judge. With
``keep_host`` Host passes as it is, too, for a server that makes URLs from it.

Nothing inside bodies or fields is rewritten. A server that names its own URLs (``resource_metadata``, Location, the
endpoint of HTTP+SSE) leads clients past the proxy.

HTTP does not say which sockets belong to one client, so events name no connection.
"""

import selectors
import socket
import threading
from ipaddress import ip_address
from typing import Any, List, Sequence, Set, Tuple

from ...http11.client.connect import Connector, server_url
from ...http11.server.server import listen
from ...limits import DEFAULT, Limits
from ...protocol.streamable_http.header_values import Hosts
from ...threads import start_thread
from ...transports.lines.listener import EXHAUSTED
from ...urls import is_loopback
from ...wiretrace import CLOSE, GAP
from .exchanges import HttpRecorder, MessageHead
from .relay import Relay, passed_on
from .telling import Backlog, EventWriter

RECORDED = ("start", "both", "times", "bytes", "http", "sse", "end", "documents")
PAUSE_SECONDS = 0.5
"""The seconds for which nothing is accepted where no descriptor is left."""
_SLICE = 0.5
"""Seconds of one wait for connections: a signal that comes just before a wait begins is handled only when it ends."""
FINISH_SECONDS = 30.0
"""The seconds that recording, and the threads of connections, may take after `Proxy.close`."""


class Proxy:
    """A proxy on ``host`` and ``port`` (0: any free one) before the server at the URL ``upstream``.

    Only the origin of the URL is used: targets pass as they are. Its path tells the recorder where messages are posted.
    ``allowed_hosts``: names by which clients may call the proxy, as in `Hosts`. Raises `ConnectFailed` for a URL that
    is none, ValueError for a name that is none.
    """

    def __init__(self, teller: EventWriter, host: str, port: int, upstream: str, keep_host: bool = False,
                 limits: Limits = DEFAULT, ssl_context: Any = None, allowed_hosts: Sequence[str] = ()) -> None:
        self.upstream = server_url(upstream)
        self.connector = Connector(self.upstream, limits.connect_timeout, ssl_context)
        self.host = host
        self.port = port
        self.backlog = Backlog()
        self.http = HttpRecorder(teller, self.upstream.origin, self.upstream.path)
        self.recorded = True
        """False if there was not enough time to record everything."""
        self._teller = teller
        self._keep_host = keep_host
        self._hosts = Hosts(allowed_hosts)
        self._limits = limits
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        """Notified when a relay is over."""
        self._relays: Set[Relay] = set()
        self._sockets: List[socket.socket] = []
        self._closed = False
        self._serving = False
        self._closing = threading.Event()
        self._done = threading.Event()
        self._wake = socket.socketpair()

    def open(self) -> None:
        """Listen. Raises `ConnectFailed`."""
        self._sockets = listen(self.host, self.port)
        self.port = self._sockets[0].getsockname()[1]

    @property
    def local(self) -> bool:
        """True if only this machine can connect."""
        return is_loopback(self.host)

    @property
    def url(self) -> str:
        """The URL to give to clients."""
        host = "[%s]" % self.host if ":" in self.host else self.host
        target = self.upstream.target if self.upstream.target != "/" else ""
        return "http://%s:%d%s" % (host, self.port, target)

    def serve(self) -> None:
        """Accept connections until `close` is called; each has a thread."""
        self._serving = True
        try:
            with selectors.DefaultSelector() as selector:
                for sock in [*self._sockets, self._wake[0]]:
                    selector.register(sock, selectors.EVENT_READ)
                while not self._closed:
                    for key, _ in selector.select(_SLICE):
                        if key.fileobj is not self._wake[0]:
                            self._accept(key.fileobj)
        finally:
            self._stop_waking()

    def _stop_waking(self) -> None:
        for sock in self._wake:
            sock.close()

    def _accept(self, listener: Any) -> None:
        try:
            sock, _ = listener.accept()
        except OSError as error:
            if error.errno in EXHAUSTED:
                self.gap("", "connections wait, because the proxy has no descriptor left: %s" % error.strerror)
                self._closing.wait(PAUSE_SECONDS)
            return  # otherwise it has gone already
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                if self._closed or len(self._relays) >= self._limits.max_http_connections:
                    sock.close()
                    self.gap("", "a connection was refused: there are max_http_connections (%d) already"
                             % self._limits.max_http_connections)
                    return
                relay = Relay(self, sock)
                self._relays.add(relay)
                try:
                    start_thread("mcp-ref:relay", self._run, relay)
                except RuntimeError:
                    self._relays.discard(relay)
                    raise
        except (OSError, RuntimeError) as error:
            sock.close()
            self.gap("", "a connection was refused: %s" % error)

    def _run(self, relay: Relay) -> None:
        relay.running = True
        try:
            relay.run()
        finally:
            with self._changed:
                self._relays.discard(relay)
                self._changed.notify_all()

    def close(self) -> None:
        """Stop: end all connections, and record what is left. A second call waits for the first."""
        with self._lock:
            closed, self._closed = self._closed, True
            relays = list(self._relays)
        if closed:
            self._done.wait(3 * FINISH_SECONDS)
            return
        self._closing.set()
        try:
            self._wake[1].send(b"!")
        except OSError:
            pass  # nothing is accepted any more
        for relay in relays:
            relay.stop()
        with self._changed:  # a Ctrl-C may have come before one of them began to run
            self._changed.wait_for(lambda: not any(relay.running for relay in self._relays), FINISH_SECONDS)
        self.backlog.put(self._tell_close, None)
        self.recorded = self.backlog.close(FINISH_SECONDS)
        for sock in self._sockets:
            sock.close()
        if not self._serving:
            self._stop_waking()
        self._done.set()

    def _tell_close(self, at: float, _: Any) -> None:
        if self.http.opened:
            self._teller.tell(CLOSE, at=at, text="the recorder was ended")

    # For relays

    def request_head(self, head: MessageHead) -> bytes:
        """Return the head of a request as it goes to the server."""
        lines = passed_on(head, None if self._keep_host else self.upstream.authority)
        if self.connector.absolute and head.target.startswith("/"):  # by way of another proxy, see `Connector`
            method, target, version = lines[0].split(b" ", 2)
            lines[0] = b" ".join((method, self.upstream.origin.encode("ascii") + target, version))
            credentials = self.connector.proxy.credentials if self.connector.proxy else ""
            if credentials:
                lines.insert(1, b"Proxy-Authorization: %s\r\n" % credentials.encode("ascii"))
        return b"".join(lines)

    def refusal_of(self, head: MessageHead) -> str:
        """Return why a request is not passed on; "" if it is."""
        if self.connector.absolute and not head.target.startswith("/"):
            return "the target of this request is %.100r, which is not for the server alone" % head.target
        for name, value in head.fields:
            if name.lower() == "host" and not self._allows(value):
                return ("the Host of this request is %.100r, which is not allowed here: a web page may have sent it "
                        "(DNS rebinding). --allowed-host names a host that is" % value)
        return ""

    def _allows(self, authority: str) -> bool:
        host = host_of(authority)
        return is_loopback(host) or self._hosts.allow(authority) or not self.local and _is_address(host)

    def gap(self, party: str, text: str) -> None:
        """Record that something was not recorded."""
        self.backlog.put(lambda at, _: self._teller.tell(GAP, party, at, text), None)


def host_of(authority: str) -> str:
    """Return the host of ``host:port``, in lower case and without brackets."""
    if authority.startswith("["):
        return authority[1:].partition("]")[0].lower()
    return authority.partition(":")[0].lower()


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def listen_address(text: str) -> Tuple[str, int]:
    """Return host and port of ``HOST:PORT``, ``:PORT`` or ``PORT``; the host is 127.0.0.1 unless it is written out.

    Raises ValueError.
    """
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and len(port) < 6 and int(port) < 65536) or "/" in host:
        raise ValueError("--http takes first where to listen, HOST:PORT or PORT (0 to 65535), such as 127.0.0.1:9000, "
                         "not %s" % text)
    return host.strip("[]") or "127.0.0.1", int(port)
