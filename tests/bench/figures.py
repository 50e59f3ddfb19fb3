"""The figures: one row each in `FIGURES`, with what it has to reach.

A figure is what its subject costs as a ratio to its floor, measured in turns in the same run, or, with `of="value"`, a
plain number. All are better when they are less. `target` is what was reached when the row was written, with a tenth of
margin: who misses it has made something worse. `aim` is where it is meant to get, where that is less.
A megabyte is 1,000,000 bytes.
"""
from typing import NamedTuple, Optional

from measures import (
    CANNED, ITEM, JSON, LOOP, ORDER, PING, PROMPT, SELECTORS, SERVER, SLEEP, SOCKETS, UPDATES, WEB, Side, calls, client,
    each_listener, each_stream, examined, fresh, greeted, greeted_and_listed, held, listed, one_by_one, peak, rounds,
    served, sessions, shimmed, started_as, streaming, subscribed, task, threads, traced, updates,
)


class Figure(NamedTuple):
    """One row of the table."""

    name: str
    title: str
    unit: str
    subject: Side
    floor_is: str
    floor: Side
    target: Optional[float] = None
    aim: Optional[float] = None
    of: str = "ratio"
    rounds: int = 20


SCALES = {"ms": 1e3, "us": 1e6, "s": 1.0, "MB": 1e-6, "KB": 1e-3, "threads": 1.0, "x size": 1.0}
"""What a sample is multiplied with for each unit: samples are seconds, bytes or plain numbers."""

MANY, TOOLS = SERVER.having("--many"), ("--tools", "1000")
LINES = "json.loads of its lines"
THREADED = "http.server, canned"
HANDSHAKE, STATELESS = "2025-11-25", "2026-07-28"
BIG, MIB = 16 << 20, 1 << 20
TALK = 20_000

