"""Who issues access tokens for an MCP server: from a refusal to the authorization server's endpoints.

====  ==============================================================  ======================================
step  asked                                                           what decides
====  ==============================================================  ======================================
1     ``resource_metadata`` of the challenge, if it has one           its answer, nothing else
2     otherwise the well-known places of the MCP server, in order     the first that has a document
3     the well-known places of one issuer in that document, in order  the first that has a document
4     no document in step 2: OAuth metadata at the server's origin    the document, or the default endpoints
====  ==============================================================  ======================================

[2025-06-18 basic/authorization §Authorization Server Location]
[2025-11-25 basic/authorization §Authorization Server Discovery]
[2026-07-28 basic/authorization/authorization-server-discovery §Protected Resource Metadata Discovery Requirements];
step 4 is the way of 2025-03-26, for servers that know no other
[2025-03-26 basic/authorization §Server Metadata Discovery].

Reading: a place *has no document* if it answers 4xx, or with something that does not call itself JSON (many sites
answer every path with a page). Everything else is final: a document that is broken, or that of somebody else, is an
error and no reason to ask further; so is a server that fails, or has no time (429), or redirects elsewhere. The URL in
a challenge has a document, or discovery fails. Step 4 is open to every revision: which one a server speaks is not known
yet when it asks for a token, and what it publishes tells.

A server elsewhere cannot make us ask programs on this machine: its documents name none there, or are refused, and what
they name is connected to only at addresses that the server may lead to; see `addresses`.
"""

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence

from ...diagnostics.packagelog import get_logger
from ...errors import DiscoveryFailed, IssuerMismatch
from ...revisions import LATEST
from ..urls import canonical, checked, covers, is_loopback, origin, resource_metadata_urls, server_metadata_urls, shown
from .challenge import Challenge, find
from .documents import RESOURCE, SERVER, AuthorizationServer, ProtectedResource
from .fetch import Answer, Fetcher, Fields


_LATER = (408, 425, 429)
"""Statuses of a server that would perhaps answer another time [RFC 9110 §15.5.9] [RFC 8470 §5.2] [RFC 6585 §4]."""


@dataclass
class Discovered:
    """What there is to know before asking for a token."""

    resource: str
    """The value of every ``resource`` parameter: exactly as published, or the server's own URL in canonical form."""
    resource_document: Optional[ProtectedResource]
    server: AuthorizationServer
    legacy: bool
    """Whether the MCP server published nothing, and so its origin is the authorization server [2025-03-26]."""


def first(issuers: List[str]) -> str:
    """The first of several issuers."""
    return issuers[0]


def discover(
    fetcher: Fetcher,
    server_url: str,
    challenges: Sequence[Challenge] = (),
    revision: str = LATEST.name,
    prefer: Callable[[List[str]], str] = first,
) -> Discovered:
    """Find the authorization server of the MCP server at this URL.

    ``challenges``: of its refusal. ``revision``: goes into ``MCP-Protocol-Version``
    [2025-03-26 basic/authorization §Server Metadata Discovery Headers] SHOULD. ``prefer``: chooses among the issuers
    that the server names. Raises `DiscoveryFailed`, `IssuerMismatch`, and `AuthError` where nobody answers.
    """
    url, ask = checked(server_url.partition("#")[0], "URL of the server"), _Asking(fetcher, revision)
    document = _resource(ask, url, challenges)
    if document is None:
        return Discovered(canonical(url), None, _legacy_server(ask, origin(url)), True)
    issuer = prefer(list(document.authorization_servers))
    if issuer not in document.authorization_servers:
        raise DiscoveryFailed("%s is not an authorization server of %s, which names: %s" % (
            shown(issuer), shown(url), ", ".join(map(shown, document.authorization_servers))))
    return Discovered(document.resource, document, _server(ask, issuer), False)


