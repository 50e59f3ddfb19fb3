"""The base of stdio and of the sockets: messages as lines on a stream of bytes.

A message is one line of UTF-8 JSON and ends with a
newline, so it holds none itself [..2025-11-25 basic/transports §stdio] MUST NOT. `frame` turns
messages into bytes, a `LineSplitter` turns arriving bytes back into messages, however they were
cut on the way. Nothing is decoded here: U+2028 or broken UTF-8 inside a line pass as they are.

====================================  ==========================================================
what arrives                          what comes out
====================================  ==========================================================
``{...}\\n``                           the line, as bytes
``{...}\\r\\n``                         the same: one carriage return before the newline is dropped
an empty line                         nothing
a line over ``max_message_bytes``     one `Rejected`, when the line ends; its bytes are not kept
a line over what peers may make us    the same, with the code of what may be tried again
hold (see `mcp_ref.transports.held`)
a line that never ends                nothing. Reading: a message is delimited by its newline, so
                                      what was cut off is no message; see `LineSplitter.unfinished`
====================================  ==========================================================

The limit counts the bytes of the message, without its line end, and counts them the same however
they were split. A long line costs its own size once: it is collected in one growing buffer, which
is handed over without a copy, and not in a list of pieces that is joined at the end.

A `LineTransport` needs functions from its subclass, which sets them in ``open``: `_receive` waits for bytes,
`_send` gets rid of some, `_can_send` says whether that would not wait. It adds the framing, the order of
writers, the counters, and what is told about the end. The framing works unchanged on any reliable stream of bytes, and
a transport of your own that has one should reuse it
[2026-07-28 basic/transports/index §Custom Transports] SHOULD: subclass `LineTransport`.
"""

from __future__ import annotations  # unread, they cost nothing as the module is loaded

import threading
from io import BytesIO
from typing import TYPE_CHECKING, Any, Callable, Dict, Hashable, List, Optional, Sequence, cast

from ...errors import INTERNAL_ERROR, ConnectionLost, LocalProtocolError, Rejected
from ...limits import Limits
from ..base import Received, Transport
from .fds import FORKED, Closed

if TYPE_CHECKING:
    from ..held import Held

_JOIN_BELOW = 64 * 1024
"""The size in bytes under which messages are copied together into one write; a larger one is sent without a copy."""

_COUNT_FROM = 64 * 1024
"""The bytes of an unfinished line that are not counted; more are, as many at a time."""
_NEWLINE_INSIDE = "a message on a line-framed transport must not contain a newline"
_PAGE = "2025-11-25 basic/transports §stdio"


def frame(messages: Sequence[bytes]) -> List[bytes]:
    """Return the bytes to send for these messages, in order, as few pieces as do not need large copies.

    Raises `LocalProtocolError` if a message contains a newline: the peer would take it for two.
    """
    if len(messages) == 1 and len(messages[0]) < _JOIN_BELOW:
        if b"\n" in messages[0]:
            raise LocalProtocolError(_NEWLINE_INSIDE, _PAGE)
        return [messages[0] + b"\n"]
    if sum(map(len, messages)) < _JOIN_BELOW:
        if b"\n" in b"".join(messages):  # faster than looking at each
            raise LocalProtocolError(_NEWLINE_INSIDE, _PAGE)
        return [b"\n".join((*messages, b""))]
    if any(b"\n" in message for message in messages):
        raise LocalProtocolError(_NEWLINE_INSIDE, _PAGE)
    return _pieces(messages)


def _pieces(messages: Sequence[bytes]) -> List[bytes]:
    """Join small messages, and leave large ones alone. The newline of a large message starts the next piece."""
    pieces: List[bytes] = []
    joined: List[bytes] = []
    size = 0
    for message in messages:
        size += len(message)
        if size >= _JOIN_BELOW:
            if joined:
                pieces.append(b"\n".join((*joined, b"")))
            pieces.append(message)
            joined, size = [b""], 0
        else:
            joined.append(message)
    if joined:
        pieces.append(b"\n".join((*joined, b"")))
    return pieces


