"""Arguments as they are typed."""
import io
import sys
import time

import pytest

from mcp_ref.cli.output import UsageError
from mcp_ref.cli.use.values import arguments_of, pairs_of, texts_of


@pytest.mark.parametrize("words, expected", [
    ([], {}),
    (["a=1", "b=x", "c=true", "d=null", "e=1.5", "f=[1]", 'g={"h": 2}', 'i="1"'],
     {"a": 1, "b": "x", "c": True, "d": None, "e": 1.5, "f": [1], "g": {"h": 2}, "i": "1"}),
    (["a=", "b=x=y", "c= 1"], {"a": "", "b": "x=y", "c": 1}),
    (["a=NaN", "b=1e999", "c={"], {"a": "NaN", "b": "1e999", "c": "{"}),
    (["a==1", "b==@x", "c==-", "d==="], {"a": "1", "b": "@x", "c": "-", "d": "="}),
    (["a:=1", 'b:="x"'], {"a": 1, "b": "x"}),
    (['{"a": 1}'], {"a": 1}),
    ([' {"a": {"b": []}}'], {"a": {"b": []}}),
    (["\u00e9=\u2028\U0001f600"], {"\u00e9": "\u2028\U0001f600"}),
])
def test_words_become_arguments(words, expected):
    found = arguments_of(words)
    assert found == expected and [type(value) for value in found.values()] == [type(v) for v in expected.values()]


@pytest.mark.parametrize("words", [["a"], ["=1"], [":=1"], ["a=1", "a=2"], ["a=1", "a:=2"], ["[1]"], ["{"], ['{"a": 1'],
                                   ["a:=x"], ["a:=NaN"], ["@/nowhere"], ["a=@/nowhere"], ["a=1", "{}"], ["a=1", "-"]])
def test_what_is_no_argument_is_refused(words):
    with pytest.raises(UsageError):
        arguments_of(words)


def test_values_come_from_files_and_standard_input(tmp_path, monkeypatch):
    file = tmp_path / "x.json"
    file.write_text('{"a": [1]}\n', encoding="utf-8")
    assert arguments_of(["@%s" % file]) == {"a": [1]}
    assert arguments_of(["t=@%s" % file, "j:=@%s" % file]) == {"t": '{"a": [1]}\n', "j": {"a": [1]}}
    text = '{"a": "\u00e9"}'
    for words, expected in ((["-"], {"a": "\u00e9"}), (["t=-"], {"t": text}), (["j:=-"], {"j": {"a": "\u00e9"}})):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode("utf-8")), "ascii"))
        assert arguments_of(words) == expected
    monkeypatch.setattr(sys, "stdin", None)
    assert arguments_of(["t=-"]) == {"t": ""}
    file.write_bytes(b"\xff")
    with pytest.raises(UsageError, match="cannot be read"):
        arguments_of(["@%s" % file])


@pytest.mark.parametrize("words, expected", [
    (["a=1", "b=null", "c=x=y"], {"a": "1", "b": "null", "c": "x=y"}),
    (["a=-5", "b=-x", "c="], {"a": "-5", "b": "-x", "c": ""}),
    (['{"a": 1, "b": "x"}'], {"a": "1", "b": "x"}),
    (['a={"b": 1}'], {"a": '{"b": 1}'}),
    (["a==@x"], {"a": "@x"}),
])
def test_arguments_of_a_prompt_are_texts(words, expected):
    assert texts_of(words) == expected


def test_pairs_of_an_option():
    assert pairs_of(["A=1", "B=x=y", "C="], "--env") == {"A": "1", "B": "x=y", "C": ""}
    for word in ("A", "=1"):
        with pytest.raises(UsageError, match="--env"):
            pairs_of([word], "--env")


