"""The client: one connection to one server, and typed calls for what it offers.

Calls block until the answer is there and may be made from any number of threads. ``submit_*``
returns a future instead. What arrives is checked against the agreed revision; an answer that does
not fit raises `PeerProtocolError`, which says where.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Type, TypeVar, Union

from ..codec import DecodeError, decode, encode
from ..errors import LocalProtocolError, PeerProtocolError
from ..limits import DEFAULT, Limits
from ..messages.base import Implementation
from ..messages.lifecycle import ClientCapabilities, InitializeRequestParams, InitializeResult
from ..methods import lookup, result_class
from ..peer.dispatcher import Connection
from ..peer.request_table import ProgressCallback
from ..peer.role import Role
from ..peer.workers import Executor
from ..protocol import lifecycle, negotiation
from ..revisions import Revision
from ..transports.base import Transport

if TYPE_CHECKING:
    from ..messages.prompts import GetPromptResult, ListPromptsResult, Prompt
    from ..messages.resources import (
        ListResourcesResult, ListResourceTemplatesResult, ReadResourceResult, Resource, ResourceTemplate,
    )
    from ..messages.tools import CallToolResult, ListToolsResult, Tool
    from ..peer.future import RequestFuture

_UNSET: Any = object()
Self = TypeVar("Self", bound="Client")
NotificationCallback = Callable[[str, Dict[str, Any]], None]


class Client(Role):
    """A client of one server. Made by `connect`, or made and then opened on a transport.

    ``name`` and ``version`` introduce it. ``revisions``: names of those to speak, newest preferred (default: all
    with a handshake). ``on_notification(method, params)`` is called, one at a time and in order, for what the server
    announces. ``executor``: who runs callbacks. ``strict`` refuses what real but careless servers send.
    ``keepalive``: seconds between pings, which end the connection when unanswered (default: no pings).
    """

    party = lifecycle.CLIENT

    def __init__(
        self,
        name: str = "mcp_ref",
        version: str = "0",
        *,
        title: Optional[str] = None,
        revisions: Optional[Sequence[Union[str, Revision]]] = None,
        capabilities: Optional[ClientCapabilities] = None,
        on_notification: Optional[NotificationCallback] = None,
        limits: Limits = DEFAULT,
        executor: Optional[Executor] = None,
        strict: bool = False,
        keepalive: Optional[float] = None,
    ) -> None:
        self.info = Implementation(name, version, title)
        self.revisions = negotiation.supported(revisions)
        self.capabilities = capabilities or ClientCapabilities()
        self.on_notification = on_notification
        self.limits = limits
        self.executor = executor
        self.strict = strict
        self.keepalive = keepalive
        self._connection: Optional[Connection] = None
        self._future: "Optional[Type[RequestFuture]]" = None
        self.server_info: Optional[Implementation] = None
        """Who the server says it is; known after `open`."""
        self.server_capabilities: Mapping[str, Any] = {}
        self.instructions: Optional[str] = None
        """How the server wants to be used; for the model."""

    # Life

    def open(self, transport: Transport) -> "Client":
        """Connect over this transport and shake hands; on any failure the transport is closed.

        Raises `ConnectFailed`, `ConnectionLost` with the server's last words, `RequestTimeout`, or
        `PeerProtocolError` if there is no revision in common.
        """
        connection = Connection(transport, self, self.limits, self.executor, lenient=not self.strict)
        self._connection = connection.start()
        try:
            self._shake_hands(connection)
        except BaseException:
            self.close()
            raise
        return self

    def _shake_hands(self, connection: Connection) -> None:
        """[..2025-11-25 basic/lifecycle §Initialization] MUST: who we are and what we can, then `initialized`."""
        offered = self.revisions[-1]
        opening = encode(InitializeRequestParams(offered.name, self.capabilities, self.info), offered)
        session = connection.session
        session.capabilities = opening["capabilities"]
        answer = connection.request("initialize", opening, timeout=self.limits.initialize_timeout)
        agreed = negotiation.accept(str(answer.get("protocolVersion")), self.revisions)
        try:
            result = decode(InitializeResult, answer, agreed, "result")
        except DecodeError as error:
            raise PeerProtocolError("the answer to initialize: %s" % error, negotiation.CITATION) from None
        session.capabilities = encode(self.capabilities, agreed)
        session.peer_capabilities = self.server_capabilities = answer["capabilities"]
        session.peer_info = answer["serverInfo"]
        session.instructions = self.instructions = result.instructions
        self.server_info = result.server_info
        connection.agree(agreed)
        connection.notify("notifications/initialized")
        connection.keep_alive()

    def close(self) -> None:
        """End the connection and, if there is one, the child process. From any thread, as often as one likes."""
        if self._connection is not None:
            self._connection.close()
            self._connection.wait_closed(self.limits.shutdown_grace + self.limits.terminate_grace + 1.0)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    @property
    def connection(self) -> Connection:
        """The connection. Raises `LocalProtocolError` before `open`."""
        if self._connection is None:
            raise LocalProtocolError("the client is not connected: call open(transport), or use connect(...)")
        return self._connection

    @property
    def revision(self) -> Revision:
        """The agreed revision."""
        return self.connection.session.rules

    # Calls

    def request(self, method: str, params: Optional[Dict[str, Any]] = None, **options: Any) -> Dict[str, Any]:
        """Send any request and return the result object as it came; options as `Connection.request`."""
        return self.connection.request(method, params, **options)

    def ping(self, timeout: Optional[float] = _UNSET) -> None:
        """See whether the server answers [..2025-11-25 basic/utilities/ping §Message Format]."""
        self.connection.request("ping", None, **_options(timeout))

    def list_tools(self, cursor: Optional[str] = None) -> "ListToolsResult":
        """One page of tools; ``cursor`` is the ``next_cursor`` of the page before."""
        return self._call("tools/list", _page(cursor))  # type: ignore[no-any-return]

    def tools(self) -> "Iterator[Tool]":
        """All tools, page by page."""
        return self._pages(self.list_tools, "tools")

    def call_tool(
        self,
        name: str,
        arguments: Optional[Dict[str, Any]] = None,
        *,
        timeout: Optional[float] = _UNSET,
        progress: Optional[ProgressCallback] = None,
        extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "CallToolResult":
        """Call a tool and wait for its result; a tool that failed gives a result whose ``is_error`` is true.

        ``timeout`` in seconds without an answer (None: only the ceiling of the limits); ``progress(value, total,
        message)`` is called in this thread; with ``extend_on_progress`` each call starts the timeout again.
        Raises `PeerError` for a JSON-RPC error, `RequestTimeout`, `ConnectionLost`.
        """
        options = _options(timeout, progress, extend_on_progress)
        return self._call("tools/call", _named(name, arguments, meta), **options)  # type: ignore[no-any-return]

    def submit_tool(
        self,
        name: str,
        arguments: Optional[Dict[str, Any]] = None,
        *,
        timeout: Optional[float] = _UNSET,
        progress: Optional[ProgressCallback] = None,
        extend_on_progress: bool = False,
        meta: Optional[Dict[str, Any]] = None,
    ) -> "RequestFuture":
        """`call_tool` as a `concurrent.futures.Future`, whose ``cancel`` cancels on the wire."""
        options = _options(timeout, progress, extend_on_progress)
        return self._submit("tools/call", _named(name, arguments, meta), **options)

    def list_resources(self, cursor: Optional[str] = None) -> "ListResourcesResult":
        """One page of resources."""
        return self._call("resources/list", _page(cursor))  # type: ignore[no-any-return]

    def resources(self) -> "Iterator[Resource]":
        """All resources, page by page."""
        return self._pages(self.list_resources, "resources")

    def list_resource_templates(self, cursor: Optional[str] = None) -> "ListResourceTemplatesResult":
        """One page of resource templates."""
        return self._call("resources/templates/list", _page(cursor))  # type: ignore[no-any-return]

    def resource_templates(self) -> "Iterator[ResourceTemplate]":
        """All resource templates, page by page."""
        return self._pages(self.list_resource_templates, "resource_templates")

    def read_resource(self, uri: str, *, timeout: Optional[float] = _UNSET) -> "ReadResourceResult":
        """The contents of a resource."""
        return self._call("resources/read", {"uri": uri}, **_options(timeout))  # type: ignore[no-any-return]

    def submit_resource(self, uri: str, *, timeout: Optional[float] = _UNSET) -> "RequestFuture":
        """`read_resource` as a future."""
        return self._submit("resources/read", {"uri": uri}, **_options(timeout))

    def list_prompts(self, cursor: Optional[str] = None) -> "ListPromptsResult":
        """One page of prompts."""
        return self._call("prompts/list", _page(cursor))  # type: ignore[no-any-return]

    def prompts(self) -> "Iterator[Prompt]":
        """All prompts, page by page."""
        return self._pages(self.list_prompts, "prompts")

    def get_prompt(
        self, name: str, arguments: Optional[Dict[str, str]] = None, *, timeout: Optional[float] = _UNSET
    ) -> "GetPromptResult":
        """The messages of a prompt."""
        return self._call("prompts/get", _named(name, arguments), **_options(timeout))  # type: ignore[no-any-return]

    def submit_prompt(
        self, name: str, arguments: Optional[Dict[str, str]] = None, *, timeout: Optional[float] = _UNSET
    ) -> "RequestFuture":
        """`get_prompt` as a future."""
        return self._submit("prompts/get", _named(name, arguments), **_options(timeout))

    def _call(self, method: str, params: Optional[Dict[str, Any]], **options: Any) -> Any:
        return self._reader(method)(self.connection.request(method, params, **options))

    def _submit(self, method: str, params: Optional[Dict[str, Any]], **options: Any) -> "RequestFuture":
        if self._future is None:
            from ..peer.future import RequestFuture

            self._future = RequestFuture  # late, because most programs never use it
        return self._future(self.connection, self._reader(method)).send(method, params, **options)

    def _reader(self, method: str) -> Callable[[Dict[str, Any]], Any]:
        """The function that makes the result's message of what came."""
        state = self.connection.state
        found = state.get(method)
        if found is None:
            found = state[method] = _result_reader(method, self.revision)
        return found

    def _pages(self, list_page: Callable[[Optional[str]], Any], member: str) -> Iterator[Any]:
        """The items of all pages; ends only where there is no next cursor, because "" is one."""
        seen: List[Optional[str]] = []
        cursor: Optional[str] = None
        while True:
            page = list_page(cursor)
            for item in getattr(page, member):
                yield item
            cursor = page.next_cursor
            if cursor is None:
                return
            if cursor in seen or len(seen) >= self.limits.max_pages:
                raise PeerProtocolError("%s: the cursor %.80r came again, or max_pages is reached" % (member, cursor))
            seen.append(cursor)

    # What the server sends (see `Role`)

    def notification(self, connection: Connection, method: str, params: Dict[str, Any]) -> None:
        """Pass it to the user."""
        if self.on_notification is not None:
            self.on_notification(method, params)


def _result_reader(method: str, revision: Revision) -> Callable[[Dict[str, Any]], Any]:
    from ..codec import decoder

    row = lookup(method, revision)
    if row is None:
        raise LocalProtocolError("revision %s has no request %s" % (revision, method))
    read = decoder(result_class(row), revision)

    def convert(result: Dict[str, Any]) -> Any:
        try:
            return read(result, "result")
        except DecodeError as error:
            raise PeerProtocolError("the answer to %s: %s" % (method, error)) from None

    return convert


def _page(cursor: Optional[str]) -> Optional[Dict[str, Any]]:
    return None if cursor is None else {"cursor": cursor}


def _named(name: str, arguments: Optional[Mapping[str, Any]], meta: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
    params: Dict[str, Any] = {"name": name}
    if arguments is not None:
        params["arguments"] = arguments
    if meta is not None:
        params["_meta"] = meta
    return params


def _options(
    timeout: Optional[float], progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False
) -> Dict[str, Any]:
    options: Dict[str, Any] = {}
    if timeout is not _UNSET:
        options["timeout"] = timeout
    if progress is not None:
        options["on_progress"] = progress
    if extend_on_progress:
        options["extend_on_progress"] = True
    return options
