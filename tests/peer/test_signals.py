"""SIGTERM and Ctrl-C: real programs, told to end while nothing runs, while a call does, and while one is stuck.

A program says on standard error when it serves, when a call has begun, and what of it still ran in the end; a call ends
when the test writes to a pipe.
"""
import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
from urllib.parse import urlsplit

import pytest

from mcp_ref.server.serving import process
from mcp_ref.server.serving.process import Termination
from tests.support.children import heed_interrupts, interrupt
from tests.support.patience import WAIT
from tests.support.sides import eventually, in_thread

ROOT = pathlib.Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

APP = """
import atexit, json, os, signal, sys, threading, time
from mcp_ref import Context, Server
from mcp_ref.limits import Limits
from mcp_ref.server.serving import process
GO, EXECUTOR = int(os.environ["GO"]), os.environ.get("EXECUTOR", "")
process.SAME_SECONDS = 0.0

def say(text):
    os.write(2, (text + "\\n").encode())  # in one piece, as another thread writes the log; and signals may come inside

executor = None
if EXECUTOR == "inline":
    from mcp_ref.peer.executors import Inline
    executor = Inline()
elif EXECUTOR == "queue":
    from mcp_ref.peer.main_thread import MainThreadQueue
    executor = MainThreadQueue(60)
server = Server("app", limits=Limits(drain=0.1, **json.loads(os.environ["LIMITS"])), executor=executor)

@server.tool
def wait() -> str:
    say("begun")
    try:
        os.read(GO, 1)
    finally:
        say("call ended")
    return "done"

@server.tool
def stuck() -> str:
    say("begun")
    while True:
        time.sleep(60)

@server.tool
def cancelled(ctx: Context) -> str:
    say("begun")
    say("cancelled" if ctx.cancelled.wait(60) else "never cancelled")
    return ""

@server.tool
def quick() -> str:
    return "quick"

@server.tool
def threads() -> str:
    return " ".join(sorted(thread.name for thread in threading.enumerate()))

@server.tool
def child() -> str:
    import multiprocessing
    process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    process.start()
    process.terminate()
    process.join(30)
    return str(process.exitcode)

atexit.register(say, "atexit")
"""
RUNS = """
import contextlib

@contextlib.contextmanager
def opened():
    try:
        yield
    finally:
        say("with")

BEFORE
try:
    with opened():
        SERVE
finally:
    say("finally")
say("after; handler of SIGTERM %r %d" % (signal.getsignal(signal.SIGTERM), signal.set_wakeup_fd(-1)))
"""
STDIO = "server.run()"
HTTP = "server.run_http(port=0, sessions='none', ready=lambda url: say('serving on %s;' % url))"
ALL = ["with", "finally", "atexit"]


