"""Stores: what is kept, who may see it, and several at a time."""
import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Callable, List

import pytest

from mcp_ref.auth.client.store import FileStore, MemoryStore, TokenStore
from mcp_ref.errors import AuthError
from tests.support.patience import WAIT

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="modes of files")


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> TokenStore:
    return MemoryStore() if request.param == "memory" else FileStore(tmp_path / "deep" / "er" / "tokens.json")


def nothing(seconds: float) -> None:
    raise AssertionError("somebody else holds the lock")


def test_records_are_kept_by_kind_and_key(store: TokenStore) -> None:
    assert store.get("token", "a") is None
    store.delete("token", "a")
    store.set("token", "a", {"x": 1})
    store.set("token", "b", {"x": [None, "é", 2.5]})
    store.set("client", "a", {"y": 2})
    store.set("token", "a", {"z": 3})
    assert (store.get("token", "a"), store.get("token", "b")) == ({"z": 3}, {"x": [None, "é", 2.5]})
    store.delete("token", "a")
    assert (store.get("token", "a"), store.get("client", "a")) == (None, {"y": 2})


def test_what_comes_out_is_a_copy(store: TokenStore) -> None:
    store.set("token", "a", {"x": 1})
    got = store.get("token", "a")
    assert got is not None
    got["x"] = 2
    assert store.get("token", "a") == {"x": 1}


def test_one_after_another_is_exclusive(store: TokenStore) -> None:
    for _ in range(2):
        with store.exclusive(nothing):
            store.set("token", "a", {})
            assert store.get("token", "a") == {}


def test_who_renews_is_waited_for(store: TokenStore) -> None:
    inside, pauses = threading.Event(), []
    go = threading.Event()

    def hold() -> None:
        with store.exclusive(nothing):
            inside.set()
            assert go.wait(WAIT)

    holder = threading.Thread(target=hold)
    holder.start()
    assert inside.wait(WAIT)

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        go.set()
        holder.join(WAIT)

    with store.exclusive(pause):
        assert len(pauses) == 1
    with store.exclusive(nothing), pytest.raises(KeyError):
        with store.exclusive({}.__getitem__):
            pass


def test_no_store_shows_its_content(store: TokenStore) -> None:
    store.set("token", "a", {"access_token": "at-secret"})
    assert "at-secret" not in repr(store) and "at-secret" not in str(vars(store).get("path"))


# --- the file

def test_another_program_finds_what_was_kept(tmp_path: Path) -> None:
    FileStore(str(tmp_path / "t")).set("token", "a", {"x": 1})
    assert FileStore(tmp_path / "t").get("token", "a") == {"x": 1}
    assert json.loads((tmp_path / "t").read_text()) == {"version": 1, "records": {"token": {"a": {"x": 1}}}}


@POSIX
def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        store = FileStore(tmp_path / "folder" / "t")
        store.set("token", "a", {})
        with store.exclusive(nothing):
            pass
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "folder").iterdir()}
    assert modes == {"t": 0o600, "t.lock": 0o600, "t.refresh": 0o600}


@POSIX
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o601])
def test_a_file_that_others_may_see_is_not_used(tmp_path: Path, mode: int) -> None:
    store = FileStore(tmp_path / "t")
    store.set("token", "a", {})
    (tmp_path / "t").chmod(mode)
    for act in (lambda: store.get("token", "a"), lambda: store.set("token", "a", {}),
                lambda: store.delete("token", "a")):
        with pytest.raises(AuthError, match="can be seen by others.*600"):
            act()


@pytest.mark.parametrize("text", [
    "", "{", "[]", "null", '{"version": 2, "records": {}}', '{"version": 1}',
    '{"version": 1, "records": {"token": []}}',
    '{"version": 1, "records": []}', "\x00", '{"version": 1, "records": {}} x',
])
def test_a_broken_file_is_reported_and_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t"
    path.write_text(text)
    path.chmod(0o600)
    store = FileStore(path)
    for act in (lambda: store.get("token", "a"), lambda: store.set("token", "a", {}),
                lambda: store.delete("token", "a")):
        with pytest.raises(AuthError, match="cannot be understood: move it away"):
            act()
    assert path.read_text() == text


def test_a_record_that_is_no_object_is_none(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text('{"version": 1, "records": {"token": {"a": 3}}}')
    path.chmod(0o600)
    assert FileStore(path).get("token", "a") is None


def test_a_place_where_nothing_can_be_kept_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = FileStore(tmp_path / "file" / "t")
    with pytest.raises(AuthError, match="cannot be (kept|read)"):
        store.set("token", "a", {})
    (tmp_path / "folder").mkdir()
    with pytest.raises(AuthError, match="cannot be read"):
        FileStore(tmp_path / "folder").get("token", "a")


def test_a_change_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = FileStore(tmp_path / "t")
    store.set("token", "a", {"x": 1})

    def fail(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch, pytest.raises(AuthError, match="No space left"):
            patch.setattr(os, name, fail)
            store.set("token", "a", {"x": 2})
        assert store.get("token", "a") == {"x": 1}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t", "t.lock"]


@pytest.mark.race
def test_threads_and_stores_on_one_file_lose_nothing(tmp_path: Path) -> None:
    stores = [FileStore(tmp_path / "t") for _ in range(2)]
    begin = threading.Barrier(4)

    def add(number: int) -> None:
        begin.wait(WAIT)
        for each in range(3):
            stores[number % 2].set("token", "%d-%d" % (number, each), {"n": number})

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert len(json.loads((tmp_path / "t").read_text())["records"]["token"]) == 12


_OTHER = """
import sys
sys.path.insert(0, %r)
from mcp_ref.auth.client.store import FileStore
with FileStore(sys.argv[1]).exclusive(lambda seconds: None):
    print("held", flush=True)
    sys.stdin.readline()
"""


@POSIX
def test_another_program_that_renews_is_waited_for(tmp_path: Path) -> None:
    root = str(Path(__file__).resolve().parents[2])
    other = subprocess.Popen([sys.executable, "-c", _OTHER % root, str(tmp_path / "t")], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        pauses: List[float] = []

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 1:
                other.communicate("go on\n", WAIT)

        with FileStore(tmp_path / "t").exclusive(pause):
            assert pauses and other.returncode == 0
    finally:
        other.kill()
        other.communicate()


def test_waiting_for_a_lock_has_an_end(tmp_path: Path) -> None:
    store, waits = FileStore(tmp_path / "t"), FileStore(tmp_path / "t")
    counted: List[float] = []
    with store.exclusive(nothing):
        with pytest.raises(AuthError, match="another program holds"):
            with waits.exclusive(counted.append):
                pass
        assert 30 <= sum(counted) <= 120

        def leave(seconds: float) -> None:
            raise KeyError("left")

        with pytest.raises(KeyError):
            with waits.exclusive(leave):
                pass
    with waits.exclusive(nothing):
        pass


def test_a_store_of_ones_own_needs_three_methods() -> None:
    calls: List[Callable[[], Any]] = [lambda: TokenStore().get("a", "b"), lambda: TokenStore().set("a", "b", {}),
                                      lambda: TokenStore().delete("a", "b")]
    for call in calls:
        with pytest.raises(NotImplementedError):
            call()
    with TokenStore().exclusive(nothing):
        assert repr(TokenStore()) == "TokenStore()"
