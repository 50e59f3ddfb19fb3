"""The stderr of a child, line by line: for people, for a function, for the trace.

A child's stderr is where its author writes what goes wrong [..2025-11-25 basic/transports §stdio] MAY.
`TextLineSplitter` takes the bytes apart, `Stderr` drains the pipe, and `receiver` makes what `mcp_ref.connect` is given
as ``stderr=`` into something that takes lines:

================  ======================================================================================================
``stderr=``       effect on the lines
================  ======================================================================================================
None              they are written to our own stderr, each with a prefix (``server| text``); the default
False             nothing; the last ones are part of the error when the server ends, as always
a function        called with each line, a str without its end; on the thread that drains, so it must be quick
a stream          they are written to it, with the prefix; a file of text or of bytes
================  ======================================================================================================

Control characters are escaped, so that a child cannot paint on our terminal. A line of more than
``max_stderr_line_bytes`` is cut. A child that says a lot is not stopped: where our own stderr takes nothing
(a terminal that was paused, a pipe that is not read), lines are left out and counted, and the pipe of the child is
drained all the same. A function or a stream that blocks does stop it, as soon as its pipe is full.
"""

import select
import sys
import threading
from typing import IO, Any, Callable, List, Optional, Union

from ...diagnostics import INDENT
from ...diagnostics.packagelog import log_raised, name_of
from ...limits import Limits
from .fds import CAN_POLL, FdReader, pipe_write

LineTarget = Union[None, bool, Callable[[str], Any], IO[Any]]
"""The targets that `receiver` takes; of the bools only False."""
_LAST_LINES = 8
_LAST_LINE = 200
"""The characters of each of the last lines that an error shows."""
_PATIENCE_MILLISECONDS = 200
"""The time for which our own stderr may take nothing before lines are left out."""


class EachLine:
    """A target that gets a child's stderr line by line. If ``tell(line)`` raises, it gets no more."""

    def __init__(self, tell: Callable[[str], Any]) -> None:
        self.tell = tell


StderrSink = Union[str, EachLine, Callable[[bytes], Any], IO[Any]]
"""The target of a child's stderr. ``"ring"``: only kept; ``"inherit"``: our own stderr, nothing kept; an `EachLine`; a
function that gets chunks of bytes; a file that they are written to as they come."""


class TextLineSplitter:
    """A splitter of bytes into lines of text. LF, CR and CRLF end a line; more than ``longest`` bytes are cut."""

    def __init__(self, longest: int, tell: Callable[[str], Any]) -> None:
        self.cut = 0
        """The number of lines that were cut."""
        self._longest = max(1, longest)
        self._tell = tell
        self._rest = b""
        self._skipping = False  # the rest of a line that was cut

    def feed(self, chunk: bytes) -> None:
        """Tell the lines that end in these bytes."""
        data = self._rest + chunk
        held = data[-1:] == b"\r"  # the LF may come with the next bytes
        *lines, rest = data[:len(data) - held].replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for line in lines:
            if self._skipping:
                self._skipping = False
            else:
                self._line(line)
        if self._skipping:
            rest = b""
        elif len(rest) > self._longest:
            self._line(rest)
            self._skipping, rest = True, b""
        self._rest = rest + b"\r" * held

    def finish(self) -> None:
        """Tell the text after the last line end."""
        rest, self._rest = self._rest.rstrip(b"\r"), b""
        if rest and not self._skipping:
            self._line(rest)

    def _line(self, line: bytes) -> None:
        end = ""
        if len(line) > self._longest:
            self.cut += 1
            line, end = line[:self._longest], " ... (max_stderr_line_bytes is %d)" % self._longest
        self._tell(line.decode("utf-8", "backslashreplace") + end)


def printable(line: str) -> str:
    """Return the line without control characters, but with its tabs: they are escaped, and letters of all languages
    stay."""
    if line.isprintable():
        return line
    return "".join(sign if sign.isprintable() or sign == "\t" else sign.encode("unicode_escape").decode("ascii")
                   for sign in line)


class PrefixWriter:
    """A writer of lines to a stream, with a prefix.

    ``stream`` None: the present `sys.stderr`, for which it never raises.
    """

    def __init__(self, prefix: str, stream: Optional[IO[Any]] = None) -> None:
        self._prefix = prefix
        self._stream = stream
        self._left_out = 0

    def __call__(self, line: str) -> None:
        """Write one line."""
        text = "%s%s\n" % (self._prefix, printable(line))
        if self._stream is not None:
            _put(self._stream, text)
            return
        if self._left_out:
            text = "%s... %d lines were left out, because they were not read\n%s" % (self._prefix, self._left_out, text)
        if _put_on_stderr(text, 0 if self._left_out else _PATIENCE_MILLISECONDS):
            self._left_out = 0
        else:
            self._left_out += 1


def _put(stream: IO[Any], text: str) -> None:
    if hasattr(stream, "encoding"):  # a file of text
        encoding = stream.encoding or "utf-8"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    else:
        stream.write(text.encode("utf-8", "backslashreplace"))
    flush = getattr(stream, "flush", None)
    if flush is not None:
        flush()


