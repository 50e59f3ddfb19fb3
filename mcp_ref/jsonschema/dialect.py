"""The dialects: the tables of all keywords. Read this as the table of contents of the package.

A dialect is a set of vocabularies, and a vocabulary a table: keyword -> shape of its value, function that checks, and
function that collects what was evaluated. Keywords without functions are known, so their shape counts and their
subschemas are found, but they assert nothing: annotations, and helpers that a neighbour reads (`then`, `minContains`).
Keywords that are in no table are ignored [JSON Schema 2020-12 core §4.3.1].

Supported: 2020-12, the default [2025-11-25.. basic/index §Schema Dialect], draft-07, and any metaschema found in
`resources` whose `$vocabulary` requires nothing else [JSON Schema 2020-12 core §8.1.2].

Draft-07 differs from 2020-12 in this; every other keyword is shared:

=====================  ==================================  ===============================================
subject                draft-07                            2020-12
=====================  ==================================  ===============================================
tuples                 `items` an array, `additionalItems`  `prefixItems`, `items`
dependencies           `dependencies`, both kinds          `dependentRequired`, `dependentSchemas`
`contains`             at least one                        `minContains`, `maxContains`
beside `$ref`          everything is ignored               everything counts
anchors                ``"$id": "#name"``                  `$anchor`, `$dynamicAnchor`
definitions            `definitions`                       `$defs`
unevaluated members    -                                   `unevaluatedItems`, `unevaluatedProperties`
=====================  ==================================  ===============================================

The last three but one, and what stands beside `$ref`, are in the tables below and behind `Dialect.legacy`.
"""

from typing import Any, Dict, FrozenSet, List, Mapping, Optional

from . import applicators, keywords
from .compiler import Here
from .errors import Check, Found, InvalidSchema, Run, UnsupportedDialect, Violation
from .refs import (
    ANYTHING, BOOLEAN, COUNT, DEPENDENCIES, DRAFT_07, DRAFT_2020_12, FIRST, LAST, NUMBER, OBJECT, POSITIVE, SCHEMA,
    SCHEMAS, SCHEMAS_BY_NAME, SCHEMA_OR_SCHEMAS, STRING, STRINGS, STRINGS_BY_NAME, TYPE, VALUES, Dialect, Keyword,
)

# Draft-07: the keywords that it has in another form


def _draft_07_items(value: Any, here: Here) -> Optional[Check]:
    """Check `items`: an array of schemas, one for each place, or one schema for all
    [JSON Schema draft-07 validation §6.4.1]."""
    return applicators.prefix_items(value, here) if isinstance(value, list) else applicators.items(value, here)


def _additional_items(value: Any, here: Here) -> Optional[Check]:
    """Check `additionalItems`, which counts only beside an array in `items` [JSON Schema draft-07 validation
    §6.4.2]."""
    tuple_items = here.value("items")
    return applicators.rest_of_items(value, here, len(tuple_items)) if isinstance(tuple_items, list) else None


def _dependencies(value: Any, here: Here) -> Optional[Check]:
    """Check `dependencies`: per name an array of required names or a schema [JSON Schema draft-07 validation
    §6.5.7]."""
    names = {name: needed for name, needed in value.items() if isinstance(needed, list)}
    schemas = {name: schema for name, schema in value.items() if name not in names}
    both = (keywords.dependent_required(names, here), applicators.dependent_schemas(schemas, here))
    checks = [check for check in both if check is not None]

    def check(instance: Any, run: Run) -> Found:
        found: List[Violation] = []
        for one in checks:
            found = found + (one(instance, run) or [])
        return found or None

    return check if checks else None


# The vocabularies

Vocabulary = Dict[str, Keyword]

CORE: Vocabulary = {
    "$id": Keyword(STRING),
    "$schema": Keyword(STRING),
    "$ref": Keyword(STRING, applicators.ref, keywords.ref),
    "$anchor": Keyword(STRING),
    "$dynamicRef": Keyword(STRING, applicators.dynamic_ref, keywords.dynamic_ref),
    "$dynamicAnchor": Keyword(STRING),
    "$vocabulary": Keyword(OBJECT),
    "$comment": Keyword(STRING),
    "$defs": Keyword(SCHEMAS_BY_NAME),
    "definitions": Keyword(SCHEMAS_BY_NAME),  # the old name, still a place for schemas
}

