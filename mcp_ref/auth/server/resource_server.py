"""The guard of a protected MCP server: it admits requests with a good token, and tells other clients where to get one.

::

    def verify(token):                      # or a JwtVerifier, or an Introspection
        return AccessToken(subject="ada", audience=["https://mcp.example.com/mcp"], scopes=["files:read"])

    auth = ResourceServer("https://mcp.example.com/mcp", ["https://auth.example.com"], verify,
                          scopes=["files:read"], needs={"tools/call:delete": ["files:write"]})
    server = Server("demo", auth=auth)

    @server.tool
    def who(ctx: Context) -> str:
        return ctx.principal.subject

====================================================  ======  ====================  ===========================
request                                               status  error                 scope
====================================================  ======  ====================  ===========================
no token, or credentials of another kind              401     none                  those that everything needs
several tokens, one in the query, one that is none    400     ``invalid_request``   none
a token that nobody knows, that has expired, or that
is for somebody else                                  401     ``invalid_token``     those that everything needs
a token whose scopes are not enough                   403     ``insufficient_scope``  all that this request needs
a token that is bound to a key, without proof of it   401     ``invalid_token``     those that everything needs
a proof that is not good (with ``dpop``)              401     ``invalid_dpop_proof``  those that everything needs
a token that cannot be checked now                    503     none                  none
====================================================  ======  ====================  ===========================

[2025-03-26..2025-11-25 basic/authorization §Token Handling], [2026-07-28 basic/authorization/index §Token Handling]
MUST; errors by RFC 6750 §2.1 and §3. Whatever the verifier says, audience, issuer and expiry are checked here.

Each refusal but the last has a challenge for each scheme that is taken. It names the document that says where tokens
come from (see `metadata`)
[2025-06-18 basic/authorization §Authorization Server Location]
[2025-11-25 basic/authorization §Protected Resource Metadata Discovery Requirements]
[2026-07-28 basic/authorization/authorization-server-discovery §Protected Resource Metadata Discovery Requirements]
MUST, and the scopes that are needed [2025-11-25 basic/authorization §Scope Selection Strategy]
[2026-07-28 basic/authorization/index §Scope Selection Strategy] SHOULD.

A token is never kept, logged or passed on: handlers get a `Principal`, which does not have it
[2025-06-18..2025-11-25 basic/authorization §Token Handling] [2026-07-28 basic/authorization/index §Token Handling]
MUST NOT.
"""

import re
import time
from dataclasses import replace
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple, Union
from urllib.parse import parse_qs

from ...errors import AuthError, DiscoveryFailed, McpError, Unauthorized
from ...http11.message import Exchange, HttpRequest
from ...jsonrpc import Batch, Frame, Notification, Request
from ...limits import DEFAULT, Limits
from ...options import spelt
from ...streamable.server.authenticate import AccessDenied, Guard
from ..challenge import format_challenge
from ..dpop import ALGORITHMS, ProofChecker
from ..fetch import Fetcher
from ..urls import canonical, checked, split
from .access import AccessToken, Asked, Principal, ScopePolicy, Scopes, Verify, checked_scopes
from .metadata import ServerMetadata, WellKnownPages

_TOKEN = re.compile(r"[\x21-\x7e]+\Z")
_UNFIT = re.compile(r"[^\x20\x21\x23-\x5b\x5d-\x7e]")
"""Characters that a description must not have [RFC 6750 §3]."""
_LONGEST = 200
"""Characters of a description at most."""


