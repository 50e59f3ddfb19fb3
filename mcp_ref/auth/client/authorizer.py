"""What stands between the requests to one MCP server and a `Grant`: it adds the token, and sees to another.

====================================  ===================================================================
what happened                         what is done
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

However many requests are refused at a time, one `Flight` gets the token for all. The transport bounds how often one
request may ask (``max_authorizations``); besides that, a token that was got a moment ago for just these scopes and is
refused nevertheless is not got once more [2026-07-28 basic/authorization/index §Step-Up Authorization Flow] SHOULD.

Tokens go to the origin of the MCP server only, in the field Authorization only, and only those that its authorization
server has issued for it [2025-06-18..2025-11-25 basic/authorization §Token Handling]
[2026-07-28 basic/authorization/index §Token Handling] MUST NOT.
"""

import threading
from typing import TYPE_CHECKING, Callable, Optional, Tuple

from ...errors import AuthError
from ...http11.message import Headers
from ...limits import DEFAULT, Limits
from ...streamable.client.auth_provider import Authorizer, Fields, Grip, Refusal
from ..discovery import challenge as challenges
from ..discovery.addresses import Reach
from ..discovery.fetch import Fetcher
from ..tokens.issued import Token
from ..urls import checked, origin
from .desk import Desk
from .single_flight import Flight
from .token_manager import Attempt, Keeper

if TYPE_CHECKING:
    import ssl

    from .grant import Grant

_EARLY = ("early",)
"""What a flight is about that renews a token before its end."""


class _FlightDesk(Desk):
    """A desk for the work of one flight."""

    flight: Flight

    def pause(self, seconds: float) -> None:
        """See `Desk.pause`."""
        self.flight.pause(seconds)

    def person(self, busy: bool) -> None:
        """See `Desk.person`."""
        self.flight.person(busy)


class Engine(Authorizer):
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
        self._keeper = Keeper(grant, self._url, self._fetcher, self._prover is not None)
        self._lock = threading.Lock()
        self._flight: Optional[Flight] = None

    # For the transport

    def fields(self, method: str, url: str, grip: Grip) -> Fields:
        """See `Authorizer.fields`."""
        token = self._keeper.load()
        if token is None or origin(url) != self._origin:
            return ()
        if token.renew_at is not None and self._grant.now() >= token.renew_at and self._keeper.renewable(token):
            token = self._early(token, grip)
        if token.token_type == "DPoP" and self._prover is not None:
            return tuple(self._prover.fields(method, url, token.access_token))
        return (("Authorization", "Bearer " + token.access_token),)

    def refused(self, refusal: Refusal, grip: Grip) -> bool:
        """See `Authorizer.refused`."""
        if origin(refusal.url) != self._origin:
            return False
        found = challenges.parse(refusal.challenges)
        error = challenges.find(found, "error")
        if refusal.status == 401 and self._prover is not None:
            new = self._prover.learn(refusal.url, refusal.headers, refusal.fields)
            if error == "use_dpop_nonce" and new:
                return True
        attempt = Attempt(refusal, found)
        if refusal.status == 401:
            work, about = self._keeper.replace, ("401", *(attempt.scopes or ()))
        elif refusal.status == 403 and error == "insufficient_scope":
            work, about = self._keeper.widen, ("403", *(attempt.scopes or ()))
        else:
            return False
        while not self._keeper.helps(attempt):
            if self._fly(lambda desk: work(attempt, desk), about, grip, refusal.revision):
                break  # there is a token now, be it even the same: some servers make one good again
        return True

    def answered(self, url: str, headers: Headers) -> None:
        """See `Authorizer.answered`: a server may give the nonce for the next proof with any answer [RFC 9449 §8.2]."""
        if self._prover is not None and origin(url) == self._origin:
            self._prover.learn(url, headers)

    def _early(self, token: Token, grip: Grip) -> Token:
        """Another token for one that is about to end, or the same; a person is not waited for, as it is good yet."""
        flight = self._flight
        if flight is None or flight.over or flight.about == _EARLY:
            self._fly(self._keeper.renew_early, _EARLY, grip)
        return self._keeper.token or token

    def _fly(
        self, work: Callable[[Desk], None], about: Tuple[str, ...], grip: Grip, revision: Optional[str] = None,
    ) -> bool:
        """Have work done, or wait for other work that is being done already (False).

        Raises what it raises; what goes wrong with work about something else does not concern us.
        """
        desk = _FlightDesk(self._url, self._fetcher, self._grant.store, self._limits, self._grant.now, self._prover,
                           revision)
        mine = desk.flight = Flight(lambda flight: work(desk), about)
        with self._lock:
            flight = self._flight
            seat = None if flight is None else flight.board()
            if flight is None or seat is None:
                flight, seat = mine, mine.board()
                flight.start()
                self._flight = flight
        try:
            flight.ride(seat, grip)  # type: ignore[arg-type]
        except AuthError:
            if flight.about == about:
                raise
        finally:
            with self._lock:
                if self._flight is flight and flight.over:
                    self._flight = None  # an error would keep much alive
        return flight is mine
