"""The wire trace: events, its two forms, what is masked, and the tap that feeds it."""
import io
import json
import logging
import os
import pathlib
import re
import stat
import subprocess
import sys
import threading
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import pytest

from mcp_ref import deadline
from mcp_ref.errors import ConnectFailed, ConnectionLost, Rejected
from mcp_ref.jsontext import JsonError, loads
from mcp_ref.limits import Limits
from mcp_ref.transports.base import Received, Transport
from mcp_ref.transports.memory import pair
from mcp_ref.transports.tap import tap
from mcp_ref.wiretrace import (
    LIMITS, Event, JsonLinesSink, Trace, TraceError, from_object, read, to_file, to_text,
)
from mcp_ref.wiretrace.text import TextForm, TextSink, shorten
from tests.support.patience import WAIT

ROOT = pathlib.Path(__file__).resolve().parents[1]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[List[float]]:
    """The time, which tests set."""
    now = [100.0]
    monkeypatch.setattr(deadline, "clock", lambda: now[0])
    yield now


def message(value: Any) -> bytes:
    return json.dumps(value).encode()


def told(events: List[Event]) -> List[Event]:
    """The events after the header, which is always the first."""
    assert events[0].kind == "trace"
    return events[1:]


def lines_of(events: Sequence[Tuple[str, Any]], width: Optional[int] = None) -> List[str]:
    """The text of some messages, (direction, JSON value or bytes) each, without times."""
    stream = io.StringIO()
    trace = to_text(stream, width)
    for direction, value in events:
        trace.message(direction, value if isinstance(value, bytes) else message(value))
    return [line[8:] for line in stream.getvalue().splitlines()]


# --- the text form ----------------------------------------------------------------------------------------------------

