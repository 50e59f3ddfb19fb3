"""The processes of `run FILE --http HOST:PORT --workers N`: N workers that serve one port, and their supervisor.

The parent binds the port and never runs FILE: it starts workers, hands them the listening sockets, starts another for
each that dies, and ends them when a signal comes. A worker is this package again, which serves FILE on those sockets.

=============================  =====================================================================================
what happens                   what follows
=============================  =====================================================================================
a worker dies                  another is started in its place, at once; if those in this place keep dying soon, after
                               0.1, 0.2, ... 10 s. The others go on, and take what clients send meanwhile. Where none is
                               left that serves, one is started after 0.1 s, unless the last one did not get that far
a worker dies before any       the parent ends, too, with its exit code: the file is at fault
has served
SIGTERM, or SIGINT (Ctrl-C)    the workers finish running calls, for ``serve_grace`` seconds, then end, and so does
                               the parent, with exit code 0, or 130 after SIGINT. Another one kills them
the parent is killed           the workers see the end of a pipe, and end as after SIGTERM
=============================  =====================================================================================

A client's next request may come to another worker. So sessions are in a file (a temporary one, unless
``--sessions store:PATH`` names it) or there are none, and the keys that sign `requestState` are the same in all
workers: random ones, unless the environment has some. Any worker answers ``--metrics`` for all of them: see `Counts`.
"""

import json
import os
import secrets
import select
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional

from ... import deadline
from ...diagnostics.packagelog import own_process
from ...http11.server.server import listen
from ...server.serving.process import HEARING, KILLED, SAME_SECONDS, child_code
from ..output import DONE, EXPECTED, UsageError, fail, note, replacing, row_of, text_of, trace_to
from . import loading
from .loading import HTTP_ADVICE, host_and_port, listen_http, load, logs_told, open_to_all, set_up_logs

if TYPE_CHECKING:
    from ...server import Server

STATE_KEYS = "MCP_REF_STATE_KEYS"
"""The variable of `mcp_ref.server.mrtr`, a module that workers load when they need it."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0
"""Seconds before another worker is started, if one has died soon."""
STEADY = 5.0
"""Seconds after which the end of a worker counts as the first in its place."""
READY, OPEN_TO_ALL = b"!", b"?"
"""The byte that a worker writes to its pipe when it serves; the second one if other machines can reach it without
credentials. The seconds follow that its running calls have at the end. Only a worker has run the file and knows both;
the parent prints the warning once for all of them."""
GRACE = 60.0
"""Seconds that workers have to end after the time for their running calls."""
_SLICE = 0.5
"""Seconds of one wait: a signal that comes just before a wait begins is seen only when the wait ends."""
_COUNTING = 1.0
"""Seconds between two writings of a worker's counts."""


class Worker:
    """A process that serves, and the pipe to which it writes when it is ready; the pipe ends with the process."""

    def __init__(self, process: "subprocess.Popen[bytes]", pipe: int) -> None:
        self.process = process
        self.pipe = pipe
        self.begun = deadline.clock()
        self.served = False
        self.grace = 0.0


