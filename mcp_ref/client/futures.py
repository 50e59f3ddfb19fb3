"""The futures of a client.

`CheckedFuture` is that of a tool's result, which is checked by whoever takes it. The check may ask the server for its
tools and may run a schema of the server's: neither is for the reader, which settles futures. So it happens in `result`,
in the thread that wants to know, once.

`LastingFuture` is that of a request without handshake, which may take several requests on the wire: the server asks
something first (`mcp_ref.client.rounds`), or its process ended (`mcp_ref.client.recovery`). The reader only sees that
there is more to be done. Questions are put on the executor, as progress is; what waits for the server or for a process
gets a thread of its own.
"""

import threading
from concurrent.futures import Future, InvalidStateError
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional

from .. import deadline
from ..errors import McpError, PeerError, RequestCancelled, TransportError
from ..jsonrpc import Error, Result
from ..peer.future import Answer, RequestFuture
from ..peer.request_table import Pending, Progress
from ..threads import run_aside
from .recovery import another, final
from .rounds import MANUAL, Exchange, adding, asked, extended

if TYPE_CHECKING:
    from .client import Client
    from .requests import Options, Reader


class CheckedFuture(RequestFuture[Answer]):
    """A `RequestFuture` whose result goes through ``check``, which may raise an `McpError`.

    `result` may take a little longer than its timeout: as long as the check does.
    """

    check: Optional[Callable[[Any], Any]] = None
    """Given before the request is sent; None when it is over."""
    _wrong: Optional[McpError] = None

    def result(self, timeout: Optional[float] = None) -> Answer:
        """The checked result; raises as `concurrent.futures.Future.result`, or what the check finds."""
        value = RequestFuture.result(self, timeout)
        check = self.check
        if check is not None:
            try:
                check(value)
            except McpError as error:
                self._wrong = error
            self.check = None
        if self._wrong is not None:
            raise self._wrong
        return value

    def exception(self, timeout: Optional[float] = None) -> Optional[BaseException]:
        """What `result` would raise."""
        error = super().exception(timeout)
        if error is None:
            try:
                self.result()
            except McpError as found:
                error = found
        return error


class LastingFuture(CheckedFuture[Answer]):
    """The answer to one request of ``client``, whatever it takes."""

    def __init__(
        self, client: "Client", read: "Reader", check: Optional[Callable[[Any], Any]], method: str,
        params: Dict[str, Any], options: "Options",
    ) -> None:
        super().__init__(client.connection, read)
        self.check = check
        self._client = client
        self._method = method
        self._options = options
        self._manual = options.rounds == MANUAL
        self._exchange = Exchange(client, method, params)
        self._again = False  # whether this round was sent again
        self._begun = 0.0
        self._wants_no_more = False
        self._settling = threading.Lock()

    def start(self) -> "LastingFuture[Answer]":
        """Send the request. Raises what sending it raises."""
        try:
            self._round()
        except TransportError as error:
            self._sent_again(error)
        return self

    def cancel(self) -> bool:
        """Cancel the request on the wire, or stop asking; False if the answer is here already."""
        self._wants_no_more = True
        if super().cancel():
            return True
        if self.done():
            return self.cancelled()
        self._exchange.cancel("cancelled by the caller")
        self._settle_cancelled()
        return self.cancelled()

    def _settle_cancelled(self) -> None:
        with self._settling:
            first = not self.cancelled() and Future.cancel(self)
        if first:
            self.set_running_or_notify_cancel()

    def _round(self) -> None:
        self._begun = deadline.clock()
        options = self._options
        self.send(self._method, self._exchange.params, options.timeout, options.progress, options.extend_on_progress)
        if self._wants_no_more and self._pending is not None:
            self._connection.cancel(self._pending, "cancelled by the caller")

    def _settle(self, pending: Pending, item: Any) -> None:
        """On the reader: the answer, or what comes before it."""
        if isinstance(item, Progress):
            super()._settle(pending, item)
        elif isinstance(item, Result):
            self._take(item.result)  # type: ignore[arg-type]  # what arrives is never `Encoded`
        elif isinstance(item, (Error, PeerError, TransportError)) and not self._again:
            try:
                pending.answer(item)
            except McpError as error:
                run_aside("mcp-ref:again:%s" % self._connection.transport.name, self._try_again, error)
        elif not isinstance(item, RequestCancelled):
            self.set_exception(self._final(pending, item))
        else:
            self._settle_cancelled()

    def _take(self, result: Dict[str, Any]) -> None:
        try:
            self._exchange.waited(deadline.clock() - self._begun)
            if adding(self._client, result) is not None:
                run_aside("mcp-ref:extension:%s" % self._connection.transport.name, self._extend, result)
                return
            required = asked(self._method, result, self._connection.session.rules)
        except McpError as error:
            self.set_exception(error)
            return
        if required is None:
            self._convert_result(result)
        elif self._manual:
            self.check = None  # it is none of what was asked for
            self.set_result(required)
        else:
            self._later("answering what the server asks", lambda: self._answer(result), True)

    def _extend(self, result: Dict[str, Any]) -> None:
        """On a thread of its own, because an extension may ask the server for more."""
        try:
            self._begun = deadline.clock()
            self._take(extended(self._client, self._method, self._exchange.params, result))
        except Exception as error:
            self.set_exception(error)

    def _answer(self, result: Dict[str, Any]) -> None:
        """On the executor: ask, and begin the next round."""
        try:
            self._exchange.answer(self._connection, result)
            self._again = False
            self._round()
        except RequestCancelled:
            self._settle_cancelled()
        except TransportError as error:
            run_aside("mcp-ref:again:%s" % self._connection.transport.name, self._try_again, error)
        except Exception as error:
            self.set_exception(error)

    def _try_again(self, error: McpError) -> None:
        """On a thread of its own: what the error calls for, and the same round again."""
        try:
            self._sent_again(error)
        except Exception as problem:
            self.set_exception(problem)

    def _sent_again(self, error: McpError) -> None:
        self._again = True
        self._connection = another(self._client, self._connection, error, self._method, self._exchange.params)
        self._round()

    def _final(self, pending: Pending, item: Any) -> BaseException:
        try:
            pending.answer(item)
        except McpError as error:
            return final(self._client, self._connection, error, self._method, self._exchange.params)
        raise TypeError("%r is no failure" % (item,))

    def set_result(self, result: Any) -> None:
        """See `Future.set_result`; of no effect once it was cancelled, as between two rounds."""
        try:
            super().set_result(result)
        except InvalidStateError:
            pass

    def set_exception(self, exception: Optional[BaseException]) -> None:
        """See `Future.set_exception`; likewise."""
        try:
            super().set_exception(exception)
        except InvalidStateError:
            pass
