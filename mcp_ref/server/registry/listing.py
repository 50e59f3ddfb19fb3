"""The lists of a server: registered items, their pages and cursors.

A list changes rarely and is asked for often, so the JSON text of its pages is cached for each revision
until an item is added or removed. The library gives a whole list in one page unless ``page_size``
says otherwise.

Items are listed in the order of registration, or with ``Server(order="name")`` by name (or URI), by code points. Either
gives the same text each time, after a restart and in every process that registers in the same order, so that caches of
clients and of models stay valid [2026-07-28 server/tools §Capabilities] SHOULD. Reading: the page asks it of tools;
this package does the same for the other lists, and in every revision, because nothing speaks against it.

A cursor names the item behind which the next page begins, whether or not that item still exists: by its
number among all that were ever registered, or by its key if the order is that of names. So an item that
was in the list from the first page to the last is listed exactly once, whatever was added or removed
meanwhile [.. server/utilities/pagination §Implementation Guidelines] SHOULD. A cursor is valid in every
process that has registered the same items.

In a list of which some members are hidden from some clients (`mcp_ref.server.registry.visibility`) the text of pages is
cached for each set of members that somebody sees, and a cursor names the last item of its page by its key: numbers
would tell how many there are between. Such a cursor is refused if this item has been removed or hidden meanwhile.

A cursor also holds the name of its list and a checksum. A cursor that this list has not made is
refused with -32602 [.. server/utilities/pagination §Error Handling] SHOULD. Reading: the empty
string is no cursor of this package, so it is refused, too, rather than taken for the first page.

How long clients may keep a page is the same for all pages of a list; see `mcp_ref.server.registry.caching`.
"""

import threading
from binascii import crc32
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, FrozenSet, Generic, List, NamedTuple, Optional, Tuple, TypeVar, Union,
)

from ...codec import encode
from ...errors import INVALID_PARAMS, RpcError
from ...jsonrpc import Encoded
from ...jsontext import dumps
from ...messages.pagination import PaginatedRequestParams
from ...peer.context import Context, Route, params_reader
from ...revisions import Revision
from .checks import Paging

if TYPE_CHECKING:
    from .caching import Cache
    from .visibility import Visible

Item = TypeVar("Item")

_MAX_CURSOR = 65536
"""Characters of the longest cursor that is decoded. A cursor of this package is a third longer than its URI."""
_PARTS = 64
"""The sets of members that somebody sees, of which pages are cached; beyond that the oldest is forgotten."""


