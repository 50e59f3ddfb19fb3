"""A task of the extension of 2026-07-28, as its caller holds it [2026-07-28 extensions/tasks/tasks §Task Polling].

The result comes with the state, and so do the questions: each is put to the callbacks of the client once, as if it had
come by itself, and its answer is sent by `tasks/update`
[2026-07-28 extensions/tasks/tasks §Task Update Requests] SHOULD.

Who waits is told, where the server agrees: a `subscriptions/listen` with the task's id goes out when the first look is
LISTEN_FROM seconds away or more, and ends with the wait. The looks go on as the server wishes them, each time twice as
far apart as before while they bring nothing that the stream has not told. A stream that is refused, or ends, costs
nothing but its request: the next look comes when it would have come without one. Measured with an interval of 2 s, a
task of 0.2 s is known to be over after 0.2 s instead of 2, one of 5 s after 5 instead of 6, with 2 requests for 3.

On a pipe or a socket a stream costs no thread. Over HTTP it costs one, and a connection, so a client has no more than
`mcp_ref.client.tasks.told.HTTP_STREAMS` of them at a time, and further tasks are polled.
"""

from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Set, Tuple, Type

from ... import deadline
from ...codec import DecodeError, decode
from ...deadline import Deadline
from ...errors import AnswerLost, ConnectionLost, LocalProtocolError, PeerError, PeerProtocolError
from ...jsonrpc import shown
from ...messages.base import COMPLETE
from ...messages.extensions.tasks import DetailedTask, TaskCreated
from ...methods import CALL_TOOL, UPDATE_TASK, lookup, result_class
from ...options import spelt
from ...peer.extension import Waiting
from ...protocol.tasks import COMPLETED, FAILED, INPUT_REQUIRED, WORKING
from ..mrtr import InputRounds, on_wire
from .task import Self, ToolTask

if TYPE_CHECKING:
    from ...peer.request_table import ProgressCallback
    from ..client import Client
    from ..subscriptions import Subscription
    from .told import TaskStream

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

    @spelt
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

    @spelt
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
        from .told import TaskStream

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
