"""Servers with tools that run as tasks, and what both generations' clients do with them, as raw messages."""
from typing import Any, Dict

from mcp_ref.methods import TASKS
from mcp_ref.server import Context, Server
from tests.support.by_hand import EVERYTHING, ByHand
from tests.support.conversation import Gate
from tests.support.scripted import ScriptedPeer
from tests.support.sides import eventually

SESSION, STATELESS = "2025-11-25", "2026-07-28"
RELATED = "io.modelcontextprotocol/related-task"
DECLARED: Dict[str, Any] = dict(EVERYTHING, extensions={TASKS: {}})
FINAL = ("completed", "failed", "cancelled")


def served(**options: Any) -> Any:
    """A server with a tool of each kind; `gate` holds the calls of `hold`."""
    server = Server("tasked", "1", **options)
    server.gate = Gate()  # type: ignore[attr-defined]

    @server.tool
    def plain(name: str) -> str:
        return "Hello, %s!" % name

    @server.tool(task="optional")
    def hold(ctx: Context, text: str = "done") -> str:
        server.gate.hold()  # type: ignore[attr-defined]
        ctx.check()
        return text

    @server.tool(task="optional")
    def quick(text: str = "done") -> str:
        return text

    @server.tool(task="required")
    def fails() -> str:
        raise ValueError("it has failed")

    @server.tool(task="optional")
    def breaks() -> str:
        from mcp_ref.server import RpcError

        raise RpcError(-31050, "no more of it", {"left": 0})

    @server.tool(task="optional")
    def asks(ctx: Context) -> str:
        name = ctx.elicit("Who?", {"name": str}, key="who")["name"]
        ticket = ctx.once("ticket", lambda: server.__dict__.setdefault("tickets", []).append(name) or name)
        sure = ctx.elicit("Sure, %s?" % ticket, {"sure": bool}, key="sure")
        return "%s: %s" % (name, sure["sure"])

    @server.tool(task="optional")
    def several(ctx: Context) -> str:
        answers = ctx.ask_all({"a": lambda: ctx.elicit("A?", {"x": str}), "b": lambda: ctx.elicit("B?", {"x": str})})
        return answers["a"]["x"] + answers["b"]["x"]

    return server


class Extended(ByHand):
    """A client of the extension."""

    def __init__(self, server: Any, capabilities: Any = None) -> None:
        super().__init__(server, DECLARED if capabilities is None else capabilities)

    def tool(self, tool: str, capabilities: Any = None, principal: Any = None, **arguments: Any) -> Any:
        """The answer to a call."""
        return self.call("tools/call", {"name": tool, "arguments": arguments}, capabilities, principal)

    def begin(self, name: str, **arguments: Any) -> str:
        """Begin a task; its id."""
        result = self.tool(name, **arguments)["result"]
        assert result["resultType"] == "task", result
        return str(result["taskId"])

    def get(self, id: str, method: str = "tasks/get", **more: Any) -> Any:
        """The answer to a request about a task."""
        return self.call(method, {"taskId": id}, **more)

    def until(self, id: str, *statuses: str) -> Any:
        """The task, once it has one of these statuses; any final one by default."""
        found = {}

        def there() -> bool:
            found.update(task=self.get(id)["result"])
            return found["task"]["status"] in (statuses or FINAL)

        eventually(there)
        return found["task"]

    def update(self, id: str, **responses: Any) -> Any:
        """Answer questions."""
        return self.call("tasks/update", {"taskId": id, "inputResponses": responses})


class Session:
    """A client of 2025-11-25 in memory."""

    def __init__(self, server: Any, capabilities: Any = None) -> None:
        self.peer = ScriptedPeer.of_server(server)
        self.opened = self.peer.handshake(SESSION, EVERYTHING if capabilities is None else capabilities)
        self._number = 0
        self._shown: Any = set()

    def send(self, method: str, params: Any = None) -> int:
        """Send a request; its id."""
        self._number += 1
        self.peer.request(self._number, method, params)
        return self._number

    def call(self, method: str, params: Any = None) -> Any:
        """The answer to a request."""
        return self.answer_to(self.send(method, params))

    def answer_to(self, id: int) -> Any:
        """The answer to this request, which may have come already."""
        waiting = [message for message in self.peer.seen if "method" not in message and message["id"] == id]
        return waiting[0] if waiting else self.peer.answer_to(id)

    def tool(self, name: str, arguments: Any = None, **more: Any) -> Any:
        """The answer to a call."""
        return self.call("tools/call", dict({"name": name, "arguments": arguments or {}}, **more))

    def begin(self, name: str, arguments: Any = None, task: Any = None, **more: Any) -> str:
        """Begin a task; its id."""
        return str(self.tool(name, arguments, task=task or {}, **more)["result"]["task"]["taskId"])

    def get(self, id: str, method: str = "tasks/get") -> Any:
        """The answer to a request about a task."""
        return self.call(method, {"taskId": id})

    def until(self, id: str, *statuses: str) -> Any:
        """The task, once it has one of these statuses; any final one by default."""
        found = {}

        def there() -> bool:
            found.update(task=self.get(id)["result"])
            return found["task"]["status"] in (statuses or FINAL)

        eventually(there)
        return found["task"]

    def question(self) -> Any:
        """The next request of the server that this has not returned."""
        def fresh(message: Any) -> bool:
            return "id" in message and "method" in message and message["id"] not in self._shown

        waiting = list(filter(fresh, self.peer.seen))
        found = waiting[0] if waiting else self.peer.receive(fresh)
        self._shown.add(found["id"])
        return found

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.peer.close()


def text(result: Any) -> str:
    """The text of the result of a tool."""
    return str(result["content"][0]["text"])
