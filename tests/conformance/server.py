"""The server that the official conformance suite is pointed at: what its scenarios expect to find, and nothing else.

    python3 tests/conformance/server.py --http 127.0.0.1:3000   # the suite's way
    python3 tests/conformance/server.py                         # the same over standard input and output

Names, texts and schemas are those of the suite; each function does what a scenario says, with the means that every
user of the library has. What asks the client asks it in every revision, in the way of that revision.
"""

import argparse
import base64
import pathlib
import sys
from typing import Any, Dict, List, Optional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))  # so that it runs from a checkout

from mcp_ref import Context, Server, ToolError  # noqa: E402
from mcp_ref.messages.content import EmbeddedResource, TextContent, TextResourceContents  # noqa: E402
from mcp_ref.server import RpcError, audio, image  # noqa: E402

DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""A picture of one pixel."""
SILENCE = base64.b64decode("UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=")
"""A sound of no length."""
STEP_SECONDS = 0.05
"""Between two steps of a tool that reports what it does."""

server = Server("mcp_ref conformance fixture", version="1.0")


def pause(ctx: Context) -> None:
    """The time that a step takes; ends at once when the request is cancelled."""
    ctx.cancelled.wait(STEP_SECONDS)
    ctx.check()


def embedded(uri: str, mime_type: str, text: str) -> EmbeddedResource:
    """A resource in full, as a content block."""
    return EmbeddedResource(TextResourceContents(uri=uri, mime_type=mime_type, text=text))


# Kinds of content


@server.tool
def test_simple_text() -> str:
    """Gives a text."""
    return "This is a simple text response for testing."


@server.tool
def test_image_content() -> Any:
    """Gives a picture."""
    return image(DOT, "image/png")


@server.tool
def test_audio_content() -> Any:
    """Gives a sound."""
    return audio(SILENCE, "audio/wav")


@server.tool
def test_embedded_resource() -> Any:
    """Gives a resource in full."""
    return embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")


@server.tool
def test_multiple_content_types() -> List[Any]:
    """Gives a text, a picture and a resource."""
    return [
        TextContent("Multiple content types test:"), image(DOT, "image/png"),
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ]


@server.tool
def test_error_handling() -> str:
    """Fails."""
    raise ToolError("This tool intentionally returns an error for testing")


# While it runs


@server.tool
def test_tool_with_logging(ctx: Context) -> str:
    """Logs three messages."""
    ctx.log("info", "Tool execution started")
    pause(ctx)
    ctx.log("info", "Tool processing data")
    pause(ctx)
    ctx.log("info", "Tool execution completed")
    return "Logged three messages."


@server.tool
def test_tool_with_progress(ctx: Context) -> str:
    """Reports three steps."""
    for progress in (0, 50, 100):
        if progress:
            pause(ctx)
        ctx.progress(progress, 100)
    return "Took three steps."


@server.tool
def test_reconnection(ctx: Context) -> str:
    """Lets go of the connection in mid-call; the answer is for who comes back."""
    ctx.poll_later()
    pause(ctx)
    return "You came back."


# Asking the client


@server.tool
def test_sampling(prompt: str, ctx: Context) -> str:
    """Lets the client's model answer."""
    return "LLM response: %s" % ctx.sample(prompt, 100).text


@server.tool
def test_elicitation(message: str, ctx: Context) -> str:
    """Asks the user who they are."""
    answer = ctx.elicit(message, {"username": str, "email": str})
    return "User response: %s %s" % (answer.action, answer.content)


