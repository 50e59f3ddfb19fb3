"""Rules of the use of access tokens, and of what a server says to those that do not do [2025-03-26..2025-11-25
basic/authorization §Access Token Usage], [2026-07-28 basic/authorization/index §Access Token Usage]."""

from typing import Any, Optional, Tuple

from ...bounds import Bounds, Forgetful
from ...httpfacts import bearer, challenges, mask_of, query_of
from ...observed import ObservedExchange
from ...rules import KEPT, RESPONSE, UNDECIDED, Broken, CannotTell, Verdict, observe, rule
from .auth_discovery import found
from .auth_flow import Flow, Issued, flow_of, host_of, is_served, plain, scopes_of, token_of
from .auth_registration import TRADES, exchanges, server

UNDECIDED.update({
    "auth.scope-hierarchy": "which scopes imply which is known to the server alone",
    "auth.step-up-user": "whether a client acts for a user, and whether the user wanted no more, stays unknown",
})
SKEW = 300.0
"""Seconds by which clocks may differ: a token may be taken so long after its end."""
MOST_REPEATS = 5
"""Refusals for its scope of the same request with the same token, or rounds of tokens for it, that are too many."""
_AUTH = 'Authorization="Bearer ***0000000a"'
_CHALLENGE = ('Bearer error=\\"insufficient_scope\\", scope=\\"b\\", resource_metadata=\\"http://127.0.0.1:8000/'
              '.well-known/oauth-protected-resource/mcp\\"')


def _sends(exchange: ObservedExchange) -> bool:
    """Return True for an exchange of messages over HTTP, or a GET or DELETE of their address."""
    return exchange.connection.http and (bool(exchange.sent) or exchange.is_mcp and exchange.method in (
        "GET", "DELETE"))


def _issued(exchange: ObservedExchange) -> Optional[Issued]:
    """Return where the token of a request was issued; None if it has none, or that was not seen."""
    token = token_of(exchange)
    known: Optional[Issued] = flow_of(exchange).issued.get(token) if token is not None else None
    return known


def _is_issued(flow: Flow, value: str) -> bool:
    """Return True for the value of a field or parameter that is an access token which was issued."""
    mask = mask_of(value)
    return mask is not None and mask in flow.issued


# How a client sends its token

@rule("auth.bearer-header", "auth.token-handling", on=RESPONSE, when="guarded", needs="http", scene=server("2025-11-25")
      + exchanges(TRADES) + """
  + C [9 %s] #2 tools/list {}
  - C [9 X-Api-Token=***0000000a] #2 tools/list {}
    S [9] #2 {"tools": []}
""" % _AUTH)
def sent_as_bearer(exchange: ObservedExchange) -> Verdict:
    """A client sends its token in `Authorization`, as a bearer token, and nowhere else."""
    if not _sends(exchange):
        return None
    flow = flow_of(exchange)
    elsewhere = next((name for name, value in exchange.fields if name.lower() != "authorization"
                      and _is_issued(flow, value)), None) if len(flow.issued) else None
    if elsewhere is not None:
        return Broken("a token there", elsewhere[:60])
    value = exchange.header("authorization") or ""
    if value[:5].lower() == "dpop " and exchange.header("dpop") is not None:
        return None  # a token that is bound to a key [RFC 9449 §7.1]
    if _is_issued(flow, value) and value[:7].lower() != "bearer ":
        return Broken("the token without Bearer", "Authorization")
    return KEPT if token_of(exchange) is not None else None


@rule("auth.no-token-in-query", on=RESPONSE, when="guarded", needs="http", scene="""
    on http 2025-11-25 nosession
    C [2 Authorization="Bearer ***0000000a"] #1 tools/list {}
    S [2] #1 {"tools": []}
  + C [3] GET /mcp {"Accept": "text/event-stream", "Authorization": "Bearer ***0000000a"}
  - C [3] GET /mcp?access_token=***0000000a {"Accept": "text/event-stream", "MCP-Protocol-Version": "2025-11-25", \
"Authorization": "Bearer ***0000000a"}
    S [3] 405
    S [3] end
""")
def not_in_query(exchange: ObservedExchange) -> Verdict:
    """A client does not send its token in the query of an address."""
    if not _sends(exchange):
        return None
    query = query_of(exchange.query) if exchange.query else {}
    flow = flow_of(exchange)
    if "access_token" in query or any(_is_issued(flow, value) for value in query.values()):
        return Broken("a token in the query", "target")
    return KEPT if token_of(exchange) is not None else None


