"""The futures of a client: calls that no thread waits for.

**The check.** A tool's result is checked by the thread that takes it. The check may ask the server for its tools and
may run a schema of the server's: neither is for the reader, which settles futures. So it happens in `result`, once, in
the thread that wants to know.

**The steps.** `mcp_ref.client.request_flow` has what a call does, step by step. The reader only goes on to the next
step. Questions are put on the executor, as progress is; what waits for the server or for a process gets a thread of its
own.
"""

import threading
from concurrent.futures import Future, InvalidStateError
from typing import TYPE_CHECKING, Any, Callable, Optional

from ..errors import McpError, RequestCancelled, TransportError
from ..peer.future import Answer, RequestFuture
from ..peer.request_table import Pending, Progress
from ..threads import start_or_call

if TYPE_CHECKING:
    from .request_flow import RequestFlow

CANCELLED = "cancelled by the caller"


class CallFuture(RequestFuture[Answer]):
    """The answer to one request of a client, in as many requests on the wire as it takes.

    ``check`` gets the answer and may raise an `McpError`; `result` may take longer than its timeout by what the check
    takes.
    """

    def __init__(self, flow: "RequestFlow", check: Optional[Callable[[Any], Any]]) -> None:
        super().__init__(flow.connection, lambda result: result)
        self._check = check
        self._check_error: Optional[McpError] = None
        self._flow = flow
        self._steps = flow.steps()
        self._is_withdrawn = False
        self._settling = threading.Lock()  # of two threads that cancel, one tells the callbacks

    def start(self) -> "CallFuture[Answer]":
        """Send the first round, in the thread of the caller, which may wait. Raises what sending it raises."""
        error: Optional[McpError] = None
        while True:
            step, error = self._steps.send(error), None
            if step is self._flow.SEND:
                try:
                    self._send()
                    return self
                except TransportError as failed:
                    error = failed

    # What the caller may do

    def cancel(self) -> bool:
        """Cancel the request on the wire, or stop asking the user; False if the answer is here already."""
        self._is_withdrawn = True
        if super().cancel():
            return True
        if not self.done():
            self._flow.cancel(CANCELLED)
            self._settle_cancelled()
        return self.cancelled()

    def result(self, timeout: Optional[float] = None) -> Answer:
        """Return the checked answer; raises as `concurrent.futures.Future.result`, or what the check finds."""
        value = RequestFuture.result(self, timeout)
        check = self._check
        if check is not None:
            try:
                check(value)
            except McpError as error:
                self._check_error = error
            self._check = None
        if self._check_error is not None:
            raise self._check_error
        return value

    def exception(self, timeout: Optional[float] = None) -> Optional[BaseException]:
        """Return what `result` would raise; None if it would raise nothing."""
        error = super().exception(timeout)
        if error is None:
            try:
                self.result()
            except McpError as found:
                error = found
        return error

    # The driver of the flow

    def _send(self) -> None:
        """Send the round. Raises what sending it raises."""
        flow, options = self._flow, self._flow.options
        self._connection = flow.connection
        self.send(
            flow.method, flow.params, options["timeout"], options["progress"], options["extend_on_progress"])
        # A `cancel` that came between two rounds has found no request to cancel: it is cancelled here.
        if self._is_withdrawn and self._pending is not None:
            self._connection.cancel(self._pending, CANCELLED)

    def _settle(self, pending: Pending, item: Any) -> None:
        """Take what arrives for the round; runs on the reader, so nothing here waits."""
        if isinstance(item, Progress):
            super()._settle(pending, item)
            return
        if isinstance(item, RequestCancelled):
            self._settle_cancelled()
            return
        try:
            outcome: Any = pending.answer(item)
        except McpError as error:
            outcome = error
        self._resume(outcome)

    def _resume(self, outcome: Any = None) -> None:
        """Go on to the next step, and have it done by the thread that is for it. ``outcome``: what SEND has brought."""
        try:
            step = self._steps.send(outcome)
            while step is self._flow.SEND:
                try:
                    self._send()
                    return
                except TransportError as error:
                    outcome = error
                step = self._steps.send(outcome)
        except StopIteration as done:
            self.set_result(done.value)
        except RequestCancelled:
            self._settle_cancelled()
        except McpError as error:
            self.set_exception(error.with_traceback(None))  # as `Requests.run`
        except Exception as error:
            self.set_exception(error)
        else:
            if step is self._flow.ANSWER:
                self._later("answering what the server asks", self._resume, True)
            else:
                name = "mcp-ref:again:%s" if step is self._flow.RETRY else "mcp-ref:extension:%s"
                start_or_call(name % self._connection.transport.name, self._resume)

    def _settle_cancelled(self) -> None:
        with self._settling:
            first = not self.cancelled() and Future.cancel(self)
        self._let_go()
        if first:
            self.set_running_or_notify_cancel()

    def _let_go(self) -> None:
        """Take no progress any more, if the call has become a task."""
        if self._pending is not None and self._pending.as_task:
            self._connection.table.let_go(self._pending)

    def set_result(self, result: Any) -> None:
        """Set the answer, as `Future.set_result`; of no effect after a cancellation, which may come between rounds."""
        self._let_go()
        try:
            super().set_result(result)
        except InvalidStateError:
            pass

    def set_exception(self, exception: Optional[BaseException]) -> None:
        """Set the error, as `Future.set_exception`; of no effect after a cancellation, which may come between rounds.
        """
        self._let_go()
        try:
            super().set_exception(exception)
        except InvalidStateError:
            pass
