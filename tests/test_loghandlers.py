"""The log on standard error: there where the process is ours, and only where nobody has set up `logging`."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
from typing import Any, Dict, Iterator, List, Optional

import pytest

from mcp_ref import connect
from tests.meta.facts import ROOT
from tests.support.patience import WAIT
from tests.support.sides import eventually

FAILING = """
import sys
from mcp_ref import Server
server = Server("failing")
server.limits.drain = server.limits.shutdown_grace = 60.0  # the input ends long before the calls, on a busy machine

@server.tool
def burn(words: str = "plain words") -> str:
    raise LookupError(words)

"""
ENTRY = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} ERROR mcp_ref\.usercode: tool 'burn' raised LookupError: "
"""How a record begins: time, level, logger, message."""
HANDSHAKE = [
    {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]


def call(id: int, **arguments: str) -> Dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "burn", "arguments": arguments}}


def spoken(*words: str, count: int = 1, **options: Any) -> "subprocess.CompletedProcess[bytes]":
    """Run a program as a stdio server that is asked to fail so many times; with what it has written."""
    lines = HANDSHAKE + [call(number) for number in range(1, count + 1)]
    data = b"".join(json.dumps(line).encode("ascii") + b"\n" for line in lines)
    options.setdefault("stderr", subprocess.PIPE)
    return subprocess.run([sys.executable, *words], cwd=str(ROOT), input=data, stdout=subprocess.PIPE, timeout=WAIT,
                          **options)


def messages_of(output: bytes) -> List[Any]:
    """The messages on standard output; anything else there fails."""
    return [json.loads(line) for line in output.splitlines()]


@pytest.fixture
def app(tmp_path: pathlib.Path) -> str:
    (tmp_path / "app.py").write_text(FAILING + "if __name__ == '__main__':\n    server.run()\n")
    return str(tmp_path / "app.py")


# --- stdio ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("words", [["-m", "mcp_ref", "run"], ["-m", "mcp_ref", "run", "--trace"], []])
def test_run_shows_the_author_what_was_raised_and_keeps_it_off_standard_output(words: List[str], app: str) -> None:
    """0.5.0 showed nothing."""
    done = spoken(*words, app, env=dict(os.environ, PYTHONPATH=str(ROOT)))
    err = done.stderr.decode()
    assert done.returncode == 0 and [message["id"] for message in messages_of(done.stdout)] == [0, 1]
    assert re.search(ENTRY + r"plain words \(tools/call, request 1\)$", err, re.MULTILINE), err
    assert "Traceback (most recent call last)" in err and "raise LookupError(words)" in err and "in burn\n" in err


@pytest.mark.parametrize("setup, shown", [
    ("logging.basicConfig(format='MINE %(message)s')", ["MINE tool 'burn' raised"]),
    ("logging.basicConfig(format='MINE %(message)s', level=logging.CRITICAL)", []),
    ("logging.getLogger('mcp_ref').addHandler(logging.StreamHandler())", ["tool 'burn' raised"]),
    ("logging.getLogger('mcp_ref.usercode').addHandler(logging.StreamHandler())", ["tool 'burn' raised"]),
    ("logging.getLogger('mcp_ref').addHandler(logging.NullHandler())", ["ERROR mcp_ref.usercode: tool 'burn' raised"]),
    ("logging.getLogger('app').addHandler(logging.StreamHandler())", ["ERROR mcp_ref.usercode: tool 'burn' raised"]),
    ("logging.getLogger().addHandler(server.log_handler())", ["ERROR mcp_ref.usercode: tool 'burn' raised"]),
])
def test_who_has_set_up_logging_decides_alone(setup: str, shown: List[str], app: str) -> None:
    pathlib.Path(app).write_text("import logging\n%s%s\nserver.run()\n" % (FAILING, setup))
    done = spoken(app, env=dict(os.environ, PYTHONPATH=str(ROOT)))
    found = [line for line in done.stderr.decode().splitlines() if "'burn' raised" in line]
    assert len(found) == len(shown) and all(words in line for words, line in zip(shown, found)), done.stderr
    assert len([m for m in messages_of(done.stdout) if "id" in m]) == 2


def test_logging_that_is_set_up_later_takes_over(app: str) -> None:
    pathlib.Path(app).write_text(FAILING.replace("    raise", """    import logging
    logging.basicConfig(format="MINE %(message)s")
    raise""") + "server.run()\n")
    done = spoken(app, count=2, env=dict(os.environ, PYTHONPATH=str(ROOT)))
    lines = [line for line in done.stderr.decode().splitlines() if "'burn' raised" in line]
    assert len(lines) == 2 and all(line.startswith("MINE ") for line in lines)


LIBRARY = """
import sys
from mcp_ref import Client, Context, Server, connect
from mcp_ref.client.roots import Roots
SETUP

