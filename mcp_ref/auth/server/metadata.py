"""The documents that a protected MCP server publishes, for clients that look for its authorization server.

==============================================  ======================================================================
path                                            answer
==============================================  ======================================================================
``/.well-known/oauth-protected-resource/...``   the document of the resource [RFC 9728 §3], at the path of the endpoint
``/.well-known/oauth-protected-resource``       the same, at the root
``/.well-known/oauth-authorization-server``     for 2025-03-26: metadata of the first authorization server
``/authorize``, ``/token``, ``/register``       for 2025-03-26: a redirect to the endpoint that this stands for
==============================================  ======================================================================

Clients of 2025-03-26 take the origin of the MCP server for the authorization server
[2025-03-26 basic/authorization §Authorization Base URL] MUST. Reading: the metadata they find there name our origin as
their ``issuer``, since RFC 8414 §3.3 has them refuse any other; all endpoints in it are those of the real one.
Later clients never ask for it, because they find the document of the resource first.

All of it is public: any page may read it, and no token is wanted.
"""

import threading
from functools import partial
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional
from urllib.parse import urlsplit

from ...errors import AuthError
from ...http11.message import Exchange
from ...jsontext import dumps
from ...protocol.streamable_http.refusals import Pairs, preflight
from ..discover import AuthorizationServer, metadata_of
from ..fetch import Fetcher
from ..urls import origin, resource_metadata_urls

SERVER_METADATA = "/.well-known/oauth-authorization-server"
KEPT = 3600.0
"""Seconds for which metadata of an authorization server are good."""
RETRIED = 10.0
"""Seconds before a failed fetch is tried again."""
_MAX_WAITING = 4
"""Requests that wait for a fetch; more get 503 with Retry-After, so that they cannot hold all threads."""
_OPEN = (("Access-Control-Allow-Origin", "*"),)
_DOCUMENT = (("Content-Type", "application/json"), ("Cache-Control", "max-age=300")) + _OPEN
_LATER = (("Content-Type", "text/plain; charset=utf-8"), ("Retry-After", "5"), ("Cache-Control", "no-store")) + _OPEN
_NOT_REPEATED = ("issuer", "signed_metadata", "authorization_response_iss_parameter_supported")

Page = Callable[[Exchange], None]


class _Way(NamedTuple):
    """A default path of 2025-03-26: the method it takes, the status of its redirect, and the endpoint that it leads to.
    """

    method: str
    status: int
    endpoint: Callable[[AuthorizationServer], Optional[str]]


_WAYS: Dict[str, _Way] = {
    "/authorize": _Way("GET", 302, lambda server: server.authorization_endpoint),
    "/token": _Way("POST", 307, lambda server: server.token_endpoint),
    "/register": _Way("POST", 307, lambda server: server.registration_endpoint),
}
"""[2025-03-26 basic/authorization §Fallbacks for Servers without Metadata Discovery] MUST; 307 keeps the body."""


class ServerMetadata:
    """The metadata of an authorization server: given, or fetched when first needed and then from time to time.

    Thread-safe. ``get`` raises `AuthError` if there are none.
    """

    def __init__(self, issuer: str, given: Optional[Mapping[str, Any]], fetcher: Fetcher,
                 now: Callable[[], float]) -> None:
        self._issuer = issuer
        self._fetcher = fetcher
        self._now = now
        self._given = None if given is None else AuthorizationServer.of(dict(given))
        self._found: Optional[AuthorizationServer] = None
        self._due = 0.0
        self._fetching = threading.Lock()
        self._waiting = threading.BoundedSemaphore(_MAX_WAITING)

    def get(self) -> AuthorizationServer:
        """Return the metadata, fetched now if they are too old."""
        if self._given is not None:
            return self._given
        if self._now() >= self._due:
            self._renew()
        if self._found is None:
            raise AuthError("its metadata are being fetched, or could not be")
        return self._found

    def _renew(self) -> None:
        """Fetch the metadata, or wait while another thread does; if there are old ones, return without waiting."""
        # `_waiting` bounds the threads in here; `_fetching` lets one of them fetch. The others wait for it only if
        # there are no metadata yet.
        if self._waiting.acquire(blocking=False):
            try:
                if self._fetching.acquire(blocking=self._found is None):
                    try:
                        self._fetch()
                    finally:
                        self._fetching.release()
            finally:
                self._waiting.release()

    def _fetch(self) -> None:
        """Fetch the metadata, unless another thread just has. Old ones stay good if that fails."""
        if self._now() < self._due:
            return
        try:
            self._found = metadata_of(self._fetcher, self._issuer)
            self._due = self._now() + KEPT
        except AuthError as error:
            self._due = self._now() + RETRIED
            from ...diagnostics.packagelog import get_logger

            get_logger(__name__).warning("metadata of the authorization server cannot be published: %s", error)


