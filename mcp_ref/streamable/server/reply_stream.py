"""The reply stream: the place where the answer to a request goes, and what precedes it, in both eras.

A *stream* is what the specification calls an SSE stream: the events that belong together, whatever connections carry
them one after the other. There are two kinds. The reply to a POST is a stream as soon as anything precedes the answer;
it ends with the answer. A GET opens one for everything that belongs to no request.

=========================  ===============================================  =====================================
                           in a session                                     in the stateless era
=========================  ===============================================  =====================================
the answer comes first     a JSON object, or a whole stream                 the same
a message precedes it      an event with an id, which is kept in `Replay`   an event without an id
the client goes away       events are kept until it resumes the stream      nothing more is sent
=========================  ===============================================  =====================================

The id of an event names its stream and its place in it, so that no two of a session are alike
[2025-03-26..2025-11-25 basic/transports §Resumability and Redelivery] MUST; ``p7-2`` is the third event of the reply to
a POST, ``g8-0`` the first of a GET. `Replay` keeps for a while what was sent, for nobody knows whether it arrived. The
stateless era has no ids, and no stream can be resumed [2026-07-28 basic/transports/streamable-http §Sending Messages].
"""

import functools
import re
import threading
from typing import TYPE_CHECKING, Any, Hashable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ... import deadline
from ...http11.message import Exchange, Pairs
from ...jsonrpc import RequestId
from ...limits import Limits
from ...protocol.streamable_http.header_values import comment, encode_event
from ...transports.held import MemoryAccount

if TYPE_CHECKING:
    from .session import HttpSession

JSON_HEADERS = (("Content-Type", "application/json"),)
STREAM_HEADERS: Tuple[Tuple[str, str], ...] = (
    ("Content-Type", "text/event-stream"),
    ("Cache-Control", "no-cache, no-transform"),
    ("X-Accel-Buffering", "no"),
)
"""The header fields of a stream. The last one asks nginx not to buffer events
[2026-07-28 basic/transports/streamable-http §Receiving Messages] SHOULD."""
REPLY, LISTENING = "p", "g"
"""The kinds of stream: the reply to a POST, and the stream of a GET."""
Whole = Tuple[Exchange, int, Pairs, bytes]
"""A reply in one piece: its exchange, status, header fields and body."""
_COMMENT = comment("keep-alive")
_EVENT_ID = re.compile(r"([pg])([0-9]{1,16})-([0-9]{1,16})\Z")


class EventId(NamedTuple):
    """The id of an event: kind and number of its stream, and its place there."""

    kind: str
    stream: int
    place: int

    def __str__(self) -> str:
        return "%s%d-%d" % self


def event_id(value: str) -> Optional[EventId]:
    """Parse a `Last-Event-ID`. Returns None for a text that is no id of ours."""
    match = _EVENT_ID.match(value)
    return EventId(match.group(1), int(match.group(2)), int(match.group(3))) if match else None


class SentEvent(NamedTuple):
    """An event that was sent and may have to be sent again."""

    id: EventId
    data: bytes
    at: float
    """The time at which it was sent."""


