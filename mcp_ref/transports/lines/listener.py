"""A listener for line-framed connections, which keeps the silent ones without a thread each.

`SocketListener` has one thread and one selector. In it stand the listening sockets and the *parked*
connections::

    def serve(transport):            # called for each new connection, on the listener's thread
        def start_reader():
            Thread(target=reader, args=(transport,)).start()
        if not transport.park(start_reader):
            start_reader()

    listener = SocketListener("tcp://127.0.0.1:0", serve)
    listener.open()
    ... listener.address ...         # with the port that was found
    listener.close()                 # and every connection with it

A parked connection costs a socket in the selector. When its peer sends something (or leaves), the
selector unregisters it and calls the function that was given to ``park``, which starts a reader thread or wakes one. A
reader that wants to give its thread back asks for ``idle_after``: after that many seconds of silence
`Transport.read` returns [], and the reader may park again, if nothing else keeps it. Bytes of an unfinished
message wait in the transport meanwhile. A connection that is never parked keeps its thread: that is the simple way,
and nothing here demands more.

The selector takes the reader's place inside the descriptor (see `mcp_ref.transports.lines.fds`), so a parked
connection is closed the usual way: ``shutdown`` makes it readable, the selector unregisters it, and the reader
reads the end.

A line that a peer begins and does not end may take ``line_timeout``, and a second more for each KiB that has come, as
long as memory is not scarce; then the connection is closed, with a log line. All such lines together are counted in the
account of `mcp_ref.transports.held`.

Limits: the connection after ``max_connections`` is closed at once, with a log line. If the process has
no descriptor left, accepting pauses until a connection is closed, or a second. Unix sockets: a missing
folder is made with mode 0700, the socket has mode 0600 before anybody can connect, a socket file that
no server answers on is removed, and any other file is left alone. TCP: only addresses of this machine
are silent; others get a warning in the log, because there is no authentication.
"""

import errno
import os
import selectors
import socket
import stat
import sys
import threading
from queue import Empty, SimpleQueue
from typing import Any, Callable, Dict, List, Optional, Tuple

from ... import deadline
from ...deadline import Deadline
from ...diagnostics.packagelog import Counters, get_logger, is_doubled
from ...errors import ConnectFailed
from ...limits import DEFAULT, Limits
from ...threads import need
from ...urls import is_loopback
from ..held import MemoryAccount
from .sockets import Address, Resume, SocketTransport, candidates, parse_address

_BACKLOG = 128
_ACCEPT_AT_ONCE = 32
_PAUSE_SECONDS = 1.0
_LINE_RATE = 1024
"""The bytes of an unfinished line that earn it another second."""
EXHAUSTED = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
"""The errors of ``accept`` that pass when others free what is short."""


