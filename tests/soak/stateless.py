"""What the server goes through in the stateless era: requests that stand alone, and listeners' streams."""
import contextlib
import json
import random
import socket
import time
from typing import Dict, Tuple

from http_peer import fields
from http_wire import Answer, Line
from peer import ENVELOPE, echo_request, request, result_of, tool_request
from soaked import Callers, Failed, Soaked, cut, received

BATCH = 250
"""Streams that are open at a time."""
STEPS = 5
URI = "item://%d"
UPDATED = b'"notifications/resources/updated"'


def alone(soaked: Soaked, count: int, chance: random.Random) -> str:
    """Requests that stand alone, some on one connection, some cut at a random byte: each that is whole is answered."""
    done: Dict[str, int] = {}
    begin, line, left = time.monotonic(), soaked.target.line(), 0
    for number in range(1, count + 1):
        if not left:
            line.sock.close()
            line, left = soaked.target.line(), chance.randrange(1, 40)
        left -= 1
        kind, data = _any_request(soaked, number, chance)
        if chance.random() < 0.1:
            _broken(line, data, chance)
            kind, left = "cut", 0
        else:
            _check(kind, number, line.ask(data))
        done[kind] = done.get(kind, 0) + 1
    line.sock.close()
    return "%.0f per second; %s" % (count / (time.monotonic() - begin),
                                    ", ".join("%d %s" % (done[kind], kind) for kind in sorted(done)))


def _broken(line: Line, data: bytes, chance: random.Random) -> None:
    """A request that is cut, or whose reply is."""
    with contextlib.suppress(ConnectionError):
        if chance.random() < 0.5:
            line.sock.sendall(data[:chance.randrange(len(data))])
        else:
            line.sock.sendall(data)
            received(line.sock, chance.randrange(300))
    cut(line.sock, chance)


def _any_request(soaked: Soaked, number: int, chance: random.Random) -> Tuple[str, bytes]:
    """What kind of request it is, and its bytes."""
    kind = chance.choice(("echo", "echo", "steps", "list", "refused"))
    if kind == "list":
        return kind, soaked.post(request(number, "tools/list", ENVELOPE), None, fields("tools/list"))
    if kind == "steps":
        more = {"_meta": {**ENVELOPE["_meta"], "progressToken": number}}
        call = tool_request(number, "steps", {"count": STEPS}, **more)
        return kind, soaked.post(call, None, fields("tools/call", "steps"))
    name = "echo" if kind == "echo" else "another"  # than the body says
    call = echo_request(number, "call %d" % number, **ENVELOPE)
    return kind, soaked.post(call, None, fields("tools/call", name))


def _check(kind: str, number: int, answer: Answer) -> None:
    if answer.status != (400 if kind == "refused" else 200):
        raise Failed("%s was answered %d: %r" % (kind, answer.status, answer.body[:300]))
    if kind == "refused":
        return
    found, result = result_of(answer.message)
    text = "call %d" % number if kind == "echo" else "done"
    if found != number or (kind != "list" and result["content"][0]["text"] != text):
        raise Failed("%s %d was answered %r" % (kind, number, answer.message[:300]))
    if kind == "steps" and answer.body.count(b'"notifications/progress"') != STEPS:
        raise Failed("%d steps are not in %r" % (STEPS, answer.body))


def listened(soaked: Soaked, count: int, chance: random.Random) -> str:
    """Streams of `subscriptions/listen`, many at a time: each is told what it asked for, once, and then dropped."""
    most = 0
    with Callers(soaked) as callers, soaked.target.line() as control:
        for start in range(0, count, BATCH):
            with contextlib.ExitStack() as stack:
                streams = []
                for number in range(min(BATCH, count - start)):
                    streams.append(_listen(soaked, number))
                    stack.callback(streams[-1].close)
                for sock in streams:
                    _heard(sock, b'"notifications/subscriptions/acknowledged"')
                during = soaked.report()
                if during["objects"]["Listener"] < len(streams):
                    raise Failed("the objects of the server are not seen: %s" % during["objects"])
                most = max(most, during["threads"])
                touch = tool_request(1, "touch", {"count": len(streams)}, **ENVELOPE)
                if control.ask(soaked.post(touch, None, fields("tools/call", "touch"))).status != 200:
                    raise Failed("touch was refused")
                for number, sock in enumerate(streams):
                    said = _heard(sock, UPDATED)
                    if said.count(UPDATED) != 1 or json.dumps(URI % number).encode() not in said:
                        raise Failed("listener %d heard %r" % (number, said))
                for sock in streams:
                    cut(sock, chance)
    return "%d threads at most for %d of them; %s" % (most, min(BATCH, count), callers)


def _listen(soaked: Soaked, number: int) -> socket.socket:
    """A stream that hears of one item."""
    wanted = {**ENVELOPE, "notifications": {"resourceSubscriptions": [URI % number]}}
    message = request(number, "subscriptions/listen", wanted)
    line = soaked.target.line()
    line.sock.sendall(soaked.post(message, None, fields("subscriptions/listen")))
    return line.sock


def _heard(sock: socket.socket, mark: bytes) -> bytes:
    """What comes up to this and the end of its event."""
    data = b""
    while mark not in data or not data.endswith(b"\n\n\r\n"):
        more = sock.recv(4096)
        if not more:
            raise Failed("a listener's stream ended after %r" % data)
        data += more
    return data
