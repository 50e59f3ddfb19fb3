"""The revisions that a party speaks, and the version agreement of the handshake.

The client names one revision, the server answers with that one or another, and the client stays
or leaves [..2025-11-25 basic/lifecycle §Version Negotiation]. 2026-07-28 has no handshake, so it is
never agreed on there, whatever a client asks for: see `mcp_ref.protocol.envelope`.
"""

from typing import Any, Iterable, Optional, Sequence, Tuple

from ..errors import PeerProtocolError
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
    [..2025-11-25 basic/lifecycle §Version Negotiation] SHOULD; the schema says MUST.
    """
    found = find(answered)
    if found is None or found not in ours:
        known = ", ".join(str(r) for r in ours)
        raise PeerProtocolError("the server speaks revision %.80r, this client speaks %s" % (answered, known), CITATION)
    return found
