"""The opening of a connection: lifecycle phases, the agreement on a revision, and declared capabilities.

The lifecycle of a handshake connection is a table::

    opening --client: initialize--> initializing --server: its result--> answered
       ^                                 |                                  |
       +------server: its error----------+        client: notifications/initialized
                                                                            v
                                                                        operating

TABLE has a row for each (sender, phase, method) that is allowed; its value is the phase that follows. A missing row is
the error. The sender looks the row up before sending and the receiver after receiving, so both ends share one set of
rules. Responses are always allowed: they answer something that was. What does not fit the table:

- Closing is not a message; the transport ends [2025-11-25 basic/lifecycle §Shutdown].
- A lenient server takes requests that come between its answer and ``notifications/initialized``, because real clients
  race there; EARLY_REQUESTS says which row a strict one lacks.
- 2026-07-28 has no phases: every request stands alone, so its connections are always operating
  [2026-07-28 basic/index §Statelessness].

The client names one revision, the server answers with that one or another, and the client stays or leaves
[..2025-11-25 basic/lifecycle §Version Negotiation]. 2026-07-28 has no handshake, so it is never agreed on there,
whatever a client asks for: see `mcp_ref.protocol.envelope`.

The answer to a request of the stateless era has signs that the server is of that era, too. A result says yes. An error
says yes if RECOGNIZED has its code, and what comes with it is as the stateless revision defines it; over HTTP that is
looked at before the status [2026-07-28 basic/transports/streamable-http §Backward Compatibility] SHOULD. Any other
error says no: servers with a handshake answer an unknown request with any error [2026-07-28 basic/transports/stdio
§Backward Compatibility] MUST NOT.

Reading: -32602 and -32600 are what older servers say to any request that comes before `initialize`, so they say no,
even though a modern server uses -32602 for a request without `_meta`; ours have it. -32601 says yes only with the
status 404, which is how a modern HTTP server says it; older ones say it with others, and 404 with other codes or none.

A request needs a capability of the *receiver*, a notification about an offer one of the *sender*; the method's row in
`mcp_ref.methods` names both. This is a MUST since 2025-06-18 [2025-06-18..2025-11-25 basic/lifecycle §Operation] and a
SHOULD before; we keep to it in all revisions. A capability is present when its key is there: ``"logging": {}`` is a
yes. A dotted name asks for a member, and ``listChanged`` and ``subscribe`` are flags that count only when true.

Reading: that binds a client, too, so it does not ask a server for what that has not declared. Small servers declare
``{}`` and have tools all the same; a client with ``tolerate=["undeclared-capabilities"]`` asks for what is in TRIED:

==========================  =============================================================================
not declared                what a client then sends all the same, where its user asks for it
==========================  =============================================================================
``tools``                   `tools/list`, `tools/call`
``prompts``                 `prompts/list`, `prompts/get`
``resources``               `resources/list`, `resources/templates/list`, `resources/read`
``resources.subscribe``     `resources/subscribe`, `resources/unsubscribe`
``completions``             `completion/complete`
``logging``                 `logging/setLevel`
``tasks``, extensions       nothing [2025-11-25 basic/utilities/tasks §Tool-Level Negotiation] MUST NOT
features of clients         nothing, by a server
==========================  =============================================================================
"""

from typing import Any, Callable, Dict, Iterable, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..errors import (
    HEADER_MISMATCH, METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION, CapabilityMissing,
    LocalProtocolError, McpError, PeerError, PeerProtocolError, RpcError,
)
from ..jsonrpc import shown
from ..methods import RECEIVER, SENDER, Method
from ..revisions import REVISIONS, Revision, find, revision

OPENING = "opening"
INITIALIZING = "initializing"
ANSWERED = "answered"
OPERATING = "operating"
PHASES = (OPENING, INITIALIZING, ANSWERED, OPERATING)
WHEN = {
    OPENING: "before initialize",
    INITIALIZING: "before initialize is answered",
    ANSWERED: "before notifications/initialized",
    OPERATING: "after the handshake",
}
"""Phase -> its name in error texts."""

CLIENT = "client"
SERVER = "server"

ANY = "*"
"""Stands for every method that has no row of its own in the phase."""
INITIALIZE_RESULT = "initialize result"
INITIALIZE_ERROR = "initialize error"

