"""The future of a tool's result, which is checked by whoever takes it.

The check may ask the server for its tools and may run a schema of the server's: neither is for the
reader, which settles futures. So it happens in `result`, in the thread that wants to know, once.
"""

from typing import Any, Callable, Optional

from ..errors import McpError
from ..peer.future import RequestFuture


class CheckedFuture(RequestFuture):
    """A `RequestFuture` whose result goes through ``check``, which may raise an `McpError`.

    `result` may take a little longer than its timeout: as long as the check does.
    """

    check: Optional[Callable[[Any], Any]] = None
    """Given before the request is sent; None when it is over."""
    _wrong: Optional[McpError] = None

    def result(self, timeout: Optional[float] = None) -> Any:
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
