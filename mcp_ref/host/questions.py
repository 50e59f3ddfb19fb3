"""Callbacks that answer the questions of servers, an entry of the audit log for each, and roots.

Each server has a client of its own, to which `mcp_ref.host.member.client_features` gives `HostRoots`, `HostSampling`
and `HostElicitation`. These wrap the classes of `mcp_ref.client`, which do what the pages want. A host adds the
server's name in each question, the policy, which is asked before anything else, and the audit log.

A server learns of a refusal only this: -1 for a sampling, "decline" for an elicitation, no roots. It never learns why,
and nothing of what happened elsewhere: an exception of the host's functions, such as another server's error that passes
through, is an internal error without text.

Roots [.. client/roots §Implementation Guidelines] SHOULD: consent before roots are exposed. The policy is asked each
time a server asks, so it may change its mind; URIs and accessibility are the business of `mcp_ref.client.roots`.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence

from .. import deadline
from ..client.roots import Roots
from ..codec import decode, encode
from ..diagnostics.packagelog import LOUD, Counters, is_told
from ..messages.lifecycle import RootsCapability
from ..messages.roots import ListRootsResult, Root
from ..peer.context import Context, Route
from ..peer.dispatcher import Connection
from ..records import Record, dataclass
from ..revisions import Revision
from .audit import digest
from .policy import Decision, Deny, ElicitationRequest, Policy, RootsRequest, SamplingRequest

if TYPE_CHECKING:
    from ..client import Client
    from ..client.elicitation import UrlRequest
    from ..client.sampling import ModelCard


@dataclass(eq=False, repr=False)
class HostCallbacks(Record):
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
