"""What stdio and the sockets have in common: messages as lines on a stream of bytes.

A `LineTransport` needs functions from its subclass, which sets them in ``open``: `_receive` waits for bytes,
`_send` gets rid of some, `_can_send` says whether that would not wait. It adds the framing, the order of
writers, the counters, and what is told about the end.

The framing works unchanged on any reliable stream of bytes, and a transport of your own that has one
should reuse it [2026-07-28 basic/transports/index §Custom Transports] SHOULD: subclass this.
"""

import threading
from typing import Any, Callable, Dict, Hashable, List, Optional, Sequence

from ...errors import ConnectionLost
from ...limits import Limits
from ..base import Received, Transport
from ..held import Held
from .fds import FORKED, Closed
from .framing import LineSplitter, frame


class LineTransport(Transport):
    """Base of the line-framed transports."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._receive: Callable[[], bytes] = _not_open
        """Wait for bytes; b"" at the end. Raises `Closed` once this side was closed, OSError for what went wrong."""
        self._send: Callable[[bytes], None] = _not_open
        """Send everything. One thread at a time. Raises as `_receive` does."""
        self._can_send: Callable[[int], bool] = _never
        """Whether `_send` would certainly not wait for this many bytes. False is always safe."""
        self._send_now: Callable[[bytes], bool] = self._send_if_ready
        """Send everything if that needs no waiting; False: nothing was sent."""
        self._splitter = LineSplitter(limits.max_message_bytes)
        self._write_lock = threading.Lock()  # held while the peer is slow; `close` does not need it
        self._closed = False
        self._why = ""  # why the connection ended, if not by `close`
        self._broken = False  # a message was cut off in the middle; nothing can follow it

    def _peer_left(self) -> str:
        """The end of the stream, in words."""
        return "the peer closed the connection"

    def read(self) -> Optional[List[Received]]:
        """See `Transport.read`."""
        while True:
            items = self._read_once()
            if items or items is None:
                return items

    def _read_once(self) -> Optional[List[Received]]:
        """What the next bytes complete, perhaps nothing; None at the end."""
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

    def count(self, held: Held, holder: Hashable) -> None:
        """Use this account, under the key ``holder``, for what the peer makes us hold; called before `read`."""
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
        """See `Transport.write`. Raises `LocalProtocolError` for a message with a newline, before anything is sent."""
        pieces = frame(messages)
        try:
            with self._write_lock:
                if self._broken:
                    raise Closed("an earlier message was interrupted while it was being written")
                self._broken = True
                for piece in pieces:
                    self._send(piece)
                self._broken = False  # not reached by an error, nor by the KeyboardInterrupt of a user
        except OSError as error:
            raise self._lost(error) from error

    def write_now(self, messages: Sequence[bytes]) -> bool:
        """See `Transport.write_now`; a small message costs one system call."""
        pieces = frame(messages)
        if len(pieces) != 1:
            return super().write_now(messages)
        if self._broken or not self._write_lock.acquire(blocking=False):
            return False
        try:
            return self._send_now(pieces[0])
        except OSError as error:
            raise self._lost(error) from error
        finally:
            self._write_lock.release()

    def forked(self) -> None:
        """This is a forked copy of the process whose connection it is; see `tell_of_fork`."""
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
        """See `Transport.ready`; also False while somebody writes."""
        if not self._write_lock.acquire(blocking=False):
            return False
        try:
            return self._can_send(size)
        finally:
            self._write_lock.release()

    def reason(self) -> str:
        """See `Transport.reason`."""
        return self._why or "the connection was closed"

    def counters(self) -> Dict[str, int]:
        """``rejected``: messages that were too long. ``unfinished``: 1 if the stream ended inside a message."""
        ended_inside = bool(self._why) and self._splitter.unfinished > 0
        return {"rejected": self._splitter.rejected, "unfinished": int(ended_inside)}


def _not_open(*arguments: Any) -> Any:
    raise Closed("not open")


def _never(size: int) -> bool:
    return False


def _words(error: OSError) -> str:
    """What an error of the system means for the connection."""
    if isinstance(error, (BrokenPipeError, ConnectionError)):
        return "the peer has gone (%s)" % (error.strerror or error)
    return "the connection failed: %s" % (error.strerror or error)
