"""The cache of a client: a server's lists page by page, the resources that were read, and what it said of itself.

[2026-07-28 server/utilities/caching §Cacheable Model]. Two things decide how long an answer is good for. Both come to
one question: would the server answer the same now?

==========================================  ====================================================
the answer says                             it is served from the cache
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

An answer is fresh until its time is over, by the monotonic clock, counted from when it came
[2026-07-28 server/utilities/caching §Freshness Calculation]: it is stamped when it is read, in the thread that waited
for it. A stale answer is never served, also not when asking anew fails, which the page would allow: a caller that sees
the error can decide, one that sees old data cannot. Nothing is asked for before it is needed.

Each page of a list is kept by itself, and asked for again when its time is over. Where a kept cursor is refused, all
pages are forgotten and the list is read from its beginning
[2026-07-28 server/utilities/caching §Interaction with Pagination] SHOULD. All pages have one scope; a list in which one
page says "public" and another does not is private, and counted as ``mixed cache scope``.

A change can be announced while an answer is on its way. Announcements are counted; an answer that was asked for
before the last one is not kept.

**Shared answers.** A client is one principal: it keeps all answers for itself. Clients of one process may share those
that their servers call public::

    shared = SharedAnswers()
    with connect(url, token=ann, cache=shared) as first, connect(url, token=bob, cache=shared) as second: ...

A private answer is never shared [2026-07-28 server/utilities/caching §Cache Scope Field] MUST NOT. Reading: answers
are shared by clients that speak the same revision to the same address; a transport without one shares nothing.

Reading: a change of the resources may be one of the templates, which have no announcement of their own. A resource
that changed may be part of another, whose URI begins as its own does: what was read of both is forgotten.

`SharedAnswers` and each client hold `LruStore`, one for each method. A `MethodCache` is one client's view of one
method: its own store and the shared one. A `ServerCache` has all of them for one server. `mcp_ref.client.cached_calls`
asks here first; which answers may be kept, and under which key, says `mcp_ref.protocol.results`.
"""

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Collection, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .. import deadline
from ..jsontext import dumps
from ..limits import DEFAULT, Limits
from ..methods import (
    DISCOVER, LIST_CHANGED, LIST_PROMPTS, LIST_RESOURCES, LIST_RESOURCE_TEMPLATES, LIST_TOOLS, READ_RESOURCE,
    RESOURCE_UPDATED,
)
from ..options import strict_options
from ..protocol.lifecycle import has
from ..protocol.results import PRIVATE, PUBLIC, Hints, Key

if TYPE_CHECKING:
    from ..protocol.streamable_http.mirrored import Mirrored
    from .structured import ResultCheck


Version = Tuple[int, int]
"""The versions of a client's own store and of the one it shares."""


class ListRow(NamedTuple):
    """A row of LISTS: how a list is asked for, how its changes are announced, and what tells its items apart."""

    method: str
    capability: str
    changed: str
    named: str


LISTS: Dict[str, ListRow] = {
    "tools": ListRow(LIST_TOOLS, "tools.listChanged", LIST_CHANGED["tools"], "name"),
    "resources": ListRow(LIST_RESOURCES, "resources.listChanged", LIST_CHANGED["resources"], "uri"),
    "resource_templates": ListRow(
        LIST_RESOURCE_TEMPLATES, "resources.listChanged", LIST_CHANGED["resources"], "uri_template"),
    "prompts": ListRow(LIST_PROMPTS, "prompts.listChanged", LIST_CHANGED["prompts"], "name"),
}
"""Kind of a list, which is the attribute that holds the items of a page -> its row."""


class CachedAnswer(NamedTuple):
    """An answer and how long it is good for."""

    value: Any
    """The message."""
    until: float
    """The end of its time, by `deadline.clock`."""
    is_timed: bool
    """True if the server said for how long; otherwise it is good until a change is announced."""
    size: int
    """The amount that it counts against the capacity of its store."""


class LruStore:
    """The answers to one method, by key, oldest dropped first. Thread-safe; its lock is held for moments only.

    ``capacity``: what the sizes of all may add up to; an answer that is larger alone is not kept.
    """

    def __init__(self, capacity: int) -> None:
        self.version = 0
        """The number of changes so far; an answer that was asked for before the last one is not kept."""
        self.stamp = 0
        """A number that is another one whenever anything here is another."""
        self._capacity = capacity
        self._lock = threading.Lock()
        self._entries: "OrderedDict[Key, CachedAnswer]" = OrderedDict()
        self._size = 0

    def get(self, key: Key) -> Optional[CachedAnswer]:
        """Return the entry of this key, fresh or not; None if there is none."""
        return self._entries.get(key)

    def put(self, key: Key, entry: CachedAnswer, version: int) -> None:
        """Keep an answer that was asked for at this version, unless a change was announced since."""
        with self._lock:
            if version != self.version:
                return
            self._remove(key)
            if entry.size > self._capacity:
                return
            self._entries[key] = entry
            self._size += entry.size
            while self._size > self._capacity:
                self._remove(next(iter(self._entries)))

    def changed(self, key: Optional[Key] = None) -> None:
        """Drop the answer of this key, because it is another one now; all answers if the key is None."""
        with self._lock:
            self.version += 1
            for each in list(self._entries) if key is None else [key]:
                self._remove(each)

    def drop(self, key: Key) -> None:
        """Drop an answer that need not have changed."""
        with self._lock:
            self._remove(key)

    def keys(self) -> Tuple[Key, ...]:
        """Return the keys, oldest first."""
        with self._lock:
            return tuple(self._entries)

    def _remove(self, key: Key) -> None:
        self.stamp += 1
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._size -= entry.size


