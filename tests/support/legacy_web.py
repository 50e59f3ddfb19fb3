"""A client of HTTP+SSE without sockets, as `http_exchange.Web` is one of Streamable HTTP.

    with LegacyWeb(server, revision="2024-11-05") as web:    # the stream is open, and the handshake made
        assert web.ask(7, "ping") == {"jsonrpc": "2.0", "id": 7, "result": {}}
        web.stream.leave()                                   # the client goes away
"""
import json
from typing import Any, Dict, List, Optional
from urllib.parse import urlsplit

from mcp_ref.streamable.server.http_sse import SseEndpoint

from .http_exchange import ScriptedExchange, exchange, opening, request
from .sides import Outcome, in_thread

Fields = Optional[Dict[str, Optional[str]]]


class LegacyWeb:
    """An endpoint of a server, and a client with a session there; a context manager.

    ``revision`` None: no stream is opened. Options are those of `SseEndpoint`; ``headers`` go with every request.
    """

    def __init__(self, server: Any, revision: Optional[str] = "2024-11-05", headers: Fields = None, root: str = "",
                 capabilities: Optional[Dict[str, Any]] = None, **options: Any) -> None:
        self.endpoint = SseEndpoint(server.connect, **options)
        self.headers: Dict[str, Optional[str]] = dict(headers or {})
        self.root = root
        self.revision = revision
        self._taken: Dict[int, int] = {}
        self._outcomes: List[Outcome] = []
        if revision is not None:
            self.stream = self.open()
            self.address = self.address_of(self.stream)
            self.handshake(revision, {"sampling": {}, "roots": {}} if capabilities is None else capabilities)

    # Requests

    def made(self, method: str, target: str, body: Any = None, headers: Fields = None) -> ScriptedExchange:
        """An exchange for this path and query."""
        path, _, query = target.partition("?")
        made = exchange(method, {"Accept": "application/json", **self.headers, **(headers or {})}
                        if method == "POST" else {**self.headers, **(headers or {})}, body, path)
        made.request = made.request._replace(query=query, root=self.root)
        return made

    def handle(self, made: ScriptedExchange) -> ScriptedExchange:
        """Have the endpoint answer in this thread."""
        self.endpoint.handle(made)
        return made

    def open(self, headers: Fields = None) -> ScriptedExchange:
        """GET a stream."""
        return self.handle(self.made("GET", "/sse", None, headers))

    def address_of(self, stream: ScriptedExchange) -> str:
        """Where the messages of this stream are posted, as it said first."""
        return stream.events[0].data.decode("ascii")

    def post(self, body: Any, headers: Fields = None, address: Optional[str] = None) -> ScriptedExchange:
        """POST a message to the address of the stream, in this thread."""
        return self.handle(self.made("POST", self.target(address or self.address), body, headers))

    def later(self, body: Any) -> None:
        """POST a request whose handler waits for something, in a thread of its own."""
        made = self.made("POST", self.target(self.address), body)
        self._outcomes.append(in_thread(self.endpoint.handle, made))
        made.done()
        assert made.status == 202, made

    def target(self, address: str) -> str:
        """What of an address reaches the endpoint: all but the prefix."""
        parts = urlsplit(address)
        assert not parts.scheme and not parts.netloc and parts.path.startswith(self.root), address
        return parts.path[len(self.root):] + "?" + parts.query

    # Conversation

    def next(self, stream: Optional[ScriptedExchange] = None) -> Any:
        """The next message that came on the stream; waits for it."""
        stream = stream or self.stream
        taken = self._taken.get(id(stream), 1)
        stream.wait(lambda: len(stream.events) > taken)
        self._taken[id(stream)] = taken + 1
        event = stream.events[taken]
        assert event.event == "message", event
        return json.loads(event.data)

    def handshake(self, revision: str, capabilities: Dict[str, Any]) -> None:
        """Initialize."""
        assert self.post(opening(revision, capabilities=capabilities)).status == 202
        assert self.next()["result"]["protocolVersion"] == revision
        assert self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202

    def ask(self, id: Any, method: str, params: Optional[Dict[str, Any]] = None) -> Any:
        """POST a request, and what comes next on the stream."""
        assert self.post(request(id, method, params)).status == 202
        return self.next()

    def lives(self) -> None:
        """The session works."""
        assert self.ask("lives", "ping")["id"] == "lives"

    @property
    def session(self) -> Any:
        """The session in the server; there must be one."""
        session, = self.endpoint.sessions.all()
        return session

    def close(self) -> None:
        """End everything."""
        self.endpoint.close(0)
        for outcome in self._outcomes:
            outcome.get()

    def __enter__(self) -> "LegacyWeb":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()
