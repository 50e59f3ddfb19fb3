"""The servers of a host: connecting, losing, restarting and closing them, each under a name of the host's own."""

import os
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, TypeVar, Union

from ..client import Client
from ..client.options import SESSION_DEFAULTS, SessionOptions
from ..client.roots import Place, Roots
from ..diagnostics.packagelog import Counters
from ..diagnostics.usercode import log_raised, name_of
from ..errors import ConnectFailed, ConnectionLost, McpError, RequestTimeout
from ..jsonrpc import shown
from ..limits import DEFAULT, Limits
from ..options import takes, with_defaults
from ..threads import available, start_thread
from ..version import __version__
from .audit import Audit, AuditTarget
from .catalogue import DEFAULT_RULE, NameRule, check_server_name
from .configuration import AskInput, Config
from .dialects import ServerEntry, read_config
from .member import (
    SERVER_DEFAULTS, THE_HOSTS, HostTarget, Launch, Member, client_features, takes_server_options, with_timeout,
)
from .parallel import in_parallel, values
from .policy import ElicitationRequest, Policy, SamplingRequest
from .questions import HostCallbacks

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..client.elicitation import UrlRequest
    from ..client.sampling import ModelCard
    from ..transports.lines.stderr import LineTarget
    from .member import ServerOptions


Self = TypeVar("Self", bound="Servers")
_DECIDED = frozenset(["sampling", "elicitation", "on_log", "on_update", "on_notification", "limits"])
"""Options of a client that would go past the host: its policy, or the server's name in what callbacks hear."""
_MARGIN = 2.0
"""Seconds beyond those that the steps of opening or closing may take by their own limits."""
_KILLED = 5.0
"""Seconds that a child may take to end after SIGKILL."""


class HostOptions(SessionOptions, total=False):
    """The options of a `Host`, which describes them."""

    limits: Limits
    policy: Optional[Policy]
    sampling: Optional[Callable[[SamplingRequest], Any]]
    models: "Sequence[ModelCard]"
    sampling_tools: bool
    sampling_context: bool
    elicitation: Optional[Callable[[ElicitationRequest], Any]]
    elicitation_url: Optional[Callable[[ElicitationRequest], Any]]
    open_url: Optional[Callable[[str], Any]]
    on_complete: "Optional[Callable[[str, UrlRequest], Any]]"
    roots: Union[None, Roots, Place, Iterable[Place]]
    audit: Union[None, Audit, AuditTarget]
    skill_cache: "Union[str, os.PathLike[str], None]"
    on_lost: Optional[Callable[[str, str], Any]]
    on_log: Optional[Callable[[str, str, Any, Optional[str]], Any]]
    on_update: Optional[Callable[[str, str], Any]]
    on_notification: Optional[Callable[[str, str, Dict[str, Any]], Any]]
    name_rule: NameRule
    stderr: "LineTarget"


HOST_DEFAULTS: HostOptions = {
    "limits": DEFAULT, "policy": None, "sampling": None, "models": (), "sampling_tools": False,
    "sampling_context": False, "elicitation": None, "elicitation_url": None, "open_url": None, "on_complete": None,
    "roots": None, "audit": None, "skill_cache": None, "on_lost": None, "on_log": None, "on_update": None,
    "on_notification": None, "name_rule": DEFAULT_RULE, "stderr": None, **SESSION_DEFAULTS,
}
takes_host_options = takes(HostOptions, HOST_DEFAULTS)


