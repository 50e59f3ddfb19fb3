"""The field WWW-Authenticate, read and written."""
import random
import time
from typing import Any, Dict, List, Optional, Tuple

import pytest

from mcp_ref.auth.discover import Challenge, find, format_challenge, parse, scope_list, scopes_wanted

Read = List[Tuple[str, Dict[str, str], Optional[str]]]
PRM = "https://example.com/.well-known/oauth-protected-resource"


@pytest.mark.parametrize("field, expected", [
    ("Bearer", [("bearer", {}, None)]),
    ("bEaReR Realm=x", [("bearer", {"realm": "x"}, None)]),
    ('Bearer realm="a b", scope="x y"', [("bearer", {"realm": "a b", "scope": "x y"}, None)]),
    ('Bearer realm="a, \\"b\\" \\\\"', [("bearer", {"realm": 'a, "b" \\'}, None)]),
    ('Bearer realm=""', [("bearer", {"realm": ""}, None)]),
    ('Bearer  realm = "a" ,\tscope= b', [("bearer", {"realm": "a", "scope": "b"}, None)]),
    ("Negotiate", [("negotiate", {}, None)]),
    ("Negotiate YWJj==", [("negotiate", {}, "YWJj==")]),
    ("Negotiate YWJj, Bearer", [("negotiate", {}, "YWJj"), ("bearer", {}, None)]),
    ("Basic realm=a, Bearer error=invalid_token, error_description=\"x, y\", DPoP algs=\"ES256 PS256\"", [
        ("basic", {"realm": "a"}, None), ("bearer", {"error": "invalid_token", "error_description": "x, y"}, None),
        ("dpop", {"algs": "ES256 PS256"}, None)]),
    ("Basic, Bearer", [("basic", {}, None), ("bearer", {}, None)]),
    (", ,Bearer,, realm=a,,", [("bearer", {"realm": "a"}, None)]),
    ('Bearer realm="x",scope="y",Basic realm="z"', [
        ("bearer", {"realm": "x", "scope": "y"}, None), ("basic", {"realm": "z"}, None)]),
    # what servers do though they should not
    ("Bearer resource_metadata=%s, scope=a" % PRM, [("bearer", {"resource_metadata": PRM, "scope": "a"}, None)]),
    ('Bearer realm="x" scope="y"', [("bearer", {"realm": "x", "scope": "y"}, None)]),
    ('Bearer scope="a", scope="b"', [("bearer", {"scope": "a"}, None)]),
    ("Bearer\trealm=a", [("bearer", {"realm": "a"}, None)]),
    # what cannot be read is left out
    ("", []), ("   ", []), (",,,", []), ("=", []), ('"', []), ('"quoted"', []), ("realm=a", []), ("\u20ac\u20ac", []),
    ('Bearer realm="no end', [("bearer", {}, None)]),
    ('Bearer realm="no end, scope="x"', [("bearer", {}, None)]),
    ('Bearer realm="ends in \\', [("bearer", {}, None)]),
    ('Bearer realm="a"b, scope=c', [("bearer", {"scope": "c"}, None)]),
    ("Bearer realm=My Site, scope=c", [("bearer", {"scope": "c"}, None)]),
    ("Bearer abc, scope=c", [("bearer", {}, None), ("abc", {"scope": "c"}, None)]),
    ("Bearer realm=, scope=c", [("bearer", {"scope": "c"}, None)]),
    ('Bearer (odd)="x", scope=c', [("bearer", {"scope": "c"}, None)]),
    ('Bea/rer realm="a", Basic realm="b"', [("bea", {}, None), ("basic", {"realm": "b"}, None)]),
    ("Negotiate YWJj==, realm=a", [("negotiate", {}, "YWJj==")]),
])
def test_what_is_in_a_field(field: str, expected: Read) -> None:
    """[RFC 9110 §11.6.1]"""
    assert [tuple(challenge) for challenge in parse([field])] == expected


def test_several_fields_follow_each_other() -> None:
    found = parse(["Basic realm=a", "", 'Bearer resource_metadata="%s"' % PRM, "Bearer error=late"])
    assert [one.scheme for one in found] == ["basic", "bearer", "bearer"]
    assert (find(found, "resource_metadata"), find(found, "error"), find(found, "realm")) == (PRM, "late", None)
    assert found[0].get("REALM") == "a" and found[0].get("scope") is None


@pytest.mark.parametrize("text, expected", [
    (None, None), ("", None), ("  ", None), ("a", ["a"]), ("b a b", ["b", "a"]), (" a  b ", ["a", "b"]),
    ('a"b c\\d e', ["e"]), ("files:read https://x/y#z", ["files:read", "https://x/y#z"]), ("\u00e4 \x7f a\tb", None),
])
def test_scopes_are_words_each_once(text: Optional[str], expected: Optional[List[str]]) -> None:
    """[RFC 6749 §3.3]"""
    assert scope_list(text) == expected
    params = {} if text is None else {"scope": text}
    assert Challenge("bearer", params).scopes == expected
    assert scopes_wanted([Challenge("basic", {"scope": "no"}), Challenge("dpop", params)]) == expected


def test_any_field_at_all_is_read_in_no_time() -> None:
    """Hostile: whatever comes, an answer comes, and soon."""
    chance = random.Random(6)
    pieces = ["Bearer", "scope", "=", '"', "\\", ",", " ", "\t", "a", "==", "\u20ac", "realm=\"x\"", "\x00"]
    for _ in range(3000):
        text = "".join(chance.choice(pieces) for _ in range(chance.randrange(30)))
        for challenge in parse([text]):
            assert challenge.scheme == challenge.scheme.lower() and all(isinstance(v, str) for v in challenge.params)
    began = time.monotonic()
    for unit in ("a", " ", ",", '"', "\\", "=", 'a="', "a=,", "a ", 'a="b" ', "Bearer ", "a=\\", '"\\'):
        parse([unit * (65536 // len(unit)), 'Bearer a="' + unit * (65536 // len(unit))])
    assert time.monotonic() - began < 5.0


@pytest.mark.parametrize("scheme, params, expected", [
    ("Bearer", [], "Bearer"),
    ("Bearer", [("realm", "a b"), ("error", "x")], 'Bearer realm="a b", error="x"'),
    ("DPoP", [("algs", 'q"\\')], 'DPoP algs="q\\"\\\\"'),
    ("Bearer", [("scope", "")], 'Bearer scope=""'),
])
def test_what_is_written_is_read_again(scheme: str, params: List[Tuple[str, str]], expected: str) -> None:
    assert format_challenge(scheme, params) == expected
    assert parse([expected]) == [(scheme.lower(), dict(params), None)]


def test_every_printable_value_survives() -> None:
    value = "".join(chr(number) for number in range(32, 127))
    assert parse([format_challenge("Bearer", [("realm", value)])])[0].params == {"realm": value}


@pytest.mark.parametrize("scheme, params", [
    ("", []), ("Bea rer", []), ("Bearer\r\nX: y", []), ("Bearer", [("a b", "x")]), ("Bearer", [("", "x")]),
    ("Bearer", [("a", "x\r\nSet-Cookie: y")]), ("Bearer", [("a", "x\n")]), ("Bearer", [("a", "\x00")]),
    ("Bearer", [("a", "\x7f")]), ("Bearer", [("a", "\t")]), ("Bearer", [("a", "\u00e4")]), ("Bearer\n", []),
])
def test_what_a_field_cannot_carry_is_refused(scheme: str, params: Any) -> None:
    with pytest.raises(ValueError, match="challenge"):
        format_challenge(scheme, params)