class SharedAnswers:
    """The public answers of servers, for all the clients that are given this object as ``cache``. Thread-safe."""

    @strict_options
    def __init__(self, limits: Limits = DEFAULT) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._stores: Dict[Tuple[str, str, str], LruStore] = {}

    def store(self, address: str, revision: str, method: str) -> LruStore:
        """Return the answers of one server to one method in one revision."""
        with self._lock:
            store = self._stores.get((address, revision, method))
            if store is None:
                store = self._stores[address, revision, method] = LruStore(capacity(method, self._limits))
            return store


class MethodCache:
    """The answers of one server to one method, as far as one client keeps them. Thread-safe.

    ``kind``: a key of LISTS, for a method whose answers are pages of a list; else "". ``shared``: the store for public
    answers, where other clients find them.
    """

    def __init__(self, method: str, limit: int, shared: Optional[LruStore] = None, kind: str = "") -> None:
        self.method = method
        self.kind = kind
        self.server_notifies = False
        """True while the server tells when an answer is another one."""
        self._own = LruStore(limit)
        self._shared = shared
        self._stores = (self._own,) if shared is None else (self._own, shared)
        self._scope = PRIVATE
        self._named: Tuple[Any, Optional[Mapping[str, Any]]] = (None, None)
        """A stamp, and the items of all pages at it by their names."""

    @property
    def version(self) -> Version:
        """A value that is another one after each change that was announced; note it before asking."""
        return self._own.version, 0 if self._shared is None else self._shared.version

    @property
    def stamp(self) -> Version:
        """A value that is another one whenever anything that is kept is another."""
        return self._own.stamp, 0 if self._shared is None else self._shared.stamp

    def last(self, key: Key) -> Any:
        """Return the last answer of the server, fresh or not; None if it is not known."""
        for store in self._stores:
            entry = store.get(key)
            if entry is not None:
                return entry.value
        return None

    def fresh(self, key: Key) -> Any:
        """Return what the server would answer now; None if that cannot be known without asking.

        [2026-07-28 server/utilities/caching §Time-to-Live (TTL) Field] SHOULD
        """
        for store in self._stores:
            entry = store.get(key)
            if entry is not None and (deadline.clock() < entry.until if entry.is_timed else self.server_notifies):
                return entry.value
        return None

    def keep(self, key: Key, value: Any, hints: Hints, size: int, version: Version) -> None:
        """Keep an answer that came now.

        ``version``: as it was before the answer was asked for; ``size``: as the limits count.
        """
        entry = CachedAnswer(value, deadline.clock() + hints.ttl, hints.given, size)
        shared = self._shared
        if shared is not None and hints.scope == PUBLIC:
            self._own.drop(key)
            shared.put(key, entry, version[1])
            return
        if shared is not None:
            shared.drop(key)
        self._own.put(key, entry, version[0])  # which refuses it, if a change was announced since it was asked for

    def changed(self, key: Optional[Key] = None) -> None:
        """Forget an answer, because the server says that it is another one now; all answers if the key is None."""
        for store in self._stores:
            store.changed(key)

    def keys(self) -> Tuple[Key, ...]:
        """Return the keys of what is kept."""
        return tuple(key for store in self._stores for key in store.keys())

    # Lists: the pages are answers, and their keys are cursors

    def keep_page(self, cursor: Optional[str], page: Any, hints: Hints, version: Version, size: int = 0) -> bool:
        """Keep a page, which was asked for at this version; ``size``: bytes that it takes, a KiB counts as an item.

        Returns False if its scope is not that of the first page. Then none of the list may be shared
        [2026-07-28 server/utilities/caching §Interaction with Pagination] MUST.
        """
        if cursor is None:
            self._scope = hints.scope
        is_mixed = hints.scope != self._scope
        if is_mixed:
            self._scope = PRIVATE
            shared = self._shared
            if shared is not None:
                for key in shared.keys():
                    entry = shared.get(key)
                    if entry is not None:
                        shared.drop(key)
                        self._own.put(key, entry, self._own.version)
        if self._scope != PUBLIC:
            hints = hints._replace(scope=PRIVATE)
        self.keep(_key_of_page(cursor), page, hints, max(len(getattr(page, self.kind)), size >> 10), version)
        return not is_mixed

    def forget_pages(self) -> None:
        """Drop all pages, because a cursor is not valid any longer; the list need not have changed."""
        for key in self.keys():
            for store in self._stores:
                store.drop(key)

    def current(self) -> Optional[Tuple[Any, ...]]:
        """Return the items of the list, if every page is what the server would answer now; else None."""
        return self._walk(self.fresh)

    def named(self) -> Optional[Mapping[str, Any]]:
        """Return the items by their names, fresh or not; None if the list has not come since it last changed.

        It is the same object until another page comes.
        """
        stamp = self.stamp
        stamp_then, names = self._named
        if stamp_then != stamp:
            items = self._walk(self.last)
            names = None if items is None else by_name(items)
            self._named = (stamp, names)
        return names

    def _walk(self, look: Any) -> Optional[Tuple[Any, ...]]:
        """Return the items of all pages, from the first on; None if one is missing, or if they lead in a circle."""
        items: List[Any] = []
        cursor: Optional[str] = None
        for _ in range(len(self.keys()) + 1):
            page = look(_key_of_page(cursor))
            if page is None:
                return None
            items += getattr(page, self.kind)
            cursor = page.next_cursor
            if cursor is None:
                return tuple(items)
        return None


