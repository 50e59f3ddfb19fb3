"""Sampling: the server asks, the client's model answers, and the user decides [.. client/sampling].

::

    def ask_model(params, context):
        return my_llm(params.messages, params.max_tokens)     # a str, a content block, or a whole CreateMessageResult

    client = Client(sampling=Sampling(ask_model, model="my-model-1", approve_request=show_and_ask))

The steps of a request, in this order, and what the server gets where it ends:

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

There should always be a user who can say no, who sees and may change both the request and what the model wrote
[.. client/sampling §User Interaction Model] SHOULD: the two hooks are for that. What they do is up to the
program, and so are ``max_tokens`` and the model.

**The model** [.. client/sampling §Model Preferences]. A server cannot know what models a client has. It gives hints,
parts of names, in the order of its preference, and says how much cost, speed and intelligence matter; the client
decides, with `choose_model`:

>>> cards = [ModelCard("claude-3-opus-20240229", cost=0.9, speed=0.3, intelligence=0.9),
...          ModelCard("claude-3-haiku-20240307", cost=0.1, speed=0.9, intelligence=0.4),
...          ModelCard("gemini-1.5-pro", cost=0.4, speed=0.6, intelligence=0.8, aliases=("claude-3-sonnet",))]
>>> def best(*hints, **priorities):
...     return choose_model(ModelPreferences([ModelHint(hint) for hint in hints], **priorities), cards).name
>>> best("haiku", "opus")
'claude-3-haiku-20240307'
>>> best("sonnet")
'gemini-1.5-pro'
>>> best("claude-3", cost_priority=1.0)
'claude-3-haiku-20240307'
>>> best(intelligence_priority=0.9, speed_priority=0.2)
'claude-3-opus-20240229'
"""

from copy import copy
from dataclasses import dataclass, is_dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from ..codec import encode
from ..errors import INTERNAL_ERROR, INVALID_PARAMS, USER_REJECTED, LocalProtocolError, RpcError
from ..messages.content import TextContent
from ..messages.lifecycle import SamplingCapability
from ..messages.sampling import (  # noqa: F401  (the example above uses ModelHint)
    CreateMessageRequestParams, CreateMessageResult, ModelHint, ModelPreferences, SamplingMessage,
)
from ..options import strict_options
from ..peer.context import Context, Route, params_reader
from ..protocol import sampling as rules
from ..protocol.results import odd_priorities
from ..revisions import Revision

if TYPE_CHECKING:
    from .client import Client

Callback = Callable[[CreateMessageRequestParams, Context], Any]
"""A function that returns a str, a content block or a list of these, a `SamplingMessage` or a `CreateMessageResult`."""
ApproveRequest = Callable[[CreateMessageRequestParams, Context], Union[bool, CreateMessageRequestParams]]
"""A function that returns True, False, or the request as it may go on."""
ApproveResult = Callable[[CreateMessageResult, CreateMessageRequestParams, Context], Union[bool, CreateMessageResult]]
"""A function that returns True, False, or the result as it may be delivered."""

TOOL_USE = "toolUse"
RATE = "max_samplings_per_second"


class Sampling:
    """Answers `sampling/createMessage`.

    ``callback(params, context)`` asks the model; ``context`` tells of a cancellation and takes progress.
    ``model``: the name to give for answers that come without one; or ``models``, those that there are, of which the one
    that suits the server's preferences is named (`choose` returns it to the callback).
    ``tools``: True if the model may use the server's tools; ``context``: True if ``includeContext`` is honoured. Both
    are declared to the server. ``approve_request(params, context)`` and ``approve_result(result, params, context)`` ask
    the user, and return True, False, or the request or result that is to go on instead.
    """

    @strict_options
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
        """Return the capability that is declared [.. client/sampling §Capabilities] MUST."""
        return SamplingCapability(context={} if self.context else None, tools={} if self.tools else None)

    def choose(self, params: CreateMessageRequestParams) -> "Optional[ModelCard]":
        """Return the one of ``models`` that suits this request; None if there are none."""
        return choose_model(params.model_preferences, self.models)

    def route(self, client: "Client", revision: Revision) -> Route:
        """Return how `sampling/createMessage` is answered."""
        read = params_reader(CreateMessageRequestParams, revision)

        def answer(context: Context, given: Dict[str, Any]) -> Dict[str, Any]:
            _admit(context)
            params = read(given, context)
            _check_request(context, params, revision)
            params = _approved(self.approve_request, CreateMessageRequestParams, params, context)
            result = self._result(self.callback(params, context), params)
            context.check()
            result = _approved(self.approve_result, CreateMessageResult, result, params, context)
            _check_result(result, params, revision)
            return encode(result, revision)

        return Route(answer)

    def _result(self, answer: Any, params: CreateMessageRequestParams) -> CreateMessageResult:
        """Return the result that the callback means; `Callback` says what it may return."""
        if isinstance(answer, CreateMessageResult):
            result = answer
        elif isinstance(answer, SamplingMessage):
            result = CreateMessageResult(answer.role, self._name(params), answer.content, meta=answer.meta)
        else:
            several = isinstance(answer, (list, tuple))
            for item in answer if several else [answer]:
                if not (isinstance(item, str) or is_dataclass(item)):
                    raise TypeError(
                        "the callback returned %s%s: return a str, a content block, a list of these, "
                        "a SamplingMessage or a CreateMessageResult; to refuse, raise mcp_ref.errors.RpcError"
                        % ("a list with " if several else "", "None" if item is None else type(item).__name__))
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
    """Limit the rate [.. client/sampling §Security Considerations] SHOULD."""
    rate = context.rate(RATE)
    if not rate.take():
        context.connection.counters.note("sampling above the rate", "refused by %s" % RATE)
        raise RpcError(INTERNAL_ERROR, "Too many sampling requests: %s (%g) is reached; ask again later"
                       % (RATE, rate.per_second))


