"""The rules of a sampling request and of its result [.. client/sampling §Creating Messages].

The same rules bind the server before it sends and the client when it receives: both parties validate
message content [.. client/sampling §Security Considerations] SHOULD. A rule that is broken is a `SamplingFault`: the
path of the member, what is wrong, the clause. The server raises it, the client answers -32602 with it.

==================  ========================================================================================
what                must be
==================  ========================================================================================
role                ``user`` or ``assistant``; tool use is the assistant's, its results are the user's
content             one block; since 2025-11-25 also an array of blocks
block               text or image; audio since 2025-03-26; tool use and tool result since 2025-11-25
image, audio        base64 of type ``image/*`` or ``audio/*``
tool use            answered in the very next message, which holds its results, all of them and nothing else
``tools``           only with the capability ``sampling.tools``; names differ
``includeContext``  other than ``none`` only with ``sampling.context``; before 2025-11-25 any value
``maxTokens``       a positive integer
priorities          from 0 to 1
==================  ========================================================================================

Reading: the page asks for a capability to *use* tools. A conversation with blocks of tool use and
tool results needs it too, even without ``tools``: a model without tools could not continue it.

Reading: ids of tool use differ within one message. The results stand in the message that follows, so an id of an
earlier round may come again; some models count anew in each.

Reading: nothing limits the temperature from above (models differ); it is not negative.
"""

from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, NoReturn, Optional, Sequence, Tuple, Type

from ..codec import Model
from ..errors import CapabilityMissing, LocalProtocolError
from ..jsonrpc import shown
from ..messages.content import AudioContent, ImageContent, TextContent
from ..messages.sampling import (
    CreateMessageRequestParams, CreateMessageResult, SamplingMessage, ToolResultContent, ToolUseContent,
)
from ..revisions import Revision
from .content import ROLES, check_annotations, check_base64, is_mime_type
from .lifecycle import has

MESSAGES = ".. client/sampling §Messages"
PREFERENCES = ".. client/sampling §Model Preferences"
CAPABILITIES = ".. client/sampling §Capabilities"
ANNOTATIONS = "2025-06-18.. server/resources §Annotations"
CREATING = ".. client/sampling §Creating Messages"
TOOLS = "2025-11-25.. client/sampling §Tools in Sampling"
CHOICE = "2025-11-25.. client/sampling §Tool Choice Modes"
ROLE_RULE = "2025-11-25.. client/sampling §Message Roles"
ONLY_RESULTS = "2025-11-25.. client/sampling §Tool Result Messages"
BALANCE = "2025-11-25.. client/sampling §Tool Use and Result Balance"

CONTEXTS = (None, "none", "thisServer", "allServers")
NO_CONTEXT = CONTEXTS[:2]
"""Values of ``includeContext``, and those that ask for none."""
MODES = ("auto", "required", "none")
PRIORITIES = ("cost_priority", "speed_priority", "intelligence_priority")

BLOCKS: Dict[Type[Model], Tuple[str, str]] = {
    TextContent: ("text", ""),
    ImageContent: ("image", ""),
    AudioContent: ("audio", "audio_content"),
    ToolUseContent: ("tool_use", "sampling_tools"),
    ToolResultContent: ("tool_result", "sampling_tools"),
}
"""Class of a block -> its type, and the feature of the revisions that have it."""


class SamplingFault(NamedTuple):
    """A rule that a message breaks: the path, what is wrong, and the clause."""

    path: str
    text: str
    citation: str
    capability: str = ""
    """The capability that is missing, if that is the fault."""

    def __str__(self) -> str:
        return "%s: %s" % (self.path, self.text)

    def refuse(self) -> NoReturn:
        """Raise `CapabilityMissing` if a capability is missing, else `LocalProtocolError`."""
        if self.capability:
            raise CapabilityMissing(str(self), self.capability, self.citation)
        raise LocalProtocolError(str(self), self.citation)


# -- The request -------------------------------------------------------------------------------


def sending_faults(
    params: CreateMessageRequestParams, revision: Revision, capabilities: Mapping[str, Any]
) -> Iterator[SamplingFault]:
    """Yield the faults of a request that we are to send, annotations out of range among them."""
    yield from request_faults(params, revision, capabilities)
    for number, message in enumerate(params.messages):
        yield from annotation_faults("messages[%d].content" % number, message.content)


