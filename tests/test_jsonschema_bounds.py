"""Schemas and instances that somebody made to hurt: each ends soon, with the name of a limit."""
import sys
import threading
from typing import Any, Callable, Dict, List, Optional

import pytest

from mcp_ref.jsonschema import DRAFT_07, BoundsExceeded, SchemaBounds, SchemaError, check_schema, compile, validate
from mcp_ref.jsonschema.errors import clock
from tests.support.patience import WAIT

QUICK = SchemaBounds(seconds=0.05)
# [2026-07-28 basic/index §Composition-Keyword Resource Use] SHOULD
pytestmark = pytest.mark.spec("schema.bounds")


def nested(levels: int, wrap: Callable[[Any], Any], core: Any) -> Any:
    """`core` wrapped again and again."""
    for _ in range(levels):
        core = wrap(core)
    return core


def bomb(keyword: str, levels: int = 40) -> Dict[str, Any]:
    """A schema of `levels` small definitions that asks for 2^levels steps."""
    definitions: Dict[str, Any] = {
        str(level): {keyword: [{"$ref": "#/$defs/%d" % (level + 1)}] * 2} for level in range(levels)}
    return {"$ref": "#/$defs/0", "$defs": {**definitions, str(levels): {"type": "integer"}}}


def _limit(instance: Any, schema: Any, bounds: SchemaBounds = QUICK, **options: Any) -> Optional[str]:
    """Which limit stops this, within two seconds of processor time; None when nothing does."""
    started = clock()
    try:
        validate(instance, schema, bounds=bounds, **options)
    except BoundsExceeded as error:
        assert error.limit in str(error)
        assert clock() - started < 2.0
        return error.limit
    return None


@pytest.mark.parametrize("limit, instance, schema", [
    ("seconds", 1, bomb("allOf")),
    ("seconds", "x", bomb("anyOf")),
    ("seconds", 1, bomb("oneOf")),
    ("depth", 1, {"$ref": "#"}),
    ("depth", 1, nested(1000, lambda schema: {"not": schema}, {})),
    ("subschemas", 1, {"anyOf": [{"type": "string"}] * 10_001}),
])
def test_composition_that_explodes_is_stopped_by_a_named_limit(limit: str, instance: Any, schema: Any) -> None:
    assert _limit(instance, schema, QUICK if limit == "seconds" else SchemaBounds()) == limit


