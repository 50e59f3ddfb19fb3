"""The endpoint that gives tokens [RFC 6749 §3.2, §5].

Every grant ends with one request to the token endpoint, in which the client shows who it is. How it does that is its
*method* [RFC 8414 §2]::

    none                  client_id in the form, nothing else: a public client
    client_secret_basic   Authorization: Basic, with id and secret [RFC 6749 §2.3.1]
    client_secret_post    client_id and client_secret in the form
    private_key_jwt       a signed assertion in the form, see `mcp_ref.auth.tokens.assertions`

What an authorization server says about a refusal is cleaned of everything that we sent before anybody sees it.
"""

import time
from typing import TYPE_CHECKING, Any, Callable, List, Mapping, Optional, Sequence, Tuple

from ...errors import AuthError, TokenRefused
from ..discovery.challenge import scope_list
from ..tokens.issued import SCHEMES, USABLE, ClientInfo, Token, explained, sayable

if TYPE_CHECKING:
    from ..discovery.documents import AuthorizationServer
    from ..discovery.fetch import Answer, Fetcher
    from ..tokens.dpop import Prover
    from ..tokens.jose import Signer

Form = Sequence[Tuple[str, str]]
"""Names and values of a form, in order."""

EARLY = 30.0
"""Seconds before its end in which a token is not used any more if there is a way to another one; of a token that
lives less than five minutes it is a tenth of its life."""
MAX_LIFE = 10 * 365 * 86400.0
"""A token that is said to live longer does not end."""

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
        """Make one token request: ``fields`` are those of the grant, without those of the client's authentication.

        ``requested``: the scopes that were asked for; None: the ``scope`` in ``fields``, if there is one. Raises
        `TokenRefused`, `DiscoveryFailed` where there is no such endpoint or it cannot be reached.
        """
        asked = dict(fields)
        if requested is None and "scope" in asked:
            requested = asked["scope"].split(" ")
        return self._token(self.answer(fields), asked, requested)

    def answer(self, fields: Form) -> Mapping[str, Any]:
        """Make one token request and return the answer's object as it is, for grants that give no access token
        [RFC 8693 §2.2.1]. Raises as `request`."""
        answer = self._post(fields)
        if self._wants_nonce(answer):
            answer = self._post(fields)
        value = _value(answer)
        if answer.status != 200 or "error" in value:
            raise self._refused(answer.status, value, dict(fields))
        return value

    def _post(self, fields: Form) -> "Answer":
        """One attempt. Assertions and proofs are made anew for each: a server may take them once only."""
        url = self.server.token_endpoint
        more, headers = self._authentication()
        if self.prover is not None:
            headers.extend(self.prover.fields("POST", url))
        answer = self.fetcher.post_form(url, [*fields, *more], headers)
        return answer

    def _authentication(self) -> Tuple[List[Tuple[str, str]], List[Tuple[str, str]]]:
        """The fields of the form and of the header that show who we are."""
        client = self.client
        if client.issuer and client.issuer != self.server.issuer:
            raise TokenRefused("the client's credentials belong to %s and are not shown to %s"
                               % (client.issuer, self.server.issuer), "invalid_client")
        named = [("client_id", client.client_id)] if client.client_id else []
        if client.method == "client_secret_basic":
            from ..discovery.fetch import basic

            # The id is in the form as well, which the official SDK's authorization server wants; it is no second proof.
            return named, [basic(client.client_id, client.client_secret or "")]
        if client.method == "client_secret_post":
            return [*named, ("client_secret", client.client_secret or "")], []
        if client.method in ("private_key_jwt", "client_secret_jwt"):
            if self.signer is None:
                raise TokenRefused("the authorization server wants %s: pass a signer" % client.method, "invalid_client")
            from ..tokens.assertions import assertion_fields

            made = assertion_fields(self.signer, client.client_id, self.server.issuer, self.now(),
                                    self.server.token_endpoint_auth_signing_alg_values_supported)
            return [*named, *made], []
        if client.method != "none":
            raise TokenRefused("the authorization server wants a way of authentication that is unknown here: %s"
                               % sayable(client.method, client.secrets), "invalid_client")
        return named, []

    def _wants_nonce(self, answer: "Answer") -> bool:
        """Whether to ask once more, with the nonce that has just come [RFC 9449 §8]."""
        if self.prover is None:
            return False
        new = self.prover.learn(self.server.token_endpoint, answer.headers)
        return new and answer.status in (400, 401) and _value(answer).get("error") == "use_dpop_nonce"

    def _refused(self, status: int, value: Mapping[str, Any], asked: Mapping[str, str]) -> TokenRefused:
        secrets = self._secrets(value, asked)
        error = sayable(value.get("error"), secrets)
        said = sayable(value.get("error_description"), secrets)
        reason = explained(error or "status %d" % status, said)
        return TokenRefused("%s gives no token: %s" % (self.server.issuer, reason), error, said)

    def _secrets(self, value: Mapping[str, Any], asked: Mapping[str, str]) -> List[str]:
        """What an error must not show, though the server may say it: what it was sent, and what it gives."""
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
            # A token of a kind that one does not know must not be used [RFC 6749 §7.1]
            raise TokenRefused("%s gives a token of a kind that is unknown here: %s"
                               % (self.server.issuer, sayable(kind, self._secrets(value, asked)) or "none"))
        if scheme != "DPoP" and self.prover is not None:
            # The protection that was asked for would be gone without a word [RFC 9449 §5]
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


def _value(answer: "Answer") -> Mapping[str, Any]:
    """The object in a reply; of one that is none: {}."""
    try:
        return answer.json("token")
    except AuthError:
        return {}


def _times(expires_in: Any, now: float) -> Tuple[Optional[float], Optional[float]]:
    """When a token ends and when to get another one; what is no number of seconds says nothing."""
    if isinstance(expires_in, str) and expires_in.isdigit() and len(expires_in) < 12:
        expires_in = int(expires_in)
    if isinstance(expires_in, bool) or not isinstance(expires_in, (int, float)) or not 0 <= expires_in <= MAX_LIFE:
        return None, None
    return now + expires_in, now + expires_in - min(EARLY, expires_in / 10)