def fails(name):
    def fail(*given, **named):
        raise LookupError(name)
    return fail

server = Server("failing", on_roots_changed=fails("roots changed"))
server.tool(fails("a tool"), name="burn", input_schema={"type": "object"})
server.resource("test://burning")(lambda: fails("a resource")())
server.resource("test://fine")(lambda: "fine")
server.prompt(lambda city: fails("a prompt")(), name="burnt")
server.completion("burnt", "city")(lambda value: fails("a completion")())

@server.tool
def ask(what: str, ctx: Context) -> str:
    return str({"sampling": lambda: ctx.sample("hello", max_tokens=5), "roots": ctx.list_roots,
                "elicitation": lambda: ctx.elicit("Which region?", {"region": str}),
                "progress": lambda: ctx.progress(1, 2), "log": lambda: ctx.log("error", "x"),
                "update": lambda: server.resource_updated("test://fine"),
                "list": lambda: server.resource("test://late" + era)(lambda: "late")}[what]())

def attempt(call, *given, **named):
    try:
        call(*given, **named)
    except Exception:
        pass  # the caller knows

for era in ("legacy", "modern"):
    roots = Roots("/")
    with connect(server, era=era, roots=roots, sampling=fails("sampling"), elicitation=fails("elicitation"),
                 on_log=fails("log"), on_update=fails("update"),
                 on_notification=lambda method, params: "list" in method and fails("list")()) as client:
        client.listen("resources")
        client.connection.counters.note("odd", "a warning of ours")
        for call, given in ((client.call_tool, ["burn"]), (client.read_resource, ["test://burning"]),
                            (client.get_prompt, ["burnt", {"city": "x"}]), (client.complete, ["burnt", "city", "x"])):
            attempt(call, *given)
        client.submit_tool("ask", {"what": "progress"}, progress=fails("progress")).result()
        client.set_log_level("debug")
        client.subscribe_resource("test://fine")
        for what in ("sampling", "elicitation", "log", "update", "list"):
            attempt(client.call_tool, "ask", {"what": what})
        visible, roots._visible = roots._visible, fails("roots")
        attempt(client.call_tool, "ask", {"what": "roots"})
        roots._visible = visible
        roots.add("/tmp")
        sys.stdin.readline()        # until all of it was seen
"""
RAISED = {"a tool": "tools/call, request ", "a resource": "resources/read, request ",
          "a prompt": "prompts/get, request ", "a completion": "completion/complete, request ",
          "progress": "tools/call, request ",
          "sampling": "sampling/createMessage, request ", "elicitation": "elicitation/create, request ",
          "roots": "roots/list, request ", "log": "notifications/message", "update": "notifications/resources/updated",
          "list": "notifications/resources/list_changed"}
"""What raised, and what it was called for."""


def test_a_library_shows_what_code_of_the_application_raised_and_nothing_else(tmp_path: pathlib.Path) -> None:
    (tmp_path / "program.py").write_text(LIBRARY.replace("SETUP", ""))
    process = subprocess.Popen([sys.executable, str(tmp_path / "program.py")], stdin=subprocess.PIPE,
                               env=dict(os.environ, PYTHONPATH=str(ROOT)), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    err = process.stderr
    assert process.stdin is not None and process.stdout is not None and err is not None
    lines: List[str] = []
    reader = threading.Thread(target=lambda: lines.extend(line.decode() for line in err))
    reader.start()
    try:
        for wanted in ({**RAISED, "roots changed": "notifications/roots/list_changed"}, RAISED):
            before = len(lines)
            eventually(lambda: {"LookupError: %s\n" % name for name in wanted} <= set(lines[before:]))
            for name, occasion in wanted.items():
                entry = r"^\S+ \S+ ERROR mcp_ref\.usercode: .* raised LookupError: %s \(%s" % (name, occasion)
                found, = [at for at, line in enumerate(lines[before:], before) if re.match(entry, line)]
                assert lines[found + 1].startswith("Traceback")
            process.stdin.write(b"\n")
            process.stdin.flush()
        assert (process.wait(WAIT), process.stdout.read()) == (0, b"")
    finally:
        process.kill()
        reader.join(WAIT)
        for stream in (process.stdin, process.stdout, err):
            stream.close()
        process.wait()
    assert not [line for line in lines if re.match(r"\S+ \S+ [A-Z]+ mcp_ref(?!\.usercode)", line)]


@pytest.mark.parametrize("setup", [
    "import logging; logging.getLogger().addHandler(logging.NullHandler())",
    "import logging; logging.getLogger('mcp_ref').addHandler(logging.NullHandler())",
    "import logging; logging.lastResort = None",
])
def test_a_library_shows_nothing_where_the_application_wants_that(setup: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "program.py").write_text(LIBRARY.replace("SETUP", setup))
    done = subprocess.run([sys.executable, str(tmp_path / "program.py")], input=b"\n\n", timeout=WAIT,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, PYTHONPATH=str(ROOT)))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_host_that_never_reads_standard_error_does_not_stop_the_server(app: str) -> None:
    """3,000 tracebacks are more than a pipe holds."""
    pathlib.Path(app).write_text(FAILING + """
