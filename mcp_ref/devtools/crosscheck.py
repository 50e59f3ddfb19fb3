"""The message classes compared with the published schemas: ``python3 -m mcp_ref crosscheck SPEC_FOLDER``.

The folder holds one folder for each revision with its ``schema.json``. Every definition of every
schema is compared with what stands for it here, and everything that is here with the schemas:
names and types of members, required or optional, the values of enumerations, the methods, who
sends them and what answers them, the frames, the codes of errors. Each difference is printed
on a line; the exit code is 1 if there are any beyond ERRATA. No definition is passed over:

=====================================  ==========================================================
a definition that                      is compared with
=====================================  ==========================================================
has the name of something in messages  that class, or that type
has another name there (ALIASES)       the same
is a part of others (PARTS)            those members of every class that contains the part
names a method                         the row of the method: kind, params, result, carrier
lists methods or results (LISTS)       the rows with that sender or receiver
is the answer to a method              the row's results
is an error with a code                the registry of codes, and the class of its data
is a frame                             what `mcp_ref.jsonrpc` does
=====================================  ==========================================================

Both sides are compared as shapes. A `Shape` says as much as both sides can say: the kind of a value, the members of an
object and which are required, the words of an enumeration, the alternatives of a union. Bounds (``minimum``,
``maxItems``) and formats are not part of it: the codec leaves them to the user of the value.

``additionalProperties`` matters only where it is a schema, as every object is open.

The definitions of JSON-RPC itself are compared with the behaviour of `mcp_ref.jsonrpc`. Frames are
no message classes, so their definitions are tried rather than read: a value that a
definition allows must parse and come back the same, and a value that it forbids (a required member
left out, a member of the wrong kind) must be refused. The batch exists where the revision has it.
"""

import json
import os
import sys
from typing import (
    Any, Callable, Dict, FrozenSet, Iterator, List, Literal, NamedTuple, Optional, Set, Tuple, Type, Union,
)

from .. import messages
from ..codec import Model, alternatives, members
from ..errors import CODES
from ..jsonrpc import Batch, Frame, Malformed, parse, to_object
from ..methods import (
    BOTH, CLIENT, EMBEDDED, NOTIFICATION, REQUEST, SERVER, WIRE, Method, load, lookup, methods, params_class,
    result_class,
)
from ..revisions import R2024_11_05, R2025_03_26, R2025_06_18, R2025_11_25, R2026_07_28, REVISIONS, Revision

Schema = Dict[str, Any]


class Shape(NamedTuple):
    """One type. Which of the fields count depends on the kind."""

    kind: str
    """any, string, integer, number, boolean, null, words, array, map, object, union, definition or class."""
    words: FrozenSet[str] = frozenset()
    item: Any = None
    """The shape of the elements of an array or a map."""
    members: Dict[str, Tuple[bool, Any]] = {}
    """The members of an object: name -> True if it is required, and its shape."""
    options: Tuple[Any, ...] = ()
    name: str = ""
    """The name of a definition."""
    cls: Optional[Type[Model]] = None

    def __str__(self) -> str:
        if self.kind == "words":
            return "|".join(sorted(self.words))
        if self.kind in ("array", "map"):
            return "%s of %s" % (self.kind, self.item)
        if self.kind == "union":
            return "(%s)" % " or ".join(sorted(map(str, self.options)))
        if self.kind == "object":
            return "object with %s" % (", ".join(sorted(self.members)) or "nothing")
        return self.name or (self.cls.__name__ if self.cls else self.kind)


ANY = Shape("any")
_SCALARS = {str: Shape("string"), int: Shape("integer"), float: Shape("number"), bool: Shape("boolean"),
            type(None): Shape("null"), Any: ANY}


# -- From a schema -----------------------------------------------------------------------------