class WorkerSlot:
    """A place for one worker. A worker that dies soon is replaced after a pause, which doubles each time."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.worker: Optional[Worker] = None
        self.due = deadline.clock()
        """The time at which to start a worker, if there is none."""
        self.may_hurry = False
        """True if the last worker has served: then the next one probably will."""
        self._pause = 0.0

    def clear(self, worker: Worker) -> float:
        """Free the place of a worker that has ended; return how many seconds it lived."""
        now = deadline.clock()
        lived = now - worker.begun
        if lived >= STEADY:
            self._pause = 0.0
        self.due, self._pause = now + self._pause, min(LONGEST_PAUSE, self._pause * 2 or FIRST_PAUSE)
        self.worker, self.may_hurry = None, worker.served
        return lived


class Supervisor:
    """Keeps ``count`` workers alive. ``start(number)`` starts the one of a place; ``ready(byte)`` is called when the
    first one serves."""

    def __init__(self, start: Callable[[int], Worker], count: int, ready: Callable[[bytes], Any]) -> None:
        self.workers: List[Worker] = []
        self._start = start
        self._places = [WorkerSlot(number) for number in range(count)]
        self._ready: Optional[Callable[[bytes], Any]] = ready
        self._selector = selectors.DefaultSelector()

    def run(self) -> int:
        """Supervise until a worker dies before any has served; return its exit code. The caller must call `end`."""
        while True:
            wait = _SLICE
            for place in self._places:
                if place.worker is None:
                    left = place.due - deadline.clock()
                    if left <= 0:
                        self._add(place)
                    else:
                        wait = min(wait, left)
            for key, _ in self._selector.select(wait):
                code = self._hear(*key.data)
                if code is not None:
                    return code

    def _add(self, place: WorkerSlot) -> None:
        worker = place.worker = self._start(place.number)
        self.workers.append(worker)
        self._selector.register(worker.pipe, selectors.EVENT_READ, (place, worker))

    def _hear(self, place: WorkerSlot, worker: Worker) -> Optional[int]:
        """Read a worker's pipe: it serves, or has ended. Return an exit code if all are to end."""
        said = os.read(worker.pipe, 64)
        if said:
            worker.served, worker.grace = True, float(said[1:] or 0)
            ready, self._ready = self._ready, None
            if ready is not None:
                ready(said[:1])
            return None
        code = worker.process.wait()
        self._remove(worker)
        if self._ready is not None:
            return code if code > 0 else 1
        lived = place.clear(worker)
        self._leave_none_without()
        pause = place.due - deadline.clock()
        note("worker %d ended %s after %.1f s%s; another one is started %s; %d of %d are left" % (
            worker.process.pid, "by signal %d" % -code if code < 0 else "with exit code %d" % code, lived,
            "" if worker.served else ", before it served", "in %.2g s" % pause if pause > 0 else "at once",
            len(self.workers), len(self._places)))
        return None

    def _leave_none_without(self) -> None:
        """Shorten the pause if no worker is left: a tool that ends its process must not keep all places empty."""
        ready = [place for place in self._places if place.may_hurry]
        if ready and not self.workers:
            first = min(ready, key=lambda place: place.due)
            first.due = min(first.due, deadline.clock() + FIRST_PAUSE)

    def _remove(self, worker: Worker) -> None:
        self._selector.unregister(worker.pipe)
        os.close(worker.pipe)
        self.workers.remove(worker)

    def end(self, grace: float = GRACE) -> None:
        """Send SIGTERM to all workers and wait for them; kill those that take ``grace`` seconds longer than they said.
        """
        end = deadline.Deadline(grace + max((worker.grace for worker in self.workers), default=0.0))
        try:
            for worker in self.workers:
                worker.process.terminate()
            for worker in self.workers:
                while worker.process.poll() is None and not end.expired():
                    try:
                        worker.process.wait(min(_SLICE, end.left() or 0.0))
                    except subprocess.TimeoutExpired:
                        pass
        finally:
            for worker in list(self.workers):
                worker.process.kill()
                worker.process.wait()
                self._remove(worker)
            self._selector.close()


def supervise(options: Any) -> int:
    """Serve as the parent until a signal comes, and return the exit code. ``options``: those of `run`.

    Raises KeyboardInterrupt after a Ctrl-C, when all have ended.
    """
    if os.name != "posix":
        raise UsageError("--workers hands sockets to other processes, which this system cannot; leave it out")
    if not os.path.isfile(options.file):
        raise UsageError("there is no file %s; the command is: run FILE" % options.file)
    host, port = host_and_port(options.http)
    folder: Optional[str] = None
    sessions = options.sessions
    sockets = listen(host, port)
    alive, held = os.pipe()
    try:
        if sessions == "store" or options.metrics:
            folder = tempfile.mkdtemp(prefix="mcp_ref.")
            sessions = "store:" + os.path.join(folder, "sessions.db") if sessions == "store" else sessions
        told = {"file": options.file, "name": options.name, "trace": options.trace, "http": options.http,
                "sessions": sessions, "folder": folder, "fds": [sock.fileno() for sock in sockets], "alive": alive,
                "grace": options.grace, "guard": loading.given_options(options), "logs": logs_told(options)}
        where = "%s:%d" % ("[%s]" % host if ":" in host else host, sockets[0].getsockname()[1])
        address = "%s://%s/mcp" % ("https" if options.tls_cert else "http", where)

        def ready(said: bytes) -> None:
            note("serving on %s with %d workers; Ctrl-C ends it" % (address, options.workers))
            if said == OPEN_TO_ALL:
                note(open_to_all(address) + HTTP_ADVICE)

        supervisor = Supervisor(_starter(told), options.workers, ready)
        _Terminated.came = None
        signal.signal(signal.SIGTERM, _Terminated.hear)
        try:
            try:
                return supervisor.run()
            finally:
                for sock in sockets:
                    sock.close()
                supervisor.end()
        except _Terminated as told_to_end:
            return told_to_end.code
    finally:
        for sock in sockets:
            sock.close()
        os.close(alive)
        os.close(held)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


