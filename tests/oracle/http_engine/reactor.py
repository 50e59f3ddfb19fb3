"""The selector thread of the HTTP engine: accepts, reads, parses, and sends what did not fit.

It alone touches the selector; other threads leave it a command and wake it. It never waits for a client. It runs
handlers itself; if one blocks, another thread goes on here (see `leader`). It logs nothing itself: a log handler may
block, so records go through the workers.

Timeouts are checked once a second, in one pass over all connections: arming and disarming a timer for each request
would cost more than its head.
"""

import selectors
import socket
import sys
from collections import Counter, deque
from itertools import islice
from typing import Any, Callable, Deque, Dict, Hashable, List, Optional, Tuple

from mcp_ref import deadline
from mcp_ref.diagnostics.packagelog import Counters, OncePerSecond
from mcp_ref.limits import Limits
from mcp_ref.transports.held import MemoryAccount
from mcp_ref.http11.message import Exchange
from .acceptor import Acceptor, CommandQueue
from .body_budget import BodyBudget, NoRoom
from .connection import PIPELINED, ClientConnection, Engine, HttpExchange, get_log
from .leader import HandlerPool, Job, LeaderThread
from mcp_ref.http11.server.owners import network_of
from .responses import CONTINUE, Refused, refusal

_SWEEP_SECONDS = 1.0
_LINGER_SECONDS = 3.0
"""The seconds for which a client may go on sending after the last reply. Closing at once would reset the connection,
and the reply would be lost with it [RFC 9112 §9.6]."""
_READ = 16 * 1024
"""A whole TLS record: so nothing that was decrypted waits where the selector does not see it."""
_READ_BODY = 1024 * 1024
"""The bytes of a body that are read at once; more wait until other connections had their turn."""
_REFUSED_AT_ONCE = 64
"""The number of connections over the limit that are answered 503; further ones are just closed."""
_NEW_SECONDS = 1.0
"""Seconds that a reply may wait before its client counts as slow."""
_CANDIDATES, _LOOKS = 64, 16
"""The number of connections that are compared when one has to make room, and of attempts with others."""
_SLOW_SECONDS = 1.0
"""The seconds after which a handshake or a request that is not whole may have to make room."""
_BODY_RATE = 1024
"""Bytes of a body that earn it another second."""


