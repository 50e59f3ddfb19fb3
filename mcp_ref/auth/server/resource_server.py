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
come from (see below)
[2025-06-18 basic/authorization §Authorization Server Location]
[2025-11-25 basic/authorization §Protected Resource Metadata Discovery Requirements]
[2026-07-28 basic/authorization/authorization-server-discovery §Protected Resource Metadata Discovery Requirements]
MUST, and the scopes that are needed [2025-11-25 basic/authorization §Scope Selection Strategy]
[2026-07-28 basic/authorization/index §Scope Selection Strategy] SHOULD.

A token is never kept, logged or passed on: handlers get a `Principal`, which does not have it
[2025-06-18..2025-11-25 basic/authorization §Token Handling] [2026-07-28 basic/authorization/index §Token Handling]
MUST NOT.

The server also publishes documents, for clients that look for its authorization server
[2025-06-18 basic/authorization §Authorization Flow > Overview]
[2025-11-25 basic/authorization §Overview] [2026-07-28 basic/authorization/index §Overview] MUST:

==============================================  ======================================================================
path                                            answer
==============================================  ======================================================================
``/.well-known/oauth-protected-resource/...``   the document of the resource [RFC 9728 §3], at the path of the endpoint
``/.well-known/oauth-protected-resource``       the same, at the root
``/.well-known/oauth-authorization-server``     for 2025-03-26: metadata of the first authorization server
``/authorize``, ``/token``, ``/register``       for 2025-03-26: a redirect to the endpoint that this stands for
==============================================  ======================================================================

Clients of 2025-03-26 take the origin of the MCP server for the authorization server
[2025-03-26 basic/authorization §Authorization Base URL] MUST. Reading: the metadata they find there name our origin as
their ``issuer``, since RFC 8414 §3.3 has them refuse any other; all endpoints in it are those of the real one.
Later clients never ask for it, because they find the document of the resource first.

