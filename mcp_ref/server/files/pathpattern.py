"""Which paths below a folder are meant: names with slashes between, matched name by name as `fnmatch` does it.

===========  ====================================
``*.md``     files of the folder itself
``**/*.md``  those, and those below it
``src/**``   everything in ``src``
``a/**/b``   ``a/b``, ``a/x/b``, ``a/x/y/b``
===========  ====================================

``**`` is any number of folders. Case counts on every platform.
"""

from fnmatch import fnmatchcase
from typing import FrozenSet, Tuple


class Pattern:
    """A pattern, taken apart once. Raises ValueError for what no path can fit."""

    def __init__(self, pattern: str) -> None:
        self._names = pattern.split("/")
        if any(name in ("", ".", "..") for name in self._names):
            raise ValueError("a pattern is names with slashes between, such as **/*.md, got %r" % pattern)

    def matches(self, parts: Tuple[str, ...]) -> bool:
        """Whether a file of this path is one."""
        return len(self._names) in self._places(parts)

    def leads_on(self, parts: Tuple[str, ...]) -> bool:
        """Whether a folder of this path may hold one."""
        return any(place < len(self._names) for place in self._places(parts))

    def _places(self, parts: Tuple[str, ...]) -> FrozenSet[int]:
        """How many names of the pattern may have been used up by these parts."""
        places = self._onward(frozenset((0,)))
        for part in parts:
            used = set()
            for place in places:
                if place < len(self._names):
                    if self._names[place] == "**":
                        used.add(place)
                    elif fnmatchcase(part, self._names[place]):
                        used.add(place + 1)
            places = self._onward(frozenset(used))
        return places

    def _onward(self, places: FrozenSet[int]) -> FrozenSet[int]:
        """And further, since ``**`` may stand for nothing."""
        found = set(places)
        for place in places:
            while place < len(self._names) and self._names[place] == "**":
                place += 1
                found.add(place)
        return frozenset(found)
