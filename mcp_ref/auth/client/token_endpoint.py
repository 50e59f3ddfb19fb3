"""Tokens, clients, and the requests that get a token: authorization codes and the token endpoint.

A `TokenEndpoint` makes token requests as one client, which authenticates in one of these ways:

=======================  ============================================================================
method                   the request has
=======================  ============================================================================
``none``                 the client id in the form
``client_secret_basic``  id and secret in the field Authorization
``client_secret_post``   ``client_secret`` in the form
``private_key_jwt``      a signed assertion in the form: a JWT of the client about itself
                         [RFC 7523 §2.2, §3]; with a shared secret ``client_secret_jwt``
=======================  ============================================================================

The authorization server knows the public key from registration or from the client's metadata document
[2025-11-25 basic/authorization §Client ID Metadata Documents]
[2026-07-28 basic/authorization/client-registration §Implementation Requirements] MAY.

Reading: RFC 7523 leaves open whether ``aud`` of an assertion is the issuer or the URL of the token endpoint. Here it is
the issuer and nothing else: a server that we are led to by mistake cannot then use the assertion at another one.

No secret is ever shown: neither `Token` nor `ClientInfo` has one in its ``repr``, and what an authorization server says
about a refusal is cleaned of everything that we sent before it goes into an error.

A `CodeFlow` is one authorization by code, without the browser::

    flow = CodeFlow(discovered, client, redirect_uri, scopes)     # verifier, state, the expected issuer
    flow.url                                                      # to be opened in a browser
    code = flow.code(redirect)                                    # the URL that the browser came back to
    token = flow.exchange(code, endpoint)

Three things must hold before a code goes to a token endpoint. They are checked in this order, and if one fails, nothing
that the redirect says is used or shown:

1.  ``state``: it is the answer to our request, and to no other
    [2025-06-18..2025-11-25 basic/authorization §Open Redirection] SHOULD
    [2026-07-28 basic/authorization/security-considerations §Open Redirection] SHOULD
2.  ``iss``, by this table: it comes from the server that we asked [RFC 9207 §2.4]
    [2026-07-28 basic/authorization/index §Authorization Response Validation] MUST

    ============================  ==============  ===========================================
    the server announces ``iss``  it is there     action
    ============================  ==============  ===========================================
    yes                           yes             compare, character by character
    yes                           no              reject
    no                            yes             compare, character by character
    no                            no              proceed
    ============================  ==============  ===========================================

3.  ``error`` is not there, and ``code`` is.

An attacker who has got hold of a code cannot use it without the verifier of PKCE [RFC 7636]
[2025-06-18..2025-11-25 basic/authorization §Authorization Code Protection] MUST
[2026-07-28 basic/authorization/security-considerations §Authorization Code Protection] MUST.
"""

import base64
import hashlib
import hmac
import re
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Collection, Dict, List, Mapping, Optional, Sequence, Tuple
from urllib.parse import parse_qsl, quote_plus, urlencode

from ...errors import AuthError, DiscoveryFailed, IssuerMismatch, TokenRefused
from ...revisions import LATEST, REVISIONS
from ..discover import OFFLINE, scope_list

if TYPE_CHECKING:
    from ...ext.auth.dpop import Prover
    from ..discover import AuthorizationServer, Discovered
    from ..fetch import Fetcher, HttpAnswer
    from ..jose import Signer

USABLE = re.compile(r"[!-~]+\Z")
"""A token that can stand in a header field [RFC 6750 §2.1] [RFC 9449 §7.1]; a little more than these allow."""
SCHEMES = {"bearer": "Bearer", "dpop": "DPoP"}
"""The kinds of tokens that we know, and the schemes of Authorization for them."""
_UNSPEAKABLE = re.compile(r"[^ !#-\[\]-~]+")
"""Characters that an error and its description cannot have [RFC 6749 §5.2]."""
_JWT = re.compile(r"eyJ[A-Za-z0-9_\-]+(?:\.[A-Za-z0-9_\-]*)*")
"""A signed token of any origin: our assertions and proofs, which are made for one request, are such."""


