"""Forms: what keeps to the subset in each revision, what an answer must fit, which modes a capability means."""
import pytest

from mcp_ref.errors import LocalProtocolError
from mcp_ref.messages.elicitation import (
    BooleanSchema, EnumOption, NumberSchema, RequestedSchema, StringSchema, TitledMultiSelectEnumSchema, TitledItems,
)
from mcp_ref.protocol.elicitation import FormError, as_json, modes, read_form
from mcp_ref.revisions import HANDSHAKE_REVISIONS, REVISIONS, revision

ASKING = [r.name for r in REVISIONS if r.elicitation]
NEW = [r.name for r in REVISIONS if r.elicitation_enum_schemas]
OLD = "2025-06-18"

TITLED = [{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green"}]

FIELDS = {
    "text": {"type": "string"},
    "text with all": {
        "type": "string", "title": "T", "description": "D", "minLength": 1, "maxLength": 9, "format": "email"},
    "text with pattern": {"type": "string", "pattern": "^[a-z]+$"},
    "text that may be empty": {"type": "string", "minLength": 0, "default": ""},
    "text that has to be empty": {"type": "string", "minLength": 0, "maxLength": 0},
    "text of one length": {"type": "string", "minLength": 4, "maxLength": 4},
    "number": {"type": "number", "minimum": 0.5, "maximum": 9, "title": "T", "description": "D"},
    "integer": {"type": "integer", "minimum": 0, "maximum": 9},
    "boolean": {"type": "boolean", "default": False, "title": "T", "description": "D"},
    "enum": {"type": "string", "enum": ["a", "b"], "title": "T", "description": "D"},
    "enum with names": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
}
"""Fields that every revision with forms has."""
FORMATS = ("email", "uri", "date", "date-time")
FIELDS.update({"format %s" % name: {"type": "string", "format": name} for name in FORMATS})

NEW_FIELDS = {
    "titled": {"type": "string", "oneOf": TITLED, "default": "#f00"},
    "several": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1, "maxItems": 2},
    "several, titled": {"type": "array", "items": {"anyOf": TITLED}, "default": ["#f00"], "title": "T"},
    "none at all": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 0, "maxItems": 0},
    "all of them": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 2, "maxItems": 2},
}

