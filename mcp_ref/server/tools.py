"""Tools: functions that a model calls [.. server/tools §Protocol Messages].

What goes wrong, and what the client sees:

===========================================  =========================================================
an unknown tool                              error -32602
arguments that do not fit the input schema   an ``isError`` result since 2025-11-25, before that -32602
calls above the rate                         ``isError``, naming the limit
`ToolError`                                  ``isError``, its text verbatim, for the model
any other exception of the tool              ``isError``; its text: `mcp_ref.server.results`
`RpcError`                                   that JSON-RPC error
a result that JSON cannot hold               ``isError``, naming the place: ``$.mean is NaN``
a structured result unlike its schema        ``isError``, naming the place
content that may not be sent                 ``isError``, as any other exception
===========================================  =========================================================

Reading: calls above the rate are reported as a result, as the pages' own example of a rate limit
is [2024-11-05..2025-06-18 server/tools §Error Handling]: it is the model that calls too often, and it
can wait.

An argument that proxies should be able to route by is repeated in a header field of HTTP. It is a string, an integer or
a boolean, and its schema says so, in an explicit schema or in the signature::

    @server.tool
    def query(region: Annotated[str, {"x-mcp-header": "Region"}], sql: str) -> str:     # Mcp-Param-Region: us-west1

``None`` goes inside, ``Annotated[Optional[str], {...}]``, as Python has it; an argument that is not given has no field.
Every proxy on the way can read header fields, so do not send secrets in them
[2026-07-28 server/tools §x-mcp-header] SHOULD NOT. The rules are in `mcp_ref.protocol.streamable_http.mirrored`.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from ..codec import Model, encoder
from ..deadline import Rate
from ..diagnostics.packagelog import Counters
from ..errors import INVALID_PARAMS, RpcError, ToolError
from ..jsonrpc import Encoded, shown
from ..jsontext import JsonError, dumps
from ..messages.content import EmbeddedResource, TextContent
from ..messages.tools import (
    CallToolRequestParams, CallToolResult, ListToolsResult, Tool, ToolExecution,
)
from ..options import with_defaults
from ..peer.context import Context, Route, params_reader
from ..revisions import Revision
from .families import REGISTERED_TOOL, takes_registered_tool_options
from .hints.signature import BindError, LazyValidator, Signature, Unresolved
from .hints.values import coerce
from .registry.checks import (
    Paging, check_odd_name, check_texts, check_tool, name_of, tool_name_fault, visible_of,
)
from .registry.listing import Listing
from .results import BadResult, check_asking, result_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..protocol.streamable_http.mirrored import Mirrored
    from .families import RegisteredToolOptions
    from .registry.caching import Cache
    from .registry.visibility import Visible

LIMIT = "max_tool_calls_per_second"
DESCRIBED = frozenset(("title", "description", "annotations", "icons", "meta"))
"""The options of a tool that are members of its `Tool` message."""
CHECKED = frozenset(("input_schema", "output_schema", "annotations", "icons", "meta"))
"""The options that `check_tool` checks, where one is given."""
TaskSupport = Union[str, Callable[..., bool]]
"""The option ``task`` of a tool: "forbidden", "optional", "required", or a function that decides."""


class RegisteredTool:
    """A function that is a tool, with its schemas, which are made when they are first needed.

    ``explicit_input`` and ``explicit_output`` are schemas that the author wrote; None: the signature makes them.
    ``described`` are the other members of its `Tool` message by attribute: title, icons and so on.
    ``rate``: calls per second, of all clients together; None: no limit. ``task``: see `TaskSupport`. ``visible``: the
    function that says who sees it; None: everybody.
    """

    def __init__(
        self,
        name: str,
        signature: Signature,
        input_schema: Optional[Dict[str, Any]],
        output_schema: Optional[Dict[str, Any]],
        rate: Optional[float],
        described: Dict[str, Any],
        task: TaskSupport = "forbidden",
        visible: "Optional[Visible]" = None,
    ) -> None:
        self.name = name
        self.signature = signature
        self.explicit_input = input_schema
        self.explicit_output = output_schema
        self.described = described
        self.rate = None if rate is None else Rate(rate)
        self.task = task
        self.visible = visible
        self.mirrored: Optional[Sequence[Mirrored]] = None
        """The arguments that are repeated in header fields (HTTP); None until `find_mirrored` has succeeded."""
        self.inputs = LazyValidator(lambda: self.input_schema)
        self.outputs = LazyValidator(lambda: self.output_schema)

    @property
    def input_schema(self) -> Dict[str, Any]:
        """The schema of the arguments, explicit or from the signature."""
        return self.explicit_input if self.explicit_input is not None else self.signature.input_schema

    @property
    def output_schema(self) -> Optional[Dict[str, Any]]:
        """The schema of the structured result, explicit or from the return annotation; None: text only."""
        return self.explicit_output if self.explicit_output is not None else self.signature.output_schema

    def find_mirrored(self) -> None:
        """Set ``mirrored`` to the arguments whose schema has an ``x-mcp-header``.

        Raises ValueError for one that is not allowed [2026-07-28 server/tools §x-mcp-header] MUST, and `Unresolved`.
        """
        explicit = self.explicit_input
        parts = [explicit] if explicit is not None else [form.schema for _, form in self.signature.resolve().forms]
        self.mirrored = ()
        if any(map(_mentions_header, parts)):
            from ..protocol.streamable_http.mirrored import annotations

            try:
                self.mirrored = annotations(self.input_schema)
            except ValueError as error:
                raise ValueError("tool %s: %s" % (self.name, error)) from None

    def describe(self) -> Tool:
        """Return the message of this tool for `tools/list`."""
        made = Tool(self.name, self.input_schema, output_schema=self.output_schema, **self.described)
        if made.description is None:
            made.description = self.signature.description
        return made

    def call(self, context: Context, arguments: Dict[str, Any]) -> Union[str, CallToolResult]:
        """Run the function with validated arguments, and return its result: of plain text the text alone.

        Raises its exceptions and as `result_of`.
        """
        signature, keywords = self.signature, arguments
        if self.explicit_input is None:
            try:
                keywords = signature.bind(arguments)
            except BindError as error:
                text = "Invalid arguments for tool %s: %s"
                raise ToolError(text % (self.name, error.about("arguments"))) from None
        if signature.context_parameter is not None:
            keywords = dict(keywords)
            keywords[signature.context_parameter] = context
        value = signature.call(**keywords)
        if type(value) is str and self.output_schema is None:
            return value
        if isinstance(value, Model):
            check_asking(context, value)
        return result_of(self, value)

    def returned(self) -> Tuple[Optional[Dict[str, Any]], bool]:
        """Return the schema of the structured result, and True if it holds the returned value under ``result``."""
        return self.signature.returned() if self.explicit_output is None else (self.explicit_output, False)


class Tools:
    """The tools of one server."""

    def __init__(
        self, lenient: bool, paging: Paging, changed: "Optional[Callable[[Optional[Visible]], None]]" = None,
        cache: "Optional[Cache]" = None,
    ) -> None:
        self._lenient = lenient
        self.counters = Counters()
        describe = RegisteredTool.describe
        self.listing: Listing[RegisteredTool] = Listing(
            "tool", ListToolsResult, "tools", describe, paging, changed, cache
        )

    # Registration

    @takes_registered_tool_options
    def add(self, function: Callable[..., Any], **options: "Unpack[RegisteredToolOptions]") -> RegisteredTool:
        """Register a function; see `Server.tool`."""
        given = with_defaults(Tools.add, REGISTERED_TOOL, options)
        name = name_of("tool", function, given["name"])
        described = {option: value for option, value in given.items() if option in DESCRIBED}
        check_texts("tool %s" % (name,), name=name, title=given["title"], description=given["description"])
        signature = Signature(function, given["structured"], explicit=given["input_schema"] is not None)
        if given["output_schema"] is None:
            signature.check_returned()
        rate, task = given["rate"], given["task"]
        if rate is not None and not rate > 0:
            raise ValueError("tool %s: rate is a number of calls per second above 0, got %r" % (name, rate))
        if task != "forbidden":
            if not callable(task) and task not in ("optional", "required"):
                text = 'tool %s: task is "forbidden", "optional", "required" or a function, not %.80r'
                raise ValueError(text % (name, task))
            described["execution"] = ToolExecution("optional" if callable(task) else task)  # type: ignore[arg-type]
        tool = RegisteredTool(name, signature, given["input_schema"], given["output_schema"], rate, described, task,
                              visible_of("tool %s" % name, given["visible"]))
        odd = tool_name_fault(name)
        if odd or any(value is not None and option in CHECKED for option, value in given.items()):
            check_tool(tool)
            if odd:
                check_odd_name(odd, self._lenient)
        try:
            tool.find_mirrored()
        except Unresolved:
            pass  # it may be defined later; `resolve` raises if it is not
        self.listing.add(name, tool)
        return tool

    def resolve(self) -> None:
        """Raise `Unresolved` for an annotation that is still undefined, without which no list can be made."""
        for tool in self.listing.values():
            if tool.explicit_input is None:
                tool.signature.resolve()
            if tool.mirrored is None:
                tool.find_mirrored()

    # Act

    def call_route(self, revision: Revision) -> Route:
        """Return the route of `tools/call`."""
        read = params_reader(CallToolRequestParams, revision)
        write = encoder(CallToolResult, revision)
        # Most results are one text. Their JSON differs in this text alone, so the rest is encoded once: that saves
        # 6 us, a fourteenth of the processor time of a warm call over stdio.
        before, after = dumps(write(_text_result(""))).split('""')

        def answer(context: Context, params: Dict[str, Any]) -> Union[Dict[str, Any], Encoded]:
            call = read(params, context)
            tool = self._admit(context, call.name)
            arguments = call.arguments if call.arguments is not None else {}
            found = tool.inputs.validate(arguments)
            if found and self._lenient:
                arguments = self._unstring(context, tool, arguments)
                found = tool.inputs.validate(arguments)
            if found:
                return _refuse(tool, found, revision, write)
            result = tool.call(context, arguments)
            if type(result) is str and tool.described["meta"] is None:
                return Encoded(before + dumps(result) + after)
            if isinstance(result, str):
                result = _text_result(result)
            if "ui" in (tool.described["meta"] or ()):
                from ..ext.apps import check_result

                check_result(context, tool, result, self._lenient)
            for block in result.content:
                if isinstance(block, EmbeddedResource):
                    self._embedded(context, tool)
            return write(result)

        def fault(context: Context, error: Exception) -> Dict[str, Any]:
            role, request = context.connection.role, context.request
            who = role.handler_of(request.method, request.params or {}, context.session.rules)
            return write(self.failed(context, who, error))

        return Route(answer, fault)

    def failed(self, context: Context, who: str, error: Exception) -> CallToolResult:
        """Return the result of a call that raised ``error``; ``who`` names the tool in the log and to the client
        [.. schema.json §CallToolResult] SHOULD."""
        from .results import failed_tool

        if isinstance(error, (BadResult, JsonError)):
            self.counters.add("bad tool results")
        elif not isinstance(error, ToolError):
            self.counters.add("tool errors")
        return _error_result(failed_tool(context, who, error))

    def mirrored(self, name: Any, principal: Any = None, request: Any = None) -> "Sequence[Mirrored]":
        """Return the arguments of a tool that are repeated in header fields; () for a name that is no tool's, or that
        of a tool which this principal does not see.

        ``name`` is ``params.name`` as a client sent it by this HTTP request, before it was validated.
        """
        tool = self.listing.get(name) if type(name) is str else None
        if tool is None or not tool.mirrored:
            return ()
        if tool.visible is not None:
            from .registry.visibility import Requester

            if not tool.visible.shows(Requester(principal, None, request)):
                return ()
        return tool.mirrored

    def _admit(self, context: Context, name: str) -> RegisteredTool:
        """Return the tool of this name, if the rates allow a call now [.. server/tools §Security Considerations] MUST.

        Raises `ToolError` above a rate, and `RpcError` -32602 for an unknown tool.
        """
        per_client = context.rate(LIMIT)
        if not per_client.take():
            raise _too_many(context, "of this client, which may make %g a second (%s)" % (per_client.per_second, LIMIT))
        tool = self.listing.find(name, context)
        if tool is None:
            raise RpcError(INVALID_PARAMS, "Unknown tool: %s" % shown(name))
        if tool.rate is not None and not tool.rate.take():
            raise _too_many(context, "of tool %s, which takes %g a second (rate)" % (name, tool.rate.per_second))
        return tool

    def _unstring(self, context: Context, tool: RegisteredTool, arguments: Dict[str, Any]) -> Dict[str, Any]:
        """Return the arguments with arrays, objects and numbers that came as strings converted, and count these."""
        mended, notes = coerce(arguments, tool.input_schema)
        for note in notes:
            context.connection.counters.note("stringified argument", "tool %s: %s" % (tool.name, note))
        return mended

    def _embedded(self, context: Context, tool: RegisteredTool) -> None:
        """Check that a server which embeds resources declares resources
        [2025-06-18.. server/tools §Embedded Resources] SHOULD.

        Reading: the results of a tool are not known when capabilities are declared. So a strict server refuses such a
        result, and any other server counts and logs it.
        """
        if "resources" in context.session.capabilities:
            return
        text = "tool %s embeds a resource, but no resources capability was declared: register a resource" % tool.name
        if not self._lenient:
            raise BadResult(text)
        context.connection.counters.note("embedded resource", text)


def _mentions_header(schema: Any) -> bool:
    """Return True if a schema has an ``x-mcp-header`` anywhere. This is a cheap test: hardly any tool has one."""
    if isinstance(schema, dict):
        return "x-mcp-header" in schema or any(map(_mentions_header, schema.values()))
    return isinstance(schema, list) and any(map(_mentions_header, schema))


def _too_many(context: Context, whose: str) -> ToolError:
    text = "Too many calls %s; try again later" % whose
    context.connection.counters.note("tool calls above the rate", text)
    return ToolError(text)


def _refuse(
    tool: RegisteredTool, found: List[Any], revision: Revision, write: Callable[[Any], Dict[str, Any]]
) -> Dict[str, Any]:
    """Return the result for arguments that do not fit, for the model; before 2025-11-25 raise `RpcError` -32602."""
    wrong = "; ".join(shown(one.about("arguments"), 200) for one in found[:5])
    text = "Invalid arguments for tool %s: %s" % (tool.name, wrong)
    if not revision.tool_input_errors_are_results:
        raise RpcError(INVALID_PARAMS, text)
    return write(_error_result(text))


def _text_result(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)])


def _error_result(text: str) -> CallToolResult:
    """Return an ``isError`` result with this text. Lone surrogates, which names of files may hold, are escaped."""
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return CallToolResult(content=[TextContent(text=text)], is_error=True)
