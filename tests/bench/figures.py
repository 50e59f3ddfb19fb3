"""The figures: what is measured, against which floor, and what it has to reach. One row each in `FIGURES`.

A target is either a ratio to the floor of the same run, or a plain value where the issue names one. `peers` is what
others reach, measured the same way on a machine with two cores: `mcp` is the official Python SDK 2.3.0, `TS` the
official TypeScript SDK 1.32. A megabyte is 1,000,000 bytes.
"""
import functools
from typing import Callable, ContextManager, NamedTuple, Optional

import measures
import measures_checker
import measures_features
import measures_http
import measures_stateless
from measures import Pair, Setup


class Target(NamedTuple):
    """What a figure has to reach, as a ratio to its floor or as a value."""

    limit: float
    of: str = "ratio"
    at_least: bool = False

    def met_by(self, number: float) -> bool:
        """Is it reached?"""
        return number >= self.limit if self.at_least else number <= self.limit


class Figure(NamedTuple):
    """One row of the table. `scale` turns seconds, bytes or calls per second into the unit shown."""

    name: str
    title: str
    floor: str
    unit: str
    scale: float
    measure: Callable[[Setup], ContextManager[Pair]]
    target: Optional[Target] = None
    peers: str = ""
    pinned: bool = False
    warm_up: bool = True


# --- the table --------------------------------------------------------------------------------------------------------

LOOP = "json loop"
HTTP = "http.server, canned"
SESSION = "the same in a session"
NO_TARGET = None
REVIEW = {"name": "review", "arguments": {"code": "x = 1"}}
part = functools.partial

