"""The opening of a connection: which revision the server speaks is found out, and the session begun accordingly.

[2026-07-28 basic/versioning §Backward Compatibility with Initialization-Based Versions]. A client that speaks both
kinds of revisions asks `server/discover` first [2026-07-28 basic/transports/stdio §Backward Compatibility] SHOULD:

===============================================  ==========================================================
what comes                                       what follows
===============================================  ==========================================================
a `DiscoverResult`                               the newest revision in common
a modern error (`mcp_ref.protocol.lifecycle`)    the same server, with a version that it names
any other error, or a result of another form     `initialize`
nothing within ``probe_timeout``                 `initialize` besides, and whatever is answered first counts
the end of the process                           `initialize`, to a new one
===============================================  ==========================================================

The fourth row is for servers that start slowly, such as those that a package manager fetches first. They answer
neither, and then both: so the late answer to `server/discover` counts. Reading: until it is clear what the server is,
that request is not cancelled, because a server that waits for `initialize` may not know such a notification.

A client that speaks only revisions without handshake asks, too, so that it fails in a predictable way
[2026-07-28 basic/transports/stdio §Backward Compatibility]; one of the handshake era sends `initialize` at once.

The revision is remembered in ``Client(eras=...)``, any mapping, for as long as that lives: transports name their
server by ``origin`` or ``address``. Where it turns out to be wrong, it is found out again
[2026-07-28 basic/versioning §Backward Compatibility with Initialization-Based Versions] SHOULD.

Reading: a server that names in an error only versions with handshake that we speak is spoken to with one of those. It
has asked for it, so that is no fall back on a guess.

`Handshake` has what client and server tell each other of themselves. In the handshake era that is `initialize` and its
answer, once [..2025-11-25 basic/lifecycle §Initialization]. In the stateless era the client says it in each request
[2026-07-28 basic/index §`_meta`], and the server in the result of `server/discover` and, as far as its name goes, in
every result. `Opening` decides which is sent, and when.
"""

import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, NoReturn, Optional, Sequence, Tuple

from ..codec import DecodeError, decode, encode
from ..deadline import Deadline
from ..errors import (
    METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION, AnswerLost, HttpStatus, McpError, PeerError, PeerProtocolError,
    RequestTimeout,
)
from ..jsonrpc import json_type
from ..messages.base import COMPLETE, Implementation
from ..messages.lifecycle import ClientCapabilities, InitializeRequestParams, InitializeResult
from ..methods import DISCOVER, INITIALIZE, INITIALIZED
from ..peer.dispatcher import Connection
from ..peer.request_table import Pending, Progress
from ..peer.session import Session
from ..protocol import envelope, lifecycle
from ..protocol.lifecycle import UNDECLARED, modern, older
from ..revisions import Revision
from ..transports.base import last_words
from .cache import ServerCache

if TYPE_CHECKING:
    from .client import Client

ASSUMED: Dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}, "completions": {}, "logging": {}}
"""The capabilities of a server that does not name them: it may be asked for anything."""


