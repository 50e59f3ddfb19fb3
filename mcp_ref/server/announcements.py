"""What a server tells its clients unasked: that a list has changed, and whatever else goes to all of them.

A notification reaches every client with which the server is operating, whose revision has it, and
to which the capability behind it was declared; for the others there is nothing to say. A client that
has stopped reading is let go when ``max_outbox_bytes`` wait for it.
"""

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Sequence, Set

from ..errors import LocalProtocolError
from ..jsonrpc import Notification, encode
from ..methods import LIST_CHANGED
from ..peer.context import Context
from ..peer.dispatcher import Connection
from ..transports.held import Shared

if TYPE_CHECKING:
    from .interface import ChangeListeners


class Announcements:
    """The open connections of one server, and what is said to them. Thread-safe; no lock is held while sending."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: List[Connection] = []
        self.listeners: Optional["ChangeListeners"] = None
        """Where there is no handshake, who listens; once somebody does."""
        self._held = 0
        self._changed: Set[str] = set()

    def opened(self, connection: Connection) -> None:
        """From now on this client is told."""
        with self._lock:
            self._open = self._open + [connection]

    def closed(self, connection: Connection) -> None:
        """This client is gone."""
        with self._lock:
            self._open = [other for other in self._open if other is not connection]

    @property
    def connections(self) -> List[Connection]:
        """The connections that are operating, oldest first."""
        return list(self._open)

    def broadcast(
        self, method: str, params: Optional[Dict[str, Any]] = None,
        wanted: Optional[Callable[[Connection], bool]] = None,
    ) -> int:
        """Send a notification to every client that may be sent it and is ``wanted``; to how many."""
        return tell_all([one for one in self._open if wanted is None or wanted(one)], method, params)

    def changed(self, feature: str) -> None:
        """The list of this feature is another one now; announced at once, or at the end of `once`."""
        if not self._open and not self.listeners:
            return
        with self._lock:
            if self._held:
                self._changed.add(feature)
                return
        self._announce(feature)

    def _announce(self, feature: str) -> None:
        self.broadcast(LIST_CHANGED[feature])
        if self.listeners:
            self.listeners.changed(feature)

    @contextmanager
    def once(self) -> Iterator[None]:
        """Changes made within are announced together at its end, one notification for each list."""
        with self._lock:
            self._held += 1
        try:
            yield
        finally:
            changed: Set[str] = set()
            with self._lock:
                self._held -= 1
                if not self._held:
                    changed, self._changed = self._changed, set()
            for feature in LIST_CHANGED:
                if feature in changed:
                    self._announce(feature)


def tell_all(connections: Sequence[Connection], method: str, params: Optional[Dict[str, Any]] = None) -> int:
    """Send several clients the same notification, encoded once. Returns to how many it was sent."""
    if not connections:
        return 0
    data = Shared(encode(Notification(method, params)))
    return sum(tell(connection, method, params, None, data) for connection in connections)


def tell(
    connection: Connection, method: str, params: Optional[Dict[str, Any]] = None, within: Optional[Context] = None,
    data: Optional[bytes] = None,
) -> bool:
    """Send one client a notification of which it knows nothing yet; False if it may not be sent to this one.

    ``within``: the context of the request on whose stream it goes, where it goes on one. ``data``: its bytes, if it is
    sent to others as well.
    """
    if connection.outbox.full:
        connection.close("the client does not read: more than max_outbox_bytes wait for it")
        return False
    try:
        if within is None:
            connection.notify(method, params, data=data)
        else:
            connection.notify(method, params, within.incoming, within.session, wait=False)
    except LocalProtocolError:
        return False
    return True
