"""Rules of completion [.. server/utilities/completion], beside those of the codes of errors (`errorcodes`)."""

from typing import Any, Tuple

from .....requirements import Requirement
from .....jsontext import JsonError, dumps
from .....wiretrace import CLIENT, SERVER
from ...bounds import Bounds, Forgetful
from ...observed import ERROR, REQUEST, RESULT, Message
from ...rules import KEPT, UNDECIDED, Broken, Verdict, observe, rule
from ...values import has_mask, members, short
from ..basic.lifecycle import UNDECLARED
from .errorcodes import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND
from .lists import declared, undeclared

UNDECIDED.update({
    "completion.rate-limit-should": "a limit shows only when it is reached, and the page names none",
    "completion.rate-limit": "a limit shows only when it is reached, and the page names none",
    "completion.partial-results": "how a client takes what is missing leaves no message",
})

_COMPLETE = "completion/complete"
_WINDOW = 2.0
"""Seconds within which the same request counts as the same need."""
_MOST = 5
"""Times that a client asks for the same completion within them."""
_VALUES = 100
"""Values that a completion has at most."""
_PARAMS = '{"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "x"}}'


@rule("completion.capability", on=RESULT, method=_COMPLETE, follows=UNDECLARED, scene=undeclared(
    "completions", _COMPLETE, _PARAMS, '{"completion": {"values": ["x"]}}'),
    reading="a server that answers with no values, as libraries do by default, does not show that it completes")
def has_capability(message: Message) -> Verdict:
    """A server that completes has declared the capability completions."""
    verdict, completion = declared(message, "completions", message.method), message.result.get("completion")
    empty = isinstance(completion, dict) and completion.get("values") == []
    return None if empty and isinstance(verdict, Broken) else verdict


@rule("schema.completion-values", on=RESULT, method=_COMPLETE, follows=("schema.result",), row=Requirement(
    "schema.completion-values", "MUST", "server", "..", "server/utilities/completion", "Completion Results"), scene="""
    on stdio 2025-06-18
    C #1 completion/complete %s
  + S #1 {"completion": {"values": ["x"], "hasMore": true}}
  - S #1 {"completion": {"values": [%s]}}
""" % (_PARAMS, ", ".join(['"x"'] * (_VALUES + 1))))
def few(message: Message) -> Verdict:
    """A completion has at most 100 values."""
    completion = message.result.get("completion")
    values = completion.get("values") if isinstance(completion, dict) else None
    if not isinstance(values, list):
        return None
    return KEPT if len(values) <= _VALUES else Broken("%d values" % len(values), "completion.values")


def _lacking(message: Message) -> str:
    """Return which member the params lack; "" if they have them."""
    params = message.request.data.get("params") if message.request is not None else None
    if not isinstance(params, dict):
        return "params"
    argument = params.get("argument")
    if "ref" not in params or "argument" not in params:
        return "ref" if "ref" not in params else "argument"
    missing = [name for name in ("name", "value") if isinstance(argument, dict) and name not in argument]
    return "argument." + missing[0] if missing else ""


def _wrong(message: Message) -> str:
    """Return what is wrong with the types of the params; "" if nothing is."""
    params = message.request.params if message.request is not None else {}
    ref, argument = params.get("ref"), params.get("argument")
    if not isinstance(ref, dict) or not isinstance(argument, dict):
        return "ref or argument is no object"
    if ref.get("type") not in ("ref/prompt", "ref/resource"):
        return "the type of the ref is %s" % short(ref.get("type"))
    if not all(isinstance(argument.get(name), str) for name in ("name", "value")):
        return "name or value is no string"
    return ""


_BAD = """
    on stdio 2025-06-18
    C #1 completion/complete %s
  + S #1 !-32602 "Invalid params"
  - S #1 {"completion": {"values": []}}
"""


@rule("completion.missing-arguments", on=(RESULT, ERROR), method=_COMPLETE, party=SERVER, provoked="schema.params",
      scene=_BAD % '{"ref": {"type": "ref/prompt", "name": "p"}}')
def missing(message: Message) -> Verdict:
    """A request for completion without what it needs is answered with the code of invalid params."""
    name = _lacking(message)
    if not name:
        return None
    code = message.error.get("code")
    if message.kind == RESULT:
        return Broken("a result, though %s is missing" % name, "params." + name)
    if code in (METHOD_NOT_FOUND, INVALID_REQUEST):
        return None  # the server does not complete, or not now
    return KEPT if code == INVALID_PARAMS else Broken("error %s, though %s is missing" % (code, name), "error.code")


@rule("completion.validate-inputs", "completion.validate-should", on=(RESULT, ERROR), method=_COMPLETE, party=SERVER,
      provoked="schema.params",
      scene=_BAD % '{"ref": {"type": "ref/foo", "name": "p"}, "argument": {"name": "a", "value": "x"}}')
def validates(message: Message) -> Verdict:
    """A server refuses to complete what has other types than it may have."""
    if _lacking(message):
        return None
    wrong = _wrong(message)
    if not wrong or has_mask(message.request.params if message.request is not None else None):
        return None
    return KEPT if message.kind == ERROR else Broken("a result, though %s" % wrong, "params")


class RepeatedCompletion:
    """When the same completion was asked for: the first time of a row, and how often since."""

    def __init__(self) -> None:
        self.rows: "Forgetful[str, Tuple[float, int]]" = Forgetful(Bounds().entries)


def _key(message: Message) -> Any:
    params = {name: message.params[name] for name in ("ref", "argument", "context") if name in message.params}
    try:
        return None if not members(params.get("ref")) or has_mask(params) else dumps(params)
    except JsonError:
        return None


@rule("completion.cache", on=REQUEST, method=_COMPLETE, party=CLIENT, needs="times",
      reading="keeping a completion is appropriate for two seconds: five equal requests within them are too many",
      scene="""
    on stdio 2025-06-18
    C #1 completion/complete %(p)s
    S #1 {"completion": {"values": []}}
  + @ 3
    C #2 completion/complete %(p)s
    S #2 {"completion": {"values": []}}
    C #3 completion/complete %(p)s
    S #3 {"completion": {"values": []}}
    C #4 completion/complete %(p)s
    S #4 {"completion": {"values": []}}
    C #5 completion/complete %(p)s
    S #5 {"completion": {"values": []}}
""" % {"p": _PARAMS})
def keeps(message: Message) -> Verdict:
    """A client does not ask for the same completion over and over."""
    row = message.session.state(RepeatedCompletion).rows.get(_key(message))
    if row is None or message.time - row[0] > _WINDOW:
        return KEPT if row is not None else None
    if row[1] + 1 != _MOST:
        return None
    return Broken("asked for %d times in %.1f seconds" % (_MOST, message.time - row[0]))


@observe(on=REQUEST, method=_COMPLETE)
def note(message: Message) -> None:
    """Note what is asked for."""
    key, rows = _key(message), message.session.state(RepeatedCompletion).rows
    row = rows.get(key)
    if key is not None:
        rows[key] = (message.time, 1) if row is None or message.time - row[0] > _WINDOW else (row[0], row[1] + 1)
