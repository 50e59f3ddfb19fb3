"""The floor of the stdio figures: a bare json loop over pipes. No checks, no classes, and no imports but these three.

`--tools N` lists N more tools, in the shape that `subject.py --tools N` gives them. With `--threads` each call of a
tool has a thread of its own.
"""
import json
import sys
import time


def sleep(arguments):  # no annotations in this file: `typing` would make it a third slower to start
    """Block the thread."""
    time.sleep(arguments["ms"] / 1000)
    return "slept"


TOOLS = {
    "echo": lambda arguments: str(arguments["text"]),
    "add": lambda arguments: str(arguments["a"] + arguments["b"]),
    "sleep": sleep,
}
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
EXTRA = int(sys.argv[2]) if sys.argv[1:2] == ["--tools"] else 0
LISTED = [{"name": name, "description": "One of many.", "inputSchema": SCHEMA}
          for name in [*TOOLS, *("tool_%d" % number for number in range(EXTRA))]]


def answer(method, params):
    """Return the result of one request; `{}` for an unknown one and for ping."""
    if method == "tools/call":
        return {"content": [{"type": "text", "text": TOOLS[params["name"]](params["arguments"])}]}
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "floor", "version": "1"}}
    return {"tools": LISTED} if method == "tools/list" else {}


def reply(message):
    """Answer one request."""
    result = answer(message["method"], message.get("params", {}))
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode() + b"\n")
    sys.stdout.buffer.flush()


if "--threads" in sys.argv:
    from threading import Thread
for line in sys.stdin.buffer:
    message = json.loads(line)
    if "--threads" in sys.argv and message["method"] == "tools/call":
        Thread(target=reply, args=(message,)).start()
    elif "id" in message:
        reply(message)