def test_text_form_is_that_of_the_style_guide(clock: List[float]) -> None:
    stream = io.StringIO()
    trace = to_text(stream)
    trace.message("client", b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}')
    clock[0] += 0.004
    trace.message("server", b'{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{}}}')
    clock[0] += 0.001
    trace.message("client", b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    clock[0] += 0.001
    trace.state("phase operating")
    clock[0] += 0.304
    trace.finding("late response #4 dropped", "server")
    clock[0] += 1234.5
    trace.transport("exit code 1", "server")
    trace.transport("connected by memory")
    assert stream.getvalue() == (
        '  0.000 C> initialize #1            {"protocolVersion":"2025-06-18"}\n'
        '  0.004 S> result #1 initialize     {"serverInfo":{}}\n'
        "  0.005 C> notifications/initialized\n"
        "  0.006 == phase operating\n"
        "  0.310 !! S  late response #4 dropped\n"
        "1234.810 ~~ S  exit code 1\n"
        "1234.810 ~~ connected by memory\n"
    )


def test_responses_are_matched_with_requests_of_the_other_side_by_id_and_type() -> None:
    assert lines_of([
        ("client", {"id": 1, "method": "ping"}),
        ("server", {"id": 1, "method": "roots/list"}),
        ("client", {"id": "1", "method": "tools/call", "params": {}}),
        ("client", {"id": 1, "result": {"roots": []}}),
        ("server", {"id": "1", "error": {"code": -32602, "message": "no"}}),
        ("server", {"id": 1, "result": {}}),
        ("server", {"id": 1, "result": {}}),
        ("server", {"id": None, "error": {"code": -32700, "message": "no"}}),
    ]) == [
        "C> ping #1",
        "S> roots/list #1",
        'C> tools/call #"1"          {}',
        'C> result #1 roots/list     {"roots":[]}',
        'S> error #"1" tools/call    {"code":-32602,"message":"no"}',
        "S> result #1 ping           {}",
        "S> result #1                {}",
        'S> error                    {"code":-32700,"message":"no"}',
    ]


def test_batches_have_a_line_for_each_message() -> None:
    """[2025-03-26 basic/index §Batching]"""
    assert lines_of([
        ("client", [{"id": 1, "method": "ping"}, {"method": "notifications/initialized"}]),
        ("server", [{"id": 1, "result": {}}, 5]),
        ("server", []),
    ]) == [
        "C> batch of 2", "C> 1/2 ping #1", "C> 2/2 notifications/initialized",
        "S> batch of 2", "S> 1/2 result #1 ping           {}", "S> 2/2 not a message            5",
        "S> batch of 0",
    ]


@pytest.mark.parametrize("data, shown", [
    (b"Listening on port 80", '"Listening on port 80"'),
    (b"\x80\xff", r'"\\x80\\xff"'),
    (b"\x1b[31mred\x07", r'"\u001b[31mred\u0007"'),
    (b"", '""'),
    (b"5", '"5"'),
    (b"null", '"null"'),
    (b'{"a": NaN}', r'"{\"a\": NaN}"'),
    (b'{"a": 1, "a": 2}', r'"{\"a\": 1, \"a\": 2}"'),
    (b'{"foo": 1}', '{"foo":1}'),
    (b"[" * 100000, None),
])
def test_what_is_no_message_is_shown_as_such(data: bytes, shown: Optional[str]) -> None:
    line, = lines_of([("server", data)])
    assert line.startswith("S> not a message            ")
    assert shown is None or line == "S> not a message            " + shown


@pytest.mark.parametrize("value", [
    {"id": 1, "method": "\x1b]0;owned\x07\n", "params": {"\x1b": "\x1b\u202e"}},
    {"id": "\x1b\n", "result": {"a": "\n\x1b\u2028"}},
    {"id": [1], "method": ["x"]},
])
def test_nothing_of_a_peer_reaches_the_terminal_as_it_is(value: Any) -> None:
    stream = io.StringIO()
    trace = to_text(stream)
    trace.message("server", message(value))
    trace.message("server", b"\x1b[2J\xe2\x80\xae")
    trace.transport("exited: \x1b[2J \n \ud800 \u202e é", "server")
    text = stream.getvalue()
    assert text.isascii() and text.count("\n") == 3 and text.replace("\n", "").isprintable()


def test_long_values_lose_their_middle() -> None:
    value = {"id": 1, "method": "m", "params": {"text": "a" * 500 + "z", "list": list(range(100)), "after": 1}}
    line, = lines_of([("client", value)], width=400)
    params = json.loads(line[28:])
    assert params["text"].startswith("aaaa") and params["text"].endswith("aaz") and "461 more" in params["text"]
    assert len(params["text"]) <= 60
    assert params["list"] == [0, 1, 2, 3, 4, 5, "... 93 more ...", 99] and params["after"] == 1
    assert list(params) == ["text", "list", "after"]


def test_long_lines_lose_their_middle_and_no_width_shows_all() -> None:
    value = {"id": 1, "method": "m", "params": {"k%d" % number: number for number in range(1000)}}
    line, = lines_of([("client", value)], width=200)
    assert len(line) <= 28 + 200 and ' more... ' in line and line.endswith('"k999":999}')
    line, = lines_of([("client", value)], width=None)
    assert json.loads(line[28:]) == value["params"]


@pytest.mark.parametrize("width", [1, 20, 28, 29, 60, 200])
def test_shortened_texts_say_how_much_is_missing(width: int) -> None:
    text = "".join(chr(97 + number % 26) for number in range(1000))
    short = shorten(text, width)
    assert len(short) <= max(width, 28)
    head, _, rest = short.partition(" ...")
    missing, _, tail = rest.partition(" more... ")
    assert text.startswith(head) and text.endswith(tail) and len(head) + int(missing) + len(tail) == 1000
    assert shorten(text, 1000) == text


def test_meta_that_is_remembered_is_bounded() -> None:
    form = TextForm()
    for number in range(5000):
        meta = {"same": 1, "name%d" % number: 1}
        form.lines(Event(0.0, "client", "message", {"method": "ping", "params": {"_meta": meta}}))
    assert len(form._shown["", "client"][1]) <= 257
    for number in range(5000):
        form.lines(Event(0.0, "client", "message", {"method": "ping", "params": {"_meta": {"a": 1}}}, "", str(number)))
    assert len(form._shown) <= 4096


def test_requests_that_are_never_answered_are_forgotten() -> None:
    form = TextForm()
    for number in range(10000):
        form.lines(Event(0.0, "client", "message", {"id": number, "method": "ping"}))
    assert len(form._methods) <= 4096
    assert form.lines(Event(0.0, "server", "message", {"id": 9999, "result": {}})) == [
        "  0.000 S> result #9999 ping        {}"]


# --- secrets ----------------------------------------------------------------------------------------------------------

def test_secrets_are_masked_before_any_sink_sees_them() -> None:
    events: List[Event] = []
    trace = Trace(events.append)
    secret = "hunter2hunter2"
    trace.message("client", message({"id": 1, "method": "m", "params": {"password": secret, "a": "Bearer " + secret}}))
    trace.message("server", b'not JSON {"token": "%s"}' % secret.encode())
    trace.message("server", b'\xff {"token": "%s"}' % secret.encode())
    trace.state("authorized with Bearer " + secret)
    trace.transport("Authorization: Bearer " + secret)
    trace.finding("?code=" + secret)
    assert len(told(events)) == 6 and secret not in repr(events)


def test_configured_secrets_are_masked_in_every_member_of_every_kind() -> None:
    events: List[Event] = []
    trace = Trace(events.append, secrets=["alpha"])
    trace.hide("beta")
    for secret in ("alpha", "beta"):
        trace.message("client", message({"method": "m " + secret, "params": {secret: [secret]}}), sse={"id": secret})
        trace.message("server", b"noise " + secret.encode())
        for kind in ("state", "transport", "finding", "gap", "close", "end", "stderr"):
            trace.tell(kind, "server", note=secret)
        trace.tell("process", "client", {"did": "start", "command": ["run", secret]})
        head = {"target": "/" + secret, "fields": [["Accept", secret]], "url": "http://" + secret}
        trace.tell("request", "client", head)
        for body in ({"json": {"a": secret}}, {"form": [("scope", secret)]}, {"text": secret}):
            trace.tell("body", "server", body)
        trace.tell("event", "server", {"id": secret, "event": secret, "data": secret})
    shown = repr(events)
    assert len(told(events)) == 30 and "alpha" not in shown and "beta" not in shown
    assert trace.masker.mask("alpha") in shown and trace.masker.mask("beta") in shown


@pytest.mark.parametrize("kind, members, words", [
    ("noise", {}, "noise: there is no such kind"), ("end", {"code": 1}, "end: an event has no member code"),
])
def test_what_is_no_event_is_refused(kind: str, members: Dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Trace().tell(kind, "server", members)


# --- recording and reading --------------------------------------------------------------------------------------------

def recorded(path: pathlib.Path) -> List[Event]:
    """A recording of one event of each kind; the events as they were told."""
    events: List[Event] = []
    with Trace(events.append, JsonLinesSink(path)) as seen:
        seen.message("client", message({"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"z": 1, "a": "é\u2028"}}))
        seen.message("server", b"[]")
        seen.message("server", "Listening é".encode("utf-8"))
        seen.message("server", b"\x80{\xff")
        seen.message("server", b"")
        seen.message("server", b"null")
        seen.state("phase operating")
        seen.transport("exit \ud800 code", "server")
        seen.finding("late", "client")
    return events


def test_recording_is_read_back_as_it_was_told(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "wire.jsonl"
    events = recorded(path)
    assert list(read(path)) == list(read(str(path))) == events
    assert list(read(path.read_text(encoding="utf-8").splitlines())) == events
    assert list(read(io.BytesIO(path.read_bytes()))) == events
    assert [event.data() for event in told(events)[:6]] == [
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"z":1,"a":"\\u00e9\\u2028"}}', b"[]",
        "Listening é".encode("utf-8"), b"\x80{\xff", b"", b"null"]


def test_recording_has_the_documented_form(tmp_path: pathlib.Path, clock: List[float]) -> None:
    recorded(tmp_path / "wire.jsonl")
    data = (tmp_path / "wire.jsonl").read_bytes()
    assert data.isascii() and data.endswith(b"\n") and b"\r" not in data
    header, *lines = [json.loads(line) for line in data.splitlines()]
    assert header.pop("recorder").startswith("mcp_ref ") and re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", header.pop("started"))
    assert header == {"trace": 1, "recorded": ["start", "both", "times", "bytes", "http", "sse", "end"]}
    assert lines == [
        {"time": 0.0, "from": "client", "message": {"jsonrpc": "2.0", "id": 1, "method": "m",
                                                    "params": {"z": 1, "a": "é\u2028"}}},
        {"time": 0.0, "from": "server", "message": []},
        {"time": 0.0, "from": "server", "raw": "Listening é"},
        {"time": 0.0, "from": "server", "base64": "gHv/"},
        {"time": 0.0, "from": "server", "raw": ""},
        {"time": 0.0, "from": "server", "raw": "null"},
        {"time": 0.0, "kind": "state", "note": "phase operating"},
        {"time": 0.0, "from": "server", "kind": "transport", "note": "exit \\ud800 code"},
        {"time": 0.0, "from": "client", "kind": "finding", "note": "late"},
    ]
    assert data.splitlines()[1].index(b'"z"') < data.splitlines()[1].index(b'"a"')


@pytest.mark.skipif(os.name != "posix", reason="file modes are those of POSIX")
def test_recording_can_be_read_by_its_owner_only(tmp_path: pathlib.Path) -> None:
    recorded(tmp_path / "wire.jsonl")
    assert stat.S_IMODE((tmp_path / "wire.jsonl").stat().st_mode) == 0o600


def test_recording_overwrites_nothing(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="name a new file"):
        to_file(path)
    assert path.read_text() == "mine"


@pytest.mark.parametrize("kind, members", [
    ("process", {"did": "start", "command": ["server", "caf\udce9"]}), ("body", {"text": "\ud800"}),
    ("body", {"json": {"a\ud800": ["\ud800"]}}), ("request", {"fields": [["X", "\udcff"]], "target": "/\udcff"}),
])
def test_what_is_no_unicode_is_told_and_ends_no_trace(kind: str, members: Dict[str, Any]) -> None:
    stream = io.StringIO()
    trace = to_file(stream)
    trace.tell(kind, members=members, note="\udcff")
    trace.state("goes on")
    assert [event.kind for event in told(list(read(stream.getvalue().splitlines())))] == [
        kind, "state"]


def test_a_key_on_stderr_is_masked_over_its_lines() -> None:
    events: List[Event] = []
    trace = Trace(events.append)
    for line in ("-----BEGIN PRIVATE KEY-----", "MIIESECRET", "-----END PRIVATE KEY-----", "up"):
        trace.tell("stderr", note=line)
    assert "SECRET" not in repr(events) and events[-1].text == "up"


def test_secrets_that_are_forgotten_are_told_once() -> None:
    events: List[Event] = []
    trace = Trace(events.append)
    for number in range(300):
        trace.tell("request", "client", {"fields": [["Authorization", "Bearer the-token-%d" % number]]})
    assert [event.text.partition(":")[0] for event in events if event.kind == "transport"] == [
        "more than 200 credentials were seen"]
    assert "the-token" not in repr(events)


def test_recording_to_a_stream_leaves_it_open() -> None:
    stream = io.StringIO()
    trace = to_file(stream)
    trace.state("a")
    trace.close()
    assert not stream.closed and told(list(read(stream.getvalue().splitlines())))[0].text == "a"


def test_each_event_is_on_disk_at_once(tmp_path: pathlib.Path) -> None:
    with to_file(tmp_path / "wire.jsonl") as trace:
        trace.state("before the crash")
        assert [event.text for event in told(list(read(tmp_path / "wire.jsonl")))] == ["before the crash"]


def test_comments_and_blank_lines_are_skipped() -> None:
    event = '{"time":1,"kind":"state","note":"a"}'
    lines = ["# 2025-06-18 basic/lifecycle §Initialization", "", "   ", event, "  # end"]
    assert list(read(lines)) == [Event(1.0, "", "state", None, "a")]


def test_members_that_are_unknown_are_ignored() -> None:
    assert list(read(['{"time":1,"from":"client","message":{"a":1},"host":"x"}'])) == [
        Event(1.0, "client", "message", {"a": 1})]


@pytest.mark.parametrize("line, words", [
    ("  0.000 C> ping #1", "not JSON"),
    (b"\xff", "not valid UTF-8"),
    ("[]", "not an object"),
    ("{}", "time: expected seconds"),
    ('{"time":true,"from":"client","raw":""}', "time: expected seconds"),
    ('{"time":"1","from":"client","raw":""}', "time: expected seconds"),
    ('{"time":1,"raw":""}', "from: expected client or server"),
    ('{"time":1,"from":"proxy","raw":""}', "from: expected client or server"),
    ('{"time":1,"from":["client"],"raw":""}', "from: expected client or server"),
    ('{"time":1,"kind":"noise","note":""}', "kind: expected one of message"),
    ('{"time":1,"kind":{},"note":""}', "kind: expected one of message"),
    ('{"time":1,"kind":"state"}', "note: expected a string"),
    ('{"time":1,"kind":"state","note":5}', "note: not of the right type"),
    ('{"time":1,"from":"client"}', "expected message"),
    ('{"time":1,"from":"client","message":"x"}', "message: not of the right type"),
    ('{"time":1,"from":"client","base64":"?"}', "expected message"),
    ('{"time":1,"from":"client","base64":5}', "base64: not of the right type"),
    ('{"time":1,"from":"client","raw":5}', "raw: not of the right type"),
    ('{"trace":2}', "version 2 is not known"),
    ('{"time":1,"kind":"end","complete":1}', "complete: not of the right type"),
    ('{"time":1,"kind":"request","exchange":"1"}', "exchange: expected an integer"),
    ('{"time":1,"time":2,"from":"client","raw":""}', "duplicate key"),
])
def test_line_that_is_no_event_is_named(line: Any, words: str) -> None:
    good = '{"time":1,"kind":"state","note":"a"}' if isinstance(line, str) else b'{"time":1,"kind":"state","note":"a"}'
    events = read([good, line])
    assert next(events).text == "a"
    with pytest.raises(TraceError, match="line 2: .*" + words.replace("(", ".")):
        next(events)


HEAD = '{"time":1.5,"from":"server","exchange":7,'
ENDS = ('"kind":"end","complete":true}', '"kind": "response", "status": 200, "fields": [["Age", "1"]]}',
        '"kind":"stderr","text":"a"}', '"kind":"gap","note":"n"}', '"message":{"id":1,"result":{}}}',
        '"message": {"id": 1}, "sse": {"id": "a"}}', '"message":[{"id":1}]}', '"message":{},"kind":"message"}',
        '"kind":"message","raw":"x"}', '"raw":"x"}', '"kind":"close","connection":"b"}', '"trace":1}')
HEADS = (HEAD, '{"time": 1.5, "from": "server", "exchange": 7, ', '{"time":3,"from":"client","connection":"b",',
         '{"time":0,"from":"client",', '{"from":"client","time":1,', '{"time":1e1,"from":"client",', '{"time":1,')
REFUSED = ('"kind":"end","time":2}', '"kind":"end","exchange":7}', '"kind":"end","kind":"end"}', '"kind":"what"}',
           '"message":{"a":1,"a":2}}', '"message":1}', '"message":{}', '"message":{}}}', '"message":{}]',
           '"message":{"a":NaN}}', '"message":%s}' % ('[' * 200 + ']' * 200))


def read_slowly(line: str) -> Any:
    """What the usual way says of a line: its event, or nothing."""
    try:
        return from_object(loads(line.encode(), LIMITS))
    except (TraceError, JsonError):
        return None


def read_alone(line: str) -> Any:
    """What `read` says of a line behind others, which it may remember."""
    try:
        *_, event = read([HEADS[0] + ENDS[0], HEADS[3] + ENDS[0], HEADS[0] + ENDS[1], line + "\n"])
        return event
    except (TraceError, JsonError):
        return None


@pytest.mark.parametrize("head", HEADS)
def test_lines_that_are_read_quickly_are_read_as_all_others(head: str) -> None:
    for end in ENDS + REFUSED:
        assert read_alone(head + end) == read_slowly(head + end), head + end
    assert all(read_slowly(HEAD + end) is None for end in REFUSED)


def test_recording_can_be_shown_as_text(tmp_path: pathlib.Path) -> None:
    recorded(tmp_path / "wire.jsonl")
    form = TextForm()
    lines = [line[8:] for event in read(tmp_path / "wire.jsonl") for line in form.lines(event)]
    assert lines[0].startswith("C> m #1") and lines[-1] == "!! C  late"


# --- sinks and threads ------------------------------------------------------------------------------------------------

def test_sink_that_raises_is_dropped_and_the_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    events: List[Event] = []
    calls: List[Event] = []

    def broken(event: Event) -> None:
        calls.append(event)
        raise OSError("disk full")
    trace = Trace(broken, events.append)
    with caplog.at_level(logging.WARNING):
        trace.state("one")
        trace.state("two")
    assert [event.text for event in told(events)] == ["one", "two"] and len(calls) == 1
    assert "of a trace, which ends here, raised OSError: disk full" in caplog.text and len(caplog.records) == 1


def test_closed_stream_ends_the_trace_only(caplog: pytest.LogCaptureFixture) -> None:
    stream = io.StringIO()
    trace = to_text(stream)
    stream.close()
    with caplog.at_level(logging.WARNING):
        trace.message("client", b"{}")
    assert len(caplog.records) == 1


def test_many_threads_write_whole_lines(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "wire.jsonl"
    stream = io.StringIO()
    with Trace(JsonLinesSink(path), TextSink(stream)) as both:
        def tell(direction: str) -> None:
            for number in range(200):
                both.message(direction, message({"id": number, "method": "m", "params": {"by": direction}}))
        threads = [threading.Thread(target=tell, args=(side,)) for side in ("client", "server") * 3]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT)
    events = told(list(read(path)))
    assert len(events) == 1200 and all(event.message["params"]["by"] == event.direction for event in events)
    assert len(stream.getvalue().splitlines()) == 1200


def test_each_sink_is_called_by_one_thread_at_a_time() -> None:
    inside, most = [0], [0]
    gate = threading.Event()

    def sink(event: Event) -> None:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        gate.wait(WAIT)
        inside[0] -= 1
    trace = Trace(sink)
    threads = [threading.Thread(target=trace.state, args=("a",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    gate.set()
    for thread in threads:
        thread.join(WAIT)
    assert most == [1]


# --- the tap ----------------------------------------------------------------------------------------------------------

def test_tap_shows_what_is_sent_and_received() -> None:
    events: List[Event] = []
    near, far = pair(Limits(max_message_bytes=50))
    tapped = tap(near, Trace(events.append), "client")
    tapped.open()
    tapped.write([b'{"id":1,"method":"ping"}', b"[1]"])
    far.write([b'{"id":1,"result":{}}', b'"%s"' % (b"x" * 60), b"noise"])
    read_back: List[Received] = []
    while len(read_back) < 3:
        read_back += tapped.read() or []
    far.close()
    assert tapped.read() is None
    tapped.close()
    tapped.close()
    assert [(event.direction, event.kind, event.message or event.text or dict(event.more))
            for event in told(events)] == [
        ("", "open", {"transport": "memory"}),
        ("client", "message", {"id": 1, "method": "ping"}),
        ("client", "message", [1]),
        ("server", "message", {"id": 1, "result": {}}),
        ("server", "finding", "refused: message of 62 bytes exceeds max_message_bytes (50)"),
        ("", "gap", "a message that was refused: message of 62 bytes exceeds max_message_bytes (50)"),
        ("server", "message", "noise"),
        ("server", "close", "the peer closed the connection"),
    ]
    assert [type(item) for item in read_back] == [bytes, Rejected, bytes]


class Scripted(Transport):
    """A transport that records what happens, and fails where it is told to."""

    name = "scripted"
    pid = 17

    def __init__(self, fails: str = "") -> None:
        self.calls: List[Any] = []
        self.fails = fails
        self.on_noise: Any = None

    def open(self) -> None:
        if self.fails == "open":
            raise ConnectFailed("nobody there")

    def read(self) -> Optional[List[Received]]:
        return None

    def write(self, messages: Sequence[bytes]) -> None:
        self.calls.append(list(messages))
        if self.fails == "write":
            raise ConnectionLost("gone")

    def ready(self, size: int) -> bool:
        return size < 10

    def close(self) -> None:
        self.calls.append("close")

    def reason(self) -> str:
        return "because"

    def counters(self) -> Dict[str, int]:
        return {"noise": 3}


def test_tap_tells_before_it_writes_and_what_failed() -> None:
    events: List[Event] = []
    inner = Scripted("write")
    order: List[int] = []
    tapped = tap(inner, Trace(events.append, lambda event: order.append(len(inner.calls))), "server")
    with pytest.raises(ConnectionLost):
        tapped.write([b"{}", b"[]"])
    assert [event.text for event in told(events)[2:]] == ["not sent, or not all of it: gone"]
    assert [event.direction for event in told(events)] == ["server", "server", ""] and order == [0, 0, 0, 1]


def test_tap_tells_of_no_message_that_is_written_after_the_end() -> None:
    events: List[Event] = []
    near, far = pair()
    tapped = tap(near, Trace(events.append), "client")
    tapped.open()
    tapped.close()
    with pytest.raises(ConnectionLost):
        tapped.write([b'{"id":1,"method":"ping"}'])
    assert [event.kind for event in told(events)] == ["open", "close", "finding"]


def test_tap_tells_of_a_connection_that_was_not_made() -> None:
    events: List[Event] = []
    with pytest.raises(ConnectFailed):
        tap(Scripted("open"), Trace(events.append), "client").open()
    assert [event.text for event in told(events)] == ["not connected: nobody there"]


def test_tap_passes_on_what_was_refused_before_the_answer() -> None:
    """By it a transport chooses the status of the reply."""
    events: List[Event] = []
    inner: Any = Scripted()
    inner.refused = lambda *what: inner.calls.append(what)
    tapped = tap(inner, Trace(events.append), "server")
    tapped.refused("a", -32601)
    tapped.refused(7, -32602)
    assert inner.calls == [("a", -32601), (7, -32602)] and events == []


def test_tap_passes_everything_else_on() -> None:
    inner = Scripted()
    tapped: Any = tap(inner, Trace(), "client")
    assert isinstance(tapped, Transport) and tapped.name == "scripted" and tapped.pid == 17
    assert (tapped.ready(5), tapped.ready(50)) == (True, False)
    assert (tapped.reason(), tapped.counters()) == ("because", {"noise": 3})
    tapped.close()
    tapped.close()
    assert inner.calls == ["close", "close"]
    with pytest.raises(AttributeError):
        tapped.unknown


def test_noise_of_a_child_is_in_the_trace_and_still_heard() -> None:
    events: List[Event] = []
    heard: List[bytes] = []
    inner = Scripted()
    inner.on_noise = heard.append
    tap(inner, Trace(events.append), "client")
    inner.on_noise(b"Listening on port 80")
    assert heard == [b"Listening on port 80"]
    assert [(event.direction, event.text) for event in told(events)] == [("server", "Listening on port 80")]


def test_no_trace_means_no_tap() -> None:
    inner = Scripted()
    assert tap(inner, None, "client") is inner


def test_side_must_be_one_of_the_two() -> None:
    with pytest.raises(ValueError, match="not 'C>'"):
        tap(Scripted(), Trace(), "C>")


def test_untraced_connections_load_nothing_of_it() -> None:
    code = ("import sys; from mcp_ref.transports import memory; from mcp_ref.client import connect; "
            "print([name for name in sys.modules if 'wiretrace' in name or name.endswith('.tap')])")
    done = subprocess.run([sys.executable, "-c", code], cwd=str(ROOT), stdout=subprocess.PIPE, timeout=WAIT)
    assert done.stdout.strip() == b"[]"


def test_methods_outside_of_the_specification_are_named_as_such() -> None:
    said = lines_of([("client", {"jsonrpc": "2.0", "id": 1, "method": "acme/search", "params": {}}),
                     ("server", {"jsonrpc": "2.0", "id": 1, "result": {}}),
                     ("client", {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}})])
    assert [line.split("{")[0].strip() for line in said] == [
        "C> acme/search (vendor) #1", "S> result #1 acme/search (vendor)", "C> tools/list #2"]
