"""Recordings of other tools: what they say becomes events, and what they do not say is not guessed."""
import json
import os
import subprocess
import sys

import pytest

from mcp_ref.devtools.recorder.imported import Senders, _seconds, har, imported, messages
from mcp_ref.wiretrace import TraceError, read, to_object
from tests.recorder.shimming import SHIM
from tests.support.patience import WAIT

REQUEST = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a", "_meta": {"progressToken": "t"}}}
ANSWER = {"jsonrpc": "2.0", "id": 1, "result": {}}
ASKED = {"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": {}}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
PROGRESS = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "t", "progress": 1}}
CANCEL = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}


def lines(*values):
    return [json.dumps(value).encode() + b"\n" for value in values]


def parties(*values):
    """Who has sent each of these; "" for a gap."""
    _, *found = messages(lines(*values))
    assert all(event.time == 0 for event in found)
    return [event.direction for event in found]


@pytest.mark.parametrize("values, senders", [
    ([REQUEST, ANSWER], ["client", "server"]), ([ASKED, ANSWER], ["server", "client"]),
    ([REQUEST, PROGRESS, CANCEL], ["client", "server", "client"]), ([ANSWER], [""]), ([PING, ANSWER], ["", ""]),
    ([PROGRESS], [""]), ([CANCEL], [""]), ([REQUEST, PING, ANSWER, ANSWER], ["client", "", "", ""]),
    ([REQUEST, ASKED, ANSWER], ["client", "server", ""]), ([REQUEST, ANSWER, ANSWER], ["client", "server", ""]),
    ([{**REQUEST, "method": "vendor/x"}, ANSWER], ["", ""]), ([[REQUEST, PROGRESS]], ["client"]),
    ([REQUEST, [ANSWER, PROGRESS]], ["client", "server"]), ([[REQUEST, ASKED]], [""]),
    ([{"id": True, "method": 3}, 5, "x", {}, []], [""] * 5), ([{**REQUEST, "id": "1"}, ANSWER], ["client", ""]),
    ([{**REQUEST, "id": 1.0}, ANSWER], ["client", "server"]),
])
def test_the_sender_is_told_only_where_there_is_no_doubt(values, senders):
    assert parties(*values) == senders


def test_messages_of_one_party_promise_nothing_of_the_other():
    header, first, second = messages(lines(PING, ANSWER), "server")
    assert header.more["recorded"] == [] and "started" not in header.more
    assert {first.direction, second.direction} == {"server"}
    assert next(messages(lines(PING))).more["recorded"] == ["both"]
    with pytest.raises(ValueError, match="direction is client, server, or nothing"):
        next(messages([], "both"))


def test_lines_that_are_no_messages_are_gaps_or_bytes():
    _, *found = messages([b"\xef\xbb\xbf" + lines(REQUEST)[0], b"\n", b"{broken\r\n", b"\xff", *lines(ANSWER)])
    assert [(event.kind, event.direction) for event in found] == [
        ("message", "client"), ("gap", ""), ("gap", ""), ("message", "server")]
    assert "line 3, because it cannot be told who sent it: {broken" in found[1].text
    _, only = messages([b"noise\n"], "server")
    assert (only.kind, only.text) == ("message", "noise")


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr("mcp_ref.devtools.recorder.imported._MOST_OPEN", 10)
    senders = Senders()
    for number in range(100):
        assert senders.of({**REQUEST, "id": number, "params": {"_meta": {"progressToken": number}}}) == "client"
    assert senders.of({**ANSWER, "id": 1}) == "" and senders.of({**ANSWER, "id": 99}) == "server"
    assert len(senders._open) <= 10 and len(senders._tokens) <= 10


