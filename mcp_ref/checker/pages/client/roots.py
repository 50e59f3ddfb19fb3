"""Rules of roots [.. client/roots]."""

from typing import Any, Dict, FrozenSet, Iterator, Optional, Tuple
from urllib.parse import unquote

from ....methods import LIST_ROOTS, ROOTS_CHANGED
from ....wiretrace import CLIENT
from ...observed import ERROR, META_CAPABILITIES, NOTIFICATION, REQUEST, RESULT, Connection, Message
from ...rules import FINISH, KEPT, UNDECIDED, Broken, CannotTell, Verdict, observe, rule
from ...values import shown
from ..basic.lifecycle import UNDECLARED, declared_by_client, sessions_of

UNDECIDED.update({
    "roots.handle-changes": "what a server does with a change of the roots is inside it",
    "roots.internal-error": "the cause of an error is inside the client; its text would only be guessed at",
})

_MOST = 1000
_SLOW = 5.0
"""Seconds within which a notification may follow a change that was seen before."""
_METHOD_NOT_FOUND = -32601


class Roots:
    """The roots of a client, as it has told them last, and what has changed without a word."""

    def __init__(self) -> None:
        self.last: Optional[FrozenSet[Tuple[str, str]]] = None
        self.quiet: Optional[Message] = None
        """The answer that differs from the one before, if no notification has come since."""
        self.noted = False
        """True if a notification has come since the last answer."""


def _answers(message: Message) -> Iterator[Dict[str, Any]]:
    """Yield the results of `roots/list` in a message: its own, or those among the answers that a request brings."""
    if message.kind == RESULT and message.method == LIST_ROOTS:
        yield dict(message.result)
    given = message.params.get("inputResponses") if message.kind == REQUEST else None
    for each in list(given.values())[:_MOST] if isinstance(given, dict) else ():
        if isinstance(each, dict) and isinstance(each.get("roots"), list):
            yield each


def _uris(message: Message) -> Iterator[str]:
    for answer in _answers(message):
        roots = answer.get("roots")
        for root in roots[:_MOST] if isinstance(roots, list) else ():
            uri = root.get("uri") if isinstance(root, dict) else None
            if isinstance(uri, str):
                yield uri


@rule("roots.capability-init", on=(RESULT, NOTIFICATION), method=(LIST_ROOTS, ROOTS_CHANGED), party=CLIENT,
      follows=UNDECLARED, scene="""
  + on stdio 2025-06-18 client={"roots": {}}
  - on stdio 2025-06-18 client={"sampling": {}}
    S #1 roots/list
    C #1 {"roots": []}
""")
def capability_init(message: Message) -> Verdict:
    """A client that has roots, or tells of their change, has declared so when the session began."""
    return declared_by_client(message, "roots")


@rule("roots.capability-per-request", on=REQUEST, when="brings", party=CLIENT, scene="""
    on stdio 2026-07-28 client={"roots": {}}
    C #1 tools/call {"name": "a", "arguments": {}}
    S #1 {"resultType": "input_required", "requestState": "s", "inputRequests": {"r": {"method": "roots/list"}}}
  + C #2 tools/call {"name": "a", "arguments": {}, "requestState": "s", "inputResponses": {"r": {"roots": \
[{"uri": "file:///a"}]}}}
  - C #2 tools/call {"name": "a", "arguments": {}, "requestState": "s", "inputResponses": {"r": {"roots": \
[{"uri": "file:///a"}]}}, "_meta": {"io.modelcontextprotocol/clientCapabilities": {}}}
    S #2 {"content": []}
""")
def capability_per_request(message: Message) -> Verdict:
    """A client that gives its roots declares them on the request that brings them, as on each."""
    declared = message.meta.get(META_CAPABILITIES)
    if message.sender != CLIENT or not isinstance(declared, dict) or next(_answers(message), None) is None:
        return None
    return KEPT if message.has_capability(CLIENT, "roots") else Broken(
        "roots were given and not declared", "params._meta")


