"""An endpoint without a server of its own: the request comes as arguments, the reply goes out as pieces.

::

    caller = Caller(endpoint)
    answer = caller.call("POST", "/mcp", headers, body)
    answer.status, answer.headers                    # 200, [("Content-Type", "application/json"), ...]
    for piece in answer.chunks: ...                  # then, or instead: answer.chunks.close()

This is how an endpoint is mounted in any framework whose view functions return a status, headers and an iterable;
`wsgi` does it for WSGI. The reply is JSON wherever nothing has to come before the result.

Handlers run on threads of the caller's own, with the context variables of the calling thread, because the reply may
begin long before they return. An endpoint with ``json_response=True`` has no such replies: there handlers run on the
calling thread, except where several requests come at once. So they do where no threads can be started
(`mcp_ref.threads`); a reply that is a stream is whole then, too, when `Caller.call` returns.

A reply that is a stream holds the thread that reads it, until it ends. Sessions need a clock; here it is whoever calls
or waits: see `Caller.tick`.
"""

import contextvars
import sys
import threading
from typing import Any, Callable, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Union

from ... import deadline
from ...diagnostics.usercode import log_raised
from ...errors import ConnectionLost, NoThreads, RequestTimeout
from ...http11.client.connection_pool import Crew
from ...http11.message import Exchange, Headers, HttpRequest, Pairs, check_fields
from ...http11.server.responses import has_body
from ...limits import Limits
from ...threads import available

_TICK = 1.0
"""Seconds between two looks at the sessions."""


class HeldExchange(Exchange):
    """Holds the reply for the thread that carries it out.

    ``limit``: bytes that may wait to be taken; see ``max_stream_bytes``. Where nobody can take any before the reply is
    whole, there is no bound.
    """

    def __init__(self, request: HttpRequest, limit: int) -> None:
        super().__init__(request)
        self.status = 0
        """0 while the reply has not begun."""
        self.headers: Pairs = ()
        self.length: Optional[int] = None
        """Bytes of the body of a reply that is whole."""
        self._most = limit
        self._changed = threading.Condition(threading.Lock())
        self._pieces: List[bytes] = []
        self._waiting = 0
        self._over = False
        self._broken = False
        self._closed = False

    # For the handler

    def reply(self, status: int, headers: Pairs = (), body: bytes = b"") -> None:
        """Implement `Exchange.reply`; ValueError for a header that cannot be sent, RuntimeError for a second reply."""
        with self._changed:
            if self._begin(status, headers):
                self.length = len(body)
                self._end(body)

    def start(self, status: int, headers: Pairs = ()) -> None:
        """Implement `Exchange.start`; raises as `reply` does."""
        with self._changed:
            if self._begin(status, headers):
                self._changed.notify()

    def send(self, data: bytes) -> bool:
        """Implement `Exchange.send`; False also after `finish`."""
        with self._changed:
            if self._waiting > self._most:
                self.gone = True  # whoever takes the pieces finds out, and tells `on_close`
                self._pieces.clear()
                self._changed.notify()
            if self.gone or self._over:
                return False
            self._put(data)
            self._changed.notify()
            return True

    def finish(self, data: bytes = b"") -> None:
        """Implement `Exchange.finish`; again: nothing happens."""
        with self._changed:
            if not (self.gone or self._over):
                self._end(data)

    def fail(self) -> None:
        """The handler has failed: half of a reply must not look like a whole one."""
        with self._changed:
            if not self.status:
                self.status, self.length = 500, 0
            elif not self._over:
                self._broken = True
            self._over = True
            self._changed.notify()

    def _begin(self, status: int, headers: Pairs) -> bool:
        if self.status and not self.gone:
            raise RuntimeError("this exchange has its reply already")
        check_fields(headers)
        self.status, self.headers = status, tuple(headers)
        return not self.gone

    def _put(self, data: bytes) -> None:
        if data and has_body(self.request.method, self.status):
            self._pieces.append(data)
            self._waiting += len(data)

    def _end(self, data: bytes) -> None:
        self._put(data)
        self._over = True
        self._changed.notify()

    # For the thread that carries the reply

    def wait_for_head(self, timeout: Optional[float], tick: Callable[[], None]) -> bool:
        """Wait until there is a status; False after ``timeout`` seconds. ``tick`` is called every second."""
        return self._wait(lambda: self.status != 0, timeout, tick)

    def take(self, tick: Callable[[], None]) -> bytes:
        """Wait for more of the body, and take all there is; b"" at its end. Raises `ConnectionLost` if it broke off."""
        self._wait(lambda: bool(self._pieces or self._over or self.gone), None, tick)
        with self._changed:
            pieces, self._pieces, self._waiting = self._pieces, [], 0
            if self._broken and not pieces:
                raise ConnectionLost("the handler failed in the middle of its reply")
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def abandon(self) -> None:
        """Nobody takes the rest of the reply; `on_close` is told, unless all of it was there."""
        with self._changed:
            closed, self._closed = self._closed or self._over, True
            self.gone = True
            self._pieces.clear()
        if not closed and self.on_close is not None:
            try:
                self.on_close()
            except Exception:
                from ...diagnostics.packagelog import get_logger

                get_logger(__name__).exception("on_close of %s %s failed", self.request.method, self.request.path)

    @property
    def over(self) -> bool:
        """Whether all of the reply is there."""
        return self._over

    def _wait(self, condition: Callable[[], bool], timeout: Optional[float], tick: Callable[[], None]) -> bool:
        end = deadline.Deadline(timeout)
        while True:
            with self._changed:
                left = end.left()
                if self._changed.wait_for(condition, _TICK if left is None else min(left, _TICK)):
                    return True
            if end.expired():
                return False
            tick()


