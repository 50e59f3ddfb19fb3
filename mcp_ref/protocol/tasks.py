"""The names and rules of tasks that both sides and both generations have in common.

A task is a call whose answer is fetched later. 2025-11-25 has them in its core [2025-11-25 basic/utilities/tasks],
2026-07-28 as the extension `mcp_ref.methods.TASKS` [2026-07-28 extensions/tasks/tasks].

================================  ==================================  ==========================================
what                              2025-11-25                          2026-07-28
================================  ==================================  ==========================================
who decides                       who asks, by a member ``task``      who answers, call by call
who may run one                   both sides                          servers
the answer at first               ``{"task": {...}}``                 a result of type ``task``
the result                        `tasks/result`, which waits         in `tasks/get`
questions                         requests that name their task       in `tasks/get`, answered by `tasks/update`
a tool that says it has failed    status ``failed``                   status ``completed``
progress                          by the token of the request         the text of the status
`tasks/list`                      where it is declared                none
================================  ==================================  ==========================================
"""

WORKING, INPUT_REQUIRED, COMPLETED, FAILED, CANCELLED = "working", "input_required", "completed", "failed", "cancelled"
FINAL = frozenset((COMPLETED, FAILED, CANCELLED))
"""The states that a task does not leave any more."""
