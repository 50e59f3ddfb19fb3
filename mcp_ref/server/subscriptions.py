"""Subscriptions to changes: of a resource in a session, and of lists and resources by a stream of 2026-07-28.

In a session a client names one resource at a time [..2025-11-25 server/resources §Subscriptions]: `Subscriptions`. Such
a subscription belongs to one connection and ends with it. Two tables, from a URI to its subscribers and
from a connection to its URIs, make an update and the end of a connection cost no more than the subscriptions concerned.

A notification may name a part of what was subscribed to (the schema of
`ResourceUpdatedNotification` says so), and the page does not say when. Readings:

- A subscription to a URI that ends with a slash, which names a container, covers everything below it:
  ``file:///project/`` covers ``file:///project/src/main.rs``. Any other covers just its own URI.
- A URI that no resource, template or directory of the server covers can never be updated, so
  subscribing to it is answered as reading it is: resource not found. A resource of a template need not
  exist at the moment.
- Subscribing twice is subscribing once, and unsubscribing without a subscription succeeds:
  afterwards the client has what it wants.

In 2026-07-28 a client opens a stream of notifications with `subscriptions/listen`
[2026-07-28 basic/patterns/subscriptions §Opening a Stream]: `Listeners`. A stream is a request that is answered when it
ends. It holds no thread: its route is deferred, and the thread that changes something tells the listeners.

=====================================  =========================================================================
a client asks for                      the server agrees
=====================================  =========================================================================
``toolsListChanged`` and so on         if it has that list
``resourceSubscriptions``              for the URIs that a resource, template or directory covers
a member of an extension               as the extension says, see `mcp_ref.peer.extension.Extension.agree`
=====================================  =========================================================================

The acknowledgment leaves out the rest [2026-07-28 basic/patterns/subscriptions §Acknowledgment].

Readings: URIs mean the same here as in a session, so one that ends with a slash covers everything below
it. A server that ends a stream says so twice: one page has it send `notifications/cancelled`
[2026-07-28 basic/patterns/cancellation §Behavior Requirements] MUST, another answer the request
[2026-07-28 basic/patterns/subscriptions §Graceful Closure] SHOULD; the answer comes last, because it ends the request
that the notification names.
"""

import threading
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Sequence, Set, Tuple, TypeVar

from ..codec import encode
from ..errors import INTERNAL_ERROR, RpcError
from ..jsonrpc import Request
from ..messages.resources import SubscribeRequestParams, UnsubscribeRequestParams
from ..messages.subscriptions import (
    SubscriptionFilter, SubscriptionsAcknowledgedNotificationParams, SubscriptionsListenRequestParams,
)
from ..methods import ACKNOWLEDGED, CANCELLED, LIST_CHANGED, RESOURCE_UPDATED
from ..peer.context import Context, Route, params_reader
from ..peer.dispatcher import Connection
from ..protocol.envelope import SUBSCRIPTION
from ..protocol.uris import containers, fault
from ..revisions import Revision
from ..transports.held import peer_of
from .announcements import send_to_client, tell_all, those_who_see
from .resources import check_uri, not_found

if TYPE_CHECKING:
    from .server import Server
    from .registry.visibility import Visible

FILTERS: Dict[str, str] = {feature: feature + "_list_changed" for feature in LIST_CHANGED}
"""Feature -> the attribute of `SubscriptionFilter` by which a client asks for changes of its list."""
Watcher = TypeVar("Watcher")
_COST = 400
"""Bytes that the tables need for one URI, beside its text."""


class Watched(Dict[str, Dict[Watcher, None]]):
    """A table from a URI to its watchers. It has no lock; its owner holds one around each call."""

    def add(self, uri: str, watcher: Watcher) -> None:
        """Enter a watcher of a URI; no change if it is there already."""
        self.setdefault(uri, {})[watcher] = None

    def remove(self, uri: str, watcher: Watcher) -> None:
        """Remove a watcher that is in the table."""
        watchers = self[uri]
        del watchers[watcher]
        if not watchers:
            del self[uri]

    def of(self, uri: str) -> List[Watcher]:
        """Return the watchers of this URI and of the containers that it lies in, each once."""
        found = dict(self.get(uri, {}))
        for container in containers(uri):
            found.update(self.get(container, {}))
        return list(found)


