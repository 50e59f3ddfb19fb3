"""The era of a POST, for a server that speaks the stateless one. Header field and body decide.

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
without such `_meta` is legacy whatever the header says, because it opens a session
[2026-07-28 basic/versioning §Compatibility Matrix]; where none can be opened it is refused by -32022, which names the
spoken versions [2026-07-28 basic/versioning §Backward Compatibility with Initialization-Based Versions] SHOULD.

A *notification* with a modern header or such `_meta` belongs to the modern era, else to the legacy one. Reading: the
page defines no header fields for it [2026-07-28 basic/transports/streamable-http §Sending Messages], so none is
compared; and where no legacy revision is spoken, one without a header is taken, too. A *batch* or a *response* is never
modern [2026-07-28 basic/transports/streamable-http §Sending Messages] MUST, MUST NOT.
"""

from typing import Dict, Optional, Sequence, Union

from ...errors import HEADER_MISMATCH, INVALID_REQUEST, RpcError
from ...jsonrpc import Frame, Malformed, Notification, Request, shown
from ...revisions import Revision
from .. import envelope
from . import mirrored

LEGACY, MODERN = "legacy", "modern"
_UNKNOWN = "anything else"
_FIELD, _VERSION = mirrored.VERSION, envelope.VERSION


class HttpEras:
    """The table, for a server that speaks ``ours``, oldest first."""

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
            if frame.method == "initialize":
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
