"""The object that a handler is given: cancellation, progress, and requests back to the peer; and the log of its errors.

A `Context` stands for one request that we are answering. It is made for every call, so it costs little: the connection
does the work.

Where a handler or a callback raises, the log record names the message that it was called for. The request's id stands
in the record and, where the peer may not be told the text of the exception, in its answer: by it the traceback of a
failed request is found in the log. The id of a session is a secret of its client, so only its beginning is shown.
"""

import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Callable, Dict, NoReturn, Optional, Union

from ..codec import DecodeError, decoder
from ..deadline import clock
from ..errors import INVALID_PARAMS, ConnectionLost, LocalProtocolError, RpcError
from ..jsonrpc import Request, RequestId
from ..options import REQUEST_TIMEOUT, refuse, strict_options
from ..protocol.lifecycle import extension_missing, extensions_in
from ..revisions import Revision

if TYPE_CHECKING:
    from ..deadline import Rate
    from .dispatcher import Connection
    from .inflight import Incoming
    from .request_table import ProgressCallback
    from .session import Session


class Context:
    """The handler's side of one request of the peer's."""

    __slots__ = ("connection", "incoming", "request", "session", "_cancelled", "_progress", "_due")
    detached = False
    """True for a handler that runs on after its request was answered."""

    def __init__(
        self, connection: "Connection", incoming: "Incoming", request: Request, session: "Optional[Session]" = None
    ) -> None:
        self.connection = connection
        self.incoming = incoming
        self.request = request
        self.session = connection.session if session is None else session
        """The revision, capabilities and identity that hold for this request: those of the connection, or where there
        is no handshake those of the request."""
        self._cancelled: Optional[threading.Event] = None
        self._progress: Optional[float] = None
        self._due = 0.0

    @property
    def request_id(self) -> RequestId:
        """The id of the request, as the peer chose it."""
        return self.request.id

    @property
    def meta(self) -> Dict[str, Any]:
        """The request's `_meta` object; empty if it has none."""
        meta = (self.request.params or {}).get("_meta")
        return meta if isinstance(meta, dict) else {}

    @property
    def trace_context(self) -> Dict[str, str]:
        """The distributed trace of the request: ``traceparent``, ``tracestate``, ``baggage`` of its `_meta`; {} if
        none.

        Pass it on with requests that you send while you answer: ``client.call_tool("next", {},
        meta=ctx.trace_context)``. A value that has not the form that W3C prescribes is left out, and counted
        [2026-07-28 basic/index §`_meta`] MUST.
        """
        from ..protocol.metakeys import KEYS, trace_context

        meta = self.meta
        found = trace_context(meta)
        lost = [key for key in KEYS if key in meta and key not in found]
        if lost:
            self.connection.counters.note("malformed trace context", ", ".join(lost))
        return found

    @property
    def extensions(self) -> Dict[str, Dict[str, Any]]:
        """The extensions that who sent the request has declared: identifier -> settings.

        [2026-07-28 basic/versioning §Extension Negotiation]
        """
        return extensions_in(self.session.peer_capabilities)

    def require_extension(self, identifier: str) -> Dict[str, Any]:
        """The settings of an extension, where the request makes no sense without it.

        Raises `RpcError`, which refuses a request whose sender has not declared it: -32021
        [2026-07-28 basic/index §`_meta`] MUST, in a handshake session -32601.
        """
        settings = extensions_in(self.session.peer_capabilities).get(identifier)
        if settings is None:
            raise extension_missing(identifier, self.session.rules)
        return settings

    @property
    def cancelled(self) -> threading.Event:
        """Set when the peer cancels the request or the connection ends.

        A long handler looks at it from time to time: ``ctx.cancelled.is_set()``, or waits on it instead of
        sleeping [2025-11-25 basic/utilities/cancellation §Behavior Requirements] SHOULD.
        """
        if self._cancelled is None:
            self._cancelled = threading.Event()
            self.incoming.watch(self._cancelled.set)
        return self._cancelled

    @property
    def principal(self) -> Any:
        """The sender of the request: what ``authenticate`` returned, or a `mcp_ref.auth.Principal`, by the token of
        this very request (HTTP). None if no client has to show who it is."""
        principal = self.incoming.principal
        return self.session.principal if principal is None else principal

    def rate(self, name: str) -> "Rate":
        """Return the rate limiter of this name (a field of `Limits`) for the sender of this request.

        There is one for each connection; if requests of many clients come on one connection, one for each principal.
        """
        return self.connection.rate(name, self.session.principal)

    def check(self) -> None:
        """Raise `RequestCancelled` if the request was cancelled; nothing more is sent for it then."""
        self.incoming.check()

    def progress(
        self, progress: float, total: Optional[float] = None, message: Optional[str] = None, **unknown: NoReturn
    ) -> None:
        """Tell the peer how far this request is.

        ``progress`` must be larger each time [2025-11-25 basic/utilities/progress §Progress Flow] MUST: ValueError
        otherwise. Nothing is sent if the peer did not ask (no progress token) or after the answer. Steps faster than
        ``max_progress_per_second`` are left out after a burst of ``max_progress_burst``
        [2025-11-25 basic/utilities/progress §Implementation Notes] SHOULD; the last one (``progress == total``) is not.
        Several threads of one handler may call it. Raises `RequestCancelled` if the request was cancelled, and
        TypeError or ValueError for what is no finite number and no text.
        """
        if unknown:
            refuse(Context.progress, unknown)
        self.check()
        _check_number("progress", progress)
        if total is not None:
            _check_number("total", total)
        if message is not None and not isinstance(message, str):
            raise TypeError("message must be a str, got %r" % (message,))
        if self.incoming.while_wanted(lambda: self._step(progress, total, message)):
            self.connection.outbox.flush_soon()

    def _step(self, progress: float, total: Optional[float], message: Optional[str]) -> None:
        """Send one step; `while_wanted` calls it while no other thread does and the request is in progress
        [..2025-11-25 basic/utilities/progress §Behavior Requirements] MUST
        [2026-07-28 basic/patterns/progress §Behavior Requirements] MUST.
        """
        if self._progress is not None and progress <= self._progress:
            raise ValueError("progress must increase: %r after %r" % (progress, self._progress))
        self._progress = progress
        token = self._progress_token()
        if token is None:
            return
        due = self.connection.progress_due(self._due, progress == total)
        if due is not None:
            self._due = due
            self._put_progress(token, progress, total, message)

    def _progress_token(self) -> Optional[RequestId]:
        """Return the token of the peer's, None if it wants no progress."""
        token = self.meta.get("progressToken")
        return token if isinstance(token, (int, str)) and not isinstance(token, bool) else None

    def _put_progress(
        self, token: RequestId, progress: float, total: Optional[float], message: Optional[str]
    ) -> None:
        self.connection.put_progress(token, progress, total, message, self.incoming.id, self.session)

    @strict_options
    def call(
        self, method: str, params: Optional[Dict[str, Any]] = None, timeout: Optional[float] = REQUEST_TIMEOUT,
        on_progress: "Optional[ProgressCallback]" = None, extend_on_progress: bool = False,
    ) -> Dict[str, Any]:
        """Send a request to the peer and wait for its result, while this one is being answered.

        A cancellation of this request ends the wait and cancels the nested one. ``timeout`` (seconds), the other
        options and exceptions are those of `Connection.request`.
        """
        self.check()
        if not self.session.rules.peer_requests:
            # [2026-07-28 basic/transports/index §Messages], [2026-07-28 basic/patterns/mrtr §Supported Requests]
            raise LocalProtocolError("revision %s has no requests from server to client" % self.session.rules)
        return self.connection.request(method, params, timeout, on_progress, extend_on_progress, self.incoming)

    @strict_options
    def notify(self, method: str, params: Optional[Dict[str, Any]] = None) -> None:
        """Send a notification that belongs to this request; nothing is sent after its answer."""
        self.check()
        self.connection.notify(method, params, self.incoming, self.session)

    def complete(self, result: Union[Dict[str, Any], RpcError, None]) -> None:
        """Answer a request whose route is ``deferred``, once, from any thread; None: there is no answer.

        A cancelled request has none; it must be completed all the same. Raises `LocalProtocolError` if it was before;
        that or `JsonError` for a result that cannot be sent, which leaves it without an answer yet.
        """
        self.connection.complete(self, result)


