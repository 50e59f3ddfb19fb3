"""Tasks behind `run --workers 2` and one SQLite file, while workers are killed: none is lost, and none runs twice.

Clients of both generations begin tasks, which write a line when they begin and one when they end. What a client was
told of has to end: completed, with both lines, or failed by its lease. What no client was told of, because its worker
died first, must not be left at work either.
"""
import os
import signal
import threading
from collections import Counter

import pytest

from mcp_ref import connect
from mcp_ref.errors import McpError
from mcp_ref.server import SqliteStore
from tests.support.patience import WAIT
from tests.support.sides import eventually

from .test_workers import Run

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sockets are handed down here only")
APP = """
import os, time
from mcp_ref import Context, Limits, Server
from mcp_ref.server import SqliteStore, Tasks
from mcp_ref.ext.tasks.server import engine

engine.LEASE = engine.IDLE_SWEEP = 1.0
limits = Limits(max_tasks_per_principal=5000, max_task_requests_per_second=10000.0, max_running_tasks=8)
server = Server("app", tasks=Tasks(SqliteStore(os.environ["TASKS"]), poll=0.1), limits=limits)
effects = os.open(os.environ["EFFECTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

@server.tool(task="optional")
def work(number: int, ctx: Context) -> str:
    os.write(effects, b"begins %d %d\\n" % (number, os.getpid()))
    time.sleep(0.05)
    ctx.progress(1, 2)
    os.write(effects, b"ends %d %d\\n" % (number, os.getpid()))
    return "did %d" % number
"""
KILLS, EACH = 4, 60
ERAS = ("2025-11-25", "2026-07-28") * 2
LOST = "The process that ran the task has ended"


class Load:
    """Clients that begin tasks, each on a thread; ``told``: the number of each task that was announced -> era, id."""

    def __init__(self, url):
        self.url = url
        self.told, self.errors = {}, Counter()
        self._threads = [threading.Thread(target=self._begin, args=(place, era)) for place, era in enumerate(ERAS)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exception):
        for thread in self._threads:
            thread.join(WAIT)

    def _begin(self, place, era):
        client = None
        for number in range(place * EACH, (place + 1) * EACH):
            try:
                if client is None:
                    client = connect(self.url, era=era)
                self.told[number] = era, client.start_tool("work", {"number": number}).id
            except McpError as error:  # its worker was killed
                self.errors[type(error).__name__] += 1
                if client is not None:
                    client.close()
                client = None
        if client is not None:
            client.close()


def lines_of(path):
    """The lines that tasks have written: word, number, process."""
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.time_limit(120)
def test_no_task_is_lost_or_run_twice_when_workers_are_killed(tmp_path):
    effects, tasks = tmp_path / "effects", tmp_path / "tasks.db"
    environment = {"EFFECTS": str(effects), "TASKS": str(tasks)}
    with Run(tmp_path, "--workers", "2", app=APP, environment=environment).serving() as run:
        with Load(run.url) as load:
            killed = set()
            for number in range(1, KILLS + 1):
                eventually(lambda: len(load.told) > number * len(ERAS) * EACH / (KILLS + 2))
                eventually(lambda: int(lines_of(effects)[-1][2]) not in killed)
                victim = int(lines_of(effects)[-1][2])
                os.kill(victim, signal.SIGKILL)
                killed.add(victim)
                eventually(lambda: sum("by signal 9" in line for line in run.lines) == number)
        ended = {era: connect(run.url, era=era) for era in set(ERAS)}
        found = {}

        def is_over(number):
            era, id = load.told[number]
            found[number] = ended[era].request("tasks/get", {"taskId": id})
            return found[number]["status"] in ("completed", "failed")

        for number in sorted(load.told):
            eventually(lambda: is_over(number))
        results = {number: ended[era].task(id).result().text for number, (era, id) in load.told.items()
                   if found[number]["status"] == "completed"}
        for client in ended.values():
            client.close()
        store = SqliteStore(str(tasks))
        eventually(lambda: {each.status for each in store.list("", 0, 1000)} <= {"completed", "failed"})
        store.close()
    assert len(killed) == KILLS and len(load.told) + sum(load.errors.values()) == len(ERAS) * EACH
    assert len(load.told) > 0.8 * len(ERAS) * EACH
    times = Counter((word, int(number)) for word, number, process in lines_of(effects))
    assert set(times.values()) == {1}, "a task ran twice"
    for number, task in found.items():
        if task["status"] == "completed":
            assert results[number] == "did %d" % number and times["ends", number] == 1
        else:
            assert task["statusMessage"] == LOST
