"""Scenes about the opening: which version is spoken, and what may be sent when.

[..2025-11-25 basic/lifecycle], [2026-07-28 basic/versioning].
"""

from typing import List

from ....checker.observed import META_CAPABILITIES, META_REVISION
from ....errors import INVALID_PARAMS
from ....methods import CANCELLED, DISCOVER, INITIALIZE, INITIALIZED, LIST_TOOLS, PING
from ...scenes import KEPT, Broken, CannotTell, NotExamined, Said, Verdict, every
from ..script import UNSUPPORTED_VERSION, Asked, Heard, Refusal
from ..stage import ClientRun, ClientStage, client_scene

_LATE = 0.6
"""Seconds by which the answer to `initialize` is late: enough for a client to send what it does not wait for."""
_ALLOWED_UNDECLARED = (INITIALIZE, INITIALIZED, PING, DISCOVER, "notifications/cancelled", "")


@client_scene(
    "ordinary", "lifecycle.base-required", "version.base-required", "version.client-sends-supported",
    "meta.required-fields",
    provokes="jsonrpc.request-id-type lifecycle.init-first lifecycle.init-protocol-version lifecycle.init-capabilities "
             "lifecycle.init-client-info lifecycle.initialized-notification http.accept-both "
             "http.post-each-message http.header-standard-required http.header-version-after-init")
def ordinary(stage: ClientStage) -> Said:
    """Against a server that does nothing odd the client opens the conversation, and sends a request after that; where
    there is no handshake each request has the version and the capabilities."""
    run = stage.usual()
    asked = [each for each in run.heard if each.is_request and each.method not in (INITIALIZE, DISCOVER)]
    said: Verdict = KEPT if asked else CannotTell("the client has sent no request after the opening")
    echoed = [each.params.get("protocolVersion") == stage.revision.name for each in run.script.sent(INITIALIZE)]
    return {"version.base-required" if stage.revision.stateless else "lifecycle.base-required": said,
            "version.client-sends-supported": KEPT if any(echoed) else None,
            "meta.required-fields": every([_complete(each) for each in run.heard if each.is_request and (
                each.method != INITIALIZE)]) if stage.revision.stateless else None}


def _complete(heard: Heard) -> Verdict:
    lacking = [name for name in (META_REVISION, META_CAPABILITIES) if name not in heard.meta]
    return Broken("%s without %s" % (heard.method, " and ".join(lacking))) if lacking else KEPT


def _versions(stage: ClientStage, versions: List[str]) -> Verdict:
    found: List[Verdict] = []
    for version in versions:
        script = stage.script()
        script.version = version
        run = stage.run(script)
        later = [each.method for each in run.after(INITIALIZE) if each.method not in (
            "", INITIALIZE, DISCOVER, CANCELLED)]
        if not run.script.sent(INITIALIZE):
            found.append(CannotTell("the client has not sent initialize"))
        else:
            found.append(Broken("initialize was answered with %s, and the client has sent %s" % (
                version, ", ".join(later))) if later else KEPT)
    return every(found)


@client_scene("unknown-version", "version.client-must-disconnect", "version.client-disconnect")
def unknown_version(stage: ClientStage) -> Said:
    """`initialize` is answered with versions that there are not: the client sends nothing more."""
    return _versions(stage, ["1999-01-01", "2099-12-31"])


@client_scene("late-opening", provokes="lifecycle.client-no-early-requests lifecycle.initialized-notification "
                                       "lifecycle.init-first cancel.no-initialize")
def late_opening(stage: ClientStage) -> Said:
    """The answer to `initialize` is late: until then nothing else is asked, and nothing is said to be initialized."""
    script = stage.script()
    plain = script.answers[INITIALIZE]

    def answer(asked: Asked) -> object:
        script.pause(_LATE)
        return plain(asked)

    script.answers[INITIALIZE] = answer
    stage.run(script)
    return None


@client_scene("refused-opening", "lifecycle.initialized-notification",
              only=lambda revision: revision.handshake)
def refused_opening(stage: ClientStage) -> Said:
    """`initialize` is refused: the client does not say that it is initialized, and asks nothing."""
    script = stage.script()
    script.answers[INITIALIZE] = lambda asked: Refusal(INVALID_PARAMS, "this server is not ready")
    run = stage.run(script)
    later = [each.method for each in run.heard if each.method == INITIALIZED or (
        each.is_request and each.method not in (INITIALIZE, DISCOVER))]
    return Broken("initialize was refused, and the client has sent %s" % ", ".join(later)) if later else KEPT


@client_scene("nothing-declared", "lifecycle.negotiated-capabilities", "lifecycle.negotiated-capabilities-should",
              needs=LIST_TOOLS)
def nothing_declared(stage: ClientStage) -> Said:
    """The server declares no capability: the client asks for no tools, resources, prompts or completions."""
    script = stage.script()
    script.capabilities = {}
    run = stage.run(script)
    asked = [method for method in dict.fromkeys(run.methods) if method not in _ALLOWED_UNDECLARED]
    return Broken("the server has declared no capability, and the client has sent %s" % ", ".join(
        asked)) if asked else KEPT


@client_scene("refused-version", "version.select-supported", provokes="jsonrpc.request-id-unique-inflight")
def refused_version(stage: ClientStage) -> Said:
    """The first request is refused with -32022, and the revision is among those that the error names: it comes again.
    """
    script = stage.script()
    refused: List[str] = []

    def first(asked: Asked) -> object:
        if not refused:
            refused.append(asked.method)
            return Refusal(UNSUPPORTED_VERSION, "Unsupported protocol version", {
                "supported": [stage.revision.name], "requested": stage.revision.name}, 400)
        return kept[asked.method](asked)

    kept = dict(script.answers)
    script.answers = dict.fromkeys(kept, first)
    run = stage.run(script)
    return _again(run, refused)


def _again(run: ClientRun, refused: List[str]) -> Verdict:
    if not refused:
        raise NotExamined("the client has sent no request")
    later = [each for each in run.heard if each.is_request and each.method != INITIALIZE]
    return KEPT if len(later) > 1 else Broken(
        "%s was refused with -32022, which names the revision, and the client has sent no request more" % refused[0])
