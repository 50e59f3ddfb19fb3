"""The signs in the answer to a request of the stateless era that the server is of that era, too.

A result says yes. An error says yes if RECOGNIZED has its code, and what comes with it is as the stateless revision
defines it; over HTTP that is looked at before the status
[2026-07-28 basic/transports/streamable-http §Backward Compatibility] SHOULD. Any other error says no: servers with a
handshake answer an unknown request with any error
[2026-07-28 basic/transports/stdio §Backward Compatibility] MUST NOT.

Reading: -32602 and -32600 are what older servers say to any request that comes before `initialize`, so they say no,
even though a modern server uses -32602 for a request without `_meta`; ours have it. -32601 says yes only with the
status 404, which is how a modern HTTP server says it; older ones say it with others, and 404 with other codes or none.
"""

from typing import Any, Callable, Dict, NamedTuple, Optional

from ..errors import (
    HEADER_MISMATCH, METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION, McpError, PeerError,
)


class Sign(NamedTuple):
    """The conditions under which an error of one code is a sign of the stateless era."""

    status: Optional[int]
    """The HTTP status that it must come with; None: any, or none where there is no HTTP."""
    fits: Callable[[Any], bool]
    """The test of its ``data``: True if they are what the code needs."""


def _supported(data: Any) -> bool:
    named = data.get("supported") if isinstance(data, dict) else None
    return isinstance(named, list) and all(isinstance(name, str) for name in named)


def _required(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("requiredCapabilities"), dict)


def _anything(data: Any) -> bool:
    return True


RECOGNIZED: Dict[int, Sign] = {
    # [2026-07-28 basic/versioning §Protocol Version Negotiation] MUST: with the versions that it does support
    UNSUPPORTED_PROTOCOL_VERSION: Sign(None, _supported),
    MISSING_CLIENT_CAPABILITY: Sign(None, _required),
    HEADER_MISMATCH: Sign(None, _anything),
    # [2026-07-28 basic/transports/streamable-http §Protocol Version Header] MUST: 404, told apart by the body
    METHOD_NOT_FOUND: Sign(404, _anything),
}
"""Code -> the conditions under which it is one of the modern errors."""


_NO_SIGN = (401, 403, 408, 425, 429)
"""Statuses that ask for authorization, deny it, or refuse for now. The same request may be answered another time."""


def older(status: int) -> bool:
    """Return True if a refusal with this status, and without a modern error, comes from a server with a handshake.

    [2026-07-28 basic/versioning §Compatibility Matrix]: any 4xx. Reading: except _NO_SIGN; and neither a failure inside
    the server or on the way (5xx) nor a redirect.
    """
    return 400 <= status < 500 and status not in _NO_SIGN


def recognized(code: int, data: Any, status: Optional[int] = None) -> bool:
    """Return True if this error comes from a server of the stateless era; ``status`` is that of `errors.PeerError`."""
    sign = RECOGNIZED.get(code)
    return sign is not None and sign.status in (None, status) and sign.fits(data)


def modern(error: McpError) -> bool:
    """Return True if the error that was raised comes from a server of the stateless era."""
    return isinstance(error, PeerError) and recognized(error.code, error.data, error.status)
