"""A connection of the HTTP server under TLS.

The handshake takes as many steps as it needs, on a thread only while the client goes on with it. One thread at a time
touches the TLS object: the methods are called with the connection's lock held, except for the handshake, during which
nobody else uses it. The selector does not see what has been decrypted and not read, so a whole record is read at
a time; it has at most 16 KiB, and the next one stays in the kernel until it is asked for.
"""

import socket
import ssl
from typing import TYPE_CHECKING, Any, Optional

from .connection import Connection

if TYPE_CHECKING:
    from .server import Listener

_NOT_NOW = (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError, InterruptedError)


class TlsConnection(Connection):
    """A connection under TLS. Its constructor raises OSError or ValueError if the client has gone already."""

    secure = True

    def __init__(self, sock: socket.socket, peer: str, listener: "Listener", context: ssl.SSLContext) -> None:
        super().__init__(context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False,
                                             suppress_ragged_eofs=True), peer, listener)
        self.phase = "handshake"
        self.wants_write = False

    def handshake(self) -> bool:
        """Go on with the handshake; see `Connection.handshake`. ``wants_write``: it waits for writing."""
        self.wants_write = False
        try:
            self.sock.do_handshake()  # type: ignore[attr-defined]
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLWantWriteError:
            self.wants_write = True
            return False
        return True

    def receive(self, size: int) -> Optional[bytes]:
        """Return decrypted bytes; see `Connection.receive`."""
        try:
            return self.sock.recv(size)
        except _NOT_NOW:
            return None

    def transmit(self, data: Any) -> int:
        """Send what fits, record by record; see `Connection.transmit`."""
        sent = 0
        view = memoryview(data)
        try:
            while sent < len(view):
                sent += self.sock.send(view[sent:])
        except _NOT_NOW:
            pass  # the next attempt begins with the same byte, as OpenSSL wants
        return sent

    def end_writing(self) -> None:
        """End our side, inside TLS first, or the end could be an attacker's; see `Connection.end_writing`."""
        try:
            self.sock.unwrap()  # type: ignore[attr-defined]
        except (OSError, ValueError):
            pass  # it has been said; the answer is not waited for
        super().end_writing()
