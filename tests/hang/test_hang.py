"""Nothing hangs: each row is a scenario on one transport, ends by itself, and says what every caller got.

A row uses public names only, or the wire. A server or client that is torn down is a process of its own
(`program.py`); it holds a lock on a file, as do the children and the forked copies that it starts, so `nobody_left`
sees that all of them have ended. What this process itself has opened is watched by ``tests/conftest.py``.

``python tests/hang/run.py --rounds 100`` repeats each row, on one core that busy loops share.
"""
import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
from typing import Any, Dict, Iterator, List, Tuple
from urllib.parse import urlsplit

import pytest

from mcp_ref import Host, McpError, connect
from mcp_ref.client import Sampling
from mcp_ref.errors import AnswerLost, ConnectFailed, ConnectionLost, HttpStatus, PeerError, RequestTimeout
from tests.support.children import heed_interrupts, interrupt
from tests.support.patience import WAIT
from tests.support.sides import eventually

fcntl = pytest.importorskip("fcntl", reason="NOT RUN: no file locks of POSIX here")

from tests.hang import program  # noqa: E402

pytestmark = [pytest.mark.race, pytest.mark.skipif(os.name != "posix", reason="NOT RUN: signals and forks of POSIX")]
PROGRAM = str(pathlib.Path(program.__file__))
LOST = (ConnectionLost, AnswerLost, ConnectFailed, HttpStatus)
"""What a caller may get whose server has ended: over HTTP each request has a connection of its own."""
SERVED = ["stdio", "tcp", "http"]
ALL = ["stdio", "unix", "http", "memory"]


class Started:
    """A program that serves or calls, and what it has said."""

    def __init__(self, alive: str, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, PROGRAM, alive, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, preexec_fn=heed_interrupts)
        self.lines: List[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stderr:
            self.lines.append(line.decode().rstrip())

    def address(self) -> str:
        """Wait for the address that it listens on."""
        return self.process.stdout.readline().decode().strip()

    def said(self, start: str) -> str:
        """Wait for a line that starts so."""
        eventually(lambda: [line for line in self.lines if line.startswith(start)] or not self._reader.is_alive())
        found = [line for line in self.lines if line.startswith(start)]
        assert found, self.lines
        return found[0][len(start):].strip()

    def over(self) -> int:
        """Wait for its end, and return its exit code."""
        code = self.process.wait(WAIT)
        self._reader.join(WAIT)
        return code

    def close(self) -> None:
        """End it whatever it does."""
        self.process.kill()
        self.process.wait()
        self._reader.join(WAIT)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError):
                stream.close()


class Row:
    """What each row has: the file ALIVE, and the programs that it starts."""

    def __init__(self, alive: str, stack: contextlib.ExitStack) -> None:
        self.alive = alive
        self.stack = stack

    def start(self, *words: str) -> Started:
        """Start a program."""
        return self.stack.enter_context(contextlib.closing(Started(self.alive, *words)))

    def command(self) -> List[str]:
        """Return the command of a server on stdio."""
        return [sys.executable, PROGRAM, self.alive, "serve", "stdio"]

    def client(self, where: str, **options: Any) -> Tuple[Any, Any]:
        """Return a client of a server on this transport, and the server's program where the test has started it."""
        served = self.start("serve", where) if where not in ("stdio", "memory") else None
        target = {"stdio": self.command(), "memory": program.made()}.get(where) or served.address()
        return self.stack.enter_context(connect(target, limits=program.LIMITS, era="legacy", **options)), served

    def nobody_left(self) -> None:
        """Wait until every process that holds ALIVE has ended."""
        file = os.open(self.alive, os.O_RDWR)
        try:
            eventually(lambda: _locked(file))
        finally:
            os.close(file)


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@pytest.fixture
def row(tmp_path: pathlib.Path) -> Iterator[Row]:
    (tmp_path / "a").touch()
    with contextlib.ExitStack() as stack:
        made = Row(str(tmp_path / "a"), stack)
        yield made
        stack.close()
        made.nobody_left()


