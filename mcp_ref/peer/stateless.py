"""Stateless requests: each names its revision, and what its sender can do.

A server that speaks such a revision takes them at any time, also beside a handshake session on the same connection
[2026-07-28 basic/versioning §Backward Compatibility with Initialization-Based Versions] MAY. Nothing of one request is
left when it is answered [2026-07-28 basic/index §Statelessness] MUST NOT: it has a `Session` of its own.

=============================================  ===============================================================
a request that comes                           is
=============================================  ===============================================================
with the members of `envelope` in `_meta`      stateless
without, `initialize` or in a session          one of the handshake era
without, before any handshake                  malformed, -32602; but a ping is answered as ever
`initialize`, to a server without that era     refused, -32022 with what the server speaks
=============================================  ===============================================================
"""

from typing import TYPE_CHECKING, Any, Optional, Tuple, Union

from ..errors import METHOD_NOT_FOUND, RpcError
from ..jsonrpc import Request, shown
from ..methods import INITIALIZE, REQUEST, WIRE, lookup
from ..protocol import envelope, lifecycle
from .context import Route
from .session import Session

if TYPE_CHECKING:
    from .dispatcher import Connection


def is_stateless(connection: "Connection", request: Request) -> bool:
    """Return True if this server takes a request as stateless; see the table."""
    if connection.stateless_only or envelope.carries(request.params):
        return True
    opening = connection.session.phase == lifecycle.OPENING
    return opening and (lifecycle.CLIENT, lifecycle.OPENING, request.method) not in lifecycle.TABLE


def admit(
    connection: "Connection", request: Request, principal: Any
) -> Tuple[Union[RpcError, Route], Optional[Session]]:
    """Return the route of such a request, or its refusal; and its session. ``principal``: the sender."""
    role, method = connection.role, request.method
    try:
        if method == INITIALIZE and not envelope.carries(request.params):
            raise envelope.unsupported((request.params or {}).get("protocolVersion"), role.revisions)
        found = envelope.read(request.params, role.revisions)
    except RpcError as refusal:
        return refusal, None
    request.params["_meta"] = envelope.checked(request.params["_meta"])  # type: ignore[index]
    route = connection.stateless_routes.get((method, found.revision)) or _find_route(connection, method, found)
    if route is None:
        return role.refused(method) or RpcError(METHOD_NOT_FOUND, "Method not found: %s" % shown(method)), None
    lenient = connection.session.lenient
    session = Session.of_request(found, role.declared(found.revision), lenient, principal)
    session.extensions = role.extensions
    return route, session


def _find_route(connection: "Connection", method: str, found: envelope.Envelope) -> Optional[Route]:
    row = lookup(method, found.revision)
    if row is not None and (row.kind != REQUEST or row.sender == lifecycle.SERVER or row.carrier != WIRE):
        return None
    route = connection.role.route(connection, method, found.revision)
    if route is not None:
        connection.stateless_routes[method, found.revision] = route
    return route
