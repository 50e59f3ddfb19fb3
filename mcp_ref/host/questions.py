"""The answers of a host to what servers ask (roots, sampling, elicitation), with an entry of the audit log for each.

Each server has a client of its own, to which `mcp_ref.host.member.client_features` gives `HostRoots`, `HostSampling`
and `HostElicitation`. These wrap the classes of `mcp_ref.client`, which do what the pages want. A host adds the
server's name in each question, the policy, which is asked before anything else, and the audit log.

A server learns of a refusal only this: -1 for a sampling, "decline" for an elicitation, no roots. It never learns why,
and nothing of what happened elsewhere: an exception of the host's functions, such as another server's error that passes
through, is an internal error without text.

Roots [.. client/roots §Implementation Guidelines] SHOULD: consent before roots are exposed. The policy is asked each
time a server asks, so it may change its mind; URIs and accessibility are the business of `mcp_ref.client.roots`.

Sampling: policy, model, policy again [.. client/sampling §User Interaction Model] SHOULD. ``Host(sampling=ask_model)``:
``ask_model(request)`` gets a `SamplingRequest` as the policy left it: the server that asks, its prompt, the model that
fits its preferences, and the servers whose data may go into the prompt. Its results are described at
`mcp_ref.client.sampling.Callback`; `mcp_ref.client.sampling` also has the table of the answers that a server gets. A
server asks with ``includeContext`` for its own data (``thisServer``) or that of all servers in the prompt.
The data of other servers is theirs: unless the policy said ``Allow(all_servers=True)`` the request is handed on as
``thisServer``, which a client may do without telling [.. client/sampling §Creating Messages].

Elicitation: the server that asks is always named. ``Host(elicitation=ask_user)``: ``ask_user(request)`` gets an
`ElicitationRequest`, whose ``server`` is the host's own name for the server
[2025-11-25.. client/elicitation §User Interaction Model] MUST. ``Host(elicitation_url=consent)`` is asked whether to
follow a link, and ``open_url`` opens it after a yes. Their results, and the duties of their authors, are described at
`mcp_ref.client.elicitation`. The policy comes first: if it denies, the user is not asked, and the server is told
"decline". It cannot change a question.

The modules of sampling and elicitation are loaded when a host offers these.
"""

from copy import copy, deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple

from .. import deadline
from ..client.roots import Roots
from ..codec import decode, encode
from ..diagnostics.packagelog import LOUD, Counters, is_told
from ..errors import PeerError
from ..messages.lifecycle import ElicitationCapability, RootsCapability, SamplingCapability
from ..messages.roots import ListRootsResult, Root
from ..peer.context import Context, Route
from ..peer.dispatcher import Connection
from ..revisions import Revision
from .audit import digest
from .policy import Allow, Decision, Deny, ElicitationRequest, Policy, RootsRequest, SamplingRequest, SamplingResult

if TYPE_CHECKING:
    from ..client import Client
    from ..client.elicitation import Elicitation, UrlRequest
    from ..client.sampling import ModelCard
    from ..messages.elicitation import ElicitRequestFormParams
    from ..messages.sampling import CreateMessageRequestParams, CreateMessageResult


@dataclass
class HostCallbacks:
    """The callbacks and settings with which a host answers its servers; `mcp_ref.host.Host` describes most of them."""

    policy: Policy
    record: Callable[..., None]
    """`Audit.record`: event, server, details."""
    servers: Callable[[], Sequence[str]]
    """Returns the names of the servers that are connected."""
    roots: Any = None
    sampling: Optional[Callable[[SamplingRequest], Any]] = None
    models: "Sequence[ModelCard]" = ()
    sampling_tools: bool = False
    sampling_context: bool = False
    elicitation: Optional[Callable[[ElicitationRequest], Any]] = None
    elicitation_url: Optional[Callable[[ElicitationRequest], Any]] = None
    open_url: Optional[Callable[[str], Any]] = None
    on_complete: "Optional[Callable[[str, UrlRequest], Any]]" = None


class AuditEntry:
    """An entry of the audit log while its action is under way. A ``with`` statement writes it at its end."""

    repeats: Optional[Counters] = None
    """Counts how often each thing happened, for things that a server may make happen without end; None for others."""

    def __init__(self, record: Callable[..., None], event: str, server: str, **details: Any) -> None:
        self.server = server
        self.details = details
        self._record = record
        self._event = event
        self._start = deadline.clock()

    def limit_repeats(self, connection: Connection) -> "AuditEntry":
        """Write only some of the entries that say the same, and how many there were. Returns the entry.

        A server that asks may fill the log with what costs it nothing: requests above a rate, the same roots again and
        again. `Counters` decides how many equal entries are written. Questions that were put to the user are always
        written.
        """
        self.repeats = connection.state.setdefault("audited", Counters())
        return self

    def note(self, decision: Decision) -> None:
        """Note a decision."""
        if isinstance(decision, Deny):
            self.details.update(decision="denied", reason=decision.reason)
        else:
            self.details["decision"] = "allowed" if decision.instead is None else "changed"

    def __enter__(self) -> "AuditEntry":
        return self

    def __exit__(self, kind: Optional[type], *rest: Any) -> None:
        self.details.setdefault("outcome", "ok" if kind is None else kind.__name__)
        if self.repeats is not None and (self._event == "roots" or "decision" not in self.details):
            count = self.repeats.add(digest([self._event, self.details]))
            if not is_told(count):
                return
            self.details["count"] = count if count > LOUD else None
        ms = round((deadline.clock() - self._start) * 1000.0, 3)
        self._record(self._event, self.server, ms=ms, **self.details)


