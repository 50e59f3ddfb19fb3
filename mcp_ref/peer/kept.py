"""What is left of a session when its connection is another one: for sessions that several processes share.

`keep` says it in JSON, `restore` makes a connection of another process what that says. It is also called when the
record has changed since, so it does nothing where all is as it says.
"""

from typing import TYPE_CHECKING, Any, Dict

from ..protocol import lifecycle
from ..revisions import revision

if TYPE_CHECKING:
    from .dispatcher import Connection


def keep(connection: "Connection") -> Dict[str, Any]:
    """What was agreed on, what the client said of itself, and what the role adds; nothing before the handshake."""
    session = connection.session
    if session.revision is None:
        return {}
    return {"revision": session.revision.name, "phase": session.phase, "capabilities": dict(session.peer_capabilities),
            "client": dict(session.peer_info), **connection.role.keep(connection)}


def restore(connection: "Connection", kept: Dict[str, Any]) -> None:
    """Go on where another connection is. Raises KeyError for what `keep` has not made."""
    session = connection.session
    if session.revision is None:
        session.capabilities = connection.role.declared(revision(kept["revision"]))
        connection.agree(revision(kept["revision"]))
        session.peer_capabilities, session.peer_info = kept["capabilities"], kept["client"]
    connection.role.restore(connection, kept)
    before, session.phase = session.phase, kept["phase"]
    if session.phase == lifecycle.OPERATING != before:
        connection.role.opened(connection)
