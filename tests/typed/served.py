"""A server as an author writes it, with everything annotated: `make check` reads it with mypy and pyright, both strict.

Where something has to be of one type and no other, `exactly` (`assert_type`) says so: an `Any` would not pass.
`tests/client/test_typed_programs.py` runs it against `using.py`.
"""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Tuple, TypedDict, Union

from mcp_ref import Context, Limits, McpError, Server, ToolError
from mcp_ref.messages import (
    Annotations, CallToolResult, Completion, CreateMessageResult, ElicitRequest, ElicitRequestFormParams, ElicitResult,
    Icon, ImageContent, InputRequiredResult, PromptMessage, RequestedSchema, Root, StringSchema, TextContent,
    TextResourceContents, ToolAnnotations,
)
from mcp_ref.server import (
    Answer, Cache, Connection, Extension, Inline, MainThreadQueue, Method, ResourceNotFound, Route, RpcError,
    UrlElicitationRequired, audio, blob, image,
)

if TYPE_CHECKING:
    from typing_extensions import assert_type as exactly
else:
    def exactly(value, kind):
        """What `assert_type` does at run time: nothing."""
        return value


@dataclass
class Ticket:
    """What the form asks for, and what `book` returns."""

    city: str
    nights: int = 1


PIXEL = b"\x89PNG\r\n\x1a\n"
server = Server(
    "typed", "1.0", title="Typed", icons=[Icon("https://example.com/icon.png", mime_type="image/png")],
    limits=Limits(max_workers=4), cache=Cache(ttl=60, scope="public"), experimental={"acme": {}}, strict=True,
    on_roots_changed=lambda connection: None, features=["completions", "logging"],
)
heard: List[Dict[str, Any]] = []


# -- Tools -------------------------------------------------------------------------------------


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(title="Book", annotations=ToolAnnotations(read_only_hint=False), meta={"acme/a": 1}, rate=1000.0)
def book(ctx: Context, city: Optional[str] = None) -> Ticket:
    """Book a room, and ask for what is missing."""
    if city is not None:
        return Ticket(city)
    answer = exactly(ctx.elicit("Which city?", Ticket), Answer[Ticket])
    if not exactly(answer.accepted, bool):
        raise ToolError("nothing was booked")
    exactly(answer.content, Dict[str, Any])
    return exactly(answer.value, Ticket)


class Person(TypedDict):
    """Another way to write a form."""

    name: str


@server.tool
def ask(ctx: Context) -> str:
    """Ask with forms of the other kinds."""
    name = exactly(ctx.elicit("Who?", Person).value, Person)["name"]
    more = exactly(ctx.elicit("Who?", {"name": str, "age": Optional[int]}).value, Dict[str, Any])
    return "%s, %s" % (name, more)


@server.tool(name="look_around", structured=True)
def look(ctx: Context) -> List[str]:
    """Ask for several things in one round, and tell how far it is."""
    ctx.check()
    ctx.progress(1, total=2, message="half")
    ctx.log("info", {"at": ctx.request_id}, logger="look")
    exactly(ctx.meta, Dict[str, Any])
    exactly(ctx.trace_context, Dict[str, str])
    exactly(ctx.cancelled.is_set(), bool)
    number = exactly(ctx.once("number", lambda: 5), int)
    found = ctx.ask_all({"roots": ctx.list_roots, "sure": lambda: ctx.elicit("Sure?", {})})
    here: List[Root] = exactly(found, Dict[str, Any])["roots"]
    roots = exactly(ctx.list_roots(key="again"), List[Root])
    return ["%d" % number] + [root.uri for root in here] + [root.name or "" for root in roots]


@server.tool
def summarize(text: str, ctx: Context) -> str:
    """Ask the client's model, which may use a tool."""
    said = exactly(ctx.sample("In one line: " + text, 100, hints=["small"], temperature=0.1), CreateMessageResult)
    content = said.content
    if isinstance(content, list):
        return said.text
    return content.text if isinstance(content, TextContent) else exactly(said.model, str)


@server.tool
def discuss(ctx: Context) -> str:
    """Let the model use a tool of this server, and a function."""
    return ctx.sample_with_tools("Add", 100, tools=["add"], max_tool_iterations=2).text


@server.tool
def visit(ctx: Context) -> str:
    """Ask the user to follow a link."""
    return exactly(ctx.elicit_url("Please sign in", "https://example.com/in", "e-1").action, str)


