"""Two recordings compared by meaning: what a reader of both would call different.

=============  ======================================================================================================
part           what is compared
=============  ======================================================================================================
revision       the revisions that were spoken
parties        how client and server call themselves, and the server's instructions
capabilities   what each has declared
tools          and resources, resourceTemplates, prompts: what was listed, by name, with all members (schemas too)
results        the responses to equal requests (same method, same params), the n-th with the n-th; requests that only
               one of them has
order          the order of requests that both have; what the server sent about each, and asked meanwhile. Of what it
               said by itself (a log message, a changed list) only the methods count: when it comes is chance
=============  ======================================================================================================
"""

from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Set, Tuple

from ..checker.observed import META_CAPABILITIES, META_CLIENT, META_SUBSCRIPTION, NOTIFICATION, RESULT
from ..methods import (
    DISCOVER, INITIALIZE, LIST_PROMPTS, LIST_RESOURCE_TEMPLATES, LIST_RESOURCES, LIST_TOOLS, PROGRESS,
)
from ..wiretrace import CLIENT, SERVER
from .meaning import differences, named, shown_request
from .script import Script, Step, Turn

LISTS: Dict[str, Tuple[str, str]] = {
    LIST_TOOLS: ("tools", "name"), LIST_RESOURCES: ("resources", "uri"),
    LIST_RESOURCE_TEMPLATES: ("resourceTemplates", "uriTemplate"), LIST_PROMPTS: ("prompts", "name"),
}
"""Method of a list -> the member of its result, and what names an item."""
_OPENING = (INITIALIZE, DISCOVER)
_PRESENT, _ABSENT = "recorded", "absent"


class Contrast(NamedTuple):
    """One difference between two recordings: the part of the table, where it is, and what each of them has."""

    part: str
    where: str
    left: str
    right: str

    def __str__(self) -> str:
        return "%s: %s: %s | %s" % self


def compare(left: Script, right: Script) -> List[Contrast]:
    """Return what differs in meaning, in the order of the table."""
    return [found for part in _PARTS for found in part(left, right)]


def _told(part: str, ends: Tuple[Any, Any], where: str = "") -> Iterator[Contrast]:
    for each in differences(ends[0], ends[1]):
        yield Contrast(part, ", ".join(filter(None, (where, each.path))), each.left, each.right)


def _revisions(left: Script, right: Script) -> Iterator[Contrast]:
    spoken = [list(dict.fromkeys(turn.message.revision.name for turn in script.turns if turn.message.revision))
              for script in (left, right)]
    if spoken[0] != spoken[1]:
        yield Contrast("revision", "spoken", *(", ".join(each) or "not known" for each in spoken))


def _parties(left: Script, right: Script) -> Iterator[Contrast]:
    for party in (CLIENT, SERVER):
        yield from _told("parties", (declared(left, party)["info"], declared(right, party)["info"]), party)


def _capabilities(left: Script, right: Script) -> Iterator[Contrast]:
    for party in (CLIENT, SERVER):
        ends = declared(left, party)["capabilities"], declared(right, party)["capabilities"]
        yield from _told("capabilities", ends, party)


def declared(script: Script, party: str) -> Dict[str, Any]:
    """Return what a party has said of itself when it opened, members ``info`` and ``capabilities``; {} if nothing."""
    info: Dict[str, Any] = {}
    capabilities: Dict[str, Any] = {}
    for turn in script.turns:
        said = turn.message.params if turn.message.method == INITIALIZE else {}
        if party == SERVER:
            said = turn.answer.result if turn.answer is not None and turn.message.method in _OPENING else {}
            info = info or {name: said[name] for name in ("serverInfo", "instructions") if name in said}
        else:
            info = info or {"clientInfo": said.get("clientInfo") or turn.message.meta.get(META_CLIENT) or {}}
        found = said.get("capabilities") or (turn.message.meta.get(META_CAPABILITIES) if party == CLIENT else None)
        capabilities = capabilities or (found if isinstance(found, dict) else {})
    return {"info": info, "capabilities": capabilities}


def _lists(left: Script, right: Script) -> Iterator[Contrast]:
    for method, (member, key) in LISTS.items():
        ends = listed(left, method), listed(right, method)
        for name in dict.fromkeys([*ends[0], *ends[1]]):
            if name in ends[0] and name in ends[1]:
                yield from _told(member, (ends[0][name], ends[1][name]), name)
            else:
                yield Contrast(member, name, *(_PRESENT if name in end else _ABSENT for end in ends))


