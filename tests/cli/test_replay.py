"""`python3 -m mcp_ref replay` and `trace-diff`, with sessions of our own server and client in every era."""
import contextlib
import json
import re
import shlex
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from mcp_ref import Server, connect
from mcp_ref.cli import main
from mcp_ref.cli.judge.replay import read_script
from mcp_ref.deadline import clock
from mcp_ref.devtools.playback.player import Book, play
from mcp_ref.devtools.playback.web import Site
from mcp_ref.errors import PeerError
from mcp_ref.server import Context
from mcp_ref.server.serving.http_listener import HttpListener
from mcp_ref.threads import start_thread
from mcp_ref.transports.memory import pair
from tests.support.patience import WAIT

from .running import ROOT, SERVER, here, one_line_of, run

ERAS = ["2024-11-05", "2025-11-25", "2026-07-28"]


def small_server(answer=3):
    server = Server("small", version="1.0")

    @server.tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b if answer == 3 else answer

    @server.tool
    def steps(ctx: Context) -> str:
        """Report progress, and log."""
        for number in (1, 2, 3):
            ctx.progress(number, 3)
        ctx.log("info", "half way")
        return "done"

    @server.tool
    def where(ctx: Context) -> str:
        """Ask."""
        return "in %s" % ctx.elicit("Which region?", {"region": str}).content["region"]

    @server.resource("config://app")
    def config() -> str:
        """Settings."""
        return "{}"
    return server


def use(client):
    """Everything that happens, as values that can be compared."""
    seen = []
    said = [client.call_tool("add", {"a": 1, "b": 2}).text,
            client.call_tool("steps", {}, progress=lambda *given: seen.append(given[0])).text,
            client.read_resource("config://app").contents[0].text, [each.name for each in client.list_tools().tools]]
    with pytest.raises(PeerError):
        client.read_resource("config://none")
    assert said[1] == "done"
    if client.revision.name != ERAS[0]:  # it has no such questions
        said.append(client.call_tool("where", {}).text)
        assert said[-1] == "in north"
    return said + [seen]


OFFERS = {"elicitation": lambda params, context: {"region": "north"}, "on_log": lambda *log: None}


def recorded(tmp_path, revision, name="a.jsonl", answer=3, http=False):
    """The path of a recording, and what the client saw."""
    path, server = tmp_path / name, small_server(answer)
    with HttpListener(server, "http://127.0.0.1:0/mcp") if http else contextlib.nullcontext() as listener:
        with connect(listener.address if http else server, trace=path, revisions=[revision], **OFFERS) as client:
            return str(path), use(client)


@pytest.mark.parametrize("http", [False, True], ids=["memory", "http"])
@pytest.mark.parametrize("revision", ERAS[1:])
def test_a_recording_over_either_transport_answers_its_client_over_either(tmp_path, revision, http):
    path, saw = recorded(tmp_path, revision, http=http)
    book = Book(read_script(path, "replayed"))
    ours, theirs = pair()
    start_thread("mcp-ref:test", play, book, ours)
    again = tmp_path / "again.jsonl"
    with connect(theirs, trace=again, revisions=[revision], **OFFERS) as client:
        assert use(client) == saw
    assert not book.tally.refused and not book.tally.other
    site = Site(Book(read_script(path, "replayed")))
    site.open()
    try:
        with connect(site.url, trace=tmp_path / "web.jsonl", revisions=[revision], **OFFERS) as client:
            assert use(client) == saw
    finally:
        site.close()
    for other in (again, tmp_path / "web.jsonl"):
        assert main(["trace-diff", path, str(other)]) == 0


@contextlib.contextmanager
def playing(book, over):
    """Play a recording over a pipe, HTTP or HTTP+SSE; yield what `connect` takes."""
    if over == "pipe":
        ours, theirs = pair()
        start_thread("mcp-ref:test", play, book, ours)
        yield theirs
        return
    site = Site(book)
    site.open()
    try:
        yield site.url if over == "http" else site.sse_url
    finally:
        site.close()


@pytest.mark.parametrize("over, revision", [("pipe", ERAS[1]), ("http", ERAS[1]), ("http", ERAS[2]), ("sse", ERAS[0])])
def test_recorded_pauses_are_kept(tmp_path, over, revision):
    """Each event of the recording came 0.2 s after the one before it; it is played four times as fast."""
    path, saw = recorded(tmp_path, revision)
    numbers = iter(range(1000))
    with open(path, encoding="utf-8") as file:
        lines = [re.sub('"time": ?[0-9.]+', lambda found: '"time":%.1f' % (next(numbers) / 5), line) for line in file]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)
    times = []
    with playing(Book(read_script(path, "replayed"), 4.0), over) as target:
        with connect(target, revisions=[revision], **OFFERS) as client:
            begun = clock()
            client.call_tool("steps", {}, progress=lambda *given: times.append(clock()))
            times.append(clock())
            assert use(client)[1:] == saw[1:]
    waited = [moment - begun for moment in times]  # a busy machine makes each of them longer, never shorter
    assert len(times) == 4 and all(seconds > 0.04 * number for number, seconds in enumerate(waited)), waited


