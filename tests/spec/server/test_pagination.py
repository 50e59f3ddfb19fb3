"""Pages of the four lists of a server: cursors that stay good while the list changes, and those that never were."""
import base64
import contextlib
import itertools
import random

import pytest

from mcp_ref import Server
from tests.support.requirements_table import every_revision_of
from tests.support.scripted import ScriptedPeer

NUMBERS = itertools.count(1)
LISTS = {
    "tools/list": ("tools", "name", lambda server, name: server.tool(lambda: "x", name=name),
                   lambda server, name: server.remove_tool(name)),
    "prompts/list": ("prompts", "name", lambda server, name: server.prompt(lambda: "x", name=name),
                     lambda server, name: server.remove_prompt(name)),
    "resources/list": ("resources", "uri", lambda server, name: server.resource("test://" + name)(lambda: "x"),
                       lambda server, name: server.remove_resource("test://" + name)),
    "resources/templates/list": (
        "resourceTemplates", "uriTemplate", lambda server, name: server.resource("test://%s/{x}" % name)(lambda x: "x"),
        lambda server, name: server.remove_resource("test://%s/{x}" % name)),
}
"""Method -> member of the result, member that names an item, how one is registered and removed."""

every_list = pytest.mark.parametrize("method", sorted(LISTS))


class Paged:
    """A server with pages of three, and a client that walks through one of its lists."""

    def __init__(self, server, peer, method):
        self.server, self.peer, self.method = server, peer, method
        self.member, self.naming, self._add, self._remove = LISTS[method]

    def add(self, *names):
        for name in names:
            self._add(self.server, name)

    def remove(self, *names):
        for name in names:
            self._remove(self.server, name)

    def ask(self, cursor=None):
        params = None if cursor is None else {"cursor": cursor}
        return self.peer.call("page %d" % next(NUMBERS), self.method, params)

    def page(self, cursor=None):
        """The short names on a page, and the cursor of the next one."""
        result = self.ask(cursor)["result"]
        names = [item[self.naming].replace("test://", "").replace("/{x}", "") for item in result[self.member]]
        return names, result.get("nextCursor")

    def walk(self, cursor=None):
        """The names on all pages from here on."""
        names, cursor = self.page(cursor)
        while cursor is not None:
            more, cursor = self.page(cursor)
            names += more
        return names


@contextlib.contextmanager
def paged(method, revision="2025-11-25", names="abcdefghijk", page_size=3, order="registration"):
    server = Server("pages", page_size=page_size, order=order)
    for each in LISTS:  # so that every list is there
        Paged(server, None, each).add("zero")
    with ScriptedPeer.of_server(server) as peer:
        peer.handshake(revision)
        peer.barrier()
        made = Paged(server, peer, method)
        made.add(*names)
        made.remove("zero")
        yield made


@every_list
@pytest.mark.parametrize("revision", every_revision_of("pagination.stable-cursors"))
def test_pages_hold_everything_once_in_order(revision, method):
    """[.. server/utilities/pagination §Pagination Flow]"""
    with paged(method, revision) as pages:
        first, cursor = pages.page()
        assert first == ["a", "b", "c"] and isinstance(cursor, str)
        assert pages.walk() == list("abcdefghijk")
    for names in ("", "a", "abc", "abcd"):
        with paged(method, revision, names) as pages:
            assert pages.walk() == list(names)
            assert (pages.page()[1] is None) == (len(names) <= 3), "only where more follows there is a cursor"


@pytest.mark.spec("pagination.stable-cursors")
@every_list
@pytest.mark.parametrize("revision", every_revision_of("pagination.stable-cursors"))
def test_a_cursor_gives_the_same_page_again(revision, method):
    """[.. server/utilities/pagination §Implementation Guidelines] SHOULD"""
    with paged(method, revision) as pages:
        _, cursor = pages.page()
        assert [pages.page(cursor) for _ in range(3)] == [(["d", "e", "f"], pages.page(cursor)[1])] * 3
        assert pages.page()[1] == cursor
        pages.add("later")
        assert pages.page(cursor)[0] == ["d", "e", "f"]


@pytest.mark.spec("pagination.stable-cursors")
@pytest.mark.parametrize("order", ["registration", "name"])
@pytest.mark.parametrize("changes, registration, name", [
    (lambda pages: pages.add("x", "y"), "defghijkxy", "defghijkxy"),
    (lambda pages: pages.remove("a"), "defghijk", "defghijk"),
    (lambda pages: pages.add("A", "0", "B"), "defghijkA0B", "defghijk"),
    (lambda pages: pages.add("db", "da"), [*"defghijk", "db", "da"], ["d", "da", "db", *"efghijk"]),
    (lambda pages: pages.remove("c"), "defghijk", "defghijk"),
    (lambda pages: pages.remove("a", "b", "c"), "defghijk", "defghijk"),
    (lambda pages: pages.remove("d"), "efghijk", "efghijk"),
    (lambda pages: pages.remove("c", "d", "k"), "efghij", "efghij"),
    (lambda pages: pages.remove(*"abcdefghijk"), "", ""),
    (lambda pages: (pages.remove("c"), pages.add("c")), "defghijkc", "defghijk"),
    (lambda pages: (pages.remove(*"abcdefghijk"), pages.add("x")), "x", "x"),
    (lambda pages: (pages.add("x"), pages.remove("x"), pages.add("y")), "defghijky", "defghijky"),
])
@every_list
@pytest.mark.parametrize("revision", every_revision_of("pagination.stable-cursors"))
def test_a_list_that_changed_goes_on_where_it_was(revision, method, changes, registration, name, order):
    """[.. server/utilities/pagination §Implementation Guidelines] SHOULD"""
    with paged(method, revision, order=order) as pages:
        first, cursor = pages.page()
        assert first == ["a", "b", "c"]
        changes(pages)
        assert pages.walk(cursor) == list({"registration": registration, "name": name}[order])


