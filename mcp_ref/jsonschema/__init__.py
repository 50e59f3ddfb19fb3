"""A JSON Schema validator: dialect 2020-12, and draft-07 where `$schema` says so.

Tools describe their arguments and results with JSON Schema, so a server validates what a model wrote, and a client
what a server returned. Schema and instance may both come from an attacker: `SchemaBounds` limits what that costs, and
`refs` fetches nothing.

    >>> from mcp_ref.jsonschema import validate
    >>> schema = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
    >>> [str(violation) for violation in validate({"count": "three"}, schema)]
    ['$.count: expected integer, got string']

A schema that is used more than once is compiled once: ``validator = compile(schema)``, then
``validator.validate(instance)``, which takes about a microsecond for small arguments. A `Validator` never changes, so
threads can share it.

Reading order:

=================  ===================================================================================================
module             what it has
=================  ===================================================================================================
`errors`           what comes out: violations of an instance, exceptions for a schema; what a schema may cost, and
                   the state of one validation
`refs`             equality of JSON values, and the forms that values of keywords have; documents, `$id`, anchors,
                   references, the bundled metaschemas
`compiler`         from a schema to closures
`keywords`         the keywords that look at one value; `unevaluatedItems`, `unevaluatedProperties`, and what other
                   keywords evaluate
`applicators`      the keywords that apply subschemas
`formats`          the values of `format`; loaded where formats are asserted
`dialect`          the table of all keywords, by dialect
`regex/`           regular expressions in linear time, a library of their own: `regex.patterns`
=================  ===================================================================================================

The validator does not report annotations, follow dialects other than the two and custom ones made of their
vocabularies, decode `contentEncoding`, parse `contentMediaType` (the standard calls both annotations), or fetch
references.
"""

from functools import lru_cache
from typing import Any, List, Mapping, Optional

from .compiler import Compiler
from .dialect import DIALECTS, find_dialect, find_metaschema
from .errors import (
    DEFAULT_BOUNDS, BoundsExceeded, Check, InvalidSchema, Run, SchemaBounds, SchemaError, UnresolvedReference,
    UnsupportedDialect, UnsupportedPattern, Violation,
)
from .refs import DRAFT_07, DRAFT_2020_12, Registry, SchemaResource, load_metaschema

__all__ = [
    "SchemaBounds", "BoundsExceeded", "DRAFT_07", "DRAFT_2020_12", "InvalidSchema", "SchemaError",
    "UnresolvedReference",
    "UnsupportedDialect", "UnsupportedPattern", "Validator", "Violation", "check_schema", "compile", "validate",
]

Resources = Mapping[str, Any]
"""Absolute URI -> schema: the documents that references and `$schema` may lead to, besides the schema itself."""


class Validator:
    """A compiled schema, made by `compile`. It never changes, so threads may share it."""

    __slots__ = ("_check", "_bounds")

    def __init__(self, check: Check, bounds: SchemaBounds) -> None:
        self._check = check
        self._bounds = bounds

    def validate(self, instance: Any) -> List[Violation]:
        """Return the violations of an instance, at most `SchemaBounds.violations`; [] if it is valid.

        The instance is what `json.loads` returns; tuples pass for arrays. Raises BoundsExceeded.
        """
        run = Run(self._bounds)
        try:
            found = self._check(instance, run)
        except RecursionError:
            raise _too_deep(self._bounds) from None
        return [] if found is None else found[: self._bounds.violations]

    def is_valid(self, instance: Any) -> bool:
        """Return True if the instance is valid. Stop at the first violation and make no message. Raises
        BoundsExceeded."""
        try:
            return Run(self._bounds).passes(self._check, instance)
        except RecursionError:
            raise _too_deep(self._bounds) from None


