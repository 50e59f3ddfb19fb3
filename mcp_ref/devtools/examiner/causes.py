"""The faults of a server, and which of them have one cause: a cause is told once, with all requirements that it breaks.

Faults have the same cause if they share a mark:

======================================  =============================================================================
mark                                    example
======================================  =============================================================================
a requirement and a scene, or a method  three tools whose results do not conform to their schemas
a scene that decides the requirements   nothing that `logging/setLevel` is given is refused, be it a level or none
that the connection has ended           a server that exits, or says nothing any more, at whatever it cannot read
that the HTTP server fails              500 without a JSON-RPC body for whatever comes after the first `DELETE`
a requirement that follows from other   `_FOLLOWS`: an origin that was not refused was not refused with 403 either
a malformed message in the scene        an error without a code, where the scene had asked for -32602
======================================  =============================================================================

The last two have a direction: what follows is no root, and has one cause only, so that two causes stay apart that have
a consequence in common. The first fault that follows from none is the root, but one against a MUST goes before those
against a SHOULD.
"""

import re
from typing import Dict, Hashable, Iterable, List, Mapping, NamedTuple, Set, Tuple

from ...requirements import requirements
from ...wiretrace import SERVER
from ...wiretrace.text import plain, shorten
from .scenes import load

ENDED = "the connection ended"
"""The words by which a fault says so."""
_WHOLE = {
    "ended": re.compile(ENDED + r"|^after .*: no answer in"),
    "failed": re.compile(
        r"\bstatus 5\d\d, (a body that is no response|an empty body)|no answer came: Connection reset"),
}
"""Marks of a server that can no more, whatever it was asked for last."""
_EVIDENCE = 200
_UNREADABLE = ("jsonrpc.response", "jsonrpc.result", "jsonrpc.error", "jsonrpc.follow-spec", "transport.utf8",
               "stdio.no-embedded-newlines")
"""The beginnings of the requirements without which nobody can tell what a message answers, or that it is one."""
_FORMS = (*_UNREADABLE, "schema.", "lifecycle.init-", "stdio.server-stdout-only-mcp",
          "stdio.client-stdin-only-mcp")
"""The beginnings of the requirements about the form of the answer to an opening."""
_CURSORS = ("pagination.invalid-cursor-32602", "pagination.invalid-cursor-graceful")
_LISTS = tuple("%s.list-not-per-connection" % name for name in ("tools", "prompts", "resources"))
_REFUSED_LIST = (*_CURSORS, *_LISTS, "stateless.no-prior-requests", "lifecycle.base-required", "version.base-required")
_FOLLOWS: Dict[str, Tuple[str, ...]] = {
    "http.origin-validate": ("http.origin-403",),
    "completion.capability": ("completion.unsupported-error",),
    "completion.unsupported-error": ("completion.invalid-prompt",),
    "resources.not-found-32602": ("errors.no-32002",),
    "tools.list-responds": _REFUSED_LIST, "prompts.list-responds": _REFUSED_LIST,
    "resources.list-responds": _REFUSED_LIST, "mrtr.no-other-requests": _REFUSED_LIST,
    "tools.deterministic-order": _LISTS,
    "schema.result": ("meta.server-info", "tools.input-schema-object", "tools.list-responds",
                      "stateless.no-prior-requests", "tools.errors-in-result"),
    "resources.capability": ("tools.embedded-resources-capability",),
    "ping.respond": ("jsonrpc.response-same-id:ids", "jsonrpc.follow-spec:unreadable", "tasks.ignored-when-undeclared",
                     "jsonrpc.follow-spec:other-jsonrpc"),
    "tasks.starts-working": ("tasks.cancel-terminal-error", "tasks.terminal-final"),
    "tasks.id-string": ("tasks.create-result",),
    "http.header-version-invalid-400": ("http.notification-rejected",),
    "http.header-version-unsupported-400": ("http.notification-rejected",),
    "batch.receive": ("jsonrpc.notification-no-response:batch-of-notifications",),
    "http.header-mismatch-error": ("http.header-version-absent-reject", "http.header-version-mismatch-rejected",
                                   "http.header-mismatch-rejected", "http.param-mismatch-rejected",
                                   "http.param-missing-rejected"),
    "http.stream-no-early-close": ("http.stream-eventual-response",),
    "http.get-no-response": ("progress.stops:listening",),
    "http.no-broadcast": ("http.get-unrelated:listening", "progress.increases:listening"),
    "http.notification-202": ("jsonrpc.follow-spec:unknown-notification",),
    "http.notification-rejected": ("jsonrpc.follow-spec:unreadable",),
    # Of clients
    "jsonrpc.response-same-id": ("jsonrpc.error-same-id",),
    "jsonrpc.request-id-unique-session": ("lifecycle.base-required:answers-again",),
    "lifecycle.init-capabilities": ("lifecycle.negotiated-capabilities",),
    "lifecycle.negotiated-capabilities": ("lifecycle.negotiated-capabilities-should",),
    "lifecycle.client-no-early-requests": (
        "lifecycle.initialized-notification:refused-opening", "lifecycle.negotiated-capabilities:nothing-declared",
        "version.client-must-disconnect:unknown-version"),
    "version.client-must-disconnect": ("lifecycle.initialized-notification",),
    "pagination.cursor-unmodified": ("pagination.cursor-no-assumptions",),
    "roots.file-uri": ("roots.validate-uris",),
    "http.session-id-echo": ("lifecycle.base-required",),
    "meta.required-fields": ("roots.capability-per-request", "sampling.capability-per-request",
                             "elicit.capability-per-request"),
}
"""Requirement -> those that are broken as well, because it is: a requirement, or one in one scene."""
_PING = "ping.respond"
_AFTER = re.compile(r"after .*: ")
"""The beginning of an evidence that an ordinary request was not answered well, which is a ping where there is one."""
_LIKE: Dict[str, str] = {
    "jsonrpc.response-same-id": "jsonrpc.error-same-id", "version.base-required": "lifecycle.base-required",
    "lifecycle.respect-version-should": "lifecycle.respect-version",
    "resources.not-found-32002": "resources.not-found-32602",
}
"""Requirement of some revisions -> the one of others that says the same."""


