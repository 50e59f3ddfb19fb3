"""Exceptions of code that is not ours, told to who wrote it.

A server runs handlers, a client callbacks, and both run hooks: ``authenticate``, the sink of a trace, a policy. What
such a function raises must not end a connection, and the peer is not told all of it. So its author learns of it here or
nowhere: `log_raised` is the one function that tells, with the traceback, on the logger of this module.

Each time, but no peer may fill a disk by calling what fails. So records are counted for each place, which is who raised
(tool, resource, callback ...), the type of the exception, and the file and line where it was raised. A place may have
RECORDS_PER_MINUTE at once, and as many in a minute after that. What was left out is told as a number: with the next
record of the place, or when a minute is over, or at the end of the process. A new mistake is another place, so it is
told however often others have happened.
"""

import atexit
import os
import re
import threading
from typing import Any, Dict, List, Optional, Tuple

from . import deadline
from .packagelog import get_logger

RECORDS_PER_MINUTE = 30
"""Records of one place: a loop of a developer is seen, and a flood of one place costs some 2 MB of log in an hour, and
10 MB where a peer chooses long texts."""
MOST_PLACES = 1000
"""Places that are remembered, some 300 bytes each; when all of them are busy, all further ones share one."""
MINUTE = 60.0
_SETTLE_SECONDS = 0.1
_LONGEST_TEXT = 500
_LONGEST_TRACEBACK = 16 * 1024
"""Characters of a traceback that is cut."""
_MOST_TEXT = 4 * 1024
"""Characters of the texts of an exception and of what it came from; where these have more, the traceback is cut."""
_MOST_ERRORS = 100
_UNSEEN = re.compile(r"[^\S \t]|[\x00-\x08\x0e-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""What a terminal obeys or hides, and whoever reads a log does not see."""

Key = Tuple[str, str, str, int]
_OTHERS: Key = ("", "", "", 0)


class _Place:
    """How many records one place may have now, and how many were left out. Under the lock of `_Places`."""

    __slots__ = ("left", "at", "hidden")

    def __init__(self, now: float) -> None:
        self.left = float(RECORDS_PER_MINUTE)
        self.at = now
        self.hidden = 0

    def fill(self, now: float) -> None:
        self.left = min(float(RECORDS_PER_MINUTE), self.left + max(0.0, now - self.at) * RECORDS_PER_MINUTE / MINUTE)
        self.at = now

    def take(self, now: float) -> bool:
        """Take the permission for one record; False if there is none left."""
        self.fill(now)
        if self.left < 1.0:
            return False
        self.left -= 1.0
        return True

    def is_quiet(self, now: float) -> bool:
        """Whether it is as good as a new one."""
        self.fill(now)
        return not self.hidden and self.left >= RECORDS_PER_MINUTE


class _Places:
    """The places where something was raised, of the whole process. Thread-safe; nothing is logged under the lock."""

    def __init__(self) -> None:
        self.reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.reset)

    def reset(self) -> None:
        """Forget all; also in a forked process, which has no thread, and where the lock may have been held."""
        self._lock = threading.Lock()
        self._places: Dict[Key, _Place] = {}
        self._ends: Optional[threading.Event] = None

    def __len__(self) -> int:
        return len(self._places)

    def admit(self, key: Key) -> int:
        """How many records of this place were left out before this one; -1: this one is to be left out, too."""
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
        """Tell after each minute what was left out in it; ends with a minute in which nothing was."""
        while not ends.wait(MINUTE):
            if not self._tell():
                with self._lock:
                    if not any(place.hidden for place in self._places.values()):
                        if self._ends is ends:
                            self._ends = None
                        return

    def _tell(self) -> bool:
        """Log the numbers of what was left out; whether there were any."""
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
        """Tell now what was left out, and end the thread that would tell it."""
        if not self._lock.acquire(timeout=_SETTLE_SECONDS):
            return  # at the end of the process nobody may be there to let go of it
        ends, self._ends = self._ends, None
        self._lock.release()
        if ends is not None:
            ends.set()
            self._tell()