class Used:
    """When the first request with a token was served, by path and session: without a session nobody knows a client."""

    def __init__(self) -> None:
        self.since: "Forgetful[Tuple[str, str], float]" = Forgetful(Bounds().entries)


def _session_of(exchange: ObservedExchange) -> Tuple[str, str]:
    """Return the path and the session of a request, also of the one that opens the session; "" if it has none."""
    named = exchange.header("mcp-session-id") or exchange.answer_header("mcp-session-id")
    return exchange.path, named or ""


@rule("auth.every-request", on=RESPONSE, when="guarded", needs="http", scene="""
    on http 2025-11-25
    C [3 Authorization="Bearer ***0000000a"] #1 tools/list {}
    S [3] #1 {"tools": []}
  + C [4 Authorization="Bearer ***0000000a"] #2 tools/list {}
  - C [4] #2 tools/list {}
    S [4] #2 {"tools": []}
""")
def each_time(exchange: ObservedExchange) -> Verdict:
    """A client that has a token sends it with every request."""
    key = _session_of(exchange)
    since = exchange.connection.state(Used).since.get(key)
    if since is None or not _sends(exchange) or exchange.opened <= since:
        return None
    if exchange.header("authorization") is not None:
        return KEPT
    if _opens(exchange):
        return None  # another client, perhaps
    if exchange.method == "GET" and exchange.header("mcp-protocol-version") is None and (
            exchange.header("mcp-session-id") is None):
        return None  # others visit the address, too
    if not key[1]:
        return CannotTell("which client sent the request: there is no session")
    return Broken("a request without it", "Authorization")


def _opens(exchange: ObservedExchange) -> bool:
    """Return True for the first request of a client."""
    return bool(exchange.sent) and exchange.sent[0].method in ("initialize", "server/discover")


@observe(on=RESPONSE, when="guarded")
def note_used(exchange: ObservedExchange) -> None:
    """Note that a request with a token was served; a refusal ends that."""
    used, key = exchange.connection.state(Used).since, _session_of(exchange)
    if not _sends(exchange):
        return
    if exchange.status in (401, 403) or _opens(exchange) and token_of(exchange) is None:
        used.pop(key)
    elif is_served(exchange) and token_of(exchange) is not None and key not in used:
        used[key] = exchange.answered or exchange.opened


def _listed(flow: Flow, exchange: ObservedExchange) -> Any:
    """Return the issuers that the metadata of an MCP server names; None if there is none for it."""
    for document in reversed(flow.resources.values()[-16:]):
        if host_of(document.get("resource")) == host_of(exchange.url):
            return document.get("authorization_servers")
    return None


@rule("auth.only-issued-tokens", on=RESPONSE, when="token", needs="http documents", scene=found("2025-11-25") + """
    C [5] GET https://as.example/.well-known/oauth-authorization-server {"MCP-Protocol-Version": "2025-11-25"}
    S [5] document {"issuer": "https://as.example", "token_endpoint": "https://as.example/token", \
"code_challenge_methods_supported": ["S256"]}
    C [6] GET https://other.example/.well-known/oauth-authorization-server {"MCP-Protocol-Version": "2025-11-25"}
    S [6] document {"issuer": "https://other.example", "token_endpoint": "https://other.example/token", \
"code_challenge_methods_supported": ["S256"]}
""" + exchanges(TRADES, 7, "+") + exchanges(TRADES, 7, "-", "https://other.example") + """
    C [9 %s] #2 tools/list {}
    S [9] #2 {"tools": []}
""" % _AUTH)
def tokens_of_its_server(exchange: ObservedExchange) -> Verdict:
    """A client sends to a server only tokens of the authorization servers that it names."""
    token, flow = _issued(exchange), flow_of(exchange)
    if token is None or token.issuer is None or not exchange.sent or exchange.opened <= flow.settled:
        return None
    listed, issuer = _listed(flow, exchange), token.issuer.document.get("issuer")
    if not isinstance(listed, list) or not isinstance(issuer, str):
        return CannotTell("which authorization servers the server has")
    ours = [each for each in listed[:64] if isinstance(each, str)]
    if any(plain(each) == plain(issuer) or host_of(each) in (host_of(token.url), host_of(issuer)) for each in ours):
        return KEPT
    return Broken("a token of %s" % issuer[:80], "Authorization")


