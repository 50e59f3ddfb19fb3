"""Fields of the body in header fields: what a schema may ask for, how values are written, and when the two agree."""
import base64
import itertools

import pytest

from mcp_ref.errors import LocalProtocolError
from mcp_ref.jsonschema.dialect import DIALECTS
from mcp_ref.protocol.envelope import VERSION
from mcp_ref.protocol.streamable_http import mirrored
from mcp_ref.protocol.streamable_http.mirrored import (
    HEADER, SAFE, Mirrored, annotations, decode_value, encode_value, fault, name_of, param_headers, same,
)
from mcp_ref.streamable.client.posts import fields_of

REGION = [Mirrored("Region", ("region",), "string")]


def schema(inner, name="a"):
    return {"type": "object", "properties": {name: inner}}


def asks(kind="string", name="Region", **more):
    return dict({"type": kind, HEADER: name}, **more)


# --- What a schema may ask for ----------------------------------------------------------------------------------------

@pytest.mark.spec("http.param-extract")
def test_annotations_are_found_at_every_depth_of_properties_and_in_order():
    inner = {"properties": {"b": asks("integer", "B"), "c": {"properties": {"d": asks("boolean", "D")}}}}
    found = annotations({"properties": {"x": asks(name="X"), "a": inner, "plain": {"type": "number"}}})
    assert found == [Mirrored("X", ("x",), "string"), Mirrored("B", ("a", "b"), "integer"),
                     Mirrored("D", ("a", "c", "d"), "boolean")]


def test_a_schema_that_asks_for_nothing_has_none():
    for plain in ({}, {"type": "object"}, schema({"type": "string"}), True, False, {"properties": {"a": True}},
                  {"properties": []}, {"properties": {"a": []}}, None, 3):
        assert annotations(plain) == []


@pytest.mark.parametrize("data", [
    {"const": {HEADER: "no"}}, {"enum": [{HEADER: ""}]}, {"default": {HEADER: 3}}, {"examples": [{HEADER: "a b"}]},
    {"x-mine": {HEADER: "no"}}, {"required": [HEADER]}, {"properties": {HEADER: {"type": "string"}}},
    {"dependentRequired": {HEADER: []}}, {"title": HEADER}])
def test_what_is_data_asks_for_nothing(data):
    """A property may be called x-mcp-header, and a default may have such a member."""
    assert annotations(schema(dict(data, type="object"))) == []


LEGAL_NAMES = ["R", "Region", "a-b_c.d", "!#$%&'*+-.^_`|~", "0", "X" * 300]
ILLEGAL_NAMES = ["", " ", "a b", " a", "a ", "a:b", "a(b)", "a/b", "a=b", "a@b", 'a"b', "a\\b", "a,b", "a;b", "{a}",
                 "a\tb", "a\rb", "a\nb", "a\r\nX-Evil: 1", "a\n", "\0", "\x7f", "\x1f", "é", "世界", "a\u2028b",
                 "a\ud800"]


@pytest.mark.parametrize("name", LEGAL_NAMES)
def test_legal_names(name):
    """[2026-07-28 basic/transports/streamable-http §Schema Extension] MUST"""
    assert annotations(schema(asks(name=name))) == [Mirrored(name, ("a",), "string")]


@pytest.mark.parametrize("name", ILLEGAL_NAMES)
def test_illegal_names(name):
    """[2026-07-28 basic/transports/streamable-http §Schema Extension] MUST"""
    with pytest.raises(ValueError, match="x-mcp-header at properties.a is ") as caught:
        annotations(schema(asks(name=name)))
    assert ("is empty" in str(caught.value)) == (name == "") and str(caught.value).isascii()


@pytest.mark.parametrize("name", [None, 3, True, ["A"], {"name": "A"}])
def test_a_name_is_a_string(name):
    with pytest.raises(ValueError, match="is a string, not"):
        annotations(schema(asks(name=name)))