OUTSIDE = [
    ("no type", {}),
    ("a title alone", {"title": "x"}),
    ("object", {"type": "object"}),
    ("nested object", {"type": "object", "properties": {"a": {"type": "string"}}}),
    ("null", {"type": "null"}),
    ("array of anything", {"type": "array"}),
    ("array of texts", {"type": "array", "items": {"type": "string"}}),
    ("array of objects", {"type": "array", "items": {"type": "object", "properties": {}}}),
    ("array of arrays", {"type": "array", "items": {"type": "array", "items": {"enum": ["a"]}}}),
    ("array of numbers", {"type": "array", "items": {"type": "number", "enum": [1]}}),
    ("tuple", {"type": "array", "prefixItems": [{"type": "string"}]}),
    ("several types", {"type": ["string", "null"]}),
    ("unknown type", {"type": "colour"}),
    ("type of another type", {"type": 3}),
    ("enum of numbers", {"type": "string", "enum": [1, 2]}),
    ("enum with null", {"type": "string", "enum": ["a", None]}),
    ("enum of a number", {"type": "number", "enum": ["a"]}),
    ("enum that is no list", {"type": "string", "enum": "ab"}),
    ("names for numbers", {"type": "string", "enum": ["a"], "enumNames": [1]}),
    ("too few names", {"type": "string", "enum": ["a", "b"], "enumNames": ["A"]}),
    ("too many names", {"type": "string", "enum": ["a"], "enumNames": ["A", "B"]}),
    ("option without title", {"type": "string", "oneOf": [{"const": "a"}]}),
    ("option without const", {"type": "string", "oneOf": [{"title": "a"}]}),
    ("option with a schema", {"type": "string", "oneOf": [{"const": "a", "title": "A", "properties": {}}]}),
    ("options that are schemas", {"type": "string", "oneOf": [{"type": "string"}]}),
    ("anyOf with null", {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    ("anyOf beside the type", {"type": "string", "anyOf": [{"minLength": 1}]}),
    ("reference", {"$ref": "#/$defs/a"}),
    ("reference beside the type", {"type": "string", "$ref": "#"}),
    ("allOf", {"type": "number", "allOf": [{"minimum": 1}]}),
    ("not", {"type": "boolean", "not": {"const": True}}),
    ("if", {"type": "string", "if": {"const": "a"}}),
    ("unknown format", {"type": "string", "format": "password"}),
    ("length of another type", {"type": "string", "minLength": "1"}),
    ("length that is no whole number", {"type": "string", "maxLength": 1.5}),
    ("bound of another type", {"type": "number", "minimum": "1"}),
    ("title of another type", {"type": "string", "title": 3}),
    ("null title", {"type": "string", "title": None}),
    ("broken pattern", {"type": "string", "pattern": "("}),
    ("negative length", {"type": "string", "minLength": -1}),
    ("negative length at most", {"type": "string", "maxLength": -1}),
    ("default of another type", {"type": "boolean", "default": "no"}),
    ("no object", "string"),
    ("true", True),
    ("a list", []),
]

TOP = [
    ("no object", 3),
    ("null", None),
    ("a list", []),
    ("nothing", {}),
    ("no properties", {"type": "object"}),
    ("another type", {"type": "array", "properties": {}}),
    ("no type", {"properties": {}}),
    ("properties that are a list", {"type": "object", "properties": []}),
    ("required that is no list", {"type": "object", "properties": {"a": {"type": "string"}}, "required": "a"}),
    ("required of numbers", {"type": "object", "properties": {"a": {"type": "string"}}, "required": [1]}),
    ("required without a field", {"type": "object", "properties": {}, "required": ["a"]}),
    ("allOf", {"type": "object", "properties": {}, "allOf": []}),
    ("reference", {"type": "object", "properties": {}, "$ref": "#/x"}),
    ("pattern properties", {"type": "object", "properties": {}, "patternProperties": {}}),
    ("schemas for other names", {"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}),
]

ODD = [
    ("empty enum", {"type": "string", "enum": []}),
    ("the same value twice", {"type": "string", "enum": ["a", "a"]}),
    ("the same option twice", {"type": "string", "oneOf": [TITLED[0], TITLED[0]]}),
    ("crossed lengths", {"type": "string", "minLength": 5, "maxLength": 4}),
    ("crossed bounds", {"type": "number", "minimum": 5, "maximum": 4}),
    ("crossed counts",
     {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 2, "maxItems": 1}),
    ("more than there are", {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 3}),
    ("default outside the choice", {"type": "string", "enum": ["a"], "default": "b"}),
    ("default outside the bounds", {"type": "integer", "maximum": 1, "default": 2}),
    ("default that is no date", {"type": "string", "format": "date", "default": "2025-02-30"}),
    ("default with too much", {"type": "array", "items": {"anyOf": TITLED}, "default": ["#f00", "#00f"]}),
    ("keyword of JSON Schema", {"type": "string", "const": "a"}),
    ("keyword of another kind", {"type": "boolean", "minLength": 1}),
    ("multiple", {"type": "integer", "multipleOf": 2}),
    ("keyword of nobody", {"type": "string", "x-widget": "password"}),
    ("keyword in an option", {"type": "string", "oneOf": [dict(TITLED[0], description="x")]}),
    ("keyword in items", {"type": "array", "items": {"type": "string", "enum": ["a"], "title": "x"}}),
]
"""What a sender is refused, and a receiver bears with."""


def form(field):
    return {"type": "object", "properties": {"f": field}}


def cases(table):
    return pytest.mark.parametrize("schema", [row[1] for row in table], ids=[row[0] for row in table])


@pytest.mark.parametrize("name", ASKING)
@pytest.mark.parametrize("sending", [False, True], ids=["receiving", "sending"])
@cases(list(FIELDS.items()))
def test_a_form_may_have_these_fields_in_every_revision(schema, sending, name):
    """[2025-06-18 client/elicitation §Supported Schema Types], [2025-11-25.. client/elicitation §Requested Schema]"""
    read = read_form(form(schema), revision(name), sending)
    assert read.schema == form(schema) and list(read.message.properties) == ["f"]


@pytest.mark.parametrize("sending", [False, True], ids=["receiving", "sending"])
@cases(list(NEW_FIELDS.items()))
def test_titled_and_multiple_choices_exist_since_2025_11_25(schema, sending):
    """[2025-11-25.. client/elicitation §Requested Schema]"""
    for name in NEW:
        assert read_form(form(schema), revision(name), sending).schema == form(schema)
    with pytest.raises(FormError, match="properties.f.*revision 2025-06-18 has no"):
        read_form(form(schema), revision(OLD), sending)


@pytest.mark.parametrize("name", ASKING)
@pytest.mark.parametrize("sending", [False, True], ids=["receiving", "sending"])
@cases(OUTSIDE)
def test_a_field_outside_the_subset_is_refused_in_both_directions(schema, sending, name):
    with pytest.raises(FormError) as caught:
        read_form(form(schema), revision(name), sending, "asked")
    assert "properties" in str(caught.value) and "f" in str(caught.value), caught.value
    assert isinstance(caught.value, LocalProtocolError) and isinstance(caught.value, ValueError)


@pytest.mark.parametrize("name", ASKING)
@pytest.mark.parametrize("sending", [False, True], ids=["receiving", "sending"])
@cases(TOP)
def test_a_form_that_is_no_flat_object_is_refused_in_both_directions(schema, sending, name):
    with pytest.raises(FormError):
        read_form(schema, revision(name), sending)


@cases(ODD)
def test_what_nobody_could_answer_is_refused_where_it_is_sent_and_borne_where_it_arrives(schema):
    newest = HANDSHAKE_REVISIONS[-1]
    with pytest.raises(FormError, match=r"asked\.properties\.f"):
        read_form(form(schema), newest, True, "asked")
    assert read_form(form(schema), newest).schema == form(schema)


@pytest.mark.parametrize("name", ASKING)
def test_a_keyword_that_describes_the_whole_form_is_refused_where_it_is_sent_and_borne_where_it_arrives(name):
    schema = dict(form({"type": "string"}), title="Form", additionalProperties=True)
    with pytest.raises(FormError, match="keyword title"):
        read_form(schema, revision(name), True)
    assert read_form(schema, revision(name)).message.extra


@pytest.mark.parametrize("name", ASKING)
def test_a_sender_may_say_that_the_form_is_closed_which_it_is_anyway(name):
    schema = dict(form({"type": "string"}), additionalProperties=False)
    read = read_form(schema, revision(name), True)
    assert read.schema == form({"type": "string"}) and not read.message.extra
    assert schema["additionalProperties"] is False, "the author's own schema was changed"


def test_a_dialect_that_is_not_known_is_refused():
    schema = dict(form({"type": "string"}), **{"$schema": "https://example.com/mine"})
    with pytest.raises(FormError, match="unsupported schema dialect"):
        read_form(schema, HANDSHAKE_REVISIONS[-1])


@pytest.mark.parametrize("dialect", ["http://json-schema.org/draft-07/schema#",
                                     "https://json-schema.org/draft/2020-12/schema"])
def test_the_known_dialects_are_not_refused(dialect):
    read = read_form(dict(form({"type": "string"}), **{"$schema": dialect}), HANDSHAKE_REVISIONS[-1], True)
    assert read.message.dialect == dialect and read.problems({"f": 1})


# --- Answers ----------------------------------------------------------------------------------------------------------

ANSWERS = [
    ({"type": "string"}, ["", "x", "\u20ac" * 1000], [1, True, None, [], {}, 1.5]),
    ({"type": "string", "minLength": 2, "maxLength": 3}, ["ab", "abc"], ["a", "abcd"]),
    ({"type": "string", "pattern": "^[a-z]+$"}, ["ab"], ["a1", ""]),
    ({"type": "string", "format": "email"}, ["a@example.com"], ["a", "a@", "@b", "a b@example.com"]),
    ({"type": "string", "format": "uri"}, ["https://example.com/x", "urn:a:b"], ["x", "//a", "a b:"]),
    ({"type": "string", "format": "date"}, ["2024-02-29"], ["2023-02-29", "29.2.2024", "2024-2-9", ""]),
    ({"type": "string", "format": "date-time"}, ["2024-02-29T01:02:03Z"], ["2024-02-29", "2024-02-29T25:00:00Z"]),
    ({"type": "number", "minimum": 1, "maximum": 2}, [1, 2, 1.5], [0, 3, "1", True, float("1e300")]),
    ({"type": "integer"}, [0, -5, 3.0], [1.5, "1", False]),
    ({"type": "boolean"}, [True, False], [0, 1, "true", None]),
    ({"type": "string", "enum": ["a", "b"]}, ["a", "b"], ["A", "", "c", 0, ["a"]]),
    ({"type": "string", "enum": ["a"], "enumNames": ["Ay"]}, ["a"], ["Ay"]),
    ({"type": "string", "oneOf": TITLED}, ["#f00"], ["Red", "#00f"]),
    ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1, "maxItems": 2},
     [["a"], ["a", "b"]], [[], ["a", "b", "a"], ["c"], "a", [["a"]]]),
    ({"type": "array", "items": {"anyOf": TITLED}}, [[], ["#f00", "#0f0"]], [["Red"], ["#f00", 3], {}]),
]


@pytest.mark.parametrize("schema, good, bad", ANSWERS)
def test_an_answer_fits_or_the_field_and_the_rule_are_named(schema, good, bad):
    read = read_form(form(schema), HANDSHAKE_REVISIONS[-1], True)
    assert [value for value in good if read.problems({"f": value})] == []
    assert [value for value in bad if not read.problems({"f": value})] == []
    assert all(read.problems({"f": value})[0].startswith(("f: ", "f[")) for value in bad)


@pytest.mark.parametrize("schema, good, bad", [row for row in ANSWERS if "pattern" not in row[0]])
def test_a_problem_never_quotes_what_the_user_entered(schema, good, bad):
    read = read_form(form(schema), HANDSHAKE_REVISIONS[-1])
    found = read.problems({"f": "s3cret"}) + read.problems({"f": ["s3cret", "s3cret", "s3cret"]})
    assert found and "s3cret" not in " ".join(found)


def test_what_is_required_must_be_there_and_what_was_not_asked_for_is_told():
    read = read_form({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                      "required": ["a"]}, HANDSHAKE_REVISIONS[-1])
    assert read.problems({"a": ""}) == [] and read.problems({"a": "", "b": ""}) == []
    assert "a" in read.problems({"b": ""})[0]
    assert read.unasked({"a": "", "c": 1, "": 2}) == ["c", ""]


def test_problems_are_few_and_short_whatever_is_wrong():
    properties = {"f%d" % n: {"type": "string", "enum": ["x" * 1000]} for n in range(50)}
    read = read_form({"type": "object", "properties": properties}, HANDSHAKE_REVISIONS[-1])
    found = read.problems({name: 1 for name in properties})
    assert 1 <= len(found) <= 5 and max(map(len, found)) < 200


# --- Defaults ---------------------------------------------------------------------------------------------------------

DEFAULTS = [
    ({"type": "string", "default": "x"}, "x"),
    ({"type": "number", "default": 1.5}, 1.5),
    ({"type": "integer", "default": 0}, 0),
    ({"type": "string", "enum": ["a", "b"], "default": "b"}, "b"),
    ({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"], "default": "b"}, "b"),
]


@pytest.mark.parametrize("name", ASKING)
@pytest.mark.parametrize("schema, default", DEFAULTS)
def test_only_a_boolean_has_a_default_in_2025_06_18_and_every_field_since(schema, default, name):
    """[2025-06-18 client/elicitation §Supported Schema Types], [2025-11-25.. client/elicitation §Requested Schema]"""
    read = read_form(form(schema), revision(name))
    assert read.defaults(revision(name)) == ({} if name == OLD else {"f": default})
    assert read.defaults() == {"f": default}


@pytest.mark.parametrize("name", ASKING)
@pytest.mark.parametrize("default", [True, False])
def test_a_boolean_has_a_default_in_every_revision(default, name):
    read = read_form(form({"type": "boolean", "default": default}), revision(name))
    assert read.defaults(revision(name)) == {"f": default}


@pytest.mark.parametrize("schema, default", [(NEW_FIELDS["titled"], "#f00"), (NEW_FIELDS["several, titled"], ["#f00"])])
def test_choices_of_2025_11_25_have_defaults(schema, default):
    for name in NEW:
        assert read_form(form(schema), revision(name)).defaults(revision(name)) == {"f": default}


def test_a_default_that_arrives_and_does_not_fit_its_own_field_is_not_used():
    read = read_form(form({"type": "string", "minLength": 1, "default": ""}), HANDSHAKE_REVISIONS[-1])
    assert read.defaults(HANDSHAKE_REVISIONS[-1]) == {}


# --- Messages ---------------------------------------------------------------------------------------------------------

def test_a_form_made_of_messages_is_checked_like_any_other():
    several = TitledMultiSelectEnumSchema(items=TitledItems(any_of=[EnumOption("a", "A")]), min_items=1)
    made = RequestedSchema(
        properties={
            "t": StringSchema(format="email"), "n": NumberSchema("integer"), "b": BooleanSchema(), "s": several},
        required=["t"])
    schema = as_json(made, HANDSHAKE_REVISIONS[-1])
    read = read_form(schema, HANDSHAKE_REVISIONS[-1], True)
    assert read.problems({"t": "a@example.com", "s": ["a"]}) == [] and read.message == made
    with pytest.raises(FormError, match="no field"):
        read_form(as_json(RequestedSchema(properties={}, required=["x"]), HANDSHAKE_REVISIONS[-1]),
                  HANDSHAKE_REVISIONS[-1], True)


# --- Modes ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("capability, expected", [
    (None, ()),
    ({}, ("form",)),
    ({"form": {}}, ("form",)),
    ({"url": {}}, ("url",)),
    ({"form": {}, "url": {}}, ("form", "url")),
    ({"url": {}, "form": {"x": 1}, "y": {}}, ("form", "url")),
    ({"other": {}}, ("form",)),
    ({"form": {}, "url": None}, ("form",)),
    ({"form": None}, ("form",)),
    ({"form": None, "url": {}}, ("url",)),
    ({"form": False, "url": False}, ("form",)),
    ("form", ()),
    (True, ()),
    ([], ()),
])
def test_modes_of_a_capability(capability, expected):
    """[2025-11-25.. client/elicitation §Capabilities]"""
    assert all(modes(capability, revision(name)) == expected for name in NEW)
    old = tuple(mode for mode in expected if mode == "form")
    assert modes(capability, revision(OLD)) == old
    assert modes(capability, revision("2025-03-26")) == modes(capability, revision("2024-11-05")) == ()


@pytest.mark.parametrize("schema", [
    {"type": "string", "enum": [], "enumNames": ["x"]}, {"type": "string", "properties": {}}, {"type": "null"},
    {"type": "array", "items": {"type": "string", "enum": ["a"], "properties": {}}},
])
def test_a_refusal_is_one_printable_line_whatever_the_field_is_called(schema):
    """The server chose the name, and the text goes to a log and into an answer."""
    with pytest.raises(FormError) as caught:
        read_form({"type": "object", "properties": {"\x1b[2J\r\n\u2028": schema}}, REVISIONS[3])
    assert str(caught.value).isprintable()
