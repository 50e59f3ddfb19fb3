"""POSTs of the stateless era: each brings one request, and its reply carries all that belongs to that request.

[2026-07-28 basic/transports/streamable-http §Sending Messages]. An endpoint has one `Connection` for all of them, made
when the first one comes: a request says everything of itself (`mcp_ref.peer.stateless`), so it needs none of its own.
On that connection a request goes by its `Reply`, and not by its id, because every client counts from 1.

===========================================  ================================================================
what is sent                                 becomes
===========================================  ================================================================
the answer, before anything else             a JSON object, or a stream of one event where only that is taken
a notification that belongs to the request   an event; the reply is a stream from then on, and ends with the answer
the answer of a request refused as such      a JSON object with the status that STATUSES has for its code
anything else                                dropped and counted: there is no stream for it
===========================================  ================================================================

A stream has no ids, and none can be resumed. A client that goes away cancels its request
[2026-07-28 basic/transports/streamable-http §Cancellation] MUST, also while the answer to come would be JSON; nothing
is sent after that. Reading: a client that ends its side of the connection has gone away, for nobody can tell that from
closing it.

What bounds the requests that run at a time, and wait: ``max_inflight`` is a bound for one client, and so it is for each
principal here, its `subscriptions/listen` streams included (see ``authenticate``; clients that need not show who they
are cannot be told apart). All clients together have ``max_http_connections``, since HTTP/1.1 has one request on each.
"""

import threading
from typing import TYPE_CHECKING, Any, Dict, Hashable, List, Optional, Sequence, Tuple

from ... import deadline
from ...errors import (
    HEADER_MISMATCH, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_PROTOCOL_VERSION, RpcError,
)
from ...http11.message import Exchange
from ...jsonrpc import Error, Frame, Notification, Request, RequestId, encode
from ...limits import Limits
from ...protocol import envelope
from ...protocol.streamable_http import mirrored
from ...protocol.streamable_http.era import mismatch
from ...protocol.streamable_http.refusals import Verdict
from ...protocol.streamable_http.sse import comment, encode_event
from ...transports.replies import ReplyTransport
from .authenticate import Guard
from .reply_stream import STREAM_HEADERS
from .session import JSON_HEADERS

if TYPE_CHECKING:
    from .endpoint import Endpoint

Fields = Tuple[Tuple[str, str], ...]
LISTEN = "subscriptions/listen"
STATUSES: Dict[int, int] = {
    METHOD_NOT_FOUND: 404,  # [2026-07-28 basic/transports/streamable-http §Protocol Version Header] MUST
    UNSUPPORTED_PROTOCOL_VERSION: 400,  # likewise
    INVALID_PARAMS: 400,  # [2026-07-28 basic/index §`_meta`] MUST, of what is missing there
    MISSING_CLIENT_CAPABILITY: 400,  # likewise
    HEADER_MISMATCH: 400,  # [2026-07-28 basic/transports/streamable-http §Server Validation] MUST
    INTERNAL_ERROR: 503,  # too many requests
}
"""Code of a request that is refused as such -> status. What a handler answers has 200, errors as well."""
NO_STREAMS = "no streams are offered here, for each would hold a thread (streams=True allows that)"
_COMMENT = comment("keep-alive")
_GONE = "the client went away"


