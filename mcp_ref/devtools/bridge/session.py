"""One session of a client with a bridge: the servers behind that are its own, and what goes on between the sides.

A client with a handshake has a session from `initialize` to the end of its connection. Stateless requests have none,
but a server with a handshake behind them does: see `mcp_ref.devtools.bridge.bridge` for who shares one.

A notification of a server, and where it goes:

==============================  =====================================  =============================================
notification                    client with a handshake                stateless client
==============================  =====================================  =============================================
a list, a resource has changed  as it is                               the streams of `subscriptions/listen`
a log message                   with the newest request                with the newest request that asks for its level
progress                        with the request that it belongs to    the same
a link was followed, tasks      as it is, in one revision              streams, for tasks; else dropped
a vendor's                      as it is                               with the newest request; else dropped
==============================  =====================================  =============================================
"""

import threading
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple

from ...codec import encode
from ...diagnostics.packagelog import Counters, get_logger
from ...errors import (
    INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND, ConnectionLost, LocalProtocolError, McpError,
    PeerError, RequestCancelled, RpcError,
)
from ...jsonrpc import Request, shown
from ...jsontext import dumps
from ...messages.base import Implementation
from ...messages.logs import LEVELS
from ...messages.subscriptions import SubscriptionFilter, SubscriptionsAcknowledgedNotificationParams
from ...methods import (
    CALL_TOOL, CANCELLED, COMPLETE, INPUT_REQUIRED, LIST_CHANGED, LOG_MESSAGE, READ_RESOURCE, RESOURCE_UPDATED,
    SET_LOG_LEVEL, TASKS, TASK_NOTICE, TASK_RESULT, TASK_STATUS, is_vendor, lookup,
)
from ...peer.context import HANDLED, Context
from ...peer.dispatcher import Connection
from ...protocol.envelope import SUBSCRIPTION
from ...protocol.extensions import naming_task
from ...protocol.lifecycle import has
from ...protocol.uris import containers
from ...revisions import Revision
from ...server.subscriptions import FILTERS, Listener
from ...threads import start_or_call
from . import translation
from .link import UpstreamConnection
from .parked import ParkedCalls
from .tasks import older, task_of
from .translation import Json

if TYPE_CHECKING:
    from ...client.subscriptions import Subscription
    from .bridge import Bridge

_ASKABLE = ("elicitation", "sampling", "roots")
_MERGED = ("tools", "prompts", "resources", "completions", "logging")
"""The capabilities that several servers behind one bridge can have together."""
_CHANGED = {method: feature for feature, method in LIST_CHANGED.items()}
TASK_IDS = "taskIds"
"""The member of the filter of `subscriptions/listen` that the extension for tasks adds."""


