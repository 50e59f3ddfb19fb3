"""The store on Redis of `examples/deploy` keeps to the contract; `make deploy` runs this with Redis and its library."""
import importlib.util
import pathlib
import sys
from typing import Any, Iterator

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "deploy")]

from redis_process import Redis, missing  # noqa: E402

from mcp_ref import stores  # noqa: E402
from mcp_ref.ext.stores import contract  # noqa: E402
from mcp_ref.stores import OUT, SENT, Room, StoredEvent, TaskRecord, TaskRoom  # noqa: E402
from tests.transports.sites import Site, call  # noqa: E402

pytestmark = pytest.mark.skipif(bool(missing()), reason="NOT CHECKED: %s; `make deploy` gets it" % missing())
PREFIX = "a b:"
ROOM = Room(9, 1 << 20, 1 << 20)


@pytest.fixture
def redis(tmp_path: pathlib.Path) -> Iterator[Redis]:
    with Redis(tmp_path / "a folder") as started:
        yield started


def store_at(redis: Redis) -> Any:
    spec = importlib.util.spec_from_file_location("redis_store", ROOT / "examples" / "deploy" / "redis_store.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.RedisStore(redis.url, prefix=PREFIX)


@pytest.mark.time_limit(60)
def test_the_store_keeps_to_the_contract(redis: Redis) -> None:
    contract.check(lambda: store_at(redis))
    store = store_at(redis)
    left = {key.decode()[len(PREFIX):] for key in store._redis.keys()}
    sizes = set(store._redis.hvals(PREFIX + "sizes"))
    store.close()
    assert left <= {"last:letter", "last:event", "last:task", "last:process", "sizes", "spent"}, "something is left"
    assert sizes <= {b"0"}


@pytest.mark.time_limit(60)
def test_what_was_stored_is_there_after_redis_was_killed(redis: Redis) -> None:
    store = store_at(redis)
    assert store.create_session("a", {"x": 1}, 9, 100.0)
    assert store.send("a", OUT, "s", b"letter", ROOM) == SENT
    assert store.keep("a", StoredEvent("p", 1, 0, b"event"), ROOM, 100.0) == SENT
    assert store.create(TaskRecord("t", "", {}, 100.0, 1.0, store.now()), TaskRoom(9, 9, 99)) == ""
    assert store.spend("state", store.now() + 100, store.now(), 9) == SENT
    redis.kill()
    with pytest.raises(Exception, match="[Cc]onnect"):
        store.number()
    redis.start()
    record = store.read_session("a", 100.0)
    assert record and record.values == {"x": 1}
    (letter,) = store.news(0)
    assert store.take(letter.number) == b"letter"
    assert [event.data for event in store.kept("a", "p", 1, 0)] == [b"event"]
    assert store.read("t").number == 1 and store.spend("state", store.now() + 100, store.now(), 9) != SENT
    store.close()


def test_another_process_goes_on_with_a_session_of_an_anonymous_client(redis: Redis, tmp_path: pathlib.Path) -> None:
    with Site(tmp_path, store=lambda: store_at(redis)) as site:
        assert call(site[1], "state", 1)["principal"] is None
        reply = site[0].begin(2, "tools/call", {"name": "ask"})
        answer = {"action": "accept", "content": {"region": "eu"}}
        assert site[1].respond(reply.next()["id"], answer).status == 202
        assert reply.answer()["result"]["content"][0]["text"] == "eu"


LOST = ("letter:*", "box:*", "letters", "aged", "events:*", "order:*", "stream:*", "due", "session:*", "values:*",
        "changed:*", "held:*", "sizes", "task:*", "tasks", "leases", "owner:*", "last:letter", "used")


@pytest.mark.time_limit(60)
def test_a_key_that_is_gone_stops_no_sweep(redis: Redis) -> None:
    """An eviction, or half of a restore, takes any key."""
    store = store_at(redis)
    for lost in LOST:
        store._redis.flushdb()
        for id in "ab":
            store.create_session(id, {"x": 1}, 9, 100.0)
            for place in range(2):
                store.send(id, OUT, "s", b"letter", ROOM)
                store.keep(id, StoredEvent("p", 1, place, b"event"), ROOM, 100.0)
            store.create(TaskRecord(id, "", {}, 0.0, 1.0, 1.0), TaskRoom(9, 9, 99))
        (name, *_) = sorted(store._redis.scan_iter(PREFIX + lost, count=1000)) or [PREFIX + lost]
        store._redis.delete(name)
        for id in "ab":
            store.read_session(id, 100.0)
            store.update_session(id, {"x": 2})
            store.send(id, OUT, "s", b"letter", Room(1, 1 << 20, 1 << 20, newest=True))
            store.keep(id, StoredEvent("p", 1, 5, b"event"), Room(1, 1 << 20, 1 << 20), 100.0)
            store.kept(id, "p", 1, 0)
            store.unkeep(id, "p", 1, 5)
        for letter in store.news(0):
            store.take(letter.number)
        store.sweep(2.0)
        store.sweep_sessions(0.0)
        assert store.count_sessions() == 0, lost
        assert lost == "tasks" or store.read("a") is store.read("b") is None, lost
    store.close()


def test_a_redis_that_may_evict_is_named_in_the_log(redis: Redis, caplog: pytest.LogCaptureFixture) -> None:
    for policy, times in (("noeviction", 0), ("allkeys-lru", 1)):
        store = store_at(redis)
        store._redis.config_set("maxmemory-policy", policy)
        for _ in range(2):
            store.create_session("a", {}, 9, 100.0)
        assert caplog.text.count("maxmemory-policy is %s" % policy) == times
        store.close()


def test_the_clock_of_a_host_is_not_asked(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_at(redis)
    before = store.now()
    monkeypatch.setattr(stores, "wall_clock", lambda: before + 3600)
    assert before <= store.now() < before + 60
    store.close()