These documents are public: any page may read them, and no token is wanted.
"""

import re
import time
from dataclasses import replace
from functools import partial
from typing import Any, Callable, Dict, Iterable, Mapping, Optional, Sequence, Set, Tuple, Union
from urllib.parse import parse_qs, urlsplit

from ...diagnostics.packagelog import get_logger, place_of
from ...errors import AuthError, DiscoveryFailed, McpError, Unauthorized
from ...http11.message import Exchange, HttpRequest
from ...jsonrpc import Batch, Frame, Notification, Request
from ...jsontext import dumps
from ...limits import DEFAULT, Limits
from ...options import strict_options
from ...protocol.streamable_http.refusals import Pairs, preflight
from ...streamable.server.authenticate import AccessDenied, Guard
from ..discover import AuthorizationServer, format_challenge, metadata_of
from ..fetch import CachedDocument, Fetcher, canonical, checked, origin, resource_metadata_urls, split
from ..jws import PUBLIC_KEY_ALGORITHMS
from .access import AccessToken, Asked, Principal, ScopePolicy, Scopes, Verify, checked_scopes

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
    `mcp_ref.ext.auth.dpop`. A token that is bound to a key is of no use without that; one that is bound to anything
    else, such as a certificate, is of no use here, see `AccessToken.unproved`. ``resource_name``, ``documentation``:
    for people. ``realm``: goes into challenges.

    ``publish_server_metadata``: True if clients of 2025-03-26 find the first authorization server here, too; see the
    module. ``server_metadata``: its metadata, if they are not to be fetched. ``fetcher``
    fetches them. ``now``: the time in seconds since 1970.

    Raises ValueError for a URL that is neither https nor of this machine, for no authorization server, and for scopes
    that are none.
    """

    @strict_options
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
            given = None if server_metadata is None else AuthorizationServer.of(dict(server_metadata))
        except DiscoveryFailed as error:
            raise ValueError(str(error)) from None
        self.hosts = (_host(self.resource),)
        self._verify = verify
        self._needs = ScopePolicy(scopes, needs)
        self._implies = implies
        names = [audience] if isinstance(audience, str) else audience
        self._audience = {_spelled(name) for name in (self.resource, *names)}
        self._proofs: Any = None  # a `ProofChecker`, where there is DPoP
        if dpop:
            from ...ext.auth.dpop import ProofChecker

            self._proofs = ProofChecker(self.resource, now, limits)
        self._now = now
        members = dict(
            resource=self.resource,
            authorization_servers=self.issuers,
            scopes_supported=checked_scopes(scopes_supported) or self._needs.everything or None,
            bearer_methods_supported=["header"],
            dpop_signing_alg_values_supported=list(PUBLIC_KEY_ALGORITHMS) if dpop else None,
            dpop_bound_access_tokens_required=True if dpop == "required" else None,
            resource_name=resource_name,
            resource_documentation=documentation,
        )
        self.document = {name: value for name, value in members.items() if value is not None}
        """The document of the resource [RFC 9728 §2]."""
        asked = fetcher or Fetcher(limits)
        metadata = CachedDocument(
            lambda: given or metadata_of(asked, issuers[0]), "metadata of the authorization server",
            get_logger(__name__).warning, lifetime=KEPT, longest=float("inf"), pause=RETRIED,
            max_waiting=_MAX_WAITING, patience=limits.auth_timeout)
        self._pages = WellKnownPages(self.resource, self.document, metadata if publish_server_metadata else None)
        schemes = ("DPoP",) if dpop == "required" else ("Bearer", "DPoP") if dpop else ("Bearer",)
        self._schemes, self._realm, self._max_token_bytes = schemes, realm or "", limits.max_token_bytes
        self._refusal(401, "")  # at once, so that a realm or a scope that no challenge can carry is an error here

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
        scheme, token = self._read_token(request)
        access = self._verified(token)
        if access.issuer is None and len(self.issuers) == 1:
            access = replace(access, issuer=self.issuers[0])
        elif access.issuer is None:
            raise McpError("with several authorization servers verify has to say whose a token is: AccessToken.issuer")
        if access.issuer not in self.issuers:
            raise self._invalid("the token is of another authorization server")
        if not any(_spelled(name) in self._audience for name in access.audience):
            raise self._invalid("the token is not for this server")
        if self._over(access):
            raise self._invalid("the token has expired")
        if access.unproved:
            raise self._invalid("the token is bound (cnf) to something that is not checked here")
        self._check_key(request, scheme, token, access.thumbprint)
        return Principal.of(access, token)

    def allows(self, principal: Any, frame: Optional[Frame]) -> Optional[AccessDenied]:
        """Return the refusal of a message for which the scopes of its token do not suffice, else None; see
        `Guard.allows`."""
        items = frame.items if isinstance(frame, Batch) else [frame]
        needed = self._needs.scopes_for([(item.method, item.params if isinstance(item.params, dict) else None)
                                         for item in items if isinstance(item, (Request, Notification))])
        granted = set(principal.scopes)
        if needed and self._implies is not None:
            granted.update(self._implies(set(granted)))
        if granted.issuperset(needed):
            return None
        # All scopes that this takes are named, so that it takes one more try
        # [2025-11-25 basic/authorization §Runtime Insufficient Scope Errors]
        # [2026-07-28 basic/authorization/index §Runtime Insufficient Scope Errors] SHOULD.
        return self._refusal(403, "this needs the scopes " + " ".join(needed), "insufficient_scope", needed)

    def expired(self, principal: Any) -> bool:
        """Return True if the token with which this principal was admitted has expired; see `Guard.expired`.

        Only `AccessToken.expires_at` is compared with the clock. Whether the token was revoked meanwhile is not asked,
        because the text of the token is not kept.
        """
        return isinstance(principal, Principal) and self._over(principal.access)

    # Refusals

    def _invalid(self, why: str, error: str = "invalid_token") -> AccessDenied:
        """Refuse a token that is not good
        [2025-03-26..2025-11-25 basic/authorization §Token Handling]
        [2026-07-28 basic/authorization/index §Token Handling] MUST."""
        return self._refusal(401, why, error, self._needs.everything)

    def _refusal(self, status: int, why: str, error: str = "", scopes: Sequence[str] = ()) -> AccessDenied:
        """Return a refusal with its challenges. ``error``: as in RFC 6750 §3.1; "" for none."""
        told = _UNFIT.sub(" ", why[:_LONGEST])
        params = [
            ("realm", self._realm),
            ("error", error),
            ("error_description", told if error else ""),
            ("scope", " ".join(scopes)),
            ("resource_metadata", self._pages.document_url),
        ]
        given = [pair for pair in params if pair[1]]
        return AccessDenied(status, ": " + told, [
            format_challenge(scheme, given + ([("algs", " ".join(PUBLIC_KEY_ALGORITHMS))] if scheme == "DPoP" else []))
            for scheme in self._schemes])

    # The checks of a token

    def _read_token(self, request: HttpRequest) -> Tuple[str, str]:
        """Return the scheme, in lower case, and the token of a request: in the field Authorization, and nowhere else.

        Raises `AccessDenied`. The refusal of a request without a token, or with credentials of another kind, says what
        is wanted and not that something is wrong.
        """
        fields = request.headers.get_all("authorization")
        if "access_token" in parse_qs(request.query, keep_blank_values=True):
            raise self._refusal(400, "a token in the address is not taken: send it in the field Authorization",
                                "invalid_request")
        if len(fields) > 1:
            raise self._refusal(400, "there are several fields Authorization", "invalid_request")
        scheme, _, token = (fields[0] if fields else "").strip(" \t").partition(" ")
        scheme, token = scheme.lower(), token.strip(" \t")
        if scheme not in map(str.lower, self._schemes):
            # [2025-03-26 basic/authorization §Example: authorization code grant] MUST
            raise self._invalid("this server wants an access token in the field Authorization", "")
        if not _TOKEN.match(token) or len(token) > self._max_token_bytes:
            raise self._refusal(400, "the field Authorization has no token that can be read", "invalid_request")
        return scheme, token

    def _over(self, access: AccessToken) -> bool:
        """Return True if a token says when it expires, and that time has come."""
        return access.expires_at is not None and not access.expires_at > self._now()

    def _verified(self, token: str) -> AccessToken:
        """Return the contents of a token that the verifier finds good. Raises `AccessDenied`.

        An error of the verifier's own is reported without its text, which may show the token.
        """
        try:
            access = self._verify(token)
        except Unauthorized as error:
            raise self._invalid(str(error).replace(token, "...")) from None
        except AuthError as error:
            get_logger(__name__).warning("a token cannot be checked: %s", str(error).replace(token, "..."))
            raise AccessDenied(503) from None
        except Exception as error:
            told = McpError("verify raised %s at %s:%d" % (type(error).__name__, *place_of(error)))
            raise told.with_traceback(error.__traceback__) from None
        if access is None:
            raise self._invalid("the token is not valid here")
        if not isinstance(access, AccessToken):
            raise McpError("verify returns an AccessToken or None, not a %s" % type(access).__name__)
        if access.misfit is not None:
            raise McpError("verify returns an AccessToken whose %s is not of its type" % access.misfit)
        return access

    def _check_key(self, request: HttpRequest, scheme: str, token: str, bound: Optional[str]) -> None:
        """Check that a token is bound to a key if and only if that is shown [RFC 9449 §7.1, §7.2] MUST. Raises
        `AccessDenied`."""
        if (bound is not None) != (scheme == "dpop"):
            why = "no key, so it is shown as Bearer" if bound is None else "a key, so it takes a proof of that"
            raise self._invalid("the token is bound to " + why)
        if self._proofs is None or scheme != "dpop":
            return
        try:
            proof = self._proofs.check(request, token)
        except ValueError as error:
            raise self._invalid(str(error), "invalid_dpop_proof") from None
        if proof.thumbprint != bound:
            raise self._invalid("the token is bound to another key")
        try:
            fresh = self._proofs.use(proof)
        except AuthError as error:
            get_logger(__name__).warning("a proof cannot be checked: %s", error)
            raise AccessDenied(503) from None
        if not fresh:
            raise self._invalid("the proof was used before", "invalid_dpop_proof")


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