class Replay:
    """The sent events of one session, oldest first, bounded by number, bytes and time.

    ``held``: the account in which they are counted, for ``holder``. Where it has no room, the oldest of this session
    are dropped. If that is not enough nothing is kept, and a client that resumes is refused.
    """

    held: Optional[MemoryAccount] = None

    def __init__(self, limits: Limits, holder: Hashable = None) -> None:
        self._limits = limits
        self._holder = holder
        self._events: List[SentEvent] = []
        self._bytes = 0
        self._has_newest = False

    def add(self, id: EventId, data: bytes, now: float, stream: "Optional[ReplyStream]" = None,
            final: bool = False) -> bool:
        """Keep one more event of a stream and drop the oldest ones as needed. Returns False if there is no room even
        so. ``final``: no event follows on the stream."""
        held = self.held
        self._has_newest = False
        while held is not None and not held.queue(self._holder, data, "events that cannot be sent again", True):
            if not self._events:
                return False
            self._drop()
        self._has_newest = True
        self._events.append(SentEvent(id, data, now))
        self._bytes += len(data)
        while len(self._events) > 1 and (
            len(self._events) > self._limits.max_replay_events or self._bytes > self._limits.max_replay_bytes
        ):
            self._drop()
        return True

    def take_back(self) -> bool:
        """Drop the newest event, which was not sent after all. Returns False if another process sends it."""
        if self._has_newest:
            self._has_newest = False
            self._uncount(self._events.pop())
        return True

    def clear(self) -> None:
        """Drop all events."""
        while self._events:
            self._uncount(self._events.pop())

    def _uncount(self, event: SentEvent) -> None:
        self._bytes -= len(event.data)
        if self.held is not None:
            self.held.unqueue(self._holder, event.data)

    def forget(self, now: float) -> None:
        """Drop the events that have been kept for ``replay_seconds``."""
        while self._events and self._events[0].at + self._limits.replay_seconds <= now:
            self._drop()

    def _drop(self) -> None:
        self._uncount(self._events.pop(0))

    def of(self, kind: str, stream: int) -> Iterator[SentEvent]:
        """Return the kept events of one stream, and of no other
        [2025-03-26..2025-11-25 basic/transports §Resumability and Redelivery] MUST NOT."""
        return (event for event in self._events if event.id[:2] == (kind, stream))

    def __len__(self) -> int:
        return len(self._events)


