"""URLs of authorization, the addresses that may be asked, and one HTTP request to an authorization server.

Every URL that comes from the network goes through `checked` before anything is sent to it
[2025-06-18..2025-11-25 basic/authorization §Communication Security]
[2026-07-28 basic/authorization/security-considerations §Communication Security] MUST. Identifiers (issuers, resources)
are kept exactly as they were published and compared as strings; nothing here rewrites one.

>>> resource_metadata_urls("https://example.com/public/mcp")[0]
'https://example.com/.well-known/oauth-protected-resource/public/mcp'
>>> covers("https://example.com", "https://example.com/public/mcp")
True

An answer is treated as hostile. Every URL must be https, or http on this machine; the answer has a limit of size
(``max_auth_response_bytes``), and all of it, from connecting to the last byte, a limit of time (``auth_timeout``). A
redirect is followed for GET only, only to the same origin, and three times at most. Proxies (for https; this machine is
asked directly) and the certificates that TLS trusts are those of the transports, see `mcp_ref.http11.client.connect`.
No error shows anything of a body (except the name of a member), of a field or of a query.

A public server must not make us ask the programs around us: what a client sends there, and how it fails, tells the
attacker about a network that he cannot see (server-side request forgery). The text of a URL does not say where it
leads, because any name can have any address, and another one a moment later. So a name is resolved once, each address
is judged (`AddressPolicy`), and the connection goes to one that passed, with TLS for the name [RFC 9728 §7.7].

==============  =======================================================================================================
the MCP server  may lead to
==============  =======================================================================================================
is public       public addresses
is private      those, and private networks: RFC 1918, RFC 4193, RFC 6598, and whatever else nobody routes
is link-local   those, and link-local addresses, among which clouds keep the credentials of their machines
is this one     all
==============  =======================================================================================================

The location of a server is known from its connection: from a name that it proves by TLS, not from an earlier lookup.
The user's own URLs are asked at any address: the MCP server itself, an ``issuer=``, and the endpoints in that issuer's
metadata. ``private_networks=True`` treats every server as a private one, for a company whose public MCP servers have
internal authorization servers.

Reading: a proxy resolves names itself, so behind one only addresses that are written out are judged.

Documents that a server needs again and again (keys, metadata) are in a `CachedDocument`.
"""

import io
import ipaddress
import re
import socket
import threading
from base64 import b64encode
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, Generic, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple, TypeVar,
)
from urllib.parse import quote_plus, urlencode, urljoin

from .. import deadline as clocks
from ..deadline import Deadline
from ..errors import AnswerLost, AuthError, DiscoveryFailed, TransportError
from ..http11.client.connect import CancelScope, Connector, server_url
from ..http11.client.response import BROKEN, Reply, failure_text
from ..jsonrpc import json_type
from ..jsontext import JsonError, dumps, loads
from ..limits import DEFAULT, Limits
from ..urls import BadUrl, Url, is_token, perhaps_here, read_url

if TYPE_CHECKING:
    import ssl

    from ..streamable.http_trace import ExchangeTrace, HttpTrace

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


PUBLIC, PRIVATE, LINK_LOCAL, HERE = range(4)
"""Kinds of addresses; a server of one kind may lead to those before it."""
_WORDS = {PRIVATE: "is in a private network", LINK_LOCAL: "is link-local", HERE: "is this machine's"}
_ROUTED = ipaddress.ip_network("2000::/3")
_SPECIAL = tuple(map(ipaddress.ip_network, (
    "192.0.0.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.175.48.0/24",
    "2001::/23", "2001:db8::/32", "2620:4f:8000::/48", "3fff::/20")))
"""Blocks of IANA's registries of special-purpose addresses that some or all versions of Python take for public. Relays
and sinks of the nearest network answer at some of these, and no server that is meant for everybody."""
_WITH_FOUR = tuple(map(ipaddress.ip_network, ("64:ff9b::/96", "::/96", "::ffff:0:0/96")))
"""IPv6 addresses whose last 32 bits are an IPv4 address, to which packets go."""