@pytest.mark.parametrize("over", ["pipe", "http"])
@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
def test_a_client_of_both_eras_finds_the_era_of_the_recording(tmp_path, over, revision):
    path, saw = recorded(tmp_path, revision)
    with playing(Book(read_script(path, "replayed")), over) as target:
        if over == "http":
            asked = {"jsonrpc": "2.0", "id": 1, "method": "server/discover",
                     "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}}
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(urllib.request.Request(target, json.dumps(asked).encode()), timeout=WAIT)
            with refused.value as reply:
                assert (reply.code, json.loads(reply.read())["error"]["code"]) == (400, -32600)
        with connect(target, **OFFERS) as client:
            assert client.revision.name == revision and client.call_tool("add", {"a": 1, "b": 2}).text == "3"


@pytest.mark.parametrize("path", ["/mcp", "/sse"], ids=["streamable", "sse"])
def test_a_recording_answers_over_http_with_sse(tmp_path, path, capsys):
    """The transport of 2024-11-05; recorded over it, too."""
    file, again = str(tmp_path / "a.jsonl"), str(tmp_path / "again.jsonl")
    with HttpListener(small_server(), "http://127.0.0.1:0/mcp") as listener:
        with connect(listener.address.replace("/mcp", path), trace=file, revisions=ERAS[1 - (path == "/sse"):][:1],
                     **OFFERS) as client:
            saw = use(client)
    site = Site(Book(read_script(file, "replayed")))
    site.open()
    try:
        with connect(site.sse_url, trace=again, revisions=[client.revision], **OFFERS) as live:
            assert use(live) == saw
        assert main(["trace-diff", file, again]) == 0
    finally:
        site.close()


def test_a_place_for_messages_that_nobody_has_is_not_found(tmp_path):
    path, _ = recorded(tmp_path, ERAS[1])
    site = Site(Book(read_script(path, "replayed")))
    site.open()
    try:
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(urllib.request.Request(site.sse_url + "?session=none", b"{}"), timeout=WAIT)
    finally:
        site.close()


def test_the_oldest_revision_is_played_too(tmp_path, capsys):
    path, saw = recorded(tmp_path, ERAS[0])
    command = "%s -m mcp_ref replay %s --as-server" % (shlex.quote(sys.executable), shlex.quote(path))
    with connect(command, revisions=ERAS[:1], cwd=str(ROOT), **OFFERS) as client:
        assert use(client) == saw


def test_what_the_command_answers_and_says_in_the_end(tmp_path):
    path = tmp_path / "with a space.jsonl"
    assert run("call", SERVER, "add", "a=1", "b=2", "--trace=%s" % path).returncode == 0
    command = " ".join(map(shlex.quote, [sys.executable, "-m", "mcp_ref", "replay", str(path), "--as-server"]))
    done = run("call", command, "add", "a=1", "b=2")
    assert done.returncode == 0 and done.out == "3\n"
    assert "0 not in it" in done.err and "of its 3 requests did not come" in done.err
    done = run("call", command, "add", "a=1", "b=5")
    assert done.returncode == 1 and "arguments.b: 5 here, 2 there" in done.err
    assert "did not come: tools/call" in done.err


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process alone")
def test_http_says_where_it_listens_and_ends_by_a_signal(tmp_path):
    path, _ = recorded(tmp_path, ERAS[1])
    process = subprocess.Popen([sys.executable, "-m", "mcp_ref", "replay", path, "--as-server", "--http", "0"],
                               cwd=str(ROOT), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        url = process.stderr.readline().decode().split()[3]
        with connect(url, revisions=ERAS[1:2], **OFFERS) as client:
            assert client.call_tool("add", {"a": 1, "b": 2}).text == "3"
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT) == 0
        assert b"requests answered from the recording" in process.stderr.read()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("revision", ERAS)
def test_a_server_that_answers_the_same_passes(tmp_path, capsys, revision):
    path = str(tmp_path / "a.jsonl")
    with connect(SERVER, trace=path, revisions=[revision]) as client:
        client.call_tool("add", {"a": 1, "b": 2})
        client.list_tools()
    assert here(capsys, "replay", path, "--as-client", SERVER)[:2] == (
        0, "%d requests, 0 answered otherwise\n" % (3 + (revision == ERAS[-1])))


def test_a_server_that_answers_otherwise_is_told_with_the_line(tmp_path, capsys):
    path = tmp_path / "a.jsonl"
    with connect(SERVER, trace=path, revisions=ERAS[1:2]) as client:
        client.call_tool("add", {"a": 1, "b": 2})
    path.write_text(path.read_text().replace('"text":"3"', '"text":"4"'))
    code, out, _ = here(capsys, "replay", str(path), "--as-client", SERVER, "--json")
    told = json.loads(out)
    assert code == 1 and told["requests"] == 3 and not told["unexpected"]
    assert [each["path"] for each in told["different"][0]["differences"]] == ["result.content[0].text"]
    assert told["different"][0]["line"] > 1


@pytest.mark.parametrize("revision", ERAS[1:])
def test_over_http_questions_are_answered_as_they_were(tmp_path, capsys, revision):
    path, _ = recorded(tmp_path, revision)
    with HttpListener(small_server(), "http://127.0.0.1:0/mcp") as listener:
        code, out, err = here(capsys, "replay", path, "--as-client", listener.address)
    assert (code, out.splitlines()[-1].partition(", ")[2]) == (0, "0 answered otherwise"), out + err


def test_a_masked_secret_is_not_sent(tmp_path, capsys):
    path = tmp_path / "a.jsonl"
    with connect(SERVER, trace=path, revisions=ERAS[1:2]) as client:
        client.call_tool("echo", {"text": "MASK"})
    path.write_text(path.read_text().replace("MASK", "***0123abcd"))
    code, out, err = here(capsys, "replay", str(path), "--as-client", SERVER)
    assert code == 1 and "not sent: params.arguments.text is masked in the recording" in out
    assert "masked secrets, which cannot be replayed" in err


def test_json_rpc_lines_and_hars_are_read_as_check_reads_them(tmp_path, capsys):
    lines = tmp_path / "lines"
    lines.write_text("".join(json.dumps(each) + "\n" for each in (
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "a"}]}})))
    entry = {"startedDateTime": "2026-01-01T00:00:00Z", "time": 1, "request": {
        "method": "POST", "url": "http://localhost/mcp", "headers": [], "postData": {
            "text": json.dumps({"jsonrpc": "2.0", "id": 9, "method": "tools/list"})}},
        "response": {"status": 200, "headers": [{"name": "content-type", "value": "application/json"}], "content": {
            "text": json.dumps({"jsonrpc": "2.0", "id": 9, "result": {"tools": [{"name": "b"}]}})}}}
    har = tmp_path / "har"
    har.write_text(json.dumps({"log": {"entries": [entry]}}))
    code, out, _ = here(capsys, "trace-diff", str(lines), str(har))
    assert (code, out) == (1, "tools: a: recorded | absent\ntools: b: absent | recorded\n")
    code, out, _ = here(capsys, "trace-diff", str(lines), str(har), "--json")
    assert code == 1 and json.loads(out)[0] == {"part": "tools", "where": "a", "left": "recorded", "right": "absent"}


