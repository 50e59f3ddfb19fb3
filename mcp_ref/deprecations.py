"""Two tables of what not to count on: features that are going to leave the protocol, and what is not done here.

`DEPRECATED` is the registry of deprecated features [2026-07-28 deprecated §Deprecated]. A feature stays for at least a
year after the revision that deprecated it; until then everything here works in it. New programs should not begin to use
one, and those that do should move away [2026-07-28 deprecated] SHOULD NOT. So this package implements them all, for the
revisions of the handshake and for programs that depend on them, and uses none unasked:

================  ==================================================================================
feature           used only if
================  ==================================================================================
roots             a client is given ``roots``; a handler calls ``ctx.list_roots``
sampling          a client is given ``sampling``; a handler calls ``ctx.sample``
include-context   a handler says ``include_context``
logging           something that is registered takes a context, with which it could log: only then
                  a server without handshake declares it. A client asks for messages when it is
                  given a level
http-sse          a server speaks revisions with a handshake, and is not given ``legacy=False``; a client
                  finds no other transport
================  ==================================================================================

Rows of `mcp_ref.methods` name their feature. ``explain deprecated`` prints the table, ``explain METHOD`` the row.

`NOT_DONE` names what is missing, the revision that has it (where a revision does), the pages that describe it, and why
it is missing or what to do instead. ``explain --missing`` prints it. Decisions where the specification leaves a choice
are no rows: they stand where the code decides, and ``explain --readings`` prints them.
"""

from typing import Dict, NamedTuple, Optional, Tuple

from .revisions import R2024_11_05, R2025_03_26, R2025_06_18, R2025_11_25, R2026_07_28

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
    """The earliest time of its removal, in words, because that is no revision yet."""
    migration: str
    """The advice on what to use instead."""
    page: str
    """The page of the newest revision that describes it."""


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
"""The rows by feature, in the order of the registry."""


def deprecation(feature: Optional[str]) -> Optional[Deprecation]:
    """Return the row of a feature, such as the ``deprecated`` of a method's row; None if ``feature`` is None."""
    return None if feature is None else DEPRECATED[feature]


class NotDone(NamedTuple):
    """A row of NOT_DONE."""

    what: str
    why: str
    """The reason, or what to do instead."""
    since: Optional[str] = None
    """The first revision that has it; None for what no revision asks for."""
    pages: Tuple[str, ...] = ()
    """The pages that describe it, in the newest revision that does."""


