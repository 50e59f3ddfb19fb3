"""The state of a request of several rounds, and the answers for a handler that runs again; see
`mcp_ref.server.mrtr`.

`Rounds` belongs to one run of a handler. It holds the results of earlier rounds, as the client has brought them back,
and finds in them the answers to the questions that the handler asks again. `States` has the keys with which a server
signs the state.
"""

import os
import time
from contextlib import contextmanager
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Mapping, NoReturn, Optional, Sequence, Set, Tuple,
    Union,
)

from ..codec import DecodeError, Model, decode, encode
from ..errors import INTERNAL_ERROR, INVALID_PARAMS, LocalProtocolError, PeerProtocolError, RpcError
from ..jsontext import dumps, loads
from ..methods import Method, result_class
from ..revisions import Revision

if TYPE_CHECKING:
    from ..stores import store as stores
    from ..protocol.requeststate import Binding, State
    from .context import Context

Read = Callable[[Any], Any]
"""A function from a decoded result to the handler's answer; raises `PeerProtocolError` for one that does not fit."""

ENVIRONMENT = "MCP_REF_STATE_KEYS"
"""The environment variable with the keys, separated by commas, of a server without ``state_keys``."""
TTL = 900.0

wall_clock = time.time


class InputRequired(BaseException):
    """The exception that unwinds a handler whose question has no answer yet. Do not catch it."""


# -- One request -------------------------------------------------------------------------------


