"""A client and a host as an application writes them, with everything annotated; see `served.py`."""

import io
from typing import TYPE_CHECKING, Any, Callable, Dict, FrozenSet, List, Mapping, Optional, Tuple, Union

from mcp_ref import Client, Host, Limits, Server, connect
from mcp_ref.client import (
    ConnectionLost, Context, Elicitation, ModelCard, PeerError, RequestFuture, RequestTimeout, Roots, Sampling,
    SharedAnswers, UrlRequest, to_text,
)
from mcp_ref.host import Allow, AskOnce, ElicitationRequest, HostTool, Policy, SamplingRequest, ToolCall
from mcp_ref.messages import (
    CallToolResult, CompleteResult, ContentBlock, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequest, ElicitRequestFormParams, GetPromptResult, Implementation, InputRequest, InputRequiredResult,
    ListToolsResult, Prompt, ReadResourceResult, Resource, ResourceTemplate, Root, SamplingMessage, TextContent, Tool,
)

if TYPE_CHECKING:
    from typing_extensions import assert_type as exactly
else:
    def exactly(value, kind):
        """What `assert_type` does at run time: nothing."""
        return value

Told = List[Tuple[str, object]]


# -- What the server may ask -------------------------------------------------------------------


def model(params: CreateMessageRequestParams, context: Context) -> Union[str, CreateMessageResult]:
    """Answer as a model would."""
    context.progress(1)
    last = exactly(params.messages[-1], SamplingMessage)
    return CreateMessageResult("assistant", "m", TextContent(last.text)) if params.system_prompt else "said"


def approve(params: CreateMessageRequestParams, context: Context) -> bool:
    """Let the model be asked."""
    return params.max_tokens < 1000 and not exactly(context.cancelled.is_set(), bool)


def fill_in(params: ElicitRequestFormParams, context: Context) -> Optional[Dict[str, Any]]:
    """Answer as a user would."""
    exactly(params.message, str)
    return {"city": "Oslo"} if params.requested_schema.properties else None


def consent(request: UrlRequest, context: Optional[Context]) -> bool:
    """Look at the link."""
    return exactly(request.host, str) == "example.com" and not exactly(request.warnings, Tuple[str, ...])


def policy_of(told: Told) -> Policy:
    """A policy whose functions know what they are asked."""
    def ask(call: ToolCall) -> bool:
        told.append((str(call), exactly(call.arguments, Dict[str, Any])))
        return True

    def sampled(request: SamplingRequest) -> Allow:
        return Allow(all_servers=exactly(request.server, str) == "left")

    return Policy(tool_call=AskOnce(ask), sampling=sampled)


# -- Asking the server -------------------------------------------------------------------------


def texts(blocks: List[ContentBlock]) -> List[str]:
    """What is text, told apart by class."""
    return [exactly(block, TextContent).text if isinstance(block, TextContent) else block.type for block in blocks]


def ask_by_hand(client: Client) -> CallToolResult:
    """Two rounds of a call, which another process could do."""
    first = exactly(client.call_tool("by_hand", rounds="manual"), Union[CallToolResult, InputRequiredResult])
    if isinstance(first, CallToolResult):
        return first
    answers: Dict[str, Any] = {}
    for key, question in exactly(first.input_requests or {}, Dict[str, InputRequest]).items():
        assert isinstance(question, ElicitRequest)
        answers[key] = {"action": "accept", "content": {"who": "me"}}
    last = client.call_tool("by_hand", rounds="manual", input_responses=answers, request_state=first.request_state)
    assert not isinstance(last, InputRequiredResult)
    return exactly(last, CallToolResult)


