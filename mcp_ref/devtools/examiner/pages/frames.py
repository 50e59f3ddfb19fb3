"""Scenes about frames, and about the opening by a handshake [..2025-11-25 basic/lifecycle §Initialization].

The frames are what is no message, what nobody knows, and what comes in the wrong order
[2025-03-26.. basic/index §Messages], [..2025-11-25 basic/utilities/ping],
[..2025-11-25 basic/utilities/cancellation], [2026-07-28 basic/patterns/cancellation].
"""

from typing import Any, Dict, List, Set, Tuple

from ....errors import INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR
from ....jsontext import dumps
from ....methods import CANCELLED, DISCOVER, INITIALIZE, INITIALIZED, LIST_TOOLS, PING, PROGRESS
from ....revisions import REVISIONS
from ..causes import ENDED
from ..scenes import KEPT, Broken, CannotTell, Said, Verdict, every, refused, scene
from ..stage import SceneStage
from ..talk import ExaminerConversation
from ..wire import as_bytes

NO_METHOD = "examiner/no-such-method"
_UNREADABLE: Tuple[Tuple[str, bytes], ...] = (
    ("a message that is cut off", b'{"jsonrpc": "2.0", "id": 1, "method": '),
    ("a number alone", b"7"),
    ("a string alone", b'"ping"'),
)
_NO_UTF_8 = "bytes that are no UTF-8"
_IDS: Tuple[Any, ...] = ("examiner", "", "\u00e9\U0001f600\u2028", -7, 0, 2 ** 53 - 1, "1")


def ordinary(stage: SceneStage) -> str:
    """Return the method of a request that every server answers."""
    return DISCOVER if stage.revision.stateless else PING


def survived(talk: ExaminerConversation, what: str) -> Verdict:
    """Return the verdict on a server that has to go on after something."""
    why = talk.alive()
    if talk.wire.ended:
        return Broken("%s after %s: %s" % (ENDED, what, talk.wire.ended))
    return KEPT if not why else Broken("after %s: %s" % (what, why))


@scene("unreadable", "jsonrpc.follow-spec", provokes="jsonrpc.error-code-integer jsonrpc.error-code-message")
def unreadable(stage: SceneStage) -> Said:
    """Bytes that are no message are refused with -32700 or -32600, if answered, and the conversation goes on.

    Reading: bytes that are no UTF-8 may be read with replacements, as lenient readers do: the rule binds who writes.
    """
    found: List[Verdict] = []
    message = as_bytes(stage.talk.message(ordinary(stage), id="examiner")).replace(b"examiner", b"\xff\xfe", 1)
    for what, data in (*_UNREADABLE, (_NO_UTF_8, message)):
        talk = stage.aside
        method = ordinary(stage) if stage.revision.stateless else None  # without it, that is what is refused
        answer = talk.provoke(data, {"Mcp-Method": method})
        if what == _NO_UTF_8 and answer.result is not None:
            found.append(CannotTell("%s were read: %s" % (what, answer)))
        elif answer.error is not None:
            right = answer.code in (PARSE_ERROR, INVALID_REQUEST)
            found.append(KEPT if right else Broken("%s: %s" % (what, answer)))
        elif answer.message is not None:
            found.append(Broken("%s: %s" % (what, answer)))
        elif answer.status is not None and not 400 <= answer.status < 500:
            found.append(Broken("%s: %s" % (what, answer)))
        found.append(survived(talk, what))
    return every(found)


@scene("other-jsonrpc", "jsonrpc.follow-spec")
def other_jsonrpc(stage: SceneStage) -> Said:
    """A request that says it is of another version of JSON-RPC gets no result, and the conversation goes on."""
    talk = stage.aside
    answer = talk.provoke(dict(talk.message(ordinary(stage), id=talk.next_id), jsonrpc="1.0"))
    if answer.result is not None:
        return Broken("jsonrpc \"1.0\": %s" % answer)
    told = answer.error is not None or (answer.status or 0) >= 400
    return every([survived(talk, "jsonrpc \"1.0\""), KEPT if told else CannotTell("jsonrpc \"1.0\" was not answered")])


