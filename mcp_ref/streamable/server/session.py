"""A session of Streamable HTTP, and the table of all sessions of an endpoint.

The dispatcher sees a session as a transport without a reader. Messages come in by POSTs, which the endpoint gives to
`Connection.receive`. Messages go out by `HttpSession.post`:

=============================================  =====================================================
message                                        goes to
=============================================  =====================================================
the answer to a request                        into the reply to its POST
a message that belongs to a request            into the reply to its POST, which becomes a stream
any other message                              one stream that a GET has opened, the newest
any other, while no such stream is open        a bounded queue, until one is; before the first
                                               one only ``max_early_messages`` wait
=============================================  =====================================================

[2025-03-26..2025-11-25 basic/transports §Sending Messages to the Server],
[2025-03-26..2025-11-25 basic/transports §Multiple Connections] MUST: on one stream, never on two.

A reply is JSON if it has nothing but the answer, and a stream if a message precedes it, unless the endpoint prefers one
of them. If the client accepts no stream there, messages of the request are routed like any other.

A client that has not opened a stream may never open one. A server need not keep messages for it: no page says that a
message which belongs to no request must arrive. Messages between the handshake and the first GET are kept, because the
client cannot be faster. Where messages were dropped, the client is told how many, on the stream that it opens.

A connection that breaks cancels nothing [2025-03-26..2025-11-25 basic/transports §Sending Messages to the Server]
SHOULD NOT: the handler goes on, its messages are kept, and the client asks for them by a GET with `Last-Event-ID`.

One lock guards the session and its streams, for a message goes on exactly one of them. It is held while an exchange is
given something to send, which never waits. It is reentrant, because the exchange may find out meanwhile that the client
has gone, and calls `ReplyStream.lost`.

`SessionTable` keeps the sessions in this process, bounds their number and decides which one makes room. A subclass may
keep them elsewhere, as `mcp_ref.ext.stores.table` does: the endpoint uses only its methods.
"""

import secrets
import threading
from itertools import islice
from typing import Any, Callable, Dict, Hashable, List, Optional, Sequence, Tuple

from ... import deadline
from ...http11.message import Exchange, HttpRequest, Pairs
from ...jsonrpc import Frame, RequestId, id_key
from ...limits import Limits
from ...protocol.lifecycle import OPERATING
from ...protocol.streamable_http.header_values import encode_event
from ...transports.base import ReplyTransport
from ...transports.held import MemoryAccount, peer_of
from .reply_stream import LISTENING, EventId, Replay, ReplyStream, SentEvent

_ENDED = (
    b'{"jsonrpc":"2.0","error":{"code":-32600,"message":"The session ended before the request was answered"}}'
)


