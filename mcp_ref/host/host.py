"""The host: an application's servers, each with a client of its own, and the user's word on what happens.

::

    host = Host(policy=Policy(tool_call=AskOnce(ask_the_user)), audit="audit.jsonl")
    with host:
        host.connect("files", ["npx", "-y", "some-server", "."], roots=["."])
        host.connect("time", "uvx another-server")
        offer_to_model([tool.describe() for tool in host.tools()])
        host.call_tool("files__read", {"path": "README.md"})

A host adds this to its clients [.. architecture/index §Core Components > Host]:

- **Names.** Servers have the host's names, tools and prompts qualified ones: `mcp_ref.host.catalogue`.
- **Consent.** Nothing is called, sampled or shown that the `Policy` has not allowed, and an approval is for one
  definition of a tool: `mcp_ref.host.policy`.
- **Isolation** [.. architecture/index §Design Principles]. Each server has a connection, caches, progress, logs,
  subscriptions and roots of its own; what one says or does reaches no other. A sampling carries context of other
  servers only if the policy says so, and no error of one server is quoted to another: an exception in the host's
  functions is an internal error without text to the server that asked.
- **Audit.** Who did what, as JSON lines: `mcp_ref.host.audit`.

A server that dies takes no other with it: ``on_lost(name, reason)`` is called on a thread of its own, where it may call
`Host.restart`. If there is no handshake, the server is started again without that, and is lost only if it cannot be;
either way approvals are held against its definitions of tools then. Every method may be called from any thread.
"""

import os
import threading
from copy import deepcopy
from functools import partial
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union, overload,
)

from ..client import Client
from ..client.options import CALL_DEFAULTS, SESSION_DEFAULTS, SessionOptions, takes_call_options
from ..client.roots import Place, Roots
from ..diagnostics.packagelog import Counters, log_raised, name_of
from ..errors import ConnectFailed, ConnectionLost, McpError, PeerError, RequestTimeout
from ..jsonrpc import shown
from ..jsontext import JsonError, is_deep
from ..limits import DEFAULT, Limits
from ..messages.mrtr import InputRequiredResult
from ..methods import SKILLS
from ..options import strict_options, takes, with_defaults
from ..threads import available, start_thread
from ..version import __version__
from .audit import Audit, AuditTarget
from .catalogue import (
    DEFAULT_RULE, HostPrompt, HostResource, HostResourceTemplate, HostTool, NameRule, check_server_name, resources_of,
    server_of, templates_of,
)
from .configuration import AskInput, Config, ServerEntry, read_config
from .member import (
    SERVER_DEFAULTS, THE_HOSTS, HostTarget, Launch, Member, client_features, in_parallel, takes_server_options, values,
    with_timeout,
)
from .policy import Allow, Denied, Deny, ElicitationRequest, Policy, SamplingRequest, SkillLoad, ToolCall
from .questions import AuditEntry, HostCallbacks, HostElicitation

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..client.elicitation import UrlRequest
    from ..client.options import CallOptions, ManualOptions
    from ..client.sampling import ModelCard
    from ..ext.skills.host import HostLoadedSkill, HostSkill
    from ..messages.prompts import GetPromptResult
    from ..messages.resources import ReadResourceResult
    from ..messages.tools import CallToolResult
    from ..transports.lines.stderr import LineTarget
    from .member import ServerOptions

Self = TypeVar("Self", bound="Host")
_CONSENT_ROUNDS = 3
"""The number of times that a tool may change while its approval is asked for, before the call is denied."""

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


