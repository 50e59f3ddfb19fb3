"""Servers that are broken in one way each: small programs, and sockets on loopback that end by themselves.

A `Broken` row says how to make one. `Place` is what it is made in: a folder, and what has to be closed afterwards. What
a maker returns are the words after ``doctor``.
"""
import contextlib
import json
import pathlib
import socket
import ssl
import sys
import threading
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union
from urllib.parse import urlsplit

from tests.support.patience import WAIT

SHORT = 0.15
"""The time that a server gets whose silence is waited out."""
TLS = pathlib.Path(__file__).resolve().parents[1] / "data" / "tls"
PYTHON = [sys.executable, "-S", "-E"]
ECHO = [sys.executable, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "echo_server.py")]
Words = List[str]

PRELUDE = """
import json, sys

def send(message):
    sys.stdout.write(json.dumps(dict(message, jsonrpc="2.0")) + "\\n")
    sys.stdout.flush()

def result_of(asked):
    if asked["method"] == "initialize":
        return {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "small", "version": "1"}}
    return {"tools": TOOLS}

TOOLS = [{"name": "add", "description": "Add.", "inputSchema": {"type": "object"}}]

def serve(before=lambda asked: None, answer=lambda asked: send({"id": asked["id"], "result": result_of(asked)})):
    for line in sys.stdin:
        asked = json.loads(line)
        before(asked)
        if asked.get("method") == "server/discover":
            send({"id": asked["id"], "error": {"code": -32601, "message": "Method not found"}})
        elif "id" in asked and "method" in asked:
            answer(asked)
"""
"""What the programs begin with: a server of the handshake era, in which each breaks one thing."""


class Place:
    """A folder, the test's environment, and what is closed in the end."""

    seconds = SHORT
    """The time that the server gets, for one that answers too late."""

    def __init__(self, folder: pathlib.Path, setenv: Callable[[str, str], None]) -> None:
        self.folder = folder
        self.setenv = setenv
        self.closing = contextlib.ExitStack()

    def file(self, name: str, text: Union[str, bytes], mode: int = 0o644) -> str:
        """Write a file; its path."""
        path = self.folder / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        path.chmod(mode)
        return str(path)

    def listen(self, behaviour: "Behaviour", tls: Optional[str] = None, host: str = "127.0.0.1") -> "Loopback":
        """A server on a free port of the loopback interface."""
        return self.closing.enter_context(Loopback(behaviour, tls, host))


class Broken(NamedTuple):
    """A row: what it is called, how it is made, the cause to be named, and words that its sentence has."""

    name: str
    make: Callable[[Place], Words]
    cause: str
    words: Sequence[str]
    seconds: float = 10.0
    """The time that the server gets: `SHORT` where the verdict waits for its end."""


# --- Programs ---------------------------------------------------------------------------------------------------------

def command(*words: str) -> Words:
    """The words of a command line for a command."""
    return ["--", *words]


def program(text: str, *more: str, prelude: str = PRELUDE) -> Callable[[Place], Words]:
    """A maker of a Python program, which is started; ``more``: options of the doctor, or words after --."""
    return lambda place: [*more, *command(*PYTHON, place.file("server.py", prelude + text))]


# --- Sockets ----------------------------------------------------------------------------------------------------------

