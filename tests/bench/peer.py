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
from typing import Any, Deque, Dict, List, Optional, Sequence, Tuple, Type, TypeVar

from machine import on_core

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


def check_texts(lines: Sequence[bytes], wanted: Dict[int, str]) -> None:
    """Every wanted id is answered exactly once, with its text. WrongAnswer otherwise."""
    missing = dict(wanted)
    for line in lines:
        number, result = result_of(line)
        text = missing.pop(number, None)
        content = result.get("content") or [{}]
        if text is None or result.get("isError") or content[0].get("text") != text:
            raise WrongAnswer("call %r: unasked, answered twice, or not its text: %r" % (number, line[:300]))
    if missing:
        raise WrongAnswer("calls without an answer: %s" % sorted(missing)[:10])


class Peer:
    """A running server. Use it as a context manager; it is ended on the way out.

    `core` pins it (all its threads) to one core.
    """

    def __init__(self, command: Sequence[str], environment: Dict[str, str], core: Optional[int] = None) -> None:
        self._errors = tempfile.TemporaryFile()
        self.command = list(command)
        with on_core(core):
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
        self.ping()

    def ping(self) -> float:
        """Seconds that a ping takes."""
        begin = time.perf_counter()
        if self.ask("ping", {}):
            raise WrongAnswer("ping was answered with more than {}")
        return time.perf_counter() - begin

    def ping_behind(self, name: str, arguments: Dict[str, Any], text: str) -> float:
        """Seconds that a ping takes which is sent 20 ms after a tool was called, whichever is answered first."""
        call, ping = self.numbers(2)
        self.write(tool_request(call, name, arguments))
        time.sleep(0.02)  # the tool runs now
        begin = time.perf_counter()
        self.write(request(ping, "ping", {}))
        lines = [self.line()]
        seconds = time.perf_counter() - begin
        lines.append(self.line())
        if result_of(lines[0])[0] != ping:
            lines.reverse()
            seconds = time.perf_counter() - begin
        if result_of(lines[0]) != (ping, {}):
            raise WrongAnswer("ping was answered with %r" % lines[0][:300])
        check_texts(lines[1:], {call: text})
        return seconds

    def echoes(self, texts: Sequence[str]) -> List[float]:
        """Call `echo` with one text after the other and return the seconds that each took."""
        wanted = dict(zip(self.numbers(len(texts)), texts))
        requests = [echo_request(number, text, **self.more) for number, text in wanted.items()]
        seconds: List[float] = []
        answers: List[bytes] = []
        clock = time.perf_counter
        for data in requests:
            begin = clock()
            self.write(data)
            parts = [self._read()]
            while parts[-1][-1] != 10:
                parts.append(self._read())
            seconds.append(clock() - begin)
            answers += parts
        check_texts(b"".join(answers).splitlines(), wanted)
        return seconds

    def echoes_in_flight(self, texts: Sequence[str], window: int) -> float:
        """Call `echo`, `window` calls outstanding at any time until the texts run out; return the seconds it took.

        One thread: whatever number of answers a read brings, so many requests go out in one write.
        """
        wanted = dict(zip(self.numbers(len(texts)), texts))
        requests = [echo_request(number, text, **self.more) for number, text in wanted.items()]
        chunks: List[bytes] = []
        begin = time.perf_counter()
        self.write(b"".join(requests[:window]))
        sent, answered = window, 0
        while answered < len(requests):
            chunks.append(self._read())
            ready = chunks[-1].count(b"\n")
            answered += ready
            if ready and sent < len(requests):
                self.write(b"".join(requests[sent:sent + ready]))
                sent += ready
        seconds = time.perf_counter() - begin
        check_texts(b"".join(chunks).splitlines(), wanted)
        return seconds

    def rounds(self, name: str, answer: Dict[str, Any], wanted: str, count: int) -> float:
        """Seconds of a call that is asked back until it has had so many rounds; each question gets this answer.

        What stands between an answer and the next request is not counted.
        """
        more, seconds = self.more, 0.0
        for number in self.numbers(count):
            data = tool_request(number, name, {}, **more)
            begin = time.perf_counter()
            self.write(data)
            line = self.line()
            seconds += time.perf_counter() - begin
            result = result_of(line)[1]
            asked = result.get("inputRequests", {})
            more = {**self.more, "inputResponses": dict.fromkeys(asked, answer)}
            more["requestState"] = result.get("requestState")
        if asked:
            raise WrongAnswer("%s has asked more often than %d times" % (name, count - 1))
        check_texts([line], {number: wanted})
        return seconds

    def burst(self, calls: Sequence[Tuple[str, Dict[str, Any], str]]) -> List[float]:
        """Write all calls (tool, arguments, wanted text) at once; return the seconds until each had its answer."""
        numbers = self.numbers(len(calls))
        wanted = {number: text for number, (_, _, text) in zip(numbers, calls)}
        data = b"".join(tool_request(number, name, arguments)
                        for number, (name, arguments, _) in zip(numbers, calls))
        arrivals = []
        begin = time.perf_counter()
        self.write(data)
        for _ in calls:
            line = self.line()
            arrivals.append((time.perf_counter() - begin, line))
        check_texts([line for _, line in arrivals], wanted)
        at = {result_of(line)[0]: seconds for seconds, line in arrivals}
        return [at[number] for number in numbers]

    def processor_seconds(self) -> float:
        """Processor time of all threads of the process until now."""
        if not sys.platform.startswith("linux"):
            raise NotHere("processor time of another process: Linux only")
        # clock_getcpuclockid(3), which the standard library does not have: the process in the upper bits, inverted, and
        # in the lower ones that the scheduler's clock is meant.
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def memory(self, row: str) -> int:
        """Bytes of one row of the process's status: VmRSS is what it holds now, VmHWM the most that it has held."""
        try:
            with open("/proc/%d/status" % self.process.pid, encoding="ascii", errors="replace") as status:
                return next(int(line.split()[1]) * 1024 for line in status if line.startswith(row + ":"))
        except (OSError, StopIteration) as error:
            raise NotHere("no %s in /proc/<pid>/status" % row) from error
