"""What is still part of the protocol and is going to leave it: the registry of deprecated features as a table.

[2026-07-28 deprecated §Deprecated]. A feature stays for at least a year after the revision that deprecated it; until
then everything here works in it. New programs should not begin to use one, and those that do should move away
[2026-07-28 deprecated] SHOULD NOT. So this package implements them all, for the revisions of the handshake and for
whoever depends on them, and uses none unasked:

================  ==================================================================================
feature           used only if
================  ==================================================================================
roots             a client is given ``roots``; a handler calls ``ctx.list_roots``
sampling          a client is given ``sampling``; a handler calls ``ctx.sample``
include-context   a handler says ``include_context``
logging           something that is registered takes a context, with which it could log: only then
                  a server without handshake declares it. A client asks for messages when it is
                  told a level
http-sse          a server speaks revisions with a handshake, and is not told ``legacy=False``; a client
                  finds no other transport
================  ==================================================================================

Rows of `mcp_ref.methods` name their feature. ``explain deprecated`` prints the table, ``explain METHOD`` the row.
"""

from typing import Dict, NamedTuple, Optional

from .revisions import R2025_03_26, R2025_11_25, R2026_07_28

ROOTS = "roots"
SAMPLING = "sampling"
LOGGING = "logging"
INCLUDE_CONTEXT = "include-context"
CLIENT_REGISTRATION = "client-registration"
HTTP_SSE = "http-sse"


class Deprecation(NamedTuple):
    """A row of DEPRECATED."""

    feature: str
    since: str
    """The revision that deprecated it."""
    removal: str
    """When it may be removed at the earliest, in words, because that is no revision yet."""
    migration: str
    """What to do instead."""
    page: str
    """Where the newest revision that describes it does so."""


_A_YEAR_ON = "the first revision released on or after 2027-07-28"

DEPRECATED: Dict[str, Deprecation] = {row.feature: row for row in (
    Deprecation(ROOTS, R2026_07_28, _A_YEAR_ON,
                "pass directories or files as parameters of tools, as URIs of resources, or in the server's "
                "configuration", "client/roots"),
    Deprecation(SAMPLING, R2026_07_28, _A_YEAR_ON, "call the interface of a model's provider", "client/sampling"),
    Deprecation(LOGGING, R2026_07_28, _A_YEAR_ON,
                "log to stderr where the transport is stdio, or use OpenTelemetry", "server/utilities/logging"),
    Deprecation(CLIENT_REGISTRATION, R2026_07_28, _A_YEAR_ON, "use client ID metadata documents",
                "basic/authorization/client-registration"),
    Deprecation(INCLUDE_CONTEXT, R2025_11_25, "together with sampling",
                'leave the field out, or say "none"', "client/sampling"),
    Deprecation(HTTP_SSE, R2025_03_26, "three months after the policy of deprecation is final",
                "use Streamable HTTP", "basic/transports/streamable-http"),
)}
"""By feature, in the order of the registry."""


def deprecation(feature: Optional[str]) -> Optional[Deprecation]:
    """The row of a feature, such as the ``deprecated`` of a method's row; None: it is not deprecated."""
    return None if feature is None else DEPRECATED[feature]