@server.tool
def pictures() -> List[Any]:
    """Content of several kinds."""
    return ["a picture", exactly(image(PIXEL, "image/png"), ImageContent), audio(b"", "audio/wav"),
            blob("file:///x", b"x", "text/x")]


@server.tool
def by_hand(ctx: Context) -> Union[CallToolResult, InputRequiredResult]:
    """Say everything oneself, the questions too."""
    answer = exactly(ctx.input_responses, Dict[str, Any]).get("who")
    state = exactly(ctx.request_state, Optional[str])
    if isinstance(answer, ElicitResult):
        who = (answer.content or {}).get("who")
        return CallToolResult([TextContent("%s %s" % (who, state))], structured_content={"who": who})
    schema = RequestedSchema(properties={"who": StringSchema()}, required=["who"])
    question = ElicitRequest(ElicitRequestFormParams(message="Who?", requested_schema=schema))
    return InputRequiredResult(input_requests={"who": question}, request_state="asked")


# -- Resources, prompts, completions -----------------------------------------------------------


@server.resource("config://app", mime_type="application/json", annotations=Annotations(audience=["user"], priority=0.5))
def config() -> Dict[str, int]:
    """The configuration."""
    return {"level": 1}


@server.resource("note://{name}", title="A note", cache=Cache(ttl=1))
def note(name: str, ctx: Context) -> TextResourceContents:
    """A note."""
    if name == "none":
        raise ResourceNotFound("note://none")
    return TextResourceContents(uri="note://" + name, text=str(ctx.request_id))


@server.prompt(title="Review")
def review(code: str, language: str = "python") -> List[PromptMessage]:
    """Review some code."""
    return [PromptMessage("user", TextContent("%s: %s" % (language, code)))]


@server.completion("review", "language")
def languages(value: str) -> Iterator[str]:
    """Languages that begin so."""
    return (name for name in ("python", "perl", "ruby") if name.startswith(value))


@server.completion("note://{name}", "name")
def names(value: str, arguments: Dict[str, str], ctx: Context) -> Completion:
    """Names of notes."""
    return Completion([value + "1"], total=1, has_more=False)


# -- A vendor's own ----------------------------------------------------------------------------


@server.method("acme/search")
def search(query: str, limit: int = 2) -> Dict[str, List[str]]:
    """Find something."""
    if not query:
        raise RpcError(-32602, "empty")
    return {"found": [query] * limit}


@server.on_notification("acme/clicked")
def clicked(connection: Connection, params: Dict[str, Any]) -> None:
    """Remember it."""
    heard.append(params)


class Thing(Extension):
    """Beyond the protocol."""

    identifier = "com.example/thing"
    methods = (Method("com.example/do", "request", "client", Dict[str, Any], Dict[str, Any], None, None, "none"),)

    def route(self, role: Any, method: str, revision: Any) -> Route:
        """Answer, whatever is asked."""
        return Route(lambda context, params: {"done": exactly(params, Dict[str, Any]) == {}})


def types_of_decorated() -> None:
    """Decorators give back the very function."""
    exactly(add(1, 2), int)
    exactly(book, Callable[[Context, Optional[str]], Ticket])  # type: ignore[assert-type]  # names of parameters
    one: Tuple[int, str] = (add(1, 2), config.__name__)
    exactly(note, Any)  # type: ignore[assert-type]
    exactly(review("x"), List[PromptMessage])
    exactly(languages("p"), Iterator[str])
    exactly(search("x"), Dict[str, List[str]])
    add("x", 2)  # type: ignore[arg-type]
    print(one)


def main() -> None:
    """Serve, in one of the ways."""
    exactly(server.connections, List[Connection])
    with server.announce_once():
        server.remove_tool("pictures")
        server.tool(pictures, description="Again.")
    exactly(server.resource_updated("config://app"), None)
    exactly(server.broadcast("acme/event", {"n": 1}), int)
    exactly(server.log("info", "serving"), int)
    Server("other", executor=Inline(), extensions=[Thing()])
    Server("another", executor=MainThreadQueue())
    exactly(server.handle("POST", "/mcp", {}, b"{}").status, int)
    try:
        server.run_http(port=0, token="x", ready=print)
    except (McpError, UrlElicitationRequired) as error:
        print(error, file=sys.stderr)
    server.run()


if __name__ == "__main__":
    main()
