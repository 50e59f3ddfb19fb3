"""Who listens: streams of notifications that clients open with `subscriptions/listen`.

[2026-07-28 basic/patterns/subscriptions §Opening a Stream]. A stream is a request that is answered when it ends. It
holds no thread: its route is deferred, and whoever changes something tells the listeners.

=====================================  =========================================================================
a client asks for                      it is agreed to
=====================================  =========================================================================
``toolsListChanged`` and its likes     if that list is one of this server's
``resourceSubscriptions``              for the URIs that a resource, template or directory covers
=====================================  =========================================================================

What is not agreed to is left out of the acknowledgment [2026-07-28 basic/patterns/subscriptions §Acknowledgment].

Readings: URIs mean what they mean to `mcp_ref.server.subscriptions`, so one that ends with a slash covers what is below
it. A server that ends a stream says so twice: one page has it send `notifications/cancelled`
[2026-07-28 basic/patterns/cancellation §Behavior Requirements] MUST, another answer the request
[2026-07-28 basic/patterns/subscriptions §Graceful Closure] SHOULD; the answer comes last, because it ends the request
that the notification names.
"""

import threading
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Set

from ..codec import encode
from ..errors import INTERNAL_ERROR, RpcError
from ..jsonrpc import Request
from ..messages.subscriptions import (
    SubscriptionFilter, SubscriptionsAcknowledgedNotificationParams, SubscriptionsListenRequestParams,
)
from ..peer.context import Context, Route
from ..peer.dispatcher import Connection
from ..peer.params import params_reader
from ..protocol.envelope import SUBSCRIPTION
from ..protocol.uris import fault
from ..revisions import Revision
from ..transports.held import peer_of
from .announcements import LIST_CHANGED, UPDATED, tell
from .subscriptions import Watched, no_room, size_of

if TYPE_CHECKING:
    from .server import Server

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
FILTERS: Dict[str, str] = {
    "tools": "tools_list_changed", "prompts": "prompts_list_changed", "resources": "resources_list_changed",
}
"""Feature -> the attribute of `SubscriptionFilter` by which a client asks to hear of changes of its list."""


class Listener:
    """One stream: what it hears of, and the request that it is the answer to."""

    def __init__(self, context: Context, wanted: SubscriptionFilter) -> None:
        self.context = context
        self.features = [feature for feature, name in FILTERS.items() if getattr(wanted, name)]
        self.uris: List[str] = list(wanted.resource_subscriptions or ())
        self.size = size_of(self.uris)
        self.holder = peer_of(context.principal if context.connection.transport.tells_apart else None, self)
        """The peer for which that is counted, see `mcp_ref.transports.held`."""
        self._lock = threading.Lock()
        self._early: Optional[List[Any]] = []
        """What there was to tell before the acknowledgment, and the answer, by None; None once that is out."""

    def tell(self, method: str, params: Optional[Dict[str, Any]] = None) -> None:
        """Send a notification, which names this stream; before the acknowledgment: right after it."""
        with self._lock:
            if self._early is not None:
                self._early.append((method, params))
                return
        self._send(method, params)

    def acknowledge(self, agreed: Dict[str, Any]) -> None:
        """Send the first message of the stream, and then what happened meanwhile.

        [2026-07-28 basic/patterns/subscriptions §Acknowledgment] MUST
        """
        self._send(ACKNOWLEDGED, agreed)
        while True:
            with self._lock:
                early, self._early = self._early, [] if self._early else None
            if not early:
                return
            for method, params in early:
                self._send(method, params)

    def finish(self, result: Optional[Dict[str, Any]]) -> None:
        """Answer the request, after all that was told; None: there is no answer."""
        with self._lock:
            if self._early is not None and result is not None:
                self._early.append((None, result))
                return
        self.context.complete(result)

    def _send(self, method: Optional[str], params: Optional[Dict[str, Any]]) -> None:
        context = self.context
        if method is None:
            context.complete(params)
            return
        tell(context.connection, method, dict(params or {}, _meta={SUBSCRIPTION: context.request_id}), context)