@dataclass
class Token:
    """An access token and what is known of it. Not to be changed: make another one."""

    access_token: str
    token_type: str = "Bearer"
    """``Bearer`` or ``DPoP``: the scheme of the Authorization field."""
    expires_at: Optional[float] = None
    """The end of the token in seconds since 1970; None if the server did not say."""
    refresh_token: Optional[str] = None
    scopes: Optional[List[str]] = None
    """The scopes that the server has granted, or else those that were asked for; None: neither is known."""
    issuer: str = ""
    resource: str = ""
    client_id: str = ""
    requested: Optional[List[str]] = None
    """The scopes that were asked for, of which the server may have granted others."""
    renew_at: Optional[float] = None
    """The time at which to get another token, a little before ``expires_at``."""

    def __repr__(self) -> str:
        return "Token(%s, scopes=%r, expires_at=%r, issuer=%r)" % (
            self.token_type, self.scopes, self.expires_at, self.issuer)

    @property
    def known_scopes(self) -> List[str]:
        """The scopes that were asked for and those that were granted, each once: another token must not lose them."""
        return union(self.requested, self.scopes)

    def to_json(self) -> Dict[str, Any]:
        """Return all members as a JSON object, for a store."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @classmethod
    def of_json(cls, record: Mapping[str, Any]) -> "Optional[Token]":
        """Return the token of such an object; None if it is no token."""
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


@dataclass
class ClientInfo:
    """The client as one authorization server knows it. Never shown to another one: ``issuer`` says whose it is
    [2026-07-28 basic/authorization/client-registration §Authorization Server Binding] MUST."""

    client_id: str
    client_secret: Optional[str] = None
    method: str = "none"
    """The ``token_endpoint_auth_method``."""
    issuer: str = ""
    expires_at: Optional[float] = None
    """The end of the secret in seconds since 1970; None: it does not end."""
    registered: bool = False
    """True if it comes from dynamic registration, so that another one can be had."""
    redirect_uris: Optional[List[str]] = None
    """The redirect URIs that were registered; None: not known."""
    scopes: Optional[List[str]] = None
    """The scopes that the registration was made for; servers may refuse to authorize others."""

    def __repr__(self) -> str:
        return "ClientInfo(method=%r, issuer=%r, registered=%r)" % (self.method, self.issuer, self.registered)

    @property
    def secrets(self) -> List[str]:
        """The secret in every form in which it may have been sent, and so be sent back; [] without one."""
        if not self.client_secret:
            return []
        from ..fetch import basic

        return [self.client_secret, basic(self.client_id, self.client_secret)[1].partition(" ")[2]]

    def to_json(self) -> Dict[str, Any]:
        """Return all members as a JSON object, for a store."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @classmethod
    def of_json(cls, record: Mapping[str, Any]) -> "Optional[ClientInfo]":
        """Return the client of such an object; None if it is none."""
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
    """Return all of these scopes, each once, in the order of their first appearance; None counts as no scopes."""
    return list(dict.fromkeys(scope for each in scopes if each for scope in each))


def method_of(signer: "Signer") -> str:
    """Return the method of a client with this signer [OpenID Connect Core 1.0 §9]: another one for shared secrets."""
    return "client_secret_jwt" if signer.alg.startswith("HS") else "private_key_jwt"