@pytest.mark.parametrize("words, told", [
    (["replay", "{file}"], "which party"),
    (["replay", "{file}", "--as-server", "--as-client", "x"], "which party"),
    (["replay", "{nothing}", "--as-server"], "has no messages"),
    (["replay", "/no/such/file", "--as-server"], "cannot be replayed"),
    (["replay", "{file}", "--as-server", "--http", "x:y"], "HOST:PORT"),
    (["replay", "{file}", "--as-client", "x", "--timeout", "0"], "--timeout"),
    (["replay", "{file}", "--as-client", "x", "--speed", "2"], "--speed is for --as-server"),
    (["replay", "{file}", "--as-server", "--speed", "fast"], "--speed: takes a number from 0 on, or max, not fast"),
    (["replay", "{file}", "--as-server", "--speed", "-1"], "--speed"),
    (["replay", "{file}", "--as-client", "http://127.0.0.1:9/mcp", "--token-env", "NOT_THERE"], "NOT_THERE"),
    (["trace-diff", "{file}", "/no/such/file"], "cannot be compared"),
])
def test_what_cannot_be_done_is_usage(tmp_path, capsys, words, told):
    (tmp_path / "file").write_text('{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\n')
    (tmp_path / "nothing").write_text('{"trace": 1, "recorded": []}\n')
    given = [word.format(file=tmp_path / "file", nothing=tmp_path / "nothing") for word in words]
    code, _, err = here(capsys, *given)
    assert code == 2 and told in one_line_of(err)


def test_a_page_of_the_web_cannot_use_a_replay(tmp_path):
    from http.client import HTTPConnection

    path, _ = recorded(tmp_path, ERAS[1])
    site = Site(Book(read_script(path, "replayed")))
    site.open()
    try:
        for fields in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
            connection = HTTPConnection(site.url.partition("//")[2].partition("/")[0], timeout=WAIT)
            connection.request("POST", "/mcp", "{}", fields)
            assert connection.getresponse().status == 403
            connection.close()
    finally:
        site.close()


def test_a_server_that_cannot_be_started_is_no_connection(tmp_path, capsys):
    path, _ = recorded(tmp_path, ERAS[1])
    assert here(capsys, "replay", path, "--as-client", "/no/such/program")[0] == 3
