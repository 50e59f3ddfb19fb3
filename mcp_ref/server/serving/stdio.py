"""The server on stdio, which serves one client until it disconnects [2025-11-25 basic/transports §stdio].

The main thread reads, unless handlers run on it (`MainThreadQueue`); then the main thread runs handlers and another
thread reads. When the client has closed our input, running handlers get a short grace; if one is still
stuck then, the process ends without it, because no client is left and a non-daemon thread of
a handler's own would keep the process alive.

SIGTERM ends the server in order, see `mcp_ref.server.serving.signals`. If a handler is stuck then, that is logged, the
program continues after `Server.run`, and has ``shutdown_grace`` seconds to end; after that,
and if the handler is stuck on the main thread itself, the process ends with exit code 1.
"""

import os
from typing import TYPE_CHECKING

from ...diagnostics.packagelog import get_logger
from ...transports.base import Transport
from .signals import Termination, interrupted, leave_at_once, leave_later, tell

if TYPE_CHECKING:
    from ...peer.dispatcher import Connection
    from ...peer.main_thread import MainThreadQueue
    from ..interface import ServerInterface

_MARGIN = 2.0
"""Seconds that the end of a connection may take in addition to the grace of its handlers."""


def serve(server: "ServerInterface", transport: Transport, exit_when_stuck: bool = True) -> None:
    """Serve one client over this transport on the current thread. Raises `Interrupted` after a Ctrl-C, once closed.

    ``exit_when_stuck``: end the process if a handler is still running after the end.
    """
    connection = server.connection(transport)
    termination = Termination(lambda: _end(connection))
    try:
        if exit_when_stuck:
            _greet_a_person(server)
        transport.open()
        with termination:
            try:
                if server.executor is not None and server.executor.needs_pump:
                    queue: "MainThreadQueue" = server.executor  # type: ignore[assignment]  # nothing else is pumped
                    _pump(connection, queue, exit_when_stuck, termination)
                else:
                    connection.run()
            finally:
                connection.close()
                connection.wait_closed(server.limits.shutdown_grace + server.limits.drain)
    except KeyboardInterrupt:
        raise interrupted() from None
    if not exit_when_stuck:
        return
    if not termination.received.is_set():
        _exit_if_stuck(connection)
    elif len(connection.inflight):
        _complain(connection)
        leave_later(1, server.limits.shutdown_grace)


def _greet_a_person(server: "ServerInterface") -> None:
    """Print a hint on standard error if standard input is a terminal: a person has started the server, not a client."""
    try:
        by_hand = os.isatty(0)
    except OSError:
        return
    if by_hand:
        tell("%s waits for a client: MCP messages on standard input, one JSON object in each line."
             " A client starts it by itself; Ctrl-C ends it." % server.identity[0])


def _end(connection: "Connection") -> None:
    """Shut the connection down after SIGTERM; end the process if the thread that reads is stuck in a handler."""
    limits = connection.limits
    connection.shut_down("the process was told to end (SIGTERM)", limits.shutdown_grace)
    if not connection.wait_closed(2 * limits.shutdown_grace + _MARGIN):  # a handler blocks the thread that reads
        _complain(connection)
        leave_at_once(1)


def _complain(connection: "Connection") -> None:
    get_logger(__name__).warning("%d requests are still running, shutdown_grace (%g s) after they were cancelled: they"
                                 " are left behind", len(connection.inflight), connection.limits.shutdown_grace)


def _exit_if_stuck(connection: "Connection") -> None:
    if len(connection.inflight):
        leave_at_once(0)


def _pump(
    connection: "Connection", queue: "MainThreadQueue", exit_when_stuck: bool, termination: Termination
) -> None:
    from ...threads import start_thread

    def read() -> None:
        try:
            connection.run()
        finally:
            queue.close()
            if exit_when_stuck and len(connection.inflight):  # here, too, as the main thread may be what is stuck
                if termination.received.is_set():
                    _complain(connection)
                leave_at_once(int(termination.received.is_set()))

    start_thread("mcp-ref:reader:%s" % connection.transport.name, read)
    while not queue.closed:
        if queue.wait(0.5):
            queue.pump()
