"""A server of ours that asks its client, and a client of ours that is asked; the other one is scripted.

    with Asking("2025-11-25", {"sampling": {}}) as asking:          # our server, scripted client
        asking.start(lambda ctx: ctx.sample("hello", 10))           # a handler, run by a tool
        question = asking.question()                                # what the client is asked
        asking.peer.respond(question["id"], {...})
        assert asking.outcome().model == "m"                        # what the handler returned; or it raises

    with Offering("2025-11-25", sampling=Sampling(...)) as offering:        # our client, scripted server
        assert offering.opening["capabilities"]["sampling"] == {}
        answer = offering.call("sampling/createMessage", {...})             # the whole response
"""
import itertools
from typing import Any, Callable, Dict, List, Optional

from mcp_ref.client import Client
from mcp_ref.server import Context, Server
from mcp_ref.transports.memory import pair

from .conversation import BOUNDED
from .scripted import ScriptedPeer, era_of
from .sides import in_thread

_NUMBERS = itertools.count(1)


class Asking:
    """See the module; `options` go to the server, and `prepare` gets it before it serves. A context manager."""

    def __init__(self, revision: str, capabilities: Optional[Dict[str, Any]] = None,
                 prepare: Callable[[Server], Any] = lambda server: None, **options: Any) -> None:
        options.setdefault("limits", BOUNDED)
        self.server = Server("asking", **options)
        self.prepared = prepare(self.server)
        self.server.tool(self._run, name="go")
        self.questions: List[Any] = []
        self.call: Any = None
        """The id of the tool call whose handler runs."""
        self._handler: Callable[[Any], Any] = lambda ctx: None
        self._value: Any = None
        self._error: Optional[BaseException] = None
        self.peer = ScriptedPeer.of_server(self.server)
        assert self.peer.connection is not None
        self.connection = self.peer.connection
        self.peer.handshake(revision, capabilities)
        self.peer.barrier("ready")

    def _run(self, ctx: Context) -> str:
        try:
            self._value, self._error = self._handler(ctx), None
        except BaseException as error:
            self._error = error
        return "done"

    def start(self, handler: Callable[[Any], Any]) -> None:
        """Run a handler with the context of a tool call."""
        self._handler = handler
        self.call = next(_NUMBERS)
        self.peer.request(self.call, "tools/call", {"name": "go"})

    def question(self) -> Any:
        """The next message of the server, which is a request."""
        message = self.peer.receive()
        assert "method" in message and "id" in message, message
        return message

    def outcome(self) -> Any:
        """What the handler returned, or its exception is raised; the server has said nothing else."""
        message = self.peer.receive()
        assert message["id"] == self.call and "method" not in message, message
        if self._error is not None:
            raise self._error
        return self._value

    def ask(self, handler: Callable[[Any], Any], *results: Dict[str, Any]) -> Any:
        """Run a handler, answer its `questions` with these results, and give its outcome."""
        self.start(handler)
        self.questions = []
        for result in results:
            self.questions.append(self.question())
            self.peer.respond(self.questions[-1]["id"], result)
        return self.outcome()

    def __enter__(self) -> "Asking":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.peer.close()


class Offering:
    """See the module; `options` go to the client. A context manager."""

    def __init__(self, revision: str, **options: Any) -> None:
        options.setdefault("limits", BOUNDED)
        self.client = Client(era=era_of(revision), **options)
        ours, theirs = pair()
        self.peer = ScriptedPeer(theirs)
        opening = in_thread(self.client.open, ours)
        self.opening = self.peer.accept_handshake(revision)
        opening.get()
        assert str(self.client.revision) == revision

    def call(self, method: str, params: Optional[Dict[str, Any]] = None) -> Any:
        """The server's request, and the client's response to it."""
        return self.peer.call("call %d" % next(_NUMBERS), method, params)

    def said(self) -> List[Any]:
        """What the client has said since the last message that the test took."""
        return self.peer.barrier("barrier %d" % next(_NUMBERS))

    def count(self, name: str) -> int:
        """A counter of the client's connection."""
        return self.client.connection.counters[name]

    def __enter__(self) -> "Offering":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.client.close()
        self.peer.close()
