"""The common base of the two HTTP transports of a client.

Every message is a `POST` of its own. Requests go out side by side, each on a thread that then reads its answer: one of
the thread pool, or for small calls the one that waits for it (`posts`).
Notifications and answers to the server go out one after the other, in their order, each when the one before was
accepted; and what follows ``notifications/initialized`` waits until that was accepted. What arrives, on whatever
stream, comes out of `HttpChannel.read` in one queue, which is bounded by bytes.

=======================  ================================================  ==============================
thread                   blocks on                                         freed by
=======================  ================================================  ==============================
``mcp-ref:request:*``    connecting, sending, receiving; room in the       the server; close; the end of
                         queue; the time before a stream is resumed        its request (`given_up`)
the connection's reader  the queue; after close, the farewell              a message; close; the grace
a thread that calls      the first byte of the reply to what it has sent   the server; close; the end of
                                                                           its request, or of its time
=======================  ================================================  ==============================

An HTTP request that fails is the failure of the one message it carried. Errors are `HttpStatus`, `AnswerLost`,
`ConnectFailed`, or `PeerError` if the reply holds a JSON-RPC error.

``headers`` of the caller and ``token`` go to the server's own origin only, for nothing is ever sent to another one:
redirects are followed within the origin, and they stay out of logs and error texts.
"""

import threading
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, FrozenSet, List, Mapping, Optional, Sequence, Tuple, Union

from ...diagnostics.packagelog import Counters, get_logger, is_told
from ...errors import AnswerLost, ConnectionLost, HttpStatus, McpError, TransportError
from ...http11.client.connect import Abandoned, CancelScope, Connector, server_url, server_url_from
from ...http11.client.connection_pool import ConnectionPool, Fields, RequestPool, Stale
from ...http11.client.response import Reply
from ...jsonrpc import RequestId
from ...limits import DEFAULT, Limits
from ...methods import CANCELLED, INITIALIZED, LISTEN
from ...revisions import Revision
from ...transports.base import ExchangeTransport, Failed, Outgoing, Received, Unanswered
from ...transports.lines.fds import FORKED, tell_of_fork
from .auth_provider import AuthBoundary, AuthRefusal, Authorizer, Authorizing
from .posts import ACCEPT, CAPACITY, Inbox, Post, added, no_answer, refused

if TYPE_CHECKING:
    import ssl

    from ...wiretrace import Trace
    from ..http_trace import ExchangeTrace, HttpTrace

_MOST_REDIRECTS = 5
_REDIRECTS = {"POST": (307, 308), "GET": (301, 302, 303, 307, 308), "DELETE": (307, 308)}
"""The statuses that redirect a request unchanged; the others would make a GET of a POST [RFC 9110 §15.4]."""
ERROR_BODY = 64 * 1024
LASTING = (LISTEN,)
"""The requests whose answer comes at the end of a long stream: like the streams of GET they do not count against
``max_http_requests``."""


