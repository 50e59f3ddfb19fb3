"""The values that a type allows, in one form for JSON Schemas and for dataclasses, and the difference of two.

A `Shape` says as much as both sides can say: the kind of a value, the members of an object and
which are required, the words of an enumeration, the alternatives of a union. Bounds (``minimum``,
``maxItems``) and formats are not part of it: the codec leaves them to the user of the value.

``additionalProperties`` matters only where it is a schema, as every object is open.

The definitions of JSON-RPC itself are compared with the behaviour of `mcp_ref.jsonrpc`. Frames are
no message classes, so their definitions are tried rather than read: a value that a
definition allows must parse and come back the same, and a value that it forbids (a required member
left out, a member of the wrong kind) must be refused. The batch exists where the revision has it.
"""

import json
from typing import (
    Any, Callable, Dict, FrozenSet, Iterator, List, Literal, NamedTuple, Optional, Set, Tuple, Type, Union,
)

from ..codec import Model, alternatives, members
from ..jsonrpc import Batch, Frame, Malformed, parse, to_object
from ..revisions import Revision

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
