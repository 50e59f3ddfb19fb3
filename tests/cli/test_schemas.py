"""Signatures of tools, as their schemas say them."""
import pytest

from mcp_ref.cli.use.values import details, prompt_details, prompt_signature, signature
from mcp_ref.messages.prompts import Prompt, PromptArgument
from mcp_ref.messages.tools import Tool

PLACE = {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}, "required": ["x"]}


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
    (of({"a": PLACE, "b": {"type": "object"}}), "(a?: {x: number, y?: number}, b?: object)"),
    (of({"a": {"$ref": "#/$defs/P"}}, "a", **{"$defs": {"P": PLACE}}), "(a: {x: number, y?: number})"),
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
    assert signature(Tool("it", of({}), output_schema=PLACE)) == "it() -> {x: number, y?: number}"
    places = {"type": "array", "items": PLACE}
    assert signature(Tool("it", of({}), output_schema=places)) == "it() -> [{x: number, y?: number}]"


def test_many_parameters_are_cut():
    found = signature(Tool("it", of({"p%d" % number: {} for number in range(5000)})))
    assert found.endswith("p39?: any, ...)") and len(found) < 600


def test_a_name_cannot_paint_over_other_lines():
    assert signature(Tool("it\n\x1b[2J", of({}))) == "it \\x1b[2J()"


def test_a_prompt_says_which_arguments_may_be_left_out():
    prompt = Prompt("it", arguments=[PromptArgument("a", required=True), PromptArgument("b"), PromptArgument("c d")])
    assert prompt_signature(prompt) == 'it(a, b?, "c d"?)'
    assert prompt_signature(Prompt("it")) == "it()"


WHERE = {"type": "string", "description": "where\nor \x1b[31mwhen"}
NESTED = {"type": "object", "properties": {"b": WHERE, "a": {"type": "integer", "default": 2}}, "required": ["b"]}


@pytest.mark.parametrize("schema, lines", [
    (of({}), ["parameters: none"]),
    (of({"a": WHERE}, "a"), ["parameters:", "  a: string", "      where", "      or \\x1b[31mwhen"]),
    (of({"a": {"default": 1}}), ["parameters:", "  a: any = 1"]),
    *((of({"o": member}, **more), ["parameters:", "  o?: %s" % shown,
                                   "      b: string", "          where", "          or \\x1b[31mwhen",
                                   "      a: integer = 2"])
      for member, more, shown in [
          (NESTED, {}, "{b: string, a: integer = 2}"),
          ({"$ref": "#/$defs/N"}, {"$defs": {"N": NESTED}}, "{b: string, a: integer = 2}"),
          ({"type": "array", "items": NESTED}, {}, "[{b: string, a: integer = 2}]"),
          ({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/N"}]}, {"$defs": {"N": NESTED}}, "object | null"),
      ]),
    (of({"a": True, "b": {"description": 5}, "c": {"items": [3]}}),
     ["parameters:", "  a?: any", "  b?: any", "  c?: any"]),
], ids=str)
def test_a_tool_in_full_describes_each_parameter_and_what_is_in_it(schema, lines):
    assert list(details(Tool("it", schema))) == lines


def test_a_tool_in_full_describes_its_result():
    tool = Tool("it", of({}), output_schema=of({"a": WHERE}, "a"))
    assert list(details(tool)) == [
        "parameters: none", "result:", "  a: string", "      where", "      or \\x1b[31mwhen"]


@pytest.mark.parametrize("schema", [
    of({"a": {"$ref": "#"}}),
    of({"p%d" % number: of({"q%d" % inner: {} for inner in range(300)}) for number in range(300)}),
    of({"a": {"anyOf": [{"anyOf": [{"anyOf": [{}] * 99}] * 99}] * 99}}),
], ids=["in a circle", "many", "many choices"])
def test_lines_about_a_tool_are_bounded(schema):
    assert len(list(details(Tool("it", schema)))) <= 402


def test_a_prompt_in_full_describes_its_arguments():
    prompt = Prompt("it", arguments=[PromptArgument("a", description="one\ntwo", required=True), PromptArgument("b")])
    assert list(prompt_details(prompt)) == ["arguments:", "  a", "      one", "      two", "  b?"]
    assert list(prompt_details(Prompt("it"))) == ["arguments: none"]
