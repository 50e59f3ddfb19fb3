"""Clients of all revisions that call, ask, subscribe, run tasks and resume streams, while hosts and Redis are killed.

What was promised is in the shared store before the kill: sessions, subscriptions, tasks, and what was sent on streams.
Each client notes what became of each of its steps:

 - ``ok``: the right answer, once
 - ``clean``: an error, and something was killed within SOON seconds of the step, or while it ran
 - a fault: a wrong answer, silence, an error without a reason, a session, task or subscription that is lost, or a
   second answer
"""
import collections
import random
import statistics
import threading
import time
from typing import Any, Counter, Dict, List, NamedTuple, Tuple

from cluster import Cluster, token_for

from mcp_ref import Limits, connect
from mcp_ref.errors import McpError, PeerError, RequestTimeout

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
PATIENCE = 30.0
SOON = 12.0
"""Seconds after an interruption in which errors have a reason: a host starts again, a lease (see `tasks`) runs out."""
LIMITS = Limits(max_elicitations_per_second=1e6, http_keep_alive=0.0, request_timeout=PATIENCE, max_reconnect_delay=2.0)
"""No connection is used twice, so that each request comes to any host. A stream that was refused is asked for soon, so
that an update which is late can be told from one that is lost."""


class Step(NamedTuple):
    """A step of a client."""

    kind: str
    revision: str
    begun: float
    seconds: float
    became: str


class Fault(Exception):
    """Something that must not be."""


class Load:
    """The clients; `run` begins with ``interrupt``, which kills, and notes the times in ``interrupted``."""

    def __init__(self, cluster: Cluster, clients: int, seconds: float, pause: float) -> None:
        self.cluster, self.clients, self.pause = cluster, clients, pause
        self.seconds = seconds
        self.steps: List[Step] = []
        self.faults: List[str] = []
        self.reasons: Counter[str] = collections.Counter()
        self.interrupted: List[Tuple[float, float]] = []
        """Begin and end of each interruption."""
        self.counts: Counter[str] = collections.Counter()
        self.updates = self.open = 0
        self._lock = threading.Lock()
        self.ready = threading.Event()
        self._end = 0.0
        self.origin = time.monotonic()

    def run(self) -> List[threading.Thread]:
        """Start the clients, and return when all are connected."""
        threads = [threading.Thread(target=self._client, args=(number,)) for number in range(self.clients)]
        for thread in threads:
            thread.start()
        self.ready.wait(PATIENCE + self.clients)
        return threads

    def _client(self, number: int) -> None:
        revision = REVISIONS[number % len(REVISIONS)]
        try:
            with connect(self.cluster.url, token=token_for("client %d" % number, self.cluster.url), limits=LIMITS,
                         ssl_context=self.cluster.trusting(), revisions=[revision],
                         elicitation=lambda *asked: {"name": "client %d" % number}) as client:
                _Client(self, client, number, revision).run()
        except BaseException as error:
            with self._lock:
                self.faults.append("client %d of %s: %r" % (number, revision, error))
                self._joined()

    def _joined(self) -> None:
        self.open += 1
        if self.open >= self.clients:
            self._end = time.monotonic() + self.seconds
            self.ready.set()

    def join(self) -> None:
        """Count a client that is connected, and wait for the others."""
        with self._lock:
            self._joined()
        self.ready.wait(PATIENCE + self.clients)

    @property
    def over(self) -> bool:
        """Is it the end?"""
        return time.monotonic() >= self._end

    def excused(self, begun: float) -> bool:
        """Was something killed while a step ran that began then, or shortly before?"""
        now = time.monotonic()
        return any(begin <= now and begun <= end + SOON for begin, end in self.interrupted)

    def note(self, step: Step, reason: str = "") -> None:
        """Keep what became of a step."""
        with self._lock:
            self.steps.append(step)
            if step.became == "clean":
                self.reasons[reason[:90]] += 1
            elif step.became != "ok":
                self.faults.append("%s of %s at %.1f after %.1f s: %s" % (
                    step.kind, step.revision, step.begun - self.origin, step.seconds, step.became))


