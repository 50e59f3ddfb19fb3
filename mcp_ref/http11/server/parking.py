"""The selector thread of the HTTP server: it waits for all connections that have no thread of their own.

It accepts connections, and gives one a thread as soon as something comes. Between requests, and while a reply goes on
without its thread, the connection is *parked* here: a socket in a selector. It sends what clients did not read at
once, and notices clients that leave. It never waits for a client, runs no handler and parses no request.

Other threads leave it commands. Times are checked once a second, in one pass over all connections: a timer for each
request would cost more than reading its head. Replies that take longer than a tick are found in the same way: their
clients are watched from then on.
"""

import selectors
import socket
import sys
import threading
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, Hashable, List, Optional, Sequence, Set, Tuple

from ... import deadline
from ...threads import WorkerPool, attempt, start_thread
from ...transports.lines.listener import EXHAUSTED
from .connection import Connection, HttpExchange, get_log
from .responses import Refused
from .room import LINGER_SECONDS, choose_for_room, pace, patience

if TYPE_CHECKING:
    from .server import HttpServer, Listener

_SWEEP_SECONDS = 1.0
_TICK_SECONDS = 0.1
"""The time after which the selector thread looks again while connections have threads."""
_PAUSE_SECONDS = 1.0
"""The time without accepting after no descriptor was left."""
_REFUSED_AT_ONCE = 64
"""The number of connections over the limit that are answered 503; further ones are just closed."""
_PIPELINED = 64 * 1024
"""The bytes of further requests that are kept while one is served; then reading pauses."""


class Errands(WorkerPool):
    """Threads for what may block and is not the request of a connection: callbacks, log records, rests of batches."""

    _run = staticmethod(attempt)

    def run(self, jobs: Sequence[Callable[[], None]]) -> None:
        """Run each job on a thread of its own, as long as there are fewer than ``max_workers``. Never waits."""
        with self._lock:
            self._jobs.extend(jobs)
            self._awaken(len(jobs))

    def _must_start(self) -> bool:
        return False  # the next sweep tries again

    def close(self) -> List[threading.Thread]:
        """Do what is left, and end the threads. Return them."""
        with self._lock:
            self._awaken(1 if self._jobs else 0)
            self._close()
            return list(self._threads)


