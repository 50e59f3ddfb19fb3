"""The streams of a session: which message goes on which, and what is sent again when a connection broke.

A *stream* is what the specification calls an SSE stream: the events that belong together, whatever connections carry
them one after the other. There are two kinds. The reply to a POST is a stream as soon as anything precedes the answer;
it ends with the answer. A GET opens one for everything that belongs to no request.

Each event has an id that names its stream and its place in it, so that no two of a session are alike
[2025-03-26..2025-11-25 basic/transports §Resumability and Redelivery] MUST; ``p7-2`` is the third event of the reply to
a POST, ``g8-0`` the first of a GET. What was sent is kept in `Replay` for a while: nobody knows whether it arrived.

Nothing here is thread-safe: the session's lock is held.
"""

import re
from typing import Any, Hashable, Iterator, List, NamedTuple, Optional, Sequence, Tuple


from ...http11.message import Exchange, Pairs
from ...limits import Limits
from ...protocol.streamable_http.sse import encode_event
from ...transports.held import Held

STREAM_HEADERS: Tuple[Tuple[str, str], ...] = (
    ("Content-Type", "text/event-stream"),
    ("Cache-Control", "no-cache, no-transform"),
    ("X-Accel-Buffering", "no"),
)
"""The last one asks nginx not to collect events before it passes them on."""
REPLY, LISTENING = "p", "g"
"""The kinds of stream."""
_EVENT_ID = re.compile(r"([pg])([0-9]{1,15})-([0-9]{1,15})\Z")


class EventId(NamedTuple):
    """Where an event stands."""

    kind: str
    stream: int
    place: int

    def __str__(self) -> str:
        return "%s%d-%d" % self


def event_id(value: str) -> Optional[EventId]:
    """What a `Last-Event-ID` says; None for what is none of ours."""
    match = _EVENT_ID.match(value)
    return EventId(match.group(1), int(match.group(2)), int(match.group(3))) if match else None


class Kept(NamedTuple):
    """An event that may have to be sent again."""

    id: EventId
    data: bytes
    at: float
    """When it was sent."""


class Replay:
    """The events of one session that are kept, oldest first; bounded by number, bytes and time.

    ``held``: the account that they are counted in, for ``holder``. Where it has no room, the oldest of this session go;
    and where that is not enough, nothing of it is kept, so that the client is told: its stream cannot be resumed.
    """

    held: Optional[Held] = None

    def __init__(self, limits: Limits, holder: Hashable = None) -> None:
        self._limits = limits
        self._holder = holder
        self._events: List[Kept] = []
        self._bytes = 0
        self._kept_newest = False

    def keep(self, id: EventId, data: bytes, now: float) -> bool:
        """Keep one more event and drop the oldest ones as needed. Returns False if there is no room even so."""
        held = self.held
        self._kept_newest = False
        while held is not None and not held.queue(self._holder, data, "events that cannot be sent again", True):
            if not self._events:
                return False
            self._drop()
        self._kept_newest = True
        self._events.append(Kept(id, data, now))
        self._bytes += len(data)
        while len(self._events) > 1 and (
            len(self._events) > self._limits.max_replay_events or self._bytes > self._limits.max_replay_bytes
        ):
            self._drop()
        return True

    def take_back(self) -> None:
        """The newest was not sent after all."""
        if self._kept_newest:
            self._kept_newest = False
            self._gone(self._events.pop())

    def clear(self) -> None:
        """Drop all events."""
        while self._events:
            self._gone(self._events.pop())

    def _gone(self, event: Kept) -> None:
        self._bytes -= len(event.data)
        if self.held is not None:
            self.held.unqueue(self._holder, event.data)

    def forget(self, now: float) -> None:
        """Drop what has been kept for ``replay_seconds``."""
        while self._events and self._events[0].at + self._limits.replay_seconds <= now:
            self._drop()

    def _drop(self) -> None:
        self._gone(self._events.pop(0))

    def of(self, kind: str, stream: int) -> Iterator[Kept]:
        """What is kept of one stream, and of no other
        [2025-03-26..2025-11-25 basic/transports §Resumability and Redelivery] MUST NOT."""
        return (kept for kept in self._events if kept.id[:2] == (kind, stream))

    def __len__(self) -> int:
        return len(self._events)


class Stream:
    """One stream, and the exchange that carries it now."""

    number = 0
    """Given when the first event is sent: most replies to POSTs are JSON and never become streams."""
    started = False
    held: Optional[List[bytes]] = None
    """Where the answer is put, if the endpoint wants to send it itself."""
    place = 0
    """That of the next event."""
    opened_at = 0.0
    sent_at = 0.0

    def __init__(
        self, kind: str, exchange: Exchange, headers: Pairs = (), json: bool = False, sse: bool = True,
        keys: Sequence[Any] = (),
    ) -> None:
        self.kind = kind
        self.exchange: Optional[Exchange] = exchange
        """None: the connection broke, or was closed for the client to poll."""
        self.headers = headers
        self.json = json
        """Whether the reply may be JSON; otherwise it is a stream."""
        self.sse = sse
        """Whether it may be a stream."""
        self.keys = keys
        """What the requests are called that it answers; see `id_key`."""

    def begin(self, number: int, now: float) -> None:
        """Send the head of a stream on the exchange that carries it."""
        if not self.started:
            self.number, self.started = number, True
        self.opened_at = self.sent_at = now
        if self.exchange is not None:
            self.exchange.start(200, STREAM_HEADERS + tuple(self.headers))

    def revive(self, number: int, place: int) -> None:
        """It is a stream of which only the number is known, and the place of its next event."""
        self.number, self.place, self.started = number, place, True

    def send(
        self, data: bytes, replay: Optional[Replay], now: float, retry: Optional[int] = None
    ) -> bool:
        """Send an event and keep it; False: nobody is there to take it."""
        return self.write(self.event(data, replay, now, retry), now)

    def event(self, data: bytes, replay: Optional[Replay], now: float, retry: Optional[int] = None) -> bytes:
        """The next event, which is kept; without ``replay`` events have no ids."""
        if replay is None:
            return encode_event(data, retry=retry)
        id = EventId(self.kind, self.number, self.place)
        self.place += 1
        replay.keep(id, data, now)
        return encode_event(data, str(id), retry=retry)

    def write(self, data: bytes, now: float) -> bool:
        """Send bytes; False: nobody is there to take them."""
        self.sent_at = now
        if self.exchange is not None and not self.exchange.send(data):
            self.exchange = None
        return self.exchange is not None

    def end(self, data: bytes = b"") -> None:
        """End the connection that carries it, if there is one, after these bytes."""
        exchange, self.exchange = self.exchange, None
        if exchange is not None:
            exchange.finish(data)
