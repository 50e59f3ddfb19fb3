"""The checker rides along: every connection and every HTTP endpoint of this process is judged, test by test.

`watch` is put under each `Sender` by `schema_tap`, so under each client and each server connection; `ride` makes the
HTTP endpoints tell what passes. What our side does is judged, by the rules that bind (MUST); what a test's own peer
does is not: it may lie. A finding that follows from a fault of the other side does not count. A child process is a
server of ours, so both sides of its pipe are judged. Where a test gives a trace of its own, the judge reads that.
"""
import threading
from typing import Any, Callable, Dict, List, Optional, Set

from mcp_ref.devtools.checker import CheckedTrace, Finding
from mcp_ref.devtools.checker.rules import load
from mcp_ref.http11.message import Exchange
from mcp_ref.streamable.http_trace import HttpTrace, TracedExchange
from mcp_ref.streamable.server.endpoint import Endpoint
from mcp_ref.streamable.server.http_sse import SseEndpoint
from mcp_ref.transports.base import REPLIES, Forwarding, Transport
from mcp_ref.transports.lines.child import StdioChild
from mcp_ref.transports.tap import Tap
from mcp_ref.wiretrace import MESSAGE, Event, Trace

from . import official_schema
from .faults import Wrapper

LONGEST = 4 * 1024 * 1024
"""The bytes of the longest body of a request to an endpoint that is judged: secrets are looked for in all of it."""

ANY = "*"
"""The name for tests whose peers send so much at random that what is broken differs from run to run."""
SCHEMA = "schema.json"
"""The name, among those of rules, for whatever the official schema refuses (`schema_tap`)."""

applied = True
"""Whether the checker's rules are applied, or connections are compared with the schema only."""
_watching: List[CheckedTrace] = []
"""The judges of what was made in this test."""
_lasting: Dict[CheckedTrace, int] = {}
"""The judges of what fixtures of a module or the session have made -> the number of findings that were told already."""
_MOST = 64
_followed: Dict[int, CheckedTrace] = {}
"""The judges of traces that tests have made themselves, by the trace's id."""


COUNTS: Dict[str, List[int]] = {}
"""Folder of tests -> how many connections and HTTP endpoints were judged in its tests, and their messages."""
_now = [0, 0]


class _Judge(CheckedTrace):
    """A judge that counts its messages."""

    def __init__(self, party: str) -> None:
        super().__init__(frozenset(), party, "violation")

    def judge(self, event: Event) -> None:
        _now[1] += event.kind == MESSAGE
        super().judge(event)


def count(folder: str) -> None:
    """Add what was judged since the last call to the counts of a folder."""
    counts = COUNTS.setdefault(folder, [0, 0])
    for place, number in enumerate(_now):
        counts[place] += number
        _now[place] = 0


def begin() -> None:
    """Begin a test."""
    for judge in _watching:
        _lasting[judge] = 0
    while len(_lasting) > _MOST:
        del _lasting[next(iter(_lasting))]
    _watching.clear()
    _followed.clear()


def broken() -> Dict[str, List[str]]:
    """End a test: rule that our side has broken -> how."""
    found: List[Finding] = []
    for judge in _watching:
        found += judge.finish()
    _watching.clear()
    for judge, told in _lasting.items():
        fresh = judge.findings[told:]
        _lasting[judge] += len(fresh)
        found += fresh
    said: Dict[str, List[str]] = {}
    for one in found:
        said.setdefault(one.rule.id, []).append("the %s broke %s (%s): %s%s" % (
            one.party, one.rule.id, one.method or "no method", one.evidence, one.where and " (%s)" % one.where))
    return said


def problems(found: Dict[str, List[str]], named: Set[str], complete: bool = True) -> List[str]:
    """What is wrong with a test that has broken these rules and named those. ``complete``: it has come to its end."""
    if ANY in named:
        return []
    known = {name: row.id for row in load().values() for name in (row.id, *row.also)}
    known[SCHEMA] = SCHEMA
    unknown = sorted(named - set(known))
    meant = {known[name] for name in named if name in known}
    if not official_schema.PRESENT:
        meant.discard(SCHEMA)  # nothing was compared with it
    if not applied:
        meant &= {SCHEMA}
    said = ["sends_illegal names what is no rule of the checker: " + ", ".join(unknown)] * bool(unknown)
    for rule in sorted(set(found) - meant):
        said.append("our side broke %s:\n  %s" % (rule, "\n  ".join(found[rule][:10])))
    if complete:
        said += ["sends_illegal names %s, which was not broken" % rule for rule in sorted(meant - set(found))]
    return said


def _judge(party: str) -> CheckedTrace:
    judge = _Judge(party)
    _now[0] += 1
    _watching.append(judge)
    return judge


def watch(transport: Transport, side: str) -> Transport:
    """The transport of one connection, seen by a judge. ``side``: what we are at it."""
    given, inmost = None, transport  # type: Optional[Trace], Any
    while isinstance(inmost, Forwarding):
        given = inmost.trace if isinstance(inmost, Tap) else given
        inmost = inmost.inner
    if isinstance(given, CheckedTrace):
        return transport  # the test judges it
    if given is not None:
        if applied:
            _follow(given, side)
        return transport
    if transport.contract == REPLIES:
        return transport  # `ride` sees it, with the exchange of each message
    if not applied:
        return Wrapper(transport)
    return Tap(transport, _judge("" if isinstance(transport, StdioChild) else side), side)


def _follow(trace: Trace, side: str) -> None:
    """Judge what a trace of a test is told; both sides of a trace that both sides have."""
    judge = _followed.get(id(trace))
    if judge is None:
        judge = _followed[id(trace)] = _judge(side)
        trace._sinks.append((judge.judge, threading.Lock()))
    elif side not in judge._parties:
        judge._parties = ("client", "server")


def ride() -> None:
    """Have every HTTP endpoint tell a judge of its exchanges, from now on."""
    if Endpoint.handle is _ORIGINALS[Endpoint]:
        Endpoint.handle = _seen(Endpoint, "streamable-http")  # type: ignore[method-assign]
        SseEndpoint.handle = _seen(SseEndpoint, "http+sse")  # type: ignore[method-assign]


_ORIGINALS: Dict[Any, Callable[[Any, Exchange], None]] = {Endpoint: Endpoint.handle, SseEndpoint: SseEndpoint.handle}


def _seen(kind: Any, transport: str) -> Callable[[Any, Exchange], None]:
    def handle(endpoint: Any, exchange: Exchange) -> None:
        if isinstance(exchange, TracedExchange):
            if not isinstance(exchange._seen._trace, CheckedTrace):
                _follow(exchange._seen._trace, "server")
        elif len(exchange.request.body or b"") <= LONGEST:
            exchange = TracedExchange(exchange, _http_of(endpoint, transport))
        _ORIGINALS[kind](endpoint, exchange)

    return handle


_opening = threading.Lock()


def _http_of(endpoint: Any, transport: str) -> HttpTrace:
    with _opening:
        found: Optional[HttpTrace] = vars(endpoint).get("judged")
        if found is None or getattr(found.trace, "_finished"):
            judge = _judge("server")
            if found is not None:  # it is of a wider fixture, and was seen in a test before
                judge._header["recorded"].remove("start")
            found = endpoint.judged = HttpTrace(judge, transport=transport)
        return found
