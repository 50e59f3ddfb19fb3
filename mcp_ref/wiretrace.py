"""The wire made visible: every message, state change and finding as an event, for people and for programs.

A `Trace` takes events and gives them to its sinks. `transports.tap` puts one around a transport. Other parts report
to it by `Trace.state` (a state change), `Trace.transport` (an HTTP status) and `Trace.finding` (a broken rule).
Without a tap there is no trace, and it costs nothing.

For people, one line for each message::

    # 2025-06-18 basic/lifecycle §Initialization
      0.000 C> initialize #1            {"protocolVersion":"2025-06-18", ...}
      0.004 S> result #1 initialize     {"serverInfo": ...}
      0.005 C> notifications/initialized
      0.006 == phase operating
      0.310 !! S  late response #4 dropped

Seconds since the start; ``C>`` and ``S>`` messages of client and server, ``==`` a state change, ``~~`` the
transport (HTTP status and header fields, streams, a child's stderr and exit), ``!!`` a finding, which is anything that
the connection counts as odd; the last two are followed by the party. Members keep their order, long values and long
lines lose their middle, a string id keeps its quotes. Control characters in a peer's text are escaped, so that it
cannot paint over other lines.

For programs, JSON Lines (`to_file`, `read`): one object a line, UTF-8, ``#`` begins a comment line.

=================================================================  ===================================
object                                                             an event that is
=================================================================  ===================================
``{"time": 0.004, "from": "server", "message": {...}}``            a message (or a batch: an array)
``{"time": 0.1, "from": "server", "raw": "Listening on ..."}``     bytes that are no message; text
``{"time": 0.1, "from": "server", "base64": "gICA"}``              the same, not even UTF-8
``{"time": 0.2, "kind": "state", "note": "phase operating"}``      ``kind`` state, transport or finding,
                                                                   with ``from`` where one party is meant
=================================================================  ===================================

``time`` is seconds since the start of the trace. Events are written in the order in which they were
reported; with two threads that order may differ from the order of the times by microseconds.

Secrets are masked before any sink sees them (`mcp_ref.diagnostics.redaction`), so a trace cannot be replayed to log in.

Threads: any thread may report. Each sink has a lock of its own and is called under it, so a sink that
blocks (a full pipe) blocks the thread that reports: never report while holding a lock of the protocol. A
sink that raises is dropped, with a log record; the conversation goes on.
"""

import threading
from itertools import count
from typing import IO, Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from . import deadline
from .diagnostics.redaction import redact, redact_text
from .diagnostics.usercode import log_raised, name_of
from .jsontext import JsonError, dumps, loads
from .methods import is_vendor
from .options import spelt

CLIENT, SERVER = "client", "server"
MESSAGE, STATE, TRANSPORT, FINDING = "message", "state", "transport", "finding"

WIDTH = 200
"""Characters of a message's contents that one line of text shows."""


class Event(NamedTuple):
    """An event on the wire, secrets masked.

    ``time``: seconds since the start. ``direction``: "client" or "server", the sender or the party concerned; "" for
    neither. ``kind``: "message", "state", "transport" or "finding". ``message``: the JSON value, an object or a batch;
    None for bytes that are no message. ``text``: the note, or those bytes (no UTF-8 as lone surrogates).
    """

    time: float
    direction: str
    kind: str
    message: Any = None
    text: str = ""

    def data(self) -> bytes:
        """Return the bytes of a message, to send it again."""
        if self.message is None:
            return self.text.encode("utf-8", "surrogateescape")
        return dumps(self.message).encode("ascii")


Sink = Callable[[Event], None]
"""A function that takes events, such as the ``append`` of a list. One thread at a time calls it."""


class TraceError(ValueError):
    """A line of a recorded trace is no event; the text says which line."""


