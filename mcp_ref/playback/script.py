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
"""

from typing import Any, Dict, List, Optional

from ..checker.observed import ERROR, META_SUBSCRIPTION, NOTIFICATION, REQUEST, RESULT, Message, Session, id_key
from ..checker.watching import Watcher
from ..methods import CANCELLED, LISTEN, PROGRESS
from ..wiretrace import BODY, CLIENT, GAP, SERVER, Event
from .meaning import key_of, masks_in

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
    """A message of the client, and what comes of it. A `Talk` makes it."""

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


class Talk:
    """The recorded conversation of one client: a pipe, an HTTP session, or the stateless requests of a connection."""

    def __init__(self, session: Session) -> None:
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


class Script:
    """A recording, read as a whole: `take` its events, then use it."""

    def __init__(self, name: str = "the recording") -> None:
        self.name = name
        self.talks: List[Talk] = []
        self.gaps: List[str] = []
        """The notes of what was not recorded."""
        self.masked: List[str] = []
        """The places of masked secrets in messages."""
        self.bodies: Dict[int, str] = {}
        """The text of the body of an HTTP response that is no message, by the number of its exchange."""
        self._by_session: Dict[int, Talk] = {}
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

    def finish(self) -> "Script":
        """Say that there are no more events; returns itself."""
        self._watcher.finish()
        return self

    def _message(self, message: Message) -> None:
        if not message.data:
            return  # no object: nothing that could be sent again, or compared
        talk = self._by_session.get(id(message.session))
        if talk is None:
            talk = self._by_session[id(message.session)] = Talk(message.session)
            self.talks.append(talk)
        talk.take(message)
        place = "message %d (%s)" % (message.index, message.method or message.kind)
        self.masked += ["%s: %s" % (place, path) for path in masks_in(message.data)]
