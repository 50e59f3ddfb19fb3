"""The contract of a store, which keeps the sessions that several processes share.

An endpoint that was made with a `Store` keeps its sessions there (see `table`), so that any process may answer
any request. `mcp_ref.streamable.shared.sqlite.SqliteStore` is one for the processes of one machine; another (Redis,
say) is a subclass that implements the methods below. They have three parts:

=================  ===============================================================================================
sessions           `create`, `read`, `update`, `remove`, `sweep`: records by id. A record has named JSON values, and
                   each subscription is a value of its own, so a change writes, and a reader parses, what has changed
the mailbox        `expect`, `forget`, `send`, `news`, `waiting`, `take`, `version`, `number`: letters from one process
                   to another, with a client's answer that came to the wrong one, or a message that waits for a stream
events             `keep`, `kept`, `unkeep`: what was sent on a stream of a session, for a client that comes back with
                   `Last-Event-ID` to any process
=================  ===============================================================================================

Every method is atomic towards all other processes. Ids are digests: the store never learns the ids that clients show.
An exception of a method ends the request that needed it with status 500; while letters are polled it is logged.

Times are those of a monotonic clock: a correction of the wall clock ends no session and keeps none alive.
"""

from typing import Any, Dict, List, NamedTuple, Optional, Union

from ...jsonrpc import Error, Malformed, Message, Notification, Result
from ...methods import CANCELLED, PROGRESS
from ...options import spelt

Values = Dict[str, Any]
"""The named JSON values of a record. None stands for a value that is not there (any more)."""
END, MESSAGE = ["end"], ["message"]
"""The subjects of letters that concern a whole session; for the others see `subject_of`."""
IN, NOTES, OUT, STREAMS = "in", "notes", "out", "streams"
"""The boxes: answers of clients; other messages for a waiting process (progress, cancellations, the end of a session);
messages that wait for a stream as long as their session lives; and what processes tell each other of a stream."""
SENT, UNWANTED, FULL = "sent", "unwanted", "full"
"""The results of `Store.send` and `Store.keep`: it is stored; no process waits for the letter, or another one goes on
with the stream; there is no room."""


class StoredRecord(NamedTuple):
    """The result of `Store.read`."""

    version: int
    """The version: 1 at first, and one more after each `Store.update` that changed something."""
    values: Values
    """The values that have changed since the version that was asked about."""
    whole: bool
    """True if these are all values of the record, so that any other is gone."""


class Letter(NamedTuple):
    """A letter without its content."""

    number: int
    """The number of the letter; later ones have larger numbers."""
    id: str
    """The id of the session."""
    box: str
    """IN, NOTES or OUT."""
    subject: str
    """The subject, by which a process knows if the letter is for it."""


class StoredEvent(NamedTuple):
    """An event of a stream."""

    kind: str
    """The kind of stream, a text of one letter."""
    stream: int
    """The number of the stream, below 2**53."""
    place: int
    """The place of the event in its stream; later ones have larger places."""
    data: bytes
    final: bool = False
    """True if nothing comes after it on this stream."""
    about: str = ""
    """The requests that the stream answers, as JSON."""


class Room(NamedTuple):
    """The room in a box, or for events. The first letter, and the newest event, always fit into the part of a session.
    """

    letters: int
    """The number of letters, or events, of one session."""
    bytes: int
    """The bytes of one session."""
    total: int
    """The bytes of all sessions together."""
    newest: bool = False
    """True if the oldest letters of the session make room for a new one; else the new one is refused."""


class Store:
    """The base of the stores; see the module. Thread-safe; a forked process may use it like the one it came from."""

    # Sessions

    def create(self, id: str, values: Values, most: int, idle: float) -> bool:
        """Enter a session. Returns False if there are ``most`` that were used within the last ``idle`` seconds."""
        raise NotImplementedError

    @spelt
    def read(self, id: str, idle: float, since: int = 0) -> Optional[StoredRecord]:
        """Read the values of a session that have changed since that version (0: all). Returns None without a session.

        Reading counts as use, and a session that is unused for ``idle`` seconds is gone.
        """
        raise NotImplementedError

    def update(self, id: str, changes: Values) -> int:
        """Change these values of a record and no others; None removes one. Returns the version, 0 without a session."""
        raise NotImplementedError

    def remove(self, id: str) -> bool:
        """Remove a session with its letters, questions and events. Returns False if it had ended before."""
        raise NotImplementedError

    def sweep(self, idle: float) -> int:
        """Remove the sessions that were unused for ``idle`` seconds, and old letters and events. Returns the number of
        sessions.

        A table calls it every few seconds.
        """
        raise NotImplementedError

    def count(self) -> int:
        """Count the sessions."""
        raise NotImplementedError

    def close(self) -> None:
        """Close what this process has open; the next use opens it again."""

    # The mailbox

    def expect(self, id: str, question: int) -> None:
        """Note that a process waits for the answer to its request of this id."""
        raise NotImplementedError

    def forget(self, id: str, question: int) -> None:
        """Note that no process waits for this answer any more."""
        raise NotImplementedError

    @spelt
    def send(
        self, id: str, box: str, subject: str, content: bytes, room: Room, question: Optional[int] = None
    ) -> str:
        """Leave a letter for the other processes. Returns SENT, UNWANTED or FULL.

        ``question``: the request that it is about; the letter is UNWANTED if no process expects its answer. A letter in
        the box IN is that answer, so no other one is expected after it.
        """
        raise NotImplementedError

    def news(self, since: int) -> List[Letter]:
        """Return all letters with a larger number, in order."""
        raise NotImplementedError

    def waiting(self, id: str) -> List[Letter]:
        """Return all letters in the box OUT of this session, in order."""
        raise NotImplementedError

    def take(self, number: int) -> Optional[bytes]:
        """Take the content of a letter. Returns None if another process was first."""
        raise NotImplementedError

    def version(self) -> int:
        """Return a number that changes when another process may have changed anything. It is called often."""
        raise NotImplementedError

    def number(self) -> int:
        """Return a number that was never given before, from 1 on; each process asks for one."""
        raise NotImplementedError

    # Events

    def keep(self, id: str, event: StoredEvent, room: Room, seconds: float) -> str:
        """Keep an event of a session for some seconds. Returns SENT, UNWANTED or FULL.

        It is UNWANTED if the stream has an event of this place or a later one, and where there is no session. The
        oldest events of the session make room for it; it is FULL if that is not enough room over all sessions.
        """
        raise NotImplementedError

    def kept(self, id: str, kind: str, stream: int, place: int) -> List[StoredEvent]:
        """Return the events of this stream and no other, from this place on, in order."""
        raise NotImplementedError

    def unkeep(self, id: str, kind: str, stream: int, place: int) -> bool:
        """Remove an event that was not sent after all. Returns False if the stream has a later one, which stays, or has
        none of this place."""
        raise NotImplementedError


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