def kind_of(address: str) -> int:
    """Return the kind of an address. One that cannot be read is of the worst kind.

    >>> kind_of("8.8.8.8") == PUBLIC, kind_of("10.1.2.3") == PRIVATE, kind_of("::ffff:127.0.0.1") == HERE
    (True, True, True)
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return HERE
    if isinstance(found, ipaddress.IPv6Address):
        within = any(found in network for network in _WITH_FOUR)  # ::1 and :: are 0.0.0.1 and 0.0.0.0 by this
        found = ipaddress.IPv4Address(found.packed[-4:]) if within else found.sixtofour or found
    if found.is_loopback or found.version == 4 and found.packed[0] == 0:
        return HERE
    if found.is_link_local:
        return LINK_LOCAL
    routed = found in _ROUTED if found.version == 6 else not found.is_multicast
    special = any(found in network for network in _SPECIAL)
    return PUBLIC if routed and found.is_global and not special else PRIVATE


class AddressPolicy:
    """Judges the addresses to which one MCP server leads. Thread-safe.

    ``home``: its URL. ``own``: URLs that the user has named. ``private_networks``: see the module.
    """

    def __init__(self, home: str, own: Iterable[str] = (), private_networks: bool = False) -> None:
        self.home = home
        self._own: Set[str] = {origin(home)}
        self.trust(own)
        self._may = HERE if split(home, "URL of the server").loopback else PRIVATE if private_networks else PUBLIC

    def trust(self, urls: Iterable[Optional[str]]) -> None:
        """Allow these origins at any address."""
        self._own.update(origin(url) for url in urls if url is not None)

    def trusts(self, url: str) -> bool:
        """True if the origin of this URL is allowed at any address."""
        return origin(url) in self._own

    def refusal(self, url: str, address: str, of_home: Callable[[], Optional[str]]) -> Optional[DiscoveryFailed]:
        """Return the reason against asking this address for ``url``; None if it may be asked.

        ``of_home``: returns the address of the MCP server, by a connection to it; None if there is none, or it does not
        tell.
        """
        kind = kind_of(address)
        if kind <= self._may or self.trusts(url):
            return None
        found = of_home()
        if found is not None:
            self._may = max(self._may, kind_of(found))
        if kind <= self._may:
            return None
        return DiscoveryFailed(
            "%s was not asked: its address %s %s, and the MCP server that leads there is not%s" % (
                shown(origin(url)), address, _WORDS[kind],
                "; private_networks=True allows that" if kind == PRIVATE else ""))


Fields = Sequence[Tuple[str, str]]
"""Header fields or form fields: names and values, in order."""

_REDIRECTS = (301, 302, 303, 307, 308)
_MAX_REDIRECTS = 3
_STEPS = 3
"""The part (1/3) of the time that one step of connecting, say to one address, takes at most, so that others have some.
"""


class HttpAnswer(NamedTuple):
    """The answer of a server. ``headers``: names in lower case, several of one name joined by ``", "``; ``url``: the
    one that was asked in the end, after redirects."""

    status: int
    headers: Dict[str, str]
    body: bytes
    url: str

    def json(self, what: str) -> Dict[str, Any]:
        """Return the body as a JSON object. Raises `DiscoveryFailed`, naming ``what`` it was meant to be."""
        try:
            value = loads(self.body)
        except JsonError as error:
            kind = self.headers.get("content-type", "").partition(";")[0][:80]
            raise DiscoveryFailed("the %s at %s is no JSON%s: %s"
                                  % (what, shown(self.url), " but %r" % kind if kind else "", error)) from None
        if not isinstance(value, dict):
            raise DiscoveryFailed("the %s at %s: expected object, got %s" % (what, shown(self.url), json_type(value)))
        return value

    def __repr__(self) -> str:
        return "HttpAnswer(%d, %d bytes, from %s)" % (self.status, len(self.body), shown(self.url))


class Fetcher:
    """Asks authorization servers, and MCP servers for their documents. Thread-safe.

    ``headers``: fields of every request; ``ssl_context``, ``cafile``: the certificates that TLS trusts; ``reach``: the
    addresses that may be asked, None: all, since every URL is the user's own or named by a server that he trusts. All
    methods raise `DiscoveryFailed` for a URL that must not be asked or an answer that must not be taken, and
    `AuthError` if there was no answer.
    """

    def __init__(
        self,
        limits: Limits = DEFAULT,
        *,
        ssl_context: "Optional[ssl.SSLContext]" = None,
        cafile: Optional[str] = None,
        headers: Fields = (),
        reach: Optional[AddressPolicy] = None,
    ) -> None:
        self.limits = limits
        self.reach = reach
        self._ssl_context = ssl_context
        self._cafile = cafile
        self._headers = tuple(headers)
        self.http_trace: "Optional[HttpTrace]" = None
        """The trace that is told of every request; None: there is none."""

    def get(self, url: str, headers: Fields = ()) -> HttpAnswer:
        """Ask for a document, following redirects within the origin. Any status is an answer."""
        deadline = Deadline(self.limits.auth_timeout)
        asked, left = checked(url, "URL to be asked"), _MAX_REDIRECTS
        while True:
            answer = self._ask("GET", asked, headers, None, deadline)
            location = answer.headers.get("location")
            if answer.status not in _REDIRECTS or location is None:
                return answer
            target = _target(asked, location)
            if not left:
                raise DiscoveryFailed("%s redirects more than %d times" % (shown(url), _MAX_REDIRECTS))
            asked, left = target, left - 1

    def post_form(self, url: str, fields: Fields, headers: Fields = ()) -> HttpAnswer:
        """Send a form [RFC 6749 Appendix B]. A redirect is an answer like any other."""
        body = urlencode(list(fields)).encode("ascii")
        return self._post(url, body, "application/x-www-form-urlencoded", headers)

    def post_json(self, url: str, value: Any, headers: Fields = ()) -> HttpAnswer:
        """Send a JSON value. A redirect is an answer like any other."""
        return self._post(url, dumps(value).encode("ascii"), "application/json", headers)

    def _post(self, url: str, body: bytes, kind: str, headers: Fields) -> HttpAnswer:
        deadline = Deadline(self.limits.auth_timeout)
        return self._ask("POST", checked(url, "URL to be asked"), [("Content-Type", kind), *headers], body, deadline)

    def tell_visit(self, url: str, party: str = "") -> None:
        """Tell the trace, if there is one, of a request that a user agent makes, for ``party`` if that is known."""
        if self.http_trace is not None:
            self.http_trace.visited(url, party)

    def _ask(self, method: str, url: str, headers: Fields, body: Optional[bytes], deadline: Deadline) -> HttpAnswer:
        cancel_scope = _DeadlineScope(deadline)
        seen: "Optional[ExchangeTrace]" = None
        try:
            step = max(0.001, (deadline.left() or 0.0) / _STEPS)
            dialler = self._dialler(url, step, deadline)
            fields = _fields(dialler.where, [*self._headers, *headers], body)
            lines = ["%s %s HTTP/1.1" % (method, dialler.where.target)] + ["%s: %s" % pair for pair in fields]
            request = ("\r\n".join(lines) + "\r\n\r\n").encode("ascii") + (body or b"")
            if self.http_trace is not None:
                seen = self.http_trace.request(
                    method, dialler.where.target, fields, body, dialler.where.origin, document=True)
            with dialler.dial(cancel_scope) as sock:
                cancel_scope.detach()
                return self._exchange(_Timed(sock, deadline), method, request, url, seen)
        except (TransportError,) + BROKEN as error:
            if seen is not None:
                seen.lost(error)
            late = deadline.expired() or isinstance(error, socket.timeout)
            why = "none within auth_timeout (%g seconds)" % self.limits.auth_timeout if late else _why(error)
            raise AuthError("no answer from %s: %s" % (shown(url), why)) from None

    def _dialler(self, url: str, step: float, deadline: Deadline) -> Connector:
        """Return a dialler to this URL, which connects only to addresses that may be asked.

        Raises as `Connector`, and `DiscoveryFailed`.
        """
        where, reach = server_url(url), self.reach
        if reach is None:
            return Connector(where, step, self._ssl_context, self._cafile)

        def refusal(address: str) -> Optional[DiscoveryFailed]:
            return reach.refusal(url, address, lambda: self._address_of(reach.home, step, deadline))

        made = Connector(where, step, self._ssl_context, self._cafile, refusal)
        # With a proxy, a host is judged here if it is an address; resolvers know many spellings of these.
        if made.proxy is not None and (":" in where.host or where.host.rstrip(".").rpartition(".")[2][:1].isdigit()):
            refused = refusal(where.host)
            if refused is not None:
                raise refused
        return made

    def _address_of(self, url: str, step: float, deadline: Deadline) -> Optional[str]:
        """Return the address of this server, as a connection with its name tells.

        Returns None if a proxy hides it, or no server is there.
        """
        try:
            dialler = Connector(server_url(url), step, self._ssl_context, self._cafile)
            if dialler.proxy is not None:
                return None
            cancel_scope = _DeadlineScope(deadline)
            with dialler.dial(cancel_scope) as sock:
                cancel_scope.detach()
                return str(sock.getpeername()[0])
        except (TransportError,) + BROKEN:
            return None

    def _exchange(
        self, sock: "_Timed", method: str, request: bytes, url: str, seen: "Optional[ExchangeTrace]",
    ) -> HttpAnswer:
        sock.send(request)
        reply = Reply(sock, method)  # type: ignore[arg-type]
        try:
            reply.begin()
            if seen is not None:
                seen.response(reply.status, reply.headers.pairs())
                reply.seen = seen
            fields = {name: ", ".join(reply.headers.get_all(name)) for name, _ in reply.headers.pairs()}
            return HttpAnswer(reply.status, fields, self._body(reply, url), url)
        finally:
            reply.tell_end(False)
            reply.close()

    def _body(self, reply: Reply, url: str) -> bytes:
        parts: List[bytes] = []
        size, limit = 0, self.limits.max_auth_response_bytes
        while size <= limit:
            part = reply.piece()
            if not part:
                return b"".join(parts)
            parts.append(part)
            size += len(part)
        raise DiscoveryFailed("the answer of %s exceeds max_auth_response_bytes (%d)" % (shown(url), limit))


def _why(error: BaseException) -> str:
    """Return what went wrong with a connection, without a word of what came by it."""
    if isinstance(error, AnswerLost):
        return "it was cut off"
    return failure_text(error) if isinstance(error, (OSError, TransportError)) else "what came is no HTTP"


def _target(asked: str, location: str) -> str:
    """Return the target of a redirect, if it may be followed. Raises `DiscoveryFailed`."""
    what = "target of the redirect from %s" % shown(asked)
    try:
        target = checked(urljoin(asked, location), what)
    except ValueError:
        raise DiscoveryFailed("the %s is no URL" % what) from None
    if origin(target) != origin(asked):
        raise DiscoveryFailed("the %s is on another origin, %s" % (what, origin(target)))
    return target


def _fields(where: Url, headers: Fields, body: Optional[bytes]) -> List[Tuple[str, str]]:
    """Return the header fields of a request; no proxy reads them. Raises `AuthError` for a field that cannot be sent,
    without its value."""
    fields = [("Host", where.authority), ("Accept", "application/json"), ("Connection", "close"), *headers]
    if body is not None:
        fields.append(("Content-Length", str(len(body))))
    if not any(name.lower() == "user-agent" for name, _ in headers):
        fields.append(("User-Agent", "mcp_ref"))
    for name, value in fields:
        if not (value.isascii() and value.isprintable() and is_token(name)):
            raise AuthError("the header field %.80r cannot be sent" % name)
    return fields


def basic(client_id: str, client_secret: str) -> Tuple[str, str]:
    """Return the field of HTTP Basic authentication.

    Both parts are encoded as in a form first, so that a colon cannot move [RFC 6749 §2.3.1].
    """
    pair = "%s:%s" % (quote_plus(client_id), quote_plus(client_secret))
    return "Authorization", "Basic " + b64encode(pair.encode("ascii")).decode("ascii")


class _DeadlineScope(CancelScope):
    """A `CancelScope` that begins nothing on a socket after the deadline: a name may have any number of addresses."""

    def __init__(self, deadline: Deadline) -> None:
        super().__init__()
        self._deadline = deadline

    def attach(self, sock: socket.socket) -> None:
        """Take the socket, unless the time is over; see `CancelScope.attach`."""
        if self._deadline.expired():
            self.cancel()
        super().attach(sock)


class _Timed(io.RawIOBase):
    """A socket that waits only for the rest of the deadline, every time: many small pieces get no more of it."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        super().__init__()
        self._sock = sock
        self._deadline = deadline

    def _arm(self) -> None:
        """Let the socket wait no longer than the rest of the time. Raises `socket.timeout` if nothing is left."""
        left = self._deadline.left()
        if not left:
            raise socket.timeout("timed out")
        self._sock.settimeout(left)

    def send(self, data: bytes) -> None:
        """Send all of it."""
        self._arm()
        self._sock.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        """Return the file that `http.client` reads from."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        """Return True; see `io.RawIOBase.readable`."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what has come; see `io.RawIOBase.readinto`."""
        self._arm()
        return self._sock.recv_into(buffer)


