"""The threads of this package: how they start, which there are, and the pool that most of them belong to.

Python in a web page (Pyodide) has no threads. There the package does what it can on the thread that calls:

=========================================  ==================================================================
`Server.handle`, `Server.wsgi`             handlers run on the calling thread, and the reply is whole
`connect(server)`, the memory transport    a write at one end has the other end read at once
a question to the client that waits        refused; in 2026-07-28, where a handler that asks does not wait, asked
anything else                              `NoThreads` at the call
=========================================  ==================================================================

All threads of the package, by the second part of their names (``mcp-ref:reader:stdio``). All are daemons. A test
compares the names with the code.

==============  ===========================================  =======================================================
thread          what it does                                 blocks on; freed by
==============  ===========================================  =======================================================
``again``       sends a request of a future again            the server; its answer, close
``asking``      a callback about authorization               the callback; no thread has to wait for it
``authorize``   one grant for all threads that need a token  authorization servers; time, or no thread waiting
``bridge``      ends a session with a bridge; tells it     the servers behind; their grace
``callbacks``   calls `add_done_callback` of futures         the callback
``child``       waits for the end of a child process         the child
``connection``  one HTTP connection: requests, handlers      the client, the handler; a silence, close
``ending``      ends a server in order after SIGTERM         handlers; their grace
``examiner``    reads what an examined server writes         `Transport.read`; a message, the end, close
``exit``        ends a process that a stuck handler keeps    time
``expiry``      deletes tasks of a client that have expired  half a second; no such task being left, close
``extension``   an extension's work on an answer             the extension
``host``        a host's servers side by side; one was lost  the server; time
``inspect``     opens a connection that a page wants        the server, the person; their answer, the end
``keepalive``   pings the peer                               the interval, the answer; close
``leases``      renews leases of tasks, ends expired ones    half a second; no task that runs or is waited for
``left-out``    logs how many records were left out          time
``letters``     messages of other processes in a store       the store; no request being there any more
``listen``      opens a stream of changes again              a pause, the server; close
``listener``    accepts connections on a socket              the selector; close
``probe``       finds out whether threads can be started     nothing
``reader``      reads messages of one connection             `Transport.read`; a message, the end, close
``recorder``    records what a shim or a proxy has seen      the trace's file; something seen, close
``relay``       one connection through a recording proxy     both sockets; bytes, the end of either, close
``pause``       waits for a recorded pause, then answers      the pause, or the end of the replay
``replay``      asks a server what a recording has asked     the server; its answer, a silence, close
``request``     an HTTP request of a client                  the server; close, the end of its request
``roots``       looks whether roots have changed             the interval; the end of the last client
``selector``    the idle sockets of an HTTP server           the selector; anything on a socket, close
``selfcheck``   runs one check of the command `selfcheck`    the check; its end
``shim``        a stream of a recorded server, or its end    its pipe, its reader; bytes, the end of either
``signals``     hears SIGTERM                                a pipe; the signal, the end of serving
``stderr``      output of a child; the log of a server       the child's pipe; standard error
``task``        runs the handlers of tasks                   the handler; no task that is queued
``tick``        once a second: idle sessions, old tasks      time; close
``timer``       deadlines of futures                         time; close
``watchdog``    sees that the main thread is not pumped      time; the queue's end
``watcher``     sees that handlers keep a thread             a millisecond; no work
``worker``      runs handlers that have no other thread      the handler, its alarm; work, close
``writer``      writes what waits in an outbox               the peer, its alarm; messages, close
==============  ===========================================  =======================================================

A pool of threads has a bound, and a handler that waits for its peer keeps its thread. If such threads counted, as many
open questions as the bound would stop everything, and the answers to these questions with it. So a thread waits for a
peer inside a `Wait`. If the thread belongs to a `WorkerPool`, the pool lets another thread work meanwhile, as the
``ManagedBlocker`` of Java's ``ForkJoinPool`` does. Other limits bound those waits: ``max_waiting`` in the whole
process, ``max_questions`` for each client (`Tally`).
"""

