"""Header fields that repeat the body: what a tool may ask for, and what a server makes of fields that do not fit.

The rules themselves are tried in tests/protocol/test_mirrored.py; here, that they are kept.
"""
import dataclasses
import typing

import pytest

from mcp_ref.protocol.streamable_http.mirrored import SAFE
from mcp_ref.server import Server
from mcp_ref.server.hints.members import Schema
from tests.support.http_modern import OUT, STATELESS, ModernWeb, made
from tests.support.sides import said

SCHEMA: Schema = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "dry": {"type": ["boolean", "null"], "x-mcp-header": "X-Dry"},
        "place": {"type": "object", "properties": {"zone": {"type": "string", "x-mcp-header": "Zone"}}},
        "sql": {"type": "string"},
    },
}


def query_server(revisions=None):
    server = Server("mirrored", revisions=revisions)

    @server.tool(input_schema=SCHEMA)
    def query(**arguments):
        return "ran"

    @server.tool
    def plain(region: str = "") -> str:
        return "ran"

    @server.prompt(name="größe")
    def greet(name: str = "you") -> str:
        return "Hello"

    @server.resource("config://app")
    def config() -> str:
        return "text"

    return server


@pytest.fixture
def client():
    with ModernWeb(query_server()) as web:
        yield web


def call(web, arguments, headers, name="query"):
    return web.ask(5, "tools/call", {"name": name, "arguments": arguments}, headers)


def refused(reply, *words):
    """Whether a request was refused because of its header fields."""
    assert (reply.status, reply.code, reply.message["id"]) == (400, -32020, 5), reply
    text = reply.message["error"]["message"]
    assert text.startswith("Header mismatch: ") and all(word in text for word in words), text
    return True


# -- What an author may write ------------------------------------------------------------------

Annotated = getattr(typing, "Annotated", None)
with_annotated = pytest.mark.skipif(Annotated is None, reason="typing.Annotated is there from Python 3.9 on")


def explicit(inner):
    """A tool with an explicit schema that has this property."""
    server = Server("author")
    server.tool(lambda **arguments: "", name="t", input_schema={"type": "object", "properties": {"a": inner}})
    return server.tools.listing.get("t").mirrored


def annotated(kind, more):
    """A tool with a signature that has this parameter."""
    server = Server("author")

    def t(a) -> str:
        return ""

    t.__annotations__["a"] = Annotated[kind, more]
    server.tool(t)
    return server.tools.listing.get("t").mirrored


@pytest.mark.spec("http.param-designate")
@with_annotated
def test_a_parameter_asks_for_a_header_field_in_its_annotation():
    """[2026-07-28 server/tools §x-mcp-header]"""
    server = Server("author")

    def query(region, place, dry=None):
        return ""

    place = dataclasses.make_dataclass("Place", [("zone", Annotated[str, {"x-mcp-header": "Zone"}]), ("street", str)])
    query.__annotations__.update(region=Annotated[str, {"x-mcp-header": "Region"}], place=place,
                                 dry=Annotated[typing.Optional[bool], {"x-mcp-header": "Dry"}])
    server.tool(query)
    with ModernWeb(server) as web:
        listed = web.ask(1, "tools/list").message["result"]["tools"][0]["inputSchema"]["properties"]
        assert listed["region"] == {"type": "string", "x-mcp-header": "Region"}
        assert listed["place"]["properties"]["zone"]["x-mcp-header"] == "Zone"
        arguments = {"region": "eu", "place": {"zone": "b", "street": "s"}}
        assert refused(call(web, arguments, {"Mcp-Param-Region": "eu"}), "Mcp-Param-Zone")
        assert call(web, arguments, {"Mcp-Param-Region": "eu", "Mcp-Param-Zone": "b"}).status == 200


ILLEGAL = {
    "empty": ("string", ""), "blank": ("string", "a b"), "colon": ("string", "a:b"), "line end": ("string", "a\r\nb"),
    "nul": ("string", "\0"), "umlaut": ("string", "ä"), "no string": ("string", 3), "number": ("number", "A"),
    "array": ("array", "A"), "object": ("object", "A"),
}


@pytest.mark.spec("http.param-name-not-empty", "http.param-name-token", "http.param-name-no-control",
                  "http.param-primitive-types")
