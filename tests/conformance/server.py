"""The server that the official conformance suite is pointed at: what its scenarios expect to find, and nothing else.

    python3 tests/conformance/server.py --http 127.0.0.1:3000   # the suite's way
    python3 tests/conformance/server.py                         # the same over standard input and output

Names, texts and schemas are those of the suite; each function does what a scenario says, with the means that every
user of the library has. The part for the revision without sessions joins it with that revision.
"""

import argparse
import base64
import pathlib
import sys
from typing import Any, Dict, List

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))  # so that it runs from a checkout

from mcp_ref import Context, Server, ToolError  # noqa: E402
from mcp_ref.messages.content import EmbeddedResource, TextContent, TextResourceContents  # noqa: E402
from mcp_ref.server.content import audio, image  # noqa: E402

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


# Schemas


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
