"""Play a server that is odd in one way: one row of ROWS for each way that pages or public reports tell of.

``python odd_servers.py ROW`` plays a row over stdio, or over HTTP and prints the URL; without ROW it lists the rows.
Every row is the same healthy server with the tools ``echo(text)`` and ``add(a, b)``, whose answers, bytes or process
one small function alters. The name of a row is ``mechanism.variant``; a mechanism has at most three variants.
"""

import copy
import gzip
import json
import os
import signal
import socket
import sys
import threading
import time
import zlib
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional

Message = Dict[str, Any]
Edit = Callable[[Message, Message, "Player"], Any]      # (healthy answer, request, player): what is written instead

LOOK_SECONDS = 0.2
TOOLS: List[Message] = [
    {"name": "echo", "description": "Return the text.", "inputSchema":
        {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}},
    {"name": "add", "description": "Add two numbers.", "inputSchema":
        {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}},
]
KEYS = {"tools/list": "list", "server/discover": "discover", "notifications/initialized": "initialized"}


class Row(NamedTuple):
    """One odd server."""

    name: str
    where: str                      # a page and its heading, or the kind of report
    odd: str
    transport: str                  # "stdio" or "http"
    answers: Dict[str, Edit]        # by key: initialize, discover, list, echo, add, ping, call, any
    options: Dict[str, Any]         # what the transport does otherwise


ROWS: Dict[str, Row] = {}
OPTIONS = {"first", "line", "start", "end", "modern", "frame", "get", "delete", "notified", "path"}


def row(transport: str, name: str, where: str, odd: str, **how: Any) -> None:
    """Add a row; HOW holds options of the transport and edits of answers."""
    assert name not in ROWS, name
    ROWS[name] = Row(name, where, odd, transport, {key: how[key] for key in how if key not in OPTIONS},
                     {key: how[key] for key in how if key in OPTIONS})


def stdio(name: str, where: str, odd: str, **how: Any) -> None:
    """Add a row over stdio."""
    row("stdio", name, where, odd, **how)


def http(name: str, where: str, odd: str, **how: Any) -> None:
    """Add a row over HTTP."""
    row("http", name, where, odd, **how)


class Player:
    """Answers messages as the server of a row does."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.held: List[Any] = []           # written when the client has answered a request of ours
        self.seen: List[str] = []           # keys of the requests so far
        self.closing = threading.Event()

    def hold(self, item: Any) -> None:
        """Keep ITEM until the client answers."""
        self.held.append(item)

    def replies(self, message: Any) -> List[Any]:
        """Return what the server writes for MESSAGE: messages, bytes, and functions to call."""
        if not isinstance(message, dict) or "method" not in message:
            held, self.held = self.held, []
            return held
        key = key_of(message)
        self.seen.append(key)
        if "id" not in message:
            return []
        answer = healthy(message, bool(self.row.options.get("modern")))
        kinds = [key] + ["call"] * (message["method"] == "tools/call") + ["any"]
        for kind in kinds:
            if kind in self.row.answers:
                written = self.row.answers[kind](answer, message, self)
                return written if isinstance(written, list) else [written]
        return [answer]


def key_of(message: Message) -> str:
    """Return the short name of a request: its tool, or its method."""
    method = message["method"]
    if method == "tools/call":
        return str(message["params"]["name"])
    return KEYS.get(method, method)


def healthy(request: Message, modern: bool) -> Message:
    """Return the right answer to REQUEST, of 2025-06-18 or (modern) of 2026-07-28."""
    key, params = key_of(request), request.get("params") or {}
    info = {"name": "odd", "version": "1.0"}
    result: Optional[Message] = None
    if key == "initialize" and not modern:
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    elif key == "discover" and modern:
        result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0,
                  "cacheScope": "private", "_meta": {"io.modelcontextprotocol/serverInfo": info}}
    elif key == "ping" and not modern:
        result = {}
    elif key == "list":
        result = {"tools": copy.deepcopy(TOOLS)}
        if modern:
            result.update(ttlMs=0, cacheScope="private")
    elif key == "echo":
        result = {"content": [{"type": "text", "text": params["arguments"]["text"]}]}
    elif key == "add":
        total = params["arguments"]["a"] + params["arguments"]["b"]
        result = {"content": [{"type": "text", "text": str(total)}], "structuredContent": {"result": total}}
    if result is None:
        return error(request, -32601, "Method not found")
    if modern:
        result["resultType"] = "complete"
    return {"jsonrpc": "2.0", "id": request["id"], "result": result}


def error(request: Message, code: Any, message: Any, **more: Any) -> Message:
    """Return an error as answer to REQUEST."""
    return dict({"jsonrpc": "2.0", "id": request.get("id"), "error": {"code": code, "message": message}}, **more)


# -- edits

def put(**members: Any) -> Edit:
    """Set members of the result."""
    def edit(answer: Message, request: Message, player: Player) -> Message:
        answer["result"].update(members)
        return answer
    return edit


def drop(*names: str) -> Edit:
    """Remove members of the result."""
    def edit(answer: Message, request: Message, player: Player) -> Message:
        for name in names:
            answer["result"].pop(name, None)
        return answer
    return edit


def top(**members: Any) -> Edit:
    """Set members of the message."""
    return lambda answer, request, player: dict(answer, **members)


def tools(change: Callable[[List[Message]], Any]) -> Edit:
    """Change the list of tools in place, or replace it by what CHANGE returns."""
    def edit(answer: Message, request: Message, player: Player) -> Message:
        listed = answer["result"]["tools"]
        replaced = change(listed)
        answer["result"]["tools"] = listed if replaced is None else replaced
        return answer
    return edit


def each_tool(**members: Any) -> Edit:
    """Set members of each tool."""
    return tools(lambda listed: [dict(tool, **members) for tool in listed])


def more_tool(**members: Any) -> Edit:
    """Add a third, odd tool."""
    return tools(lambda listed: listed + [dict(copy.deepcopy(TOOLS[0]), **dict({"name": "third"}, **members))])


def schema(**members: Any) -> Edit:
    """Add a third tool with an odd schema."""
    return more_tool(inputSchema=dict({"type": "object", "properties": {}}, **members))


def block(change: Callable[[Message], Any]) -> Edit:
    """Replace the content by what CHANGE makes of its one block."""
    def edit(answer: Message, request: Message, player: Player) -> Message:
        answer["result"]["content"] = change(answer["result"]["content"][0])
        return answer
    return edit


def around(before: Any = (), after: Any = ()) -> Edit:
    """Write other things before and after the answer."""
    return lambda answer, request, player: list(before) + [answer] + list(after)


def replace(make: Callable[[Message], Any]) -> Edit:
    """Write what MAKE makes of the answer."""
    return lambda answer, request, player: make(answer)


def fail(code: Any, message: Any, **more: Any) -> Edit:
    """Answer by an error."""
    return lambda answer, request, player: error(request, code, message, **more)


def silent(answer: Message, request: Message, player: Player) -> List[Any]:
    """Never answer."""
    return []


def says(text: str, code: int) -> Callable[[Any], None]:
    """Return what writes TEXT to standard error and ends the process."""
    def end(player: Any) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
        os._exit(code)
    return end


def ask(method: str, ident: Any = "from-server", **params: Any) -> Edit:
    """Ask the client something first, and answer when it has answered."""
    def edit(answer: Message, request: Message, player: Player) -> List[Any]:
        player.hold(answer)
        return [{"jsonrpc": "2.0", "id": ident, "method": method, "params": params}]
    return edit


def dumps(value: Any) -> bytes:
    """Return VALUE as JSON in UTF-8."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def notice(method: str, **params: Any) -> Message:
    """Return a notification."""
    return {"jsonrpc": "2.0", "method": "notifications/" + method, "params": params}


def pages(cursor: Callable[[int], Any], last: int = 10 ** 9) -> Edit:
    """Give the tools on the first page and others on LAST pages more, with odd cursors."""
    def edit(answer: Message, request: Message, player: Player) -> Message:
        page = player.seen.count("list")
        if page > 1:
            answer["result"]["tools"] = []
        if page <= last:
            answer["result"]["nextCursor"] = cursor(page)
        return answer
    return edit


# -- stdio

def play_stdio(row: Row) -> None:
    """Play ROW on standard input and output until the input ends."""
    player = Player(row)
    write(player, row.options.get("start", []), row)
    write(player, [row.options.get("first", b"")], row)
    for line in sys.stdin.buffer:
        write(player, player.replies(json.loads(line.decode("utf-8"))), row)
    write(player, row.options.get("end", []), row)