@pytest.mark.parametrize("schema", [
    {"$ref": "#"},
    {"allOf": [{"$ref": "#"}]},
    {"anyOf": [{"type": "string"}, {"$ref": "#"}]},
    {"oneOf": [{"$ref": "#"}, {"$ref": "#"}]},
    {"not": {"$ref": "#"}},
    {"if": {"$ref": "#"}, "then": False},
    {"if": True, "then": {"$ref": "#"}},
    {"$dynamicAnchor": "a", "$dynamicRef": "#a"},
    {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    {"$ref": "#", "unevaluatedProperties": False},
    {"$schema": DRAFT_07, "$ref": "#"},
])
def test_a_schema_that_only_refers_to_itself_ends_with_an_error(schema: Any) -> None:
    assert _limit(1, schema) == "depth"


@pytest.mark.parametrize("wrap", [
    lambda schema: {"not": schema}, lambda schema: {"allOf": [schema]}, lambda schema: {"items": schema},
    lambda schema: {"properties": {"a": schema}}, lambda schema: {"if": True, "then": schema},
    lambda schema: {"anyOf": [schema, schema]}, lambda schema: {"$defs": {"a": schema}},
])
@pytest.mark.parametrize("levels", [129, 2000, 20_000])
def test_a_schema_that_nests_too_deep_is_refused(levels: int, wrap: Callable[[Any], Any]) -> None:
    limit = _limit([], nested(levels, wrap, {}))
    assert limit == "depth" or limit == "subschemas"


def test_depth_allows_what_it_says() -> None:
    assert _limit(1, nested(127, lambda schema: {"allOf": [schema]}, {"type": "integer"})) is None
    assert _limit(nested(120, lambda value: [value], 1), {"items": {"$ref": "#"}}) is None
    assert _limit(nested(130, lambda value: [value], 1), {"items": {"$ref": "#"}}) == "depth"
    assert _limit(nested(20, lambda value: [value], 1), {"items": {"$ref": "#"}}, SchemaBounds(depth=10)) == "depth"


@pytest.mark.parametrize("between, limit", [(1, None), (4, "depth")])
def test_what_nests_between_references_counts_too(between: int, limit: Optional[str]) -> None:
    chain: Dict[str, Any] = {
        str(number): nested(between, lambda schema: {"allOf": [schema]}, {"$ref": "#/$defs/%d" % (number + 1)})
        for number in range(100)}
    assert _limit(1, {"$ref": "#/$defs/0", "$defs": {**chain, "100": True}}, SchemaBounds()) == limit


def test_a_long_chain_of_references_is_compiled_without_recursion() -> None:
    chain: Dict[str, Any] = {str(number): {"$ref": "#/$defs/%d" % (number + 1)} for number in range(5000)}
    validator = compile({"$ref": "#/$defs/0", "$defs": {**chain, "5000": True}}, bounds=SchemaBounds(seconds=60))
    with pytest.raises(BoundsExceeded, match="depth"):
        validator.validate(1)


@pytest.mark.parametrize("schema", [{"uniqueItems": True}, {"const": None}, {"enum": [None]}])
def test_a_deep_instance_is_compared_or_refused_but_crashes_nothing(schema: Dict[str, Any]) -> None:
    deep = nested(3000, lambda value: [value], 1)
    schema = {keyword: deep if value is None else [deep] if value == [None] else value
              for keyword, value in schema.items()}
    assert _limit([deep, nested(3000, lambda value: [value], 1)] if "uniqueItems" in schema else
                  nested(3000, lambda value: [value], 1), schema) == "depth"


def test_a_caller_that_is_already_deep_gets_the_error_of_the_package() -> None:
    validator = compile({"items": {"allOf": [{"anyOf": [{"$ref": "#"}]}]}})
    instance = nested(100, lambda value: [value], 1)
    outcomes: List[Any] = []

    def dig(levels: int) -> None:
        if levels:
            return dig(levels - 1)
        try:
            outcomes.append(validator.validate(instance))
        except BoundsExceeded as error:
            outcomes.append(error.limit)

    thread = threading.Thread(target=dig, args=(sys.getrecursionlimit() - 200,))
    thread.start()
    thread.join(WAIT)
    assert outcomes == ["depth"]


LARGE = list(range(200_000))


@pytest.mark.parametrize("instance, schema", [
    (LARGE, {"items": {"allOf": [{"minimum": -number} for number in range(2000)]}}),
    (LARGE, {"allOf": [{"items": {"anyOf": [{"type": "string"}, {"minimum": 0}]}}] * 500}),
    (LARGE, {"allOf": [{"uniqueItems": True}] * 5000}),
    (LARGE, {"allOf": [{"contains": {"const": -1}, "minContains": 0, "maxContains": 5}] * 3000}),
    (LARGE, {"anyOf": [{"contains": {"const": -number - 1}} for number in range(3000)]}),
    (dict.fromkeys(map(str, LARGE), 1), {"allOf": [{"properties": {"a": False}}] * 3000}),
    (dict.fromkeys(map(str, LARGE), 1), {"allOf": [{"additionalProperties": {"type": "integer"}}] * 3000}),
    (dict.fromkeys(map(str, LARGE), 1), {"allOf": [{"propertyNames": {"minLength": 1}}] * 3000}),
    (dict.fromkeys(map(str, LARGE), 1), {"allOf": [{"patternProperties": {"x": False}}] * 3000}),
    (LARGE, nested(40, lambda schema: {"anyOf": [schema], "unevaluatedItems": False}, {"items": True})),
    ([{}] * 50_000, {"items": {"anyOf": [{"required": ["n%d" % number]} for number in range(9000)]}}),
    ([{"n": {"m": 0}}] * 200_000, {"items": {"enum": [{"n": {"m": number}} for number in range(20_000)]}}),
    (["ab" * 20_000] * 1000, {"items": {"anyOf": [{"pattern": "(a|b|ab)*c%d" % number} for number in range(50)]}}),
])
def test_a_large_schema_on_a_large_instance_is_stopped_by_the_clock(instance: Any, schema: Any) -> None:
    assert _limit(instance, schema) == "seconds"


@pytest.mark.parametrize("schema", [
    {"patternProperties": {"(a|b%d){1,900}x" % number: {"type": "string"} for number in range(5000)}},
    {"$id": "urn:/" + "a/" * 2000, "$defs": {str(number): {"$id": str(number)} for number in range(9999)}},
])
def test_compiling_is_stopped_by_the_clock(schema: Any) -> None:
    assert _limit(1, schema) == "seconds"


def test_identifiers_that_grow_with_their_base_are_refused() -> None:
    assert _limit(1, {"$id": "https://example.com/" + "a" * 100_000, "$defs": {"a": {"$id": "b"}}}) == "uri_length"
    assert _limit(1, {"$ref": "x" * 5000}) == "uri_length"


def test_dynamic_scopes_count_as_subschemas() -> None:
    chain: Dict[str, Any] = {str(number): {"$id": "urn:%d" % number, "$dynamicAnchor": "a%d" % number,
                                           "$ref": "urn:%d" % (number + 1)} for number in range(1000)}
    assert _limit(1, {"$ref": "urn:0", "$defs": {**chain, "last": {"$id": "urn:1000"}}}, SchemaBounds()) == "subschemas"


def test_one_document_and_all_that_is_compiled_are_counted() -> None:
    many: Dict[str, Any] = {"$defs": {str(number): {} for number in range(300)}}
    assert _limit(1, many, SchemaBounds(subschemas=300)) == "subschemas"
    assert _limit(1, many, SchemaBounds(subschemas=301)) is None
    resources = {"urn:%d" % number: {"allOf": [{"type": "integer"}] * 90} for number in range(5)}
    schema = {"allOf": [{"$ref": uri} for uri in resources]}
    assert _limit(1, schema, SchemaBounds(subschemas=400), resources=resources) == "subschemas"
    assert _limit(1, schema, SchemaBounds(subschemas=500), resources=resources) is None


@pytest.mark.parametrize("values", [
    [number * (2 ** 61 - 1) for number in range(50_000)],  # ints that all have the hash 0
    [float(number << 60) for number in range(50_000)],
    [[None] * (number % 50) + [number] for number in range(20_000)],
])
def test_unique_items_meets_no_crafted_hashes(values: List[Any]) -> None:
    assert _limit(values, {"uniqueItems": True}, SchemaBounds(seconds=5.0)) is None


def test_messages_do_not_grow_with_alternatives_that_nest() -> None:
    schema = nested(6, lambda schema: {"anyOf": [schema] * 4}, {"enum": ["x" * 1000] * 50})
    violation, = validate("y" * 10_000, schema, bounds=SchemaBounds(seconds=60))
    assert len(violation.message) < 1500


@pytest.mark.parametrize("schema", [bomb("allOf"), nested(500, lambda schema: {"not": schema}, {}), {"$ref": "#"},
                                    {"type": {"$ref": "#"}}, {"anyOf": [{}] * 20_000}])
def test_check_schema_of_a_hostile_schema_ends_too(schema: Any) -> None:
    started = clock()
    try:
        check_schema(schema, bounds=QUICK)
    except SchemaError:
        pass
    assert clock() - started < 2.0


def test_the_defaults_leave_room_for_real_use() -> None:
    assert validate(list(range(100_000)), {"items": {"type": "integer"}}) == []
    assert validate(LARGE[:50_000], {"uniqueItems": True}) == []
    assert check_schema(nested(40, lambda schema: {"properties": {"a": schema}}, {})) == []
