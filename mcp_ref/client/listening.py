"""Hearing of changes where a client has to ask for them: `subscriptions/listen`.

[2026-07-28 basic/patterns/subscriptions §Opening a Stream]::

    with client.listen("tools", uris=["config://app"]) as wish:
        wish.agreed                     # what the server is willing to tell

A client has one stream, whatever it wishes to hear of: another wish opens a stream for all of them, and when that is
acknowledged the one before is cancelled. So nothing is missed in between; something may be heard twice.

========================================================  =========================================================
the stream                                                 and then
========================================================  =========================================================
is lost with its connection, or with the server's process  another one is opened, at once if it has lasted, else after
                                                           a wait that doubles
is ended by the server                                     likewise
is refused                                                 `PeerError` for who wished; if it was one that had been
                                                           opened before: a log line, and no other is opened
cannot be, for there is no server any more                 a log line; another one as soon as a request has started it
========================================================  =========================================================

[2026-07-28 basic/patterns/subscriptions §Graceful Closure] MUST. Reading: what changed while there was no stream is not
known. So lists are forgotten, and each resource that somebody subscribed to is reported as changed once.

A notification that names no stream of ours is dropped and counted
[2026-07-28 basic/patterns/subscriptions §Receiving Notifications] MUST.
"""

import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, FrozenSet, List, NamedTuple, Optional, Sequence

from .. import deadline
from ..codec import decode
from ..deadline import Deadline
from ..errors import Busy, ConnectionLost, LocalProtocolError, McpError, PeerError, RequestTimeout
from ..jsonrpc import Notification, RequestId, Result
from ..messages.subscriptions import SubscriptionsAcknowledgedNotificationParams
from ..peer.dispatcher import Connection
from ..peer.request_table import Outcome, Pending, Progress
from ..protocol.capabilities import has
from ..protocol.envelope import SUBSCRIPTION
from ..threads import available, start_thread
from .cache.caches import LISTS, UPDATED
from .subscriptions import UpdateCallback, within

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
        self.callback = callback
        self._listening = listening

    @property
    def agreed(self) -> Wishes:
        """What of it the server tells at the moment; nothing while there is no stream."""
        agreed = self._listening.agreed
        return Wishes(self.wanted.features & agreed.features, self.wanted.uris & agreed.uris)

    def concerns(self, uri: str) -> bool:
        """Whether an update of this URI is about what is wished for, or a part of it."""
        uris = self.wanted.uris
        return uri in uris or any(within(uri, whole) for whole in uris)

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

    def __init__(self, connection: Connection, wanted: Wishes, ended: Callable[["Stream"], None]) -> None:
        self.connection = connection
        self.wanted = wanted
        self.agreed = Wishes()
        self.outcome: Optional[Outcome] = None
        self.missed = False
        """Whether `Listening` knows that it has ended."""
        self._pending: Optional[Pending] = None
        self._ended = ended
        self._clear = threading.Event()
        """Set by the acknowledgment or the end, whichever comes first."""

    @classmethod
    def of(cls, connection: Connection, id: Any) -> "Optional[Stream]":
        """The stream of a connection that this id names, while it lasts; from the moment it is asked for."""
        pending = connection.table.find(id) if type(id) is int else None
        settle = None if pending is None else pending.settle
        return settle if isinstance(settle, Stream) else None

    def send(self) -> None:
        """Send the request."""
        params = {"notifications": self.wanted.filter()}
        self._pending = self.connection.open_request(LISTEN, params, timeout=None, settle=self)
        self._pending.deadline = Deadline(None)  # it is meant to last

    def acknowledged(self, agreed: Wishes) -> None:
        """The server has said what it will tell; the first time counts, and of what was asked for only."""
        if not self._clear.is_set():
            self.agreed = Wishes(self.wanted.features & agreed.features, self.wanted.uris & agreed.uris)
            self._clear.set()

    def wait(self, timeout: Optional[float]) -> None:
        """Wait for the acknowledgment. Raises `RequestTimeout`, or what came instead of it."""
        if not self._clear.wait(timeout):
            self.cancel("timeout")
            raise RequestTimeout("%s was not acknowledged in time" % LISTEN)
        outcome, pending = self.outcome, self._pending
        if outcome is not None and pending is not None:
            pending.answer(outcome)
        if outcome is not None and not self.agreed.filter() and self.wanted.filter():
            raise ConnectionLost("the server has ended %s before it began" % LISTEN)

    def cancel(self, reason: str) -> None:
        """Hear no more."""
        if self._pending is not None:
            self.connection.cancel(self._pending, reason)

    def __call__(self, pending: Pending, item: Any) -> None:
        """Take what arrives for the request, on the reader."""
        if not isinstance(item, Progress):
            self.outcome = item
            self._clear.set()
            self._ended(self)


