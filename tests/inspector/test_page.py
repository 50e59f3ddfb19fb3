"""The page of a session, as far as it can be told without a browser; `make page-test` drives it in one."""
import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any, Dict, List

import pytest

from mcp_ref import Context, Server, connect
from mcp_ref.cli import main
from mcp_ref.cli.learn.entries import glossary
from mcp_ref.devtools.checker import Checker
from mcp_ref.devtools.inspector import SessionRecord, page
from mcp_ref.devtools.inspector.record import STEP
from mcp_ref.wiretrace import CLIENT, MESSAGE, OPEN, REQUEST, RESPONSE, SERVER, Event, Trace, to_file

MOST = 150 * 1024
EVIL = "</script><script>alert(1)</script><!--"


def message(direction: str, value: Any, time: float = 0.0, **more: Any) -> Event:
    return Event(time, direction, MESSAGE, value, **more)


def call(id: Any, name: str = "add", **more: Any) -> Dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": dict(more, name=name)}


def result(id: Any, **members: Any) -> Dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": members}


def document(*events: Event, title: str = "a session") -> Dict[str, Any]:
    record, checker = SessionRecord(), Checker()
    for event in events:
        record.take(event)
        checker.feed(event)
    checker.finish()
    return record.document(title, checker.findings, glossary(record.methods()))


def rows(made: Dict[str, Any]) -> List[Dict[str, Any]]:
    return [dict(zip(STEP, row)) for row in made["steps"]]


