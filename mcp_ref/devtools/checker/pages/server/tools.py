"""Rules of tools [.. server/tools], beside those of their list (`lists`)."""

import re
from collections import Counter
from typing import Any, Callable, List, Mapping, Optional, Tuple, Union

from .....jsonschema import SchemaError, UnsupportedDialect, Validator, check_schema
from .....jsontext import JsonError, loads
from .....revisions import Revision
from .....wiretrace import CLIENT, SERVER
from ...bounds import Bounds, Forgetful
from ...listed import PagedList, lists, new_items
from ...observed import ERROR, RESULT, Message, ObservedConnection
from ...rules import FINISH, KEPT, UNDECIDED, Broken, CannotTell, Verdict, rule
from ...values import has_mask, items, masked, members, short, validators, violations
from ..basic.lifecycle import UNDECLARED

UNDECIDED.update({
    "tools.errors-in-result": "whether an error comes from the tool or from the server shows in its text only, and the "
                              "page has errors of the server as protocol errors",
    "tools.output-schema-client-validates": "validation inside the client leaves no message",
    "tools.rate-limit": "a limit shows only when it is reached, and the page names none",
    "tools.validate-results": "what happens between a result and the model leaves no message",
    "tools.ref-resolution": "validation inside the client leaves no message",
})

_CALL, _LIST = "tools/call", "tools/list"
_ODD = re.compile(r"[^A-Za-z0-9_.-]")
_HANGS = 86400.0
"""Seconds after which a call without answer, cancellation or progress counts as without a timeout: a day."""


class Validators:
    """The validators of the schemas of listed tools, made when they are first needed."""

    def __init__(self) -> None:
        self._made: "Forgetful[Tuple[str, str], Tuple[Any, Tuple[Validator, ...]]]" = Forgetful(Bounds().entries)

    def of(self, tool: Mapping[str, Any], member: str, revision: Revision) -> Tuple[Validator, ...]:
        """Return the validators of a schema of a tool; see `values.validators`."""
        key, schema = (str(tool.get("name")), member), tool.get(member)
        found = self._made.get(key)
        if found is None or found[0] is not schema:
            found = self._made[key] = (schema, validators(schema, revision) if isinstance(schema, dict) else ())
        return found[1]  # type: ignore[no-any-return]


def tool_of(message: Message) -> Optional[Mapping[str, Any]]:
    """Return the listed definition of the tool that a request, or the request of a response, calls."""
    request = message.request if message.kind in (RESULT, ERROR) else message
    return None if request is None else lists(message.session).definition(_LIST, request.params.get("name"))


_UNLISTED = CannotTell("the list of tools")


def done(message: Message) -> bool:
    """Return True for the result of a call itself: no task, no wish for input."""
    return message.result.get("resultType", "complete") == "complete" and "task" not in message.result


def succeeded(message: Message) -> bool:
    """Return True for the result of a call that did not fail."""
    return done(message) and message.result.get("isError", False) is False


_SCHEMA = """
    on stdio 2025-11-25
    C #1 tools/list
  + S #1 {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}
  - S #1 {"tools": [{"name": "add", "inputSchema": %s}]}
"""


@rule("tools.input-schema-object", on=RESULT, method=_LIST, scene=_SCHEMA % "null")
def input_schema(message: Message) -> Verdict:
    """The input schema of a tool is there, and is a JSON object."""
    found: List[Union[str, Broken]] = []
    for place, tool in new_items(message):
        schema = tool.get("inputSchema")
        if not isinstance(schema, dict):
            said = "null" if schema is None and "inputSchema" in tool else "missing" if schema is None else "no object"
            found.append(Broken("the input schema of %s is %s" % (short(tool.get("name")), said),
                                "result.tools[%d].inputSchema" % place))
    return found or (KEPT if new_items(message) else None)


def schema_faults(schema: Any, where: str, revision: Revision) -> List[Union[str, Broken]]:
    """Return what is wrong with a schema by the metaschema of its dialect, as one finding; [] if it cannot be told."""
    try:
        wrong = check_schema(schema)
    except UnsupportedDialect:
        return []
    except SchemaError as error:
        wrong = []
        if type(error).__name__ == "InvalidSchema":
            return [Broken(short(str(error), 100), where)]
    if not wrong or has_mask(schema):
        return []
    return [Broken(short(wrong[0].about("schema"), 100), where)]


