"""Rules of the codes and texts of errors [2026-07-28 basic/index §Error Codes]."""

from typing import Any, Mapping

from ....wiretrace import CLIENT, SERVER
from ...observed import ERROR, META_REVISION, RESULT, Message
from ...rules import KEPT, UNDECIDED, Broken, CannotTell, Verdict, rule
from ...values import is_integer, short
from .versioning import HEADER_MISMATCH, MISSING_CAPABILITY, MODERN_CODES, UNSUPPORTED_VERSION, speaks_modern, strings

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