def method_for(server: "AuthorizationServer", secret: Optional[str], signer: "Optional[Signer]" = None) -> str:
    """Return the method of a client with this secret or this signer: the first one that the server takes.

    A server that does not say takes ``client_secret_basic`` [RFC 8414 §2]. If it takes no method that the client has,
    the most usual one is tried: the server may know of this client what its metadata does not say.
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
    """Return a text of an authorization server in a short and harmless form; "" for what is no text.

    The ``secrets`` are taken out: as they are, encoded as in a form, and with other characters in place of blanks.
    """
    if not isinstance(text, str):
        return ""
    said = _UNSPEAKABLE.sub(" ", text)
    forms = [form for secret in secrets if len(secret) > 3 for form in (secret, quote_plus(secret))]
    for form in sorted(forms, key=len, reverse=True):
        said = said.replace(_UNSPEAKABLE.sub(" ", form), "***")
    return _JWT.sub("***", said).strip()[:200]


def explained(error: str, description: str) -> str:
    """Return an error's code, with its description in brackets."""
    return "%s (%s)" % (error, description) if description else error


Form = Sequence[Tuple[str, str]]
"""Names and values of a form, in order."""

EARLY = 30.0
"""Seconds before its end in which a token is not used any more if there is a way to another one; of a token that
lives less than five minutes it is a tenth of its life."""
MAX_LIFE = 10 * 365 * 86400.0
"""Seconds of the longest life of a token; one that is said to live longer does not end."""

_PUBLIC = frozenset(("grant_type", "resource", "scope", "audience", "client_id", "redirect_uri",
                     "subject_token_type", "requested_token_type"))
"""Fields of a request that an error may show."""