APPLICATOR: Vocabulary = {
    "allOf": Keyword(SCHEMAS, applicators.all_of_, keywords.all_of),
    "anyOf": Keyword(SCHEMAS, applicators.any_of, keywords.any_of),
    "oneOf": Keyword(SCHEMAS, applicators.one_of, keywords.any_of),
    "not": Keyword(SCHEMA, applicators.not_),
    "if": Keyword(SCHEMA, applicators.if_, keywords.if_),
    "then": Keyword(SCHEMA),
    "else": Keyword(SCHEMA),
    "dependentSchemas": Keyword(SCHEMAS_BY_NAME, applicators.dependent_schemas, keywords.dependent_schemas),
    "prefixItems": Keyword(SCHEMAS, applicators.prefix_items, keywords.prefix_items),
    "items": Keyword(SCHEMA, applicators.items, keywords.every_item),
    "contains": Keyword(SCHEMA, applicators.contains, keywords.contains),
    "properties": Keyword(SCHEMAS_BY_NAME, applicators.properties, keywords.properties),
    "patternProperties": Keyword(SCHEMAS_BY_NAME, applicators.pattern_properties, keywords.pattern_properties),
    "additionalProperties": Keyword(SCHEMA, applicators.additional_properties, keywords.every_property),
    "propertyNames": Keyword(SCHEMA, applicators.property_names),
}

UNEVALUATED: Vocabulary = {
    "unevaluatedItems": Keyword(SCHEMA, keywords.unevaluated_items, keywords.every_item, LAST),
    "unevaluatedProperties": Keyword(SCHEMA, keywords.unevaluated_properties, keywords.every_property, LAST),
}

VALIDATION: Vocabulary = {
    "type": Keyword(TYPE, keywords.type_, stage=FIRST),  # after a wrong type nothing else is worth saying
    "enum": Keyword(VALUES, keywords.enum),
    "const": Keyword(ANYTHING, keywords.const),
    "multipleOf": Keyword(POSITIVE, keywords.multiple_of),
    "maximum": Keyword(NUMBER, keywords.maximum),
    "exclusiveMaximum": Keyword(NUMBER, keywords.exclusive_maximum),
    "minimum": Keyword(NUMBER, keywords.minimum),
    "exclusiveMinimum": Keyword(NUMBER, keywords.exclusive_minimum),
    "maxLength": Keyword(COUNT, keywords.max_length),
    "minLength": Keyword(COUNT, keywords.min_length),
    "pattern": Keyword(STRING, keywords.pattern),
    "maxItems": Keyword(COUNT, keywords.max_items),
    "minItems": Keyword(COUNT, keywords.min_items),
    "uniqueItems": Keyword(BOOLEAN, keywords.unique_items),
    "maxContains": Keyword(COUNT),
    "minContains": Keyword(COUNT),
    "maxProperties": Keyword(COUNT, keywords.max_properties),
    "minProperties": Keyword(COUNT, keywords.min_properties),
    "required": Keyword(STRINGS, keywords.required),
    "dependentRequired": Keyword(STRINGS_BY_NAME, keywords.dependent_required),
}

META_DATA: Vocabulary = {
    "title": Keyword(STRING),
    "description": Keyword(STRING),
    "default": Keyword(ANYTHING),
    "deprecated": Keyword(BOOLEAN),
    "readOnly": Keyword(BOOLEAN),
    "writeOnly": Keyword(BOOLEAN),
    "examples": Keyword(VALUES),
}

FORMAT: Vocabulary = {"format": Keyword(STRING, keywords.format_)}

# Content is annotation only: a decoded string may be anything, so the application decides
# [JSON Schema 2020-12 validation §8.1].
CONTENT: Vocabulary = {
    "contentEncoding": Keyword(STRING),
    "contentMediaType": Keyword(STRING),
    "contentSchema": Keyword(SCHEMA),
}

# Not in the standard's tables, but its metaschema still describes it and authors still write it
# [JSON Schema 2020-12 validation §6.5.4]. Reading: the older keyword keeps its meaning instead of silently losing it.
COMPATIBILITY: Vocabulary = {
    "dependencies": Keyword(DEPENDENCIES, _dependencies, keywords.dependent_schemas),
}

_BASE = "https://json-schema.org/draft/2020-12/vocab/"
FORMAT_ASSERTION = _BASE + "format-assertion"
VOCABULARIES: Dict[str, Vocabulary] = {
    _BASE + "core": CORE,
    _BASE + "applicator": APPLICATOR,
    _BASE + "unevaluated": UNEVALUATED,
    _BASE + "validation": VALIDATION,
    _BASE + "meta-data": META_DATA,
    _BASE + "format-annotation": FORMAT,
    FORMAT_ASSERTION: FORMAT,
    _BASE + "content": CONTENT,
}


