"""An endpoint without a server of its own: as a plain call for any framework, and as a WSGI application [PEP 3333].

A `Caller` takes a request as arguments, and gives the reply out as pieces::

    caller = Caller(endpoint)
    answer = caller.call("POST", "/mcp", headers, body)
    answer.status, answer.headers                    # 200, [("Content-Type", "application/json"), ...]
    for piece in answer.chunks: ...                  # then, or instead: answer.chunks.close()

This is how an endpoint is mounted in any framework whose view functions return a status, headers and an iterable;
`Application` does it for WSGI. The reply is JSON wherever nothing has to come before the result.

Handlers run on threads of the `Caller`, with the context variables of the calling thread, because the reply may begin
long before they return. An endpoint with ``json_response=True`` has no such replies: there handlers run on the calling
thread, except where several requests come at once. They also run there where no threads can be started
(`mcp_ref.threads`); a stream is whole then, too, when `Caller.call` returns.

A stream holds the thread that reads it until it ends. Sessions need a clock: every call and every wait is a tick, see
`Caller.tick`.

An `Application` is for gunicorn, uWSGI, mod_wsgi, waitress and the like::

    application = server.wsgi()          # gunicorn --threads 16 module:application

WSGI gives each request a thread and keeps it until the reply is over. This has consequences:

- A reply is JSON wherever nothing has to come before the result. A stream holds a thread of the WSGI server while it is
  open: give the server threads (gunicorn ``--threads``, uWSGI ``--threads``, mod_wsgi ``threads=``). GET streams stay
  open for ever; an endpoint made with ``streams=False`` answers 405 to them.
- A handler that asks the client something waits for another POST: there must be a thread left to take it, or another
  process with a `Store`. Where there is neither, handlers cannot ask the client anything. (In 2026-07-28 a handler that
  asks does not wait, so this does not concern it.)
- Several *processes* share no memory. With ``sessions="memory"`` a session lives in the one that began it, and the
  others answer 404; so either one process with threads, or a balancer that sends a session always the same way, or
  ``sessions=SqliteStore(path)``, or ``sessions="none"``: then any process may answer, and handlers cannot ask the
  client of a handshake revision. The first request that shows such a mistake is logged as a warning.
- A client that has gone away is noticed when something is sent to it, at the latest a keep-alive comment. Where
  there is no session this cancels its request, once the engine closes the iterable: for a stream that happens while it
  is open; for JSON it is too late.
- `subscriptions/listen` keeps a stream open, too; an endpoint made with ``streams=False`` answers 404 to it.
- Of fields that came several times a WSGI server makes one, with commas. Where no comma belongs (session, version,
  origin, media type and the like) such a request is refused, as elsewhere. `Mcp-Name` and `Mcp-Param-*` may have commas
  of their own, so ``a`` and ``b`` pass for ``a, b`` here if that is what the body says: where a proxy goes by these
  fields, have it refuse two of them.
- Handlers run on threads beside those of the server: uWSGI needs ``--enable-threads`` in any case.
  mod_wsgi hides the field Authorization unless told ``WSGIPassAuthorization On``.

The address: at the root of its server, or below a prefix (SCRIPT_NAME), the endpoint's path is that of PATH_INFO;
mounted at its very place, so that no PATH_INFO is left, it is the whole.
"""

import contextvars
import sys
import threading
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Union
from urllib.parse import quote

from ... import deadline
from ...diagnostics.packagelog import log_raised
from ...errors import ConnectionLost, NoThreads, RequestTimeout
from ...http11.client.connection_pool import RequestPool
from ...http11.message import Exchange, Headers, HttpRequest, Pairs, check_fields
from ...http11.server.responses import Refused, RequestShape, has_body
from ...limits import Limits
from ...protocol.streamable_http.mirrored import METHOD
from ...protocol.streamable_http.refusals import SINGLE
from ...threads import available

_TICK = 1.0
"""The seconds between two ticks of the sessions."""


