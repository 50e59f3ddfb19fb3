"""The fixtures of the conformance suite, over memory with our own other side: each scenario finds what it expects.

What the suite looks at is told byte for byte, so that a fault of a fixture shows before the suite runs.
"""
import contextlib
import json
import shutil
from functools import partial
from typing import Any, Dict, Iterator, List

import pytest

from mcp_ref import Client, Context, Server
from mcp_ref.client.sampling import Sampling
from mcp_ref.codec import encode
from mcp_ref.errors import PeerError
from mcp_ref.revisions import LATEST_HANDSHAKE
from mcp_ref.streamable.client.auth_provider import Authorizing
from mcp_ref.transports.memory import pair
from mcp_ref.transports.tap import tap
from mcp_ref.wiretrace import Trace
from tests.auth.test_es256 import PEM
from tests.conformance import authorization, client as client_fixture, server as server_fixture
from tests.support.authorized import Authorized
from tests.support.sides import delivered

HANDSHAKE = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
PNG = "iVBORw0KGgo"  # how every PNG begins in base64
WAV = "UklGR"
NUMBERS = pytest.mark.sends_illegal("schema.json", why="a default of 95.5, where it has whole ones only: an erratum")


@contextlib.contextmanager
def connected(server: Server, era: str = "legacy", **options: Any) -> Iterator[Client]:
    """A client of a server, in this process."""
    ours, theirs = pair()
    server.connect(theirs)
    with Client(era=era, **options).open(ours) as client:
        yield client


@pytest.fixture
def client():
    with connected(server_fixture.server, elicitation=lambda params, context: True) as made:
        yield made


def blocks(result: Any) -> List[Dict[str, Any]]:
    """The content of a result, as on the wire."""
    found: List[Dict[str, Any]] = encode(result, LATEST_HANDSHAKE)["content"]
    return found


def contents(text: str, uri: str, kind: str) -> Dict[str, Any]:
    """An embedded text resource, as on the wire."""
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}}


# -- Lists -------------------------------------------------------------------------------------


def test_everything_stands_on_the_first_page_and_is_described(client):
    tools, prompts = client.list_tools(), client.list_prompts()
    resources, templates = client.list_resources(), client.list_resource_templates()
    assert [page.next_cursor for page in (tools, prompts, resources, templates)] == [None] * 4
    assert all(item.description for item in [*tools.tools, *prompts.prompts])
    assert all(item.name for item in resources.resources)


def test_the_first_tool_and_the_first_resource_are_harmless(client):
    client.call_tool(client.list_tools().tools[0].name, {})  # a tool may refuse that, but not by a JSON-RPC error
    assert client.read_resource(client.list_resources().resources[0].uri).contents


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_the_declared_capabilities_are_those_that_the_scenarios_use(revision):
    with connected(server_fixture.server, revision) as client:
        declared = client.server_capabilities
    assert {"tools", "prompts", "resources", "logging"} <= set(declared) and declared["resources"]["subscribe"] is True
    assert ("completions" in declared) == (revision != "2024-11-05")


def test_the_schema_with_many_words_comes_back_unchanged(client):
    schema = client.tool("json_schema_2020_12_tool").input_schema
    assert json.loads(json.dumps(schema)) == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object",
                              "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
                       "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                       "phone": {"type": "string"}, "email": {"type": "string"}},
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]}, "else": {"required": ["email"]},
        "additionalProperties": False,
    }
    assert not client.call_tool("json_schema_2020_12_tool", {"phone": "1", "contactMethod": "phone"}).is_error
    assert client.call_tool("json_schema_2020_12_tool", {"contactMethod": "phone", "email": "a@b.example"}).is_error


# -- Tools -------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [None, {}])
@pytest.mark.parametrize("name, expected", [
    ("test_simple_text", [{"type": "text", "text": "This is a simple text response for testing."}]),
    ("test_embedded_resource",
     [contents("This is an embedded resource content.", "test://embedded-resource", "text/plain")]),
])
def test_a_tool_gives_exactly_this(client, name, expected, arguments):
    assert blocks(client.call_tool(name, arguments)) == expected


