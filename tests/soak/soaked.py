"""What the phases share: the soaked server from outside, callers who go on meanwhile, and events of streams."""
import json
import pathlib
import random
import socket
import statistics
import struct
import threading
import time
from types import TracebackType
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Type
from urllib.parse import urlsplit

from http_peer import INITIALIZED, HttpPeer
from http_wire import Line, Target, end_of, parts_of
from peer import INITIALIZE, WrongAnswer, echo_request, request, result_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVER = pathlib.Path(__file__).with_name("server.py")
SETTLE_SECONDS = 40.0
WORKER_SECONDS = 4.0
"""After this, a worker without work has ended."""

THREADS_OF_A_LISTENER = 3
"""That do not end with the work: the selector's, the one that watches it, and the clock."""


class Failed(Exception):
    """Something was not as it has to be."""


class Soaked(HttpPeer):
    """The server, in a process of its own."""

    def report(self) -> Dict[str, Any]:
        """What it holds."""
        self.write(b"report\n")
        found: Dict[str, Any] = json.loads(self.line())
        return found

    def place(self, name: str) -> Target:
        """Another endpoint of the server, by its name there."""
        parts = urlsplit(self.report()["addresses"][name])
        return Target(parts.hostname or "", parts.port or 0, parts.path)

    @staticmethod
    def beside(report: Dict[str, Any]) -> int:
        """How many of its threads are those of other endpoints than the main one."""
        return THREADS_OF_A_LISTENER * (len(report["addresses"]) - 1)

    @staticmethod
    def opened(target: Target, line: Line, fields: Sequence[str] = ()) -> str:
        """The id of a new session there."""
        answer = line.ask(target.request("POST", request(0, "initialize", INITIALIZE), None, fields))
        session = answer.field("Mcp-Session-Id")
        if answer.status != 200 or session is None:
            raise Failed("initialize was answered %d: %r" % (answer.status, answer.body[:300]))
        if line.ask(target.request("POST", INITIALIZED, session, fields)).status != 202:
            raise Failed("initialized was refused")
        return session

    def settle(self, keep: int = 0) -> Dict[str, Any]:
        """What it holds once only ``keep`` sessions are left and nothing is connected. Failed if that does not come."""
        end = time.monotonic() + SETTLE_SECONDS
        while True:
            found = self.report()
            if found["sessions"] <= keep and not found["connections"]:
                return found
            if time.monotonic() > end:
                raise Failed("after %d seconds there still are %d sessions, %d connections"
                             % (SETTLE_SECONDS, found["sessions"], found["connections"]))
            time.sleep(0.2)

    def rested(self) -> Dict[str, Any]:
        """The same when idle workers have gone, too."""
        self.settle()
        time.sleep(WORKER_SECONDS)
        return self.settle()


class Callers:
    """Clients that call `echo` all the while and check each answer, until the block is left."""

    def __init__(self, soaked: Soaked, count: int = 2, pause: float = 0.002) -> None:
        self._soaked = soaked
        self._pause = pause
        self._over = threading.Event()
        self.seconds: List[float] = []
        self.problems: List[str] = []
        self._threads = [threading.Thread(target=self._call, args=(number,)) for number in range(count)]

    def _call(self, caller: int) -> None:
        number = 0
        try:
            with self._soaked.target.line() as line:
                session = self._soaked.open(line)
                while not self._over.wait(self._pause):
                    number += 1
                    text = "caller %d call %d" % (caller, number)
                    begin = time.perf_counter()
                    answer = line.ask(self._soaked.post(echo_request(number, text), session))
                    self.seconds.append(time.perf_counter() - begin)
                    found, result = result_of(answer.message)
                    if answer.status != 200 or found != number or result["content"][0]["text"] != text:
                        raise WrongAnswer("%s was answered %r" % (text, answer))
                line.ask(self._soaked.target.request("DELETE", session=session))
        except Exception as error:
            self.problems.append("%s: %s" % (type(error).__name__, error))

    def __enter__(self) -> "Callers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        if self.problems and kind is None:
            raise Failed("a caller beside: " + "; ".join(self.problems))

    def __str__(self) -> str:
        if not self.seconds:
            return "no calls beside"
        return "%d calls beside, all right; p50 %.2f ms, slowest %.0f ms" % (
            len(self.seconds), 1e3 * statistics.median(self.seconds), 1e3 * max(self.seconds))


class Event(NamedTuple):
    """One event of a stream."""

    id: str
    data: bytes


def events(body: bytes) -> List[Event]:
    """The events that are whole."""
    found = []
    for block in body.split(b"\n\n")[:-1]:
        fields = dict(line.split(b": ", 1) for line in block.splitlines() if b": " in line and line[:1] != b":")
        found.append(Event(fields.get(b"id", b"").decode(), fields.get(b"data", b"")))
    return found


def received(sock: socket.socket, most: int, before: bytes = b"") -> bytes:
    """What a reply brings behind these bytes of it: so many at most, fewer where the reply or the connection ends."""
    data = bytearray(before)
    most += len(before)
    while len(data) < most:
        end = end_of(bytes(data))
        if end and len(data) >= end:
            break
        try:
            more = sock.recv(min(65536, most - len(data)))
        except ConnectionResetError:
            break
        if not more:
            break
        data += more
    return bytes(data[len(before):])


def cut(sock: socket.socket, chance: random.Random) -> None:
    """End a connection: in order, or by a reset."""
    if chance.random() < 0.5:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def body_of(data: bytes) -> bytes:
    """The body of a reply, as far as it has come."""
    return parts_of(data).body if b"\r\n\r\n" in data else b""
