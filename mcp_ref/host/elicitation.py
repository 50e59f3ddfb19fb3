"""Elicitation for one server of a host: which server asks is always named.

``Host(elicitation=ask_user)``: ``ask_user(request)`` gets an `ElicitationRequest`, whose ``server`` is the host's own
name for who asks [2025-11-25.. client/elicitation §User Interaction Model] MUST. ``Host(elicitation_url=consent)`` is
asked whether to follow a link, and ``open_url`` opens it after a yes. What they return, and the duties of who writes
them, are told at `mcp_ref.client.elicitation`. The policy comes first: what it denies, the user is not bothered with,
and the server is told "decline". It cannot change a question.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Optional

from ..client.elicitation import Elicitation
from ..client.elicitation_url import UrlRequest
from ..errors import PeerError
from ..messages.elicitation import ElicitRequestFormParams
from ..messages.lifecycle import ElicitationCapability
from ..peer.context import Context, Route
from ..revisions import Revision
from .desk import Case, Desk
from .policy import Deny, ElicitationRequest

if TYPE_CHECKING:
    from ..client import Client


class HostElicitation:
    """Answers `elicitation/create` of one server."""

    def __init__(self, desk: Desk, server: str) -> None:
        self._desk = desk
        self._server = server
        self.notifications = self._offer(self._case()).notifications

    def capability(self) -> ElicitationCapability:
        """See `Elicitation.capability`."""
        return self._offer(self._case()).capability()

    def route(self, client: "Client", revision: Revision) -> Route:
        """Answers `elicitation/create`."""

        def answer(context: Context, params: Dict[str, Any]) -> Any:
            with self._case().asked_on(context.connection) as case:
                result = self._offer(case).route(client, revision).call(context, params)
                case.details["action"] = result["action"]
                return result

        return Route(answer)

    def follow(self, error: PeerError, client: "Client") -> bool:
        """See `Elicitation.follow`; the policy is asked about each link."""
        with self._case() as case:
            agreed = self._offer(case).follow(error, client)
            case.details["action"] = "accept" if agreed else "decline"
            return agreed

    def _case(self) -> Case:
        return Case(self._desk.record, "elicitation", self._server)

    def _offer(self, case: Case) -> Elicitation:
        """An `Elicitation` for one question, which notes in ``case`` what becomes of it."""
        desk, server, complete = self._desk, self._server, self._desk.on_complete

        def asking(mode: str, ask: Optional[Callable[[ElicitationRequest], Any]]) -> Any:
            if ask is None:
                return None
            return lambda params, context: self._ask(ElicitationRequest(server, mode, params, context), ask, case)

        form: Optional[Callable[[ElicitRequestFormParams, Context], Any]] = asking("form", desk.elicitation)
        url: Optional[Callable[[UrlRequest, Optional[Context]], Any]] = asking("url", desk.elicitation_url)
        return Elicitation(
            form, url, open_url=desk.open_url,
            on_complete=None if complete is None else lambda request: complete(server, request),
        )

    def _ask(self, request: ElicitationRequest, ask: Callable[[ElicitationRequest], Any], case: Case) -> Any:
        decision = self._desk.policy.decide(request)
        if not isinstance(decision, Deny) and decision.instead is not None:
            decision = Deny("the policy wants to change an elicitation, which it cannot")
        case.details["mode"] = request.mode
        case.decided(decision)
        return "decline" if isinstance(decision, Deny) else ask(request)
