"""The resources that a server holds open while it serves: ``Server(lifespan=...)``.

::

    @contextmanager
    def database(server):
        connection = sqlite3.connect("jobs.db", check_same_thread=False)
        try:
            yield connection                      # `Context.lifespan` in every handler
        finally:
            connection.close()

    server = Server("jobs", lifespan=database)

The context manager is entered before the first request and left after the last handler, in each process that serves:

==============================  ===========================================  =========================================
the way of serving              entered                                      left
==============================  ===========================================  =========================================
`Server.run`                    before a line is read                        when the client has gone
`Server.run_http`,              before the address is bound, in each         when the listener is closed
`Server.listen`                 process of ``run --workers``
in memory, `Server.connect`     before the connection is opened              when the last connection has ended
`Server.wsgi`, `Server.handle`  at the first request of each process, for    when the application is closed, or at the
                                engines fork after they have loaded it       end of the process
==============================  ===========================================  =========================================

A task that runs keeps it open, too. It is entered again if the server serves again later.

An exception at its entry goes to the caller that began to serve, before a client is served; in a WSGI engine the
request fails with 500, and the next one tries again. An exception at its end is logged. The end may be on another
thread than the entry. It does not wait longer than `Limits.shutdown_grace` seconds for a handler that is stuck.
"""

import atexit
import inspect
import os
import threading
from typing import Any, Callable, ContextManager, Dict, Optional

from ...diagnostics.packagelog import log_raised


class Lifespan:
    """The context manager that ``make(server)`` returns, and who holds it open. Thread-safe.

    Raises TypeError if ``make`` is no function, or asynchronous.
    """

    def __init__(self, make: Callable[[Any], ContextManager[Any]], server: Any) -> None:
        if not callable(make) or inspect.iscoroutinefunction(make) or inspect.isasyncgenfunction(inspect.unwrap(make)):
            raise TypeError("lifespan is a function that takes the server and returns a context manager, such as one"
                            " that contextlib.contextmanager decorates (not asynccontextmanager); got %.80r" % (make,))
        self._make, self._server = make, server
        self._entered: Dict[int, _Entered] = {}
        """Id of a process -> its context manager: a forked copy has one of its own, and does not touch the other."""

    @property
    def _here(self) -> "_Entered":
        here = self._entered.get(os.getpid())
        if here is None:  # in one step, so that all threads have the same
            here = self._entered.setdefault(os.getpid(), _Entered())
        return here

    @property
    def value(self) -> Any:
        """The value that was yielded, while somebody holds the manager open."""
        return self._here.value

    def hold(self, holder: object) -> None:
        """Have the manager open until this holder lets go. Raises what entering raises; then nothing is held."""
        here = self._here
        with here.lock:
            if here.entering:
                return  # a client that the manager has of the server itself does not keep the manager open
            if not here.holders:
                here.entering = True
                try:
                    self._enter(here)
                finally:
                    here.entering = False
            here.holders[id(holder)] = holder

    def _enter(self, here: "_Entered") -> None:
        manager = self._make(self._server)
        if not hasattr(manager, "__enter__"):
            raise TypeError("the lifespan of %s returned no context manager but %.80r: decorate it with"
                            " contextlib.contextmanager" % (self._server.identity[0], manager))
        here.value = manager.__enter__()
        here.manager = manager
        if not here.registered:
            here.registered = True
            atexit.register(self._leave, here, os.getpid())

    def let_go(self, holder: object) -> None:
        """Leave the manager if nobody else holds it. No effect for one that does not hold it."""
        here = self._here
        with here.lock:
            if here.holders.pop(id(holder), None) is not None and not here.holders:
                self._leave(here, os.getpid())

    def _leave(self, here: "_Entered", process: int) -> None:
        if process != os.getpid():  # at the end of a forked copy
            return
        with here.lock:
            manager, here.manager = here.manager, None
            here.holders.clear()
            if manager is not None:
                try:
                    manager.__exit__(None, None, None)
                except Exception as error:
                    log_raised("leaving the lifespan of %s" % self._server.identity[0], error)
                here.value = None


class _Entered:
    """The context manager in one process, and who holds it open."""

    def __init__(self) -> None:
        # Reentrant, for what is entered may use the server itself, in memory. It is held while the manager is entered
        # or left, so that nobody is served before, and nobody begins to be served meanwhile.
        self.lock = threading.RLock()
        self.holders: Dict[int, object] = {}
        self.entering = False
        self.manager: Optional[ContextManager[Any]] = None
        self.value: Any = None
        self.registered = False
        """True once the end of the process leaves it."""
