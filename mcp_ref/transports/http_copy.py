"""A process's copy of a session that several processes share; see `http_store`, which has the table of them."""

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Union

from ..jsonrpc import Batch, Error, Frame, Malformed, Message, Notification, Request, RequestId, Result
from ..limits import Limits
from .http_exchange import Exchange, Pairs
from .http_session import HttpSession
from .http_streams import EventId, Stream
from .store import Values

if TYPE_CHECKING:
    from .http_store import StoreTable

END, MESSAGE = ["end"], ["message"]
"""Subjects of letters; the others say what of which request, see `subject_of`."""
_CHANGING = frozenset(("initialize", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"))
"""Requests after which a session may be another one."""
_OURS = frozenset(("notifications/initialized", "notifications/cancelled", "notifications/progress"))


class StoreSession(HttpSession):
    """This process's copy of a session."""

    def __init__(self, id: str, principal: Any, limits: Limits, table: "StoreTable") -> None:
        super().__init__(id, principal, limits)
        self.key = table.key_of(id)
        self.version = 0
        """That of the record it was made from."""
        self.saved: Values = {}
        """The record as far as it is known here."""
        self.told: Dict[str, int] = {}
        """How often the client announced what, in any process."""
        self._table = table
        self._replay = None
        self.changing = False
        """Whether a request is running that may change the session."""

    # What the endpoint asks for

    def expect(self, stream: Stream) -> str:
        """See `HttpSession.expect`."""
        refused = super().expect(stream)
        if not refused:
            self._table.watch(self)
        return refused

    def receive(self, frame: Frame, data: bytes, about: Optional[RequestId] = None, **options: Any) -> List[Any]:
        """See `HttpSession.receive`; what another process waits for goes there."""
        items = frame.items if isinstance(frame, Batch) else [frame]
        elsewhere = [item for item in items if self._is_elsewhere(item)]
        for item in elsewhere:
            self._table.carry(self, item)  # type: ignore[arg-type]
        if elsewhere:
            left = [item for item in items if item not in elsewhere]
            if not left:
                return []
            frame = Batch(left)
        self.changing = self.changing or any(
            isinstance(item, Request) and item.method in _CHANGING for item in items)
        jobs = super().receive(frame, data, about, **options)
        told = [item.method for item in items if isinstance(item, Notification) and item not in elsewhere]
        if told:
            for method in set(told) - _OURS:
                self.told[method] = self.told.get(method, 0) + 1
            self._table.save(self)
        return jobs

    def _is_elsewhere(self, item: Union[Message, Malformed]) -> bool:
        """Whether another process may wait for this, and this one does not."""
        subject = subject_of(item)
        return subject is not None and not self.waits_for(subject)

    def waits_for(self, subject: List[Any]) -> bool:
        """Whether a letter about this is for this process."""
        kind, connection = subject[0], self.connection
        if subject == MESSAGE:
            with self._lock:
                return any(stream.exchange is not None for stream in self._listening)
        if kind == "cancel":
            return subject[1] in connection.inflight
        return bool(connection.table.active(subject[1]))

    def listen(self, exchange: Exchange, headers: Pairs = ()) -> bool:
        """See `HttpSession.listen`."""
        if not super().listen(exchange, headers):
            return False
        self._table.watch(self)
        self._table.fetch(self)
        return True

    def resume(self, exchange: Exchange, since: EventId, headers: Pairs = ()) -> Optional[bool]:
        """Nothing is ever kept for that."""
        return None

    @property
    def busy(self) -> bool:
        """See `HttpSession.busy`; also while a question is open."""
        return super().busy or self.asks

    @property
    def asks(self) -> bool:
        """Whether a question to the client is open."""
        return self.connection is not None and len(self.connection.table) > 0

    # What the dispatcher asks for

    def post(self, message: Optional[bytes], about: Optional[RequestId] = None, final: bool = False) -> None:
        """See `Transport.post`; what the request has changed is in the store before its answer goes out."""
        if final and self.changing:
            self._table.save(self)
            self.changing = False
        super().post(message, about, final)

    def _unrelated(self, message: bytes) -> None:
        """Send a message that belongs to no request, on a stream here, or by a process that has one."""
        if not any(self._try(stream, message) for stream in reversed(self._listening)):
            self._table.leave(self, message)
        self._table.watch(self)

    def deliver(self, message: bytes) -> bool:
        """Send a message that another process has left; False if it cannot be."""
        with self._lock:
            return any(self._try(stream, message) for stream in reversed(self._listening))


def subject_of(item: Union[Message, Malformed]) -> Optional[List[Any]]:
    """What a letter with this message is about; None: it concerns the session as a whole."""
    if isinstance(item, (Result, Error)):
        return None if item.id is None else ["answer", item.id]
    if isinstance(item, Notification) and isinstance(item.params, dict):
        if item.method == "notifications/cancelled":
            return _about("cancel", item.params.get("requestId"))
        if item.method == "notifications/progress":
            return _about("progress", item.params.get("progressToken"))
    return None


def _about(kind: str, id: Any) -> Optional[List[Any]]:
    return [kind, id] if type(id) in (int, str) else None
