"""Every keyword of 2020-12 and draft-07: what it accepts, what it refuses, and what it says then."""
from typing import Any, List, NamedTuple, Tuple

import pytest

from mcp_ref.jsonschema import DRAFT_07, DRAFT_2020_12, compile, validate
from mcp_ref.jsonschema.dialect import DIALECTS, VOCABULARIES


class Row(NamedTuple):
    """A schema, instances that it accepts and instances that it refuses."""

    schema: Any
    good: List[Any]
    bad: List[Any]


TABLE: List[Row] = [
    Row(True, [1, None, {}, []], []),
    Row(False, [], [1, None, {}, []]),
    Row({}, [1, None, {}, []], []),
    # type
    Row({"type": "null"}, [None], [0, False, "", [], {}]),
    Row({"type": "boolean"}, [True, False], [0, 1, "true", None]),
    Row({"type": "object"}, [{}, {"a": 1}], [[], "{}", None, 1]),
    Row({"type": "array"}, [[], [1], (1, 2)], [{}, "[]", None]),
    Row({"type": "number"}, [0, 1.5, -1, 10 ** 400], [True, "1", None]),
    Row({"type": "integer"}, [0, 1.0, -0.0, 1e308, 10 ** 400], [True, 1.5, float("inf"), "1", None]),
    Row({"type": "string"}, ["", "\ud800"], [1, None, ["a"]]),
    Row({"type": ["string", "null"]}, ["", None], [1, [], {}]),
    Row({"type": ["integer", "boolean"]}, [1, True], [1.5, None]),
    # enum and const: JSON equality
    Row({"enum": []}, [], [1, None]),
    Row({"enum": ["a", 1, None, True, [1], {"a": [2]}]}, ["a", 1.0, None, True, [1.0], {"a": [2]}],
        ["b", 2, False, [True], [1, 1], {"a": 2}, {}, {"a": [2], "b": 1}]),
    Row({"enum": [False]}, [False], [0, 0.0, None, ""]),
    Row({"enum": [0]}, [0, 0.0, -0.0], [False]),
    Row({"enum": [[]]}, [[], ()], [{}, [[]]]),
    Row({"const": 1}, [1, 1.0], [True, "1", 2]),
    Row({"const": True}, [True], [1]),
    Row({"const": None}, [None], [0, False]),
    Row({"const": {"a": [False, 1]}}, [{"a": [False, 1.0]}], [{"a": [0, 1]}, {"a": [False]}, {}, None]),
    Row({"const": 2 ** 53 + 1}, [2 ** 53 + 1], [float(2 ** 53), 2 ** 53]),
    # numbers
    Row({"multipleOf": 3}, [0, 9, -9, 9.0, 3 * 10 ** 400, "4", True], [4, 9.5, 1e308, float("inf")]),
    Row({"multipleOf": 0.01}, [0.07, 19.99, 4.35, 1.1, 5, 1e308], [0.075, 0.001]),
    Row({"multipleOf": 0.0001}, [0.0075], [0.00751]),
    Row({"multipleOf": 1.5}, [3, 4.5, 3 * 10 ** 400], [4, 2 ** 1100]),
    Row({"multipleOf": 0.123456789}, [0], [1e308, float("inf"), float("nan")]),
    Row({"multipleOf": 1e308}, [0, 1e308], [1, 5e-324]),
    Row({"multipleOf": 5e-324}, [1e308, 1, 0.5], []),
    Row({"multipleOf": 1e-8}, [12391239123], []),
    Row({"multipleOf": 2 ** 64}, [2 ** 65, float(2 ** 65)], [2 ** 65 + 1]),
    Row({"maximum": 3}, [3, 3.0, -10 ** 400, "9", True], [3.0000001, 4, 10 ** 400]),
    Row({"maximum": 1e308}, [10 ** 307], [10 ** 309]),
    Row({"exclusiveMaximum": 3}, [2, 2.999], [3, 3.0]),
    Row({"minimum": -2}, [-2, -2.0, 5, None], [-2.1, -3]),
    Row({"minimum": 2 ** 53 + 1}, [2 ** 53 + 1], [2 ** 53, float(2 ** 53)]),
    Row({"exclusiveMinimum": 0}, [1, 1e-300], [0, -0.0]),
    # sizes
    Row({"maxLength": 2}, ["", "ab", "\U0001f600\U0001f600", 123, [1, 2, 3]], ["abc"]),
    Row({"maxLength": 2.0}, ["ab"], ["abc"]),
    Row({"minLength": 2}, ["ab", 1, []], ["a", "", "\U0001f600"]),
    Row({"pattern": "a+b"}, ["xaaby", 1, None], ["b", ""]),
    Row({"pattern": "^\u00e9$"}, ["\u00e9"], ["e"]),
    Row({"maxItems": 1}, [[], [1], {"a": 1, "b": 2}, "ab"], [[1, 2]]),
    Row({"minItems": 1}, [[1], {}, ""], [[]]),
    Row({"maxProperties": 1}, [{}, {"a": 1}, [1, 2]], [{"a": 1, "b": 2}]),
    Row({"minProperties": 1}, [{"a": 1}, []], [{}]),
    Row({"uniqueItems": True}, [[], [1], [1, True], [0, False, "", None, [], {}], [[1], [True]], [[], [[]]], ["1", 1],
                                "aa"],
        [[1, 1.0], ["a", "b", "a"], [[1], [1.0]], [{"a": 1, "b": 2}, {"b": 2.0, "a": 1}], [None, None],
         [2 ** 70, 2.0 ** 70]]),
    Row({"uniqueItems": False}, [[1, 1]], []),
    Row({"required": ["a", "b"]}, [{"a": 1, "b": None}, [], "ab"], [{}, {"a": 1}]),
    Row({"required": []}, [{}], []),
    # members
    Row({"properties": {"a": {"type": "string"}, "b": True, "c": False}}, [{}, {"a": ""}, {"b": 1}, {"x": 1}, [1]],
        [{"a": 1}, {"c": None}]),
    Row({"patternProperties": {"^x": {"type": "string"}, "y$": {"minLength": 2}}},
        [{}, {"x": ""}, {"ay": "ab"}, {"xy": "ab"}, {"z": 1}, "x"], [{"x": 1}, {"xy": "a"}, {"xy": 1}]),
    Row({"properties": {"a": True}, "patternProperties": {"^b": True}, "additionalProperties": False},
        [{}, {"a": 1, "b1": 2}, [1]], [{"c": 1}, {"a": 1, "ab": 1}]),
    Row({"additionalProperties": {"type": "integer"}}, [{}, {"a": 1}], [{"a": "1"}]),
    Row({"allOf": [{"properties": {"a": True}}], "additionalProperties": False}, [{}], [{"a": 1}]),
    Row({"propertyNames": {"maxLength": 2}}, [{}, {"ab": 1}, "abc"], [{"abc": 1}]),
    Row({"propertyNames": False}, [{}], [{"a": 1}]),
    Row({"items": {"type": "integer"}}, [[], [1, 2], {"a": "b"}], [["a"], [1, "a"]]),
    Row({"contains": {"const": 1}}, [[1], [0, 1.0], {}, "1"], [[], [0], [True]]),
    Row({"contains": True}, [[None]], [[]]),
    Row({"contains": False}, [{}], [[], [1]]),
    # logic
    Row({"allOf": [{"minimum": 1}, {"maximum": 3}]}, [1, 3, "x"], [0, 4]),
    Row({"anyOf": [{"type": "string"}, {"minimum": 5}]}, ["a", 5, None], [4]),
    Row({"anyOf": [{"type": "string"}, True]}, ["a", 4], []),
    Row({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]}, [2, 3, 9], [1, 6, "both"]),
    Row({"oneOf": [True, True, False]}, [], [1]),
    Row({"not": {"type": "string"}}, [1, None], ["a"]),
    Row({"not": {}}, [], [1]),
    Row({"not": False}, [1], []),
    Row({"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 2}}, ["ab", 2, None], ["a", 1]),
    Row({"if": {"type": "string"}, "then": False}, [1], ["a"]),
    Row({"if": {"type": "string"}, "else": False}, ["a"], [1]),
    Row({"if": False}, [1], []),
    Row({"then": False, "else": False}, [1], []),
    # the older name of two keywords, still honoured in 2020-12
    Row({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}, [{}, {"a": 1, "b": 1}, {"c": 1, "d": 1}, ["a"]],
        [{"a": 1}, {"c": 1}]),
    # annotations never refuse
    Row({"format": "date", "contentEncoding": "base64", "contentMediaType": "application/json", "title": "t",
         "description": "d", "default": 1, "readOnly": True, "writeOnly": True, "examples": [1], "$comment": "c"},
        ["", "no date", "%", 1, None], []),
    Row({"x-unknown": {"type": 5}, "$recursiveRef": "#"}, [1], []),
]

ONLY_2020_12: List[Row] = [
    Row({"prefixItems": [{"type": "string"}, {"type": "integer"}]}, [[], ["a"], ["a", 1, None], {"0": 1}],
        [[1], ["a", "b"]]),
    Row({"prefixItems": [True], "items": {"type": "string"}}, [[], [1], [1, "a", "b"]], [[1, 2], ["a", "b", 3]]),
    Row({"prefixItems": [True], "items": False}, [[], [1]], [[1, 2]]),
    Row({"contains": {"const": 1}, "minContains": 2}, [[1, 1], [1, 0, 1]], [[1], []]),
    Row({"contains": {"const": 1}, "minContains": 0}, [[], [0]], []),
    Row({"contains": {"const": 1}, "minContains": 0, "maxContains": 1}, [[], [1, 0]], [[1, 1]]),
    Row({"contains": {"const": 1}, "maxContains": 2}, [[1], [1, 1, 0]], [[], [1, 1, 1]]),
    Row({"minContains": 5, "maxContains": 0}, [[], [1]], []),
    Row({"dependentRequired": {"a": ["b", "c"]}}, [{}, {"b": 1}, {"a": 1, "b": 2, "c": 3}, ["a"]],
        [{"a": 1}, {"a": 1, "b": 2}]),
    Row({"dependentSchemas": {"a": {"required": ["b"]}, "c": False}}, [{}, {"b": 1}, {"a": 1, "b": 1}, ["a"]],
        [{"a": 1}, {"c": 1}]),
    Row({"contentSchema": False, "contentMediaType": "application/json", "deprecated": True}, ["1", 1], []),
    # what nobody has evaluated
    Row({"unevaluatedProperties": False}, [{}, [], 1], [{"a": 1}]),
    Row({"unevaluatedProperties": True}, [{"a": 1}], []),
    Row({"unevaluatedProperties": {"type": "string"}}, [{"a": ""}], [{"a": 1}]),
    Row({"properties": {"a": True}, "patternProperties": {"^b": True}, "unevaluatedProperties": False},
        [{"a": 1, "b1": 1}], [{"c": 1}]),
    Row({"additionalProperties": True, "unevaluatedProperties": False}, [{"a": 1}], []),
    Row({"allOf": [{"properties": {"a": True}}, {"properties": {"b": True}}], "unevaluatedProperties": False},
        [{"a": 1, "b": 1}], [{"c": 1}, {"a": 1, "c": 1}]),
    Row({"anyOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]}, {"properties": {"b": True}}],
         "unevaluatedProperties": False}, [{"a": 1}, {"b": 1}, {"a": 1, "b": 2}], [{"a": 2}, {"c": 1}]),
    Row({"oneOf": [{"properties": {"a": True}, "required": ["a"]}, {"properties": {"b": True}, "required": ["b"]}],
         "unevaluatedProperties": False}, [{"a": 1}, {"b": 1}], [{"a": 1, "c": 1}, {"a": 1, "b": 1}]),
    Row({"not": {"not": {"properties": {"a": True}}}, "unevaluatedProperties": False}, [{}], [{"a": 1}]),
    Row({"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": {"properties": {"b": True}},
         "else": {"properties": {"c": True}}, "unevaluatedProperties": False},
        [{"a": 1}, {"a": 1, "b": 1}, {"c": 1}], [{"b": 1}, {"a": 1, "c": 1}, {"a": 2}]),
    Row({"dependentSchemas": {"a": {"properties": {"a": True, "b": True}}}, "unevaluatedProperties": False},
        [{}, {"a": 1, "b": 1}], [{"b": 1}]),
    Row({"dependencies": {"a": {"properties": {"a": True}}}, "unevaluatedProperties": False}, [{"a": 1}], [{"b": 1}]),
    Row({"$ref": "#/$defs/x", "$defs": {"x": {"properties": {"a": True}}}, "unevaluatedProperties": False},
        [{"a": 1}], [{"b": 1}]),
    Row({"allOf": [{"properties": {"a": True}, "unevaluatedProperties": True}], "unevaluatedProperties": False},
        [{"a": 1, "b": 1}], []),
    Row({"allOf": [{"unevaluatedProperties": False}], "properties": {"a": True}}, [{}], [{"a": 1}]),  # no cousins
    Row({"properties": {"a": {"properties": {"b": True}}}, "unevaluatedProperties": False}, [{"a": {"b": 1}}],
        [{"b": 1}]),
    Row({"unevaluatedItems": False}, [[], {}, 1], [[1]]),
    Row({"unevaluatedItems": True}, [[1]], []),
    Row({"prefixItems": [True], "unevaluatedItems": {"type": "string"}}, [[], [1], [1, "a"]], [[1, 2]]),
    Row({"items": True, "unevaluatedItems": False}, [[1, 2]], []),
    Row({"contains": {"type": "string"}, "unevaluatedItems": {"type": "integer"}}, [["a"], ["a", 1, "b"]],
        [["a", None]]),
    Row({"allOf": [{"prefixItems": [True, True]}], "unevaluatedItems": False}, [[1, 2]], [[1, 2, 3]]),
    Row({"anyOf": [{"prefixItems": [{"const": 1}]}, {"prefixItems": [True, {"const": 2}]}], "unevaluatedItems": False},
        [[1], [9, 2], [1, 2]], [[1, 3], [1, 2, 3]]),
]

ONLY_DRAFT_07: List[Row] = [
    Row({"items": [{"type": "string"}, True]}, [[], ["a", 1, None], {}], [[1]]),
    Row({"items": [True], "additionalItems": {"type": "string"}}, [[1, "a"], []], [[1, 2]]),
    Row({"items": [True], "additionalItems": False}, [[1]], [[1, 2]]),
    Row({"items": {"type": "string"}, "additionalItems": False}, [["a", "b"]], [[1]]),
    Row({"additionalItems": False}, [[1]], []),
    Row({"contains": {"const": 1}, "minContains": 2, "maxContains": 0}, [[1], [0, 1, 1, 1]], [[], [0]]),
    Row({"dependencies": {"e": False}}, [{}], [{"e": 1}]),
    Row({"$ref": "#/definitions/s", "maxLength": 1, "definitions": {"s": {"type": "string"}}}, ["long"], [1]),
    Row({"definitions": {"a": {"$id": "#name", "type": "string"}}, "$ref": "#name"}, ["a"], [1]),
    Row({"prefixItems": [False], "dependentRequired": {"a": ["b"]}, "unevaluatedProperties": False,
         "dependentSchemas": {"a": False}, "$dynamicRef": "#nowhere", "$anchor": 5}, [[1], {"a": 1}], []),
]


def _named(rows: List[Row]) -> List[Any]:
    return [pytest.param(row, id=ascii(row.schema)[:60]) for row in rows]


def _disagreements(row: Row, **options: Any) -> List[Tuple[str, Any]]:
    """Instances that the validator judges otherwise than the row; its quick answer must agree with the full one."""
    validator = compile(row.schema, **options)
    refused = [("refused", instance) for instance in row.good if validator.validate(instance)]
    accepted = [("accepted", instance) for instance in row.bad if not validator.validate(instance)]
    both = [("quick answer differs", instance) for instance in row.good + row.bad
            if validator.is_valid(instance) == bool(validator.validate(instance))]
    return refused + accepted + both


@pytest.mark.parametrize("row", _named(TABLE + ONLY_2020_12))
def test_keyword_of_2020_12_accepts_and_refuses(row: Row) -> None:
    assert _disagreements(row) == []


@pytest.mark.parametrize("row", _named(TABLE + ONLY_DRAFT_07))
def test_keyword_of_draft_07_accepts_and_refuses(row: Row) -> None:
    assert _disagreements(row, default_dialect=DRAFT_07) == []


@pytest.mark.parametrize("dialect, rows", [(DRAFT_2020_12, TABLE + ONLY_2020_12), (DRAFT_07, TABLE + ONLY_DRAFT_07)])
def test_every_keyword_of_a_dialect_is_tried_here(dialect: str, rows: List[Row]) -> None:
    tried = {keyword for row in rows if isinstance(row.schema, dict) for keyword in row.schema}
    tried_with_references = {"$id", "$schema", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor", "$vocabulary",
                             "$defs", "definitions"}
    assert set(DIALECTS[dialect].keywords) - tried - tried_with_references == set()


def test_the_default_dialect_has_every_keyword_of_every_vocabulary() -> None:
    for name, vocabulary in VOCABULARIES.items():
        assert vocabulary.items() <= DIALECTS[DRAFT_2020_12].keywords.items(), name


MESSAGES: List[Tuple[Any, Any, List[str]]] = [
    ({"type": "integer"}, "x", ["$: expected integer, got string"]),
    ({"type": ["integer", "null"]}, 1.5, ["$: expected integer or null, got number"]),
    ({"type": "string"}, True, ["$: expected string, got boolean"]),
    ({"properties": {"a": {"type": "integer"}}}, {"a": "1"}, ["$.a: expected integer, got string"]),
    ({"items": {"items": {"type": "integer"}}}, [[], [1, None]], ["$[1][1]: expected integer, got null"]),
    ({"properties": {"a b": {"items": False}}}, {"a b": [1]}, ['$["a b"][0]: unexpected item (0 items allowed)']),
    ({"required": ["a", "b"]}, {}, ['$: missing required property "a"', '$: missing required property "b"']),
    ({"properties": {"a": True}, "additionalProperties": False}, {"b": 1}, ['$.b: unexpected property (known: "a")']),
    ({"properties": {"a": True}, "unevaluatedProperties": False}, {"b": 1}, ['$.b: unexpected property (known: "a")']),
    ({"prefixItems": [True], "unevaluatedItems": False}, [1, 2], ["$[1]: unexpected item"]),
    ({"properties": {"a": False}}, {"a": 1}, ["$.a: nothing is allowed here"]),
    ({"enum": ["a", None, 3]}, "b", ['$: must be "a", null or 3, got "b"']),
    ({"enum": list(range(20))}, [1, 2],
     ["$: must be 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ..., got an array of 2 items"]),
    ({"const": {"a": 1}}, {}, ["$: must be an object with 1 property, got an object with 0 properties"]),
    ({"multipleOf": 0.01}, 0.075, ["$: must be a multiple of 0.01, got 0.075"]),
    ({"maximum": 3}, 4, ["$: must be at most 3, got 4"]),
    ({"exclusiveMaximum": 3}, 3, ["$: must be less than 3, got 3"]),
    ({"minimum": 3}, 2.5, ["$: must be at least 3, got 2.5"]),
    ({"exclusiveMinimum": 3}, 3, ["$: must be greater than 3, got 3"]),
    ({"maximum": 3}, 10 ** 5000, ["$: must be at most 3, got an integer of 16610 bits"]),
    ({"maxLength": 1}, "ab", ["$: must have at most 1 character, has 2"]),
    ({"minItems": 2}, [1], ["$: must have at least 2 items, has 1"]),
    ({"maxProperties": 0}, {"a": 1}, ["$: must have at most 0 properties, has 1"]),
    ({"pattern": "^a"}, "b", ['$: must match the pattern ^a, got "b"']),
    ({"pattern": "^a"}, "b" * 1000, ['$: must match the pattern ^a, got "%s..."' % ("b" * 57)]),
    ({"pattern": "^a"}, "\u00e9\ud800\n", ['$: must match the pattern ^a, got "\u00e9\\ud800\\n"']),
    ({"uniqueItems": True}, [1, 2, 1.0], ["$: items must differ, but items 0 and 2 are equal"]),
    ({"contains": {"const": 1}}, [], ['$: must have at least 1 that match "contains", has 0']),
    ({"contains": {"const": 1}, "maxContains": 1}, [1, 1], ['$: must have at most 1 that match "contains", has more']),
    ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, ['$: missing property "b", required beside "a"']),
    ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, ['$: property name "ab": must have at most 1 character, has 2']),
    ({"not": {"type": "string"}}, "a", ['$: must not match the schema in "not", got "a"']),
    ({"anyOf": [{"type": "string"}, {"properties": {"a": {"type": "null"}}}]}, {"a": 1},
     ["$: matches none of 2 alternatives: (1) expected string, got object; (2) .a: expected null, got integer"]),
    ({"oneOf": [{"type": "string"}] * 7}, 1,
     ["$: matches none of 7 alternatives: " + "; ".join("(%d) expected string, got integer" % number
                                                        for number in range(1, 6)) + " ..."]),
    ({"oneOf": [True, False, True]}, 1, ["$: must match only one alternative, matches numbers 1 and 3"]),
    # After a wrong type nothing else is said; unevaluated members are not blamed for other faults.
    ({"type": "string", "enum": ["a"], "minimum": 3}, 1, ["$: expected string, got integer"]),
    ({"required": ["a"], "unevaluatedProperties": False}, {"b": 1}, ['$: missing required property "a"']),
]


@pytest.mark.parametrize("schema, instance, expected",
                         [pytest.param(*row, id=ascii(row[2][0])[:60]) for row in MESSAGES])
def test_message_says_where_what_is_wanted_and_what_is_there(schema: Any, instance: Any, expected: List[str]) -> None:
    assert [str(violation) for violation in validate(instance, schema)] == expected


@pytest.mark.parametrize("row", _named(TABLE + ONLY_2020_12))
def test_both_paths_of_a_violation_lead_somewhere(row: Row) -> None:
    for instance in row.bad:
        for violation in validate(instance, row.schema):
            place: Any = instance
            for step in violation.path:
                place = place[step]
            keyword: Any = row.schema
            for step in violation.schema_path:
                keyword = keyword[step]
            assert keyword is False if violation.keyword == "false" else violation.keyword in violation.schema_path
