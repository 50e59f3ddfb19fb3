"""The options that several calls of a server share: each family once, as a TypedDict, with its defaults.

`mcp_ref.options` has the mechanism. The docstring of one call says what the options of a family mean:

===========================================  =============================  ===========================================
family                                       described at                   taken by
===========================================  =============================  ===========================================
`HttpOptions`                                `Server.run_http`               `Server.listen`, `HttpListener` and
                                                                             `serve_http`, too
`EndpointOptions`, a part of it, and more    `Server.wsgi`                   `endpoint_of`, too
`ToolOptions`                                `Server.tool`                   `Tools.add`, but for those that need more
                                                                             than the tools
`ResourceOptions`                            `Server.resource`               `Resources.add`; `FixedOptions`, a part of
                                                                             it, by `Resources.add_fixed`
`PromptOptions`                              `Server.prompt`                 `Prompts.add`, too
`SampleOptions`, `ToolSampleOptions`         `sampling.sample`,              `Context.sample`,
                                             `sampling.sample_with_tools`    `Context.sample_with_tools`
===========================================  =============================  ===========================================
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Sequence, TypedDict, Union

from ..options import takes

if TYPE_CHECKING:
    import ssl

    from ..messages.base import Annotations, Icon
    from ..messages.prompts import PromptArgument
    from ..messages.sampling import ModelPreferences, ToolChoice
    from ..messages.tools import Tool, ToolAnnotations
    from ..protocol.streamable_http.header_values import Names
    from ..stores import Store
    from ..streamable.server.authenticate import Authenticate, Guard
    from ..streamable.server.session import SessionTable
    from ..wiretrace import Trace
    from .registry.caching import Cache
    from .tools import TaskSupport


class _HttpOptions(TypedDict, total=False):
    auth: "Optional[Guard]"
    token: Optional[str]
    authenticate: "Optional[Authenticate]"
    allowed_hosts: "Optional[Names]"
    allowed_origins: "Optional[Names]"
    sessions: "Union[str, SessionTable, Store]"
    json_response: Optional[bool]
    poll_after: Optional[float]
    trusted_proxies: Sequence[str]
    trace: "Optional[Trace]"


class EndpointOptions(_HttpOptions, total=False):
    """Options of an endpoint for any HTTP server."""

    path: Optional[str]
    streams: bool
    delete: bool


class HttpOptions(_HttpOptions, total=False):
    """Options of an HTTP server of our own."""

    legacy: bool
    fds: Sequence[int]
    ssl_context: "Optional[ssl.SSLContext]"
    health: Optional[str]
    metrics: Optional[str]


ENDPOINT: EndpointOptions = {
    "path": "/mcp", "auth": None, "token": None, "authenticate": None, "allowed_hosts": None, "allowed_origins": None,
    "sessions": "memory", "json_response": None, "poll_after": None, "streams": True, "delete": True,
    "trusted_proxies": (), "trace": None,
}
WSGI: EndpointOptions = {**ENDPOINT, "streams": False}  # each would hold a thread of the engine
HTTP: HttpOptions = {
    "auth": None, "token": None, "authenticate": None, "allowed_hosts": None, "allowed_origins": None,
    "sessions": "memory", "json_response": None, "poll_after": None, "legacy": True, "fds": (), "ssl_context": None,
    "trusted_proxies": (), "trace": None, "health": None, "metrics": None,
}
takes_endpoint_options = takes(EndpointOptions, ENDPOINT)
takes_wsgi_options = takes(EndpointOptions, WSGI)
takes_http_options = takes(HttpOptions, HTTP)


class RegisteredToolOptions(TypedDict, total=False):
    """Options of a tool that are kept with it."""

    name: Optional[str]
    title: Optional[str]
    description: Optional[str]
    input_schema: Optional[Dict[str, Any]]
    output_schema: Optional[Dict[str, Any]]
    structured: Optional[bool]
    annotations: "Optional[ToolAnnotations]"
    icons: "Optional[List[Icon]]"
    meta: Optional[Dict[str, Any]]
    rate: Optional[float]
    task: "TaskSupport"
    visible: Optional[Callable[..., Any]]


class ToolOptions(RegisteredToolOptions, total=False):
    """Options of a tool: those, and short forms of some."""

    ui: Optional[str]
    visibility: Optional[Sequence[str]]
    read_only: Optional[bool]
    destructive: Optional[bool]
    idempotent: Optional[bool]
    open_world: Optional[bool]


REGISTERED_TOOL: RegisteredToolOptions = {
    "name": None, "title": None, "description": None, "input_schema": None, "output_schema": None, "structured": None,
    "annotations": None, "icons": None, "meta": None, "rate": None, "task": "forbidden", "visible": None,
}
TOOL: ToolOptions = {
    "name": None, "title": None, "description": None, "input_schema": None, "output_schema": None, "structured": None,
    "annotations": None, "icons": None, "meta": None, "rate": None, "task": "forbidden", "ui": None, "visibility": None,
    "read_only": None, "destructive": None, "idempotent": None, "open_world": None, "visible": None,
}
takes_registered_tool_options = takes(RegisteredToolOptions, REGISTERED_TOOL)
takes_tool_options = takes(ToolOptions, TOOL)


class PromptOptions(TypedDict, total=False):
    """Options of a prompt."""

    name: Optional[str]
    title: Optional[str]
    description: Optional[str]
    arguments: "Optional[List[PromptArgument]]"
    icons: "Optional[List[Icon]]"
    meta: Optional[Dict[str, Any]]
    visible: Optional[Callable[..., Any]]


PROMPT: PromptOptions = {
    "name": None, "title": None, "description": None, "arguments": None, "icons": None, "meta": None, "visible": None,
}
takes_prompt_options = takes(PromptOptions, PROMPT)


class FixedOptions(TypedDict, total=False):
    """Options of a resource with fixed contents."""

    name: Optional[str]
    title: Optional[str]
    description: Optional[str]
    mime_type: Optional[str]
    size: Optional[int]
    annotations: "Optional[Annotations]"
    icons: "Optional[List[Icon]]"
    meta: Optional[Dict[str, Any]]
    cache: "Optional[Cache]"
    visible: Optional[Callable[..., Any]]


class ResourceOptions(FixedOptions, total=False):
    """Options of a resource or a template that a function reads."""

    unchecked: Iterable[str]


FIXED: FixedOptions = {
    "name": None, "title": None, "description": None, "mime_type": None, "size": None, "annotations": None,
    "icons": None, "meta": None, "cache": None, "visible": None,
}
RESOURCE: ResourceOptions = {**FIXED, "unchecked": ()}
takes_fixed_options = takes(FixedOptions, FIXED)
takes_resource_options = takes(ResourceOptions, RESOURCE)


class _SampleOptions(TypedDict, total=False):
    system_prompt: Optional[str]
    model_preferences: "Optional[ModelPreferences]"
    hints: Optional[Sequence[str]]
    include_context: Optional[str]
    temperature: Optional[float]
    stop_sequences: Optional[List[str]]
    metadata: Optional[Dict[str, Any]]
    tool_choice: "Union[None, str, ToolChoice]"
    meta: Optional[Dict[str, Any]]
    timeout: Optional[float]
    key: Optional[str]


class SampleOptions(_SampleOptions, total=False):
    """Options of one question to the client's model."""

    tools: "Optional[Sequence[Tool]]"


class ToolSampleOptions(_SampleOptions, total=False):
    """Options of a conversation with the client's model, which uses tools."""

    max_tool_iterations: Optional[int]


SAMPLE: SampleOptions = {
    "system_prompt": None, "model_preferences": None, "hints": None, "include_context": None, "temperature": None,
    "stop_sequences": None, "metadata": None, "tools": None, "tool_choice": None, "meta": None, "timeout": None,
    "key": None,
}
TOOL_SAMPLE: ToolSampleOptions = {
    "system_prompt": None, "model_preferences": None, "hints": None, "include_context": None, "temperature": None,
    "stop_sequences": None, "metadata": None, "tool_choice": None, "max_tool_iterations": None, "meta": None,
    "timeout": None, "key": None,
}
takes_sample_options = takes(SampleOptions, SAMPLE)
takes_tool_sample_options = takes(ToolSampleOptions, TOOL_SAMPLE)