class LineSplitter:
    """A splitter of bytes, chunk by chunk, into messages of at most ``max_message_bytes`` bytes.

    ``rejected`` counts the lines that were too long. ``held``: the account in which a long line without an end is
    counted, under the key ``holder``; None: none. If the account has no room, the line is refused like one that is too
    long. For one thread at a time.
    """

    __slots__ = ("rejected", "held", "holder", "_limit", "_size", "_buffer", "_ends_in_return", "_counted", "_crowded")

    def __init__(self, max_message_bytes: int) -> None:
        self.rejected = 0
        self.held: "Optional[Held]" = None
        self.holder: Hashable = None
        self._counted = 0  # bytes of it in the account
        self._crowded = False  # True if the account had no room for this line
        self._limit = max_message_bytes
        self._size = 0  # bytes of the unfinished line, kept or not
        self._buffer: Optional[BytesIO] = None  # the unfinished line; None: there is none, or it is too long
        self._ends_in_return = False

    @property
    def unfinished(self) -> int:
        """The number of bytes of the line whose end has not arrived."""
        return self._size

    def drop(self) -> None:
        """Drop the line whose end will not arrive."""
        self._buffer = None
        self._uncount()

    def _uncount(self) -> None:
        if self._counted and self.held is not None:
            self.held.free(self.holder, self._counted)
        self._counted = 0

    def _count(self, held: "Held") -> None:
        """Count the bytes of the line that came since it was last counted. Drop the line without room for them."""
        if held.take(self.holder, self._size - self._counted, "unfinished lines"):
            self._counted = self._size
        else:
            self._crowded = True
            self.drop()

    def feed(self, chunk: bytes) -> List[Received]:
        """Return the messages which this chunk completes."""
        if self._size:
            return self._continue(chunk)
        lines = chunk.split(b"\n")
        tail = lines.pop()
        if tail:
            self._keep(tail)
        if len(chunk) > self._limit or b"\r" in chunk or not all(lines) or any(map(bytes.isspace, lines)):
            return [item for item in map(self._checked, lines) if item]
        return cast("List[Received]", lines)

    def _continue(self, chunk: bytes) -> List[Received]:
        end = chunk.find(b"\n")
        if end < 0:
            self._keep(chunk)
            return []
        self._keep(chunk[:end])
        first = self._finish()
        items = self.feed(chunk[end + 1:])
        if first:
            items.insert(0, first)
        return items

    def _keep(self, part: bytes) -> None:
        """Add to the unfinished line. One byte over the limit is kept: it may turn out to be the carriage return."""
        if self._size == 0:
            self._buffer = BytesIO()
        self._size += len(part)
        if part:
            self._ends_in_return = part.endswith(b"\r")
        if self._size > self._limit + 1:
            self._buffer = None
        elif self._buffer is not None:
            self._buffer.write(part)
            if self.held is not None and self._size > self._counted + _COUNT_FROM:
                self._count(self.held)

    def _finish(self) -> Optional[Received]:
        """Return the line that has just ended, or None if it is blank."""
        buffer, size, crowded = self._buffer, self._size, self._crowded
        self._buffer, self._size, self._crowded = None, 0, False
        self._uncount()
        if crowded:
            self.rejected += 1
            return Rejected("Busy: message of %d bytes, while max_held_bytes or max_held_bytes_per_peer has been"
                            " reached; send it again later" % size, INTERNAL_ERROR)
        if buffer is None:
            return self._refused(size - self._ends_in_return)
        return self._checked(buffer.getvalue())  # the buffer's own bytes, not a copy

    def _checked(self, line: bytes) -> Optional[Received]:
        if line.endswith(b"\r"):
            line = line[:-1]
        if len(line) > self._limit:
            return self._refused(len(line))
        return None if line.isspace() else line or None

    def _refused(self, size: int) -> Rejected:
        self.rejected += 1
        return Rejected("message of %d bytes exceeds max_message_bytes (%d)" % (size, self._limit))


