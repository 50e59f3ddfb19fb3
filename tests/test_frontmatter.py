"""The front matter of skills: what is read, and what is refused with its line."""
import pytest

from mcp_ref.yaml import MAX_CHARACTERS, MAX_DEPTH, YamlError, read_front_matter


def fenced(text):
    return "---\n%s\n---\nrest" % text


# Read by npm `yaml` 2 (core schema) as here: 400,000 made documents were compared, and none differed.
READ = [
    ("a: b", {"a": "b"}),
    ("a: b # comment", {"a": "b"}),
    ("a: b#c", {"a": "b#c"}),
    ("# c\n\na:   b  \n\nc: d", {"a": "b", "c": "d"}),
    ("a:", {"a": None}),
    ("a: ~\nb: null\nc: Null", {"a": None, "b": None, "c": None}),
    ("a: true\nb: False\nc: yes\nd: On", {"a": True, "b": False, "c": "yes", "d": "On"}),
    ("a: 1\nb: -2\nc: +3\nd: 0x1f\ne: 0o17\nf: 010", {"a": 1, "b": -2, "c": 3, "d": 31, "e": 15, "f": 10}),
    ("a: 1.5\nb: .5\nc: 1e3\nd: 1.\ne: 1.2.3", {"a": 1.5, "b": 0.5, "c": 1000, "d": 1, "e": "1.2.3"}),
    ("a: 2024-01-01\nb: 12:30\nc: 1_000", {"a": "2024-01-01", "b": "12:30", "c": "1_000"}),
    ("url: http://x/y?z#f", {"url": "http://x/y?z#f"}),
    ("a: 'it''s'\nb: \"x\\ty \\u00e9 \\U0001F600\"", {"a": "it's", "b": "x\ty \u00e9 \U0001f600"}),
    ("'k: l': v\n\"m\": w\nn : o", {"k: l": "v", "m": "w", "n": "o"}),
    ("a: one\n  two\n\n  three", {"a": "one two\nthree"}),
    ("a:\n  one\n  two", {"a": "one two"}),
    ("a: |\n  x\n   y\n\n  z\nb: c", {"a": "x\n y\n\nz\n", "b": "c"}),
    ("a: |-\n  x\n\nb: |+\n  y\n\nc: d", {"a": "x", "b": "y\n\n", "c": "d"}),
    ("a: >\n  x\n  y\n\n  z\n   more\n  w", {"a": "x y\nz\n more\nw\n"}),
    ("a: |2\n   x\n  y", {"a": " x\ny\n"}),
    ("a: |\nb: c", {"a": "", "b": "c"}),
    ("a:\n  b:\n    c: d\n  e: f", {"a": {"b": {"c": "d"}, "e": "f"}}),
    ("a:\n- b\n-  c: d\n   e: f\n- - g\n  - h\n-\n  i\n-", {"a": ["b", {"c": "d", "e": "f"}, ["g", "h"], "i", None]}),
    ("a:\n  - b\nc: d", {"a": ["b"], "c": "d"}),
    ("a: [b, 'c', 1, [d], {e: f, \"g\":1}, ]", {"a": ["b", "c", 1, ["d"], {"e": "f", "g": 1}]}),
    ("a: {}\nb: []  # none", {"a": {}, "b": []}),
    ("a: -x\nb: ?x\nc: :x", {"a": "-x", "b": "?x", "c": ":x"}),
]
REFUSED = [
    ("a: &x b", 2, "anchors"), ("a: *x", 2, "aliases"), ("a: !!str b", 2, "tags"), ("<<: {a: b}", 2, "merge"),
    ("? a\n: b", 2, "complex"), ("a: b\na: c", 3, "duplicate key"), ("a: {b: c, b: d}", 2, "duplicate key"),
    ("1: a", 2, "is not a string"), ("true: a", 2, "is not a string"), ("{a: {1: b}}", 2, "is not a string"),
    ("a: .inf", 2, "JSON has no"), ("a: .nan", 2, "JSON"), ("a: 9007199254740993", 2, "too large"),
    ("a: 1" + "0" * 5000, 2, "too large"), ("a: 1e999", 2, "too large"), ("a: 'b\n  c'", 2, "not closed"),
    ("a: [b,\n  c]", 2, "on their line"), ("a: [b", 2, "on their line"), ("a: 'b' c", 2, "after the end"),
    ("a: \"\\q\"", 2, "escape"), ("a: \"\\ud83d\\ude00\"", 2, "is not a character"), ("a: b: c", 2, "quotes"),
    ("a: b\n  c: d", 3, "quotes"), ("a: b\n  - c", 3, "item"), ("a: - b", 2, "own"), ("a: %b", 2, "quotes"),
    ("a: @b", 2, "quotes"), ("a: `b", 2, "quotes"), ("a: b # c\n  d", 3, "comment"), ("\ta: b", 2, "tab"),
    ("a:\n\tb: c", 3, "tab"), ("a: b\n\t\nc: d", 3, "tab"), ("a:\n  b: c\n d: e", 4, ""),
    ("  a: b\nc: d", 3, "unexpected indentation"), ("a: b\n  c: d", 3, ""), ("a: |\n   b\n  c", 4, "indented less"),
    ("a: |\n  b\n     \n  c", 4, "blank line"), ("a: |x\n  b", 2, "after | or >"), ("- a", 2, "mapping"),
    ("just text", 2, "mapping"), ("", 2, "empty"), ("# nothing", 2, "empty"), ("a: b\nfoo", 3, "expected KEY"),
    ("a: b\n...", 3, "one document"), ("%YAML 1.2", 2, "directives"), ("a: \x00b", 2, "U+0000"),
    ("a: b\x1b", 2, "U+001B"), ("a: [, b]", 2, "expected"), ("a: {b}", 2, 'expected ": "'), ("a: {b: }", 2, "value"),
    ("a: " + "[" * (MAX_DEPTH + 2), 2, "deeper"),
    ("a:\n" + "\n".join(" " * n + "-" for n in range(1, 40)), 35, "deeper"),
]


