"""`run --workers`: the parent's table of what happens, then real processes: kills, ends, and what clients notice."""
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import urllib.request

import pytest

from mcp_ref import connect
from mcp_ref.cli.serve import workers
from mcp_ref.cli.serve.workers import Supervisor, Worker
from mcp_ref.errors import ConnectionLost
from tests.support.children import heed_interrupts
from tests.support.patience import WAIT
from tests.support.sides import eventually

from .running import ROOT, here

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sockets are handed down here only")
APP = """
import os
from mcp_ref import Context, Server
server = Server("app")

@server.tool
def pid() -> int:
    return os.getpid()

@server.tool
def ask(ctx: Context) -> str:
    return ctx.elicit("Which region?", {"region": str})["region"]

@server.tool
def keys() -> str:
    return os.environ["MCP_REF_STATE_KEYS"]

@server.tool
def hold(ctx: Context) -> str:
    ctx.progress(1)
    ctx.cancelled.wait(0.2)
    return "done"
"""


# -- The parent alone --------------------------------------------------------------------------


class Stop(Exception):
    """The scenario is over."""


class Process:
    """A process that is over when its pipe is."""

    def __init__(self, code):
        self.pid, self.code, self.told = 4711, code, []

    def wait(self, timeout=None):
        if "kill" not in self.told and "stubborn" in self.told:
            raise subprocess.TimeoutExpired("it", timeout)
        return self.code

    def poll(self):
        return None if "stubborn" in self.told else self.code

    def terminate(self):
        self.told.append("terminate")

    def kill(self):
        self.told.append("kill")


class Scene:
    """A supervisor whose workers do what a list says: (seconds, code) each; with None it never serves."""

    def __init__(self, monkeypatch, count, *script):
        self.now, self.started, self.notes, self.served = 100.0, [], [], []
        self.script = list(script)
        self.ends = {}
        monkeypatch.setattr(workers.deadline, "clock", lambda: self.now)
        monkeypatch.setattr(workers, "note", self.notes.append)
        self.supervisor = Supervisor(self.start, count, lambda said: self.served.append(self.now))
        self.select = self.supervisor._selector.select
        self.supervisor._selector.select = self.pass_time

    def start(self, number):
        if not self.script:
            raise Stop
        lives, code = self.script.pop(0)
        self.started.append(self.now)
        pipe, end = os.pipe()
        if lives is None:
            os.close(end)
        else:
            os.write(end, b"!")
            self.ends[end] = self.now + lives
        return Worker(Process(code), pipe)

    def pass_time(self, timeout):
        ready = self.select(0)
        if not ready:
            self.now += timeout
        for end in [end for end, at in self.ends.items() if at <= self.now]:
            if not self.select(0):
                os.close(end)
                del self.ends[end]
        return ready

    def run(self):
        try:
            return self.supervisor.run()
        finally:
            self.supervisor.end(0)
            for end in self.ends:
                os.close(end)


def test_a_worker_that_dies_is_replaced_at_once(monkeypatch):
    scene = Scene(monkeypatch, 1, (60, -9), (60, 3))
    with pytest.raises(Stop):
        scene.run()
    assert scene.served == [100.0] and scene.started[1] - scene.started[0] == pytest.approx(60, abs=1)
    assert scene.notes == ["worker 4711 ended by signal 9 after %.1f s; another one is started at once; 0 of 1 are left"
                           % 60, "worker 4711 ended with exit code 3 after 60.0 s; another one is started at once;"
                           " 0 of 1 are left"]


def test_workers_that_keep_dying_are_replaced_ever_more_slowly(monkeypatch):
    scene = Scene(monkeypatch, 1, (1, 1), *[(None, 1)] * 10, (60, 1), (None, 1), (None, 1), (None, 1))
    with pytest.raises(Stop):
        scene.run()
    pauses = [float(found.group(1)) if found else 0
              for found in (re.search("in ([0-9.]+) s", text) for text in scene.notes)]
    assert pauses == pytest.approx([0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10, 10, 0, 0.1, 0.2, 0.4])
    waited = [after - before for before, after in zip(scene.started[1:10], scene.started[2:11])]
    assert waited == pytest.approx(pauses[1:10], abs=0.01)


def test_each_place_has_a_pause_of_its_own(monkeypatch):
    """One that dies all the time does not slow down the first replacement of another."""
    scene = Scene(monkeypatch, 2, (1000, 0), *[(None, 1)] * 6, (3, 1))
    scene.script.insert(0, (3, 7))
    with pytest.raises(Stop):
        scene.run()
    assert "ended with exit code 7 after 3.0 s; another one is started at once" in "\n".join(scene.notes)
    assert "before it served; another one is started in 1.6 s; 1 of 2 are left" in "\n".join(scene.notes)