class ServerFault(NamedTuple):
    """A fault of the server, or of the client that is examined."""

    id: str
    """The requirement."""
    evidence: str
    where: str
    """The message or the exchange of the trace, if the checker has found it; "" if the scene has."""
    scene: str
    """The name of the scene in which it was seen first; "" for the opening and the end."""
    key: str
    """The stable id: the same fault has the same one in each examination."""
    others: "Tuple[ServerFault, ...]" = ()
    """The faults that have the same cause."""

    @property
    def every(self) -> "Tuple[ServerFault, ...]":
        """The fault, and those with the same cause."""
        return (self, *self.others)

    @property
    def also(self) -> Tuple[str, ...]:
        """The other requirements that the same cause breaks."""
        return tuple(dict.fromkeys(each.id for each in self.others if each.id != self.id))


def like(id: str) -> str:
    """Return the requirement, or the one that says the same in other revisions."""
    return _LIKE.get(id, id)


def short(evidence: str) -> str:
    """Return an evidence as it is told: without the lines of standard error of a server that has exited."""
    return shorten(plain(evidence.partition("; last stderr lines:")[0]), _EVIDENCE)


def is_unreadable(id: str) -> bool:
    """Return True for a requirement without which a message answers nothing that a scene has asked."""
    return id.startswith(_UNREADABLE)


def is_about_form(id: str) -> bool:
    """Return True for a requirement about the form of the answer to an opening."""
    return id.startswith(_FORMS)


def united(faults: Iterable[ServerFault], methods: Mapping[str, str], party: str = SERVER,
           malformed: Mapping[str, Set[str]] = {}) -> List[ServerFault]:
    """Return the causes, each with all faults that have it.

    ``methods``: key of a fault -> the method it is about. ``party``: whose faults they are. ``malformed``: scene -> the
    requirements that were broken in it by messages that nobody can read.
    """
    given = list(faults)
    causes = {each.key: _cause(each, given, malformed.get(each.scene, set())) for each in given}
    """Key of a fault that follows from another -> the key of that; "" for one that follows from none."""
    groups: List[Tuple[Set[Hashable], List[ServerFault]]] = []
    for fault in given:
        marks: Set[Hashable] = {("cause", fault.key), ("cause", causes[fault.key] or fault.key)}
        for name in filter(None, (fault.scene, methods.get(fault.key, ""))):
            marks.add((like(fault.id), name))
        row = load(party).get(fault.scene)
        if row is not None and fault.id in row.ids:
            marks.add(("scene", fault.scene))
        marks.update(name for name, words in _WHOLE.items() if words.search(fault.evidence))
        same = [group for group in groups if group[0] & marks]
        for group in same:
            groups.remove(group)
        groups.append((marks.union(*(group[0] for group in same)), [
            *(each for group in same for each in group[1]), fault]))
    return [_rooted(found, causes) for _, found in groups]


def _cause(fault: ServerFault, faults: List[ServerFault], malformed: Set[str]) -> str:
    """Return the key of the fault that a fault follows from; "" if it follows from none."""
    for id, followers in _FOLLOWS.items():
        if {fault.id, "%s:%s" % (fault.id, fault.scene)}.intersection(followers) or (
                id == _PING and _AFTER.match(fault.evidence)):
            found = next((each for each in faults if each.id == id and each.key != fault.key), None)
            if found is not None:
                return found.key
    if fault.where:
        return ""
    wrong = [each for each in faults if each.where and each.id in malformed]
    return next((each.key for each in sorted(wrong, key=lambda each: each.scene != fault.scene)), "")


def _rooted(found: List[ServerFault], causes: Mapping[str, str]) -> ServerFault:
    def late(fault: ServerFault) -> Tuple[bool, bool]:
        row = requirements().get(fault.id)
        return row is not None and "MUST" not in row.level, bool(causes[fault.key])

    root, *others = sorted(found, key=late)
    return root._replace(others=tuple(others))
