"""Sampling: the server asks, the client's model answers, and a human stands between [.. client/sampling].

::

    def ask_model(params, context):
        return my_llm(params.messages, params.max_tokens)     # a str, a content block, or a whole CreateMessageResult

    client = Client(sampling=Sampling(ask_model, model="my-model-1", approve_request=show_and_ask))

What happens to a request, in this order, and what the server gets when it goes no further:

=================================================================  ==============================================
more than ``max_samplings_per_second``                             -32603, which names the limit
params that do not fit, tools or context that were not declared,   -32602, which says where
tool use without its results (`mcp_ref.protocol.sampling`)
more than ``max_tool_iterations`` rounds of tool use               -32602, which names the limit
``approve_request`` says no                                        -1 "User rejected sampling request"
``callback`` raises, or returns what cannot be sent                -32603 without the reason, which is logged
``callback`` raises `RpcError`                                     that error
``approve_result`` says no                                         -1
=================================================================  ==============================================

There should always be a human who can say no, who sees and may change both the request and what the model wrote
[.. client/sampling §User Interaction Model] SHOULD: that is what the two hooks are for. Whatever they do is up to the
host, and so are ``max_tokens`` and the model; `mcp_ref.client.models` chooses one by the server's preferences.
"""

from copy import copy
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Sequence, Union

from ..codec import encode
from ..errors import INTERNAL_ERROR, INVALID_PARAMS, USER_REJECTED, LocalProtocolError, RpcError
from ..messages.content import TextContent
from ..messages.lifecycle import SamplingCapability
from ..messages.sampling import CreateMessageRequestParams, CreateMessageResult, SamplingMessage
from ..options import spelt
from ..peer.context import Context, Route, params_reader
from ..protocol import sampling as rules
from ..protocol.items import odd_priorities
from ..revisions import Revision

if TYPE_CHECKING:
    from .client import Client
    from .models import ModelCard

Callback = Callable[[CreateMessageRequestParams, Context], Any]
"""Returns a str, a content block or a list of these, a `SamplingMessage`, or a `CreateMessageResult`."""
ApproveRequest = Callable[[CreateMessageRequestParams, Context], Union[bool, CreateMessageRequestParams]]
"""Returns True, False, or the request as it may go on."""
ApproveResult = Callable[[CreateMessageResult, CreateMessageRequestParams, Context], Union[bool, CreateMessageResult]]
"""Returns True, False, or the result as it may be delivered."""

TOOL_USE = "toolUse"
RATE = "max_samplings_per_second"


class Sampling:
    """Answers `sampling/createMessage`.

    ``callback(params, context)`` asks the model; ``context`` tells of a cancellation and takes progress.
    ``model``: the name to give for answers that come without one; or ``models``, those that there are, of which the one
    that suits the server's preferences is named (and `choose` tells the callback which that is).
    ``tools``: the model may use the server's tools; ``context``: ``includeContext`` is honoured. Both are declared to
    the server. ``approve_request(params, context)`` and ``approve_result(result, params, context)`` ask the user: True,
    False, or what is to go on instead.
    """

    @spelt
    def __init__(
        self,
        callback: Callback,
        *,
        model: Optional[str] = None,
        models: "Sequence[ModelCard]" = (),
        tools: bool = False,
        context: bool = False,
        approve_request: Optional[ApproveRequest] = None,
        approve_result: Optional[ApproveResult] = None,
    ) -> None:
        self.callback = callback
        self.model = model
        self.models = models
        self.tools = tools
        self.context = context
        self.approve_request = approve_request
        self.approve_result = approve_result

    def capability(self) -> SamplingCapability:
        """[.. client/sampling §Capabilities] MUST: what is declared during initialization."""
        return SamplingCapability(context={} if self.context else None, tools={} if self.tools else None)

    def choose(self, params: CreateMessageRequestParams) -> "Optional[ModelCard]":
        """Which of ``models`` suits this request; None if there are none."""
        from .models import choose_model

        return choose_model(params.model_preferences, self.models)

    def route(self, client: "Client", revision: Revision) -> Route:
        """Answers `sampling/createMessage`."""
        read = params_reader(CreateMessageRequestParams, revision)

        def answer(context: Context, given: Dict[str, Any]) -> Dict[str, Any]:
            _admit(context)
            params = read(given)
            _check_request(context, params, revision)
            params = _approved(self.approve_request, CreateMessageRequestParams, params, context)
            result = self._result(self.callback(params, context), params)
            context.check()
            result = _approved(self.approve_result, CreateMessageResult, result, params, context)
            _check_result(result, params, revision)
            return encode(result, revision)

        return Route(answer)

    def _result(self, answer: Any, params: CreateMessageRequestParams) -> CreateMessageResult:
        """The result of what the callback returned; `Callback` says what that may be."""
        if isinstance(answer, CreateMessageResult):
            result = answer
        elif isinstance(answer, SamplingMessage):
            result = CreateMessageResult(answer.role, self._name(params), answer.content, meta=answer.meta)
        else:
            several = isinstance(answer, (list, tuple))
            content = [_block(item) for item in answer] if several else _block(answer)
            result = CreateMessageResult("assistant", self._name(params), content)
        if result.stop_reason is None and rules.tool_uses(result):
            result = copy(result)
            result.stop_reason = TOOL_USE
        return result

    def _name(self, params: CreateMessageRequestParams) -> str:
        chosen = self.choose(params) if self.models and self.model is None else None
        name = self.model if chosen is None else chosen.name
        if name is None:
            raise TypeError("the model has no name: return a CreateMessageResult, or give Sampling(..., "
                            "model=...) or Host(..., models=[ModelCard(...)])")
        return name


