"""One conversation between our server or client and a scripted peer, in the phase that a test asks for.

    with conversation("server", "2025-06-18") as talk:      # our server; the scripted peer is its client
        assert talk.call("ping")["result"] == {}

A rule that binds both parties is tested with `party` "server" and "client": the same peer, the same questions. Each
party declares every capability and answers `QUICK` at once (on a worker) and `HELD` when the test opens the gate.
Where there is no handshake a server asks nothing: `asking` and `answering` say which parties a test can run on.
"""
import contextlib
import itertools
import threading
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from mcp_ref.client import Client
from mcp_ref.codec import encode
from mcp_ref.limits import Limits
from mcp_ref.messages.lifecycle import (
    ClientCapabilities, ElicitationCapability, ListChangedCapability, ResourcesCapability, RootsCapability,
    SamplingCapability, ServerCapabilities,
)
from mcp_ref.messages.tasks import ClientTasksCapability, ServerTasksCapability
from mcp_ref.protocol import lifecycle
from mcp_ref.revisions import HANDSHAKE_REVISIONS, revision as revision_named
from mcp_ref.server import Connection, Route, Server
from mcp_ref.transports.base import Transport
from mcp_ref.transports.memory import pair

from .scripted import PATIENCE, ScriptedPeer, era_of

PARTIES = ("server", "client")
OTHER = {"server": "client", "client": "server"}


def answering(revisions: Iterable[Optional[str]]) -> List[Tuple[str, Optional[str]]]:
    """(party, revision): the parties that answer requests in these revisions; None: before one was agreed on."""
    return [(party, name) for name in revisions for party in PARTIES if party == "server" or not _stateless(name)]


def asking(revisions: Iterable[Optional[str]]) -> List[Tuple[str, Optional[str]]]:
    """(party, revision): the parties that send requests in these revisions."""
    return [(party, name) for name in revisions for party in PARTIES if party == "client" or not _stateless(name)]


def _stateless(name: Optional[str]) -> bool:
    return name is not None and era_of(name) == "modern"


BOUNDED = Limits(request_timeout=PATIENCE, initialize_timeout=PATIENCE)
"""Limits that end a test which waits for nothing before its hard time limit does."""

CLIENT_CAPABILITIES: Dict[str, Any] = {
    "roots": {"listChanged": True},
    "sampling": {"context": {}, "tools": {}},
    "elicitation": {"form": {}, "url": {}},
    "tasks": {"list": {}, "cancel": {}, "requests": {}},
}
SERVER_CAPABILITIES: Dict[str, Any] = {
    "logging": {},
    "completions": {},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "tools": {"listChanged": True},
    "tasks": {"list": {}, "cancel": {}, "requests": {}},
}
CAPABILITIES = {"client": CLIENT_CAPABILITIES, "server": SERVER_CAPABILITIES}
"""Everything that a party of the newest handshake revision can declare."""


class Ask(NamedTuple):
    """A request that a party answers."""

    method: str
    params: Optional[Dict[str, Any]]


_MESSAGE = {"role": "user", "content": {"type": "text", "text": "hello"}}
QUICK = {
    "server": Ask("tools/call", {"name": "echo", "arguments": {"text": "hello"}}),
    "client": Ask("roots/list", None),
}
"""A request to this party which a worker answers at once."""
HELD = {
    "server": Ask("tools/call", {"name": "hold"}),
    "client": Ask("sampling/createMessage", {"messages": [_MESSAGE], "maxTokens": 10}),
}
"""A request to this party which is answered when the test opens `Talk.gate`."""


class Gate:
    """Holds handlers until the test lets them go on."""

    def __init__(self) -> None:
        self._entered = threading.Semaphore(0)
        self._open = threading.Event()

    def hold(self) -> None:
        """Called by a handler: wait for the test."""
        self._entered.release()
        if not self._open.wait(PATIENCE):
            raise AssertionError("the test never opened the gate")

    def wait_entered(self) -> None:
        """Wait until one more handler stands at the gate."""
        assert self._entered.acquire(timeout=PATIENCE), "no handler came to the gate"

    def open(self) -> None:
        """Let all handlers go on, now and later."""
        self._open.set()

    @property
    def opened(self) -> bool:
        """Whether the test has let the handlers go on."""
        return self._open.is_set()


class SubjectServer(Server):
    """A server that declares everything, answers a little, and remembers what reached it."""

    def __init__(self, **options: Any) -> None:
        super().__init__("subject", "1", **options)
        self.gate = Gate()
        self.reached: List[str] = []
        self.tool(echo)
        self.tool(lambda: self._hold(), name="hold")
        self.resource("test://text")(lambda: "text")
        self.prompt(lambda: "hello", name="hello")

    def _hold(self) -> str:
        self.gate.hold()
        return "held"

    def route(self, connection: Connection, method: str, revision: Any) -> Optional[Route]:
        found = super().route(connection, method, revision)
        if found is not None and method == "initialize":
            found = Route(self._declaring(found.call), inline=True)
        return found and _noted(found, method, self.reached)

    def _declaring(self, answer: Callable[[Any, Dict[str, Any]], Any]) -> Callable[[Any, Dict[str, Any]], Any]:
        changing = ListChangedCapability(list_changed=True)
        everything = ServerCapabilities(
            logging={}, completions={}, prompts=changing, tools=changing,
            resources=ResourcesCapability(subscribe=True, list_changed=True),
            tasks=ServerTasksCapability(list={}, cancel={}),
        )

        def declare(context: Any, params: Dict[str, Any]) -> Dict[str, Any]:
            result = answer(context, params)
            session = context.connection.session
            session.capabilities = encode(everything, session.rules)
            return dict(result, capabilities=session.capabilities)

        return declare

    def notification(self, connection: Connection, method: str, params: Dict[str, Any]) -> None:
        self.reached.append(method)

    def on_open(self, connection: Connection) -> None:
        self.reached.append("opened")


