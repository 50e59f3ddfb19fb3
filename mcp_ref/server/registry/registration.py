"""The decorators and methods by which authors register tools, resources, prompts and completions, and remove them.

Each feature is an object of a module of its own, which is loaded and made when the first item of it is registered:
a server without prompts never loads the module of prompts, and does not declare the capability.

A server with a capability has to declare it [.. server/tools §Capabilities] MUST [.. server/resources §Capabilities]
MUST [.. server/prompts §Capabilities] MUST, which it can do only once in a session: in the answer to `initialize`. So a
feature whose first item comes later has to be named beforehand, ``Server(features=["resources"])``; otherwise clients
that are connected already do not learn of it, which is logged.

A function for a vendor's method gets the params by name, as a tool gets its arguments::

    @server.method("acme/search")
    def search(query: str, limit: int = 10) -> dict:
        return {"found": index.find(query, limit)}
"""

from typing import (
    TYPE_CHECKING, Any, Callable, Dict, FrozenSet, List, Mapping, Optional, Sequence, TypeVar, Union,
    overload,
)

from ...diagnostics.packagelog import get_logger
from ...errors import INVALID_PARAMS, RpcError
from ...methods import LIST_PROMPTS, LIST_TOOLS, methods
from ...options import strict_options, with_defaults
from ...peer.context import Context, Route
from ...peer.role import Role
from ...protocol.lifecycle import has
from ..announcements import Announcements
from ..families import (
    PROMPT, REGISTERED_TOOL, RESOURCE, TOOL, takes_prompt_options, takes_resource_options, takes_tool_options,
)
from .checks import check_features, with_hints

if TYPE_CHECKING:
    import os

    from typing_extensions import Unpack

    from ...ext.tasks.server.engine import Tasks
    from ...limits import Limits
    from ...messages.base import Annotations
    from ...messages.completion import Ref
    from ...peer.extension import Extension
    from ..families import PromptOptions, ResourceOptions, ToolOptions
    from .caching import Cache
    from .checks import Paging
    from .directory import Directory
    from .visibility import Visible

Function = TypeVar("Function", bound=Callable[..., Any])


