"""The places where the client under examination arrives: at a socket with the framing of stdio, or over HTTP.

Both hand what comes to a `ServerScript`, and tell a trace of it, so that the checker judges the client. A request of
the client is answered on a thread of its own: a scene may ask back, or be late.
"""

import threading
from contextlib import suppress
from typing import Any, Callable, Dict, List, Sequence, Tuple

from ....deadline import clock
from ....errors import INVALID_REQUEST, PARSE_ERROR, TransportError
from ....http11.message import Exchange
from ....http11.server.server import HttpServer
from ....jsontext import dumps
from ....methods import INITIALIZE, INITIALIZED
from ....streamable.http_trace import HttpTrace, TracedExchange
from ....threads import start_thread
from ....transports.base import Transport
from ....transports.lines.listener import SocketListener
from ....wiretrace import CLIENT, CLOSE, OPEN, PROCESS, SERVER, Trace
from ..wire import as_bytes, parsed
from .script import CUT, NOTHING, ClientMessage, ClientRequest, ErrorAnswer, ServerScript, Whole

ENDPOINT, SSE_ENDPOINT, POSTS = "/mcp", "/sse", "/messages"
_JSON = (("Content-Type", "application/json"),)
_EVENTS = (("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"))
Fields = Sequence[Tuple[str, str]]


def event(message: Any, kind: str = "") -> bytes:
    """Return the SSE event of a message, of a kind."""
    lines = ["event: " + kind] if kind else []
    lines += ["data: " + line for line in as_bytes(message).decode("utf-8", "surrogateescape").split("\n")]
    return ("\n".join(lines) + "\n\n").encode("utf-8", "surrogateescape")


class LineEndpoint:
    """A loopback socket at which lines arrive: from the process that stands for a server (`stub`), or from the client
    itself, if it speaks the framing of stdio over a socket."""

    def __init__(self, script: ServerScript, trace: Trace, port: int = 0) -> None:
        self.script = script
        self._trace = trace
        self._listener = SocketListener("tcp://127.0.0.1:%d" % port, self._arrived)
        self.connected = threading.Event()
        self._transports: List[Transport] = []
        self._controls: List[Transport] = []
        self._connection = ""

    def open(self) -> str:
        """Listen; return the address. Raises `ConnectFailed`."""
        self._listener.open()
        return self._listener.address

    def _arrived(self, transport: Any) -> Any:
        self._transports.append(transport)
        start_thread("mcp-ref:examiner", self._serve, transport)
        return transport

    def _serve(self, transport: Transport) -> None:
        items = transport.read()
        if items and items[0] == b"control":
            self._control(transport)
        elif items is not None:
            self._converse(transport, items[1:] if items[:1] == [b"data"] else items)
        transport.close()
        self._transports.remove(transport)

    def _begin(self) -> None:
        self.script.begin()
        self.connected.set()

    def _control(self, transport: Transport) -> None:
        """Give the process its settings, and hear what happens to it."""
        self._controls.append(transport)
        self._begin()  # it may end before it says more
        transport.write([as_bytes(self.script.stub)])
        while True:
            items = transport.read()
            for item in items or ():
                event = parsed(item) if isinstance(item, bytes) else None
                if isinstance(event, dict):
                    self.script.tell(event)
                    self._happened(str(event.get("did")), event.get("signal"))
            if items is None:
                if self.script.over:
                    return  # the examiner has ended the connection: the process is there still
                if not any(each.get("did") == "exit" for each in self.script.told):
                    self._happened("signal", "KILL")  # nothing else ends a process before it can say so
                    self._happened("exit", None)
                self.script.tell({"did": "gone"})
                return

    def _happened(self, did: str, signal: Any) -> None:
        """Tell the trace what happens to the process, as a client would; not what the examiner does to it, which ends
        the processes of a client that is silent."""
        if self.script.stopped:
            return
        more = {"signal": signal} if did == "signal" else {"code": 0} if did == "exit" and signal is None else {}
        self._trace.tell(PROCESS, SERVER if did == "exit" else CLIENT, {"did": did, **more},
                         connection=self._connection)

    def _converse(self, transport: Transport, items: Any) -> None:
        trace, connection = self._trace, self._trace.connection()
        self._connection = connection
        trace.tell(OPEN, members={"transport": "stdio"}, connection=connection)

        def send(data: bytes) -> bool:
            trace.message(SERVER, data, connection)
            try:
                transport.write([data])
            except TransportError:
                return False
            return True

        self.script.streams.append(send)
        self._begin()
        while items is not None:
            for item in items:
                if isinstance(item, bytes):
                    trace.message(CLIENT, item, connection)
                    self._take(parsed(item), send)
            items = transport.read()
        self.script.streams.remove(send)
        trace.tell(CLOSE, CLIENT, connection=connection)
        trace.disconnected()
        self.script.tell({"did": "disconnected"})

    def _take(self, value: Any, send: Callable[[bytes], bool]) -> None:
        at = clock()
        self.script.take(ClientMessage(value, None, at))
        for each in (ClientMessage(message, None, at) for message in (value if isinstance(value, list) else [value])):
            if each.method == INITIALIZED:
                start_thread("mcp-ref:examiner", self.script.opening, self.script)
            if each.is_request:
                start_thread("mcp-ref:examiner", self._answer, ClientRequest(self.script, each, send))

    def _answer(self, asked: ClientRequest) -> None:
        value = self.script.answer(asked)
        if value is CUT:
            self.hang_up()
        message = asked.answer(value)
        if message is not None:
            asked.say(message)

    def hang_up(self) -> None:
        """End the connections: the server is gone. Its process ends at that, and says so by those for control."""
        for each in list(self._transports):
            if each not in self._controls:
                each.close()

    def close(self) -> None:
        """End everything."""
        self.script.end()
        self._listener.close()
        for each in list(self._transports):
            each.close()


