"""The conditions under which a calling thread sends its request itself, and reads the reply.

Three hand-overs (of a request to another thread, of its answer to the connection's reader, and from there to the
caller) wake three threads, which takes longer than all the rest of a small call. A thread that would only wait sends
its request itself, waits for the reply instead of for the reader, and takes the answer out of it: see
`StreamableHttp.send_and_wait`.

It must not be kept from noticing that its time is over, or that its request was given up. So the request is short, a
connection without TLS is idle and takes it at once, no authorization is needed, and once something of the reply has
come, all of it has, and it is JSON. If one of these is not so, a thread of the pool goes on from there.
"""

import re
import socket

from ... import deadline
from ...http11.client.response import Reply
from ...transports.lines.fds import wait_ready

SHORT = 16 * 1024
"""The bytes of a request that an idle connection takes at once."""
_LOOK = 64 * 1024
"""The bytes of a reply that are looked at; a longer one is left to the thread pool."""
_SLICE = 0.5
"""The seconds of waiting in one go; `mcp_ref.peer.sender` says why."""
_LINE = rb"\r\n(?!content-length:|transfer-encoding:)[!-9;-~]+:[^\r\n]*"
"""A field whose name no reader takes for another one by leaving out spaces."""
_USUAL_HEAD = re.compile(
    rb"HTTP/1\.1 200 [^\r\n]*(?=(?:%b)*\r\ncontent-type: ?application/json[;\r])"
    rb"(?:%b)*\r\ncontent-length: ?([0-9]{1,9})(?:%b)*\r\n\r\n"
    % (rb"\r\n(?!content-type:)[^\r\n]+", _LINE, _LINE), re.IGNORECASE).match


def is_whole(data: bytes) -> bool:
    """Return True if this is all of a reply with status 200 and JSON, of a length that every reader understands
    alike."""
    head = _USUAL_HEAD(data)
    return head is not None and len(data) == head.end() + int(head.group(1))


def wait_for_whole_reply(reply: Reply, until: "deadline.Deadline") -> bool:
    """Wait until a reply begins to come, at most until then.

    Returns True if the whole reply has come and is a 200 with JSON and Content-Length, so that reading it cannot block.
    It is looked at; nothing of it is read.
    """
    sock = reply.link.sock
    left = until.left()
    while not wait_ready(sock, _SLICE if left is None else min(left, _SLICE)):
        left = until.left()
        if left is not None and left <= 0:
            return False
    try:
        return is_whole(sock.recv(_LOOK, socket.MSG_PEEK))
    except OSError:
        return False
