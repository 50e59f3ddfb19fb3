"""Questions to the client by the result of a request, in a revision where a server cannot send requests.

[2026-07-28 basic/patterns/mrtr §Basic Workflow]. `Context.ask` is the same call in every revision. In a handshake
session it sends a request and waits. Here it *unwinds*: the handler ends, the client gets the question and
a signed state (`mcp_ref.protocol.requeststate`), and when it comes back with an answer the handler runs **again from
its first line**. Questions that were answered before return at once, from the state, until the handler comes to the
next question, or to its end.

::

    @server.tool
    def deploy(service: str, ctx: Context) -> str:
        print("asked for", service)                                     # once in each round
        ticket = ctx.once("ticket", lambda: open_ticket(service))       # once; its result travels in the state
        region = ctx.elicit("Which region?", {"region": str})           # round 1 ends here
        answers = ctx.ask_all({                                         # round 2 ends here, with two questions
            "size": lambda: ctx.elicit("How large?", {"size": int}),
            "name": lambda: ctx.sample("Invent a name", 20),
        })
        return start(ticket, region["region"], answers["size"]["size"], answers["name"].text)

Rules for a handler that asks:

- The code before a question runs again in each round, and so do its ``finally`` and ``with``. Code that must run once
  goes into `Context.once`, or after the last question.
- It should ask the same questions in each round. A question is identified by its key and by a digest of its params; one
  that has changed is asked anew. A time or a random number in a question goes through `Context.once`.
- Questions are asked on the handler's own thread.
- `InputRequired`, which unwinds the handler, is no `Exception`. If the handler catches it all the same, its return
  value is dropped.
- The state is signed, not encrypted: **the client can read the answers and the values of `Context.once`**.
- The client need not come back [2026-07-28 basic/patterns/mrtr §Server Requirements (Basic Workflow)]
  MUST NOT, and it may come twice with the same state. `Server(consume_state=True)` refuses the second time, and with a
  `Store` in place of True all processes that share it do.

What the client sends back, and the consequence
[2026-07-28 basic/patterns/mrtr §Error Handling] SHOULD:

======================================================  ============================================================
the client sends                                        then
======================================================  ============================================================
an answer to a question of the last round               the handler gets it
no answer, or one that does not fit the question        the question is asked again
an answer with members of wrong types                   error -32602, with the path of the member
answers under keys of no question                       they are ignored
an answer under a key that the author chose, before     the handler gets it when it asks
the question was asked
``inputResponses`` that is no object                    error -32602
a state that is not this request's, expired, altered    error -32602, one text for all
fewer capabilities than the handler needs               error -32021 that names them, unless the handler catches it
======================================================  ============================================================

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
from ..errors import (
    INTERNAL_ERROR, INVALID_PARAMS, MISSING_CLIENT_CAPABILITY, URL_ELICITATION_REQUIRED, CapabilityMissing,
    LocalProtocolError, PeerProtocolError, RpcError,
)
from ..jsonrpc import json_type
from ..jsontext import dumps, loads
from ..methods import CREATE_MESSAGE, ELICIT, EMBEDDED, INPUT_REQUIRED, Method, load, lookup, result_class
from ..peer.context import Route
from ..protocol.lifecycle import check
from ..protocol.results import DEPENDING
from ..revisions import Revision

if TYPE_CHECKING:
    from .. import stores
    from ..messages.mrtr import InputRequiredResult
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
            from ..stores import SpentStates, Store

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
        from ..stores import FULL, SENT

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
        from ..diagnostics.packagelog import log_raised

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


PAGE = "2026-07-28 basic/patterns/mrtr §Supported Requests"


# -- For `Context` -----------------------------------------------------------------------------


def ask(
    context: "Context", method: str, params: Model, key: Optional[str] = None, read: Optional[Read] = None
) -> Any:
    """Return the client's answer if it has come, else unwind the handler.

    Raises `CapabilityMissing` for a capability that the client did not declare in this very request
    [2026-07-28 basic/patterns/mrtr §Server Requirements (Basic Workflow)] MUST NOT, and `LocalProtocolError` in the
    handler of a request that cannot ask, for a method that is no question, above ``max_input_rounds``, and for a state
    that is too long.
    """
    context.check()
    if context.incoming.done:
        text = "this context belongs to another request, which has its answer: use the one that the handler is given"
        raise LocalProtocolError(text, PAGE)
    return rounds_of(context).ask(context, check_asking(context, method), params, key, read)


def check_asking(context: "Context", method: str) -> Method:
    """Return the row of a question that may be asked in this request. Raises as `ask`."""
    session = context.session
    row, own = session.lookup(method), session.lookup(context.request.method)
    if row is None or row.carrier != EMBEDDED:
        raise LocalProtocolError("%s is nothing that a server may ask in revision %s" % (method, session.rules), PAGE)
    if own is None or own.other != INPUT_REQUIRED:
        text = "in %s the client cannot be asked in revision %s: only tools, prompts and resources can do that"
        raise LocalProtocolError(text % (context.request.method, session.rules), PAGE)
    check(row, session.capabilities, session.peer_capabilities, session.rules.name)
    return row


def returned(context: "Context", result: "InputRequiredResult") -> NoReturn:
    """Check an `InputRequiredResult` that a handler returned itself, and unwind with it.

    Its ``request_state`` is the author's own text; it travels inside the signed state, and comes back as
    `Context.request_state`. Raises `LocalProtocolError` for a result that may not be sent, and `CapabilityMissing`.
    """
    rules = context.session.rules
    if not rules.stateless:
        raise LocalProtocolError("revision %s has no InputRequiredResult; ctx.elicit, ctx.sample and ctx.list_roots "
                                 "ask in every revision" % rules, PAGE)
    if not result.input_requests and result.request_state is None:
        raise LocalProtocolError("an InputRequiredResult has input_requests or request_state", PAGE)
    rounds = rounds_of(context)
    made = encode(result, rules)
    for key, request in made.get("inputRequests", {}).items():
        check_asking(context, request.get("method"))
        _check_question(context, result.input_requests[key])  # type: ignore[index]
    if result.request_state is not None or rounds.answers or rounds.kept:
        made["requestState"] = rounds.token(context, result.request_state)
    rounds.unwind(made)


def _check_question(context: "Context", request: Any) -> None:
    """Check a question that an author wrote as a message by the rules of `Context.elicit` and `Context.sample`."""
    session, params = context.session, request.params
    if request.method == ELICIT:
        from .elicitation import check_form, need

        need(session, params.mode or "form")
        if params.mode == "url":
            from .elicitation import check_link

            check_link(params.message, params.url, context.connection)
        else:
            check_form(params)
    elif request.method == CREATE_MESSAGE:
        from ..protocol.sampling import sending_faults

        for fault in sending_faults(params, session.rules, session.peer_capabilities):
            fault.refuse()


def responses_of(context: "Context") -> Dict[str, Any]:
    """Return the result messages that came with this request, by key. Other values are left out and counted."""
    found: Dict[str, Any] = {}
    for key, answer in rounds_of(context).responses.items():
        try:
            found[key] = decode(load("mrtr:InputResponse"), copied(answer), context.session.rules,
                                forgive=context.connection.forgive)
        except DecodeError as error:
            context.connection.counters.note("unusable answer", "%.80r: %s" % (key, error))
    return found


# -- The route ---------------------------------------------------------------------------------


def wrap(route: Route, method: str, revision: Revision) -> Route:
    """Return a route whose handlers may ask by their result, or the same route for a method whose handlers may not.

    Only the supported requests are ever answered by a question
    [2026-07-28 basic/patterns/mrtr §Supported Requests] MUST NOT.
    """
    row = lookup(method, revision)
    if row is None or row.other != INPUT_REQUIRED:
        return route
    inner, in_tool = route.call, route.fault is not None

    def call(context: Any, params: Dict[str, Any]) -> Any:
        if not DEPENDING.isdisjoint(params):
            params = _resume(context, params)
        try:
            result = inner(context, params)
            rounds: Optional[Rounds] = getattr(context, "_rounds", None)
            if rounds is None or rounds.outcome is None:
                return result
        except InputRequired:
            pass
        except Exception as error:
            _failed(context, error, in_tool)
        return _outcome(context)

    return route.calling(call)


def _resume(context: "Context", params: Dict[str, Any]) -> Dict[str, Any]:
    """Read the answers and the state of earlier rounds, and return the params without them.

    Raises `RpcError` -32602 for a state that is not accepted, and for ``inputResponses`` that is no object.
    """
    from ..protocol.requeststate import StateRefused, unseal

    responses = params.get("inputResponses", {})
    if not isinstance(responses, dict):
        text = "Invalid params: params.inputResponses: expected object, got %s" % json_type(responses)
        raise RpcError(INVALID_PARAMS, text)
    rounds = Rounds(responses)
    context._rounds = rounds
    if "requestState" in params:
        states, limits = states_of(context), context.connection.limits
        try:
            state = unseal(params["requestState"], rounds.bound(context), states.keys, states.now(),
                           limits.max_state_bytes)
            refusal = states.spend(state, limits.max_spent_states)
            if refusal:
                raise StateRefused(refusal)
        except StateRefused as refused:
            context.connection.counters.note("refused request state", refused.reason)
            raise
        rounds.before = state
    return {name: value for name, value in params.items() if name not in DEPENDING}


def _failed(context: "Context", error: Exception, in_tool: bool) -> None:
    """Handle an exception of the handler: return if the handler was being unwound, else raise the error to send."""
    rounds: Optional[Rounds] = getattr(context, "_rounds", None)
    if rounds is not None and rounds.outcome is not None:
        return
    try:
        if isinstance(error, RpcError) and error.code == URL_ELICITATION_REQUIRED:
            from .elicitation import ask_instead

            error = ask_instead(context, error, in_tool)
    except InputRequired:
        return
    except CapabilityMissing as missing:
        error = missing
    raise _missing(context, error) if isinstance(error, CapabilityMissing) else error


def _missing(context: "Context", error: CapabilityMissing) -> Exception:
    """Return the error that names the capability which the client lacks [2026-07-28 basic/index §`_meta`] MUST.

    For a capability that clients cannot declare the same error is returned: a handler may use other servers, too, and
    lack a capability of theirs.
    """
    from ..codec import members
    from ..messages.lifecycle import ClientCapabilities

    rules, path = context.session.rules, error.capability.split(".")
    if path[0] not in {member.wire for member in members(ClientCapabilities) if member.exists(rules)}:
        return error
    required: Dict[str, Any] = {}
    for name in reversed(path):
        required = {name: required}
    text = "Missing required client capability: %s" % error.capability
    return RpcError(MISSING_CLIENT_CAPABILITY, text, {"requiredCapabilities": required})


def _outcome(context: "Context") -> Any:
    outcome = rounds_of(context).outcome
    if isinstance(outcome, RpcError):
        raise outcome
    if outcome is None:
        raise LocalProtocolError("the handler was unwound by a question of another request; ask with its own context")
    return outcome