class _Terminated(BaseException):
    """SIGTERM has come. Raised on the main thread of the parent, which runs only code of this module."""

    came: Optional[float] = None

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code

    @classmethod
    def hear(cls, number: int, frame: Any) -> None:
        """Handle the signal. A second one within SAME_SECONDS counts as the same."""
        now = deadline.clock()
        if cls.came is None:
            cls.came = now
            raise cls(DONE)
        if now - cls.came >= SAME_SECONDS:
            raise cls(KILLED)


def _starter(told: Dict[str, Any]) -> Callable[[int], Worker]:
    """Return a function that starts the worker of a place.

    The code and the settings of a worker are its standard input, which then ends: a list of processes shows its command
    line, which has the words of this one.
    """
    environment = dict(os.environ)
    environment.setdefault(STATE_KEYS, secrets.token_hex(32))
    code = child_code(__name__, "work")

    def start(number: int) -> Worker:
        pipe, end = os.pipe()
        try:
            with tempfile.TemporaryFile() as settings:
                text = "%s\n%s\n" % (code, json.dumps(dict(told, place=number, ready=end)))
                settings.write(text.encode("ascii", "backslashreplace"))
                settings.seek(0)
                process = _popen([sys.executable, "-c", "exec(input())", *sys.argv[1:]], stdin=settings,
                                 env=environment, pass_fds=[*told["fds"], told["alive"], end])
        except BaseException:
            os.close(pipe)
            raise
        finally:
            os.close(end)
        return Worker(process, pipe)

    return start


