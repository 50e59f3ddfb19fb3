"""Trains of HTTP requests, sent to two servers over real sockets: both have to read and answer them alike.

    python -m tests.fuzz.http_trains --left MODULE:CLASS --right MODULE:CLASS --count 100000 --seed 7

A train is what one connection sends: ``(pieces, ends)``. Each piece is one ``send``; an empty one waits for the next
``100 Continue``. If ``ends`` is 1 the client ends its side behind the last piece. If it is 0 it never does: the train
asks the server to end the connection, or must be refused.

The handler answers each request with all that it saw of it, so comparing the replies compares both what was read and
what was written; Date and Server are left out. A reply that is cut off, or lost to a reset, is a difference even if
both servers lose it, and so is a request that the handler saw but whose reply never came. When both answer whole but
differently, the left server gets the train some more times: if it then answers as the right one did, because the bytes
arrived in another way, that is counted apart.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import importlib
import logging
import multiprocessing
import os
import queue
import socket
import sys
import threading
import time
import zlib
from random import Random
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from mcp_ref.http11.message import Exchange
from tests.support.patience import WAIT
from tests.transports.http_cases import ACCEPTED, LIMITS, REFUSED

from .engine import Broken, Failure, Target, make_case, shrink
from .inventing import mutated_bytes

HERE = "mcp_ref.http11.server.server:HttpServer"
BATCH = 32
"""Connections that are open at a time, to each server."""
CHUNK = 1000
"""Trains for which a pair of servers is kept."""
SMALL_PATIENCE = 2.0
"""Seconds of silence that count as hung while a train is made smaller."""
ENDED = "ended"
UNSTEADY = "the left server answers in several ways"

Train = Tuple[List[bytes], int]

# --- Making trains ----------------------------------------------------------------------------------------------------

_METHODS = ("GET",) * 5 + ("POST",) * 6 + ("PUT", "DELETE", "PATCH", "HEAD", "HEAD", "BREW", "!#$%&'*+-.^_`|~")
_TARGETS = ("/", "/mcp", "/a%20b?c=d", "/x?y?z=%00", "//h/x", "/..;/a:b@c", "/later", "/later?b", "/empty", "/fail",
            "/*", "/?", "http://h:1/x?y", "https://real", "HTTP://[::1]:8/later", "http://h?q")
_FIELDS = ("Accept: a/b", "accept:c/d, e", "X:", "X: y", "X:\t y \t", "x: \xe9\xff", "Mcp-Session-Id: 5",
           "Connection: keep-alive", "Connection: te", "TE: trailers", "Content-Type: application/json",
           "Keep-Alive: 5", "Upgrade: h2c", "Content_Length: 3", "Trailer: A", "!#$%&'*+-.^_`|~0: tab\there")
_HOSTS = ("Host: h:1", "host: localhost", "HOST:[::1]:80", "Host:", "Host: a.b-c~d")
_LAST = b"GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
_SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"


def _cased(random: Random, name: str) -> str:
    return random.choice((name, name, name.lower(), name.upper(), name.swapcase()))


def _chunks(random: Random, body: bytes) -> bytes:
    """The body in chunks, some with extensions, and maybe trailers."""
    pieces = []
    while body:
        size = random.choice((1, 2, 3, 10, 16, 255, len(body)))
        digits = random.choice(("%x", "%X", "%04x", "00%x")) % len(body[:size])
        extension = random.choice(("",) * 8 + (";a", ";a=b", " ; c=\"d\"", ";\xe9"))
        pieces.append((digits + extension).encode("latin-1") + b"\r\n" + body[:size] + b"\r\n")
        body = body[size:]
    trailers = random.choice(("",) * 6 + ("A: b\r\n", "Content-Length: 7\r\nHost: x\r\n"))
    return b"".join(pieces) + random.choice((b"0", b"0", b"000", b"0;x")) + b"\r\n" + trailers.encode() + b"\r\n"


def _good_body(random: Random, method: str, modern: bool) -> Tuple[List[str], bytes]:
    """Fields and bytes of a body that can be read."""
    if method != "POST" and random.random() < 0.8:
        return [], b""
    size = random.choice((0, 0, 1, 3, 7, 20, 30, 30, 200, 1000))
    body = random.choice((b"x" * size, (b"\r\n\r\n" * size)[:size], (_SMUGGLED * 30)[:size],
                          bytes(random.choices(range(256), k=size))))
    if modern and random.random() < 0.4:
        body = body[:random.choice((3, 30, 200, 1000))]
        return [_cased(random, "Transfer-Encoding") + ": " + _cased(random, "chunked")], _chunks(random, body)
    length = random.choice(("%s: %d", "%s:%d", "%s:\t %d ", "%s: 00%d")) % (_cased(random, "Content-Length"), size)
    return [length], body


def _good(random: Random, closes: float) -> Tuple[bytes, bytes, bool]:
    """Head and body of a request that can be read, and if the client waits for 100 Continue between them."""
    method, target = random.choice(_METHODS), random.choice(_TARGETS)
    version = "HTTP/1.0" if random.random() < closes else "HTTP/1.%s" % random.choice("1111111119")
    if random.random() < 0.05:
        method, target = random.choice((("OPTIONS", "*"), ("OPTIONS", "/x"), ("CONNECT", "h:1")))
    modern = version != "HTTP/1.0"
    fields, body = _good_body(random, method, modern)
    fields += random.sample(_FIELDS, random.randrange(4))
    if random.random() < closes:
        fields.append("Connection: " + random.choice(("close", "keep-alive, CLOSE", "close,te")))
    expects = bool(fields) and modern and body != b"" and random.random() < 0.15
    if expects:
        fields.append(_cased(random, "Expect") + ": 100-continue")
    if modern or random.random() < 0.5:
        fields.append(random.choice(_HOSTS))
    random.shuffle(fields)
    empty = "\r\n" * random.choice((0,) * 9 + (1, 2))
    head = empty + "\r\n".join(["%s %s %s" % (method, target, version), *fields, "", ""])
    return head.encode("latin-1"), body, expects


_LENGTHS = ("Content-Length: +3", "Content-Length: -3", "Content-Length: 3,3", "Content-Length: 3 3",
            "Content-Length: 0x3", "Content-Length: 1_0", "Content-Length: \xb2", "Content-Length: ",
            "Content-Length: 1001", "Content-Length: 99999999999999999999", "Content-Length : 3",
            "Content-Length\t: 3", " Content-Length: 3", "Content-Length:\x0b3", "Content-Length: 3\r\n 4",
            "Content-Length: 3\r\nContent-Length: 3", "Content-Length: 3\r\nContent-Length: 40", "Content-Length",
            "Content-Length: 3\nX: y", "Content-Length: 3\rX: y", "Content-Length: 3\x00", "\x00Content-Length: 3")
_CODINGS = ("Transfer-Encoding: chunked\r\nContent-Length: 3", "Content-Length: 60\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: xchunked", "Transfer-Encoding: chunked, identity", "Transfer-Encoding: identity",
            "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, chunked", "Transfer-Encoding : chunked",
            "Transfer-Encoding:\x0bchunked", "Transfer-Encoding: \"chunked\"", "Transfer-Encoding: chunked;q=1",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding:\r\n chunked",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "Transfer-Encoding: ", " Transfer-Encoding: x",
            "X: y\nTransfer-Encoding: chunked", "X: y\r\n\tTransfer-Encoding: chunked", "Transfer-Encoding\0: chunked",
            "Transfer-Encoding: chunked\x00", "Transfer-Encoding: c\xe8hunked", "Transfer_Encoding: chunked")
_OTHERS = ("Host: a\r\nHost: a", "Host: a b", "Host: a/b", "Host: \xe9", "Host: u@a", ": x", "X", "X y: z", "\xe9: 3",
           "X: a\0b", "X: a\x7fb", "X: \x1b[2J", "X: a\rb", "X: a\nb", "X:\r\n folded", "Expect: 200-ok",
           "Expect: 100-continue, x", "Expect: 100-continue\r\nExpect: 100-continue", "X: " + "y" * 587,
           "X: " + "y" * 700, "\r\n".join(["X: y"] * 10), "X" * 300 + ": y", "Connection: close, \x01",
           "Connection:", "Connection: close\r\n close", "\r\nX: y", "X: \x85", "X: \x0c", "(: x", "X: a\r\r\nY: b")
_LINES = ("GET / HTTP/0.9", "GET /", "GET / HTTP/2.0", "PRI * HTTP/2.0", "GET / http/1.1", "GET / HTTP/1.10",
          "GET / HTTP/01.1", "GET / HTTP/1", "GET  / HTTP/1.1", "GET\t/ HTTP/1.1", "GET / HTTP/1.1 ", " GET / HTTP/1.1",
          "GET /a b HTTP/1.1", "GET /\xe9 HTTP/1.1", "GET /\0 HTTP/1.1", "GET x HTTP/1.1", "GET * HTTP/1.1",
          "GET file:///x HTTP/1.1", "GET http://u@a/ HTTP/1.1", "GET http:///x HTTP/1.1", "G\xc9T / HTTP/1.1",
          "GET / HTTP/1.1\r", "GET / HTTP/1.1\nX: y", "GET /%s HTTP/1.1" % ("x" * 87), "GET / XTTP/1.1", "", "GET",
          "CONNECT / HTTP/1.1", "CONNECT h HTTP/1.1", "OPTIONS *x HTTP/1.1", "GET http://[/ HTTP/1.1", "@ / HTTP/1.1",
          "GET / HTTP/1.1 HTTP/1.1", "GET /\x7f HTTP/1.1", "GET http://a\xa0b/ HTTP/1.1", "GET / HTTP/+1.1",
          "GET / HTTP/1.\xb2", "GET /#f HTTP/1.1", "GET \\ HTTP/1.1", "GET http:x HTTP/1.1", "POST / HTTP/1.1 \x0b")
_BAD_CHUNKS = (b"+3\r\nabc\r\n", b"-3\r\nabc\r\n", b"0x3\r\nabc\r\n", b"1_0\r\n0123456789abcdef\r\n", b" 3\r\nabc\r\n",
               b"3 \r\nabc\r\n", b"\r\nabc\r\n", b";a=b\r\nabc\r\n", b"0" * 16 + b"3\r\nabc\r\n", b"f" * 16 + b"\r\n",
               b"3e9\r\n", b"3\r\nabcd\r\n", b"4\r\nabc\r\n", b"3\r\nabcXX", b"3\r\nabc\n", b"3\nabc\r\n",
               b"3\rabc\r\n", b"3;a\nb\r\nabc\r\n", b"3;\0\r\nabc\r\n", b"3;" + b"a" * 700, b"1\r\nx\r\n" * 120,
               b"3\r\n\r\nabc\r\n", b"\xb23\r\nabc\r\n", b"3\x0b\r\nabc\r\n", b"3\r\r\nabc\r\n",
               b"1;" + b"a" * 90 + b"\r\nx\r\n", b"2\r\nab\r\n" * 90)
_BAD_TRAILERS = (b"abc\r\n", b"A: b\nC: d\r\n", b"A : b\r\n", b"A: b\r\n c\r\n", b"A: \0\r\n", b"A: b\r\n" * 110,
                 b": b\r\n", b"\n", b"A: b\r")


def _odd(random: Random) -> bytes:
    """A request that many a server reads in a way of its own."""
    kind = random.randrange(8)
    if kind == 0:
        return random.choice(REFUSED).data
    line, fields, body = "POST /odd HTTP/1.%s" % random.choice("1111110"), ["Host: h"], b""
    if kind == 1:
        line = random.choice(_LINES)
    elif kind == 2:
        fields.append(random.choice(_LENGTHS))
        body = random.choice((b"", b"abc", _SMUGGLED))
    elif kind == 3:
        fields.append(random.choice(_CODINGS))
        body = random.choice((b"", b"0\r\n\r\n", b"3\r\nabc\r\n0\r\n\r\n")) + random.choice((b"", _SMUGGLED))
    elif kind == 4:
        fields.append(random.choice(_OTHERS))
    elif kind == 5:
        fields.append("Transfer-Encoding: chunked")
        body = random.choice((b"", b"2\r\nxy\r\n")) + random.choice(_BAD_CHUNKS) + b"0\r\n\r\n" + _SMUGGLED
    elif kind == 6:
        fields.append("Transfer-Encoding: chunked")
        body = b"2\r\nxy\r\n0\r\n" + random.choice(_BAD_TRAILERS) + b"\r\n" + _SMUGGLED
    if kind == 7 or random.random() < 0.2:
        head, more, _ = _good(random, 0.1)
        return mutated_bytes(random, head + more, random.randrange(1, 4))
    random.shuffle(fields)
    return "\r\n".join([line, *fields, "", ""]).encode("latin-1") + body


def _cut(random: Random, data: bytes) -> List[bytes]:
    """The bytes in one piece, in some, or one by one."""
    if not data or random.random() < 0.3:
        return [data] if data else []
    if len(data) < 60 and random.random() < 0.1:
        return [data[place:place + 1] for place in range(len(data))]
    places = sorted(random.randrange(1, len(data)) for _ in range(random.randrange(1, 5))) if len(data) > 1 else []
    pieces = [data[start:end] for start, end in zip([0, *places], [*places, len(data)])]
    return [piece for piece in pieces if piece]


def _orderly(random: Random) -> Train:
    """Requests that can be read, and a last one that ends the connection, or is refused."""
    pieces: List[bytes] = []
    unsent = b""
    for _ in range(random.randrange(6)):
        head, body, expects = _good(random, 0.03)
        if random.random() < 0.15:
            head, body, expects = head.replace(b" / ", b" /stream ", 1), body, expects
        unsent += head
        if expects:
            pieces += [*_cut(random, unsent), b""]
            unsent = b""
        unsent += body
    last = random.choice(REFUSED).data if random.random() < 0.2 else _LAST
    return [*pieces, *_cut(random, unsent + last)], 0


def make_train(random: Random) -> Train:
    """A train of good requests and odd ones."""
    if random.random() < 0.35:
        return _orderly(random)
    parts = []
    for _ in range(random.randrange(1, 6)):
        pick = random.random()
        if pick < 0.3:
            parts.append(_odd(random))
        elif pick < 0.4:
            parts.append(random.choice(ACCEPTED).data)
        else:
            parts += _good(random, 0.06)[:2]
    data = b"".join(parts)
    if random.random() < 0.1 and data:
        data = data[:random.randrange(len(data))]
    return _cut(random, data), 1


# --- Servers, and the replies of one connection -----------------------------------------------------------------------

class Answer(NamedTuple):
    """A reply as it came."""

    status: int
    fields: Tuple[Tuple[str, str], ...]
    """Names in lower case, sorted, without Date and Server."""
    body: bytes


class Reading(NamedTuple):
    """All that came back for a train."""

    answers: Tuple[Answer, ...]
    end: str
    """ENDED, or what went wrong."""

    def served(self) -> int:
        """Return how many of the answers are the handler's."""
        return sum(any(name == "x-method" for name, _ in answer.fields) for answer in self.answers)


