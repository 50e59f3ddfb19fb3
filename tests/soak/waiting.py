"""Handlers that wait for an answer, in many sessions at once, while others are served."""
import collections
import contextlib
import json
import random
import selectors
import threading
import time
from types import TracebackType
from typing import Deque, Dict, List, Optional, Tuple, Type

from http_peer import INITIALIZED
from http_wire import Line, Target, end_of
from peer import CHUNK, INITIALIZE, echo_request, request, tool_request
from soaked import Callers, Failed, Soaked, body_of, events

THINKS = 2.0
"""Seconds that a person takes for an answer."""
IN_TIME = 10.0
"""Seconds within which all have got the answer to their call, if there are no more than FULL."""
FULL = 2000
SLOWEST = 5.0
"""Seconds that somebody else may wait meanwhile."""
MOST_OPEN = 200
"""Calls of one session that ask and leave; fewer questions than that may be open."""
ASKABLE = dict(INITIALIZE, capabilities={"elicitation": {}})


class Prober:
    """One who opens a session, calls, deletes it, and asks for the options, again and again."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._probe)
        self.seconds: List[float] = []
        self.problem = ""

    def _probe(self) -> None:
        try:
            while not self._over.wait(0.02):
                begin = time.perf_counter()
                with self._target.line() as line:
                    if line.ask(self._target.request("OPTIONS")).status != 204:
                        raise Failed("OPTIONS was refused")
                    session = opened(self._target, line)
                    answer = line.ask(self._target.request("POST", echo_request(1, "probe"), session))
                    if answer.status != 200 or b'"probe"' not in answer.message:
                        raise Failed("a call was answered %r" % (answer,))
                    if line.ask(self._target.request("DELETE", session=session)).status != 204:
                        raise Failed("DELETE was refused")
                self.seconds.append(time.perf_counter() - begin)
        except Exception as error:
            self.problem = "%s: %s" % (type(error).__name__, error)

    def __enter__(self) -> "Prober":
        self._thread.start()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self._over.set()
        self._thread.join()
        if kind is None and (self.problem or not self.seconds or max(self.seconds) > SLOWEST):
            raise Failed("others were not served meanwhile: %s" % (self.problem or self))

    def __str__(self) -> str:
        return "%d times options, session, call and delete beside, slowest %.2f s" % (
            len(self.seconds), max(self.seconds, default=0))


def opened(target: Target, line: Line) -> str:
    """The id of a new session of a client that can be asked."""
    answer = line.ask(target.request("POST", request(0, "initialize", ASKABLE)))
    session = answer.field("Mcp-Session-Id")
    if answer.status != 200 or session is None:
        raise Failed("initialize was answered %r" % (answer,))
    if line.ask(target.request("POST", INITIALIZED, session)).status != 202:
        raise Failed("initialized was refused")
    return session


def waiting(soaked: Soaked, count: int, chance: random.Random) -> str:
    """As many sessions are asked at once, and answer after two seconds; then one session asks far too often, and its
    client leaves."""
    place = soaked.place("patient")
    with Prober(place) as prober, Callers(soaked) as callers:
        seconds, threads = _asked(soaked, place, count)
        if count <= FULL and seconds > IN_TIME:
            raise Failed("%d answers took %.1f s" % (count, seconds))
        begin = time.monotonic()
        refused = _left(soaked, place, max(2, min(MOST_OPEN, count)))
    return "all answered in %.1f s, %d threads at most; %s, gone after %.1f s; %s; %s" % (
        seconds, threads, refused, time.monotonic() - begin, prober, callers)


def _asked(soaked: Soaked, place: Target, count: int) -> Tuple[float, int]:
    """Ask so many sessions, and answer; how long it took from the first call on, and how many threads there were."""
    threads = 0
    with contextlib.ExitStack() as stack, selectors.DefaultSelector() as selector:
        control = stack.enter_context(place.line())
        sessions = [opened(place, control) for _ in range(count)]
        begin = time.monotonic()
        got: Dict[int, bytearray] = {}
        thinking: Deque[Tuple[float, int, int]] = collections.deque()
        unasked, left = set(range(count)), set(range(count))
        for number, session in enumerate(sessions):
            line = stack.enter_context(place.line())
            line.sock.sendall(place.request("POST", tool_request(1, "ask", {}), session))
            line.sock.setblocking(False)
            selector.register(line.sock, selectors.EVENT_READ, number)
            got[number] = bytearray()
        while left:
            if time.monotonic() - begin > 9 * IN_TIME:
                raise Failed("%d of %d were not even asked, %d have no answer" % (len(unasked), count, len(left)))
            for key, _ in selector.select(0.02):
                number, data = key.data, got[key.data]
                more = key.fileobj.recv(CHUNK)  # type: ignore[union-attr]
                data += more
                if number in unasked and b"elicitation/create" in data:
                    asked = next(json.loads(event.data) for event in events(body_of(bytes(data)))
                                 if b"elicitation/create" in event.data)
                    unasked.discard(number)
                    thinking.append((time.monotonic() + THINKS, number, asked["id"]))
                end = end_of(bytes(data))
                if end and len(data) >= end:
                    if b"thanks" not in data:
                        raise Failed("a call was answered %r" % bytes(data))
                    left.discard(number)
                if not more or number not in left:
                    selector.unregister(key.fileobj)
            while thinking and thinking[0][0] <= time.monotonic():
                _, number, id = thinking.popleft()
                body = {"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {"word": "yes"}}}
                post = place.request("POST", json.dumps(body).encode(), sessions[number])
                if control.ask(post).status != 202:
                    raise Failed("an answer was refused")
                if number == count // 2:
                    threads = soaked.report()["threads"]
        seconds = time.monotonic() - begin
        for session in sessions:
            control.ask(place.request("DELETE", session=session))
    return seconds, threads


def _left(soaked: Soaked, place: Target, count: int) -> str:
    """One session calls a tool that asks, so often, and closes each connection at once. All of it ends by itself."""
    before = soaked.report()["asking"]
    with place.line() as line:
        session = opened(place, line)
        for number in range(1, count + 1):
            with place.line() as other:
                other.sock.sendall(place.request("POST", tool_request(number, "ask", {}), session))
        end = time.monotonic() + 30
        while True:
            now = soaked.report()["asking"]
            ended, refused = (now.get(name, 0) - before.get(name, 0) for name in ("ended", "refused"))
            if ended >= count:
                break
            if time.monotonic() > end:
                raise Failed("of %d calls whose client has left %d have ended, %d wait"
                             % (count, ended, now["now"]))
            time.sleep(0.1)
        line.ask(place.request("DELETE", session=session))
        if count >= MOST_OPEN and not refused:
            raise Failed("%d questions of one session were open" % count)
    return "of %d calls of one session %d were refused" % (count, refused)
