"""Rules of the definitions in each schema, and of the codes and texts of errors [2026-07-28 basic/index §Error Codes].

Params and results have the members and types that the schema of the revision defines. A finding about them follows from
any rule that a requirement has about the same message, so one wrong type is one fault. Members that a definition does
not have, names of vendors and extensions, and what a later revision has added are no fault.

The requirements of icons [2025-11-25.. basic/index §icons] bind the party that shows them, out of sight.
"""

from typing import Any, Callable, Dict, Mapping, Optional, Tuple

from .....codec import DecodeError, decoder
from .....requirements import Requirement
from .....methods import (
    EMBEDDED, INPUT_REQUIRED, SENDER, UPDATE_TASK, Method, is_vendor, known_since, load, lookup, params_class,
    result_class,
)
from .....readers import Checked
from .....revisions import Revision
from .....wiretrace import CLIENT, SERVER
from ...course import ADDED, added, added_result, is_reserved
from ...observed import ERROR, META_REVISION, NOTIFICATION, REQUEST, RESULT, Message
from ...rounds import answers
from ...rules import ANSWERED, KEPT, UNDECIDED, Broken, CannotTell, Verdict, rule
from ...values import at, has_mask, is_integer, masked, short
from .lifecycle import UNDECLARED, phase
from .versioning import (
    HEADER_MISMATCH, MISSING_CAPABILITY, MODERN_CODES, UNSUPPORTED_VERSION, Era, speaks_modern, strings,
)

_ANY = ("here:*",)
_NOTIFICATIONS = "notifications/"
_QUESTIONS = ("elicitation/create", "sampling/createMessage", "roots/list")
_LONGEST = 4096
"""Characters of a `_meta` that is remembered."""


def _row(id: str, level: str, revisions: str = "..") -> Requirement:
    return Requirement(id, level, "both", revisions, "schema.json", "")


def _fault(decode: Callable[..., Any], value: Any, name: str, what: str) -> Optional[Broken]:
    """Return what of a value does not fit; None if nothing, or if what is there was masked."""
    try:
        decode(value, name)
    except DecodeError as error:
        if masked(at({name: value}, error.location)):
            return None
        return Broken("%s: expected %s, got %s (%s)" % (
            short(error.path), short(error.expected, 80), short(error.got), what), error.path[:100])
    except RecursionError:
        return None
    return None


_PARAMS: Dict[Tuple[str, int], Tuple[Callable[..., Any], str]] = {}
_RESULTS: Dict[Tuple[str, int, Any], Optional[Tuple[Callable[..., Any], str]]] = {}


class Good:
    """The last `_meta` for each definition of params that was found to fit it, as text."""

    def __init__(self) -> None:
        self.metas: Dict[Callable[..., Any], str] = {}


def _name(declared: Any) -> str:
    return declared.rpartition(":")[2] if isinstance(declared, str) else str(getattr(declared, "__name__", declared))


def _row_of(message: Message, revision: Revision) -> Optional[Method]:
    """Return the row of a message's method: that of the revision, or of an extension that is declared."""
    return lookup(message.method, revision) or added(message, revision)


def _params_decoder(message: Message, revision: Revision) -> Optional[Tuple[Callable[..., Any], str]]:
    """Return the decoder of the params of a message, and the name of the definition; None for an unknown method."""
    row = _row_of(message, revision)
    if row is None:
        return None
    key = (row.name, revision.rank)
    found = _PARAMS.get(key)
    if found is None:
        found = _PARAMS[key] = (decoder(params_class(row), revision), _name(row.params))
    return found


@rule("schema.params", on=(REQUEST, NOTIFICATION), follows=_ANY, row=_row("schema.params", "MUST"), scene="""
    on stdio 2025-06-18
  + C #1 tools/call {"name": "t", "arguments": {}}
  - C #1 tools/call {"name": "t", "arguments": []}
    S #1 {"content": []}
""")
def params(message: Message) -> Verdict:
    """The params of a message have the members and types that the schema of the revision gives them."""
    if message.revision is None:
        return None
    found = _params_decoder(message, message.revision)
    if found is None:
        return None
    given = message.data.get("params", {})
    if message.revision.handshake or "progressToken" in message.meta or message.kind != REQUEST or (
            message.method in ADDED):
        return _fault(found[0], given, "params", found[1]) or KEPT
    # Without a handshake client and capabilities are in each request, mostly the same: read once, by far the most of it
    good, told = message.session.state(Good).metas, repr(message.meta)  # 1 and true are equal, their texts are not
    if good.get(found[0]) == told:
        return _fault(found[0], dict(given, _meta=Checked(message.meta)), "params", found[1]) or KEPT
    verdict = _fault(found[0], given, "params", found[1]) or KEPT
    if verdict is KEPT and message.meta and len(told) <= _LONGEST:
        good[found[0]] = told
    return verdict


