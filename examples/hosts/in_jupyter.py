"""Serve a running notebook: its variables and cells, as tools that run on the kernel's own thread.

By hand (`pip install notebook`): have `mcp_ref/` and this file in the notebook's folder, start
`MCP_TOKEN=a-long-secret jupyter notebook`, run `%load_ext in_jupyter` in a cell, and tell your host:

    python3 -m mcp_ref config http://127.0.0.1:8765/mcp --for vscode --header "Authorization=Bearer a-long-secret"

Code of clients runs as yours does: hence the token. While a cell of yours runs, calls wait, for up to ten minutes.
"""
import asyncio
import os
from typing import Dict, List

from IPython.utils.capture import capture_output

from mcp_ref import Context, Server, ToolError
from mcp_ref.server import MainThreadQueue

listeners = []


def load_ipython_extension(shell):
    queue = MainThreadQueue(stall_after=600, post=asyncio.get_running_loop().call_soon_threadsafe)
    server = Server("jupyter", version="1.0", executor=queue)

    @server.tool(read_only=True)
    def variables() -> Dict[str, str]:
        """List the variables of the notebook with their types."""
        return {name: type(value).__name__ for name, value in shell.user_ns.items()
                if name not in shell.user_ns_hidden and not name.startswith("_")}

    @server.tool
    def run(cells: List[str], ctx: Context) -> str:
        """Run cells, one after the other, and return what they print and the value of the last one."""
        done = None
        with capture_output() as captured:
            for number, code in enumerate(cells, 1):
                done = shell.run_cell(code, store_history=True)
                if not done.success:
                    raise ToolError("cell %d: %r" % (number, done.error_in_exec or done.error_before_exec))
                ctx.progress(number, len(cells))  # ends a call that was cancelled, between two cells
        return captured.stdout + ("" if done is None or done.result is None else repr(done.result))

    url = os.environ.get("MCP_URL", "http://127.0.0.1:8765/mcp")
    listeners.append(server.listen(url, token=os.environ["MCP_TOKEN"]))
    print("MCP at", listeners[0].address, flush=True)


def unload_ipython_extension(shell):
    listeners.pop().close(0)
