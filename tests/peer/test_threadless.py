"""Where no threads can be started: the steps of `tests.support.threadless`, and what tells that from a busy system."""
import threading

import pytest

from mcp_ref import Server, threads
from mcp_ref.errors import NoThreads
from mcp_ref.limits import DEFAULT
from mcp_ref.peer.executors import Workers
from mcp_ref.peer.sender import Sender
from mcp_ref.server import Inline, SqliteStore
from mcp_ref.transports.memory import pair
from tests.support.threadless import STEPS


def refuse(thread: threading.Thread) -> None:
    """What Pyodide does."""
    raise RuntimeError("can't start new thread")


@pytest.fixture()
def fresh(monkeypatch):
    """A process that has not started a thread yet."""
    monkeypatch.setattr(threads, "_started", False)


@pytest.fixture()
def refused(monkeypatch):
    """A function after which no thread can be started, or each as the function that it is given does it."""
    return lambda start=refuse: monkeypatch.setattr(threading.Thread, "start", start)


@pytest.fixture()
def threadless(fresh, refused):
    """A process that can start no thread, and never has."""
    refused()


@pytest.mark.parametrize("step", STEPS)
def test_it_does_what_can_be_done_on_one_thread(step, threadless):
    STEPS[step]()


def test_sessions_that_processes_share_are_refused_at_once(threadless, tmp_path):
    with pytest.raises(NoThreads, match="a Store of sessions, unlike sessions='memory', needs threads"):
        Server("demo").wsgi(sessions=SqliteStore(str(tmp_path / "sessions")))


def test_threads_that_ran_out_are_no_lack_of_them(refused):
    assert threads.available()
    refused()
    assert threads.available()
    with pytest.raises(RuntimeError, match="can't start new thread") as raised:
        threads.start_thread("one-more", print)
    assert not isinstance(raised.value, NoThreads)


def test_finding_out_starts_one_thread_at_most(fresh, refused):
    begun = []
    start = threading.Thread.start
    refused(lambda thread: (begun.append(thread.name), start(thread))[1])
    assert threads.available() and threads.available()
    assert begun == ["mcp-ref:probe"]


def test_starting_a_thread_finds_out(fresh, refused):
    threads.start_thread("first", print).join()
    refused()
    assert threads.available()


def test_a_process_without_threads_says_so_again_and_again(threadless):
    for _ in range(2):
        with pytest.raises(NoThreads, match="^first needs threads, and no thread can be started here"):
            threads.start_thread("first", print)


def test_the_default_executor_is_workers_where_there_are_threads():
    assert isinstance(Sender(pair()[0], "server", DEFAULT, None, True).executor, Workers)


def test_the_default_executor_is_inline_where_there_are_none(threadless):
    assert isinstance(Sender(pair()[0], "server", DEFAULT, None, True).executor, Inline)
