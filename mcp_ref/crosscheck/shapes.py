"""The values that a type allows, in one form for JSON Schemas and for dataclasses, and the difference of two.

A `Shape` says as much as both sides can say: the kind of a value, the members of an object and
which are required, the words of an enumeration, the alternatives of a union. Bounds (``minimum``,
``maxItems``) and formats are not part of it: the codec leaves them to the user of the value.

``additionalProperties`` matters only where it is a schema, as every object is open.
"""

from typing import Any, Dict, FrozenSet, Iterator, List, Literal, NamedTuple, Optional, Set, Tuple, Type, Union

from ..codec import Model, alternatives, members
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
        here = [h for h in alternatives(hint) if not _is_model(h) or revision.has(h.since, h.until)]
        return _union([of_type(h, revision) for h in here])
    return Shape("array" if origin is list else "map", item=of_type(hint.__args__[-1], revision))


def _is_model(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Model)


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
