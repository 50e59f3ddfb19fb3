"""The validator's public functions: dialects, schemas that are wrong, results, and what needs no file system."""
import ast
import doctest
import json
import pathlib
import socket
import subprocess
import sys
import threading
import zipfile
from typing import Any, Dict, List

import pytest

import mcp_ref.jsonschema
from mcp_ref.jsonschema import (
    DRAFT_07, DRAFT_2020_12, InvalidSchema, SchemaBounds, SchemaError, UnresolvedReference, UnsupportedDialect,
    UnsupportedPattern, Violation, check_schema, compile, validate,
)
from tests.support.patience import WAIT
from tests.support.requirements_table import STATELESS, every_revision_of

PACKAGE = pathlib.Path(mcp_ref.jsonschema.__file__).parent
SINCE_2025_11_25 = ["2025-11-25", STATELESS]

# What the two dialects judge differently: a tuple in the manner of each.
TUPLE = {"prefixItems": [{"type": "string"}]}
OLD_TUPLE = {"items": [{"type": "string"}]}


# --- dialects ---------------------------------------------------------------------------------------------------------

@pytest.mark.spec("schema.support-2020-12")
@pytest.mark.parametrize("revision", every_revision_of("schema.support-2020-12"))
def test_a_schema_without_dialect_is_2020_12(revision: str) -> None:
    assert validate([1], TUPLE)
    assert not validate(["a"], TUPLE)
    assert validate({"a": 1}, {"unevaluatedProperties": False})


@pytest.mark.spec("schema.validate-by-dialect", "schema.dialect-explicit")
@pytest.mark.parametrize("revision", SINCE_2025_11_25)
@pytest.mark.parametrize("uri, keyword_counts, old_keyword_counts", [
    (DRAFT_2020_12, True, False),
    (DRAFT_2020_12 + "#", True, False),
    (DRAFT_07, False, True),
    (DRAFT_07 + "#", False, True),
])
def test_a_schema_is_read_by_the_dialect_that_it_declares(
    revision: str, uri: str, keyword_counts: bool, old_keyword_counts: bool
) -> None:
    assert bool(validate([1], {"$schema": uri, **TUPLE})) == keyword_counts
    if old_keyword_counts:
        assert validate([1], {"$schema": uri, **OLD_TUPLE})
    else:
        with pytest.raises(InvalidSchema):
            validate([1], {"$schema": uri, **OLD_TUPLE})
    assert check_schema({"$schema": uri, "type": "any"})


@pytest.mark.spec("schema.unsupported-dialect-error")
@pytest.mark.parametrize("revision", SINCE_2025_11_25)
@pytest.mark.parametrize("uri", [
    "http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema",
    "https://json-schema.org/draft/2019-09/schema", "https://example.com/mine", "", "2020-12",
])
@pytest.mark.parametrize("use", [compile, check_schema])
def test_another_dialect_is_refused_by_name(revision: str, uri: str, use: Any) -> None:
    with pytest.raises(UnsupportedDialect, match="unsupported schema dialect") as caught:
        use({"$schema": uri, "type": "object"})
    assert uri in str(caught.value) and DRAFT_2020_12 in str(caught.value) and DRAFT_07 in str(caught.value)
    assert caught.value.dialect == uri


def test_a_dialect_that_is_no_text_is_an_invalid_schema() -> None:
    with pytest.raises(InvalidSchema, match="#/\\$schema"):
        compile({"$schema": 7})


def test_the_caller_may_choose_the_dialect_of_schemas_that_declare_none() -> None:
    assert validate([1], OLD_TUPLE, default_dialect=DRAFT_07)
    assert not validate([1], TUPLE, default_dialect=DRAFT_07)
    assert validate([1], {"$schema": DRAFT_2020_12, **TUPLE}, default_dialect=DRAFT_07)


VOCABULARY = "https://json-schema.org/draft/2020-12/vocab/"
MINE = "https://example.com/metaschema"


def _metaschema(**members: Any) -> Dict[str, Any]:
    return {MINE: {"$id": MINE, "$schema": DRAFT_2020_12, **members}}


def _vocabularies(*names: str, **others: bool) -> Dict[str, Any]:
    return _metaschema(**{"$vocabulary": {**{VOCABULARY + name: True for name in names}, **others}})


