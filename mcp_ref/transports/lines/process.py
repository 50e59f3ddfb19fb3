"""A child process with pipes to its three streams: its command and environment, its start, its output, its end.

`mcp_ref.transports.lines.child` makes a transport of the process and describes its faults. Nothing here deals with
messages, so a `Process` can outlive a forgotten transport until it is reaped. Where a program is not found, `not_found`
says what to write instead, what it may be a misspelling of, and where it was looked for.

POSIX: a command that is a string is split as a shell does it. Windows (tested as functions, not on a Windows): as
programs there split their command lines, with double quotes alone. A batch file (``.bat``, ``.cmd``) is run by
``cmd.exe``, which reads its arguments as a part of its own language; `command_line` quotes them for it, and refuses
what cannot be quoted.

POSIX: the child leads a session and a process group of its own. Windows (untested): a process group of its own without
a console window; only the process itself can be ended, not what it started.
"""

import atexit
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Union

from ...deadline import Deadline
from ...errors import ConnectFailed
from ...limits import DEFAULT, Limits
from ...options import closest
from .fds import CAN_POLL, FdReader, FdWriter, Wake, above_standard, keep_from_forks, release_to_forks
from .stderr import Stderr, StderrSink

_INTERPRETERS = {".py": "python" if sys.platform == "win32" else "python3", ".js": "node", ".mjs": "node",
                 ".cjs": "node"}
"""Ending of a script -> the program that runs it."""
_BUNDLES = (".mcpb", ".dxt")
_MOST_PATH = 100
"""The characters of a PATH that an error quotes at most, unless its first folder is longer."""
_ALIKE = 0.85
"""The likeness of a program on the PATH that is worth a question: there are thousands, and npx is not npm."""


def not_found(program: str, env: Mapping[str, str], cwd: Optional[str]) -> str:
    """Return why a program cannot be started that is not found, as a path or on the PATH of ``env``."""
    path = os.path.join(cwd or "", program)
    meant = instead(program, cwd)
    if os.path.dirname(program):
        problem = "it is not executable" if os.path.isfile(path) else "there is no such file" + (
            did_you_mean(like_file(path)))
        return "%s%s; looked at %s" % (problem, ": " + meant if meant else "", os.path.abspath(path))
    if meant:
        return "%s is a file %s, not a program: %s" % (program, "in %s" % cwd if cwd else "here", meant)
    search = env.get("PATH", os.defpath)
    close = closest(program, _programs(search), _ALIKE)
    return "not found%s; looked in the child's PATH: %s" % (did_you_mean(close), shortened(search) or "(empty)")


def instead(program: str, cwd: Optional[str]) -> str:
    """Return what to write for a word that is a file in the folder and no program; "" where it is none, or something
    else may be meant."""
    path = os.path.join(cwd or "", program)
    if not os.path.isfile(path):
        return ""
    ending = os.path.splitext(program)[1].lower()
    if ending in _BUNDLES:
        return "unpack the bundle, and write the command that its manifest.json names; or look at it by pack --check"
    if ending in _INTERPRETERS:
        return 'write "%s %s"' % (_INTERPRETERS[ending], "'%s'" % program if " " in program else program)
    if os.path.dirname(program) or not os.access(path, os.X_OK):
        return ""
    return 'write "%s"' % os.path.join(os.curdir, program)


def shortened(search: str) -> str:
    """Return the first folders of a PATH, and how many there are besides."""
    folders = search.split(os.pathsep)
    kept = len(folders)
    while kept > 1 and len(os.pathsep.join(folders[:kept])) > _MOST_PATH:
        kept -= 1
    more = len(folders) - kept
    return os.pathsep.join(folders[:kept]) + (" and %d more" % more if more else "")


def like_file(path: str) -> str:
    """Return the name of the file in the same folder that was probably meant; "" if there is none."""
    return closest(os.path.basename(path), _names(os.path.dirname(path) or os.curdir))


def did_you_mean(close: str) -> str:
    """Return the question for this word; "" for none."""
    return " (did you mean %s?)" % close if close else ""


