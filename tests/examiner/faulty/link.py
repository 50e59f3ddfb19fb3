"""How the faulty client's messages travel: the standard streams of a server it starts, or Streamable HTTP."""
import base64
import http.client
import json
import subprocess
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Set
from urllib.parse import urlsplit

from waiting import WAIT, patience

META = "io.modelcontextprotocol/"
FAULTS: Set[str] = set()


def on(fault: str) -> bool:
    """Return whether a fault is switched on."""
    return fault in FAULTS


def encoded(message: Any) -> bytes:
    """Return a message as bytes."""
    return json.dumps(message, ensure_ascii=False, indent=2 if on("pretty") else None).encode("utf-8")


class Pipe:
    """A server started as a process; `take` gets each of its messages."""

    def __init__(self, command: List[str], take: Callable[[Any], None]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.take, self.lock = take, threading.Lock()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self) -> None:
        """Read until the server's output ends."""
        assert self.process.stdout
        for line in self.process.stdout:
            try:
                message = json.loads(line.decode("utf-8"))
            except ValueError:
                continue
            for one in message if isinstance(message, list) else [message]:
                if one is not None:
                    self.take(one)
        self.take(None)

    def send(self, message: Any, tool: Optional[Dict[str, Any]] = None) -> None:
        """Send a message."""
        assert self.process.stdin
        try:
            with self.lock:
                self.process.stdin.write(encoded(message) + b"\n")
                if on("noise"):
                    self.process.stdin.write(b"hello server\n")
                self.process.stdin.flush()
        except OSError:
            pass

    def cancel(self, number: Any) -> None:
        """Cancel a request."""
        self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})

    def ready(self) -> None:
        """Do nothing: the server can speak already."""

    def close(self) -> None:
        """End the server as the pages say."""
        assert self.process.stdin
        try:
            self.process.stdin.close()
        except OSError:
            pass
        for step in (lambda: None, self.process.terminate, self.process.kill):
            step()
            try:
                self.process.wait(patience(5))
                break
            except subprocess.TimeoutExpired:
                continue
        self.thread.join(WAIT)


class Web:
    """A server at a URL."""

    def __init__(self, url: str, take: Callable[[Any], None]) -> None:
        self.parts, self.take = urlsplit(url), take
        self.session: Optional[str] = None
        self.version: Optional[str] = None
        self.opening: Optional[Dict[str, Any]] = None
        self.closed, self.open = False, {}  # type: bool, Dict[Any, http.client.HTTPConnection]

    def connection(self) -> http.client.HTTPConnection:
        """Return a new connection."""
        return http.client.HTTPConnection(self.parts.hostname or "", self.parts.port, timeout=WAIT)

    def path(self) -> str:
        """Return what is asked for."""
        return self.parts.path + ("?" + self.parts.query if self.parts.query else "")

    def fields(self) -> Dict[str, str]:
        """Return the header fields of a session."""
        fields: Dict[str, str] = {}
        if self.session and not on("http-no-session"):
            fields["Mcp-Session-Id"] = self.session
        if self.version and not on("http-no-version"):
            fields["MCP-Protocol-Version"] = "2025-03-26" if on("http-version-old") else self.version
        return fields

    def send(self, message: Any, tool: Optional[Dict[str, Any]] = None) -> None:
        """Send a message; the answer to a request is taken in a thread."""
        if isinstance(message, dict) and message.get("method") == "initialize":
            self.opening = message
        if isinstance(message, dict) and "method" in message and "id" in message:
            threading.Thread(target=self.post, args=(message, tool), daemon=True).start()
        else:
            self.post(message, tool)

    def post(self, message: Any, tool: Optional[Dict[str, Any]], again: bool = False) -> None:
        """Post a message and take what comes back."""
        fields = self.fields()
        fields["Content-Type"] = "application/json"
        fields["Accept"] = "application/json" if on("http-accept") else "application/json, text/event-stream"
        fields.update(modern_fields(message, tool))
        body = [message] if on("http-array") and isinstance(message, dict) and "id" in message and (
            message.get("method") not in ("initialize", "server/discover")) else message
        connection = self.connection()
        number = message.get("id") if isinstance(message, dict) else None
        self.open[str(number)] = connection
        try:
            connection.request("POST", self.path(), encoded(body), fields)
            answer = connection.getresponse()
            if answer.status == 404 and self.session and not again and not on("http-session-dead"):
                self.begin_again(message, tool)
                return
            if message == self.opening:
                self.session = answer.getheader("Mcp-Session-Id")
            if (answer.getheader("Content-Type") or "").startswith("text/event-stream"):
                self.stream(answer, number)
            else:
                self.whole(answer.read(), number)
        except (OSError, http.client.HTTPException):
            self.take({"id": number})
        finally:
            connection.close()

    def whole(self, body: bytes, number: Any) -> None:
        """Take the messages of a body."""
        try:
            found = json.loads(body.decode("utf-8"))
        except ValueError:
            found = {"id": number}
        for one in found if isinstance(found, list) else [found]:
            if isinstance(one, dict) and one.get("id") is None and "error" in one:
                one = dict(one, id=number)
            self.take(one)

    def begin_again(self, message: Any, tool: Optional[Dict[str, Any]]) -> None:
        """Open a new session after the old one is gone, and send a message again."""
        self.session = None
        version, self.version = self.version, None
        assert self.opening
        self.post(self.opening, None, again=True)
        self.version = version
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, None, again=True)
        self.post(message, tool, again=True)

    def stream(self, answer: http.client.HTTPResponse, number: Any) -> None:
        """Take the events of a stream; resume it if it ended before the answer."""
        last, wait, found = None, 0.5, False
        while True:
            last, wait, found = self.events(answer, number, last, wait)
            if found or not last or self.closed or on("http-no-resume"):
                return
            time.sleep(0 if on("http-no-wait") else wait)
            connection = self.connection()
            connection.request("GET", self.path(), None, dict(
                self.fields(), **{"Accept": "text/event-stream", "Last-Event-ID": last}))
            answer = connection.getresponse()
            if answer.status != 200:
                return

    def events(self, answer: Any, number: Any, last: Optional[str], wait: float) -> Any:
        """Take the events of one connection; return the last id, the time to wait, and whether the answer came."""
        data: List[str] = []
        found = False
        for line in lines_of(answer):
            name, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if name == "id":
                last = value
            elif name == "retry" and value.isdigit():
                wait = int(value) / 1000
            elif name == "data":
                data.append(value)
            elif not line and data:
                text, data = "\n".join(data), []
                if text:
                    for one in json.loads(text) if text.startswith("[") else [json.loads(text)]:
                        found = found or "method" not in one and one.get("id") == number
                        self.take(one)
        return last, wait, found

    def ready(self) -> None:
        """Open the stream of the session."""
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        """Take what the server sends aside."""
        connection = self.connection()
        self.open["GET"] = connection
        try:
            accept = "application/json" if on("http-get-accept") else "text/event-stream"
            connection.request("GET", self.path(), None, dict(self.fields(), Accept=accept))
            answer = connection.getresponse()
            if answer.status == 200:
                self.events(answer, None, None, 0)
        except (OSError, ValueError, http.client.HTTPException, AttributeError):
            pass

    def cancel(self, number: Any) -> None:
        """Cancel a request of a session by a notification, of 2026-07-28 by closing its connection."""
        connection = self.open.get(str(number))
        if self.opening:
            self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        elif connection and connection.sock:
            connection.sock.close()

    def close(self) -> None:
        """End the session."""
        self.closed = True
        if self.session and not on("http-no-delete"):
            connection = self.connection()
            try:
                connection.request("DELETE", self.path(), None, self.fields())
                connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                pass


