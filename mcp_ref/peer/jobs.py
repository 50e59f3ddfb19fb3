"""The jobs that the reader hands over: requests to be answered, and notifications to be delivered in order."""

from __future__ import annotations  # unread, they cost nothing as the module is loaded

import io
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, Generic, Optional, Tuple, TypeVar

from .. import threads
from ..errors import ABOUT_REQUESTS, INTERNAL_ERROR, INVALID_PARAMS, McpError, RequestCancelled, RpcError
from ..jsonrpc import ErrorResponse, Message, Request, RequestId, ResultResponse, encode, shown
from ..jsontext import JsonError
from ..limits import DEFAULT
from .context import HANDLED, Context, Route, log_raised
from .executors import Job
from .inflight import Incoming
from .sender import LONG

if TYPE_CHECKING:
    from .dispatcher import Connection
    from .session import Session


Item = TypeVar("Item")


class Call(Job):
    """A request of the peer's, from the moment it is read until its answer is on its way.

    ``session``: what holds for this request alone; None: the connection's. ``batch``: where its answer is collected.
    """

    __slots__ = ("connection", "request", "incoming", "route", "batch", "session")

    def __init__(
        self,
        connection: "Connection",
        request: Request,
        incoming: Incoming,
        route: Route,
        batch: "Optional[BatchAnswer]",
        session: "Optional[Session]" = None,
    ) -> None:
        self.connection = connection
        self.request = request
        self.incoming = incoming
        self.route = route
        self.batch = batch
        self.session = session

    def run(self) -> None:
        """Run the handler and send its answer; on a worker, or on the reader if the route is inline."""
        if self.incoming.cancelled:
            self.reply(None)
            return
        connection, request, route, batch = self.connection, self.request, self.route, self.batch
        if batch is not None and batch.full and not route.inline:
            self.reply(None, encode(self._left_out("not run")))
            return
        context = connection.context_class(connection, self.incoming, request, self.session)
        escaped: Optional[BaseException] = None
        outer, copies = HANDLED.set(context), threads.copies
        try:
            try:
                result = route.call(context, request.params or {})
            finally:
                if threads.copies != copies:
                    threads.end_copy()
            if route.deferred:
                return
            answer: Message = ResultResponse(request.id, result)
            data = encode(answer, connection.limits) if batch is None else self._encode_in_batch(batch, answer)
            if len(data) > LONG or b'"_meta"' in data:
                connection.check_meta(data, result, self.session)
        except BaseException as error:
            answer, escaped = self._answer_to(error, context), error
            data = None
        finally:
            HANDLED.reset(outer)
        self.reply(answer, data)
        if escaped is not None:
            reraise_interrupt(escaped)

    def abandon(self, error: McpError) -> None:
        rpc = error if isinstance(error, RpcError) else RpcError(INTERNAL_ERROR, str(error))
        self.reply(ErrorResponse(self.request.id, rpc.code, rpc.message, rpc.data))

    def reply(self, answer: Optional[Message], data: Optional[bytes] = None) -> None:
        """Finish the request: its answer goes out, unless it was cancelled before. ``data``: the answer, encoded."""
        connection, incoming = self.connection, self.incoming
        # From here on nothing more is sent for this request: `finish` says so under the lock of the inflight table, and
        # a cancellation that was read before it wins.
        if not connection.inflight.finish(incoming):
            data = None
        elif data is None and answer is not None:
            data = self._encode(answer)
        outbox = connection.outbox
        if self.batch is not None:
            connection.send_batch(
                self.batch, self.batch.add(data), connection.executor.blocking and not self.route.inline)
        elif data is not None:
            outbox.put(data, connection.executor.blocking and not self.route.inline, incoming.id, True)
        else:
            outbox.unanswered(incoming.id)
        if self.route is NO_ROUTE and (data is not None or self.batch is not None):
            outbox.flush_soon()  # no executor does it, for this is no job of one
        if connection.large:
            connection.free_large(incoming)
        connection.inflight.release()
        if incoming.after is not None:
            incoming.after()

    def _encode(self, answer: Message) -> bytes:
        try:
            if self.batch is not None:
                return self._encode_in_batch(self.batch, answer)
            return encode(answer, self.connection.limits)
        except JsonError as error:
            id = getattr(answer, "id", None)
            log_raised(self.connection, "encoding an answer", error, "an error with data that JSON cannot hold", id)
            return encode(ErrorResponse(id, INTERNAL_ERROR, "Internal error"))

    # Handlers that raise

    def _answer_to(self, error: BaseException, context: Context) -> Message:
        """Return the answer for a handler that raised; also if that raises again: a text, an overridden method."""
        try:
            return self._failure(error, context)
        except Exception as another:
            log_raised(self.connection, "making an answer of a failure", another, self.request.method, self.request.id)
            return ErrorResponse(self.request.id, INTERNAL_ERROR, "Internal error")

    def _failure(self, error: BaseException, context: Context) -> Message:
        """Return the answer, and tell the transport of a request that was refused as such."""
        answer, replies = failure(error, context, self.route), self.connection.replies
        if replies is not None and isinstance(answer, ErrorResponse) and answer.code in ABOUT_REQUESTS:
            replies.refused(self.incoming.id, answer.code)
        return answer

    # Batches

    def _encode_in_batch(self, batch: "BatchAnswer", answer: Message) -> bytes:
        """Return an answer, for which there is room from now on, or the error that takes its place.

        Raises `JsonError`.
        """
        with batch.turn:
            data = encode(answer, self.connection.limits)
            if batch.claim(len(data), self.request.id):
                return data
            del data
        return encode(self._left_out("run, but its result is left out"))

    def _left_out(self, what: str) -> ErrorResponse:
        """Return the error that stands in a batch for an answer that has no room there.

        [JSON-RPC 2.0 §5.1] has no code of its own for that; it is the server's, as where too many requests run.
        """
        limit = "max_batch_answer_bytes (%d)" % self.connection.limits.max_batch_answer_bytes
        self.connection.counters.note("batch answer left out", "%s: %s" % (shown(self.request.method), limit))
        text = "Internal error: the answers to this batch exceed %s, so this request was %s: send fewer at once"
        return ErrorResponse(self.request.id, INTERNAL_ERROR, text % (limit, what))