class Trace:
    """Takes events and gives them to the sinks; the module's docstring says on which threads.

    Raises TypeError for a sink that cannot be called.
    """

    def __init__(self, *sinks: Sink) -> None:
        for sink in sinks:
            if not callable(sink):
                raise TypeError("a sink is a function that takes events, not %s: for a stream use to_text(stream), for "
                                "a file to_file(path)" % type(sink).__name__)
        self.numbers = count(1)
        """The numbers of the streams that it shows."""
        self._sinks = [(sink, threading.Lock()) for sink in sinks]
        self._start = deadline.clock()

    def message(self, direction: str, data: bytes) -> None:
        """Report bytes that went over the wire, sent by ``direction`` ("client" or "server")."""
        value = None
        try:
            value = loads(data)
        except JsonError:
            pass
        if isinstance(value, (dict, list)):
            self._tell(direction, MESSAGE, redact(value), "")
        else:
            self._tell(direction, MESSAGE, None, data.decode("utf-8", "surrogateescape"))

    def state(self, text: str) -> None:
        """Report that the conversation entered another state."""
        self._tell("", STATE, None, text)

    @spelt
    def transport(self, text: str, direction: str = "") -> None:
        """Report an event of the transport: a status, a header, the exit of a process."""
        self._tell(direction, TRANSPORT, None, text)

    @spelt
    def finding(self, text: str, direction: str = "") -> None:
        """Report a broken rule; ``direction`` is the party that broke it."""
        self._tell(direction, FINDING, None, text)

    def _tell(self, direction: str, kind: str, message: Any, text: str) -> None:
        if kind != MESSAGE:
            text = text.encode("utf-8", "backslashreplace").decode("utf-8")
        event = Event(round(deadline.clock() - self._start, 6), direction, kind, message, redact_text(text))
        for entry in list(self._sinks):
            sink, lock = entry
            try:
                with lock:
                    sink(event)
            except Exception as error:
                self._drop(entry, error)

    def _drop(self, entry: Tuple[Sink, "threading.Lock"], error: Exception) -> None:
        """Remove a sink that raised: it would raise for every message."""
        try:
            self._sinks.remove(entry)
        except ValueError:
            return  # another thread was quicker
        log_raised("sink %s of a trace, which ends here," % name_of(entry[0]), error)

    def close(self) -> None:
        """Close the sinks that can be closed."""
        for sink, lock in self._sinks:
            close = getattr(sink, "close", None)
            if close is not None:
                with lock:
                    close()

    def __enter__(self) -> "Trace":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


@spelt
def to_text(stream: IO[str], width: Optional[int] = WIDTH) -> Trace:
    """Return a trace that people read: lines on a text stream, which stays open. ``width`` None shows everything."""
    return Trace(TextSink(stream, width))


def to_file(path: Any) -> Trace:
    """Return a trace that programs read: JSON Lines in a new file (a path or a text stream). Close it in the end."""
    return Trace(JsonLinesSink(path))


# For people

_MARKS = {STATE: "==", TRANSPORT: "~~", FINDING: "!!"}
_PARTIES = {CLIENT: "C", SERVER: "S"}
_REMEMBERED = 4096  # requests without an answer whose method is kept


class TextForm:
    """Turns the events of one conversation into lines. Remembers requests, to name the method of a response."""

    def __init__(self, width: Optional[int] = WIDTH) -> None:
        self._width = width
        self._methods: Dict[Tuple[str, str], str] = {}

    def lines(self, event: Event) -> List[str]:
        """Return the lines of one event, more than one for a batch."""
        start = "%7.3f " % event.time
        if event.kind != MESSAGE:
            party = _PARTIES.get(event.direction, "")
            return ["%s%s %s%s" % (start, _MARKS[event.kind], party + "  " if party else "", plain(event.text))]
        start += _PARTIES.get(event.direction, "?") + "> "
        if event.message is None:
            shown = dumps(event.data().decode("utf-8", "backslashreplace"))
            return [start + "%-24s %s" % ("not a message", shorten(shown, self._width))]
        if isinstance(event.message, dict):
            return [start + self._line(event.direction, event.message)]
        total = len(event.message)
        return [start + "batch of %d" % total] + [
            start + "%d/%d %s" % (number, total, self._line(event.direction, item))
            for number, item in enumerate(event.message, 1)
        ]

    def _line(self, direction: str, message: Any) -> str:
        label, body = self._label(direction, message) if isinstance(message, dict) else ("not a message", message)
        if body is None:
            return label
        return "%-24s %s" % (label, shorten(dumps(elide(body) if self._width else body), self._width))

    def _label(self, direction: str, message: Dict[str, Any]) -> Tuple[str, Any]:
        """Return the label of a message, and the part of it to show."""
        number = dumps(message["id"])[:80] if message.get("id") is not None else ""
        if "method" in message:
            method = plain(str(message["method"]))[:80]
            if is_vendor(method):
                method += " (vendor)"
            if not number:
                return method, message.get("params")
            if len(self._methods) >= _REMEMBERED:
                del self._methods[next(iter(self._methods))]
            self._methods[direction, number] = method
            return "%s #%s" % (method, number), message.get("params")
        asked = SERVER if direction == CLIENT else CLIENT
        method = self._methods.pop((asked, number), "")
        for kind in ("result", "error"):
            if kind in message:
                return " ".join([kind] + ["#" + number] * bool(number) + [method] * bool(method)), message[kind]
        return "not a message", message


