"""A task of the extension of 2026-07-28, as its caller holds it [2026-07-28 extensions/tasks/tasks §Task Polling].

The result comes with the state, and so do the questions: each is put to the callbacks of the client once, as if it had
come by itself, and its answer is sent by `tasks/update`
[2026-07-28 extensions/tasks/tasks §Task Update Requests] SHOULD.
"""

from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Set, Type

from ... import deadline
from ...codec import DecodeError, decode
from ...deadline import Deadline
from ...errors import AnswerLost, ConnectionLost, LocalProtocolError, PeerError, PeerProtocolError
from ...jsonrpc import shown
from ...messages.base import COMPLETE
from ...messages.extensions.tasks import DetailedTask, TaskCreated
from ...methods import CALL_TOOL, UPDATE_TASK, lookup, result_class
from ...options import spelt
from ...protocol.tasks import COMPLETED, FAILED, INPUT_REQUIRED, WORKING
from ..mrtr import InputRounds, on_wire
from .task import Self, ToolTask

if TYPE_CHECKING:
    from ...peer.request_table import ProgressCallback
    from ..client import Client
    from ..subscriptions import Subscription

FILTER = "taskIds"
"""The member of the filter of `subscriptions/listen`."""
RARELY = 20
"""The number of intervals between two looks at a task of which the server tells by itself."""


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

    def _interval(self) -> float:
        """Return the seconds until the next look: many more while the server tells by itself."""
        is_told = self._subscription is not None and bool(self._subscription.agreed.more)
        return super()._interval() * (RARELY if is_told else 1)

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
