"""The syntax of URIs, and what stands above one."""
import random

import pytest

from mcp_ref.jsonschema.formats import FORMATS
from mcp_ref.protocol.uris import containers, fault

RIGHT = [
    "file:///a/b.txt", "https://example.com/x?q=1&r=2#top", "config://app", "urn:isbn:0451450523", "x:", "x:/",
    "a+b-c.d:e",
    "git://user:pass@host:22/~me/repo.git", "http://[::1]:8080/", "http://[2001:db8::7]/c=GB?objectClass?one",
    "http://[v7.future:1]/", "file:///a%20b/%C3%A9%00", "x://h:/", "mailto:John.Doe@example.com", "tel:+1-816-555-1212",
    "x://?q", "x://#f", "x:a:b:c", "test://a(b)*'!$&,;=", "X://UPPER",
]
WRONG = {
    "": "empty",
    "notes.txt": "scheme",
    "/etc/passwd": "scheme",
    "//host/path": "scheme",
    "1x:y": "scheme",
    "-x:y": "scheme",
    "a_b:c": "scheme",
    ":x": "scheme",
    "?a:b": "scheme",
    "file:///a b": "' ' at 9",
    "file:///\u00e9": "\\xe9",
    "file:///\U0001f600": "\\U0001f600",
    "file:///\ud800": "\\ud800",
    "file:///a\x00b": "\\x00",
    "file:///a\nb": "\\n",
    "file:///a\r\nHost: x": "\\r",
    "file:///a\x7f": "\\x7f",
    "\tfile:///a": "\\t",
    "file:///a\u2028": "\\u2028",
    "file:///a\\b": "\\\\",
    "C:\\windows": "\\\\",
    "x://{name}": "{",
    "x:<y>": "<",
    'x:"y"': '"',
    "x:a^b": "^",
    "x:a`b": "`",
    "x:a|b": "|",
    "x:%": "percent sign at 2",
    "x:%2": "percent sign",
    "x:%2g": "percent sign",
    "x:%%41": "percent sign",
    "x:a#b#c": "two fragments",
    "x:[a]": "'['",
    "x://h/[a]": "'['",
    "x://h/?]": "']'",
    "x://h/#[": "'['",
    "http://[::1": "address",
    "http://[]/": "address",
    "http://[1.2.3.4]/": "address",
    "http://[::1%25eth0]/": "address",
    "http://[::1]x/": "address",
    "http://a[::1]/": "address",
    "http://[v.x]/": "address",
    "http://h:80a/": "port",
    "http://h:-1/": "port",
    "http://a@b@c/": "user information",
    "http://[@c/": "user information",
}


@pytest.mark.parametrize("uri", RIGHT)
def test_what_is_a_uri_is_one(uri):
    """[RFC 3986 §3]"""
    assert fault(uri, 1000) is None and FORMATS["uri"](uri)


@pytest.mark.parametrize("text", list(WRONG), ids=ascii)
def test_what_is_none_is_told_in_one_ascii_line(text):
    """[RFC 3986 §3]"""
    found = fault(text, 1000)
    assert found is not None and WRONG[text] in found and not FORMATS["uri"](text)
    assert found.isascii() and found.isprintable() and len(found) < 100


def test_the_length_is_limited_by_name():
    assert fault("x:" + "a" * 98, 100) is None
    assert fault("x:" + "a" * 99, 100) == "its 101 characters exceed max_uri_length (100)"
    assert fault("x:" + "\x00" * 10_000_000, 100) is not None


def test_it_agrees_with_the_uri_format_of_json_schema_on_random_texts():
    pieces = ["a", "1", ":", "/", "//", "?", "#", "[", "]", "@", "%", "%4", "%41", "x:", "[::1]", "[v1.a]", " ", "\n",
              "\u00e9", "-", ".", "+", "!", "80", "{", "[::g]"]
    chosen, rights = random.Random(20251125), 0
    for _ in range(20_000):
        text = chosen.choice(["", "x:", "x://"]) + "".join(chosen.choices(pieces, k=chosen.randrange(8)))
        assert (fault(text, 1000) is None) == FORMATS["uri"](text), text
        rights += FORMATS["uri"](text)
    assert 2_000 < rights < 18_000


@pytest.mark.parametrize("uri, above", [
    ("file:///a/b.txt", ["file:///a/", "file:///"]),
    ("file:///a/b/", ["file:///a/", "file:///"]),
    ("file:///", []),
    ("config://app", []),
    ("config://app/", []),
    ("config://app/x", ["config://app/"]),
    ("x:a/b/c", ["x:a/b/", "x:a/"]),
    ("x:/a", ["x:/"]),
    ("x://h/a?q=/b/c", ["x://h/"]),
    ("x://h?q=/b/c", []),
    ("x://h/a#/b/c", ["x://h/"]),
    ("urn:a:b", []),
])
def test_containers_are_what_a_uri_lies_below(uri, above):
    """[RFC 3986 §1.2.3]"""
    assert list(containers(uri)) == above
