"""Rules of requests for authorization and for tokens: PKCE, state, issuer, resource, redirects, scopes
[2025-06-18..2025-11-25 basic/authorization], [2026-07-28 basic/authorization/index]."""

from typing import Any, Mapping, Optional

from ...httpfacts import is_local, mask_of, split
from ...observed import ObservedExchange
from ...rules import KEPT, RESPONSE, UNDECIDED, Broken, CannotTell, Verdict, rule
from .auth_discovery import challenged, found
from .auth_flow import (
    Authorized, Registered, asks, authorization_request, flow_of, host_of, plain, registration, scopes_of,
    token_request,
)
from .auth_registration import ASKS, NATIVE, TRADES, authorizes, exchanges, issuer_of, registers, server

UNDECIDED.update({
    "auth.iss-record": "what a client keeps for itself is no traffic; a check that is left out shows by the codes used",
    "auth.iss-absent-proceed": "a client that does not go on may have had any other reason",
    "auth.iss-error-responses": "what a client does with the text of an error, and shows of it, is no traffic",
    "auth.resource-case-robust": "it is the authorization server that takes or refuses a spelling, and it is no party "
                                 "of the conversation",
    "auth.scope-no-assumption": "what a client assumes is in no message; the scopes that it asks for are judged alone",
})
_TYPES = ("authorization_code", "refresh_token", "client_credentials")


def _requests(exchange: ObservedExchange) -> Mapping[str, str]:
    """Return the parameters of a request for authorization or for a token of the grants of the protocol."""
    asked = asks(exchange)
    if exchange.sent or asked.get("grant_type", _TYPES[0]) not in _TYPES or not _is_ours(exchange, asked):
        return {}
    return asked


def _is_ours(exchange: ObservedExchange, asked: Mapping[str, str]) -> bool:
    """Tell whether a request is for a token of an MCP server: a user who visits a link may sign in anywhere."""
    flow = flow_of(exchange)
    if issuer_of(exchange) is not None or asked.get("client_id", "") in flow.registered:
        return True
    servers = [host_of(each) for each in flow.servers.keys()[-64:]]
    named = [host_of(each) for each in flow.named.keys()[-64:]]
    return host_of(exchange.url) in [*servers, *named] or host_of(asked.get("resource")) in servers


def _authorization(exchange: ObservedExchange) -> Mapping[str, str]:
    """Return the parameters of a request for authorization."""
    asked = authorization_request(exchange)
    return asked if asked and _is_ours(exchange, asked) else {}


def _code_request(exchange: ObservedExchange) -> Mapping[str, str]:
    """Return the parameters of a request for authorization, or of one that trades a code."""
    asked = _requests(exchange)
    return asked if asked.get("grant_type", _TYPES[0]) == _TYPES[0] else {}


def _answer(exchange: ObservedExchange) -> Optional[Authorized]:
    """Return the answer from which a client has the code that it trades; None if it was not seen."""
    code = mask_of(token_request(exchange).get("code"))
    known: Optional[Authorized] = flow_of(exchange).authorized.get(code) if code is not None else None
    return known


# PKCE and state

@rule("auth.pkce", on=RESPONSE, beside=True, needs="http documents", scene=server("2025-11-25")
      + authorizes(ASKS) + exchanges(TRADES, sign="+")
      + exchanges(TRADES.replace("code_verifier=***00000002 ", ""), sign="-"))
def pkce(exchange: ObservedExchange) -> Verdict:
    """A client sends a challenge with the request for authorization, and its verifier with the code."""
    asked = _code_request(exchange)
    if not asked or "code" not in asked.get("response_type", "code").split():
        return None
    name = "code_verifier" if "grant_type" in asked else "code_challenge"
    return KEPT if asked.get(name) else Broken("a request without it", name)


@rule("auth.pkce-verify-support", "auth.pkce-absent-refuse", "auth.pkce-oidc-verify", "auth.pkce-oidc-absent-refuse",
      on=RESPONSE, beside=True, needs="http documents", scene=server("2025-11-25") + """
  - C [5] GET https://as.example/.well-known/oauth-authorization-server {"MCP-Protocol-Version": "2025-11-25"}
  - S [5] document {"issuer": "https://as.example", "authorization_endpoint": "https://as.example/authorize"}
""" + authorizes(ASKS))
def pkce_supported(exchange: ObservedExchange) -> Verdict:
    """A client does not go on with an authorization server whose metadata has no methods of PKCE."""
    issuer = issuer_of(exchange)
    if not _code_request(exchange) or issuer is None:
        return None
    if issuer.document.get("code_challenge_methods_supported"):
        return KEPT
    return Broken("the metadata has none", "code_challenge_methods_supported")