class Reply:
    """The reply to one POST, and what its request is called on the connection. Thread-safe."""

    client: Optional[Hashable] = None
    """Who counts it among their requests; None: nobody."""
    status = 200
    """Of a reply that is no stream."""
    gone = False
    """Whether the client has gone away."""
    sent_at = 0.0
    listens = False
    """Whether the client only listens; see `authenticate`."""
    _started = False
    _over = False

    def __init__(self, exchange: Exchange, headers: Fields, id: RequestId, json: bool, sse: bool) -> None:
        self.exchange = exchange
        self.headers = headers
        self.id = id
        self.json = json
        """Whether it may be a JSON object; otherwise it is a stream."""
        self.sse = sse
        """Whether it may be a stream."""
        self._lock = threading.Lock()

    def send(self, message: bytes) -> bool:
        """Send what comes before the answer; False: it cannot be, or nobody is there."""
        with self._lock:
            if self._over or not self.sse:
                return False
            if not self._started:
                self._started = True
                self.exchange.start(200, STREAM_HEADERS + self.headers)
            self.sent_at = deadline.clock()
            return self.exchange.send(encode_event(message))

    def end(self, message: bytes) -> None:
        """Send the answer."""
        with self._lock:
            if self._over:
                return
            self._over = True
            if self._started:
                self.exchange.finish(encode_event(message))
            elif self.json or self.status != 200:
                self.exchange.reply(self.status, JSON_HEADERS + self.headers, message)
            else:
                self.exchange.reply(200, STREAM_HEADERS + self.headers, encode_event(message))

    def cut(self) -> None:
        """End it without an answer; a client that has got nothing yet is told."""
        self.status = 503
        with self._lock:
            if self._started and not self._over:
                self._over = True
                self.exchange.finish()
        self.end(encode(Error(self.id, INTERNAL_ERROR, "The server is shutting down")))

    def leave(self) -> None:
        """The client has gone away: nothing more is sent."""
        self.gone = True
        with self._lock:
            self._over = True

    def keep(self, now: float, quiet: float) -> None:
        """Send a comment on a stream on which nothing was sent for ``quiet`` seconds."""
        with self._lock:
            if self._started and not self._over and self.sent_at + quiet <= now:
                self.sent_at = now
                self.exchange.send(_COMMENT)