def write(player: Player, items: List[Any], row: Row) -> None:
    """Write ITEMS to standard output: messages as lines, bytes as they are, functions called."""
    for item in items:
        if callable(item):
            item(player)
        elif isinstance(item, bytes):
            sys.stdout.buffer.write(item)
        else:
            line = row.options.get("line", lambda text: text + b"\n")
            sys.stdout.buffer.write(line(dumps(item)))
        sys.stdout.buffer.flush()


def pause(seconds: float) -> Callable[[Player], None]:
    """Return what waits."""
    return lambda player: time.sleep(seconds)


def slowly(text: bytes) -> bytes:
    """Write all of a line but its end, piece by piece, and return the end."""
    for start in range(0, len(text), 40):
        sys.stdout.buffer.write(text[start:start + 40])
        sys.stdout.buffer.flush()
        time.sleep(0.002)
    return b"\n"


NULLS = "report: serializers write null for members that are absent"
PHP = "report: PHP writes [] for an empty object"
LIST = "[2025-06-18 server/tools §Listing Tools]"
CALL = "[2025-06-18 server/tools §Calling Tools]"
INIT = "[2025-06-18 basic/lifecycle §Initialization]"
VERSION = "[2025-06-18 basic/lifecycle §Version Negotiation]"
STDIO = "[2025-06-18 basic/transports §stdio]"
BASE = "[2025-06-18 basic/index §Responses]"
NOTE = "[2025-06-18 basic/index §Notifications]"
PAGES = "[2025-06-18 server/utilities/pagination §Response Format]"
PROBE = "[2026-07-28 basic/transports/stdio §Backward Compatibility]"
PRINTS = "report: a banner or log lines on standard output"

# nulls and absent members
stdio("healthy.stdio", INIT, "nothing")
stdio("null.tool", NULLS, "members of tools are null",
      list=each_tool(title=None, annotations=None, outputSchema=None, _meta=None, icons=None))
stdio("null.result", NULLS, "members of results of calls are null",
      call=put(structuredContent=None, isError=None, _meta=None))
stdio("null.initialize", NULLS, "members of the answer to initialize are null",
      initialize=put(instructions=None, _meta=None, capabilities={
          "tools": {"listChanged": None}, "prompts": None, "logging": None}))
stdio("null-cursor.last-page", NULLS, "nextCursor is null", list=put(nextCursor=None))
stdio("null-description.tool", NULLS, "description is null", list=each_tool(description=None))
stdio("null-meta.all", NULLS, "_meta is null in each answer",
      any=replace(lambda a: dict(a, result=dict(a["result"], _meta=None)) if "result" in a else a))
stdio("capabilities.null", INIT, "capabilities is null", initialize=put(capabilities=None))
stdio("capabilities.missing", INIT, "no capabilities", initialize=drop("capabilities"))
stdio("capabilities.empty", "[2025-06-18 server/tools §Capabilities]", "tools are not declared",
      initialize=put(capabilities={}))
stdio("capabilities-php.list", PHP, "capabilities is []", initialize=put(capabilities=[]))
stdio("capabilities-php.tools", PHP, "capabilities.tools is []", initialize=put(capabilities={"tools": []}))
stdio("capabilities-bool.tools", "report: flags instead of objects", "capabilities.tools is true",
      initialize=put(capabilities={"tools": True}))
stdio("server-info.missing", INIT, "no serverInfo", initialize=drop("serverInfo"))
stdio("server-info.version", INIT, "serverInfo has no version", initialize=put(serverInfo={"name": "odd"}))
stdio("server-info.text", "report: small servers written by hand", "serverInfo is text",
      initialize=put(serverInfo="odd 1.0"))
# schemas
stdio("schema-missing.all", LIST, "tools without inputSchema",
      list=tools(lambda listed: [tool.pop("inputSchema") for tool in listed] and None))
stdio("schema-missing.null", NULLS, "inputSchema is null", list=each_tool(inputSchema=None))
stdio("schema-missing.empty", LIST, "inputSchema is {}", list=each_tool(inputSchema={}))
stdio("schema-properties.list", PHP, "properties is []", list=schema(properties=[]))
stdio("schema-properties.true", "report: schemars writes true for any value", "a property is true",
      list=schema(properties={"x": True}))
stdio("schema-properties.null", NULLS, "properties is null", list=schema(properties=None))
stdio("schema-required.null", NULLS, "required is null", list=schema(required=None))
stdio("schema-required.flag", "report: required as a flag of a property", "required is true in a property",
      list=schema(properties={"x": {"type": "string", "required": True}}))
stdio("schema-boolean.true", "[2025-11-25 basic/index §JSON Schema Usage]", "inputSchema is true",
      list=more_tool(inputSchema=True))
stdio("schema-type.list", LIST, "type is a list", list=schema(type=["object", "null"]))
stdio("schema-type.upper", "report: schemas of other model APIs", "types in capitals",
      list=schema(type="OBJECT", properties={"x": {"type": "STRING"}}))
stdio("schema-text.json", "report: schemas serialised twice", "inputSchema is JSON in text",
      list=more_tool(inputSchema='{"type": "object"}'))
stdio("schema-draft.4", "report: generators of old drafts", "draft-04 with exclusiveMinimum true",
      list=schema(**{"$schema": "http://json-schema.org/draft-04/schema#", "properties": {
          "x": {"type": "number", "minimum": 0, "exclusiveMinimum": True}}}))
stdio("schema-ref.unresolved", "report: references that lead nowhere", "$ref to a definition that is not there",
      list=schema(properties={"x": {"$ref": "#/$defs/Gone"}}))
stdio("schema-ref.cycle", "report: recursive models", "a schema that refers to itself",
      list=schema(**{"properties": {"x": {"$ref": "#/$defs/X"}}, "$defs": {"X": {"$ref": "#/$defs/X"}}}))
stdio("schema-output.mismatch", "[2025-06-18 server/tools §Output Schema]", "structuredContent breaks the outputSchema",
      list=tools(lambda listed: [listed[0], dict(
          listed[1], outputSchema={"type": "object", "properties": {"sum": {"type": "string"}}, "required": ["sum"]})]))
stdio("schema-output.unmet", "[2025-06-18 server/tools §Output Schema]", "an outputSchema and no structuredContent",
      list=each_tool(outputSchema={"type": "object"}))
stdio("schema-pattern.invalid", "report: patterns of other languages", "a pattern that is no regular expression here",
      list=schema(properties={"x": {"type": "string", "pattern": "^\\p{L}(?<n>[[:alpha:]])$"}}))
# lists of tools
stdio("odd-tool.nameless", "report: one odd tool hides all others", "one of 300 tools has no name",
      list=tools(lambda listed: listed + [dict(TOOLS[0], name="t%d" % n) for n in range(297)] + [
          {"inputSchema": {"type": "object"}}]))
stdio("odd-tool.null", "report: one odd tool hides all others", "a tool is null",
      list=tools(lambda listed: listed + [None]))
stdio("odd-tool.number", "report: one odd tool hides all others", "the name of a tool is a number",
      list=more_tool(name=7))
stdio("tool-names.twice", "[2025-11-25 server/tools §Tool Names]", "two tools have one name",
      list=more_tool(name="echo"))
stdio("tool-names.blanks", "[2025-11-25 server/tools §Tool Names]", "a name with blanks, umlauts and a slash",
      list=more_tool(name="süße tools/one two"))
stdio("tool-names.empty", "[2025-11-25 server/tools §Tool Names]", "a name that is empty", list=more_tool(name=""))
stdio("tools.map", "report: small servers written by hand", "tools is an object by name",
      list=tools(lambda listed: {tool["name"]: tool for tool in listed}))
stdio("tools.null", NULLS, "tools is null", list=put(tools=None))
stdio("tools.bare", "report: small servers written by hand", "the result is the list itself",
      list=replace(lambda a: dict(a, result=a["result"]["tools"])))
stdio("annotations.text", "[2025-06-18 server/tools §Tool]", "hints are text",
      list=each_tool(annotations={"readOnlyHint": "true", "title": 5}))
stdio("annotations.list", PHP, "annotations is []", list=each_tool(annotations=[]))
stdio("icons.text", "[2025-11-25 basic/index §`icons`]", "icons is text",
      list=each_tool(icons="https://example.com/i.png"))
stdio("members.unknown", "report: newer members in an older revision", "unknown members everywhere",
      any=replace(lambda a: dict(a, extra=1, result=dict(a["result"], extra={"x": []})) if "result" in a else a))
