"""The table of what a revision gets in place of content that it lacks.

The codec leaves out members that an older revision lacks. This table has the rest: content that
cannot be left out, because the receiver would miss it. Either an older form says the same, or the
message is refused: `Unrepresentable` is raised before anything is sent. A newer form is never sent
as it is.

A key is a class that the revision lacks, or a member that had a narrower type (or did not exist)
there. The column *until* names the last revision that needs the rule. The codec asks when it
compiles an encoder for one of them, so that a program that does not need the table does not load it.
"""

from typing import Any, Dict, List, NamedTuple, NoReturn, Optional

from ..codec import ABSENT, Model, Rule, Unrepresentable
from ..revisions import R2024_11_05, R2025_03_26, R2025_06_18, R2025_11_25, Revision
from .content import AudioContent, ResourceLink, TextContent


class Downgrade(NamedTuple):
    """A row of the table."""

    what: str
    until: str
    """The last revision that needs the rule."""
    rule: Rule
    says: str
    """The form that the receiver gets, in words."""


# -- Content -----------------------------------------------------------------------------------


def audio_as_text(block: AudioContent, revision: Revision) -> TextContent:
    """Return a text with the type and size of the sound. An embedded resource would keep the data, but under an
    invented URI."""
    size = len(block.data) * 3 // 4 - block.data[-2:].count("=")
    text = "[audio left out: %s, %d bytes; protocol revision %s has no audio]" % (block.mime_type, size, revision)
    return TextContent(text, annotations=block.annotations, meta=block.meta)


def link_as_text(block: ResourceLink, revision: Revision) -> TextContent:
    """Return a text with title or name, URI, type and description."""
    text = "[resource] %s: %s" % (block.title or block.name, block.uri)
    if block.mime_type:
        text += " (%s)" % block.mime_type
    if block.description:
        text += "\n" + block.description
    return TextContent(text, annotations=block.annotations, meta=block.meta)


def leave_out(value: Any, revision: Revision) -> Any:
    """Drop the member; the rest of the message is enough."""
    return ABSENT


# -- Sampling ----------------------------------------------------------------------------------


def single_block(value: Any, revision: Revision) -> Any:
    """Return the only block of a list; refuse a longer list."""
    if isinstance(value, (list, tuple)) and len(value) == 1:
        return value[0]
    raise Unrepresentable("a sampling message of %d blocks" % len(value), revision, "it has exactly one there")


def refuse_tools(value: Any, revision: Revision) -> NoReturn:
    """Refuse: without the tools the question would be another one."""
    raise Unrepresentable("sampling with tools", revision, "that revision does not have it")


def refuse_tool_content(block: Any, revision: Revision) -> NoReturn:
    """Refuse: a conversation about tools has no form without them."""
    raise Unrepresentable("content of type %s" % block.type, revision, "that revision does not have it")


# -- Forms -------------------------------------------------------------------------------------


def plain_enum(schema: Any, revision: Revision) -> Model:
    """Return the values alone, which look the same in the older form."""
    return _legacy_enum(schema, schema.enum, None)


def titled_enum(schema: Any, revision: Revision) -> Model:
    """Return the values with the titles in a list beside them."""
    return _legacy_enum(schema, [o.const for o in schema.one_of], [o.title for o in schema.one_of])


def _legacy_enum(schema: Any, values: List[str], titles: Optional[List[str]]) -> Model:
    from .elicitation import LegacyTitledEnumSchema
    made = LegacyTitledEnumSchema(values, enum_names=titles, title=schema.title, description=schema.description)
    made.extra = schema.extra
    return made


def refuse_multiple(schema: Any, revision: Revision) -> NoReturn:
    """Refuse: no form of that revision yields a list."""
    raise Unrepresentable("a choice of several values", revision, "its forms have no lists")


DOWNGRADES = (
    Downgrade("AudioContent", R2024_11_05, audio_as_text, "a text that names type and size"),
    Downgrade("ResourceLink", R2025_03_26, link_as_text, "a text with the URI, type and description"),
    Downgrade("Tool.output_schema", R2025_11_25, leave_out, "no output schema, if its type is not object"),
    Downgrade("CallToolResult.structured_content", R2025_11_25, leave_out, "the content alone, if it is no object"),
    Downgrade("ToolResultContent.structured_content", R2025_11_25, leave_out, "the content alone, if it is no object"),
    Downgrade("SamplingMessage.content", R2025_06_18, single_block, "the block of a list of one; else a refusal"),
    Downgrade("CreateMessageResult.content", R2025_06_18, single_block, "the block of a list of one; else a refusal"),
    Downgrade("CreateMessageRequestParams.tools", R2025_06_18, refuse_tools, "a refusal"),
    Downgrade("ToolUseContent", R2025_06_18, refuse_tool_content, "a refusal"),
    Downgrade("ToolResultContent", R2025_06_18, refuse_tool_content, "a refusal"),
    Downgrade("UntitledSingleSelectEnumSchema", R2025_06_18, plain_enum, "the same values, without default"),
    Downgrade("TitledSingleSelectEnumSchema", R2025_06_18, titled_enum, "values in enum, titles in enumNames"),
    Downgrade("UntitledMultiSelectEnumSchema", R2025_06_18, refuse_multiple, "a refusal"),
    Downgrade("TitledMultiSelectEnumSchema", R2025_06_18, refuse_multiple, "a refusal"),
)

RULES: Dict[str, Rule] = {row.what: row.rule for row in DOWNGRADES}