class Calls:
    """Calls on threads of their own, and what each of them got."""

    def __init__(self) -> None:
        self.began = threading.Semaphore(0)
        self.got: Dict[int, Any] = {}
        self._threads: List[threading.Thread] = []

    def add(self, client: Any, name: str, arguments: Any = None, timeout: Any = None) -> None:
        """Call a tool."""
        number = len(self._threads)
        self._threads.append(threading.Thread(target=self._call, args=(number, client, name, arguments, timeout)))
        self._threads[-1].start()

    def _call(self, number: int, client: Any, name: str, arguments: Any, timeout: Any) -> None:
        try:
            self.got[number] = client.call_tool(name, arguments, timeout=timeout, progress=self._progress).text
        except McpError as error:
            self.got[number] = error

    def _progress(self, *given: Any) -> None:
        self.began.release()

    def begun(self, count: int) -> None:
        """Wait until this many handlers have said that they run."""
        for _ in range(count):
            assert self.began.acquire(timeout=WAIT)

    def outcomes(self) -> List[Any]:
        """Wait for all; what each got, in their order."""
        for thread in self._threads:
            thread.join(WAIT)
        assert len(self.got) == len(self._threads), "%d still wait" % (len(self._threads) - len(self.got))
        return [self.got[number] for number in range(len(self._threads))]


class Wire:
    """A client that writes and reads lines, or HTTP by hand, when the row wants it."""

    def __init__(self, row: Row, where: str) -> None:
        self.http = where == "http"
        self.program = row.start("serve", where)
        self.session: Dict[str, str] = {}
        if where == "stdio":
            self.reading, self.writing = self.program.process.stdout, self.program.process.stdin
        else:
            self.address = self.program.address()
            self.socket = self._connected(row)
            self.reading = row.stack.enter_context(self.socket.makefile("rb"))
            self.writing = row.stack.enter_context(self.socket.makefile("wb", buffering=0))
        opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "w", "version": "0"}}
        if self.http:
            self.session = {"MCP-Protocol-Version": "2025-11-25"}
            answer = self._exchange(self._message(0, "initialize", opening))
            self.session["Mcp-Session-Id"] = answer.getheader("Mcp-Session-Id")
            self._exchange(self._message(None, "notifications/initialized"))
        else:
            self.send(0, "initialize", opening)
            assert self.receive()["id"] == 0
            self.send(None, "notifications/initialized")

    def _connected(self, row: Row) -> socket.socket:
        there = urlsplit(self.address)
        unix = there.scheme == "unix"
        made = row.stack.enter_context(socket.socket(socket.AF_UNIX if unix else socket.AF_INET))
        made.settimeout(WAIT)
        made.connect(there.path if unix else (there.hostname, there.port))
        return made

    def _message(self, id: Any, method: str, params: Any = None) -> bytes:
        message = {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {}),
                   **({} if id is None else {"id": id})}
        return json.dumps(message).encode()

    def _exchange(self, body: bytes) -> Any:
        there = urlsplit(self.address)
        with contextlib.closing(http.client.HTTPConnection(there.hostname, there.port, timeout=WAIT)) as connection:
            connection.request("POST", there.path, body, self._headers())
            answer = connection.getresponse()
            answer.read()
            assert answer.status in (200, 202), answer.status
            return answer

    def _headers(self) -> Dict[str, str]:
        return {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **self.session}

    def send(self, id: Any, method: str, params: Any = None) -> None:
        """Send a message: a line, or a POST on the connection of this client."""
        body = self._message(id, method, params)
        if self.http:
            fields = {**self._headers(), "Host": urlsplit(self.address).netloc, "Content-Length": len(body)}
            head = "".join("%s: %s\r\n" % field for field in fields.items())
            self.writing.write(("POST /mcp HTTP/1.1\r\n%s\r\n" % head).encode() + body)
        else:
            self.writing.write(body + b"\n")
            self.writing.flush()

    def call(self, id: Any, name: str, token: Any = None, **arguments: Any) -> None:
        """Call a tool."""
        meta = {} if token is None else {"_meta": {"progressToken": token}}
        self.send(id, "tools/call", {"name": name, "arguments": arguments, **meta})

    def receive(self) -> Any:
        """Return the next message; None at the end."""
        line = self.reading.readline()
        while self.http and line and not line.startswith(b"data: {"):
            line = self.reading.readline()
        return json.loads(line[6 if self.http else 0:]) if line else None

    def leave(self) -> None:
        """Close our end."""
        if self.program.process.stdin is self.writing:
            self.writing.close()
        else:
            self.socket.close()
            self.reading.close()
            self.writing.close()


