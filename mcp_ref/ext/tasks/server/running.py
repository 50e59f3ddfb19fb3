"""One run of a task's handler: the context that it gets, its questions, and what it ends with.

The request was answered when its task was created, so nothing of a run belongs to that request any more, and the
connection may be gone. A handler that asks is unwound, as in `mcp_ref.server.mrtr`: the run ends, and when the last
answer has come another run begins from the first line. Answers and the values of `Context.once` are kept in the memory
of the record (the client never sees them), so any process that shares the store can do that run.

==========  =========================================================================================================
memory      what it is
==========  =========================================================================================================
`answers`   name of a question -> its digest and its answer
`errors`    the same for questions that a client answered by an error (2025-11-25): digest, code, message, data
`kept`      values of `Context.once`, as in `mcp_ref.server.mrtr.Rounds`
`keys`      every key under which a question was ever sent: none is used again
`rounds`    the number of runs that ended with questions
`returned`  the names of questions that the handler returned as an `InputRequiredResult`, and ``note``, its state
==========  =========================================================================================================
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, NoReturn, Optional, Tuple

from .... import threads
from ....errors import LocalProtocolError, PeerError
from ....jsonrpc import ErrorResponse, Request, decoded
from ....jsontext import dumps
from ....options import REQUEST_TIMEOUT, refuse, strict_options
from ....peer.context import HANDLED
from ....peer.inflight import Inflight
from ....peer.jobs import failure
from ....peer.session import Session
from ....protocol import envelope, lifecycle
from ....protocol.extensions import naming_task, related
from ....protocol.requeststate import State, digest
from ....protocol.results import DEPENDING
from ....revisions import revision
from ....server import mrtr
from ....server.context import Context
from ....server.mrtr import InputRequired, Rounds
from ....stores import TaskRecord

if TYPE_CHECKING:
    from ....jsonrpc import RequestId
    from ....peer.context import Context as RequestContext
    from ....peer.dispatcher import Connection
    from .engine import Tasks


class Outcome(NamedTuple):
    """The end of a run: the answer of the request, or the questions that the next run needs answered."""

    answer: Optional[Dict[str, Any]]
    """``result`` or ``error``, as they are stored."""
    questions: Dict[str, Dict[str, Any]]
    memory: Dict[str, Any]


def request_of(context: "RequestContext", params: Dict[str, Any]) -> Dict[str, Any]:
    """Return what a run has to know of a request and of its sender, as JSON."""
    session = context.session
    kept = {name: value for name, value in params.items() if name not in DEPENDING and name != "task"}
    made = {"id": context.request_id, "method": context.request.method, "params": kept, "revision": session.rules.name}
    if session.rules.handshake:
        made.update(capabilities=dict(session.peer_capabilities), client=dict(session.peer_info))
    return made


def memory_of(context: Any) -> Dict[str, Any]:
    """Return the memory of a new task: what was asked and computed in the rounds before its creation."""
    rounds: Optional[Rounds] = getattr(context, "_rounds", None)
    return {} if rounds is None else {"answers": dict(rounds.answers), "kept": dict(rounds.kept)}


class TaskRounds(Rounds):
    """The questions and answers of one run."""

    __slots__ = ("_errors", "_left", "note")

    def __init__(self, memory: Dict[str, Any], most: int) -> None:
        answers = memory.get("answers", {})
        super().__init__({name: answers[name][1] for name in memory.get("returned", ()) if name in answers})
        rounds = memory.get("rounds", 0)
        self.before = State("", 0, rounds, {}, answers, memory.get("kept", {}), memory.get("note"))
        self.note: Optional[str] = None
        self._errors: Dict[str, List[Any]] = memory.get("errors", {})
        self._left = most - rounds

    def _given(self, name: str, found: str, chosen: bool) -> Optional[Tuple[Any, bool]]:
        failed = self._errors.get(name)
        if failed is not None and failed[0] == found:
            raise PeerError(*failed[1:])
        return super()._given(name, found, chosen)

    def _require(self, context: Any) -> NoReturn:
        try:
            self.token(context)
        except LocalProtocolError:
            self._forget(list(self.waiting))
            raise
        self.unwind({})

    def token(self, context: Any, note: Optional[str] = None) -> str:
        """Keep the handler's own note; the answers are kept with the task. Raises `LocalProtocolError` above
        ``max_input_rounds``."""
        if self._left <= 0:
            most = context.connection.limits.max_input_rounds
            raise LocalProtocolError("this task has asked for input %d times, which is max_input_rounds" % most)
        self.note = note
        return ""

    def questions(self, keys: List[str]) -> Dict[str, Dict[str, Any]]:
        """Return the questions of this run by keys that are not among ``keys``, to which they are added
        [2026-07-28 extensions/tasks/tasks §Task Update Requests] MUST NOT."""
        made = {}
        for name, request in self.waiting.items():
            key, number = name, 1
            while key in keys:
                number += 1
                key = "%s-%d" % (name, number)
            keys.append(key)
            made[key] = {"name": name, "digest": self.asked[name], "request": request}
        return made


class TaskContext(Context):
    """The context of a handler that runs as a task; `Context` describes what handlers do with it."""

    __slots__ = ("_run",)
    detached = True

    def __init__(self, run: "TaskRun", session: Session) -> None:
        stored = run.record.request
        super().__init__(run.connection, run.incoming, Request(stored["id"], stored["method"], stored["params"]),
                         session)
        self._run = run

    @strict_options
    def ask(
        self, method: str, params: Any, timeout: Optional[float] = REQUEST_TIMEOUT, key: Optional[str] = None,
        read: Optional[Callable[[Any], Any]] = None,
    ) -> Any:
        """Return the answer if it has come, else end this run. ``timeout`` does not count: a task waits until it
        expires. Raises as `Context.ask`."""
        if key is not None and (not isinstance(key, str) or not key):
            raise ValueError("the key of a question is a text that is not empty, not %.80r" % (key,))
        self.check()
        session = self.session
        if session.rules.stateless:
            row = mrtr.check_asking(self, method)
        else:
            session.check_sending(method, "request")
            found = session.lookup(method)
            if found is None:
                raise LocalProtocolError("revision %s has no request %s" % (session.rules, method))
            row = found
        return self._rounds.ask(self, row, params, key, read)

    def ask_all(self, questions: Any) -> Dict[str, Any]:
        """Ask several questions at once; see `Context.ask_all`."""
        return self._rounds.ask_all(self, questions)

    def _progress_token(self) -> "RequestId":
        token = super()._progress_token()
        return "" if token is None else token

    def _put_progress(
        self, token: "RequestId", progress: float, total: Optional[float], message: Optional[str]
    ) -> None:
        before = self._run.record.memory.get("progress")
        if before is not None and progress <= before:
            return  # told by an earlier run; it increases [2025-11-25 basic/utilities/progress §Progress Flow] MUST
        wants = super()._progress_token() is not None
        self._run.tasks.progressed(self._run, token if wants else None, progress, total, message)

    def log(self, level: str, data: Any, logger: Optional[str] = None, **unknown: NoReturn) -> None:
        """Send a log message in 2025-11-25; in 2026-07-28, where a task sends none, count it
        [2026-07-28 extensions/tasks/tasks §Task Status Notifications] MUST NOT."""
        if unknown:
            refuse(Context.log, unknown)
        self.check()
        if self.session.rules.stateless:
            self.connection.counters.add("log messages of tasks")
            return
        from ....server.logs import send

        send(self.connection, level, data, logger, self._run.tasks.sessions.stream_of(self._run.record.id),
             meta=related(self._run.record.id))

    @strict_options
    def notify(self, method: str, params: Optional[Dict[str, Any]] = None) -> None:
        """Send a notification that belongs to the task in 2025-11-25; in 2026-07-28 nothing is sent after the answer,
        which was the task."""
        self.check()
        if not self.session.rules.stateless:
            self._run.tasks.sessions.tell(self._run.record.id, self.connection, method, params or {})

    @strict_options
    def call(
        self, method: str, params: Optional[Dict[str, Any]] = None, timeout: Optional[float] = REQUEST_TIMEOUT,
        on_progress: Any = None, extend_on_progress: bool = False,
    ) -> Dict[str, Any]:
        """Send a request to the peer and wait, as `Context.call`; in 2025-11-25 with the task's name in it."""
        if not self.session.rules.stateless:
            params = naming_task(params or {}, self._run.record.id)
        return super().call(method, params, timeout, on_progress, extend_on_progress)


