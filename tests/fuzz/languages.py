"""Targets for the languages inside messages: URI templates, JSON Schema, and the regular expressions in it."""
import re
from random import Random
from typing import Any, Dict, List, Tuple

from mcp_ref.jsonschema import BoundsExceeded, SchemaBounds, SchemaError, check_schema, compile
from mcp_ref.jsonschema.regex import patterns
from mcp_ref.uritemplate import Template

from .engine import Broken, Target
from .inventing import mutated, name, text, value
from .wire import one_line

# -- URI templates ------------------------------------------------------------------------------

OPERATORS = ("", "+", "#", ".", "/", ";", "?", "&")
LITERALS = ("", "x://", "a", "/", "-", "%41", "?q=1", "#", "..", " ", "{", "}", "%", "\u00e9", "~", "&x=1")


def make_template(random: Random) -> Tuple[str, Dict[str, Any], str]:
    """A template, values for its variables, and a URI that may or may not match it."""
    parts = []
    for _ in range(random.randrange(1, 6)):
        parts.append(random.choice(LITERALS) if random.random() < 0.8 else text(random))
        if random.random() < 0.8:
            names = ",".join(random.choice("abc") + random.choice(("", "", "", "*", ":3", ":0", "%20", "."))
                             for _ in range(random.randrange(1, 4)))
            parts.append("{%s%s}" % (random.choice(OPERATORS), names))
    values = {each: _template_value(random) for each in "abc" if random.random() < 0.8}
    uri = "".join(random.choice(LITERALS + ("1", "2,3", "a=1", "%C3%A9", "%FF")) for _ in range(random.randrange(8)))
    return "".join(parts), values, uri


def _template_value(random: Random) -> Any:
    pick = random.randrange(8)
    if pick == 0:
        return [text(random) for _ in range(random.randrange(3))]
    if pick == 1:
        return {name(random): text(random) for _ in range(random.randrange(3))}
    return random.choice((None, 1, 2.5, True, "x", "a/b", "1,2", text(random)))


def check_template(case: Tuple[str, Dict[str, Any], str]) -> None:
    """Only ValueError with a line of text; what is found in an expansion expands to it again, where it should."""
    template, values, uri = case
    try:
        parsed = Template(template)
        expanded = parsed.expand(values)
    except ValueError as error:
        one_line(str(error), 2000)
        return
    if not expanded.isascii() or re.search(r"[\s\"<>\\^`{|}]|%(?![0-9A-Fa-f]{2})", expanded.replace(template, "")):
        literal = "".join(re.split(r"\{[^{}]*\}", template))
        if not re.search(r"%[0-9a-fA-F]{2}", literal):
            raise Broken("expansion: no URI: %r" % expanded)
    for tried in (uri, expanded):
        try:
            found = parsed.match(tried)
        except ValueError as error:
            one_line(str(error), 2000)
            return
        if found is not None and not set(found) <= set(parsed.variables):
            raise Broken("variables: %r" % (found,))
    plain = all(type(each) is str and each.isalnum() and each.isascii() for each in values.values())
    modified = re.search(r"[:*,]", "".join(re.findall(r"\{.*?\}", template)))
    if plain and set(values) >= set(parsed.variables) and not modified:
        if found is None or parsed.expand(found) != expanded:
            raise Broken("again: %r gives %r, which matches with %r" % (values, expanded, found))


# -- Regular expressions ------------------------------------------------------------------------

ATOMS = ("a", "b", "1", "-", ".", r"\d", r"\w", r"\s", r"\D", "[ab]", "[^a]", "[a-c1]", r"\.", "ab", r"\-", "[]", "[^]",
         "(?:)", r"\b", "^", "$")
ODD = ("(", ")", "[", "]", "{", "}", "*", "+", "?", "\\", "|", "{1", "{,2}", "(?", "(?=", "\\1", "\\u", "\\x",
       "\\p{L}", "\\k<a>", "[z-a]")
SHARED = r"\[ab\]|\[\^a\]|\[a-c1\]|\{0,2\}|\{2\}"  # what both readers take for the same
ALPHABET = "ab1- .c"


def _pattern(random: Random, depth: int) -> str:
    """A pattern of a form that both readers know, and small enough for backtracking."""
    pick = random.randrange(8 if depth > 0 else 4)
    if pick < 4:
        return random.choice(ATOMS)
    inner = _pattern(random, depth - 1)
    if pick == 4:
        return "(%s)%s" % (inner, random.choice(("", "?", "*", "+", "{0,2}", "{2}", "*?", "+?")))
    if pick == 5:
        return "(?:%s|%s)" % (inner, _pattern(random, depth - 1))
    return inner + _pattern(random, depth - 1)


def make_pattern(random: Random) -> Tuple[str, str]:
    """A pattern and a text; some patterns are broken."""
    pattern = _pattern(random, 4)
    if random.random() < 0.3:
        at = random.randrange(len(pattern) + 1)
        pattern = pattern[:at] + random.choice(ODD) + pattern[at:]
    return pattern, "".join(random.choice(ALPHABET) for _ in range(random.randrange(9)))


