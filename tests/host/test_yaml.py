"""The YAML that configuration files are written in: what is read, and what is refused with its line."""
import json
import time
from typing import Any

import pytest

from mcp_ref.yaml import blocks, read_yaml, reads_as_text
from tests.host.yaml_texts import READ, REFUSED


@pytest.mark.parametrize("text, value", READ, ids=lambda each: repr(each)[:30])
def test_what_people_write_is_read(text: str, value: Any) -> None:
    assert read_yaml(text) == value
    assert json.dumps(read_yaml(text)) == json.dumps(value)  # 1 is not True


@pytest.mark.parametrize("text, line, words", REFUSED, ids=lambda each: repr(each)[:30])
def test_the_rest_is_refused_with_its_line_and_what_to_write(text: str, line: int, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        read_yaml(text)
    said = str(caught.value)
    assert said.startswith("line %d: " % line) and any(word in said for word in words.split("|")), said


@pytest.mark.parametrize("text", [
    "a: " + "x" * 300_000, "a: " + "1" * 300_000, "a: " + "1_" * 150_000 + "x", "a: " + " " * 300_000 + "x",
    "a: '" + "''" * 150_000,
    'a: "' + "\\\\" * 150_000, "a: [" + "x, " * 100_000 + "]", "- a\n" * 20_000,
    "".join("k%d: v\n" % n for n in range(20_000)),
    "a: |\n" + "  x\n" * 20_000, "#\n" * 100_000,
    "a: x" + " #" * 100_000, "a" * 300_000, ":" * 300_000, "a: [" + ":" * 200_000,
    "'" + "a" * 300_000, "a: |\n" + "\n" * 50_000 + "  x",
], ids=lambda text: repr(text[:8]))
def test_long_lines_and_files_are_read_in_linear_time(text: str) -> None:
    start = time.perf_counter()
    try:
        read_yaml(text)
    except ValueError as error:
        assert str(error).startswith("line ")
    assert time.perf_counter() - start < 5.0, "some 0.1 s in linear time, minutes in quadratic"


def test_members_at_the_top_have_their_lines() -> None:
    found = blocks("# c\na: 1\nb:\n  - x\n  # c\n  - |\n    y\n\n# d\nc:\n- z\nd:\n")
    assert {name: tuple(block) for name, block in found.items()} == {
        "a": (1, 1, -1), "b": (2, 6, 2), "c": (9, 10, 0), "d": (11, 11, -1)}


@pytest.mark.parametrize("word", ["KEY", "a.b-c", "_x", "name"])
def test_words_that_need_no_quotes(word: str) -> None:
    assert reads_as_text(word) and read_yaml(word) == word


@pytest.mark.parametrize("word", ["no", "NULL", "y", "true", "1a", "-x", "a b", "a:", "", "é", "a#b"])
def test_words_that_get_quotes(word: str) -> None:
    assert not reads_as_text(word)
