"""Random HTTP requests, right ones and wrong ones, read by our HTTP server and by `h11`; `make interop` runs it.

Whatever both take they have to read alike: a proxy with another reading is how requests are smuggled. What one alone
takes stands in STRICTER or LOOSER with the reason. Left out are absolute targets, of which h11 makes nothing.
"""
import os
import pathlib
import random
import socket
import subprocess
import sys
import time
from collections import Counter
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE), str(HERE.parent / "tools")]

from mcp_ref.http11.message import Exchange, HttpRequest  # noqa: E402
from mcp_ref.http11.server.server import HttpServer  # noqa: E402
from official_walk import expect, report  # noqa: E402

SEED = 20261122
REQUESTS = 20_000
PART = 5000
"""Requests for which a server keeps its port: the system has not many more for those that ask it."""
SECONDS = 600
METHODS = ("POST", "GET", "DELETE", "get", "PO ST", "P\x00")
TARGETS = ("/mcp", "/", "/a?b=c", "*", "/\xfc", "/a b", "")
VERSIONS = ("HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/1.2", "http/1.1", "HTTP/1.1 ", "HTTP/11")
FIELDS = (
    "host:x", "Host: ", "Content-Length: 5", "Content-Length: 3", "Content-Length: +5", "Content-Length: 5, 5",
    "Content-Length: 05", "Content-Length: 5_0", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked",
    "transfer-encoding: Chunked", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: identity", "A: b", "A : b",
    " folded", "\tfolded", "A:\tb\t", ": x", "A", "X: \x01", "X: \xe9", "X: a\x00b", "Connection: close",
    "Connection: keep-alive, x", "Expect: 100-continue", "X-Y_Z: 1", "A: b\x0bc", "A:\x7f",
)
ENDS = ("\r\n",) * 30 + ("\n", "\r")
BODIES = (
    "hello", "5\r\nhello\r\n0\r\n\r\n", "5;x=y\r\nhello\r\n0\r\nT: v\r\n\r\n", "05\r\nhello\r\n0\r\n\r\n",
    "5 \r\nhello\r\n0\r\n\r\n", "0x5\r\nhello\r\n0\r\n\r\n", "5\nhello\n0\n\n", "5\r\nhelloXX0\r\n\r\n", "", "hel",
    "-5\r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n0\r\nbad trailer\r\n\r\n", "5\t;a\r\nhello\r\n0\r\n\r\n",
    '5;"\n"\r\nhello\r\n0\r\n\r\n',
)
STRICTER: Dict[str, str] = {
    "does not end with CR LF": "a bare LF ends a line there",
    "a folded header line": "it is unfolded there",
    "a target that is neither a path nor a URL": "`*` is for others to judge there",
    "Invalid HTTP version": "any version that looks like one is taken there",
    "a Content-Length that is no number": "a list of equal numbers is one there",
    "more than one Content-Length": "equal ones are one there",
    "both Content-Length and Transfer-Encoding": "the first is dropped there",
    "Transfer-Encoding in HTTP/1.0": "it is believed there",
    "no Host field": "only HTTP/1.1 needs one there",
    "a chunk size that is no hexadecimal number": "space may follow it there",
    "an expectation other than 100-continue": "the field came twice, and is not looked at there",
    "a control character": "but for NUL, CR and LF they are data there",
}
"""What our server says where h11 takes the request, or waits for more of it, and what h11 does."""
LOOSER: Dict[str, str] = {"illegal chunk header": "space before an extension, which RFC 9112 §7.1.1 allows"}
"""What h11 says where ours takes the request, and why that is right."""


class Read(NamedTuple):
    """What a reader made of a request; ``refused`` says why, else it is the rest, or with ``more`` nothing yet."""

    method: str = ""
    target: str = ""
    fields: Sequence[Any] = ()
    body: bytes = b""
    refused: str = ""
    more: bool = False


def request(chance: random.Random) -> bytes:
    """A request, a third of whose parts are odd."""
    def one(of: Sequence[str]) -> str:
        return chance.choice(of) if chance.random() < 0.2 else of[0]

    fields = [chance.choice(FIELDS) for _ in range(chance.randrange(4))] + ["Host: x"] * (chance.random() < 0.95)
    chance.shuffle(fields)
    lines = [" ".join((one(METHODS), one(TARGETS), one(VERSIONS))), *fields, ""]
    return ("".join(line + chance.choice(ENDS) for line in lines) + chance.choice(BODIES)).encode("latin-1")


