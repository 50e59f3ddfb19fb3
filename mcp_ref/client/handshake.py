"""What client and server tell each other of themselves: in the handshake, or without one.

In the handshake era that is `initialize` and its answer, once [..2025-11-25 basic/lifecycle §Initialization]. In the
stateless era the client says it in each request [2026-07-28 basic/index §`_meta`], and the server in the result of
`server/discover` and, as far as its name goes, in every result. Who asks what, and when, is told in
`mcp_ref.client.era`.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Optional, Sequence

from ..codec import DecodeError, decode, encode
from ..errors import PeerProtocolError
from ..jsonrpc import json_type
from ..messages.base import Implementation
from ..messages.lifecycle import ClientCapabilities, InitializeRequestParams, InitializeResult
from ..options import REQUEST_TIMEOUT, spelt
from ..peer.dispatcher import Connection
from ..peer.request_table import ProgressCallback
from ..protocol import envelope, negotiation
from ..protocol.capabilities import extensions_in
from ..revisions import Revision
from .cache.caches import DISCOVER, Lists
from .calls import Calls
from .requests import Options, Reader
from .subscriptions import Subscriptions

if TYPE_CHECKING:
    from ..messages.discover import DiscoverResult

ASSUMED: Dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}, "completions": {}, "logging": {}}
"""The capabilities of a server that would not name them: it may be asked for anything."""


class Greeting(Calls):
    """The part of a `Client` that introduces it, and takes what the server says of itself."""

    info: Implementation
    offered: Callable[[Revision], ClientCapabilities]
    server_info: Optional[Implementation] = None
    """Who the server says it is; known after `open`, if it says so."""
    server_capabilities: Mapping[str, Any] = {}
    """What the server says that it can do, a JSON object as it came: ``"tools" in client.server_capabilities``; known
    after `open`, {} where a server does not say. What the client declares is in ``capabilities``."""
    instructions: Optional[str] = None
    """How the server wants to be used; for the model."""
    _log_level: Optional[str] = None

    def declared(self, revision: Revision) -> Dict[str, Any]:
        """What this client declares in a revision, as it is on the wire."""
        return self.with_extensions(encode(self.offered(revision), revision), revision)

    @property
    def server_extensions(self) -> Dict[str, Dict[str, Any]]:
        """The extensions that the server has declared: identifier -> settings.

        [2026-07-28 basic/versioning §Extension Negotiation]
        """
        return extensions_in(self.server_capabilities)

    # With a handshake

    def introduce(self, connection: Connection, ours: Sequence[Revision]) -> Dict[str, Any]:
        """The params of `initialize`: who we are and what we can [..2025-11-25 basic/lifecycle §Initialization] MUST.

        ``ours``: what may be agreed on, newest last, which is offered.
        """
        opening = encode(InitializeRequestParams(ours[-1].name, self.offered(ours[-1]), self.info), ours[-1])
        connection.session.capabilities = self.with_extensions(opening["capabilities"], ours[-1])
        return opening

    def shake_hands(self, connection: Connection, answer: Dict[str, Any], ours: Sequence[Revision]) -> None:
        """Take the server's answer to that, and say `initialized`. Raises `PeerProtocolError` if it will not do."""
        agreed = negotiation.accept(_stated(answer), ours)
        try:
            result = decode(InitializeResult, answer, agreed, "result")
        except DecodeError as error:
            raise PeerProtocolError("the answer to initialize: %s" % error, negotiation.CITATION) from None
        session = connection.session
        session.capabilities = self.with_extensions(encode(self.offered(ours[-1]), agreed), agreed)
        session.peer_capabilities = self.server_capabilities = answer["capabilities"]
        session.peer_info, self.server_info = answer["serverInfo"], result.server_info
        session.instructions = self.instructions = result.instructions
        self._begin(connection, self.server_capabilities)
        connection.agree(agreed)
        if connection.exchanges is not None:
            connection.exchanges.agreed(agreed)
        connection.notify("notifications/initialized")
        connection.keep_alive()

    def _begin(self, connection: Connection, told: Mapping[str, Any]) -> None:
        """Nothing is known of this server yet; ``told``: the capabilities by which it tells what changes."""
        place = (connection.transport.address or connection.transport.origin, connection.session.rules.name)
        connection.state["lists"] = Lists(told, self.limits, self.cache, place)
        connection.state["subscriptions"] = Subscriptions(self.limits.max_subscriptions)
        self._results = None  # it is about the server of the connection before

    # Without

    def assume(self, connection: Connection, revision: Revision) -> None:
        """Speak this revision, and say everything in each request [2026-07-28 basic/index §`_meta`] MUST."""
        connection.assume(revision, "")
        self.enclose(connection)

    def enclose(self, connection: Connection) -> None:
        """What each request says of us: also who we are [2026-07-28 basic/index §`_meta`] SHOULD."""
        session = connection.session
        info = encode(self.info, session.rules)
        connection.envelope = envelope.fields(session.rules, session.capabilities, info, self._log_level)

    def discovered(self, connection: Connection, found: Optional[Dict[str, Any]]) -> None:
        """Take the first result of `server/discover`, and begin; None: the server would not say what it is."""
        self.server_info, self.server_capabilities, self.instructions = None, {}, None
        if found is None:
            connection.session.peer_capabilities = ASSUMED
        else:
            self._learn(connection, found)
        self._begin(connection, {})  # changes are told to those who listen
        exchanges = connection.exchanges
        if exchanges is not None:
            exchanges.agreed(connection.session.rules)
            if exchanges.mirrors:
                from .mirroring import annotations_of

                exchanges.annotations = annotations_of(connection)

    def _ask_for_logs(self, level: str) -> None:
        """Say in each request which log messages we want to hear.

        Reading: also to a server that has not declared ``logging``. It is no request that could be refused, and there
        are servers that log without having declared it.
        """
        self._known("lists")
        self._log_level = level
        self.enclose(self.connection)

    @spelt
    def discover(
        self, refresh: bool = False, *, timeout: Optional[float] = REQUEST_TIMEOUT,
        progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "DiscoverResult":
        """Ask the server what it is and what it can do; `open` has done so, and this asks anew.

        From memory, as long as the server said that its answer is good; ``refresh`` asks. What the server says that
        it can do holds from then on: a feature that it had not declared before may be asked for. ``timeout`` (seconds)
        and the other options: see `call_tool`.

        [2026-07-28 server/discover §When to Call] MAY. Older revisions have no such request: `LocalProtocolError`.
        """
        connection = self.connection

        def read(result: Dict[str, Any]) -> Any:
            answer = self._reader("server/discover")(result)
            self._learn(connection, result)
            return answer

        options = Options(timeout, progress, extend_on_progress, meta)
        return self._remembered(DISCOVER, {}, 1, refresh, options, read)  # type: ignore[no-any-return]

    def _learn(self, connection: Connection, found: Dict[str, Any]) -> None:
        """Take a result of `server/discover`.

        Reading: who the server is it says in `_meta`; some say it beside, as in the handshake era.
        """
        session, instructions = connection.session, found.get("instructions")
        session.peer_capabilities = self.server_capabilities = found["capabilities"]
        session.instructions = self.instructions = instructions if isinstance(instructions, str) else None
        self.meet(connection, found)
        if self.server_info is None:
            self.meet(connection, {"_meta": {envelope.SERVER_INFO: found.get("serverInfo")}})

    def _reader(self, method: str) -> Reader:
        """See `Asking`; while it is not known who the server is, each result may tell."""
        read = super()._reader(method)
        connection = self.connection
        if self.server_info is not None or not connection.session.rules.stateless:
            return read

        def read_and_meet(result: Dict[str, Any]) -> Any:
            self.meet(connection, result)
            return read(result)

        return read_and_meet

    def meet(self, connection: Connection, result: Dict[str, Any]) -> None:
        """Take who the server is, if this result says so [2026-07-28 basic/index §`_meta`]; only for people to read."""
        meta = result.get("_meta")
        info = meta.get(envelope.SERVER_INFO) if isinstance(meta, dict) else None
        if info is None:
            return
        try:
            self.server_info = decode(Implementation, info, connection.session.rules, "serverInfo")
        except DecodeError as error:
            connection.counters.note("malformed server info", str(error))
        else:
            connection.session.peer_info = info


def _stated(answer: Dict[str, Any]) -> str:
    """The revision that an answer to initialize states, which decides how the rest of it is read."""
    stated = answer.get("protocolVersion")
    if not isinstance(stated, str):
        got = json_type(stated) if "protocolVersion" in answer else "nothing"
        text = "the answer to initialize: result.protocolVersion: expected string, got %s" % got
        raise PeerProtocolError(text, negotiation.CITATION)
    return stated
