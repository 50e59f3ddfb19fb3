"""A recording as a script: each message of the client, and what the server sent because of it, in order.

=============================================  ========================================================================
a message of the server                        belongs to
=============================================  ========================================================================
a response                                     the request that it answers
`notifications/progress`                       the request whose token it has
one with a subscription id, but the first      the last request that is open, or else the last message of the client:
                                               something happened then; it goes to the stream of the subscription
one in the response to a POST                  the request of that POST
anything else                                  the last request that is open, or else the last message of the client
=============================================  ========================================================================

A question of the server holds up what came after it in the same turn until the client has answered, if it had answered
before that in the recording. A step has the pause before it: the seconds since the one before it in its turn. What a
script cannot have is the order between turns.

Messages are compared by meaning. What is made anew in each conversation is set aside: an id, a cursor, a token, a
moment. Where the protocol has such a value in a member of its own (ASIDE), it is enough that both have one. In texts,
which are the server's own, dates in ISO 8601, times of the day with seconds, and UUIDs are set aside. Everything else
counts, the order of arrays too; the order of members does not.
"""

import re
from base64 import b64decode
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from ...jsontext import dumps
from ...methods import CANCELLED, LISTEN, PROGRESS
from ...wiretrace import BODY, CLIENT, GAP, SERVER, Event
from ...wiretrace.text import plain, shorten
from ..checker.checker import Watcher
from ..checker.observed import ERROR, META_SUBSCRIPTION, NOTIFICATION, REQUEST, RESULT, Message, ObservedSession, id_key

ASIDE = frozenset((
    "nextCursor", "cursor", "requestState", "taskId", "createdAt", "lastUpdatedAt", "lastModified", "elicitationId",
    "progressToken", "requestId", "io.modelcontextprotocol/subscriptionId", "traceparent", "tracestate", "baggage",
))
"""Members of the protocol whose value is made anew in each conversation."""
MASK = re.compile(r"\*\*\*(?:[0-9a-f]{8}!?)?")
"""The mask of a secret in a trace; see `mcp_ref.wiretrace`."""
_ANEW = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"
    r"|\b\d{1,2}:\d\d:\d\d(?:\s?[AP]M\b)?"
    r"|\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b|\*\*\*[0-9a-f]{8}!?")
_LISTS = {"tools": "name", "prompts": "name", "resources": "uri", "resourceTemplates": "uriTemplate"}
"""Members of results that are lists of named things -> the member that names one."""
_SHOWN = 60


class ValueDifference(NamedTuple):
    """A place where two values differ, with both, shortened for people; "absent" for what one does not have."""

    path: str
    left: str
    right: str

    def __str__(self) -> str:
        return "%s: %s, %s" % (self.path or "all of it", self.left, self.right)


def differences(left: Any, right: Any, path: str = "") -> Iterator[ValueDifference]:
    """Yield where two values differ in meaning."""
    if isinstance(left, dict) and isinstance(right, dict):
        yield from _of_objects(left, right, path)
    elif isinstance(left, list) and isinstance(right, list):
        for place in range(max(len(left), len(right))):
            ends = [side[place] if place < len(side) else _ABSENT for side in (left, right)]
            yield from differences(ends[0], ends[1], "%s[%d]" % (path, place))
    elif not _same(left, right):
        yield ValueDifference(path, _shown(left), _shown(right))


def _text_of(blob: Any) -> Any:
    """Return the text that a value has in base64, if it is one: a moment may be in it."""
    try:
        return b64decode(blob, validate=True).decode("utf-8") if isinstance(blob, str) else blob
    except ValueError:
        return blob


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        return plain_form(left) == plain_form(right) or _hides(left, right) or _hides(right, left)
    return isinstance(left, bool) == isinstance(right, bool) and bool(plain_form(left) == plain_form(right))


def _hides(masked: str, text: str) -> bool:
    """Return True if a text may be what another one was before secrets were masked in it."""
    parts = MASK.split(masked)
    at = len(parts[0])
    if len(parts) == 1 or not text.startswith(parts[0]):
        return False
    for part in parts[1:-1]:
        at = text.find(part, at) + len(part)
        if at < len(part):
            return False
    return text.endswith(parts[-1], at)


def _of_objects(left: Dict[str, Any], right: Dict[str, Any], path: str) -> Iterator[ValueDifference]:
    for name in [*left, *(name for name in right if name not in left)]:
        inner = "%s.%s" % (path, name) if path else name
        ends = left.get(name, _ABSENT), right.get(name, _ABSENT)
        if name in ASIDE and _ABSENT not in ends:
            continue
        if name == "blob":
            ends = _text_of(ends[0]), _text_of(ends[1])
        key = _LISTS.get(name)
        tables = [named(end, key) for end in ends] if key else [{}, {}]
        if key and all(tables):
            yield from _of_named(tables[0], tables[1], inner)
        else:
            yield from differences(ends[0], ends[1], inner)


