"""Client registration: how an authorization server comes to know us as a client.

==  =====================================================================  ==========================================
    how                                                                    for which servers
==  =====================================================================  ==========================================
1   credentials that the user has, from a registration made before         only the server that they belong to
2   the URL of our metadata document, if the server takes such             every server; see `client_metadata`
3   dynamic registration, if the server has an endpoint for it             this server; kept in the store
4   ask the user                                                           this server; kept in the store
5   give up, and say what to pass                                          `RegistrationRefused`
==  =====================================================================  ==========================================

[2025-03-26..2025-06-18 basic/authorization §Authorization Flow > Overview] SHOULD, for row 3
[2025-11-25 basic/authorization §Overview] SHOULD [2026-07-28 basic/authorization/index §Overview] SHOULD
[2025-11-25 basic/authorization §Client Registration Approaches] SHOULD
[2026-07-28 basic/authorization/client-registration §Pre-registration] SHOULD

All of this is kept by issuer, and never shown to another issuer
[2026-07-28 basic/authorization/client-registration §Authorization Server Binding] MUST NOT.

Reading: credentials of row 1 without an issuer (only `OAuth` lets the user leave it out, for there a person sees where
the browser leads) belong to the first server that they are used with, and the store remembers which: a server that
changes its mind later does not get them.

A client ID metadata document is the way of row 2: the client is known by the https URL at which it describes itself
[2025-11-25 basic/authorization §Client ID Metadata Documents]
[2026-07-28 basic/authorization/client-registration §Client ID Metadata Documents]. Make it once, publish it as
``application/json`` at that very URL, and pass the URL on::

    document = client_metadata("https://example.com/client.json", "My program", ["http://localhost/callback"])
    connect(url, auth=OAuth(client_metadata_url="https://example.com/client.json"))
"""

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple

from ...errors import AuthError, DiscoveryFailed, RegistrationRefused
from ...jsonrpc import json_type
from ..fetch import configured, shown, split
from .token_endpoint import ClientInfo, explained, method_for, sayable, union

if TYPE_CHECKING:
    from ..discover import AuthorizationServer
    from .oauth import OAuth
    from .single_flight import Authorization

METHODS = ("client_secret_basic", "client_secret_post", "none")
"""The methods of authentication among which the user may choose [RFC 6749 §2.3.1] [RFC 7591 §2]."""

AskClient = Callable[[str], Optional[Tuple[str, Optional[str]]]]
"""A callback that asks the user for a client id and a secret (or None) at an issuer. Returns None if there are none."""


def known(grant: "OAuth", server: "AuthorizationServer", context: "Authorization") -> Optional[ClientInfo]:
    """Return the client of row 1 or 2, or the one that row 3 or 4 has left in the store, without asking anyone.

    Returns None if there is none of these. Raises `RegistrationRefused` for credentials that belong to another
    authorization server [2026-07-28 basic/authorization/client-registration §Authorization Server Binding] SHOULD.
    """
    given = grant.credentials
    if given is not None:
        bind(given.client_id, grant.issuer, server.issuer, context)
        method = grant.method or method_for(server, given.client_secret, grant.signer)
        return replace(given, method=method, issuer=server.issuer)
    # [2025-11-25 basic/authorization §Client ID Metadata Documents > Discovery] SHOULD
    # [2026-07-28 basic/authorization/client-registration §Advertising CIMD Support] SHOULD
    if grant.client_metadata_url is not None and server.client_id_metadata_document_supported:
        return ClientInfo(grant.client_metadata_url, None, method_for(server, None, grant.signer), server.issuer)
    record = context.store.get("client", server.issuer)
    info = None if record is None else ClientInfo.of_json(record)
    if info is None or info.issuer != server.issuer:
        return None
    if not info.registered and info.client_secret is not None:  # from `ask_client`, perhaps before method= was given
        info.method = grant.method or info.method
    return info if info.expires_at is None or context.now() < info.expires_at else None


def bind(name: str, owner: Optional[str], issuer: str, context: "Authorization") -> None:
    """Check that the user's credentials are those for this server.

    They belong to ``owner``, or else to the first server that they are used with, which the store keeps under ``name``.
    Raises `RegistrationRefused`.
    """
    if owner is None:
        record = context.store.get("issuer", name)
        owner = issuer if record is None else record.get("issuer")
        if record is None:
            context.store.set("issuer", name, {"issuer": issuer})
    if owner != issuer:
        raise RegistrationRefused(
            "the client id belongs to the authorization server %s, but %s wants tokens from %s: pass the client id "
            "that is registered there, and issuer=" % (owner, shown(context.server_url), issuer))