class Rounds:
    """The state of earlier rounds that one request has brought, and the questions and answers of this round."""

    __slots__ = (
        "before", "responses", "binding", "answers", "kept", "waiting", "asked", "taken", "branch", "depth", "outcome",
    )

    def __init__(self, responses: Optional[Mapping[str, Any]] = None) -> None:
        self.before: "Optional[State]" = None
        self.responses: Mapping[str, Any] = {} if responses is None else responses
        self.binding: "Optional[Binding]" = None
        self.answers: Dict[str, Any] = {}
        """Key -> digest and answer of the questions that this run has asked and that are answered."""
        self.kept: Dict[str, List[Any]] = {}
        """Key of a `once` -> its value, and the keys that the questions inside of it used."""
        self.waiting: Dict[str, Dict[str, Any]] = {}
        """Key -> request, of the questions without an answer."""
        self.asked: Dict[str, str] = {}
        """Key -> digest, of the questions without an answer."""
        self.taken: Set[str] = set()
        self.branch: Optional[str] = None
        self.depth = 0
        """The number of `ask_all` calls that are running, one inside the other."""
        self.outcome: Union[None, Dict[str, Any], RpcError] = None
        """The result or error that is sent in place of the handler's result."""

    # Questions

    def ask(
        self, context: "Context", row: Method, params: Model, key: Optional[str], read: Optional[Read]
    ) -> Any:
        """Return the answer to one question, if there is one that fits. Raises as `mcp_ref.server.mrtr.ask`."""
        if self.outcome is not None:
            raise InputRequired  # the handler caught the first one
        base = key or self.branch
        name = self.name(base) if base else self.name("question", "question-1")
        request, found = written(row.name, params, context.session.rules)
        given = self._given(name, found, base is not None)
        if given is not None:
            answer, fresh = given
            try:
                result = decode(
                    result_class(row), copied(answer), context.session.rules, name, context.connection.forgive)
                value = result if read is None else read(result)
            except PeerProtocolError as error:
                context.connection.counters.note("unusable answer", "asking again for %.80r: %s" % (name, error))
            except DecodeError as error:
                if fresh:
                    where = error.within("inputResponses").within("params")
                    self.unwind(RpcError(INVALID_PARAMS, "Invalid params: %s" % where))
            else:
                self.answers[name] = [found, answer]
                return value
        self.waiting[name], self.asked[name] = request, found
        if not self.depth:
            self._require(context)
        raise InputRequired

    def name(self, base: str, first: Optional[str] = None) -> str:
        """Return a key that is unique in this request: ``first`` or the base, after that the base with a number.

        [2026-07-28 basic/patterns/mrtr §Server Requirements (Basic Workflow)] MUST
        """
        name, number = first or base, 1
        while name in self.taken:
            number += 1
            name = "%s-%d" % (base, number)
        self.taken.add(name)
        return name

    def _given(self, name: str, found: str, chosen: bool) -> Optional[Tuple[Any, bool]]:
        """Return the answer to a question with this key and digest, and True if this request brought it; else None.

        ``chosen``: True if the author chose the key, so that a client may answer before it is asked.
        """
        asked = None
        if self.before is not None:
            recorded = self.before.answers.get(name)
            if recorded is not None and recorded[0] == found:
                return recorded[1], False
            asked = self.before.asked.get(name)
        if name in self.responses and (asked == found or asked is None and chosen):
            return self.responses[name], True
        return None

    def ask_all(self, context: "Context", branches: Mapping[str, Callable[[], Any]]) -> Dict[str, Any]:
        """Run all functions, and return their answers by key; all that lack one ask in one round. Raises as `ask`."""
        before, outside, values = set(self.waiting), self.branch, {}
        self.depth += 1
        try:
            for key, run in branches.items():
                self.branch = key
                try:
                    values[key] = run()
                except InputRequired:
                    if self.outcome is not None:
                        raise
        except Exception:
            self._forget(set(self.waiting) - before)
            raise
        finally:
            self.branch, self.depth = outside, self.depth - 1
        if len(self.waiting) > len(before):
            if not self.depth:
                self._require(context)
            raise InputRequired
        return values

    def _forget(self, names: Iterable[str]) -> None:
        """Drop these questions, which are not asked after all."""
        for name in names:
            del self.waiting[name], self.asked[name]

    # What was computed

    def once(self, key: str, function: Callable[[], Any]) -> Any:
        """Return the JSON value of ``function()``, which is called in the first round that comes to it."""
        entry = self.kept.get(key)
        if entry is None and self.before is not None:
            entry = self.before.kept.get(key)
        if entry is None:
            from .hints.values import to_json

            before = set(self.taken)
            value = loads(dumps(to_json(function())).encode("ascii"))
            names = sorted(self.taken - before)
            entry = [value, names] if names else [value]
            for name in names:
                self.answers.pop(name, None)  # never asked again
        self.kept[key] = entry
        self.taken.update(*entry[1:])  # later questions get the same numbers in each round
        return copied(entry[0])

    # The end of a round

    def unwind(self, outcome: Union[Dict[str, Any], RpcError]) -> NoReturn:
        """End the handler's run, and send ``outcome`` in place of its result."""
        self.outcome = outcome
        raise InputRequired

    def _require(self, context: "Context") -> NoReturn:
        try:
            token = self.token(context)
        except LocalProtocolError:
            self._forget(list(self.waiting))
            raise
        result = {"resultType": "input_required", "inputRequests": self.waiting, "requestState": token}
        self.unwind(result)

    def token(self, context: "Context", note: Optional[str] = None) -> str:
        """Return the signed state after this round. Raises `LocalProtocolError` above ``max_input_rounds`` and above
        ``max_state_bytes``."""
        from ..protocol.requeststate import State, seal

        states, limits = states_of(context), context.connection.limits
        rounds = 1 if self.before is None else self.before.rounds + 1
        if rounds > limits.max_input_rounds:
            text = "this request has asked for input %d times, which is max_input_rounds"
            raise LocalProtocolError(text % (rounds - 1))
        expires = int(states.now() + states.ttl)
        state = State(os.urandom(12).hex(), expires, rounds, self.asked, self.answers, self.kept, note)
        token = seal(state, self.bound(context), states.keys)
        if len(token) > limits.max_state_bytes:
            text = "what this request has to remember for its next round has %d bytes; max_state_bytes is %d"
            raise LocalProtocolError(text % (len(token), limits.max_state_bytes))
        return token

    def bound(self, context: "Context") -> "Binding":
        """Return what the state is bound to: principal, method, params and server."""
        if self.binding is None:
            from ..protocol.requeststate import bind
            from .hints.values import to_json

            request, principal = context.request, context.session.principal
            try:
                self.binding = bind(to_json(principal), request.method, request.params or {}, audience_of(context))
            except (TypeError, ValueError):
                text = "a state is bound to its principal, and JSON cannot hold a %s: have authenticate return a str"
                raise LocalProtocolError(text % type(principal).__name__) from None
        return self.binding


