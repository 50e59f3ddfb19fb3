"""The client's side of stdio: launch the server as a child process and talk on its standard streams.

The client writes messages to the child's stdin and reads messages from its stdout
[..2025-11-25 basic/transports §stdio]. The faults that can happen, and what is done about them:

- **The program is not found.** It is looked up on the PATH that the child will have; the error says
  where. On Windows (untested) that finds ``.cmd`` and ``.exe`` files, too.
- **stdout holds something that is no message**, such as a banner. A line that cannot be the start of
  a JSON object or a batch is noise: counted, logged, kept (`StdioChild.noise`), and skipped.
- **stderr fills up** and the child stops. A thread drains it into a ring buffer, whatever ``stderr``
  says about the text; text there is no sign of an error [2025-11-25 basic/transports §stdio] SHOULD NOT. Its tail is
  part of `StdioChild.reason`, for the case that the child has ended.
- **The child does not leave.** `StdioChild.close` closes its stdin, waits, sends SIGTERM, waits, sends
  SIGKILL [..2025-11-25 basic/lifecycle §Shutdown > stdio] SHOULD,
  [2024-11-05 basic/lifecycle §Error Handling] SHOULD. The child leads a session and a process group
  of its own, so Ctrl-C in our terminal does not reach it, and the signals reach its children as
  well. A child that leaves when asked may leave others behind on purpose: they are not touched.
- **The child dies and leaves another process behind** that holds its stdout. The end of the process is the end of the
  connection, then, within a fraction of a second; see `mcp_ref.transports.lines.process.ChildReader`.
- **We are killed.** The child reads the end of its stdin: no other process holds the other end.
- **`close` is never called.** A forgotten transport closes the child's stdin; what is left at exit is ended there.

While `close` waits for the child it throws away what the child still says, so that a full pipe does
not keep it. The end of its stdout is usually the first that is seen of its leaving.
"""

import os
import threading
import weakref
from collections import deque
from typing import Callable, Deque, Dict, List, Mapping, Optional, Sequence, Union

from ...limits import DEFAULT, Limits
from ...options import strict_options
from ..base import Received
from .fds import tell_of_fork
from .process import SETTLE, Process, arguments, child_environment, find_program, spawn, sweep
from .stderr import EachLine, StderrSink
from .stdio import LineTransport

_NOISE_LINES = 100
_NOISE_BYTES = 1000


def looks_like_json(line: bytes) -> bool:
    """Return True if a line may be a message: an object, or an array of objects. ``[INFO] ready`` is neither."""
    if line[:1] == b"{":
        return True
    start = line.lstrip(b" \t\r\xef\xbb\xbf")  # after a byte order mark it is read, and refused for that mark
    if start[:1] != b"[":
        return start[:1] == b"{"
    return start[1:].lstrip()[:1] in (b"{", b"]", b"[")