def failure(error: BaseException, context: Context, route: Route) -> Message:
    """Return the answer for what a handler raised: a result where the route makes one of it, else an error."""
    request, fault = context.request, route.fault
    if isinstance(error, RpcError) and type(error.code) is int and type(error.message) is str:
        error = context.connection.role.answer_error(context, error, fault is not None)
        if isinstance(error, RpcError):
            # [2025-11-25.. basic/index §Error Responses] MUST: the id of the request
            return ErrorResponse(request.id, error.code, error.message, error.data)
    if isinstance(error, RequestCancelled) and context.incoming.cancelled:
        return ErrorResponse(request.id, INTERNAL_ERROR, "Cancelled")  # never sent: the request is cancelled
    if fault is not None and isinstance(error, Exception):
        result = fault(context, error)
        if result is not None:
            return ResultResponse(request.id, result)
    rpc = internal_error(context, error)
    return ErrorResponse(request.id, rpc.code, rpc.message, rpc.data)


def internal_error(context: Context, error: BaseException) -> RpcError:
    """Log an exception of the role's code. Returns what the peer is told of it."""
    connection = context.connection
    try:
        return connection.role.answer_errors(context, error)
    except Exception as another:
        for each in (error, another):
            log_raised(connection, "making an answer of a failure", each, context.request.method, context.request.id)
        return RpcError(INTERNAL_ERROR, "Internal error")


def _unreachable(context: Context, params: Dict[str, Any]) -> Any:
    raise RpcError(INVALID_PARAMS, "no route")


NO_ROUTE = Route(_unreachable, inline=True)
"""The route of a request that is refused, or answered later."""