@server.tool
def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Asks for every kind of field that can have a default."""
    answer = ctx.elicit("Please look over your profile.", {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    })
    return "User response: %s %s" % (answer.action, answer.content)


VALUES = ["option1", "option2", "option3"]
TITLED = [{"const": "value%d" % number, "title": "Value %d" % number} for number in (1, 2, 3)]


@server.tool
def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Asks for every kind of choice."""
    answer = ctx.elicit("Please choose.", {
        "untitledSingle": {"type": "string", "enum": VALUES},
        "titledSingle": {"type": "string", "oneOf": TITLED},
        "legacyEnum": {
            "type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option 1", "Option 2", "Option 3"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": VALUES}},
        "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    })
    return "User response: %s %s" % (answer.action, answer.content)


# Asking the client where it must be asked by the result: the keys of the questions are the suite's


@server.tool
def test_input_required_result_elicitation(ctx: Context) -> str:
    """Asks for a name."""
    return "Hello, %s!" % ctx.elicit("What is your name?", {"name": str}, key="user_name").content


@server.tool
def test_input_required_result_sampling(ctx: Context) -> str:
    """Asks the model."""
    return ctx.sample("What is the capital of France?", 100, key="capital_question").text


@server.tool
def test_input_required_result_list_roots(ctx: Context) -> str:
    """Asks for the roots."""
    return "Roots: %s" % ", ".join(root.uri for root in ctx.list_roots(key="client_roots"))


@server.tool
def test_input_required_result_request_state(ctx: Context) -> str:
    """Asks for a confirmation, with a state that has to come back."""
    return "state-ok: %s" % ctx.elicit("Please confirm", {"ok": bool}, key="confirm").content


@server.tool
def test_input_required_result_multiple_inputs(ctx: Context) -> str:
    """Asks three things at once."""
    answers = ctx.ask_all({
        "user_name": lambda: ctx.elicit("What is your name?", {"name": str}).content,
        "greeting": lambda: ctx.sample("Generate a greeting", 50).text,
        "client_roots": lambda: [root.uri for root in ctx.list_roots()],
    })
    return "%s %s %s" % (answers["greeting"], answers["user_name"], answers["client_roots"])


@server.tool
def test_input_required_result_multi_round(ctx: Context) -> str:
    """Asks two things, one after the other."""
    name = ctx.elicit("Step 1: What is your name?", {"name": str}, key="step1").content
    color = ctx.elicit("Step 2: What is your favorite color?", {"color": str}, key="step2").content
    return "%s %s" % (name, color)


@server.tool
def test_input_required_result_tampered_state(ctx: Context) -> str:
    """Asks for a confirmation; the library refuses a state that was changed."""
    return "state-ok: %s" % ctx.elicit("Please confirm", {"ok": bool}, key="confirm").content


@server.tool
def test_input_required_result_capabilities(ctx: Context) -> str:
    """Asks whom the client says there is to ask."""
    if "elicitation" in ctx.session.peer_capabilities:
        return "The user says: %s" % ctx.elicit("Please confirm", {"ok": bool}, key="user").content
    return "The model says: %s" % ctx.sample("Are you there?", 10, key="model").text


@server.tool
def test_missing_capability(ctx: Context) -> str:
    """Asks the model of a client that has none."""
    return ctx.sample("Are you there?", 10).text


@server.tool
def test_streaming_elicitation(ctx: Context) -> str:
    """Asks the user in the middle of a stream."""
    ctx.progress(1, 2)
    return "User response: %s" % ctx.elicit("Please confirm", {"ok": bool}).action


@server.tool
def test_logging_tool(ctx: Context) -> str:
    """Logs for who wants to hear it."""
    ctx.log("error", "Nobody asked for this")
    return "Logged."


# Tasks


@server.tool
def greet(name: str) -> str:
    """Greets, at once."""
    return "Hello, %s!" % name


@server.tool(task="optional")
def slow_compute(ctx: Context, seconds: float, label: str = "") -> str:
    """Takes its time."""
    ctx.cancelled.wait(seconds)
    ctx.check()
    return "Computed %s for %g seconds." % (label or "something", seconds)


@server.tool(task="required")
def failing_job(ctx: Context) -> str:
    """Fails after a while."""
    pause(ctx)
    raise ToolError("The job has failed.")


@server.tool(task="optional")
def protocol_error_job(ctx: Context) -> str:
    """Ends in an error of the protocol."""
    pause(ctx)
    raise RpcError(-32603, "The job cannot be done.")


@server.tool(task="optional")
def confirm_delete(ctx: Context, filename: str) -> str:
    """Asks before it deletes."""
    sure = ctx.elicit("Delete %s?" % filename, {"confirm": bool}, key="confirm")
    return "Deleted." if sure and sure["confirm"] else "Kept."


@server.tool(task="optional")
def multi_input(ctx: Context) -> str:
    """Asks two things at once."""
    form = {"name": Optional[str], "confirm": Optional[bool]}
    answers = ctx.ask_all({key: lambda: ctx.elicit("Name and confirm", form) for key in ("name", "confirm")})
    return "Answers: %s" % ", ".join("%s %s" % (key, answers[key].action) for key in answers)


def name_first(ctx: Context, arguments: Dict[str, Any]) -> bool:
    """Asks for the name before there is a task."""
    return ctx.elicit("What is your name?", {"name": str}, key="user_name").accepted


@server.tool(task=name_first)
def test_tool_with_task(ctx: Context) -> str:
    """Greets whoever has said their name before."""
    return "Hello, %s!" % ctx.elicit("What is your name?", {"name": str}, key="user_name")["name"]


# Changes


def changed() -> str:
    """What there is for a moment only."""
    return "You were quick."


@server.tool
def test_trigger_tool_change() -> str:
    """Changes the list of tools, and changes it back."""
    with server.announce_once():
        server.tool(changed, name="test_changed_tool")
        server.remove_tool("test_changed_tool")
    return "The list of tools has changed."


@server.tool
def test_trigger_prompt_change() -> str:
    """Changes the list of prompts, and changes it back."""
    with server.announce_once():
        server.prompt(changed, name="test_changed_prompt")
        server.remove_prompt("test_changed_prompt")
    return "The list of prompts has changed."


# Schemas


@server.tool(input_schema={"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}})
def test_x_mcp_header(region: str = "") -> str:
    """Has an argument that is repeated in a header field."""
    return "Region: %s" % region


CONTACT: Dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        },
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


@server.tool(input_schema=CONTACT)
def json_schema_2020_12_tool(**arguments: Any) -> str:
    """Has a schema with many words of its dialect."""
    return "Got %s." % ", ".join(sorted(arguments))


# Resources


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    """A text that never changes."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """A picture that never changes."""
    return DOT


@server.resource("test://watched-resource", mime_type="text/plain")
def watched_resource() -> str:
    """What clients subscribe to."""
    return "This is the content of the watched resource."


@server.resource("test://template/{id}/data", mime_type="application/json")
def template(id: str) -> Dict[str, Any]:
    """One of many resources."""
    return {"id": id, "templateTest": True, "data": "Data for ID: %s" % id}


# Prompts


@server.prompt
def test_simple_prompt() -> str:
    """One message."""
    return "This is a simple prompt for testing."


@server.prompt
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """Tells its arguments."""
    return "Prompt with arguments: arg1='%s', arg2='%s'" % (arg1, arg2)


@server.completion("test_prompt_with_arguments", "arg1")
def first_arguments(value: str) -> List[str]:
    """What the first argument could be."""
    return [word for word in ("test", "testing", "tester", "other") if word.startswith(value)]


@server.prompt
def test_prompt_with_embedded_resource(resourceUri: str) -> List[Any]:
    """A resource in full, and a question about it."""
    return [embedded(resourceUri, "text/plain", "Embedded resource content for testing."),
            "Please process the embedded resource above."]


@server.prompt
def test_prompt_with_image() -> List[Any]:
    """A picture, and a question about it."""
    return [image(DOT, "image/png"), "Please analyze the image above."]


@server.prompt
def test_input_required_result_prompt(ctx: Context) -> str:
    """Asks on the way to a prompt."""
    answer = ctx.elicit("What context should the prompt use?", {"context": str}, key="user_context")
    return "Please mind the context: %s" % answer.content


# Skills


SKILLS = pathlib.Path(__file__).parent / "skills"
server.skills(SKILLS)


def main() -> None:
    """Parse the options and serve."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--http", metavar="HOST:PORT", help="serve over HTTP here, at /mcp")
    parser.add_argument("--streams", action="store_true", help="reply to every request with a stream")
    options = parser.parse_args()
    if options.http is None:
        server.run()
        return
    host, _, port = options.http.rpartition(":")
    server.run_http(host.strip("[]"), int(port), json_response=False if options.streams else None)


if __name__ == "__main__":
    main()
