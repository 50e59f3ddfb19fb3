"""Rules of the codes of errors that servers answer with [.. server/resources §Error Handling],
[.. server/prompts §Error Handling], [2025-03-26.. server/utilities/completion §Error Handling].

The cause of an error shows in its text only, so these rules wait for plain words, in English.
"""

import re
from typing import Any

from .....wiretrace import SERVER
from ...listed import lists
from ...observed import ERROR, RESULT, Message
from ...rules import KEPT, Broken, CannotTell, Verdict, rule
from ...values import masked, members, short

INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL = -32600, -32601, -32602, -32603
_INTERNAL = re.compile(r"\binternal (?:server )?error\b", re.IGNORECASE)
_NO_RESOURCE = re.compile(
    r"\b(?:unknown resource|no such resource|resource (?:\S+ )?(?:was )?(?:not found|does not exist|not exist))\b",
    re.IGNORECASE)
_NONE = re.compile(r"\b(?:not found|unknown|no such|does not exist|doesn't exist|invalid prompt|not exist)\b",
                   re.IGNORECASE)
_COMPLETE = """completion/complete {"ref": {"type": "ref/prompt", "name": "%s"}, "argument": {"name": "a", \
"value": "x"}}"""
_WORDS = "the cause is read off the text of the error"


def code_and_text(message: Message) -> "tuple[Any, str]":
    """Return the code and the text of an error."""
    text = message.error.get("message")
    return message.error.get("code"), text if isinstance(text, str) else ""


def internal(message: Message) -> Verdict:
    """Judge an error by its text: one that speaks of an internal error has the code for it."""
    code, text = code_and_text(message)
    if _INTERNAL.search(text) is None:
        return None
    return KEPT if code == INTERNAL else Broken("error %s says: %s" % (code, short(text)), "error.code")


_FAILS = """
    on stdio 2025-06-18
    C #1 %s
  + S #1 !-32603 "Internal error"
  - S #1 !-32000 "Internal error"
"""


@rule("resources.internal-error", on=ERROR, party=SERVER, reading=_WORDS, scene=_FAILS % "resources/list", method=(
    "resources/list", "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe"))
def resources_internal(message: Message) -> Verdict:
    """An internal error of a method of resources has the code of internal errors."""
    return internal(message)


@rule("prompts.internal-error", on=ERROR, party=SERVER, reading=_WORDS, scene=_FAILS % "prompts/list",
      method=("prompts/list", "prompts/get"))
def prompts_internal(message: Message) -> Verdict:
    """An internal error of a method of prompts has the code of internal errors."""
    return internal(message)


@rule("completion.internal-error", on=ERROR, party=SERVER, reading=_WORDS, method="completion/complete",
      scene=_FAILS % (_COMPLETE % "p"))
def completion_internal(message: Message) -> Verdict:
    """An internal error of completion has the code of internal errors."""
    return internal(message)


def _not_found(message: Message) -> Verdict:
    code, text = code_and_text(message)
    serves = message.has_capability(SERVER, "resources")
    if message.revision is None or (code == METHOD_NOT_FOUND and not serves) or _NO_RESOURCE.search(text) is None:
        return None
    uri = message.request.params.get("uri") if message.request is not None else None
    if isinstance(uri, str) and lists(message.session).items["resources/list"].get(uri) is not None:
        return None
    if code == message.revision.resource_not_found_code:
        return KEPT
    return Broken("error %s says: %s" % (code, short(text)), "error.code")


_MISSING = """
    on stdio %s
    C #1 resources/read {"uri": "file:///none"}
  + S #1 !%d "Resource not found"
  - S #1 !-32603 "Resource not found"
"""


@rule("resources.not-found-32002", on=ERROR, method="resources/read", reading=_WORDS,
      scene=_MISSING % ("2025-06-18", -32002))
def not_found_older(message: Message) -> Verdict:
    """A resource that does not exist is answered with the code that the earlier revisions have for it."""
    return _not_found(message)


@rule("resources.not-found-32602", on=ERROR, method="resources/read", reading=_WORDS, follows="errors.*",
      scene=_MISSING % ("2026-07-28", -32602))
def not_found(message: Message) -> Verdict:
    """A resource that does not exist is answered with the code of invalid params."""
    return _not_found(message)


def _unlisted(message: Message, name: Any) -> Verdict:
    """Judge the answer to a request that names a prompt: KEPT if it may be listed, CannotTell without a list."""
    if not isinstance(name, str) or masked(name):
        return None
    listing = lists(message.session).complete_since_change("prompts/list")
    if listing is None:
        return CannotTell("the whole list of prompts")
    return KEPT if name in listing.names else None


