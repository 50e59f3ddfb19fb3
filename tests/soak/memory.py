"""What hostile clients make a server hold: `python3 tests/soak/memory.py [SCALE [ROW ...]]`.

Each row starts a server with default limits in a process of its own, does one thing to it, and prints how much memory
it had before, at most, and when all connections were closed. PYTHONPATH says which version of the package is measured.
"""
import json
import os
import socket
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Tuple
from urllib.parse import urlsplit

SERVER = r'''
import json, sys, time
from mcp_ref import Server
server = Server("measured")
TEXT = "x" * 8_000_000

@server.resource("big://{name}")
def big(name: str) -> str:
    return TEXT

@server.tool
def wait(values: list) -> str:
    time.sleep(3)
    return "done"

with server.listen("http://127.0.0.1:0/mcp") as listener:
    print(listener.address, flush=True)
    for line in sys.stdin:
        begun = time.process_time()
        for number in range(int(line)):
            server.log("info", "%06d" % number + "x" * 1000)
        rows = dict(row.split(":", 1) for row in open("/proc/self/status"))
        print(json.dumps([int(rows["VmRSS"].split()[0]) / 1024, time.process_time() - begun]), flush=True)
'''
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "hostile", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}}
INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "hostile", "version": "1"}}


class Measured:
    """A server in a process of its own, and the connections to it."""

    def __init__(self) -> None:
        self.child = subprocess.Popen([sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True)
        self.place = urlsplit(self._line())
        self.open: List[socket.socket] = []
        self.start = self.most = self.report()[0]

    def _line(self) -> str:
        assert self.child.stdout is not None
        return self.child.stdout.readline()

    def report(self, logs: int = 0) -> Tuple[float, float]:
        """MB that it has now, and seconds of processor time that so many log messages took."""
        assert self.child.stdin is not None
        self.child.stdin.write("%d\n" % logs)
        self.child.stdin.flush()
        memory, seconds = json.loads(self._line())
        self.most = max(getattr(self, "most", 0.0), memory)
        return memory, seconds

    def connect(self, buffer: Optional[int] = None) -> socket.socket:
        """A connection; ``buffer``: bytes that it takes without being read."""
        sock = socket.socket()
        if buffer is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        sock.settimeout(60)
        sock.connect((self.place.hostname or "", self.place.port or 0))
        self.open.append(sock)
        return sock

    def post(self, body: bytes, session: str = "", accept: str = "application/json, text/event-stream",
             *fields: str) -> bytes:
        """The bytes of a POST."""
        lines = ["POST /mcp HTTP/1.1", "Host: 127.0.0.1:%d" % (self.place.port or 0), "Accept: " + accept,
                 "Content-Type: application/json", "Content-Length: %d" % len(body), *fields]
        if session:
            lines += ["Mcp-Session-Id: " + session]
        return "\r\n".join((*lines, "", "")).encode() + body

    def modern(self, method: str, params: Dict[str, Any], *fields: str) -> bytes:
        """The bytes of a request without a session."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": dict(params, _meta=META)}).encode()
        return self.post(body, "", "application/json, text/event-stream", "MCP-Protocol-Version: 2026-07-28",
                         "Mcp-Method: " + method, *fields)

    def session(self, sock: socket.socket) -> str:
        """A new session."""
        body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE}
        sock.sendall(self.post(json.dumps(body).encode()))
        head = self.head(sock)
        found = [line for line in head.split("\r\n") if line.lower().startswith("mcp-session-id:")][0].split()[1]
        sock.sendall(self.post(b'{"jsonrpc":"2.0","method":"notifications/initialized"}', found))
        self.head(sock)
        return found

    @staticmethod
    def head(sock: socket.socket) -> str:
        """A reply; small enough to come whole."""
        data = b""
        while b"\r\n\r\n" not in data:
            data += sock.recv(65536)
        head, _, body = data.partition(b"\r\n\r\n")
        length = [int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        while length and len(body) < length[0]:
            body += sock.recv(65536)
        return head.decode()

    def close(self) -> None:
        """Close all connections."""
        while self.open:
            self.open.pop().close()

    def end(self) -> None:
        """End the server."""
        self.close()
        assert self.child.stdin is not None
        self.child.stdin.close()
        self.child.wait(60)


def watch(measured: Measured, seconds: float) -> None:
    """Look how much it has for a while."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        measured.report()
        time.sleep(0.1)


def closed_streams(measured: Measured, count: int) -> str:
    """Reads of 8 MB as streams in sessions, of which nothing is read."""
    for number in range(count):
        sock = measured.connect(4096)
        session = measured.session(sock)
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "resources/read",
                           "params": {"uri": "big://%d" % number}}).encode()
        sock.sendall(measured.post(body, session, "text/event-stream"))
        sock.recv(100)
        measured.open.remove(sock)
        sock.close()
        measured.report()
    return "%d streams" % count


