"""The server's side of a recording, played to a live client: the player, and its transport on standard streams.

A request is looked up by its method and its params, without ``_meta``. The n-th request of a kind gets what the n-th
of the recording got; when there is no further one, what the last one got. Ids, progress tokens and subscription ids are
those of the live client; questions of the server have ids of their own. `initialize` is answered whatever the client
calls itself: an answer that names another revision is a legal one
[..2025-11-25 basic/lifecycle §Version Negotiation].

A message comes after the pause that was recorded before it, of at most LONGEST_PAUSE; `Book` has the speed.

What was not recorded gets an error that names the nearest recorded request: -32601 for a method that the recording does
not have in this era, -32602 for other params. A request of the era without handshake gets -32600 if the whole recording
is of the other one: so a client of both eras begins again, with `initialize`
[2026-07-28 basic/versioning §Backward Compatibility with Initialization-Based Versions].
"""

import threading
from itertools import count
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from ...errors import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, ConnectionLost
from ...jsontext import JsonError, dumps, loads
from ...methods import CANCELLED, INITIALIZE, PROGRESS
from ...revisions import NAMES, revision
from ...threads import start_thread
from ...transports.base import Transport
from ...transports.lines.stdio import StdioServer
from ..checker.observed import META_REVISION, META_SUBSCRIPTION, NOTIFICATION, REQUEST, id_key, kind_of
from .script import (
    ANSWERS, RecordedConversation, Recording, Step, Turn, differences, key_of, shown_request, texts, without_meta,
)

LONGEST_PAUSE = 10.0
"""The seconds of the longest pause, at the recorded speed."""
_NEAREST = 3
"""The places in which the nearest recorded request differs that an error names."""
_QUESTION = "replay-%d"
"""The form of the ids of the server's questions, which no client takes for ids of its own."""


class PlayCounts:
    """A count of what a player has done."""

    def __init__(self) -> None:
        self.answered = 0
        """Requests that were answered from the recording."""
        self.refused: List[str] = []
        """Requests that were not recorded, each in a line."""
        self.other: List[str] = []
        """Answers of clients that are not as recorded."""
        self.played: Set[int] = set()
        """The numbers of the recorded messages of the client that came again."""


