"""The memory and the descriptors of a process and of all that it has started. Linux only, by /proc."""

import os
from typing import List, NamedTuple, Optional


class Held(NamedTuple):
    """The holdings of a session of processes."""

    memory: int
    """Bytes in memory."""
    descriptors: int
    processes: int


def held(leader: Optional[int]) -> Optional[Held]:
    """Return what the session of processes that this one leads holds; None where that cannot be told."""
    if leader is None or not os.path.isdir("/proc/%d/fd" % leader):
        return None
    memory = descriptors = 0
    members = _members(leader)
    for pid in members:
        try:
            with open("/proc/%d/statm" % pid, encoding="ascii") as file:
                memory += int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            descriptors += len(os.listdir("/proc/%d/fd" % pid))
        except (OSError, ValueError, IndexError):
            continue  # it has ended meanwhile
    return Held(memory, descriptors, len(members)) if memory else None


def _members(leader: int) -> List[int]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
                if int(fields[3]) == leader:
                    found.append(int(name))
            except (OSError, ValueError, IndexError):
                continue
    return found
