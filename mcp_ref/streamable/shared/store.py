"""Where sessions are kept that several processes share: what such a place has to do.

An endpoint that was made with a `Store` keeps its sessions there (see `table`), so that any process may answer
any request. `mcp_ref.streamable.shared.sqlite.SqliteStore` is one for the processes of one machine; another (Redis,
say) is a subclass that fills in what follows. Two parts:

=================  ===============================================================================================
sessions           `create`, `read`, `update`, `remove`, `sweep`: records by id. A record has named JSON values, and
                   each subscription is a value of its own, so a change writes, and a reader parses, what has changed
the mailbox        `expect`, `forget`, `send`, `news`, `waiting`, `take`, `version`, `number`: what one process has for
                   another: a client's answer that came to the wrong one, a message that waits for a stream
=================  ===============================================================================================

Every method is atomic towards all other processes. Ids are digests: the store never learns what a client shows.
What a method raises ends the request that needed it with status 500; while letters are looked for it is logged.

Times are those of a clock that nobody sets: a correction of the wall clock ends no session and keeps none alive.
"""

from typing import Any, Dict, List, NamedTuple, Optional

from ...options import spelt

Values = Dict[str, Any]
"""Named JSON values of a record. None stands for a value that is not there (any more)."""
IN, NOTES, OUT = "in", "notes", "out"
"""The boxes: answers of clients; what else somebody may wait for (progress, cancellations, the end of a session); and
messages that wait for a stream as long as their session lives."""
SENT, UNWANTED, FULL = "sent", "unwanted", "full"
"""What became of a letter: it is in its box; nobody waits for it; there is no room."""


class Record(NamedTuple):
    """What `Store.read` finds."""

    version: int
    """One more after each `Store.update` that changed something; the first is 1."""
    values: Values
    """The values that have changed since the version that was asked about."""
    whole: bool
    """Whether these are all values of the record, so that any other is gone."""


class Letter(NamedTuple):
    """A letter without what is in it."""

    number: int
    """Later letters have larger ones."""
    id: str
    """Of the session."""
    box: str
    """IN, NOTES or OUT."""
    subject: str
    """What it is about, for those who may want it."""


class Room(NamedTuple):
    """How much a box holds. The first letter of a session always fits into that session's part."""

    letters: int
    """Of one session."""
    bytes: int
    """Of one session."""
    total: int
    """Bytes of all sessions together."""
    newest: bool = False
    """Whether the oldest letters of the session make room for a new one; otherwise the new one is refused."""


class Store:
    """Base of the stores; see the module. Thread-safe; a process that was forked from one that used it may use it."""

    # Sessions

    def create(self, id: str, values: Values, most: int, idle: float) -> bool:
        """Enter a session; False: there are ``most``, not counting what has not been used for ``idle`` seconds."""
        raise NotImplementedError

    @spelt
    def read(self, id: str, idle: float, since: int = 0) -> Optional[Record]:
        """Read what has changed in a session's record since that version (0: all of it); None: there is no session.

        It counts as use, as often as matters: after ``idle`` seconds without one a session is gone.
        """
        raise NotImplementedError

    def update(self, id: str, changes: Values) -> int:
        """Change these values of a record and no others; None takes one out. The version of the record, 0: no session.
        """
        raise NotImplementedError

    def remove(self, id: str) -> bool:
        """End a session: its record, letters and questions go; False if it had ended before."""
        raise NotImplementedError

    def sweep(self, idle: float) -> int:
        """Take out the sessions that nobody has used for ``idle`` seconds, and letters that nobody took; how many
        sessions. To be called now and then."""
        raise NotImplementedError

    def count(self) -> int:
        """Count the sessions."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what this process has open; whoever uses the store after that opens it again."""

    # The mailbox

    def expect(self, id: str, question: int) -> None:
        """A process of this session waits for the answer to its request of this id, from now on."""
        raise NotImplementedError

    def forget(self, id: str, question: int) -> None:
        """Nobody waits for this answer any more."""
        raise NotImplementedError

    @spelt
    def send(
        self, id: str, box: str, subject: str, content: bytes, room: Room, question: Optional[int] = None
    ) -> str:
        """Leave a letter for the other processes: SENT, UNWANTED or FULL.

        ``question``: the request that it is about; only while somebody expects its answer. A letter in the box IN is
        that answer, so nobody expects another one.
        """
        raise NotImplementedError

    def news(self, since: int) -> List[Letter]:
        """All letters with a larger number, in order."""
        raise NotImplementedError

    def waiting(self, id: str) -> List[Letter]:
        """All letters in the box OUT of this session, in order."""
        raise NotImplementedError

    def take(self, number: int) -> Optional[bytes]:
        """Take what is in a letter, for the first process that asks; None for the others."""
        raise NotImplementedError

    def version(self) -> int:
        """Another number than before if another process may have changed anything. It is asked often."""
        raise NotImplementedError

    def number(self) -> int:
        """A number that was never given before, from 1 on; each process asks for one."""
        raise NotImplementedError