@pytest.mark.parametrize("name, kind, begins, mime_type", [
    ("test_image_content", "image", PNG, "image/png"), ("test_audio_content", "audio", WAV, "audio/wav"),
])
def test_a_tool_gives_one_picture_or_sound(client, name, kind, begins, mime_type):
    [block] = blocks(client.call_tool(name))
    assert (block["type"], block["mimeType"]) == (kind, mime_type) and block["data"].startswith(begins)


def test_a_tool_gives_a_text_a_picture_and_a_resource(client):
    text, picture, resource = blocks(client.call_tool("test_multiple_content_types"))
    assert text == {"type": "text", "text": "Multiple content types test:"}
    assert (picture["type"], picture["mimeType"]) == ("image", "image/png") and picture["data"].startswith(PNG)
    assert resource == contents('{"test":"data","value":123}', "test://mixed-content-resource", "application/json")


def test_a_tool_fails(client):
    result = client.call_tool("test_error_handling")
    assert result.is_error
    assert blocks(result) == [{"type": "text", "text": "This tool intentionally returns an error for testing"}]


def test_a_tool_logs_three_messages():
    heard = []
    with connected(server_fixture.server, on_log=lambda *message: heard.append(message)) as client:
        client.set_log_level("debug")
        assert blocks(client.call_tool("test_tool_with_logging"))
        delivered(client.connection)
    assert heard == [
        ("info", text, None) for text in ("Tool execution started", "Tool processing data", "Tool execution completed")]


def test_a_tool_reports_three_steps_to_who_asks(client):
    seen = []
    assert blocks(client.call_tool("test_tool_with_progress", {}, progress=lambda *step: seen.append(step[:2])))
    assert seen == [(0, 100), (50, 100), (100, 100)]
    assert blocks(client.call_tool("test_tool_with_progress", {}))


def test_a_tool_lets_go_of_its_connection_where_there_is_one(client):
    assert blocks(client.call_tool("test_reconnection")) == [{"type": "text", "text": "You came back."}]


# -- Tools that ask ----------------------------------------------------------------------------


def asked_by(tool: str, answer: Dict[str, Any], arguments: Dict[str, Any]) -> Any:
    """What a tool asks the user, and what it says of the answer."""
    asked = []

    def user(params: Any, context: Any) -> Dict[str, Any]:
        asked.append(encode(params, LATEST_HANDSHAKE))
        return answer

    with connected(server_fixture.server, elicitation=user) as client:
        [block] = blocks(client.call_tool(tool, arguments))
    [params] = asked
    return params, block["text"]


def test_a_tool_asks_the_model():
    asked = []

    def model(params: Any, context: Any) -> str:
        asked.append(encode(params, LATEST_HANDSHAKE))
        return "Fine."

    with connected(server_fixture.server, sampling=Sampling(model, model="m")) as client:
        [block] = blocks(client.call_tool("test_sampling", {"prompt": "How are you?"}))
    assert block["text"] == "LLM response: Fine."
    assert asked[0]["maxTokens"] == 100
    assert asked[0]["messages"] == [{"role": "user", "content": {"type": "text", "text": "How are you?"}}]


def test_a_tool_asks_the_user_for_a_name_and_an_address():
    params, said = asked_by("test_elicitation", {"username": "ada", "email": "a@b.example"}, {"message": "Who?"})
    assert params["message"] == "Who?"
    assert params["requestedSchema"]["properties"] == {"username": {"type": "string"}, "email": {"type": "string"}}
    assert said.startswith("User response: ") and "ada" in said


