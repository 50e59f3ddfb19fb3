"""A client of ours and a server that answers each method as the test says.

    with Scene("2025-06-18", {"tools/list": {"tools": []}}) as scene:
        assert list(scene.client.tools()) == [] and scene.asked == ["tools/list"]

An answer is a result, a function of the params that gives one, or `Failure(code, message)`. A function runs on the
server's thread: it may hold there (a `Gate`), and what it sends arrives before its answer.
"""
import threading
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Union

from mcp_ref.client import Client
from mcp_ref.errors import ConnectionLost
from mcp_ref.protocol import envelope
from mcp_ref.transports.memory import pair

from .conversation import BOUNDED, SERVER_CAPABILITIES
from .scripted import PATIENCE, ScriptedPeer, era_of


class Failure(NamedTuple):
    """A JSON-RPC error as an answer."""

    code: int
    message: str = "no"
    data: Any = None


SILENT = object()
"""An answer that never comes."""
Answer = Union[Dict[str, Any], Failure, Callable[[Dict[str, Any]], Any], object]


class Scene:
    """See the module. `options` go to the client, or are `client`, one that is there; a context manager."""

    def __init__(
        self, revision: str = "2025-11-25", answers: Optional[Dict[str, Answer]] = None,
        capabilities: Optional[Dict[str, Any]] = None, **options: Any
    ) -> None:
        self.answers: Dict[str, Answer] = answers if answers is not None else {}
        self.requests: List[Dict[str, Any]] = []
        self.notifications: List[Dict[str, Any]] = []
        ours, theirs = pair()
        self.peer = ScriptedPeer(theirs)
        options.setdefault("limits", BOUNDED)
        options.setdefault("era", era_of(revision))
        self.client: Client = options.pop("client", None) or Client(**options)
        opening = threading.Thread(target=self.client.open, args=(ours,), daemon=True)
        opening.start()
        declared = SERVER_CAPABILITIES if capabilities is None else capabilities
        self._alive: Dict[str, Answer] = {"ping": {}, "server/discover": {
            "supportedVersions": [revision], "capabilities": declared, "ttlMs": 0, "cacheScope": "private",
        }}
        """What every server answers; it is not noted among the requests, unless the test has an answer of its own."""
        self.opening = self.peer.accept_handshake(revision, declared)
        opening.join(PATIENCE)
        assert not opening.is_alive() and str(self.client.revision) == revision
        self._thread = threading.Thread(target=self._serve, name="scene", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                message = self.peer.receive()
            except ConnectionLost:
                return
            except AssertionError:  # nobody asked anything for long
                continue
            if "method" in message and "id" in message:
                try:
                    self._answer(message)
                except ConnectionLost:  # whoever asked has left
                    return
            elif "method" in message:
                self.notifications.append(message)

    def _answer(self, message: Dict[str, Any]) -> None:
        asked = message["method"]
        answer = self.answers[asked] if asked in self.answers else self._alive[asked]
        if asked in self.answers or asked not in self._alive:
            self.requests.append(message)
        if callable(answer):
            answer = answer(message.get("params", {}))
        if isinstance(answer, Failure):
            error = {name: value for name, value in answer._asdict().items() if value is not None}
            self.peer.send({"jsonrpc": "2.0", "id": message["id"], "error": error})
        elif answer is not SILENT:
            self.peer.respond(message["id"], answer)  # type: ignore[arg-type]

    @property
    def asked(self) -> List[str]:
        """The methods that were asked for so far, pings left out."""
        return [message["method"] for message in self.requests]

    def params(self, method: str) -> List[Any]:
        """The params of each request of this method, without what every request says of itself; None: it had none."""
        return [_bare(message.get("params")) for message in self.requests if message["method"] == method]

    def tell(self, method: str, params: Optional[Dict[str, Any]] = None) -> None:
        """The server announces something, and the client's reader has seen it when this returns."""
        self.peer.notify(method, params)
        self.client.ping()

    def count(self, name: str) -> int:
        """A counter of the client's connection."""
        return self.client.connection.counters[name]

    def close(self) -> None:
        """End everything."""
        self.client.close()
        self.peer.close()
        self._thread.join(PATIENCE)

    def __enter__(self) -> "Scene":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


def _bare(params: Any) -> Any:
    if not envelope.carries(params):
        return params
    meta = {name: value for name, value in params["_meta"].items() if not name.startswith(envelope.PREFIX)}
    return dict(params, _meta=meta) if meta else {name: params[name] for name in params if name != "_meta"} or None


def paged(member: str, pages: List[Any]) -> Callable[[Dict[str, Any]], Dict[str, Any]]:
    """Answers a list request with these pages, each a list of items; cursors are "1", "2" and so on."""

    def answer(params: Dict[str, Any]) -> Dict[str, Any]:
        number = int(params.get("cursor", "0"))
        page: Dict[str, Any] = {member: pages[number]}
        if number + 1 < len(pages):
            page["nextCursor"] = str(number + 1)
        return page

    return answer


def tool(name: str, output: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
    """A tool as a list shows it."""
    shown: Dict[str, Any] = {"name": name, "inputSchema": {"type": "object"}}
    return shown if output is None else dict(shown, outputSchema=output)


def rounds(*answers: Answer) -> Callable[[Dict[str, Any]], Any]:
    """The next of these answers each time, the last one for ever."""
    left = list(answers)
    return lambda params: left.pop(0) if len(left) > 1 else left[0]