class Handshake:
    """Introduces a client to its server, and takes what the server says of itself.

    ``declared_to(revision)`` returns the capabilities that the client declares to a server of that revision. What the
    server says is stored in the owner: ``server_info``, ``server_capabilities``, ``instructions``.
    """

    def __init__(self, owner: "Client", declared_to: Callable[[Revision], ClientCapabilities]) -> None:
        self._owner = owner
        self._declared_to = declared_to
        self.log_level: Optional[str] = None

    def capabilities(self, asked: Revision, revision: Revision) -> Dict[str, Any]:
        """Return the capabilities that are declared to a server of revision ``asked``, as on the wire of ``revision``.
        """
        return self._owner.with_extensions(encode(self._declared_to(asked), revision), revision)

    # With `initialize`

    def introduce(self, connection: Connection, ours: Sequence[Revision]) -> Dict[str, Any]:
        """Return the params of `initialize` [..2025-11-25 basic/lifecycle §Initialization] MUST.

        ``ours``: the revisions that may be agreed on, newest last, which is offered.
        """
        params = InitializeRequestParams(ours[-1].name, self._declared_to(ours[-1]), self._owner.info)
        opening = encode(params, ours[-1])
        connection.session.capabilities = self._owner.with_extensions(opening["capabilities"], ours[-1])
        return opening

    def accept(self, connection: Connection, answer: Dict[str, Any], ours: Sequence[Revision]) -> None:
        """Take the server's answer to `initialize`, and send `initialized`. Raises `PeerProtocolError` if it is wrong.
        """
        agreed = lifecycle.accept(_stated(answer), ours)
        try:
            result = decode(InitializeResult, answer, agreed, "result", connection.forgive)
        except DecodeError as error:
            raise PeerProtocolError("the answer to initialize: %s" % error, lifecycle.CITATION) from None
        owner, session = self._owner, connection.session
        session.capabilities = self.capabilities(ours[-1], agreed)
        session.peer_capabilities = owner.server_capabilities = answer["capabilities"]
        session.peer_info, owner.server_info = answer["serverInfo"], result.server_info
        session.instructions = owner.instructions = result.instructions
        self._begin(connection, owner.server_capabilities)
        connection.agree(agreed)
        if connection.exchanges is not None:
            connection.exchanges.agreed(agreed)
        connection.notify(INITIALIZED)
        connection.keep_alive()

    def _begin(self, connection: Connection, capabilities: Mapping[str, Any]) -> ServerCache:
        """Begin with an empty cache; ``capabilities``: those by which the server tells of changes by itself."""
        place = (connection.transport.address or connection.transport.origin, connection.session.rules.name)
        cache = ServerCache(capabilities, self._owner.limits, self._owner.cache, place)
        connection.state["lists"] = cache
        if UNDECLARED in self._owner.tolerate:
            connection.session.forgive = connection.forgive
        return cache

    # Without

    def assume(self, connection: Connection, revision: Revision) -> None:
        """Speak this revision, and say everything in each request [2026-07-28 basic/index §`_meta`] MUST."""
        connection.assume(revision, "")
        self._fill_envelope(connection)

    def _fill_envelope(self, connection: Connection) -> None:
        """Set what each request says of us: also our name [2026-07-28 basic/index §`_meta`] SHOULD."""
        session = connection.session
        info = encode(self._owner.info, session.rules)
        connection.envelope = envelope.fields(session.rules, session.capabilities, info, self.log_level)

    def discovered(self, connection: Connection, result: Optional[Dict[str, Any]]) -> None:
        """Take the first result of `server/discover`, and begin; None: the server did not say what it is."""
        owner = self._owner
        owner.server_info, owner.server_capabilities, owner.instructions = None, {}, None
        if result is None:
            connection.session.peer_capabilities = ASSUMED
        else:
            self.learn(connection, result)
        cache = self._begin(connection, {})  # changes are told to those who listen
        exchanges = connection.exchanges
        if exchanges is not None:
            exchanges.agreed(connection.session.rules)
            if exchanges.mirrors:
                exchanges.annotations = cache.mirrored
                if owner.extensions is not None:
                    exchanges.named = owner.extensions.named()

    def set_log_level(self, connection: Connection, level: str) -> None:
        """Say in each request from now on which log messages we want to hear.

        Reading: also to a server that has not declared ``logging``. It is no request that could be refused, and there
        are servers that log without having declared it.
        """
        self.log_level = level
        self._fill_envelope(connection)

    def learn(self, connection: Connection, result: Dict[str, Any]) -> None:
        """Take a result of `server/discover`.

        Reading: the server says its name in `_meta`; some say it beside, as in the handshake era.
        """
        owner, session, instructions = self._owner, connection.session, result.get("instructions")
        session.peer_capabilities = owner.server_capabilities = result["capabilities"]
        session.instructions = owner.instructions = instructions if isinstance(instructions, str) else None
        self.meet(connection, result)
        if owner.server_info is None:
            self.meet(connection, {"_meta": {envelope.SERVER_INFO: result.get("serverInfo")}})

    def meet(self, connection: Connection, result: Dict[str, Any]) -> None:
        """Take the server's name, if this result has it [2026-07-28 basic/index §`_meta`]; only for people to read."""
        meta = result.get("_meta")
        info = meta.get(envelope.SERVER_INFO) if isinstance(meta, dict) else None
        if info is None:
            return
        try:
            self._owner.server_info = decode(
                Implementation, info, connection.session.rules, "serverInfo", connection.forgive)
        except DecodeError as error:
            connection.counters.note("malformed server info", str(error))
        else:
            connection.session.peer_info = info


def _stated(answer: Dict[str, Any]) -> str:
    """Return the revision that an answer to `initialize` states, which decides how the rest of it is read."""
    stated = answer.get("protocolVersion")
    if not isinstance(stated, str):
        got = json_type(stated) if "protocolVersion" in answer else "nothing"
        text = "the answer to initialize: result.protocolVersion: expected string, got %s" % got
        raise PeerProtocolError(text, lifecycle.CITATION)
    return stated


DEFAULT_ERA = "auto"
"""The default of ``era``: a key of `mcp_ref.protocol.lifecycle.ERAS`."""

_SLICE = 0.5
"""Seconds that are waited in one go, so that a Ctrl-C is seen."""
_STEPS = 6
"""The attempts with one server, at most; three are enough for one that does not contradict itself."""