def _popen(words: List[str], **options: Any) -> "subprocess.Popen[bytes]":
    """Start a process that has to wait with a Ctrl-C, which is for all processes of a terminal, until it knows what to
    do with it; before, Python would end it with a traceback."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return subprocess.Popen(words, **options)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


class Counts:
    """The counts of all workers, which each of them can report: `statistics` is the sum of what each place has counted.

    A worker writes its counts to the file of its place: every second, at its end, and before it reports. It begins with
    those of its predecessors in this place, so that no sum is ever less than one that was reported before; what a
    worker that was killed counted in its last second is lost. Of a worker that has ended, ``connections`` and
    ``inflight`` are not added.
    """

    def __init__(self, server: "Server", folder: str, place: int) -> None:
        self._server, self._folder, self._name = server, folder, "counts-%d.json" % place
        self._lock = threading.Lock()
        self._before = self._read(self._name) if os.path.exists(os.path.join(folder, self._name)) else {}
        self.write()

    def write(self) -> None:
        """Write the counts of this worker."""
        with self._lock:
            counted = _added(self._server.statistics(), self._before)
            text = json.dumps({"pid": os.getpid(), "counted": counted})
            with replacing(os.path.join(self._folder, self._name), 0o600) as file:
                file.write(text.encode("ascii"))

    def _read(self, name: str) -> Dict[str, Any]:
        with open(os.path.join(self._folder, name), "rb") as file:
            found: Dict[str, Any] = json.load(file)
        counted: Dict[str, Any] = found["counted"]
        try:
            os.kill(found["pid"], 0)
        except ProcessLookupError:
            del counted["connections"], counted["inflight"]
        return counted

    def statistics(self) -> Dict[str, Any]:
        """Return what `Server.statistics` returns, for all workers; those of others are at most a second old."""
        self.write()
        total: Dict[str, Any] = {}
        for name in os.listdir(self._folder):
            if name.startswith("counts-"):
                total = _added(total, self._read(name))
        return total


def _added(one: Dict[str, Any], other: Dict[str, Any]) -> Dict[str, Any]:
    """Return the sums of the numbers of two objects, which may be nested; a number that one lacks is 0."""
    total = dict(one)
    for key, value in other.items():
        total[key] = _added(one.get(key, {}), value) if isinstance(value, dict) else one.get(key, 0) + value
    return total


def work() -> None:
    """Serve as a worker: the whole life of its process."""
    own_process()
    told = json.loads(input())
    for fd in (*told["fds"], told["alive"], told["ready"]):
        os.set_inheritable(fd, False)
    code = DONE
    ending: Optional[_Ending] = None
    try:
        ending = _Ending(told["alive"])
        guard = loading.listener_options(told["guard"])
        access = set_up_logs(told["logs"])
        server = load(told["file"], told["name"])
        ending.may_wait()
        counts = _counts(server, guard.pop("metrics", None), told)
        with listen_http(server, told["http"], told["sessions"], trace_to(told["trace"]), access, fds=told["fds"],
                         legacy=False, **guard) as listener:
            grace = server.limits.serve_grace if told["grace"] is None else told["grace"]
            os.write(told["ready"], b"%s%f" % (OPEN_TO_ALL if listener.is_open_to_all else READY, grace))
            while not ending.wait(None if counts is None else _COUNTING):
                if counts is not None:
                    counts.write()
            listener.close(grace)
            if counts is not None:
                counts.write()
    except (KeyboardInterrupt, BrokenPipeError):
        pass  # a signal came; or the parent is gone, and there is no one to report to
    except EXPECTED as error:
        fail(text_of(error))
        code = row_of(error).code
    finally:
        if ending is not None and ending.orphaned and told["folder"] is not None:
            shutil.rmtree(told["folder"], ignore_errors=True)  # the parent cannot do it any more
    sys.exit(code)


def _counts(server: "Server", path: Optional[str], told: Dict[str, Any]) -> Optional[Counts]:
    """Return the counts that ``--metrics`` reports at a path; None without one."""
    if path is None:
        return None
    from ...streamable.server.own_routes import metrics

    counts = Counts(server, told["folder"], told["place"])
    server.http_route("GET", path, metrics(counts), access="here")
    return counts


class _Ending:
    """The end of a worker: on SIGTERM, or when its parent is gone, which closes the pipe ``alive``."""

    def __init__(self, alive: int) -> None:
        self._alive = alive
        self._told = self._waits = False
        self._woken, self._wake = socket.socketpair()
        self._wake.setblocking(False)
        self._listen()
        HEARING.append(self.forget)

    def _listen(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears that, too, and passes it on
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.signal(signal.SIGTERM, self._hear)
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)

    def forget(self) -> None:
        """Remove the signal handlers, in a process that was forked from this one (see `HEARING`)."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _hear(self, number: int, frame: Any) -> None:
        """Handle SIGTERM: before the worker serves, end at once; later, let `wait` return and calls finish."""
        self._told = True
        if not self._waits:
            raise KeyboardInterrupt

    def may_wait(self) -> None:
        """Let a signal only end `wait` from now on, also if the file has set handlers of its own."""
        self._waits = True
        self._listen()

    @property
    def orphaned(self) -> bool:
        """True if the parent is gone."""
        return bool(select.select([self._alive], [], [], 0)[0])

    def wait(self, timeout: Optional[float]) -> bool:
        """Wait until SIGTERM comes or the parent is gone. Return False after ``timeout`` seconds, or a bit sooner."""
        if not self._told:
            ready, _, _ = select.select([self._woken.fileno(), self._alive], [], [], timeout)
            if self._alive in ready:
                return True
            if ready:
                self._woken.recv(4096)
        return self._told
