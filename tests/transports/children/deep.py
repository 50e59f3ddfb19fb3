"""Nested JSON for both sides, where neither the thread's stack nor the interpreter stops what recurses over it.

``serve``: a server on stdin and stdout. ``hostile``: a server by hand, which sends nested JSON to who calls its tool.
``both``: an HTTP server is attacked, clients talk to hostile servers, values are written and validated; a line is
printed for each thing that ended as it should. Run by `tests/test_depth.py`, with its root as the first argument.
"""
import http.client
import json
import os
import sys
import threading
from urllib.parse import urlsplit

ROOT, MODE = sys.argv[1:3]
sys.path.insert(0, ROOT)
sys.setrecursionlimit(100_000)
threading.stack_size(1 << 20)

from mcp_ref import McpError, Server, connect  # noqa: E402
from mcp_ref.messages.tools import CallToolResult  # noqa: E402
from tests.support.patience import WAIT  # noqa: E402

LEVELS = 100_000
TEXTS = {
    "arrays": b"[" * LEVELS,
    "objects": b'{"a":' * LEVELS,
    "closed": b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * LEVELS + b"]" * LEVELS + b"}",
    "behind strings": b'{"a":"[]\\"]]\\\\","b":' + b'["]\\"",' * LEVELS,
}


def nested(levels):
    value = []
    for _ in range(levels - 1):
        value = [value]
    return value


def itself():
    value = {}
    value["me"] = [value, value]
    return value


def server():
    made = Server("deep")

    @made.tool
    def echo(value: list) -> list:
        return value

    @made.tool
    def endless() -> dict:
        return itself()

    @made.tool
    def raw(kind: str) -> CallToolResult:
        return CallToolResult(content=[], structured_content={"v": itself() if kind == "itself" else nested(LEVELS)})

    @made.tool(output_schema={"type": "object", "properties": {"v": {"const": 1}}})
    def judged() -> CallToolResult:
        return CallToolResult(content=[], structured_content={"v": nested(LEVELS)})

    return made


def call(name, arguments, id=1):
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call",
                       "params": {"name": name, "arguments": arguments}}).encode()


def hostile():
    """What a client reads here: nested JSON in several forms, and then the answer."""
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message.get("method") == "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                      "serverInfo": {"name": "hostile", "version": "0"}}
        elif message.get("method") == "tools/call":
            for text in TEXTS.values():
                sys.stdout.buffer.write(text + b"\n")
            result = {"content": [{"type": "text", "text": "lives"}]}
        elif "id" in message and "method" in message:
            sys.stdout.write('{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"x"}}\n' % message["id"])
            sys.stdout.flush()
            continue
        else:
            continue
        sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode() + b"\n")
        sys.stdout.buffer.flush()


def said(name):
    print(name, flush=True)


def attack_http_server():
    listener = server().listen("http://127.0.0.1:0/mcp", sessions="none")
    where = urlsplit(listener.address)
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=WAIT)

    def post(body):
        connection.request("POST", "/mcp", body, {
            "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-11-25"})
        reply = connection.getresponse()
        return reply.status, reply.read().decode()

    for name, text in TEXTS.items():
        status, body = post(text)
        assert status == 400 and "max_depth (128)" in body and "-32700" in body, (status, body)
        said("http server: " + name)
    for name, arguments in (("endless", {}), ("raw", {"kind": "itself"}), ("raw", {"kind": "deep"}), ("judged", {})):
        status, body = post(call(name, arguments))
        assert status == 200 and ("max_depth (128)" in body or "contains itself" in body), (status, body)
        said("http server: answers of %s %s" % (name, arguments))
    status, body = post(call("echo", {"value": nested(120)}))
    assert status == 200 and "[" * 119 in body, body
    said("http server: lives")
    connection.close()
    listener.close()