def choose(
    grant: "OAuth", server: "AuthorizationServer", redirect_uri: str, scopes: Optional[Sequence[str]],
    context: "Authorization",
) -> ClientInfo:
    """Return the client that we are at this server, registered now if need be: without a client no flow begins
    [2026-07-28 basic/authorization/index §Client Registration] MUST. ``scopes``: all that may ever be asked for.

    A registration that does not have this redirect URI, or not all of the scopes, is made anew. Raises
    `RegistrationRefused`, `AuthError`.
    """
    info = known(grant, server, context)
    if info is not None and (not info.registered or redirect_uri in (info.redirect_uris or ()) and (
            info.scopes is None or set(scopes or ()) <= set(info.scopes))):
        return info
    if server.registration_endpoint is not None:
        if info is not None and info.scopes:
            scopes = union(info.scopes, scopes)
        info = register(grant, server, redirect_uri, scopes, context)
    else:
        info = _ask(grant, server, context)
    context.store.set("client", server.issuer, info.to_json())
    return info


def _ask(grant: "OAuth", server: "AuthorizationServer", context: "Authorization") -> ClientInfo:
    answer = None if grant.ask_client is None else context.ask_user(grant.ask_client, server.issuer)
    if answer is None:
        how = ["client_id="]
        if server.client_id_metadata_document_supported:
            how.append("client_metadata_url=")
        raise RegistrationRefused("%s has no dynamic registration: register a client there, and pass %s (and issuer=%r)"
                                  % (server.issuer, " or ".join(how), server.issuer))
    client_id, secret = answer
    method = grant.method if secret else None
    return ClientInfo(client_id, secret, method or method_for(server, secret or None, grant.signer), server.issuer)


def application_type(redirect_uri: str) -> str:
    """Return ``native`` for a program on the user's machine, else ``web``
    [2026-07-28 basic/authorization/client-registration §Application Type and Redirect URI Constraints] SHOULD."""
    return "native" if redirect_uri.startswith("http:") and split(redirect_uri, "URL").loopback else "web"


def metadata(grant: "OAuth", server: "AuthorizationServer", redirect_uri: str,
             scopes: Optional[Sequence[str]]) -> Dict[str, Any]:
    """Return the metadata of the client for a dynamic registration [RFC 7591 §2]; ``refresh_token`` is among the grants
    [2026-07-28 basic/authorization/index §Refresh Tokens] SHOULD."""
    taken = server.token_endpoint_auth_methods_supported
    ways = [way for way in ("none", "client_secret_basic", "client_secret_post") if taken is None or way in taken]
    if grant.method is not None:
        ways = [grant.method]
    told: Dict[str, Any] = {
        "client_name": grant.client_name,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": ways[0] if ways else "none",
        "application_type": application_type(redirect_uri),
    }
    if grant.client_uri is not None:
        told["client_uri"] = grant.client_uri
    if scopes:
        told["scope"] = " ".join(scopes)
    return told


def register(
    grant: "OAuth", server: "AuthorizationServer", redirect_uri: str, scopes: Optional[Sequence[str]],
    context: "Authorization",
) -> ClientInfo:
    """Register dynamically [RFC 7591 §3]. Raises `RegistrationRefused` with the server's reason, `AuthError`.

    If the answer does not say how to authenticate, the server's metadata decides: some servers give a secret to clients
    that are to show none. The user's ``method`` decides before that, if there is a secret to show.
    """
    told = metadata(grant, server, redirect_uri, scopes)
    answer = context.fetcher.post_json(server.registration_endpoint or "", told)
    try:
        value = answer.json("registration")
    except AuthError:
        value = {}
    client_id = value.get("client_id")
    if answer.status not in (200, 201) or not isinstance(client_id, str) or not client_id:
        error = sayable(value.get("error")) or "status %d" % answer.status
        raise RegistrationRefused(
            "%s does not register us as %s with the redirect URI %s: %s; pass client_id=, or another redirect_uri="
            % (server.issuer, told["application_type"], redirect_uri,
               explained(error, sayable(value.get("error_description")))))
    secret, method, ends = (value.get(name) for name in
                            ("client_secret", "token_endpoint_auth_method", "client_secret_expires_at"))
    secret = secret if isinstance(secret, str) and secret else None
    ends = ends if secret is not None and isinstance(ends, (int, float)) and 0 < ends < 1e14 else None  # 0: never
    expires_at = None if ends is None else float(ends)
    ours = grant.method if secret is not None else None
    return ClientInfo(
        client_id, secret, sayable(method, [secret or ""]) or ours or method_for(server, secret), server.issuer,
        expires_at, True, _redirects(value, redirect_uri), list(scopes) if scopes else None,
    )


