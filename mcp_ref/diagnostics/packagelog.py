"""The log records of this package: its loggers, counts of odd messages, and exceptions of the application's code.

As a library the package prints nothing of its own. Without any handler, `logging` itself would print warnings to
standard error, so a handler that does nothing stands at the top of the package's loggers; records still reach the
handlers that the application has set up. `logging` is loaded with the first record.

Two kinds of records are written to standard error, as long as the application has set up nothing; see
`mcp_ref.diagnostics.loghandlers`. Exceptions of the application's own code (`log_raised`) are,
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

`log_raised` logs what handlers, callbacks and hooks raise. A server runs handlers, a client callbacks, and both run
hooks: ``authenticate``, the sink of a trace, a policy. What such a function raises must not end a connection, and the
peer is not told all of it. So its author learns of it here or nowhere: `log_raised` is the one function that logs it,
with the traceback, on the logger ``mcp_ref.usercode``. The traceback starts at the author's own frame.

Each exception is logged, but no peer may fill a disk by calling what fails. So records are counted for each place,
which is the function (tool, resource, callback ...), the type of the exception, and the file and line where it was
raised. A place may have RECORDS_PER_MINUTE at once, and as many in a minute after that. The number of records that were
left out is logged with the next record of the place, or when a minute is over, or at the end of the process. A new
mistake is another place, so it is logged however often others have happened.

The texts of exceptions often quote what a peer sent (``no such city: ...``), and `logging` writes a traceback as it is.
So where a text in it is long, or has control characters or several lines, the record carries a traceback in which it
is cut to LONGEST_IN_TRACEBACK characters, its control characters are escaped and its further lines are indented: a peer
can neither fill a disk nor paint on a terminal nor forge a record. `exc_info` has the exception as it was.
"""

import atexit
import os
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

from .. import deadline
from . import escaped, one_line

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

        For what peers send. Exceptions of our users' code go to `mcp_ref.diagnostics.packagelog`, which keeps silent
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


RECORDS_PER_MINUTE = 30
"""The records of one place: a loop of a developer is seen, and a flood of one place costs some 2 MB of log in an hour,
and 10 MB where a peer chooses long texts."""
MOST_PLACES = 1000
"""The places that are remembered, some 300 bytes each; when all of them are busy, all further ones share one."""
MINUTE = 60.0
_SETTLE_SECONDS = 0.1
LONGEST_IN_TRACEBACK = 4000
"""The characters of one exception's text in a traceback; pydantic lists dozens of mistakes in so many."""
_LONGEST_TRACEBACK = 16 * 1024
_MOST_CHAINED = 100

Key = Tuple[str, str, str, int]
_OTHERS: Key = ("", "", "", 0)


class _Place:
    """The number of records that one place may have now, and that were left out. Guarded by the lock of `_Places`."""

    __slots__ = ("left", "at", "hidden")

    def __init__(self, now: float) -> None:
        self.left = float(RECORDS_PER_MINUTE)
        self.at = now
        self.hidden = 0

    def fill(self, now: float) -> None:
        self.left = min(float(RECORDS_PER_MINUTE), self.left + max(0.0, now - self.at) * RECORDS_PER_MINUTE / MINUTE)
        self.at = now

    def take(self, now: float) -> bool:
        """Take the permission for one record. Return False if there is none left."""
        self.fill(now)
        if self.left < 1.0:
            return False
        self.left -= 1.0
        return True

    def is_quiet(self, now: float) -> bool:
        """Return True if it may be forgotten: it has all permissions, and nothing was left out."""
        self.fill(now)
        return not self.hidden and self.left >= RECORDS_PER_MINUTE


