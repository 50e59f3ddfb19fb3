"""The vocabulary against the official schemas: each definition as it comes, as it goes, and what older revisions get.

For every definition of every schema a smallest and several full instances are made from the schema itself; what is
read and written again must be the same, and valid by our own validator.
"""
import copy
import dataclasses
import importlib
import inspect
import pickle
import pydoc
import re
import sys
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

import pytest

from mcp_ref import messages
from mcp_ref.codec import (
    ABSENT, NULL, DecodeError, Model, Unrepresentable, attribute_name, decode, encode, members, wire_name,
)
from mcp_ref.devtools.crosscheck import ALIASES, all_classes, method_of
from mcp_ref.messages import (
    Annotations, AudioContent, BlobResourceContents, CallToolResult, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestFormParams, EmbeddedResource, EnumOption, ImageContent, PromptMessage, ReadResourceResult,
    RequestedSchema, ResourceLink, SamplingMessage, TextContent, TextResourceContents, TitledItems,
    TitledMultiSelectEnumSchema, TitledSingleSelectEnumSchema, Tool, ToolResultContent, ToolUseContent, UntitledItems,
    UntitledMultiSelectEnumSchema, UntitledSingleSelectEnumSchema,
)
from mcp_ref.messages.downgrade import DOWNGRADES
from mcp_ref.messages.extensions import skills, tasks
from mcp_ref.methods import load, lookup, params_class, result_class
from mcp_ref.revisions import LATEST, REVISIONS, Revision, revision
from tests.support import official_schema

VARIANTS = 9
"""How many full instances are made: each takes another alternative of every union, which has at most that many."""


# -- Instances from a schema -------------------------------------------------------------------


class Maker(NamedTuple):
    """Makes instances of the definitions of one revision. ``variant`` None: the smallest; else a full one."""

    when: Revision
    variant: Optional[int]

    def definition(self, name: str, depth: int = 0) -> Any:
        schema = official_schema.document(self.when.name)[official_schema.keyword(self.when.name)][name]
        return self.make(schema, depth)

    def make(self, schema: Dict[str, Any], depth: int = 0) -> Any:
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            return "json" if name == "JSONValue" and depth > 3 else self.definition(name, depth + 1)
        if "const" in schema:
            return schema["const"]
        if "allOf" in schema:
            merged: Dict[str, Any] = {}
            for part in schema["allOf"]:
                merged.update(self.make(part, depth))
            return merged
        choices = schema.get("enum") or schema.get("anyOf") or (
            schema["type"] if isinstance(schema.get("type"), list) else None)
        if choices:
            choice = choices[(self.variant or 0) % len(choices)]
            if "enum" in schema:
                return choice
            return self.make(choice if "anyOf" in schema else {"type": choice}, depth)
        return self.plain(schema, depth)

    def plain(self, schema: Dict[str, Any], depth: int) -> Any:
        kind = schema.get("type", "any")
        if kind == "array":
            return [] if self.variant is None else [self.make(schema["items"], depth)] * 2
        if kind == "object":
            return self.object(schema, depth)
        return {"string": "text", "integer": 7, "number": 0.5, "boolean": True, "any": {"any": [None, 1.5]},
                "null": None}[kind]

    def object(self, schema: Dict[str, Any], depth: int) -> Dict[str, Any]:
        found = {name: self.make(part, depth) for name, part in schema.get("properties", {}).items()
                 if self.variant is not None or name in schema.get("required", ())}
        rest = schema.get("additionalProperties", {})
        if self.variant is not None and not found:
            found["key"] = self.make(rest, depth) if isinstance(rest, dict) else {"a": 1}
        return found


def instances(when: Revision, schema: Dict[str, Any]) -> List[Any]:
    """The smallest instance and full ones, each once."""
    made = [Maker(when, variant).make(schema) for variant in (None, *range(VARIANTS))]
    return [value for number, value in enumerate(made) if value not in made[:number]]


def definitions(when: Revision) -> Dict[str, Dict[str, Any]]:
    found: Dict[str, Dict[str, Any]] = official_schema.document(when.name)[official_schema.keyword(when.name)]
    return found


def class_of(name: str, when: Revision) -> Any:
    """What stands for a definition: a class or a union of classes; None for scalars, frames and parts of others."""
    for alias, until, cls in ALIASES:
        if alias == name and when.has(None, until):
            return getattr(messages, cls)
    found = getattr(messages, name) if name in messages.__all__ else None
    is_class = isinstance(found, type) and issubclass(found, Model)
    return found if is_class and when.has(found.since, found.until) or getattr(found, "__origin__", None) else None


