"""Handlers and callbacks that raised: the log record of each names the message that they were called for.

The request's id stands in the record and, where the peer may not be told the text of the exception, in its answer: by
it the traceback of a failed request is found in the log. The id of a session is a secret of its client, so only its
beginning is shown.
"""

from typing import TYPE_CHECKING, Optional

from ..errors import ConnectionLost
from ..jsonrpc import RequestId

if TYPE_CHECKING:
    from .context import Context
    from .dispatcher import Connection

_SHOWN = 8
"""The characters of a session's id that are shown: enough to tell sessions apart, and at most a quarter of the id."""


def named(id: RequestId) -> str:
    """Return a request as it is called in texts: ``request 7``. The peer chose the id, so it is cut, and on one
    line."""
    return "request %.80r" % (id,)


def about(connection: "Connection", method: str, id: Optional[RequestId] = None) -> str:
    """Return the name of a message for a log record: its method, its id, the beginning of the session's id."""
    parts = [method]
    if id is not None:
        parts.append(named(id))
    session = connection.transport.session_id
    if session:
        parts.append("session %s..." % session[:min(_SHOWN, len(session) // 4)])
    return ", ".join(parts)


def report(context: "Context", who: str, error: BaseException) -> None:
    """Log the exception of the handler of a request, if it is a mistake of its author.

    If the peer went away while the handler waited for it, that is none; and Ctrl-C is for the whole program.
    """
    connection = context.connection
    if not (isinstance(error, ConnectionLost) and (connection.table.ended or error.left is connection)):
        log(connection, who, error, context.request.method, context.request.id)


def log(
    connection: "Connection", who: str, error: BaseException, method: str, id: Optional[RequestId] = None
) -> None:
    """Count and log the exception that our user's code has raised for a message, and tell the trace, if there is
    one."""
    if isinstance(error, KeyboardInterrupt):
        return
    connection.counters.add("handler errors")
    if connection.transport.finding is not None:
        connection.transport.finding("handler errors", "%s raised" % who, error)
    from ..diagnostics.usercode import log_raised  # nothing has raised when a server starts

    log_raised(who, error, about(connection, method, id))
