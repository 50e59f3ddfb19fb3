"""The faults of a server, and which of them have one cause: a cause is told once, with all requirements that it breaks.

Faults have the same cause if they share a mark:

======================================  =============================================================================
mark                                    example
======================================  =============================================================================
a requirement and a scene, or a method  three tools whose results do not conform to their schemas
a scene that decides the requirements   nothing that `logging/setLevel` is given is refused, be it a level or none
that the connection has ended           a server that exits, or says nothing any more, at whatever it cannot read
that the HTTP server fails              500 without a JSON-RPC body for whatever comes after the first `DELETE`
a requirement that is a part of other   `_PARTS`: an origin that was not refused was not refused with 403 either
======================================  =============================================================================

The first is the root, and one against a MUST before others.
"""

import re
from typing import Dict, Hashable, Iterable, List, NamedTuple, Set, Tuple

from ..requirements import requirements
from ..wiretrace import SERVER
from ..wiretrace.text import plain, shorten
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
_PARTS: Dict[str, str] = {
    "http.origin-403": "http.origin-validate",
    "completion.unsupported-error": "completion.capability",
    "completion.invalid-prompt": "completion.unsupported-error",
    "errors.no-32002": "resources.not-found-32602",
}
"""Requirement -> one that cannot be broken in the same way without it."""
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


def united(faults: Iterable[ServerFault], methods: Dict[str, str], party: str = SERVER) -> List[ServerFault]:
    """Return the causes, each with all faults that have it.

    ``methods``: key of a fault -> the method it is about. ``party``: whose faults they are.
    """
    given = list(faults)
    seen = {each.id for each in given}
    groups: List[Tuple[Set[Hashable], List[ServerFault]]] = []
    for fault in given:
        marks: Set[Hashable] = set()
        for name in filter(None, (fault.scene, methods.get(fault.key, ""))):
            marks.add((like(fault.id), name))
        row = load(party).get(fault.scene)
        if row is not None and fault.id in row.ids:
            marks.add(("scene", fault.scene))
        marks.update(name for name, words in _WHOLE.items() if words.search(fault.evidence))
        if fault.id in _PARTS and _PARTS[fault.id] in seen:
            marks.add(("part", _PARTS[fault.id]))
        if fault.id in _PARTS.values():
            marks.add(("part", fault.id))
        same = [group for group in groups if group[0] & marks]
        for group in same:
            groups.remove(group)
        groups.append((marks.union(*(group[0] for group in same)), [
            *(each for group in same for each in group[1]), fault]))
    return [_rooted(found) for _, found in groups]


def _rooted(found: List[ServerFault]) -> ServerFault:
    def late(fault: ServerFault) -> bool:
        row = requirements().get(fault.id)
        return row is not None and "MUST" not in row.level

    root, *others = sorted(found, key=late)
    return root._replace(others=tuple(others))