def _result_decoder(message: Message, row: Method, revision: Revision) -> Optional[Tuple[Callable[..., Any], str]]:
    """Return the decoder of a result, and the name of the definition; None for a kind that an extension adds."""
    wanted, kind = row.result, message.result.get("resultType", "complete") if revision.result_type else "complete"
    if kind == "input_required":
        wanted = row.other if row.other == INPUT_REQUIRED else None
    elif kind != "complete":
        wanted = added_result(message)
    elif row.other is not None and row.other != INPUT_REQUIRED and "task" in message.result and (
            message.request is not None and "task" in message.request.params):
        wanted = row.other
    if wanted is None:
        return None
    key = (row.name, revision.rank, wanted)
    if key not in _RESULTS:
        cls = result_class(row) if wanted == row.result else load(wanted)
        _RESULTS[key] = (decoder(cls, revision), _name(wanted))
    return _RESULTS[key]


@rule("schema.result", on=RESULT, follows=(*_ANY, "schema.unknown-method", "tasks-ext.result-type-task-on-create"),
      row=_row("schema.result", "MUST"), scene="""
    on stdio 2025-06-18
    C #1 tools/call {"name": "t", "arguments": {}}
  + S #1 {"content": [{"type": "text", "text": "a"}]}
  - S #1 {"content": [{"type": "text"}]}
""")
def result(message: Message) -> Verdict:
    """A result has the members and types that the schema of the revision gives it."""
    revision, asked = message.revision, message.request
    row = _row_of(message, revision) if revision is not None and asked is not None else None
    if revision is None or row is None or row.result is None:
        return None
    found = _result_decoder(message, row, revision)
    if found is None:
        return None
    return _fault(found[0], message.data.get("result"), "result", found[1]) or KEPT


@rule("schema.input-answers", on=ANSWERED, follows=(*_ANY, "schema.params"), row=Requirement(
    "schema.input-answers", "MUST", "client", "2026-07-28", "basic/patterns/mrtr", "InputResponses"), scene="""
    on stdio 2026-07-28
    C #1 tools/call {"name": "t", "arguments": {}}
    S #1 {"resultType": "input_required", "inputRequests": {"a": {"method": "roots/list"}}}
  + C #2 tools/call {"name": "t", "arguments": {}, "inputResponses": {"a": {"roots": []}}}
  - C #2 tools/call {"name": "t", "arguments": {}, "inputResponses": {"a": {"action": "decline"}}}
    S #2 {"content": []}
""")
def fitting(message: Message) -> Verdict:
    """The answer to a question is a result of the method that the question has."""
    revision, verdict = message.revision, None
    if message.kind != REQUEST or message.method == UPDATE_TASK or revision is None or message.notes.get("several"):
        return None
    for method in _QUESTIONS:
        row = lookup(method, revision)
        for answer in answers(message, method):
            wrong = None if row is None or has_mask(answer.result) else _fault(
                decoder(result_class(row), revision), answer.result, "params", "a result of %s" % method)
            if wrong is not None:
                return wrong._replace(where=answer.where)
            verdict = KEPT
    return verdict


@rule("schema.unknown-method", on=(REQUEST, NOTIFICATION), follows=_ANY, row=_row("schema.unknown-method", "SHOULD"),
      facts=phase, scene="""
    on stdio 2025-06-18
  + C #1 tools/list
  + S #1 {"tools": []}
  - C #1 tools/lists
  - S #1 !-32601 "Method not found"
""")
def known(message: Message) -> Verdict:
    """A method is one that the revision has, from this party, or a name of a vendor or an extension."""
    revision = message.revision
    if revision is None:
        return None
    row = _row_of(message, revision)
    if row is None:
        return _unknown(message, revision)
    if row.sender not in (message.sender, "both") or (row.carrier == EMBEDDED and message.kind == REQUEST):
        return Broken("%s is not sent by the %s" % (row.name, message.sender), "method")
    if row.kind != message.kind:
        return Broken("%s is a %s" % (row.name, row.kind), "id")
    return KEPT


def _unknown(message: Message, revision: Revision) -> Verdict:
    method = message.method
    rest = method[len(_NOTIFICATIONS):] if method.startswith(_NOTIFICATIONS) else method
    reserved = is_reserved(method, revision)
    if not reserved and (is_vendor(rest) or method.startswith("rpc.")):
        return None
    carrier = message.exchange.request if message.exchange is not None and message.sender == SERVER else None
    for party in () if reserved else (CLIENT, SERVER):
        capabilities = (carrier or message).capabilities(party)
        if capabilities is None:
            return CannotTell("whether an extension has the method")
        if capabilities.get("extensions") or capabilities.get("experimental"):
            return None
    others = ", ".join(str(each) for each in known_since(method))
    return Broken("%s has no method %s%s" % (revision, short(method), ", but %s" % others if others else ""), "method")


