"""The MCP endpoint of Streamable HTTP: one HTTP request in, one reply out. It knows no sockets.

A shell (`mcp_ref.http11.server.server`, `wsgi`) makes an `Exchange` of each request and calls `Endpoint.handle` on a
thread that may be kept while a handler runs. One function answers each method: `get`, `delete`, `preflight`, and
`post.post`. Each refuses in the order of `mcp_ref.protocol.streamable_http.refusals.ORDER`, where the replies to
refusals are, too; `session` routes the messages that go back.

============  ==========================================  ============================================
request       with a session                              without (``sessions="none"``)
============  ==========================================  ============================================
POST          the message goes to the session's           a connection for this message alone
              connection; `initialize` begins one
GET           a stream, or the rest of one                405
DELETE        ends the session                            405
OPTIONS       the preflight of a browser                  the same
============  ==========================================  ============================================

The table is for the revisions that open with `initialize`. A POST of the stateless era has no session either way:
`refusals.HttpEras` recognizes it and `stateless` answers it. A server that speaks no other era answers 405 to GET and
DELETE [2026-07-28 basic/transports/streamable-http §Earlier Streamable HTTP Revisions] SHOULD.

The revision that a session has agreed on and the transport do not depend on each other: 2024-11-05, which has another
HTTP transport, may be agreed here, too.
"""

import threading
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple, Union

from ... import deadline
from ...diagnostics.packagelog import Counters
from ...errors import HEADER_MISMATCH, RpcError
from ...http11.message import Exchange, Pairs
from ...http11.server.owners import Owners, subject
from ...http11.server.responses import RETRY_AFTER
from ...jsonrpc import ErrorResponse, RequestId, encode
from ...limits import DEFAULT, Limits
from ...methods import NAMED
from ...protocol.streamable_http import refusals
from ...protocol.streamable_http.header_values import LOOPBACK, Hosts, Names
from ...protocol.streamable_http.mirrored import Mirrored
from ...protocol.streamable_http.refusals import ORDER, REFUSALS, HeaderVerdict, HttpEras
from ...revisions import REVISIONS, revision
from ...stores import Store
from ...threads import Tally
from ...transports.base import Transport
from ...transports.held import MemoryAccount
from .authenticate import Authenticate, Guard, guard_of
from .post import SESSION_ID, VERSION, Keys, PostRefused, admit, allow, find_session, judge_version, post
from .reply_stream import JSON_HEADERS, ReplyStream, event_id
from .session import HttpSession, SessionTable
from .stateless import Stateless

Connect = Callable[[Transport], Any]
"""A function that makes and starts the `Connection` over a transport: `Server.connect`."""

ALL = tuple(map(str, REVISIONS))
UNASKED = "with json_response=True and streams=False nothing can carry a question to a client: allow one of them"
_TRIES = 8
"""The number of times that a new session tries to replace another one; another thread may take the room first."""


def get(endpoint: "Endpoint", exchange: Exchange, verdict: HeaderVerdict) -> None:
    """Answer a GET: open a stream of the session, or the rest of one.

    [2025-03-26..2025-11-25 basic/transports §Listening for Messages from the Server] MUST
    """
    principal = admit(endpoint, exchange)
    allow(endpoint, exchange, principal)
    session = find_session(endpoint, exchange, principal, _session_id(exchange))
    judge_version(endpoint, exchange, session)
    if endpoint.closing:
        raise PostRefused("closing")
    # [2025-03-26..2025-11-25 basic/transports §Resumability and Redelivery] MAY: with the id of the last event that it
    # got, a client asks for what came after it on that stream.
    last = exchange.request.headers.get("last-event-id")
    if last is None:
        begun: Optional[bool] = session.listen(exchange, verdict.cors)
    else:
        since = event_id(last)
        begun = None if since is None else session.resume(exchange, since, verdict.cors)
    if begun is None:
        raise PostRefused("event", "%.80r" % last)
    if not begun:  # the session has just ended
        raise PostRefused("session")