def test_a_custom_metaschema_decides_which_vocabularies_count() -> None:
    schema = {"$schema": MINE, "type": "string", "properties": {"a": False}}
    assert validate(1, schema, _vocabularies("core", "validation"))
    assert not validate({"a": 1}, {**schema, "type": "object"}, _vocabularies("core", "validation"))
    assert not validate(1, schema, _vocabularies("core", "applicator"))
    assert validate({"a": 1}, schema, _vocabularies("core", "applicator"))


def test_a_helper_keyword_of_an_absent_vocabulary_does_not_help() -> None:
    schema = {"$schema": MINE, "contains": {"const": 1}, "minContains": 0}
    assert validate([], schema, _vocabularies("core", "applicator"))
    assert not validate([], schema, _vocabularies("core", "applicator", "validation"))


def test_an_unknown_vocabulary_is_refused_when_required_and_ignored_when_not() -> None:
    with pytest.raises(UnsupportedDialect, match="urn:mine") as caught:
        compile({"$schema": MINE}, _vocabularies("core", **{"urn:mine": True}))
    assert caught.value.dialect == MINE
    assert not validate(1, {"$schema": MINE}, _vocabularies("core", **{"urn:mine": False}))


def test_a_metaschema_without_vocabularies_means_the_dialect_that_it_is_written_in() -> None:
    assert validate([1], {"$schema": MINE, **TUPLE}, _metaschema())
    assert validate([1], {"$schema": MINE, **OLD_TUPLE}, {MINE: {"$schema": DRAFT_07}})
    assert not validate([1], {"$schema": MINE, **TUPLE}, {MINE + "#": {"$schema": DRAFT_07}})
    elsewhere = {"urn:yes": True, "https://example.com/elsewhere": _metaschema()[MINE]}
    assert validate([1], {"$schema": MINE, **TUPLE}, elsewhere)
    with pytest.raises(UnsupportedDialect):
        compile({"$schema": MINE}, {MINE: {"$schema": MINE}})
    with pytest.raises(InvalidSchema, match="vocabulary"):
        compile({"$schema": MINE}, _metaschema(**{"$vocabulary": ["core"]}))
    with pytest.raises(InvalidSchema, match="schema"):
        compile({"$schema": MINE}, {MINE: {"$schema": 7}})


@pytest.mark.parametrize("vocabulary, refuses", [("format-annotation", False), ("format-assertion", True)])
def test_format_asserts_when_the_vocabulary_or_the_caller_says_so(vocabulary: str, refuses: bool) -> None:
    schema = {"$schema": MINE, "format": "ipv4"}
    assert bool(validate("x", schema, _vocabularies("core", vocabulary))) == refuses
    assert validate("x", schema, _vocabularies("core", vocabulary), assert_formats=True)


def test_an_embedded_schema_keeps_its_own_dialect() -> None:
    old = {"$id": "https://example.com/old", "$schema": DRAFT_07, **OLD_TUPLE}
    schema = {"properties": {"old": old, "new": TUPLE}}
    assert [violation.path for violation in validate({"old": [1], "new": [1]}, schema)] == [("old", 0), ("new", 0)]
    assert check_schema(schema) == []
    wrong = {"properties": {"old": {**old, "type": "any"}, "new": {"type": "any"}}}
    assert sorted(violation.path for violation in check_schema(wrong)) == [
        ("properties", "new", "type"), ("properties", "old", "type")]


# --- schemas that are wrong -------------------------------------------------------------------------------------------

