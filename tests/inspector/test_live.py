"""The live inspector, as far as it can be told without a browser: who may ask, what is told, what is done."""
import contextlib
import http.client
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple
from urllib.parse import urlsplit

import pytest

from mcp_ref.devtools.inspector.live import FIELD, Feed
from mcp_ref.devtools.inspector.record import STEP, LiveRecord, SessionRecord
from mcp_ref.wiretrace import CLIENT, MESSAGE, OPEN, SERVER, Event, read, to_file
from tests.support.children import heed_interrupts
from tests.support.patience import WAIT
from tests.support.sides import eventually

SERVER_TEXT = '''
import sys
from mcp_ref import Context, Server

server = Server("shown", "1")

@server.tool
def add(a: int, b: int) -> int:
    return a + b

@server.tool
def ask(ctx: Context) -> str:
    return str(ctx.elicit("Which?", {"region": str}).content)

@server.tool
def slow(ctx: Context) -> str:
    for step in range(1000000):
        ctx.progress(step, 1000000)
        ctx.cancelled.wait(0.01)
        ctx.check()
    return "done"

server.run()
'''


class Page:
    """What the page of a running inspector can ask."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.host, self.path, self.token = parts.netloc, parts.path, parts.fragment
        self.objects: Dict[Tuple[str, str], Any] = {}
        self.steps: List[Any] = []
        self.cursor: Dict[str, int] = {}

    def send(self, method: str, path: str, body: Any = None, **fields: Optional[str]) -> Tuple[int, Any, str]:
        """Send a request; None leaves a field out. Returns status, fields and body."""
        given = {"Host": self.host, FIELD: self.token, "Content-Type": "application/json" if body is not None else None,
                 **{name.replace("_", "-"): value for name, value in fields.items()}}
        connection = http.client.HTTPConnection(self.host, timeout=WAIT)
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        try:
            connection.putrequest(method, path, skip_host=True)
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(data or b"")))
            connection.endheaders(data or b"")
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def do(self, address: str, **members: Any) -> Dict[str, Any]:
        status, _, body = self.send("POST", "/" + address, members)
        assert status == 200, body
        answer: Dict[str, Any] = json.loads(body)
        return answer

    def look(self) -> None:
        """Ask for news once."""
        query = "&".join("%s=%d" % each for each in self.cursor.items())
        status, _, body = self.send("GET", "/events?" + query)
        assert status == 200, body
        assert body.startswith("data: ") and body.endswith("\n\n") and body.count("\n") == 2
        news = json.loads(body[6:])
        self.cursor = news["cursor"]
        del self.steps[news["from"]:]
        self.steps += news["steps"]
        for kind, name, value in news["objects"]:
            self.objects[kind, name] = value

    def until(self, kind: str, name: str, right: Callable[[Any], Any]) -> Any:
        """Ask for news until an object is as it should be, and return it."""
        ends = time.monotonic() + WAIT
        while not (self.objects.get((kind, name)) and right(self.objects[kind, name])):
            assert time.monotonic() < ends, self.objects
            self.look()
        return self.objects[kind, name]

    def call(self, method: str, params: str = "", **more: Any) -> Any:
        """Call, wait, and return what came of it."""
        number = self.do("request", server="1", method=method, params=params, **more)["call"]
        return self.until("call", number, lambda call: call["state"] != "running")


@contextlib.contextmanager
def inspecting(*words: str, opens: str = "", ends: int = signal.SIGTERM) -> Iterator[Page]:
    """Run the inspector. ``opens``: the browser that it opens; ``ends``: the signal that ends it."""
    environment = dict(os.environ, PYTHONPATH=str(pathlib.Path(__file__).resolve().parents[2]), BROWSER=opens)
    process = subprocess.Popen(
        [sys.executable, "-m", "mcp_ref", "inspect", *([] if opens else ["--no-open"]), *words], env=environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
        preexec_fn=heed_interrupts)
    assert process.stdout is not None
    try:
        yield Page(process.stdout.readline().strip())
    finally:
        process.send_signal(ends)
        process.communicate(timeout=WAIT)
        assert process.returncode == 0


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("a folder") / "server.py"
    path.write_text(SERVER_TEXT)
    root = pathlib.Path(__file__).resolve().parents[2]
    return "%s -c %s" % (shlex.quote(sys.executable), shlex.quote(
        "import sys; sys.path.insert(0, %r); exec(open(%r).read())" % (str(root), str(path))))


@pytest.fixture(scope="module")
def page(command: str) -> Iterator[Page]:
    with inspecting(command) as shown:
        shown.until("server", "1", lambda server: server["state"] in ("open", "failed"))
        yield shown


@pytest.mark.parametrize("path", ["/events", "/servers", "/request", "/answer", "/report"])
@pytest.mark.parametrize("fields, status", [
    ({FIELD: None}, 401), ({FIELD: "x"}, 401), ({FIELD: "\u00e9"}, 401), ({"Host": "evil.example"}, 403),
    ({"Origin": "http://evil.example"}, 403), ({"Origin": "http://localhost:1"}, 403), ({"Origin": "null"}, 403),
    ({"Host": None}, 400),
])
def test_nobody_else_may_ask(page: Page, path: str, fields: Dict[str, Any], status: int) -> None:
    method, body = ("GET", None) if path == "/events" else ("POST", {"do": "connect", "server": "x"})
    assert page.send(method, path, body, **fields)[0] == status


def test_pages_of_other_sites_and_forms_are_refused(page: Page) -> None:
    assert page.send("POST", "/servers", {"do": "x"}, Sec_Fetch_Site="cross-site")[0] == 403
    assert page.send("POST", "/servers", b"do=x", Content_Type="application/x-www-form-urlencoded")[0] == 415
    assert page.send("POST", "/servers", b"{}", Content_Type="text/plain")[0] == 415
    assert page.send("GET", "/servers")[0] == 405
    assert page.send("GET", "/nothing")[0] == 404


def test_the_page_comes_without_a_token_and_without_anything_of_the_session(page: Page) -> None:
    status, fields, body = page.send("GET", "/", **{FIELD: None})
    assert status == 200 and page.token not in body and "shown" not in json.loads(
        body.split('id="record">')[1].split("</script>")[0])["connections"]
    assert fields["Content-Security-Policy"] == "frame-ancestors 'none'" and fields["Cache-Control"] == "no-store"
    assert "connect-src 'self'" in body and len(body.encode()) < 150 * 1024
    assert page.send("GET", "/", Host="evil.example")[0] == 403


@pytest.mark.parametrize("body", [
    b"", b"[]", b"1", b"{", b'{"do": 1}', b'{"do": "nothing"}', b'{"do": "connect"}',
    b'{"do": "close", "server": "99"}',
    b'{"do": "close", "server": {"a": []}}', b'{"do": "cancel", "call": "77"}', b"[" * 100000, b"\xff\xfe",
    b'{"do": "connect", "server": "  "}',
])
def test_what_makes_no_sense_is_refused_with_a_text(page: Page, body: bytes) -> None:
    status, _, answer = page.send("POST", "/servers", body, Content_Type="application/json")
    assert status == 400 and json.loads(answer)["error"]


@pytest.mark.parametrize("members", [
    {}, {"server": "1"}, {"server": "1", "method": 5}, {"server": "1", "method": "ping", "params": "[1]"},
    {"server": "1", "method": "ping", "params": "{"}, {"server": "7", "method": "ping"},
    {"question": "5", "action": "accept"}, {"question": "5", "action": "x"},
])
def test_requests_and_answers_that_make_no_sense_are_refused(page: Page, members: Dict[str, Any]) -> None:
    address = "answer" if "question" in members else "request"
    status, _, answer = page.send("POST", "/" + address, members)
    assert status == 400 and json.loads(answer)["error"]


def test_a_cursor_that_is_none_is_refused(page: Page) -> None:
    for query in ("steps=x", "steps=-1", "steps=" + "9" * 30):
        assert page.send("GET", "/events?" + query)[0] == 400


def test_a_call_keeps_every_digit(page: Page) -> None:
    server = page.until("server", "1", lambda server: server["state"] == "open")
    assert server["name"] == "shown" and "tools" in json.loads(server["capabilities"])
    done = page.call("tools/call", '{"name": "add", "arguments": {"a": 12345678901234567890, "b": 1}}')
    assert done["state"] == "done" and done["about"] == "add", done
    assert "12345678901234567891" in done["result"]
    texts = [dict(zip(STEP, row))["text"] for row in page.steps]
    assert any('"a":12345678901234567890' in text.replace(" ", "") for text in texts), texts
    failed = page.call("tools/call", '{"name": "none"}')
    assert failed["state"] == "failed" and failed["code"] == -32602
    vendor = page.call("acme/nothing")
    assert vendor["code"] == -32601


def test_a_person_answers_a_form(page: Page) -> None:
    number = page.do("request", server="1", method="tools/call", params='{"name": "ask"}')["call"]
    ends = time.monotonic() + WAIT
    while not any(kind == "question" and value for (kind, _), value in page.objects.items()):
        assert time.monotonic() < ends
        page.look()
    name, = [name for (kind, name), value in page.objects.items() if kind == "question" and value]
    question = page.objects["question", name]
    assert question["message"] == "Which?" and "region" in json.loads(question["schema"])["properties"]
    page.do("answer", question=name, action="accept", text='{"region": "eu"}')
    done = page.until("call", number, lambda call: call["state"] != "running")
    assert done["state"] == "done" and "eu" in done["result"]
    assert page.objects["question", name] is None


def test_progress_is_told_and_a_call_is_cancelled(page: Page) -> None:
    number = page.do("request", server="1", method="tools/call", params='{"name": "slow"}', progress=True)["call"]
    assert page.until("call", number, lambda call: "progress" in call)["total"] == 1000000
    page.do("servers", do="cancel", call=number)
    assert page.until("call", number, lambda call: call["state"] != "running")["state"] == "cancelled"


def test_the_session_is_kept_as_a_page(page: Page) -> None:
    status, fields, body = page.send("POST", "/report")
    assert status == 200 and "connect-src 'none'" in body and page.token not in body
    assert '"about"' not in body.split('id="record">')[0] and "tools/call" in body


def test_a_server_is_closed_connected_again_and_forgotten(command: str) -> None:
    with inspecting() as page:
        era = {"do": "connect", "server": command, "era": "2025-06-18"}
        name = page.do("servers", **era)["server"]
        page.until("server", name, lambda server: server["state"] == "open" and server["revision"] == "2025-06-18")
        page.do("servers", do="close", server=name)
        page.until("server", name, lambda server: server["state"] == "closed")
        assert page.send("POST", "/request", {"server": name, "method": "ping"})[0] == 400
        page.do("servers", do="reconnect", server=name)
        page.until("server", name, lambda server: server["state"] == "open")
        assert page.do("servers", do="roots", server=name, roots="/tmp")["roots"] == ["file:///tmp"]
        page.do("servers", do="forget", server=name)
        page.look()
        assert page.objects["server", name] is None


def test_why_a_connection_failed_is_said() -> None:
    with inspecting("no-such-program-here --token abc") as page:
        server = page.until("server", "1", lambda server: server["cause"])
        assert server["state"] == "failed" and "no-such-program-here" in server["error"]
        assert server["cause"]["id"] == "command-not-found" and server["cause"]["advice"], server


def test_entries_of_a_file_are_offered_without_their_secrets(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"one": {"command": "x", "env": {"TOKEN": "hush"}}, "two": {
        "url": "http://127.0.0.1:1/mcp"}}}))
    with inspecting("--config", str(path)) as page:
        page.look()
        assert {name: value["server"] for (kind, name), value in page.objects.items() if kind == "entry"} == {
            "one": "%s:one" % path, "two": "%s:two" % path}
        assert "hush" not in json.dumps([page.objects[each] for each in page.objects])


def test_a_recording_is_shown_without_anything_that_can_be_asked(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a session.jsonl"
    trace = to_file(str(path))
    trace.message(CLIENT, b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}')
    trace.close()
    with inspecting(str(path)) as page:
        assert page.token == "" and len(page.path) > 40, "the path has the token"
        assert "a session.jsonl" in page.send("GET", page.path)[2]
        for path_of_others in ("/", "/" + "x" * (len(page.path) - 2) + "/", page.path + "events", "/events", "/report"):
            status, _, body = page.send("GET", path_of_others)
            assert status == 404 and "a session.jsonl" not in body


@pytest.mark.skipif(os.name != "posix", reason="users of POSIX")
def test_the_token_is_in_no_argument_of_the_browser(tmp_path: pathlib.Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text("#!/bin/sh\nprintf %%s \"$1\" > %s\n" % shlex.quote(str(tmp_path / "argument")))
    browser.chmod(0o700)
    with inspecting(opens=str(browser) + " %s") as page:
        eventually((tmp_path / "argument").exists)
        eventually((tmp_path / "argument").read_text)
        file = pathlib.Path(urlsplit((tmp_path / "argument").read_text()).path)
        assert [oct(each.stat().st_mode & 0o777) for each in (file, file.parent)] == ["0o600", "0o700"]
        led, = re.findall('refresh" content="0;url=(.*?)"', file.read_text())
        assert led == "http://%s/#%s" % (page.host, page.token) and len(page.token) > 40
    assert not file.parent.exists(), "it is left behind"


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP", "SIGINT"])
@pytest.mark.parametrize("state", ["open", "connecting"])
def test_its_servers_end_with_it(state: str, number: str, tmp_path: pathlib.Path, command: str) -> None:
    """A server that is open, and one that has not answered yet."""
    code = "import os, sys; open(%r, 'w').write(str(os.getpid())); %s" % (
        str(tmp_path / "pid"), "exec(sys.argv[1])" if state == "open" else "sys.stdin.read()")
    words = [sys.executable, "-c", code, shlex.split(command)[2]]
    with inspecting(" ".join(map(shlex.quote, words)), ends=getattr(signal, number)) as page:
        page.until("server", "1", lambda server: server["state"] == state)
        eventually((tmp_path / "pid").exists)
        eventually((tmp_path / "pid").read_text)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def named(steps: List[Any], record: Dict[str, Any]) -> List[Any]:
    """Steps with names instead of places; without labels, which say in the end what got no answer."""
    found = []
    for row in steps:
        step = dict(zip(STEP, row), label="")
        for member, names in (("kind", "kinds"), ("counted", "counted"), ("revision", "revisions")):
            step[member] = record[names][step[member]] if step[member] >= 0 else ""
        found.append(step)
    return found


def test_news_are_what_the_whole_document_has(tmp_path: pathlib.Path) -> None:
    """Told in pieces, a session has the steps, groups and revisions of the page that is made of all of it."""
    from mcp_ref import Context, Server, connect

    server = Server("s")

    @server.tool
    def ask(ctx: Context) -> str:
        return str(ctx.elicit("Which?", {"region": str}))

    path = tmp_path / "s.jsonl"
    trace = to_file(str(path))
    with server.listen("http://127.0.0.1:0/mcp") as listener:
        for era in ("2025-11-25", "2026-07-28"):
            with connect(listener.address, trace=trace, era=era, elicitation=lambda *a: {"region": "eu"}) as client:
                client.call_tool("ask")
    trace.close()
    whole, live = SessionRecord(), LiveRecord()
    steps: List[Any] = []
    groups: Dict[int, List[Any]] = {}
    news: Dict[str, Any] = {}
    cursor = {"steps": 0, "groups": 0, "phases": 0, "findings": 0}
    for event in read(str(path)):
        whole.take(event)
        live.take(event)
        news, cursor = live.news(cursor, (), 2, 1 << 20)
        del steps[news["from"]:]
        steps += news["steps"]
        for number, kind, label, connection, places in news["groups"]:
            group = groups.setdefault(number, [kind, label, connection, []])
            group[3] += [place for place in places if not group[3] or place > group[3][-1]]
    while cursor["steps"] < live.steps - 1:
        news, cursor = live.news(cursor, (), 100, 1 << 20)
        del steps[news["from"]:]
        steps += news["steps"]
    made = whole.document("x")
    assert named(steps, news) == named(made["steps"], made)
    assert list(groups.values()) == [group for group in made["groups"] if group[0] != "phase"]


def test_a_feed_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_ref.devtools.inspector.live.MOST_STEPS", 5)
    feed = Feed("x")
    feed.take(Event(0.0, CLIENT, OPEN, more={"transport": "stdio"}))
    for number in range(20):
        feed.take(Event(0.0, SERVER, MESSAGE, {"jsonrpc": "2.0", "method": "notifications/x"}))
    labels = [row[2] for row in feed.news({}, 0.0)["steps"]]
    assert len(labels) == 6 and "keeps no more" in labels[-1]


def test_a_report_has_none_of_the_scripts_that_ask() -> None:
    from mcp_ref.devtools.inspector import page as made

    recorded = made(SessionRecord().document("x"))
    live = made(dict(SessionRecord().document("x"), live=["request"]))
    assert "fetch(" not in recorded and live.count("fetch(") == 3
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function",
                 "XMLHttpRequest", "import(", "localStorage", "sessionStorage", "document.cookie", "WebSocket"):
        assert word not in live, word
    assert len(live.encode()) < 150 * 1024
