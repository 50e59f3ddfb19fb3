"""Rules of header fields from tool parameters [2026-07-28 basic/transports/streamable-http §Custom Headers from Tool
Parameters]."""

from typing import Any, Callable, List, NamedTuple, Optional, Tuple

from ...bounds import Bounds, Forgetful
from ...httpfacts import PREFIX, HeaderParameters, annotations_of, decoded, is_plain, is_sentinel, key_of, mask_of
from ...observed import ERROR, REQUEST, RESULT, Message, ObservedExchange
from ...rules import KEPT, UNDECIDED, Broken, CannotTell, Verdict, observe, rule
from .http_headers import USUAL, asking, refused, served, standard_faults, versions_differ

UNDECIDED.update({
    "http.param-log-warning": "the log of a client is no traffic",
})
_NOTHING = object()
_REPEATING = frozenset(name.lower() for name in USUAL)


class Listed:
    """The tools that the client of a connection has been shown, with what their parameters have to show."""

    def __init__(self) -> None:
        self.tools: "Forgetful[str, HeaderParameters]" = Forgetful(Bounds().entries)


@observe(on=RESULT, method="tools/list")
def note_tools(message: Message) -> None:
    """Note the annotations of the tools that are listed."""
    tools = message.result.get("tools")
    listed = message.connection.state(Listed).tools
    for tool in tools if isinstance(tools, list) else []:
        if isinstance(tool, dict) and isinstance(tool.get("name"), str):
            listed[tool["name"]] = annotations_of(tool.get("inputSchema"))


class Param(NamedTuple):
    """An annotated parameter of a call."""

    header: str
    """The name of its field."""
    value: Any
    """The argument; _NOTHING if there is none."""
    said: Optional[str]
    """The value of the field as it was sent; None if there is none."""
    fault: str
    """``missing``, ``null``, ``absent``, ``base64``, ``sentinel``, ``escape``, ``form``, ``value``; "" for none."""


def _annotations(message: Message) -> Optional[HeaderParameters]:
    """Return the annotations of the tool of a call that is posted, as it was listed; None if it was not."""
    if asking(message) is None or message.method != "tools/call":
        return None
    name = message.params.get("name")
    return message.connection.state(Listed).tools.get(name) if isinstance(name, str) else None


def params_of(message: Message) -> List[Param]:
    """Return the annotated parameters of a call, each with what is wrong with its header field."""
    if "params" not in message.notes:
        known = _annotations(message)
        message.notes["params"] = [] if known is None or known.fault else [
            _param(message, path, header) for path, header in known.headers]
    found: List[Param] = message.notes["params"]
    return found


def _param(message: Message, path: Tuple[str, ...], header: str) -> Param:
    value: Any = message.params.get("arguments")
    for step in path:
        value = value.get(step, _NOTHING) if isinstance(value, dict) else _NOTHING
    said = message.exchange.header(header.lower()) if message.exchange is not None else None
    return Param(header, value, said, _fault(value, said))


def _text(value: Any) -> Optional[str]:
    """Return the text of an argument; None for one that has no place in a header field."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value == int(value) and abs(value) < 2 ** 53 else None
    return str(value) if isinstance(value, (str, int)) else None


def _fault(value: Any, said: Optional[str]) -> str:
    if value is _NOTHING or value is None:
        return "" if said is None else "null" if value is None else "absent"
    text = _text(value)
    if text is None or mask_of(said) or mask_of(text):
        return ""
    if said is None:
        return "missing"
    read = decoded(said)
    if read == text:
        return "" if said != text or is_plain(text) else "base64"
    if said == text:
        return "escape" if is_sentinel(text) else "base64"
    if is_sentinel(said) and not said.startswith("=?base64?"):
        return "sentinel"
    if not is_plain(text):
        return "base64"
    if not isinstance(value, str):
        return "" if _number(said) is not None and _number(said) == _number(text) else "form"
    return "value"


def _number(text: str) -> Optional[float]:
    try:
        return float(text) if len(text) < 40 else None
    except ValueError:
        return None


# What the client sends

def _judge(message: Message, faults: Tuple[str, ...], kept: Callable[[Param], bool]) -> Verdict:
    """Judge the annotated parameters of a call by the faults of one rule."""
    params = params_of(message)
    if not params:
        return None
    wrong: List[Any] = [Broken("%s: %s" % (each.header, (each.said or "(none)")[:60]), each.header)
                        for each in params if each.fault in faults]
    return wrong or (KEPT if any(kept(each) for each in params if not each.fault) else None)


def _given(param: Param) -> bool:
    return param.value is not _NOTHING and param.value is not None


_TOOL = """
    on http 2026-07-28
    C #1 tools/list {}
    S #1 {"tools": [{"name": "run", "inputSchema": {"type": "object", "properties": {"where": {"type": "string", \