class _Cut(Exception):
    """Bytes that are no whole reply."""


def _answers(data: bytes) -> Iterator[Answer]:
    """The replies in the bytes. Raises `_Cut`."""
    position = 0
    while position < len(data):
        end = data.find(b"\r\n\r\n", position)
        lines = data[position:end].decode("latin-1").split("\r\n")
        words = lines[0].split(" ", 2)
        if end < 0 or words[0] != "HTTP/1.1" or len(words) != 3 or not words[1].isdigit():
            raise _Cut("half a head, or none: %r" % data[position:position + 100])
        pairs = [(name.lower(), value.strip(" ")) for name, _, value in (line.partition(":") for line in lines[1:])]
        fields, status = dict(pairs), int(words[1])
        position = end + 4
        if status < 200 or status in (204, 304) or fields.get("x-method") == "HEAD":
            body = b""
        elif "content-length" in fields:
            body = data[position:position + int(fields["content-length"])]
            if len(body) < int(fields["content-length"]):
                raise _Cut("half a body: %r" % body[-100:])
            position += len(body)
        elif "transfer-encoding" in fields:
            body, position = _unchunked(data, position)
        else:
            body, position = data[position:], len(data)
        yield Answer(status, tuple(sorted(pair for pair in pairs if pair[0] not in ("date", "server"))), body)


