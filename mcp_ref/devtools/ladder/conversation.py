"""A session as a structure that is made once and drawn in several ways: lanes, steps, groups, remarks.

::

    made = Scribe()
    for event in events:
        made.take(event)
    conversation = made.conversation(remarks)

A step is one line of the drawing, a group is a set of steps that belong together: a phase of a connection, an HTTP
exchange whose response is a stream, the rounds of a request that wants input, the life of a task. What was found by a
judge is handed in as remarks, and stands at the step of its message, its exchange or its time.

`text.elided` leaves out the middle of long stretches in which nothing happened that one would look for. Texts of a
step are one line of ASCII, whatever a peer has sent; each form of drawing escapes what it needs beside that. Memory and
time grow with the number of events, not faster.
"""

from bisect import bisect_left
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Set, Tuple, Union

from ...jsontext import dumps
from ...methods import CANCELLED
from ...wiretrace import (
    CLIENT, CLOSE, END, HEADER, MESSAGE, OPEN, PROCESS, REQUEST, RESPONSE, SERVER, SSE_EVENT, STATE, STDERR, Event,
)
from ...wiretrace.text import TextForm, plain, shorten
from . import label_of
from .tasks import task_mention

HTTP, NOTE = "http", "note"
PHASE, STREAM, ROUNDS, TASK = "phase", "stream", "rounds", "task"
BEGINNING, HANDSHAKE, OPERATION, ENDING = "", "handshake", "operation", "end"
_LABEL = 120
_NOTE = 400
"""Characters of a step that is no message: the reason is in it."""
_ID = 24
ASKED, ANSWERED = "asked", "answered"
"""The senses of a step."""


class Remark(NamedTuple):
    """A finding of a judge; ``number``, ``exchange``, ``connection`` and ``time`` say where."""

    verdict: str
    title: str
    """The name of the rule."""
    party: str
    evidence: str
    number: int = 0
    """The number of the message, counted from 1; those of a batch one by one. 0: it is about none."""
    exchange: int = 0
    connection: str = ""
    time: float = 0.0


class Participant(NamedTuple):
    """A party of a connection."""

    connection: str
    party: str
    """client or server."""
    title: str


class LadderStep(NamedTuple):
    """A line of the drawing."""

    kind: str
    """message, http, process, stderr, or note."""
    direction: str
    """The sender, or the party that did it; "" for neither."""
    label: str
    time: float
    connection: str
    exchange: int = 0
    number: int = 0
    """The number of the message; 0 if it is none."""
    counted: str = ""
    """The method of a request or a notification, or of the request that is answered; "" for anything else."""
    sense: str = ""
    """``asked`` for a request, ``answered`` for a response whose request was seen, "" for anything else."""
    remarks: Tuple[Remark, ...] = ()
    status: str = ""
    """The status of a task that it tells; "" if it tells none."""
    turns: bool = False
    """True if the task had another status before."""
    answers: int = -1
    """The place of the request that it answers; -1 for none."""


class Gap(NamedTuple):
    """Steps that are left out."""

    label: str
    steps: int


class Group(NamedTuple):
    """Steps that belong together; ``steps`` are their places in the conversation, ascending."""

    kind: str
    """phase, stream, rounds, or task."""
    label: str
    connection: str
    steps: Tuple[int, ...]


class Conversation(NamedTuple):
    """A session."""

    lanes: Tuple[Participant, ...]
    steps: Tuple[Union[LadderStep, Gap], ...]
    groups: Tuple[Group, ...]
    astray: Tuple[Remark, ...] = ()
    """Remarks about no step that is here."""


class _OpenRequest(NamedTuple):
    """A request without an answer so far."""

    method: str
    place: int
    rounds: Optional[List[int]]
    """The steps of its rounds, if it is an attempt after the first."""
    task: str
    """The task that it is about; "" for none."""


class _Stream:
    """An event stream that is open."""

    def __init__(self, steps: List[int]) -> None:
        self.steps = steps
        self.events = 0


class _Task:
    """A task of a connection."""

    def __init__(self, steps: List[int]) -> None:
        self.steps = steps
        self.status = ""