def delete(endpoint: "Endpoint", exchange: Exchange, verdict: HeaderVerdict) -> None:
    """Answer a DELETE: end the session [2025-03-26..2025-11-25 basic/transports §Session Management]."""
    principal = admit(endpoint, exchange)
    allow(endpoint, exchange, principal)
    session = find_session(endpoint, exchange, principal, _session_id(exchange))
    judge_version(endpoint, exchange, session)
    endpoint.end(session, "the client ended the session")
    exchange.reply(204, verdict.cors)


def preflight(endpoint: "Endpoint", exchange: Exchange, verdict: HeaderVerdict) -> None:
    """Answer an OPTIONS with the methods, and a page that is allowed with the header fields it may send."""
    allow = endpoint.rules.allow
    headers: Pairs = (("Allow", allow),)
    if verdict.cors:
        wanted = exchange.request.headers.get("access-control-request-headers")
        headers = verdict.cors + refusals.preflight(allow, wanted)
    exchange.reply(204, headers)


def _session_id(exchange: Exchange) -> str:
    id = exchange.request.headers.lower(SESSION_ID)
    if id is None:
        raise PostRefused("no session")
    return id


Answer = Callable[["Endpoint", Exchange, HeaderVerdict], None]
"""A function that answers the requests of one method, or raises `PostRefused` before it has sent anything."""
SESSION_METHODS: Mapping[str, Answer] = {"GET": get, "POST": post, "DELETE": delete}
STATELESS_METHODS: Mapping[str, Answer] = {"POST": post}
"""Method -> function, where there are sessions and where there are none. OPTIONS is `preflight` everywhere."""


