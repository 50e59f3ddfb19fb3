"""Sampling: requests of a handler to the client's model [.. client/sampling §Creating Messages].

::

    @server.tool
    def summarize(text: str, ctx: Context) -> str:
        answer = ctx.sample("Summarize in one line: " + text, max_tokens=100, hints=["haiku"])
        return answer.text

The client chooses the model, shows the request to the user, and may refuse: then `PeerError` with code -1 is
raised, which `rejected` recognizes. A request that breaks a rule is refused before it is sent
(`mcp_ref.protocol.sampling`), and an answer that breaks one raises `PeerProtocolError`.

Since 2025-11-25 the model may use tools, if the client declared ``sampling.tools``. `sample_with_tools` runs the whole
loop: ask the model, call the tools that it wants, send the results, ask again.
"""

from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from ..codec import decode, encode
from ..errors import USER_REJECTED, PeerError, PeerProtocolError, RpcError
from ..jsonrpc import decoded
from ..messages.content import AudioContent, ImageContent, TextContent
from ..messages.sampling import (
    CreateMessageRequestParams, CreateMessageResult, ModelHint, ModelPreferences, SamplingMessage, ToolChoice,
    ToolResultContent, ToolUseContent,
)
from ..methods import CREATE_MESSAGE
from ..options import with_defaults
from ..peer.context import Route
from ..protocol import sampling as rules
from ..protocol.results import odd_priorities
from .families import SAMPLE, TOOL_SAMPLE, takes_sample_options, takes_tool_sample_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..messages.tools import Tool
    from .context import Context
    from .families import SampleOptions, ToolSampleOptions
    from .tools import Tools

LIMIT = "max_tool_iterations"

Content = Union[str, TextContent, ImageContent, AudioContent]
Said = Union[Content, SamplingMessage, CreateMessageResult]
"""A message of a conversation: a str or a block has the role user, an earlier result the role assistant."""
Toolbox = Union[Sequence[str], Mapping[str, Callable[..., Any]]]
"""Names of the server's tools, or functions by the name that the model knows them under."""


# -- One question ------------------------------------------------------------------------------


@takes_sample_options
def sample(
    ctx: "Context", messages: Union[Said, Sequence[Said]], max_tokens: int, **options: "Unpack[SampleOptions]"
) -> CreateMessageResult:
    """Ask the client's model, wait for its message, and return it.

    ``messages``: a str, a content block, a `SamplingMessage`, an earlier result, or a list of these. ``hints`` are
    names of models or parts of them, in order of preference; a short form of those in ``model_preferences``.
    ``include_context``: ``none``, ``thisServer`` or ``allServers``. ``tool_choice``: ``auto``, ``required`` or
    ``none``. ``timeout``: seconds; None: only the ceiling of the limits, as a user may have to read the request first.
    ``key`` names the question, see `Context`.

    Raises `CapabilityMissing` for a capability that the client did not declare, `LocalProtocolError` for a request that
    the revision or a rule forbids, `PeerError` for the client's refusal (see `rejected`), `PeerProtocolError` for a bad
    answer, and as `Context.ask`.
    """
    given = with_defaults(sample, SAMPLE, options)
    choice, tools = given["tool_choice"], given["tools"]
    params = CreateMessageRequestParams(
        messages_of(messages),
        max_tokens,
        model_preferences=_preferences(given["model_preferences"], given["hints"]),
        system_prompt=given["system_prompt"],
        include_context=given["include_context"],  # type: ignore[arg-type]
        temperature=given["temperature"],
        stop_sequences=given["stop_sequences"],
        metadata=given["metadata"],
        tools=None if tools is None else list(tools),
        tool_choice=ToolChoice(choice) if isinstance(choice, str) else choice,  # type: ignore[arg-type]
        meta=given["meta"],
    )
    session = ctx.session
    for fault in rules.sending_faults(params, session.rules, session.peer_capabilities):
        fault.refuse()

    def read(result: CreateMessageResult) -> CreateMessageResult:
        for fault in rules.result_faults(result, params, session.rules):
            raise PeerProtocolError("the answer to sampling/createMessage: %s" % str(fault), fault.citation)
        for odd in odd_priorities("content", result.content):
            ctx.connection.counters.note("number out of range", "sampling/createMessage: %s" % odd)
        return result

    answer: CreateMessageResult = ctx.ask(CREATE_MESSAGE, params, given["timeout"], given["key"], read)
    return answer


def messages_of(said: Union[Said, Sequence[Said]]) -> List[SamplingMessage]:
    """Return the messages of a conversation; see `sample`. Raises TypeError for an object of another type."""
    return [_message(one) for one in (said if isinstance(said, (list, tuple)) else [said])]


def _message(said: Any) -> SamplingMessage:
    if isinstance(said, SamplingMessage):
        return said
    if isinstance(said, CreateMessageResult):
        return SamplingMessage(said.role, said.content)
    if isinstance(said, str):
        return SamplingMessage("user", TextContent(said))
    if isinstance(said, (TextContent, ImageContent, AudioContent)):
        return SamplingMessage("user", said)
    known = "a str, a text, image or audio block, a SamplingMessage or a CreateMessageResult"
    raise TypeError("a message is %s, not a %s" % (known, type(said).__name__))


