"""Two parts for `logging`: a handler for standard error, and a filter that masks secrets in records.

`StderrHandler` is for a process in which `logging` is not set up; `mcp_ref.diagnostics.packagelog` says which records
it shows. This module is loaded with the first of them.

::

    2026-11-22 15:26:48,123 ERROR mcp_ref.usercode: tool 'add' raised KeyError: 'x' (tools/call, request 7)
    Traceback (most recent call last):
      ...

The text of an exception may be a peer's: it could have line ends in it, and look like another record. So further lines
of a record are indented where they begin like one, and characters that a terminal obeys are escaped. A record has at
most LONGEST characters.

The handler looks at every record anew whether the program has handlers of its own, because a program may set up
`logging` after the server has begun. Then it leaves the record to them.

A host may start a server with a pipe as standard error and never read it. Writing to a full pipe waits for ever, so
only a thread of this module writes (``mcp-ref:stderr``), and a thread that logs puts a text into a bounded queue. A
text without room is counted, and the count is written as soon as standard error takes text again. The thread writes to
the descriptor and not to ``sys.stderr``, whose lock it would hold while it waits: the interpreter could not end.

`RedactionFilter` is for any `logging` handler or logger; `mcp_ref.diagnostics.redaction` says what is masked::

    handler.addFilter(RedactionFilter())
"""

import atexit
import logging
import os
import re
import select
import sys
import threading
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, Optional

from . import escaped
from .redaction import redact, redact_text

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
MOST_WAITING_BYTES = 1024 * 1024
"""The bytes of texts that may wait for standard error; a traceback has 1 KB."""
WARNINGS_PER_MINUTE = 600
"""The records below ERROR that are written in a minute, in the long run. Peers cause most of them; exceptions of
handlers have a rate for each place (`mcp_ref.diagnostics.packagelog`)."""
LONGEST = 64 * 1024
"""The characters of one record; a traceback of a deep recursion has 10 KB."""
EXIT_SECONDS = 0.5
"""The seconds for which the end of the process waits for standard error to take the queue."""
_FULL_SECONDS = 1.0
_BEGINNING = re.compile("[0-9(]").match
"""A pattern for the beginning of a record, and of the notes about lost ones."""
_PACKAGE = __name__.rpartition(".diagnostics.")[0]


class StderrHandler(logging.Handler):
    """A handler that writes records from WARNING up to standard error, unless the program has one. Never waits.

    ``shows(name)``: whether those of a logger are shown at all.
    """

    def __init__(self, shows: Callable[[str], bool]) -> None:
        super().__init__(logging.WARNING)
        self._shows = shows
        self.setFormatter(logging.Formatter(FORMAT))
        self.writer = Writer()
        self._left = float(WARNINGS_PER_MINUTE)
        self._at = time.monotonic()
        self._dropped = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Queue one record; called with the handler's lock held."""
        if is_configured(record.name) or not self._shows(record.name):
            return
        if record.levelno < logging.ERROR and not self._may_warn():
            self._dropped += 1
            return
        try:
            text = plain(self.format(record))
        except Exception as error:  # whatever is in a record, the program goes on
            text = "a record of %s cannot be shown: %s" % (record.name, type(error).__name__)
        if self._dropped:
            text = "(%d warnings before this one were left out: more than %d in a minute)\n%s" % (
                self._dropped, WARNINGS_PER_MINUTE, text)
            self._dropped = 0
        self.writer.write(text + "\n")

    def _may_warn(self) -> bool:
        now = time.monotonic()
        filled = self._left + (now - self._at) * WARNINGS_PER_MINUTE / 60.0
        self._left, self._at = min(float(WARNINGS_PER_MINUTE), filled), now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


def plain(text: str) -> str:
    """Return a record cut to LONGEST, of which only the first line looks like the beginning of one."""
    if len(text) > LONGEST:
        half = LONGEST // 2
        text = "%s\n... (%d characters) ...\n%s" % (text[:half], len(text) - LONGEST, text[-half:])
    first, *more = text.split("\n")
    return "\n".join([escaped(first)] + [("  " if _BEGINNING(line) else "") + escaped(line) for line in more])


def is_configured(name: str) -> bool:
    """Return True if the program has a handler for the records of this logger, at that logger or above it.

    Handlers of this package do not count, for none of the others shows its records to the author: that of
    `Server.log_handler` leaves them out.
    """
    logger: Optional[logging.Logger] = logging.getLogger(name)
    while logger is not None:
        for handler in logger.handlers:
            if not isinstance(handler, logging.NullHandler) and not type(handler).__module__.startswith(
                    _PACKAGE + "."):
                return True
        logger = logger.parent if logger.propagate else None
    return False


