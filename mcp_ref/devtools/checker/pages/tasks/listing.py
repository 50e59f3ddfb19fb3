"""Rules of `tasks/list` [2025-11-25 basic/utilities/tasks §Task Listing]."""

from typing import Optional

from ...observed import ERROR, REQUEST, RESULT, Message
from ...rules import KEPT, UNDECIDED, Broken, CannotTell, Verdict, rule
from ..server.pagination import refuses, unmodified
from .known import GET, ID, LIST, Known, created, known, report, same_requestor, target, tasks

UNDECIDED.update({
    "tasks.list-pagination": "how many tasks are too many for one page the specification does not say",
})


@rule("tasks.list-complete", "tasks.list-next-cursor", on=RESULT, method=GET, scene=created() + """
    C #3 tasks/list
  + S #3 {"tasks": [%s]}
  - S #3 {"tasks": []}
    C #4 tasks/get {"taskId": "%s"}
    S #4 %s
""" % (report(), ID, report()))
def complete(message: Message) -> Verdict:
    """A task that can be asked for is in the list, or on a page of it that a next cursor leads to."""
    run, poll = tasks(message.session).complete.get(message.sender), message.request
    task: Optional[Known] = known(message, target(message))
    if run is None or poll is None or task is None or task.created is None or message.result.get("taskId") != task.id:
        return None
    if not task.created.index < run.first.index < run.last.index < poll.index:
        return None
    if task.id in run.ids:
        return KEPT
    if run.pages > 1:
        return CannotTell("whether the list has changed between its pages")
    if not same_requestor(message, task) or not same_requestor(run.last, task):
        return CannotTell("whether all was asked by the same party")
    return Broken("the list without a next cursor lacks a task that is there", "result.tasks", at=run.last)


_PAGED = created() + """
    C #3 tasks/list
    S #3 {"tasks": [%s], "nextCursor": "MjA="}
""" % report()


@rule("tasks.list-cursor-opaque", on=REQUEST, method=LIST, scene=_PAGED + """
  + C #4 tasks/list {"cursor": "MjA="}
  - C #4 tasks/list {"cursor": "MjA"}
    S #4 !-32602 "Invalid cursor"
""")
def cursor_opaque(message: Message) -> Verdict:
    """A cursor goes back as it was given with a list of tasks."""
    return unmodified(message)


@rule("tasks.list-invalid-cursor", on=(RESULT, ERROR), method=LIST, provoked="tasks.list-cursor-opaque",
      scene=_PAGED + """
    C #4 tasks/list {"cursor": "bogus"}
  + S #4 !-32602 "Invalid cursor"
  - S #4 {"tasks": []}
""")
def invalid_cursor(message: Message) -> Verdict:
    """A cursor that was not given with a list of tasks is answered with the code of invalid params."""
    return refuses(message)
