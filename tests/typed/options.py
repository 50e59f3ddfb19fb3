"""What type checkers say of options: `make check` reads this with mypy and pyright in strict mode, nothing runs it.

A line with ``type: ignore`` is one that a checker must refuse: mypy complains of an ignore that is not needed.
"""

from typing import TYPE_CHECKING, Callable, Union

from mcp_ref import Client, Context, Host, Limits, Server, connect
from mcp_ref.messages.mrtr import InputRequiredResult
from mcp_ref.messages.prompts import GetPromptResult
from mcp_ref.messages.resources import ReadResourceResult
from mcp_ref.messages.tools import CallToolResult

if TYPE_CHECKING:
    from mcp_ref.peer.future import RequestFuture

server = Server("typed", version="1", strict=True)


@server.tool
def add(a: int, b: int) -> int:
    return a + b


@server.tool(title="Adds", rate=2.5)
def sum_of(numbers: "list[int]") -> int:
    return sum(numbers)


@server.resource("config://app", mime_type="text/plain")
def config() -> str:
    return "x"


@server.prompt(title="Review")
def review(code: str) -> str:
    return code


@server.completion("review", "code")
def codes(value: str) -> "list[str]":
    return [value]


@server.tool
def ask(ctx: Context) -> str:
    ctx.progress(1, total=2, message="half")
    answer = ctx.elicit("Which?", {"name": str}, timeout=3)
    ctx.sample("Say", max_tokens=10, hints=["small"], timeout=None)
    ctx.sample("Say", max_tokens=10, hint=["small"])  # type: ignore[call-arg]
    ctx.sample_with_tools("Say", max_tokens=10, tools=["add"], max_tool_iterations=2)
    ctx.progress(1, totl=2)  # type: ignore[arg-type]
    ctx.elicit("Which?", {}, timout=3)  # type: ignore[call-overload]
    return str(answer)


def decorated_functions_keep_their_types() -> None:
    of_add: Callable[[int, int], int] = add
    of_review: Callable[[str], str] = review
    wrong: Callable[[str], str] = add  # type: ignore[assignment]
    server.tool(nme="x")  # type: ignore[call-overload]
    server.resource("config://b", mimetype="text/plain")  # type: ignore[call-arg]
    server.prompt(titel="x")  # type: ignore[call-overload]
    server.directory("docs", patern="*.md")  # type: ignore[call-arg]
    print(of_add, of_review, wrong)


def calls(client: Client) -> None:
    result: CallToolResult = client.call_tool("add", {"a": 1}, timeout=3, progress=lambda value, total, message: None)
    by_hand: Union[CallToolResult, InputRequiredResult] = client.call_tool("add", rounds="manual")
    not_by_hand: CallToolResult = client.call_tool("add", rounds="manual")  # type: ignore[assignment]
    client.call_tool("add", rounds="twice")  # type: ignore[call-overload]
    client.call_tool("add", timout=3)  # type: ignore[call-overload]
    contents: ReadResourceResult = client.read_resource("config://app", refresh=True, timeout=None)
    messages: GetPromptResult = client.get_prompt("review", {"code": "x"}, meta={"a": 1})
    client.list_tools(timeout="3")  # type: ignore[arg-type]
    client.tools(refesh=True)  # type: ignore[call-arg]
    client.complete("review", "code", "a", timout=3)  # type: ignore[call-arg]
    client.request("ping", timout=3)  # type: ignore[arg-type]
    client.listen("tools", url=())  # type: ignore[call-arg]
    print(result, by_hand, not_by_hand, contents, messages)


def futures(client: Client) -> None:
    future: "RequestFuture[CallToolResult]" = client.submit_tool("add", {"a": 1}, timeout=3)
    text: str = client.submit_prompt("review").result()  # type: ignore[assignment]
    is_error = future.result(timeout=1).is_error
    read: ReadResourceResult = client.submit_resource("config://app").result()
    values: "list[str]" = client.submit_completion("review", "code", "a").result().completion.values
    print(future, text, is_error, read, values)


def connections() -> None:
    connect("server", env={"A": "1"}, era="legacy", strict=True, limits=Limits(max_workers=3))
    connect("server", timout=3)  # type: ignore[call-arg]
    connect("server", strict="yes")  # type: ignore[arg-type]
    Limits(max_worker=3)  # type: ignore[call-arg]
    Server("x", mask_error=True)  # type: ignore[call-arg]
    server.run_http(port=1, token="x", sessions="none", ready=print)
    server.run_http(tokn="x")  # type: ignore[call-arg]
    server.wsgi(stream=True)  # type: ignore[call-arg]
    with Host(keepalive=3.0) as host:
        host.connect("a", "server", trusted=True, headers={"a": "b"}, check_results=False)
        host.connect("a", "server", truste=True)  # type: ignore[call-arg]
        found: CallToolResult = host.call_tool("a__add", {"a": 1}, timeout=3)
        host.call_tool("a__add", timout=3)  # type: ignore[call-overload]
        print(found)