TABLE: Dict[Tuple[str, str, str], Optional[str]] = {
    # [..2025-11-25 basic/lifecycle §Initialization] MUST: the first interaction; pings may come before its answer.
    (CLIENT, OPENING, "initialize"): INITIALIZING,
    (CLIENT, OPENING, "ping"): OPENING,
    (CLIENT, INITIALIZING, "ping"): INITIALIZING,
    (CLIENT, INITIALIZING, "notifications/cancelled"): INITIALIZING,
    (SERVER, INITIALIZING, INITIALIZE_RESULT): ANSWERED,
    (SERVER, INITIALIZING, INITIALIZE_ERROR): OPENING,
    # [..2025-11-25 basic/lifecycle §Initialization] SHOULD NOT: the server sends only pings and log messages
    # before it has seen `initialized`; the two notifications belong to its pings.
    (SERVER, INITIALIZING, "ping"): INITIALIZING,
    (SERVER, INITIALIZING, "notifications/message"): INITIALIZING,
    (SERVER, INITIALIZING, "notifications/cancelled"): INITIALIZING,
    (SERVER, ANSWERED, "ping"): ANSWERED,
    (SERVER, ANSWERED, "notifications/message"): ANSWERED,
    (SERVER, ANSWERED, "notifications/cancelled"): ANSWERED,
    (CLIENT, ANSWERED, "notifications/initialized"): OPERATING,
    (CLIENT, ANSWERED, "ping"): ANSWERED,
    (CLIENT, ANSWERED, "notifications/cancelled"): ANSWERED,
    (CLIENT, OPERATING, ANY): OPERATING,
    (SERVER, OPERATING, ANY): OPERATING,
    # The handshake happens once; None is an explicit refusal beside ANY.
    (CLIENT, OPERATING, "initialize"): None,
    (CLIENT, OPERATING, "notifications/initialized"): None,
}

EARLY_REQUESTS = (CLIENT, ANSWERED)
"""Sender and phase of the requests that a lenient server takes early.

Reading: the page orders these messages, and does not forbid the client anything in words.
"""


class Verdict(NamedTuple):
    """The answer of the table for one message."""

    allowed: bool
    phase: str
    """The phase after it; unchanged if the message is refused."""
    lenient: bool = False
    """True if the message is allowed only because the receiver is lenient; it is logged then."""


def consult(sender: str, phase: str, method: str, lenient: bool = False) -> Verdict:
    """Look up whether ``sender`` may send ``method`` in ``phase``; only receivers may be ``lenient``."""
    key = (sender, phase, method)
    following = TABLE[key] if key in TABLE else TABLE.get((sender, phase, ANY))
    if following is not None:
        return Verdict(True, following)
    if lenient and (sender, phase) == EARLY_REQUESTS and method != "initialize":
        return Verdict(True, phase, True)
    return Verdict(False, phase)


def advance(sender: str, phase: str, method: str) -> str:
    """Return the phase after ``sender`` sends ``method``. Raises `LocalProtocolError` if that is not allowed."""
    verdict = consult(sender, phase, method)
    if not verdict.allowed:
        raise LocalProtocolError(
            "a %s may not send %s %s" % (sender, method, WHEN[phase]),
            "..2025-11-25 basic/lifecycle §Initialization",
        )
    return verdict.phase


CITATION = "..2025-11-25 basic/lifecycle §Version Negotiation"


def supported(choice: Optional[Iterable[Any]] = None) -> Tuple[Revision, ...]:
    """Return the revisions of a choice (names or `Revision`), oldest first; all of them if the choice is None.

    Raises ValueError if the choice is empty or has an unknown name, and TypeError if it is a str instead of a list.
    """
    if choice is None:
        return REVISIONS
    if isinstance(choice, str):
        raise TypeError("revisions is a list of names, such as [%r]" % choice)
    chosen = {revision(name) for name in choice}
    if not chosen:
        raise ValueError("no revision was chosen; known are %s" % ", ".join(map(str, REVISIONS)))
    return tuple(r for r in REVISIONS if r in chosen)


def with_handshake(ours: Iterable[Revision]) -> Tuple[Revision, ...]:
    """Return the revisions that open with `initialize`."""
    return tuple(r for r in ours if r.handshake)


ERAS = {"auto": "", "modern": "stateless", "legacy": "handshake"}
"""Policy of a client, beside the name of one revision -> the feature that its revisions have
[2026-07-28 basic/versioning §Terminology]."""


