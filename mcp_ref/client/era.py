"""Finding out what a server speaks, and opening the conversation accordingly.

[2026-07-28 basic/versioning §Backward Compatibility with Initialization-Based Versions]. A client that speaks both
kinds of revisions asks `server/discover` first [2026-07-28 basic/transports/stdio §Backward Compatibility] SHOULD:

===============================================  ==========================================================
what comes                                       what follows
===============================================  ==========================================================
a `DiscoverResult`                               the newest revision in common
a modern error (`mcp_ref.protocol.eras`)         the same server, with a version that it names
any other error, or a result of another form     `initialize`
nothing within ``probe_timeout``                 `initialize` besides, and whatever is answered first counts
the end of the process                           `initialize`, to a new one
===============================================  ==========================================================

The fourth row is for servers that start slowly, such as those that a package manager fetches first. They answer
neither, and then both: so the late answer to the question is heard, not ignored. Reading: until it is clear what the
server is the question is not cancelled, because a server that waits for `initialize` may not know such a notification.

A client of revisions without handshake asks, too, so that it fails in a predictable way
[2026-07-28 basic/transports/stdio §Backward Compatibility]; one of the handshake era just shakes hands.

What was found is remembered by ``Client(eras=...)``, any mapping, for as long as that lives: transports name their
server by ``origin`` or ``address``. Where it turns out to be wrong, it is found out again
[2026-07-28 basic/versioning §Backward Compatibility with Initialization-Based Versions] SHOULD.

Reading: a server that names in an error only versions with handshake that we speak is spoken to with one of those. It
has asked for it, so that is no fall back on a guess.
"""

import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Dict, List, NoReturn, Optional, Tuple

from ..deadline import Deadline
from ..errors import (
    METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION, HttpStatus, McpError, PeerError, PeerProtocolError, RequestTimeout,
)
from ..messages.base import COMPLETE
from ..peer.dispatcher import Connection
from ..peer.request_table import Pending, Progress
from ..peer.session import Session
from ..protocol import negotiation
from ..protocol.eras import modern, older
from ..revisions import Revision
from .cache.caches import DISCOVER

if TYPE_CHECKING:
    from .client import Client

DEFAULT_ERA = "auto"
"""What a client speaks that is not told: a key of `mcp_ref.protocol.negotiation.ERAS`."""

_SLICE = 0.5
_STEPS = 6
"""Questions to one server, until it is clear what it is; three are enough for one that does not contradict itself."""


