"""The stateless era: each POST brings one request, and its reply carries all that belongs to that request.

[2026-07-28 basic/transports/streamable-http §Sending Messages]. An endpoint has one `Connection` for all
these requests, made with the first one: a request says everything about itself (`mcp_ref.peer.role`). On that
connection the key of a request is its `ReplyStream` and not its id, because every client counts from 1.

===========================================  ================================================================
message                                      becomes
===========================================  ================================================================
the answer, before anything else             a JSON object, or a stream of one event where only that is taken
a notification that belongs to the request   an event; the reply is a stream from then on, and ends with the answer
the answer of a request refused as such      a JSON object with the status that STATUSES has for its code
any other message                            dropped and counted: there is no stream for it
===========================================  ================================================================

Events have no ids, and no stream can be resumed. A client that goes away cancels its request
[2026-07-28 basic/transports/streamable-http §Cancellation] MUST, also while the answer to come would be JSON; nothing
is sent after that. Reading: a client that ends its side of the connection has gone away, for a server cannot tell that
from closing it.

Two limits bound the running and waiting requests: ``max_inflight`` holds for each principal, its `subscriptions/listen`
streams included (clients that need no credentials cannot be told apart, see `authenticate`); and
``max_http_connections`` holds for all clients together, since HTTP/1.1 has one request on each connection.
"""

import functools
import threading
from typing import TYPE_CHECKING, Any, Dict, Hashable, List, Optional, Sequence

from ...errors import (
    HEADER_MISMATCH, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_PROTOCOL_VERSION, RpcError,
)
from ...http11.message import Exchange, HttpRequest
from ...jsonrpc import ErrorResponse, Notification, Request, encode
from ...limits import Limits
from ...methods import CALL_TOOL, CANCELLED, LISTEN
from ...protocol import envelope
from ...protocol.streamable_http import mirrored
from ...protocol.streamable_http.refusals import mismatch
from ...threads import Tally
from ...transports.base import ReplyTransport
from .authenticate import Guard
from .post import PostRefused, Posted, need_message
from .reply_stream import ReplyStream

if TYPE_CHECKING:
    from .endpoint import Endpoint

STATUSES: Dict[int, int] = {
    METHOD_NOT_FOUND: 404,  # [2026-07-28 basic/transports/streamable-http §Protocol Version Header] MUST
    UNSUPPORTED_PROTOCOL_VERSION: 400,  # [2026-07-28 basic/transports/streamable-http §Protocol Version Header] MUST
    INVALID_PARAMS: 400,  # [2026-07-28 basic/index §`_meta`] MUST, of what is missing there
    MISSING_CLIENT_CAPABILITY: 400,  # [2026-07-28 basic/index §`_meta`] MUST
    HEADER_MISMATCH: 400,  # [2026-07-28 basic/transports/streamable-http §Server Validation] MUST
    INTERNAL_ERROR: 503,  # too many requests
}
"""Code of a request that is refused as such -> status. The answer of a handler has 200, also an error."""
NO_STREAMS = "no streams are offered here, for each would hold a thread (streams=True allows that)"
_GONE = "the client went away"