class HeldExchange(Exchange):
    """The exchange that holds the reply until a thread takes it: it calls `wait_for_head`, `take`, and last `abandon`.

    ``limit``: the bytes that may wait to be taken, see ``max_stream_bytes``; there is no limit where nothing can be
    taken before the reply is whole.
    """

    def __init__(self, request: HttpRequest, limit: int) -> None:
        super().__init__(request)
        self.status = 0
        """The status of the reply; 0 while it has not begun."""
        self.headers: Pairs = ()
        self.length: Optional[int] = None
        """The length in bytes of the body of a reply that is whole."""
        self._most = limit
        self._changed = threading.Condition(threading.Lock())
        self._pieces: List[bytes] = []
        self._waiting = 0
        self._over = False
        self._broken = False
        self._closed = False

    # For the handler

    def reply(self, status: int, headers: Pairs = (), body: bytes = b"") -> None:
        """Raises ValueError for a header with a line end, RuntimeError if called twice."""
        with self._changed:
            if self._begin(status, headers):
                self.length = len(body)
                self._end(body)

    def start(self, status: int, headers: Pairs = ()) -> None:
        """Raises as `reply` does."""
        with self._changed:
            if self._begin(status, headers):
                self._changed.notify()

    def send(self, data: bytes) -> bool:
        """Returns False also after `finish`."""
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
        """A second call does nothing."""
        with self._changed:
            if not (self.gone or self._over):
                self._end(data)

    def fail(self) -> None:
        """End the reply of a handler that has failed, so that half of a reply does not look like a whole one."""
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
        """Wait for the status and call ``tick`` every second. Returns False after ``timeout`` seconds."""
        return self._wait(lambda: self.status != 0, timeout, tick)

    def take(self, tick: Callable[[], None]) -> bytes:
        """Wait for more of the body and return it, b"" at its end. Raises `ConnectionLost` if the handler failed."""
        self._wait(lambda: bool(self._pieces or self._over or self.gone), None, tick)
        with self._changed:
            pieces, self._pieces, self._waiting = self._pieces, [], 0
            if self._broken and not pieces:
                raise ConnectionLost("the handler failed in the middle of its reply")
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def abandon(self) -> None:
        """Drop the rest of the reply, and call `on_close` unless the reply was whole."""
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
        """Return True if the reply is whole."""
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
    """The pieces of a body, as they come. One thread iterates it once, or calls `close`."""

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
        """Drop the rest: the client is gone or has received everything. The second call does nothing."""
        self._exchange.abandon()


class WsgiReply(NamedTuple):
    """The reply to one request."""

    status: int
    headers: List[Tuple[str, str]]
    """The header fields, with Content-Length where the body is whole."""
    chunks: Chunks

    def __repr__(self) -> str:
        return "Answer(%d, %s)" % (self.status, ", ".join(name for name, _ in self.headers))  # a session id is secret


class Caller:
    """The caller of an endpoint, which is an `Endpoint` or has its ``handle``, ``tick``, ``limits``, ``json_response``.

    Thread-safe. It starts no thread before the first request, so it may be made before a process forks.
    """

    def __init__(self, endpoint: Any) -> None:
        self.endpoint = endpoint
        self.limits: Limits = endpoint.limits
        self._threads = RequestPool("call", 0, lambda: None)
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
    ) -> WsgiReply:
        """Answer one request; return when its reply has begun. ``path`` may have a query behind a ``?``.

        ``peer``: the address of the client, without which the limits of an address (``max_session_share``) do not hold.
        ``timeout``: seconds until the reply must have begun; None: no limit. Raises `RequestTimeout` after that: in a
        session the request goes on, as after a lost connection; without a session it is cancelled. Raises `NoThreads`
        for a stream that stays open, where no threads can be started.
        """
        path, _, query = path.partition("?")
        pairs = headers.items() if isinstance(headers, Mapping) else headers
        exchange = self.begin(HttpRequest(method, path, Headers(pairs), body, query, peer=peer), timeout)
        fields = list(exchange.headers)
        if exchange.length is not None and exchange.status not in (204, 304):
            fields.append(("Content-Length", str(exchange.length)))
        return WsgiReply(exchange.status, fields, Chunks(exchange, self.tick))

    def begin(self, request: HttpRequest, timeout: Optional[float] = None) -> HeldExchange:
        """Return the exchange of a request when its reply has begun. Raises `RequestTimeout`, `NoThreads`."""
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
            if not self._threads.submit(lambda: context.run(self._handle_apart, exchange), urgent=True):
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
        """Call `Endpoint.tick`, at most once a second; for any thread, at any time.

        Each request calls it, and each thread that waits for a reply does so every second. While no request comes,
        sessions that were idle for too long stay until one does.
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
        """End the endpoint and the threads. Running requests have ``grace`` seconds."""
        self.endpoint.close(grace)
        self._threads.close()


Environ = Dict[str, Any]
_AT_ONCE = 1024 * 1024
"""The bytes that are read at once: a length that a client only claims must not cost memory."""
_UNQUOTED = "/:@!$&'()*+,;=~"
_LONGEST_LENGTH = 15
_HOP_BY_HOP = frozenset(("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer",
                         "trailers", "transfer-encoding", "upgrade"))
_SINGLE = frozenset(name.lower() for name in (*SINGLE, METHOD))
ONE_THREAD = ("one thread serves this application, which cannot wait for an answer and take it: give the WSGI server"
              " threads, or processes and sessions=SqliteStore(path)")
_PLAIN = ("Content-Type", "text/plain; charset=utf-8")


class Application:
    """The WSGI application of an endpoint, an `Endpoint` or the like; see `Caller` and the module. `close` ends the
    endpoint and its sessions."""

    def __init__(self, endpoint: Any) -> None:
        self._caller = Caller(endpoint)
        self._advised = False

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer one request."""
        if not self._advised:
            self._advised = True
            advise(environ, self._caller.endpoint)
        try:
            exchange = self._caller.begin(request_of(environ, self._caller.limits.max_message_bytes))
        except Refused as refused:
            body = ("%s\n" % refused).encode("ascii", "backslashreplace")
            start_response(_status(refused.status), [_PLAIN, ("Content-Length", str(len(body)))])
            return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]
        headers = [(name, value) for name, value in exchange.headers if name.lower() not in _HOP_BY_HOP]
        bodiless = exchange.status in (204, 304)
        if not bodiless and not any(name.lower() == "content-type" for name, _ in headers):
            headers.append(_PLAIN)  # wsgiref.validate wants one even where there is no body, as with 202
        if exchange.length is not None and not bodiless:
            headers.append(("Content-Length", str(exchange.length)))
        start_response(_status(exchange.status), headers)
        return Chunks(exchange, self._caller.tick)

    def close(self, grace: float = 0.0) -> None:
        """End the endpoint, as `Caller.close`."""
        self._caller.close(grace)