class SocketListener:
    """A listener that accepts connections on an address and hands each to ``on_connection`` as a `SocketTransport`.

    ``on_connection`` runs on the listener's thread and must return soon; if it raises, the connection is
    closed. `close` closes the object that it returns in place of the transport, if that has a `close`.
    ``idle_after``: see the module; None: never. ``held``: the account of bytes that peers make us hold, by default one
    of its own.
    """

    warns = True
    """True if `open` logs that other machines can connect. Set it to False, before, to tell the operator otherwise."""
    only_json = False
    """True if a connection ends at bytes of another protocol; see `mcp_ref.transports.lines.sockets`."""
    reaches_others = False
    """True if other machines can connect; set by `open`."""

    def __init__(self, address: str, on_connection: Callable[[SocketTransport], Any], limits: Limits = DEFAULT,
                 idle_after: Optional[float] = None, held: Optional[MemoryAccount] = None) -> None:
        self.address = address
        self.limits = limits
        self.held = MemoryAccount(limits) if held is None else held
        self._on_connection = on_connection
        self._idle_after = idle_after
        self._sockets: List[socket.socket] = []
        self._path: Tuple[str, Any] = ("", None)
        self._lock = threading.RLock()  # for the four below; held for instants
        self._commands: "SimpleQueue[Callable[[], None]]" = SimpleQueue()
        self._connections: Dict[SocketTransport, Any] = {}  # and what serves it
        self._closing = False
        self._draining = False
        self._counts = Counters(write=self._log_refused, rule=is_doubled)
        self._paused = False  # of the listener's thread alone
        self._timing = False  # whether some line may be unfinished
        self._swept = 0.0
        self._thread: Optional[threading.Thread] = None
        self._owner = os.getpid()

    # From any thread

    def open(self) -> None:
        """Bind and start accepting. Then ``address`` has the port that was found. Raises `ConnectFailed`."""
        need("listening at %s" % self.address)
        self._owner = os.getpid()
        wanted = parse_address(self.address)
        self._sockets = [_listen_on_path(wanted.path) if wanted.path else listen_on_port(wanted)]
        if wanted.path:
            self._path = (wanted.path, _identity(wanted.path))
        else:
            host, port = self._sockets[0].getsockname()[:2]
            self.address = str(Address("", host, port))
            self.reaches_others = not is_loopback(host)
            if self.reaches_others and self.warns:
                _log().warning("%s can be reached from other machines, and there is no authentication", wanted)
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = socket.socketpair()
        for sock in (self._woken, self._wake):
            sock.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ, self._obey)
        self._listen(True)
        self._thread = threading.Thread(target=self._run, name="mcp-ref:listener:%s" % self.address, daemon=True)
        self._thread.start()

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._connections)

    @property
    def refused(self) -> int:
        """The number of connections that were closed because there were too many."""
        return self._counts["refused"]

    def __enter__(self) -> "SocketListener":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def close(self, grace: float = 0.0) -> None:
        """Stop accepting and close every connection. Returns when the thread has ended. A second call does nothing.

        Requests that run have ``grace`` seconds before; new ones are refused meanwhile. In a forked copy of the process
        that listens nothing happens.
        """
        if self._owner != os.getpid():
            return
        servings = self._drain(Deadline(grace)) if grace > 0 and self._thread is not None else []
        with self._lock:
            if self._thread is None:
                return  # never opened
            if not self._closing:
                self._closing = True
                self._signal()
        if self._thread is not threading.current_thread():
            self._thread.join(10)
        for serving in servings:
            serving.wait_closed(self.limits.shutdown_grace)  # what still runs is cancelled, and may end

    def _drain(self, end: Deadline) -> List[Any]:
        """Let running requests end until the deadline. Return the objects that serve the connections."""
        self._draining = True
        self._command(lambda: self._listen(False))
        with self._lock:
            servings = [serving for serving in self._connections.values() if hasattr(serving, "stop_accepting")]
        for serving in servings:
            serving.stop_accepting()
        for serving in servings:
            serving.inflight.wait_empty(end.left() or 0.0)
            serving.outbox.flush_within(self.limits.drain)
        return servings

    def _signal(self) -> None:
        try:
            self._wake.send(b"!")
        except OSError:
            pass  # full: it is awake anyway

    def _command(self, command: Callable[[], None]) -> bool:
        """Have the listener's thread call a function. Return False if the listener is closing."""
        with self._lock:
            if self._closing:
                return False
            self._commands.put(command)
            self._signal()
            return True

    def _park(self, transport: SocketTransport, resume: Resume) -> bool:
        descriptor = transport.descriptor
        descriptor.reading = True  # in the reader's place, until the selector unregisters it
        if not descriptor.closing and self._command(lambda: self._watch(transport, resume)):
            return True
        descriptor.reading = False
        descriptor.settle()
        return False

    def _gone(self, transport: SocketTransport) -> None:
        with self._lock:
            self._connections.pop(transport, None)
        self._command(lambda: self._listen(True))

    # On the listener's thread, which alone touches the selector

    def _run(self) -> None:
        while not self._closing:
            events = self._selector.select(_PAUSE_SECONDS if self._paused or self._timing else None)
            if self._paused and not events:
                self._listen(True)
            for key, _ in events:
                key.data()
            if self._timing and deadline.clock() >= self._swept + _PAUSE_SECONDS:
                self._sweep()
        self._finish()

    def _unfinished(self) -> None:
        """Note that a line has begun and not ended. Called often, from any thread; wakes the listener once a second."""
        if not self._timing:
            self._timing = True
            self._signal()

    def _sweep(self) -> None:
        """Close the connections whose line takes too long."""
        now = self._swept = deadline.clock()
        self._timing = False  # before the look: a line that begins from here on sets it again
        for transport in list(self._connections):
            since, size = transport.unfinished_since, transport.unfinished
            if since is None:
                continue
            self._timing = True
            earned = 0.0 if self.held.scarce else size / _LINE_RATE
            if now >= since + self.limits.line_timeout + earned:
                _log().warning("%s: a connection is closed: a message of which %d bytes have come took longer than "
                               "line_timeout (%g s)", self.address, size, self.limits.line_timeout)
                transport.unfinished_since = None
                transport.close()

    def _obey(self) -> None:
        """Run the commands. The wake pair is emptied first, then the queue, so that no command is left behind."""
        try:
            while self._woken.recv(1024):
                pass
        except BlockingIOError:
            pass
        try:
            while True:
                self._commands.get_nowait()()
        except Empty:
            pass

    def _listen(self, on: bool) -> None:
        on = on and not self._draining
        for sock in self._sockets:
            registered = sock in self._selector.get_map()
            if on and not registered:
                self._selector.register(sock, selectors.EVENT_READ, self._accept)
            elif registered and not on:
                self._selector.unregister(sock)
        self._paused = not on and not self._draining

    def _accept(self) -> None:
        for _ in range(_ACCEPT_AT_ONCE):
            try:
                sock, _address = self._sockets[0].accept()
            except OSError as error:
                if error.errno in EXHAUSTED:
                    _log().error("%s: accepting pauses: %s", self.address, error.strerror)
                    self._listen(False)
                return  # no connection waits, or it has gone again
            self._admit(sock)

    def _admit(self, sock: socket.socket) -> None:
        limit = self.limits.max_connections
        with self._lock:
            full = len(self._connections) >= limit
        if full:
            # Counted first: a client that sees its connection closed finds the count.
            self._counts.note("refused", "max_connections (%d) are open" % limit)
            sock.close()
            return
        try:
            transport = SocketTransport(sock, self.limits, self._park, self._idle_after, self._gone)
        except OSError:  # it was reset before it was greeted
            sock.close()
            return
        transport.count(self.held, transport)
        transport.on_unfinished = self._unfinished
        transport.only_json = self.only_json
        with self._lock:
            self._connections[transport] = None
        try:
            serving = self._on_connection(transport)
            with self._lock:
                if transport in self._connections:
                    self._connections[transport] = serving
        except Exception:
            _log().exception("%s: the connection could not be served", self.address)
            transport.close()

    def _log_refused(self, name: str, text: str, count: int) -> None:
        _log().warning("%s: %s; refused: %d", self.address, text, count)

    def _watch(self, transport: SocketTransport, resume: Resume) -> None:
        self._selector.register(transport.socket, selectors.EVENT_READ, lambda: self._unpark(transport, resume))

    def _unpark(self, transport: SocketTransport, resume: Resume) -> None:
        self._selector.unregister(transport.socket)
        transport.descriptor.reading = False
        transport.descriptor.settle()
        try:
            resume()
        except Exception:
            _log().exception("%s: a parked connection could not be resumed", self.address)
            transport.close()

    def _finish(self) -> None:
        """Close the connections, wake those that are parked, and remove the socket file."""
        self._obey()
        for transport, serving in list(self._connections.items()):
            getattr(serving, "close", transport.close)()
        for key in list(self._selector.get_map().values()):
            if key.fileobj is not self._woken and key.fileobj not in self._sockets:
                key.data()
        self._selector.close()
        for sock in (*self._sockets, self._woken, self._wake):
            sock.close()
        path, identity = self._path
        if path and _identity(path) == identity:
            os.unlink(path)