@pytest.mark.spec("skills.skill-md-frontmatter")
@pytest.mark.parametrize("text, expected", READ)
def test_what_is_read(text, expected):
    found, rest = read_front_matter(fenced(text))
    assert (found, rest) == (expected, "rest")
    assert [type(value) for value in found.values()] == [type(value) for value in expected.values()]
    assert read_front_matter(fenced(text).replace("\n", "\r\n"))[0] == expected


@pytest.mark.parametrize("text, line, reason", REFUSED)
def test_what_is_refused_with_its_line(text, line, reason):
    with pytest.raises(YamlError) as caught:
        read_front_matter(fenced(text))
    assert caught.value.line == line and reason in caught.value.reason
    assert str(caught.value) == "line %d: %s" % (line, caught.value.reason)


@pytest.mark.parametrize("text", ["", "a: b", "----\na: b\n---\n", " ---\na: b\n---\n", "\ufeff---\na: b\n---\n",
                                  "---\na: b\n", "---\na: b\n --- \n", "---\na: b\n----\n",
                                  "---\na: b" + "\n" * (MAX_CHARACTERS + 5) + "---\n"])
def test_front_matter_stands_between_two_fences(text):
    with pytest.raises(YamlError, match="---"):
        read_front_matter(text)


@pytest.mark.parametrize("made", [
    lambda n: "a: |\n" + "  x\n" * n, lambda n: "a: [" + "b, " * n + "]", lambda n: "a: b\n" + "  c\n" * n,
    lambda n: "a:\n" + "- b\n" * n, lambda n: "".join("k%d: v\n" % i for i in range(n)),
    lambda n: "a: '" + "''" * n + "'",
    lambda n: "a: " + "[" * n, lambda n: "a:\n" + "\n" * n, lambda n: "a: |\n" + "\n" * n, lambda n: "- " * n,
    lambda n: "a: >\n" + "  x\n\n" * n,
])
def test_the_longest_front_matter_of_any_form_is_read_or_refused_soon(made):
    """Within the time limit of a test; a reader that takes quadratic time needs minutes."""
    text = fenced(made(MAX_CHARACTERS // 12))
    try:
        assert list(read_front_matter(text)[0])
    except YamlError as error:
        assert error.line == 2
