"""The loggers of this package, and the counts of what was dropped, refused or tolerated.

As a library the package prints nothing of its own. Without any handler, `logging` itself would print warnings to
standard error, so a handler that does nothing stands at the top of the package's loggers; records still reach the
handlers that the application has set up. `logging` is loaded with the first record.

Two kinds of records are written to standard error, as long as the application has set up nothing; see
`mcp_ref.diagnostics.loghandlers`. Exceptions of the application's own code (`mcp_ref.diagnostics.usercode`) are,
because their author would never learn of them. And where the process is ours (`Server.run`, `Server.run_http`, the
command line and its workers, which call `own_process`), all records from WARNING up are.

Every odd message of a peer raises a count (`Counters`) and writes a log record. A peer that repeats itself must not
flood the log, so a rule says which of the records of one kind are written:

================  ==================================================  ==========================
rule              what is written                                     for
================  ==================================================  ==========================
`is_told`         the first LOUD, then every thousandth               messages of a connection
`is_doubled`      the 1st, 2nd, 4th, 8th ...                          connections that are refused
`OncePerSecond`   the first in each second                            an HTTP server's clients
================  ==================================================  ==========================
"""

import threading
from typing import TYPE_CHECKING, Callable, Dict, Optional

from .. import deadline

if TYPE_CHECKING:
    import logging

    from .loghandlers import StderrHandler

_PACKAGE = __name__.rpartition(".diagnostics.")[0]
USERCODE = _PACKAGE + ".usercode"
"""The logger of exceptions of the application's own code."""
_lock = threading.Lock()
_owned: Optional[bool] = None
_idle: "Optional[logging.Handler]" = None
_shown: "Optional[StderrHandler]" = None


def get_logger(name: str) -> "logging.Logger":
    """Return the logger of a module, by its ``__name__``."""
    global _idle
    import logging

    top = logging.getLogger(_PACKAGE)
    if not top.handlers:
        _idle = _idle or logging.NullHandler()
        top.addHandler(_idle)
    if _shown is None and (_owned or name == USERCODE):
        _show(top)
    return logging.getLogger(name)


def own_process(shows: bool = True) -> None:
    """Have records shown on standard error, if the application has no handler for them; ``shows`` False: none at all.

    For the code that owns the process. It costs nothing before the first record.
    """
    global _owned
    _owned = shows


def _show(top: "logging.Logger") -> None:
    global _shown
    from .loghandlers import StderrHandler

    with _lock:
        if _shown is None:
            _shown = StderrHandler(is_last_resort)
            top.addHandler(_shown)


def is_last_resort(name: str) -> bool:
    """Return True if records of this logger are shown on standard error where the application has no handler.

    In a process that is not ours the application decides as it does for `logging.lastResort`: a `NullHandler` of its
    own counts as a handler there.
    """
    if _owned is not None:
        return _owned
    import logging

    logger: "Optional[logging.Logger]" = logging.getLogger(name)
    while logger is not None:
        if any(isinstance(handler, logging.NullHandler) and handler is not _idle for handler in logger.handlers):
            return False
        logger = logger.parent if logger.propagate else None
    return name == USERCODE and logging.lastResort is not None


def settle(seconds: float) -> None:
    """Let records reach standard error before the process ends by other means than returning."""
    shown = _shown
    if shown is not None:
        shown.writer.settle(seconds)


def is_one_stream(first: int, second: int) -> bool:
    """Return True if two descriptors are one pipe or socket, as ``2>&1`` makes them."""
    import os
    import stat

    try:
        one, other = os.fstat(first), os.fstat(second)
    except OSError:
        return False
    same = (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
    return same and (stat.S_ISFIFO(one.st_mode) or stat.S_ISSOCK(one.st_mode))


# --- Counts -----------------------------------------------------------------------------------------------------------

LOUD = 10
"""The log records of one kind that are written before they become rare."""


def is_told(count: int) -> bool:
    """Return True if the log tells of something that has happened so many times now."""
    return count <= LOUD or count % 1000 == 0


def is_doubled(name: str, count: int) -> bool:
    """Return True for 1, 2, 4, 8 ...: a flood writes a few lines."""
    return count & (count - 1) == 0


class OncePerSecond:
    """A rule that lets one record of each kind through in a second. For one thread."""

    def __init__(self) -> None:
        self._told: Dict[str, float] = {}

    def __call__(self, name: str, count: int) -> bool:
        now = deadline.clock()
        if now - self._told.get(name, -1.0) < 1.0:
            return False
        self._told[name] = now
        return True


class Counters:
    """The named counts of one connection or server, some of which are logged. Thread-safe.

    ``told``: a function that gets each finding, such as `Transport.finding`. ``write(name, text, count)`` writes a log
    record; by default a warning of the logger ``mcp_ref.peer``. ``rule(name, count)``: whether it is to be written; by
    default `is_told`.
    """

    def __init__(
        self, told: Optional[Callable[[str, str, Optional[BaseException]], None]] = None,
        write: Optional[Callable[[str, str, int], None]] = None, rule: Optional[Callable[[str, int], bool]] = None,
    ) -> None:
        self._told = told
        self._write = write or _log
        self._rule = rule
        self._lock = threading.Lock()
        self._counts: Dict[str, int] = {}

    def add(self, name: str) -> int:
        """Count one more, and return the count."""
        with self._lock:
            count = self._counts[name] = self._counts.get(name, 0) + 1
        return count

    def forgive(self, kind: str, text: str) -> None:
        """Count a careless thing that a peer sent and that was read as it was meant; the first of its kind is logged.

        See `mcp_ref.forgiving`.
        """
        self.note("forgiven " + kind, text, once=True)

    def note(self, name: str, text: str, once: bool = False) -> None:
        """Count one more, and log it if the rule says so; with ``once`` the first time only.

        For what peers send. Exceptions of our users' code go to `mcp_ref.diagnostics.usercode`, which keeps silent
        about nothing. Never raises, whatever filters and handlers the program has: the reader calls it.
        """
        count = self.add(name)
        if self._told is not None:
            self._told(name, text, None)
        if count == 1 if once else is_told(count) if self._rule is None else self._rule(name, count):
            try:
                self._write(name, text, count)
            except Exception:
                self.add("log records lost")

    def forgiven(self) -> Dict[str, int]:
        """Return how often something was forgiven, by kind."""
        return {name.partition(" ")[2]: count for name, count in self.snapshot().items()
                if name.startswith("forgiven ")}

    def snapshot(self) -> Dict[str, int]:
        """Return a copy of all counts."""
        with self._lock:
            return dict(self._counts)

    def __getitem__(self, name: str) -> int:
        with self._lock:
            return self._counts.get(name, 0)


def _log(name: str, text: str, count: int) -> None:
    from . import one_line

    said = one_line(text)  # a peer's words may be in it
    # Named for those who read and configure logs, wherever this module is.
    get_logger(_PACKAGE + ".peer").warning("%s: %s (count %d)", name, said, count)
