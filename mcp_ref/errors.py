"""The exceptions of the package, by the party at fault.

::

    McpError
      ProtocolError        the specification was broken
        LocalProtocolError   by us or by our caller; raised before anything is sent
        PeerProtocolError    by the other side; only the receiving boundary makes these
          InvalidResult        a tool's result is not what its schema promised; it has the result
      RpcError             a JSON-RPC error that we send: code, message, data
      PeerError            a JSON-RPC error that arrived as the answer to our own request
      TransportError       the connection: ConnectFailed, ConnectionLost; Rejected = one message refused
        HttpStatus           one HTTP request was refused; AnswerLost: its answer did not come through
      InputUnavailable     a server's question that has no answer
      RequestTimeout       no answer in time; never sent as a JSON-RPC error
      RequestCancelled     cancelled by a caller or by the peer; never sent as a JSON-RPC error
      NoThreads            this Python cannot start threads, as in a web page
      AuthError            authorization; its children say what failed

Rules raise the local kind, and the code that reads from a peer makes the peer's kind of it. A `PeerError` of a
nested call is not our own answer: unless the handler decides otherwise, the peer that called us gets an internal error.

CODES has the error codes with the window of revisions that define them.
"""

from typing import Any, Dict, NamedTuple, Optional, Sequence, Union

from .options import strict_options

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
USER_REJECTED = -1
RESOURCE_NOT_FOUND = -32002
URL_ELICITATION_REQUIRED = -32042
HEADER_MISMATCH = -32020
MISSING_CLIENT_CAPABILITY = -32021
UNSUPPORTED_PROTOCOL_VERSION = -32022


class Code(NamedTuple):
    """A row of CODES."""

    code: int
    name: str
    since: Optional[str]
    until: Optional[str]
    page: str


CODES: Dict[int, Code] = {
    row.code: row
    for row in (
        Code(PARSE_ERROR, "parse error", None, None, "basic/index"),
        Code(INVALID_REQUEST, "invalid request", None, None, "basic/index"),
        Code(METHOD_NOT_FOUND, "method not found", None, None, "basic/index"),
        Code(INVALID_PARAMS, "invalid params", None, None, "basic/index"),
        Code(INTERNAL_ERROR, "internal error", None, None, "basic/index"),
        Code(USER_REJECTED, "user rejected the request", None, None, "client/sampling"),
        Code(RESOURCE_NOT_FOUND, "resource not found", None, "2025-11-25", "server/resources"),
        Code(URL_ELICITATION_REQUIRED, "URL elicitation required", "2025-11-25", "2025-11-25", "client/elicitation"),
        Code(HEADER_MISMATCH, "header mismatch", "2026-07-28", None, "basic/transports/streamable-http"),
        Code(MISSING_CLIENT_CAPABILITY, "missing client capability", "2026-07-28", None, "basic/index"),
        Code(UNSUPPORTED_PROTOCOL_VERSION, "unsupported protocol version", "2026-07-28", None, "basic/versioning"),
    )
}
"""The codes that JSON-RPC and the revisions define; receivers assume nothing about any other."""

RESERVED = range(-32099, -32019)
"""Codes that only the protocol may give a meaning [2026-07-28 basic/index §Error Codes] MUST NOT."""

ABOUT_REQUESTS = frozenset((HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION))
"""Errors that always refuse a request as a whole; over HTTP each has a status of its own."""


class McpError(Exception):
    """Base of every error of this package."""


class ProtocolError(McpError):
    """The specification was broken; ``citation`` says which page and heading."""

    party = ""

    def __init__(self, message: str, citation: str = "") -> None:
        super().__init__("%s [%s]" % (message, citation) if citation else message)
        self.citation = citation


class LocalProtocolError(ProtocolError):
    """A message that we were about to send would break the specification; nothing was sent."""

    party = "local"


class CapabilityMissing(LocalProtocolError):
    """The peer did not declare the capability that this message needs; ``capability`` names it."""

    def __init__(self, message: str, capability: str, citation: str = "") -> None:
        super().__init__(message, citation)
        self.capability = capability


class PeerProtocolError(ProtocolError):
    """The peer broke the specification."""

    party = "peer"


class InvalidResult(PeerProtocolError):
    """A tool's result does not fit the tool's output schema; ``result`` is the message as it came."""

    def __init__(self, message: str, result: Any, citation: str = "") -> None:
        super().__init__(message, citation)
        self.result = result


class RpcError(McpError):
    """A JSON-RPC error to be sent as the answer. Raise it in a handler to answer with that code.

    ``code`` is an integer, ``message`` one concise sentence, ``data`` any JSON value (None: left out).
    """

    @strict_options
    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__("%s (%d)" % (message, code))
        self.code = code
        self.message = message
        self.data = data