def _unchunked(data: bytes, position: int) -> Tuple[bytes, int]:
    pieces = []
    while True:
        end = data.find(b"\r\n", position)
        try:
            size = int(data[position:end], 16)
        except ValueError:
            raise _Cut("half a stream: %r" % data[-100:]) from None
        position = end + 2 + size + 2
        if data[position - 2:position] != b"\r\n":
            raise _Cut("half a chunk: %r" % data[-100:])
        if not size:
            return b"".join(pieces), position
        pieces.append(data[end + 2:position - 2])


class Served:
    """A server of one class, whose handler says what it saw."""

    def __init__(self, name: str) -> None:
        module, _, found = name.partition(":")
        self.name = name
        self.calls: List[None] = []
        """One for each request that the handler saw."""
        self._late: "queue.Queue[Any]" = queue.Queue()
        self._server = getattr(importlib.import_module(module), found)(self._handle, "127.0.0.1", 0, limits=LIMITS)

    def __enter__(self) -> "Served":
        self._server.open()
        self.address = self._server.address
        self._answerer = threading.Thread(target=self._answer_late)
        self._answerer.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.close(0)
        self._late.put(None)
        self._answerer.join()

    def _answer_late(self) -> None:
        for exchange, fields, body in iter(self._late.get, None):
            exchange.reply(200, fields, body)

    def _handle(self, exchange: Exchange) -> None:
        self.calls.append(None)
        seen = exchange.request
        fields = [("X-Method", seen.method), ("X-Seen", "%08x" % zlib.crc32(repr(seen[:2]).encode() + seen.body))]
        told = [seen.method, seen.path, seen.query, seen.version, seen.peer, seen.secure, sorted(seen.headers.pairs()),
                seen.body if len(seen.body) < 100 else (len(seen.body), zlib.crc32(seen.body))]
        body = repr(told).encode()
        if seen.path == "/later":
            self._late.put((exchange, fields, body))
        elif seen.path == "/empty":
            exchange.reply(204, fields, body)
        elif seen.path == "/stream":
            exchange.start(200, fields)
            exchange.send(body[:20])
            exchange.finish(body[20:])
        elif seen.path == "/fail" and seen.method != "HEAD":
            self.calls.pop()  # the server's own answer does not say that it is the handler's
            raise ValueError
        else:
            exchange.reply(200, fields, body)


