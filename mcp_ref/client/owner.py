"""The client as its own parts know it, and what the callers of a client give to all of them.

A `Client` is put together of parts: `requests.Requests`, `cached_calls.CachedCalls`, `handshake.Handshake` and, as soon
as something asks for it, `subscriptions.Listening`. Each of them gets an `Owner`, which is the client; a test may give
it any object that has these members.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, FrozenSet, Mapping, MutableMapping, NamedTuple, Optional, Tuple

from ..options import REQUEST_TIMEOUT
from ..peer.request_table import ProgressCallback

Reader = Callable[[Dict[str, Any]], Any]
"""A function that makes the message of a result object."""
Keep = Callable[[Dict[str, Any], Any], None]
"""A function that puts an answer into the cache; called with the result object and the message made of it."""
UpdateCallback = Callable[[str], object]
"""A function that is called with the URI of the resource that changed."""

if TYPE_CHECKING:
    from typing import List, Protocol, Sequence

    from ..errors import ConnectionLost, McpError
    from ..limits import Limits
    from ..messages.base import Implementation
    from ..messages.resources import ReadResourceResult
    from ..messages.tools import Tool
    from ..peer.context import Route
    from ..peer.dispatcher import Connection
    from ..peer.extension import Extension, Extensions
    from ..peer.inflight import Inflight
    from ..revisions import Revision
    from .handshake import Handshake

    class Owner(Protocol):
        """The members of a `Client` that its parts use."""

        limits: Limits
        strict: bool
        tolerate: FrozenSet[str]
        extensions: Optional[Extensions]
        revisions: Tuple[Revision, ...]
        questions: Inflight
        server_info: Optional[Implementation]
        server_capabilities: Mapping[str, Any]
        instructions: Optional[str]
        _handshake: Handshake

        @property
        def connection(self) -> Connection:
            """The connection. Raises `LocalProtocolError` before the client was opened."""

        @property
        def revision(self) -> Revision:
            """The revision that both sides speak. Raises as `connection`."""

        @property
        def server_extensions(self) -> Dict[str, Dict[str, Any]]:
            """The extensions that the server has declared, with their settings."""

        @property
        def wanted(self) -> bool:
            """True between `Client.open` and `Client.close`."""

        def renewed(self, ended: Connection, error: ConnectionLost) -> Connection:
            """Return the connection that replaces one that has ended. Raises ``error`` where there can be none."""

        def _retry_connection(
            self, connection: Connection, error: McpError, method: str, params: Optional[Dict[str, Any]]
        ) -> Connection:
            """Return the connection on which a request that failed is sent again. Raises if it is not."""

        def route(self, connection: Connection, method: str, revision: Revision) -> Optional[Route]:
            """Return how a request of the server is answered; None if it is not."""

        def handler_of(self, method: str, params: Dict[str, Any], revision: Revision) -> str:
            """Return a name for the user's code that answers a request, for log records."""

        def with_extensions(self, capabilities: Dict[str, Any], revision: Revision) -> Dict[str, Any]:
            """Return the capabilities with the declared extensions among them."""

        def request(self, method: str, params: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
            """Send any request and return its result object."""

        def read_resource(self, uri: str, refresh: bool = False) -> ReadResourceResult:
            """Read a resource."""

        def tools(self, refresh: bool = False) -> List[Tool]:
            """Return all tools of the server."""

        def _extend(self, extensions: Sequence[Extension]) -> None:
            """Have these extensions, too."""

        def subscribe_resource(self, uri: str, callback: Optional[UpdateCallback] = None) -> None:
            """Subscribe to a resource."""

        def unsubscribe_resource(self, uri: str) -> None:
            """End a subscription."""

    class TaskOwner(Owner, Protocol):
        """The members of a `Client` that its tasks use besides."""

        check_results: bool
        _requests: Any
        """The `mcp_ref.client.requests.Requests`."""
        _cached: Any
        """The `mcp_ref.client.cached_calls.CachedCalls`."""
        _tasks: Optional[MutableMapping[str, Any]]
        """The tasks that somebody holds, by id; None before the first."""

        @property
        def listening(self) -> Any:
            """The streams of `subscriptions/listen`, `mcp_ref.client.subscriptions.Listening`."""

        def request(
            self, method: str, params: Optional[Dict[str, Any]] = None, timeout: Optional[float] = REQUEST_TIMEOUT,
        ) -> Dict[str, Any]:
            """Send any request and return its result object."""

        def listen(self, *, more: Optional[Mapping[str, Any]] = None) -> Any:
            """Return a `mcp_ref.client.subscriptions.Subscription`."""


class Options(NamedTuple):
    """The options of a call, as its caller gave them; `Calls.call_tool` says what each means."""

    timeout: Optional[float] = REQUEST_TIMEOUT
    progress: Optional[ProgressCallback] = None
    extend_on_progress: bool = False
    meta: Optional[Dict[str, Any]] = None
    rounds: Optional[str] = None
    input_responses: Optional[Mapping[str, Any]] = None
    request_state: Optional[str] = None


PLAIN = Options()
"""The options of a call whose caller gave none."""
