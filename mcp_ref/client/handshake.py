"""The handshake: what client and server tell each other of themselves, with `initialize` or without it.

In the handshake era that is `initialize` and its answer, once [..2025-11-25 basic/lifecycle §Initialization]. In the
stateless era the client says it in each request [2026-07-28 basic/index §`_meta`], and the server in the result of
`server/discover` and, as far as its name goes, in every result. `mcp_ref.client.era` decides which is sent, and when.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Optional, Sequence

from ..codec import DecodeError, decode, encode
from ..errors import PeerProtocolError
from ..jsonrpc import json_type
from ..messages.base import Implementation
from ..messages.lifecycle import ClientCapabilities, InitializeRequestParams, InitializeResult
from ..methods import INITIALIZED
from ..peer.dispatcher import Connection
from ..protocol import envelope, negotiation
from ..protocol.capabilities import UNDECLARED
from ..revisions import Revision
from .cache import ServerCache, SharedAnswers

if TYPE_CHECKING:
    from .client import Client

ASSUMED: Dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}, "completions": {}, "logging": {}}
"""The capabilities of a server that does not name them: it may be asked for anything."""


class Handshake:
    """Introduces a client to its server, and takes what the server says of itself.

    ``info`` is the client's name, ``declared_to(revision)`` returns the capabilities that it declares to a server of
    that revision; ``shared``: where public answers are shared with other clients. What the server says is stored in the
    owner: ``server_info``, ``server_capabilities``, ``instructions``.
    """

    def __init__(
        self, owner: "Client", info: Implementation, declared_to: Callable[[Revision], ClientCapabilities],
        shared: Optional[SharedAnswers] = None,
    ) -> None:
        self._owner = owner
        self._info = info
        self._declared_to = declared_to
        self._shared = shared
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
        opening = encode(InitializeRequestParams(ours[-1].name, self._declared_to(ours[-1]), self._info), ours[-1])
        connection.session.capabilities = self._owner.with_extensions(opening["capabilities"], ours[-1])
        return opening

    def accept(self, connection: Connection, answer: Dict[str, Any], ours: Sequence[Revision]) -> None:
        """Take the server's answer to `initialize`, and send `initialized`. Raises `PeerProtocolError` if it is wrong.
        """
        agreed = negotiation.accept(_stated(answer), ours)
        try:
            result = decode(InitializeResult, answer, agreed, "result", connection.forgive)
        except DecodeError as error:
            raise PeerProtocolError("the answer to initialize: %s" % error, negotiation.CITATION) from None
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
        cache = ServerCache(capabilities, self._owner.limits, self._shared, place)
        connection.state["lists"] = cache
        if UNDECLARED in self._owner.tolerate:
            connection.session.forgive = connection.forgive
        return cache

    # Without

    def reset(self) -> None:
        """Forget the log level of the connection before: another one is about to be opened."""
        self.log_level = None

    def assume(self, connection: Connection, revision: Revision) -> None:
        """Speak this revision, and say everything in each request [2026-07-28 basic/index §`_meta`] MUST."""
        connection.assume(revision, "")
        self._fill_envelope(connection)

    def _fill_envelope(self, connection: Connection) -> None:
        """Set what each request says of us: also our name [2026-07-28 basic/index §`_meta`] SHOULD."""
        session = connection.session
        info = encode(self._info, session.rules)
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
        raise PeerProtocolError(text, negotiation.CITATION)
    return stated
