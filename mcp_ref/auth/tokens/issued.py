"""What an authorization server gives: tokens, and what it knows us by; and the words that it may say to our user.

Nothing here is ever shown: neither `Token` nor `ClientInfo` has a secret in its `repr`. Which way of authentication
(`ClientInfo.method`) is which, and how tokens are asked for, is in `mcp_ref.auth.client.token_endpoint`.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence
from urllib.parse import quote_plus

from ...records import Record

if TYPE_CHECKING:
    from ..discovery.documents import AuthorizationServer
    from .jose import Signer

USABLE = re.compile(r"[!-~]+\Z")
"""What can stand in a header field [RFC 6750 §2.1] [RFC 9449 §7.1]; a little more than these allow."""
SCHEMES = {"bearer": "Bearer", "dpop": "DPoP"}
"""The kinds of tokens that we know, and the schemes of Authorization for them."""
_UNSPEAKABLE = re.compile(r"[^ !#-\[\]-~]+")
"""What an error and its description are not made of [RFC 6749 §5.2]."""
_JWT = re.compile(r"eyJ[A-Za-z0-9_\-]+(?:\.[A-Za-z0-9_\-]*)*")
"""A signed token, whoever's: our assertions and proofs, which are made for one request, are such."""


@dataclass(eq=False, repr=False)
class Token(Record):
    """An access token and what is known of it. Not to be changed: make another one."""

    access_token: str
    token_type: str = "Bearer"
    """``Bearer`` or ``DPoP``: the scheme of the Authorization field."""
    expires_at: Optional[float] = None
    """Seconds since 1970; None if the server did not say."""
    refresh_token: Optional[str] = None
    scopes: Optional[List[str]] = None
    """What it is good for, as the server said, or else what it was asked for; None: neither is known."""
    issuer: str = ""
    resource: str = ""
    client_id: str = ""
    requested: Optional[List[str]] = None
    """The scopes that were asked for, of which the server may have granted others."""
    renew_at: Optional[float] = None
    """When to get another one, a little before ``expires_at``."""

    def __repr__(self) -> str:
        return "Token(%s, scopes=%r, expires_at=%r, issuer=%r)" % (
            self.token_type, self.scopes, self.expires_at, self.issuer)

    @property
    def known_scopes(self) -> List[str]:
        """What was asked for and what was granted, each once: what another token must not lose."""
        return union(self.requested, self.scopes)

    def to_json(self) -> Dict[str, Any]:
        """All of it, for a store."""
        return {name: value for name, value in self._fields() if value is not None}

    @classmethod
    def of_json(cls, record: Mapping[str, Any]) -> "Optional[Token]":
        """Back from `to_json`; None for what is none."""
        texts = ("access_token", "token_type", "refresh_token", "issuer", "resource", "client_id")
        values: Dict[str, Any] = {name: record[name] for name in texts if isinstance(record.get(name), str)}
        for name in ("expires_at", "renew_at"):
            if isinstance(record.get(name), (int, float)):
                values[name] = float(record[name])
        for name in ("scopes", "requested"):
            if isinstance(record.get(name), list):
                values[name] = [scope for scope in record[name] if isinstance(scope, str)]
        if not USABLE.match(values.get("access_token", "")) or values.get("token_type") not in SCHEMES.values():
            return None
        return cls(**values)


@dataclass(eq=False, repr=False)
class ClientInfo(Record):
    """How one authorization server knows us. Never shown to another one: ``issuer`` says whose it is
    [2026-07-28 basic/authorization/client-registration §Authorization Server Binding] MUST.
    """

    client_id: str
    client_secret: Optional[str] = None
    method: str = "none"
    """The ``token_endpoint_auth_method``."""
    issuer: str = ""
    expires_at: Optional[float] = None
    """When the secret ends, in seconds since 1970."""
    registered: bool = False
    """Whether it comes from dynamic registration, so that another one can be had."""
    redirect_uris: Optional[List[str]] = None
    """Those that were registered, as far as it is known."""
    scopes: Optional[List[str]] = None
    """Those that the registration was made for; servers may refuse to authorize others."""

    def __repr__(self) -> str:
        return "ClientInfo(method=%r, issuer=%r, registered=%r)" % (self.method, self.issuer, self.registered)

    @property
    def secrets(self) -> List[str]:
        """The secret in every form in which it may have been sent, and so be sent back; [] without one."""
        if not self.client_secret:
            return []
        from ..discovery.fetch import basic

        return [self.client_secret, basic(self.client_id, self.client_secret)[1].partition(" ")[2]]

    def to_json(self) -> Dict[str, Any]:
        """All of it, for a store."""
        return {name: value for name, value in self._fields() if value is not None}

    @classmethod
    def of_json(cls, record: Mapping[str, Any]) -> "Optional[ClientInfo]":
        """Back from `to_json`; None for what is none."""
        values: Dict[str, Any] = {
            name: record[name] for name in ("client_id", "client_secret", "method", "issuer")
            if isinstance(record.get(name), str)
        }
        if isinstance(record.get("expires_at"), (int, float)):
            values["expires_at"] = float(record["expires_at"])
        for name in ("redirect_uris", "scopes"):
            if isinstance(record.get(name), list):
                values[name] = [item for item in record[name] if isinstance(item, str)]
        return cls(registered=record.get("registered") is True, **values) if values.get("client_id") else None


def union(*scopes: Optional[Sequence[str]]) -> List[str]:
    """All of these, each once, in the order of their first appearance; None counts as nothing."""
    return list(dict.fromkeys(scope for each in scopes if each for scope in each))


def method_of(signer: "Signer") -> str:
    """The name of the way of authentication [OpenID Connect Core 1.0 §9]: another one for shared secrets."""
    return "client_secret_jwt" if signer.alg.startswith("HS") else "private_key_jwt"


def method_for(server: "AuthorizationServer", secret: Optional[str], signer: "Optional[Signer]" = None) -> str:
    """How a client shows who it is, that has this secret or this signer: the first way that the server takes.

    A server that does not say takes ``client_secret_basic`` [RFC 8414 §2]. One that takes nothing of what we have is
    tried with the most usual: it may know of this client what its metadata does not say.
    """
    ways: List[str] = []
    if signer is not None:
        ways.append(method_of(signer))
    elif secret is not None:
        ways += ["client_secret_basic", "client_secret_post"]
    taken = server.token_endpoint_auth_methods_supported
    for way in ways + ["none"]:
        if taken is not None and way in taken:
            return way
    return ways[0] if ways else "none"


def sayable(text: Any, secrets: Sequence[str] = ()) -> str:
    """What an authorization server has written, short and harmless; no text: ``""``.

    Without any of these secrets, be they as they are, as in a form, or with other characters where blanks are.
    """
    if not isinstance(text, str):
        return ""
    said = _UNSPEAKABLE.sub(" ", text)
    forms = [form for secret in secrets if len(secret) > 3 for form in (secret, quote_plus(secret))]
    for form in sorted(forms, key=len, reverse=True):
        said = said.replace(_UNSPEAKABLE.sub(" ", form), "***")
    return _JWT.sub("***", said).strip()[:200]


def explained(error: str, description: str) -> str:
    """An error's code with what was said about it, in brackets."""
    return "%s (%s)" % (error, description) if description else error