PLAIN = ("JSONArray", "JSONObject", "LoggingLevel", "MetaObject", "ProgressToken", "RequestId", "Role", "TaskStatus")
"""Definitions that are plain JSON here."""


class Case(NamedTuple):
    """Something the schema of a revision describes, and what stands for it."""

    when: Revision
    name: str
    schema: Dict[str, Any]
    cls: Any

    def __str__(self) -> str:
        return "%s-%s" % (self.when, self.name)


def cases() -> Iterator[Case]:
    for when in REVISIONS:
        for name, schema in definitions(when).items():
            cls = class_of(name, when)
            row = lookup(method_of(schema) or "", when)
            if cls is not None and name not in PLAIN:
                yield Case(when, name, schema, cls)
            elif row and "params" in schema["properties"]:
                yield Case(when, name + ".params", schema["properties"]["params"], params_class(row))


CASES = list(cases()) if official_schema.PRESENT else []


@pytest.mark.needs("specification")
def test_the_official_schemas_are_there() -> None:
    assert len(CASES) > 400


def written(value: Any, when: Revision) -> Any:
    """A decoded value as JSON again: a message, or a map of messages."""
    if isinstance(value, dict):
        return {key: written(item, when) for key, item in value.items()}
    return encode(value, when) if isinstance(value, Model) else value


@pytest.mark.needs("specification")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_definition_is_read_and_written_unchanged(case: Case) -> None:
    for value in instances(case.when, case.schema):
        before = copy.deepcopy(value)
        made = decode(case.cls, value, case.when, case.name)
        assert written(made, case.when) == before and value == before
        if "." not in case.name:
            assert not official_schema.validator(case.when.name, case.name).validate(written(made, case.when))


def full_objects(when: Revision) -> Iterator[Tuple[Case, Dict[str, Any], Model]]:
    """Each case of a revision whose full instance is read as a message, with both."""
    for case in CASES:
        if case.when is when:
            value = instances(when, case.schema)[-1]
            made = decode(case.cls, value, when)
            if isinstance(made, Model):
                yield case, value, made


@pytest.mark.needs("specification")
@pytest.mark.parametrize("when", REVISIONS, ids=str)
def test_unknown_members_and_meta_survive_in_each_definition(when: Revision) -> None:
    for case, value, made in full_objects(when):
        unknown = dict(value, **{"x-new": [{"deep": None}]})
        has_meta = "meta" in {m.attr for m in members(type(made)) if m.exists(when)}
        if has_meta:
            unknown["_meta"] = dict(value.get("_meta", {}), **{"com.example/thing": {"a": [1]}})
        again: Any = decode(case.cls, unknown, when)
        assert encode(again, when) == unknown, case.name
        assert again.extra["x-new"] == [{"deep": None}], case.name
        assert not has_meta or again.meta["com.example/thing"] == {"a": [1]}, case.name


@pytest.mark.needs("specification")
@pytest.mark.parametrize("when", REVISIONS, ids=str)
def test_each_required_member_is_required(when: Revision) -> None:
    for case, value, made in full_objects(when):
        for m in members(type(made)):
            if m.required_in(when) and not m.assume:
                with pytest.raises(DecodeError, match="params"):
                    decode(case.cls, {k: v for k, v in value.items() if k != m.wire}, when)


def test_unknown_members_survive_inside_a_form_of_the_oldest_kind() -> None:
    field = {"type": "string", "enum": ["a"], "x-new": 1}
    value = {"message": "?", "requestedSchema": {"type": "object", "properties": {"f": field}}}
    made = decode(ElicitRequestFormParams, value, revision("2025-06-18"))
    assert encode(made, revision("2025-06-18")) == value


# -- Members that come and go ------------------------------------------------------------------