class Listeners:
    """The streams of all clients of one server. Thread-safe; no lock is held while sending."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._lock = threading.Lock()
        self._open: Dict[Listener, None] = {}
        self._by_feature: Dict[str, Dict[Listener, None]] = {feature: {} for feature in FILTERS}
        self._by_uri: Watched[Listener] = Watched()

    # Open

    def route(self, revision: Revision) -> Route:
        """Answers `subscriptions/listen`, on the reader: it takes no time and runs no code of the author's."""
        read = params_reader(SubscriptionsListenRequestParams, revision)

        def listen(context: Context, params: Dict[str, Any]) -> None:
            agreed = self._agree(context, read(params).notifications)
            listener = Listener(context, agreed)
            self._add(listener, context.connection)
            context.request = Request(context.request_id, context.request.method, None)  # as long as the stream is open
            shown = encode(SubscriptionsAcknowledgedNotificationParams(agreed), revision)
            try:
                listener.acknowledge(shown)
                context.incoming.watch(lambda: self._end(listener, None))
            except BaseException:  # a Ctrl-C, which the dispatcher answers
                self._remove(listener)
                raise

        return Route(listen, inline=True, deferred=True)

    def _agree(self, context: Context, asked: SubscriptionFilter) -> SubscriptionFilter:
        """What of it this server has to offer."""
        limits, agreed = context.connection.limits, SubscriptionFilter()
        for feature, name in FILTERS.items():
            if getattr(asked, name) and self._server.has_feature(feature):
                setattr(agreed, name, True)
        uris: Set[str] = set(asked.resource_subscriptions or ())
        if len(uris) > limits.max_subscriptions:
            text = "Too many subscriptions: one stream may have max_subscriptions (%d)" % limits.max_subscriptions
            raise RpcError(INTERNAL_ERROR, text)
        if sum(map(len, uris)) > limits.max_subscribed_bytes:
            text = "Too many subscriptions: the URIs of one stream may have max_subscribed_bytes (%d) together"
            raise RpcError(INTERNAL_ERROR, text % limits.max_subscribed_bytes)
        if asked.resource_subscriptions is not None and self._server.has_feature("resources"):
            covers = self._server.resources.covers
            agreed.resource_subscriptions = [
                uri for uri in dict.fromkeys(asked.resource_subscriptions)
                if fault(uri, limits.max_uri_length) is None and covers(uri, limits.max_uri_length)]
        return agreed

    def _add(self, listener: Listener, connection: Connection) -> None:
        most, held = connection.limits.max_listeners, connection.transport.held
        with self._lock:
            if len(self._open) >= most:
                raise RpcError(INTERNAL_ERROR, "Too many streams: max_listeners (%d) are open" % most)
            if held is not None and not held.take(listener.holder, listener.size, "subscriptions"):
                raise no_room(connection)
            self._open[listener] = None
            for feature in listener.features:
                self._by_feature[feature][listener] = None
            for uri in listener.uris:
                self._by_uri.add(uri, listener)

    # Tell

    def changed(self, feature: str) -> int:
        """Tell who asked that the list of this feature is another one now; how many."""
        return self._tell(list(self._by_feature[feature]), LIST_CHANGED[feature])

    def updated(self, uri: str) -> int:
        """Tell who asked for this URI, or for a container of it, that it has changed; how many."""
        with self._lock:
            found = self._by_uri.of(uri)
        return self._tell(found, UPDATED, {"uri": uri})

    def _tell(self, listeners: List[Listener], method: str, params: Optional[Dict[str, Any]] = None) -> int:
        for listener in listeners:
            listener.tell(method, params)
        return len(listeners)

    # End

    def end(self, connection: Optional[Connection] = None) -> int:
        """End the streams of one connection, or all, and tell their clients that it is meant so; how many."""
        with self._lock:
            ending = [one for one in self._open if connection is None or one.context.connection is connection]
        for listener in ending:
            id = listener.context.request_id
            listener.tell("notifications/cancelled", {"requestId": id, "reason": "the server ends the subscription"})
            self._end(listener, {"_meta": {SUBSCRIPTION: id}})
        return len(ending)

    def _end(self, listener: Listener, result: Optional[Dict[str, Any]]) -> None:
        """The stream is over; ``result``: its answer, None where nobody waits for one."""
        if self._remove(listener):
            listener.finish(result)

    def _remove(self, listener: Listener) -> bool:
        """Tell this one nothing any more; False: it was so before."""
        with self._lock:
            if listener not in self._open:
                return False
            del self._open[listener]
            held = listener.context.connection.transport.held
            if held is not None:
                held.free(listener.holder, listener.size)
            for feature in listener.features:
                del self._by_feature[feature][listener]
            for uri in listener.uris:
                self._by_uri.remove(uri, listener)
        return True

    def __len__(self) -> int:
        """How many streams are open."""
        return len(self._open)
