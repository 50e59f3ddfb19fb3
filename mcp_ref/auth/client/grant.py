"""A grant: one way to a token [RFC 6749 §1.3]. What users pass as ``auth=`` is one.

The work is divided. `authorizer.Engine` stands between the requests of one server and a grant: it keeps the token,
renews it, makes one authorization of many refusals, chooses scopes. A `Grant` knows how a token is to be had, and
nothing of requests: `OAuth` with a person and a browser, those in `machine` without.

A grant serves any number of servers, and keeps nothing about any of them but what is in its store.
"""

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple

from ...limits import DEFAULT, Limits
from ...options import spelt
from ...streamable.client.auth_provider import Authorizer, Authorizing
from ..tokens.issued import ClientInfo, Token
from .desk import Desk
from .store import MemoryStore, TokenStore

if TYPE_CHECKING:
    import ssl

    from ..discovery.discover import Discovered
    from ..tokens.jose import Signer

__all__ = ["Desk", "Grant"]


class Grant(Authorizing):
    """Base of all grants.

    ``scopes``: asked for besides those that the server names; None: what the server says. ``store``: where tokens and
    registrations are kept; None: in memory. ``choose_server``: picks one of several authorization servers; None: the
    first. ``dpop``: a signer with whose key all tokens are bound [RFC 9449]. ``private_networks``: whether a public MCP
    server may name authorization servers in private networks, see `mcp_ref.auth.discovery.addresses`. ``now``: seconds
    since 1970.
    """

    interactive = False
    """Whether `obtain` may need a person: such a grant is used only when a request was refused."""
    refreshing = False
    """Whether refresh tokens are wanted, so that the scope ``offline_access`` is asked for where there is one."""

    def __init__(
        self, *, scopes: Optional[Sequence[str]] = None, store: Optional[TokenStore] = None,
        choose_server: Optional[Callable[[List[str]], str]] = None, signer: "Optional[Signer]" = None,
        dpop: "Optional[Signer]" = None, private_networks: bool = False, now: Callable[[], float] = time.time,
    ) -> None:
        self.scopes = None if scopes is None else list(scopes)
        self.store = MemoryStore() if store is None else store
        self.choose_server = choose_server
        self.signer = signer
        self.dpop = dpop
        self.private_networks = private_networks
        self.now = now
        self._lock = threading.Lock()
        self._engines: Dict[Tuple[Any, ...], Authorizer] = {}

    @property
    def account(self) -> str:
        """What keeps this grant's tokens for a server apart from those of other grants in the same store."""
        return ""

    @property
    def own_servers(self) -> Sequence[str]:
        """URLs of authorization servers that our user has named, so that they are asked wherever they are."""
        return ()

    def obtain(self, found: "Discovered", scopes: Optional[List[str]], desk: Desk) -> Token:
        """A new token from the authorization server that was found, for its resource.

        ``scopes``: what to ask for; None: leave it to the server. Runs on a thread of its own, one at a time for each
        MCP server. Raises `AuthError`; `LetGo` comes from `Desk.pause`.
        """
        raise NotImplementedError

    def client(self, found: "Discovered", desk: Desk) -> Optional[ClientInfo]:
        """How the authorization server knows us already, without asking anybody; None: not at all, or not any more."""
        return None

    def renew(self, token: Token, found: "Discovered", desk: Desk) -> Optional[Token]:
        """Another token for the refresh token of this one [RFC 6749 §6]; None if we are not its client any more.

        The refresh token may have been exchanged for a new one, which takes its place; or it stays. Raises
        `TokenRefused`, `DiscoveryFailed`.
        """
        client = self.client(found, desk)
        if token.refresh_token is None or client is None or client.client_id != token.client_id:
            return None
        fields = [("grant_type", "refresh_token"), ("refresh_token", token.refresh_token),
                  ("resource", token.resource)]
        renewed = desk.endpoint(found, client, self.signer).request(fields, requested=token.requested)
        return renewed if renewed.refresh_token is not None else replace(renewed, refresh_token=token.refresh_token)

    def refused(self, error: str, found: "Discovered", desk: Desk) -> None:
        """The authorization server refused to renew a token, with this code."""

    @spelt
    def authorizer(
        self, url: str, *, ssl_context: "Optional[ssl.SSLContext]" = None, cafile: Optional[str] = None,
        limits: Limits = DEFAULT,
    ) -> Authorizer:
        """See `Authorizing`. The same one for the same server, so that its clients share tokens and authorizations."""
        from .authorizer import Engine

        key = (url, None if ssl_context is None else id(ssl_context), cafile, repr(limits))
        with self._lock:
            engine = self._engines.get(key)
            if engine is None:
                engine = self._engines[key] = Engine(self, url, ssl_context=ssl_context, cafile=cafile, limits=limits)
            return engine

    def __repr__(self) -> str:
        return "%s()" % type(self).__name__
