"""The machine that the figures come from: its cores, and how much of them somebody else took meanwhile."""
import contextlib
import os
import platform
import time
from typing import Iterator, Optional, Tuple


def two_cores() -> Optional[Tuple[int, int]]:
    """One core for our side and one for the other; None where processes cannot be pinned or there is only one core."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    cores = sorted(os.sched_getaffinity(0))
    return (cores[0], cores[1]) if len(cores) > 1 else None


@contextlib.contextmanager
def on_core(core: Optional[int]) -> Iterator[None]:
    """Keep this thread, and what it starts meanwhile, on one core. None changes nothing."""
    if core is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def facts() -> str:
    """One line for the head of a report."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return "%s %s, %s cores, %s %s" % (platform.python_implementation(), platform.python_version(), allowed,
                                       platform.system(), platform.machine())


class Foreign:
    """Time that other processes take, as a share of one core. Ours, and our ended children's, does not count."""

    def __init__(self) -> None:
        self._began = time.monotonic(), self._foreign_seconds()

    def share(self) -> Optional[float]:
        """Share since this object was made; None where the system does not tell."""
        before, now = self._began[1], self._foreign_seconds()
        if before is None or now is None:
            return None
        return max(0.0, (now - before) / max(time.monotonic() - self._began[0], 0.01))

    @staticmethod
    def _foreign_seconds() -> Optional[float]:
        try:
            with open("/proc/stat", encoding="ascii") as stat:
                user, nice, system, _, _, irq, softirq, steal = map(int, stat.readline().split()[1:9])
        except (OSError, ValueError):
            return None
        ticks = user + nice + system + irq + softirq + steal
        return ticks / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])
