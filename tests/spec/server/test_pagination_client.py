"""Lists in pages, as a client asks for them [.. server/utilities/pagination §Implementation Guidelines]."""
import pytest

from mcp_ref.errors import PeerError, PeerProtocolError
from mcp_ref.limits import Limits
from tests.support.requirements_table import HANDSHAKE, every_revision_of
from tests.support.scene import Failure, Scene, paged, tool

KINDS = {
    "tools": ("tools/list", "tools", lambda n: tool("item %d" % n)),
    "resources": ("resources/list", "resources", lambda n: {"name": "item %d" % n, "uri": "test://%d" % n}),
    "resource_templates": (
        "resources/templates/list", "resourceTemplates", lambda n: {"name": "item %d" % n, "uriTemplate": "test://{x}"}
    ),
    "prompts": ("prompts/list", "prompts", lambda n: {"name": "item %d" % n}),
}
each_kind = pytest.mark.parametrize("kind", KINDS)
each_revision = pytest.mark.parametrize("revision", HANDSHAKE)

SIZES = ([3], [0], [1, 1], [2, 5, 1], [1, 0, 0, 4], [0, 100, 1], [10, 10, 10], [100, 1])


def pages_of(kind, sizes):
    """Pages of these many items, numbered throughout."""
    numbers = iter(range(1000))
    return [[KINDS[kind][2](next(numbers)) for _ in range(size)] for size in sizes]


def listed(scene, kind):
    return [item.name for item in getattr(scene.client, kind)()]


@pytest.mark.spec("pagination.no-fixed-size", "pagination.both-flows", "pagination.end", "prompts.client-pagination")
@pytest.mark.parametrize("sizes", SIZES)
@each_kind
@pytest.mark.parametrize("revision", every_revision_of("pagination.no-fixed-size", "prompts.client-pagination"))
def test_a_list_is_all_its_pages_whatever_their_sizes(revision, kind, sizes):
    """[.. server/utilities/pagination §Pagination Model] MUST NOT: assume a fixed page size"""
    method, member, _ = KINDS[kind]
    with Scene(revision, {method: paged(member, pages_of(kind, sizes))}) as scene:
        assert listed(scene, kind) == ["item %d" % n for n in range(sum(sizes))]
        cursors = [(params or {}).get("cursor") for params in scene.params(method)]
        assert cursors == [None] + [str(n) for n in range(1, len(sizes))], "one request for each page, and no more"


CURSORS = (
    "", " ", "0", "-1", "null", "undefined", "false", "{}", "eyJwYWdlIjogMn0=", "eyJwYWdlIjog", "a+b/c==", "%2F%00",
    "two words", "\u00e9\u2028\U0001F600", "e\u0301", "line\nbreak\ttab\x7f\x00", "\"quoted\\", "x" * 20_000,
    "../../etc/passwd",
)


@pytest.mark.spec("pagination.cursor-no-assumptions", "pagination.cursor-unmodified")
@each_kind
@pytest.mark.parametrize("revision", every_revision_of("pagination.cursor-unmodified"))
def test_a_cursor_goes_back_as_it_came(revision, kind):
    """[.. server/utilities/pagination §Implementation Guidelines] MUST: the empty one, too, is a cursor"""
    method, member, make = KINDS[kind]
    following = iter(CURSORS)

    def answer(params):
        page = {member: [make(0)]}
        cursor = next(following, None)
        return page if cursor is None else dict(page, nextCursor=cursor)

    with Scene(revision, {method: answer}) as scene:
        assert len(listed(scene, kind)) == len(CURSORS) + 1
        assert scene.params(method) == [None] + [{"cursor": cursor} for cursor in CURSORS]


@each_kind
@pytest.mark.sends_illegal("pagination.cursor-unmodified", why="a cursor out of nowhere")
def test_one_page_is_asked_for_with_the_cursor_given(kind):
    method, member, make = KINDS[kind]
    with Scene(answers={method: {member: [make(1)], "nextCursor": "further"}}) as scene:
        page = getattr(scene.client, "list_" + kind)("here")
        assert [item.name for item in getattr(page, kind)] == ["item 1"] and page.next_cursor == "further"
        assert getattr(scene.client, "list_" + kind)("").next_cursor == "further"
        assert scene.params(method) == [{"cursor": "here"}, {"cursor": ""}]