class Peer:
    """One connection to a `Loopback`."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._left = b""

    def send(self, data: bytes) -> None:
        """Send bytes; nothing if nobody takes them."""
        with contextlib.suppress(OSError):
            self.sock.sendall(data)

    def gone(self) -> None:
        """Read until the other side leaves, or the test ends."""
        with contextlib.suppress(OSError):
            while self.sock.recv(65536):
                pass

    def line(self) -> bytes:
        """The next line; b"" at the end."""
        return self._until(b"\n")

    def request(self) -> Optional[Tuple[str, str, Dict[str, str], bytes]]:
        """The next HTTP request: method, target, header fields, body; None at the end."""
        head = self._until(b"\r\n\r\n").decode("latin-1")
        if not head:
            return None
        first, *lines = head.strip().split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        size = int(fields.get("content-length", "0"))
        while len(self._left) < size:
            data = self._receive()
            if not data:
                return None
            self._left += data
        body, self._left = self._left[:size], self._left[size:]
        method, target, _ = first.split(" ")
        return method, target, fields, body

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._left:
            data = self._receive()
            if not data or data[:1] == b"\x16":  # the end, or TLS
                return b""
            self._left += data
        found, _, self._left = self._left.partition(mark)
        return found + mark

    def _receive(self) -> bytes:
        try:
            return self.sock.recv(65536)
        except OSError:
            return b""


Behaviour = Callable[[Peer], None]


class Loopback:
    """A listener whose connections each behave in the same way, and which all end with it."""

    def __init__(self, behaviour: Behaviour, tls: Optional[str], host: str) -> None:
        self._behaviour = behaviour
        self._tls: Optional[ssl.SSLContext] = None
        if tls is not None:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(str(TLS / tls))
        self._listener = socket.create_server((host, 0))
        self.port = self._listener.getsockname()[1]
        self.host = host
        self._socks: List[socket.socket] = []
        self._threads: List[threading.Thread] = []
        self._start(self._accept)

    def _start(self, function: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=function, args=arguments, name="broken server", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        for _ in range(200):
            try:
                sock = self._listener.accept()[0]
            except OSError:
                return
            sock.settimeout(WAIT)
            self._socks.append(sock)
            self._start(self._serve, sock)

    def _serve(self, sock: socket.socket) -> None:
        try:
            if self._tls is not None:
                sock = self._tls.wrap_socket(sock, server_side=True)
                self._socks.append(sock)
            self._behaviour(Peer(sock))
        except OSError:
            pass  # the client went away, or refused our certificate
        finally:
            sock.close()

    def __enter__(self) -> "Loopback":
        return self

    def __exit__(self, *_: Any) -> None:
        for sock in [self._listener, *self._socks]:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(WAIT)
            assert not thread.is_alive(), "a broken server hangs"
        self._listener.close()


def web(answer: Callable[[str, str, Dict[str, str], Any], Optional[bytes]]) -> Behaviour:
    """HTTP: each request gets these bytes; None: the connection ends."""
    def behave(peer: Peer) -> None:
        request = peer.request()
        while request is not None:
            method, target, fields, body = request
            data = answer(method, target, fields, json.loads(body) if body else {})
            if data is None:
                return
            peer.send(data)
            request = peer.request()
    return behave


def reply(status: str, body: Union[bytes, str, Dict[str, Any]] = b"", kind: str = "text/plain", *fields: str) -> bytes:
    """An HTTP response; a dict is a JSON body."""
    if isinstance(body, dict):
        body, kind = json.dumps(body), "application/json"
    data = body.encode() if isinstance(body, str) else body
    lines = ["HTTP/1.1 " + status, "Content-Length: %d" % len(data), "Content-Type: " + kind, *fields, "", ""]
    return "\r\n".join(lines).encode() + data


def always(status: str, body: Union[bytes, str, Dict[str, Any]] = b"", kind: str = "text/plain",
           *fields: str) -> Behaviour:
    """HTTP: every request gets this response."""
    return web(lambda method, target, sent, asked: reply(status, body, kind, *fields))


def handshaking(asked: Dict[str, Any], *fields: str) -> bytes:
    """What a server of the handshake era answers to `initialize`, and to nothing else."""
    if "id" not in asked:
        return reply("202 Accepted")
    if asked.get("method") != "initialize":
        return reply("400 Bad Request", {"jsonrpc": "2.0", "id": None,
                                         "error": {"code": -32000, "message": "Bad Request: no session"}})
    return reply("200 OK", {"jsonrpc": "2.0", "id": asked["id"], "result": {
        "protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
        "serverInfo": {"name": "small", "version": "1"}}}, "", *fields)


def at(behaviour: Behaviour, tls: Optional[str] = None, url: str = "http://{host}:{port}/mcp", host: str = "127.0.0.1",
       more: Sequence[str] = (), env: Optional[Dict[str, str]] = None) -> Callable[[Place], Words]:
    """A maker of a server on a socket; ``url`` as it is given to the doctor."""
    def make(place: Place) -> Words:
        server = place.listen(behaviour, tls, host)
        for name, value in (env or {}).items():
            place.setenv(name, value.format(host=host, port=server.port))
        return [url.format(host=host, port=server.port), *more]
    return make


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


def of_ours(address: str, *more: str, **options: Any) -> Callable[[Place], Words]:
    """A maker of a healthy server of ours, which the words of the command line do not fit."""
    def make(place: Place) -> Words:
        from mcp_ref import Server

        kept = {name: options[name] for name in ("revisions", "auth") if name in options}
        served = {name: value for name, value in options.items() if name not in kept}
        listener = place.closing.enter_context(Server("ours", **kept).listen("http://127.0.0.1:0/mcp", **served))
        return [address.format(address=listener.address, port=urlsplit(listener.address).port), *more]
    return make
