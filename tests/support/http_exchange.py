"""HTTP without sockets: an `Exchange` that a test reads, and a client of an `Endpoint` made of such exchanges.

    with Web(server, revision="2025-06-18") as web:        # an endpoint, and a session that is open
        answer = web.ask(7, "tools/call", {...})           # a POST; the `ScriptedExchange` of its reply
        assert answer.status == 200 and answer.message["id"] == 7
        stream = web.get()                                 # a GET; `stream.messages()` is what came
"""
import itertools
import json
import threading
from typing import Any, Dict, List, Optional, Sequence, Tuple

from mcp_ref.http11.message import Exchange, Headers, HttpRequest, Pairs
from mcp_ref.limits import DEFAULT, Limits
from mcp_ref.protocol.streamable_http.header_values import SseEvent, SseParser
from mcp_ref.streamable.server.endpoint import Endpoint

from .scripted import PATIENCE
from .sides import Outcome, in_thread

BOTH = "application/json, text/event-stream"


class ScriptedExchange(Exchange):
    """Keeps what is sent. `leave` is the client going away."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self.status: Optional[int] = None
        self.headers = Headers()
        self.streaming = False
        self.finished = False
        self.gone = False
        self.lose_next = False
        """The next piece is not taken: the client is found to be gone only then."""
        self.calls: List[str] = []
        self.raw = b""
        self.comments = 0
        self.retries: List[int] = []
        self._parser = SseParser()
        self._events: List[SseEvent] = []
        self._taken = 0
        self._changed = threading.Condition()

    # What the endpoint calls

    def reply(self, status: int, headers: Pairs = (), body: bytes = b"") -> None:
        with self._changed:
            self._call("reply")
            self.status, self.headers, self.finished = status, Headers(headers), True
            self.streaming = self.headers.get("content-type") == "text/event-stream"
            self._take(body)
            self._changed.notify_all()

    def start(self, status: int, headers: Pairs = ()) -> None:
        with self._changed:
            self._call("start")
            self.status, self.headers, self.streaming = status, Headers(headers), True
            self._changed.notify_all()

    def send(self, data: bytes) -> bool:
        assert data, "an empty piece"
        lost = False
        with self._changed:
            self._call("send")
            if self.gone:
                return False
            if self.lose_next:
                lost = self.gone = True
            else:
                self._take(data)
            self._changed.notify_all()
        if lost and self.on_close is not None:
            self.on_close()
        return not lost

    def finish(self, data: bytes = b"") -> None:
        with self._changed:
            self._call("finish")
            self.finished = True
            if not self.gone and not self.lose_next:
                self._take(data)
            self._changed.notify_all()

    def _take(self, data: bytes) -> None:
        self.raw += data
        if self.streaming:
            self.comments += data.startswith(b":")
            self._events += self._parser.feed(data)
            if b"retry: " in data:
                self.retries.append(int(data.split(b"retry: ")[1].split(b"\n")[0]))

    def _call(self, name: str) -> None:
        """A reply is whole, or begun once, continued and ended once."""
        before = self.calls
        wrong = self.finished or (name in ("reply", "start") and before) or (name in ("send", "finish") and not before)
        assert not wrong, "%s after %s" % (name, before)
        before.append(name)

    # What a test calls

    def leave(self) -> None:
        """The client goes away."""
        with self._changed:
            self.gone = True
            tell = self.on_close is not None and not self.finished
        if tell:
            self.on_close()

    def wait(self, condition: Any) -> None:
        """Wait, bounded, until this is true of the reply."""
        with self._changed:
            assert self._changed.wait_for(condition, PATIENCE), "it never came; so far: %r" % (self,)

    def done(self) -> "ScriptedExchange":
        """Wait for the end of the reply."""
        self.wait(lambda: self.finished)
        return self

    @property
    def message(self) -> Any:
        """The body of a reply that is whole."""
        self.done()
        assert self.headers.get("content-type") == "application/json", self
        return json.loads(self.raw)

    @property
    def events(self) -> List[SseEvent]:
        """The events that have come."""
        with self._changed:
            return list(self._events)

    def messages(self) -> List[Any]:
        """The messages that have come, in a stream or as the whole reply."""
        if self.streaming:
            return [json.loads(event.data) for event in self.events if event.data]
        return [self.message] if self.finished and self.raw else []

    def next(self) -> Any:
        """The next message of a stream; waits for it."""
        self.wait(lambda: len([event for event in self._events if event.data]) > self._taken)
        self._taken += 1
        return self.messages()[self._taken - 1]

    def answer(self) -> Any:
        """The last message, when the reply is over."""
        self.done()
        return self.messages()[-1]

    @property
    def code(self) -> int:
        """The code of a JSON-RPC error that is the whole reply."""
        code: int = self.message["error"]["code"]
        return code

    def __repr__(self) -> str:
        return "<%s %r %s>" % (self.status, self.raw[:500], "finished" if self.finished else "open")


def exchange(method: str, headers: Optional[Dict[str, Optional[str]]] = None, body: Any = None,
             path: str = "/mcp", more: Sequence[Tuple[str, str]] = ()) -> ScriptedExchange:
    """An exchange as a proper client begins it; ``headers`` replace its own (None: leave out), ``more`` come on top."""
    fields: Dict[str, Optional[str]] = {"Host": "localhost:8000"}
    if method == "POST":
        fields.update({"Accept": BOTH, "Content-Type": "application/json"})
    elif method == "GET":
        fields["Accept"] = "text/event-stream"
    fields.update(headers or {})
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode("ascii")
    pairs = [(name, value) for name, value in fields.items() if value is not None]
    return ScriptedExchange(HttpRequest(method, path, Headers([*pairs, *more]), data))


def opening(revision: str, id: Any = "init", capabilities: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
    """The message that opens a session."""
    info = {"name": "scripted", "version": "0"}
    params = {"protocolVersion": revision, "capabilities": capabilities or {}, "clientInfo": info}
    return {"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params}


class Web:
    """An endpoint of a server, and a client with a session there; a context manager.

    ``revision`` None: no session is opened. Options are those of `Endpoint`.
    """

    def __init__(
        self, server: Any, revision: Optional[str] = "2025-11-25", capabilities: Optional[Dict[str, Any]] = None,
        limits: Limits = DEFAULT, headers: Optional[Dict[str, str]] = None, **options: Any,
    ) -> None:
        self.server = server
        self.endpoint = Endpoint(server.connect, limits=limits, **options)
        self.headers: Dict[str, Optional[str]] = dict(headers or {})
        self.session: Any = None
        self._outcomes: List[Outcome] = []
        self._ids = itertools.count(1000)
        if revision is not None:
            self.open(revision, capabilities)

    def open(self, revision: str, capabilities: Optional[Dict[str, Any]] = None) -> Any:
        """Shake hands; the result of `initialize`."""
        capabilities = {"sampling": {}, "roots": {}} if capabilities is None else capabilities
        opened = self.post(opening(revision, capabilities=capabilities))
        assert opened.status == 200, opened
        id = opened.headers.get("Mcp-Session-Id")
        if id is not None:
            self.headers["Mcp-Session-Id"] = id
            self.session = self.endpoint.sessions.get(id) if self.endpoint.sessions is not None else None
        result = opened.answer()["result"]
        self.headers["MCP-Protocol-Version"] = result["protocolVersion"]
        assert self.tell("notifications/initialized").status == 202
        return result

    @property
    def connection(self) -> Any:
        """The server's connection of the session."""
        return self.session.connection

    def handle(self, made: ScriptedExchange) -> ScriptedExchange:
        """Have the endpoint answer in this thread."""
        self.endpoint.handle(made)
        return made

    def later(self, made: ScriptedExchange) -> ScriptedExchange:
        """Have the endpoint answer in a thread of its own, as a shell would."""
        self._outcomes.append(in_thread(self.endpoint.handle, made))
        return made

    def made(self, method: str, body: Any = None, headers: Optional[Dict[str, Optional[str]]] = None,
             **options: Any) -> ScriptedExchange:
        """An exchange with the headers of the session."""
        return exchange(method, {**self.headers, **(headers or {})}, body, **options)

    def post(self, body: Any, headers: Optional[Dict[str, Optional[str]]] = None, **options: Any) -> ScriptedExchange:
        """POST, answered in this thread."""
        return self.handle(self.made("POST", body, headers, **options))

    def get(self, last: Optional[str] = None, headers: Optional[Dict[str, Optional[str]]] = None) -> ScriptedExchange:
        """GET, with `Last-SseEvent-ID`."""
        return self.handle(self.made("GET", None, {"Last-Event-ID": last, **(headers or {})}))

    def delete(self, headers: Optional[Dict[str, Optional[str]]] = None) -> ScriptedExchange:
        """DELETE."""
        return self.handle(self.made("DELETE", None, headers))

    def ask(self, id: Any, method: str, params: Optional[Dict[str, Any]] = None, **options: Any) -> ScriptedExchange:
        """POST a request; answered in this thread."""
        return self.post(request(id, method, params), **options)

    def begin(self, id: Any, method: str, params: Optional[Dict[str, Any]] = None, **options: Any) -> ScriptedExchange:
        """POST a request whose handler waits for something."""
        return self.later(self.made("POST", request(id, method, params), **options))

    def tell(self, method: str, params: Optional[Dict[str, Any]] = None) -> ScriptedExchange:
        """POST a notification."""
        message: Dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        return self.post(message if params is None else dict(message, params=params))

    def respond(self, id: Any, result: Any) -> ScriptedExchange:
        """POST a response."""
        return self.post({"jsonrpc": "2.0", "id": id, "result": result})

    def lives(self) -> None:
        """The session works."""
        assert self.ask(next(self._ids), "ping").message["result"] == {}

    def close(self) -> None:
        """End everything."""
        self.endpoint.close(0)
        for outcome in self._outcomes:
            outcome.get()

    def __enter__(self) -> "Web":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


def request(id: Any, method: str, params: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
    """A request."""
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else dict(message, params=params)
