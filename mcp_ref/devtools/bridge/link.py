"""One server behind a bridge, as one session of a client has it: a client of ours, and what passes through it.

A request of the client goes one of three ways, by the eras of the two sides:

==============  ==============  ======================================================================================
the client      the server      way of `tools/call`, `prompts/get`, `resources/read`
==============  ==============  ======================================================================================
stateless       stateless       as it is: a result that asks for input goes to the client, who comes back with answers
handshake       stateless       what a result asks is a request to the client; `Client` sends the rounds
stateless       handshake       `mcp_ref.devtools.bridge.parked`: a request of the server's ends a round of the client's
handshake       handshake       as it is, and so is a request of the server's
==============  ==============  ======================================================================================

All other requests are answered in one step in either era.
"""

import copy
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Optional

from ...client.client import Client
from ...client.options import REQUEST_DEFAULTS
from ...errors import (
    INVALID_PARAMS, METHOD_NOT_FOUND, CapabilityMissing, ConnectionLost, HttpStatus, InputUnavailable,
    LocalProtocolError, McpError, PeerError, PeerProtocolError, RequestCancelled, RpcError,
)
from ...messages.logs import LEVELS
from ...methods import (
    DISCOVER, INITIALIZE, LIST_CHANGED, PING, REQUEST, SERVER, SET_LOG_LEVEL, SUBSCRIBE, TASKS, UNSUBSCRIBE, is_vendor,
    lookup, of_extension,
)
from ...peer.context import Context, Route
from ...peer.dispatcher import Connection
from ...peer.extension import Extension
from ...peer.request_table import ProgressCallback
from ...protocol.envelope import LOG_LEVEL
from ...protocol.lifecycle import has
from ...revisions import Revision
from ...transports.base import Transport
from . import tasks, translation
from .translation import OFFICIAL, Json

if TYPE_CHECKING:
    from ...messages.lifecycle import ClientCapabilities
    from ...peer.role import Role
    from .session import BridgeSession


class UpstreamServer:
    """A server behind a bridge: what makes a transport to it, and what was found out about it.

    ``prefix``: that of its names; "" for the only server, whose names are as they are. ``open(number)`` returns a
    transport, not opened yet, for the session of this number. ``era``: as for `Client`; None: the era of each client,
    if the server has that, for what is not translated loses nothing.
    """

    def __init__(self, prefix: str, name: str, open: Callable[[int], Transport], era: Optional[str] = None) -> None:
        self.prefix = prefix
        self.name = name
        self.open = open
        self.era = era
        self.eras: Dict[str, str] = {}
        """The revisions that it was found to speak, see `Client`."""
        self.has_handshake = True
        """False once it was found to have none."""


class ForwardedExtension(Extension):
    """An extension whose requests and notifications a bridge passes on; those of an official one have to be known.

    ``answer``: makes the route of its requests, at the side that serves; None at the other side.
    """

    def __init__(
        self, identifier: str, answer: Optional[Callable[[str, Revision], Route]] = None,
        settings: Optional[Json] = None,
    ) -> None:
        self.identifier = identifier
        self.methods = of_extension(identifier)
        if identifier not in OFFICIAL:
            self.since = None  # declared in all revisions: it may be as old as apps are
        self._answer = answer
        self._settings = {} if settings is None else settings

    def settings(self, role: "Role") -> Json:
        """Return what the other side has declared."""
        return self._settings

    def route(self, role: "Role", method: str, revision: Revision) -> Optional[Route]:
        """Return how a request is passed on; None at the side that sends it."""
        return None if self._answer is None else self._answer(method, revision)


