"""Requests of a client that the thread carries which waits for their answer.

Handing a request to another thread, its answer to the connection's reader, and that to who waits for it, wakes three
threads, which takes longer than all the rest of a small call. A thread that would only wait sends its request itself,
waits for the reply instead of for the reader, and takes the answer out of it.

It does so where nothing keeps it from noticing that its time is over, or that its request was given up: the request is
short, a connection without TLS is idle and takes it at once, nobody has to authorize it, and once something of the
reply has come, all of it has, and it is JSON. Whatever is not so, a thread of the crew goes on with, from where this
one has got to.
"""

import re
import socket
import threading
from typing import TYPE_CHECKING, Optional

from ... import deadline
from ...http11.client.response import Reply
from ...jsonrpc import RequestId
from ...transports.lines.fds import wait_ready

if TYPE_CHECKING:
    from .base import Post

_SHORT = 16 * 1024
"""Bytes of a request that an idle connection takes at once."""
_LOOK = 64 * 1024
"""Bytes of a reply that are looked at; a longer one is left to the crew."""
_SLICE = 0.5
"""Seconds of waiting in one go; see `mcp_ref.peer.sender` for why."""
_LINE = rb"\r\n(?!content-length:|transfer-encoding:)[!-9;-~]+:[^\r\n]*"
"""A field whose name nobody strips to another one."""
_USUAL_HEAD = re.compile(
    rb"HTTP/1\.1 200 [^\r\n]*(?=(?:%b)*\r\ncontent-type: ?application/json[;\r])"
    rb"(?:%b)*\r\ncontent-length: ?([0-9]{1,9})(?:%b)*\r\n\r\n"
    % (rb"\r\n(?!content-type:)[^\r\n]+", _LINE, _LINE), re.IGNORECASE).match


def is_whole(data: bytes) -> bool:
    """Whether this is all of a reply with status 200 and JSON, of a length that nobody reads otherwise."""
    head = _USUAL_HEAD(data)
    return head is not None and len(data) == head.end() + int(head.group(1))


class Attended(threading.local):
    """The request that a thread sends next, and whose answer it then has to wait for; each thread has its own."""

    id: Optional[RequestId] = None
    post: "Optional[Post]" = None
    """The same, once it has come to be sent."""

    def attend(self, id: RequestId) -> "Optional[Post]":
        """It is the one of this id; given back is one from before that was not claimed, as something came between."""
        left, self.id, self.post = self.post, id, None
        return left

    def keep(self, post: "Post") -> bool:
        """Keep it for this thread, if it is that one; False: it is for others to send."""
        if self.id != post.id or len(post.data) > _SHORT:
            return False
        self.post = post
        return True

    def claim(self, id: RequestId) -> "Optional[Post]":
        """The request of this id, if it was kept for this thread; once."""
        if self.id != id:
            return None
        post, self.id, self.post = self.post, None, None
        return post


def has_come(reply: Reply, until: "deadline.Deadline") -> bool:
    """Wait for a reply, until then at most; whether all of it has come, and is of the usual kind. It is not read."""
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