def elide(value: Any, longest: int = 60, most: int = 8) -> Any:
    """Return a JSON value whose long strings and arrays have lost their middle."""
    if isinstance(value, str):
        return shorten(value, longest)
    if isinstance(value, dict):
        return {name: elide(member, longest, most) for name, member in value.items()}
    if isinstance(value, list):
        if len(value) > most:
            value = value[:most - 2] + ["... %d more ..." % (len(value) - most + 1)] + value[-1:]
        return [elide(item, longest, most) for item in value]
    return value


def shorten(text: str, width: Optional[int]) -> str:
    """Return a text of at most ``width`` characters (None: no limit); the middle becomes a count of its characters."""
    if width is None or len(text) <= width:
        return text
    kept = max(width - 20, 8)
    head = kept * 2 // 3
    return "%s ...%d more... %s" % (text[:head], len(text) - kept, text[len(text) - (kept - head):])


def plain(text: str) -> str:
    """Return a text that a terminal can show: one line of ASCII."""
    return text if text.isascii() and text.isprintable() else text.encode("unicode_escape").decode("ascii")


class TextSink:
    """Lines of text on a stream."""

    def __init__(self, stream: IO[str], width: Optional[int] = WIDTH) -> None:
        self._stream = stream
        self._form = TextForm(width)

    def __call__(self, event: Event) -> None:
        """Write one event."""
        self._stream.write("".join(line + "\n" for line in self._form.lines(event)))
        self._stream.flush()


# For programs

class JsonLinesSink:
    """JSON Lines in a file that only its owner can read, or on a text stream; each line is flushed."""

    def __init__(self, target: Any) -> None:
        self._owned = not hasattr(target, "write")
        self._stream: IO[str] = _create(target) if self._owned else target

    def __call__(self, event: Event) -> None:
        """Write one event."""
        self._stream.write(dumps(to_object(event)) + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Close the file, if it was opened here."""
        if self._owned:
            self._stream.close()


def _create(path: Any) -> IO[str]:
    import os

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags, 0o600)

    return open(path, "w", encoding="utf-8", newline="\n", opener=opener)


def to_object(event: Event) -> Dict[str, Any]:
    """Return an event as the JSON object of one line."""
    value: Dict[str, Any] = {"time": event.time}
    if event.direction:
        value["from"] = event.direction
    if event.kind != MESSAGE:
        value.update(kind=event.kind, note=event.text)
    elif event.message is not None:
        value["message"] = event.message
    else:
        try:
            event.text.encode("utf-8")
            value["raw"] = event.text
        except UnicodeEncodeError:
            from base64 import b64encode

            value["base64"] = b64encode(event.data()).decode("ascii")
    return value


def read(source: Any) -> Iterator[Event]:
    """Yield the events of a recording: a path, or lines (str or bytes). Raises `TraceError` for a line that is none."""
    if isinstance(source, (str, bytes)) or hasattr(source, "__fspath__"):
        with open(source, "rb") as lines:
            yield from read(lines)
        return
    for number, line in enumerate(source, 1):
        data = line.encode("utf-8", "surrogateescape") if isinstance(line, str) else line
        data = data.strip()
        if data and not data.startswith(b"#"):
            try:
                yield from_object(loads(data))
            except (JsonError, TraceError) as error:
                raise TraceError("line %d: %s" % (number, error)) from None


def from_object(value: Any) -> Event:
    """Return the event of one line's JSON object. Raises `TraceError`."""
    if not isinstance(value, dict):
        raise TraceError("not an object")
    time, direction, kind = value.get("time"), value.get("from", ""), value.get("kind", MESSAGE)
    if isinstance(time, bool) or not isinstance(time, (int, float)):
        raise TraceError("time: expected seconds, got %s" % dumps(time)[:80])
    if direction not in (CLIENT, SERVER, "") or kind not in (MESSAGE, *_MARKS) or (kind == MESSAGE and not direction):
        raise TraceError("from: expected client or server; kind: expected state, transport or finding")
    if kind != MESSAGE:
        if not isinstance(value.get("note"), str):
            raise TraceError("note: expected a string")
        return Event(float(time), direction, kind, None, value["note"])
    if isinstance(value.get("message"), (dict, list)):
        return Event(float(time), direction, MESSAGE, value["message"])
    return Event(float(time), direction, MESSAGE, None, _raw(value))


def _raw(value: Dict[str, Any]) -> str:
    from base64 import b64decode

    if isinstance(value.get("raw"), str):
        return str(value["raw"])
    try:
        return b64decode(value["base64"], validate=True).decode("utf-8", "surrogateescape")
    except (KeyError, TypeError, ValueError):
        raise TraceError("expected message (an object or array), raw, base64, or kind and note") from None