class StdioChild(LineTransport):
    """The transport of a client that launches its server.

    ``command``: a list of words, or a string that is split as a shell does it. ``env``: entries for the
    child's environment, beside what it inherits: by default a short list of variables (`child_environment`), with
    ``inherit_env=True`` all of ours but ``MCP_REF_*``, with False nothing. ``cwd``: the folder it starts in.
    ``stderr``: the target of its stderr, see `StderrSink`; a function is called on the thread that drains and
    must be quick. ``on_noise``: called by the reader with each line on stdout that is no message. ``on_stderr``: called
    by the thread that drains with each line on stderr, a str. ``on_process``: called with what becomes of the process,
    see `Process`, and with ``"start"`` and its words. Both are to be set before `open`.
    """

    name = "child"

    @strict_options
    def __init__(self, command: Union[str, Sequence[str]], env: Optional[Mapping[str, str]] = None,
                 inherit_env: Optional[bool] = None, cwd: Union[str, "os.PathLike[str]", None] = None,
                 stderr: StderrSink = "ring", limits: Limits = DEFAULT) -> None:
        super().__init__(limits)
        if stderr not in ("ring", "inherit") and not callable(stderr) and not hasattr(stderr, "write") and not (
                isinstance(stderr, EachLine)):
            raise ValueError("stderr must be 'ring', 'inherit', a function or a file, not %r" % (stderr,))
        self.command = command
        self.address = command if isinstance(command, str) else " ".join(command)
        self.noise: Deque[bytes] = deque(maxlen=_NOISE_LINES)
        """The last lines that were no messages, each cut to 1,000 bytes."""
        self.on_noise: Optional[Callable[[bytes], None]] = None
        self.on_stderr: Optional[Callable[[str], None]] = None
        self.on_process: Optional[Callable[..., None]] = None
        self._env = child_environment(env, inherit_env)
        self._cwd = None if cwd is None else os.fspath(cwd)
        self._stderr = stderr
        self._noise_lines = 0
        self._child: Optional[Process] = None
        self._close_lock = threading.RLock()
        self._closing = False
        self._unread = 0
        self._told = ""  # by `reason`, before `close` made the child end in another way

    @property
    def hears_stderr(self) -> bool:
        """True if ``on_stderr`` gets what the child writes there."""
        return self._stderr != "inherit"

    @property
    def pid(self) -> Optional[int]:
        """The child's process id; None before `open`."""
        return self._child.process.pid if self._child else None

    def open(self) -> None:
        """Start the child. Raises `ConnectFailed` that says where the program was looked for, or the system's error."""
        sweep()
        words = arguments(self.command)
        words[0] = find_program(words[0], self._env, self._cwd)
        child = self._child = spawn(
            words, self._env, self._cwd, self._stderr, self.limits, self.on_stderr, self.on_process)
        tell_of_fork(self)
        self._receive, self._send, self._can_send = child.stdout.read, child.stdin.write, child.stdin.ready
        if child.stdin.is_atomic:
            self._send_now = child.stdin.write_at_once
        weakref.finalize(self, child.release).atexit = False  # at exit, `process` ends what is left
        if self._closed:  # meanwhile, by another thread
            self.close()

    def _peer_left(self) -> str:
        return "server closed its output"

    def read(self) -> Optional[List[Received]]:
        """Wait for messages, without noise; see `Transport.read`."""
        while True:
            items = super().read()
            if items is None:
                return None
            noise = [item for item in items if isinstance(item, bytes) and not looks_like_json(item)]
            if not noise:
                return items
            self._note_noise(noise)
            messages = [item for item in items if not isinstance(item, bytes) or looks_like_json(item)]
            if messages:
                return messages

    def _note_noise(self, lines: Sequence[bytes]) -> None:
        from ...diagnostics.packagelog import get_logger

        self._noise_lines += len(lines)
        self.noise.extend(line[:_NOISE_BYTES] for line in lines[-_NOISE_LINES:])
        get_logger(__name__).warning("skipped %d line%s on the server's stdout that %s; the first: %r", len(lines),
                                     *(("", "is no message") if len(lines) == 1 else ("s", "are no messages")),
                                     lines[0][:200])
        if self.on_noise is not None:
            for line in lines:
                self.on_noise(line)

    def close(self) -> None:
        """End the child; see `Transport.close`. Frees the threads at once, then returns when the child has ended.

        Takes at most ``limits.shutdown_grace`` plus ``limits.terminate_grace`` (and an instant) for a child that
        does not want to. A second caller waits for the first one.
        """
        self._closed = True
        child = self._child
        if child is None or not child.ours():
            return
        child.stdin.wake.set()
        with self._close_lock:  # re-entrant: a signal handler may call us while we wait
            if self._closing:
                return
            self._closing = True
            try:
                self._unread = child.stdin.unread()
                child.end(self.limits.shutdown_grace, self.limits.terminate_grace)
                child.stderr.settle(SETTLE)
                child.release()
                child.stderr.settle(SETTLE)
            except BaseException:  # Ctrl-C while waiting: what is left can be done by another call, or at exit
                self._closing = False
                raise

    def reason(self) -> str:
        """Return how the child ended, if it has, and its last words. Waits at most a second."""
        child = self._child
        if not self._told and self._why and child is not None:
            fate = child.fate(SETTLE) if child.ours() else ""
            if fate:
                child.stderr.settle(SETTLE)
            self._told = fate + self.last_words() if fate else self._why
        return self._told or super().reason()

    def last_words(self, errors: bool = True) -> str:
        """Return the last noise and, with ``errors``, the last lines on stderr; see `..base.last_words`."""
        noise = self.noise and self.noise[-1].decode("utf-8", "replace").strip()
        words = self._child.stderr.last_words() if errors and self._child else ""
        return ("; last line on stdout, which is no message: %.200r" % noise if noise else "") + (
            "; last stderr lines:%s%s" % ("" if words.startswith("\n") else " ", words) if words else "")

    def was_read(self) -> bool:
        """Return True if something was written and the child has read it, or where the system cannot tell that."""
        return self._wrote and self._unread == 0

    def renew(self) -> "StdioChild":
        """Return a transport that starts the same command again; see `mcp_ref.transports.base.successor`
        [2026-07-28 basic/transports/stdio §Unexpected Termination] SHOULD."""
        fresh = StdioChild(self.command, inherit_env=False, cwd=self._cwd, stderr=self._stderr, limits=self.limits)
        fresh._env, fresh.on_noise, fresh.on_stderr = self._env, self.on_noise, self.on_stderr
        return fresh

    def stderr_tail(self) -> bytes:
        """Return the last ``limits.stderr_tail_bytes`` bytes of the child's stderr; b"" if it is inherited."""
        return self._child.stderr.tail if self._child else b""

    def counters(self) -> Dict[str, int]:
        """Return the counts of `LineTransport.counters` and two more: ``noise``, lines on stdout that were no messages,
        and ``cut``, lines on stderr that were too long."""
        return dict(super().counters(), noise=self._noise_lines, cut=self._child.stderr.cut if self._child else 0)
