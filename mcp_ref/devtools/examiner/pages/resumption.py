"""Scenes about streams that break and are resumed [2025-03-26..2025-11-25 basic/transports §Resumability and
Redelivery].

A server need not give ids, nor send anything again. What it sends again has to be of the stream that was broken.
"""

from typing import Any, Dict, List, Optional, Tuple

from ....methods import CALL_TOOL, PROGRESS
from ..scenes import KEPT, Broken, CannotTell, NotExamined, Said, Verdict, every, scene
from ..stage import MANY, SceneStage
from ..talk import ExaminerConversation
from ..wire import Reaction, as_bytes, is_response

_CUTS = 5
"""The events of a stream after each of which it is broken once."""
Tool = Tuple[Dict[str, Any], Dict[str, Any]]


def _resumed(talk: ExaminerConversation, id: Any, last: str) -> Reaction:
    """Ask for the rest of a stream, up to the response with an id."""
    fields = talk.header_fields(None, {"Accept": "text/event-stream", "Last-Event-ID": last})
    return talk.web.send("GET", [field for field in fields if field[0] != "Content-Type"], None, talk.patience,
                         lambda each: is_response(each) and each.get("id") == id)


def _strange(answer: Reaction, id: Any, token: str) -> Optional[str]:
    """Return what came by a resumed stream and is of another one; None if nothing did."""
    for each in answer.others:
        if is_response(each) and each.get("id") != id:
            return "the response to another request"
        seen = each.get("params") if isinstance(each, dict) and each.get("method") == PROGRESS else None
        if isinstance(seen, dict) and seen.get("progressToken") != token:
            return "progress of another request"
    return None


def _broken_at(talk: ExaminerConversation, tool: Tool, cut: int) -> Optional[Verdict]:
    """Break the stream of a call after some events, make another call, and resume it.

    Return the verdict; None if there was nothing to resume: the call was answered before, or has no ids.
    """
    params, token = {"name": tool[0]["name"], "arguments": tool[1]}, "examiner-cut-%d" % talk.next_id
    message = talk.message(CALL_TOOL, params, talk.next_id, {"progressToken": token})
    first = talk.web.send("POST", talk.header_fields(message, {}), as_bytes(message), talk.patience, cut=cut)
    if first.message is not None or not first.last_id:
        return None
    talk.request(CALL_TOOL, params, {"progressToken": token + "-other"})
    rest = _resumed(talk, message["id"], first.last_id)
    strange = _strange(rest, message["id"], token)
    if strange is not None:
        return Broken("after event %r of a call of %s came %s" % (first.last_id, tool[0]["name"], strange))
    if rest.message is None:
        return CannotTell("after event %r the rest was not sent again: %s" % (first.last_id, rest))
    return KEPT


@scene("broken-stream", "http.resume-no-cross-stream", needs="tools", wires="web",
       provokes="http.resume-event-id-unique http.resume-event-id-encodes-stream http.resume-prime-event "
       "http.resume-retry-before-close http.get-no-response", only=lambda revision: revision.handshake)
def broken_stream(stage: SceneStage) -> Said:
    """A stream that is broken after each of its events, while another call goes on, is resumed with what belongs on it,
    and nothing else."""
    found: List[Verdict] = []
    tools = stage.callable(most=MANY)
    with stage.fresh() as talk:
        for tool in tools:
            for cut in range(1, _CUTS + 1):
                said = _broken_at(talk, tool, cut)
                found += [said] if said is not None else []
                if said is not KEPT:
                    break
            if found and found[-1] is not KEPT:
                break
    if not found:
        raise NotExamined("no call was answered by a stream with event ids")
    return every(found)


@scene("unknown-event-id", "http.resume-no-cross-stream", wires="web",
       provokes="http.get-no-response", only=lambda revision: revision.handshake)
def unknown_event_id(stage: SceneStage) -> Said:
    """An event id that was never given is refused or ignored: nothing of another stream is sent, and the conversation
    goes on."""
    with stage.fresh() as talk:
        talk.alive()
        fields = talk.header_fields(None, {"Accept": "text/event-stream", "Last-Event-ID": "examiner-no-such-event"})
        answer = talk.web.send("GET", [field for field in fields if field[0] != "Content-Type"], None,
                               min(1.0, talk.patience))
        if answer.message is not None and answer.status == 200:
            return Broken("after an event id that was never given came %s" % answer)
        why = talk.alive()
        return KEPT if not why else Broken("after an event id that was never given: %s" % why)
