"""Scenes about HTTP+SSE [2024-11-05 basic/transports §HTTP with SSE]."""

from typing import List

from ...methods import PING
from ...revisions import REVISIONS
from ..scenes import KEPT, Broken, CannotTell, NotExamined, Said, Verdict, every, scene
from ..sse_wire import Sse
from ..stage import SceneStage
from ..talk import Talk
from ..wire import is_response
from .web import FOREIGN

_TRIES = 10
"""Messages to a stream that has ended: the server may learn of the end a moment later."""


def stream_of(talk: Talk) -> Sse:
    """Return the wire, in scenes that are played over HTTP+SSE. Raises TypeError for another one."""
    if not isinstance(talk.wire, Sse):
        raise TypeError("this wire is not HTTP+SSE")
    return talk.wire


@scene("endpoint-event", "sse.endpoint-sse", "sse.endpoint-event", wires="sse")
def endpoint_event(stage: SceneStage) -> Said:
    """A stream begins with the event `endpoint`, which comes once and has the address for messages."""
    found: List[Verdict] = []
    for _ in range(2):
        with stage.fresh() as talk:
            wire = stream_of(talk)
            count = sum(name == "endpoint" for name, _ in wire.events)
            found.append(KEPT if wire.first == "endpoint" and count == 1 else Broken(
                "the first event is %s, and %d are endpoint" % (wire.first, count)))
    return {"sse.endpoint-event": every(found), "sse.endpoint-sse": KEPT}


@scene("posted-message", "sse.endpoint-post", "sse.endpoint-sse", wires="sse")
def posted_message(stage: SceneStage) -> Said:
    """A POST is taken, and the answer comes by the stream of the same client."""
    with stage.fresh() as talk, stage.fresh() as other:
        id, here, there = 4711, stream_of(talk), stream_of(other)
        since, beside = len(here.messages), len(there.messages)
        taken = here.post(talk.message(PING, id=id), talk.header_fields(None, {}), stage.patience)
        answered = here.wait(lambda each: is_response(each) and each.get("id") == id, stage.patience, since)
        strayed = there.wait(lambda each: is_response(each) and each.get("id") == id, 0, beside)
        right = taken.status is not None and taken.status // 100 == 2
        return {"sse.endpoint-post": KEPT if right else Broken("a ping: %s" % taken),
                "sse.endpoint-sse": Broken("the answer came by the stream of another client") if strayed else
                KEPT if answered else Broken("a ping was not answered by the stream%s" % (
                    ", but by the POST" if taken.message is not None else ""))}


@scene("foreign-origin-sse", "http.origin-validate", wires="sse", only=lambda revision: revision is REVISIONS[0])
def foreign_origin_sse(stage: SceneStage) -> Said:
    """A message with the origin of another site is not taken.

    Reading: the page gives no status. A server on another machine may be meant for the pages of all sites. Later
    revisions say it of their own transport.
    """
    talk = stage.talk
    wire = stream_of(talk)
    if not wire.where.loopback:
        raise NotExamined("the server is on another machine, and may be meant for all sites")
    found: List[Verdict] = []
    for origin in FOREIGN[:3]:
        answer = wire.post(talk.message(PING, id=talk.next_id), talk.header_fields(None, {"Origin": origin}),
                           stage.patience)
        taken = answer.status is not None and answer.status // 100 == 2
        found.append(Broken("Origin %s: %s" % (origin, answer)) if taken else
                     KEPT if answer.status is not None else CannotTell(str(answer)))
    return every(found)


@scene("dead-stream", "sse.endpoint-post", wires="sse")
def dead_stream(stage: SceneStage) -> Said:
    """A message to the address of a stream that has ended does no harm to other streams."""
    with stage.fresh() as talk:
        wire = stream_of(talk)
        target = wire.target
    talk, why = stage.talk, ""
    wire = stream_of(talk)
    for _ in range(_TRIES):
        kept, wire.target = wire.target, target
        try:
            answer = wire.post(talk.message(PING, id=talk.next_id), talk.header_fields(None, {}), stage.patience)
        finally:
            wire.target = kept
        why = talk.alive()
        if why or answer.status is None or answer.status >= 400:
            break
    return KEPT if not why else Broken("after a message to a stream that has ended: %s" % why)
