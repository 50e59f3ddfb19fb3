"""Serve a window: a label that clients read and write, as tools that run on the thread of tkinter.

Tkinter has no call that every thread may make, so `after` pumps the queue. By hand (Debian: `apt-get install
python3-tk`): have `mcp_ref/` beside this file, start `MCP_TOKEN=a-long-secret python3 in_tkinter.py`, and tell your
host:

    python3 -m mcp_ref config http://127.0.0.1:8765/mcp --for vscode --header "Authorization=Bearer a-long-secret"
"""
import os
import tkinter

from mcp_ref import Context, Server
from mcp_ref.server import MainThreadQueue

queue = MainThreadQueue()
server = Server("tkinter", version="1.0", executor=queue)
root = tkinter.Tk()
root.title("MCP")
label = tkinter.Label(root, text="nothing yet", width=40)
label.pack(padx=20, pady=20)


@server.tool
def show(text: str) -> str:
    """Show a text in the window, and return what it showed before."""
    before = str(label.cget("text"))
    label.config(text=text)
    return before


@server.tool
def count(to: int, ctx: Context) -> None:
    """Count in the window."""
    for number in range(1, to + 1):
        label.config(text=str(number))
        root.update()  # a handler that takes long has the window drawn by itself
        ctx.progress(number, to)  # ends a call that was cancelled, between two numbers


def pump() -> None:
    queue.pump()
    root.after(20, pump)


if __name__ == "__main__":
    url = os.environ.get("MCP_URL", "http://127.0.0.1:8765/mcp")
    with server.listen(url, token=os.environ["MCP_TOKEN"]) as listener:
        print("MCP at", listener.address, flush=True)
        pump()
        root.mainloop()  # until the window is closed