def listed(script: Script, method: str) -> Dict[str, Any]:
    """Return what the results of a method list, by name: of one that was listed twice, what was said last."""
    member, key = LISTS[method]
    found: Dict[str, Any] = {}
    for turn in script.turns:
        if turn.message.method == method and turn.answer is not None:
            found.update(named(turn.answer.result.get(member), key))
    return found


def paired(left: Script, right: Script) -> Tuple[List[Tuple[Turn, Turn]], List[Turn], List[Turn]]:
    """Return the requests that both have, the n-th of a kind with the n-th, and those that only one has."""
    waiting: Dict[str, List[Turn]] = {}
    for turn in right.turns:
        if turn.is_request:
            waiting.setdefault(_kind(turn), []).append(turn)
    pairs, only = [], []
    for turn in left.turns:
        if turn.is_request:
            found = waiting.get(_kind(turn))
            if found:
                pairs.append((turn, found.pop(0)))
            else:
                only.append(turn)
    return pairs, only, [turn for turns in waiting.values() for turn in turns]


def _kind(turn: Turn) -> str:
    """Return what makes two requests a pair; those that open a conversation differ in their params."""
    return turn.message.method if turn.message.method in _OPENING else turn.key


def _results(left: Script, right: Script) -> Iterator[Contrast]:
    pairs, only_left, only_right = paired(left, right)
    for ours, theirs in pairs:
        if ours.message.method not in _OPENING and not (ours.message.method in LISTS and all(
                each.answer is not None and each.answer.kind == RESULT for each in (ours, theirs))):
            yield from _told("results", (answer_of(ours), answer_of(theirs)), _shown(ours))
    for turn in only_left:
        yield Contrast("results", _shown(turn), _PRESENT, _ABSENT)
    for turn in only_right:
        yield Contrast("results", _shown(turn), _ABSENT, _PRESENT)


def answer_of(turn: Turn) -> Dict[str, Any]:
    """Return what came of a request: its result, its error, or the status of HTTP; {} for nothing."""
    if turn.answer is not None:
        return {name: turn.answer.data[name] for name in ("result", "error") if name in turn.answer.data}
    return {"status": turn.refusal} if turn.refusal else {}


def _order(left: Script, right: Script) -> Iterator[Contrast]:
    pairs, _, _ = paired(left, right)
    places = sorted(range(len(pairs)), key=lambda place: pairs[place][1].message.index)
    for place, other in enumerate(places):
        if place != other:
            yield Contrast("order", "request %d that both have" % (place + 1), _shown(pairs[place][0]),
                           _shown(pairs[other][1]))
            break
    for ours, theirs in pairs:
        ends = _sequence(ours), _sequence(theirs)
        if ends[0] != ends[1]:
            yield Contrast("order", _shown(ours), ", ".join(ends[0]) or "nothing", ", ".join(ends[1]) or "nothing")
    alone = _by_itself(left), _by_itself(right)
    for method in sorted(alone[0] ^ alone[1]):
        yield Contrast("order", method, *(_PRESENT if method in end else _ABSENT for end in alone))


def _by_itself(script: Script) -> Set[str]:
    """Return the methods of the notifications that the server has sent about no request."""
    return {step.message.method for turn in script.turns for step in turn.steps
            if step.message.kind == NOTIFICATION and not _is_about(step, turn)}


def _is_about(step: Step, turn: Turn) -> bool:
    """Return True for a notification that says by a token or an id that it belongs to a request.

    Which stream of HTTP carries another one is left out: a pipe does not tell.
    """
    return step.owner is turn and (step.message.method == PROGRESS or META_SUBSCRIPTION in step.message.meta)


def _sequence(turn: Turn) -> List[str]:
    """Return what happens about a request, with a count for what happens several times in a row."""
    runs: List[Tuple[str, int]] = []
    for step in turn.steps:
        if step.message.kind == NOTIFICATION and not _is_about(step, turn):
            continue
        label = "answer to " * step.awaits + (step.message.method if "method" in step.message.data else
                                              step.message.kind)
        if runs and runs[-1][0] == label:
            runs[-1] = label, runs[-1][1] + 1
        else:
            runs.append((label, 1))
    return [label if times == 1 else "%d %s" % (times, label) for label, times in runs]


def _shown(turn: Turn) -> str:
    return shown_request(turn.message.method, {} if turn.message.method in _OPENING else turn.message.params)


_PARTS: Tuple[Callable[[Script, Script], Iterator[Contrast]], ...] = (
    _revisions, _parties, _capabilities, _lists, _results, _order)
