"""The server's side of stdio: the process that was launched talks on its own standard streams.

The server reads messages from stdin and writes them to stdout, one for each line
[..2025-11-25 basic/transports §stdio]. Nothing else may appear on stdout
[..2025-11-25 basic/transports §stdio] MUST NOT, and a server is full of things that write there: a
forgotten ``print``, a C library, a child process of a tool. And a child process that reads its stdin
would eat the client's messages. So while the transport is open, descriptors 0 and 1 lead elsewhere:

==============================  ==============================  ================================
descriptor                      before `StdioServer.open`       while open
==============================  ==============================  ================================
0, which is called stdin        the client's messages           the null device: reads end at once
1, which is called stdout       the client                      stderr
a private copy of 0             --                              the client's messages
a private copy of 1             --                              the client
==============================  ==============================  ================================

The private copies are not inherited by child processes. ``sys.stdout`` becomes ``sys.stderr``, whose
encoding never fails, if it stood on descriptor 1. `StdioServer.close` puts everything back. Where a
process has no standard streams (a program with windows only), there is no stdio either and `open`
says so; where only ``sys.stdout`` is missing, only that step is left out.

The end of the input is the sign to end: the client closed it, or died
[2026-07-28 basic/transports/stdio §Shutdown] SHOULD. ``read`` returns None then; writing may still
work, because the client may want the last answers. The dispatcher ends the connection.

Bytes only: no text layer, no encoding of the console, no line end but the newline. On Windows
(untested) a reader that waits is freed by the end of the input only, not by `close`.
"""

from __future__ import annotations  # unread, they cost nothing as the module is loaded

import io
import os
import sys
import threading
import weakref
from typing import Any, Callable, Optional, Tuple

from ...errors import ConnectFailed
from ...limits import DEFAULT, Limits
from .fds import FdReader, FdWriter, Wake, above_standard, keep_from_forks, private_pipe, release_to_forks
from .stream import LineTransport

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