def walk(client: Client, told: Told) -> None:
    """Use all that a server has."""
    exactly(client.server_info, Optional[Implementation])
    exactly(client.instructions, Optional[str])
    exactly(client.revision.name, str)
    exactly(client.tools(), List[Tool])
    page = exactly(client.list_tools(timeout=5), ListToolsResult)
    tool = exactly(client.tool("add"), Tool)
    told.append(("tools", ([each.name for each in page.tools], exactly(tool.input_schema, Dict[str, Any]))))
    result = exactly(client.call_tool("add", {"a": 1, "b": 2}, progress=lambda value, total, message: None),
                     CallToolResult)
    told.append(("add", (texts(result.content), exactly(result.text, str), exactly(result.is_error, Optional[bool]))))
    structured = exactly(result.structured_content, Optional[Any])
    if structured is not None:
        told.append(("structured", structured["result"]))
    result.structured_content["result"]  # type: ignore[index]  # it may be None
    future = exactly(client.submit_tool("look_around", meta={"acme/x": 1}), RequestFuture[CallToolResult])
    future.add_done_callback(lambda done: None)
    told.append(("look_around", exactly(future.result(timeout=10), CallToolResult).text))
    for name in ("book", "summarize", "discuss", "visit", "pictures"):
        told.append((name, client.call_tool(name, {"text": "x"} if name == "summarize" else None).text))
    told.append(("by_hand", ask_by_hand(client).text))
    resources = exactly(client.resources(), List[Resource])
    templates = exactly(client.resource_templates(), List[ResourceTemplate])
    told.append(("resources", [each.uri for each in resources] + [each.uri_template for each in templates]))
    contents = exactly(client.read_resource("config://app"), ReadResourceResult)
    told.append(("read", exactly(contents.text, str)))
    told.append(("note", exactly(client.submit_resource("note://a").result(), ReadResourceResult).contents[0].uri))
    prompts = exactly(client.prompts(), List[Prompt])
    prompt = exactly(client.get_prompt(prompts[0].name, {"code": "x"}), GetPromptResult)
    told.append(("prompt", prompt.messages[0].role))
    exactly(client.submit_prompt("review", {"code": "x"}, rounds="manual").result(),
            Union[GetPromptResult, InputRequiredResult])
    told.append(("complete", exactly(client.complete("review", "language", "p"), CompleteResult).completion.values))
    exactly(client.submit_completion("review", "language", "p"), RequestFuture[CompleteResult])
    told.append(("vendor", exactly(client.request("acme/search", {"query": "q"}), Dict[str, Any])["found"]))
    client.notify("acme/clicked", {"at": 1})
    with client.listen("tools", uris=["config://app"], callback=lambda uri: None) as wish:
        exactly(wish.agreed.uris, FrozenSet[str])
    exactly(client.capabilities, Dict[str, Any])
    exactly(client.server_capabilities, Mapping[str, Any])


def use(target: Union[Server, str, List[str]], era: str) -> Told:
    """Connect with everything that there is to say; what was told."""
    told: Told = []
    roots = Roots([Root("file:///srv", "srv")])
    with connect(
        target, era=era, roots=roots, trace=to_text(io.StringIO()), limits=Limits(request_timeout=20.0),
        sampling=Sampling(model, models=[ModelCard("m", cost=0.1)], tools=True, approve_request=approve),
        elicitation=Elicitation(fill_in, consent, open_url=lambda url: True), cache=SharedAnswers(),
        on_log=lambda level, data, logger: told.append((level, logger)), on_update=lambda uri: None,
        on_notification=lambda method, params: None,
    ) as client:
        @client.method("acme/ask")
        def answer(params: Dict[str, Any], context: Context) -> Optional[Dict[str, Any]]:
            return {"of": params["of"], "cancelled": context.cancelled.is_set()}

        function: Callable[[Dict[str, Any], Context], Optional[Dict[str, Any]]] = answer
        told.append(("answers", function.__name__))
        walk(exactly(client, Client), told)
        try:
            client.get_prompt("none", timeout=1)
        except (PeerError, RequestTimeout, ConnectionLost) as error:
            told.append(("error", exactly(error, Union[PeerError, RequestTimeout, ConnectionLost])))
    return told


def host(targets: Mapping[str, Any]) -> Told:
    """Several servers behind one policy."""
    told: Told = []

    def elicit(request: ElicitationRequest) -> Dict[str, str]:
        return {"city": request.server}

    def heard(server: str, level: str, data: Any, logger: Optional[str]) -> None:
        told.append((server, level))

    with Host(policy=policy_of(told), sampling=lambda request: "said", models=[ModelCard("m")], elicitation=elicit,
              roots=["."], on_log=heard, on_lost=lambda server, reason: None) as several:
        exactly(several.connect_all(targets), Dict[str, Any])  # type: ignore[assert-type]  # of McpError
        tools = exactly(several.tools(), List[HostTool])
        told.append(("tools", [exactly(tool.describe(), Dict[str, Any])["name"] for tool in tools]))
        for name in ("add", "book", "summarize"):
            arguments: Dict[str, Dict[str, Any]] = {"add": {"a": 1, "b": 2}, "summarize": {"text": "x"}}
            for server in several.clients:
                result = exactly(several.call_tool("%s__%s" % (server, name), arguments.get(name)), CallToolResult)
                told.append((server + " " + name, result.text))
        exactly(several.clients, Dict[str, Client])
        exactly(several.prompts()[0].prompt, Prompt)
        exactly(several.get_prompt("left__review", {"code": "x"}), GetPromptResult)
    return told