@pytest.mark.parametrize("cls", all_classes(), ids=lambda cls: cls.__name__)
def test_a_member_that_the_revision_lacks_is_kept_when_it_comes_and_not_sent(cls: Any) -> None:
    here = [when for when in REVISIONS if when.has(cls.since, cls.until)]
    for m, when in ((m, when) for m in members(cls) for when in here if not m.constant and not m.exists(when)):
        having = min((r for r in here if m.exists(r)), key=lambda r: abs(r.rank - when.rank))
        assert m.wire in encode(decode(cls, full_instance(cls, having), having), having)
        early = dict(full_instance(cls, when), **{m.wire: example(m, having)})
        made = decode(cls, early, when)
        assert m.attr in vars(made), (m.attr, when)
        if (cls.__name__, m.attr) != ("CreateMessageRequestParams", "tools"):  # refused, see the downgrades
            assert encode(made, when) == {wire: value for wire, value in early.items() if wire != m.wire}


def full_instance(cls: Any, when: Revision) -> Dict[str, Any]:
    """A full instance of a class, from its members."""
    return {m.wire: example(m, when) for m in members(cls) if m.exists(when)}


def example(m: Any, when: Revision) -> Any:
    hint = m.shape_in(when) or m.type_in(when)
    return m.default if m.constant else example_of(hint, when)


def example_of(hint: Any, when: Revision) -> Any:
    if isinstance(hint, type) and issubclass(hint, Model):
        return full_instance(hint, when)
    origin, parts = getattr(hint, "__origin__", None), getattr(hint, "__args__", ())
    if origin is list:
        return [example_of(parts[0], when)]
    if origin is dict:
        return {"k": example_of(parts[1], when)}
    if parts:
        return parts[0] if isinstance(parts[0], str) else example_of(parts[0], when)
    return {str: "s", int: 1, float: 0.5, bool: True}.get(hint, {"type": "object"})


# -- What Python does with dataclasses ---------------------------------------------------------

UNKNOWN = [{"deep": None}]
EXTENSIONS = [value for page in (skills, tasks) for value in vars(page).values()
              if inspect.isclass(value) and issubclass(value, Model) and value.__module__ == page.__name__]
NAMES = {cls.__name__: cls for cls in [*all_classes(), *EXTENSIONS]}


def filled(cls: Any, when: Revision) -> Iterator[Tuple[Dict[str, Any], Dict[str, Any]]]:
    """Pairs of JSON objects of a class: with something that is easily lost, and without it."""
    full = full_instance(cls, when)
    yield dict(full, **{"x-new": UNKNOWN}), full
    for m in members(cls):
        if m.exists(when) and not m.constant and m.type_in(when) is Any:
            bare = dict(full)
            if not m.required_in(when):
                del bare[m.wire]
            yield dict(full, **{m.wire: None}), bare


def matched(made: Any) -> Any:
    """What class patterns find in a message: its members by position, and the unknown ones by keyword."""
    found: Dict[str, Any] = {}
    source = "match made:\n  case Class(extra=extra):\n    found = extra\n"
    source += "match made:\n  case Class(%s):\n    pass" % ", ".join("p%d" % n for n in range(len(made.__match_args__)))
    exec(source, {"Class": type(made)}, found.update(made=made) or found)
    return {name: found[name] for name in found if name != "made"}


def evaluated(made: Any) -> Any:
    return eval(repr(made), dict(NAMES, NULL=NULL))


KEEPING = {
    "copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda made: pickle.loads(pickle.dumps(made)),
    "replace": dataclasses.replace, "evaluated": evaluated,
    "made": lambda made: type(made)(**{f.name: getattr(made, f.name) for f in dataclasses.fields(made) if f.init}),
}
SHOWING = {"repr": repr, "asdict": dataclasses.asdict, "astuple": dataclasses.astuple, "equality": lambda made: made}
if sys.version_info >= (3, 10):
    SHOWING["match"] = matched


@pytest.mark.parametrize("operation", [*KEEPING, *SHOWING])
def test_a_message_keeps_unknown_members_and_null(operation: str) -> None:
    lost: List[str] = []
    tried = 0
    for cls in NAMES.values():
        for when in (when for when in REVISIONS if when.has(cls.since, cls.until)):
            for given, bare in filled(cls, when):
                tried += 1
                made = decode(cls, given, when)
                try:
                    if operation in KEEPING:
                        again = KEEPING[operation](made)
                        kept = again == made and encode(again, when) == encode(made, when) == given
                    else:
                        kept = SHOWING[operation](made) != SHOWING[operation](decode(cls, bare, when))
                except Exception as error:
                    kept = False
                    given = {"failed": repr(error)}
                if not kept:
                    lost.append("%s in %s: %s" % (cls.__name__, when, given))
    assert tried > 400 and not lost, "%d of %d: %s" % (len(lost), tried, lost[:5])


