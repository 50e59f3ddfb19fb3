"""The reasons to refuse an HTTP request to an MCP endpoint, the replies to them, their order; and the era of a POST.

REFUSALS has for each reason the status, the JSON-RPC code and the text. ORDER has for each method the reasons, first to
last. The first part of a row depends on the header fields alone, so `Rules.judge` decides it and endpoints remember the
verdict. The rest needs the body or the session: `mcp_ref.streamable.server.post` walks it in this order.

The order: a foreign site learns nothing; then comes the kind of the request; then its sender; and last the checks that
cost most. The body of a refusal is a JSON-RPC error without id, or with that of the request where it could
be read [2025-11-25 basic/transports §Security Warning] MAY.

Statuses that the pages do not name (406, 413, 415, 503) are those of RFC 9110 §15.

The HTTP engine refuses some requests before there is one to judge, in plain text that names the limit:

======  ==============================================================================================================
408     the head took longer than ``http_header_timeout``, or the body than ``http_body_timeout``
413     the body has more than ``max_message_bytes``, or would not fit into ``max_body_bytes_total`` if it were alone
414     the request line has more than ``max_request_line_bytes``
431     the head has more than ``max_header_bytes``, or ``max_header_fields``
503     there is no room for another body (``max_body_bytes_total``), or connection (``max_http_connections``)
======  ==============================================================================================================
"""

from functools import lru_cache
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ...errors import HEADER_MISMATCH, INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, RpcError
from ...jsonrpc import Batch, ErrorResponse, Frame, Malformed, Notification, Request, ResultResponse, shown
from ...methods import INITIALIZE
from ...revisions import Revision
from .. import envelope
from . import mirrored
from .header_values import Hosts, accepts, media_type

JSON = "application/json"
SSE = "text/event-stream"

Pairs = Tuple[Tuple[str, str], ...]


class Refusal(NamedTuple):
    """The reply to one reason. ``text`` has a place for what was found, and says what to do about it.

    ``retry``: True if the reply says in Retry-After when the request may be sent again.
    """

    status: int
    code: int
    text: str
    retry: bool = False


REFUSALS: Dict[str, Refusal] = {
    # [RFC 9110 §5.3] MUST NOT be sent. Reading: a proxy before the server may go by either of them.
    "repeated": Refusal(400, INVALID_REQUEST, "Invalid request: more than one field %s, which has one value"),
    # [..2025-11-25 basic/transports §Security Warning] MUST in the older revisions, without a status
    "host": Refusal(403, INVALID_REQUEST, "Host %s is not allowed here; the option allowed_hosts lists those that are"),
    "origin": Refusal(
        403, INVALID_REQUEST, "Origin %s is not allowed here; the option allowed_origins lists those that are"),
    "path": Refusal(404, INVALID_REQUEST, "There is nothing at %s; the endpoint has another path"),
    # [2025-03-26..2025-11-25 basic/transports §Listening for Messages from the Server] MUST: 405 where there is no GET
    "method": Refusal(405, INVALID_REQUEST, "Method %s is not allowed here"),
    # [2025-03-26..2025-11-25 basic/authorization §Error Handling]
    # [2026-07-28 basic/authorization/index §Error Handling] MUST
    "credentials": Refusal(400, INVALID_REQUEST, "Malformed authorization%s"),
    "principal": Refusal(401, INVALID_REQUEST, "Not authenticated%s"),
    "scope": Refusal(403, INVALID_REQUEST, "Not allowed%s"),
    "unchecked": Refusal(503, INTERNAL_ERROR, "Authorization cannot be checked now%s", True),
    "media type": Refusal(415, INVALID_REQUEST, "Content-Type must be application/json, not %s"),
    "accept": Refusal(406, INVALID_REQUEST, "Accept must list application/json and text/event-stream, not %s"),
    "stream accept": Refusal(406, INVALID_REQUEST, "Accept must list text/event-stream, not %s"),
    "length": Refusal(413, INVALID_REQUEST, "message of %s bytes exceeds max_message_bytes"),
    # [2026-07-28 basic/transports/streamable-http §Protocol Version Header] MUST; `HttpEras` says the code, too
    "era": Refusal(400, HEADER_MISMATCH, "%s"),
    # [2025-03-26..2025-11-25 basic/transports §Session Management] MUST: 404 for an id that is none (any more)
    "session": Refusal(404, INVALID_REQUEST, "No such session%s: it has ended, or never began; initialize a new one"),
    "body": Refusal(400, INVALID_REQUEST, "%s"),
    # [2025-03-26..2025-11-25 basic/transports §Session Management] SHOULD: 400 for a request without an id
    "no session": Refusal(400, INVALID_REQUEST, "Mcp-Session-Id is missing%s: initialize gives one"),
    # [2025-06-18..2025-11-25 basic/transports §Protocol Version Header] MUST
    "version": Refusal(400, INVALID_REQUEST, "MCP-Protocol-Version: %s"),
    "batch": Refusal(400, INVALID_REQUEST, "Invalid request: %s"),
    "closing": Refusal(503, INTERNAL_ERROR, "The server is shutting down%s", True),
    # [2026-07-28 basic/transports/streamable-http §Server Validation] MUST; see `mirrored`
    "fields": Refusal(400, HEADER_MISMATCH, "%s"),
    "no stream": Refusal(404, METHOD_NOT_FOUND, "%s"),
    "busy": Refusal(503, INTERNAL_ERROR, "%s"),
    "full": Refusal(503, INTERNAL_ERROR, "Too many sessions: max_sessions (%s) are open", True),
    "full share": Refusal(
        503, INTERNAL_ERROR, "Too many sessions of this client: max_session_share leaves %s of max_sessions to one"
        " subject or address; behind a proxy the server needs the option trusted_proxies", True),
    "id in use": Refusal(400, INVALID_REQUEST, "Invalid request: %s"),
    "event": Refusal(400, INVALID_REQUEST, "Last-Event-ID %s: nothing of that stream is kept any more"),
    "failure": Refusal(500, INTERNAL_ERROR, "Internal error%s"),
}
"""Reason -> the reply."""