@pytest.mark.parametrize("one, two", [("Region", "Region"), ("Region", "REGION"), ("a-B", "A-b")])
def test_names_differ_in_more_than_case(one, two):
    """[2026-07-28 basic/transports/streamable-http §Schema Extension] MUST"""
    inner = {"type": "object", "properties": {"y": asks(name=two)}}
    with pytest.raises(ValueError, match="properties.a.properties.y is also that of properties.x"):
        annotations({"properties": {"x": asks(name=one), "a": inner}})


@pytest.mark.parametrize("kind", ["string", "integer", "boolean", ["string"], ["integer", "null"], ["null", "boolean"]])
def test_types_that_may_be_mirrored(kind):
    """[2026-07-28 basic/transports/streamable-http §Schema Extension] MUST"""
    assert annotations(schema(asks(kind)))[0].type in ("string", "integer", "boolean")


@pytest.mark.parametrize("kind", ["number", "object", "array", "null", "text", None, 3, [], ["null"], ["string",
                                  "integer"],
                                  ["integer", "number"], ["string", 3], [["string"]], {"string": 1}])
def test_types_that_may_not(kind):
    """[2026-07-28 basic/transports/streamable-http §Schema Extension] MUST"""
    with pytest.raises(ValueError, match="only string, integer, boolean can be mirrored"):
        annotations(schema(asks(kind)))


@pytest.mark.parametrize("inner", [{HEADER: "A"}, {HEADER: "A", "enum": ["a"]}, {HEADER: "A", "$ref": "#/$defs/b"},
                                   {HEADER: "A", "anyOf": [{"type": "string"}]}])
def test_a_type_has_to_be_said(inner):
    with pytest.raises(ValueError, match="stands on type None"):
        annotations(schema(inner))


@pytest.mark.parametrize("more, legal", [
    ({"const": SAFE}, True), ({"const": SAFE + 1}, False), ({"default": -SAFE}, True), ({"default": -SAFE - 1}, False),
    ({"enum": [1, SAFE]}, True), ({"enum": [1, 2**60]}, False), ({"const": 1e300}, False),
    ({"maximum": 2**63 - 1}, True)])
def test_integers_that_a_schema_names_are_safe(more, legal):
    """[2026-07-28 basic/transports/streamable-http §Schema Extension] MUST"""
    if legal:
        assert annotations(schema(asks("integer", **more)))
    else:
        with pytest.raises(ValueError, match="within -\\(2\\^53-1\\) and 2\\^53-1"):
            annotations(schema(asks("integer", **more)))


def containers():
    """Each keyword with a subschema inside, of every dialect: keyword, a value of it that holds this schema."""
    for dialect in DIALECTS.values():
        for keyword, row in dialect.keywords.items():
            for wrap in (lambda inner: inner, lambda inner: [inner], lambda inner: {"name": inner}):
                probe = {"type": "string"}
                held = any(child is probe for _, child in row.shape.children(wrap(probe)))
                if held and row.shape.accepts(wrap(probe)):
                    yield keyword, wrap


CONTAINERS = dict(((keyword, wrap(1).__class__), (keyword, wrap)) for keyword, wrap in containers())


def test_the_keywords_with_schemas_inside_are_those_of_the_dialects():
    known = set(mirrored._ONE) | set(mirrored._SEVERAL) | set(mirrored._BY_NAME)
    assert {keyword for keyword, _ in CONTAINERS.values()} == known


@pytest.mark.spec("http.param-extract")
@pytest.mark.parametrize("keyword, wrap", [pytest.param(*pair, id="%s-%s" % (pair[0], kind.__name__))
                                           for (_, kind), pair in CONTAINERS.items() if pair[0] != "properties"])
def test_nothing_is_mirrored_that_is_not_reached_by_properties_alone(keyword, wrap):
    """[2026-07-28 basic/transports/streamable-http §Schema Extension] MUST NOT"""
    below = schema(asks())
    for whole in ({keyword: wrap(asks())}, schema({keyword: wrap(asks())}), {keyword: wrap(below)},
                  schema(dict({keyword: wrap(below)}, type="object"))):
        with pytest.raises(ValueError, match='is not reached by "properties" alone'):
            annotations(whole)