SERVER_METADATA = "/.well-known/oauth-authorization-server"
KEPT = 3600.0
"""Seconds for which metadata of an authorization server are good."""
RETRIED = 10.0
"""Seconds before a failed fetch is tried again."""
_MAX_WAITING = 3
"""Requests that wait while another one fetches; more get 503 with Retry-After, so that they cannot hold all threads.
"""
_OPEN = (("Access-Control-Allow-Origin", "*"),)
_DOCUMENT = (("Content-Type", "application/json"), ("Cache-Control", "max-age=300")) + _OPEN
_LATER = (("Content-Type", "text/plain; charset=utf-8"), ("Retry-After", "5"), ("Cache-Control", "no-store")) + _OPEN
_NOT_REPEATED = ("issuer", "signed_metadata", "authorization_response_iss_parameter_supported")

Page = Callable[[Exchange], None]

_WAYS: Dict[str, Tuple[str, int, str]] = {
    "/authorize": ("GET", 302, "authorization_endpoint"),
    "/token": ("POST", 307, "token_endpoint"),
    "/register": ("POST", 307, "registration_endpoint"),
}
"""The default paths of 2025-03-26: the method, the status of the redirect, and the endpoint that it leads to
[2025-03-26 basic/authorization §Authorization Flow > Overview] MUST
[2025-03-26 basic/authorization §Fallbacks for Servers without Metadata Discovery] MUST; 307 keeps the body."""