def _of_named(left: Dict[str, Any], right: Dict[str, Any], path: str) -> Iterator[ValueDifference]:
    """Compare lists of named things by their names, then their order."""
    for name in [*left, *(name for name in right if name not in left)]:
        yield from differences(left.get(name, _ABSENT), right.get(name, _ABSENT), "%s[%s]" % (path, name))
    common = [name for name in left if name in right]
    others = [name for name in right if name in left]
    if common != others:
        yield ValueDifference(path + ", in another order", _shown(common), _shown(others))


def named(items: Any, key: str) -> Dict[str, Any]:
    """Return the items of a list by the member that names each; {} for what is no list of such, or names one twice."""
    if not isinstance(items, list) or not all(isinstance(each, dict) and isinstance(each.get(key), str)
                                              for each in items):
        return {}
    found = {each[key]: each for each in items}
    return found if len(found) == len(items) else {}


def plain_form(value: Any) -> Any:
    """Return a value without what is made anew in each conversation, for comparing."""
    if isinstance(value, dict):
        return {name: None if name in ASIDE else plain_form(member) for name, member in value.items()}
    if isinstance(value, list):
        return [plain_form(item) for item in value]
    return _ANEW.sub("*", value) if isinstance(value, str) else value


def key_of(method: str, params: Any) -> str:
    """Return what makes a request the same as another one: its method and its parameters, without ``_meta``."""
    return "%s %s" % (method, dumps(_sorted(without_meta(params))))


