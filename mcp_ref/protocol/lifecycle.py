"""The lifecycle of a handshake connection, as a table.

::

    opening --client: initialize--> initializing --server: its result--> answered
       ^                                 |                                  |
       +------server: its error----------+        client: notifications/initialized
                                                                            v
                                                                        operating

TABLE has a row for each (sender, phase, method) that is allowed; its value is the phase that
follows. A missing row is the error. The same row is consulted by the sender before sending and by
the receiver after receiving, so both ends share one set of rules. Responses are always allowed:
they answer something that was.

What does not fit the table:

- Closing is not a message; the transport ends [2025-11-25 basic/lifecycle §Shutdown].
- A lenient server takes requests that come between its answer and ``notifications/initialized``,
  because real clients race there; EARLY_REQUESTS says which row a strict one lacks.
- 2026-07-28 has no phases: every request stands alone, so its connections are always operating
  [2026-07-28 basic/index §Statelessness].
"""

from typing import Dict, NamedTuple, Optional, Tuple

from ..errors import LocalProtocolError

OPENING = "opening"
INITIALIZING = "initializing"
ANSWERED = "answered"
OPERATING = "operating"
PHASES = (OPENING, INITIALIZING, ANSWERED, OPERATING)
WHEN = {
    OPENING: "before initialize",
    INITIALIZING: "before initialize is answered",
    ANSWERED: "before notifications/initialized",
    OPERATING: "after the handshake",
}
"""Phase -> its name in error texts."""

CLIENT = "client"
SERVER = "server"

ANY = "*"
"""Stands for every method that has no row of its own in the phase."""
INITIALIZE_RESULT = "initialize result"
INITIALIZE_ERROR = "initialize error"

TABLE: Dict[Tuple[str, str, str], Optional[str]] = {
    # [..2025-11-25 basic/lifecycle §Initialization] MUST: the first interaction; pings may come before its answer.
    (CLIENT, OPENING, "initialize"): INITIALIZING,
    (CLIENT, OPENING, "ping"): OPENING,
    (CLIENT, INITIALIZING, "ping"): INITIALIZING,
    (CLIENT, INITIALIZING, "notifications/cancelled"): INITIALIZING,
    (SERVER, INITIALIZING, INITIALIZE_RESULT): ANSWERED,
    (SERVER, INITIALIZING, INITIALIZE_ERROR): OPENING,
    # [..2025-11-25 basic/lifecycle §Initialization] SHOULD NOT: the server sends only pings and log messages
    # before it has seen `initialized`; the two notifications belong to its pings.
    (SERVER, INITIALIZING, "ping"): INITIALIZING,
    (SERVER, INITIALIZING, "notifications/message"): INITIALIZING,
    (SERVER, INITIALIZING, "notifications/cancelled"): INITIALIZING,
    (SERVER, ANSWERED, "ping"): ANSWERED,
    (SERVER, ANSWERED, "notifications/message"): ANSWERED,
    (SERVER, ANSWERED, "notifications/cancelled"): ANSWERED,
    (CLIENT, ANSWERED, "notifications/initialized"): OPERATING,
    (CLIENT, ANSWERED, "ping"): ANSWERED,
    (CLIENT, ANSWERED, "notifications/cancelled"): ANSWERED,
    (CLIENT, OPERATING, ANY): OPERATING,
    (SERVER, OPERATING, ANY): OPERATING,
    # The handshake happens once; None is an explicit refusal beside ANY.
    (CLIENT, OPERATING, "initialize"): None,
    (CLIENT, OPERATING, "notifications/initialized"): None,
}

EARLY_REQUESTS = (CLIENT, ANSWERED)
"""Sender and phase of the requests that a lenient server takes early.

Reading: the page orders these messages, and does not forbid the client anything in words.
"""


class Verdict(NamedTuple):
    """The answer of the table for one message."""

    allowed: bool
    phase: str
    """The phase after it; unchanged if the message is refused."""
    lenient: bool = False
    """True if the message is allowed only because the receiver is lenient; it is logged then."""


def consult(sender: str, phase: str, method: str, lenient: bool = False) -> Verdict:
    """Look up whether ``sender`` may send ``method`` in ``phase``; only receivers may be ``lenient``."""
    key = (sender, phase, method)
    following = TABLE[key] if key in TABLE else TABLE.get((sender, phase, ANY))
    if following is not None:
        return Verdict(True, following)
    if lenient and (sender, phase) == EARLY_REQUESTS and method != "initialize":
        return Verdict(True, phase, True)
    return Verdict(False, phase)


def advance(sender: str, phase: str, method: str) -> str:
    """Return the phase after ``sender`` sends ``method``. Raises `LocalProtocolError` if that is not allowed."""
    verdict = consult(sender, phase, method)
    if not verdict.allowed:
        raise LocalProtocolError(
            "a %s may not send %s %s" % (sender, method, WHEN[phase]),
            "..2025-11-25 basic/lifecycle §Initialization",
        )
    return verdict.phase