@rule("schema.valid-by-dialect", on=RESULT, method=_LIST, party=SERVER, follows="tools.input-schema-object",
      scene=_SCHEMA % '{"type": "object", "required": "a"}')
def valid_schema(message: Message) -> Verdict:
    """The schemas of a tool are valid in the dialect that they declare, or in 2020-12."""
    found: List[Union[str, Broken]] = []
    seen = False
    for place, tool in new_items(message):
        for member in ("inputSchema", "outputSchema"):
            if isinstance(tool.get(member), dict) and message.revision is not None:
                seen = True
                found += schema_faults(tool[member], "result.tools[%d].%s" % (place, member), message.revision)
    return found or (KEPT if seen else None)


def _refused(instance: Any, keyword: str, kind: Any) -> bool:
    """Return whether no lenient server takes a value for another: an object or array, where a scalar is wanted."""
    return keyword == "required" or (
        keyword == "type" and isinstance(instance, (dict, list)) and kind in ("string", "number", "integer", "boolean"))


def _lacks(value: Any, schema: Mapping[str, Any]) -> bool:
    """Return whether a required member is missing that has no default: a server may fill in one that has."""
    known = members(schema.get("properties"))
    return any(isinstance(name, str) and name not in members(value) and "default" not in members(known.get(name))
               for name in items(schema.get("required")))


_TWO = {each: '{"name": "%s", "inputSchema": {"type": "object"}}' % each for each in "ab"}
_NAMED = """
    on stdio 2025-11-25
    C #1 tools/list
  + S #1 {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}
  - S #1 {"tools": [{"name": "%s", "inputSchema": {"type": "object"}}]}
"""


def _names(message: Message, wrong: Callable[[str], str]) -> Verdict:
    """Judge the names of the new tools of a page: ``wrong`` says what is wrong with one."""
    found: List[Union[str, Broken]] = []
    for place, tool in new_items(message):
        name = tool.get("name")
        said = wrong(name) if isinstance(name, str) and not masked(name) else ""
        if said:
            found.append(Broken(said, "result.tools[%d].name" % place))
    return found or (KEPT if new_items(message) else None)


@rule("tools.name-length", on=RESULT, method=_LIST, party=SERVER, scene=_NAMED % ("a" * 129))
def name_length(message: Message) -> Verdict:
    """The name of a tool has 1 to 128 characters."""
    return _names(message, lambda name: "" if 1 <= len(name) <= 128 else "%d characters" % len(name))


@rule("tools.name-charset", "tools.name-no-special", on=RESULT, method=_LIST, party=SERVER, scene=_NAMED % "add it")
def name_letters(message: Message) -> Verdict:
    """The name of a tool has letters and digits of ASCII, underscores, hyphens and dots only."""
    return _names(message, lambda name: "the name is %s" % short(name) if _ODD.search(name) else "")


@rule("tools.name-unique", on=RESULT, method=_LIST, party=SERVER, scene="""
    on stdio 2025-11-25
    C #1 tools/list
  + S #1 {"tools": [%(a)s, %(b)s]}
  - S #1 {"tools": [%(a)s, %(a)s]}
""" % _TWO)
def name_once(message: Message) -> Verdict:
    """No page of a list has two tools of one name."""
    names = [tool["name"] for tool in items(message.result.get("tools"))
             if isinstance(tool, dict) and isinstance(tool.get("name"), str)]
    if len(set(names)) == len(names):
        return KEPT if names else None
    twice = next(name for name, times in Counter(names).items() if times > 1)
    return Broken("two tools have the name %s" % short(twice), "result.tools")


_ADD = """
    on stdio 2025-06-18
    C #1 tools/list
    S #1 {"tools": [{"name": "add", "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}, \
        "required": ["a"]}}]}
  + C #2 tools/call {"name": "add", "arguments": {"a": 1}}
  - C #2 tools/call {"name": "add", "arguments": {}}
    S #2 {"content": [{"type": "text", "text": "2"}]}
"""


@rule("tools.validate-inputs", on=(RESULT, ERROR), method=_CALL, party=SERVER, scene=_ADD,
      reading="a server may convert or ignore values; a missing argument that its schema requires, and an object or "
              "array for a scalar, it has to refuse")