def without_handshake(ours: Iterable[Revision]) -> Tuple[Revision, ...]:
    """Return the revisions in which each request stands alone."""
    return tuple(r for r in ours if r.stateless)


def spoken(era: Optional[str], choice: Optional[Iterable[Any]], default: str) -> Tuple[Revision, ...]:
    """Return the revisions of a client with this policy (a key of ERAS, or the name of a revision), oldest first.

    Only revisions of ``choice`` count, see `supported`. If the policy is None, it is ``default``, unless the choice has
    no revision of that.
    Raises ValueError for an unknown policy, and if nothing is left.
    """
    chosen = supported(choice)
    policy = default if era is None else era
    if policy not in ERAS and find(policy) is None:
        known = ", ".join(list(ERAS) + [str(r) for r in REVISIONS])
        raise ValueError("era is one of %s, not %.80r" % (known, policy))
    feature = ERAS.get(policy)
    if feature is None:
        kept = tuple(r for r in chosen if r.name == policy)
    else:
        kept = tuple(r for r in chosen if not feature or getattr(r, feature))
    if not kept and era is None:
        return chosen
    if not kept:
        raise ValueError("era=%r leaves nothing of the revisions %s" % (era, ", ".join(map(str, chosen))))
    return kept


def pick(offered: Iterable[Any], ours: Sequence[Revision]) -> Optional[Revision]:
    """Return the revision to speak with a server that names these; None if there is none in common.

    [2026-07-28 basic/versioning §Protocol Version Negotiation] SHOULD. The newest, so that a server which speaks both
    with and without handshake is spoken to without.
    """
    names = {name for name in offered if isinstance(name, str)}
    return next((r for r in reversed(ours) if r.name in names), None)


def apart(theirs: Sequence[Any], ours: Iterable[Revision]) -> str:
    """Return the revisions of a server and a client that have none in common, for an error text.

    Of the server's at most the first ten names are shown.
    """
    named = ", ".join(shown(str(name)) for name in theirs[:10]) or "none"
    return "%s, this client speaks %s" % (named, ", ".join(map(str, ours)))


def answer(requested: str, ours: Sequence[Revision]) -> Revision:
    """Return the server's answer: the requested revision if the server has it (MUST), else its latest (SHOULD)
    [..2025-11-25 basic/lifecycle §Version Negotiation]."""
    wanted = find(requested)
    return wanted if wanted in ours and wanted is not None else ours[-1]


def accept(answered: str, ours: Sequence[Revision]) -> Revision:
    """Return the revision that the server answered with: the client's side of the agreement.

    Raises `PeerProtocolError`, after which the client disconnects, if it cannot speak that revision
    [..2025-11-25 basic/lifecycle §Version Negotiation] SHOULD, [..2025-11-25 basic/lifecycle §Error Handling] SHOULD;
    [..2025-11-25 schema.json §InitializeResult] MUST.
    """
    found = find(answered)
    if found is None or found not in ours:
        known = ", ".join(str(r) for r in ours)
        raise PeerProtocolError("the server speaks revision %.80r, this client speaks %s" % (answered, known), CITATION)
    return found


# The signs of the stateless era


class Sign(NamedTuple):
    """The conditions under which an error of one code is a sign of the stateless era."""

    status: Optional[int]
    """The HTTP status that it must come with; None: any, or none where there is no HTTP."""
    fits: Callable[[Any], bool]
    """The test of its ``data``: True if they are what the code needs."""


def _supported(data: Any) -> bool:
    named = data.get("supported") if isinstance(data, dict) else None
    return isinstance(named, list) and all(isinstance(name, str) for name in named)


RECOGNIZED: Dict[int, Sign] = {
    # [2026-07-28 basic/versioning §Protocol Version Negotiation] MUST: with the versions that it does support
    UNSUPPORTED_PROTOCOL_VERSION: Sign(None, _supported),
    MISSING_CLIENT_CAPABILITY: Sign(
        None, lambda data: isinstance(data, dict) and isinstance(data.get("requiredCapabilities"), dict)),
    HEADER_MISMATCH: Sign(None, lambda data: True),
    # [2026-07-28 basic/transports/streamable-http §Protocol Version Header] MUST: 404, told apart by the body
    METHOD_NOT_FOUND: Sign(404, lambda data: True),
}
"""Code -> the conditions under which it is one of the modern errors."""


