"""The MCP endpoint of Streamable HTTP: one HTTP request in, one reply out. It knows no sockets.

A shell (`http_server`, `wsgi`) makes an `Exchange` of each request and calls `Endpoint.handle` on a thread that may be
kept while a handler runs. What a request is refused with, and in which order that is found out, says
`mcp_ref.protocol.httprules`; how a message finds its way back, `http_session`.

============  ==========================================  ============================================
request       with a session                              stateless (``sessions="none"``)
============  ==========================================  ============================================
POST          the message goes to the session's           a connection for this message alone
              connection; `initialize` begins one
GET           a stream, or the rest of one                405
DELETE        ends the session                            405
OPTIONS       what a browser asks before it asks          the same
============  ==========================================  ============================================

The revision that a session has agreed on and the transport do not depend on each other: 2024-11-05, which has another
HTTP transport, may be agreed here, too.
"""

import functools
import threading
from typing import Any, Callable, Dict, Optional, Sequence, Union

from .. import deadline
from ..errors import AuthError
from ..jsonrpc import Batch, Error, Frame, Malformed, Request, RequestId, encode, parse
from ..limits import DEFAULT, Limits
from ..protocol import httprules
from ..protocol.headervalues import LOOPBACK, Hosts
from ..protocol.httprules import REFUSALS, Verdict
from ..revisions import HANDSHAKE_REVISIONS
from .base import Transport
from .http_exchange import Exchange, Headers, Pairs
from .http_session import JSON_HEADERS, HttpSession
from .http_sessions import SessionTable, new_id
from .http_streams import REPLY, Stream, event_id

Connect = Callable[[Transport], Any]
"""Makes and starts the `Connection` over a transport: `Server.connect`."""
Authenticate = Callable[[Headers], Any]
"""Gets the header fields; returns who it is, or None: nobody we know. May raise `AuthError`, which says why."""

HANDSHAKE = tuple(map(str, HANDSHAKE_REVISIONS))
_SESSION = "mcp-session-id"
_VERSION = "mcp-protocol-version"


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


