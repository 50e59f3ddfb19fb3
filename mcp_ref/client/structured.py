"""The check of tool results, before the caller gets them [.. server/tools §Security Considerations] SHOULD.

What a result must be in its revision, the codec has checked. Here it is held against what the tool
promised: structured content fits the output schema [2025-06-18.. server/tools §Output Schema] SHOULD,
and binary content is base64, as the schema of the protocol says. (Lenient clients take base64 in lines.)

The schema is looked up in the server's list of tools. If that is not known yet, it is asked for, once, when a
result has structured content. A result is passed on unchecked, which is counted as ``unchecked result``,

- where the tools cannot be listed, the tool is not among them, or the list changed during the call;
- where the schema cannot be used: invalid, a dialect or reference unknown here, or dearer than
  `mcp_ref.jsonschema.SchemaBounds` allows. A strict client takes that for the server's fault.

Reading: a result that says ``isError`` promises nothing, and a tool that declares a schema promises structured content
whenever it succeeds. A server that does not announce changes may have changed the schema: before such a
result is refused the list is asked for again.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from ..codec import NULL
from ..errors import InvalidResult, McpError, PeerProtocolError
from ..messages.content import AudioContent, BlobResourceContents, EmbeddedResource, ImageContent
from ..messages.tools import CallToolResult, Tool
from ..peer.dispatcher import Connection
from .cache import MethodCache, Version

if TYPE_CHECKING:
    from ..jsonschema import SchemaError, Validator

CITATION = "2025-06-18.. server/tools §Output Schema"
_WITH_DATA = frozenset((ImageContent, AudioContent, EmbeddedResource))


class ResultCheck:
    """Checks the results of one server's tools. Thread-safe.

    ``tools`` is the cache of its list of tools, ``list_tools`` asks for that anew and keeps it.
    """

    def __init__(
        self, connection: Connection, tools: MethodCache, list_tools: Callable[[], Any], strict: bool
    ) -> None:
        self.tools = tools
        self._connection = connection
        self._has_structured = connection.session.rules.structured_content
        self._list_tools = list_tools
        self._strict = strict
        self._listed_at: Optional[Version] = None
        """The version of the list when it was asked for the last time."""
        self._compiled: "Tuple[Any, Dict[str, Union[Validator, SchemaError]]]" = (None, {})
        """A list of tools, and the schemas of those whose results have come."""

    def __call__(self, name: str, result: Any, version: Version) -> Any:
        """Return the result, if nothing is wrong with it. ``version``: that of ``tools`` when the tool was called.

        Raises `InvalidResult`, which has the result. May ask the server for its tools, so not for the reader.
        """
        if not isinstance(result, CallToolResult):
            return result  # an `InputRequiredResult`, for a caller who answers by himself
        content, structured = result.content, result.structured_content
        if not _WITH_DATA.isdisjoint(map(type, content)):
            self._check_blocks(result)
        if not self._has_structured or result.is_error or (structured is None and self.tools.named() is None):
            return result  # most tools have no schema; their results alone are no reason to ask
        wrong = self._problem(name, structured, version)
        if wrong and not self.tools.server_notifies and not self._list():
            wrong = self._problem(name, structured, version)
        if wrong:
            raise InvalidResult("the result of tool %.200s: %s" % (name, wrong), result, CITATION)
        return result

    def _check_blocks(self, result: CallToolResult) -> None:
        """Check the blocks with data; a lenient client leaves a broken one out, unless no other is left."""
        kept: List[Any] = []
        lost: List[InvalidResult] = []
        for number, block in enumerate(result.content):
            try:
                if type(block) in _WITH_DATA:
                    self._check_block("content[%d]" % number, block, result)
                kept.append(block)
            except InvalidResult as error:
                lost.append(error)
        if lost and (self._strict or not kept):
            raise lost[0]
        for problem in lost:
            self._connection.counters.forgive("item", "left out: %s" % problem)
            result.content[:] = kept

    def _check_block(self, place: str, block: Any, result: CallToolResult) -> None:
        from ..protocol.content import is_base64

        embedded = type(block) is EmbeddedResource
        if embedded and type(block.resource) is not BlobResourceContents:
            return
        place, data = (place + ".resource.blob", block.resource.blob) if embedded else (place + ".data", block.data)
        if is_base64(data):
            return
        if self._strict or not is_base64(data.replace("\r", "").replace("\n", "")):
            text = "the result of a tool: %s is not base64" % place
            raise InvalidResult(text, result, ".. server/tools §Tool Result")
        self._connection.counters.note("wrapped base64", "%s has line ends in it" % place)

    def _problem(self, name: str, structured: Any, version: Version) -> str:
        """Return what is wrong with the structured content; "" if nothing is, or nothing can be said."""
        tools = self.tools.named()
        if tools is None:
            reason = "" if self._listed_at == self.tools.version else self._list()
            tools = self.tools.named()
            if tools is None:
                return self._unchecked(name, reason or "the list of tools cannot be had")
        tool = tools.get(name)
        if tool is None:
            return "" if structured is None else self._unchecked(name, "it is not in the list of tools")
        if tool.output_schema is None:
            return ""
        if version != self.tools.version:
            return self._unchecked(name, "the list of tools changed during the call")
        if structured is None:
            return "structuredContent: missing, though the tool has an output schema"
        return self._violations(tools, tool, structured)

    def _list(self) -> str:
        """Ask for the list, and return why there is none, or "". That is no reason to lose a result."""
        self._listed_at = self.tools.version
        try:
            self._list_tools()
        except McpError as error:
            return "the tools cannot be listed: %s" % error
        return ""

    # Schemas

    def _violations(self, tools: Mapping[str, Tool], tool: Tool, structured: Any) -> str:
        from ..jsonschema import SchemaError

        try:
            violations = self._validator(tools, tool).validate(None if structured is NULL else structured)
        except SchemaError as error:
            text = "its output schema cannot be used: %s" % error
            if self._strict:
                raise PeerProtocolError("tool %.200s: %s" % (tool.name, text), CITATION) from None
            return self._unchecked(tool.name, text)
        return "; ".join(violation.about("structuredContent") for violation in violations[:5])

    def _validator(self, tools: Mapping[str, Tool], tool: Tool) -> "Validator":
        """Return the compiled schema, kept as long as this list of tools is. Raises `SchemaError`, each time."""
        from ..jsonschema import SchemaError, compile

        source, compiled = self._compiled
        if source is not tools:
            compiled = {}
            self._compiled = (tools, compiled)
        validator = compiled.get(tool.name)
        if validator is None:
            try:
                validator = compile(tool.output_schema)
            except SchemaError as error:
                validator = error
            compiled[tool.name] = validator
        if isinstance(validator, SchemaError):
            raise validator
        return validator

    def _unchecked(self, name: str, reason: str) -> str:
        self._connection.counters.note("unchecked result", "tool %.200s: %s" % (name, reason))
        return ""