def of_schema(schema: Schema) -> Shape:
    """The shape of a schema; a reference stays one, as kind ``definition``."""
    if "$ref" in schema:
        return Shape("definition", name=schema["$ref"].rpartition("/")[2])
    if "const" in schema or "enum" in schema:
        return Shape("words", words=frozenset(schema.get("enum", [schema.get("const")])))
    if "anyOf" in schema:
        return _union([of_schema(option) for option in schema["anyOf"]])
    if "allOf" in schema:
        return Shape("all", options=tuple(of_schema(part) for part in schema["allOf"]))
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return _union([of_schema({"type": each}) for each in kind])
    if kind == "array":
        return Shape("array", item=of_schema(schema.get("items", {})))
    return _object_schema(schema) if kind == "object" else Shape(kind)


def _object_schema(schema: Schema) -> Shape:
    required = schema.get("required", ())
    found = {name: (name in required, of_schema(part)) for name, part in schema.get("properties", {}).items()}
    if found:
        return Shape("object", members=found)
    rest = schema.get("additionalProperties", True)
    return Shape("map", item=of_schema(rest) if isinstance(rest, dict) else ANY)


def _union(options: List[Shape]) -> Shape:
    flat: List[Shape] = []
    for option in options:
        flat += option.options if option.kind == "union" else [option]
    return flat[0] if len(flat) == 1 else Shape("union", options=tuple(flat))


# -- From a type -------------------------------------------------------------------------------


def of_type(hint: Any, revision: Revision) -> Shape:
    """The shape of an annotation in a revision; alternatives that the revision lacks are left out."""
    if hint in _SCALARS:
        return _SCALARS[hint]
    if isinstance(hint, type):
        return Shape("class", cls=hint)
    origin = hint.__origin__
    if origin is Literal:
        return Shape("words", words=frozenset(hint.__args__))
    if origin is Union:
        here = [h for h in alternatives(hint)
                if not (isinstance(h, type) and issubclass(h, Model)) or revision.has(h.since, h.until)]
        return _union([of_type(h, revision) for h in here])
    return Shape("array" if origin is list else "map", item=of_type(hint.__args__[-1], revision))


def of_class(cls: Type[Model], revision: Revision) -> Shape:
    """The members of a message class in a revision, as an object."""
    found = {}
    for m in members(cls):
        if m.exists(revision):
            shape = Shape("words", words=frozenset([m.default])) if m.constant else of_type(
                m.shape_in(revision) or m.type_in(revision), revision)
            found[m.wire] = (m.required_in(revision), shape)
    return Shape("object", members=found) if found else Shape("map", item=ANY)


# -- The difference ----------------------------------------------------------------------------