@rule("schema.capability", on=NOTIFICATION, party=SERVER, follows=(*_ANY, UNDECLARED),
      row=_row("schema.capability", "SHOULD", "2026-07-28"), scene="""
  + on stdio 2026-07-28 server={"tools": {"listChanged": true}}
  - on stdio 2026-07-28 server={"tools": {}}
    C #1 server/discover
    S #1 {"ttlMs": 60000}
    C #2 subscriptions/listen {"notifications": {"toolsListChanged": true}}
    S notifications/subscriptions/acknowledged {"_meta": {"io.modelcontextprotocol/subscriptionId": 2}, \
        "notifications": {"toolsListChanged": true}}
    S notifications/tools/list_changed {"_meta": {"io.modelcontextprotocol/subscriptionId": 2}}
""")
def capability(message: Message) -> Verdict:
    """A server that sends a notification has declared the capability that it belongs to."""
    row = lookup(message.method, message.revision) if message.revision is not None else None
    if row is None or row.capability is None or row.holder != SENDER or message.sender != SERVER:
        return None
    declared = message.has_capability(SERVER, row.capability)
    if declared is None:
        return CannotTell("the capabilities of the server")
    if not declared and message.time > message.connection.state(Era).fresh_until:
        return CannotTell("the capabilities of the server now: they may have changed since it has told them")
    feature = row.capability.partition(".")[0]
    return KEPT if declared else Broken("%s was not declared" % row.capability, "capabilities." + (
        row.capability if message.has_capability(SERVER, feature) else feature))


_UNSEEN = "what a client does with an icon leaves no message: it is fetched, if at all, over a connection of its own"
UNDECIDED.update({
    "icons.uri-scheme": _UNSEEN,
    "icons.reject-unsafe-schemes": _UNSEEN,
    "icons.same-origin": _UNSEEN,
    "icons.src-trusted-domain": _UNSEEN,
})


UNDECIDED.update({
    "errors.legacy-range-no-meaning": "the meaning that a receiver gives to a code is inside it",
})

_RESOURCE_NOT_FOUND, _URL_ELICITATION = -32002, -32042
_STANDARD = (-32700, -32600, -32601, -32602, -32603)
_CONCISE = 300
"""Characters of an error's message above which it is no concise sentence: the schema names no number."""
_DEPTH = 16
_OLDER = "whether the server is of this revision, or an older one that knows nothing of it"


def _code(message: Message) -> Any:
    code: Any = message.error.get("code")
    return int(code) if is_integer(code) else None


def _sent(message: Message, wrong: bool) -> Verdict:
    """Return the verdict about a code: an older server may answer a request of this revision in its own way."""
    if _code(message) is None:
        return None
    if not wrong:
        return KEPT
    if message.sender == SERVER and not speaks_modern(message.connection):
        return CannotTell(_OLDER)
    return Broken("the code %d" % _code(message), "error.code")


_SCENE = """
    on stdio 2026-07-28
    C #1 tools/call {"name": "a", "arguments": {}}
    S #1 {"content": []}
    C #2 tools/call {"name": "b", "arguments": {}}
  + S #2 !-32603 "Failed"
  - S #2 !%d "Failed"
"""


@rule("errors.no-32002", on=ERROR, scene=_SCENE % _RESOURCE_NOT_FOUND)
def no_32002(message: Message) -> Verdict:
    """No error has the code -32002 any more."""
    return _sent(message, _code(message) == _RESOURCE_NOT_FOUND)


@rule("errors.no-32042", on=ERROR, scene=_SCENE % _URL_ELICITATION)
def no_32042(message: Message) -> Verdict:
    """No error has the code -32042 any more."""
    return _sent(message, _code(message) == _URL_ELICITATION)


@rule("errors.reserved-range-undefined", on=ERROR, follows="errors.no-32042", scene=_SCENE % -32050)
def reserved_range_undefined(message: Message) -> Verdict:
    """No code from -32099 to -32020 is sent but those that the specification defines."""
    code = _code(message)
    return _sent(message, code is not None and -32099 <= code <= -32020 and code not in MODERN_CODES)


@rule("errors.legacy-range-avoid", on=ERROR, follows="errors.no-32002",
      reading="an implementation of this revision counts as a new one", scene=_SCENE % -32001)
