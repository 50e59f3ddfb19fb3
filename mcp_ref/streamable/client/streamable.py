"""Streamable HTTP, the client's side [2025-03-26..2025-11-25 basic/transports §Streamable HTTP]
[2026-07-28 basic/transports/streamable-http §Sending Messages].

`StreamableHttp` sends each message as a `POST` (see `base`) and takes the answer as JSON or as a stream of
events. What the handshake revisions add to that:

- The session: its id comes with the answer to `initialize`, goes with everything after that, and is given back by a
  `DELETE` when the transport is closed. If the server does not know it any more (404), that request fails with
  `SessionExpired`, and the connection is over: `reopen` makes the next one, see `mcp_ref.client.client`.
- The stream on which the server speaks unasked: a `GET` after ``notifications/initialized``, and another one whenever
  it ends. A server that has none answers 405.
- Resuming: a stream that ends before its answer is asked for again by `GET` with the id of its last event, as long
  as somebody waits for the answer. ``retry`` is waited out in full, however long
  [2025-11-25 basic/transports §Sending Messages to the Server] MUST; where the server says nothing, or cannot be
  reached, we wait longer each time, up to ``max_reconnect_delay``. Without an event id nothing can be resumed, and
  the request fails with `AnswerLost`. It is never sent again: the server may have worked on it.

In the stateless era there is none of this. Its requests are those that were prepared (`StreamableHttp.prepare`), and
each is a conversation of its own:

- Its head says what its body says: revision, method, names, arguments that the tool wants there; see `headers`.
- A stream that ends before the answer has lost it (`AnswerLost`), for streams are not resumable.
- Who gives a request up closes its stream, and that is what the server hears of it
  [2026-07-28 basic/patterns/cancellation §Transport-Specific Cancellation].
- An error is the answer to it only if it has its id, or none.

`initialize` begins the handshake era on the same transport, so a client may find out by one request which it is.

Reading: a first GET that is answered 404 means that there is no such stream, not that the session has ended; the
next `POST` will tell.
"""

import random
from functools import partial
from typing import TYPE_CHECKING, Callable, Mapping, Optional, Sequence, Union

from ... import deadline
from ...deadline import Deadline
from ...errors import (
    AnswerLost, ConnectFailed, HttpStatus, McpError, PeerProtocolError, SessionExpired, TransportError,
)
from ...http11.client.connect import Grip, LetGo
from ...http11.client.connection_pool import Fields
from ...http11.client.response import Reply
from ...limits import DEFAULT, Limits
from ...options import spelt
from ...protocol import envelope
from ...protocol.streamable_http.header_values import is_session_id, media_type
from ...protocol.streamable_http.sse import Parser
from ...revisions import Revision
from ...transports.base import Failed, Received, Transport
from ...transports.exchanges import Outgoing, Unanswered
from .auth_provider import Authorizer, Authorizing
from .base import CITATION, LASTING, HttpChannel, Post, no_answer
from .direct_send import wait_for_whole_reply, is_short
from .headers import ACCEPT, common, fields_of
from .inbox import is_answer

if TYPE_CHECKING:
    import ssl

    from ..http_trace import StreamTrace

EVENTS = "text/event-stream"
_NOT_DIRECT = ("initialize", *LASTING)
"""Requests with more than a single answer: what comes with a handshake, or in a lasting reply."""
_FIRST_DELAY = 0.5
_LASTED = 1.0
"""Seconds after which a connection that brought nothing was not in vain; also how far the shortest wait grows while
connections are."""
_LINGER = 1.0
"""Seconds for a server to end a stream after the answer, which it should; then we do."""
_LATER = (408, 425, 429)
"""Statuses besides 5xx that mean: not now."""


