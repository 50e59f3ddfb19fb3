"""Hearing of changes where a client has to ask for them: `subscriptions/listen`.

[2026-07-28 basic/patterns/subscriptions §Opening a Stream]::

    with client.listen(tools=True, uris=["config://app"]) as wish:
        wish.agreed                     # what the server is willing to tell

A client has one stream, whatever it wishes to hear of: another wish opens a stream for all of them, and when that is
acknowledged the one before is cancelled. So nothing is missed in between; something may be heard twice.

========================================================  =========================================================
the stream                                                 and then
========================================================  =========================================================
is lost with its connection, or with the server's process  another one is opened, after a wait that doubles
is ended by the server                                     likewise
is refused                                                 `PeerError` for who wished; if it was one that had been
                                                           opened before: a log line, and no other is opened
========================================================  =========================================================

[2026-07-28 basic/patterns/subscriptions §Graceful Closure] MUST. Reading: what changed while there was no stream is not
known. So lists are forgotten, and each resource that somebody subscribed to is reported as changed once.

A notification that names no stream of ours is dropped and counted
[2026-07-28 basic/patterns/subscriptions §Receiving Notifications] MUST.
"""

import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, FrozenSet, List, NamedTuple, Optional, Sequence

from ..codec import decode
from ..deadline import Deadline
from ..errors import ConnectionLost, LocalProtocolError, McpError, PeerError, RequestTimeout
from ..jsonrpc import Error, Notification, RequestId, Result
from ..messages.subscriptions import SubscriptionsAcknowledgedNotificationParams
from ..peer.dispatcher import Connection
from ..peer.request_table import Outcome, Pending, Progress
from ..peer.threads import start_thread
from ..protocol.capabilities import has
from ..protocol.envelope import SUBSCRIPTION
from .caches import LISTS, UPDATED
from .subscriptions import Subscriptions, UpdateCallback

if TYPE_CHECKING:
    from .client import Client

LISTEN = "subscriptions/listen"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
FEATURES: Dict[str, str] = {
    "tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged",
}
"""What a client may wish to hear of -> the member of the filter."""
STREAMED = frozenset((ACKNOWLEDGED, UPDATED, *(row.changed for row in LISTS.values())))
"""Notifications that come on a stream and name it."""
LONGEST_WAIT = 30.0
"""Seconds between attempts to open a stream again, at most."""


class Wishes(NamedTuple):
    """What is asked of a server; also what it agreed to."""

    features: FrozenSet[str] = frozenset()
    """Keys of FEATURES."""
    uris: FrozenSet[str] = frozenset()

    def filter(self) -> Dict[str, Any]:
        """The same as the ``notifications`` of a request."""
        made: Dict[str, Any] = {FEATURES[feature]: True for feature in FEATURES if feature in self.features}
        if self.uris:
            made["resourceSubscriptions"] = sorted(self.uris)
        return made


class Wish:
    """What one caller wants to hear of, until it is closed; a context manager."""

    def __init__(self, listening: "Listening", wanted: Wishes, callback: Optional[UpdateCallback] = None) -> None:
        self.wanted = wanted
        self._listening = listening
        self._callback = callback
        self._undo: List[Callable[[], None]] = []

    @property
    def agreed(self) -> Wishes:
        """What of it the server tells at the moment; nothing while there is no stream."""
        agreed = self._listening.agreed
        return Wishes(self.wanted.features & agreed.features, self.wanted.uris & agreed.uris)

    def enter(self, subscriptions: Subscriptions) -> None:
        """Have updates reported to the callback."""
        for uri in self.wanted.uris:
            self._undo.append(subscriptions.add(uri, self._callback))

    def leave(self) -> None:
        """And no more."""
        while self._undo:
            self._undo.pop()()

    def close(self) -> None:
        """Hear of it no more, unless somebody else wants to. As often as one likes."""
        self._listening.drop(self)

    def __enter__(self) -> "Wish":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


class Subscribed(Wish):
    """The same in a handshake session, where lists are told of unasked and each resource is subscribed to."""

    def __init__(self, client: "Client", wanted: Wishes, callback: Optional[UpdateCallback]) -> None:
        self.wanted = wanted
        self._client = client
        self._uris: List[str] = []
        try:
            for uri in sorted(wanted.uris):
                client.subscribe_resource(uri, callback)
                self._uris.append(uri)
        except BaseException:
            self.close()
            raise

    @property
    def agreed(self) -> Wishes:
        """What of it the server tells."""
        told = {feature for feature in FEATURES if has(self._client.server_capabilities, feature + ".listChanged")}
        return Wishes(self.wanted.features & told, frozenset(self._uris))

    def close(self) -> None:
        """Hear of the resources no more. As often as one likes."""
        while self._uris:
            self._client.unsubscribe_resource(self._uris.pop())


