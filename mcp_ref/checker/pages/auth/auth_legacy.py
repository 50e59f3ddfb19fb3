"""Rules of finding the authorization server beside the MCP server [2025-03-26 basic/authorization §Server Metadata
Discovery], [2025-06-18 basic/authorization §Server Metadata Discovery]."""

from typing import Mapping, Optional

from ...observed import Exchange
from ...rules import END, HEAD, KEPT, RESPONSE, Broken, Verdict, rule
from ..transports.http_endpoint import said
from .auth_flow import (
    OAUTH_METADATA, address, authorization_request, flow_of, host_of, is_discovery, json_of, metadata, registration,
    token_of, token_request,
)

_GONE = (404, 405, 410)
_WORDS = ("unauthorized", "unauthenticated", "authentication required", "authorization required", "missing token",
          "missing access token")
_BEGIN = """
    on http 2025-03-26 nosession
    C [3] #1 tools/list {}
    S [3] 401
    S [3] end
"""
_METADATA = """    C [4] GET /.well-known/oauth-authorization-server {"MCP-Protocol-Version": "2025-03-26"}
"""
_ABSENT = _METADATA + """    S [4] 404
    S [4] end
"""
_REGISTRATION = """    C [6] POST %s {"Content-Type": "application/json"}
    C [6] body {"json": {"client_name": "c", "redirect_uris": ["http://localhost/cb"]}}
    S [6] document {"client_id": "c-1"}
"""
_DOCUMENT = ('{"issuer": "http://127.0.0.1:8000", "authorization_endpoint": "http://127.0.0.1:8000/authorize", '
             '"token_endpoint": "http://127.0.0.1:8000/token", "registration_endpoint": '
             '"http://127.0.0.1:8000/register"}')


def _beside(exchange: Exchange) -> bool:
    """Return True for a request to the host of the MCP server that wants a token."""
    flow = flow_of(exchange)
    return bool(flow.challenged) and host_of(flow.challenged) == host_of(exchange.url) and not exchange.sent


def _root(exchange: Exchange) -> str:
    """Return the address at which the metadata is, if the MCP server is the authorization server, too."""
    return "%s://%s" % host_of(exchange.url) + OAUTH_METADATA


@rule("auth.as-metadata-client", "auth.metadata-before-fallback", on=RESPONSE, beside=True,
      needs="http documents start", scene=_BEGIN.replace("401", "401 {\"WWW-Authenticate\": \"Bearer\"}") + """
  + C [4] GET /.well-known/oauth-authorization-server {"MCP-Protocol-Version": "2025-03-26"}
  + S [4] document %s
""" % _DOCUMENT + _REGISTRATION % "/register",
      reading="a client that registers has no metadata from before")
def metadata_first(exchange: Exchange) -> Verdict:
    """A client looks for the metadata of the authorization server before it uses any of its addresses."""
    if not registration(exchange) or exchange.sent:
        return None
    flow = flow_of(exchange)
    if any(OAUTH_METADATA in each or "openid-configuration" in each for each in flow.tried.keys()[:64]):
        return KEPT
    return "registered without metadata"


@rule("auth.discovery-version-header", on=HEAD, beside=True, needs="http documents", scene=_BEGIN + """
  + C [4] GET /.well-known/oauth-authorization-server {"MCP-Protocol-Version": "2025-03-26"}
  - C [4] GET /.well-known/oauth-authorization-server {}
    S [4] document %s
""" % _DOCUMENT)
def version_named(exchange: Exchange) -> Verdict:
    """A client names its revision when it asks for metadata."""
    if not is_discovery(exchange) or OAUTH_METADATA not in exchange.path:
        return None
    named = exchange.header("mcp-protocol-version") is not None
    return KEPT if named else Broken("a request without it", "MCP-Protocol-Version")


@rule("auth.base-url", on=HEAD, beside=True, needs="http documents", scene=_BEGIN + """
  + C [4] GET /.well-known/oauth-authorization-server {"MCP-Protocol-Version": "2025-03-26"}
  - C [4] GET /mcp/.well-known/oauth-authorization-server {"MCP-Protocol-Version": "2025-03-26"}
    S [4] document %s
""" % _DOCUMENT)
def at_the_root(exchange: Exchange) -> Verdict:
    """A client asks for the metadata at the root of the MCP server's host, not below its path."""
    flow = flow_of(exchange)
    if not _beside(exchange) or not is_discovery(exchange) or len(flow.resources):
        return None
    before, there, after = exchange.path.partition(OAUTH_METADATA)
    if not there:
        return None
    return Broken("below %s" % before[:60], "target") if before else None if after else KEPT


@rule("auth.base-url-metadata", on=END, party="server", beside=True, needs="http documents",
      provoked="auth.as-metadata-server", scene=_BEGIN + """
    C [4] GET /.well-known/oauth-authorization-server {"MCP-Protocol-Version": "2025-03-26"}
    S [4] 404
    S [4] end
    C [5] GET /.well-known/oauth-authorization-server/mcp {"MCP-Protocol-Version": "2025-03-26"}
  - S [5] document %s
  + S [5] 404
  + S [5] end
    C [6] GET /.well-known/oauth-authorization-server {"MCP-Protocol-Version": "2025-03-26"}
  - S [6] 404
  - S [6] end
  + S [6] document %s
""" % (_DOCUMENT, _DOCUMENT))
def served_at_the_root(exchange: Exchange) -> Verdict:
    """A server has its metadata at the root of its host, not elsewhere."""
    if not _beside(exchange) or not is_discovery(exchange) or not metadata(exchange):
        return None
    if address(exchange) == _root(exchange):
        return KEPT
    if flow_of(exchange).tried.get(_root(exchange)) in _GONE:
        return Broken("metadata at %s only" % exchange.path[:80], "target")
    return None