def size_of(uris: Iterable[str]) -> int:
    """Return about how many bytes the tables need for subscriptions to these URIs."""
    return sum(_COST + len(uri) for uri in uris)


def no_room(connection: Connection) -> RpcError:
    """Return the error for subscriptions beyond the memory that `mcp_ref.transports.held` allows."""
    limits = connection.limits
    text = "No room for more subscriptions: max_held_bytes (%d) or max_held_bytes_per_peer (%d) has been reached"
    return RpcError(INTERNAL_ERROR, text % (limits.max_held_bytes, limits.max_held_bytes_per_peer))


class Subscriptions:
    """The subscriptions of all sessions of one server. Thread-safe.

    The lock guards the three tables together. No lock is held while sending.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._subscribers: Watched[Connection] = Watched()
        self._uris: Dict[Connection, Set[str]] = {}
        self._sizes: Dict[Connection, int] = {}
        """Connection -> characters of its URIs together."""

    # Act

    def subscribe_route(self, server: "Server", revision: Revision) -> Route:
        """Return the route of `resources/subscribe`. It runs on the reader, for it is quick and calls no author's code,
        unless a function of the author's says who sees what."""
        read = params_reader(SubscribeRequestParams, revision)

        def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
            uri, limits = read(params, context).uri, context.connection.limits
            if not server.resources.covers(uri, limits.max_uri_length, context):
                raise not_found(uri, revision)
            self.add(context.connection, uri, limits.max_subscriptions)
            return {}

        return Route(answer, inline=not server.resources.hideable)

    def unsubscribe_route(self, server: "Server", revision: Revision) -> Route:
        """Return the route of `resources/unsubscribe`, which runs on the reader, too."""
        read = params_reader(UnsubscribeRequestParams, revision)

        def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
            uri = read(params, context).uri
            check_uri(uri, context.connection.limits.max_uri_length)
            self.discard(context.connection, uri)
            return {}

        return Route(answer, inline=True)

    def add(self, connection: Connection, uri: str, limit: int) -> None:
        """Enter a subscription. Raises `RpcError` if the client has ``limit`` of them already."""
        with self._lock:
            uris = self._uris.get(connection, set())
            if uri not in uris and len(uris) >= limit:
                text = "Too many subscriptions: max_subscriptions (%d) are in use; unsubscribe first" % limit
                raise RpcError(INTERNAL_ERROR, text)
            if uri not in uris:
                self._count(connection, uri)
            uris.add(uri)
            self._uris[connection] = uris
            self._subscribers.add(uri, connection)
        if connection.closed:
            self.forget(connection)  # it ended before it was entered: its `closed` hook ran, and will not run again

    def _count(self, connection: Connection, uri: str) -> None:
        """Count one more URI. Raises `RpcError` at ``max_subscribed_bytes``, and if there is no memory left."""
        size, limit = size_of((uri,)), connection.limits.max_subscribed_bytes
        before = self._sizes.get(connection, 0)
        if before + len(uri) > limit:
            raise RpcError(INTERNAL_ERROR, "Too many subscriptions: their URIs may have max_subscribed_bytes (%d)"
                           " together; unsubscribe first" % limit)
        transport = connection.transport
        if transport.held is not None and not transport.held.take(transport.holder, size, "subscriptions"):
            raise no_room(connection)
        self._sizes[connection] = before + len(uri)

    def _uncount(self, connection: Connection, uri: str) -> None:
        self._sizes[connection] -= len(uri)
        transport = connection.transport
        if transport.held is not None:
            transport.held.free(transport.holder, size_of((uri,)))

    def discard(self, connection: Connection, uri: str) -> None:
        """Remove a subscription, if there is one."""
        with self._lock:
            uris = self._uris.get(connection, set())
            if uri in uris:
                uris.remove(uri)
                self._subscribers.remove(uri, connection)
                self._uncount(connection, uri)
            if not uris:
                self._uris.pop(connection, None)
                self._sizes.pop(connection, None)

    def forget(self, connection: Connection) -> None:
        """Remove all subscriptions of a connection that has ended."""
        with self._lock:
            for uri in self._uris.pop(connection, ()):
                self._subscribers.remove(uri, connection)
                self._uncount(connection, uri)
            self._sizes.pop(connection, None)

    # Change notification

    def updated(self, uri: str, visibles: "Optional[Sequence[Visible]]" = None) -> int:
        """Notify the subscribers of this URI, and of the containers it lies in, of a change; return their number.

        Each gets one notification [..2025-11-25 server/resources §Subscriptions]. ``visibles``: the functions that say
        who sees what stands for the URI; None: everybody does.
        """
        return tell_all(those_who_see(self.of(uri), visibles), RESOURCE_UPDATED, {"uri": uri})

    def has(self, connection: Connection, uri: str) -> bool:
        """Return True if this client has subscribed to this URI."""
        with self._lock:
            return uri in self._uris.get(connection, ())

    def by(self, connection: Connection) -> List[str]:
        """Return the URIs that this client has subscribed to, sorted."""
        with self._lock:
            return sorted(self._uris.get(connection, ()))

    def of(self, uri: str) -> List[Connection]:
        """Return the connections that are notified of changes to this URI, each once."""
        with self._lock:
            return self._subscribers.of(uri)

    def __len__(self) -> int:
        """Return the number of subscriptions."""
        with self._lock:
            return sum(map(len, self._uris.values()))