class Stream:
    """One `subscriptions/listen` request and what came of it."""

    def __init__(self, connection: Connection, wanted: Wishes, ended: Callable[["Stream", Outcome], None]) -> None:
        self.connection = connection
        self.wanted = wanted
        self.agreed = Wishes()
        self.pending: Optional[Pending] = None
        self.outcome: Optional[Outcome] = None
        self._ended = ended
        self._clear = threading.Event()
        """Set by the acknowledgment or the end, whichever comes first."""

    def send(self) -> RequestId:
        """Send the request; the id by which notifications will name it."""
        params = {"notifications": self.wanted.filter()}
        self.pending = self.connection.open_request(LISTEN, params, timeout=None, settle=self._settle)
        self.pending.deadline = Deadline(None)  # it is meant to last
        return self.pending.id

    def acknowledged(self, agreed: Wishes) -> None:
        """The server has said what it will tell."""
        self.agreed = agreed
        self._clear.set()

    def wait(self, timeout: Optional[float]) -> None:
        """Wait for the acknowledgment. Raises `RequestTimeout`, or what came instead of it."""
        if not self._clear.wait(timeout):
            self.cancel("timeout")
            raise RequestTimeout("%s was not acknowledged in time" % LISTEN)
        outcome = self.outcome
        if isinstance(outcome, Error):
            raise PeerError(outcome.code, outcome.message, outcome.data, LISTEN, outcome.id or 0)
        if isinstance(outcome, McpError):
            raise outcome
        if outcome is not None and not self.agreed.filter() and self.wanted.filter():
            raise ConnectionLost("the server has ended %s before it began" % LISTEN)

    def cancel(self, reason: str) -> None:
        """Hear no more."""
        if self.pending is not None:
            self.connection.cancel(self.pending, reason)

    def _settle(self, pending: Pending, item: Any) -> None:
        if not isinstance(item, Progress):
            self.outcome = item
            self._clear.set()
            self._ended(self, item)