@pytest.mark.parametrize("kind, name", list(ILLEGAL.values()), ids=list(ILLEGAL))
def test_a_tool_that_asks_for_what_is_not_allowed_is_refused_at_registration(kind, name):
    """[2026-07-28 server/tools §x-mcp-header] MUST"""
    with pytest.raises(ValueError, match="tool t: x-mcp-header at properties.a "):
        explicit({"type": kind, "x-mcp-header": name})
    if Annotated is not None:
        kinds = {"string": str, "number": float, "array": list, "object": dict}
        with pytest.raises(ValueError, match="tool t: x-mcp-header at properties.a "):
            annotated(kinds[kind], {"x-mcp-header": name})


@pytest.mark.spec("http.param-integer-range")
@pytest.mark.parametrize("inner", [{"const": SAFE + 1}, {"default": -SAFE - 1}, {"enum": [2**60]}])
def test_a_tool_whose_integers_are_not_safe_is_refused_at_registration(inner):
    """[2026-07-28 server/tools §x-mcp-header] MUST"""
    with pytest.raises(ValueError, match="2\\^53"):
        explicit(dict(inner, type="integer", **{"x-mcp-header": "A"}))
    if Annotated is not None:
        with pytest.raises(ValueError, match="2\\^53"):
            annotated(int, dict(inner, **{"x-mcp-header": "A"}))


@pytest.mark.spec("http.param-name-unique")
def test_two_parameters_do_not_share_a_header_field():
    """[2026-07-28 server/tools §x-mcp-header] MUST"""
    both = {name: {"type": "string", "x-mcp-header": name} for name in ("Zone", "zone")}
    with pytest.raises(ValueError, match="differ in more than case"):
        explicit({"type": "object", "properties": both})


@pytest.mark.spec("http.param-statically-reachable", "http.param-chain")
@pytest.mark.parametrize("inner", [
    {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}},
    {"anyOf": [{"type": "string", "x-mcp-header": "A"}]}, {"not": {"type": "string", "x-mcp-header": "A"}},
    {"if": {"properties": {"b": {"type": "string", "x-mcp-header": "A"}}}},
    {"type": "object", "additionalProperties": {"type": "string", "x-mcp-header": "A"}}])
def test_a_tool_that_asks_for_it_out_of_reach_is_refused_at_registration(inner):
    """[2026-07-28 server/tools §x-mcp-header] MUST"""
    with pytest.raises(ValueError, match='reached by "properties" alone'):
        explicit(inner)
    if Annotated is not None and "items" in inner:
        with pytest.raises(ValueError, match='reached by "properties" alone'):
            annotated(typing.List[Annotated[str, {"x-mcp-header": "A"}]], {})


def test_an_annotation_that_is_resolved_later_is_looked_at_then():
    """What cannot be looked at when a tool is registered is when the server begins to serve."""
    namespace = {}
    exec("def t(a: 'Later') -> str:\n    return ''\n", namespace)
    server = Server("author")
    server.tool(namespace["t"])
    assert server.tools.listing.get("t").mirrored is None
    namespace["Later"] = str
    server.resolve()
    assert server.tools.listing.get("t").mirrored == ()


def test_a_refused_tool_is_not_there():
    server = Server("author")
    with pytest.raises(ValueError):
        server.tool(lambda **arguments: "", name="t",
                    input_schema={"type": "object", "properties": {"a": {"type": "number", "x-mcp-header": "A"}}})
    assert len(server.tools.listing) == 0


# -- Standard fields ---------------------------------------------------------------------------


@pytest.mark.spec("http.header-mismatch-rejected", "http.header-mismatch-error")
@pytest.mark.parametrize("headers, words", [
    ({"Mcp-Method": OUT}, "Mcp-Method is missing"), ({"Mcp-Method": "tools/list"}, "Mcp-Method 'tools/list'"),
    ({"Mcp-Method": "TOOLS/CALL"}, "Mcp-Method"), ({"Mcp-Method": ""}, "Mcp-Method"),
    ({"Mcp-Name": OUT}, "Mcp-Name is missing"), ({"Mcp-Name": "other"}, "Mcp-Name 'other' is not params.name, 'plain'"),
    ({"Mcp-Name": "PLAIN"}, "Mcp-Name"), ({"Mcp-Name": "=?base64?b3RoZXI=?="}, "Mcp-Name 'other'"),
    ({"Mcp-Name": "=?base64?cGxhaW4?="}, "Base64"), ({"Mcp-Name": "plain\x01"}, "characters"),
    ({"MCP-Protocol-Version": OUT}, "MCP-Protocol-Version is missing"),
    ({"MCP-Protocol-Version": "2099-01-01"}, "MCP-Protocol-Version '2099-01-01'"),
])
@pytest.mark.parametrize("revisions", [None, [STATELESS]], ids=["dual", "modern only"])
def test_standard_fields_that_do_not_fit_the_body_are_refused(revisions, headers, words):
    """[2026-07-28 basic/transports/streamable-http §Server Validation] MUST"""
    with ModernWeb(query_server(revisions)) as web:
        assert refused(call(web, {}, headers, "plain"), words)
        assert web.connected == []  # nothing of it was looked at
        assert call(web, {}, {}, "plain").status == 200