class Book:
    """A script in which turns can be looked up. Live sessions share it; thread-safe.

    ``speed``: how many times as fast as it was recorded it is played; 0: without pauses.
    """

    def __init__(self, script: Recording, speed: float = 0.0) -> None:
        self.script = script
        self.speed = speed
        self.tally = PlayCounts()
        self._lock = threading.Lock()
        self._turns: Dict[str, List[Tuple[RecordedConversation, Turn]]] = {}
        self._given: Set[int] = set()
        for talk in script.talks:
            for turn in talk.turns:
                self._turns.setdefault(turn.key, []).append((talk, turn))
                if turn.message.method == INITIALIZE:
                    self._turns.setdefault(INITIALIZE, []).append((talk, turn))

    def recorded(self, message: Dict[str, Any]) -> List[Tuple[RecordedConversation, Turn]]:
        """Return the turns that have this message of a client, with their talks."""
        method = message["method"]
        found = self._turns.get(key_of(method, message.get("params")), [])
        if method == INITIALIZE:
            found = found or self._turns.get(INITIALIZE, [])
            wanted = message.get("params", {}).get("protocolVersion")
            found = sorted(found, key=lambda pair: pair[1].message.params.get("protocolVersion") != wanted)
        era = is_stateless(message)
        if era is None or kind_of(message) == NOTIFICATION:
            return found
        return [pair for pair in found if pair[1].stateless == era]

    def talk_for(self, message: Dict[str, Any]) -> Optional[RecordedConversation]:
        """Return the talk that a new live session follows: the first that has its request and was not followed yet."""
        talks = [talk for talk, _ in self.recorded(message)]
        with self._lock:
            fresh = [talk for talk in talks if id(talk) not in self._given]
            chosen = (fresh or talks or [None])[0]  # type: ignore[list-item]
            if chosen is not None:
                self._given.add(id(chosen))
        return chosen

    def refusal(self, message: Dict[str, Any]) -> Tuple[int, str]:
        """Return the code and the text of the error for a request that was not recorded."""
        method, params, era = message["method"], message.get("params"), is_stateless(message)
        turns = [turn for turn in self.script.turns if turn.is_request]
        said = "not in the recording: %s" % shown_request(method, params)
        if era and turns and not any(turn.stateless for turn in turns):
            return INVALID_REQUEST, "%s; it was recorded with a handshake: begin with initialize" % said
        same = [turn for turn in turns if turn.message.method == method and era in (None, turn.stateless)]
        if not same:
            other = [turn for turn in turns if turn.message.method == method]
            why = "the recording has this method in another revision only: %s" % self._named(other[0]) if other else (
                "the recording has no %s; nearest is %s" % (method, self._nearest_method(turns, method)))
            return METHOD_NOT_FOUND, "%s; %s" % (said, why)
        asked = without_meta(params)
        pairs = [(list(differences(asked, without_meta(turn.message.params))), turn) for turn in same]
        found, nearest = min(pairs, key=lambda pair: len(pair[0]))
        where = "; ".join(texts(found[:_NEAREST], ("here", "there")))
        return INVALID_PARAMS, "%s; the nearest recorded request is %s: %s" % (said, self._named(nearest), where)

    def _nearest_method(self, turns: List[Turn], method: str) -> str:
        from difflib import get_close_matches

        close = get_close_matches(method, [turn.message.method for turn in turns], 1, 0.0)
        found = next((turn for turn in turns if close and turn.message.method == close[0]), None)
        return self._named(found) if found is not None else "nothing: it has no request of a client"

    def _named(self, turn: Turn) -> str:
        message = turn.message
        place = "line %d of %s" % (message.line, self.script.name) if message.line else "message %d of %s" % (
            message.index, self.script.name)
        return "%s (%s)" % (shown_request(message.method, message.params), place)

    def note(self, act: Callable[[PlayCounts], Any]) -> None:
        """Change the tally."""
        with self._lock:
            act(self.tally)