"x-mcp-header": "Where"}, "count": {"type": "integer", "x-mcp-header": "Count"}}}}]}
"""


@rule("http.param-mirror", "http.param-client-support", "http.param-append", "http.param-provided", on=REQUEST,
      facts=params_of, when="http client", method="tools/call", needs="http", scene=_TOOL + """
  + C [3 Mcp-Param-Where=eu] #2 tools/call {"name": "run", "arguments": {"where": "eu"}}
  - C [3] #2 tools/call {"name": "run", "arguments": {"where": "eu"}}
  - S [3] 400
  - S [3] end
""")
def mirrored(message: Message) -> Verdict:
    """An argument that is annotated has a header field of its own."""
    return _judge(message, ("missing",), _given)


@rule("http.param-null-omitted", on=REQUEST, facts=params_of,
      when="http client", method="tools/call", needs="http", scene=_TOOL + """
  + C [3] #2 tools/call {"name": "run", "arguments": {"where": null}}
  - C [3 Mcp-Param-Where=null] #2 tools/call {"name": "run", "arguments": {"where": null}}
""")
def null_omitted(message: Message) -> Verdict:
    """An argument that is null has no header field."""
    return _judge(message, ("null",), lambda each: each.value is None)


@rule("http.param-absent-omitted", on=REQUEST, facts=params_of,
      when="http client", method="tools/call", needs="http", scene=_TOOL + """
  + C [3] #2 tools/call {"name": "run", "arguments": {}}
  - C [3 Mcp-Param-Where=eu] #2 tools/call {"name": "run", "arguments": {}}
""")
def absent_omitted(message: Message) -> Verdict:
    """An argument that is not given has no header field."""
    return _judge(message, ("absent",), lambda each: each.value is _NOTHING)


@rule("http.param-base64", "http.param-encode", on=REQUEST, facts=params_of,
      when="http client", method="tools/call", needs="http", scene=_TOOL + """
  + C [3 Mcp-Param-Where==?base64?w7xiZXI=?=] #2 tools/call {"name": "run", "arguments": {"where": "\u00fcber"}}
  - C [3 Mcp-Param-Where=\u00fcber] #2 tools/call {"name": "run", "arguments": {"where": "\u00fcber"}}
""")
def encoded(message: Message) -> Verdict:
    """An argument that cannot stand in a header field is encoded there."""
    return _judge(message, ("base64",), lambda each: _given(each) and not is_plain(_text(each.value) or ""))


@rule("http.param-sentinel-exact", on=REQUEST, facts=params_of,
      when="http client", method="tools/call", needs="http", scene=_TOOL + """
  + C [3 Mcp-Param-Where==?base64?w7xiZXI=?=] #2 tools/call {"name": "run", "arguments": {"where": "\u00fcber"}}
  - C [3 Mcp-Param-Where==?BASE64?w7xiZXI=?=] #2 tools/call {"name": "run", "arguments": {"where": "\u00fcber"}}
""")
def marked(message: Message) -> Verdict:
    """The marks of an encoded value are in lower case."""
    return _judge(message, ("sentinel",), lambda each: each.said is not None and is_sentinel(each.said))


@rule("http.param-sentinel-escape", on=REQUEST, facts=params_of,
      when="http client", method="tools/call", needs="http", scene=_TOOL + """
  + C [3 Mcp-Param-Where==?base64?PT9iYXNlNjQ/YWJj?=] #2 tools/call {"name": "run", "arguments": {"where": \
"=?base64?abc"}}
  + C [4 Mcp-Param-Where==?base64?PT9iYXNlNjQ/eD89?=] #3 tools/call {"name": "run", "arguments": {"where": \
"=?base64?x?="}}
  - C [4 Mcp-Param-Where==?base64?x?=] #3 tools/call {"name": "run", "arguments": {"where": "=?base64?x?="}}
""")
def escaped(message: Message) -> Verdict:
    """An argument that looks like an encoded value is encoded."""
    return _judge(message, ("escape",), lambda each: _given(each) and is_sentinel(_text(each.value) or ""))


@rule("http.param-apply-encoding", on=REQUEST, facts=params_of,
      when="http client", method="tools/call", needs="http", scene=_TOOL + """
  + C [3 Mcp-Param-Count=7] #2 tools/call {"name": "run", "arguments": {"count": 7}}
  - C [3 Mcp-Param-Count=seven] #2 tools/call {"name": "run", "arguments": {"count": 7}}
