"""A server that answers calls by tasks, one state after the other as the test says, in either generation.

    with StatelessTasks([working(), completed("yes")]) as scene:
        assert scene.client.call_tool("t").text == "yes"

The first look gets the first state, and the last state stays. No look waits: the client's floor between looks is 0.
"""
from dataclasses import replace
from typing import Any, Dict, List, Optional, Sequence

from mcp_ref.methods import TASKS, of_extension
from mcp_ref.server import Extension, Route
from tests.support.conversation import BOUNDED
from tests.support.scene import SILENT, Answer, Failure, Scene

ID = "task-786512e2"
AT_ONCE = replace(BOUNDED, min_poll_interval=0.0, poll_interval=0.0, restart_delay=0.0)
FORM = {"type": "object", "properties": {"name": {"type": "string"}}}


def state(status: str = "working", message: Optional[str] = None, **more: Any) -> Dict[str, Any]:
    """A state without what the generations name differently."""
    made = {"taskId": ID, "status": status, "createdAt": "2026-01-01T00:00:00Z",
            "lastUpdatedAt": "2026-01-01T00:00:00Z", **more}
    return made if message is None else dict(made, statusMessage=message)


def working(message: Optional[str] = None, **more: Any) -> Dict[str, Any]:
    """A task at work; 2026-07-28."""
    return state("working", message, **dict({"ttlMs": 60000}, **more))


def completed(text: str = "done", **more: Any) -> Dict[str, Any]:
    """A task with a result; 2026-07-28."""
    return state("completed", ttlMs=60000, result=dict({"content": [{"type": "text", "text": text}]}, **more))


def failed(code: int = -32603, message: str = "rate limit exceeded") -> Dict[str, Any]:
    """A task with an error; 2026-07-28."""
    return state("failed", "it failed", ttlMs=60000, error={"code": code, "message": message})


def asking(*keys: str, method: str = "elicitation/create", **more: Any) -> Dict[str, Any]:
    """A task that asks for a form by each key; 2026-07-28."""
    params = {"message": "Who?", "requestedSchema": FORM}
    return state("input_required", ttlMs=60000, inputRequests={
        key: {"method": method, "params": params} for key in keys}, **more)


class StatelessTasks(Scene):
    """A server of 2026-07-28 whose calls become tasks; see the module."""

    def __init__(
        self, states: Sequence[Any], created: Optional[Dict[str, Any]] = None,
        answers: Optional[Dict[str, Answer]] = None, capabilities: Optional[Dict[str, Any]] = None,
        **options: Any
    ) -> None:
        self.states: List[Any] = list(states)
        declared = {"tools": {}, "extensions": {TASKS: {}}} if capabilities is None else capabilities
        options.setdefault("limits", AT_ONCE)
        super().__init__("2026-07-28", dict({
            "tools/call": dict(working() if created is None else created, resultType="task"),
            "tasks/get": lambda params: self.states.pop(0) if len(self.states) > 1 else self.states[0],
            "tasks/update": {}, "tasks/cancel": {}, "subscriptions/listen": Failure(-32601, "Method not found"),
            "tools/list": {"tools": [], "ttlMs": 0, "cacheScope": "private"},
        }, **(answers or {})), declared, **options)

    @property
    def given(self) -> List[Dict[str, Any]]:
        """The answers of each `tasks/update`."""
        return [params["inputResponses"] for params in self.params("tasks/update")]


class Served(Extension):
    """The server's side of one task of 2026-07-28, on any transport; the last state stays."""

    identifier = TASKS
    methods = of_extension(TASKS)

    def __init__(self, *states: Dict[str, Any]) -> None:
        self.states = list(states)

    def adapt(self, role: Any, method: str, revision: Any, route: Route) -> Route:
        """Each call becomes the task."""
        if method != "tools/call":
            return route
        return Route(lambda context, params: dict(working(pollIntervalMs=0), resultType="task"))

    def route(self, role: Any, method: str, revision: Any) -> Optional[Route]:
        """Get, update, cancel."""
        done = {"resultType": "complete"}
        if method == "tasks/get":
            return Route(lambda context, params: dict(
                self.states.pop(0) if len(self.states) > 1 else self.states[0], **done))
        return Route(lambda context, params: done)


def kept(status: str = "working", message: Optional[str] = None, **more: Any) -> Dict[str, Any]:
    """A state of 2025-11-25."""
    return state(status, message, **dict({"ttl": 60000}, **more))


CALLS = {"tools": {}, "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}
"""The capabilities of a server of 2025-11-25 that runs calls as tasks."""


class HandshakeTasks(Scene):
    """A server of 2025-11-25 with the tools ``t`` (tasks are optional), ``must`` (required) and ``plain`` (forbidden).

    `tasks/result` is answered by `end`, or at once if there is an ``outcome``.
    """

    def __init__(
        self, states: Sequence[Any], outcome: Optional[Answer] = None, answers: Optional[Dict[str, Answer]] = None,
        capabilities: Optional[Dict[str, Any]] = None, **options: Any
    ) -> None:
        self.states: List[Any] = list(states)
        options.setdefault("limits", AT_ONCE)
        super().__init__("2025-11-25", dict({
            "tools/call": self._call,
            "tasks/get": lambda params: self.states.pop(0) if len(self.states) > 1 else self.states[0],
            "tasks/result": SILENT if outcome is None else outcome,
            "tasks/cancel": lambda params: kept("cancelled", "by request"),
            "tools/list": {"tools": [tool("t", "optional"), tool("must", "required"), tool("plain", None)]},
        }, **(answers or {})), CALLS if capabilities is None else capabilities, **options)

    def _call(self, params: Dict[str, Any]) -> Dict[str, Any]:
        return {"task": kept(pollInterval=0)} if "task" in params else {"content": [{"type": "text", "text": "plain"}]}

    def end(self, text: str = "done", **more: Any) -> None:
        """Answer the last `tasks/result`."""
        last = [message for message in self.requests if message["method"] == "tasks/result"][-1]
        self.peer.respond(last["id"], payload(text, **more))


def payload(text: str = "done", **more: Any) -> Dict[str, Any]:
    """The answer to `tasks/result`."""
    related = {"io.modelcontextprotocol/related-task": {"taskId": ID}}
    return dict({"content": [{"type": "text", "text": text}], "_meta": related}, **more)


def tool(name: str, support: Optional[str]) -> Dict[str, Any]:
    """A tool in a list."""
    made = {"name": name, "inputSchema": {"type": "object"}}
    return made if support is None else dict(made, execution={"taskSupport": support})
