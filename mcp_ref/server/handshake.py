"""The introduction of a server: `initialize` opens a session, `server/discover` answers a client without one.

[..2025-11-25 basic/lifecycle §Initialization] [2026-07-28 server/discover §Response]. `export_state` and `import_state`
are the server's part of the state of a session that several processes share; see
`mcp_ref.peer.dispatcher.Connection.export_state`.
"""

import sys
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Optional

from ..codec import DecodeError, decode, encode
from ..errors import INTERNAL_ERROR, INVALID_PARAMS, RpcError
from ..jsontext import dumps
from ..messages.base import Implementation, RequestParams
from ..messages.lifecycle import (
    InitializeRequestParams, InitializeResult, ListChangedCapability, ResourcesCapability, ServerCapabilities,
)
from ..methods import DISCOVER
from ..peer.context import Context, Route, params_reader
from ..peer.dispatcher import Connection
from ..protocol import lifecycle
from ..protocol.envelope import SERVER_INFO
from ..revisions import LATEST_HANDSHAKE, Revision, find

if TYPE_CHECKING:
    from .server import Server

_USUAL = 4096
"""Bytes of a usual introduction. Introductions of this size are not counted one by one: ``max_sessions`` bounds them.
"""


def capabilities(
    server: "Server", revision: Revision, connection: Optional[Connection] = None
) -> ServerCapabilities:
    """Return the capabilities of a server: the features that something was registered for, and logging.

    Every server declares logging in a handshake. Without one, where logging is deprecated, only a server whose handlers
    can send log messages declares it.
    """
    has, tasks = server.has_feature, None
    if revision.tasks and has("tasks"):
        from ..ext.tasks.server.generations import capability

        tasks = capability(connection)
    return ServerCapabilities(
        experimental=server.experimental,
        logging={} if revision.handshake or server.may_log else None,
        completions={} if server.completes else None,
        prompts=ListChangedCapability(True) if has("prompts") else None,
        resources=ResourcesCapability(True, True) if has("resources") else None,
        tools=ListChangedCapability(True) if has("tools") else None,
        tasks=tasks,
    )


Introduce = Callable[[Connection, Revision, Dict[str, Any]], InitializeResult]
"""A function from a connection, its revision and the params of `initialize` to the result; raises `RpcError`."""


def initialize_route(server: "Server", introduce: Optional[Introduce] = None, inline: bool = True) -> Route:
    """Return the route of `initialize`. It runs on the reader, because how later messages are read depends on it.

    ``introduce``: a function that says who the server is and what it can do, if these are not the values of ``server``.
    ``inline=False``: for one that takes time, where a connection is read by a thread of its own: until the answer is
    there, the lifecycle has nothing come but pings.
    """

    def values(connection: Connection, revision: Revision, params: Dict[str, Any]) -> InitializeResult:
        offered = capabilities(server, revision, connection)
        return InitializeResult(revision.name, offered, Implementation(*server.identity), server.instructions)

    def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
        try:
            return _agree(server, context, params, introduce or values)
        except RpcError:
            context.connection.session.phase = lifecycle.OPENING
            raise

    return Route(answer, inline=inline)


def _agree(
    server: "Server", context: Context, params: Dict[str, Any], introduce: Introduce
) -> Dict[str, Any]:
    """Choose the revision and make the result [..2025-11-25 basic/lifecycle §Version Negotiation] MUST."""
    session = context.connection.session
    wanted = find(str(params.get("protocolVersion")))
    ours = lifecycle.with_handshake(server.revisions)
    rules = wanted if wanted is not None and wanted in ours else LATEST_HANDSHAKE
    try:
        opening = decode(InitializeRequestParams, params, rules, forgive=context.connection.forgive)
    except DecodeError as error:
        raise RpcError(INVALID_PARAMS, "Invalid params: %s" % error) from None
    _count(context.connection, params)
    revision = lifecycle.answer(opening.protocol_version, ours)
    introduced = introduce(context.connection, revision, params)
    result = encode(introduced, revision)
    if introduced.capabilities.extensions:  # older than the member: see `mcp_ref.peer.extension`
        result["capabilities"]["extensions"] = introduced.capabilities.extensions
    session.capabilities = server.with_extensions(result["capabilities"], revision)
    session.peer_capabilities = params["capabilities"]
    session.peer_info = params["clientInfo"]
    context.connection.agree(revision)
    return result


