"""URLs of authorization: which may be asked at all, and the addresses of a server's documents.

Every URL that comes from the network goes through `checked` before anything is sent to it
[2025-06-18..2025-11-25 basic/authorization §Communication Security]
[2026-07-28 basic/authorization/security-considerations §Communication Security] MUST.

Identifiers (issuers, resources) are kept exactly as they were published and compared as strings; nothing here rewrites
one.

>>> resource_metadata_urls("https://example.com/public/mcp")[0]
'https://example.com/.well-known/oauth-protected-resource/public/mcp'
>>> covers("https://example.com", "https://example.com/public/mcp")
True
"""

import re
from typing import List, Tuple

from ..errors import DiscoveryFailed
from ..urls import BadUrl, Url, perhaps_here, read_url

_CHARS = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+\Z")
"""The characters of a URL [RFC 3986 §2]: others mean something to the programs that are started with one."""
_PLACE = re.compile(r"(?i)https?://(?:\[[0-9a-f:.]{2,45}\]|[a-z0-9][a-z0-9._\-]{0,254})(?::[0-9]{1,5})?(?=[/?#]|\Z)")
_FAULTS = {
    "syntax": "is no URL", "user": "has a user or password in it", "scheme": "is no https URL",
    "port": "names no host and port", "host": "names no host and port",
}
"""The error texts for the faults of a `mcp_ref.urls.BadUrl`."""
_USER = re.compile("//[^/@]*@")
_LONGEST = 8192


def split(url: str, what: str) -> Url:
    """Take an http or https URL apart. Raises `DiscoveryFailed`, which says what is wrong with ``what``."""
    if not isinstance(url, str) or not _CHARS.match(url) or len(url) > _LONGEST:
        raise DiscoveryFailed("the %s is no URL" % what)
    try:
        found = read_url(url)
    except BadUrl as bad:
        raise DiscoveryFailed("the %s %s" % (what, _FAULTS[bad.fault])) from None
    if not _PLACE.match(url):
        raise DiscoveryFailed("the %s %s" % (what, _FAULTS["host"]))
    if "#" in url:
        raise DiscoveryFailed("the %s has a fragment" % what)
    return found


def checked(url: str, what: str, here: bool = True) -> str:
    """Return the URL as it is, if it may be asked: https, or http on this machine; no user, no fragment.

    ``what`` names the URL in errors, such as ``"token_endpoint"``. ``here=False`` refuses this machine as well: a
    server elsewhere must not make us ask the programs around us. Raises `DiscoveryFailed`, whose text shows scheme,
    host and port only.
    """
    parts = split(url, what)
    if not here and perhaps_here(parts.host):
        raise DiscoveryFailed("the %s is on this machine (%s), but the server that names it is not"
                              % (what, parts.origin))
    if parts.scheme != "https" and not parts.loopback:
        raise DiscoveryFailed("the %s (%s) is not https" % (what, parts.origin))
    return url


def configured(url: str, what: str) -> str:
    """Return a URL that the program passes. Raises ValueError, naming ``what`` it is, if it must not be asked."""
    try:
        return checked(url, what)
    except DiscoveryFailed as error:
        raise ValueError(str(error)) from None


def origin(url: str) -> str:
    """Return scheme, host and port of a URL. Raises `DiscoveryFailed`."""
    return split(url, "URL").origin


def shown(url: str) -> str:
    """Return a URL for logs and errors: without its query, user and password, which may be secret."""
    return repr(_USER.sub("//", url.partition("?")[0].partition("#")[0])[:200])[1:-1]


def canonical(url: str) -> str:
    """Return the identifier of the MCP server at this URL, for a server that publishes none itself [RFC 8707 §2].

    Scheme and host in lower case, no fragment, no slash at the end of the root
    [2025-06-18..2025-11-25 basic/authorization §Canonical Server URI]
    [2026-07-28 basic/authorization/index §Canonical Server URI] SHOULD. Reading: no query either, as RFC 8707 advises,
    for it may hold keys.
    """
    parts = split(url.partition("#")[0], "URL of the server")
    return parts.origin + ("" if parts.path == "/" else parts.path)


def covers(resource: str, server_url: str) -> bool:
    """True if a published identifier is that of the MCP server at this URL, or of a path above it.

    Reading: a document at the root may be that of the whole origin, so an identifier may end before the path of the
    endpoint does; never inside a segment, and never on another origin [RFC 9728 §3.3]. A slash at its end does not
    count, nor does the case of scheme and host
    [2025-06-18..2025-11-25 basic/authorization §Canonical Server URI]
    [2026-07-28 basic/authorization/index §Canonical Server URI] SHOULD. A query must be that of the URL.
    """
    try:
        named, asked = split(resource, "resource"), split(server_url.partition("#")[0], "URL of the server")
    except DiscoveryFailed:
        return False
    above = named.path.rstrip("/")
    inside = asked.path.rstrip("/") == above or asked.path.startswith(above + "/")
    return named.origin == asked.origin and inside and named.query in ("", asked.query)


def resource_metadata_urls(server_url: str) -> List[str]:
    """Return the addresses of a protected resource's document: at the path of the endpoint, then at the root
    [2025-11-25 basic/authorization §Protected Resource Metadata Discovery Requirements]
    [2026-07-28 basic/authorization/authorization-server-discovery §Protected Resource Metadata Discovery Requirements]
    MUST.
    """
    parts = split(server_url.partition("#")[0], "URL of the server")
    root = parts.origin + "/.well-known/oauth-protected-resource"
    return [root] if parts.path in ("", "/") else [root + parts.path, root]


_WITH_PATH: Tuple[str, ...] = (
    "{origin}/.well-known/oauth-authorization-server{path}",
    "{origin}/.well-known/openid-configuration{path}",
    "{origin}{path}/.well-known/openid-configuration",
)
_WITHOUT_PATH: Tuple[str, ...] = (
    "{origin}/.well-known/oauth-authorization-server",
    "{origin}/.well-known/openid-configuration",
)


def server_metadata_urls(issuer: str) -> List[str]:
    """Return the addresses of an issuer's metadata, in the order of the page
    [2025-11-25 basic/authorization §Authorization Server Metadata Discovery]
    [2026-07-28 basic/authorization/authorization-server-discovery §Authorization Server Metadata Discovery] MUST.

    A slash at the end of the issuer is left out [RFC 8414 §3.1]. Raises `DiscoveryFailed`, also for an issuer with a
    query [RFC 8414 §2].
    """
    parts = split(issuer, "issuer")
    if "?" in issuer:
        raise DiscoveryFailed("the issuer (%s) has a query" % parts.origin)
    path = parts.path[:-1] if parts.path.endswith("/") else parts.path
    return [form.format(origin=parts.origin, path=path) for form in (_WITH_PATH if path else _WITHOUT_PATH)]