stdio("members.execution", "[2025-11-25 server/tools §Tool]", "execution.taskSupport has an unknown value",
      list=each_tool(execution={"taskSupport": "maybe"}))
stdio("size.description", "report: whole manuals as descriptions", "a description of two million characters",
      list=each_tool(description="x" * 2000000))
stdio("size.tools", "report: gateways with thousands of tools", "3,000 tools on one page",
      list=tools(lambda listed: listed + [dict(TOOLS[1], name="t%d" % n) for n in range(2998)]))
stdio("deep.schema", "report: generated schemas", "a schema 60 levels deep",
      list=schema(properties={"x": json.loads('{"type":"object","properties":{"x":' * 30 + "{}" + "}}" * 30)}))
stdio("deep.result", "report: recursion limits", "structuredContent nested 5,000 deep",
      echo=replace(lambda a: dumps(a)[:-2] + b', "structuredContent": {"x": ' + b"[" * 5000 + b"]" * 5000 + b"}}}\n"))
# results of calls
stdio("content.missing", CALL, "no content", call=drop("content"))
stdio("content.null", NULLS, "content is null", call=put(content=None))
stdio("content.empty", CALL, "content is [] beside structuredContent", add=put(content=[]))
stdio("content-shape.text", "report: small servers written by hand", "content is text", call=block(lambda b: b["text"]))
stdio("content-shape.block", "report: small servers written by hand", "content is one block", call=block(lambda b: b))
stdio("content-shape.texts", "report: small servers written by hand", "content is a list of texts",
      call=block(lambda b: [b["text"]]))
stdio("block-type.unknown", "[2025-06-18 server/tools §Tool Result]", "a block of an unknown type",
      call=block(lambda b: [b, {"type": "video", "url": "https://example.com/v"}]))
stdio("block-type.missing", "[2025-06-18 server/tools §Tool Result]", "a block without type",
      call=block(lambda b: [{"text": b["text"]}]))
stdio("block-type.resource", "[2025-06-18 server/tools §Embedded Resources]",
      "an embedded resource without text or blob",
      call=block(lambda b: [b, {"type": "resource", "resource": {"uri": "a:b"}}]))
stdio("block-text.number", "report: numbers as text", "text is a number",
      add=block(lambda b: [{"type": "text", "text": 3}]))
stdio("block-text.null", NULLS, "text of a second block is null",
      call=block(lambda b: [b, {"type": "text", "text": None}]))
stdio("block-data.base64", "[2025-06-18 server/tools §Image Content]", "an image that is no base64",
      call=block(lambda b: [b, {"type": "image", "data": "data:image/png;base64,iVBO!!", "mimeType": "image/png"}]))
stdio("structured.list", "[2025-06-18 server/tools §Structured Content]", "structuredContent is a list",
      add=put(structuredContent=[3]))
stdio("structured.text", "[2025-06-18 server/tools §Structured Content]", "structuredContent is text",
      add=put(structuredContent="3"))
stdio("is-error.text", "report: flags as text", "isError is \"false\"", call=put(isError="false"))
stdio("is-error.number", "report: flags as numbers", "isError is 0", call=put(isError=0))
stdio("result.task", "[2025-11-25 basic/utilities/tasks §Creating Tasks]", "a task that nobody asked for", echo=replace(
    lambda a: dict(a, result={"task": {"taskId": "t", "status": "working", "createdAt": "2026-01-01T00:00:00Z",
                                       "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": None}})))
stdio("result.text", "report: small servers written by hand", "the result is text",
      echo=replace(lambda a: dict(a, result=a["result"]["content"][0]["text"])))
stdio("result.empty", CALL, "the result is {}", echo=replace(lambda a: dict(a, result={})))
# messages
stdio("jsonrpc.missing", BASE, "no jsonrpc", any=replace(lambda a: {key: a[key] for key in a if key != "jsonrpc"}))
stdio("jsonrpc.number", BASE, "jsonrpc is 2.0", any=top(jsonrpc=2.0))
stdio("jsonrpc.one", BASE, "jsonrpc is \"1.0\"", any=top(jsonrpc="1.0"))
stdio("id.text", "report: ids turned into text", "ids come back as text",
      any=replace(lambda a: dict(a, id=str(a["id"]))))
stdio("id.float", "report: ids turned into floats", "ids come back as 1.0",
      any=replace(lambda a: dict(a, id=float(a["id"]) if isinstance(a["id"], int) else a["id"])))
stdio("id.missing", BASE, "answers to calls have no id",
      call=replace(lambda a: {"jsonrpc": "2.0", "result": a["result"]}))
stdio("error-id.null", BASE, "the error of a call has id null", echo=fail(-32603, "disk is full", id=None))
stdio("error-id.missing", BASE, "the error of a call has no id",
      echo=replace(lambda a: {"jsonrpc": "2.0", "error": {"code": -32603, "message": "disk is full"}}))
stdio("error-shape.text", BASE, "error is text",
      echo=replace(lambda a: {"jsonrpc": "2.0", "id": a["id"], "error": "disk is full"}))
stdio("error-shape.code", BASE, "the code of an error is text", echo=fail("E_DISK", "disk is full"))
stdio("error-shape.message", BASE, "the message of an error is null", echo=fail(-32603, None))
stdio("error-both.null", "report: members of JSON-RPC 1.0", "error is null beside the result",
      any=replace(lambda a: dict(a, error=None) if "result" in a else dict(a, result=None)))
stdio("error-both.both", BASE, "an error beside a result", echo=top(error={"code": 1, "message": "disk is full"}))
stdio("error-both.neither", BASE, "neither result nor error", echo=replace(lambda a: {"jsonrpc": "2.0", "id": a["id"]}))
# the stream
stdio("banner.lines", PRINTS, "a banner on standard output", first="Odd server 1.0 ✓\nlistening on stdio\n".encode())
stdio("banner.logs", PRINTS, "log lines around each answer", any=around([b"INFO handling\n"], [b"DEBUG done\n"]))
stdio("banner.same-line", PRINTS, "log text on the line of the answer",
      call=replace(lambda a: b"DEBUG " + dumps(a) + b"\n"))
stdio("json-noise.logs", "report: a JSON line that is no message, of a start command", "JSON log lines",
      any=around([b'{"status": 200, "message": "Success", "results": []}\n', b'{"level": "info", "msg": "x"}\n']))
stdio("json-noise.scalars", STDIO, "null, 3, true and [] as lines", any=around([b"null\n3\ntrue\n[]\n\"x\"\n"]))
stdio("json-noise.prompt", "report: prompts of an interpreter", "'>>> ' before each line",
      line=lambda text: b">>> " + text + b"\n")
stdio("bytes.bom", "report: UTF-8 with a byte order mark", "a BOM at the start", first=b"\xef\xbb\xbf")
stdio("bytes.nul", "report: UTF-16 of a shell", "messages in UTF-16",
      line=lambda text: text.decode().encode("utf-16-le") + b"\n\0")
stdio("bytes.ansi", "report: terminal colours", "colour codes before each message",
      line=lambda text: b"\x1b[0m" + text + b"\n")
stdio("lines.crlf", "report: Windows", "CRLF", line=lambda text: text + b"\r\n")
stdio("lines.blank", STDIO, "blank lines", line=lambda text: b"\n \n" + text + b"\n\r\n")
stdio("lines.separators", STDIO, "U+2028, U+0085 and form feeds inside a message",
      list=each_tool(description="a\u2028b\u2029c\x85d\x0ce"))
stdio("framing.pretty", "report: pretty printers", "an answer on many lines",
      any=replace(lambda a: json.dumps(a, indent=2).encode() + b"\n"))
stdio("framing.joined", STDIO, "two messages on one line",
      any=replace(lambda a: dumps(notice("message", level="info", data="x")) + dumps(a) + b"\n"))
stdio("framing.length", "report: the framing of language servers", "Content-Length headers",
      line=lambda text: b"Content-Length: %d\r\n\r\n" % len(text) + text + b"\n")
stdio("batch.answers", "[2025-03-26 basic/index §Batching]", "each answer in an array",
      line=lambda text: b"[" + text + b"]\n")
stdio("pieces.small", STDIO, "answers written in pieces", line=slowly)
stdio("charset.latin-1", "report: code pages of Windows", "an answer in Latin-1",
      echo=replace(lambda a: json.dumps(a, ensure_ascii=False).encode("latin-1", "replace") + b"\n"))
