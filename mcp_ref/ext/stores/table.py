"""The table of the sessions that several processes share. Each process has replicas; the truth is in a `Store`.

One process begins a session. Any other that gets a request of it makes a replica from the record: revision,
capabilities of the client, principal, log level, subscriptions. Changes are in the store before the reply goes out, so
the next request finds them, whichever process gets it.

=========================================  =========================================================================
message at the wrong process               route
=========================================  =========================================================================
the answer to a question of a handler,     a letter to the process where the handler waits; if there is none, it is
progress for it                            dropped and counted, as with one process
a cancellation                             a letter to the process where the request runs
a message of the server that belongs to    a letter to the process that has a stream of the session's; it waits in
no request, where no stream is             the store while there is none
the end of a session                       a letter to all
a GET that resumes a stream                see `resumption`
=========================================  =========================================================================

A question is in the store before it goes out, and until its answer is there: so no client can have answers kept for
which no process waits. Letters are bounded for each session and for all, see `Limits.max_store_letters` and the limits
below it. A process that was killed leaves its questions behind; each allows one letter, which is removed after a
minute.

One thread of a process polls for letters (``mcp-ref:letters``), and only while a request, a question or a stream is
open: every 5 ms while a handler waits for an answer, every 20 ms otherwise.

Some things do not travel between processes:

- Only the process that got a request knows that its id was used.
- A change that a server announces by itself (`Server.broadcast`, `resource_updated`, `log`) reaches the sessions of
  which its process has a stream, and those that it has served within REPLICA_SECONDS.
- Rates are those of each process.
"""

import json
import re
import threading
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple, Union

from ... import deadline
from ...errors import ConnectionLost
from ...http11.message import Exchange, Pairs
from ...jsonrpc import (
    Batch, ErrorResponse, Frame, Malformed, Message, Notification, Request, RequestId, ResultResponse, encode, parse,
)
from ...limits import Limits
from ...methods import (
    BOTH, CANCELLED, INITIALIZE, INITIALIZED, NOTIFICATION, PROGRESS, SET_LOG_LEVEL, SUBSCRIBE, UNSUBSCRIBE,
)
from ...stores import FULL, IN, NOTES, OUT, STREAMS, UNWANTED, Letter, Room, Store, StoredRecord, Values
from ...streamable.server.reply_stream import ReplyStream
from ...streamable.server.session import HttpSession, SessionTable, new_id
from ...threads import need, start_thread
from .resumption import BLOCK, END, MESSAGE, OF_STREAMS, ResumableSession, subject_of

Connect = Callable[[HttpSession], Any]

REPLICA_SECONDS = 60.0
"""The seconds for which a process keeps an unused replica."""
ANSWER_SECONDS, OTHER_SECONDS = 0.005, 0.02
"""The seconds between two polls for letters, with and without a handler that waits for an answer."""
LINGER_SECONDS = 0.5
"""The seconds after which the polling thread ends when there is nothing more to wait for."""
_SWEEP_SECONDS = 10.0
_JOIN_SECONDS = 5.0
_MOST_REASON = 1000
"""The number of characters of the reason of a cancellation that reach another process."""
_TOLD = "told"
_CHANGING = frozenset((INITIALIZE, SET_LOG_LEVEL, SUBSCRIBE, UNSUBSCRIBE))
"""The requests that may change what the record of a session holds."""
_QUESTION = re.compile(rb'\{"jsonrpc":"2\.0","id":(\d+),"method":')
"""The beginning of a request of ours, as `jsonrpc.encode` writes it; no other message begins so."""
_OURS = frozenset((INITIALIZED, CANCELLED, PROGRESS))


