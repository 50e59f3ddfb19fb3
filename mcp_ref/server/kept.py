"""What a server remembers of one client, for sessions that several processes share; see `mcp_ref.peer.kept`."""

from typing import TYPE_CHECKING, Any, Dict

from ..errors import RpcError

if TYPE_CHECKING:
    from ..peer.dispatcher import Connection
    from .server import Server

_LEVEL = "log_level"


def keep(server: "Server", connection: "Connection") -> Dict[str, Any]:
    """The log level that the client asked for, and what it has subscribed to."""
    kept: Dict[str, Any] = {}
    if _LEVEL in connection.state:
        kept[_LEVEL] = connection.state[_LEVEL]
    if server.has_feature("subscriptions"):
        kept["subscriptions"] = server.subscriptions.by(connection)
    return kept


def restore(server: "Server", connection: "Connection", kept: Dict[str, Any]) -> None:
    """The same again; subscriptions are entered as they are, for they were checked before."""
    if _LEVEL in kept:
        connection.state[_LEVEL] = kept[_LEVEL]
    wanted = kept.get("subscriptions", [])
    if not wanted and not server.has_feature("subscriptions"):
        return
    before = server.subscriptions.by(connection)
    for uri in set(before).difference(wanted):
        server.subscriptions.discard(connection, uri)
    try:
        for uri in set(wanted).difference(before):
            server.subscriptions.add(connection, uri, len(wanted))
    except RpcError as error:  # this process has no room; the session goes on, and hears less from here
        connection.counters.note("subscriptions without room", error.message)