class WebEndpoint:
    """An HTTP server for one start of the client. ``sse``: it is one of HTTP+SSE, the transport of 2024-11-05."""

    def __init__(self, script: ServerScript, trace: Trace, port: int = 0, sse: bool = False) -> None:
        self.script = script
        self._sse = sse
        self._http = HttpTrace(trace, None, "http+sse" if sse else "streamable-http")
        self._server = HttpServer(self._handle, port=port)
        self.connected = threading.Event()
        self._lock = threading.Lock()
        self._sessions: Dict[str, bool] = {}
        self._open: List[Exchange] = []
        self._gone = threading.Event()

    def open(self) -> str:
        """Listen; return the URL. Raises `ConnectFailed`."""
        self._server.open()
        self.script.base = self._server.url
        self.script.url = self._server.url + (SSE_ENDPOINT if self._sse else ENDPOINT)
        return self.script.url

    def hang_up(self) -> None:
        """End the open streams."""
        with self._lock:
            streams, self._open = self._open, []
        for each in streams:
            each.finish()

    def expire(self) -> None:
        """Forget the sessions: requests with their ids get 404."""
        with self._lock:
            self._sessions = dict.fromkeys(self._sessions, False)

    def close(self) -> None:
        """End everything."""
        self.script.end()
        self.hang_up()
        self._server.close()
        self._http.closed(SERVER if self.script.stopped else CLIENT)

    def _handle(self, exchange: Exchange) -> None:
        request = exchange.request
        if request.path not in ((SSE_ENDPOINT, POSTS) if self._sse else (ENDPOINT,)):
            self.script.hits.append("%s %s" % (request.method, request.path))
            exchange.reply(*(self.script.page(request) or (404, (), b"")))
            return
        if not self.connected.is_set():
            self.script.begin()
            self.connected.set()
        exchange = TracedExchange(exchange, self._http)
        message = parsed(request.body) if request.body else None
        self.script.take(ClientMessage(message, request, clock()))
        early = self.script.door(request, message)
        if self._sse and (request.method == "POST") == (request.path == SSE_ENDPOINT):
            early = 405, (("Allow", "GET" if request.method == "POST" else "POST"),), b""
        if early is not None:
            exchange.reply(*early)
        elif self._sse and request.method == "GET":
            self._stream(exchange, event(b"%s?session=1" % POSTS.encode(), "endpoint"))
        elif request.method == "POST":
            self._post(exchange, message)
        elif request.method == "GET" and self.script.stream and not self.script.revision.stateless:
            self._stream(exchange, b": open\n\n")
        elif request.method == "DELETE" and not self.script.revision.stateless and not self._sse:
            exchange.reply(200)
        else:
            exchange.reply(405, (("Allow", "POST"),))

    def _stream(self, exchange: Exchange, first: bytes) -> None:
        """Open a stream that belongs to no request."""
        def send(data: bytes) -> bool:
            return exchange.send(event(data))

        def gone() -> None:
            with suppress(ValueError):
                self.script.streams.remove(send)

        exchange.on_close = gone
        exchange.start(200, _EVENTS)
        with self._lock:
            self._open.append(exchange)
        # A client that has read `first` may send a request at once, and the answer looks for the stream.
        self.script.streams.append(send)
        if not exchange.send(first):
            gone()  # `on_close` may have been called before there was anything to remove

    def _post(self, exchange: Exchange, value: Any) -> None:
        if value is None:
            exchange.reply(400, _JSON, dumps({"jsonrpc": "2.0", "id": None, "error": {
                "code": PARSE_ERROR, "message": "no JSON"}}).encode())
            return
        why = self._session_fault(exchange, value)
        if why:
            exchange.reply(why, _JSON, dumps({"jsonrpc": "2.0", "id": None, "error": {
                "code": INVALID_REQUEST, "message": "no such session"}}).encode())
            return
        asked = [ClientMessage(each, exchange.request, clock())
                 for each in (value if isinstance(value, list) else [value])]
        requests = [each for each in asked if each.is_request]
        if self._sse or not requests:
            exchange.reply(202)
        if any(each.method == INITIALIZED for each in asked):
            start_thread("mcp-ref:examiner", self.script.opening, self.script)
        if self._sse:
            for each in requests:
                start_thread("mcp-ref:examiner", self._answer_by_stream, each)
        elif requests:
            _Reply(self, exchange, requests, isinstance(value, list)).run()

    def _session_fault(self, exchange: Exchange, value: Any) -> int:
        """Return the status with which a request without a session, or with a dead one, is refused; 0 for none."""
        method = value.get("method") if isinstance(value, dict) else None
        if self.script.revision.stateless or self._sse or method == INITIALIZE:
            return 0
        session = exchange.request.headers.get("mcp-session-id")
        with self._lock:
            return 400 if session is None else 0 if self._sessions.get(session) else 404

    def _answer_by_stream(self, heard: ClientMessage) -> None:
        asked = ClientRequest(self.script, heard, self.script.say, self.script.say)
        message = asked.answer(self.script.answer(asked))
        if message is not None:
            asked.say(message)

    def session(self) -> str:
        """Return the id of a new session."""
        with self._lock:
            name = "examiner-%d" % (len(self._sessions) + 1)
            self._sessions[name] = True
        return name

    def keep(self, exchange: Exchange) -> None:
        """Keep a stream open until the end, or until `hang_up`."""
        with self._lock:
            self._open.append(exchange)