class HttpSession(ReplyTransport):
    """A session; with ``id`` None, one POST of an endpoint without sessions. Thread-safe.

    ``principal``: the client that began it, as the guard says.
    """

    owner: Hashable = None
    """The owner of the session, for limits; None: not known. See `mcp_ref.http11.server.owners`."""
    replay: Optional[Replay] = None
    """The events that were sent; None: none are kept, and no stream can be resumed."""
    numbers = 0
    """The number of streams that have begun."""
    _deserted_at: Optional[float] = None
    """The time at which `is_deserted` first found an open question and no connection."""

    def __init__(self, id: Optional[str], principal: Any, limits: Limits) -> None:
        super().__init__(limits)
        self.lock = self._lock
        self.id = id
        self.principal = principal
        self.shown = principal
        """The principal that the guard has made of the latest request; equal to ``principal``."""
        self.used = deadline.clock()
        """The time of the latest request."""
        self._replies: Dict[Any, ReplyStream] = {}
        """`id_key` of the id of a request that is not answered yet -> its reply."""
        self._listening: List[ReplyStream] = []
        self.holder = peer_of(principal, id or self)
        self.replay = Replay(limits, self.holder) if id is not None else None
        self._waiting: List[bytes] = []
        self._waiting_bytes = 0
        self._listened = False
        """True once a GET has opened a stream."""
        self._missed = 0
        """The number of messages that were dropped, since the client was last told."""
        self._answered: Optional[Callable[[], None]] = None

    def use_account(self, held: Optional[MemoryAccount], tells_apart: bool = True) -> None:
        """Count in this account the memory that the session holds. It is called before the session has a connection.

        ``tells_apart``: True if its principal is one client and no other; else the session is counted for itself.
        """
        self.held, self.tells_apart = held, tells_apart
        if not tells_apart:
            self.holder = self.id or self
        if self.replay is not None:
            self.replay = Replay(self._limits, self.holder)
            self.replay.held = held

    # What the dispatcher asks for

    @property
    def session_id(self) -> Optional[str]:  # type: ignore[override]
        return self.id

    def close(self) -> None:
        """End the session and its streams; POSTs without an answer get an error."""
        with self.lock:
            self.ended = True
            streams = self._streams()
            self._replies, self._listening = {}, []
            for stream in streams:
                stream.cut(404, _ENDED)
            while self._waiting:
                self._pop_waiting()
            if self.replay is not None:
                self.replay.clear()
                self.replay = None  # an answer may be on its way yet, and nobody would let go of it
        self._wake()

    def reason(self) -> str:
        """Return why the connection ended."""
        return "the session ended"

    def post(self, message: Optional[bytes], about: Optional[RequestId] = None, final: bool = False) -> None:
        """Route a message by the table in the module docstring."""
        with self.lock:
            stream = None if about is None else self._replies.get(id_key(about))
            if not final:
                if message is not None and not self.ended:
                    if stream is None or not stream.streams:
                        self._unrelated(message)
                    else:
                        stream.send(message)
                return
            whole = None
            if stream is None:
                self._count("answers without a request")
            else:
                for key in stream.keys:
                    self._replies.pop(key, None)
                # The answer is encoded and kept under the same lock under which its request leaves the table: a GET
                # that resumes the stream finds either of them.
                if stream.held is not None:
                    stream.held.append(message or b"")
                else:
                    if stream.started and stream.exchange is None:
                        self._count("answers kept for later")
                    whole = stream.conclude(message)
        # A whole reply is handed to its exchange without the lock: the others of the session need not wait for that.
        if whole is not None:
            whole[0].reply(*whole[1:])
        if self._answered is not None and not self._replies:
            self._answered()

    def when_answered(self, action: Callable[[], None]) -> None:
        """Call ``action`` once every request is answered; at once if there is none."""
        with self.lock:
            if self._replies:
                self._answered = action
                return
        action()

    def poll_later(self, about: RequestId) -> bool:
        """End the connection of the reply to this request; the client comes back for it after ``stream_retry``.

        [2025-11-25 basic/transports §Sending Messages to the Server] MAY. Returns False in other revisions, where the
        reply cannot be a stream, and where its connection has ended.
        """
        with self.lock:
            stream = self._replies.get(id_key(about))
            return stream is not None and stream.poll(self._limits.stream_retry)

    def request_of(self, about: RequestId) -> Optional[HttpRequest]:
        with self.lock:
            stream = self._replies.get(id_key(about))
            exchange = None if stream is None else stream.exchange
        return None if exchange is None else exchange.request

    def is_heard(self) -> bool:
        with self.lock:
            return any(stream.exchange is not None and not stream.exchange.gone for stream in self._listening)

    # What the endpoint asks for

    def expect(self, stream: ReplyStream) -> str:
        """Note the reply to the requests of a POST, which are received next.

        Returns "", or the reason to refuse them: a key of REFUSALS.
        """
        with self.lock:
            if self.ended:
                return "session"
            replies = self._replies
            for key in stream.keys:
                if key in replies:
                    return "id in use"
            for key in stream.keys:
                replies[key] = stream
        return ""

    def receive(
        self, frame: Frame, data: bytes, about: Optional[RequestId] = None, principal: Any = None
    ) -> List[Any]:
        """Give the connection a message; arguments and result as `Connection.receive`."""
        if self._deserted_at is not None:
            self._deserted_at = None
        jobs: List[Any] = self.connection.receive(frame, data, about, principal)
        return jobs

    def listen(self, exchange: Exchange, headers: Pairs = ()) -> bool:
        """Open a stream for messages that belong to no request, on the exchange of a GET. Returns False if the session
        has ended."""
        begun = self._attach(ReplyStream(exchange, headers, kind=LISTENING, session=self), [])
        self._tell_missed()
        return begun

    def _tell_missed(self) -> None:
        """Tell the client, which has opened a stream, how many messages for it were dropped."""
        with self.lock:
            missed, self._missed = self._missed, 0
        if missed:
            self.connection.role.missed(self.connection, missed)

    def resume(self, exchange: Exchange, since: EventId, headers: Pairs = ()) -> Optional[bool]:
        """Resume a stream after that event. Returns None if nothing of it is known, False if the session has ended.

        The events that followed on that stream come first, and those of no other stream
        [2025-03-26..2025-11-25 basic/transports §Resumability and Redelivery] MUST NOT. A stream of a GET goes on even
        if no event is kept, for later messages can still be sent on it.
        """
        with self.lock:
            found = self._find(since)
            kept = list(self.replay.of(since.kind, since.stream)) if self.replay is not None else []
            if found is not None:
                found.end()  # its old connection: the client has left that, or it would not resume
                found.exchange, found.headers = exchange, headers
            elif since.stream <= self.numbers and (since.kind == LISTENING or kept):
                found = ReplyStream(exchange, headers, kind=since.kind, session=self)
                found.revive(since.stream, max([since.place] + [event.id.place for event in kept]) + 1)
            else:
                return None
            begun = self._attach(found, [event for event in kept if event.id.place > since.place and event.data])
        if begun and since.kind == LISTENING:
            self._tell_missed()
        return begun

    def tick(self, now: float, poll_after: Optional[float]) -> None:
        """Keep quiet streams alive, forget old events, and end the connections of long streams for polling."""
        limits = self._limits
        with self.lock:
            if self.replay is not None:
                self.replay.forget(now)
            for stream in self._streams():
                if stream.exchange is None or not stream.started:
                    continue
                if poll_after is not None and stream.opened_at + poll_after <= now and stream.poll(limits.stream_retry):
                    continue
                stream.keep_alive(now, limits.stream_keepalive)

    def is_deserted(self, now: float) -> bool:
        """Return True if a question is open, and for ``question_grace`` seconds the client was not there.

        Before that the client may come back for a stream, on which it finds the question.
        """
        if self.connection.table.empty or self._is_connected():
            self._deserted_at = None
            return False
        since = self._deserted_at
        if since is None:
            since = self._deserted_at = now
        return since + self._limits.question_grace <= now

    def _is_connected(self) -> bool:
        with self.lock:
            exchanges = [stream.exchange for stream in self._streams()]
        return any(exchange is not None and not exchange.gone for exchange in exchanges)

    def end_listening(self) -> None:
        """End the connections of the streams of GETs. The session goes on, and the streams can be resumed."""
        with self.lock:
            for stream in self._listening:
                if not stream.poll(self._limits.stream_retry):
                    stream.end()

    @property
    def busy(self) -> bool:
        """Return True if a request has no answer yet, or a stream is open."""
        with self.lock:
            return bool(self._replies) or any(stream.exchange is not None for stream in self._listening)

    # Streams, with the lock held

    @property
    def polls(self) -> bool:
        """True if clients of the revision can be told to poll, and events can have ids."""
        revision = self.connection.session.revision
        return self.replay is not None and revision is not None and bool(revision.stream_polling)

    def next_number(self) -> int:
        """Return the number of a stream that begins."""
        self.numbers += 1
        return self.numbers

    def _streams(self) -> List[ReplyStream]:
        """Return the replies that are not over, and the streams of GETs."""
        return [*dict.fromkeys(self._replies.values()), *self._listening]

    def _find(self, since: EventId) -> Optional[ReplyStream]:
        """Return the stream of this event, None if it has ended."""
        for stream in self._streams():
            if stream.started and (stream.kind, stream.number) == since[:2]:
                return stream
        return None

    def _attach(self, stream: ReplyStream, missed: Sequence[SentEvent]) -> bool:
        """Have a stream carried by the exchange of a GET, beginning with the events that the client has missed."""
        with self.lock:
            if self.ended:
                return False
            stream.begin()
            for event in missed:
                stream.write(encode_event(event.data, str(event.id)))
            if stream.kind == LISTENING:
                self._listen(stream)
            elif not any(stream is reply for reply in self._replies.values()):
                stream.end()  # its answer was among the missed events, or was received before
        return True

    def _listen(self, stream: ReplyStream) -> None:
        self._listened = True
        if stream in self._listening:
            self._listening.remove(stream)
        elif len(self._listening) >= self._limits.max_session_streams:
            dead = [other for other in self._listening if other.exchange is None]
            oldest = (dead or self._listening)[0]
            self._listening.remove(oldest)
            oldest.end()
        self._listening.append(stream)
        while self._waiting and stream.exchange is not None:
            message = self._waiting[0]
            if not self._send_on(stream, message):
                return
            self._pop_waiting()

    def _send_on(self, stream: ReplyStream, message: bytes) -> bool:
        """Send a message on this stream. Returns False if that failed, so that it has to go on another."""
        if stream.exchange is None:
            return False
        if stream.send(message):
            return True
        return self.replay is not None and not self.replay.take_back()

    def _unrelated(self, message: bytes) -> None:
        """Send a message that belongs to no request on one stream, or keep it until there is one."""
        if any(self._send_on(stream, message) for stream in reversed(self._listening)):
            return
        if self.id is None:
            self._count("messages without a stream")
            return
        limits, held = self._limits, self.held
        most = limits.max_waiting_messages
        if not self._listened:
            most = min(most, limits.max_early_messages)
        room = len(message) <= limits.max_waiting_bytes and most > 0
        while room and self._waiting and (
            len(self._waiting) >= most or self._waiting_bytes + len(message) > limits.max_waiting_bytes
        ):
            self._drop_oldest()
        while room and held is not None and not held.queue(self.holder, message, "messages that cannot wait", True):
            room = bool(self._waiting)
            if room:
                self._drop_oldest()
        if not room:
            self._missed += 1
            self._count("messages that waited too long")
            return
        self._waiting.append(message)
        self._waiting_bytes += len(message)

    def _drop_oldest(self) -> None:
        """Drop the message that has waited longest, and count it."""
        self._pop_waiting()
        self._missed += 1
        self._count("messages that waited too long")

    def _pop_waiting(self) -> None:
        """Remove the message that has waited longest from the queue and from the account."""
        message = self._waiting.pop(0)
        self._waiting_bytes -= len(message)
        if self.held is not None:
            self.held.unqueue(self.holder, message)