# -- Downgrades --------------------------------------------------------------------------------

AUDIO = AudioContent("AAAA" * 3, "audio/wav", annotations=Annotations(priority=1))
AUDIO_TEXT = "[audio left out: audio/wav, 9 bytes; protocol revision 2024-11-05 has no audio]"
LINK = ResourceLink("file:///a", "a", title="The A", description="first\nletter", mime_type="text/plain")
LINK_TEXT = "[resource] The A: file:///a (text/plain)\nfirst\nletter"
TEXT = {"type": "text", "text": "x"}
SCHEMA = {"type": "object"}
USE = ToolUseContent("1", "t", {})
RESULT = ToolResultContent("1", [TextContent("x")])
OPTIONS = [EnumOption("r", "Red"), EnumOption("g", "Green")]


def message(*content: Any) -> SamplingMessage:
    return SamplingMessage("user", list(content))


def form(schema: Any) -> ElicitRequestFormParams:
    return ElicitRequestFormParams("?", RequestedSchema({"a": schema}))


# row of the table, last revision that needs it, message, what is sent in that revision; None: refused
ROWS: List[Tuple[str, str, Any, Any]] = [
    ("AudioContent", "2024-11-05", CallToolResult([AUDIO]),
     {"content": [{"type": "text", "text": AUDIO_TEXT, "annotations": {"priority": 1}}]}),
    ("AudioContent", "2024-11-05", PromptMessage("user", AudioContent("", "a/b")),
     {"role": "user", "content": {"type": "text", "text": AUDIO_TEXT.replace("audio/wav, 9", "a/b, 0")}}),
    ("AudioContent", "2024-11-05", SamplingMessage("user", AudioContent("AA==", "a/b")),
     {"role": "user", "content": {"type": "text", "text": AUDIO_TEXT.replace("audio/wav, 9", "a/b, 1")}}),
    ("ResourceLink", "2025-03-26", CallToolResult([LINK, TextContent("x")]),
     {"content": [{"type": "text", "text": LINK_TEXT}, TEXT]}),
    ("ResourceLink", "2025-03-26", PromptMessage("user", ResourceLink("a:b", "n")),
     {"role": "user", "content": {"type": "text", "text": "[resource] n: a:b"}}),
    ("Tool.output_schema", "2025-11-25", Tool("t", SCHEMA, output_schema={"type": "array"}),
     {"name": "t", "inputSchema": SCHEMA}),
    ("Tool.output_schema", "2025-11-25", Tool("t", SCHEMA, output_schema={}), {"name": "t", "inputSchema": SCHEMA}),
    ("Tool.output_schema", "2025-11-25", Tool("t", SCHEMA, output_schema=SCHEMA),
     {"name": "t", "inputSchema": SCHEMA, "outputSchema": SCHEMA}),
    ("CallToolResult.structured_content", "2025-11-25", CallToolResult([TextContent("x")], structured_content=[1]),
     {"content": [TEXT]}),
    ("CallToolResult.structured_content", "2025-11-25", CallToolResult([TextContent("x")], structured_content=NULL),
     {"content": [TEXT]}),
    ("CallToolResult.structured_content", "2025-11-25", CallToolResult([TextContent("x")], structured_content={"a": 1}),
     {"content": [TEXT], "structuredContent": {"a": 1}}),
    ("ToolResultContent.structured_content", "2025-11-25",
     message(ToolResultContent("1", [], structured_content=3)),
     {"role": "user", "content": [{"type": "tool_result", "toolUseId": "1", "content": []}]}),
    ("SamplingMessage.content", "2025-06-18", message(TextContent("x")), {"role": "user", "content": TEXT}),
    ("SamplingMessage.content", "2025-06-18", SamplingMessage("user", TextContent("x")),
     {"role": "user", "content": TEXT}),
    ("SamplingMessage.content", "2025-06-18", message(TextContent("x"), TextContent("x")), None),
    ("SamplingMessage.content", "2025-06-18", message(), None),
    ("CreateMessageResult.content", "2025-06-18", CreateMessageResult("assistant", "m", [TextContent("x")]),
     {"role": "assistant", "model": "m", "content": TEXT}),
    ("CreateMessageResult.content", "2025-06-18", CreateMessageResult("assistant", "m", [AUDIO, AUDIO]), None),
    ("CreateMessageRequestParams.tools", "2025-06-18",
     CreateMessageRequestParams([], 1, tools=[Tool("t", SCHEMA)]), None),
    ("ToolUseContent", "2025-06-18", SamplingMessage("assistant", USE), None),
    ("ToolUseContent", "2025-06-18", message(USE), None),
    ("ToolResultContent", "2025-06-18", SamplingMessage("user", RESULT), None),
    ("UntitledSingleSelectEnumSchema", "2025-06-18",
     form(UntitledSingleSelectEnumSchema(["r", "g"], title="T", default="g")),
     {"message": "?", "requestedSchema": {"type": "object", "properties": {
         "a": {"type": "string", "enum": ["r", "g"], "title": "T"}}}}),
    ("TitledSingleSelectEnumSchema", "2025-06-18", form(TitledSingleSelectEnumSchema(OPTIONS, description="D")),
     {"message": "?", "requestedSchema": {"type": "object", "properties": {
         "a": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"], "description": "D"}}}}),
    ("UntitledMultiSelectEnumSchema", "2025-06-18", form(UntitledMultiSelectEnumSchema(UntitledItems(["r"]))), None),
    ("TitledMultiSelectEnumSchema", "2025-06-18", form(TitledMultiSelectEnumSchema(TitledItems(OPTIONS))), None),
]

DEFINITION = {"ElicitRequestFormParams": "ElicitRequest", "CreateMessageRequestParams": "CreateMessageRequest"}


@pytest.mark.parametrize("what, until, sent, expected", ROWS, ids=["%s-%d" % (r[0], n) for n, r in enumerate(ROWS)])
def test_what_older_revisions_get(what: str, until: str, sent: Any, expected: Any) -> None:
    row = next(row for row in DOWNGRADES if row.what == what)
    assert row.until == until and row.says
    when = revision(until)
    if expected is None:
        with pytest.raises(Unrepresentable, match="cannot be sent in revision %s" % until):
            encode(sent, when)
    else:
        assert encode(sent, when) == expected
        valid_frame(type(sent).__name__, expected, when)
    newer = encode(sent, REVISIONS[when.rank + 1])
    assert newer == encode(decode(type(sent), newer, REVISIONS[when.rank + 1]), REVISIONS[when.rank + 1]), "as it is"


def valid_frame(name: str, value: Dict[str, Any], when: Revision) -> None:
    if official_schema.PRESENT:
        wrapped = {"method": "elicitation/create", "params": value} if name in DEFINITION else value
        assert not official_schema.validator(when.name, DEFINITION.get(name, name)).validate(wrapped)


def test_every_row_of_the_table_is_tried() -> None:
    assert {row[0] for row in ROWS} == {row.what for row in DOWNGRADES}
    assert len(DOWNGRADES) == len({row.what for row in DOWNGRADES})


def downgraded() -> List[str]:
    """What the declarations say is in the table."""
    return ["%s.%s" % (cls.__name__, m.attr) for cls in all_classes() for m in members(cls) if m.downgrade]


def test_the_table_has_what_the_declarations_point_to() -> None:
    assert {row.what for row in DOWNGRADES if "." in row.what} == set(downgraded())


@pytest.mark.parametrize("row", DOWNGRADES, ids=lambda row: row.what)
def test_a_row_ends_where_the_revisions_can_carry_it(row: Any) -> None:
    name, _, attr = row.what.partition(".")
    cls = getattr(messages, name)
    after = REVISIONS[revision(row.until).rank + 1]
    if not attr:
        assert not revision(row.until).has(cls.since, cls.until) and after.has(cls.since, cls.until)
        return
    m = next(m for m in members(cls) if m.attr == attr)
    now, then = (m.type_in(after), m.shape_in(after)), (m.type_in(revision(row.until)), m.shape_in(revision(row.until)))
    assert now != then or not m.exists(revision(row.until)) or m.shape is not None


BLOCKS = [TextContent("x"), ImageContent("AAAA", "image/png"), AUDIO, LINK,
          EmbeddedResource(TextResourceContents("file:///a", "x"))]


@pytest.mark.parametrize("when", REVISIONS, ids=str)
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.type)
def test_every_block_can_be_sent_in_every_revision(block: Any, when: Revision) -> None:
    sent = encode(CallToolResult([block]), when)
    if official_schema.PRESENT:
        assert not official_schema.validator(when.name, "CallToolResult").validate(sent)


def test_content_of_a_newer_revision_is_taken_from_an_older_one() -> None:
    value = {"content": [{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
                         {"type": "resource_link", "uri": "a:b", "name": "n"}]}
    made = decode(CallToolResult, value, REVISIONS[0])
    assert [type(block) for block in made.content] == [AudioContent, ResourceLink]


# -- Refusals ----------------------------------------------------------------------------------

REFUSALS = [
    ("tools/call", "params", {"name": "x", "arguments": []}, "params.arguments: expected object, got array"),
    ("tools/call", "params", {"arguments": {}}, "params.name: expected string, got nothing"),
    ("tools/call", "params", {"name": None}, "params.name: expected string, got null"),
    ("tools/call", "params", {"name": "x", "_meta": {"progressToken": 1.5}},
     "params._meta.progressToken: expected integer, got number"),
    ("tools/call", "params", {"name": "x", "task": {"ttl": "1"}}, "params.task.ttl: expected integer, got string"),
    ("tools/call", "result", {}, "result.content: expected array, got nothing"),
    ("tools/call", "result", {"content": [{"type": "text"}]}, "result.content[0].text: expected string, got nothing"),
    ("tools/call", "result", {"content": [{"type": "x"}]},
     'result.content[0].type: expected one of text, image, audio, resource_link, resource, got "x"'),
    ("tools/call", "result", {"content": [], "structuredContent": []},
     "result.structuredContent: expected object, got array"),
    ("tools/list", "result", {"tools": [{"name": "x", "inputSchema": {"type": "array"}}]},
     'result.tools[0].inputSchema.type: expected "object", got "array"'),
    ("initialize", "params", {"protocolVersion": "1", "capabilities": {"roots": True}, "clientInfo": {}},
     "params.capabilities.roots: expected object, got boolean"),
    ("initialize", "params", {"protocolVersion": "1", "capabilities": {}, "clientInfo": {"name": "x"}},
     "params.clientInfo.version: expected string, got nothing"),
    ("resources/read", "result", {"contents": [{"uri": "a:b"}]},
     "result.contents[0]: expected one of text, blob, got none of them"),
    ("prompts/get", "params", {"name": "x", "arguments": {"n": 1}}, "params.arguments.n: expected string, got integer"),
    ("completion/complete", "params", {"ref": {"type": "ref/x"}, "argument": {"name": "a", "value": "b"}},
     'params.ref.type: expected one of ref/prompt, ref/resource, got "ref/x"'),
    ("logging/setLevel", "params", {"level": "loud"},
     'params.level: expected one of debug, info, notice, warning, error, critical, alert, emergency, got "loud"'),
    ("notifications/progress", "params", {"progressToken": 1, "progress": "half"},
     "params.progress: expected number, got string"),
    ("sampling/createMessage", "params", {"maxTokens": 1, "messages": [{"role": "system", "content": TEXT}]},
     'params.messages[0].role: expected one of user, assistant, got "system"'),
    ("elicitation/create", "params", {"message": "?", "mode": "voice"},
     "params: expected one of mode=url, mode=form, requestedSchema, got none of them"),
    ("elicitation/create", "params", {"message": "?", "requestedSchema": {"type": "object", "properties": {"a": {}}}},
     "params.requestedSchema.properties.a: expected one of items.anyOf, items, oneOf, enumNames, enum, type=string, "
     "type=number, type=integer, type=boolean, got none of them"),
]


@pytest.mark.parametrize("method, part, value, text", REFUSALS, ids=[row[3][:70] for row in REFUSALS])
def test_a_refusal_names_the_path(method: str, part: str, value: Any, text: str) -> None:
    row = lookup(method, revision("2025-11-25"))
    assert row
    with pytest.raises(DecodeError) as caught:
        decode(params_class(row) if part == "params" else result_class(row), value, revision("2025-11-25"), part)
    assert str(caught.value) == text


@pytest.mark.parametrize("when", REVISIONS, ids=str)
def test_without_handshake_each_request_says_who_is_asking(when: Revision) -> None:
    row = lookup("tools/call", when)
    assert row
    if when.handshake:
        assert decode(params_class(row), {"name": "x"}, when).meta is None
        return
    with pytest.raises(DecodeError, match="params._meta: expected object, got nothing"):
        decode(params_class(row), {"name": "x"}, when)
    with pytest.raises(DecodeError, match='_meta.*/protocolVersion.*: expected string, got nothing'):
        decode(params_class(row), {"name": "x", "_meta": {}}, when)


def test_hints_that_a_peer_leaves_out_are_read_as_complete_stale_and_private() -> None:
    row = lookup("tools/list", LATEST)
    assert row
    made = decode(result_class(row), {"tools": []}, LATEST, "result")
    assert (made.result_type, made.ttl_ms, made.cache_scope) == ("complete", 0, "private")
    assert encode(made, LATEST) == {"tools": [], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def test_null_is_structured_content_and_is_not_the_same_as_none() -> None:
    null, none = CallToolResult([], structured_content=NULL), CallToolResult([])
    assert encode(null, LATEST) == {"content": [], "structuredContent": None, "resultType": "complete"}
    assert encode(none, LATEST) == {"content": [], "resultType": "complete"}
    assert null != none and decode(CallToolResult, encode(null, LATEST), LATEST) == null


@pytest.mark.parametrize("copied", [
    lambda made: made, copy.copy, copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made)),
    lambda made: decode(CallToolResult, encode(made, LATEST), LATEST),
])
def test_structured_content_that_is_null_is_not_none(copied: Any) -> None:
    null, none = copied(CallToolResult([], structured_content=NULL)), copied(CallToolResult([]))
    some = copied(CallToolResult([], structured_content=[]))
    assert null.structured_content is NULL and none.structured_content is None and some.structured_content == []
    assert [made.has_structured_content for made in (null, none, some)] == [True, False, True]
    assert [repr(made).count("structured_content") for made in (null, none, some)] == [1, 0, 1]
    assert "structuredContent" not in encode(dataclasses.replace(none, is_error=True), LATEST), "a copy of nothing"
    assert "structuredContent" not in encode(CallToolResult([], none.structured_content), LATEST)
    assert none == copied(CallToolResult([], structured_content=None)) != null


@pytest.mark.parametrize("content, structured, wanted", [
    (['{"a": 1}'], None, {"a": 1}),
    (["5"], None, 5),
    (["null"], None, None),
    (["5"], {"result": 5}, 5),
    (["[1,2]"], {"result": [1, 2]}, [1, 2]),
    (["hello"], {"result": "hello"}, {"result": "hello"}),
    (['{"result":5}'], {"result": 5}, {"result": 5}),
    (["6"], {"result": 5}, {"result": 5}),
    ([], {"result": 5}, {"result": 5}),
    (["words"], {"a": 1}, {"a": 1}),
    (['{"a": 2}'], [1], [1]),
    (["5"], NULL, None),
    (["hello"], None, None),
    (["NaN"], None, None),
    (["[" * 200000], None, None),
    (["\ud800"], None, None),
    (["1", "2"], None, None),
    ([], None, None),
])
def test_data_is_structured_content_or_the_json_of_the_only_text(content: Any, structured: Any, wanted: Any) -> None:
    picture = ImageContent("aGk=", "image/png")
    for result in (CallToolResult([TextContent(text) for text in content], structured),
                   CallToolResult([picture, *map(TextContent, content)], structured)):
        assert result.data == wanted and type(result.data) is type(wanted)


def test_null_has_a_name_of_its_own_and_is_one() -> None:
    assert copy.deepcopy(NULL) is NULL is pickle.loads(pickle.dumps(NULL))
    assert not NULL and repr(NULL) == "NULL"


def test_an_input_required_result_must_say_that_it_is_one() -> None:
    with pytest.raises(DecodeError, match="result.resultType: expected string, got nothing"):
        decode(load("mrtr:InputRequiredResult"), {"requestState": "s"}, LATEST, "result")


# -- Arguments ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", NAMES.values(), ids=lambda cls: cls.__name__)
def test_a_message_takes_its_members_in_order_and_unknown_ones_by_keyword(cls: Any) -> None:
    fields = [field for field in dataclasses.fields(cls) if field.init]
    taken = list(inspect.signature(cls).parameters.values())
    assert [each.name for each in taken] == [field.name for field in fields] and fields[-1].name == "extra"
    assert taken[-1].kind is inspect.Parameter.KEYWORD_ONLY
    assert [each.default for each in taken[:-1]] == [
        inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default for field in fields[:-1]]
    values = {field.name: [number] for number, field in enumerate(fields[:-1])}
    assert cls(*values.values()) == cls(**values) == cls(**values, extra={})
    assert [getattr(cls(*values.values()), name) for name in values] == list(values.values())
    shown = pydoc.plain(pydoc.render_doc(cls))
    assert [field.name for field in fields if field.name + ": " not in shown] == [], "help shows them"
    assert all("%r" % (field.default,) in shown for field in fields[:-1] if field.default is not dataclasses.MISSING)


@pytest.mark.parametrize("make, text", [
    (lambda: TextContent(), "TextContent(): missing a required argument: 'text'"),
    (lambda: TextContent("x", None, None, {}), "TextContent(): too many positional arguments"),
    (lambda: TextContent("x", text="y"), "TextContent(): multiple values for argument 'text'"),
    (lambda: TextContent("x", type="text"), "TextContent() has no option 'type' (options: annotations, extra"),
    (lambda: TextContent("x", anotations=None), "TextContent() has no option 'anotations'; did you mean 'annotations'? "
                                                "(options: annotations, extra, meta, text)"),
])
def test_wrong_arguments_are_refused(make: Any, text: str) -> None:
    with pytest.raises(TypeError, match="^" + re.escape(text)):
        make()


def test_messages_do_not_share_their_unknown_members() -> None:
    one, other = TextContent("a"), TextContent("a")
    one.extra["x"] = 1
    assert other.extra == {} and one != other and encode(one, LATEST) == {"type": "text", "text": "a", "x": 1}


# -- The package -------------------------------------------------------------------------------


@pytest.mark.parametrize("page", messages.PAGES)
def test_each_page_exports_what_it_defines(page: str) -> None:
    module = importlib.import_module("mcp_ref.messages." + page)
    defined = {name for name, value in vars(module).items()
               if inspect.isclass(value) and issubclass(value, Model) and value.__module__ == module.__name__}
    assert defined <= set(messages.PAGES[page])
    assert all(getattr(messages, name) is getattr(module, name) for name in messages.PAGES[page])


def test_a_name_that_no_page_has_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        getattr(messages, "Nothing")
    assert "Tool" in dir(messages)


@pytest.mark.parametrize("cls", all_classes(), ids=lambda cls: cls.__name__)
def test_each_class_is_documented_and_its_windows_lie_in_that_of_the_class(cls: Any) -> None:
    assert cls.__doc__ and not cls.__doc__.startswith(cls.__name__ + "("), "a docstring of its own"
    assert any(when.has(cls.since, cls.until) for when in REVISIONS)
    for m in members(cls):
        assert any(m.exists(when) and when.has(cls.since, cls.until) for when in REVISIONS), m.attr
        assert m.default is not ABSENT or "Any" in str(m.hint) or not m.constant


def properties(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema.get("properties", {}) if isinstance(schema.get("properties"), dict) else ()
        for part in schema.values():
            yield from properties(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from properties(part)


@pytest.mark.needs("specification")
@pytest.mark.parametrize("when", REVISIONS, ids=str)
def test_every_property_of_the_schemas_goes_through_the_rule_of_names_and_back(when: Revision) -> None:
    names = set(properties(definitions(when)))
    prefixed = {name for name in names if "/" in name}
    assert [name for name in sorted(names - prefixed) if wire_name(attribute_name(name)) != name] == []
    assert all(attribute_name(name).isidentifier() for name in names)


@pytest.mark.parametrize("message", [
    CallToolResult([TextContent("a"), ImageContent("AA==", "image/png"), TextContent("b")]),
    ReadResourceResult([TextResourceContents("x:a", "a"), BlobResourceContents("x:b", "AA=="),
                        TextResourceContents("x:c", "b")]),
    CreateMessageResult("assistant", "m", [TextContent("a"), ToolUseContent("1", "t", {}), TextContent("b")]),
    CreateMessageResult("assistant", "m", TextContent("a\nb")),
    SamplingMessage("user", [TextContent("a"), TextContent("b")]),
    PromptMessage("user", TextContent("a\nb")),
])
def test_the_text_of_a_message_is_its_text_blocks_joined_by_line_ends(message: Any) -> None:
    assert message.text == "a\nb"


@pytest.mark.parametrize("message", [
    CallToolResult([]), CallToolResult([ResourceLink("x:a", "a")]),
    PromptMessage("user", ImageContent("AA==", "image/png")),
    ReadResourceResult([BlobResourceContents("x:b", "AA==")]),
])
def test_a_message_without_text_blocks_has_no_text(message: Any) -> None:
    assert message.text == ""
