"""``Server(lifespan=...)``: entered before the first request, left after the last handler, on every way of serving."""
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest

from mcp_ref import connect
from mcp_ref.errors import ConnectFailed
from mcp_ref.protocol import envelope
from mcp_ref.revisions import LATEST
from mcp_ref.server import Context, Server
from tests.support.patience import WAIT
from tests.support.sides import Gate, eventually

CALL = {"name": "work", "arguments": {}, "_meta": envelope.fields(LATEST, {})}
BODY = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL}).encode()
FIELDS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
          "MCP-Protocol-Version": LATEST.name, "Mcp-Method": "tools/call", "Mcp-Name": "work", "Host": "127.0.0.1"}
ROOT = str(pathlib.Path(__file__).resolve().parents[2])
CHILD = """
import os, sys
sys.path.insert(0, %r)
from contextlib import contextmanager
from mcp_ref import Context, Server

def note(what):
    with open(os.environ["NOTES"], "a") as file:
        file.write("%%s %%d\\n" %% (what, os.getpid()))

@contextmanager
def lifespan(server):
    note("entered")
    if os.environ.get("BROKEN"):
        raise OSError("no such database")
    try:
        yield 42
    finally:
        note("left")

server = Server("child", lifespan=lifespan)

@server.tool
def work(ctx: Context) -> int:
    note("called")
    return ctx.lifespan

if __name__ == "__main__":
    server.run()
""" % ROOT


class Place:
    """A server that notes when its lifespan is entered, used and left."""

    def __init__(self, **options):
        self.events = []
        self.broken = False
        self.server = Server("placed", "1", lifespan=self.lifespan, **options)

        @self.server.tool
        def work(ctx: Context) -> str:
            self.events.append("called with %s" % ctx.lifespan)
            return "done"

    @contextmanager
    def lifespan(self, server):
        assert server is self.server
        self.events.append("entered")
        if self.broken:
            raise OSError("no such database")
        try:
            yield "a database"
        finally:
            self.events.append("left")


def memory(server, folder, held):
    with connect(server) as client:
        held()
        client.call_tool("work")


def listening(address):
    def serve(server, folder, held):
        with server.listen(address % folder if "%s" in address else address) as listener:
            held()
            for _ in range(2):
                with connect(listener.address) as client:
                    client.call_tool("work")
    return serve


def called(server, folder, held):
    for _ in range(2):
        server.handle("POST", "/mcp", FIELDS, BODY)
        held()
    server.handler.close(1.0)


def wsgi(server, folder, held):
    application = server.wsgi()
    for _ in range(2):
        environ = {"REQUEST_METHOD": "POST", "PATH_INFO": "/mcp", "CONTENT_LENGTH": str(len(BODY)),
                   "CONTENT_TYPE": "application/json", "wsgi.input": io.BytesIO(BODY), "wsgi.multithread": True,
                   **{"HTTP_" + name.upper().replace("-", "_"): FIELDS[name] for name in FIELDS}}
        list(application(environ, lambda status, headers: None))
        held()
    application.close(1.0)


WAYS = {"memory": memory, "tcp": listening("tcp://127.0.0.1:0"), "http": listening("http://127.0.0.1:0/mcp"),
        "handle": called, "wsgi": wsgi}
if os.name == "posix":
    WAYS["unix"] = listening("unix://%s/socket")


@pytest.mark.parametrize("way", list(WAYS))
def test_it_is_open_from_before_the_first_request_to_after_the_last(way, tmp_path):
    place = Place()
    seen = []
    WAYS[way](place.server, tmp_path, lambda: seen.append(list(place.events)))
    assert all(events[0] == "entered" and "left" not in events for events in seen) and seen
    calls = [event for event in place.events if event.startswith("called")]
    assert set(calls) == {"called with a database"}
    eventually(lambda: place.events[-1] == "left")
    assert place.events == ["entered", *calls, "left"] and place.server.lifespan is None


@pytest.mark.parametrize("way", ["memory", "tcp", "http"])
def test_what_entering_raises_goes_to_who_begins_to_serve(way, tmp_path):
    place = Place()
    place.broken = True
    with pytest.raises(OSError, match="no such database"):
        WAYS[way](place.server, tmp_path, lambda: None)
    assert place.events == ["entered"]
    place.broken = False
    WAYS[way](place.server, tmp_path, lambda: None)
    eventually(lambda: place.events[-1] == "left")


def test_an_engine_of_wsgi_gets_an_error_and_may_try_again(caplog):
    place = Place()
    place.broken = True
    assert place.server.handle("POST", "/mcp", FIELDS, BODY).status == 500
    assert "no such database" in caplog.text
    place.broken = False
    assert place.server.handle("POST", "/mcp", FIELDS, BODY).status == 200
    place.server.handler.close(1.0)
    assert place.events[-1] == "left"


def test_an_address_that_cannot_be_bound_holds_nothing():
    place = Place()
    with place.server.listen("tcp://127.0.0.1:0") as listener:
        for scheme in ("tcp", "http"):
            with pytest.raises(ConnectFailed):
                place.server.listen("%s:%s" % (scheme, listener.address.partition(":")[2]))
    assert place.events == ["entered", "left"]