@scene("unknown-method", "lifecycle.base-required", "version.base-required", "jsonrpc.follow-spec",
       provokes="http.method-not-found-404 errors.reserved-range-undefined")
def unknown_method(stage: SceneStage) -> Said:
    """A request for a method that there is not is refused with -32601, and the conversation goes on."""
    talk = stage.talk
    answer, alive = talk.request(NO_METHOD), survived(talk, "an unknown method")
    if answer.message is None and alive is KEPT:
        return Broken("a request of an unknown method: %s" % answer)
    return every([refused(answer, METHOD_NOT_FOUND), alive])


@scene("ids", "jsonrpc.response-same-id", provokes="jsonrpc.error-same-id")
def ids(stage: SceneStage) -> Said:
    """Ids of both types come back as they were: empty, beyond ASCII, negative, large, digits in a string."""
    found: List[Verdict] = []
    talk = stage.aside
    for id in _IDS:
        answer = talk.say(talk.message(ordinary(stage), id=id))
        same = answer.message is not None and type(answer.message.get("id")) is type(id) and (
            answer.message.get("id") == id)
        found.append(KEPT if same else Broken("id %r: %s" % (id, answer)))
    return every(found)


@scene("unknown-notification", "lifecycle.base-required", "version.base-required", "jsonrpc.notification-no-response",
       provokes="http.notification-202")
def unknown_notification(stage: SceneStage) -> Said:
    """A notification that nobody knows is not answered, and does no harm.

    A late answer to an earlier request has an id of ours, and is none to the notification.
    """
    talk = stage.talk
    since = 0 if talk.wire.is_web else len(talk.pipe.messages)
    talk.notify("notifications/examiner/unknown", {"text": "nobody knows this one"})
    answer, alive = talk.quiet(since), survived(talk, "an unknown notification")
    said: Verdict = None if talk.wire.is_web else KEPT
    if answer is not None and not isinstance(answer.get("id"), int):
        said = Broken("an unknown notification was answered: %s" % dumps(answer))
    return {"lifecycle.base-required": alive, "version.base-required": alive, "jsonrpc.notification-no-response": said}


@scene("response-to-nothing", "lifecycle.base-required", provokes="http.notification-202 http.notification-rejected",
       only=lambda revision: revision.peer_requests)
def response_to_nothing(stage: SceneStage) -> Said:
    """A response to a request that the server has not sent does no harm."""
    talk = stage.talk
    talk.say({"jsonrpc": "2.0", "id": "nobody-asked", "result": {}}, seconds=0)
    return survived(talk, "a response to no request")


@scene("batch", "batch.receive", only=lambda revision: revision.batching)
def batch(stage: SceneStage) -> Said:
    """An array of two requests and a notification gets an answer for each request."""
    talk = stage.aside
    first, second = talk.next_id, talk.next_id
    asked = [talk.message(PING, id=first), talk.message("notifications/examiner/unknown"),
             talk.message(PING, id=second)]
    if not talk.wire.is_web:
        since = len(talk.pipe.messages)
        talk.say(asked, seconds=0)

        def answered(message: Any) -> bool:
            return {first, second} <= _ids(talk.pipe.messages[since:])

        found = talk.pipe.wait(answered, stage.patience, since)
        got = _ids(talk.pipe.messages[since:])
        if talk.wire.ended and found is None:
            return Broken("%s after an array of requests: %s" % (ENDED, talk.wire.ended))
        return KEPT if found is not None else Broken("of the ids %d and %d these were answered: %s" % (
            first, second, sorted(got) or "none"))
    got = set()

    def all_there(message: Any) -> bool:
        got.update(_ids([message]))
        return {first, second} <= got

    answer = talk.web.send("POST", talk.header_fields(asked, {}), as_bytes(asked), stage.patience, all_there)
    return KEPT if {first, second} <= got else Broken("of two requests in an array %d were answered: %s" % (
        len(got), answer))