class Servers:
    """The servers of a host: the half of `Host` that connects and closes them. `Host` describes the parameters."""

    @takes_host_options
    def __init__(self, name: str = "mcp_ref", version: str = __version__, **options: "Unpack[HostOptions]") -> None:
        options = with_defaults(Servers.__init__, HOST_DEFAULTS, options, self)
        self.limits = options["limits"]
        audit, skill_cache, roots = options["audit"], options["skill_cache"], options["roots"]
        self.audit = audit if audit is None or isinstance(audit, Audit) else Audit(audit)
        self._skill_cache = None if skill_cache is None else os.path.abspath(skill_cache)
        self.counters = Counters()
        self.failed: Dict[str, McpError] = {}
        """Server -> why it could not be reached, the last time that was tried."""
        self.notes: Dict[str, Sequence[str]] = {}
        """Server -> what its entry of a configuration asks for that is not done here, and why."""
        self._options: Dict[str, Any] = {
            "name": name, "version": version, **{each: options.get(each) for each in SESSION_DEFAULTS}}
        Client(limits=self.limits, **self._options)  # a wrong option shows here, not with the first server
        self._rule = options["name_rule"]
        self._stderr = options["stderr"]
        self._on_lost, self._on_log = options["on_lost"], options["on_log"]
        self._on_update, self._on_notification = options["on_update"], options["on_notification"]
        shared = Roots(roots) if roots is not None and not isinstance(roots, Roots) else roots
        self._callbacks = HostCallbacks(
            options["policy"] or Policy(), self.record, lambda: sorted(self.clients), shared, options["sampling"],
            options["models"], options["sampling_tools"], options["sampling_context"], options["elicitation"],
            options["elicitation_url"], options["open_url"], options["on_complete"],
        )
        # Guards the members, `failed`, `_closed` and `_lost_threads`; not held while a server is opened or closed.
        self._lock = threading.Lock()
        self._members: Dict[str, Member] = {}
        self._closed = False
        self._lost_threads: List[threading.Thread] = []

    def __repr__(self) -> str:
        members = self._current()
        connected = [name for name, member in members.items() if member.connected]
        told = [("of", connected), ("not connected:", sorted(set(members).union(self.failed).difference(connected)))]
        parts = ["%s %s" % (words, shown(", ".join(names), 200)) for words, names in told if names]
        return "<%s %s%s>" % (
            type(self).__name__, ("; ".join(parts) or "without servers"), ", closed" if self._closed else "")

    @classmethod
    @takes_host_options
    def from_config(
        cls: "Callable[..., Self]", config: Config, name: str = "mcp_ref", version: str = __version__, *,
        ask_input: Optional[AskInput] = None, **options: "Unpack[HostOptions]",
    ) -> "Self":
        """Return a host that is connected to the servers of a configuration (see `mcp_ref.host.dialects`); options as
        `Host`.

        ``ask_input(id, description, secret)`` answers ``${input:ID}``. Servers that cannot be reached are in `failed`,
        and so are entries that are wrong, not supported, or name a variable that is not set; the host is there without
        them. What an entry asks for and is not done is in ``notes``. Raises ValueError for a file that is no
        configuration, and then has started nothing.
        """
        with_defaults(Servers.from_config, HOST_DEFAULTS, options)
        unsupported: Dict[str, str] = {}
        entries = read_config(config, unsupported, ask_input=ask_input)
        named: Dict[str, str] = {}  # a subclass may set these two itself, and not know them as options
        if name != "mcp_ref":
            named["name"] = name
        if version != __version__:
            named["version"] = version
        host = cls(**named, **options)
        host.notes = {server: entry.notes for server, entry in entries.items() if entry.notes}
        try:
            for server, reason in unsupported.items():
                host.failed[server] = ConnectFailed(reason)
                host.record("connect", server, outcome="failed", reason=reason)
            host.connect_all(entries)
        except BaseException:
            host.close()
            raise
        return host

    # Connecting

    @takes_server_options
    def connect(self, name: str, target: HostTarget, **options: "Unpack[ServerOptions]") -> Client:
        """Connect a server under this name and return its client, which is also ``clients[name]``.

        ``target``: as for `mcp_ref.connect`, or a function that makes a transport, which `restart` needs. ``trusted``:
        its tools' annotations are believed. ``timeout``: seconds that it may take to answer, instead of
        ``initialize_timeout`` and ``probe_timeout`` of the limits together. ``roots``: what it gets instead of the
        host's. ``env``, ``inherit_env``, ``cwd``, ``headers``, ``token``, ``auth``, ``ssl_context``, ``cafile`` and
        ``trace`` as for `mcp_ref.connect`; ``stderr`` too, but for two things: None is what the host was given, and the
        lines have the server's name in front. The others are those of `Client`, for this server alone; by default as
        the `Host` was given them. Raises ValueError for a name that is taken or not a name (see
        `mcp_ref.host.catalogue`), and for a timeout of 0 or less, and what `mcp_ref.connect` raises.
        """
        for option in sorted(_DECIDED.intersection(options)):
            raise TypeError("%s is for the Host to decide: give it to its constructor" % option)
        options = with_defaults(Servers.connect, SERVER_DEFAULTS, options)
        check_server_name(name)
        if options["stderr"] is None:
            options["stderr"] = self._stderr
        launch = Launch(target, options)
        member = self._member(name, launch)
        with self._lock:
            if self._closed:
                raise ConnectionLost("the host was closed")
            check_server_name(name, self._members)
            self._members[name] = member
        try:
            return self._open(member)
        except BaseException:
            with self._lock:
                if self._members.get(name) is member:
                    del self._members[name]
            raise

    def connect_all(self, servers: Mapping[str, Any]) -> Dict[str, McpError]:
        """Connect several at the same time. Returns the errors of those that failed, by name, and {} if none did.

        ``servers``: name -> target, or a dict of `connect`'s arguments with ``target`` among them. The errors are in
        `failed` too, and the others are connected. Raises ValueError for a name that `connect` would not take, before
        anything is started; an exception that is no `McpError`, a mistake in the program, is raised when all is over.
        """
        calls: "Dict[str, partial[Client]]" = {}
        for name, value in servers.items():
            check_server_name(name, list(calls) + list(self._current()))
            calls[name] = partial(self.connect, name, **_arguments(name, value))
        limits = self.limits
        opening = [call.keywords.get("timeout") or limits.initialize_timeout for call in calls.values()]
        seconds = max(opening, default=0.0) + limits.shutdown_grace + limits.terminate_grace + _KILLED + _MARGIN
        if any("auth" in call.keywords for call in calls.values()):
            seconds += limits.authorization_patience  # a person's time
        errors = values(in_parallel("connect", calls, seconds))[1]
        for name, error in errors.items():
            if isinstance(error, RequestTimeout):
                self._forget(name)
        return {name: _mcp_error(error) for name, error in errors.items()}

    def _member(self, name: str, launch: Launch, approved: Optional[Dict[str, str]] = None) -> Member:
        limits = with_timeout(self.limits, launch.options["timeout"])
        return Member(name, launch, limits, self._rule, self._client_options, self._lose, approved)

    def _client_options(self, member: Member) -> Dict[str, Any]:
        """Return the options of a server's client: what it is told of us, and callbacks with the server's name in
        front."""
        name = member.name
        on_log, on_update, on_notification = self._on_log, self._on_update, self._on_notification
        given = member.launch.options
        made = dict(self._options, **{
            each: given.get(each) for each in ("version", *SESSION_DEFAULTS) if given.get(each) is not THE_HOSTS})
        made.update(client_features(self._callbacks, name, given["roots"]))
        if on_notification is not None:
            made["on_notification"] = partial(on_notification, name)
        if on_log is not None:
            made["on_log"] = lambda level, data, logger: on_log(name, level, data, logger)
        if on_update is not None:
            made["on_update"] = lambda uri: on_update(name, uri)
        return made

    def _open(self, member: Member) -> Client:
        shown, trusted = member.launch.shown(), member.launch.options["trusted"]
        try:
            client = member.open()
        except BaseException as error:
            if isinstance(error, McpError):
                with self._lock:
                    self.failed[member.name] = error
            self.record("connect", member.name, outcome="failed", target=shown, trusted=trusted, reason=str(error))
            raise
        with self._lock:
            self.failed.pop(member.name, None)
        self.record("connect", member.name, outcome="ok", target=shown, trusted=trusted)
        return client

    # The servers that are there

    @property
    def policy(self) -> Policy:
        """The policy that decides."""
        return self._callbacks.policy

    @property
    def clients(self) -> Dict[str, Client]:
        """Server -> its client, of those that are connected; a copy."""
        return {name: member.client for name, member in self._current().items() if member.connected}

    @property
    def lost(self) -> Dict[str, str]:
        """Server -> why its connection ended or could not be opened again, of those that `restart` may start again."""
        return {name: member.lost for name, member in self._current().items() if member.lost is not None}

    def _current(self) -> Dict[str, Member]:
        with self._lock:
            return dict(self._members)

    def _find(self, name: str) -> Member:
        members = self._current()
        if name not in members:
            if name in self.failed:
                raise LookupError("there is no connection to %.80r: %s" % (name, self.failed[name]))
            raise LookupError("there is no server %.80r; there are %s" % (name, ", ".join(sorted(members)) or "none"))
        return members[name]

    # Ending

    def disconnect(self, name: str) -> None:
        """End this server's connection, and its process if it has one, and remove its files from the skill cache; the
        name is free again. Raises LookupError."""
        self._find(name)
        self._forget(name)
        if self._skill_cache is not None:
            from .skills import SkillCache

            SkillCache(self._skill_cache, name).remove()

    def _forget(self, name: str) -> None:
        with self._lock:
            member = self._members.pop(name, None)
        if member is not None:
            self._close(member)

    def _close(self, member: Member) -> None:
        self._hang_up(member)
        member.close()

    def _hang_up(self, member: Member) -> None:
        was_connected = member.connected
        if member.hang_up() and was_connected:
            self.record("disconnect", member.name, reason="closed by the host")

    def restart(self, name: str) -> Client:
        """Start a server again, lost or not, as it was connected. Returns its new client.

        Raises LookupError, what `connect` raises (it is in `lost` then, for another try), and `LocalProtocolError` if
        its target was a transport. Of two restarts at the same time the first may raise `ConnectionLost`.
        """
        old = self._find(name)
        old.check_repeatable()
        member = self._member(name, old.launch, old.approved)
        with self._lock:
            if self._closed or self._members.get(name) is not old:
                raise ConnectionLost("%s was closed or restarted meanwhile" % name)
            self._members[name] = member
        self._close(old)
        return self._open(member)

    def _lose(self, member: Member) -> None:
        """Report that a connection ended by itself. The calling thread is the connection's: the user's callback gets
        another."""
        if not available():
            self._tell_lost(member.name, member.lost or "")
            return
        with self._lock:  # so that `close` either finds the thread or has already returned
            try:
                thread = start_thread(
                    "mcp-ref:host:lost:%s" % member.name, self._tell_lost, member.name, member.lost or "")
            except RuntimeError:  # the interpreter is going down
                return
            self._lost_threads = [other for other in self._lost_threads if other.is_alive()] + [thread]

    def _tell_lost(self, name: str, reason: str) -> None:
        self.record("lost", name, reason=reason)
        try:
            if self._on_lost is not None:
                self._on_lost(name, reason)
        except Exception as error:
            self.counters.add("on_lost")
            log_raised("on_lost callback %s" % name_of(self._on_lost), error, "server %s" % name)

    def close(self) -> None:
        """End every connection, all at the same time. May be called from any thread, any number of times.

        Takes as long as the most stubborn child: ``shutdown_grace`` and ``terminate_grace`` of the limits.
        """
        with self._lock:
            self._closed = True
            members, telling = dict(self._members), list(self._lost_threads)
        limits = self.limits
        seconds = limits.shutdown_grace + limits.terminate_grace + _KILLED + _MARGIN
        calls = {name: partial(self._hang_up, member) for name, member in members.items()}
        for name, error in values(in_parallel("close", calls, seconds))[1].items():
            self.counters.note("close", "%s: %s" % (name, error))
        for member in members.values():
            member.close()  # all connections have ended: this waits for their handlers, here, as one may be calling us
        for thread in telling:
            if thread is not threading.current_thread():
                thread.join(limits.shutdown_grace)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    # The log

    def record(self, event: str, server: str, **details: Any) -> None:
        """Write an event to the audit log, if there is one. Never raises."""
        if self.audit is not None:
            self.audit.record(event, server, **details)


def _arguments(name: str, value: Any) -> Dict[str, Any]:
    """Return the arguments of `Servers.connect` for one entry of `connect_all`."""
    if isinstance(value, ServerEntry):
        return value.arguments()
    if isinstance(value, Mapping):
        if "target" not in value:
            raise TypeError("%s: a dict of connect's arguments needs 'target'" % name)
        return dict(value)
    return {"target": value}


def _mcp_error(error: BaseException) -> McpError:
    """Return the error, if it is one of ours; raise any other, which is a mistake in the program."""
    if not isinstance(error, McpError):
        raise error
    return error