def advise(environ: Environ, endpoint: Any) -> None:
    """Log a warning if the threads and processes of this WSGI server do not fit the place of the sessions."""
    if getattr(endpoint, "sessions", None) is None:
        return
    from ...diagnostics.packagelog import get_logger

    shared = bool(endpoint.sessions.shared)
    if environ.get("wsgi.multiprocess") and not shared:
        get_logger(__name__).warning(
            "several processes serve this application, and a session lives in one of them: run one process with"
            " threads, or use sessions='none' or a SqliteStore, or a balancer that sends a session always to the same")
    if not environ.get("wsgi.multithread") and not (environ.get("wsgi.multiprocess") and shared):
        endpoint.unasked = ONE_THREAD
        if not environ.get("wsgi.multiprocess"):
            get_logger(__name__).warning("handlers cannot ask clients of handshake revisions: %s", ONE_THREAD)


def request_of(environ: Environ, most: int) -> HttpRequest:
    """Return the request that this environment describes. Raises `Refused`.

    ``most``: the limit in bytes of the body, of which hardly more is read.
    """
    method = environ["REQUEST_METHOD"]
    root, path = environ.get("SCRIPT_NAME", ""), environ.get("PATH_INFO", "")
    if path in ("", "/") and root:
        root, path = "", root
    return HttpRequest(
        method=method,
        path=_quoted(path),
        headers=_Headers(_fields(environ)),
        body=_body(environ, most) if method == "POST" else b"",
        query=environ.get("QUERY_STRING", ""),
        version=environ.get("SERVER_PROTOCOL", "HTTP/1.1"),
        peer=environ.get("REMOTE_ADDR", ""),
        secure=environ.get("wsgi.url_scheme") == "https",
        root=_quoted(root),
    )


class _Headers(Headers):
    """The header fields of an environment, whose variables have no hyphens in their names: ``_`` is ``-`` here."""

    __slots__ = ()

    def get(self, name: str) -> Optional[str]:
        return super().get(name.replace("_", "-"))


def _quoted(path: str) -> str:
    """Return a path as it stands in a URL; servers hand it over decoded, one character for each byte."""
    return quote(path.encode("latin-1"), _UNQUOTED)


def _fields(environ: Environ) -> List[Tuple[str, str]]:
    fields = [(name[5:].replace("_", "-"), value) for name, value in environ.items()
              if name.startswith("HTTP_") and name not in ("HTTP_CONTENT_TYPE", "HTTP_CONTENT_LENGTH")]
    if environ.get("CONTENT_TYPE"):
        fields.append(("content-type", environ["CONTENT_TYPE"]))
    return [pair for field in fields for pair in _apart(*field)]


def _apart(name: str, value: str) -> List[Tuple[str, str]]:
    """Return the fields that the server has joined to this one, where no comma can be part of the value."""
    if "," not in value or name.lower() not in _SINGLE:
        return [(name, value)]
    return [(name, part.strip()) for part in value.split(",")]


def _body(environ: Environ, most: int) -> bytes:
    """Read the body. Without Content-Length that works only where the server ends it (``wsgi.input_terminated``)."""
    length = environ.get("CONTENT_LENGTH") or ""
    if length:
        if not (length.isdigit() and length.isascii()):
            raise Refused(400, "a Content-Length that is no number")
        if len(length) > _LONGEST_LENGTH or int(length) > most:
            raise Refused(413, "body of %.20s bytes exceeds max_message_bytes (%d)" % (length, most))
        wanted = int(length)
    elif environ.get("wsgi.input_terminated"):
        wanted = most + 1  # which the endpoint refuses
    elif environ.get("HTTP_TRANSFER_ENCODING"):
        raise Refused(411, "a body without Content-Length, which this server does not take apart")
    else:
        return b""
    body = _read(environ["wsgi.input"], wanted)
    if length and len(body) < wanted:
        raise Refused(400, "a body shorter than its Content-Length")
    return body


def _read(stream: Any, wanted: int) -> bytes:
    pieces: List[bytes] = []
    while wanted > 0:
        try:
            piece = stream.read(min(wanted, _AT_ONCE))
        except OSError as error:  # what servers raise for a client that has gone, or for chunks that are none
            raise Refused(400, "a body that cannot be read") from error
        if not piece:
            break
        pieces.append(piece)
        wanted -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _status(status: int) -> str:
    known = RequestShape.responses.get(status)
    return "%d %s" % (status, known[0] if known else "Unknown")