def end(served: Started) -> None:
    """Tell a program that serves others to end; it does, by SIGTERM or at the end of its input."""
    if served.process.poll() is None:
        served.process.stdin.close()
        if "unix" not in served.process.args and "tcp" not in served.process.args:
            served.process.send_signal(signal.SIGTERM)
    assert served.over() == 0, served.lines


# --- Nested questions, and both sides writing -------------------------------------------------------------------------

DEPTH = 3


@pytest.mark.parametrize("where", ALL)
def test_nested_questions(row: Row, where: str, request: pytest.FixtureRequest) -> None:
    """200 chains at once; without ``--repeat`` fewer where that takes two seconds."""
    chains = 200 if where == "stdio" or request.config.getoption("repeat") > 1 else 25

    def answer(params: Any, context: Any) -> str:
        return client.call_tool("deep", {"depth": int(params.messages[0].content.text)}).text

    client, served = row.client(where, sampling=Sampling(answer, model="none"))
    calls = Calls()
    for _ in range(chains):
        calls.add(client, "deep", {"depth": DEPTH})
    assert calls.outcomes() == ["3 2 1 0"] * chains
    client.close()
    if served:
        end(served)


@pytest.mark.parametrize("where", ALL)
def test_both_sides_write_more_than_the_pipes_hold(row: Row, where: str) -> None:
    client, served = row.client(where)
    calls, texts = Calls(), [chr(ord("a") + number) * 200_000 for number in range(12)]
    for text in texts:
        calls.add(client, "echo", {"text": text})
    assert calls.outcomes() == texts
    client.close()
    if served:
        end(served)


# --- A peer that stops reading ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("told", ["client leaves", "SIGTERM"])
@pytest.mark.parametrize("where", SERVED)
def test_a_client_that_does_not_read(row: Row, where: str, told: str) -> None:
    wire = Wire(row, where)
    for id in range(1, 2 if where == "http" else 21):
        wire.call(id, "big", size=500_000 if where != "http" else 12_000_000)
    if where != "stdio":
        with connect(wire.address, era="legacy") as other:  # one peer is never everybody
            assert other.call_tool("echo", {"text": "still here"}).text == "still here"
    if told == "SIGTERM":
        wire.program.process.send_signal(signal.SIGTERM)
        assert wire.program.over() == (-signal.SIGTERM if where in ("tcp", "unix") else 0), wire.program.lines
    wire.leave()
    end(wire.program) if told != "SIGTERM" else None


@pytest.mark.parametrize("where", SERVED)
def test_a_server_that_does_not_read(row: Row, where: str) -> None:
    """It is stopped as by Ctrl-Z: the pipe fills, callers time out, and closing ends it where it is our child."""
    started = row.start("serve", where) if where != "stdio" else None
    host = row.stack.enter_context(contextlib.closing(Host(limits=program.LIMITS)))
    client = host.connect("server", started.address() if started else row.command(), era="legacy")
    pid = started.process.pid if started else _child()
    os.kill(pid, signal.SIGSTOP)
    calls = Calls()
    for _ in range(8):
        calls.add(client, "echo", {"text": "x" * 100_000}, timeout=0.3)
    assert {type(outcome) for outcome in calls.outcomes()} == {RequestTimeout}
    host.close()
    if started:
        os.kill(pid, signal.SIGCONT)
        end(started)


def _child() -> int:
    """Return the id of the one child of this process."""
    pid, = (int(name) for name in os.listdir("/proc") if name.isdigit() and _parent(name) == os.getpid())
    return pid


def _parent(pid: str) -> int:
    with contextlib.suppress(OSError), open("/proc/%s/stat" % pid, "rb") as stat:
        return int(stat.read().rpartition(b")")[2].split()[1])
    return 0


# --- The end of the input, and of the peer, while handlers run --------------------------------------------------------

