"""Rules of finding the authorization server [2025-06-18..2025-11-25 basic/authorization §Authorization Server
Discovery], [2026-07-28 basic/authorization/authorization-server-discovery]."""

from typing import Any, List, Optional, Tuple

from ...bounds import Bounds, Forgetful
from ...httpfacts import bearer, challenges
from ...observed import ObservedExchange
from ...rules import END, HEAD, KEPT, RESPONSE, Broken, CannotTell, Verdict, observe, rule
from .auth_flow import (
    RESOURCE_METADATA, address, asks, candidates, flow_of, host_of, is_discovery, is_resource_metadata, metadata, plain,
    registration,
)

MOST_REPEATS = 5
"""Refusals of the same request, one after the other, after which a client does not respond to them."""
HOT = 60.0
"""Seconds in which they follow each other: later a user may have tried again."""
_PRM = ('{"resource": "http://127.0.0.1:8000/mcp", "authorization_servers": ["https://as.example"]}')
_NAMED = ('Bearer resource_metadata=\\"http://127.0.0.1:8000/.well-known/oauth-protected-resource/mcp\\", '
          'scope=\\"a\\"')
CHALLENGED = """
    on http %s nosession
    C [3] #1 tools/list {}
    S [3] 401 {"WWW-Authenticate": "%s"}
    S [3] end
"""
"""The beginning of a scene: a server that wants a token."""
FOUND = CHALLENGED + """
    C [4] GET /.well-known/oauth-protected-resource/mcp {}
    S [4] document """ + _PRM + """
"""
"""The beginning of a scene whose authorization server is named, too."""


def challenged(revision: str, challenge: str = _NAMED) -> str:
    """Return the beginning of a scene."""
    return CHALLENGED % (revision, challenge)


def found(revision: str) -> str:
    """Return the beginning of a scene whose authorization server is named."""
    return FOUND % (revision, _NAMED)


def is_challenge(exchange: ObservedExchange) -> bool:
    """Return True for a 401 to a message."""
    return exchange.status == 401 and bool(exchange.sent) and exchange.connection.http


# What the server says

@rule("auth.www-authenticate-401", on=RESPONSE, needs="http", scene="""
    on http 2025-06-18 nosession
    C [3] #1 tools/list {}
  + S [3] 401 {"WWW-Authenticate": "%s"}
  - S [3] 401 {"WWW-Authenticate": "Bearer realm=\\"mcp\\""}
    S [3] end
""" % _NAMED)
def challenge_names_metadata(exchange: ObservedExchange) -> Verdict:
    """A 401 says in `WWW-Authenticate` where the metadata of the resource is."""
    if not is_challenge(exchange):
        return None
    value, challenge = exchange.answer_header("www-authenticate"), bearer(exchange)
    if challenge is None:
        if value is not None and challenges(value):
            return CannotTell("whether the server follows the authorization of the protocol")
        return Broken("401 without it", "WWW-Authenticate")
    return KEPT if challenge.parameters.get("resource_metadata") else Broken("no resource_metadata", "WWW-Authenticate")


@rule("auth.scope-in-challenge", on=RESPONSE, when="refused", needs="http", scene="""
    on http 2025-11-25 nosession
    C [3] #1 tools/list {}
  + S [3] 401 {"WWW-Authenticate": "Bearer scope=\\"a\\""}
  - S [3] 401 {"WWW-Authenticate": "Bearer realm=\\"mcp\\""}
    S [3] end
""")
def challenge_names_scope(exchange: ObservedExchange) -> Verdict:
    """The challenge of a 401 says which scopes are needed."""
    challenge = bearer(exchange) if is_challenge(exchange) else None
    if challenge is None:
        return None
    return KEPT if "scope" in challenge.parameters else Broken("no scope", "WWW-Authenticate")


def _well_known(server: str) -> List[str]:
    """Return the well-known addresses of the metadata of an MCP server: at its path, and at the root."""
    origin, path = "%s://%s" % host_of(server), plain(server)[len("%s://%s" % host_of(server)):]
    return [origin + RESOURCE_METADATA + path] + ([origin + RESOURCE_METADATA] if path else [])


@rule("auth.prm-server", "auth.prm-via-header", "auth.prm-via-well-known", on=END, beside=True, needs="http documents",
      follows="session:auth.www-authenticate-401", scene=challenged("2025-11-25", "Bearer scope=\\\"a\\\"") + """
    C [4] GET /.well-known/oauth-protected-resource/mcp {}
    S [4] 404
    S [4] end
    C [5] GET /.well-known/oauth-protected-resource {}
  + S [5] document %s
  - S [5] 404
    S [5] end
""" % _PRM)
def metadata_somewhere(exchange: ObservedExchange) -> Verdict:
    """A server that wants tokens has metadata: where its 401 says, or at a well-known address."""
    flow = flow_of(exchange)
    if not is_resource_metadata(exchange) or exchange.status is None or not flow.challenged:
        return None
    if metadata(exchange):
        return KEPT
    named = flow.challenge.parameters.get("resource_metadata") if flow.challenge is not None else None
    places = _well_known(flow.challenged)
    if address(exchange) not in places or named is not None:
        return None
    gone = all(flow.tried.get(each, 404 if each == address(exchange) else 0) in (404, 405, 410) for each in places)
    return "no metadata at the well-known addresses" if gone and exchange.status in (404, 405, 410) else None


