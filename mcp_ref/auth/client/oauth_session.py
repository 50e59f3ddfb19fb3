"""The OAuth session with one MCP server: it adds the token to requests, and gets another token after a refusal.

====================================  ===================================================================
event                                 what the session does
====================================  ===================================================================
the token is about to end             renew it with its refresh token; a grant without a person: ask again
401, but there is a newer token       send the request again
401                                   discover; renew; if that does not help: authorize
401, and discovery finds another      start over there: nothing of the first is shown to the second
authorization server
403 with ``insufficient_scope``       authorize again, for what is known and what is wanted (step-up)
401 with ``use_dpop_nonce``           send it again, with the nonce that came along
anything else                         the refusal stands
====================================  ===================================================================

[2025-11-25 basic/authorization §Scope Challenge Handling]
[2026-07-28 basic/authorization/index §Scope Challenge Handling]
[2026-07-28 basic/authorization/client-registration §Authorization Server Binding]

However many requests are refused at a time, one `Authorization` gets the token for all. The transport bounds how often
one request may ask (``max_authorizations``). Besides that, a token that was issued a moment ago for exactly these
scopes, and is refused nevertheless, is not asked for again
[2026-07-28 basic/authorization/index §Step-Up Authorization Flow] SHOULD.

Tokens go to the origin of the MCP server only, in the field Authorization only, and only those that its authorization
server has issued for it [2025-06-18..2025-11-25 basic/authorization §Token Handling]
[2026-07-28 basic/authorization/index §Token Handling] MUST NOT.

The way from a refusal to a token: `OAuthSession.refused` reads the challenges and starts or joins an
`Authorization`; on its thread the session discovers the authorization server, tries the refresh token, chooses scopes
and calls `Grant.obtain`, which ends in `TokenEndpoint.request`. What runs there never runs twice at a time.

The scopes that are asked for [RFC 6749 §3.3]:

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
the server's own choice. A resource's mention of it in ``scopes_supported`` does not count, as a resource SHOULD NOT
mention it; in a challenge it does, for a challenge is authoritative.
"""

import threading
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Callable, List, Optional, Sequence, Tuple

from ...diagnostics.packagelog import get_logger
from ...errors import AuthError, InsufficientScope, TokenRefused, Unauthorized
from ...http11.client.connect import Abandoned
from ...http11.message import Headers
from ...limits import DEFAULT, Limits
from ...revisions import LATEST
from ...streamable.client.auth_provider import AuthRefusal, Authorizer, CancelScope, Fields
from ..discover import ISSUER_SLASH, OFFLINE, Challenge, Discovered, discover, find, parse, scopes_wanted
from ..fetch import AddressPolicy, Fetcher, canonical, checked, origin, shown
from .single_flight import Authorization
from .token_endpoint import Token, sayable, union

if TYPE_CHECKING:
    import ssl

    from ...streamable.http_trace import HttpTrace
    from .grant import Grant

LASTING = ("", "server_error", "temporarily_unavailable", "slow_down")
"""Errors of a token endpoint that say nothing about the refresh token: it may be good later on."""
_EARLY = ("early",)
"""The purpose of a flight that renews a token before its end."""