class Endpoint:
    """The endpoint at ``path`` (None: any path). Thread-safe.

    ``sessions``: "memory", "none" or a `SessionTable`. ``json_response``: whether replies to requests are JSON (True)
    or streams (False); None: what suits each. ``allowed_hosts``, ``allowed_origins``: see `headervalues.Hosts`; by
    default the names of this machine with any port. ``strict`` refuses what real but careless clients send.
    ``revisions``: names that the version header may have. ``poll_after``: seconds after which the connection of a
    stream is ended for the client to come back, where the revision has that; None: never. ``streams``: whether a GET
    opens one, or is answered 405. ``delete``: whether clients may end their sessions.

    ``counters``: sessions begun and ended, requests by reason of refusal, and what was tolerated.
    """

    def __init__(
        self,
        connect: Connect,
        *,
        path: Optional[str] = "/mcp",
        sessions: Union[str, SessionTable] = "memory",
        limits: Limits = DEFAULT,
        json_response: Optional[bool] = None,
        allowed_hosts: Sequence[str] = LOOPBACK,
        allowed_origins: Sequence[str] = LOOPBACK,
        authenticate: Optional[Authenticate] = None,
        strict: bool = False,
        revisions: Sequence[str] = HANDSHAKE,
        poll_after: Optional[float] = None,
        streams: bool = True,
        delete: bool = True,
    ) -> None:
        if sessions not in ("memory", "none") and not isinstance(sessions, SessionTable):
            raise ValueError("sessions is 'memory', 'none' or a SessionTable, not %r" % (sessions,))
        self.connect = connect
        self.limits = limits
        self.json_response = json_response
        self.strict = strict
        self.revisions = tuple(revisions)
        self.poll_after = poll_after
        self.closing = False
        self.counters = Counts()
        self.sessions: Optional[SessionTable] = None
        self._authenticate = authenticate
        if sessions != "none":
            self.sessions = SessionTable(limits) if isinstance(sessions, str) else sessions
        self._methods = self._offered(streams, delete)
        self._methods["OPTIONS"] = self._options
        self._rules = httprules.Rules(
            path, tuple(self._methods), Hosts(allowed_hosts), Hosts(allowed_origins), strict)
        self._judge = functools.lru_cache(maxsize=128)(self._rules.judge)  # a client sends the same fields each time
        self._alone: Dict[HttpSession, Any] = {}
        self._lock = threading.Lock()

    def _offered(self, streams: bool, delete: bool) -> Dict[str, Callable[[Exchange, Verdict], None]]:
        """The methods that are answered, but for OPTIONS."""
        if self.sessions is None:
            return {"POST": self._post_alone}
        methods = {"GET": self._get, "POST": self._post, "DELETE": self._delete}
        return {name: methods[name] for name in methods if (streams or name != "GET") and (delete or name != "DELETE")}

    # What shells call

    def handle(self, exchange: Exchange) -> None:
        """Answer one request, now or later."""
        request = exchange.request
        get = request.headers.get
        verdict = self._judge(
            request.method, request.path, get("host"), get("origin"), get("accept"), get("content-type"))
        if verdict.reason is None:
            self._methods[request.method](exchange, verdict)
        else:
            self.refuse(exchange, verdict, verdict.reason, verdict.found)

    def tick(self) -> None:
        """Keep streams alive and end idle sessions; to be called about once a second."""
        now = deadline.clock()
        for session in self._all():
            session.keep(now, self.poll_after)
            if session.busy:
                session.used = now
            elif session.id is not None and session.used + self.limits.session_idle <= now:
                self.end(session, "no request came for session_idle (%g) seconds" % self.limits.session_idle)

    def close(self, grace: float) -> None:
        """Take no new requests; what runs has ``grace`` seconds; then every stream and session ends.

        Answers and cancellations are taken all the while, so that handlers which wait for the client can end.
        """
        self.closing = True
        end = deadline.Deadline(grace)
        for session in self._all():
            session.connection.inflight.wait_empty(end.left())
        ended = self._all()
        for session in ended:
            self.end(session, "the server is shutting down")
        for session in ended:
            session.connection.wait_closed(self.limits.shutdown_grace)

    def _all(self) -> "list[HttpSession]":
        with self._lock:
            alone = list(self._alone)
        return alone if self.sessions is None else [s for s in self.sessions.all() if s.connection is not None]

    # Refusing

    def refuse(
        self, exchange: Exchange, verdict: Verdict, reason: str, found: str = "", code: Optional[int] = None,
        id: Optional[RequestId] = None,
    ) -> None:
        """Reply with the refusal of that name in `httprules.REFUSALS`."""
        refusal = REFUSALS[reason]
        self.counters.add("refused: " + reason)
        headers = JSON_HEADERS + verdict.cors
        if reason == "method":
            headers += (("Allow", self._rules.allow),)
        elif reason == "principal":
            headers += (("WWW-Authenticate", "Bearer"),)
        elif refusal.status in httprules.RETRY_AFTER:
            headers += (("Retry-After", httprules.RETRY_AFTER[refusal.status]),)
        text = refusal.text % found
        body = encode(Error(id, refusal.code if code is None else code, text))
        exchange.reply(refusal.status, headers, body)

    def _admit(self, exchange: Exchange, verdict: Verdict) -> "tuple[bool, Any]":
        """Whether the request is let in, and who sends it; the reply is out if it is not."""
        if self._authenticate is None:
            return True, None
        why = ""
        try:
            principal = self._authenticate(exchange.request.headers)
        except AuthError as error:
            principal, why = None, ": %s" % error
        except Exception:
            from ..packagelog import get_logger

            get_logger(__name__).exception("authenticate failed")
            self.refuse(exchange, verdict, "failure")
            return False, None
        if principal is None:
            self.refuse(exchange, verdict, "principal", why)
        return principal is not None, principal

    def _session(self, exchange: Exchange, verdict: Verdict) -> Optional[HttpSession]:
        """The session of a request that must have one, and its checks; the reply is out if there is none."""
        admitted, principal = self._admit(exchange, verdict)
        if not admitted:
            return None
        id = exchange.request.headers.get(_SESSION)
        session = None if id is None else self._known(id, principal)
        if session is None:
            self.refuse(exchange, verdict, "no session" if id is None else "session")
        elif self._version_refused(exchange, verdict, session):
            return None
        return session

    def _known(self, id: str, principal: Any) -> Optional[HttpSession]:
        """The session of this id, if it is this principal's."""
        session = self.sessions.get(id) if self.sessions is not None else None
        if session is None or session.principal != principal or session.connection is None:
            return None
        session.used = deadline.clock()
        return session

    def _version_refused(self, exchange: Exchange, verdict: Verdict, session: HttpSession) -> bool:
        version = exchange.request.headers.get(_VERSION)
        agreed = session.connection.session.revision
        if version is None or (agreed is not None and version == agreed.name):
            return False
        fault = httprules.version_fault(version, self.revisions, agreed, self.strict)
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
            headers = verdict.cors + httprules.preflight(self._rules.allow, wanted)
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

    def end(self, session: HttpSession, reason: str) -> None:
        """End a session, or the connection of a POST that stood alone."""
        if session.id is None:
            with self._lock:
                if self._alone.pop(session, self) is self:
                    return
        elif self.sessions is None or not self.sessions.remove(session):
            return
        else:
            self.counters.add("sessions ended")
        session.connection.close(reason)

    def alone(self, session: HttpSession) -> None:
        """A POST that stands alone is being answered."""
        with self._lock:
            self._alone[session] = None

    # POST

    def _frame(self, exchange: Exchange, verdict: Verdict, session: Optional[HttpSession]) -> Optional[Frame]:
        """The message in the body; the reply is out if there is none."""
        try:
            return parse(exchange.request.body, True, self.limits)
        except Malformed as error:
            if session is not None:
                session.connection.malformed(error)
            self.refuse(exchange, verdict, "body", error.message, error.code, None if error.silent else error.id)
            return None

    def too_long(self, exchange: Exchange, verdict: Verdict) -> bool:
        """Whether the body is over the limit; the reply is out then."""
        size = len(exchange.request.body)
        if size > self.limits.max_message_bytes:
            self.refuse(exchange, verdict, "length", str(size))
            return True
        return False

    def _post(self, exchange: Exchange, verdict: Verdict) -> None:
        """[2025-03-26..2025-11-25 basic/transports §Sending Messages to the Server] MUST"""
        principal, session = None, None
        if self._authenticate is not None:
            admitted, principal = self._admit(exchange, verdict)
            if not admitted:
                return
        if self.too_long(exchange, verdict):
            return
        id = exchange.request.headers.get(_SESSION)
        if id is not None:
            session = self._known(id, principal)
            if session is None:
                self.refuse(exchange, verdict, "session")
                return
        frame = self._frame(exchange, verdict, session)
        if frame is None:
            return
        if session is None:
            if isinstance(frame, Request) and frame.method == "initialize":
                self._open(exchange, verdict, frame, principal)
            else:
                self.refuse(exchange, verdict, "no session", id=getattr(frame, "id", None))
        elif not self._version_refused(exchange, verdict, session):
            if isinstance(frame, Request):
                self._ask(exchange, verdict, session, frame, (frame.id,))
            elif isinstance(frame, Batch):
                self._batch(exchange, verdict, session, frame)
            else:
                self._tell(exchange, verdict, session, frame)

    def _tell(self, exchange: Exchange, verdict: Verdict, session: HttpSession, frame: Frame) -> None:
        """A message without an answer."""
        jobs = session.connection.receive(frame, exchange.request.body)
        exchange.reply(202, verdict.cors)
        session.connection.work(jobs)

    def _batch(self, exchange: Exchange, verdict: Verdict, session: HttpSession, batch: Batch) -> None:
        """[2025-03-26 basic/transports §Sending Messages to the Server] MUST"""
        connection = session.connection
        found = httprules.kinds(batch)
        fault = httprules.batch_fault(found, connection.batching)
        if fault and (self.strict or not connection.batching):
            self.refuse(exchange, verdict, "batch", fault)
            return
        if fault:
            connection.counters.note("mixed batch", fault)
        if found.requests or found.broken:
            key: Any = object()
            self._ask(exchange, verdict, session, batch, (key, *dict.fromkeys(found.requests)), key)
        else:
            self._tell(exchange, verdict, session, batch)

    def _ask(
        self, exchange: Exchange, verdict: Verdict, session: HttpSession, frame: Frame, keys: Sequence[RequestId],
        about: Optional[RequestId] = None,
    ) -> None:
        """A message with requests in it: the reply comes when they are answered, or before with something else."""
        if self.closing:
            self.refuse(exchange, verdict, "closing", id=getattr(frame, "id", None))
            return
        reason = session.expect(self.stream(exchange, verdict, keys))
        if reason:
            found = "id is in use" if reason == "id in use" else ""
            self.refuse(exchange, verdict, reason, found)
            return
        connection = session.connection
        connection.work(connection.receive(frame, exchange.request.body, about))

    def stream(self, exchange: Exchange, verdict: Verdict, keys: Sequence[RequestId]) -> Stream:
        """The place for the answers, as JSON or as a stream."""
        prefer = self.json_response
        json = verdict.json and (prefer is not False or not verdict.sse)
        sse = verdict.sse and (prefer is not True or not verdict.json)
        return Stream(REPLY, exchange, verdict.cors, json, sse, keys)

    def _open(self, exchange: Exchange, verdict: Verdict, frame: Request, principal: Any) -> None:
        """Begin a session; its id goes with the result of `initialize`
        [2025-03-26..2025-11-25 basic/transports §Session Management]."""
        sessions = self.sessions
        if self.closing or sessions is None:
            self.refuse(exchange, verdict, "closing", id=frame.id)
            return
        session = HttpSession(new_id(), principal, self.limits)
        if not sessions.add(session):
            self.refuse(exchange, verdict, "full", str(self.limits.max_sessions), id=frame.id)
            return
        try:
            connection = session.connection = self.connect(session)
        except BaseException:
            sessions.remove(session)
            raise
        stream = self.stream(exchange, verdict, (frame.id,))
        held = stream.held = []
        session.expect(stream)
        connection.work(connection.receive(frame, exchange.request.body))
        stream.held = None
        if connection.session.revision is not None:
            self.counters.add("sessions begun")
            stream.headers = (*verdict.cors, ("Mcp-Session-Id", session.id or ""))
            session.answer(stream, b"".join(held))
        else:
            session.answer(stream, b"".join(held))
            sessions.remove(session)
            connection.close("initialize was refused")

    # POST without sessions

    def _post_alone(self, exchange: Exchange, verdict: Verdict) -> None:
        """A message that stands alone; see `http_stateless`."""
        admitted, principal = self._admit(exchange, verdict)
        if not admitted:
            return
        if self.too_long(exchange, verdict):
            return
        frame = self._frame(exchange, verdict, None)
        if frame is not None:
            from .http_stateless import post_alone

            post_alone(self, exchange, verdict, frame, principal)
