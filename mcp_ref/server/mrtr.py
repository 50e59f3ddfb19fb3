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
"""

from typing import TYPE_CHECKING, Any, Dict, NoReturn, Optional

from ..codec import DecodeError, Model, decode, encode
from ..errors import (
    INVALID_PARAMS, MISSING_CLIENT_CAPABILITY, URL_ELICITATION_REQUIRED, CapabilityMissing, LocalProtocolError,
    RpcError,
)
from ..jsonrpc import json_type
from ..methods import CREATE_MESSAGE, ELICIT, EMBEDDED, INPUT_REQUIRED, Method, load, lookup
from ..peer.context import Route
from ..protocol.caching import DEPENDING
from ..protocol.capabilities import check
from ..revisions import Revision
from .replay import InputRequired, Read, Rounds, copied, rounds_of, states_of

if TYPE_CHECKING:
    from ..messages.mrtr import InputRequiredResult
    from .context import Context

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
            from .elicitation_url import check_link

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
            from .elicitation_url import ask_instead

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
