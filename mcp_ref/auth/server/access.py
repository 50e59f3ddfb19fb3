"""What an access token says, once it has been verified, and who sends a request because of it.

A verifier turns the text of a token into an `AccessToken`; the resource server checks what every token has to pass
(audience, expiry, scopes) and makes a `Principal` of it. Neither keeps the token itself.
"""

from dataclasses import dataclass, field
from hashlib import sha256
from json import dumps
from typing import Any, Callable, Dict, List, Optional, Tuple

from ...options import spelt
from ...records import Record


@spelt
@dataclass(eq=False, repr=False)
class AccessToken(Record):
    """What a verified token says. Members that a verifier does not know of are left as they are.

    ``subject``: the person or program that it speaks for. ``client_id``: the program that presents it. ``issuer``: the
    authorization server that made it, as it names itself. ``audience``: for whom it was made, the canonical URL of an
    MCP server. ``scopes``: what it allows. ``expires_at``: seconds since 1970 UTC; None: it says nothing of that.
    ``claims``: all that it says, or what an introspection answered.
    """

    subject: Optional[str] = None
    client_id: Optional[str] = None
    issuer: Optional[str] = None
    audience: List[str] = field(default_factory=list)
    scopes: List[str] = field(default_factory=list)
    expires_at: Optional[float] = None
    claims: Dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Without the claims: they may say more of a person than a log should know."""
        shown = ("subject", "client_id", "issuer", "scopes", "expires_at")
        return "AccessToken(%s)" % ", ".join("%s=%r" % (name, getattr(self, name)) for name in shown)

    @property
    def thumbprint(self) -> Optional[str]:
        """Of the key without which the token is of no use, if it is bound to one [RFC 9449 §6]: claim ``cnf.jkt``.

        One that is not a text is "", which no key has.
        """
        confirmation = self.claims.get("cnf")
        found = confirmation.get("jkt") if isinstance(confirmation, dict) else None
        return found if found is None or isinstance(found, str) else ""

    @property
    def unproved(self) -> bool:
        """Whether the token is bound to something else than a key of DPoP, such as a certificate of TLS [RFC 8705 §3.1]
        ``x5t#S256``: to what nothing here checks.

        Reading: RFC 7800 §3.1 lets one ignore members of ``cnf`` that one does not understand, where no profile says
        otherwise. A token that was bound so that a thief could not use it is refused here, rather than taken as if it
        were not. Where a proxy has checked the binding, have ``verify`` leave ``cnf`` out of ``claims``.
        """
        confirmation = self.claims.get("cnf")
        if confirmation is None:
            return False
        return not isinstance(confirmation, dict) or not confirmation.keys() <= {"jkt"}

    @property
    def misfit(self) -> Optional[str]:
        """The name of a member that is not of its type, as where claims were taken as they came; None: all are."""
        for name, kinds in _KINDS:
            found = getattr(self, name)
            texts = found if kinds is _TEXTS and isinstance(found, kinds) else ()
            if not isinstance(found, kinds) or isinstance(found, bool) or not all(isinstance(t, str) for t in texts):
                return name
        return None


_TEXT, _TEXTS = (str, type(None)), (list, tuple, set, frozenset)
_KINDS: Tuple[Tuple[str, Tuple[type, ...]], ...] = (
    ("subject", _TEXT), ("client_id", _TEXT), ("issuer", _TEXT), ("audience", _TEXTS), ("scopes", _TEXTS),
    ("expires_at", (int, float, type(None))), ("claims", (dict,)),
)

Verify = Callable[[str], Optional[AccessToken]]
"""Gets a token; returns what it says, or None: it is none of those that are known. May raise `Unauthorized`, whose text
the client is told, or another `AuthError`: it cannot be checked now."""


class Principal(str):
    """Who sends a request: a text that is the same for every token of the same subject, client and issuer.

    Sessions, states and rates belong to it, so that they survive a refresh of the token. A token that names no subject
    is a principal of its own, though it names a client: it may be that of any person who uses this client. One of the
    client itself has a subject [RFC 9068 §2.2]. ``access``: what the token of this request says; its members can be
    read here, too: ``ctx.principal.scopes``.
    """

    access: AccessToken

    @classmethod
    def of(cls, access: AccessToken, token: str) -> "Principal":
        """The principal of this token; the text does not tell what the token is."""
        named: List[Optional[str]] = [access.issuer, access.subject, access.client_id]
        digest = ""
        if access.subject is None:
            digest = sha256(token.encode("utf-8", "backslashreplace")).hexdigest()
            named.append(digest)
        nobody = access.subject is None and access.client_id is None
        made = cls("token " + digest if nobody else dumps(named, separators=(",", ":")))
        made.access = access
        return made

    @property
    def subject(self) -> Optional[str]:
        """See `AccessToken`."""
        return self.access.subject

    @property
    def client_id(self) -> Optional[str]:
        """See `AccessToken`."""
        return self.access.client_id

    @property
    def issuer(self) -> Optional[str]:
        """See `AccessToken`."""
        return self.access.issuer

    @property
    def scopes(self) -> List[str]:
        """See `AccessToken`."""
        return self.access.scopes

    @property
    def expires_at(self) -> Optional[float]:
        """See `AccessToken`."""
        return self.access.expires_at

    @property
    def claims(self) -> Dict[str, Any]:
        """See `AccessToken`."""
        return self.access.claims