def written(method: str, params: Model, rules: Revision) -> Tuple[Dict[str, Any], str]:
    """Return a question as it is sent, and its digest."""
    from ..protocol.requeststate import digest

    request = {"method": method, "params": encode(params, rules)}
    return request, digest(request)


def copied(value: Any) -> Any:
    """Return a copy of a JSON value, so that a change by the handler does not get into the state."""
    if type(value) is dict:
        return {key: copied(item) for key, item in value.items()}
    return [copied(item) for item in value] if type(value) is list else value


def rounds_of(context: "Context") -> Rounds:
    """Return the `Rounds` of a request, made when they are first needed."""
    found: Optional[Rounds] = getattr(context, "_rounds", None)
    if found is None:
        found = Rounds()
        context._rounds = found
    return found


# -- The server's part -------------------------------------------------------------------------


class States:
    """The keys and the lifetime of a server's states; see `Server`. Raises TypeError or ValueError for bad options."""

    def __init__(
        self, keys: Optional[Sequence[Union[str, bytes]]] = None, ttl: Optional[float] = None,
        consume: "Union[None, bool, Callable[[str], bool], stores.Store]" = None,
    ) -> None:
        from ..protocol.requeststate import Keys

        given = [key.strip() for key in os.environ.get(ENVIRONMENT, "").split(",") if key.strip()]
        self.keys = Keys(keys if keys is not None else given or [os.urandom(32)])
        self.ttl = TTL if ttl is None else float(ttl)
        if not self.ttl > 0:
            raise ValueError("state_ttl is a number of seconds above 0, got %r" % (ttl,))
        self._consume = consume if callable(consume) else None
        self._spent: "Union[None, stores.Store, stores.SpentStates]" = None
        self._shared: "Optional[stores.Store]" = None
        if consume is not None and consume is not False and self._consume is None:
            from ..stores.store import SpentStates, Store

            if consume is not True and not isinstance(consume, Store):
                text = "consume_state is True, a Store, or a function of the state's id, not %.80r"
                raise TypeError(text % (consume,))
            self._shared = None if consume is True else consume
            self._spent = self._shared or SpentStates()

    def now(self) -> float:
        """Return the time by which states expire: that of the store, or of this machine. Raises `RpcError` as `spend`.
        """
        if self._shared is None:
            return wall_clock()
        with _store_of_states():
            return self._shared.now()

    def spend(self, state: "State", most: int) -> str:
        """Use up a state. Returns "", or the reason to refuse it. Raises `RpcError` if the store fails."""
        if self._consume is not None:
            return "" if self._consume(state.id) else "it was used before, says consume_state"
        if self._spent is None:
            return ""
        from ..stores.store import FULL, SENT

        now = self.now()
        with _store_of_states():
            became = self._spent.spend(state.id, state.expires, now, most)
        return {SENT: "", FULL: "max_spent_states (%d) were used and have not expired" % most}.get(
            became, "it was used before")


@contextmanager
def _store_of_states() -> Iterator[None]:
    """Raise `RpcError` for what the store raises, which is no fault of the tool."""
    try:
        yield
    except Exception as error:
        from ..diagnostics.usercode import log_raised

        log_raised("the store of states", error)
        raise RpcError(INTERNAL_ERROR, "The state could not be used: the store of states has failed") from None


def audience_of(context: "Context") -> List[Optional[str]]:
    """Return the server's name and the resource that its tokens are for.

    They are the same in all processes that serve its clients, and distinguish it from other servers with the same keys.
    """
    server: Any = context.connection.role
    return [server.identity[0], getattr(server.auth, "resource", None)]


def states_of(context: "Context") -> States:
    """Return the `States` of the server of this request."""
    found: States = context.connection.role.states  # type: ignore[attr-defined]
    return found