def _programs(search: str) -> List[str]:
    return [name for folder in search.split(os.pathsep) if os.path.isabs(folder) for name in _names(folder)]


def _names(folder: str) -> List[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


WINDOWS = sys.platform == "win32"
_NEVER_IN_BATCH = "\"%!\r\n\0"
"""The characters that end a quoted argument for ``cmd.exe``, or that it replaces inside one, even if escaped."""
_PLAIN_IN_BATCH = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:\\@+")


# --- Words ------------------------------------------------------------------------------------------------------------

def arguments(command: Union[str, Sequence[str]], windows: bool = WINDOWS) -> List[str]:
    """Return the program and its arguments; a string is split as the system does it, without being given to a shell.

    Raises `ConnectFailed`.
    """
    try:
        words = list(command) if not isinstance(command, str) else (
            split_for_windows(command) if windows else shlex.split(command))
    except ValueError as error:
        raise ConnectFailed("cannot start %r: %s" % (command, error)) from None
    if not words or not words[0]:
        raise ConnectFailed("cannot start a server: the command is empty")
    return words


def split_for_windows(text: str) -> List[str]:
    """Split a command line as the C library of Windows does it; `subprocess.list2cmdline` is the other direction.

    Blanks separate words, unless they stand between double quotes, which may begin and end inside a word. A backslash
    means something before a quote alone: two are one then, and one that is left makes the quote a character. Two
    quotes inside a quotation are one character. Raises ValueError for a quotation that does not end.
    """
    words: List[str] = []
    word, quoted, begun, backslashes = "", False, False, 0
    at = 0
    while at < len(text):
        sign = text[at]
        at += 1
        if sign == "\\":
            backslashes += 1
            continue
        if sign == '"':
            word += "\\" * (backslashes // 2)
            literal = backslashes % 2 == 1
            backslashes = 0
            begun = True
            if literal:
                word += '"'
            elif quoted and text[at:at + 1] == '"':
                word += '"'
                at += 1
            else:
                quoted = not quoted
            continue
        word += "\\" * backslashes
        begun = begun or backslashes > 0
        backslashes = 0
        if sign in " \t\r\n" and not quoted:
            if begun:
                words.append(word)
            word, begun = "", False
        else:
            word += sign
            begun = True
    if quoted:
        raise ValueError("No closing quotation")
    if begun or backslashes:
        words.append(word + "\\" * backslashes)
    return words


def command_line(words: Sequence[str], windows: bool = WINDOWS) -> Union[str, List[str]]:
    """Return the argument of `subprocess.Popen` that starts these words, the first of which is the path of a program.

    A list, except for a batch file on Windows. Python's `subprocess` quotes arguments for programs, and ``cmd.exe``
    would run what stands after an ``&`` in one. Raises `ConnectFailed` for an argument that cannot be quoted.
    """
    if not windows or not words[0].rstrip(". ").lower().endswith((".bat", ".cmd")):
        return list(words)
    return " ".join(_quoted_for_batch(word) for word in words)


def _quoted_for_batch(word: str) -> str:
    if word and _PLAIN_IN_BATCH.issuperset(word):
        return word
    if any(sign in word for sign in _NEVER_IN_BATCH):
        raise ConnectFailed(
            "cannot start a batch file with %s in an argument, for cmd.exe would read it as a command: name the program"
            " that the batch file starts (node, python), or pass the value in the environment, by env={...}"
            % " or ".join(repr(sign) for sign in _NEVER_IN_BATCH if sign in word))
    backslashes = len(word) - len(word.rstrip("\\"))
    return '"%s%s"' % (word, "\\" * backslashes)  # the program behind the batch file reads them as `split_for_windows`


# --- The program ------------------------------------------------------------------------------------------------------

def find_program(program: str, env: Mapping[str, str], cwd: Optional[str]) -> str:
    """Return the path of a program as the child would find it.

    Raises `ConnectFailed` that says where it was looked for, or what to write instead.
    """
    if os.path.dirname(program):
        found = shutil.which(os.path.join(cwd or "", program))
    else:
        found = shutil.which(program, path=env.get("PATH", os.defpath))
    if found is None:

        raise ConnectFailed("cannot start %r: %s" % (program, not_found(program, env, cwd)))
    return os.path.abspath(found)


# --- The environment --------------------------------------------------------------------------------------------------

_PASSED_ON = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LANGUAGE", "TMPDIR", "TZ")
_PASSED_ON_WINDOWS = (
    "APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE", "SYSTEMDRIVE",
    "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE", "TZ")
_OWN_PREFIX = "MCP_REF_"
"""The variables of this package, such as the keys that sign request states. A child gets them only by ``env``."""


def child_environment(
    env: Optional[Mapping[str, str]], inherit: Optional[bool], ours: Optional[Mapping[str, str]] = None,
    windows: bool = WINDOWS,
) -> Dict[str, str]:
    """Return the environment of a child: the variables that it inherits, with the entries of ``env`` added or replaced.

    ``inherit`` None: a short list, for a process usually has secrets in its environment that no server needs. It is
    that of the official SDKs, and beside it the language (``LANG``, ``LC_*``), ``TZ`` and ``TMPDIR``. True: all of ours
    but ``MCP_REF_*``. False: nothing. ``ours``: our environment.
    """
    ours = os.environ if ours is None else ours
    if inherit is None:
        found = {name: value for name, value in ours.items() if not value.startswith("()") and (  # a shell's function
            name.upper() in _PASSED_ON_WINDOWS if windows else name in _PASSED_ON or name.startswith("LC_"))}
    elif inherit:
        found = {name: value for name, value in ours.items() if not name.upper().startswith(_OWN_PREFIX)}
    else:
        found = {name: value for name, value in ours.items() if windows and name.upper() == "SYSTEMROOT"}
        # nothing starts without it
    found.update(env or {})
    return found


SETTLE = 0.5
"""The seconds that the end of a stream and the end of the process may lie apart, where both matter."""
_QUIET_MILLISECONDS = 50
"""The silence on a pipe of an ended process after which none of its output can be on its way."""
_LOOK_AFTER = 64
"""The reads of a busy pipe between two looks at whether the process still runs."""
_DRAIN_MILLISECONDS = 50
_KILL_WAIT = 5.0
"""The seconds that the system has to end a process after SIGKILL."""


# --- Noticing its end -------------------------------------------------------------------------------------------------

def watch_end(process: "subprocess.Popen[bytes]") -> int:
    """Return a descriptor that polls as readable once the process has ended; -1 where there is none.

    Linux has one for each process. Elsewhere, and before Python 3.9, a thread waits for the process and writes to a
    pipe. Without either (no descriptors or threads are left) only the ends of the streams tell.
    """
    if not CAN_POLL:
        return -1
    if hasattr(os, "pidfd_open"):
        try:
            return above_standard(os.pidfd_open(process.pid))
        except OSError:
            pass  # an old kernel, a sandbox, no descriptors left
    try:
        reading, writing = map(above_standard, os.pipe())
    except OSError:
        return -1
    keep_from_forks(writing)
    name = "mcp-ref:child:%d" % process.pid
    try:
        threading.Thread(target=_tell_end, args=(process, writing), name=name, daemon=True).start()
    except RuntimeError:
        release_to_forks(writing)
        os.close(writing)
        os.close(reading)
        return -1
    return reading


def _tell_end(process: "subprocess.Popen[bytes]", writing: int) -> None:
    """Wait for the process, and write to this descriptor, which is closed then."""
    try:
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # the thread that wants its exit code reaps it
        else:
            process.wait()
    except OSError:
        pass  # it was reaped already
    release_to_forks(writing)
    try:
        os.write(writing, b"!")
    except OSError:
        pass  # the reader is gone
    os.close(writing)


class _Over(Exception):
    """The sign that the process has ended, and that nothing more comes on its pipe."""


class ChildReader(FdReader):
    """A reader of a pipe of a child, to its end, or until shortly after the end of the child.

    Another process that the child has started may hold the pipe open, and then the end of the stream never comes. What
    the child has written is in the pipe when it ends. So from then on a short silence counts as the end, and so does
    the time SETTLE if the other process goes on writing.

    ``ended``: a descriptor of `watch_end`, which belongs to the reader; -1 for none.
    """

    def __init__(self, number: int, wake: Wake, ended: int) -> None:
        super().__init__(number, wake)
        self._ended = ended
        self._until: Optional[Deadline] = None
        self._reads = 0
        if ended >= 0:
            self._poll = select.poll()
            self._poll.register(number, self._events)
            self._poll.register(wake.hold(), select.POLLIN)
            wake.release()  # the base class keeps it open as long as this reader is
            self._poll.register(ended, select.POLLIN)
            self._wait = self._wait_or_end

    def _wait_or_end(self) -> None:
        """Wait for bytes, for the wake or for the end of the process. Raises `_Over`."""
        if self._until is None:
            for number, _ in self._poll.poll():
                if number == self._ended:
                    self._poll.unregister(number)
                    self._until = Deadline(SETTLE)
        elif not self._poll.poll(_QUIET_MILLISECONDS):
            raise _Over

    def read(self) -> bytes:
        """Wait for bytes and return them, b"" at the end; see `FdReader.read`."""
        self._reads += 1
        if self._until is not None:
            if self._until.expired():
                return b""
        elif self._reads % _LOOK_AFTER == 0:
            self._eager = False
        try:
            return super().read()
        except _Over:
            return b""

    def _really_close(self) -> None:
        super()._really_close()
        if self._ended >= 0:
            os.close(self._ended)


# --- The process ------------------------------------------------------------------------------------------------------

class Process:
    """The child, and the way it is ended. It outlives a forgotten transport until it is reaped."""

    def __init__(self, process: "subprocess.Popen[bytes]", stdin: FdWriter, stdout: FdReader,
                 stderr: Stderr) -> None:
        self.process = process
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self._owner = os.getpid()
        self.on_process: Optional[Callable[..., None]] = None
        """A function that is called with ``"stdin-closed"``, ``"signal"`` and its name, ``"exit"`` and the code."""
        _LIVE.add(self)

    def _tell(self, did: str, what: Any = None) -> None:
        if self.on_process is not None:
            self.on_process(did, what)

    def ours(self) -> bool:
        """Return False in a forked copy of this process: the child is not its child."""
        return self._owner == os.getpid()

    def release(self) -> None:
        """Free every thread that waits, and close our ends, the child's stdin above all. Waits for nothing."""
        self.stdin.wake.set()
        self.stdin.close()
        self.stdout.close()
        self.stderr.close()

    def wait(self, seconds: float) -> bool:
        """Return True if it has ended, after at most that time."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        if self in _LIVE:
            _LIVE.discard(self)
            self._tell("exit", self.process.returncode)
        return True

    def leave(self, seconds: float) -> bool:
        """Wait for its end while throwing away its output. Return True if it has ended."""
        deadline = Deadline(seconds)
        while CAN_POLL and not deadline.expired():
            if self.stdout.drain(_DRAIN_MILLISECONDS):
                break
            if self.wait(0):  # another process, a child of the child perhaps, keeps its stdout open
                return True
        return self.wait(deadline.left() or 0)

    def signal(self, name: str) -> None:
        """Send SIGTERM or SIGKILL to its whole group. On Windows end the process, whatever the name."""
        try:
            if WINDOWS:
                self.process.terminate()
            elif self.process.returncode is None:  # until it is reaped, its number belongs to it
                os.killpg(self.process.pid, getattr(signal, name))
                self._tell("signal", name[3:])
        except (ProcessLookupError, PermissionError):
            pass  # ended meanwhile

    def end(self, grace: float, terminate_grace: float) -> None:
        """End it [..2025-11-25 basic/lifecycle §Shutdown > stdio] SHOULD: close stdin, wait, SIGTERM, wait, SIGKILL."""
        self.stdin.close()
        if self.process.returncode is None:  # else another thread has seen it end by itself, and may not yet have told
            self._tell("stdin-closed")
        if self.leave(grace):
            return
        self.signal("SIGTERM")
        if self.leave(terminate_grace):
            return
        self.signal("SIGKILL")
        self.leave(_KILL_WAIT)

    def fate(self, seconds: float) -> str:
        """Return the text that says how it ended; "" if it still runs after that time."""
        if not self.wait(seconds):
            return ""
        code = self.process.returncode
        if code >= 0:
            return "server exited with code %d" % code
        try:
            return "server was killed by %s" % signal.Signals(-code).name
        except ValueError:
            return "server was killed by signal %d" % -code


_LIVE: Set[Process] = set()
"""The children that have not been reaped."""


def sweep() -> None:
    """Reap the children of forgotten transports that have ended."""
    for child in list(_LIVE):
        if child.ours():
            child.wait(0)


@atexit.register
def _end_all() -> None:
    """End the children that are left, all at the same time. Starts no thread and takes no lock that user code may hold.
    """
    children = [child for child in list(_LIVE) if child.ours()]
    for child in children:
        child.release()
    for name, seconds in (("", DEFAULT.shutdown_grace), ("SIGTERM", DEFAULT.terminate_grace), ("SIGKILL", _KILL_WAIT)):
        deadline = Deadline(seconds)
        for child in children:
            if name:
                child.signal(name)
        children = [child for child in children if not child.wait(deadline.left() or 0)]


# --- Starting it ------------------------------------------------------------------------------------------------------

def spawn(
    words: List[str], env: Dict[str, str], cwd: Optional[str], stderr: StderrSink, limits: Limits,
    on_line: Optional[Callable[[str], Any]] = None, on_process: Optional[Callable[[str, Any], Any]] = None,
) -> Process:
    """Start the process and connect to it. ``on_line``: see `Stderr`. ``on_process``: see `Process`; it is called with
    ``"start"`` and the words before anything is read of the process.

    Raises `ConnectFailed`; then nothing is left open.
    """
    line = command_line(words)
    theirs: List[int] = []
    ours: List[int] = []
    wakes: List[Wake] = []
    try:
        wakes += [Wake(), Wake()]  # first, so that nothing can fail once the process runs
        for read_end_is_theirs in (True, False) if stderr == "inherit" else (True, False, False):
            reading, writing = map(above_standard, os.pipe())
            theirs.append(reading if read_end_is_theirs else writing)
            ours.append(writing if read_end_is_theirs else reading)
        process = _popen(line, env, cwd, theirs)
    except (OSError, ValueError) as error:  # ValueError: a NUL in a word
        for number in ours:
            os.close(number)
        for wake in wakes:
            wake.hold()
            wake.release()
        gone = cwd is not None and not os.path.isdir(cwd)
        why = "the folder %s does not exist" % cwd if gone else str(error)
        raise ConnectFailed("cannot start %r: %s" % (words[0], why)) from error
    finally:
        for number in theirs:
            os.close(number)
    if CAN_POLL:
        for number in ours:
            os.set_blocking(number, False)  # these open files are ours alone
    ended = watch_end(process)
    writer, reader = FdWriter(ours[0], wakes[0], CAN_POLL), ChildReader(ours[1], wakes[0], ended)
    child = Process(process, writer, reader, Stderr(stderr, limits, on_line))
    child.on_process = on_process
    wakes[1].hold()
    try:
        if on_process is not None:
            on_process("start", words)
        if len(ours) > 2:
            child.stderr.start(ChildReader(ours[2], wakes[1], _copy_of(ended)))
    except RuntimeError as error:  # no more threads
        child.release()
        child.signal("SIGKILL")
        child.wait(_KILL_WAIT)
        raise ConnectFailed("cannot start %r: %s" % (words[0], error)) from error
    finally:
        wakes[1].release()
    return child


def _copy_of(number: int) -> int:
    """Return another descriptor for the same process; -1 if there is none, or none is left."""
    try:
        return above_standard(os.dup(number)) if number >= 0 else -1
    except OSError:
        return -1


def _popen(
    line: Union[str, List[str]], env: Dict[str, str], cwd: Optional[str], streams: List[int]
) -> "subprocess.Popen[bytes]":
    options: Dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        options = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    return subprocess.Popen(line, stdin=streams[0], stdout=streams[1], stderr=streams[2] if len(streams) > 2 else None,
                            env=env, cwd=cwd, bufsize=0, close_fds=True, **options)
