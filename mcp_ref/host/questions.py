"""Where the questions of servers arrive: sampling, elicitation and roots, each put to the policy before anything else.

Every server has offers of its own, made in `mcp_ref.host.offers` for its client: `roots`, `sampling` and `elicitation`
beside this module wrap those of `mcp_ref.client`, which do what the pages want. What a host adds is the
server's name in each question, the policy, and the audit log.

What a server learns of a refusal: -1 for a sampling, "decline" for an elicitation, no roots. Never why, and nothing of
what happened elsewhere: an exception of the host's functions, such as another server's error that passes through, is an
internal error without text.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence

from .. import deadline
from ..client.roots import Roots
from ..codec import decode, encode
from ..diagnostics.packagelog import LOUD, Counters, is_told
from ..messages.lifecycle import RootsCapability
from ..messages.roots import ListRootsResult, Root
from ..peer.context import Context, Route
from ..peer.dispatcher import Connection
from ..records import Record
from ..revisions import Revision
from .audit import digest
from .policy import Decision, Deny, ElicitationRequest, Policy, RootsRequest, SamplingRequest

if TYPE_CHECKING:
    from ..client import Client
    from ..client.elicitation_url import UrlRequest
    from ..client.models import ModelCard


@dataclass(eq=False, repr=False)
class HostCallbacks(Record):
    """What a host has to answer its servers with; see `mcp_ref.host.Host` for most of it."""

    policy: Policy
    record: Callable[..., None]
    """`Audit.record`: event, server, details."""
    servers: Callable[[], Sequence[str]]
    """The names of the servers that are connected."""
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
    """One question on its way, and what the audit log will say of it. In a ``with`` statement, which writes it."""

    repeats: Optional[Counters] = None
    """How often each of the things happened that a server may make happen without end; None: it is no such thing."""

    def __init__(self, record: Callable[..., None], event: str, server: str, **details: Any) -> None:
        self.server = server
        self.details = details
        self._record = record
        self._event = event
        self._start = deadline.clock()

    def limit_repeats(self, connection: Connection) -> "AuditEntry":
        """A server asks, so it may fill the log with what costs it nothing: requests above a rate, the same roots again
        and again. Of what is the same as before, `Counters` says how much is written; what was put to the user always.
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
    """Answers `roots/list` of one server. ``roots``: a `Roots`, perhaps that of several servers, or what makes one."""

    def __init__(self, callbacks: HostCallbacks, server: str, roots: Any) -> None:
        self._callbacks = callbacks
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
        with AuditEntry(self._callbacks.record, "roots", self._server).limit_repeats(connection) as entry:
            decision = self._callbacks.policy.decide(RootsRequest(self._server, list(roots)))
            entry.note(decision)
            given = [] if isinstance(decision, Deny) else roots
            if not isinstance(decision, Deny) and decision.instead is not None:
                given = Roots(decision.instead).listed()  # checked like any others
            entry.details["roots"] = [root.uri for root in given]
            return given
