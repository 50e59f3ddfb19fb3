"""The token for one MCP server: where it is, whether it will do, and what is done to get another one.

Everything here but `Keeper.load`, `Keeper.renewable` and `Keeper.helps` runs in a `Flight`, so never twice at a time.
"""

import threading
from dataclasses import replace as changed
from typing import TYPE_CHECKING, List, Optional, Sequence

from ...diagnostics.packagelog import get_logger
from ...errors import InsufficientScope, TokenRefused, Unauthorized
from ...http11.client.connect import LetGo
from ...revisions import LATEST
from ...streamable.client.auth_provider import Fields, Refusal
from ..discovery import challenge as challenges
from ..discovery.discover import Discovered, discover, first
from ..discovery.fetch import Fetcher
from ..tokens.issued import Token, sayable
from ..urls import canonical, shown
from .desk import Desk
from .scopes import choose, supported

if TYPE_CHECKING:
    from .grant import Grant

LASTING = ("", "server_error", "temporarily_unavailable", "slow_down")
"""Errors of a token endpoint that say nothing about the refresh token: it may be good later on."""


class Keeper:
    """Keeps the token of one grant for the MCP server at ``url``. ``bound``: tokens are bound to a key, by DPoP."""

    def __init__(self, grant: "Grant", url: str, fetcher: Fetcher, bound: bool) -> None:
        self._grant, self._url, self._fetcher, self._bound = grant, url, fetcher, bound
        self._key = " ".join(filter(None, (canonical(url), grant.account)))
        self._lock = threading.Lock()
        self._loaded = False
        self.token: Optional[Token] = None
        self._found: Optional[Discovered] = None
        self._authorized = ""
        """The access token that a grant gave last, in this program."""
        self._renewal = ""
        """The access token that a refresh token gave last."""

    def load(self) -> Optional[Token]:
        """The token, at first the one that an earlier run of the program has left. Raises what the store raises."""
        if not self._loaded:
            with self._lock:
                if not self._loaded:
                    self.token = self._stored()
                    self._loaded = True
        return self.token

    def _stored(self) -> Optional[Token]:
        record = self._grant.store.get("token", self._key)
        token = None if record is None else Token.of_json(record)
        if token is not None and (token.token_type == "DPoP") is not self._bound:
            return None  # from before `mcp_ref.auth.tokens.dpop` was set, or taken away
        return token

    def _keep(self, token: Token) -> None:
        self.token = token
        self._grant.store.set("token", self._key, token.to_json())

    def renewable(self, token: Token) -> bool:
        """Whether there is a way to another token that needs no person and no refusal."""
        return self._found is not None and (token.refresh_token is not None or not self._grant.interactive)

    def helps(self, attempt: "Attempt") -> bool:
        """Whether there is a token, other than the one that was refused, and got for what it did not allow."""
        token = self.token
        if token is None or token.access_token == attempt.used:
            return False
        return attempt.refusal.status != 403 or set(attempt.scopes or ()) <= set(token.known_scopes)

    # What is done in flight

    def renew_early(self, desk: Desk) -> None:
        """Replace the token before it ends. Where that fails, for whatever reason, it serves until it is refused."""
        token, found = self.token, self._found
        if token is None or found is None or token.renew_at is None or self._grant.now() < token.renew_at:
            return
        try:
            renewed = self._renewed(token, found, desk)
            if renewed is None and not self._grant.interactive:
                renewed = self._grant.obtain(found, token.requested, desk)
                self._keep(renewed)
        except LetGo:
            raise
        except Exception as error:
            get_logger(__name__).info("a token is not renewed before its end: %s", type(error).__name__)
            renewed = None
        if renewed is None and self.token is not None:
            self.token = changed(self.token, renew_at=None)

    def _renewed(self, token: Token, found: Discovered, desk: Desk) -> Optional[Token]:
        """Another token for the refresh token; None if there is none, or it is good for nothing any more.

        Whoever else uses the store must not show the same refresh token at the same time: rotation would take it for
        stolen [OAuth 2.1 §4.3.1].
        """
        if token.refresh_token is None:
            return None
        with self._grant.store.exclusive(desk.pause):
            other = self._stored()
            if other is not None and other.access_token != token.access_token and self._is_of(other, found):
                token = self.token = other  # and with it its refresh token: ours may have been exchanged for that
                if self._alive(token):
                    return token
            if token.refresh_token is None:
                return None
            try:
                renewed = self._grant.renew(token, found, desk)
            except TokenRefused as error:
                if error.error in LASTING:
                    raise
                self._grant.refused(error.error, found, desk)
                self._keep(changed(token, refresh_token=None))
                return None
            if renewed is not None:
                self._renewal = renewed.access_token
                self._keep(renewed)  # before anybody else looks
            return renewed

    def _is_of(self, token: Token, found: Discovered) -> bool:
        """Whether this token is from this server, for this resource."""
        return (token.issuer, token.resource) == (found.server.issuer, found.resource)

    def _alive(self, token: Token) -> bool:
        """Whether this token has not ended, as far as it is known."""
        return token.expires_at is None or self._grant.now() < token.expires_at

    def _discovered(self, attempt: "Attempt") -> Discovered:
        self._found = discover(self._fetcher, self._url, attempt.challenges, attempt.refusal.revision or str(LATEST),
                               self._grant.choose_server or first)
        return self._found

    def replace(self, attempt: "Attempt", desk: Desk) -> None:
        """The token was refused, or there was none."""
        found = self._discovered(attempt)
        other = self._stored()
        if other is not None and other.access_token != attempt.used and self._is_of(other, found):
            self.token = other  # of another program that uses the store
            if self._alive(other):
                return
        token = self._own(found)
        kept = [] if token is None else token.known_scopes
        if token is not None and set(attempt.scopes or ()) <= set(kept):
            if attempt.again and token.access_token == self._authorized:
                raise Unauthorized("%s refuses a token that %s has issued for it just now"
                                   % (shown(self._url), shown(found.server.issuer)))
            if not (attempt.again and token.access_token == self._renewal):
                if self._renewed(token, found, desk) is not None:
                    return
        self._authorize(found, attempt.scopes, kept, desk)

    def widen(self, attempt: "Attempt", desk: Desk) -> None:
        """The token does not allow what was asked for."""
        if self.helps(attempt):
            return  # another flight has just ended
        found = self._discovered(attempt)
        token = self._own(found)
        needed = attempt.scopes or supported(found) or []
        lately = (self._authorized, self._renewal) if self._authorized else ()  # in this program
        if token is not None and token.access_token in lately and set(needed) <= set(token.requested or ()):
            raise InsufficientScope("%s wants the scopes %s, which were asked for and are not granted"
                                    % (shown(self._url), " ".join(needed) or "(it names none)"), needed)
        self._authorize(found, attempt.scopes, [] if token is None else token.known_scopes, desk)

    def _own(self, found: Discovered) -> Optional[Token]:
        """The token, if it is from the server that was found and for its resource; any other is forgotten."""
        token = self.token
        if token is not None and not self._is_of(token, found):
            token = self.token = None
            self._grant.store.delete("token", self._key)
        return token

    def _authorize(self, found: Discovered, wanted: Optional[List[str]], kept: Sequence[str], desk: Desk) -> None:
        self._check_binding(found, desk)
        grant = self._grant
        scopes = choose(found, wanted, grant.scopes, kept, grant.refreshing)
        token = grant.obtain(found, scopes, desk)
        if not token.resource:
            token = changed(token, resource=found.resource)
        self._authorized = token.access_token
        self._keep(token)

    def _check_binding(self, found: Discovered, desk: Desk) -> None:
        """Whether tokens have to be bound to a key, and whether to ours. Raises `Unauthorized`."""
        document = found.resource_document
        if desk.prover is None:
            if document is not None and document.dpop_bound_access_tokens_required:
                raise Unauthorized("%s takes only tokens that are bound to a key: pass dpop=" % shown(self._url))
        elif not desk.prover.suits(found.server.dpop_signing_alg_values_supported):
            raise Unauthorized("%s does not take the algorithm of dpop=: it takes %s" % (
                shown(found.server.issuer), sayable(", ".join(found.server.dpop_signing_alg_values_supported or ()))))


class Attempt:
    """A refusal, read. ``used``: the token that was refused, None if there was none."""

    def __init__(self, refusal: Refusal, found: Sequence[challenges.Challenge]) -> None:
        self.refusal, self.challenges, self.used = refusal, found, _token_in(refusal.fields)
        self.scopes = challenges.scopes_wanted(found)
        self.again = refusal.tries > 0


def _token_in(fields: Fields) -> Optional[str]:
    """The access token in these header fields."""
    for name, value in fields:
        if name == "Authorization":
            return value.partition(" ")[2]
    return None
