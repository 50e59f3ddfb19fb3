"""Elicitation for one server of a host: the server that asks is always named.

``Host(elicitation=ask_user)``: ``ask_user(request)`` gets an `ElicitationRequest`, whose ``server`` is the host's own
name for the server [2025-11-25.. client/elicitation §User Interaction Model] MUST. ``Host(elicitation_url=consent)`` is
asked whether to follow a link, and ``open_url`` opens it after a yes. Their results, and the duties of their authors,
are described at `mcp_ref.client.elicitation`. The policy comes first: if it denies, the user is not asked, and the
server is told "decline". It cannot change a question.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Optional

from ..client.elicitation import Elicitation, UrlRequest
from ..errors import PeerError
from ..messages.elicitation import ElicitRequestFormParams
from ..messages.lifecycle import ElicitationCapability
from ..peer.context import Context, Route
from ..revisions import Revision
from .policy import Deny, ElicitationRequest
from .questions import AuditEntry, HostCallbacks

if TYPE_CHECKING:
    from ..client import Client


class HostElicitation:
    """The answer of one server's `elicitation/create`."""

    def __init__(self, callbacks: HostCallbacks, server: str) -> None:
        self._callbacks = callbacks
        self._server = server
        self.notifications = self._offer(self._entry()).notifications

    def capability(self) -> ElicitationCapability:
        """Return the capability of elicitation; see `Elicitation.capability`."""
        return self._offer(self._entry()).capability()

    def route(self, client: "Client", revision: Revision) -> Route:
        """Return the route of `elicitation/create`."""

        def answer(context: Context, params: Dict[str, Any]) -> Any:
            with self._entry().limit_repeats(context.connection) as entry:
                result = self._offer(entry).route(client, revision).call(context, params)
                entry.details["action"] = result["action"]
                return result

        return Route(answer)

    def follow(self, error: PeerError, client: "Client") -> bool:
        """Have the user follow the links of an error; see `Elicitation.follow`. The policy is asked about each link."""
        with self._entry() as entry:
            agreed = self._offer(entry).follow(error, client)
            entry.details["action"] = "accept" if agreed else "decline"
            return agreed

    def _entry(self) -> AuditEntry:
        return AuditEntry(self._callbacks.record, "elicitation", self._server)

    def _offer(self, entry: AuditEntry) -> Elicitation:
        """Return an `Elicitation` for one question, which notes its outcome in ``entry``."""
        callbacks, server, complete = self._callbacks, self._server, self._callbacks.on_complete

        def asking(mode: str, ask: Optional[Callable[[ElicitationRequest], Any]]) -> Any:
            if ask is None:
                return None
            return lambda params, context: self._ask(ElicitationRequest(server, mode, params, context), ask, entry)

        form: Optional[Callable[[ElicitRequestFormParams, Context], Any]] = asking("form", callbacks.elicitation)
        url: Optional[Callable[[UrlRequest, Optional[Context]], Any]] = asking("url", callbacks.elicitation_url)
        return Elicitation(
            form, url, open_url=callbacks.open_url,
            on_complete=None if complete is None else lambda request: complete(server, request),
        )

    def _ask(self, request: ElicitationRequest, ask: Callable[[ElicitationRequest], Any], entry: AuditEntry) -> Any:
        decision = self._callbacks.policy.decide(request)
        if not isinstance(decision, Deny) and decision.instead is not None:
            decision = Deny("the policy wants to change an elicitation, which it cannot")
        entry.details["mode"] = request.mode
        entry.note(decision)
        return "decline" if isinstance(decision, Deny) else ask(request)
