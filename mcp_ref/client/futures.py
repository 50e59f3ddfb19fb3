"""The futures of a client: one class, for both eras.

**The check.** A tool's result is checked by the thread that takes it. The check may ask the server for its tools and
may run a schema of the server's: neither is for the reader, which settles futures. So it happens in `result`, once, in
the thread that wants to know.

**The flow.** In the stateless era a request may take several on the wire, see `mcp_ref.client.request_flow`; the
future drives that flow. The reader only finds out what comes next. Questions are put on the executor, as progress is;
what waits for the server or for a process gets a thread of its own.
"""

import threading
from concurrent.futures import Future, InvalidStateError
from typing import Any, Callable, Optional

from ..errors import McpError, RequestCancelled, TransportError
from ..jsonrpc import Result
from ..peer.future import Answer, RequestFuture
from ..peer.request_table import Pending, Progress
from ..threads import start_or_call
from .options import Reader
from .request_flow import ANSWER, DONE, RETRY, SEND, RequestFlow

CANCELLED = "cancelled by the caller"


class CallFuture(RequestFuture[Answer]):
    """The answer to one request of a client, in as many requests on the wire as it takes.

    ``check`` gets the answer and may raise an `McpError`; `result` may take longer than its timeout by what the check
    takes. In the handshake era only sending is tried again: what fails later is the outcome.
    """

    def __init__(self, flow: RequestFlow, read: Reader, check: Optional[Callable[[Any], Any]]) -> None:
        super().__init__(flow.connection, read)
        self._check = check
        self._check_error: Optional[McpError] = None
        self._flow = flow
        self._has_rounds = flow.connection.session.rules.stateless or "task" in (flow.params or {})
        self._is_withdrawn = False
        self._settling = threading.Lock()  # of two threads that cancel, one tells the callbacks

    def start(self) -> "CallFuture[Answer]":
        """Send the first round. Raises what sending it raises."""
        try:
            self._send()
        except TransportError as error:
            self._flow.failed(error)
            self._flow.proceed()
            self._send()
        return self

    # What the caller may do

    def cancel(self) -> bool:
        """Cancel the request on the wire, or stop asking the user; False if the answer is here already."""
        self._is_withdrawn = True
        if super().cancel():
            return True
        if not self._has_rounds or self.done():
            return self.cancelled()
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
        flow = self._flow
        options = flow.options
        flow.sent()
        self._connection = flow.connection
        self.send(
            flow.method, flow.params, options["timeout"], options["progress"], options["extend_on_progress"])
        # A `cancel` that came between two rounds has found no request to cancel: it is cancelled here.
        if self._is_withdrawn and self._pending is not None:
            self._connection.cancel(self._pending, CANCELLED)

    def _settle(self, pending: Pending, item: Any) -> None:
        """Take what arrives for the round; runs on the reader, so nothing here waits."""
        flow = self._flow
        if not self._has_rounds or isinstance(item, Progress):
            super()._settle(pending, item)
            return
        if isinstance(item, RequestCancelled):
            self._settle_cancelled()
            return
        try:
            if isinstance(item, Result):
                flow.received(item.result)  # type: ignore[arg-type]  # what arrives is never `Encoded`
            else:
                try:
                    pending.answer(item)
                except McpError as error:
                    flow.failed(error)
            self._advance()
        except Exception as error:
            self.set_exception(error)

    def _advance(self) -> None:
        """Have done what the state of the flow calls for, each on the thread that is for it."""
        flow = self._flow
        if flow.state is DONE:
            if flow.is_input_required:
                self.set_result(flow.result)
            else:
                self._convert_result(flow.result)
        elif flow.state is ANSWER:
            self._later("answering what the server asks", self._proceed, True)
        elif flow.state is RETRY:
            start_or_call("mcp-ref:again:%s" % self._connection.transport.name, self._proceed)
        else:
            start_or_call("mcp-ref:extension:%s" % self._connection.transport.name, self._proceed)

    def _proceed(self) -> None:
        """Do the next step of the flow; on the executor, or on a thread of its own."""
        flow = self._flow
        try:
            flow.proceed()
            if flow.state is SEND:
                try:
                    self._send()
                    return
                except TransportError as error:
                    flow.failed(error)
            self._advance()
        except RequestCancelled:
            self._settle_cancelled()
        except Exception as error:
            self.set_exception(error)

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
        self._flow.release()
        self._let_go()
        try:
            super().set_result(result)
        except InvalidStateError:
            pass

    def set_exception(self, exception: Optional[BaseException]) -> None:
        """Set the error, as `Future.set_exception`; of no effect after a cancellation, which may come between rounds.
        """
        self._flow.release()
        self._let_go()
        try:
            super().set_exception(exception)
        except InvalidStateError:
            pass
