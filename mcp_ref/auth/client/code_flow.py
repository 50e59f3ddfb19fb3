"""The authorization code grant, without the browser: its two requests, and the checks of a redirect.

::

    flow = CodeFlow(discovered, client, redirect_uri, scopes)     # verifier, state, the expected issuer
    flow.url                                                            # to be opened in a browser
    code = flow.code(redirect)                                          # the URL that the browser came back to
    token = flow.exchange(code, endpoint)

Three things must fit before a code goes to a token endpoint. They are checked in this order, and if one does not fit,
nothing that the redirect says is used or shown:

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

A code that an attacker has got hold of is of no use without the verifier of PKCE [RFC 7636]
[2025-06-18..2025-11-25 basic/authorization §Authorization Code Protection] MUST
[2026-07-28 basic/authorization/security-considerations §Authorization Code Protection] MUST.
"""

import base64
import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, Collection, Dict, List, Optional, Sequence
from urllib.parse import parse_qsl, urlencode

from ...errors import DiscoveryFailed, IssuerMismatch, TokenRefused
from ...revisions import LATEST, REVISIONS
from ..challenge import OFFLINE
from .token_endpoint import ClientInfo, Token, TokenEndpoint, explained, sayable

if TYPE_CHECKING:
    from ..discover import Discovered

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