NOT_DONE: Tuple[NotDone, ...] = (
    # The protocol
    NotDone("a task that was running when its process died is failed, and not begun again",
            "what its handler has done is not known; give it a tool that looks, and call it again", R2025_11_25,
            ("basic/utilities/tasks",)),
    NotDone("a server asks its client for nothing as a task, unless a handler sends such requests by ctx.call",
            "its own tasks wait for answers without a thread", R2025_11_25, ("basic/utilities/tasks",)),
    NotDone("an extension cannot add kinds of questions to the client", "questions are those of the protocol: "
            "elicitation, sampling, roots", R2026_07_28, ("basic/patterns/mrtr",)),
    NotDone("stale answers are never served from the client's cache", "the page allows it, and does not ask for it",
            R2026_07_28, ("server/utilities/caching",)),
    NotDone("references to the network inside of JSON Schemas are never fetched, and no option does so",
            "a schema of a peer would make us send requests; pass the resources to the validator", R2025_11_25,
            ("basic/index",)),
    NotDone("patterns with back-references, and Unicode properties beyond a documented set, are refused",
            "patterns run in linear time, whatever a peer sends", R2025_11_25, ("basic/index",)),
    # Authorization
    NotDone("the package is no authorization server", "examples/authorization_server.py is one to try things out with",
            R2025_03_26, ("basic/authorization/index",)),
    NotDone("signing with private keys: the package signs with shared secrets only (HS256)",
            "pass a Signer that signs with your library for RSA or elliptic curves", R2025_11_25,
            ("basic/authorization/client-registration",)),
    NotDone("keys of tokens other than RSA and P-256 are not verified (RS256, ES256, HS256 are)",
            "tokens that are not JWTs can be checked by introspection", R2025_06_18, ("basic/authorization/index",)),
    # HTTP
    NotDone("a call that runs in a process that dies ends with an error for its client, also where a session is shared",
            "what its handler has done is not known; streams whose process lives are resumed anywhere",
            R2025_03_26, ("basic/transports",)),
    NotDone("in a shared session a message that belongs to no request reaches only sessions that its process has "
            "served within the last minute", "without GET streams (the default of wsgi()) it is not sent at all",
            R2025_03_26, ("basic/transports",)),
    NotDone("in a shared session a request id that is used twice is noticed within one process only, and rates are "
            "counted in each", "processes share what sessions need, and no counters", R2025_03_26, ("basic/index",)),
    NotDone("HTTP+SSE needs one process", "its session is its stream, and a stream is in one process", R2024_11_05,
            ("basic/transports",)),
    NotDone("--workers runs on POSIX only", "other systems cannot hand sockets to child processes in the same way"),
    NotDone("under WSGI an open stream holds a thread of the engine, and subscriptions/listen needs streams=True",
            "WSGI has one thread for each reply; run_http needs none for an open stream", R2025_03_26,
            ("basic/transports/streamable-http",)),
    NotDone("under WSGI a client that left is noticed at the next write; while JSON is being computed, too late",
            "WSGI does not tell of it; run_http does", R2025_03_26, ("basic/transports/streamable-http",)),
    NotDone("under WSGI two header fields Mcp-Name, or two of one Mcp-Param-, pass for one with a comma",
            "the engine joins them before we see them; elsewhere they are refused", R2026_07_28,
            ("basic/transports/streamable-http",)),
    NotDone("without a handshake, rates and max_inflight hold for a principal, and not for a client",
            "clients without authentication, and all that share one token=, are one principal", R2026_07_28,
            ("basic/index",)),
    NotDone("a handler that closes the connection of a request without a handshake ends it for all, over HTTP",
            "the requests of that era share one connection", R2026_07_28, ("basic/transports/streamable-http",)),
    NotDone("each subscribe_resource without a handshake opens the stream of all subscriptions anew",
            "for many resources use one client.listen(uris=[...])", R2026_07_28, ("basic/patterns/subscriptions",)),
    NotDone("a session that has never opened a stream (GET) keeps the latest 32 unasked messages only",
            "when it opens one, a log message tells it how many it missed", R2025_03_26, ("basic/transports",)),
    NotDone("a program between client and server that translates transports may be taken for a server of 2026-07-28",
            'supergateway 4.0 answers server/discover so, or takes it for the beginning: say era="legacy"', R2026_07_28,
            ("basic/versioning",)),
    # Hosts, logs, limits
    NotDone("a Host keeps approvals in memory, and does not rotate its audit log",
            "give it a set of approvals that lasts; rotate the file from outside"),
    NotDone("personal data in log messages is not recognised", "tokens, passwords and keys are, by a table of patterns",
            None, ("server/utilities/logging",)),
    NotDone("the default limit of tool calls is so high that it stops only a runaway",
            "set limits that your tools can handle: Limits, or rate= of a tool", None, ("server/tools",)),
    # Systems
    NotDone("Windows and macOS were not tried", "the code has paths for both; directories are opened without following "
            "links where the system can do that, and by comparing paths elsewhere"),
    # Speed
    NotDone("a handler that asks in rounds is run again each time: three rounds cost 5 to 6 times a plain call, not "
            "3.5",
            "each round is a request of its own", R2026_07_28, ("basic/patterns/mrtr",)),
    NotDone("idle memory is about 18 MB", "the interpreter with json, threading, dataclasses and typing is 13 of it"),
    NotDone("the start costs about 4 times that of a bare loop, not 2.8", "an aim of make bench, in processor time"),
    NotDone("64 futures in flight on the client cost 2.3 times a bare client that checks nothing, not 1.6",
            "an aim of make bench, in processor time"),
    NotDone("a call over HTTP costs 1.4 times one of a http.server that gives a canned answer, not 1.3",
            "an aim of make bench, in processor time"),
)
"""The rows in this order: protocol, authorization, HTTP, hosts and logs, systems, speed."""