# Streams of 2026-07-28

class Listener:
    """One stream: the changes that it asked for, and the request that it belongs to.

    The lock guards the queue of notifications that came before the acknowledgment.
    """

    def __init__(self, context: Context, wanted: SubscriptionFilter) -> None:
        self.context = context
        self.features = [feature for feature, name in FILTERS.items() if getattr(wanted, name)]
        self.uris: List[str] = list(wanted.resource_subscriptions or ())
        self.texts: List[Tuple[str, str]] = [(member, text) for member in wanted.extra for text in wanted.extra[member]]
        """The subjects of extensions: a member of the filter, and a text in it."""
        self.size = size_of(self.uris) + size_of(text for _, text in self.texts)
        self.holder = peer_of(context.principal if context.connection.transport.tells_apart else None, self)
        """The peer for which the memory of the URIs is counted, see `mcp_ref.transports.held`."""
        self._lock = threading.Lock()
        self._early: Optional[List[Any]] = []
        """Notifications before the acknowledgment, as method and params; (None, result) is the answer of the request.
        None once the acknowledgment and all of these are sent."""

    def tell(self, method: str, params: Optional[Dict[str, Any]] = None) -> None:
        """Send a notification that names this stream; one before the acknowledgment is queued until after it."""
        with self._lock:
            if self._early is not None:
                self._early.append((method, params))
                return
        self._send(method, params)

    def acknowledge(self, agreed: Dict[str, Any]) -> None:
        """Send the first message of the stream, and then the notifications that were queued.

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
        """Answer the request, after all notifications of the stream. ``result`` None: end it without an answer."""
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
        send_to_client(context.connection, method, dict(params or {}, _meta={SUBSCRIPTION: context.request_id}),
                       context)


class Listeners:
    """The streams of all clients of one server. Thread-safe.

    The lock guards the three tables together. No lock is held while sending.
    """

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._lock = threading.Lock()
        self._open: Dict[Listener, None] = {}
        self._by_feature: Dict[str, Dict[Listener, None]] = {feature: {} for feature in FILTERS}
        self._by_uri: Watched[Listener] = Watched()
        self._by_text: Dict[Tuple[str, str], Dict[Listener, None]] = {}

    # Open

    def route(self, revision: Revision) -> Route:
        """Return the route of `subscriptions/listen`. It runs on the reader, for it is quick and calls no author's
        code, unless a function of the author's says who sees what."""
        read = params_reader(SubscriptionsListenRequestParams, revision)

        def listen(context: Context, params: Dict[str, Any]) -> None:
            agreed = self._agree(context, read(params, context).notifications)
            listener = Listener(context, agreed)
            self._add(listener, context.connection)
            # The context lives as long as the stream: do not keep the params in memory for that time.
            context.request = Request(context.request_id, context.request.method, None)
            shown = encode(SubscriptionsAcknowledgedNotificationParams(agreed), revision)
            try:
                listener.acknowledge(shown)
                if agreed.extra and self._server.extensions is not None:
                    self._server.extensions.opened(agreed.extra, listener.tell)
                context.incoming.watch(lambda: self._end(listener, None))
            except BaseException:  # a KeyboardInterrupt, too; the dispatcher answers the request
                self._remove(listener)
                raise

        hideable = self._server.has_feature("resources") and self._server.resources.hideable
        return Route(listen, inline=not hideable, deferred=True)

    def _agree(self, context: Context, asked: SubscriptionFilter) -> SubscriptionFilter:
        """Return the part of a filter that this server can serve."""
        limits, agreed, extensions = context.connection.limits, SubscriptionFilter(), self._server.extensions
        for feature, name in FILTERS.items():
            if getattr(asked, name) and self._server.has_feature(feature):
                setattr(agreed, name, True)
        uris: Set[str] = set(asked.resource_subscriptions or ())
        if extensions is not None:
            agreed.extra = extensions.agree(context, asked.extra)
            uris.update(text for texts in agreed.extra.values() for text in texts)
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
                if fault(uri, limits.max_uri_length) is None and covers(uri, limits.max_uri_length, context)]
        return agreed

    def _add(self, listener: Listener, connection: Connection) -> None:
        limit, held = connection.limits.max_listeners, connection.transport.held
        with self._lock:
            if len(self._open) >= limit:
                raise RpcError(INTERNAL_ERROR, "Too many streams: max_listeners (%d) are open" % limit)
            if held is not None and not held.take(listener.holder, listener.size, "subscriptions"):
                raise no_room(connection)
            self._open[listener] = None
            for feature in listener.features:
                self._by_feature[feature][listener] = None
            for uri in listener.uris:
                self._by_uri.add(uri, listener)
            for text in listener.texts:
                self._by_text.setdefault(text, {})[listener] = None

    # Tell

    # ``visibles``: the functions that say who sees what a notification is about; None: everybody does.

    def changed(self, feature: str, visibles: "Optional[Sequence[Visible]]" = None) -> int:
        """Notify the streams that asked for it that the list of this feature has changed; return their number."""
        return self._tell(list(self._by_feature[feature]), LIST_CHANGED[feature], None, visibles)

    def updated(self, uri: str, visibles: "Optional[Sequence[Visible]]" = None) -> int:
        """Notify the streams that asked for this URI, or for a container of it, of a change; return their number."""
        with self._lock:
            found = self._by_uri.of(uri)
        return self._tell(found, RESOURCE_UPDATED, {"uri": uri}, visibles)

    def tell(
        self, member: str, text: str, method: str, params: Dict[str, Any],
        visibles: "Optional[Sequence[Visible]]" = None,
    ) -> int:
        """Notify the streams that asked for this text by a member of an extension; return their number."""
        with self._lock:
            found = list(self._by_text.get((member, text), ()))
        return self._tell(found, method, params, visibles)

    def has(self, member: str, text: str) -> bool:
        """Return True if a stream asked for this text by a member of an extension."""
        return (member, text) in self._by_text

    def _tell(
        self, listeners: List[Listener], method: str, params: Optional[Dict[str, Any]],
        visibles: "Optional[Sequence[Visible]]",
    ) -> int:
        if visibles is not None:
            from .registry.visibility import requester_of, shown_by

            listeners = [each for each in listeners if shown_by(visibles, requester_of(each.context))]
        for listener in listeners:
            listener.tell(method, params)
        return len(listeners)

    # End

    def end(self, connection: Optional[Connection] = None) -> int:
        """End the streams of one connection, or all; return their number.

        Each client is sent `notifications/cancelled`, which a server sends for no other purpose
        [2026-07-28 basic/patterns/cancellation] MUST, MUST NOT, and then the answer of the request.
        """
        with self._lock:
            ending = [one for one in self._open if connection is None or one.context.connection is connection]
        for listener in ending:
            id = listener.context.request_id
            listener.tell(CANCELLED, {"requestId": id, "reason": "the server ends the subscription"})
            self._end(listener, {"_meta": {SUBSCRIPTION: id}})
        return len(ending)

    def _end(self, listener: Listener, result: Optional[Dict[str, Any]]) -> None:
        """Remove a stream and answer its request with ``result``; None if nobody waits for an answer."""
        if self._remove(listener):
            listener.finish(result)

    def _remove(self, listener: Listener) -> bool:
        """Remove a stream from all tables. Returns False if it was removed before."""
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
            for text in listener.texts:
                watchers = self._by_text[text]
                del watchers[listener]
                if not watchers:
                    del self._by_text[text]
        return True

    def __len__(self) -> int:
        """Return the number of open streams."""
        return len(self._open)
