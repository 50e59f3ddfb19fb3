"""The types by which the modules of the server name each other's parts; imported for type checkers only.

`Server` and `Context` load most other modules of this folder late. These modules take a server, a context or a tool as
an argument. They declare the members that they use by the protocols of this module, and not the whole classes, so that
each of them can be read and checked without the class that loads it.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Protocol, Sequence, Tuple

from ..codec import Model
from ..jsonrpc import Request
from ..limits import Limits
from ..options import REQUEST_TIMEOUT
from ..peer.dispatcher import Connection
from ..peer.executors import Executor
from ..peer.extension import Extension, Extensions
from ..peer.inflight import Incoming
from ..peer.session import Session
from ..revisions import Revision
from ..transports.base import Transport
from ..transports.held import Held

if TYPE_CHECKING:
    from ..messages.base import Icon
    from ..streamable.server.authenticate import Guard
    from ..streamable.server.own_routes import OwnRoute
    from ..wiretrace import Trace
    from .hints.signature import LazyValidator, Signature
    from .registry.caching import Cache
    from .registry.visibility import Visible


class Features(Protocol):
    """The features of a server: what was registered of tools, resources and prompts."""

    @property
    def tools(self) -> Any:
        """The tools, `mcp_ref.server.tools.Tools`."""

    @property
    def resources(self) -> Any:
        """The resources, `mcp_ref.server.resources.Resources`."""

    @property
    def prompts(self) -> Any:
        """The prompts, `mcp_ref.server.prompts.Prompts`."""

    @property
    def subscriptions(self) -> Any:
        """The subscriptions of sessions, `mcp_ref.server.subscriptions.Subscriptions`."""

    def has_feature(self, name: str) -> bool:
        """Return True if something of this feature is registered or promised."""


class RegistrationInterface(Features, Protocol):
    """The part of `mcp_ref.server.registry.registration.Registration` that a feature uses which declares itself."""

    limits: Limits

    def declare(self, name: str, feature: object, extension: Extension) -> None:
        """Have a feature that is an extension, and declare it."""


class ServerInterface(Features, Protocol):
    """The part of `mcp_ref.server.Server` that the modules which it loads late use."""

    identity: "Tuple[str, str, Optional[str], Optional[str], Optional[str], Optional[List[Icon]]]"
    """Name, version, title, description, website and icons, in the order of `Implementation`."""
    identify: bool
    instructions: Optional[str]
    experimental: Optional[Dict[str, Dict[str, Any]]]
    revisions: Tuple[Revision, ...]
    limits: Limits
    executor: Optional[Executor]
    strict: bool
    auth: "Optional[Guard]"
    trace: "Optional[Trace]"
    caches: "Dict[str, Cache]"
    extensions: Optional[Extensions]
    on_log_level: Optional[Callable[[Connection, str], None]]

    @property
    def connections(self) -> List[Connection]:
        """The connections that are operating."""

    @property
    def completes(self) -> bool:
        """True if any argument of a prompt or template can be completed."""

    @property
    def may_log(self) -> bool:
        """True if a handler could send log messages."""

    @property
    def http_routes(self) -> "Sequence[OwnRoute]":
        """The HTTP addresses of the author's own."""

    @property
    def held(self) -> Held:
        """The account of the memory that clients make this server hold."""

    def with_extensions(self, capabilities: Dict[str, Any], revision: Revision) -> Dict[str, Any]:
        """Return the capabilities with the extensions declared in them."""

    @property
    def listeners(self) -> Any:
        """The streams of `subscriptions/listen`, `mcp_ref.server.subscriptions.Listeners`; None before the first."""

    def declared(self, revision: Revision) -> Dict[str, Any]:
        """Return the capabilities that are declared in this revision."""

    def hides(self, connection: Connection) -> bool:
        """Return True if the texts of exceptions are kept from this client."""

    def tick(self) -> None:
        """Do what has to be done from time to time."""

    def resolve(self) -> None:
        """Resolve annotations that were left until now."""

    def hold(self, holder: object, begin: Optional[Callable[[], Any]] = None) -> Any:
        """Keep the lifespan open, and begin what needs it."""

    def let_go(self, holder: object) -> None:
        """Let the lifespan be left."""

    def connection(self, transport: Transport) -> Connection:
        """Return a connection that has not been started."""

    def connect(self, transport: Transport) -> Connection:
        """Return a connection that serves in the background."""


class AskingContext(Protocol):
    """The part of `mcp_ref.server.Context` that the modules which ask the client use."""

    connection: Connection
    incoming: Incoming
    request: Request
    session: Session
    _rounds: Any
    """The `mcp_ref.server.replay.Rounds` of this request, once they are needed."""

    @property
    def meta(self) -> Dict[str, Any]:
        """The `_meta` of the request."""

    def check(self) -> None:
        """Raise `RequestCancelled` if the request was cancelled."""

    def ask(
        self, method: str, params: Model, timeout: Optional[float] = REQUEST_TIMEOUT, key: Optional[str] = None,
        read: Optional[Callable[[Any], Any]] = None,
    ) -> Any:
        """Ask the client, and return its answer."""

    def ask_all(self, questions: Mapping[str, Callable[[], Any]]) -> Dict[str, Any]:
        """Ask several questions in one round."""


class ToolInterface(Protocol):
    """The part of `mcp_ref.server.tools.RegisteredTool` that makes and checks its messages."""

    name: str
    signature: "Signature"
    explicit_input: Optional[Dict[str, Any]]
    explicit_output: Optional[Dict[str, Any]]
    described: Dict[str, Any]
    inputs: "LazyValidator"
    outputs: "LazyValidator"

    @property
    def output_schema(self) -> Optional[Dict[str, Any]]:
        """The schema of the structured content; None if there is none."""

    def returned(self) -> Tuple[Optional[Dict[str, Any]], bool]:
        """Return the schema of the structured content, and True if it holds the returned value under ``result``."""


class ChangeListeners(Protocol):
    """The part of `mcp_ref.server.subscriptions.Listeners` that announcements use."""

    def __len__(self) -> int: ...

    def changed(self, feature: str, visibles: "Optional[Sequence[Visible]]" = None) -> int:
        """Tell the streams that asked for it, and whose clients see it, that the list of this feature has changed;
        return their number."""
