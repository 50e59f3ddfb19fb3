"""The server's part of the state of a session that several processes share; see `mcp_ref.peer.session_state`."""

import sys
from typing import TYPE_CHECKING, Any, Dict, Iterable

from ..errors import RpcError

if TYPE_CHECKING:
    from ..peer.dispatcher import Connection
    from .interface import ServerInterface

_LEVEL = "log_level"
SUBSCRIBED = "subscribed "
"""The prefix of the name of a value that stands for a subscription; the URI follows. Each subscription is a value of
its own, so that a change does not write or read all the others."""


def export_state(server: "ServerInterface", connection: "Connection", uris: Iterable[str]) -> Dict[str, Any]:
    """Return the log level that the client asked for, and for each of the URIs if it has subscribed to it."""
    kept: Dict[str, Any] = {}
    if _LEVEL in connection.state:
        kept[_LEVEL] = connection.state[_LEVEL]
    if server.has_feature("subscriptions"):
        for uri in uris:
            kept[SUBSCRIBED + uri] = True if server.subscriptions.has(connection, uri) else None
    return kept


def import_state(server: "ServerInterface", connection: "Connection", kept: Dict[str, Any], whole: bool) -> None:
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
