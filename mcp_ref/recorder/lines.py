"""Events of the lines that one party sends over a pipe: messages, whatever else it writes, and what has no end."""

from ..wiretrace import GAP, SERVER, STDERR, TRANSPORT
from .telling import Teller

LONGEST_LINE = 16 * 1024 * 1024
"""The bytes of a line that are recorded; of a longer one it is recorded how long it was."""
LONGEST_STDERR = 64 * 1024
"""The bytes of a line on standard error that are recorded."""


class Lines:
    """Puts bytes together to lines. `line` is called with each, without its LF, and the time of its last byte."""

    longest = LONGEST_LINE
    what = "a line"

    def __init__(self, teller: Teller, direction: str) -> None:
        self._teller = teller
        self._direction = direction
        self._line = bytearray()
        self._size = 0

    def feed(self, at: float, data: bytes) -> None:
        """Take bytes that came at this time."""
        start, end = 0, data.find(b"\n")
        while end >= 0:
            self._keep(data[start:end])
            self._end_line(at)
            start, end = end + 1, data.find(b"\n", end + 1)
        if start < len(data):
            self._keep(data[start:])

    def lost(self, at: float, count: int) -> None:
        """Take it that so many bytes were dropped; the line that they begin, are in or end is recorded as a gap."""
        if self._size:
            self._end_line(at)
        self._teller.tell(GAP, self._direction, at, "%d bytes were not recorded: the trace could not be written as fast"
                          " as they came; what follows may begin inside a line" % count)

    def end(self, at: float) -> None:
        """Take it that nothing more comes."""
        if self._size:
            self._end_line(at)
            self._teller.tell(TRANSPORT, self._direction, at, "the last %s has no line end" % self.what[2:])

    def line(self, at: float, data: bytes) -> None:
        """Record a line."""
        self._teller.message(self._direction, data, at)

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self.longest:
            self._line += part
        else:
            self._line = bytearray()

    def _end_line(self, at: float) -> None:
        size, data = self._size, bytes(self._line)
        self._line, self._size = bytearray(), 0
        if size > self.longest:
            self._teller.tell(GAP, self._direction, at, "%s of %d bytes, of which more than %d are not recorded" % (
                self.what, size, self.longest))
        else:
            self.line(at, data)


class StderrLines(Lines):
    """`Lines` of what a server writes on its standard error."""

    longest = LONGEST_STDERR
    what = "a line on standard error"

    def __init__(self, teller: Teller) -> None:
        super().__init__(teller, SERVER)

    def line(self, at: float, data: bytes) -> None:
        """Record a line."""
        self._teller.tell(STDERR, SERVER, at, data.rstrip(b"\r").decode("utf-8", "backslashreplace"))
