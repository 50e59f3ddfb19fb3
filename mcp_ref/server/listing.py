"""Lists that servers show: pages, cursors, and the text of a page made once.

A list changes rarely and is asked for often, so its JSON text is kept for each revision until an
item is added or removed. The library gives a whole list in one page unless ``page_size`` says
otherwise. A cursor is opaque: it holds the key of the last item shown, so that it survives
insertions, and the name of its list, so that a foreign one is refused with -32602
[.. server/utilities/pagination §Error Handling] SHOULD.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any, Callable, Dict, Generic, List, Optional, Tuple, TypeVar

from ..codec import encode
from ..errors import INVALID_PARAMS, RpcError
from ..jsonrpc import Encoded
from ..jsontext import dumps
from ..messages.pagination import PaginatedRequestParams
from ..peer.context import Context, Route
from ..revisions import Revision
from .params import params_reader

Item = TypeVar("Item")


class Listing(Generic[Item]):
    """Registered items in order of registration, by key (a name or a URI).

    ``describe`` makes the message of an item; ``result`` is the class of a page and ``member`` its attribute for items.
    """

    def __init__(
        self, kind: str, result: Any, member: str, describe: Callable[[Item], Any], page_size: Optional[int] = None
    ) -> None:
        self.kind = kind
        self._result = result
        self._member = member
        self._describe = describe
        self._page_size = page_size
        self._items: Dict[str, Item] = {}
        self._pages: Dict[Tuple[int, str], Encoded] = {}

    def add(self, key: str, item: Item) -> None:
        """Register an item. Raises ValueError if the key is taken."""
        if key in self._items:
            raise ValueError("there is a %s %r already" % (self.kind, key))
        self._items[key] = item
        self._pages = {}

    def remove(self, key: str) -> None:
        """Take an item out. Raises KeyError if there is none."""
        items = dict(self._items)
        del items[key]
        self._items, self._pages = items, {}

    def get(self, key: str) -> Optional[Item]:
        """The item of this key."""
        return self._items.get(key)

    def values(self) -> List[Item]:
        """All items."""
        return list(self._items.values())

    def route(self, revision: Revision) -> Route:
        """Answers the list request of this kind."""
        read = params_reader(PaginatedRequestParams, revision)

        def answer(context: Context, params: Dict[str, Any]) -> Encoded:
            return self.page(revision, read(params).cursor)

        return Route(answer)

    def __len__(self) -> int:
        return len(self._items)

    def page(self, revision: Revision, cursor: Any) -> Encoded:
        """The text of one page; ``cursor`` as it came. Raises `RpcError` -32602 for a cursor that is not ours."""
        after = self._read_cursor(cursor)
        found = self._pages.get((revision.rank, after))
        if found is None:
            found = self._pages[(revision.rank, after)] = self._make(revision, after)
        return found

    def _make(self, revision: Revision, after: str) -> Encoded:
        keys = list(self._items)
        start = keys.index(after) + 1 if after else 0
        stop = len(keys) if self._page_size is None else min(start + self._page_size, len(keys))
        shown = [self._describe(self._items[key]) for key in keys[start:stop]]
        following = self._write_cursor(keys[stop - 1]) if stop < len(keys) else None
        return Encoded(dumps(encode(self._result(**{self._member: shown, "next_cursor": following}), revision)))

    def _write_cursor(self, key: str) -> str:
        return urlsafe_b64encode(("%s\n%s" % (self._member, key)).encode("utf-8")).decode("ascii")

    def _read_cursor(self, cursor: Any) -> str:
        """The key after which the page starts; empty for the first page."""
        if cursor is None:
            return ""
        try:
            member, _, key = urlsafe_b64decode(cursor.encode("ascii")).decode("utf-8").partition("\n")
        except (ValueError, AttributeError):
            member, key = "", ""
        if member != self._member or key not in self._items:
            raise RpcError(INVALID_PARAMS, "Invalid cursor: ask for the first page again")
        return key