# What a server takes

@rule("auth.validate-tokens", on=RESPONSE, when="token", needs="http documents", scene=server("2025-11-25")
      + exchanges(TRADES, more=', "expires_in": 600') + """
  - @ 1200
    C [9 %s] #2 tools/list {}
    S [9] #2 {"tools": []}
""" % _AUTH)
def not_expired(exchange: ObservedExchange) -> Verdict:
    """A server does not take a token whose time is over."""
    token = _issued(exchange)
    if token is None or token.expires is None or not exchange.sent or not is_served(exchange):
        return None
    late = exchange.opened - token.time - token.expires
    return Broken("%.0f seconds after its end" % late, "Authorization") if late > SKEW else KEPT


_TWO = """
    on http 2025-11-25 nosession
    C [1] GET /.well-known/oauth-protected-resource/mcp {}
    S [1] document {"resource": "http://127.0.0.1:8000/mcp", "authorization_servers": ["https://as.example"]}
    C [2] GET https://b.example/.well-known/oauth-protected-resource {}
    S [2] document {"resource": "https://b.example/mcp", "authorization_servers": ["https://as.example"]}
"""


@rule("auth.audience", "auth.audience-before-processing", "auth.audience-rejected", "auth.only-own-tokens",
      "auth.no-other-tokens", on=RESPONSE,
      when="token", needs="http documents", scene=_TWO + exchanges(TRADES, sign="+") + exchanges(
          TRADES.replace("http://127.0.0.1:8000/mcp", "https://b.example/mcp"), sign="-") + """
    C [9 %s] #2 tools/list {}
    S [9] #2 {"tools": []}
""" % _AUTH)
def meant_for_it(exchange: ObservedExchange) -> Verdict:
    """A server does not take a token that was issued for another."""
    token, flow = _issued(exchange), flow_of(exchange)
    if token is None or not token.resource or not exchange.sent or not is_served(exchange):
        return None
    own = [host_of(each.get("resource")) for each in flow.resources.values()[-64:]]
    here, meant = host_of(exchange.url), host_of(token.resource)
    if meant == here:
        return KEPT
    if here not in own or meant not in own:
        return CannotTell("whether both names are of the same server")
    return Broken("a token for %s was taken" % token.resource[:80], "Authorization")


# What a server says

def _error(exchange: ObservedExchange) -> str:
    """Return the error in the challenge of an answer to a message; "" if there is none."""
    challenge = bearer(exchange) if exchange.sent and exchange.connection.http else None
    return challenge.parameters.get("error", "") if challenge is not None else ""


def _status(exchange: ObservedExchange, error: str, status: int) -> Verdict:
    if _error(exchange) != error:
        return None
    return KEPT if exchange.status == status else Broken("%s with %s" % (error, exchange.status), "status")


@rule("auth.status-401", "auth.invalid-token-401", on=RESPONSE, when="refused", party="server", needs="http", scene="""
    on http 2025-11-25 nosession
    C [3 %s] #1 tools/list {}
  + S [3] 401 {"WWW-Authenticate": "Bearer error=\\"invalid_token\\", scope=\\"a\\""}
  - S [3] 400 {"WWW-Authenticate": "Bearer error=\\"invalid_token\\", scope=\\"a\\""}
    S [3] end
""" % _AUTH)
def invalid_is_401(exchange: ObservedExchange) -> Verdict:
    """A token that is not valid is answered by 401."""
    return _status(exchange, "invalid_token", 401)


@rule("auth.status-403", "auth.insufficient-scope-403", on=RESPONSE,
      when="refused", party="server", needs="http", scene="""
    on http 2025-11-25 nosession
    C [3 %s] #1 tools/list {}
  + S [3] 403 {"WWW-Authenticate": "%s"}
  - S [3] 401 {"WWW-Authenticate": "%s"}
    S [3] end
""" % (_AUTH, _CHALLENGE, _CHALLENGE))
def insufficient_is_403(exchange: ObservedExchange) -> Verdict:
    """A token whose scopes do not suffice is answered by 403."""
    return _status(exchange, "insufficient_scope", 403)


