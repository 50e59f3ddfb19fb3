"""Scenes about the opening of a session by a handshake [..2025-11-25 basic/lifecycle §Initialization]."""

from typing import Any, List

from ...methods import INITIALIZE, INITIALIZED, PING
from ...revisions import REVISIONS
from ..scenes import KEPT, Broken, CannotTell, Said, Verdict, every, scene
from ..stage import SceneStage

_HANDSHAKES = [each.name for each in REVISIONS if each.handshake]


@scene("same-version", provokes="version.server-same lifecycle.init-response tools.capability resources.capability "
       "prompts.capability-init")
def same_version(stage: SceneStage) -> Said:
    """Another session is opened, for the checker to see: the version that was asked for comes back."""
    stage.aside.alive()
    return None


@scene("other-version", "version.server-other", "version.server-latest", "lifecycle.error-version-mismatch")
def other_version(stage: SceneStage) -> Said:
    """A version that nobody knows is answered with one that the server speaks, the latest."""
    offered: List[str] = []
    for asked in ("1999-01-01", "2030-01-01"):
        with stage.fresh(opened=False) as talk:
            answer = talk.initialize(asked)
            if answer.result is None:
                return {"version.server-other": Broken("initialize with %s: %s" % (asked, answer)),
                        "lifecycle.error-version-mismatch": KEPT if answer.error is not None else Broken(
                            "initialize with %s: %s" % (asked, answer))}
            offered.append(str(answer.result.get("protocolVersion")))
    unknown = [each for each in offered if each not in _HANDSHAKES]
    latest: Verdict = KEPT
    if max(offered) < stage.revision.name:
        latest = Broken("the server speaks %s, and offers %s" % (stage.revision, max(offered)))
    return {"version.server-other": Broken("the server offers %r" % unknown[0]) if unknown else KEPT,
            "version.server-latest": latest, "lifecycle.error-version-mismatch": KEPT}


@scene("ping-first", "ping.respond")
def ping_first(stage: SceneStage) -> Said:
    """A ping before `initialized` is answered, too."""
    with stage.fresh(opened=False) as talk:
        answer = talk.initialize(stage.revision.name)
        talk.session = answer.field("Mcp-Session-Id") or ""
        fields = {"Mcp-Session-Id": talk.session or None, "MCP-Protocol-Version": (
            stage.revision.name if stage.revision.version_header else None)}
        answer = talk.say(talk.message(PING, id=talk.next_id), fields=fields)
        talk.say(talk.message(INITIALIZED), fields=fields, seconds=0)
        return KEPT if answer.result is not None else Broken("ping before initialized: %s" % answer)


@scene("initialize-without-params", "lifecycle.base-required")
def initialize_without_params(stage: SceneStage) -> Said:
    """An `initialize` without what it needs gets no result, and does not stop the server."""
    cases: List[Any] = [{}, {"protocolVersion": 7, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
                        {"protocolVersion": stage.revision.name, "capabilities": [], "clientInfo": "x"}]
    found: List[Verdict] = []
    while cases:
        with stage.fresh(opened=False) as talk:
            closed = True
            while cases and closed:  # a connection on which nothing was opened takes the next one, too
                params = cases.pop(0)
                answer = talk.say({"jsonrpc": "2.0", "id": talk.next_id, "method": INITIALIZE, "params": params},
                                  seconds=min(1.0, stage.patience))
                closed = answer.error is not None
                if answer.result is not None:
                    found.append(CannotTell("initialize with %r gets a result" % (params,)))
                elif closed or (answer.status or 0) >= 400:
                    found.append(KEPT)
                else:
                    found.append(CannotTell("initialize with %r: %s" % (params, answer)))
    return every(found)
