"""Scenes of a client that can be asked, wants progress and logs, and listens: what it makes come the checker judges.

[basic/utilities/progress], [server/utilities/logging], [client/sampling], [client/elicitation], [client/roots],
[..2025-11-25 basic/lifecycle §Initialization], [2026-07-28 basic/patterns/subscriptions].
"""

from typing import Any, Dict, Optional, Set

from ...methods import CALL_TOOL, INITIALIZED, LIST_TOOLS, LISTEN, SET_LOG_LEVEL, SUBSCRIBE
from ...revisions import Revision
from ..scenes import KEPT, Broken, Said, scene
from ..stage import MANY, SceneStage
from ..talk import LOG_LEVEL, Talk
from .rounds import ANSWERS

_EARLY = 0.3
"""Seconds after the opening for which is waited for what must not come yet."""


def _able(revision: Revision) -> Dict[str, Any]:
    """Return the capabilities of a client that can be asked for everything that needs no more than an answer."""
    return {"sampling": {}, "roots": {}, **({"elicitation": {}} if revision.elicitation else {})}


def call_all(stage: SceneStage, talk: Talk) -> None:
    """Call the tools that may be called, with a token for progress and the lowest level of log messages."""
    for number, (tool, arguments) in enumerate(stage.callable(most=MANY)):
        talk.request(CALL_TOOL, {"name": tool["name"], "arguments": arguments}, {
            "progressToken": "examiner-%d" % number, LOG_LEVEL: "debug" if stage.revision.stateless else None})


@scene("calls-of-an-able-client", "tools.list-not-per-connection", needs="tools",
       provokes="progress.increases progress.token-active progress.token-in-progress progress.stops logging.capability "
       "jsonrpc.notification-no-id jsonrpc.request-id-type jsonrpc.request-id-not-null "
       "jsonrpc.request-id-unique-session elicit.param-message elicit.form-params elicit.supported-modes-only "
       "sampling.tools-only-if-declared sampling.message-role-content")
def calls_of_an_able_client(stage: SceneStage) -> Said:
    """Tools are called by a client that can be asked, wants progress and logs; afterwards it is listed the same tools
    as a client that comes then."""
    with stage.fresh(declared=_able(stage.revision)) as talk:
        talk.results.update(ANSWERS)
        if stage.revision.handshake and "logging" in talk.capabilities:
            talk.request(SET_LOG_LEVEL, {"level": "debug"})
        call_all(stage, talk)
        after = _names(talk)
    with stage.fresh() as talk:
        others = _names(talk)
    if after is None or others is None:
        return None  # the scene lists tells it
    return KEPT if after == others else Broken("tools/list after calls of tools: %s" % ", ".join(
        "%s is %s" % (name, "gone" if name in others else "new") for name in sorted(after ^ others)))


def _names(talk: Talk) -> Optional[Set[str]]:
    """Return the names of the tools; None if they were not listed."""
    listed = list(talk.pages(LIST_TOOLS, "tools"))
    if any(answer.result is None for answer, _ in listed):
        return None
    return {str(tool.get("name")) for _, items in listed for tool in items if isinstance(tool, dict)}


@scene("before-initialized", provokes="lifecycle.server-no-early-requests", wires="pipe",
       only=lambda revision: revision.handshake)
def before_initialized(stage: SceneStage) -> Said:
    """Between the answer to `initialize` and `initialized` the server asks a client that could be asked for nothing."""
    with stage.fresh(opened=False, declared=_able(stage.revision)) as talk:
        talk.results.update(ANSWERS)
        talk.initialize(stage.revision.name)
        talk.pipe.wait(lambda message: isinstance(message, dict) and "id" in message and "method" in message, _EARLY)
        talk.notify(INITIALIZED)
    return None


@scene("subscribed", needs="resources", wires="pipe", provokes="subscribe.id-in-notifications subscribe.only-requested "
       "subscribe.nothing-before-ack lifecycle.negotiated-capabilities")
def subscribed(stage: SceneStage) -> Said:
    """While a client listens to one kind of change, tools that may be called are."""
    declared = stage.talk.capabilities
    kinds = [name for name in ("tools", "prompts", "resources")
             if isinstance(declared.get(name), dict) and declared[name].get("listChanged") is True]
    uri = stage.some("resources")[0].get("uri")
    tools = stage.callable(most=MANY)
    with stage.fresh() as talk:
        if stage.revision.handshake:
            if isinstance(declared["resources"], dict) and declared["resources"].get("subscribe") is True:
                talk.request(SUBSCRIBE, {"uri": uri})
        else:
            wanted: Dict[str, Any] = {"%sListChanged" % kind: True for kind in kinds[:1]}
            talk.say(talk.message(LISTEN, {"notifications": {**wanted, "resourceSubscriptions": [uri]}}, talk.next_id),
                     seconds=0)
        for tool, arguments in tools:
            talk.request(CALL_TOOL, {"name": tool["name"], "arguments": arguments})
    return None
