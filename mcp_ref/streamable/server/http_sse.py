"""HTTP+SSE, the HTTP transport of 2024-11-05, for clients that know no other.

=======================  ===========================================================================================
request                  answer
=======================  ===========================================================================================
``GET /sse``             a stream, and with it a session: first the `endpoint` event with the address for messages,
                         then every message of the server as a `message` event
``POST /messages?...``   202; whatever there is to say to it goes on the stream
``OPTIONS`` of both      what a browser asks before it asks
=======================  ===========================================================================================

[2024-11-05 basic/transports §HTTP with SSE] MUST.

The stream is the connection: it is as if a pipe were open, and when it breaks, the session and all that runs in it end.
Nothing is sent again. The address holds a session id that nobody can guess, and whoever began a session must also be
the one who posts to it.

Reading: the page gives no statuses. A POST that cannot be taken is refused as in Streamable HTTP, by
`mcp_ref.protocol.streamable_http.refusals`, and nothing of it is said on the stream. The transport and the revision do
not depend on each other: a later one may be agreed here, with its version header and its batches.
"""

import functools
from typing import Any, Callable, Dict, List, Optional, Sequence, Union
from urllib.parse import parse_qs

from ... import deadline
from ...http11.message import Exchange, Pairs
from ...jsonrpc import Batch, Malformed, Request, RequestId, parse
from ...limits import DEFAULT, Limits
from ...protocol.streamable_http import refusals
from ...protocol.streamable_http.header_values import LOOPBACK
from ...protocol.streamable_http.refusals import Verdict
from ...protocol.streamable_http.sse import encode_event
from ...transports.held import Held
from .authenticate import Authenticate, Guard
from .endpoint import ALL, Connect, Endpoint
from .post import tell
from .reply_stream import LISTENING, Stream
from .session import HttpSession
from .session_table import SessionTable, new_id

SESSION = "sessionId"
"""The parameter of the address that names the session."""


class SseSession(HttpSession):
    """A session whose messages all go on one stream."""

    name = "sse"

    def begin(self, exchange: Exchange, address: str, headers: Pairs) -> bool:
        """Begin the stream, with the `endpoint` event [2024-11-05 basic/transports §HTTP with SSE] MUST.

        False: the session has ended before.
        """
        stream = Stream(LISTENING, exchange, headers)
        with self._lock:
            if self.ended:
                return False
            stream.begin(0, deadline.clock())
            stream.write(encode_event(address.encode("ascii"), event="endpoint"), deadline.clock())
            self._listening.append(stream)
        return True

    def post(self, message: Optional[bytes], about: Optional[RequestId] = None, final: bool = False) -> None:
        """Send a message on the stream; see `Transport.post`. Where nobody takes it, the shell ends the session."""
        if message is None:
            return
        event = encode_event(message, event="message")
        with self._lock:
            if not any(stream.write(event, deadline.clock()) for stream in self._listening):
                self._count("messages without a stream")

    def hang_up(self) -> None:
        """Nothing, for the stream is the session; see `authenticate`."""

    @property
    def busy(self) -> bool:
        """Whether the stream is open and the handshake was made: who opens a stream and says nothing is idle."""
        return super().busy and self.connection.session.revision is not None


class SseEndpoint:
    """Both addresses. A shell calls `handle` with requests to one of ``paths``; see `Endpoint` for the options."""

    json_response = None

    def __init__(
        self, connect: Connect, *, path: str = "/sse", messages: str = "/messages", limits: Limits = DEFAULT,
        authenticate: Union[Authenticate, Guard, None] = None, allowed_hosts: Sequence[str] = LOOPBACK,
        allowed_origins: Sequence[str] = LOOPBACK, strict: bool = False, revisions: Sequence[str] = ALL,
        held: Optional[Held] = None, trusted_proxies: Sequence[str] = (),
    ) -> None:
        self.paths = (path.rstrip("/"), messages.rstrip("/"))
        self.limits = limits
        self.sessions = SessionTable(limits)
        options: Dict[str, Any] = dict(
            limits=limits, sessions=self.sessions, authenticate=authenticate, allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins, strict=strict, revisions=revisions, held=held,
            trusted_proxies=trusted_proxies,
        )
        self._streams = _Streams(connect, path=path, **options)
        self._streams.address = messages
        self._messages = _Messages(connect, path=messages, **options)
        self._messages.counters = self._streams.counters
        self.counters = self._streams.counters

    def serves(self, path: str) -> bool:
        """Whether this path is one of ours."""
        return path.rstrip("/") in self.paths

    def handle(self, exchange: Exchange) -> None:
        """Answer one request."""
        at_messages = exchange.request.path.rstrip("/") == self.paths[1]
        (self._messages if at_messages else self._streams).handle(exchange)

    def tick(self) -> None:
        """See `Endpoint.tick`."""
        self._streams.tick()

    def close(self, grace: float) -> None:
        """See `Endpoint.close`."""
        self._messages.closing = True
        self._streams.close(grace)