FIGURES = (
    # --- start ---
    Figure("start", "start until initialize is answered", "ms", fresh(SERVER, greeted), "json loop",
           fresh(LOOP, greeted), 4.4, 2.8),
    Figure("start-tools", "the same with 1,000 tools, listed", "ms", fresh(SERVER.having(*TOOLS), greeted_and_listed),
           "json loop", fresh(LOOP.having(*TOOLS), greeted_and_listed), 7),
    Figure("start-uncompiled", "start without compiled files", "ms", started_as("uncompiled"), "with them",
           fresh(SERVER, greeted), 2.8, rounds=5),
    Figure("start-bundle", "start as one file made by bundle", "ms", started_as("bundle"), "from the package",
           fresh(SERVER, greeted), 3.2, rounds=5),
    Figure("start-zip", "start with the package in a zip", "ms", started_as("zip"), "from a folder",
           fresh(SERVER, greeted), 5.2, rounds=5),
    Figure("idle-memory", "memory after the handshake", "MB", fresh(SERVER, held), "json loop", fresh(LOOP, held),
           19, 14, of="value"),
    # --- stdio ---
    Figure("stdio-call", "stdio call", "us", calls(SERVER), "json loop", calls(LOOP), 3.3, 2),
    Figure("stdio-flight", "stdio calls, 64 in flight", "us", calls(SERVER, window=64, count=2500), "json loop",
           calls(LOOP, window=64, count=2500), 1.7, 1.43),
    Figure("stdio-stateless", "stateless stdio call", "us", calls(SERVER, stateless=True), "in a session",
           calls(SERVER), 1.4, 1.15),
    Figure("stdio-stateless-flight", "the same, 64 in flight", "us",
           calls(SERVER, window=64, count=2500, stateless=True), "in a session", calls(SERVER, window=64, count=2500),
           2.2, 1.15),
    Figure("ping-flight", "pings, 64 in flight", "us", calls(SERVER, PING, window=64, count=2500), "json loop",
           calls(LOOP, PING, window=64, count=2500), 1.8),
    Figure("schema", "call with checked objects in and out", "us", calls(SERVER, ORDER, count=500), "echo",
           calls(SERVER, count=500), 2),
    Figure("rounds", "call that asks twice, three rounds", "us", served(SERVER, one_by_one(rounds), 60, True),
           "stateless call", calls(SERVER, count=300, stateless=True), 9, 4),
    Figure("task", "call as a task, and its result", "us", served(MANY, one_by_one(task), 60), "call",
           calls(MANY, count=300), 11.5),
    Figure("blocking", "128 tools that sleep, at once", "us", calls(SERVER, SLEEP, window=128, count=256),
           "json loop with threads", calls(LOOP.having("--threads"), SLEEP, window=128, count=256), 0.6),
    Figure("prompt", "prompts/get", "us", calls(SERVER, PROMPT, count=500), "echo", calls(SERVER, count=500), 1.5),
    Figure("template", "resources/read by a template", "us", calls(SERVER, ITEM, count=500), "echo",
           calls(SERVER, count=500), 1.9),
    Figure("updates", "update of a subscribed resource", "us", served(SERVER, updates, UPDATES, beside=subscribed),
           "echo", calls(SERVER, window=64, count=500), 1.1),
    Figure("payload-1m", "echo of 1 MiB", "ms", calls(SERVER, count=4, size=MIB), "json loop",
           calls(LOOP, count=4, size=MIB), 1.3, 1.2),
    Figure("payload-16m", "echo of 16 MiB", "ms", calls(SERVER, count=1, size=BIG), "json loop",
           calls(LOOP, count=1, size=BIG), 1.6, 1.2, rounds=5),
    Figure("payload-memory", "peak memory of that echo", "x size", fresh(SERVER, peak(BIG)), "json loop",
           fresh(LOOP, peak(BIG)), 7.8, of="value", rounds=2),
    Figure("tools-list", "list of 1,000 tools", "ms", served(SERVER.having(*TOOLS), one_by_one(listed), 5), "json loop",
           served(LOOP.having(*TOOLS), one_by_one(listed), 5), 0.4),
    Figure("trace", "what trace -- CMD adds to a call", "us", shimmed(SERVER, 500), "call", calls(SERVER), 1.6),
    # --- HTTP ---
    Figure("http-call", "HTTP call", "us", calls(WEB), THREADED, calls(CANNED), 1.6, 1.3),
    Figure("http-call-sockets", "HTTP call", "us", calls(WEB), "blocking sockets", calls(SOCKETS)),
    Figure("http-32", "HTTP calls over 32 connections", "us", calls(WEB, window=32), THREADED,
           calls(CANNED, window=32), 1.1),
    Figure("http-32-selectors", "HTTP calls over 32 connections", "us", calls(WEB, window=32), "selectors loop",
           calls(SELECTORS, window=32)),
    Figure("http-sse", "HTTP call answered by a stream", "us", calls(WEB.having("--sse")), "by JSON", calls(WEB),
           1.2, 1.11),
    Figure("http-none", 'HTTP call, sessions="none"', "us", calls(WEB.having("--none")), "in a session", calls(WEB),
           2.6, 1.15),
    Figure("http-stateless", "stateless HTTP call", "us", calls(WEB, stateless=True), "in a session", calls(WEB),
           1.4, 1.15),
    Figure("http-stateless-32", "the same over 32 connections", "us", calls(WEB, window=32, stateless=True),
           "in a session", calls(WEB, window=32), 1.5, 1.15),
    Figure("http-tls", "HTTPS call", "us", calls(WEB.having("--tls")), "HTTP", calls(WEB), 1.6),
    Figure("http-sessions", "session opened, used, deleted", "us", served(WEB, sessions, 50), THREADED,
           served(CANNED, sessions, 50), 2),
    Figure("http-16m", "echo of 16 MiB over HTTP", "ms", calls(WEB, count=1, size=BIG), "http.server, json loop",
           calls(JSON, count=1, size=BIG), 1.6, 1.2, rounds=5),
    Figure("http-streams", "HTTP call beside 1,000 streams", "us", calls(WEB, beside=streaming), "beside none",
           calls(WEB), 1.2),
    Figure("http-streams-threads", "threads, 1,000 open streams", "threads", fresh(WEB, threads), THREADED,
           fresh(CANNED, threads), 16, of="value", rounds=1),
    Figure("http-streams-memory", "each of 1,000 sessions and streams", "KB", fresh(WEB, each_stream), THREADED,
           fresh(CANNED, each_stream), 13, 12, of="value", rounds=1),
    Figure("listen-memory", "each of 1,000 listening streams", "KB", fresh(WEB, each_listener),
           "session and stream", fresh(WEB, each_stream), 0.65, rounds=1),
    # --- clients ---
    Figure("client-stdio", "our client, stdio", "us", client("stdio", "sequential", 500), "bare client",
           client("stdio-floor", "sequential", 500), 1.4),
    Figure("client-flight", "the same, 64 in flight", "us", client("stdio", "in-flight", 1000), "bare client",
           client("stdio-floor", "in-flight", 1000), 2.6, 1.6),
    Figure("client-http", "our client, HTTP", "us", client("http", "sequential", 300), "http.client",
           client("http-floor", "sequential", 300), 1.25, 1.05),
    Figure("client-http-sockets", "our client, HTTP", "us", client("http", "sequential", 300), "blocking socket",
           client("http-sockets", "sequential", 300)),
    Figure("client-http-64", "the same in 64 threads", "us", client("http", "threads", 1280), "http.client",
           client("http-floor", "threads", 1280), 1.3, 1),
    Figure("host-open", "host: open ten servers, list tools", "ms", client("open", "opened", 10), "ten bare clients",
           client("open-floor", "opened", 10), 2.5, rounds=5),
    Figure("host-calls", "host: calls over ten servers", "us", client("ten", "called", 300), "ten bare clients",
           client("ten-floor", "called", 300), 1.8),
    # --- checker ---
    # What a profile of check says (cProfile, processor time with and without rules, and operations of the interpreter,
    # which a busy machine does not change). Reading a line takes 5 to 6 us, a third of it for one object of JSON;
    # keeping a message, its exchange and their state 6 to 14; the rest are rules and observers, each of less than
    # 1.3 us but for shapes by the schema (2 to 6). Over HTTP a call is five events beside its two messages. Rules that
    # look at the same facts are asked again only when these change (`facts` in mcp_ref/devtools/checker/rules.py).
    Figure("check", "check of a message, stateless, pipe", "us", traced("stdio", STATELESS, TALK, True), LINES,
           traced("stdio", STATELESS, TALK, False), 11, rounds=3),
    Figure("check-http", "check of a message over HTTP", "us", traced("http", HANDSHAKE, TALK, True), LINES,
           traced("http", HANDSHAKE, TALK, False), 9, rounds=3),
    Figure("check-memory", "memory for 200,000 messages, HTTP", "MB", traced("http", HANDSHAKE, 100_000, True, True),
           "for 20,000", traced("http", HANDSHAKE, 10_000, True, True), 218, 128, of="value", rounds=1),
    Figure("examine", "examine: five revisions, stdio", "s", examined(web=False), "over HTTP", examined(web=True),
           14, of="value", rounds=1),
)

OF_ANY_SERVER = ("start", "idle-memory", "stdio-call", "stdio-flight", "ping-flight", "blocking", "payload-1m",
                 "payload-16m", "payload-memory")
"""The figures that `--server` is judged by: those of a server with the tools `echo(text)` and `sleep(ms)`."""
