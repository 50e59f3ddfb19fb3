"""The streams of a shared session, which a client can resume in any process.

Every event is in the store before it goes on the wire. A GET with `Last-Event-ID` gets those that followed on that
stream, and no others [2025-03-26..2025-11-25 basic/transports §Resumability and Redelivery] MUST NOT. How it goes on
from there depends on the kind of stream:

- **The reply to a POST** belongs to the process that runs the request, which alone adds events to it. A process where
  it is resumed *follows*: it reads in the store what there is, and again when that process tells it to look.
- **The stream of a GET** belongs to the process that has its connection. Where it is resumed an empty event is kept,
  which takes it over: an event is refused by the store if there is a later one, so the process that had it before
  adds nothing more, and sends what it was about to send in another way.

The number of a stream says which process began it. Processes tell each other by letters without content (below).
None of them has to arrive: a follower reads by itself whenever it asks. One that hears nothing for
LOST_SECONDS takes it that the process has died, and ends the stream with an error as the answer. Should the process
live all the same, its events are refused by the store from then on. So the client gets one answer in any case.

======================================  ==============================================================================
letter                                  says
======================================  ==============================================================================
``["end"]``                             the session has ended
``["message"]``                         a message that waits for a stream
``["answer", id]``                      the answer to our request of this id; progress for it
``["progress", token]``
``["cancel", id]``                      the client cancels its request of this id
``["follow", stream, token, first]``    to the process that began the reply: end your connection of it, tell me of
                                        events. It is repeated now and then, and ``first`` is False
``["look", token, running]``            to the follower: there may be an event; is the request still being worked on?
``["gone", token]``                     to the follower: the client has resumed the stream elsewhere, end yours
``["taken", stream, place]``            to the process that has the stream of a GET: it was taken over
======================================  ==============================================================================
"""

import json
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Sequence, Union

from ... import deadline
from ...errors import INTERNAL_ERROR
from ...http11.message import Exchange, Pairs
from ...jsonrpc import ErrorResponse, Malformed, Message, Notification, ResultResponse, encode
from ...limits import Limits
from ...methods import CANCELLED, PROGRESS
from ...protocol.streamable_http.header_values import encode_event
from ...stores import FULL, UNWANTED, Room, StoredEvent
from ...streamable.server.reply_stream import LISTENING, REPLY, EventId, Replay, ReplyStream, SentEvent
from ...streamable.server.session import HttpSession
from ...transports.held import MemoryAccount

if TYPE_CHECKING:
    from .table import StoreTable

END, MESSAGE = ["end"], ["message"]
"""The subjects of letters that concern a whole session."""
FOLLOW, LOOK, GONE, TAKEN = "follow", "look", "gone", "taken"
"""The first words of subjects that concern a stream."""
OF_STREAMS = frozenset((FOLLOW, LOOK, GONE, TAKEN))


def subject_of(item: Union[Message, Malformed], longest: int) -> Optional[List[Any]]:
    """Return the subject of a letter with this message; None if it concerns the session as a whole.

    Our ids are numbers, so a message about another id, or one of more than ``longest`` characters, is for no process:
    it is refused where it came.
    """
    if isinstance(item, (ResultResponse, ErrorResponse)):
        return ["answer", item.id] if type(item.id) is int else None
    if isinstance(item, Notification) and isinstance(item.params, dict):
        if item.method == CANCELLED:
            id = item.params.get("requestId")
            return ["cancel", id] if type(id) is int or type(id) is str and len(id) <= longest else None
        if item.method == PROGRESS:
            token = item.params.get("progressToken")
            return ["progress", token] if type(token) is int else None
    return None


ASK_SECONDS = 2.0
"""The seconds after which a follower asks again whether the request still runs."""
LOST_SECONDS = 5.0
"""The seconds after which a process that does not answer is taken for dead."""
BLOCK = 1 << 32
"""The number of ids of requests and streams that each process has for itself."""
_LOST = "The process that ran the request has ended"