@rule("auth.status-400", on=RESPONSE, when="refused", party="server", needs="http", scene="""
    on http 2025-11-25 nosession
    C [3 %s] #1 tools/list {}
  + S [3] 400 {"WWW-Authenticate": "Bearer error=\\"invalid_request\\", scope=\\"a\\""}
  - S [3] 401 {"WWW-Authenticate": "Bearer error=\\"invalid_request\\", scope=\\"a\\""}
    S [3] end
""" % _AUTH)
def malformed_is_400(exchange: ObservedExchange) -> Verdict:
    """A request whose authorization is malformed is answered by 400."""
    return _status(exchange, "invalid_request", 400)


@rule("auth.validation-failure-response", on=RESPONSE,
      when="refused", needs="http", follows="auth.www-authenticate-401", scene="""
    on http 2025-11-25 nosession
    C [3 %s] #1 tools/list {}
  + S [3] 401 {"WWW-Authenticate": "Bearer error=\\"invalid_token\\", scope=\\"a\\""}
  - S [3] 401
    S [3] end
""" % _AUTH)
def refused_by_challenge(exchange: ObservedExchange) -> Verdict:
    """A token that is refused is answered with a challenge."""
    if exchange.status != 401 or token_of(exchange) is None or not exchange.sent:
        return None
    value = exchange.answer_header("www-authenticate")
    return KEPT if challenges(value) else Broken("401 without it", "WWW-Authenticate")


def _forbidden(exchange: ObservedExchange) -> Any:
    """Return the parameters of the challenge of a 403 to a request with a token; None if there is none."""
    challenge = bearer(exchange) if exchange.status == 403 and exchange.sent and token_of(exchange) else None
    return None if challenge is None else challenge.parameters


def _scene(broken: str) -> str:
    return """
    on http 2025-11-25 nosession
    C [3 %s] #1 tools/list {}
  + S [3] 403 {"WWW-Authenticate": "%s"}
  - S [3] 403 {"WWW-Authenticate": "%s"}
    S [3] end
""" % (_AUTH, _CHALLENGE, broken)


_METADATA = 'resource_metadata=\\"http://127.0.0.1:8000/.well-known/oauth-protected-resource/mcp\\"'


@rule("auth.insufficient-scope-error", on=RESPONSE, when="refused", needs="http",
      scene=_scene('Bearer scope=\\"b\\", ' + _METADATA))
def says_why(exchange: ObservedExchange) -> Verdict:
    """The challenge of a 403 says that the scopes do not suffice."""
    parameters = _forbidden(exchange)
    if parameters is None:
        return None
    return KEPT if parameters.get("error") else Broken("no error", "WWW-Authenticate")


@rule("auth.insufficient-scope-scope", on=RESPONSE, when="refused", needs="http",
      scene=_scene('Bearer error=\\"insufficient_scope\\", ' + _METADATA))
def says_which(exchange: ObservedExchange) -> Verdict:
    """The challenge of a 403 says which scopes are needed."""
    parameters = _forbidden(exchange)
    if parameters is None or parameters.get("error") != "insufficient_scope":
        return None
    return KEPT if parameters.get("scope") else Broken("no scope", "WWW-Authenticate")


@rule("auth.insufficient-scope-resource-metadata", on=RESPONSE, when="refused", needs="http",
      scene=_scene('Bearer error=\\"insufficient_scope\\", scope=\\"b\\"'))
def says_where(exchange: ObservedExchange) -> Verdict:
    """The challenge of a 403 says where the metadata of the resource is."""
    parameters = _forbidden(exchange)
    if parameters is None or parameters.get("error") != "insufficient_scope":
        return None
    return KEPT if parameters.get("resource_metadata") else Broken("no resource_metadata", "WWW-Authenticate")


# Asking for more

class StepUp:
    """The fate of a request for which scopes did not suffice."""

    def __init__(self) -> None:
        self.wanted = scopes_of("")
        self.token: Optional[str] = None
        self.same = 0
        self.rounds = 0


class Steps:
    """The requests for which scopes did not suffice: by path, method and name."""

    def __init__(self) -> None:
        self.known: "Forgetful[Any, StepUp]" = Forgetful(Bounds().entries)


def _operation(exchange: ObservedExchange) -> Tuple[str, str, str]:
    first = exchange.sent[0]
    return exchange.path, first.method, str(first.params.get("name", first.params.get("uri")))[:200]


def _step(exchange: ObservedExchange) -> Optional[StepUp]:
    """Return what was before a request for which scopes do not suffice; None for any other answer."""
    if _error(exchange) != "insufficient_scope" or token_of(exchange) is None:
        return None
    known: StepUp = exchange.connection.state(Steps).known.get(_operation(exchange)) or StepUp()
    return known