import mcp_ref.diagnostics.packagelog
mcp_ref.diagnostics.packagelog.RECORDS_PER_MINUTE = 10 ** 6       # all of them are written
server.run()
""")
    unread, err = os.pipe()
    try:
        done = spoken(app, count=3000, stderr=err, env=dict(os.environ, PYTHONPATH=str(ROOT)))
    finally:
        os.close(err)
        held = os.read(unread, 1 << 20)
        os.close(unread)
    assert done.returncode == 0 and len(messages_of(done.stdout)) == 3001
    assert re.search(ENTRY.encode(), held, re.MULTILINE), "and what fits is there"


def test_what_could_not_be_written_is_told_as_a_number(app: str) -> None:
    pathlib.Path(app).write_text(FAILING + """
import mcp_ref.diagnostics.packagelog, mcp_ref.diagnostics.loghandlers
mcp_ref.diagnostics.packagelog.RECORDS_PER_MINUTE = 10 ** 6
mcp_ref.diagnostics.loghandlers.MOST_WAITING_BYTES = 4096
server.run()
""")
    process = subprocess.Popen([sys.executable, app], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=dict(os.environ, PYTHONPATH=str(ROOT)))
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    try:
        for message in HANDSHAKE + [call(number) for number in range(1, 501)]:
            process.stdin.write(json.dumps(message).encode("ascii") + b"\n")
        process.stdin.flush()
        for _ in range(501):
            assert process.stdout.readline()
        early = b""
        while b"log records were lost: standard error was not read" not in early:
            chunk = os.read(process.stderr.fileno(), 65536)
            assert chunk, early[-300:]
            early += chunk
            process.stdin.write(json.dumps(call(1000 + len(early))).encode("ascii") + b"\n")
            process.stdin.flush()
    finally:
        process.kill()
        process.communicate(timeout=WAIT)


@pytest.mark.parametrize("words", [[], ["-m", "mcp_ref", "run"]])
def test_where_both_outputs_are_one_pipe_the_log_stays_off_it(words: List[str], app: str) -> None:
    done = spoken(*words, app, stderr=subprocess.STDOUT, env=dict(os.environ, PYTHONPATH=str(ROOT)))
    assert [message["id"] for message in messages_of(done.stdout)] == [0, 1]


def test_without_standard_error_the_server_works(app: str) -> None:
    command = '"%s" "%s" 2>&-' % (sys.executable, app)
    data = b"".join(json.dumps(line).encode("ascii") + b"\n" for line in HANDSHAKE + [call(1)])
    done = subprocess.run(["sh", "-c", command], input=data, stdout=subprocess.PIPE, timeout=WAIT,
                          env=dict(os.environ, PYTHONPATH=str(ROOT)))
    assert [message["id"] for message in messages_of(done.stdout)] == [0, 1]


def test_a_stream_that_the_program_has_put_in_its_place_gets_the_log(tmp_path: pathlib.Path) -> None:
    (tmp_path / "program.py").write_text("""
import io, sys
from mcp_ref.diagnostics import loghandlers, packagelog
sys.stderr = io.StringIO()
packagelog.own_process()
packagelog.get_logger("mcp_ref.x").warning("caf\\u00e9 %d", 1)
packagelog.settle(60)
text = sys.stderr.getvalue()
assert text.endswith(" WARNING mcp_ref.x: caf\\u00e9 1\\n"), text
packagelog.own_process(False)
packagelog.get_logger("mcp_ref.x").warning("more")
packagelog.settle(60)
assert sys.stderr.getvalue() == text
""")
    done = subprocess.run([sys.executable, str(tmp_path / "program.py")], stdin=subprocess.DEVNULL, timeout=WAIT,
                          stderr=subprocess.PIPE, env=dict(os.environ, PYTHONPATH=str(ROOT)))
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_flood_of_warnings_is_thinned_out(tmp_path: pathlib.Path) -> None:
    """Peers cause them. Errors still pass."""
    (tmp_path / "program.py").write_text("""