class Opening:
    """Opens one connection; used once, by one thread. ``known``: the name of the revision spoken the last time."""

    def __init__(self, owner: "Client", connection: Connection, known: Optional[str] = None) -> None:
        self._owner = owner
        self._connection = connection
        self._limits = owner.limits
        self._modern = lifecycle.without_handshake(owner.revisions)
        self._legacy = lifecycle.with_handshake(owner.revisions)
        self._known = known
        self._answers: "SimpleQueue[Tuple[Pending, Any]]" = SimpleQueue()
        """The answers that the reader has taken for our requests."""
        self._has_come = threading.Event()
        """Set after something was put into ``_answers``."""
        self._open: Dict[str, Pending] = {}
        """The requests of ours that have no answer: method -> request."""
        self._deadline = Deadline(None)
        """The end of the wait for all of them."""
        self._steps = 0
        self._has_offered = False
        """True once `initialize` was sent."""

    @property
    def is_guessing(self) -> bool:
        """True while only `server/discover` was sent; a server of a revision with handshake may not survive that."""
        return bool(self._legacy) and not self._has_offered and not self._is_known(self._modern)

    def _is_known(self, revisions: Tuple[Revision, ...]) -> bool:
        return any(r.name == self._known for r in revisions)

    def run(self) -> None:
        """Open the connection. Raises what `Client.open` raises."""
        if not self._modern:
            self._handshake(self._legacy)
            return
        if self._is_known(self._legacy):
            try:
                self._handshake(self._legacy)
                return
            except PeerError:
                self._known = None  # it is not what it was the last time: find out
        is_sure = not self._legacy or self._is_known(self._modern)
        self._ask(self._modern[-1], self._limits.initialize_timeout if is_sure else self._limits.probe_timeout)
        answer = self._next()
        if answer is None and not self._legacy:
            self._drop()
            raise RequestTimeout("%s got no answer in %g s; %s" % (
                DISCOVER, self._limits.initialize_timeout, self._advice()))
        if answer is None:
            self._offer_both()
        elif not self._settled(answer[1]):
            self._fall_back(answer[1])

    # The handshake era

    def _handshake(self, ours: Tuple[Revision, ...]) -> None:
        """Send `initialize`, and nothing else.

        If the server answers with an error that names versions of ours without handshake, one of those is spoken.
        """
        self._drop()
        connection = self._fresh_session()
        opening = self._owner._handshake.introduce(connection, ours)
        self._has_offered = True
        try:
            answer = connection.request(INITIALIZE, opening, timeout=self._limits.initialize_timeout)
        except PeerError as error:
            if not modern(error) or error.code != UNSUPPORTED_PROTOCOL_VERSION or (
                    lifecycle.pick(error.data["supported"], self._modern) is None):
                raise
            self._take(error)
        else:
            self._owner._handshake.accept(connection, answer, ours)

    def _fresh_session(self) -> Connection:
        """Return the connection with a new session, as if nothing had been said on it."""
        self._steps += 1
        if self._steps > _STEPS:
            raise PeerProtocolError("the server contradicts itself about the revisions that it speaks")
        connection = self._connection
        connection.session = Session(connection.session.party, connection.session.lenient)
        connection.session.extensions = self._owner.extensions
        connection.batching = False
        connection.envelope = None
        return connection

    # The stateless era

    def _ask(self, revision: Revision, seconds: float) -> None:
        """Send `server/discover` by the rules of this revision; `_next` will wait for ``seconds``."""
        self._owner._handshake.assume(self._fresh_session(), revision)
        self._send(DISCOVER, None)
        self._restart_deadline(seconds)

    def _settled(self, outcome: Any) -> bool:
        """Open the session, if this answer is that of a server without handshake; False if it is not."""
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

    def _agree(self, revision: Revision, discovered: Optional[Dict[str, Any]]) -> None:
        """Speak this revision from now on; ``discovered``: the result of `server/discover`, if there is one."""
        self._drop()
        if revision.stateless:
            self._owner._handshake.assume(self._connection, revision)
            self._owner._handshake.discovered(self._connection, discovered)
        else:
            self._handshake(tuple(r for r in self._legacy if r.rank <= revision.rank))

    def _take(self, error: PeerError) -> None:
        """Take an error that only a server without handshake sends: ask again as it wants to be asked."""
        self._drop()
        if error.code == METHOD_NOT_FOUND:  # it ought to know this method; it may know all others
            self._agree(self._modern[-1], None)
            return
        if error.code != UNSUPPORTED_PROTOCOL_VERSION:
            raise error
        revision = self._pick(error.data["supported"])
        if not revision.stateless:
            self._agree(revision, None)
            return
        self._ask(revision, self._limits.initialize_timeout)
        answer = self._next()
        if answer is None:
            self._drop()
            raise RequestTimeout("%s got no answer in %g s" % (DISCOVER, self._limits.initialize_timeout))
        outcome = answer[1]
        if isinstance(outcome, McpError):
            raise outcome
        if not self._settled(outcome):
            raise PeerProtocolError("the answer to %s has no versions, or no capabilities" % DISCOVER)

    def _pick(self, names: List[Any]) -> Revision:
        """Return the newest revision in common [2026-07-28 basic/versioning §Protocol Version Negotiation] SHOULD."""
        revision = lifecycle.pick(names, self._owner.revisions)
        if revision is None:
            text = lifecycle.apart(names, self._owner.revisions)
            raise PeerProtocolError("the server speaks revisions %s" % text)
        return revision

    # Between the two

    def _fall_back(self, outcome: Any) -> None:
        """Send `initialize`, for this answer is that of a server of the handshake era
        [2026-07-28 basic/versioning §Backward Compatibility with Initialization-Based Versions]."""
        is_lost = isinstance(outcome, McpError) and not isinstance(
            outcome, (PeerError, PeerProtocolError, HttpStatus, AnswerLost))
        status = outcome.status if isinstance(outcome, (PeerError, HttpStatus)) else None
        if is_lost or (status is not None and not older(status)):
            raise outcome
        broke = isinstance(outcome, AnswerLost) or (status or 0) >= 500
        if not self._legacy and broke:
            raise outcome
        if not self._legacy:
            self._refuse(outcome)
        try:
            self._handshake(self._legacy)
        except McpError:
            if broke:  # so the failure had nothing to do with the era
                raise outcome from outcome.__cause__
            raise

    def _refuse(self, outcome: Any) -> NoReturn:
        """Raise an error that says what the user can do [2026-07-28 basic/versioning §Compatibility Matrix]."""
        answer = "with %s" % outcome if isinstance(outcome, McpError) else "with a result of another form"
        raise PeerProtocolError(
            "the server answered %s %s: %s" % (DISCOVER, answer, self._advice()),
            "2026-07-28 basic/versioning §Compatibility Matrix",
        )

    def _advice(self) -> str:
        return ("it seems to speak only revisions that begin with a handshake, and this client speaks %s; use era="
                "\"auto\" or \"legacy\", or a newer server" % ", ".join(str(r) for r in self._modern))

    def _offer_both(self) -> None:
        """Send a silent server `initialize`, too, and go by what it answers first."""
        connection = self._fresh_session()
        self._send(INITIALIZE, self._owner._handshake.introduce(connection, self._legacy))
        self._restart_deadline(self._limits.initialize_timeout)
        self._has_offered = True
        refused: Optional[McpError] = None
        while True:
            answer = self._next()
            if answer is None:
                self._drop()
                raise refused or RequestTimeout("the server answered neither %s nor initialize in time%s%s" % (
                    DISCOVER, connection.table.useless(), last_words(connection.transport)))
            method, outcome = answer
            if method == DISCOVER and self._settled(outcome):
                return
            if method == DISCOVER and refused is None:
                continue  # as expected of a server of the handshake era
            if method == INITIALIZE and isinstance(outcome, dict):
                self._drop()
                self._owner._handshake.accept(connection, outcome, self._legacy)
                return
            if method == INITIALIZE and self._settled(outcome):
                return
            if refused is not None or DISCOVER not in self._open:
                raise refused or outcome
            refused = outcome
            left = self._deadline.left()
            probe = self._limits.probe_timeout
            self._restart_deadline(probe if left is None else min(probe, left))

    # Requests without an answer

    def _restart_deadline(self, seconds: float) -> None:
        """Restart the deadline of all open requests; it pauses while the user is being asked."""
        self._deadline = Deadline(seconds)
        for pending in self._open.values():
            self._connection.table.start(pending, self._deadline)

    def _send(self, method: str, params: Optional[Dict[str, Any]]) -> None:
        self._open[method] = self._connection.open_request(method, params, timeout=None, settle=self._settle)

    def _settle(self, pending: Pending, item: Any) -> None:
        """Take what arrives for a request; runs on the reader."""
        if not isinstance(item, Progress):
            self._answers.put((pending, item))
            self._has_come.set()

    def _next(self) -> Optional[Tuple[str, Any]]:
        """Return the next answer: the method, and a result or an exception. None if the time is over."""
        while True:
            try:
                pending, item = self._answers.get_nowait()
            except Empty:
                left = self._deadline.left()
                if left == 0:
                    return None
                self._has_come.wait(_SLICE if left is None else min(_SLICE, left))
                self._has_come.clear()
                continue
            if self._open.get(pending.method) is pending:
                del self._open[pending.method]
                try:
                    return pending.method, pending.answer(item)
                except McpError as error:
                    return pending.method, error

    def _drop(self) -> None:
        """Wait for no open request any more; the server is told nothing."""
        for pending in self._open.values():
            if self._connection.table.remove(pending):
                self._connection.table.unwanted.add(pending.id)
                self._connection.abandon(pending)
        self._open.clear()
