"""The requests that a client posts: their header fields, the inbox for what comes back, and what a refusal means.

The header fields of a request are its own, those that the caller adds, and those that repeat the body: a request of the
stateless era says in its head what its body says, see `mcp_ref.protocol.streamable_http.mirrored`. These are made of
what the body was made of (`mcp_ref.transports.base.ExchangeTransport.prepare`), not of its bytes.

An `Inbox` holds the messages that were received and not read yet.

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
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple

from ... import deadline
from ...errors import METHOD_NOT_FOUND, HttpStatus, LocalProtocolError, McpError, PeerError, PeerProtocolError
from ...http11.client.connect import CancelScope
from ...http11.client.connection_pool import Fields
from ...http11.client.response import Reply
from ...jsonrpc import ErrorResponse, Malformed, RequestId, ResultResponse, json_type, parse
from ...jsontext import JsonError, loads
from ...limits import DEFAULT, Limits
from ...methods import CALL_TOOL, DISCOVER, INITIALIZE, NAMED
from ...protocol import envelope
from ...protocol.streamable_http import mirrored
from ...transports.base import Annotations, Outgoing, Received
from ...transports.lines.fds import wait_ready
from ...urls import is_token

if TYPE_CHECKING:
    from ..http_trace import ExchangeTrace

_OURS = frozenset((
    "accept", "accept-encoding", "connection", "content-length", "content-type", "host", "last-event-id",
    "mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id", "transfer-encoding",
))
"""The header fields that a caller cannot set, nor any that begins with _MIRRORED."""
_MIRRORED = "mcp-param-"
ACCEPT: Dict[str, Fields] = {
    # [2025-03-26..2025-11-25 basic/transports §Sending Messages to the Server] MUST: both.
    # [2026-07-28 basic/transports/streamable-http §Sending Messages] MUST
    "POST": (("Accept", "application/json, text/event-stream"), ("Content-Type", "application/json")),
    # [2025-03-26..2025-11-25 basic/transports §Listening for Messages from the Server] MUST
    "GET": (("Accept", "text/event-stream"), ("Cache-Control", "no-store")),
    "DELETE": (),
}
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*\Z")
FIELDS_CITATION = "2026-07-28 basic/transports/streamable-http §Client Behavior"
_VISIBLE = re.compile(r"[!-~]+\Z")


def added(headers: Mapping[str, str], token: Optional[str]) -> Fields:
    """Return the caller's header fields. Raises ValueError, which does not repeat their values."""
    fields = {name.lower(): (name, value) for name, value in headers.items()}
    if token is not None:
        fields["authorization"] = ("Authorization", "Bearer " + token)
    fields.setdefault("user-agent", ("User-Agent", "mcp_ref"))
    for name, value in fields.values():
        check(name, value)
    return tuple(fields.values())


def check(name: str, value: str) -> None:
    """Raise ValueError for a field that is not for others to set, or cannot be sent, without repeating its value."""
    key = name.lower()
    if key in _OURS or key.startswith(_MIRRORED) or not is_token(name):
        raise ValueError("%.80r is no header field that you can set" % name)
    if not isinstance(value, str) or not _VALUE.match(value):
        raise ValueError("the value of the header field %s cannot be sent: it is no text, or has a line end or a sign "
                         "beyond Latin-1" % name)


# Fields that repeat the body


def fields_of(
    method: str, params: Dict[str, Any], annotations: Optional[Annotations], named: Mapping[str, str] = NAMED,
) -> Fields:
    """Return the fields that repeat the body of a request.

    ``params``: with their `_meta`. ``annotations``: says which arguments of a tool are repeated. ``named``: as in
    `mcp_ref.protocol.streamable_http.mirrored.name_of`.

    Raises `LocalProtocolError` for what no header field can hold.
    [2026-07-28 basic/transports/streamable-http §Custom Headers from Tool Parameters] MUST
    [2026-07-28 basic/transports/streamable-http §Client Behavior] MUST
    """
    version, name = params["_meta"].get(envelope.VERSION), mirrored.name_of(method, params, named)
    try:
        if not isinstance(version, str):
            raise ValueError("the version is %s, and no string" % json_type(version))
        if name is None and method in named:
            raise ValueError("params.%s must be a string, which Mcp-Name repeats" % named[method])
        fields = _standard(version, method, name)
        wanted = annotations(name) if annotations is not None and method == CALL_TOOL and name is not None else None
        if wanted:
            fields += tuple(mirrored.param_headers(wanted, params.get("arguments")))
    except ValueError as error:
        raise LocalProtocolError(str(error), FIELDS_CITATION) from None
    return fields


@lru_cache(maxsize=256)
def _standard(version: str, method: str, named: Optional[str]) -> Fields:
    """Return the fields of a request but for arguments; cached, as they are the same again and again.

    Raises ValueError.
    """
    for value in (version, method):
        if not _VISIBLE.match(value):
            raise ValueError("a header field cannot hold %.80a" % value)
    return common(version, method) + (() if named is None else ((mirrored.NAME, mirrored.encode_value(named)),))


def common(version: str, method: str) -> Fields:
    """Return the fields that every message has; the method only if a header field can hold it, for it is not encoded.

    [2026-07-28 basic/transports/streamable-http §Standard Request Headers]
    """
    fields: Fields = ((mirrored.VERSION, version),)
    return (*fields, (mirrored.METHOD, method)) if _VISIBLE.match(method) else fields


CAPACITY = 1024 * 1024
"""The bytes of messages that may wait for a thread, and of those that may wait to be read, before senders wait."""


class Inbox:
    """A queue of what has arrived and was not read yet, bounded by bytes. Thread-safe."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)
        self._alarm = threading.Lock()
        self._alarm.acquire()
        self._asleep = False
        self._items: List[Received] = []
        self._size = 0
        self._ended = False

    def put(self, *items: Received) -> bool:
        """Add these items, as soon as there is room. Returns False after the end: they are dropped."""
        size = sum(len(item) for item in items if isinstance(item, bytes))
        with self._lock:
            while self._items and self._size + size > self._capacity and not self._ended:
                self._room.wait()
            if self._ended:
                return False
            self._items += items
            self._size += size
            self._wake()
            return True

    @property
    def quiet(self) -> bool:
        """True if all that came has been read, and the reader waits for more."""
        return self._asleep

    def _wake(self) -> None:
        if self._asleep:
            self._asleep = False
            self._alarm.release()

    def take(self) -> List[Received]:
        """Wait for something to arrive and return everything; [] once the queue has ended and all was taken."""
        while True:
            with self._lock:
                if self._items or self._ended:
                    taken, self._items, self._size = self._items, [], 0
                    self._room.notify_all()
                    return taken
                self._asleep = True
            self._alarm.acquire()

    def end(self, drop: bool) -> None:
        """End the queue; ``drop``: empty it, too, unless it has ended before."""
        with self._lock:
            if drop and not self._ended:
                self._items, self._size = [], 0
            self._ended = True
            self._room.notify_all()
            self._wake()


def is_answer(data: bytes, limits: Limits = DEFAULT) -> bool:
    """Return True if a server's message is, or holds, the answer to a request."""
    if b'"method"' not in data:
        return True
    try:
        value = loads(data, limits)
    except JsonError:
        return False
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, dict) and "method" not in item for item in items)


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
        if isinstance(frame, ErrorResponse) and frame.id is None:
            return PeerError(frame.code, _hidden(frame.message, sent), frame.data, post.method, post.id)
        if isinstance(frame, (ErrorResponse, ResultResponse)):
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
