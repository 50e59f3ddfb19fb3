"""An HTTP server in a process of its own, as the benchmark sees it; see `peer` for the process and for the checks."""
import contextlib
import json
import socket
import time
from typing import Dict, Iterator, List, Optional, Sequence, Tuple
from urllib.parse import urlsplit

from http_wire import Answer, Line, Target, parts_of, together
from peer import (
    CANNED, ENVELOPE, INITIALIZE, STATELESS, NotHere, Peer, WrongAnswer, check_texts, echo_request, request,
)

INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


def fields(method: str, name: str = "") -> List[str]:
    """Header fields of a request that stands alone."""
    made = ["MCP-Protocol-Version: " + STATELESS, "Mcp-Method: " + method]
    return made + ["Mcp-Name: " + name] if name else made


class HttpPeer(Peer):
    """A running HTTP server: it says its URL in its first line, and ends with its standard input."""

    def __init__(self, command: Sequence[str], environment: Dict[str, str], core: Optional[int] = None) -> None:
        super().__init__(command, environment, core)
        self.url = self.line().decode()
        parts = urlsplit(self.url)
        self.target = Target(parts.hostname or "", parts.port or 0, parts.path)
        self.canned = parts.path == "/canned"
        self.session: Optional[str] = None
        self.fields: Sequence[str] = ()

    # --- sessions ---

    def open(self, line: Line) -> Optional[str]:
        """Shake hands; the id of the session, None where the server has none."""
        answer = line.ask(self.post(request(0, "initialize", INITIALIZE), None))
        self._expect(answer, 200)
        if not self.canned and "serverInfo" not in json.loads(answer.message)["result"]:
            raise WrongAnswer("initialize was answered without serverInfo")
        session = answer.field("Mcp-Session-Id")
        self._expect(line.ask(self.post(INITIALIZED, session)), 200 if self.canned else 202)
        return session

    def initialize(self) -> None:
        """The session that the calls belong to."""
        with self.target.line() as line:
            self.session = self.open(line)

    def discover(self) -> None:
        """The calls belong to no session; they carry what there is to know."""
        self.more, self.fields = ENVELOPE, fields("tools/call", "echo")

    def post(self, message: bytes, session: Optional[str], fields: Sequence[str] = ()) -> bytes:
        """A whole request with this message."""
        return self.target.request("POST", message, session, fields)

    def used_sessions(self, count: int) -> float:
        """Seconds that it takes to open, use once and delete so many sessions, one after the other."""
        self._written = time.monotonic()
        replies: Dict[int, bytes] = {}
        begin = time.perf_counter()
        with self.target.line() as line:
            for number in range(1, count + 1):
                session = self.open(line)
                replies[number] = line.raw(self.post(echo_request(number, "call"), session))
                self._expect(line.ask(self.target.request("DELETE", session=session)), 200, 204)
        seconds = time.perf_counter() - begin
        self._check(list(replies.values()), dict.fromkeys(replies, "call"))
        return seconds

    @contextlib.contextmanager
    def streams(self, count: int) -> Iterator[None]:
        """So many sessions, each with an open stream."""
        opened: List[socket.socket] = []
        try:
            with self.target.line() as line:
                for _ in range(count):
                    opened.append(self.target.stream(self.open(line)))
            yield
        finally:
            for sock in opened:
                sock.close()

    @contextlib.contextmanager
    def listeners(self, count: int) -> Iterator[None]:
        """So many open streams of `subscriptions/listen`."""
        opened: List[socket.socket] = []
        wanted = {**ENVELOPE, "notifications": {"toolsListChanged": True}}
        try:
            for number in range(1, count + 1):
                message = request(number, "subscriptions/listen", wanted)
                opened.append(self.target.streamed(self.post(message, None, fields("subscriptions/listen"))))
            yield
        finally:
            for sock in opened:
                sock.close()

    # --- calls ---

    def echoes(self, texts: Sequence[str]) -> List[float]:
        """As with `Peer`, on one connection."""
        wanted, requests = self._calls(texts)
        seconds: List[float] = []
        replies: List[bytes] = []
        clock = time.perf_counter
        with self.target.line() as line:
            for data in requests:
                begin = clock()
                reply = line.raw(data)
                seconds.append(clock() - begin)
                replies.append(reply)
        self._check(replies, wanted)
        return seconds

    def echoes_in_flight(self, texts: Sequence[str], window: int) -> float:
        """As with `Peer`; as many connections as the window is wide."""
        wanted, requests = self._calls(texts)
        with contextlib.ExitStack() as stack:
            lines = [stack.enter_context(self.target.line()) for _ in range(window)]
            begin = time.perf_counter()
            replies = together(lines, requests)
            seconds = time.perf_counter() - begin
        self._check(replies, wanted)
        return seconds

    def _calls(self, texts: Sequence[str]) -> Tuple[Dict[int, str], List[bytes]]:
        self._written = time.monotonic()
        wanted = dict(zip(self.numbers(len(texts)), texts))
        return wanted, [self.post(echo_request(number, text, **self.more), self.session, self.fields)
                        for number, text in wanted.items()]

    def _check(self, replies: Sequence[bytes], wanted: Dict[int, str]) -> None:
        answers = [parts_of(reply) for reply in replies]
        for answer in answers:
            self._expect(answer, 200)
        if not self.canned:
            check_texts([answer.message for answer in answers], wanted)
        elif [answer.body for answer in answers] != [CANNED] * len(wanted):
            raise WrongAnswer("another answer than the canned one, or too few")

    @staticmethod
    def _expect(answer: Answer, *status: int) -> None:
        if answer.status not in status:
            raise WrongAnswer("status %d: %r" % (answer.status, answer.body[:300]))

    # --- what it costs ---

    def threads(self) -> int:
        """Threads of the process."""
        try:
            with open("/proc/%d/status" % self.process.pid, encoding="ascii", errors="replace") as status:
                return next(int(line.split()[1]) for line in status if line.startswith("Threads:"))
        except (OSError, StopIteration) as error:
            raise NotHere("no Threads in /proc/<pid>/status") from error
