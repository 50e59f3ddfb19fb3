"""A whole server of the Model Context Protocol, without this package or any other: one tool, over standard input.

    python3 -m mcp_ref tools "python3 examples/tiny_server.py"

Each line is a message of JSON-RPC 2.0. What has an `id` is a request and gets one response; what has none is a
notification and gets none.
"""
import json
import sys

# mypy: ignore-errors
TOOL = {
    "name": "add", "description": "Add two numbers.",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
                    "required": ["a", "b"]},
}


def result(method, params):
    """Return the result of a request. Raises LookupError with the code and the text of an error."""
    if method == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "tiny", "version": "1.0"}}
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        return called(params.get("name"), params.get("arguments", {}))
    raise LookupError(-32601, "Method not found")


def called(name, arguments):
    """Call the tool. What a model can mend is a result with `isError`, not an error of the protocol."""
    if name != TOOL["name"]:
        raise LookupError(-32602, "There is no such tool")
    try:
        text, failed = str(arguments["a"] + arguments["b"]), False
    except (KeyError, TypeError) as error:
        text, failed = "a and b must be numbers: %r" % error, True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    response = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        response["result"] = result(message["method"], message.get("params", {}))
    except LookupError as error:
        response["error"] = dict(zip(("code", "message"), error.args))
    print(json.dumps(response), flush=True)
