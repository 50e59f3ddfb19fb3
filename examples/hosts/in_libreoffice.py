"""Serve the spreadsheet that is open in LibreOffice: its cells, as tools that run on LibreOffice's main thread.

By hand (Debian: `apt-get install libreoffice-calc libreoffice-script-provider-python`): copy this file into
`~/.config/libreoffice/4/user/Scripts/python/`, `python3 -m mcp_ref vendor` with the folder `pythonpath` in there, start
`MCP_TOKEN=a-long-secret soffice`, run `start` under Tools, Macros, Run Macro, My Macros, and tell your host:

    python3 -m mcp_ref config http://127.0.0.1:8765/mcp --for vscode --header "Authorization=Bearer a-long-secret"

No window: `soffice --headless FILE.ods 'vnd.sun.star.script:in_libreoffice.py$start?language=Python&location=user'`.
"""
import os

import uno
import unohelper
from com.sun.star.awt import XCallback

from mcp_ref import Context, Server
from mcp_ref.server import MainThreadQueue


class Call(unohelper.Base, XCallback):
    def __init__(self, function):
        self.notify = lambda data: function()


def create(name):
    return uno.getComponentContext().ServiceManager.createInstance(name)


queue = MainThreadQueue(post=lambda job: create("com.sun.star.awt.AsyncCallback").addCallback(Call(job), None))
server = Server("libreoffice", version="1.0", executor=queue)


def cell(name):
    return create("com.sun.star.frame.Desktop").CurrentComponent.Sheets[0].getCellRangeByName(name)


@server.tool
def write(name: str, formula: str) -> str:
    """Write a number, a text or a formula into a cell, such as `=A1*2` into `B1`, and return what it shows then."""
    cell(name).Formula = formula
    return cell(name).String


@server.tool
def fill(column: str, numbers: int, ctx: Context) -> None:
    """Write the numbers from 1 into a column, from the top."""
    for number in range(1, numbers + 1):
        cell("%s%d" % (column, number)).Value = number
        ctx.progress(number, numbers)  # ends a call that was cancelled, between two cells


def start(*event):
    listener = server.listen(os.environ.get("MCP_URL", "http://127.0.0.1:8765/mcp"), token=os.environ["MCP_TOKEN"])
    print("MCP at", listener.address, flush=True)
