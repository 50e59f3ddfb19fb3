"""The client's side of Streamable HTTP [2025-03-26..2025-11-25 basic/transports §Streamable HTTP]
[2026-07-28 basic/transports/streamable-http §Sending Messages].

`StreamableHttp` sends each message as a `POST` (see `base`) and takes the answer as JSON or as a stream of
events. What the handshake revisions add to that:

- The session: its id comes with the answer to `initialize`, goes with everything after that, and is given back by a
  `DELETE` when the transport is closed. If the server does not know it any more (404), that request fails with
  `SessionExpired`, and the connection is over: `reopen` makes the next one, see `mcp_ref.client.client`.
- The stream for messages of the server that belong to no request: a `GET` after ``notifications/initialized``, and
another one whenever
  it ends. A server that has none answers 405.
- Resuming: a stream that ends before its answer is asked for again by `GET` with the id of its last event, as long
  as somebody waits for the answer. ``retry`` is waited out in full, however long
  [2025-11-25 basic/transports §Sending Messages to the Server] MUST; where the server says nothing, or cannot be
  reached, we wait longer each time, up to ``max_reconnect_delay``. Without an event id nothing can be resumed, and
  the request fails with `AnswerLost`. It is never sent again: the server may have worked on it.

In the stateless era there is none of this. Its requests are those that were prepared (`StreamableHttp.prepare`), and
each is a conversation of its own:

- Its head says what its body says: revision, method, names, arguments that the tool wants there; see `posts`.
- A stream that ends before the answer has lost it (`AnswerLost`), for streams are not resumable.
- A request that is given up has its stream closed, which is all that the server hears of it
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
    AnswerLost, ConnectFailed, HttpStatus, McpError, PeerError, PeerProtocolError, SessionExpired, TransportError,
)
from ...http11.client.connect import Abandoned, CancelScope
from ...http11.client.connection_pool import Fields
from ...http11.client.response import Reply
from ...limits import DEFAULT, Limits
from ...methods import INITIALIZE
from ...options import strict_options
from ...protocol import envelope
from ...protocol.streamable_http.header_values import SseParser, is_session_id, media_type
from ...revisions import Revision
from ...transports.base import Failed, Outgoing, Received, Transport
from .auth_provider import Authorizer, Authorizing
from .base import ERROR_BODY, LASTING, HttpChannel
from .posts import ACCEPT, SHORT, Post, common, excerpt, fields_of, is_answer, unusable, wait_for_whole_reply

if TYPE_CHECKING:
    import ssl

EVENTS = "text/event-stream"
_NOT_DIRECT = (INITIALIZE, *LASTING)
"""The requests with more than a single answer: a handshake's, and those with a lasting reply."""
_FIRST_DELAY = 0.5
_LASTED = 1.0
"""The seconds after which a connection that brought nothing was not in vain; also the bound to which the shortest wait
grows while connections are in vain."""
_LINGER = 1.0
"""The seconds for a server to end a stream after the answer, which it should; then we do."""
_GONE = (404, 410)
"""The statuses that end a session. Reading: the page has 404; some servers say 410, or 400 with words about it."""
_LATER = (408, 425, 429)
"""The statuses besides 5xx that mean: not now."""


