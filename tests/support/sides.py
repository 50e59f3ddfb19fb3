"""Our side of a conversation, as a server or as a client, with handlers that a test gives; and two of ours together.

    with Side("client", "2025-06-18", {"slow": lambda ctx: gate.hold()}) as side:
        side.ask(7, "slow")                # the scripted peer asks; our handler runs
        side.connection.request("ping")    # we ask; the scripted peer answers

A server's handlers are reached by the tool `work`, a client's by `sampling/createMessage`; both say the same. `Gate` is
how a test holds a thread at a place, and `in_thread` how it runs a call that waits.
"""
import itertools
import threading
from typing import Any, Callable, Dict, Optional

from mcp_ref.client import Client
from mcp_ref.limits import DEFAULT, Limits
from mcp_ref.messages.lifecycle import ClientCapabilities, RootsCapability, SamplingCapability
from mcp_ref.peer.context import Context as AnyContext
from mcp_ref.protocol.lifecycle import OPERATING
from mcp_ref.revisions import HANDSHAKE_REVISIONS
from mcp_ref.server import Connection, Context, Route, Server
from mcp_ref.transports.memory import pair

from .scripted import PATIENCE, ScriptedPeer, era_of

HANDSHAKE = [revision.name for revision in HANDSHAKE_REVISIONS]
ROLES = ["server", "client"]
_NUMBERS = itertools.count()

Handler = Callable[[Any], Any]
"""Gets the context; what it returns is answered as text, if it is anything."""


class Gate:
    """A place where a thread waits until the test lets it go on; opened at the latest when the test leaves it."""

    def __init__(self) -> None:
        self._entered = threading.Semaphore(0)
        self._open = threading.Event()

    def hold(self, *ignored: Any) -> None:
        """Wait here."""
        self._entered.release()
        if not self._open.wait(PATIENCE):
            raise AssertionError("the gate was not opened")

    def entered(self, times: int = 1) -> None:
        """Wait until this many threads have come here."""
        for _ in range(times):
            assert self._entered.acquire(timeout=PATIENCE), "nobody came to the gate"

    def passed(self) -> bool:
        """Whether another thread has come here that `entered` has not seen."""
        return self._entered.acquire(blocking=False)

    def open(self) -> None:
        """Let everybody go on, also those who come later."""
        self._open.set()

    def __enter__(self) -> "Gate":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.open()