Document = TypeVar("Document")


class CachedDocument(Generic[Document]):
    """A document that is fetched when it is first needed, and again when it is old. Thread-safe.

    ``fetch()`` returns the document, or raises `AuthError`. A document that is older than ``lifetime`` seconds is
    fetched again; if that fails it is good for ``longest`` seconds. Fetches that fail, or find nothing new, are
    ``pause`` seconds apart. One thread fetches. Others get the document at hand, or if there is none wait for the
    fetch, at most ``max_waiting`` of them for ``patience`` seconds each. ``what`` names the document in errors, and
    ``warn(text, *values)`` logs a failure.
    """

    def __init__(
        self, fetch: Callable[[], Document], what: str, warn: Callable[..., None], *, lifetime: float, longest: float,
        pause: float, max_waiting: int, patience: float,
    ) -> None:
        self._fetch, self._what, self._warn = fetch, what, warn
        self._lifetime, self._longest, self._pause = lifetime, longest, pause
        self._max_waiting, self._patience = max_waiting, patience
        self._found: Tuple[float, Optional[Document]] = (float("-inf"), None)
        """The time of the last fetch that succeeded, and the document."""
        self._next = float("-inf")
        self._failure = ""
        self._fetching = False
        self._waiting = 0
        # Guards all of these. It is not held during a fetch, when `_fetching` keeps other threads out. `_found` is
        # replaced as a whole, so it is read without the lock.
        self._fetched = threading.Condition()

    def get(self) -> Document:
        """Return the document. Raises `DiscoveryFailed` if there is none that is good."""
        at, found = self._found
        age = clocks.clock() - at
        if age >= self._lifetime:
            self._renew(found, wait=age >= self._longest)
            at, found = self._found
        if found is None or clocks.clock() - at >= self._longest:
            raise DiscoveryFailed("there are no %s: %s" % (self._what, self._failure))
        return found

    def newer(self, seen: Document) -> Document:
        """Return a newer document than ``seen`` if one can be had now, else ``seen``. Raises `DiscoveryFailed`."""
        self._renew(seen, wait=True)
        found = self._found[1]
        return seen if found is None else found

    def _renew(self, seen: Optional[Document], wait: bool) -> None:
        """Fetch the document, unless ``seen`` has been replaced already or the last fetch is too recent."""
        with self._fetched:
            if self._fetching and not wait:
                return
            if self._fetching:
                if self._waiting >= self._max_waiting:
                    raise DiscoveryFailed("the %s are being fetched, and too many requests wait for them" % self._what)
                self._waiting += 1
                try:
                    self._fetched.wait_for(lambda: not self._fetching, self._patience)
                finally:
                    self._waiting -= 1
                return
            if self._found[1] is not seen or clocks.clock() < self._next:
                return
            self._fetching = True
        found, failure = None, "fetching was interrupted"
        try:
            found, failure = self._fetch(), ""
        except AuthError as error:
            failure = str(error)
            self._warn("the %s could not be fetched: %s", self._what, error)
        finally:
            with self._fetched:
                self._failure = failure
                if found is not None:
                    self._found = (clocks.clock(), found)
                self._next = clocks.clock() + self._pause
                self._fetching = False
                self._fetched.notify_all()