class SubjectClient(Client):
    """A client that declares everything, answers a little, and remembers what reached it."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("capabilities", ClientCapabilities(
            roots=RootsCapability(list_changed=True), sampling=SamplingCapability(context={}, tools={}),
            elicitation=ElicitationCapability(form={}, url={}), tasks=ClientTasksCapability(list={}, cancel={}),
        ))
        super().__init__("subject", "1", **options)
        self.gate = Gate()
        self.reached: List[str] = []

    def route(self, connection: Connection, method: str, revision: Any) -> Optional[Route]:
        found = super().route(connection, method, revision)
        if method == QUICK["client"].method:
            found = Route(lambda context, params: {"roots": []})
        elif method == HELD["client"].method:
            found = Route(lambda context, params: self._sample())
        return found and _noted(found, method, self.reached)

    def _sample(self) -> Dict[str, Any]:
        self.gate.hold()
        return {"role": "assistant", "content": {"type": "text", "text": "held"}, "model": "none"}

    def notification(self, connection: Connection, method: str, params: Dict[str, Any]) -> None:
        self.reached.append(method)
        super().notification(connection, method, params)


def echo(text: str) -> str:
    """The text as it came."""
    return text


def _noted(route: Route, method: str, reached: List[str]) -> Route:
    def call(context: Any, params: Dict[str, Any]) -> Any:
        reached.append(method)
        return route.call(context, params)

    return Route(call, route.fault, route.inline)


class Opening:
    """`client.open(transport)` on a thread of its own, while the test plays the server."""

    def __init__(self, client: Client, transport: Transport) -> None:
        self._client = client
        self._transport = transport
        self.error: Optional[BaseException] = None
        self._thread = threading.Thread(target=self._run, name="opening", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._client.open(self._transport)
        except BaseException as error:
            self.error = error

    def join(self) -> Optional[BaseException]:
        """Wait for the end of `open`; what it raised."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "open() hangs"
        return self.error


