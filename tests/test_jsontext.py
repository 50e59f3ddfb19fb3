"""JSON with one answer for each oddity: the table of `mcp_ref.jsontext`, in and out."""
import json
import random

import pytest

from mcp_ref.jsontext import JsonError, dumps, loads
from mcp_ref.limits import Limits

SMALL = Limits(max_depth=10, max_nodes=1000, max_number_digits=400)

GOOD = [
    (b'{"a":1}', {"a": 1}),
    (b' [1, 2.5, true, null, "x"] ', [1, 2.5, True, None, "x"]),
    (b'"\xc3\xa9\xe2\x80\xa8\xf0\x9f\x98\x80"', "\u00e9\u2028\U0001f600"),
    (b'"\\ud83d\\ude00"', "\U0001f600"),
    (b'"\\\\ud800"', "\\ud800"),
    (b"1e308", 1e308),
    (b"1e-400", 0.0),
    (b"-0.0", -0.0),
    (b"123456789012345678901234567890", 123456789012345678901234567890),
    (b"9" * 400, int("9" * 400)),
    (b"[" * 10 + b"]" * 10, [[[[[[[[[[]]]]]]]]]]),
    (b'{"a":{"a":{"a":1}}}', {"a": {"a": {"a": 1}}}),
    (b'{"":1," ":2}', {"": 1, " ": 2}),
    (b'"[[[[[[[[[[[[{{{{{"', "[[[[[[[[[[[[{{{{{"),
]

BAD = [
    (b"", "not JSON"),
    (b"{", "not JSON"),
    (b"{} {}", "not JSON"),
    (b"{'a':1}", "not JSON"),
    (b"[1,]", "not JSON"),
    (b"\xef\xbb\xbf{}", "not JSON"),
    (b'"\xff"', "not valid UTF-8 at byte 1"),
    (b'"\xc0\xaf"', "not valid UTF-8"),
    (b'"\xed\xa0\x80"', "not valid UTF-8"),
    ('{"a":1}'.encode("utf-16"), "not valid UTF-8"),
    (b"NaN", "NaN"),
    (b"[Infinity]", "Infinity"),
    (b'{"a":-Infinity}', "-Infinity"),
    (b"1e400", "out of range"),
    (b"-1E+999", "out of range"),
    (b"9" * 309 + b".0", "out of range"),
    (b"9" * 401, "max_number_digits (400)"),
    (b"-" + b"9" * 5000, "max_number_digits"),
    (b'{"a":1,"b":2,"a":1}', 'duplicate key "a"'),
    (b'[{"x":{"a":1,"\\u0061":2}}]', 'duplicate key "a"'),
    (b'"\\ud800"', "lone surrogate"),
    (b'{"\\udc00":1}', "lone surrogate"),
    (b'"\\ude00\\ud83d"', "lone surrogate"),
    (b"[" * 11 + b"]" * 11, "max_depth (10)"),
    (b'{"a":' * 11 + b"1" + b"}" * 11, "max_depth (10)"),
    (b"[" * 100000 + b"]" * 100000, "max_nodes"),
    (b"[" + b"{}," * 1000 + b"1]", "max_nodes (1000)"),
    (b'"\x01"', "not JSON"),
    (b"\x00", "not JSON"),
]


@pytest.mark.parametrize("data, value", GOOD, ids=range(len(GOOD)))
def test_accepts_what_is_json(data, value):
    assert loads(data, SMALL) == value
    assert type(loads(data, SMALL)) is type(value)


@pytest.mark.parametrize("data, text", BAD, ids=range(len(BAD)))
def test_refuses_what_is_not(data, text):
    with pytest.raises(JsonError) as caught:
        loads(data, SMALL)
    assert text in str(caught.value)


@pytest.mark.parametrize("odd", [b"1e400", b"9" * 401, b'{"a":1,"a":2}', b"NaN", b'"\\ud800"', b"9" * 310 + b".5"])
def test_size_does_not_change_the_answer(odd):
    """Large messages take another way through the parser; the answers are the same."""
    wide = Limits(max_number_digits=400)
    with pytest.raises(JsonError):
        loads(odd, wide)
    with pytest.raises(JsonError):
        loads(b"[" + b"0," * 5000 + odd + b"]", wide)


def test_deep_nesting_never_overflows_the_stack():
    deep = Limits(max_depth=10**6, max_nodes=10**7)
    with pytest.raises(JsonError, match="nesting|not JSON"):
        loads(b"[" * 200000 + b"]" * 200000, deep)


def test_small_digit_limit_holds_in_large_messages_too():
    tight = Limits(max_number_digits=20)
    with pytest.raises(JsonError, match=r"max_number_digits \(20\)"):
        loads(b"[" + b"0," * 5000 + b"9" * 21 + b"]", tight)


UNWRITABLE = [
    ({"stats": {"mean": float("nan")}}, "$.stats.mean is NaN"),
    ([1, float("inf")], "$[1] is Infinity"),
    (-float("inf"), "$ is -Infinity"),
    ({"a": ["\ud800"]}, "$.a[0] has a lone surrogate"),
    ({"\udfff": 1}, "lone surrogate"),
    ({"a": {1, 2}}, "$.a is of type set, which JSON cannot hold"),
    (object(), "the value is of type object, which JSON cannot hold"),
    ({"a": b"x"}, "$.a is of type bytes, which JSON cannot hold"),
    ({"a": object()}, "$.a is of type object"),
]


@pytest.mark.parametrize("value, text", UNWRITABLE, ids=range(len(UNWRITABLE)))
def test_refuses_to_write_what_json_cannot_hold_and_says_where(value, text):
    with pytest.raises(JsonError) as caught:
        dumps(value)
    assert text in str(caught.value)


def test_refuses_to_write_what_contains_itself():
    loop = []
    loop.append(loop)
    with pytest.raises(JsonError, match="contains itself"):
        dumps({"a": loop})


def test_writes_one_line_of_ascii():
    text = dumps({"a": "\u00e9\n\u2028\U0001f600", "b": [1, 2]})
    assert text.isascii() and "\n" not in text and " " not in text
    assert json.loads(text) == {"a": "\u00e9\n\u2028\U0001f600", "b": [1, 2]}


def _random_value(rng, depth=0):
    kind = rng.randrange(8 if depth < 4 else 6)
    if kind == 0:
        return rng.choice([None, True, False])
    if kind == 1:
        return rng.randrange(-10**20, 10**20)
    if kind == 2:
        return rng.uniform(-1e6, 1e6)
    if kind < 6:
        return "".join(rng.choice("ab\"\\/\n\t\u00e9\u2028\U0001f600{}[],:") for _ in range(rng.randrange(8)))
    if kind == 6:
        return [_random_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {"k%d" % i: _random_value(rng, depth + 1) for i in range(rng.randrange(4))}


def test_what_is_written_reads_back():
    rng = random.Random(20261120)
    for _ in range(300):
        value = _random_value(rng)
        assert loads(dumps(value).encode("ascii")) == value


def test_truncation_at_every_byte_is_refused():
    data = dumps({"a": [1, "\u00e9\U0001f600", {"b": None}], "c": 2.5}).encode("ascii")
    for end in range(len(data)):
        with pytest.raises(JsonError):
            loads(data[:end])
