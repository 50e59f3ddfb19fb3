"""Differences by meaning: between two recordings, and between a recording and a live server that it is played to.

=============  ======================================================================================================
part           what is compared
=============  ======================================================================================================
revision       the revisions that were spoken
parties        how client and server call themselves, and the server's instructions
capabilities   what each has declared
tools          and resources, resourceTemplates, prompts: what was listed, by name, with all members (schemas too)
results        the responses to equal requests (same method, same params), the n-th with the n-th; requests that only
               one of them has
order          the order of requests that both have; what the server sent about each, and asked meanwhile. Of what it
               said by itself (a log message, a changed list) only the methods count: when it comes is chance
=============  ======================================================================================================

`Drive` plays the client's side. Each recorded conversation has a connection of its own. A message goes out when all
requests have an answer that had one before it in the recording; so what ran at the same time does so again. Questions
of the server get the answers that the recorded client gave to the questions of that method, in their order.

What the server makes anew (a cursor, the id of a task, a request state) is learnt from its answers and sent in place
of what the recording has. A request with a masked secret for which nothing was learnt is left out: nobody knows the
secret.
"""

import threading
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple, Union

from ...deadline import clock
from ...errors import ConnectFailed
from ...jsonrpc import id_key
from ...methods import (
    DISCOVER, INITIALIZE, INITIALIZED, LIST_PROMPTS, LIST_RESOURCES, LIST_RESOURCE_TEMPLATES, LIST_TOOLS, PROGRESS,
)
from ...revisions import LATEST
from ...threads import start_thread
from ...wiretrace import CLIENT, SERVER, Trace
from ..checker.observed import (
    META_CAPABILITIES, META_CLIENT, META_SUBSCRIPTION, NOTIFICATION, REQUEST, RESULT, Message, kind_of,
)
from ..examiner.talk import ExaminerConversation as Fields, Wire
from ..examiner.wire import Pipe, Sse, Web, answer_to, as_bytes, is_response
from .script import (
    ANSWERS, ASIDE, MASK, RecordedConversation, Recording, Step, Turn, ValueDifference, differences, masks_in, named,
    shown_request,
)

LISTS: Dict[str, Tuple[str, str]] = {
    LIST_TOOLS: ("tools", "name"), LIST_RESOURCES: ("resources", "uri"),
    LIST_RESOURCE_TEMPLATES: ("resourceTemplates", "uriTemplate"), LIST_PROMPTS: ("prompts", "name"),
}
"""Method of a list -> the member of its result, and what names an item."""
_OPENING = (INITIALIZE, DISCOVER)
_PRESENT, _ABSENT = "recorded", "absent"


class Contrast(NamedTuple):
    """One difference between two recordings: the part of the table, where it is, and what each of them has."""

    part: str
    where: str
    left: str
    right: str

    def __str__(self) -> str:
        return "%s: %s: %s | %s" % self


def compare(left: Recording, right: Recording) -> List[Contrast]:
    """Return what differs in meaning, in the order of the table."""
    return [found for part in _PARTS for found in part(left, right)]


def _told(part: str, ends: Tuple[Any, Any], where: str = "") -> Iterator[Contrast]:
    for each in differences(ends[0], ends[1]):
        yield Contrast(part, ", ".join(filter(None, (where, each.path))), each.left, each.right)


def _revisions(left: Recording, right: Recording) -> Iterator[Contrast]:
    spoken = [list(dict.fromkeys(turn.message.revision.name for turn in script.turns if turn.message.revision))
              for script in (left, right)]
    if spoken[0] != spoken[1]:
        yield Contrast("revision", "spoken", *(", ".join(each) or "not known" for each in spoken))


def _parties(left: Recording, right: Recording) -> Iterator[Contrast]:
    for party in (CLIENT, SERVER):
        yield from _told("parties", (declared(left, party)["info"], declared(right, party)["info"]), party)


def _capabilities(left: Recording, right: Recording) -> Iterator[Contrast]:
    for party in (CLIENT, SERVER):
        ends = declared(left, party)["capabilities"], declared(right, party)["capabilities"]
        yield from _told("capabilities", ends, party)