PLACES = _Places()
"""Those of this process."""
_at_exit = threading.Lock()
_settles = False


def log_raised(who: str, error: BaseException, about: str = "") -> None:
    """Log with its traceback what a function that is not ours has raised.

    ``who``: what the function is to its author, such as ``tool 'add'`` or ``on_log callback``; not chosen by a peer.
    ``about``: what it was called for: method, request, session. Never raises, and never waits for a peer.
    """
    key = _key_of(who, error)
    hidden = PLACES.admit(key)
    if hidden < 0:
        return
    more = "; %d more times before, not logged one by one" % hidden if hidden else ""
    _write("%s raised %s%s%s" % (who, shown_error(error), " (%s)" % about if about else "", more), error)


def shown_error(error: BaseException) -> str:
    """Type and text of an exception on one line, for texts about it; of one that fails to tell its text, the type."""
    name, text = type(error).__name__, text_of(error)
    return "%s: %s" % (name, one_line(text)) if text else name


def one_line(text: str) -> str:
    """A text as one line of Unicode that is not too long."""
    text = text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "..."
    return visible(" ".join(text.encode("utf-8", "backslashreplace").decode("utf-8").split()))


def visible(text: str) -> str:
    """A text in which characters that a terminal obeys, or hides, are escaped."""
    return _UNSEEN.sub(lambda found: found.group().encode("unicode_escape").decode("ascii"), text)


def name_of(function: Any) -> str:
    """What a function is called, for log records; of an object that can be called, its class."""
    function = getattr(function, "func", function)  # of a `functools.partial`
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def text_of(error: BaseException) -> Optional[str]:
    """The text of an exception; None of one that fails to tell it."""
    try:
        return str(error)
    except Exception:
        return None


def _key_of(who: str, error: BaseException) -> Key:
    step, file, line = error.__traceback__, "", 0
    while step is not None:
        file, line = step.tb_frame.f_code.co_filename, step.tb_lineno
        step = step.tb_next
    return who, "%s.%s" % (type(error).__module__, type(error).__qualname__), file, line


def _described(key: Key) -> str:
    who, kind, file, line = key
    return "%s raised %s at %s:%d" % (who, kind, file, line) if who else "other functions raised"


def _is_long(error: BaseException) -> bool:
    """Whether an exception, or one that it came from, has a text that is too long for a log: a peer may choose it."""
    seen: List[BaseException] = []
    most, left = _MOST_TEXT, [error]
    while left:
        found = left.pop()
        if any(found is other for other in seen):
            continue
        seen.append(found)
        most -= len(text_of(found) or "") + sum(len(str(note)) for note in getattr(found, "__notes__", ()))
        left += [cause for cause in (found.__cause__, found.__context__) if cause is not None]
        left += getattr(found, "exceptions", ())
        if most < 0 or len(seen) > _MOST_ERRORS:
            return True
    return False


def _cut(error: BaseException) -> str:
    """The traceback of an exception without the middle of what is too long."""
    from traceback import format_exception

    lines: List[str] = []
    for line in format_exception(type(error), error, error.__traceback__):
        half = _LONGEST_TEXT
        lines.append(line if len(line) <= 4 * half else "%s... (%d characters) ...%s" % (
            line[:half], len(line) - 2 * half, line[-half:]))
    whole = "".join(lines).rstrip("\n")
    half = _LONGEST_TRACEBACK // 2
    return whole if len(whole) <= 2 * half else "%s\n... (%d characters) ...\n%s" % (
        whole[:half], len(whole) - 2 * half, whole[-half:])


def _write(text: str, error: Optional[BaseException]) -> None:
    """Write a record, whatever filters and handlers the program has; whoever calls goes on."""
    global _settles
    try:
        info = None if error is None else (type(error), error, error.__traceback__)
        if error is not None and _is_long(error):
            text, info = "%s\n%s" % (text, _cut(error)), None
        get_logger(__name__).error("%s", text, exc_info=info)
        with _at_exit:
            first, _settles = not _settles, True
        if first:  # after `logging` was loaded, so that it ends before that does
            atexit.register(PLACES.settle)
    except Exception:
        pass
