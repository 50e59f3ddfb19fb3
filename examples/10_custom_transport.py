"""A transport of your own: messages with their length in front, over any stream socket.

The protocol asks little of a transport: messages go both ways, whole, as JSON-RPC in UTF-8 [2025-11-25 basic/transports
§Custom Transports]. Lines do it on a pipe; here four bytes of length do. Subclass `Transport` and fill in `read`,
`write` and `close`.

What a transport has to get right is the end: a `close` from another thread frees whoever is inside `read` or `write`,
and a message that is too long is skipped, not kept. The contract test of this project
(tests/transports/test_contract.py) runs over this very class, in both directions.
"""
import pathlib
import socket
import struct
import sys
import threading
from typing import List, Optional, Sequence

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import Server, connect  # noqa: E402
from mcp_ref.errors import ConnectionLost, Rejected  # noqa: E402
from mcp_ref.limits import DEFAULT, Limits  # noqa: E402
from mcp_ref.transports.base import Received, Transport  # noqa: E402


class LengthPrefixed(Transport):
    """Four bytes of length, then the message."""

    name = "prefixed"

    def __init__(self, sock: socket.socket, limits: Limits = DEFAULT) -> None:
        self.sock = sock
        self.stream = sock.makefile("rb")
        self.limit = limits.max_message_bytes
        self.lock = threading.Lock()

    def read(self) -> Optional[List[Received]]:
        try:
            (length,) = struct.unpack("!I", self.stream.read(4))
            if length > self.limit:
                for skipped in range(0, length, 65536):
                    self.stream.read(min(65536, length - skipped))
                return [Rejected("message of %d bytes exceeds max_message_bytes (%d)" % (length, self.limit))]
            message = self.stream.read(length)
        except (OSError, ValueError, struct.error):  # broken, closed, or ended
            return None
        return [message] if len(message) == length else None

    def write(self, messages: Sequence[bytes]) -> None:
        try:
            with self.lock:
                self.sock.sendall(b"".join(struct.pack("!I", len(message)) + message for message in messages))
        except OSError as error:
            raise ConnectionLost(str(error)) from error

    def close(self) -> None:
        try:
            self.sock.shutdown(socket.SHUT_RDWR)  # frees whoever is inside read or write
        except OSError:
            pass
        with self.lock:
            self.stream.close()
            self.sock.close()


def main() -> None:
    """Talk to a server over it."""
    server = Server("demo", version="1.0")

    @server.tool
    def shout(text: str) -> str:
        """Say it louder."""
        return text.upper()

    ours, theirs = socket.socketpair()
    connection = server.connect(LengthPrefixed(theirs))
    with Session() as session, connect(LengthPrefixed(ours), trace=session) as client:
        result = client.call_tool("shout", {"text": "any stream will do"})
    if "ANY STREAM WILL DO" not in str(result) or not connection.wait_closed(5):
        raise SystemExit("that was not loud enough")


if __name__ == "__main__":
    main()
