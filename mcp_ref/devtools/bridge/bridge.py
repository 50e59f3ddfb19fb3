"""The bridge: a server whose answers are those of another server, over another transport, in another revision.

Who shares a server behind, which may keep state for its client:

=============================================  =======================================================================
the client                                     has
=============================================  =======================================================================
with a handshake                               a server of its own for each session: a child process, or a session of
                                               its own over HTTP. It ends with the session
stateless, on a pipe or a socket               one for its connection
stateless, over HTTP                           one for each principal, name, version and declared capabilities. It ends
                                               after ``session_idle`` seconds without a request
=============================================  =======================================================================

Reading: a stateless request stands alone [2026-07-28 basic/index §Statelessness], and a server with a handshake cannot
forget. What it was told of the client in `initialize` has to be true of all who share it, and so has the principal.
Clients that need not show who they are cannot be told apart: where they must not share a server, ask for tokens, or
serve clients with a handshake alone (``revisions``).

There are at most ``max_bridge_sessions`` sessions, and no more than the process has descriptors for. A token of a
client is for the bridge, and is not passed on; the bridge shows the server behind one of its own
[2026-07-28 basic/authorization/security-considerations §Access Token Privilege Restriction] MUST NOT.
"""

import threading
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, Hashable, List, Mapping, Optional, Sequence, Set, TypeVar, Union,
)

from ... import deadline
from ...client.connecting import Target, is_command, transport_to
from ...client.options import StartOptions
from ...codec import decode, encode
from ...errors import INTERNAL_ERROR, LocalProtocolError, McpError, RpcError
from ...jsontext import dumps
from ...limits import DEFAULT, Limits
from ...messages.base import Implementation
from ...messages.discover import DiscoverResult
from ...messages.lifecycle import InitializeResult, ServerCapabilities
from ...messages.subscriptions import SubscriptionsListenRequestParams
from ...methods import DISCOVER, INITIALIZE, LISTEN, REQUEST, SERVER, WIRE, is_vendor, lookup
from ...options import takes, with_defaults
from ...peer.context import Context, Route, params_reader
from ...peer.dispatcher import Connection
from ...peer.extension import Extensions
from ...protocol.envelope import SERVER_INFO
from ...revisions import Revision
from ...server import handshake
from ...server.hints.values import to_json
from ...server.server import Server
from ...threads import start_or_call
from ...transports.base import Transport
from ...transports.lines.fds import raise_soft_limit
from ...version import __version__
from . import translation
from .link import NOT_FORWARDED, ForwardedExtension, UpstreamServer
from .session import BridgeSession
from .translation import OFFICIAL, Json

if TYPE_CHECKING:
    import os

    from typing_extensions import Unpack

    from ...streamable.client.auth_provider import Authorizer, Authorizing
    from ...streamable.server.authenticate import Guard
    from ...wiretrace import Trace

Reached = Union[Target, Callable[[], Transport]]
"""A server behind: as for `mcp_ref.connect`, or a function that returns a new transport for each session."""
Self = TypeVar("Self", bound="Bridge")
_IN_FRONT, _BEHIND, _SPARE = 4, 10, 64
"""The descriptors that a session takes in front and for each server behind, and those that the process has besides."""
EVERYTHING: Dict[str, Any] = {
    "logging": {}, "completions": {}, "tools": {"listChanged": True}, "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True}, "extensions": {name: {} for name in OFFICIAL},
}
"""The capabilities of the connections of stateless clients. What the server behind has it says itself."""


class BehindOptions(StartOptions, total=False):
    """The options about how a server behind is started or reached, see `Bridge`."""

    era: Optional[str]


BEHIND: BehindOptions = {
    "env": None, "inherit_env": None, "cwd": None, "stderr": None, "headers": None, "token": None, "ssl_context": None,
    "cafile": None, "era": None,
}
takes_behind_options = takes(BehindOptions, BEHIND)