class StatelessTransport(ReplyTransport):
    """The transport of the requests of all clients of one endpoint. Thread-safe."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self._clients = Tally("max_inflight", limits.max_inflight)

    # What the dispatcher asks for

    def close(self) -> None:
        """End what is open; clients without an answer get an error."""
        with self._lock:
            self.ended = True
        for reply in self._running():
            _cut(reply)
        self._wake()

    def _running(self) -> List[Any]:
        """Return the replies to requests without an answer."""
        return [] if self.connection is None else list(self.connection.inflight.ids())

    def reason(self) -> str:
        """Return why the connection ended."""
        return "the endpoint was closed"

    def refused(self, about: Any, code: int) -> None:
        """Choose the status of a refusal; see STATUSES."""
        about.status = STATUSES.get(code, 400)

    def request_of(self, about: Any) -> Optional[HttpRequest]:
        exchange = about.exchange
        return None if exchange is None else exchange.request

    def post(self, message: Optional[bytes], about: Any = None, final: bool = False) -> None:
        """Route a message by the table in the module docstring."""
        # [2026-07-28 basic/transports/streamable-http §Receiving Messages] MUST: what is sent on a stream relates to
        # its request, and there are no requests of the server. A message of no request has no place to go.
        if about is None:
            self._count("messages without a stream")
        elif not final:
            if message is not None and not (about.streams and about.send(message)):
                self._count("messages after the client left" if about.gone else "messages without a stream")
        else:
            if about.client is not None:
                self._clients.leave(about.client)
            if message is not None:
                about.answer(message)
            elif not about.gone:  # the request was cancelled, and not by the client: the connection ends
                if about.listens:
                    # [2026-07-28 basic/patterns/cancellation] MUST
                    about.send(encode(Notification(CANCELLED, {
                        "requestId": about.request_id, "reason": "the server ends the subscription",
                        "_meta": {envelope.SUBSCRIPTION: about.request_id}})))
                _cut(about)

    # What the endpoint asks for

    def expect(self, reply: ReplyStream, principal: Any) -> bool:
        """Count a request of this principal, which is about to be received. Returns False if too many are running."""
        client: Hashable = principal if isinstance(principal, Hashable) else repr(principal)
        if not self._clients.enter(client):
            return False
        reply.client = client
        return True

    def lost(self, reply: ReplyStream, exchange: Exchange) -> None:
        """Cancel the request of a client that has gone away [2026-07-28 basic/patterns/cancellation §Transport-Specific
        Cancellation] MUST."""
        reply.lost(exchange)
        self.abandon(reply)

    def abandon(self, reply: ReplyStream) -> None:
        """Cancel the request of a client that has gone away, if it is there already and not answered."""
        if self.connection.inflight.cancel(reply, _GONE):
            from ...diagnostics.packagelog import get_logger

            get_logger(__name__).info("request %.80r cancelled: %s", reply.request_id, _GONE)

    def tick(self, now: float, guard: Optional[Guard]) -> None:
        """Keep quiet streams alive, and end listening streams whose credentials have expired."""
        for reply in self._running():
            reply.keep_alive(now, self._limits.stream_keepalive)
            if reply.listens and guard is not None and guard.expired(reply.client):
                self.connection.inflight.cancel(reply, "the credentials of the client are no longer valid")


def _cut(reply: ReplyStream) -> None:
    """End a reply without an answer; a client that has received nothing yet is told."""
    reply.cut(503, encode(ErrorResponse(reply.request_id, INTERNAL_ERROR, "The server is shutting down")))


class Stateless:
    """The POSTs of the stateless era; see the module. It has the connection of all these requests."""

    def __init__(self, endpoint: "Endpoint") -> None:
        self.endpoint = endpoint
        self._transport: Optional[StatelessTransport] = None
        self._lock = threading.Lock()

    def post(self, post: Posted) -> None:
        """Give the connection a message. The reply comes with the answer, or before it as a stream."""
        endpoint, exchange = self.endpoint, post.exchange
        # Step 1 [2026-07-28 basic/transports/streamable-http §Sending Messages] MUST: the body is one request or one
        # notification; a batch or a response was refused with the era.
        request = need_message(post.frame)
        if not isinstance(request, Request):
            # This era defines no notifications of clients here; those of extensions go on, others are counted.
            connection = self.transport().connection
            jobs = connection.receive(request, exchange.request.body)
            exchange.reply(202, post.verdict.cors)
            connection.work(jobs)
            return
        if endpoint.closing:
            raise PostRefused("closing", "", request.id)
        self._compare_fields(request, post)
        listens = request.method == LISTEN
        if listens and not (endpoint.listens and post.verdict.sse):
            why = "the client accepts no stream" if endpoint.listens else NO_STREAMS
            raise PostRefused("no stream", "%s: %s" % (LISTEN, why), request.id)
        reply = endpoint.reply_to(exchange, post.verdict, post.keys)
        reply.request_id = request.id
        if listens:
            reply.listens = reply.sse = True
        # A request that was counted goes to the transport that counted it, also if that is closed meanwhile.
        transport = self.transport()
        if post.principal is not None and not transport.expect(reply, post.principal):
            raise PostRefused("busy", "Busy: max_inflight (%d) requests of this client are running"
                              % endpoint.limits.max_inflight, request.id)
        # The exchange is watched before the request is known: a client that goes away in between is found here, as
        # `lost` had nothing to cancel.
        exchange.on_close = functools.partial(transport.lost, reply, exchange)
        exchange.watch()
        jobs = transport.connection.receive(request, exchange.request.body, reply, post.principal)
        if reply.gone:
            transport.abandon(reply)
        transport.connection.work(jobs)

    def _compare_fields(self, request: Request, post: Posted) -> None:
        """Compare the header fields of a request with its body.

        What is wrong with the envelope is told first: its version decides what the fields have to be.
        """
        params, method, http = request.params, request.method, post.exchange.request
        asked: Sequence[mirrored.Mirrored] = ()
        # Step 2 [2026-07-28 basic/transports/streamable-http §Server Behavior for Custom Headers] MUST: the fields of
        # arguments that the schema of the tool annotates are compared; other Mcp-Param-* fields are not recognized.
        if method == CALL_TOOL and params and self.endpoint.mirrored is not None:
            asked = self.endpoint.mirrored(params.get("name"), post.principal, http)
        fault = mirrored.fault(method, params, asked, http.headers.get, self.endpoint.named)
        if http.headers.several and fault is None:
            single = [mirrored.METHOD, mirrored.NAME, *(mirrored.PARAM + one.name for one in asked)]
            name = http.headers.repeated(single)
            fault = None if name is None else "more than one field %s, which has one value" % name
        if fault is None or not envelope.carries(params):
            return
        error = mismatch(fault)
        try:
            envelope.read(params, self.endpoint.eras.ours)
        except RpcError as wrong:
            error = wrong
        raise PostRefused("fields", error.message, request.id, error)

    def transport(self) -> StatelessTransport:
        """Return the transport of all requests; made with the first one, and anew if a handler has closed it."""
        transport, endpoint = self._transport, self.endpoint
        if transport is None or transport.ended:
            with self._lock:
                transport = self._transport
                if transport is None or (transport.ended and not endpoint.closing):
                    transport = StatelessTransport(endpoint.limits)
                    transport.held, transport.tells_apart = endpoint.held, endpoint.tells_apart
                    transport.connection = endpoint.connect(transport)
                    transport.connection.share(endpoint.limits.max_http_connections)
                    self._transport = transport
        return transport

    def tick(self, now: float) -> None:
        """Keep quiet streams alive, and end those on which nobody may listen any more; about once a second."""
        if self._transport is not None:
            self._transport.tick(now, self.endpoint.guard)

    def connections(self) -> List[Any]:
        """Return the connection, if there is one yet."""
        with self._lock:
            return [] if self._transport is None else [self._transport.connection]
