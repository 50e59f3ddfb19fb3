"""The trace as text for people: its lines, what they leave out, colours, and the width of a terminal."""
import io
import json
from typing import Any, Dict, List, Optional

import pytest

from mcp_ref.wiretrace import MEMBERS, Event, Trace
from mcp_ref.wiretrace.text import TextForm, TextSink, coloured

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": {"name": "x"}}


def event(
    kind: str, direction: str = "", text: str = "", exchange: int = 0, connection: str = "", **more: Any,
) -> Event:
    return Event(0.0, direction, kind, more.pop("message", None), text, connection, exchange, more)


def lines(*events: Event, width: Optional[int] = 200, columns: Optional[int] = None) -> List[str]:
    form = TextForm(width, columns)
    return [line[8:] for each in events for line in form.lines(each)]


def request(number: int, **meta: Any) -> Event:
    params: Dict[str, Any] = {"name": "x", "_meta": meta}
    return event("message", "client", message={"id": number, "method": "tools/call", "params": params})


HEADERS = [["Host", "h"], ["Mcp-Session-Id", "***0f3a97c1"], ["MCP-Protocol-Version", "2025-06-18"]]


@pytest.mark.parametrize("told, shown", [
    (event("trace", trace=1), []),
    (event("open", transport="stdio"), ["~~ connected by stdio"]),
    (event("open", transport="tcp", connection="2"), ["~~ connected by tcp (connection 2)"]),
    (event("close", "server", "gone"), ["~~ S  closed: gone"]),
    (event("process", "client", did="start", command=["python3", "x y.py"]), ["~~ C  process started: python3 x y.py"]),
    (event("process", "server", did="exit", code=-9), ["~~ S  process exited with code -9"]),
    (event("process", "client", did="signal", signal="TERM"), ["~~ C  process: signal TERM"]),
    (event("process", "client", did="stdin-closed"), ["~~ C  process: its stdin was closed"]),
    (event("stderr", "server", "oh\x1b[2J"), ["~~ S  stderr: oh\\x1b[2J"]),
    (event("request", "client", exchange=7, method="POST", target="/mcp", fields=HEADERS, url="http://h"),
     ["~~ C  [7] POST /mcp (MCP-Protocol-Version: 2025-06-18, Mcp-Session-Id: ***0f3a97c1)"]),
    (event("response", "server", exchange=7, status=200, fields=[["content-type", "text/event-stream; a=b"]]),
     ["~~ S  [7] 200 text/event-stream"]),
    (event("response", "server", exchange=7, status=202), ["~~ S  [7] 202"]),
    (event("body", "client", exchange=7, form=[["grant_type", "x"], ["code", "***1"]]),
     ["~~ C  [7] grant_type=x&code=***1"]),
    (event("body", "server", exchange=7, json={"a": 1}), ['~~ S  [7] {"a":1}']),
    (event("body", "server", exchange=7)._replace(more={"text": "no\n"}), ["~~ S  [7] no\\n"]),
    (event("event", "server", exchange=7, id="p1-0", retry=10, data=""), ["~~ S  [7] id p1-0, retry 10, no data"]),
    (event("event", "server", exchange=7, event="endpoint", data="/m"), ["~~ S  [7] event endpoint /m"]),
    (event("end", "server", exchange=7, complete=True), []),
    (event("end", "server", "broken", exchange=7, complete=False), ["~~ S  [7] cut off: broken"]),
    (event("end", "client", exchange=7, complete=False), ["~~ C  [7] left"]),
    (event("state", "", "phase operating"), ["== phase operating"]),
    (event("transport", "server", "odd"), ["~~ S  odd"]),
    (event("finding", "server", "late"), ["!! S  late"]),
    (event("gap", "", "a long body"), ["~~ not recorded: a long body"]),
])
def test_each_kind_has_its_line(told: Event, shown: List[str]) -> None:
    assert lines(told) == shown


def test_every_kind_can_be_shown_though_it_has_none_of_its_members() -> None:
    for kind in MEMBERS:
        assert all(isinstance(line, str) for line in lines(event(kind, "client")))


def test_a_stream_tells_its_events_when_it_is_over() -> None:
    shown = lines(
        event("response", "server", exchange=3, status=200, fields=[["Content-Type", "text/event-stream"]]),
        event("event", "server", exchange=3, id="g1-0", data=""),
        event("message", "server", exchange=3, message={"method": "ping"}, sse={"id": "g1-1", "event": "message"}),
        event("end", "server", exchange=3, complete=True))
    assert shown[1:] == ["~~ S  [3] id g1-0, no data", "S> ping  <id g1-1>", "~~ S  [3] over after 2 events"]