class Trail:
    """What is needed to resume a stream: the last event id, how long to wait, and how often that was in vain."""

    def __init__(self) -> None:
        self.id: Optional[str] = None
        self.retry: Optional[int] = None
        self.tries = 0
        self.begun = False
        self.fruitless = 0
        """Connections in a row that ended at once and brought no message."""
        self.heard = False
        """True once this connection has brought a message."""
        self._since = deadline.clock()

    def begin(self) -> None:
        """The server has answered with a stream; if it says when to come again, coming was not in vain."""
        self.begun, self.heard, self._since = True, False, deadline.clock()
        if self.retry is not None:
            self.tries = 0

    def follow(self, parser: Parser) -> None:
        """Take over what the parser of a connection has seen."""
        if parser.last_id is not None:
            self.id = parser.last_id
        if parser.retry is not None:
            self.retry = parser.retry

    def delay(self, limits: Limits) -> float:
        """Seconds to wait before the next attempt; random within bounds, so that not all clients come at once.

        The server's ``retry`` is kept to, but not below ``min_reconnect_delay``: ``retry: 0`` was a hundred attempts a
        second for ever. That bound doubles, up to a second, while connections end at once and bring no message.
        """
        in_vain = not self.heard and deadline.clock() < self._since + _LASTED
        self.fruitless = self.fruitless + 1 if in_vain else 0
        least = limits.min_reconnect_delay * 2.0 ** min(max(self.fruitless - 1, 0), 20)
        asked = max((self.retry or 0) / 1000.0, min(least, max(_LASTED, limits.min_reconnect_delay)))
        if self.retry is not None and not self.tries:
            return asked
        ours = min(limits.max_reconnect_delay, _FIRST_DELAY * 2.0 ** min(self.tries, 20))
        return max(asked, ours * random.uniform(0.5, 1.0))

    def fields(self) -> Fields:
        """How the next attempt names the place."""
        return (("Last-Event-ID", self.id),) if self.id else ()