@rule("roots.list-changed", on=(RESULT, FINISH), method=(LIST_ROOTS, ""), party=CLIENT,
      reading="a change is told within %d seconds after a list has shown it" % _SLOW, scene="""
    on stdio 2025-06-18
    S #1 roots/list
    C #1 {"roots": [{"uri": "file:///a"}]}
  + C notifications/roots/list_changed
    S #2 roots/list
    C #2 {"roots": [{"uri": "file:///b"}]}
    @ 10
    S #3 ping
    C #3 {}
""")
def list_changed(subject: Any) -> Verdict:
    """A client that has declared it tells of a change of its roots."""
    if isinstance(subject, Connection):
        for session in sessions_of(subject):
            quiet = session.state(Roots).quiet
            if quiet is not None and subject.last_time - quiet.time > _SLOW:
                return _told(quiet)
        return None
    roots = subject.session.state(Roots)
    if subject.sender != CLIENT or subject.method != LIST_ROOTS:
        return None
    if roots.quiet is not None and subject.time - roots.quiet.time > _SLOW:
        return _told(roots.quiet)
    return KEPT if roots.noted else None


def _told(quiet: Message) -> Verdict:
    if not quiet.has_capability(CLIENT, "roots.listChanged"):
        return None
    if not quiet.connection.recorded:
        return CannotTell("what was lost in a gap")
    return Broken("the list differs from the one before, and nothing was told", "result.roots", at=quiet)


@rule("roots.file-uri", on=(RESULT, REQUEST), when="client brings", party=CLIENT, scene="""
    on stdio 2025-06-18
    S #1 roots/list
  + C #1 {"roots": [{"uri": "file:///project"}]}
  - C #1 {"roots": [{"uri": "https://example.com/repo"}]}
""")
def file_uri(message: Message) -> Verdict:
    """The URI of a root begins with ``file://``."""
    if message.sender != CLIENT:
        return None
    verdict: Verdict = None
    for uri in _uris(message):
        if not uri.lower().startswith("file://"):
            return Broken("the URI %s" % shown(uri), "roots.uri")
        verdict = KEPT
    return verdict


@rule("roots.validate-uris", on=(RESULT, REQUEST), when="client brings", party=CLIENT, scene="""
    on stdio 2025-06-18
    S #1 roots/list
  + C #1 {"roots": [{"uri": "file:///project"}]}
  - C #1 {"roots": [{"uri": "file:///project/%2e%2e/../etc"}]}
""")
def validate_uris(message: Message) -> Verdict:
    """The URI of a root does not climb out of its folder."""
    if message.sender != CLIENT:
        return None
    verdict: Verdict = None
    for uri in _uris(message):
        if ".." in unquote(uri).replace("\\", "/").split("/"):
            return Broken("the URI %s" % shown(uri), "roots.uri")
        verdict = KEPT
    return verdict


@rule("roots.unsupported-error", on=ERROR, method=LIST_ROOTS, party=CLIENT,
      provoked="lifecycle.negotiated-capabilities", scene="""
    on stdio 2025-06-18 client={"sampling": {}}
    S #1 roots/list
    C #1 !-32601 "Roots not supported"
    S #2 roots/list
  + C #2 !-32601 "Roots not supported"
  - C #2 !-32603 "Roots not supported"
""")
def unsupported_error(message: Message) -> Verdict:
    """A client without roots refuses `roots/list` with -32601."""
    if message.sender != CLIENT or message.request is None:
        return None
    declared = message.has_capability(CLIENT, "roots")
    if declared is None:
        return CannotTell("the capabilities of the client")
    if declared:
        return None
    return KEPT if message.error.get("code") == _METHOD_NOT_FOUND else Broken(
        "the code %s" % shown(message.error.get("code")), "error.code")


def _frozen(message: Message) -> Optional[FrozenSet[Tuple[str, str]]]:
    """Return the roots of an answer; None if it has none that could be compared."""
    roots = message.result.get("roots")
    if not isinstance(roots, list) or len(roots) > _MOST:
        return None
    return frozenset((shown(root.get("uri"), 4096), shown(root.get("name"), 4096)) for root in roots
                     if isinstance(root, dict))


@observe(on=RESULT, method=LIST_ROOTS)
def remember_roots(message: Message) -> None:
    """Note the roots."""
    roots = message.session.state(Roots)
    if message.sender != CLIENT:
        return
    now = _frozen(message)
    if roots.quiet is not None and message.time - roots.quiet.time > _SLOW:
        roots.quiet = None
    if now is not None and roots.last is not None and now != roots.last and not roots.noted:
        roots.quiet = roots.quiet or message
    roots.last, roots.noted = now, False


@observe(on=NOTIFICATION, method=ROOTS_CHANGED)
def remember_change(message: Message) -> None:
    """Note that a change was told."""
    roots = message.session.state(Roots)
    roots.noted, roots.quiet = True, None