def _redirects(value: Dict[str, Any], redirect_uri: str) -> List[str]:
    """Return the redirect URIs that were registered: the server may have put others in their place [RFC 7591 §3.2.1].
    """
    found = value.get("redirect_uris")
    if not isinstance(found, list):
        return [redirect_uri]
    uris = [uri for uri in found if isinstance(uri, str)]
    if redirect_uri not in uris:
        raise RegistrationRefused("the authorization server has registered us with other redirect URIs than %s: pass "
                                  "redirect_uri=" % redirect_uri)
    return uris


_SHARED = ("client_secret_post", "client_secret_basic", "client_secret_jwt")
"""Methods of authentication that need a shared secret, which no public document can have."""
_SECRET = ("client_secret", "client_secret_expires_at")
_TEXTS = ("client_name", "scope", "token_endpoint_auth_method")
_URLS = ("client_uri", "logo_uri", "tos_uri", "policy_uri", "jwks_uri")
_LISTS = ("redirect_uris", "grant_types", "response_types", "contacts")
_DOTS = re.compile(r"/(?:\.|%2[eE]){1,2}(?:/|\Z)")


def client_metadata(client_id_url: str, client_name: str, redirect_uris: Sequence[str], **more: Any) -> Dict[str, Any]:
    """Make the metadata document of a client, and check it.

    ``more``: other members, such as ``client_uri``, ``logo_uri``, ``jwks``. Without them: a public client with the code
    flow and refresh tokens. Raises ValueError that says what is wrong.
    """
    document: Dict[str, Any] = {
        "client_id": client_id_url,
        "client_name": client_name,
        "redirect_uris": list(redirect_uris),
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    document.update(more)
    check_client_metadata(client_id_url, document)
    return document


def check_client_id_url(url: str) -> str:
    """Return the URL if a client can be known by it: https, with a path, without dots as segments, user or fragment
    [2025-11-25 basic/authorization §Implementation Requirements]
    [2026-07-28 basic/authorization/client-registration §Implementation Requirements] MUST. Raises ValueError.

    Reading: ``/`` alone is no path; a query is allowed, though the draft advises against it.
    """
    try:
        parts = split(url, "client ID URL")
    except DiscoveryFailed as error:
        raise ValueError(str(error)) from None
    if parts.scheme != "https":
        raise ValueError("the client ID URL is not https")
    if parts.path in ("", "/"):
        raise ValueError("the client ID URL has no path")
    if _DOTS.search(parts.path):
        raise ValueError("the client ID URL has a path with . or .. in it")
    return url


def check_client_metadata(url: str, document: Any) -> None:
    """Check a document that is published at this URL. Raises ValueError that says what is wrong.

    The document must name the URL, exactly; have a name and redirect URIs, each https or on this machine; and hold no
    secret [2025-11-25 basic/authorization §Implementation Requirements]
    [2026-07-28 basic/authorization/client-registration §Implementation Requirements] MUST.
    """
    check_client_id_url(url)
    if not isinstance(document, dict):
        raise ValueError("a client metadata document: expected object, got %s" % json_type(document))
    for name in ("client_id", "client_name", "redirect_uris"):
        if not document.get(name):
            raise ValueError("a client metadata document without %s" % name)
    if document["client_id"] != url:
        raise ValueError("client_id is not exactly the URL of the document")
    _check_kinds(document)
    for number, uri in enumerate(document["redirect_uris"]):
        configured(uri, "redirect_uris[%d]" % number)
    for name in _SECRET:
        if name in document:
            raise ValueError("a client metadata document is public: it cannot have a %s" % name)
    method = document.get("token_endpoint_auth_method")
    if method in _SHARED:
        raise ValueError("a client metadata document is public: it cannot be used with %s" % method)
    if method == "private_key_jwt" and not ("jwks" in document or "jwks_uri" in document):
        raise ValueError("private_key_jwt needs jwks or jwks_uri")


def _check_kinds(document: Dict[str, Any]) -> None:
    for name in _TEXTS + _URLS:
        found: Optional[Any] = document.get(name)
        if name in document and not isinstance(found, str):
            raise ValueError("%s: expected string, got %s" % (name, json_type(found)))
        if name in _URLS and found is not None:
            configured(found, name)
    for name in _LISTS:
        items: List[Any] = document.get(name, [])
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise ValueError("%s: expected an array of strings" % name)
