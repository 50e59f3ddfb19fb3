"""Methods and rules beyond the specification: extensions, which are negotiated, and a vendor's own methods.

Extensions
----------

An extension has methods and rules that two parties may agree on, each in a module of its own
[2026-07-28 basic/versioning §Extension Negotiation]. A subclass of `Extension` says what it adds, and an object of it
is given to both sides, ``Server(extensions=[Thing()])`` and ``Client(extensions=[Thing()])``:

::

    from mcp_ref.server import Extension, Method, Route        # or from mcp_ref.client

    class Thing(Extension):
        identifier = "com.example/thing"
        methods = (Method("com.example/do", "request", "client", Params, Result, "2026-07-28", None, PAGE),)

        def route(self, role, method, revision):
            return Route(lambda context, params: {"done": True})

It is declared under ``extensions`` in the capabilities, with its settings. If the other side has it, a handler
finds it in ``ctx.extensions`` (and ``ctx.require_extension`` refuses a request without it), a caller in
``client.server_extensions``. An extension that only one side has is as if it were not there
[2026-07-28 basic/versioning §Extension Negotiation] MUST:

====================================================  ========================================================
what                                                  if the other side has not declared the extension
====================================================  ========================================================
we are sent a request of it                           -32021, which names it; without an own code for that, -32601
we would send a request or notification of it         `CapabilityMissing`, and nothing is sent
a notification of it comes                            dropped and counted
a result of a type that it adds comes                 the request fails: `PeerProtocolError`
`Extension.adapt` changes how a method is answered    it is called, and looks into ``ctx.extensions``
====================================================  ========================================================

Reading: ``extensions`` came with 2026-07-28. Earlier revisions say of capabilities that they are no closed set, so an
extension that says it is older (`Extension.since`) is declared there under the same name.

Methods of a vendor
-------------------

These are methods on which a vendor's clients and servers have agreed. A server registers what it answers and hears by
``@server.method("acme/search")`` and ``@server.on_notification(...)``, a client by ``@client.method("acme/ask")`` and
its option ``on_notification``. A name has a prefix that no method of the specification has, in any revision. Reading:
no page forbids other methods, and ``experimental`` is for telling of them
[..2025-11-25 basic/lifecycle §Capability Negotiation]; a peer that does not know one answers with -32601, so no
declaration is asked for. What both sides are to negotiate is an `Extension`.

Who may send what, and how:

=====================  ==========================================  ===================================================
what                   with a handshake                            2026-07-28
=====================  ==========================================  ===================================================
request to a server    ``client.request``                          the same
request to a client    ``ctx.call`` in a handler, or               none: a server sends no requests
                       `Connection.request`                        [2026-07-28 basic/transports/index §Messages]
notification to a      ``client.notify``                           the same
server
notification to a      ``ctx.notify`` in a handler; unasked        ``ctx.notify``, as it belongs to the request; no
client                 ``server.broadcast``                        others, for a stream of changes has only those of the
                                                                   specification [2026-07-28
                                                                   basic/patterns/subscriptions §Notification Filter]
=====================  ==========================================  ===================================================
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, FrozenSet, Iterator, List, Mapping, Optional, Sequence, Tuple

from ..errors import INTERNAL_ERROR, INVALID_PARAMS, RpcError
from ..methods import BOTH, NAMED, RECEIVER, REQUEST, SERVER, Method, is_vendor, lookup
from ..protocol.lifecycle import extensions_in
from ..protocol.metakeys import identifier_fault
from ..revisions import R2026_07_28, REVISIONS, Revision
from .context import Context, Route

if TYPE_CHECKING:
    from .dispatcher import Connection
    from .request_table import ProgressCallback
    from .role import Role


class Extension:
    """Base of extensions; a subclass sets and overrides what it needs. One object may serve many roles and threads."""

    identifier = ""
    """The name, with a prefix, such as ``com.example/thing`` [2026-07-28 basic/versioning §Extension Negotiation]
    MUST."""
    since: Optional[str] = R2026_07_28
    """The first revision in which it is declared; None: all."""
    until: Optional[str] = None
    """The last revision in which it is declared; None: to this day."""
    declared_by: str = BOTH
    """The side that declares it: ``both``, or ``server`` for one whose methods any client may use where the server has
    it."""
    methods: Sequence[Method] = ()
    """The rows that it adds to `mcp_ref.methods`, whose ``params`` and ``result`` may be classes, and whose ``named``
    says what `Mcp-Name` repeats."""
    result_types: Sequence[str] = ()
    """Values of ``resultType`` that it adds [2026-07-28 basic/index §ResultType]; see `finish`."""
    meta_keys: Sequence[str] = ()
    """Names under a reserved prefix that it puts into `_meta`; those under its own prefix need no permission."""

    filters: Sequence[str] = ()
    """Members that it adds to the filter of `subscriptions/listen`, each an array of texts; see `agree`."""

    def settings(self, role: "Role") -> Dict[str, Any]:
        """Return what is declared of it, as JSON; {} says that it is supported."""
        return {}

    def route(self, role: "Role", method: str, revision: Revision) -> Optional[Route]:
        """Return how this side answers a request of `methods`; None if it does not, which is -32601."""
        return None

    def adapt(self, role: "Role", method: str, revision: Revision, route: Route) -> Route:
        """Return how a method of the protocol is answered; ``route`` is how it is answered without this extension.

        A route that wraps it must change nothing for peers that have not declared the extension. What ``route.call``
        returns is a JSON object, or its text as `jsonrpc.Encoded`: `jsonrpc.decoded` makes an object of either.
        """
        return route

    def agree(self, context: Context, member: str, texts: Sequence[str]) -> Sequence[str]:
        """Return those of the texts of which a server will tell, where a client asks for them by one of `filters`.

        Called on the reader, so it must be quick, and for clients that have declared the extension; others are refused
        with -32021. The server tells by ``role.listeners.tell(member, text, method, params)``, from any thread. Raises
        `RpcError`, which refuses the whole stream.
        """
        return ()

    def opened(self, member: str, texts: Sequence[str], tell: "Callable[[str, Dict[str, Any]], None]") -> None:
        """Tell what a client may have missed before its stream was open, by ``tell(method, params)``.

        Called on the reader, after the acknowledgment, with those texts that `agree` has returned.
        """

    def heard(self, connection: "Connection", method: str, params: Dict[str, Any]) -> None:
        """Take a notification of `methods`. Called in order, one at a time, on a worker."""

    def finish(
        self, client: Any, method: str, params: Optional[Dict[str, Any]], result: Dict[str, Any], waiting: "Waiting"
    ) -> Dict[str, Any]:
        """Return the result that a client takes for that of its request, where one of `result_types` came.

        Called in the thread that waits; it may send requests to the server. ``waiting`` says how long it may take, and
        whether it is still wanted. Returns a result object of another type.
        """
        raise NotImplementedError("%s adds results and does not say what to do with them" % self.identifier)


class Waiting:
    """The patience of a caller whose request has been answered by a result of an extension; for `Extension.finish`.

    ``timeout``, ``progress``, ``extend_on_progress``: as given to the call. Thread-safe.
    """

    __slots__ = ("timeout", "progress", "extend_on_progress", "cancelled", "_watchers")

    def __init__(
        self, timeout: Optional[float], progress: "Optional[ProgressCallback]" = None, extend_on_progress: bool = False
    ) -> None:
        self.timeout = timeout
        self.progress = progress
        self.extend_on_progress = extend_on_progress
        self.cancelled: Optional[str] = None
        """The reason for which the caller wants no answer any more; None while it wants one."""
        self._watchers: List[Callable[[str], object]] = []

    def cancel(self, reason: str) -> None:
        """Tell those who work on the answer that nobody wants it."""
        self.cancelled = reason  # before the list is read: `watch` adds to it and then reads this
        for watcher in list(self._watchers):
            watcher(reason)

    def watch(self, watcher: Callable[[str], object]) -> None:
        """Have a function called with the reason of the cancellation; at once if that was before."""
        self._watchers.append(watcher)
        if self.cancelled is not None:
            watcher(self.cancelled)


class Extensions:
    """The extensions of one side. Raises TypeError or ValueError for extensions that clash."""

    def __init__(self, given: Sequence[Extension]) -> None:
        self._all: Dict[str, Extension] = {}
        self._rows: Dict[Tuple[str, Revision], Method] = {}
        for extension in given:
            self.add(extension)

    def add(self, extension: Extension) -> None:
        """Add one more, before a peer is told of them. Raises as the class."""
        if not isinstance(extension, Extension):
            raise TypeError("extensions are objects of a subclass of Extension, got %.80r" % (extension,))
        identifier = extension.identifier
        wrong = identifier_fault(identifier)
        if wrong:
            raise ValueError("extension %.80r: %s" % (identifier, wrong))
        if identifier in self._all:
            raise ValueError("there are two extensions %s" % identifier)
        self._all[identifier] = extension
        for row in extension.methods:
            for revision in REVISIONS:
                if revision.has(extension.since, extension.until) and revision.has(row.since, row.until):
                    if lookup(row.name, revision) or (row.name, revision) in self._rows:
                        raise ValueError("extension %s: revision %s has a method %s already" % (
                            identifier, revision, row.name))
                    self._rows[row.name, revision] = row._replace(
                        extension=identifier, holder=BOTH if extension.declared_by == BOTH else RECEIVER)

    def lookup(self, method: str, revision: Revision) -> Optional[Method]:
        """Return the row of a method that an extension adds; None if none does."""
        return self._rows.get((method, revision))

    def named(self) -> Dict[str, str]:
        """Return method -> the member of its params that `Mcp-Name` repeats: the protocol's, and those of these."""
        return {**NAMED, **{row.name: row.named for row in self._rows.values() if row.named is not None}}

    def declared(self, role: "Role", revision: Revision) -> Optional[Dict[str, Dict[str, Any]]]:
        """Return the capability ``extensions``; None if there are none."""
        found = {extension.identifier: extension.settings(role) for extension in self._in(revision)
                 if extension.declared_by in (BOTH, role.party)}
        return found or None

    def route(self, role: "Role", method: str, revision: Revision, core: Optional[Route]) -> Optional[Route]:
        """Return how a request is answered; ``core``: how it is answered without extensions."""
        row = self.lookup(method, revision)
        if row is not None and row.kind == REQUEST:
            extension = self._all[row.extension or ""]
            made = extension.route(role, method, revision)
            return made if made is None or extension.declared_by != BOTH else _guarded(made, extension.identifier)
        for extension in self._in(revision) if core is not None else ():
            core = extension.adapt(role, method, revision, core)  # type: ignore[arg-type]  # it never becomes None
        return core

    def hears(self, method: str) -> bool:
        """Return True for a notification that a client sends to a server without handshake."""
        return any(row.kind != REQUEST and row.sender != SERVER and revision.stateless
                   for (name, revision), row in self._rows.items() if name == method)

    def heard(self, connection: "Connection", method: str, params: Dict[str, Any]) -> None:
        """Hand a notification to the extension that it belongs to."""
        for (name, _), row in self._rows.items():
            if name == method and row.kind != REQUEST:
                if not self.undeclared(connection, row):
                    self._all[row.extension or ""].heard(connection, method, params)
                return

    def undeclared(self, connection: "Connection", row: Method) -> bool:
        """Return True, and count, if a notification came from a peer that did not declare its extension.

        A server without handshake cannot know: only requests say what their sender can do.
        """
        session = connection.session
        theirs = extensions_in(session.peer_capabilities)
        if row.extension is None or session.revision is None or row.extension in theirs:
            return False
        connection.counters.note("undeclared extension", "%s belongs to %s" % (row.name, row.extension))
        return True

    def of_result(self, kind: Any, peer_capabilities: Mapping[str, Any], revision: Revision) -> Optional[Extension]:
        """Return the extension that adds this type of result, if both sides have it
        [2026-07-28 basic/index §ResultType] MUST."""
        theirs = extensions_in(peer_capabilities)
        for extension in self._in(revision):
            if kind in extension.result_types and extension.identifier in theirs:
                return extension
        return None

    def agree(self, context: Context, asked: Mapping[str, Any]) -> Dict[str, List[str]]:
        """Return the members of `Extension.filters` that a server agrees to, of those that a client asks for.

        Raises `RpcError` for a client that has not declared the extension, and for a member of another type.
        """
        agreed: Dict[str, List[str]] = {}
        for extension in self._in(context.session.rules):
            for member in extension.filters:
                if asked.get(member) is None:
                    continue
                context.require_extension(extension.identifier)
                texts = asked[member]
                if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                    raise RpcError(INVALID_PARAMS, "Invalid params: notifications.%s is an array of strings" % member)
                most = context.connection.limits.max_subscriptions
                if len(texts) > most:
                    text = "Too many subscriptions: one stream may have max_subscriptions (%d), notifications.%s has %d"
                    raise RpcError(INTERNAL_ERROR, text % (most, member, len(texts)))
                found = set(extension.agree(context, member, list(dict.fromkeys(texts))))
                agreed[member] = [text for text in dict.fromkeys(texts) if text in found]
        return agreed

    def opened(self, agreed: Mapping[str, Any], tell: "Callable[[str, Dict[str, Any]], None]") -> None:
        """Have the extensions tell what they can on a stream that is open now; ``agreed``: the result of `agree`."""
        for extension in self._all.values():
            for member in extension.filters:
                if agreed.get(member):
                    extension.opened(member, agreed[member], tell)

    def meta_keys(self, revision: Revision) -> FrozenSet[str]:
        """Return the names under reserved prefixes that the extensions allow to be sent."""
        return frozenset(key for extension in self._in(revision) for key in extension.meta_keys)

    def _in(self, revision: Revision) -> Iterator[Extension]:
        return (each for each in self._all.values() if revision.has(each.since, each.until))


