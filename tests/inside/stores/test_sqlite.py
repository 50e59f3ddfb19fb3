"""The store in a file: records, letters, processes that write at once, forks, and files that are something else."""
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from mcp_ref import sqlitefile
from mcp_ref.ext.stores import sqlite
from mcp_ref.server import SqliteStore
from mcp_ref.stores import FULL, IN, NOTES, OUT, SENT, UNWANTED, Letter, Room, StoredEvent, StoredRecord
from tests.support.patience import WAIT
from tests.support.sides import Gate, in_thread

BUSY = """
import sys
from mcp_ref.server import SqliteStore
from mcp_ref.stores import Room
path, name = sys.argv[1:]
store = SqliteStore(path)
print("ready", flush=True)
sys.stdin.readline()
for number in range(60):
    store.update_session("session", {"%s %d" % (name, number): number})
    store.send("session", "notes", name, b"x", Room(1000, 1 << 20, 1 << 20))
    store.create_session("%s %d" % (name, number), {}, 100, 1000)
    print(store.number(), flush=True)
"""


WIDE = Room(100, 1 << 20, 1 << 20)
SIZE = sqlite._OVERHEAD + 1


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
    assert store.read_session("a", 100) is None and not store.update_session("a", {"x": 1})
    assert not store.remove_session("a")
    assert store.create_session("a", {"x": 1, "y": [2]}, 10, 100)
    assert store.read_session("a", 100) == StoredRecord(1, {"x": 1, "y": [2]}, True)
    assert store.update_session("a", {"x": None, "z": "3"}) == 2
    assert store.read_session("a", 100, 1) == StoredRecord(2, {"x": None, "z": "3"}, False)
    assert store.read_session("a", 100, 2) == StoredRecord(2, {}, False)
    assert store.read_session("a", 100) == StoredRecord(2, {"x": None, "y": [2], "z": "3"}, True)
    assert store.count_sessions() == 1
    assert store.update_session("a", {"x": None, "y": [2], "none": None}) == 2, "nothing has changed"
    assert store.update_session("a", {"x": 4}) == 3
    assert store.read_session("a", 100, 2) == StoredRecord(3, {"x": 4}, False)
    store.send("a", OUT, "s", b"x", WIDE)
    store.expect("a", 1)
    assert store.remove_session("a") and store.read_session("a", 100) is None and store.news(0) == []
    assert store.send("a", IN, "s", b"x", WIDE, 1) == UNWANTED and rows(store, "entries") == 0


def rows(store, table):
    with store._reading() as database:
        return database.execute("SELECT count(*) FROM %s" % table).fetchone()[0]


def test_what_was_taken_out_is_told_and_at_last_forgotten(store, monkeypatch):
    monkeypatch.setattr(sqlite, "_MOST_GONE", 3)
    store.create_session("a", {"kept": 0}, 9, 100)
    store.update_session("a", {str(number): number for number in range(5)})
    for number in range(3):
        store.update_session("a", {str(number): None})
    assert store.read_session("a", 100, 2) == StoredRecord(5, {"0": None, "1": None, "2": None}, False)
    assert store.update_session("a", {"0": "again"}) == 6 and store.update_session("a", {"3": None}) == 7
    assert rows(store, "entries") == 6
    assert store.update_session("a", {"4": None}) == 8 and rows(store, "entries") == 2
    all_of_it = StoredRecord(8, {"kept": 0, "0": "again"}, True)
    assert store.read_session("a", 100, 7) == all_of_it, "who has not heard reads all of it"
    assert store.update_session("a", {"x": 1}) == 9
    assert store.read_session("a", 100, 8) == StoredRecord(9, {"x": 1}, False)