class _Client:
    """A connection to a server on which a train is sent."""

    def __init__(self, address: Tuple[str, int], train: Train, end: float) -> None:
        self._pieces, self._ends = train
        self._end = end
        self._next = 0
        self._left = b""
        self._waits = 0
        self._failed = ""
        self._over = False
        self._sock = socket.create_connection(address, WAIT)
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def step(self) -> bool:
        """Send the next piece, or wait for 100 Continue. Return False if there is nothing left to do but to read."""
        if self._failed or self._next >= len(self._pieces):
            return False
        piece = self._pieces[self._next]
        self._next += 1
        try:
            if piece:
                self._sock.sendall(piece)
            else:
                self._waits += 1
                while self._left.count(b"HTTP/1.1 100 Continue\r\n\r\n") < self._waits and not self._over:
                    self._receive()
            if self._ends and self._next == len(self._pieces):
                self._sock.shutdown(socket.SHUT_WR)
        except OSError as error:
            self._fail(error)
        return not self._failed and self._next < len(self._pieces)

    def _receive(self) -> None:
        self._sock.settimeout(max(0.05, self._end - time.monotonic()))
        data = self._sock.recv(65536)
        self._left += data
        self._over = not data

    def _fail(self, error: OSError) -> None:
        self._failed = "hung: nothing came" if isinstance(error, socket.timeout) else "lost: %s" % type(error).__name__

    def read(self) -> Reading:
        """Return all that comes until the server ends the connection."""
        if not self._pieces and self._ends:
            self._sock.shutdown(socket.SHUT_WR)
        try:
            while not self._over and not self._failed:
                self._receive()
        except OSError as error:
            self._fail(error)
        self._sock.close()
        answers: List[Answer] = []
        try:
            for answer in _answers(self._left):
                if answer.status >= 200 or self._waits:
                    answers.append(answer)
        except _Cut as error:
            self._failed = self._failed or "cut off: %s" % error
        return Reading(tuple(answers), self._failed or ENDED)