@rule("auth.prm-authorization-servers", on=END, beside=True, needs="http documents",
      scene=challenged("2025-11-25") + """
    C [4] GET /.well-known/oauth-protected-resource/mcp {}
  + S [4] document %s
  - S [4] document {"resource": "http://127.0.0.1:8000/mcp", "authorization_servers": []}
""" % _PRM)
def names_servers(exchange: ObservedExchange) -> Verdict:
    """The metadata of a resource names at least one authorization server."""
    document = metadata(exchange) if is_resource_metadata(exchange) else {}
    if not document:
        return None
    listed = document.get("authorization_servers")
    if isinstance(listed, list) and listed and all(isinstance(each, str) and each for each in listed):
        return KEPT
    return Broken("no authorization server is named", "authorization_servers")


@rule("auth.no-offline-access", on=(RESPONSE, END), when="guarded", needs="http", scene="""
    on http 2026-07-28
    C [3] #1 tools/list {}
  + S [3] 401 {"WWW-Authenticate": "Bearer scope=\\"a\\""}
  - S [3] 401 {"WWW-Authenticate": "Bearer scope=\\"a offline_access\\""}
    S [3] end
""")
def no_offline_access(exchange: ObservedExchange) -> Verdict:
    """A server asks for no scope by which refresh tokens are got."""
    if exchange.ended is None:
        challenge = bearer(exchange) if exchange.sent else None
        if challenge is None or "scope" not in challenge.parameters:
            return None
        wanted = "offline_access" in challenge.parameters["scope"].split()
        return Broken("offline_access in the challenge", "WWW-Authenticate") if wanted else KEPT
    listed = metadata(exchange).get("scopes_supported") if is_resource_metadata(exchange) else None
    if not isinstance(listed, list):
        return None
    return Broken("offline_access", "scopes_supported") if "offline_access" in listed else KEPT


# What the client does with it

@rule("auth.prm-both-mechanisms", on=HEAD, beside=True, needs="http documents", scene=challenged("2025-11-25") + """
  + C [4] GET /.well-known/oauth-protected-resource/mcp {}
  - C [4] GET /.well-known/oauth-protected-resource {}
    S [4] document %s
""" % _PRM)
def uses_named_metadata(exchange: ObservedExchange) -> Verdict:
    """A client asks for the metadata where the 401 says."""
    flow = flow_of(exchange)
    named = flow.challenge.parameters.get("resource_metadata") if flow.challenge is not None else None
    if named is None or not is_resource_metadata(exchange):
        return None
    if plain(named) == plain(address(exchange)):
        return KEPT
    if plain(named) in flow.tried or named in flow.tried or host_of(named) != host_of(exchange.url):
        return None  # asked for before, or by a way that is not recorded
    return Broken("%s instead of where the 401 says" % exchange.path[:80], "target")


@rule("auth.prm-well-known-order", on=HEAD, beside=True, needs="http documents start", scene=challenged(
    "2025-11-25", "Bearer scope=\\\"a\\\"") + """
  + C [4] GET /.well-known/oauth-protected-resource/mcp {}
  + S [4] 404
  + S [4] end
    C [5] GET /.well-known/oauth-protected-resource {}
    S [5] document %s
""" % _PRM)
def path_before_root(exchange: ObservedExchange) -> Verdict:
    """A client to which no metadata is named asks at the address for the path first, then at the root."""
    flow = flow_of(exchange)
    places = _well_known(flow.challenged) if flow.challenged else []
    if flow.challenge is None or "resource_metadata" in flow.challenge.parameters or len(places) < 2:
        return None
    if address(exchange).rstrip("/") == places[0]:
        return KEPT
    if address(exchange) != places[1]:
        return None
    tried = any(place in flow.tried for place in (places[0], places[0] + "/"))
    return KEPT if tried else Broken("the root before the path", "target")