# schema, where a validator that meets it says that the fault is, and where `check_schema` says so
BROKEN: List[Any] = [
    (7, "#", ()),
    ({"type": "any"}, "#/type", ("type",)),
    ({"type": []}, "#/type", ("type",)),
    ({"type": ["string", 5]}, "#/type", ("type",)),
    ({"properties": []}, "#/properties", ("properties",)),
    ({"properties": {"a": {"items": [True]}}}, "#/properties/a/items", ("properties", "a", "items")),
    ({"properties": {"a/b": None}}, "#/properties/a~1b", ("properties", "a/b")),
    ({"allOf": []}, "#/allOf", ("allOf",)),
    ({"anyOf": {"type": "string"}}, "#/anyOf", ("anyOf",)),
    ({"required": "a"}, "#/required", ("required",)),
    ({"required": [1]}, "#/required", ("required", 0)),
    ({"dependentRequired": {"a": "b"}}, "#/dependentRequired", ("dependentRequired", "a")),
    ({"minLength": -1}, "#/minLength", ("minLength",)),
    ({"minItems": 1.5}, "#/minItems", ("minItems",)),
    ({"maximum": "3"}, "#/maximum", ("maximum",)),
    ({"maximum": True}, "#/maximum", ("maximum",)),
    ({"multipleOf": 0}, "#/multipleOf", ("multipleOf",)),
    ({"uniqueItems": 1}, "#/uniqueItems", ("uniqueItems",)),
    ({"enum": {}}, "#/enum", ("enum",)),
    ({"not": "x"}, "#/not", ("not",)),
    ({"$ref": 5}, "#/$ref", ("$ref",)),
    ({"$id": 5}, "#/$id", ("$id",)),
    ({"$id": "#here"}, "#/$id", ("$id",)),
    ({"$anchor": 5}, "#/$anchor", ("$anchor",)),
    ({"format": 5}, "#/format", ("format",)),
    ({"contains": True, "minContains": "1"}, "#/minContains", ("minContains",)),
]


@pytest.mark.parametrize("schema, location, path", [pytest.param(*row, id=str(row[0])) for row in BROKEN])
def test_a_broken_schema_is_refused_with_the_place(schema: Any, location: str, path: Any) -> None:
    with pytest.raises(InvalidSchema, match="invalid schema at ") as caught:
        compile(schema)
    assert str(caught.value).startswith("invalid schema at %s: " % location)
    assert path in [violation.path for violation in check_schema(schema)]


@pytest.mark.parametrize("schema", [True, {}, {"type": "string"}, {"$ref": "https://example.com/nowhere"},
                                    {"pattern": "("}, {"x": {"type": 5}}, {"const": {"type": 5}}])
def test_check_schema_judges_the_schema_only_by_its_metaschema(schema: Any) -> None:
    assert check_schema(schema) == []


def test_check_schema_uses_a_custom_metaschema() -> None:
    resources = _metaschema(**{"$dynamicAnchor": "meta", "$ref": DRAFT_2020_12, "required": ["title"]})
    assert [str(violation) for violation in check_schema({"$schema": MINE}, resources)] == [
        '$: missing required property "title"']
    assert check_schema({"$schema": MINE, "title": "t"}, resources) == []
    # The dynamic anchor makes it the metaschema of subschemas too.
    assert [violation.path for violation in check_schema({"$schema": MINE, "title": "t", "not": {}}, resources)] == [
        ("not",)]
    assert check_schema({"$schema": MINE, "title": "t", "type": "any"}, resources) != []


@pytest.mark.parametrize("pattern", ["(", "(a)\\1", "[z-a]"])
@pytest.mark.parametrize("keyword", ["pattern", "patternProperties"])
def test_a_pattern_that_is_not_matched_in_linear_time_is_refused(pattern: str, keyword: str) -> None:
    schema = {"items": {keyword: pattern if keyword == "pattern" else {pattern: True}}}
    with pytest.raises(UnsupportedPattern, match="is refused") as caught:
        compile(schema)
    assert pattern in str(caught.value) and "#/items/" + keyword in str(caught.value)


def test_the_package_never_hands_a_peers_pattern_to_re() -> None:
    """Only `formats`, whose expressions are ours, may use `re`."""
    users = {path.name for path in PACKAGE.glob("*.py") if "re" in _imports(path)}
    assert users <= {"formats.py"}


# --- never the network ------------------------------------------------------------------------------------------------

def _imports(path: pathlib.Path) -> List[str]:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    plain = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return plain + [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]