class Comparison:
    """Compares shapes of one revision: ``definitions`` are its schema's, ``aliases`` name classes for some of them."""

    def __init__(self, revision: Revision, definitions: Dict[str, Schema], aliases: Dict[str, str]) -> None:
        self.revision = revision
        self.definitions = definitions
        self.aliases = aliases
        self.met: Set[Type[Model]] = set()
        """The classes that something in the schema was compared with."""

    def schema(self, shape: Shape) -> Shape:
        """The shape with references followed, unions flattened and ``allOf`` merged."""
        while shape.kind == "definition":
            shape = ANY if shape.name == "JSONValue" else of_schema(self.definitions[shape.name])
        if shape.kind == "all":
            merged: Dict[str, Tuple[bool, Any]] = {}
            for part in shape.options:
                for name, (required, inner) in self.schema(part).members.items():
                    merged[name] = (required or merged.get(name, (False,))[0], inner)
            return Shape("object", members=merged)
        if shape.kind == "union":
            return _union([self._named_or_flat(option) for option in shape.options])
        return shape

    def _named_or_flat(self, option: Shape) -> Shape:
        followed = self.schema(option)
        return followed if followed.kind in ("union", "array") else option

    def ours(self, shape: Shape) -> Shape:
        """The shape with a class replaced by its members."""
        if shape.cls is None:
            return shape
        self.met.add(shape.cls)
        return of_class(shape.cls, self.revision)

    def same_name(self, theirs: Shape, ours: Shape) -> bool:
        """True if the class stands for the definition: then the two are compared elsewhere."""
        if theirs.kind != "definition" or ours.cls is None:
            return False
        return self.aliases.get(theirs.name, theirs.name) == ours.cls.__name__

    def differences(self, place: str, theirs: Shape, ours: Shape) -> Iterator[str]:
        """One line for each point in which the schema and our type differ."""
        if self.same_name(theirs, ours):
            return
        theirs, ours = self.schema(theirs), self.ours(ours)
        if theirs.kind != ours.kind:
            yield "%s: %s in the schema, %s here" % (place, theirs, ours)
        elif theirs.kind == "words":
            yield from self._words(place, theirs, ours)
        elif theirs.kind in ("array", "map"):
            yield from self.differences(place + "[]", theirs.item, ours.item)
        elif theirs.kind == "object":
            yield from self.members(place, theirs, ours)
        elif theirs.kind == "union":
            yield from self._options(place, theirs, ours)

    @staticmethod
    def _words(place: str, theirs: Shape, ours: Shape) -> Iterator[str]:
        for word in sorted(theirs.words - ours.words, key=str):
            yield "%s: value %s is missing here" % (place, word)
        for word in sorted(ours.words - theirs.words, key=str):
            yield "%s: value %s is not in the schema" % (place, word)

    def members(self, place: str, theirs: Shape, ours: Shape) -> Iterator[str]:
        """The differences of two objects, member by member."""
        for name, (required, inner) in theirs.members.items():
            if name not in ours.members:
                yield "%s.%s: missing here" % (place, name)
                continue
            required_here, inner_here = ours.members[name]
            if required != required_here:
                words = ("required", "optional") if required else ("optional", "required")
                yield "%s.%s: %s in the schema, %s here" % ((place, name) + words)
            yield from self.differences("%s.%s" % (place, name), inner, inner_here)
        for name in ours.members:
            if name not in theirs.members:
                yield "%s.%s: not in the schema" % (place, name)

    def _options(self, place: str, theirs: Shape, ours: Shape) -> Iterator[str]:
        left = list(ours.options)
        for option in theirs.options:
            match = next((o for o in left if self._fits(option, o)), None)
            if match is None:
                yield "%s: alternative %s is missing here" % (place, option)
            else:
                left.remove(match)
        for option in left:
            yield "%s: alternative %s is not in the schema" % (place, option)

    def _fits(self, theirs: Shape, ours: Shape) -> bool:
        if self.same_name(theirs, ours):
            return True
        met = set(self.met)
        fits = not any(True for _ in self.differences("", theirs, ours))
        if not fits:
            self.met = met
        return fits


FRAMES = (
    "Request", "Notification", "JSONRPCRequest", "JSONRPCNotification", "JSONRPCResponse", "JSONRPCResultResponse",
    "JSONRPCErrorResponse", "JSONRPCError", "JSONRPCBatchRequest", "JSONRPCBatchResponse", "JSONRPCMessage",
)
"""The definitions that are frames, or (the first two) the part of a frame that the transport does not add."""

_ENVELOPES: Dict[str, Dict[str, Any]] = {"Request": {"jsonrpc": "2.0", "id": 1}, "Notification": {"jsonrpc": "2.0"}}
_EXAMPLES: Dict[str, Any] = {"string": "x", "integer": 1, "number": 1.5, "boolean": True, "any": "x", "null": None}
_WRONG: Tuple[Any, ...] = (None, True, 1.5, "x", [], {}, 7)


def frame_differences(name: str, context: Comparison) -> Iterator[str]:
    """One line for each thing that the definition says and `jsonrpc` does not do."""
    batching = context.revision.batching
    shape = context.schema(Shape("definition", name=name))
    for value in examples(shape, context):
        if name in _ENVELOPES:
            value = dict(_ENVELOPES[name], **value)
        if _reads(value, batching) != value:
            yield "%s: %s is not read as it is written" % (name, json.dumps(value))
    if shape.kind == "object" and name not in _ENVELOPES:
        yield from _forbidden(name, shape, context)


