"""A replica: the copy of one process of a session that several processes share. Its `table` routes the messages."""

import re
import threading
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Union

from ...http11.message import Exchange, Pairs
from ...jsonrpc import Batch, Error, Frame, Malformed, Message, Notification, Request, RequestId, Result
from ...limits import Limits
from ...methods import (
    BOTH, CANCELLED, INITIALIZE, INITIALIZED, NOTIFICATION, PROGRESS, SET_LOG_LEVEL, SUBSCRIBE, UNSUBSCRIBE,
)
from ..server.reply_stream import EventId, ReplyStream
from ..server.session import HttpSession
from .store import Values

if TYPE_CHECKING:
    from .table import StoreTable

END, MESSAGE = ["end"], ["message"]
"""The subjects of letters that concern a whole session; for the others see `subject_of`."""
_CHANGING = frozenset((INITIALIZE, SET_LOG_LEVEL, SUBSCRIBE, UNSUBSCRIBE))
"""The requests that may change what the record of a session holds."""
_QUESTION = re.compile(rb'\{"jsonrpc":"2\.0","id":(\d+),"method":')
"""The beginning of a request of ours, as `jsonrpc.encode` writes it; no other message begins so."""
_OURS = frozenset((INITIALIZED, CANCELLED, PROGRESS))


class ReplicaSession(HttpSession):
    """The copy of a session in this process."""

    def __init__(self, id: str, principal: Any, limits: Limits, table: "StoreTable") -> None:
        super().__init__(id, principal, limits)
        self.key = table.key_of(id)
        self.syncing = threading.Lock()
        """The lock of the next three, while the replica takes over the record or a request begins to change it."""
        self.version = 0
        """The version of the record that the replica has taken over."""
        self.saved: Values = {}
        """The values of the record that are known here, without subscriptions."""
        self.announced: Dict[str, int] = {}
        """Method of a notification of the client -> how often it came, in any process."""
        self._table = table
        self.replay = None
        self._changing: Dict[RequestId, Sequence[str]] = {}  # request id -> the URIs that it is about

    # What the endpoint asks for

    def expect(self, stream: ReplyStream) -> str:
        """Implement `HttpSession.expect`."""
        refused = super().expect(stream)
        if not refused:
            self._table.watch(self)
        return refused

    def receive(
        self, frame: Frame, data: bytes, about: Optional[RequestId] = None, principal: Any = None
    ) -> List[Any]:
        """Implement `HttpSession.receive`; a message for which another process waits goes there."""
        items = frame.items if isinstance(frame, Batch) else [frame]
        left = [item for item in items if not self._belongs_elsewhere(item)]
        if len(left) < len(items):
            if not left:
                return []
            frame = Batch(left)
        self._begin_changes(frame, left, about)
        answered = [item.id for item in left if isinstance(item, (Result, Error)) and item.id is not None
                    and self.connection.table.active(item.id)]
        jobs = super().receive(frame, data, about, principal)
        for id in answered:
            self._table.forget(self, id)
        told = {item.method for item in left if isinstance(item, Notification)}
        if told:
            for method in told - _OURS:
                if self._is_known(method):
                    self.announced[method] = self.announced.get(method, 0) + 1
            self._table.save(self)
        return jobs

    def _belongs_elsewhere(self, item: Union[Message, Malformed]) -> bool:
        """Return True if this message is not for this process; it was left for another one then, or dropped."""
        subject = subject_of(item, self._limits.max_id_length)
        return subject is not None and not self.waits_for(subject) and self._table.post_to_owner(
            self, item, subject)  # type: ignore[arg-type]

    def _begin_changes(self, frame: Frame, items: Sequence[Any], about: Optional[RequestId]) -> None:
        found = [item for item in items if isinstance(item, Request) and item.method in _CHANGING]
        if found:
            uris = [item.params["uri"] for item in found if item.params and type(item.params.get("uri")) is str]
            uris = [uri for uri in uris if len(uri) <= self._limits.max_uri_length]
            with self.syncing:
                self._changing[frame.id if about is None else about] = uris  # type: ignore[union-attr, index]

    def _is_known(self, method: str) -> bool:
        """Return True if the revision has this notification of clients. Invented ones must not fill the record."""
        session = self.connection.session
        row = session.lookup(method)
        return row is not None and row.kind == NOTIFICATION and row.sender in (session.peer, BOTH)

    @property
    def changing(self) -> bool:
        """Return True if a request is running that may change the session."""
        return bool(self._changing)

    def waits_for(self, subject: List[Any]) -> bool:
        """Return True if a letter with this subject is for this process."""
        kind, connection = subject[0], self.connection
        if subject == MESSAGE:
            with self.lock:
                return any(stream.exchange is not None for stream in self._listening)
        if kind == "cancel":
            return subject[1] in connection.inflight
        return bool(connection.table.active(subject[1]))

    def listen(self, exchange: Exchange, headers: Pairs = ()) -> bool:
        """Implement `HttpSession.listen`."""
        if not super().listen(exchange, headers):
            return False
        self._table.watch(self)
        self._table.collect(self)
        return True

    def resume(self, exchange: Exchange, since: EventId, headers: Pairs = ()) -> Optional[bool]:
        """Return None: no events are kept for resumption."""
        return None

    @property
    def busy(self) -> bool:
        """Return True as `HttpSession.busy`, and also while a question is open."""
        return super().busy or self.asks

    @property
    def asks(self) -> bool:
        """Return True if a question to the client is open."""
        return self.connection is not None and len(self.connection.table) > 0

    # What the dispatcher asks for

    def post(self, message: Optional[bytes], about: Optional[RequestId] = None, final: bool = False) -> None:
        """Implement `Transport.post`. The changes of a request are in the store before its answer goes out."""
        if not final:
            question = None if message is None else _QUESTION.match(message)
            if question is not None and not self._table.expect(self, int(question.group(1))):
                return
        elif self._changing and about in self._changing:
            try:
                self._table.save(self, self._changing[about])
            finally:
                with self.syncing:
                    del self._changing[about]
        super().post(message, about, final)

    def given_up(self, id: RequestId) -> None:
        """Implement `Transport.given_up`."""
        self._table.forget(self, id)

    def _unrelated(self, message: bytes) -> None:
        """Send a message that belongs to no request on a stream here, or leave it for a process that has one."""
        if not any(self._send_on(stream, message) for stream in reversed(self._listening)):
            self._table.post_to_stream_holder(self, message)
        self._table.watch(self)

    def deliver(self, message: bytes) -> bool:
        """Send a message that another process has left. Returns False if there is no stream for it."""
        with self.lock:
            return any(self._send_on(stream, message) for stream in reversed(self._listening))


def subject_of(item: Union[Message, Malformed], longest: int) -> Optional[List[Any]]:
    """Return the subject of a letter with this message; None if it concerns the session as a whole.

    Our ids are numbers, so a message about another id, or one of more than ``longest`` characters, is for no process:
    it is refused where it came.
    """
    if isinstance(item, (Result, Error)):
        return ["answer", item.id] if type(item.id) is int else None
    if isinstance(item, Notification) and isinstance(item.params, dict):
        if item.method == CANCELLED:
            id = item.params.get("requestId")
            return ["cancel", id] if type(id) is int or type(id) is str and len(id) <= longest else None
        if item.method == PROGRESS:
            token = item.params.get("progressToken")
            return ["progress", token] if type(token) is int else None
    return None