class Parking:
    """The selector thread and its data. `command` is for any thread; the rest runs on the selector thread."""

    def __init__(self, engine: "HttpServer") -> None:
        self.engine = engine
        self.limits = engine.limits
        self.connections: Dict[Connection, None] = {}
        """All open connections, in the order in which room is looked for among them."""
        self._leaving: Dict[Connection, None] = {}
        """The connections that have ended while a thread still serves them: its handler runs on."""
        self._served: Dict[Connection, None] = {}
        """The connections that have a thread."""
        self.detached: Set[threading.Thread] = set()
        """Threads whose handler runs on after its reply, while another thread serves their connection."""
        self._selector = selectors.DefaultSelector()
        self._commands: Deque[Tuple[Callable[..., Any], Tuple[Any, ...]]] = deque()
        self._woken, self._wake = socket.socketpair()
        for sock in (self._woken, self._wake):
            sock.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._ringing = False
        self._listeners: List["Listener"] = []
        self._paused: Optional[float] = None
        """The time at which accepting goes on."""
        self._swept = self._watched = deadline.clock()
        self._end: Optional[float] = None
        """The time at which the server ends, whatever is still going on; None: it serves."""
        self._current: Any = None
        self.over = False
        """True if no command that comes from now on is carried out."""

    def command(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function on the selector thread. Never waits."""
        self._commands.append((function, arguments))
        if not self._ringing:
            self._ringing = True
            try:
                self._wake.send(b"!")
            except OSError:
                pass  # full, or over: it is awake anyway

    def start(self, listeners: List["Listener"], name: str) -> None:
        """Start the thread."""
        self._listeners = listeners
        self._accept(True)
        self.thread = start_thread("mcp-ref:selector:%s" % name, self._run)

    def _run(self) -> None:
        self.thread = threading.current_thread()  # before the first turn, which `start` need not have seen
        while not self._settled():
            try:
                self._turn()
            except Exception:  # a mistake of ours ends one connection, not the server
                self.engine.counts.add("internal errors")
                error = sys.exc_info()
                self.engine.errands.run([partial(get_log().error, "a mistake in the HTTP server", exc_info=error)])
                if isinstance(self._current, Connection):
                    self.lose(self._current)
        self._finish()

    def _turn(self) -> None:
        wait = _TICK_SECONDS if self._served or self._end is not None else (
            _SWEEP_SECONDS if self.connections or self._paused is not None or self._left_over() else None)
        for key, events in self._selector.select(wait):
            self._current = key.data
            if key.data is None:
                self._empty()
            elif not isinstance(key.data, Connection):
                key.data.accept()
            else:
                if events & selectors.EVENT_WRITE:
                    self._writable(key.data)
                if events & selectors.EVENT_READ:
                    self._readable(key.data)
        while self._commands:
            function, arguments = self._commands.popleft()
            self._current = arguments[0] if arguments else None
            function(*arguments)
        self._current = None
        now = deadline.clock()
        if now - self._watched >= _TICK_SECONDS:
            self._watch(now)
        if now - self._swept >= _SWEEP_SECONDS:
            self._sweep(now)

    def _empty(self) -> None:
        try:
            while len(self._woken.recv(1024)) == 1024:
                pass
        except BlockingIOError:
            pass
        self._ringing = False  # before the commands are taken: one that comes from here on wakes the selector again

    # New connections

    def _accept(self, on: bool) -> None:
        for listener in self._listeners:
            if on:
                self._selector.register(listener, selectors.EVENT_READ, listener)
            else:
                self._selector.unregister(listener)
        self._paused = None if on else deadline.clock() + _PAUSE_SECONDS

    def exhausted(self, error: OSError) -> None:
        """Pause accepting if this error says that no descriptor is left."""
        if error.errno in EXHAUSTED and self._paused is None:
            self._accept(False)
            self.engine.note("pauses of accepting", "cannot accept connections for a while: %s" % error)

    def take(self, connection: Connection) -> None:
        """Wait for the first bytes of a new connection."""
        limits, note = self.limits, self.engine.note
        excess = len(self.connections) + len(self._leaving) + len(self.detached) - limits.max_http_connections
        while excess >= 0:
            chosen = choose_for_room(self.connections, connection.peer)
            if chosen is None:
                break
            note("connections that made room", "%s: closed for another one, since max_http_connections (%d) are open"
                 % (chosen.peer, limits.max_http_connections))
            self.lose(chosen)
            excess -= 1
        if excess >= 0:
            full = "more than max_http_connections (%d)" % limits.max_http_connections
            note("connections over the limit", "%s: %s" % (connection.peer, full))
            if excess >= _REFUSED_AT_ONCE or connection.secure:
                connection.gone = True
                connection.sock.close()
                return
        self.connections[connection] = None
        connection.deadline = deadline.clock() + (limits.tls_handshake_timeout if connection.secure
                                                  else limits.http_header_timeout)
        if excess >= 0:
            connection.refuse(Refused(503, full))
        self.proceed(connection)

    # Connections and threads

    def _readable(self, connection: Connection) -> None:
        with connection.lock:
            exchange = connection.exchange
            if connection.gone:
                return
            busy = exchange is not None or bool(connection.outbox.pieces)
            if busy or connection.phase == "lingering":
                # A reply is on its way, or was the last one: note what comes, above all the end.
                try:
                    data = connection.receive(_PIPELINED)
                except OSError:
                    connection.break_off()
                    return
                if data and busy:
                    connection.parser.feed(data)
                    connection.drained = False
                connection.half_closed = data == b""
        if connection.half_closed and (exchange.ends_with_client if exchange is not None else not busy):
            self.lose(connection)
        elif busy or connection.phase == "lingering":
            self.update(connection)
        elif connection.close_connection and connection.thread is None:
            self.proceed(connection)
        else:
            self._serve(connection)

    def _serve(self, connection: Connection) -> None:
        """Give a parked connection a thread."""
        if connection.gone:
            return
        if connection.thread is not None:
            connection.watched = False  # it reads itself, or `_watch` sees that it does not
            self.update(connection)
            return
        self._served[connection] = None
        connection.thread = self.thread  # until the other one has begun: somebody has the connection
        self.update(connection)
        try:
            connection.listener.process_request(connection, (connection.peer, 0))  # type: ignore[arg-type]
        except (RuntimeError, MemoryError) as error:
            # No thread is left. The selector does not wait for the connection, so the next sweep tries again.
            self.engine.note("connections without a thread", "%s: %s" % (connection.peer, error))
            connection.thread = None
            del self._served[connection]

    def park(self, connection: Connection) -> None:
        """Take a connection back from its thread."""
        if connection.thread is not None:
            return  # it has the next one already
        self._served.pop(connection, None)
        if connection in self._leaving:
            del self._leaving[connection]
            connection.close()
            return
        if not connection.gone:
            connection.expired()
        self.proceed(connection)

    def proceed(self, connection: Connection) -> None:
        """Continue with the next request, or with the end of the connection."""
        with connection.lock:
            if connection.gone:
                ended = True
            elif connection.thread is not None or connection.exchange is not None or connection.outbox.pieces:
                ended = None
            else:
                ended = False
                if connection.deadline is None:
                    connection.deadline = deadline.clock() + self.limits.http_idle_timeout
            last = connection.close_connection
            ahead = connection.parser.unread and not connection.drained
        if ended:
            self.drop(connection)
        elif ended is None:
            self.update(connection)
        elif last or (not ahead and (connection.half_closed or (self._end is not None and connection.stage == "idle"))):
            self._hang_up(connection)
        elif ahead:
            self._serve(connection)
        else:
            self.update(connection)

    def _watch(self, now: float) -> None:
        """Watch the clients of handlers that take long. Where the reply is over, take the connection from the thread.

        Its client may send the next request meanwhile, and the handler may even wait for that.
        """
        self._watched = now
        for connection in list(self._served):
            running = connection.running
            if running is None or now - running.began < _TICK_SECONDS:
                continue
            with connection.lock:
                if connection.running is not running or connection.thread is None or connection.gone:
                    continue
                connection.watched = connection.exchange is running
                if not connection.watched:
                    self.detached.add(connection.thread)
                    connection.thread = connection.running = None
            if connection.watched:
                self.update(connection)
            else:
                del self._served[connection]
                self.proceed(connection)

    def _left_over(self) -> bool:
        """Return True if jobs wait because no thread could be started for them."""
        return bool(self.engine.errands.counts()[2] or self.engine.batches.counts()[2])

    def update(self, connection: Connection) -> None:
        """Register with the selector what this connection waits for: reading, writing, both or nothing."""
        if connection.gone or connection not in self.connections:
            return
        wanted = selectors.EVENT_WRITE if connection.outbox.pieces or (
            connection.wants_write and connection.thread is None) else 0
        if not connection.half_closed and (connection.watched if connection.thread is not None
                                           else not connection.wants_write):
            ahead = connection.exchange is not None or connection.outbox.pieces
            if not ahead or len(connection.parser.unread) <= _PIPELINED:
                wanted |= selectors.EVENT_READ
        before = connection.interest
        if wanted and not before:
            self._selector.register(connection.sock, wanted, connection)
        elif before and not wanted:
            self._selector.unregister(connection.sock)
        elif wanted != before:
            self._selector.modify(connection.sock, wanted, connection)
        connection.interest = wanted

    def _writable(self, connection: Connection) -> None:
        if connection.phase == "handshake":
            self._serve(connection)
            return
        with connection.lock:
            connection.outbox.flush()
            done = not connection.outbox.pieces
        if done:
            self.proceed(connection)

    def _hang_up(self, connection: Connection) -> None:
        """End a connection in order: shut down our side, then wait a moment for the client to do the same."""
        if connection.phase == "lingering":
            return
        with connection.lock:
            connection.end_writing()
        if connection.half_closed or self._end is not None:
            self.lose(connection)
            return
        connection.phase = "lingering"
        connection.deadline = deadline.clock() + LINGER_SECONDS
        self.update(connection)

    def lose(self, connection: Connection) -> None:
        """Close a connection, whatever its state."""
        with connection.lock:
            connection.gone = True
        self.drop(connection)

    def leave(self, connection: Connection, exchange: HttpExchange) -> None:
        """Close a connection whose client had ended its side before this exchange was watched."""
        if connection.exchange is exchange:
            self.lose(connection)

    def drop(self, connection: Connection) -> None:
        """Free all that a connection holds which is gone, and tell its exchange. A second call does nothing.

        A thread that serves it still has the socket; it is woken, and the rest is done when it has left.
        """
        if connection not in self.connections:
            return
        del self.connections[connection]
        with connection.lock:
            exchange, connection.exchange = connection.exchange, None
            connection.outbox.drop()
            if exchange is not None:
                exchange.release_body()
            if connection.interest:
                connection.interest = 0
                self._selector.unregister(connection.sock)
            if connection.thread is None:
                connection.close()
            else:
                connection.shut_down()
                self._leaving[connection] = None
        if exchange is not None:
            self.engine.errands.run([exchange.lose])
        if self._paused is not None and self._end is None:
            self._accept(True)

    # Times

    def _sweep(self, now: float) -> None:
        self._swept = now
        if self._paused is not None and now >= self._paused and self._end is None:
            self._accept(True)
        self.engine.errands.promote(1)
        self.engine.batches.promote(1)
        note, limits = self.engine.note, self.limits
        for connection in list(self.connections):
            outbox = connection.outbox
            if outbox.stall is not None and now >= outbox.stall:
                note("slow readers", "%s has read nothing for http_write_timeout (%g s)"
                     % (connection.peer, limits.http_write_timeout))
                self.lose(connection)
            elif outbox.since is not None and now >= patience(outbox, self.engine):
                note("slow readers", "%s reads less than min_read_rate (%g bytes a second)"
                     % (connection.peer, limits.min_read_rate))
                self.lose(connection)
            elif connection.thread is None and connection.expired():
                self.proceed(connection)
            elif connection.half_closed and _is_broken(connection.sock):
                self.lose(connection)
            elif connection.thread is None and not connection.interest:
                self.proceed(connection)

    def close_slow_readers(self, peer: Hashable) -> None:
        """Close connections whose clients do not read, until both limits of `mcp_ref.transports.held` are met.

        The first to go are clients that have had a second and read most slowly, then those that read least and waited
        longest. A reply that is larger than a limit may stay while it is the only one that waits.
        """
        held = self.engine.held
        while held.crowded() or held.greedy(peer):
            limit = "max_held_bytes" if held.crowded() else "max_held_bytes_per_peer"
            slow = [connection for connection in self.connections if connection.outbox.held and not connection.gone
                    and (held.crowded() or connection.outbox.holder == peer)]
            if len(slow) < 2:
                return
            connection = min(slow, key=pace)
            self.engine.note("unread replies", "%s reads too slowly: %s (%d) are held"
                             % (connection.peer, limit, getattr(self.limits, limit)))
            self.lose(connection)

    # The end

    def close(self, grace: float) -> None:
        """Stop accepting; running requests may finish within so many seconds, then all ends."""
        self.engine.closing = self.engine.draining = True
        self._end = deadline.clock() + grace
        if self._paused is None:
            self._accept(False)
        for listener in self._listeners:
            listener.server_close()
        for connection in list(self.connections):
            if not (connection.thread or connection.exchange or connection.outbox.pieces or connection.parser.unread):
                self.lose(connection)

    def served(self) -> List[threading.Thread]:
        """Return the threads that serve connections."""
        found = [connection.thread for connection in list(self.connections) + list(self._leaving)] + list(self.detached)
        return [thread for thread in found if thread is not None and thread is not self.thread]

    def _settled(self) -> bool:
        """Return True if the server closes and no request runs and no reply is on its way, or the time is over."""
        return self._end is not None and (deadline.clock() >= self._end or not any(
            connection.outbox.pieces or (connection.thread is not None and connection.stage == "idle"
                                         if connection.exchange is None else not connection.exchange.endless)
            for connection in self.connections))

    def _finish(self) -> None:
        """End the streams, and close everything."""
        for connection in list(self.connections):
            with connection.lock:
                exchange = connection.exchange
                if exchange is not None and exchange.endless:
                    connection.outbox.push(exchange.end())
                if not connection.gone and connection.phase == "open":
                    connection.end_writing()
                connection.gone = True
            self.drop(connection)
        self.over = True
        while self._commands:
            function, arguments = self._commands.popleft()
            attempt(partial(function, *arguments))
        self.release()

    def release(self) -> None:
        """Free the selector and what wakes it."""
        self._selector.close()
        self._woken.close()
        self._wake.close()


def _is_broken(sock: socket.socket) -> bool:
    """Return True if a client that sends no more is gone altogether; reading from it would not show that.

    The error may have been taken already: `ssl` reads a reset as an end. But then there is no peer any more.
    """
    try:
        sock.getpeername()
        return bool(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
    except OSError:
        return True