def unread(measured: Measured, count: int) -> str:
    """Replies of 8 MB that nobody reads."""
    for number in range(count):
        sock = measured.connect(4096)
        uri = "big://%d" % number
        sock.sendall(measured.modern("resources/read", {"uri": uri}, "Mcp-Name: " + uri))
    watch(measured, 5.0)
    return "%d replies" % count


def listens(measured: Measured, count: int) -> str:
    """Subscriptions to 10,000 URIs of 6 KB."""
    for number in range(count):
        uris = ["big://%05d" % each + "y" * 6200 for each in range(10_000)]
        sock = measured.connect(4096)
        sock.sendall(measured.modern("subscriptions/listen", {"notifications": {"resourceSubscriptions": uris}}))
    watch(measured, 5.0)
    return "%d requests" % count


def nodes(measured: Measured, count: int) -> str:
    """Calls with a million empty objects each."""
    arguments = b'{"name":"wait","arguments":{"values":[' + b"{}," * 990_000 + b"{}]}"
    body = (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + arguments + b',"_meta":'
            + json.dumps(META).encode() + b"}}")
    for _ in range(count):
        sock = measured.connect()
        sock.sendall(measured.post(body, "", "application/json, text/event-stream",
                                   "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: wait"))
    watch(measured, 5.0)
    return "%d bodies" % count


def introductions(measured: Measured, count: int) -> str:
    """Sessions of clients with a long name."""
    for number in range(count):
        sock = measured.connect()
        info = {"name": "n" * 8_000_000, "version": "1"}
        body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": dict(INITIALIZE, clientInfo=info)}
        sock.sendall(measured.post(json.dumps(body).encode()))
        measured.head(sock)
        measured.report()
    return "%d sessions" % count


def logs(measured: Measured, count: int) -> str:
    """Sessions without a stream, and 100 log messages of 1 KB to all."""
    sock = measured.connect()
    for _ in range(count):
        measured.session(sock)
    before = measured.report()[0]
    after, seconds = measured.report(100)
    return "%d sessions: %.0f MB before the messages, %.0f after, %.2f s" % (count, before, after, seconds)


ROWS: Tuple[Tuple[int, Callable[[Measured, int], str]], ...] = (
    (80, closed_streams), (40, unread), (150, unread), (3, listens), (4, nodes), (20, introductions), (3000, logs))


def main() -> None:
    """Measure all rows, or those that are named."""
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    for count, row in ROWS:
        if sys.argv[2:] and row.__name__ not in sys.argv[2:]:
            continue
        measured = Measured()
        try:
            said = row(measured, max(1, int(count * scale)))
            time.sleep(1.0)
            meanwhile = measured.report()[0]
            measured.close()
            time.sleep(2.0)
            print("%-16s %5.0f MB, at most %5.0f MB, then %5.0f MB, %5.0f MB after all was closed; %s"
                  % (row.__name__, measured.start, measured.most, meanwhile, measured.report()[0], said), flush=True)
        finally:
            measured.end()


if __name__ == "__main__":
    os.environ.setdefault("PYTHONPATH", os.getcwd())
    main()
