"""The tasks in messages, in both forms that tasks have had: that of 2025-11-25, and that of the extension."""

from typing import Any, NamedTuple

from ...wiretrace.text import shorten

RELATED = "io.modelcontextprotocol/related-task"
_WORDS = 40


class TaskMention(NamedTuple):
    """A task in a message."""

    id: str
    """"" if it has none."""
    status: str = ""
    """"" if the message only names the task."""
    words: str = ""
    """The status in words, as the party that runs the task says it."""


NOTHING = TaskMention("")


def task_mention(message: Any) -> TaskMention:
    """Return what a message says of a task; `NOTHING` for any other message."""
    said = message if isinstance(message, dict) else {}
    for part in (said.get("params"), said.get("result")):
        if not isinstance(part, dict):
            continue
        task = part["task"] if isinstance(part.get("task"), dict) and "taskId" in part["task"] else part
        id, status, words = task.get("taskId"), task.get("status"), task.get("statusMessage")
        if isinstance(id, str):
            known = status if isinstance(status, str) else ""
            return TaskMention(id, known, words if known and isinstance(words, str) else "")
        meta = part.get("_meta")
        related = meta.get(RELATED) if isinstance(meta, dict) else None
        if isinstance(related, dict) and isinstance(related.get("taskId"), str):
            return TaskMention(related["taskId"])
    return NOTHING


def status_of(message: Any) -> str:
    """Return the status of a task that a message tells, with its words: ``working, 40 %``; "" for any other message."""
    found = task_mention(message)
    return ", ".join(shorten(text, _WORDS) for text in found[1:] if text)