def test_the_root_is_no_property():
    with pytest.raises(ValueError, match="at the root is not reached"):
        annotations(asks("object"))


def test_a_schema_of_any_depth_and_width_is_walked_through():
    deep = asks()
    for _ in range(5000):
        deep = {"properties": {"a": deep}}
    assert len(annotations(deep)[0].path) == 5000
    wide = {"properties": {"p%d" % number: asks(name="H%d" % number) for number in range(5000)}}
    assert len(annotations(wide)) == 5000


# --- Values -----------------------------------------------------------------------------------------------------------

# [2026-07-28 basic/transports/streamable-http §Value Encoding]: the page's own table, and what is at its edges.
ENCODED = [
    ("us-west1", "us-west1"),
    ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
    (" padded ", "=?base64?IHBhZGRlZCA=?="),
    ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
    ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
    ("", ""), (" ", "=?base64?IA==?="), ("\t", "=?base64?CQ==?="), ("a b", "a b"), ("a\tb", "=?base64?YQli?="),
    ("a\r\nX-Evil: 1", "=?base64?YQ0KWC1FdmlsOiAx?="), ("\0", "=?base64?AA==?="), ("\x7f", "=?base64?fw==?="),
    ("é", "=?base64?w6k=?="), ("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="),
    ("=?base64??=", "=?base64?PT9iYXNlNjQ/Pz0=?="),
    ("=?base64?abc", "=?base64?abc"), ("abc?=", "abc?="), ("=?BASE64?abc?=", "=?BASE64?abc?="),
    ("a=?base64?b?=", "a=?base64?b?="),
    ("~!@#$%^&*()", "~!@#$%^&*()"),
    (42, "42"), (-7, "-7"), (0, "0"), (SAFE, "9007199254740991"), (-SAFE, "-9007199254740991"), (42.0, "42"),
    (-0.0, "0"),
    (True, "true"), (False, "false"),
]


@pytest.mark.parametrize("value, header", ENCODED)
def test_how_values_are_written(value, header):
    """[2026-07-28 basic/transports/streamable-http §Value Encoding] MUST"""
    assert encode_value(value) == header
    assert same(decode_value(header), value)
    if isinstance(value, str):
        assert decode_value(header) == value


def test_every_string_comes_back_and_what_is_written_is_visible():
    signs = ["a", " ", "\t", "\n", "=", "?", "é", "=?base64?", "?=", "\0", "😀"]
    for length in range(4):
        for parts in itertools.product(signs, repeat=length):
            text = "".join(parts)
            written = encode_value(text)
            assert decode_value(written) == text and decode_value("\t %s " % written) == text
            assert all(0x20 <= ord(sign) <= 0x7e for sign in written) and written == written.strip()


@pytest.mark.parametrize("value", [SAFE + 1, -SAFE - 1, 1.5, float("nan"), float("inf"),
                                   1e300, None, [], {}, ["a"], "\ud800",
                                   "ok\udfff", 10**4000])
def test_what_cannot_be_written(value):
    with pytest.raises(ValueError):
        encode_value(value)


UNDECODABLE = ["a\nb", "a\rb", "a\0b", "\x7f", "é", "ä=?base64?", "\x1b[0m", "=?base64?SGVsbG8?=",
               "=?base64?SGVsbG8==?=",
               "=?base64?SGVs bG8=?=", "=?base64?SGVs\tbG8=?=", "=?base64?SGVsbG8-?=", "=?base64?SGVsbG9=?=",
               "=?base64?=?=",
               "=?base64?/w==?=", "=?base64?7aCA?=", "=?base64?!!!?=", "=?base64?A?=", "=?base64?SGVsbG8=\x80?="]


@pytest.mark.parametrize("text", UNDECODABLE)
def test_what_no_header_field_says(text):
    """[2026-07-28 basic/transports/streamable-http §Server Behavior for Custom Headers] MUST"""
    with pytest.raises(ValueError):
        decode_value(text)