class TokenEndpoint:
    """Asks one authorization server for tokens, as one client.

    ``signer`` makes the assertions of ``private_key_jwt``, ``prover`` the proofs of DPoP, so that tokens are bound to
    its key; ``now`` is the time in seconds since 1970.
    """

    def __init__(
        self, fetcher: "Fetcher", server: "AuthorizationServer", client: ClientInfo, signer: "Optional[Signer]" = None,
        prover: "Optional[Prover]" = None, now: Callable[[], float] = time.time,
    ) -> None:
        self.fetcher, self.server, self.client = fetcher, server, client
        self.signer, self.prover, self.now = signer, prover, now

    def request(self, fields: Form, requested: Optional[Sequence[str]] = None) -> Token:
        """Make one token request. ``fields`` are those of the grant, without those of the client's authentication.

        ``requested``: the scopes that were asked for; None: the ``scope`` in ``fields``, if there is one. Raises
        `TokenRefused`, and `DiscoveryFailed` if there is no such endpoint or it cannot be reached.
        """
        asked = dict(fields)
        if requested is None and "scope" in asked:
            requested = asked["scope"].split(" ")
        return self._token(self.answer(fields), asked, requested)

    def answer(self, fields: Form) -> Mapping[str, Any]:
        """Make one token request and return the answer's object as it is, for grants that give no access token
        [RFC 8693 §2.2.1]. Raises as `request`."""
        answer = self._post(fields)
        value = _value(answer)
        if self.prover is not None:  # send it again, with the nonce that has just come [RFC 9449 §8]
            new = self.prover.learn_nonce(self.server.token_endpoint, answer.headers)
            if new and answer.status in (400, 401) and value.get("error") == "use_dpop_nonce":
                answer = self._post(fields)
                value = _value(answer)
        # [RFC 6749 §5.1] has 200; frameworks that answer each POST by 201 mean the same.
        if not 200 <= answer.status < 300 or "error" in value:
            raise self._refused(answer.status, value, dict(fields))
        return value

    def _post(self, fields: Form) -> "HttpAnswer":
        """Send the request once. Assertions and proofs are made anew for each: a server may take them once only."""
        url = self.server.token_endpoint
        more, headers = self._authentication()
        if self.prover is not None:
            headers.extend(self.prover.fields("POST", url))
        return self.fetcher.post_form(url, [*fields, *more], headers)

    def _authentication(self) -> Tuple[List[Tuple[str, str]], List[Tuple[str, str]]]:
        """Return the fields of the form and those of the header by which the client authenticates."""
        client = self.client
        if client.issuer and client.issuer != self.server.issuer:
            raise TokenRefused("the client's credentials belong to %s and are not shown to %s"
                               % (client.issuer, self.server.issuer), "invalid_client")
        named = [("client_id", client.client_id)] if client.client_id else []
        if client.method == "client_secret_basic":
            from ..fetch import basic

            # The id is in the form as well, which the official SDK's authorization server wants; it is no second proof.
            return named, [basic(client.client_id, client.client_secret or "")]
        if client.method == "client_secret_post":
            return [*named, ("client_secret", client.client_secret or "")], []
        if client.method in ("private_key_jwt", "client_secret_jwt"):
            if self.signer is None:
                raise TokenRefused("the authorization server wants %s: pass a signer" % client.method, "invalid_client")
            made = assertion_fields(self.signer, client.client_id, self.server.issuer, self.now(),
                                    self.server.token_endpoint_auth_signing_alg_values_supported)
            return [*named, *made], []
        if client.method != "none":
            raise TokenRefused("the authorization server wants a way of authentication that is unknown here: %s"
                               % sayable(client.method, client.secrets), "invalid_client")
        return named, []

    def _refused(self, status: int, value: Mapping[str, Any], asked: Mapping[str, str]) -> TokenRefused:
        secrets = self._secrets(value, asked)
        error = sayable(value.get("error"), secrets)
        said = sayable(value.get("error_description"), secrets)
        reason = explained(error or "status %d" % status, said)
        return TokenRefused("%s gives no token: %s" % (self.server.issuer, reason), error, said)

    def _secrets(self, value: Mapping[str, Any], asked: Mapping[str, str]) -> List[str]:
        """Return the texts that an error must not show, though the server may send them back: what it was sent, what it
        gives."""
        found = [text for name, text in asked.items() if name not in _PUBLIC]
        found += [text for text in map(value.get, ("access_token", "refresh_token")) if isinstance(text, str)]
        return found + self.client.secrets

    def _token(
        self, value: Mapping[str, Any], asked: Mapping[str, str], requested: Optional[Sequence[str]],
    ) -> Token:
        access, kind = value.get("access_token"), value.get("token_type", "Bearer")
        scheme = SCHEMES.get(kind.lower()) if isinstance(kind, str) else None
        if not isinstance(access, str) or not USABLE.match(access):
            raise TokenRefused("%s answers without an access token that can be used" % self.server.issuer)
        if scheme is None or scheme == "DPoP" and self.prover is None:
            # A token of an unknown kind must not be used [RFC 6749 §7.1].
            raise TokenRefused("%s gives a token of a kind that is unknown here: %s"
                               % (self.server.issuer, sayable(kind, self._secrets(value, asked)) or "none"))
        if scheme != "DPoP" and self.prover is not None:
            # The protection that was asked for would be lost in silence [RFC 9449 §5].
            raise TokenRefused("%s gives a token that is not bound to a key, and dpop= asks for one that is"
                               % self.server.issuer)
        refresh, scope = value.get("refresh_token"), value.get("scope")
        scopes = None if requested is None else list(requested)
        expires_at, renew_at = _times(value.get("expires_in"), self.now())
        return Token(
            access, scheme, expires_at, refresh if isinstance(refresh, str) and refresh else None,
            scope_list(scope) or [] if isinstance(scope, str) else scopes,  # left out: as asked for [RFC 6749 §5.1]
            self.server.issuer, asked.get("resource", ""), self.client.client_id, scopes, renew_at,
        )


def _value(answer: "HttpAnswer") -> Mapping[str, Any]:
    """Return the object in a reply; {} if there is none."""
    try:
        return answer.json("token")
    except AuthError:
        return {}