def validates_inputs(message: Message) -> Verdict:
    """A server does not carry out a call whose arguments its own schema of the tool refuses."""
    tool, request = tool_of(message), message.request
    if tool is None or request is None or message.revision is None:
        return None
    arguments = request.params.get("arguments", {})
    checks = message.session.state(Validators).of(tool, "inputSchema", message.revision)
    wrong = violations(checks, arguments)
    if not checks or (not succeeded(message) and message.kind == RESULT and not wrong):
        return None
    if not wrong or not succeeded(message) or message.kind == ERROR:
        return KEPT
    whole = members(tool.get("inputSchema"))
    for each in wrong if whole.get("type") == "object" else ():
        schema = whole
        for step in each.schema_path[:-1]:
            schema = members(schema.get(step)) if isinstance(step, str) else {}
        value: Any = arguments
        for step in each.path:
            value = value[step]
        if each.keyword == "required" and not _lacks(value, schema):
            continue
        if len(each.path) <= 1 and _refused(value, each.keyword, schema.get("type")):
            return Broken("the call succeeds though %s" % short(each.about("arguments"), 80), "params.arguments")
    return None


_FORECAST = """
    on stdio 2025-06-18
    C #1 tools/list
    S #1 {"tools": [{"name": "t", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", \
        "properties": {"temp": {"type": "number"}}, "required": ["temp"]}}]}
    C #2 tools/call {"name": "t", "arguments": {}}
  + S #2 {"content": [{"type": "text", "text": "{\\"temp\\": 20}"}], "structuredContent": {"temp": 20}}
  - S #2 {"content": [{"type": "text", "text": "{\\"temp\\": \\"20\\"}"}], "structuredContent": {"temp": "20"}}
"""


@rule("tools.output-schema-conform", on=RESULT, method=_CALL, follows="tasks-ext.result-type-task-on-create",
      scene=_FORECAST)
def conforms(message: Message) -> Verdict:
    """The structured content of a tool that has an output schema is there, and fits it."""
    if not succeeded(message) or not isinstance(message.data["result"], dict) or message.request is None:
        return None
    return fits_output(message.request, message.result, "result")


def fits_output(request: Message, result: Mapping[str, Any], where: str) -> Verdict:
    """Judge the structured content in the result of a call that did not fail, wherever it came."""
    if request.revision is None:
        return None
    if _LIST not in lists(request.session).complete:
        return _UNLISTED
    tool = tool_of(request)
    if tool is None or not isinstance(tool.get("outputSchema"), dict):
        return None
    place = where + ".structuredContent"
    if "structuredContent" not in result:
        return Broken("no structured content, though the tool has an output schema", place)
    checks = request.session.state(Validators).of(tool, "outputSchema", request.revision)
    wrong = violations(checks, result["structuredContent"])
    if wrong:
        return Broken(short(wrong[0].about("structuredContent"), 100), place)
    return KEPT if checks else None


@rule("tools.structured-text-fallback", on=RESULT, method=_CALL,
      follows=("tools.output-schema-conform", "apps.result-content-always"),
      reading="the text may be that of the only member of the content, or any text where an array is allowed", scene="""
    on stdio 2025-06-18
    C #1 tools/call {"name": "t", "arguments": {}}
  + S #1 {"content": [{"type": "text", "text": "{\\"temp\\": 20}"}], "structuredContent": {"temp": 20}}
  - S #1 {"content": [], "structuredContent": {"temp": 20}}
""")
def has_fallback(message: Message) -> Verdict:
    """Structured content is there as text, too."""
    if "structuredContent" not in message.result or not succeeded(message) or message.revision is None:
        return None
    value, content = message.result["structuredContent"], message.result.get("content")
    if not isinstance(content, list) or any(
            members(block).get("type") == "text" and not isinstance(block.get("text"), str) for block in content):
        return None  # there may be a text in what breaks its definition
    texts = [block["text"] for block in content
             if isinstance(block, dict) and isinstance(block.get("text"), str)]
    if not texts:
        return Broken("structured content, and no text", "result.content")
    if message.revision.structured_content_any or has_mask(texts) or has_mask(value):
        return KEPT
    wanted = [value] + (list(value.values()) if isinstance(value, dict) and len(value) == 1 else [])
    if any(_says(text, wanted) for text in texts) or (len(wanted) == 2 and isinstance(wanted[1], list)):
        return KEPT
    return Broken("no text is the structured content", "result.content")