def _log() -> Any:
    return get_logger(__name__)


# --- Binding ----------------------------------------------------------------------------------------------------------

def listen_on_port(address: Address, backlog: int = _BACKLOG) -> socket.socket:
    """Return a listening socket on the first address of the host that can be bound. Raises `ConnectFailed`."""
    failures = []
    for family, sockaddr in candidates(address):
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            # On Windows reuse would let another program take the port as well.
            option = "SO_EXCLUSIVEADDRUSE" if sys.platform == "win32" else "SO_REUSEADDR"
            sock.setsockopt(socket.SOL_SOCKET, getattr(socket, option), 1)
            sock.bind(sockaddr)
            sock.listen(backlog)
            sock.setblocking(False)
        except OSError as error:
            sock.close()
            failures.append("%s port %d: %s" % (*sockaddr[:2], error.strerror or error))
            continue
        return sock
    raise ConnectFailed("cannot listen on %s: %s" % (address, "; ".join(failures)))


def _listen_on_path(path: str) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        _remove_stale(path)
        sock.bind(path)
        os.chmod(path, 0o600)  # before listen: until then no process can connect
        sock.listen(_BACKLOG)
        sock.setblocking(False)
        return sock
    except OSError as error:
        sock.close()
        raise ConnectFailed("cannot listen on unix://%s: %s" % (path, error.strerror or error)) from error
    except ConnectFailed:
        sock.close()
        raise


def _remove_stale(path: str) -> None:
    """Remove a socket file that no server answers on. Raises `ConnectFailed` if one does, or if it is no socket."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise ConnectFailed("cannot listen on unix://%s: there is a file that is no socket" % path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
    raise ConnectFailed("cannot listen on unix://%s: another program does" % path)


def _identity(path: str) -> Any:
    """Return device and inode, which tell this file from one that was put in its place; None if there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
