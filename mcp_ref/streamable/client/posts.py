"""The requests that a client posts: one on its way, the terms of sending it directly, and what a refusal of it means.

The calling thread can send its request itself. Three hand-overs (of a request to another thread, of its answer to the
connection's reader, and from there to the caller) wake three threads, which takes longer than all the rest of a small
call. A thread that would only wait sends its request itself, waits for the reply instead of for the reader, and takes
the answer out of it: see `StreamableHttp.send_and_wait`.

It must not be kept from noticing that its time is over, or that its request was given up. So the request is short, a
connection without TLS is idle and takes it at once, no authorization is needed, and once something of the reply has
come, all of it has, and it is JSON. If one of these is not so, a thread of the pool goes on from there.

The errors that are made of a reply tell the server's words from ours.
"""

import re
import socket
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

from ... import deadline
from ...errors import METHOD_NOT_FOUND, HttpStatus, McpError, PeerError, PeerProtocolError
from ...http11.client.connect import CancelScope
from ...http11.client.connection_pool import Fields
from ...http11.client.response import Reply
from ...jsonrpc import Error, Malformed, RequestId, Result, parse
from ...jsontext import JsonError, loads
from ...methods import DISCOVER, INITIALIZE
from ...transports.exchanges import Outgoing
from ...transports.lines.fds import wait_ready

if TYPE_CHECKING:
    from ..http_trace import ExchangeTrace

CITATION = ("2025-03-26..2025-11-25 basic/transports §Sending Messages to the Server",
            "2026-07-28 basic/transports/streamable-http §Sending Messages")
"""The form that a reply has to have, in a session and without one."""
SHORT = 16 * 1024
"""The bytes of a request that an idle connection takes at once."""
_LOOK = 64 * 1024
"""The bytes of a reply that are looked at; a longer one is left to the thread pool."""
_EXCERPT = 200
"""The characters of a body that an error text quotes."""
_SLICE = 0.5
"""The seconds of waiting in one go; `mcp_ref.peer.sender` says why."""
_LINE = rb"\r\n(?!content-length:|transfer-encoding:)[!-9;-~]+:[^\r\n]*"
"""A field whose name no reader takes for another one by leaving out spaces."""
_USUAL_HEAD = re.compile(
    rb"HTTP/1\.1 200 [^\r\n]*(?=(?:%b)*\r\ncontent-type: ?application/json[;\r])"
    rb"(?:%b)*\r\ncontent-length: ?([0-9]{1,9})(?:%b)*\r\n\r\n"
    % (rb"\r\n(?!content-type:)[^\r\n]+", _LINE, _LINE), re.IGNORECASE).match

_AUTHORIZATION = "it wants authorization: pass token=..., auth=... or headers={...}"
WRONG_PATH = "ask for the path of the server's endpoint; /mcp is usual, and /sse for HTTP+SSE"
WRONG_PATHS = (404, 405, 410)
"""The statuses by which a server refuses the first request at a path that is not its endpoint."""


class Post:
    """A request on its way. ``begun``: a thread has taken it up."""

    __slots__ = ("id", "message", "method", "data", "fields", "cancel_scope", "begun", "seen", "reply", "came")

    def __init__(self, id: RequestId, message: Outgoing, fields: Fields, begun: bool = False) -> None:
        self.id = id
        self.message = message
        self.method = message.method
        self.data = message.data
        self.fields = fields
        """The header fields of a request that belongs to no session, all of them; () for those of every request now."""
        self.cancel_scope = CancelScope()
        self.begun = begun
        self.seen: "Optional[ExchangeTrace]" = None
        """The trace of its exchange, if that was told of before `HttpChannel._exchange`."""
        self.reply: Optional[Reply] = None
        self.came = b""
        """The last message in the reply."""

    def may_have(self, id: Any) -> bool:
        """Return True if an error with this id, in the reply, may be the answer; older servers write there what they
        like."""
        return not self.fields or id is None or id == self.id