def is_stateless(message: Dict[str, Any]) -> Optional[bool]:
    """Return True for a request of the era without handshake, False for one of the other; None if it cannot be told."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    named = meta.get(META_REVISION) if isinstance(meta, dict) else None
    if isinstance(named, str) and named in NAMES:
        return revision(named).stateless
    return False if named is None else None


class PlayedTurn:
    """A turn that is played: the live request, and how far it is."""

    __slots__ = ("turn", "id", "token", "at", "paused", "left", "place")

    def __init__(self, turn: Turn, message: Dict[str, Any], place: Any) -> None:
        params = message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        self.turn = turn
        self.id = message.get("id")
        self.token = meta.get("progressToken") if isinstance(meta, dict) else None
        self.at = 0
        self.paused = False
        """True if the pause before the next step is over."""
        self.left = False
        """True if the client has given it up."""
        self.place = place
        """The place where its messages go, as the owner of the player gave it."""


Send = Callable[[Dict[str, Any], Any, bool], Any]
"""Is called with a message, the place of the request that it belongs to (None: of none), and whether it came apart."""


class Player:
    """Plays a recording to one live client. ``send`` gets each message; it must not wait, nor call the player.

    Thread-safe. Messages of one turn go out in their order. A pause has a thread of its own, and `close` ends all.
    """

    def __init__(self, book: Book, send: Send) -> None:
        self._book = book
        self._send = send
        self._talk: Optional[RecordedConversation] = None
        self._uses: Dict[str, int] = {}
        self._runs: Dict[int, PlayedTurn] = {}
        """Recorded request -> its last run."""
        self._waiting: List[PlayedTurn] = []
        self._by_id: Dict[Any, PlayedTurn] = {}
        self._questions: Dict[str, Step] = {}
        """The live id of each question -> its step."""
        self._asked: Dict[int, str] = {}
        """The number of each recorded question -> its live id."""
        self._answered: Set[int] = set()
        self._numbers = count(1)
        self._lock = threading.RLock()
        self._pauses = 0
        """The number of turns that pause."""
        self._over = threading.Condition(self._lock)
        self._closed = threading.Event()

    def receive(self, message: Any, place: Any = None) -> Optional[Turn]:
        """Take a message of the client; return the turn that it begins. ``place``: is given to ``send`` again."""
        kind = kind_of(message)
        with self._lock:
            if kind in (REQUEST, NOTIFICATION):
                return self._begin(message, kind == REQUEST, place)
            if kind in ANSWERS:
                self._take_answer(message)
            else:
                self._refuse(None, INVALID_REQUEST, "this is no JSON-RPC message", place)
        return None

    def _begin(self, message: Dict[str, Any], wants_answer: bool, place: Any) -> Optional[Turn]:
        if message["method"] == CANCELLED:
            self._cancel(message)
        turn = self._find(message)
        if turn is None:
            if wants_answer:
                code, text = self._book.refusal(message)
                self._book.note(lambda tally: tally.refused.append(text))
                self._refuse(message["id"], code, text, place)
            return None
        run = PlayedTurn(turn, message, place)
        self._runs[turn.message.index] = run
        if wants_answer:
            self._by_id[id_key(run.id)] = run
        self._book.note(lambda tally: tally.played.add(turn.message.index))
        self._advance(run)
        return turn

    def _find(self, message: Dict[str, Any]) -> Optional[Turn]:
        found = self._book.recorded(message)
        if not found:
            return None
        if self._talk is None or message["method"] == INITIALIZE:
            self._talk = self._book.talk_for(message) or self._talk
        own = [turn for talk, turn in found if talk is self._talk]
        turns = own or [turn for _, turn in found]
        key = INITIALIZE if message["method"] == INITIALIZE else turns[0].key
        used = self._uses[key] = self._uses.get(key, 0) + 1
        return turns[min(used, len(turns)) - 1]

    def _advance(self, run: PlayedTurn) -> None:
        steps = run.turn.steps
        while run.at < len(steps) and not run.left:
            step = steps[run.at]
            if step.awaits and step.message.index in self._asked and step.message.index not in self._answered:
                if run not in self._waiting:
                    self._waiting.append(run)
                return
            pause = min(LONGEST_PAUSE, step.pause) / self._book.speed if self._book.speed else 0.0
            if pause and not run.paused and not run.turn.refusal:
                self._pauses += 1
                start_thread("mcp-ref:pause", self._continue, run, pause)
                return
            run.at, run.paused = run.at + 1, False
            if not step.awaits:
                self._play(step, run)
        if not run.left:
            self._make_up(run)

    def _continue(self, run: PlayedTurn, pause: float) -> None:
        self._closed.wait(pause)
        with self._lock:
            try:
                run.paused = True
                if not self._closed.is_set():
                    self._advance(run)
            except ConnectionLost:
                pass  # the thread that reads notices that, too, and says so
            finally:
                self._pauses -= 1
                self._over.notify_all()

    def drain(self) -> None:
        """Wait until no turn pauses."""
        with self._lock:
            self._over.wait_for(lambda: not self._pauses)

    def close(self) -> None:
        """End all pauses, and send nothing after them."""
        self._closed.set()

    def _make_up(self, run: PlayedTurn) -> None:
        """Refuse a request whose answer was not recorded."""
        turn = run.turn
        if turn.unanswered:
            text = "the recording does not say what came of %s" % shown_request(
                turn.message.method, turn.message.params)
            self._book.note(lambda tally: tally.refused.append(text))
            self._refuse(run.id, INTERNAL_ERROR, text, run.place)
        elif turn.answer is None and turn.refusal and turn.is_request:
            self._refuse(run.id, INVALID_REQUEST, "the recorded server has refused this with the HTTP status %d"
                         % turn.refusal, run.place)

    def _play(self, step: Step, run: PlayedTurn) -> None:
        owner = run if step.owner is None else self._runs.get(step.owner.message.index)
        if owner is None or owner.left:
            return  # the client has not asked for it
        message = dict(step.message.data)
        if step.message.kind in ANSWERS:
            message["id"] = owner.id
            self._book.note(_count_answer)
        elif step.message.kind == REQUEST:
            message["id"] = _QUESTION % next(self._numbers)
            self._questions[message["id"]] = step
            self._asked[step.message.index] = message["id"]
        if not self._rewrite(message, step, owner):
            return
        self._send(message, owner.place, step.apart and step.message.kind not in ANSWERS)

    def _rewrite(self, message: Dict[str, Any], step: Step, owner: PlayedTurn) -> bool:
        """Put the live ids into a message that goes out; return False if the live client did not want it."""
        part = "result" if "result" in message else "params"
        params = message.get(part)
        if not isinstance(params, dict):
            return True
        params = message[part] = dict(params)
        if step.message.method == PROGRESS:
            if owner.token is None:
                return False
            params["progressToken"] = owner.token
        elif step.message.method == CANCELLED and "requestId" in params:
            asked = step.message.request
            params["requestId"] = owner.id if asked is None else self._asked.get(asked.index, owner.id)
        meta = params.get("_meta")
        if isinstance(meta, dict) and META_SUBSCRIPTION in meta:
            params["_meta"] = {**meta, META_SUBSCRIPTION: owner.id}
        return True

    def _take_answer(self, message: Dict[str, Any]) -> None:
        step = self._questions.pop(message["id"], None) if isinstance(message.get("id"), str) else None
        if step is None:
            return
        self._answered.add(step.message.index)
        recorded = self._recorded_answer(step)
        if recorded is not None:
            part = "result" if "result" in recorded else "error"
            found = list(differences(recorded[part], message.get(part), part))
            if found:
                text = "%s is answered otherwise than in the recording, which goes on as it was: %s" % (
                    step.message.method, "; ".join(texts(found[:_NEAREST], ("there", "here"))))
                self._book.note(lambda tally: tally.other.append(text))
        waiting, self._waiting = self._waiting, []
        for run in waiting:
            self._advance(run)

    def _recorded_answer(self, step: Step) -> Any:
        for talk in self._book.script.talks:
            for each in talk.messages:
                if each.request is step.message and each.kind in ANSWERS:
                    return each.data
        return None

    def _cancel(self, message: Dict[str, Any]) -> None:
        params = message.get("params")
        run = self._by_id.get(id_key(params.get("requestId"))) if isinstance(params, dict) else None
        if run is not None:
            self.leave(run.id)

    def leave(self, id: Any, place: Any = None) -> None:
        """Stop the turn of a request, which its client has given up. ``place``: only if it is that of the request."""
        with self._lock:
            run = self._by_id.get(id_key(id))
            if run is not None and place in (None, run.place):
                run.left = True
                if run in self._waiting:
                    self._waiting.remove(run)

    def _refuse(self, id: Any, code: int, text: str, place: Any) -> None:
        self._send({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}}, place, False)


def _count_answer(tally: PlayCounts) -> None:
    tally.answered += 1


def play(book: Book, transport: Optional[Transport] = None, tell: Callable[[str], Any] = lambda text: None) -> None:
    """Play to the client on the other end of a pipe, until it ends its side; by default on standard input and output.

    Messages of a batch are answered one by one. Raises `ConnectFailed` where there are no streams.
    """
    pipe = StdioServer() if transport is None else transport
    pipe.open()

    def send(message: Dict[str, Any], place: Any, apart: bool) -> None:
        pipe.write([dumps(message).encode("ascii")])

    player = Player(book, send)
    try:
        while True:
            items = pipe.read()
            if items is None:
                player.drain()
                return
            for item in items:
                if isinstance(item, bytes):
                    _receive(player, item, send)
                else:
                    send(_error(INVALID_REQUEST, str(getattr(item, "error", item))), None, False)
    except ConnectionLost as error:
        tell("the client went away: %s" % error)
    finally:
        player.close()
        pipe.close()


def _receive(player: Player, data: bytes, send: Callable[[Dict[str, Any], Any, bool], None]) -> None:
    try:
        value = loads(data)
    except JsonError as error:
        send(_error(PARSE_ERROR, "Parse error: %s" % error), None, False)
        return
    for message in value if isinstance(value, list) and value else [value]:
        player.receive(message)


def _error(code: int, text: str) -> Dict[str, Any]:
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": text}}