_SITE = ("repeated", "host", "origin", "path", "method")
_WHO = ("credentials", "unchecked", "principal")
ORDER: Dict[str, Tuple[str, ...]] = {
    "POST": _SITE + ("media type", "accept", *_WHO, "length", "scope", "era", "session", "body", "no session",
                     "version", "batch", "closing", "fields", "no stream", "busy", "full", "full share", "id in use"),
    "GET": _SITE + ("stream accept", *_WHO, "scope", "no session", "session", "version", "closing", "event"),
    "DELETE": _SITE + (*_WHO, "scope", "no session", "session", "version"),
    "OPTIONS": _SITE,
}
"""Method -> the reasons to refuse it, first to last. Any other method is refused by ``method`` at the latest."""
HTTP_SSE: Dict[str, Tuple[str, ...]] = {
    "GET": _SITE + ("stream accept", *_WHO, "scope", "version", "closing", "full", "full share"),
    "POST": _SITE + ("media type", *_WHO, "length", "no session", "session", "version", "scope", "body", "batch",
                     "closing"),
    "OPTIONS": _SITE,
}
"""The order for the two addresses of HTTP+SSE. A POST may accept any media type there, for its reply has no body."""

SINGLE = ("Host", "Origin", "Content-Type", "Mcp-Session-Id", "MCP-Protocol-Version", "Last-Event-ID")
"""The fields with one value that decide something here. Those that repeat the body are checked with it, see `mirrored`;
the guard names those with credentials."""
DENIED = {400: "credentials", 401: "principal", 403: "scope", 503: "unchecked"}
"""The status of a refusal by a guard -> the reason."""
_EXPOSED = "Mcp-Session-Id, WWW-Authenticate"
_ALLOWED_FIELDS = ("authorization", "dpop", "content-type", "accept", "last-event-id")
_PREFLIGHT_SECONDS = "3600"


class HeaderVerdict(NamedTuple):
    """The judgement of the header fields of one request."""

    reason: Optional[str]
    """The first reason to refuse it, a key of REFUSALS; None: there is none."""
    found: str
    """The value for the text of the reason."""
    cors: Pairs
    """The header fields of every reply to this origin; () where no browser asks."""
    json: bool
    """True if the client accepts JSON."""
    sse: bool
    """True if the client accepts a stream."""


