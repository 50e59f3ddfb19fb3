"""The two generations of tasks, as their caller holds them.

`StatelessTask` is a task of the extension of 2026-07-28. Result and questions come with its state, which is polled
[2026-07-28 extensions/tasks/tasks §Task Polling]. Each question is put to the callbacks of the client once, and its
answer is sent by `tasks/update` [2026-07-28 extensions/tasks/tasks §Task Update Requests] SHOULD.

While somebody waits, and if the server agrees, a `TaskStream` beside the polls brings news at once: a
`subscriptions/listen` with the task's id goes out when the next poll is LISTEN_FROM seconds away or more, and ends with
the wait. The interval of the polls doubles while they bring nothing that the stream has not brought. A stream that is
refused, or ends, costs nothing but its request. Measured with an interval of 2 s: a task of 0.2 s is known to be over
after 0.2 s instead of 2, one of 5 s after 5 instead of 6, with 2 requests instead of 3. On a pipe or a socket a stream
costs no thread; over HTTP it costs one, and a connection, so a client has at most HTTP_STREAMS of them at a time and
polls further tasks.

`HandshakeTask` is a task of 2025-11-25 [2025-11-25 basic/utilities/tasks §Message Flow]. `tasks/result` waits at the
server until the task is over, so it is sent at once: the server's questions may come on its stream. `tasks/get` is sent
beside it, for the status. A `tasks/result` that is lost is sent again where that is needed: when the task is over, and
when it waits for input. Questions of a task are ordinary requests of the server, on any stream; the answer names the
task as they do. Announcements of the status are read where they come, and none is relied upon.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Optional, Set, Tuple, Type

from .... import deadline
from ....client.mrtr import InputRounds, on_wire
from ....client.subscriptions import ChangeFilter, SubscriptionStream
from ....codec import DecodeError, decode
from ....deadline import Deadline
from ....errors import (
    INTERNAL_ERROR, AnswerLost, ConnectionLost, HttpStatus, LocalProtocolError, McpError, PeerError, PeerProtocolError,
)
from ....jsonrpc import ErrorResponse, shown
from ....messages.base import COMPLETE
from ....messages.extensions.tasks import DetailedTask, TaskCreated
from ....messages.tasks import CreateTaskResult, Task as TaskMessage
from ....methods import CALL_TOOL, GET_TASK, TASK_RESULT, UPDATE_TASK, lookup, result_class
from ....options import strict_options
from ....peer.dispatcher import Connection
from ....peer.extension import Waiting
from ....peer.request_table import Pending, Progress
from ....protocol.extensions import CANCELLED, COMPLETED, FAILED, INPUT_REQUIRED, WORKING
from ....threads import Tally
from ....transports.base import EXCHANGES
from .task import Self, ToolTask

if TYPE_CHECKING:
    from ....client.client import Client
    from ....client.options import Options
    from ....client.subscriptions import Subscription
    from ....messages.tools import CallToolResult
    from ....peer.request_table import ProgressCallback

HTTP_STREAMS = 4
"""The streams of this kind that one client has at a time over HTTP, where each holds a connection and a thread."""
_UNTOLD, _STREAMS = "tasks are not told of", "streams of tasks"
"""Members of the state of a connection."""


class TaskStream(SubscriptionStream):
    """A stream for one ``subject``: a member of the filter, and a text in it. ``untold`` is called if it ends itself.

    Nothing here raises; what goes wrong is counted, for the task is polled then.
    """

    def __init__(self, client: "Client", subject: Tuple[str, str], untold: Callable[[], None]) -> None:
        def ended(stream: SubscriptionStream) -> None:
            if self.agreed.more and not self._is_closed:
                untold()

        super().__init__(client.connection, ChangeFilter(more=frozenset((subject,))), ended)
        self._client = client
        self._places: Optional[Tally] = None
        self._is_closed = False

    @staticmethod
    def is_offered(connection: Connection) -> bool:
        """Return False if the server has shown that it has no such streams."""
        return not connection.state.get(_UNTOLD)

    @property
    def is_telling(self) -> bool:
        """True while the server tells of the task."""
        return self.outcome is None and bool(self.agreed.more)

    def open(self) -> None:
        """Send the request, if there is a place for its stream."""
        connection = self.connection
        if connection.transport.contract == EXCHANGES:
            places: Tally = connection.state.setdefault(_STREAMS, Tally(_STREAMS, HTTP_STREAMS))
            if not places.enter(_STREAMS):
                return
            self._places = places
        self._client.listening  # makes what sorts the messages of streams
        try:
            self.send()
        except McpError as error:
            self._lose(error)

    def close(self) -> None:
        """End the stream, and leave its place."""
        self._is_closed = True
        self.cancel("nobody waits for the task")
        places, self._places = self._places, None
        if places is not None:
            places.leave(_STREAMS)

    def acknowledge(self, agreed: ChangeFilter) -> None:
        """Take what the server will tell; a server that tells of no tasks is not asked again."""
        super().acknowledge(agreed)
        if not self.agreed.more:
            self.connection.state[_UNTOLD] = True
            self._is_closed = True
            self.cancel("the server does not tell of the task")

    def __call__(self, pending: Pending, item: Any) -> None:
        """Take what arrives for the request; runs on the reader."""
        if not isinstance(item, Progress) and not self._is_closed:
            self._lose(item)
        super().__call__(pending, item)

    def _lose(self, outcome: Any) -> None:
        """Count a stream that has ended; a server that has no streams is not asked again."""
        refused = isinstance(outcome, ErrorResponse) and outcome.code != INTERNAL_ERROR or isinstance(outcome,
                                                                                                      HttpStatus)
        if refused and not self.agreed.more:
            self.connection.state[_UNTOLD] = True
        self.connection.counters.add("streams of tasks that ended")


FILTER = "taskIds"
"""The member of the filter of `subscriptions/listen`."""
RARELY = 32
"""The number of intervals between two looks at most, at a task of which the server tells by itself."""
LISTEN_FROM = 0.5
"""The seconds until the next look from which on it is worth a request to be told."""


class StatelessTask(ToolTask):
    """A `ToolTask` of 2026-07-28."""

    def __init__(
        self, client: "Client", id: Optional[str], tool: Optional[str], manual: bool = False,
        progress: "Optional[ProgressCallback]" = None,
    ) -> None:
        super().__init__(client, id, tool, manual, progress)
        self._rounds = InputRounds(client, "task %s" % shown(id or ""), None)
        self._answered: Set[str] = set()
        """The keys of the questions that were answered; none is used twice in the life of a task."""
        self._updates = 0
        self._subscription: "Optional[Subscription]" = None
        self._stream: "Optional[TaskStream]" = None
        """The stream of the present wait."""
        self._silent = 0
        """The looks in a row that brought nothing new."""

    @classmethod
    def created(
        cls: Type[Self], client: "Client", result: Dict[str, Any], tool: Optional[str], manual: bool = False,
        progress: "Optional[ProgressCallback]" = None,
    ) -> Self:
        """Return the task that a result of type ``task`` announces. Raises `PeerProtocolError` if it has another form.
        """
        id = result.get("taskId")
        task = cls(client, id if isinstance(id, str) else "", tool, manual, progress)
        state = task._read(TaskCreated, result, "result")
        with task._lock:
            task._note(result, state, state.ttl_ms, state.poll_interval_ms)
            if task.status != WORKING:  # what belongs to its status is not here: a look brings it
                task.status, task._due = WORKING, 0.0
        return task

    @strict_options
    def answer(self, responses: Mapping[str, Any]) -> None:
        """Answer questions, all or some; see `ToolTask.answer`."""
        if not isinstance(responses, Mapping):
            raise TypeError("answer takes the answers by their keys, such as {%r: ...}, not %.80r" % (
                next(iter(self.questions), "question-1"), responses))
        strange = [key for key in responses if key not in self.questions]
        if strange:
            text = "task %s has no open question %s; it has %s"
            raise LocalProtocolError(text % (
                shown(self.id or ""), ", ".join(map(shown, strange)), ", ".join(map(shown, self.questions)) or "none"))
        sent = on_wire(responses, self._client.revision)
        for key, answer in sent.items():
            row = lookup(str(self.questions[key].get("method")), self._client.revision)
            try:
                if row is not None:
                    decode(result_class(row), answer, self._client.revision, "the answer to %s" % shown(key))
            except DecodeError as error:
                raise ValueError('%s; a form is answered by {"action": "accept", "content": {...}}' % error) from None
        self._update(sent)

    @strict_options
    def listen(self) -> "Subscription":
        """Have the server tell what becomes of the task, see `ToolTask.listen`."""
        self._subscription = self._client.listen(more={FILTER: [self.id or ""]})
        return self._subscription

    # Being told

    def _follow(self, until: Deadline, waiting: Waiting) -> bool:
        try:
            return super()._follow(until, waiting)
        finally:
            with self._lock:
                stream, self._stream = self._stream, None
            if stream is not None:
                stream.close()
                self._untold()

    def _pause(self, seconds: float, until: Deadline) -> None:
        left = until.left()
        if self._stream is None and seconds >= LISTEN_FROM and (left is None or left > seconds):
            self._open_stream()
        super()._pause(seconds, until)

    def _open_stream(self) -> None:
        """Ask to be told, and go on without waiting for the server to agree."""

        if self._is_told() or not TaskStream.is_offered(self._client.connection):
            return
        stream = TaskStream(self._client, (FILTER, self.id or ""), self._untold)
        with self._lock:
            if self._stream is not None:  # another thread waits, too
                return
            self._stream = stream
        stream.open()

    def _untold(self) -> None:
        """Look when it is time for those who are told nothing: the stream has ended. Also called on the reader."""
        with self._lock:
            self._silent = 0
            self._due = min(self._due, self._known_at + super()._interval())
        self._wake.set()

    def _is_told(self) -> bool:
        subscription, stream = self._subscription, self._stream
        return subscription is not None and bool(subscription.agreed.more) or stream is not None and stream.is_telling

    def _interval(self) -> float:
        """Return the seconds until the next look: more and more while the server tells by itself."""
        return super()._interval() * (min(2 ** self._silent, RARELY) if self._is_told() else 1)

    def _look(self, until: Deadline) -> None:
        before, self._silent = self._seen(), min(self._silent + 1, RARELY)
        super()._look(until)
        if self._seen() != before:  # the stream has not told it, or not yet
            self._silent = 0
            self._due = deadline.clock() + self._interval()

    def _seen(self) -> Tuple[str, Optional[str], str]:
        return self.status, self.message, self.last_updated_at

    # Questions

    def _stop(self, reason: str) -> None:
        self._rounds.cancel(reason)
        super()._stop(reason)

    def _advance(self, until: Deadline) -> None:
        """Put the open questions to the callbacks of the client, and send the answers; the clock pauses meanwhile."""
        if not self.questions or self._manual:
            return
        self._updates += 1
        limit = self._client.limits.max_input_rounds
        if self._updates > limit:
            raise PeerProtocolError("task %s asked for input more than max_input_rounds (%d) times" % (
                shown(self.id or ""), limit))
        until.stop()
        try:
            answers = self._rounds.answers(self._client.connection, self.questions)
        finally:
            until.resume()
        self._update(answers)

    def _update(self, answers: Dict[str, Any]) -> None:
        """Send answers. One that is lost is sent again: the server ignores what it has got already.

        A server that refuses them has taken none, so the questions are open still.
        """
        with self._lock:
            before = self.questions
            self._answered.update(answers)
            self.questions = {key: asked for key, asked in self.questions.items() if key not in answers}
        params = {"taskId": self.id, "inputResponses": answers}
        try:
            try:
                self._client.request(UPDATE_TASK, params)
            except (AnswerLost, ConnectionLost):
                self._client.request(UPDATE_TASK, params)
        except PeerError:
            with self._lock:
                self._answered.difference_update(answers)
                self.questions = {**{key: before[key] for key in answers if key in before}, **self.questions}
            raise
        self._due = deadline.clock() + self._interval()

    def _take(self, told: Dict[str, Any]) -> None:
        state = self._read(DetailedTask, told, "task")
        with self._lock:
            if not self._note(told, state, state.ttl_ms, state.poll_interval_ms):
                return
            asked = told["inputRequests"] if self.status == INPUT_REQUIRED else {}
            self.questions = {key: asked[key] for key in asked if key not in self._answered}
            if self.status == COMPLETED:
                self._outcome = state.result
            elif self.status == FAILED:
                error = state.error
                data = told["error"].get("data")
                self._failure = PeerError(error.code, error.message, data, CALL_TOOL, self.id or "")
        kind = COMPLETE if self._outcome is None else self._outcome.get("resultType", COMPLETE)
        if kind != COMPLETE:
            raise PeerProtocolError("the result of task %s is of type %s, and not complete" % (
                shown(self.id or ""), shown(str(kind))))


IMMEDIATE = "io.modelcontextprotocol/model-immediate-response"


class HandshakeTask(ToolTask):
    """A `ToolTask` of 2025-11-25; ``request`` is the call that has begun it, if this process has made it."""

    def __init__(
        self, client: "Client", id: Optional[str], tool: Optional[str], manual: bool = False,
        progress: "Optional[ProgressCallback]" = None, request: Optional[Pending] = None,
    ) -> None:
        super().__init__(client, id, tool, manual, progress)
        self._request = request
        self._asked: Optional[Pending] = None
        """Our `tasks/result` that is open."""
        self._arrived: Optional[Tuple[Pending, Any]] = None
        """The answer to that, until it is looked at."""
        self._wants_result = True
        self._has_progress = False

    @classmethod
    def created(
        cls, client: "Client", result: Dict[str, Any], tool: Optional[str],
        progress: "Optional[ProgressCallback]" = None, request: Optional[Pending] = None,
    ) -> "HandshakeTask":
        """Return the task that the first answer to a call announces. Raises `PeerProtocolError` for another answer."""
        try:
            made = decode(CreateTaskResult, result, client.revision, "result", client.connection.forgive)
        except DecodeError as error:
            raise PeerProtocolError("the answer to %s with a task: %s" % (CALL_TOOL, error),
                                    "2025-11-25 basic/utilities/tasks §Creating Tasks") from None
        task = cls(client, made.task.task_id, tool, False, progress, request)
        text = (made.meta or {}).get(IMMEDIATE)
        task.immediate_response = text if isinstance(text, str) else None
        task._take(result["task"])
        return task

    # Looking

    def _is_over(self) -> bool:
        """True if the result is here, or none comes: what has become of a task is told by `tasks/result`."""
        return self._outcome is not None or self._failure is not None or self.status == CANCELLED

    def _advance(self, until: Deadline) -> None:
        """Take what has come for `tasks/result`, or send it."""
        arrived, self._arrived = self._arrived, None
        if arrived is not None:
            self._collect(*arrived)
        if self._asked is None and self._wants_result and not self._is_over():
            self._wants_result = False
            self._asked = self._client.connection.open_request(
                TASK_RESULT, {"taskId": self.id}, timeout=None, settle=self._settle)
            self._asked.deadline = Deadline(None)  # it lasts as long as the task does
        if self._is_over():
            self._let_go()

    def _settle(self, pending: Pending, item: Any) -> None:
        """Take what arrives for `tasks/result`; runs on the reader."""
        if not isinstance(item, Progress):
            self._arrived = pending, item
            self._wake.set()

    def _collect(self, pending: Pending, item: Any) -> None:
        self._asked = None
        try:
            result = pending.answer(item)
        except PeerError as error:
            self._judge(error)
        except McpError as error:
            self._missed(error)
            self._wants_result = self.done
        else:
            with self._lock:
                self._outcome = result
                # [2025-11-25 basic/utilities/tasks §Task Execution Errors]
                self.status = FAILED if result.get("isError") is True else COMPLETED

    def _judge(self, error: PeerError) -> None:
        """Find out whether an error is the end of the task or of our request; a task that was cancelled has one, too.
        """
        try:
            self._take(self._client.request(GET_TASK, {"taskId": self.id}))
        except PeerError:
            pass
        if self.status != CANCELLED:
            self.status, self._failure = FAILED, error

    def _look(self, until: Deadline) -> None:
        if not self.done:
            super()._look(until)
            return
        # The task is over, and `tasks/result` has no answer: it may be lost.
        if self._asked is not None:
            self._client.connection.cancel(self._asked, "no answer though the task is over")
        self._due = deadline.clock() + self._client.limits.request_timeout

    def _take(self, told: Dict[str, Any]) -> None:
        state = self._read(TaskMessage, told, "task")
        with self._lock:
            if not self._note(told, state, state.ttl, state.poll_interval):
                return
            # [2025-11-25 basic/utilities/tasks §Input Required Status] SHOULD
            self._wants_result = self._wants_result or self.done or self.status == INPUT_REQUIRED
            if self.done:
                self._due = deadline.clock() + self._client.limits.request_timeout

    def _cancelled(self, answer: Dict[str, Any]) -> None:
        self._take(answer)
        self._let_go()

    def _report(self, until: Deadline, waiting: Waiting) -> None:
        """Hand over progress, too: the token of the call stays good as long as the task lasts
        [2025-11-25 basic/utilities/progress §Behavior Requirements] MUST."""
        request = self._request
        while request is not None and request.waiting:
            item = request.next(0)
            if isinstance(item, Progress):
                self._has_progress = True
                self._extend(until, waiting)
                request.report(item)
        if not self._has_progress:  # the message of the status says the same
            super()._report(until, waiting)

    def _let_go(self) -> None:
        """Keep nothing in the tables of the connection: the task is over."""
        connection = self._client.connection
        if self._request is not None:
            connection.table.let_go(self._request)
        if self._asked is not None:
            connection.cancel(self._asked, "the task is over")
            self._asked = None


def start(client: "Client", params: Dict[str, Any], ttl: Optional[float], options: "Options") -> HandshakeTask:
    """Call a tool as a task. ``ttl``: the seconds for which the server should keep it. Raises as a call does."""
    params = dict(params, task={} if ttl is None else {"ttl": round(ttl * 1000)})
    meta = options["meta"]
    if meta is not None:
        params["_meta"] = meta
    try:
        request, result = _create(client.connection, params, options)
    except ConnectionLost as error:
        request, result = _create(client.renewed(client.connection, error), params, options)
    return HandshakeTask.created(client, result, params["name"], options["progress"], request)


def _create(connection: "Connection", params: Dict[str, Any], options: "Options") -> Tuple[Pending, Dict[str, Any]]:
    pending = connection.open_request(
        CALL_TOOL, params, options["timeout"], options["progress"], options["extend_on_progress"])
    return pending, connection.wait(pending)


def call_as_task(client: "Client", params: Dict[str, Any], options: "Options") -> "CallToolResult":
    """Call a tool as a task, and wait as a call does."""
    task = start(client, params, None, options)
    return task.checked(task.settled(Waiting(options["timeout"], options["progress"], options["extend_on_progress"])))
