"""What a client remembers of a server: its lists page by page, what was read, what it said of itself.

How long an answer is good for is told by two things, which come to one question: would the server answer
the same now?

==========================================  ====================================================
the answer says                             it is served from memory
==========================================  ====================================================
for how long (2026-07-28)                   until then
nothing (revisions with a handshake), and   until the server says that it changed
the server tells of changes
nothing, and the server does not tell       never; but the schemas in a list of tools are used
==========================================  ====================================================

The server tells if it has declared ``listChanged`` in a handshake [.. server/tools §List Changed Notification],
[.. server/resources §List Changed Notification], [.. server/prompts §List Changed Notification]; without
a handshake it tells those who listen [2026-07-28 basic/patterns/subscriptions §Receiving Notifications]. Whatever an
answer said, a change that is announced ends it at once
[2026-07-28 server/utilities/caching §Interaction with Notifications]. ``refresh=True`` of a call asks in any case.

Each page of a list is kept by itself, and asked for again when its time is over. Where a kept cursor is refused, all
pages are forgotten and the list is read from its beginning
[2026-07-28 server/utilities/caching §Interaction with Pagination] SHOULD. All pages have one scope; a list in which one
page says "public" and another does not is private, and counted as ``mixed cache scope``.

A change can be announced while an answer is on its way. Announcements are counted; what was asked for
before the last one is not kept.

Reading: a change of the resources may be one of the templates, which have no announcement of their own. A resource
that changed may be part of another, whose URI begins as its own does: what was read of both is forgotten.
"""

from typing import Any, Collection, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ...jsontext import dumps
from ...limits import DEFAULT, Limits
from ...protocol.caching import PRIVATE, PUBLIC, Hints, Key
from ...protocol.capabilities import has
from .store import Answers, SharedAnswers, Shelf, Version, room

READ = "resources/read"
DISCOVER = "server/discover"
UPDATED = "notifications/resources/updated"


class Listed(NamedTuple):
    """A row of LISTS: how a list is asked for, how its changes are announced, and what tells its items apart."""

    method: str
    capability: str
    changed: str
    named: str


LISTS: Dict[str, Listed] = {
    "tools": Listed("tools/list", "tools.listChanged", "notifications/tools/list_changed", "name"),
    "resources": Listed("resources/list", "resources.listChanged", "notifications/resources/list_changed", "uri"),
    "resource_templates": Listed("resources/templates/list", "resources.listChanged",
                                 "notifications/resources/list_changed", "uri_template"),
    "prompts": Listed("prompts/list", "prompts.listChanged", "notifications/prompts/list_changed", "name"),
}
"""By the attribute that holds the items of a page."""


class KeptList(Answers):
    """The pages of one list of one server, as far as they are known. Thread-safe."""

    def __init__(self, kind: str, limit: int, shared: Optional[Shelf] = None) -> None:
        super().__init__(LISTS[kind].method, limit, shared)
        self.kind = kind
        self._scope = PRIVATE
        self._whole: Tuple[Any, Optional[Tuple[Any, ...]]] = (None, None)
        self._named: Tuple[Any, Optional[Mapping[str, Any]]] = (None, None)

    def keep_page(self, cursor: Optional[str], page: Any, hints: Hints, version: Version, size: int = 0) -> bool:
        """Remember a page, which was asked for at this version; False if its scope is not that of the first one.

        ``size``: bytes that it takes; a KiB counts as much as an item.
        Then none of the list may be shared [2026-07-28 server/utilities/caching §Interaction with Pagination] MUST.
        """
        if cursor is None:
            self._scope = hints.scope
        mixed = hints.scope != self._scope
        if mixed:
            self._scope = PRIVATE
            for each in self.keys():
                self.withdraw(each)
        kept = hints if self._scope == PUBLIC else hints._replace(scope=PRIVATE)
        self.keep(_place(cursor), page, kept, max(len(getattr(page, self.kind)), size >> 10), version)
        return not mixed

    def forget(self) -> None:
        """Remember no page any more, because a cursor is not valid any longer."""
        for each in self.keys():
            self.drop(each)

    @property
    def known(self) -> bool:
        """Whether the whole list has been heard since it last changed, be it fresh or not."""
        return self._items() is not None

    def current(self) -> Optional[Tuple[Any, ...]]:
        """The list, if every page is what the server would answer."""
        return self._walk(self.fresh)

    def named(self) -> Optional[Mapping[str, Any]]:
        """The items by their names, as last heard, the same object until something is heard; None if unknown."""
        items = self._items()
        if items is None:
            return None
        of, found = self._named
        if of is not items or found is None:
            found = by_name(items)
            self._named = (items, found)
        return found

    def _items(self) -> Optional[Tuple[Any, ...]]:
        stamp = self.stamp
        at, items = self._whole
        if at != stamp:
            items = self._walk(self.last)
            self._whole = (stamp, items)
        return items

    def _walk(self, look: Any) -> Optional[Tuple[Any, ...]]:
        """The items of all pages, from the first on; None if one is missing, or if they lead in a circle."""
        items: List[Any] = []
        cursor: Optional[str] = None
        for _ in range(len(self.keys()) + 1):
            page = look(_place(cursor))
            if page is None:
                return None
            items += getattr(page, self.kind)
            cursor = page.next_cursor
            if cursor is None:
                return tuple(items)
        return None


