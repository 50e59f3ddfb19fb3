"""Scenes about pipes: line ends, large messages, many at once, and the end [..2025-11-25 basic/transports §stdio],
[2026-07-28 basic/transports/stdio]."""

import time
from typing import Any, Set

from ....methods import DISCOVER, PING
from ..scenes import KEPT, Broken, CannotTell, NotExamined, Said, every, scene
from ..stage import SceneStage
from ..wire import as_bytes
from .frames import ordinary, survived

_MANY = 50
"""Requests that are sent without waiting for an answer."""
_LARGE = 1_000_000
"""Characters in one message."""
_ODD_LINES = (b"", b"   ", b"\r")


@scene("line-ends", "transport.deliver", "lifecycle.base-required", wires="pipe",
       provokes="stdio.server-stdout-only-mcp stdio.no-embedded-newlines transport.utf8")
def line_ends(stage: SceneStage) -> Said:
    """Empty lines do no harm, and a line may end with a carriage return, too."""
    talk = stage.talk
    for line in _ODD_LINES:
        talk.say(line, seconds=0)
    id = talk.next_id
    answer = talk.say(as_bytes(talk.message(ordinary(stage), id=id)) + b"\r", id=id)
    return every([survived(talk, "empty lines"), KEPT if answer.result is not None else CannotTell(
        "a line that ends with CR LF: %s" % answer)])


@scene("many-at-once", "transport.deliver", "lifecycle.base-required", wires="pipe sse")
def many_at_once(stage: SceneStage) -> Said:
    """Of many requests that are sent at once each gets one answer."""
    talk = stage.talk
    wanted: Set[int] = {talk.next_id for _ in range(_MANY)}
    since = len(talk.pipe.messages)
    for id in sorted(wanted):
        talk.say(talk.message(ordinary(stage), id=id), seconds=0)
    got: Set[int] = set()

    def all_there(message: Any) -> bool:
        if isinstance(message, dict) and message.get("id") in wanted:
            got.add(message["id"])
        return got == wanted

    talk.pipe.wait(all_there, stage.patience, since)
    return KEPT if got == wanted else Broken("of %d requests at once %d were answered" % (_MANY, len(got)))


@scene("large", "transport.deliver", "lifecycle.base-required", wires="pipe sse")
def large(stage: SceneStage) -> Said:
    """A message of a megabyte is answered, be it by a refusal."""
    talk = stage.aside
    answer = talk.request(PING if stage.revision.handshake else DISCOVER, meta={"example.com/large": "x" * _LARGE})
    why = survived(talk, "a message of %d bytes" % _LARGE)
    return why if why is not KEPT else KEPT if answer.message is not None else CannotTell(str(answer))


@scene("end-of-input", "stdio.exit-on-eof", wires="pipe")
def end_of_input(stage: SceneStage) -> Said:
    """A server whose standard input ends exits by itself."""
    with stage.fresh() as talk:
        child: Any = getattr(talk.pipe, "child", None)
        if not hasattr(child, "pid"):
            raise NotExamined("the server is no process of ours")
        started = time.monotonic()
        talk.wire.close()
        child.close()
        took = time.monotonic() - started
        grace = child.limits.shutdown_grace
        return KEPT if took < grace else Broken("it had to be ended after %.1f s" % took)
