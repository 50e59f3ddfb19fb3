"""A list that changes while it is shown: what is kept, what is told, and what other threads do to it."""
import itertools
import json
import threading

import pytest

from mcp_ref import Server
from mcp_ref.errors import RpcError
from mcp_ref.messages.tools import ListToolsResult, Tool
from mcp_ref.revisions import HANDSHAKE_REVISIONS, LATEST, LATEST_HANDSHAKE
from mcp_ref.server.registry.checks import paging_of
from mcp_ref.server.registry.listing import Listing
from tests.support.scripted import PATIENCE
from tests.support.sides import Gate, in_thread

SCHEMA = {"type": "object"}


def listing(describe=None, page_size=None, changed=None, order="registration"):
    """A list of tools whose items are their names."""
    return Listing("tool", ListToolsResult, "tools", describe or (lambda name: Tool(name, SCHEMA)),
                   paging_of(page_size, order), changed)


def cursor_after(made, name):
    """A cursor whose page begins behind an item of the list."""
    return made._write_cursor(name if made._by_name else made._numbers[name])


every_order = pytest.mark.parametrize("order", ["registration", "name"])


def page(made, cursor=None, revision=LATEST_HANDSHAKE):
    """Names and cursor of a page."""
    result = json.loads(made.page(revision, cursor))
    return [tool["name"] for tool in result["tools"]], result.get("nextCursor")


def filled(*names, **options):
    made = listing(**options)
    for name in names:
        made.add(name, name)
    return made


def test_each_change_is_told_once_after_it_was_made():
    seen = []
    made = listing(changed=lambda visible: seen.append(page(made)[0]))
    made.add("a", "a")
    made.add("b", "b")
    made.remove("a")
    for refused, error in ((lambda: made.add("b", "b"), ValueError), (lambda: made.remove("a"), KeyError)):
        with pytest.raises(error, match="tool 'a|b'"):
            refused()
    assert seen == [["a"], ["a", "b"], ["b"]] and len(made) == 1
    assert made.values() == ["b"] and made.get("b") == "b" and made.get("a") is None


def test_a_page_is_made_once_for_each_revision_until_the_list_changes():
    made = filled("a", "b", "c", page_size=2)
    _, cursor = page(made)
    for start in (None, cursor):
        texts = [made.page(revision, start) for revision in HANDSHAKE_REVISIONS]
        assert [made.page(revision, start) for revision in HANDSHAKE_REVISIONS] == texts
        assert all(again is text for again, text in zip(
            [made.page(revision, start) for revision in HANDSHAKE_REVISIONS], texts))
    before = made.page(LATEST_HANDSHAKE, None)
    made.add("d", "d")
    assert made.page(LATEST_HANDSHAKE, None) is not before
    assert page(made, cursor) == (["c", "d"], None)


@every_order
def test_cursors_cannot_make_the_kept_pages_grow_beyond_the_list(order):
    """A client may ask for the page after any item, and know how cursors are written."""
    names = list(map(str, range(100)))
    made = filled(*names, page_size=10, order=order)
    names = sorted(names) if order == "name" else names
    for place, name in enumerate(names, 1):
        assert page(made, cursor_after(made, name))[0] == names[place:place + 10]
    assert len(made._view.pages) <= 11


def test_a_page_made_while_the_list_changes_is_not_kept():
    with Gate() as gate:
        made = filled("a", describe=lambda name: (gate.hold(), Tool(name, SCHEMA))[1])
        old = in_thread(made.page, LATEST_HANDSHAKE, None)
        gate.entered()
        made.add("b", "b")  # waits for nobody
        gate.open()
        assert [tool["name"] for tool in json.loads(old.get())["tools"]] == ["a"]
        assert page(made)[0] == ["a", "b"]


def test_describing_an_item_may_use_the_list():
    made = listing(lambda name: Tool("%s of %d" % (name, len(made.values())), SCHEMA))
    made.add("a", "a")
    made.add("b", "b")
    assert page(made)[0] == ["a of 2", "b of 2"]


def test_keys_that_are_no_unicode_are_keys():
    made = filled("\ud800", "b", page_size=1, order="name")
    made._describe = lambda name: Tool(ascii(name), SCHEMA)
    names, cursor = page(made)
    names += page(made, cursor)[0]
    assert names == ["'b'", "'\\ud800'"] and page(made, cursor_after(made, "\ud800")) == ([], None)