class SerialQueue(Job, Generic[Item]):
    """A queue of notifications, or callbacks, for user code, which takes them one at a time, in the order they came.

    ``run`` takes one item; ``again`` schedules this job again, for the items that it could not finish. Nobody waits for
    an answer to them, so none is abandoned. Bounds: ``limit`` items, and ``most`` bytes of the messages that they came
    by; an item that is larger than that waits alone.
    """

    __slots__ = ("_run", "_again", "_lock", "_waiting", "_scheduled", "_limit", "_idle", "_most", "_bytes")

    def __init__(
        self, run: Callable[[Item], None], again: Callable[[Job], None], limit: int, most: int = 1 << 62
    ) -> None:
        self._run = run
        self._again = again
        self._lock = threading.Lock()
        self._waiting: Deque[Tuple[Item, int]] = deque()
        self._bytes = 0
        self._scheduled = False
        self._limit = limit
        self._most = most
        self._idle: Optional[threading.Event] = None

    def put(self, item: Item, always: bool = False, size: int = 0) -> Tuple[bool, bool]:
        """Append an item. Returns two flags: there was room (``always``: do not ask), and the lane must be
        scheduled."""
        with self._lock:
            waiting = len(self._waiting)
            if not always and (waiting >= self._limit or (waiting and self._bytes + size > self._most)):
                return False, False
            self._waiting.append((item, size))
            self._bytes += size
            schedule, self._scheduled = not self._scheduled, True
        return True, schedule

    def run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._scheduled = False
                    if self._idle is not None:
                        self._idle.set()
                    return
                item, size = self._waiting.popleft()
                self._bytes -= size
            copies = threads.copies
            try:
                self._run(item)
            except BaseException:  # Ctrl-C on the main thread; the rest is for later
                if threads.copies != copies:
                    threads.end_copy()
                self._again(self)
                raise
            if threads.copies != copies:
                threads.end_copy()

    def abandon(self, error: McpError) -> None:
        self._again(self)

    def wait_idle(self, seconds: float) -> None:
        """Wait until every item that was put is taken, for at most so many seconds; after the last `put`."""
        with self._lock:
            if not self._scheduled:
                return
            if self._idle is None or self._idle.is_set():
                self._idle = threading.Event()
            idle = self._idle
        idle.wait(seconds)


def reraise_interrupt(error: BaseException) -> None:
    """Raise a Ctrl-C again that user code on the main thread has raised; every other exception was dealt with."""
    if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
        raise error


class BatchAnswer:
    """The encoded answers to one batch, sent together when the last is there [2025-03-26 basic/index §Batching].

    They are one message, of at most ``most`` bytes. Each request has an answer all the same [JSON-RPC 2.0 §6] SHOULD:
    room for an error is kept for each, and what does not fit beside these is left out for such an error.
    """

    def __init__(self, about: Optional[RequestId] = None, most: int = DEFAULT.max_batch_answer_bytes) -> None:
        self.about = about
        """The name of the batch in `ReplyTransport.post`."""
        self.most = most
        self.full = False
        """True once an answer was left out; then handlers of this batch that have not begun need not run."""
        self.hold: Callable[[int], bool] = lambda more: True
        """Called under the lock before so many bytes more are kept; it returns False to leave them out. For a total
        over batches."""
        self.turn = threading.Lock()
        """A lock that is held while an answer is encoded: meanwhile it takes its memory three times, so one at a
        time."""
        self._lock = threading.Lock()
        self._answers: Optional[io.BytesIO] = None
        self._room = most
        self._open = 1  # one for the reader, until the whole batch is read

    def expect(self, id: Optional[RequestId]) -> None:
        """Note that there will be an answer to a request of this id; None: to a message without id."""
        with self._lock:
            self._open += 1
            self._room -= _room_for_error(id)

    def claim(self, size: int, id: RequestId) -> bool:
        """Reserve room for an answer of this size. Returns False without room: the request of this id gets an error."""
        with self._lock:
            room = self._room + _room_for_error(id) - size
            if room < 0 or not self.hold(size):
                self.full = True
                return False
            self._room = room
        return True

    def add(self, answer: Optional[bytes]) -> Optional[bytes]:
        """Add an answer, or note that there is none. Returns the whole if that was the last, b"" if the whole is empty,
        and None before.

        Each answer is copied once, into the whole: joined from parts it would take its memory three times.
        """
        with self._lock:
            if answer is not None:
                if self._answers is None:
                    self._answers = io.BytesIO()
                self._answers.write(b"," if self._answers.tell() else b"[")
                self._answers.write(answer)
            self._open -= 1
            if self._open:
                return None
            if self._answers is None:
                return b""
            self._answers.write(b"]")
            whole, self._answers = self._answers.getvalue(), None
        return whole


def _room_for_error(id: Optional[RequestId]) -> int:
    """Return the bytes that an error for this id may take; a character of a string takes up to 12."""
    return _ERROR_BYTES + (12 * len(id) if isinstance(id, str) else id.bit_length() // 3 if id is not None else 0)


_ERROR_BYTES = 320
