"""Recorded conversations drawn as ladders: sender and kind of each message, in order; several side by side.

    tools/call ------------->
    <----- elicitation/create
    result ----------------->
    <----------------- result

Messages of the client point to the right, those of the server to the left. `rungs` reads a recording (the events of a
`mcp_ref.wiretrace.Trace`, live or from a file), `beside` draws. Only the order is shown, no times.

A whole session, with HTTP, processes and what was found about it, is a `conversation.Conversation`; `text` and
`mermaid` draw that, and `text` cuts it, too. `tasks` finds the tasks in messages.
"""

from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Sequence

from ...methods import is_vendor
from ...wiretrace import CLIENT, MESSAGE, Event
from ...wiretrace.text import plain, shorten
from .tasks import status_of

WIDTH = 28
"""Characters of one ladder: the longest method of the protocol fits in."""
GAP = "  "


class Rung(NamedTuple):
    """One message; ``direction``: its sender, "client" or "server"."""

    direction: str
    label: str


def rungs(events: Iterable[Event]) -> List[Rung]:
    """Return the messages of a recording, in order; those of a batch one by one. Other events are left out."""
    return [Rung(event.direction, plain(label_of(message))) for event in events if event.kind == MESSAGE
            for message in (event.message if isinstance(event.message, list) else [event.message])]


def label_of(message: Any) -> str:
    """Return the label of a message: its method, or the kind of the answer. It has what the peer has written."""
    if not isinstance(message, dict):
        return "not a message"
    status = status_of(message)
    if "method" in message:
        params = message.get("params")
        again = isinstance(params, dict) and "inputResponses" in params
        method = str(message["method"])
        return method + " (vendor)" * is_vendor(method) + " + answers" * again + ": " * bool(status) + status
    if isinstance(message.get("error"), dict):
        return "error %s" % message["error"].get("code")
    result = message.get("result")
    if not isinstance(result, dict) or result.get("resultType", "complete") == "complete":
        wanted = _wanted(result) if status and isinstance(result, dict) else ()
        return " ".join(["result" + ": " * bool(status) + status, *wanted])
    return " ".join([str(result["resultType"]), *_wanted(result)]) + ": " * bool(status) + status


def _wanted(result: Dict[str, Any]) -> Iterator[str]:
    """Yield the first word of the method of each question in a result."""
    requests = result.get("inputRequests")
    for request in requests.values() if isinstance(requests, dict) else ():
        if isinstance(request, dict):
            yield str(request.get("method")).split("/")[0]


def draw(steps: Sequence[Rung], width: int = WIDTH) -> List[str]:
    """Return a line for each rung, ``width`` characters wide: at least 26. A longer label loses its middle."""
    lines = []
    for direction, label in steps:
        text = shorten(label, width - 2)
        line = "-" * (width - 2 - len(text))
        lines.append("%s %s>" % (text, line) if direction == CLIENT else "<%s %s" % (line, text))
    return lines


def beside(ladders: Mapping[str, Sequence[Rung]], width: int = WIDTH) -> str:
    """Return ladders next to one another, each below its title; the lines end in a newline."""
    columns = [[title.center(width), *draw(steps, width)] for title, steps in ladders.items()]
    rows = range(max(map(len, columns), default=0))
    cells = [[column[row] if row < len(column) else " " * width for column in columns] for row in rows]
    return "".join(GAP.join(row).rstrip() + "\n" for row in cells)