class StoredReplay(Replay):
    """The sent events of one session, in the store. The store bounds them."""

    def __init__(self, session: "ResumableSession", limits: Limits) -> None:
        super().__init__(limits)
        self._session = session
        self._newest: Optional[EventId] = None

    def add(
        self, id: EventId, data: bytes, now: float, stream: Optional[ReplyStream] = None, final: bool = False,
    ) -> bool:
        about = "" if stream is None else about_of(stream.keys)
        kept = self._session.keep(StoredEvent(id.kind, id.stream, id.place, data, final, about), stream)
        self._newest = id if kept else None
        return kept

    def take_back(self) -> bool:
        newest, self._newest = self._newest, None
        return newest is None or self._session.unkeep(newest)


class FollowedReply(ReplyStream):
    """A reply whose request runs in another process, which alone gives events ids. ``place`` is that of the next."""

    def __init__(
        self, exchange: Exchange, headers: Pairs, session: "ResumableSession", since: EventId, token: int
    ) -> None:
        super().__init__(exchange, headers, session=session)
        self.revive(since.stream, since.place + 1)
        self.token = token
        self.about = ""
        self.asked_at = self.heard_at = deadline.clock()
        self.heard = False
        """True once the process that runs the request has answered."""

    def event(self, data: bytes, retry: Optional[int] = None, final: bool = False) -> bytes:
        """Events about the connection itself have no id."""
        return encode_event(data, retry=retry)

    def poll(self, retry: float) -> bool:
        """End the connection only once the process that runs the request is known.

        A client that is sent on sooner than LOST_SECONDS follows anew elsewhere, so that nobody would ever find out
        that this process has died.
        """
        return self.heard and super().poll(retry)

    def pass_on(self, event: StoredEvent) -> bool:
        """Send an event, once. Returns True if it was the last of the stream."""
        self.about = event.about
        if event.place >= self.place:
            self.place = event.place + 1
            if event.data:
                self.write(encode_event(event.data, str(EventId(*event[:3]))))
        if event.final:
            self.end()
        return event.final


class Follower(NamedTuple):
    """The process that follows a reply of this one."""

    token: int
    at: float
    """The time at which it was last heard of."""