def legacy_range_avoid(message: Message) -> Verdict:
    """No code from -32019 to -32000 is used by a new implementation."""
    code = _code(message)
    return _sent(message, code is not None and -32019 <= code <= -32000)


@rule("errors.app-codes-outside-reserved", on=ERROR,
      reading="a code that neither JSON-RPC nor the specification defines counts as new", scene=_SCENE % -32500)
def app_codes_outside_reserved(message: Message) -> Verdict:
    """A code of an application lies outside of -32768 to -32000."""
    code = _code(message)
    return _sent(message, code is not None and -32768 <= code < -32099 and code not in _STANDARD)


def covers(declared: Mapping[str, Any], required: Mapping[str, Any], depth: int = _DEPTH) -> bool:
    """Return True if each capability that is required, and each part of it, was declared."""
    for name, part in required.items():
        own = declared.get(name)
        if own is None or own is False:
            return False
        if isinstance(part, dict) and part and not (isinstance(own, dict) and depth and covers(own, part, depth - 1)):
            return False
    return True


def _contradiction(message: Message) -> Verdict:
    """Return the verdict about one of the three codes: whether the request contradicts it."""
    code, request, data = _code(message), message.request, message.error.get("data")
    if request is None:
        return None
    told = data if isinstance(data, dict) else {}
    if code == UNSUPPORTED_VERSION:
        asked = request.meta.get(META_REVISION)
        return Broken("the version %s is among those that it lists" % asked, "error.data.supported") if (
            isinstance(asked, str) and asked in (strings(told.get("supported")) or ())) else KEPT
    if code == MISSING_CAPABILITY:
        required, declared = told.get("requiredCapabilities"), message.capabilities(CLIENT)
        if not isinstance(required, dict) or not required or declared is None:
            return None
        return Broken("the client has declared what it requires", "error.data.requiredCapabilities") if covers(
            declared, required) else KEPT
    if message.connection.transport in ("stdio", "tcp", "unix"):
        return Broken("a mismatch of headers, and there are none", "error.code")
    return CannotTell("which header field the server compared")


@rule("errors.reserved-range-meaning", on=ERROR, scene="""
    on stdio 2026-07-28
    C #1 tools/list {}
  + S #1 !-32022 "Unsupported protocol version" {"supported": ["2027-01-01"], "requested": "2026-07-28"}
  - S #1 !-32022 "Unsupported protocol version" {"supported": ["2026-07-28"], "requested": "2026-07-28"}
""")
def reserved_range_meaning(message: Message) -> Verdict:
    """A code that the specification defines is used for what it means."""
    return _contradiction(message) if _code(message) in (
        HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION) else None


@rule("errors.message-concise", on=ERROR,
      reading="a text with line breaks, or of more than %d characters, is no concise sentence" % _CONCISE, scene="""
    on stdio 2025-06-18
    C #1 tools/call {"name": "x", "arguments": {}}
  + S #1 !-32603 "Internal error"
  - S #1 !-32603 "Traceback (most recent call last):\\n  File \\"x.py\\", line 1\\nValueError"
""")
def message_concise(message: Message) -> Verdict:
    """The message of an error is one concise sentence."""
    text = message.error.get("message")
    if not isinstance(text, str):
        return None
    lines = len(text.strip().splitlines())
    return KEPT if lines <= 1 and len(text) <= _CONCISE else Broken(
        "%d lines, %d characters" % (lines, len(text)), "error.message")


@rule("jsonrpc.result-type-required", on=RESULT, spoils=True, follows="jsonrpc.response-same-id", scene="""
    on stdio 2026-07-28
    C #1 server/discover {}
    S #1 {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    C #2 tools/list {}
  + S> {"jsonrpc": "2.0", "id": 2, "result": {"resultType": "complete", "tools": [], "ttlMs": 0, \
"cacheScope": "private"}}
  - S> {"jsonrpc": "2.0", "id": 2, "result": {"tools": [], "ttlMs": 0, "cacheScope": "private"}}
""")
def result_type_required(message: Message) -> Verdict:
    """A result says of which type it is."""
    if message.sender != SERVER or not isinstance(message.data["result"], dict):
        return None
    if isinstance(message.result.get("resultType"), str):
        return KEPT
    if not speaks_modern(message.connection):
        return CannotTell(_OLDER)
    return Broken("no resultType" if "resultType" not in message.result else "resultType is no string",
                  "result")


def says_complete(message: Message) -> Verdict:
    """Judge whether a result says that it is of the type complete."""
    kind = message.result.get("resultType")
    return KEPT if kind == "complete" else Broken(
        "resultType is %s" % short(kind) if "resultType" in message.result else "resultType is missing",
        "result.resultType")
