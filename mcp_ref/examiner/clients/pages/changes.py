"""Scenes about an older revision that the server chooses, and about what it says unasked: changed lists, answers again.

[..2025-11-25 basic/lifecycle §Version Negotiation], [..2025-11-25 basic/lifecycle §Operation],
[.. server/tools §List Changed Notification].
"""

from typing import Any, Dict, List

from ....methods import (
    CALL_TOOL, DISCOVER, INITIALIZE, LIST_CHANGED, LIST_TOOLS, RESOURCE_UPDATED, known_since, lookup,
)
from ....revisions import HANDSHAKE_REVISIONS, Revision
from ...scenes import KEPT, WEB, Broken, CannotTell, NotExamined, Said, Verdict, every
from ..script import Asked, Heard
from ..stage import ClientStage, client_scene
from .manners import BASE, base, bears, before

RESPECT = ("lifecycle.respect-version", "lifecycle.respect-version-should")


def _foreign(later: List[Heard], agreed: Revision) -> Verdict:
    """Return the verdict on what a client sends after an older revision was agreed on."""
    for each in later:
        if isinstance(each.message, list) and not agreed.batching:
            return Broken("%s was agreed on, and a batch was sent" % agreed)
        if lookup(each.method, agreed) is None and known_since(each.method):
            return Broken("%s was agreed on, and %s was sent" % (agreed, each.method))
    return KEPT


def _header(later: List[Heard], agreed: Revision) -> Verdict:
    """Return the verdict on the revision that requests name. Reading: where the one that was agreed on has no such
    header field, it may be there, and names no other."""
    values = {each.field("mcp-protocol-version") for each in later} - {None, agreed.name}
    return Broken("%s was agreed on, and MCP-Protocol-Version is %s" % (
        agreed, ", ".join(sorted(map(str, values))))) if values else KEPT


@client_scene("older-version", *RESPECT, "http.header-version-negotiated", wires="pipe web",
              provokes="http.header-version-after-init version.client-sends-supported",
              only=lambda revision: revision.handshake and revision.rank > 0)
def older_version(stage: ClientStage) -> Said:
    """`initialize` is answered with each older revision: a client that goes on does so in that one, with the header
    field that names it, and with nothing that only a later one has."""
    respect: List[Verdict] = []
    header: List[Verdict] = []
    for agreed in HANDSHAKE_REVISIONS[:stage.revision.rank]:
        script = stage.script()
        script.version = agreed.name
        later = [each for each in stage.run(script).after(INITIALIZE) if each.message is not None]
        if later:
            respect.append(_foreign(later, agreed))
            header.append(_header(later, agreed))
    if not respect:
        raise NotExamined("the client goes on in no older revision")
    said: Dict[str, Verdict] = dict.fromkeys(RESPECT, every(respect))
    return {**said, "http.header-version-negotiated": every(header) if stage.wire == WEB else None}


def _changed(asked: Asked) -> None:
    for method in LIST_CHANGED.values():
        asked.note(method)


@client_scene("undeclared-changes", *BASE)
def undeclared_changes(stage: ClientStage) -> Said:
    """The server tells of changed lists, and of a resource, though it has not declared that, and nobody has subscribed:
    the client goes on."""
    script = stage.script()
    script.capabilities = {name: {} for name in script.capabilities}

    def say(asked: Asked) -> None:
        _changed(asked)
        asked.note(RESOURCE_UPDATED, {"uri": "examiner://never-subscribed"})

    before(script, LIST_TOOLS, say)
    before(script, CALL_TOOL, say)
    return base(stage, stage.goes_on(stage.run(script), "after changes that were not declared"))


@client_scene("changes", *BASE, only=lambda revision: revision.handshake)
def changes(stage: ClientStage) -> Said:
    """The server tells of changed lists, as it has declared: the client goes on, and may list again."""
    return base(stage, bears(stage, "changed lists", _changed))


@client_scene("answers-again", *BASE)
def answers_again(stage: ClientStage) -> Said:
    """The requests after the opening are answered twice, and before that come all answers that were given before."""
    script = stage.script()
    said: List[Any] = []

    def repeat(method: str, kept: Any) -> None:
        def answer(asked: Asked) -> Any:
            value = kept(asked)
            again = asked.answer(value)
            for each in [*reversed(said), again] if method not in (INITIALIZE, DISCOVER) else []:
                asked.say(each)
            said.append(again)
            return value

        script.answers[method] = answer

    for method in (INITIALIZE, DISCOVER, LIST_TOOLS, CALL_TOOL):
        repeat(method, script.answers[method])
    verdict = stage.goes_on(stage.run(script), "after a second answer to the same request")
    if isinstance(verdict, Broken) and stage.wire == WEB:  # a stream may be taken to end with a response
        verdict = CannotTell(verdict.evidence)
    return base(stage, verdict)