def _check_request(context: Context, params: CreateMessageRequestParams, revision: Revision) -> None:
    """Raise `RpcError` -32602 for a request that breaks a rule; see `mcp_ref.protocol.sampling`.

    Reading: members that the revision does not have are unknown ones, and ignored. Context that was not declared
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

    Reading: a server may look at ``stopReason`` alone to see that tools are wanted, so it has the specified word then.
    """
    for fault in rules.result_faults(result, params, revision):
        fault.refuse()
    for fault in rules.annotation_faults("content", result.content):
        fault.refuse()
    if rules.tool_uses(result) and result.stop_reason != TOOL_USE:
        text = "stop_reason: with tool use in the content it is %r, not %r" % (TOOL_USE, result.stop_reason)
        raise LocalProtocolError(text, rules.CREATING)


def _approved(approve: Optional[Callable[..., Any]], expected: type, value: Any, *more: Any) -> Any:
    """Return what the user lets go on; raise `RpcError` -1 if nothing [.. client/sampling §Error Handling] SHOULD."""
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


# -- The choice of a model ---------------------------------------------------------------------


@strict_options
@dataclass
class ModelCard:
    """A model that the client has, and its properties, each from 0 to 1."""

    name: str
    cost: float = 0.5
    """The price: 0 is cheap, 1 is dear."""
    speed: float = 0.5
    """The speed: 0 is slow, 1 is fast."""
    intelligence: float = 0.5
    aliases: Tuple[str, ...] = ()
    """The names of models of other providers that it can stand for [.. client/sampling §Model Hints] MAY."""

    def __post_init__(self) -> None:
        """Raise ValueError for a number out of range."""
        for name in ("cost", "speed", "intelligence"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError("%s: %s goes from 0 to 1, not %r" % (self.name, name, getattr(self, name)))


def choose_model(preferences: Optional[ModelPreferences], models: Sequence[ModelCard]) -> Optional[ModelCard]:
    """Return the model that these preferences mean; None only if there are no models.

    The first hint that matches any model decides, and priorities only between several that it matches
    [.. client/sampling §Model Hints]. Without a match the priorities decide between all models. Among equals the
    first of ``models`` is taken, so put the one you like best in front.
    """
    if not models:
        return None
    candidates: Sequence[ModelCard] = models
    for hint in (preferences.hints if preferences is not None else None) or ():
        matching = _matching(hint.name, models)
        if matching:
            candidates = matching
            break
    return max(candidates, key=lambda card: _worth(card, preferences))  # the first of several that are equal


def _matching(hint: Optional[str], models: Sequence[ModelCard]) -> List[ModelCard]:
    """Return the models whose name contains this hint; failing that, those with an alias that does.

    Reading: upper and lower case are alike, as the page calls the match flexible. An empty hint says nothing.
    """
    if not hint:
        return []
    part = hint.lower()
    return [card for card in models if part in card.name.lower()] or [
        card for card in models if any(part in alias.lower() for alias in card.aliases)
    ]


def _worth(card: ModelCard, preferences: Optional[ModelPreferences]) -> float:
    """Return how well a model fits the priorities [.. client/sampling §Capability Priorities]; 0 where there are none.
    """
    if preferences is None:
        return 0.0
    return (
        (preferences.cost_priority or 0.0) * (1.0 - card.cost)
        + (preferences.speed_priority or 0.0) * card.speed
        + (preferences.intelligence_priority or 0.0) * card.intelligence
    )