""")
def converted(message: Message) -> Verdict:
    """An integer stands in decimal digits in its header field, a boolean as true or false."""
    return _judge(message, ("form",), lambda each: _given(each) and not isinstance(each.value, str))


@rule("http.param-extract", on=REQUEST, facts=params_of,
      when="http client", method="tools/call", needs="http", scene=_TOOL + """
  + C [3 Mcp-Param-Where=eu] #2 tools/call {"name": "run", "arguments": {"where": "eu"}}
  - C [3 Mcp-Param-Where=us] #2 tools/call {"name": "run", "arguments": {"where": "eu"}}
""")
def extracted(message: Message) -> Verdict:
    """A header field has the argument at the path of its annotation."""
    return _judge(message, ("value",), lambda each: _given(each) and isinstance(each.value, str))


@rule("http.param-reject-tool", "http.param-exclude-tool", on=REQUEST,
      when="http client", method="tools/call", needs="http",
      provoked="http.param-name-token", scene="""
    on http 2026-07-28
    C #1 tools/list {}
    S #1 {"tools": [{"name": "bad", "inputSchema": {"type": "object", "properties": {"where": {"type": "string", \
"x-mcp-header": "a b"}}}}, {"name": "run", "inputSchema": {"type": "object"}}]}
  + C [3] #2 tools/call {"name": "run"}
  - C [3] #2 tools/call {"name": "bad"}
    S [3] #2 {"content": []}
""")
def bad_tool_unused(message: Message) -> Verdict:
    """A client does not call a tool whose annotations are not allowed."""
    known = _annotations(message)
    if known is None:
        return None
    return Broken("the annotation of the tool is not allowed", "params.name") if known.fault else KEPT


def _call(message: Message) -> str:
    """Return what a call asks for, without `_meta`."""
    return key_of([message.params.get("name"), message.params.get("arguments")])


class Mismatch:
    """The last call of a client that was refused because of its header fields, if no tools were listed since."""

    def __init__(self) -> None:
        self.call = ""
        self.fields: List[Tuple[str, str]] = []


def _fields(message: Message) -> List[Tuple[str, str]]:
    fields = message.exchange.fields if message.exchange is not None else []
    return sorted((name.lower(), value) for name, value in fields if name.lower().startswith(PREFIX.lower()))


@rule("http.param-mismatch-refresh", on=REQUEST,
      when="http client", method=("tools/call", "tools/list"), needs="http", scene="""
    on http 2026-07-28
    C [3] #1 tools/call {"name": "run", "arguments": {"where": "eu"}}
    S [3] 400 {"Content-Type": "application/json"}
    S [3] #1 !-32020 "Mcp-Param-Where is missing"
  + C [4] #2 tools/list {}
  - C [4] #2 tools/call {"name": "run", "arguments": {"where": "eu"}}
  - S [4] 400 {"Content-Type": "application/json"}
  - S [4] #2 !-32020 "Mcp-Param-Where is missing"
""")
def lists_again(message: Message) -> Verdict:
    """A client whose call was refused for its header fields lists the tools before it calls again."""
    last = message.connection.state(Mismatch)
    if not last.call or asking(message) is None:
        return None
    if message.method == "tools/list":
        return KEPT
    same = _call(message) == last.call and _fields(message) == last.fields
    return "the same call with the same header fields" if same else None


@observe(on=REQUEST, method="tools/list", when="http")
def forget_mismatch(message: Message) -> None:
    """Forget a call that was refused because of its header fields, when the tools are listed."""
    message.connection.state(Mismatch).call = ""


@observe(on=ERROR, when="http")
def note_mismatch(message: Message) -> None:
    """Note a call that was refused because of its header fields."""
    last, asked = message.connection.state(Mismatch), refused(message)
    if asked is not None and asked.method == "tools/call" and not standard_faults(asked):
        last.call, last.fields = _call(asked), _fields(asked)


@observe(on=REQUEST, when="http client")
def note_unlike(message: Message) -> None:
    """Note a request whose header fields are more than a plain copy of what they repeat."""
    exchange, revision = message.exchange, message.revision
    if revision is not None and not revision.stateless:
        return  # there they repeat nothing
    message.unlike = exchange is None or asking(message) is None or not _is_copied(message, exchange)


def _is_copied(message: Message, exchange: ObservedExchange) -> bool:
    """Return True if the usual header fields say what the body says, as it is; and there are no others."""
    fields = exchange.fields
    return not standard_faults(message) and not versions_differ(message) and not params_of(message) and (
        exchange.header("mcp-protocol-version") is not None) and not any(
            value.startswith("=?base64?") or name not in USUAL and name.lower() in _REPEATING for name, value in fields)


# What the server makes of it

def _answers(message: Message, faults: Tuple[str, ...], evidence: str) -> Verdict:
    """Judge the answer to a call with faults: it has to be refused."""
    if message.request is None or not params_of(message.request):
        return None
    asked = served(message) or refused(message)
    wrong = [each for each in params_of(asked) if each.fault in faults] if asked is not None else []
    if not wrong:
        return None
    return KEPT if message.kind == "error" else Broken(evidence, wrong[0].header)


@rule("http.param-validate-body", "http.param-mismatch-rejected", on=(RESULT, ERROR),
      when="http server unlike", method="tools/call",
      party="server", needs="http", provoked="http.param-extract", scene=_TOOL + """
    C [3 Mcp-Param-Where=us] #2 tools/call {"name": "run", "arguments": {"where": "eu"}}
  + S [3] 400 {"Content-Type": "application/json"}
  + S [3] #2 !-32020 "Mcp-Param-Where has another value"
  - S [3] #2 {"content": []}