def examples(shape: Shape, context: Comparison) -> List[Any]:
    """Values of a shape: for an object one with the required members only, and one with all of them."""
    shape = context.schema(shape)
    if shape.kind == "object":
        return [
            {k: examples(inner, context)[-1] for k, (required, inner) in shape.members.items() if required},
            {k: examples(inner, context)[-1] for k, (_, inner) in shape.members.items()},
        ]
    if shape.kind == "union":
        return [value for option in shape.options for value in examples(option, context)]
    if shape.kind == "array":
        return [examples(shape.item, context)]
    return [{"key": "value"} if shape.kind == "map" else sorted(shape.words)[0] if shape.words
            else _EXAMPLES[shape.kind]]


def _reads(value: Any, batching: bool) -> Any:
    """The value after parsing and writing, or None if it is refused."""
    try:
        frame: Frame = parse(json.dumps(value).encode(), batching)
    except Malformed:
        return None
    if isinstance(frame, Batch):
        return [None if isinstance(item, Malformed) else to_object(item) for item in frame.items]
    return to_object(frame)


def _forbidden(name: str, shape: Shape, context: Comparison) -> Iterator[str]:
    """The required members left out, and every member with values of other kinds; inside ``error`` too."""
    full = examples(shape, context)[-1]
    yield from _wrong_members(name, shape, full, lambda value: value, context)
    if "error" in shape.members:
        error = context.schema(shape.members["error"][1])
        yield from _wrong_members(name + ".error", error, full["error"], lambda value: dict(full, error=value), context)


def _wrong_members(place: str, shape: Shape, full: Dict[str, Any], frame: Callable[[Any], Any],
                   context: Comparison) -> Iterator[str]:
    for member, (required, inner) in shape.members.items():
        without = frame({k: v for k, v in full.items() if k != member})
        # A request without id is a frame of another kind, not a broken one.
        kept = "method" not in without or "id" in without
        if required and kept and _reads(without, False) == without:
            yield "%s.%s: required in the schema, optional here" % (place, member)
        for wrong in _WRONG:
            value = frame(dict(full, **{member: wrong}))
            if not _allows(inner, wrong, context) and _reads(value, False) == value:
                yield "%s.%s: %s is accepted" % (place, member, json.dumps(wrong))


_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None), "array": list,
          "map": dict, "object": dict}


def _allows(shape: Shape, value: Any, context: Comparison) -> bool:
    """True if a value is of the kind that the shape asks for; the insides of objects are compared elsewhere."""
    shape = context.schema(shape)
    if shape.kind == "union":
        return any(_allows(option, value, context) for option in shape.options)
    if shape.kind == "words":
        return type(value) is str and value in shape.words
    return shape.kind == "any" or type(value) is _TYPES[shape.kind]


ALIASES: Tuple[Tuple[str, str, str], ...] = (
    ("ResourceReference", R2025_03_26, "ResourceTemplateReference"),
    ("EnumSchema", R2025_06_18, "LegacyTitledEnumSchema"),
)
"""Definition, last revision in which it has this name, and the class: the name it has today."""

PARTS: Dict[str, Tuple[str, ...]] = {
    "Annotated": ("EmbeddedResource", "ImageContent", "Resource", "ResourceTemplate", "TextContent"),
    "BaseMetadata": ("Implementation", "Prompt", "PromptArgument", "PromptReference", "Resource", "ResourceLink",
                     "ResourceTemplate", "Tool"),
    "Icons": ("Implementation", "Prompt", "Resource", "ResourceLink", "ResourceTemplate", "Tool"),
    "ResourceContents": ("BlobResourceContents", "TextResourceContents"),
    "ResourceRequestParams": ("ReadResourceRequestParams", "SubscribeRequestParams", "UnsubscribeRequestParams"),
    "TaskAugmentedRequestParams": ("CallToolRequestParams", "CreateMessageRequestParams",
                                   "ElicitRequestFormParams", "ElicitRequestURLParams"),
    "InputResponseRequestParams": ("CallToolRequestParams", "GetPromptRequestParams", "ReadResourceRequestParams"),
}
"""Definitions that only others extend: no class of their own, but each class named here has their members."""


