"""Where sessions are kept that several processes share: what such a place has to do.

An endpoint that was made with a `Store` keeps its sessions there (see `http_store`), so that any process may answer
any request. `mcp_ref.transports.sqlite_store.SqliteStore` is one for the processes of one machine; another (Redis,
say) is a subclass that fills in what follows. Two parts:

=================  ===============================================================================================
sessions           `create`, `read`, `update`, `remove`, `sweep`: records by id, each a JSON object
the mailbox        `send`, `news`, `waiting`, `take`, `version`, `number`: what one process has for another: a client's
                   answer that came to the wrong one, a message that waits for a stream
=================  ===============================================================================================

Every method is atomic towards all other processes. Ids are digests: the store never learns what a client shows.
What a method raises ends the request that needed it with status 500; while letters are looked for it is logged.
"""

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

Values = Dict[str, Any]
"""A record: names and JSON values."""
IN, OUT = "in", "out"
"""The boxes: letters that somebody may wait for, and those that wait for a stream as long as their session lives."""


class Letter(NamedTuple):
    """A letter without what is in it."""

    number: int
    """Later letters have larger ones."""
    id: str
    """Of the session."""
    box: str
    """IN or OUT."""
    subject: str
    """What it is about, for those who may want it."""


class Store:
    """Base of the stores; see the module. Thread-safe; a process that was forked from one that used it may use it."""

    # Sessions

    def create(self, id: str, values: Values, most: int, idle: float) -> bool:
        """Enter a session; False: there are ``most``, not counting what has not been used for ``idle`` seconds."""
        raise NotImplementedError

    def read(self, id: str, idle: float) -> Optional[Tuple[int, Values]]:
        """A session's record, and a number that is another one after each change of it; None: there is none (now).

        It counts as use, as often as matters: after ``idle`` seconds without one a session is gone.
        """
        raise NotImplementedError

    def update(self, id: str, changes: Values) -> bool:
        """Change these values of a record and no others; None takes one out. False: there is no such session."""
        raise NotImplementedError

    def remove(self, id: str) -> bool:
        """A session has ended, and its letters go; False if it had before."""
        raise NotImplementedError

    def sweep(self, idle: float) -> int:
        """Take out the sessions that nobody has used for ``idle`` seconds, and letters that nobody took; how many
        sessions. To be called now and then."""
        raise NotImplementedError

    def count(self) -> int:
        """How many sessions there are."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what this process has open; whoever uses the store after that opens it again."""

    # The mailbox

    def send(self, id: str, box: str, subject: str, content: bytes, most: int, most_bytes: int) -> None:
        """Leave a letter for the other processes. In this box of the session at most so many are kept, the newest."""
        raise NotImplementedError

    def news(self, since: int) -> List[Letter]:
        """All letters with a larger number, in order."""
        raise NotImplementedError

    def waiting(self, id: str) -> List[Letter]:
        """All letters in the box OUT of this session, in order."""
        raise NotImplementedError

    def take(self, number: int) -> Optional[bytes]:
        """What is in a letter, for the first process that asks; None for the others."""
        raise NotImplementedError

    def version(self) -> int:
        """Another number than before if another process may have changed anything. It is asked often."""
        raise NotImplementedError

    def number(self) -> int:
        """A number that was never given before, from 1 on; each process asks for one."""
        raise NotImplementedError