stdio("charset.description", "report: code pages of Windows", "a description in cp1252",
      list=replace(lambda a: dumps(a).replace(b"Return the text.", b"Return \x93the\x94 text \x96 all.") + b"\n"))
stdio("charset.cut", "report: texts cut at bytes", "a text cut within a character",
      echo=replace(lambda a: dumps(a).replace("€".encode(), "€".encode()[:2]) + b"\n"))
stdio("surrogate.escaped", "report: half an emoji", "an escaped lone surrogate",
      list=replace(lambda a: dumps(a).replace(b"Return the text.", b"Return \\ud83d") + b"\n"))
stdio("surrogate.raw", "report: half an emoji", "a lone surrogate in UTF-8", list=each_tool(description="half \ud83d"))
stdio("numbers.nan", "report: NaN of data frames", "NaN in structuredContent",
      add=put(structuredContent={"result": 3, "x": float("nan")}))
stdio("numbers.infinity", "report: NaN of data frames", "Infinity in _meta of the list",
      list=put(_meta={"x": float("inf")}))
stdio("numbers.huge", "report: ids of snowflakes", "an integer of 5,000 digits",
      add=replace(lambda a: dumps(a)[:-2] + b', "_meta": {"x": ' + b"9" * 5000 + b"}}}\n"))
stdio("json-syntax.comma", "report: JSON written by hand", "a trailing comma",
      echo=replace(lambda a: dumps(a)[:-2] + b",}}\n"))
stdio("json-syntax.quotes", "report: repr() for JSON", "single quotes",
      echo=replace(lambda a: repr(a).encode() + b"\n"))
stdio("json-syntax.twice", "report: a key twice", "result twice",
      echo=replace(lambda a: b'{"result": null, ' + dumps(a)[1:] + b"\n"))
# other messages
stdio("twice.answers", BASE, "each answer comes twice", any=replace(lambda a: [a, a]))
stdio("twice.error", BASE, "an error after each answer",
      any=replace(lambda a: [a, error({"id": a["id"]}, -32603, "late")]))
