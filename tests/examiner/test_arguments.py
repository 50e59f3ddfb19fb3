"""Arguments that are made from the input schemas of servers, which may be hostile."""
import json
from typing import Any, Dict

import pytest

from mcp_ref.devtools.examiner.stage import invalid, valid


def of(schema: Any, **more: Any) -> Dict[str, Any]:
    return {"type": "object", "required": ["a"], "properties": {"a": schema}, **more}


def nested(levels: int, inner: Any) -> Any:
    for _ in range(levels):
        inner = {"type": "array", "minItems": 60, "items": inner}
    return inner


NAMES = ["m%d" % number for number in range(40)]
SELF: Dict[str, Any] = {"type": "object", "required": NAMES}
LONG = {
    "members that refer to what they are in": of({"$ref": "#/properties/a"}, properties={
        "a": dict(SELF, properties=dict.fromkeys(NAMES, {"$ref": "#/properties/a"}))}),
    "definitions that refer to each other": of({"$ref": "#/$defs/a"}, **{"$defs": {
        "a": dict(SELF, properties=dict.fromkeys(NAMES, {"$ref": "#/$defs/b"})),
        "b": dict(SELF, properties=dict.fromkeys(NAMES, {"anyOf": [{"$ref": "#/$defs/a"}]}))}}),
    "arrays of arrays": of(nested(3, {"type": "integer"})),
    "arrays of objects": of(nested(2, of(nested(1, {"type": "boolean"})))),
    "arrays of long strings": of(nested(1, {"type": "string", "minLength": 9000})),
    "arrays of a long default": of(nested(1, {"default": ["x" * 9000]})),
    "arrays of a long example": of(nested(1, {"examples": [{"x": "y" * 9000}]})),
}


@pytest.mark.parametrize("name", LONG)
def test_a_schema_does_not_make_more_than_can_be_sent(name: str) -> None:
    assert len(json.dumps(valid(LONG[name]))) < 250_000
    assert len(json.dumps(invalid(LONG[name]))) < 250_000


@pytest.mark.parametrize("schema, good, bad", [
    ({"type": "object"}, {}, None),
    (of({"type": "integer", "minimum": 3}), {"a": 3}, {"a": "seven"}),
    (of({"type": "array", "minItems": 2, "items": {"enum": ["x", "y"]}}), {"a": ["x", "x"]}, {"a": "seven"}),
    (of({"$ref": "#/$defs/b"}, **{"$defs": {"b": of({"type": "string", "minLength": 9})}}),
     {"a": {"a": "examplexx"}}, {}),
    (of({"anyOf": [{"type": "boolean"}, {"type": "null"}]}), {"a": True}, {}),
    (of({"type": "string", "pattern": "^x$"}), None, None),
])
def test_arguments_are_made_that_fit_and_some_that_do_not(schema: Any, good: Any, bad: Any) -> None:
    assert (valid(schema), invalid(schema)) == (good, bad)
