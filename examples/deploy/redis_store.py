"""A store on Redis, for the sessions, streams, tasks and states of servers on several hosts.

Copy this file and `redis_store.lua`, which has the scripts; README.md shows how to use them.

It needs Redis 6.2 or later, the library `redis` (``pip install redis``), and this package. Everything is in one Redis
and not in a cluster, because each method is one script that touches several keys. With ``appendonly yes`` and
``appendfsync always`` what a method has returned for survives a crash of Redis. Replicas lag behind: after a failover
the newest of it may be gone. Times are those of the machine of Redis, so the clocks of the hosts need not agree.

No command is repeated by itself, for it may have been carried out before its connection broke. The request that needed
it ends with an error.
"""
import json
import logging
import pathlib
import re
from typing import Any, Callable, Dict, List, Optional

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from mcp_ref.server import Store
from mcp_ref.stores import FULL, SENT, UNWANTED, Letter, Room, StoredEvent, StoredRecord, TaskRecord, TaskRoom, Values

SECONDS = 5.0
"""Seconds after which a Redis that does not answer counts as gone."""
STEP = 1000
"""What one step of a sweep removes, so that nobody waits for more than that; the scripts have the same number."""
BECAME = (UNWANTED, SENT, FULL)
TEXT = pathlib.Path(__file__).with_suffix(".lua").read_text("utf-8")
COMMON, *PARTS = re.split(r"^-- script: (\w+)\n", TEXT, flags=re.MULTILINE)
SCRIPTS = {name: COMMON + body for name, body in zip(PARTS[::2], PARTS[1::2])}