@rule("auth.as-metadata-server", on=END, beside=True, needs="http documents", scene=_BEGIN + _METADATA + """
  + S [4] document %s
  - S [4] document {"issuer": "http://127.0.0.1:8000"}
""" % _DOCUMENT)
def has_metadata(exchange: Exchange) -> Verdict:
    """A server that wants tokens has metadata, with the address for tokens."""
    if not _beside(exchange) or address(exchange) != _root(exchange) or exchange.method != "GET":
        return None
    if exchange.status in _GONE:
        return "no metadata: %d" % exchange.status
    if exchange.status != 200:
        return None
    document = json_of(exchange.answer_body)
    return KEPT if isinstance(document.get("token_endpoint"), str) else Broken("no token_endpoint", "token_endpoint")


def _fallback(exchange: Exchange) -> bool:
    """Return True for a request to the host of an MCP server that has no metadata."""
    flow = flow_of(exchange)
    return _beside(exchange) and flow.tried.get(_root(exchange)) in _GONE and not len(flow.issuers)


@rule("auth.fallback-server", on=RESPONSE, party="server", beside=True, needs="http documents",
      provoked="auth.as-metadata-server", scene=_BEGIN + """
""" + _ABSENT + """
    C [6] POST /token {"Content-Type": "application/x-www-form-urlencoded"}
    C [6] body {"form": [["grant_type", "authorization_code"], ["code", "***00000001"], ["client_id", "c"], \
["code_verifier", "***00000002"]]}
  + S [6] document {"access_token": "***00000003", "token_type": "Bearer"}
  - S [6] 404
  - S [6] end
""")
def default_paths(exchange: Exchange) -> Verdict:
    """A server without metadata has its addresses at the paths that are agreed on."""
    if not _fallback(exchange) or exchange.status is None or exchange.path not in ("/token", "/authorize"):
        return None
    if not token_request(exchange) and not authorization_request(exchange):
        return None
    return "%d at %s" % (exchange.status, exchange.path) if exchange.status in _GONE else KEPT


def _at(exchange: Exchange, found: Mapping[str, object], path: str) -> Verdict:
    if not found or not _fallback(exchange):
        return None
    return KEPT if exchange.path == path else Broken("%s instead of %s" % (exchange.path[:80], path), "target")


@rule("auth.fallback-authorize", on=RESPONSE, beside=True, needs="http documents",
      provoked="auth.as-metadata-server", scene=_BEGIN + """
""" + _ABSENT + """
  + C [6] GET /authorize?response_type=code&client_id=c&code_challenge=x&code_challenge_method=S256 {}
  - C [6] GET /login?response_type=code&client_id=c&code_challenge=x&code_challenge_method=S256 {}
    S [6] 302 {"Location": "http://localhost/cb?code=***00000001"}
    S [6] end
""")
def authorizes_there(exchange: Exchange) -> Verdict:
    """Without metadata a client asks for authorization at /authorize."""
    return _at(exchange, authorization_request(exchange), "/authorize")


@rule("auth.fallback-token", on=RESPONSE, beside=True, needs="http documents",
      provoked="auth.as-metadata-server", scene=_BEGIN + """
""" + _ABSENT + """
  + C [6] POST /token {"Content-Type": "application/x-www-form-urlencoded"}
  - C [6] POST /oauth/token {"Content-Type": "application/x-www-form-urlencoded"}
    C [6] body {"form": [["grant_type", "authorization_code"], ["code", "***00000001"], ["client_id", "c"], \
["code_verifier", "***00000002"]]}
    S [6] document {"access_token": "***00000003", "token_type": "Bearer"}
""")
def tokens_there(exchange: Exchange) -> Verdict:
    """Without metadata a client asks for tokens at /token."""
    return _at(exchange, token_request(exchange), "/token")


@rule("auth.fallback-register", on=RESPONSE, beside=True, needs="http documents",
      provoked="auth.as-metadata-server", scene=_BEGIN + """
""" + _ABSENT + """
  + C [6] POST /register {"Content-Type": "application/json"}
  - C [6] POST /oauth/register {"Content-Type": "application/json"}
    C [6] body {"json": {"client_name": "c", "redirect_uris": ["http://localhost/cb"]}}
    S [6] document {"client_id": "c-1"}
""")
def registers_there(exchange: Exchange) -> Verdict:
    """Without metadata a client registers at /register."""
    return _at(exchange, registration(exchange), "/register")


@rule("auth.unauthorized-401", on=END, party="server", needs="http", scene="""
    on http 2025-03-26 nosession
    C [3] #1 tools/list {}
  + S [3] 401
  - S [3] 403 {"Content-Type": "text/plain"}
    S [3] body {"text": "Unauthorized"}
    S [3] end
""")
def unauthorized(exchange: Exchange) -> Verdict:
    """A request that needs a token and has none is answered by 401."""
    if not exchange.sent or exchange.status is None or not exchange.connection.http or exchange.status >= 500:
        return None
    if exchange.status == 401:
        return KEPT
    if exchange.status // 100 != 4 or token_of(exchange) is not None or exchange.header("authorization") is not None:
        return None
    text = said(exchange)
    word: Optional[str] = next((each for each in _WORDS if each in text), None)
    return Broken("%d says %s" % (exchange.status, word), "status") if word is not None else None
