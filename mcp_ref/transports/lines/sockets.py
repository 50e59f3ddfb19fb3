"""The transport of line-framed sockets: the framing of stdio over TCP and over Unix sockets.

An address is ``tcp://host:port`` (``tcp://[::1]:8000`` for IPv6; port 0: any free one) or
``unix:///path``. `connect_socket` makes a transport for an address, `SocketTransport` one for a
connected socket, and `mcp_ref.transports.lines.listener.SocketListener` accepts connections.

This is a custom transport in the sense of the specification [..2025-11-25 basic/transports §Custom Transports] MAY,
and it reuses the framing of stdio as that page of the newest revision wants
[2026-07-28 basic/transports/index §Custom Transports] SHOULD. Connecting opens the conversation,
closing ends it. There is no encryption and no authentication: use it on the loopback interface, and on Unix
sockets, which only their owner can open.

Any web page may send an HTTP request to a port of this machine, with lines of its choice in the body. So a server's end
of a connection (``only_json``) ends it, without an answer, at a first line that is no JSON object or array, and at any
line that is an HTTP request line or a ``Host`` field. A client forgives what a server prints first, as over stdio.

Closing is ``shutdown``, which frees threads inside ``recv`` and ``send``; the descriptor itself is closed
by the last thread that leaves it. TCP sends small messages at once (no Nagle) and notices a dead peer by keep-alive.
"""

import os
import re
import socket
import sys
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

from ... import deadline
from ...errors import ConnectFailed
from ...limits import DEFAULT, Limits
from ..base import Received
from .fds import LARGEST_READ, SMALLEST_READ, Closed, Descriptor, keep_socket_from_forks, tell_of_fork, wait_ready
from .stdio import LineTransport