class WellKnownPages:
    """The pages of one resource. ``document``: that of the resource; ``metadata`` None: nothing for 2025-03-26."""

    def __init__(
        self, resource: str, document: Mapping[str, Any], metadata: Optional[CachedDocument[AuthorizationServer]],
    ) -> None:
        self._origin = origin(resource)
        self._metadata = metadata
        self._document = dumps(document).encode("ascii")
        self.document_url, *_ = urls = resource_metadata_urls(resource)
        """The address of the document, for challenges."""
        self._pages: Dict[str, Page] = {urlsplit(url).path: self._resource for url in urls}
        if metadata is not None:
            self._pages[SERVER_METADATA] = self._server
            self._pages.update((path, partial(self._redirect, *way)) for path, way in _WAYS.items())
        self._pages.pop(urlsplit(resource).path, None)

    def answers(self, exchange: Exchange) -> bool:
        """Reply to a request to one of the pages. Returns False, without a reply, for any other request."""
        request = exchange.request
        for path in (request.path, request.root + request.path):
            if path in self._pages:
                self._pages[path](exchange)
                return True
        return False

    def _resource(self, exchange: Exchange) -> None:
        if _taken(exchange, "GET", "HEAD"):
            exchange.reply(200, _DOCUMENT, self._document)

    def _server(self, exchange: Exchange) -> None:
        """Reply with the metadata [2025-03-26 basic/authorization §Server Metadata Discovery] SHOULD."""
        server = self._known(exchange, "GET", "HEAD")
        if server is not None:
            members = {name: value for name, value in server.raw.items() if name not in _NOT_REPEATED}
            exchange.reply(200, _DOCUMENT, dumps({"issuer": self._origin, **members}).encode("ascii"))

    def _redirect(self, method: str, status: int, endpoint: str, exchange: Exchange) -> None:
        """Redirect to the real endpoint
        [2025-03-26 basic/authorization §Fallbacks for Servers without Metadata Discovery] MUST."""
        request = exchange.request
        server = self._known(exchange, method)
        if server is None:
            return
        target: Optional[str] = getattr(server, endpoint)
        if target is None:
            _say(exchange, 404, "The authorization server has no such endpoint.")
        elif not (request.query.isascii() and request.query.isprintable()):
            _say(exchange, 400, "A query that cannot be read.")
        else:
            query = "" if not request.query else ("&" if "?" in target else "?") + request.query
            exchange.reply(status, (("Location", target + query), ("Cache-Control", "no-store")) + _OPEN)

    def _known(self, exchange: Exchange, *methods: str) -> Optional[AuthorizationServer]:
        """Return the authorization server, for a request with one of these methods; None if the reply is out already.
        """
        if self._metadata is None or not _taken(exchange, *methods):
            return None
        try:
            return self._metadata.get()
        except AuthError:
            exchange.reply(503, _LATER, b"The authorization server is not known now: its metadata are being fetched, or"
                                        b" could not be fetched; try again later.\n")
            return None


def _taken(exchange: Exchange, *methods: str) -> bool:
    """True if the method is one of these; False if the reply is out already."""
    method, allow = exchange.request.method, ", ".join((*methods, "OPTIONS"))
    if method in methods:
        return True
    if method == "OPTIONS":
        wanted = exchange.request.headers.get("access-control-request-headers")
        exchange.reply(204, (("Allow", allow), *_OPEN, *preflight(allow, wanted)))
    else:
        _say(exchange, 405, "Method not allowed.", (("Allow", allow),))
    return False


def _say(exchange: Exchange, status: int, text: str, fields: Pairs = ()) -> None:
    exchange.reply(status, (("Content-Type", "text/plain; charset=utf-8"), *_OPEN, *fields), (text + "\n").encode())
