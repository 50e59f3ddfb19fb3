"""The trial: the attacks are made one after the other, and what comes of each is noted.

That includes the memory and the descriptors that the server holds after it (Linux only, by /proc). A server that was
started here and does not answer any more is started again, a few times. One that was not, and is gone, ends the trial.
An input that stops a server is made smaller, where a start takes no time.
"""

import os
import threading
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from ....deadline import clock
from ....errors import McpError
from ....http11.client.connect import CancelScope, Connector
from ....jsontext import dumps
from ....revisions import Revision
from ....threads import start_thread
from ..scenes import PIPE, WEB
from ..stage import MakeWire, SceneStage
from ..talk import ExaminerConversation, NotSpoken
from ..wire import Reaction, is_response
from . import ATTACKS, SECONDS
from .heads import RawRequest, chunks, cuts, exchange, heads
from .texts import (
    A_REQUEST, Frame, cut, deep, doubled, lines, long, make_ordinary, mutations, nature, requests, syntax, wrong_types,
)


class ResourceUse(NamedTuple):
    """The holdings of a session of processes."""

    memory: int
    """Bytes in memory."""
    descriptors: int
    processes: int


def resource_use(leader: Optional[int]) -> Optional[ResourceUse]:
    """Return what the session of processes that this one leads holds; None where that cannot be told."""
    if leader is None or not os.path.isdir("/proc/%d/fd" % leader):
        return None
    memory = descriptors = 0
    members = _members(leader)
    for pid in members:
        try:
            with open("/proc/%d/statm" % pid, encoding="ascii") as file:
                memory += int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            descriptors += len(os.listdir("/proc/%d/fd" % pid))
        except (OSError, ValueError, IndexError):
            continue  # it has ended meanwhile
    return ResourceUse(memory, descriptors, len(members)) if memory else None


def _members(leader: int) -> List[int]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
                if int(fields[3]) == leader:
                    found.append(int(name))
            except (OSError, ValueError, IndexError):
                continue
    return found


MUTATIONS = 400
FLOOD_MESSAGES, FLOOD_BYTES, FLOOD_CONNECTIONS = 1_000, 8_000_000, 64
DEATHS = 3
"""Inputs of an attack after which the server may be started again."""
MEMORY = 64 * 1024 * 1024
"""Bytes that a process may keep after an attack, beside half of what it had before."""
DESCRIPTORS = 8
"""Descriptors that it may keep."""
_SETTLE = 3.0
"""Seconds that it has to give back what it holds."""
_SMALLER_SECONDS, _SMALLER_TRIES = 4.0, 24
_STARTS = 3
"""Conversations that are opened until one is."""
_SILENT = 2.0
"""Seconds for which an answer over HTTP is waited for, of inputs that may be without one."""
_LATE = 0.2
"""Seconds after which an answer to an earlier input does not come any more."""
_TOGETHER, _SMALL = 10, 2_000
"""Frames that are sent at once on a pipe, and the bytes of one of them at most."""
_LARGE = 32 * 1024
"""Bytes above which writing may have to wait for the server to read."""
_OWN_FAULT = frozenset((501, 503, 505))
"""Statuses from 500 on that are an answer to a bad request, too."""
STOPS, RESULT, ERROR, STATUS, SILENT, KEEPS = "stops", "result", "error", "status", "silent", "keeps"
KINDS = {STOPS: "the server does not answer any more", RESULT: "a result for what is no request",
         ERROR: "an error that is none", STATUS: "a status that blames the server", SILENT: "no answer to a request",
         KEEPS: "more is held than before"}
"""Kind of a weakness -> what it is, the worst first."""


class Attack(NamedTuple):
    """A row: ``make`` returns its frames, or its raw requests; a flood has none."""

    wires: Tuple[str, ...]
    make: Any
    raw: bool = False


class Weakness(NamedTuple):
    """A fault of a server with one input."""

    attack: str
    kind: str
    number: int
    evidence: str
    sent: str
    """The input, as it is shown."""