class Scribe:
    """Makes a conversation of events, one by one."""

    def __init__(self) -> None:
        self._form = TextForm()
        self._steps: List[LadderStep] = []
        self._phases: List[str] = []
        """The phase of each step."""
        self._phase: Dict[str, str] = {}
        """The phase of each connection."""
        self._messages = 0
        self._head: Optional[int] = None
        """The last step, if it is an HTTP head that the next message may join."""
        self._transports: Dict[str, str] = {}
        self._groups: List[Tuple[str, str, str, List[int]]] = []
        self._requests: Dict[int, int] = {}
        """The step of the request of each exchange that is not over."""
        self._streams: Dict[int, _Stream] = {}
        self._asked: Dict[Tuple[str, str, str], _OpenRequest] = {}
        """By connection, sender and id."""
        self._refused: Set[int] = set()
        """HTTP exchanges whose status says what became of their requests."""
        self._cancelled: Set[Tuple[str, str, str]] = set()
        self._waiting: Dict[Tuple[str, str], List[int]] = {}
        """The rounds of the results that want input, by connection and what the next attempt repeats."""
        self._tasks: Dict[Tuple[str, str], _Task] = {}
        """By connection and id."""

    def take(self, event: Event) -> None:
        """Take the next event."""
        if event.kind in (HEADER, STATE):
            return
        self._transports.setdefault(event.connection, "")
        if event.kind == MESSAGE:
            for message in event.message if isinstance(event.message, list) else [event.message]:
                self._message(event, message)
        elif event.kind == REQUEST:
            if event.more.get("method") == "DELETE":
                self._phase[event.connection] = ENDING
            self._requests[event.exchange] = self._http(event, "%s %s" % (
                event.more.get("method"), event.more.get("target")))
            self._head = self._requests[event.exchange]
        elif event.kind == RESPONSE:
            self._response(event)
        elif event.kind == END:
            self._over(event)
        else:
            self._other(event)

    def conversation(self, remarks: Iterable[Remark] = ()) -> Conversation:
        """Return what was taken so far, with remarks at their steps."""
        several = len(self._transports) > 1
        lanes = [Participant(name, party, party + " (connection %s)" % name_of(name) * several)
                 for name in self._transports or ("",) for party in (CLIENT, SERVER)]
        groups = [Group(kind, label, connection, tuple(steps)) for kind, label, connection, steps in self._groups]
        steps, astray = _with_remarks(self._with_fates(), remarks)
        return Conversation(tuple(lanes), tuple(steps), (*self._grouped_by_phase(), *groups), tuple(astray))

    def since(self, place: int) -> Tuple[List[LadderStep], int]:
        """Return the steps from a place on, and the place from which a step may still become another one."""
        return self._steps[place:], len(self._steps) - (self._head is not None)

    def phase(self, place: int) -> str:
        """Return the phase of a step."""
        return self._phases[place]

    def grouped(self, known: int, place: int) -> Iterator[Tuple[int, Group]]:
        """Yield the groups of steps with their numbers: of the first ``known`` only steps from a place on, if any."""
        for number, (kind, label, connection, steps) in enumerate(self._groups):
            if number >= known:
                yield number, Group(kind, label, connection, tuple(steps))
            elif steps[-1] >= place:
                yield number, Group(kind, label, connection, tuple(steps[bisect_left(steps, place):]))

    def _with_fates(self) -> List[LadderStep]:
        """Return the steps; requests without a response say so."""
        steps = list(self._steps)
        for key, asked in self._asked.items():
            fate = "cancelled" if key in self._cancelled else "no response"
            step = steps[asked.place]
            if step.exchange in self._refused:
                continue
            steps[asked.place] = step._replace(label="%s  (%s)" % (step.label, fate))
        return steps

    def _grouped_by_phase(self) -> Iterator[Group]:
        open_: Dict[str, Tuple[str, List[int]]] = {}
        for place, (step, phase) in enumerate(zip(self._steps, self._phases)):
            last = open_.get(step.connection)
            if last is not None and last[0] == phase:
                last[1].append(place)
                continue
            if last is not None:
                yield Group(PHASE, last[0], step.connection, tuple(last[1]))
            open_[step.connection] = phase, [place]
        for connection, (phase, places) in open_.items():
            yield Group(PHASE, phase, connection, tuple(places))

    def _add(self, kind: str, event: Event, label: str, number: int = 0, counted: str = "", sense: str = "") -> int:
        """Add a step, or put it in the place of the HTTP head that it joins; return its place."""
        step = LadderStep(kind, event.direction, plain(shorten(label, _LABEL if number else _NOTE)), event.time,
                          event.connection, event.exchange, number, counted, sense)
        phase = self._phase.get(event.connection, BEGINNING)
        head = self._steps[self._head] if self._head is not None else None
        if number and head is not None and head[1:2] == step[1:2] and head[4:6] == step[4:6]:
            step = step._replace(label=shorten("%s  %s" % (step.label, head.label), _LABEL))
            self._steps[-1], self._phases[-1] = step, phase
        else:
            if number and event.exchange:
                step = step._replace(label="%s  [%d]" % (step.label, event.exchange))
            self._steps.append(step)
            self._phases.append(phase)
        self._head = None
        place = len(self._steps) - 1
        stream = self._streams.get(event.exchange) if event.exchange else None
        if stream is not None and stream.steps[-1] != place:
            stream.steps.append(place)
        return place

    # Messages

    def _message(self, event: Event, message: Any) -> None:
        self._messages += 1
        said = message if isinstance(message, dict) else {}
        method = said.get("method")
        if event.direction == CLIENT and method == "initialize":
            self._phase[event.connection] = HANDSHAKE
        elif self._phase.get(event.connection, BEGINNING) == BEGINNING:
            self._phase[event.connection] = OPERATION
        id = dumps(said["id"]) if said.get("id") is not None else ""
        label = shorten(label_of(message), _LABEL // 2) + " #" * bool(id) + shorten(id, _ID)
        asked: Optional[_OpenRequest] = None
        if isinstance(method, str):
            counted, sense = shorten(plain(method), _ID * 2), ASKED if id else ""
        else:
            asked = self._asked.pop((event.connection, SERVER if event.direction == CLIENT else CLIENT, id), None)
            counted, sense = (asked.method, ANSWERED) if asked is not None else ("", "")
        place = self._add(MESSAGE, event, label, self._messages, counted, sense)
        if event.exchange in self._streams and event.direction == SERVER and event.exchange:
            self._streams[event.exchange].events += 1
        task = self._of_task(event, message, asked, place)
        if asked is not None:
            self._steps[place] = self._steps[place]._replace(answers=asked.place)
            self._answered(event, said, asked, place)
        elif sense == ASKED:
            rounds = self._again(event, said, counted)
            if rounds is not None:
                rounds.append(place)
            self._asked[event.connection, event.direction, id] = _OpenRequest(counted, place, rounds, task)
        elif method == CANCELLED:
            key = event.connection, event.direction, _id_of(said.get("params"))
            if key in self._asked:
                self._cancelled.add(key)
        elif event.direction == CLIENT and method == "notifications/initialized":
            self._phase[event.connection] = OPERATION

    def _of_task(self, event: Event, message: Any, asked: Optional[_OpenRequest], place: int) -> str:
        """Add a step to those of the task that a message, or the request that it answers, is about; return its id."""
        said = task_mention(message)
        id = said.id or (asked.task if asked is not None else "")
        if not id:
            return ""
        task = self._tasks.get((event.connection, id))
        if task is None:
            begun = [asked.place] if asked is not None else []
            of = " of " + self._steps[asked.place].label if asked is not None and not asked.task else ""
            task = self._tasks[event.connection, id] = _Task(begun)
            self._groups.append((TASK, "task %s%s" % (shorten(plain(id), _ID), of), event.connection, task.steps))
        task.steps.append(place)
        if said.status:
            self._steps[place] = self._steps[place]._replace(
                status=shorten(plain(said.status), _ID), turns=said.status != task.status)
            task.status = said.status
        return id

    def _answered(self, event: Event, said: Dict[str, Any], asked: _OpenRequest, place: int) -> None:
        """Note the answer of a request: it ends its rounds, or wants another one."""
        rounds, result = asked.rounds, said.get("result")
        if rounds is not None:
            rounds.append(place)
        if isinstance(result, dict) and result.get("resultType") == "input_required":
            if rounds is None:
                rounds = [asked.place, place]
                self._groups.append((ROUNDS, "rounds of " + self._steps[asked.place].label, event.connection, rounds))
            for key in _keys(asked.method, result.get("requestState"), result.get("inputRequests"))[:1]:
                self._waiting[event.connection, key] = rounds

    def _again(self, event: Event, said: Dict[str, Any], method: str) -> Optional[List[int]]:
        """Return the steps of the rounds that a request goes on with; None for one that begins."""
        params = said.get("params")
        if not isinstance(params, dict) or not ("inputResponses" in params or "requestState" in params):
            return None
        keys = _keys(method, params.get("requestState"), params.get("inputResponses"))
        return next((self._waiting.pop((event.connection, key)) for key in keys
                     if (event.connection, key) in self._waiting), None)

    # HTTP, and the rest

    def _http(self, event: Event, label: str) -> int:
        return self._add(HTTP, event, "[%d] %s" % (event.exchange, label))

    def _response(self, event: Event) -> None:
        kinds = [value.partition(";")[0].strip() for name, value in pairs(event) if name.lower() == "content-type"]
        status = event.more.get("status")
        if isinstance(status, int) and status >= 400 and event.exchange:
            self._refused.add(event.exchange)
        label = " ".join([str(status), *kinds[:1]])
        if "text/event-stream" not in kinds or not event.exchange:
            self._head = self._http(event, label)
            return
        place = self._http(event, label + ", open")
        steps = [self._requests[event.exchange]] if event.exchange in self._requests else []
        steps.append(place)
        self._streams[event.exchange] = _Stream(steps)
        self._groups.append((STREAM, "stream [%d]" % event.exchange, event.connection, steps))

    def _over(self, event: Event) -> None:
        stream = self._streams.get(event.exchange)
        cut = event.more.get("complete") is False
        if stream is not None or cut or event.text:
            how = "closed" if not cut else "left" if event.direction == CLIENT else "cut off"
            count = "" if stream is None else " after %d event%s" % (stream.events, "s" * (stream.events != 1))
            self._http(event, how + count + ": " * bool(event.text) + event.text)
        self._streams.pop(event.exchange, None)
        self._requests.pop(event.exchange, None)

    def _other(self, event: Event) -> None:
        if event.kind == CLOSE or (event.kind == PROCESS and event.more.get("did") != "start"):
            self._phase[event.connection] = ENDING
        elif event.kind == OPEN:
            self._phase[event.connection] = BEGINNING
        elif event.kind == SSE_EVENT and event.exchange in self._streams:
            self._streams[event.exchange].events += 1
        kind = event.kind if event.kind in (PROCESS, STDERR) else HTTP if event.exchange else NOTE
        for text in self._form.said(event):
            self._add(kind, event, text)


def name_of(connection: str) -> str:
    """Return the name of a connection as people read it; the first has none in a trace."""
    return plain(shorten(connection, _ID)) or "1"


def pairs(event: Event) -> List[Tuple[str, str]]:
    """Return the header fields of an event that are pairs of strings."""
    fields = event.more.get("fields")
    return [(pair[0], pair[1]) for pair in (fields if isinstance(fields, list) else ())
            if isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, str) for part in pair)]


