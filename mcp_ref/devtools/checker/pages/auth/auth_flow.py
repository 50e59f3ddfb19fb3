"""Observers of authorization: challenges, documents, registrations, requests for authorization and for tokens.

The parts of a flow go to several servers, so it is the trace that remembers them. Equal masks are equal secrets.
"""

from math import inf
from typing import Any, List, Mapping, NamedTuple, Optional, Tuple

from ...bounds import Bounds, Forgetful
from ...httpfacts import AuthChallenge, bearer, mask_of, query_of, split
from ...observed import ObservedExchange, ObservedHead
from ...rules import END, RESPONSE, observe

RESOURCE_METADATA = "/.well-known/oauth-protected-resource"
OAUTH_METADATA = "/.well-known/oauth-authorization-server"
OPENID_METADATA = "/.well-known/openid-configuration"
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "registration_endpoint")


class IssuerMetadata(NamedTuple):
    """An authorization server, as a metadata document describes it."""

    url: str
    """The address of the document."""
    document: Mapping[str, Any]


class Issued(NamedTuple):
    """An access token that was issued."""

    url: str
    """The token endpoint."""
    issuer: Optional[IssuerMetadata]
    resource: str
    scope: Optional[str]
    time: float
    expires: Optional[float]
    """Seconds for which it is valid, as the response says."""


class Registered(NamedTuple):
    """A client that was registered."""

    url: str
    """The registration endpoint."""
    issuer: Optional[IssuerMetadata]
    body: Mapping[str, Any]


class Authorized(NamedTuple):
    """An answer to a request for authorization."""

    asked: Mapping[str, str]
    answer: Mapping[str, str]
    issuer: Optional[IssuerMetadata]


def _table() -> Any:
    return Forgetful(Bounds().entries)


class Flow:
    """The state of authorization, as far as the trace has seen it."""

    def __init__(self) -> None:
        self.servers: "Forgetful[str, None]" = _table()
        """The addresses to which messages were sent."""
        self.served: Optional[ObservedHead] = None
        """The head of the request with the last of them: the next one mostly has the same, and needs no look."""
        self.challenge: Optional[AuthChallenge] = None
        """The last challenge for a bearer token of a 401."""
        self.challenged = ""
        """The address that answered 401 last."""
        self.scope: Optional[str] = None
        """The scope of the first challenge since a token was issued."""
        self.stepping: Optional[str] = None
        """The scope of a challenge for more, until a token is issued."""
        self.requested: Optional[str] = None
        """The scope of the last request for authorization."""
        self.resources: "Forgetful[str, Mapping[str, Any]]" = _table()
        """The metadata documents of protected resources, by address."""
        self.resource: Optional[Mapping[str, Any]] = None
        """The last of them."""
        self.settled = 0.0
        """The time from which on requests go by these documents: that of the first token since a server has named other
        authorization servers; infinite until then. A thread may send the token from before meanwhile."""
        self.tried: "Forgetful[str, int]" = _table()
        """The addresses of metadata documents that were asked for, and the last status."""
        self.named: "Forgetful[str, None]" = _table()
        """The issuers that documents of protected resources name."""
        self.documents: "Forgetful[str, IssuerMetadata]" = _table()
        """The metadata documents of authorization servers, by address."""
        self.issuers: "Forgetful[str, IssuerMetadata]" = _table()
        """The documents by each endpoint that they have."""
        self.registered: "Forgetful[str, Registered]" = _table()
        """The registrations by client id."""
        self.clients: "Forgetful[str, None]" = _table()
        """The client ids that were sent."""
        self.authorized: "Forgetful[str, Authorized]" = _table()
        """The answers by the mask of their codes."""
        self.issued: "Forgetful[str, Issued]" = _table()
        """The access tokens by their masks."""


def flow_of(exchange: ObservedExchange) -> Flow:
    """Return what the trace has seen of authorization."""
    return exchange.connection.trace.state(Flow)


def address(exchange: ObservedExchange) -> str:
    """Return the address of an exchange, without its query."""
    parts = split(exchange.url)
    return "%s://%s%s" % (parts[0], parts[1], exchange.path) if parts is not None else exchange.path


def host_of(url: object) -> Tuple[str, str]:
    """Return scheme and authority of a URL; two empty strings if it has none."""
    parts = split(url)
    return parts[:2] if parts is not None else ("", "")


def plain(url: object) -> str:
    """Return a URL without the slash at its end, scheme and authority in lower case."""
    parts = split(url)
    return "%s://%s%s" % (parts[0], parts[1], parts[2].rstrip("/")) if parts is not None else str(url)


# The parts of a flow

def json_of(body: Any) -> Mapping[str, Any]:
    """Return the JSON object of a body; empty if it has none."""
    value = body.more.get("json") if body is not None else None
    return value if isinstance(value, dict) else {}


def token_request(exchange: ObservedExchange) -> Mapping[str, str]:
    """Return the parameters of a request for a token; empty if it is none."""
    body = exchange.sent_body
    pairs = body.more.get("form") if body is not None and exchange.method == "POST" else None
    found = {pair[0]: pair[1] for pair in pairs if isinstance(pair, (list, tuple)) and len(pair) == 2
             and isinstance(pair[0], str) and isinstance(pair[1], str)} if isinstance(pairs, list) else {}
    return found if "grant_type" in found else {}


def authorization_request(exchange: ObservedExchange) -> Mapping[str, str]:
    """Return the parameters of a request for authorization; empty if it is none."""
    found = query_of(exchange.query) if exchange.method == "GET" and exchange.query else {}
    return found if "response_type" in found and not exchange.sent else {}


def asks(exchange: ObservedExchange) -> Mapping[str, str]:
    """Return the parameters of a request for authorization or for a token; empty if it is neither."""
    return authorization_request(exchange) or token_request(exchange)