class ModernTransport(ReplyTransport):
    """What carries the requests of all clients of one endpoint. Thread-safe."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self._clients: Dict[Hashable, int] = {}

    # What the dispatcher asks for

    def close(self) -> None:
        """End what is open; clients without an answer are told."""
        with self._lock:
            self.ended = True
        for reply in self._running():
            reply.cut()
        self._wake()

    def _running(self) -> List[Any]:
        """The replies to requests without an answer."""
        return [] if self.connection is None else list(self.connection.inflight.ids())

    def reason(self) -> str:
        """See `Transport.reason`."""
        return "the endpoint was closed"

    def refused(self, about: Any, code: int) -> None:
        """The reply has a status of its own; see STATUSES."""
        about.status = STATUSES.get(code, 400)

    def post(self, message: Optional[bytes], about: Any = None, final: bool = False) -> None:
        """See `Transport.post`, and the module for what becomes of a message."""
        if about is None:
            self._count("messages without a stream")
        elif not final:
            if message is not None and not about.send(message):
                self._count("messages after the client left" if about.gone else "messages without a stream")
        else:
            if about.client is not None:
                self._release(about.client)
            if message is not None:
                about.end(message)
            elif not about.gone:
                about.cut()  # cancelled, and not by the client: this is the end

    # What the endpoint asks for

    def expect(self, reply: Reply, principal: Any) -> bool:
        """A request of this principal is about to be received; False if there are too many already."""
        client: Hashable = principal if isinstance(principal, Hashable) else repr(principal)
        with self._lock:
            running = self._clients.get(client, 0)
            if running >= self._limits.max_inflight:
                return False
            self._clients[client] = running + 1
        reply.client = client
        return True

    def _release(self, client: Hashable) -> None:
        with self._lock:
            left = self._clients[client] - 1
            if left:
                self._clients[client] = left
            else:
                del self._clients[client]

    def lost(self, reply: Reply) -> None:
        """The client of this request has gone away [2026-07-28 basic/patterns/cancellation §Transport-Specific
        Cancellation] MUST."""
        reply.leave()
        self.abandon(reply)

    def abandon(self, reply: Reply) -> None:
        """Cancel the request of a client that has gone away, if it is there already and not answered."""
        if self.connection.inflight.cancel(reply, _GONE):
            from ...diagnostics.packagelog import get_logger

            get_logger(__name__).info("request %.80r cancelled: %s", reply.id, _GONE)

    def keep(self, now: float, guard: Optional[Guard]) -> None:
        """From time to time: keep quiet streams alive; end those on which somebody listens who may not any more."""
        for reply in self._running():
            reply.keep(now, self._limits.stream_keepalive)
            if reply.listens and guard is not None and guard.expired(reply.client):
                self.connection.inflight.cancel(reply, "what the client has shown is good no longer")


def post_modern(endpoint: "Endpoint", exchange: Exchange, verdict: Verdict, frame: Frame, principal: Any) -> None:
    """Answer one POST of this era."""
    if isinstance(frame, Notification):
        # This era defines none here; those of extensions go on, and the dispatcher counts all others.
        connection = endpoint.shared().connection
        jobs = connection.receive(frame, exchange.request.body)
        exchange.reply(202, verdict.cors)
        connection.work(jobs)
    elif isinstance(frame, Request):
        if endpoint.closing:
            endpoint.refuse(exchange, verdict, "closing", id=frame.id)
            return
        fault = header_fault(endpoint, exchange, frame)
        if fault is not None:
            refuse_modern(endpoint, exchange, verdict, fault, frame.id)
        else:
            _ask(endpoint, exchange, verdict, frame, principal)


def _ask(endpoint: "Endpoint", exchange: Exchange, verdict: Verdict, frame: Request, principal: Any) -> None:
    listens = frame.method == LISTEN
    if listens and not (endpoint.listens and verdict.sse):
        why = "the client accepts no stream" if endpoint.listens else NO_STREAMS
        refuse_modern(endpoint, exchange, verdict, RpcError(METHOD_NOT_FOUND, "%s: %s" % (LISTEN, why)), frame.id)
        return
    json, sse = endpoint.forms(verdict)
    reply = Reply(exchange, verdict.cors, frame.id, json, sse or listens)
    reply.listens = listens
    transport = endpoint.shared()
    if principal is not None and not transport.expect(reply, principal):
        text = "Busy: max_inflight (%d) requests of this client are running" % endpoint.limits.max_inflight
        refuse_modern(endpoint, exchange, verdict, RpcError(INTERNAL_ERROR, text), frame.id)
        return
    exchange.on_close = lambda: transport.lost(reply)
    exchange.watch()
    connection = transport.connection
    jobs = connection.receive(frame, exchange.request.body, reply, principal)
    if reply.gone:  # before there was anything to cancel
        transport.abandon(reply)
    connection.work(jobs)


def header_fault(endpoint: "Endpoint", exchange: Exchange, request: Request) -> Optional[RpcError]:
    """The refusal of a request whose header fields do not fit its body; None where they do.

    What is wrong with the envelope is told first: by which rules it goes decides what the fields have to be.
    """
    params, method = request.params, request.method
    asked: Sequence[mirrored.Mirrored] = ()
    if method == "tools/call" and params and endpoint.mirrored is not None:
        asked = endpoint.mirrored(params.get("name"))
    headers = exchange.request.headers
    fault = mirrored.fault(method, params, asked, headers.get)
    if headers.several and fault is None:
        name = headers.repeated([mirrored.METHOD, mirrored.NAME, *(mirrored.PARAM + one.name for one in asked)])
        fault = None if name is None else "more than one field %s, which has one value" % name
    if fault is None or not envelope.carries(params):
        return None
    try:
        envelope.read(params, endpoint.eras.ours)
    except RpcError as error:
        return error
    return mismatch(fault)


def refuse_modern(
    endpoint: "Endpoint", exchange: Exchange, verdict: Verdict, error: RpcError, id: Optional[RequestId]
) -> None:
    """Reply with the refusal of a request, or of what is none."""
    endpoint.counters.add("refused: %d" % error.code)
    exchange.reply(STATUSES.get(error.code, 400), JSON_HEADERS + verdict.cors,
                   encode(Error(id, error.code, error.message, error.data)))