@pytest.mark.spec("pagination.stable-cursors")
@pytest.mark.parametrize("order", ["registration", "name"])
@pytest.mark.parametrize("seed", range(10))
def test_what_is_there_all_along_is_shown_exactly_once_whatever_else_comes_and_goes(seed, order):
    """[.. server/utilities/pagination §Implementation Guidelines] SHOULD"""
    chance = random.Random(seed)
    staying = ["stay%d" % number for number in range(20)]
    passing = ["pass%d" % number for number in range(20)]
    names = staying + passing
    chance.shuffle(names)
    expected = sorted(staying) if order == "name" else [name for name in names if name in staying]
    with paged("tools/list", names=names, page_size=chance.choice([1, 2, 3, 7]), order=order) as pages:
        shown, cursor = pages.page()
        while cursor is not None:
            for _ in range(chance.randrange(4)):
                if passing and chance.random() < 0.6:
                    pages.remove(passing.pop(chance.randrange(len(passing))))
                else:
                    passing.append("new%d" % next(NUMBERS))
                    pages.add(passing[-1])
            more, cursor = pages.page(cursor)
            shown += more
        assert [name for name in shown if name in staying] == expected
        assert len(set(shown)) == len(shown)


def foreign_cursors(pages):
    """What no list of this server gave, or another list did."""
    ours = pages.page()[1]
    text = base64.urlsafe_b64decode(ours).decode("ascii")
    member, check, key = text.split(" ")
    inside = [
        text + " ", " " + text, text.upper(), text[:-1], text + "0", "", " ", "a b c", member, member + " " + check,
        " ".join([member, check, "d" if key == "c" else key[:-1]]), " ".join([member, "0" * 8, key]),
        " ".join([member, check.upper(), key]) if check.upper() != check else "x",
        " ".join([member, "0x" + check, key]),
        " ".join([member, check + "0", key]), "  ".join([member, check, key]), "\t".join([member, check, key]),
        member + " " + key, check + " " + key,
    ]
    lists = {"tools", "prompts", "resources", "resource_templates"} - {member}
    inside += [" ".join([other, check, key]) for other in lists]
    changed = [base64.urlsafe_b64encode(one.encode("utf-8")).decode("ascii") for one in inside]
    changed.append("!" + ours)
    odd = ["", " ", "0", "x", "AAAA", "\u00e9", "\ud83d\ude00", "null", "eyJwYWdlIjogM30=", "a" * 200000, "=" * 100,
           "9" * 100000, ours[:-1], ours + "A", ours + "=", ours + "\n", " " + ours, ours[::-1],
           ours[:4] + "!" + ours[4:]]
    others = [Paged(pages.server, pages.peer, method) for method in LISTS if method != pages.method]
    for other in others:
        other.add("p", "q", "r", "s")
    return changed + odd + [other.page()[1] for other in others]


@pytest.mark.spec("pagination.invalid-cursor-32602", "pagination.invalid-cursor-graceful")
@every_list
@pytest.mark.parametrize("revision", every_revision_of("pagination.invalid-cursor-32602"))
def test_cursors_that_this_list_did_not_give_are_refused(revision, method):
    """[.. server/utilities/pagination §Error Handling] SHOULD"""
    with paged(method, revision) as pages:
        for cursor in foreign_cursors(pages):
            error = pages.ask(cursor)["error"]
            assert error["code"] == -32602 and "cursor" in error["message"], cursor
            assert len(error["message"]) < 200


@pytest.mark.spec("pagination.invalid-cursor-graceful", "pagination.invalid-cursor-32602")
@every_list
@pytest.mark.parametrize("revision", every_revision_of("pagination.invalid-cursor-graceful"))
def test_after_a_bad_cursor_the_list_is_as_good_as_before(revision, method):
    """[.. server/utilities/pagination §Implementation Guidelines] SHOULD"""
    with paged(method, revision) as pages:
        _, cursor = pages.page()
        for bad in (1, True, [], {}, ["x"], 1.5):
            assert pages.ask(bad)["error"]["code"] == -32602
        assert pages.ask("nonsense")["error"]["code"] == -32602
        assert pages.walk(cursor) == list("defghijk") and pages.walk() == list("abcdefghijk")


def test_a_cursor_is_as_good_in_another_process_that_serves_the_list():
    """So that several workers can serve one client, and a server that was started again, too."""
    with paged("tools/list") as pages, paged("tools/list") as same:
        _, cursor = pages.page()
        assert same.page()[1] == cursor and same.walk(cursor) == list("defghijk")


def test_a_cursor_by_name_is_as_good_wherever_the_list_is_served_in_whatever_order_it_was_registered():
    with paged("tools/list", order="name") as pages, paged("tools/list", names="kjihgfedcba", order="name") as same, \
            paged("tools/list", names="uvwxyz", order="name") as other:
        _, cursor = pages.page()
        assert same.page()[1] == cursor and same.walk(cursor) == list("defghijk")
        assert other.walk(cursor) == list("uvwxyz")


@pytest.mark.parametrize("size", [0, -1])
def test_a_page_holds_at_least_one_item(size):
    with pytest.raises(ValueError, match="page_size must be at least 1"):
        Server("pages", page_size=size).tool(lambda: "x", name="x")