class Trail:
    """The state that is needed to resume a stream: the last event id, the time to wait, the attempts in vain."""

    def __init__(self) -> None:
        self.id: Optional[str] = None
        self.retry: Optional[int] = None
        self.tries = 0
        self.begun = False
        self.fruitless = 0
        """The number of connections in a row that ended at once and brought no message."""
        self.heard = False
        """True once this connection has brought a message."""
        self._since = deadline.clock()

    def begin(self) -> None:
        """Note that the server has answered with a stream; if it says when to come again, attempts were not in vain."""
        self.begun, self.heard, self._since = True, False, deadline.clock()
        if self.retry is not None:
            self.tries = 0

    def follow(self, parser: SseParser) -> None:
        """Take over the event id and ``retry`` that the parser of a connection has seen."""
        if parser.last_id is not None:
            self.id = parser.last_id
        if parser.retry is not None:
            self.retry = parser.retry

    def delay(self, limits: Limits) -> float:
        """Return the seconds to wait before the next attempt; random within bounds, so that not all clients come at
        once.

        The server's ``retry`` is kept to, but not below ``min_reconnect_delay``: ``retry: 0`` was a hundred attempts a
        second for ever. That bound doubles, up to a second, while connections end at once and bring no message.
        """
        in_vain = not self.heard and deadline.clock() < self._since + _LASTED
        self.fruitless = self.fruitless + 1 if in_vain else 0
        least = deadline.backoff(
            limits.min_reconnect_delay, max(self.fruitless, 1), max(_LASTED, limits.min_reconnect_delay))
        asked = max((self.retry or 0) / 1000.0, least)
        if self.retry is not None and not self.tries:
            return asked
        ours = deadline.backoff(_FIRST_DELAY, self.tries + 1, limits.max_reconnect_delay)
        return max(asked, ours * random.uniform(0.5, 1.0))

    def fields(self) -> Fields:
        """Return the header field by which the next attempt names the last event."""
        return (("Last-Event-ID", self.id),) if self.id else ()


