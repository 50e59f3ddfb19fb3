"""Scenes of stdio: the end of the process, requests that a client gives up, servers that misbehave.

[..2025-11-25 basic/utilities/cancellation], [2026-07-28 basic/patterns/cancellation],
[..2025-11-25 basic/lifecycle §Shutdown], [..2025-11-25 basic/transports §stdio],
[2026-07-28 basic/transports/stdio], [2026-07-28 basic/transports/stdio §Unexpected Termination],
[2026-07-28 basic/patterns/subscriptions §Graceful Closure].

Servers misbehave by noise, by silence and by an early end.
"""

from typing import Any, Dict, List, Optional

from .....methods import CALL_TOOL, CANCELLED, LISTEN, LIST_TOOLS
from ...scenes import KEPT, Broken, CannotTell, NotExamined, Said, Verdict
from ..script import ADD, CUT, NOTHING, STOCK, ClientMessage, ClientRequest, ScriptedTool, text
from ..stage import ClientRun, ClientStage, client_scene, pipe_scene
from .opening import BASE, base, first_of

SLOW = "slow"


@client_scene(
    "give-up", "cancel.race", "cancel.stdio-notification", "timeout.cancel",
    provokes="cancel.request-id-required cancel.client-issued cancel.ignore-late-response", needs=CALL_TOOL)
def give_up(stage: ClientStage) -> Said:
    """A call of the tool `slow` is never answered: a client that gives it up says so, and bears an answer after that.
    """
    script = stage.script()
    calls: List[Any] = []

    def play(asked: ClientRequest) -> Any:
        calls.append(asked.id)

        def is_end(heard: ClientMessage) -> bool:
            return heard.method == CANCELLED and heard.params.get("requestId") == asked.id

        if script.wait(is_end, stage.patience) is not None:
            asked.say({"jsonrpc": "2.0", "id": asked.id, "result": script.whole(CALL_TOOL, text("too late"))})
        return NOTHING

    script.tools = {SLOW: ScriptedTool({**ADD, "name": SLOW}, play), **STOCK}
    run = stage.run(script)
    if not calls:
        raise NotExamined("the client does not call the tool slow")
    return _given_up(stage, run, calls[0])


def _given_up(stage: ClientStage, run: ClientRun, id: Any) -> Dict[str, Verdict]:
    place = next(number for number, each in enumerate(run.heard) if each.method == CALL_TOOL)
    later = [each for each in run.heard[place + 1:] if each.is_request]
    told = any(each.method == CANCELLED and each.params.get("requestId") == id for each in run.heard)
    closed = stage.revision.stateless and any(id in each.get("ids", ()) for each in run.script.told)
    if not told and not closed and not later:
        return dict.fromkeys(("cancel.race", "cancel.stdio-notification", "timeout.cancel"), CannotTell(
            "the client did not give up the call in the time that it was watched"))
    silent = Broken("the client has gone on with %s, and cancelled nothing" % ", ".join(
        each.method for each in later[:3]))
    said: Verdict = KEPT if told or (closed and stage.wire != "pipe") else silent
    return {"timeout.cancel": said, "cancel.stdio-notification": said if stage.wire == "pipe" else None,
            "cancel.race": None if not told else KEPT if later or run.ended else Broken(
                "after an answer to a cancelled call nothing came")}


@pipe_scene("stderr", "stdio.stderr-not-error", "lifecycle.base-required", "version.base-required")
def stderr(stage: ClientStage) -> Said:
    """The server writes to standard error that something has failed: that is no end of anything."""
    return stage.goes_on(stage.in_process({"stderr": "ERROR: this is a test\n" * 20}), "after text on standard error")


@pipe_scene("shutdown", provokes="stdio.shutdown-close-input stdio.shutdown-wait")
def shutdown(stage: ClientStage) -> Said:
    """The server ends when its input ends."""
    stage.in_process({})
    return None


def _ended(run: ClientRun, wanted: Optional[str]) -> Verdict:
    did = [str(each.get("did")) + str(each.get("signal", "")) for each in run.script.told]
    if not run.ended:
        return CannotTell("the client was ended before it had ended its server")
    if "gone" not in did:
        return Broken("the client has ended, and the process of its server is there still")
    return KEPT if wanted is None or wanted in did else CannotTell("the process ended in another way")


@pipe_scene("stays", "stdio.shutdown-force", provokes="stdio.shutdown-sigterm stdio.shutdown-wait")
def stays(stage: ClientStage) -> Said:
    """The server goes on when its input has ended: a signal ends it."""
    return _ended(stage.in_process({"stays": True}), None)


@pipe_scene("deaf", "stdio.shutdown-force", provokes="stdio.shutdown-sigkill")
def deaf(stage: ClientStage) -> Said:
    """The server goes on when it is asked to end by a signal, too: it is killed."""
    return _ended(stage.in_process({"stays": True, "deaf": True}), None)


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

    def answer(asked: ClientRequest) -> Any:
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