def test_workers_that_serve_and_die_at_once_never_leave_none_for_long(monkeypatch):
    """A tool that ends the process is called again and again: 40 workers die, each a moment after it has served."""
    scene = Scene(monkeypatch, 3, *[(0.01, 1)] * 40)
    with pytest.raises(Stop):
        scene.run()
    gaps = [after - before for before, after in zip(scene.started, scene.started[1:])]
    assert len(scene.started) == 40 and max(gaps) < 1.5, "nobody served for long"


def test_the_others_are_left_alone(monkeypatch):
    scene = Scene(monkeypatch, 3, (1000, 0), (60, 1), (1000, 0), (70, 0))
    with pytest.raises(Stop):
        scene.run()
    assert len(scene.started) == 4 and len(scene.notes) == 2


@pytest.mark.parametrize("code, exit", [(1, 1), (3, 3), (0, 1), (-9, 1)])
def test_a_file_at_fault_ends_everything(code, exit, monkeypatch):
    scene = Scene(monkeypatch, 1, (None, code))
    assert scene.run() == exit and scene.served == scene.notes == []


def test_who_does_not_end_is_killed(monkeypatch):
    scene = Scene(monkeypatch, 2, (1000, 0), (1000, 0))
    for place in scene.supervisor._places:
        scene.supervisor._add(place)
    first, second = [worker.process for worker in scene.supervisor.workers]
    second.told.append("stubborn")

    def wait(timeout=None):
        scene.now += timeout or 0
        if timeout is not None:
            raise subprocess.TimeoutExpired("it", timeout)

    second.wait = wait
    scene.supervisor.workers[1].grace = 2.0
    scene.supervisor.end(3)
    assert first.told == ["terminate", "kill"] and second.told == ["stubborn", "terminate", "kill"]
    assert scene.now == 105.0 and not scene.supervisor.workers
    for end in scene.ends:
        os.close(end)


# -- Processes ---------------------------------------------------------------------------------


class Run:
    """`run FILE --workers N` in a process of its own; ``url`` when it serves."""

    def __init__(self, folder, *options, app=APP, environment=None):
        self.file = folder / "app.py"
        self.file.write_text(app)
        words = [sys.executable, "-m", "mcp_ref", "run", str(self.file), "--http", "127.0.0.1:0", *options]
        self.process = subprocess.Popen(words, cwd=str(ROOT), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=self.environment(folder, environment),
                                        start_new_session=True, preexec_fn=heed_interrupts)
        self.lines = []
        self.url = ""
        self._changed = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @staticmethod
    def environment(folder, more):
        (folder / "tmp").mkdir()
        return dict(os.environ, TMPDIR=str(folder / "tmp"), **(more or {}))

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line.decode())
            if "serving on " in self.lines[-1]:
                self.url = self.lines[-1].partition("serving on ")[2].split()[0].rstrip(";")
        self._changed.set()

    def serving(self):
        eventually(lambda: self.url or self._changed.is_set())
        assert self.url, self.lines
        return self

    def over(self):
        """Wait until every process has closed standard error, which all share; the exit code."""
        assert self._changed.wait(WAIT), "somebody still lives"
        return self.process.wait(WAIT)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.over()
        finally:
            self.process.kill()
            self.process.wait()
            self._reader.join(WAIT)
            self.process.stdout.close()
            self.process.stderr.close()


def said(client, name):
    return client.call_tool(name).content[0].text


def answer(params, context):
    return {"region": "eu"}


def test_a_session_outlives_its_workers(tmp_path):
    with Run(tmp_path, "--workers", "2").serving() as run:
        seen = set()
        with connect(run.url, elicitation=answer, era="legacy") as client:
            for _ in range(3):
                assert said(client, "ask") == "eu"
                victim = int(said(client, "pid"))
                seen.add(victim)
                os.kill(victim, signal.SIGKILL)
                eventually(lambda: sum("by signal 9" in line for line in run.lines) == len(seen))
            assert client.call_tool("pid") and len(seen) == 3
        store, = (tmp_path / "tmp").rglob("sessions.db")
        assert store.stat().st_mode & 0o777 == 0o600 and store.parent.stat().st_mode & 0o777 == 0o700
        run.process.send_signal(signal.SIGTERM)
        assert run.over() == 0 and not store.parent.exists()
        assert not [line for line in run.lines if "Traceback" in line]


@pytest.mark.parametrize("environment", [{}, {"MCP_REF_STATE_KEYS": "0123456789abcdef0123456789abcdef"}])
def test_all_workers_have_the_same_keys(environment, tmp_path):
    with Run(tmp_path, "--workers", "2", environment=environment).serving() as run:
        found = set()
        for killed in (1, 2):
            with connect(run.url, era="legacy") as client:
                found.add(said(client, "keys"))
                victim = int(said(client, "pid"))
            os.kill(victim, signal.SIGKILL)
            # Until it is dead it may still accept the next connection.
            eventually(lambda: sum("by signal 9" in line for line in run.lines) == killed)
        key, = found
        assert len(key) >= 32 and key == environment.get("MCP_REF_STATE_KEYS", key)
        assert not any(key in line for line in run.lines)