@pytest.mark.parametrize("where", SERVED)
def test_the_client_ends_while_handlers_run(row: Row, where: str) -> None:
    wire = Wire(row, where)
    for id, name in enumerate(["stuck"] if where == "http" else ["stuck", "wait"] * 4, 1):
        wire.call(id, name, token=id)
        assert wire.receive()["method"] == "notifications/progress"
    wire.leave()
    if where == "stdio":
        assert not [line for line in wire.reading if "error" in json.loads(line)]
    end(wire.program)


@pytest.mark.parametrize("where", SERVED)
def test_the_server_dies_while_handlers_run(row: Row, where: str) -> None:
    """Both sides have some that run: the server's tools, and the client's answer to a question of a tool."""
    asked, let_go = threading.Semaphore(0), threading.Event()

    def answer(params: Any, context: Any) -> str:
        asked.release()
        let_go.wait(WAIT) if where == "http" else context.cancelled.wait(WAIT)
        return "late"

    client, served = row.client(where, sampling=Sampling(answer, model="none"))
    pid = served.process.pid if served else _child()
    calls = Calls()
    for name in ("wait", "stuck", "asks") * 3:
        calls.add(client, name)
    calls.begun(9)
    for _ in range(3):
        assert asked.acquire(timeout=WAIT)
    os.kill(pid, signal.SIGKILL)
    if where == "http":  # the client asks for the rest of its streams as long as callers wait; they do so without limit
        let_go.set()
        client.close()
    assert all(isinstance(outcome, LOST) for outcome in calls.outcomes()), calls.got
    client.close()


# --- Forks ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("where", ALL)
def test_a_fork_in_a_handler(row: Row, where: str) -> None:
    """The copy returns from the handler, too, and ends there, without a word to the peer."""
    caller = row.start("call", where, "fork")
    assert caller.said("outcomes:") == ", ".join(["the copy ended with 0"] * 3)
    assert caller.over() == 0, caller.lines


# --- Ctrl-C and the end of the interpreter ----------------------------------------------------------------------------

@pytest.mark.parametrize("where", SERVED)
def test_a_server_that_is_interrupted(row: Row, where: str) -> None:
    client, served = row.client(where)
    calls = Calls()
    for name in ("wait", "stuck") * 4:
        calls.add(client, name)
    calls.begun(8)
    if served:
        interrupt(served.process)
    else:
        os.kill(_child(), signal.SIGINT)
    if served:
        assert served.over() == 130, served.lines
    if where == "http":
        client.close()
    assert all(isinstance(outcome, (PeerError, *LOST)) for outcome in calls.outcomes()), calls.got
    client.close()


@pytest.mark.parametrize("where", SERVED[1:])
def test_a_server_whose_main_thread_returns(row: Row, where: str) -> None:
    served = row.start("leave", where)
    client = row.stack.enter_context(connect(served.address(), era="legacy", limits=program.LIMITS))
    calls = Calls()
    for name in ("wait", "stuck") * 4:
        calls.add(client, name)
    calls.begun(8)
    served.process.stdin.close()
    assert served.over() == 0, served.lines
    if where == "http":
        client.close()
    assert all(isinstance(outcome, (PeerError, *LOST)) for outcome in calls.outcomes()), calls.got
    client.close()


WAYS = {"return": 0, "exit": 3, "_exit": 4, "interrupt": 130, "killed": -signal.SIGKILL}


@pytest.mark.parametrize("where, how", [
    *(("stdio", how) for how in WAYS), ("tcp", "interrupt"), ("http", "return"), ("http", "interrupt"),
    ("memory", "return"), ("memory", "interrupt")])
def test_a_client_that_ends_with_calls_in_flight(row: Row, where: str, how: str) -> None:
    caller = row.start("call", where, how)
    caller.said("begun")
    if how == "interrupt":
        interrupt(caller.process)
    elif how == "killed":
        caller.process.kill()
    code = caller.over()
    if how in ("exit", "interrupt"):
        assert caller.said("outcomes:") == "ConnectionLost"
    assert code == WAYS[how] or how == "interrupt" and code == -signal.SIGINT, (code, caller.lines)
