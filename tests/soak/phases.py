"""What the server goes through. A phase does its worst, checks what must hold all the while, and says what it saw."""
import contextlib
import json
import random
import socket
import time
from typing import Callable, Dict, List, Optional, Tuple

from bridging import bridged
from elsewhere import guarded, shared
from hostile import hostile
from http_wire import end_of, parts_of
from peer import request, tool_request
from soaked import Callers, Event, Failed, Soaked, body_of, cut, events, received
from stateless import alone, listened
from tasked import tasked
from waiting import waiting

MOST_THREADS = 16
STEPS = 20
Phase = Callable[[Soaked, int, random.Random], str]


def _kilobytes(more: float, count: int) -> str:
    return "%.1f KB" % (more / count / 1e3)


# --- many streams, many sessions --------------------------------------------------------------------------------------

def streams(soaked: Soaked, count: int, chance: random.Random) -> str:
    """Open GET streams of as many sessions; each is told of an update once; half of the sessions are deleted."""
    before = soaked.report()
    opened: List[Tuple[Optional[str], socket.socket]] = []
    with contextlib.ExitStack() as stack, soaked.target.line() as line:
        for _ in range(count):
            session = soaked.open(line)
            answer = line.ask(soaked.post(request(1, "resources/subscribe", {"uri": "item://0"}), session))
            if answer.status != 200:
                raise Failed("subscribing was answered %d" % answer.status)
            sock = soaked.target.stream(session)
            stack.callback(sock.close)
            opened.append((session, sock))
        during = soaked.report()
        threads = during["threads"] - soaked.beside(during)
        if threads > MOST_THREADS:
            raise Failed("%d threads for %d streams" % (threads, count))
        if during["objects"]["HttpSession"] < count:
            raise Failed("the objects of the server are not seen: %s" % during["objects"])
        with Callers(soaked) as callers:
            time.sleep(0.5)
            line.ask(soaked.post(tool_request(2, "touch", {"count": 1}), opened[0][0]))
            for session, sock in opened:
                _told_once(sock)
        for session, _ in opened[::2]:
            line.ask(soaked.target.request("DELETE", session=session))
        for session, sock in opened[::2]:
            if sock.recv(4096) not in (b"0\r\n\r\n", b""):
                raise Failed("a stream of a deleted session went on")
    return "%d threads, %s for each session; %s" % (
        threads, _kilobytes(during["memory"] - before["memory"], count), callers)


def _told_once(sock: socket.socket) -> None:
    data = b""
    while b"notifications/resources/updated" not in data or not data.endswith(b"\r\n"):
        data += sock.recv(4096)
    if data.count(b"notifications/resources/updated") != 1:
        raise Failed("told %d times" % data.count(b"notifications/resources/updated"))


def abandoned(soaked: Soaked, count: int, chance: random.Random) -> str:
    """Sessions that are opened and never heard of again."""
    before, begin = soaked.report(), time.monotonic()
    most = before
    for start in range(0, count, 500):
        with soaked.target.line() as line:
            for number in range(min(500, count - start)):
                soaked.open(line)
        now = soaked.report()
        most = max(most, now, key=lambda found: found["sessions"])
    seconds = time.monotonic() - begin
    soaked.settle()
    return "%.0f per second; %d open at most, %s each" % (
        count / seconds, most["sessions"], _kilobytes(most["memory"] - before["memory"], max(1, most["sessions"])))


# --- requests that are refused ----------------------------------------------------------------------------------------