class Outcome:
    """What a function running in another thread comes to."""

    def __init__(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        self._value: Any = None
        self._error: Optional[BaseException] = None
        self._thread = threading.Thread(
            target=self._run, args=(function, arguments, options), name="in_thread", daemon=True
        )
        self._thread.start()

    def _run(self, function: Callable[..., Any], arguments: Any, options: Any) -> None:
        try:
            self._value = function(*arguments, **options)
        except BaseException as error:
            self._error = error

    @property
    def over(self) -> bool:
        """Whether it has come to an end."""
        return not self._thread.is_alive()

    def get(self, timeout: float = PATIENCE) -> Any:
        """Its value, or its exception is raised."""
        self._thread.join(timeout)
        assert self.over, "the call still waits"
        if self._error is not None:
            raise self._error
        return self._value


in_thread = Outcome


def eventually(condition: Callable[[], Any]) -> None:
    """Wait, bounded, for something that has no event of its own."""
    tick = threading.Event()
    for number in range(int(PATIENCE / 0.002)):
        if condition():
            return
        tick.wait(min(0.0002 * (number + 1), 0.002))
    raise AssertionError("it never came")


def delivered(connection: Connection) -> None:
    """Wait until user code has had every notification that the reader of this connection has taken."""
    eventually(lambda: connection._lane is None or not connection._lane._scheduled)


class AskedClient(Client):
    """A client that answers `sampling/createMessage` with the handler that `systemPrompt` names."""

    def __init__(self, handlers: Dict[str, Handler], **options: Any) -> None:
        capabilities = ClientCapabilities(roots=RootsCapability(), sampling=SamplingCapability())
        super().__init__("asked", capabilities=capabilities, **options)
        self.handlers = handlers

    def route(self, connection: Connection, method: str, revision: Any) -> Optional[Route]:
        if method == "sampling/createMessage":
            return Route(self._sample)
        return super().route(connection, method, revision)

    def _sample(self, context: AnyContext, params: Dict[str, Any]) -> Dict[str, Any]:
        text = self.handlers[params["systemPrompt"]](context)
        return {"role": "assistant", "model": "none", "content": {"type": "text", "text": str(text)}}


def working_server(handlers: Dict[str, Handler], **options: Any) -> Server:
    """A server whose tool `work` runs the handler that its argument names."""
    server = Server("working", **options)

    @server.tool
    def work(do: str, ctx: Context) -> str:
        """Do it."""
        return str(handlers[do](ctx))

    return server


def work_params(do: str) -> Dict[str, Any]:
    """Params of `tools/call` that run this handler of a `working_server`."""
    return {"name": "work", "arguments": {"do": do}}


def sample_params(do: str) -> Dict[str, Any]:
    """Params of `sampling/createMessage` that run this handler of an `AskedClient`."""
    message = {"role": "user", "content": {"type": "text", "text": "?"}}
    return {"messages": [message], "maxTokens": 1, "systemPrompt": do}


def said(message: Any) -> str:
    """The text of an answer, of either role, as a message or as its result."""
    result = message.get("result", message)
    content = result["content"]
    return str((content[0] if isinstance(content, list) else content)["text"])


class Side:
    """Our connection in one role, with the scripted peer at the other end; a context manager."""

    def __init__(self, role: str, revision: str = "2025-11-25", handlers: Optional[Dict[str, Handler]] = None,
                 limits: Limits = DEFAULT, **options: Any) -> None:
        self.role = role
        self.handlers = handlers if handlers is not None else {}
        near, far = pair()
        self.peer = ScriptedPeer(far)
        self.client: Optional[AskedClient] = None
        if role == "server":
            self.connection = working_server(self.handlers, limits=limits, **options).connect(near)
            self.peer.handshake(revision, {"sampling": {}, "roots": {}})
            self.sync()
        else:
            self.client = AskedClient(self.handlers, limits=limits, era=era_of(revision), **options)
            opening = in_thread(self.client.open, near)
            self.peer.accept_handshake(revision)
            opening.get()
            self.connection = self.peer.connection = self.client.connection
        if role == "client" or revision in HANDSHAKE:
            assert str(self.connection.session.revision) == revision

    @property
    def any(self) -> str:
        """The method of a request that this side may send, whichever."""
        return "server/discover" if self.peer.stateless else "ping"

    def asking(self, id: Any, do: str, token: Any = None) -> Dict[str, Any]:
        """The peer's request that runs this handler of ours, as a message."""
        server = self.role == "server"
        params = work_params(do) if server else sample_params(do)
        if token is not None:
            params["_meta"] = {"progressToken": token}
        params = self.peer.sealed(params) or {}
        method = "tools/call" if server else "sampling/createMessage"
        return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}

    def ask(self, id: Any, do: str, token: Any = None) -> None:
        """The peer asks for this handler to be run."""
        self.peer.send(self.asking(id, do, token))

    def cancel(self, id: Any, reason: Optional[str] = "enough") -> None:
        """The peer cancels its request."""
        params = {"requestId": id} if reason is None else {"requestId": id, "reason": reason}
        self.peer.notify("notifications/cancelled", params)

    def silent(self) -> None:
        """The connection works, and we have said nothing since the last message that the test took."""
        said_meanwhile = self.sync()
        assert said_meanwhile == [], said_meanwhile

    def sync(self) -> Any:
        """Wait until we have read all that the peer sent; what we have said meanwhile."""
        return self.peer.barrier("barrier %d" % next(_NUMBERS))

    def close(self) -> None:
        """End everything."""
        self.peer.close()
        self.connection.close()
        assert self.connection.wait_closed(PATIENCE)

    def __enter__(self) -> "Side":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


class Both:
    """A client and a server of ours, after a handshake; a context manager."""

    def __init__(self, server_handlers: Dict[str, Handler], client_handlers: Optional[Dict[str, Handler]] = None,
                 limits: Limits = DEFAULT, server_options: Optional[Dict[str, Any]] = None,
                 client_options: Optional[Dict[str, Any]] = None) -> None:
        near, far = pair()
        server = working_server(server_handlers, limits=limits, **(server_options or {}))
        self.server_side = server.connect(far)
        options = dict({"era": "legacy"}, **(client_options or {}))
        self.client = AskedClient(client_handlers or {}, limits=limits, **options)
        self.client.open(near)
        eventually(lambda: self.server_side.session.phase == OPERATING)

    def work(self, do: str, **options: Any) -> str:
        """Call the server's tool that runs this handler, and wait for its text."""
        return str(self.client.call_tool("work", {"do": do}, **options).content[0].text)

    def submit(self, do: str, **options: Any) -> Any:
        """The same as a future."""
        return self.client.submit_tool("work", {"do": do}, **options)

    def __enter__(self) -> "Both":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.client.close()
        self.server_side.close()
        assert self.server_side.wait_closed(PATIENCE) and self.client.connection.wait_closed(PATIENCE)