class StreamableHttp(HttpChannel):
    """A client's connection to an MCP endpoint; arguments and exceptions as `HttpChannel`.

    ``refusal``: the status with which the server has refused `initialize`, which may mean that it speaks HTTP+SSE.
    """

    mirrors = True

    @strict_options
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
        self._listening = CancelScope()
        self.refusal: Optional[int] = None

    def agreed(self, revision: Revision) -> None:
        """Note the revision; after a handshake every request belongs to the session."""
        self._shaken = revision.handshake
        super().agreed(revision)

    def reopen(self) -> Optional[Transport]:
        """Return another transport to the same server, if the session has expired."""
        return self.renew() if self._expired else None

    def _conversation(self) -> Fields:
        """Put the session's id on every request [2025-03-26..2025-11-25 basic/transports §Session Management] MUST."""
        fields = super()._conversation()
        return fields if self._session is None else (*fields, ("Mcp-Session-Id", self._session))

    # Requests without a session

    def prepare(self, message: Outgoing) -> None:
        """Make the header fields of a stateless request."""
        params = message.params
        if params is None or self._shaken or not envelope.carries(params):
            return  # it belongs to a session
        message.fields = self._bare + fields_of(message.method, params, self.annotations, self.named)
        self._stateless_version = params["_meta"][envelope.VERSION]

    def _own_fields(self, message: Outgoing) -> Optional[Fields]:
        """Return all header fields of a stateless message; None if its request was given up before it could be sent."""
        if message.method == INITIALIZE:
            self._stateless_version = None
        if self._stateless_version is None:
            return ()
        if message.fields is None:
            return self._bare + common(self._stateless_version, message.method)
        return None if message.given_up else message.fields

    # Requests

    def send_and_wait(self, message: Outgoing, until: Deadline, take: Callable[[bytes], bool]) -> bool:
        """Send a small request on the calling thread and wait for its reply; see `posts` for the terms."""
        if not self._direct or len(message.data) > SHORT or message.method in _NOT_DIRECT:
            return False
        if not self._threads.acquire_slot():
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
            fields = fields or self._fields("POST")
            if self.http_trace is not None:
                post.seen = self.http_trace.request("POST", self._target, fields, post.data, self.where.origin)
            begun = self._pool.begin("POST", self._target, fields, post.cancel_scope, post.data)
            if begun is not None and wait_for_whole_reply(begun, until):
                rest = self._run_post(post, begun, take)
            else:
                rest = partial(self._run_post, post, begun)
        except BaseException:
            if post is not None:
                post.cancel_scope.cancel()  # nobody waits for it, and it may have been sent
                rest = partial(self._run_post, post, begun)
            raise
        finally:
            self._threads.release_slot(rest)
        return True

    def _perform(self, post: Post, begun: Optional[Reply] = None) -> Sequence[Received]:
        session = None if post.fields else self._session
        reply = self._exchange("POST", post.data, post.cancel_scope, post.fields, begun=begun, seen=post.seen,
                               message=post.message)
        post.reply = reply
        try:
            if reply.status in _GONE and (session is not None or self._expired):  # by this request, or another just now
                raise self._expire(reply.status)
            if post.method == INITIALIZE:
                self._take_session(reply)
            try:
                self._check(reply, post)
            except (HttpStatus, PeerError) as error:
                if reply.status == 400 and session is not None and "session" in str(error).lower():
                    raise self._expire(400) from None
                raise
            kind = media_type(reply.headers.lower("content-type"))
            if kind == "application/json":
                post.came = reply.whole(self.limits.max_message_bytes)
                return (post.came,)
            if kind == EVENTS:
                self._follow(post, reply)
                return (self._unanswered(post),)
            what = " and content type %.80r" % kind if kind else " and no content type"
            raise unusable(post, self._shown, self._sent(post), what, reply.whole(ERROR_BODY))
        except SessionExpired as error:
            self._inbox.put(Failed(post.id, error))
            self._end(str(error))
            return ()
        finally:
            self._pool.finish(reply, post.cancel_scope)

    def _take_session(self, reply: Reply) -> None:
        if not 200 <= reply.status < 300:
            self.refusal = reply.status
            return
        session = reply.headers.get("mcp-session-id")
        if session is not None and not is_session_id(session):
            raise PeerProtocolError("the session id is not visible ASCII",
                                    "2025-03-26..2025-11-25 basic/transports §Session Management")
        self._session = session
        self._made_fields = {}

    def _expire(self, status: int) -> SessionExpired:
        self._session, self._expired = None, True
        return SessionExpired("%s does not know the session any more (%d)" % (self._shown, status))

    def _follow(self, post: Post, reply: Reply) -> None:
        """Read the stream of a request up to its answer, over as many connections as that takes.

        Raises `AnswerLost`; without a session one connection is all there is.
        """
        trail = Trail()
        while True:
            lost = self._events(reply, trail, post)
            self._pool.finish(reply, post.cancel_scope)
            if lost is None:
                return
            if post.fields:
                raise lost
            reply = self._resume(trail, post.cancel_scope, lost)

    def _events(self, reply: Reply, trail: Trail, post: Optional[Post]) -> Optional[AnswerLost]:
        """Read one connection to its end. Returns None if the answer to ``post`` was there, else why it was not."""
        parser = SseParser(self.limits.max_message_bytes)
        began, heard = b"", False
        linger: Optional[Deadline] = None  # once the answer was there; a server that goes on is left all the same
        while linger is None or not linger.expired():
            try:
                piece = reply.piece()
                events = parser.feed(piece)
            except AnswerLost as error:
                return None if linger is not None else error
            except ValueError as error:
                raise TransportError("%s: %s" % (self._shown, error)) from None
            if not piece and linger is None:
                odd = "" if heard or post is None or not began else ", and began with no event: " + excerpt(
                    began, self._sent(post))
                return AnswerLost("the stream of %s ended before the answer%s" % (self._shown, odd))
            if not piece:
                return None
            began, heard = began or piece, heard or bool(events)
            trail.follow(parser)
            for event in events:
                trail.tries = 0
                if event.event != "message" or not event.data:
                    continue  # one without data only names the place
                trail.heard = True
                self._inbox.put(event.data)
                if post is not None:
                    post.came = event.data
                if post is not None and linger is None and is_answer(event.data, self.limits):
                    linger = Deadline(_LINGER)
                    reply.link.sock.settimeout(_LINGER)
        return None

    def _resume(self, trail: Trail, cancel_scope: CancelScope, lost: AnswerLost) -> Reply:
        """Ask for the rest of a stream until the server gives it. Raises `AnswerLost` if it will not, `Abandoned`.

        [2025-03-26..2025-11-25 basic/transports §Resumability and Redelivery] SHOULD
        """
        while trail.id:
            cancel_scope.pause(trail.delay(self.limits))
            trail.tries += 1
            try:
                reply = self._exchange("GET", None, cancel_scope, self._fields("GET") + trail.fields())
            except (ConnectFailed, AnswerLost) as error:
                self._note("stream not resumed yet", str(error))
                continue
            if _is_stream(reply):
                trail.begin()
                return reply
            try:
                if reply.status in _GONE and self._session is not None:
                    raise self._expire(reply.status)
                if reply.status < 500 and reply.status not in _LATER:
                    text = "%s, and the server does not resume it: %d %s"
                    raise AnswerLost(text % (lost, reply.status, reply.reason))
            finally:
                self._pool.finish(reply, cancel_scope)
        raise AnswerLost("%s, and it had no event id to resume it by" % lost)

    # The stream of the server

    def _initialized(self) -> None:
        """Ask for the stream before the requests that wait go out, so that messages which these set off come on it."""
        begun = self._begin_listening()
        super()._initialized()
        if not self._threads.submit(lambda: self._listen(begun), urgent=True) and begun is not None:
            self._pool.finish(begun, self._listening)

    def _begin_listening(self) -> Optional[Reply]:
        """Send the first GET, if that needs no waiting. Returns the reply that is to come, or None."""
        try:
            given = self._gate.fields("GET", self.where.origin + self._target, self._listening)
        except McpError:
            return None  # which `_listen` will come upon, too
        begun = self._pool.begin("GET", self._target, self._fields("GET") + given, self._listening)
        if begun is not None:
            begun.given = given
        return begun

    def _listen(self, begun: Optional[Reply]) -> None:
        """Keep the standalone stream open as long as the server has one, one connection after the other.

        [2025-03-26..2025-11-25 basic/transports §Listening for Messages from the Server] MAY
        """
        trail, cancel_scope = Trail(), self._listening
        try:
            while self._listen_once(trail, cancel_scope, begun):
                begun = None
                cancel_scope.pause(trail.delay(self.limits))
                trail.tries += 1
        except Abandoned:
            pass
        except SessionExpired as error:
            self._end(str(error))
        except McpError as error:
            self._note("no stream", "the server's own messages are not heard any more: %s" % error)

    def _listen_once(self, trail: Trail, cancel_scope: CancelScope, begun: Optional[Reply]) -> bool:
        """Read one connection of the standalone stream. Returns True if another one is to be tried.

        No caller has asked for this stream, so a person is asked to authorize it once at most: later on the
        authorization of requests serves the stream, too.
        """
        try:
            fields = self._fields("GET") + trail.fields()
            reply = self._exchange("GET", None, cancel_scope, fields, begun=begun, ask=not trail.begun)
        except (ConnectFailed, AnswerLost):
            return True
        try:
            if _is_stream(reply):
                trail.begin()
                self._events(reply, trail, None)
                return True
            if reply.status in _GONE and trail.begun and self._session is not None:
                raise self._expire(reply.status)
            if reply.status == 405:
                return False
            lapsed = reply.status == 401 and trail.begun and self._gate.authorizer is not None
            if reply.status >= 500 or reply.status in _LATER or lapsed:
                return True
            raise HttpStatus("GET %s answered %d %s" % (self._shown, reply.status, reply.reason), reply.status)
        finally:
            self._pool.finish(reply, cancel_scope)

    def _stop_listening(self) -> None:
        self._listening.cancel()

    def _farewell(self, cancel_scope: CancelScope) -> None:
        """End the session, which a server may refuse
        [2025-03-26..2025-11-25 basic/transports §Session Management] SHOULD."""
        if self._session is None:
            return
        reply = self._exchange("DELETE", None, cancel_scope, timeout=self.limits.shutdown_grace, ask=False)
        self._pool.finish(reply, cancel_scope)
        if reply.status >= 400 and reply.status not in (404, 405):
            self._note("session not ended", "DELETE was answered %d %s" % (reply.status, reply.reason))

    def _deliver(self, method: str, data: bytes, fields: Fields) -> None:
        session = None if fields else self._session
        try:
            super()._deliver(method, data, fields)
        except HttpStatus as error:
            if error.status not in _GONE or session is None:
                raise
            self._end(str(self._expire(error.status)))


def _is_stream(reply: Reply) -> bool:
    return reply.status == 200 and media_type(reply.headers.get("content-type")) == EVENTS