class AttackResult:
    """The result of an attack in one revision."""

    def __init__(self, name: str, revision: Revision) -> None:
        self.name = name
        self.revision = revision
        self.sent = self.all = self.deaths = 0
        self.back: Optional[bool] = None
        """True if memory and descriptors are back; None: that cannot be told."""
        self.weaknesses: List[Weakness] = []

    def has(self, *kinds: str) -> bool:
        """Return True if there is a weakness of one of these kinds."""
        return any(each.kind in kinds for each in self.weaknesses)

    def note(self, kind: str, number: int, evidence: str, data: bytes = b"") -> None:
        """Note a weakness, the first of its kind at an input."""
        if all((each.kind, each.number) != (kind, number) for each in self.weaknesses):
            self.weaknesses.append(Weakness(self.name, kind, number, evidence, shown(data)))


class _Gone(Exception):
    """The server cannot be reached any more; the text says why."""


def shown(data: bytes) -> str:
    """Return bytes as they are shown in a report: the begin and the end, and how many there are."""
    if len(data) <= 100:
        return repr(data)[1:] if data else ""
    return "%s ... %s (%d bytes)" % (repr(data[:60])[1:], repr(data[-20:])[1:], len(data))


_BOTH = (PIPE, WEB)
_ROWS: Dict[str, Attack] = dict(zip(ATTACKS, (
    Attack(_BOTH, lambda trial: cut(trial.ordinary)),
    Attack(_BOTH, lambda trial: syntax(trial.ordinary)),
    Attack(_BOTH, lambda trial: doubled(trial.ordinary)),
    Attack(_BOTH, lambda trial: lines(trial.ordinary)),
    Attack(_BOTH, lambda trial: deep(trial.ordinary)),
    Attack(_BOTH, lambda trial: long(trial.ordinary)),
    Attack(_BOTH, lambda trial: wrong_types(trial.requests())),
    Attack(_BOTH, lambda trial: mutations(trial.requests(), trial.seed, MUTATIONS)),
    Attack((WEB,), lambda trial: heads(trial.talk, trial.ordinary("h")), True),
    Attack((WEB,), lambda trial: chunks(trial.talk, trial.ordinary("h")), True),
    Attack((WEB,), lambda trial: cuts(trial.talk, trial.ordinary("h")), True),
    Attack(_BOTH, None),
)))


