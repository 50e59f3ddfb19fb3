"""Arguments as they are typed."""
import io
import sys

import pytest

from mcp_ref.cli.failures import UsageError
from mcp_ref.cli.values import arguments_of, pairs_of, texts_of


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
