"""The floors of the HTTP figures.

    python3 tests/bench/http_floor.py json|canned|sockets|selectors

`json` and `canned` are `http.server` with a thread for each connection: a json loop that knows `initialize` and the
tool `echo`, or the same answer to every POST, unread; a GET gets a stream on which nothing is ever sent. `sockets` (a
blocking thread for each connection) and `selectors` (one thread for all) give that answer without `http.server`: they
look for the end of the request, and for nothing else. The first line of output is the URL; end of file on standard
input ends it.

No floor is kept from being fast: head and body leave in one write, and no small packet waits for another.
"""
import json
import selectors
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict

from http_wire import end_of
from peer import CANNED, CHUNK

REPLY = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(CANNED), CANNED)


def answer(message: Dict[str, Any]) -> Dict[str, Any]:
    """Return the result of one request."""
    params = message.get("params", {})
    if message["method"] == "tools/call":
        return {"content": [{"type": "text", "text": params["arguments"]["text"]}]}
    if message["method"] == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "floor", "version": "1"}}
    return {}


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    canned = False

    def do_POST(self) -> None:
        """Send a result, or 202 to a notification."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.canned:
            return self._reply(200, CANNED)
        message = json.loads(body)
        if "id" not in message:
            return self._reply(202, b"")
        result = {"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}
        self._reply(200, json.dumps(result).encode())

    def do_GET(self) -> None:
        """Open a stream, whose thread waits until the client closes it."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.flush()
        self.rfile.read(1)

    def do_DELETE(self) -> None:
        """There is nothing to end."""
        self._reply(200, b"")

    def _reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing."""


class Floor(ThreadingHTTPServer):
    """Takes many connections at once."""

    daemon_threads = True
    request_queue_size = 1024


def sockets(listener: socket.socket) -> None:
    """Answer each connection in a blocking thread."""
    def connection(sock: socket.socket) -> None:
        data = b""
        while True:
            more = sock.recv(CHUNK)
            if not more:
                return
            data += more
            if end_of(data) == len(data):
                sock.sendall(REPLY)
                data = b""

    while True:
        threading.Thread(target=connection, args=(accepted(listener),), daemon=True).start()


def in_one_thread(listener: socket.socket) -> None:
    """Answer all connections in this thread."""
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ, None)
    while True:
        for key, _ in selector.select():
            if key.data is None:
                selector.register(accepted(listener), selectors.EVENT_READ, bytearray())
                continue
            sock, data = key.fileobj, key.data
            more = sock.recv(CHUNK)
            data += more
            if not more:
                selector.unregister(sock)
                sock.close()
            elif end_of(bytes(data)) == len(data):
                sock.send(REPLY)
                data.clear()


def accepted(listener: socket.socket) -> socket.socket:
    """Return the next connection."""
    sock = listener.accept()[0]
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def main(kind: str) -> None:
    """Serve until the end of standard input."""
    Handler.canned = kind != "json"
    if kind in ("json", "canned"):
        floor = Floor(("127.0.0.1", 0), Handler)
        address, serve, arguments = floor.server_address, floor.serve_forever, ()
    else:
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(1024)
        address, serve = listener.getsockname(), sockets if kind == "sockets" else in_one_thread
        arguments = (listener,)
    threading.Thread(target=serve, args=arguments, daemon=True).start()
    print("http://127.0.0.1:%d/%s" % (address[1], "canned" if Handler.canned else "mcp"), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
