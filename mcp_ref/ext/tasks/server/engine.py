"""`Tasks`: creation, running, answers, cancellation and expiry of tasks, whichever generation of them is on the wire.

    create -> working -> (run ends with an answer) completed, failed
              working <-> input_required (run ends with questions; the last answer begins another run)
              tasks/cancel -> cancelled;   ttl -> deleted;   lease lost -> failed

A thread runs one task at a time, up to ``max_running_tasks``; more are queued, without a thread. One thread more, while
there is something to watch, renews leases, looks for tasks of processes that have died, and for those that have
expired. While there is nothing to watch, the thread does so that an HTTP listener has for such things, from time to
time; elsewhere the next request about tasks.
"""

import secrets
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional

from ....diagnostics.packagelog import get_logger, log_raised
from ....errors import INTERNAL_ERROR, INVALID_PARAMS, LocalProtocolError, McpError, RpcError
from ....jsontext import dumps
from ....options import strict_options
from ....peer.context import Context, Route
from ....peer.executors import Job
from ....protocol.extensions import CANCELLED, COMPLETED, FAILED, INPUT_REQUIRED, WORKING
from ....revisions import Revision
from ....server.mrtr import wrap
from ....stores import MemoryTasks, TaskRecord, TaskRoom, TaskStore
from ....threads import available, start_or_call, start_thread
from .running import Outcome, TaskRun, memory_of, request_of

if TYPE_CHECKING:
    from ....peer.dispatcher import Connection
    from ....server.registry.visibility import Visible
    from ....server.server import Server

LEASE = 30.0
"""Seconds for which a process holds a task that it does not renew; it renews after a third of that."""
TICK = 0.5
"""Seconds between two looks at what other processes do, and at what has expired."""
SWEEP = 5.0
IDLE_SWEEP = 30.0
"""Seconds between two sweeps at least; the second one holds while nobody asks about tasks, and none runs."""
LIMIT = "max_task_requests_per_second"
_SHOWN = 8
"""The characters of an id that the log has: who knows an id may have the task."""


@contextmanager
def _storing() -> Iterator[None]:
    """Have what a store raises refuse the request by an error of its own: it is no fault of a tool or a handler."""
    try:
        yield
    except RpcError:
        raise
    except Exception as error:
        log_raised("the store of tasks", error)
        raise RpcError(INTERNAL_ERROR, "The store of tasks has failed; try again later") from None