FIGURES = (
    Figure("cold-start", "spawn to initialize answer", LOOP, "ms", 1e3,
           measures.cold_start, Target(4), "mcp 26x, TS 12x", pinned=True),
    Figure("cold-start-pass", "the same against an empty run", "python -c pass", "ms", 1e3,
           measures.cold_start_and_nothing, NO_TARGET, pinned=True),
    # Where the start goes (-X importtime and cProfile, 50 ms of processor time against 18 of the loop): the interpreter
    # and the modules that the loop needs, too, 18; others of the standard library 11, of which `inspect`, which
    # `dataclasses` loads, is 6; reading 62 files 6; their bodies 10, a third of these annotations that `typing` builds;
    # `run` until the answer 4. Collections of the garbage collector are 4 in all, but one that is put off until all is
    # loaded looks at everything at once: without any while the package is imported nothing was gained that could be
    # told from noise.
    Figure("start-processor", "start, processor time", LOOP, "ms", 1e3,
           measures.start_processor, Target(3.2), pinned=True),
    Figure("start-uncompiled", "the same, no compiled files", "with them", "ms", 1e3,
           measures.start_uncompiled, Target(3), pinned=True),
    Figure("import", "import of mcp_ref and Server", "four stdlib imports", "ms", 1e3,
           measures.imports, Target(1.8), pinned=True),
    Figure("sequential", "stdio call, p50", LOOP, "us", 1e6,
           part(measures.sequential, calls=2000), Target(1.5), "mcp 9.6x, TS 1.6x", pinned=True),
    Figure("shim-sequential", "the same behind trace -- CMD", "without it", "us", 1e6,
           part(measures.shimmed, calls=2000), Target(1.3), pinned=True),
    Figure("in-flight", "calls, 64 in flight", LOOP, "calls/s", 1,
           part(measures.in_flight, calls=10000), Target(0.5, at_least=True), "mcp 1634/s, TS 20215/s"),
    Figure("payload-1k", "echo of 1 KiB", LOOP, "us", 1e6,
           part(measures.payload, size=1 << 10, calls=500), NO_TARGET, pinned=True),
    Figure("payload-16k", "echo of 16 KiB", LOOP, "us", 1e6,
           part(measures.payload, size=1 << 14, calls=200), NO_TARGET, pinned=True),
    Figure("payload-256k", "echo of 256 KiB", LOOP, "ms", 1e3,
           part(measures.payload, size=1 << 18, calls=40), NO_TARGET, pinned=True),
    Figure("payload-1m", "echo of 1 MiB", LOOP, "ms", 1e3,
           part(measures.payload, size=1 << 20, calls=10), NO_TARGET, pinned=True),
    Figure("payload-16m", "echo of 16 MiB", LOOP, "ms", 1e3,
           part(measures.payload, size=1 << 24, calls=2), Target(1.3), "mcp 1.8x, TS dies", pinned=True),
    Figure("memory-16m", "peak memory of that echo", LOOP, "x payload", 1,
           part(measures.payload_memory, size=1 << 24), Target(8, of="value"), "TS dies"),
    Figure("blocking-32", "32 blocking 50 ms tools at once", "32 bare threads", "ms", 1e3,
           part(measures.blocking, count=32), Target(70, of="value"), warm_up=False),
    Figure("blocking-128", "128 blocking 50 ms tools at once", "128 bare threads", "ms", 1e3,
           part(measures.blocking, count=128), Target(90, of="value"), "mcp 213 ms, TS 64 ms", warm_up=False),
    Figure("ping-behind", "ping behind a 300 ms tool", "idle " + LOOP, "ms", 1e3,
           part(measures.ping_behind, milliseconds=300), Target(2, of="value")),
    Figure("slow-quick", "quick answer of [slow, quick]", "[quick, quick]", "ms", 1e3,
           part(measures.mixed, slow_first=True, milliseconds=100), Target(10, of="value")),
    Figure("quick-slow", "quick answer of [quick, slow]", "[quick, quick]", "ms", 1e3,
           part(measures.mixed, slow_first=False, milliseconds=100), Target(10, of="value")),
    Figure("client-sequential", "our client, sequential", "bare client", "calls/s", 1,
           part(measures.clients, how="sequential", calls=2000), Target(0.85, at_least=True),
           "mcp 4802/s", pinned=True),
    Figure("client-in-flight", "our client, 64 in flight", "bare client", "calls/s", 1,
           part(measures.clients, how="in_flight", calls=5000), Target(0.85, at_least=True), "mcp 6718/s"),
    Figure("tools-start", "start-up with 1,000 tools", LOOP, "ms", 1e3,
           lambda setup: measures.cold_start(setup, "--tools", "1000"), Target(150, of="value"),
           "mcp 1435 ms", pinned=True),
    Figure("tools-list-cold", "list of 1,000 tools, first", LOOP, "ms", 1e3,
           part(measures.list_cold, count=1000), NO_TARGET, pinned=True),
    Figure("tools-list-warm", "list of 1,000 tools, warm", LOOP, "ms", 1e3,
           part(measures.list_warm, count=1000), Target(10, of="value"), "mcp 61 ms, TS 45 ms", pinned=True),
    Figure("feature-prompt", "prompts/get, p50", "echo of the " + LOOP, "us", 1e6,
           part(measures_features.one_request, method="prompts/get", params=REVIEW, member="messages", calls=500),
           NO_TARGET, pinned=True),
    Figure("feature-resource", "resources/read, p50", "echo of the " + LOOP, "us", 1e6,
           part(measures_features.one_request, method="resources/read", params={"uri": "config://app"},
                member="contents", calls=500), NO_TARGET, pinned=True),
    Figure("feature-template", "the same by a template", "echo of the " + LOOP, "us", 1e6,
           part(measures_features.one_request, method="resources/read", params={"uri": "item://77"},
                member="contents", calls=500), NO_TARGET, pinned=True),
    Figure("feature-updates", "1,000 subscribed URIs updated", "1,000 echoes in flight", "ms", 1e3,
           part(measures_features.updates, count=1000), NO_TARGET),
    Figure("host-open", "host: open ten servers, list tools", "ten bare clients", "ms", 1e3,
           part(measures_features.host, how="open", count=10), NO_TARGET),
    Figure("host-calls", "host: 1,000 calls over ten servers", "ten bare clients", "ms", 1e3,
           part(measures_features.host, how="calls", count=1000), NO_TARGET),
    Figure("http-json", "HTTP call, JSON answer, p50", HTTP, "us", 1e6,
           part(measures_http.sequential, calls=2000), Target(0.9), "mcp 5.5x, TS 4.4x", pinned=True),
    Figure("http-sse", "HTTP call, SSE answer, p50", HTTP, "us", 1e6,
           lambda setup: measures_http.sequential(setup, 2000, "--sse"), Target(1.5), "mcp 8.2x, TS 4.7x", pinned=True),
    Figure("http-32", "calls over 32 connections", HTTP, "calls/s", 1,
           part(measures_http.connections, count=32, calls=10000), Target(2, at_least=True), "mcp 0.16x, TS 0.48x"),
    Figure("http-16m", "echo of 16 MiB over HTTP", "http.server, " + LOOP, "ms", 1e3,
           part(measures_http.payload, size=1 << 24, calls=2), Target(1.3), pinned=True),
    Figure("http-streams-threads", "threads, 1,000 open GET streams", HTTP, "threads", 1,
           part(measures_http.streams_threads, count=1000), Target(16, of="value"), warm_up=False),
    Figure("http-streams-memory", "each of 1,000 sessions and streams", HTTP, "KB", 1e-3,
           part(measures_http.streams_memory, count=1000), Target(12, of="value"), "mcp 94 KB, TS 105 KB",
           warm_up=False),
    Figure("http-streams-calls", "HTTP call beside 1,000 streams, p50", "beside none", "us", 1e6,
           part(measures_http.streams_calls, count=1000, calls=2000), Target(1.05), pinned=True),
    Figure("http-sessions", "sessions opened, used, deleted", HTTP, "per s", 1,
           part(measures_http.sessions, count=500), Target(1000, of="value", at_least=True), "mcp 340/s, TS 494/s",
           pinned=True),
    Figure("stateless-stdio", "stateless stdio call, p50", SESSION, "us", 1e6,
           part(measures_stateless.calls, count=2000), Target(1.05), pinned=True),
    Figure("stateless-http", "stateless HTTP call, p50", SESSION, "us", 1e6,
           part(measures_stateless.http_calls, count=2000), Target(1.05), pinned=True),
    Figure("stateless-rounds", "call of three rounds, p50", "one stateless call", "us", 1e6,
           part(measures_stateless.rounds, count=500), Target(3.5), pinned=True),
    Figure("listen-memory", "each of 1,000 listening streams", "session and GET stream", "KB", 1e-3,
           part(measures_stateless.listeners_memory, count=1000), Target(1.0), warm_up=False),
    Figure("listen-threads", "threads, 1,000 listening streams", "1,000 GET streams", "threads", 1,
           part(measures_stateless.listeners_threads, count=1000), Target(1.0), warm_up=False),
    Figure("workers-4", "four workers, tool of 0.5 ms", "one worker", "calls/s", 1,
           part(measures_http.workers, count=4, window=32, calls=2000), Target(1.4, at_least=True)),
    Figure("client-http", "our HTTP client, sequential", "http.client loop", "calls/s", 1,
           part(measures.clients, how="sequential", calls=2000, over="http_"), Target(0.8, at_least=True),
           "mcp 0.19x", pinned=True),
    # What a profile of check says (cProfile, processor time with and without rules, and operations of the interpreter,
    # which a busy machine does not change). Reading a line takes 5 to 6 us, a third of it for one object of JSON;
    # keeping a message, its exchange and their state 6 to 14; the rest are rules and observers, each of less than
    # 1.3 us but for shapes by the schema (2 to 6). Over HTTP a call is five events beside its two messages. Rules that
    # look at the same facts are asked again only when these change (`facts` in mcp_ref/checker/rules.py): of 160 calls
    # of functions for a message over HTTP 125 are left, of 4,893 operations 4,172; over a pipe of 2026-07-28 105 of
    # 124, and 3,418 of 3,970. Since then 110 calls and 3,833 operations over HTTP: observers are asked only for their
    # methods and circumstances, rules about the stage of a session and about the response of a POST share their facts.
    # Of the command itself the collector of garbage took 3 us a message over HTTP and found nothing: it is called when
    # there are many objects more. The start takes half a second, 2 us a message. What is left is many small things.
    Figure("check-pipe", "messages judged, handshake, pipe", "json.loads of the lines", "messages/s", 1,
           part(measures_checker.judged, wire="stdio", revision="2025-11-25", calls=100_000),
           Target(25_000, of="value", at_least=True), pinned=True, warm_up=False),
    Figure("check-pipe-stateless", "the same of 2026-07-28", "json.loads of the lines", "messages/s", 1,
           part(measures_checker.judged, wire="stdio", revision="2026-07-28", calls=100_000),
           Target(25_000, of="value", at_least=True), pinned=True, warm_up=False),
    Figure("check-http", "the same over HTTP, each in a POST", "json.loads of the lines", "messages/s", 1,
           part(measures_checker.judged, wire="http", revision="2025-11-25", calls=100_000),
           Target(25_000, of="value", at_least=True), pinned=True, warm_up=False),
    Figure("check-memory", "memory for 200,000 messages, HTTP", "for 20,000", "MB", 1e-6,
           part(measures_checker.memory, wire="http", revision="2025-11-25", calls=100_000),
           Target(128, of="value"), warm_up=False),
    Figure("examine-stdio", "examine: five revisions, stdio", "one start of the server", "s", 1,
           part(measures_checker.examined, web=False), Target(20, of="value"), warm_up=False),
    Figure("examine-http", "the same over HTTP", "one start of the server", "s", 1,
           part(measures_checker.examined, web=True), Target(30, of="value"), warm_up=False),
    Figure("idle-memory", "memory after initialize", LOOP, "MB", 1e-6,
           measures.idle_memory, Target(15, of="value"), "mcp 66 MB"),
)

OF_THE_PACKAGE = (
    "import", "start-uncompiled", "shim-", "check-", "client-", "examine-", "feature-", "host-", "http-", "stateless-",
    "listen-", "workers-")
"""Beginnings of the names of the figures that are about our package, not about any server."""
