"""A small client of the tests, on pipes, over HTTP and with a process that it starts: a test can have it lie."""
import http.client
import json
import shlex
import socket
import subprocess
import threading
from contextlib import closing, suppress
from typing import Any, Callable, Dict, Iterator, List, Optional
from urllib.parse import urlsplit

from mcp_ref.wiretrace.sse import SseSplitter
from tests.support.patience import WAIT

Message = Dict[str, Any]


class Pipe:
    """Lines on a socket."""

    def __init__(self, address: str) -> None:
        host, _, port = address.partition("://")[2].rpartition(":")
        self.sock = socket.create_connection((host, int(port)), WAIT)
        self.lines = self.sock.makefile("rb")

    def post(self, message: Any, headers: Dict[str, str]) -> Iterator[Any]:
        self.sock.sendall(json.dumps(message).encode() + b"\n")
        return self.answers(message)

    def answers(self, message: Any) -> Iterator[Any]:
        if isinstance(message, dict) and "method" in message and "id" in message:
            for line in self.lines:
                try:
                    yield json.loads(line)
                except ValueError:
                    yield line

    def close(self, headers: Dict[str, str]) -> None:
        self.lines.close()
        self.sock.close()

    def stop(self) -> None:
        """Have the client read the end of its input, wherever it waits for more."""
        with suppress(OSError):  # it has ended meanwhile
            self.sock.shutdown(socket.SHUT_RDWR)


class Child(Pipe):
    """Lines on the standard streams of a process."""

    GRACE = 0.3

    def __init__(self, command: str) -> None:
        self.process = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.lines: Any = self.process.stdout
        self.stdin: Any = self.process.stdin
        self.errors: Any = self.process.stderr
        self.said: List[bytes] = []
        self.reader = threading.Thread(target=lambda: self.said.extend(iter(lambda: self.errors.read1(4096), b"")))
        self.reader.start()

    def post(self, message: Any, headers: Dict[str, str]) -> Iterator[Any]:
        self.stdin.write(json.dumps(message).encode() + b"\n")
        self.stdin.flush()
        return self.answers(message)

    def close(self, headers: Dict[str, str]) -> None:
        self.stdin.close()
        for stop in (self.process.terminate, self.process.kill):
            try:
                self.process.wait(self.GRACE)
                break
            except subprocess.TimeoutExpired:
                stop()
        self.reap()

    def stop(self) -> None:
        """Do nothing: the process ends with the connection to the examiner."""

    def reap(self) -> None:
        """Wait for the process, however it ends."""
        self.process.wait(WAIT)
        self.reader.join(WAIT)
        self.lines.close()
        self.errors.close()


class Web:
    """One POST for each message."""

    def __init__(self, address: str) -> None:
        self.url = urlsplit(address)
        self.status = 0
        self.headers: Any = {}

    def send(self, method: str, body: Optional[bytes], headers: Dict[str, str]) -> Any:
        connection = http.client.HTTPConnection(self.url.hostname or "", self.url.port, timeout=WAIT)
        try:
            connection.request(method, self.url.path, body, headers)
            response = connection.getresponse()
        except Exception:
            connection.close()  # the server has ended
            raise
        self.status, self.headers = response.status, response.headers
        return connection, response

    def post(self, message: Any, headers: Dict[str, str]) -> Iterator[Any]:
        fields = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
        connection, response = self.send("POST", json.dumps(message).encode(),
                                         {name: value for name, value in fields.items() if value})
        with closing(connection), closing(response):
            if (response.headers.get("Content-Type") or "").startswith("text/event-stream"):
                yield from events(response)
            else:
                body = response.read()
                if body:
                    yield json.loads(body)

    def close(self, headers: Dict[str, str]) -> None:
        if headers.get("Mcp-Session-Id"):
            connection, response = self.send("DELETE", None, headers)
            response.close()
            connection.close()

    def stop(self) -> None:
        """Do nothing: each request ends by the examiner's server."""


def events(response: Any) -> Iterator[Any]:
    blocks = SseSplitter(1 << 20)
    while True:
        data = response.read1(65536)
        for block in blocks.feed(data):
            if block is not None and block.is_message:
                try:
                    yield json.loads(block.data or b"")
                except ValueError:
                    yield block.data
        if not data:
            return


class Ended(Exception):
    """The client gives up."""