def _count(connection: Connection, params: Dict[str, Any]) -> None:
    """Count the bytes of a client's introduction, which lives as long as its session. Raises `RpcError` at a limit."""
    limits, transport = connection.limits, connection.transport
    size = len(dumps([params["capabilities"], params["clientInfo"]]))
    if size > limits.max_introduction_bytes:
        text = "capabilities and clientInfo of %d bytes exceed max_introduction_bytes (%d)"
        raise RpcError(INVALID_PARAMS, "Invalid params: " + text % (size, limits.max_introduction_bytes))
    if size <= _USUAL or transport.held is None or "introduction" in connection.state:
        return
    if not transport.held.take(transport.holder, size, "introductions"):
        text = "Busy: max_held_bytes (%d) has been reached, and capabilities and clientInfo have %d bytes"
        raise RpcError(INTERNAL_ERROR, text % (limits.max_held_bytes, size))
    connection.state["introduction"] = size


def forget(connection: Connection) -> None:
    """Give back the bytes of the introduction of a connection that has ended."""
    size, transport = connection.state.pop("introduction", 0), connection.transport
    if size and transport.held is not None:
        transport.held.free(transport.holder, size)


_LEVEL = "log_level"
SUBSCRIBED = "subscribed "
"""The prefix of the name of a value that stands for a subscription; the URI follows. Each subscription is a value of
its own, so that a change does not write or read all the others."""


def export_state(server: "Server", connection: "Connection", uris: Iterable[str]) -> Dict[str, Any]:
    """Return the log level that the client asked for, and for each of the URIs if it has subscribed to it."""
    kept: Dict[str, Any] = {}
    if _LEVEL in connection.state:
        kept[_LEVEL] = connection.state[_LEVEL]
    if server.has_feature("subscriptions"):
        for uri in uris:
            kept[SUBSCRIBED + uri] = True if server.subscriptions.has(connection, uri) else None
    return kept


def import_state(server: "Server", connection: "Connection", kept: Dict[str, Any], whole: bool) -> None:
    """Take over these values. Subscriptions are entered without a check: another process has checked them.

    ``whole``: True if these are all values of the session, so that other subscriptions have ended.
    """
    if _LEVEL in kept:
        connection.state[_LEVEL] = kept[_LEVEL]
    for name in kept:
        if not name.startswith(SUBSCRIBED):
            continue
        uri = name[len(SUBSCRIBED):]
        if kept[name]:
            try:
                server.subscriptions.add(connection, uri, sys.maxsize)
            except RpcError as error:  # no memory left in this process: the session continues without the subscription
                connection.counters.note("subscriptions without room", error.message)
        elif server.has_feature("subscriptions"):
            server.subscriptions.discard(connection, uri)
    if whole and server.has_feature("subscriptions"):
        for uri in server.subscriptions.by(connection):
            if SUBSCRIBED + uri not in kept:
                server.subscriptions.discard(connection, uri)


def discover_route(server: "Server", revision: Revision) -> Route:
    """Return the route of `server/discover`. It runs on the reader: it is quick and calls no author's code."""
    read = params_reader(RequestParams, revision)
    cache = server.caches.get(DISCOVER)

    from ..messages.discover import DiscoverResult

    def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
        read(params, context)
        supported = [known.name for known in reversed(server.revisions)]
        hints = {} if cache is None else cache.hints
        result = DiscoverResult(supported, capabilities(server, revision), server.instructions, **hints)
        if server.identify:
            result.meta = {SERVER_INFO: encode(Implementation(*server.identity), revision)}
        made = encode(result, revision)
        server.with_extensions(made["capabilities"], revision)
        return made

    return Route(answer, inline=True)
