"""Recording later than the wire: a trace with times of the past, and the backlog of what waits to be recorded.

A thread that carries bytes may not wait for a disk, for a terminal, or for JSON to be parsed. It puts what it has seen
into a `Backlog`, which takes half a microsecond, and one thread records it a moment later. Where that one falls
behind, because the file is slow, further bytes are dropped and counted: the trace gets a gap, and the wire goes on.

A `Stream` is one sender of such bytes; what is dropped is counted for each of them alone.
"""

import threading
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Mapping, Optional, Sequence, Tuple

from ... import deadline
from ...jsontext import JsonError, loads
from ...threads import start_thread
from ...version import __version__
from ...wiretrace import HEADER, Event, Sink, Trace

NOTHING: Mapping[str, Any] = {}


def canonical(data: bytes) -> Any:
    """Return the JSON object or array of these bytes; None if they are none."""
    try:
        value = loads(data)
    except JsonError:
        return None
    return value if isinstance(value, (dict, list)) else None


class _Past(Trace):
    """A trace whose clock is set for each event."""

    at: Optional[float] = None

    def begin(self, recorded: Sequence[str], started: Optional[str]) -> float:
        """Give the header to the sink, and return the time from which the seconds of events are counted."""
        self._header["recorded"] = list(recorded)
        if started:
            self._header["started"] = started
        elif started is not None:
            del self._header["started"]
        self._begun = True
        self._hand_out(Event(0.0, "", HEADER, more=self._header))
        return self._start

    def _now(self) -> float:
        return super()._now() if self.at is None else round(self.at - self._start, 6)


class EventWriter:
    """Tells of events. Not thread-safe.

    ``recorder``: its name for the header. ``recorded``: names of `wiretrace.RECORDED`, all that the header promises.
    ``started``: the time for the header, where that is not now; "" if it is not known. A sink that raises gets no
    further event; `failure` is the error.
    """

    def __init__(self, sink: Sink, recorder: str, recorded: Sequence[str], started: Optional[str] = None) -> None:
        self.failure: Optional[Exception] = None
        self._sink = sink
        self._trace = _Past(self._give, recorder="mcp_ref %s %s" % (__version__, recorder))
        self.start = self._trace.begin(recorded, started)
        """The time from which the seconds of events are counted."""

    def tell(self, kind: str, direction: str = "", at: Optional[float] = None, text: str = "", connection: str = "",
             exchange: int = 0, more: Mapping[str, Any] = NOTHING) -> None:
        """Tell of an event that is no message; ``at``: the time of `deadline.clock` at which it was.

        ``more``: its other members; those that are None are left out.
        """
        self._trace.at = at
        self._trace.tell(kind, direction, more, text, connection, exchange)

    def message(self, direction: str, data: bytes, at: Optional[float] = None, connection: str = "",
                exchange: int = 0, sse: Optional[Dict[str, Any]] = None) -> None:
        """Tell of the bytes of a message, whatever they are."""
        self._trace.at = at
        self._trace.message(direction, data, connection, exchange, sse)

    def mirrored(self, fields: Sequence[Tuple[str, str]], message: bytes) -> List[Tuple[str, str]]:
        """Mask the header fields that repeat secrets of the message, which only its members' names tell to be some."""
        value, masker = canonical(message), self._trace.masker
        found = masker.message(value)[1] if value is not None else ()
        if value is None:  # what is secret in it cannot be told
            return [(name, masker.mask(text) if is_mirror(name) else text) for name, text in fields]
        return [(name, masker.field(name, text, found) if is_mirror(name) else text) for name, text in fields]

    def _give(self, event: Event) -> None:
        if self.failure is None:
            try:
                self._sink(event)
            except Exception as error:  # a full disk, a closed stream: what is carried goes on
                self.failure = error


def is_mirror(name: str) -> bool:
    """Return True for the name of a header field that repeats a part of the message."""
    return name.lower().startswith("mcp-param-")


def header_fields(fields: Sequence[Tuple[str, str]], name: str) -> str:
    """Return the value of a header field, all of one name joined by commas, or ""."""
    return ", ".join(value for field, value in fields if field.lower() == name)