@rule("auth.prm-client", on=HEAD, beside=True, needs="http documents start", scene=challenged("2025-11-25") + """
  + C [4] GET /.well-known/oauth-protected-resource/mcp {}
  + S [4] document {"resource": "http://127.0.0.1:8000/mcp", "authorization_servers": ["http://127.0.0.1:8000"]}
    C [5] GET /.well-known/oauth-authorization-server {}
    S [5] 404
    S [5] end
""")
def resource_first(exchange: ObservedExchange) -> Verdict:
    """A client learns from the metadata of the resource which authorization server there is."""
    flow = flow_of(exchange)
    if not is_discovery(exchange) or not flow.challenged:
        return None
    if any(RESOURCE_METADATA in each for each in flow.tried.keys()[:64]) or len(flow.resources):
        return KEPT
    if host_of(flow.challenged) != host_of(exchange.url):
        return CannotTell("whether the authorization server was known before")
    return Broken("asked the MCP server itself", "target")


class Refusals:
    """A count of refusals of the same request, one after the other."""

    def __init__(self) -> None:
        self.what: Any = None
        self.count = 0
        self.since = 0.0


@rule("auth.parse-www-authenticate", on=RESPONSE,
      when="refused", needs="http documents", scene=challenged("2025-11-25") + """
  + C [4] GET /.well-known/oauth-protected-resource/mcp {}
  + S [4] document %s
    C [5] #2 tools/list {}
    S [5] 401 {"WWW-Authenticate": "Bearer scope=\\"a\\""}
    S [5] end
  - C [6] #3 tools/list {}
  - S [6] 401 {"WWW-Authenticate": "Bearer scope=\\"a\\""}
  - S [6] end
  - C [7] #4 tools/list {}
  - S [7] 401 {"WWW-Authenticate": "Bearer scope=\\"a\\""}
  - S [7] end
  - C [8] #5 tools/list {}
  - S [8] 401 {"WWW-Authenticate": "Bearer scope=\\"a\\""}
  - S [8] end
""" % _PRM, reading="a request that is refused five times in a minute, with nothing else between, is not responded to")
def responds(exchange: ObservedExchange) -> Verdict:
    """A client that gets a 401 does something else than send the same request again."""
    if not is_challenge(exchange) or exchange.header("authorization") is not None:
        return None
    seen = exchange.connection.state(Refusals)
    if seen.what != _what(exchange) or exchange.opened - seen.since > HOT:
        return KEPT
    return "the same request %d times" % (seen.count + 1) if seen.count + 1 == MOST_REPEATS else None


def _what(exchange: ObservedExchange) -> Tuple[str, str, str]:
    first = exchange.sent[0]
    return exchange.path, first.method, str(first.params.get("name", first.params.get("uri")))[:200]


@observe(on=RESPONSE, when="guarded")
def note_refusal(exchange: ObservedExchange) -> None:
    """Count refusals of the same request; anything else begins anew."""
    seen = exchange.connection.state(Refusals)
    if not is_challenge(exchange) or exchange.header("authorization") is not None:
        seen.what, seen.count = None, 0
    elif seen.what == _what(exchange) and exchange.opened - seen.since <= HOT:
        seen.count += 1
    else:
        seen.what, seen.count, seen.since = _what(exchange), 1, exchange.opened


# The metadata of the authorization server

class Tries:
    """The addresses of metadata that were tried."""

    def __init__(self) -> None:
        self.made: "Forgetful[str, None]" = Forgetful(Bounds().entries)


def _place(exchange: ObservedExchange) -> Optional[Tuple[List[str], int]]:
    """Return the addresses for the issuer whose metadata is asked for, and which of them it is."""
    if not is_discovery(exchange):
        return None
    url = plain(address(exchange))
    for issuer in reversed(flow_of(exchange).named.keys()[-16:]):
        places = candidates(issuer)
        if url in places:
            return places, places.index(url)
    return None


def _skipped(exchange: ObservedExchange) -> Optional[int]:
    """Return which of the addresses before was not tried: its position; -1 if all were, None if nothing is judged."""
    place = _place(exchange)
    if place is None:
        return None
    made = exchange.connection.trace.state(Tries).made
    return next((number for number in range(place[1]) if place[0][number] not in made), -1)


@rule("auth.as-discovery-path-oauth", "auth.as-discovery-root-oauth", on=HEAD, beside=True,
      needs="http documents start", scene=found("2025-11-25") + """
  + C [5] GET https://as.example/.well-known/oauth-authorization-server {}
  - C [5] GET https://as.example/.well-known/openid-configuration {}
    S [5] 404
    S [5] end
""")
def oauth_first(exchange: ObservedExchange) -> Verdict:
    """The metadata of OAuth is tried before that of OpenID."""
    skipped = _skipped(exchange)
    return None if skipped is None else Broken("OpenID first", "target") if skipped == 0 else KEPT