class Ours:
    """Our server, and what it has read."""

    def __init__(self) -> None:
        self._seen: List[HttpRequest] = []
        self._server = HttpServer(self._handle)

    def _handle(self, exchange: Exchange) -> None:
        self._seen.append(exchange.request)
        exchange.reply(200)

    def __enter__(self) -> "Ours":
        self._server.open()
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.close()

    def read(self, data: bytes, names: List[str]) -> Read:
        """What our server reads first."""
        self._seen.clear()
        with socket.create_connection(self._server.address, SECONDS) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        if self._seen:
            found = self._seen[0]
            target = found.path + ("?" + found.query if found.query else "")
            return Read(found.method, target, [found.headers.get_all(name) for name in names], found.body)
        if answer in (b"", b"HTTP/1.1 100 Continue\r\n\r\n"):
            return Read(more=True)
        return Read(refused=answer.rpartition(b"\r\n\r\n")[2].decode("ascii"))


def theirs(data: bytes, names: List[str]) -> Read:
    """What h11 reads; the names of the fields are added to ``names``."""
    import h11

    connection = h11.Connection(h11.SERVER)
    connection.receive_data(data)
    read, body = Read(), b""
    try:
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                return Read(more=True)
            if isinstance(event, h11.EndOfMessage):
                return read._replace(body=body)
            if isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.Request):
                pairs = [(name.decode("ascii"), value.decode("latin-1")) for name, value in event.headers]
                names.extend(sorted({name for name, _ in pairs}))
                values = [[value for name, value in pairs if name == wanted] for wanted in names]
                read = Read(event.method.decode("ascii"), event.target.decode("latin-1"), values)
    except h11.RemoteProtocolError as refused:
        return Read(refused=str(refused))


def known(said: str, table: Dict[str, str]) -> bool:
    """Whether the table has a reason for what was said."""
    return any(part in said for part in table)


def alike(own: Read, other: Read) -> bool:
    """Whether both read the same; h11 writes the coding in lower case."""
    lowered = [[[value.lower() for value in values] for values in read.fields] for read in (own, other)]
    return own._replace(fields=lowered[0]) == other._replace(fields=lowered[1])


def readings(chance: random.Random) -> Iterator[Tuple[bytes, Read, Read]]:
    """Each request, and what ours and h11 read."""
    for _ in range(0, REQUESTS, PART):
        with Ours() as ours:
            for _ in range(PART):
                data, names = request(chance), []  # type: bytes, List[str]
                other = theirs(data, names)
                yield data, ours.read(data, names), other


def main() -> None:
    """Compare."""
    started = time.monotonic()
    chance = random.Random(SEED)
    seen: "Counter[str]" = Counter()
    for data, own, other in readings(chance):
        if own.refused and not other.refused:
            seen["stricter"] += 1
            expect(known(own.refused, STRICTER), "only ours refuses", data, own, other)
        elif other.refused and not own.refused:
            seen["looser"] += 1
            expect(known(other.refused, LOOSER), "only h11 refuses", data, own, other)
        elif not own.refused:
            seen["both take"] += 1
            expect(own.more == other.more and (own.more or alike(own, other)), "read differently", data, own, other)
    expect(seen["both take"] > REQUESTS // 10, "too few that are right to tell anything", seen)
    report("http-heads", started, requests=REQUESTS, **{name.replace(" ", "_"): count for name, count in seen.items()})


def walk() -> None:
    """Run this script where h11 is."""
    from environments import environment, recent_python
    from http_shells import PINS
    from peers import PEERS, PYTHON_FLOOR

    python = environment(PEERS / "wsgi", PINS, recent_python(PYTHON_FLOOR))
    code = subprocess.run([python, str(HERE / "http_heads.py")], env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"),
                          cwd=str(ROOT), stdin=subprocess.DEVNULL, timeout=SECONDS).returncode
    expect(code == 0, "the comparison ended with", code)


if __name__ == "__main__":
    main()