CONNECT_TIMEOUT = 10.0
"""The seconds that one address of a host has to answer."""
_SURE_TO_FIT = 4096
"""The bytes that a socket takes at once if it polls as writable: at least a third of its buffer is free."""
_SEND_FLAGS = getattr(socket, "MSG_NOSIGNAL", 0)
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*[{\[]")
_HTTP = re.compile(rb"(?i)host:|\S+ .*HTTP/\d")
_UNIX_PATH_BYTES = 107 if sys.platform.startswith("linux") else 103

Resume = Callable[[], None]


# --- Addresses --------------------------------------------------------------------------------------------------------

class Address(NamedTuple):
    """An address in its parts: a path, or a host and a port."""

    path: str
    host: str
    port: int

    def __str__(self) -> str:
        if self.path:
            return "unix://%s" % self.path
        return "tcp://%s:%d" % ("[%s]" % self.host if ":" in self.host else self.host, self.port)


def parse_address(address: str) -> Address:
    """Read an address. Raises `ConnectFailed` that says what is wrong with it."""
    scheme, _, rest = address.partition("://")
    if scheme == "unix":
        return Address(_checked_path(rest), "", 0)
    host, colon, port = rest.rpartition(":")
    if scheme != "tcp" or not colon or not (port.isascii() and port.isdigit() and len(port) < 6) or int(port) > 65535:
        raise ConnectFailed("%r is no address: tcp://host:port or unix:///path" % address)
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ConnectFailed("%r is no address: an IPv6 host stands in brackets" % address)
    return Address("", host or "127.0.0.1", int(port))


def _checked_path(path: str) -> str:
    if not hasattr(socket, "AF_UNIX"):
        raise ConnectFailed("this system has no Unix sockets for %s" % path)
    if not path.startswith("/") or "\0" in path:
        raise ConnectFailed("the path of a Unix socket must be absolute: unix:///path, not unix://%s" % path)
    if len(os.fsencode(path)) > _UNIX_PATH_BYTES:
        raise ConnectFailed("the path of a Unix socket has at most %d bytes here: %s" % (_UNIX_PATH_BYTES, path))
    return path


def candidates(address: Address) -> List[Tuple[int, Any]]:
    """Return (family, address) pairs to try, in order. Raises `ConnectFailed` for a host that is not known."""
    if address.path:
        return [(socket.AF_UNIX, address.path)]
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except UnicodeError:  # a label that is empty or too long
        raise ConnectFailed("%s: no host can have this name" % (address,)) from None
    except OSError as error:
        raise ConnectFailed("%s: %s" % (address, error.strerror or error)) from error
    return [(family, sockaddr) for family, _, _, _, sockaddr in found]


# --- The transport ----------------------------------------------------------------------------------------------------

class SocketTransport(LineTransport):
    """The transport of one connected stream socket, which belongs to it from now on.

    ``park``: given by a listener; see `SocketTransport.park`. ``idle_after``: seconds of silence after which
    ``read`` returns []; None: never. ``gone`` is called when the socket is closed for good.
    """

    name = "socket"
    unfinished_since: Optional[float] = None
    """The time at which the unfinished line began; None without one, and where ``on_unfinished`` is not set."""
    only_json = False
    """True if the connection ends at bytes of another protocol; see the module. Set by a listener."""
    _begun = False  # True once a line of JSON has come
    on_unfinished: Optional[Callable[[], None]] = None
    """A function that a listener sets. It is called when a line begins and does not end at once, and must not wait."""

    def __init__(self, sock: Optional[socket.socket], limits: Limits = DEFAULT,
                 park: Optional[Callable[["SocketTransport", Resume], bool]] = None,
                 idle_after: Optional[float] = None,
                 gone: Optional[Callable[["SocketTransport"], None]] = None) -> None:
        super().__init__(limits)
        self._park = park
        self._idle_after = idle_after
        self._gone = gone
        self._size = SMALLEST_READ
        if sock is not None:
            self._attach(sock)

    def _attach(self, sock: socket.socket) -> None:
        sock.settimeout(None)
        if sock.family == getattr(socket, "AF_UNIX", None):
            self.same_machine = True
        else:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if hasattr(socket, "SO_NOSIGPIPE"):  # where there is no MSG_NOSIGNAL
            sock.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_NOSIGPIPE"), 1)
        self.socket = sock
        keep_socket_from_forks(sock)
        tell_of_fork(self)
        self.descriptor = Descriptor(self._really_close)
        self._receive, self._send, self._can_send = self._recv, self._send_all, self._poll_writable

    def _really_close(self) -> None:
        self.socket.close()
        if self._gone is not None:
            self._gone(self)

    def open(self) -> None:
        """Do nothing: the socket is connected."""

    def read(self) -> Optional[List[Received]]:
        """Read messages; see `Transport.read`. Return [] after ``idle_after`` seconds of silence."""
        if self._idle_after is None:
            return super().read()
        while self._wait(self._idle_after):  # also in the middle of a message
            items = self._read_once()
            if items or items is None:
                return items
        return []

    def _read_once(self) -> Optional[List[Received]]:
        """Read once; see `LineTransport._read_once`. Calls ``on_unfinished``."""
        items = super()._read_once()
        if items and self.only_json and any(map(self._is_foreign, items)):
            items = None
            self._why = "the peer speaks another protocol, such as HTTP: this socket takes one JSON-RPC message a line"
            from ...diagnostics.packagelog import get_logger

            get_logger(__name__).warning("%s: a connection is closed: %s", self.name, self._why)
        if self.on_unfinished is None or items is None or not self._splitter.unfinished:
            self.unfinished_since = None
        elif items or self.unfinished_since is None:
            self.unfinished_since = deadline.clock()
            self.on_unfinished()
        return items

    def _is_foreign(self, item: Received) -> bool:
        """Return True for a line that shows that the peer speaks another protocol."""
        if isinstance(item, bytes):
            if item[:1] != b"{" and (_HTTP.match(item) or not (self._begun or _JSON.match(item))):
                return True
            self._begun = True
        return False

    @property
    def unfinished(self) -> int:
        """The number of bytes that have come of an unfinished line."""
        return self._splitter.unfinished

    def _wait(self, seconds: float) -> bool:
        """Return True if there is something to read, be it the end, within that time."""
        descriptor = self.descriptor
        descriptor.reading = True
        try:
            return descriptor.closing or wait_ready(self.socket, seconds)
        finally:
            descriptor.reading = False
            if descriptor.closing:
                descriptor.settle()

    def _recv(self) -> bytes:
        descriptor = self.descriptor
        descriptor.reading = True
        try:
            if descriptor.closing:
                raise Closed("closed")
            chunk = self.socket.recv(self._size)
        finally:
            descriptor.reading = False
            if descriptor.closing:
                descriptor.settle()
        if len(chunk) == self._size:
            self._size = min(LARGEST_READ, 2 * self._size)
        elif len(chunk) < SMALLEST_READ // 2:
            self._size = SMALLEST_READ
        return chunk

    def _send_all(self, data: bytes) -> None:
        descriptor = self.descriptor
        descriptor.writing = True
        try:
            if descriptor.closing:
                raise Closed("closed")
            sent = self.socket.send(data, _SEND_FLAGS)
            if sent < len(data):
                rest = memoryview(data)
                while sent < len(data):
                    sent += self.socket.send(rest[sent:], _SEND_FLAGS)
        finally:
            descriptor.writing = False
            if descriptor.closing:
                descriptor.settle()

    def _poll_writable(self, size: int) -> bool:
        descriptor = self.descriptor
        descriptor.writing = True
        try:
            if descriptor.closing:
                return True  # writing says so at once
            return size <= _SURE_TO_FIT and wait_ready(self.socket, 0, for_writing=True)
        finally:
            descriptor.writing = False
            if descriptor.closing:
                descriptor.settle()

    def park(self, resume: Resume) -> bool:
        """Give up the reader's thread while the peer is silent; the reader calls it instead of `read`.

        Return True if the reader may end; ``resume`` is then called once, on a thread that must not be kept, when there
        is something to `read` again, be it the end. Return False if this transport has no such place: read on. Only
        connections of a `SocketListener` have one.
        """
        return self._park is not None and self._park(self, resume)

    def close(self) -> None:
        """Close the connection; see `Transport.close`."""
        self._closed = True
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the peer was faster
        self.descriptor.close()


class _Dialling(SocketTransport):
    """The transport of a socket that connects when it is opened."""

    def __init__(self, address: str, limits: Limits, timeout: float) -> None:
        super().__init__(None, limits)
        self.address = address
        self._timeout = timeout

    def renew(self) -> SocketTransport:
        """Return a transport to the same address, not open yet."""
        return _Dialling(self.address or "", self.limits, self._timeout)

    def open(self) -> None:
        """Connect. Raises `ConnectFailed` with every address that was tried, and its error."""
        address = parse_address(self.address or "")
        failures = []
        last: Optional[OSError] = None
        for family, sockaddr in candidates(address):
            sock = socket.socket(family, socket.SOCK_STREAM)
            try:
                sock.settimeout(self._timeout)
                sock.connect(sockaddr)
            except OSError as error:
                sock.close()
                where = sockaddr if isinstance(sockaddr, str) else "%s port %d" % sockaddr[:2]
                failures.append("%s: %s" % (where, error.strerror or error))
                last = error
            else:
                self._attach(sock)
                if self._closed:  # meanwhile, by another thread
                    super().close()
                return
        raise ConnectFailed("cannot connect to %s: %s" % (address, "; ".join(failures))) from last

    def close(self) -> None:
        """Close the connection, or one that is being made as soon as it is there; see `Transport.close`."""
        self._closed = True
        if hasattr(self, "socket"):
            super().close()


def connect_socket(address: str, limits: Limits = DEFAULT, timeout: float = CONNECT_TIMEOUT) -> SocketTransport:
    """Return a transport whose ``open`` connects to this address. Each address of the host has ``timeout`` seconds."""
    return _Dialling(address, limits, timeout)
