"""The subscriptions of a client: how it hears of changes, in each era.

**With a handshake** a server tells of changed lists unasked, and of each resource that was subscribed to
[..2025-11-25 server/resources §Subscriptions]: `HandshakeSubscriptions` knows these.

**Without one** a client has to ask, by `subscriptions/listen`
[2026-07-28 basic/patterns/subscriptions §Opening a Stream]::

    with client.listen("tools", uris=["config://app"]) as subscription:
        subscription.agreed             # what the server is willing to tell

A client has one stream for all its subscriptions: a further one opens a stream for all of them, and when that is
acknowledged the one before is cancelled. So nothing is missed in between; something may be heard twice.

========================================================  =========================================================
the stream                                                 and then
========================================================  =========================================================
is lost with its connection, or with the server's process  another one is opened, at once if it has lasted, else after
                                                           a wait that doubles
is ended by the server                                     the same
is refused                                                 `PeerError` for the caller of `listen`; if one was to be
                                                           opened again: a log line, and no other is opened
cannot be, for there is no server any more                 a log line; another one as soon as a request has started it
========================================================  =========================================================

[2026-07-28 basic/patterns/subscriptions §Graceful Closure] MUST. Reading: what changed while there was no stream is not
known. So lists are forgotten, and each resource that somebody subscribed to is reported as changed once.

A notification that names no stream of ours is dropped and counted
[2026-07-28 basic/patterns/subscriptions §Receiving Notifications] MUST.

Reading, for both eras: an update may name a part of what was subscribed to; that is a URI that goes on with ``/``,
``?`` or ``#`` after the subscribed one. A subscription to a whole hears of its parts.
"""

import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, FrozenSet, List, NamedTuple, Optional, Tuple

from .. import deadline
from ..codec import decode
from ..deadline import Deadline
from ..errors import Busy, ConnectionLost, LocalProtocolError, McpError, PeerError, RequestTimeout
from ..jsonrpc import Notification, RequestId, ResultResponse
from ..messages.subscriptions import SubscriptionsAcknowledgedNotificationParams
from ..methods import ACKNOWLEDGED, LISTEN, RESOURCE_UPDATED
from ..peer.dispatcher import Connection
from ..peer.request_table import Outcome, Pending, Progress
from ..protocol.envelope import SUBSCRIPTION
from ..protocol.lifecycle import has
from ..threads import available, start_thread
from ..transports.base import why_ended
from .cache import LISTS
from .options import UpdateCallback

if TYPE_CHECKING:
    from .client import Client

FEATURES: Dict[str, str] = {kind: kind + "ListChanged" for kind in ("tools", "prompts", "resources")}
"""The lists that a client may listen to -> the member of the filter."""
STREAMED = frozenset((ACKNOWLEDGED, RESOURCE_UPDATED, *(row.changed for row in LISTS.values())))
"""The notifications that come on a stream and name it."""
LONGEST_WAIT = 30.0
"""The seconds between attempts to open a stream again, at most."""


def is_part(uri: str, whole: str) -> bool:
    """True if the first URI names a part of what the second names."""
    return uri.startswith(whole) and (whole.endswith("/") or uri[len(whole)] in "/?#")


# -- With a handshake --------------------------------------------------------------------------