class PeerError(McpError):
    """The peer answered our request with a JSON-RPC error: ``code``, ``message``, ``data``.

    ``method`` and ``request_id`` are those of our request.
    """

    status: Optional[int] = None
    """The HTTP status that it came with, unless that was one of success; else None."""

    def __init__(self, code: int, message: str, data: Any, method: str, request_id: Union[int, str]) -> None:
        uri = data.get("uri") if isinstance(data, dict) else None
        what = ": %s" % repr(uri[:200])[1:-1] if isinstance(uri, str) and uri not in str(message) else ""
        super().__init__("%s failed: %s%s (%d)" % (method, message, what, code))
        self.code = code
        self.message = message
        self.data = data
        self.method = method
        self.request_id = request_id


class TransportError(McpError):
    """The connection, or one message on it, failed."""

    unsent = False
    """True if the request was certainly not worked on, so that it may be sent again."""


class ConnectFailed(TransportError):
    """No connection could be opened; the text says where it was tried and what came back."""

    unsent = True


class ConnectionLost(TransportError):
    """The connection ended; the text says why, in one line."""

    may_have_run = False
    """True if the server may have executed the request, so that repeating it could execute it twice. It is set only
    where a client repeats other requests by itself: see `mcp_ref.client.request_flow`."""
    left: object = None
    """The connection that goes on although its peer has gone away, or None."""


class SessionExpired(ConnectionLost):
    """The server does not know our HTTP session any more, and has refused the request because of that.

    A `Client` begins a new session, once for each request, before it raises this.
    """

    unsent = True


class HttpStatus(TransportError):
    """The server refused one HTTP request; the text has status, reason and how the body begins.

    ``status`` is the code, ``challenges`` the values of WWW-Authenticate.
    """

    def __init__(self, message: str, status: int, challenges: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.challenges = list(challenges)


class AnswerLost(TransportError):
    """The answer to one request did not come through, while others may; the server may have worked on it."""


class Rejected(TransportError):
    """One message was refused and the connection goes on.

    ``code`` is the JSON-RPC code that answers it where an answer is possible.
    """

    def __init__(self, message: str, code: int = INVALID_REQUEST) -> None:
        super().__init__(message)
        self.code = code


class Busy(TransportError):
    """A limit of ours is reached (workers, requests in flight); the text names it."""


class InputUnavailable(McpError):
    """The server asked a question before it answers a request, and there is no answer to give.

    ``key`` and ``method`` are those of its question; the cause is what the callback raised. See
    `mcp_ref.client.mrtr`.
    """

    def __init__(self, message: str, key: str = "", method: str = "") -> None:
        super().__init__(message)
        self.key = key
        self.method = method


class RequestTimeout(McpError, TimeoutError):
    """The request has no answer in time. ``notifications/cancelled`` was sent if the specification allows it."""


class RequestCancelled(McpError):
    """The request was cancelled, by us (a caller's `cancel`) or by the peer (in a handler)."""


class NoThreads(McpError, RuntimeError):
    """The call needs threads, and this Python cannot start any; the text says which calls work instead."""


class AuthError(McpError):
    """The base of errors of authorization. Their texts contain no token, no code and no secret."""


class Unauthorized(AuthError):
    """A server lets us in only with an access token, and there is none that it takes; the text says what to do."""


class InsufficientScope(AuthError):
    """The token does not allow what was asked for; ``scopes`` are those that the server wants for it."""

    def __init__(self, message: str, scopes: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.scopes = list(scopes)


class DiscoveryFailed(AuthError):
    """The authorization server could not be found, or its metadata must not be used."""


class IssuerMismatch(AuthError):
    """A document or a redirect comes from another authorization server than it should; nothing of it was used."""


class RegistrationRefused(AuthError):
    """An authorization server does not know us as a client; the text says how to register."""


class TokenRefused(AuthError):
    """An authorization server gave no token. ``error``: its code [RFC 6749 §5.2]; ``description``: what it said of it.
    """

    def __init__(self, message: str, error: str = "", description: str = "") -> None:
        super().__init__(message)
        self.error = error
        self.description = description


class ToolError(McpError):
    """Raised by a tool to tell the model what went wrong: the text goes to it verbatim.

    Raised by the function of a resource, a prompt or a completion, its text is the message of the error.
    """


class TooManyQuestions(Busy, ToolError):
    """A handler cannot wait for its peer now, because too many do; the text names the limit. In a tool the text is
    sent to the model."""


class ResourceNotFound(McpError):
    """Raised by the function of a resource: there is nothing at this URI after all.

    The client gets its revision's own code for that and the URI, not the text
    [..2025-11-25 server/resources §Error Handling] SHOULD.
    """