def declared(script: Recording, party: str) -> Dict[str, Any]:
    """Return what a party has said of itself when it opened, members ``info`` and ``capabilities``; {} if nothing."""
    info: Dict[str, Any] = {}
    capabilities: Dict[str, Any] = {}
    for turn in script.turns:
        said = turn.message.params if turn.message.method == INITIALIZE else {}
        if party == SERVER:
            said = turn.answer.result if turn.answer is not None and turn.message.method in _OPENING else {}
            info = info or {name: said[name] for name in ("serverInfo", "instructions") if name in said}
        else:
            info = info or {"clientInfo": said.get("clientInfo") or turn.message.meta.get(META_CLIENT) or {}}
        found = said.get("capabilities") or (turn.message.meta.get(META_CAPABILITIES) if party == CLIENT else None)
        capabilities = capabilities or (found if isinstance(found, dict) else {})
    return {"info": info, "capabilities": capabilities}


def _lists(left: Recording, right: Recording) -> Iterator[Contrast]:
    for method, (member, key) in LISTS.items():
        ends = listed(left, method), listed(right, method)
        for name in dict.fromkeys([*ends[0], *ends[1]]):
            if name in ends[0] and name in ends[1]:
                yield from _told(member, (ends[0][name], ends[1][name]), name)
            else:
                yield Contrast(member, name, *(_PRESENT if name in end else _ABSENT for end in ends))


def listed(script: Recording, method: str) -> Dict[str, Any]:
    """Return what the results of a method list, by name: of one that was listed twice, what was said last."""
    member, key = LISTS[method]
    found: Dict[str, Any] = {}
    for turn in script.turns:
        if turn.message.method == method and turn.answer is not None:
            found.update(named(turn.answer.result.get(member), key))
    return found


def paired(left: Recording, right: Recording) -> Tuple[List[Tuple[Turn, Turn]], List[Turn], List[Turn]]:
    """Return the requests that both have, the n-th of a kind with the n-th, and those that only one has."""
    waiting: Dict[str, List[Turn]] = {}
    for turn in right.turns:
        if turn.is_request:
            waiting.setdefault(_kind(turn), []).append(turn)
    pairs, only = [], []
    for turn in left.turns:
        if turn.is_request:
            found = waiting.get(_kind(turn))
            if found:
                pairs.append((turn, found.pop(0)))
            else:
                only.append(turn)
    return pairs, only, [turn for turns in waiting.values() for turn in turns]


def _kind(turn: Turn) -> str:
    """Return what makes two requests a pair; those that open a conversation differ in their params."""
    return turn.message.method if turn.message.method in _OPENING else turn.key


def _results(left: Recording, right: Recording) -> Iterator[Contrast]:
    pairs, only_left, only_right = paired(left, right)
    for ours, theirs in pairs:
        if ours.message.method not in _OPENING and not (ours.message.method in LISTS and all(
                each.answer is not None and each.answer.kind == RESULT for each in (ours, theirs))):
            yield from _told("results", (answer_of(ours), answer_of(theirs)), _shown(ours))
    for turn in only_left:
        yield Contrast("results", _shown(turn), _PRESENT, _ABSENT)
    for turn in only_right:
        yield Contrast("results", _shown(turn), _ABSENT, _PRESENT)


def answer_of(turn: Turn) -> Dict[str, Any]:
    """Return what came of a request: its result, its error, or the status of HTTP; {} for nothing."""
    if turn.answer is not None:
        return {name: turn.answer.data[name] for name in ("result", "error") if name in turn.answer.data}
    return {"status": turn.refusal} if turn.refusal else {}


