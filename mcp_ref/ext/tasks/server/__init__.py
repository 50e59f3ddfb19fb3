"""Tasks: calls of tools whose results are fetched later, in 2025-11-25 and as an extension of 2026-07-28.

::

    from mcp_ref.server import Context, Server, Tasks

    server = Server("jobs", tasks=Tasks(ttl=3600, poll=2))

    @server.tool(task="optional")
    def render(scene: str, ctx: Context) -> str:
        for frame in range(100):
            ctx.check()                                 # raises once the task is cancelled
            draw(scene, frame)
            ctx.progress(frame + 1, 100)                # the message of the task
        if ctx.elicit("Overwrite?", {"yes": bool})["yes"]:    # the task waits for input, without a thread
            save(scene)
        return "done"

One handler serves plain calls and both kinds of tasks. A tool without ``task`` is never run as one. With "optional" it
is where the client can do that, with "required" it is or the call is refused. A function ``(ctx, arguments) -> bool``
decides for each call of 2026-07-28 whose client knows tasks; it may ask the client, and a question that the handler
asks again in the same words is answered already. A server that has such a tool and no ``Tasks`` keeps its tasks in
memory.

A handler that asks **runs again from its first line**, as `mcp_ref.server.mrtr` describes, in both generations: put
what must be done once into `Context.once`. Answers and those values stay with the server.

====================================  =======================================  ========================================
what                                  2025-11-25                               the extension of 2026-07-28
====================================  =======================================  ========================================
who may run one                       both sides                               servers
who decides                           the client, by ``task`` in the call      the server, for clients that declare it
``task`` and a forbidden tool         -32601                                   ignored
no task and a tool that requires one  -32601                                   -32021
the answer to the call                ``{"task": {...}}``                      the task itself, ``resultType: task``
times                                 ``ttl``, ``pollInterval``                ``ttlMs``, ``pollIntervalMs``
the lifetime                          what the client asks for, up to          ``Tasks(ttl=...)``
                                      ``max_task_ttl``
the result                            `tasks/result`, which waits              in `tasks/get`
a tool that fails (``isError``)       failed                                   completed
questions                             requests; over HTTP on the stream of     in `tasks/get`, answered by
                                      `tasks/result`, or of a GET if no        `tasks/update`
                                      other process has the tasks
a client that answers by an error     `PeerError` in the handler               cannot
`tasks/cancel` of an ended task       -32602                                   acknowledged
`tasks/list`                          where clients can be told apart          -32601
``ctx.progress``                      the message of the task, and progress    the message of the task
                                      under the token of the call
``ctx.log``, ``ctx.notify``           sent, with the task's id                 not sent; log messages are counted
changes                               `notifications/tasks/status`             `notifications/tasks` to those who listen
====================================  =======================================  ========================================

A task of one generation is unknown to clients of the other.

A task belongs to its principal (`Context.principal`), and to nobody else. **Where clients need not show who they
are, anybody who knows the id of a task has it**; ids have 192 random bits, the log shows their beginning, and a
shorter ``ttl`` is wise [2025-11-25 basic/utilities/tasks §Task Isolation and Access Control] SHOULD.
`mcp_ref.Limits` has what a client may have: ``max_tasks_per_principal``, ``max_task_ttl``, ``max_task_bytes`` and
others; ``max_running_tasks`` is for all.

A `SqliteStore` keeps tasks in a file, for several processes and over restarts:
``Tasks(SqliteStore("/var/jobs/mcp.db"))``. It can keep the sessions of HTTP, too; see `mcp_ref.stores`.
A task whose process has died is failed with a message, after half a minute; none is run by two processes, and none
begins again, since what it has done is not known.

The reading order: `mcp_ref.stores` (records and where they are kept), `engine` (`Tasks`), `running` (one run of a
handler), `generations` (both of them on the wire).
"""
