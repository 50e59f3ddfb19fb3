"""Which scopes to ask for [RFC 6749 §3.3].

==  =============================================================  ==================================================
1   the challenge names scopes                                     these, for they are what the operation needs
2   else the protected resource has ``scopes_supported``           these
3   else                                                           none is named: the authorization server decides
==  =============================================================  ==================================================

[2025-11-25 basic/authorization §Scope Selection Strategy] SHOULD
[2026-07-28 basic/authorization/index §Scope Selection Strategy] SHOULD. Nothing follows from one of these lists for
the other.

To these come the scopes that the user of this package has named (which take the place of row 2), those that were
asked for or granted before, which another token must not lose
[2026-07-28 basic/authorization/index §Step-Up Authorization Flow], and ``offline_access``, if refresh tokens are wanted
and the authorization server lists it [2026-07-28 basic/authorization/index §Refresh Tokens] MAY.

Reading: where no scope is named at all, ``offline_access`` alone is not named either, for it would take the place of
the server's own choice. What a resource says of it in ``scopes_supported`` does not count, as it SHOULD NOT say
anything; in a challenge it does, for a challenge is authoritative.
"""

from typing import TYPE_CHECKING, List, Optional, Sequence

from ..discovery.challenge import scope_list
from ..tokens.issued import union

if TYPE_CHECKING:
    from ..discovery.discover import Discovered

OFFLINE = "offline_access"


def supported(found: "Discovered") -> Optional[List[str]]:
    """The scopes that the protected resource lists; what cannot be one is left out."""
    document = found.resource_document
    if document is None or document.scopes_supported is None:
        return None
    return [scope for scope in scope_list(" ".join(document.scopes_supported)) or () if scope != OFFLINE]


def choose(
    found: "Discovered", challenged: Optional[Sequence[str]], named: Optional[Sequence[str]] = None,
    kept: Sequence[str] = (), refreshing: bool = False,
) -> Optional[List[str]]:
    """What to ask for; None: no scope is named.

    ``challenged``: by the server, None if it names none; ``named``: by our user; ``kept``: from before;
    ``refreshing``: whether refresh tokens are wanted.
    """
    basis = challenged if challenged is not None or named is not None else supported(found)
    if basis is None and named is None and not kept:
        return None
    wanted = union(kept, named, basis)
    if refreshing and OFFLINE in (found.server.scopes_supported or ()):
        wanted = union(wanted, [OFFLINE])
    return wanted or None