def check_pattern(case: Tuple[str, str]) -> None:
    """Only PatternRefused; and where `re` reads the pattern in the same way, it finds the same."""
    pattern, subject = case
    try:
        found = patterns.compile(pattern).search(subject)
    except patterns.PatternRefused as error:
        one_line(str(error), 2000)
        return
    if re.search(r"[\[\]{}]|\\[^dwsDb.-]|\(\?[^:]|[*+?]\+", re.sub(SHARED, "", pattern)):
        return  # a form that the two do not share
    try:
        wanted = re.compile(pattern.replace("$", r"\Z"), re.ASCII).search(subject) is not None
    except re.error:
        return
    if bool(found) != wanted:
        raise Broken("search: %s, and re says %s" % (bool(found), wanted))


# -- JSON Schema --------------------------------------------------------------------------------

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
BOUNDS = SchemaBounds(depth=32, subschemas=300, seconds=0.2, violations=20)


def _schema(random: Random, depth: int) -> Any:
    """A schema; most of it in order."""
    if depth <= 0 or random.random() < 0.05:
        return random.random() < 0.8
    found: Dict[str, Any] = {}
    for _ in range(random.randrange(4)):
        keyword, make = random.choice(KEYWORDS)
        found[keyword] = make(random, depth - 1)
    return found


def _schemas(random: Random, depth: int) -> List[Any]:
    return [_schema(random, depth) for _ in range(random.randrange(1, 3))]


def _named(random: Random, depth: int) -> Dict[str, Any]:
    return {name(random): _schema(random, depth) for _ in range(random.randrange(3))}


FORMATS = ("email", "uri", "date", "date-time", "ipv6", "hostname", "regex", "x")
REFERENCES = ("#", "#/$defs/a", "#/properties/name", "#b", "http://x/y", "a", "%")
DIALECTS = ("http://json-schema.org/draft-07/schema#", "x", "https://json-schema.org/draft/2020-12/schema")


def _number(random: Random, depth: int) -> int:
    return random.randrange(3)


def _defined(random: Random, depth: int) -> Dict[str, Any]:
    return {"a": _schema(random, depth), "b": {"$anchor": "b"}}


KEYWORDS: Any = (
    ("type", lambda random, depth: random.choice(TYPES)), ("type", lambda random, depth: random.sample(TYPES, 2)),
    ("properties", _named), ("patternProperties", lambda random, depth: {_pattern(random, 2): _schema(random, depth)}),
    ("additionalProperties", _schema), ("propertyNames", _schema), ("unevaluatedProperties", _schema),
    ("required", lambda random, depth: [name(random)]), ("minProperties", _number), ("items", _schema),
    ("prefixItems", _schemas), ("contains", _schema), ("unevaluatedItems", _schema), ("minContains", _number),
    ("uniqueItems", lambda random, depth: True), ("maxItems", _number), ("allOf", _schemas), ("anyOf", _schemas),
    ("oneOf", _schemas), ("not", _schema), ("if", _schema), ("then", _schema), ("else", _schema),
    ("dependentSchemas", _named), ("dependentRequired", lambda random, depth: {name(random): [name(random)]}),
    ("enum", lambda random, depth: [value(random, 1), value(random, 1)]),
    ("const", lambda random, depth: value(random, 1)),
    ("minimum", lambda random, depth: random.choice((0, -1, 1.5, 10 ** 30))),
    ("multipleOf", lambda random, depth: random.choice((1, 0.1, 1e-300, 7, 0))), ("minLength", _number),
    ("pattern", lambda random, depth: _pattern(random, 3)), ("format", lambda random, depth: random.choice(FORMATS)),
    ("$ref", lambda random, depth: random.choice(REFERENCES)), ("$defs", _defined), ("definitions", _defined),
    ("$dynamicRef", lambda random, depth: "#b"), ("$id", lambda random, depth: random.choice(("http://x/y", "z", "#"))),
    ("$schema", lambda random, depth: random.choice(DIALECTS)), ("dependencies", _named),
    ("default", lambda random, depth: value(random, 1)), ("title", lambda random, depth: text(random)),
)


def make_schema(random: Random) -> Tuple[Any, Any]:
    """A schema and an instance."""
    schema = _schema(random, 4)
    if random.random() < 0.4:
        schema = mutated(random, schema, random.randrange(1, 3))
    return schema, value(random, 3)


def check_validation(case: Tuple[Any, Any]) -> None:
    """Only `SchemaError`, in the time that the bounds allow; the two verdicts agree, and each violation is a line."""
    schema, instance = case
    try:
        wrong = check_schema(schema, bounds=BOUNDS)
    except SchemaError as error:
        one_line(str(error), 2000)
        return
    for found in wrong:
        one_line(str(found), 2000)
    for formats in (False, True):
        try:
            validator = compile(schema, bounds=BOUNDS, assert_formats=formats)
        except SchemaError as error:
            one_line(str(error), 2000)
            continue
        try:
            violations = validator.validate(instance)
            valid = validator.is_valid(instance)
        except BoundsExceeded as error:
            one_line(str(error), 2000)
            continue
        if valid != (not violations):
            raise Broken("verdicts: is_valid %s, violations %r" % (valid, violations))
        for found in violations:
            one_line(str(found), 2000)


TARGETS = (
    Target("templates", make_template, check_template),
    Target("patterns", make_pattern, check_pattern),
    Target("schemas", make_schema, check_validation),
)
