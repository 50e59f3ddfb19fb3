"""The methods that extensions add, as far as the checker knows them, and who has to declare the extension for each."""

from functools import lru_cache
from typing import Optional, Tuple

from ..messages.extensions.skills import SKILLS
from ..messages.extensions.tasks import TASK, TASKS
from ..methods import CLIENT, NOTIFICATION, RECEIVER, REQUEST, SENDER, SERVER, Method
from ..revisions import R2026_07_28, Revision
from .observed import Message

GET_TASK, UPDATE_TASK, CANCEL_TASK = "tasks/get", "tasks/update", "tasks/cancel"
TASK_NOTICE = "notifications/tasks"
LIST_SKILLS, GET_SKILL, READ_DIRECTORY = "skills/list", "skills/get", "resources/directory/read"
CALL_TOOL = "tools/call"


def _row(name: str, kind: str, params: str, result: Optional[str], extension: str, **more: str) -> Method:
    page = "extensions/tasks/tasks" if extension == TASKS else "extensions/skills/skills"
    sender = CLIENT if kind == REQUEST else SERVER
    return Method(name, kind, sender, params, result, R2026_07_28, None, page, extension=extension, **more)


METHODS: Tuple[Method, ...] = (
    _row(GET_TASK, REQUEST, "extensions.tasks:TaskParams", "extensions.tasks:DetailedTask", TASKS, holder=SENDER),
    _row(UPDATE_TASK, REQUEST, "extensions.tasks:UpdateTaskParams", "base:EmptyResult", TASKS, holder=SENDER),
    _row(CANCEL_TASK, REQUEST, "extensions.tasks:TaskParams", "base:EmptyResult", TASKS, holder=SENDER),
    _row(TASK_NOTICE, NOTIFICATION, "extensions.tasks:DetailedTask", None, TASKS, holder=SENDER),
    _row(LIST_SKILLS, REQUEST, "pagination:PaginatedRequestParams", "extensions.skills:ListSkillsResult", SKILLS,
         holder=RECEIVER),
    _row(GET_SKILL, REQUEST, "extensions.skills:GetSkillParams", "extensions.skills:GetSkillResult", SKILLS,
         holder=RECEIVER),
    _row(READ_DIRECTORY, REQUEST, "extensions.skills:ReadDirectoryParams", "extensions.skills:ReadDirectoryResult",
         SKILLS, holder=RECEIVER),
)
"""The rows; ``holder`` is the party that must have declared the extension."""

ADDED = frozenset(row.name for row in METHODS)
RESULTS = {(CALL_TOOL, TASK): (TASKS, "extensions.tasks:TaskCreated")}
"""Method and type of a result -> the extension that adds it, which the client declares, and its class."""


@lru_cache(maxsize=1024)
def _known(name: str, revision: Revision) -> Optional[Method]:
    return next((row for row in METHODS if row.name == name and revision.has(row.since, row.until)), None)


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


def added_result(message: Message) -> Optional[str]:
    """Return the class of a result whose type an extension adds, if the client has declared it."""
    kind = message.result.get("resultType")
    extension, path = RESULTS.get((message.method, kind), ("", "")) if isinstance(kind, str) else ("", "")
    return path if extension and message.has_extension(CLIENT, extension) else None