def _cases(soaked: Soaked) -> List[Tuple[int, bytes]]:
    """A status, and a request that has to be answered so."""
    ask, ping = soaked.target.request, request(1, "ping", {})

    def changed(old: bytes, new: bytes, of: bytes = ask("POST", ping)) -> bytes:
        if old not in of:
            raise Failed("a case of the soak is out of date: no %r" % old)
        return of.replace(old, new)

    return [
        (400, ask("POST", ping)), (404, ask("POST", ping, "nobody-knows-this-session")),
        (400, ask("POST", b"{")), (400, ask("POST", b'{"jsonrpc":"2.0"}')), (400, ask("GET")), (400, ask("DELETE")),
        (404, ask("DELETE", session="x")), (405, changed(b"POST", b"PUT")), (404, changed(b"/mcp", b"/other")),
        (403, changed(b"Host: 127", b"Host: 27")), (403, ask("POST", ping, None, ["Origin: http://evil.example"])),
        (406, changed(b"application/json, text/event-stream", b"image/png")),
        (415, changed(b"Content-Type: application/json", b"Content-Type: text/plain")),
        (400, changed(b"HTTP/1.1", b"HTTP/x")), (400, changed(b"Content-Length", b"Content-Length : 1\r\nX")),
        (400, ask("POST", ping, None, ["Transfer-Encoding: chunked"])), (400, changed(b"\r\n", b"\n")),
        (400, ask("POST", ping, None, ["Content-Length: 1"])),
        (413, changed(b"Content-Length: ", b"Content-Length: 99999999")),
        (414, changed(b"/mcp", b"/" + b"m" * 10000)), (431, ask("POST", ping, None, ["X: " + "x" * 80000])),
    ]


def refused(soaked: Soaked, count: int, chance: random.Random) -> str:
    """Requests that no server may take."""
    cases = _cases(soaked)
    seen: Dict[int, int] = {}
    begin = time.monotonic()
    line = soaked.target.line()
    try:
        for _ in range(count):
            wanted, data = chance.choice(cases)
            with contextlib.suppress(ConnectionError):  # the answer may come before all of it has gone out
                line.sock.sendall(data)
            answer = parts_of(_reply(line.sock))
            if answer.status != wanted:
                raise Failed("%r was answered %d, not %d" % (data[:300], answer.status, wanted))
            seen[wanted] = seen.get(wanted, 0) + 1
            if (answer.field("Connection") or "").lower() == "close":
                line.sock.close()
                line = soaked.target.line()
    finally:
        line.sock.close()
    return "%.0f per second; %s" % (count / (time.monotonic() - begin),
                                    ", ".join("%d x %d" % (seen[status], status) for status in sorted(seen)))


def _reply(sock: socket.socket) -> bytes:
    data = b""
    while not end_of(data) or len(data) < end_of(data):
        more = sock.recv(65536)
        if not more:
            raise Failed("the connection ended instead of an answer: %r" % data)
        data += more
    return data


# --- connections that break -------------------------------------------------------------------------------------------

def broken(soaked: Soaked, count: int, chance: random.Random) -> str:
    """Connections cut at a random byte of the request or of the reply, under load."""
    cuts = {"in the request": 0, "in the reply": 0, "in a stream": 0}
    with Callers(soaked) as callers, soaked.target.line() as control:
        session = soaked.open(control)
        for number in range(1, count + 1):
            where = chance.choice(sorted(cuts))
            text = "x" * chance.choice((10, 1000, 100_000))
            data = soaked.post(tool_request(number, "echo", {"text": text}), session)
            if where == "in a stream":
                data = soaked.post(_steps_request(number), session)
            line = soaked.target.line()
            if where == "in the request":
                with contextlib.suppress(ConnectionError):
                    line.sock.sendall(data[:chance.randrange(len(data))])
            else:
                line.sock.sendall(data)
                received(line.sock, chance.randrange(3000 if where == "in a stream" else len(text) + 300))
            cut(line.sock, chance)
            cuts[where] += 1
        control.ask(soaked.target.request("DELETE", session=session))
    return "%s; %s" % (", ".join("%d %s" % (cuts[where], where) for where in sorted(cuts)), callers)


def _steps_request(number: int) -> bytes:
    return request(number, "tools/call", {"name": "steps", "arguments": {"count": STEPS},
                                          "_meta": {"progressToken": number}})