class Rules:
    """The first part of the order, which needs the header fields alone.

    ``path``: the path of the endpoint, None for any. ``methods``: its HTTP methods. ``hosts`` and ``origins``: see
    `header_values.Hosts`. ``strict``: a POST must accept both JSON and streams; otherwise one of them is enough.
    ``order``: ORDER, or HTTP_SSE.
    """

    def __init__(
        self, path: Optional[str], methods: Sequence[str], hosts: Hosts, origins: Hosts, strict: bool = False,
        order: Mapping[str, Tuple[str, ...]] = ORDER,
    ) -> None:
        self._path = None if path is None else path.rstrip("/")
        self._methods = tuple(methods)
        self._hosts = hosts
        self._origins = origins
        self._strict = strict
        self._order = order

    def remembering(self) -> "Callable[..., HeaderVerdict]":
        """Return `judge` with a memory, for a client sends the same fields each time; without one where the names that
        are allowed may change."""
        return self.judge if self._hosts.changing or self._origins.changing else lru_cache(maxsize=128)(self.judge)

    def judge(
        self, method: str, path: str, host: Optional[str], origin: Optional[str], accept: Optional[str],
        content_type: Optional[str],
    ) -> HeaderVerdict:
        """Judge a request by these fields; a missing field is None."""
        taken = accepts(accept, JSON), accepts(accept, SSE)
        reason, found = self._refuse(method, path, host, origin, accept, content_type, taken)
        # A refused origin learns nothing: its page cannot read the reply.
        foreign = origin is None or reason in ("host", "origin")
        return HeaderVerdict(reason, found, () if foreign else _cors(origin or ""), *taken)

    def _refuse(
        self, method: str, path: str, host: Optional[str], origin: Optional[str], accept: Optional[str],
        content_type: Optional[str], taken: Tuple[bool, bool],
    ) -> Tuple[Optional[str], str]:
        # A client of HTTP/1.0 may leave Host out. No browser does, and DNS rebinding attacks browsers alone.
        # Step 1 [2026-07-28 basic/transports/streamable-http §Security & Endpoint] MUST: an invalid Origin is 403.
        rungs = {
            "host": (host is None or self._hosts.allow(host), host),
            "origin": (origin is None or self._origins.allow_origin(origin), origin),
            "path": (self._path is None or path.rstrip("/") == self._path, path),
            "method": (method in self._methods, method),
            "media type": (media_type(content_type) == JSON, content_type),
            "accept": (all(taken) if self._strict else any(taken), accept),
            "stream accept": (taken[1], accept),
        }
        for reason in self._order.get(method, _SITE):
            right, found = rungs.get(reason, (True, None))
            if not right:
                return reason, (found or "nothing")[:200]
        return None, ""

    @property
    def allow(self) -> str:
        """Return the value of Allow."""
        return ", ".join(self._methods)


def _cors(origin: str) -> Pairs:
    """Return the fields by which a browser lets the page of this origin see the reply [Fetch §3.3]."""
    return (
        ("Access-Control-Allow-Origin", origin),
        ("Access-Control-Expose-Headers", _EXPOSED),
        ("Vary", "Origin"),
    )


def preflight(methods: str, wanted: Optional[str]) -> Pairs:
    """Return the fields of the reply to a preflight; ``wanted``: the header fields it asks for, comma-separated."""
    names = [name.strip().lower() for name in (wanted or "").split(",")]
    allowed = [name for name in names if name in _ALLOWED_FIELDS or name.startswith(("mcp-", "x-mcp-"))]
    return (
        ("Access-Control-Allow-Methods", methods),
        ("Access-Control-Allow-Headers", ", ".join(dict.fromkeys(allowed)) or ", ".join(_ALLOWED_FIELDS)),
        ("Access-Control-Max-Age", _PREFLIGHT_SECONDS),
    )


# -- The version header ------------------------------------------------------------------------


def version_fault(value: str, known: Sequence[str], agreed: Optional[Revision], strict: bool) -> str:
    """Return why an `MCP-Protocol-Version` is refused, "" if it is not.

    [2025-06-18..2025-11-25 basic/transports §Protocol Version Header] MUST. Reading: a lenient server goes by the
    negotiated version and takes the header of any revision that it serves; a strict one wants that of the session.

    A request without the header is not refused: in a session it means the negotiated version, without sessions
    2025-03-26 (`post_sessionless`). Only 2026-07-28 needs one: `HttpEras.judge`.
    """
    if value not in known:
        return "%.40r is not supported; supported are %s" % (value, ", ".join(known))
    if strict and agreed is not None and value != agreed.name:
        return "%s is not what was negotiated, %s" % (value, agreed)
    return ""


# -- The body ----------------------------------------------------------------------------------


class Kinds(NamedTuple):
    """The kinds of messages in a batch."""

    requests: List[Any]
    """The ids of the requests."""
    responses: bool
    """True if it holds responses, also broken ones."""
    broken: bool
    """True if an item is no message and has to be answered."""
    others: bool
    """True if it holds notifications."""


def kinds(batch: Batch) -> Kinds:
    """Return the kinds of messages in a batch."""
    items = batch.items
    broken = [item for item in items if isinstance(item, Malformed)]
    return Kinds(
        [item.id for item in items if isinstance(item, Request)],
        any(isinstance(item, (ResultResponse, ErrorResponse)) for item in items)
        or any(item.silent and item.id is not None for item in broken),
        any(not item.silent for item in broken),
        any(isinstance(item, Notification) for item in items),
    )


def batch_fault(found: Kinds, batching: bool) -> str:
    """Return why a batch is refused, "" if it is not.

    [2025-03-26 basic/transports §Sending Messages to the Server] MUST: requests and notifications, or responses.
    """
    if not batching:
        return "this revision has no batches"
    if found.responses and (found.requests or found.others or found.broken):
        return "a batch holds either responses or requests and notifications"
    return ""


# The era of a POST

