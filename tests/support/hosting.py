"""Hosts whose servers are scripted peers, or servers of ours, over memory pairs.

    host = Host(policy=...)
    peer = scripted(host, "files", "2025-06-18", tools=[tool("read")])
    host.connect("ours", serving(server))
"""
import json
import threading
from typing import Any, Callable, Dict, List, Optional

from mcp_ref import Host, Server
from mcp_ref.errors import ConnectionLost
from mcp_ref.protocol.envelope import SUBSCRIPTION
from mcp_ref.transports.base import Transport
from mcp_ref.transports.memory import pair

from .scripted import ScriptedPeer, era_of
from .sides import in_thread

TELLING: Dict[str, Any] = {
    "tools": {"listChanged": True}, "prompts": {"listChanged": True}, "resources": {"subscribe": True}, "logging": {},
}
"""Capabilities of a server that tells when its lists change."""
SILENT: Dict[str, Any] = {"tools": {}, "prompts": {}, "resources": {}}
"""And of one that does not."""


def serving(server: Server) -> Callable[[], Transport]:
    """A target that connects to this server of ours, each time anew."""

    def make() -> Transport:
        near, far = pair()
        server.connect(far)
        return near

    return make


def tool(name: str, description: str = "", **more: Any) -> Dict[str, Any]:
    """A tool as a server lists it."""
    return dict({"name": name, "description": description, "inputSchema": {"type": "object"}}, **more)


class HostedPeer(ScriptedPeer):
    """A scripted server that answers by itself what ``answers`` has, method -> result or function of the params.

    All that the host sent is in ``heard``; what has no answer is left for the test to `receive`.
    """

    def __init__(self, transport: Transport, answers: Optional[Dict[str, Any]] = None) -> None:
        self.answers: Dict[str, Any] = dict(answers or {})
        self.heard: List[Any] = []
        self._heard_lock = threading.Lock()
        self._listener: Any = None
        transport.read = self._answering(transport.read)  # type: ignore[method-assign]
        super().__init__(transport)

    def _answering(self, read: Callable[[], Any]) -> Callable[[], Any]:
        def answered() -> Any:
            while True:
                items = read()
                if items is None:
                    return None
                try:
                    left = [item for item in items if not self._answer(json.loads(item))]
                except ConnectionLost:  # whoever asked has left
                    return None
                if left:
                    return left

        return answered

    def _answer(self, message: Any) -> bool:
        with self._heard_lock:
            self.heard.append(message)
        if message.get("method") == "subscriptions/listen":
            self._listener = message["id"]
            self.tell("notifications/subscriptions/acknowledged", message["params"])
            return True
        answer = self.answers.get(message.get("method")) if "id" in message else None
        if answer is None:
            return False
        self.respond(message["id"], answer(message.get("params")) if callable(answer) else answer)
        return True

    def tell(self, method: str, params: Optional[Dict[str, Any]] = None) -> None:
        """Announce something: to who listens, where that has to be asked for."""
        if self._listener is None:
            self.notify(method, params)
        else:
            self.notify(method, dict(params or {}, _meta={SUBSCRIPTION: self._listener}))

    def methods(self) -> List[str]:
        """Methods of all that was heard."""
        with self._heard_lock:
            return [message["method"] for message in self.heard if "method" in message]

    def called(self) -> List[Any]:
        """Params of the tool calls that were heard."""
        with self._heard_lock:
            return [message["params"] for message in self.heard if message.get("method") == "tools/call"]


def scripted(host: Host, name: str, revision: str = "2025-11-25", capabilities: Optional[Dict[str, Any]] = None,
             tools: Optional[List[Dict[str, Any]]] = None, answers: Optional[Dict[str, Any]] = None,
             **options: Any) -> HostedPeer:
    """Connect the host to a scripted server, which lists these tools and answers every call with "done"."""
    near, far = pair()
    given = {"tools/list": {"tools": tools or []}, "tools/call": {"content": [{"type": "text", "text": "done"}]}}
    peer = HostedPeer(far, dict(given, **(answers or {})))
    opening = in_thread(host.connect, name, near, **dict({"era": era_of(revision)}, **options))
    peer.accept_handshake(revision, TELLING if capabilities is None else capabilities)
    opening.get()
    return peer
