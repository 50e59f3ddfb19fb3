"""The connections to one HTTP server, kept open between requests, and the threads that wait for replies.

`ConnectionPool.send` takes an idle connection or makes one, writes a request and reads the head of the reply;
`ConnectionPool.finish` keeps the connection when the body has been read. So there are as many connections as requests
at a time.

The server may close an idle connection at any moment. One that was closed is noticed before anything is sent, and one
that is idle for longer than the server keeps it is not used. If sending fails all the same, the request was not
delivered whole and cannot have been worked on: it is sent again, on a new connection. Once all of it is sent, a
`POST` whose connection ends is not repeated: it is not known how far the server has come.
"""

import socket
import sys
import threading
import time
from collections import deque
from typing import Any, Callable, Deque, List, Optional, Tuple

from ... import deadline
from ...errors import AnswerLost
from ...threads import WorkerPool
from ...transports.lines.fds import wait_ready
from .connect import Connector, CancelScope, Abandoned
from .response import BROKEN, Reply, failure_text

Fields = Tuple[Tuple[str, str], ...]
_SMALL = 65536
"""The size in bytes up to which a body is sent together with its head."""
REQUEST_IDLE = 5.0
"""Seconds without work after which a thread of a `RequestPool` ends."""
_REPEATABLE = ("GET", "DELETE")
"""The idempotent methods that we send [RFC 9110 §9.2.2]: a second time they do nothing more."""


class Stale(AnswerLost):
    """The error of a kept connection that had ended; the request may be sent again. See ``once`` of
    `ConnectionPool.send`."""


class PooledConnection:
    """A connection of a pool."""

    __slots__ = ("sock", "used", "idle_until")

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.used = False
        """True if it has carried a request before."""
        self.idle_until = 0.0
        """The time on the monotonic clock after which the server may have closed it."""

    def usable(self) -> bool:
        """Return True if it is still open. On an idle connection nothing comes but its end."""
        return deadline.clock() < self.idle_until and not wait_ready(self.sock, 0)


