"""How this package starts threads, and whether it can where it runs.

Python in a web page (Pyodide) has no threads. There the package does what it can on the thread that calls:

=========================================  ==================================================================
`Server.handle`, `Server.wsgi`             handlers run on the calling thread, and the reply is whole
`connect(server)`, the memory transport    whoever writes at one end has the other end read at once
a question to the client that waits        refused; in 2026-07-28, where a handler that asks does not wait, asked
anything else                              `NoThreads` at the call
=========================================  ==================================================================
"""

import threading
from typing import Any, Callable

from .errors import NoThreads

_INSTEAD = ("no thread can be started here (in a web page there are no sockets and no processes either): use"
            " server.handle(...) or server.wsgi() for HTTP requests that come another way, and connect(server) for a"
            " server in this process")
_started = False
"""Whether a thread could be started once. Later failures mean that the system has none left."""


def available() -> bool:
    """Return whether threads can be started here; found out by one that does nothing, unless one was started before."""
    global _started
    if not _started:
        probe = threading.Thread(target=_nothing, name="mcp-ref:probe", daemon=True)
        try:
            probe.start()
        except RuntimeError:
            return False
        probe.join()
        _started = True
    return True


def need(what: str) -> None:
    """Raise `NoThreads` where no threads can be started; ``what``: what needs them."""
    if not available():
        raise NoThreads("%s needs threads, and %s" % (what, _INSTEAD))


def start_thread(name: str, function: Callable[..., Any], *arguments: Any) -> threading.Thread:
    """Start a named daemon thread. A daemon, because no thread of ours may keep a process alive.

    Raises `NoThreads` where there are none, RuntimeError where none is left or the interpreter ends.
    """
    global _started
    thread = threading.Thread(target=function, args=arguments, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        need(name)
        raise
    _started = True
    return thread


def run_aside(name: str, function: Callable[..., Any], *arguments: Any) -> None:
    """Call a function on a thread of its own; here and now where none can be started."""
    if available():
        start_thread(name, function, *arguments)
    else:
        function(*arguments)


def _nothing() -> None:
    pass
