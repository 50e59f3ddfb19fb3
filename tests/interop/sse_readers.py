"""Random streams of Server-Sent Events, read by `mcp_ref.protocol.streamable_http.header_values` and by
`eventsource-parser`, which the official TypeScript client has inside; `make interop` runs it.

What is known to differ, and left out here:

 - the id of an event: theirs is the one of its own fields, ours the last one of the stream, as WHATWG HTML has it
 - a CR at the very end: theirs waits whether an LF follows, ours does not; each stream here ends with a comment
 - a ``retry`` of more than nine digits: ours is none
"""
import base64
import json
import pathlib
import random
import subprocess
import sys
import time
from typing import Dict, List

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE), str(HERE.parent / "tools")]

import peers  # noqa: E402
from mcp_ref.protocol.streamable_http.header_values import SseParser  # noqa: E402
from official_walk import expect, report  # noqa: E402

SEED = 20261122
STREAMS = 5000
SECONDS = 600
ENDS = ("\n", "\r", "\r\n")
NAMES = ("data", "data", "event", "id", "retry", "", "DATA", "dat", " data", "data ")
VALUES = ("", "x", "  two", '{"a":1}', "7", "07", "12a", "-1", "1.5", " ", "a:b", "message", "\u2028s",
          "\u00e9\U0001f600", "\x00n", "\x85", "\x0c")


def stream(chance: random.Random) -> List[bytes]:
    """The pieces in which a stream of a few fields comes, right ones and wrong ones."""
    text = chance.choice(["", "", "", "\ufeff"])
    for _ in range(chance.randrange(1, 14)):
        if chance.random() < 0.7:
            text += chance.choice(NAMES) + chance.choice(["", ":", ":", ": ", ": "]) + chance.choice(VALUES)
        text += chance.choice(ENDS)
    whole = (text + chance.choice(ENDS) + chance.choice(ENDS)).encode("utf-8")
    cuts = sorted(chance.randrange(len(whole) + 1) for _ in range(chance.randrange(6)))
    return [whole[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(whole)])] + [b":\n"]


def against_eventsource_parser(commands: Dict[str, List[str]]) -> None:
    """Read the same streams with both, and compare events, ids and the time to wait."""
    started = time.monotonic()
    chance = random.Random(SEED)
    streams = [stream(chance) for _ in range(STREAMS)]
    sent = json.dumps([[base64.b64encode(piece).decode("ascii") for piece in pieces] for pieces in streams])
    done = subprocess.run([*commands["typescript"], str(HERE / "sse_readers.cjs")], input=sent.encode("ascii"),
                          stdout=subprocess.PIPE, timeout=SECONDS, check=True, env=peers.node_path())
    events = 0
    for pieces, (theirs, retry) in zip(streams, json.loads(done.stdout.decode("utf-8"))):
        parser = SseParser()
        ours = [event for piece in pieces for event in parser.feed(piece)]
        at = b"|".join(pieces)
        expect([[event.event, event.data.decode("utf-8")] for event in ours] == [event[:2] for event in theirs],
               "events", ours, theirs, at)
        expect(all(event[2] in (None, mine.id or "") for mine, event in zip(ours, theirs)), "ids", ours, theirs, at)
        expect(parser.retry == retry, "retry", parser.retry, retry, at)
        events += len(ours)
    expect(events > STREAMS // 2, "too few events to tell anything", events)
    report("sse-readers", started, streams=STREAMS, events=events)