class Tasks:
    """The tasks of one server: ``Server("jobs", tasks=Tasks(store=SqliteStore("jobs.db")))``.

    ``store``: where they are kept (default: in memory, so that they end with the process). ``ttl``: seconds for which a
    task is kept from its creation, where its client does not ask for another time (None: without end); one that still
    runs then is cancelled, so it has to be longer than the work and the user's answers take. A client may ask
    for up to ``max_task_ttl``. ``poll``: seconds that clients are told to wait between two looks. Raises ValueError for
    times that are not above 0. Everything else is in `mcp_ref.ext.tasks.server`.
    """

    @strict_options
    def __init__(self, store: Optional[TaskStore] = None, *, ttl: Optional[float] = 3600.0, poll: float = 2.0) -> None:
        for name, value in (("ttl", ttl), ("poll", poll)):
            if value is None and name == "ttl":
                continue
            if value is None or isinstance(value, bool) or not isinstance(value, (int, float)):
                raise TypeError("%s of Tasks is a number of seconds, got %.80r" % (name, value))
            if not 0 < value < float("inf"):
                raise ValueError("%s of Tasks is a number of seconds above 0, got %r" % (name, value))
        if store is not None and not isinstance(store, TaskStore):
            raise TypeError('the store of Tasks is a TaskStore, such as SqliteStore("jobs.db"), got %.80r' % (store,))
        self.store = MemoryTasks() if store is None else store
        self.ttl, self.poll = ttl, poll
        self._server: "Optional[Server]" = None
        self._routes: Dict[Revision, Route] = {}
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._runs: Dict[str, TaskRun] = {}
        """The tasks of this process that run or are queued."""
        self._queue: Dict[str, TaskRun] = {}
        """The runs that have not begun, by the id of their task, in their order."""
        self._running = 0
        self._watching = False
        self._swept = 0.0

    def bind(self, server: "Server") -> None:
        """Note whose tasks these are. Raises ValueError if they are another server's."""
        from .generations import SessionTasks, TasksExtension

        if self._server is not None:
            raise ValueError("these Tasks belong to a server already: make Tasks for each; they may share a store")
        self._server = server
        self.sessions = SessionTasks(self)
        self.extension = TasksExtension(self)

    @property
    def server(self) -> "Server":
        """The server; raises `LocalProtocolError` before it is known."""
        if self._server is None:
            raise LocalProtocolError("these Tasks belong to no server: pass them, Server(..., tasks=Tasks())")
        return self._server

    def route(self, revision: Revision) -> Route:
        """Return how a call is answered within a task."""
        found = self._routes.get(revision)
        if found is None:
            made = self.server.tools.call_route(revision)
            found = self._routes[revision] = wrap(made, "tools/call", revision) if revision.stateless else made
        return found

    def support_of(self, name: Any, context: Context) -> Any:
        """Return the option ``task`` of a tool by the name that a client sent; None if it sees no such tool."""
        tool = self.server.tools.listing.find(name, context) if isinstance(name, str) else None
        return None if tool is None else tool.task

    def seen_by(self, record: TaskRecord) -> "Optional[List[Visible]]":
        """Return the function that says who sees the tool of a task, in a list; None if everybody does."""
        tool = self.server.tools.listing.get(record.request["params"].get("name"))
        return None if tool is None or tool.visible is None else [tool.visible]

    def _shows(self, record: TaskRecord, context: Context) -> bool:
        """Return True if the sender of a request sees the tool of a task."""
        visibles = self.seen_by(record)
        if visibles is None:
            return True
        from ....server.registry.visibility import requester_of, shown_by

        return shown_by(visibles, requester_of(context))

    def fit(self, name: str, arguments: Any) -> bool:
        """Return True if these are arguments that a tool can be called with."""
        tool = self.server.tools.listing.get(name)
        return tool is not None and not tool.inputs.validate(arguments)

    # Create

    @_storing()
    def create(self, context: Context, params: Dict[str, Any], ttl: Optional[float]) -> TaskRecord:
        """Store a task for this request, and have it run when the request is answered; return it as it was created.

        ``ttl``: the seconds that the client has asked for, None if it asked for none. Raises `RpcError` without room.
        """
        limits, now = self.server.limits, self.store.now()
        self._sweep(now)
        kept = self.ttl if ttl is None else max(self.poll, min(ttl, limits.max_task_ttl))
        record = TaskRecord(secrets.token_urlsafe(24), owner_of(context), request_of(context, params), kept, self.poll,
                            now)
        record.memory = memory_of(context)
        record.until = self.store.clock() + LEASE
        record.size = size_of(record)
        if record.size > limits.max_task_bytes:
            text = "The request is too large for a task: %d bytes, and max_task_bytes is %d"
            raise RpcError(INVALID_PARAMS, text % (record.size, limits.max_task_bytes))
        room = TaskRoom(limits.max_tasks, limits.max_tasks_per_principal, limits.max_tasks_bytes)
        full = self.store.create(record, room)
        if full:
            text = "Too many tasks: %s (%d) has been reached; try again when some have expired"
            raise RpcError(INTERNAL_ERROR, text % (full, getattr(limits, full)))
        _log("created", record)
        context.incoming.after = lambda: self._announced(record, context)
        return record

    def _announced(self, record: TaskRecord, context: Context) -> None:
        """Begin a task once its client has been sent it; without that it would never learn of the task."""
        if context.incoming.cancelled:
            self.cancel(record.id, context.connection, context.principal)
        else:
            self._submit(record, context.connection, context.principal)

    # Run

    def _submit(self, record: TaskRecord, connection: "Connection", principal: Any) -> None:
        run = TaskRun(self, record, connection, principal)
        self.server.hold(run)
        with self._lock:
            self._runs[record.id] = run
            begin = self._running < self.server.limits.max_running_tasks
            if begin:
                self._running += 1
            else:
                self._queue[record.id] = run
        self.watch()
        if begin:
            self._begin(run)

    def _begin(self, run: TaskRun) -> None:
        executor = self.server.executor
        try:
            if executor is not None:
                if not executor.submit([_Turn(self, run)], run.connection.outbox):
                    self.give_up(run, "the executor of the server was closed")
            else:
                start_or_call("mcp-ref:task:%s" % run.record.id[:_SHOWN], self.work, run)
        except RuntimeError as error:  # the system has no thread left
            self.give_up(run, str(error))

    def work(self, run: Optional[TaskRun]) -> None:
        """Do a run, and after it those that are queued."""
        while run is not None:
            outcome = run.run()
            if outcome is not None:
                self._ended(run, outcome)
            run.close()
            self._forget(run)
            run = self._next()

    def give_up(self, run: TaskRun, why: str) -> None:
        """Fail a task that cannot be run, and go on with the next."""
        self._ended(run, Outcome({"error": {"code": INTERNAL_ERROR, "message": "Internal error: %s" % why}}, {}, {}))
        self._forget(run)
        following = self._next()
        if following is not None:
            self._begin(following)

    def _next(self) -> Optional[TaskRun]:
        with self._lock:
            if self._queue:
                return self._queue.pop(next(iter(self._queue)))
            self._running -= 1
            return None

    def _withdraw(self, run: TaskRun, reason: str) -> None:
        """Have the handler of a run see that it is not wanted any more. One that has not begun is forgotten at once:
        what clients create and cancel must not pile up behind those that run."""
        run.cancel(reason)
        with self._lock:
            queued = self._queue.get(run.record.id) is run
            if queued:
                del self._queue[run.record.id]
        if queued:
            run.close()
            self._forget(run)

    def _forget(self, run: TaskRun) -> None:
        with self._changed:
            if self._runs.get(run.record.id) is run:
                del self._runs[run.record.id]
                if not self._busy():
                    self._changed.notify()
        self.server.let_go(run)

    def _ended(self, run: TaskRun, outcome: Outcome) -> None:
        """Store what a run has ended with, unless the task has ended, or another process has taken it, meanwhile."""
        failed = self._failed(run.record, outcome)

        def change(record: TaskRecord) -> bool:
            if record.final or record.lease != run.record.lease:
                return False
            record.updated, record.until = self.store.now(), 0.0
            if outcome.answer is None:
                record.status, record.questions, record.memory = INPUT_REQUIRED, outcome.questions, outcome.memory
            else:
                record.status = COMPLETED if failed is None else FAILED
                record.message, record.memory, record.outcome = failed, {}, outcome.answer
            record.size = size_of(record)
            most = self.server.limits.max_task_bytes
            if record.size > most:
                text = "the result of the task has %d bytes, and max_task_bytes is %d" % (record.size, most)
                _fail(record, text, self.store.now())
            return True

        changed = self._change(run.record.id, change)
        if changed is None:
            run.connection.counters.add("late task results")
            return
        if changed.final:
            _log(changed.status, changed)
        self._told(changed, run.connection, run.principal)

    def _change(self, id: str, function: Any) -> Optional[TaskRecord]:
        """Change a task. What the store raises is logged: the task is failed when its lease runs out."""
        try:
            return self.store.change(id, function)
        except Exception:
            get_logger(__name__).exception("task %s...: what has become of it could not be stored", id[:_SHOWN])
            return None

    def _failed(self, record: TaskRecord, outcome: Outcome) -> Optional[str]:
        """Return the message of a task that has failed with this answer; None if it has not failed.

        In 2025-11-25 a tool that says it has failed fails the task [2025-11-25 basic/utilities/tasks §Task Execution
        Errors]; in 2026-07-28 only an error does [2026-07-28 extensions/tasks/tasks §Task Execution Errors] MUST NOT.
        """
        answer = outcome.answer or {}
        if "error" in answer:
            return str(answer["error"]["message"])
        if not record.in_session or not answer.get("result", {}).get("isError"):
            return None
        texts = [block["text"] for block in answer["result"].get("content", ()) if block.get("type") == "text"]
        return str((texts or ["the tool has failed"])[0])[:1000]

    def progressed(
        self, run: TaskRun, token: Any, progress: float, total: Optional[float], message: Optional[str]
    ) -> None:
        """Make a step of progress the message of the task."""
        text = message or ("%g of %g" % (progress, total) if total is not None else "%g" % progress)

        def change(record: TaskRecord) -> bool:
            if record.final or record.lease != run.record.lease:
                return False
            record.message, record.updated = text, self.store.now()
            return True

        changed = self._change(run.record.id, change)
        if changed is not None and changed.in_session:
            self.sessions.progressed(run, token, progress, total, message)
        elif changed is not None:
            self.extension.changed(changed)

    # Look, answer, cancel

    @_storing()
    def find(self, context: Context, id: str) -> TaskRecord:
        """Return a task of this client's [2025-11-25 basic/utilities/tasks §Task Isolation and Access Control] MUST.

        Raises `RpcError` -32602 for an unknown one, which is one of another principal or generation, too, and for one
        that has expired.
        """
        self.check_rate(context)
        self._sweep(self.store.now())
        record = self.own(context, id)
        if record is None:
            context.connection.counters.note("unknown task", "%s asked for" % context.request.method)
            raise RpcError(INVALID_PARAMS, "Task not found")
        if record.expires <= self.store.now():
            raise RpcError(INVALID_PARAMS, "Task has expired")
        if record.final:
            _log("retrieved", record)
        return record

    @_storing()
    def own(self, context: Context, id: str) -> Optional[TaskRecord]:
        """Return a task of this client's, also an expired one that is still there; None if there is none."""
        record, revision = self.store.read(id), context.session.rules.name
        if record is not None and 0.0 < record.until < self.store.clock():
            self._fail_lost(id)
            record = self.store.read(id)
        if record is None or record.owner != owner_of(context) or record.request["revision"] != revision:
            return None
        return record if self._shows(record, context) else None

    @_storing()
    def page(self, context: Context, after: int, most: int) -> List[TaskRecord]:
        """Return up to ``most`` tasks of this client's behind this number, in order; none that `find` does not find."""
        owner, now, revision = owner_of(context), self.store.now(), context.session.rules.name
        found: List[TaskRecord] = []
        while len(found) < most:
            part = self.store.list(owner, after, most)
            if not part:
                break
            after = part[-1].number
            found += [each for each in part if each.request["revision"] == revision and each.expires > now
                      and self._shows(each, context)]
        return found[:most]

    def check_rate(self, context: Context) -> None:
        """Raise `RpcError` if this client asks about tasks too often."""
        if not context.rate(LIMIT).take():
            limit = getattr(self.server.limits, LIMIT)
            raise RpcError(INTERNAL_ERROR, "Too many requests about tasks: %s is %g; try again later" % (LIMIT, limit))

    @_storing()
    def answer(self, id: str, answers: Dict[str, Any], connection: "Connection", principal: Any) -> None:
        """Take answers by key, each {"result": ...} or {"error": ...}; others than those that are asked are ignored.

        With the last one the handler runs again.
        """

        def change(record: TaskRecord) -> bool:
            found = [key for key in record.questions if key in answers]
            if record.status != INPUT_REQUIRED or not found:
                return False
            memory, given, errors = record.memory, dict(record.memory["answers"]), dict(record.memory["errors"])
            for key in found:
                question, answer = record.questions[key], answers[key]
                name = question["name"]
                errors.pop(name, None)
                if "error" in answer:
                    errors[name] = [question["digest"], *answer["error"]]
                else:
                    given[name] = [question["digest"], answer["result"]]
            record.memory = dict(memory, answers=given, errors=errors)
            record.questions = {key: record.questions[key] for key in record.questions if key not in found}
            record.size, record.updated = size_of(record), self.store.now()
            if record.size > self.server.limits.max_task_bytes:
                text = "the answers are too long: max_task_bytes is %d" % self.server.limits.max_task_bytes
                _fail(record, text, self.store.now())
            elif not record.questions:
                record.status, record.lease = WORKING, record.lease + 1
                record.until = self.store.clock() + LEASE
            return True

        changed = self.store.change(id, change)
        if changed is None:
            return
        self._told(changed, connection, principal)  # before another run can change it again
        if changed.status == WORKING:
            self._submit(changed, connection, principal)

    @_storing()
    def cancel(self, id: str, connection: "Connection", principal: Any) -> Optional[TaskRecord]:
        """Cancel a task; None if it has ended before."""

        def change(record: TaskRecord) -> bool:
            if record.final:
                return False
            record.message = "The task was cancelled by request."
            _stop(record, CANCELLED, "The task was cancelled", self.store.now())
            return True

        changed = self.store.change(id, change)
        if changed is not None:
            _log("cancelled", changed)
            run = self._runs.get(id)
            if run is not None:
                self._withdraw(run, "the task was cancelled")
            self._told(changed, connection, principal)
        return changed

    def _told(self, record: TaskRecord, connection: "Optional[Connection]" = None, principal: Any = None) -> None:
        """Tell those who wait for a task how it is now."""
        if record.in_session:
            self.sessions.changed(record, connection, principal)
        else:
            self.extension.changed(record)

    @_storing()
    def look(self, id: str) -> None:
        """Bring those who wait for a task of a session what it asks, or its end."""
        record = self.store.read(id)
        if record is None:
            self.sessions.gone(id)
        else:
            self.sessions.looked(record)

    # Watch

    def watch(self) -> None:
        """Have the thread look that renews leases and sees to expiry; it ends when there is nothing to watch."""
        with self._changed:
            if self._watching or not available():
                return
            self._watching = True
        start_thread("mcp-ref:leases", self._watch)

    def _busy(self) -> bool:
        return bool(self._runs) or bool(self.sessions.waited()) or bool(self.extension.watched())

    def idle(self) -> None:
        """Let the thread end if nothing is left to watch."""
        with self._changed:
            if not self._busy():
                self._changed.notify()

    def _watch(self) -> None:
        while True:
            with self._changed:
                if not self._busy():
                    self._watching = False
                    return
                self._changed.wait(TICK)
            try:
                self._look()
            except Exception:
                get_logger(__name__).exception("the tasks could not be looked at; trying again")

    def _look(self) -> None:
        """Renew leases, fail what was lost, delete what has expired, and tell of what other processes did."""
        now, clock, shared = self.store.now(), self.store.clock(), self.store.shared
        with self._lock:
            runs = list(self._runs.values())
        for run in runs:
            if run.record.expires <= now:
                self._withdraw(run, "the task has expired")
            elif shared:
                self._keep(run, clock)
        if shared:
            for id in self.store.lost(clock):
                self._fail_lost(id)
        self._sweep(now)
        for id in self.sessions.waited() | self.extension.watched():
            record = self.store.read(id)
            if record is None or record.expires <= now:
                self.sessions.gone(id)
                self.extension.gone(id)
            else:
                self.sessions.looked(record)
                self.extension.looked(record)

    def tick(self) -> None:
        """Look, if nobody has for IDLE_SWEEP seconds; to be called from time to time."""
        now = self.store.now()
        if now - self._swept >= IDLE_SWEEP or now < self._swept:
            self._look()

    def _keep(self, run: TaskRun, clock: float) -> None:
        """Renew the lease of a run, or cancel it if another process has ended the task."""
        if clock - run.renewed < LEASE / 3:
            found = self.store.read(run.record.id)
            if found is None or found.final or found.lease != run.record.lease:
                self._withdraw(run, "another process has ended the task")
            return

        def change(record: TaskRecord) -> bool:
            if record.final or record.lease != run.record.lease:
                return False
            record.until = clock + LEASE
            return True

        if self.store.change(run.record.id, change) is None:
            self._withdraw(run, "another process has ended the task")
        run.renewed = clock

    def _fail_lost(self, id: str) -> None:
        """Fail a task whose process has not renewed its lease: it has died, or stood still."""
        changed = self._change(id, self._lost)  # a record that cannot be read keeps no other from being failed
        if changed is not None:
            _log("lost", changed)
            self._told(changed)

    def _lost(self, record: TaskRecord) -> bool:
        if record.final or not 0.0 < record.until < self.store.clock():
            return False
        _fail(record, "The process that ran the task has ended", self.store.now())
        return True

    def _sweep(self, now: float) -> None:
        if now - self._swept >= SWEEP or now < self._swept:
            self._swept = now
            self.store.sweep(now)

    # Connections

    def closing(self, connection: "Connection") -> bool:
        """Answer those requests of a connection that wait for a task; True if there were any."""
        return self.sessions.closing(connection)


