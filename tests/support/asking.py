"""One of ours that asks a user or is asked, and a scripted peer at the other end.

    with Asking("2025-11-25", lambda ctx: ctx.elicit("Who?", {"name": str})["name"]) as asking:
        question = asking.question()                                     # our server's request, as a message
        assert said(asking.answer({"action": "accept", "content": {"name": "Ada"}})) == "Ada"

    with Asked("2025-11-25", lambda params, context: {"name": "Ada"}) as asked:
        assert asked.ask(form_params({"name": {"type": "string"}}))["result"]["action"] == "accept"
"""
import itertools
from typing import Any, Callable, Dict, Optional

from mcp_ref.client import Client
from mcp_ref.errors import McpError
from mcp_ref.limits import DEFAULT, Limits
from mcp_ref.server import Server
from mcp_ref.transports.memory import pair

from .scripted import PATIENCE, ScriptedPeer, era_of
from .sides import eventually, in_thread, work_params, working_server

CREATE = "elicitation/create"
COMPLETE = "notifications/elicitation/complete"
BOTH = {"form": {}, "url": {}}
_IDS = itertools.count(1)


def form_params(properties: Dict[str, Any], required: Any = None, **more: Any) -> Dict[str, Any]:
    """Params that ask for these fields."""
    schema: Dict[str, Any] = {"type": "object", "properties": properties}
    if required is not None:
        schema["required"] = required
    return dict({"message": "Please", "requestedSchema": schema}, **more)


def url_params(url: str = "https://example.com/connect", id: Any = "e1", **more: Any) -> Dict[str, Any]:
    """Params that ask to follow this link."""
    return dict({"mode": "url", "message": "Please", "url": url, "elicitationId": id}, **more)


class Asking:
    """A server whose tool `work` runs ``handler(ctx)``, and a client that declares this; a context manager.

    ``capability`` is the client's ``elicitation``; None: none. ``server``: one that is there, for another client.
    """

    def __init__(self, revision: str, handler: Optional[Callable[[Any], Any]] = None, capability: Any = BOTH,
                 limits: Limits = DEFAULT, server: Optional[Server] = None) -> None:
        self.server = server or working_server({"ask": handler}, limits=limits)  # type: ignore[dict-item]
        self.peer = ScriptedPeer.of_server(self.server)
        assert self.peer.connection is not None
        self.connection = self.peer.connection
        self.peer.handshake(revision, {} if capability is None else {"elicitation": capability})
        self.peer.barrier()

    def call(self) -> Any:
        """Call the tool: the id of the call."""
        id = "call %d" % next(_IDS)
        self.peer.request(id, "tools/call", work_params("ask"))
        return id

    def outcome(self) -> Any:
        """Call the tool, which asks nothing: its answer."""
        start = len(self.peer.seen)
        answer = self.peer.answer_to(self.call())
        between = self.peer.seen[start:-1]
        assert between == [], "something was sent: %r" % (between,)
        return answer

    def question(self) -> Any:
        """Call the tool: the question it asks."""
        self._call = self.call()
        self._question = self.peer.receive(lambda message: message.get("method") == CREATE)
        return self._question

    def answer(self, result: Dict[str, Any]) -> Any:
        """Answer the question: what the tool answers."""
        self.peer.respond(self._question["id"], result)
        return self.peer.answer_to(self._call)

    def refuse(self, code: int, message: str = "no") -> Any:
        """Answer the question with an error: what the tool answers."""
        error = {"code": code, "message": message}
        self.peer.send({"jsonrpc": "2.0", "id": self._question["id"], "error": error})
        return self.peer.answer_to(self._call)

    def completions(self) -> Any:
        """The ids that were said to be completed so far."""
        self.peer.barrier("barrier %d" % next(_IDS))
        return [m["params"]["elicitationId"] for m in self.peer.seen if m.get("method") == COMPLETE]

    def close(self) -> None:
        """End everything."""
        self.peer.close()

    def __enter__(self) -> "Asking":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


class Asked:
    """A client with this elicitation, and a server that asks it; a context manager."""

    def __init__(self, revision: str, elicitation: Any, limits: Limits = DEFAULT, **options: Any) -> None:
        near, far = pair()
        self.peer = ScriptedPeer(far)
        self.client = Client(elicitation=elicitation, limits=limits, era=era_of(revision), **options)
        opening = in_thread(self.client.open, near)
        self.declared = self.peer.accept_handshake(revision)["capabilities"]
        opening.get()

    def ask(self, params: Dict[str, Any]) -> Any:
        """Ask, and wait for the answer; where a server asks by its result, in the answer to a call of the client."""
        if self.peer.stateless:
            return self._round(params)
        return self.peer.call("ask %d" % next(_IDS), CREATE, params)

    def _round(self, params: Dict[str, Any]) -> Any:
        """What a client answers in the next round; what it raises instead, as an error."""
        calling = in_thread(self.client.call_tool, "ask")
        wants = {"resultType": "input_required", "inputRequests": {"it": {"method": CREATE, "params": params}}}
        self.peer.respond(self.peer.receive()["id"], wants)
        eventually(lambda: calling.over or self.peer.has_mail)
        if calling.over:
            try:
                return calling.get()
            except (McpError, ValueError) as error:
                return {"error": {"code": getattr(error, "code", -32603), "message": str(error)}}
        again = self.peer.receive()
        self.peer.respond(again["id"], {"content": []})
        calling.get()
        return {"result": again["params"]["inputResponses"]["it"]}

    def complete(self, id: Any) -> None:
        """Say that the user is done with the link of this id."""
        self.peer.notify(COMPLETE, {"elicitationId": id})

    def count(self, name: str) -> int:
        """A counter of the client."""
        return self.client.connection.counters[name]

    def close(self) -> None:
        """End everything."""
        self.client.close()
        self.peer.close()
        assert self.client.connection.wait_closed(PATIENCE)

    def __enter__(self) -> "Asked":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()
