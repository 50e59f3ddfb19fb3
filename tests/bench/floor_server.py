"""The floor of the server figures: a bare json loop over pipes. No checks, no threads, no classes.

`--tools N` lists N more tools, in the shape that `examples/echo_server.py --tools N` gives them.
"""
import json
import sys
import time
from typing import Any, Callable, Dict


def sleep(arguments: Dict[str, Any]) -> str:
    """Block everybody: there is one thread."""
    time.sleep(arguments["ms"] / 1000)
    return "slept"


TOOLS: Dict[str, Callable[[Dict[str, Any]], str]] = {
    "echo": lambda arguments: str(arguments["text"]),
    "add": lambda arguments: str(arguments["a"] + arguments["b"]),
    "sleep": sleep,
}
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
EXTRA = int(sys.argv[2]) if sys.argv[1:2] == ["--tools"] else 0
LISTED = [{"name": name, "description": "One of many.", "inputSchema": SCHEMA}
          for name in [*TOOLS, *("tool_%d" % number for number in range(EXTRA))]]


def answer(method: str, params: Dict[str, Any]) -> Dict[str, Any]:
    """Result of one request; `{}` for whatever is not known here, ping among it."""
    if method == "tools/call":
        return {"content": [{"type": "text", "text": TOOLS[params["name"]](params["arguments"])}]}
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "floor", "version": "1"}}
    return {"tools": LISTED} if method == "tools/list" else {}


for line in sys.stdin.buffer:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode() + b"\n")
        sys.stdout.buffer.flush()