_NO_SIGN = (401, 403, 408, 425, 429)
"""Statuses that ask for authorization, deny it, or refuse for now. The same request may be answered another time."""


def older(status: int) -> bool:
    """Return True if a refusal with this status, and without a modern error, comes from a server with a handshake.

    [2026-07-28 basic/versioning §Compatibility Matrix]: any 4xx. Reading: except _NO_SIGN; and a 5xx, too, for some
    servers fail at what they do not know. A redirect says nothing.
    """
    return 400 <= status < 600 and status not in _NO_SIGN


def recognized(code: int, data: Any, status: Optional[int] = None) -> bool:
    """Return True if this error comes from a server of the stateless era; ``status`` is that of `errors.PeerError`."""
    sign = RECOGNIZED.get(code)
    return sign is not None and sign.status in (None, status) and sign.fits(data)


def modern(error: McpError) -> bool:
    """Return True if the error that was raised comes from a server of the stateless era."""
    return isinstance(error, PeerError) and recognized(error.code, error.data, error.status)


_PAGES = {
    "2024-11-05": "2024-11-05 basic/lifecycle §Capability Negotiation",
    "2025-03-26": "2025-03-26 basic/lifecycle §Capability Negotiation",
    "2025-06-18": "2025-06-18 basic/lifecycle §Capability Negotiation",
    "2025-11-25": "2025-11-25 basic/lifecycle §Capability Negotiation",
}

UNDECLARED = "undeclared-capabilities"
TRIED = frozenset(("tools", "prompts", "resources", "resources.subscribe", "completions", "logging"))
"""The capabilities that a client may do without, if its user says so."""
_ALL_THE_SAME = "; if it has that all the same, connect(..., tolerate=[%r]) asks for it" % UNDECLARED


def has(capabilities: Mapping[str, Any], name: str) -> bool:
    """Return True if a capabilities object (as on the wire) declares this dotted capability."""
    value: Any = capabilities
    for part in name.split("."):
        if type(value) is not dict and not isinstance(value, Mapping) or part not in value:
            return False
        value = value[part]
    return value is not False and value is not None


def check(method: Method, sender: Mapping[str, Any], receiver: Mapping[str, Any], revision: str) -> None:
    """Raise `CapabilityMissing` if this message may not be sent between parties with these capabilities."""
    if method.extension is not None:
        _check_extension(method, method.extension, ((receiver, "the peer"),) if method.holder == RECEIVER else (
            (sender, "this side"), (receiver, "the peer")))
    if method.capability is None:
        return
    holder, whose = (sender, "this side") if method.holder == SENDER else (receiver, "the peer")
    if not has(holder, method.capability):
        raise CapabilityMissing(
            "%s needs the capability %s, which %s did not declare%s" % (
                method.name, method.capability, whose, _ALL_THE_SAME if method.capability in TRIED else ""),
            method.capability,
            _PAGES.get(revision, ""),
        )


def extensions_in(capabilities: Mapping[str, Any]) -> Dict[str, Dict[str, Any]]:
    """Return the extensions in a capabilities object, as on the wire: identifier -> settings.

    Extensions whose settings are no object are left out.
    """
    found = capabilities.get("extensions")
    if not isinstance(found, dict):
        return {}
    return {name: settings for name, settings in found.items() if isinstance(settings, dict)}


def extension_missing(identifier: str, revision: Revision) -> RpcError:
    """Return the answer to a client that has not declared an extension which its request needs.

    [2026-07-28 basic/index §`_meta`] MUST
    """
    if not revision.stateless:
        return RpcError(METHOD_NOT_FOUND, "The extension %s was not declared" % identifier)
    text = "Missing required client capability: extension %s" % identifier
    return RpcError(MISSING_CLIENT_CAPABILITY, text, {"requiredCapabilities": {"extensions": {identifier: {}}}})


def _check_extension(method: Method, extension: str, sides: Sequence[Tuple[Mapping[str, Any], str]]) -> None:
    """Raise `CapabilityMissing` if one of these sides has not declared the extension of a message
    [2026-07-28 basic/versioning §Extension Negotiation] MUST."""
    for capabilities, whose in sides:
        if extension not in extensions_in(capabilities):
            text = "%s belongs to the extension %s, which %s did not declare" % (method.name, extension, whose)
            raise CapabilityMissing(text, extension, "2026-07-28 basic/versioning §Extension Negotiation")
