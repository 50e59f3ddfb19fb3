"""The client ID metadata document: a client that is known by the https URL at which it describes itself
[2025-11-25 basic/authorization §Client ID Metadata Documents]
[2026-07-28 basic/authorization/client-registration §Client ID Metadata Documents].

Make it once, publish it as ``application/json`` at that very URL, and pass the URL on::

    document = client_metadata("https://example.com/client.json", "My program", ["http://localhost/callback"])
    connect(url, auth=OAuth(client_metadata_url="https://example.com/client.json"))
"""

import re
from typing import Any, Dict, List, Optional, Sequence

from ...errors import DiscoveryFailed
from ...jsonrpc import json_type
from ..urls import checked, split

_SHARED = ("client_secret_post", "client_secret_basic", "client_secret_jwt")
"""Ways to authenticate that need a secret that both sides know; everybody can read this document."""
_SECRET = ("client_secret", "client_secret_expires_at")
_TEXTS = ("client_name", "scope", "token_endpoint_auth_method")
_URLS = ("client_uri", "logo_uri", "tos_uri", "policy_uri", "jwks_uri")
_LISTS = ("redirect_uris", "grant_types", "response_types", "contacts")
_DOTS = re.compile(r"/(?:\.|%2[eE]){1,2}(?:/|\Z)")


def client_metadata(client_id_url: str, client_name: str, redirect_uris: Sequence[str], **more: Any) -> Dict[str, Any]:
    """The document of a client, checked. ``more``: other members, such as ``client_uri``, ``logo_uri``, ``jwks``.

    Without others: a public client with the code flow and refresh tokens. Raises ValueError that says what is wrong.
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
    """The URL, if a client can be known by it: https, with a path, without dots as segments, user or fragment
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

    It must name the URL, exactly; have a name and redirect URIs, each https or on this machine; and hold no secret
    [2025-11-25 basic/authorization §Implementation Requirements]
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
        _checked(uri, "redirect_uris[%d]" % number)
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
            _checked(found, name)
    for name in _LISTS:
        items: List[Any] = document.get(name, [])
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise ValueError("%s: expected an array of strings" % name)


def _checked(url: str, what: str) -> None:
    try:
        checked(url, what)
    except DiscoveryFailed as error:
        raise ValueError(str(error)) from None
