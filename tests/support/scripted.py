"""A peer that does what a test says, legal or not: it reads and writes raw messages on one end of a memory pair.

    server = Server("test"); peer = ScriptedPeer.of_server(server)     # the peer is the client
    peer.handshake("2025-06-18")
    peer.send({"jsonrpc": "2.0", "id": 7, "method": "ping"})
    assert peer.receive() == {"jsonrpc": "2.0", "id": 7, "result": {}}

Every wait is bounded by PATIENCE and fails with what was received so far.
"""
import json
import threading
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional, Union

from mcp_ref.errors import ConnectionLost
from mcp_ref.peer.dispatcher import Connection
from mcp_ref.transports.base import Transport
from mcp_ref.transports.memory import pair

PATIENCE = 10.0
EVERYTHING: Dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}, "logging": {}}


class ScriptedPeer:
    """The test's end of a connection."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.connection: Optional[Connection] = None
        """Our side, where the peer was made by `of_server`."""
        self.seen: List[Any] = []
        self._arrived: Deque[Any] = deque()
        self._changed = threading.Condition()
        self._ended = False
        transport.open()
        self._thread = threading.Thread(target=self._read, name="scripted peer", daemon=True)
        self._thread.start()

    @classmethod
    def of_server(cls, server: Any, **options: Any) -> "ScriptedPeer":
        """A client for this server; `options` go to the memory pair."""
        ours, theirs = pair(**options)
        connection = server.connect(ours)
        peer = cls(theirs)
        peer.connection = connection
        return peer

    def _read(self) -> None:
        while True:
            items = self.transport.read()
            with self._changed:
                if items is None:
                    self._ended = True
                else:
                    self._arrived.extend(json.loads(item) if isinstance(item, bytes) else item for item in items)
                self._changed.notify_all()
            if items is None:
                return

    def send(self, *messages: Union[Dict[str, Any], List[Any], bytes, str]) -> None:
        """Send these messages, together; bytes and str go out as they are."""
        raw = []
        for message in messages:
            if isinstance(message, str):
                message = message.encode("utf-8")
            raw.append(message if isinstance(message, bytes) else json.dumps(message).encode("ascii"))
        self.transport.write(raw)

    def request(self, id: Any, method: str, params: Optional[Dict[str, Any]] = None) -> None:
        """Send a request."""
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        self.send(message if params is None else dict(message, params=params))

    def notify(self, method: str, params: Optional[Dict[str, Any]] = None) -> None:
        """Send a notification."""
        message = {"jsonrpc": "2.0", "method": method}
        self.send(message if params is None else dict(message, params=params))

    def respond(self, id: Any, result: Dict[str, Any]) -> None:
        """Send a result."""
        self.send({"jsonrpc": "2.0", "id": id, "result": result})

    def receive(self, wanted: Optional[Callable[[Any], bool]] = None, timeout: float = PATIENCE) -> Any:
        """The next message, or the next one that is wanted; what came before it stays in `seen`."""
        with self._changed:
            while True:
                while self._arrived:
                    message = self._arrived.popleft()
                    self.seen.append(message)
                    if wanted is None or wanted(message):
                        return message
                if self._ended:
                    raise ConnectionLost("the connection ended; seen: %r" % (self.seen[-5:],))
                if not self._changed.wait(timeout):
                    raise AssertionError("nothing came; seen: %r" % (self.seen[-5:],))

    def answer_to(self, id: Any) -> Any:
        """The response with this id."""
        return self.receive(lambda m: isinstance(m, dict) and "method" not in m and _same(m.get("id"), id))

    def call(self, id: Any, method: str, params: Optional[Dict[str, Any]] = None) -> Any:
        """Send a request and wait for its response."""
        self.request(id, method, params)
        return self.answer_to(id)

    def barrier(self, id: Any = "barrier") -> List[Any]:
        """Ping and wait for the answer; everything that arrived before it. The reader has seen all we sent then."""
        self.request(id, "ping")
        start = len(self.seen)
        self.answer_to(id)
        return self.seen[start:-1]

    def handshake(self, revision: str, capabilities: Optional[Dict[str, Any]] = None) -> Any:
        """Shake hands as a client; the result of `initialize`."""
        info = {"name": "scripted", "version": "0"}
        params = {"protocolVersion": revision, "capabilities": capabilities or {}, "clientInfo": info}
        answer = self.call("init", "initialize", params)
        self.notify("notifications/initialized")
        return answer["result"]

    def accept_handshake(self, revision: Optional[str] = None, capabilities: Optional[Dict[str, Any]] = None) -> Any:
        """Answer a client's `initialize` as a server, and wait for `initialized`; the params of `initialize`."""
        opening = self.receive()
        assert opening["method"] == "initialize", opening
        result = {
            "protocolVersion": revision or opening["params"]["protocolVersion"],
            "capabilities": EVERYTHING if capabilities is None else capabilities,
            "serverInfo": {"name": "scripted", "version": "0"},
        }
        self.respond(opening["id"], result)
        assert self.receive()["method"] == "notifications/initialized"
        return opening["params"]

    def ended(self, timeout: float = PATIENCE) -> bool:
        """Whether the other side ends the connection."""
        self._thread.join(timeout)
        return self._ended

    def close(self) -> None:
        """End the connection, and wait until both sides are gone."""
        self.transport.close()
        self._thread.join(PATIENCE)
        if self.connection is not None:
            self.connection.close()
            assert self.connection.wait_closed(PATIENCE)

    def __enter__(self) -> "ScriptedPeer":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and a == b