def test_workers_end_when_the_parent_is_killed(tmp_path):
    with Run(tmp_path, "--workers", "2").serving() as run:
        run.process.kill()
        assert run.over() == -9
    assert not list((tmp_path / "tmp").iterdir()), "the sessions are left behind"


def test_a_worker_that_is_ready_when_its_parent_is_gone_leaves_nothing_behind(tmp_path):
    """Its parent hears nothing more, and nobody else removes the folder."""
    (tmp_path / "app.py").write_text(APP)
    folder = tmp_path / "sessions"
    folder.mkdir()
    sockets = workers.listen("127.0.0.1", 0)
    (heard, ready), (alive, held) = os.pipe(), os.pipe()
    for parents in (heard, held):
        os.close(parents)
    told = {"file": str(tmp_path / "app.py"), "name": None, "trace": None, "http": "127.0.0.1:0", "guard": {},
            "logs": {}, "grace": None, "sessions": "store:%s" % (folder / "sessions.db"), "folder": str(folder),
            "fds": [sock.fileno() for sock in sockets], "alive": alive, "ready": ready}
    worker = subprocess.Popen(
        [sys.executable, "-c", workers.child_code(workers.__name__, "work")],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[*told["fds"], alive, ready])
    said = worker.communicate(json.dumps(told).encode(), timeout=WAIT)[1]
    for mine in (ready, alive):
        os.close(mine)
    for sock in sockets:
        sock.close()
    assert (worker.returncode, said) == (0, b"") and not folder.exists()


def counted(run):
    """Ask for the metrics on a connection of its own; return the samples, by name and labels."""
    with urllib.request.urlopen(run.url.replace("/mcp", "/metrics"), timeout=WAIT) as reply:
        lines = reply.read().decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}


def test_metrics_are_those_of_all_workers(tmp_path):
    """Each reply, whichever worker sends it, has the calls of all, also of those that were killed in a call; what was
    in flight there is not."""
    app = APP + "\n@server.tool\ndef stay(ctx: Context) -> None:\n    ctx.progress(os.getpid())\n" \
        "    ctx.cancelled.wait()\n"
    calls = 'mcp_requests_total{method="tools/call",outcome="answered"}'
    with Run(tmp_path, "--workers", "2", "--metrics", "/metrics", app=app).serving() as run:
        for made in (1, 2, 3):
            with connect(run.url, era="modern") as client:
                answered = int(said(client, "pid"))
            eventually(lambda: counted(run).get(calls, 0) == made)
            with connect(run.url, era="legacy") as client:
                running = queue.Queue()
                future = client.submit_tool("stay", progress=lambda pid, *more: running.put(pid), timeout=None)
                victim = int(running.get(timeout=WAIT))
                eventually(lambda: counted(run)["mcp_requests_inflight"] == 1)
                for killed in {answered, victim}:
                    os.kill(killed, signal.SIGKILL)
                assert future.exception(WAIT)
            eventually(lambda: counted(run)["mcp_requests_inflight"] == 0)
            assert {counted(run)[calls] for _ in range(8)} == {made}
    assert not list((tmp_path / "tmp").iterdir())


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="the system has no /proc with the words of processes")
def test_a_list_of_processes_shows_the_words_of_the_command(tmp_path):
    with Run(tmp_path, "--workers", "1", "--token-env", "SECRET", environment={"SECRET": "s3cret"}).serving() as run:
        with connect(run.url, token="s3cret") as client:
            with open("/proc/%s/cmdline" % said(client, "pid"), "rb") as file:
                words = file.read().decode().split("\0")[:-1]
    assert words == [sys.executable, "-c", "exec(input())", "run", str(run.file), "--http", "127.0.0.1:0",
                     "--workers", "1", "--token-env", "SECRET"]


@pytest.mark.parametrize("number, options, limits", [
    (signal.SIGTERM, [], "shutdown_grace"), (signal.SIGINT, [], "shutdown_grace"),
    (signal.SIGTERM, ["--grace", str(WAIT)], "serve_grace = server.limits.shutdown_grace")])
def test_what_runs_is_finished_at_the_end(number, options, limits, tmp_path):
    """A terminal sends SIGINT to all processes at once, others SIGTERM to the parent."""
    app = "%s\nserver.limits.%s = 0.0\n" % (APP, limits)
    with Run(tmp_path, "--workers", "2", *options, app=app).serving() as run:
        with connect(run.url) as client:
            begun = threading.Event()
            future = client.submit_tool("hold", progress=lambda *step: begun.set())
            assert begun.wait(WAIT)
            (os.killpg if number == signal.SIGINT else os.kill)(run.process.pid, number)
            assert future.result(WAIT).content[0].text == "done"
        assert run.over() == (130 if number == signal.SIGINT else 0)
        assert not [line for line in run.lines if "Traceback" in line], run.lines


