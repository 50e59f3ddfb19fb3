"""A peer that does what a test says, legal or not: it reads and writes raw messages on one end of a memory pair.

    server = Server("test"); peer = ScriptedPeer.of_server(server)     # the peer is the client
    peer.handshake("2025-06-18")
    peer.send({"jsonrpc": "2.0", "id": 7, "method": "ping"})
    assert peer.receive() == {"jsonrpc": "2.0", "id": 7, "result": {}}

Where a revision has no handshake, `handshake` sends nothing but a `server/discover`, and from then on `request` puts
into `_meta` what every request says of itself; `accept_handshake` answers the client's own `server/discover`. And where
a server asks by its result, `receive` shows each of its questions as the request that it was before, and `respond` to
the last of them sends the call again; its answer then has the id of the call. So one test of a rule that all revisions
state runs on the wire of each. What is really on the wire is in `wire`.

Every wait is bounded by PATIENCE and fails with what was received so far.
"""
import itertools
import json
import threading
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional, Union

from mcp_ref.errors import ConnectionLost
from mcp_ref.protocol import envelope
from mcp_ref.revisions import revision as revision_named
from mcp_ref.server import Connection
from mcp_ref.transports.base import Transport
from mcp_ref.transports.memory import pair

from .patience import WAIT

PATIENCE = WAIT
EVERYTHING: Dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}, "logging": {}}


def era_of(revision: str) -> str:
    """What a client is told that is to speak this revision, or whatever else a server of its era wants."""
    return "modern" if revision_named(revision).stateless else "legacy"


class ScriptedPeer:
    """The test's end of a connection."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.connection: Optional[Connection] = None
        """Our side, where the peer was made by `of_server`, or is a server without handshake."""
        self.seen: List[Any] = []
        self.envelope: Optional[Dict[str, Any]] = None
        """What goes into the `_meta` of each request, where there is no handshake."""
        self.stateless = False
        """Whether it is a server without handshake."""
        self.wire: List[Any] = []
        """What came, as it came."""
        self._rounds = Rounds(self)
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
        """Send a request; with the peer's `envelope`, if it has one."""
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        self._rounds.sent(id, method, params)
        params = self.sealed(params)
        self.send(message if params is None else dict(message, params=params))

    def sealed(self, params: Optional[Dict[str, Any]] = None) -> Optional[Dict[str, Any]]:
        """Params as they are sent: with what a request says of itself, where there is no handshake."""
        if self.envelope is None:
            return params
        return dict(params or {}, _meta=dict(self.envelope, **((params or {}).get("_meta") or {})))

    def notify(self, method: str, params: Optional[Dict[str, Any]] = None) -> None:
        """Send a notification."""
        message = {"jsonrpc": "2.0", "method": method}
        self.send(message if params is None else dict(message, params=params))

    def respond(self, id: Any, result: Dict[str, Any]) -> None:
        """Send a result; complete, if it is not said, where results say that."""
        if self._rounds.answer(id, result):
            return
        if self.stateless and isinstance(result, dict):
            result = dict({"resultType": "complete"}, **result)
        self.send({"jsonrpc": "2.0", "id": id, "result": result})

    def receive(self, wanted: Optional[Callable[[Any], bool]] = None, timeout: float = PATIENCE) -> Any:
        """The next message, or the next one that is wanted; what came before it stays in `seen`."""
        with self._changed:
            while True:
                while self._arrived:
                    message = self._next()
                    if message is None:
                        continue
                    self.seen.append(message)
                    if wanted is None or wanted(message):
                        return message
                if self._ended:
                    raise ConnectionLost("the connection ended; seen: %r" % (self.seen[-5:],))
                if not self._changed.wait(timeout):
                    raise AssertionError("nothing came; seen: %r" % (self.seen[-5:],))

    def _next(self) -> Any:
        """The next message; None where it was a round of questions, which are next."""
        message = self._arrived.popleft()
        if not isinstance(message, Question):
            self.wire.append(message)
        if self.envelope is None:
            return message
        questions = self._rounds.unfold(message)
        self._arrived.extendleft(reversed(questions))
        return None if questions else self._rounds.named(message)

    @property
    def has_mail(self) -> bool:
        """Whether something has come that `receive` has not given yet."""
        return bool(self._arrived)

    def answer_to(self, id: Any) -> Any:
        """The response with this id."""
        return self.receive(lambda m: isinstance(m, dict) and "method" not in m and _same(m.get("id"), id))

    def call(self, id: Any, method: str, params: Optional[Dict[str, Any]] = None) -> Any:
        """Send a request and wait for its response."""
        self.request(id, method, params)
        return self.answer_to(id)

    def barrier(self, id: Any = "barrier") -> List[Any]:
        """Ping and wait for the answer; everything that arrived before it. The reader has seen all we sent then.

        Where there is no ping, a server is asked to introduce itself, which it does at once, too; and a client, which
        is asked nothing there, asks that itself, and gets its answer after everything else.
        """
        if self.stateless:
            return self._answered()
        self.request(id, "ping" if self.envelope is None else "server/discover")
        start = len(self.seen)
        self.answer_to(id)
        return self.seen[start:-1]

    def _answered(self) -> List[Any]:
        assert self.connection is not None, "whose connection is to ask?"
        pending = self.connection.open_request("server/discover", timeout=PATIENCE)
        start = len(self.seen)
        self.receive(lambda message: message.get("method") == "server/discover" and message["id"] == pending.id)
        self.respond(pending.id, {})
        self.connection.wait(pending)
        return self.seen[start:-1]

    def handshake(self, revision: str, capabilities: Optional[Dict[str, Any]] = None) -> Any:
        """Shake hands as a client, or begin without; the result of `initialize`, or of `server/discover`."""
        if revision_named(revision).stateless:
            self.begin(revision, capabilities)
            return self.call("init", "server/discover")["result"]
        info = {"name": "scripted", "version": "0"}
        params = {"protocolVersion": revision, "capabilities": capabilities or {}, "clientInfo": info}
        answer = self.call("init", "initialize", params)
        self.notify("notifications/initialized")
        return answer["result"]

    def begin(self, revision: str, capabilities: Optional[Dict[str, Any]] = None) -> None:
        """From now on each request says of itself that it is a client's with these capabilities."""
        self.envelope = envelope.fields(
            revision_named(revision), capabilities or {}, {"name": "scripted", "version": "0"})

    def listen(self, **wanted: Any) -> None:
        """Ask to hear of changes, where a client has to; ``wanted``: members of the filter."""
        if self.envelope is not None:
            self.request("listening", "subscriptions/listen", {"notifications": wanted})
            self.receive(lambda message: message.get("method") == "notifications/subscriptions/acknowledged")

    def accept_handshake(self, revision: Optional[str] = None, capabilities: Optional[Dict[str, Any]] = None) -> Any:
        """Answer a client's `initialize` as a server, and wait for `initialized`; the params of `initialize`.

        Where there is no handshake, answer its `server/discover`; what `initialize` would have said, and the `_meta`. A
        client that tries that first with a server of the handshake era is refused.
        """
        opening = self.receive()
        if revision is not None and revision_named(revision).stateless:
            return self._introduce(revision, opening, capabilities)
        if opening["method"] == "server/discover":
            error = {"code": -32601, "message": "Method not found"}
            self.send({"jsonrpc": "2.0", "id": opening["id"], "error": error})
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

    def _introduce(self, revision: str, opening: Any, capabilities: Optional[Dict[str, Any]]) -> Any:
        assert opening["method"] == "server/discover", opening
        self.stateless = True
        meta = opening["params"]["_meta"]
        self.respond(opening["id"], {
            "supportedVersions": [revision], "capabilities": EVERYTHING if capabilities is None else capabilities,
            "ttlMs": 0, "cacheScope": "private", "_meta": {envelope.SERVER_INFO: {"name": "scripted", "version": "0"}},
        })
        return {"protocolVersion": meta[envelope.VERSION], "capabilities": meta[envelope.CAPABILITIES],
                "clientInfo": meta.get(envelope.CLIENT_INFO), "_meta": meta}

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