_SINCE_2019 = ("minContains", "maxContains", "dependentRequired")


def _rows(table: Vocabulary, *names: str) -> Vocabulary:
    return {name: table[name] for name in names}


DRAFT_07_KEYWORDS: Vocabulary = {
    **_rows(CORE, "$id", "$schema", "$ref", "$comment", "definitions"),
    **_rows(APPLICATOR, "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contains"),
    **_rows(APPLICATOR, "properties", "patternProperties", "additionalProperties", "propertyNames"),
    "items": Keyword(SCHEMA_OR_SCHEMAS, _draft_07_items),
    "additionalItems": Keyword(SCHEMA, _additional_items),
    "dependencies": Keyword(DEPENDENCIES, _dependencies),
    **{name: row for name, row in VALIDATION.items() if name not in _SINCE_2019},
    **_rows(META_DATA, "title", "description", "default", "readOnly", "writeOnly", "examples"),
    **FORMAT,
    **_rows(CONTENT, "contentEncoding", "contentMediaType"),
}

DIALECTS: Dict[str, Dialect] = {
    DRAFT_2020_12: Dialect(
        DRAFT_2020_12,
        {**CORE, **APPLICATOR, **UNEVALUATED, **VALIDATION, **META_DATA, **FORMAT, **CONTENT, **COMPATIBILITY},
    ),
    DRAFT_07: Dialect(DRAFT_07, DRAFT_07_KEYWORDS, legacy=True),
}


def find_dialect(uri: str, resources: Mapping[str, Any]) -> Dialect:
    """Return the dialect that a `$schema` names. An empty fragment at its end means nothing.

    Raises UnsupportedDialect [2025-11-25.. basic/index §Implementation Requirements] MUST, which names the dialect
    and those that are supported; InvalidSchema when a custom metaschema is malformed.
    """
    return _find(uri, resources, frozenset())


def _find(uri: str, resources: Mapping[str, Any], seen: FrozenSet[str]) -> Dialect:
    name = uri[:-1] if uri.endswith("#") else uri
    if name in DIALECTS:
        return DIALECTS[name]
    metaschema = find_metaschema(name, resources)
    if metaschema is None or name in seen:
        raise UnsupportedDialect(uri, DIALECTS)
    vocabulary = metaschema.get("$vocabulary")
    if vocabulary is None:
        return _inherited(name, metaschema, resources, seen)
    if not isinstance(vocabulary, dict):
        raise InvalidSchema((name, "$vocabulary"), "expected an object")
    return _from_vocabularies(name, vocabulary)


def find_metaschema(uri: str, resources: Mapping[str, Any]) -> Any:
    """Return a metaschema in ``resources``, by its key there or by its own `$id`; None if there is none."""
    for key in (uri, uri + "#"):
        if isinstance(resources.get(key), dict):
            return resources[key]
    for document in resources.values():
        if isinstance(document, dict) and document.get("$id") in (uri, uri + "#"):
            return document
    return None


def _inherited(
    name: str, metaschema: Dict[str, Any], resources: Mapping[str, Any], seen: FrozenSet[str]
) -> Dialect:
    """Return the dialect of a metaschema without `$vocabulary`. Reading: it is the dialect in which the metaschema is
    written [JSON Schema 2020-12 core §8.1.2.1]."""
    parent = metaschema.get("$schema", DRAFT_2020_12)
    if not isinstance(parent, str):
        raise InvalidSchema((name, "$schema"), "expected a URI")
    return _find(parent, resources, seen | {name})._replace(uri=name)


def _from_vocabularies(name: str, vocabulary: Dict[str, Any]) -> Dialect:
    """Return the dialect of the union of the known vocabularies. An unknown one is refused if it is required, else
    ignored [JSON Schema 2020-12 core §8.1.2]. A known one counts even if it is not required."""
    table: Vocabulary = dict(CORE)  # core always applies
    for uri, needed in vocabulary.items():
        if uri in VOCABULARIES:
            table.update(VOCABULARIES[uri])
        elif needed:
            raise UnsupportedDialect(name, DIALECTS, ", which requires the unknown vocabulary %s" % uri)
    return Dialect(name, table, assert_formats=FORMAT_ASSERTION in vocabulary)
