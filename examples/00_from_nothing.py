"""A whole server with `json` and `sys`, and six ways to break it.

A server of the stdio transport is a program that reads lines and writes lines. Each line is one message of JSON-RPC 2.0
[2025-11-25 basic/transports §stdio]. `tiny_server.py` beside this file is such a program in 53 lines. A session begins
with a handshake: the client asks `initialize`, the server answers with the revision that both will speak and with what
it can do, and the client says `notifications/initialized` [2025-11-25 basic/lifecycle §Initialization]. Then tools can
be listed and called [2025-11-25 server/tools §Protocol Messages].

This chapter starts the server and speaks to it as a client does. The checker finds nothing. Then one line of the server
is changed in six ways that are common in first servers, and each time the checker names the rule that is broken.
"""
import json
import pathlib
import subprocess
import sys
from typing import Any, Dict, List, NamedTuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

SOURCE = pathlib.Path(__file__).with_name("tiny_server.py").read_text(encoding="utf-8")
CLIENT: List[Dict[str, Any]] = [
    {"id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "by hand", "version": "1.0"}}},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
    {"id": 3, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1, "b": 2}}},
    {"id": 4, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1}}},
    {"id": 5, "method": "no/such/method"},
]


class Break(NamedTuple):
    """A change of one line of the server, and the rule that is broken then."""

    what: str
    old: str
    new: str
    rule: str


BREAKS = (
    Break("It prints for debugging", "    message = json.loads(line)",
          "    message = json.loads(line); print('got', message['method'])", "stdio.server-stdout-only-mcp"),
    Break("Its names are those of Python", '"inputSchema"', '"input_schema"', "tools.input-schema-object"),
    Break("It answers notifications", "        continue", '        message["id"] = None', "jsonrpc.error-same-id"),
    Break("Its ids are always strings", 'response["result"] =',
          'response["id"], response["result"] = str(message["id"]),', "jsonrpc.response-same-id"),
    Break("It has an error beside each result", '{"jsonrpc": "2.0", "id"', '{"jsonrpc": "2.0", "error": None, "id"',
          "jsonrpc.follow-spec"),
    Break("Its text is a number", '"text": text}', '"text": 3}', "schema.result"),
)


def converse(source: str, session: Session) -> None:
    """Start a server of this source, send the lines of the client, each after the answer to the one before."""
    process = subprocess.Popen([sys.executable, "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    session.tell("open", members={"transport": "stdio"})
    for message in CLIENT:
        line = json.dumps(dict({"jsonrpc": "2.0"}, **message)).encode()
        session.message("client", line)
        process.stdin.write(line + b"\n")
        process.stdin.flush()
        if "id" in message and not answered(process.stdout, session, message["id"]):
            break
    process.stdin.close()  # the server reads the end of its input, and ends
    for line in process.stdout:
        session.message("server", line.rstrip(b"\n"))
    process.stdout.close()
    process.wait(20)


def answered(lines: Any, session: Session, id: int) -> bool:
    """Read lines until one is the response to a request; False if the server has ended."""
    for line in lines:
        session.message("server", line.rstrip(b"\n"))
        if line.startswith(b"{") and str(json.loads(line)["id"]) == str(id):
            return True
    return False


def main() -> None:
    """Speak to the server as it stands, and to each of the broken ones."""
    with Session("whole") as session:
        converse(SOURCE, session)
    texts = [event.message["result"]["content"][0]["text"] for event in session.events
             if event.direction == "server" and "content" in str(event.message)]
    assert texts[0] == "3" and texts[1].startswith("a and b must be numbers"), texts
    for number, each in enumerate(BREAKS, 1):
        assert SOURCE.count(each.old) == 1, each.old
        with Session("broken-%d" % number, each.rule, quiet=True) as session:
            converse(SOURCE.replace(each.old, each.new), session)
        print("%-46s -> %s" % (each.what, each.rule))


if __name__ == "__main__":
    main()
