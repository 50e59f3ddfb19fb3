"""The server: what it offers, and how each request finds its way there.

A `Server` holds tools, resources and prompts and knows nothing of any one connection; it can serve
many at once. METHODS says which part answers which request.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, TypeVar, Union, overload

from ..errors import INVALID_PARAMS, RpcError
from ..limits import DEFAULT, Limits
from ..peer.context import Context as RequestContext
from ..peer.context import Route
from ..peer.dispatcher import Connection
from ..peer.role import Role
from ..peer.workers import Executor
from ..protocol import lifecycle, negotiation
from ..revisions import Revision
from ..transports.base import Transport
from .context import LEVELS, Context

if TYPE_CHECKING:
    from ..messages.base import Icon
    from ..transports.listener import SocketListener

Function = TypeVar("Function", bound=Callable[..., Any])


class Server(Role):
    """A server of any number of clients.

    ``name`` and ``version`` introduce it; ``title``, ``description``, ``website_url`` and ``icons`` do so to people.
    ``instructions`` tell the model how to use it. ``revisions``: names of those to speak (default: all).
    ``strict`` refuses what real but careless clients send (see README); ``mask_errors`` hides the text of
    unexpected exceptions. ``executor``: who runs handlers, a `MainThreadQueue` or `Inline`; by default each
    connection has worker threads of its own. ``page_size``: items in a page of a list (default: all).
    ``keepalive``: seconds between pings to each client, which end its connection when unanswered (default: no pings).
    """

    party = lifecycle.SERVER

    def __init__(
        self,
        name: str,
        version: str = "0",
        *,
        title: Optional[str] = None,
        description: Optional[str] = None,
        website_url: Optional[str] = None,
        icons: "Optional[List[Icon]]" = None,
        instructions: Optional[str] = None,
        revisions: Optional[Sequence[Union[str, Revision]]] = None,
        limits: Limits = DEFAULT,
        executor: Optional[Executor] = None,
        strict: bool = False,
        mask_errors: bool = False,
        page_size: Optional[int] = None,
        keepalive: Optional[float] = None,
    ) -> None:
        self.identity = (name, version, title, description, website_url, icons)
        self.instructions = instructions
        self.revisions = negotiation.supported(revisions)
        self.limits = limits
        self.executor = executor
        self.strict = strict
        self.mask_errors = mask_errors
        self._page_size = page_size
        self.keepalive = keepalive
        self._features: Dict[str, Any] = {}

    # What it offers

    @property
    def tools(self) -> Any:
        """The tools, `mcp_ref.server.tools.Tools`; made with the first one."""
        if "tools" not in self._features:
            from .tools import Tools

            self._features["tools"] = Tools(self.mask_errors, not self.strict, self._page_size)
        return self._features["tools"]

    @property
    def resources(self) -> Any:
        """The resources and templates, `mcp_ref.server.resources.Resources`; made with the first one."""
        if "resources" not in self._features:
            from .resources import Resources

            self._features["resources"] = Resources(self._page_size)
        return self._features["resources"]

    @property
    def prompts(self) -> Any:
        """The prompts, `mcp_ref.server.prompts.Prompts`; made with the first one."""
        if "prompts" not in self._features:
            from .prompts import Prompts

            self._features["prompts"] = Prompts(self._page_size)
        return self._features["prompts"]

    def has_feature(self, name: str) -> bool:
        """Whether anything was registered for ``tools``, ``resources`` or ``prompts``."""
        return name in self._features

    @overload
    def tool(self, function: Function, **options: Any) -> Function: ...

    @overload
    def tool(self, function: None = None, **options: Any) -> Callable[[Function], Function]: ...

    def tool(self, function: Optional[Callable[..., Any]] = None, **options: Any) -> Any:
        """Make a function a tool: ``@server.tool`` or ``@server.tool(name=..., ...)``.

        The input schema comes from the parameters, the description from the docstring. A parameter annotated
        `Context` (or called ``ctx``) gets the context. Options: ``name``, ``title``, ``description``,
        ``input_schema`` and ``output_schema`` (JSON Schemas; the function then gets the arguments as they are),
        ``structured`` (whether the result has structured content; default: by the return annotation),
        ``annotations`` (`ToolAnnotations`), ``icons``, ``meta``. Raises ValueError for a name that is taken and
        TypeError for a signature that has no schema.
        """
        if function is not None:
            self.tools.add(function, **options)
            return function
        return lambda decorated: self.tool(decorated, **options)

    def resource(self, uri: str, **options: Any) -> Callable[[Function], Function]:
        """Make a function a resource, or with ``{variables}`` in ``uri`` a resource template.

        It returns str, bytes, JSON values or resource contents; variables are passed by name. Options: ``name``,
        ``title``, ``description``, ``mime_type``, ``size``, ``annotations``, ``icons``, ``meta``. Raises ValueError if
        the parameters are not the variables.
        """

        def register(function: Function) -> Function:
            self.resources.add(function, uri, **options)
            return function

        return register

    @overload
    def prompt(self, function: Function, **options: Any) -> Function: ...

    @overload
    def prompt(self, function: None = None, **options: Any) -> Callable[[Function], Function]: ...

    def prompt(self, function: Optional[Callable[..., Any]] = None, **options: Any) -> Any:
        """Make a function a prompt: ``@server.prompt`` or ``@server.prompt(name=..., ...)``.

        It returns a str, a message, a content block or a list of these. Options: ``name``, ``title``,
        ``description``, ``arguments``, ``icons``, ``meta``.
        """
        if function is not None:
            self.prompts.add(function, **options)
            return function
        return lambda decorated: self.prompt(decorated, **options)

    # Serving

    def run(self) -> None:
        """Serve one client over standard input and output, until it goes away. Blocks.

        Whatever prints or writes to standard output meanwhile ends up on standard error. If a handler is still stuck
        ``shutdown_grace`` seconds after the client went, the process ends without it.
        """
        from ..transports.stdio import StdioServer
        from .stdio import serve

        serve(self, StdioServer(self.limits))

    def connect(self, transport: Transport) -> Connection:
        """Serve one client over this transport, in the background. Raises `ConnectFailed`."""
        return self.connection(transport).start()

    def listen(self, address: str, idle_after: float = 1.0) -> "SocketListener":
        """Serve any number of clients on ``tcp://host:port`` or ``unix:///path``, in the background.

        Port 0 is any free one; the listener's ``address`` tells which. A connection that has been silent for
        ``idle_after`` seconds costs no thread until something comes. `SocketListener.close` ends it and every
        connection. There is no authentication: listen on loopback or in a folder of your own. Raises `ConnectFailed`.
        """
        from ..transports.listener import SocketListener

        listener = SocketListener(address, self.connect, self.limits, idle_after)
        listener.open()
        return listener

    def connection(self, transport: Transport) -> Connection:
        """A connection over this transport that has not been started."""
        made = Connection(transport, self, self.limits, self.executor, lenient=not self.strict)
        made.context_class = Context
        return made

    # Answering (see `Role`)

    def route(self, connection: Connection, method: str) -> Optional[Route]:
        """How this request is answered; see METHODS."""
        revision = connection.session.rules
        row = METHODS.get(method)
        if row is None:
            return super().route(connection, method)
        feature, make = row
        if feature and feature not in self._features:
            return None
        made: Route = make(self, revision)
        return made

    def _set_level(self, context: RequestContext, params: Dict[str, Any]) -> Dict[str, Any]:
        """[..2025-11-25 server/utilities/logging §Setting Log Level]"""
        level = params.get("level")
        if level not in LEVELS:
            raise RpcError(INVALID_PARAMS, "Invalid params: level: expected one of %s" % ", ".join(LEVELS))
        context.connection.state["log_level"] = LEVELS.index(level)
        return {}


def _initialize(server: Server, revision: Revision) -> Route:
    from .initialize import route

    return route(server)


METHODS: Dict[str, Any] = {
    "initialize": ("", _initialize),
    "tools/list": ("tools", lambda server, revision: server.tools.list_route(revision)),
    "tools/call": ("tools", lambda server, revision: server.tools.call_route(revision)),
    "resources/list": ("resources", lambda server, revision: server.resources.listing.route(revision)),
    "resources/templates/list": ("resources", lambda server, revision: server.resources.templates.route(revision)),
    "resources/read": ("resources", lambda server, revision: server.resources.read_route(revision)),
    "prompts/list": ("prompts", lambda server, revision: server.prompts.listing.route(revision)),
    "prompts/get": ("prompts", lambda server, revision: server.prompts.get_route(revision)),
    "logging/setLevel": ("", lambda server, revision: Route(server._set_level, inline=True)),
}
"""Request -> the feature that must be there, and how its route is made for a revision."""