# -- Classes and types -------------------------------------------------------------------------


def _class_or_type(name: str, context: Comparison) -> Iterator[str]:
    ours = getattr(messages, name)
    shape = of_type(ours, context.revision)
    if isinstance(ours, type) and issubclass(ours, Model):
        context.met.add(ours)
        shape = of_class(ours, context.revision)
    yield from context.differences(name, of_schema(context.definitions[name]), shape)


def _alias(name: str, context: Comparison) -> Iterator[str]:
    cls = getattr(messages, context.aliases[name])
    context.met.add(cls)
    theirs = of_schema(context.definitions[name])
    yield from context.differences("%s (%s)" % (name, cls.__name__), theirs, of_class(cls, context.revision))


def _part(name: str, context: Comparison) -> Iterator[str]:
    theirs = context.schema(Shape("definition", name=name))
    for owner in PARTS[name]:
        cls = getattr(messages, owner)
        if context.revision.has(cls.since, cls.until):
            ours = of_class(cls, context.revision)
            kept = {k: v for k, v in ours.members.items() if k in theirs.members}
            yield from context.members("%s as %s" % (owner, name), theirs, ours._replace(members=kept))


# -- Methods -----------------------------------------------------------------------------------


def method_of(schema: Schema) -> Optional[str]:
    """The method that a definition is the message of, if it is one."""
    found = schema.get("properties", {}).get("method", {}).get("const")
    return found if isinstance(found, str) else None


def _message(name: str, context: Comparison) -> Iterator[str]:
    schema = context.definitions[name]
    method = str(method_of(schema))
    row = lookup(method, context.revision)
    if row is None:
        yield "%s: method %s is missing here" % (name, method)
        return
    kind = NOTIFICATION if name.endswith("Notification") else REQUEST
    if row.kind != kind:
        yield "%s: a %s in the schema, a %s here" % (name, kind, row.kind)
    yield from _envelope(name, schema, row, context)
    yield from _params(name, schema, row, context)
    if kind == REQUEST:
        yield from _result_name(name, row, context)


def _envelope(name: str, schema: Schema, row: Method, context: Comparison) -> Iterator[str]:
    """Since 2025-11-25 a message is a whole frame; an embedded one is none."""
    theirs = {k: v for k, v in of_schema(schema).members.items() if k not in ("method", "params")}
    names = ("jsonrpc", "id") if row.kind == REQUEST else ("jsonrpc",)
    whole = "id" in context.definitions["PaginatedRequest"]["properties"]
    ours = _frame_members(context, *(names if whole and row.carrier == WIRE else ()))
    yield from context.members(name, Shape("object", members=theirs), ours)


def _frame_members(context: Comparison, *names: str) -> Shape:
    """The members that make a frame of a message."""
    found = {"jsonrpc": (True, Shape("words", words=frozenset(["2.0"]))),
             "id": (True, of_type(messages.RequestId, context.revision))}
    return Shape("object", members={name: found[name] for name in names})


def _params(name: str, schema: Schema, row: Method, context: Comparison) -> Iterator[str]:
    cls = params_class(row)
    here = [c for c in alternatives(cls) if context.revision.has(c.since, c.until)]
    needed = all(any(required for required, _ in of_class(c, context.revision).members.values()) for c in here)
    required, theirs = of_schema(schema).members.get("params", (False, Shape("map", item=Shape("any"))))
    if required != needed:
        yield "%s.params: %s in the schema, %s here" % (
            name, "required" if required else "optional", "required" if needed else "optional")
    if theirs.kind != "definition" and row.carrier == WIRE:
        theirs = _with_meta(context.schema(theirs), "Request" if row.kind == REQUEST else "Notification", context)
    yield from context.differences(name + ".params", theirs, of_type(cls, context.revision))