class HandshakeSubscriptions:
    """The resources that one connection is subscribed to, at most ``limit``, and their callbacks. Thread-safe."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._callbacks: Dict[str, Optional[UpdateCallback]] = {}

    @classmethod
    def of(cls, connection: Connection) -> "HandshakeSubscriptions":
        """Return the subscriptions of a connection, in whose state they are."""
        found: "Optional[HandshakeSubscriptions]" = connection.state.get("subscriptions")
        return found or connection.state.setdefault("subscriptions", cls(connection.limits.max_subscriptions))

    def add(self, uri: str, callback: Optional[UpdateCallback]) -> Callable[[], None]:
        """Enter a subscription, and return the function that undoes that.

        It is entered before the server is asked: the first update may come with the answer. A second one for the same
        URI replaces the first. Raises `Busy` over the limit.
        """
        with self._lock:
            known, before = uri in self._callbacks, self._callbacks.get(uri)
            if not known and len(self._callbacks) >= self._limit:
                raise Busy("subscribed to %d resources; the limit is max_subscriptions" % len(self._callbacks))
            self._callbacks[uri] = callback

        def undo() -> None:
            with self._lock:
                if self._callbacks.get(uri) is callback:
                    if known:
                        self._callbacks[uri] = before
                    else:
                        self._callbacks.pop(uri, None)

        return undo

    def remove(self, uri: str) -> None:
        """Remove the subscription to a URI, if there is one."""
        with self._lock:
            self._callbacks.pop(uri, None)

    def uris(self) -> List[str]:
        """Return the URIs, sorted."""
        with self._lock:
            return sorted(self._callbacks)

    def listeners(self, uri: str) -> List[UpdateCallback]:
        """Return the callbacks for an update of this URI."""
        with self._lock:
            if uri in self._callbacks:
                callbacks = [self._callbacks[uri]]
            else:
                callbacks = [callback for whole, callback in self._callbacks.items() if is_part(uri, whole)]
        return [callback for callback in callbacks if callback is not None]


# -- What `Client.listen` returns --------------------------------------------------------------


class ChangeFilter(NamedTuple):
    """The changes that are asked of a server; also those that it agreed to tell."""

    features: FrozenSet[str] = frozenset()
    """The lists, by keys of FEATURES."""
    uris: FrozenSet[str] = frozenset()
    more: FrozenSet[Tuple[str, str]] = frozenset()
    """The additions of extensions: a member of the filter, and a text in it."""

    def to_json(self) -> Dict[str, Any]:
        """Return the ``notifications`` of a request; {} if the filter is empty."""
        members: Dict[str, Any] = {FEATURES[feature]: True for feature in FEATURES if feature in self.features}
        if self.uris:
            members["resourceSubscriptions"] = sorted(self.uris)
        for member, text in sorted(self.more):
            members.setdefault(member, []).append(text)
        return members

    def both(self, other: "ChangeFilter") -> "ChangeFilter":
        """Return what is in this filter and in the other."""
        return ChangeFilter(self.features & other.features, self.uris & other.uris, self.more & other.more)

    def without(self, other: "ChangeFilter") -> "ChangeFilter":
        """Return what is in this filter and not in the other."""
        return ChangeFilter(self.features - other.features, self.uris - other.uris, self.more - other.more)


class Subscription:
    """The changes that one caller listens to, until it is closed; a context manager."""

    def __init__(
        self, listening: "Listening", wanted: ChangeFilter, callback: Optional[UpdateCallback] = None
    ) -> None:
        self.wanted = wanted
        self.callback = callback
        self._listening = listening

    @property
    def agreed(self) -> ChangeFilter:
        """The part of ``wanted`` that the server tells at the moment; empty while there is no stream."""
        return self.wanted.both(self._listening.agreed)

    def concerns(self, uri: str) -> bool:
        """True if an update of this URI is about a resource that is listened to, or about a part of one."""
        uris = self.wanted.uris
        return uri in uris or any(is_part(uri, whole) for whole in uris)

    def close(self) -> None:
        """Stop listening, unless another subscription wants the same. It may be called any number of times."""
        self._listening.drop(self)

    def __enter__(self) -> "Subscription":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


class HandshakeSubscription(Subscription):
    """A `Subscription` in a handshake session: lists are told of unasked, and each resource is subscribed to."""

    def __init__(self, owner: "Client", wanted: ChangeFilter, callback: Optional[UpdateCallback]) -> None:
        self.wanted = wanted
        self.callback = callback
        self._owner = owner
        self._uris: List[str] = []
        try:
            for uri in sorted(wanted.uris):
                owner.subscribe_resource(uri, callback)
                self._uris.append(uri)
        except BaseException:
            self.close()
            raise

    @property
    def agreed(self) -> ChangeFilter:
        """The part of ``wanted`` that the server tells."""
        capabilities = self._owner.server_capabilities
        features = {feature for feature in FEATURES if has(capabilities, feature + ".listChanged")}
        return ChangeFilter(self.wanted.features & features, frozenset(self._uris))

    def close(self) -> None:
        """Unsubscribe from the resources. It may be called any number of times."""
        while self._uris:
            self._owner.unsubscribe_resource(self._uris.pop())


# -- Without a handshake -----------------------------------------------------------------------


class SubscriptionStream:
    """The stream of one `subscriptions/listen` request, and its outcome."""

    def __init__(
        self, connection: Connection, wanted: ChangeFilter, on_ended: Callable[["SubscriptionStream"], None]
    ) -> None:
        self.connection = connection
        self.wanted = wanted
        self.agreed = ChangeFilter()
        self.outcome: Optional[Outcome] = None
        self.is_missed = False
        """True once `Listening` knows that the stream has ended."""
        self._pending: Optional[Pending] = None
        self._on_ended = on_ended
        self._answered = threading.Event()
        """Set by the acknowledgment or the end, whichever comes first."""

    @classmethod
    def of(cls, connection: Connection, id: Any) -> "Optional[SubscriptionStream]":
        """Return the stream that this id names, from the moment it is asked for until it ends; None if there is none.
        """
        pending = connection.table.find(id) if type(id) is int else None
        settle = None if pending is None else pending.settle
        return settle if isinstance(settle, SubscriptionStream) else None

    def send(self) -> None:
        """Send the request."""
        params = {"notifications": self.wanted.to_json()}
        self._pending = self.connection.open_request(LISTEN, params, timeout=None, settle=self)
        self._pending.deadline = Deadline(None)  # a stream has no ceiling: it is meant to last

    def acknowledge(self, agreed: ChangeFilter) -> None:
        """Take what the server will tell; the first time counts, and only what was asked for."""
        if not self._answered.is_set():
            self.agreed = self.wanted.both(agreed)
            self._answered.set()

    def wait(self, timeout: Optional[float]) -> None:
        """Wait for the acknowledgment. Raises `RequestTimeout`, or what came instead of it."""
        if not self._answered.wait(timeout):
            self.cancel("timeout")
            raise RequestTimeout("%s was not acknowledged in time" % LISTEN)
        outcome, pending = self.outcome, self._pending
        if outcome is not None and pending is not None:
            pending.answer(outcome)
        if outcome is not None and not self.agreed.to_json() and self.wanted.to_json():
            raise ConnectionLost("the server has ended %s before it began" % LISTEN)

    def cancel(self, reason: str) -> None:
        """Cancel the request, if it has not ended."""
        if self._pending is not None:
            self.connection.cancel(self._pending, reason)

    def __call__(self, pending: Pending, item: Any) -> None:
        """Take what arrives for the request; runs on the reader."""
        if not isinstance(item, Progress):
            self.outcome = item
            self._answered.set()
            self._on_ended(self)


class Listening:
    """The subscriptions of one client between `open` and `close`, and the stream for them.

    Thread-safe; no lock is held while user code runs.
    """

    def __init__(self, owner: "Client") -> None:
        self._owner = owner
        self._lock = threading.Lock()
        """A lock that guards what follows but for `_closed`; held for moments only."""
        self._reopening = threading.Lock()
        """A lock that is held while one stream takes the place of another, which waits for the server; taken before
        `_lock`."""
        self._subscriptions: Dict[Subscription, None] = {}
        self._by_uri: Dict[str, Subscription] = {}
        self._stream: Optional[SubscriptionStream] = None
        self._closed = threading.Event()
        self._thread: Optional[threading.Thread] = None
        self._is_given_up = False
        self._tries = 0
        """The number of attempts to open a stream, since one has lasted."""
        self._tried_at = 0.0
        """The time of the last one, or of the stream that it has opened."""

    @property
    def agreed(self) -> ChangeFilter:
        """The changes that the server tells of at the moment."""
        stream = self._stream
        return ChangeFilter() if stream is None or stream.outcome is not None else stream.agreed

    # Subscriptions

    def add(
        self, wanted: ChangeFilter, callback: Optional[UpdateCallback] = None
    ) -> Subscription:
        """Listen to something, and wait until the server agrees.

        Raises `PeerError`, `RequestTimeout`, `ConnectionLost`, or `Busy` at ``max_subscriptions``.
        """
        subscription = Subscription(self, wanted, callback)
        limit = self._owner.limits.max_subscriptions
        self._connected()
        with self._lock:
            before = self._wanted()
            for asked, known, what in ((wanted.uris, before.uris, "resources"), (wanted.more, before.more, "subjects")):
                if asked and len(known | asked) > limit:
                    raise Busy("more than %d %s to listen to; the limit is max_subscriptions" % (limit, what))
            self._subscriptions[subscription] = None
        try:
            self._reopen()
        except BaseException:
            with self._lock:
                self._subscriptions.pop(subscription, None)
            raise
        return subscription

    def drop(self, subscription: Subscription) -> None:
        """End a subscription; of no effect if it has ended."""
        with self._lock:
            if self._subscriptions.pop(subscription, self) is self or self._closed.is_set():
                return
        try:
            self._reopen()
        except McpError as error:
            self._owner.connection.counters.note("listening", "could not be changed: %s" % error)

    def subscribe(self, uri: str, callback: Optional[UpdateCallback]) -> None:
        """Listen to one resource, as `Client.subscribe_resource` says."""
        subscription = self.add(ChangeFilter(uris=frozenset((uri,))), callback)
        stream = self._stream
        if stream is None or uri not in stream.agreed.uris:
            subscription.close()
            raise LocalProtocolError("the server does not tell of changes of %s" % uri)
        with self._lock:
            before, self._by_uri[uri] = self._by_uri.get(uri), subscription
            if before is not None:
                self._subscriptions.pop(before, None)

    def unsubscribe(self, uri: str) -> None:
        """End what `subscribe` has begun."""
        with self._lock:
            subscription = self._by_uri.pop(uri, None)
        if subscription is not None:
            self.drop(subscription)

    def listeners(self, uri: str) -> List[UpdateCallback]:
        """Return the callbacks for an update of this URI."""
        with self._lock:
            subscriptions = list(self._subscriptions)
        return [each.callback for each in subscriptions if each.callback is not None and each.concerns(uri)]

    def _wanted(self) -> ChangeFilter:
        """Return what all subscriptions want together. Call it under the lock."""
        return ChangeFilter(
            frozenset().union(*(each.wanted.features for each in self._subscriptions)),
            frozenset().union(*(each.wanted.uris for each in self._subscriptions)),
            frozenset().union(*(each.wanted.more for each in self._subscriptions)))

    # The stream

    def _connected(self) -> Connection:
        """Return the connection, a new one if it has ended. Raises `ConnectionLost` where there can be none."""
        connection = self._owner.connection
        if not connection.table.ended:
            return connection
        return self._owner.renewed(connection, ConnectionLost(why_ended(connection.transport)))

    def _reopen(self) -> None:
        """Open the stream that all subscriptions need, unless the present one will do, and cancel that."""
        if not self._owner.connection.executor.may_wait():
            raise LocalProtocolError(
                "%s would wait for the server on the thread that reads from it; use another executor" % LISTEN)
        with self._reopening:
            with self._lock:
                wanted, before = self._wanted(), self._stream
            if before is not None and before.outcome is None and before.wanted == wanted:
                return
            fresh = self._open(wanted) if wanted.to_json() else None
            self._replace(fresh, before)
            if before is not None:
                before.cancel("another stream takes its place" if fresh else "nobody wants to hear any more")
            # It may have ended between its acknowledgment and `_replace`: then `_on_ended` did not know it.
            if fresh is not None and fresh.outcome is not None:
                self._on_ended(fresh)

    def _open(self, wanted: ChangeFilter) -> SubscriptionStream:
        connection = self._owner.connection
        if self._closed.is_set():
            raise ConnectionLost("the client was closed")
        stream = SubscriptionStream(connection, wanted, self._on_ended)
        try:
            stream.send()
            stream.wait(connection.limits.request_timeout)
        except BaseException:
            stream.cancel("the caller gave up")  # does nothing if it has ended
            raise
        missing = wanted.without(stream.agreed).to_json()
        if missing:
            connection.counters.note("not told", "the server does not tell of %s" % (missing,))
        return stream

    def _replace(self, fresh: Optional[SubscriptionStream], before: Optional[SubscriptionStream]) -> None:
        """Have one stream take the place of another; the cache is told of which lists it tells."""
        with self._lock:
            if before is None or before.outcome is not None:
                self._tried_at = deadline.clock()
            self._stream = fresh
            stream = fresh or before
            if stream is not None:
                features = () if fresh is None or fresh.outcome is not None else fresh.agreed.features
                stream.connection.state["lists"].server_notifies([LISTS[feature].changed for feature in features])

    # What arrives, on the reader

    def accepts(self, connection: Connection, method: str, params: Dict[str, Any]) -> bool:
        """True if a notification of STREAMED is for callbacks: it names a stream of ours, and is no acknowledgment."""
        meta = params.get("_meta")
        id = meta.get(SUBSCRIPTION) if isinstance(meta, dict) else None
        stream = SubscriptionStream.of(connection, id)
        if stream is None:
            connection.counters.note("notification of no stream", "%s names %.80r" % (method, id))
            return False
        if method != ACKNOWLEDGED:
            return True
        try:
            agreed = decode(SubscriptionsAcknowledgedNotificationParams, params, connection.session.rules,
                            forgive=connection.forgive).notifications
        except ValueError as error:
            connection.counters.note("malformed notification", "%s: %s" % (method, error))
            return False
        features = frozenset(feature for feature in FEATURES if getattr(agreed, "%s_list_changed" % feature))
        more = frozenset((member, text) for member, texts in agreed.extra.items() if isinstance(texts, list)
                         for text in texts if isinstance(text, str))
        stream.acknowledge(ChangeFilter(features, frozenset(agreed.resource_subscriptions or ()), more))
        return False

    def on_stream_ended(self, connection: Connection, id: RequestId, reason: str) -> bool:
        """End a stream, because the server says that it does; its answer may follow or not.

        False if the id names no stream of ours [2026-07-28 basic/patterns/cancellation §Behavior Requirements] MUST.
        """
        lost = ConnectionLost("the server ends it: %.200s" % reason)
        pending = connection.table.find(id)
        if pending is None or SubscriptionStream.of(connection, id) is None or not connection.table.fail(id, lost):
            return False
        connection.abandon(pending)
        return True

    def _on_ended(self, stream: SubscriptionStream) -> None:
        """Note that a stream has ended; if it is the one that is needed, another one takes its place."""
        with self._lock:
            if stream is not self._stream or stream.is_missed or not self._needs_stream():
                return
            stream.is_missed = True
            stream.connection.state["lists"].server_notifies(())  # until there is another stream
            if deadline.clock() - self._tried_at >= self._owner.limits.restart_healthy:
                self._tries = 0
            self._start_opening()
        how = "cleanly" if isinstance(stream.outcome, ResultResponse) else str(stream.outcome)
        stream.connection.counters.note("stream ended", how)

    # Opening again, on a thread of its own

    def resume(self) -> None:
        """Open a stream on a connection that is new, if one is needed and no thread opens it already.

        [2026-07-28 basic/patterns/subscriptions §Graceful Closure] MUST
        """
        with self._lock:
            if not self._needs_stream():
                return
            if available():
                self._start_opening()
                return
        self._keep_opening()

    def _needs_stream(self) -> bool:
        """True if there ought to be a stream and is none. Call it under the lock."""
        stream = self._stream
        is_open = stream is not None and stream.outcome is None
        return bool(self._subscriptions) and not self._closed.is_set() and not is_open

    def _start_opening(self) -> None:
        """Start the thread that opens a stream, if it does not run. Call it under the lock."""
        self._is_given_up = not available()
        if self._is_given_up:
            text = "no thread can be started here to begin again; the next connection does"
            self._owner.connection.counters.note("listening given up", text)
        elif self._thread is None:
            name = "mcp-ref:listen:%s" % self._owner.connection.transport.name
            self._thread = start_thread(name, self._keep_opening)

    def _keep_opening(self) -> None:
        """Try to open a stream, until that is done, the client is closed, or the server refuses."""
        try:
            while not self._closed.wait(self._pause()):
                self._try()
                with self._lock:
                    if self._is_given_up or not self._needs_stream():
                        # Under the lock: whoever finds from now on that a stream has ended starts a thread anew.
                        self._thread = None
                        return
        finally:
            with self._lock:
                if self._thread is threading.current_thread():
                    self._thread = None

    def _pause(self) -> float:
        """Return the seconds until the next attempt: the time between two doubles, until a stream has lasted."""
        tries, self._tries = self._tries, self._tries + 1
        if not tries:
            return 0.0
        between = deadline.backoff(self._owner.limits.restart_delay, tries, LONGEST_WAIT)
        return max(0.0, self._tried_at + between - deadline.clock())

    def _try(self) -> None:
        with self._lock:
            if not self._needs_stream():
                return
            self._tried_at = deadline.clock()
        try:
            connection = self._connected()
        except McpError as error:
            self._give_up(error)
            return
        try:
            self._reopen()
        except (PeerError, LocalProtocolError) as error:
            self._give_up(error)
        except McpError as error:
            connection.counters.note("listening again failed", str(error))
        else:
            # What changed while there was no stream is unknown: each resource is reported once.
            for uri in sorted(self.agreed.uris):
                connection.hear(Notification(RESOURCE_UPDATED, {"uri": uri}))

    def _give_up(self, error: McpError) -> None:
        with self._lock:
            self._is_given_up = True
        self._owner.connection.counters.note("listening given up", str(error))

    # The end

    def close(self) -> None:
        """Open no stream any more: the client is being closed."""
        self._closed.set()

    def wait_closed(self, timeout: float) -> None:
        """Wait for the thread that opens streams; the connection is closed already."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)
