"""A trace of events that happened a while ago: each is told with its own time, by one thread."""

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..jsontext import JsonError, loads
from ..version import __version__
from ..wiretrace import HEADER, Event, Sink, Trace

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


class Teller:
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