@pytest.mark.spec("schema.no-network-ref", "schema.ref-opt-in-default-off", "schema.unresolved-ref-reject")
@pytest.mark.parametrize("schema", [
    {"$ref": "https://example.com/schema"},
    {"$ref": "http://127.0.0.1:9/schema#/a"},
    {"$id": "https://example.com/root", "properties": {"a": {"$ref": "other"}}},
    {"$dynamicRef": "https://example.com/schema#meta"},
    {"anyOf": [True, {"$ref": "ftp://example.com/x"}]},
    {"$schema": "https://example.com/dialect"},
    {"$ref": "file:///etc/hostname"},
])
def test_a_network_reference_is_refused_and_never_fetched(schema: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: List[Any] = []
    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, lambda *arguments, **options: asked.append(arguments))
    with pytest.raises((UnresolvedReference, UnsupportedDialect)):
        validate({}, schema)
    assert asked == []


def test_the_package_imports_nothing_that_could_fetch() -> None:
    modules = {name.partition(".")[0] for path in PACKAGE.glob("*.py") for name in _imports(path)}
    assert modules.isdisjoint({"socket", "http", "ssl", "ftplib", "subprocess", "os", "asyncio"})
    assert "urllib.request" not in {name for path in PACKAGE.glob("*.py") for name in _imports(path)}


def test_an_unresolved_reference_names_itself_and_its_place() -> None:
    with pytest.raises(UnresolvedReference, match="nothing is fetched") as caught:
        compile({"properties": {"a": {"$ref": "https://example.com/x#/y"}}})
    assert "https://example.com/x#/y at #/properties/a/$ref" in str(caught.value)
    assert caught.value.reference == "https://example.com/x#/y"


# --- results ----------------------------------------------------------------------------------------------------------

def test_a_violation_is_a_tuple_of_path_schema_path_keyword_and_message() -> None:
    schema = {"properties": {"items": {"items": {"$ref": "#/$defs/n"}}}, "$defs": {"n": {"type": "number"}}}
    violation, = validate({"items": [1, "2"]}, schema)
    assert tuple(violation) == (("items", 1), ("$defs", "n", "type"), "type", "expected number, got string")
    assert violation.where == "$.items[1]" and str(violation) == "$.items[1]: expected number, got string"
    assert violation.about("arguments") == "arguments.items[1]: expected number, got string"


def test_the_schema_path_into_another_document_begins_with_its_uri() -> None:
    uri = "https://example.com/n"
    violation, = validate("2", {"$ref": uri + "#/$defs/n"}, {uri: {"$defs": {"n": {"type": "number"}}}})
    assert violation.schema_path == (uri, "$defs", "n", "type")


@pytest.mark.parametrize("path, shown", [
    ((), "$"), (("a", 0, "b"), "$.a[0].b"), (("a.b",), '$["a.b"]'), (("",), '$[""]'), (("\ud800",), '$["\\ud800"]'),
    (("x" * 100,), '$["%s..."]' % ("x" * 57)), ((0, 10), "$[0][10]"),
])
def test_a_path_is_shown_for_people(path: Any, shown: str) -> None:
    assert Violation(path, (), "type", "m").where == shown


def test_all_violations_are_reported_up_to_the_limit() -> None:
    schema = {"items": {"type": "integer"}, "maxItems": 1}
    assert len(validate(["a", "b"], schema)) == 3
    assert len(validate(["a"] * 1000, schema)) == SchemaBounds().violations
    assert len(validate(["a"] * 1000, schema, bounds=SchemaBounds(violations=3))) == 3
    wide = {"properties": {str(number): False for number in range(500)}}
    assert len(validate({str(number): 1 for number in range(500)}, wide)) == SchemaBounds().violations


def test_errors_are_schema_errors_and_value_errors() -> None:
    for error in (InvalidSchema, UnsupportedDialect, UnresolvedReference, UnsupportedPattern):
        assert issubclass(error, SchemaError) and issubclass(error, ValueError)


def test_an_error_about_a_long_name_stays_short() -> None:
    long = "x" * 100_000
    for schema in ({"$ref": "#" + long}, {"$schema": long}, {"pattern": "(" + long}, {"properties": {long: 5}}):
        with pytest.raises(SchemaError) as caught:
            compile(schema)
        assert len(str(caught.value)) < 1000
    violations = validate({long: 1, "b": long}, {"properties": {"b": {"enum": [long + "y"]}}, "maxProperties": 1,
                                                 "additionalProperties": False})
    assert len(violations) == 3 and all(len(str(violation)) < 500 for violation in violations)