def request_faults(
    params: CreateMessageRequestParams, revision: Revision, capabilities: Mapping[str, Any]
) -> Iterator[SamplingFault]:
    """Yield the faults of a request; ``capabilities`` are the client's, as on the wire."""
    yield from _capability_faults(params, revision, capabilities)
    yield from _parameter_faults(params)
    yield from _tool_faults(params)
    yield from message_faults(params.messages, revision)


def tool_rounds(messages: Sequence[SamplingMessage]) -> int:
    """Return the number of messages of this conversation in which the model has used tools."""
    return sum(1 for message in messages if _some(message.content, ToolUseContent))


def _capability_faults(
    params: CreateMessageRequestParams, revision: Revision, capabilities: Mapping[str, Any]
) -> Iterator[SamplingFault]:
    """Yield a capability that is needed and missing [.. client/sampling §Capabilities]
    [2025-11-25.. client/sampling §Tools in Sampling] MUST NOT
    [2025-11-25.. schema.json §CreateMessageRequestParams] MUST."""
    offered = "tools" if params.tools is not None else "toolChoice" if params.tool_choice is not None else ""
    if not has(capabilities, "sampling"):
        yield SamplingFault("messages", "the client did not declare the capability sampling", CAPABILITIES, "sampling")
    elif not revision.sampling_tools:
        if offered:
            yield SamplingFault(offered, "revision %s has no tools in sampling; leave them out" % revision, CREATING)
    elif (offered or any(_some(each.content, (ToolUseContent, ToolResultContent)) for each in params.messages)) and (
            not has(capabilities, "sampling.tools")):
        text = "the client did not declare the capability sampling.tools; ask without tools"
        yield SamplingFault(offered or "messages", text, TOOLS, "sampling.tools")
    if params.include_context not in NO_CONTEXT and revision.sampling_context_capability:
        if not has(capabilities, "sampling.context"):
            text = "%r needs the capability sampling.context, which the client did not declare; leave it out"
            yield SamplingFault("includeContext", text % params.include_context, CAPABILITIES, "sampling.context")


def _parameter_faults(params: CreateMessageRequestParams) -> Iterator[SamplingFault]:
    if type(params.max_tokens) is not int or params.max_tokens < 1:
        yield SamplingFault("maxTokens", "expected a positive integer, got %s" % _cut(params.max_tokens), CREATING)
    if params.temperature is not None and not _between(params.temperature, 0, None):
        text = "expected a number that is not negative, got %s" % _cut(params.temperature)
        yield SamplingFault("temperature", text, CREATING)
    if params.include_context not in CONTEXTS:
        text = "expected one of %s, got %s" % (", ".join(CONTEXTS[1:]), _cut(params.include_context))
        yield SamplingFault("includeContext", text, CREATING)
    if params.stop_sequences is not None and not _are_words(params.stop_sequences):
        text = "expected a list of strings, got %s" % _cut(params.stop_sequences)
        yield SamplingFault("stopSequences", text, CREATING)
    if params.model_preferences is not None:  # each priority out of range [.. client/sampling §Capability Priorities]
        for name, wire in zip(PRIORITIES, ("costPriority", "speedPriority", "intelligencePriority")):
            value = getattr(params.model_preferences, name)
            if value is not None and not _between(value, 0, 1):
                text = "expected a number from 0 to 1, got %s" % _cut(value)
                yield SamplingFault("modelPreferences." + wire, text, PREFERENCES)


def _tool_faults(params: CreateMessageRequestParams) -> Iterator[SamplingFault]:
    known = set()
    for number, tool in enumerate(params.tools or ()):
        if tool.name in known:
            yield SamplingFault("tools[%d].name" % number, "there is a tool %s already" % shown(tool.name), TOOLS)
        known.add(tool.name)
    mode = tool_mode(params)
    if mode not in MODES:
        yield SamplingFault("toolChoice.mode", "expected one of %s, got %s" % (", ".join(MODES), _cut(mode)), CHOICE)
    if mode == "required" and not known:
        yield SamplingFault("toolChoice", "a tool is required, and there is none in tools", CHOICE)


