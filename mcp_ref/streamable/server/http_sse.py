"""HTTP+SSE, the HTTP transport of 2024-11-05, for clients that know no other.

=======================  ===========================================================================================
request                  answer
=======================  ===========================================================================================
``GET /sse``             a stream, and with it a session: first the `endpoint` event with the address for messages,
                         then every message of the server as a `message` event
``POST /messages?...``   202; the answer goes on the stream
``OPTIONS`` of both      the preflight of a browser
=======================  ===========================================================================================

[2024-11-05 basic/transports §HTTP with SSE] MUST.

The stream is the connection, as if it were a pipe: when it breaks, the session and all its requests end. Nothing is
sent again. The address holds a session id that nobody can guess, and only the principal that began a session may post
to it.

Reading: the page gives no statuses. A POST that cannot be taken is refused as in Streamable HTTP, by the order
HTTP_SSE of `mcp_ref.protocol.streamable_http.refusals`, and the stream says nothing about it. The transport and the
revision do not depend on each other: a later one may be agreed here, with its version header and its batches.
"""

import functools
from typing import Any, Optional, Sequence
from urllib.parse import parse_qs

from ...http11.message import Exchange, HttpRequest, Pairs
from ...jsonrpc import Batch, RequestId
from ...limits import DEFAULT, Limits
from ...protocol.streamable_http.header_values import encode_event
from ...protocol.streamable_http.refusals import HTTP_SSE, HeaderVerdict, version_fault
from ...revisions import LATEST_HANDSHAKE
from .endpoint import ALL, Connect, Endpoint
from .post import (
    VERSION, PostRefused, Posted, admit, allow, check_length, find_session, judge_version, look_into, need_message,
    pass_on, read,
)
from .reply_stream import LISTENING, ReplyStream
from .session import HttpSession, SessionTable, new_id

SESSION = "sessionId"
"""The parameter of the address that names the session."""


class SseSession(HttpSession):
    """A session whose messages all go on one stream."""

    name = "sse"

    def begin(self, exchange: Exchange, address: str, headers: Pairs) -> bool:
        """Begin the stream, with the `endpoint` event [2024-11-05 basic/transports §HTTP with SSE] MUST.

        Returns False if the session has ended before.
        """
        stream = ReplyStream(exchange, headers, kind=LISTENING)
        with self.lock:
            if self.ended:
                return False
            stream.begin()
            stream.write(encode_event(address.encode("ascii"), event="endpoint"))
            self._listening.append(stream)
        return True

    def post(self, message: Optional[bytes], about: Optional[RequestId] = None, final: bool = False) -> None:
        """Send a message on the stream, as `Transport.post`. Where the client is gone, the shell ends the session."""
        if message is None:
            return
        event = encode_event(message, event="message")
        with self.lock:
            if not any(stream.write(event) for stream in self._listening):
                self._count("messages without a stream")

    def request_of(self, about: RequestId) -> Optional[HttpRequest]:
        """Return the request that opened the stream: the address for messages has nothing of the client's own."""
        with self.lock:
            exchanges = [stream.exchange for stream in self._listening if stream.exchange is not None]
        return exchanges[0].request if exchanges else None

    def end_listening(self) -> None:
        """Do nothing, for the stream is the session; see `authenticate`."""

    @property
    def busy(self) -> bool:
        """Return True if the stream is open and the handshake was made. A client that opens a stream and sends nothing
        is idle."""
        return super().busy and self.connection.session.revision is not None