class HostRoots:
    """The roots of one server: the answer to `roots/list`, with those that the policy lets it see.

    ``roots``: a `Roots`, perhaps that of several servers, or what makes one.
    """

    def __init__(self, callbacks: HostCallbacks, server: str, roots: Any) -> None:
        self._callbacks = callbacks
        self._server = server
        self._roots = roots if isinstance(roots, Roots) else Roots(roots)
        self.attach = self._roots.attach
        self.detach = self._roots.detach

    def capability(self) -> RootsCapability:
        """Return the capability of roots; see `Roots.capability`."""
        return self._roots.capability()

    def route(self, client: "Client", revision: Revision) -> Route:
        """Return the route of `roots/list`."""
        whole = self._roots.route(client, revision)

        def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
            found = decode(ListRootsResult, whole.call(context, params), revision, "result").roots
            return encode(ListRootsResult(self._allowed(found, context.connection)), revision)

        return Route(answer)

    def _allowed(self, roots: List[Root], connection: Connection) -> List[Root]:
        with AuditEntry(self._callbacks.record, "roots", self._server).limit_repeats(connection) as entry:
            decision = self._callbacks.policy.decide(RootsRequest(self._server, list(roots)))
            entry.note(decision)
            given = [] if isinstance(decision, Deny) else roots
            if not isinstance(decision, Deny) and decision.instead is not None:
                given = Roots(decision.instead).listed()  # checked like any others
            entry.details["roots"] = [root.uri for root in given]
            return given


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
        from ..client.sampling import Sampling

        self._callbacks = callbacks
        self._server = entry.server
        self._entry = entry
        self._request: Optional[SamplingRequest] = None
        self.offer = Sampling(
            self._ask_model, models=callbacks.models, tools=callbacks.sampling_tools,
            context=callbacks.sampling_context, approve_request=self._approve, approve_result=self._approve_result,
        )

    def _approve(self, params: "CreateMessageRequestParams", context: Context) -> Any:
        """Ask the policy about the prompt, which it can see, change and deny. It gets a copy: changing that changes
        nothing."""
        from ..messages.sampling import CreateMessageRequestParams

        own = (self._server,) if params.include_context in ("thisServer", "allServers") else ()
        model = self._model_for(params)
        question = SamplingRequest(self._server, deepcopy(params), model, context, own)
        decision = _fitting(self._callbacks.policy.decide(question), CreateMessageRequestParams)
        self._entry.note(decision)
        if isinstance(decision, Deny):
            return False
        allowed = params if decision.instead is None else copy(decision.instead)
        self._request = self._granted(allowed, context, decision.all_servers)
        return allowed

    def _granted(
        self, params: "CreateMessageRequestParams", context: Context, all_servers: bool
    ) -> SamplingRequest:
        """Return the request as the model's function gets it, with the context that the policy grants."""
        servers: Tuple[str, ...] = (self._server,) if params.include_context in ("thisServer", "allServers") else ()
        if params.include_context == "allServers" and all_servers:
            servers = tuple(self._callbacks.servers())
        elif params.include_context == "allServers":
            params.include_context = "thisServer"
        model = self._model_for(params)
        self._entry.details.update(
            model=None if model is None else model.name, messages=len(params.messages), context=list(servers) or None
        )
        return SamplingRequest(self._server, params, model, context, servers)

    def _model_for(self, params: "CreateMessageRequestParams") -> "Optional[ModelCard]":
        from ..client.sampling import choose_model

        return choose_model(params.model_preferences, self._callbacks.models)

    def _ask_model(self, params: "CreateMessageRequestParams", context: Context) -> Any:
        ask = self._callbacks.sampling
        if ask is None or self._request is None:
            raise LookupError("the host has no model: pass sampling=")
        return ask(self._request)

    def _approve_result(
        self, result: "CreateMessageResult", params: "CreateMessageRequestParams", context: Context
    ) -> Any:
        """Ask the policy about the result, which it can see, change and hold back."""
        from ..messages.sampling import CreateMessageResult

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

    def _offer(self, entry: AuditEntry) -> "Elicitation":
        """Return an `Elicitation` for one question, which notes its outcome in ``entry``."""
        from ..client.elicitation import Elicitation

        callbacks, server, complete = self._callbacks, self._server, self._callbacks.on_complete

        def asking(mode: str, ask: Optional[Callable[[ElicitationRequest], Any]]) -> Any:
            if ask is None:
                return None
            return lambda params, context: self._ask(ElicitationRequest(server, mode, params, context), ask, entry)

        form: "Optional[Callable[[ElicitRequestFormParams, Context], Any]]" = asking("form", callbacks.elicitation)
        url: "Optional[Callable[[UrlRequest, Optional[Context]], Any]]" = asking("url", callbacks.elicitation_url)
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
