"""The places in schemas: the form of each keyword's value with the subschemas inside it, and the targets of references.

A `ValueShape` tests the value of a keyword and lists the subschemas inside it. The test makes a broken schema an
`InvalidSchema` with a location, and lets keyword functions trust their value. The list says where `$id` and `$anchor`
count: only places that are schemas do, an ``$id`` inside `const` is data [JSON Schema 2020-12 core §9.4.2].

A *document* is the schema itself, a member of `resources`, or a bundled metaschema. It consists of one or more
*resources*: `$id` makes a subschema a resource of its own, with its own base URI, anchors, and perhaps its own dialect.
`Registry` indexes each document once, in the places where its dialect has subschemas, and then finds the place that a
reference of a resource means [JSON Schema 2020-12 core §8.2] [JSON Schema 2020-12 core §9]. All targets are local: no
code in this package could fetch one.

[2026-07-28 basic/index §`$ref` Resolution] MUST NOT: a network URI is never dereferenced. A target that cannot be found
is an error, not a schema that allows everything.

The bundled metaschemas are the standard's own data, one JSON file for each dialect, read when first asked for. They
were published by the JSON Schema project; see https://json-schema.org/specification. `pkgutil` reads them from a
folder and from a zipapp.

Equality is not Python's: ``1 == 1.0``, but ``True != 1`` [JSON Schema 2020-12 core §4.2.2]. `equal` compares two
values and stops at the first difference: its cost is bounded by the smaller one. `freeze` makes a value hashable, so
that a set finds duplicates in one pass. A peer chooses the values, so no hash may be predictable: Python salts the
hashes of strings and bytes, but not those of numbers (a hundred thousand multiples of 2^61-1 all hash to 0). Numbers
are therefore frozen as bytes.
"""

import json
from typing import Any, Callable, Dict, Hashable, Iterable, Iterator, Mapping, NamedTuple, Optional, Tuple

from .errors import (
    BoundsExceeded, Check, InvalidSchema, Path, Run, SchemaBounds, SchemaError, Step, UnresolvedReference,
)

ARRAY = (list, tuple)


def is_number(value: Any) -> bool:
    """Return True for an int or a float, but not for a bool [JSON Schema 2020-12 core §4.2.1]."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def equal(one: Any, other: Any) -> bool:
    """Return True if two values are the same JSON value."""
    if isinstance(one, dict):
        if not isinstance(other, dict) or len(one) != len(other):
            return False
        return all(name in other and equal(value, other[name]) for name, value in one.items())
    if isinstance(one, ARRAY):
        if not isinstance(other, ARRAY) or len(one) != len(other):
            return False
        return all(map(equal, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def freeze(value: Any) -> Hashable:
    """Return a hashable stand-in: two values are equal JSON exactly if their stand-ins are equal.

    Strings, true, false and null stand for themselves, numbers become bytes, arrays tuples (with a salted first
    element), objects frozen sets of pairs; no two kinds can meet.
    """
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        return b"%x" % value
    if isinstance(value, float):
        return b"%x" % int(value) if value.is_integer() else repr(value).encode()
    if isinstance(value, dict):
        return frozenset((name, freeze(member)) for name, member in value.items())
    return (b"[",) + tuple(map(freeze, value))


Children = Iterable[Tuple[Path, Any]]


def _none(value: Any) -> Children:
    return ()


class ValueShape(NamedTuple):
    """The form of a keyword's value: in words, as a test, and as a function that lists the subschemas inside."""

    expected: str
    accepts: Callable[[Any], bool]
    children: Callable[[Any], Children] = _none


class Keyword(NamedTuple):
    """One row of a vocabulary.

    ``check`` and ``collect`` take the value and a `compiler.Here`; None if the keyword asserts or evaluates nothing.
    Checks of a later ``stage`` run only if the earlier ones passed.
    """

    shape: ValueShape
    check: Optional[Callable[[Any, Any], Optional[Check]]] = None
    collect: Optional[Callable[[Any, Any], Any]] = None
    stage: int = 1


FIRST, NORMAL, LAST = 0, 1, 2


class Dialect(NamedTuple):
    """A dialect of schemas: keyword -> row. ``legacy``: it has the older rules of `$ref` and `$id` (see `dialect`)."""

    uri: str
    keywords: Mapping[str, Keyword]
    legacy: bool = False
    assert_formats: bool = False


def is_schema(value: Any) -> bool:
    """Return True for an object or a boolean, the two forms of a schema [JSON Schema 2020-12 core §4.3]."""
    return isinstance(value, (dict, bool))