class Trial:
    """The attacks on a server in one revision; ``only``: name -> the numbers of the inputs that are sent, or none for
    all; empty: all attacks. ``seconds``: for all of them.
    """

    def __init__(
        self, make: MakeWire, revision: Revision, allowed: FrozenSet[str], patience: float, seed: int,
        only: Mapping[str, FrozenSet[int]], seconds: float = SECONDS, tell: Callable[[str], Any] = lambda line: None,
    ) -> None:
        self.seed = seed
        self.revision = revision
        self._make, self._only, self._tell = make, only, tell
        self._stage = SceneStage(make, revision, patience, allowed)
        self._patience = patience
        self._seconds = seconds
        self._until = 0.0
        self.results: List[AttackResult] = []
        self.gone = ""
        """The reason why the trial has ended early; "" if it has not."""

    @property
    def talk(self) -> ExaminerConversation:
        """The conversation on which the inputs are sent, or a new one. Raises `_Gone`."""
        why = ""
        for _ in range(_STARTS):
            try:
                return self._stage.aside
            except (NotSpoken, McpError) as error:
                why = str(error)
        raise _Gone(why)

    def ordinary(self, id: Any) -> Dict[str, Any]:
        """Return the request that every server answers, with an id."""
        return make_ordinary(self._stage, self.talk, id)

    def requests(self) -> List[Dict[str, Any]]:
        """Return legal requests."""
        return requests(self._stage, self.talk)

    def run(self) -> List[AttackResult]:
        """Make the attacks, and return what came of them. Raises `NotSpoken`, `McpError` if there is no server."""
        try:
            self._stage.look()
            self._until = clock() + self._seconds
            names = [name for name, row in _ROWS.items() if self._stage.wire in row.wires and (
                not self._only or name in self._only)]
            for number, name in enumerate(names):
                self._attack(name, _ROWS[name], len(names) - number)
        except _Gone as error:
            self.gone = str(error)
        finally:
            self._stage.leave()
        return self.results

    def _attack(self, name: str, row: Attack, left: int) -> None:
        """Make an attack; ``left``: the number of those that share the time that is left, with this one."""
        result = AttackResult(name, self._stage.revision)
        inputs = list(enumerate(_floods(self) if row.make is None else row.make(self), 1))
        result.all = len(inputs)
        wanted = self._only.get(name)
        inputs = [each for each in inputs if not wanted or each[0] in wanted]
        talk = self.talk
        talk.alive()
        before = _held(talk)
        self.results.append(result)
        until = clock() + max(0.0, self._until - clock()) / left
        for batch in _batches(inputs) if row.make is not None and not row.raw and not talk.wire.is_web else (
                [each] for each in inputs):
            if clock() > until or result.deaths >= DEATHS:
                break
            self._tell("%s: %s: %d of %d" % (result.revision, name, batch[0][0], result.all))
            result.sent += len(batch)
            self._play(result, row, batch)
        if before is not None and self.talk is talk:
            _give_back(result, talk, before)

    def _play(self, result: AttackResult, row: Attack, batch: List[Tuple[int, Any]]) -> None:
        if len(batch) > 1 and not self._suspicious([frame for _, frame in batch]):
            return
        deaths = result.deaths
        for number, each in batch:
            if row.make is None:
                self._flood(result, number, *each)
            elif row.raw:
                self._raw(result, number, each)
            else:
                self._frame(result, number, each)
            if result.deaths > deaths and result.deaths >= DEATHS:
                return

    def _suspicious(self, frames: List[Frame]) -> bool:
        """Send several frames at once; return True if one of them may have done harm: then each is sent alone."""
        talk = self.talk
        why, answers = self._asked(talk, b"\n".join(frame.data for frame in frames))
        return bool(why) or any(_is_bad_error(each) for each in answers) or (
            nature(frames[0].data) != A_REQUEST and any("result" in each for each in answers))

    # One input

    def _frame(self, result: AttackResult, number: int, frame: Frame) -> None:
        talk = self.talk
        kind = nature(frame.data, talk.wire.is_web)
        if talk.wire.is_web:
            answer = talk.web.send("POST", talk.header_fields(frame.like, {}), frame.data, min(_SILENT, self._patience))
            if answer.message is not None:
                _judge(result, number, frame.data, answer.message, kind, str(answer))
            if answer.status is not None and answer.status >= 500 and answer.status not in _OWN_FAULT:
                result.note(STATUS, number, str(answer), frame.data)
            elif answer.status is None and kind != A_REQUEST:
                result.note(SILENT, number, str(answer), frame.data)
            self._survived(result, number, talk.alive(), frame.data)
            return
        why, answers = self._asked(talk, frame.data)
        if kind != A_REQUEST and any("result" in each for each in answers) and not result.has(RESULT):
            # It may be a late answer to an input before: the same once more, in silence.
            threading.Event().wait(_LATE)
            why, answers = self._asked(talk, frame.data)
        for message in answers:
            _judge(result, number, frame.data, message, kind, str(Reaction(message)))
        self._survived(result, number, why, frame.data)

    def _asked(self, talk: ExaminerConversation, data: bytes) -> Tuple[str, List[Dict[str, Any]]]:
        """Send a frame on a pipe; return the reason why the server does not answer any more, or "", and its responses.
        """
        since = len(talk.pipe.messages)
        why = self._written(talk, data) or talk.alive()
        return why, [each for each in talk.pipe.messages[since:]
                     if is_response(each) and not isinstance(each.get("id"), int)]

    def _written(self, talk: ExaminerConversation, data: bytes) -> str:
        """Send a frame on a pipe; return the reason why the server does not read it, or ""."""
        if len(data) < _LARGE:
            _write(talk, data)
            return ""
        return self._within(talk, lambda: _write(talk, data))

    def _within(self, talk: ExaminerConversation, send: Callable[[], Any]) -> str:
        """Call a function that may wait for the server to read; if it waits for too long, end the conversation."""
        thread = start_thread("mcp-ref:examiner", send)
        thread.join(4 * self._patience)
        if not thread.is_alive():
            return ""
        talk.wire.close()
        thread.join()
        return "it does not read what is sent"

    def _survived(self, result: AttackResult, number: int, why: str, data: bytes) -> None:
        if not why:
            return
        result.deaths += 1
        data = self._smaller(data) if result.deaths == 1 else data
        result.note(STOPS, number, why, data)
        if self.talk.alive():
            raise _Gone("after %s number %d: %s" % (result.name, number, why))

    def _raw(self, result: AttackResult, number: int, asked: RawRequest) -> None:
        answer = exchange(self._connector(), asked)
        said = "%s: %s" % (asked.what, answer.why or "status %s, %s" % (answer.status, shown(answer.body)))
        if answer.status is not None and answer.status >= 500 and answer.status not in _OWN_FAULT:
            result.note(STATUS, number, said, asked.data)
        elif asked.refuse and answer.status is not None and answer.status < 300 and b'"result"' in answer.body:
            result.note(RESULT, number, said, asked.data)
        self._survived(result, number, self.talk.alive(), asked.data)

    def _connector(self) -> Connector:
        return self.talk.web.connector

    def _flood(self, result: AttackResult, number: int, what: str, play: Callable[[], str]) -> None:
        talk, why = self.talk, ""
        if talk.wire.is_web:
            why = play()
        else:
            said: List[str] = []
            why = self._within(talk, lambda: said.append(play())) or "".join(said)
        if why:
            result.note(SILENT, number, "%s: %s" % (what, why))
        died = talk.alive()
        self._survived(result, number, died and "%s: %s" % (what, died), b"")

    def _smaller(self, data: bytes) -> bytes:
        """Return a part of an input that stops a server that was started here, too."""
        until, tries = clock() + _SMALLER_SECONDS, _SMALLER_TRIES
        size = len(data) // 2
        while size:
            for at in range(0, len(data), size):
                part = data[:at] + data[at + size:]
                tries -= 1
                if tries < 0 or clock() > until:
                    return data
                if part and self._stops(part):
                    data = part
                    break
            else:
                size //= 2
        return data

    def _stops(self, data: bytes) -> bool:
        talk = self.talk
        if talk.wire.is_web or talk.pipe.pid is None or len(data) >= _LARGE:
            return False
        _write(talk, data)
        talk.say(talk.ordinary(), seconds=min(_SILENT, self._patience))
        return bool(talk.wire.ended)