HANDLED: "ContextVar[Optional[Context]]" = ContextVar("mcp_ref.handled", default=None)
"""The context of the request that this thread handles."""


def _check_number(name: str, value: Any) -> None:
    if type(value) not in (int, float):
        raise TypeError("%s must be a number, got %r" % (name, value))
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError("%s must be finite, got %r" % (name, value))


@strict_options
class Route:
    """The way in which one method is answered in one session: made once, used for every request.

    ``call(context, params)`` returns the result object. ``fault(context, error)``, for tools, turns an exception into a
    result instead of an error, and logs it for the author. ``inline``: quick and free of user code, so it runs on the
    reader. ``deferred``: ``call`` returns nothing, and the answer comes later, by `Context.complete`.
    """

    __slots__ = ("call", "fault", "inline", "deferred")

    def __init__(
        self,
        call: Callable[[Context, Dict[str, Any]], Any],
        fault: Optional[Callable[[Context, Exception], Optional[Dict[str, Any]]]] = None,
        inline: bool = False,
        deferred: bool = False,
    ) -> None:
        self.call = call
        self.fault = fault
        self.inline = inline
        self.deferred = deferred

    def calling(self, call: Callable[[Context, Dict[str, Any]], Any]) -> "Route":
        """Return a route like this one that calls another function, which may go on with that of this one."""
        return Route(call, self.fault, self.inline, self.deferred)


