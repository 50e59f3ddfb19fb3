"""References: where they lead, by which base, and through which dynamic scope."""
from typing import Any, Dict, List, NamedTuple

import pytest

from mcp_ref.jsonschema import (
    DRAFT_07, DRAFT_2020_12, InvalidSchema, UnresolvedReference, UnsupportedDialect, compile, validate,
)
from mcp_ref.jsonschema.refs import join

STRING = {"type": "string"}
BASE = "https://example.com/a/root"


class Row(NamedTuple):
    """A schema that allows strings only, by a reference, and the resources that it needs."""

    schema: Any
    resources: Dict[str, Any] = {}


STRINGS_ONLY: List[Row] = [
    # JSON Pointers
    Row({"$ref": "#/$defs/s", "$defs": {"s": STRING}}),
    Row({"$ref": "#/definitions/s", "definitions": {"s": STRING}}),
    Row({"$ref": "#/$defs/a~1b~0c", "$defs": {"a/b~c": STRING}}),
    Row({"$ref": "#/$defs/a%25%22b", "$defs": {'a%"b': STRING}}),
    Row({"$ref": "#/$defs/", "$defs": {"": STRING}}),
    Row({"$ref": "#/allOf/1", "allOf": [True, STRING]}),
    Row({"$ref": "#/x-mine/0/y", "x-mine": [{"y": STRING}]}),
    Row({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/c"}, "c": STRING}}),
    # anchors and ids
    Row({"$ref": "#s", "$defs": {"x": {"$anchor": "s", **STRING}}}),
    Row({"$ref": "#s", "$defs": {"x": {"$dynamicAnchor": "s", **STRING}}}),
    Row({"$id": BASE, "$ref": "s", "$defs": {"x": {"$id": "s", **STRING}}}),
    Row({"$id": BASE, "$ref": "/s", "$defs": {"x": {"$id": "../s", **STRING}}}),
    Row({"$id": BASE, "$ref": "https://example.com/a/s", "$defs": {"x": {"$id": "s", **STRING}}}),
    Row({"$id": BASE, "$ref": "root#/$defs/x", "$defs": {"x": STRING}}),
    Row({"$id": BASE + "#", "$ref": BASE + "#/$defs/x", "$defs": {"x": STRING}}),
    Row({"$id": BASE, "$ref": "b/s#in", "$defs": {"x": {"$id": "b/", "$defs": {"y": {"$id": "s", "$defs": {
        "z": {"$anchor": "in", **STRING}}}}}}}),
    Row({"$ref": "urn:x:1#/$defs/s", "$defs": {"x": {"$id": "urn:x:1", "$defs": {"s": STRING}}}}),
    Row({"$id": "urn:x:1", "$ref": "#s", "$defs": {"x": {"$anchor": "s", **STRING}}}),
    Row({"$id": "urn:x:1", "$ref": "urn:x:2", "$defs": {"x": {"$id": "urn:x:2", **STRING}}}),
    Row({"$id": "mine://host/a/b", "$ref": "c", "$defs": {"x": {"$id": "mine://host/a/c", **STRING}}}),
    # a pointer that crosses into an embedded resource continues with its base
    Row({"$id": BASE, "$ref": "#/$defs/x/items", "$defs": {
        "x": {"$id": "b/x", "items": {"$ref": "s"}}, "y": {"$id": "b/s", **STRING}}}),
    # the same resource twice is one
    Row({"$id": BASE, "$ref": "s", "$defs": {"x": {"$id": "s", **STRING}, "y": {"$id": "s", **STRING}}}),
    # what only looks like an identifier is none
    Row({"$ref": "#s", "$defs": {"a": {"const": {"$anchor": "s"}}, "b": {"$anchor": "s", **STRING}}}),
    Row({"$id": BASE, "$ref": "s", "enum": ["x", {"$id": "s", "type": "null"}],
         "$defs": {"b": {"$id": "s", **STRING}}}),
    # resources
    Row({"$ref": BASE}, {BASE: STRING}),
    Row({"$ref": BASE}, {BASE + "#": STRING}),
    Row({"$ref": BASE + "#/$defs/s"}, {BASE: {"$defs": {"s": STRING}}}),
    Row({"$id": BASE, "$ref": "s"}, {"https://example.com/a/s": {"$ref": "t"}, "https://example.com/a/t": STRING}),
    Row({"$ref": "https://example.com/inner"}, {BASE: {"$defs": {"s": {"$id": "/inner", **STRING}}}}),
    Row({"$ref": "https://example.com/other"}, {BASE: {"$id": "https://example.com/other", **STRING}}),
    Row({"$ref": "folder/s"}, {"folder/s": STRING}),
    Row({"$ref": "https://example.com/x"}, {
        "urn:old": {"$schema": "http://json-schema.org/draft-04/schema#"}, "urn:bad": {"$id": 5},
        "urn:x": {"$id": "https://example.com/x", **STRING}}),
]


@pytest.mark.parametrize("row", [pytest.param(row, id=str(row.schema)[:70]) for row in STRINGS_ONLY])
def test_a_reference_finds_its_target(row: Row) -> None:
    validator = compile(row.schema, row.resources)
    assert not validator.validate("x")
    assert validator.validate(None)


@pytest.mark.parametrize("uri", [DRAFT_2020_12, DRAFT_07, DRAFT_07 + "#"])
def test_the_bundled_metaschemas_can_be_referred_to(uri: str) -> None:
    assert not validate({"type": "string"}, {"$ref": uri})
    assert validate({"type": "any"}, {"$ref": uri})


@pytest.mark.parametrize("reference", [
    "#/$defs/none", "#/$defs/s/", "#none", "#/enum/2", "#/enum/-1", "#/enum/01", "#/enum/x", "#/enum/\u0661",
    "#/enum/99999999999999999999", "#/type/0", "#$defs/s", "other", "https://example.com/none", "urn:none", "#/$defs/%",
    DRAFT_2020_12 + "#/nothing", "https://json-schema.org/draft/2020-12/none", "?query", "//host",
])
@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_a_reference_to_nothing_is_an_error(reference: str, keyword: str) -> None:
    schema = {"properties": {"a": {keyword: reference}}, "$defs": {"s": STRING}, "enum": [{}, {}], "type": "object"}
    with pytest.raises(UnresolvedReference) as caught:
        compile(schema)
    assert caught.value.reference == reference and caught.value.location == ("properties", "a", keyword)


def test_a_broken_reference_that_cannot_be_reached_does_no_harm() -> None:
    assert validate(1, {"$defs": {"unused": {"$ref": "urn:none"}}, "type": "integer"}) == []


def test_a_resource_in_a_foreign_dialect_is_refused_when_it_is_referred_to() -> None:
    resources = {BASE: {"$schema": "https://json-schema.org/draft/2019-09/schema"}}
    assert not validate(1, {}, resources)
    with pytest.raises(UnsupportedDialect, match="2019-09"):
        compile({"$ref": BASE}, resources)


def test_two_different_schemas_with_one_id_are_refused() -> None:
    with pytest.raises(InvalidSchema, match="same \\$id"):
        compile({"$defs": {"a": {"$id": BASE}, "b": {"$id": BASE, "type": "string"}}})


def test_everything_beside_a_reference_counts_but_not_in_draft_07() -> None:
    schema = {"$ref": "#/definitions/s", "maxLength": 1, "definitions": {"s": STRING}}
    assert validate("long", schema)
    assert not validate("long", {"$schema": DRAFT_07, **schema})
    beside = {"$schema": DRAFT_07, "properties": {"a": {"$id": "urn:a", "$ref": "#/definitions/s"}}, **schema}
    del beside["$ref"]
    assert not validate({"a": "x"}, beside)  # the ignored `$id` changes no base


def test_recursion_through_the_instance_is_followed() -> None:
    tree = {"type": "object", "properties": {"children": {"items": {"$ref": "#"}}}, "required": ["name"]}
    good: Dict[str, Any] = {"name": "leaf"}
    for _ in range(50):
        good = {"name": "node", "children": [good, {"name": "leaf"}]}
    assert not validate(good, tree)
    violation, = validate({"name": "a", "children": [{"name": "b", "children": [{}]}]}, tree)
    assert violation.where == "$.children[0].children[0]"


# --- dynamic references -----------------------------------------------------------------------------------------------

TREE = {"$id": "https://example.com/tree", "$dynamicAnchor": "node", "type": "object",
        "properties": {"children": {"items": {"$dynamicRef": "#node"}}}}


def test_a_dynamic_reference_goes_to_the_outermost_resource_with_the_anchor() -> None:
    strict = {"$id": "https://example.com/strict", "$dynamicAnchor": "node", "$ref": "tree",
              "unevaluatedProperties": False}
    misspelled: Dict[str, Any] = {"children": [{"childern": []}]}
    resources = {"https://example.com/tree": TREE}
    assert not validate(misspelled, TREE)
    violation, = validate(misspelled, strict, resources)
    assert violation.path == ("children", 0, "childern") and violation.keyword == "unevaluatedProperties"
    # Both uses in one schema: the same subschema is compiled once for each scope.
    both = {"prefixItems": [{"$ref": TREE["$id"]}, {"$ref": strict["$id"]}]}
    both_resources = {**resources, "https://example.com/strict": strict}
    assert not validate([misspelled], both, both_resources)
    assert [found.path[0] for found in validate([misspelled, misspelled], both, both_resources)] == [1]


def test_without_a_dynamic_anchor_at_its_first_target_a_dynamic_reference_is_plain() -> None:
    schema = {"$id": BASE, "$dynamicAnchor": "x", "type": "array", "items": {"$ref": "plain"},
              "$defs": {"plain": {"$id": "plain", "$dynamicRef": "#x", "$defs": {"x": {"$anchor": "x", **STRING}}}}}
    assert not validate(["a"], schema)
    assert validate([[]], schema)


def test_an_embedded_resource_is_entered_by_going_down_into_it() -> None:
    def anchored(kind: str) -> Dict[str, Any]:
        return {"x": {"$dynamicAnchor": "x", "type": kind}}

    schema = {"$id": BASE, "properties": {"a": {"$id": "outer", "$ref": "inner", "$defs": anchored("null")}},
              "$defs": {"inner": {"$id": "inner", "$dynamicRef": "#x", "$defs": anchored("string")}}}
    assert not validate({"a": None}, schema)
    assert validate({"a": "x"}, schema)


def test_a_dynamic_scope_ends_where_it_was_left() -> None:
    schema = {
        "$id": BASE, "if": {"$ref": "first"}, "then": {"$ref": "second"},
        "$defs": {
            "first": {"$id": "first", "$defs": {"x": {"$dynamicAnchor": "x", "type": "null"}}},
            "second": {"$id": "second", "$dynamicRef": "#x", "$defs": {"x": {"$dynamicAnchor": "x", **STRING}}},
        },
    }
    assert not validate("a", schema)
    assert validate(None, schema)


@pytest.mark.parametrize("keyword, evaluated, not_evaluated", [("$ref", "near", "far"), ("$dynamicRef", "far", "near")])
def test_a_reference_evaluates_what_its_target_does(keyword: str, evaluated: str, not_evaluated: str) -> None:
    def anchored(name: str) -> Dict[str, Any]:
        return {"x": {"$dynamicAnchor": "x", "properties": {name: True}}}

    inner = {"$id": "inner", keyword: "#x", "unevaluatedProperties": False, "$defs": anchored("near")}
    schema = {"$id": BASE, "$ref": "inner", "$defs": {**anchored("far"), "inner": inner}}
    assert not validate({evaluated: 1}, schema)
    assert validate({not_evaluated: 1}, schema)


# RFC 3986 section 5.4, without fragments
@pytest.mark.parametrize("reference, expected", [
    ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
    ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("", "http://a/b/c/d;p?q"),
    ("..", "http://a/b/"), ("../g", "http://a/b/g"), ("../../g", "http://a/g"), ("g;x=1", "http://a/b/c/g;x=1"),
])
def test_a_relative_reference_is_joined_to_its_base(reference: str, expected: str) -> None:
    assert join("http://a/b/c/d;p?q", reference) == expected
    mine = "mine" + expected[len("http"):] if expected.startswith("http:") else expected
    assert join("mine://a/b/c/d;p?q", reference) == mine


def test_a_base_without_a_path_joins_nothing() -> None:
    assert join("urn:a:b", "c") == "c"
    assert join("", "c") == "c"
    assert join("folder/a", "c") == "folder/c"


def test_a_reference_that_is_no_url_is_unresolved_and_no_crash() -> None:
    with pytest.raises(UnresolvedReference):
        compile({"$id": "http://a/b", "$ref": "//[::1"}).is_valid(1)
    assert compile({"$id": "http://a/b", "properties": {"x": {"$id": "//[::1"}}}).is_valid({"x": 1})
