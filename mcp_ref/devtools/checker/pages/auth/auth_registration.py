"""Rules of basic/authorization about client ids, and about the authorization server beside an MCP server.

The server of 2025-03-26 has the metadata of its authorization server, or the addresses that stand in for them
[2025-03-26 basic/authorization §Server Metadata Discovery],
[2025-06-18 basic/authorization §Server Metadata Discovery]. Client ids come from registration, from metadata documents
or from before [2025-11-25 basic/authorization §Client Registration Approaches],
[2026-07-28 basic/authorization/client-registration].
"""

from typing import Any, Mapping, Optional

from .....jsontext import dumps
from ...httpfacts import is_local, key_of, split
from ...observed import ObservedExchange
from ...rules import END, HEAD, KEPT, RESPONSE, UNDECIDED, Broken, CannotTell, Verdict, observe, rule
from ..transports.http_endpoint import prose
from .auth_flow import (
    OAUTH_METADATA, IssuerMetadata, Registered, address, asks, authorization_request, flow_of, host_of, is_discovery,
    is_served, json_of, metadata, plain, registration, token_of, token_request,
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


def _beside(exchange: ObservedExchange) -> bool:
    """Return True for a request to the host of the MCP server that wants a token."""
    flow = flow_of(exchange)
    return bool(flow.challenged) and host_of(flow.challenged) == host_of(exchange.url) and not exchange.sent


def _root(exchange: ObservedExchange) -> str:
    """Return the address at which the metadata is, if the MCP server is the authorization server, too."""
    return "%s://%s" % host_of(exchange.url) + OAUTH_METADATA


@rule("auth.as-metadata-client", "auth.metadata-before-fallback", on=RESPONSE, beside=True,
      needs="http documents start", scene=_BEGIN.replace("401", "401 {\"WWW-Authenticate\": \"Bearer\"}") + """
  + C [4] GET /.well-known/oauth-authorization-server {"MCP-Protocol-Version": "2025-03-26"}
  + S [4] document %s
""" % _DOCUMENT + _REGISTRATION % "/register",
      reading="a client that registers has no metadata from before")
def metadata_first(exchange: ObservedExchange) -> Verdict:
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
def version_named(exchange: ObservedExchange) -> Verdict:
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
def at_the_root(exchange: ObservedExchange) -> Verdict:
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
def served_at_the_root(exchange: ObservedExchange) -> Verdict:
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
def has_metadata(exchange: ObservedExchange) -> Verdict:
    """A server that wants tokens has metadata, with the address for tokens."""
    if not _beside(exchange) or address(exchange) != _root(exchange) or exchange.method != "GET":
        return None
    if exchange.status in _GONE:
        return "no metadata: %d" % exchange.status
    if exchange.status != 200:
        return None
    document = json_of(exchange.answer_body)
    return KEPT if isinstance(document.get("token_endpoint"), str) else Broken("no token_endpoint", "token_endpoint")


def _fallback(exchange: ObservedExchange) -> bool:
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
def default_paths(exchange: ObservedExchange) -> Verdict:
    """A server without metadata has its addresses at the paths that are agreed on."""
    if not _fallback(exchange) or exchange.status is None or exchange.path not in ("/token", "/authorize"):
        return None
    if not token_request(exchange) and not authorization_request(exchange):
        return None
    return "%d at %s" % (exchange.status, exchange.path) if exchange.status in _GONE else KEPT


def _at(exchange: ObservedExchange, found: Mapping[str, object], path: str) -> Verdict:
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
def authorizes_there(exchange: ObservedExchange) -> Verdict:
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
def tokens_there(exchange: ObservedExchange) -> Verdict:
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
def registers_there(exchange: ObservedExchange) -> Verdict:
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
def unauthorized(exchange: ObservedExchange) -> Verdict:
    """A request that needs a token and has none is answered by 401."""
    if not exchange.sent or exchange.status is None or not exchange.connection.http or exchange.status >= 500:
        return None
    if exchange.status == 401:
        return KEPT
    if exchange.status // 100 != 4 or token_of(exchange) is not None or exchange.header("authorization") is not None:
        return None
    text = prose(exchange)
    word: Optional[str] = next((each for each in _WORDS if each in text), None)
    return Broken("%d says %s" % (exchange.status, word), "status") if word is not None else None


UNDECIDED.update({
    "auth.dcr-should": "a client that does not register may have an id from elsewhere; an option that is not used is "
                       "not seen",
    "auth.registration-preregistered": "whether a client has an id from elsewhere for a server is known to it alone",
    "auth.registration-dcr": "a client that does not register may have an id from elsewhere, or from its user",
    "auth.static-credentials": "an option of a client's configuration, which no traffic shows to be missing",
    "auth.dcr-application-type-web": "native applications may have https redirects, too; what kind an application is "
                                     "stays unknown",
    "auth.dcr-surface-error": "what is shown to people is no traffic",
})
MOST_REPEATS = 3
"""Refusals of the same registration, one after the other, that are too many: nothing changes between them."""
SERVER = """
    on http %s nosession
    C #1 tools/list {}
    S #1 {"tools": []}
    C [4] GET https://as.example/.well-known/oauth-authorization-server {"MCP-Protocol-Version": "%s"}
    S [4] document {"issuer": "https://as.example", "authorization_endpoint": "https://as.example/authorize", \
"token_endpoint": "https://as.example/token", "registration_endpoint": "https://as.example/register", \
"code_challenge_methods_supported": ["S256"]%s}
"""
"""The beginning of a scene: the metadata of an authorization server was fetched."""


def server(revision: str, more: str = "") -> str:
    """Return the beginning of a scene, with more members in the metadata of the authorization server."""
    return SERVER % (revision, revision, more)


def registers(body: str, number: int = 5, sign: str = " ", host: str = "https://as.example", id: str = "c-1") -> str:
    """Return the lines of a registration."""
    lines = ['C [%d] POST %s/register {"Content-Type": "application/json"}' % (number, host),
             'C [%d] body {"json": %s}' % (number, body), 'S [%d] document {"client_id": "%s"}' % (number, id)]
    return "".join("  %s %s\n" % (sign, line) for line in lines)


def authorizes(query: str, number: int = 6, sign: str = " ", host: str = "https://as.example",
               answer: str = "code=***00000001&state=s1") -> str:
    """Return the lines of a request for authorization."""
    lines = ["C [%d] GET %s/authorize?response_type=code&%s {}" % (number, host, query),
             'S [%d] 302 {"Location": "http://127.0.0.1:7777/cb?%s"}' % (number, answer), "S [%d] end" % number]
    return "".join("  %s %s\n" % (sign, line) for line in lines)


def exchanges(pairs: str, number: int = 7, sign: str = " ", host: str = "https://as.example",
              token: str = "***0000000a", more: str = "") -> str:
    """Return the lines of a request for a token; pairs are ``name=value`` with blanks between."""
    form = dumps([list(pair.partition("=")[::2]) for pair in pairs.split()])
    lines = ['C [%d] POST %s/token {"Content-Type": "application/x-www-form-urlencoded"}' % (number, host),
             'C [%d] body {"form": %s}' % (number, form),
             'S [%d] document {"access_token": "%s", "token_type": "Bearer"%s}' % (number, token, more)]
    return "".join("  %s %s\n" % (sign, line) for line in lines)


_BODY = '{"client_name": "c", "redirect_uris": ["%s"]%s}'
NATIVE = _BODY % ("http://127.0.0.1:7777/cb", ', "application_type": "native"')
ASKS = ("client_id=c-1&redirect_uri=http%3A%2F%2F127.0.0.1%3A7777%2Fcb&state=s1&code_challenge=x"
        "&code_challenge_method=S256&resource=http%3A%2F%2F127.0.0.1%3A8000%2Fmcp")
TRADES = ("grant_type=authorization_code code=***00000001 client_id=c-1 code_verifier=***00000002 "
          "redirect_uri=http://127.0.0.1:7777/cb resource=http://127.0.0.1:8000/mcp")


def issuer_of(exchange: ObservedExchange) -> Optional[IssuerMetadata]:
    """Return the authorization server to one of whose endpoints a request goes; None if it is not known."""
    found: Optional[IssuerMetadata] = flow_of(exchange).issuers.get(plain(address(exchange)))
    return found


# Registration

@rule("auth.dcr-application-type", on=RESPONSE, beside=True, needs="http documents", scene=server("2026-07-28")
      + registers(NATIVE, sign="+") + registers(_BODY % ("http://127.0.0.1:7777/cb", ""), sign="-"))
def has_type(exchange: ObservedExchange) -> Verdict:
    """A client that registers says what type of application it is."""
    body = registration(exchange)
    if not body:
        return None
    value = body.get("application_type")
    return KEPT if value in ("native", "web") else Broken("%s" % ascii(value)[:40], "application_type")


def _is_native(uri: object) -> bool:
    """Return True for a redirect to this machine, or by a scheme of its own."""
    parts = split(uri)
    if not isinstance(uri, str) or ":" not in uri:
        return False
    return parts is None or parts[0] not in ("http", "https") or is_local(uri) is True


@rule("auth.dcr-application-type-native", on=RESPONSE, beside=True, needs="http documents", scene=server("2026-07-28")
      + registers(NATIVE, sign="+")
      + registers(_BODY % ("http://127.0.0.1:7777/cb", ', "application_type": "web"'), sign="-"))
def native(exchange: ObservedExchange) -> Verdict:
    """A client with redirects to this machine only registers as a native application."""
    body = registration(exchange)
    uris = body.get("redirect_uris")
    if not isinstance(uris, list) or not uris or not all(_is_native(each) for each in uris):
        return None
    value = body.get("application_type")
    return Broken("web, with redirects to this machine", "application_type") if value == "web" else (
        KEPT if value == "native" else None)


class Rejections:
    """A count of refusals of the same registration, one after the other."""

    def __init__(self) -> None:
        self.body = ""
        self.count = 0


def _registration_key(exchange: ObservedExchange) -> str:
    return address(exchange) + key_of(registration(exchange))


@rule("auth.dcr-handle-failure", on=RESPONSE, beside=True, needs="http documents", scene=server("2026-07-28") + "".join(
    registers(NATIVE, number, sign).replace("document {\"client_id\": \"c-1\"}", "400\n    S [%d] end" % number)
    if sign == " " else registers(NATIVE, number, sign) for number, sign in ((5, " "), (6, " "), (7, "+"))) + """
  - C [8] POST https://as.example/register {"Content-Type": "application/json"}
  - C [8] body {"json": %s}
  - S [8] 400
  - S [8] end
""" % NATIVE, reading="the same registration after it was refused twice is no way to handle the failure")
def handles_failure(exchange: ObservedExchange) -> Verdict:
    """A client whose registration is refused does not send the same again and again."""
    if not registration(exchange) or exchange.status is None:
        return None
    seen = exchange.connection.trace.state(Rejections)
    if is_served(exchange):
        return KEPT if seen.count else None
    same = exchange.status // 100 == 4 and seen.body == _registration_key(exchange)
    return "the same registration %d times" % MOST_REPEATS if same and seen.count + 1 == MOST_REPEATS else None


@observe(on=RESPONSE, when="guarded")
def note_rejection(exchange: ObservedExchange) -> None:
    """Count refusals of the same registration."""
    if not registration(exchange) or exchange.status is None:
        return
    seen, key = exchange.connection.trace.state(Rejections), _registration_key(exchange)
    if exchange.status // 100 != 4:
        seen.body, seen.count = "", 0
    elif seen.body == key:
        seen.count += 1
    else:
        seen.body, seen.count = key, 1


@rule("auth.cimd-support", "auth.registration-cimd", on=RESPONSE, beside=True, needs="http documents",
      scene=server("2025-11-25") + registers(NATIVE, sign="+") + """
  - C [8] GET https://as.example/.well-known/oauth-authorization-server {"MCP-Protocol-Version": "2025-11-25"}
  - S [8] document {"issuer": "https://as.example", "registration_endpoint": "https://as.example/register", \
"client_id_metadata_document_supported": true}
""" + registers(NATIVE, 9, sign="-"))
def prefers_documents(exchange: ObservedExchange) -> Verdict:
    """A client does not register where the authorization server takes the address of a document as its id."""
    issuer = issuer_of(exchange)
    if not registration(exchange) or issuer is None:
        return None
    offered = issuer.document.get("client_id_metadata_document_supported") is True
    return "registered, though documents are supported" if offered else KEPT


# Documents

def _sent_id(exchange: ObservedExchange) -> str:
    return asks(exchange).get("client_id", "")


@rule("auth.cimd-url-https", on=RESPONSE, beside=True, needs="http documents", scene=server(
    "2025-11-25", ', "client_id_metadata_document_supported": true')
    + authorizes(ASKS.replace("c-1", "https%3A%2F%2Fapp.example%2Fc.json"), sign="+")
    + authorizes(ASKS.replace("c-1", "https%3A%2F%2Fapp.example"), sign="-"))
def id_is_https(exchange: ObservedExchange) -> Verdict:
    """A client id that is the address of a document has the scheme https and a path."""
    id, issuer, flow = _sent_id(exchange), issuer_of(exchange), flow_of(exchange)
    if not id.lower().startswith(("http://", "https://")) or id in flow.registered:
        return None
    if issuer is None or issuer.document.get("client_id_metadata_document_supported") is not True:
        return CannotTell("whether the id is the address of a document")
    parts = split(id)
    return KEPT if parts is not None and parts[0] == "https" and parts[2] else Broken(id[:80], "client_id")


@rule("auth.cimd-check-advertised", on=RESPONSE, beside=True, needs="http documents", scene=server("2025-11-25")
      + authorizes(ASKS.replace("c-1", "https%3A%2F%2Fapp.example%2Fc.json"), sign="-") + """
  + C [8] GET https://as.example/.well-known/oauth-authorization-server {"MCP-Protocol-Version": "2025-11-25"}
  + S [8] document {"issuer": "https://as.example", "authorization_endpoint": "https://as.example/authorize", \
"client_id_metadata_document_supported": true, "code_challenge_methods_supported": ["S256"]}
""" + authorizes(ASKS.replace("c-1", "https%3A%2F%2Fapp.example%2Fc.json"), 9, sign="+"),
      reading="an id that is an https address with a path is the address of a document")
def checks_support(exchange: ObservedExchange) -> Verdict:
    """A client uses the address of a document as its id where the authorization server says that it takes one."""
    id, issuer = _sent_id(exchange), issuer_of(exchange)
    parts = split(id)
    if issuer is None or parts is None or parts[0] != "https" or parts[2] in ("", "/"):
        return None
    if id in flow_of(exchange).registered:
        return None
    offered = issuer.document.get("client_id_metadata_document_supported") is True
    return KEPT if offered else Broken("documents are not supported", "client_id")


def _own_document(exchange: ObservedExchange) -> Any:
    """Return the document at the address that a client has sent as its id; None if this is none."""
    url = address(exchange) + ("?" + exchange.query if exchange.query else "")
    if url not in flow_of(exchange).clients or exchange.sent:
        return None
    return metadata(exchange) or None


_CIMD = server("2025-11-25", ', "client_id_metadata_document_supported": true') + authorizes(
    ASKS.replace("c-1", "https%3A%2F%2Fapp.example%2Fc.json")) + """
    C [8] GET https://app.example/c.json {}
  + S [8] document {"client_id": "https://app.example/c.json", "client_name": "c", "redirect_uris": \
["http://127.0.0.1:7777/cb"]}
"""


@rule("auth.cimd-properties", on=END, beside=True, needs="http documents", scene=_CIMD + """
  - S [8] document {"client_id": "https://app.example/c.json", "redirect_uris": ["http://127.0.0.1:7777/cb"]}
""")
def document_is_complete(exchange: ObservedExchange) -> Verdict:
    """The document of a client has its id, its name and its redirects."""
    document = _own_document(exchange)
    if document is None:
        return None
    lacking = [name for name in ("client_id", "client_name", "redirect_uris") if not document.get(name)]
    return Broken("no %s" % lacking[0], lacking[0]) if lacking else KEPT


@rule("auth.cimd-client-id-match", on=END, beside=True, needs="http documents", scene=_CIMD + """
  - S [8] document {"client_id": "https://app.example/other.json", "client_name": "c", "redirect_uris": \
["http://127.0.0.1:7777/cb"]}
""")
def document_names_itself(exchange: ObservedExchange) -> Verdict:
    """The id in the document of a client is the document's address."""
    document = _own_document(exchange)
    if document is None or not isinstance(document.get("client_id"), str):
        return None
    url = address(exchange) + ("?" + exchange.query if exchange.query else "")
    return KEPT if document["client_id"] == url else Broken(ascii(document["client_id"])[:80], "client_id")


# Credentials

_OTHER = """
    C [8] GET https://other.example/.well-known/oauth-authorization-server {}
    S [8] document {"issuer": "https://other.example", "authorization_endpoint": "https://other.example/authorize", \
"token_endpoint": "https://other.example/token", "registration_endpoint": "https://other.example/register", \
"code_challenge_methods_supported": ["S256"]}
"""


@rule("auth.credentials-no-reuse", "auth.registration-per-as", "auth.credentials-keyed-by-issuer",
      "auth.credentials-re-register", "auth.credentials-mismatch-error", on=RESPONSE, beside=True,
      needs="http documents", scene=server("2026-07-28") + registers(NATIVE) + _OTHER
      + registers(NATIVE, 9, "+", "https://other.example", "c-2")
      + authorizes(ASKS.replace("c-1", "c-2"), 10, "+", "https://other.example")
      + authorizes(ASKS, 10, "-", "https://other.example"))
def no_reuse(exchange: ObservedExchange) -> Verdict:
    """The id that one authorization server has given is not sent to another."""
    id, issuer = _sent_id(exchange), issuer_of(exchange)
    known: Optional[Registered] = flow_of(exchange).registered.get(id)
    if known is None or issuer is None or known.issuer is None:
        return None
    if issuer.document.get("issuer") == known.issuer.document.get("issuer") or plain(known.url) == plain(
            issuer.document.get("registration_endpoint")):
        return KEPT
    return Broken("the id is of %s" % str(known.issuer.document.get("issuer"))[:80], "client_id")


@rule("auth.client-id-first", on=RESPONSE, beside=True, needs="http documents", scene=server("2026-07-28")
      + authorizes(ASKS, sign="+") + authorizes(ASKS.replace("client_id=c-1&", ""), sign="-"))
def has_id(exchange: ObservedExchange) -> Verdict:
    """A client has an id when it asks for authorization or for a token."""
    found = asks(exchange)
    if not found or exchange.sent:
        return None
    if found.get("assertion"):
        return None  # it says itself who asks [RFC 7521 §4.1]
    if found.get("client_id") or exchange.header("authorization") or found.get("client_assertion"):
        return KEPT
    return Broken("a request without an id", "client_id")


# Refresh tokens

def _types(known: Registered) -> Any:
    value = known.body.get("grant_types", ["authorization_code"])
    return value if isinstance(value, list) else []


@rule("auth.refresh-grant-type", on=RESPONSE, beside=True, needs="http documents", scene=server("2026-07-28")
      + registers(NATIVE.replace("}", ', "grant_types": ["authorization_code", "refresh_token"]}'), sign="+")
      + registers(NATIVE.replace("}", ', "grant_types": ["authorization_code"]}'), sign="-")
      + exchanges("grant_type=refresh_token refresh_token=***00000009 client_id=c-1 "
                  "resource=http://127.0.0.1:8000/mcp"))
def refresh_is_registered(exchange: ObservedExchange) -> Verdict:
    """A client that uses refresh tokens says so when it registers."""
    found = asks(exchange)
    known: Optional[Registered] = flow_of(exchange).registered.get(found.get("client_id", ""))
    wants = found.get("grant_type") == "refresh_token" or "offline_access" in found.get("scope", "").split()
    if known is None or not wants:
        return None
    return KEPT if "refresh_token" in _types(known) else Broken("no refresh_token", "grant_types")


@rule("auth.refresh-not-assumed", on=RESPONSE, beside=True, needs="http documents", scene=server("2026-07-28")
      + "".join(exchanges("grant_type=refresh_token refresh_token=%s client_id=c-1 "
                          "resource=http://127.0.0.1:8000/mcp" % value, sign=sign)
                for value, sign in (("***00000009", "+"), ("", "-"))))
def has_refresh_token(exchange: ObservedExchange) -> Verdict:
    """A client that refreshes a token has a refresh token."""
    found = token_request(exchange)
    if found.get("grant_type") != "refresh_token":
        return None
    return KEPT if found.get("refresh_token") else Broken("an empty one", "refresh_token")