from mcp_ref.diagnostics import packagelog
packagelog.own_process()
log = packagelog.get_logger("mcp_ref.x")
for number in range(2000):
    log.warning("odd message %d", number)
log.error("at last")
""")
    done = subprocess.run([sys.executable, str(tmp_path / "program.py")], stdin=subprocess.DEVNULL, timeout=WAIT,
                          stderr=subprocess.PIPE, env=dict(os.environ, PYTHONPATH=str(ROOT)))
    lines = done.stderr.decode().splitlines()
    notes = [re.match(r"\((\d+) warnings before this one were left out", line) for line in lines]
    left_out = sum(int(note.group(1)) for note in notes if note)
    assert 600 <= len(lines) < 700 and lines[-1].endswith("ERROR mcp_ref.x: at last")
    # A busy machine takes so long that the rate lets one more warning pass, and that ends the first count.
    assert notes[-2] and left_out + sum(": odd message " in line for line in lines) == 2000


def test_a_forked_process_writes_too(tmp_path: pathlib.Path) -> None:
    (tmp_path / "program.py").write_text("""
import os
from mcp_ref.diagnostics import packagelog
packagelog.own_process()
log = packagelog.get_logger("mcp_ref.x")
log.warning("parent")
packagelog.settle(60)
if os.fork() == 0:
    log.warning("child")
    packagelog.settle(60)
    os._exit(0)
os.wait()
""")
    words = [sys.executable, "-W", "ignore", str(tmp_path / "program.py")]  # a newer Python warns of forks with threads
    done = subprocess.run(words, stdin=subprocess.DEVNULL, timeout=WAIT,
                          stderr=subprocess.PIPE, env=dict(os.environ, PYTHONPATH=str(ROOT)))
    assert [line.rpartition(" ")[2] for line in done.stderr.decode().splitlines()] == ["parent", "child"]


def test_nothing_of_it_is_loaded_before_the_first_record(app: str) -> None:
    pathlib.Path(app).write_text("""
