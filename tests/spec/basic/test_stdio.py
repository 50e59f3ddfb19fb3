"""stdio from end to end: our client starts a real child that runs our server, and `tee` keeps every byte of theirs."""
import json
import pathlib
import sys

import pytest

from mcp_ref import connect
from mcp_ref.errors import PeerError
from mcp_ref.limits import Limits
from tests.support import official_schema
from tests.support.requirements_table import STATELESS
from tests.support.scripted import PATIENCE
from tests.support.sides import HANDSHAKE, Gate, in_thread

ALL = HANDSHAKE + [STATELESS]
ROOT = pathlib.Path(__file__).resolve().parents[3]
LIMITS = Limits(request_timeout=PATIENCE)

NOISY = '''
import ctypes, logging, os, subprocess, sys
print("before serving", file=sys.stderr)
from mcp_ref import Context, Server, ToolError
logging.basicConfig(level="INFO")
server = Server("noisy", instructions="two\\nlines")

@server.tool
def noisy(text: str, ctx: Context) -> str:
    """Say it
    everywhere."""
    print("printed", text)
    print("and not flushed", end="")
    sys.stdout.write("written\\n")
    os.write(1, b"from below\\n")
    subprocess.check_call([sys.executable, "-S", "-c", "print('by a child')"])
    subprocess.check_call(["sh", "-c", "echo from a shell; cat"])
    ctypes.CDLL(None).puts(b"from C")
    ctypes.CDLL(None).fflush(None)
    logging.info("logged")
    ctx.log("info", {"a\\nb": "c\\r\\nd"}, "lo\\ngger")
    ctx.progress(1, message="line\\nline")
    return text

@server.tool
def fail(text: str) -> str:
    raise ToolError(text)

@server.tool
def slow(ctx: Context) -> str:
    ctx.progress(1)
    ctx.cancelled.wait(60)
    print("stopped")
    ctx.check()
    return "never"

@server.resource("note://a", mime_type="text/plain")
def note() -> str:
    return "one\\ntwo\\rthree"

@server.prompt
def ask(about: str) -> str:
    return "About\\n" + about

if __name__ == "__main__":
    server.run()
'''

TEXT = "line\nline\r\nline\rline\u2028line\u2029line\x85line\x0b\x0c\x1c\x00 \\n \U0001f600 \"\t"


def lines_of(path):
    data = path.read_bytes()
    assert data.endswith(b"\n") and b"\r" not in data
    return data.split(b"\n")[:-1]


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    """One session per revision: what both sides sent, line by line, and what the client saw."""
    running = {revision: in_thread(session, revision, tmp_path_factory.mktemp(revision)) for revision in ALL}
    return {revision: outcome.get(50) for revision, outcome in running.items()}


def session(revision, folder):
    (folder / "noisy.py").write_text(NOISY, encoding="utf-8")
    command = 'tee sent | "$0" noisy.py 2>errors | tee received'
    log = []
    seen = {"log": log}
    options = {"env": {"PYTHONPATH": str(ROOT)}, "cwd": str(folder), "limits": LIMITS, "revisions": [revision],
               "on_notification": lambda method, params: log.append(params)}
    with connect(["sh", "-c", command, sys.executable], **options) as client:
        seen["revision"] = str(client.revision)
        seen["tools"] = [tool.name for tool in client.tools()]
        if revision == STATELESS:
            client.set_log_level("info")  # else a server may send none
        steps = []
        result = client.call_tool("noisy", {"text": TEXT}, progress=lambda *step: steps.append(step))
        seen["text"], seen["steps"] = result.content[0].text, steps
        seen["failure"] = client.call_tool("fail", {"text": TEXT}).content[0].text
        seen["resource"] = client.read_resource("note://a").contents[0].text
        seen["prompt"] = client.get_prompt("ask", {"about": TEXT}).messages[0].content.text
        with pytest.raises(PeerError):
            client.call_tool(TEXT)
        with Gate() as started:
            future = client.submit_tool("slow", progress=lambda *step: started.open())
            started.hold()
        assert client.connection.cancel(future._pending, TEXT) and future.cancelled()
        client.ping()
    seen["sent"], seen["received"] = lines_of(folder / "sent"), lines_of(folder / "received")
    seen["errors"] = (folder / "errors").read_text(encoding="utf-8")
    return seen


@pytest.mark.spec("stdio.client-support")
@pytest.mark.time_limit(60)
@pytest.mark.parametrize("revision", ALL)
def test_a_client_uses_a_server_that_it_starts(sessions, revision):
    """[..2025-11-25 basic/transports §stdio] SHOULD"""
    seen = sessions[revision]
    assert seen["revision"] == revision and seen["tools"] == ["noisy", "fail", "slow"]
    assert seen["text"] == seen["failure"] == TEXT and seen["prompt"] == "About\n" + TEXT
    assert seen["resource"] == "one\ntwo\rthree"
    assert seen["steps"] == [(1, None, None if revision == "2024-11-05" else "line\nline")]
    assert seen["log"] == [{"level": "info", "logger": "lo\ngger", "data": {"a\nb": "c\r\nd"}}]


