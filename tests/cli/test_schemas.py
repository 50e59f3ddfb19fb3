"""Signatures of tools, as their schemas say them."""
import pytest

from mcp_ref.cli.use.schemas import prompt_signature, signature
from mcp_ref.messages.prompts import Prompt, PromptArgument
from mcp_ref.messages.tools import Tool

PLACE = {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}}


def of(properties, required=(), **more):
    return {"type": "object", "properties": properties, "required": list(required), **more}


@pytest.mark.parametrize("schema, shown", [
    (of({}), "()"),
    ({"type": "object"}, "()"),
    (of({"a": {"type": "integer"}, "b": {"type": "string"}}, "ab"), "(a: integer, b: string)"),
    (of({"a": {"type": "integer", "default": 1}, "b": {"type": "string"}}, "b"), "(b: string, a: integer = 1)"),
    (of({"a": {"type": "integer", "default": 1}}, "a"), "(a: integer)"),
    (of({"a": {"type": ["string", "null"], "default": None}}), "(a: string | null = null)"),
    (of({"a": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}), "(a?: string | integer)"),
    (of({"a": {"type": "array", "items": {"type": "string"}}, "b": {"type": "array"}}), "(a?: [string], b?: array)"),
    (of({"a": {"enum": ["x", 1, None]}, "b": {"const": "only"}}), '(a?: "x" | 1 | null, b?: "only")'),
    (of({"a": PLACE, "b": {"type": "object"}}), "(a?: {x: number, y: number}, b?: object)"),
    (of({"a": {"$ref": "#/$defs/P"}}, "a", **{"$defs": {"P": PLACE}}), "(a: {x: number, y: number})"),
    (of({"a": {"$ref": "#/properties/a"}}), "(a?: any)"),
    (of({"a": {}, "b": True, "c": "odd", "d": {"type": 5}}), "(a?: any, b?: any, c?: any, d?: any)"),
    (of({"a b": {}, "x) -> y": {}}), '("a b"?: any, "x) -> y"?: any)'),
    (of({"a": {"type": "string", "default": "\x1b[31m"}}), '(a: string = "\\u001b[31m")'),
    (of({"\u202e": {}}), '("\\u202e"?: any)'),
    (of({"a": {"type": "string", "default": "x" * 900}}), '(a: string = "%s...)' % ("x" * 56)),
    (of({"a": {"enum": list(range(99))}}), "(a?: 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | ...)"),
])
def test_a_signature_says_names_types_and_defaults(schema, shown):
    assert signature(Tool("it", schema)) == "it" + shown


def test_a_tool_with_an_output_schema_says_what_comes_back():
    assert signature(Tool("it", of({}), output_schema=PLACE)) == "it() -> {x: number, y: number}"
    places = {"type": "array", "items": PLACE}
    assert signature(Tool("it", of({}), output_schema=places)) == "it() -> [{x: number, y: number}]"


def test_many_parameters_are_cut():
    found = signature(Tool("it", of({"p%d" % number: {} for number in range(5000)})))
    assert found.endswith("p39?: any, ...)") and len(found) < 600


def test_a_name_cannot_paint_over_other_lines():
    assert signature(Tool("it\n\x1b[2J", of({}))) == "it \\x1b[2J()"


def test_a_prompt_says_which_arguments_may_be_left_out():
    prompt = Prompt("it", arguments=[PromptArgument("a", required=True), PromptArgument("b"), PromptArgument("c d")])
    assert prompt_signature(prompt) == 'it(a, b?, "c d"?)'
    assert prompt_signature(Prompt("it")) == "it()"
