"""The methods that extensions add, as far as the checker knows them, and who has to declare the extension for each."""

from functools import lru_cache
from typing import Optional

from ..messages.extensions.tasks import TASK
from ..methods import CALL_TOOL, EXTENSION_METHODS, NOTIFICATION, SENDER, TASKS, Method
from ..revisions import Revision
from ..wiretrace import CLIENT
from .observed import Message

ADDED = frozenset(row.name for row in EXTENSION_METHODS)
_RESERVED = ("tasks/", "notifications/tasks/", "skills/")
"""The beginnings of methods that the official extensions keep to themselves."""
RESULTS = {(CALL_TOOL, TASK): (TASKS, "extensions.tasks:TaskCreated")}
"""Method and type of a result -> the extension that adds it, which the client declares, and its class."""


@lru_cache(maxsize=1024)
def _known(name: str, revision: Revision) -> Optional[Method]:
    return next((row for row in EXTENSION_METHODS if row.name == name and revision.has(row.since, row.until)), None)


def added(message: Message, revision: Revision) -> Optional[Method]:
    """Return the row of a message's method, or of its request's, if an extension that is declared adds it.

    Nothing tells before a notification of a server whether it has the extension, so one whose capabilities are not
    known is taken to have it.
    """
    row = _known(message.method, revision) if len(message.method) < _LONG else None
    if row is None or row.extension is None:
        return None
    asked = message.request or message
    holder = asked.sender if row.holder == SENDER else asked.receiver
    known = message.has_extension(holder, row.extension)
    return row if known or (known is None and row.kind == NOTIFICATION) else None


_LONG = 64
"""Characters of a name that is no method of an extension any more."""


def is_reserved(method: str, revision: Revision) -> bool:
    """Return True for a name that an official extension reserves, and that is no method of it."""
    return revision.stateless and method.startswith(_RESERVED) and method not in ADDED


def added_result(message: Message) -> Optional[str]:
    """Return the class of a result whose type an extension adds, if the client has declared it."""
    kind = message.result.get("resultType")
    extension, path = RESULTS.get((message.method, kind), ("", "")) if isinstance(kind, str) else ("", "")
    return path if extension and message.has_extension(CLIENT, extension) else None