def readings(address: Tuple[str, int], trains: Sequence[Train], patience: float, pause: float = 0.0) -> List[Reading]:
    """Send trains at the same time, piece by piece, each on a connection of its own.

    All replies have to come within ``patience`` seconds.
    """
    end = time.monotonic() + patience
    clients = [_Client(address, train, end) for train in trains]
    active = clients
    while active:
        active = [client for client in active if client.step()]
        if pause:
            time.sleep(pause)
    return [client.read() for client in clients]


# --- Comparing --------------------------------------------------------------------------------------------------------

class Pair:
    """Two servers that have to answer alike: the right one as the left one does."""

    def __init__(self, left: Served, right: Served, words: bool, patience: float) -> None:
        self.left, self.right = left, right
        self._words = words
        self._patience = patience

    def differ(self, trains: Sequence[Train]) -> Iterator[Tuple[int, str]]:
        """Send these trains to both. Yield the number of each that is not answered alike and whole, and how."""
        found: List[List[Reading]] = []
        missing = ""
        for each in (self.left, self.right):
            before = len(each.calls)
            found.append([self._plain(reading) for reading in readings(each.address, trains, self._patience)])
            calls, served = len(each.calls) - before, sum(reading.served() for reading in found[-1])
            if calls != served:
                missing = "unanswered: %s called its handler %d times for %d answers" % (each.name, calls, served)
        alike = True
        for number, (one, two) in enumerate(zip(*found)):
            text = self._compared(trains[number], one, two)
            alike = alike and not text
            if text:
                yield number, text
        if missing and alike:
            yield from ((number, missing) for number in range(len(trains)))

    def _compared(self, train: Train, one: Reading, two: Reading) -> str:
        """Say how two readings differ; "" if they do not, or the left server also answers as the right one did."""
        for each, reading in ((self.left, one), (self.right, two)):
            if reading.end != ENDED:
                return "%s, by %s\n%s" % (reading.end, each.name, _shown(reading))
        if one == two:
            return ""
        for pause in (0.0, 0.0, 0.001, 0.003, 0.01):
            again = self._plain(readings(self.left.address, [train], self._patience, pause)[0])
            if again == two:
                return UNSTEADY
        return "differ, %s: left\n%s\nright\n%s" % (_first(one, two), _shown(one), _shown(two))

    def _plain(self, reading: Reading) -> Reading:
        """The reading without the words of refusals, which depend on how much has come, unless they count."""
        if self._words:
            return reading
        return reading._replace(answers=tuple([
            answer if answer.status < 400 else Answer(answer.status, tuple(
                field for field in answer.fields if field[0] != "content-length"), b"") for answer in reading.answers]))

    def check(self, train: Train) -> None:
        """Send one train to both, twice. Raises `Broken` if they differ."""
        for _ in range(2):
            for _, text in self.differ([train]):
                if text != UNSTEADY:
                    raise Broken(text)