@observe(on=RESPONSE, when="guarded")
def note_step(exchange: ObservedExchange) -> None:
    """Note a request for which scopes do not suffice; one that is served is forgotten."""
    steps = exchange.connection.state(Steps).known
    step = _step(exchange)
    if step is None:
        if exchange.sent and is_served(exchange) and len(steps):
            steps.pop(_operation(exchange))
        return
    same = step.token == token_of(exchange)
    step.same = step.same + 1 if same else 1
    step.rounds += not same
    challenge = bearer(exchange)
    step.wanted = scopes_of(challenge.parameters.get("scope")) if challenge is not None else scopes_of("")
    step.token = token_of(exchange)
    if _operation(exchange) not in steps:
        steps[_operation(exchange)] = step


def _refusals(count: int, tokens: str, sign: str) -> str:
    lines = []
    for number in range(count):
        place, token = 20 + number, tokens if "%" not in tokens else tokens % number
        lines += ['C [%d Authorization="Bearer %s"] #%d tools/call {"name": "write"}' % (place, token, place),
                  'S [%d] 403 {"WWW-Authenticate": "%s"}' % (place, _CHALLENGE), "S [%d] end" % place]
    return "".join("  %s %s\n" % (sign, line) for line in lines)


@rule("auth.step-up", on=RESPONSE, when="refused", party="client", needs="http", scene="""
    on http 2025-11-25 nosession
""" + _refusals(4, "***0000000a", " ") + _refusals(5, "***0000000a", "-")[len(_refusals(4, "***0000000a", "-")):]
      + _refusals(1, "***0000000b", "+").replace("20", "30"),
      reading="the same request with the same token, refused five times, is no appropriate way")
def steps_up(exchange: ObservedExchange) -> Verdict:
    """A client whose scopes do not suffice gets a token with more, and does not repeat the request as it was."""
    step = _step(exchange)
    if step is None:
        return None
    if step.token != token_of(exchange):
        return KEPT
    return "the same request %d times" % MOST_REPEATS if step.same + 1 == MOST_REPEATS else None


@rule("auth.step-up-retry-limits", on=RESPONSE, when="refused", party="client", needs="http", scene="""
    on http 2025-11-25 nosession
""" + _refusals(5, "***0000001%d", " ") + _refusals(6, "***0000001%d", "-")[len(_refusals(5, "***0000001%d", "-")):],
      reading="more than five tokens for the same request are no limit")
def gives_up(exchange: ObservedExchange) -> Verdict:
    """A client does not get token after token for a request that is refused each time."""
    step = _step(exchange)
    if step is None or step.token == token_of(exchange):
        return None
    return "token %d for the same request" % (step.rounds + 1) if step.rounds >= MOST_REPEATS else KEPT


@rule("auth.scope-for-operation", "auth.scope-single-challenge", on=RESPONSE,
      when="refused", party="server", needs="http documents",
      scene=server("2025-11-25") + """
    C [8 Authorization="Bearer ***0000000c"] #2 tools/call {"name": "write"}
    S [8] 403 {"WWW-Authenticate": "%s"}
    S [8] end
""" % _CHALLENGE + exchanges(TRADES, 9, more=', "scope": "b"') + """
    C [10 Authorization="Bearer ***0000000a"] #3 tools/call {"name": "write"}
  + S [10] 403 {"WWW-Authenticate": "%s"}
  - S [10] 403 {"WWW-Authenticate": "%s"}
    S [10] end
""" % (_CHALLENGE, _CHALLENGE.replace('scope=\\"b\\"', 'scope=\\"c\\"')))
def all_at_once(exchange: ObservedExchange) -> Verdict:
    """A server names all scopes that a request needs at once, and not one after the other."""
    step, token, challenge = _step(exchange), _issued(exchange), bearer(exchange)
    if step is None or challenge is None or token is None or not step.wanted or step.token == token_of(exchange):
        return None
    if token.scope is None or not step.wanted <= scopes_of(token.scope):
        return CannotTell("whether the token has the scopes that were wanted")
    more = scopes_of(challenge.parameters.get("scope")) - step.wanted - scopes_of(token.scope)
    return Broken("%s, too" % sorted(more)[0][:60], "WWW-Authenticate") if more else KEPT
