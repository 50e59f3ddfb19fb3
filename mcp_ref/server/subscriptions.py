"""Who wants to hear of changes to which resource [..2025-11-25 server/resources §Subscriptions].

A subscription belongs to one connection and ends with it. Two tables, from a URI to its subscribers and
from a connection to its URIs, make both an update and a farewell cost what they concern and no more.

A notification may name a part of what was subscribed to (the schema of
`ResourceUpdatedNotification` says so), and the page does not say when. Readings:

- A subscription to a URI that ends with a slash, which names a container, covers everything below it:
  ``file:///project/`` hears of ``file:///project/src/main.rs``. Any other covers just its own URI.
- Nothing can ever come of a URI that no resource, template or directory of the server covers, so
  subscribing to one is answered as reading it is: resource not found. Whether a resource of a template is
  there at the moment is not asked.
- Subscribing twice is subscribing once, and unsubscribing from what one is not subscribed to succeeds:
  afterwards all is as the client wants it.
"""

import threading
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Set, TypeVar

from ..errors import INTERNAL_ERROR, RpcError
from ..messages.resources import SubscribeRequestParams, UnsubscribeRequestParams
from ..peer.context import Context, Route
from ..peer.dispatcher import Connection
from ..peer.params import params_reader
from ..protocol.uris import containers
from ..revisions import Revision
from .announcements import UPDATED, tell_all
from .resources import check_uri, not_found

if TYPE_CHECKING:
    from .server import Server

Watcher = TypeVar("Watcher")
_COST = 400
"""Bytes that the tables need for one URI."""


class Watched(Dict[str, Dict[Watcher, None]]):
    """Who watches which URI. Not locked; whoever has one sees to that."""

    def add(self, uri: str, watcher: Watcher) -> None:
        """Enter one; twice is once."""
        self.setdefault(uri, {})[watcher] = None

    def remove(self, uri: str, watcher: Watcher) -> None:
        """Take one out that is there."""
        watchers = self[uri]
        del watchers[watcher]
        if not watchers:
            del self[uri]

    def of(self, uri: str) -> List[Watcher]:
        """Those who watch this URI or a container that it lies in, each once."""
        found = dict(self.get(uri, {}))
        for container in containers(uri):
            found.update(self.get(container, {}))
        return list(found)


def size_of(uris: Iterable[str]) -> int:
    """Return about how many bytes it takes to remember who watches these URIs."""
    return sum(_COST + len(uri) for uri in uris)


def no_room(connection: Connection) -> RpcError:
    """Return the refusal of subscriptions for which `mcp_ref.transports.held` has no room."""
    limits = connection.limits
    text = "No room for more subscriptions: max_held_bytes (%d) or max_held_bytes_per_peer (%d) has been reached"
    return RpcError(INTERNAL_ERROR, text % (limits.max_held_bytes, limits.max_held_bytes_per_peer))


class Subscriptions:
    """The subscriptions of all clients of one server. Thread-safe; no lock is held while sending."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._subscribers: Watched[Connection] = Watched()
        self._uris: Dict[Connection, Set[str]] = {}
        self._sizes: Dict[Connection, int] = {}
        """Characters of their URIs."""

    # Act

    def subscribe_route(self, server: "Server", revision: Revision) -> Route:
        """Answers `resources/subscribe`, on the reader: it takes no time and runs no code of the author's."""
        read = params_reader(SubscribeRequestParams, revision)

        def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
            uri, limits = read(params).uri, context.connection.limits
            if not server.resources.covers(uri, limits.max_uri_length):
                raise not_found(uri, revision)
            self.add(context.connection, uri, limits.max_subscriptions)
            return {}

        return Route(answer, inline=True)

    def unsubscribe_route(self, server: "Server", revision: Revision) -> Route:
        """Answers `resources/unsubscribe`."""
        read = params_reader(UnsubscribeRequestParams, revision)

        def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
            uri = read(params).uri
            check_uri(uri, context.connection.limits.max_uri_length)
            self.discard(context.connection, uri)
            return {}

        return Route(answer, inline=True)

    def add(self, connection: Connection, uri: str, most: int) -> None:
        """Enter a subscription. Raises `RpcError` if the client has ``most`` of them."""
        with self._lock:
            uris = self._uris.get(connection, set())
            if uri not in uris and len(uris) >= most:
                text = "Too many subscriptions: max_subscriptions (%d) are in use; unsubscribe first" % most
                raise RpcError(INTERNAL_ERROR, text)
            if uri not in uris:
                self._count(connection, uri)
            uris.add(uri)
            self._uris[connection] = uris
            self._subscribers.add(uri, connection)
        if connection.closed:
            self.forget(connection)  # it ended meanwhile, and nobody will tell us again

    def _count(self, connection: Connection, uri: str) -> None:
        """Count one more URI. Raises `RpcError` at ``max_subscribed_bytes``, or where there is no room."""
        size, most = size_of((uri,)), connection.limits.max_subscribed_bytes
        before = self._sizes.get(connection, 0)
        if before + len(uri) > most:
            raise RpcError(INTERNAL_ERROR, "Too many subscriptions: their URIs may have max_subscribed_bytes (%d)"
                           " together; unsubscribe first" % most)
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
        """Take a subscription out, if there is one."""
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
        """This connection has ended: all its subscriptions go."""
        with self._lock:
            for uri in self._uris.pop(connection, ()):
                self._subscribers.remove(uri, connection)
                self._uncount(connection, uri)
            self._sizes.pop(connection, None)

    # Change notification

    def updated(self, uri: str) -> int:
        """Tell the subscribers of this URI, and of the containers it lies in, that it has changed; to how many.

        Each hears of it once [..2025-11-25 server/resources §Subscriptions].
        """
        return tell_all(self.of(uri), UPDATED, {"uri": uri})

    def has(self, connection: Connection, uri: str) -> bool:
        """Whether this client has subscribed to this URI."""
        with self._lock:
            return uri in self._uris.get(connection, ())

    def by(self, connection: Connection) -> List[str]:
        """The URIs that this client has subscribed to, sorted."""
        with self._lock:
            return sorted(self._uris.get(connection, ()))

    def of(self, uri: str) -> List[Connection]:
        """The connections that hear of changes to this URI, each once."""
        with self._lock:
            return self._subscribers.of(uri)

    def __len__(self) -> int:
        """How many subscriptions there are."""
        with self._lock:
            return sum(map(len, self._uris.values()))