class Program:
    """One that serves, as a child; ``lines``: what it has said so far."""

    def __init__(self, folder, serve=None, *options, grace=WAIT, executor="", before="", stdin=subprocess.PIPE):
        file = folder / "app.py"
        file.write_text(APP + ("" if serve is None else RUNS.replace("SERVE", serve).replace("BEFORE", before)))
        words = [sys.executable, str(file)] if serve else [sys.executable, "-m", "mcp_ref", "run", str(file), *options]
        go, self._go = os.pipe()
        limits = {"shutdown_grace": grace}
        if serve == HTTP or options:  # a call that runs has longer than a cancelled one
            limits = {"shutdown_grace": min(grace, 0.1), "serve_grace": grace}
        environment = dict(os.environ, GO=str(go), LIMITS=json.dumps(limits), EXECUTOR=executor, PYTHONPATH=str(ROOT))
        self.process = subprocess.Popen(words, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        pass_fds=[go], env=environment, cwd=str(folder), preexec_fn=heed_interrupts)
        os.close(go)
        self.lines = []
        self.address = ""
        self._ids = 0
        self._socket = None
        if serve != STDIO and options or serve == HTTP:
            self.address = self.until("ing on ").split()[2].rstrip(";")
        if self.address.startswith("tcp"):
            self._socket = socket.create_connection(("127.0.0.1", int(self.address.rpartition(":")[2])), WAIT)
            self._in, self._out = self._socket.makefile("rb"), self._socket.makefile("wb")
        elif not self.address:
            self._in, self._out = self.process.stdout, self.process.stdin
        if not self.address.startswith("http"):
            self.say("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                    "clientInfo": {"name": "x", "version": "1"}})
            assert "result" in self.heard()
            self.say("notifications/initialized", notify=True)

    def until(self, words):
        """Read what it says up to a line with these words, which is returned."""
        for line in self.process.stderr:
            self.lines.append(line.decode().rstrip("\n"))
            if words in self.lines[-1]:
                return self.lines[-1]
        raise AssertionError("%r was never said: %r" % (words, self.lines))

    def say(self, method, params=None, notify=False):
        self._ids += 1
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        self._out.write(json.dumps(message if notify else dict(message, id=self._ids)).encode() + b"\n")
        self._out.flush()

    def heard(self):
        return json.loads(self._in.readline())

    def call(self, name):
        """Begin a call; what gives its answer, or None where none came."""
        if self.address.startswith("http"):
            outcome = in_thread(self.post, name)
            return lambda: outcome.get(WAIT)
        self.say("tools/call", {"name": name})
        return lambda: json.loads(self._in.readline() or b"null")

    def post(self, name):
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=WAIT)
        try:
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name}})
            connection.request("POST", "/mcp", body, {
                "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                "MCP-Protocol-Version": "2025-06-18"})
            answer = connection.getresponse()
            return dict(json.loads(answer.read() or b"{}"), status=answer.status)
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def refuses(self):
        """Whether a new request is refused since the end has begun; for a while it may be answered."""
        if self.address.startswith("http"):
            answer = self.post("quick")
            return answer is not None and answer["status"] == 503
        answer = self.call("quick")()
        return answer.get("error", {}).get("message") == "The server is shutting down"

    def tell(self, number):
        self.process.send_signal(number)

    def end_by(self, number):
        """Send the signal that is to end it."""
        if number == signal.SIGINT:
            interrupt(self.process)
        else:
            self.tell(number)

    def go(self):
        os.write(self._go, b"!")

    def over(self):
        """Wait for its end; the exit code."""
        self.lines += [line.decode().rstrip("\n") for line in self.process.stderr]
        return self.process.wait(WAIT)

    def said(self, *words):
        return [line for line in self.lines if line.split(";")[0] in words]

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.process.kill()
        self.process.wait()
        os.close(self._go)
        if self._socket is not None:
            self._in.close()
            with contextlib.suppress(OSError):
                self._out.close()
            self._socket.close()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


WAYS = [pytest.param((STDIO,), id="run"), pytest.param((HTTP,), id="run_http"), pytest.param((None,), id="command"),
        pytest.param((None, "--http", "127.0.0.1:0", "--stateless"), id="command --http"),
        pytest.param((None, "--listen", "tcp://127.0.0.1:0"), id="command --listen")]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("way", WAYS)
def test_an_idle_server_ends_at_once(way, number, tmp_path):
    with Program(tmp_path, *way) as program:
        program.end_by(number)
        assert program.over() == (0 if number == signal.SIGTERM else 130)
        assert program.said(*ALL) == (ALL if way[0] else ["atexit"])
        assert len(program.said("after")) == (way[0] is not None and number == signal.SIGTERM)
        assert not [line for line in program.lines if "Traceback" in line or "KeyboardInterrupt" in line]


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("serve", ["server.run_http(port=0, ready=print)", """
import runpy
sys.argv = ["mcp_ref", "run", __file__, "--http", "127.0.0.1:0"]
runpy.run_module("mcp_ref", run_name="__main__")"""])
def test_a_signal_that_comes_while_it_opens_is_heard(moment, serve, tmp_path):
    """A socket of systemd's brings clients before the server listens."""
    program = tmp_path / "app.py"
    program.write_text("""
import os, signal, sys
from mcp_ref import Server
from mcp_ref.http11.server.server import HttpServer
server = Server("app")
if __name__ == "__main__":
    opening, before = HttpServer.open, %r
    def opened(self):
        for now in (True, False):
            if now == before:
                os.kill(os.getpid(), signal.SIGTERM)
                os.write(2, b"still here\\n")
            if now:
                opening(self)
    HttpServer.open = opened
    %s
""" % (moment == "before", serve.strip().replace("\n", "\n    ")))
    done = subprocess.run([sys.executable, str(program)], env=dict(os.environ, PYTHONPATH=str(ROOT)), timeout=WAIT,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0 and b"still here" in done.stderr, done


@pytest.mark.parametrize("way", WAYS)
def test_a_call_that_runs_is_answered_and_new_ones_are_refused(way, tmp_path):
    with Program(tmp_path, *way) as program:
        answer = program.call("wait")
        program.until("begun")
        program.tell(signal.SIGTERM)
        eventually(program.refuses)
        program.go()
        assert answer()["result"]["content"][0]["text"] == "done"
        assert program.over() == 0
        assert program.said("call ended", *ALL) == ["call ended", *(ALL if way[0] else ["atexit"])]


@pytest.mark.parametrize("executor", ["inline", "queue"])
def test_a_call_on_the_main_thread_is_not_torn_out_of_its_work(executor, tmp_path):
    with Program(tmp_path, STDIO, executor=executor) as program:
        answer = program.call("wait")
        program.until("begun")
        program.tell(signal.SIGTERM)
        program.go()
        assert answer()["result"]["content"][0]["text"] == "done"
        assert program.over() == 0 and program.said("call ended", *ALL) == ["call ended", *ALL]


@pytest.mark.parametrize("way", WAYS[3:])
def test_the_option_says_how_long_a_call_may_run(way, tmp_path):
    with Program(tmp_path, *way, "--grace", str(WAIT), grace=0.0) as program:
        answer = program.call("wait")
        program.until("begun")
        program.tell(signal.SIGTERM)
        eventually(program.refuses)
        program.go()
        assert answer()["result"]["content"][0]["text"] == "done" and program.over() == 0


@pytest.mark.parametrize("way", WAYS)
def test_a_call_that_does_not_end_in_time_is_cancelled(way, tmp_path):
    with Program(tmp_path, *way, grace=0.1) as program:
        program.call("cancelled")
        program.until("begun")
        program.tell(signal.SIGTERM)
        assert program.over() == 0 and program.said("cancelled", "never cancelled") == ["cancelled"]


@pytest.mark.parametrize("way, number", [
    *[pytest.param(*way.values, signal.SIGTERM, id="SIGTERM " + way.id) for way in WAYS],
    *[pytest.param(*way.values, signal.SIGINT, id="SIGINT " + way.id) for way in WAYS[:2]]])
def test_a_call_that_is_stuck_is_left_behind(way, number, tmp_path):
    with Program(tmp_path, *way, grace=0.1) as program:
        program.call("stuck")
        program.until("begun")
        program.end_by(number)
        assert program.over() == (0 if number == signal.SIGTERM else 130)
        assert program.said(*ALL) == (ALL if way[0] else ["atexit"])
        assert not [line for line in program.lines if "Traceback" in line]


@pytest.mark.parametrize("executor", ["inline", "queue"])
def test_a_call_that_is_stuck_on_the_main_thread_ends_with_the_process(executor, tmp_path):
    with Program(tmp_path, STDIO, executor=executor, grace=0.05, before="process._MARGIN = 0.0") as program:
        program.call("stuck")
        program.until("begun")
        program.tell(signal.SIGTERM)
        assert program.over() == 1 and program.said(*ALL) == []


def test_a_thread_of_a_stuck_call_that_is_no_daemon_keeps_nothing(tmp_path):
    """The program goes on, and its last acts are done; what then keeps the process has ``shutdown_grace`` seconds."""
    keeps = "threading.Thread(target=time.sleep, args=(60,)).start()"
    with Program(tmp_path, STDIO, grace=0.3, before=keeps) as program:
        program.call("stuck")
        program.until("begun")
        program.tell(signal.SIGTERM)
        assert program.over() == 1 and program.said("with", "finally") == ["with", "finally"]


@pytest.mark.parametrize("serve", [STDIO, HTTP])
def test_a_second_sigterm_ends_the_process_at_once(serve, tmp_path):
    with Program(tmp_path, serve) as program:
        program.call("wait")
        program.until("begun")
        program.tell(signal.SIGTERM)
        eventually(program.refuses)
        program.tell(signal.SIGTERM)
        assert program.over() == 143 and program.said("call ended", *ALL) == []


def test_a_second_sigterm_that_follows_at_once_is_the_same(tmp_path):
    """Process managers signal a whole group, and some members pass the signal on."""
    with Program(tmp_path, STDIO, before="process.SAME_SECONDS = 60.0") as program:
        answer = program.call("wait")
        program.until("begun")
        program.tell(signal.SIGTERM)
        eventually(program.refuses)
        program.tell(signal.SIGTERM)
        program.go()
        assert answer()["result"]["content"][0]["text"] == "done" and program.over() == 0


@pytest.mark.parametrize("serve", [STDIO, HTTP])
def test_a_second_interrupt_ends_the_wait(serve, tmp_path):
    before = "server.limits.drain = server.limits.shutdown_grace = 600.0"
    with Program(tmp_path, serve, grace=600.0, before=before) as program:
        program.call("stuck")
        program.until("begun")
        program.tell(signal.SIGINT)
        tick = threading.Event()
        for _ in range(1000):  # one that comes before the first was heard is the same
            if program.process.poll() is not None:
                break
            tick.wait(0.02)
            if not program.said("finally"):
                program.tell(signal.SIGINT)
        assert program.over() in (130, -2)


@pytest.mark.parametrize("before", ["signal.signal(signal.SIGTERM, lambda *given: say('mine'))",
                                    "signal.signal(signal.SIGTERM, signal.SIG_IGN)"])
@pytest.mark.parametrize("serve", [STDIO, HTTP])
def test_a_program_that_hears_or_ignores_the_signal_keeps_that(serve, before, tmp_path):
    with Program(tmp_path, serve, before=before) as program:
        program.tell(signal.SIGTERM)
        if "mine" in before:
            program.until("mine")
        assert program.call("quick")()["result"]["content"][0]["text"] == "quick"
        assert "mcp-ref:signals" not in program.call("threads")()["result"]["content"][0]["text"]
        program.end_by(signal.SIGINT)
        assert program.over() == 130


def test_what_was_before_is_back_afterwards(tmp_path):
    before = "import socket; ends = socket.socketpair(); ends[0].setblocking(False)"
    before += "; signal.set_wakeup_fd(ends[0].fileno()); say('fd %d' % ends[0].fileno())"
    with Program(tmp_path, STDIO, before=before) as program:
        fd = program.lines[-1] if program.lines else program.until("fd ")
        program.tell(signal.SIGTERM)
        assert program.over() == 0
        line, = program.said("after")
        assert "SIG_DFL" in line and line.endswith(" " + fd.split()[1]), "the descriptor of the program"


def test_at_the_end_of_the_input_the_signal_is_as_before_too(tmp_path):
    with Program(tmp_path, STDIO) as program:
        assert "mcp-ref:signals" in program.call("threads")()["result"]["content"][0]["text"]
        program.process.stdin.close()
        assert program.over() == 0
        line, = program.said("after")
        assert "SIG_DFL" in line and line.endswith(" -1")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_of_a_handler_can_be_terminated_and_does_not_end_the_server(tmp_path):
    with Program(tmp_path, STDIO) as program:
        assert program.call("child")()["result"]["content"][0]["text"] == "-15"
        assert program.call("quick")()["result"]["content"][0]["text"] == "quick"
        program.tell(signal.SIGTERM)
        assert program.over() == 0


def test_on_another_thread_nothing_is_heard():
    with contextlib.ExitStack() as stack:
        found = in_thread(stack.enter_context, Termination(lambda: None)).get()
        assert found._ends is None and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        assert "mcp-ref:signals" not in [thread.name for thread in threading.enumerate()]


@pytest.mark.race
def test_the_signal_is_heard_once_and_then_no_more():
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    acted = []
    with Termination(lambda: acted.append(threading.current_thread().name)) as termination:
        os.kill(os.getpid(), signal.SIGTERM)
        assert termination.acted.wait(WAIT) and termination.received.is_set()
    assert acted == ["mcp-ref:ending"] and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.set_wakeup_fd(-1) == -1 and process.HEARING == []


def test_where_another_has_the_wakeup_descriptor_the_signal_is_heard_all_the_same():
    ends = socket.socketpair()
    ends[0].setblocking(False)
    signal.set_wakeup_fd(ends[0].fileno())
    try:
        with Termination(lambda: None) as termination:
            os.kill(os.getpid(), signal.SIGTERM)
            assert termination.acted.wait(WAIT)
        assert ends[1].recv(9) == bytes([signal.SIGTERM])
    finally:
        assert signal.set_wakeup_fd(-1) == ends[0].fileno()
        for end in ends:
            end.close()


def test_where_it_is_taken_away_later_the_signal_is_heard_all_the_same():
    with Termination(lambda: None) as termination:
        signal.set_wakeup_fd(-1)  # as an event loop does that ends
        os.kill(os.getpid(), signal.SIGTERM)
        assert termination.acted.wait(WAIT)


def test_a_person_at_a_terminal_is_told_what_it_waits_for(tmp_path):
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    try:
        file = tmp_path / "app.py"
        file.write_text("from mcp_ref import Server\nServer('by hand').run()\n")
        process = subprocess.Popen([sys.executable, str(file)], stdin=slave, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, preexec_fn=heed_interrupts, cwd=str(tmp_path),
                                   env=dict(os.environ, PYTHONPATH=str(ROOT)))
        try:
            line = process.stderr.readline().decode()
            assert line.startswith("by hand waits for a client: ") and "Ctrl-C ends it" in line
            interrupt(process)
            out, err = process.communicate(timeout=WAIT)
            assert (process.returncode, out, err) == (130, b"", b"")
        finally:
            process.kill()
            process.communicate()
    finally:
        os.close(master)
        os.close(slave)


def test_nobody_is_told_where_a_client_has_started_it(tmp_path):
    with Program(tmp_path, STDIO) as program:
        program.process.stdin.close()
        assert program.over() == 0 and not [line for line in program.lines if "waits for a client" in line]


def test_the_hook_of_newer_interpreters_ends_by_the_code_and_shows_other_errors():
    from mcp_ref.server.serving.process import Interrupted, _ExitQuietly

    seen = []
    hook = _ExitQuietly(lambda *exception: seen.append(exception[1]))
    with pytest.raises(SystemExit) as ended:
        hook(Interrupted, Interrupted(), None)
    assert ended.value.code == 130 and not seen
    other = ValueError()
    hook(ValueError, other, None)
    assert seen == [other]