def _first(left: Reading, right: Reading) -> str:
    """Say how the first answers that differ do."""
    for number in range(max(len(left.answers), len(right.answers))):
        one, two = (each.answers[number] if number < len(each.answers) else None for each in (left, right))
        if one != two:
            break
    if one is None or two is None:
        return "%s and %s" % tuple("no answer" if each is None else each.status for each in (one, two))
    if one.status != two.status:
        return "%d and %d" % (one.status, two.status)
    return "two sorts of %d by their %s" % (one.status, "fields" if one.fields != two.fields else "body")


def _shown(reading: Reading) -> str:
    return "\n".join(["  %d %r %r" % answer for answer in reading.answers] + ["  " + reading.end])


class Outcome(NamedTuple):
    """What came of some trains."""

    count: int
    kinds: Dict[str, int]
    """How many trains differ in each way."""
    examples: Dict[str, Tuple[int, str]]
    """For each way but UNSTEADY, the number of a train, and how it differs."""


@contextlib.contextmanager
def _pair(left: str, right: str, words: bool, patience: float) -> Iterator[Pair]:
    logging.disable(logging.CRITICAL)  # of refusals, and of the handler that fails
    try:
        with Served(left) as one, Served(right) as two:
            yield Pair(one, two, words, patience)
    finally:
        logging.disable(logging.NOTSET)