class SseEndpoint:
    """The endpoint of both addresses. A shell calls `handle` for requests to ``paths``.

    ``options``: those of `Endpoint`, except for its ``sessions``, ``order`` and ``methods``.

    Raises ValueError if none of ``revisions`` opens with `initialize`, for a stream is a session.
    """

    json_response = None

    def __init__(
        self, connect: Connect, *, path: str = "/sse", messages: str = "/messages", limits: Limits = DEFAULT,
        revisions: Sequence[str] = ALL, **options: Any
    ) -> None:
        self.paths = (path.rstrip("/"), messages.rstrip("/"))
        self.limits = limits
        self.sessions = SessionTable(limits)
        options.update(limits=limits, revisions=revisions, sessions=self.sessions, order=HTTP_SSE)
        self._streams = Endpoint(
            connect, path=path, methods={"GET": functools.partial(open_stream, messages)}, **options)
        if self._streams.sessions is None:
            raise ValueError("HTTP+SSE serves sessions, and none of the revisions %s has them: name one up to %s, or"
                             " leave HTTP+SSE out" % (", ".join(map(str, revisions)), LATEST_HANDSHAKE))
        self._messages = Endpoint(connect, path=messages, methods={"POST": post_message}, **options)
        self._messages.counters = self._streams.counters
        self.counters = self._streams.counters

    def handle(self, exchange: Exchange) -> None:
        """Answer one request."""
        at_messages = exchange.request.path.rstrip("/") == self.paths[1]
        (self._messages if at_messages else self._streams).handle(exchange)

    def tick(self) -> None:
        """Do what is due, as `Endpoint.tick`."""
        self._streams.tick()

    def close(self, grace: float) -> None:
        """End all sessions, as `Endpoint.close`."""
        self._messages.closing = True
        self._streams.close(grace)


def open_stream(address: str, endpoint: Endpoint, exchange: Exchange, verdict: HeaderVerdict) -> None:
    """Answer a GET of the first address: it opens a stream, and with it a session. ``address``: that for messages."""
    principal = admit(endpoint, exchange)
    allow(endpoint, exchange, principal)
    version = exchange.request.headers.lower(VERSION)
    fault = "" if version is None else version_fault(version, endpoint.revisions, None, endpoint.strict)
    if fault:
        raise PostRefused("version", fault)
    if endpoint.closing:
        raise PostRefused("closing")
    session = SseSession(new_id(), principal, endpoint.limits)
    endpoint.enter(exchange, session)
    sessions: Any = endpoint.sessions
    try:
        endpoint.connected(session)
    except BaseException:
        sessions.remove(session)
        raise
    exchange.on_close = functools.partial(endpoint.end, session, "the client closed the stream")
    if not session.begin(exchange, "%s%s?%s=%s" % (exchange.request.root, address, SESSION, session.id), verdict.cors):
        raise PostRefused("closing")
    endpoint.counters.add("sessions begun")


def post_message(endpoint: Endpoint, exchange: Exchange, verdict: HeaderVerdict) -> None:
    """Answer a POST to the second address: its message goes to the connection of the session that the address names,
    and all answers go on the stream."""
    principal = admit(endpoint, exchange)
    check_length(endpoint, exchange)
    named = parse_qs(exchange.request.query).get(SESSION, [])
    if not named:
        raise PostRefused("body", "%s is missing: post to the address in the endpoint event" % SESSION)
    # An address that names several sessions is of none.
    session = find_session(endpoint, exchange, principal, named[0] if len(named) == 1 else "")
    judge_version(endpoint, exchange, session)
    # The message is parsed now that its session is known: nobody else has anything parsed here.
    post = Posted(exchange, verdict, principal, read(endpoint, exchange))
    allow(endpoint, exchange, principal, post.frame)
    frame = need_message(post.frame, session)
    keys = post.keys
    if isinstance(frame, Batch):  # what belongs into one, no page says of this transport
        fault, _, keys = look_into(frame, bool(session.connection.batching))
        if fault and not session.connection.batching:
            raise PostRefused("batch", fault)
        if len(keys) == 1:
            keys = ()  # nothing but messages that are none: their refusal goes on the stream, also while we close
    if keys and endpoint.closing:
        raise PostRefused("closing", "", post.id)
    pass_on(post, frame, session, principal)