class Writer:
    """A queue of texts, and the thread that writes them to standard error. Thread-safe."""

    def __init__(self) -> None:
        self._reset()
        atexit.register(self.settle, EXIT_SECONDS)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        """Set up the queue; also in a forked process, which has no thread, and where the lock may have been held."""
        self._changed = threading.Condition(threading.Lock())
        self._texts: Deque[str] = deque()
        self._size = 0
        self._lost = 0
        self._writing = False
        self._thread: Optional[threading.Thread] = None

    def write(self, text: str) -> None:
        """Queue a text. Never waits: a text without room is counted."""
        with self._changed:
            if self._texts and self._size + len(text) > MOST_WAITING_BYTES:
                self._lost += 1
                return
            self._texts.append(text)
            self._size += len(text)
            if self._thread is None:
                self._start()
            self._changed.notify_all()

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name="mcp-ref:stderr", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the interpreter is going down, or the system has no thread left
            return  # the next text tries again
        self._thread = thread

    def settle(self, seconds: float) -> bool:
        """Wait until everything is written, for at most so many seconds. Return True if it is."""
        if not self._changed.acquire(timeout=seconds):
            return False
        try:
            return self._changed.wait_for(lambda: not self._texts and not self._writing, seconds)
        finally:
            self._changed.release()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._texts:
                    self._changed.wait()
                text, self._writing = self._texts.popleft(), True
                self._size -= len(text)
                lost, self._lost = self._lost, 0
            if lost:
                text = "(%d log records were lost: standard error was not read)\n%s" % (lost, text)
            write(text)  # without the lock, for it may wait
            with self._changed:
                self._writing = False
                self._changed.notify_all()


def write(text: str) -> None:
    """Write to the present standard error. Waits while it is not read; without one the text is dropped."""
    stream: Any = sys.stderr
    if stream is None:
        return
    try:
        data = text.encode(getattr(stream, "encoding", None) or "utf-8", "backslashreplace")
        number = _descriptor(stream)
        if number is None:
            stream.write(text)
            stream.flush()
        else:
            _write_all(number, data)
    except Exception:  # closed, or a stream of the program's own that raises: nothing is left to write to
        pass


def _descriptor(stream: Any) -> Optional[int]:
    """Return the descriptor to write to; None if the stream has none, or shows other characters than bytes would."""
    if sys.platform == "win32" and stream.isatty():
        return None
    try:
        number = stream.fileno()
    except (AttributeError, OSError, ValueError):
        return None
    return 2 if number == 1 else int(number)  # 1 may be the protocol's, whatever a program has made of ``sys.stderr``


def _write_all(number: int, data: bytes) -> None:
    while data:
        try:
            data = data[os.write(number, data):]
        except BlockingIOError:  # another process made the pipe non-blocking
            if not select.select([], [number], [], _FULL_SECONDS)[1]:
                return


STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""The attributes that every record may have; all others came with ``extra=``."""


class RedactionFilter(logging.Filter):
    """A filter that masks secrets in a record: in its message, its exception and its ``extra=``. All records pass.

    The record itself is changed, so handlers that get it later see the mask too. ``name`` as for `logging.Filter`:
    records of other loggers are stopped.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the record; see `logging.Filter.filter`. Never raises for the content of a record."""
        if not super().filter(record):
            return False
        if isinstance(record.msg, (dict, list)) and not record.args:
            record.msg = redact(record.msg, guess=True)
        else:
            record.msg, record.args = redact_text(message_of(record), guess=True), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        for name in ("exc_text", "stack_info"):
            text = getattr(record, name)
            if text:
                setattr(record, name, redact_text(text, guess=True))
        vars(record).update(redact(extras_of(record), guess=True))
        return True


def message_of(record: logging.LogRecord) -> str:
    """Return the text of a record, also if its arguments do not fit the format."""
    try:
        return record.getMessage()
    except Exception:
        pass
    try:
        return "%s (does not fit its arguments: %r)" % (record.msg, record.args)
    except Exception:
        return "(no text: %s has none)" % type(record.msg).__name__


def extras_of(record: logging.LogRecord) -> Dict[str, Any]:
    """Return the attributes that came with ``extra=``."""
    return {name: value for name, value in vars(record).items() if name not in STANDARD}
