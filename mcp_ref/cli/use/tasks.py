"""The command about tasks: calls that a server works on while nobody waits for them.

===========  ==============================  ================================================================
action       shows                           with ``--json``
===========  ==============================  ================================================================
list         a line for each task            ``{"tasks": [Task, ...]}``, all pages in one; 2025-11-25 only
get          the line of the task            the task, as the server tells it
wait         the line, when it is over       the same
cancel       the line                        the same
result       the result, when it is there    CallToolResult (``isError`` too, and then the exit code is 1)
===========  ==============================  ================================================================

In 2026-07-28 a task that asks something ends ``wait`` and ``result`` where there is no terminal, with exit code 1:
the question stays open. ``call --task`` begins one and shows its line. The messages of a task that is waited for go
to standard error. Where a server ends with its command, as a child does, a task lasts no longer; so this is for
servers that stay.
"""

import argparse
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional

from ...client.connecting import is_command
from ...codec import encode
from ...errors import LocalProtocolError, PeerError, PeerProtocolError, RequestTimeout
from ..output import DONE, FAILED, UsageError, note, one_line, say, say_json, show
from .asking import is_interactive
from .connecting import connected, save_option, server_options

if TYPE_CHECKING:
    from ...client import Client, ToolTask
    from ...messages.tasks import Task


def begin(options: Any, client: "Client", arguments: Dict[str, Any]) -> int:
    """Call a tool as a task, for ``call --task``. A server may answer at once all the same."""
    task = options.asking.attempt(client, lambda: client.start_tool(options.name, arguments))
    if task.id is not None:
        if is_command(options.server) and not task.done:
            note("the server ends with this command, and the task with it: leave out --task to wait for the result, or"
                 " start the server by itself (python3 -m mcp_ref run FILE --http 127.0.0.1:8000) and give its URL")
        return _show(options, task)
    note("answered at once, without a task")
    return _show_result(options, client, task)


def tasks(options: Any) -> int:
    """Run one action of the command `tasks`, and return its exit code."""
    if (options.id is None) != (options.action == "list"):
        raise UsageError("tasks %s takes %s" % (
            options.action, "no id" if options.action == "list" else "the id of a task"))
    with connected(options) as client:
        if options.action == "list":
            return _list_tasks(options, client)
        # Without a terminal nobody can answer, and to decline would end the work: what the task asks stays open.
        task = client.task(options.id, progress=_step, rounds=None if is_interactive() else "manual")
        return ACTIONS[options.action](options, client, task)


def _list_tasks(options: Any, client: "Client") -> int:
    if client.revision.stateless:
        raise LocalProtocolError("revision %s has no list of tasks: keep the ids that call --task shows, and ask with"
                                 " tasks get SERVER ID; --era legacy asks the server for those of 2025-11-25" % (
                                     client.revision,))
    found: "List[Task]" = []
    cursor: Optional[str] = None
    for _ in range(client.limits.max_pages):
        page = client.list_tasks(cursor)
        found += page.tasks
        cursor = page.next_cursor
        if cursor is None:
            break
    else:
        raise PeerProtocolError("tasks/list does not end: there are more pages than max_pages")
    if options.json:
        say_json({"tasks": [encode(each, client.revision) for each in found]})
        return DONE
    say("tasks: %d" % len(found))
    for each in found:
        say("  " + _line(each.task_id, each.status, each.status_message))
    return DONE


def _get(options: Any, client: "Client", task: "ToolTask") -> int:
    return _show(options, task)


def _wait(options: Any, client: "Client", task: "ToolTask") -> int:
    _wait_for(options, task)
    return _show(options, task)


def _wait_for(options: Any, task: "ToolTask") -> None:
    """Wait until a task is over. Raises `LocalProtocolError` for one that asks something where nobody can answer."""
    if not task.wait(options.timeout):
        raise RequestTimeout("task %s is %s still" % (one_line(task.id or ""), task.status))
    if not task.done:
        asked = ("%s %s" % (each.get("method"), (each.get("params") or {}).get("message", ""))
                 for each in task.questions.values())
        raise LocalProtocolError(
            "task %s asks something, and there is no terminal: %s; it stays open: run this on a terminal to answer" % (
                one_line(task.id or ""), one_line(", ".join(asked))))


def _cancel(options: Any, client: "Client", task: "ToolTask") -> int:
    task.cancel()
    try:
        task.refresh()
    except PeerError as error:  # a server need not keep a task that was cancelled
        note(one_line("cancelled; %s" % error))
    return _show(options, task)


def _result(options: Any, client: "Client", task: "ToolTask") -> int:
    _wait_for(options, task)
    return _show_result(options, client, task)


ACTIONS: "Dict[str, Callable[[Any, Client, ToolTask], int]]" = {
    "get": _get, "wait": _wait, "cancel": _cancel, "result": _result,
}
"""Action -> what is done with one task."""


def _show_result(options: Any, client: "Client", task: "ToolTask") -> int:
    result = task.result()
    show(options, client, result, result.content)
    return FAILED if result.is_error else DONE


def _show(options: Any, task: "ToolTask") -> int:
    if options.json:
        say_json(dict(task.state))
    else:
        say(_line(task.id or "", task.status, task.message))
    return DONE


def _line(id: str, status: str, message: Optional[str]) -> str:
    return one_line("%s %s%s" % (id, status, ": " + message if message else ""))


def _step(value: float, total: Optional[float], message: Optional[str]) -> None:
    note(one_line("... %s" % (message or value)))


def tasks_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command `tasks`."""
    server_options(parser)
    save_option(parser)
    parser.add_argument("id", metavar="ID", nargs="?", help="the task")
