"""Serve the program that GDB debugs: expressions, commands, and running it until it stops.

GDB has a Python of its own (Debian: `apt-get install gdb`). By hand: have `mcp_ref/` and this file in one folder, and
in `~/.gdbinit` the line `python import sys; sys.path.append("/that/folder"); import in_gdb`. Start
`MCP_TOKEN=a-long-secret gdb ./program`, and tell your host:

    python3 -m mcp_ref config http://127.0.0.1:8765/mcp --for vscode --header "Authorization=Bearer a-long-secret"

GDB may be used on its main thread only; what waits for the program waits elsewhere, so that GDB goes on.
"""
import os
import signal
import threading
from concurrent.futures import Future
import gdb
from mcp_ref import Context, Server, ToolError

server = Server("gdb", version="1.0")
stopped = threading.Event()
stopped.set()
gdb.events.stop.connect(lambda event: stopped.set())
gdb.events.exited.connect(lambda event: stopped.set())


def on_main(function, *arguments):
    def call():
        try:
            done.set_result(function(*arguments))
        except Exception as error:
            done.set_exception(ToolError(str(error)))
    done = Future()
    gdb.post_event(call)
    return done.result()


@server.tool
def execute(command: str) -> str:
    """Run a command of GDB, such as `break main` or `print 6*7`, and return what it prints."""
    return on_main(gdb.execute, command, False, True)


@server.tool
def go(command: str, ctx: Context) -> str:
    """Run the program by `run`, `step`, `continue` or the like, until it stops. Cancelling the call interrupts it."""
    def resume():
        gdb.execute(command)
        if gdb.selected_thread() and gdb.selected_thread().is_running():
            stopped.clear()  # `run` has stopped what ran before
    on_main(resume)
    while not stopped.wait(0.1):
        if ctx.cancelled.is_set():
            on_main(gdb.execute, "interrupt")
    return on_main(gdb.execute, "frame", False, True)


# GDB waits for these signals on its main thread: the threads that begin here must not take them.
before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCHLD, signal.SIGINT, signal.SIGALRM, signal.SIGWINCH))
listener = server.listen(os.environ.get("MCP_URL", "http://127.0.0.1:8765/mcp"), token=os.environ["MCP_TOKEN"])
signal.pthread_sigmask(signal.SIG_SETMASK, before)
print("MCP at", listener.address, flush=True)