class RedisStore(Store):
    """The store in the Redis at ``url``, such as ``redis://:password@10.0.0.5:6379/0``. Keys begin with ``prefix``."""

    def __init__(self, url: str, prefix: str = "mcp:") -> None:
        self._prefix = prefix
        self._redis = redis.Redis.from_url(
            url, retry=Retry(NoBackoff(), 0), socket_timeout=SECONDS, socket_connect_timeout=SECONDS,
            encoding_errors="surrogatepass")
        self._scripts = {name: self._redis.register_script(SCRIPTS[name]) for name in SCRIPTS}
        self._checked = False

    def _run(self, name: str, *arguments: Any) -> Any:
        if not self._checked:
            policy = self._redis.info("memory").get("maxmemory_policy", "noeviction")
            self._checked = True
            if policy != "noeviction":
                logging.getLogger(__name__).warning(
                    "this Redis may throw away sessions and tasks: its maxmemory-policy is %s; set noeviction", policy)
        return self._scripts[name](keys=[self._prefix], args=arguments)

    def _all(self, name: str, *arguments: Any) -> int:
        """Repeat a script until there is nothing more to do. Returns what it has done."""
        done = [self._run(name, *arguments)]
        while done[-1] >= STEP:
            done.append(self._run(name, *arguments))
        return sum(done)

    def close(self) -> None:
        self._redis.close()

    # Sessions

    def create_session(self, id: str, values: Values, most: int, idle: float) -> bool:
        return bool(self._run("create_session", id, most, idle, *_flat(values)))

    def read_session(self, id: str, idle: float, since: int = 0) -> Optional[StoredRecord]:
        found = self._run("read_session", id, idle, since)
        if found is None:
            return None
        version, whole, *flat = found
        pairs = zip(map(_text, flat[::2]), flat[1::2])
        values = {name: json.loads(value) if value else None for name, value in pairs}
        return StoredRecord(int(version), values, bool(whole))

    def update_session(self, id: str, changes: Values) -> int:
        return int(self._run("update_session", id, *_flat(changes)))

    def remove_session(self, id: str) -> bool:
        return bool(self._run("remove_session", id))

    def sweep_sessions(self, idle: float) -> int:
        self._all("sweep_old")
        return self._all("sweep_sessions", idle)

    def count_sessions(self) -> int:
        return int(self._redis.zcard(self._prefix + "used"))

    # The mailbox

    def expect(self, id: str, question: int) -> None:
        self._run("expect", id, question)

    def forget(self, id: str, question: int) -> None:
        self._redis.srem(self._prefix + "questions:" + id, question)

    def send(self, id: str, box: str, subject: str, content: bytes, room: Room, question: Optional[int] = None) -> str:
        asked = "" if question is None else question
        return BECAME[self._run("send", id, box, subject, content, *room[:3], int(room.newest), asked)]

    def news(self, since: int) -> List[Letter]:
        return [Letter(int(number), *map(_text, rest)) for number, *rest in self._run("news", since)]

    def waiting(self, id: str) -> List[Letter]:
        return [Letter(int(number), *map(_text, rest)) for number, *rest in self._run("waiting", id)]

    def take(self, number: int) -> Optional[bytes]:
        return self._run("take", number)  # type: ignore[no-any-return]

    def version(self) -> int:
        return int(self._redis.get(self._prefix + "last:letter") or 0)

    def number(self) -> int:
        return int(self._redis.incr(self._prefix + "last:process"))

    # Events

    def keep(self, id: str, event: StoredEvent, room: Room, seconds: float) -> str:
        stream, rest = "%s:%d" % event[:2], (event.place, event.data, int(event.final), event.about)
        return BECAME[self._run("keep", id, stream, *rest, seconds, *room[:3])]

    def kept(self, id: str, kind: str, stream: int, place: int) -> List[StoredEvent]:
        return [StoredEvent(kind, stream, int(at), data, final == b"1", _text(about))
                for at, data, final, about in self._run("kept", id, "%s:%d" % (kind, stream), place)]

    def unkeep(self, id: str, kind: str, stream: int, place: int) -> bool:
        return bool(self._run("unkeep", id, "%s:%d" % (kind, stream), place))

    # Tasks

    def now(self) -> float:
        seconds, micros = self._redis.time()
        return float(seconds + micros / 1e6)

    clock = now

    def create(self, record: TaskRecord, room: TaskRoom) -> str:
        number = self._run("create", record.id, record.owner, *_columns(record), *room)
        record.number = max(0, number)
        return room._fields[-number - 1] if number < 0 else ""

    def read(self, id: str) -> Optional[TaskRecord]:
        return self._task(id)[1]

    def _task(self, id: str) -> Any:
        """Return the number of changes of a task, and the task."""
        change, number, text = self._redis.hmget(self._prefix + "task:" + id, "change", "number", "record")
        if text is None:
            return None, None
        return change, TaskRecord.of(dict(json.loads(text), number=int(number)))

    def change(self, id: str, function: Callable[[TaskRecord], bool]) -> Optional[TaskRecord]:
        while True:
            change, record = self._task(id)
            if record is None or not function(record):
                return None
            if self._run("change", id, change, *_columns(record)):
                return record  # type: ignore[no-any-return]

    def list(self, owner: str, after: int, most: int) -> "List[TaskRecord]":
        ids = self._redis.zrangebyscore(self._prefix + "owner:" + owner, "(%d" % after, "+inf", 0, most)
        return [record for record in map(self.read, map(_text, ids)) if record is not None]

    def lost(self, now: float) -> "List[str]":
        return [_text(id) for id in self._redis.zrangebyscore(self._prefix + "leases", "-inf", "(%r" % now)]

    def sweep(self, now: float) -> int:
        return self._all("sweep", now)

    # States

    def spend(self, id: str, until: float, now: float, most: int) -> str:
        return BECAME[self._run("spend", id, until, now, most)]


def _flat(values: Dict[str, Any]) -> List[str]:
    return [part for name in values for part in (name, "" if values[name] is None else json.dumps(values[name]))]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _columns(record: TaskRecord) -> List[Any]:
    return [json.dumps(vars(record)), record.expires, record.until, record.size]
