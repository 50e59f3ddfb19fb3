"""The header fields of an HTTP client's requests: which are the client's own, and which its caller may add."""

import re
from typing import Dict, Mapping, Optional

from ...http11.client.connection_pool import Fields
from ...urls import is_token

_OURS = frozenset((
    "accept", "accept-encoding", "connection", "content-length", "content-type", "host", "last-event-id",
    "mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id", "transfer-encoding",
))
"""Header fields that a caller cannot set, nor any that begins with _MIRRORED."""
_MIRRORED = "mcp-param-"
ACCEPT: Dict[str, Fields] = {
    # [2025-03-26..2025-11-25 basic/transports §Sending Messages to the Server] MUST: both.
    # [2026-07-28 basic/transports/streamable-http §Sending Messages] MUST
    "POST": (("Accept", "application/json, text/event-stream"), ("Content-Type", "application/json")),
    # [2025-03-26..2025-11-25 basic/transports §Listening for Messages from the Server] MUST
    "GET": (("Accept", "text/event-stream"), ("Cache-Control", "no-store")),
    "DELETE": (),
}
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*\Z")


def added(headers: Mapping[str, str], token: Optional[str]) -> Fields:
    """The caller's header fields. Raises ValueError, which does not repeat their values."""
    fields = {name.lower(): (name, value) for name, value in headers.items()}
    if token is not None:
        fields["authorization"] = ("Authorization", "Bearer " + token)
    fields.setdefault("user-agent", ("User-Agent", "mcp_ref"))
    for name, value in fields.values():
        check(name, value)
    return tuple(fields.values())


def check(name: str, value: str) -> None:
    """Raise ValueError for a field that is not for others to set, or cannot be sent, without repeating its value."""
    key = name.lower()
    if key in _OURS or key.startswith(_MIRRORED) or not is_token(name):
        raise ValueError("%.80r is no header field that you can set" % name)
    if not isinstance(value, str) or not _VALUE.match(value):
        raise ValueError("the value of the header field %s cannot be sent" % name)