@NUMBERS
def test_a_form_has_a_default_of_every_kind():
    params, said = asked_by("test_elicitation_sep1034_defaults", {}, {})
    assert params["requestedSchema"]["properties"] == {
        "name": {"type": "string", "default": "John Doe"}, "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    assert "John Doe" in said


def test_a_form_has_every_kind_of_choice():
    params, said = asked_by("test_elicitation_sep1330_enums", {
        "untitledSingle": "option1", "titledSingle": "value1", "legacyEnum": "opt1",
        "untitledMulti": ["option1", "option2"], "titledMulti": ["value1", "value2"]}, {})
    fields = params["requestedSchema"]["properties"]
    titled = [{"const": "value1", "title": "Value 1"}, {"const": "value2", "title": "Value 2"},
              {"const": "value3", "title": "Value 3"}]
    assert fields["untitledSingle"] == {"type": "string", "enum": ["option1", "option2", "option3"]}
    assert fields["titledSingle"] == {"type": "string", "oneOf": titled}
    assert fields["legacyEnum"] == {"type": "string", "enum": ["opt1", "opt2", "opt3"],
                                    "enumNames": ["Option 1", "Option 2", "Option 3"]}
    assert fields["untitledMulti"]["items"] == {"type": "string", "enum": ["option1", "option2", "option3"]}
    assert fields["titledMulti"]["items"] == {"anyOf": titled}
    assert said.startswith("User response: accept")


QUESTIONS = {
    "elicitation": ["user_name elicitation/create"], "sampling": ["capital_question sampling/createMessage"],
    "list_roots": ["client_roots roots/list"], "request_state": ["confirm elicitation/create"],
    "tampered_state": ["confirm elicitation/create"], "capabilities": ["user elicitation/create"],
    "multiple_inputs": ["user_name elicitation/create", "greeting sampling/createMessage", "client_roots roots/list"],
    "multi_round": ["step1 elicitation/create", "step2 elicitation/create"],
}
"""Tool -> the questions of its results, by their keys."""


def told(**options: Any) -> Any:
    """A client without handshake, and where the results that it gets are put."""
    seen: List[Any] = []

    def see(event: Any) -> None:
        if event.direction == "server" and "result" in (event.message or {}):
            seen.append(event.message["result"])

    ours, theirs = pair()
    server_fixture.server.connect(theirs)
    return Client(era=NEW, **options).open(tap(ours, Trace(see), "client")), seen


EVERYTHING = {"elicitation": lambda params, context: {
    name: True if name == "ok" else "Alice" for name in params.requested_schema.properties},
    "sampling": Sampling(lambda params, context: "Fine.", model="m"), "roots": ["file:///test/root"]}


@pytest.mark.parametrize("tool", sorted(QUESTIONS))
def test_a_tool_asks_by_its_result_under_the_keys_of_the_suite(tool):
    client, seen = told(**EVERYTHING)
    with client:
        text = client.call_tool("test_input_required_result_" + tool).text
    asked = [result for result in seen if result["resultType"] == "input_required"]
    assert ["%s %s" % (key, request["method"]) for result in asked
            for key, request in result["inputRequests"].items()] == QUESTIONS[tool]
    assert all(result["requestState"] for result in asked)
    assert any(word in text for word in ("Alice", "Fine.", "file:///test/root", "True"))
    assert ("state-ok" in text) == tool.endswith("_state")


def test_a_tool_asks_only_whom_there_is():
    client, seen = told(sampling=EVERYTHING["sampling"])
    with client:
        assert client.call_tool("test_input_required_result_capabilities").text == "The model says: Fine."


def test_a_prompt_asks_on_its_way():
    client, seen = told(**EVERYTHING)
    with client:
        [message] = encode(client.get_prompt("test_input_required_result_prompt"), LATEST_HANDSHAKE)["messages"]
    assert "Alice" in message["content"]["text"] and "user_context" in seen[-2]["inputRequests"]


def test_what_needs_a_capability_that_is_missing_is_a_json_rpc_error():
    client, seen = told()
    with client, pytest.raises(PeerError) as refused:
        client.call_tool("test_missing_capability")
    assert (refused.value.code, refused.value.data) == (-32021, {"requiredCapabilities": {"sampling": {}}})


@pytest.mark.parametrize("tool", ["test_logging_tool", "test_trigger_tool_change", "test_trigger_prompt_change"])
def test_a_tool_says_what_it_did_and_leaves_the_lists_as_they_were(tool):
    client, seen = told()
    with client:
        before = [item.name for item in [*client.list_tools().tools, *client.list_prompts().prompts]]
        assert client.call_tool(tool).text
        assert [item.name for item in [*client.list_tools().tools, *client.list_prompts().prompts]] == before


def test_a_tool_has_an_argument_that_goes_into_a_header_field(client):
    assert client.tool("test_x_mcp_header").input_schema["properties"]["region"]["x-mcp-header"] == "Region"
    assert client.call_tool("test_x_mcp_header", {"region": "eu"}).text == "Region: eu"


# -- Resources and prompts ---------------------------------------------------------------------


@pytest.mark.parametrize("uri, kind, text", [
    ("test://static-text", "text/plain", "This is the content of the static text resource."),
    ("test://template/123/data", "application/json",
     '{"id":"123","templateTest":true,"data":"Data for ID: 123"}'),
])
def test_a_resource_holds_exactly_this_text(client, uri, kind, text):
    assert encode(client.read_resource(uri), LATEST_HANDSHAKE)["contents"] == [
        {"uri": uri, "mimeType": kind, "text": text}]


def test_a_resource_holds_a_picture(client):
    [found] = encode(client.read_resource("test://static-binary"), LATEST_HANDSHAKE)["contents"]
    assert (found["uri"], found["mimeType"]) == ("test://static-binary", "image/png") and found["blob"].startswith(PNG)


def test_a_resource_can_be_watched(client):
    client.subscribe_resource("test://watched-resource")
    client.unsubscribe_resource("test://watched-resource")
    with pytest.raises(PeerError):
        client.subscribe_resource("test://nothing")


@pytest.mark.parametrize("name, arguments, expected", [
    ("test_simple_prompt", None, [{"type": "text", "text": "This is a simple prompt for testing."}]),
    ("test_prompt_with_arguments", {"arg1": "hello", "arg2": "world"},
     [{"type": "text", "text": "Prompt with arguments: arg1='hello', arg2='world'"}]),
    ("test_prompt_with_embedded_resource", {"resourceUri": "test://example"},
     [contents("Embedded resource content for testing.", "test://example", "text/plain"),
      {"type": "text", "text": "Please process the embedded resource above."}]),
])
def test_a_prompt_says_exactly_this(client, name, arguments, expected):
    messages = encode(client.get_prompt(name, arguments), LATEST_HANDSHAKE)["messages"]
    assert messages == [{"role": "user", "content": block} for block in expected]


def test_a_prompt_has_a_picture(client):
    picture, text = encode(client.get_prompt("test_prompt_with_image"), LATEST_HANDSHAKE)["messages"]
    assert picture["content"]["mimeType"] == "image/png" and picture["content"]["data"].startswith(PNG)
    assert text == {"role": "user", "content": {"type": "text", "text": "Please analyze the image above."}}


def test_the_arguments_of_prompts_are_required(client):
    required = {prompt.name: [one.name for one in prompt.arguments or () if one.required]
                for prompt in client.prompts()}
    assert required == {"test_simple_prompt": [], "test_prompt_with_arguments": ["arg1", "arg2"],
                        "test_prompt_with_embedded_resource": ["resourceUri"], "test_prompt_with_image": [],
                        "test_input_required_result_prompt": []}


def test_an_argument_completes(client):
    answer = client.complete("test_prompt_with_arguments", "arg1", "test")
    assert answer.completion.values == ["test", "testing", "tester"]


# -- The client fixture ------------------------------------------------------------------------


def numbers(server: Server, seen: List[Any]) -> None:
    """Add, be called again, ask for what is in a form already."""

    @server.tool
    def add_numbers(a: float, b: float) -> float:
        seen.append((a, b))
        return a + b

    @server.tool
    def test_client_elicitation_defaults(ctx: Context) -> None:
        form = {"age": {"type": "integer", "default": 30}, "score": {"type": "number", "default": 95.5}}
        seen.append(ctx.elicit("Look", form).content)

    @server.tool
    def test_reconnection() -> None:
        seen.append("called")


def schemas(server: Server, seen: List[Any]) -> None:
    """A tool with many words of its dialect, and one that hears of them."""

    @server.tool
    def json_schema_echo(schema: Dict[str, Any]) -> None:
        seen.append(schema)

    server.tool(lambda **arguments: "ok", name="json_schema_2020_12_tool", input_schema=server_fixture.CONTACT)


def questions(server: Server, seen: List[Any]) -> None:
    """Tools that ask for a confirmation, and some that do not."""

    def asks(ctx: Context) -> None:
        seen.append(ctx.elicit("Please confirm", {"confirmed": bool}).content)

    for name in ("test_mrtr_echo_state", "test_mrtr_no_state"):
        server.tool(asks, name=name)
    for name in ("test_mrtr_unrelated", "test_mrtr_no_result_type"):
        server.tool(partial(seen.append, name), name=name)


def one_of_each(server: Server, seen: List[Any]) -> None:
    """A tool, a resource and a prompt."""
    server.tool(partial(seen.append, "tool"), name="test_headers")
    server.resource("file:///path/to/file%20name.txt", name="r")(lambda: seen.append("resource") or "")
    server.prompt(name="test_prompt")(lambda: seen.append("prompt") or "")


def headers(server: Server, seen: List[Any]) -> None:
    """The two tools whose arguments go into header fields."""
    schema = {"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"}, "verbose": {"type": ["boolean", "null"]}}}
    for name in ("test_custom_headers", "test_custom_headers_null"):
        server.tool(lambda **arguments: seen.append(arguments), name=name, input_schema=schema)