@rule("auth.pkce-s256", on=RESPONSE, beside=True, needs="http documents", scene=server("2025-11-25")
      + authorizes(ASKS, sign="+") + authorizes(ASKS.replace("S256", "plain"), sign="-"))
def pkce_hashed(exchange: ObservedExchange) -> Verdict:
    """A client uses the method S256 where the authorization server has it."""
    asked, issuer = _authorization(exchange), issuer_of(exchange)
    if not asked.get("code_challenge"):
        return None
    method = asked.get("code_challenge_method", "plain")
    if method == "S256":
        return KEPT
    listed = issuer.document.get("code_challenge_methods_supported") if issuer is not None else None
    if not isinstance(listed, list):
        return CannotTell("the methods of the authorization server")
    return Broken(ascii(method)[:40], "code_challenge_method") if "S256" in listed else None


@rule("auth.state", on=RESPONSE, beside=True, needs="http documents", scene=server("2025-11-25")
      + authorizes(ASKS, sign="+") + authorizes(ASKS, sign="-", answer="code=***00000001&state=s2") + exchanges(TRADES))
def has_state(exchange: ObservedExchange) -> Verdict:
    """A client sends a state, and takes no code that comes with another."""
    asked = _authorization(exchange)
    if asked and not exchange.sent:
        return KEPT if asked.get("state") else Broken("a request without it", "state")
    answer = _answer(exchange)
    if answer is None or not answer.asked.get("state"):
        return None
    same = answer.answer.get("state") == answer.asked["state"]
    return KEPT if same else Broken("a code that came with another state was used", "state")


# The issuer of an answer

def _flagged(extra: str) -> str:
    return server("2026-07-28", extra)


@rule("auth.iss-compare-advertised", "auth.iss-compare-unadvertised", "auth.iss-no-normalization", on=RESPONSE,
      beside=True, needs="http documents", scene=_flagged("")
      + authorizes(ASKS, sign="+", answer="code=***00000001&state=s1&iss=https%3A%2F%2Fas.example")
      + authorizes(ASKS, sign="-", answer="code=***00000001&state=s1&iss=https%3A%2F%2Fas.example%2F")
      + exchanges(TRADES))
def issuer_compared(exchange: ObservedExchange) -> Verdict:
    """A client takes no code that comes with another issuer than the one that it has asked, letter by letter."""
    answer = _answer(exchange)
    if answer is None or answer.issuer is None or "iss" not in answer.answer:
        return None
    wanted = answer.issuer.document.get("issuer")
    if not isinstance(wanted, str):
        return CannotTell("the issuer in the metadata")
    return KEPT if answer.answer["iss"] == wanted else Broken("%s, and the code was used" % answer.answer["iss"][:80],
                                                              "iss")


@rule("auth.iss-missing-rejected", on=RESPONSE, beside=True, needs="http documents",
      scene=_flagged(', "authorization_response_iss_parameter_supported": true')
      + authorizes(ASKS, sign="+", answer="code=***00000001&state=s1&iss=https%3A%2F%2Fas.example")
      + authorizes(ASKS, sign="-") + exchanges(TRADES))
def issuer_demanded(exchange: ObservedExchange) -> Verdict:
    """A client takes no code without an issuer from a server that promises to name it."""
    answer = _answer(exchange)
    if answer is None or answer.issuer is None or (
            answer.issuer.document.get("authorization_response_iss_parameter_supported") is not True):
        return None
    return KEPT if answer.answer.get("iss") else Broken("a code without it was used", "iss")


# The resource

@rule("auth.resource-indicators", "auth.resource-in-both-requests", "auth.resource-always", on=RESPONSE,
      beside=True, needs="http documents", scene=server("2025-11-25")
      + authorizes(ASKS) + exchanges(TRADES, sign="+")
      + exchanges(TRADES.replace(" resource=http://127.0.0.1:8000/mcp", ""), sign="-"))
def names_resource(exchange: ObservedExchange) -> Verdict:
    """A client names the resource for which it wants a token, in each of its requests."""
    asked = _requests(exchange)
    if not asked:
        return None
    return KEPT if asked.get("resource") else Broken("a request without it", "resource")


@rule("auth.resource-canonical", on=RESPONSE, beside=True, needs="http documents", scene=server("2025-11-25")
      + authorizes(ASKS, sign="+") + authorizes(ASKS.replace("http%3A%2F%2F127.0.0.1%3A8000%2Fmcp", "mcp.example"),
                                                sign="-"))
def resource_is_uri(exchange: ObservedExchange) -> Verdict:
    """A resource is a URI with scheme and host, and without a fragment."""
    value = _requests(exchange).get("resource")
    if not value:
        return None
    return Broken(value[:80], "resource") if split(value) is None or "#" in value else KEPT