def talk_to_a_hostile_child():
    with connect([sys.executable, os.path.abspath(__file__), ROOT, "hostile"]) as client:
        result = client.call_tool("any", {})
        assert result.content[0].text == "lives"
        assert client.connection.counters["malformed message"] == len(TEXTS)
        said("client: what a child writes")
        for arguments in (itself(), {"v": nested(LEVELS)}):
            try:
                client.call_tool("any", arguments)
            except McpError as error:
                assert "max_depth (128)" in str(error) or "contains itself" in str(error), error
            else:
                raise AssertionError("it was sent")
        said("client: what it would send")


def talk_to_a_hostile_web_server():
    from tests.support.scripted_http import ScriptedHttp

    with ScriptedHttp() as web:
        with connect(web.url) as client:
            for name, text in TEXTS.items():
                for status in (200, 400):
                    web.on["tools/call"] = lambda request: request.reply(status, text)
                    try:
                        client.call_tool("any", {})
                    except McpError:
                        pass
                    else:
                        raise AssertionError("%s were taken for an answer" % name)
                first = b"data: %b\n\n" % text.replace(b"result", b"method")
                web.on["tools/call"] = lambda request: request.reply(
                    200, b"%bdata: %b\n\n" % (first, request.result({"content": []})), "text/event-stream")
                assert client.call_tool("any", {}).content == []
            web.on["tools/call"] = lambda request: request.answer({"content": []})
            assert client.call_tool("any", {}).content == []
    said("client: what a web server replies")


def write_and_validate():
    from mcp_ref.diagnostics.redaction import redact
    from mcp_ref.jsonschema import BoundsExceeded, compile, validate
    from mcp_ref.jsontext import dumps, is_deep, loads
    from mcp_ref.server.hints.values import to_json

    for write in (dumps, to_json):
        for value in (itself(), nested(LEVELS), {"a": (nested(LEVELS),)}):
            try:
                write(value)
            except ValueError as error:
                assert "max_depth (128)" in str(error) or "contains itself" in str(error), error
            else:
                raise AssertionError("it was written")
    said("values: refused")
    value = loads(b'{"a":' * 64 + b"[" * 64 + b"]" * 64 + b"}" * 64)
    assert loads(dumps(value).encode()) == value == redact(to_json(value))
    said("values: written")

    for wrap in (lambda inner: {"allOf": [inner]}, lambda inner: {"properties": {"a": inner}},
                 lambda inner: {"anyOf": [{"not": {"not": inner}}]}, lambda inner: {"if": inner, "then": inner},
                 lambda inner: {"dependentSchemas": {"a": inner}, "unevaluatedProperties": False}):
        for ending in ({"$ref": "#"}, {"type": "string"}):
            schema = ending
            while not is_deep(wrap(schema), 100) and len(json.dumps(schema)) < 50_000:
                schema = wrap(schema)
            schema["$defs"] = {"x": schema.copy()}
            text = json.dumps(schema).encode()
            value = {"a": 1}
            for _ in range(120):
                value = {"a": value}
            try:
                validate(value, loads(text))
            except BoundsExceeded:
                pass
    said("schemas: nested")
    chain = {"$ref": "#/$defs/chain"}
    for _ in range(100):
        chain = {"allOf": [chain]}
    place = "#/$defs/chain" + "/allOf/0" * 100
    try:
        compile({"$ref": place, "$defs": {"chain": chain}}).validate(1)
    except BoundsExceeded as error:
        assert "depth" in str(error), error
    else:
        raise AssertionError("an endless chain of references has an end")
    said("schemas: references")


if MODE == "serve":
    server().run()
elif MODE == "hostile":
    hostile()
else:
    failures = []
    for part in (attack_http_server, talk_to_a_hostile_child, talk_to_a_hostile_web_server, write_and_validate):
        def run(part=part):
            try:
                part()
            except BaseException as error:
                failures.append(error)
                raise
        thread = threading.Thread(target=run)
        thread.start()
        thread.join(WAIT)
    sys.exit(1 if failures else 0)