class Opening:
    """Opens one conversation; used once, by one thread. ``known``: the name of the revision spoken the last time."""

    def __init__(self, client: "Client", connection: Connection, known: Optional[str] = None) -> None:
        self._client = client
        self._connection = connection
        self._limits = client.limits
        self._modern = negotiation.without_handshake(client.revisions)
        self._legacy = negotiation.with_handshake(client.revisions)
        self._known = known
        self._answers: "SimpleQueue[Tuple[Pending, Any]]" = SimpleQueue()
        self._arrived = threading.Event()
        self._out: Dict[str, Pending] = {}
        self._end = Deadline(None)
        self._steps = 0
        self._offered = False  # a handshake

    @property
    def guessing(self) -> bool:
        """Whether nothing was sent but `server/discover`, which an old server that we could speak may not survive."""
        return bool(self._legacy) and not self._offered and not self._is_known(self._modern)

    def _is_known(self, revisions: Tuple[Revision, ...]) -> bool:
        return any(r.name == self._known for r in revisions)

    def run(self) -> None:
        """Raises what `Client.open` raises."""
        if not self._modern:
            self._handshake(self._legacy)
            return
        if self._is_known(self._legacy):
            try:
                self._handshake(self._legacy)
                return
            except PeerError:
                self._known = None  # it is not what it was: ask it
        sure = not self._legacy or self._is_known(self._modern)
        self._ask(self._modern[-1], self._limits.initialize_timeout if sure else self._limits.probe_timeout)
        self._hear()

    # The handshake era

    def _handshake(self, ours: Tuple[Revision, ...]) -> None:
        """`initialize`, and nothing else; an error that names versions of ours without handshake is heard."""
        self._drop()
        connection = self._fresh_session()
        opening = self._client.introduce(connection, ours)
        self._offered = True
        try:
            answer = connection.request("initialize", opening, timeout=self._limits.initialize_timeout)
        except PeerError as error:
            if not modern(error) or error.code != UNSUPPORTED_PROTOCOL_VERSION or (
                    negotiation.pick(error.data["supported"], self._modern) is None):
                raise
            self._take(error)
        else:
            self._client.shake_hands(connection, answer, ours)

    def _fresh_session(self) -> Connection:
        """The connection, as if nothing had been said on it."""
        self._steps += 1
        if self._steps > _STEPS:
            raise PeerProtocolError("the server contradicts itself about the revisions that it speaks")
        connection = self._connection
        connection.session = Session(connection.session.party, connection.session.lenient)
        connection.session.extensions = self._client.extensions
        connection.batching = False
        connection.envelope = None
        return connection

    # The stateless era

    def _ask(self, revision: Revision, seconds: float) -> None:
        """Ask what the server is, by the rules of this revision; ``seconds``: how long `_next` will wait."""
        self._client.assume(self._fresh_session(), revision)
        self._send(DISCOVER, None)
        self._allow(seconds)

    def _hear(self) -> None:
        """Take what comes."""
        outcome = self._next()
        if outcome is None and not self._legacy:
            self._drop()
            raise RequestTimeout("%s got no answer in %g s; %s" % (
                DISCOVER, self._limits.initialize_timeout, self._advice()))
        if outcome is None:
            self._offer_both()
        elif not self._settled(outcome[1]):
            self._fall_back(outcome[1])

    def _settled(self, outcome: Any) -> bool:
        """Whether this answer shows a server without handshake; then all is done."""
        if isinstance(outcome, dict):
            names, complete = outcome.get("supportedVersions"), outcome.get("resultType", COMPLETE) == COMPLETE
            if not complete or not isinstance(names, list) or not isinstance(outcome.get("capabilities"), dict):
                return False  # [2026-07-28 basic/index §ResultType] MUST
            self._agree(self._pick(names), outcome)
            return True
        if isinstance(outcome, PeerError) and modern(outcome):
            self._take(outcome)
            return True
        return False

    def _agree(self, revision: Revision, found: Optional[Dict[str, Any]]) -> None:
        """Speak this revision from now on; ``found``: the result of `server/discover`, if it has one."""
        self._drop()
        if revision.stateless:
            self._client.assume(self._connection, revision)
            self._client.discovered(self._connection, found)
        else:
            self._handshake(tuple(r for r in self._legacy if r.rank <= revision.rank))

    def _take(self, error: PeerError) -> None:
        """A modern error: the server is one, but would not answer so."""
        self._drop()
        if error.code == METHOD_NOT_FOUND:  # it should know this method; it may be good for all others
            self._agree(self._modern[-1], None)
            return
        if error.code != UNSUPPORTED_PROTOCOL_VERSION:
            raise error
        revision = self._pick(error.data["supported"])
        if not revision.stateless:
            self._agree(revision, None)
            return
        self._ask(revision, self._limits.initialize_timeout)
        came = self._next()
        if came is None:
            self._drop()
            raise RequestTimeout("%s got no answer in %g s" % (DISCOVER, self._limits.initialize_timeout))
        outcome = came[1]
        if isinstance(outcome, McpError):
            raise outcome
        if not self._settled(outcome):
            raise PeerProtocolError("the answer to %s has no versions, or no capabilities" % DISCOVER)

    def _pick(self, names: List[Any]) -> Revision:
        """[2026-07-28 basic/versioning §Protocol Version Negotiation] SHOULD"""
        found = negotiation.pick(names, self._client.revisions)
        if found is None:
            text = negotiation.apart(names, self._client.revisions)
            raise PeerProtocolError("the server speaks revisions %s" % text)
        return found

    # Between the two

    def _fall_back(self, outcome: Any) -> None:
        """No modern server [2026-07-28 basic/versioning §Backward Compatibility with Initialization-Based Versions]."""
        failed = isinstance(outcome, McpError) and not isinstance(outcome, (PeerError, PeerProtocolError, HttpStatus))
        status = outcome.status if isinstance(outcome, (PeerError, HttpStatus)) else None
        if failed or (status is not None and not older(status)):
            raise outcome
        if not self._legacy:
            self._refuse(outcome)
        self._handshake(self._legacy)

    def _refuse(self, outcome: Any) -> NoReturn:
        """[2026-07-28 basic/versioning §Compatibility Matrix]: what the user can do."""
        said = "with %s" % outcome if isinstance(outcome, McpError) else "with a result of another form"
        raise PeerProtocolError(
            "the server answered %s %s: %s" % (DISCOVER, said, self._advice()),
            "2026-07-28 basic/versioning §Compatibility Matrix",
        )

    def _advice(self) -> str:
        return ("it seems to speak only revisions that begin with a handshake, and this client speaks %s; use era="
                "\"auto\" or \"legacy\", or a newer server" % ", ".join(str(r) for r in self._modern))

    def _offer_both(self) -> None:
        """The server is silent: offer it a handshake, too, and go by what it answers first."""
        connection = self._fresh_session()
        self._send("initialize", self._client.introduce(connection, self._legacy))
        self._allow(self._limits.initialize_timeout)
        self._offered = True
        refused: Optional[McpError] = None
        while True:
            came = self._next()
            if came is None:
                self._drop()
                raise refused or RequestTimeout("the server answered neither %s nor initialize in time" % DISCOVER)
            method, outcome = came
            if method == DISCOVER and self._settled(outcome):
                return
            if method == DISCOVER and refused is None:
                continue  # as expected: an old one
            if method == "initialize" and isinstance(outcome, dict):
                self._drop()
                self._client.shake_hands(connection, outcome, self._legacy)
                return
            if method == "initialize" and self._settled(outcome):
                return
            if refused is not None or DISCOVER not in self._out:
                raise refused or outcome
            refused = outcome
            left = self._end.left()
            self._allow(self._limits.probe_timeout if left is None else min(self._limits.probe_timeout, left))

    # Requests that are out

    def _allow(self, seconds: float) -> None:
        """So long is waited for what is out, not counting a person's time."""
        self._end = Deadline(seconds)
        for pending in self._out.values():
            self._connection.table.start(pending, self._end)

    def _send(self, method: str, params: Optional[Dict[str, Any]]) -> None:
        self._out[method] = self._connection.open_request(method, params, timeout=None, settle=self._heard)

    def _heard(self, pending: Pending, item: Any) -> None:
        """On the reader."""
        if not isinstance(item, Progress):
            self._answers.put((pending, item))
            self._arrived.set()

    def _next(self) -> Optional[Tuple[str, Any]]:
        """The next answer: of which method, and a result or an exception. None: the time is over."""
        while True:
            try:
                pending, item = self._answers.get_nowait()
            except Empty:
                left = self._end.left()
                if left == 0:
                    return None
                self._arrived.wait(_SLICE if left is None else min(_SLICE, left))
                self._arrived.clear()
                continue
            if self._out.get(pending.method) is pending:
                del self._out[pending.method]
                try:
                    return pending.method, pending.answer(item)
                except McpError as error:
                    return pending.method, error

    def _drop(self) -> None:
        """Wait no more for what is out; nothing is said of it."""
        for pending in self._out.values():
            if self._connection.table.remove(pending):
                self._connection.abandon(pending)
        self._out.clear()