def test_an_interrupt_while_a_worker_starts_is_no_traceback(tmp_path):
    """It comes as early as Python lets anybody say something; ``MCP_REF_STATE_KEYS`` is set in workers only."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal\nif 'MCP_REF_STATE_KEYS' in os.environ: os.kill(os.getpid(), signal.SIGINT)\n")
    with Run(tmp_path, "--workers", "2", environment={"PYTHONPATH": str(tmp_path)}).serving() as run:
        with connect(run.url) as client:
            assert said(client, "pid")
    assert not [line for line in run.lines if "Traceback" in line or "exit code" in line], run.lines


def test_a_tool_that_ends_the_process_leaves_the_other_workers_serving(tmp_path):
    """11 crashes: other clients are served all the while, and each end is told."""
    app = APP + "\n@server.tool\ndef crash() -> None:\n    os._exit(3)\n"
    with Run(tmp_path, "--workers", "2", app=app).serving() as run:
        for _ in range(11):
            with pytest.raises(ConnectionLost), connect(run.url, era="modern") as attacker:
                attacker.call_tool("crash")
            with connect(run.url, era="modern") as client:
                assert int(said(client, "pid"))
        eventually(lambda: sum("with exit code 3 after" in line for line in run.lines) == 11)


def test_a_second_sigterm_kills_what_still_runs(tmp_path):
    app = APP + "\n@server.tool\ndef stuck(ctx: Context) -> None:\n    ctx.progress(1)\n    while True:\n" \
        "        __import__('time').sleep(60)\nserver.limits.serve_grace = 3600.0\n"
    with Run(tmp_path, "--workers", "1", app=app).serving() as run:
        client = connect(run.url)
        begun = threading.Event()
        future = client.submit_tool("stuck", progress=lambda *step: begun.set(), timeout=None)
        assert begun.wait(WAIT)
        run.process.send_signal(signal.SIGTERM)
        tick = threading.Event()
        while run.process.poll() is None:  # one that comes too soon counts as the same, and one more kills by itself
            tick.wait(0.05)
            run.process.send_signal(signal.SIGTERM)
        assert run.over() in (143, -15) and future.exception(WAIT) is not None
        client.close()


def test_a_file_that_does_not_run_is_said(tmp_path):
    with Run(tmp_path, "--workers", "2", app="boom()\n") as run:
        assert run.over() == 1
        assert any("app.py:1 raised NameError" in line for line in run.lines)


@pytest.mark.parametrize("options, words", [
    (["--workers", "2", "--sessions", "memory"], "--sessions memory is for one process"),
    (["--workers", "0"], "a number from 1 on"), (["--sessions", "store"], "names the file"),
    (["--sessions", "disk"], "takes memory, none or store:PATH"), (["--sessions", "none:x"], "takes memory"),
    (["--stateless", "--sessions", "memory"], "is --sessions none"), (["--grace", "nan"], "a number of seconds"),
    (["--sessions", "store:"], "takes memory"),
])
def test_options_that_do_not_go_together(options, words, tmp_path, capsys):
    file = tmp_path / "app.py"
    file.write_text(APP)
    assert here(capsys, "run", str(file), "--http", "127.0.0.1:0", *options)[0] == 2
    code, out, err = here(capsys, "run", str(file), "--http", "127.0.0.1:0", *options)
    assert (code, out) == (2, "") and words in err


@pytest.mark.parametrize("options", [["--workers", "2"], ["--sessions", "none"], ["--stateless"], ["--grace", "1"]])
def test_options_that_are_for_http(options, tmp_path, capsys):
    code, out, err = here(capsys, "run", str(tmp_path / "app.py"), *options)
    assert (code, out) == (2, "") and "for --http HOST:PORT" in err


def test_the_parent_checks_file_and_address(tmp_path, capsys):
    missing = here(capsys, "run", str(tmp_path / "no.py"), "--http", "127.0.0.1:0", "--workers", "2")
    assert missing[0] == 2 and "there is no file" in missing[2]
    (tmp_path / "app.py").write_text(APP)
    unbound = here(capsys, "run", str(tmp_path / "app.py"), "--http", "256.0.0.1:0", "--workers", "2")
    assert unbound[0] == 3


def test_one_process_with_a_named_store(tmp_path):
    path = tmp_path / "sessions.db"
    with Run(tmp_path, "--sessions", "store:%s" % path).serving() as run:
        with connect(run.url, elicitation=answer, era="legacy") as client:
            assert said(client, "ask") == "eu" and path.stat().st_mode & 0o777 == 0o600
