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

However many requests are refused at a time, one `SingleFlight` gets the token for all. The transport bounds how often
one request may ask (``max_authorizations``). Besides that, a token that was issued a moment ago for exactly these
scopes, and is refused nevertheless, is not asked for again
[2026-07-28 basic/authorization/index §Step-Up Authorization Flow] SHOULD.

Tokens go to the origin of the MCP server only, in the field Authorization only, and only those that its authorization
server has issued for it [2025-06-18..2025-11-25 basic/authorization §Token Handling]
[2026-07-28 basic/authorization/index §Token Handling] MUST NOT.

The way from a refusal to a token: `OAuthSession.refused` reads it (`ParsedRefusal`) and starts or joins a
`SingleFlight`; on its thread `TokenManager` discovers the authorization server, tries the refresh token, chooses scopes
and calls `Grant.obtain`, which ends in `TokenEndpoint.request`.
"""

import threading
from typing import TYPE_CHECKING, Callable, Optional, Tuple

from ...errors import AuthError
from ...http11.message import Headers
from ...limits import DEFAULT, Limits
from ...streamable.client.auth_provider import Authorizer, Fields, Grip, Refusal
from ..discovery.fetch import Fetcher, Reach
from ..urls import checked, origin
from .single_flight import GrantContext, SingleFlight
from .token_endpoint import Token
from .token_manager import ParsedRefusal, TokenManager

if TYPE_CHECKING:
    import ssl

    from .grant import Grant

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
        reach = Reach(self._url, grant.own_servers, grant.private_networks)
        self._fetcher = Fetcher(limits, ssl_context=ssl_context, cafile=cafile, reach=reach)
        self._prover = None
        if grant.dpop is not None:
            from ..tokens.dpop import Prover

            self._prover = Prover(grant.dpop, grant.now)
        self._tokens = TokenManager(grant, self._url, self._fetcher, self._prover is not None)
        self._lock = threading.Lock()  # guards `_flight`: at most one is under way
        self._flight: Optional[SingleFlight] = None

    def fields(self, method: str, url: str, cancel_scope: Grip) -> Fields:
        """Return the header fields that carry the token; see `Authorizer.fields`."""
        token = self._tokens.load()
        if token is None or origin(url) != self._origin:
            return ()
        if token.renew_at is not None and self._grant.now() >= token.renew_at and self._tokens.renewable(token):
            token = self._renew_early(token, cancel_scope)
        if token.token_type == "DPoP" and self._prover is not None:
            return tuple(self._prover.fields(method, url, token.access_token))
        return (("Authorization", "Bearer " + token.access_token),)

    def refused(self, refusal: Refusal, cancel_scope: Grip) -> bool:
        """Get a token that the server may accept after this refusal; see `Authorizer.refused`."""
        if origin(refusal.url) != self._origin:
            return False
        parsed = ParsedRefusal(refusal)
        if refusal.status == 401 and self._prover is not None:
            new = self._prover.learn_nonce(refusal.url, refusal.headers, refusal.fields)
            if parsed.error == "use_dpop_nonce" and new:
                return True
        if refusal.status == 401:
            work, purpose = self._tokens.reauthorize, ("401", *(parsed.scopes or ()))
        elif refusal.status == 403 and parsed.error == "insufficient_scope":
            work, purpose = self._tokens.step_up, ("403", *(parsed.scopes or ()))
        else:
            return False
        while not self._tokens.has_usable_token(parsed):
            # A flight of another request may have ended with a token that does not do for this one: then start another.
            # After our own flight there is a token, though perhaps the same: some servers make one good again.
            if self._share(lambda context: work(parsed, context), purpose, cancel_scope, refusal.revision):
                break
        return True

    def answered(self, url: str, headers: Headers) -> None:
        """Keep the nonce for the next proof, which a server may send with any answer [RFC 9449 §8.2]."""
        if self._prover is not None and origin(url) == self._origin:
            self._prover.learn_nonce(url, headers)

    def _renew_early(self, token: Token, cancel_scope: Grip) -> Token:
        """Return another token for one that is about to end, or the same one.

        Does not wait for a flight that may ask a person, because this token is still good.
        """
        flight = self._flight
        if flight is None or flight.over or flight.purpose == _EARLY:
            self._share(self._tokens.renew_early, _EARLY, cancel_scope)
        return self._tokens.token or token

    def _share(
        self, work: Callable[[GrantContext], None], purpose: Tuple[str, ...], cancel_scope: Grip,
        revision: Optional[str] = None,
    ) -> bool:
        """Do the work, or wait for work that is already under way. Returns True if it was this work that was done.

        Raises what this work raises. An error of other work, for another purpose, is ignored.
        """
        def run(flight: SingleFlight) -> None:
            work(GrantContext(self._url, self._fetcher, self._grant.store, self._limits, self._grant.now, flight,
                              self._prover, revision))

        mine = SingleFlight(run, purpose)
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