SCHEMA = {
    "properties": {
        "title": {"type": "string"}, "maybe": {"type": ["string", "null"]}, "count": {"type": "integer"},
        "size": {"type": "number"}, "on": {"type": "boolean"}, "rows": {"type": "array"},
        "place": {"$ref": "#/$defs/Place"}, "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "optional": {"oneOf": [{"type": "integer"}, {"type": "null"}]}, "colour": {"enum": ["1", "2"]},
        "fixed": {"const": 3}, "both": {"allOf": [{"$ref": "#/$defs/a~1b"}, {"minLength": 1}]},
        "any": {}, "odd": {"type": "thing"}, "ring": {"$ref": "#/$defs/Ring"}, "no": False,
        "gone": {"$ref": "https://example.com/"},
    },
    "$defs": {"Place": {"type": "object"}, "a/b": {"type": "string"}, "Ring": {"$ref": "#/$defs/Ring"}},
}


@pytest.mark.parametrize("typed, value", [
    ("title=1", "1"), ("title=null", "null"), ('title="x"', '"x"'), ("title={", "{"), ("title=", ""),
    ("maybe=null", "null"), ("count=1", 1), ("count=2.0", 2.0), ("count=-3", -3), ("size=1", 1), ("size=1.5", 1.5),
    ("on=true", True), ("rows=[1]", [1]), ('place={"x": 1}', {"x": 1}),
    ("either=1", 1), ("either=x", "x"), ("either=1.5", "1.5"), ("either=true", "true"),
    ("optional=null", None), ("colour=1", "1"), ("fixed=3", 3), ("both=1", "1"),
    ("any=1", 1), ("any=x", "x"), ("odd=1", 1), ("ring=1", 1), ("gone=1", 1), ("no=1", 1), ("other=1", 1),
    ("count==1", "1"), ("title:=1", 1), ('count:="x"', "x"), ("rows==[1]", "[1]"),
])
def test_the_schema_says_what_a_text_means(typed, value):
    name = typed.partition("=")[0].rstrip(":")
    found = arguments_of([typed], SCHEMA)[name]
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize("typed, words", [
    ("count=x", "count: the tool takes integer here, not x; count:=JSON"), ("count=1.5", "integer"),
    ("count=", "integer"), ("count=true", "integer"), ('count="1"', "integer"), ("size=x", "number"),
    ("size=NaN", "number"), ("on=True", "boolean here (such as true), not True"), ("on=1", "boolean"),
    ("rows=1,2", "array here (such as [1, 2])"), ("place=[1]", 'object here (such as {"a": 1}), not [1]'),
    ("optional=x", "integer or null"), ("fixed=x", "integer"),
    ("count=\x1b[31m" + "x" * 100, "not \\x1b[31mx"),
])
def test_a_value_that_its_type_cannot_have_is_refused_with_both_named(typed, words):
    with pytest.raises(UsageError) as caught:
        arguments_of([typed], SCHEMA)
    text = str(caught.value)
    assert words in text and text.startswith(typed.partition("=")[0] + ":") and len(text) < 200


@pytest.mark.parametrize("schema", [None, True, [], "x", {"properties": 1}, {"properties": {"a": "x"}},
                                    {"properties": {"a": {"type": []}}}, {"properties": {"a": {"anyOf": []}}},
                                    {"properties": {"a": {"enum": []}}}, {"properties": {"a": {"$ref": "#/x/y"}}}])
def test_a_schema_that_says_nothing_leaves_the_guess(schema):
    assert arguments_of(["a=1", "b=x"], schema) == {"a": 1, "b": "x"}


def test_an_object_a_file_and_standard_input_are_taken_whatever_the_schema_says(tmp_path):
    file = tmp_path / "x.json"
    file.write_text("1", encoding="utf-8")
    assert arguments_of(['{"title": 1}'], SCHEMA) == {"title": 1}
    assert arguments_of(["count=@%s" % file, "title:=@%s" % file], SCHEMA) == {"count": "1", "title": 1}


def test_a_schema_that_branches_into_itself_costs_little():
    ring = [{"$ref": "#"}] * 100
    schema = {"properties": {"a": {"$ref": "#"}}, "$ref": "#", "anyOf": ring, "oneOf": ring, "allOf": ring}
    start = time.process_time()
    assert arguments_of(["a=1"], schema) == {"a": 1}
    assert time.process_time() - start < 1.0
