"""Tasks: calls of tools whose answers are fetched later. `mcp_ref.protocol.extensions` compares the two generations.

::

    client.call_tool("render", {"scene": "sea"})              # waits, also where the server makes a task of it
    task = client.start_tool("render", {"scene": "sea"})      # a `ToolTask`
    task.id                                                   # keep it: client.task(id) takes the task up again
    task.wait(5.0), task.status, task.message                 # how it is after five seconds at most
    task.result()                                             # the result, as of call_tool

A call waits with the timeout that its caller has given; what the server says about its task is progress. A call that
is given up, by its timeout or by its caller, cancels the task. A `ToolTask` goes on until it is over, or cancelled.

Reading order:

- `mcp_ref.client.client`: what a client offers, `Client.start_tool` and the other calls about tasks
- `task`: a task in the hands of its caller, and how it is waited for
- `generations`: what is special about those of 2026-07-28, of which a server tells on a stream; and about those of
  2025-11-25, where a client asks for a task: `start_tool` for tools that may be tasks, `call_tool` for those that must
  be
- `extension`: by which a client declares those of 2026-07-28, and waits for them
- `receiver`: the other direction, with ``tasks=True``: tasks of the client, which a server of 2025-11-25 has it make of
  sampling and elicitation
"""