def _code(message: Message, why: str, capability: str) -> Verdict:
    code, text = code_and_text(message)
    if code == METHOD_NOT_FOUND and message.has_capability(SERVER, capability) is not True:
        return None  # the server has no such method at all, and says so
    if code == INVALID_PARAMS:
        return KEPT
    if code in (METHOD_NOT_FOUND, INTERNAL, -32002, 0) or _NONE.search(text) is not None:
        return Broken("error %s, though %s" % (code, why), "error.code")
    return None


_PROMPTS = """
    on stdio 2025-06-18
    C #1 prompts/list
    S #1 {"prompts": [{"name": "p", "arguments": [{"name": "code", "required": true}]}]}
"""


@rule("prompts.invalid-name", on=ERROR, method="prompts/get", follows="errors.*", scene=_PROMPTS + """
    C #2 prompts/get {"name": "q"}
  + S #2 !-32602 "Unknown prompt"
  - S #2 !-32603 "Unknown prompt"
""")
def unknown_prompt(message: Message) -> Verdict:
    """A prompt that is not there is answered with the code of invalid params."""
    request = message.request
    name = request.params.get("name") if request is not None else None
    known = _unlisted(message, name)
    if isinstance(known, CannotTell):
        return known
    return None if known is KEPT or name is None else _code(
        message, "no prompt %s is listed" % short(name), "prompts")


def _missing(message: Message) -> str:
    """Return the name of a required argument that a request for a prompt lacks; "" if it lacks none."""
    request = message.request
    if request is None:
        return ""
    prompt = lists(message.session).definition("prompts/list", request.params.get("name"))
    declared = prompt.get("arguments") if prompt is not None else None
    given = request.params.get("arguments", {})
    for each in declared if isinstance(declared, list) and isinstance(given, dict) else ():
        name = members(each).get("name")
        if members(each).get("required") is True and isinstance(name, str) and name not in given:
            return name
    return ""


@rule("prompts.missing-arguments", on=ERROR, method="prompts/get", scene=_PROMPTS + """
    C #2 prompts/get {"name": "p"}
  + S #2 !-32602 "Missing argument code"
  - S #2 !-32603 "Missing argument code"
""")
def missing_argument(message: Message) -> Verdict:
    """A request for a prompt without a required argument is answered with the code of invalid params."""
    name = _missing(message)
    return _code(message, "the argument %s is missing" % short(name), "prompts") if name else None


@rule("prompts.validate-arguments", on=(RESULT, ERROR), method="prompts/get", party=SERVER, scene=_PROMPTS + """
    C #2 prompts/get {"name": "p"}
  + S #2 !-32602 "Missing argument code"
  - S #2 {"messages": []}
""")
def validates_arguments(message: Message) -> Verdict:
    """A server does not give a prompt whose required arguments are missing."""
    name = _missing(message)
    if not name or message.result.get("resultType", "complete") != "complete":
        return None
    return KEPT if message.kind == ERROR else Broken("the argument %s is missing" % short(name), "params.arguments")


@rule("completion.invalid-prompt", on=(RESULT, ERROR), method="completion/complete", party=SERVER,
      scene=_PROMPTS + """
    C #2 """ + _COMPLETE % "q" + """
  + S #2 !-32602 "Unknown prompt"
  - S #2 {"completion": {"values": []}}
""", reading="a prompt that is not listed, and for which nothing is found, does not exist")
def completes_unknown(message: Message) -> Verdict:
    """Completion for a prompt that is not there is answered with the code of invalid params."""
    ref = members(message.request.params.get("ref")) if message.request is not None else {}
    if ref.get("type") != "ref/prompt":
        return None
    known = _unlisted(message, ref.get("name"))
    if known is not None or not isinstance(ref.get("name"), str):
        return known if isinstance(known, CannotTell) else None
    why = "no prompt %s is listed" % short(ref["name"])
    if message.kind == ERROR:
        return _code(message, why, "completions")
    values = members(message.result.get("completion")).get("values")
    return Broken("completed with nothing, though %s" % why, "result.completion") if values == [] else None


@rule("completion.unsupported-error", on=ERROR, method="completion/complete", party=SERVER, scene="""
    on stdio 2026-07-28 server={"prompts": {}}
    C #1 server/discover
    S #1 {}
    C #2 """ + _COMPLETE % "p" + """
  + S #2 !-32601 "Method not found"
  - S #2 !-32603 "Completion is not supported"
""")
def unsupported(message: Message) -> Verdict:
    """A server without completions answers that it does not know the method."""
    known = message.has_capability(SERVER, "completions")
    if known is None:
        return CannotTell("the capabilities of the server")
    if known:
        return None
    code, _ = code_and_text(message)
    return KEPT if code == METHOD_NOT_FOUND else Broken("error %s, and completions was not declared" % code,
                                                        "error.code")