class WellKnownPages:
    """The pages of one resource. ``document``: that of the resource; ``metadata`` None: nothing for 2025-03-26."""

    def __init__(self, resource: str, document: Mapping[str, Any], metadata: Optional[ServerMetadata] = None) -> None:
        self._origin = origin(resource)
        self._metadata = metadata
        self._document = dumps(document).encode("ascii")
        self.document_url, *_ = urls = resource_metadata_urls(resource)
        """The address of the document, for challenges."""
        self._pages: Dict[str, Page] = {urlsplit(url).path: self._resource for url in urls}
        if metadata is not None:
            self._pages[SERVER_METADATA] = self._server
            self._pages.update((path, partial(self._redirect, way)) for path, way in _WAYS.items())
        self._pages.pop(urlsplit(resource).path, None)

    def answers(self, exchange: Exchange) -> bool:
        """Reply to a request to one of the pages. Returns False, without a reply, for any other request."""
        request = exchange.request
        for path in (request.path, request.root + request.path):
            if path in self._pages:
                self._pages[path](exchange)
                return True
        return False

    def _resource(self, exchange: Exchange) -> None:
        if _taken(exchange, "GET", "HEAD"):
            exchange.reply(200, _DOCUMENT, self._document)

    def _server(self, exchange: Exchange) -> None:
        """Reply with the metadata [2025-03-26 basic/authorization §Server Metadata Discovery] SHOULD."""
        server = self._known(exchange, "GET", "HEAD")
        if server is not None:
            members = {name: value for name, value in server.raw.items() if name not in _NOT_REPEATED}
            exchange.reply(200, _DOCUMENT, dumps({"issuer": self._origin, **members}).encode("ascii"))

    def _redirect(self, way: _Way, exchange: Exchange) -> None:
        """Redirect to the real endpoint
        [2025-03-26 basic/authorization §Fallbacks for Servers without Metadata Discovery] MUST."""
        request = exchange.request
        server = self._known(exchange, way.method)
        if server is None:
            return
        target = way.endpoint(server)
        if target is None:
            _say(exchange, 404, "The authorization server has no such endpoint.")
        elif not (request.query.isascii() and request.query.isprintable()):
            _say(exchange, 400, "A query that cannot be read.")
        else:
            query = "" if not request.query else ("&" if "?" in target else "?") + request.query
            exchange.reply(way.status, (("Location", target + query), ("Cache-Control", "no-store")) + _OPEN)

    def _known(self, exchange: Exchange, *methods: str) -> Optional[AuthorizationServer]:
        """Return the authorization server, for a request with one of these methods; None if the reply is out already.
        """
        if self._metadata is None or not _taken(exchange, *methods):
            return None
        try:
            return self._metadata.get()
        except AuthError as error:
            exchange.reply(503, _LATER, ("The authorization server is not known now: %s.\n" % error).encode("ascii"))
            return None


def _taken(exchange: Exchange, *methods: str) -> bool:
    """True if the method is one of these; False if the reply is out already."""
    method, allow = exchange.request.method, ", ".join((*methods, "OPTIONS"))
    if method in methods:
        return True
    if method == "OPTIONS":
        wanted = exchange.request.headers.get("access-control-request-headers")
        exchange.reply(204, (("Allow", allow), *_OPEN, *preflight(allow, wanted)))
    else:
        _say(exchange, 405, "Method not allowed.", (("Allow", allow),))
    return False


def _say(exchange: Exchange, status: int, text: str, fields: Pairs = ()) -> None:
    exchange.reply(status, (("Content-Type", "text/plain; charset=utf-8"), *_OPEN, *fields), (text + "\n").encode())