def _times(expires_in: Any, now: float) -> Tuple[Optional[float], Optional[float]]:
    """Return the end of a token and the time to renew it; (None, None) if ``expires_in`` is no number of seconds."""
    if isinstance(expires_in, str) and expires_in.isascii() and expires_in.isdigit() and len(expires_in) < 12:
        expires_in = int(expires_in)
    if isinstance(expires_in, bool) or not isinstance(expires_in, (int, float)) or not 0 <= expires_in <= MAX_LIFE:
        return None, None
    return now + expires_in, now + expires_in - min(EARLY, expires_in / 10)


ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
"""The ``client_assertion_type`` of a JWT [RFC 7523 §2.2]."""
LIFETIME = 60.0
"""Seconds that an assertion is good for: enough for one request, and for clocks that differ a little."""


def client_assertion(signer: "Signer", client_id: str, issuer: str, now: float) -> str:
    """Make an assertion for one request at the time ``now`` (seconds since 1970)."""
    from ..jose import make_jwt

    return make_jwt(signer, {
        "iss": client_id, "sub": client_id, "aud": issuer,
        "iat": int(now), "exp": int(now + LIFETIME), "jti": secrets.token_urlsafe(16),
    })


def assertion_fields(signer: "Signer", client_id: str, issuer: str, now: float,
                     algorithms: Optional[Sequence[str]] = None) -> List[Tuple[str, str]]:
    """Return the two form fields of an assertion. ``algorithms``: those that the server announces; None: it does not
    say.

    Raises `TokenRefused`, before anything is signed, if the server does not take the signer's algorithm [RFC 8414 §2].
    """
    if algorithms is not None and signer.alg not in algorithms:
        raise TokenRefused("the authorization server takes assertions signed with %s, and the signer signs with %s"
                           % (sayable(", ".join(algorithms)) or "nothing", signer.alg), "invalid_client")
    return [("client_assertion_type", ASSERTION_TYPE),
            ("client_assertion", client_assertion(signer, client_id, issuer, now))]


_OURS = ("response_type", "client_id", "redirect_uri", "code_challenge", "code_challenge_method", "state", "resource",
         "scope", "prompt", "request", "request_uri", "response_mode")
"""Parameters that an authorization endpoint's own query must not bring along [RFC 6749 §3.1]."""


