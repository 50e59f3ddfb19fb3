"""Notifications to all clients of a server: of changed lists, and by `Server.broadcast`.

A notification is sent to every client that is operating, whose revision has the notification, and to which the
capability behind it was declared; the others are skipped. Of a change of what not everybody sees those are notified who
see it, see `mcp_ref.server.registry.visibility`. The connection to a client that has stopped reading is
closed when ``max_outbox_bytes`` wait for it.
"""

from __future__ import annotations  # unread, they cost nothing as the module is loaded

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence

from ..errors import LocalProtocolError
from ..jsonrpc import Notification, encode
from ..methods import LIST_CHANGED
from ..peer.context import Context
from ..peer.dispatcher import Connection

if TYPE_CHECKING:
    from .subscriptions import Listeners
    from .registry.visibility import Visible


class Announcements:
    """The open connections of one server, and the notifications to them. Thread-safe.

    The lock guards the list of connections and the changes that `once` collects. No lock is held while sending.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: List[Connection] = []
        self.listeners: Optional["Listeners"] = None
        """The streams of `subscriptions/listen`; None until the first one is opened."""
        self._held = 0
        self._changed: "Dict[str, Optional[List[Visible]]]" = {}
        """Feature -> the functions that say who sees what has changed, None if everybody does."""

    def opened(self, connection: Connection) -> None:
        """Add a connection that is operating now."""
        with self._lock:
            self._open = self._open + [connection]

    def closed(self, connection: Connection) -> None:
        """Remove a connection that has ended."""
        with self._lock:
            self._open = [other for other in self._open if other is not connection]

    @property
    def connections(self) -> List[Connection]:
        """The connections that are operating, oldest first."""
        return list(self._open)

    def changed(self, feature: str, visible: "Optional[Visible]" = None) -> None:
        """Announce that the list of this feature has changed: at once, or at the end of `once`.

        ``visible``: the function that says who sees what has changed; None: everybody does.
        """
        if not self._open and not self.listeners:
            return
        with self._lock:
            if self._held:
                found = self._changed.setdefault(feature, [])
                if visible is None or found is None:
                    self._changed[feature] = None
                else:
                    found.append(visible)
                return
        self._announce(feature, None if visible is None else [visible])

    def _announce(self, feature: str, visibles: "Optional[List[Visible]]") -> None:
        tell_all(those_who_see(self._open, visibles), LIST_CHANGED[feature])
        if self.listeners:
            self.listeners.changed(feature, visibles)

    @contextmanager
    def once(self) -> Iterator[None]:
        """Announce the changes made within this ``with`` at its end, one notification for each list."""
        with self._lock:
            self._held += 1
        try:
            yield
        finally:
            changed: "Dict[str, Optional[List[Visible]]]" = {}
            with self._lock:
                self._held -= 1
                if not self._held:
                    changed, self._changed = self._changed, {}
            for feature in LIST_CHANGED:
                if feature in changed:
                    self._announce(feature, changed[feature])


def those_who_see(connections: Sequence[Connection], visibles: "Optional[Sequence[Visible]]") -> Sequence[Connection]:
    """Return the connections of sessions to whose clients any of these functions shows its member; None: all of them.
    """
    if visibles is None:
        return connections
    from .registry.visibility import requester_in, shown_by

    return [connection for connection in connections if shown_by(visibles, requester_in(connection))]


def tell_all(connections: Sequence[Connection], method: str, params: Optional[Dict[str, Any]] = None) -> int:
    """Send several clients the same notification, encoded once. Returns the number of clients that it was sent to."""
    if not connections:
        return 0
    from ..transports.held import SharedMessage

    data = SharedMessage(encode(Notification(method, params)))
    return sum(send_to_client(connection, method, params, None, data) for connection in connections)


def send_to_client(
    connection: Connection, method: str, params: Optional[Dict[str, Any]] = None, context: Optional[Context] = None,
    data: Optional[bytes] = None,
) -> bool:
    """Send one client a notification. Returns False if this client may not be sent it.

    ``context``: the context of the request on whose stream it is sent, if there is one. ``data``: its encoded bytes, if
    it is sent to other clients as well. Closes a connection whose outbox is full.
    """
    if connection.outbox.full:
        connection.close("the client does not read: more than max_outbox_bytes wait for it")
        return False
    try:
        if context is None:
            connection.notify(method, params, data=data)
        else:
            connection.notify(method, params, context.incoming, context.session, wait=False)
    except LocalProtocolError:
        return False
    return True
