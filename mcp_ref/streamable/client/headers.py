"""The header fields of an HTTP client's requests: its own, those that its caller adds, and those that repeat the body.

A request of the stateless era says in its head what its body says, see `mcp_ref.protocol.streamable_http.mirrored`.
These fields are made of what the body was made of (`mcp_ref.transports.exchanges.ExchangeTransport.prepare`), not of
its bytes.
"""

import re
from functools import lru_cache
from typing import Any, Dict, Mapping, Optional

from ...errors import LocalProtocolError
from ...http11.client.connection_pool import Fields
from ...jsonrpc import json_type
from ...methods import CALL_TOOL, NAMED
from ...protocol import envelope
from ...protocol.streamable_http import mirrored
from ...transports.exchanges import Annotations
from ...urls import is_token

_OURS = frozenset((
    "accept", "accept-encoding", "connection", "content-length", "content-type", "host", "last-event-id",
    "mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id", "transfer-encoding",
))
"""The header fields that a caller cannot set, nor any that begins with _MIRRORED."""
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
FIELDS_CITATION = "2026-07-28 basic/transports/streamable-http §Client Behavior"
_VISIBLE = re.compile(r"[!-~]+\Z")


def added(headers: Mapping[str, str], token: Optional[str]) -> Fields:
    """Return the caller's header fields. Raises ValueError, which does not repeat their values."""
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
        raise ValueError("the value of the header field %s cannot be sent: it is no text, or has a line end or a sign "
                         "beyond Latin-1" % name)


# Fields that repeat the body


def fields_of(
    method: str, params: Dict[str, Any], annotations: Optional[Annotations], named: Mapping[str, str] = NAMED,
) -> Fields:
    """Return the fields that repeat the body of a request.

    ``params``: with their `_meta`. ``annotations``: says which arguments of a tool are repeated. ``named``: as in
    `mcp_ref.protocol.streamable_http.mirrored.name_of`.

    Raises `LocalProtocolError` for what no header field can hold.
    [2026-07-28 basic/transports/streamable-http §Custom Headers from Tool Parameters] MUST
    [2026-07-28 basic/transports/streamable-http §Client Behavior] MUST
    """
    version, name = params["_meta"].get(envelope.VERSION), mirrored.name_of(method, params, named)
    try:
        if not isinstance(version, str):
            raise ValueError("the version is %s, and no string" % json_type(version))
        if name is None and method in named:
            raise ValueError("params.%s must be a string, which Mcp-Name repeats" % named[method])
        fields = _standard(version, method, name)
        wanted = annotations(name) if annotations is not None and method == CALL_TOOL and name is not None else None
        if wanted:
            fields += tuple(mirrored.param_headers(wanted, params.get("arguments")))
    except ValueError as error:
        raise LocalProtocolError(str(error), FIELDS_CITATION) from None
    return fields


@lru_cache(maxsize=256)
def _standard(version: str, method: str, named: Optional[str]) -> Fields:
    """Return the fields of a request but for arguments; cached, as they are the same again and again.

    Raises ValueError.
    """
    for value in (version, method):
        if not _VISIBLE.match(value):
            raise ValueError("a header field cannot hold %.80a" % value)
    return common(version, method) + (() if named is None else ((mirrored.NAME, mirrored.encode_value(named)),))


def common(version: str, method: str) -> Fields:
    """Return the fields that every message has; the method only if a header field can hold it, for it is not encoded.

    [2026-07-28 basic/transports/streamable-http §Standard Request Headers]
    """
    fields: Fields = ((mirrored.VERSION, version),)
    return (*fields, (mirrored.METHOD, method)) if _VISIBLE.match(method) else fields