@pytest.mark.spec("tools.deterministic-order")
@pytest.mark.parametrize("page_size", [None, 1, 2])
def test_a_list_by_name_is_the_same_text_in_whatever_order_it_was_registered(page_size):
    """[2026-07-28 server/tools §Capabilities] SHOULD"""
    names = ["b", "a", "B", "a1", "\u00e9", "z"]
    texts = set()
    for order in itertools.permutations(names):
        made = filled(*order, "gone", page_size=page_size, order="name")
        made.remove("gone")
        texts.add((made.page(LATEST, None), made.page(LATEST, cursor_after(made, "a"))))
    assert len(texts) == 1


@pytest.mark.spec("tools.deterministic-order")
@pytest.mark.parametrize("page_size", [None, 1, 2])
def test_a_list_is_in_the_order_of_registration_the_same_in_each_process(page_size):
    """[2026-07-28 server/tools §Capabilities] SHOULD"""
    names = ["b", "a", "B", "gone", "a1", "\u00e9", "z"]
    one, other = filled(*names, page_size=page_size), filled(*names, page_size=page_size)
    for made in (one, other):
        made.remove("gone")
    names.remove("gone")
    shown, cursor = page(one)
    while cursor is not None:  # each page from the other one
        one, other = other, one
        more, cursor = page(one, cursor)
        shown += more
    assert shown == names
    assert one.page(LATEST, None) == other.page(LATEST, None)
    assert one.page(LATEST, cursor_after(one, "a")) == other.page(LATEST, cursor_after(other, "a"))


@every_order
def test_a_cursor_is_good_when_its_item_is_gone_or_has_come_back(order):
    made = filled("a", "b", "c", "d", page_size=2, order=order)
    _, cursor = page(made)
    made.remove("b")
    assert page(made, cursor) == (["c", "d"], None)
    made.add("b", "b")
    assert page(made, cursor) == ((["c", "d"], None) if order == "name" else (["c", "d"], page(made, cursor)[1]))
    assert page(made, cursor_after(made, "d")) == ([] if order == "name" else ["b"], None)


def test_an_order_that_is_none_is_refused():
    with pytest.raises(ValueError, match='order, of lists, is "registration" or "name", not \'size\''):
        Server("x", order="size")


@every_order
@pytest.mark.race
def test_threads_may_change_the_list_while_others_walk_through_it(order):
    """What stays is on the pages once, in order, whatever others do meanwhile."""
    staying = ["stay%02d" % number for number in range(30)]
    passing = ["pass%02d" % number for number in range(30)]
    made = listing(page_size=3, order=order)
    for names in zip(staying, passing):
        for name in names:
            made.add(name, name)
    start, end = threading.Barrier(5), threading.Event()

    def change(number):
        mine = passing[number::2]
        start.wait(PATIENCE)
        while not end.is_set():
            old = mine.pop(0)
            made.remove(old)
            mine.append(old + "'" if len(old) < 20 else old.rstrip("'"))  # a name comes back, too
            made.add(mine[-1], mine[-1])

    def walk():
        start.wait(PATIENCE)
        walks = []
        for _ in range(20):
            names, cursor = page(made)
            while cursor is not None and staying[-1] not in names:  # new ones may come faster than they are shown
                more, cursor = page(made, cursor)
                names += more
            walks.append(names)
        return walks

    changers = [in_thread(change, number) for number in range(2)]
    walkers = [in_thread(walk) for _ in range(2)]
    start.wait(PATIENCE)
    try:
        walks = [names for walker in walkers for names in walker.get()]
    finally:
        end.set()
    for changer in changers:
        changer.get()
    assert len(walks) == 40 and len(made) == 60
    for names in walks:
        assert [name for name in names if name in staying] == sorted(staying)


@pytest.mark.race
def test_one_of_many_threads_gets_a_name():
    made = listing()
    start = threading.Barrier(8)

    def add():
        start.wait(PATIENCE)
        try:
            made.add("same", "same")
            return 1
        except ValueError:
            return 0

    assert sum(outcome.get() for outcome in [in_thread(add) for _ in range(8)]) == 1
    assert page(made) == (["same"], None)


def test_a_cursor_that_is_no_string_of_ours_is_invalid_params():
    made = filled("a", "b", page_size=1)
    for cursor in ("", "x", "a" * 1_000_000, "\ud800"):
        with pytest.raises(RpcError) as caught:
            made.page(LATEST_HANDSHAKE, cursor)
        assert caught.value.code == -32602