def tool_mode(params: CreateMessageRequestParams) -> str:
    """Return the mode: ``auto``, ``required`` or ``none`` [2025-11-25.. client/sampling §Tool Choice Modes]."""
    choice = params.tool_choice
    return "auto" if choice is None or choice.mode is None else choice.mode


# -- The messages ------------------------------------------------------------------------------


def message_faults(messages: Sequence[SamplingMessage], revision: Revision) -> Iterator[SamplingFault]:
    """Yield the faults of a conversation."""
    for number, message in enumerate(messages):
        path = "messages[%d]" % number
        if message.role not in ROLES:
            yield SamplingFault(path + ".role", 'expected "user" or "assistant", got %s' % _cut(message.role), MESSAGES)
        yield from _content_faults(path + ".content", message.content, revision)
    yield from balance_faults(messages)


def balance_faults(messages: Sequence[SamplingMessage]) -> Iterator[SamplingFault]:
    """Yield tool use without its results, and results without their tool use.

    [2025-11-25.. client/sampling §Tool Use and Result Balance] MUST: the message after a tool use is one of the user's
    that holds a result for each id, and nothing else.
    """
    waiting: Sequence[str] = ()
    for number, message in enumerate(messages):
        path = "messages[%d]" % number
        results = _some(message.content, ToolResultContent)
        uses = _some(message.content, ToolUseContent)
        if results and message.role != "user":
            text = "tool results are the user's, not the %s's"
            yield SamplingFault(path + ".role", text % _cut(message.role), ROLE_RULE)
        if uses and message.role != "assistant":
            text = "tool use is the assistant's, not the %s's"
            yield SamplingFault(path + ".role", text % _cut(message.role), ROLE_RULE)
        if results and len(results) < len(blocks(message.content)):
            yield SamplingFault(path + ".content", "tool results mixed with other content", ONLY_RESULTS)
        yield from _answer_faults(path, waiting, results)
        yield from _repeated(path + ".content", "a tool use", [use.id for use in uses])
        waiting = [use.id for use in uses]
    if waiting:
        yield _missing("messages[%d]" % len(messages), waiting)


def _answer_faults(path: str, waiting: Sequence[str], results: List[Any]) -> Iterator[SamplingFault]:
    """Yield the differences between the results in one message and the tool use before it
    [2025-11-25.. schema.json §ToolResultContent] MUST."""
    answered = [result.tool_use_id for result in results]
    missing = set(waiting).difference(answered)
    if missing:
        yield _missing(path, [id for id in waiting if id in missing])
    foreign = set(answered).difference(waiting)
    if foreign:
        id = next(id for id in answered if id in foreign)
        text = "tool result for %s, no tool use of the message before"
        yield SamplingFault(path + ".content", text % _cut(id), BALANCE)
    yield from _repeated(path + ".content", "a tool result", answered)


def _missing(path: str, ids: Sequence[str]) -> SamplingFault:
    """Return the fault in the words of the page's example [2025-11-25 client/sampling §Error Handling]."""
    shown_ids = ", ".join(_cut(id) for id in ids[:5])
    return SamplingFault(path, "tool result missing in request, for %s" % shown_ids, BALANCE)


def _repeated(path: str, what: str, ids: List[str]) -> Iterator[SamplingFault]:
    seen = set()
    for id in ids:
        if id in seen:
            yield SamplingFault(path, "the id %s of %s comes twice" % (_cut(id), what), BALANCE)
            return
        seen.add(id)


def _content_faults(path: str, content: Any, revision: Revision) -> Iterator[SamplingFault]:
    several = isinstance(content, (list, tuple))
    if several and len(content) != 1 and not revision.sampling_arrays:
        yield SamplingFault(path, "a message has one block in revision %s, not %d" % (revision, len(content)), MESSAGES)
    for number, block in enumerate(blocks(content)):
        yield from _block_faults("%s[%d]" % (path, number) if several else path, block, revision)


