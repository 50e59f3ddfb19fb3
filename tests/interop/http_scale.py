"""Several processes behind a balancer, with sessions that they share and none that sticks; `make interop` runs them.

 - `nginx-gunicorn-sync`: nginx, and gunicorn with four workers of one thread each: who asks the user can never be the
   one that gets the answer
 - `nginx-gunicorn-threads`: the same with four workers of eight threads, of which one after the other is killed
 - `workers`: `run FILE --workers 4`, likewise
 - `nginx-edges`: what nginx must not do: hold streams back, close connections, or let a body through that is too large
 - the others each once with sessions in a store, and once in the era that has none

A thousand calls from several clients at once, every fourth of which asks the user. Each is answered, and rightly, or
fails because it was in flight when its worker was killed; then it is repeated. No session is lost.
"""
import contextlib
import functools
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from string import Template
from typing import Any, Callable, Dict, Iterator, List, Set, Tuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE), str(HERE.parent / "tools")]

import peers  # noqa: E402
from environments import environment, recent_python  # noqa: E402
from http_shells import JSON, PINS, SECONDS, call  # noqa: E402
from http_walks import free_port  # noqa: E402
from mcp_ref import Limits, connect  # noqa: E402
from mcp_ref.errors import McpError  # noqa: E402
from official_walk import expect, report  # noqa: E402
from tests.support.patience import WAIT, patience  # noqa: E402
from wsgi_module import KEYS  # noqa: E402

CALLS = 1000
KILL_AT = (200, 400, 600, 800)
LOST = 5.0
"""Seconds until a call counts as lost, on an idle machine."""
LIMITS = Limits(max_elicitations_per_second=1e6, http_keep_alive=0.0)
"""No connection is used twice, so that each request comes to any worker."""
ERAS = {"legacy": "store", "modern": "none"}
"""Era, and the sessions that the server is given for it."""


