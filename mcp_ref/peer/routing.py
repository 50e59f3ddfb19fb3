"""The two outboxes of HTTP, where there is no single pipe.

=================  ==================================================================================================
outbox             where its messages go
=================  ==================================================================================================
`ReplyOutbox`      at a server: at once into the reply that the message belongs to, see
                   `mcp_ref.transports.replies.ReplyTransport.post`
`ExchangeOutbox`   at a client: each in a request of its own, see `mcp_ref.transports.exchanges.ExchangeTransport.send`
=================  ==================================================================================================
"""

from typing import Any, Callable, Dict, List, Optional, Union

from ..errors import ConnectionLost
from ..jsonrpc import RequestId
from ..transports.exchanges import ExchangeTransport, Outgoing
from ..transports.replies import ReplyTransport
from .outbox import Outbox


class ReplyOutbox(Outbox):
    """An `Outbox` in which nothing ever waits."""

    def __init__(self, transport: ReplyTransport) -> None:
        self._post = transport.post
        self.on_failure: Callable[[ConnectionLost], None] = lambda error: None

    full = False

    def put(self, message: Any, wait: bool = True, about: Optional[RequestId] = None, final: bool = False) -> None:
        """See `Outbox.put`."""
        self._post(message, about, final)

    def send(self, message: Any, about: Optional[RequestId] = None, final: bool = False) -> None:
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

    def flush_within(self, seconds: float) -> None:
        """See `Outbox.flush_within`."""

    def close(self) -> None:
        """See `Outbox.close`."""


class ExchangeOutbox(Outbox):
    """An `Outbox` of `Outgoing` messages; bytes that come alone are answers, of which nobody has to know more."""

    def __init__(self, transport: ExchangeTransport, name: str, max_bytes: int) -> None:
        super().__init__(transport, name, max_bytes)
        self._exchanges = transport

    def outgoing(
        self, data: bytes, method: str, id: Optional[RequestId] = None, params: Optional[Dict[str, Any]] = None,
    ) -> Outgoing:
        """See `Outbox.outgoing`."""
        return Outgoing(data, id, method, params)

    def put(
        self, message: Union[bytes, Outgoing], wait: bool = True, about: Optional[RequestId] = None,
        final: bool = False,
    ) -> None:
        """See `Outbox.put`."""
        super().put(Outgoing(message) if isinstance(message, bytes) else message, wait)

    def send(
        self, message: Union[bytes, Outgoing], about: Optional[RequestId] = None, final: bool = False
    ) -> None:
        """See `Outbox.send`."""
        super().send(Outgoing(message) if isinstance(message, bytes) else message)

    @property
    def idle(self) -> bool:
        """True if nothing waits and nobody writes: what is sent now overtakes no earlier message of this thread."""
        return not (self._waiting or self._writing.locked())

    def _write(self, messages: List[Any]) -> None:
        try:
            self._exchanges.send(messages)
        except ConnectionLost as error:
            self._failed(error)

    def _write_now(self, messages: List[Any]) -> bool:
        if not self._exchanges.ready(sum(map(len, messages))):
            return False
        self._write(messages)
        return True