def train(seed: int, number: int) -> Train:
    """Return the train of this number."""
    return make_case(TRAINS, seed, number)  # type: ignore[no-any-return]


TRAINS = Target("trains", make_train, bool)


def explore(left: str, right: str, words: bool, patience: float, seed: int, numbers: Sequence[int]) -> Outcome:
    """Send the trains with these numbers to both servers."""
    kinds: Dict[str, int] = collections.Counter()
    examples: Dict[str, Tuple[int, str]] = {}
    with _pair(left, right, words, patience) as pair:
        for start in range(0, len(numbers), BATCH):
            batch = numbers[start:start + BATCH]
            for index, text in pair.differ([train(seed, number) for number in batch]):
                kind = text.partition(":")[0]
                kinds[kind] += 1
                if kind != UNSTEADY:
                    examples.setdefault(kind, (batch[index], text))
    return Outcome(len(numbers), dict(kinds), examples)


def shrunk(left: str, right: str, words: bool, patience: float, seed: int, number: int, text: str) -> str:
    """Return the smallest train that differs in the same way, and how it does."""
    with _pair(left, right, words, min(patience, SMALL_PATIENCE)) as pair:
        failure = Failure("broken: " + text.partition(":")[0], text)
        case, failure = shrink(TRAINS._replace(check=pair.check), train(seed, number), failure)
    return "train %d of seed %d, as small as it gets: %r\n%s" % (number, seed, case, failure.text)


# --- The command ------------------------------------------------------------------------------------------------------

def _parsed(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.http_trains",
                                     description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--left", default=HERE, metavar="MODULE:CLASS", help="the server that is right (%(default)s)")
    parser.add_argument("--right", default=HERE, metavar="MODULE:CLASS", help="the one to compare (%(default)s)")
    parser.add_argument("--count", type=int, default=20000, help="trains (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="default: a new one each time")
    parser.add_argument("--case", type=int, help="only the train of this number; prints it")
    parser.add_argument("--processes", type=int, default=2, help="each has both servers (default: %(default)s)")
    parser.add_argument("--words", action="store_true", help="compare the words of refusals, too")
    parser.add_argument("--patience", type=float, default=20.0, help="seconds of silence that count as hung (20)")
    return parser.parse_args(arguments)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Run the command; 1 if the servers differ."""
    options = _parsed(arguments)
    seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(4), "big")
    print("seed %d, left %s, right %s" % (seed, options.left, options.right), flush=True)
    given = (options.left, options.right, options.words, options.patience, seed)
    if options.case is not None:
        print(repr(train(seed, options.case)))
        return _summary(given, [explore(*given, [options.case])])
    size = max(BATCH, min(CHUNK, options.count // (4 * options.processes)))
    chunks = [range(start, min(start + size, options.count)) for start in range(0, options.count, size)]
    begun, outcomes = time.monotonic(), []
    # Processes that are not forked: a copy of a process with threads may wait for a lock for ever.
    with concurrent.futures.ProcessPoolExecutor(options.processes, multiprocessing.get_context("spawn")) as pool:
        for future in concurrent.futures.as_completed([pool.submit(explore, *given, chunk) for chunk in chunks]):
            outcomes.append(future.result())
            done = sum(each.count for each in outcomes)
            print("  %8d trains  %6.0f/s  %s" % (done, done / (time.monotonic() - begun), _counted(outcomes)),
                  flush=True)
    return _summary(given, outcomes)


def _counted(outcomes: Sequence[Outcome]) -> str:
    kinds: Dict[str, int] = collections.Counter()
    for outcome in outcomes:
        kinds.update(outcome.kinds)
    return "; ".join("%s: %d" % (kind, kinds[kind]) for kind in sorted(kinds)) or "all alike"


def _summary(given: Any, outcomes: Sequence[Outcome]) -> int:
    found: Dict[str, Tuple[int, str]] = {}
    for outcome in outcomes:
        found.update(outcome.examples)
    for kind in sorted(found):
        print("\n%s\n  %s" % (kind, shrunk(*given, *found[kind]).replace("\n", "\n  ")), flush=True)
    print("%d trains; %s" % (sum(each.count for each in outcomes), _counted(outcomes)))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