class Chunks:
    """The pieces of a body, as they come; iterate it once, or `close` it. Both are for one thread."""

    def __init__(self, exchange: HeldExchange, tick: Callable[[], None]) -> None:
        self._exchange = exchange
        self._tick = tick

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        data = self._exchange.take(self._tick)
        if not data:
            self.close()
            raise StopIteration
        return data

    def close(self) -> None:
        """The client is gone, or has got everything. Again: nothing happens."""
        self._exchange.abandon()


class Answer(NamedTuple):
    """The reply to one request."""

    status: int
    headers: List[Tuple[str, str]]
    """With Content-Length where the body is whole."""
    chunks: Chunks

    def __repr__(self) -> str:
        return "Answer(%d, %s)" % (self.status, ", ".join(name for name, _ in self.headers))  # a session id is secret


class Caller:
    """Calls an endpoint: an `Endpoint`, or whatever has its ``handle``, ``tick``, ``limits`` and ``json_response``.

    Thread-safe. It starts no thread before the first request, so it may be made before a process forks.
    """

    def __init__(self, endpoint: Any) -> None:
        self.endpoint = endpoint
        self.limits: Limits = endpoint.limits
        self._crew = Crew("call", 0, lambda: None)
        self._ticking = threading.Lock()
        self._ticked = deadline.clock()

    def call(
        self,
        method: str,
        path: str,
        headers: Union[Mapping[str, str], Iterable[Tuple[str, str]]] = (),
        body: bytes = b"",
        timeout: Optional[float] = None,
        peer: str = "",
    ) -> Answer:
        """One request; returns when its reply has begun. ``path`` may have a query behind a ``?``.

        ``peer``: the address that it came from, without which limits of an address (``max_session_share``) do not hold.

        ``timeout``: seconds until the reply must have begun, by default as long as it takes. Raises `RequestTimeout`;
        what the request has begun goes on, as over a connection that was lost; without a session it is cancelled.
        Raises `NoThreads` for a stream that stays open, where there are none.
        """
        path, _, query = path.partition("?")
        pairs = headers.items() if isinstance(headers, Mapping) else headers
        exchange = self.begin(HttpRequest(method, path, Headers(pairs), body, query, peer=peer), timeout)
        fields = list(exchange.headers)
        if exchange.length is not None and exchange.status not in (204, 304):
            fields.append(("Content-Length", str(exchange.length)))
        return Answer(exchange.status, fields, Chunks(exchange, self.tick))

    def begin(self, request: HttpRequest, timeout: Optional[float] = None) -> HeldExchange:
        """The exchange of a request, when its reply has begun. Raises `RequestTimeout`, `NoThreads`."""
        threads = available()
        exchange = HeldExchange(request, self.limits.max_stream_bytes if threads else sys.maxsize)
        self.tick()
        if self.endpoint.json_response is True or not threads:
            self._handle(exchange)
            if not (threads or exchange.over):
                exchange.abandon()
                raise NoThreads("%s %s: the rest of the reply would come from another thread, and none can be started"
                                " here: make the endpoint with streams=False" % (request.method, request.path))
        else:
            context = contextvars.copy_context()
            if not self._crew.submit(lambda: context.run(self._handle_apart, exchange), urgent=True):
                self._handle(exchange)  # the endpoint is closed, and says so
        if not exchange.wait_for_head(timeout, self.tick):
            exchange.abandon()
            raise RequestTimeout("no reply to %s %s within %g seconds" % (request.method, request.path, timeout or 0))
        return exchange

    def _handle(self, exchange: HeldExchange) -> None:
        try:
            self.endpoint.handle(exchange)
        except Exception:
            from ...diagnostics.packagelog import get_logger

            request = exchange.request
            get_logger(__name__).exception("the handler of %s %s failed", request.method, request.path)
            exchange.fail()

    def _handle_apart(self, exchange: HeldExchange) -> None:
        try:
            self._handle(exchange)
        except BaseException:  # what ends a program, such as SystemExit, is nothing on a thread that is not its own
            exchange.fail()

    def tick(self) -> None:
        """Have the endpoint look after its sessions, at limit once a second; for any thread, at any time.

        It is called with each request, and every second by each thread that waits for a reply. Where nobody asks,
        sessions that have been idle too long stay until somebody does.
        """
        if deadline.clock() < self._ticked + _TICK or not self._ticking.acquire(blocking=False):
            return
        try:
            self._ticked = deadline.clock()
            self.endpoint.tick()
        except Exception as error:
            log_raised("keeping sessions", error)
        finally:
            self._ticking.release()

    def close(self, grace: float = 0.0) -> None:
        """End the endpoint, and the threads. Running requests have ``grace`` seconds."""
        self.endpoint.close(grace)
        self._crew.close()
