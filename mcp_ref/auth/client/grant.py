"""A grant: one way to a token [RFC 6749 §1.3]. What users pass as ``auth=`` is one.

The work is divided. An `oauth_session.OAuthSession` stands between the requests to one server and a grant: it keeps
the token, renews it, makes one authorization of many refusals and chooses scopes. A `Grant` knows how to get a token
and knows nothing of requests: `OAuth` with a person and a browser, the grants in
`mcp_ref.ext.auth.machine` without. A `single_flight.Authorization` is what a grant gets to work with.

A grant serves any number of servers. It keeps nothing about any of them but what is in its store.
"""

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple, TypedDict

from ...limits import DEFAULT, Limits
from ...options import strict_options, takes, with_defaults
from ...streamable.client.auth_provider import Authorizer, Authorizing
from .single_flight import Authorization
from .store import MemoryStore, TokenStore
from .token_endpoint import ClientInfo, Token

if TYPE_CHECKING:
    import ssl

    from typing_extensions import Unpack

    from ..discover import Discovered
    from ..jose import Signer


class GrantOptions(TypedDict, total=False):
    """The options that all grants have, see `Grant`."""

    scopes: Optional[Sequence[str]]
    store: Optional[TokenStore]
    choose_server: Optional[Callable[[List[str]], str]]
    signer: "Optional[Signer]"
    dpop: "Optional[Signer]"
    private_networks: bool
    tolerate: Sequence[str]
    now: Callable[[], float]


GRANT: GrantOptions = {
    "scopes": None, "store": None, "choose_server": None, "signer": None, "dpop": None, "private_networks": False,
    "tolerate": (), "now": time.time,
}
takes_grant_options = takes(GrantOptions, GRANT)


class Grant(Authorizing):
    """Base of all grants.

    ``scopes``: asked for besides those that the server names; None: what the server says. ``store``: where tokens and
    registrations are kept; None: in memory. ``choose_server``: picks one of several authorization servers; None: the
    first. ``signer``: signs assertions instead of a secret. ``dpop``: a signer with whose key all tokens are bound
    [RFC 9449]. ``private_networks``: True if a public MCP server may name authorization servers in private networks,
    see `mcp_ref.auth.fetch`. ``tolerate``: faults of authorization servers that you accept, see
    `mcp_ref.auth.discover.TOLERABLE`. ``now``: the time in seconds since 1970.
    """

    interactive = False
    """True if `obtain` may need a person: such a grant is used only after a request was refused."""
    refreshing = False
    """True if refresh tokens are wanted: then ``offline_access`` is asked for where the server lists that scope."""

    @takes_grant_options
    def __init__(self, **options: "Unpack[GrantOptions]") -> None:
        given = with_defaults(Grant.__init__, GRANT, options, self)
        scopes, store, tolerate = given["scopes"], given["store"], given["tolerate"]
        self.issuer: Optional[str] = None
        """The authorization server that the user's credentials are for; None: the user has named none."""
        self.scopes = None if scopes is None else list(scopes)
        self.store = MemoryStore() if store is None else store
        self.choose_server = given["choose_server"] or self._choose
        self.signer, self.dpop, self.now = given["signer"], given["dpop"], given["now"]
        self.private_networks = given["private_networks"]
        self.tolerate = frozenset(tolerate)
        if tolerate:
            from ..discover import TOLERABLE  # late: hardly anybody needs it before a request is refused

            if isinstance(tolerate, str) or not self.tolerate.issubset(TOLERABLE):
                raise ValueError("tolerate is a list of %s, not %r" % (" and ".join(map(repr, TOLERABLE)), tolerate))
        self._lock = threading.Lock()
        self._sessions: Dict[Tuple[Any, ...], Authorizer] = {}

    @property
    def account(self) -> str:
        """A text that keeps this grant's tokens for a server apart from those of other grants in the same store."""
        return ""

    @property
    def own_servers(self) -> Sequence[str]:
        """URLs of authorization servers that the user has named, which may be at any address: the ``issuer``."""
        return [] if self.issuer is None else [self.issuer]

    def _choose(self, issuers: List[str]) -> str:
        """Return one of the authorization servers that an MCP server names: that of the credentials, or the first."""
        return self.issuer if self.issuer in issuers else issuers[0]

    def obtain(self, discovered: "Discovered", scopes: Optional[List[str]], context: Authorization) -> Token:
        """Get a new token from the discovered authorization server, for its resource.

        ``scopes``: what to ask for; None: leave it to the server. Runs on a thread of its own, one at a time for each
        MCP server. Raises `AuthError`; `Abandoned` comes from `Authorization.pause`.
        """
        raise NotImplementedError

    def client(self, discovered: "Discovered", context: Authorization) -> Optional[ClientInfo]:
        """Return how the authorization server knows us, without asking anyone; None if it does not, or no longer."""
        return None

    def renew(self, token: Token, discovered: "Discovered", context: Authorization) -> Optional[Token]:
        """Exchange the refresh token of this token for another token [RFC 6749 §6].

        Returns None if we are no longer the client that the token was issued to. The new token carries the refresh
        token that came with it, or else the old one, which then stays good. Raises `TokenRefused`, `DiscoveryFailed`.
        """
        client = self.client(discovered, context)
        if token.refresh_token is None or client is None or client.client_id != token.client_id:
            return None
        fields = [("grant_type", "refresh_token"), ("refresh_token", token.refresh_token),
                  ("resource", token.resource)]
        renewed = context.endpoint(discovered, client, self.signer).request(fields, requested=token.requested)
        return renewed if renewed.refresh_token is not None else replace(renewed, refresh_token=token.refresh_token)

    def refused(self, error: str, discovered: "Discovered", context: Authorization) -> None:
        """Take note that the authorization server refused to renew a token, with this error code."""

    @strict_options
    def authorizer(
        self, url: str, *, ssl_context: "Optional[ssl.SSLContext]" = None, cafile: Optional[str] = None,
        limits: Limits = DEFAULT,
    ) -> Authorizer:
        """Return the session with the server at ``url``; see `Authorizing.authorizer`.

        The same server gets the same session, so that all clients of it share tokens and authorizations.
        """
        from .oauth_session import OAuthSession

        key = (url, None if ssl_context is None else id(ssl_context), cafile, repr(limits))
        with self._lock:
            session = self._sessions.get(key)
            if session is None:
                session = self._sessions[key] = OAuthSession(
                    self, url, ssl_context=ssl_context, cafile=cafile, limits=limits)
            return session

    def __repr__(self) -> str:
        return "%s()" % type(self).__name__