class ReplicaSession(ResumableSession):
    """A replica: the copy of this process of a session that several processes share. Its table routes the messages."""

    def __init__(self, id: str, principal: Any, limits: Limits, table: "StoreTable") -> None:
        super().__init__(id, principal, limits, table)
        self.key = table.key_of(id)
        self.syncing = threading.Lock()
        """The lock of the next three, while the replica takes over the record or a request begins to change it."""
        self.version = 0
        """The version of the record that the replica has taken over."""
        self.saved: Values = {}
        """The values of the record that are known here, without subscriptions."""
        self.announced: Dict[str, int] = {}
        """Method of a notification of the client -> how often it came, in any process."""
        self._changing: Dict[RequestId, Sequence[str]] = {}  # request id -> the URIs that it is about

    # What the endpoint asks for

    def expect(self, stream: ReplyStream) -> str:
        refused = super().expect(stream)
        if not refused:
            self._table.watch(self)
        return refused

    def receive(
        self, frame: Frame, data: bytes, about: Optional[RequestId] = None, principal: Any = None
    ) -> List[Any]:
        """A message that another process waits for is sent there."""
        items = frame.items if isinstance(frame, Batch) else [frame]
        left = [item for item in items if not self._belongs_elsewhere(item)]
        if len(left) < len(items):
            if not left:
                return []
            frame = Batch(left)
        self._begin_changes(frame, left, about)
        answered = [item.id for item in left if isinstance(item, (ResultResponse, ErrorResponse))
                    and item.id is not None
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
        if kind in OF_STREAMS:
            return self.is_for(subject)
        if subject == MESSAGE:
            with self.lock:
                return any(stream.exchange is not None for stream in self._listening)
        if kind == "cancel":
            return subject[1] in connection.inflight
        return bool(connection.table.active(subject[1]))

    def listen(self, exchange: Exchange, headers: Pairs = ()) -> bool:
        if not super().listen(exchange, headers):
            return False
        self._table.watch(self)
        self._table.collect(self)
        return True

    # What the dispatcher asks for

    def post(self, message: Optional[bytes], about: Optional[RequestId] = None, final: bool = False) -> None:
        """The changes made by a request are in the store before its answer is sent."""
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
        self._table.forget(self, id)

    def _unrelated(self, message: bytes) -> None:
        """Send a message that belongs to no request on a stream here, or leave it for a process that has one."""
        if not any(self._send_on(stream, message) for stream in reversed(self._listening)):
            self._table.post_to_stream_holder(self, message)
        self._table.watch(self)

    def deliver(self, message: bytes) -> None:
        """Send a message that another process has left, or leave it again.

        Both with the lock held: a stream that is resumed meanwhile finds the message in the store, of whose own changes
        a process is not told.
        """
        with self.lock:
            self._unrelated(message)


class StoreTable(SessionTable):
    """The table of the sessions of a `Store`, with the replicas of this process. Thread-safe.

    ``connect``: a function that gives a session its connection and returns it. ``listens``: True if GET opens streams.
    Raises `NoThreads` where no thread can be started, for it has to poll for the letters of other processes.
    """

    shared = True

    def __init__(self, store: Store, limits: Limits, connect: Connect, listens: bool) -> None:
        need("a Store of sessions, unlike sessions='memory',")
        super().__init__(limits)
        self.store = store
        self._connect = connect
        self.listens = listens
        self._keys: Dict[str, ReplicaSession] = {}
        self._watched: Dict[ResumableSession, object] = {}
        self._polling = False
        self._closed = False
        self._pause = threading.Event()
        self._thread: Optional[threading.Thread] = None
        self._since = 0
        self._ids_lock = threading.Lock()  # for the next line alone: ids are taken under the locks of sessions
        self._last_id = 0
        self._swept = deadline.clock()
        self._failing: Set[str] = set()
        """The kinds of use that fail at the moment."""

    @staticmethod
    def key_of(id: str) -> str:
        """Return the key of a session in the store, which does not learn the id that a client shows."""
        return sha256(id.encode("utf-8", "surrogatepass")).hexdigest()

    # What the endpoint asks for

    def make(self, principal: Any) -> HttpSession:
        """Raises TypeError for a principal that the store cannot keep."""
        try:
            same = json.loads(json.dumps(principal)) == principal
        except (TypeError, ValueError):
            same = False
        if not same:
            raise TypeError("a session in a store keeps its principal as JSON, which a %s is not: have authenticate"
                            " return a str" % type(principal).__name__)
        return ReplicaSession(new_id(), principal, self._limits, self)

    def add(self, session: Any) -> bool:
        values = {"principal": session.principal}
        if not self.store.create_session(session.key, values, self._limits.max_sessions, self._limits.session_idle):
            return False
        session.version = 1
        with self._lock:
            self._sessions[session.id or ""] = self._keys[session.key] = session
        return True

    def why_full(self, session: HttpSession) -> Tuple[str, str]:
        """The store does not know the owners of sessions."""
        return "full", str(self._limits.max_sessions)

    def connected(self, session: HttpSession) -> None:
        session.connection.table.ids = self.next_id

    def get(self, id: str) -> Optional[HttpSession]:
        """Make a replica where this process has none."""
        with self._lock:
            session: Any = self._sessions.get(id)
        found = self.store.read_session(self.key_of(id) if session is None else session.key,
                                        self._limits.session_idle, 0 if session is None else session.version)
        if found is None:
            if session is not None:
                self._drop(session, "the session has ended")
            return None
        if session is None:
            return self._replicate(id, found)
        if session.version != found.version:
            self._take_over(session, found)
        return session  # type: ignore[no-any-return]

    def _replicate(self, id: str, record: StoredRecord) -> Optional[HttpSession]:
        if "revision" not in record.values:
            return None  # its handshake is not over, so nobody can know its id
        session = ReplicaSession(id, record.values.get("principal"), self._limits, self)
        connection = self._connect(session)
        connection.table.ids = self.next_id
        self._take_over(session, record)
        with self._lock:
            kept = self._sessions.setdefault(id, session)
            if kept is session:
                self._keys[session.key] = session
        if kept is not session:
            connection.close("another thread was quicker to make a copy of the session")
        return kept

    def _take_over(self, session: ReplicaSession, record: StoredRecord) -> None:
        """Take over the record, unless the replica is newer: another thread was quicker, or a request changes it."""
        connection = session.connection
        with session.syncing:
            if session.changing or record.version <= session.version:
                return
            connection.import_state(record.values, record.whole)
            told = record.values.get(_TOLD, session.announced)
            for method in told:
                if told[method] != session.announced.get(method):
                    connection.role.on_notification_read(connection, method, {})
            session.announced = dict(told)
            session.version, session.saved = record.version, dict(connection.export_state(), **{_TOLD: dict(told)})

    def remove(self, session: Any) -> bool:
        """End the session in every process."""
        self.release(session)
        if not self.store.remove_session(session.key):
            return False
        self.store.send(session.key, NOTES, json.dumps(END), b"", self._room(NOTES))
        return True

    def is_idle(self, session: HttpSession, now: float) -> bool:
        return session.used + REPLICA_SECONDS <= now

    def tick(self, now: float) -> None:
        with self._lock:
            due = self._swept + _SWEEP_SECONDS <= now
            if due:
                self._swept = now
            copies = list(self._keys.values()) if due else []
        if due:
            for session in copies:
                if session.busy:
                    self.store.read_session(session.key, self._limits.session_idle)  # an open stream is a use
            self.store.sweep_sessions(self._limits.session_idle)

    def close(self) -> None:
        """The sessions go on in other processes."""
        with self._lock:
            self._closed = True
        self._pause.set()
        if self._thread is not None:
            self._thread.join(_JOIN_SECONDS)
        self.store.close()

    def __len__(self) -> int:
        return self.store.count_sessions()

    def release(self, session: Any) -> bool:
        """End only the replica of this process."""
        with self._lock:
            self._keys.pop(session.key, None)
            return self._sessions.pop(session.id or "", None) is not None

    def _drop(self, session: ReplicaSession, reason: str) -> None:
        if self.release(session):
            session.connection.close(reason)

    # What a session asks for

    def save(self, session: ReplicaSession, uris: Sequence[str] = ()) -> None:
        """Store the changes of this process. ``uris``: the resources whose subscriptions may have changed."""
        now = session.connection.export_state()
        each = session.connection.export_state(uris) if uris else {}
        if session.announced:
            now[_TOLD] = dict(session.announced)
        changes = {name: value for name, value in now.items() if session.saved.get(name) != value}
        all_of_it = dict({name: each[name] for name in each if name not in now}, **changes)
        version = self.store.update_session(session.key, all_of_it) if changes or each else 0
        if version:
            with session.syncing:
                session.saved = dict(session.saved, **changes)
                if version == session.version + 1:  # nobody else has changed anything between
                    session.version = version

    def expect(self, session: ReplicaSession, question: int) -> bool:
        """Store a question that is about to go out. Returns False if the store fails; the question has failed then."""
        try:
            self.store.expect(session.key, question)
        except Exception as error:
            session.connection.table.fail(question, ConnectionLost("the store of sessions failed: %r" % error))
            return False
        return True

    def forget(self, session: ReplicaSession, question: RequestId) -> None:
        """Remove a question that has its answer, or that was given up."""
        if type(question) is int:
            with self.logging_failures("forgetting a question"):  # one that stays behind allows one letter
                self.store.forget(session.key, question)

    def post_to_owner(self, session: ReplicaSession, item: Message, subject: List[Any]) -> bool:
        """Leave a letter for the process that waits for this message. Returns False if none does."""
        kind, id = subject
        box = IN if kind == "answer" else NOTES
        if isinstance(item, Notification) and kind == "cancel":
            reason = (item.params or {}).get("reason")
            params = {"requestId": id, "reason": reason[:_MOST_REASON]} if type(reason) is str else {"requestId": id}
            item = Notification(item.method, params)
        content, room = encode(item), self._room(box)
        if box == NOTES and len(content) > room.bytes:
            became = FULL
        else:
            became = self.store.send(session.key, box, json.dumps(subject), content, room,
                                     None if kind == "cancel" else id)
        if became == FULL:
            session.connection.counters.note(
                "dropped letter", "no room in the store for a message of the client (%s, %d bytes) to another process:"
                " max_store_letters (%d), max_store_letter_bytes (%d) or max_store_bytes (%d)" % (
                    kind, len(content), room.letters, room.bytes, room.total))
        return became != UNWANTED

    def post_to_stream_holder(self, session: ReplicaSession, message: bytes) -> None:
        """Leave a message for the process that has, or will have, a stream of this session."""
        if self.listens:
            if self.store.send(session.key, OUT, json.dumps(MESSAGE), message, self._room(OUT)) == FULL:
                session.connection.counters.note(
                    "dropped letter", "no room in the store for a message that waits for a stream: max_store_bytes (%d)"
                    % self._limits.max_store_bytes)

    def _room(self, box: str) -> Room:
        limits = self._limits
        if box == OUT:
            return Room(limits.max_waiting_messages, limits.max_waiting_bytes, limits.max_store_bytes, newest=True)
        return Room(limits.max_store_letters, limits.max_store_letter_bytes, limits.max_store_bytes)

    def collect(self, session: ResumableSession) -> None:
        """Send the messages that wait for a stream of this session, which this process has now."""
        for letter in self.store.waiting(session.key):
            self._deliver(letter)

    def next_id(self) -> int:
        """Return a number for a request of ours or a stream that no other process uses: a client must not see one
        twice."""
        with self._ids_lock:
            self._last_id = (self._last_id or self.store.number() * BLOCK) + 1
            return self._last_id

    @property
    def block(self) -> int:
        """Return what `next_id` divided by BLOCK is in this process and no other."""
        return (self._last_id or self.next_id()) // BLOCK

    # Letters

    def tell(self, session: ResumableSession, subject: List[Any]) -> None:
        """Leave a letter about a stream for another process. It need not arrive."""
        limits = self._limits
        room = Room(limits.max_store_letters, limits.max_store_letter_bytes, limits.max_store_bytes, newest=True)
        with self.logging_failures("leaving a letter"):
            self.store.send(session.key, STREAMS, json.dumps(subject), b"", room)

    def watch(self, session: ResumableSession) -> None:
        """Poll for letters until this session is not busy any more."""
        with self._lock:
            self._watched[session] = object()
            if self._polling or self._closed:
                return
            self._thread = start_thread("mcp-ref:letters", self._poll)
            self._polling = True

    def _poll(self) -> None:
        """Poll for letters while there is something to wait for."""
        seen, quiet = -1, deadline.clock()
        while not self._closed:
            asked = False
            with self.logging_failures("looking for letters"):
                version = self.store.version()
                if version != seen:
                    self._read_letters()
                    seen = version
            now = deadline.clock()
            with self._lock:
                watched = list(self._watched.items())
            busy = [session for session, _ in watched if session.busy]  # takes locks under which sessions call `watch`
            if busy:
                asked, quiet = any(session.asks for session in busy), now
            with self.logging_failures("looking after streams"):
                for session in busy:
                    session.look_after(now)
            with self._lock:
                for session, since in watched:
                    if session not in busy and self._watched.get(session) is since:
                        del self._watched[session]
                if not self._watched and quiet + LINGER_SECONDS <= now:
                    self._polling = False
                    return
            self._pause.wait(ANSWER_SECONDS if asked else OTHER_SECONDS)

    @contextmanager
    def logging_failures(self, what: str) -> Iterator[None]:
        """Suppress and log an exception of the store, once until the same succeeds again."""
        try:
            yield
        except Exception:
            if what not in self._failing:
                self._failing.add(what)
                from ...diagnostics.packagelog import get_logger

                get_logger(__name__).exception("%s failed; said once until it works again", what)
        else:
            self._failing.discard(what)

    def _read_letters(self) -> None:
        for letter in self.store.news(self._since):
            self._deliver(letter)
            self._since = letter.number  # only now: a letter that the store could not hand over is read again

    def _deliver(self, letter: Letter) -> None:
        """Take a letter that is for this process, and process it."""
        with self._lock:
            session = self._keys.get(letter.id)
        if session is None:
            return
        subject = json.loads(letter.subject)
        if subject == END:
            self._drop(session, "the client ended the session")
            return
        content = self.store.take(letter.number) if session.waits_for(subject) else None
        if content is None:
            return
        if subject[0] in OF_STREAMS:
            session.told(subject)
        elif subject != MESSAGE:
            session.connection.work(session.connection.receive(
                parse(content, False, self._limits, session.connection.forgive), content))
        else:
            session.deliver(content)
