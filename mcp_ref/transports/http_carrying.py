"""Requests of a client that the thread carries which waits for their answer.

Handing a request to another thread, its answer to the connection's reader, and that to who waits for it, wakes three
threads, which takes longer than all the rest of a small call. A thread that would only wait sends its request itself,
waits for the reply instead of for the reader, and takes the answer out of it.

It does so where nothing can keep it from noticing that its time is over, or that its request was given up: the request
is short, a connection without TLS is idle, nobody has to authorize it, and once something of the reply has come, all of
it has, and it is JSON. Whatever is not so, a thread of the crew goes on with, from where this one has got to.
"""

import re
import socket
import threading
from typing import TYPE_CHECKING, Callable, Optional

from .. import deadline
from ..jsonrpc import RequestId
from .http_crew import Crew
from .http_pool import Fields, Pool, wait_readable
from .http_reply import Reply

if TYPE_CHECKING:
    from .http_channel import Post

APART = ("initialize", "subscriptions/listen")
"""Requests that are never carried: what comes with their replies is no single answer."""
_SHORT = 16 * 1024
"""Bytes of a request that an idle connection takes at once."""
_LOOK = 64 * 1024
"""Bytes of a reply that are looked at; a longer one is left to the crew."""
_SLICE = 0.5
"""Seconds of waiting in one go; see `mcp_ref.peer.sender` for why."""
_LINE = rb"\r\n(?![ \t]|content-length:|transfer-encoding:)[^\r\n]+"
_USUAL_HEAD = re.compile(
    rb"HTTP/1\.1 200 [^\r\n]*(?=(?:%b)*\r\ncontent-type: ?application/json[;\r])"
    rb"(?:%b)*\r\ncontent-length: ?([0-9]{1,9})(?:%b)*\r\n\r\n"
    % (rb"\r\n(?!content-type:)[^\r\n]+", _LINE, _LINE), re.IGNORECASE).match


def is_whole(data: bytes) -> bool:
    """Whether this is all of a reply with status 200 and JSON, of a length that nobody reads otherwise."""
    head = _USUAL_HEAD(data)
    return head is not None and len(data) == head.end() + int(head.group(1))


class Carrier:
    """What threads carry of the requests of one client. Thread-safe.

    In this order, by one thread: `attend`, then `takes` when the request comes to be sent, then `taken`, and if that
    gives the request back `send`, `come`, and `leave`.
    """

    def __init__(self, pool: Pool, crew: Crew) -> None:
        self._pool = pool
        self._crew = crew
        self._of_thread = threading.local()

    def attend(self, id: RequestId) -> None:
        """This thread sends the request of this id next, and then asks for it with `taken`."""
        self._of_thread.id, self._of_thread.post = id, None

    def takes(self, post: "Post") -> bool:
        """Whether this thread carries a request; if so, it counts as one of the crew until it `leave`s."""
        mine = self._of_thread
        if getattr(mine, "id", None) != post.id or len(post.data) > _SHORT or not self._crew.take_place():
            return False
        mine.post = post
        return True

    def taken(self, id: RequestId) -> "Optional[Post]":
        """The request of this id, if this thread carries it; once."""
        mine = self._of_thread
        if getattr(mine, "id", None) != id:
            return None
        post: "Optional[Post]" = mine.post
        mine.id = mine.post = None
        return post

    def send(self, target: str, fields: Fields, post: "Post") -> Optional[Reply]:
        """Send it; the reply that is to come, or None: it was not delivered."""
        return self._pool.begin("POST", target, fields, post.grip, post.data)

    def come(self, reply: Reply, until: "deadline.Deadline") -> bool:
        """Wait for the reply; whether all of it has come, and is of the usual kind. It is not read."""
        sock = reply.link.sock
        left = until.left()
        while not wait_readable(sock, _SLICE if left is None else max(0.0, min(left, _SLICE))):
            left = until.left()
            if left is not None and left <= 0:
                return False
        try:
            return is_whole(sock.recv(_LOOK, socket.MSG_PEEK))
        except OSError:
            return False

    def leave(self, rest: Optional[Callable[[], None]] = None) -> None:
        """This thread is done; ``rest``: what another one has to do."""
        self._crew.leave_place(rest)