class Registration(Role):
    """The base of `Server` with everything that authors register: features, decorators, and their removal."""

    strict: bool
    limits: "Limits"
    mask_errors: Optional[bool]
    caches: "Dict[str, Cache]"
    """The caching hints by method; see `mcp_ref.server.registry.caching`."""
    _paging: "Paging"
    _features: Dict[str, Any]
    _declared: Dict[Any, Dict[str, Any]]
    _announcements: Announcements
    _promised: FrozenSet[str] = frozenset()
    """The features that are declared although nothing of them may be registered."""
    _late_features: Dict[str, object]
    """The features that some clients were not told of -> a mark of the thread that has logged it."""
    _declared_stateless = False
    """True once the capabilities have been declared to a client without a handshake."""

    @property
    def tools(self) -> Any:
        """The tools, `mcp_ref.server.tools.Tools`; made with the first one."""
        if "tools" not in self._features:
            from ..tools import Tools

            changed = self._changing("tools")
            made = Tools(not self.strict, self._paging, changed, self.caches.get(LIST_TOOLS))
            self._features.setdefault("tools", made)
        return self._features["tools"]

    @property
    def resources(self) -> Any:
        """The resources and templates, `mcp_ref.server.resources.Resources`; made with the first one."""
        if "resources" not in self._features:
            from ..resources import Resources

            made = Resources(self._paging, self._changing("resources"), self.caches)
            self._features.setdefault("resources", made)
        return self._features["resources"]

    @property
    def prompts(self) -> Any:
        """The prompts, `mcp_ref.server.prompts.Prompts`; made with the first one."""
        if "prompts" not in self._features:
            from ..prompts import Prompts

            made = Prompts(self._paging, self._changing("prompts"), self.caches.get(LIST_PROMPTS))
            self._features.setdefault("prompts", made)
        return self._features["prompts"]

    @property
    def completions(self) -> Any:
        """The completions of arguments, `mcp_ref.server.completion.Completions`; made with the first one."""
        if "completions" not in self._features:
            from ..completion import Completions

            self._features.setdefault("completions", Completions(self))
        return self._features["completions"]

    @property
    def tasks(self) -> Any:
        """The tasks, `mcp_ref.ext.tasks.server.Tasks`; made in memory for the first tool that may run as one, unless
        ``Server(tasks=...)`` has some."""
        if "tasks" not in self._features:
            from ...ext.tasks.server.engine import Tasks

            self._bind(Tasks())
        return self._features["tasks"]

    def _bind(self, tasks: "Tasks") -> None:
        """Have these tasks, and declare them. Raises TypeError for what are none."""
        from ...ext.tasks.server.engine import Tasks

        if not isinstance(tasks, Tasks):
            raise TypeError("tasks is an object of Tasks, such as Tasks(ttl=3600), got %.80r" % (tasks,))
        tasks.bind(self)  # type: ignore[arg-type]  # a `Registration` is a server
        self.declare("tasks", tasks, tasks.extension)

    def declare(self, name: str, feature: object, extension: "Extension") -> None:
        """Have a feature that is an extension, and declare it."""
        self._extend([extension])
        self._features[name] = feature
        self._declared = {}

    @property
    def subscriptions(self) -> Any:
        """The subscriptions of sessions to resources, `mcp_ref.server.subscriptions.Subscriptions`."""
        if "subscriptions" not in self._features:
            from ..subscriptions import Subscriptions

            self._features.setdefault("subscriptions", Subscriptions())
        return self._features["subscriptions"]

    @property
    def listeners(self) -> Any:
        """The open streams of `subscriptions/listen`, `mcp_ref.server.subscriptions.Listeners`; made for the first one.
        """
        if self._announcements.listeners is None:
            from ..subscriptions import Listeners

            self._announcements.listeners = self._features.setdefault("listeners", Listeners(self))  # type: ignore
        return self._announcements.listeners

    def has_feature(self, name: str) -> bool:
        """Return True if something was registered for ``tools``, ``resources``, ``prompts`` or ``completions``, or if
        the author named it in ``features`` of `Server`."""
        return name in self._features

    @property
    def completes(self) -> bool:
        """True if any argument can be completed. Only then the server declares the capability and has the method
        [2025-03-26.. server/utilities/completion §Capabilities] MUST
        [2025-03-26.. server/utilities/completion §Error Handling] SHOULD.
        """
        if "completions" in self._promised:
            return True
        for name in ("completions", "prompts", "resources"):
            feature = self._features.get(name)
            if feature is not None and feature.completes():
                return True
        return False

    @property
    def may_log(self) -> bool:
        """True if any handler gets a context, by which it could send log messages.

        Without a handshake the server declares ``logging`` only then: the feature is deprecated, and a server that
        sends no messages should not declare it [2026-07-28 server/utilities/logging §Capabilities] MUST,
        [2026-07-28 deprecated] SHOULD NOT.
        """
        if "logging" in self._promised:
            return True
        lists = [self._features[name].listing.values() for name in ("tools", "resources", "prompts")
                 if name in self._features]
        if "resources" in self._features:
            lists.append(self.resources.templates.values())
        if "completions" in self._features:
            lists.append(self.completions.values())
        signatures = [getattr(item, "signature", None) for items in lists for item in items]
        return any(signature is not None and signature.context_parameter is not None for signature in signatures)

    def _changing(self, feature: str) -> "Callable[[Optional[Visible]], None]":
        late = self._declared_stateless  # some clients were told before that there is no such feature

        def changed(visible: "Optional[Visible]") -> None:
            self._declared = {}
            self._warn_of_late_feature(feature, late)
            self._announcements.changed(feature, visible)

        return changed

    def _promise(self, features: Sequence[str]) -> None:
        """Make the features that are declared in any case. Raises TypeError or ValueError for unknown ones."""
        self._late_features = {}
        if features:
            self._promised = check_features(features)
            for name in self._promised - {"logging"}:
                getattr(self, name)

    def _warn_of_late_feature(self, feature: str, late: bool) -> None:
        """Log, once for each feature, that its first item came after clients were told the server's capabilities.

        ``late``: True if a client without a handshake may be among them; sessions are counted.
        """
        if feature in self._promised or feature in self._late_features:
            return
        missed = 0
        for connection in self._announcements.connections:
            session = connection.session
            declarable = any(row.capability == feature for row in methods(session.rules))
            if session.revision is not None and declarable:
                missed += not has(session.capabilities, feature)
        mark = object()
        if not missed and not late or self._late_features.setdefault(feature, mark) is not mark:
            return
        get_logger(__name__).warning(
            "the first of the %s of this server was registered after clients had been told what it has, so that they "
            "do not ask for it (%d of them in a session); declare it beforehand: Server(..., features=[%r])",
            feature, missed, feature)

    @overload
    def tool(self, function: Function, **options: "Unpack[ToolOptions]") -> Function: ...

    @overload
    def tool(self, function: None = None, **options: "Unpack[ToolOptions]") -> Callable[[Function], Function]: ...

    @takes_tool_options
    def tool(self, function: Optional[Callable[..., Any]] = None, **options: "Unpack[ToolOptions]") -> Any:
        """Make a function a tool: ``@server.tool`` or ``@server.tool(name=..., ...)``.

        The input schema comes from the parameters, the description from the docstring. A parameter annotated
        `Context` (or called ``ctx``) gets the context. Options: ``name``, ``title``, ``description``,
        ``input_schema`` and ``output_schema`` (JSON Schemas; the function then gets JSON values, by name),
        ``structured`` (whether the result has structured content; default: by the return annotation),
        ``annotations`` (`ToolAnnotations`; or some of ``read_only``, ``destructive``, ``idempotent``, ``open_world``,
        True or False), ``icons``, ``meta``, ``rate`` (calls per second, of all clients together),
        ``task``: "optional" or "required" for a tool whose calls may, or must, run as tasks, or a function
        ``(ctx, arguments) -> bool`` that decides for each call; see `mcp_ref.ext.tasks.server`. ``ui``: the URI of the
        page that shows its results, see `app`; ``visibility``: who may call it, of "model" and "app" (default: both).
        ``visible``: a function ``(principal) -> bool``; for whom it returns False there is no such tool, see
        `mcp_ref.server.registry.visibility`. ``Annotated[str, {"x-mcp-header": "Region"}]`` lets proxies route by an
        argument: see `mcp_ref.server.tools`. Warns of a name that some clients refuse; a ``strict`` server refuses it.
        Raises ValueError for a name that is taken and for a member that may not be sent, and TypeError for a signature
        that has no schema.
        """
        given = with_defaults(Registration.tool, TOOL, options)
        if given["ui"] is not None or given["visibility"] is not None:
            from ...ext.apps import tool_meta

            given["meta"] = tool_meta(self, given["ui"], given["visibility"], given["meta"])
        hints = {"read_only_hint": given["read_only"], "destructive_hint": given["destructive"],
                 "idempotent_hint": given["idempotent"], "open_world_hint": given["open_world"]}
        if any(hint is not None for hint in hints.values()):
            given["annotations"] = with_hints(given["annotations"], hints)
        kept: Any = {name: value for name, value in given.items() if name in REGISTERED_TOOL}

        def register(function: Function) -> Function:
            if given["task"] != "forbidden":
                self.tasks  # the server has to have some
            self.tools.add(function, **kept)
            return function

        return register if function is None else register(function)

    @strict_options
    def add(self, source: object, *, prefix: str = "", visible: Optional[Callable[..., Any]] = None) -> List[str]:
        """Make the public methods of an object tools, in the order of their definition; return the names of the tools.

        ``prefix`` goes before each name, so that a server can have two objects of a class. ``visible``: as that of
        `tool`, for all of them. A method without a schema, or whose name is taken, raises as `tool` does, and nothing
        is registered. Raises TypeError for a class, and for an object without public methods.
        """
        from .checks import public_methods

        found = {prefix + name: function for name, function in public_methods(source)}
        for name in found:
            if self.has_feature("tools") and self.tools.listing.get(name) is not None:
                raise ValueError("there is a tool %r already: give the methods of %.80r a prefix" % (name, source))
        made: List[str] = []
        with self._announcements.once():
            try:
                for name, function in found.items():
                    self.tool(function, name=name, visible=visible)
                    made.append(name)
            except BaseException:
                for name in made:
                    self.remove_tool(name)
                raise
        return made

    @takes_resource_options
    def resource(self, uri: str, **options: "Unpack[ResourceOptions]") -> Callable[[Function], Function]:
        """Make a function a resource, or with ``{variables}`` in ``uri`` a resource template.

        The function returns str, bytes, JSON values or resource contents. Variables are passed by name, decoded. A
        value with a segment ``..`` or a null character, and one that is an absolute path, is refused as an unknown URI;
        slashes are not: serve files by `mcp_ref.server.registry.directory`. Options: ``name``,
        ``title``, ``description``, ``mime_type``, ``size`` (bytes), ``annotations``, ``icons``, ``meta``, ``cache``
        (`Cache`: how long clients may cache the contents), ``visible`` (as that of `tool`),
        ``unchecked`` (the variables whose values come as they are). Raises ValueError if the parameters are not the
        variables.
        """
        given = with_defaults(Registration.resource, RESOURCE, options)
        if not isinstance(uri, str):
            raise TypeError('a resource needs its URI, got %.80r; write @server.resource("config://app")' % (uri,))

        def register(function: Function) -> Function:
            self.resources.add(function, uri, **given)
            return function

        return register

    @overload
    def prompt(self, function: Function, **options: "Unpack[PromptOptions]") -> Function: ...

    @overload
    def prompt(self, function: None = None, **options: "Unpack[PromptOptions]") -> Callable[[Function], Function]: ...

    @takes_prompt_options
    def prompt(self, function: Optional[Callable[..., Any]] = None, **options: "Unpack[PromptOptions]") -> Any:
        """Make a function a prompt: ``@server.prompt`` or ``@server.prompt(name=..., ...)``.

        The function returns a str, a message, a content block or a list of these. Options: ``name``, ``title``,
        ``description``, ``arguments``, ``icons``, ``meta``, ``visible`` (as that of `tool`).
        """
        given = with_defaults(Registration.prompt, PROMPT, options)

        def register(function: Function) -> Function:
            self.prompts.add(function, **given)
            return function

        return register if function is None else register(function)

    @strict_options
    def completion(self, ref: "Ref", argument: str) -> Callable[[Function], Function]:
        """Make a function complete an argument: ``@server.completion("review", "language")``.

        ``ref`` is the name of a prompt or the URI template of a resource (or a reference message), ``argument`` one of
        its arguments or variables. `mcp_ref.server.completion` describes the function's parameters and its result.
        """

        def register(function: Function) -> Function:
            late = self._declared_stateless and not self.completes
            self.completions.add(function, ref, argument)
            self._declared = {}
            self._warn_of_late_feature("completions", late)
            return function

        return register

    @strict_options
    def directory(
        self, path: "Union[str, os.PathLike[str]]", *, uri: Optional[str] = None, name: Optional[str] = None,
        title: Optional[str] = None, description: Optional[str] = None, pattern: str = "**", hidden: bool = False,
        max_bytes: int = 10 * 1024 * 1024, annotations: "Optional[Annotations]" = None, listed: bool = True,
        cache: "Optional[Cache]" = None, visible: Optional[Callable[..., Any]] = None,
    ) -> "Directory":
        """Serve the files below a folder as ``file://`` resources; options as
        `mcp_ref.server.registry.directory.Directory`."""
        from .directory import Directory

        made = Directory(
            path, uri=uri, name=name, title=title, description=description, pattern=pattern, hidden=hidden,
            max_bytes=max_bytes, annotations=annotations, listed=listed, cache=cache, visible=visible,
        )
        self.resources.add_directory(made)
        return made

    @strict_options
    def skills(
        self, path: "Union[str, os.PathLike[str]]", *, prefix: str = "", cache: "Optional[Cache]" = None,
        listed: bool = True,
    ) -> None:
        """Serve the skills in a folder and below it, to clients of every revision.

        See `mcp_ref.ext.skills.server`.

        ``prefix``: names with slashes between, in front of the paths of the skills: ``skill://prefix/...``. ``cache``:
        how long clients may cache the files, and, of the first folder, the list. ``listed``: list the files among the
        resources, too. Raises `BadSkill`, a ValueError that names file, line and fault.
        """
        from ...ext.skills.server import SkillFolder, Skills

        folder = SkillFolder(path, prefix, cache, listed)
        extension = self._features.get("skills")
        if extension is None:
            extension = Skills(self._paging, cache)
        extension.add(folder)
        self.resources.add_directory(folder)
        if "skills" not in self._features:
            self.declare("skills", extension, extension)

    @strict_options
    def app(
        self, uri: str, html: str, *, name: Optional[str] = None, title: Optional[str] = None,
        description: Optional[str] = None, csp: Optional[Mapping[str, Sequence[str]]] = None,
        permissions: Sequence[str] = (), domain: Optional[str] = None, prefers_border: Optional[bool] = None,
        cache: "Optional[Cache]" = None, visible: Optional[Callable[..., Any]] = None,
    ) -> None:
        """Serve a page that hosts show with the results of tools: ``@server.tool(ui=uri)``.

        See `mcp_ref.ext.apps`. ``uri``: ``ui://...``; ``html``: the text of the document. ``csp``: origins
        that it needs, in lists: ``connectDomains``, ``resourceDomains``, ``frameDomains``, ``baseUriDomains``; none of
        them, if it is left out. ``permissions``: of "camera", "microphone", "geolocation", "clipboardWrite".
        ``domain``: the origin of the page, as the host documents it. ``prefers_border``: whether it has a border.
        ``visible``: as that of `tool`.
        Raises ValueError or TypeError for what a host would refuse.
        """
        from ...ext.apps import add_page

        add_page(self, uri, html, name, title, description, csp, permissions, domain, prefers_border, cache,
                 visible)

    @strict_options
    def method(self, name: str) -> Callable[[Function], Function]:
        """Make a function answer a vendor's requests: ``@server.method("acme/search")``.

        The params come by name, as the arguments of a tool do, and a parameter annotated `Context` (or called ``ctx``)
        gets the context. The function returns an object: a dict, a dataclass; None is {}. Clients call it by
        ``client.request("acme/search", {...})``; ``experimental`` can declare it to them. For requests of the server to
        the client see `Client.method`, `Context.call` and `mcp_ref.peer.extension`. Raises ValueError for a name that
        has no prefix or one of the specification's, and for a name that is taken.
        """

        def register(function: Function) -> Function:

            self._vendor_part().add(name, function, route_of)
            return function

        return register

    @strict_options
    def on_notification(self, name: str) -> Callable[[Function], Function]:
        """Call a function for each of a vendor's notifications: ``@server.on_notification("acme/event")``.

        The function gets the connection and the params, a dict; calls come in order and one at a time. Raises as
        `method`.
        """

        def register(function: Function) -> Function:
            self._vendor_part().listen(name, function)
            return function

        return register

    def _vendor_part(self) -> Any:
        if "vendor" not in self._features:
            from ...peer.extension import VendorMethods

            self._features.setdefault("vendor", VendorMethods())
        return self._features["vendor"]

    def remove_tool(self, name: str) -> None:
        """Remove a tool and notify clients. Raises KeyError if there is none of this name."""
        self.tools.listing.remove(name)

    def remove_resource(self, uri: str) -> None:
        """Remove a resource, resource template or directory and notify clients. Raises KeyError if there is none."""
        self.resources.remove(uri)

    def remove_prompt(self, name: str) -> None:
        """Remove a prompt and notify clients. Raises KeyError if there is none of this name."""
        self.prompts.listing.remove(name)


def route_of(name: str, function: Callable[..., Any]) -> Route:
    """Return the route of a vendor's method that a function answers. Raises as `Signature`."""
    from ...peer.extension import checked_result
    from ..hints.signature import BindError, LazyValidator, Signature, to_json

    signature = Signature(function)
    inputs = LazyValidator(lambda: signature.input_schema)

    def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
        given = {key: value for key, value in params.items() if key != "_meta"}
        for wrong in inputs.validate(given)[:1]:
            raise RpcError(INVALID_PARAMS, "Invalid params: %s" % wrong.about("params"))
        try:
            keywords = signature.bind(given)
        except BindError as error:
            raise RpcError(INVALID_PARAMS, "Invalid params: %s" % error.about("params")) from None
        if signature.context_parameter is not None:
            keywords = dict(keywords)
            keywords[signature.context_parameter] = context
        value = signature.call(**keywords)
        return checked_result(name, None if value is None else to_json(value))

    return Route(answer)
