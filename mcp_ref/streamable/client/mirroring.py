"""The header fields of requests of the stateless era.

Such a request says in its head what its body says, see `mcp_ref.protocol.streamable_http.mirrored`. They are made of
what the body was made of (`mcp_ref.transports.exchanges.ExchangeTransport.prepare`), not of its bytes.
"""

import re
from functools import lru_cache
from typing import Any, Dict, Optional

from ...errors import LocalProtocolError
from ...http11.client.connection_pool import Fields
from ...jsonrpc import json_type, shown
from ...protocol import envelope
from ...protocol.streamable_http import mirrored
from ...transports.exchanges import Annotations

CITATION = "2026-07-28 basic/transports/streamable-http §Client Behavior"
_VISIBLE = re.compile(r"[!-~]+\Z")
_TOOL = "tools/call"


def fields_of(method: str, params: Dict[str, Any], annotations: Optional[Annotations]) -> Fields:
    """What the head of a request says; ``params`` with its `_meta`, ``annotations`` to look up what a tool mirrors.

    Raises `LocalProtocolError` for what no header field can hold.
    [2026-07-28 basic/transports/streamable-http §Client Behavior] MUST
    """
    version, named = params["_meta"].get(envelope.VERSION), mirrored.name_of(method, params)
    try:
        if not isinstance(version, str):
            raise ValueError("the version is %s, and no string" % json_type(version))
        fields = _standard(version, method, named)
        wanted = annotations(named) if annotations is not None and method == _TOOL and named is not None else None
        if wanted:
            fields += tuple(mirrored.param_headers(wanted, params.get("arguments")))
    except ValueError as error:
        raise LocalProtocolError("%s: %s" % (shown(method), error), CITATION) from None
    return fields


@lru_cache(maxsize=256)
def _standard(version: str, method: str, named: Optional[str]) -> Fields:
    """The fields of a request but for arguments, which are the same again and again. Raises ValueError."""
    for value in (version, method):
        if not _VISIBLE.match(value):
            raise ValueError("a header field cannot hold %.80a" % value)
    return common(version, method) + (() if named is None else ((mirrored.NAME, mirrored.encode_value(named)),))


def common(version: str, method: str) -> Fields:
    """The fields that every message has; the method if a header field can hold it, since it is not encoded.

    [2026-07-28 basic/transports/streamable-http §Standard Request Headers]
    """
    fields: Fields = ((mirrored.VERSION, version),)
    return (*fields, (mirrored.METHOD, method)) if _VISIBLE.match(method) else fields