def _order(left: Recording, right: Recording) -> Iterator[Contrast]:
    pairs, _, _ = paired(left, right)
    places = sorted(range(len(pairs)), key=lambda place: pairs[place][1].message.index)
    for place, other in enumerate(places):
        if place != other:
            yield Contrast("order", "request %d that both have" % (place + 1), _shown(pairs[place][0]),
                           _shown(pairs[other][1]))
            break
    for ours, theirs in pairs:
        ends = _sequence(ours), _sequence(theirs)
        if ends[0] != ends[1]:
            yield Contrast("order", _shown(ours), ", ".join(ends[0]) or "nothing", ", ".join(ends[1]) or "nothing")
    alone = _by_itself(left), _by_itself(right)
    for method in sorted(alone[0] ^ alone[1]):
        yield Contrast("order", method, *(_PRESENT if method in end else _ABSENT for end in alone))


def _by_itself(script: Recording) -> Set[str]:
    """Return the methods of the notifications that the server has sent about no request."""
    return {step.message.method for turn in script.turns for step in turn.steps
            if step.message.kind == NOTIFICATION and not _is_about(step, turn)}


def _is_about(step: Step, turn: Turn) -> bool:
    """Return True for a notification that says by a token or an id that it belongs to a request.

    Which stream of HTTP carries another one is left out: a pipe does not tell.
    """
    return step.owner is turn and (step.message.method == PROGRESS or META_SUBSCRIPTION in step.message.meta)


def _sequence(turn: Turn) -> List[str]:
    """Return what happens about a request, with a count for what happens several times in a row."""
    runs: List[Tuple[str, int]] = []
    for step in turn.steps:
        if step.message.kind == NOTIFICATION and not _is_about(step, turn):
            continue
        label = "answer to " * step.awaits + (step.message.method if "method" in step.message.data else
                                              step.message.kind)
        if runs and runs[-1][0] == label:
            runs[-1] = label, runs[-1][1] + 1
        else:
            runs.append((label, 1))
    return [label if times == 1 else "%d %s" % (times, label) for label, times in runs]


def _shown(turn: Turn) -> str:
    return shown_request(turn.message.method, {} if turn.message.method in _OPENING else turn.message.params)


_PARTS: Tuple[Callable[[Recording, Recording], Iterator[Contrast]], ...] = (
    _revisions, _parties, _capabilities, _lists, _results, _order)


PATIENCE = 20.0
"""The seconds for which an answer is waited for."""
_END_SECONDS = 2.0
"""The seconds for which the end of streams is waited for."""


class Answered(NamedTuple):
    """The outcome of one recorded request."""

    request: str
    """The request, for people."""
    line: int
    """The line of the recording; 0 if it is not known."""
    differences: List[ValueDifference]
    """The places where the live answer differs from the recorded one: recorded, then live."""
    why: str = ""
    """The reason why it was not sent, or not compared; "" if it was."""


class _PipeLine:
    """A pipe as a line to the server."""

    def __init__(self, pipe: Union[Pipe, Sse], oblige: Callable[[Dict[str, Any]], Any]) -> None:
        self._pipe = pipe
        pipe.oblige = oblige

    def open(self) -> None:
        """Start the process or connect. Raises `TransportError`."""
        self._pipe.open()

    def send(self, message: Dict[str, Any], recorded: Optional[Message] = None) -> str:
        """Send a message; return "" or the reason why that failed."""
        refused = self._pipe.send(message)
        return "" if refused is None else refused.why

    def wait(self, id: Any, seconds: float) -> Optional[Dict[str, Any]]:
        """Wait for the response to a request; None if none comes."""
        key = id_key(id)
        found: Optional[Dict[str, Any]] = self._pipe.wait(
            lambda each: is_response(each) and id_key(each.get("id")) == key, seconds)
        return found

    @property
    def ended(self) -> str:
        """The reason why the connection is over; "" while it is not."""
        return self._pipe.ended

    def close(self) -> None:
        """End the connection."""
        self._pipe.close()


