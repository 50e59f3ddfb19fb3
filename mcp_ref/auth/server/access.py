"""The contents of a verified access token, and the principal that sends a request with it.

A verifier turns the text of a token into an `AccessToken`; the resource server checks what every token has to pass
(audience, expiry, scopes) and makes a `Principal` of it. Neither keeps the token itself.
"""

from dataclasses import field
from hashlib import sha256
from json import dumps
from typing import Any, Callable, Dict, List, Optional, Tuple

from ...options import spelt
from ...records import Record, dataclass


@spelt
@dataclass(eq=False, repr=False)
class AccessToken(Record):
    """The contents of a verified token. Members that a verifier does not know of are left as they are.

    ``subject``: the person or program that it speaks for. ``client_id``: the program that presents it. ``issuer``: the
    authorization server that made it, as it names itself. ``audience``: for whom it was made, the canonical URL of an
    MCP server. ``scopes``: those that were granted. ``expires_at``: seconds since 1970 UTC; None: it does not say.
    ``claims``: all that it says, or the answer of an introspection.
    """

    subject: Optional[str] = None
    client_id: Optional[str] = None
    issuer: Optional[str] = None
    audience: List[str] = field(default_factory=list)
    scopes: List[str] = field(default_factory=list)
    expires_at: Optional[float] = None
    claims: Dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Leave the claims out: they may say more of a person than a log should know."""
        shown = ("subject", "client_id", "issuer", "scopes", "expires_at")
        return "AccessToken(%s)" % ", ".join("%s=%r" % (name, getattr(self, name)) for name in shown)

    @property
    def thumbprint(self) -> Optional[str]:
        """The thumbprint of the key that the token is bound to [RFC 9449 §6]: the claim ``cnf.jkt``; None if it is not
        bound.

        A thumbprint that is no text is "", which no key has.
        """
        confirmation = self.claims.get("cnf")
        found = confirmation.get("jkt") if isinstance(confirmation, dict) else None
        return found if found is None or isinstance(found, str) else ""

    @property
    def unproved(self) -> bool:
        """True if the token is bound to something else than a key of DPoP, such as a certificate of TLS [RFC 8705 §3.1]
        ``x5t#S256``: a binding that nothing here checks.

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
        """The name of a member that is not of its type, as where claims were taken as they came; None: all are right.
        """
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
"""A function that gets a token and returns its contents, or None if it is not good. It may raise `Unauthorized`, whose
text the client gets, or another `AuthError` if the token cannot be checked now."""


class Principal(str):
    """The sender of a request: a text that is the same for every token of the same subject, client and issuer.

    Sessions, states and rates belong to it, so that they survive a refresh of the token. A token that names no subject
    is a principal of its own, though it names a client: it may be that of any person who uses this client. One of the
    client itself has a subject [RFC 9068 §2.2]. ``access``: the contents of the token of this request; its members can
    be read here, too: ``ctx.principal.scopes``.
    """

    access: AccessToken

    @classmethod
    def of(cls, access: AccessToken, token: str) -> "Principal":
        """Make the principal of this token. Its text does not tell what the token is."""
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
        """The person or program that the token speaks for; None: it does not say."""
        return self.access.subject

    @property
    def client_id(self) -> Optional[str]:
        """The program that presents the token; None: it does not say."""
        return self.access.client_id

    @property
    def issuer(self) -> Optional[str]:
        """The authorization server that made the token; None: it does not say."""
        return self.access.issuer

    @property
    def scopes(self) -> List[str]:
        """The scopes that were granted."""
        return self.access.scopes

    @property
    def expires_at(self) -> Optional[float]:
        """The end of the token in seconds since 1970; None: it does not say."""
        return self.access.expires_at

    @property
    def claims(self) -> Dict[str, Any]:
        """The claims of the token, or the answer of an introspection."""
        return self.access.claims