import sys
from mcp_ref import Server
server = Server("quick")
server.limits.drain = server.limits.shutdown_grace = 60.0  # the input ends long before the calls, on a busy machine
watched = {"logging", "mcp_ref.diagnostics.loghandlers"}
server.tool(lambda: ", ".join(watched & set(sys.modules)) or "nothing", name="burn")
server.run()
""")
    done = spoken(app, env=dict(os.environ, PYTHONPATH=str(ROOT)))
    assert messages_of(done.stdout)[1]["result"]["content"][0]["text"] == "nothing" and done.stderr == b""


# --- HTTP -------------------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def program(*words: str, env: Optional[Dict[str, str]] = None) -> Iterator[Any]:
    """A program that serves over HTTP, with the lines of its standard error so far and its ``url``."""
    process: Any = subprocess.Popen([sys.executable, *words], cwd=str(ROOT), stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                                    env=dict(os.environ, PYTHONPATH=str(ROOT), **(env or {})))
    process.lines = []

    def read() -> None:
        for line in iter(process.stderr.readline, b""):
            process.lines.append(line.decode("utf-8", "replace").rstrip("\n"))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        def found() -> bool:
            process.url = next((re.findall(r"http://\S+/mcp", line)[0] for line in process.lines
                                if line.startswith("serving on ")), "")
            return bool(process.url) or process.poll() is not None

        eventually(found)
        assert process.url, process.lines
        process.url = process.url.replace("0.0.0.0", "127.0.0.1")
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(WAIT)
        finally:
            process.kill()
            process.wait(WAIT)
            reader.join(WAIT)
            process.stdout.close()
            process.stderr.close()


RUN_HTTP = FAILING + """
# One write, for the thread of the log writes there, too.
server.run_http(sys.argv[1], 0, ready=lambda url: sys.stderr.write("serving on %s\\n" % url))
"""
WAYS = {
    "run_http": lambda app, host: [app, host],
    "run --http": lambda app, host: ["-m", "mcp_ref", "run", app, "--http", host + ":0"],
    "workers": lambda app, host: ["-m", "mcp_ref", "run", app, "--http", host + ":0", "--workers", "2"],
}


@pytest.fixture
def http_app(tmp_path: pathlib.Path) -> str:
    text = RUN_HTTP.replace("\nserver.run_http", "\nif __name__ == '__main__': server.run_http")
    (tmp_path / "app.py").write_text(text)
    return str(tmp_path / "app.py")


@pytest.mark.parametrize("way", WAYS)
def test_serving_over_http_shows_the_author_what_was_raised(way: str, http_app: str) -> None:
    with program(*WAYS[way](http_app, "127.0.0.1")) as process:
        with connect(process.url) as client:
            told = client.call_tool("burn", {"words": "plain words"}).text
        assert re.fullmatch(r"Internal error in tool 'burn' \(request \d+\); the server's log has the details", told)
        request = re.findall(r"request \d+", told)[0]
        eventually(lambda: any(re.match(ENTRY, line) and request in line for line in process.lines))
        eventually(lambda: any("raise LookupError(words)" in line for line in process.lines))
        assert not [line for line in process.lines if "can be reached from other machines" in line]


@pytest.mark.parametrize("way", WAYS)
def test_an_operator_is_warned_once_of_a_server_that_is_open_to_all(way: str, http_app: str) -> None:
    with program(*WAYS[way](http_app, "0.0.0.0")) as process:
        with connect(process.url) as client:
            client.ping()
        eventually(lambda: any("can be reached from other machines" in line for line in process.lines))
    warned = [line for line in process.lines if "can be reached from other machines" in line]
    assert len(warned) == 1 and "http://0.0.0.0:" in warned[0] and "nobody has to show who they are" in warned[0]
    if way != "run_http":
        assert warned[0].startswith("mcp_ref: warning: ") and "--token-env" in warned[0]


def test_the_warning_is_on_the_terminal_whatever_logging_does(http_app: str) -> None:
    text = pathlib.Path(http_app).read_text()
    pathlib.Path(http_app).write_text("import logging\nlogging.basicConfig(filename=%r)\n" % (http_app + ".log") + text)
    with program(*WAYS["run --http"](http_app, "0.0.0.0")) as process:
        eventually(lambda: any("can be reached from other machines" in line for line in process.lines))


@pytest.mark.parametrize("way", ["run --http", "workers"])
def test_nobody_is_warned_of_a_server_that_asks_for_a_token(way: str, http_app: str) -> None:
    words = [*WAYS[way](http_app, "0.0.0.0"), "--token-env", "SHOWN"]
    with program(*words, env={"SHOWN": "a-secret-of-tests"}) as process:
        with connect(process.url, token="a-secret-of-tests") as client:
            client.ping()
    assert not [line for line in process.lines if "can be reached" in line]


def test_a_socket_for_all_is_warned_of(http_app: str) -> None:
    for address, warned in (("tcp://0.0.0.0:0", 1), ("tcp://127.0.0.1:0", 0)):
        process = subprocess.Popen([sys.executable, "-m", "mcp_ref", "run", http_app, "--listen", address],
                                   cwd=str(ROOT), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert process.stderr is not None
        try:
            lines = [process.stderr.readline() for _ in range(1 + warned)]
            process.send_signal(signal.SIGINT)
            lines += process.communicate(timeout=WAIT)[1].splitlines()
        finally:
            process.kill()
            process.communicate(timeout=WAIT)
        assert lines[0].startswith(b"listening on ")
        assert sum(b"can be reached from other machines" in line for line in lines) == warned


def test_the_text_of_an_exception_looks_like_no_record_and_a_terminal_obeys_nothing_of_it(app: str) -> None:
    """Found by attack: a peer wrote records of its own, and what terminals obey."""
    forged = ("x\n2026-11-22 15:26:48,123 WARNING mcp_ref.auth: forged\r(5 warnings before\x1b]0;x\x07\x9b2J\n"
              "(7 log records")
    lines = HANDSHAKE + [call(1, words=forged), call(2, words="y" * 1_000_000)]
    done = subprocess.run([sys.executable, app], input=b"".join(json.dumps(line).encode() + b"\n" for line in lines),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WAIT,
                          env=dict(os.environ, PYTHONPATH=str(ROOT)))
    err = done.stderr.decode()
    assert len(re.findall(r"^[0-9]{4}-", err, re.MULTILINE)) == 2 and not re.search(r"^\(", err, re.MULTILINE)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", err) and "\\x1b]0;x\\x07\\x9b2J" in err
    assert "  2026-11-22 15:26:48,123 WARNING mcp_ref.auth: forged" in err
    assert len(err) < 20_000