@pytest.mark.parametrize("cursors", [["a", "a"], ["a", "b", "a"], ["", ""], ["a", "b", "c", "b"]])
@each_kind
@each_revision
def test_a_cursor_that_comes_again_is_an_error(revision, kind, cursors):
    method, member, make = KINDS[kind]
    following = iter(cursors)
    with Scene(revision, {method: lambda params: {member: [make(0)], "nextCursor": next(following)}}) as scene:
        with pytest.raises(PeerProtocolError, match="came before"):
            listed(scene, kind)
        assert len(scene.asked) == len(cursors)


@pytest.mark.parametrize("most", [1, 2, 7])
@each_kind
def test_no_more_pages_are_asked_for_than_the_limit(kind, most):
    method, member, make = KINDS[kind]
    endless = paged(member, [[make(n)] for n in range(50)])
    with Scene(answers={method: endless}, limits=Limits(max_pages=most)) as scene:
        with pytest.raises(PeerProtocolError, match=r"max_pages \(%d\)" % most):
            listed(scene, kind)
        assert len(scene.asked) == most
    with Scene(answers={method: paged(member, [[]] * most)}, limits=Limits(max_pages=most)) as scene:
        assert listed(scene, kind) == []


@each_kind
@each_revision
def test_a_null_cursor_ends_the_list_for_a_lenient_client_only(revision, kind):
    method, member, make = KINDS[kind]
    page = {member: [make(0)], "nextCursor": None}
    with Scene(revision, {method: page}) as scene:
        assert listed(scene, kind) == ["item 0"]
        assert getattr(scene.client, "list_" + kind)(refresh=True).next_cursor is None
        assert scene.count("forgiven null") == 2
    with Scene(revision, {method: page}, strict=True) as scene:
        with pytest.raises(PeerProtocolError, match="nextCursor: expected string, got null"):
            listed(scene, kind)


@pytest.mark.parametrize("answer, error", [
    (Failure(-32602, "Invalid cursor"), PeerError), ({"tools": [], "nextCursor": 5}, PeerProtocolError),
    ({"tools": [], "nextCursor": {}}, PeerProtocolError), ({"nextCursor": "2"}, PeerProtocolError),
])
def test_a_bad_page_fails_the_list_and_the_pages_before_it_can_be_had_one_by_one(answer, error):
    first = {"tools": [tool("a")], "nextCursor": "1"}
    with Scene(answers={"tools/list": lambda params: answer if params.get("cursor") else first}) as scene:
        with pytest.raises(error):
            scene.client.tools()
        page = scene.client.list_tools()
        assert [each.name for each in page.tools] == ["a"]
        with pytest.raises(error):
            scene.client.list_tools(page.next_cursor)


@each_kind
def test_a_list_is_a_list_that_is_the_callers_own(kind):
    method, member, _ = KINDS[kind]
    with Scene(answers={method: paged(member, pages_of(kind, [1, 0, 1]))}) as scene:
        ask = getattr(scene.client, kind)
        found = ask()
        assert type(found) is list and len(found) == 2 and len(scene.asked) == 3
        found.clear()
        assert len(ask()) == 2


def test_every_page_gets_the_options_of_the_list():
    steps = []

    def answer(params):
        scene.peer.notify("notifications/progress", {"progressToken": params["_meta"]["progressToken"], "progress": 1})
        return paged("tools", [[tool("a")], [tool("b")]])(params)

    with Scene(answers={"tools/list": answer}) as scene:
        list(scene.client.tools(progress=lambda *step: steps.append(step), meta={"com.example/x": 1}))
        assert steps == [(1, None, None)] * 2
        assert [params["_meta"]["com.example/x"] for params in scene.params("tools/list")] == [1, 1]
