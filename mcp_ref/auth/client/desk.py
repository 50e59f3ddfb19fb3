"""What a grant has at hand: who is to be asked, what is kept, the time, and who waits."""

from typing import TYPE_CHECKING, Any, Callable, Optional

from ...deadline import Deadline
from ...errors import Unauthorized
from ...limits import Limits
from ..tokens.issued import ClientInfo
from .errand import Errand
from .store import TokenStore
from .token_endpoint import TokenEndpoint

if TYPE_CHECKING:
    from ..discovery.discover import Discovered
    from ..discovery.fetch import Fetcher
    from ..tokens.dpop import Prover
    from ..tokens.jose import Signer


_SLICE = 0.1
"""Seconds between two looks at whether anybody still waits."""


class Desk:
    """What a grant has at hand while it gets one token for one server."""

    def __init__(
        self, server_url: str, fetcher: "Fetcher", store: TokenStore, limits: Limits, now: Callable[[], float],
        prover: "Optional[Prover]" = None, revision: Optional[str] = None,
    ) -> None:
        self.server_url = server_url
        """That of the MCP server, as it was given."""
        self.fetcher, self.store, self.limits, self.now = fetcher, store, limits, now
        self.prover = prover
        """Makes proofs for DPoP; None: tokens are not bound to a key."""
        self.revision = revision
        """The MCP revision that the refused request named; None: not known."""

    def pause(self, seconds: float) -> None:
        """Wait for so long. Raises `LetGo` as soon as nobody wants the token any more."""
        raise NotImplementedError

    def person(self, busy: bool) -> None:
        """From now on (True) a person is waited for, whose time does not count; or not any more."""
        raise NotImplementedError

    def asked(self, callback: Callable[..., Any], *arguments: Any) -> Any:
        """What a callback of our user returns that asks a person, whose time does not count.

        Raises what it raises; `Unauthorized` if it has not returned after ``authorization_patience``; `LetGo`.
        """
        patience = self.limits.authorization_patience
        self.person(True)
        try:
            errand, deadline = Errand(callback, *arguments), Deadline(patience)
            while not errand.wait(min(_SLICE, deadline.left() or 0.0)):
                if deadline.expired():
                    raise Unauthorized("nobody has answered within authorization_patience (%g seconds)" % patience)
                self.pause(0)
            return errand.result
        finally:
            self.person(False)

    def endpoint(self, found: "Discovered", client: ClientInfo, signer: "Optional[Signer]" = None) -> TokenEndpoint:
        """The token endpoint of the server that was found, for this client."""
        return TokenEndpoint(self.fetcher, found.server, client, signer, self.prover, self.now)