class Listening:
    """The wishes of one client, and the stream for them. Thread-safe; no lock is held while user code runs."""

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._lock = threading.Lock()
        self._turning = threading.Lock()
        """Held while one stream takes the place of another."""
        self._wishes: Dict[Wish, None] = {}
        self._by_uri: Dict[str, Wish] = {}
        self._stream: Optional[Stream] = None
        self._streams: Dict[RequestId, Stream] = {}
        self._early: Dict[RequestId, Wishes] = {}
        """Acknowledgments that came before the id of their request was known here."""
        self._thread: Optional[threading.Thread] = None
        self.subscriptions = Subscriptions(client.limits.max_subscriptions)

    @classmethod
    def begin(
        cls, client: "Client", features: Sequence[str], uris: Sequence[str], callback: Optional[UpdateCallback]
    ) -> Wish:
        """See `Client.listen`."""
        unknown = set(features) - set(FEATURES)
        if unknown or isinstance(uris, str):
            raise TypeError("listen to tools, prompts, resources, and a list of uris; not %r" % (unknown or uris,))
        if client.revision.stateless:
            return client.listening.add(features, uris, callback)
        return Subscribed(client, Wishes(frozenset(features), frozenset(uris)), callback)

    @property
    def agreed(self) -> Wishes:
        """What the server tells at the moment."""
        stream = self._stream
        return Wishes() if stream is None or stream.outcome is not None else stream.agreed

    # Wishes

    def add(self, features: Sequence[str], uris: Sequence[str], callback: Optional[UpdateCallback] = None) -> Wish:
        """Wish to hear of something, and wait until the server agrees. Raises `PeerError`, `RequestTimeout`,
        `ConnectionLost`, or `Busy` at ``max_subscriptions``."""
        wish = Wish(self, Wishes(frozenset(features), frozenset(uris)), callback)
        try:
            wish.enter(self.subscriptions)
            with self._lock:
                self._wishes[wish] = None
            self._turn()
        except BaseException:
            with self._lock:
                self._wishes.pop(wish, None)
            wish.leave()
            raise
        return wish

    def drop(self, wish: Wish) -> None:
        """Take back a wish."""
        with self._lock:
            if self._wishes.pop(wish, self) is self:
                return
        wish.leave()
        if self._client.wanted:
            try:
                self._turn()
            except McpError as error:
                self._client.connection.counters.note("listening", "could not be changed: %s" % error)

    def subscribe(self, uri: str, callback: Optional[UpdateCallback]) -> None:
        """One resource, as `Client.subscribe_resource`."""
        wish = self.add((), (uri,), callback)
        if uri not in wish.agreed.uris:
            wish.close()
            raise LocalProtocolError("the server does not tell of changes of %s" % uri)
        with self._lock:
            before, self._by_uri[uri] = self._by_uri.get(uri), wish
        if before is not None:
            with self._lock:
                self._wishes.pop(before, None)

    def unsubscribe(self, uri: str) -> None:
        """And no more."""
        with self._lock:
            wish = self._by_uri.pop(uri, None)
        if wish is not None:
            self.subscriptions.remove(uri)
            self.drop(wish)

    # The stream

    def _turn(self) -> None:
        """Have the stream that all wishes need; the one there is, if it will do."""
        with self._turning:
            with self._lock:
                wanted = Wishes(
                    frozenset().union(*(wish.wanted.features for wish in self._wishes)),
                    frozenset().union(*(wish.wanted.uris for wish in self._wishes)))
                before = self._stream
            lives = before is not None and before.outcome is None
            if lives and before is not None and before.wanted == wanted:
                return
            fresh = self._open(wanted) if wanted.filter() else None
            with self._lock:
                self._stream = fresh
            if before is not None:
                before.cancel("another stream takes its place" if fresh else "nobody wants to hear any more")
                self._forget(before)
            told = () if fresh is None else fresh.agreed.features
            self._client.connection.state["lists"].listening([LISTS[feature].changed for feature in told])

    def _open(self, wanted: Wishes) -> Stream:
        connection = self._client.connection
        stream = Stream(connection, wanted, self._ended)
        id = stream.send()
        with self._lock:
            self._streams[id] = stream
            early = self._early.pop(id, None)
        if early is not None:
            stream.acknowledged(early)
        try:
            stream.wait(connection.limits.request_timeout)
        except BaseException:
            self._forget(stream)
            raise
        missing = Wishes(wanted.features - stream.agreed.features, wanted.uris - stream.agreed.uris)
        if missing.filter():
            connection.counters.note("not told", "the server does not tell of %s" % (missing.filter(),))
        return stream

    def _forget(self, stream: Stream) -> None:
        if stream.pending is not None:
            with self._lock:
                self._streams.pop(stream.pending.id, None)
                self._early.pop(stream.pending.id, None)

    # What arrives, on the reader

    def accepts(self, connection: Connection, method: str, params: Dict[str, Any]) -> bool:
        """Whether somebody wants to hear of a notification: it names a stream of ours, and is no acknowledgment."""
        meta = params.get("_meta")
        id: Any = meta.get(SUBSCRIPTION) if isinstance(meta, dict) else None
        ours = type(id) is int and connection.table.active(id)
        if ours and method != ACKNOWLEDGED:
            with self._lock:
                ours = id in self._streams or id in self._early
        if not ours:
            connection.counters.note("notification of no stream", "%s names %.80r" % (method, id))
        if not ours or method != ACKNOWLEDGED:
            return ours
        try:
            found = decode(SubscriptionsAcknowledgedNotificationParams, params, connection.session.rules).notifications
        except ValueError as error:
            connection.counters.note("malformed notification", "%s: %s" % (method, error))
            return False
        features = frozenset(feature for feature in FEATURES if getattr(found, "%s_list_changed" % feature))
        agreed = Wishes(features, frozenset(found.resource_subscriptions or ()))
        with self._lock:
            stream = self._streams.get(id)
            if stream is None:
                self._early[id] = agreed
        if stream is not None:
            stream.acknowledged(agreed)
        return False  # it is for us alone

    def torn_down(self, connection: Connection, id: RequestId, reason: str) -> bool:
        """The server says that it ends a stream [2026-07-28 basic/patterns/cancellation §Behavior Requirements] MUST.

        Its answer may follow or not. False: it names no stream of ours.
        """
        with self._lock:
            stream = self._streams.get(id)
        return stream is not None and connection.table.fail(id, ConnectionLost("the server ends it: %.200s" % reason))

    def _ended(self, stream: Stream, outcome: Outcome) -> None:
        """A stream has ended; if it is the one that is needed, another one takes its place."""
        with self._lock:
            needed = stream is self._stream and bool(self._wishes) and self._client.wanted
            if not needed or self._thread is not None:
                return
            stream.connection.state["lists"].listening(())  # until there is another one
            said = "cleanly" if isinstance(outcome, Result) else str(outcome)
            stream.connection.counters.note("stream ended", said)
            self._thread = start_thread("mcp-ref:listen:%s" % stream.connection.transport.name, self._again)

    # Again

    def _again(self) -> None:
        """Open a stream once more, until that is done, the client is closed, or the server will not."""
        wait, client = 0.0, self._client
        try:
            while not client.shut.wait(wait):
                wait = min(LONGEST_WAIT, 2 * wait or client.limits.restart_delay)
                if self._try():
                    return
        finally:
            with self._lock:
                self._thread = None

    def _try(self) -> bool:
        """One attempt; whether there need not be another one."""
        client = self._client
        try:
            connection = client.connection
            if connection.table.ended:
                connection = client.renewed(connection, ConnectionLost(connection.transport.reason()))
            self._turn()
        except (PeerError, LocalProtocolError) as error:
            client.connection.counters.note("listening given up", str(error))
            return True
        except McpError as error:
            client.connection.counters.note("listening again failed", str(error))
            return not client.wanted or client.connection.table.ended
        self._report(connection)
        return True

    def _report(self, connection: Connection) -> None:
        """What may have changed while nobody listened."""
        for uri in sorted(self.agreed.uris):
            connection.hear(Notification(UPDATED, {"uri": uri}))

    def close(self) -> None:
        """The client is closed: wait for the thread that would open a stream."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(self._client.limits.shutdown_grace)