class _Reply:
    """The answer to one POST: JSON, or a stream, once something is said before."""

    def __init__(self, endpoint: WebEndpoint, exchange: Exchange, requests: List[ClientMessage], batch: bool) -> None:
        self._endpoint, self._exchange = endpoint, exchange
        self._requests, self._batch = requests, batch
        self._begun = False
        self._script = endpoint.script
        self._fields: List[Tuple[str, str]] = []
        agreed = self._script.version == self._script.revision.name  # with another version no session begins
        if not self._script.revision.stateless and agreed and any(each.method == INITIALIZE for each in requests):
            self._fields.append(("Mcp-Session-Id", endpoint.session()))
        ids = [each.message["id"] for each in requests]
        exchange.on_close = lambda: self._script.tell({"did": "closed", "ids": ids})

    def _named(self, fields: Fields) -> Fields:
        return [(self._script.spelling(name), value) for name, value in fields]

    def _raw(self, data: bytes) -> bool:
        if not self._begun:
            self._begun = True
            self._exchange.start(200, self._named((*_EVENTS, *self._fields)))
        return self._exchange.send(data)

    def run(self) -> None:
        """Answer."""
        answers, status, last = [], 200, None  # type: List[Any], int, Any
        for heard in self._requests:
            asked = ClientRequest(self._script, heard, lambda data: self._raw(event(data)), self._raw)
            last = self._script.answer(asked)
            message = asked.answer(last)
            if isinstance(last, (ErrorAnswer, Whole)):
                status = last.status or 200
            answers += [message] if message is not None else []
        if last is NOTHING:
            self._raw(b": later\n\n")
            self._endpoint.keep(self._exchange)
        elif last is CUT:
            self._raw(b": the end\n\n")
            self._exchange.finish()
        elif self._begun or (self._script.style == "sse" and status == 200):
            for each in answers:
                self._raw(event(each))
            self._exchange.finish()
        else:
            body = as_bytes(answers if self._batch else answers[0])
            self._exchange.reply(status, self._named((*_JSON, *self._fields)), body)


def endpoint_of(script: ServerScript, trace: Trace, wire: str, port: int = 0) -> Any:
    """Return the endpoint for a kind of wire, not open yet."""
    return LineEndpoint(script, trace, port) if wire == "pipe" else WebEndpoint(script, trace, port, wire == "sse")
