"""Which revision two parties speak: the version agreement of the handshake.

The client names one revision, the server answers with that one or another, and the client stays
or leaves [..2025-11-25 basic/lifecycle §Version Negotiation]. 2026-07-28 has no handshake, so it is
never agreed on here, whatever a client asks for.
"""

from typing import Any, Iterable, Optional, Sequence, Tuple

from ..errors import PeerProtocolError
from ..revisions import HANDSHAKE_REVISIONS, Revision, find, revision

CITATION = "..2025-11-25 basic/lifecycle §Version Negotiation"


def supported(choice: Optional[Iterable[Any]] = None) -> Tuple[Revision, ...]:
    """The handshake revisions of this choice (names or `Revision`), oldest first; None: all of them.

    Raises ValueError if the choice holds none, because such a server could not answer `initialize`, and TypeError for
    a name that is in no list.
    """
    if choice is None:
        return HANDSHAKE_REVISIONS
    if isinstance(choice, str):
        raise TypeError("revisions is a list of names, such as [%r]" % choice)
    chosen = {revision(name) for name in choice}
    kept = tuple(r for r in HANDSHAKE_REVISIONS if r in chosen)
    if not kept:
        raise ValueError("no handshake revision among %s" % ", ".join(sorted(str(r) for r in chosen)))
    return kept


def answer(requested: str, ours: Sequence[Revision]) -> Revision:
    """The server's answer: the requested revision if we have it (MUST), else our latest (SHOULD)."""
    wanted = find(requested)
    return wanted if wanted in ours and wanted is not None else ours[-1]


def accept(answered: str, ours: Sequence[Revision]) -> Revision:
    """The client's decision on the server's answer.

    Raises `PeerProtocolError`, after which the client disconnects, if it cannot speak that revision
    [..2025-11-25 basic/lifecycle §Version Negotiation] SHOULD; the schema says MUST.
    """
    found = find(answered)
    if found is None or found not in ours:
        known = ", ".join(str(r) for r in ours)
        raise PeerProtocolError("the server speaks revision %.80r, this client speaks %s" % (answered, known), CITATION)
    return found
