"""A server process as the benchmark sees it: two pipes, one thread, nothing between the clock and the wire.

Requests are made before the clock starts and answers are checked after it stops, so that what is timed is the server
and two system calls. Every answer is checked: the id once, the text equal. An answer that is wrong ends the benchmark
with a failure; a server that hangs is killed by a watching thread, which ends the read that waits for it.
"""
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from types import TracebackType
from typing import Any, Callable, Deque, Dict, List, NamedTuple, Optional, Sequence, Tuple, Type, TypeVar

SILENCE_SECONDS = 120.0
CLOSE_SECONDS = 10.0
CHUNK = 65536
CANNED = b'{"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "canned"}]}}'
STATELESS = "2026-07-28"
ENVELOPE = {"_meta": {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
}}
"""What each request has where there is no handshake."""
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}

_Peer = TypeVar("_Peer", bound="Peer")


class Ask(NamedTuple):
    """A kind of request: params for a text, and whether a result is the one that belongs to this text."""

    method: str
    params: Callable[[str], Dict[str, Any]]
    right: Callable[[Dict[str, Any], str], bool]
    name: str = ""


class WrongAnswer(Exception):
    """The server ended, hung, or answered something else than it was asked."""


class NotHere(Exception):
    """This machine cannot measure that."""


def echo_request(number: int, text: str, **more: Any) -> bytes:
    """The line that calls `echo`; ``more``: further members of params."""
    return tool_request(number, "echo", {"text": text}, **more)


def tool_request(number: int, name: str, arguments: Dict[str, Any], **more: Any) -> bytes:
    """The line that calls a tool."""
    return request(number, "tools/call", {"name": name, "arguments": arguments, **more})


def request(number: int, method: str, params: Dict[str, Any]) -> bytes:
    """The line of a request."""
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(message).encode() + b"\n"


def result_of(line: bytes) -> Tuple[int, Dict[str, Any]]:
    """Id and result of an answer. WrongAnswer where the line is anything else."""
    message = json.loads(line)
    if not isinstance(message, dict) or "result" not in message or not isinstance(message.get("id"), int):
        raise WrongAnswer("no result: %s" % line[:300].decode("utf-8", "replace"))
    return message["id"], message["result"]


def check(ask: Ask, lines: Sequence[bytes], wanted: Dict[int, str]) -> None:
    """Every wanted id is answered exactly once, with the result of its text. WrongAnswer otherwise."""
    missing = dict(wanted)
    for line in lines:
        number, result = result_of(line)
        text = missing.pop(number, None)
        if text is None or not ask.right(result, text):
            raise WrongAnswer("request %r: unasked, answered twice, or another result: %r" % (number, line[:300]))
    if missing:
        raise WrongAnswer("requests without an answer: %s" % sorted(missing)[:10])