class ConnectionPool:
    """The connections of one client to one server; ``keep``: seconds for which an idle one is kept. Thread-safe."""

    def __init__(self, dialler: Connector, keep: float) -> None:
        self.where = dialler.where
        self._dialler = dialler
        self._keep = keep
        self._lock = threading.Lock()
        self._idle: List[PooledConnection] = []
        self._closed = False
        self._written: Tuple[Any, bytes] = (None, b"")  # the head of the last request, and what it was made of

    def connect(self, cancel_scope: CancelScope) -> None:
        """Open a connection and keep it for the first request. Raises `ConnectFailed`, `Abandoned`."""
        link = PooledConnection(self._dialler.dial(cancel_scope))
        self._keep_connection(link, cancel_scope, self._keep)

    def begin(
        self, method: str, target: str, fields: Fields, cancel_scope: CancelScope, body: Optional[bytes] = None,
    ) -> Optional[Reply]:
        """Send a request, with a short body or none, if that needs no waiting.

        Return the reply that is to come, for `send`. Return None if the request was not delivered.
        """
        try:
            link = self._idle_connection(cancel_scope)
        except Abandoned:
            return None  # which `send` will say
        if link is None:
            return None
        reply = Reply(link.sock, method)
        reply.link, reply.target, reply.fields = link, target, fields
        try:
            link.sock.settimeout(0)  # the server may not have read what came before
            link.sock.sendall(self._head(method, target, fields, body) + (body or b""))
            link.sock.settimeout(None)
        except OSError:
            self._discard(link, reply, cancel_scope)
            return None
        return reply

    def send(
        self, method: str, target: str, fields: Fields, body: Optional[bytes], cancel_scope: CancelScope,
        timeout: Optional[float] = None, begun: Optional[Reply] = None, once: bool = False,
    ) -> Reply:
        """Send a request, and return its reply, the body of which is not read yet. The caller has to call `finish`.

        ``timeout``: seconds of silence after which the server is taken for dead. ``begun``: the result of `begin`.
        ``once``: these fields hold for one attempt, so that the caller makes the next attempt, after `Stale`.

        Raises `ConnectFailed`, if it was not sent; `AnswerLost`, if no reply came; `Abandoned`.
        """
        while True:
            reply, begun = begun, None
            link: PooledConnection = self._take(cancel_scope) if reply is None else reply.link
            sent = reply is not None
            try:
                if reply is None:
                    reply = Reply(link.sock, method)
                    reply.link = link
                    if timeout is not None:
                        link.sock.settimeout(timeout)
                    try:
                        self._write(link.sock, self._head(method, target, fields, body), body or b"")
                    except OSError as error:
                        self._early(reply, error)
                        return reply
                    sent = True
                reply.begin()
                return reply
            except BaseException as error:
                # Once more only on a connection that the server may have closed while it was idle, and only if the
                # server cannot have worked on the request, or if working on it twice does no harm.
                again = link.used and (not sent or method in _REPEATABLE)
                self._discard(link, reply, cancel_scope)
                if cancel_scope.gone:
                    raise Abandoned("the request was given up") from error
                if not isinstance(error, BROKEN):
                    raise
                if not again:
                    where = self.where.origin + target.partition("?")[0]
                    raise AnswerLost("%s %s: no answer came: %s" % (method, where, failure_text(error))) from error
                if once:
                    raise Stale("the connection had ended") from error

    def _head(self, method: str, target: str, fields: Fields, body: Optional[bytes]) -> bytes:
        if self._dialler.absolute:
            target = self.where.origin + target
            if self._dialler.proxy is not None and self._dialler.proxy.credentials:
                fields = (*fields, ("Proxy-Authorization", self._dialler.proxy.credentials))
        written = self._written
        if (method, target, fields) != written[0]:  # few requests differ from the one before
            lines = ["%s %s HTTP/1.1" % (method, target), *("%s: %s" % field for field in fields)]
            written = self._written = ((method, target, fields), "\r\n".join(lines).encode("utf-8"))
        return written[1] + (b"\r\n\r\n" if body is None else b"\r\nContent-Length: %d\r\n\r\n" % len(body))

    def _write(self, sock: socket.socket, head: bytes, body: bytes) -> None:
        if len(body) <= _SMALL:
            sock.sendall(head + body)
        else:
            sock.sendall(head)
            sock.sendall(body)

    def _early(self, reply: Reply, error: OSError) -> None:
        """Read the reply to a request that the server has not read whole. Raises ``error`` if there is none."""
        try:
            reply.begin()
        except BROKEN:
            raise error from None
        reply.will_close = True

    def _take(self, cancel_scope: CancelScope) -> PooledConnection:
        return self._idle_connection(cancel_scope) or PooledConnection(self._dialler.dial(cancel_scope))

    def _idle_connection(self, cancel_scope: CancelScope) -> Optional[PooledConnection]:
        """Return an idle connection that is still open, attached to the cancel_scope, or None."""
        while True:
            with self._lock:
                if self._closed:
                    raise Abandoned("the connection was closed")
                link = self._idle.pop() if self._idle else None
            if link is None:
                return None
            if link.usable():
                try:
                    cancel_scope.attach(link.sock)
                except Abandoned:
                    link.sock.close()
                    raise
                return link
            link.sock.close()

    def finish(self, reply: Reply, cancel_scope: CancelScope) -> None:
        """Keep or close the connection of a reply that is done with. A second call does nothing."""
        link, reply.link = reply.link, None
        if link is None:
            return
        reply.tell_end(cancel_scope.gone)
        if not reply.complete or cancel_scope.gone:
            self._discard(link, reply, cancel_scope)
            return
        reply.close()
        # The seconds for which the server keeps the connection, less one, or ``keep`` if it does not say.
        seconds, said = self._keep, reply.headers.lower("keep-alive")
        for part in () if said is None else said.split(","):
            name, _, value = part.partition("=")
            if name.strip().lower() == "timeout" and value.strip().isdecimal():
                seconds = min(float(value) - 1.0, 3600.0)
                break
        self._keep_connection(link, cancel_scope, seconds)

    def _keep_connection(self, link: PooledConnection, cancel_scope: CancelScope, seconds: float) -> None:
        link.used = True
        link.idle_until = deadline.clock() + seconds
        cancel_scope.detach()
        try:
            link.sock.settimeout(None)
        except OSError:
            pass  # it is of no use any more, and the thread that takes it will see that
        with self._lock:
            if not self._closed:
                self._idle.append(link)
                return
        link.sock.close()

    def _discard(self, link: PooledConnection, reply: Optional[Reply], cancel_scope: CancelScope) -> None:
        cancel_scope.detach()
        if reply is not None:
            reply.link = None
            reply.close()
        link.sock.close()

    def prune(self) -> None:
        """Close the idle connections that are not usable any more."""
        with self._lock:
            idle, self._idle = self._idle, []
        for link in idle:
            if link.usable():
                with self._lock:
                    if not self._closed:
                        self._idle.append(link)
                        continue
            link.sock.close()

    def close(self) -> None:
        """Close the idle connections, and the others when their replies are finished. No request begins any more."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for link in idle:
            link.sock.close()


# --- Threads that wait for replies ------------------------------------------------------------------------------------

class RequestPool(WorkerPool):
    """The threads of one client that wait for replies: ``size`` jobs at a time, and urgent ones besides.

    Each job gets a thread at once, because it blocks. A thread that has nothing to do for REQUEST_IDLE seconds ends, so
    an idle client costs none; but the last of them stays while others do jobs in their place (`acquire_slot`).

    ``resting``: called by the last of its threads that was idle, when it ends. Jobs must not raise.
    """

    elastic = False

    def __init__(self, name: str, size: int, resting: Callable[[], object]) -> None:
        super().__init__("mcp-ref:request:%s" % name, sys.maxsize)
        self._size = size
        self._resting = resting
        self._later: Deque[Callable[[], object]] = deque()
        """The jobs for which there is no place now. Those in `_jobs` have one, or are urgent."""
        self._busy = 0
        """The number of places that are taken, by jobs that are not urgent."""
        self._left = 0.0
        """The time at which a thread that is none of ours last gave its place back."""

    def submit(self, job: Callable[[], object], urgent: bool = False) -> bool:
        """Have this done, later if there is enough to do; ``urgent``: never later. Return False if the pool is closed.

        Raises RuntimeError if no thread can be started for it.
        """
        with self._lock:
            if self._closed:
                return False
            if not urgent and self._busy >= self._size:
                self._later.append(job)
                return True
            self._busy += not urgent
            self._give(job, urgent)
        return True

    def acquire_slot(self) -> bool:
        """Take a place for a job that the calling thread does itself, up to `release_slot`.

        Return False if there is enough to do, or the pool is closed.
        """
        with self._lock:
            if self._closed or self._busy >= self._size:
                return False
            self._busy += 1
            return True

    def release_slot(self, rest: Optional[Callable[[], object]] = None) -> None:
        """Give the place back, but first have one of our threads do the ``rest`` of the job in it."""
        with self._lock:
            self._left = time.monotonic()
            job = rest or (self._later.popleft() if self._later else None)
            try:
                if job is not None:
                    self._give(job, False)
                    return
                self._busy -= 1
                if not (self._busy or self._idle or self._closed):
                    self._awaken(1)  # a thread that has nothing to do: it calls `resting` in its time
            except RuntimeError:  # no thread is left; so the job waits for the next thread that is done
                if job is not None:
                    self._later.appendleft(job)

    def close(self) -> None:
        """Let the idle threads end, and the others after what they do; jobs that wait are still done."""
        with self._lock:
            self._close()

    def _give(self, job: Callable[[], object], urgent: bool) -> None:
        """Have a thread do a job that has its place; the lock is held. Raises RuntimeError; then the place is free."""
        given = job, urgent
        self._jobs.append(given)
        try:
            self._awaken(1)
        except RuntimeError:
            try:
                self._jobs.remove(given)
            except ValueError:  # a thread that was about to rest has taken it, and gives its place back in `_run`
                return
            self._busy -= not urgent
            raise

    def _must_start(self) -> bool:
        return True  # all others may wait for replies for ever

    def _run(self, given: Tuple[Callable[[], object], bool]) -> None:
        job, urgent = given
        job()
        if not urgent:
            with self._lock:
                if self._later:
                    self._jobs.append((self._later.popleft(), False))  # in the same place; this thread looks for it
                else:
                    self._busy -= 1

    def _idle_seconds(self) -> float:
        return REQUEST_IDLE

    def _idle_left(self) -> float:
        # The last one stays until others have done nothing in their place for as long.
        return self._left + REQUEST_IDLE - time.monotonic() if len(self._idle) == 1 else 0.0

    def _ended(self, last: bool) -> None:
        if last:
            self._resting()