LEGACY, MODERN = "legacy", "modern"
_UNKNOWN = "anything else"
_FIELD, _VERSION = mirrored.VERSION, envelope.VERSION


class HttpEras:
    """Finds the era of a POST by header field and body, for a server that speaks ``ours``, oldest first.

    The table has the result for a *request*, by the version of `MCP-Protocol-Version` and the version in its `_meta`;
    "ours" is a version that this server speaks:

    ==================  ==================  =================  ====================  =====================
    header              no such `_meta`     the same version   another version       `_meta` without one
    ==================  ==================  =================  ====================  =====================
    none                legacy (1)          --                 -32020                -32602
    legacy, ours        legacy              -32022             -32020                -32602
    modern, ours        -32602              **served**         -32020                -32602
    anything else       -32022 (2)          -32022             -32020                -32602
    ==================  ==================  =================  ====================  =====================

    1. Where no legacy revision is spoken: -32020, for the header is missing.
    2. In a session it is legacy, whose rules refuse the header.

    *legacy* means: by the rules of the revisions with sessions. There a session id counts, and everywhere else it is
    ignored [2026-07-28 basic/transports/streamable-http §Earlier Streamable HTTP Revisions] SHOULD. `initialize`
    without such `_meta` is legacy whatever the header says, because it opens a session [2026-07-28 basic/versioning
    §Compatibility Matrix]; where none can be opened it is refused by -32022, which names the spoken versions
    [2026-07-28 basic/versioning §Backward Compatibility with Initialization-Based Versions] SHOULD.

    A *notification* with a modern header or such `_meta` belongs to the modern era, else to the legacy one. Reading:
    the page defines no header fields for it [2026-07-28 basic/transports/streamable-http §Sending Messages], so none is
    compared; and where no legacy revision is spoken, one without a header is taken, too. A *batch* or a *response* is
    never modern [2026-07-28 basic/transports/streamable-http §Sending Messages] MUST, MUST NOT.
    """

    def __init__(self, ours: Sequence[Revision]) -> None:
        self.ours = tuple(ours)
        self.handshake = tuple(one.name for one in ours if one.handshake)
        self._kinds: Dict[str, str] = {one.name: MODERN if one.stateless else LEGACY for one in ours}
        self.modern = MODERN in self._kinds.values()
        """True if a stateless revision is spoken; `judge` is for such servers."""
        self.legacy = bool(self.handshake)
        """True if a revision with sessions is spoken."""

    def judge(self, frame: Union[Frame, Malformed], header: Optional[str], in_session: bool) -> Union[str, RpcError]:
        """Return LEGACY or MODERN, or the error of a message that belongs to neither.

        ``in_session``: True if a session id came with it. A MODERN request may still be refused by its envelope.
        """
        kind = None if header is None else self._kinds.get(header, _UNKNOWN)
        if isinstance(frame, Request):
            meta = frame.params.get("_meta") if frame.params else None
            # Step 1 [2026-07-28 basic/transports/streamable-http §Protocol Version Header] MUST: header and `_meta`
            # name the same version. Most requests pass here at once.
            if kind is MODERN and type(meta) is dict and meta.get(_VERSION) == header:
                return MODERN
            if meta is not None and envelope.carries(frame.params):
                return self._compare(header, meta.get(_VERSION))
            if frame.method == INITIALIZE:
                return LEGACY if self.legacy else MODERN
        elif isinstance(frame, Notification):
            if kind is None and not self.legacy or envelope.carries(frame.params):
                return MODERN
        elif isinstance(frame, Malformed):
            return MODERN if kind is MODERN else LEGACY  # it is refused there, by whatever is wrong with it
        elif kind == MODERN or not self.legacy:
            return RpcError(INVALID_REQUEST, "Invalid request: a POST holds one request or one notification")
        if kind == MODERN:
            return MODERN
        if self.legacy and (kind != _UNKNOWN or in_session):
            return LEGACY
        return mismatch("%s is missing" % _FIELD) if header is None else envelope.unsupported(header, self.ours)

    def _compare(self, header: Optional[str], version: object) -> Union[str, RpcError]:
        """Compare the header with the version in `_meta`
        [2026-07-28 basic/transports/streamable-http §Protocol Version Header] MUST."""
        if not isinstance(version, str) or header == version:
            return MODERN
        if header is None:
            return mismatch("%s is missing: it repeats the version in _meta, '%s'" % (_FIELD, shown(version)))
        return mismatch("%s '%s' is not the version in _meta, '%s'" % (_FIELD, shown(header), shown(version)))


def mismatch(text: str) -> RpcError:
    """Return the error for header fields that do not fit the body; ``text`` says which
    [2026-07-28 basic/transports/streamable-http §Server Validation] MUST."""
    return RpcError(HEADER_MISMATCH, "Header mismatch: %s" % text)