def _says(text: str, wanted: List[Any]) -> bool:
    """Return whether a text is one of these values, or the JSON of one."""
    try:
        return loads(text.encode("utf-8", "surrogatepass")) in wanted or text in wanted
    except JsonError:
        return text in wanted


@rule("tools.embedded-resources-capability", on=RESULT, method=_CALL, follows=UNDECLARED, scene="""
  + on stdio 2025-06-18 server={"tools": {}, "resources": {}}
  - on stdio 2025-06-18 server={"tools": {}}
    C #1 tools/call {"name": "t", "arguments": {}}
    S #1 {"content": [{"type": "resource", "resource": {"uri": "file:///a", "text": "a"}}]}
""")
def embeds(message: Message) -> Verdict:
    """A server whose tools return embedded resources has declared the capability resources."""
    if "resource" not in [members(block).get("type") for block in items(message.result.get("content"))]:
        return None
    known = message.has_capability(SERVER, "resources")
    if known is None:
        return CannotTell("the capabilities of the server")
    return KEPT if known else Broken("an embedded resource, and resources was not declared", "capabilities.resources")


_ORDER = """
    on stdio 2026-07-28
    C #1 tools/list
    S #1 {"tools": [%(a)s, %(b)s]}
    C #2 tools/list
  + S #2 {"tools": [%(a)s, %(b)s]}
  - S #2 {"tools": [%(b)s, %(a)s]}
""" % _TWO


@rule("tools.deterministic-order", on=RESULT, method=_LIST, scene=_ORDER)
def ordered(message: Message) -> Verdict:
    """Two lists of the same tools have one order."""
    listing: Optional[PagedList] = message.notes.get("listing")
    before: Optional[PagedList] = message.notes.get("before")
    if listing is None or before is None or not (listing.complete and listing.whole and before.whole):
        return None
    change = lists(message.session).changed.get(_LIST)
    if (change is not None and change.index > before.first.index) or listing.names.keys() != before.names.keys():
        return None
    if list(listing.names) == list(before.names):
        return KEPT
    first = next(new for old, new in zip(before.names, listing.names) if old != new)
    return Broken("the same tools in another order, from %s on" % short(first), "result.tools")


@rule("tools.name-case-sensitive", on=(RESULT, ERROR), method=_CALL, party=SERVER, scene="""
    on stdio 2025-11-25
    C #1 tools/list
    S #1 {"tools": [{"name": "getUser", "inputSchema": {"type": "object"}}]}
    C #2 tools/call {"name": "getuser", "arguments": {}}
  + S #2 !-32602 "Unknown tool: getuser"
  - S #2 {"content": [{"type": "text", "text": "ann"}]}
""")
def case_counts(message: Message) -> Verdict:
    """A name that differs from that of a listed tool in case is not that tool."""
    request, known = message.request, lists(message.session)
    listing, name = known.complete_since_change(_LIST), request.params.get("name") if request is not None else None
    if listing is None or not isinstance(name, str) or name in listing.names:
        return None
    folded = known.folded.get(_LIST)
    if folded is None or folded[0] is not listing:
        folded = known.folded[_LIST] = (listing, {each.casefold() for each in listing.names})
    if name.casefold() not in folded[1]:
        return None
    if message.kind == ERROR or message.result.get("isError") is True:
        return KEPT
    return Broken("%s is called, and is listed in other case only" % short(name), "params.name") if done(
        message) else None


@rule("tools.call-timeout", on=FINISH, party=CLIENT, scene="""
    on stdio 2025-06-18
    C #1 tools/call {"name": "t", "arguments": {}}
  + @ 30
  + C notifications/cancelled {"requestId": 1}
    @ 90000
    C #2 ping
    S #2 {}
""",
      reading="how long is left to the client; a day without answer, progress or cancellation is no timeout")
def times_out(connection: ObservedConnection) -> Verdict:
    """A client does not wait for the answer to a call for ever."""
    waited = cancelled = False
    for request in connection.pending[CLIENT].values():
        if request.method != _CALL or "progressToken" in request.meta:
            continue
        cancelled = cancelled or request.cancelled is not None
        ended = request.exchange is not None and request.exchange.ended is not None
        until = connection.closed if connection.closed is not None else connection.last_time
        if request.cancelled is None and not ended and until - request.time > _HANGS:
            return Broken("no answer for %d hours, and no cancellation" % ((until - request.time) // 3600), at=request)
        waited = waited or request.cancelled is None
    return KEPT if cancelled and not waited else None
