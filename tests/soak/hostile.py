"""Clients that make the server hold what they can: streams cut behind large replies, replies that nobody reads, long
subscriptions, and sessions without a stream while the server has much to say."""
import contextlib
import random
import socket
import time
from typing import Dict, Optional

from http_peer import fields
from peer import ENVELOPE, request, tool_request
from soaked import Callers, Failed, Soaked

LARGE, UNREAD = "x" * 1_000_000, "x" * 4_000_000
URIS = 1000
LOGS = 100
MOST_MEMORY = 400_000_000
"""Bytes that the server may have more than before: what it may hold, and what allocators keep of its making."""


def hostile(soaked: Soaked, count: int, chance: random.Random) -> str:
    """So many clients of all kinds; others are served meanwhile, and what is held stays within its bound."""
    before = soaked.report()
    done: Dict[str, int] = {}
    most, held = before["memory"], 0
    with contextlib.ExitStack() as stack, Callers(soaked) as callers, soaked.target.line() as control:
        session = soaked.open(control)
        for number in range(count):
            kind = chance.choice(("stream", "unread", "listen", "silent"))
            done[kind] = done.get(kind, 0) + 1
            sock = _begin(soaked, number, kind)
            if sock is not None:
                stack.callback(sock.close)
            if number % 10 == 0:
                now = soaked.report()
                most, held = max(most, now["memory"]), max(held, now["held bytes"])
        begin = time.monotonic()
        control.ask(soaked.post(tool_request(1, "announce", {"count": LOGS}), session))
        seconds = time.monotonic() - begin
        now = soaked.report()
        most, held = max(most, now["memory"]), max(held, now["held bytes"])
        limit = now["most held bytes"]
        if held > limit + len(UNREAD):
            raise Failed("%d bytes were held, and max_held_bytes is %d" % (held, limit))
        if most > before["memory"] + MOST_MEMORY:
            raise Failed("%.0f MB of memory, %.0f before" % (most / 1e6, before["memory"] / 1e6))
    return "%s; held at most %.0f MB, memory %.0f MB; %d log messages to %d sessions in %.2f s; %s" % (
        ", ".join("%d %s" % (done[kind], kind) for kind in sorted(done)), held / 1e6, most / 1e6, LOGS,
        now["sessions"], seconds, callers)


def _begin(soaked: Soaked, number: int, kind: str) -> Optional[socket.socket]:
    """One client; its connection, where it is left open."""
    if kind == "silent":
        with soaked.target.line() as line:
            soaked.open(line)
        return None
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.settimeout(10)
    sock.connect((soaked.target.host, soaked.target.port))
    if kind == "listen":
        uris = ["item://%d-%0100d" % (number, each) for each in range(URIS)]
        asked = request(number, "subscriptions/listen", {"notifications": {"resourceSubscriptions": uris}, **ENVELOPE})
        sock.sendall(soaked.post(asked, None, fields("subscriptions/listen")))
    elif kind == "unread":
        asked = tool_request(number, "echo", {"text": UNREAD}, **ENVELOPE)
        sock.sendall(soaked.post(asked, None, fields("tools/call", "echo")))
    else:
        with soaked.target.line() as line:
            session = soaked.open(line)
        asked = soaked.post(tool_request(number, "echo", {"text": LARGE}), session)
        sock.sendall(asked.replace(b"application/json, text/event-stream", b"text/event-stream"))
        begun = sock.recv(4096)
        if not begun.startswith(b"HTTP/1.1 200"):
            raise Failed("a large reply did not begin: %r" % begun)
        sock.close()
        return None
    return sock