def _id_of(params: Any) -> str:
    id = params.get("requestId") if isinstance(params, dict) else None
    return "" if id is None else dumps(id)


def _keys(method: str, state: Any, named: Any) -> List[str]:
    """Return what ties an attempt to the result before it: the state, or else the names of the questions."""
    names = sorted(named) if isinstance(named, dict) else []
    return ["state " + dumps(state)] * (state is not None) + ["%s %s" % (method, dumps(names))]


# Remarks

def _with_remarks(steps: List[LadderStep], remarks: Iterable[Remark]) -> Tuple[List[LadderStep], List[Remark]]:
    """Return the steps with the remarks at their places, and the remarks that have none."""
    numbers = {step.number: place for place, step in enumerate(steps) if step.number}
    of_exchange: Dict[int, List[int]] = {}
    of_connection: Dict[str, List[int]] = {}
    for place, step in enumerate(steps):
        of_connection.setdefault(step.connection, []).append(place)
        if step.exchange:
            of_exchange.setdefault(step.exchange, []).append(place)
    found: Dict[int, List[Remark]] = {}
    astray = []
    for remark in remarks:
        at = numbers.get(remark.number) if remark.number else None
        if not remark.number:
            among = of_exchange.get(remark.exchange) or of_connection.get(remark.connection) or []
            at = among[max(_until(steps, among, remark.time) - 1, 0)] if among else None
        if at is None:
            astray.append(remark)
        else:
            found.setdefault(at, []).append(remark)
    marked = list(steps)
    for place, those in found.items():
        marked[place] = marked[place]._replace(remarks=tuple(those))
    return marked, astray


def _until(steps: List[LadderStep], among: List[int], time: float) -> int:
    """Return how many of some steps, in the order of time, are not later than a time."""
    low, high = 0, len(among)
    while low < high:
        middle = (low + high) // 2
        if steps[among[middle]].time <= time:
            low = middle + 1
        else:
            high = middle
    return low