from __future__ import annotations  # unread, they cost nothing as the module is loaded

import os
import sys
import threading
from collections import deque
from types import TracebackType
from typing import Any, Callable, Deque, Dict, Hashable, List, Optional, Sequence, Set, Type

from .errors import NoThreads

_INSTEAD = ("no thread can be started here (in a web page there are no sockets and no processes either): use"
            " server.handle(...) or server.wsgi() for HTTP requests that come another way, and connect(server) for a"
            " server in this process")
_started = False
"""True once a thread could be started. Later failures mean that the system has none left."""

copies = 0
"""The number of forks between the process that has loaded this module and this one. Where it is another one after a
handler than before, the handler has forked and come back in the copy, too: `end_copy`."""


def _count_copy() -> None:
    global copies
    copies += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_copy)


def end_copy() -> None:
    """End this process, a copy that was forked in a handler: the original answers the request, and of the threads of
    the original this one alone is here."""
    os._exit(0)


def available() -> bool:
    """Return True if threads can be started here. The first call starts one that does nothing, to find out."""
    global _started
    if not _started:
        probe = threading.Thread(target=_nothing, name="mcp-ref:probe", daemon=True)
        try:
            probe.start()
        except RuntimeError:
            return False
        probe.join()
        _started = True
    return True


def need(what: str) -> None:
    """Raise `NoThreads` where no threads can be started. ``what``: the feature that needs them, for its text."""
    if not available():
        raise NoThreads("%s needs threads, and %s" % (what, _INSTEAD))


