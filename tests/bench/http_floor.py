"""The floor of the HTTP figures: `http.server`, a thread for each connection, no checks.

    python3 tests/bench/http_floor.py [--canned]

With `--canned` every POST gets the same answer, and what it says is not looked at: the least that an answer over
`http.server` costs. Without, it is a json loop that knows `initialize` and the tool `echo`. A GET gets a stream on
which nothing ever comes. The first line of output is the URL; end of file on standard input ends it.

It is kept from looking worse than it has to: head and body leave in one write, and no small packet waits for another.
"""
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict

from peer import CANNED


def answer(message: Dict[str, Any]) -> Dict[str, Any]:
    """Result of one request."""
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
        """A result, or 202 for what asks for none."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.canned:
            return self._reply(200, CANNED)
        message = json.loads(body)
        if "id" not in message:
            return self._reply(202, b"")
        result = {"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}
        self._reply(200, json.dumps(result).encode())

    def do_GET(self) -> None:
        """An open stream: its thread waits until the client goes away."""
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
        """Say nothing."""


class Floor(ThreadingHTTPServer):
    """Takes many connections at once."""

    daemon_threads = True
    request_queue_size = 1024


def main() -> None:
    """Serve until the end of standard input."""
    Handler.canned = "--canned" in sys.argv[1:]
    floor = Floor(("127.0.0.1", 0), Handler)
    threading.Thread(target=floor.serve_forever, daemon=True).start()
    print("http://127.0.0.1:%d/%s" % (floor.server_address[1], "canned" if Handler.canned else "mcp"), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
