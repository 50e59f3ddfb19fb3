"""What a client remembers of a server's lists, and when it must forget.

A server that declares ``listChanged`` tells when a list changes, so its lists are kept until it does
[.. server/tools §List Changed Notification], [.. server/resources §List Changed Notification],
[.. server/prompts §List Changed Notification]. One that does not is asked each time; the list of its
tools is remembered nevertheless, because results are checked against the schemas in it.

A change can be announced while the pages of a list are still coming. Each list counts the
announcements; what was asked for before the last one is not kept.

Reading: a change of the resources may be one of the templates, which have no announcement of their own.
"""

import threading
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..protocol.capabilities import has


class Listed(NamedTuple):
    """A row of LISTS: how a list is asked for, and how its changes are announced."""

    method: str
    capability: str
    changed: str


LISTS: Dict[str, Listed] = {
    "tools": Listed("tools/list", "tools.listChanged", "notifications/tools/list_changed"),
    "resources": Listed("resources/list", "resources.listChanged", "notifications/resources/list_changed"),
    "resource_templates": Listed(
        "resources/templates/list", "resources.listChanged", "notifications/resources/list_changed"
    ),
    "prompts": Listed("prompts/list", "prompts.listChanged", "notifications/prompts/list_changed"),
}
"""By the attribute that holds the items of a page."""


class KeptList:
    """One list of one server, as far as it is known. Thread-safe; its lock is held for moments only.

    ``told``: the server tells when the list changes. ``limit``: items that are kept at most.
    """

    def __init__(self, told: bool, limit: int) -> None:
        self.told = told
        self.version = 0
        """How often the server said that the list changed."""
        self._limit = limit
        self._lock = threading.Lock()
        self._items: Optional[Tuple[Any, ...]] = None
        self._named: Optional[Mapping[str, Any]] = None

    def changed(self) -> None:
        """The server says that the list is another one now."""
        with self._lock:
            self.version += 1
            self._items = self._named = None

    def keep(self, items: Sequence[Any], version: int) -> None:
        """Remember the whole list, which was asked for at this version, if it is not out of date already."""
        if len(items) > self._limit:
            return
        kept = tuple(items)
        with self._lock:
            if version == self.version:
                self._items, self._named = kept, None

    @property
    def known(self) -> bool:
        """Whether the list has been heard since it last changed."""
        return self._items is not None

    def current(self) -> Optional[Tuple[Any, ...]]:
        """The list, if what is kept is what the server would answer."""
        return self._items if self.told else None

    def named(self) -> Optional[Mapping[str, Any]]:
        """The items by their names, as last heard; None if the list is not known."""
        named, items = self._named, self._items
        if named is not None or items is None:
            return named
        named = by_name(items)
        with self._lock:
            if items is self._items:
                self._named = named
        return named


def by_name(items: Sequence[Any]) -> Dict[str, Any]:
    """Items by their names; of two with one name the first counts."""
    return {item.name: item for item in reversed(items)}


class Lists:
    """The lists of one server, by kind: a key of LISTS."""

    def __init__(self, capabilities: Mapping[str, Any], limit: int) -> None:
        self._kept = {kind: KeptList(has(capabilities, row.capability), limit) for kind, row in LISTS.items()}

    def __getitem__(self, kind: str) -> KeptList:
        return self._kept[kind]

    def heard(self, method: str) -> None:
        """A notification arrived; forget the lists that it is about."""
        for kind, row in LISTS.items():
            if row.changed == method:
                self._kept[kind].changed()

    def version(self, kinds: Iterable[str]) -> List[int]:
        """How often each of these lists changed."""
        return [self._kept[kind].version for kind in kinds]