def metadata_of(fetcher: Fetcher, issuer: str, revision: str = LATEST.name) -> AuthorizationServer:
    """The metadata of the authorization server that calls itself so. Raises like `discover`."""
    return _server(_Asking(fetcher, revision), checked(issuer, "issuer"))


class _Asking:
    """Asks for documents, in words of one revision."""

    def __init__(self, fetcher: Fetcher, revision: str) -> None:
        self._fetcher = fetcher
        self._headers: Fields = [("MCP-Protocol-Version", revision)]

    def first(self, places: Sequence[str], what: str) -> Optional[Dict[str, Any]]:
        """The first document at these places; None if there is none at any. Raises `DiscoveryFailed`."""
        for url in places:
            answer = self._fetcher.get(url, self._headers)
            if answer.status == 200 and _is_json(answer):
                return answer.json(what)
            if answer.status in _LATER or not (answer.status == 200 or 400 <= answer.status < 500):
                raise DiscoveryFailed("asked for %s, %s answered %d" % (what, shown(answer.url), answer.status))
            get_logger(__name__).debug("no %s at %s: %d", what, shown(answer.url), answer.status)
        return None

    def follow(self, issuer: str, server: AuthorizationServer) -> None:
        """Go wherever the metadata of an issuer lead that our user has named."""
        reach = self._fetcher.reach
        if reach is not None and reach.trusts(issuer):
            reach.trust([server.token_endpoint, server.registration_endpoint, server.introspection_endpoint,
                         server.jwks_uri])


def _is_json(answer: Answer) -> bool:
    """Whether an answer calls itself JSON, or does not say what it is."""
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind in ("", "application/json", "text/json", "application/octet-stream") or kind.endswith("+json")


def _resource(ask: _Asking, url: str, challenges: Sequence[Challenge]) -> Optional[ProtectedResource]:
    """What the MCP server at this URL publishes about itself; None if it does not."""
    here = is_loopback(url)
    named = find(challenges, "resource_metadata")
    if named is None:
        found = ask.first(resource_metadata_urls(url), RESOURCE)
        if found is None:
            return None
    else:
        found = ask.first([checked(named, "resource_metadata of the challenge", here)], RESOURCE)
        if found is None:
            raise DiscoveryFailed("%s says that its metadata is at %s, but there is no such document"
                                  % (shown(url), shown(named)))
    document = ProtectedResource.of(found, here)
    if not covers(document.resource, url):
        raise DiscoveryFailed("the %s is that of another resource: %s, not %s"
                              % (RESOURCE, shown(document.resource), shown(url)))
    return document


def _server(ask: _Asking, issuer: str) -> AuthorizationServer:
    """The metadata of this issuer."""
    places = server_metadata_urls(issuer)
    found = ask.first(places, SERVER)
    if found is None:
        raise DiscoveryFailed("the authorization server %s has no metadata at: %s"
                              % (shown(issuer), ", ".join(places)))
    server = _own(found, [issuer])
    ask.follow(issuer, server)
    return server


def _legacy_server(ask: _Asking, base: str) -> AuthorizationServer:
    """The authorization server at the origin of an MCP server
    [2025-03-26 basic/authorization §Authorization Base URL] MUST."""
    found = ask.first(server_metadata_urls(base)[:1], SERVER)
    return AuthorizationServer.by_default(base) if found is None else _own(found, [base, base + "/"])


def _own(found: Dict[str, Any], issuers: List[str]) -> AuthorizationServer:
    """Take the document if it is that of this issuer, character by character, in one of these spellings
    [RFC 8414 §3.3]
    [2026-07-28 basic/authorization/authorization-server-discovery §Authorization Server Metadata Discovery] MUST.
    """
    named = found.get("issuer")
    if named not in issuers:
        raise IssuerMismatch("the %s asked of %s is that of another issuer%s" % (
            SERVER, shown(issuers[0]), ": " + shown(named) if isinstance(named, str) else ""))
    return AuthorizationServer.of(found, is_loopback(issuers[0]))