def compile(
    schema: Any,
    resources: Optional[Resources] = None,
    *,
    bounds: SchemaBounds = DEFAULT_BOUNDS,
    assert_formats: bool = False,
    default_dialect: str = DRAFT_2020_12,
) -> Validator:
    """Prepare a schema for repeated use. The schema must not be changed afterwards.

    `resources` maps URIs to schemas that references may lead to, or custom metaschemas. `assert_formats` makes `format`
    refuse (else it is an annotation). `default_dialect` is for schemas without `$schema`
    [2025-11-25.. basic/index §Schema Dialect].

    Every reference that can be reached is resolved now. Raises a `SchemaError`: UnsupportedDialect,
    UnresolvedReference, InvalidSchema, UnsupportedPattern or BoundsExceeded. Keywords that can be reached are checked
    for the shape of their values; `check_schema` returns everything that is wrong.
    """
    try:
        registry = _registry(schema, resources or {}, bounds, default_dialect)
        check = Compiler(registry, bounds, assert_formats).compile(registry.root)
    except RecursionError:
        raise _too_deep(bounds) from None
    return Validator(check, bounds)


def validate(
    instance: Any,
    schema: Any,
    resources: Optional[Resources] = None,
    *,
    bounds: SchemaBounds = DEFAULT_BOUNDS,
    assert_formats: bool = False,
    default_dialect: str = DRAFT_2020_12,
) -> List[Violation]:
    """Validate once: `compile`, then `Validator.validate`; the same parameters and errors."""
    validator = compile(
        schema, resources, bounds=bounds, assert_formats=assert_formats, default_dialect=default_dialect
    )
    return validator.validate(instance)


def check_schema(
    schema: Any,
    resources: Optional[Resources] = None,
    *,
    bounds: SchemaBounds = DEFAULT_BOUNDS,
    default_dialect: str = DRAFT_2020_12,
) -> List[Violation]:
    """Return the violations of a schema, by the metaschema of its dialect
    [2025-11-25.. basic/index §Schema Validation].

    The violations' paths lead into the schema. Embedded schemas that declare another dialect are judged by that one
    [JSON Schema 2020-12 core §9.3.3]. Identifiers that make the schema unreadable are reported alone. Raises
    UnsupportedDialect or BoundsExceeded.
    """
    resources = resources or {}
    try:
        registry = _registry(schema, resources, bounds, default_dialect)
    except InvalidSchema as error:
        return [Violation(error.location, (), str(error.location[-1]), error.problem)]
    found = _judge(registry.root.resource, resources, bounds)
    for resource in registry.embedded():
        if resource.dialect.uri != registry.root.resource.dialect.uri:
            depth = len(resource.root.location)
            found = [violation for violation in found if violation.path[:depth] != resource.root.location]
            inner = _judge(resource, resources, bounds)
            found += [violation._replace(path=resource.root.location + violation.path) for violation in inner]
    return found[: bounds.violations]


def _judge(resource: SchemaResource, resources: Resources, bounds: SchemaBounds) -> List[Violation]:
    uri = resource.dialect.uri
    if uri in DIALECTS:
        check = _standard_metaschema(uri)._check
    else:
        check = compile(find_metaschema(uri, resources), resources, bounds=bounds)._check
    return Validator(check, bounds).validate(resource.root.schema)


@lru_cache(maxsize=None)
def _standard_metaschema(uri: str) -> Validator:
    return compile(load_metaschema(uri))


def _registry(schema: Any, resources: Resources, bounds: SchemaBounds, default_dialect: str) -> Registry:
    default = find_dialect(default_dialect, resources)
    try:
        return Registry(schema, resources, default, lambda uri: find_dialect(uri, resources), bounds)
    except RecursionError:
        raise _too_deep(bounds) from None


def _too_deep(bounds: SchemaBounds) -> BoundsExceeded:
    """The interpreter's own limit came first: the caller was already deep, or much nests between two references."""
    return BoundsExceeded("depth", bounds.depth, "schema or instance nests deeper than the interpreter can follow")