def _block_faults(path: str, block: Any, revision: Revision) -> Iterator[SamplingFault]:
    word, feature = BLOCKS.get(type(block), ("", ""))
    if not word:
        yield SamplingFault(path, "a %s cannot be part of a sampling message" % type(block).__name__, MESSAGES)
    elif feature and not getattr(revision, feature):
        yield SamplingFault(path, "revision %s has no %s in sampling" % (revision, word), MESSAGES)
    if word == "text" and not isinstance(block.text, str):
        yield SamplingFault(path + ".text", "expected a string, got %s" % _cut(block.text), MESSAGES)
    yield from _media_faults(path, block)
    if isinstance(block, ToolResultContent):
        for number, inner in enumerate(block.content):
            yield from _media_faults("%s.content[%d]" % (path, number), inner)


def _media_faults(path: str, block: Any) -> Iterator[SamplingFault]:
    """Yield the faults of an image or a sound: its type, its base64.

    Reading: the MIME type of an image begins with ``image/``, that of a sound with ``audio/``, as in the page's
    examples.
    """
    if not isinstance(block, (ImageContent, AudioContent)):
        return
    try:
        check_base64(path + ".data", block.data)
    except (TypeError, ValueError) as error:
        where, _, text = str(error).partition(": ")
        yield SamplingFault(where, text, MESSAGES)
    mime = block.mime_type
    if not isinstance(mime, str) or not is_mime_type(mime) or mime.partition("/")[0].lower() != block.type:
        text = "expected a MIME type %s/..., got %s" % (block.type, _cut(mime))
        yield SamplingFault(path + ".mimeType", text, MESSAGES)


def annotation_faults(path: str, content: Any) -> Iterator[SamplingFault]:
    """Yield annotations of any block that may not be sent; those of a peer are taken as they are."""
    several = isinstance(content, (list, tuple))
    for number, block in enumerate(blocks(content)):
        place = "%s[%d]" % (path, number) if several else path
        given = getattr(block, "annotations", None)
        if given is not None:
            try:
                check_annotations(place + ".annotations", given)
            except (TypeError, ValueError) as error:
                where, _, text = str(error).partition(": ")
                yield SamplingFault(where, text, ANNOTATIONS)
        if isinstance(block, ToolResultContent):
            yield from annotation_faults(place + ".content", list(block.content))


# -- The result --------------------------------------------------------------------------------


def result_faults(
    result: CreateMessageResult, params: CreateMessageRequestParams, revision: Revision
) -> Iterator[SamplingFault]:
    """Yield the faults of the answer to this request.

    Reading: the role of what a model writes is ``assistant``. A model may try to use tools that it was not offered;
    then the server answers with an error.
    """
    if result.role != "assistant":
        yield SamplingFault("role", 'expected "assistant", got %s' % _cut(result.role), CREATING)
    model: Any = result.model
    if not isinstance(model, str):
        yield SamplingFault("model", "expected the name of the model, got %s" % _cut(model), CREATING)
    yield from _content_faults("content", result.content, revision)
    if _some(result.content, ToolResultContent):
        yield SamplingFault("content", "tool results are the server's to give", ROLE_RULE)
    uses = tool_uses(result)
    if uses and not params.tools:
        yield SamplingFault("content", "tool use, where no tools were offered", TOOLS)
    elif uses and tool_mode(params) == "none":
        yield SamplingFault("content", "tool use, though toolChoice is none", CHOICE)
    yield from _repeated("content", "a tool use", [use.id for use in uses])
    if result.stop_reason == "toolUse" and not uses:
        yield SamplingFault("stopReason", "toolUse, and there is no tool use in content", CREATING)


def tool_uses(result: CreateMessageResult) -> "List[ToolUseContent]":
    """Return the tool uses of an answer, in order."""
    return _some(result.content, ToolUseContent)


# -- Small things ------------------------------------------------------------------------------


def blocks(content: Any) -> List[Any]:
    """Return the blocks of a message, one or several."""
    return list(content) if isinstance(content, (list, tuple)) else [content]


def _some(content: Any, classes: Any) -> List[Any]:
    return [block for block in blocks(content) if isinstance(block, classes)]


def _between(value: Any, low: float, high: Optional[float]) -> bool:
    return type(value) in (int, float) and low <= value < float("inf") and (high is None or value <= high)


def _are_words(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value)


def _cut(value: Any) -> str:
    return '"%s"' % shown(value) if isinstance(value, str) else shown(repr(value))
