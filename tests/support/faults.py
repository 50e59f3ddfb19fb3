"""Faults on demand: wrappers that make a good transport behave like a bad day.

    slow = Delayed(transport); slow.reading.clear()      # what arrives is held back until reading.set()
    Dropping(transport, lambda number, message: number == 2)
    ByteByByte(transport)       Cut(transport, after=100)       Garbled(transport, {17: b"\\xff"})

The last three work on the bytes of what is read: the messages become a stream of lines again, something
happens to it, and a `LineSplitter` makes messages of what is left. Nothing here sleeps.
"""
import threading
from typing import Callable, Iterator, List, Mapping, Optional, Sequence

from mcp_ref.errors import ConnectionLost, Rejected
from mcp_ref.limits import DEFAULT
from mcp_ref.transports.base import Forwarding, Received, Transport, why_ended
from mcp_ref.transports.lines.stdio import LineSplitter

from .patience import WAIT

PATIENCE = WAIT
"""Seconds that a gate may stay shut before the test is declared stuck."""


class Wrapper(Forwarding):
    """Does what the transport inside does."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner


class Delayed(Wrapper):
    """Waits at two gates, which are open until a test clears them; `close` opens them."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self.reading = threading.Event()
        self.writing = threading.Event()
        self.reading.set()
        self.writing.set()

    def read(self) -> Optional[List[Received]]:
        items = self.inner.read()
        _pass(self.reading)
        return items

    def write(self, messages: Sequence[bytes]) -> None:
        _pass(self.writing)
        self.inner.write(messages)

    def ready(self, size: int) -> bool:
        return self.writing.is_set() and self.inner.ready(size)

    def close(self) -> None:
        self.inner.close()
        self.reading.set()
        self.writing.set()


def _pass(gate: threading.Event) -> None:
    if not gate.wait(PATIENCE):
        raise AssertionError("nobody opened the gate")


class Dropping(Wrapper):
    """Loses the written messages for which ``drop(number, message)`` is true; they are numbered from 0."""

    def __init__(self, inner: Transport, drop: Callable[[int, bytes], bool]) -> None:
        super().__init__(inner)
        self.dropped: List[bytes] = []
        self._drop = drop
        self._number = 0
        self._lock = threading.Lock()

    def write(self, messages: Sequence[bytes]) -> None:
        with self._lock:
            kept = []
            for message in messages:
                (self.dropped if self._drop(self._number, message) else kept).append(message)
                self._number += 1
            if kept:
                self.inner.write(kept)


class Restreamed(Wrapper):
    """Reads the messages as the stream of bytes that they were; `chunks` decides what becomes of it."""

    def __init__(self, inner: Transport, max_message_bytes: int = DEFAULT.max_message_bytes) -> None:
        super().__init__(inner)
        self._splitter = LineSplitter(max_message_bytes)
        self._ended = False

    def chunks(self, data: bytes) -> Iterator[bytes]:
        """The bytes that really arrive, in the pieces in which they do."""
        raise NotImplementedError

    def read(self) -> Optional[List[Received]]:
        while not self._ended:
            items = self.inner.read()
            if items is None:
                break
            refused: List[Received] = [item for item in items if isinstance(item, Rejected)]
            data = b"".join(item + b"\n" for item in items if not isinstance(item, Rejected))
            arrived = refused + [item for chunk in self.chunks(data) for item in self._splitter.feed(chunk)]
            if arrived:
                return arrived
        return None


class ByteByByte(Restreamed):
    """Every byte arrives alone."""

    def chunks(self, data: bytes) -> Iterator[bytes]:
        for position in range(len(data)):
            yield data[position:position + 1]


class Cut(Restreamed):
    """The connection breaks after so many bytes, newlines included, in the middle of whatever it is."""

    def __init__(self, inner: Transport, after: int) -> None:
        super().__init__(inner)
        self._left = after

    def chunks(self, data: bytes) -> Iterator[bytes]:
        yield data[:self._left]
        self._left -= len(data)
        if self._left <= 0:
            self._ended = True
            self.inner.close()

    def write(self, messages: Sequence[bytes]) -> None:
        if self._ended:
            raise ConnectionLost(self.reason())
        super().write(messages)

    def reason(self) -> str:
        return "the connection was cut" if self._ended else why_ended(self.inner)


class Garbled(Restreamed):
    """The bytes at some positions of the stream, counted from 0, are replaced by others."""

    def __init__(self, inner: Transport, replacements: Mapping[int, bytes]) -> None:
        super().__init__(inner)
        self._replacements = replacements
        self._position = 0

    def chunks(self, data: bytes) -> Iterator[bytes]:
        start, self._position = self._position, self._position + len(data)
        yield b"".join(self._replacements.get(start + number, data[number:number + 1]) for number in range(len(data)))
