"""How this package starts threads, and whether it can where it runs.

Python in a web page (Pyodide) has no threads. There the package does what it can on the thread that calls:

=========================================  ==================================================================
`Server.handle`, `Server.wsgi`             handlers run on the calling thread, and the reply is whole
`connect(server)`, the memory transport    whoever writes at one end has the other end read at once
a question to the client that waits        refused; in 2026-07-28, where a handler that asks does not wait, asked
anything else                              `NoThreads` at the call
=========================================  ==================================================================

All threads of the package, by the second part of their names (``mcp-ref:reader:stdio``). All are daemons. A test
compares the names with the code.

==============  ===========================================  =======================================================
thread          what it does                                 blocks on; freed by
==============  ===========================================  =======================================================
``again``       sends a request of a future once more        the server; its answer, close
``asking``      a callback about authorization               the callback; nobody has to wait for it
``authorize``   one grant for all threads that need a token  authorization servers; time, or nobody being left
``callbacks``   calls `add_done_callback` of futures         the callback
``child``       waits for the end of a child process         the child
``ending``      ends a server in order after SIGTERM         handlers; their grace
``exit``        ends a process that a stuck handler keeps    time
``extension``   an extension's work on an answer             the extension
``host``        a host's servers side by side; one was lost  the server; time
``keepalive``   pings the peer                               the interval, the answer; close
``left-out``    tells what the log has left out              time
``letters``     messages of other processes in a store       the store; no request being there any more
``listen``      opens a stream of changes again              a pause, the server; close
``listener``    accepts connections on a socket              the selector; close
``probe``       finds out whether threads can be started     nothing
``reader``      reads messages of one connection             `Transport.read`; a message, the end, close
``request``     an HTTP request of a client                  the server; close, the end of its request
``roots``       looks whether roots have changed             the interval; the end of the last client
``selector``    an HTTP server's sockets; quick handlers     the selector; anything on a socket, close
``signals``     hears SIGTERM                                a pipe; the signal, the end of serving
``stderr``      what a child says; the log of a server       the child's pipe; standard error
``tick``        once a second: idle sessions, keep-alive     time; close
``timer``       deadlines of futures                         time; close
``watchdog``    sees that nobody pumps the main thread       time; the queue's end
``watcher``     sees that handlers keep a thread             a millisecond; no work
``worker``      runs handlers                                the handler, its alarm; work, close
``writer``      writes what waits in an outbox               the peer, its alarm; messages, close
==============  ===========================================  =======================================================
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
