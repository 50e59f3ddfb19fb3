"""Scenes about the streams of Streamable HTTP, and of a client that can be asked, wants progress and logs, and listens.

What such a client makes come the checker judges: [basic/utilities/progress], [server/utilities/logging],
[client/sampling], [client/elicitation], [client/roots], [..2025-11-25 basic/lifecycle §Initialization],
[2026-07-28 basic/patterns/subscriptions].

The scenes about streams are those of their ends, and of the stream of `GET`
[2025-03-26..2025-11-25 basic/transports §Streamable HTTP],
[2026-07-28 basic/transports/streamable-http §Receiving Messages]. Which of a server's answers are streams nobody knows
before: tools that may be called are, with progress wanted.
"""

import threading
from typing import Any, Dict, List, Optional, Set, Tuple

from ....methods import CALL_TOOL, INITIALIZED, LISTEN, LIST_TOOLS, SET_LOG_LEVEL, SUBSCRIBE
from ....revisions import Revision
from ....threads import start_thread
from ..scenes import KEPT, Broken, NotExamined, Said, scene
from ..stage import MANY, SceneStage
from ..talk import LOG_LEVEL, ExaminerConversation
from ..wire import Fields, Reaction, as_bytes, is_response
from .calls import ANSWERS

_EARLY = 0.3
"""Seconds after the opening for which is waited for what must not come yet."""


def _able(revision: Revision) -> Dict[str, Any]:
    """Return the capabilities of a client that can be asked for everything that needs no more than an answer."""
    return {"sampling": {}, "roots": {}, **({"elicitation": {}} if revision.elicitation else {})}


def call_all(stage: SceneStage, talk: ExaminerConversation) -> None:
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


def _names(talk: ExaminerConversation) -> Optional[Set[str]]:
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


_EVENT_STREAM = "text/event-stream"


def _call(stage: SceneStage, talk: ExaminerConversation, tool: Dict[str, Any],
          arguments: Dict[str, Any]) -> Tuple[Fields, bytes]:
    """Return the header fields and the body of a call that wants progress."""
    id = talk.next_id
    message = talk.message(CALL_TOOL, {"name": tool["name"], "arguments": arguments}, id, {
        "progressToken": "examiner-stream-%d" % id, LOG_LEVEL: "debug" if stage.revision.stateless else None})
    return talk.header_fields(message, {}), as_bytes(message)


def _is_stream(answer: Reaction) -> bool:
    return (answer.field("Content-Type") or "").partition(";")[0].strip().lower() == _EVENT_STREAM


def _streamed(stage: SceneStage, talk: ExaminerConversation) -> List[Tuple[Dict[str, Any], Dict[str, Any]]]:
    """Return the tools whose calls are answered by streams with a notification in them. Raises `NotExamined`."""
    found = []
    for tool, arguments in stage.callable(most=MANY):
        answer = talk.web.send("POST", *_call(stage, talk, tool, arguments), stage.patience)
        if _is_stream(answer) and any("method" in each and "id" not in each for each in answer.others
                                      if isinstance(each, dict)):
            found.append((tool, arguments))
    if not found:
        raise NotExamined("no call of a tool is answered by a stream with notifications")
    return found


def _get(talk: ExaminerConversation) -> Fields:
    fields = talk.header_fields(None, {"Accept": _EVENT_STREAM})
    return [(name, value) for name, value in fields if name != "Content-Type"]


@scene("stream-ends", "http.stream-close-after-response", "http.stream-eventual-response", wires="web", needs="tools",
       provokes="http.stream-no-early-close http.x-accel-buffering http.resume-prime-event "
       "http.resume-retry-before-close")
def stream_ends(stage: SceneStage) -> Said:
    """The stream of a call ends once the response was sent, and not before."""
    with stage.fresh() as talk:
        tool, arguments = _streamed(stage, talk)[0]
        answered, ended = threading.Event(), threading.Event()

        def wanted(message: Any) -> bool:
            if is_response(message):
                answered.set()
            return False

        def read() -> None:
            talk.web.send("POST", *_call(stage, talk, tool, arguments), stage.patience, wanted)
            ended.set()

        start_thread("mcp-ref:examiner", read)
        if not answered.wait(stage.patience):
            return {"http.stream-eventual-response": Broken("tool %s: no response in %g s" % (
                tool["name"], stage.patience)) if ended.is_set() else None}
        return KEPT if ended.wait(min(2.0, stage.patience)) else {"http.stream-close-after-response": Broken(
            "tool %s: the stream is open after the response" % tool["name"])}


@scene("listening", "http.get-no-response", "http.no-broadcast", wires="web", needs="tools",
       only=lambda revision: revision.handshake, provokes="http.get-unrelated http.resume-event-id-unique")
def listening(stage: SceneStage) -> Said:
    """While `GET` keeps two streams open, nothing of what belongs to calls comes by them, and nothing by both."""
    with stage.fresh() as talk:
        heard: List[List[Any]] = [[], []]

        def read(into: List[Any]) -> None:
            def wanted(message: Any) -> bool:
                into.append(message)
                return False
            if not _is_stream(talk.web.send("GET", _get(talk), None, stage.patience, wanted)):
                into.clear()  # a second stream may be refused, with a body that is a response

        answer = talk.web.send("GET", _get(talk), None, stage.patience, head=True)
        if not _is_stream(answer):
            raise NotExamined("the server has no stream for GET: %s" % answer)
        for into in heard:
            start_thread("mcp-ref:examiner", read, into)
        call_all(stage, talk)
        talk.alive()
        answers = [each for each in heard[0] + heard[1] if is_response(each)]
        both = [each for each in heard[0] if each in heard[1]]
        return {"http.get-no-response": Broken("a stream of GET carries the response %r" % answers[0]["id"])
                if answers else KEPT,
                "http.no-broadcast": Broken("%s comes by two streams" % both[0].get("method")) if both else KEPT}