""")
def validated(message: Message) -> Verdict:
    """A call whose header fields say something else than its arguments is refused."""
    return _answers(message, ("value", "form", "escape", "sentinel", "null", "absent"), "it was served")


@rule("http.param-missing-rejected", on=(RESULT, ERROR),
      when="http server unlike", method="tools/call", party="server", needs="http",
      provoked="http.param-mirror", scene=_TOOL + """
    C [3] #2 tools/call {"name": "run", "arguments": {"where": "eu"}}
  + S [3] 400 {"Content-Type": "application/json"}
  + S [3] #2 !-32020 "Mcp-Param-Where is missing"
  - S [3] #2 {"content": []}
""")
def missing_refused(message: Message) -> Verdict:
    """A call without the header field of an argument is refused."""
    return _answers(message, ("missing",), "it was served without the field")


@rule("http.param-invalid-chars", on=(RESULT, ERROR),
      when="http server unlike", method="tools/call", party="server", needs="http",
      provoked="http.param-base64", scene=_TOOL + """
    C [3 Mcp-Param-Where=\u00fcber] #2 tools/call {"name": "run", "arguments": {"where": "\u00fcber"}}
  + S [3] 400 {"Content-Type": "application/json"}
  + S [3] #2 !-32020 "Mcp-Param-Where has other characters"
  - S [3] #2 {"content": []}
""")
def characters_refused(message: Message) -> Verdict:
    """A call whose header field has characters that are not allowed is refused."""
    return _answers(message, ("base64",), "it was served")


def _sound(message: Message) -> Optional[Message]:
    """Return the call that a response answers, if all its header fields fit."""
    asked = served(message) or refused(message)
    if asked is None or standard_faults(asked) or any(each.fault for each in params_of(asked)):
        return None
    return asked


def _demanded(message: Message, absent: bool) -> Verdict:
    if message.request is None or not params_of(message.request):
        return None
    asked = _sound(message)
    missing = [each for each in params_of(asked) if each.value is (_NOTHING if absent else None)] if asked else []
    if asked is None or not missing:
        return None
    if message.kind == "result":
        return KEPT
    text = str(message.error.get("message", ""))[:2000].lower()
    named = [each for each in missing if each.header.lower() in text]
    return Broken("refused without it", named[0].header) if named else CannotTell("which header field was wanted")


@rule("http.param-null-not-expected", on=(RESULT, ERROR),
      when="http server unlike", method="tools/call", party="server", needs="http",
      scene=_TOOL + """
    C [3] #2 tools/call {"name": "run", "arguments": {"where": null, "count": null}}
  + S [3] #2 {"content": []}
  - S [3] 400 {"Content-Type": "application/json"}
  - S [3] #2 !-32020 "Mcp-Param-Where is missing"
""")
def null_not_demanded(message: Message) -> Verdict:
    """The header field of an argument that is null is not demanded."""
    return _demanded(message, False)


@rule("http.param-absent-not-expected", on=(RESULT, ERROR),
      when="http server unlike", method="tools/call", party="server", needs="http",
      scene=_TOOL + """
    C [3] #2 tools/call {"name": "run", "arguments": {}}
  + S [3] #2 {"content": []}
  - S [3] 400 {"Content-Type": "application/json"}
  - S [3] #2 !-32020 "Mcp-Param-Where is missing"