class ResourceServer(Guard):
    """Admits requests with an access token that was made for this resource.

    ``resource``: the URL of the MCP server as clients know it. ``authorization_servers``: the issuers of tokens for it,
    at least one. ``verify(token)``: returns the contents of a token; see `Verify` and `mcp_ref.auth.server.verifiers`.

    ``scopes``: those that every request needs. ``needs``: those that some need besides, a mapping such as
    ``{"tools/call:delete": ["files:write"]}``, or a function of method and params; see `mcp_ref.auth.server.access`.
    ``implies(scopes)``: the set of scopes that these include, where broad ones stand for narrow ones
    [2026-07-28 basic/authorization/index §Step-Up Authorization Flow] MUST.

    ``audience``: other names for ``resource`` that tokens may have as their audience, if an authorization server does
    not know it by its URL. ``scopes_supported``: those that clients ask for without a better hint (default:
    ``scopes``). ``dpop``: True if clients may prove that they hold the key of their token, "required" if they must; see
    `mcp_ref.auth.dpop`. A token that is bound to a key is of no use without that; one that is bound to anything
    else, such as a certificate, is of no use here, see `AccessToken.unproved`. ``resource_name``, ``documentation``:
    for people. ``realm``: goes into challenges.

    ``publish_server_metadata``: True if clients of 2025-03-26 find the first authorization server here, too; see
    `mcp_ref.auth.server.metadata`. ``server_metadata``: its metadata, if they are not to be fetched. ``fetcher``
    fetches them. ``now``: the time in seconds since 1970.

    Raises ValueError for a URL that is neither https nor of this machine, for no authorization server, and for scopes
    that are none.
    """

    @spelt
    def __init__(
        self,
        resource: str,
        authorization_servers: Union[str, Sequence[str]],
        verify: Verify,
        *,
        scopes: Scopes = None,
        needs: Union[Mapping[str, Scopes], Asked, None] = None,
        implies: Optional[Callable[[Set[str]], Iterable[str]]] = None,
        audience: Union[str, Sequence[str]] = (),
        dpop: Union[bool, str] = False,
        scopes_supported: Scopes = None,
        resource_name: Optional[str] = None,
        documentation: Optional[str] = None,
        realm: Optional[str] = None,
        publish_server_metadata: bool = True,
        server_metadata: Optional[Mapping[str, Any]] = None,
        fetcher: Optional[Fetcher] = None,
        limits: Limits = DEFAULT,
        now: Callable[[], float] = time.time,
    ) -> None:
        issuers = [authorization_servers] if isinstance(authorization_servers, str) else list(authorization_servers)
        if not issuers:
            raise ValueError("a protected server names at least one authorization server")
        if dpop not in (False, True, "required"):
            raise ValueError("dpop is False, True or 'required', not %r" % (dpop,))
        try:
            self.resource = canonical(checked(resource, "resource"))
            self.issuers = [checked(issuer, "authorization server") for issuer in issuers]
            metadata = ServerMetadata(issuers[0], server_metadata, fetcher or Fetcher(limits), now)
        except DiscoveryFailed as error:
            raise ValueError(str(error)) from None
        self.hosts = (_host(self.resource),)
        self._verify = verify
        self._needs = ScopePolicy(scopes, needs)
        self._implies = implies
        names = [audience] if isinstance(audience, str) else audience
        self._audience = {_spelled(name) for name in (self.resource, *names)}
        self._proofs = ProofChecker(self.resource, now, limits) if dpop else None
        self._now = now
        self.document = _known(
            resource=self.resource,
            authorization_servers=self.issuers,
            scopes_supported=checked_scopes(scopes_supported) or self._needs.everything or None,
            bearer_methods_supported=["header"],
            dpop_signing_alg_values_supported=list(ALGORITHMS) if dpop else None,
            dpop_bound_access_tokens_required=True if dpop == "required" else None,
            resource_name=resource_name,
            resource_documentation=documentation,
        )
        """The document of the resource [RFC 9728 §2]."""
        self._pages = WellKnownPages(self.resource, self.document, metadata if publish_server_metadata else None)
        schemes = ("DPoP",) if dpop == "required" else ("Bearer", "DPoP") if dpop else ("Bearer",)
        self._refusals = Refusals(schemes, self._pages.document_url, self._needs.everything, realm,
                                  limits.max_token_bytes)

    # The interface of a guard, called by endpoints

    def answers(self, exchange: Exchange) -> bool:
        """Reply to a request for one of the published documents; see `Guard.answers`."""
        return self._pages.answers(exchange)

    def admit(self, request: HttpRequest) -> Principal:
        """Return the principal of the token of a request; see `Guard.admit`. Raises `AccessDenied`.

        [2025-06-18..2025-11-25 basic/authorization §Access Token Privilege Restriction]
        [2026-07-28 basic/authorization/security-considerations §Access Token Privilege Restriction] MUST
        """
        # The proof of DPoP comes last, because it is remembered as used: only one for a token that is good otherwise
        # may take room in that memory.
        scheme, token = self._refusals.read_token(request)
        access = self._verified(token)
        if access is None:
            raise self._refusals.invalid("the token is not valid here")
        if access.issuer is None and len(self.issuers) == 1:
            access = replace(access, issuer=self.issuers[0])
        elif access.issuer is None:
            raise McpError("with several authorization servers verify has to say whose a token is: AccessToken.issuer")
        if access.issuer not in self.issuers:
            raise self._refusals.invalid("the token is of another authorization server")
        if not any(_spelled(name) in self._audience for name in access.audience):
            raise self._refusals.invalid("the token is not for this server")
        if self._over(access):
            raise self._refusals.invalid("the token has expired")
        if access.unproved:
            raise self._refusals.invalid("the token is bound (cnf) to something that is not checked here")
        self._check_key(request, scheme, token, access.thumbprint)
        return Principal.of(access, token)

    def allows(self, principal: Any, frame: Optional[Frame]) -> Optional[AccessDenied]:
        """Return the refusal of a message for which the scopes of its token do not suffice, else None; see
        `Guard.allows`."""
        items = frame.items if isinstance(frame, Batch) else [frame]
        needed = self._needs.scopes_for([(item.method, _object(item.params)) for item in items
                                         if isinstance(item, (Request, Notification))])
        granted = set(principal.scopes)
        if needed and self._implies is not None:
            granted.update(self._implies(set(granted)))
        if granted.issuperset(needed):
            return None
        return self._refusals.insufficient(needed)

    def expired(self, principal: Any) -> bool:
        """Return True if the token with which this principal was admitted has expired; see `Guard.expired`.

        Only `AccessToken.expires_at` is compared with the clock. Whether the token was revoked meanwhile is not asked,
        because the text of the token is not kept.
        """
        return isinstance(principal, Principal) and self._over(principal.access)

    # The checks of a token

    def _over(self, access: AccessToken) -> bool:
        """Return True if a token says when it expires, and that time has come."""
        return access.expires_at is not None and not access.expires_at > self._now()

    def _verified(self, token: str) -> Optional[AccessToken]:
        """Return the verdict of the verifier. Raises `AccessDenied`.

        An error of the verifier's own is reported without its text, which may show the token.
        """
        try:
            access = self._verify(token)
        except Unauthorized as error:
            raise self._refusals.invalid(str(error).replace(token, "...")) from None
        except AuthError as error:
            from ...diagnostics.packagelog import get_logger

            get_logger(__name__).warning("a token cannot be checked: %s", str(error).replace(token, "..."))
            raise AccessDenied(503) from None
        except Exception as error:
            told = McpError("verify raised %s %s" % (type(error).__name__, _place(error)))
            raise told.with_traceback(error.__traceback__) from None
        if access is not None and not isinstance(access, AccessToken):
            raise McpError("verify returns an AccessToken or None, not a %s" % type(access).__name__)
        wrong = None if access is None else access.misfit
        if wrong is not None:
            raise McpError("verify returns an AccessToken whose %s is not of its type" % wrong)
        return access

    def _check_key(self, request: HttpRequest, scheme: str, token: str, bound: Optional[str]) -> None:
        """Check that a token is bound to a key if and only if that is shown [RFC 9449 §7.1, §7.2] MUST. Raises
        `AccessDenied`."""
        if (bound is not None) != (scheme == "dpop"):
            why = "no key, so it is shown as Bearer" if bound is None else "a key, so it takes a proof of that"
            raise self._refusals.invalid("the token is bound to " + why)
        if self._proofs is None or scheme != "dpop":
            return
        try:
            proof = self._proofs.check(request, token)
        except ValueError as error:
            raise self._refusals.invalid(str(error), "invalid_dpop_proof") from None
        if proof.thumbprint != bound:
            raise self._refusals.invalid("the token is bound to another key")
        try:
            fresh = self._proofs.use(proof)
        except AuthError as error:
            from ...diagnostics.packagelog import get_logger

            get_logger(__name__).warning("a proof cannot be checked: %s", error)
            raise AccessDenied(503) from None
        if not fresh:
            raise self._refusals.invalid("the proof was used before", "invalid_dpop_proof")