def start_thread(name: str, function: Callable[..., Any], *arguments: Any) -> threading.Thread:
    """Start a named daemon thread. A daemon, because no thread of ours may keep a process alive.

    Raises `NoThreads` where there are none, RuntimeError where none is left or the interpreter ends.
    """
    global _started
    thread = threading.Thread(target=function, args=arguments, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        need(name)
        raise
    _started = True
    return thread


def start_or_call(name: str, function: Callable[..., Any], *arguments: Any) -> None:
    """Call a function on a thread of its own; on this thread where none can be started."""
    if available():
        start_thread(name, function, *arguments)
    else:
        function(*arguments)


def _nothing() -> None:
    pass


# --- Threads that wait for a peer -------------------------------------------------------------------------------------

class _Current(threading.local):
    """The pool of the current thread."""

    pool: "Optional[WorkerPool]" = None
    """The pool in which it keeps a place; None outside of pools and while it waits for a peer."""


_current = _Current()
_waiting_lock = threading.Lock()
_waiting_count = 0


def count_waiting() -> int:
    """Return how many threads of pools wait for a peer in this process."""
    return _waiting_count


class Wait:
    """The context of a wait for a peer. The wait must be bounded elsewhere. Waits inside waits count once.

    Where ``most`` threads wait already, this one keeps its place in the pool.
    """

    __slots__ = ("_most", "_pool")

    def __init__(self, most: int) -> None:
        self._most = most
        self._pool: "Optional[WorkerPool]" = None

    def __enter__(self) -> None:
        global _waiting_count
        pool = _current.pool
        if pool is None:
            return
        with _waiting_lock:
            if _waiting_count >= self._most:
                return
            _waiting_count += 1
        _current.pool, self._pool = None, pool
        pool.wait_begins()

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        global _waiting_count
        pool = self._pool
        if pool is None:
            return
        _current.pool = pool
        pool.wait_ends()
        with _waiting_lock:
            _waiting_count -= 1


class Tally:
    """A count for each key, at most ``most`` of each; ``name`` is the name of the limit. Thread-safe."""

    def __init__(self, name: str, most: int) -> None:
        self.name = name
        self.most = most
        self._lock = threading.Lock()
        self._counts: Dict[Hashable, int] = {}

    def enter(self, key: Hashable) -> bool:
        """Count one more of this key. Return False if the limit is reached; then nothing is counted."""
        with self._lock:
            found = self._counts.get(key, 0)
            if found >= self.most:
                return False
            self._counts[key] = found + 1
        return True

    def leave(self, key: Hashable) -> None:
        """Take back an `enter` that returned True."""
        with self._lock:
            found = self._counts[key] - 1
            if found:
                self._counts[key] = found
            else:
                del self._counts[key]

    def __getitem__(self, key: Hashable) -> int:
        with self._lock:
            return self._counts.get(key, 0)

    def __len__(self) -> int:
        """Return how many keys have a count above 0."""
        with self._lock:
            return len(self._counts)


# --- The pool ---------------------------------------------------------------------------------------------------------

IDLE = 10.0
"""The seconds without work after which a worker ends; an idle pool costs no thread."""
GROWTH = 4
"""A look without progress wakes this many times as many workers as the look before."""


class _Worker:
    """The alarm clock of a worker: a lock that another thread releases to wake it."""

    __slots__ = ("alarm", "wanted")

    def __init__(self) -> None:
        self.alarm = threading.Lock()
        self.alarm.acquire()
        self.wanted = False


class WorkerPool:
    """Threads that take jobs from one queue. One of them is awake, and more only if jobs block.

    Threads that hand each other the interpreter lock cost more than the work that they share. So `put` wakes a worker
    only if none is awake. The watcher of the pool calls `promote` while jobs wait and none has *finished*: 1, 4, 16
    ... more workers wake up then. Finished jobs count and not started ones, which would look like progress.

    ===========================================  =================  =========================================
    subclass                                     its jobs           what wakes more workers
    ===========================================  =================  =========================================
    `mcp_ref.peer.executors.Workers`             handlers           a watcher thread
    `mcp_ref.http11.server.parking.Errands`      callbacks, logs    each job at once
    `mcp_ref.http11.client.connection_pool.RequestPool` blocking requests  each job at once, up to a number of jobs
    ===========================================  =================  =========================================

    A worker waits for its job, for its peer inside a `Wait`, or for its alarm. It ends when it had nothing to do for
    IDLE seconds, or after `_close`.

    ``thread_name``: the name of all its threads. ``most``: how many threads there are, not counting those that wait for
    a peer.
    """

    elastic = True
    """True if a thread of this pool gives its place to another one during a `Wait`."""

    def __init__(self, thread_name: str, most: int) -> None:
        self._thread_name = thread_name
        self._most = most
        # The lock guards all that follows, but for `_jobs` and `_finished`, which workers touch without it: a deque is
        # thread-safe, and `_finished` is only asked whether it has changed.
        self._lock = threading.Lock()
        self._jobs: Deque[Any] = deque()
        self._next: Callable[[], Any] = self._jobs.popleft
        """The function that takes the next job. Raises IndexError if there is none; a subclass may set another one."""
        self._idle: List[_Worker] = []
        self._threads: Set[threading.Thread] = set()
        self._awake = 0
        self._waiting = 0
        """The number of workers that wait for a peer; they are among the threads, and not awake."""
        self._finished = 0
        self._closed = False

    # What subclasses replace

    def _queued(self) -> int:
        """Return how many jobs no worker has taken."""
        return len(self._jobs)

    _run: Callable[[Any], object]
    """The function that does a job, of each subclass. Must not raise."""

    def _must_start(self) -> bool:
        """Return True if a thread that cannot be started is an error; otherwise a later look tries again."""
        return not self._threads

    def _idle_left(self) -> float:
        """Return the seconds that a worker which has slept long enough is to sleep on; called with the lock held."""
        return 0.0

    def _ended(self, last: bool) -> None:
        """Note that an idle worker ended, the ``last`` idle one or not; called on its thread, without the lock."""

    # From any thread

    def put(self, jobs: Sequence[Any]) -> bool:
        """Have these jobs run, in this order where one thread runs them. Return False after `_close`. Never waits."""
        with self._lock:
            if self._closed:
                return False
            self._jobs.extend(jobs)
            if not self._awake:
                self._awaken(1)
        return True

    def promote(self, count: int) -> None:
        """Wake so many more workers, but not more than jobs are queued."""
        with self._lock:
            self._awaken(min(count, self._queued()))

    def counts(self) -> "tuple[int, int, int]":
        """Return the numbers of threads, of awake ones, and of queued jobs; for tests and diagnostics."""
        with self._lock:
            return len(self._threads), self._awake, self._queued()

    def wait_begins(self) -> None:
        """Give up the place of the calling thread, which is one of this pool's, until `wait_ends`. Never blocks."""
        with self._lock:
            self._awake -= 1
            self._waiting += 1
            # The answer that it waits for may be among the jobs. With others awake `promote` sees to that.
            if not self._awake and self._queued():
                self._awaken(1)

    def wait_ends(self) -> None:
        """Let the calling thread work again, at once, however many others do. Never blocks."""
        with self._lock:
            self._awake += 1
            self._waiting -= 1

    # With the lock held

    def _awaken(self, count: int) -> None:
        """Wake idle workers, those first that came last, and start new ones."""
        for _ in range(count):
            if self._idle:
                worker = self._idle.pop()
                worker.wanted = True
                worker.alarm.release()
            elif len(self._threads) - self._waiting < self._most:
                try:
                    thread = start_thread(self._thread_name, self._work, _Worker())
                except RuntimeError:  # the system has no thread left, or the interpreter ends
                    if self._must_start():
                        raise
                    return
                self._threads.add(thread)
            else:
                return
            self._awake += 1

    def _close(self) -> None:
        """Take no more jobs, and wake the idle workers, each of which finds nothing to do and ends."""
        self._closed = True
        self._awaken(len(self._idle))

    # On the workers

    def _work(self, worker: _Worker) -> None:
        if self.elastic:
            _current.pool = self
        while True:
            try:
                job = self._next()
            except IndexError:
                job = None
            if job is None:
                if not self._park(worker):
                    return
                continue
            before = copies
            self._run(job)
            if copies != before:
                end_copy()
            del job  # it holds a request, its body, the answers of a batch
            self._finished += 1

    def _park(self, worker: _Worker) -> bool:
        """Sleep until there is work. Return False if the calling thread is to end."""
        with self._lock:
            # Under the lock, and after `_next` found nothing: a job that was put meanwhile found this worker awake, so
            # it woke none.
            if self._queued():
                return True
            self._awake -= 1
            # Those that worked in place of threads that waited are too many when these work again.
            if self._closed or len(self._threads) - self._waiting > self._most:
                self._threads.discard(threading.current_thread())
                return False
            worker.wanted = False
            self._idle.append(worker)
        seconds = self._idle_seconds()
        while not worker.alarm.acquire(timeout=seconds):
            with self._lock:
                if worker.wanted:  # the alarm is about to ring, or has rung
                    seconds = -1.0
                    continue
                seconds = self._idle_left()
                if seconds > 0.0:
                    continue
                self._idle.remove(worker)
                self._threads.discard(threading.current_thread())
                last = not self._idle
            self._ended(last)
            return False
        return True

    def _idle_seconds(self) -> float:
        """Return how long a worker sleeps before it ends."""
        return IDLE


def attempt(job: Callable[[], None]) -> None:
    """Run a job. If it raises after all (the application's log handler may), report that; the thread goes on."""
    try:
        job()
    except BaseException:
        threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))


# --- Jobs that a thread hands to others -------------------------------------------------------------------------------

class _Helpers(threading.local):
    """The threads that help the current one."""

    run: "Optional[Callable[[Sequence[Callable[[], None]]], None]]" = None
    """A function that hands jobs to the workers of the server that this thread works for; None: there are none."""


helpers = _Helpers()


def spread(jobs: Sequence[Callable[[], None]]) -> bool:
    """Hand jobs that may block to the workers of the server that this thread works for. Return False without one."""
    if helpers.run is None:
        return False
    helpers.run(jobs)
    return True