def _place(cursor: Optional[str]) -> Key:
    """As `mcp_ref.protocol.caching.key` has it; cursors that came are JSON."""
    return () if cursor is None else (("cursor", dumps(cursor)),)


def by_name(items: Sequence[Any]) -> Dict[str, Any]:
    """Items by their names; of two with one name the first counts."""
    return {item.name: item for item in reversed(items)}


class Lists:
    """What is remembered of one server: its lists by kind (a key of LISTS), what was read, what it is.

    ``capabilities``: of a server that tells of changes by itself. ``shared``: the answers that are shared with other
    clients, and ``place``: the server's address and the revision that is spoken.
    """

    def __init__(
        self, capabilities: Mapping[str, Any], limits: Limits = DEFAULT, shared: Optional[SharedAnswers] = None,
        place: Tuple[Optional[str], str] = (None, ""),
    ) -> None:
        def shelf(method: str) -> Optional[Shelf]:
            return None if shared is None or place[0] is None else shared.shelf(place[0], place[1], method)

        self._kept = {kind: KeptList(kind, room(row.method, limits), shelf(row.method)) for kind, row in LISTS.items()}
        self.others = {method: Answers(method, room(method, limits), shelf(method)) for method in (READ, DISCOVER)}
        for kind, row in LISTS.items():
            self._kept[kind].told = has(capabilities, row.capability)

    def __getitem__(self, kind: str) -> KeptList:
        return self._kept[kind]

    def listening(self, methods: Collection[str]) -> None:
        """From now on the server tells of these changes, named by their notifications, and of no others.

        What was kept while it did not tell may have changed unseen.
        """
        for kind, row in LISTS.items():
            kept, told = self._kept[kind], row.changed in methods
            if told and not kept.told:
                kept.changed()
            kept.told = told

    def heard(self, method: str, params: Optional[Mapping[str, Any]] = None) -> None:
        """A notification arrived; forget what it is about."""
        for kind, row in LISTS.items():
            if row.changed == method:
                self._kept[kind].changed()
        uri = (params or {}).get("uri")
        if method == UPDATED and isinstance(uri, str):
            read, changed = self.others[READ], dumps(uri)[:-1]
            for each in [(("uri", dumps(uri)),), *read.keys()]:
                if any(name == "uri" and _related(text[:-1], changed) for name, text in each):
                    read.changed(each)

    def forget(self) -> None:
        """Remember nothing any more."""
        for kept in (*self._kept.values(), *self.others.values()):
            kept.changed()

    def version(self, kinds: Iterable[str]) -> List[Version]:
        """What tells whether one of these lists has changed."""
        return [self._kept[kind].version for kind in kinds]


def _related(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)