class ClientBehind(Client):
    """The client of one session to one server behind a bridge. The session answers the server's requests and passes
    its notifications on."""

    def __init__(
        self, link: "UpstreamConnection", info: Mapping[str,
                                                        Any], capabilities: "ClientCapabilities", era: Optional[str]
    ) -> None:
        declared = capabilities.extensions or {}
        behind, bridge = link.behind, link.session.bridge
        super().__init__(
            str(info.get("name", "")), str(info.get("version", "")), title=info.get("title"),
            capabilities=capabilities, on_notification=partial(link.session.tell, link), limits=bridge.limits,
            check_results=False, tasks=None if link.session.revision.handshake else False, eras=behind.eras, era=era,
            extensions=[ForwardedExtension(name, settings=settings) for name, settings in declared.items()])
        self._link = link
        self._takes_tasks = True  # `mcp_ref.devtools.bridge.tasks` says of which calls

    def route(self, connection: Connection, method: str, revision: Revision) -> Optional[Route]:
        """Return how a request of the server is passed on to the client; None if the client has not declared it."""
        row = lookup(method, revision)
        asks = row is not None and row.kind == REQUEST and row.sender == SERVER or is_vendor(method)
        tasks = row is not None and row.capability is not None and row.capability.startswith("tasks")
        if not asks and not tasks:
            return super().route(connection, method, revision)
        if row is not None and row.capability is not None and not has(connection.session.capabilities, row.capability):
            return None
        return Route(self._link.session.ask)

    def on_closed(self, connection: Connection, reason: str) -> None:
        """Tell the session that the server has gone, if nobody wanted that."""
        super().on_closed(connection, reason)
        self._link.lost(connection, reason)


class UpstreamConnection:
    """The way from one session to one server behind."""

    def __init__(self, session: "BridgeSession", behind: UpstreamServer) -> None:
        self.session = session
        self.behind = behind
        self._client: Optional[ClientBehind] = None
        self.tasks: Optional[tasks.TaskTranslation] = None
        """The way of tasks, where they are translated."""
        self._level: Optional[int] = None
        """The level of log messages that a server with a handshake was asked for, as an index of LEVELS."""
        self._lock = threading.Lock()

    # Life

    @property
    def client(self) -> ClientBehind:
        """The client. Raises `ConnectionLost` before `open`."""
        if self._client is None:
            raise ConnectionLost("the server behind is not connected")
        return self._client

    @property
    def revision(self) -> Revision:
        """The revision that the server behind speaks."""
        return self.client.revision

    def open(self, info: Mapping[str, Any], capabilities: "ClientCapabilities", number: int) -> None:
        """Start or reach the server, in the era of the client if it has that. Raises as `Client.open`."""
        behind = self.behind
        if behind.era is None and self.session.revision.handshake and behind.has_handshake:
            try:
                self._open("legacy", info, capabilities, number)
                return
            except (PeerError, PeerProtocolError, HttpStatus):
                pass  # it answers, and not as a server with a handshake does: that of no era says why below
        self._open(behind.era, info, capabilities, number)

    def _open(
        self, era: Optional[str], info: Mapping[str, Any], capabilities: "ClientCapabilities", number: int
    ) -> None:
        if self.behind.prefix and TASKS in (capabilities.extensions or {}):  # nothing says whose a task is
            others = {name: each for name, each in (capabilities.extensions or {}).items() if name != TASKS}
            capabilities = copy.copy(capabilities)
            capabilities.extensions = others
        client = self._client = ClientBehind(self, info, capabilities, era)
        client.open(self.behind.open(number))
        self.tasks = tasks.between(self)
        if self.session.revision.handshake:
            self.behind.has_handshake = client.revision.handshake
        if self.session.revision.handshake and client.revision.stateless:
            self._listen(client)

    def _listen(self, client: ClientBehind) -> None:
        """Ask a stateless server to tell of its lists, for a client with a handshake is told of them unasked."""
        features = [feature for feature in LIST_CHANGED if has(client.server_capabilities, feature + ".listChanged")]
        try:
            if features:
                client.listen(*features)
        except McpError as error:
            self.session.counters.note("not listened to", str(error))

    def close(self) -> None:
        """End the connection, and the child process if there is one. Waits for it."""
        if self._client is not None:
            self._client.close()

    def lost(self, connection: Connection, reason: str) -> None:
        """Take that the connection to the server has ended."""
        client = self._client
        pipe = connection.exchanges is None and not connection.session.rules.stateless
        if client is not None and client.wanted and pipe and connection.session.revision is not None:
            self.session.lost(self, reason)

    # Requests of the client

    def forward(self, context: Context, method: str, params: Json) -> Json:
        """Answer a request by that of the server behind. Raises `RpcError` and `RequestCancelled`."""
        front = context.session.rules
        own = _STATELESS_WAYS.get(method)
        if own is not None and self.revision.stateless:
            try:
                own(self, params)
            except McpError as error:
                raise self.failure(context, method, error) from error
            return {}
        client, behind = self.client, self.revision
        sent = translation.params_of(method, params, front, behind)
        meta = self.meta(context, params)
        if meta:
            sent["_meta"] = meta
        progress = self.progress(context, params)
        try:
            if front.handshake and behind.stateless and not is_vendor(method):
                result = client._requests.call(
                    method, sent, {**REQUEST_DEFAULTS, "timeout": None, "progress": progress}, lambda result: result,
                    within=context.incoming)
            else:
                result = client.request(method, sent, None, progress, False, context.incoming)
        except McpError as error:
            raise self.failure(context, method, error) from error
        finally:
            self.let_be_heard()
        made = translation.result_of(method, result, behind, front)
        return made if self.tasks is None else self.tasks.outward(method, made)

    def let_be_heard(self) -> None:
        """Wait until what the server has told before its answer is passed on: it goes with the request."""
        self.client.connection.wait_heard(self.session.bridge.limits.drain)

    def meta(self, context: Context, params: Json) -> Json:
        """Return the `_meta` for the server behind; a server with a handshake is asked for log messages beside it."""
        meta = translation.meta_of(params)
        level = context.session.log_level
        if level is None:
            return meta
        if self.revision.stateless:
            meta[LOG_LEVEL] = level
        elif has(self.client.server_capabilities, "logging"):
            self._want_level(LEVELS.index(level))
        return meta

    def _want_level(self, level: int) -> None:
        """Ask for log messages from this level up, if fewer were asked for so far."""
        with self._lock:
            if self._level is not None and self._level <= level:
                return
            self._level = level
        try:
            self.client.request(SET_LOG_LEVEL, {"level": LEVELS[level]})
        except McpError as error:
            self.session.counters.note("log level refused", str(error))

    @staticmethod
    def progress(context: Context, params: Json) -> Optional[ProgressCallback]:
        """Return the function that passes progress on; None if the client has not asked for any."""
        meta = params.get("_meta")
        if not isinstance(meta, dict) or "progressToken" not in meta:
            return None
        return lambda value, total, message: forward_progress(context, value, total, message)

    def failure(self, context: Context, method: str, error: McpError) -> McpError:
        """Return the error for the client of a request that has failed behind."""
        if isinstance(error, PeerError):
            return translation.error_of(error, method, self.revision, context.session.rules)
        if isinstance(error, InputUnavailable) and isinstance(error.__cause__, RpcError):
            return error.__cause__
        if isinstance(error, (RpcError, RequestCancelled)):
            return error
        if isinstance(error, LocalProtocolError):  # the server has not this request, or not for these params
            code = METHOD_NOT_FOUND if isinstance(error, CapabilityMissing) else INVALID_PARAMS
            return RpcError(code, "%s cannot be passed on: %s" % (method, error))
        return self.session.broken(context.connection, error)

    # What the server is

    def capabilities(self, revision: Revision) -> Json:
        """Return the capabilities of the server, as they are declared to a client of this revision."""
        made = translation.server_capabilities(self.client.server_capabilities, self.revision, revision)
        return made if self.tasks is None else self.tasks.declare(made)