# --- use --------------------------------------------------------------------------------------------------------------

def test_one_validator_serves_many_threads() -> None:
    validator = compile({"items": {"anyOf": [{"type": "integer"}, {"$ref": "#"}]}, "type": "array"})
    good, bad = [1, [2, [3]]] * 50, [1, [2, ["3"]]] * 50
    wrong: List[Any] = []

    def work() -> None:
        for _ in range(20):
            if validator.validate(good) or not validator.validate(bad):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert wrong == [] and not any(thread.is_alive() for thread in threads)


def test_compiling_changes_neither_schema_nor_resources() -> None:
    schema = {"$ref": "https://example.com/a", "$defs": {"b": {"$id": "b", "$anchor": "c"}}}
    resources = {"https://example.com/a": {"type": "string"}}
    before = json.dumps([schema, resources])
    compile(schema, resources)
    assert json.dumps([schema, resources]) == before


def test_the_example_of_the_package_runs() -> None:
    outcome = doctest.testmod(mcp_ref.jsonschema)
    assert outcome.attempted and not outcome.failed


HOSTILE = "\x1b[2J\r\n\u2028\u202e"


@pytest.mark.parametrize("schema", [
    {"properties": {HOSTILE: 1}}, {"$ref": "#/" + HOSTILE}, {"$schema": HOSTILE}, {"pattern": "(" + HOSTILE},
    {"$defs": {HOSTILE: {"pattern": "("}}, "$ref": "#/$defs/" + HOSTILE},
])
def test_the_text_of_an_error_is_one_printable_line(schema: Dict[str, Any]) -> None:
    """A peer wrote the schema; the text may end up in a log or on a terminal."""
    with pytest.raises(SchemaError) as caught:
        compile(schema)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("instance, schema", [
    ("x", {"pattern": "y" + HOSTILE.replace("[", "")}), (HOSTILE, {"const": 1}), (HOSTILE, {"pattern": "^a$"}),
    (1, {"enum": [HOSTILE]}),
    ({}, {"required": [HOSTILE]}), ({HOSTILE: 1}, {"properties": {HOSTILE: False}}),
    ({HOSTILE: 1}, {"additionalProperties": False}), ({HOSTILE: 1}, {"propertyNames": {"maxLength": 1}}),
    ("x", {"pattern": "y" * 5000}),
])
def test_the_text_of_a_violation_is_one_printable_line_of_bounded_length(instance: Any, schema: Dict[str, Any]) -> None:
    found = validate(instance, schema)
    assert found and all(str(each).isprintable() and len(str(each)) < 800 for each in found)


CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
import {name}.jsonschema as jsonschema
late = [name for name in sys.modules if name.startswith("{name}.") and name.rpartition(".")[2] in (
    "formats", "patterns", "builder")]
late += [name for name in ("re", "fractions", "decimal", "urllib", "ipaddress", "unicodedata", "pkgutil")
         if name in sys.modules and name not in before]
assert not late, late
assert jsonschema.check_schema({{"type": "any"}}) and not jsonschema.check_schema({{"pattern": "^a+$"}})
assert jsonschema.check_schema({{"$schema": jsonschema.DRAFT_07, "type": "any"}})
assert jsonschema.validate("x", {{"format": "date"}}, assert_formats=True)
print("fine")
"""


@pytest.mark.parametrize("name", ["mcp_ref", "another_name"])
def test_it_works_from_a_zipapp_under_any_name_and_loads_its_parts_late(tmp_path: pathlib.Path, name: str) -> None:
    archive = tmp_path / "app.zip"
    with zipfile.ZipFile(str(archive), "w") as writer:
        writer.writestr(name + "/__init__.py", "")
        for path in PACKAGE.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                writer.write(str(path), "%s/jsonschema/%s" % (name, path.relative_to(PACKAGE).as_posix()))
    code = "import sys, dataclasses, json; before = set(sys.modules)\n" + CHILD.format(name=name)
    child = subprocess.run([sys.executable, "-I", "-c", code, str(archive)], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=WAIT)
    assert child.stdout.decode().strip() == "fine"