def lines_of(answer: Any) -> Iterator[str]:
    """Return the lines of a stream of events: they end in LF, CR or both, and a byte order mark may stand first."""
    rest, after_cr, first = b"", False, True
    while True:
        data = answer.read1(65536)
        if not data:
            return
        after_cr, data = data.endswith(b"\r"), data[1:] if after_cr and data.startswith(b"\n") else data
        *lines, rest = (rest + data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")).split(b"\n")
        for line in lines:
            yield line.decode("utf-8-sig" if first else "utf-8")
            first = False


def header_value(value: Any) -> str:
    """Return a value as a header field may have it."""
    text = json.dumps(value) if not isinstance(value, str) else value
    plain = all(" " <= letter <= "~" for letter in text) and text == text.strip()
    if plain and not (text.startswith("=?base64?") and text.endswith("?=")):
        return text
    if on("http-param-raw"):
        return text.encode("ascii", "replace").decode()
    coded = base64.b64encode(text.encode("utf-8")).decode()
    return "=?%s?%s?=" % ("BASE64" if on("http-param-loud") else "base64", coded)


def modern_fields(message: Any, tool: Optional[Dict[str, Any]]) -> Dict[str, str]:
    """Return the header fields that 2026-07-28 wants with a request."""
    params = message.get("params") or {} if isinstance(message, dict) else {}
    meta = params.get("_meta")
    if not isinstance(meta, dict) or META + "clientInfo" not in meta and META + "clientCapabilities" not in meta:
        return {}
    fields = {"MCP-Protocol-Version": "2025-11-25" if on("http-modern-version") else "2026-07-28",
              "Mcp-Method": message["method"]}
    name = params.get("uri") if message["method"] == "resources/read" else params.get("name")
    if message["method"] in ("tools/call", "prompts/get", "resources/read"):
        fields["Mcp-Name"] = header_value("other" if on("http-name-other") else name)
    properties = (tool or {}).get("inputSchema", {}).get("properties", {})
    arguments = params.get("arguments")
    for key, schema in properties.items():
        if isinstance(schema, dict) and "x-mcp-header" in schema and not on("http-param-missing"):
            value = arguments.get(key) if isinstance(arguments, dict) else None
            if value is not None:
                fields["Mcp-Param-" + schema["x-mcp-header"]] = header_value(value)
    for fault, field in (("http-no-method", "Mcp-Method"), ("http-no-name", "Mcp-Name"),
                         ("http-modern-no-version", "MCP-Protocol-Version")):
        if on(fault):
            fields.pop(field, None)
    return fields
