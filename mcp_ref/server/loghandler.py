"""Records of `logging` as log messages to the clients of a server.

    logging.getLogger("app").addHandler(server.log_handler())

===================  ========================================================================
the client gets      from
===================  ========================================================================
``level``            the record's level, see SEVERITIES
``logger``           the record's name
``data.message``     its text; of a message that is a dict, its members come in place of this
``data.details``     what came with ``extra=``
``data.exception``   type and text of an exception; ``data.traceback`` only if asked for, as
                     it tells of the inside of the server
                     [.. server/utilities/logging §Security] MUST NOT
===================  ========================================================================

Threads: a record is put into the outbox of each client by the thread that logs; nothing waits there,
nothing is printed, and no lock is held. A record is left out if it is one of this package's own, or
if it was made in the middle of sending: by a transport that logs, a trace, a formatter, or a
finalizer or signal handler that ran just then. So no record can lead to another one, nor wait for a
lock that its own thread holds.
"""

import logging
import sys
from typing import TYPE_CHECKING, Any, Dict, Tuple

from ..diagnostics import packagelog
from ..diagnostics.redaction import redact
from ..diagnostics.redactionfilter import extras_of, message_of
from ..diagnostics.usercode import log_raised
from ..jsontext import JsonError, dumps, is_deep
from ..limits import DEFAULT
from ..options import spelt
from ..peer import outbox, rates
from .logs import log, send
from .results.stamp import CURRENT

if TYPE_CHECKING:
    from types import FrameType

    from .interface import ServerInterface

SEVERITIES: Tuple[Tuple[int, str], ...] = (
    (70, "emergency"), (60, "alert"), (50, "critical"), (40, "error"), (30, "warning"), (25, "notice"), (20, "info"),
)
"""Level of a record, at least -> level of the message; the rest is ``debug``."""

_PACKAGE = __name__.rpartition(".server.")[0]
_SENDING = tuple(vars(module) for module in (packagelog, outbox, rates))


def severity(number: int) -> str:
    """The level of a message for a record's level [.. server/utilities/logging §Log Levels]."""
    for least, level in SEVERITIES:
        if number >= least:
            return level
    return "debug"


class WireHandler(logging.Handler):
    """Sends records to the clients of a server; see the module. Made by `Server.log_handler`.

    ``level``: of records, as for any handler. ``redact``: mask what looks like a secret
    (`mcp_ref.diagnostics.redaction`). ``traceback``: send the traceback of an exception and the stack, not its type and
    text alone. A formatter, if one is set, makes ``data.message``.
    """

    @spelt
    def __init__(self, server: "ServerInterface", level: int = logging.NOTSET, redact: bool = True,
                 traceback: bool = False) -> None:
        super().__init__(level)
        self._server = server
        self._redact = redact
        self._traceback = traceback
        self.counters = packagelog.Counters()
        """``own records``, ``records while sending``, ``broken records``."""

    def createLock(self) -> None:
        """None is needed, because `emit` changes nothing of the handler's; so no thread waits for another one."""
        self.lock = None

    def handle(self, record: logging.LogRecord) -> bool:
        """Take a record or leave it out; see the module. Never raises."""
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
            if self._server.connections or CURRENT.get() is not None:
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
    """Whether this frame or one that called it is busy with sending, and so may hold a lock of it."""
    above: Any = frame
    while above is not None:
        names, code = above.f_globals, above.f_code
        if code is _EMIT or code is _SEND or any(names is sending for sending in _SENDING):
            return True
        above = above.f_back
    return False


_EMIT, _SEND = WireHandler.emit.__code__, send.__code__


def _text(text: str) -> str:
    """A text that JSON can hold: lone surrogates are written out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _json(value: Any) -> Any:
    """The value, if JSON can hold it; else what `str` says of it."""
    try:
        dumps(value)
        return value
    except JsonError as error:
        return str(error) if is_deep(value, DEFAULT.max_depth) else _text(str(value))  # `str` recurses as well