class _Client:
    """What one client does."""

    def __init__(self, load: Load, client: Any, number: int, revision: str) -> None:
        self.load, self.client, self.number, self.revision = load, client, number, revision
        self.modern = revision == REVISIONS[-1]
        self.uri = "item://%d" % number
        self.updated = threading.Event()
        self.chance = random.Random(number)
        self.turn = number * 100_000

    def run(self) -> None:
        """Take steps until the end."""
        client, kinds = self.client, ["call", "call", "call", "slow"]
        kinds += ["task"] if self.revision in REVISIONS[3:] else []
        kinds += ["ask"] if self.revision in REVISIONS[2:] else []
        if not self.modern:
            client.subscribe_resource(self.uri, lambda uri: self.updated.set(), timeout=PATIENCE)
            kinds.append("update")
        before = client.connection
        self.load.join()
        while not self.load.over:
            time.sleep(self.chance.random() * 2 * self.load.pause)
            self._step(self.chance.choice(kinds))
        if not self.modern and client.connection is not before:
            raise Fault("the session was lost")
        for name, count in client.connection.counters.snapshot().items():
            self.load.counts[name] += count

    def _step(self, kind: str) -> None:
        self.turn += 1
        begun = time.monotonic()
        became, reason = "ok", ""
        try:
            getattr(self, "_" + kind)(begun)
        except Fault as fault:
            became = str(fault)
        except RequestTimeout as error:
            became = "silence: %s" % error
        except McpError as error:
            reason = "%s: %s" % (type(error).__name__, str(error).replace(self.load.cluster.url, "URL"))
            became = "clean" if self.load.excused(begun) else "an error without a reason: %s" % reason
        self.load.note(Step(kind, self.revision, begun, time.monotonic() - begun, became), reason)

    def _expect(self, result: Any, wanted: str) -> None:
        if result.is_error and self.load.excused(time.monotonic() - PATIENCE):
            raise McpError("a tool that failed: %s" % result.text[:60])
        if result.is_error or result.text != wanted:
            raise Fault("answered %r instead of %r" % (result.text, wanted))

    def _call(self, begun: float) -> None:
        self._expect(self.client.call_tool("add", {"a": self.turn, "b": 1}, timeout=PATIENCE), str(self.turn + 1))

    def _slow(self, begun: float) -> None:
        self._expect(self.client.call_tool("slow", {"turn": self.turn}, timeout=PATIENCE), str(self.turn))

    def _ask(self, begun: float) -> None:
        self._expect(self.client.call_tool("ask", {"turn": self.turn}, timeout=PATIENCE),
                     "client %d says %d" % (self.number, self.turn))

    def _update(self, begun: float) -> None:
        self.updated.clear()
        self.client.call_tool("touch", {"uri": self.uri}, timeout=PATIENCE)
        if not self.updated.wait(PATIENCE):
            if self.load.excused(begun):
                raise McpError("an update that was on its way was lost with its host")
            raise Fault("an update was lost")
        self.load.updates += 1

    def _task(self, begun: float) -> None:
        task = self.client.start_tool("work", {"turn": self.turn}, timeout=PATIENCE)
        while task.id is not None:  # from here on it is promised
            try:
                task = self.client.task(task.id)
                task.result(timeout=PATIENCE)
                break
            except PeerError as error:
                if "has ended" in str(error) and self.load.excused(begun):
                    raise
                gone = "store of tasks has failed" in str(error) and self.load.excused(begun)
                if error.code == -32602 or not (gone or "HTTP" in str(error)):
                    raise Fault("the task was lost: %s" % error) from None
            except McpError:
                pass
            if time.monotonic() > begun + 2 * PATIENCE:
                raise Fault("the task never ended")
            time.sleep(0.2)
        self._expect(task.result(timeout=PATIENCE), str(self.turn))


def figures(load: Load) -> List[str]:
    """What is said of a run: how many steps became what, and how long they took before, during and after."""
    lines = []
    became = collections.Counter("fault" if step.became not in ("ok", "clean") else step.became for step in load.steps)
    kinds = collections.Counter(step.kind for step in load.steps)
    lines.append("%d steps (%s): %d ok, %d clean errors, %d faults; %d updates" % (
        len(load.steps), ", ".join("%d %s" % (kinds[kind], kind) for kind in sorted(kinds)),
        became["ok"], became["clean"], len(load.faults), load.updates))
    first = min([begin for begin, _ in load.interrupted], default=float("inf"))
    spans: Dict[str, List[Step]] = {"before": [], "during": [], "after": []}
    for step in load.steps:
        inside = any(begin <= step.begun <= end + 3.0 for begin, end in load.interrupted)
        spans["before" if step.begun < first else "during" if inside else "after"].append(step)
    for name, steps in spans.items():
        found = sorted(1000 * step.seconds for step in steps if step.kind == "call" and step.became == "ok")
        if len(found) > 1:
            lines.append("%-7s %6d calls: median %5.0f ms, 95 %% below %5.0f ms, longest %6.0f ms" % (
                name, len(found), statistics.median(found), found[int(0.95 * (len(found) - 1))], found[-1]))
    lines += ["clean, %d times: %s" % (count, reason) for reason, count in load.reasons.most_common(12)]
    lines.append("counted by clients: %s" % (", ".join(
        "%d %s" % (count, name) for name, count in sorted(load.counts.items())) or "nothing"))
    return lines