def _with_meta(inline: Shape, base: str, context: Comparison) -> Shape:
    """Params that are written out leave `_meta` to the definition of all requests or all notifications."""
    schema = context.definitions.get(base + "Params") or context.definitions[base]["properties"]["params"]
    common = {k: v for k, v in of_schema(schema).members.items() if k == "_meta"}
    return Shape("object", members=dict(common, **inline.members)) if common else inline


def _result_name(name: str, row: Method, context: Comparison) -> Iterator[str]:
    wanted = name[:-len("Request")] + "Result"
    found = result_class(row).__name__
    if found != (wanted if wanted in context.definitions else "Result"):
        yield "%s: answered by %s in the schema, by %s here" % (name, wanted, found)


# -- Lists of methods and results --------------------------------------------------------------


def _rows(context: Comparison, kind: str, sender: str, carrier: str) -> List[Method]:
    return [row for row in methods(context.revision)
            if row.kind == kind and row.carrier == carrier and row.sender in (sender, BOTH)]


def _sent(kind: str, sender: str, carrier: str = WIRE) -> Callable[[Comparison], Set[str]]:
    return lambda context: {row.name for row in _rows(context, kind, sender, carrier)}


def _results(sender: str) -> Callable[[Comparison], Set[str]]:
    def results(context: Comparison) -> Set[str]:
        rows = _rows(context, REQUEST, sender, WIRE)
        return {"Result"} | {load(path).__name__ for row in rows for path in (row.result, row.other) if path}

    return results


LISTS: Dict[str, Callable[[Comparison], Set[str]]] = {
    "ClientRequest": _sent(REQUEST, CLIENT),
    "ServerRequest": _sent(REQUEST, SERVER),
    "ClientNotification": _sent(NOTIFICATION, CLIENT),
    "ServerNotification": _sent(NOTIFICATION, SERVER),
    "InputRequest": _sent(REQUEST, SERVER, EMBEDDED),
    "ClientResult": _results(SERVER),
    "ServerResult": _results(CLIENT),
}
"""Definition -> a function that returns what it lists: methods, or results by class."""


def list_differences(name: str, context: Comparison) -> Iterator[str]:
    """The methods (or results) that only one side knows; a definition that is not there lists nothing."""
    theirs = {_listed(option, context) for option in _options(name, context)}
    ours = LISTS[name](context)
    if name not in context.definitions and name.endswith("Result"):
        return
    for each in sorted(theirs - ours):
        yield "%s: %s is missing here" % (name, each)
    for each in sorted(ours - theirs):
        yield "%s: %s is not in the schema" % (name, each)


def _options(name: str, context: Comparison) -> List[Schema]:
    schema: Schema = context.definitions.get(name, {"anyOf": []})
    found: List[Schema] = schema.get("anyOf", [schema])
    return found


def _listed(option: Schema, context: Comparison) -> str:
    name = option.get("$ref", "").rpartition("/")[2]
    return method_of(context.definitions.get(name, option)) or name


def _listed_somewhere(context: Comparison) -> Iterator[str]:
    """Check that each message is in a list (no side could send it otherwise), and that each row is in the schema."""
    listed: Set[str] = set()
    for name in LISTS:
        yield from list_differences(name, context) if name not in context.definitions else ()
        listed |= {_listed(option, context) for option in _options(name, context)}
    messages_of = {method_of(schema) for schema in context.definitions.values()} - {None}
    for method in sorted(str(m) for m in messages_of - listed):
        yield "%s: a message that no list has" % method


# -- Answers and errors ------------------------------------------------------------------------