@pytest.mark.spec("http.header-mismatch-rejected")
@pytest.mark.parametrize("method, params, wrong", [
    ("prompts/get", {"name": "größe"}, "größe"), ("resources/read", {"uri": "config://app"}, "config://other")])
def test_prompts_and_resources_have_a_name_too(client, method, params, wrong):
    """[2026-07-28 basic/transports/streamable-http §Standard Request Headers] MUST"""
    assert client.ask(5, method, params).status == 200
    assert refused(client.ask(5, method, params, {"Mcp-Name": wrong}), "Mcp-Name")
    assert refused(client.ask(5, method, params, {"Mcp-Name": OUT}), "Mcp-Name")


@pytest.mark.parametrize("more", [("Mcp-Method", "tools/call"), ("Mcp-Name", "plain"), ("Mcp-Name", "other")])
def test_a_field_that_is_there_twice_does_not_fit(client, more):
    """[2026-07-28 basic/transports/streamable-http §Server Validation]: whoever is on the way may take either."""
    message = client.message(5, "tools/call", {"name": "plain", "arguments": {}})
    assert refused(client.handle(made(message, more=[more])), more[0])


@pytest.mark.spec("http.header-case-insensitive")
@pytest.mark.parametrize("change", [str.lower, str.upper, str.title, str.swapcase])
def test_names_of_fields_are_read_in_any_case(client, change):
    """[2026-07-28 basic/transports/streamable-http §Case Sensitivity] MUST"""
    fields = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": "tools/call", "Mcp-Name": "query",
              "Mcp-Param-Region": "eu", "Mcp-Param-X-Dry": "true"}
    headers = {name: OUT for name in fields}
    headers.update({change(name): value for name, value in fields.items()})
    assert call(client, {"region": "eu", "dry": True}, headers).status == 200


def test_an_envelope_that_is_wrong_is_told_before_fields_are():
    """By which rules a request goes decides which fields there have to be."""
    with ModernWeb(query_server()) as web:
        for version in ("2099-01-01", "2025-11-25"):
            reply = web.ask(5, "tools/call", {"name": "plain"}, {"Mcp-Method": OUT, "MCP-Protocol-Version": version},
                            version=version)
            assert (reply.status, reply.code) == (400, -32022)


@pytest.mark.parametrize("params", [{}, {"name": None}, {"name": 3}, {"name": ["plain"]}, {"name": {}},
                                    {"uri": "plain"}])
def test_a_request_without_the_name_that_it_needs_fits_no_field(client, params):
    """[2026-07-28 basic/transports/streamable-http §Standard Request Headers] MUST"""
    for name in ("plain", OUT):
        assert refused(client.ask(5, "tools/call", params, {"Mcp-Name": name}), "Mcp-Name")


# -- Fields of arguments -----------------------------------------------------------------------


@pytest.mark.spec("http.param-validate-body", "http.param-server-decodes", "http.param-null-not-expected",
                  "http.param-absent-not-expected", "http.param-integer-compare")
@pytest.mark.parametrize("arguments, headers", [
    ({"region": "eu", "count": 3, "dry": False, "place": {"zone": "b"}, "sql": "x"},
     {"Mcp-Param-Region": "eu", "Mcp-Param-Count": "3", "Mcp-Param-X-Dry": "false", "Mcp-Param-Zone": "b"}),
    ({"region": "Hello"}, {"Mcp-Param-Region": "=?base64?SGVsbG8=?="}),
    ({"region": "世界"}, {"Mcp-Param-Region": "=?base64?5LiW55WM?="}), ({"region": ""}, {"Mcp-Param-Region": ""}),
    ({"region": "=?base64?SGVsbG8=?="}, {"Mcp-Param-Region": "=?base64?PT9iYXNlNjQ/U0dWc2JHOD0/PQ==?="}),
    ({"count": 42}, {"Mcp-Param-Count": "42.0"}), ({"count": 42.0}, {"Mcp-Param-Count": "42"}),
    ({"count": -SAFE}, {"Mcp-Param-Count": "-9007199254740991"}), ({"count": 100}, {"Mcp-Param-Count": "1e2"}),
    ({"dry": None}, {}), ({}, {}), ({"place": {}}, {}), ({"region": "eu"}, {"Mcp-Param-Region": "  eu\t"}),
    ({}, {"Mcp-Param-Sql": "whatever", "Mcp-Param-Nobody": "\x01"}),
])
def test_fields_that_repeat_the_arguments_are_in_order(client, arguments, headers):
    """[2026-07-28 basic/transports/streamable-http §Server Behavior for Custom Headers] MUST"""
    reply = call(client, arguments, headers)
    assert reply.status == 200 and said(reply.message) == "ran"