class HttpChannel(ExchangeTransport):
    """Base of the two; a subclass sends a `POST` and handles the reply in `_perform`.

    ``headers``: more header fields for every request; ``token``: sent as ``Authorization: Bearer``; or ``auth``, what
    gets tokens and sends them: see `auth_provider`. ``ssl_context``, or ``cafile`` with certificates to trust: see
    `mcp_ref.http11.client.connect`. Raises `ConnectFailed` for a URL that is none, ValueError for a header that cannot
    be sent.
    """

    name = "http"
    http_trace: "Optional[HttpTrace]" = None
    """The trace of exchanges and streams; None: there is none."""

    def __init__(
        self, url: str, *, headers: Optional[Mapping[str, str]] = None, token: Optional[str] = None,
        auth: Union[Authorizing, Authorizer, None] = None, ssl_context: "Optional[ssl.SSLContext]" = None,
        cafile: Optional[str] = None, limits: Limits = DEFAULT,
    ) -> None:
        if auth is not None and (token is not None or "authorization" in map(str.lower, headers or ())):
            raise ValueError("auth=... sends the field Authorization itself: no token=... and no such header besides")
        self.where = server_url(url)
        self._gate = AuthBoundary(auth, self.where.url, ssl_context, cafile, limits)
        self.options: Dict[str, Any] = dict(
            headers=headers, token=token, auth=self._gate.authorizer, ssl_context=ssl_context, cafile=cafile,
            limits=limits)
        """The keyword arguments for another transport to the same server."""
        self._url = url
        self.limits = limits
        self.origin = self.where.origin
        self.address = self.where.url
        self._target = self.where.target
        self._added = (("Host", self.where.authority), ("Accept-Encoding", "identity"), *added(headers or {}, token))
        self._dialler = Connector(self.where, limits.connect_timeout, ssl_context, cafile)
        self._pool = ConnectionPool(self._dialler, limits.http_keep_alive)
        self._threads = RequestPool(self.where.authority, limits.max_http_requests, self._pool.prune)
        self._inbox = Inbox()
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)
        self._waiting = 0  # bytes of messages that no thread has taken up
        self._posts: Dict[RequestId, Post] = {}
        self._under_way: FrozenSet[RequestId] = frozenset()  # when the connection ended
        self._after_initialized: Optional[List[Post]] = None  # requests that wait for `initialized` to be accepted
        self._lane: Deque[Tuple[str, bytes, Fields]] = deque()
        self._in_lane = False  # whether a thread is at it
        self._lane_empty = threading.Event()
        self._lane_empty.set()
        self._cancel_scope = CancelScope()  # connecting, the lane, streams: what belongs to no request
        self._version: Optional[str] = None
        self._agreed: Optional[str] = None
        self._made_fields: Dict[str, Fields] = {}
        self._why = ""
        self._closed = False
        self._left = threading.Event()
        self._counts = Counters()
        tell_of_fork(self)

    def show_http(self, trace: "Trace", connection: str = "") -> None:
        """Tell a trace of exchanges, and of the messages in them, from now on; to be called before `open`."""
        from ..http_trace import HttpTrace

        self.http_trace = HttpTrace(trace, connection)
        if self._gate.authorizer is not None:
            self._gate.authorizer.show_http(self.http_trace)

    # The promises of a transport

    def renew(self) -> "HttpChannel":
        """Return another transport to the same server, not open yet."""
        return type(self)(self._url, **self.options)

    def open(self) -> None:
        """Make a first connection, and send nothing on it."""
        self._pool.connect(self._cancel_scope)

    def read(self) -> Optional[List[Received]]:
        """Return the messages that have come; after `close`, wait for the farewell to be sent."""
        items = self._inbox.take()
        if not items and self._closed:
            self._left.wait(2 * self.limits.shutdown_grace)
        return items or None

    def send(self, messages: Sequence[Outgoing]) -> None:
        """Hand messages over to other threads. Waits only while more than CAPACITY bytes wait there."""
        for message in messages:
            self._enter(message)

    def _enter(self, message: Outgoing) -> None:
        with self._lock:
            while self._waiting and self._waiting + len(message) > CAPACITY and not self._closed:
                self._room.wait()
            if self._closed or self._why:
                raise ConnectionLost(self.reason())
            fields = self._own_fields(message)
            if fields is None:
                return
            # Requests go out side by side. All other messages keep their order, in the lane, which one thread at a time
            # empties. What follows `notifications/initialized` waits until the server has accepted that: requests are
            # collected in `_after_initialized` (`_initialized` sends them), and the lane keeps its order anyway.
            self._waiting += len(message)
            post = None
            begin = False
            if message.id is not None:
                post = self._posts[message.id] = Post(message.id, message, fields)
                if self._after_initialized is not None:
                    self._after_initialized.append(post)
                    return
            else:
                if message.method == INITIALIZED:
                    self._after_initialized = []
                self._lane.append((message.method, message.data, fields))
                begin, self._in_lane = not self._in_lane, True
                self._lane_empty.clear()
        if post is not None:
            self._begin(post)
        elif begin:
            self._threads.submit(self._run_lane, urgent=True)  # or the server may wait for what all the others wait for

    def _own_fields(self, message: Outgoing) -> Optional[Fields]:
        """Return all header fields of this message. Called under the lock.

        (): those of every message now. None: do not send it.
        """
        return ()

    def ready(self, size: int) -> bool:
        """Return True if so many bytes fit into what may wait for threads."""
        return not self._waiting or self._waiting + size <= CAPACITY

    def agreed(self, revision: Revision) -> None:
        """Name this revision in every request from now on
        [2025-06-18..2025-11-25 basic/transports §Protocol Version Header] MUST."""
        self._agreed = revision.name
        self._version = revision.name if revision.version_header else None
        self._made_fields = {}

    def given_up(self, id: RequestId) -> None:
        """End the stream of this request, and attempts to resume it."""
        with self._lock:
            post = self._posts.get(id)
        if post is not None:
            post.cancel_scope.cancel()

    def unsent(self, id: RequestId) -> bool:
        """Return True if the connection has ended before a thread took up our request of this id."""
        return bool(self._why) and id not in self._under_way

    def close(self) -> None:
        """End all requests. Messages that wait for delivery, and a farewell, may take the grace."""
        with self._lock:
            first, self._closed = not self._closed, True
            posts = list(self._posts.values())
            self._room.notify_all()
        if not first:
            return
        self._inbox.end(drop=True)
        for post in posts:
            post.cancel_scope.cancel()
        self._stop_listening()
        try:
            leaving = self._threads.submit(self._leave, urgent=True) and self._threads.submit(self._hurry, urgent=True)
        except RuntimeError:  # the interpreter ends, and starts no threads
            leaving = False
        if not leaving:
            self._shut()

    def forked(self) -> None:
        """End, for this is a forked copy of the process whose conversation it is: the server hears nothing, no
        farewell.

        Called as `tell_of_fork` says. The session belongs to the other process, and so do the ids of its requests.
        """
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)
        self._why, self._closed = self._why or FORKED, True
        self._left.set()

    def reason(self) -> str:
        """Return why the connection ended."""
        return self._why or "the connection was closed"

    def counters(self) -> Dict[str, int]:
        """Return counts: ``undelivered``, notifications and answers that the server did not take; and other
        failures."""
        return self._counts.snapshot()

    # The end

    def _end(self, why: str) -> None:
        """End the connection, not by `close`; messages that have arrived are still read."""
        self._inbox.end(drop=False)  # before a writer can notice and close, which drops what it finds
        # Under the lock it is settled which requests may have reached the server: those that a thread has taken up. One
        # that is taken up later finds `_why` and is not sent, for by then it is said to be `unsent`.
        with self._lock:
            if not self._closed:
                self._why = self._why or why
            posts = list(self._posts.values())
            self._under_way |= {post.id for post in posts if post.begun}
            self._room.notify_all()
        for post in posts:
            post.cancel_scope.cancel()

    def _leave(self) -> None:
        """Deliver the messages in the lane, say farewell, free everything."""
        try:
            self._lane_empty.wait(self.limits.shutdown_grace / 2)
            if not self._cancel_scope.gone:
                self._farewell(self._cancel_scope)
        except McpError as error:
            self._note("no farewell", str(error))
        finally:
            self._shut()

    def _hurry(self) -> None:
        """Cut `_leave` short after the grace."""
        if not self._left.wait(self.limits.shutdown_grace):
            self._cancel_scope.cancel()

    def _shut(self) -> None:
        self._left.set()
        self._cancel_scope.cancel()
        self._pool.close()
        self._threads.close()

    def _stop_listening(self) -> None:
        """End the streams that belong to no request."""

    def _farewell(self, cancel_scope: CancelScope) -> None:
        """Tell the server that this was all."""

    # Requests

    def _begin(self, post: Post) -> None:
        if not self._threads.submit(lambda: self._run_post(post), urgent=post.method in LASTING):
            self._inbox.put(Failed(post.id, ConnectionLost(self.reason())))

    def _run_post(
        self, post: Post, begun: Optional[Reply] = None, take: Optional[Callable[[bytes], bool]] = None,
    ) -> Optional[Callable[[], object]]:
        """Send a request, unless that was ``begun``, and process its reply.

        With ``take``, offer it the answer first. If it declines, return a callable that queues the answer, which may
        have to wait.
        """
        if not post.begun:
            post.begun = True
            self._taken_up(post.data)
        if self._gate.authorizer is not None:
            post.cancel_scope.on_pause = partial(self._pause_clock, post.id)
        last: Sequence[Received] = ()
        try:
            if not post.cancel_scope.gone and not self._why:
                last = self._perform(post, begun)
            else:
                if begun is not None:
                    self._pool.finish(begun, post.cancel_scope)
                if post.seen is not None:
                    post.seen.end("client", False, "given up")
        except Abandoned:
            pass  # nobody waits for it
        except McpError as error:
            last = (Failed(post.id, error),)
        except Exception as error:
            get_logger(__name__).exception("%s", self.name)
            last = (Failed(post.id, TransportError("%s: %r" % (self.name, error))),)
        if take is not None:
            # The answer may be taken here only if nothing came before it that the reader has not read.
            if not (last and self._inbox.quiet and isinstance(last[0], bytes) and take(last[0])):
                return partial(self._hand_in, post, last)  # there may be no room
            last = ()
        self._hand_in(post, last)
        return None

    def _hand_in(self, post: Post, last: Sequence[Received]) -> None:
        """End a request. ``last``: what is last to be read of it, as soon as there is room."""
        if last and isinstance(last[-1], bytes):
            last = (*last, self._unanswered(post))
        read = not last or self._inbox.put(*last)
        with self._lock:
            if self._posts.get(post.id) is post:
                del self._posts[post.id]
            if not read:
                self._under_way |= {post.id}  # the connection has just ended, but this was sent

    def _taken_up(self, data: bytes) -> None:
        with self._lock:
            full = self._waiting > CAPACITY // 2
            self._waiting -= len(data)
            if full:
                self._room.notify_all()

    def _pause_clock(self, id: RequestId, begins: bool) -> None:
        if self.on_pause is not None:
            self.on_pause(id, begins)

    def _perform(self, post: Post, begun: Optional[Reply] = None) -> Sequence[Received]:
        """Send a request, unless that was ``begun``, and handle its reply. Returns what is last to be read of it.

        An exception that it raises is the outcome of the request.
        """
        raise NotImplementedError

    # The lane: notifications, and answers to the server

    def _run_lane(self) -> None:
        while True:
            with self._lock:
                if not self._lane:
                    self._in_lane = False
                    self._lane_empty.set()
                    return
                method, data, fields = self._lane.popleft()
            self._taken_up(data)
            try:
                self._deliver(method, data, fields)
            except McpError as error:
                if not self._closed:
                    self._note("undelivered", "%s was not delivered: %s" % (method or "an answer", error))
            if method == INITIALIZED:
                self._initialized()

    def _deliver(self, method: str, data: bytes, fields: Fields) -> None:
        """POST a notification or a response.

        For ``notifications/cancelled`` authorization is not tried again, so that a user is not asked because of their
        own cancellation.
        """
        self._cancel_scope.asked = 0  # it is that of all of them
        ask = method != CANCELLED
        reply = self._exchange("POST", data, self._cancel_scope, fields, self.limits.request_timeout, ask=ask)
        try:
            self._check(reply)
            reply.whole(ERROR_BODY)
        finally:
            self._pool.finish(reply, self._cancel_scope)

    def _initialized(self) -> None:
        """Send the requests that waited until the server has accepted ``notifications/initialized``."""
        with self._lock:
            held, self._after_initialized = self._after_initialized, None
        for post in held or ():
            self._begin(post)

    # HTTP

    def _exchange(
        self, method: str, body: Optional[bytes], cancel_scope: CancelScope, fields: Fields = (),
        timeout: Optional[float] = None,
        begun: Optional[Reply] = None, ask: bool = True, seen: "Optional[ExchangeTrace]" = None,
        message: Optional[Outgoing] = None,
    ) -> Reply:
        """Send a request, have it authorized, and follow redirects within the origin. Returns the reply, which has to
        be given to `ConnectionPool.finish`.

        ``fields``: all header fields but those of authorization; (): those of every request now. ``ask``: ask the
        authorizer about a refusal. ``seen``: what the trace was told of the request by, if it was.
        ``message``: the request that is the body.
        Raises `ConnectFailed`, `AnswerLost`, `HttpStatus` for a redirect that leads elsewhere, `AuthError`,
        `Abandoned`.
        """
        target, redirects = self._target if begun is None else begun.target, 0
        while redirects < _MOST_REDIRECTS:
            sending, begun = begun, None
            if sending is not None:
                given, all_fields = sending.given, sending.fields
            else:
                given = self._gate.fields(method, self.where.origin + target, cancel_scope)
                all_fields = (fields or self._fields(method)) + given
            told, seen = seen, None
            if told is None and self.http_trace is not None:
                told = self.http_trace.request(method, target, all_fields, body, self.where.origin)
            try:
                reply = self._pool.send(
                    method, target, all_fields, body, cancel_scope, timeout, sending, once=bool(given))
            except McpError as error:
                if told is not None:
                    theirs = "server" if isinstance(error, AnswerLost) else ""
                    told.lost(error, "client" if cancel_scope.gone else theirs)
                if isinstance(error, Stale):
                    continue
                raise
            if told is not None:
                told.response(reply.status, reply.headers.pairs())
                reply.seen = told
            reply.given = given
            if self._gate.authorizer is not None:
                if reply.status not in AuthBoundary.STATUSES:
                    self._answered(reply, self.where.origin + target, cancel_scope)
                elif ask:
                    if not self._let_in(reply, method, target, self._revision(message, fields), cancel_scope):
                        return reply
                    continue
            if not 300 <= reply.status < 400:
                return reply
            redirects += 1
            try:
                target = self._redirected(reply, method, target)
                reply.whole(ERROR_BODY)
            finally:
                self._pool.finish(reply, cancel_scope)
            if reply.status == 308:
                self._target = target
        raise HttpStatus("%s is redirected more than %d times" % (self._shown, _MOST_REDIRECTS), reply.status)

    def _answered(self, reply: Reply, url: str, cancel_scope: CancelScope) -> None:
        """Tell the authorizer of a reply that is no refusal."""
        try:
            self._gate.answered(url, reply.headers)
        except BaseException:
            self._pool.finish(reply, cancel_scope)
            raise

    def _let_in(
        self, reply: Reply, method: str, target: str, revision: Optional[str], cancel_scope: CancelScope,
    ) -> bool:
        """Have the authorizer look at a refusal. Returns True if the request is to be sent again.

        That may take long, so the connection is given back before.
        """
        try:
            reply.kept = reply.whole(ERROR_BODY)
        except TransportError:
            reply.kept = b""
        finally:
            self._pool.finish(reply, cancel_scope)
        challenges = tuple(reply.headers.get_all("www-authenticate"))
        url = self.where.origin + target
        refusal = AuthRefusal(
            reply.status, challenges, reply.headers, method, url, reply.given, revision, cancel_scope.asked)
        cancel_scope.asked += 1
        return self._gate.opens(refusal, cancel_scope)

    def _revision(self, message: Optional[Outgoing], fields: Fields) -> Optional[str]:
        """Return the revision of a request with these fields; None if it is not known."""
        named = dict(fields).get("MCP-Protocol-Version") or self._agreed
        return message.offered if named is None and message is not None else named

    def _redirected(self, reply: Reply, method: str, target: str) -> str:
        """Return the target that a redirect names."""
        goal = server_url_from(self.where.origin + target, reply.headers.get("location") or "",
                               "%s answered %d and redirects to" % (self._shown, reply.status))
        if goal.origin != self.where.origin:
            text = "%s redirects to %s, which is another origin: name that URL instead if you trust it"
            raise HttpStatus(text % (self._shown, goal.origin), reply.status)
        if reply.status not in _REDIRECTS[method] or goal.target == target:
            text = "%s %s: %d redirects to %s: name that URL instead"
            if goal.target == target:
                text = "%s %s: %d redirects to itself (%s)" if reply.headers.get("location") else (
                    "%s %s: %d redirects nowhere: it has no Location (%s)")
            raise HttpStatus(text % (method, self._shown, reply.status, goal.target.partition("?")[0]), reply.status)
        return goal.target

    def _fields(self, method: str) -> Fields:
        """Return the header fields of a request."""
        found = self._made_fields.get(method)
        if found is None:
            found = self._added + ACCEPT[method] + self._conversation()
            self._made_fields[method] = found
        return found

    def _conversation(self) -> Fields:
        """Return the fields of the conversation that a request belongs to. When they change, `_made_fields` is
        emptied."""
        return () if self._version is None else (("MCP-Protocol-Version", self._version),)

    @property
    def _shown(self) -> str:
        """The URL for error texts; without its query, where secrets may be."""
        return self.origin + self._target.partition("?")[0]  # type: ignore[operator]

    def _check(self, reply: Reply, post: Optional[Post] = None) -> None:
        """Raise `PeerError` or `HttpStatus` for a reply that refuses a request."""
        if 200 <= reply.status < 300:
            return
        try:
            body = reply.whole(ERROR_BODY)
        except TransportError:
            body = b""
        raise refused(reply, body, self._shown, (*self._added, *reply.given), post)

    def _unanswered(self, post: Post) -> Unanswered:
        """Return the end of a request whose reply has ended, for the case that no answer was in it."""
        return Unanswered(post.id, lambda: no_answer(post, self._shown, self._sent(post)))

    def _sent(self, post: Post) -> Fields:
        """Return the header fields of which a server may repeat the secrets."""
        return (*self._added, *(post.reply.given if post.reply is not None else ()))

    def _note(self, name: str, text: str) -> None:
        """Count a failure that no caller is told of, and log it the first times."""
        if self.http_trace is not None:
            self.http_trace.finding(name, text)
        if is_told(self._counts.add(name)):
            from ...diagnostics import one_line

            get_logger(__name__).warning("%s: %s: %s", self.origin, name, one_line(text))