class Endpoint:
    """The endpoint at ``path`` (None: any path). Thread-safe.

    ==================  =======================================================================================
    ``sessions``        "memory", "none", a `SessionTable`, or a `Store` that several processes share
    ``json_response``   True: replies are JSON; False: streams; None: whatever suits the answer
    ``allowed_hosts``,  names as in `header_values.Hosts`; by default those of this machine, with any port
    ``allowed_origins``
    ``authenticate``    a function or a `Guard` that knows the clients, see `authenticate`
    ``strict``          True: refuse some faults of careless clients that are tolerated otherwise
    ``revisions``       names of the revisions that the server speaks
    ``mirrored``        a function: name of a tool, principal, request -> its arguments that are repeated in header
                        fields
    ``named``           method -> the member of its params that `Mcp-Name` repeats
    ``poll_after``      seconds after which the connection of a stream ends and the client polls; None: never
    ``streams``         False: GET is answered 405, and `subscriptions/listen` is refused
    ``delete``          False: clients cannot end their sessions
    ``held``            the account of the memory that clients make us hold; None: a new one
    ``trusted_proxies`` proxies whose word for the address of a client counts, see `mcp_ref.http11.server.owners`
    ``order``           the order of the refusals, ORDER or HTTP_SSE
    ``methods``         HTTP method -> the function that answers it; None: as Streamable HTTP
    ==================  =======================================================================================

    ``counters``: sessions begun and ended, requests by reason of refusal, and tolerated faults.
    """

    def __init__(
        self,
        connect: Connect,
        *,
        path: Optional[str] = "/mcp",
        sessions: Union[str, SessionTable, Store] = "memory",
        limits: Limits = DEFAULT,
        json_response: Optional[bool] = None,
        allowed_hosts: Names = LOOPBACK,
        allowed_origins: Names = LOOPBACK,
        authenticate: Union[Authenticate, Guard, None] = None,
        strict: bool = False,
        revisions: Sequence[str] = ALL,
        mirrored: Optional[Callable[[Any, Any, Any], Sequence[Mirrored]]] = None,
        named: Mapping[str, str] = NAMED,
        poll_after: Optional[float] = None,
        streams: bool = True,
        delete: bool = True,
        held: Optional[MemoryAccount] = None,
        trusted_proxies: Sequence[str] = (),
        order: Mapping[str, Tuple[str, ...]] = ORDER,
        methods: Optional[Mapping[str, Answer]] = None,
    ) -> None:
        if sessions not in ("memory", "none") and not isinstance(sessions, (SessionTable, Store)):
            raise ValueError("sessions is 'memory', 'none', a Store or a SessionTable, not %r" % (sessions,))
        self.connect = connect
        self.limits = limits
        self.held = MemoryAccount(limits) if held is None else held
        self.json_response = json_response
        self.strict = strict
        self.eras = HttpEras(list(map(revision, revisions)))
        self.revisions = self.eras.handshake
        self.mirrored, self.named = mirrored, named
        self.listens = streams
        """True if `subscriptions/listen` is served."""
        self.poll_after, self.closing = poll_after, False
        self.counters = Counters()
        self.sessions: Optional[SessionTable] = None
        self.unasked = "" if streams or json_response is not True else UNASKED
        """The reason why clients of the handshake era cannot be asked anything here, "" if they can. Shells set it."""
        self.guard = guard_of(authenticate)
        self.tells_apart = self.guard is not None and self.guard.tells_apart
        self._owners = Owners(trusted_proxies, self.tells_apart)
        self._questions = Tally("max_questions", limits.max_questions)
        self._owned = Tally(
            "max_session_share of max_waiting", max(1, int(limits.max_session_share * limits.max_waiting)))
        if sessions != "none" and self.eras.legacy:
            self.sessions = self._table(sessions, streams)
        self.stateless = Stateless(self)
        if methods is None:
            methods = STATELESS_METHODS if self.sessions is None else SESSION_METHODS
        self._methods = {name: answer for name, answer in methods.items()
                         if (streams or name != "GET") and (delete or name != "DELETE")}
        self._methods["OPTIONS"] = preflight
        self.rules = refusals.Rules(
            path, tuple(self._methods), Hosts(allowed_hosts), Hosts(allowed_origins), strict, order)
        self._judge = self.rules.remembering()
        self._tracked: Dict[HttpSession, None] = {}
        self._lock = threading.Lock()

    def _table(self, sessions: Union[str, SessionTable, Store], streams: bool) -> SessionTable:
        if isinstance(sessions, SessionTable):
            return sessions
        if not isinstance(sessions, Store):
            return SessionTable(self.limits)
        from ...ext.stores.table import StoreTable

        return StoreTable(sessions, self.limits, self.connected, streams)

    def connected(self, session: HttpSession) -> Any:
        """Connect a session and return its connection."""
        session.use_account(self.held, self.tells_apart)
        connection = session.connection = self.connect(session)
        connection.session.principal = session.principal
        connection.session.unasked = self.unasked
        known = self.tells_apart and session.principal is not None
        connection.questions = [(self._questions, subject(session.principal) if known else session)]
        if session.owner is not None:
            connection.questions.append((self._owned, session.owner))
        return connection

    def enter(self, exchange: Exchange, session: HttpSession, id: Optional[RequestId] = None) -> None:
        """Enter a session that begins with this request into the table, in place of another one if need be.

        ``id``: that of the request, for a refusal.
        """
        sessions: Any = self.sessions
        session.owner = self._owners.of(exchange.request, session.principal)
        for _ in range(_TRIES):
            if sessions.add(session):
                return
            other = sessions.replaceable(session)
            if other is None:
                break
            self.counters.add("sessions that made room")
            self.end(other, "a new session took the place of this one, since max_sessions are open")
        reason, found = sessions.why_full(session)
        raise PostRefused(reason, found, id)

    def reply_to(self, exchange: Exchange, verdict: HeaderVerdict, keys: Keys, session: Optional[HttpSession] = None
                 ) -> ReplyStream:
        """Return the place for the answers to a POST, as JSON or as a stream.

        It is JSON or a stream as the client accepts; where it accepts both, ``json_response`` decides, and without that
        whatever suits the answer.
        """
        json, sse, prefer = verdict.json, verdict.sse, self.json_response
        if prefer is not None and json and sse:
            json, sse = prefer, not prefer
        return ReplyStream(exchange, verdict.cors, json, sse, keys, session)

    # What shells call

    def handle(self, exchange: Exchange) -> None:
        """Answer one request, now or later."""
        request = exchange.request
        if self.guard is not None and self.guard.answers(exchange):
            return
        get = request.headers.lower
        verdict = self._judge(
            request.method, request.path, get("host"), get("origin"), get("accept"), get("content-type"))
        try:
            if request.headers.several:
                self._check_repeated(exchange)
            if verdict.reason is not None:
                raise PostRefused(verdict.reason, verdict.found)
            self._methods[request.method](self, exchange, verdict)
        except PostRefused as refused:
            self._refuse(exchange, verdict, refused)

    def tick(self) -> None:
        """Keep streams alive, or end them, and end idle sessions. A shell calls it about once a second."""
        now = deadline.clock()
        for session in self._all():
            session.tick(now, self.poll_after)
            if session.is_deserted(now):
                session.connection.give_up_all("its session has had no connection for question_grace (%g) seconds"
                                               % self.limits.question_grace)
            if self.guard is not None and self.guard.expired(session.shown):
                session.end_listening()
            if session.busy:
                session.used = now
            elif session.id is not None and self.sessions is not None and self.sessions.is_idle(session, now):
                self.end(session, "no request came for session_idle (%g) seconds" % self.limits.session_idle, False)
        if self.sessions is not None:
            self.sessions.tick(now)
        self.stateless.tick(now)

    def close(self, grace: float) -> None:
        """Take no new requests; give running requests ``grace`` seconds; then end every stream and session.

        Answers and cancellations are taken meanwhile, so that handlers which wait for the client can end.
        """
        self.closing = True
        end = deadline.Deadline(grace)
        shared = self.stateless.connections()
        for connection in shared:
            connection.role.on_closing(connection)
        for connection in shared + [session.connection for session in self._all()]:
            connection.inflight.wait_empty(end.left())
        ended = self._all()
        for session in ended:
            self.end(session, "the server is shutting down", False)
        for connection in shared:
            connection.close("the server is shutting down")
        closed = shared + [session.connection for session in ended]
        for connection in closed:
            connection.wait_closed(self.limits.shutdown_grace)
        stuck = sum(len(connection.inflight) for connection in closed)
        if stuck:
            from ...diagnostics.packagelog import get_logger

            get_logger(__name__).warning("%d requests are still running, shutdown_grace (%g s) after they were"
                                         " cancelled: they are left behind", stuck, self.limits.shutdown_grace)
        if self.sessions is not None:
            self.sessions.close()

    def _all(self) -> "list[HttpSession]":
        with self._lock:
            tracked = list(self._tracked)
        return tracked if self.sessions is None else [s for s in self.sessions.all() if s.connection is not None]

    # Refusing

    def _check_repeated(self, exchange: Exchange) -> None:
        """Refuse a request with a field that came more than once and has one value."""
        single = refusals.SINGLE + tuple(self.guard.single if self.guard is not None else ())
        name = exchange.request.headers.repeated(single)
        if name is None:
            return
        text = REFUSALS["repeated"].text % name
        required = name.lower() == VERSION and self.eras.modern
        raise PostRefused("repeated", name, None, RpcError(HEADER_MISMATCH, text) if required else None)

    def _refuse(self, exchange: Exchange, verdict: HeaderVerdict, refused: PostRefused) -> None:
        """Reply with a refusal, as REFUSALS says."""
        refusal, error = REFUSALS[refused.reason], refused.error
        self.counters.add("refused: " + refused.reason)
        headers = JSON_HEADERS + verdict.cors
        if refused.reason == "method":
            headers += (("Allow", self.rules.allow),)
        elif refusal.retry:
            headers += (("Retry-After", RETRY_AFTER[refusal.status]),)
        headers += tuple(("WWW-Authenticate", challenge) for challenge in refused.challenges)
        if error is None:
            error = RpcError(refusal.code, refusal.text % refused.found)
        exchange.reply(refusal.status, headers,
                       encode(ErrorResponse(refused.id, error.code, error.message, error.data)))

    # Sessions that end

    def end(self, session: HttpSession, reason: str, everywhere: bool = True) -> None:
        """End a session, or the connection of a POST without one.

        ``everywhere``: end it in other processes too, where several share sessions.
        """
        if session.id is None:
            with self._lock:
                if self._tracked.pop(session, self) is self:
                    return
        elif self.sessions is None or not (self.sessions.remove if everywhere else self.sessions.release)(session):
            return
        else:
            self.counters.add("sessions ended")
        session.connection.close(reason)

    def track(self, session: HttpSession) -> None:
        """Note that a POST without a session is being answered."""
        with self._lock:
            self._tracked[session] = None
