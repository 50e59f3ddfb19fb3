"""Sampling for one server of a host: policy, model, policy again [.. client/sampling §User Interaction Model] SHOULD.

``Host(sampling=ask_model)``: ``ask_model(request)`` gets a `SamplingRequest` as the policy left it: the server that
asks, its prompt, the model that fits its preferences, and the servers whose data may go into the prompt. Its results
are described at `mcp_ref.client.sampling.Callback`; `mcp_ref.client.sampling` also has the table of the answers that a
server gets.

Context. A server asks with ``includeContext`` for its own data (``thisServer``) or that of all servers in the prompt.
The data of other servers is theirs: unless the policy said ``Allow(all_servers=True)`` the request is handed on as
``thisServer``, which a client may do without telling [.. client/sampling §Creating Messages].
"""

from copy import copy, deepcopy
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

from ..client.sampling import Sampling, choose_model
from ..messages.lifecycle import SamplingCapability
from ..messages.sampling import CreateMessageRequestParams, CreateMessageResult
from ..peer.context import Context, Route
from ..revisions import Revision
from .policy import Allow, Decision, Deny, SamplingRequest, SamplingResult
from .questions import AuditEntry, HostCallbacks

if TYPE_CHECKING:
    from ..client import Client


class HostSampling:
    """The answer of one server's `sampling/createMessage`."""

    def __init__(self, callbacks: HostCallbacks, server: str) -> None:
        self._callbacks = callbacks
        self._server = server

    def capability(self) -> SamplingCapability:
        """Return the capability of sampling; see `Sampling.capability`."""
        return _Ask(self._callbacks, AuditEntry(self._callbacks.record, "sampling", self._server)).offer.capability()

    def route(self, client: "Client", revision: Revision) -> Route:
        """Return the route of `sampling/createMessage`."""

        def answer(context: Context, params: Dict[str, Any]) -> Any:
            made = AuditEntry(self._callbacks.record, "sampling", self._server)
            with made.limit_repeats(context.connection) as entry:
                return _Ask(self._callbacks, entry).offer.route(client, revision).call(context, params)

        return Route(answer)


class _Ask:
    """One sampling request on its way through the hooks of `Sampling`, one after the other, on one thread."""

    def __init__(self, callbacks: HostCallbacks, entry: AuditEntry) -> None:
        self._callbacks = callbacks
        self._server = entry.server
        self._entry = entry
        self._request: Optional[SamplingRequest] = None
        self.offer = Sampling(
            self._ask_model, models=callbacks.models, tools=callbacks.sampling_tools,
            context=callbacks.sampling_context, approve_request=self._approve, approve_result=self._approve_result,
        )

    def _approve(self, params: CreateMessageRequestParams, context: Context) -> Any:
        """Ask the policy about the prompt, which it can see, change and deny. It gets a copy: changing that changes
        nothing."""
        own = (self._server,) if params.include_context in ("thisServer", "allServers") else ()
        model = choose_model(params.model_preferences, self._callbacks.models)
        question = SamplingRequest(self._server, deepcopy(params), model, context, own)
        decision = _fitting(self._callbacks.policy.decide(question), CreateMessageRequestParams)
        self._entry.note(decision)
        if isinstance(decision, Deny):
            return False
        allowed = params if decision.instead is None else copy(decision.instead)
        self._request = self._granted(allowed, context, decision.all_servers)
        return allowed

    def _granted(
        self, params: CreateMessageRequestParams, context: Context, all_servers: bool
    ) -> SamplingRequest:
        """Return the request as the model's function gets it, with the context that the policy grants."""
        servers: Tuple[str, ...] = (self._server,) if params.include_context in ("thisServer", "allServers") else ()
        if params.include_context == "allServers" and all_servers:
            servers = tuple(self._callbacks.servers())
        elif params.include_context == "allServers":
            params.include_context = "thisServer"
        model = choose_model(params.model_preferences, self._callbacks.models)
        self._entry.details.update(
            model=None if model is None else model.name, messages=len(params.messages), context=list(servers) or None
        )
        return SamplingRequest(self._server, params, model, context, servers)

    def _ask_model(self, params: CreateMessageRequestParams, context: Context) -> Any:
        ask = self._callbacks.sampling
        if ask is None or self._request is None:
            raise LookupError("the host has no model: pass sampling=")
        return ask(self._request)

    def _approve_result(
        self, result: CreateMessageResult, params: CreateMessageRequestParams, context: Context
    ) -> Any:
        """Ask the policy about the result, which it can see, change and hold back."""
        question = SamplingResult(self._server, params, deepcopy(result))
        decision = _fitting(self._callbacks.policy.decide(question), CreateMessageResult)
        if isinstance(decision, Deny) or decision.instead is not None:
            self._entry.note(decision)
        if isinstance(decision, Deny):
            return False
        return True if decision.instead is None else decision.instead


def _fitting(decision: Decision, expected: type) -> Decision:
    """Return the decision, or a denial if its ``instead`` is of another type than ``expected``."""
    if isinstance(decision, Allow) and not isinstance(decision.instead, (expected, type(None))):
        return Deny("the policy gave a %s instead of a %s" % (type(decision.instead).__name__, expected.__name__))
    return decision
