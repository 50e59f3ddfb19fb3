"""Futures for requests: `concurrent.futures.Future`, except that `cancel` cancels on the wire.

In a module of its own because `concurrent.futures` costs milliseconds to import and most programs
never use it.
"""

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Callable, Dict, Generic, Optional, Tuple, TypeVar

from ..diagnostics.packagelog import log_raised, name_of
from ..errors import McpError, NoThreads, RequestCancelled
from ..jsonrpc import ErrorResponse, ResultResponse
from ..options import REQUEST_TIMEOUT
from ..threads import Wait, available, start_or_call
from .context import about
from .dispatcher import Connection
from .executors import Job
from .jobs import SerialQueue, reraise_interrupt
from .request_table import Pending, Progress, ProgressCallback

Callback = Tuple[str, Callable[[], Any]]
"""A function of our user's that is to be called, and its description for the log."""

Answer = TypeVar("Answer")
if TYPE_CHECKING:
    _Future = Future
else:
    class _Future(Future, Generic[Answer]):
        """The base class, for `Future` can be subscripted since 3.9 only."""


class RequestFuture(_Future[Answer]):
    """The answer to a request that no thread waits for.

    `cancel` sends ``notifications/cancelled`` if the answer is still out. Progress callbacks and then done callbacks
    run one after the other on the connection's executor, not on its reader (unless it is `Inline`), so they may use
    the connection.
    """

    def __init__(self, connection: Connection, convert: Callable[[Dict[str, Any]], Any]) -> None:
        super().__init__()
        self._connection = connection
        self._convert = convert
        self._pending: Optional[Pending] = None
        self._lane: Optional[SerialQueue[Callback]] = None

    def send(
        self, method: str, params: Optional[Dict[str, Any]], timeout: Optional[float] = REQUEST_TIMEOUT,
        on_progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
    ) -> "RequestFuture[Answer]":
        """Send the request; options as `Connection.request`."""
        self._pending = self._connection.open_request(
            method, params, timeout, on_progress, extend_on_progress, self._settle)
        self._connection.time_out_later(self._pending)
        return self

    def cancel(self) -> bool:
        """Cancel the request on the wire. Returns False if its answer is here already."""
        if self._pending is None:
            return False
        return self._connection.cancel(self._pending, "cancelled by the caller") or self.cancelled()

    def result(self, timeout: Optional[float] = None) -> Answer:
        """Wait for the result, as `concurrent.futures.Future.result`; in a handler, as for its own peer."""
        if self.done():
            return super().result(timeout)
        self._check_coming()
        with Wait(self._connection.limits.max_waiting):
            return super().result(timeout)

    def exception(self, timeout: Optional[float] = None) -> Optional[BaseException]:
        """Wait for the exception, as `concurrent.futures.Future.exception`; in a handler, as `result`."""
        if self.done():
            return super().exception(timeout)
        self._check_coming()
        with Wait(self._connection.limits.max_waiting):
            return super().exception(timeout)

    def _check_coming(self) -> None:
        """Raise `NoThreads` where nobody but the calling thread could bring the answer."""
        if not available():
            raise NoThreads("the answer cannot come while this thread waits for it, and no other can be started here")

    def add_done_callback(self, fn: Callable[[Any], Any]) -> None:
        """Call ``fn(self)`` when the answer is here; at once, in this thread, if it is here already."""
        if self.done():
            super().add_done_callback(fn)
        else:
            super().add_done_callback(lambda _: self._later("done callback %s" % name_of(fn), lambda: fn(self), True))

    def _later(self, who: str, function: Callable[[], Any], always: bool, size: int = 0) -> None:
        limits = self._connection.limits
        if self._lane is None:  # made late, because few futures have callbacks; only the reader comes here
            self._lane = SerialQueue(self._call, self._schedule, limits.max_inflight, limits.max_unheard_bytes)
        room, schedule = self._lane.put((who, function), always, size)
        if not room:
            self._connection.counters.note(
                "dropped progress", "max_inflight (%d) callbacks are waiting, or max_unheard_bytes (%d)"
                % (limits.max_inflight, limits.max_unheard_bytes))
        if schedule:
            self._schedule(self._lane)

    def _schedule(self, lane: Job) -> None:
        if not self._connection.executor.submit([lane], self._connection.outbox):
            start_or_call("mcp-ref:callbacks:%s" % self._connection.transport.name, lane.run)

    def _settle(self, pending: Pending, item: Any) -> None:
        """Take what the request table delivers; runs on the reader."""
        if isinstance(item, Progress):
            pending.extend()
            if pending.on_progress is not None and not self.done():
                who = "progress callback %s" % name_of(pending.on_progress)
                self._later(who, lambda: pending.report(item), False, len(item.message or ""))
        elif isinstance(item, RequestCancelled):
            super().cancel()
            self.set_running_or_notify_cancel()
        elif isinstance(item, ResultResponse):
            self._convert_result(item.result)  # type: ignore[arg-type]  # what arrives is never `Encoded`
        elif isinstance(item, ErrorResponse):
            try:
                pending.answer(item)
            except McpError as error:
                self.set_exception(error)
        else:
            self.set_exception(item)

    def _convert_result(self, result: Dict[str, Any]) -> None:
        try:
            self.set_result(self._convert(result))
        except Exception as error:
            self.set_exception(error)

    def _call(self, callback: Callback) -> None:
        who, function = callback
        try:
            function()
        except BaseException as error:
            if not isinstance(error, KeyboardInterrupt):
                pending = self._pending
                log_raised(who, error, "" if pending is None else about(self._connection, pending.method, pending.id))
            reraise_interrupt(error)