def entry(method="POST", url="http://host:1/mcp", sent=None, received=None, status=200, kind="application/json",
          begin="2026-11-23T01:40:00.000Z", time=10, fields=(), **content):
    found = {"startedDateTime": begin, "time": time,
             "request": {"method": method, "url": url, "httpVersion": "HTTP/1.1", "bodySize": -1, "headers": [
                 {"name": ":path", "value": "/x"}, {"name": "Host", "value": "host:1"}, *fields]},
             "response": {"status": status, "headers": [{"name": "Content-Type", "value": kind}],
                          "content": dict({"size": len(received or ""), "mimeType": kind}, **content)}}
    if sent is not None:
        found["request"]["postData"] = {"mimeType": "application/json", "text": sent}
    if received is not None:
        found["response"]["content"]["text"] = received
    return found


def told(*entries):
    return list(har(json.dumps({"log": {"version": "1.2", "entries": list(entries)}}).encode()))


def test_a_har_becomes_exchanges():
    header, *found = told(entry(sent=json.dumps(REQUEST), received=json.dumps(ANSWER)))
    assert header.more["recorded"] == ["both", "http", "sse"] and header.more["started"] == "2026-11-23T01:40:00Z"
    assert [(event.kind, event.direction, event.time) for event in found] == [
        ("request", "client", 0.0), ("open", "", 0.0), ("message", "client", 0.0), ("response", "server", 0.01),
        ("message", "server", 0.01), ("end", "", 0.01)]
    assert found[0].more == {"method": "POST", "target": "/mcp", "fields": [["Host", "host:1"]], "url": "http://host:1"}
    assert (found[2].message, found[4].message) == (REQUEST, ANSWER) and {event.exchange for event in found[2:]} == {1}
    assert [to_object(event) for event in found]


def test_exchanges_that_overlap_are_told_in_the_order_of_their_times():
    _, *found = told(
        entry(sent=json.dumps({**PING, "id": 2}), received=json.dumps({**ANSWER, "id": 2}), time=10,
              begin="2026-11-23T01:40:01+00:00"),
        entry(sent=json.dumps(PING), received=json.dumps(ANSWER), time=5000))
    assert [(event.direction, event.message["id"]) for event in found if event.kind == "message"] == [
        ("client", 1), ("client", 2), ("server", 2), ("server", 1)]


def test_streams_documents_and_what_is_neither():
    stream = "id: 1\ndata: %s\n\n: comment\nevent: odd\ndata: x\n\n" % json.dumps(ANSWER)
    _, *found = told(
        entry(sent=json.dumps(REQUEST), received=stream, kind="text/event-stream"),
        entry("GET", "http://host:1/.well-known/oauth-protected-resource", received='{"resource":"x"}'),
        entry(url="http://host:1/token", sent="grant_type=refresh_token&refresh_token=hunter2hunter2"),
        entry("GET", "http://host:1/logo.png", received="x", kind="image/png"), entry("GET", "http://cdn/app.js"))
    assert [event.more["target"] for event in found if event.kind == "request"] == [
        "/mcp", "/.well-known/oauth-protected-resource", "/token"]
    assert [event.more["sse"] for event in found if event.kind == "message" and event.direction == "server"] == [
        {"id": "1"}]
    assert [dict(event.more) for event in found if event.kind == "event"] == [{"event": "odd", "data": "x"}]
    assert "hunter2" not in repr(found)


def test_bodies_that_are_missing_are_gaps():
    _, *found = told(entry("GET", kind="text/event-stream"), entry(sent=json.dumps(PING), size=50), entry(
        "DELETE", status=204), entry(sent=json.dumps(PING), status=0))
    assert [event.exchange for event in found if event.kind == "gap"] == [1, 2]
    assert [(event.exchange, event.more["complete"], event.text) for event in found if event.kind == "end"] == [
        (1, False, "the body was not recorded"), (2, False, "the body was not recorded"), (3, True, ""),
        (4, False, "the recording has no response")]


def test_bodies_are_as_they_were_before_they_were_compressed():
    compressed = entry(sent=json.dumps(PING), received=json.dumps(ANSWER))
    compressed["response"]["headers"].append({"name": "Content-Encoding", "value": "br"})
    assert [event.message for event in told(compressed) if event.kind == "message"] == [PING, ANSWER]
    coded = entry(sent=json.dumps(PING), received="e30=", encoding="base64")
    assert [event.more for event in told(coded) if event.kind == "body"] == [{"json": {}}]