class _Places:
    """The places where something was raised, of the whole process. Thread-safe; nothing is logged under the lock."""

    def __init__(self) -> None:
        self.reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.reset)

    def reset(self) -> None:
        """Forget all places; also in a forked process, which has no thread, and where the lock may have been held."""
        self._lock = threading.Lock()
        self._places: Dict[Key, _Place] = {}
        self._ends: Optional[threading.Event] = None

    def __len__(self) -> int:
        return len(self._places)

    def admit(self, key: Key) -> int:
        """Return how many records of this place were left out before this one; -1 if this one is left out, too."""
        now = deadline.clock()
        with self._lock:
            place = self._places.get(key)
            if place is None:
                place = self._enter(key, now)
            if place.take(now):
                hidden, place.hidden = place.hidden, 0
                return hidden
            place.hidden += 1
            starts = self._ends is None
            if starts:
                ends = self._ends = threading.Event()
        if starts:
            self._start(ends)
        return -1

    def _enter(self, key: Key, now: float) -> _Place:
        if len(self._places) >= MOST_PLACES:
            self._places = {known: place for known, place in self._places.items() if not place.is_quiet(now)}
            if len(self._places) >= MOST_PLACES:
                key = _OTHERS
        return self._places.setdefault(key, _Place(now))

    def _start(self, ends: threading.Event) -> None:
        thread = threading.Thread(target=self._tell_later, args=(ends,), name="mcp-ref:left-out", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the interpreter is going down, or the system has no thread left
            with self._lock:
                self._ends = None

    def _tell_later(self, ends: threading.Event) -> None:
        """Log after each minute what was left out in it. Ends with a minute in which nothing was."""
        while not ends.wait(MINUTE):
            if not self._tell():
                with self._lock:
                    if not any(place.hidden for place in self._places.values()):
                        if self._ends is ends:
                            self._ends = None
                        return

    def _tell(self) -> bool:
        """Log the numbers of records that were left out. Return True if there were any."""
        with self._lock:
            hidden: List[Tuple[Key, int]] = []
            for key, place in self._places.items():
                if place.hidden:
                    hidden.append((key, place.hidden))
                    place.hidden = 0
        for key, count in hidden:
            _write("%s: %d more times, not logged one by one" % (_described(key), count), None)
        return bool(hidden)

    def settle(self) -> None:
        """Log now what was left out, and end the thread that would log it."""
        if not self._lock.acquire(timeout=_SETTLE_SECONDS):
            return  # at the end of the process the thread that holds it may be gone
        ends, self._ends = self._ends, None
        self._lock.release()
        if ends is not None:
            ends.set()
            self._tell()


PLACES = _Places()
"""The places of this process."""
_at_exit = threading.Lock()
_settles = False


def log_raised(who: str, error: BaseException, occasion: str = "") -> None:
    """Log with its traceback what a function that is not ours has raised.

    ``who``: what the function is to its author, such as ``tool 'add'`` or ``on_log callback``; not chosen by a peer.
    ``occasion``: what it was called for: method, request, session. Never raises, and never waits for a peer.
    """
    key = (who, "%s.%s" % (type(error).__module__, type(error).__qualname__), *place_of(error))
    hidden = PLACES.admit(key)
    if hidden < 0:
        return
    more = "; %d more times before, not logged one by one" % hidden if hidden else ""
    said = escaped(shown_error(error))
    _write("%s raised %s%s%s" % (who, said, " (%s)" % occasion if occasion else "", more), error)


def shown_error(error: BaseException) -> str:
    """Return type and text of an exception on one line; only the type if its ``__str__`` raises."""
    name, text = type(error).__name__, text_of(error)
    return "%s: %s" % (name, one_line(text)) if text else name


def name_of(function: Any) -> str:
    """Return the name of a function for log records; of another callable object, that of its class."""
    function = getattr(function, "func", function)  # of a `functools.partial`
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def text_of(error: BaseException) -> Optional[str]:
    """Return the text of an exception; None if its ``__str__`` raises."""
    try:
        return str(error)
    except Exception:
        return None


def place_of(error: BaseException) -> Tuple[str, int]:
    """Return the file and the line where an exception was raised; ``("", 0)`` for one that was not raised yet."""
    step, file, line = error.__traceback__, "", 0
    while step is not None:
        file, line = step.tb_frame.f_code.co_filename, step.tb_lineno
        step = step.tb_next
    return file, line


def _described(key: Key) -> str:
    who, kind, file, line = key
    return "%s raised %s at %s:%d" % (who, kind, file, line) if who else "other functions raised"


def _write(text: str, error: Optional[BaseException]) -> None:
    """Write a record. Never raises, whatever filters and handlers the program has."""
    global _settles
    try:
        info: Any = None if error is None else (type(error), error, _from_author(error))
        logger = get_logger(USERCODE)
        safe = None if error is None else _safe_traceback(error)
        if safe is None:
            logger.error("%s", text, exc_info=info)
        elif logger.isEnabledFor(40):  # ERROR
            record = logger.makeRecord(logger.name, 40, __file__, 0, "%s", (text,), info, "log_raised")
            record.exc_text = safe  # formatters use it where it is set
            logger.handle(record)
        with _at_exit:
            first, _settles = not _settles, True
        if first:  # after `logging` was loaded, so that it ends before that does
            atexit.register(PLACES.settle)
    except Exception:
        pass


def _from_author(error: BaseException) -> Any:
    """Return the traceback from the first frame that is not in this package; all of it where every frame is."""
    ours, step = __name__.rpartition(".diagnostics.")[0] + ".", error.__traceback__
    while step is not None and str(step.tb_frame.f_globals.get("__name__")).startswith(ours):
        step = step.tb_next
    return step or error.__traceback__


def _safe_traceback(error: BaseException) -> Optional[str]:
    """Return the traceback of an exception as a log may show it; None if `logging` writes the same."""
    import traceback

    plain = text = "".join(traceback.format_exception(type(error), error, _from_author(error))).rstrip("\n")
    for part in _chained(error):
        notes = getattr(part, "__notes__", None)
        texts = [(": ", (text_of(part) or "").rstrip("\n"))]
        for before, said in texts + [("\n", note) for note in notes or () if isinstance(note, str)]:
            if said and (len(said) > LONGEST_IN_TRACEBACK or not said.isprintable()):
                text = text.replace(before + said, before + _safe_text(said))
    if len(text) > _LONGEST_TRACEBACK:
        half = _LONGEST_TRACEBACK // 2
        text = "%s\n... %d characters were left out ...\n%s" % (text[:half], len(text) - 2 * half, text[-half:])
    text = escaped(text)
    return None if text == plain else text


def _safe_text(text: str) -> str:
    more = len(text) - LONGEST_IN_TRACEBACK
    end = " ... (%d more characters)" % more if more > 0 else ""
    return escaped("\n    ".join(text[:LONGEST_IN_TRACEBACK].splitlines())) + end


def _chained(error: BaseException) -> List[BaseException]:
    """Return an exception, and those that its traceback shows beside it."""
    found: List[BaseException] = [error]
    for one in found:  # the list grows while it is walked
        for more in (one.__cause__, one.__context__, *getattr(one, "exceptions", ())):
            if isinstance(more, BaseException) and len(found) < _MOST_CHAINED and not any(more is old for old in found):
                found.append(more)
    return found