""")
def absent_not_demanded(message: Message) -> Verdict:
    """The header field of an argument that is not given is not demanded."""
    return _demanded(message, True)


@rule("http.param-server-decodes", on=(RESULT, ERROR),
      when="http server unlike", party="server", needs="http", scene="""
    on http 2026-07-28
    C [3 Mcp-Name==?base64?w7xiZXI=?=] #1 prompts/get {"name": "\u00fcber"}
  + S [3] #1 {"messages": []}
  - S [3] 400 {"Content-Type": "application/json"}
  - S [3] #1 !-32020 "Mcp-Name has another value"
""")
def decodes(message: Message) -> Verdict:
    """A server decodes a header field before it compares it."""
    asked = _sound(message)
    if asked is None or asked.exchange is None:
        return None
    coded = [name for name, value in asked.exchange.fields if value.startswith("=?base64?") and (
        name.lower() == "mcp-name" or name.lower() in [each.header.lower() for each in params_of(asked)])]
    if not coded:
        return None
    if message.kind == "error" and asked.method == "tools/call" and _annotations(asked) is None:
        return CannotTell("the tool")
    return KEPT if message.kind == "result" else Broken("refused though it fits", coded[0])


@rule("http.param-integer-compare", on=(RESULT, ERROR),
      when="http server unlike", method="tools/call", party="server", needs="http",
      scene=_TOOL + """
    C [3 Mcp-Param-Count=42.0] #2 tools/call {"name": "run", "arguments": {"count": 42}}
  + S [3] #2 {"content": []}
  - S [3] 400 {"Content-Type": "application/json"}
  - S [3] #2 !-32020 "Mcp-Param-Count has another value"
""")
def compares_numbers(message: Message) -> Verdict:
    """A server compares integers as numbers."""
    if message.request is None or not params_of(message.request):
        return None
    asked = _sound(message)
    other = [each for each in params_of(asked) if type(each.value) in (int, float) and each.said not in (
        None, _text(each.value))] if asked is not None else []
    if not other:
        return None
    return KEPT if message.kind == "result" else Broken("%s was refused" % str(other[0].said)[:40], other[0].header)


# What the server asks for

def _listing(message: Message, kind: str) -> Verdict:
    """Judge the annotations of all tools of a listing by one kind of fault."""
    tools, judged = message.result.get("tools"), False
    for place, tool in enumerate(tools if isinstance(tools, list) else []):
        known = annotations_of(tool.get("inputSchema")) if isinstance(tool, dict) else None
        if known is not None and known.fault.startswith(kind):
            return Broken(known.fault.partition(": ")[2], "result.tools[%d].inputSchema" % place)
        judged = judged or known is not None and bool(known.headers)
    return KEPT if judged else None


def _annotated(kept: str, broken: str) -> str:
    lines = ["", "    on http 2026-07-28", "    C #1 tools/list {}"]
    for sign, schema in (("+", kept), ("-", broken)):
        lines.append('  %s S #1 {"tools": [{"name": "run", "inputSchema": {"type": "object", "properties": %s}}]}' % (
            sign, schema))
    return "\n".join(lines) + "\n"


_GOOD = '{"a": {"type": "string", "x-mcp-header": "A"}}'


@rule("http.param-name-token", "http.param-name-not-empty", "http.param-name-no-control", on=RESULT,
      method="tools/list", party="server",
      scene=_annotated(_GOOD, '{"a": {"type": "string", "x-mcp-header": "a b"}}'))
def names_are_tokens(message: Message) -> Verdict:
    """The name for a header field is one or more characters that such names may have."""
    return _listing(message, "name")


@rule("http.param-name-unique", on=RESULT, method="tools/list", party="server", scene=_annotated(
    _GOOD, '{"a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"}}'))
def names_are_unique(message: Message) -> Verdict:
    """The names for header fields of a tool differ, whatever their case."""
    return _listing(message, "unique")


@rule("http.param-primitive-types", on=RESULT, method="tools/list", party="server", scene=_annotated(
    _GOOD, '{"a": {"type": "number", "x-mcp-header": "A"}}'))
def types_are_primitive(message: Message) -> Verdict:
    """Strings, integers and booleans may have a header field, nothing else."""
    return _listing(message, "type")


@rule("http.param-statically-reachable", "http.param-chain", on=RESULT, method="tools/list", party="server",
      scene=_annotated(_GOOD, '{"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}'))
def reachable(message: Message) -> Verdict:
    """A parameter that has a header field is reached by properties alone."""
    return _listing(message, "chain")