def one_that_is_left(server: Server, seen: List[Any]) -> None:
    """The tool that is left when those with impossible headers are dropped."""
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    server.tool(lambda **arguments: seen.append(arguments), name="valid_tool", input_schema=schema)


def skills(server: Server, seen: List[Any]) -> None:
    """A skill that is what its entry says."""
    server.skills(server_fixture.SKILLS)


OLD, NEW = "2025-11-25", "2026-07-28"
CALLS = {"toolCalls": [{"name": "test_custom_headers", "arguments": {"region": " a\u4e16 "}},
                       {"name": "test_custom_headers_null", "arguments": {"region": "b", "verbose": None}}]}
# Scenario -> the revision of its wire, what the mock has, and what the mock has seen in the end.
SCENARIOS: Dict[str, Any] = {
    "initialize": (OLD, numbers, []),
    "tools_call": (OLD, numbers, [(5, 3)]),
    "elicitation-sep1034-client-defaults": (OLD, numbers, [{"age": 30, "score": 95.5}]),
    "sse-retry": (OLD, numbers, ["called"]),
    "json-schema-2020-12-preservation": (OLD, schemas, [server_fixture.CONTACT]),
    "request-metadata": (NEW, numbers, []),
    "sep-2322-client-request-state": (NEW, questions, [
        {"confirmed": True}, "test_mrtr_unrelated", {"confirmed": True}, "test_mrtr_no_result_type"]),
    "http-standard-headers": (NEW, one_of_each, ["tool", "resource", "prompt"]),
    "http-custom-headers": (NEW, headers, [call["arguments"] for call in CALLS["toolCalls"]]),
    "http-invalid-tool-headers": (NEW, one_that_is_left, [{"region": "x"}]),
    "json-schema-ref-no-deref": (NEW, schemas, []),
    **{"sep-2640-client-" + name: (NEW, skills, [])
       for name in ("no-prefetch", "verify-digest", "verify-size", "verify-frontmatter")},
}


