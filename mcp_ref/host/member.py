"""One server of a host: how it is started, its client, and its end; and work on all servers at once.

A `Member` stands for one connection. Starting the server again makes another one, from the same `Launch`. If there is
no handshake, the client starts a server again by itself (see `mcp_ref.client.request_flow`), within one `Member`: then
the server is lost when that fails. The definitions of its tools are read again, and a call that was under way when it
ended is not sent to a process whose definition of the tool differs from the one that the user has approved.

A client that has to ask to hear of changed lists does so [2026-07-28 basic/patterns/subscriptions §Opening a Stream].

`in_parallel` calls several servers at the same time; each call has a `CallOutcome` of its own.
"""

import threading
from dataclasses import replace
from typing import Any, Callable, Collection, Dict, Iterable, Mapping, NamedTuple, Optional, Tuple, Union

from ..client import Client
from ..client.connecting import Target, transport_to
from ..client.options import REACH_DEFAULTS, SESSION_DEFAULTS, ReachOptions, SessionOptions
from ..client.roots import Place, Roots
from ..deadline import Deadline
from ..diagnostics.packagelog import Counters
from ..errors import ConnectionLost, LocalProtocolError, McpError, RequestTimeout
from ..limits import Limits
from ..methods import CALL_TOOL
from ..options import Default, takes
from ..peer.dispatcher import Connection
from ..peer.role import Role
from ..protocol.lifecycle import has
from ..threads import start_thread
from ..transports.base import Transport, successor
from ..urls import scheme_of
from .catalogue import Catalogue, NameRule
from .questions import HostCallbacks, HostElicitation, HostRoots, HostSampling


class CallOutcome:
    """The outcome of one of the calls: ``value``, or the ``error`` it raised."""

    value: Any = None
    error: Any = None


def in_parallel(
    what: str, calls: Mapping[str, Callable[[], Any]], seconds: float, quick: Collection[str] = ()
) -> Dict[str, CallOutcome]:
    """Make these calls at the same time, each on a thread, and wait until all are over. Returns the outcomes by name.

    A call that takes longer than ``seconds`` has a `RequestTimeout`, and goes on without its outcome being used. A
    single call is made on the calling thread, and so is each that is ``quick``, or that no thread can be started for as
    the interpreter is going down.
    """
    outcomes = {name: CallOutcome() for name in calls}
    threads = {}
    for name, call in calls.items():
        if len(calls) == 1 or name in quick:
            _run(call, outcomes[name])
            continue
        try:
            threads[name] = start_thread("mcp-ref:host:%s:%s" % (what, name), _run, call, outcomes[name])
        except RuntimeError:
            _run(call, outcomes[name])
    end = Deadline(seconds)
    for name, thread in threads.items():
        thread.join(end.left())
        if thread.is_alive():
            late = outcomes[name] = CallOutcome()
            late.error = RequestTimeout("%s: %s took longer than %g seconds" % (name, what, seconds))
    return outcomes


def _run(call: Callable[[], Any], outcome: CallOutcome) -> None:
    try:
        outcome.value = call()
    except BaseException as error:
        outcome.error = error


def values(outcomes: Mapping[str, CallOutcome]) -> Tuple[Dict[str, Any], Dict[str, BaseException]]:
    """Return the values of those that succeeded and the errors of the others, by name."""
    good = {name: outcome.value for name, outcome in outcomes.items() if outcome.error is None}
    return good, {name: outcome.error for name, outcome in outcomes.items() if outcome.error is not None}


_KINDS = ("tools", "prompts", "resources")
"""Lists whose changes servers announce."""
HostTarget = Union[Target, Callable[[], Transport]]
"""A target of `connect`, or a function that makes a transport, so that the server can be started again."""


class ServerOptions(ReachOptions, SessionOptions, total=False):
    """The options of `Host.connect`, which describes them."""

    trusted: bool
    timeout: Optional[float]
    roots: Union[None, Roots, Place, Iterable[Place]]
    version: str


THE_HOSTS: Any = Default("the host's")
"""The default of what a server is told as the host was told it."""
SERVER_DEFAULTS: ServerOptions = {
    "trusted": False, "timeout": None, "inherit_env": None, "roots": None, **REACH_DEFAULTS, "version": THE_HOSTS,
    **dict.fromkeys(SESSION_DEFAULTS, THE_HOSTS)}  # type: ignore[typeddict-item]
takes_server_options = takes(ServerOptions, SERVER_DEFAULTS)


