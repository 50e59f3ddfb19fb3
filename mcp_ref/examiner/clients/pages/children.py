"""Scenes of stdio about servers that misbehave: noise, silence, an early end.

[..2025-11-25 basic/transports §stdio], [2026-07-28 basic/transports/stdio §Unexpected Termination],
[2026-07-28 basic/patterns/subscriptions §Graceful Closure].
"""

from typing import Any, Dict

from ....methods import CALL_TOOL, LISTEN, LIST_TOOLS
from ...scenes import KEPT, Broken, CannotTell, NotExamined, Said, Verdict
from ..script import CUT, Asked
from ..stage import ClientStage, pipe_scene
from .manners import BASE, base, first_of

NOISE = "Server listening\n\n\x1b[31mready\x1b[0m\nDEBUG {\"level\": 1"
MUCH = "\xff\xfe not UTF-8, and no line end " * 10_000
"""More than a pipe holds: a client that lets it wait has its server stand still."""


@pipe_scene("noise", "jsonrpc.follow-spec")
def noise(stage: ClientStage) -> Said:
    """The server writes lines to its standard output that are no messages, before the first that is one."""
    verdict = stage.goes_on(stage.in_process({"noise": NOISE}), "after lines that are no messages")
    # No page says what a client does with such lines: it may end the connection.
    return CannotTell(verdict.evidence) if isinstance(verdict, Broken) else verdict


@pipe_scene("much-stderr", *BASE)
def much_stderr(stage: ClientStage) -> Said:
    """The server writes 300 kB to standard error, which are not UTF-8 and have no line end: the client goes on."""
    return base(stage, stage.goes_on(stage.in_process({"stderr": MUCH}), "after 300 kB on standard error"))


def _survived(stage: ClientStage, settings: Dict[str, Any], what: str) -> Verdict:
    run = stage.in_process(settings)
    # No page says for how long a client waits for an answer.
    return KEPT if run.ended else CannotTell("%s, and the client did not end by itself" % what)


@pipe_scene("exits", *BASE)
def exits(stage: ClientStage) -> Said:
    """The process of the server ends at once: the client says so, and ends."""
    return base(stage, _survived(stage, {"exits": True}, "the process of the server ended at once"))


@pipe_scene("mute", *BASE)
def mute(stage: ClientStage) -> Said:
    """The server closes its standard output, and reads on: the client says so, and ends."""
    return base(stage, _survived(stage, {"mute": True}, "the server closed its standard output"))


@pipe_scene("killed", "stdio.restart", "subscribe.stdio-resubscribe")
def killed(stage: ClientStage) -> Said:
    """The process of the server ends at the first request after the opening: a client that starts it again listens
    again to what it has listened to."""
    if stage.direct:
        raise NotExamined("the client starts no process")
    method, script, ended = first_of(stage, LIST_TOOLS, CALL_TOOL), stage.script(), []  # type: str, Any, Any
    plain = script.answers[method]

    def answer(asked: Asked) -> Any:
        if ended:
            return plain(asked)
        ended.append(len(script.heard))
        return CUT

    script.answers[method] = answer
    stage.run(script)
    if not ended:
        raise NotExamined("the client did not send %s" % method)
    listened = any(each.method == LISTEN for each in script.heard[:ended[0]])
    later = [each.method for each in script.heard[ended[0]:] if each.is_request]
    if not later:
        return CannotTell("the client has not started its server again")
    return {"stdio.restart": KEPT, "subscribe.stdio-resubscribe": CannotTell(
        "the client has listened to nothing") if not listened else KEPT if LISTEN in later else Broken(
            "the server was started again, and %s was sent, and not %s" % (", ".join(later[:3]), LISTEN))}