def _admit(context: Context) -> None:
    """[.. client/sampling §Security Considerations] SHOULD: limit the rate."""
    rate = context.rate(RATE)
    if not rate.take():
        context.connection.counters.note("sampling above the rate", "refused by %s" % RATE)
        raise RpcError(INTERNAL_ERROR, "Too many sampling requests: %s (%g) is reached; ask again later"
                       % (RATE, rate.per_second))


def _check_request(context: Context, params: CreateMessageRequestParams, revision: Revision) -> None:
    """Raise `RpcError` -32602 for a request that breaks a rule; see `mcp_ref.protocol.sampling`.

    Reading: members that the revision does not have are unknown ones, and not looked at. Context that was not declared
    is left out, which a client may do without saying so [2026-07-28 client/sampling §Context Inclusion] MAY; and a
    priority that is not from 0 to 1 is counted. With ``strict`` either request is refused.
    """
    session = context.session
    for odd in odd_priorities("messages", params.messages):
        context.connection.counters.note("number out of range", odd)
    if not revision.sampling_tools:
        params.tools = params.tool_choice = None
    for fault in rules.request_faults(params, revision, session.capabilities):
        if fault.capability == "sampling.context" and session.lenient:
            context.connection.counters.note("undeclared context", str(fault))
            params.include_context = "none"
        elif fault.citation == rules.PREFERENCES and session.lenient:  # a wish out of range is still a wish
            context.connection.counters.note("number out of range", str(fault))
        else:
            raise RpcError(INVALID_PARAMS, "Invalid params: params.%s" % str(fault))
    rounds, limit = rules.tool_rounds(params.messages), context.connection.limits.max_tool_iterations
    if rounds > limit:
        text = "Invalid params: params.messages: %d rounds of tool use; max_tool_iterations is %d"
        raise RpcError(INVALID_PARAMS, text % (rounds, limit))


def _check_result(result: CreateMessageResult, params: CreateMessageRequestParams, revision: Revision) -> None:
    """Raise `LocalProtocolError` for a result that may not be sent; the server gets an internal error then.

    Reading: whoever sees only ``stopReason`` must see that tools are wanted, so it has the specified word for that.
    """
    for fault in rules.result_faults(result, params, revision):
        fault.refuse()
    for fault in rules.annotation_faults("content", result.content):
        fault.refuse()
    if rules.tool_uses(result) and result.stop_reason != TOOL_USE:
        text = "stop_reason: with tool use in the content it is %r, not %r" % (TOOL_USE, result.stop_reason)
        raise LocalProtocolError(text, rules.CREATING)


def _approved(approve: Optional[Callable[..., Any]], expected: type, value: Any, *more: Any) -> Any:
    """What the user lets go on; `RpcError` -1 if nothing [.. client/sampling §Error Handling] SHOULD."""
    answer = True if approve is None else approve(value, *more)
    if answer is False:
        raise RpcError(USER_REJECTED, "User rejected sampling request")
    if answer is True:
        return value
    if isinstance(answer, expected):
        return answer
    raise TypeError("an approval is True, False or a %s, not %s" % (expected.__name__, type(answer).__name__))


def _block(item: Any) -> Any:
    return TextContent(item) if isinstance(item, str) else item