@pytest.mark.spec("stdio.no-embedded-newlines")
@pytest.mark.time_limit(60)
@pytest.mark.parametrize("direction", ["sent", "received"])
@pytest.mark.parametrize("revision", ALL)
def test_every_line_is_one_message(sessions, revision, direction):
    """[..2025-11-25 basic/transports §stdio] MUST NOT"""
    lines = sessions[revision][direction]
    messages = [json.loads(line) for line in lines]
    assert all(type(message) is dict and message["jsonrpc"] == "2.0" for message in messages)
    requests = [json.loads(line) for line in sessions[revision]["sent"] if b'"id"' in line]
    answered = [json.loads(line)["id"] for line in sessions[revision]["received"] if b'"id"' in line]
    cancelled = [m["params"]["requestId"] for m in map(json.loads, sessions[revision]["sent"])
                 if m["method"] == "notifications/cancelled"]
    assert {m["id"] for m in requests} - set(cancelled) <= set(answered), "one line each, none missing"
    assert len(answered) == len(set(answered))


@pytest.mark.spec("stdio.server-stdout-only-mcp")
@pytest.mark.time_limit(60)
@pytest.mark.parametrize("revision", ALL)
def test_nothing_but_messages_is_on_the_servers_stdout(sessions, revision):
    """[..2025-11-25 basic/transports §stdio] MUST NOT"""
    seen = sessions[revision]
    methods = {m["id"]: m["method"] for m in map(json.loads, seen["sent"]) if "id" in m}
    for line in seen["received"]:
        message = json.loads(line)
        method = methods.get(message.get("id"))
        assert official_schema.violations(message, revision, method) == []
    for words in ("printed line", "and not flushed", "written", "from below", "by a child", "from a shell", "from C"):
        assert words in seen["errors"], "it is on stderr instead"
    assert "stopped" in seen["errors"]


@pytest.mark.spec("stdio.client-stdin-only-mcp")
@pytest.mark.time_limit(60)
@pytest.mark.parametrize("revision", ALL)
def test_nothing_but_messages_is_on_the_servers_stdin(sessions, revision):
    """[..2025-11-25 basic/transports §stdio] MUST NOT"""
    sent = [json.loads(line) for line in sessions[revision]["sent"]]
    assert [v for m in sent for v in official_schema.violations(m, revision)] == []
    methods = [m["method"] for m in sent]  # it answers nothing, for it is asked nothing
    opening, alive = (["server/discover"], "server/discover") if revision == STATELESS else (
        ["initialize", "notifications/initialized"], "ping")
    assert methods[:len(opening)] == opening and methods[-1] == alive
    assert {"tools/call", "notifications/cancelled"} <= set(methods)


@pytest.mark.spec("stdio.stderr-not-error")
@pytest.mark.parametrize("revision", ["2025-11-25", STATELESS])
def test_a_server_that_cries_on_stderr_is_used_as_any_other(revision):
    """[2025-11-25 basic/transports §stdio] SHOULD NOT"""
    code = (
        "import sys, threading\n"
        "sys.stderr.write('FATAL ERROR: Traceback (most recent call last):\\n' * 20000)\n"
        "from mcp_ref import Server\n"
        "server = Server('crying')\n"
        "@server.tool\n"
        "def cry() -> str:\n"
        "    sys.stderr.write('fatal: cannot\\n' * 20000)\n"
        "    return 'fine'\n"
        "server.run()\n"
    )
    options = {"env": {"PYTHONPATH": str(ROOT)}, "limits": LIMITS, "revisions": [revision]}
    with connect([sys.executable, "-c", code], **options) as client:
        callers = [in_thread(client.call_tool, "cry") for _ in range(3)]
        assert [caller.get().content[0].text for caller in callers] == ["fine"] * 3
        assert not client.connection.closed and client.connection.counters.snapshot() == {}


LEAVING = '''
import pathlib, signal
from mcp_ref import Server
signal.signal(signal.SIGTERM, lambda *ignored: pathlib.Path("told").touch())
Server("leaving").run()
pathlib.Path("left").touch()
'''


@pytest.mark.spec("stdio.shutdown-close-input")
@pytest.mark.parametrize("revision", ALL)
def test_a_client_that_leaves_closes_the_servers_input_and_lets_it_go(revision, tmp_path):
    """[..2025-11-25 basic/lifecycle §Shutdown > stdio] [2026-07-28 basic/transports/stdio §Shutdown] SHOULD"""
    options = {"env": {"PYTHONPATH": str(ROOT)}, "cwd": str(tmp_path), "revisions": [revision],
               "limits": Limits(request_timeout=PATIENCE, shutdown_grace=PATIENCE)}
    with connect([sys.executable, "-c", LEAVING], **options) as client:
        client.ping()
        assert not (tmp_path / "left").exists()
    assert (tmp_path / "left").exists() and not (tmp_path / "told").exists(), "it went by itself"
