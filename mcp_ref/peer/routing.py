"""The two outboxes of HTTP, where there is no single pipe.

=================  ==================================================================================================
outbox             where its messages go
=================  ==================================================================================================
`ReplyOutbox`      at a server: at once into the reply that the message belongs to, see
                   `mcp_ref.transports.base.ReplyTransport.post`
`ExchangeOutbox`   at a client: each in a request of its own, see `mcp_ref.transports.base.ExchangeTransport.send`
=================  ==================================================================================================
"""

from typing import Any, Callable, Dict, List, Optional, Union

from ..errors import ConnectionLost
from ..jsonrpc import RequestId
from ..transports.base import ExchangeTransport, Outgoing, ReplyTransport
from .outbox import Outbox


class ReplyOutbox(Outbox):
    """An `Outbox` in which nothing ever waits."""

    def __init__(self, transport: ReplyTransport) -> None:
        self._post = transport.post
        self.on_failure: Callable[[ConnectionLost], None] = lambda error: None

    full = False

    def put(self, message: Any, wait: bool = True, about: Optional[RequestId] = None, final: bool = False) -> None:
        """Post a message at once."""
        self._post(message, about, final)

    def send(self, message: Any, about: Optional[RequestId] = None, final: bool = False) -> None:
        """Post a message at once."""
        self._post(message, about, final)

    def unanswered(self, about: RequestId) -> None:
        """Tell the transport that a request gets no answer."""
        self._post(None, about, True)

    def wait_for_room(self) -> None:
        """Return at once, for nothing waits here."""

    def flush(self) -> None:
        """Do nothing, for nothing waits here."""

    def flush_soon(self) -> None:
        """Do nothing, for nothing waits here."""

    def flush_within(self, seconds: float) -> None:
        """Do nothing, for nothing waits here."""

    def close(self) -> None:
        """Do nothing, for nothing waits here."""


class ExchangeOutbox(Outbox):
    """An `Outbox` of `Outgoing` messages; bytes that come alone are answers, of which nobody has to know more."""

    def __init__(self, transport: ExchangeTransport, name: str, max_bytes: int) -> None:
        super().__init__(transport, name, max_bytes)
        self._exchanges = transport

    def outgoing(
        self, data: bytes, method: str, id: Optional[RequestId] = None, params: Optional[Dict[str, Any]] = None,
    ) -> Outgoing:
        """Return the message with what its bytes say."""
        return Outgoing(data, id, method, params)

    def put(
        self, message: Union[bytes, Outgoing], wait: bool = True, about: Optional[RequestId] = None,
        final: bool = False,
    ) -> None:
        """Append a message, as `Outbox.put`."""
        super().put(Outgoing(message) if isinstance(message, bytes) else message, wait)

    def send(
        self, message: Union[bytes, Outgoing], about: Optional[RequestId] = None, final: bool = False
    ) -> None:
        """Append a message and have it sent, as `Outbox.send`."""
        super().send(Outgoing(message) if isinstance(message, bytes) else message)

    @property
    def idle(self) -> bool:
        """True if nothing waits and no thread writes: a message that is sent now overtakes none of this thread."""
        return not (self._waiting or self._writing.locked())

    def _write(self, messages: List[Any]) -> None:
        self._exchanges.send(messages)

    def _write_if_ready(self, messages: List[Any]) -> bool:
        if not self._exchanges.ready(sum(map(len, messages))):
            return False
        self._exchanges.send(messages)
        return True