def _guarded(route: Route, identifier: str) -> Route:
    """Return a route that refuses peers that have not declared the extension."""

    def call(context: Context, params: Dict[str, Any]) -> Any:
        context.require_extension(identifier)
        return route.call(context, params)

    return route.calling(call)


# Methods of a vendor


class VendorMethods:
    """The methods that one side answers, and the notifications that it takes, beyond the specification."""

    def __init__(self) -> None:
        self._routes: Dict[str, Route] = {}
        self._listeners: Dict[str, Callable[..., Any]] = {}

    def add(self, name: str, function: Callable[..., Any], route: Callable[[str, Any], Route]) -> None:
        """Register a function that answers; ``route(name, function)`` says how it is called.

        Raises ValueError for a name that is not a vendor's or is taken, TypeError for what is no function.
        """
        _check(name, function, self._routes)
        self._routes[name] = route(name, function)

    def listen(self, name: str, function: Callable[..., Any]) -> None:
        """Register a function that takes a notification; raises as `add`."""
        _check(name, function, self._listeners)
        self._listeners[name] = function

    def route(self, method: str) -> Optional[Route]:
        """Return how a request is answered; None if it is not."""
        return self._routes.get(method)

    def hears(self, method: str) -> bool:
        """Return True if a function takes this notification."""
        return method in self._listeners

    def heard(self, connection: "Connection", method: str, params: Dict[str, Any]) -> None:
        """Call the function that takes this notification."""
        function = self._listeners.get(method)
        if function is not None:
            function(connection, params)


def checked_result(name: str, result: Any) -> Dict[str, Any]:
    """Return the result of a request, {} for None. Raises TypeError for what is no object."""
    if result is None:
        return {}
    if not isinstance(result, dict):
        raise TypeError("%s returned %.80r; the result of a request is an object" % (name, result))
    return result


def _check(name: str, function: Any, taken: Dict[str, Any]) -> None:
    if not isinstance(name, str) or not is_vendor(name):
        raise ValueError("%.80r is no name for a method of your own: it needs a prefix, such as acme/search, that no "
                         "method of the specification has" % (name,))
    if not callable(function):
        raise TypeError("%s: expected a function, got %.80r" % (name, function))
    if name in taken:
        raise ValueError("there is a function for %s already" % name)
