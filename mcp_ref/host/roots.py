"""Roots for one server of a host: those it was connected with, as far as the policy lets it see them.

[.. client/roots §Implementation Guidelines] SHOULD: consent before roots are exposed. The policy is asked each time a
server asks, so it may change its mind; URIs and accessibility are the business of `mcp_ref.client.roots`.
"""

from typing import TYPE_CHECKING, Any, Dict, List

from ..client.roots import Roots
from ..codec import decode, encode
from ..messages.lifecycle import RootsCapability
from ..messages.roots import ListRootsResult, Root
from ..peer.context import Context, Route
from ..peer.dispatcher import Connection
from ..revisions import Revision
from .desk import Case, Desk
from .policy import Deny, RootsRequest

if TYPE_CHECKING:
    from ..client import Client


class HostRoots:
    """Answers `roots/list` of one server. ``roots``: a `Roots`, perhaps that of several servers, or what makes one."""

    def __init__(self, desk: Desk, server: str, roots: Any) -> None:
        self._desk = desk
        self._server = server
        self._roots = roots if isinstance(roots, Roots) else Roots(roots)
        self.attach = self._roots.attach
        self.detach = self._roots.detach

    def capability(self) -> RootsCapability:
        """See `Roots.capability`."""
        return self._roots.capability()

    def route(self, client: "Client", revision: Revision) -> Route:
        """Answers `roots/list`."""
        whole = self._roots.route(client, revision)

        def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
            found = decode(ListRootsResult, whole.call(context, params), revision, "result").roots
            return encode(ListRootsResult(self._allowed(found, context.connection)), revision)

        return Route(answer)

    def _allowed(self, roots: List[Root], connection: Connection) -> List[Root]:
        with Case(self._desk.record, "roots", self._server).asked_on(connection) as case:
            decision = self._desk.policy.decide(RootsRequest(self._server, list(roots)))
            case.decided(decision)
            given = [] if isinstance(decision, Deny) else roots
            if not isinstance(decision, Deny) and decision.instead is not None:
                given = Roots(decision.instead).listed()  # checked like any others
            case.details["roots"] = [root.uri for root in given]
            return given