def test_two_servers_in_one_har_are_two_connections():
    found = told(*(entry(url="http://%s/mcp" % host, sent=json.dumps(PING)) for host in ("a", "b")))
    assert {event.connection for event in found if event.kind == "request"} == {"http://a", "http://b"}


def test_an_endpoint_of_the_old_transport_is_found_by_its_event():
    _, *found = told(
        entry("GET", "http://h/sse", received="event: endpoint\ndata: /m?sessionId=1234567890\n\n",
              kind="text/event-stream", begin="2026-11-23T01:40:00Z"),
        entry(url="http://h/m?sessionId=1234567890", sent=json.dumps(PING), received="Accepted", kind="text/plain",
              begin="2026-11-23T01:40:05Z"))
    assert [event.more["transport"] for event in found if event.kind == "open"] == ["http+sse"]
    assert len([event for event in found if event.kind == "message"]) == 1 and "1234567890" not in repr(found)


@pytest.mark.parametrize("data", [
    b"", b"{}", b'{"log": []}', b'{"log": {"entries": [{}]}}', b'{"log": {"entries": 5}}', b"\xff", b"[" * 100_000,
    b'{"log": {"entries": [{"startedDateTime": "yesterday", "request": {"url": "http://a", "method": "GET"}}]}}',
    b'{"log": {"entries": [{"startedDateTime": "1970-01-01T00:00:00Z", "response": {"status": 1e999}, '
    b'"request": {"url": "http://a", "method": "GET"}}]}}'])
def test_what_is_no_har_is_refused(data):
    with pytest.raises(TraceError, match="no HAR: "):
        list(har(data))


@pytest.mark.parametrize("text", [
    "1970-01-01T00:00:01.5Z", "1970-01-01T00:00:01.500000000+00:00", "1970-01-01T01:00:01.500+0100",
    "1970-01-01T01:00:01.500+01:00"])
def test_times_in_all_spellings(text):
    assert _seconds(text) == 1.5


def test_the_format_is_known_by_the_contents(tmp_path):
    cases = {"trace": b'# comment\n{"trace":1,"recorded":[]}\n{"time":0,"from":"client","message":{}}\n',
             "old": b'{"time":0,"from":"client","message":{}}\n', "lines": b"\n" + b"".join(lines(REQUEST)),
             "har": json.dumps({"log": {"entries": []}}, indent=1).encode(), "flat": b'{"log":{"entries":[]}}'}
    counts = {}
    for name, data in cases.items():
        path = tmp_path / name
        path.write_bytes(data)
        counts[name] = len(list(imported(str(path))))
    assert counts == {"trace": 2, "old": 1, "lines": 2, "har": 1, "flat": 1}
    with pytest.raises(TraceError, match="says itself who sent what"):
        list(imported(str(tmp_path / "har"), "client"))
    for data, complaint in ((b"", "is empty"), (b"\x7fELF", "neither a trace, nor a HAR")):
        (tmp_path / "bad").write_bytes(data)
        with pytest.raises(TraceError, match=complaint):
            list(imported(str(tmp_path / "bad")))


def test_the_command_converts_into_a_new_file(tmp_path):
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_bytes(b"".join(lines(REQUEST, ANSWER)))
    command = [*SHIM, "--convert", str(source), str(target)]
    assert subprocess.run(command, stdin=subprocess.DEVNULL, timeout=WAIT).returncode == 0
    assert [event.direction for event in read(str(target))] == ["", "client", "server"]
    for words, complaint in ((command, "is there already"),
                             ([*SHIM, "--convert", str(source), os.devnull], "is no regular file; name a new file"),
                             ([*SHIM, "--convert", "/nowhere", "x"], "cannot read"),
                             ([*SHIM, "--convert", sys.executable, "x"], "neither a trace"),
                             ([*command, "--out", "x"], "leave out --out")):
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=WAIT)
        assert done.returncode == 2 and complaint in done.stderr.decode()
