"""A server on a socket, for any number of clients in the background: ``tcp://host:port`` or ``unix:///path``."""

from typing import TYPE_CHECKING, Any, Callable, Optional

from ...transports.lines.listener import SocketListener
from ..registry.checks import check_socket

if TYPE_CHECKING:
    from ..server import Server


class ServerListener(SocketListener):
    """A `SocketListener` whose connections a server serves; it holds the server's lifespan open.

    ``serve``: a function that serves a transport, by default `Server.connect`. Raises ValueError for a server with
    ``auth`` on TCP.
    """

    only_json = True

    def __init__(self, server: "Server", address: str, idle_after: Optional[float] = None,
                 serve: Optional[Callable[[Any], Any]] = None) -> None:
        check_socket(server.auth, address)
        super().__init__(address, server.connect if serve is None else serve, server.limits, idle_after, server.held)
        self._server = server

    def open(self) -> None:
        """Raises what the lifespan raises when it is entered."""
        self._server.hold(self, super().open)

    def close(self, grace: float = 0.0) -> None:
        super().close(grace)
        self._server.let_go(self)