def redelivered(soaked: Soaked, count: int, chance: random.Random) -> str:
    """Streams cut at random bytes, again and again, by clients that come back: nothing is lost, nothing comes twice."""
    cuts = 0
    with Callers(soaked) as callers, soaked.target.line() as control:
        session = soaked.open(control)
        for number in range(1, count + 1):
            found, times = _with_cuts(soaked, session, number, chance)
            cuts += times
            said = [json.loads(event.data) for event in found if event.data]
            steps = [message["params"]["progress"] for message in said if "method" in message]
            if steps != list(range(1, STEPS + 1)) or said[-1].get("id") != number or len(said) != STEPS + 1:
                raise Failed("call %d, %d cuts: steps %s, then %r" % (number, times, steps, said[-1]))
        control.ask(soaked.target.request("DELETE", session=session))
    return "%d messages after %d cuts, each once and in order; %s" % (count * (STEPS + 1), cuts, callers)


def _with_cuts(soaked: Soaked, session: Optional[str], number: int, chance: random.Random) -> Tuple[List[Event], int]:
    """The events of one call, and how often its stream was cut."""
    found: List[Event] = []
    ask, times = soaked.post(_steps_request(number), session), 0
    while not (found and b'"result"' in found[-1].data):
        if times > 200:
            raise Failed("call %d does not end: %r" % (number, found[-1:]))
        line = soaked.target.line()
        line.sock.sendall(ask)
        data = b""
        while not events(body_of(data)):  # until there is something to come back with
            more = received(line.sock, 1, data)
            if not more:
                raise Failed("call %d, come back with %r: %r" % (number, found[-1:], data))
            data += more
        data += received(line.sock, chance.randrange(1500), data)
        found += events(body_of(data))
        cut(line.sock, chance)
        times += 1
        ask = soaked.target.request("GET", session=session, fields=["Last-Event-ID: " + found[-1].id])
    return found, times


# --- clients that do not read -----------------------------------------------------------------------------------------

def slow(soaked: Soaked, count: int, chance: random.Random) -> str:
    """Clients that ask for much and read nothing of it, half of them a stream: they are let go."""
    before = soaked.report()["counters"].get("slow readers", 0)
    text, peak = "x" * 1_000_000, 0
    with contextlib.ExitStack() as stack, Callers(soaked) as callers, soaked.target.line() as control:
        for number in range(count):
            session = soaked.open(control)
            control.ask(soaked.post(request(2, "logging/setLevel", {"level": "debug"}), session))
            sock = socket.socket()
            stack.callback(sock.close)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.settimeout(10)
            sock.connect((soaked.target.host, soaked.target.port))
            if number % 2:
                sock.sendall(soaked.post(tool_request(1, "flood", {"count": 512}), session))
                continue
            with contextlib.suppress(socket.timeout):
                sock.settimeout(0.2)
                for call in range(3, 7):
                    sock.sendall(soaked.post(tool_request(call, "echo", {"text": text}), session))
        end = time.monotonic() + 20
        while True:
            now = soaked.report()
            peak = max(peak, now["memory"])
            gone = now["counters"].get("slow readers", 0) - before
            if gone >= count:
                break
            if time.monotonic() > end:
                raise Failed("%d of %d slow readers were let go" % (gone, count))
            time.sleep(0.1)
    return "all %d let go, memory at most %.0f MB; %s" % (count, peak / 1e6, callers)


PHASES: Tuple[Tuple[str, int, Phase], ...] = (
    ("open GET streams", 1000, streams),
    ("sessions opened and dropped", 10_000, abandoned),
    ("refused requests", 10_000, refused),
    ("connections cut", 3000, broken),
    ("calls with cut streams", 200, redelivered),
    ("slow readers", 40, slow),
    ("hostile clients", 300, hostile),
    ("requests that stand alone", 20_000, alone),
    ("streams of listeners", 3000, listened),
    ("tasks", 3000, tasked),
    ("sessions in a shared store", 1000, shared),
    ("requests with tokens", 10_000, guarded),
    ("waiting handlers", 2000, waiting),
    ("sessions with a bridge", 1000, bridged),
)
"""What it is, how many at full scale, and the function."""