@pytest.mark.sends_illegal(rules=lambda scenario: NUMBERS.args * (scenario == "elicitation-sep1034-client-defaults"))
@pytest.mark.parametrize("scenario", sorted(client_fixture.SCENARIOS))
def test_the_client_does_what_the_scenario_wants(scenario, monkeypatch):
    wire, fill, expected = SCENARIOS[scenario]
    monkeypatch.setenv("MCP_CONFORMANCE_CONTEXT", json.dumps(CALLS))
    seen: List[Any] = []
    server = Server("mock")
    fill(server, seen)
    with connected(server, era=wire, **client_fixture.OFFERS) as client:
        client_fixture.SCENARIOS[scenario](client)
    assert seen == expected


def asked(act: Any) -> List[str]:
    """The methods of what a client sends to our server fixture, from connecting on."""
    methods: List[str] = []
    ours, theirs = pair()
    server_fixture.server.connect(theirs)

    def see(event: Any) -> None:
        if event.direction == "client" and "method" in (event.message or {}):
            methods.append(event.message["method"])

    with Client(era=NEW).open(tap(ours, Trace(see), "client")) as client:
        act(client)
    return methods


def test_no_handshake_in_2026():
    assert asked(lambda client: client.call_tool("test_simple_text")) == [
        "server/discover", "tools/call"]


