"""The MCP endpoint of Streamable HTTP: one HTTP request in, one reply out. It knows no sockets.

A shell (`mcp_ref.http11.server.server`, `wsgi`) makes an `Exchange` of each request and calls `Endpoint.handle` on a
thread that may be kept while a handler runs. What a request is refused with, and in which order that is found out, says
`mcp_ref.protocol.streamable_http.refusals`; how a message finds its way back, `session`.

============  ==========================================  ============================================
request       with a session                              without (``sessions="none"``)
============  ==========================================  ============================================
POST          the message goes to the session's           a connection for this message alone
              connection; `initialize` begins one
GET           a stream, or the rest of one                405
DELETE        ends the session                            405
OPTIONS       what a browser asks before it asks          the same
============  ==========================================  ============================================

That is for the revisions that open with `initialize`. A POST of the stateless era has no session either way; which ones
those are says `mcp_ref.protocol.streamable_http.era`, how they are answered `stateless`. A server that speaks nothing
else answers 405 to GET and DELETE [2026-07-28 basic/transports/streamable-http §Earlier Streamable HTTP Revisions]
SHOULD.

The revision that a session has agreed on and the transport do not depend on each other: 2024-11-05, which has another
HTTP transport, may be agreed here, too.
"""

import functools
import threading
from typing import Any, Callable, Dict, Optional, Sequence, Tuple, Union

from ... import deadline
from ...diagnostics.usercode import log_raised
from ...errors import HEADER_MISMATCH, RpcError
from ...http11.message import Exchange, Pairs
from ...http11.server.owners import Owners, subject
from ...http11.server.stdlib import RETRY_AFTER
from ...jsonrpc import Error, Frame, Malformed, Request, RequestId, encode, parse, shown
from ...limits import DEFAULT, Limits
from ...protocol.streamable_http import refusals
from ...protocol.streamable_http.era import LEGACY, MODERN, HttpEras
from ...protocol.streamable_http.header_values import LOOPBACK, Hosts
from ...protocol.streamable_http.mirrored import Mirrored
from ...protocol.streamable_http.refusals import REFUSALS, Verdict
from ...revisions import REVISIONS, revision
from ...transports.base import Transport
from ...transports.held import Held, peer_of
from ...threads import Tally
from ..shared.store import Store
from .authenticate import Authenticate, Denied, Guard, guard_of
from .post import open_session, post_in_session
from .reply_stream import REPLY, Stream, event_id
from .session import JSON_HEADERS, HttpSession
from .session_table import SessionTable
from .stateless import ModernTransport, post_modern, refuse_modern

Connect = Callable[[Transport], Any]
"""Makes and starts the `Connection` over a transport: `Server.connect`."""

ALL = tuple(map(str, REVISIONS))
UNASKED = "with json_response=True and streams=False nothing can carry a question to a client: allow one of them"
_SESSION = "mcp-session-id"
_VERSION = "mcp-protocol-version"
_TRIES = 8
"""How often a new session looks for another one that makes room; somebody else may be quicker to take it."""


