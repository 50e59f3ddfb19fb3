"""The machine that the figures come from: its cores, and how much of them somebody else took meanwhile."""
import os
import platform
import time
from typing import Optional


def stay_on_one_core() -> bool:
    """Keep this thread, and what it starts from now on, on one core. Returns whether the system can do that."""
    if not hasattr(os, "sched_getaffinity"):
        return False
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    return True


def facts() -> str:
    """One line for the head of a report."""
    return "%s %s, %s cores, %s %s" % (platform.python_implementation(), platform.python_version(), os.cpu_count(),
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