def is_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_count(value: Any) -> bool:
    return is_number(value) and value >= 0 and value == value // 1


def _is_type(value: Any) -> bool:
    return isinstance(value, str) and value in TYPES


def _is_schemas(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0


def _whole(value: Any) -> Children:
    yield (), value


def _items(value: Any) -> Children:
    return (((index,), item) for index, item in enumerate(value)) if isinstance(value, list) else ()


def _members(value: Any) -> Children:
    return (((name,), member) for name, member in value.items()) if isinstance(value, dict) else ()


def _whole_or_items(value: Any) -> Children:
    return _items(value) if isinstance(value, list) else _whole(value)


def _schema_members(value: Any) -> Iterator[Tuple[Path, Any]]:
    return ((steps, member) for steps, member in _members(value) if is_schema(member))


TYPES = ("null", "boolean", "object", "array", "number", "string", "integer")

ANYTHING = ValueShape("any value", lambda value: True)
STRING = ValueShape("a string", lambda value: isinstance(value, str))
BOOLEAN = ValueShape("a boolean", lambda value: isinstance(value, bool))
NUMBER = ValueShape("a number", is_number)
POSITIVE = ValueShape("a number above 0", lambda value: is_number(value) and 0 < value < float("inf"))
COUNT = ValueShape("an integer of 0 or more", _is_count)
VALUES = ValueShape("an array", lambda value: isinstance(value, list))
STRINGS = ValueShape("an array of strings", is_strings)
TYPE = ValueShape(
    "one of %s, or an array of them" % ", ".join(TYPES),
    lambda value: all(map(_is_type, value)) and len(value) > 0 if isinstance(value, list) else _is_type(value),
)
OBJECT = ValueShape("an object", lambda value: isinstance(value, dict))
STRINGS_BY_NAME = ValueShape(
    "an object of arrays of strings", lambda value: isinstance(value, dict) and all(map(is_strings, value.values()))
)
SCHEMA = ValueShape("a schema", is_schema, _whole)
SCHEMAS = ValueShape("an array of schemas, not empty", _is_schemas, _items)
SCHEMAS_BY_NAME = ValueShape("an object of schemas", lambda value: isinstance(value, dict), _members)
SCHEMA_OR_SCHEMAS = ValueShape(
    "a schema or an array of schemas", lambda value: is_schema(value) or isinstance(value, list), _whole_or_items
)
DEPENDENCIES = ValueShape(
    "an object of schemas or arrays of strings",
    lambda value: isinstance(value, dict) and all(is_schema(item) or is_strings(item) for item in value.values()),
    _schema_members,
)


DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"
DRAFT_07 = "http://json-schema.org/draft-07/schema"

# What a URI begins with -> the file that holds it.
_FILES = (
    ("https://json-schema.org/draft/2020-12/", "draft-2020-12.json"),
    (DRAFT_07, "draft-07.json"),
)
_loaded: Dict[str, Dict[str, Any]] = {}


def load_metaschema(uri: str) -> Optional[Any]:
    """Return the metaschema with this URI (without fragment), or None."""
    for prefix, name in _FILES:
        if uri.startswith(prefix):
            return _file(name).get(uri)
    return None


def _file(name: str) -> Dict[str, Any]:
    if name not in _loaded:
        import pkgutil  # late: only references to a metaschema come here

        data = pkgutil.get_data(__package__, name)
        if data is None:
            raise FileNotFoundError(name)
        _loaded[name] = json.loads(data.decode("ascii"))
    return _loaded[name]


class SchemaResource:
    """A schema with a URI of its own. `anchors` holds all anchors by name, `dynamic` those of `$dynamicAnchor`."""

    __slots__ = ("uri", "document", "dialect", "root", "anchors", "dynamic")

    def __init__(self, uri: str, document: str, dialect: Dialect, schema: Any, location: Path) -> None:
        self.uri = uri
        self.document = document
        self.dialect = dialect
        self.root = SchemaPlace(schema, self, location)
        self.anchors: Dict[str, SchemaPlace] = {}
        self.dynamic: Dict[str, SchemaPlace] = {}


class SchemaPlace(NamedTuple):
    """A schema, its resource, and the steps that lead to it from the root of its document."""

    schema: Any
    resource: SchemaResource
    location: Path


class Registry:
    """All documents that one schema can reach.

    ``find_dialect(uri)`` returns the `Dialect` of a `$schema` or raises `UnsupportedDialect`. ``meter`` times the work.
    """

    def __init__(
        self,
        schema: Any,
        resources: Mapping[str, Any],
        default: Dialect,
        find_dialect: Callable[[str], Dialect],
        bounds: SchemaBounds,
    ) -> None:
        self._default = default
        self._find_dialect = find_dialect
        self._bounds = bounds
        self.meter = Run(bounds)
        self._waiting = {uri.rstrip("#"): document for uri, document in resources.items()}
        self._by_uri: Dict[str, SchemaResource] = {}
        self._embedded: Dict[Tuple[str, Path], SchemaResource] = {}
        self.root = self._add("", schema).root

    # Asking

    def resolve(self, origin: SchemaResource, reference: str, location: Path) -> SchemaPlace:
        """Return the place that ``reference`` means in ``origin``; ``location`` is for the error only.

        Raises UnresolvedReference.
        """
        uri, _, fragment = reference.partition("#")
        absolute = self._join(origin.uri, uri)
        resource = self._find(absolute)
        if resource is None:
            reason = "no such schema here or in resources, and nothing is fetched"
            raise UnresolvedReference(reference, location, reason)
        place = self._at_fragment(resource, _percent_decoded(fragment))
        if place is None:
            raise UnresolvedReference(reference, location, "the schema has no such anchor or member")
        return place

    def child(self, place: SchemaPlace, steps: Path) -> SchemaPlace:
        """Return the place ``steps`` below, which must exist; a subschema with an `$id` belongs to its own resource."""
        schema, resource, location = place
        for step in steps:
            schema = schema[step]
            location += (step,)
            resource = self._embedded.get((resource.document, location), resource)
        return SchemaPlace(schema, resource, location)

    def embedded(self) -> Iterator[SchemaResource]:
        """Return the resources inside the main document, outer ones first."""
        document = self.root.resource.document
        return (found for (name, _), found in sorted(self._embedded.items(), key=_depth) if name == document)

    # Finding

    def _find(self, uri: str) -> Optional[SchemaResource]:
        if uri in self._by_uri:
            return self._by_uri[uri]
        if uri in self._waiting:
            return self._add(uri, self._waiting.pop(uri))
        bundled = load_metaschema(uri)
        if bundled is not None:
            return self._add(uri, bundled)
        self._index_waiting()
        return self._by_uri.get(uri)

    def _index_waiting(self) -> None:
        """Index all other documents, as one may have the wanted `$id`; those that cannot be read are skipped."""
        while self._waiting:
            uri, document = self._waiting.popitem()
            try:
                self._add(uri, document)
            except SchemaError:
                continue

    def _at_fragment(self, resource: SchemaResource, fragment: str) -> Optional[SchemaPlace]:
        if not fragment:
            return resource.root
        if not fragment.startswith("/"):
            return resource.anchors.get(fragment)
        place = resource.root
        for token in fragment[1:].split("/"):
            step = _step(place.schema, token.replace("~1", "/").replace("~0", "~"))
            if step is None:
                return None
            place = self.child(place, (step,))
        return place

    # Indexing

    def _add(self, uri: str, schema: Any) -> SchemaResource:
        dialect = self._dialect(schema, self._default, ())
        root = SchemaResource(uri, uri, dialect, schema, ())
        self._by_uri.setdefault(uri, root)
        if isinstance(schema, dict) and not _ref_alone(schema, dialect):
            root.uri = self._join(uri, _identifier(schema, dialect, ())[0])
            self._by_uri.setdefault(root.uri, root)
        self._index(root)
        return root

    def _index(self, root: SchemaResource) -> None:
        """Walk all subschemas of a document; without recursion, because a peer decides how deep it is."""
        stack = [(root.root, 0)]
        number = 0
        while stack:
            place, depth = stack.pop()
            if not isinstance(place.schema, dict):
                continue
            number += 1
            self.meter.spend(1)
            if number > self._bounds.subschemas:
                raise BoundsExceeded("subschemas", self._bounds.subschemas, "the schema has too many subschemas")
            if depth > self._bounds.depth:
                raise BoundsExceeded("depth", self._bounds.depth, "subschemas nest too deep")
            place = self._identify(place)
            keywords = place.resource.dialect.keywords
            for name, value in place.schema.items():
                if name in keywords:
                    for steps, child in keywords[name].shape.children(value):
                        stack.append((SchemaPlace(child, place.resource, place.location + (name,) + steps), depth + 1))

    def _identify(self, place: SchemaPlace) -> SchemaPlace:
        """Enter the identifiers of one subschema; return the place in the resource that it belongs to."""
        schema, resource, location = place
        if location and "$id" in schema:
            resource = self._embed(place)
        here = SchemaPlace(schema, resource, location)
        if _ref_alone(schema, resource.dialect):
            return here
        if resource.dialect.legacy:
            _name(resource.anchors, _identifier(schema, resource.dialect, location)[1], here)
        else:
            _name(resource.anchors, schema.get("$anchor"), here)
            _name(resource.anchors, schema.get("$dynamicAnchor"), here)
            _name(resource.dynamic, schema.get("$dynamicAnchor"), here)
        return here

    def _embed(self, place: SchemaPlace) -> SchemaResource:
        """Return the resource of a subschema with `$id`: a new one below the root
        [JSON Schema 2020-12 core §8.2.1]; draft-07 has exceptions."""
        schema, outer, location = place
        dialect = self._dialect(schema, outer.dialect, location)
        uri = _identifier(schema, dialect, location)[0]
        if not uri or _ref_alone(schema, dialect):
            return outer
        inner = SchemaResource(self._join(outer.uri, uri), outer.document, dialect, schema, location)
        known = self._by_uri.setdefault(inner.uri, inner)
        if known is not inner and known.root.schema != schema:
            raise InvalidSchema(location + ("$id",), "another schema has the same $id")
        self._embedded[outer.document, location] = inner
        return inner

    def _dialect(self, schema: Any, default: Dialect, location: Path) -> Dialect:
        """Return the dialect that `$schema` names; it counts at the root of a resource only
        [JSON Schema 2020-12 core §8.1.1]."""
        if not isinstance(schema, dict) or "$schema" not in schema:
            return default
        if not isinstance(schema["$schema"], str):
            raise InvalidSchema(location + ("$schema",), "expected a URI")
        return self._find_dialect(schema["$schema"])

    def _join(self, base: str, reference: str) -> str:
        uri = join(base, reference)
        if len(uri) > self._bounds.uri_length:
            raise BoundsExceeded("uri_length", self._bounds.uri_length, "a URI of %d characters" % len(uri))
        return uri


def join(base: str, reference: str) -> str:
    """Resolve a URI reference without fragment against a base [RFC 3986 §5.2].

    `urllib` joins only for schemes that it knows to be hierarchical, so others travel under a known name.
    """
    if not reference or not base:
        return reference or base
    if _has_scheme(reference):
        return reference
    if not _has_scheme(base):
        return _urljoin(base, reference)
    scheme, _, rest = base.partition(":")
    if not rest.startswith("/"):
        return reference  # urn:, tag: ... have no path to join to
    return scheme + _urljoin("http:" + rest, reference)[len("http"):]


def _has_scheme(uri: str) -> bool:
    head, colon, _ = uri.partition(":")
    return bool(colon) and head[:1].isalpha() and all(letter.isalnum() or letter in "+-." for letter in head)


def _urljoin(base: str, reference: str) -> str:
    from urllib.parse import urljoin  # late: most schemas need none of it

    try:
        return urljoin(base, reference)
    except ValueError:  # it raises for an address in brackets that is none
        return reference  # which nothing is known by, so whatever refers to it is told that


def _percent_decoded(fragment: str) -> str:
    if "%" not in fragment:
        return fragment
    from urllib.parse import unquote

    return unquote(fragment)


def _identifier(schema: Dict[str, Any], dialect: Dialect, location: Path) -> Tuple[str, str]:
    """Return `$id` as URI and fragment; only draft-07 allows a fragment, which is its form of an anchor."""
    value = schema.get("$id", "")
    if not isinstance(value, str):
        raise InvalidSchema(location + ("$id",), "expected a URI reference")
    uri, _, fragment = value.partition("#")
    if fragment and not dialect.legacy:
        raise InvalidSchema(location + ("$id",), "a fragment is not allowed here, $anchor is for that")
    return uri, fragment


def _ref_alone(schema: Dict[str, Any], dialect: Dialect) -> bool:
    """Return True where `$ref` makes everything beside it ignored: in draft-07 [JSON Schema draft-07 core §8.3]."""
    return dialect.legacy and "$ref" in schema


def _name(table: Dict[str, SchemaPlace], name: Any, place: SchemaPlace) -> None:
    if isinstance(name, str) and name:
        table.setdefault(name, place)


def _step(schema: Any, token: str) -> Optional[Step]:
    """Return a JSON Pointer token as a step that exists, else None [RFC 6901 §4]."""
    if isinstance(schema, dict):
        return token if token in schema else None
    if isinstance(schema, list) and token.isascii() and token.isdecimal() and str(int(token[:9])) == token:
        return int(token) if int(token) < len(schema) else None
    return None


def _depth(entry: Tuple[Tuple[str, Path], SchemaResource]) -> int:
    return len(entry[0][1])