def registration(exchange: ObservedExchange) -> Mapping[str, Any]:
    """Return the client metadata of a registration; empty if it is none."""
    found = json_of(exchange.sent_body) if exchange.method == "POST" else {}
    return found if isinstance(found.get("redirect_uris"), list) or "client_name" in found else {}


def metadata(exchange: ObservedExchange) -> Mapping[str, Any]:
    """Return the document that a GET has brought; empty if there is none."""
    if exchange.method != "GET" or exchange.status != 200:
        return {}
    return json_of(exchange.answer_body)


def is_discovery(exchange: ObservedExchange) -> bool:
    """Return True for a GET of the metadata of an authorization server."""
    return exchange.method == "GET" and (OAUTH_METADATA in exchange.path or OPENID_METADATA in exchange.path)


def is_resource_metadata(exchange: ObservedExchange) -> bool:
    """Return True for a GET of the metadata of a resource: at a well-known address, or where a 401 names it."""
    if exchange.method != "GET" or exchange.sent:
        return False
    challenge = flow_of(exchange).challenge
    named = challenge.parameters.get("resource_metadata") if challenge is not None else None
    return RESOURCE_METADATA in exchange.path or named is not None and plain(named) == plain(address(exchange))


def candidates(issuer: str) -> List[str]:
    """Return the addresses of an issuer's metadata, in the order in which they are tried [2026-07-28
    basic/authorization/authorization-server-discovery §Authorization Server Metadata Discovery]."""
    parts = split(issuer)
    if parts is None:
        return []
    origin, path = "%s://%s" % parts[:2], parts[2].rstrip("/")
    found = [origin + OAUTH_METADATA + path, origin + OPENID_METADATA + path]
    return found + [origin + path + OPENID_METADATA] if path else found


def token_of(exchange: ObservedExchange) -> Optional[str]:
    """Return the mask of the bearer token that a request has; None if it has none."""
    value = exchange.header("authorization") or ""
    return mask_of(value) if value[:7].lower() == "bearer " else None


def scopes_of(scope: object) -> "frozenset[str]":
    """Return the scopes of a list with blanks between."""
    return frozenset(scope.split()) if isinstance(scope, str) else frozenset()


def is_served(exchange: ObservedExchange) -> bool:
    """Return True if the status is one of success."""
    return exchange.status is not None and exchange.status // 100 == 2


# What is remembered

@observe(on=RESPONSE)
def note_response(exchange: ObservedExchange) -> None:
    """Note where messages go, challenges, and answers to requests for authorization."""
    flow = flow_of(exchange)
    if exchange.sent:
        if not exchange.refused and exchange.head is flow.served:
            return  # as nearly always
        flow.served = exchange.head
        flow.servers[address(exchange)] = None
        challenge = bearer(exchange)
        if exchange.status == 401:
            if flow.challenge is None:
                flow.scope = challenge.parameters.get("scope") if challenge is not None else None
            flow.challenge = challenge or AuthChallenge("bearer", {})
            flow.challenged = address(exchange)
        elif challenge is not None and challenge.parameters.get("error") == "insufficient_scope":
            flow.stepping = challenge.parameters.get("scope")
        return
    asked = asks(exchange)
    if asked.get("client_id"):
        flow.clients[asked["client_id"]] = None
    if authorization_request(exchange):
        flow.requested = asked.get("scope")
        location = exchange.answer_header("location") or ""
        answer = query_of(location.partition("?")[2].partition("#")[0])
        code = mask_of(answer.get("code"))
        if code is not None:
            flow.authorized[code] = Authorized(asked, answer, flow.issuers.get(plain(address(exchange))))


@observe(on=END, when="guarded")
def note_end(exchange: ObservedExchange) -> None:
    """Note documents, registrations and tokens."""
    if exchange.method == "POST" and exchange.sent_body is None:
        return  # messages
    flow, url = flow_of(exchange), address(exchange)
    if is_discovery(exchange) or is_resource_metadata(exchange):
        flow.tried[url] = exchange.status or 0
        _note_document(exchange, flow, url)
    answer = json_of(exchange.answer_body)
    body, asked = registration(exchange), token_request(exchange)
    if body and is_served(exchange) and isinstance(answer.get("client_id"), str):
        flow.registered[answer["client_id"]] = Registered(url, flow.issuers.get(plain(url)), body)
    token = mask_of(answer.get("access_token"))
    if asked and is_served(exchange) and token is not None:
        lasts = answer.get("expires_in")
        scope = answer.get("scope", asked.get("scope", flow.requested))
        flow.issued[token] = Issued(
            url, flow.issuers.get(plain(url)), asked.get("resource", ""), scope if isinstance(scope, str) else None,
            exchange.ended or 0.0, float(max(0, min(lasts, 2 ** 53))) if isinstance(lasts, (int, float)) else None)
        flow.challenge = flow.scope = flow.stepping = None
        if flow.settled == inf:
            flow.settled = exchange.ended or 0.0


def _note_document(exchange: ObservedExchange, flow: Flow, url: str) -> None:
    document = metadata(exchange)
    if not document:
        return
    if is_resource_metadata(exchange):
        listed, before = document.get("authorization_servers"), flow.resources.get(url)
        if before is not None and before.get("authorization_servers") != listed:
            flow.settled = inf
        flow.resources[url] = flow.resource = document
        for each in listed[:16] if isinstance(listed, list) else []:
            if isinstance(each, str):
                flow.named[each] = None
        return
    found = flow.documents[url] = IssuerMetadata(url, document)
    for name in _ENDPOINTS:
        if isinstance(document.get(name), str):
            flow.issuers[plain(document[name])] = found
