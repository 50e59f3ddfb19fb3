"""Streamable HTTP with nothing but a socket: what a client writes, and how a stream of events looks.

Each message of a client is the body of a POST of its own. `Accept` has both forms of an answer, because the server
chooses: one JSON object, or a stream of events [2026-07-28 basic/transports/streamable-http §Sending Messages]. In
2026-07-28 three header fields say what the body says, so that proxies need not read it: the revision, the method, and
the name of the tool [2026-07-28 basic/transports/streamable-http §Standard Request Headers].

A stream is text: an event is some lines that begin with `data:`, and an empty line. HTTP/1.1 puts it into chunks, each
with its length in hexadecimal digits in front. The tool below reports its progress,
so the answer is a stream. The requests are written by hand, byte by byte; the server records what it sees.
"""
import json
import pathlib
import socket
import sys
from typing import Any, Dict, List, Tuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import Context, Server  # noqa: E402

server = Server("demo", version="1.0")
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "by hand", "version": "1.0"}}


@server.tool
def count(to: int, ctx: Context) -> str:
    """Count up to a number."""
    for step in range(1, to + 1):
        ctx.progress(step, to)
    return "counted to %d" % to


def post(port: int, method: str, params: Dict[str, Any], name: str = "") -> Tuple[str, str]:
    """Post a request, and return the head and the body of the answer as they came."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    fields = ["POST /mcp HTTP/1.1", "Host: 127.0.0.1:%d" % port, "Content-Type: application/json",
              "Accept: application/json, text/event-stream", "Content-Length: %d" % len(body),
              "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: " + method, "Connection: close"]
    head = "\r\n".join(fields + ["Mcp-Name: " + name] * bool(name)) + "\r\n\r\n"
    print(head.replace("\r", "") + body.decode() + "\n")
    with socket.create_connection(("127.0.0.1", port), 20) as connection:
        connection.sendall(head.encode() + body)
        answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    print(answer.replace("\r", "") + "\n")
    first, _, rest = answer.partition("\r\n\r\n")
    return first, rest


def events(body: str) -> List[Dict[str, Any]]:
    """Return the messages of a stream: the data of its events."""
    return [json.loads(line[5:]) for line in body.splitlines() if line.startswith("data:") and line[5:].strip()]


def main() -> None:
    """List the tools, which is answered by JSON, and call one, which is answered by a stream."""
    with Session() as session, server.listen("http://127.0.0.1:0/mcp", trace=session) as listener:
        port = int(listener.address.split(":")[2].split("/")[0])
        head, body = post(port, "tools/list", {"_meta": META})
        assert " 200 " in head and "application/json" in head, head
        assert json.loads(body)["result"]["tools"][0]["name"] == "count"
        head, body = post(port, "tools/call", {
            "name": "count", "arguments": {"to": 2}, "_meta": dict(META, progressToken="p")}, "count")
        assert "text/event-stream" in head, head
        said = events(body)
        assert [each.get("method") for each in said] == ["notifications/progress"] * 2 + [None], said
        assert said[-1]["result"]["content"][0]["text"] == "counted to 2"


if __name__ == "__main__":
    main()
