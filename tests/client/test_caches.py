"""Lists that a client remembers: for how long, and that none outlives a change."""
import threading

import pytest

from mcp_ref.client.cache import LISTS, MethodCache
from mcp_ref.limits import Limits
from mcp_ref.messages.tools import ListToolsResult, Tool
from mcp_ref.protocol.results import Hints
from tests.support.requirements_table import HANDSHAKE
from tests.support.scene import Failure, Scene, paged, tool
from tests.support.sides import Gate, in_thread

ITEMS = {
    "tools": ("tools", tool),
    "resources": ("resources", lambda name: {"name": name, "uri": "test://" + name}),
    "resource_templates": ("resourceTemplates", lambda name: {"name": name, "uriTemplate": "test://{x}"}),
    "prompts": ("prompts", lambda name: {"name": name}),
}
UNTIMED = Hints(0.0, "private", False)
each_kind = pytest.mark.parametrize("kind", LISTS)
each_revision = pytest.mark.parametrize("revision", HANDSHAKE)


def listing(kind, *names):
    member, make = ITEMS[kind]
    return {member: [make(name) for name in names]}


def names(scene, kind, **options):
    return [item.name for item in getattr(scene.client, kind)(**options)]


def declared(kind, value=True):
    return {LISTS[kind].capability.partition(".")[0]: {"listChanged": value}}


@each_kind
@each_revision
def test_a_list_is_asked_for_once_until_the_server_says_that_it_changed(revision, kind):
    row = LISTS[kind]
    with Scene(revision, {row.method: listing(kind, "a")}, declared(kind)) as scene:
        assert names(scene, kind) == names(scene, kind) == ["a"] and scene.asked == [row.method]
        scene.answers[row.method] = listing(kind, "a", "b")
        assert names(scene, kind) == ["a"]
        scene.tell(row.changed)
        assert names(scene, kind) == names(scene, kind) == ["a", "b"] and len(scene.asked) == 2


@each_kind
def test_a_refresh_always_asks_and_a_page_is_remembered_like_the_list(kind):
    row = LISTS[kind]
    with Scene(answers={row.method: listing(kind, "a")}, capabilities=declared(kind)) as scene:
        ask = getattr(scene.client, "list_" + kind)
        names(scene, kind)
        scene.answers[row.method] = listing(kind, "b")
        assert names(scene, kind, refresh=True) == ["b"] and names(scene, kind) == ["b"] and len(scene.asked) == 2
        assert getattr(ask(), kind)[0].name == "b" and len(scene.asked) == 2
        scene.answers[row.method] = listing(kind, "c")
        assert getattr(ask(refresh=True), kind)[0].name == "c" and names(scene, kind) == ["c"]
        assert len(scene.asked) == 3


@pytest.mark.parametrize("value", [False, None, "absent"])
@each_kind
def test_a_server_that_announces_no_changes_is_asked_each_time(kind, value):
    row = LISTS[kind]
    capabilities = {row.capability.partition(".")[0]: {} if value == "absent" else {"listChanged": value}}
    if value is None:
        capabilities = {kind: {} for kind in ("tools", "resources", "prompts")}
    with Scene(answers={row.method: listing(kind, "a")}, capabilities=capabilities) as scene:
        assert names(scene, kind) == ["a"]
        scene.answers[row.method] = listing(kind, "b")
        assert names(scene, kind) == ["b"] and len(scene.asked) == 2


def test_a_change_of_one_list_leaves_the_others():
    answers = {row.method: listing(kind, "a") for kind, row in LISTS.items()}
    with Scene(answers=answers) as scene:
        for changed in ("tools", "prompts", "resources"):
            for kind in LISTS:
                names(scene, kind)
            del scene.requests[:]
            scene.tell("notifications/%s/list_changed" % changed)
            for kind in LISTS:
                names(scene, kind)
            expected = {"resources": ["resources/list", "resources/templates/list"]}
            assert scene.asked == expected.get(changed, [changed + "/list"])