def _answer(name: str, context: Comparison) -> Iterator[str]:
    """``XResultResponse``: a frame with the results that X may have."""
    request = name[:-len("ResultResponse")] + "Request"
    row = lookup(str(method_of(context.definitions[request])), context.revision)
    shape = of_schema(context.definitions[name])
    theirs = shape.members["result"][1]
    names = {option.name for option in (theirs.options or (theirs,))}
    ours = {load(path).__name__ for path in (row.result, row.other) if path} if row else set()
    if names != ours:
        yield "%s: %s in the schema, %s here" % (name, " or ".join(sorted(names)), " or ".join(sorted(ours)))
    theirs = shape._replace(members={k: v for k, v in shape.members.items() if k != "result"})
    yield from context.members(name, theirs, _frame_members(context, "jsonrpc", "id"))


def _error(name: str, context: Comparison) -> Iterator[str]:
    """``XError``: its code is in the registry for this revision, its data is the class ``XErrorData``."""
    shape = context.schema(Shape("definition", name=name))
    error = context.schema(shape.members["error"][1]) if "error" in shape.members else shape
    code = next(iter(error.members["code"][1].words))
    row = CODES.get(code)
    if row is None or not context.revision.has(row.since, row.until):
        yield "%s: code %s is missing here" % (name, code)
    data = error.members["data"][1]
    if context.schema(data).kind == "any":
        return
    cls = getattr(messages, name + "Data", None)
    if cls is None:
        yield "%s.data: missing here" % name
    else:
        yield from context.differences(name + ".data", data, Shape("class", cls=cls))


# -- All of them -------------------------------------------------------------------------------


def _in_messages(name: str, revision: Revision) -> bool:
    ours = getattr(messages, name) if name in messages.__all__ else None
    return ours is not None and revision.has(getattr(ours, "since", None), getattr(ours, "until", None))


def _kind_of(name: str, context: Comparison) -> Optional[Callable[[str, Comparison], Iterator[str]]]:
    """Return the comparison for a definition: the first row of the module's table that holds."""
    schema = context.definitions[name]
    rows: Tuple[Tuple[Any, Callable[[str, Comparison], Iterator[str]]], ...] = (
        (name in context.aliases, _alias),
        (name in PARTS, _part),
        (name in FRAMES or name == "PaginatedRequest", _frame),
        (name in LISTS, list_differences),
        (_in_messages(name, context.revision), _class_or_type),
        (method_of(schema), _message),
        (name.endswith("ResultResponse"), _answer),
        (name.endswith("Error") and "code" in str(schema), _error),
    )
    return next((compare for holds, compare in rows if holds), None)


_INSIDE_FRAMES: Dict[str, Tuple[str, str]] = {
    "Request": ("params", "RequestParams"),
    "Notification": ("params", "NotificationParams"),
    "PaginatedRequest": ("params", "PaginatedRequestParams"),
    "JSONRPCRequest": ("params", "RequestParams"),
    "JSONRPCNotification": ("params", "NotificationParams"),
    "JSONRPCError": ("error", "Error"),
}
"""Frame -> a member that its definition may write out instead of naming, and the class of that member."""


def _frame(name: str, context: Comparison) -> Iterator[str]:
    """A frame, and what its definition says about things inside it."""
    if name in FRAMES:
        yield from frame_differences(name, context)
    member, cls = _INSIDE_FRAMES.get(name, ("", ""))
    theirs = context.schema(Shape("definition", name=name)).members.get(member, (False, Shape("map")))[1]
    if context.schema(theirs).members:
        if name == "PaginatedRequest" and theirs.kind != "definition":
            theirs = _with_meta(theirs, "Request", context)
        yield from context.differences("%s.%s" % (name, member), theirs, Shape("class", cls=getattr(messages, cls)))


def all_classes() -> List[Type[Model]]:
    """Return all message classes, by name."""
    found = (getattr(messages, name) for name in messages.__all__)
    return sorted({c for c in found if isinstance(c, type) and issubclass(c, Model)}, key=lambda c: c.__name__)