class TaskRun:
    """One run of a task. ``principal``: who has created it, as the transport knows them now."""

    def __init__(self, tasks: "Tasks", record: TaskRecord, connection: "Connection", principal: Any) -> None:
        self.tasks = tasks
        self.record = record
        self.connection = connection
        self.principal = principal
        self._inflight = Inflight()
        incoming = self._inflight.begin(record.request["id"])
        if incoming is None:
            raise LocalProtocolError("a table without requests has one of this id")
        self.incoming = incoming
        incoming.principal = principal
        self.renewed = tasks.store.clock()

    def cancel(self, reason: str) -> None:
        """Have the handler see that it is not wanted any more."""
        self._inflight.cancel(self.incoming.id, reason)

    def close(self) -> None:
        """Send nothing more for this run."""
        self._inflight.finish(self.incoming)

    def run(self) -> Optional[Outcome]:
        """Run the handler; None: it was cancelled before it began."""
        if self.incoming.cancelled:
            return None
        record, connection = self.record, self.connection
        context = TaskContext(self, self._session())
        rounds = context._rounds = TaskRounds(record.memory, connection.limits.max_input_rounds)
        route = self.tasks.route(context.session.rules)
        outer, copies = HANDLED.set(context), threads.copies
        try:
            try:
                made = route.call(context, context.request.params or {})
            finally:
                if threads.copies != copies:
                    threads.end_copy()
            result = decoded(made)
            if rounds.outcome is None:
                dumps(result)
                return Outcome({"result": result}, {}, {})
        except InputRequired:
            pass
        except BaseException as error:
            return self._failed(failure(error, context, route))
        finally:
            HANDLED.reset(outer)
        return self._unwound(context, rounds)

    def _session(self) -> Session:
        stored, server = self.record.request, self.tasks.server
        rules = revision(stored["revision"])
        if rules.stateless:
            found = envelope.read(stored["params"], (rules,))
        else:
            found = envelope.Envelope(rules, stored["capabilities"], stored["client"])
        lenient = self.connection.session.lenient
        made = Session.of_request(found, server.declared(rules), lenient, self.principal)
        made.extensions = server.extensions
        made.phase = lifecycle.OPERATING
        return made

    def _failed(self, answer: Any) -> Outcome:
        if isinstance(answer, ErrorResponse):
            made: Dict[str, Any] = {"code": answer.code, "message": answer.message}
            if answer.data is not None:
                made["data"] = answer.data
            return Outcome({"error": made}, {}, {})
        return Outcome({"result": answer.result}, {}, {})

    def _unwound(self, context: TaskContext, rounds: TaskRounds) -> Outcome:
        """Return the questions of a handler that has asked, also of one that has caught what unwinds it."""
        outcome, before = rounds.outcome, self.record.memory
        if isinstance(outcome, Exception):
            return self._failed(failure(outcome, context, self.tasks.route(context.session.rules)))
        returned: List[str] = []
        if outcome and "inputRequests" in outcome:  # the handler has written them itself
            rounds.waiting = outcome["inputRequests"]
            rounds.asked = {name: digest(request) for name, request in rounds.waiting.items()}
            returned = list(rounds.waiting)
        if not rounds.waiting:
            text = "the handler returned an InputRequiredResult without input_requests, which a task cannot wait for"
            error: Exception = LocalProtocolError(text)
            return self._failed(failure(error, context, self.tasks.route(context.session.rules)))
        keys = list(before.get("keys", ()))
        questions = rounds.questions(keys)
        memory = {"answers": rounds.answers, "kept": rounds.kept, "errors": before.get("errors", {}), "keys": keys,
                  "rounds": before.get("rounds", 0) + 1, "returned": returned, "note": rounds.note}
        steps = [each for each in (before.get("progress"), context._progress) if each is not None]
        if steps:
            memory["progress"] = max(steps)
        if returned:
            memory["answers"] = dict(before.get("answers", {}), **rounds.answers)
        return Outcome(None, questions, memory)