@pytest.mark.parametrize("text", ["=?base64?SGVsbG8=", "SGVsbG8=?=", "=?Base64?SGVsbG8=?=", "=?base64?=",
                                  "x=?base64?SGVsbG8=?="])
def test_what_has_not_both_markers_is_what_it_says(text):
    """[2026-07-28 basic/transports/streamable-http §Value Encoding] MUST"""
    assert decode_value(text) == text


SAME = [
    ("42", 42), ("42.0", 42), ("42", 42.0), ("4.2e1", 42), ("420e-1", 42), ("42E0", 42), ("-7", -7), ("-7.000", -7),
    ("0", 0), ("-0", 0), ("0.0", 0), ("9007199254740991", SAFE), ("9007199254740991.0", SAFE), ("1e2", 100),
    ("1E+2", 100), ("true", True), ("false", False), ("", ""), ("42", "42"),
]
DIFFERENT = [
    ("42.5", 42), ("42.000001", 42), ("43", 42), ("042", 42), ("+42", 42), (" 42", 42), ("4 2", 42), ("0x2a", 42),
    ("42.", 42), (".5", 0), ("", 0), ("-", 0), ("--7", -7), ("7-", -7), ("1e", 1), ("1e999999999", 1), ("1e100", 1),
    ("1" * 5000, 1), ("٤٢", 42), ("4_2", 42), ("NaN", 0), ("Infinity", 1), ("true", 1), ("1", True), ("0", False),
    ("True", True), ("TRUE", True), ("false", True), ("false", 0), ("42.0", "42"), ("42", "42.0"), ("Us", "us"),
    ("null", None), ("", None), ("[]", []), ("{}", {}), ("9007199254740992", SAFE), ("9007199254740991.5", SAFE),
    ("4200e-3", 42),
]


@pytest.mark.parametrize("text, value", SAME)
def test_texts_that_say_the_same(text, value):
    """[2026-07-28 basic/transports/streamable-http §Server Validation] SHOULD"""
    assert same(text, value)


@pytest.mark.parametrize("text, value", DIFFERENT)
def test_texts_that_do_not(text, value):
    assert not same(text, value)


# --- Header fields ----------------------------------------------------------------------------------------------------

def sent(method, params):
    """The fields of a request that an HTTP client makes of its body, but for the version."""
    return list(fields_of(method, dict(params or {}, _meta={VERSION: "2026-07-28"}), None))[1:]


@pytest.mark.parametrize("method, params, name", [
    ("tools/call", {"name": "echo"}, "echo"), ("prompts/get", {"name": "p"}, "p"),
    ("resources/read", {"uri": "a:b"}, "a:b"),
    ("tools/list", {"name": "echo"}, None), ("completion/complete", {"ref": {"name": "x"}}, None),
    ("server/discover", None, None)])
def test_which_requests_have_a_name(method, params, name):
    """[2026-07-28 basic/transports/streamable-http §Standard Request Headers]"""
    assert name_of(method, params) == name
    assert sent(method, params) == [("Mcp-Method", method)] + ([] if name is None else [("Mcp-Name", name)])


@pytest.mark.parametrize("method, params, member", [
    ("tools/call", {}, "name"), ("tools/call", None, "name"), ("tools/call", {"name": 3}, "name"),
    ("prompts/get", {"name": None}, "name"), ("resources/read", {"name": "x"}, "uri")])
def test_a_name_that_is_no_string_is_refused_before_it_is_sent(method, params, member):
    assert name_of(method, params) is None
    with pytest.raises(LocalProtocolError, match="params.%s must be a string" % member):
        sent(method, params)


def test_a_name_beyond_ascii_goes_in_base64():
    assert sent("tools/call", {"name": "größe"})[1] == (
        "Mcp-Name", "=?base64?%s?=" % base64.b64encode("größe".encode()).decode())


NESTED = [Mirrored("Region", ("region",), "string"), Mirrored("Zone", ("place", "zone"), "string"), Mirrored("N",
          ("n",), "integer"),
          Mirrored("On", ("on",), "boolean")]