def definition_differences(revision: Revision, definitions: Dict[str, Schema]) -> Iterator[str]:
    """Yield all differences between the definitions of a revision's schema and ours, in both directions."""
    aliases = {name: cls for name, until, cls in ALIASES if revision.has(None, until)}
    context = Comparison(revision, definitions, aliases)
    for name in definitions:
        compare = _kind_of(name, context)
        if compare is None:
            yield "%s: missing here" % name
        else:
            yield from compare(name, context)
    yield from _listed_somewhere(context)
    for cls in all_classes():
        if revision.has(cls.since, cls.until) and cls not in context.met:
            yield "%s: not in the schema" % cls.__name__


class Erratum(NamedTuple):
    """An intended difference: a line as `compare` would print it, and the reason not to follow the schema."""

    revisions: Tuple[str, ...]
    line: str
    reason: str


ERRATA: Tuple[Erratum, ...] = (
    Erratum(
        (R2024_11_05, R2025_03_26, R2025_06_18),
        "JSONRPCError.id: required in the schema, optional here",
        "An id that could not be read cannot be sent back; null or nothing stands in its place, and both are read.",
    ),
    Erratum(
        (R2025_06_18, R2025_11_25, R2026_07_28),
        "ElicitResult.content[]: alternative number is not in the schema",
        "A form may ask for a number, so an answer may be one; the generated schema has every number as an integer.",
    ),
    Erratum(
        (R2025_11_25,),
        "CancelledNotification.params: required in the schema, optional here",
        "Nothing in these params is required in that revision; without any, the notification names no request.",
    ),
    Erratum(
        (R2025_11_25,),
        "ClientResult: CreateTaskResult is not in the schema",
        "Answers to requests that run as tasks: [2025-11-25 basic/utilities/tasks §Creating Tasks].",
    ),
    Erratum(
        (R2025_11_25,),
        "ServerResult: CreateTaskResult is not in the schema",
        "The same in the other direction.",
    ),
    Erratum(
        (R2026_07_28,),
        "JSONValue: (JSONObject or array of JSONValue or boolean or integer or string) in the schema, any here",
        "Null and fractions are JSON values too; the generated schema leaves them out.",
    ),
)


def definitions_of(spec_folder: str, revision: Revision) -> Dict[str, Any]:
    """Return the definitions of a revision's ``schema.json``. Raises OSError if the file is missing."""
    with open(os.path.join(spec_folder, revision.name, "schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    found: Dict[str, Any] = schema.get("$defs") or schema["definitions"]
    return found


def compare_all(spec_folder: str) -> List[str]:
    """Return all differences, errata included, each line with its revision in front."""
    return ["%s %s" % (revision, line) for revision in REVISIONS
            for line in definition_differences(revision, definitions_of(spec_folder, revision))]


def errata_lines() -> Dict[str, str]:
    """Return the lines of ERRATA with their reasons, one for each revision concerned."""
    return {"%s %s" % (revision, row.line): row.reason for row in ERRATA for revision in row.revisions}


def compare(spec_folder: str) -> List[str]:
    """Return the differences that are no errata, and the errata that are no longer differences."""
    found, known = compare_all(spec_folder), errata_lines()
    stale = ["%s: an erratum that is none" % line for line in known if line not in found]
    return [line for line in found if line not in known] + stale


def main(spec_folder: str) -> int:
    """Print the differences; return 0 if there are none beyond the errata, else 1."""
    counts = ["%s %d" % (revision, len(definitions_of(spec_folder, revision))) for revision in REVISIONS]
    print("definitions compared: " + ", ".join(counts))
    for line, reason in errata_lines().items():
        print("erratum: %s\n    %s" % (line, reason))
    differences = compare(spec_folder)
    for line in differences:
        print("difference: " + line)
    print("differences: %s" % (len(differences) or "none, except the %d errata above" % len(errata_lines())))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