stdio("nobody.answers", BASE, "answers that nobody asked for",
      any=around([{"jsonrpc": "2.0", "id": 9999, "result": {}}, {
          "jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "m"}}]))
stdio("nobody.error", "report: errors as answers to notifications", "an error with id null before each answer",
      any=around([{"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "Method not found"}}]))
stdio("notice.unknown", NOTE, "unknown notifications",
      any=around([notice("odd/thing"), {"jsonrpc": "2.0", "method": "heartbeat"}]))
stdio("notice.params", NOTE, "notifications with null, list and text as params",
      any=around([dict(notice("message"), params=None), dict(notice("progress"), params=[1]), dict(
          notice("cancelled"), params="x")]))
stdio("notice.id-null", NOTE, "notifications with id null", any=around([dict(notice("tools/list_changed"), id=None)]))
stdio("progress.nobody", "[2025-06-18 basic/utilities/progress §Behavior Requirements]", "progress for unknown tokens",
      call=around([notice("progress", progressToken="none", progress=1), notice("progress", progress="half")]))
stdio("log.level", "[2025-06-18 server/utilities/logging §Log Levels]",
      "log messages of unknown level, before initialize is answered",
      any=around([notice("message", level="trace", data="x"), notice("message", level="info")]))
stdio("storm.changes", "report: servers that ring at each start", "400 times list_changed",
      initialize=around(after=[notice("tools/list_changed")] * 400))
stdio("storm.pings", "[2025-06-18 basic/utilities/ping §Implementation Considerations]", "300 pings before an answer",
      echo=around([{"jsonrpc": "2.0", "id": "p%d" % n, "method": "ping"} for n in range(300)]))
stdio("storm.logs", "report: debug logs as notifications", "2,000 log messages before an answer",
      echo=around([notice("message", level="debug", data="x" * 200)] * 2000))
stdio("asks-early.ping", "[2025-06-18 basic/lifecycle §Initialization]", "ping before initialize is answered",
      initialize=ask("ping"))
stdio("asks-early.roots", "[2025-06-18 basic/lifecycle §Initialization]", "roots/list before initialize is answered",
      initialize=ask("roots/list"))
stdio("asks-early.start", "[2025-06-18 basic/lifecycle §Initialization]", "ping before anything",
      first=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
stdio("asks.unknown", "[2025-06-18 basic/index §Requests]", "an unknown request, whose answer is awaited",
      echo=ask("odd/thing"))
stdio("asks.sampling", "[2025-06-18 client/sampling §Capabilities]", "sampling that was not declared",
      echo=ask("sampling/createMessage", messages=[
          {"role": "user", "content": {"type": "text", "text": "hi"}}], maxTokens=5))
stdio("asks.elicitation", "[2025-06-18 client/elicitation §Capabilities]", "elicitation that was not declared",
      echo=ask("elicitation/create", message="Who?", requestedSchema={"type": "object", "properties": {}}))
stdio("asks-id.same", "[2025-06-18 basic/index §Requests]", "a request under the id of the client's request",
      echo=lambda a, q, p: [p.hold(a), {"jsonrpc": "2.0", "id": q["id"], "method": "ping"}][1:])
stdio("asks-id.null", "[2025-06-18 basic/index §Requests]", "a request with id null",
      echo=around([{"jsonrpc": "2.0", "id": None, "method": "ping"}]))
stdio("asks-id.float", "[2025-06-18 basic/index §Requests]", "a request with id 1.5", echo=ask("ping", ident=1.5))
stdio("cancelled.request", "[2025-06-18 basic/utilities/cancellation §Cancellation Flow]",
      "the server cancels the client's request, and answers", echo=lambda a, q,
      p: [notice("cancelled", requestId=q["id"]), a])
# versions
stdio("version.future", VERSION, "2099-01-01", initialize=put(protocolVersion="2099-01-01"))
stdio("version.old", VERSION, "2024-10-07", initialize=put(protocolVersion="2024-10-07"))
stdio("version.short", "report: versions made up", "1.0", initialize=put(protocolVersion="1.0"))
stdio("version-type.number", VERSION, "a number", initialize=put(protocolVersion=20250618))
stdio("version-type.missing", VERSION, "none", initialize=drop("protocolVersion"))
stdio("version-type.null", NULLS, "null", initialize=put(protocolVersion=None))
stdio("version-error.data", VERSION, "an error with the supported versions, once", initialize=lambda a, q, p: (
    a if q["params"]["protocolVersion"] == "2024-11-05" else error(q, -32602, "Unsupported protocol version", error={
        "code": -32602, "message": "Unsupported protocol version",
        "data": {"supported": ["2024-11-05"], "requested": q["params"]["protocolVersion"]}})))
# the probe
stdio("probe.silent", PROBE, "server/discover is not answered", discover=silent)
stdio("probe.late", PROBE, "server/discover is answered after initialize", discover=lambda a, q, p: [p.hold(a)][:0],
      initialize=lambda a, q, p: [a] + p.replies({}))
stdio("probe.dies", PROBE, "server/discover ends the process", discover=lambda a, q,
      p: [says("expected initialize\n", 1)])
stdio("probe-error.not-initialized", PROBE, "-32002 with text", discover=fail(-32002, "Server not initialized"))
stdio("probe-error.id-null", PROBE, "an error with id null", discover=fail(-32600, "Invalid Request", id=None))
stdio("probe-error.text", PROBE, "a line of text", discover=replace(lambda a: b"unknown command server/discover\n"))
stdio("probe-result.empty", PROBE, "{} for each unknown method",
      discover=replace(lambda a: {"jsonrpc": "2.0", "id": a["id"], "result": {}}))
stdio("probe-result.initialize", PROBE, "the result of initialize", discover=replace(lambda a: {
    "jsonrpc": "2.0", "id": a["id"], "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                                                "serverInfo": {"name": "odd", "version": "1"}}}))
stdio("probe-result.null", PROBE, "null", discover=replace(lambda a: {"jsonrpc": "2.0", "id": a["id"], "result": None}))
# the stateless revision
DISCOVER = "[2026-07-28 server/discover §DiscoverResult]"
stdio("healthy.modern", DISCOVER, "nothing", modern=True)
stdio("modern.result-type", "[2026-07-28 basic/index §ResultType]", "no resultType", modern=True,
      list=drop("resultType"), call=drop("resultType"), discover=drop("resultType"))
stdio("modern.caching", "[2026-07-28 server/utilities/caching §Cacheable Model]", "no ttlMs and no cacheScope",
      modern=True, list=drop("ttlMs", "cacheScope"), discover=drop("ttlMs", "cacheScope"))
stdio("modern.server-info", DISCOVER, "no serverInfo", modern=True, discover=drop("_meta"))
stdio("modern-odd.result-type", "[2026-07-28 basic/index §ResultType]", "an unknown resultType", modern=True,
      call=put(resultType="partial"))
stdio("modern-odd.ttl", "[2026-07-28 server/utilities/caching §Cacheable Model]", "ttlMs is text, cacheScope unknown",
      modern=True, list=put(ttlMs="60000", cacheScope="shared"))
stdio("modern-odd.capabilities", DISCOVER, "capabilities is null", modern=True, discover=put(capabilities=None))
stdio("modern-versions.future", "[2026-07-28 basic/versioning §Protocol Version Negotiation]", "only a future version",
      modern=True, discover=put(supportedVersions=["2099-01-01"]))
stdio("modern-versions.text", "[2026-07-28 basic/versioning §Protocol Version Negotiation]",
      "supportedVersions is text", modern=True, discover=put(supportedVersions="2026-07-28"))
stdio("modern-versions.error", "[2026-07-28 basic/versioning §Protocol Version Negotiation]",
      "each request is refused, with 2025-06-18 as supported", discover=lambda a, q,
      p: error(q, -32022, "no", error={"code": -32022, "message": "Unsupported protocol version", "data": {
          "supported": ["2025-06-18"], "requested": "2026-07-28"}}))
# the process
TERM = "[2026-07-28 basic/transports/stdio §Unexpected Termination]"
stdio("dies-start.module", "report: a module is missing", "ends with a traceback",
      start=[says("Traceback (most recent call last):\n  ...\nModuleNotFoundError: No module named 'fastodd'\n", 1)])
stdio("dies-start.silent", TERM, "ends with code 3 and says nothing", start=[says("", 3)])
stdio("dies-start.usage", "report: a missing argument", "prints usage on standard output and ends",
      start=[b"usage: odd [--stdio] FOLDER\n", says("", 0)])
stdio("dies-call.traceback", TERM, "a call ends the process", echo=lambda a, q,
      p: [says("Segmentation fault: heap\n", 139)])
stdio("dies-call.after", TERM, "the process ends after the answer", echo=lambda a, q, p: [a, says("idle, bye\n", 0)])
stdio("dies-call.signal", TERM, "the process is killed in a call", echo=lambda a, q,
      p: [lambda player: os.kill(os.getpid(), signal.SIGKILL)])
stdio("dies-initialize.error", "report: a key is missing", "initialize is answered by an error, then the process ends",
      initialize=lambda a, q, p: [error(q, -32000, "ODD_API_KEY is not set"), says("ODD_API_KEY is not set\n", 1)])
stdio("dies-initialize.stderr", "report: a key is missing", "the process ends at initialize", initialize=lambda a, q,
      p: [says("ODD_API_KEY is not set\n", 1)])
stdio("hangs.initialize", "[2025-06-18 basic/lifecycle §Timeouts]", "nothing is ever answered", any=silent)
stdio("hangs.call", "[2025-06-18 basic/lifecycle §Timeouts]", "a call is not answered", echo=silent)
stdio("hangs.explained", "report: an HTTP server started as a stdio server",
      "says on standard error that it listens on a port, answers nothing",
      start=[lambda player: sys.stderr.write("Uvicorn running on http://127.0.0.1:8000\n") and sys.stderr.flush()],
      any=silent)
stdio("slow.start", "report: package runners that install first", "prints for two seconds before it reads",
      start=[b"installing odd ...\n", pause(1), b"added 312 packages\n", pause(1)])
stdio("slow.answer", "report: slow tools", "a call takes two seconds", echo=lambda a, q, p: [pause(2), a])
stdio("closed.stdout", "[2026-07-28 basic/transports/stdio §Shutdown]", "closes its output at the call and lives on",
      echo=lambda a, q, p: [lambda player: os.close(1), lambda player: sys.stdin.buffer.read(), says("", 0)])
stdio("stderr.flood", STDIO, "writes half a megabyte to standard error at each request", any=lambda a, q,
      p: [lambda player: sys.stderr.write("noise\n" * 80000), a])
stdio("stderr.bytes", STDIO, "writes bytes that are no text to standard error", any=lambda a, q,
      p: [lambda player: os.write(2, b"\xff\xfe\0 \x93noise\x94"), a])
stdio("end.ignored", "[2025-06-18 basic/lifecycle §Shutdown]", "stays when its input ends, and ignores SIGTERM",
      end=[lambda player: signal.signal(signal.SIGTERM, signal.SIG_IGN), pause(20)])
# pages of lists
stdio("cursor.endless", PAGES, "a new cursor for ever", list=pages(lambda page: "c%d" % page))
stdio("cursor.repeated", PAGES, "the same cursor again and again", list=pages(lambda page: "same"))
stdio("cursor.empty", PAGES, "an empty cursor at the end", list=pages(lambda page: "", last=1))
stdio("cursor-type.number", PAGES, "a cursor that is a number", list=pages(lambda page: page, last=1))
stdio("cursor-type.false", PAGES, "nextCursor is false", list=put(nextCursor=False))


# -- HTTP

class Exchange:
    """One HTTP request and what the server would answer."""

    def __init__(self, player: Player, verb: str, path: str, headers: Dict[str, str], body: bytes) -> None:
        self.player, self.verb, self.path, self.headers = player, verb, path, headers
        self.message: Any = json.loads(body.decode("utf-8")) if body else None
        self.key = key_of(self.message) if isinstance(self.message, dict) and "method" in self.message else ""
        self.asks = bool(self.key) and "id" in self.message


def reply(body: bytes = b"", status: str = "200 OK", content_type: Optional[str] = "application/json",
          length: bool = True, version: str = "HTTP/1.1", **headers: str) -> bytes:
    """Return an HTTP response as bytes."""
    lines = ["%s %s" % (version, status)]
    if content_type is not None:
        lines.append("Content-Type: " + content_type)
    lines += ["%s: %s" % (name.replace("_", "-").title(), headers[name]) for name in headers]
    if length:
        lines.append("Content-Length: %d" % len(body))
    return "\r\n".join(lines).encode("utf-8") + b"\r\n\r\n" + body


def page(status: str, text: str = "the proxy has no server behind it", **headers: str) -> bytes:
    """Return a page of HTML."""
    return reply(("<html><head><title>%s</title></head><body>%s</body></html>" % (status, text)).encode(), status,
                 "text/html; charset=utf-8", **headers)


def sse(body: bytes, content_type: str = "text/event-stream", **headers: str) -> bytes:
    """Return a stream of events that ends."""
    return reply(body, content_type=content_type, **headers)


def event(body: bytes) -> bytes:
    """Return BODY as an event."""
    return b"event: message\ndata: " + body + b"\n\n"


def plain(exchange: Exchange, body: bytes) -> bytes:
    """Return a healthy answer."""
    return reply(body)


Frame = Callable[[Exchange, bytes], Any]        # (request, JSON of the answer): bytes, or a list of those and functions


def at(key: str, frame: Frame) -> Frame:
    """Use FRAME for requests of KEY alone."""
    return lambda x, body: frame(x, body) if x.key == key else plain(x, body)


def status(key: str, response: bytes) -> Frame:
    """Answer requests of KEY by RESPONSE."""
    return at(key, lambda x, body: response)


def close(player: Player) -> None:
    """Mark that the connection is closed now."""
    raise ConnectionError("closed on purpose")


def hang(player: Player) -> None:
    """Wait until the row has been played."""
    player.closing.wait(60)


def until(player: Player, happened: threading.Event) -> None:
    """Wait until something has HAPPENED, or the row has been played."""
    while not player.closing.is_set() and not happened.wait(LOOK_SECONDS):
        pass


def held_open(x: Exchange, body: bytes) -> List[Any]:
    """Answer by a stream that stays open behind the answer."""
    return [b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + event(body), hang, close]


def asking(x: Exchange, body: bytes) -> List[Any]:
    """Ping the client on the stream of the call, and answer when it has answered by another POST."""
    answered = threading.Event()
    x.player.hold(lambda player: answered.set())
    request = event(dumps({"jsonrpc": "2.0", "id": "p", "method": "ping"}))
    return [b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + request,
            lambda player: until(player, answered), event(body), close]


def lost(response: bytes) -> Frame:
    """Lose the first session at the first call."""
    def frame(x: Exchange, body: bytes) -> bytes:
        if x.key == "initialize":
            return reply(body, mcp_session_id="s%d" % x.player.seen.count("initialize"))
        return response if x.key == "echo" and x.headers.get("mcp-session-id") == "s1" else reply(body)
    return frame


def session(ident: Callable[[Exchange], str]) -> Frame:
    """Give each answer a session id."""
    return lambda x, body: reply(body, mcp_session_id=ident(x))


def chunks(body: bytes, extension: bytes = b"", end: bytes = b"0\r\n\r\n") -> bytes:
    """Return BODY in chunks of seven bytes."""
    pieces = [body[start:start + 7] for start in range(0, len(body), 7)]
    return b"".join(b"%x%s\r\n%s\r\n" % (len(piece), extension, piece) for piece in pieces) + end


def moved(code: str, where: str) -> Frame:
    """Send requests for /mcp elsewhere."""
    return lambda x, body: reply(b"", code, None, location=where) if x.path == "/mcp" else reply(body)


def first_time(key: str, response: Any) -> Frame:
    """Answer the first request of KEY by RESPONSE."""
    return lambda x, body: response if x.key == key and x.player.seen.count(key) == 1 else reply(body)


def cut(x: Exchange, body: bytes) -> Any:
    """End the stream of the call before its answer, after an event with an id."""
    x.player.held.append(body)
    return sse(b"id: e1\nretry: 20\ndata:\n\n")


def resumed(x: Exchange) -> Any:
    """Give on the GET stream what the stream of the call has kept back."""
    if x.headers.get("last-event-id") != "e1":
        return reply(b"", "405 Method Not Allowed", None)
    return sse(b"id: e2\n" + event(x.player.held.pop()))


def elsewhere() -> Dict[str, Any]:
    """Return the options of a server that answers a call on the stream of a GET."""
    answers: List[bytes] = []
    ready = threading.Event()

    def frame(x: Exchange, body: bytes) -> bytes:
        answers[:] = [body]
        ready.set()
        return reply(b"", "202 Accepted", None)

    def get(x: Exchange) -> List[Any]:
        return [b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
                lambda player: until(player, ready), lambda player: map(event, answers), hang, close]

    return {"frame": at("echo", frame), "get": get}


def legacy(endpoint: str, accepted: bytes = b"Accepted", greeting: bytes = b"") -> Dict[str, Any]:
    """Return the options of a server of the HTTP+SSE transport, whose POST to the stream's URL fails."""
    streams: Dict[int, Any] = {}

    def get(x: Exchange) -> List[Any]:
        queue: List[bytes] = []
        ready = threading.Condition()
        streams[id(x.player)] = (queue, ready)
        first = endpoint.replace("HOST", x.headers["host"])
        return [b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + greeting + b"event: endpoint\ndata: "
                + first.encode() + b"\n\n", lambda player: serve(player, queue, ready), close]

    def serve(player: Player, queue: List[bytes], ready: threading.Condition) -> Iterator[bytes]:
        while not player.closing.is_set():
            with ready:
                ready.wait_for(lambda: queue, LOOK_SECONDS)
                sent, queue[:] = list(queue), []
            for body in sent:
                yield event(body)

    def frame(x: Exchange, body: bytes) -> bytes:
        if x.path == "/mcp":
            return reply(b"Method Not Allowed", "405 Method Not Allowed", "text/plain")
        queue, ready = streams[id(x.player)]
        with ready:
            queue.append(body)
            ready.notify()
        return reply(accepted, "202 Accepted", "text/plain")

    return {"get": get, "frame": frame}


class Playing:
    """Plays a row over HTTP in threads of this process: ``with Playing(row) as url``."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.player = Player(row)
        self.listener = socket.socket()
        self.open: List[socket.socket] = []

    def __enter__(self) -> str:
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(50)
        threading.Thread(target=self.accept, daemon=True).start()
        return "http://127.0.0.1:%d%s" % (self.listener.getsockname()[1], self.row.options.get("path", "/mcp"))

    def __exit__(self, *exc: Any) -> None:
        self.player.closing.set()
        for connection in [self.listener] + self.open:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass                        # it is closed already
            connection.close()

    def accept(self) -> None:
        """Serve each connection in a thread of its own."""
        while not self.player.closing.is_set():
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return                      # the listener was closed
            self.open.append(connection)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection: socket.socket) -> None:
        """Answer the requests of one connection until an answer closes it."""
        try:
            with connection, connection.makefile("rb") as lines:
                while True:
                    exchange = self.read(lines)
                    if exchange is None:
                        return
                    self.send(connection, self.respond(exchange))
        except (OSError, ValueError):
            pass                            # the client has gone, or the row closes the connection

    def read(self, lines: Any) -> Optional[Exchange]:
        """Return the next request."""
        start = lines.readline().decode("latin-1").split()
        if len(start) < 2:
            return None
        headers: Dict[str, str] = {}
        for line in iter(lines.readline, b"\r\n"):
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.strip().lower()] = value.strip()
        body = lines.read(int(headers.get("content-length", 0)))
        return Exchange(self.player, start[0], start[1], headers, body)

    def respond(self, x: Exchange) -> List[Any]:
        """Return what is sent for a request."""
        options, wanted = self.row.options, []
        if x.verb == "GET":
            wanted = options.get("get", lambda x: reply(b"", "405 Method Not Allowed", None))(x)
        elif x.verb == "DELETE":
            wanted = options.get("delete", lambda x: reply(b"", "200 OK", None))(x)
        else:
            items = self.player.replies(x.message)
            if x.asks:
                wanted = self.framed(x, items)
            else:
                for item in items:
                    item(self.player)
                wanted = options.get("notified", lambda x: reply(b"", "202 Accepted", None))(x)
        return wanted if isinstance(wanted, list) else [wanted]

    def framed(self, x: Exchange, items: List[Any]) -> Any:
        """Return the answer to a request as the row frames it."""
        frame = self.row.options.get("frame", plain)
        if len(items) == 1 and isinstance(items[0], (dict, list, bytes)):
            return frame(x, items[0] if isinstance(items[0], bytes) else dumps(items[0]))
        return [b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"] + [
            item if callable(item) else event(dumps(item)) for item in items] + [close]

    def send(self, connection: socket.socket, items: List[Any]) -> None:
        """Send bytes, and call functions: what they yield is sent, too."""
        for item in items:
            if isinstance(item, bytes):
                connection.sendall(item)
            else:
                for more in item(self.player) or ():
                    connection.sendall(more)


SEND = "[2025-06-18 basic/transports §Sending Messages to the Server]"
LISTEN = "[2025-06-18 basic/transports §Listening for Messages from the Server]"
SESSION = "[2025-06-18 basic/transports §Session Management]"
RESUME = "[2025-06-18 basic/transports §Resumability and Redelivery]"
EARLIER = "[2026-07-28 basic/transports/streamable-http §Earlier Streamable HTTP Revisions]"
HTTP_SSE = "[2024-11-05 basic/transports §HTTP with SSE]"
SLASH = "report: frameworks that redirect to the path with a slash"
PROXY = "report: proxies that answer for the server"

http("healthy.http", SEND, "nothing")
http("type.text", "report: plain text as the type of JSON", "text/plain", frame=lambda x,
     body: reply(body, content_type="text/plain; charset=UTF-8"))
http("type.missing", SEND, "no Content-Type", frame=lambda x, body: reply(body, content_type=None))
http("type.html", SEND, "text/html for JSON", frame=lambda x, body: reply(body, content_type="text/html"))
http("type-case.charset", SEND, "Application/JSON; Charset=\"UTF-8\"", frame=lambda x,
     body: reply(body, content_type='Application/JSON; Charset="UTF-8"'))
http("type-case.suffix", SEND, "application/vnd.odd+json", frame=lambda x,
     body: reply(body, content_type="application/vnd.odd+json"))
http("type-case.latin-1", "report: charsets of application servers", "ISO-8859-1, as the header says",
     frame=at("list", lambda x, body: reply(
         body.replace(b"Return the text.", b"Zur\xfcck"), content_type="application/json; charset=ISO-8859-1")))
http("type-wrong.sse-as-json", "report: the type of streams", "events under application/json", frame=lambda x,
     body: reply(event(body)))
http("type-wrong.json-as-sse", "report: the type of streams", "JSON under text/event-stream", frame=lambda x,
     body: sse(body))
http("coding.gzip", "report: compression that nobody asked for", "gzip", frame=lambda x,
     body: reply(gzip.compress(body), content_encoding="gzip"))
http("coding.deflate", "report: compression that nobody asked for", "deflate", frame=lambda x,
     body: reply(zlib.compress(body), content_encoding="deflate"))
http("coding.sse", "report: compression that nobody asked for", "gzip of a stream", frame=lambda x,
     body: sse(gzip.compress(event(body)), content_encoding="gzip"))
http("chunked.extensions", PROXY, "chunk extensions and trailers", frame=lambda x,
     body: reply(chunks(body, b';a="b"', b"0\r\nX-Sum: 1\r\n\r\n"), length=False, transfer_encoding="chunked"))
http("chunked.upper", PROXY, "Chunked, sizes with zeros in front", frame=lambda x,
     body: reply(b"%08X\r\n%s\r\n0\r\n\r\n" % (len(body), body), length=False, transfer_encoding="Chunked"))
http("chunked.cut", PROXY, "a chunked answer to a call that is cut",
     frame=at("echo", lambda x, body: [
         reply(chunks(body[:-20], end=b""), length=False, transfer_encoding="chunked"), close]))
http("length.close", SEND, "no length: the answer ends with the connection", frame=lambda x,
     body: [reply(body, length=False, connection="close"), close])
http("length.long", PROXY, "the length of a call's answer is too long, then the connection closes",
     frame=at("echo", lambda x, body: [reply(body, length=False, content_length=str(len(body) + 10)), close]))
http("length.short", PROXY, "the length of a call's answer is too short",
     frame=at("echo", lambda x, body: reply(body, length=False, content_length=str(len(body) - 10))))
http("http.1.0", PROXY, "HTTP/1.0", frame=lambda x, body: [reply(body, version="HTTP/1.0"), close])
http("http.no-reason", PROXY, "no reason behind 200", frame=lambda x, body: reply(body, "200"))
http("http.early-hints", PROXY, "103 before the answer", frame=lambda x,
     body: b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + reply(body))
http("headers.case", PROXY, "headers in small letters, with blanks", frame=lambda x,
     body: b"HTTP/1.1 200 OK\r\ncontent-type:application/json  \r\ncontent-length:   %d\r\nx-odd: \xfc\r\n\r\n" % len(
         body) + body)
http("headers.newline", "report: servers written by hand", "lines end with LF", frame=lambda x,
     body: b"HTTP/1.1 200 OK\nContent-Type: application/json\nContent-Length: %d\n\n" % len(body) + body)
http("connection.closed", "report: connections closed without a word", "closed after each answer", frame=lambda x,
     body: [reply(body), close])
http("connection.reset", "report: connections closed without a word", "closed instead of the answer to a call",
     frame=at("echo", lambda x, body: [close]))
http("connection.late", "report: connections closed without a word",
     "closed instead of the first answer to tools/list", frame=first_time("list", [close]))
# answers to notifications
http("notified.200", SEND, "200 with {}", notified=lambda x: reply(b"{}"))
http("notified.204", SEND, "204", notified=lambda x: reply(b"", "204 No Content", None, length=False))
http("notified.text", "report: text as answer to notifications", "200 with text",
     notified=lambda x: reply(b"Accepted", content_type="text/plain"))
http("notified-error.400", SEND, "400", notified=lambda x: reply(b"bad", "400 Bad Request", "text/plain"))
http("notified-error.500", SEND, "500", notified=lambda x: page("500 Internal Server Error"))
http("notified-error.json", "report: errors as answers to notifications", "200 with an error and id null",
     notified=lambda x: reply(dumps(error({}, -32601, "Method not found"))))
http("notified-sse.empty", SEND, "a stream without events", notified=lambda x: sse(b""))
# the GET stream
http("get.404", LISTEN, "404", get=lambda x: page("404 Not Found"))
http("get.500", LISTEN, "500", get=lambda x: page("500 Internal Server Error"))
http("get.html", "report: a page for GET leads to an endless loop", "200 with HTML", get=lambda x: page("200 OK"))
http("get-stream.ends", "report: streams that end at once", "a stream that ends at once",
     get=lambda x: [sse(b": hello\n\n"), close])
http("get-stream.noise", LISTEN, "a stream of noise", get=lambda x: [
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: x\ndata: {\n\ndata: 3\n\n\xff\xfe\n\n",
    hang, close])
http("get-stream.hangs", LISTEN, "GET is not answered", get=lambda x: [hang, close])
http("answer-elsewhere.get", "report: the answer comes on the GET stream",
     "202 for the call, the answer on the GET stream", **elsewhere())
http("delete.405", SESSION, "405 for DELETE", frame=session(lambda x: "s"),
     delete=lambda x: page("405 Method Not Allowed"))
http("delete.hangs", SESSION, "DELETE is not answered", frame=session(lambda x: "s"), delete=lambda x: [hang, close])
# sessions
GONE = dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "Session not found"}})
http("session-lost.404", SESSION, "404", frame=lost(reply(GONE, "404 Not Found")))
http("session-lost.400", "report: 400 for a lost session", "400", frame=lost(reply(GONE, "400 Bad Request")))
http("session-lost.410", "report: 410 for a lost session", "410 with text",
     frame=lost(reply(b"gone", "410 Gone", "text/plain")))
http("session-lost-200.error", "report: 200 for a lost session", "200 with an error", frame=lost(reply(GONE)))
http("session-id.long", "report: tokens as session ids", "5,000 characters", frame=session(lambda x: "a" * 5000))
http("session-id.odd", SESSION, "blanks and umlauts", frame=session(lambda x: "s 1/\xfc"))
http("session-id.changes", SESSION, "another one with each answer", frame=session(lambda x: "s%d" % len(x.player.seen)))
# events
http("sse.healthy", SEND, "nothing", frame=lambda x, body: sse(event(body)))
http("sse-fields.comments", SEND, "comments, retry, id, unknown fields", frame=lambda x,
     body: sse(b": hi\n\nretry: x\nretry: 10\nid: 7\nfoo: bar\nfoo\n\n: more\n" + event(body)))
http("sse-fields.tight", SEND, "no blank behind the colon, data first", frame=lambda x,
     body: sse(b"data:" + body + b"\nevent:message\nid\n\n"))
http("sse-fields.lines", SEND, "data on many lines", frame=lambda x,
     body: sse(b"".join(b"data: " + line + b"\n" for line in json.dumps(json.loads(body.decode()), indent=1).encode(
         ).split(b"\n")) + b"\n"))
http("sse-lines.crlf", SEND, "CRLF", frame=lambda x, body: sse(event(body).replace(b"\n", b"\r\n")))
http("sse-lines.cr", SEND, "CR alone", frame=lambda x, body: sse(event(body).replace(b"\n", b"\r")))
http("sse-lines.bom", SEND, "a BOM first", frame=lambda x, body: sse(b"\xef\xbb\xbf" + event(body)))
http("sse-end.no-blank", "report: streams without the last blank line", "no blank line behind the last event",
     frame=lambda x, body: sse(event(body)[:-1]))
http("sse-end.no-newline", "report: streams without the last blank line", "no end of line, either", frame=lambda x,
     body: sse(event(body)[:-2]))
http("sse-end.open", LISTEN, "the stream stays open behind the answer", frame=held_open)
http("sse-events.several", SEND, "log messages, pings and noise before the answer", frame=lambda x,
     body: sse(event(dumps(notice("message", level="info", data="x"))) + b"data: \n\nevent: ping\ndata: {}\n\n" + event(
         b"not json") + event(body)))
http("sse-events.named", "report: other names of events", "the event is called response", frame=lambda x,
     body: sse(b"event: response\ndata: " + body + b"\n\n"))
http("sse-events.done", "report: the streams of model APIs", "data: [DONE] at the end", frame=lambda x,
     body: sse(event(body) + b"data: [DONE]\n\n"))
http("sse-batch.answers", "[2025-03-26 basic/index §Batching]", "the answer in an array", frame=lambda x,
     body: sse(event(b"[" + body + b"]")))
http("sse-batch.json", "[2025-03-26 basic/index §Batching]", "the answer in an array, without events", frame=lambda x,
     body: reply(b"[" + body + b"]"))
http("sse-cut.empty", RESUME, "the stream of a call has no event", frame=at("echo", lambda x, body: sse(b"")))
http("sse-cut.half", RESUME, "the stream of a call ends within the answer",
     frame=at("echo", lambda x, body: sse(event(body)[:-40])))
http("sse-cut.resumable", RESUME, "the stream of a call ends, its answer comes by Last-Event-ID", frame=at("echo", cut),
     get=resumed)
http("sse-asks.ping", SEND, "a ping on the stream of a call, whose answer is awaited", frame=at("echo", asking))
http("sse-asks.refused", SEND, "the answer to that ping is refused by 400", frame=at("echo", asking),
     notified=lambda x: (reply(b"", "202 Accepted", None) if x.key else reply(b"no", "400 Bad Request", "text/plain")))
# elsewhere
http("redirect.307", SLASH, "307 to the path with a slash", frame=moved("307 Temporary Redirect", "/mcp/"))
http("redirect.308", SLASH, "308, relative", frame=moved("308 Permanent Redirect", "mcp/"))
http("redirect.301", SLASH, "301", frame=moved("301 Moved Permanently", "/mcp/"))
http("redirect-odd.itself", "report: redirects in a circle", "307 to itself",
     frame=moved("307 Temporary Redirect", "/mcp"))
http("redirect-odd.login", "report: login pages", "302 to a login page", frame=lambda x,
     body: reply(b"", "302 Found", None, location="/login"), get=lambda x: page("200 OK", "Log in"))
http("redirect-odd.nowhere", "report: redirects without Location", "307 without Location", frame=lambda x,
     body: reply(b"", "307 Temporary Redirect", None))
# errors of proxies and servers
http("error-page.500", PROXY, "a page with 500 for a call", frame=status("echo", page("500 Internal Server Error")))
http("error-page.502", PROXY, "a page with 502 for a call", frame=status("echo", page("502 Bad Gateway")))
http("error-page.503", PROXY, "a page with 503 for everything", frame=lambda x,
     body: page("503 Service Unavailable", "down for maintenance"))
http("busy.429", "report: rates", "429 with Retry-After for a first call",
     frame=first_time("echo", reply(b"slow down", "429 Too Many Requests", "text/plain", retry_after="1")))
http("busy.503", PROXY, "503 with Retry-After for the first initialize",
     frame=first_time("initialize", page("503 Service Unavailable", retry_after="1")))
http("auth.401", "[2025-06-18 basic/authorization §Authorization Server Location]", "401 without WWW-Authenticate",
     frame=lambda x, body: reply(b'{"error": "missing API key"}', "401 Unauthorized"),
     get=lambda x: page("404 Not Found"))
http("auth.403", "report: firewalls", "403 with a page", frame=lambda x,
     body: page("403 Forbidden", "Attention Required! | Firewall"))
http("auth.basic", "report: passwords of proxies", "401 with Basic", frame=lambda x,
     body: reply(b"login", "401 Unauthorized", "text/plain", www_authenticate='Basic realm="staging"'),
     get=lambda x: page("404 Not Found"))
http("body.page", "report: single-page applications", "200 with a page for everything", frame=lambda x,
     body: page("200 OK", "You need to enable JavaScript"), get=lambda x: page("200 OK"))
http("body.empty", SEND, "200 with nothing for a call", frame=status("echo", reply(b"")))
http("body.accepted", SEND, "202 with nothing for a call", frame=status("echo", reply(b"", "202 Accepted", None)))
http("body-json.gateway", "report: gateways with errors of their own", "200 with JSON that is no message for a call",
     frame=status("echo", reply(b'{"message": "Endpoint request timed out"}')))
http("body-json.bom", "report: UTF-8 with a byte order mark", "a BOM", frame=lambda x,
     body: reply(b"\xef\xbb\xbf" + body))
http("body-json.surrogate", "report: half an emoji", "an escaped lone surrogate in a call's answer",
     frame=at("add", lambda x, body: reply(body[:-2] + b', "_meta": {"x": "\\ud83d"}}}')))
http("code.answer", SEND, "the answer to a call comes with 500",
     frame=at("echo", lambda x, body: reply(body, "500 Internal Server Error")))
http("code.error", SEND, "an error comes with 400 and id null",
     frame=status("echo", reply(dumps(error({}, -32602, "text is too long")), "400 Bad Request")))
http("code.201", SEND, "201 for each answer", frame=lambda x, body: reply(body, "201 Created"))
http("id-http.text", "report: ids turned into text", "ids come back as text",
     any=replace(lambda a: dict(a, id=str(a["id"]))))
http("id-http.wrong", BASE, "the answer to a call has another id", echo=replace(lambda a: dict(a, id=77)))
http("id-http.null", BASE, "the error of a call has id null, with 200", echo=fail(-32603, "disk is full", id=None))
# the probe
http("discover-status.404", EARLIER, "404", frame=status("discover", page("404 Not Found")))
http("discover-status.400", EARLIER, "400 with an error without id",
     frame=status(
         "discover", reply(dumps(error({}, -32000, "Bad Request: Server not initialized")), "400 Bad Request")))
http("discover-status.500", "report: servers that fail before initialize", "500 with a page",
     frame=status("discover", page("500 Internal Server Error")))
http("discover-refused.406", "report: media types", "406",
     frame=status("discover", reply(b"", "406 Not Acceptable", None)))
http("discover-refused.405", EARLIER, "405", frame=status("discover", reply(b"", "405 Method Not Allowed", None)))
http("discover-refused.422", "report: validating frameworks", "422 with details",
     frame=status(
         "discover", reply(b'{"detail": [{"loc": ["body"], "msg": "unknown method"}]}', "422 Unprocessable Entity")))
http("discover-error.600", EARLIER, "-32600 with id null in 200", discover=fail(-32600, "Invalid Request", id=None))
http("discover-error.603", EARLIER, "-32603 in 200", discover=fail(-32603, "Internal error"))
http("discover-error.session", EARLIER, "404 with 'Session not found'",
     frame=status("discover", reply(GONE, "404 Not Found")))
http("discover-none.closed", "report: servers that fail before initialize", "the connection is closed",
     frame=at("discover", lambda x, body: [close]))
http("discover-none.hangs", "report: servers that fail before initialize", "no answer",
     frame=at("discover", lambda x, body: [hang, close]))
http("discover-none.202", SEND, "202 and nothing", frame=status("discover", reply(b"", "202 Accepted", None)))
http("discover-odd.page", PROXY, "200 with a page", frame=status("discover", page("200 OK")))
http("discover-odd.empty", EARLIER, "200 with {} as result",
     discover=replace(lambda a: {"jsonrpc": "2.0", "id": a["id"], "result": {}}))
http("discover-odd.sse", EARLIER, "a stream without events", frame=status("discover", sse(b"")))
http("modern-http.healthy", DISCOVER, "nothing", modern=True)
http("modern-http.404", "[2026-07-28 basic/transports/streamable-http §Protocol Version Header]",
     "-32601 with 404 for ping and initialize", modern=True, frame=lambda x,
     body: reply(body, "404 Not Found" if b'"error"' in body else "200 OK"))
http("modern-http.lost-era",
     "[2026-07-28 basic/versioning §Backward Compatibility with Initialization-Based Versions]",
     "discover is answered, all else wants initialize", discover=replace(lambda a: {
         "jsonrpc": "2.0", "id": a["id"], "result": {
             "resultType": "complete", "supportedVersions": ["2025-06-18"], "capabilities": {"tools": {}}, "ttlMs": 0,
             "cacheScope": "private"}}))
# the transport of 2024-11-05
http("old-sse.relative", HTTP_SSE, "a relative endpoint", **legacy("/messages?id=1"))
http("old-sse.absolute", HTTP_SSE, "an absolute endpoint", **legacy("http://HOST/messages?id=1"))
http("old-sse.query", HTTP_SSE, "an endpoint that is a query only, behind comments",
     **legacy("?sessionId=1", b"", b": hi\n\nevent: ping\ndata: x\n\n"))
http("old-sse-odd.host", HTTP_SSE, "an endpoint on another host", **legacy("http://example.invalid/messages"))
http("old-sse-odd.bare", HTTP_SSE, "a path without slash", **legacy("messages/1"))
http("nothing.refused", "report: a server that is not running", "nothing listens", path="REFUSED")


def main(arguments: List[str]) -> None:
    """Play the row that ARGUMENTS name, or list the rows."""
    if not arguments:
        for one in ROWS.values():
            print("%-28s %-5s %-60s %s" % (one.name, one.transport, one.odd, one.where))
    elif ROWS[arguments[0]].transport == "stdio":
        play_stdio(ROWS[arguments[0]])
    else:
        with Playing(ROWS[arguments[0]]) as url:
            print(url, flush=True)
            sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1:])