class Talk:
    """A conversation: `peer` is the test's end, `connection` ours."""

    def __init__(self, party: str, role: Any, connection: Connection, peer: ScriptedPeer) -> None:
        self.party = party
        self.role = role
        self.connection = connection
        self.peer = peer
        self.gate: Gate = role.gate
        self._ids = itertools.count(1)
        stateless = peer.stateless or peer.envelope is not None
        self.asks, self.answers = party == "client" or not stateless, party == "server" or not stateless
        """Whether our side sends requests, and whether it answers any."""
        self.any = "server/discover" if stateless else "ping"
        """The method of a request that either may send, if it may send any, and that is answered at once."""

    def fresh_id(self) -> str:
        """A request id that this peer has not used."""
        return "fresh-%d" % next(self._ids)

    def call(self, method: str, params: Optional[Dict[str, Any]] = None) -> Any:
        """The peer's request and our response to it."""
        return self.peer.call(self.fresh_id(), method, params)

    def quick(self, id: Any) -> Dict[str, Any]:
        """A request object that is answered at once by a worker."""
        return self.message(id, *QUICK[self.party])

    def held(self, id: Any) -> Dict[str, Any]:
        """A request object that is answered when the gate opens."""
        return self.message(id, *HELD[self.party])

    def message(self, id: Any, method: str, params: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        """A request object of the peer's, as its revision has it."""
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        params = self.peer.sealed(params)
        return message if params is None else dict(message, params=params)

    def hold(self, id: Any) -> None:
        """Send a request that waits at the gate, and see it arrive there."""
        self.peer.send(self.held(id))
        self.gate.wait_entered()

    def unanswered(self) -> List[Any]:
        """Let our reader catch up with all that was sent, by a ping or the like; all that came before its answer."""
        return self.peer.barrier(self.fresh_id())

    def lives(self) -> None:
        """A ping, or what there is instead, is answered, and nothing came before its answer."""
        assert self.unanswered() == []
        answer = self.peer.seen[-1]
        assert self.any == "server/discover" or answer == {"jsonrpc": "2.0", "id": answer["id"], "result": {}}

    def count(self, name: str) -> int:
        """A counter of our connection."""
        return self.connection.counters[name]

    def counts(self) -> Dict[str, int]:
        """All counters of our connection."""
        return self.connection.counters.snapshot()


def opening_params(revision: str, capabilities: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
    """The params of a scripted client's `initialize`."""
    declared = CLIENT_CAPABILITIES if capabilities is None else capabilities
    return {"protocolVersion": revision, "capabilities": declared, "clientInfo": {"name": "scripted", "version": "0"}}


@contextlib.contextmanager
def conversation(
    party: str,
    revision: str = "2025-11-25",
    phase: str = lifecycle.OPERATING,
    peer_capabilities: Optional[Dict[str, Any]] = None,
    limits: Limits = BOUNDED,
    **options: Any,
) -> Iterator[Talk]:
    """Our party (`options` go to its constructor) and a scripted peer that declares everything, or what it is told."""
    ours, theirs = pair(limits)
    peer = ScriptedPeer(theirs)
    start = {"server": _serve, "client": _connect}[party]
    if _stateless(revision):
        start = {"server": _serve_alone, "client": _connect_alone}[party]
    talk, finish = start(ours, peer, revision, phase, peer_capabilities, dict(options, limits=limits))
    try:
        yield talk
    finally:
        talk.gate.open()
        peer.transport.close()
        finish()
        talk.connection.close()
        assert talk.connection.wait_closed(PATIENCE), "the connection did not end"
        peer.close()


def _serve(
    ours: Transport, peer: ScriptedPeer, revision: str, phase: str, declared: Optional[Dict[str, Any]],
    options: Dict[str, Any],
) -> Tuple[Talk, Any]:
    options.setdefault("revisions", HANDSHAKE_REVISIONS)  # what else it may speak has a test of its own
    server = (_SlowToAnswer if phase == lifecycle.INITIALIZING else SubjectServer)(**options)
    connection = server.connect(ours)
    talk = Talk("server", server, connection, peer)
    if phase != lifecycle.OPENING:
        peer.request("init", "initialize", opening_params(revision, declared))
        if phase == lifecycle.INITIALIZING:
            talk.gate.wait_entered()
        else:
            assert peer.answer_to("init")["result"]["protocolVersion"] == revision
    if phase == lifecycle.OPERATING:
        peer.notify("notifications/initialized")
        talk.unanswered()
        server.reached.clear()
    return talk, lambda: None


def _serve_alone(
    ours: Transport, peer: ScriptedPeer, revision: str, phase: str, declared: Optional[Dict[str, Any]],
    options: Dict[str, Any],
) -> Tuple[Talk, Any]:
    options.setdefault("revisions", [revision])
    server = SubjectServer(**options)
    connection = server.connect(ours)
    peer.begin(revision, CLIENT_CAPABILITIES if declared is None else declared)
    return Talk("server", server, connection, peer), lambda: None


class _SlowToAnswer(SubjectServer):
    """Answers `initialize` when the gate opens."""

    def route(self, connection: Connection, method: str, revision: Any) -> Optional[Route]:
        found = super().route(connection, method, revision)
        if method != "initialize" or found is None:
            return found
        answer = found.call

        def slowly(context: Any, params: Dict[str, Any]) -> Any:
            self.gate.hold()
            return answer(context, params)

        return Route(slowly)


def _connect(
    ours: Transport, peer: ScriptedPeer, revision: str, phase: str, declared: Optional[Dict[str, Any]],
    options: Dict[str, Any],
) -> Tuple[Talk, Any]:
    options.setdefault("revisions", [revision])
    client = SubjectClient(**options)
    declared = SERVER_CAPABILITIES if declared is None else declared
    if phase in (lifecycle.OPENING, lifecycle.ANSWERED):  # where `open` does not stop by itself
        connection = Connection(ours, client, client.limits, lenient=not client.strict).start()
        if phase == lifecycle.ANSWERED:
            pending = connection.open_request("initialize", opening_params(revision))
            peer.respond(peer.receive()["id"], _answer(revision, declared))
            connection.wait(pending)
            connection.session.capabilities = CLIENT_CAPABILITIES
            connection.session.peer_capabilities = declared
            connection.agree(revision_named(revision))
        return Talk("client", client, connection, peer), lambda: None
    opening = Opening(client, ours)
    if phase == lifecycle.OPERATING:
        peer.accept_handshake(revision, declared)
        assert opening.join() is None, opening.error
    else:
        assert peer.receive()["method"] == "initialize"
    return Talk("client", client, client.connection, peer), lambda: (opening.join(), client.close())


def _connect_alone(
    ours: Transport, peer: ScriptedPeer, revision: str, phase: str, declared: Optional[Dict[str, Any]],
    options: Dict[str, Any],
) -> Tuple[Talk, Any]:
    options.setdefault("era", era_of(revision))
    client = SubjectClient(**options)
    opening = Opening(client, ours)
    peer.accept_handshake(revision, SERVER_CAPABILITIES if declared is None else declared)
    assert opening.join() is None, opening.error
    peer.connection = client.connection
    return Talk("client", client, client.connection, peer), client.close


def _answer(revision: str, capabilities: Dict[str, Any]) -> Dict[str, Any]:
    info = {"name": "scripted", "version": "0"}
    return {"protocolVersion": revision, "capabilities": capabilities, "serverInfo": info}
