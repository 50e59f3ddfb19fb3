"""The extension of 2026-07-28 at a client: a call that is answered by a task is waited for.

A module of its own, because every client declares it; the rest is loaded when the first task comes.
"""

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence

from ....errors import PeerProtocolError
from ....methods import CALL_TOOL, TASKS, of_extension
from ....peer.extension import Extension, Waiting

if TYPE_CHECKING:
    from ....peer.dispatcher import Connection


class CallsAsTasks(Extension):
    """The extension `io.modelcontextprotocol/tasks` of a client; one object serves all clients."""

    identifier = TASKS
    methods = of_extension(TASKS)
    result_types = ("task",)

    def finish(
        self, client: Any, method: str, params: Optional[Dict[str, Any]], result: Dict[str, Any], waiting: Waiting
    ) -> Dict[str, Any]:
        """Return the result of a call that goes on as a task; see `mcp_ref.ext.tasks.client.task`.

        Only calls of tools may, `PeerProtocolError` for others
        [2026-07-28 extensions/tasks/tasks §Capability Negotiation] MUST.
        """
        if method != CALL_TOOL:
            raise PeerProtocolError("the answer to %s is a task, which only %s can become" % (method, CALL_TOOL))
        from .generations import StatelessTask

        return StatelessTask.created(client, result, (params or {}).get("name")).settled(waiting)

    def heard(self, connection: "Connection", method: str, params: Dict[str, Any]) -> None:
        """Take the new state of a task."""
        from .task import deliver_state

        deliver_state(connection, params)


CALLS_AS_TASKS = CallsAsTasks()


def with_tasks(extensions: Sequence[Extension]) -> List[Extension]:
    """Return the extensions of a client and this one, unless there is one of its name already."""
    given = list(extensions)
    return given if any(each.identifier == TASKS for each in given) else [CALLS_AS_TASKS, *given]
