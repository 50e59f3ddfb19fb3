"""A protected server of ours without sockets, and a client that shows it tokens, in either era.

    with Door(revision, scopes=["read"]) as door:
        assert door.knock("unknown").status == 401       # the first request that a client of this revision sends
        assert door.call("who", "good").status == 200    # a tool, in a session where the revision has them
        challenge = door.challenge(door.knock(None))     # the parameters of WWW-Authenticate

The verifier knows the tokens in `Door.tokens`; a value that is an exception is raised.
"""
import itertools
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from mcp_ref import Context, Server
from mcp_ref.auth import AccessToken, ResourceServer
from mcp_ref.auth.discover import parse
from mcp_ref.http11.message import Headers
from mcp_ref.server.serving.http_listener import endpoint_of

from .http_exchange import ScriptedExchange, exchange, opening, request
from .http_modern import STATELESS, enveloped, made

RESOURCE = "https://mcp.example.com/mcp"
ISSUER = "https://auth.example.com"
NOW = 1_000_000.0
METADATA: Dict[str, Any] = {
    "issuer": ISSUER, "authorization_endpoint": ISSUER + "/login?tenant=a", "token_endpoint": ISSUER + "/issue",
    "registration_endpoint": ISSUER + "/clients", "code_challenge_methods_supported": ["S256"],
    "response_types_supported": ["code"], "authorization_response_iss_parameter_supported": True,
}
DOCUMENT = "/.well-known/oauth-protected-resource"


def access(**members: Any) -> AccessToken:
    """A token that is good here, but for ``members``."""
    usual = {"subject": "ada", "client_id": "app", "issuer": ISSUER, "audience": [RESOURCE], "scopes": ["read"],
             "expires_at": NOW + 60}
    return AccessToken(**{**usual, **members})


class Tokens(Dict[str, Union[AccessToken, Exception, None]]):
    """What a verifier knows; ``asked``: the tokens that it was asked about."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.asked: List[str] = []

    def __call__(self, token: str) -> Optional[AccessToken]:
        self.asked.append(token)
        found = self.get(token)
        if isinstance(found, Exception):
            raise found
        return found


def tokens() -> Tokens:
    """Tokens of every kind."""
    return Tokens({
        "good": access(),
        "other": access(subject="bob"),
        "expired": access(expires_at=NOW),
        "elsewhere": access(audience=["https://other.example.com/mcp"]),
        "for-nobody": access(audience=[]),
        "foreign": access(issuer="https://evil.example.com"),
        "of-a-key": access(claims={"cnf": {"jkt": "0" * 43}}),
        "of-tls": access(claims={"cnf": {"x5t#S256": "0" * 43}}),
        "narrow": access(scopes=[]),
    })


REFUSED = ("unknown", "expired", "elsewhere", "for-nobody", "foreign", "of-a-key", "of-tls")
"""Tokens that are of no use, whatever they allow: the last two without a proof of the key that they are bound to."""


def protected_server(auth: Any, revisions: Optional[Sequence[str]] = None) -> Server:
    """A server whose tools tell who calls them; ``server.ran`` has the names of those that ran."""
    server: Any = Server("protected", auth=auth, revisions=revisions)
    server.ran = []

    @server.tool
    def who(ctx: Context) -> str:
        """Who it is."""
        server.ran.append("who")
        return "%s may %s" % (ctx.principal.subject, " ".join(ctx.principal.scopes))

    @server.tool
    def delete(name: str = "") -> str:
        """Something that not everybody may."""
        server.ran.append("delete")
        return "deleted"

    return server  # type: ignore[no-any-return]


class Door:
    """An endpoint with a guard, and a client of this revision; options are those of `ResourceServer`."""

    def __init__(self, revision: str, resource: str = RESOURCE, issuers: Sequence[str] = (ISSUER,),
                 endpoint: Optional[Dict[str, Any]] = None, **options: Any) -> None:
        self.revision = revision
        self.tokens = tokens()
        options = {"server_metadata": METADATA, "now": lambda: NOW, **options}
        self.auth = ResourceServer(resource, issuers, options.pop("verify", self.tokens), **options)
        self.server: Any = protected_server(self.auth)
        self.endpoint = endpoint_of(self.server, **(endpoint or {}))
        self.sessions: Dict[str, str] = {}
        self._ids = itertools.count(1)

    # Requests

    def fields(self, token: Optional[str], session: Optional[str] = None) -> Dict[str, Optional[str]]:
        """Header fields that show this token."""
        shown = {} if token is None else {"Authorization": "Bearer " + token}
        if session is not None:
            shown.update({"Mcp-Session-Id": session, "MCP-Protocol-Version": self.revision})
        return dict(shown)

    def send(self, exchange: ScriptedExchange) -> ScriptedExchange:
        """Have the endpoint answer."""
        self.endpoint.handle(exchange)
        return exchange

    def get(self, path: str, method: str = "GET", headers: Optional[Dict[str, Optional[str]]] = None,
            query: str = "", root: str = "") -> ScriptedExchange:
        """A request for a document."""
        asked = exchange(method, headers, path=path)
        asked.request = asked.request._replace(query=query, root=root)
        return self.send(asked)

    def knock(self, token: Optional[str], headers: Optional[Dict[str, Optional[str]]] = None, query: str = "",
              more: Sequence[Tuple[str, str]] = ()) -> ScriptedExchange:
        """The first request that a client sends: `server/discover` or `initialize`."""
        fields = {**self.fields(token), **(headers or {})}
        if self.revision == STATELESS:
            asked = made(request(0, "server/discover", enveloped()), fields, more=more)
        else:
            asked = exchange("POST", fields, opening(self.revision), more=more)
        asked.request = asked.request._replace(query=query)
        return self.send(asked)

    def session(self, token: str) -> str:
        """A session that this token has begun."""
        if token not in self.sessions:
            opened = self.knock(token)
            assert opened.status == 200, opened
            self.sessions[token] = opened.headers.get("Mcp-Session-Id") or ""
            note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            assert self.send(exchange("POST", self.fields(token, self.sessions[token]), note)).status == 202
        return self.sessions[token]

    def ask(self, method: str, params: Optional[Dict[str, Any]], token: Optional[str],
            opener: str = "good") -> ScriptedExchange:
        """A request, in the session of ``opener`` where there are sessions."""
        id = next(self._ids)
        if self.revision == STATELESS:
            return self.send(made(request(id, method, enveloped(params)), self.fields(token)))
        return self.send(exchange("POST", self.fields(token, self.session(opener)), request(id, method, params)))

    def call(self, tool: str, token: Optional[str], opener: str = "good", **arguments: Any) -> ScriptedExchange:
        """A tool."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments}, token, opener)

    # Replies

    @staticmethod
    def challenge(reply: Any) -> Dict[str, str]:
        """The parameters of the one challenge of a reply, of the scheme Bearer."""
        headers = reply.headers if isinstance(reply.headers, Headers) else Headers(reply.headers)
        (found,) = parse(headers.get_all("WWW-Authenticate"))
        assert found.scheme == "bearer"
        return found.params

    def close(self) -> None:
        """End everything."""
        self.endpoint.close(0)

    def __enter__(self) -> "Door":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()