def test_it_is_left_when_the_last_of_several_has_gone():
    place = Place()
    with place.server.listen("tcp://127.0.0.1:0") as listener, connect(place.server) as client:
        listener.close()
        assert "left" not in place.events
        client.call_tool("work")
    eventually(lambda: place.events[-1] == "left")
    assert place.events == ["entered", "called with a database", "left"]


def test_it_waits_for_handlers_that_run():
    place, gate = Place(), Gate()

    @place.server.tool
    def hold() -> str:
        gate.hold()
        place.events.append("held")
        return ""

    listener = place.server.listen("http://127.0.0.1:0/mcp")
    with connect(listener.address) as client:
        answer = client.submit_tool("hold")
        gate.entered()
        closing = threading.Thread(target=listener.close)
        closing.start()
        gate.open()
        answer.result(WAIT)
        closing.join(WAIT)
    assert place.events == ["entered", "held", "left"]


def test_a_task_that_runs_on_keeps_it_open():
    place, gate = Place(), Gate()

    @place.server.tool(task="required")
    def hold(ctx: Context) -> str:
        gate.hold()
        place.events.append("held with %s" % ctx.lifespan)
        return ""

    with connect(place.server) as client:
        client.start_tool("hold")
        gate.entered()
    assert place.events == ["entered"]
    gate.open()
    eventually(lambda: place.events == ["entered", "held with a database", "left"])


def test_what_leaving_raises_is_logged(caplog):
    @contextmanager
    def lifespan(server):
        yield
        raise OSError("the disk is full")

    with connect(Server("leaving", lifespan=lifespan)) as client:
        client.ping()
    eventually(lambda: "leaving the lifespan of leaving" in caplog.text and "the disk is full" in caplog.text)


def test_it_may_use_the_server_itself():
    @contextmanager
    def lifespan(server):
        with connect(server) as client:
            assert client.call_tool("one").structured_content == {"result": 1}
            yield

    server = Server("itself", lifespan=lifespan)

    @server.tool
    def one() -> int:
        return 1

    with connect(server) as client:
        client.call_tool("one")
    eventually(lambda: not server.connections)


async def asynchronous(server):
    yield


@pytest.mark.parametrize("wrong", [asynchronous, contextmanager, "database", 3])
def test_what_is_no_function_that_returns_a_context_manager_is_refused(wrong):
    with pytest.raises(TypeError, match="context manager|asynchronous|function"):
        with connect(Server("wrong", lifespan=wrong)):
            pass


def notes(path):
    return [tuple(line.split()) for line in path.read_text().splitlines()] if path.exists() else []


def test_over_stdio_it_is_entered_before_a_line_is_read_and_left_in_the_end(tmp_path):
    script, file = tmp_path / "child.py", tmp_path / "notes"
    script.write_text(CHILD)
    with connect([sys.executable, str(script)], env={"NOTES": str(file)}) as client:
        assert client.call_tool("work").structured_content == {"result": 42}
    eventually(lambda: [what for what, _ in notes(file)] == ["entered", "called", "left"])


def test_over_stdio_what_entering_raises_ends_the_program_before_a_client_is_served(tmp_path):
    script, file = tmp_path / "child.py", tmp_path / "notes"
    script.write_text(CHILD)
    done = subprocess.run([sys.executable, str(script)], input=BODY + b"\n", stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=dict(os.environ, BROKEN="1", NOTES=str(file)), timeout=WAIT)
    assert done.returncode == 1 and done.stdout == b"" and b"OSError: no such database" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="workers are forked here only")
def test_each_worker_enters_its_own_and_sigterm_leaves_it(tmp_path):
    script, file = tmp_path / "child.py", tmp_path / "notes"
    script.write_text(CHILD)
    words = [sys.executable, "-m", "mcp_ref", "run", str(script), "--http", "127.0.0.1:0", "--workers", "2"]
    child = subprocess.Popen(words, stderr=subprocess.PIPE, env=dict(os.environ, NOTES=str(file)))
    try:
        line = b""
        while b"serving on " not in line:
            line = child.stderr.readline()
            assert line, "it has ended"
        with connect(line.split()[2].decode().rstrip(";")) as client:
            client.call_tool("work")
        eventually(lambda: len({pid for _, pid in notes(file)}) == 2)
    finally:
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=WAIT)
    for pid in {pid for _, pid in notes(file)}:
        mine = [what for what, owner in notes(file) if owner == pid]
        assert mine[0] == "entered" and mine[-1] == "left" and mine.count("entered") == mine.count("left") == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked here only")
def test_a_forked_copy_enters_its_own_and_leaves_the_other_alone():
    place = Place()
    read, write = os.pipe()
    with connect(place.server) as client:
        client.call_tool("work")
        child = os.fork()
        if not child:  # no thread runs here, so nothing but the lifespan is used
            place.server.hold(place)
            place.server.let_go(place)
            os.write(write, ", ".join(place.events).encode())
            os._exit(0)
        os.close(write)
        assert os.waitpid(child, 0)[1] == 0
        with os.fdopen(read) as told:
            assert told.read() == "entered, called with a database, entered, left"
        assert place.events == ["entered", "called with a database"]
    eventually(lambda: place.events[-1] == "left")