def challenge_of(verifier: str) -> str:
    """Return the S256 challenge of a verifier [RFC 7636 §4.2]."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode("ascii")).digest()).rstrip(b"=").decode("ascii")


def check_pkce(discovered: "Discovered", revision: Optional[str] = None, tolerate: Collection[str] = ()) -> None:
    """Check that the authorization server takes S256. Raises `DiscoveryFailed`: then there is no safe way to a code.

    A server that does not say takes none [2025-11-25 basic/authorization §Authorization Code Protection] MUST
    [2026-07-28 basic/authorization/security-considerations §Authorization Code Protection] MUST. Earlier revisions do
    not have that rule; there, and where an MCP server is its own authorization server by the rules of 2025-03-26,
    S256 is used unasked, as it is where ``tolerate`` has that word.
    """
    from ..discover import UNANNOUNCED_PKCE

    methods = discovered.server.code_challenge_methods_supported
    if methods is None:
        asked = next((each for each in REVISIONS if each.name == revision), LATEST)
        if discovered.legacy or UNANNOUNCED_PKCE in tolerate or not asked.pkce_announced:
            return
        raise DiscoveryFailed("%s does not announce PKCE (code_challenge_methods_supported): authorization codes from "
                              "there could be stolen; if you know that it takes S256, allow it by tolerate=[%r]"
                              % (discovered.server.issuer, UNANNOUNCED_PKCE))
    if "S256" not in methods:
        raise DiscoveryFailed("%s does not take the PKCE method S256" % discovered.server.issuer)


class CodeFlow:
    """One authorization, the record that ties a redirect to its request; ``issuer`` is part of it
    [2026-07-28 basic/authorization/index §Authorization Response Validation] MUST."""

    def __init__(
        self, discovered: "Discovered", client: ClientInfo, redirect_uri: str, scopes: Optional[Sequence[str]] = None,
    ) -> None:
        server = discovered.server
        self.issuer, self.announces_iss = server.issuer, server.iss_parameter_supported
        self.endpoint, self.resource = server.authorization_endpoint or "", discovered.resource
        self.client, self.redirect_uri = client, redirect_uri
        self.scopes: Optional[List[str]] = None if scopes is None else list(scopes)
        self.verifier, self.state = secrets.token_urlsafe(48), secrets.token_urlsafe(32)

    def __repr__(self) -> str:
        return "CodeFlow(issuer=%r, scopes=%r)" % (self.issuer, self.scopes)

    @property
    def url(self) -> str:
        """The URL to open in a browser: the authorization request [RFC 6749 §4.1.1] [RFC 7636 §4.3] [RFC 8707 §2]."""
        place, _, query = self.endpoint.partition("?")
        fields = [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] not in _OURS]
        fields += [
            ("response_type", "code"), ("client_id", self.client.client_id), ("redirect_uri", self.redirect_uri),
            ("code_challenge", challenge_of(self.verifier)), ("code_challenge_method", "S256"),
            ("state", self.state), ("resource", self.resource),
        ]
        if self.scopes:
            fields.append(("scope", " ".join(self.scopes)))
            if OFFLINE in self.scopes:
                fields.append(("prompt", "consent"))  # [OpenID Connect Core 1.0 §11] MUST
        return "%s?%s" % (place, urlencode(fields))

    def code(self, redirect: str) -> str:
        """Return the code in the URL that the browser was sent to, after the checks above.

        Raises `IssuerMismatch`, or `TokenRefused` with the server's ``error`` if the redirect has one.
        """
        place, _, query = redirect.partition("#")[0].partition("?")
        if place != self.redirect_uri.partition("?")[0]:
            raise TokenRefused("the browser came back to another place than the redirect URI")
        # Step 1: `state`. Until it fits, nothing that the redirect says is used, not even its error.
        said = parameters(query)
        if said is None or not same(said.get("state"), self.state):
            raise TokenRefused("the redirect does not belong to this authorization: its state is another one")
        # Step 2: `iss`, by the table above.
        issuer = said.get("iss")
        if issuer is None and self.announces_iss:
            raise IssuerMismatch("the redirect names no issuer, though %s announces that it does" % self.issuer)
        if issuer is not None and issuer != self.issuer:
            raise IssuerMismatch("the redirect comes from another issuer than %s: nothing of it was used" % self.issuer)
        # Step 3: the outcome. An error's text is shown, without what is secret of this authorization.
        if "error" in said:
            hidden = [self.state, self.verifier, said.get("code", ""), *self.client.secrets]
            error, why = sayable(said["error"], hidden), sayable(said.get("error_description"), hidden)
            reason = explained(error or "no reason given", why)
            raise TokenRefused("%s does not authorize us: %s" % (self.issuer, reason), error, why)
        if not said.get("code"):
            raise TokenRefused("%s sent the browser back without a code" % self.issuer)
        return said["code"]

    def exchange(self, code: str, endpoint: TokenEndpoint) -> Token:
        """Exchange the code for a token [RFC 6749 §4.1.3] [RFC 8707 §2.2]. Raises `TokenRefused`."""
        fields = [
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", self.redirect_uri),
            ("code_verifier", self.verifier), ("resource", self.resource),
        ]
        return endpoint.request(fields, requested=self.scopes)


def parameters(query: str) -> Optional[Dict[str, str]]:
    """Return the parameters of a redirect; None if one comes twice [RFC 6749 §3.1] MUST NOT, or cannot be read."""
    try:
        query.encode("utf-8")  # a lone surrogate, from a host's own browser: it could not be sent on
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=100, errors="strict")
    except ValueError:
        return None
    said = dict(pairs)
    return said if len(said) == len(pairs) else None


def same(given: Optional[str], expected: str) -> bool:
    """True if a secret is the expected one. Takes a time that does not tell how much of it fits."""
    return given is not None and hmac.compare_digest(given.encode("utf-8"), expected.encode("utf-8"))