def forward_progress(context: Context, value: float, total: Optional[float], message: Optional[str]) -> None:
    """Pass one step of progress on; one that is no step forward, or that nobody waits for any more, is dropped."""
    try:
        context.progress(value, total, message)
    except (ValueError, RequestCancelled, LocalProtocolError):
        context.connection.counters.add("progress dropped")


def _set_level(link: UpstreamConnection, params: Json) -> None:
    level = params.get("level")
    if level not in LEVELS:
        raise RpcError(INVALID_PARAMS, "Invalid params: params.level: expected one of %s" % ", ".join(LEVELS))
    link.client.set_log_level(level)


def _uri_of(params: Json) -> str:
    uri = params.get("uri")
    if not isinstance(uri, str):
        raise RpcError(INVALID_PARAMS, "Invalid params: params.uri: expected string")
    return uri


_STATELESS_WAYS: Dict[str, Callable[[UpstreamConnection, Json], object]] = {
    SET_LOG_LEVEL: _set_level,
    SUBSCRIBE: lambda link, params: link.client.subscribe_resource(_uri_of(params)),
    UNSUBSCRIBE: lambda link, params: link.client.unsubscribe_resource(_uri_of(params)),
}
"""Request that stateless servers do not have -> the function that does the same there."""
NOT_FORWARDED = frozenset((INITIALIZE, DISCOVER, PING))
"""Requests that a bridge answers itself."""