@pytest.mark.parametrize("arguments, headers", [
    ({"region": "eu", "place": {"zone": "b"}, "n": 3, "on": False, "other": "x"},
     [("Mcp-Param-Region", "eu"), ("Mcp-Param-Zone", "b"), ("Mcp-Param-N", "3"), ("Mcp-Param-On", "false")]),
    ({"region": "", "n": 0}, [("Mcp-Param-Region", ""), ("Mcp-Param-N", "0")]),
    ({"region": None, "place": None}, []), ({"place": {"zone": None}}, []), ({"place": {"place": {"zone": "b"}}}, []),
    ({"place": ["zone"]}, []), ({"place": "zone"}, []), ({"zone": "b"}, []), ({}, []), (None, [])])
def test_the_header_fields_of_arguments(arguments, headers):
    """[2026-07-28 basic/transports/streamable-http §Server Behavior for Custom Headers] MUST"""
    assert param_headers(NESTED, arguments) == headers


@pytest.mark.parametrize("value", [["eu"], {"a": 1}, 1.5, 2**53, "\ud800"])
def test_an_argument_that_cannot_be_sent_is_named(value):
    with pytest.raises(ValueError, match="arguments.region is mirrored in a header field: "):
        param_headers(REGION, {"region": value})


# --- Comparing --------------------------------------------------------------------------------------------------------

def compared(arguments, asked=NESTED, method="tools/call", **headers):
    fields = {"mcp-method": method, "mcp-name": "echo"}
    fields.update({name.replace("_", "-").lower(): value for name, value in headers.items()})
    return fault(method, {"name": "echo", "arguments": arguments}, asked, lambda name: fields.get(name.lower()))


def test_what_a_proper_client_sends_is_in_order():
    values = ["eu", "", " x ", "=?base64?eA==?=", "世界", "a\r\nb", 'q"', "?=", "=?base64?"]
    for value in values:
        arguments = {"region": value, "place": {"zone": value}, "n": -3, "on": True, "other": [1]}
        fields = dict((name.lower(), text) for name, text in sent("tools/call", {"name": value})
                      + param_headers(NESTED, arguments))
        params = {"name": value, "arguments": arguments}
        assert fault("tools/call", params, NESTED, lambda name: fields.get(name.lower())) is None


@pytest.mark.parametrize("arguments, headers, words", [
    ({"region": "eu"}, {}, "Mcp-Param-Region is missing: it repeats arguments.region"),
    ({"region": "eu"}, {"Mcp_Param_Region": "us"}, "Mcp-Param-Region 'us' is not arguments.region, 'eu'"),
    ({"region": "eu"}, {"Mcp_Param_Region": "EU"}, "is not arguments.region"),
    ({"region": "eu"}, {"Mcp_Param_Region": ""}, "is not arguments.region"),
    ({"region": "eu"}, {"Mcp_Param_Region": "eu, eu"}, "is not arguments.region"),
    ({"region": "=?base64?eA==?="}, {"Mcp_Param_Region": "=?base64?eA==?="}, "'x' is not arguments.region"),
    ({"region": "é"}, {"Mcp_Param_Region": "é"}, "has characters that a header field cannot hold"),
    ({"region": "x"}, {"Mcp_Param_Region": "=?base64?eA=?="}, "is marked as Base64 and is not"),
    ({}, {"Mcp_Param_Region": "eu"}, "Mcp-Param-Region 'eu' is there, but arguments.region is not"),
    ({"region": None}, {"Mcp_Param_Region": "null"}, "is there, but arguments.region is not"),
    ({"place": "b"}, {"Mcp_Param_Zone": "b"}, "is there, but arguments.place.zone is not"),
    ({"region": ["eu"]}, {"Mcp_Param_Region": "eu"}, "cannot repeat arguments.region: a header field cannot"),
    ({"region": {"a": 1}}, {}, "cannot repeat arguments.region"),
    ({"n": 2**53}, {"Mcp_Param_N": str(2**53)}, "cannot repeat arguments.n"),
    ({"n": 1.5}, {"Mcp_Param_N": "1.5"}, "cannot repeat arguments.n"),
    ({"n": 3}, {"Mcp_Param_N": "4"}, "'4' is not arguments.n, 3"),
    ({"on": True}, {"Mcp_Param_On": "1"}, "is not arguments.on"),
    (None, {"Mcp_Param_Region": "eu"}, "arguments.region is not"),
    ("eu", {"Mcp_Param_Region": "eu"}, "arguments.region is not"),
])
def test_arguments_that_header_fields_do_not_repeat(arguments, headers, words):
    """[2026-07-28 basic/transports/streamable-http §Server Behavior for Custom Headers] MUST"""
    assert words in compared(arguments, **headers)