class Host:
    """Several servers under names of the host's own.

    ``name`` and ``version`` introduce it to each server. ``policy``: see `Policy`; without one no tool is called and no
    model used. ``roots``: those of each server that is connected without roots of its own. ``audit``: an `Audit`, or a
    path, file or function to make one for. ``skill_cache``: a folder in which the files of skills are kept as they are
    read, each server's until it is disconnected; by default each read asks the server.

    What servers may ask, each declared to them only if it is given: ``sampling(request)`` asks the model, see
    `mcp_ref.host.questions`, with ``models`` (`ModelCard`) to choose from by the server's preferences,
    ``sampling_tools`` if the model is given its tools, and ``sampling_context`` if it is given context;
    ``elicitation(request)`` asks the user to fill in a form, ``elicitation_url(request)`` to follow a link, which
    ``open_url(url)`` then opens, see `mcp_ref.host.questions`; ``on_complete(server, link)`` is called when a link is
    done with.

    Callbacks for what servers send, each with the server's name first, on that server's thread for such things:
    ``on_log(server, level, data, logger)``, ``on_update(server, uri)``, ``on_notification(server, method, params)``;
    and ``on_lost(server, reason)`` when one has died.

    ``name_rule``: the names that the model accepts. ``stderr``: the receiver of what servers write on stderr that are
    started here, as for `mcp_ref.connect`; by default it is shown, with the server's name in front. All other options
    are those of `Client`, for every server.
    """

    @takes_host_options
    def __init__(self, name: str = "mcp_ref", version: str = __version__, **options: "Unpack[HostOptions]") -> None:
        options = with_defaults(Host.__init__, HOST_DEFAULTS, options, self)
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
        """Return a host that is connected to the servers of a configuration (see `mcp_ref.host.configuration`); options
        as `Host`.

        ``ask_input(id, description, secret)`` answers ``${input:ID}``. Servers that cannot be reached are in `failed`,
        and so are entries that are wrong, not supported, or name a variable that is not set; the host is there without
        them. What an entry asks for and is not done is in ``notes``. Raises ValueError for a file that is no
        configuration, and then has started nothing.
        """
        with_defaults(Host.from_config, HOST_DEFAULTS, options)
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
        options = with_defaults(Host.connect, SERVER_DEFAULTS, options)
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
            from ..ext.skills.host import SkillCache

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

    # Tools

    @strict_options
    def tools(self, server: Optional[str] = None) -> List[HostTool]:
        """Return the tools of all servers, or of one, by server and in its order; from memory if nothing has changed.

        A server whose tools cannot be listed is left out, which is logged; for a ``server`` that is named the error is
        raised, and LookupError for one that is not there.
        """
        return self._gather("tools", server, lambda member: member.catalogue.tools(member.client).values())

    def tool(self, qualified: str) -> HostTool:
        """Return the tool of this qualified name. Raises LookupError; asks no server but the one that it names."""
        return self._tool(qualified)[1]

    @overload
    def call_tool(
        self, qualified: str, arguments: Optional[Dict[str, Any]] = None, **options: "Unpack[CallOptions]"
    ) -> "CallToolResult": ...

    @overload
    def call_tool(
        self, qualified: str, arguments: Optional[Dict[str, Any]] = None, **options: "Unpack[ManualOptions]"
    ) -> "Union[CallToolResult, InputRequiredResult]": ...

    @takes_call_options
    def call_tool(
        self, qualified: str, arguments: Optional[Dict[str, Any]] = None, **options: Any
    ) -> "Union[CallToolResult, InputRequiredResult]":
        """Call a tool, if the policy allows it; options and exceptions as `Client.call_tool`.

        Raises `Denied`, and then nothing was sent; LookupError for a name that is no tool's.
        """
        with_defaults(Host.call_tool, CALL_DEFAULTS, options)
        if is_deep(arguments, DEFAULT.max_depth):  # before they are copied and recorded, which recurses
            raise JsonError("the arguments contain themselves or nest deeper than max_depth (%d)" % DEFAULT.max_depth)
        member, tool = self._tool(qualified)
        with AuditEntry(self.record, "tool_call", member.name, tool=tool.name, arguments=arguments) as entry:
            tool, sent = self._consent(member, tool, arguments, entry)
            result = member.client.call_tool(tool.name, sent, **options)
            if isinstance(result, InputRequiredResult):
                entry.details["outcome"] = "input_required"
            elif result.is_error:
                entry.details["outcome"] = "tool_error"
            return result  # type: ignore[no-any-return]

    def _tool(self, qualified: str) -> Tuple[Member, HostTool]:
        member = self._find(server_of(qualified))
        found = member.catalogue.tool(member.client, qualified)
        if found is None:
            raise LookupError("%s has no tool called %.80r" % (member.name, qualified))
        return member, found

    def _consent(
        self, member: Member, tool: HostTool, arguments: Optional[Dict[str, Any]], entry: AuditEntry
    ) -> Tuple[HostTool, Optional[Dict[str, Any]]]:
        """Return what may be called, and with which arguments. Raises `Denied`; notes in ``entry`` what was decided.

        If the server has changed the tool while its approval was asked for, it is asked for again.
        """
        asked = deepcopy(arguments)
        for _ in range(_CONSENT_ROUNDS):
            decision = self._decide(member, tool, asked, entry)
            now = self._tool(tool.qualified)[1]
            if now.definition == tool.definition:
                member.approved[tool.name] = tool.definition
                sent = asked if decision.instead is None else deepcopy(decision.instead)
                entry.details["arguments"] = sent
                return tool, sent
            tool = now
        raise _denied(tool, Deny("its definition changed again and again"), entry)

    def _decide(self, member: Member, tool: HostTool, arguments: Optional[Dict[str, Any]], entry: AuditEntry) -> Allow:
        before = member.approved.get(tool.name)
        changed = before is not None and before != tool.definition
        if changed:
            self.record("definition", member.name, tool=tool.name, definition=tool.definition, before=before)
        entry.details["definition"] = tool.definition
        decision = self.policy.decide(ToolCall(tool, deepcopy(arguments or {}), changed))
        if isinstance(decision, Allow) and not isinstance(decision.instead, (dict, type(None))):
            decision = Deny("the policy gave arguments that are no dict: %.80r" % (decision.instead,))
        if isinstance(decision, Deny):
            raise _denied(tool, decision, entry)
        entry.note(decision)
        return decision

    # Resources

    @strict_options
    def resources(self, server: Optional[str] = None) -> List[HostResource]:
        """Return the resources that all servers list, or only ``server``: in the order of the servers' names, each
        server's in its own order.

        Their URIs are not changed, so two servers may list the same one: `read_resource` takes the server and the URI.
        Servers whose list fails, and what is raised: as in `tools`.
        """
        return self._gather("resources", server, lambda member: resources_of(member.name, member.client))

    @strict_options
    def resource_templates(self, server: Optional[str] = None) -> List[HostResourceTemplate]:
        """Return the resource templates that all servers list, or only ``server``; in order and raising as `resources`.
        """
        return self._gather("resources", server, lambda member: templates_of(member.name, member.client))

    @overload
    def read_resource(
        self, server: str, uri: str, refresh: bool = False, **options: "Unpack[CallOptions]"
    ) -> "ReadResourceResult": ...

    @overload
    def read_resource(
        self, server: str, uri: str, refresh: bool = False, **options: "Unpack[ManualOptions]"
    ) -> "Union[ReadResourceResult, InputRequiredResult]": ...

    @takes_call_options
    def read_resource(
        self, server: str, uri: str, refresh: bool = False, **options: Any
    ) -> "Union[ReadResourceResult, InputRequiredResult]":
        """Return the contents of a resource of this server; as `Client.read_resource`. Raises LookupError for no
        server."""
        with_defaults(Host.read_resource, CALL_DEFAULTS, options)
        member = self._find(server)
        with AuditEntry(self.record, "resource", server, uri=uri):
            return member.client.read_resource(uri, refresh, **options)  # type: ignore[no-any-return]

    # Prompts

    @strict_options
    def prompts(self, server: Optional[str] = None) -> List[HostPrompt]:
        """Return the prompts that all servers list, or only ``server``, each under its qualified name; in order and
        raising as `tools`."""
        return self._gather("prompts", server, lambda member: member.catalogue.prompts(member.client).values())

    @overload
    def get_prompt(
        self, qualified: str, arguments: Optional[Dict[str, str]] = None, **options: "Unpack[CallOptions]"
    ) -> "GetPromptResult": ...

    @overload
    def get_prompt(
        self, qualified: str, arguments: Optional[Dict[str, str]] = None, **options: "Unpack[ManualOptions]"
    ) -> "Union[GetPromptResult, InputRequiredResult]": ...

    @takes_call_options
    def get_prompt(
        self, qualified: str, arguments: Optional[Dict[str, str]] = None, **options: Any
    ) -> "Union[GetPromptResult, InputRequiredResult]":
        """Return the messages of a prompt; as `Client.get_prompt`. Raises LookupError for a name that is no prompt's.
        """
        with_defaults(Host.get_prompt, CALL_DEFAULTS, options)
        member = self._find(server_of(qualified))
        found = member.catalogue.prompt(member.client, qualified)
        if found is None:
            raise LookupError("%s has no prompt called %.80r" % (member.name, qualified))
        with AuditEntry(self.record, "prompt", member.name, prompt=found.name, arguments=arguments):
            return member.client.get_prompt(found.name, arguments, **options)  # type: ignore[no-any-return]

    # Skills

    @strict_options
    def skills(self, server: Optional[str] = None) -> "List[HostSkill]":
        """Return the skills that all servers list, or only ``server``; in order and raising as `tools`. See
        `mcp_ref.ext.skills.host`."""
        from ..ext.skills.host import HostSkill

        return self._gather("skills", server, lambda member: [
            HostSkill(member.name, entry) for entry in member.client.skills()], SKILLS)

    def load_skill(self, server: str, uri: str) -> "HostLoadedSkill":
        """Load the skill of this server whose ``SKILL.md`` has this URI, if the policy allows it.

        Raises `Denied`, and then no file was read; LookupError for no server; and as `Client.load_skill`.
        """
        from ..ext.skills.host import HostLoadedSkill, HostSkill, SkillCache

        if not isinstance(uri, str):
            raise TypeError("load_skill takes the server's name and the URI of a skill, host.load_skill(skill.server, "
                            "skill.uri); got %.80r" % (uri,))
        member = self._find(server)
        with AuditEntry(self.record, "skill", server, uri=uri) as entry:
            skill = HostSkill(server, member.client.skill(uri))
            before = member.approved.get("skill " + uri)
            entry.details["definition"] = skill.definition
            decision = self.policy.decide(SkillLoad(skill, before is not None and before != skill.definition))
            entry.note(decision)
            if isinstance(decision, Deny):
                raise Denied("loading %s" % uri, server, decision.reason)
            cache = None if self._skill_cache is None else SkillCache(self._skill_cache, server)
            loaded = HostLoadedSkill(member.client, skill, cache)
            member.approved["skill " + uri] = skill.definition
            return loaded

    # Links that an error requires

    def follow(self, server: str, error: PeerError) -> bool:
        """Have the user follow the links with which this server refused a request (error -32042). Returns True if they
        agreed.

        The policy and then ``elicitation_url`` are asked about each, as in `Elicitation.follow` of the client.
        Raises LookupError for no server, `LocalProtocolError` without ``elicitation_url``.
        """
        member = self._find(server)
        return HostElicitation(self._callbacks, server).follow(error, member.client)

    # All servers

    def _gather(
        self, capability: str, server: Optional[str], list_one: Callable[[Member], Any], extension: str = "",
    ) -> List[Any]:
        """List what each server that declares this capability, or this extension, has; all at the same time."""
        if server is not None:
            return list(list_one(self._find(server)))
        members = [member for _, member in sorted(self._current().items())
                   if (member.extends(extension) if extension else member.declares(capability))]
        known = [member.name for member in members if member.knows(capability)]
        calls = {member.name: partial(list_one, member) for member in members}
        found, errors = values(in_parallel("list", calls, self.limits.request_ceiling, known))
        for name, error in errors.items():
            if not isinstance(error, McpError):
                raise error
            self.counters.note("unlisted", "%s: its %s could not be listed: %s" % (name, capability, error))
            self.record("error", name, what="listing %s" % capability, reason=str(error))
        return [item for items in found.values() for item in items]


def _arguments(name: str, value: Any) -> Dict[str, Any]:
    """Return the arguments of `Host.connect` for one entry of `connect_all`."""
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


def _denied(tool: HostTool, decision: Deny, entry: AuditEntry) -> Denied:
    entry.note(decision)
    return Denied("calling %s" % tool.qualified, tool.server, decision.reason)