class Question(Dict[str, Any]):
    """One of the questions in a result that wants input, as a request."""


class Rounds:
    """The rounds that a scripted client's calls go through, where a server asks by its results.

    [2026-07-28 basic/patterns/mrtr §Basic Workflow]
    """

    def __init__(self, peer: ScriptedPeer) -> None:
        self._peer = peer
        self._sent: Dict[Any, Any] = {}
        self._calls: Dict[Any, Any] = {}
        self._open: Dict[str, Dict[str, Any]] = {}
        self._numbers = itertools.count(1)

    def sent(self, id: Any, method: str, params: Optional[Dict[str, Any]]) -> None:
        """The peer sends this request."""
        if isinstance(id, (int, str)) and not isinstance(id, bool):
            self._sent[id] = (method, params)

    def unfold(self, message: Any) -> List[Question]:
        """The questions in a message; [] if there are none."""
        result = message.get("result") if isinstance(message, dict) else None
        if not isinstance(result, dict) or result.get("resultType") != "input_required":
            return []
        one = {"call": message["id"], "state": result.get("requestState"), "responses": {}, "left": set()}
        questions = []
        for key, request in (result.get("inputRequests") or {}).items():
            id = "question %d %s" % (next(self._numbers), key)
            self._open[id] = one
            one["left"].add(id)
            questions.append(Question({"jsonrpc": "2.0", "id": id}, **request))
        return questions

    def answer(self, id: Any, result: Dict[str, Any]) -> bool:
        """Answer a question; with the last one of its round the call is sent again. False: it is none."""
        one = self._open.pop(id, None) if isinstance(id, str) else None
        if one is None:
            return False
        one["left"].remove(id)
        one["responses"][id.split(" ", 2)[2]] = result
        if not one["left"]:
            method, params = self._sent[one["call"]]
            again = "round %d" % next(self._numbers)
            self._calls[again] = self._calls.get(one["call"], one["call"])
            more = {"inputResponses": one["responses"]}
            if one["state"] is not None:
                more["requestState"] = one["state"]
            kept = {name: params[name] for name in params or {} if name not in more}
            self._peer.request(again, method, dict(kept, **more))
        return True

    def named(self, message: Any) -> Any:
        """An answer with the id of the call that it answers in the end."""
        if isinstance(message, dict) and "method" not in message and message.get("id") in self._calls:
            return dict(message, id=self._calls[message["id"]])
        return message