class Launch(NamedTuple):
    """The way in which one server is reached, and what it is told of us."""

    target: HostTarget
    options: ServerOptions = SERVER_DEFAULTS

    def transport(self, limits: Limits, name: str = "server") -> Transport:
        """Return a transport to it that has not been opened. ``name``: the host's name for it. Raises `ConnectFailed`.
        """
        from ..transports.lines.stderr import receiver

        target = self.target() if callable(self.target) and not isinstance(self.target, Transport) else self.target
        reach: Dict[str, Any] = {each: self.options.get(each) for each in REACH_DEFAULTS}
        reach["stderr"] = receiver(reach["stderr"], name)
        return transport_to(target, limits=limits, **reach)

    def repeatable(self) -> bool:
        """True if it can be started again; a transport of the user's own is used up."""
        return not isinstance(self.target, Transport)

    def shown(self) -> str:
        """Return the program or the address, for logs; arguments, environment and query may hold secrets."""
        if isinstance(self.target, Transport):
            return self.target.name
        if isinstance(self.target, Role):
            return "a %s of this process" % type(self.target).__name__
        if callable(self.target):
            return getattr(self.target, "__qualname__", "function")
        if isinstance(self.target, str):
            word = self.target.split(" ")[0]
            return word.partition("?")[0] if scheme_of(word) else word
        return "".join(self.target[:1])

    def __repr__(self) -> str:
        options = self.options  # names only: values may be secret
        given = sorted(each for each, default in SERVER_DEFAULTS.items() if options.get(each) is not default)
        return "Launch(%r, trusted=%r, env=%r, given=%r)" % (
            self.shown(), options["trusted"], sorted(options["env"] or ()), given)


def with_timeout(limits: Limits, timeout: Optional[float]) -> Limits:
    """Return the limits of a client whose server may take ``timeout`` seconds to answer when it is connected.

    Raises ValueError for a time that is not positive.
    """
    if timeout is None:
        return limits
    if not timeout > 0:
        raise ValueError("timeout: expected seconds, more than 0, not %r" % timeout)
    # A silent server gets the probe and then `initialize`, so the two times together are what was asked for.
    probe = min(limits.probe_timeout, timeout / 4)
    return replace(limits, probe_timeout=probe, initialize_timeout=timeout - probe,
                   connect_timeout=min(limits.connect_timeout, timeout))


class ServerClient(Client):
    """A host's client of one server, which tells its member when the connection has ended."""

    def __init__(self, member: "Member", **options: Any) -> None:
        super().__init__(**options)
        self._member = member
        self.advice = "Host.restart(%r) starts it again" % member.name
        self.end: Optional[str] = None
        """The reason of the connection's end; None while it is open, or while another one takes its place."""

    @property
    def wanted(self) -> bool:
        """True while the server may be started again; see `Client.wanted`. A server that is being left is not started
        again."""
        return super().wanted and not self._member.closing

    def on_closed(self, connection: Connection, reason: str) -> None:
        """Tell the member that the connection ended, unless another takes its place; see `Role.on_closed`."""
        super().on_closed(connection, reason)
        if not self._comes_again(connection):
            self._lose(reason)

    def _comes_again(self, connection: Connection) -> bool:
        """True if the next request begins another connection, or if the opening of this one does; see `Client.renewed`.
        """
        if not self.wanted:
            return False
        if connection.session.rules.stateless:
            return successor(connection.transport) is not None
        return connection.exchanges is not None and connection.exchanges.reopen() is not None

    def _lose(self, reason: str) -> None:
        self.end = reason
        self._member.ended()

    def renewed(self, ended: Connection, error: ConnectionLost) -> Connection:
        """Connect again, and tell the member if that fails; see `Client.renewed`."""
        try:
            return super().renewed(ended, error)
        except McpError as failed:
            if failed is not error and self.wanted:  # the reconnection failed
                self._lose(str(failed))
            raise

    def _retry_connection(
        self, connection: Connection, error: McpError, method: str, params: Optional[Dict[str, Any]]
    ) -> Connection:
        fresh = super()._retry_connection(connection, error, method, params)
        if fresh is not connection and method == CALL_TOOL:
            self._member.check_unchanged((params or {}).get("name"), error)
        return fresh