class LineTransport(Transport):
    """The base of the line-framed transports."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._receive: Callable[[], bytes] = _not_open
        """Wait for bytes and return them, b"" at the end. Raises `Closed` once this side was closed, and OSError."""
        self._send: Callable[[bytes], None] = _not_open
        """Send everything; for one thread at a time. Raises as `_receive` does."""
        self._can_send: Callable[[int], bool] = _never
        """Return True if `_send` would certainly not wait for this many bytes. False is always safe."""
        self._send_now: Callable[[bytes], bool] = self._send_if_ready
        """Send everything if that needs no waiting. Return False if nothing was sent."""
        self._splitter = LineSplitter(limits.max_message_bytes)
        self._write_lock = threading.Lock()  # held while the peer is slow; `close` does not need it
        self._closed = False
        self._wrote = False  # True once a message was written
        self._why = ""  # why the connection ended, if not by `close`
        self._broken = False  # a message was cut off in the middle; nothing can follow it

    def _peer_left(self) -> str:
        """Return the text for the end of the stream."""
        return "the peer closed the connection"

    def read(self) -> Optional[List[Received]]:
        """Wait for messages; see `Transport.read`."""
        while True:
            items = self._read_once()
            if items or items is None:
                return items

    def _read_once(self) -> Optional[List[Received]]:
        """Return the messages that the next bytes complete, perhaps [], or None at the end."""
        try:
            chunk = self._receive()
            if chunk:
                return self._splitter.feed(chunk)
            self._note_end(self._peer_left())
        except Closed:
            pass
        except OSError as error:
            self._note_end(_words(error))
        self._splitter.drop()  # now: what refers to this may be a circle, which is collected late
        return None

    def count(self, held: "Held", holder: Hashable) -> None:
        """Use this account, under the key ``holder``, for bytes that the peer makes us hold. Call it before `read`."""
        self.held = self._splitter.held = held
        self.holder = self._splitter.holder = holder

    def _note_end(self, why: str) -> None:
        if self._closed:
            return
        self._why = self._why or why
        if self._splitter.unfinished:
            from ...diagnostics.packagelog import get_logger

            get_logger(__name__).warning("%s: %s in the middle of a message; its first %d bytes were dropped",
                                         self.name, why, self._splitter.unfinished)

    def write(self, messages: Sequence[bytes]) -> None:
        """Write messages; see `Transport.write`.

        Raises `LocalProtocolError` for a message with a newline, before anything is sent.
        """
        pieces = frame(messages)
        try:
            with self._write_lock:
                if self._broken:
                    raise Closed("an earlier message was interrupted while it was being written")
                self._broken = True
                for piece in pieces:
                    self._send(piece)
                self._broken = False  # not reached by an error, nor by the KeyboardInterrupt of a user
                self._wrote = True
        except OSError as error:
            raise self._lost(error) from error

    def write_now(self, messages: Sequence[bytes]) -> bool:
        """Write if that needs no waiting, a small message by one system call. Return False if nothing was sent."""
        pieces = frame(messages)
        if len(pieces) != 1:
            if not self.ready(sum(map(len, pieces))):
                return False
            self.write(messages)
            return True
        if self._broken or not self._write_lock.acquire(blocking=False):
            return False
        try:
            sent = self._send_now(pieces[0])
            self._wrote = self._wrote or sent
            return sent
        except OSError as error:
            raise self._lost(error) from error
        finally:
            self._write_lock.release()

    def forked(self) -> None:
        """Make the transport useless, because this is a forked copy of its process; see `tell_of_fork`."""
        self._write_lock = threading.Lock()
        self._why = self._why or FORKED
        self._broken = True

    def _send_if_ready(self, data: bytes) -> bool:
        if not self._can_send(len(data)):
            return False
        self._broken = True
        self._send(data)
        self._broken = False
        return True

    def _lost(self, error: OSError) -> ConnectionLost:
        if not self._closed:
            self._why = self._why or _words(error)
        return ConnectionLost(self.reason())

    def ready(self, size: int) -> bool:
        """Return True if a write would certainly not wait. False also while another thread writes."""
        if not self._write_lock.acquire(blocking=False):
            return False
        try:
            return self._can_send(size)
        finally:
            self._write_lock.release()

    def reason(self) -> str:
        """Return why the connection ended, in one line."""
        return self._why or "the connection was closed"

    def counters(self) -> Dict[str, int]:
        """Return ``rejected``, messages that were too long, and ``unfinished``, 1 if it ended inside a message."""
        ended_inside = bool(self._why) and self._splitter.unfinished > 0
        return {"rejected": self._splitter.rejected, "unfinished": int(ended_inside)}


def _not_open(*arguments: Any) -> Any:
    raise Closed("not open")


def _never(size: int) -> bool:
    return False


def _words(error: OSError) -> str:
    """Return what an error of the system means for the connection."""
    if isinstance(error, (BrokenPipeError, ConnectionError)):
        return "the peer has gone (%s)" % (error.strerror or error)
    return "the connection failed: %s" % (error.strerror or error)
