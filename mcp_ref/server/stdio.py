"""Serving a client over stdio until it goes away [2025-11-25 basic/transports §stdio].

The main thread reads, unless handlers run on it (`MainThreadQueue`); then it pumps and another thread
reads. When the client has closed our input, running handlers get a short grace; if one is still
stuck then, the process ends without it, because nobody is left to talk to and a non-daemon thread of
a handler's own would keep it alive.
"""

import os
import sys
from typing import TYPE_CHECKING

from ..packagelog import settle
from ..transports.base import Transport

if TYPE_CHECKING:
    from ..peer.dispatcher import Connection
    from ..peer.mainthread import MainThreadQueue
    from .server import Server

EXIT_SECONDS = 0.5
"""How long standard error may take to get the last log records."""


def serve(server: "Server", transport: Transport, exit_when_stuck: bool = True) -> None:
    """Serve one client over this transport on the current thread. Raises KeyboardInterrupt after closing cleanly."""
    connection = server.connection(transport)
    transport.open()
    try:
        if server.executor is not None and server.executor.pumped:
            queue: "MainThreadQueue" = server.executor  # type: ignore[assignment]  # nothing else is pumped
            _pump(connection, queue, exit_when_stuck)
        else:
            connection.run()
    finally:
        connection.close()
        connection.wait_closed(server.limits.shutdown_grace + server.limits.drain)
    if exit_when_stuck:
        _exit_if_stuck(connection)


def _exit_if_stuck(connection: "Connection") -> None:
    if len(connection.inflight):
        settle(EXIT_SECONDS)
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(0)


def _pump(connection: "Connection", queue: "MainThreadQueue", exit_when_stuck: bool) -> None:
    from ..peer.threads import start_thread

    def read() -> None:
        try:
            connection.run()
        finally:
            queue.close()
            if exit_when_stuck:  # here, too, because the main thread may be what is stuck
                _exit_if_stuck(connection)

    start_thread("mcp-ref:reader:%s" % connection.transport.name, read)
    while not queue.closed:
        if queue.wait(0.5):
            queue.pump()