class Member:
    """One connection of a host.

    ``make_options(member)`` gives the options of its `Client`; ``on_lost(member)`` is called once, on a thread that
    must not be blocked, when a connection that was open ends without `close`. ``approved``: tool -> the definition that
    was allowed last; it outlives a restart.
    """

    def __init__(
        self,
        name: str,
        launch: Launch,
        limits: Limits,
        rule: NameRule,
        make_options: Callable[["Member"], Dict[str, Any]],
        on_lost: Callable[["Member"], None],
        approved: Optional[Dict[str, str]] = None,
    ) -> None:
        self.name = name
        self.launch = launch
        self.limits = limits
        self.counters = Counters()
        self.catalogue = Catalogue(name, launch.options["trusted"], rule, self.counters)
        self.approved: Dict[str, str] = {} if approved is None else approved
        self._on_lost = on_lost
        self._lock = threading.Lock()  # guards the four below: `hang_up` may come before, during and after `open`
        self._opened = self._closing = False
        self._lost: Optional[str] = None
        self._transport: Optional[Transport] = None
        self._client = ServerClient(self, limits=limits, **make_options(self))

    def open(self) -> ServerClient:
        """Connect and shake hands. Raises as `connect`, and `ConnectionLost` if `close` came meanwhile."""
        try:
            self._client.open(self._reach())
        except BaseException as error:
            self._lost = "could not be opened: %s" % error
            raise
        if not self._keep():
            self._client.close()
            raise ConnectionLost("%s was closed while it was opened" % self.name)
        self._listen()
        self.ended()
        return self._client

    def _listen(self) -> None:
        """Subscribe to changed lists, if the revision wants that. A server that refuses counts as one that announces
        none."""
        client = self._client
        told = [kind for kind in _KINDS if has(client.server_capabilities, kind + ".listChanged")]
        if told and client.revision.stateless:
            try:
                client.listen(*told)
            except McpError as error:
                self.counters.note("not told", "%s does not announce changes: %s" % (self.name, error))

    def _reach(self) -> Transport:
        transport = self.launch.transport(self.limits, self.name)
        with self._lock:
            self._transport = transport
            if self._closing:
                raise ConnectionLost("%s was closed before it was open" % self.name)
        return transport

    def _keep(self) -> bool:
        with self._lock:
            self._opened = True
            return not self._closing

    def ended(self) -> None:
        """Report the end of the connection, once, unless it is our wish or `open` reports it."""
        with self._lock:
            if self._client.end is None or not self._opened or self._closing or self._lost is not None:
                return
            self._lost = self._client.end
        self._on_lost(self)

    def hang_up(self) -> bool:
        """End the connection, also one that is being opened, and the child. Returns False if that was done before.

        Waits for the child, but not for handlers of the server's requests, one of which may be calling this.
        """
        with self._lock:
            first, self._closing = not self._closing, True
            transport, opened = self._transport, self._opened
        if opened:
            self._client.hang_up()
        elif transport is not None:
            transport.close()
        return first

    def close(self) -> bool:
        """Call `hang_up`, and wait until nothing runs any more, as long as `Client.close` does. Returns as `hang_up`.
        """
        first = self.hang_up()
        self._client.close()
        return first

    @property
    def closing(self) -> bool:
        """True if `hang_up` was called."""
        return self._closing

    @property
    def connected(self) -> bool:
        """True if the connection is open."""
        return self._opened and not self._closing and self._lost is None

    def declares(self, capability: str) -> bool:
        """True if the server is there and has declared this capability."""
        return self.connected and has(self._client.server_capabilities, capability)

    def extends(self, identifier: str) -> bool:
        """Return True if the server is connected and has declared this extension."""
        return self.connected and identifier in self._client.server_extensions

    def knows(self, kind: str) -> bool:
        """True if this list is in memory, and the server would answer the same."""
        return self.connected and self.catalogue.knows(self._client, kind)

    def check_unchanged(self, tool: Any, error: McpError) -> None:
        """Check that the server, started again, says the same of a tool as was approved. Raises `ConnectionLost` if
        not."""
        now = {found.name: found.definition for found in self.catalogue.tools(self._client).values()}
        if tool in self.approved and now.get(tool) != self.approved[tool]:
            text = "it was started again, and has changed the tool %.80r: call it again, to approve that; before, %s"
            raise ConnectionLost(text % (tool, error)) from error

    @property
    def lost(self) -> Optional[str]:
        """The reason for which the connection ended without `close`; None if it has not."""
        return self._lost

    @property
    def client(self) -> ServerClient:
        """The client. Raises `ConnectionLost` if there is no connection."""
        if self._lost is not None:
            text = "%s is lost (Host.restart(%r) starts it again): %s"
            raise ConnectionLost(text % (self.name, self.name, self._lost))
        if not self.connected:
            raise ConnectionLost("%s is %s" % (self.name, "closed" if self._closing else "not open yet"))
        return self._client

    def check_repeatable(self) -> None:
        """Raise `LocalProtocolError` if the server cannot be started again."""
        if not self.launch.repeatable():
            raise LocalProtocolError(
                "%s was connected over a transport of your own, which is used up: disconnect it, and connect it with a "
                "function that makes a transport" % self.name
            )


def client_features(callbacks: HostCallbacks, server: str, roots: Any = None) -> Dict[str, Any]:
    """Return the options of `Client` for what this server may ask; ``roots`` take the place of the host's."""
    made: Dict[str, Any] = {}
    given = callbacks.roots if roots is None else roots
    if given is not None:
        made["roots"] = HostRoots(callbacks, server, given)
    if callbacks.sampling is not None:
        made["sampling"] = HostSampling(callbacks, server)
    if callbacks.elicitation is not None or callbacks.elicitation_url is not None:
        made["elicitation"] = HostElicitation(callbacks, server)
    return made