@scene("batch-of-notifications", "jsonrpc.notification-no-response", wires="pipe",
       only=lambda revision: revision.batching)
def batch_of_notifications(stage: SceneStage) -> Said:
    """An array of notifications is not answered, not even by an empty array."""
    talk = stage.aside
    since = len(talk.pipe.messages)
    talk.say([talk.message(PROGRESS, {"progressToken": "examiner", "progress": 1}),
              talk.message("notifications/examiner/unknown")], seconds=0)
    if talk.alive():
        return CannotTell("the server does not go on after an array")
    found = [message for message in talk.pipe.messages[since:] if isinstance(message, list)]
    return Broken("an array of notifications was answered with %s" % dumps(found[0])) if found else KEPT


def _ids(messages: List[Any]) -> Set[Any]:
    """Return the ids of the responses among messages and batches."""
    every = [each for message in messages for each in (message if isinstance(message, list) else [message])]
    return {each.get("id") for each in every if isinstance(each, dict) and "method" not in each
            and isinstance(each.get("id"), (int, str))}


@scene("batch-refused", "lifecycle.base-required", "version.base-required",
       provokes="lifecycle.respect-version lifecycle.respect-version-should",
       only=lambda revision: not revision.batching)
def batch_refused(stage: SceneStage) -> Said:
    """An array of requests is no message of this revision: it does no harm, and gets no array.

    Reading: no page tells a receiver to refuse one, so a server that answers what is in it has gone beyond its
    revision, and has not broken it; an array as the answer the checker sees.
    """
    talk = stage.aside
    talk.provoke([talk.message(ordinary(stage), id=talk.next_id)])
    return survived(talk, "an array of one request")


@scene("ping", provokes="ping.respond")
def ping(stage: SceneStage) -> Said:
    """A ping is answered with an empty result."""
    stage.talk.request(PING)
    return None


_CANCELS: Tuple[Tuple[str, str, Dict[str, Any]], ...] = (
    ("cancel.ignore-unknown", "an id that was never used", {"requestId": "examiner-never-used"}),
    ("cancel.ignore-malformed", "an object as id", {"requestId": {}}),
    ("cancel.ignore-malformed", "no id", {"reason": "none"}),
)


@scene("cancel-nothing", "cancel.ignore-unknown", "cancel.ignore-malformed", "cancel.ignore-completed", "cancel.race")
def cancel_nothing(stage: SceneStage) -> Said:
    """Cancelling what is unknown, malformed or answered already is ignored, and the conversation goes on."""
    found: Dict[str, List[Verdict]] = {}
    talk = stage.talk
    for id, what, params in _CANCELS:
        talk.notify(CANCELLED, params)
        found.setdefault(id, []).append(survived(talk, "notifications/cancelled with " + what))
    done = talk.next_id
    talk.say(talk.message(ordinary(stage), id=done))
    talk.notify(CANCELLED, {"requestId": done, "reason": "too late"})
    late = survived(talk, "notifications/cancelled for a request that was answered")
    found["cancel.ignore-completed"] = found["cancel.race"] = [late]
    return {id: every(verdicts) for id, verdicts in found.items()}


@scene("undeclared", "lifecycle.error-capabilities", "version.base-required")
def undeclared(stage: SceneStage) -> Said:
    """A feature that the server has not declared is refused, and the conversation goes on."""
    missing = [(capability, method) for capability, method in (
        ("tools", LIST_TOOLS), ("prompts", "prompts/list"), ("resources", "resources/list"))
        if capability not in stage.talk.capabilities]
    found: List[Verdict] = []
    talk = stage.talk
    for capability, method in missing:
        answer = talk.request(method)
        if answer.result is not None:
            found.append(CannotTell("%s is answered, and %s is not declared" % (method, capability)))
        found.append(survived(talk, method))
    return every(found)


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