ID_BYTES = 24
"""The number of random bytes in a session id, which are 32 characters of base64."""


_CANDIDATES, _LOOKS = 64, 16
"""The number of sessions that are examined together when one has to make room, and the number of such rounds."""


class _Owned:
    """The sessions of one owner, in the order in which they began."""

    __slots__ = ("all", "fresh")

    def __init__(self) -> None:
        self.all: Dict[HttpSession, None] = {}
        self.fresh: Dict[HttpSession, None] = {}
        """The sessions whose handshake was not over when they were last examined."""


def new_id() -> str:
    """Return a new session id that nobody can guess, of visible ASCII
    [2025-03-26..2025-11-25 basic/transports §Session Management] MUST, SHOULD."""
    return secrets.token_urlsafe(ID_BYTES)


class SessionTable:
    """The sessions in the memory of this process. Thread-safe."""

    shared = False
    """True if other processes have these sessions, too."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._sessions: Dict[str, HttpSession] = {}
        self._owned: Dict[Hashable, _Owned] = {}
        self._fresh: Dict[HttpSession, None] = {}
        self._share = max(1, int(limits.max_sessions * limits.max_session_share))

    def make(self, principal: Any) -> HttpSession:
        """Make a session with a new id."""
        return HttpSession(new_id(), principal, self._limits)

    def add(self, session: HttpSession) -> bool:
        """Enter a session. Returns False if there is no room, and `why_full` says why."""
        with self._lock:
            if session.id is None or len(self._sessions) >= self._limits.max_sessions:
                return False
            owned = self._owned.get(session.owner)
            if owned is None:
                owned = self._owned[session.owner] = _Owned()
            elif session.owner is not None and len(owned.all) >= self._share:
                return False
            self._sessions[session.id] = session
            owned.all[session] = owned.fresh[session] = self._fresh[session] = None
        return True

    def why_full(self, session: HttpSession) -> Tuple[str, str]:
        """Return why there is no room: a key of REFUSALS, and the value for its text."""
        with self._lock:
            share = len(self._sessions) < self._limits.max_sessions
        return ("full share", str(self._share)) if share else ("full", str(self._limits.max_sessions))

    def replaceable(self, session: HttpSession) -> Optional[HttpSession]:
        """Return a session that may end so that there is room for this one; None if there is none.

        Sessions whose handshake was never finished come first, the oldest of them before the others; only those of the
        owner, if it has its share. Then comes an idle session of the owner that has most, unless that is this owner.
        """
        with self._lock:
            owned = self._owned.get(session.owner) or _Owned()
            shared = session.owner is not None and len(owned.all) >= self._share
        found = self._idle_one(owned.fresh if shared else self._fresh, True)
        if found is not None or shared:
            return found
        with self._lock:
            known = [self._owned[owner] for owner in self._owned if owner is not None]
            most = max(known, key=lambda found: len(found.all), default=owned)
        return self._idle_one(most.all, False) if len(most.all) > len(owned.all) + 1 else None

    def _idle_one(self, sessions: Dict[HttpSession, None], unfinished: bool) -> Optional[HttpSession]:
        """Return a session that is not busy: of the first few the least recently used one, else of the next few.

        An owner that keeps some sessions busy cannot keep its others from making room. ``unfinished``: consider only
        sessions whose handshake is not over.
        """
        for _ in range(_LOOKS):
            with self._lock:
                few = self._unfinished(sessions) if unfinished else list(islice(sessions, _CANDIDATES))
            idle = [found for found in few if found.connection is not None and not found.busy]  # without the lock
            if idle:
                return min(idle, key=lambda found: found.used)
            with self._lock:
                if len(sessions) <= len(few):
                    break
                for session in few:
                    if session in sessions:
                        del sessions[session]
                        sessions[session] = None  # the others come first from now on
        return None

    def _unfinished(self, fresh: Dict[HttpSession, None]) -> List[HttpSession]:
        """Return the oldest of these whose handshake is not over; the others are removed from ``fresh``."""
        found: List[HttpSession] = []
        while fresh and not found:
            for session in list(islice(fresh, _CANDIDATES)):
                if session.connection is not None and session.connection.session.phase == OPERATING:
                    self._finished(session)
                else:
                    found.append(session)
        return found

    def _finished(self, session: HttpSession) -> None:
        self._fresh.pop(session, None)
        owned = self._owned.get(session.owner)
        if owned is not None:
            owned.fresh.pop(session, None)

    def get(self, id: str) -> Optional[HttpSession]:
        """Return the session of this id, None if it has ended."""
        with self._lock:
            return self._sessions.get(id)

    def remove(self, session: HttpSession) -> bool:
        """Take out a session that has ended. Returns False if it was not there any more."""
        with self._lock:
            if session.id is None or self._sessions.pop(session.id, None) is None:
                return False
            self._finished(session)
            owned = self._owned.get(session.owner)
            if owned is not None:
                owned.all.pop(session, None)
                if not owned.all:
                    del self._owned[session.owner]
        return True

    def connected(self, session: HttpSession) -> None:
        """Note that a session that begins has its connection."""

    def release(self, session: HttpSession) -> bool:
        """Take out a session that is over for this process: it was idle for too long, or the process ends."""
        return self.remove(session)

    def is_idle(self, session: HttpSession, now: float) -> bool:
        """Return True if the session was unused for ``session_idle`` seconds."""
        return session.used + self._limits.session_idle <= now

    def tick(self, now: float) -> None:
        """Do what is due; called about once a second."""

    def close(self) -> None:
        """Free what the table holds, after the endpoint was closed and every session released."""

    def all(self) -> List[HttpSession]:
        """Return the open sessions."""
        with self._lock:
            return list(self._sessions.values())

    def __len__(self) -> int:
        with self._lock:
            return len(self._sessions)