def test_use_is_written_down_as_often_as_matters(store, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(sqlite, "_clock", lambda: now[0])
    store.create_session("a", {}, 1, 100)
    version = store.read_session("a", 100).version
    for step in (4.0, 6.0, 99.0, 99.0):
        now[0] += step
        assert store.read_session("a", 100).version == version
    now[0] += 100.0
    assert store.read_session("a", 100) is None and store.count_sessions() == 1
    assert store.sweep_sessions(100) == 1 and store.count_sessions() == 0


def test_what_nobody_uses_makes_room(store, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(sqlite, "_clock", lambda: now[0])
    assert store.create_session("a", {}, 1, 100) and not store.create_session("b", {}, 1, 100)
    now[0] += 100
    assert store.create_session("b", {}, 1, 100) and store.read_session("a", 100) is None


# -- Letters -----------------------------------------------------------------------------------


def test_letters(store):
    assert store.send("a", NOTES, "one", b"1", WIDE) == SENT
    store.send("b", OUT, "two", b"\x00\xff", WIDE)
    letters = store.news(0)
    first, second = [letter.number for letter in letters]
    assert letters == [Letter(first, "a", NOTES, "one"), Letter(second, "b", OUT, "two")] and first < second
    assert store.news(first) == letters[1:] == store.waiting("b") and store.waiting("a") == []
    assert store.take(second) == b"\x00\xff" and store.take(second) is None and store.news(first) == []
    store.send("a", NOTES, "three", b"", WIDE)
    assert store.news(second)[0].number > second, "a number that was used before"


def test_letters_are_bounded_by_number_and_bytes(store):
    for number in range(6):
        store.send("a", OUT, str(number), b"", Room(4, 100 * SIZE, 1 << 20, newest=True))
        store.send("b", OUT, str(number), b"", Room(100, 2 * SIZE, 1 << 20, newest=True))
    assert [letter.subject for letter in store.waiting("a")] == ["2", "3", "4", "5"]
    assert [letter.subject for letter in store.waiting("b")] == ["4", "5"]
    store.send("b", OUT, "large", b"x" * 5000, Room(100, 2 * SIZE, 1 << 20, newest=True))
    assert [letter.subject for letter in store.waiting("b")] == ["large"], "the newest is kept, however large"


@pytest.mark.parametrize("room", [Room(3, 100 * SIZE, 1 << 20), Room(100, 3 * SIZE, 1 << 20)])
def test_where_the_newest_does_not_push_out_others_it_is_refused(room, store):
    became = [store.send("a", NOTES, str(number), b"", room) for number in range(5)]
    assert became == [SENT] * 3 + [FULL] * 2 and store.send("b", NOTES, "0", b"", room) == SENT
    store.take(store.news(0)[0].number)
    assert store.send("a", NOTES, "5", b"", room) == SENT
    assert store.send("c", NOTES, "large", b"x" * 5000, room) == SENT, "one alone always fits"


def test_all_sessions_together_have_a_bound(store):
    room = Room(100, 100 * SIZE, 3 * SIZE)
    assert [store.send(id, NOTES, "1", b"", room) for id in "abcde"] == [SENT] * 3 + [FULL] * 2
    assert store.send("e", OUT, "1", b"", room) == SENT, "each box has its own"
    store.create_session("a", {}, 9, 100)
    assert store.remove_session("a") and store.send("d", NOTES, "1", b"", room) == SENT
    for letter in store.news(0):
        store.take(letter.number)
    assert store.send("d", NOTES, "large", b"x" * 5000, room) == SENT, "one alone always fits"


def test_an_answer_is_kept_once_and_only_if_somebody_waits_for_it(store):
    store.create_session("a", {}, 9, 100)
    store.create_session("b", {}, 9, 100)
    seen = rows(store, "letters"), store.version()
    for question in (7, 0, -1, 1 << 63, 1 << 200):
        assert store.send("a", IN, "x", b"bogus", WIDE, question) == UNWANTED
    store.expect("a", 7)
    store.expect("a", 7)
    assert store.send("b", IN, "x", b"of another session", WIDE, 7) == UNWANTED
    assert store.send("a", NOTES, "x", b"progress", WIDE, 7) == SENT
    assert store.send("a", IN, "x", b"answer", Room(0, 0, 0), 7) == SENT
    assert store.send("a", IN, "x", b"again", WIDE, 7) == store.send("a", NOTES, "x", b"late", WIDE, 7) == UNWANTED
    store.expect("a", 8)
    store.forget("a", 8)
    assert store.send("a", IN, "x", b"too late", WIDE, 8) == UNWANTED
    assert [store.take(letter.number) for letter in store.news(0)] == [b"progress", b"answer"] and seen[0] == 0
    store.expect("nobody", 9)
    assert rows(store, "questions") == 0


def test_letters_that_nobody_takes_go_unless_they_wait_for_a_stream(store, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(sqlite, "_clock", lambda: now[0])
    store.create_session("a", {}, 9, 1000)
    for box in (IN, NOTES, OUT):
        store.send("a", box, box, b"", WIDE)
        store.send("gone", box, box, b"", WIDE)
    now[0] += sqlite.LETTER_SECONDS
    assert store.sweep_sessions(1000) == 0
    assert [letter[1:3] for letter in store.news(0)] == [("a", OUT)]


# -- Events ------------------------------------------------------------------------------------


def event(place, data=b"", stream=1, kind="p", final=False):
    return StoredEvent(kind, stream, place, data, final, "7")


def test_events(store):
    assert store.keep("a", event(0), WIDE, 10) == UNWANTED, "there is no session"
    store.create_session("a", {}, 9, 100)
    store.create_session("b", {}, 9, 100)
    events = [event(0), event(1, b"\x00\xff"), event(4, b"x", final=True)]
    assert [store.keep("a", each, WIDE, 10) for each in events] == [SENT] * 3
    assert store.keep("a", event(0, b"g", kind="g"), WIDE, 10) == store.keep("b", event(0), WIDE, 10) == SENT
    assert store.keep("a", event(0, b"other", 2), WIDE, 10) == SENT
    assert [store.keep("a", event(place), WIDE, 10) for place in (4, 2, 0)] == [UNWANTED] * 3
    assert store.kept("a", "p", 1, 0) == events and store.kept("a", "p", 1, 2) == events[2:]
    assert store.kept("a", "p", 1, 5) == store.kept("c", "p", 1, 0) == store.kept("a", "p", 3, 0) == []
    assert not store.unkeep("a", "p", 1, 1) and not store.unkeep("a", "p", 1, 5) and store.unkeep("a", "p", 1, 4)
    assert store.kept("a", "p", 1, 0) == events[:2] and store.keep("a", event(4), WIDE, 10) == SENT
    assert store.remove_session("a") and store.kept("a", "p", 1, 0) == [] and rows(store, "events") == 1


def test_events_are_bounded(store):
    store.create_session("a", {}, 9, 100)
    store.create_session("b", {}, 9, 100)
    size = SIZE + 1  # the data, or the id of the request
    for room in (Room(3, 1 << 20, 1 << 20), Room(99, 3 * size, 1 << 20), Room(99, 1 << 20, 3 * size)):
        for place in range(5):
            assert store.keep("a", event(place, b"x"), room, 10) == SENT
        assert [each.place for each in store.kept("a", "p", 1, 0)] == [2, 3, 4]
        assert store.keep("a", event(5, b"x" * 5000), room, 10) == SENT
        found = [each.place for each in store.kept("a", "p", 1, 0)]
        assert found == ([3, 4, 5] if room.letters == 3 else [5]), "the newest is kept, however large"
        store.remove_session("a")
        store.create_session("a", {}, 9, 100)
    small = Room(99, 1 << 20, 2 * size)
    assert [store.keep("a", event(place, b"x"), small, 10) for place in (0, 1)] == [SENT, SENT]
    assert store.keep("b", event(0, b"x"), small, 10) == FULL and store.kept("b", "p", 1, 0) == []
    assert store.unkeep("a", "p", 1, 1) and store.keep("b", event(0, b"x"), small, 10) == SENT


def test_events_go_with_time(store, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(sqlite, "_clock", lambda: now[0])
    store.create_session("a", {}, 9, 1000)
    store.keep("a", event(0), WIDE, 10)
    store.keep("a", event(1), WIDE, 20)
    for step, places in ((9, [0, 1]), (1, [1]), (9, [1]), (1, [])):
        now[0] += step
        assert [each.place for each in store.kept("a", "p", 1, 0)] == places
    assert rows(store, "events") == 2 and store.sweep_sessions(1000) == 0 and rows(store, "events") == 0


# -- Processes ---------------------------------------------------------------------------------


def test_processes_that_write_at_once_lose_nothing(path, store):
    store.create_session("session", {}, 9, 1000)
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
    version, values, _ = store.read_session("session", 1000)
    assert len(values) == 240 and version == 241
    assert len(store.news(0)) == 240 and len(set(said)) == 240
    assert store.count_sessions() == 100, "more than the cap"


def test_a_second_store_in_this_process_leaves_the_locks_of_the_first(path, store):
    """The system releases them when any descriptor of the file is closed; then another process takes itself for the
    last one, and removes what this one reads."""
    store.create_session("a", {"x": 1}, 9, 1000)
    SqliteStore(path).close()
    program = "from mcp_ref.ext.stores.sqlite import SqliteStore; SqliteStore(%r).update_session('a', {'x': 2})"
    subprocess.run([sys.executable, "-c", program % str(path)], check=True, cwd=os.getcwd(), timeout=WAIT)
    assert os.path.exists(str(path) + "-wal") and store.read_session("a", 1000).values == {"x": 2}


def test_a_writer_that_waits_for_another_process_keeps_no_reader_waiting(store, monkeypatch):
    store.create_session("a", {"x": 1}, 9, 1000)
    assert store.count_sessions() == 1
    begin = sqlitefile.transaction

    @contextmanager
    def waiting(*arguments):
        gate.hold()
        with begin(*arguments):
            yield

    with Gate() as gate:
        monkeypatch.setattr(sqlitefile, "transaction", waiting)
        writer = in_thread(store.update_session, "a", {"x": 2})
        gate.entered()
        assert in_thread(store.read_session, "a", 1000).get().values == {"x": 1}
        gate.open()
        assert writer.get() == 2 and store.read_session("a", 1000).values == {"x": 2}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_opens_a_connection_of_its_own(store):
    store.create_session("a", {}, 9, 1000)
    seen = store.version()
    mine = store._opened[os.getpid(), True].database
    child = os.fork()
    if not child:
        code = 1
        try:
            assert store.update_session("a", {"child": True})
            assert store._opened[os.getpid(), True].database is not mine
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert store.version() != seen and store.read_session("a", 1000).values == {"child": True}
    assert store.update_session("a", {"parent": True})


def test_a_store_opens_again_after_it_was_closed(store):
    store.create_session("a", {}, 9, 1000)
    store.close()
    store.close()
    assert store.count_sessions() == 1


# -- The file ----------------------------------------------------------------------------------


def test_only_its_owner_reads_the_file(path, store):
    store.create_session("a", {}, 9, 1000)
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o606])
def test_a_file_that_others_read_is_refused(path, mode):
    path.touch()
    path.chmod(mode)
    with pytest.raises(ValueError, match="chmod 600"):
        SqliteStore(path)


def test_a_file_of_another_user_is_refused(path, monkeypatch):
    path.touch()
    path.chmod(0o600)
    mine = os.geteuid()
    path.parent.chmod(0o700)
    monkeypatch.setattr(sqlitefile, "_check_folder", lambda folder: None)
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    with pytest.raises(ValueError, match="%s belongs to another user" % path.name):
        SqliteStore(path)


def test_a_folder_of_another_user_is_refused(path, monkeypatch):
    mine = os.geteuid()
    if not mine:
        os.chown(str(path.parent), 4711, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    with pytest.raises(ValueError, match="folder .* belongs to another user"):
        SqliteStore(path)
    assert not path.exists()


@pytest.mark.parametrize("mode, refused", [
    (0o777, True), (0o1777, True), (0o703, True), (0o770, False), (0o755, False)])
def test_a_folder_where_anybody_writes_is_refused(mode, refused, path):
    path.parent.chmod(mode)
    if refused:
        with pytest.raises(ValueError, match="anybody may write in the folder"):
            SqliteStore(path)
        assert not path.exists()
    else:
        SqliteStore(path).close()


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("kind", ["link", "mode"])
def test_what_lies_beside_the_file_is_looked_at_too(end, kind, path):
    beside = path.parent / (path.name + end)
    if kind == "link":
        beside.symlink_to(path.parent / "elsewhere")
    else:
        beside.touch()
        beside.chmod(0o644)
    with pytest.raises(ValueError, match="no link" if kind == "link" else "chmod 600"):
        SqliteStore(path)
    assert not (path.parent / "elsewhere").exists()


def test_a_file_that_changes_hands_later_is_refused_then(path, store):
    store.close()
    path.chmod(0o644)
    with pytest.raises(ValueError, match="chmod 600"):
        store.count_sessions()


def made_by(path, *statements):
    """A database of somebody else's."""
    database = sqlite3.connect(str(path))
    for statement in statements:
        database.execute(statement)
    database.commit()
    database.close()
    path.chmod(0o600)


FORMAT_1 = (
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, version INTEGER NOT NULL, used REAL NOT NULL, record TEXT NOT NULL)"
    " WITHOUT ROWID", "CREATE INDEX sessions_used ON sessions (used)",
    "CREATE TABLE letters (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, box TEXT NOT NULL,"
    " subject TEXT NOT NULL, at REAL NOT NULL, content BLOB NOT NULL)", "CREATE INDEX letters_id ON letters (id, box)",
    "CREATE TABLE numbers (number INTEGER PRIMARY KEY AUTOINCREMENT)", "INSERT INTO numbers DEFAULT VALUES",
    "INSERT INTO sessions VALUES ('a', 1, 0, '{}')", "PRAGMA user_version = 1")


def test_a_file_of_version_0_5_0_is_made_new_and_its_sessions_end(path, caplog):
    made_by(path, *FORMAT_1)
    store = SqliteStore(path)
    assert store.count_sessions() == 0 and store.create_session("b", {"x": 1}, 9, 100)
    assert store.read_session("b", 100).values == {"x": 1}
    assert "the 1 sessions in it have ended" in caplog.text and "(format 1)" in caplog.text
    store.close()
    caplog.clear()
    again = SqliteStore(path)
    assert again.count_sessions() == 1 and not caplog.records
    again.close()


def test_a_file_without_events_is_made_new_and_its_sessions_end(path, caplog):
    made_by(path, "CREATE TABLE sessions (id TEXT PRIMARY KEY, version INTEGER NOT NULL, base INTEGER NOT NULL,"
            " gone INTEGER NOT NULL, used REAL NOT NULL) WITHOUT ROWID", "CREATE TABLE numbers (number INTEGER PRIMARY"
            " KEY AUTOINCREMENT)", "CREATE TABLE entries (id)", "INSERT INTO sessions VALUES ('a', 1, 0, 0, 0)",
            "INSERT INTO numbers DEFAULT VALUES", "PRAGMA application_id = %d" % sqlite.APPLICATION,
            "PRAGMA user_version = 2")
    store = SqliteStore(path)
    assert "(format 2)" in caplog.text and "the 1 sessions in it have ended" in caplog.text
    assert store.count_sessions() == 0 and store.create_session("b", {}, 9, 100)
    assert store.keep("b", event(0), WIDE, 10) == SENT
    store.close()


@pytest.mark.parametrize("content, words", [
    ((b"no database, and long enough to show it\n" * 50,), "is no store"),
    (("PRAGMA user_version = 5",), "another database"),
    (("CREATE TABLE sessions (id TEXT, mine TEXT)", "INSERT INTO sessions VALUES ('a', 'b')"), "another database"),
    (("CREATE TABLE sessions (id TEXT, mine TEXT)", "PRAGMA user_version = 1"), "another database"),
    ((*FORMAT_1, "CREATE TABLE mine (x)"), "another database"),
    (("PRAGMA application_id = 7",), "another database"),
    (("PRAGMA application_id = %d" % sqlite.APPLICATION, "PRAGMA user_version = 99"), "format 99, of a later"),
])
def test_a_file_that_is_something_else_is_refused_and_left_as_it_is(path, content, words):
    if isinstance(content[0], bytes):
        path.write_bytes(content[0])
        path.chmod(0o600)
    else:
        made_by(path, *content)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=words):
        SqliteStore(path)
    assert path.read_bytes() == before


# -- Time --------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [(-1e6, 1e6), (1e6, -1e6), (1e9,), (-1e9,)])
def test_steps_of_the_wall_clock_neither_end_sessions_nor_keep_them(steps, store, monkeypatch):
    wall, real = [time.time()], [1000.0]
    monkeypatch.setattr(time, "time", lambda: wall[0])
    monkeypatch.setattr(sqlite, "_clock", lambda: real[0])
    store.create_session("a", {}, 1, 100)
    store.send("a", NOTES, "x", b"", WIDE)
    for step in steps:
        wall[0] += step
        assert store.sweep_sessions(100) == 0 and store.read_session("a", 100) and len(store.news(0)) == 1
        assert not store.create_session("b", {}, 1, 100)
    real[0] += 100
    for step in steps:
        wall[0] += step
        assert store.read_session("a", 100) is None
    assert store.sweep_sessions(100) == 1 and store.news(0) == []


@pytest.mark.parametrize("boots", [("one", "two"), ("", "")])
@pytest.mark.parametrize("used", [50.0, 5000.0])
def test_after_a_start_of_the_machine_sessions_count_as_used_then(boots, used, path, monkeypatch):
    """The monotonic clock begins anew. Where nothing tells of a start, a use in the future does, but no other one."""
    now, boot = [used], [boots[0]]
    monkeypatch.setattr(sqlite, "_clock", lambda: now[0])
    monkeypatch.setattr(sqlite, "boot", lambda: boot[0])
    store = SqliteStore(path)
    store.create_session("a", {}, 9, 100)
    store.send("a", OUT, "x", b"", WIDE)
    store.keep("a", event(0), WIDE, 100)
    store.close()
    now[0], boot[0] = 1000.0, boots[1]
    again = SqliteStore(path)
    assert len(again.kept("a", "p", 1, 0)) == (bool(boots[0]) or used > 1000)
    known = bool(boots[0]) or used > 1000
    assert (again.read_session("a", 100) is not None) == known
    now[0] += 99
    assert (again.read_session("a", 100) is not None) == known
    again.close()


def test_this_system_tells_which_start_it_is():
    assert sqlite.boot() == sqlite.boot()
    assert bool(sqlite.boot()) == sys.platform.startswith("linux")


def test_a_link_and_a_missing_folder_are_refused(path):
    path.symlink_to(path.parent / "elsewhere")
    with pytest.raises(ValueError, match="must be a file, and no link"):
        SqliteStore(path)
    with pytest.raises(OSError):
        SqliteStore(path.parent / "missing" / "sessions.db")
    assert not (path.parent / "elsewhere").exists()


def test_a_python_without_sqlite_says_so(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlite3", None)
    with pytest.raises(ImportError, match="built without sqlite3"):
        SqliteStore(path)
