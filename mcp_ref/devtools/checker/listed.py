"""Lists of a server: the runs through its lists, page by page, and the newest definition of each item.

The rules of tools, resources, prompts, pagination and caching read it. A result of a list is taken in before the rules
are asked about it: ``message.notes["listing"]`` is the `PagedList` that it belongs to, unless the page was asked for a
second time, ``message.notes["before"]`` the newest complete one before, and ``new_items(message)`` are the items that
were not listed before as they are.
"""

from typing import Any, Dict, List, Mapping, Optional, Set, Tuple

from ...methods import LIST_CHANGED
from .bounds import Bounds, Forgetful
from .observed import NOTIFICATION, RESULT, Message, ObservedSession
from .rules import MESSAGE, observe

LISTS: Dict[str, Tuple[str, str]] = {
    "tools/list": ("tools", "name"),
    "prompts/list": ("prompts", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
}
"""The methods that list, with the member that has the items and the one that tells them apart."""
_TAKEN = {**LISTS, "skills/list": ("skills", "uri")}
"""All lists: those and the one that an extension adds."""
FEATURES: Dict[str, str] = {"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources"}
"""The methods that list -> the feature, whose `LIST_CHANGED` is about it."""
NOTICES: Dict[str, Tuple[str, ...]] = {
    notice: tuple(method for method in LISTS if method.startswith(feature + "/"))
    for feature, notice in LIST_CHANGED.items()
}
"""The notification of a change -> the lists that it is about."""

_OPEN = 64
"""Runs of one session that may go on at once."""


class PagedList:
    """A run through a list: the pages that were asked for one after the other."""

    __slots__ = ("method", "first", "last", "names", "scope", "cursor", "pages", "complete", "whole")

    def __init__(self, method: str, first: Message) -> None:
        self.method = method
        self.first = first
        """The request of the first page."""
        self.last = first
        """The result of the newest page."""
        self.names: Dict[str, None] = {}
        """Names or URIs of the items, in the order of the list."""
        self.scope: Any = None
        """``cacheScope`` of the first page."""
        self.cursor: Any = None
        """``nextCursor`` of the newest page."""
        self.pages = 0
        self.complete = False
        """True if the newest page had no ``nextCursor``."""
        self.whole = True
        """False if there were too many items to remember."""


class Lists:
    """The lists of a session."""

    def __init__(self) -> None:
        self.open: "Forgetful[Tuple[str, str, Optional[str]], PagedList]" = Forgetful(_OPEN)
        """Runs by method, the cursor that leads on, and the digest of the caller's credentials."""
        self.complete: Dict[str, PagedList] = {}
        """The newest complete run of each method."""
        self.items: Dict[str, "Forgetful[str, Mapping[str, Any]]"] = {
            method: Forgetful(Bounds().entries) for method in _TAKEN}
        """The newest definitions of the items of each method."""
        self.changed: Dict[str, Message] = {}
        """The newest notification that the list of a method has changed."""
        self.folded: Dict[str, Tuple[PagedList, Set[str]]] = {}
        """The names of the newest complete run without regard to case."""

    def complete_since_change(self, method: str) -> Optional[PagedList]:
        """Return the newest complete run through a list, if all its items are known and no change was announced
        since."""
        found, change = self.complete.get(method), self.changed.get(method)
        if found is None or not found.whole or (change is not None and change.index > found.first.index):
            return None
        return found

    def definition(self, method: str, name: Any) -> Optional[Mapping[str, Any]]:
        """Return the newest definition of an item, unless a change was announced after the last complete run."""
        if not isinstance(name, str):
            return None
        if method in self.changed and self.complete_since_change(method) is None:
            return None
        return self.items[method].get(name)  # type: ignore[no-any-return]


def lists(session: ObservedSession) -> Lists:
    """Return what was listed in a session."""
    return session.state(Lists)


def new_items(message: Message) -> List[Tuple[int, Mapping[str, Any]]]:
    """Return the items of a page that are new or have changed, each with its index; other than objects are left out."""
    found: List[Tuple[int, Mapping[str, Any]]] = message.notes.get("new", [])
    return found


def cursor_of(request: Optional[Message]) -> Optional[str]:
    """Return the cursor of a request; None if it has none."""
    cursor = request.params.get("cursor") if request is not None else None
    return cursor if isinstance(cursor, str) else None


@observe(on=MESSAGE, method=tuple(_TAKEN))
def take_page(message: Message) -> None:
    """Take in a page of a list."""
    request, known = message.request, lists(message.session)
    if message.kind != RESULT or request is None or message.again:
        return
    method = message.method
    member, key = _TAKEN[method]
    cursor, found = cursor_of(request), None
    if "cursor" not in request.params:
        found = PagedList(method, request)
    elif cursor is not None:
        found = known.open.pop((method, cursor, _caller(message)))
    page, new = message.result.get(member), []
    for place, item in enumerate(page if isinstance(page, list) else ()):
        name = item.get(key) if isinstance(item, dict) else None
        if isinstance(name, str):
            if known.items[method].get(name) != item:
                known.items[method][name] = item
                new.append((place, item))
            if found is not None:
                found.names[name] = None
        elif isinstance(item, dict):
            new.append((place, item))
    message.notes["new"] = new
    if found is not None:
        _go_on(known, found, message)


def _caller(message: Message) -> Optional[str]:
    """Return the digest of the credentials of a request over HTTP; None without any."""
    return message.exchange.header("authorization") if message.exchange is not None else None


def _go_on(known: Lists, found: PagedList, message: Message) -> None:
    """Note where a run through a list stands after a page."""
    message.notes["listing"] = found
    before = message.notes["before"] = known.complete.get(found.method)
    if before is not None:
        before.last.notes.clear()  # otherwise each would hold the one before it
    found.pages += 1
    found.last = message
    found.whole = found.whole and len(found.names) <= Bounds().entries
    if not found.whole:
        found.names.clear()
    if found.pages == 1:
        found.scope = message.result.get("cacheScope")
    found.cursor = message.result.get("nextCursor")
    if isinstance(found.cursor, str):
        known.open[found.method, found.cursor, _caller(message)] = found
    elif found.cursor is None:
        found.complete = True
        known.complete[found.method] = found


@observe(on=NOTIFICATION, method=tuple(NOTICES))
def take_change(message: Message) -> None:
    """Note that a list has changed."""
    for method in NOTICES[message.method]:
        lists(message.session).changed[method] = message
