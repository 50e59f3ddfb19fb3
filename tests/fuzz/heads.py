"""A target about heads of HTTP: what is looked at beforehand says what reading it says."""
import io
from random import Random
from typing import Any, List

from mcp_ref.http11.client.response import BROKEN, Reply
from mcp_ref.protocol.streamable_http.header_values import media_type
from mcp_ref.streamable.client.posts import is_whole

from .engine import Broken, Target

NAMES = ("Content-Length", "content-length", "Content-Type", "Transfer-Encoding", "Host", "Connection", "Expect", "X",
         "", "Content_Length", "Keep-Alive")
VALUES = ("7", "007", "8", "1001", "9" * 19, "9" * 20, "", "+7", "7,7", "chunked", "identity", "close", "h:1", "a:b",
          "100-continue", "application/json", "application/json; charset=x", "text/event-stream", "text/event-stream;")
JUNK = ("",) * 12 + (" ", "\t", "\x0b", "\x0c", "\x1c", "\x1f", "\x85", "\xa0", "\xad", "\x00", ":", "\r", "\n",
                     "\r\n ")


def make_fields(random: Random, most: int) -> List[str]:
    """Fields, some of which are none."""
    def junk() -> str:
        return random.choice(JUNK)

    return [junk() + random.choice(NAMES) + junk() + random.choice((":", ":", ": ", "")) + junk()
            + random.choice(VALUES) + junk() for _ in range(random.randrange(most + 1))]


# -- Replies ----------------------------------------------------------------------------------------

class _Wire(io.RawIOBase):
    """Bytes that have come; whoever wants more would wait."""

    def __init__(self, data: bytes) -> None:
        self._left = data

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes. Raises `Broken` where there are none."""
        if not self._left:
            raise Broken("waits: for more than has come")
        taken, self._left = self._left[:len(buffer)], self._left[len(buffer):]
        buffer[:len(taken)] = taken
        return len(taken)

    def makefile(self, *ignored: Any) -> Any:
        """What a socket gives to read from."""
        return io.BufferedReader(self)


def make_reply(random: Random) -> bytes:
    """A reply that is usual, but for fields that are not."""
    lines = [random.choice(("HTTP/1.1 200 OK", "HTTP/1.1 200 ", "http/1.1 200 \x85", "HTTP/1.1 200 200 3"))]
    kinds, lengths = ("Content-Type: application/json", "content-type:application/json;"), ("Content-Length: 7", "X: y")
    fields = [*make_fields(random, 3), random.choice(kinds), random.choice(lengths)]
    random.shuffle(fields)
    body = random.choice((b'{"a":1}', b"5\r\nabcd", b"id:1\n\n\n"))
    return "\r\n".join([*lines, *fields, "", ""]).encode("latin-1") + body


def check_reply(data: bytes) -> None:
    """What looks whole beforehand is read without waiting: as JSON, or it is an error."""
    if not is_whole(data):
        return
    reply = Reply(_Wire(data), "POST")  # type: ignore[arg-type]
    try:
        reply.begin()
    except BROKEN:
        return
    kind = media_type(reply.headers.get("content-type"))
    if kind == "text/event-stream":
        raise Broken("kind: a stream")
    if kind == "application/json" and reply.whole(1000) != data[-7:]:
        raise Broken("body: another one")


TARGETS = (
    Target("replies", make_reply, check_reply),
)