class Counts:
    """How often what happened."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Dict[str, int] = {}

    def add(self, name: str) -> None:
        """Once more."""
        with self._lock:
            self._counts[name] = self._counts.get(name, 0) + 1

    def snapshot(self) -> Dict[str, int]:
        """A copy."""
        with self._lock:
            return dict(self._counts)


def _id_of(frame: Optional[Frame]) -> Optional[RequestId]:
    """That of a request, to name it in a refusal; a response has the id of a request of ours, not of one of theirs."""
    return frame.id if isinstance(frame, Request) else None


class Endpoint:
    """The endpoint at ``path`` (None: any path). Thread-safe.

    ``sessions``: "memory", "none", a `SessionTable`, or a `Store` that several processes share. ``json_response``:
    whether replies to requests are JSON (True) or streams (False); None: what suits each. ``allowed_hosts``,
    ``allowed_origins``: see `headervalues.Hosts`; by default the names of this machine with any port.
    ``authenticate``: who may ask, a function or a guard; see `authenticate`. ``strict``
    refuses what real but careless clients send.
    ``revisions``: names of those that the server speaks. ``mirrored``: which arguments of a tool, by its name, are
    repeated in header fields. ``poll_after``: seconds after which the connection of a
    stream is ended for the client to come back, where the revision has that; None: never. ``streams``: whether a GET
    opens one, or is answered 405. ``delete``: whether clients may end their sessions. ``held``: the account of what
    clients make us hold; by default one of its own. ``trusted_proxies``: who is believed what the address of a client
    is, see `mcp_ref.http11.server.owners`.

    ``counters``: sessions begun and ended, requests by reason of refusal, and what was tolerated.
    """

    def __init__(
        self,
        connect: Connect,
        *,
        path: Optional[str] = "/mcp",
        sessions: Union[str, SessionTable, Store] = "memory",
        limits: Limits = DEFAULT,
        json_response: Optional[bool] = None,
        allowed_hosts: Sequence[str] = LOOPBACK,
        allowed_origins: Sequence[str] = LOOPBACK,
        authenticate: Union[Authenticate, Guard, None] = None,
        strict: bool = False,
        revisions: Sequence[str] = ALL,
        mirrored: Optional[Callable[[Any], Sequence[Mirrored]]] = None,
        poll_after: Optional[float] = None,
        streams: bool = True,
        delete: bool = True,
        held: Optional[Held] = None,
        trusted_proxies: Sequence[str] = (),
    ) -> None:
        if sessions not in ("memory", "none") and not isinstance(sessions, (SessionTable, Store)):
            raise ValueError("sessions is 'memory', 'none', a Store or a SessionTable, not %r" % (sessions,))
        self.connect = connect
        self.limits = limits
        self.held = Held(limits) if held is None else held
        self.json_response = json_response
        self.strict = strict
        self.eras = HttpEras(list(map(revision, revisions)))
        self.revisions = self.eras.handshake
        self.mirrored = mirrored
        self.listens = streams
        """Whether `subscriptions/listen` is served."""
        self.poll_after = poll_after
        self.closing = False
        self.counters = Counts()
        self.sessions: Optional[SessionTable] = None
        self.unasked = "" if streams or json_response is not True else UNASKED
        """Why no client of the handshake era can be asked anything here, if that is so; shells may know more."""
        self._guard = guard_of(authenticate)
        self._tells_apart = self._guard is not None and self._guard.tells_apart
        self._owners = Owners(trusted_proxies, self._tells_apart)
        self._questions = Tally("max_questions", limits.max_questions)
        self._owned = Tally("max_session_share of max_waiting",
                            max(1, int(limits.max_session_share * limits.max_waiting)))
        self._shared: Optional[ModernTransport] = None
        if sessions != "none" and self.eras.legacy:
            self.sessions = self._table(sessions, streams)
        self._methods = self._offered(streams, delete)
        self._methods["OPTIONS"] = self._options
        self._rules = refusals.Rules(
            path, tuple(self._methods), Hosts(allowed_hosts), Hosts(allowed_origins), strict)
        self._judge = functools.lru_cache(maxsize=128)(self._rules.judge)  # a client sends the same fields each time
        self._alone: Dict[HttpSession, Any] = {}
        self._lock = threading.Lock()

    def _table(self, sessions: Union[str, SessionTable, Store], streams: bool) -> SessionTable:
        if isinstance(sessions, SessionTable):
            return sessions
        if not isinstance(sessions, Store):
            return SessionTable(self.limits)
        from ..shared.table import StoreTable

        return StoreTable(sessions, self.limits, self.connected, streams)

    def _offered(self, streams: bool, delete: bool) -> Dict[str, Callable[[Exchange, Verdict], None]]:
        """The methods that are answered, but for OPTIONS."""
        if self.sessions is None:
            return {"POST": self._post}
        methods = {"GET": self._get, "POST": self._post, "DELETE": self._delete}
        return {name: methods[name] for name in methods if (streams or name != "GET") and (delete or name != "DELETE")}

    def connected(self, session: HttpSession) -> Any:
        """A session's connection, which it has from now on."""
        session.count(self.held, self._tells_apart)
        connection = session.connection = self.connect(session)
        connection.session.principal = session.principal
        connection.session.unasked = self.unasked
        known = self._tells_apart and session.principal is not None
        connection.questions = [(self._questions, subject(session.principal) if known else session)]
        if session.owner is not None:
            connection.questions.append((self._owned, session.owner))
        return connection

    def enter(
        self, exchange: Exchange, verdict: Verdict, session: HttpSession, id: Optional[RequestId] = None
    ) -> bool:
        """Enter a session that begins with this request, in place of another one if need be; the reply is out if there
        is no room."""
        sessions = self.sessions
        if sessions is None:
            return False
        session.owner = self._owners.of(exchange.request, session.principal)
        for _ in range(_TRIES):
            if sessions.add(session):
                return True
            other = sessions.dispensable(session)
            if other is None:
                break
            self.counters.add("sessions that made room")
            self.end(other, "a new session took the place of this one, since max_sessions are open")
        reason, found = sessions.full(session)
        self.refuse(exchange, verdict, reason, found, id=id)
        return False

    # What shells call

    def handle(self, exchange: Exchange) -> None:
        """Answer one request, now or later."""
        request = exchange.request
        if self._guard is not None and self._guard.answers(exchange):
            return
        get = request.headers.lower
        verdict = self._judge(
            request.method, request.path, get("host"), get("origin"), get("accept"), get("content-type"))
        if request.headers.several and self._repeats(exchange, verdict):
            return
        if verdict.reason is None:
            self._methods[request.method](exchange, verdict)
        else:
            self.refuse(exchange, verdict, verdict.reason, verdict.found)

    def tick(self) -> None:
        """Keep streams alive, or end them, and end idle sessions; to be called about once a second."""
        now = deadline.clock()
        for session in self._all():
            session.keep(now, self.poll_after)
            if session.deserted(now):
                session.connection.give_up_all("its session has had no connection for question_grace (%g) seconds"
                                               % self.limits.question_grace)
            if self._guard is not None and self._guard.expired(session.shown):
                session.hang_up()
            if session.busy:
                session.used = now
            elif session.id is not None and self.sessions is not None and self.sessions.idle(session, now):
                self.end(session, "no request came for session_idle (%g) seconds" % self.limits.session_idle, False)
        if self.sessions is not None:
            self.sessions.tick(now)
        if self._shared is not None:
            self._shared.keep(now, self._guard)

    def close(self, grace: float) -> None:
        """Take no new requests; what runs has ``grace`` seconds; then every stream and session ends.

        Answers and cancellations are taken all the while, so that handlers which wait for the client can end.
        """
        self.closing = True
        end = deadline.Deadline(grace)
        with self._lock:
            shared = [] if self._shared is None else [self._shared.connection]
        for connection in shared:
            connection.role.ending(connection)
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
            alone = list(self._alone)
        return alone if self.sessions is None else [s for s in self.sessions.all() if s.connection is not None]

    # Refusing

    def _repeats(self, exchange: Exchange, verdict: Verdict) -> bool:
        """Whether a field came more than once that has one value; the reply is out then."""
        single = refusals.SINGLE + tuple(self._guard.single if self._guard is not None else ())
        name = exchange.request.headers.repeated(single)
        if name is None:
            return False
        required = name.lower() == _VERSION and self.eras.modern
        self.refuse(exchange, verdict, "repeated", name, HEADER_MISMATCH if required else None)
        return True

    def refuse(
        self, exchange: Exchange, verdict: Verdict, reason: str, found: str = "", code: Optional[int] = None,
        id: Optional[RequestId] = None, challenges: Sequence[str] = (),
    ) -> None:
        """Reply with the refusal of that name in `httprules.REFUSALS`."""
        refusal = REFUSALS[reason]
        self.counters.add("refused: " + reason)
        headers = JSON_HEADERS + verdict.cors
        if reason == "method":
            headers += (("Allow", self._rules.allow),)
        elif refusal.status in RETRY_AFTER:
            headers += (("Retry-After", RETRY_AFTER[refusal.status]),)
        headers += tuple(("WWW-Authenticate", challenge) for challenge in challenges)
        text = refusal.text % found
        body = encode(Error(id, refusal.code if code is None else code, text))
        exchange.reply(refusal.status, headers, body)

    def _admit(self, exchange: Exchange, verdict: Verdict) -> "tuple[bool, Any]":
        """Whether the request is let in, and who sends it; the reply is out if it is not."""
        if self._guard is None:
            return True, None
        try:
            return True, self._guard.admit(exchange.request)
        except Exception as error:
            self._deny(exchange, verdict, error)
            return False, None

    def _allows(self, exchange: Exchange, verdict: Verdict, principal: Any, frame: Optional[Frame] = None) -> bool:
        """Whether whom we have let in may ask for this; the reply is out if he may not."""
        if self._guard is None:
            return True
        try:
            denied: Optional[Exception] = self._guard.allows(principal, frame)
        except Exception as error:
            denied = error
        if denied is not None:
            self._deny(exchange, verdict, denied, _id_of(frame))
        return denied is None

    def _deny(self, exchange: Exchange, verdict: Verdict, error: Exception, id: Optional[RequestId] = None) -> None:
        """Reply with what the guard has raised."""
        if isinstance(error, Denied):
            reason = refusals.DENIED[error.status]
            self.refuse(exchange, verdict, reason, error.why, id=id, challenges=error.challenges)
            return
        log_raised("authenticate", error, "%s %s" % (shown(exchange.request.method), shown(exchange.request.path)))
        self.refuse(exchange, verdict, "failure", id=id)

    def _session(self, exchange: Exchange, verdict: Verdict) -> Optional[HttpSession]:
        """The session of a request that must have one, and its checks; the reply is out if there is none."""
        admitted, principal = self._admit(exchange, verdict)
        if not admitted or not self._allows(exchange, verdict, principal):
            return None
        id = exchange.request.headers.get(_SESSION)
        session = None if id is None else self._known(id, principal)
        if session is None:
            self.refuse(exchange, verdict, "no session" if id is None else "session")
        elif self._version_refused(exchange, verdict, session):
            return None
        else:
            exchange.holder = session.holder
        return session

    def _known(self, id: str, principal: Any) -> Optional[HttpSession]:
        """The session of this id, if it is this principal's."""
        session = self.sessions.get(id) if self.sessions is not None else None
        if session is None or session.principal != principal or session.connection is None:
            return None
        session.used = deadline.clock()
        session.shown = principal
        return session

    def _version_refused(self, exchange: Exchange, verdict: Verdict, session: HttpSession) -> bool:
        version = exchange.request.headers.lower(_VERSION)
        agreed = session.connection.session.revision
        if version is None or (agreed is not None and version == agreed.name):
            return False
        fault = refusals.version_fault(version, self.revisions, agreed, self.strict)
        if fault:
            self.refuse(exchange, verdict, "version", fault)
            return True
        session.connection.counters.note("other version header", "%s in a session of %s" % (version, agreed))
        return False

    # OPTIONS, GET, DELETE

    def _options(self, exchange: Exchange, verdict: Verdict) -> None:
        headers: Pairs = (("Allow", self._rules.allow),)
        if verdict.cors:
            wanted = exchange.request.headers.get("access-control-request-headers")
            headers = verdict.cors + refusals.preflight(self._rules.allow, wanted)
        exchange.reply(204, headers)

    def _get(self, exchange: Exchange, verdict: Verdict) -> None:
        """[2025-03-26..2025-11-25 basic/transports §Listening for Messages from the Server] MUST"""
        session = self._session(exchange, verdict)
        if session is None:
            return
        if self.closing:
            self.refuse(exchange, verdict, "closing")
            return
        last = exchange.request.headers.get("last-event-id")
        if last is None:
            listening: Optional[bool] = session.listen(exchange, verdict.cors)
        else:
            since = event_id(last)
            listening = None if since is None else session.resume(exchange, since, verdict.cors)
        if listening is None:
            self.refuse(exchange, verdict, "event", "%.80r" % last)
        elif not listening:
            self.refuse(exchange, verdict, "session")

    def _delete(self, exchange: Exchange, verdict: Verdict) -> None:
        """[2025-03-26..2025-11-25 basic/transports §Session Management]"""
        session = self._session(exchange, verdict)
        if session is not None:
            self.end(session, "the client ended the session")
            exchange.reply(204, verdict.cors)

    def end(self, session: HttpSession, reason: str, everywhere: bool = True) -> None:
        """End a session, or the connection of a POST that stood alone.

        ``everywhere``: also for other processes, where several share sessions.
        """
        if session.id is None:
            with self._lock:
                if self._alone.pop(session, self) is self:
                    return
        elif self.sessions is None or not (self.sessions.remove if everywhere else self.sessions.let_go)(session):
            return
        else:
            self.counters.add("sessions ended")
        session.connection.close(reason)

    def alone(self, session: HttpSession) -> None:
        """A POST that stands alone is being answered."""
        with self._lock:
            self._alone[session] = None

    # POST, of whichever era

    def _post(self, exchange: Exchange, verdict: Verdict) -> None:
        principal = None
        if self._guard is not None:
            admitted, principal = self._admit(exchange, verdict)
            if not admitted:
                return
            exchange.holder = peer_of(principal if self._tells_apart else None, None)
        if self.too_long(exchange, verdict):
            return
        get = exchange.request.headers.lower
        id, version = get(_SESSION), get(_VERSION)
        try:
            frame = parse(exchange.request.body, True, self.limits)
        except Malformed as error:
            if not self._allows(exchange, verdict, principal):
                return
            if id is None or self.sessions is None or self.eras.kind(version) == MODERN:
                self.broken(exchange, verdict, None, error)
            else:
                self._post_to_session(exchange, verdict, error, principal, id)
            return
        if self._guard is not None and not self._allows(exchange, verdict, principal, frame):
            return
        era = self.eras.judge(frame, version, id is not None) if self.eras.modern else LEGACY
        if era == MODERN:
            post_modern(self, exchange, verdict, frame, principal)
        elif isinstance(era, RpcError):
            refuse_modern(self, exchange, verdict, era, _id_of(frame))
        elif self.sessions is None:
            from .sessionless import post_alone

            post_alone(self, exchange, verdict, frame, principal)
        elif id is not None:
            self._post_to_session(exchange, verdict, frame, principal, id)
        elif isinstance(frame, Request) and frame.method == "initialize":
            open_session(self, exchange, verdict, frame, principal)
        else:
            self.refuse(exchange, verdict, "no session", id=_id_of(frame))

    def shared(self) -> ModernTransport:
        """What carries the requests of the stateless era; made with the first one, and anew if a handler closed it."""
        shared = self._shared
        if shared is None or shared.ended:
            with self._lock:
                shared = self._shared
                if shared is None or (shared.ended and not self.closing):
                    shared = ModernTransport(self.limits)
                    shared.held, shared.tells_apart = self.held, self._tells_apart
                    shared.connection = self.connect(shared)
                    shared.connection.share(self.limits.max_http_connections)
                    self._shared = shared
        return shared

    def broken(
        self, exchange: Exchange, verdict: Verdict, session: Optional[HttpSession], error: Malformed
    ) -> None:
        """Reply to a body that is no message."""
        if session is not None:
            session.connection.malformed(error)
        self.refuse(exchange, verdict, "body", error.message, error.code, None if error.silent else error.id)

    def too_long(self, exchange: Exchange, verdict: Verdict) -> bool:
        """Whether the body is over the limit; the reply is out then."""
        size = len(exchange.request.body)
        if size > self.limits.max_message_bytes:
            self.refuse(exchange, verdict, "length", str(size))
            return True
        return False

    # POST in a session

    def _post_to_session(
        self, exchange: Exchange, verdict: Verdict, frame: Union[Frame, Malformed], principal: Any, id: str
    ) -> None:
        """[2025-03-26..2025-11-25 basic/transports §Sending Messages to the Server] MUST"""
        session = self._known(id, principal)
        if session is None:
            self.refuse(exchange, verdict, "session")
        elif isinstance(frame, Malformed):
            self.broken(exchange, verdict, session, frame)
        elif not self._version_refused(exchange, verdict, session):
            exchange.holder = session.holder
            post_in_session(self, exchange, verdict, frame, session, principal)

    def forms(self, verdict: Verdict) -> Tuple[bool, bool]:
        """Whether a reply may be JSON, and whether it may be a stream: what the client takes and we prefer."""
        prefer = self.json_response
        return (verdict.json and (prefer is not False or not verdict.sse),
                verdict.sse and (prefer is not True or not verdict.json))

    def stream(self, exchange: Exchange, verdict: Verdict, keys: Sequence[Any]) -> Stream:
        """The place for the answers, as JSON or as a stream; ``keys``: see `id_key`."""
        json, sse = self.forms(verdict)
        return Stream(REPLY, exchange, verdict.cors, json, sse, keys)