class ResumableSession(HttpSession):
    """A session whose streams can be resumed in other processes, and theirs here."""

    key: str
    """The id of the session in the store."""

    def __init__(self, id: str, principal: Any, limits: Limits, table: "StoreTable") -> None:
        super().__init__(id, principal, limits)
        self._table = table
        self._followers: Dict[int, Follower] = {}
        """Number of a reply of this process -> who follows it."""
        self._followed: Dict[int, FollowedReply] = {}
        """Token -> a reply of another process."""
        self.replay = StoredReplay(self, limits) if table.listens else None

    def use_account(self, held: Optional[MemoryAccount], tells_apart: bool = True) -> None:
        """Count no events: they are in the store, not in this process."""
        replay, self.replay = self.replay, None
        super().use_account(held, tells_apart)
        self.replay = replay

    def next_number(self) -> int:
        """The store numbers the streams, so that no two processes use the same number."""
        return self._table.next_id()

    # What the endpoint asks for

    def resume(self, exchange: Exchange, since: EventId, headers: Pairs = ()) -> Optional[bool]:
        """Streams of every process can be resumed."""
        with self.lock:
            if self.replay is None:
                return None
            begun = (self._listen_again if since.kind == LISTENING else self._resume_reply)(exchange, since, headers)
        if begun:
            self._table.watch(self)
            if since.kind == LISTENING:
                self._table.collect(self)
        return begun

    def tick(self, now: float, poll_after: Optional[float]) -> None:
        """Beside the usual work, an empty event keeps a quiet stream known to the store."""
        super().tick(now, poll_after)
        due = now - self._limits.replay_seconds / 2
        with self.lock:
            for stream in HttpSession._streams(self):
                if stream.place and stream.kept_at <= due and (stream.kind == REPLY or stream.exchange is not None):
                    stream.event(b"")

    def close(self) -> None:
        """A client that resumes a reply in another process learns that nothing follows."""
        with self.lock:
            if self.replay is not None:
                for stream in dict.fromkeys(self._replies.values()):
                    if stream.started:
                        stream.end(stream.event(_lost(about_of(stream.keys)), final=True))
            self._followers, followed, self._followed = {}, self._followed, {}
            for reply in followed.values():
                reply.end()
        super().close()

    @property
    def busy(self) -> bool:
        """Return True as `HttpSession.busy`, and also while a question is open or a reply of another process followed.
        """
        return super().busy or self.asks or bool(self._followed)

    @property
    def asks(self) -> bool:
        """Return True if a question to the client is open."""
        return self.connection is not None and len(self.connection.table) > 0

    def _is_connected(self) -> bool:
        if super()._is_connected():
            return True
        heard = deadline.clock() - LOST_SECONDS
        with self.lock:
            return any(follower.at > heard for follower in self._followers.values())

    # Events, with the lock held

    def keep(self, event: StoredEvent, stream: Optional[ReplyStream] = None) -> bool:
        """Keep an event of a stream of this process. Returns False if that was not possible.

        The stream is over here if another process goes on with it.
        """
        became = ""
        with self._table.logging_failures("keeping an event"):
            became = self._store(event)
        if became == FULL:
            self.connection.counters.note(
                "dropped event", "no room in the store for an event of %d bytes, which cannot be sent again:"
                " max_store_bytes (%d)" % (len(event.data), self._limits.max_store_bytes))
        if became == UNWANTED and stream is not None:
            self._lose(stream)
        follower = self._followers.get(event.stream) if event.kind == REPLY else None
        if follower is not None:
            if event.final or follower.at + LOST_SECONDS <= deadline.clock():
                del self._followers[event.stream]
            self._table.tell(self, [LOOK, follower.token, True])
        return became not in ("", UNWANTED, FULL)

    def _store(self, event: StoredEvent) -> str:
        limits = self._limits
        room = Room(limits.max_replay_events, limits.max_replay_bytes, limits.max_store_bytes, newest=True)
        return self._table.store.keep(self.key, event, room, limits.replay_seconds)

    def unkeep(self, id: EventId) -> bool:
        """Remove an event that nobody took. Returns False if it stays, for a process that sends it."""
        removed = False
        with self._table.logging_failures("removing an event"):
            removed = self._table.store.unkeep(self.key, *id)
        return removed

    def _kept(self, since: EventId) -> List[StoredEvent]:
        return self._table.store.kept(self.key, *since)

    def _streams(self) -> List[ReplyStream]:
        return super()._streams() + list(self._followed.values())

    def _lose(self, stream: ReplyStream) -> None:
        """End a stream with which another process goes on."""
        stream.end()
        if stream in self._listening:
            self._listening.remove(stream)

    # The stream of a GET, with the lock held

    def _listen_again(self, exchange: Exchange, since: EventId, headers: Pairs) -> Optional[bool]:
        found, events = self._find(since), self._kept(since)
        if found is None and not events:
            return None
        place = max([since.place + 1, 0 if found is None else found.place] + [event.place + 1 for event in events])
        here = found is not None and found.place == place
        while self._store(StoredEvent(LISTENING, since.stream, place, b"")) == UNWANTED:
            here, events = False, self._kept(since)
            if not events or events[-1].place < place:
                return False
            place = events[-1].place + 1
        events = self._kept(since)  # once more: nothing can come between these and what this process adds
        if found is None:
            found = ReplyStream(exchange, headers, kind=LISTENING, session=self)
        else:
            found.end()
            found.exchange, found.headers = exchange, headers
        found.revive(since.stream, place + 1)
        found.kept_at = deadline.clock()
        if not here:
            self._table.tell(self, [TAKEN, since.stream, place])
        return self._attach(found, _missed(events, since))

    # The reply to a POST, with the lock held

    def _resume_reply(self, exchange: Exchange, since: EventId, headers: Pairs) -> Optional[bool]:
        found, events = self._find(since), self._kept(since)
        if found is None and not events:
            return None
        if found is not None:
            found.end()  # its old connection
        if found is not None and not isinstance(found, FollowedReply):
            found.exchange, found.headers = exchange, headers
            follower = self._followers.pop(since.stream, None)
            if follower is not None:
                self._table.tell(self, [GONE, follower.token])
            return self._attach(found, _missed(events, since))
        if self.ended:
            return False
        followed = FollowedReply(exchange, headers, self, since, self._table.next_id())
        followed.begin()
        if any([followed.pass_on(event) for event in events]):
            return True
        self._followed[followed.token] = followed
        if since.stream // BLOCK == self._table.block:
            self._fail(followed)  # it has ended here, and its end could not be kept
        else:
            self._table.tell(self, [FOLLOW, since.stream, followed.token, True])
            self._catch_up(followed)  # the reply may have ended before anybody took this letter
        return True

    def _catch_up(self, followed: FollowedReply) -> bool:
        """Send the events that have been added. Returns True if that was the end of the stream."""
        since = EventId(REPLY, followed.number, followed.place)
        over = any([followed.pass_on(event) for event in self._kept(since)])
        if over:
            self._followed.pop(followed.token, None)
        return over

    def _fail(self, followed: FollowedReply) -> None:
        """End a reply whose process has died, unless that has added something meanwhile."""
        event = StoredEvent(REPLY, followed.number, followed.place, _lost(followed.about), True, followed.about)
        if self._store(event) == UNWANTED:
            self._catch_up(followed)
            followed.heard_at = deadline.clock()
        else:
            followed.pass_on(event)
            self._followed.pop(followed.token, None)

    # Letters

    def is_for(self, subject: Sequence[Any]) -> bool:
        """Return True if a letter about a stream is for this process."""
        kind, number = subject[0], subject[1]
        if kind == FOLLOW:
            return bool(number // BLOCK == self._table.block)
        if kind == TAKEN:
            with self.lock:
                return bool(self._taken(*subject[1:]))
        return number in self._followed

    def _taken(self, number: int, place: int) -> List[ReplyStream]:
        """Return the stream of a GET that another process took over at that place, if it did not come back since."""
        return [stream for stream in self._listening if stream.number == number and stream.since <= place]

    def told(self, subject: Sequence[Any]) -> None:
        """Process a letter about a stream."""
        with self.lock:
            if subject[0] == FOLLOW:
                self._be_followed(*subject[1:])
            elif subject[0] == TAKEN:
                for stream in self._taken(*subject[1:]):
                    self._lose(stream)
            else:
                followed = self._followed.get(subject[1])
                if followed is not None and subject[0] == GONE:
                    del self._followed[followed.token]
                    followed.end()
                elif followed is not None:
                    followed.heard, followed.heard_at = True, deadline.clock()
                    if not self._catch_up(followed) and not subject[2]:
                        self._fail(followed)

    def _be_followed(self, number: int, token: int, first: bool) -> None:
        found = [stream for stream in self._replies.values() if stream.started and stream.number == number]
        if found:
            before = self._followers.get(number)
            if not first and (found[0].exchange is not None if before is None else before.token != token):
                self._table.tell(self, [GONE, token])
                return
            if before is not None and before.token != token:
                self._table.tell(self, [GONE, before.token])
            self._followers[number] = Follower(token, deadline.clock())
            found[0].end()
        self._table.tell(self, [LOOK, token, bool(found)])

    def look_after(self, now: float) -> None:
        """Ask whether the requests of followed replies still run, and end those whose process has died."""
        if not self._followed:
            return
        with self.lock:
            for followed in list(self._followed.values()):
                if followed.exchange is None:
                    del self._followed[followed.token]
                elif followed.heard_at + LOST_SECONDS <= now:
                    if not self._catch_up(followed):
                        self._fail(followed)
                elif followed.asked_at + ASK_SECONDS <= now:
                    followed.asked_at = now
                    self._table.tell(self, [FOLLOW, followed.number, followed.token, False])


def about_of(keys: Sequence[Any]) -> str:
    """Return the id of the request that is known by this key as JSON, a list of them for a batch, "" for none."""
    ids = [int(key, 16) if type(key) is bytes else key for key in keys if type(key) in (str, int, float, bytes)]
    return json.dumps(ids[0] if len(keys) == 1 else ids) if keys else ""


def _lost(about: str) -> bytes:
    """Return the answer to requests whose process has ended."""
    ids: Any = json.loads(about) if about else []
    errors = [encode(ErrorResponse(id, INTERNAL_ERROR, _LOST)) for id in (ids if type(ids) is list else [ids])]
    return b"[%s]" % b",".join(errors) if type(ids) is list else errors[0]


def _missed(events: Sequence[StoredEvent], since: EventId) -> List[SentEvent]:
    return [SentEvent(EventId(*event[:3]), event.data, 0.0) for event in events
            if event.place > since.place and event.data]