def _put_on_stderr(text: str, milliseconds: int) -> bool:
    """Write to our own stderr, and wait at most so long for it. Return False if not all of it was written."""
    stream: Any = sys.stderr
    original: Any = sys.__stderr__
    if stream is None:
        return True  # a program without a console
    try:
        if stream is not original or not CAN_POLL:
            _put(stream, text)  # a program has put something in its place
            return True
        # Not by way of the stream: at exit the interpreter needs its lock, which a daemon thread would still hold.
        data = memoryview(text.encode(stream.encoding or "utf-8", "backslashreplace"))
        poll = select.poll()
        poll.register(stream.fileno(), select.POLLOUT)
        write = pipe_write()
        while data:
            if not poll.poll(milliseconds):
                return False
            data = data[write(stream.fileno(), data[:select.PIPE_BUF]):]  # so much does not block where it is ready
        return True
    except (OSError, ValueError):  # it is closed, or full after all
        return False


def receiver(target: "Union[LineTarget, EachLine, str]", name: str) -> Any:
    """Return what `StdioChild` takes as ``stderr`` for this target. ``name``: the server that the prefix names.

    What this has returned before is returned as it is. Raises TypeError for what is none of those in the table of the
    module.
    """
    if isinstance(target, EachLine) or target == "ring":
        return target
    if target is None:
        return EachLine(PrefixWriter("%s| " % name))
    if target is False:
        return "ring"
    if hasattr(target, "write"):
        return EachLine(PrefixWriter("%s| " % name, target))  # type: ignore[arg-type]
    if callable(target):
        return EachLine(target)
    raise TypeError("stderr is None (shown), False (not shown), a function that takes lines, or a stream; not %r"
                    % (target,))


class Receivers:
    """A list of functions that get each line. One that raises gets no more, and a log record says so."""

    def __init__(self, *tells: Callable[[str], Any]) -> None:
        self._tells: List[Callable[[str], Any]] = list(tells)

    def __call__(self, line: str) -> None:
        """Give a line to all of them."""
        for tell in list(self._tells):
            try:
                tell(line)
            except BaseException as error:  # whatever it is, the pipe has to be drained, or the child would block
                self._tells.remove(tell)
                log_raised("receiver %s of a child's stderr, which gets no more," % name_of(tell), error)


# --- Draining it ------------------------------------------------------------------------------------------------------

class Stderr:
    """A reader of the child's stderr, with a thread of its own. It keeps the tail; ``on_line`` gets each line."""

    def __init__(self, sink: StderrSink, limits: Limits, on_line: Optional[Callable[[str], Any]] = None) -> None:
        self.tail = b""
        self._keep = max(1, limits.stderr_tail_bytes)
        self._sink = None if isinstance(sink, (str, EachLine)) else _sink(sink)
        tells = ([sink.tell] if isinstance(sink, EachLine) else []) + ([on_line] if on_line is not None else [])
        self._lines = TextLineSplitter(limits.max_stderr_line_bytes, Receivers(*tells)) if tells else None
        self._thread: Optional[threading.Thread] = None

    def start(self, reader: FdReader) -> None:
        """Drain what this reader reads. Not called if the child has our own stderr."""
        self._reader = reader
        self._thread = threading.Thread(target=self._drain, name="mcp-ref:stderr:child", daemon=True)
        self._thread.start()

    def _drain(self) -> None:
        try:
            while True:
                chunk = self._reader.read()
                if not chunk:
                    break
                self.tail = (self.tail + chunk)[-self._keep:]
                if self._lines is not None:
                    self._lines.feed(chunk)
                if self._sink is not None:
                    try:
                        self._sink(chunk)
                    except BaseException as error:  # as above
                        sink, self._sink = self._sink, None
                        log_raised("receiver %s of a child's stderr, which gets no more," % name_of(sink), error)
        except OSError:
            pass  # closed
        if self._lines is not None:
            self._lines.finish()
        self._reader.close()

    @property
    def cut(self) -> int:
        """The number of lines that were longer than ``max_stderr_line_bytes``."""
        return self._lines.cut if self._lines is not None else 0

    def settle(self, seconds: float) -> None:
        """Wait at most that long for its end."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(seconds)

    def close(self) -> None:
        """End the thread, also if another process keeps the pipe open."""
        if self._thread is not None:
            self._reader.wake.set()
            self._reader.close()

    def last_words(self) -> str:
        """Return the last lines of the tail, each indented on a line of its own; a single one as it is; "" for none."""
        text = self.tail[-4 * _LAST_LINES * _LAST_LINE:].decode("utf-8", "replace")
        lines = [line.rstrip() for line in text.splitlines() if line.strip()][-_LAST_LINES:]
        shown = ["".join(character if character.isprintable() else "?" for character in line) for line in lines]
        shown = [line if len(line) <= _LAST_LINE else "..." + line[3 - _LAST_LINE:] for line in shown]
        return "".join(INDENT + line for line in shown) if len(shown) > 1 else "".join(shown).strip()


def _sink(target: Union[Callable[[bytes], Any], IO[Any]]) -> Callable[[bytes], Any]:
    """Return the function that a chunk is given to."""
    write = getattr(target, "write", None)
    if write is None:
        return target  # type: ignore[return-value]
    text = hasattr(target, "encoding")

    def to_file(chunk: bytes) -> None:
        write(chunk.decode("utf-8", "replace") if text else chunk)
        flush = getattr(target, "flush", None)
        if flush is not None:
            flush()

    return to_file