class Refusals:
    """The refusals of one server. ``schemes``: those of Authorization that it takes, such as ``Bearer``;
    ``document_url``: the address of its document; ``everything``: the scopes that all requests need."""

    def __init__(self, schemes: Sequence[str], document_url: str, everything: List[str], realm: Optional[str],
                 max_token_bytes: int) -> None:
        self._schemes = tuple(schemes)
        self._document_url = document_url
        self._everything = everything
        self._realm = realm
        self._max_token_bytes = max_token_bytes
        self.make(401, "")  # at once, so that a realm or a scope that no challenge can carry is an error here

    def read_token(self, request: HttpRequest) -> Tuple[str, str]:
        """Return the scheme, in lower case, and the token of a request: in the field Authorization, and nowhere else.

        Raises `AccessDenied`. The refusal of a request without a token, or with credentials of another kind, says what
        is wanted and not that something is wrong.
        """
        fields = request.headers.get_all("authorization")
        if "access_token" in parse_qs(request.query, keep_blank_values=True):
            raise self.make(400, "a token in the address is not taken: send it in the field Authorization",
                            "invalid_request")
        if len(fields) > 1:
            raise self.make(400, "there are several fields Authorization", "invalid_request")
        scheme, _, token = (fields[0] if fields else "").strip(" \t").partition(" ")
        scheme, token = scheme.lower(), token.strip(" \t")
        if scheme not in map(str.lower, self._schemes):
            raise self.make(401, "this server wants an access token in the field Authorization", "", self._everything)
        if not _TOKEN.match(token) or len(token) > self._max_token_bytes:
            raise self.make(400, "the field Authorization has no token that can be read", "invalid_request")
        return scheme, token

    def invalid(self, why: str, error: str = "invalid_token") -> AccessDenied:
        """Refuse a token that is not good
        [2025-03-26..2025-11-25 basic/authorization §Token Handling]
        [2026-07-28 basic/authorization/index §Token Handling] MUST."""
        return self.make(401, why, error, self._everything)

    def insufficient(self, needed: Sequence[str]) -> AccessDenied:
        """Refuse a token that does not allow enough. ``needed``: all scopes that this takes, so that it takes one more
        try [2025-11-25 basic/authorization §Runtime Insufficient Scope Errors] [2026-07-28 basic/authorization/index
        §Runtime Insufficient Scope Errors] SHOULD."""
        return self.make(403, "this needs the scopes " + " ".join(needed), "insufficient_scope", needed)

    def make(self, status: int, why: str, error: str = "", scopes: Sequence[str] = ()) -> AccessDenied:
        """Make a refusal with its challenges. ``error``: as in RFC 6750 §3.1; "" for none."""
        told = _UNFIT.sub(" ", why[:_LONGEST])
        params = [
            ("realm", self._realm or ""),
            ("error", error),
            ("error_description", told if error else ""),
            ("scope", " ".join(scopes)),
            ("resource_metadata", self._document_url),
        ]
        given = [pair for pair in params if pair[1]]
        return AccessDenied(status, ": " + told, [
            format_challenge(scheme, given + ([("algs", " ".join(ALGORITHMS))] if scheme == "DPoP" else []))
            for scheme in self._schemes])


def _spelled(audience: str) -> str:
    """Return an audience as it is compared: of a URL, scheme and host in any case
    [2025-06-18..2025-11-25 basic/authorization §Canonical Server URI]
    [2026-07-28 basic/authorization/index §Canonical Server URI] SHOULD."""
    try:
        parts = split(audience, "audience")
    except DiscoveryFailed:
        return audience
    return parts.origin + ("" if parts.path == "/" else parts.path) + (parts.query and "?" + parts.query)


def _host(url: str) -> str:
    """Return the host of a URL, as `header_values.Hosts` wants it."""
    host = split(url, "resource").host
    return "[%s]" % host if ":" in host else host


def _known(**members: Any) -> Dict[str, Any]:
    """Return these members, without those that are None."""
    return {name: value for name, value in members.items() if value is not None}


def _object(params: Any) -> Optional[Dict[str, Any]]:
    return params if isinstance(params, dict) else None


def _place(error: BaseException) -> str:
    """Return the place where an error was raised."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return "" if step is None else "at %s:%d" % (step.tb_frame.f_code.co_filename, step.tb_lineno)