@pytest.mark.parametrize("arguments, headers", [
    ({"region": None}, {}), ({}, {}), (None, {}), ({"n": 42}, {"Mcp_Param_N": "42.0"}),
    ({"n": 42.0}, {"Mcp_Param_N": "42"}),
    ({"region": "Hello"}, {"Mcp_Param_Region": "=?base64?SGVsbG8=?="}), ({"region": "x"}, {"Mcp_Param_Region": " x\t"}),
    ({"region": 5}, {"Mcp_Param_Region": "5"}), ({"other": "x"}, {"Mcp_Param_Other": "y", "Mcp_Param_Nobody": "\x01"})])
def test_arguments_that_they_do(arguments, headers):
    """[2026-07-28 basic/transports/streamable-http §Server Behavior for Custom Headers] MUST NOT"""
    assert compared(arguments, **headers) is None


@pytest.mark.parametrize("params, method, name, words", [
    ({"name": "echo"}, None, "echo", "Mcp-Method is missing"),
    ({"name": "echo"}, "tools/list", "echo", "is not the method"),
    ({"name": "echo"}, "Tools/Call", "echo", "is not the method"), ({"name": "echo"}, "", "echo", "is not the method"),
    ({"name": "echo"}, "tools/call, tools/call", "echo", "is not the method"),
    ({"name": "echo"}, "=?base64?dG9vbHMvY2FsbA==?=", "echo", "is not the method"),
    ({"name": "echo"}, "tools/call", None, "Mcp-Name is missing: it repeats params.name"),
    ({"name": "echo"}, "tools/call", "Echo", "Mcp-Name 'Echo' is not params.name, 'echo'"),
    ({"name": "echo"}, "tools/call", "", "is not params.name"),
    ({"name": "echo"}, "tools/call", "echo\n", "cannot hold"),
    ({}, "tools/call", "echo", "is not params.name, null"), (None, "tools/call", "echo", "is not params.name"),
    ({"name": ["echo"]}, "tools/call", "echo", "is not params.name, array"),
    ({"name": "\ud800"}, "tools/call", "x", "is not params.name"),
    ({"uri": "echo"}, "tools/call", "echo", "is not params.name"),
])
def test_standard_fields_that_do_not_fit(params, method, name, words):
    """[2026-07-28 basic/transports/streamable-http §Server Validation] MUST"""
    fields = {"mcp-method": method, "mcp-name": name}
    found = fault("tools/call", params, (), lambda field: fields.get(field.lower()))
    assert found is not None and words in found
    found.encode("ascii", "backslashreplace")


def test_blanks_around_a_field_do_not_count_and_a_name_that_nobody_needs_does_not_either():
    """[2026-07-28 basic/transports/streamable-http §Case Sensitivity]"""
    fields = {"mcp-method": " tools/call\t", "mcp-name": "\techo "}
    assert fault("tools/call", {"name": "echo"}, (), lambda field: fields.get(field.lower())) is None
    fields = {"mcp-method": "tools/list", "mcp-name": "whatever\x01"}
    assert fault("tools/list", None, (), lambda field: fields.get(field.lower())) is None


def test_a_fault_is_short_whatever_is_sent():
    assert len(compared({"region": "x" * 10**6}, Mcp_Param_Region="y" * 10**6)) < 400
    long = Mirrored("R", ("p" * 10**6,), "string")
    assert len(compared({"p" * 10**6: "x"}, [long])) < 400