class Reader(HTMLParser):
    """What a browser sees of the page: its elements, and the contents of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: List[str] = []
        self.parts: Dict[str, str] = {}
        self.policy = ""
        self._in = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        given = dict(attributes)
        self.tags.append(tag)
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]
        assert not [name for name in given if name.startswith("on") or name in ("src", "style")], (tag, given)
        self._in = {"script": given.get("id") or "script", "style": "style", "title": "title"}.get(tag, "")

    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    def handle_data(self, data: str) -> None:
        if self._in:
            self.parts[self._in] = self.parts.get(self._in, "") + data


def test_steps_know_their_requests_revisions_and_names() -> None:
    made = document(
        Event(0.0, CLIENT, OPEN, more={"transport": "stdio"}),
        message(CLIENT, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}}, 0.1),
        message(SERVER, result(0, protocolVersion="2025-06-18", capabilities={}, serverInfo={}), 0.2),
        message(CLIENT, call(1), 0.3), message(CLIENT, call(2, "slow"), 0.4),
        message(SERVER, result(2, content=[]), 0.5), message(SERVER, result(1, content=[]), 0.75))
    steps = rows(made)
    assert [step["answers"] for step in steps] == [-1, -1, 1, -1, -1, 4, 3]
    assert [step["about"] for step in steps] == ["", "", "", "add", "slow", "", ""]
    assert [step["number"] for step in steps] == [0, 1, 2, 3, 4, 5, 6]
    named = [made["revisions"][step["revision"]] if step["revision"] >= 0 else "" for step in steps]
    assert named == ["", "2025-11-25", "2025-06-18", "2025-06-18", "2025-06-18", "2025-06-18", "2025-06-18"]
    assert made["connections"] == [["", "stdio"]]
    assert [step["sense"] for step in steps] == [0, 1, 2, 1, 1, 2, 2]


def test_a_stateless_message_names_its_revision() -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    made = document(message(CLIENT, call(1, _meta=meta)), message(SERVER, result(1, content=[])),
                    message(CLIENT, call(2)), message(SERVER, result(2, content=[])))
    assert [made["revisions"][step["revision"]] if step["revision"] >= 0 else "" for step in rows(made)] == [
        "2026-07-28", "2026-07-28", "", ""]
    assert set(made["glossary"]) == {"2026-07-28"}


def test_bytes_of_messages_are_texts_with_all_their_digits() -> None:
    event = Event(0.0, CLIENT, MESSAGE, None, '{"id": 1.0, "id": 12345678901234567890123}')
    steps = rows(document(event, message(CLIENT, call(12345678901234567890123))))
    assert steps[0]["text"] == event.text
    assert '"id":12345678901234567890123' in steps[1]["text"].replace(" ", "")


def test_bytes_that_are_no_utf8_are_escapes() -> None:
    made = document(Event(0.0, CLIENT, MESSAGE, None, b'{"a": "\xff\xc3\xa9"}'.decode("utf-8", "surrogateescape")))
    assert rows(made)[0]["text"] == '{"a": "\\xff\u00e9"}'
    page(made).encode("utf-8")


def test_messages_of_a_batch_have_their_own_bytes() -> None:
    steps = rows(document(message(CLIENT, [call(1, "a"), call(2, "b")])))
    assert [json.loads(step["text"])["params"]["name"] for step in steps] == ["a", "b"]


def test_findings_stand_at_their_steps_and_name_their_causes() -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"}}
    made = document(message(CLIENT, call(1, _meta=meta)), message(SERVER, result(1, content="none")))
    for finding in made["findings"]:
        assert finding["rule"] and finding["page"] and finding["evidence"] and finding["cause"] < len(made["findings"])
    told = [(finding["rule"], finding["step"], finding["party"], finding["level"]) for finding in made["findings"]]
    assert ("schema.result", 1, "server", "MUST") in told


def test_http_heads_are_kept_by_exchange() -> None:
    asked = {"method": "POST", "target": "/mcp", "fields": [["Accept", "x"]]}
    made = document(
        Event(0.0, CLIENT, REQUEST, exchange=1, more=asked), message(CLIENT, call(1), exchange=1),
        Event(0.1, SERVER, RESPONSE, exchange=1, more={"status": 200, "fields": []}),
        message(SERVER, result(1, content=[]), exchange=1))
    assert made["exchanges"] == {"1": {
        "method": "POST", "target": "/mcp", "fields": [("Accept", "x")], "status": 200, "answered": []}}
    assert {step["exchange"] for step in rows(made)} == {1}


def test_the_glossary_has_every_type_that_is_needed() -> None:
    words = glossary({("2025-11-25", "tools/call"), ("2025-11-25", "vendor/x"), ("1999-01-01", "ping")})
    assert set(words) == {"2025-11-25"} and set(words["2025-11-25"]["methods"]) == {"tools/call"}
    types = words["2025-11-25"]["types"]
    assert {"CallToolRequestParams", "CallToolResult", "CreateTaskResult", "ContentBlock", "TextContent"} <= set(types)
    assert types["CallToolRequestParams"]["members"]["name"] == {"type": "string", "required": True, "note": ""}
    assert "TextContent" in types["ContentBlock"]["alternatives"]


def test_only_the_scripts_and_styles_of_the_page_are_allowed() -> None:
    seen = Reader(page(document(message(CLIENT, call(1)))))
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(seen.parts[kind].encode()).digest()).decode()
        assert "%s-src 'sha256-%s'" % (kind, digest) in seen.policy
    assert "default-src 'none'" in seen.policy and "unsafe" not in seen.policy and "http" not in seen.policy
    assert seen.tags.count("script") == 2 and "img" not in seen.tags and "iframe" not in seen.tags


@pytest.mark.parametrize("evil", [
    EVIL, "<img src=x onerror=alert(1)>", "{{script}}", "\u2028\u2029\ud800", '"\\</SCRIPT'])
def test_no_text_of_a_peer_or_a_title_is_markup(evil: str) -> None:
    plain = Reader(page(document(message(CLIENT, call(1, "add", arguments={"text": "x"})), title="x")))
    seen = Reader(page(document(message(CLIENT, call(1, "add", arguments={"text": evil})), title=evil)))
    assert seen.tags == plain.tags
    assert seen.parts["title"] == evil.replace("\ud800", "?")
    assert json.loads(json.loads(seen.parts["record"])["steps"][0][-1])["params"]["arguments"]["text"] == evil


def test_scripts_make_no_markup_and_ask_for_nothing() -> None:
    script = Reader(page(document(message(CLIENT, call(1))))).parts["script"]
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "fetch(",
                 "XMLHttpRequest", "import(", "localStorage", "cookie"):
        assert word not in script, word


def test_the_page_is_small() -> None:
    assert len(page(SessionRecord().document("nothing")).encode()) < MOST


def test_the_command_writes_a_page(tmp_path: Any, capsys: pytest.CaptureFixture) -> None:
    server = Server("s")

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    recording, out = tmp_path / "a session.jsonl", tmp_path / "out.html"
    trace: Trace = to_file(str(recording))
    with connect(server, trace=trace) as client:
        client.call_tool("add", {"a": 1, "b": 2})
    trace.close()
    assert main(["ladder", str(recording), "--html", str(out)]) == 0
    assert re.fullmatch(r".*out\.html: \d+ messages, 0 findings\n", capsys.readouterr().err)
    seen = Reader(out.read_text("utf-8"))
    assert seen.parts["title"] == "a session.jsonl"
    assert [row["about"] for row in rows(json.loads(seen.parts["record"])) if row["about"]] == ["add"]


def test_the_command_shows_whole_sessions_only(tmp_path: Any, capsys: pytest.CaptureFixture) -> None:
    recording = tmp_path / "s.jsonl"
    recording.write_text(json.dumps(call(1)) + "\n")
    for more in (["--from", "1"], ["--to", "1"], ["--mermaid"]):
        assert main(["ladder", str(recording), "--html", str(tmp_path / "o.html"), *more]) == 2
        assert "--html shows the whole session" in capsys.readouterr().err
    recording.write_text('{"trace": 1, "recorded": []}\n')
    assert main(["ladder", str(recording), "--html", str(tmp_path / "o.html")]) == 2
    assert "has no messages" in capsys.readouterr().err
    assert not (tmp_path / "o.html").exists()


def test_rounds_and_streams_are_groups() -> None:
    server = Server("s")

    @server.tool
    def ask(ctx: Context) -> str:
        return str(ctx.elicit("Which?", {"region": str}))

    events: List[Event] = []
    trace = Trace(events.append)
    with server.listen("http://127.0.0.1:0/mcp") as listener:
        with connect(listener.address, trace=trace, elicitation=lambda *asked: {"region": "eu"}) as client:
            client.call_tool("ask")
    trace.close()
    made = document(*events)
    rounds = [steps for kind, _, _, steps in made["groups"] if kind == "rounds"]
    assert len(rounds) == 1 and len(rounds[0]) == 4
    assert all(len(steps) == 2 for kind, _, _, steps in made["groups"] if kind == "phase")