class BridgeSession:
    """The servers behind a bridge of one client.

    ``front``: the connection of a client with a handshake; None for stateless requests. ``info`` and ``capabilities``
    are what the client says of itself in ``revision``.
    """

    def __init__(
        self, bridge: "Bridge", number: int, revision: Revision, info: Mapping[str, Any],
        capabilities: Mapping[str, Any], front: Optional[Connection] = None,
    ) -> None:
        self.bridge = bridge
        self.number = number
        self.revision = revision
        self.front = front
        self.used = 0.0
        self.counters = Counters()
        self.links = [UpstreamConnection(self, behind) for behind in bridge.behind]
        self._info = info
        self._declared = translation.client_capabilities(capabilities, revision)
        self._askable = any(getattr(self._declared, name) is not None for name in _ASKABLE)
        self._lock = threading.Lock()
        """A lock that guards the next three, and is held for moments."""
        self._contexts: Dict[Context, None] = {}
        """The requests of the client that are being answered, oldest first."""
        self._listeners: "Dict[Listener, List[Subscription]]" = {}
        self._early: "Optional[List[Any]]" = None if front is None else []
        """The notifications that came before the client was ready to hear them; None once it is."""
        self._operating = threading.Event()
        self.parked = ParkedCalls(bridge.limits, bridge.states.ttl)
        self._closed = threading.Event()
        self._opening = threading.Lock()
        self._opened = False
        self._failure: Optional[McpError] = None
        if front is None:
            self._operating.set()

    # Life

    def open(self, connection: Connection) -> None:
        """Start or reach the servers, once; other callers wait. Raises `RpcError`, for the client of this connection.
        """
        with self._opening:
            if self._opened:
                return
            if self._failure is not None:
                raise self._failure
            try:
                for link in self.links:
                    link.open(self._info, self._declared, self.number)
                if self._closed.is_set():
                    raise ConnectionLost("the client has gone")
            except McpError as error:
                self._failure = self.broken(connection, error)
                self.bridge.failure = error
                self.close()
                for link in self.links:  # `close` may have come before a server was there
                    link.close()
                raise self._failure from error
            self._opened = True

    @property
    def busy(self) -> bool:
        """True while a request runs, is parked, a stream is open, or a task goes on."""
        tasks = any(link.tasks is not None and link.tasks.busy for link in self.links)
        return bool(self._contexts or self._listeners or len(self.parked) or tasks)

    def operating(self) -> None:
        """Note that the handshake with the client is over: it may be asked and told from now on."""
        self._operating.set()
        while True:
            with self._lock:
                early, self._early = self._early, [] if self._early else None
            for method, params in early or ():
                self._notify(method, params)
            if not early:
                return

    def lost(self, link: UpstreamConnection, reason: str) -> None:
        """End the session, because a server with a handshake has ended, and what it knew of the session with it."""
        get_logger(__name__).warning("session %d: the server behind %s has ended: %s",
                                     self.number, link.behind.name, reason)
        text = "the server behind has ended"
        self.bridge.failure = ConnectionLost("%s: %s" % (text, reason))
        if self.front is None:
            self.bridge.discard(self)
            self.bridge.later(self.close)
        else:
            self.bridge.later(self.front.shut_down, text, self.bridge.limits.drain)

    def close(self) -> None:
        """End everything that is open, and the servers behind. Waits for them; of no effect the second time."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._operating.set()
        self.parked.close("The session of this request has ended")
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            self._end_in_order(listener)
        for link in self.links:
            link.close()

    def broken(self, connection: Connection, error: McpError) -> RpcError:
        """Log that a server behind failed, and return the error for the client.

        A client on another machine is not told the text, which may have commands, addresses and the server's stderr.
        """
        get_logger(__name__).warning("session %d: the server behind (%s) does not answer: %s",
                                     self.number, self.bridge, error)
        what = "The server behind this bridge does not answer"
        if self.bridge.hides(connection):
            return RpcError(INTERNAL_ERROR, what + "; the bridge's log says why")
        return RpcError(INTERNAL_ERROR, "%s: %s" % (what, error))

    # Requests of the client

    def answer(self, context: Context, method: str, params: Json) -> Json:
        """Answer a request by that of the server behind."""
        with self._lock:
            self._contexts[context] = None
        try:
            if not self.links[0].behind.prefix:
                return self._forward(self.links[0], context, method, params)
            if method in translation.LISTS:
                return self._list(context, method, params)
            if method == SET_LOG_LEVEL:
                for link in self._having("logging"):
                    link.forward(context, method, params)
                return {}
            return self._named(context, method, params)
        finally:
            with self._lock:
                del self._contexts[context]

    def _forward(self, link: UpstreamConnection, context: Context, method: str, params: Json) -> Json:
        way = None if link.tasks is None else link.tasks.way(context, method, params)
        if way is not None:
            return way(context, params)
        row = lookup(method, self.revision)
        if self.revision.stateless and not link.revision.stateless and self._askable and (
                row is not None and row.other == INPUT_REQUIRED):
            return self.parked.call(link, context, method, params)
        return link.forward(context, method, params)

    def _named(self, context: Context, method: str, params: Json) -> Json:
        """Answer a request by the server of the prefix that its name or URI has."""
        prefix = translation.prefix_of(method, params)
        for link in self.links:
            if link.behind.prefix == prefix:
                made = self._forward(link, context, method, translation.inward(prefix, method, params))
                return translation.outward(prefix, method, made)
        if method == CALL_TOOL:
            raise RpcError(INVALID_PARAMS, "Unknown tool: %s" % shown(str(params.get("name"))))
        if method == READ_RESOURCE:
            raise RpcError(RESOURCE_NOT_FOUND, "Resource not found", {"uri": params.get("uri")})
        if method in translation.NAMED or method in translation.LOCATED or method == COMPLETE:
            raise RpcError(INVALID_PARAMS, "Invalid params: none of the servers behind this bridge has this name")
        raise RpcError(METHOD_NOT_FOUND, "Method not found: %s, which nothing says to which server it goes" % method)

    def _list(self, context: Context, method: str, params: Json) -> Json:
        """Answer with one page of one server after the other; the cursor says which is next."""
        links = self._having(method.partition("/")[0])
        number, _, cursor = str(params.get("cursor") or "0:").partition(":")
        if not (number.isascii() and number.isdigit() and len(number) < 10) or int(number) >= len(links):
            if "cursor" in params:
                raise RpcError(INVALID_PARAMS, "Invalid params: params.cursor is none of this bridge's")
            raise RpcError(METHOD_NOT_FOUND, "Method not found: %s: no server behind this bridge has it" % method)
        at, asked = int(number), {name: value for name, value in params.items() if name != "cursor"}
        prefix = links[at].behind.prefix
        made = links[at].forward(context, method, dict(asked, cursor=cursor) if cursor else asked)
        made = dict(translation.outward(prefix, method, made))
        following = made.pop("nextCursor", None)
        if following is not None:
            made["nextCursor"] = "%d:%s" % (at, following)
        elif at + 1 < len(links):
            made["nextCursor"] = "%d:" % (at + 1)
        return made

    def _having(self, capability: str) -> List[UpstreamConnection]:
        return [link for link in self.links if has(link.client.server_capabilities, capability)]

    @property
    def identity(self) -> Implementation:
        """The name that clients see: that of the one server behind, or of the bridge where several are mounted."""
        link = self.links[0]
        found = None if link.behind.prefix else link.client.server_info
        return found or Implementation(*self.bridge.identity[:2])

    def introduction(self, revision: Revision) -> "Tuple[Implementation, Optional[str], Json]":
        """Return the `identity`, the instructions, and the capabilities for a client of a revision."""
        link = self.links[0]
        if not link.behind.prefix:
            return self.identity, link.client.instructions, link.capabilities(revision)
        merged: Json = {}
        for each in self.links:
            for name, settings in each.capabilities(revision).items():
                if name in _MERGED:
                    known = merged.setdefault(name, {})
                    known.update({flag: True for flag, value in settings.items() if value is True})
        said = ["%s: %s" % (each.behind.prefix, each.client.instructions) for each in self.links
                if each.client.instructions]
        return self.identity, "\n\n".join(said) or None, merged

    def pass_on(self, method: str, params: Json) -> None:
        """Pass a notification of the client on to the servers that may be sent it."""
        for link in self.links:
            try:
                link.client.notify(method, params or None)
            except McpError as error:
                self.counters.note("notification not passed on", "%s: %s" % (method, error))

    # Requests of a server

    def ask(self, asking: Context, params: Json) -> Json:
        """Answer a request of a server by the answer of the client. Raises `RpcError`, `RequestCancelled`."""
        method = asking.request.method
        if self.front is None:
            task = task_of(params) if TASKS in (self._declared.extensions or {}) else None
            return self.parked.ask(asking, method, params, self.revision, task)
        self._operating.wait(self.bridge.limits.request_timeout)
        front, source = self.front, asking.session.rules
        sent = translation.params_of(method, params, source, self.revision)
        meta = translation.meta_of(params)
        if meta:
            sent["_meta"] = meta
        within = self._asking_for(asking)
        if source.stateless and within is not None and within.request.method == TASK_RESULT:
            sent = naming_task(sent, str((within.request.params or {}).get("taskId")))
        try:
            pending = front.open_request(method, sent, None, UpstreamConnection.progress(asking, params),
                                         about=None if within is None else within.incoming.id)
        except (LocalProtocolError, ConnectionLost) as error:
            raise RpcError(INTERNAL_ERROR, "The client cannot be asked: %s" % error) from None

        def withdraw() -> None:
            front.cancel(pending, "the server does not wait any more")

        watched = [asking.incoming] if within is None else [asking.incoming, within.incoming]
        for incoming in watched:
            incoming.watch(withdraw, first=True)
        try:
            result = front.wait(pending)
        except PeerError as error:
            raise RpcError(error.code, error.message, error.data) from None
        except RequestCancelled:
            raise
        except McpError as error:
            raise RpcError(INTERNAL_ERROR, "The client did not answer: %s" % error) from None
        finally:
            for incoming in watched:
                incoming.unwatch(withdraw)
        return translation.result_of(method, result, self.revision, source)

    def _asking_for(self, asking: Context) -> Optional[Context]:
        """Return the request of the client that a question belongs to: the one that this thread answers, else the
        newest."""
        handled = HANDLED.get()
        with self._lock:
            if handled in self._contexts:
                return handled
            return next(reversed(list(self._contexts)), None)

    # Notifications of a server

    def tell(self, link: UpstreamConnection, method: str, params: Json) -> None:
        """Pass a notification on; the module has the table. A log message of a server that has not declared ``logging``
        is shown to the operator: clients do not expect any."""
        if method == LOG_MESSAGE and not has(link.client.server_capabilities, "logging"):
            from ...diagnostics.redaction import redact_text

            self.counters.note("log message of a server without the capability logging", redact_text("%s: %s: %s" % (
                link.behind.name, params.get("level"), dumps(params.get("data")))))
            return
        if link.behind.prefix:
            params = translation.outward(link.behind.prefix, method, params)
        if self.front is None:
            self._tell_stateless(method, params)
            return
        with self._lock:
            if self._early is not None:
                if len(self._early) < self.bridge.limits.max_early_messages:
                    self._early.append((method, params))
                return
        self._notify(method, params)

    def _notify(self, method: str, params: Json) -> None:
        """Tell a client with a handshake."""
        front, within = self.front, None
        if front is None:
            return
        if method == TASK_NOTICE:
            if not self.revision.tasks:
                return
            method, params = TASK_STATUS, naming_task(older(params), str(params.get("taskId")))
        if method == LOG_MESSAGE or is_vendor(method):
            with self._lock:
                within = next(reversed(list(self._contexts)), None)
        try:
            if within is None or not within.incoming.while_wanted(lambda: None):
                front.notify(method, params or None)
            else:
                front.notify(method, params or None, within.incoming, wait=False)
        except LocalProtocolError as error:
            self.counters.note("notification not passed on", "%s: %s" % (method, error))

    def _tell_stateless(self, method: str, params: Json) -> None:
        with self._lock:
            contexts, listeners = list(reversed(list(self._contexts))), list(self._listeners)
        if method in _CHANGED or method in (RESOURCE_UPDATED, TASK_NOTICE):
            plain = {name: value for name, value in params.items() if name != "_meta"}
            for listener in listeners:
                if _concerns(listener, method, plain):
                    listener.tell(method, plain)
            return
        if method == LOG_MESSAGE:
            level = params.get("level")
            contexts = [each for each in contexts if each.session.log_level is not None and level in LEVELS
                        and LEVELS.index(str(level)) >= LEVELS.index(each.session.log_level)]
        elif method == TASK_STATUS:
            return  # the client looks at its tasks
        elif not is_vendor(method):
            contexts = []
        for context in contexts[:1]:
            try:
                context.notify(method, params or None)
            except (LocalProtocolError, RequestCancelled) as error:
                self.counters.note("notification not passed on", "%s: %s" % (method, error))
            return
        self.counters.note("notification not passed on", "%s: no request of the client could carry it" % method)

    # Streams of changes

    def listen(self, context: Context, asked: SubscriptionFilter) -> None:
        """Open a stream of changes for a stateless client; the answer comes when it ends."""
        most = self.bridge.limits.max_listeners
        if len(self._listeners) >= most:
            raise RpcError(INTERNAL_ERROR, "Too many streams: max_listeners (%d) are open" % most)
        agreed = SubscriptionFilter()
        subscriptions: "List[Subscription]" = []
        for link in self.links:
            subscriptions += self._subscribe(link, asked, agreed)
        listener = Listener(context, agreed)
        with self._lock:
            self._listeners[listener] = subscriptions
        context.request = Request(context.request_id, context.request.method, None)
        listener.acknowledge(encode(SubscriptionsAcknowledgedNotificationParams(agreed), self.revision))
        context.incoming.watch(lambda: self._end(listener, None))

    def _subscribe(self, link: UpstreamConnection, asked: SubscriptionFilter,
                   agreed: SubscriptionFilter) -> "List[Subscription]":
        """Listen to what a server will tell of the filter, and add it to ``agreed``."""
        client = link.client
        features = [feature for feature, name in FILTERS.items() if getattr(asked, name)]
        ids = asked.extra.get(TASK_IDS)
        more = {TASK_IDS: ids} if isinstance(ids, list) and client.revision.stateless else {}
        opened: "List[Subscription]" = []
        # One URI after the other, where there is a handshake: one that is refused does not take the others with it.
        prefix = link.behind.prefix
        uris = list(dict.fromkeys(asked.resource_subscriptions or ()))
        if prefix:
            before = translation.outer_uri(prefix, "")
            uris = [uri[len(before):] for uri in uris if uri.startswith(before)]
        wanted = [(features, uris)] if client.revision.stateless else [(features, [])] + [([], [uri]) for uri in uris]
        for names, some in wanted:
            try:
                opened.append(client.listen(*names, uris=some, more=more))
            except McpError as error:
                self.counters.note("not listened to", str(error))
        for subscription in opened:
            for feature in subscription.agreed.features:
                setattr(agreed, FILTERS[feature], True)
            told = [translation.outer_uri(prefix, uri) if prefix else uri for uri in subscription.agreed.uris]
            if told:
                agreed.resource_subscriptions = sorted({*(agreed.resource_subscriptions or ()), *told})
            texts = sorted(text for _, text in subscription.agreed.more)
            if texts:
                agreed.extra = dict(agreed.extra, **{TASK_IDS: texts})
        return opened

    def end_listening(self, connection: Connection) -> bool:
        """End the streams of one connection in order; True if there were any."""
        with self._lock:
            ending = [each for each in self._listeners if each.context.connection is connection]
        for listener in ending:
            self._end_in_order(listener)
        return bool(ending)

    def _end_in_order(self, listener: Listener) -> None:
        """Tell the client, too [2026-07-28 basic/patterns/subscriptions §Graceful Closure] SHOULD."""
        id = listener.context.request_id
        listener.tell(CANCELLED, {"requestId": id, "reason": "the server ends the subscription"})
        self._end(listener, {"_meta": {SUBSCRIPTION: id}})

    def _end(self, listener: Listener, result: Optional[Json]) -> None:
        with self._lock:
            if listener not in self._listeners:
                return
            subscriptions = self._listeners.pop(listener)
        try:
            listener.finish(result)
        except LocalProtocolError:
            pass  # it was answered meanwhile
        if not self._closed.is_set():
            start_or_call("mcp-ref:bridge:unsubscribe", _close_all, subscriptions)


def _close_all(subscriptions: "List[Subscription]") -> None:
    for subscription in subscriptions:
        try:
            subscription.close()
        except McpError:
            pass  # the server has gone, and its subscriptions with it


def _concerns(listener: Listener, method: str, params: Json) -> bool:
    """Return True if a stream has asked for such a change."""
    feature = _CHANGED.get(method)
    if feature is not None:
        return feature in listener.features
    if method == TASK_NOTICE:
        return (TASK_IDS, str(params.get("taskId"))) in listener.texts
    uri = str(params.get("uri"))
    return uri in listener.uris or any(container in listener.uris for container in containers(uri))