# Sending on the calling thread


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


# Errors


def no_answer(post: Post, where: str, sent: Fields) -> McpError:
    """Return the failure of a request whose reply, a successful one, held no response to it; see `refused`.

    An error without an id is one: the server could not read the request's.
    """
    why = ""
    try:
        frame: Any = parse(post.came, batching=True) if post.came.strip() else None
    except Malformed as error:
        why = " (%s)" % error.message
    else:
        if isinstance(frame, Error) and frame.id is None:
            return PeerError(frame.code, _hidden(frame.message, sent), frame.data, post.method, post.id)
        if isinstance(frame, (Error, Result)):
            why = " (its id is %.80r, not %r)" % (frame.id, post.id)
    return unusable(post, where, sent, ", which holds no response to it" + why, post.came)


def unusable(post: Post, where: str, sent: Fields, what: str, body: bytes) -> PeerProtocolError:
    """Return the error for a successful reply that is of no use, ``what`` says why; with the beginning of its body."""
    reply = post.reply
    line = _hidden("%s answered %s with %s%s" % (
        where, post.method, reply.status if reply is not None else "nothing", what), sent)
    return PeerProtocolError("%s: %s" % (line, excerpt(body, sent)), CITATION[bool(post.fields)])


def refused(reply: Reply, body: bytes, where: str, sent: Fields, post: Optional[Post] = None) -> McpError:
    """Return `PeerError` if the body is a JSON-RPC error that may be the answer to ``post``, else `HttpStatus`.

    ``where``: the server, for people. ``sent``: the header fields of the request; a token among them is not repeated.
    """
    challenges = reply.headers.get_all("www-authenticate")
    id, error = _json_error(body)
    if error is not None:
        error["message"] = _hidden(error["message"], sent)
    no_endpoint = post is not None and post.method in (INITIALIZE, DISCOVER) and reply.status in WRONG_PATHS
    if post is not None and error is not None and reply.status not in (401, 403) and post.may_have(id):
        answer = PeerError(error["code"], error["message"], error.get("data"), post.method, post.id)
        answer.status = reply.status
        if no_endpoint and error["code"] != METHOD_NOT_FOUND:
            answer.args = ("%s; %s" % (answer, WRONG_PATH),)
        return answer
    text = _hidden("%s answered %d %s" % (where, reply.status, reply.reason), sent)
    line = _printable(error["message"]) if error is not None else excerpt(body, sent) if body else ""
    if reply.status == 401 and not any(name.lower() == "authorization" for name, _ in sent):
        line = (line and line + "; ") + _AUTHORIZATION
    if no_endpoint:
        line = (line and line + "; ") + WRONG_PATH
    return HttpStatus(_printable(text) + (line and ": " + line), reply.status, challenges)


def _json_error(body: bytes) -> Tuple[Any, Optional[Dict[str, Any]]]:
    """Return the id and the error of a body that is a JSON-RPC error response; None and None if it is none."""
    try:
        value = loads(body)
    except JsonError:
        return None, None
    error = value.get("error") if isinstance(value, dict) else None
    if isinstance(error, dict) and type(error.get("code")) is int and isinstance(error.get("message"), str):
        return value.get("id"), error
    return None, None


def _hidden(text: str, sent: Fields) -> str:
    """Return a server's words without the token that it was sent, which some repeat."""
    for name, value in sent:
        if name.lower() == "authorization":
            for secret in (value, value.partition(" ")[2]):
                text = text.replace(secret, "***") if len(secret) > 3 else text
    return text


def excerpt(body: bytes, sent: Fields) -> str:
    """Return the beginning of a body for error texts, on one line."""
    text = " ".join(_hidden(body[:4 * _EXCERPT].decode("utf-8", "replace"), sent).split())
    return _printable(text[:_EXCERPT]) + "..." * (len(text) > _EXCERPT) or "(empty)"


def _printable(text: str) -> str:
    return repr(text)[1:-1]