class StreamableHttp(HttpChannel):
    """A client's connection to an MCP endpoint; arguments and exceptions as `HttpChannel`.

    ``refusal``: the status with which the server has refused `initialize`, which may mean that it speaks HTTP+SSE.
    """

    mirrors = True

    @spelt
    def __init__(
        self, url: str, *, headers: Optional[Mapping[str, str]] = None, token: Optional[str] = None,
        auth: Union[Authorizing, Authorizer, None] = None, ssl_context: "Optional[ssl.SSLContext]" = None,
        cafile: Optional[str] = None, limits: Limits = DEFAULT,
    ) -> None:
        super().__init__(
            url, headers=headers, token=token, auth=auth, ssl_context=ssl_context, cafile=cafile, limits=limits)
        self._bare = self._added + ACCEPT["POST"]
        self._shaken = False  # the client has agreed on a revision with the server, once and for all
        self._stateless_version: Optional[str] = None  # in the stateless era: the revision of the last request
        self._direct = self.where.scheme == "http" and self._gate.authorizer is None
        self._session: Optional[str] = None
        self._expired = False
        self._listening = Grip()
        self.refusal: Optional[int] = None

    def agreed(self, revision: Revision) -> None:
        """See `ExchangeTransport.agreed`."""
        self._shaken = revision.handshake
        super().agreed(revision)

    def reopen(self) -> Optional[Transport]:
        """See `ExchangeTransport.reopen`."""
        return type(self)(self._url, **self.options) if self._expired else None

    def _conversation(self) -> Fields:
        """[2025-03-26..2025-11-25 basic/transports §Session Management] MUST: the session's id on every request."""
        fields = super()._conversation()
        return fields if self._session is None else (*fields, ("Mcp-Session-Id", self._session))

    # Requests without a session

    def prepare(self, message: Outgoing) -> None:
        """See `ExchangeTransport.prepare`."""
        params = message.params
        if params is None or self._shaken or not envelope.carries(params):
            return  # it belongs to a session
        message.fields = self._bare + fields_of(message.method, params, self.annotations)
        self._stateless_version = params["_meta"][envelope.VERSION]

    def _own_fields(self, message: Outgoing) -> Optional[Fields]:
        """See `HttpChannel._own_fields`; a request that was given up before it could be sent is not sent."""
        if message.method == "initialize":
            self._stateless_version = None
        if self._stateless_version is None:
            return ()
        if message.fields is None:
            return self._bare + common(self._stateless_version, message.method)
        return None if message.given_up else message.fields

    # Requests

    def send_and_wait(self, message: Outgoing, until: Deadline, take: Callable[[bytes], bool]) -> bool:
        """See `ExchangeTransport.send_and_wait`, and `direct_send`."""
        if not (self._direct and is_short(message)) or message.method in _NOT_DIRECT or not self._crew.take_place():
            return False
        post: Optional[Post] = None
        begun: Optional[Reply] = None
        rest: Optional[Callable[[], object]] = None
        try:
            # One hold of the lock: either the connection ends before, and the request is left to `send`, which says so;
            # or `_end` finds a request that has begun, and does not call it `unsent`.
            with self._lock:
                if self._closed or self._why or self._after_initialized is not None or message.id is None:
                    return False
                if message.given_up:
                    return True
                fields = self._own_fields(message) or ()
                post = self._posts[message.id] = Post(message.id, message, fields, begun=True)
            begun = self._pool.begin("POST", self._target, fields or self._fields("POST"), post.grip, post.data)
            if begun is not None and wait_for_whole_reply(begun, until):
                rest = self._run_post(post, begun, take)
            else:
                rest = partial(self._run_post, post, begun)
        except BaseException:
            if post is not None:
                post.grip.let_go()  # nobody waits for it, and it may have been sent
                rest = partial(self._run_post, post, begun)
            raise
        finally:
            self._crew.leave_place(rest)
        return True

    def _perform(self, post: Post, begun: Optional[Reply] = None) -> Sequence[Received]:
        session = None if post.fields else self._session
        reply = self._exchange("POST", post.data, post.grip, post.fields, begun=begun)
        try:
            if reply.status == 404 and (session is not None or self._expired):  # by this request, or another just now
                raise self._expire()
            if post.method == "initialize":
                self._take_session(reply)
            self._check(reply, post)
            kind = media_type(reply.headers.get("content-type"))
            if kind == "application/json":
                return (reply.whole(self.limits.max_message_bytes),)
            if kind == EVENTS:
                self._follow(post, reply)
                return (Unanswered(post.id, partial(no_answer, post.method)),)
            text = "%s answered %s with %d and content type %.80r"
            raise PeerProtocolError(text % (self._shown, post.method, reply.status, kind), CITATION)
        except SessionExpired as error:
            self._inbox.put(Failed(post.id, error))
            self._end(str(error))
            return ()
        finally:
            self._pool.finish(reply, post.grip)

    def _take_session(self, reply: Reply) -> None:
        if not 200 <= reply.status < 300:
            self.refusal = reply.status
            return
        session = reply.headers.get("mcp-session-id")
        if session is not None and not is_session_id(session):
            raise PeerProtocolError("the session id is not visible ASCII, or too long",
                                    "2025-03-26..2025-11-25 basic/transports §Session Management")
        self._session = session
        self._made_fields = {}

    def _expire(self) -> SessionExpired:
        self._session, self._expired = None, True
        return SessionExpired("%s does not know the session any more (404)" % self._shown)

    def _follow(self, post: Post, reply: Reply) -> None:
        """Read the stream of a request up to its answer, over as many connections as that takes.

        Raises `AnswerLost`; without a session one connection is all there is.
        """
        trail = Trail()
        while True:
            lost = self._events(reply, trail, post)
            self._pool.finish(reply, post.grip)
            if lost is None:
                return
            if post.fields:
                raise lost
            reply = self._resume(trail, post.grip, lost)

    def _events(self, reply: Reply, trail: Trail, post: Optional[Post]) -> Optional[AnswerLost]:
        """Read one connection to its end. None: the answer to ``post`` was there; else why it was not."""
        if self.http_trace is None:
            return self._read_events(reply, trail, post, None)
        stream = self.http_trace.stream("GET" if post is None else post.method)
        try:
            lost = self._read_events(reply, trail, post, stream)
        except BaseException as error:
            stream.closed(str(error))
            raise
        stream.closed("" if lost is None else str(lost))
        return lost

    def _read_events(
        self, reply: Reply, trail: Trail, post: Optional[Post], seen: "Optional[StreamTrace]"
    ) -> Optional[AnswerLost]:
        parser = Parser(self.limits.max_message_bytes)
        answered = False
        while True:
            try:
                piece = reply.piece()
                events = parser.feed(piece)
            except AnswerLost as error:
                return None if answered else error
            except ValueError as error:
                raise TransportError("%s: %s" % (self._shown, error)) from None
            if not piece:
                return None if answered else AnswerLost("the stream of %s ended before the answer" % self._shown)
            trail.follow(parser)
            if seen is not None:
                seen.events(events, parser.retry)
            for event in events:
                trail.tries = 0
                if event.event != "message" or not event.data:
                    continue  # one without data only names the place
                trail.heard = True
                self._inbox.put(event.data)
                if post is not None and not answered and is_answer(event.data, self.limits):
                    answered = True
                    reply.link.sock.settimeout(_LINGER)

    def _resume(self, trail: Trail, grip: Grip, lost: AnswerLost) -> Reply:
        """Ask for the rest of a stream until there is one. Raises `AnswerLost` where the server will not, `LetGo`.

        [2025-03-26..2025-11-25 basic/transports §Resumability and Redelivery] SHOULD
        """
        while trail.id:
            grip.pause(trail.delay(self.limits))
            trail.tries += 1
            try:
                reply = self._exchange("GET", None, grip, self._fields("GET") + trail.fields())
            except (ConnectFailed, AnswerLost) as error:
                self._note("stream not resumed yet", str(error))
                continue
            if _is_stream(reply):
                trail.begin()
                return reply
            try:
                if reply.status == 404 and self._session is not None:
                    raise self._expire()
                if reply.status < 500 and reply.status not in _LATER:
                    text = "%s, and the server does not resume it: %d %s"
                    raise AnswerLost(text % (lost, reply.status, reply.reason))
            finally:
                self._pool.finish(reply, grip)
        raise AnswerLost("%s, and it had no event id to resume it by" % lost)

    # The stream of the server

    def _initialized(self) -> None:
        """Ask for the stream before the requests that wait go out, so that it hears what they set off."""
        begun = self._begin_listening()
        super()._initialized()
        if not self._crew.submit(lambda: self._listen(begun), urgent=True) and begun is not None:
            self._pool.finish(begun, self._listening)

    def _begin_listening(self) -> Optional[Reply]:
        """See `Pool.begin`."""
        try:
            given = self._gate.fields("GET", self.where.origin + self._target, self._listening)
        except McpError:
            return None  # which `_listen` will come upon, too
        begun = self._pool.begin("GET", self._target, self._fields("GET") + given, self._listening)
        if begun is not None:
            begun.given = given
        return begun

    def _listen(self, begun: Optional[Reply]) -> None:
        """Hold the standalone stream open as long as the server has one, one connection after the other.

        [2025-03-26..2025-11-25 basic/transports §Listening for Messages from the Server] MAY
        """
        trail, grip = Trail(), self._listening
        try:
            while self._listen_once(trail, grip, begun):
                begun = None
                grip.pause(trail.delay(self.limits))
                trail.tries += 1
        except LetGo:
            pass
        except SessionExpired as error:
            self._end(str(error))
        except McpError as error:
            self._note("no stream", "the server's own messages are not heard any more: %s" % error)

    def _listen_once(self, trail: Trail, grip: Grip, begun: Optional[Reply]) -> bool:
        """One connection; whether to try another one.

        Nobody has asked for this stream, so a person is asked once at most: what it takes to go on with it later on
        comes by the requests.
        """
        try:
            fields = self._fields("GET") + trail.fields()
            reply = self._exchange("GET", None, grip, fields, begun=begun, ask=not trail.begun)
        except (ConnectFailed, AnswerLost):
            return True
        try:
            if _is_stream(reply):
                trail.begin()
                self._events(reply, trail, None)
                return True
            if reply.status == 404 and trail.begun and self._session is not None:
                raise self._expire()
            if reply.status == 405:
                return False
            lapsed = reply.status == 401 and trail.begun and self._gate.authorizer is not None
            if reply.status >= 500 or reply.status in _LATER or lapsed:
                return True
            raise HttpStatus("GET %s answered %d %s" % (self._shown, reply.status, reply.reason), reply.status)
        finally:
            self._pool.finish(reply, grip)

    def _stop_listening(self) -> None:
        self._listening.let_go()

    def _farewell(self, grip: Grip) -> None:
        """End the session, which a server may refuse
        [2025-03-26..2025-11-25 basic/transports §Session Management] SHOULD."""
        if self._session is None:
            return
        reply = self._exchange("DELETE", None, grip, timeout=self.limits.shutdown_grace, ask=False)
        self._pool.finish(reply, grip)
        if reply.status >= 400 and reply.status not in (404, 405):
            self._note("session not ended", "DELETE was answered %d %s" % (reply.status, reply.reason))

    def _deliver(self, method: str, data: bytes, fields: Fields) -> None:
        session = None if fields else self._session
        try:
            super()._deliver(method, data, fields)
        except HttpStatus as error:
            if error.status != 404 or session is None:
                raise
            self._end(str(self._expire()))


def _is_stream(reply: Reply) -> bool:
    return reply.status == 200 and media_type(reply.headers.get("content-type")) == EVENTS