class Listening:
    """The wishes of one client between `open` and `close`, and the stream for them.

    Thread-safe; no lock is held while user code runs.
    """

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._lock = threading.Lock()
        self._turning = threading.Lock()
        """Held while one stream takes the place of another."""
        self._wishes: Dict[Wish, None] = {}
        self._by_uri: Dict[str, Wish] = {}
        self._stream: Optional[Stream] = None
        self._over = threading.Event()
        self._thread: Optional[threading.Thread] = None
        self._given_up = False
        self._tries = 0  # to open a stream again, since one has lasted
        self._since = 0.0  # the last one

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
        limit = self._client.limits.max_subscriptions
        self._connected()
        with self._lock:
            if wish.wanted.uris and len(self._wanted().uris | wish.wanted.uris) > limit:
                raise Busy("more than %d resources to listen to; the limit is max_subscriptions" % limit)
            self._wishes[wish] = None
        try:
            self._turn()
        except BaseException:
            with self._lock:
                self._wishes.pop(wish, None)
            raise
        return wish

    def drop(self, wish: Wish) -> None:
        """Take back a wish."""
        with self._lock:
            if self._wishes.pop(wish, self) is self or self._over.is_set():
                return
        try:
            self._turn()
        except McpError as error:
            self._client.connection.counters.note("listening", "could not be changed: %s" % error)

    def subscribe(self, uri: str, callback: Optional[UpdateCallback]) -> None:
        """One resource, as `Client.subscribe_resource`."""
        wish = self.add((), (uri,), callback)
        stream = self._stream
        if stream is None or uri not in stream.agreed.uris:
            wish.close()
            raise LocalProtocolError("the server does not tell of changes of %s" % uri)
        with self._lock:
            before, self._by_uri[uri] = self._by_uri.get(uri), wish
            if before is not None:
                self._wishes.pop(before, None)

    def unsubscribe(self, uri: str) -> None:
        """And no more."""
        with self._lock:
            wish = self._by_uri.pop(uri, None)
        if wish is not None:
            self.drop(wish)

    def listeners(self, uri: str) -> List[UpdateCallback]:
        """Who is to be told of an update of this URI."""
        with self._lock:
            wishes = list(self._wishes)
        return [wish.callback for wish in wishes if wish.callback is not None and wish.concerns(uri)]

    def _wanted(self) -> Wishes:
        """All wishes in one; to be called under the lock."""
        return Wishes(
            frozenset().union(*(wish.wanted.features for wish in self._wishes)),
            frozenset().union(*(wish.wanted.uris for wish in self._wishes)))

    # The stream

    def _connected(self) -> Connection:
        """The connection, a new one if it has ended. Raises `ConnectionLost` where there can be none."""
        connection = self._client.connection
        if not connection.table.ended:
            return connection
        return self._client.renewed(connection, ConnectionLost(connection.transport.reason()))

    def _turn(self) -> None:
        """Have the stream that all wishes need; the one there is, if it will do."""
        if not self._client.connection.executor.may_wait():
            raise LocalProtocolError(
                "%s would wait for the server on the thread that reads from it; use another executor" % LISTEN)
        with self._turning:
            with self._lock:
                wanted, before = self._wanted(), self._stream
            if before is not None and before.outcome is None and before.wanted == wanted:
                return
            fresh = self._open(wanted) if wanted.filter() else None
            self._put(fresh, before)
            if before is not None:
                before.cancel("another stream takes its place" if fresh else "nobody wants to hear any more")
            if fresh is not None and fresh.outcome is not None:
                self._ended(fresh)  # nobody knew yet that it is the one

    def _open(self, wanted: Wishes) -> Stream:
        connection = self._client.connection
        if self._over.is_set():
            raise ConnectionLost("the client was closed")
        stream = Stream(connection, wanted, self._ended)
        try:
            stream.send()
            stream.wait(connection.limits.request_timeout)
        except BaseException:
            stream.cancel("the caller gave up")  # does nothing if it has ended
            raise
        missing = Wishes(wanted.features - stream.agreed.features, wanted.uris - stream.agreed.uris)
        if missing.filter():
            connection.counters.note("not told", "the server does not tell of %s" % (missing.filter(),))
        return stream

    def _put(self, fresh: Optional[Stream], before: Optional[Stream]) -> None:
        """Have one stream take the place of another; lists are told of as far as it goes."""
        with self._lock:
            if before is None or before.outcome is not None:
                self._since = deadline.clock()
            self._stream = fresh
            place = fresh or before
            if place is not None:
                told = () if fresh is None or fresh.outcome is not None else fresh.agreed.features
                place.connection.state["lists"].listening([LISTS[feature].changed for feature in told])

    # What arrives, on the reader

    def accepts(self, connection: Connection, method: str, params: Dict[str, Any]) -> bool:
        """Whether somebody wants to hear of a notification that names a stream of ours; not of an acknowledgment."""
        meta = params.get("_meta")
        id = meta.get(SUBSCRIPTION) if isinstance(meta, dict) else None
        stream = Stream.of(connection, id)
        if stream is None:
            connection.counters.note("notification of no stream", "%s names %.80r" % (method, id))
            return False
        if method != ACKNOWLEDGED:
            return True
        try:
            found = decode(SubscriptionsAcknowledgedNotificationParams, params, connection.session.rules).notifications
        except ValueError as error:
            connection.counters.note("malformed notification", "%s: %s" % (method, error))
            return False
        features = frozenset(feature for feature in FEATURES if getattr(found, "%s_list_changed" % feature))
        stream.acknowledged(Wishes(features, frozenset(found.resource_subscriptions or ())))
        return False  # it is for us alone

    def torn_down(self, connection: Connection, id: RequestId, reason: str) -> bool:
        """The server says that it ends a stream [2026-07-28 basic/patterns/cancellation §Behavior Requirements] MUST.

        Its answer may follow or not. False: it names no stream of ours.
        """
        lost = ConnectionLost("the server ends it: %.200s" % reason)
        pending = connection.table.find(id)
        if pending is None or Stream.of(connection, id) is None or not connection.table.fail(id, lost):
            return False
        connection.abandon(pending)
        return True

    def _ended(self, stream: Stream) -> None:
        """A stream has ended; if it is the one that is needed, another one takes its place."""
        with self._lock:
            if stream is not self._stream or stream.missed or not self._lacking():
                return
            stream.missed = True
            stream.connection.state["lists"].listening(())  # until there is another one
            if deadline.clock() - self._since >= self._client.limits.restart_healthy:
                self._tries = 0
            self._begin()
        said = "cleanly" if isinstance(stream.outcome, Result) else str(stream.outcome)
        stream.connection.counters.note("stream ended", said)

    # Again

    def resume(self) -> None:
        """There is another connection: have a stream there, if one is needed and nobody sees to it.

        [2026-07-28 basic/patterns/subscriptions §Graceful Closure] MUST
        """
        with self._lock:
            if not self._lacking():
                return
            if available():
                self._begin()
                return
        self._again()

    def _lacking(self) -> bool:
        """Whether there ought to be a stream and is none; to be called under the lock."""
        stream = self._stream
        return bool(self._wishes) and not self._over.is_set() and (stream is None or stream.outcome is not None)

    def _begin(self) -> None:
        self._given_up = not available()
        if self._given_up:
            text = "no thread can be started here to begin again; the next connection does"
            self._client.connection.counters.note("listening given up", text)
        elif self._thread is None:
            self._thread = start_thread("mcp-ref:listen:%s" % self._client.connection.transport.name, self._again)

    def _again(self) -> None:
        """Open a stream once more, until that is done, the client is closed, or the server will not."""
        try:
            while not self._over.wait(self._pause()):
                self._try()
                with self._lock:
                    if self._given_up or not self._lacking():
                        self._thread = None  # under the lock: who finds a stream ended from now on begins anew
                        return
        finally:
            with self._lock:
                if self._thread is threading.current_thread():
                    self._thread = None

    def _pause(self) -> float:
        """Seconds until the next attempt: the time between two doubles, until a stream lasts ``restart_healthy``."""
        tries, self._tries = self._tries, self._tries + 1
        if not tries:
            return 0.0
        between = min(LONGEST_WAIT, self._client.limits.restart_delay * 2.0 ** min(tries - 1, 20))
        return max(0.0, self._since + between - deadline.clock())

    def _try(self) -> None:
        """One attempt."""
        with self._lock:
            if not self._lacking():
                return
            self._since = deadline.clock()
        try:
            connection = self._connected()
        except McpError as error:
            self._give_up(error)
            return
        try:
            self._turn()
        except (PeerError, LocalProtocolError) as error:
            self._give_up(error)
        except McpError as error:
            connection.counters.note("listening again failed", str(error))
        else:
            self._report(connection)

    def _give_up(self, error: McpError) -> None:
        with self._lock:
            self._given_up = True
        self._client.connection.counters.note("listening given up", str(error))

    def _report(self, connection: Connection) -> None:
        """What may have changed while nobody listened."""
        for uri in sorted(self.agreed.uris):
            connection.hear(Notification(UPDATED, {"uri": uri}))

    # The end

    def close(self) -> None:
        """The client is being closed: open no stream any more."""
        self._over.set()

    def wait_closed(self, timeout: float) -> None:
        """Wait for the thread that was about to open one; the connection is closed already."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)
