"""Scenes about calls that are under way: several at once, log messages, progress, cancellation, clients that go
[2026-07-28 basic/transports/streamable-http §Receiving Messages], [..2025-11-25 basic/utilities/cancellation],
[2026-07-28 basic/patterns/cancellation]."""

import threading
from typing import Any, Dict, List, Optional, Tuple

from ...methods import CALL_TOOL, CANCELLED, LOG_MESSAGE, PROGRESS
from ...threads import start_thread
from ..scenes import KEPT, Broken, CannotTell, NotExamined, Said, Verdict, every, scene
from ..stage import MANY, SceneStage
from ..talk import LOG_LEVEL, Talk
from ..wire import Reaction, as_bytes, is_response
from .frames import survived

_SOON = 0.05
"""Seconds after which a call is given up: most are at work then, or are done."""
_CROSSING, _AFTER = 0.2, 0.5
"""Seconds in which an answer that crosses a cancellation may still come; and after which it would have come."""
_ODD = "a\nb\r\nc\t\"\\\u0000\u001f\u007f\u0085\u2028\u2029\u00e9\u4e2d\U0001f600\ufeff"
Tool = Tuple[Dict[str, Any], Dict[str, Any]]


def _message(talk: Talk, tool: Tool, meta: Dict[str, Any]) -> Dict[str, Any]:
    return talk.message(CALL_TOOL, {"name": tool[0]["name"], "arguments": tool[1]}, talk.next_id, meta)


def _told(messages: Any, method: str) -> List[Dict[str, Any]]:
    """Return the params of the notifications of a method."""
    return [each.get("params") or {} for each in messages if isinstance(each, dict) and each.get("method") == method]


@scene("log-not-asked-for", "logging.opt-in", needs="tools", only=lambda revision: revision.stateless)
def log_not_asked_for(stage: SceneStage) -> Said:
    """A call that names no level of logs gets no log messages."""
    tools = stage.callable()
    with stage.fresh() as talk:
        came: List[Any] = []
        for tool in tools:
            came += talk.say(_message(talk, tool, {})).others
        if not talk.wire.is_web:
            came = talk.pipe.messages
        logs = _told(came, LOG_MESSAGE)
    return Broken("a log message of level %r, and none was asked for" % logs[0].get("level")) if logs else KEPT


def _at_once(talk: Talk, messages: List[Dict[str, Any]]) -> List[Reaction]:
    """Send requests over HTTP, each by a thread of its own, and return the answers in order."""
    answers: List[Optional[Reaction]] = [None] * len(messages)
    ready = threading.Event()

    def send(place: int) -> None:
        ready.wait(talk.patience)
        answers[place] = talk.say(messages[place])

    threads = [start_thread("mcp-ref:examiner:call", send, place) for place in range(len(messages))]
    ready.set()
    for thread in threads:
        thread.join()
    return [each if each is not None else Reaction(why="no answer") for each in answers]


@scene("calls-at-once", "http.stream-related-notifications", "transport.deliver", wires="web", needs="tools",
       provokes="progress.increases progress.token-active progress.stops logging.capability "
       "http.stream-related-messages http.no-broadcast")
def calls_at_once(stage: SceneStage) -> Said:
    """Each of several calls at once gets its own answer, and by its stream only what it is about.

    Reading: which call a log message is about it does not say; progress says it by its token.
    """
    tools = stage.callable()
    with stage.fresh() as talk:
        tokens = ["examiner-at-once-%d" % number for number in range(4)]
        meta = {LOG_LEVEL: "debug"} if stage.revision.stateless and "logging" in talk.capabilities else {}
        messages = [_message(talk, tools[number % len(tools)], {**meta, "progressToken": token})
                    for number, token in enumerate(tokens)]
        answers = _at_once(talk, messages)
    strayed = [(own, seen) for own, answer in zip(tokens, answers)
               for seen in (each.get("progressToken") for each in _told(answer.others, PROGRESS)) if seen != own]
    wrong = [answer for message, answer in zip(messages, answers)
             if answer.message is not None and answer.message.get("id") != message["id"]]
    none = any(answer.message is None for answer in answers)
    related: Verdict = KEPT if any(answer.others for answer in answers) else CannotTell("no notification came")
    return {"http.stream-related-notifications": Broken("by the stream of %s came progress of %s" % strayed[0])
            if strayed else related,
            "transport.deliver": Broken("a request got the answer to another one: %s" % wrong[0]) if wrong else
            CannotTell("one of %d calls at once got no answer" % len(tokens)) if none else KEPT}