def _wanted(exchange: ObservedExchange) -> str:
    """Return the resource that the last metadata document names; "" if there is none."""
    document = flow_of(exchange).resource
    value = document.get("resource") if document is not None else None
    return value if isinstance(value, str) else ""


@rule("auth.resource-identifies-server", on=RESPONSE, beside=True, needs="http documents",
      follows="auth.resource-canonical", scene=found("2025-11-25") + authorizes(ASKS + "&scope=a", sign="+")
      + authorizes(ASKS.replace("127.0.0.1%3A8000%2Fmcp", "as.example") + "&scope=a", sign="-"))
def resource_is_server(exchange: ObservedExchange) -> Verdict:
    """The resource is the MCP server for which the token is."""
    value, flow = _requests(exchange).get("resource"), flow_of(exchange)
    if not value or split(value) is None:
        return None
    hosts = [host_of(each) for each in flow.servers.keys()[-64:]]
    hosts += [host_of(each.get("resource")) for each in flow.resources.values()[-64:]]
    if host_of(value) in hosts:
        return KEPT
    wanted = _wanted(exchange)
    return Broken("%s instead of %s" % (value[:60], wanted[:60]), "resource") if wanted else (
        CannotTell("the resource that the server names"))


@rule("auth.resource-most-specific", on=RESPONSE, beside=True, needs="http documents",
      scene=found("2025-11-25") + authorizes(ASKS + "&scope=a", sign="+")
      + authorizes(ASKS.replace("8000%2Fmcp", "8000") + "&scope=a", sign="-"))
def resource_is_specific(exchange: ObservedExchange) -> Verdict:
    """The resource has the path that the metadata of the server has."""
    value, wanted = _requests(exchange).get("resource"), _wanted(exchange)
    if not value or not wanted or host_of(value) != host_of(wanted):
        return None
    path, right = split(value), split(wanted)
    if path is None or right is None or not right[2].strip("/"):
        return None
    return Broken("%s instead of %s" % (value[:60], wanted[:60]), "resource") if not path[2].strip("/") else KEPT


@rule("auth.resource-no-trailing-slash", on=RESPONSE, beside=True, needs="http documents",
      scene=found("2025-11-25") + authorizes(ASKS + "&scope=a", sign="+")
      + authorizes(ASKS.replace("8000%2Fmcp", "8000%2Fmcp%2F") + "&scope=a", sign="-"))
def no_slash(exchange: ObservedExchange) -> Verdict:
    """The resource ends without a slash, unless it is named with one."""
    value, wanted = _requests(exchange).get("resource"), _wanted(exchange)
    if not value or not wanted or plain(value) != plain(wanted):
        return None
    added = value.endswith("/") and not wanted.endswith("/")
    return Broken(value[:80], "resource") if added else KEPT


# Redirects

def _redirects(exchange: ObservedExchange) -> Any:
    listed = registration(exchange).get("redirect_uris")
    single = _authorization(exchange).get("redirect_uri")
    return listed if isinstance(listed, list) else [single] if single and not exchange.sent else []


@rule("auth.redirect-https-or-localhost", on=RESPONSE, beside=True, needs="http documents", scene=server("2025-11-25")
      + registers(NATIVE, sign="+") + registers(NATIVE.replace("127.0.0.1", "10.0.0.5"), sign="-"),
      reading="an address of this machine is as good as the name localhost")
def redirects_are_safe(exchange: ObservedExchange) -> Verdict:
    """A redirect goes to this machine, or by https."""
    uris = _redirects(exchange)
    bad = [each for each in uris[:64] if not isinstance(each, str) or not (
        each.lower().startswith("https:") or split(each) is not None and is_local(each) is True)]
    return Broken(ascii(bad[0])[:80], "redirect_uri") if bad else KEPT if uris else None


def _without_port(uri: str) -> str:
    """Return a redirect without the port, which may be any on this machine."""
    parts = split(uri)
    if parts is None or is_local(uri) is not True:
        return uri
    host = parts[1] if parts[1].endswith("]") else parts[1].rpartition(":")[0] or parts[1]
    return "%s://%s%s" % (parts[0], host, parts[2])


@rule("auth.redirect-registered", on=RESPONSE, beside=True, needs="http documents", scene=server("2025-11-25")
      + registers(NATIVE) + authorizes(ASKS, sign="+") + authorizes(ASKS.replace("%2Fcb", "%2Fother"), sign="-"))
