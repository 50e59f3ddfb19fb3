"""An HTTP server that does what a test says, byte by byte: raw sockets on loopback, nothing of ours in it.

    with ScriptedHttp() as server:
        server.on["tools/call"] = lambda request: request.answer({"content": []})
        server.on["GET"] = lambda request: request.reply(405)
        with connect(server.url) as client: ...
        server.seen("POST")            # what came, in order

Handlers are found by the method of the JSON-RPC message, then by "response" for answers of the client, then by the HTTP
method. Without one, an MCP server answers that has one session and no stream. A handler runs on the thread of its
connection; where it wants to, it writes raw bytes (`Request.send`) or cuts the connection (`Request.cut`).
"""
import json
import socket
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from mcp_ref.protocol.streamable_http.header_values import encode_event

from .patience import WAIT

PATIENCE = WAIT
SESSION = "session-0"
SERVER: Dict[str, Any] = {"name": "scripted", "version": "0"}
EVERYTHING: Dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}, "logging": {}}


class Cut(Exception):
    """The connection is over, as the test wanted or because the client went."""


class Request:
    """One request that arrived, and the means to answer it."""

    def __init__(self, sock: socket.socket, connection: int, head: bytes, body: bytes) -> None:
        self.sock = sock
        self.connection = connection
        """Number of the connection that it came by, from 0."""
        self.head = head
        self.body = body
        lines = head.decode("utf-8").split("\r\n")
        self.method, self.target, self.version = lines[0].split(" ")
        self.headers: Dict[str, str] = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            assert name.lower() not in self.headers, "the header field %s came twice" % name
            self.headers[name.lower()] = value.strip()
        self.message: Any = json.loads(body) if body else None

    @property
    def key(self) -> str:
        """What a handler is found by."""
        if self.method == "POST" and isinstance(self.message, dict):
            return str(self.message.get("method", "response"))
        return self.method

    def send(self, data: bytes) -> None:
        """Write raw bytes."""
        try:
            self.sock.sendall(data)
        except OSError as error:
            raise Cut() from error

    def cut(self) -> None:
        """End the connection here; the client can know it as soon as this has raised."""
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        raise Cut()

    def reply(self, status: int = 200, body: bytes = b"", kind: str = "application/json",
              headers: Sequence[Tuple[str, str]] = ()) -> None:
        """A whole reply."""
        self.send(head(status, [("Content-Length", str(len(body)))] + ([("Content-Type", kind)] if body else [])
                       + list(headers)) + body)

    def answer(self, result: Any, headers: Sequence[Tuple[str, str]] = ()) -> None:
        """The result of the request, as JSON."""
        self.reply(200, self.result(result), headers=headers)

    def result(self, result: Any) -> bytes:
        """The message with this result."""
        return json.dumps({"jsonrpc": "2.0", "id": self.message["id"], "result": result}).encode()

    def begin_events(self, headers: Sequence[Tuple[str, str]] = ()) -> None:
        """Begin a stream, in chunks."""
        self.send(head(200, [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked"), *headers]))

    def event(self, data: Any, id: Optional[str] = None, **options: Any) -> None:
        """One event, in a chunk; what is no bytes is sent as JSON."""
        encoded = encode_event(data if isinstance(data, bytes) else json.dumps(data).encode(), id, **options)
        self.send(chunk(encoded))

    def end_events(self) -> None:
        """End the stream as it should end."""
        self.send(chunk(b""))

    def wait_gone(self) -> None:
        """Wait until the client has closed the connection."""
        try:
            if self.sock.recv(1) == b"":
                raise Cut()
        except OSError as error:
            raise Cut() from error
        raise AssertionError("the client sends more on this connection")


def head(status: int, headers: Sequence[Tuple[str, str]] = (), reason: str = "Because") -> bytes:
    """The head of a reply."""
    lines = ["HTTP/1.1 %d %s" % (status, reason)] + ["%s: %s" % field for field in headers]
    return "\r\n".join(lines + ["", ""]).encode()


def chunk(data: bytes) -> bytes:
    """One chunk; of nothing, the last one."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def notification(method: str, **params: Any) -> Dict[str, Any]:
    """A notification, as a JSON object."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def log(text: str) -> Dict[str, Any]:
    """A log message, as a JSON object."""
    return notification("notifications/message", level="info", data=text)


def said(text: str) -> Dict[str, Any]:
    """The result of a tool that says this."""
    return {"content": [{"type": "text", "text": text}]}


class ScriptedHttp:
    """The server; see the module."""

    def __init__(self, revision: Optional[str] = None, host: str = "127.0.0.1", path: str = "/mcp",
                 session: Optional[str] = SESSION, tls: Any = None) -> None:
        self.revision = revision
        self.session = session
        self.on: Dict[str, Callable[[Request], None]] = {}
        self.requests: List[Request] = []
        self.faults: List[BaseException] = []
        self._tls = tls
        self._changed = threading.Condition()
        self._listener = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.port = self._listener.getsockname()[1]
        shown = "[%s]" % host if ":" in host else host
        self.origin = "%s://%s:%d" % ("https" if tls else "http", shown, self.port)
        self.url = self.origin + path
        self._socks: List[socket.socket] = []
        self._threads: List[threading.Thread] = []
        self.connections = 0
        self._closed = False
        self._start(self._accept)

    def _start(self, function: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=function, args=arguments, name="scripted http", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._closed:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            with self._changed:
                if self._closed:
                    sock.close()
                    return
                self._socks.append(sock)
                number, self.connections = self.connections, self.connections + 1
                self._changed.notify_all()
            self._start(self._serve, sock, number)

    def _serve(self, sock: socket.socket, number: int) -> None:
        raw = sock
        try:
            if self._tls is not None:
                sock = self._tls.wrap_socket(sock, server_side=True)
            while True:
                request = self._receive(sock, number)
                with self._changed:
                    self.requests.append(request)
                    self._changed.notify_all()
                self.on.get(request.key, self.on.get("*", self.usual))(request)
        except (Cut, OSError):
            pass
        except BaseException as error:
            self.faults.append(error)
        finally:
            raw.close()
            sock.close()

    def _receive(self, sock: socket.socket, number: int) -> Request:
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._more(sock)
        top, _, body = data.partition(b"\r\n\r\n")
        request = Request(sock, number, top, b"")
        length = int(request.headers.get("content-length", "0"))
        while len(body) < length:
            body += self._more(sock)
        assert len(body) == length, "more than the request came: %r" % body[length:]
        return Request(sock, number, top, body)

    def _more(self, sock: socket.socket) -> bytes:
        data: bytes = sock.recv(65536)
        if not data:
            raise Cut()
        return data

    def usual(self, request: Request) -> None:
        """What is done where the test says nothing."""
        if request.method != "POST":
            request.reply(200 if request.method == "DELETE" else 405)
        elif request.key == "initialize":
            revision = self.revision or request.message["params"]["protocolVersion"]
            result = {"protocolVersion": revision, "capabilities": EVERYTHING, "serverInfo": SERVER}
            request.answer(result, [("Mcp-Session-Id", self.session)] if self.session is not None else [])
        elif request.key == "response" or "id" not in request.message:
            request.reply(202)
        else:
            request.answer(said(request.key))

    def seen(self, key: Optional[str] = None) -> List[Request]:
        """The requests that have come, all or those of one key or HTTP method."""
        with self._changed:
            return [request for request in self.requests if key in (None, request.key, request.method)]

    def wait_for(self, key: str, count: int = 1) -> Request:
        """Wait until so many of them have come; the last of these."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._of(key)) >= count, PATIENCE):
                raise AssertionError("%s did not come; seen: %s" % (key, [r.key for r in self.requests]))
            return self._of(key)[count - 1]

    def _of(self, key: str) -> List[Request]:
        return [request for request in self.requests if key in (request.key, request.method)]

    def close(self) -> None:
        """End everything. Raises what went wrong in a handler."""
        with self._changed:
            self._closed = True
            socks = list(self._socks)
        for sock in [self._listener, *socks]:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self._listener.close()
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a handler hangs"
        if self.faults:
            raise self.faults[0]

    def __enter__(self) -> "ScriptedHttp":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()
