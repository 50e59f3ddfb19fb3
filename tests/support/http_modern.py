"""A client of the stateless era without sockets: POSTs to an `Endpoint`, each with its headers and its `_meta`.

    with ModernWeb(server) as web:
        answer = web.ask(7, "tools/call", {"name": "echo", "arguments": {...}})    # the `ScriptedExchange` of its reply
        assert answer.status == 200 and answer.message["id"] == 7
"""
from typing import Any, Dict, List, Optional

from mcp_ref.protocol import envelope
from mcp_ref.protocol.streamable_http import mirrored
from mcp_ref.server.serving.http_listener import endpoint_of

from .http_exchange import Outcome, ScriptedExchange, Web, exchange, request

STATELESS = "2026-07-28"
OUT: Any = object()
"""In place of a value: leave the header or member out."""


def enveloped(params: Optional[Dict[str, Any]] = None, version: Any = STATELESS, capabilities: Any = None,
              **meta: Any) -> Dict[str, Any]:
    """Params with the members of `_meta` that a request has; ``meta`` has more, such as ``progressToken``."""
    members = {envelope.VERSION: version, envelope.CAPABILITIES: {} if capabilities is None else capabilities,
               envelope.CLIENT_INFO: {"name": "scripted", "version": "0"}, **meta}
    return dict(params or {}, _meta={name: value for name, value in members.items() if value is not OUT})


def standard_headers(method: str, params: Optional[Dict[str, Any]]) -> Dict[str, str]:
    """`Mcp-Method` and, where there is one, `Mcp-Name`. ValueError for a name that cannot be sent."""
    name = mirrored.name_of(method, params)
    return {mirrored.METHOD: method, **({} if name is None else {mirrored.NAME: mirrored.encode_value(name)})}


def mirror(message: Dict[str, Any]) -> Dict[str, Optional[str]]:
    """The header fields that a proper client makes of a message, but for those of a tool's arguments."""
    fields: Dict[str, Optional[str]] = {"MCP-Protocol-Version": STATELESS}
    fields.update(standard_headers(message["method"], message.get("params")))
    return fields


def made(message: Any, headers: Optional[Dict[str, Any]] = None, **options: Any) -> ScriptedExchange:
    """The POST of a message; ``headers`` replace what a proper client sends (OUT, None: leave out)."""
    fields: Dict[str, Optional[str]] = {"MCP-Protocol-Version": STATELESS}
    if isinstance(message, dict) and "method" in message:
        fields = mirror(message)
    fields.update({name: None if value is OUT else value for name, value in (headers or {}).items()})
    return exchange("POST", fields, message, **options)


class ModernWeb(Web):
    """An endpoint of a server, and a client that needs no session; options are those of `server.listen`."""

    def __init__(self, server: Any, headers: Optional[Dict[str, str]] = None, **options: Any) -> None:
        self.server = server
        self.connected: List[Any] = []
        self.endpoint = endpoint_of(server, **options)
        connect = self.endpoint.connect

        def counted(transport: Any) -> Any:
            connection = connect(transport)
            self.connected.append(connection)
            return connection

        self.endpoint.connect = counted
        self.headers = dict(headers or {})
        self.session = None
        self._outcomes: List[Outcome] = []

    def message(self, id: Any, method: str, params: Optional[Dict[str, Any]] = None, **meta: Any) -> Dict[str, Any]:
        """A request as a proper client sends it."""
        return request(id, method, enveloped(params, **meta))

    def post(self, body: Any, headers: Optional[Dict[str, Any]] = None, **options: Any) -> ScriptedExchange:
        """POST this, with the headers that fit, but for these."""
        return self.handle(made(body, {**self.headers, **(headers or {})}, **options))

    def ask(self, id: Any, method: str, params: Optional[Dict[str, Any]] = None,
            headers: Optional[Dict[str, Any]] = None, **meta: Any) -> ScriptedExchange:
        """POST a request; answered in this thread."""
        return self.post(self.message(id, method, params, **meta), headers)

    def begin(self, id: Any, method: str, params: Optional[Dict[str, Any]] = None,
              headers: Optional[Dict[str, Any]] = None, **meta: Any) -> ScriptedExchange:
        """POST a request whose handler waits for something."""
        return self.later(made(self.message(id, method, params, **meta), {**self.headers, **(headers or {})}))

    def lives(self) -> None:
        """It works."""
        assert self.ask("lives", "server/discover").answer()["result"]["supportedVersions"]
