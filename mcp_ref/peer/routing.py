"""Outgoing messages where there is no single pipe: each goes at once where it belongs.

Over HTTP the answer to a request travels in the reply to the POST that brought it, what belongs to that request
before it in the same reply, and everything else on a stream of its own. Which of these a message is, the dispatcher
knows; it tells the transport, which never waits: see `mcp_ref.transports.base.Transport.post`.
"""

from typing import Callable, Optional

from ..errors import ConnectionLost
from ..jsonrpc import RequestId
from ..transports.base import Transport
from .outbox import Outbox


class RoutedOutbox(Outbox):
    """An `Outbox` in which nothing ever waits, for a transport that is ``routed``."""

    def __init__(self, transport: Transport) -> None:
        self._post = transport.post
        self.on_failure: Callable[[ConnectionLost], None] = lambda error: None

    full = False

    def put(
        self, message: bytes, wait: bool = True, about: Optional[RequestId] = None, final: bool = False
    ) -> None:
        """See `Outbox.put`."""
        self._post(message, about, final)

    def send(self, message: bytes, about: Optional[RequestId] = None, final: bool = False) -> None:
        """See `Outbox.send`."""
        self._post(message, about, final)

    def unanswered(self, about: RequestId) -> None:
        """See `Outbox.unanswered`."""
        self._post(None, about, True)

    def wait_for_room(self) -> None:
        """See `Outbox.wait_for_room`."""

    def flush(self) -> None:
        """See `Outbox.flush`."""

    def flush_soon(self) -> None:
        """See `Outbox.flush_soon`."""

    def settle(self, seconds: float) -> None:
        """See `Outbox.settle`."""

    def close(self) -> None:
        """See `Outbox.close`."""
