"""The formats of 2020-12, when they assert."""
from typing import Any, List, Tuple

import pytest

from mcp_ref.jsonschema import DRAFT_07, validate
from mcp_ref.jsonschema.formats import FORMATS

TABLE: List[Tuple[str, List[str], List[str]]] = [
    ("date", ["2024-02-29", "0000-02-29", "1999-12-31"],
     ["2023-02-29", "1900-02-29", "2024-13-01", "2024-00-10", "2024-1-1", "2024-01-01T", "", "\u0662024-01-01",
      "2024-01-01\n"]),
    ("time", ["08:30:06Z", "08:30:06.283185z", "23:59:60Z", "01:29:60+01:30", "22:59:60-01:00"],
     ["24:00:00Z", "08:60:00Z", "08:30:61Z", "08:30:60Z", "23:59:60+01:00", "08:30:06", "08:30Z", "08:30:06+24:00",
      "08:30:06+1:00"]),
    ("date-time", ["1990-12-31T23:59:60Z", "2024-02-29t08:30:06.5+01:00"],
     ["2024-02-30T08:30:06Z", "2024-02-29 08:30:06Z", "2024-02-29T08:30:06", "2024-02-29"]),
    ("duration", ["P4DT12H30M5S", "P1Y2M3D", "PT0S", "P2W", "P1M", "PT36H"],
     ["P", "PT", "P1Y2W", "P1YT", "P1D2H", "4D", "P1", "P1Y2D", "PT1H5S", "P1.5D", "P-1D", "PT1S\n"]),
    ("email", ["joe.bloggs@example.com", '"joe bloggs"@example.com', "a+b@[127.0.0.1]", "a@[IPv6:::1]", "te~st@x"],
     ["2962", "@example.com", "joe@", ".a@b", "a.@b", "a..b@c", "a@[127.0.0.300]", "a@b@c", "a b@c", "a@-b"]),
    ("idn-email", ["\uc2e4\ub840@\uc2e4\ub840.\ud14c\uc2a4\ud2b8", "a@b", "a@cafe\u0301.example"], ["2962", "@\uc2e4"]),
    ("hostname", ["example.com", "a", "1a", "xn--4gbwdl.xn--wgbh1c", "a" * 63],
     ["", "-a", "a-", "a_b", "a..b", ".a", "a.", "a" * 64, "\u00e9.com", "xn--X", "a--b-", "ab--cd", "a." * 127 + "b"]),
    ("idn-hostname", ["example.com", "\uc2e4\ub840.\ud14c\uc2a4\ud2b8", "l\u00b7l", "\u30fb\u3041",
                      "\u05d0\u05f3\u05d1", "\u0915\u094d\u200d\u0937",
                      # by the conditions of RFC 5893: a label ends in R, EN, AN or a mark; the other in L or EN
                      "\u05d0\u05d1", "\u05d01", "\u0627\u0660", "\u05d0\u05b0", "a.\u05d0", "a1.\u05d0", "1a.b"],
     ["", "a\u00b7l", "\u302ea", "\u30fba", "-a", "a\u0640", "\u0903a", "\u0627\u0660\u06f0", "\u0915\u200d\u0937",
      "\u00c9", "\ud800", "a" * 300, "1\u05d0", "1a.\u05d0", "\u05d0a", "a\u05d0", "\u06271\u0660", "\u05d0-",
      "xn--" + "1\u05d0".encode("punycode").decode("ascii")]),
    ("ipv4", ["0.0.0.0", "255.255.255.255"],
     ["256.0.0.0", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.\u0664", "1.2.3.4 "]),
    ("ipv6", ["::", "::1", "1:2:3:4:5:6:7:8", "::ffff:192.168.0.1"],
     ["1::2::3", "12345::", "::1%eth0", "1:2:3:4:5:6:7", "::1/64", "::ffff:1.2.3.256", "1.2.3.4", ""]),
    ("uri", ["http://foo.bar/?baz=qux#quux", "urn:x:y", "mailto:a@b", "http://[::1]:80/a%20b", "http://[v1.a]/", "a:"],
     ["//foo.bar", "/abc", "\\\\win", "abc", "http:// a", "http://a b", ":// ", "http://[::1", "http://a:b/", "1a:b",
      "http://a/%g1", "http://a/\u00e9", "http://a/\n"]),
    ("uri-reference", ["", "a/b", "//h", "/a?b#c", "#x", "a:b"], ["\\a", "a#b#c", "1:b", "a b", "\u00e9"]),
    ("iri", ["http://\u00e9.example/\u00fc?\u00e4#\u00f6", "http://a/"], ["\u00e9", "http://\ud800/", "/\u00e9"]),
    ("iri-reference", ["\u00e9", "#\u00f6", ""], ["\\\u00e9", "#\u00f6#"]),
    ("uuid", ["2eb8aa08-AA98-11ea-b4aa-73b441d16380", "00000000-0000-0000-0000-000000000000"],
     ["2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08aa9811eab4aa73b441d16380", "2eb8aa08-aa98-11ea-b4aa73b441d16380-",
      "ggb8aa08-aa98-11ea-b4aa-73b441d16380"]),
    ("uri-template", ["http://example.com/{term:1}/{+a,b*}{?q}", "", "a%20b", "{a.b}", "it's/{x}"],
     ["{", "}", "{}", "{a", "{a,}", "{a b}", "{a:0}", "{a:12345}", "%g", "a b", "{^a}"]),
    ("json-pointer", ["", "/", "/a~0b~1c", "//a", "/\n"], ["a", "/~", "/~2", "#/a"]),
    ("relative-json-pointer", ["0", "1/a", "10#", "0/"], ["", "/a", "01", "-1", "0##", "1a", "\u0661"]),
    ("regex", ["^a+$", "(?:a|b){2,3}", ""], ["(", "[z-a]", "a**"]),
]


@pytest.mark.parametrize("name, good, bad", [pytest.param(*row, id=row[0]) for row in TABLE])
def test_format_accepts_and_refuses(name: str, good: List[str], bad: List[str]) -> None:
    schema = {"format": name}
    assert [text for text in good if validate(text, schema, assert_formats=True)] == []
    assert [text for text in bad if not validate(text, schema, assert_formats=True)] == []
    assert not any(validate(text, schema) for text in bad)  # an annotation unless asked


def test_every_format_is_tried_here() -> None:
    assert {row[0] for row in TABLE} == set(FORMATS)


@pytest.mark.parametrize("value", [1, None, ["2024-02-30"], {}])
def test_formats_speak_about_strings_only(value: Any) -> None:
    for name in FORMATS:
        assert not validate(value, {"format": name}, assert_formats=True)


def test_an_unknown_format_refuses_nothing() -> None:
    assert not validate("x", {"format": "colour"}, assert_formats=True)


def test_draft_07_has_formats_too() -> None:
    violation, = validate("x", {"$schema": DRAFT_07, "format": "date"}, assert_formats=True)
    assert str(violation) == '$: must be in the format date, got "x"'


@pytest.mark.parametrize("name", sorted(FORMATS))
@pytest.mark.parametrize("piece", ["a", "1", "-", ".", "a.", "/", "~0", "{a}", "%20", "\u00e9", "\u0660", "\u30fb",
                                   ":", "@a", '"', "(", "[", "\ud800", "P1Y"])
def test_no_format_takes_long_for_a_long_text(name: str, piece: str) -> None:
    """Under the test's own time limit; text of this size in quadratic time would take minutes."""
    validate(piece * 30_000 + "!", {"format": name}, assert_formats=True)