class RequestTally:
    """The counts of the requests of one method: ``answered``, ``failed``, and the ``seconds`` of their handlers.

    Thread-safe.
    """

    __slots__ = ("answered", "failed", "seconds", "_lock")

    def __init__(self) -> None:
        self.answered = self.failed = 0
        self.seconds = 0.0
        self._lock = threading.Lock()

    def on(self, route: Route) -> Route:
        """Return a route whose requests are counted. One that is answered later is counted when its wait begins."""
        answer, lock = route.call, self._lock

        def call(context: Context, params: Dict[str, Any]) -> Any:
            begun = clock()
            try:
                result = answer(context, params)
            except BaseException:
                with lock:
                    self.failed += 1
                    self.seconds += clock() - begun
                raise
            with lock:
                self.answered += 1
                self.seconds += clock() - begun
            return result

        return route.calling(call)


def params_reader(cls: Any, revision: Revision) -> Callable[[Dict[str, Any], Context], Any]:
    """Return the function that makes an instance of ``cls`` of the params of a request of this revision; the context
    is that of the request.

    It raises `RpcError` -32602 with the path of the member that does not fit.
    """
    decode = decoder(cls, revision)

    def read(params: Dict[str, Any], context: Context) -> Any:
        try:
            return decode(params, "params", context.connection.forgive)
        except DecodeError as error:
            raise RpcError(INVALID_PARAMS, "Invalid params: %s" % error) from None

    return read


# Handlers and callbacks that raised

_SHOWN = 8
"""The characters of a session's id that are shown: enough to tell sessions apart, and at most a quarter of the id."""


def named(id: RequestId) -> str:
    """Return a request as it is called in texts: ``request 7``. The peer chose the id, so it is cut, and on one
    line."""
    return "request %.80r" % (id,)


def about(connection: "Connection", method: str, id: Optional[RequestId] = None) -> str:
    """Return the name of a message for a log record: its method, its id, the beginning of the session's id."""
    parts = [method]
    if id is not None:
        parts.append(named(id))
    session = connection.transport.session_id
    if session:
        parts.append("session %s..." % session[:min(_SHOWN, len(session) // 4)])
    return ", ".join(parts)


def report(context: "Context", who: str, error: BaseException) -> None:
    """Log the exception of the handler of a request, if it is a mistake of its author.

    If the peer went away while the handler waited for it, that is none; and Ctrl-C is for the whole program.
    """
    connection = context.connection
    if not (isinstance(error, ConnectionLost) and (connection.table.ended or error.left is connection)):
        log_raised(connection, who, error, context.request.method, context.request.id)


def log_raised(
    connection: "Connection", who: str, error: BaseException, method: str, id: Optional[RequestId] = None
) -> None:
    """Count and log the exception that our user's code has raised for a message, and tell the trace, if there is
    one."""
    if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
        return  # a Ctrl-C; on any other thread it is the code's own
    connection.counters.add("handler errors")
    if connection.transport.finding is not None:
        connection.transport.finding("handler errors", "%s raised" % who, error)
    from ..diagnostics import packagelog  # nothing has raised when a server starts

    packagelog.log_raised(who, error, about(connection, method, id))
