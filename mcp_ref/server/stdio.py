"""Serving a client over stdio until it goes away [2025-11-25 basic/transports §stdio].

The main thread reads, unless handlers run on it (`MainThreadQueue`); then it pumps and another thread
reads. When the client has closed our input, running handlers get a short grace; if one is still
stuck then, the process ends without it, because nobody is left to talk to and a non-daemon thread of
a handler's own would keep it alive.
"""

import os
import sys
from typing import TYPE_CHECKING

from ..transports.base import Transport

if TYPE_CHECKING:
    from ..peer.dispatcher import Connection
    from ..peer.mainthread import MainThreadQueue
    from .server import Server


def serve(server: "Server", transport: Transport, exit_when_stuck: bool = True) -> None:
    """Serve one client over this transport on the current thread. Raises KeyboardInterrupt after closing cleanly."""
    connection = server.connection(transport)
    transport.open()
    try:
        if server.executor is not None and server.executor.pumped:
            _pump(connection, server.executor)  # type: ignore[arg-type]  # only a MainThreadQueue is pumped
        else:
            connection.run()
    finally:
        connection.close()
        connection.wait_closed(server.limits.shutdown_grace + server.limits.drain)
    if exit_when_stuck and len(connection.inflight):
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(0)


def _pump(connection: "Connection", queue: "MainThreadQueue") -> None:
    from ..peer.threads import start_thread

    start_thread("mcp-ref:reader:%s" % connection.transport.name, connection.run)
    while not connection.closed:
        if queue.wait(0.5):
            queue.pump()