@rule("auth.as-discovery-path-oidc-insert", on=HEAD, beside=True, needs="http documents start",
      scene=challenged("2025-11-25") + """
    C [4] GET /.well-known/oauth-protected-resource/mcp {}
    S [4] document {"resource": "http://127.0.0.1:8000/mcp", "authorization_servers": ["https://as.example/t1"]}
    C [5] GET https://as.example/.well-known/oauth-authorization-server/t1 {}
    S [5] 404
    S [5] end
  + C [6] GET https://as.example/.well-known/openid-configuration/t1 {}
  + S [6] 404
  + S [6] end
    C [7] GET https://as.example/t1/.well-known/openid-configuration {}
    S [7] 404
    S [7] end
""")
def inserted_first(exchange: ObservedExchange) -> Verdict:
    """The metadata of OpenID is tried with the path behind it, before it is tried behind the path."""
    skipped = _skipped(exchange)
    place = _place(exchange)
    if skipped is None or place is None or place[1] < 2:
        return None
    return Broken("behind the path first", "target") if skipped == 1 else KEPT


@observe(on=HEAD, when="unposted")
def note_try(exchange: ObservedExchange) -> None:
    """Note which address was tried."""
    if is_discovery(exchange):
        exchange.connection.trace.state(Tries).made[plain(address(exchange))] = None


@rule("auth.as-discovery-multiple", "auth.as-metadata-both", "auth.as-discovery-root-oidc",
      "auth.as-discovery-path-oidc-append", on=RESPONSE, beside=True, needs="http documents start",
      scene=found("2025-11-25") + """
    C [5] GET https://as.example/.well-known/oauth-authorization-server {}
    S [5] 404
    S [5] end
  + C [6] GET https://as.example/.well-known/openid-configuration {}
  + S [6] document {"issuer": "https://as.example", "registration_endpoint": "https://as.example/register"}
    C [7] POST https://as.example/register {"Content-Type": "application/json"}
    C [7] body {"json": {"client_name": "c", "redirect_uris": ["http://127.0.0.1/cb"]}}
    S [7] document {"client_id": "c-1"}
""")
def tries_all(exchange: ObservedExchange) -> Verdict:
    """A client that does not find the metadata of an authorization server tries all its addresses."""
    if not (registration(exchange) or asks(exchange)) or exchange.sent:
        return None
    flow, judged = flow_of(exchange), False
    if flow.issuers.get(plain(address(exchange))) is not None:
        return KEPT
    for issuer in flow.named.keys()[-16:]:
        places = candidates(issuer)
        if host_of(issuer) != host_of(exchange.url) or not places:
            continue
        tried = [each for each in places if each in flow.tried]
        if tried and all(flow.tried.get(each) in (404, 405, 410) for each in tried) and len(tried) < len(places):
            missing = next(each for each in places if each not in flow.tried)
            return Broken("went on without %s" % missing[:100], "target")
        judged = judged or bool(tried)
    return KEPT if judged else None


def _issuer_of(url: str) -> str:
    """Return the issuer whose metadata is at an address."""
    for name in ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"):
        before, there, after = url.partition(name)
        if there:
            return before + after
    return ""


@rule("auth.as-issuer-match", "auth.as-issuer-mismatch-rejected", on=RESPONSE, beside=True, needs="http documents",
      scene="""
    on http 2026-07-28
    C [3] #1 tools/list {}
    S [3] 401 {"WWW-Authenticate": "%s"}
    S [3] end
    C [4] GET /.well-known/oauth-protected-resource/mcp {}
    S [4] document %s
    C [5] GET https://as.example/.well-known/oauth-authorization-server {}
  + S [5] document {"issuer": "https://as.example", "registration_endpoint": "https://as.example/register"}
  - S [5] document {"issuer": "https://other.example", "registration_endpoint": "https://as.example/register"}
    C [7] POST https://as.example/register {"Content-Type": "application/json"}
    C [7] body {"json": {"client_name": "c", "redirect_uris": ["http://127.0.0.1/cb"], "application_type": "native"}}
    S [7] document {"client_id": "c-1"}
""" % (_NAMED, _PRM))
def issuer_is_right(exchange: ObservedExchange) -> Verdict:
    """A client does not use the metadata of an issuer other than the one that it has asked for."""
    if not (registration(exchange) or asks(exchange)) or exchange.sent:
        return None
    flow = flow_of(exchange)
    known = flow.issuers.get(plain(address(exchange)))
    if known is None:
        return None
    named, place = known.document.get("issuer"), plain(known.url)
    wanted = [issuer for issuer in flow.named.keys()[-64:] if place in candidates(issuer)] or [_issuer_of(place)]
    if named in wanted or plain(named) in [plain(each) for each in wanted] and named == plain(named):
        return KEPT
    if plain(named) in [plain(each) for each in wanted]:
        return CannotTell("the exact issuer that was asked for")
    return Broken("the metadata is of %s" % str(named)[:80], "issuer")