class OAuthSession(Authorizer):
    """Authorization of all requests to one MCP server by one grant. Thread-safe.

    Raises `DiscoveryFailed` for a URL to which no token may go: it must be https, or on this machine.
    """

    def __init__(
        self, grant: "Grant", url: str, *, ssl_context: "Optional[ssl.SSLContext]" = None, cafile: Optional[str] = None,
        limits: Limits = DEFAULT,
    ) -> None:
        self._grant = grant
        self._url = checked(url.partition("#")[0], "URL of the server")
        self._origin = origin(self._url)
        self._limits = limits
        reach = AddressPolicy(self._url, grant.own_servers, grant.private_networks)
        self._fetcher = Fetcher(limits, ssl_context=ssl_context, cafile=cafile, reach=reach)
        self._prover = None
        if grant.dpop is not None:
            from ...ext.auth.dpop import Prover

            self._prover = Prover(grant.dpop, grant.now)
        self._lock = threading.Lock()  # guards `_flight`: at most one is under way
        self._flight: Optional[Authorization] = None
        self._key = " ".join(filter(None, (canonical(self._url), grant.account)))
        self._first_reading = threading.Lock()  # guards `_loaded`: the first reading of the store
        self._loaded = False
        self._token: Optional[Token] = None
        self._discovered: Optional[Discovered] = None
        self._authorized = ""
        """The access token that the grant obtained last, in this program."""
        self._renewal = ""
        """The access token that a refresh token was exchanged for last."""

    def fields(self, method: str, url: str, cancel_scope: CancelScope) -> Fields:
        """Return the header fields that carry the token; see `Authorizer.fields`."""
        if not self._loaded:
            with self._first_reading:
                if not self._loaded:
                    self._token = self._stored()  # the one of an earlier run of the program
                    self._loaded = True
        token, grant = self._token, self._grant
        if token is None or origin(url) != self._origin:
            return ()
        if (token.renew_at is not None and grant.now() >= token.renew_at and self._discovered is not None
                and (token.refresh_token is not None or not grant.interactive)):
            # A flight that may ask a person is not waited for, because this token is still good.
            flight = self._flight
            if flight is None or flight.over or flight.purpose == _EARLY:
                self._share(self._renew_early, _EARLY, cancel_scope)
            token = self._token or token
        if token.token_type == "DPoP" and self._prover is not None:
            return tuple(self._prover.fields(method, url, token.access_token))
        return (("Authorization", "Bearer " + token.access_token),)

    def refused(self, refusal: AuthRefusal, cancel_scope: CancelScope) -> bool:
        """Get a token that the server may accept after this refusal; see `Authorizer.refused`."""
        if origin(refusal.url) != self._origin:
            return False
        challenges = parse(refusal.challenges)
        error, wanted = find(challenges, "error"), scopes_wanted(challenges)
        used = next((value.partition(" ")[2] for name, value in refusal.fields if name == "Authorization"), None)
        if refusal.status == 401 and self._prover is not None:
            new = self._prover.learn_nonce(refusal.url, refusal.headers, refusal.fields)
            if error == "use_dpop_nonce" and new:
                return True
        if refusal.status == 401:
            work, needed = partial(self._reauthorize, challenges, used, refusal.tries > 0), None
        elif refusal.status == 403 and error == "insufficient_scope":
            work, needed = partial(self._step_up, challenges, used), wanted
        else:
            return False
        while not self._has_usable_token(used, needed):
            # An authorization for another request may have ended with a token that does not do for this one: then start
            # another. After our own there is a token, though perhaps the same: some servers make one good again.
            if self._share(work, (str(refusal.status), *(wanted or ())), cancel_scope, refusal.revision):
                break
        return True

    def answered(self, url: str, headers: Headers) -> None:
        """Keep the nonce for the next proof, which a server may send with any answer [RFC 9449 §8.2]."""
        if self._prover is not None and origin(url) == self._origin:
            self._prover.learn_nonce(url, headers)

    def show_http(self, trace: "HttpTrace") -> None:
        """Tell a trace of requests for metadata, registrations and tokens."""
        self._fetcher.http_trace = trace

    def _share(
        self, work: Callable[[Authorization], None], purpose: Tuple[str, ...], cancel_scope: CancelScope,
        revision: Optional[str] = None,
    ) -> bool:
        """Do the work, or wait for work that is already under way. Returns True if it was this work that was done.

        Raises what this work raises. An error of other work, for another purpose, is ignored.
        """
        mine = Authorization(work, purpose, self._url, self._fetcher, self._grant.store, self._limits, self._grant.now,
                             self._prover, revision)
        with self._lock:
            flight = self._flight
            ticket = None if flight is None else flight.join()
            if flight is None or ticket is None:
                flight, ticket = mine, mine.join()
                flight.start()
                self._flight = flight
        try:
            flight.wait(ticket, cancel_scope)  # type: ignore[arg-type]
        except AuthError:
            if flight.purpose == purpose:
                raise
        finally:
            with self._lock:
                if self._flight is flight and flight.over:
                    self._flight = None  # its error would keep the frames of its traceback alive
        return flight is mine

    def _has_usable_token(self, used: Optional[str], needed: Optional[Sequence[str]]) -> bool:
        """True if there is a token other than the refused one, and it covers the scopes that are needed."""
        token = self._token
        return token is not None and token.access_token != used and set(needed or ()) <= set(token.known_scopes)

    # In flight

    def _renew_early(self, context: Authorization) -> None:
        """Replace the token before it ends. If that fails, for whatever reason, the token serves until it is refused.
        """
        token, discovered = self._token, self._discovered
        if token is None or discovered is None or token.renew_at is None or self._grant.now() < token.renew_at:
            return
        try:
            renewed = self._renewed(token, discovered, context)
            if renewed is None and not self._grant.interactive:
                renewed = self._grant.obtain(discovered, token.requested, context)
                self._keep(renewed)
        except Abandoned:
            raise
        except Exception as error:
            get_logger(__name__).info("a token is not renewed before its end: %s", type(error).__name__)
            renewed = None
        if renewed is None and self._token is not None:
            self._token = replace(self._token, renew_at=None)

    def _reauthorize(
        self, challenges: Sequence[Challenge], used: Optional[str], again: bool, context: Authorization,
    ) -> None:
        """Get a token after a 401: the token ``used`` was refused, or there was none.

        ``again``: True if the request was refused before.
        """
        discovered, wanted = self._discover(challenges, context), scopes_wanted(challenges)
        # Step 1: another program that uses the store may have renewed the token meanwhile.
        other = self._stored()
        if other is not None and other.access_token != used and self._is_of(other, discovered):
            self._token = other
            if self._alive(other):
                return
        # Step 2: the refresh token, unless the token covers too little or has just come from there.
        token = self._own(discovered)
        kept = [] if token is None else token.known_scopes
        if token is not None and set(wanted or ()) <= set(kept):
            if again and token.access_token == self._authorized:
                raise Unauthorized("%s refuses a token that %s has issued for it just now"
                                   % (shown(self._url), shown(discovered.server.issuer)))
            if not (again and token.access_token == self._renewal):
                if self._renewed(token, discovered, context) is not None:
                    return
        # Step 3: the grant, which may ask a person.
        self._authorize(discovered, wanted, kept, context)

    def _step_up(self, challenges: Sequence[Challenge], used: Optional[str], context: Authorization) -> None:
        """Get a token with more scopes after a 403 ``insufficient_scope``
        [2025-11-25 basic/authorization §Step-Up Authorization Flow]
        [2026-07-28 basic/authorization/index §Step-Up Authorization Flow]."""
        wanted = scopes_wanted(challenges)
        if self._has_usable_token(used, wanted):
            return  # another authorization has just ended
        discovered = self._discover(challenges, context)
        token = self._own(discovered)
        needed = wanted or discovered.resource_scopes or []
        lately = (self._authorized, self._renewal) if self._authorized else ()  # in this program
        if token is not None and token.access_token in lately and set(needed) <= set(token.requested or ()):
            raise InsufficientScope("%s wants the scopes %s, which were asked for and are not granted"
                                    % (shown(self._url), " ".join(needed) or "(it names none)"), needed)
        self._authorize(discovered, wanted, [] if token is None else token.known_scopes, context)

    # The parts of these

    def _stored(self) -> Optional[Token]:
        """Return the token in the store; None if there is none, or one of the other binding."""
        record = self._grant.store.get("token", self._key)
        token = None if record is None else Token.of_json(record)
        if token is not None and (token.token_type == "DPoP") is not (self._prover is not None):
            return None  # from before ``dpop=`` was passed, or was left out
        return token

    def _keep(self, token: Token) -> None:
        self._token = token
        self._grant.store.set("token", self._key, token.to_json())

    def _renewed(self, token: Token, discovered: Discovered, context: Authorization) -> Optional[Token]:
        """Exchange the refresh token. Returns None if there is none, or the server does not take it any more.

        No other user of the store may show the same refresh token at the same time: rotation would take it for stolen
        [OAuth 2.1 §4.3.1].
        """
        if token.refresh_token is None:
            return None
        with self._grant.store.exclusive(context.pause):
            other = self._stored()
            if other is not None and other.access_token != token.access_token and self._is_of(other, discovered):
                token = self._token = other  # and with it its refresh token: ours may have been exchanged for that
                if self._alive(token):
                    return token
            if token.refresh_token is None:
                return None
            try:
                renewed = self._grant.renew(token, discovered, context)
            except TokenRefused as error:
                if error.error in LASTING:
                    raise
                self._grant.refused(error.error, discovered, context)
                self._keep(replace(token, refresh_token=None))
                return None
            if renewed is not None:
                self._renewal = renewed.access_token
                self._keep(renewed)  # inside the lock of the store, before any other program reads it
            return renewed

    def _is_of(self, token: Token, discovered: Discovered) -> bool:
        """True if this token is from this authorization server, for this resource."""
        return (token.issuer, token.resource) == (discovered.server.issuer, discovered.resource)

    def _alive(self, token: Token) -> bool:
        """True if this token has not ended, as far as its end is known."""
        return token.expires_at is None or self._grant.now() < token.expires_at

    def _discover(self, challenges: Sequence[Challenge], context: Authorization) -> Discovered:
        """Find the authorization server that the refusal leads to, and remember it for early renewals."""
        self._discovered = discover(
            self._fetcher, self._url, challenges, context.revision or str(LATEST), self._grant.choose_server,
            ISSUER_SLASH in self._grant.tolerate)
        return self._discovered

    def _own(self, discovered: Discovered) -> Optional[Token]:
        """Return the token if it is from this authorization server, for its resource; forget any other."""
        token = self._token
        if token is not None and not self._is_of(token, discovered):
            token = self._token = None
            self._grant.store.delete("token", self._key)
        return token

    def _authorize(
        self, discovered: Discovered, wanted: Optional[List[str]], kept: Sequence[str], context: Authorization,
    ) -> None:
        """Have the grant obtain a token, and keep that."""
        self._check_binding(discovered)
        grant = self._grant
        scopes = choose(discovered, wanted, grant.scopes, kept, grant.refreshing)
        token = grant.obtain(discovered, scopes, context)
        if not token.resource:
            token = replace(token, resource=discovered.resource)
        self._authorized = token.access_token
        self._keep(token)

    def _check_binding(self, discovered: Discovered) -> None:
        """Check that tokens are bound to a key if the server wants that, and that it takes the key's algorithm.

        Raises `Unauthorized`.
        """
        document = discovered.resource_document
        if self._prover is None:
            if document is not None and document.dpop_bound_access_tokens_required:
                raise Unauthorized("%s takes only tokens that are bound to a key: pass dpop=" % shown(self._url))
        elif not self._prover.accepted_by(discovered.server.dpop_signing_alg_values_supported):
            raise Unauthorized("%s does not take the algorithm of dpop=: it takes %s" % (
                shown(discovered.server.issuer),
                sayable(", ".join(discovered.server.dpop_signing_alg_values_supported or ()))))


def choose(
    discovered: Discovered, challenged: Optional[Sequence[str]], named: Optional[Sequence[str]] = None,
    kept: Sequence[str] = (), refreshing: bool = False,
) -> Optional[List[str]]:
    """Choose the scopes to ask for, by the table above. Returns None if no scope is to be named.

    ``challenged``: by the server, None if it names none; ``named``: by our user; ``kept``: from before;
    ``refreshing``: True if refresh tokens are wanted.
    """
    basis = challenged if challenged is not None or named is not None else discovered.resource_scopes
    if basis is None and named is None and not kept:
        return None
    wanted = union(kept, named, basis)
    if refreshing and OFFLINE in (discovered.server.scopes_supported or ()):
        wanted = union(wanted, [OFFLINE])
    return wanted or None