def _key_of_page(cursor: Optional[str]) -> Key:
    """Return the key of a page, as `mcp_ref.protocol.results.key` makes it; a cursor that came is JSON."""
    return () if cursor is None else (("cursor", dumps(cursor)),)


def by_name(items: Sequence[Any]) -> Dict[str, Any]:
    """Return items by their names; of two with one name the first counts."""
    return {item.name: item for item in reversed(items)}


def capacity(method: str, limits: Limits) -> int:
    """Return the capacity of a store: items of a list, bytes of what was read."""
    return limits.max_cached_resource_bytes if method == READ_RESOURCE else limits.max_cached_items


class ServerCache:
    """All that is kept of one server: its lists by kind (a key of LISTS), what was read, what it said of itself.

    ``capabilities``: those of a server that tells of changes by itself. ``shared``: the answers that are shared with
    other clients, and ``place``: the server's address and the revision that is spoken.
    """

    def __init__(
        self, capabilities: Mapping[str, Any], limits: Limits = DEFAULT, shared: Optional[SharedAnswers] = None,
        place: Tuple[Optional[str], str] = (None, ""),
    ) -> None:
        def make(method: str, kind: str = "") -> MethodCache:
            store = None if shared is None or place[0] is None else shared.store(place[0], place[1], method)
            return MethodCache(method, capacity(method, limits), store, kind)

        self.result_check: "Optional[ResultCheck]" = None
        """The check of tool results, which knows the compiled schemas; made when the first tool is called."""
        self._mirrored: "Tuple[Any, Dict[str, Optional[Sequence[Mirrored]]]]" = (None, {})
        """A list of tools, and what `mirrored` has found in it."""
        self.others = {method: make(method) for method in (READ_RESOURCE, DISCOVER)}
        self._lists = {kind: make(row.method, kind) for kind, row in LISTS.items()}
        for kind, row in LISTS.items():
            self._lists[kind].server_notifies = has(capabilities, row.capability)

    def __getitem__(self, kind: str) -> MethodCache:
        return self._lists[kind]

    def server_notifies(self, methods: Collection[str]) -> None:
        """Note that the server tells of these changes from now on, named by their notifications, and of no others.

        A list that came while it did not tell may have changed unseen: it is forgotten.
        """
        for kind, row in LISTS.items():
            pages, notifies = self._lists[kind], row.changed in methods
            if notifies and not pages.server_notifies:
                pages.changed()
            pages.server_notifies = notifies

    def on_notification(self, method: str, params: Optional[Mapping[str, Any]] = None) -> None:
        """Forget what a notification of the server is about."""
        for kind, row in LISTS.items():
            if row.changed == method:
                self._lists[kind].changed()
        uri = (params or {}).get("uri")
        if method == RESOURCE_UPDATED and isinstance(uri, str):
            read, changed = self.others[READ_RESOURCE], dumps(uri)[:-1]
            for key in [(("uri", dumps(uri)),), *read.keys()]:
                for text in [text[:-1] for name, text in key if name == "uri"]:
                    if text.startswith(changed) or changed.startswith(text):
                        read.changed(key)

    def forget(self) -> None:
        """Forget everything."""
        for cache in (*self._lists.values(), *self.others.values()):
            cache.changed()

    def mirrored(self, name: str) -> "Optional[Sequence[Mirrored]]":
        """Return which arguments of a tool are repeated in header fields, from its input schema; None if it is unknown.

        [2026-07-28 basic/transports/streamable-http §Schema Extension]
        """
        from ..protocol.streamable_http.mirrored import annotations

        tools = self._lists["tools"].named()
        if tools is None:
            return None
        source, by_tool = self._mirrored
        if source is not tools:  # another list has come
            by_tool = {}
            self._mirrored = (tools, by_tool)
        if name not in by_tool:
            tool = tools.get(name)
            by_tool[name] = None if tool is None else annotations(tool.input_schema)
        return by_tool[name]

    def version(self, kinds: Iterable[str]) -> List[Version]:
        """Return a value that is another one after each change of one of these lists."""
        return [self._lists[kind].version for kind in kinds]