def test_listing_skills_reads_none():
    assert asked(client_fixture.skill_list) == ["server/discover", "skills/list"]
    read = ["resources/read"] * 3  # the skill, when it is loaded; then each of its two files
    assert asked(client_fixture.skill_files) == ["server/discover", "skills/list", *read]


@pytest.mark.parametrize("name", ["SKILL.md", "references/CARRIERS.md"])
def test_the_client_uses_no_skill_that_differs_from_its_entry(name, tmp_path):
    folder = tmp_path / "label-parcels"
    shutil.copytree(str(server_fixture.SKILLS / folder.name), str(folder))
    server = Server("mock")
    server.skills(tmp_path)
    with connected(server, era=NEW) as client:
        entries = client.skills()
        (folder / name).write_bytes((folder / name).read_bytes().replace(b"ier", b"eir"))
        client.skills = lambda: entries
        with pytest.raises(client_fixture.REFUSALS["sep-2640-client-verify-digest"]):
            client_fixture.skill_files(client)


@pytest.mark.parametrize("wire", ["2025-06-18", NEW])
def test_the_client_authorizes(wire, monkeypatch):
    """Its "browser" has no person; the tool that such mocks offer is called."""
    monkeypatch.delenv("MCP_CONFORMANCE_CONTEXT", raising=False)
    mock = Server("mock")
    seen: List[str] = []
    mock.tool(name="test-tool")(lambda: seen.append("called"))
    with Authorized(wire, server=mock) as scene:
        client_fixture.main("auth/metadata-default", wire, scene.protected.url)
    assert seen == ["called"]


def test_where_the_client_must_stop_it_says_if_it_did_not(monkeypatch):
    monkeypatch.delenv("MCP_CONFORMANCE_CONTEXT", raising=False)
    mock = Server("mock")
    mock.tool(name="test-tool")(lambda: None)
    with Authorized(NEW, server=mock) as scene:
        with pytest.raises(SystemExit, match="nothing was raised"):
            client_fixture.main("auth/iss-wrong-issuer", NEW, scene.protected.url)
        scene.issuing.iss = "https://another.example.com"
        client_fixture.main("auth/iss-wrong-issuer", NEW, scene.protected.url)


CONTEXT = {"client_id": "id", "client_secret": "s", "idp_client_id": "id2", "idp_id_token": "t",
           "idp_issuer": "https://idp.example.com", "idp_token_endpoint": "https://idp.example.com/token",
           "private_key_pem": PEM, "valid_jwt": "a.b.c"}


@pytest.mark.parametrize("scenario", sorted(authorization.GRANTS))
def test_the_client_has_a_grant_for_each_of_these(scenario):
    assert isinstance(authorization.grant_for(scenario, CONTEXT), Authorizing)


def test_the_client_offers_the_revision_of_the_wire_and_older_ones_with_a_handshake():
    assert {wire: client_fixture.revisions(wire) for wire in [*HANDSHAKE[1:], NEW]} == {
        NEW: [NEW], **{wire: HANDSHAKE[:HANDSHAKE.index(wire) + 1] for wire in HANDSHAKE[1:]}}


def test_the_client_names_the_scenarios_when_it_gets_an_unknown_one():
    with pytest.raises(SystemExit, match="no scenario 'nothing'; there are auth/., initialize, "):
        client_fixture.main("nothing", "2025-11-25", "http://127.0.0.1:1/mcp")