class Listing(Generic[Item]):
    """The registered items of one kind by key (a name or a URI). Thread-safe.

    ``kind`` is the word for an item in errors. ``describe`` makes the message of an item; ``result`` is the class of a
    page and ``member`` its attribute for items. ``changed`` is called after each change, outside any lock, on the
    thread that made it, with the function that says who sees the item, None for everybody. ``cache``: the hint of every
    page.

    An item may have an attribute ``visible``, see `mcp_ref.server.registry.visibility`. Methods take the context of the
    request that they are asked for; without one they see all.
    """

    def __init__(
        self, kind: str, result: Any, member: str, describe: Callable[[Item], Any], paging: Paging = Paging(),
        changed: "Optional[Callable[[Optional[Visible]], None]]" = None, cache: "Optional[Cache]" = None,
    ) -> None:
        self.kind = kind
        self._result = result
        self._member = member
        self._describe = describe
        self._page_size, self._by_name = paging
        self._changed = changed
        self._hints: Dict[str, Any] = {} if cache is None else cache.hints
        self.hideable: "Tuple[Visible, ...]" = ()
        """The functions of those items that not everybody sees."""
        self._lock = threading.Lock()
        self._items: Dict[str, Item] = {}
        self._numbers: Dict[str, int] = {}
        """Key -> number of the item, counted from 1 in the order of registration and never used again."""
        self._registered = 0
        self._view: Optional[_View] = None

    # Changes

    def add(self, key: str, item: Item) -> None:
        """Register an item. Raises ValueError if the key is taken; keys that differ in case are two."""
        with self._lock:
            if key in self._items:
                raise ValueError("there is a %s %r already" % (self.kind, key))
            self._items[key] = item
            self._registered += 1
            self._numbers[key] = self._registered
            self._view = None
            visible = _visible_of(item)
            if visible is not None:
                self.hideable += (visible,)
        if self._changed is not None:
            self._changed(visible)

    def remove(self, key: str) -> None:
        """Take an item out. Raises KeyError if there is none."""
        with self._lock:
            if key not in self._items:
                raise KeyError("there is no %s %r" % (self.kind, key))
            visible = _visible_of(self._items[key])
            del self._items[key], self._numbers[key]
            self._view = None
            if visible is not None:
                self.hideable = tuple(each for each in self.hideable if each is not visible)
        if self._changed is not None:
            self._changed(visible)

    # Items

    def get(self, key: str) -> Optional[Item]:
        """Return the item of this key, None if there is none."""
        return self._items.get(key)

    def find(self, key: str, context: Optional[Context]) -> Optional[Item]:
        """Return the item of this key if the sender of this request sees it; else None."""
        item, hideable = self._items.get(key), self.hideable
        if not hideable or context is None or context.detached:  # a task was let in when it was created
            return item
        from .visibility import requester_of

        visible = hideable[0] if item is None else _visible_of(item)  # an unknown item takes as long as a hidden one
        return item if visible is None or visible.shows(requester_of(context)) else None

    def values(self) -> List[Item]:
        """Return all items, in order of registration."""
        with self._lock:
            return list(self._items.values())

    def seen(self, context: Optional[Context]) -> List[Item]:
        """Return the items that the sender of this request sees, in order of registration."""
        return seen_of(self.values(), context) if self.hideable else self.values()

    @property
    def hints(self) -> Dict[str, Any]:
        """The caching hints of every page: attribute of its message -> value."""
        return dict(self._hints, cache_scope="private") if self.hideable and self._hints else self._hints

    def __len__(self) -> int:
        return len(self._items)

    # Pages

    def route(self, revision: Revision) -> Route:
        """Return the route of the list request of this kind."""
        read = params_reader(PaginatedRequestParams, revision)

        def answer(context: Context, params: Dict[str, Any]) -> Encoded:
            return self.page(revision, read(params, context).cursor, context)

        return Route(answer)

    def page(self, revision: Revision, cursor: Optional[str], context: Optional[Context] = None) -> Encoded:
        """Return the text of one page; ``cursor`` as the client sent it. Raises `RpcError` -32602 for a bad one."""
        view = self._view or self._look()
        if view.hideable and context is not None:
            view = self._part(view, context)
        start = 0 if cursor is None else self._start(cursor, view)
        found = view.pages.get((revision.rank, start))
        return found if found is not None else self._make(revision, view, start)

    def part(self, cursor: Optional[str], context: Optional[Context] = None) -> Tuple[List[Any], Optional[str]]:
        """Return the described items of one page and the cursor of the next page, None after the last page.

        ``cursor``: as for `page`, which returns the whole result as text. This is for `resources/list` of a server with
        directories: their files follow the registered resources in the same list, so the result is made elsewhere.
        """
        view = self._view or self._look()
        if view.hideable and context is not None:
            view = self._part(view, context)
        return self._cut(view, 0 if cursor is None else self._start(cursor, view))

    def _cut(self, view: "_View", start: int) -> Tuple[List[Any], Optional[str]]:
        """Return the described items of the page that begins at this index, and the cursor of the next page."""
        stop = len(view.items) if self._page_size is None else start + self._page_size
        shown = [self._describe(item) for item in view.items[start:stop]]
        return shown, None if stop >= len(view.items) else self._write_cursor(view.ranks[stop - 1], view.mark)

    def _look(self) -> "_View":
        """Return the current items in the order of the list, with the texts of pages that are made of them.

        The next change of the list discards this view, and so the texts.
        """
        with self._lock:
            view = self._view
            if view is None:
                keys = sorted(self._items) if self._by_name else list(self._items)
                ranks = keys if self._by_name or self.hideable else [self._numbers[key] for key in keys]
                items = [self._items[key] for key in keys]
                view = self._view = _View(items, ranks, {}, _hideable_among(items) if self.hideable else [], {})
            return view

    def _part(self, view: "_View", context: Context) -> "_View":
        """Return the part of a view that the sender of this request sees, with its pages."""
        from .visibility import hidden_of, requester_of

        hidden = hidden_of(view.hideable, requester_of(context))
        part: Optional[_View] = view.parts.get(hidden)
        if part is None:
            left = [number for number in range(len(view.items)) if number not in hidden]
            part = _View([view.items[number] for number in left], [view.ranks[number] for number in left], {},
                         view.hideable, {})
            with self._lock:
                while len(view.parts) >= _PARTS:
                    del view.parts[next(iter(view.parts))]
                view.parts[hidden] = part
        return part

    def _make(self, revision: Revision, view: "_View", start: int) -> Encoded:
        shown, following = self._cut(view, start)
        result = self._result(next_cursor=following, **{self._member: shown}, **self.hints)
        made = Encoded(dumps(encode(result, revision)))
        if not start or self._page_size and start % self._page_size == 0:
            # Only pages that begin where this server would begin one are cached: of other cursors a client could make
            # up as many as there are items.
            view.pages[(revision.rank, start)] = made
        return made

    # Cursors

    def _write_cursor(self, rank: Union[int, str], mark: str = "") -> str:
        return _cursor(self._member + mark, str(rank).encode("utf-8", "surrogatepass"))

    def _start(self, cursor: str, view: "_View") -> int:
        """Return the index of the first item of the page that a cursor asks for."""
        from base64 import urlsafe_b64decode  # late: few lists have a second page
        from bisect import bisect_right

        try:
            if len(cursor) > _MAX_CURSOR:
                raise ValueError("longer than any of ours")
            rank = urlsafe_b64decode(cursor.encode("ascii")).split(b" ", 2)[-1]
            if cursor == _cursor(self._member + view.mark, rank):
                key = rank.decode("utf-8", "surrogatepass")
                if view.hideable and not self._by_name:
                    return view.ranks.index(key) + 1
                return bisect_right(view.ranks, key if self._by_name else int(key))
        except ValueError:
            pass
        raise invalid_cursor()


