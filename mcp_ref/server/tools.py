"""Tools: functions that a model calls [.. server/tools §Protocol Messages].

What goes wrong, and what the client sees:

===========================================  =========================================================
unknown tool                                 error -32602
arguments that do not fit the input schema   an ``isError`` result since 2025-11-25, before that -32602
`ToolError`                                  ``isError``, its text verbatim, for the model
any other exception of the tool              ``isError``, type and text; with ``mask_errors`` nothing
`RpcError`                                   that JSON-RPC error
a result that JSON cannot hold               ``isError``, naming the place: ``$.mean is NaN``
a structured result unlike its schema        ``isError``, naming the place
===========================================  =========================================================
"""

from typing import Any, Callable, Dict, List, Optional

from ..codec import encoder
from ..errors import INVALID_PARAMS, RpcError, ToolError
from ..jsonrpc import shown
from ..jsontext import JsonError
from ..messages.base import Icon
from ..messages.content import TextContent
from ..messages.tools import CallToolRequestParams, CallToolResult, ListToolsResult, Tool, ToolAnnotations
from ..peer.context import Context, Route
from ..peer.counters import Counters
from ..revisions import Revision
from .content import content_of
from .listing import Listing
from .params import params_reader
from .signature import BindError, Signature, to_json


class RegisteredTool:
    """A function and how it is called: its schemas, made when first needed."""

    def __init__(
        self,
        name: str,
        signature: Signature,
        title: Optional[str],
        description: Optional[str],
        input_schema: Optional[Dict[str, Any]],
        output_schema: Optional[Dict[str, Any]],
        annotations: Optional[ToolAnnotations],
        icons: Optional[List[Icon]],
        meta: Optional[Dict[str, Any]],
    ) -> None:
        self.name = name
        self.signature = signature
        self.title = title
        self._description = description
        self._explicit = input_schema
        self._output = output_schema
        self.annotations = annotations
        self.icons = icons
        self.meta = meta
        self._validate: Optional[Callable[[Any], Any]] = None
        self._validate_output: Optional[Callable[[Any], Any]] = None

    @property
    def input_schema(self) -> Dict[str, Any]:
        """The schema of the arguments, explicit or from the signature."""
        return self._explicit if self._explicit is not None else self.signature.input_schema

    @property
    def output_schema(self) -> Optional[Dict[str, Any]]:
        """The schema of the structured result, explicit or from the return annotation; None: text only."""
        return self._output if self._output is not None else self.signature.output_schema

    def describe(self) -> Tool:
        """As `tools/list` shows it."""
        return Tool(
            name=self.name,
            input_schema=self.input_schema,
            title=self.title,
            description=self._description if self._description is not None else self.signature.description,
            output_schema=self.output_schema,
            annotations=self.annotations,
            icons=self.icons,
            meta=self.meta,
        )

    def check_explicit_schemas(self) -> None:
        """Compile the schemas that the author wrote, so that a mistake in them shows at registration.

        Raises a ValueError: an unsupported dialect, a reference that leads nowhere, a keyword with a wrong value.
        """
        if self._explicit is not None:
            self.violations({})
        if self._output is not None:
            self.output_violations(None)

    def violations(self, arguments: Dict[str, Any]) -> List[Any]:
        """What is wrong with these arguments."""
        if self._validate is None:
            from ..jsonschema import compile

            self._validate = compile(self.input_schema).validate
        return self._validate(arguments)

    def output_violations(self, structured: Any) -> List[Any]:
        """What is wrong with this structured result."""
        if self._validate_output is None:
            from ..jsonschema import compile

            self._validate_output = compile(self.output_schema).validate
        return self._validate_output(structured)

    def call(self, context: Context, arguments: Dict[str, Any]) -> CallToolResult:
        """Run the function; arguments have been validated. Raises what it raises."""
        signature = self.signature
        keywords = arguments if self._explicit is not None else self._bind(arguments)
        if signature.context_parameter is not None:
            keywords = dict(keywords)
            keywords[signature.context_parameter] = context
        value = signature.call(**keywords)
        if type(value) is str and self.output_schema is None:
            return CallToolResult(content=[TextContent(text=value)])
        if isinstance(value, CallToolResult):
            return value
        return self._structured(value)

    def _structured(self, value: Any) -> CallToolResult:
        schema = self.output_schema
        if schema is None:
            return CallToolResult(content=content_of(value))
        structured = to_json(value) if self._output is not None else self.signature.to_structured(value)
        found = self.output_violations(structured)
        if found:
            raise ToolError("the result does not fit the output schema: %s" % "; ".join(str(v) for v in found[:5]))
        return CallToolResult(content=content_of(to_json(value)), structured_content=structured)

    def _bind(self, arguments: Dict[str, Any]) -> Dict[str, Any]:
        try:
            return self.signature.bind(arguments)
        except BindError as error:
            raise ToolError("Invalid arguments for tool %s: %s" % (self.name, error)) from None