@each_kind
def test_of_a_list_that_failed_or_was_not_read_to_its_end_only_the_missing_pages_are_asked_for(kind):
    row, (member, make) = LISTS[kind], ITEMS[kind]
    pages = paged(member, [[make("a")], [make("b")]])
    with Scene(answers={row.method: pages}, capabilities=declared(kind)) as scene:
        assert [each.name for each in getattr(getattr(scene.client, "list_" + kind)(), kind)] == ["a"]
        scene.answers[row.method] = lambda params: Failure(-32603) if params.get("cursor") else pages(params)
        with pytest.raises(Exception, match="-32603"):
            names(scene, kind)
        scene.answers[row.method] = pages
        assert names(scene, kind) == ["a", "b"] and names(scene, kind) == ["a", "b"]
        assert scene.params(row.method) == [None, {"cursor": "1"}, {"cursor": "1"}]


@pytest.mark.sends_illegal("pagination.cursor-unmodified", why="a cursor out of nowhere")
def test_a_page_in_the_middle_is_not_the_list():
    with Scene(answers={"tools/list": paged("tools", [[tool("a")], [tool("b")]])}) as scene:
        assert [each.name for each in scene.client.list_tools("1").tools] == ["b"]
        assert names(scene, "tools") == ["a", "b"] and len(scene.asked) == 2


@each_kind
def test_a_list_longer_than_the_limit_is_asked_for_each_time(kind):
    row, (member, make) = LISTS[kind], ITEMS[kind]
    answers = {row.method: paged(member, [[make("a"), make("b")], [make("c")]])}
    for limit, asked in ((2, 4), (3, 2)):
        with Scene(answers=answers, capabilities=declared(kind), limits=Limits(max_cached_items=limit)) as scene:
            assert names(scene, kind) == names(scene, kind) == ["a", "b", "c"] and len(scene.asked) == asked


def test_a_new_connection_remembers_nothing_of_the_one_before():
    with Scene(answers={"tools/list": listing("tools", "a")}) as scene:
        assert names(scene, "tools") == ["a"]
        client = scene.client
    with Scene(answers={"tools/list": listing("tools", "b")}, client=client) as scene:
        assert names(scene, "tools") == ["b"] and scene.client is client


def test_of_two_tools_with_one_name_the_first_counts():
    twice = {"tools": [dict(tool("a"), description="first"), dict(tool("a"), description="second")]}
    with Scene(answers={"tools/list": twice}) as scene:
        assert scene.client.tool("a").description == scene.client.tool("a").description == "first"
        assert scene.asked == ["tools/list"]
    with Scene(answers={"tools/list": twice}, capabilities={"tools": {}}) as scene:
        assert scene.client.tool("a").description == "first"


# --- Races ------------------------------------------------------------------------------------------------------------

@pytest.mark.race
@each_kind
def test_a_change_while_the_pages_come_is_not_lost(kind):
    """The server builds the first page, its list changes, and only then does the second page go out."""
    row, (member, make) = LISTS[kind], ITEMS[kind]
    old, new = paged(member, [[make("old")], [make("x")]]), listing(kind, "new")

    def change(params):
        if params.get("cursor"):
            scene.peer.notify(row.changed)
            scene.answers[row.method] = new
        return old(params)

    with Scene(answers={row.method: change}, capabilities=declared(kind)) as scene:
        assert names(scene, kind) == ["old", "x"], "what the server said, though it is old by now"
        assert names(scene, kind) == ["new"] and names(scene, kind) == ["new"] and len(scene.asked) == 3


@pytest.mark.race
@each_kind
def test_a_change_between_two_pages_is_not_lost(kind):
    """The first page is there, the announcement comes, and only then is the rest asked for."""
    row, (member, make) = LISTS[kind], ITEMS[kind]
    pages = paged(member, [[make("old")], [make("older")]])
    with Scene(answers={row.method: pages}, capabilities=declared(kind)) as scene:
        first = getattr(scene.client, "list_" + kind)()
        scene.answers[row.method] = listing(kind, "new")
        scene.tell(row.changed)
        assert [each.name for each in getattr(first, kind)] == ["old"]
        assert names(scene, kind) == ["new"]


