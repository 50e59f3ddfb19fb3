"""A server that answers calls by tasks, one state after the other as the test says, in either generation.

    with StatelessTasks([working(), completed("yes")]) as scene:
        assert scene.client.call_tool("t").text == "yes"

The first look gets the first state, and the last state stays. No look waits: the client's floor between looks is 0.
"""
from dataclasses import replace
from typing import Any, Dict, List, Optional, Sequence

from tests.support.conversation import BOUNDED
from tests.support.scene import Answer, Scene

ID = "task-786512e2"
EXTENSION = "io.modelcontextprotocol/tasks"
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
        declared = {"tools": {}, "extensions": {EXTENSION: {}}} if capabilities is None else capabilities
        options.setdefault("limits", AT_ONCE)
        super().__init__("2026-07-28", dict({
            "tools/call": dict(working() if created is None else created, resultType="task"),
            "tasks/get": lambda params: self.states.pop(0) if len(self.states) > 1 else self.states[0],
            "tasks/update": {}, "tasks/cancel": {},
            "tools/list": {"tools": [], "ttlMs": 0, "cacheScope": "private"},
        }, **(answers or {})), declared, **options)

    @property
    def given(self) -> List[Dict[str, Any]]:
        """The answers of each `tasks/update`."""
        return [params["inputResponses"] for params in self.params("tasks/update")]