class SmallClient:
    """Opens the conversation, lists the tools, and calls each. Tests override what they make wrong."""

    capabilities: Dict[str, Any] = {"elicitation": {}, "sampling": {}, "roots": {}}
    known = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")

    def __init__(self, address: str, env: Dict[str, str]) -> None:
        self.env = env
        self.revision = env["MCP_EXAMINER_REVISION"]
        kinds = {"tcp": Pipe, "http": Web}
        self.wire: Any = kinds.get(address.partition(":")[0], Child)(address)  # type: ignore[operator]
        self.ids = 0
        self.headers: Dict[str, str] = {}
        self.version = ""

    @property
    def modern(self) -> bool:
        return self.revision == "2026-07-28"

    def id(self) -> Any:
        self.ids += 1
        return self.ids

    def post(self, message: Any) -> Iterator[Any]:
        return self.wire.post(message, self.fields(message))  # type: ignore[no-any-return]

    def fields(self, message: Any) -> Dict[str, str]:
        made = dict(self.headers)
        if self.modern and isinstance(message, dict):
            made.update({"MCP-Protocol-Version": self.revision, "Mcp-Method": message["method"]})
            name = message.get("params", {}).get("name") or message.get("params", {}).get("uri")
            if name:
                made["Mcp-Name"] = name
        return made

    def request(self, method: str, params: Optional[Message] = None) -> Message:
        params = dict(params or {})
        if self.modern:
            params["_meta"] = self.meta()
        asked = {"jsonrpc": "2.0", "id": self.id(), "method": method, "params": params}
        for message in self.post(asked):
            if isinstance(message, dict) and "method" not in message and message.get("id") == asked["id"]:
                return message
            self.other(message)
        raise Ended("no answer to %s" % method)

    def meta(self) -> Message:
        return {"io.modelcontextprotocol/protocolVersion": self.revision,
                "io.modelcontextprotocol/clientInfo": {"name": "small", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": self.capabilities}

    def other(self, message: Any) -> None:
        """Something that is not the answer that is waited for."""
        if isinstance(message, list):
            answers = [self.answer(each) for each in message if isinstance(each, dict) and "id" in each]
            list(self.post(answers) if answers else ())
        elif isinstance(message, dict) and "method" in message and "id" in message:
            list(self.post(self.answer(message)))

    def answer(self, asked: Message) -> Message:
        made: Message = {"jsonrpc": "2.0", "id": asked["id"]}
        act: Optional[Callable[[Message], Any]] = getattr(self, asked["method"].replace("/", "_"), None)
        value = None if act is None else act(asked.get("params", {}))
        if isinstance(value, dict):
            made["result"] = value
        else:
            made["error"] = {"code": value or -32601, "message": "no"}
        return made

    def ping(self, params: Message) -> Any:
        return {}

    def roots_list(self, params: Message) -> Any:
        return {"roots": [{"uri": "file:///tmp", "name": "tmp"}]} if "roots" in self.capabilities else None

    def sampling_createMessage(self, params: Message) -> Any:
        if params.get("tools"):
            return -32602
        return {"role": "assistant", "content": {"type": "text", "text": "Yes."}, "model": "m"} if (
            "sampling" in self.capabilities) else None

    def elicitation_create(self, params: Message) -> Any:
        if params.get("mode", "form") != "form":
            return -32602
        return {"action": "decline"} if "elicitation" in self.capabilities else None

    def begin(self) -> None:
        if self.modern:
            self.opened = self.request("server/discover")
            if self.opened.get("error", {}).get("code") == -32022:
                self.opened = self.request("server/discover")
            if "error" in self.opened:
                raise Ended("server/discover was refused")
            return
        self.opened = self.request("initialize", {
            "protocolVersion": self.revision, "capabilities": {name: value for name, value in self.capabilities.items(
                ) if name != "elicitation" or self.revision >= "2025-06-18"},
            "clientInfo": {"name": "small", "version": "1"}})
        if "error" in self.opened:
            raise Ended("initialize was refused")
        self.agree(self.opened["result"]["protocolVersion"])
        if isinstance(self.wire, Web):
            self.headers["Mcp-Session-Id"] = self.wire.headers.get("Mcp-Session-Id") or ""
            if self.version >= "2025-06-18":
                self.headers["MCP-Protocol-Version"] = self.version
        list(self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}))

    def agree(self, version: str) -> None:
        if version not in self.known:
            raise Ended("version %s" % version)
        self.version = version

    def pages(self) -> List[Message]:
        found: List[Message] = []
        params: Message = {}
        while True:
            result = self.request("tools/list", params).get("result", {})
            found += result.get("tools", [])
            if not self.goes_on(result):
                return found
            params = {"cursor": self.cursor(result["nextCursor"])}

    def goes_on(self, result: Message) -> bool:
        return result.get("nextCursor") is not None and result.get("resultType", "complete") == "complete"

    def cursor(self, given: Any) -> Any:
        return given

    def run(self) -> None:
        """Do it all."""
        try:
            self.begin()
            if "tools" in self.opened["result"]["capabilities"]:
                for tool in self.pages():
                    self.call(tool)
        except Ended:
            pass
        finally:
            self.end()

    def call(self, tool: Message) -> None:
        names = tool["inputSchema"].get("properties", {})
        self.request("tools/call", {"name": tool["name"], "arguments": {name: 1 for name in names}})

    def end(self) -> None:
        self.wire.close(self.headers)
