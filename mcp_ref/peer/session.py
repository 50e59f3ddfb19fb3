"""The state that two parties have agreed on, for one connection or for one request, without any messages in it."""

from __future__ import annotations  # unread, they cost nothing as the module is loaded

from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional

from ..errors import CapabilityMissing, LocalProtocolError
from ..methods import Method, is_vendor, lookup
from ..model import Forgive
from ..protocol import lifecycle
from ..protocol.envelope import Envelope
from ..protocol.lifecycle import TRIED, check
from ..revisions import LATEST_HANDSHAKE, Revision

if TYPE_CHECKING:
    from typing import Collection, Protocol

    class AddedRules(Protocol):
        """The part of `mcp_ref.peer.extension.Extensions` that a session asks, so that it knows no handlers."""

        def lookup(self, method: str, revision: Revision) -> Optional[Method]:
            """Return the row of a method that an extension adds; None if none does."""

        def meta_keys(self, revision: Revision) -> Collection[str]:
            """Return the names under reserved prefixes that the extensions allow to be sent."""


class Session:
    """The phase, revision, capabilities and identities of one connection; ``party`` is our side.

    Where there is no handshake each request has a session of its own: see `of_request`.

    Before the handshake is over ``revision`` is None, and rules that depend on it follow the newest
    handshake revision, which is also what our `initialize` offers.
    """

    extensions: "Optional[AddedRules]" = None
    """The extensions of our side."""
    instructions: Optional[str] = None
    unasked = ""
    """The reason shown to the handler if requests to the peer are impossible here; "" otherwise. See
    `Connection.assume`.
    """
    principal: Any = None
    """The identity of the peer, if the transport has found that out (HTTP)."""
    forgive: Optional[Forgive] = None
    """The function that is told of requests to a server that has not declared what they need; None: none is sent."""
    log_level: Optional[str] = None
    """The quietest level of log messages that the peer wants, where each request says that."""

    def __init__(self, party: str, lenient: bool = True) -> None:
        self.party = party
        self.peer = lifecycle.SERVER if party == lifecycle.CLIENT else lifecycle.CLIENT
        self.lenient = lenient
        self.phase = lifecycle.OPENING
        self.revision: Optional[Revision] = None
        self.capabilities: Dict[str, Any] = {}
        """The capabilities of our side, as declared on the wire."""
        self.peer_capabilities: Mapping[str, Any] = {}
        self.peer_info: Mapping[str, Any] = {}
        self._may_send: Dict[str, str] = {}

    @classmethod
    def of_request(cls, envelope: Envelope, capabilities: Dict[str, Any], lenient: bool, principal: Any) -> "Session":
        """Return the session of one stateless request; ``capabilities``: what this server declares.

        It is made for each such request anew, so that none can depend on another
        [2026-07-28 basic/index §Statelessness] MUST NOT.
        """
        made = cls.__new__(cls)  # each of these is set once: every request has to have one made
        made.party, made.peer = lifecycle.SERVER, lifecycle.CLIENT
        made.lenient = lenient
        made.phase = lifecycle.OPERATING
        made.revision = envelope.revision
        made.capabilities = capabilities
        made.peer_capabilities = envelope.capabilities
        made.peer_info = envelope.client_info
        made.log_level = envelope.log_level
        made.principal = principal
        made._may_send = {}
        return made

    def export_state(self) -> Dict[str, Any]:
        """Return what was agreed on, as JSON values for a connection of another process; {} before the handshake.

        See `mcp_ref.peer.dispatcher.Connection.export_state`.
        """
        if self.revision is None:
            return {}
        return {"revision": self.revision.name, "phase": self.phase, "capabilities": dict(self.peer_capabilities),
                "client": dict(self.peer_info)}

    @property
    def rules(self) -> Revision:
        """The agreed revision, or until then the one that we would like."""
        return self.revision or LATEST_HANDSHAKE

    def move(self, before: str, after: str) -> None:
        """Take a step of the lifecycle; a message that stays in its phase undoes no step of another thread."""
        if before != after:
            self.phase = after

    def lookup(self, method: str) -> Optional[Method]:
        """Return the method's row in the agreed revision, or that of an extension of ours; None if there is none."""
        found = lookup(method, self.rules)
        return found if found or self.extensions is None else self.extensions.lookup(method, self.rules)

    def check_askable(self, capability: str) -> None:
        """Raise `CapabilityMissing` if requests to the peer are impossible here, whatever it has declared."""
        if self.unasked:
            raise CapabilityMissing("the peer cannot be asked for %s here: %s" % (capability, self.unasked), capability)

    def _check_vendor(self, method: str, kind: str) -> None:
        """Raise for a request outside of the specification, if no request may be sent. The peer answers one that it
        does not know with -32601; whether it does it may declare under ``experimental``
        [..2025-11-25 basic/lifecycle §Capability Negotiation], of which nothing is asked here."""
        if kind != "request":
            return
        if self.party == lifecycle.SERVER and not self.rules.peer_requests:
            raise LocalProtocolError("%s: in revision %s a server sends no requests" % (method, self.rules))
        self.check_askable(method)

    def check_sending(self, method: str, kind: str) -> None:
        """Raise before anything is sent if we may not send this message now.

        `LocalProtocolError` for a wrong phase, direction or revision, `CapabilityMissing` for a capability that was
        not declared [2025-06-18..2025-11-25 basic/lifecycle §Operation] MUST
        [..2025-11-25 basic/lifecycle §Error Handling] SHOULD.
        """
        if self._may_send.get(method) == kind:
            return
        phase = self.phase
        following = lifecycle.advance(self.party, phase, method)
        row = self.lookup(method)
        if row is None and is_vendor(method):
            self._check_vendor(method, kind)
            self.move(phase, following)
            return
        # A server of 2026-07-28 has no requests to send: [2026-07-28 basic/patterns/index] MUST NOT
        # [2026-07-28 basic/transports/stdio §Receiving Messages] MUST NOT.
        if row is None or row.kind != kind or row.sender not in (self.party, "both"):
            text = "revision %s has no %s %s for a %s to send" % (self.rules, kind, method, self.party)
            raise LocalProtocolError(text)
        if kind == "request":
            self.check_askable(row.capability or method)
        if row.capability is not None or row.extension is not None or kind == "notification":
            try:
                check(row, self.capabilities, self.peer_capabilities, self.rules.name)
            except CapabilityMissing as missing:
                if self.forgive is None or missing.capability not in TRIED or kind != "request":
                    raise
                self.forgive("undeclared capability", "%s was not declared; %s is sent" % (missing.capability, method))
        self.move(phase, following)
        if phase == lifecycle.OPERATING:
            self._may_send[method] = kind  # nothing that this depends on changes any more