class ReplyStream:
    """The reply to one POST, a JSON object or a stream; or the stream of a GET. It is used by both eras. Thread-safe.

    ``session``: the session that it belongs to; its lock is used, and events have ids and are kept for replay. None: a
    stream of its own, whose events have no ids. ``headers``: further header fields of the reply. ``json``: True if the
    reply may be a JSON object. ``sse``: True if it may be a stream. ``keys``: the requests that it answers, as
    `id_key` makes them of their ids.
    """

    number = 0
    """The number in the ids of its events. It is given with the first event, for most replies to POSTs are JSON."""
    place = 0
    """The place of the next event."""
    started = False
    """True once the head of a stream was sent."""
    since = 0
    """The place from which on this process adds events."""
    gone = False
    """True once the client has gone away from a reply that cannot be resumed."""
    status = 200
    """The status of a reply that is a JSON object."""
    held: Optional[List[bytes]] = None
    """The list into which the answer is put, if the endpoint sends it itself."""
    request_id: Optional[RequestId] = None
    """The id of the one request that it answers, in the stateless era."""
    client: Optional[Hashable] = None
    """The client whose running requests this one is counted with; None: it is not counted."""
    listens = False
    """True for `subscriptions/listen`, where the client only listens; see `authenticate`."""
    opened_at = 0.0
    sent_at = 0.0
    kept_at = 0.0
    """The time at which its latest event was kept."""

    def __init__(
        self, exchange: Exchange, headers: Pairs = (), json: bool = False, sse: bool = True,
        keys: Sequence[Any] = (), session: "Optional[HttpSession]" = None, kind: str = REPLY,
    ) -> None:
        self.exchange: Optional[Exchange] = exchange
        """The exchange that carries it now; None: the reply is over, the connection broke, or the client polls."""
        self.headers = headers
        self.json = json
        self.sse = sse
        self.keys = keys
        self.kind = kind
        self.session = session
        self.lock = threading.RLock() if session is None else session.lock

    @property
    def streams(self) -> bool:
        """True if messages can precede the answer: the client takes a stream, and the answer is not held back."""
        return self.sse and self.held is None

    # Sending

    def send(self, message: bytes) -> bool:
        """Send a message that precedes the answer; the reply is a stream from then on.

        Returns False if nobody is there to take it; in a session it is kept all the same.
        """
        with self.lock:
            if not self.started:
                if self.exchange is None and self.session is None:
                    return False
                self.begin()
            return self.write(self.event(message))

    def answer(self, message: Optional[bytes]) -> None:
        """Send the answer and end the reply; None: there is no answer. After the end nothing happens."""
        with self.lock:
            whole = self.conclude(message)
        if whole is not None:
            whole[0].reply(*whole[1:])

    def conclude(self, message: Optional[bytes]) -> Optional[Whole]:
        """End the reply as `answer` does. Returns a reply in one piece where nothing was sent before, for the caller
        to send without the lock; the lock is held here.

        The answer ends a stream [2025-03-26..2025-11-25 basic/transports §Sending Messages to the Server] SHOULD,
        [2026-07-28 basic/transports/streamable-http §Receiving Messages] SHOULD.
        """
        exchange, headers = self.exchange, tuple(self.headers)
        if self.started:
            ending = self.event(message or b"", final=True)
            self.end(b"" if message is None else ending)
            return None
        self.exchange = None
        if exchange is None:
            return None
        if message is None:
            return (exchange, 200, STREAM_HEADERS + headers, b"") if self.sse else (exchange, 202, headers, b"")
        if self.json or self.status != 200:
            return exchange, self.status, JSON_HEADERS + headers, message
        self._number()
        return exchange, 200, STREAM_HEADERS + headers, self._priming() + self.event(message, final=True)

    def cut(self, status: int, message: bytes) -> None:
        """End the reply without an answer; a client that has received nothing yet gets this status and message."""
        with self.lock:
            exchange, self.exchange = self.exchange, None
            if exchange is not None and self.started:
                exchange.finish()
            elif exchange is not None:
                exchange.reply(status, JSON_HEADERS + tuple(self.headers), message)

    def poll(self, retry: float) -> bool:
        """End the connection and not the stream: the client asks for the rest after ``retry`` seconds.

        Returns False where the revision has no polling, and where the reply is no stream or has no connection.
        """
        session = self.session
        with self.lock:
            if session is None or self.exchange is None or not self.streams or not session.polls:
                return False
            if not self.started:
                self.begin()
            self.end(self.event(b"", int(retry * 1000)))
            return True

    def keep_alive(self, now: float, quiet: float) -> None:
        """Send a comment on a stream on which nothing was sent for ``quiet`` seconds, so that proxies keep it open
        [2026-07-28 basic/transports/streamable-http §Receiving Messages]."""
        with self.lock:
            if self.started and self.exchange is not None and self.sent_at + quiet <= now:
                self.write(_COMMENT)

    def lost(self, exchange: Exchange) -> None:
        """Note that the client has gone away from this exchange: nothing more is sent on it."""
        with self.lock:
            if self.exchange is exchange:
                self.exchange = None
                self.gone = True

    # Parts of the above, with the lock held

    def begin(self) -> None:
        """Send the head of the stream on the exchange that carries it now."""
        exchange, session = self.exchange, self.session
        fresh, self.opened_at = not self.started, deadline.clock()
        self.sent_at = self.opened_at
        if fresh:
            self.started = True
            self._number()
        if exchange is not None:
            if session is not None:
                exchange.on_close = functools.partial(self.lost, exchange)
            exchange.start(200, STREAM_HEADERS + tuple(self.headers))
        priming = self._priming() if fresh else b""
        if priming:
            self.write(priming)

    def revive(self, number: int, place: int) -> None:
        """Go on with a stream of which only its number is known, and the place of its next event."""
        self.number, self.started = number, True
        self.place = self.since = place

    def event(self, data: bytes, retry: Optional[int] = None, final: bool = False) -> bytes:
        """Encode the next event, and keep it where the session replays. ``retry`` is in milliseconds; ``final``: it is
        the last one."""
        replay = None if self.session is None else self.session.replay
        if replay is None:
            return encode_event(data, retry=retry)
        id = EventId(self.kind, self.number, self.place)
        self.place += 1
        self.kept_at = deadline.clock()
        replay.add(id, data, self.kept_at, self, final)
        return encode_event(data, str(id), retry=retry)

    def write(self, data: bytes) -> bool:
        """Send bytes of the stream; returns False if nobody is there to take them."""
        self.sent_at = deadline.clock()
        if self.exchange is not None and not self.exchange.send(data):
            self.exchange, self.gone = None, True  # `lost` may come later, and finds nothing to note
        return self.exchange is not None

    def end(self, data: bytes = b"") -> None:
        """End the connection that carries it, if there is one, after these bytes."""
        exchange, self.exchange = self.exchange, None
        if exchange is not None:
            exchange.finish(data)

    def _number(self) -> None:
        if self.session is not None:
            self.number = self.session.next_number()

    def _priming(self) -> bytes:
        """Return the first event, which has an id and no data, where the revision has that
        [2025-11-25 basic/transports §Sending Messages to the Server] SHOULD."""
        return self.event(b"") if self.session is not None and self.session.polls else b""
