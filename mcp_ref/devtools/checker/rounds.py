"""Questions of servers to clients, and their answers, however they travel.

Until 2025-11-25 a question is a request of the server. In 2026-07-28 questions lie in a result that wants input, under
keys, and the answers in the next attempt of the client. `input_questions` and `answers` give both in one form. An
attempt is tied to the result that it answers before the rules are asked about it: ``message.notes["round"]`` is its
`PendingRound`, and ``message.notes["tied"]`` says by what: STATE, or KEYS. A task shows its questions each time that a
client looks at it, and is answered by `tasks/update`: there a question counts where it is seen first.
"""

from typing import Any, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from ...diagnostics.redaction import MASK
from ...methods import GET_TASK, NAMED, TASK_NOTICE, UPDATE_TASK
from ...wiretrace import CLIENT, SERVER
from .bounds import Forgetful
from .observed import NOTIFICATION, REQUEST, RESULT, Message
from .rules import ANSWERED, MESSAGE, observe
from .values import members

ATTEMPTS = NAMED
"""The requests that may be answered by questions, and the member that names what they are about: those of `Mcp-Name`.
"""
STATE, KEYS = "state", "keys"
INPUT_REQUIRED = "input_required"
_STATES = 4096
"""Request states of a trace that are remembered, each with its request and result."""
_TARGETS = 1024
"""Tools, prompts and resources of one session whose rounds are remembered."""
_SAME = 8
"""Rounds about one name that may be open at once."""

Target = Tuple[str, Any]


class InputQuestion(NamedTuple):
    """A question of a server."""

    method: str
    params: Mapping[str, Any]
    where: str
    """The place of the params in the message."""
    has_params: bool


class InputAnswer(NamedTuple):
    """An answer of a client."""

    question: InputQuestion
    result: Mapping[str, Any]
    where: str
    """The place of the result in the message."""
    asked: Message
    """The message with the question."""


class PendingRound:
    """A result that wants input, and the request that it answers."""

    __slots__ = ("request", "result", "target", "questions", "state", "retried")

    def __init__(self, request: Message, result: Message) -> None:
        self.request = request
        self.result = result
        self.target = target_of(request)
        self.questions = members(result.result.get("inputRequests"))
        self.state: Any = result.result.get("requestState")
        self.retried = False


class PendingRounds:
    """The rounds of a session by what they are about, the newest last."""

    def __init__(self) -> None:
        self.about: "Forgetful[Target, List[PendingRound]]" = Forgetful(_TARGETS)


class TaskQuestions:
    """The questions of tasks on a connection, by task and key, each with the message that had it first."""

    def __init__(self) -> None:
        self.seen: "Forgetful[Tuple[str, str], Tuple[Any, Message]]" = Forgetful(_TARGETS)


class RequestStates:
    """The request states of the whole trace."""

    def __init__(self) -> None:
        self.rounds: "Forgetful[str, PendingRound]" = Forgetful(_STATES)


def target_of(request: Message) -> Target:
    """Return what an attempt is about."""
    name = request.params.get(ATTEMPTS.get(request.method, ""))
    return request.method, name if isinstance(name, str) else None


def round_of(message: Message) -> Optional[PendingRound]:
    """Return the round that an attempt goes on with; None if none is known."""
    return message.notes.get("round")


def responses(message: Message) -> Mapping[str, Any]:
    """Return the answers in an attempt by their keys."""
    return members(message.params.get("inputResponses"))


def candidates(message: Message) -> List[PendingRound]:
    """Return the rounds about the same, with one of whose questions an answer of this attempt has the key; newest
    first.
    """
    found: List[PendingRound] = message.session.state(PendingRounds).about.get(target_of(message), [])
    given = responses(message)
    return [each for each in reversed(found) if any(key in given for key in each.questions)]


def goes_on(message: Message) -> bool:
    """Return True for an attempt that has answers or a state."""
    return "inputResponses" in message.params or "requestState" in message.params


