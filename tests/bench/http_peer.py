"""An HTTP server in a process of its own, as the benchmark sees it; see `peer` for the process and for the checks."""
import contextlib
import json
import socket
import time
from typing import Dict, Iterator, List, Optional, Sequence
from urllib.parse import urlsplit

from http_wire import Answer, Line, Target, parts_of, together
from peer import CANNED, ENVELOPE, INITIALIZE, STATELESS, Ask, Peer, WrongAnswer, check, request

VERSION = "MCP-Protocol-Version: " + INITIALIZE["protocolVersion"]
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


def fields(method: str, name: str = "") -> List[str]:
    """Header fields of a request that stands alone."""
    made = ["MCP-Protocol-Version: " + STATELESS, "Mcp-Method: " + method]
    return made + ["Mcp-Name: " + name] if name else made


class HttpPeer(Peer):
    """A running HTTP server: it says its URL in its first line, and ends with its standard input."""

    def __init__(self, command: Sequence[str], environment: Dict[str, str]) -> None:
        super().__init__(command, environment)
        self.url = self.line().decode()
        parts = urlsplit(self.url)
        self.target = Target(parts.hostname or "", parts.port or 0, parts.path, parts.scheme == "https")
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
        self.fields = [] if self.session else [VERSION]

    def discover(self) -> None:
        """The calls belong to no session; they carry what there is to know."""
        self.more = ENVELOPE

    def post(self, message: bytes, session: Optional[str], fields: Sequence[str] = ()) -> bytes:
        """A whole request with this message."""
        return self.target.request("POST", message, session, fields)

    def used_sessions(self, ask: Ask, texts: Sequence[str]) -> float:
        """Seconds to open, use once and delete a session for each text, one after the other."""
        self._written = time.monotonic()
        wanted = dict(zip(self.numbers(len(texts)), texts))
        replies = []
        begin = time.perf_counter()
        with self.target.line() as line:
            for number, text in wanted.items():
                session = self.open(line)
                replies.append(line.raw(self.post(request(number, ask.method, ask.params(text)), session)))
                self._expect(line.ask(self.target.request("DELETE", session=session)), 200, 204)
        seconds = time.perf_counter() - begin
        self.checked(ask, replies, wanted)
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

    # --- requests ---

    def framed(self, message: bytes, ask: Ask) -> bytes:
        """Return a request as it is sent."""
        return self.post(message, self.session, fields(ask.method, ask.name) if self.more else self.fields)

    def exchanged(self, requests: Sequence[bytes], window: int) -> List[bytes]:
        """Send the requests over `window` connections and return the replies."""
        self._written = time.monotonic()
        with contextlib.ExitStack() as stack:
            lines = [stack.enter_context(self.target.line()) for _ in range(window)]
            return [lines[0].raw(request) for request in requests] if window == 1 else together(lines, requests)

    def checked(self, ask: Ask, replies: Sequence[bytes], wanted: Dict[int, str]) -> None:
        """Compare the answers with what was wanted, or with the canned one."""
        answers = [parts_of(reply) for reply in replies]
        for answer in answers:
            self._expect(answer, 200)
        if not self.canned:
            check(ask, [answer.message for answer in answers], wanted)
        elif [answer.body for answer in answers] != [CANNED] * len(wanted):
            raise WrongAnswer("another answer than the canned one, or too few")

    @staticmethod
    def _expect(answer: Answer, *status: int) -> None:
        if answer.status not in status:
            raise WrongAnswer("status %d: %r" % (answer.status, answer.body[:300]))