def _preferences(
    preferences: Optional[ModelPreferences], hints: Optional[Sequence[str]]
) -> Optional[ModelPreferences]:
    if hints is None:
        return preferences
    if isinstance(hints, str):
        raise TypeError("hints is a list of names, such as [%r]" % hints)
    given = preferences or ModelPreferences()
    if given.hints is not None:
        raise ValueError("give the hints once: as hints, or in model_preferences")
    return ModelPreferences(
        [ModelHint(name) for name in hints], given.cost_priority, given.speed_priority, given.intelligence_priority
    )


def rejected(error: BaseException) -> bool:
    """Return True for an exception of `sample` that means a refusal of the user [.. client/sampling §Error Handling].
    """
    return isinstance(error, PeerError) and error.code == USER_REJECTED


# -- The loop ----------------------------------------------------------------------------------


@takes_tool_sample_options
def sample_with_tools(
    ctx: "Context", messages: Union[Said, Sequence[Said]], max_tokens: int, *, tools: Toolbox,
    **options: "Unpack[ToolSampleOptions]"
) -> CreateMessageResult:
    """Ask the client's model, call the tools that it uses, and return its final message.

    [2025-11-25.. client/sampling §Multi-turn Tool Loop]

    ``tools``: names of this server's tools, or functions by name, which become tools as with ``@server.tool``. Each
    tool use is answered, in the next message and in order, by a result of its own. A failure (an unknown tool,
    arguments that do not fit, an exception) is a result with an error for the model, as of `tools/call`.
    ``tool_choice`` holds for the first question; after that the model may choose. After ``max_tool_iterations`` rounds
    (default: that of the limits) it must answer without tools. The other options are those of `sample`.

    Raises as `sample`, KeyError for a name that is no tool of the server, and `PeerProtocolError` for a model
    that uses tools even after the last round.
    """
    given: Any = with_defaults(sample_with_tools, TOOL_SAMPLE, options)
    limit, tool_choice = given.pop("max_tool_iterations"), given.pop("tool_choice")
    if limit is None:
        limit = ctx.connection.limits.max_tool_iterations
    box = _box(ctx, tools)
    offered = [tool.describe() for tool in box.listing.values() if isinstance(tools, Mapping) or tool.name in tools]
    call, talk = box.call_route(ctx.session.rules), messages_of(messages)
    ask = partial(sample, ctx, max_tokens=max_tokens, tools=offered, **given)
    for _ in range(limit):
        result = ask(messages=talk, tool_choice=tool_choice)
        uses = rules.tool_uses(result)
        if not uses:
            return result
        answers: List[Any] = [_use(ctx, box, call, use, offered) for use in uses]
        talk = talk + [SamplingMessage(result.role, result.content), SamplingMessage("user", answers)]
        tool_choice = None
    try:
        return ask(messages=talk, tool_choice="none")
    except PeerProtocolError as error:
        raise PeerProtocolError("after %d rounds (%s): %s" % (limit, LIMIT, error)) from None


def _box(ctx: "Context", tools: Toolbox) -> "Tools":
    """Return the tools that the model may use: those of the server, or new ones made of functions."""
    server: Any = ctx.connection.role
    if isinstance(tools, str):
        raise TypeError("tools is a list of names, or functions by name; such as [%r]" % tools)
    if not isinstance(tools, Mapping):
        for name in tools:
            if server.tools.listing.get(name) is None:
                raise KeyError("the server has no tool %s" % name)
        found: "Tools" = server.tools
        return found
    from .registry.checks import Paging
    from .tools import Tools

    made = Tools(not server.strict, Paging())
    for name, function in tools.items():
        made.add(function, name=name)
    return made


def _use(
    ctx: "Context", box: "Tools", route: Route, use: ToolUseContent, offered: "Sequence[Tool]"
) -> ToolResultContent:
    """Call a tool for the model, and return its result, or its error as a result for the model.

    Each tool use gets a result with its id, whatever happens
    [2025-11-25.. client/sampling §Security Considerations] MUST
    [2025-11-25.. schema.json §ToolResultContent] MUST. Its structured content is what the schema of the tool describes,
    as in any call (SHOULD). In 2026-07-28, where the handler runs again in each round, the tool is called once, and its
    result travels in the state.
    """
    if ctx.session.rules.peer_requests:
        result = _call(ctx, box, route, use, offered)
    else:
        from .mrtr import rounds_of

        rounds = rounds_of(ctx)
        result = rounds.once(rounds.name("tool use"), lambda: _call(ctx, box, route, use, offered))
    members = dict(result, type="tool_result", toolUseId=use.id)
    members.pop("resultType", None)  # that of a result, which this is not
    made: ToolResultContent = decode(ToolResultContent, members, ctx.session.rules, "tool result")
    return made


def _call(ctx: "Context", box: "Tools", route: Route, use: ToolUseContent, offered: "Sequence[Tool]") -> Any:
    context: Any = ctx  # the tool is given the whole context, of which this module knows a part
    if all(tool.name != use.name for tool in offered):
        return _failed("Unknown tool: %s" % use.name)
    try:
        return decoded(route.call(context, {"name": use.name, "arguments": use.input, "_meta": ctx.meta}))
    except RpcError as error:
        return _failed(error.message)
    except Exception as error:
        ctx.check()  # where the request was cancelled there is nobody left to tell
        return encode(box.failed(context, "tool %r" % use.name, error), ctx.session.rules)


def _failed(text: str) -> Dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": True}
