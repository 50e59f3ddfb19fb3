"""A small web server on loopback that answers each path as the test says, and keeps what it was asked; nothing of ours.

    with ScriptedWeb() as web:
        web.serve("/here", lambda asked: reply_json({"fine": True}))     # what is usual there
        web.answers["/here"] = lambda asked: reply_json({}, 500)         # what this test has instead; None: the usual
        web.seen("/here")                                                # what came, in order

An answer runs on the thread of its request and may wait in a `Gate`. Each connection carries one request. Closing ends
all of them, opens all gates, and raises what went wrong in an answer.
"""
import json
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple, Union
from urllib.parse import parse_qsl, urlsplit

from .patience import WAIT

PATIENCE = WAIT


class Asked(NamedTuple):
    """One request that came."""

    method: str
    target: str
    """As it came: path and query."""
    headers: Dict[str, str]
    """By names in lower case; a field that comes twice is a fault."""
    body: bytes

    @property
    def path(self) -> str:
        """Without the query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> Dict[str, str]:
        """The parameters of the query; one that comes twice is a fault."""
        return _single(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def form(self) -> Dict[str, str]:
        """The parameters of the body, if that is a form; likewise."""
        if not self.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            return {}
        return _single(parse_qsl(self.body.decode("ascii"), keep_blank_values=True))

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def _single(pairs: Sequence[Tuple[str, str]]) -> Dict[str, str]:
    found = dict(pairs)
    assert len(found) == len(pairs), "a parameter came twice: %s" % sorted(name for name, _ in pairs)
    return found


class Reply(NamedTuple):
    """What is answered. A body in pieces is sent without a length; its end is the end of the connection."""

    status: int = 200
    headers: Sequence[Tuple[str, str]] = ()
    body: Union[bytes, Iterable[bytes]] = b""


CUT = Reply(0)
"""No reply at all: the connection ends."""
Answer = Callable[[Asked], Optional[Reply]]


def reply_json(value: Any, status: int = 200, headers: Sequence[Tuple[str, str]] = ()) -> Reply:
    """A value as JSON, not to be kept."""
    fields = [("Content-Type", "application/json"), ("Cache-Control", "no-store"), *headers]
    return Reply(status, fields, json.dumps(value).encode())


def reply_html(status: int = 200, text: str = "<!doctype html><title>Oops</title><h1>It went wrong</h1>") -> Reply:
    """A page, as a proxy or a careless server sends it instead of JSON."""
    return Reply(status, [("Content-Type", "text/html; charset=utf-8")], text.encode())


def redirect(url: str, status: int = 302) -> Reply:
    """On to another address."""
    return Reply(status, [("Location", url)])


class Gate:
    """Where an answer waits until the test opens it, or the server is closed."""

    def __init__(self) -> None:
        self.arrived = threading.Event()
        self.opened = threading.Event()

    def passing(self) -> None:
        """Come here and wait."""
        self.arrived.set()
        assert self.opened.wait(PATIENCE), "nobody opened the gate"

    def wait_arrived(self) -> None:
        """Wait until somebody waits here."""
        assert self.arrived.wait(PATIENCE), "nobody came to the gate"

    def open(self) -> None:
        """Let through whoever is here or comes."""
        self.opened.set()


class _Server(HTTPServer):
    """One thread for each connection, all of which are known and end with us."""

    request_queue_size = 64
    web: "ScriptedWeb"

    def server_bind(self) -> None:
        """Without the look-up of our own name that `HTTPServer` makes."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self.web.changed:
            self.web.socks.add(request)
        self.web.start(self._serve, request, client_address)

    def _serve(self, request: Any, client_address: Any) -> None:
        sock = request
        try:
            if self.web.tls is not None:
                sock = self.web.tls.wrap_socket(request, server_side=True)
            self.finish_request(sock, client_address)
        except OSError:
            pass  # the client went, or the test is over
        except BaseException as error:
            self.web.faults.append(error)
        finally:
            with self.web.changed:
                self.web.socks.discard(request)
            for one in {sock, request}:
                self.shutdown_request(one)


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""

    def _do(self) -> None:
        headers: Dict[str, str] = {}
        for name, value in self.headers.items():
            assert name.lower() not in headers, "the header field %s came twice" % name
            headers[name.lower()] = value
        body = self.rfile.read(int(headers.get("content-length", "0")))
        reply = self.server.web.answer(Asked(self.command, self.path, headers, body))
        if reply.status == 0:
            return
        self.send_response_only(reply.status)
        for name, value in reply.headers:
            self.send_header(name, value)
        pieces = [reply.body] if isinstance(reply.body, bytes) else reply.body
        if isinstance(reply.body, bytes) and reply.status not in (204, 304):
            self.send_header("Content-Length", str(len(reply.body)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            for piece in pieces:
                self.wfile.write(piece)
                self.wfile.flush()

    do_GET = do_POST = do_DELETE = do_HEAD = do_OPTIONS = do_PUT = _do


class ScriptedWeb:
    """The server; see the module. ``tls``: a server's `ssl.SSLContext`."""

    def __init__(self, host: str = "127.0.0.1", tls: Optional[ssl.SSLContext] = None) -> None:
        self.answers: Dict[str, Answer] = {}
        self.requests: List[Asked] = []
        self.faults: List[BaseException] = []
        self.tls = tls
        self.changed = threading.Condition()
        self.socks: Set[Any] = set()
        self._usual: Dict[str, Answer] = {}
        self._gates: List[Gate] = []
        self._threads: List[threading.Thread] = []
        self._server = _Server((host, 0), _Handler)
        self._server.web = self
        self._closed = False
        self.port: int = self._server.server_address[1]
        self.origin = "%s://%s:%d" % ("https" if tls else "http", host, self.port)
        self._users = 0
        self.start(self._accept)

    def _accept(self) -> None:
        while not self._closed:
            try:
                self._server.process_request(*self._server.get_request())
            except OSError:
                return  # closed, or the client went before it was here

    def start(self, function: Callable[..., None], *arguments: Any) -> None:
        """Run something on a thread that is waited for in the end."""
        thread = threading.Thread(target=function, args=arguments, name="scripted web", daemon=True)
        self._threads.append(thread)
        thread.start()

    def serve(self, path: str, answer: Answer) -> None:
        """What is usual at this path."""
        self._usual[path] = answer

    def gate(self) -> Gate:
        """A gate that opens when the server is closed."""
        self._gates.append(Gate())
        return self._gates[-1]

    def answer(self, asked: Asked) -> Reply:
        """Note a request and answer it: as the test says, else as usual, else 404."""
        with self.changed:
            self.requests.append(asked)
            self.changed.notify_all()
        special = self.answers.get(asked.path)
        reply = None if special is None else special(asked)
        return self.usual(asked) if reply is None else reply

    def usual(self, asked: Asked) -> Reply:
        """The answer where the test says nothing."""
        found = self._usual.get(asked.path)
        reply = None if found is None else found(asked)
        return reply_html(404, "<h1>Not here</h1>") if reply is None else reply

    def seen(self, path: Optional[str] = None, method: Optional[str] = None) -> List[Asked]:
        """What was asked, all or at one path, by one method or any."""
        with self.changed:
            return [one for one in self.requests if path in (None, one.path) and method in (None, one.method)]

    def wait_for(self, path: str, count: int = 1, method: Optional[str] = None) -> Asked:
        """Wait until this path was asked so many times, by this method or any; the last of these requests."""
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.seen(path, method)) >= count, PATIENCE):
                raise AssertionError("%s was not asked %d times" % (path, count))
            return self.seen(path, method)[count - 1]

    def close(self) -> None:
        """End everything. Raises what went wrong in an answer."""
        for gate in self._gates:
            gate.open()
        self._closed = True
        try:
            self._server.socket.shutdown(socket.SHUT_RDWR)  # wakes the accepting thread, where closing does not
        except OSError:
            pass
        self._threads[0].join(PATIENCE)
        self._server.server_close()
        with self.changed:
            socks = list(self.socks)
        for sock in socks:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "an answer hangs"
        if self.faults:
            raise self.faults[0]

    def __enter__(self) -> "ScriptedWeb":
        self._users += 1
        return self

    def __exit__(self, *exception: Any) -> None:
        self._users -= 1
        if not self._users:
            self.close()
