"""Scenes about the opening, and about what a client has to bear, and to answer.

In the opening it is which version is spoken, and what may be sent when [..2025-11-25 basic/lifecycle],
[2026-07-28 basic/versioning]; at any time it is unknown messages, questions, and answers to nothing
[2025-03-26.. basic/index §Messages], [..2025-11-25 basic/utilities/ping].
"""

from typing import Any, Callable, Dict, List, Tuple

from .....errors import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from .....methods import CALL_TOOL, CANCELLED, DISCOVER, INITIALIZE, INITIALIZED, LIST_TOOLS, PING, PROGRESS
from ....checker.observed import META_CAPABILITIES, META_REVISION
from ...scenes import KEPT, WEB, Broken, CannotTell, NotExamined, Said, Verdict, every
from ..script import UNSUPPORTED_VERSION, ClientMessage, ClientRequest, ErrorAnswer, ServerScript
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


def _complete(heard: ClientMessage) -> Verdict:
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

    def answer(asked: ClientRequest) -> object:
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
    script.answers[INITIALIZE] = lambda asked: ErrorAnswer(INVALID_PARAMS, "this server is not ready")
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

    def first(asked: ClientRequest) -> object:
        if not refused:
            refused.append(asked.method)
            return ErrorAnswer(UNSUPPORTED_VERSION, "Unsupported protocol version", {
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


Say = Callable[[ClientRequest], Any]


def first_of(stage: ClientStage, *methods: str) -> str:
    """Return the first of these methods that the client sends. Raises `NotExamined` if it sends none."""
    sent = stage.usual().methods
    for method in methods:
        if method in sent:
            return method
    raise NotExamined("the client never sends %s" % " or ".join(methods))


def before(script: ServerScript, method: str, say: Say) -> None:
    """Have a function called before each answer to a method."""
    kept = script.answers[method]

    def answer(asked: ClientRequest) -> Any:
        say(asked)
        return kept(asked)

    script.answers[method] = answer


def bears(stage: ClientStage, what: str, say: Say) -> Verdict:
    """Return the verdict on a client that is told something before the first answer after the opening."""
    method = first_of(stage, LIST_TOOLS, CALL_TOOL)
    script = stage.script()
    before(script, method, say)
    return stage.goes_on(stage.run(script), "after " + what)


def base(stage: ClientStage, verdict: Verdict) -> Dict[str, Verdict]:
    """Return a verdict on what every client of a revision has to do."""
    return {"version.base-required" if stage.revision.stateless else "lifecycle.base-required": verdict}


BASE = ("lifecycle.base-required", "version.base-required")


@client_scene("unknown-notification", *BASE, provokes="jsonrpc.notification-no-response")
def unknown_notification(stage: ClientStage) -> Said:
    """A notification that nobody knows is not answered, and the client goes on."""
    return base(stage, bears(stage, "an unknown notification", lambda asked: asked.note(
        "notifications/examiner/unknown", {"text": "nobody knows this one"})))


@client_scene("foreign-answer", *BASE, only=lambda revision: True)
def foreign_answer(stage: ClientStage) -> Said:
    """Responses to nothing that was asked do no harm: with a result, with an error, with an id of another type."""
    def say(asked: ClientRequest) -> None:
        asked.say({"jsonrpc": "2.0", "id": "nobody-asked", "result": {}})
        asked.say({"jsonrpc": "2.0", "id": 987654321, "error": {"code": INTERNAL_ERROR, "message": "for nobody"}})

    verdict = bears(stage, "a response to no request", say)
    if isinstance(verdict, Broken) and stage.wire == WEB:  # a stream may be taken to end with a response
        verdict = CannotTell(verdict.evidence)
    return base(stage, verdict)


@client_scene("foreign-progress", "progress.track-tokens", provokes="jsonrpc.notification-no-response")
def foreign_progress(stage: ClientStage) -> Said:
    """Progress for a token that nobody has given does no harm."""
    return bears(stage, "progress for an unknown token", lambda asked: asked.note(
        PROGRESS, {"progressToken": "examiner-no-token", "progress": 1}))


@client_scene("foreign-cancel", "cancel.ignore-unknown", only=lambda revision: revision.peer_requests)
def foreign_cancel(stage: ClientStage) -> Said:
    """A cancellation of a request that the server has never sent does no harm."""
    return bears(stage, "a cancellation of nothing", lambda asked: asked.note(
        "notifications/cancelled", {"requestId": "examiner-never-used", "reason": "a test"}))


_LINES: Tuple[bytes, ...] = (b'{"jsonrpc": "2.0", "id": 1, "method": ', b"7", b'"text"', b"[]", b"{}",
                             b'{"jsonrpc": "2.0"}', b'{"jsonrpc": "2.0", "id": {}, "result": {}}')


@client_scene("unreadable", "jsonrpc.follow-spec")
def unreadable(stage: ClientStage) -> Said:
    """Lines and events that are no message: a client that goes on bears them."""
    def say(asked: ClientRequest) -> None:
        for line in _LINES:
            asked.say(line)

    verdict = bears(stage, "what is no message", say)
    # No page says what a client does with bytes that are no message: it may end the connection.
    return CannotTell(verdict.evidence) if isinstance(verdict, Broken) else verdict


@client_scene("errors", "jsonrpc.follow-spec", "errors.legacy-range-no-meaning")
def errors(stage: ClientStage) -> Said:
    """A call is refused with errors of several shapes: each is the end of that call, and of nothing more."""
    found: List[Verdict] = []
    first_of(stage, CALL_TOOL)
    for code, data in ((-32000, None), (-32001, {"why": "session"}), (1, "text"), (-32603, [1, 2])):
        script = stage.script()
        script.answers[CALL_TOOL] = lambda asked, code=code, data=data: ErrorAnswer(  # type: ignore[misc]
            code, "refused", data)
        run = stage.run(script)
        found.append(KEPT if CALL_TOOL in run.methods and run.ended else CannotTell(
            "after error %d the client did not end by itself" % code))
    return every(found)


@client_scene("ping", "ping.respond")
def ping(stage: ClientStage) -> Said:
    """A ping in the middle of a request is answered with an empty result."""
    answers: List[Any] = []
    method = first_of(stage, CALL_TOOL, LIST_TOOLS)
    script = stage.script()
    before(script, method, lambda asked: answers.append(asked.ask(PING, seconds=stage.patience)))
    stage.run(script)
    if not answers:
        raise NotExamined("the client never sends %s" % method)
    if answers[0] is None:
        return Broken("ping was not answered in %g s" % stage.patience)
    return KEPT if answers[0].get("result") == {} else Broken("ping: %s" % answers[0])


@client_scene("unknown-request", "lifecycle.base-required", "jsonrpc.follow-spec",
              only=lambda revision: revision.peer_requests)
def unknown_request(stage: ClientStage) -> Said:
    """A request that nobody knows is refused with -32601."""
    answers: List[Any] = []
    script = stage.script()
    before(script, first_of(stage, CALL_TOOL, LIST_TOOLS), lambda asked: answers.append(asked.ask(
        "examiner/no-such-method", seconds=stage.patience)))
    run = stage.run(script)
    if not answers or answers[0] is None:
        return {"lifecycle.base-required": Broken("an unknown request was not answered in %g s" % stage.patience)}
    code = (answers[0].get("error") or {}).get("code")
    known = Broken("an unknown request: %s" % answers[0])
    return {"jsonrpc.follow-spec": KEPT if code == METHOD_NOT_FOUND else known,
            "lifecycle.base-required": stage.goes_on(run, "after an unknown request")}


@client_scene("batch", "batch.receive", only=lambda revision: revision.batching)
def batch(stage: ClientStage) -> Said:
    """An array of two pings and a notification: both pings are answered."""
    got: List[Any] = []
    script = stage.script()

    def say(asked: ClientRequest) -> None:
        since = len(script.heard)
        asked.say([{"jsonrpc": "2.0", "id": id, "method": PING} for id in ("one", "two")] + [
            {"jsonrpc": "2.0", "method": "notifications/examiner/unknown"}])

        def both(heard: Any) -> bool:
            for each in script.heard[since:]:
                for message in each.message if isinstance(each.message, list) else [each.message]:
                    if isinstance(message, dict) and "result" in message and message.get("id") in ("one", "two"):
                        got.append(message["id"])
            return {"one", "two"} <= set(got)

        script.wait(both, stage.patience, since)

    before(script, first_of(stage, CALL_TOOL, LIST_TOOLS), say)
    stage.run(script)
    return KEPT if {"one", "two"} <= set(got) else Broken(
        "of two pings in an array %d were answered" % len(set(got)))
