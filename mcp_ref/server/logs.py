"""Log messages to clients [.. server/utilities/logging §Log Message Notifications].

A client sets the least severe level that it wants (`logging/setLevel`); until then it gets all
messages [..2025-11-25 server/utilities/logging §Setting Log Level]. Each client gets at most
``max_log_messages_per_second`` of them [.. server/utilities/logging §Implementation Considerations] SHOULD.
Messages above that rate are dropped and counted, and one message a second tells their number, when the rate allows
it again.

Errors:

=================================  ====================================
an unknown level                   error -32602
``on_log_level`` raises            error -32603, and the old level stays
=================================  ====================================

Messages that an author sends are not changed. `mcp_ref.server.loghandler` sends records of `logging`, and masks
secrets.
"""

import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional

from .. import deadline
from ..jsonrpc import Notification, encode
from ..jsontext import JsonError, dumps
from ..messages.logs import LEVELS, SetLevelRequestParams
from ..methods import LOG_MESSAGE
from ..peer.context import HANDLED, Context, Route, params_reader
from ..peer.dispatcher import Connection
from ..revisions import Revision
from ..transports.held import SharedMessage
from .announcements import send_to_client

if TYPE_CHECKING:
    from .server import Server

LIMIT = "max_log_messages_per_second"
LEFT_OUT = "log messages left out"
"""The counter of dropped messages, at each connection."""

_WARNING = LEVELS.index("warning")
_telling = threading.Lock()


# Act

def log(server: "Server", level: str, data: Any, logger: Optional[str] = None) -> int:
    """Send a log message to every client that wants it; return their number. Arguments and exceptions as `send`.

    Without a handshake messages belong to requests: the message is sent to the client whose request this thread is
    answering, and to no other [2026-07-28 server/utilities/logging §Per-request log level] MUST NOT.
    """
    _check(level, logger)
    connections = server.connections
    encoded = _encoded(level, data, logger) if connections else None
    sent = sum(send(connection, level, data, logger, encoded=encoded) for connection in connections)
    here = answering()
    role: object = None if here is None else here.connection.role
    if here is not None and role is server:
        sent += send(here.connection, level, data, logger, here)
    return sent


def answering() -> Optional[Context]:
    """Return the context of the stateless request that this thread answers, to whose client its log messages may go.

    Messages of a session go to the session, whichever request it answers; a task of 2026-07-28 sends none.
    """
    here = HANDLED.get()
    return here if here is not None and here.session.rules.stateless and not here.detached else None


def send(
    connection: Connection, level: str, data: Any, logger: Optional[str] = None, context: Optional[Context] = None,
    encoded: Optional[Callable[[], bytes]] = None, meta: Optional[Dict[str, Any]] = None,
) -> bool:
    """Send a log message to one client. Returns False if the client does not want it, or if the rate is exceeded.

    ``level`` is one of LEVELS, ``data`` any JSON value: best an object, never with a credential, personal
    data or anything that would help an attacker [.. server/utilities/logging §Security] MUST NOT. ``logger`` names the
    part of the program that logs. ``context``: the context of the client's request that the message belongs to.
    ``encoded``: a function that returns the bytes of the message, if others are sent it as well. ``meta``: its `_meta`.
    Raises ValueError for an unknown level or data that JSON cannot hold, naming the place, and TypeError for a logger
    that is no str.
    """
    _check(level, logger)
    if LEVELS.index(level) < _quietest(connection, context):
        return False
    if not connection.rate(LIMIT, None if context is None else context.principal).take():
        connection.counters.add(LEFT_OUT)
        return False
    if connection.counters[LEFT_OUT] and (context is None or context.session is connection.session):
        # A stateless connection counts the dropped messages of many clients together: do not tell one of them.
        _tell_left_out(connection, context)
    params = _params(level, data, logger)
    if meta is not None:
        params["_meta"] = meta
    try:
        if encoded is not None:
            return send_to_client(connection, LOG_MESSAGE, params, None, encoded())
        return _put(connection, params, context)
    except JsonError:
        dumps(data)  # raises the error again with the place inside the data, if the data are at fault
        raise


def _params(level: str, data: Any, logger: Optional[str]) -> Dict[str, Any]:
    params: Dict[str, Any] = {"level": level, "data": data}
    if logger is not None:
        params["logger"] = logger
    return params


def _encoded(level: str, data: Any, logger: Optional[str]) -> Callable[[], bytes]:
    """Return a function that encodes a message to many clients once, when it is first called, and returns the bytes."""
    made: List[bytes] = []

    def encoded() -> bytes:
        if not made:
            made.append(SharedMessage(encode(Notification(LOG_MESSAGE, _params(level, data, logger)))))
        return made[0]

    return encoded


def _quietest(connection: Connection, context: Optional[Context]) -> int:
    """Return the index in LEVELS of the least severe level that the client wants."""
    if context is None or not context.session.rules.stateless:
        return connection.state.get("log_level", 0)  # type: ignore[no-any-return]
    # [2026-07-28 server/utilities/logging §Per-request log level] MUST NOT: without a level, nothing
    level = context.session.log_level
    return len(LEVELS) if level is None else LEVELS.index(level)


def _check(level: Any, logger: Any) -> None:
    """Validate the level and the logger [.. server/utilities/logging §Security] SHOULD."""
    if level not in LEVELS:
        raise ValueError("unknown log level %r; levels are %s" % (level, ", ".join(LEVELS)))
    if logger is not None and not isinstance(logger, str):
        raise TypeError("logger must be a str, got %r" % (logger,))


def _put(connection: Connection, params: Dict[str, Any], context: Optional[Context]) -> bool:
    if context is None:
        return send_to_client(connection, LOG_MESSAGE, params)
    connection.notify(LOG_MESSAGE, params, context.incoming, context.session)
    return True


def _tell_left_out(connection: Connection, context: Optional[Context]) -> None:
    """Send the number of messages that were dropped since the last such message, at a level that the client wants.

    The lock makes one thread of several send it.
    """
    state, now = connection.state, deadline.clock()
    with _telling:
        reported, due = state.get("log_told", (0, now))
        total = connection.counters[LEFT_OUT]
        if total == reported or now < due:
            return
        state["log_told"] = (total, now + 1.0)
    level = LEVELS[max(_WARNING, _quietest(connection, context))]
    text = "%d log messages left out: %s is %g" % (total - reported, LIMIT, getattr(connection.limits, LIMIT))
    _put(connection, {"level": level, "data": {"message": text}}, context)


def tell_missed(connection: Connection, count: int) -> None:
    """Send the number of messages that a client missed while it had no stream open, at a level that the client wants.
    """
    level = LEVELS[max(_WARNING, _quietest(connection, None))]
    text = "messages to this client that were dropped, because it had no stream open for them: %d" % count
    send_to_client(connection, LOG_MESSAGE, {"level": level, "data": {"message": text}})


# Level

def set_level_route(server: "Server", revision: Revision) -> Route:
    """Return the route of `logging/setLevel` [..2025-11-25 server/utilities/logging §Setting Log Level].

    ``Server(on_log_level=...)`` is called first, on a worker; its exception is an internal error for the client
    [..2025-11-25 server/utilities/logging §Error Handling] SHOULD.
    """
    read, asked = params_reader(SetLevelRequestParams, revision), server.on_log_level

    def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
        level = read(params, context).level
        if asked is not None:
            asked(context.connection, level)
        context.connection.state["log_level"] = LEVELS.index(level)
        return {}

    return Route(answer, inline=asked is None)