class _Turn(Job):
    """A run on an executor that the server was given."""

    __slots__ = ("_tasks", "_run")

    def __init__(self, tasks: Tasks, run: TaskRun) -> None:
        self._tasks, self._run = tasks, run

    def run(self) -> None:
        self._tasks.work(self._run)

    def abandon(self, error: McpError) -> None:
        self._tasks.give_up(self._run, str(error))


def owner_of(context: Context) -> str:
    """Return the principal of a request as JSON text; "" where nothing tells clients apart.

    Raises `LocalProtocolError` for a principal that JSON cannot hold.
    """
    from ....server.hints.values import to_json

    principal = context.principal
    if principal is None or not context.connection.transport.tells_apart:
        return ""
    try:
        return dumps(to_json(principal))
    except (TypeError, ValueError):
        text = "a task belongs to its principal, and JSON cannot hold a %s: have authenticate return a str"
        raise LocalProtocolError(text % type(principal).__name__) from None


def size_of(record: TaskRecord) -> int:
    """Return the bytes of what clients and handlers make a task hold."""
    return len(dumps([record.request, record.questions, record.memory, record.outcome]))


def _fail(record: TaskRecord, message: str, now: float) -> None:
    record.message = message
    _stop(record, FAILED, message, now)


def _stop(record: TaskRecord, status: str, error: str, now: float) -> None:
    """End a task with an error; the run that has its lease loses it."""
    record.status, record.until = status, 0.0
    record.lease, record.updated = record.lease + 1, now
    record.questions, record.memory = {}, {}
    record.outcome = {"error": {"code": INTERNAL_ERROR, "message": error}}
    record.size = size_of(record)


def _log(what: str, record: TaskRecord) -> None:
    """Log a step in the life of a task [2025-11-25 basic/utilities/tasks §Audit and Logging] SHOULD."""
    owner = record.owner[:100] or "nobody who is known"
    get_logger(__name__).info("task %s... of %s %s", record.id[:_SHOWN], owner, what)