def redirect_is_registered(exchange: ObservedExchange) -> Verdict:
    """A client asks for a redirect that it has registered."""
    asked = _authorization(exchange)
    known: Optional[Registered] = flow_of(exchange).registered.get(asked.get("client_id", ""))
    uri = asked.get("redirect_uri")
    listed = known.body.get("redirect_uris") if known is not None else None
    if not uri or not isinstance(listed, list):
        return None
    same = any(isinstance(each, str) and _without_port(each) == _without_port(uri) for each in listed[:64])
    return KEPT if same else Broken("%s was not registered" % uri[:80], "redirect_uri")


# Scopes

@rule("auth.scope-authoritative", on=RESPONSE, beside=True, needs="http documents", scene=challenged(
    "2025-11-25", "Bearer scope=\\\"a b\\\"") + authorizes(ASKS + "&scope=a+b", sign="+")
    + authorizes(ASKS + "&scope=a", sign="-"))
def asks_for_challenged(exchange: ObservedExchange) -> Verdict:
    """A client asks for all scopes of the challenge."""
    flow, asked = flow_of(exchange), _authorization(exchange)
    wanted = scopes_of(flow.stepping if flow.stepping is not None else flow.scope)
    if not asked or not wanted:
        return None
    missing = wanted - scopes_of(asked.get("scope"))
    return Broken("without %s" % sorted(missing)[0][:60], "scope") if missing else KEPT


@rule("auth.scope-from-challenge", on=RESPONSE, beside=True, needs="http documents", follows="auth.scope-authoritative",
      scene=challenged("2025-11-25", "Bearer scope=\\\"a\\\"") + authorizes(ASKS + "&scope=a", sign="+")
      + authorizes(ASKS + "&scope=a+b", sign="-"))
def asks_for_no_more(exchange: ObservedExchange) -> Verdict:
    """A client asks for the scopes of the first challenge, and for no others."""
    flow, asked = flow_of(exchange), _authorization(exchange)
    if not asked or flow.challenge is None or flow.scope is None or flow.stepping is not None or len(flow.issued):
        return None
    more = scopes_of(asked.get("scope")) ^ scopes_of(flow.scope)
    return Broken("%s" % (asked.get("scope") or "(none)")[:80], "scope") if more - {"offline_access"} else KEPT


@rule("auth.scope-from-metadata", "auth.scope-absent-fallback", on=RESPONSE, beside=True, needs="http documents",
      provoked="auth.scope-in-challenge", scene=challenged(
          "2025-11-25", "Bearer resource_metadata=\\\"http://127.0.0.1:8000/.well-known/"
          "oauth-protected-resource/mcp\\\"") + """
    C [4] GET /.well-known/oauth-protected-resource/mcp {}
    S [4] document {"resource": "http://127.0.0.1:8000/mcp", "authorization_servers": ["https://as.example"], \
"scopes_supported": ["a", "b"]}
""" + authorizes(ASKS + "&scope=a+b", sign="+") + authorizes(ASKS + "&scope=a", sign="-"))
def asks_for_supported(exchange: ObservedExchange) -> Verdict:
    """A client to which no scope is named asks for all that the metadata of the resource has."""
    flow, asked = flow_of(exchange), _authorization(exchange)
    if not asked or flow.challenge is None or flow.scope is not None or flow.stepping is not None:
        return None
    if len(flow.issued) or flow.resource is None or "scope" in flow.challenge.parameters:
        return None
    listed = flow.resource.get("scopes_supported", [])
    wanted = scopes_of(" ".join(each for each in listed if isinstance(each, str)) if isinstance(listed, list) else "")
    other = scopes_of(asked.get("scope")) ^ wanted
    return Broken("%s" % (asked.get("scope") or "(none)")[:80], "scope") if other - {"offline_access"} else KEPT


_STEP = """
    C [9 Authorization="Bearer ***0000000a"] #2 tools/call {"name": "write"}
    S [9] 403 {"WWW-Authenticate": "Bearer error=\\"insufficient_scope\\", scope=\\"b\\", \
resource_metadata=\\"http://127.0.0.1:8000/.well-known/oauth-protected-resource/mcp\\""}
    S [9] end
"""


@rule("auth.scope-keep-previous", on=RESPONSE, beside=True, needs="http documents", scene=server("2026-07-28")
      + authorizes(ASKS + "&scope=a") + exchanges(TRADES) + _STEP
      + authorizes(ASKS + "&scope=a+b", 10, "+") + authorizes(ASKS + "&scope=b", 10, "-"))
def keeps_scopes(exchange: ObservedExchange) -> Verdict:
    """A client that needs more scopes asks for those that it had, too."""
    flow, asked = flow_of(exchange), _authorization(exchange)
    if not asked or flow.stepping is None or flow.requested is None:
        return None
    lost = scopes_of(flow.requested) - scopes_of(asked.get("scope"))
    return Broken("without %s" % sorted(lost)[0][:60], "scope") if lost else KEPT
