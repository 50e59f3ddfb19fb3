"""Messages as lines on a stream of bytes, and the server's side of stdio.

A message is one line of UTF-8 JSON and ends with a newline, so it holds none itself [..2025-11-25 basic/transports
§stdio] MUST NOT. `frame` turns messages into bytes, a `LineSplitter` turns arriving bytes back into messages, however
they were cut on the way. Nothing is decoded here: U+2028 or broken UTF-8 inside a line pass as they are.

====================================  ==========================================================
what arrives                          what comes out
====================================  ==========================================================
a line that ends in LF                the line, as bytes
a line that ends in CR and LF         the same: one carriage return before the newline is dropped
an empty line                         nothing
a line over ``max_message_bytes``     one `Rejected`, when the line ends; its bytes are not kept
a line over what peers may make us    the same, with the code of what may be tried again
hold (see `mcp_ref.transports.held`)
a line that never ends                nothing. Reading: a message is delimited by its newline, so
                                      what was cut off is no message; see `LineSplitter.unfinished`
====================================  ==========================================================

The limit counts the bytes of the message, without its line end, and counts them the same however they were split. A
long line costs its own size once: it is collected in one growing buffer, which is handed over without a copy, and not
in a list of pieces that is joined at the end.

`LineTransport` is the base of stdio and of the sockets. It needs functions from its subclass, which sets them in
``open``: `_receive` waits for bytes, `_send` gets rid of some, `_can_send` says whether that would not wait. It adds
the framing, the order of writers, the counters, and what is told about the end. The framing works unchanged on any
reliable stream of bytes; a transport of your own that has one should reuse it [2026-07-28 basic/transports/index
§Custom Transports] SHOULD: subclass `LineTransport`.

`StdioServer` is the transport of a server that its client has launched: it reads messages from stdin and writes them
to stdout [..2025-11-25 basic/transports §stdio]. Nothing else may appear on stdout [..2025-11-25 basic/transports
§stdio] MUST NOT, and a server is full of things that write there: a forgotten ``print``, a C library, a child process
of a tool. And a child process that reads its stdin would eat the client's messages. So while the transport is open,
descriptors 0 and 1 lead elsewhere:

==============================  ==============================  ================================
descriptor                      before `StdioServer.open`       while open
==============================  ==============================  ================================
0, which is called stdin        the client's messages           the null device: reads end at once
1, which is called stdout       the client                      stderr
a private copy of 0             --                              the client's messages
a private copy of 1             --                              the client
==============================  ==============================  ================================

The private copies are not inherited by child processes. ``sys.stdout`` becomes ``sys.stderr``, whose encoding never
fails, if it stood on descriptor 1. `StdioServer.close` puts everything back. Where a process has no standard streams (a
program with windows only), there is no stdio either and `open` says so; where only ``sys.stdout`` is missing, only that
step is left out.

The end of the input is the sign to end: the client closed it, or died
[2026-07-28 basic/transports/stdio §Shutdown] SHOULD. ``read`` returns None then; writing may still work, because the
client may want the last answers. The dispatcher ends the connection.

Bytes only: no text layer, no encoding of the console, no line end but the newline. On Windows (untested) a reader that
waits is freed by the end of the input only, not by `close`.
"""

from __future__ import annotations
import io
import os
import sys
import threading
import weakref
from io import BytesIO
from typing import TYPE_CHECKING, Any, Callable, Dict, Hashable, List, Optional, Sequence, Tuple, cast

from ...errors import INTERNAL_ERROR, ConnectFailed, ConnectionLost, LocalProtocolError, Rejected
from ...limits import DEFAULT, Limits
from ..base import Received, Transport
from .fds import (
    FORKED, Closed, FdReader, FdWriter, Wake, above_standard, keep_from_forks, private_pipe, release_to_forks,
)

if TYPE_CHECKING:
    from ..held import MemoryAccount

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
        self.held: "Optional[MemoryAccount]" = None
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

    def _count(self, held: "MemoryAccount") -> None:
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

    def count(self, held: "MemoryAccount", holder: Hashable) -> None:
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


STDIN, STDOUT, STDERR = 0, 1, 2

_TAKEN = threading.Lock()
"""A lock, held while the streams are taken: a second server would find the null device and take it for the client."""


