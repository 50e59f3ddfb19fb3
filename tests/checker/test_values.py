"""What is base64, a media type, a URI, and what may have been masked."""
from datetime import datetime

import pytest

from mcp_ref.devtools.checker.values import at, has_mask, has_scheme, instant, is_base64, is_media_type, is_time, short


@pytest.mark.parametrize("text, right", [
    ("", True), ("aGk=", True), ("aA==", True), ("aGkg", True), ("aGkg\r\naGk=\n", True), ("aG k=", True),
    ("aGk", False), ("a===", False), ("====", False), ("aG=k", False), ("aGk-", False), ("aGk_", False),
    ("http://x/y.png", False), ("a\u0000Gk", False),
])
def test_base64(text, right):
    assert is_base64(text) is right


@pytest.mark.parametrize("text, right", [
    ("text/plain", True), ("image/svg+xml; charset=utf-8", True), ("text", False), ("/plain", False), ("a b/c", False),
    ("text/", False),
])
def test_media_type(text, right):
    assert is_media_type(text) is right


@pytest.mark.parametrize("text, right", [
    ("file:///a", True), ("my-app:x", True), ("a+b.c:", True), ("my_app://x", False), ("a b", False), ("1a:x", False),
    ("", False),
])
def test_scheme(text, right):
    assert has_scheme(text) is right


def test_mask_is_found_at_any_depth_and_depth_has_an_end():
    assert has_mask({"a": [{"b": "x ***1a2b3c4d"}]}) and not has_mask({"a": [{"b": "x"}, 3, None]})
    deep = []
    for _ in range(1000):
        deep = [deep]
    assert has_mask(deep)


def test_path_leads_to_the_value_or_nowhere():
    value = {"a": [{"b": 1}]}
    assert at(value, ("a", 0, "b")) == 1
    assert at(value, ("a", 1, "b")) is None and at(value, ("a", "b")) is None and at(3, ("a",)) is None


def test_evidence_is_short_and_can_be_printed():
    assert len(short("x" * 1000)) == 60 and short("\u001b[2J") == "\\x1b[2J" and short(None) == "None"


@pytest.mark.parametrize("text, seconds", [
    ("1970-01-01T00:01:00Z", 60.0), ("1970-01-01T02:01:00+02:00", 60.0), ("19700101T000100.5-0000", 60.5),
    ("1969-12-31t23:31-00:30", 60.0), ("1970-01-01T00:00:60Z", 59.0),
    ("1970-01-01T00:01:00", None), ("1970-02-30T00:01:00Z", None), ("0001-01-01T00:00+14", None),
])
def test_times(text, seconds):
    found = instant(text)
    assert is_time(text) and (found and (found - datetime(1970, 1, 1)).total_seconds()) == seconds


@pytest.mark.parametrize("text", ["", "yesterday", "1970-01-01", "1970-13-01T00:00Z", "1970-01-01T00:00:00Z "])
def test_what_is_no_time(text):
    assert not is_time(text) and instant(text) is None