class Reactor(Engine):
    """The work of the selector thread, and its data. ``handler`` as in `HttpServer`."""

    def __init__(self, handler: Callable[[Exchange], None], pool: HandlerPool, limits: Limits,
                 ssl_context: Any = None, name: str = "http", held: Optional[MemoryAccount] = None) -> None:
        self.handler = handler
        self.limits = limits
        self.bodies = BodyBudget(limits)
        self.held = MemoryAccount(limits) if held is None else held
        self.draining = False
        self.closing = False
        get_log()  # loads what it takes, which fails later if no descriptor is left, and that is worth a record
        self.counters = Counters(write=self._log_later, rule=OncePerSecond())
        """The counts of requests and connections that were refused or ended. Each kind is logged once a second: an
        attacker must not fill a disk."""
        self._note = self.counters.note
        self.connections: Dict[ClientConnection, None] = {}
        """All connections, in the order in which `_make_room` looks at them."""
        self._pool = pool
        pool.wake = lambda: self.command(_look)
        self._connect: Callable[[socket.socket, str], ClientConnection]
        self._connect = lambda sock, peer: ClientConnection(sock, peer, self)
        if ssl_context is not None:
            from .tls import TlsConnection

            self._connect = lambda sock, peer: TlsConnection(sock, peer, self, ssl_context)
        self._selector = selectors.DefaultSelector()
        self._commands = CommandQueue(self._selector)
        self.acceptor = Acceptor(self._selector, self._take, self._note)
        self._jobs: List[Job] = []
        self._logs: List[Job] = []
        """The log records to be written on workers: a log handler blocks when its file does."""
        self._requests: Deque[HttpExchange] = deque()
        self._leader = LeaderThread(name, self._step, limits.promote_after)
        self._current: Any = None
        self._swept = deadline.clock()
        self._end = 0.0

    # From any thread

    def command(self, function: Callable[..., None], *arguments: Any) -> None:
        """Implement `Engine.command`."""
        self._commands.put(function, *arguments)

    def too_slow(self, connection: ClientConnection) -> None:
        """Implement `Engine.too_slow`."""
        connection.break_off()
        self.command(self._note, "slow readers", "%s reads too slowly: more than max_stream_bytes (%d) wait for it"
                     % (connection.peer, self.limits.max_stream_bytes))

    def too_much(self, connection: ClientConnection) -> None:
        """Implement `Engine.too_much`."""
        self.command(self._close_slow_readers, connection.holder)

    def _log_later(self, kind: str, text: str, count: int) -> None:
        self._logs.append(lambda: get_log().info("%s (%s so far: %d)", text, kind, count))

    # The loop

    def _step(self) -> bool:
        """Do one turn, and the requests that it brought. Return False after the last one: `close` was commanded."""
        if self.closing and self._settled():
            self._finish()
            return False
        try:
            self._turn()
        except Exception:  # a mistake of ours ends one connection, not the server
            self._survive(sys.exc_info())
        # Here the selector thread runs handlers, which is our users' code, itself. Everywhere else a thread that reads
        # runs none, for a handler that blocks would stop everybody. Two things make up for it:
        #
        # - `run_inline` is allowed only while handlers have been quick. Otherwise the pool gets the requests.
        # - A handler that blocks all the same costs this thread its place. The watcher of `LeaderThread` sees within
        #   two milliseconds that it does not return, and starts another thread with this same method. That one takes
        #   the rest of `_requests`, the selector and all connections. When `run_inline` returns False, that has
        #   happened, and this thread must not touch any of them again.
        #
        # It halves the time of a small request: no other thread has to wake up and take the interpreter lock.
        if self._requests and not self._leader.can_run_inline():
            self._pool.submit([exchange.run for exchange in self._requests])
            self._requests.clear()
        if self._requests:
            self._pool.adopt()
        while self._requests:
            if not self._leader.run_inline(self._requests.popleft().run):
                break
        return True

    def start(self) -> None:
        """Start the selector thread."""
        self._leader.start()

    def join(self, seconds: float) -> None:
        """Wait at most so many seconds for the end."""
        self._leader.join(seconds)

    def _turn(self) -> None:
        # The seconds until something is due besides what the sockets bring. Something is left to do if the lead was
        # lost before its turn, or if something went wrong.
        seconds: Optional[float] = 0.0
        if not (self._requests or self._jobs or self._logs):
            seconds = self._pool.look()
            if seconds is None and self.closing:
                seconds = min(0.05, _SWEEP_SECONDS)
            elif seconds is None and (self.connections or self.acceptor.paused):
                seconds = _SWEEP_SECONDS
        for key, events in self._selector.select(seconds):
            self._current = key.data
            if not isinstance(key.data, ClientConnection):
                key.data()
                continue
            if events & selectors.EVENT_READ:
                self._readable(key.data)
            if events & selectors.EVENT_WRITE:
                self._writable(key.data)
        command = self._commands.take()
        while command:
            self._current = command[-1]
            command[0](*command[1:])
            command = self._commands.take()
        self._current = None
        if deadline.clock() - self._swept >= _SWEEP_SECONDS:
            self._sweep()
        if self._jobs:
            jobs, self._jobs = self._jobs, []
            self._pool.submit(jobs)
        if self._logs:
            jobs, self._logs = self._logs, []
            self._pool.leave(jobs)

    def _survive(self, error: Any) -> None:
        self.counters.add("internal errors")
        self._logs.append(lambda: get_log().error("a mistake in the HTTP server", exc_info=error))
        if isinstance(self._current, ClientConnection):
            self.lose(self._current)
        self._current = None

    # Reading

    def _take(self, sock: socket.socket, peer: str) -> None:
        """Make a connection of a new socket."""
        limits = self.limits
        connection = self._connect(sock, peer)
        excess = len(self.connections) - limits.max_http_connections
        while excess >= 0 and self._make_room(peer):
            excess -= 1
        if excess >= 0:
            self._note("connections over the limit", "%s: more than max_http_connections (%d)"
                       % (peer, limits.max_http_connections))
            if excess >= _REFUSED_AT_ONCE or connection.secure:
                connection.gone = True
                connection.sock.close()
                return
        self.connections[connection] = None
        connection.deadline = deadline.clock() + (limits.tls_handshake_timeout if connection.secure
                                                  else limits.http_header_timeout)
        self.update(connection)
        if excess >= 0:
            self._refuse(connection, Refused(503, "more than max_http_connections (%d)" % limits.max_http_connections))

    def _make_room(self, peer: str) -> bool:
        """Close a connection, so that there is room for one of this client. Return False if none may be closed.

        Of a few connections without a request, the one is closed that has been silent for longest; those that never
        sent one come first, since they may be silent for less time. If none is silent, a stream of the client that has
        most connections.
        """
        chosen = next(filter(None, (self._most_silent() for _ in range(_LOOKS))), None) or self._stream_of_most(peer)
        if chosen is None:
            return False
        self._note("connections that made room", "%s: closed for another one, since max_http_connections (%d) are open"
                   % (chosen.peer, self.limits.max_http_connections))
        self.lose(chosen)
        return True

    def _most_silent(self) -> Optional[ClientConnection]:
        """Return the connection, of the next few, that has been silent for longest, or None."""
        now = deadline.clock()
        few = list(islice(self.connections, _CANDIDATES))
        for connection in few:
            del self.connections[connection]
            self.connections[connection] = None  # the others come first next time
        silent = [connection for connection in few if self._is_silent(connection, now)]
        return min(silent, key=lambda found: found.deadline or now) if silent else None

    def _is_silent(self, connection: ClientConnection, now: float) -> bool:
        """Return True if a client has no request here, or is slow: to send one, or to disconnect after a last reply."""
        if connection.exchange is not None or connection.outbox:
            return False
        limits, stage = self.limits, connection.stage
        if connection.phase == "open" and stage == "idle":
            return not connection.parser.unread
        allowed = {"handshake": limits.tls_handshake_timeout, "lingering": _LINGER_SECONDS}.get(
            connection.phase, limits.http_header_timeout if stage == "head" else limits.http_body_timeout)
        return now - ((connection.deadline or now) - allowed) >= _SLOW_SECONDS

    def _stream_of_most(self, peer: str) -> Optional[ClientConnection]:
        """Return a stream that answers a GET, of the client with most connections; None if that is ``peer``."""
        def network(peer: str) -> Hashable:
            return network_of(peer) or peer

        crowds = Counter(network(connection.peer) for connection in self.connections)
        most, count = crowds.most_common(1)[0] if crowds else (None, 0)
        if count <= crowds[network(peer)] + 1:
            return None
        for connection in self.connections:
            exchange = connection.exchange
            if exchange is not None and exchange.endless and network(connection.peer) == most:
                return connection
        return None

    def _readable(self, connection: ClientConnection) -> None:
        if connection.gone:
            return
        try:
            if connection.phase == "handshake":
                self._shake_hands(connection)
                return
            data = connection.receive(max(_READ, min(_READ_BODY, connection.parser.missing)))
        except OSError as error:
            if connection.phase == "handshake":
                self._note("TLS handshakes that failed", "%s: %s" % (connection.peer, error))
            self.lose(connection)
            return
        if data is None:
            return
        if connection.phase == "lingering":
            if not data:
                self.lose(connection)
            return
        if not data:
            self._ended(connection)
            return
        parser = connection.parser
        with connection.lock:
            parser.feed(data)
            busy = connection.exchange is not None or bool(connection.outbox) or connection.last
        if not busy:
            self._advance(connection)
        if len(parser.unread) > PIPELINED:
            self.update(connection)

    def _shake_hands(self, connection: ClientConnection) -> None:
        if connection.handshake():
            connection.phase = "open"
            connection.deadline = deadline.clock() + self.limits.http_header_timeout
        self.update(connection)

    def _advance(self, connection: ClientConnection) -> None:
        """Take the next request, if it is whole; nothing is in progress on this connection."""
        parser = connection.parser
        try:
            found = parser.next()
        except Refused as refused:
            if isinstance(refused, NoRoom):
                self.no_room(connection, refused.reason)
            self._refuse(connection, refused)
            return
        if found is None:
            self._wait_for_more(connection)
            return
        head, body = found
        if self.closing:
            self._refuse(connection, Refused(503, "the server is shutting down"), head.method)
            return
        connection.stage = "idle"
        connection.continued = False
        connection.deadline = None
        connection.exchange = exchange = HttpExchange(connection, head, body)
        self._requests.append(exchange)

    def no_room(self, connection: ClientConnection, why: str) -> None:
        """Implement `Engine.no_room`."""
        self._note("bodies without room", "%s: %s" % (connection.peer, why))

    def _wait_for_more(self, connection: ClientConnection) -> None:
        if connection.half_closed:
            self._hang_up(connection)
            return
        parser, stage = connection.parser, connection.parser.stage
        if stage != connection.stage:
            connection.stage = stage
            limits = self.limits
            connection.deadline = deadline.clock() + (limits.http_header_timeout if stage == "head"
                                                      else limits.http_body_timeout)
        if parser.waits_for_continue and not connection.continued:
            connection.continued = True
            with connection.lock:
                connection.push(CONTINUE)

    def _ended(self, connection: ClientConnection) -> None:
        """Note that the client sends no more. It may still read a reply, but counts as gone if it has a stream."""
        with connection.lock:
            connection.half_closed = True
            exchange = connection.exchange
            gone = exchange is not None and exchange.ends_with_client
            busy = exchange is not None or bool(connection.outbox)
        if gone:
            self.lose(connection)
        elif busy:
            self.update(connection)
        else:
            self.proceed(connection)  # what came before the end may be whole requests

    def _refuse(self, connection: ClientConnection, refused: Refused, method: str = "") -> None:
        self._note("requests answered %d" % refused.status, "%s: %d, %s"
                   % (connection.peer, refused.status, refused.reason))
        connection.deadline = None
        connection.parser.discard()
        with connection.lock:
            connection.last = True
            connection.push(refusal(refused.status, refused.reason, method))
        self.proceed(connection)

    # Writing, and going on

    def _writable(self, connection: ClientConnection) -> None:
        if connection.gone:
            return
        if connection.phase == "handshake":
            self._readable(connection)
            return
        with connection.lock:
            connection.flush()
            done = not connection.outbox
        if done:
            self.update(connection)
            self.proceed(connection)

    def proceed(self, connection: ClientConnection) -> None:
        """Implement `Engine.proceed`."""
        with connection.lock:
            if connection.gone or connection.exchange is not None or connection.outbox:
                return
            connection.stall = None
            last = connection.last
        if last:
            self._hang_up(connection)
            return
        connection.deadline = deadline.clock() + self.limits.http_idle_timeout
        self._advance(connection)
        self.update(connection)

    def _hang_up(self, connection: ClientConnection) -> None:
        """End a connection in order: shut down our side, then wait a moment for the client to do the same."""
        if connection.phase == "lingering" or connection.gone:
            return
        with connection.lock:
            connection.end_writing()
        if connection.half_closed or self.closing:
            self.lose(connection)
            return
        connection.phase = "lingering"
        connection.deadline = deadline.clock() + _LINGER_SECONDS
        self.update(connection)

    def lose(self, connection: ClientConnection) -> None:
        """Close a connection, whatever its state."""
        with connection.lock:
            connection.gone = True
        self.drop(connection)

    def leave(self, connection: ClientConnection, exchange: HttpExchange) -> None:
        """Implement `Engine.leave`."""
        if connection.exchange is exchange:
            self.lose(connection)

    def drop(self, connection: ClientConnection) -> None:
        """Implement `Engine.drop`."""
        if connection not in self.connections:
            return
        del self.connections[connection]
        with connection.lock:
            exchange, connection.exchange = connection.exchange, None
            connection.drop_outbox()
            connection.parser.discard()
            if exchange is not None:
                exchange.release_body()
            if connection.interest:
                connection.interest = 0
                self._selector.unregister(connection.sock)
            connection.sock.close()
        if exchange is not None:
            self._jobs.append(exchange.lose)
        self.acceptor.freed()

    def update(self, connection: ClientConnection) -> None:
        """Implement `Engine.update`."""
        if connection.gone:
            return
        wanted = selectors.EVENT_WRITE if connection.outbox or connection.wants_write else 0
        ahead = connection.exchange is not None or connection.outbox
        if not connection.half_closed and not (ahead and len(connection.parser.unread) > PIPELINED):
            wanted |= selectors.EVENT_READ
        before, connection.interest = connection.interest, wanted
        if wanted == before:
            return
        if not before:
            self._selector.register(connection.sock, wanted, connection)
        elif not wanted:
            self._selector.unregister(connection.sock)
        else:
            self._selector.modify(connection.sock, wanted, connection)

    # Times

    def _sweep(self) -> None:
        now = self._swept = deadline.clock()
        for connection in list(self.connections):
            if connection.stall is not None and now >= connection.stall and connection.outbox:
                self._note("slow readers", "%s has read nothing for http_write_timeout (%g s)"
                           % (connection.peer, self.limits.http_write_timeout))
                self.lose(connection)
            elif connection.waits_since is not None and now >= self._patience(connection):
                self._note("slow readers", "%s reads less than min_read_rate (%g bytes a second)"
                           % (connection.peer, self.limits.min_read_rate))
                self.lose(connection)
            elif connection.deadline is not None and now >= connection.deadline:
                self._overdue(connection, now)
            elif connection.half_closed and _is_broken(connection.sock):
                self.lose(connection)
        self.acceptor.look(now)

    def _patience(self, connection: ClientConnection) -> float:
        """Return the time at which a client is too slow, if it reads no more until then; the lock is not taken.

        A client that reads a byte now and then puts off `stall` for ever. So only what it has read earns it time, as
        with bodies; and nothing does while memory is scarce.
        """
        limits, earned = self.limits, 0.0
        if not self.held.scarce:
            earned = connection.taken / limits.min_read_rate if limits.min_read_rate > 0 else float("inf")
        return (connection.waits_since or 0.0) + limits.http_write_timeout + earned

    def _close_slow_readers(self, peer: Hashable) -> None:
        """Close connections whose clients do not read, until both limits of `mcp_ref.transports.held` are met. A
        command.

        The first to go are clients that have had a second and read most slowly, then those that read least and waited
        longest. A reply that is larger than a limit may stay while it is the only one that waits.
        """
        held, now = self.held, deadline.clock()

        def pace(connection: ClientConnection) -> Tuple[bool, float, float]:
            since = connection.waits_since or now
            new = now - since < _NEW_SECONDS
            return new, connection.taken if new else connection.taken / (now - since), since

        while held.crowded() or held.greedy(peer):
            whole, limit = held.crowded(), "max_held_bytes"
            slow = [connection for connection in self.connections if connection.holds and not connection.gone
                    and (whole or connection.holder == peer)]
            if len(slow) < 2:
                return
            if not whole:
                limit = "max_held_bytes_per_peer"
            connection = min(slow, key=pace)
            self._note("unread replies", "%s reads too slowly: %s (%d) are held"
                       % (connection.peer, limit, getattr(self.limits, limit)))
            self.lose(connection)

    def _overdue(self, connection: ClientConnection, now: float) -> None:
        stage = connection.stage
        if connection.phase != "open" or stage == "idle":
            if connection.phase == "handshake":
                self._note("TLS handshakes given up", "%s: no handshake within tls_handshake_timeout (%g s)"
                           % (connection.peer, self.limits.tls_handshake_timeout))
            self.lose(connection)
            return
        earned = 0.0 if self.bodies.scarce else connection.parser.received / _BODY_RATE
        if stage == "body" and now < (connection.deadline or now) + earned:
            return
        self._refuse(connection, Refused(408, "the %s took longer than http_%s_timeout"
                                         % (stage, "header" if stage == "head" else stage)))

    # The end

    def close(self, grace: float) -> None:
        """Stop accepting; running requests may finish within so many seconds, then all ends. A command."""
        if self.closing:
            return
        self.closing = self.draining = True
        self._end = deadline.clock() + grace
        self.acceptor.close()
        for connection in list(self.connections):
            if connection.exchange is None and not connection.outbox and not connection.parser.unread:
                self.lose(connection)

    def _settled(self) -> bool:
        """Return True if no request runs and no reply is on its way, or the time is over."""
        if deadline.clock() >= self._end:
            return True
        return not any(connection.outbox or (connection.exchange is not None and not connection.exchange.endless)
                       for connection in self.connections)

    def _finish(self) -> None:
        """End the streams, and close everything."""
        for connection in list(self.connections):
            with connection.lock:
                exchange = connection.exchange
                if exchange is not None and exchange.endless:
                    connection.push(exchange.end())
                if not connection.gone:
                    connection.end_writing()
            self.lose(connection)
        self.acceptor.close()
        self._selector.close()
        self._pool.submit(self._jobs)
        self._pool.leave(self._logs)
        self._commands.close()


def _look() -> None:
    """Do nothing. It is a command that wakes the loop, each turn of which begins with a look at the workers."""


def _is_broken(sock: socket.socket) -> bool:
    """Return True if a client that sends no more is gone altogether; reading from it would not show that.

    The error may have been taken already: `ssl` reads a reset as an end. But then there is no peer any more.
    """
    try:
        sock.getpeername()
        return bool(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
    except OSError:
        return True
