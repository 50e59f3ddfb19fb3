"""The revisions that a party speaks, the version agreement of the handshake, and the signs of the stateless era.

The client names one revision, the server answers with that one or another, and the client stays
or leaves [..2025-11-25 basic/lifecycle §Version Negotiation]. 2026-07-28 has no handshake, so it is
never agreed on there, whatever a client asks for: see `mcp_ref.protocol.envelope`.

The answer to a request of the stateless era has signs that the server is of that era, too. A result says yes. An error
says yes if RECOGNIZED has its code, and what comes with it is as the stateless revision defines it; over HTTP that is
looked at before the status [2026-07-28 basic/transports/streamable-http §Backward Compatibility] SHOULD. Any other
error says no: servers with a handshake answer an unknown request with any error [2026-07-28 basic/transports/stdio
§Backward Compatibility] MUST NOT.

Reading: -32602 and -32600 are what older servers say to any request that comes before `initialize`, so they say no,
even though a modern server uses -32602 for a request without `_meta`; ours have it. -32601 says yes only with the
status 404, which is how a modern HTTP server says it; older ones say it with others, and 404 with other codes or none.
"""

from typing import Any, Callable, Dict, Iterable, NamedTuple, Optional, Sequence, Tuple

from ..errors import (
    HEADER_MISMATCH, METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION, McpError, PeerError,
    PeerProtocolError,
)
from ..jsonrpc import shown
from ..revisions import REVISIONS, Revision, find, revision

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
