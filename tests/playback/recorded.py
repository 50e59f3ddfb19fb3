"""Recordings of a few messages, and a live client that plays against them."""
from typing import Any, Dict, List, Sequence

from mcp_ref.devtools.playback.player import Book, Player
from mcp_ref.devtools.playback.script import Recording
from mcp_ref.wiretrace import CLIENT, GAP, MESSAGE, SERVER, Event

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


def ask(id: Any, method: str, **params: Any) -> Dict[str, Any]:
    """A request."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def call(id: Any, name: str, meta: Any = None, **arguments: Any) -> Dict[str, Any]:
    """A call of a tool."""
    more = {"_meta": meta} if meta else {}
    return ask(id, "tools/call", name=name, arguments=arguments, **more)


def tell(method: str, **params: Any) -> Dict[str, Any]:
    """A notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def answer(id: Any, **result: Any) -> Dict[str, Any]:
    """A result."""
    return {"jsonrpc": "2.0", "id": id, "result": result}


def text(id: Any, said: str) -> Dict[str, Any]:
    """The result of a tool."""
    return answer(id, content=[{"type": "text", "text": said}])


def script(*steps: Any, times: Sequence[float] = ()) -> Recording:
    """A script of pairs: C or S, and a message. A text in place of a pair is a gap."""
    made = Recording("it")
    for line, (step, time) in enumerate(zip(steps, times or [0.0] * len(steps)), 1):
        if isinstance(step, str):
            made.take(Event(time, "", GAP, text=step), line)
        else:
            made.take(Event(time, {"C": CLIENT, "S": SERVER}[step[0]], MESSAGE, step[1]), line)
    return made.finish()


class LiveClient:
    """A client that a recording is played to."""

    def __init__(self, *steps: Any) -> None:
        self.book = Book(script(*steps))
        self.got: List[Dict[str, Any]] = []
        self.places: List[Any] = []
        self.player = Player(self.book, self._take)

    def _take(self, message: Dict[str, Any], place: Any, apart: bool) -> None:
        self.got.append(message)
        self.places.append(place)

    def say(self, message: Any, place: Any = None) -> List[Dict[str, Any]]:
        """What comes of a message at once."""
        before = len(self.got)
        self.player.receive(message, place)
        return self.got[before:]
