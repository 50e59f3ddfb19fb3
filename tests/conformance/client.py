"""The client that the official conformance suite starts, once for each scenario; the server's URL is its last argument.

    MCP_CONFORMANCE_SCENARIO=tools_call python3 tests/conformance/client.py http://localhost:3000/mcp

The environment says what to do: the scenario's name, and the revision to speak in MCP_CONFORMANCE_PROTOCOL_VERSION.
Everything said on the wire is shown on standard error. Ends with 0 if the scenario went through.
"""

import json
import os
import pathlib
import sys
from typing import Any, Callable, Dict, List, Tuple, Type

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))  # so that it runs from a checkout

from mcp_ref import Client, Limits, connect  # noqa: E402
from mcp_ref.client import UnverifiedSkill  # noqa: E402
from mcp_ref.errors import McpError  # noqa: E402
from mcp_ref.revisions import HANDSHAKE_REVISIONS  # noqa: E402
from mcp_ref.wiretrace import to_text  # noqa: E402

PATIENT = Limits(request_timeout=20.0)
"""The suite gives up on a scenario after 30 seconds."""


def initialize(client: Client) -> None:
    """Shake hands, which `connect` has done: this mock offers nothing that a client may ask for."""


def tools_call(client: Client) -> None:
    """Add two numbers."""
    list(client.tools())
    client.call_tool("add_numbers", {"a": 5, "b": 3})


def elicitation_defaults(client: Client) -> None:
    """Be asked by a tool, and accept what the form has in it already."""
    list(client.tools())
    client.call_tool("test_client_elicitation_defaults", {})


def sse_retry(client: Client) -> None:
    """Call a tool whose stream breaks off."""
    list(client.tools())
    client.call_tool("test_reconnection", {})


def metadata(client: Client) -> None:
    """Be refused once, for a revision that is served: `connect` has got over that, and this mock declares nothing."""


def request_state(client: Client) -> None:
    """Be asked by results, with a state and without, and answer no other call with that."""
    for name in ("test_mrtr_echo_state", "test_mrtr_unrelated", "test_mrtr_no_state", "test_mrtr_no_result_type"):
        client.call_tool(name, {})


def standard_headers(client: Client) -> None:
    """Send every kind of request that names something."""
    for tool in list(client.tools()):
        client.call_tool(tool.name, {})
    for resource in list(client.resources()):
        client.read_resource(resource.uri)
    for prompt in list(client.prompts()):
        client.get_prompt(prompt.name)


def custom_headers(client: Client) -> None:
    """Make the calls that the suite wants."""
    list(client.tools())
    for call in json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])["toolCalls"]:
        client.call_tool(call["name"], call["arguments"])


def invalid_headers(client: Client) -> None:
    """Call every tool that is left when those with impossible headers are dropped."""
    for tool in list(client.tools()):
        client.call_tool(tool.name, {name: "x" for name in tool.input_schema["properties"]})


def foreign_reference(client: Client) -> None:
    """See a schema that refers to one elsewhere, and leave it at that."""
    list(client.tools())


def schema_preservation(client: Client) -> None:
    """Send back the schema of a tool as it came."""
    schema = client.tool("json_schema_2020_12_tool").input_schema
    client.call_tool("json_schema_echo", {"schema": schema})


def skill_list(client: Client) -> None:
    """See which skills there are, and read none."""
    client.skills()


def skill_files(client: Client) -> None:
    """Load each skill, and read its files: all that the suite serves here differ from their entries."""
    for skill in client.skills():
        loaded = client.load_skill(skill)
        for uri in loaded.files:
            loaded.read(uri)


def authorized(client: Client) -> None:
    """Ask for something twice, as some of these mocks change their minds after the first time."""
    list(client.tools())
    client.call_tool("test-tool", {})


SCENARIOS: Dict[str, Callable[[Client], None]] = {
    "initialize": initialize,
    "tools_call": tools_call,
    "elicitation-sep1034-client-defaults": elicitation_defaults,
    "sse-retry": sse_retry,
    "json-schema-2020-12-preservation": schema_preservation,
    "request-metadata": metadata,
    "sep-2322-client-request-state": request_state,
    "http-standard-headers": standard_headers,
    "http-custom-headers": custom_headers,
    "http-invalid-tool-headers": invalid_headers,
    "json-schema-ref-no-deref": foreign_reference,
    "sep-2640-client-no-prefetch": skill_list,
    **{"sep-2640-client-verify-" + what: skill_files for what in ("digest", "size", "frontmatter")},
}
REFUSALS: Dict[str, Tuple[Type[McpError], ...]] = {
    "sep-2640-client-verify-" + what: (UnverifiedSkill,) for what in ("digest", "size", "frontmatter")}
"""What must be raised in scenarios where the client has to stop."""


def revisions(wire: str) -> List[str]:
    """What to speak where the suite says this revision: it, and where there is a handshake the older ones too, as a
    server may answer with one."""
    names = [revision.name for revision in HANDSHAKE_REVISIONS]
    return names[:names.index(wire) + 1] if wire in names else [wire]


def accept(params: Any, context: Any) -> Any:
    """What the user does with every form: accepts it as it is, and says yes where it asks for a confirmation."""
    return {"confirmed": True} if "confirmed" in params.requested_schema.properties else True


def answer(params: Any, context: Any) -> str:
    """What the model says."""
    return "Yes."


OFFERS: Dict[str, Any] = {"elicitation": accept, "sampling": answer, "roots": [pathlib.Path(__file__).parent]}


def main(scenario: str, wire: str, url: str) -> None:
    """Run one scenario. Raises what the library raises."""
    act = authorized if scenario.startswith("auth/") else SCENARIOS.get(scenario)
    if act is None:
        sys.exit("no scenario %r; there are auth/*, %s" % (scenario, ", ".join(SCENARIOS)))
    options: Dict[str, Any] = dict(OFFERS, limits=PATIENT, era="auto", revisions=revisions(wire))
    refused = REFUSALS.get(scenario, ())
    if act is authorized:
        from tests.conformance import authorization

        context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
        options["auth"], refused = authorization.grant_for(scenario, context), authorization.REFUSALS.get(scenario, ())
    with to_text(sys.stderr, None) as trace:
        try:
            with connect(url, trace=trace, **options) as client:
                act(client)
        except refused as error:
            print("stopped, as it should: %s" % error, file=sys.stderr)
        else:
            if refused:
                sys.exit("nothing was raised, where the client must stop")


if __name__ == "__main__":
    main(os.environ.get("MCP_CONFORMANCE_SCENARIO", ""), os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"], sys.argv[-1])