def _write(talk: ExaminerConversation, data: bytes) -> None:
    for line in data.split(b"\n"):  # the transport sends lines
        talk.say(line, seconds=0)


def _judge(result: AttackResult, number: int, data: bytes, message: Dict[str, Any], kind: str, said: str) -> None:
    """Note what is wrong with a response to an input."""
    if "result" in message and kind != A_REQUEST:
        result.note(RESULT, number, "%s gets %s" % (kind, said), data)
    elif _is_bad_error(message):
        result.note(ERROR, number, said, data)


def _is_bad_error(message: Dict[str, Any]) -> bool:
    error = message.get("error")
    return "error" in message and not (isinstance(error, dict) and isinstance(error.get("message"), str) and isinstance(
        error.get("code"), int) and not isinstance(error["code"], bool))


def _batches(inputs: List[Tuple[int, Frame]]) -> Iterator[List[Tuple[int, Frame]]]:
    """Put small frames together that may, or must not, get results."""
    batch: List[Tuple[int, Frame]] = []
    kind = ""
    for each in inputs:
        data = each[1].data
        of = "" if len(data) > _SMALL else A_REQUEST if nature(data) == A_REQUEST else "other"
        if batch and (len(batch) == _TOGETHER or not of or of != kind):
            yield batch
            batch = []
        batch.append(each)
        kind = of
    if batch:
        yield batch


# What a process holds

def _held(talk: ExaminerConversation) -> Optional[ResourceUse]:
    return None if talk.wire.is_web else resource_use(talk.pipe.pid)