class _WebLine:
    """HTTP as a line to the server: each request has a thread, and a stream brings what the server says by itself."""

    ended = ""

    def __init__(self, web: Web, oblige: Callable[[Dict[str, Any]], Any], patience: float) -> None:
        self._web = web
        self._oblige = oblige
        self._patience = patience
        self._fields = Fields(web, LATEST, patience)
        self._changed = threading.Condition()
        self._answers: Dict[Any, Dict[str, Any]] = {}
        self._threads: List[threading.Thread] = []

    def open(self) -> None:
        """Do nothing: each request connects for itself."""

    def send(self, message: Dict[str, Any], recorded: Optional[Message] = None) -> str:
        """Send a message; of a request the answer is waited for elsewhere."""
        if recorded is not None and recorded.revision is not None and message.get("method") != INITIALIZE:
            self._fields.revision = recorded.revision
        pairs = [*self._fields.header_fields(message, {}), *_custom(recorded)]
        if kind_of(message) != REQUEST or message["method"] == INITIALIZE:
            self._post(pairs, message)
        else:
            self._threads.append(start_thread("mcp-ref:replay", self._post, pairs, message))
        if message.get("method") == INITIALIZED:
            self._threads.append(start_thread("mcp-ref:replay", self._listen))
        return ""

    def _post(self, pairs: Any, message: Dict[str, Any]) -> None:
        key = id_key(message.get("id"))
        came = self._web.send("POST", pairs, as_bytes(message), self._patience, self._taker(key))
        answer = came.message if came.message is not None else {"status": came.status, "why": came.why}
        if came.message is None and came.status is not None and came.status >= 400:
            del answer["why"]
        if message.get("method") == INITIALIZE and came.result is not None:
            self._fields.begin(came.field("Mcp-Session-Id") or "")
        with self._changed:
            self._answers.setdefault(key, answer)
            self._changed.notify_all()

    def _taker(self, key: Any) -> Callable[[Any], bool]:
        """Return a function that sees each message of a response, and is true for the answer."""
        def wanted(message: Any) -> bool:
            if kind_of(message) == REQUEST:
                self._oblige(message)
            return is_response(message) and id_key(message.get("id")) in (key, id_key(None))
        return wanted

    def _listen(self) -> None:
        pairs = [(name, value) for name, value in self._fields.header_fields(None, {}) if name != "Content-Type"]
        self._web.send("GET", pairs, None, self._patience, self._taker(object()))

    def wait(self, id: Any, seconds: float) -> Optional[Dict[str, Any]]:
        """Wait for what comes of a request: its response, or an object that says what came in its place."""
        key, until = id_key(id), clock() + seconds
        with self._changed:
            while key not in self._answers and clock() < until:
                self._changed.wait(max(0.0, until - clock()))
            return self._answers.get(key)

    def close(self) -> None:
        """End the session and the connections."""
        self._fields.close()
        until = clock() + _END_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, until - clock()))


def _custom(recorded: Optional[Message]) -> List[Any]:
    """Return the header fields that repeat parameters of a tool, as they were recorded."""
    fields = recorded.exchange.fields if recorded is not None and recorded.exchange is not None else []
    return [(name, value) for name, value in fields
            if name.lower().startswith("mcp-param-") and not MASK.search(value)]


class Drive:
    """Plays the client's side of a recording. ``make``: makes a wire to the server, as
    `mcp_ref.devtools.examiner.wire_to` does.

    ``patience``: the seconds for which each answer is waited for.
    """

    def __init__(self, script: Recording, make: Callable[[Trace], Wire], patience: float = PATIENCE) -> None:
        self._script = script
        self._make = make
        self._patience = patience
        self._learnt: Dict[str, str] = {}
        """A string that the recorded server has made anew -> that of the live one."""
        self.unexpected: List[str] = []
        """Questions of the live server for which the recording has no answer."""
        self.answers: List[Answered] = []

    def run(self, trace: Optional[Trace] = None) -> List[Answered]:
        """Play all conversations, one after the other. Raises `ConnectFailed` if the server cannot be reached."""
        for talk in self._script.talks:
            if any(turn.is_request for turn in talk.turns):
                _ClientConversation(self, talk, self._make(trace or Trace()), self._patience).run()
        return self.answers

    def learn(self, recorded: Any, live: Any) -> None:
        """Compare an answer with the recorded one, and remember what the live server has made anew."""
        if isinstance(recorded, dict) and isinstance(live, dict):
            for name, value in recorded.items():
                if isinstance(value, str) and isinstance(live.get(name), str) and (
                        name in ASIDE or MASK.fullmatch(value)):
                    self._learnt[value] = live[name]
                else:
                    self.learn(value, live.get(name))
        elif isinstance(recorded, list) and isinstance(live, list):
            for ours, theirs in zip(recorded, live):
                self.learn(ours, theirs)

    def current(self, value: Any) -> Any:
        """Return a value in which the strings that were made anew are those of the live server."""
        if isinstance(value, dict):
            return {name: self.current(member) for name, member in value.items()}
        if isinstance(value, list):
            return [self.current(item) for item in value]
        return self._learnt.get(value, value) if isinstance(value, str) else value


