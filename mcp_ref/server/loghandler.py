"""A handler of `logging` that sends records as log messages to the clients of a server.
    logging.getLogger("app").addHandler(server.log_handler())

===================  ========================================================================
the client gets      from
===================  ========================================================================
``level``            the record's level, see SEVERITIES
``logger``           the record's name
``data.message``     its text; if the message is a dict, the dict's members take the place of this
``data.details``     the values of ``extra=``
``data.exception``   type and text of an exception; ``data.traceback`` only if asked for, as
                     it shows the inside of the server
                     [.. server/utilities/logging §Security] MUST NOT
===================  ========================================================================

Threads: the thread that logs puts the record into the outbox of each client. It does not wait,
prints nothing, and holds no lock. A record is dropped if this package made it, or
if it was made in the middle of sending: by a transport that logs, a trace, a formatter, or a
finalizer or signal handler that ran just then. So no record can cause another one, nor wait for a
lock that its own thread holds.
"""

import logging
import sys
from typing import TYPE_CHECKING, Any, Dict, Tuple

from .. import deadline
from ..diagnostics import packagelog
from ..diagnostics.loghandlers import extras_of, message_of
from ..diagnostics.packagelog import log_raised
from ..diagnostics.redaction import redact
from ..jsontext import JsonError, dumps, is_deep
from ..limits import DEFAULT
from ..options import strict_options
from ..peer import outbox
from .logs import answering, log, send

if TYPE_CHECKING:
    from types import FrameType

    from .server import Server

SEVERITIES: Tuple[Tuple[int, str], ...] = (
    (70, "emergency"), (60, "alert"), (50, "critical"), (40, "error"), (30, "warning"), (25, "notice"), (20, "info"),
)
"""Least level of a record -> level of the message; records below are ``debug``."""

_PACKAGE = __name__.rpartition(".server.")[0]
_SENDING = tuple(vars(module) for module in (packagelog, outbox, deadline))


def severity(number: int) -> str:
    """Return the level of a message for a record's level [.. server/utilities/logging §Log Levels]."""
    for least, level in SEVERITIES:
        if number >= least:
            return level
    return "debug"


class WireHandler(logging.Handler):
    """A handler that sends records to the clients of a server; see the module. `Server.log_handler` makes it.

    ``level``: the least level of records, as for any handler. ``redact``: mask texts that look like secrets
    (`mcp_ref.diagnostics.redaction`). ``traceback``: send the traceback of an exception and the stack, not its type and
    text alone. A formatter, if one is set, makes ``data.message``.
    """

    @strict_options
    def __init__(self, server: "Server", level: int = logging.NOTSET, redact: bool = True,
                 traceback: bool = False) -> None:
        super().__init__(level)
        self._server = server
        self._redact = redact
        self._traceback = traceback
        self.counters = packagelog.Counters()
        """The counters ``own records``, ``records while sending``, ``broken records``."""

    def createLock(self) -> None:
        """Do without a lock: `emit` changes nothing of the handler, so no thread has to wait for another one."""
        self.lock = None

    def handle(self, record: logging.LogRecord) -> bool:
        """Send a record or drop it; see the module. Never raises."""
        if record.name == _PACKAGE or record.name.startswith(_PACKAGE + "."):
            self.counters.add("own records")
            return False
        if _in_sending(sys._getframe(1)):
            self.counters.add("records while sending")
            return False
        try:
            passed = self.filter(record)
        except Exception as error:
            self._broken(record, error)
            return False
        if passed:
            self.emit(passed if isinstance(passed, logging.LogRecord) else record)
        return bool(passed)

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record."""
        try:
            if self._server.connections or answering() is not None:
                log(self._server, severity(record.levelno), self._data(record), str(record.name))
        except Exception as error:
            self._broken(record, error)

    def _broken(self, record: logging.LogRecord, error: Exception) -> None:
        self.counters.add("broken records")
        log_raised("sending a log record", error, "logger %r" % (record.name,))

    def _data(self, record: logging.LogRecord) -> Dict[str, Any]:
        if isinstance(record.msg, dict) and not record.args and self.formatter is None:
            data = {str(name): _json(value) for name, value in record.msg.items()}
        else:
            data = {"message": _text(self._message(record))}
        details = {name: _json(value) for name, value in extras_of(record).items()}
        if details:
            data["details"] = details
        if record.exc_info and record.exc_info[0] is not None:
            data["exception"] = _text("%s: %s" % (record.exc_info[0].__name__, record.exc_info[1]))
            if self._traceback:
                data["traceback"] = _text(logging.Formatter().formatException(record.exc_info))
        if record.stack_info and self._traceback:
            data["stack"] = _text(record.stack_info)
        return redact(data, guess=True) if self._redact else data

    def _message(self, record: logging.LogRecord) -> str:
        if self.formatter is None:
            return message_of(record)
        bare = logging.makeLogRecord(dict(vars(record), exc_info=None, exc_text=None, stack_info=None))
        return self.formatter.format(bare)


def _in_sending(frame: "FrameType") -> bool:
    """Return True if this frame or a caller of it is sending a message, and so may hold a lock."""
    above: Any = frame
    while above is not None:
        names, code = above.f_globals, above.f_code
        if code is _EMIT or code is _SEND or any(names is sending for sending in _SENDING):
            return True
        above = above.f_back
    return False


_EMIT, _SEND = WireHandler.emit.__code__, send.__code__


def _text(text: str) -> str:
    """Return the text with lone surrogates, which JSON cannot hold, escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _json(value: Any) -> Any:
    """Return the value if JSON can hold it, else its `str`."""
    try:
        dumps(value)
        return value
    except JsonError as error:
        return str(error) if is_deep(value, DEFAULT.max_depth) else _text(str(value))  # `str` recurses as well