def _give_back(result: AttackResult, talk: ExaminerConversation, before: ResourceUse) -> None:
    until = clock() + _SETTLE
    pause = threading.Event()
    while True:
        talk.alive()
        after = _held(talk)
        if after is None:
            return
        more = after.memory > before.memory * 1.5 + MEMORY
        open_ = after.descriptors > before.descriptors + DESCRIPTORS
        result.back = not more and not open_
        if result.back or clock() > until:
            break
        pause.wait(0.1)
    if more:
        result.note(KEEPS, 0, "%d MB in memory, and %d before" % (after.memory >> 20, before.memory >> 20))
    if open_:
        result.note(KEEPS, 0, "%d descriptors, and %d before" % (after.descriptors, before.descriptors))


# Floods

def _floods(trial: Trial) -> Iterator[Tuple[str, Callable[[], str]]]:
    talk = trial.talk
    yield "%d bytes in large requests" % FLOOD_BYTES, lambda: _large(trial.talk)
    if talk.wire.is_web:
        yield "%d requests from 8 threads" % FLOOD_MESSAGES, lambda: _threads(trial.talk)
        for what, data in (("idle connections", b""),
                           ("connections with half a head", b"POST / HTTP/1.1\r\nHost: x\r\n")):
            yield "%d %s" % (FLOOD_CONNECTIONS, what), lambda data=data: _connections(  # type: ignore[misc]
                trial.talk, trial.talk.web.connector, data)
        return
    yield "%d requests at once" % FLOOD_MESSAGES, lambda: _at_once(trial.talk)
    for what, message in (("unknown notifications", talk.message("notifications/examiner/unknown")),
                          ("lines that are no JSON", b"{")):
        yield "%d %s" % (FLOOD_MESSAGES, what), lambda message=message: _many(  # type: ignore[misc]
            trial.talk, message)


def _large(talk: ExaminerConversation) -> str:
    each = FLOOD_BYTES // 8
    for _ in range(8):
        message = talk.ordinary()
        message["params"] = {**message.get("params", {}), "_meta": {
            **message.get("params", {}).get("_meta", {}), "example.com/large": "x" * each}}
        answer = talk.say(message)
        if answer.message is None and answer.status is None:
            return str(answer)
    return ""


def _at_once(talk: ExaminerConversation) -> str:
    wanted = {talk.next_id: None for _ in range(FLOOD_MESSAGES)}
    since = len(talk.pipe.messages)
    method = ordinary_of(talk)
    for id in wanted:
        talk.say(talk.message(method, id=id), seconds=0)
    got = set()

    def all_there(message: Any) -> bool:
        if isinstance(message, dict) and isinstance(message.get("id"), int):
            got.add(message["id"])
        return got.issuperset(wanted)

    talk.pipe.wait(all_there, 2 * talk.patience, since)
    missing = len(set(wanted) - got)
    return "%d were not answered" % missing if missing else ""


def ordinary_of(talk: ExaminerConversation) -> str:
    """Return the method of the request that every server answers."""
    return str(talk.ordinary()["method"])


def _many(talk: ExaminerConversation, message: Any) -> str:
    data = message if isinstance(message, bytes) else dumps(message).encode("ascii")
    for _ in range(FLOOD_MESSAGES):
        talk.say(data, seconds=0)
    return ""


def _threads(talk: ExaminerConversation) -> str:
    silent: List[str] = []
    messages = [talk.ordinary() for _ in range(FLOOD_MESSAGES)]

    def send(part: List[Dict[str, Any]]) -> None:
        for message in part:
            answer = talk.say(message)
            if answer.status is None or (answer.status >= 500 and answer.status != 503):
                silent.append(str(answer))
                return

    threads = [start_thread("mcp-ref:examiner", send, messages[at::8]) for at in range(8)]
    for thread in threads:
        thread.join()
    return silent[0] if silent else ""


def _connections(talk: ExaminerConversation, connector: Connector, data: bytes) -> str:
    """Hold connections open, and ask beside them. A server may refuse some."""
    sockets = []
    try:
        for _ in range(FLOOD_CONNECTIONS):
            try:
                sockets.append(connector.dial(CancelScope()))
                sockets[-1].sendall(data)
            except (McpError, OSError):
                continue
        return talk.alive()
    finally:
        for sock in sockets:
            sock.close()