_Methods = Dict[str, Callable[[Exchange, Verdict], None]]


class _Streams(Endpoint):
    """Where streams are opened."""

    address = ""

    def _offered(self, streams: bool, delete: bool) -> _Methods:
        return {"GET": self._get}

    def _get(self, exchange: Exchange, verdict: Verdict) -> None:
        admitted, principal = self._admit(exchange, verdict)
        if not admitted or not self._allows(exchange, verdict, principal):
            return
        version = exchange.request.headers.get("mcp-protocol-version")
        fault = "" if version is None else refusals.version_fault(version, self.revisions, None, self.strict)
        if fault:
            self.refuse(exchange, verdict, "version", fault)
        elif self.closing:
            self.refuse(exchange, verdict, "closing")
        else:
            self._begin(exchange, verdict, principal)

    def _begin(self, exchange: Exchange, verdict: Verdict, principal: Any) -> None:
        session = SseSession(new_id(), principal, self.limits)
        sessions = self.sessions
        if sessions is None or not self.enter(exchange, verdict, session):
            return
        try:
            self.connected(session)
        except BaseException:
            sessions.remove(session)
            raise
        exchange.on_close = lambda: self.end(session, "the client closed the stream")
        address = "%s%s?%s=%s" % (exchange.request.root, self.address, SESSION, session.id)
        if session.begin(exchange, address, verdict.cors):
            self.counters.add("sessions begun")
        else:
            self.refuse(exchange, verdict, "closing")


class _Messages(Endpoint):
    """Where messages are posted. What the client accepts does not matter: there is nothing in a reply."""

    def __init__(self, connect: Connect, **options: Any) -> None:
        super().__init__(connect, **options)
        self._judge = functools.lru_cache(maxsize=128)(self._judge_unaccepting)

    def _judge_unaccepting(
        self, method: str, path: str, host: Optional[str], origin: Optional[str], accept: Optional[str],
        content_type: Optional[str],
    ) -> Verdict:
        return self._rules.judge(method, path, host, origin, None, content_type)

    def _offered(self, streams: bool, delete: bool) -> _Methods:
        return {"POST": self._post}

    def _post(self, exchange: Exchange, verdict: Verdict) -> None:
        request = exchange.request
        admitted, principal = self._admit(exchange, verdict)
        if not admitted:
            return
        if self.too_long(exchange, verdict):
            return
        named: List[str] = parse_qs(request.query).get(SESSION, [])
        session = self._known(named[0], principal) if len(named) == 1 else None
        if not named:
            self.refuse(exchange, verdict, "body", "%s is missing: post to the address in the endpoint event" % SESSION)
        elif session is None:
            self.refuse(exchange, verdict, "session")
        elif not self._version_refused(exchange, verdict, session):
            self._take(exchange, verdict, session, principal)

    def _take(self, exchange: Exchange, verdict: Verdict, session: HttpSession, principal: Any) -> None:
        """Take a message. Batches go by the rules of pipes: what belongs into one, no page says of this transport."""
        try:
            frame = parse(exchange.request.body, True, self.limits)
        except Malformed as error:
            if self._allows(exchange, verdict, principal):
                self.broken(exchange, verdict, session, error)
            return
        if not self._allows(exchange, verdict, principal, frame):
            return
        if isinstance(frame, Batch):
            found = refusals.kinds(frame)
            fault = "" if session.connection.batching else refusals.batch_fault(found, False)
            asks = bool(found.requests)
        else:
            fault, asks = "", isinstance(frame, Request)
        if fault:
            self.refuse(exchange, verdict, "batch", fault)
        elif asks and self.closing:
            self.refuse(exchange, verdict, "closing", id=getattr(frame, "id", None))
        else:
            tell(exchange, verdict, session, frame, principal)