@observe(on=MESSAGE, method=tuple(ATTEMPTS))
def tie(message: Message) -> None:
    """Tie an attempt to its round, and note a new round."""
    if message.revision is None or not message.revision.stateless:
        return
    if message.kind == RESULT and message.sender == SERVER:
        if message.result.get("resultType") == INPUT_REQUIRED and message.request is not None:
            _open(message, message.request)
    elif message.kind == REQUEST and message.sender == CLIENT and goes_on(message):
        state = message.params.get("requestState")
        found: Optional[PendingRound] = None
        if isinstance(state, str) and state != MASK:
            found = message.connection.trace.state(RequestStates).rounds.get(state)
        message.notes["tied"] = STATE
        if found is None:
            matching = candidates(message)
            found = next((each for each in matching if not each.retried), matching[0] if matching else None)
            message.notes["tied"] = KEYS
            message.notes["several"] = message.exchange is not None and len(matching) > 1
        if found is not None:
            message.notes["round"] = found


def _open(message: Message, request: Message) -> None:
    made, known = PendingRound(request, message), message.session.state(PendingRounds)
    if isinstance(made.state, str) and made.state != MASK:
        message.connection.trace.state(RequestStates).rounds[made.state] = made
    same: List[PendingRound] = known.about.get(made.target, [])
    known.about[made.target] = (same + [made])[-_SAME:]


@observe(on=MESSAGE, method=(GET_TASK, TASK_NOTICE))
def note_first(message: Message) -> None:
    """Note the questions of a task that were not shown before."""
    state = message.result if message.kind == RESULT else message.params
    asked = message.request if message.kind == RESULT else message
    id = asked.params.get("taskId") if asked is not None else None
    if message.sender != SERVER or not isinstance(id, str) or id == MASK:
        return
    seen = message.connection.state(TaskQuestions).seen
    fresh = [key for key in members(state.get("inputRequests")) if (id, key) not in seen]
    for key in fresh:
        seen[id, key] = (state["inputRequests"][key], message)
    if fresh:
        message.notes["fresh"] = fresh


@observe(on=ANSWERED)
def go_on(message: Message) -> None:
    """Note that a round was gone on with."""
    found = round_of(message)
    if found is not None:
        found.retried = True
        found.request.notes.pop("round", None)  # otherwise each would hold the one before it


def input_questions(message: Message, method: str) -> Iterator[InputQuestion]:
    """Yield the questions of a method in a message of the server."""
    if message.sender != SERVER:
        return
    if message.kind == REQUEST:
        if message.method == method:
            yield InputQuestion(method, message.params, "params", isinstance(message.data.get("params"), dict))
    elif "fresh" in message.notes or message.kind == RESULT and message.result.get("resultType") == INPUT_REQUIRED:
        holder, where = (message.params, "params") if message.kind == NOTIFICATION else (message.result, "result")
        for key, value in members(holder.get("inputRequests")).items():
            if members(value).get("method") == method and key in message.notes.get("fresh", (key,)):
                params = value.get("params")
                yield InputQuestion(method, members(params), "%s.inputRequests.%s.params" % (where, key[:40]),
                                    isinstance(params, dict))


def answers(message: Message, method: str) -> Iterator[InputAnswer]:
    """Yield the answers to questions of a method in a message of the client."""
    if message.sender != CLIENT:
        return
    asked = message.request
    if message.kind == RESULT:
        if message.method == method and asked is not None and isinstance(message.data.get("result"), dict):
            yield InputAnswer(InputQuestion(method, asked.params, "params", True), message.result, "result", asked)
        return
    for key, value in responses(message).items() if message.kind == REQUEST else ():
        question, source = _asked(message, key)
        if source is not None and question.get("method") == method and isinstance(value, dict):
            yield InputAnswer(InputQuestion(method, members(question.get("params")), "", True), value,
                              "params.inputResponses.%s" % key[:40], source)


def _asked(message: Message, key: str) -> Tuple[Mapping[str, Any], Optional[Message]]:
    """Return the question that an answer of a request has the key of, and the message that had it."""
    if message.method == UPDATE_TASK:
        known = message.connection.state(TaskQuestions).seen.get((str(message.params.get("taskId")), key))
        return (members(known[0]), known[1]) if known is not None else (_NO_QUESTION, None)
    found = round_of(message)
    return (members(found.questions.get(key)), found.result) if found is not None else (_NO_QUESTION, None)


_NO_QUESTION: Mapping[str, Any] = {}