class StandardStreams:
    """The standard streams, taken away from all other code; `restore` gives them back.

    ``stdin`` and ``stdout`` are the private copies, which the caller closes after `restore`.
    """

    def __init__(self) -> None:
        if not _TAKEN.acquire(blocking=False):
            raise ConnectFailed("stdio is already served by this process")
        try:
            self.stdin = _copy(STDIN, "input")
            try:
                self.stdout = _copy(STDOUT, "output")
            except ConnectFailed:
                os.close(self.stdin)
                raise
        except ConnectFailed:
            _TAKEN.release()
            raise
        self._owner = os.getpid()
        self._printed: Any = None  # the ``sys.stdout`` of before, if it stood on descriptor 1
        self._restored = False
        self._point_elsewhere()

    def _point_elsewhere(self) -> None:
        null = os.open(os.devnull, os.O_RDWR)
        try:
            os.dup2(null, STDIN)
            try:
                os.dup2(STDERR, STDOUT)
            except OSError:  # there is no stderr
                os.dup2(null, STDOUT)
        finally:
            os.close(null)
        if _is_on(sys.stdout, STDOUT):
            self._printed = sys.stdout
            _flush(self._printed)  # what was printed before and not yet written belongs to stderr, too
            if sys.stderr is not None:
                if getattr(sys.stderr, "line_buffering", True) is False:
                    # Before 3.9 a stderr that is no terminal is written in blocks. Clients show our lines as they come.
                    sys.stderr.reconfigure(line_buffering=True)  # type: ignore[union-attr]
                sys.stdout = sys.stderr

    def restore(self) -> None:
        """Put descriptors 0 and 1 and ``sys.stdout`` back. A second call does nothing, nor one in a forked process."""
        if self._restored or self._owner != os.getpid():
            return
        self._restored = True
        if self._printed is not None:
            _flush(self._printed)  # while it still ends up on stderr
            if sys.stdout is sys.stderr:  # no other code has put another one in its place
                sys.stdout = self._printed
        os.dup2(self.stdin, STDIN)
        os.dup2(self.stdout, STDOUT)
        _TAKEN.release()


def _copy(number: int, name: str) -> int:
    try:
        return above_standard(os.dup(number))
    except OSError as error:
        raise ConnectFailed("this process has no standard %s to serve stdio on: %s" % (name, error.strerror)) from None


def _is_on(stream: Any, number: int) -> bool:
    """Return True if a Python file writes to this descriptor. The file may be None, or any object."""
    try:
        return bool(stream.fileno() == number)
    except (AttributeError, OSError, ValueError, io.UnsupportedOperation):
        return False


def _flush(stream: Any) -> None:
    try:
        stream.flush()
    except (OSError, ValueError):
        pass


class StdioServer(LineTransport):
    """The transport of a server that was launched by its client.

    ``descriptors``: a pair (to read, to write) instead of the process's own standard streams; they are
    used as they are, without the guard, and closed at the end.
    """

    name = "stdio"
    same_machine = True

    def __init__(self, limits: Limits = DEFAULT, descriptors: Optional[Tuple[int, int]] = None) -> None:
        super().__init__(limits)
        self._descriptors = descriptors
        self._streams: Optional[StandardStreams] = None
        self._close_all: Optional[Callable[[], Any]] = None

    def open(self) -> None:
        """Take the streams. Raises `ConnectFailed` if this process has none, or they are taken."""
        if self._descriptors is None:
            self._streams = StandardStreams()
            stdin, stdout = self._streams.stdin, self._streams.stdout
        else:
            stdin, stdout = self._descriptors
        try:
            self._connect(stdin, stdout)
        except OSError as error:
            if self._streams is not None:
                self._streams.restore()
            os.close(stdin)
            os.close(stdout)
            raise ConnectFailed("cannot serve stdio: %s" % error) from error

    def _connect(self, stdin: int, stdout: int) -> None:
        wake = Wake()
        private = private_pipe(stdout)
        reader = FdReader(stdin, wake)
        writer = FdWriter(stdout if private is None else private, wake, private is not None)
        self._receive, self._send, self._can_send = reader.read, writer.write, writer.ready
        if writer.is_atomic:
            self._send_now = writer.write_at_once
        spare = None if private is None else stdout
        if spare is not None:
            keep_from_forks(spare)
        finalizer = weakref.finalize(self, _close_all, wake, self._streams, reader, writer, spare)
        finalizer.atexit = False  # what still runs then must not get at the client's stream either
        self._close_all = finalizer
        if self._closed:  # meanwhile, by another thread
            finalizer()

    def _peer_left(self) -> str:
        return "the client closed the input"

    def close(self) -> None:
        """Close the transport, and give the standard streams back; see `Transport.close`."""
        self._closed = True
        if self._close_all is not None:
            self._close_all()


def _close_all(wake: Wake, streams: Optional[StandardStreams], reader: FdReader, writer: FdWriter,
               spare: Optional[int]) -> None:
    """Close everything. Waits for nothing.

    This is no method: it also runs when the transport was forgotten, and must not keep it alive.
    """
    wake.set()
    if streams is not None:
        streams.restore()
    if spare is not None:
        release_to_forks(spare)
        os.close(spare)
    reader.close()
    writer.close()