def test_meta_is_shown_once_and_then_what_differs_with_a_reference() -> None:
    shown = [json.loads(line[28:]) for line in lines(
        request(1, **META), request(2, **META), request(3, progressToken=3, **META),
        request(4, **{**META, "io.modelcontextprotocol/protocolVersion": "x"}), request(5), width=1000)]
    metas = [params["_meta"] for params in shown]
    assert metas[0] == META
    assert metas[1] == {"...": "2 as in tools/call #1"}
    assert metas[2] == {"progressToken": 3, "...": "2 as in tools/call #1"}
    assert metas[3] == {"io.modelcontextprotocol/protocolVersion": "x", "...": "1 as in tools/call #1"}
    assert metas[4] == {}


def test_meta_is_that_of_the_connection_and_the_sender() -> None:
    other = request(2, **META)._replace(connection="2")
    answer = event("message", "server", message={"id": 1, "result": {"_meta": META}})
    assert all("as in" not in line for line in lines(request(1, **META), other, answer, width=1000))


def test_full_leaves_nothing_out() -> None:
    long = request(1, text="x" * 5000, **META)
    fields = [["X-%d" % number, "y" * 500] for number in range(50)]
    head = event("request", "client", exchange=1, method="GET", target="/" + "z" * 500, fields=fields)
    shown = lines(long, long, head, event("body", "server", exchange=1, json=["v" * 500] * 50), width=None)
    assert [json.loads(line[28:])["_meta"]["text"] for line in shown[:2]] == ["x" * 5000] * 2
    assert shown[2].count("y" * 500) == 50 and "z" * 500 in shown[2] and shown[3].count("v" * 500) == 50
    assert "more..." not in "".join(shown) and "as in" not in "".join(shown)


@pytest.mark.parametrize("columns", [40, 80, 132])
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    form = TextForm(200, columns)
    told = [request(1, text="x" * 500), event("stderr", "server", "e" * 500), event("message", "server", "noise" * 100),
            event("request", "client", exchange=1, method="POST", target="/" + "t" * 500, fields=HEADERS),
            event("finding", "server", "f" * 500), event("body", "server", exchange=1, json=["v" * 500] * 50)]
    shown = [line for each in told for line in form.lines(each)]
    assert len(shown) == len(told)
    assert all(len(line) <= max(columns, 36 + 28) for line in shown), [len(line) for line in shown]
    assert columns == 40 or all(len(line) <= columns for line in shown)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("environment, stream, colours", [
    ({}, Terminal, True), ({"NO_COLOR": "1"}, Terminal, False), ({"NO_COLOR": ""}, Terminal, True),
    ({"TERM": "dumb"}, Terminal, False), ({}, io.StringIO, False),
])
def test_colours_are_for_terminals(
    environment: Dict[str, str], stream: Any, colours: bool, monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"COLUMNS": "80", **environment}.items():
        monkeypatch.setenv(name, value)
    out = stream()
    trace = Trace(TextSink(out))
    trace.message("client", b'{"id":1,"method":"ping","params":{"a":"%s"}}' % (b"x" * 500))
    trace.finding("odd", "server")
    text = out.getvalue()
    assert ("\x1b[36mC> ping #1\x1b[0m" in text) == colours == ("\x1b[1;31m!! S  odd\x1b[0m" in text)
    longest = max(len(line) for line in text.replace("\x1b[36m", "").replace("\x1b[0m", "").splitlines())
    assert longest <= 80 if stream is Terminal else longest > 80


def test_a_colour_begins_after_the_seconds_however_many() -> None:
    for line in ("  0.000 C> ping", "12345.678 C> ping"):
        assert coloured(line) == line.replace("C> ping", "\x1b[36mC> ping\x1b[0m")
    assert coloured('  0.000 S> result #1 {"a":1}') == '  0.000 \x1b[32mS> result #1\x1b[0m {"a":1}'


def test_answers_find_their_requests_within_their_connection() -> None:
    shown = lines(
        event("message", "client", message={"id": 1, "method": "ping"}),
        event("message", "client", message={"id": 1, "method": "tools/list"}, connection="2"),
        event("message", "server", message={"id": 1, "result": {}}),
        event("message", "server", message={"id": 1, "result": {}}, connection="2"))
    assert [line.split("{")[0].strip() for line in shown[2:]] == ["S> result #1 ping", "S> result #1 tools/list"]


def test_streams_that_never_end_are_forgotten() -> None:
    form = TextForm()
    for number in range(5000):
        form.lines(event("response", "server", exchange=number, fields=[["content-type", "text/event-stream"]]))
    assert len(form._events) <= 4096