MOST_WAITING = 64 * 1024 * 1024
"""The bytes that may wait to be recorded, beside those of the first FEW entries."""
FEW = 1000
"""The entries that may wait without being counted. None has more than 64 KiB, so they have about 64 MiB at most."""
DELAY = 0.02
"""The seconds for which what was seen may wait while there is more: many events are recorded in one go, and in between
the interpreter belongs to the threads that carry bytes."""
_NAME = "mcp-ref:recorder"
_ENTRY = 400
"""The bytes that an entry takes besides its data."""

Take = Callable[[float, Any], None]
"""A function that records something that was seen at this time of `deadline.clock`."""


class Backlog:
    """The entries, and the thread that records them. ``most``: see `MOST_WAITING`."""

    def __init__(self, most: int = MOST_WAITING) -> None:
        self.entries: Deque[Tuple[Take, float, Any, int]] = deque()
        """Entries that wait: who records each, when it was, what it is, and the bytes that are counted for it."""
        self.idle = False
        """True if the recording thread waits for `awaken`."""
        self.failure: Optional[Exception] = None
        """The first exception of an entry that could not be recorded."""
        self._most = most
        self._waiting = 0
        self._lock = threading.Lock()
        self._wake = threading.Lock()
        """Held while there is nothing to do: released by `awaken`, which a signal handler may call, too."""
        self._wake.acquire()
        self._closing = threading.Event()
        self._thread = start_thread(_NAME, self._run)

    def put(self, take: Take, what: Any = None) -> None:
        """Have ``take(time, what)`` called by the recording thread, after all that was put before. Never dropped."""
        self.entries.append((take, deadline.clock(), what, 0))
        if self.idle:
            self.awaken()

    def awaken(self) -> None:
        """Tell the recording thread that there is something to do."""
        self.idle = False
        try:
            self._wake.release()
        except RuntimeError:
            pass  # another thread was quicker

    def add(self, take: Take, what: Any, size: int) -> bool:
        """Put in something of so many bytes, unless too much waits; return False then."""
        size += _ENTRY
        with self._lock:
            if self._waiting > self._most:
                return False
            self._waiting += size
        self.entries.append((take, deadline.clock(), what, size))
        return True

    def close(self, seconds: float) -> bool:
        """Record what waits, and end. Return False if that takes longer than so many seconds; the rest is lost."""
        self._closing.set()
        self.awaken()
        self._thread.join(seconds)
        return not self._thread.is_alive() and self.failure is None

    def _run(self) -> None:
        while True:
            while self.entries:
                take, at, what, size = self.entries.popleft()
                try:
                    take(at, what)
                except Exception as error:
                    self.failure = self.failure or error
                if size:
                    with self._lock:
                        self._waiting -= size
            if self._closing.is_set():
                if not self.entries:
                    return
                continue
            self.idle = True
            if not (self.entries or self._closing.is_set()):  # what came since the loop has awoken nobody
                self._wake.acquire()
            self.idle = False
            self._closing.wait(DELAY)


def stuck() -> bool:
    """Return True if something is being recorded still: once a backlog is closed, by a sink that never returns."""
    return any(thread.name == _NAME for thread in threading.enumerate())


class Stream:
    """The bytes of one sender, which one thread puts in; ``lost(time, count)`` records that some were dropped."""

    def __init__(self, backlog: Backlog, lost: Callable[[float, int], None]) -> None:
        self._backlog = backlog
        self._entries = backlog.entries
        self._lose = lost
        self._dropped = 0
        self._told = 0
        self._marked = False

    def put(self, take: Take, what: Any, size: int) -> None:
        """Have ``take(time, what)`` called for something of so many bytes, or drop it if too much waits."""
        if len(self._entries) < FEW:
            self._entries.append((take, deadline.clock(), what, 0))
        elif not self._backlog.add(take, what, size):
            self._dropped += size
            if not self._marked:
                self._marked = True
                self._backlog.put(self._gap)
        if self._backlog.idle:
            self._backlog.awaken()

    def _gap(self, at: float, _: Any) -> None:
        self._marked = False  # before the number is read: what is dropped from here on makes a new gap
        count = self._dropped - self._told
        self._told += count
        self._lose(at, count)