class _View(NamedTuple):
    """The items of a list between two changes. ``pages``: rank of the revision and first index -> text of a page."""

    items: List[Any]
    ranks: List[Any]
    """The ranks of the items in their order: numbers, or keys."""
    pages: Dict[Tuple[int, int], Encoded]
    hideable: "List[Tuple[int, Visible]]"
    """The numbers of those of all items that not everybody sees, and the functions that say who does."""
    parts: Dict[FrozenSet[int], Any]
    """The numbers of hidden items -> the view of the others."""

    @property
    def mark(self) -> str:
        """The mark that sets cursors by keys apart from those by numbers."""
        return "*" if self.hideable else ""


def _visible_of(item: Any) -> "Optional[Visible]":
    return getattr(item, "visible", None)


def _hideable_among(items: List[Any]) -> "List[Tuple[int, Visible]]":
    found = [(number, _visible_of(item)) for number, item in enumerate(items)]
    return [(number, visible) for number, visible in found if visible is not None]


def seen_of(items: List[Item], context: Optional[Context]) -> List[Item]:
    """Return those of these items that the sender of a request sees; without a context all of them."""
    hideable = [] if context is None else _hideable_among(items)
    if not hideable or context is None:
        return items
    from .visibility import hidden_of, requester_of

    hidden = hidden_of(hideable, requester_of(context))
    return [item for number, item in enumerate(items) if number not in hidden]


def invalid_cursor() -> RpcError:
    """Return the error for a cursor that a list has not made [.. server/utilities/pagination §Error Handling] SHOULD.
    """
    return RpcError(INVALID_PARAMS, "Invalid cursor: it is not one of this list; ask for the first page again")


def _cursor(member: str, rank: bytes) -> str:
    from base64 import urlsafe_b64encode

    start = member.encode("ascii")
    return urlsafe_b64encode(b"%s %08x %s" % (start, crc32(start + rank), rank)).decode("ascii")
