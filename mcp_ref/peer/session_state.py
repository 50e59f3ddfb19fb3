"""The export and import of a session's state, for sessions that several processes share.

`export_state` returns it as named JSON values, `import_state` sets a connection of another process to them. That is
also called when some of the values have changed since, with these alone.
"""

from typing import TYPE_CHECKING, Any, Dict, Iterable

from ..protocol import lifecycle
from ..revisions import revision

if TYPE_CHECKING:
    from .dispatcher import Connection


def export_state(connection: "Connection", uris: Iterable[str] = ()) -> Dict[str, Any]:
    """Return what was agreed on, what the client said of itself, and what the role adds; {} before the handshake.

    ``uris``: the resources whose subscriptions may have changed; the others are left out.
    """
    session = connection.session
    if session.revision is None:
        return {}
    return {"revision": session.revision.name, "phase": session.phase, "capabilities": dict(session.peer_capabilities),
            "client": dict(session.peer_info), **connection.role.export_state(connection, uris)}


def import_state(connection: "Connection", kept: Dict[str, Any], whole: bool) -> None:
    """Take over values of `export_state`: all of them (``whole``), or those that have changed, None for those that are
    gone.

    Raises KeyError where the first ones are not what `export_state` has made.
    """
    session = connection.session
    if session.revision is None:
        session.capabilities = connection.role.declared(revision(kept["revision"]))
        connection.agree(revision(kept["revision"]))
        session.peer_capabilities, session.peer_info = kept["capabilities"], kept["client"]
    connection.role.import_state(connection, kept, whole)
    before, session.phase = session.phase, kept.get("phase", session.phase)
    if session.phase == lifecycle.OPERATING != before:
        connection.role.on_open(connection)