@contextlib.contextmanager
def process(command: List[str], sign: bytes, **variables: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A server that runs for the while; it is ready when its log says ``sign``."""
    settings = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", PYTHONUNBUFFERED="1", **variables)
    started = subprocess.Popen(command, cwd=str(HERE), env=settings, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    output = started.stdout
    assert output is not None
    lines: List[bytes] = []
    ready = threading.Event()

    def read() -> None:
        for line in output:
            lines.append(line)
            if re.search(sign, line):
                ready.set()
        ready.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        expect(ready.wait(SECONDS) and started.poll() is None, "it did not start", command, b"".join(lines))
        started.said = b"".join(lines)  # type: ignore[attr-defined]
        yield started
    finally:
        started.terminate()
        started.wait(SECONDS)
        reader.join(SECONDS)
        output.close()
        faults = [line.decode("utf-8", "replace") for line in lines if b"Traceback" in line]
        expect(not faults, "it raised", b"".join(lines).decode("utf-8", "replace"))


@contextlib.contextmanager
def nginx(folder: str) -> Iterator[str]:
    """nginx before the socket in this folder; the URL."""
    port = free_port()
    conf = pathlib.Path(folder, "nginx.conf")
    text = (HERE / "nginx.conf").read_text(encoding="utf-8")
    text = text.replace("$", "$$").replace("$${", "${")  # any other is nginx's own
    conf.write_text(Template(text).substitute(folder=folder, port=port))
    started = subprocess.Popen([peers.nginx(), "-p", folder, "-e", "stderr", "-c", str(conf)], stdin=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + SECONDS
        while True:
            try:
                probe = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
                probe.request("HEAD", "/mcp")
                probe.getresponse().read()
                probe.close()
                break
            except OSError:
                expect(started.poll() is None and time.monotonic() < end, "nginx did not start")
                time.sleep(0.02)
        yield "http://127.0.0.1:%d/mcp" % port
    finally:
        started.terminate()
        started.wait(SECONDS)


@contextlib.contextmanager
def gunicorn(options: List[str], sessions: str) -> Iterator[str]:
    """nginx before gunicorn with four workers; the URL."""
    python = environment(peers.PEERS / "wsgi", PINS, recent_python(peers.PYTHON_FLOOR))
    with tempfile.TemporaryDirectory() as folder:
        command = [python, "-m", "gunicorn", "--bind", "unix:%s/mcp.sock" % folder, "--workers", "4", *options,
                   "wsgi_module:application"]
        with process(command, rb"Booting worker", MCP_SESSIONS=sessions, MCP_STORE=folder + "/sessions.db",
                     MCP_REF_STATE_KEYS=KEYS), nginx(folder) as url:
            yield url


@contextlib.contextmanager
def workers(sessions: str) -> Iterator[str]:
    """Our own four workers; the URL."""
    command = [sys.executable, "-m", "mcp_ref", "run", str(HERE / "wsgi_module.py"), "--http", "127.0.0.1:0",
               "--workers", "4", *(["--stateless"] if sessions == "none" else [])]
    with process(command, rb"serving on ", PYTHONPATH=str(ROOT), MCP_SESSIONS="none") as started:
        yield started.said.decode().split("serving on ")[1].split()[0]  # type: ignore[attr-defined]


class Load:
    """Clients that share a number of calls, and who kills the workers meanwhile."""

    def __init__(self, url: str, era: str, clients: int, kills: Tuple[int, ...]) -> None:
        self.url, self.era, self.clients = url, era, clients
        self.kills = list(kills)
        self.lock = threading.Lock()
        self.begun = self.asked = self.crossed = 0
        self.pids: Set[int] = set()
        self.killed: List[int] = []
        self.lost: List[str] = []
        self.faults: List[BaseException] = []

    def run(self) -> None:
        """All of it."""
        threads = [threading.Thread(target=self._client, args=(number,)) for number in range(self.clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.faults:
            raise self.faults[0]

    def _client(self, number: int) -> None:
        try:
            with connect(self.url, elicitation=lambda *asked: {"name": "client %d" % number}, era=self.era,
                         limits=LIMITS) as client:
                before = client.connection
                while True:
                    with self.lock:
                        self.begun += 1
                        turn = self.begun
                        if turn > CALLS:
                            break
                    self._call(client, number, turn)
                expect(client.connection is before, "the session was lost")
        except BaseException as error:
            self.faults.append(error)

    def _call(self, client: Any, number: int, turn: int) -> None:
        """One call, until it is answered."""
        asks = turn % 4 == 0
        while True:
            try:
                if asks:
                    result = client.call_tool("ask", {"turn": turn}, timeout=patience(LOST))
                else:
                    result = client.call_tool("double", {"number": turn}, timeout=patience(LOST))
                break
            except McpError as error:
                with self.lock:
                    self.lost.append("%s: %s" % (type(error).__name__, error))
                    expect(len(self.lost) <= len(self.killed) * self.clients, "lost without a reason", self.lost)
        found = result.structured_content
        expect(not result.is_error, "refused", result)
        expect(found["said"] == ("client %d says %d" % (number, turn) if asks else str(2 * turn)), "answered", found)
        with self.lock:
            self.pids.add(found["pid"])
            if asks:
                self.asked += 1
                self.crossed += found["first"] != found["pid"]
            if self.kills and turn >= self.kills[0] and found["pid"] not in self.killed:
                self.kills.pop(0)
                self.killed.append(found["pid"])
                os.kill(found["pid"], signal.SIGKILL)  # a process that told us its id, below a server of ours


def scale(name: str, serving: Callable[[str], Any], clients: int, kills: Tuple[int, ...], era: str) -> None:
    """One server, one era."""
    started = time.monotonic()
    with serving(ERAS[era]) as url:
        load = Load(url, era, clients, kills)
        load.run()
    expect(load.begun == CALLS + clients and load.asked == CALLS // 4, "calls", load.begun, load.asked)
    expect(len(load.pids) > 3 and len(load.killed) == len(kills), "workers", load.pids, load.killed)
    expect(era == "legacy" or load.crossed > CALLS // 20, "rounds on different workers", load.crossed)
    report("%s, %s" % (name, era), started, calls=CALLS, asked=load.asked, workers=len(load.pids),
           killed=len(load.killed), repeated=len(load.lost), rounds_elsewhere=load.crossed)


def edges() -> None:
    """nginx before one process: a stream that comes as it is sent, a connection for several requests, a large body."""
    started = time.monotonic()
    with gunicorn(["--workers", "1", "--threads", "8"], "none") as url:
        with connect(url, era="modern") as client:
            begun = threading.Event()
            future = client.submit_tool("hold", progress=lambda *step: begun.set())
            expect(begun.wait(WAIT), "the stream is held back")
            client.call_tool("let_go")
            expect(future.result(WAIT).structured_content == {"result": True}, "the end of the stream")
        connection = http.client.HTTPConnection(url.split("/")[2], timeout=SECONDS)
        sockets = set()
        for size, status in ((10, 200), (1_000_000, 200), (65 << 20, 413)):
            body = json.dumps(call(1, "double", {"number": 1, "ignored": "x" * size})).encode()
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request("POST", "/mcp", body, {**JSON, "MCP-Protocol-Version": "2025-06-18"})
            sockets.add(id(connection.sock))
            reply = connection.getresponse()
            expect((reply.status, bool(reply.read())) == (status, True), "a body", size, reply.status)
        expect(len(sockets) == 1, "connections", sockets)
        connection.close()
    report("nginx-edges", started)


SERVERS: Dict[str, Tuple[Callable[[str], Any], int, Tuple[int, ...]]] = {
    "nginx-gunicorn-sync": (functools.partial(gunicorn, []), 3, ()),
    "nginx-gunicorn-threads": (functools.partial(gunicorn, ["--threads", "8"]), 8, KILL_AT),
    "run-workers": (workers, 8, KILL_AT),
}
SCALES: Dict[str, Callable[[], None]] = {
    "%s-%s" % (name, era): functools.partial(scale, name, serving, clients, kills, era)
    for name, (serving, clients, kills) in SERVERS.items() for era in ERAS
}
SCALES["nginx-edges"] = edges
"""Every pairing by name."""