class Peer:
    """A running server. Use it as a context manager; it is ended on the way out."""

    def __init__(self, command: Sequence[str], environment: Dict[str, str]) -> None:
        self._errors = tempfile.TemporaryFile()
        self.command = list(command)
        try:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=self._errors, bufsize=0, env=environment)
        except OSError as error:
            raise WrongAnswer("cannot start %s: %s" % (self.command[0], error)) from error
        assert self.process.stdin is not None and self.process.stdout is not None
        self._stdin, self._stdout = self.process.stdin, self.process.stdout
        self._in, self._out = self._stdin.fileno(), self._stdout.fileno()
        self._ids = 0
        self.more: Dict[str, Any] = {}
        """Further members of the params of each call; `ENVELOPE` where there was no handshake."""
        self._lines: Deque[bytes] = deque()
        self._rest = b""
        self._written = time.monotonic()
        self._closed = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def __enter__(self: _Peer) -> _Peer:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close(patience=CLOSE_SECONDS if kind is None else 0.1)  # one that misbehaved may be stuck in a write

    def close(self, patience: float = CLOSE_SECONDS) -> None:
        """End of file, patience in seconds, then the end."""
        self._stdin.close()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._closed.set()
        self._stdout.close()
        self._errors.close()

    def _watch(self) -> None:
        """Kill the server when we have waited for it too long; asleep otherwise."""
        left = SILENCE_SECONDS
        while not self._closed.wait(left):
            left = self._written + SILENCE_SECONDS - time.monotonic()
            if left <= 0:
                self.process.kill()
                return

    # --- bytes ---

    def write(self, data: bytes) -> None:
        """Write everything, in as few system calls as the pipe allows."""
        self._written = time.monotonic()
        try:
            written = os.write(self._in, data)
            while written < len(data):
                written += os.write(self._in, memoryview(data)[written:])
        except OSError:
            raise self._ended() from None

    def _read(self) -> bytes:
        chunk = os.read(self._out, CHUNK)
        if not chunk:
            raise self._ended()
        return chunk

    def _ended(self) -> WrongAnswer:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(CLOSE_SECONDS)
        self._errors.seek(0)
        last = self._errors.read()[-1500:].decode("utf-8", "replace").strip()
        return WrongAnswer("%s ended or hung (exit code %s)%s"
                           % (" ".join(self.command), self.process.returncode, "\n" + last if last else ""))

    def line(self) -> bytes:
        """The next line."""
        if not self._lines:
            parts = [self._rest, self._read()]
            while b"\n" not in parts[-1]:
                parts.append(self._read())
            *whole, self._rest = b"".join(parts).split(b"\n")
            self._lines.extend(whole)
        return self._lines.popleft()

    # --- requests ---

    def discover(self) -> None:
        """Ask what there is, in place of a handshake; from now on each call says what it goes by."""
        self.more = ENVELOPE
        if STATELESS not in self.ask("server/discover", ENVELOPE)["supportedVersions"]:
            raise WrongAnswer("the server does not speak %s" % STATELESS)

    def numbers(self, count: int) -> List[int]:
        """So many fresh ids."""
        first, self._ids = self._ids + 1, self._ids + count
        return list(range(first, self._ids + 1))

    def ask(self, method: str, params: Dict[str, Any]) -> Dict[str, Any]:
        """Send one request and return its result; notifications that come first are dropped."""
        number = self.numbers(1)[0]
        self.write(request(number, method, params))
        line = self.line()
        while b'"method"' in line and "id" not in json.loads(line):
            line = self.line()
        answered, result = result_of(line)
        if answered != number:
            raise WrongAnswer("asked %d, answered %d" % (number, answered))
        return result

    def greet(self) -> None:
        """Ask `initialize`."""
        if "serverInfo" not in self.ask("initialize", INITIALIZE):
            raise WrongAnswer("initialize was answered without serverInfo")

    def initialize(self) -> None:
        """Shake hands; then ping, so that whatever a server says after the handshake has been said."""
        self.greet()
        self.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        self.ask("ping", {})

    def asked(self, ask: Ask, texts: Sequence[str], window: int = 1) -> float:
        """Send one request for each text, `window` of them in flight; return the seconds that all took."""
        wanted = dict(zip(self.numbers(len(texts)), texts))
        requests = [self.framed(request(number, ask.method, {**ask.params(text), **self.more}), ask)
                    for number, text in wanted.items()]
        begin = time.perf_counter()
        replies = self.exchanged(requests, window)
        seconds = time.perf_counter() - begin
        self.checked(ask, replies, wanted)
        return seconds

    def framed(self, message: bytes, ask: Ask) -> bytes:
        """Return a request as it is sent."""
        return message

    def exchanged(self, requests: Sequence[bytes], window: int) -> List[bytes]:
        """Send the requests and return what came back.

        One thread: however many answers a read brings, as many requests go out in one write.
        """
        chunks: List[bytes] = []
        self.write(b"".join(requests[:window]))
        sent, answered = window, 0
        while answered < len(requests):
            chunks.append(self._read())
            ready = chunks[-1].count(b"\n")
            answered += ready
            if ready and sent < len(requests):
                self.write(b"".join(requests[sent:sent + ready]))
                sent += ready
        return chunks

    def checked(self, ask: Ask, replies: Sequence[bytes], wanted: Dict[int, str]) -> None:
        """Compare the answers with what was wanted."""
        check(ask, b"".join(replies).splitlines(), wanted)

    def processor_seconds(self) -> float:
        """Processor time of all threads of the process until now."""
        if not sys.platform.startswith("linux"):
            raise NotHere("processor time of another process: Linux only")
        # clock_getcpuclockid(3), which the standard library does not have: the process in the upper bits, inverted, and
        # in the lower ones that the scheduler's clock is meant.
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def status(self, row: str) -> int:
        """A row of the process's status: VmRSS is what it holds now, VmHWM the most that it has held, in bytes."""
        try:
            with open("/proc/%d/status" % self.process.pid, encoding="ascii", errors="replace") as status:
                found = next(line.split()[1:] for line in status if line.startswith(row + ":"))
        except (OSError, StopIteration) as error:
            raise NotHere("no %s in /proc/<pid>/status" % row) from error
        return int(found[0]) * (1024 if found[1:] else 1)