class Tools:
    """The tools of one server."""

    def __init__(self, mask_errors: bool, lenient: bool, page_size: Optional[int]) -> None:
        self._mask_errors = mask_errors
        self._lenient = lenient
        self.counters = Counters()
        describe = RegisteredTool.describe
        self.listing: Listing[RegisteredTool] = Listing("tool", ListToolsResult, "tools", describe, page_size)

    # Registration

    def add(
        self,
        function: Callable[..., Any],
        *,
        name: Optional[str] = None,
        title: Optional[str] = None,
        description: Optional[str] = None,
        input_schema: Optional[Dict[str, Any]] = None,
        output_schema: Optional[Dict[str, Any]] = None,
        structured: Optional[bool] = None,
        annotations: Optional[ToolAnnotations] = None,
        icons: Optional[List[Icon]] = None,
        meta: Optional[Dict[str, Any]] = None,
    ) -> RegisteredTool:
        """Register a function; see `Server.tool`."""
        signature = Signature(function, structured, explicit=input_schema is not None)
        name = name or getattr(function, "__name__", None) or ""
        if not name or name == "<lambda>":
            raise ValueError("a tool needs a name: pass name=...")
        tool = RegisteredTool(
            name, signature, title, description, input_schema, output_schema, annotations, icons, meta
        )
        tool.check_explicit_schemas()
        self.listing.add(name, tool)
        return tool

    # List

    def list_route(self, revision: Revision) -> Route:
        """Answers `tools/list`."""
        return self.listing.route(revision)

    # Act

    def call_route(self, revision: Revision) -> Route:
        """Answers `tools/call`."""
        read = params_reader(CallToolRequestParams, revision)
        write = encoder(CallToolResult, revision)

        def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
            call = read(params)
            tool = self.listing.get(call.name)
            if tool is None:
                raise RpcError(INVALID_PARAMS, "Unknown tool: %s" % shown(call.name))
            arguments = call.arguments if call.arguments is not None else {}
            found = tool.violations(arguments)
            if found and self._lenient and tool._explicit is None:
                arguments = self._unstring(context, tool, arguments)
                found = tool.violations(arguments)
            if found:
                return _refuse(tool, found, revision, write)
            return write(tool.call(context, arguments))

        def fault(error: Exception) -> Dict[str, Any]:
            return write(_error_result(self._text(error)))

        return Route(answer, fault)

    def _unstring(self, context: Context, tool: RegisteredTool, arguments: Dict[str, Any]) -> Dict[str, Any]:
        """Arguments whose arrays, objects and numbers came as strings, as some clients send them."""
        mended, notes = tool.signature.coerce(arguments)
        for note in notes:
            context.connection.counters.note("stringified argument", "tool %s: %s" % (tool.name, note))
        return mended

    def _text(self, error: Exception) -> str:
        if isinstance(error, (ToolError, JsonError)):
            return str(error)
        self.counters.note("tool errors", "a tool raised", error)
        if self._mask_errors:
            return "The tool failed"
        return "%s: %s" % (type(error).__name__, error)


def _refuse(
    tool: RegisteredTool, found: List[Any], revision: Revision, write: Callable[[Any], Dict[str, Any]]
) -> Dict[str, Any]:
    """Arguments that do not fit: a result for the model since 2025-11-25, before that an error for the client."""
    text = "Invalid arguments for tool %s: %s" % (tool.name, "; ".join(shown(str(one), 200) for one in found[:5]))
    if not revision.tool_input_errors_are_results:
        raise RpcError(INVALID_PARAMS, text)
    return write(_error_result(text))


def _error_result(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=True)