def without_meta(params: Any) -> Dict[str, Any]:
    """Return params without ``_meta``, which is of the message and not of what is asked."""
    return {name: member for name, member in params.items() if name != "_meta"} if isinstance(params, dict) else {}


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def masks_in(value: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of the strings in a value that have a masked secret."""
    if isinstance(value, str) and MASK.search(value):
        yield path
    elif isinstance(value, dict):
        for name, member in value.items():
            yield from masks_in(member, "%s.%s" % (path, name) if path else name)
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from masks_in(item, "%s[%d]" % (path, place))


def shown_request(method: str, params: Any) -> str:
    """Return a request in a few words, for people."""
    what = without_meta(params)
    return plain(shorten("%s %s" % (method, dumps(what)) if what else method, 2 * _SHOWN))


def texts(found: List[ValueDifference], names: Tuple[str, str]) -> List[str]:
    """Return differences as lines, in which each value has the name of the side that it is from."""
    return ["%s: %s %s, %s %s" % (each.path or "all of it", each.left, names[0], each.right, names[1])
            for each in found]


class _Absent:
    def __repr__(self) -> str:
        return "absent"


_ABSENT: Any = _Absent()


def _shown(value: Any) -> str:
    return repr(value) if value is _ABSENT else plain(shorten(dumps(value), _SHOWN))


ANSWERS = (RESULT, ERROR)


class Step:
    """Something that happens in a turn: the server sends ``message``, or waits for the answer to its own question."""

    __slots__ = ("message", "owner", "apart", "awaits", "pause")

    def __init__(self, message: Message, owner: "Optional[Turn]" = None, apart: bool = False,
                 awaits: bool = False, pause: float = 0.0) -> None:
        self.message = message
        """The message that is sent; or the question whose answer is waited for."""
        self.owner = owner
        """The turn of the request that it is about; None if it is about none."""
        self.apart = apart
        """True if it came by another HTTP stream than that of the request."""
        self.awaits = awaits
        self.pause = pause
        """The seconds between the step before it, or the message of the client, and this one."""


class Turn:
    """A message of the client, and what comes of it. A `RecordedConversation` makes it."""

    __slots__ = ("message", "key", "steps", "answer", "left", "_at")

    def __init__(self, message: Message) -> None:
        self.message = message
        self.key = key_of(message.method, message.params)
        self.steps: List[Step] = []
        self.answer: Optional[Message] = None
        """The response; None if none was recorded."""
        self.left = False
        """True if the client has given it up, so that no response was needed."""
        self._at = message.time

    def since(self, message: Message) -> float:
        """Return the seconds until a message that belongs to this turn, from the last one on."""
        pause, self._at = message.time - self._at, message.time
        return max(0.0, pause)

    @property
    def is_request(self) -> bool:
        """True if it wants a response."""
        return self.message.kind == REQUEST

    @property
    def stateless(self) -> bool:
        """True if it is of the era without handshake."""
        return self.message.revision is not None and self.message.revision.stateless

    @property
    def refusal(self) -> int:
        """The status by which HTTP has refused it; 0 if it has not, or that was not recorded."""
        status = self.message.exchange.status if self.message.exchange is not None else None
        return status if status is not None and status >= 400 else 0

    @property
    def unanswered(self) -> bool:
        """True for a request of which the recording does not say what came of it."""
        exchange = self.message.exchange
        cut = exchange is not None and exchange.ended_by == CLIENT
        return (self.is_request and self.answer is None and not self.left and not cut and not self.refusal
                and self.message.method != LISTEN)


class RecordedConversation:
    """The recorded conversation of one client: a pipe, an HTTP session, or the stateless requests of a connection."""

    def __init__(self, session: ObservedSession) -> None:
        self.session = session
        self.turns: List[Turn] = []
        self.messages: List[Message] = []
        """All messages of both parties, in order."""
        self._of: Dict[int, Turn] = {}
        """The turn of each message by its number: of a request of the client its own, of a question where it stands."""
        self._tokens: Dict[Any, Turn] = {}
        self._ids: Dict[Any, Turn] = {}
        self._open: List[Turn] = []
        self._early: List[Step] = []
        """Messages of the server from before the client has said anything."""

    def take(self, message: Message) -> None:
        """Take the next message."""
        self.messages.append(message)
        if message.sender == SERVER:
            self._from_server(message)
        elif message.kind in (REQUEST, NOTIFICATION):
            self._from_client(message)
        elif message.kind in ANSWERS and message.request is not None:
            turn = self._of.get(message.request.index)
            if turn is not None:
                turn.since(message)
                turn.steps.append(Step(message.request, awaits=True))

    def _from_client(self, message: Message) -> None:
        turn = Turn(message)
        turn.steps, self._early = self._early, []
        self.turns.append(turn)
        self._of[message.index] = turn
        if message.kind == REQUEST:
            self._open.append(turn)
            self._ids[id_key(message.id)] = turn
            if "progressToken" in message.meta:
                self._tokens[id_key(message.meta["progressToken"])] = turn
        elif message.method == CANCELLED and message.request is not None:
            given_up = self._of.get(message.request.index)
            if given_up is not None and given_up.is_request:
                given_up.left = True
                self._close(given_up)

    def _from_server(self, message: Message) -> None:
        owner = self._owner(message)
        turn = owner
        if owner is None or owner.message.method == LISTEN and owner.steps:
            working = [each for each in self._open if each.message.method != LISTEN]
            turn = working[-1] if working else self.turns[-1] if self.turns else None
        own = owner.message.exchange if owner is not None else turn.message.exchange if turn is not None else None
        apart = message.exchange is not None and message.exchange is not own
        if message.session.connection.transport == "http+sse":  # one stream carries everything
            apart = False
        step = Step(message, owner, apart, pause=0.0 if turn is None else turn.since(message))
        (self._early if turn is None else turn.steps).append(step)
        if message.kind == REQUEST and turn is not None:
            self._of[message.index] = turn
        elif message.kind in ANSWERS and owner is not None:
            owner.answer = message
            self._close(owner)

    def _owner(self, message: Message) -> Optional[Turn]:
        if message.kind in ANSWERS and message.request is not None:
            return self._of.get(message.request.index)
        if message.method == PROGRESS and "progressToken" in message.params:
            found = self._tokens.get(id_key(message.params["progressToken"]))
            if found is not None:
                return found
        if META_SUBSCRIPTION in message.meta:
            return self._ids.get(id_key(message.meta[META_SUBSCRIPTION]))
        own = message.exchange.request if message.exchange is not None else None
        return self._of.get(own.index) if own is not None else None

    def _close(self, turn: Turn) -> None:
        if turn in self._open:
            self._open.remove(turn)


class Recording:
    """A recording, read as a whole: `take` its events, then use it."""

    def __init__(self, name: str = "the recording") -> None:
        self.name = name
        self.talks: List[RecordedConversation] = []
        self.gaps: List[str] = []
        """The notes of what was not recorded."""
        self.masked: List[str] = []
        """The places of masked secrets in messages."""
        self.bodies: Dict[int, str] = {}
        """The text of the body of an HTTP response that is no message, by the number of its exchange."""
        self._by_session: Dict[int, RecordedConversation] = {}
        self._watcher = Watcher(self._message)

    @property
    def turns(self) -> List[Turn]:
        """All turns of all talks."""
        return [turn for talk in self.talks for turn in talk.turns]

    def take(self, event: Event, line: int = 0) -> None:
        """Take the next event. ``line``: that of the recording."""
        if event.kind == GAP:
            self.gaps.append(event.text)
        elif event.kind == BODY and event.direction == SERVER and isinstance(event.more.get("text"), str):
            self.bodies[event.exchange] = event.more["text"]
        self._watcher.feed(event, line)

    def finish(self) -> "Recording":
        """Say that there are no more events; returns itself."""
        self._watcher.finish()
        return self

    def _message(self, message: Message) -> None:
        if not message.data:
            return  # no object: nothing that could be sent again, or compared
        talk = self._by_session.get(id(message.session))
        if talk is None:
            talk = self._by_session[id(message.session)] = RecordedConversation(message.session)
            self.talks.append(talk)
        talk.take(message)
        place = "message %d (%s)" % (message.index, message.method or message.kind)
        self.masked += ["%s: %s" % (place, path) for path in masks_in(message.data)]