@pytest.mark.race
def test_a_change_that_comes_before_an_answer_is_seen_by_whoever_gets_the_answer():
    """A tool adds a tool; its caller sees it at once, though callbacks are stuck."""

    def add(params):
        scene.peer.notify("notifications/tools/list_changed")
        scene.answers["tools/list"] = listing("tools", "add", "added")
        return {"content": []}

    answers = {"tools/list": listing("tools", "add"), "tools/call": add}
    with Gate() as gate, Scene(answers=answers, on_notification=gate.hold) as scene:
        assert names(scene, "tools") == ["add"]
        scene.client.call_tool("add")
        assert names(scene, "tools") == ["add", "added"]
        gate.entered()
        gate.open()


def test_a_flood_that_fills_the_queue_of_callbacks_hides_no_change():
    with Gate() as gate, Scene(answers={"tools/list": listing("tools", "old")}, on_notification=gate.hold,
                               limits=Limits(max_inflight=4)) as scene:
        assert names(scene, "tools") == ["old"]
        for _ in range(20):
            scene.tell("notifications/prompts/list_changed")
        scene.answers["tools/list"] = listing("tools", "new")
        scene.tell("notifications/tools/list_changed")
        assert names(scene, "tools") == ["new"] and scene.count("dropped notification") > 0
        gate.open()


@pytest.mark.race
def test_threads_that_ask_at_once_all_get_the_list_and_one_of_them_is_kept():
    with Gate() as gate:
        def answer(params):
            gate.hold()
            return listing("tools", "a", "b")

        with Scene(answers={"tools/list": answer}) as scene:
            asking = [in_thread(names, scene, "tools") for _ in range(8)]
            gate.entered()
            gate.open()
            assert [each.get() for each in asking] == [["a", "b"]] * 8
            before = len(scene.asked)
            assert before <= 8 and names(scene, "tools") == ["a", "b"] and len(scene.asked) == before


@pytest.mark.race
def test_no_list_is_older_than_the_last_change_that_was_seen_before_asking():
    """One thread changes and announces, others list: nobody ever sees less than what was announced before."""
    state = {"items": 1}
    with Scene(answers={"tools/list": lambda params: listing("tools", *map(str, range(state["items"])))}) as scene:
        wrong, stop = [], threading.Event()

        def read():
            while not stop.is_set():
                least = state["seen"]
                found = len(names(scene, "tools"))
                if found < least:
                    wrong.append((found, least))

        state["seen"] = 1
        readers = [in_thread(read) for _ in range(3)]
        for number in range(2, 30):
            state["items"] = number
            scene.tell("notifications/tools/list_changed")
            state["seen"] = number
        stop.set()
        for reader in readers:
            reader.get()
        assert wrong == []


def test_a_kept_list_takes_nothing_that_is_out_of_date():
    kept = MethodCache("tools/list", 10, kind="tools")
    kept.server_notifies = True
    first, second = Tool("a", {}), Tool("b", {})
    version = kept.version
    kept.changed()
    kept.keep_page(None, ListToolsResult([first]), UNTIMED, version)
    assert kept.current() is None and kept.named() is None
    kept.keep_page(None, ListToolsResult([first, second]), UNTIMED, kept.version)
    assert kept.current() == (first, second) and kept.named() is kept.named()
    kept.changed()
    assert kept.current() is None


@pytest.mark.parametrize(("ttl", "counted"), [
    (-1, 1), (-5, 1), (-5.0, 1), (-2 ** 60, 1), (0, 0), (1, 0), (5, 0), (5.0, 1), (2 ** 60, 0), ("left out", 0),
])
def test_a_time_to_live_that_is_none_is_counted_and_the_answer_taken(ttl, counted):
    """[2026-07-28 server/utilities/caching §Time-to-Live (TTL) Field]: an integer from 0 up."""
    said = {"cacheScope": "private"} if ttl == "left out" else {"cacheScope": "private", "ttlMs": ttl}
    read = {"contents": [{"uri": "test://a", "text": "x"}]}
    page = {name: value for name, value in listing("tools", "a").items() if name not in ("ttlMs", "cacheScope")}
    with Scene("2026-07-28", {"tools/list": dict(page, **said), "resources/read": dict(read, **said)}) as scene:
        assert names(scene, "tools") == ["a"] and scene.client.connection.counters["number out of range"] == counted
        assert scene.client.read_resource("test://a").contents[0].text == "x"
        assert scene.client.connection.counters["number out of range"] == 2 * counted
