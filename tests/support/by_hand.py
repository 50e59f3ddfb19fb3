"""A client without handshake that goes through the rounds of a request by hand, and servers whose handlers ask.

    with ByHand(asking_server(lambda ctx: ctx.elicit("Who?", {"name": str}, key="who")["name"])) as client:
        first = client.call("tools/call")                       # the answer, which wants input
        assert list(questions(first)) == ["who"]
        assert said(client.again(first, who=accept(name="Ada"))) == "Ada"
"""
import itertools
import json
from typing import Any, Callable, Dict, Optional

from mcp_ref.jsonrpc import parse
from mcp_ref.protocol import envelope
from mcp_ref.revisions import LATEST
from mcp_ref.server import Context, Server

from .scripted import ScriptedPeer

EVERYTHING: Dict[str, Any] = {
    "elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}, "context": {}}, "roots": {},
}
"""Every capability of a client that a server can ask something for."""
CALLS: Dict[str, Dict[str, Any]] = {
    "tools/call": {"name": "go", "arguments": {}}, "prompts/get": {"name": "go"},
    "resources/read": {"uri": "test://go"},
}
"""The requests whose handlers may ask, each with the params that run the handler of an `asking_server`."""
MODEL_SAYS = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "hello"}}
ROOTS = {"roots": [{"uri": "file:///home", "name": "home"}]}


def accept(**content: Any) -> Dict[str, Any]:
    """The answer of a user who fills in a form."""
    return {"action": "accept", "content": content}


def asking_server(handler: Callable[[Any], Any], **options: Any) -> Server:
    """A server whose tool, prompt and resource all run this handler; what it returns is their result."""
    server = Server("asking", **options)

    def go(ctx: Context):  # type: ignore[no-untyped-def]  # any kind of result
        return handler(ctx)

    server.tool(go)
    server.prompt(go)
    server.resource("test://go")(go)
    return server


def said(message: Any) -> str:
    """The text of a complete answer, whichever request it answers; of an error its message."""
    if "error" in message:
        return str(message["error"]["message"])
    result = message["result"]
    assert result["resultType"] == "complete", result
    if "messages" in result:
        return str(result["messages"][0]["content"]["text"])
    return str((result.get("contents") or result["content"])[0]["text"])


def questions(message: Any) -> Dict[str, Any]:
    """What an answer wants: key -> request."""
    result = message.get("result")
    assert result is not None and result["resultType"] == "input_required", message
    found: Dict[str, Any] = result.get("inputRequests", {})
    return found


class ByHand:
    """See the module. ``capabilities`` are declared by each request that declares no others; a context manager."""

    def __init__(self, server: Server, capabilities: Optional[Dict[str, Any]] = None) -> None:
        self.capabilities = EVERYTHING if capabilities is None else capabilities
        self.peer = ScriptedPeer.of_server(server)
        assert self.peer.connection is not None
        self.connection = self.peer.connection
        self._numbers = itertools.count(1)
        self._sent: Dict[Any, Any] = {}

    def call(self, method: str, params: Optional[Dict[str, Any]] = None, capabilities: Optional[Dict[str, Any]] = None,
             principal: Any = None, **more: Any) -> Any:
        """A request, and its answer. ``params``: default: those of CALLS; ``more`` members of params."""
        id = next(self._numbers)
        asked = dict(CALLS[method] if params is None else params, **more)
        meta = envelope.fields(LATEST, self.capabilities if capabilities is None else capabilities)
        self._sent[id] = (method, CALLS[method] if params is None else params, capabilities, principal)
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": dict(asked, _meta=meta)}
        if principal is None:
            self.peer.send(message)
        else:  # what a transport does that knows who sends
            data = json.dumps(message).encode("ascii")
            self.connection.transport.arrived(data)  # type: ignore[attr-defined]  # for the judge
            self.connection.work(self.connection.receive(parse(data), data, principal=principal))
        return self.peer.answer_to(id)

    def again(self, answer: Any, responses: Optional[Dict[str, Any]] = None, **by_key: Any) -> Any:
        """The same request as the one that was answered so, with its state and these responses, and its answer."""
        method, params, capabilities, principal = self._sent[answer["id"]]
        more: Dict[str, Any] = {"inputResponses": dict(responses or {}, **by_key)}
        if "requestState" in answer["result"]:
            more["requestState"] = answer["result"]["requestState"]
        return self.call(method, params, capabilities, principal, **more)

    def count(self, name: str) -> int:
        """A counter of the server's connection."""
        return self.connection.counters[name]

    def __enter__(self) -> "ByHand":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.peer.close()