@scene("odd-text", "transport.deliver", "lifecycle.base-required", "version.base-required", needs="tools",
       provokes="stdio.no-embedded-newlines transport.utf8 stdio.server-stdout-only-mcp")
def odd_text(stage: SceneStage) -> Said:
    """Texts with line ends, quotes, control characters and characters beyond ASCII are taken, or refused, as any
    others."""
    found: List[Verdict] = []
    talk = stage.talk
    for tool, arguments in stage.callable():
        odd = {name: _ODD if isinstance(value, str) else value for name, value in arguments.items()}
        answer = talk.request(CALL_TOOL, {"name": tool["name"], "arguments": odd}, {"example.com/text": _ODD})
        found.append(KEPT if answer.message is not None else CannotTell("tool %s: %s" % (tool["name"], answer)))
        found.append(survived(talk, "a call of %s with an odd text" % tool["name"]))
    return every(found)


@scene("cancelled-call", "cancel.race", needs="tools", wires="pipe sse",
       provokes="cancel.no-further-messages cancel.no-response cancel.in-flight progress.stops")
def cancelled_call(stage: SceneStage) -> Said:
    """A call that is cancelled at once, and one a moment later, do no harm, whether they were done or not."""
    found: List[Verdict] = []
    with stage.fresh() as talk:
        for tool in stage.callable():
            for wait in (0.0, _SOON):
                message = _message(talk, tool, {"progressToken": "examiner-cancel-%d" % len(found)})
                since = len(talk.pipe.messages)
                talk.say(message, seconds=0)
                if wait:
                    talk.answer(message["id"], wait, since)
                talk.notify(CANCELLED, {"requestId": message["id"], "reason": "examined"})
                found.append(survived(talk, "a call of %s that was cancelled" % tool[0]["name"]))
    return every(found)


@scene("cancel-calls", "cancel.no-response", wires="pipe", needs="tools", provokes="cancel.no-further-messages")
def cancel_calls(stage: SceneStage) -> Said:
    """Calls that are cancelled at once are not answered after the server has seen the cancellation.

    It has seen it once a request is answered that was sent afterwards; an answer that was on its way then comes soon.
    """
    cancelled: Dict[Any, str] = {}
    with stage.fresh() as talk:
        for tool in stage.callable(most=MANY):
            message = _message(talk, tool, {})
            cancelled[message["id"]] = str(tool[0]["name"])
            talk.say(message, seconds=0)
            talk.notify(CANCELLED, {"requestId": message["id"]})
        if talk.alive() or talk.pipe.wait(lambda each: False, _CROSSING, len(talk.pipe.messages)) or talk.alive():
            return None
        late = talk.pipe.wait(lambda each: is_response(each) and each.get("id") in cancelled, _AFTER,
                              len(talk.pipe.messages))
        return KEPT if late is None else Broken("tool %s was answered after it was cancelled" % cancelled[late["id"]])


@scene("disconnect", "cancel.http-disconnect-cancels", "cancel.race", needs="tools", wires="web",
       provokes="cancel.no-further-messages")
def disconnect(stage: SceneStage) -> Said:
    """A client that goes before its call is answered does no harm; whether its work is ended cannot be seen."""
    found: List[Verdict] = []
    with stage.fresh() as talk:
        for tool in stage.callable():
            message = _message(talk, tool, {"progressToken": "examiner-gone-%d" % len(found)})
            talk.web.send("POST", talk.header_fields(message, {}), as_bytes(message), _SOON, lambda each: True)
            found.append(survived(talk, "a call of %s whose client has gone" % tool[0]["name"]))
    if not found:
        raise NotExamined("no tool may be called")
    said = every(found)
    unseen = CannotTell("whether the work of a call is ended leaves no message")
    return {"cancel.race": said, "cancel.http-disconnect-cancels": unseen if said is KEPT else said}
