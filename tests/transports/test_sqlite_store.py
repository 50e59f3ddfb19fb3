"""The store in a file: records, letters, processes that write at once, forks, and files that are something else."""
import os
import sqlite3
import subprocess
import sys

import pytest

from mcp_ref.transports import sqlite_store
from mcp_ref.transports.sqlite_store import SqliteStore
from mcp_ref.transports.store import IN, OUT, Letter

BUSY = """
import sys
from mcp_ref.transports.sqlite_store import SqliteStore
path, name = sys.argv[1:]
store = SqliteStore(path)
print("ready", flush=True)
sys.stdin.readline()
for number in range(60):
    store.update("session", {"%s %d" % (name, number): number})
    store.send("session", "in", name, b"x", 1000, 1000)
    store.create("%s %d" % (name, number), {}, 100, 1000)
    print(store.number(), flush=True)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "sessions.db"


@pytest.fixture
def store(path):
    made = SqliteStore(path)
    yield made
    made.close()


# -- Records -----------------------------------------------------------------------------------


def test_a_record(store):
    assert store.read("a", 100) is None and not store.update("a", {"x": 1}) and not store.remove("a")
    assert store.create("a", {"x": 1, "y": [2]}, 10, 100)
    version, values = store.read("a", 100)
    assert values == {"x": 1, "y": [2]}
    assert store.update("a", {"x": None, "z": "3"})
    later, values = store.read("a", 100)
    assert later != version and values == {"y": [2], "z": "3"} and store.count() == 1
    store.send("a", OUT, "s", b"x", 10, 10)
    assert store.remove("a") and store.read("a", 100) is None and store.news(0) == []


def test_use_is_written_down_as_often_as_matters(store, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(sqlite_store.time, "time", lambda: now[0])
    store.create("a", {}, 1, 100)
    version = store.read("a", 100)[0]
    for step in (4.0, 6.0, 99.0, 99.0):
        now[0] += step
        assert store.read("a", 100)[0] == version
    now[0] += 100.0
    assert store.read("a", 100) is None and store.count() == 1
    assert store.sweep(100) == 1 and store.count() == 0


def test_what_nobody_uses_makes_room(store, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(sqlite_store.time, "time", lambda: now[0])
    assert store.create("a", {}, 1, 100) and not store.create("b", {}, 1, 100)
    now[0] += 100
    assert store.create("b", {}, 1, 100) and store.read("a", 100) is None


# -- Letters -----------------------------------------------------------------------------------


def test_letters(store):
    store.send("a", IN, "one", b"1", 9, 9)
    store.send("b", OUT, "two", b"\x00\xff", 9, 9)
    letters = store.news(0)
    first, second = [letter.number for letter in letters]
    assert letters == [Letter(first, "a", IN, "one"), Letter(second, "b", OUT, "two")] and first < second
    assert store.news(first) == letters[1:] == store.waiting("b") and store.waiting("a") == []
    assert store.take(second) == b"\x00\xff" and store.take(second) is None and store.news(first) == []
    store.send("a", IN, "three", b"", 9, 9)
    assert store.news(second)[0].number > second, "a number that was used before"


def test_letters_are_bounded_by_number_and_bytes(store):
    for number in range(6):
        store.send("a", OUT, str(number), b"xx", 4, 100)
        store.send("b", OUT, str(number), b"xx", 100, 5)
    assert [letter.subject for letter in store.waiting("a")] == ["2", "3", "4", "5"]
    assert [letter.subject for letter in store.waiting("b")] == ["4", "5"]
    store.send("b", OUT, "large", b"x" * 50, 100, 5)
    assert [letter.subject for letter in store.waiting("b")] == ["large"], "the newest is kept, however large"


def test_letters_that_nobody_takes_go_unless_they_wait_for_a_stream(store, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(sqlite_store.time, "time", lambda: now[0])
    store.create("a", {}, 9, 1000)
    for box in (IN, OUT):
        store.send("a", box, box, b"", 9, 9)
        store.send("gone", box, box, b"", 9, 9)
    now[0] += sqlite_store.LETTER_SECONDS
    assert store.sweep(1000) == 0
    assert [letter[1:3] for letter in store.news(0)] == [("a", OUT)]


# -- Processes ---------------------------------------------------------------------------------


def test_processes_that_write_at_once_lose_nothing(path, store):
    store.create("session", {}, 9, 1000)
    seen = store.version()
    children = [subprocess.Popen([sys.executable, "-c", BUSY, str(path), name], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, cwd=os.getcwd()) for name in "abcd"]
    try:
        for child in children:
            assert child.stdout.readline() == b"ready\n"
        said = []
        for child in children:
            child.stdin.write(b"\n")
            child.stdin.flush()
        for child in children:
            said += child.communicate(timeout=60)[0].split()
            assert child.returncode == 0
    finally:
        for child in children:
            child.kill()
            child.communicate()
    assert store.version() != seen
    version, values = store.read("session", 1000)
    assert len(values) == 240 and version == 241
    assert len(store.news(0)) == 240 and len(set(said)) == 240
    assert store.count() == 100, "more than the cap"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_opens_a_connection_of_its_own(store):
    store.create("a", {}, 9, 1000)
    seen = store.version()
    mine = store._opened[os.getpid()].database
    child = os.fork()
    if not child:
        code = 1
        try:
            assert store.update("a", {"child": True})
            assert store._opened[os.getpid()].database is not mine
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert store.version() != seen and store.read("a", 1000)[1] == {"child": True}
    assert store.update("a", {"parent": True})


def test_a_store_opens_again_after_it_was_closed(store):
    store.create("a", {}, 9, 1000)
    store.close()
    store.close()
    assert store.count() == 1


# -- The file ----------------------------------------------------------------------------------


def test_only_its_owner_reads_the_file(path, store):
    store.create("a", {}, 9, 1000)
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o606])
def test_a_file_that_others_read_is_refused(path, mode):
    path.touch()
    path.chmod(mode)
    with pytest.raises(ValueError, match="chmod 600"):
        SqliteStore(path)


@pytest.mark.parametrize("content, words", [
    (b"no database, and long enough to show it\n" * 50, "is no store"), (5, "format 5")])
def test_a_file_that_is_something_else_is_refused(path, content, words):
    if isinstance(content, int):
        with sqlite3.connect(str(path)) as database:
            database.execute("PRAGMA user_version = %d" % content)
        database.close()
    else:
        path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(ValueError, match=words):
        SqliteStore(path)


def test_a_link_and_a_missing_folder_are_refused(path):
    path.symlink_to(path.parent / "elsewhere")
    with pytest.raises(OSError):
        SqliteStore(path)
    with pytest.raises(OSError):
        SqliteStore(path.parent / "missing" / "sessions.db")
    assert not (path.parent / "elsewhere").exists()


def test_a_python_without_sqlite_says_so(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlite3", None)
    with pytest.raises(ImportError, match="built without sqlite3"):
        SqliteStore(path)