class _ClientConversation:
    """One recorded conversation, played on one connection."""

    def __init__(self, drive: Drive, talk: RecordedConversation, wire: Wire, patience: float) -> None:
        self._drive = drive
        self._talk = talk
        self._patience = patience
        self._line: Union[_PipeLine, _WebLine] = (
            _WebLine(wire, self._oblige, patience) if isinstance(wire, Web) else _PipeLine(wire, self._oblige))
        self._replies: Dict[str, List[Dict[str, Any]]] = {}
        """Method of a question -> what the recorded client has answered, in order."""
        self._waiting: List[Turn] = []
        for message in talk.messages:
            if message.sender == CLIENT and message.kind in ANSWERS and message.request is not None:
                self._replies.setdefault(message.request.method, []).append(dict(message.data))

    def run(self) -> None:
        """Play it."""
        self._line.open()
        try:
            for turn in self._talk.turns:
                self._settle(turn.message.index)
                self._begin(turn)
            self._settle(None)
        finally:
            self._line.close()

    def _settle(self, before: Optional[int]) -> None:
        """Wait for the answers that came before a message in the recording; None: for all."""
        due = [turn for turn in self._waiting if turn.answer is not None and (
            before is None or turn.answer.index < before)]
        for turn in sorted(due, key=lambda each: each.answer.index if each.answer is not None else 0):
            self._waiting.remove(turn)
            self._judge(turn)
        for turn in list(self._waiting) if before is None else ():
            if turn.refusal:
                self._judge(turn)

    def _begin(self, turn: Turn) -> None:
        message = self._drive.current(dict(turn.message.data))
        masked = list(masks_in(message))
        if masked:
            self._note(turn, [], "not sent: %s is masked in the recording" % ", ".join(masked))
            return
        why = self._line.ended or self._line.send(message, turn.message)
        if why and turn.is_request:
            self._note(turn, [], "not sent: %s" % why)
            if turn.message.method == INITIALIZE:
                raise ConnectFailed("the server went away: %s" % why)
        elif turn.is_request:
            self._waiting.append(turn)

    def _judge(self, turn: Turn) -> None:
        recorded, live = answer_of(turn), self._line.wait(turn.message.id, self._patience)
        if live is None:
            self._note(turn, [], "no answer%s" % (
                ": " + self._line.ended if self._line.ended else " in %g s" % self._patience))
            return
        answer = {name: member for name, member in live.items() if name not in ("jsonrpc", "id")}
        self._drive.learn(recorded, answer)
        self._note(turn, list(differences(recorded, answer)))

    def _note(self, turn: Turn, found: List[ValueDifference], why: str = "") -> None:
        shown = shown_request(turn.message.method, turn.message.params if turn.message.method != INITIALIZE else {})
        if turn.is_request:
            self._drive.answers.append(Answered(shown, turn.message.line, found, why))

    def _oblige(self, question: Dict[str, Any]) -> None:
        """Answer a question of the server as the recorded client did."""
        replies = self._replies.get(question["method"])
        if replies:
            answer = {**(replies.pop(0) if len(replies) > 1 else replies[0]), "id": question["id"]}
        else:
            self._drive.unexpected.append(shown_request(question["method"], question.get("params")))
            answer = answer_to(question, {})
        self._line.send(answer)