@pytest.mark.spec("http.param-validate-body", "http.param-mismatch-rejected", "http.param-missing-rejected",
                  "http.param-invalid-chars", "http.param-server-decodes", "http.param-integer-range")
@pytest.mark.parametrize("arguments, headers", [
    ({"region": "eu"}, {}), ({"region": "eu"}, {"Mcp-Param-Region": "us"}),
    ({"region": "eu"}, {"Mcp-Param-Region": "EU"}), ({"region": "eu"}, {"Mcp-Param-Region": "=?base64?dXM=?="}),
    ({"region": "Hello"}, {"Mcp-Param-Region": "=?base64?SGVsbG8?="}),
    ({"region": "Hello"}, {"Mcp-Param-Region": "=?base64?SGVs*G8=?="}),
    ({"region": "Hello"}, {"Mcp-Param-Region": "SGVsbG8="}),
    ({"region": "Hello"}, {"Mcp-Param-Region": "=?base64?SGVsbG8="}),
    ({"region": "Hello"}, {"Mcp-Param-Region": "SGVsbG8=?="}), ({"region": "a\nb"}, {"Mcp-Param-Region": "a\nb"}),
    ({"region": "é"}, {"Mcp-Param-Region": "é"}), ({"count": 3}, {}), ({"count": 3}, {"Mcp-Param-Count": "03"}),
    ({"count": 3}, {"Mcp-Param-Count": "3.5"}), ({"count": SAFE + 1}, {"Mcp-Param-Count": str(SAFE + 1)}),
    ({"count": 0}, {"Mcp-Param-Count": "false"}), ({"dry": True}, {"Mcp-Param-X-Dry": "1"}),
    ({"dry": None}, {"Mcp-Param-X-Dry": "null"}), ({}, {"Mcp-Param-Region": "eu"}), ({"place": {"zone": "b"}}, {}),
    ({"place": {"zone": "b"}}, {"Mcp-Param-Zone": "c"}), ({"region": ["eu"]}, {}),
    (["eu"], {"Mcp-Param-Region": "eu"}), ("eu", {"Mcp-Param-Region": "eu"}),
    ({"region": "\ud800"}, {"Mcp-Param-Region": "x"}),
])
def test_fields_that_do_not_are_refused(client, arguments, headers):
    """[2026-07-28 basic/transports/streamable-http §Server Behavior for Custom Headers] MUST"""
    reply = call(client, arguments, headers)
    if reply.code == -32700:
        return  # half a surrogate pair, which is refused before
    assert refused(reply, "Mcp-Param-")


def test_a_field_of_an_argument_that_is_there_twice_does_not_fit(client):
    """[2026-07-28 basic/transports/streamable-http §Server Validation]"""
    message = client.message(5, "tools/call", {"name": "query", "arguments": {"region": "eu"}})
    fields = [("Mcp-Param-Region", "eu"), ("mcp-param-region", "eu")]
    assert refused(client.handle(made(message, more=fields)), "Region")


def test_an_unknown_tool_asks_for_nothing(client):
    reply = call(client, {"region": "eu"}, {}, "nobody")
    assert (reply.status, reply.code) == (200, -32602)


def test_in_a_session_fields_are_nobodys_business(client):
    """They are of the stateless era."""
    from tests.support.http_exchange import Web, request

    with Web(query_server()) as web:
        params = {"name": "query", "arguments": {"region": "eu"}}
        assert web.post(request(1, "tools/call", params), {"Mcp-Param-Region": "us", "Mcp-Method": "x"}).status == 200


def test_requests_that_are_refused_cost_nothing_that_stays(client):
    """However many, however long."""
    for number in range(50):
        long = "x" * 10000
        assert refused(call(client, {"region": long}, {"Mcp-Param-Region": long + "y"}))
        assert len(client.ask(5, "tools/call", {"name": long}, {"Mcp-Name": "y"}).raw) < 600
    assert client.connected == []