class Bridge(Server):
    """A server that passes everything on to another one, and back; see `mcp_ref.devtools.bridge` for what is
    translated.

    ``target``: the server behind, as for `mcp_ref.connect`: a command, an address, a `Server` of this process; or a
    function that returns a transport. None: `mount` the servers, several behind one. Each session has its own.
    ``auth_behind`` and the options from ``env`` to ``cafile`` say how it is started or reached, as for
    `mcp_ref.connect`; ``era`` which revisions it is spoken to in (default: those of the client's era, if the server has
    any of them).
    The other options are those of `Server`; tools and the like are those of the servers behind, and none are registered
    here: `mount` a `Server` of your own. Serve it as any server: `run`, `run_http`, `listen`; and `close` it, or use
    it in a ``with`` statement: then all servers that it has started are ended.
    """

    @takes_behind_options
    def __init__(
        self, target: Optional[Reached] = None, *,
        auth_behind: "Union[Authorizing, Authorizer, None]" = None,
        name: str = "mcp_ref-bridge",
        version: str = __version__,
        revisions: Optional[Sequence[Union[str, Revision]]] = None,
        limits: Limits = DEFAULT,
        strict: bool = False,
        mask_errors: Optional[bool] = None,
        keepalive: Optional[float] = None,
        auth: "Optional[Guard]" = None,
        state_keys: Optional[Sequence[Union[str, bytes]]] = None,
        trace: "Union[Trace, str, os.PathLike[str], None]" = None,
        **options: "Unpack[BehindOptions]"
    ) -> None:
        given = with_defaults(Bridge.__init__, BEHIND, options, self)
        super().__init__(name, version, revisions=revisions, limits=limits, strict=strict, mask_errors=mask_errors,
                         keepalive=keepalive, auth=auth, state_keys=state_keys, trace=trace)
        self.extensions = Extensions([ForwardedExtension(each, lambda method, revision: Route(self._forward))
                                      for each in OFFICIAL])
        self.behind: List[UpstreamServer] = []
        if target is not None:
            self.behind.append(_behind("", target, limits, auth_behind, given))
        self._lock = threading.Lock()
        """A lock that guards the next four, and is held for moments."""
        self._sessions: Dict[Hashable, BridgeSession] = {}
        """The sessions of stateless clients, by what they have in common; of others by their connection."""
        self._numbers = 0
        self._room: Optional[int] = None
        """The sessions for which there are descriptors; counted with the first one, when all servers are mounted."""
        self.failure: Optional[McpError] = None
        """The reason for which the last session could not be opened, or has ended, if that was a server behind."""
        self._ending: Set[object] = set()
        self._closed = False
        self._idle = threading.Condition(self._lock)

    def __str__(self) -> str:
        return ", ".join(each.name for each in self.behind)

    @takes_behind_options
    def mount(
        self, prefix: str, target: Reached, *, auth: "Union[Authorizing, Authorizer, None]" = None,
        **options: "Unpack[BehindOptions]"
    ) -> None:
        """Put one of several servers behind the bridge; its names get a prefix, see
        `mcp_ref.devtools.bridge.translation`.

        For a `Bridge` without a target, before it serves. The options are those of the class, and ``auth`` is its
        ``auth_behind``. Raises ValueError for a
        prefix that is none or is taken, and LocalProtocolError for a bridge of one server, or with sessions.
        """
        given = with_defaults(Bridge.mount, BEHIND, options)
        if self.behind and not self.behind[0].prefix or self._numbers:
            raise LocalProtocolError("mount servers before the bridge serves, on one that was made without a target")
        if translation.checked(prefix) in [each.prefix for each in self.behind]:
            raise ValueError("there is a server %s behind the bridge already" % prefix)
        self.behind.append(_behind(prefix, target, self.limits, auth, given))

    # Life

    def close(self) -> None:
        """End all sessions and the servers behind, and wait for that. From any thread, any number of times."""
        with self._lock:
            self._closed = True
            sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            self.later(session.close)
        limits = self.limits
        with self._lock:
            self._idle.wait_for(lambda: not self._ending, limits.shutdown_grace + limits.terminate_grace + 1.0)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def run(self) -> None:
        """Serve one client over standard input and output; as `Server.run`. Then `close`."""
        try:
            super().run()
        finally:
            self.close()

    def later(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Do something that may take time on a thread of its own; `close` waits for it."""
        token = object()
        with self._lock:
            self._ending.add(token)

        def act() -> None:
            try:
                function(*arguments)
            finally:
                with self._lock:
                    self._ending.discard(token)
                    self._idle.notify_all()

        start_or_call("mcp-ref:bridge:end", act)

    # Sessions

    @property
    def sessions(self) -> int:
        """The number of sessions that are open: so many servers behind are in use."""
        with self._lock:
            return len(self._sessions)

    def _new_session(
        self, key: Hashable, revision: Revision, info: Mapping[str, Any], capabilities: Mapping[str, Any],
        front: Optional[Connection],
    ) -> BridgeSession:
        """Return a session that is entered, and not opened yet; or the one of this key. Raises `RpcError` at the limit.
        """
        most = self.limits.max_bridge_sessions
        with self._lock:
            found = self._sessions.get(key)
            if found is not None:
                return found
            if not self.behind:
                raise RpcError(INTERNAL_ERROR, "No server stands behind this bridge: mount() one")
            if self._closed:
                raise RpcError(INTERNAL_ERROR, "The bridge is shutting down")
            if len(self._sessions) >= most:
                raise RpcError(INTERNAL_ERROR, "Busy: max_bridge_sessions (%d) sessions are open" % most)
            if self._room is None:
                each = _IN_FRONT + _BEHIND * len(self.behind)
                self._room = (raise_soft_limit(most * each + _SPARE) - _SPARE) // each
            if len(self._sessions) >= self._room:
                raise RpcError(INTERNAL_ERROR, "Busy: %d sessions are open, and the bridge may have descriptors for no"
                               " more (ulimit -n)" % len(self._sessions))
            self._numbers += 1
            made = self._sessions[key] = BridgeSession(self, self._numbers, revision, info, capabilities, front)
            return made

    def discard(self, session: BridgeSession) -> None:
        """Forget a session, so that nothing new comes to it."""
        with self._lock:
            for key in [key for key, each in self._sessions.items() if each is session]:
                del self._sessions[key]

    def _session(self, context: Context) -> BridgeSession:
        """Return the session of a request, with the servers behind. Raises `RpcError` where they cannot be used."""
        connection, session = context.connection, context.session
        if session.rules.handshake:
            found: Optional[BridgeSession] = connection.state.get("bridge")
            if found is None:
                raise RpcError(INTERNAL_ERROR, "A bridge has its sessions in the memory of one process: serve it with "
                                               "sessions in memory")
            return found
        pipe = connection if connection.replies is None else None
        known = dumps(to_json([context.principal, session.peer_info, session.peer_capabilities]))
        found = self._new_session((pipe, known), session.rules, session.peer_info, session.peer_capabilities, None)
        found.used = deadline.clock()
        try:
            found.open(connection)
        except RpcError:
            self.discard(found)
            raise
        return found

    def on_open(self, connection: Connection) -> None:
        """Let the servers behind ask and tell the client from now on."""
        super().on_open(connection)
        session: Optional[BridgeSession] = connection.state.get("bridge")
        if session is not None:
            self.later(session.operating)

    def on_closing(self, connection: Connection) -> bool:
        """End the streams of changes of this connection in order."""
        with self._lock:
            sessions = list(self._sessions.values())
        return any([session.end_listening(connection) for session in sessions])

    def on_closed(self, connection: Connection, reason: str) -> None:
        """End the sessions of a client that has gone."""
        with self._lock:
            ended = [each for key, each in self._sessions.items()
                     if key is connection or isinstance(key, tuple) and key[0] is connection]
        for session in ended:
            self.discard(session)
            self.later(session.close)
        super().on_closed(connection, reason)

    def tick(self) -> None:
        """End sessions of stateless clients that were not used for long; a listener calls it about once a second."""
        super().tick()
        now = deadline.clock()
        with self._lock:
            sessions = list(self._sessions.values())
        for session in sessions:
            session.parked.expire()
            if session.front is None and session.busy:
                session.used = now
            elif session.front is None and now - session.used > self.limits.session_idle:
                self.discard(session)
                self.later(session.close)

    # Answering (see `Role`)

    def declared(self, revision: Revision) -> Dict[str, Any]:
        """Return capabilities by which nothing is refused here: the server behind decides."""
        return EVERYTHING

    def with_extensions(self, capabilities: Dict[str, Any], revision: Revision) -> Dict[str, Any]:
        """Return the capabilities as they are: those of the server behind have its extensions."""
        return capabilities

    def hears(self, method: str) -> bool:
        """Return True for a vendor's notification: it is passed on."""
        return is_vendor(method)

    def notification(self, connection: Connection, method: str, params: Dict[str, Any]) -> None:
        """Pass a client's notification on."""
        session: Optional[BridgeSession] = connection.state.get("bridge")
        if session is not None:
            session.pass_on(method, params)

    def _core_route(self, connection: Connection, method: str, revision: Revision) -> Optional[Route]:
        if method == INITIALIZE:
            # Over HTTP the thread that has brought the request waits for the answer, to know if there is a session.
            return handshake.initialize_route(self, self._introduce, inline=connection.replies is not None)
        if method == DISCOVER:
            return Route(self._discover)
        if method == LISTEN and revision.stateless:
            return Route(self._listen, deferred=True)
        row = lookup(method, revision)
        if method in NOT_FORWARDED or row is None and not is_vendor(method):
            return super()._core_route(connection, method, revision)
        if row is not None and (row.kind != REQUEST or row.sender == SERVER or row.carrier != WIRE):
            return None
        return Route(self._forward)

    def _forward(self, context: Context, params: Json) -> Json:
        session, revision = self._session(context), context.session.rules
        made = session.answer(context, context.request.method, params)
        if not revision.stateless:
            return made
        info = session.identity
        own = encode(Implementation(info.name, info.version, info.title), revision)
        return dict(made, _meta=dict(made.get("_meta") or {}, **{SERVER_INFO: own}))

    def _introduce(self, connection: Connection, revision: Revision, params: Json) -> InitializeResult:
        """Open the session of a client with a handshake, and say what the server behind is."""
        session = self._new_session(connection, revision, params["clientInfo"], params["capabilities"], connection)
        connection.state["bridge"] = session
        try:
            session.open(connection)
        except RpcError:
            self.discard(session)
            raise
        info, instructions, capabilities = session.introduction(revision)
        return InitializeResult(
            revision.name, decode(ServerCapabilities, capabilities, revision, "capabilities"), info, instructions)

    def _discover(self, context: Context, params: Json) -> Json:
        revision = context.session.rules
        info, instructions, capabilities = self._session(context).introduction(revision)
        supported = [known.name for known in reversed(self.revisions)]
        made = DiscoverResult(
            supported, decode(ServerCapabilities, capabilities, revision, "capabilities"), instructions)
        made.meta = {SERVER_INFO: encode(info, revision)}
        return encode(made, revision)

    def _listen(self, context: Context, params: Json) -> None:
        asked = params_reader(SubscriptionsListenRequestParams, context.session.rules)(params, context)
        self._session(context).listen(context, asked.notifications)


def _behind(
    prefix: str, target: Reached, limits: Limits, auth: "Union[Authorizing, Authorizer, None]",
    options: "BehindOptions",
) -> UpstreamServer:
    """Return a server behind, which makes a transport for each session. Raises as `transport_to`."""
    reach: Any = {**options, "auth": auth, "limits": limits}
    era, stderr = reach.pop("era"), reach.pop("stderr")
    if isinstance(target, Transport):
        raise TypeError("a transport is for one session: pass a function that returns a new one")
    if callable(target):
        return UpstreamServer(prefix, type(target).__name__, lambda number: target(), era)
    labelled = stderr is None and is_command(target)

    def opening(number: int) -> Transport:
        lines = stderr
        if labelled:
            from ...transports.lines.stderr import PrefixWriter

            lines = PrefixWriter("%s %d| " % (prefix or "server", number))
        return transport_to(target, stderr=lines, **reach)

    opening(0)  # so that wrong options raise here
    command = " ".join(target) if isinstance(target, (list, tuple)) else type(target).__name__
    return UpstreamServer(prefix, target if isinstance(target, str) else command, opening, era)
