"""What a client keeps of a server's answers: as long as the server said, under the right key, and for itself."""
import itertools

import pytest

from mcp_ref import deadline
from mcp_ref.client import SharedAnswers
from mcp_ref.client.cache import LISTS
from mcp_ref.errors import LocalProtocolError, PeerError
from mcp_ref.limits import Limits
from mcp_ref.protocol import results
from mcp_ref.protocol.envelope import SUBSCRIPTION
from tests.support.scene import SILENT, Failure, Scene, paged, tool
from tests.support.sides import eventually, in_thread

STATELESS = "2026-07-28"
ITEMS = {
    "tools": ("tools", tool),
    "resources": ("resources", lambda name: {"name": name, "uri": "test://" + name}),
    "resource_templates": ("resourceTemplates", lambda name: {"name": name, "uriTemplate": "test://%s/{x}" % name}),
    "prompts": ("prompts", lambda name: {"name": name}),
}
each_kind = pytest.mark.parametrize("kind", LISTS)


class Clock:
    """The one clock, moved on by the test."""

    def __init__(self):
        self._started, self._added = deadline.clock, 0.0

    def __call__(self):
        return self._started() + self._added

    def move(self, seconds):
        self._added += seconds


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(deadline, "clock", made)
    return made


def scene(answers, **options):
    return Scene(STATELESS, answers, **options)


def hinted(result, ttl, scope="private"):
    return dict(result, ttlMs=ttl, cacheScope=scope)


def listing(kind, *names, ttl=60000, scope="private"):
    member, make = ITEMS[kind]
    return hinted({member: [make(name) for name in names]}, ttl, scope)


def pages_of(kind, *pages, ttls=None, scopes=None):
    """Answers a list with these pages of names, each with its hints."""
    member, make = ITEMS[kind]
    plain = paged(member, [[make(name) for name in page] for page in pages])

    def answer(params):
        number = int(params.get("cursor", "0"))
        ttl = 60000 if ttls is None else ttls[number]
        return hinted(plain({"cursor": str(number)}), ttl, "private" if scopes is None else scopes[number])

    return answer


def read(text="x", ttl=60000, scope="private", uri="test://a"):
    return hinted({"contents": [{"uri": uri, "text": text}]}, ttl, scope)


def names(made, kind, **options):
    return [item.name for item in getattr(made.client, kind)(**options)]


def cursors(made, kind):
    return [(params or {}).get("cursor") for params in made.params(LISTS[kind].method)]


def listening(made, *uris):
    """Have the client listen to everything; what was asked until now is forgotten by the scene."""
    def accept(params):
        made.stream = made.requests[-1]["id"]
        acknowledged = {"notifications": params["notifications"], "_meta": {SUBSCRIPTION: made.stream}}
        made.peer.notify("notifications/subscriptions/acknowledged", acknowledged)
        return SILENT

    made.answers["subscriptions/listen"] = accept
    wish = made.client.listen("tools", "prompts", "resources", uris=uris)
    del made.requests[:]
    return wish


def tell(made, method, **params):
    """Announce something on the stream that the client listens to."""
    made.tell(method, dict(params, _meta={SUBSCRIPTION: made.stream}))


# --- time to live -----------------------------------------------------------------------------------------------------

@pytest.mark.spec("cache.ttl-positive", "cache.stale-refetch", "cache.ttl-fresh")
@each_kind
def test_a_list_is_served_from_memory_until_its_time_is_over(kind, clock):
    """[2026-07-28 server/utilities/caching §Freshness Calculation] SHOULD"""
    row = LISTS[kind]
    with scene({row.method: listing(kind, "a", ttl=5000)}) as made:
        assert names(made, kind) == names(made, kind) == ["a"] and len(made.asked) == 1
        assert getattr(getattr(made.client, "list_" + kind)(), kind)[0].name == "a" and len(made.asked) == 1
        made.answers[row.method] = listing(kind, "b", ttl=5000)
        clock.move(4.5)
        assert names(made, kind) == ["a"] and len(made.asked) == 1
        clock.move(0.5)
        assert names(made, kind) == ["b"] and len(made.asked) == 2
        assert names(made, kind, refresh=True) == ["b"] and len(made.asked) == 3


@pytest.mark.spec("cache.ttl-positive", "cache.stale-refetch")
def test_what_was_read_is_served_from_memory_until_its_time_is_over(clock):
    """[2026-07-28 server/utilities/caching §Freshness Calculation] SHOULD"""
    with scene({"resources/read": read("old", 1000)}) as made:
        assert made.client.read_resource("test://a").text == "old"
        made.answers["resources/read"] = read("new", 1000)
        clock.move(0.9)
        assert made.client.read_resource("test://a").text == "old" and len(made.asked) == 1
        clock.move(0.1)
        assert made.client.read_resource("test://a").text == "new" and len(made.asked) == 2
        assert made.client.read_resource("test://a", refresh=True).text == "new" and len(made.asked) == 3


@pytest.mark.spec("cache.ttl-zero", "cache.ttl-negative", "cache.ttl-absent", "cache.ttl-zero-refetch")
@pytest.mark.parametrize("ttl", [0, -1, -60000, None])
@each_kind
def test_without_time_to_live_everything_is_asked_for_each_time(kind, ttl):
    """[2026-07-28 server/utilities/caching §Time-to-Live (TTL) Field] SHOULD"""
    row = LISTS[kind]
    answers = {row.method: listing(kind, "a", ttl=ttl), "resources/read": read(ttl=ttl)}
    if ttl is None:
        for answer in answers.values():
            del answer["ttlMs"]
    with scene(answers) as made:
        assert names(made, kind) == names(made, kind) == ["a"] and len(made.asked) == 2
        made.client.read_resource("test://a")
        made.client.read_resource("test://a")
        assert len(made.asked) == 4


@pytest.mark.spec("cache.ttl-positive")
def test_the_clock_begins_when_the_answer_has_come_not_when_it_was_asked_for(clock):
    """[2026-07-28 server/utilities/caching §Freshness Calculation]"""
    def slow(params):
        clock.move(30)
        return listing("tools", "a", ttl=1000)

    with scene({"tools/list": slow}) as made:
        names(made, "tools")
        clock.move(0.9)
        assert names(made, "tools") == ["a"] and len(made.asked) == 1


@pytest.mark.parametrize("ttl", [2 ** 53, 2 ** 53 - 1, 1e15])
def test_an_absurd_time_to_live_is_as_long_as_any(ttl, clock):
    with scene({"tools/list": listing("tools", "a", ttl=ttl)}) as made:
        names(made, "tools")
        clock.move(1e9)
        assert names(made, "tools") == ["a"] and len(made.asked) == 1


@pytest.mark.spec("cache.no-polling", "cache.poll-jitter")
def test_nothing_is_asked_for_before_it_is_needed(clock):
    """[2026-07-28 server/utilities/caching §Freshness Calculation] SHOULD NOT"""
    with scene({"tools/list": listing("tools", "a", ttl=1), "resources/read": read(ttl=1)}) as made:
        names(made, "tools")
        made.client.read_resource("test://a")
        clock.move(100)
        made.client.ping()
        assert made.asked == ["tools/list", "resources/read"]


@pytest.mark.spec("cache.serve-stale")
@pytest.mark.parametrize("kind", ["tools", "read"])
def test_a_stale_answer_is_not_served_in_place_of_an_error(kind, clock):
    """[2026-07-28 server/utilities/caching §Freshness Calculation] MAY: we do not."""
    with scene({"tools/list": listing("tools", "a", ttl=10), "resources/read": read(ttl=10)}) as made:
        def ask():
            return names(made, "tools") if kind == "tools" else made.client.read_resource("test://a")

        ask()
        clock.move(1)
        made.answers["tools/list"] = made.answers["resources/read"] = Failure(-32603)
        with pytest.raises(PeerError):
            ask()


# --- keys -------------------------------------------------------------------------------------------------------------

@pytest.mark.spec("cache.key")
def test_an_answer_is_served_for_the_same_method_and_params_only():
    """[2026-07-28 server/utilities/caching §Cache Key] MUST NOT"""
    uris = ["test://a", "test://A", "test://a/", "test://a?x", "test://b", "test://\u00e9"]
    with scene({"resources/read": lambda params: read(params["uri"], uri=params["uri"])}) as made:
        for _ in range(2):
            assert [made.client.read_resource(uri).text for uri in uris] == uris
        assert len(made.asked) == len(uris)
    with scene({row.method: listing(kind, kind) for kind, row in LISTS.items()}) as made:
        for _ in range(2):
            assert [names(made, kind) for kind in LISTS] == [[kind] for kind in LISTS]
        assert len(made.asked) == len(LISTS)


@pytest.mark.spec("cache.key")
@pytest.mark.parametrize("method, params, key", [
    ("tools/list", None, ()), ("tools/list", {}, ()), ("tools/list", {"cursor": ""}, (("cursor", '""'),)),
    ("tools/list", {"_meta": {"progressToken": 1}}, ()), ("tools/list", {"_meta": {"traceparent": "x"}}, ()),
    ("tools/list", {"_meta": {"io.modelcontextprotocol/logLevel": "info"}}, ()),
    ("tools/list", {"_meta": {"com.example/tenant": "a"}}, None), ("tools/list", {"_meta": {"other": 1}}, None),
    ("resources/read", {"uri": "a", "_meta": {}}, (("uri", '"a"'),)),
    ("resources/read", {"uri": "a", "more": [1, {"b": None}]}, (("more", '[1,{"b":null}]'), ("uri", '"a"'))),
    ("resources/read", {"uri": "a", "requestState": "s"}, None),
    ("resources/read", {"uri": "a", "inputResponses": {}}, None),
    ("tools/call", {"name": "a"}, None), ("prompts/get", {"name": "a"}, None), ("completion/complete", {}, None),
])
def test_what_makes_a_key(method, params, key):
    """[2026-07-28 server/utilities/caching §Cache Key] MUST NOT"""
    assert results.key(method, params) == key


@pytest.mark.spec("cache.key")
@pytest.mark.parametrize("meta, kept", [
    ({"com.example/tenant": "b"}, False), ({"traceparent": "00-%s-%s-01" % ("1" * 32, "2" * 16)}, True), ({}, True),
])
def test_a_request_with_more_in_its_meta_is_not_answered_from_memory(meta, kept):
    """[2026-07-28 server/utilities/caching §Cache Key] MUST NOT; nor is its answer kept."""
    with scene({"tools/list": listing("tools", "a"), "resources/read": read()}) as made:
        for times in (1, 2):
            names(made, "tools", meta=meta)
            made.client.list_tools(meta=meta)
            made.client.read_resource("test://a", meta=meta)
        assert len(made.asked) == (2 if kept else 6)
        del made.requests[:]
        names(made, "tools")
        made.client.read_resource("test://a")
        assert len(made.asked) == (0 if kept else 2)


@pytest.mark.spec("cache.no-mrtr")
@pytest.mark.sends_illegal("mrtr.client-constructs-inputs", why="a state alone, by hand")
def test_what_a_server_answered_after_a_question_is_not_kept():
    """[2026-07-28 server/utilities/caching §Cache Key] MUST NOT"""
    answers = itertools.count(1)

    def ask(params):
        if "inputResponses" in params:
            return read("answered %s" % params["inputResponses"]["k"]["content"]["x"])
        schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
        question = {"method": "elicitation/create", "params": {
            "mode": "form", "message": "?", "requestedSchema": schema}}
        return {"resultType": "input_required", "inputRequests": {"k": question}, "requestState": "s"}

    def answer(params, context):
        return {"x": next(answers)}

    with scene({"resources/read": ask}, elicitation=answer) as made:
        assert [made.client.read_resource("test://a").text for _ in range(2)] == ["answered 1", "answered 2"]
        assert len(made.asked) == 4
        made.answers["resources/read"] = read("plain")
        for _ in range(2):
            made.client.read_resource("test://a", request_state="s")
            made.client.read_resource("test://a", input_responses={})
        assert len(made.asked) == 8
        assert made.client.read_resource("test://a").text == "plain" and len(made.asked) == 9


# --- pages ------------------------------------------------------------------------------------------------------------

@pytest.mark.spec("cache.page-refetch", "cache.page-ttl-varies")
@each_kind
def test_each_page_has_its_own_time_and_is_asked_for_again_by_its_cursor(kind, clock):
    """[2026-07-28 server/utilities/caching §Interaction with Pagination] SHOULD"""
    with scene({LISTS[kind].method: pages_of(kind, ["a"], ["b"], ["c"], ttls=[60000, 1000, 60000])}) as made:
        assert names(made, kind) == ["a", "b", "c"]
        clock.move(2)
        made.answers[LISTS[kind].method] = pages_of(kind, ["A"], ["B"], ["C"])
        assert names(made, kind) == ["a", "B", "c"], "the page whose time is over, and no other"
        assert cursors(made, kind) == [None, "1", "2", "1"]


@pytest.mark.spec("cache.snapshot")
@each_kind
def test_a_refresh_asks_for_all_pages_from_the_first_one_on(kind):
    """[2026-07-28 server/utilities/caching §Interaction with Pagination] SHOULD"""
    with scene({LISTS[kind].method: pages_of(kind, ["a"], ["b"])}) as made:
        names(made, kind)
        made.answers[LISTS[kind].method] = pages_of(kind, ["A"], ["B"])
        assert names(made, kind, refresh=True) == ["A", "B"] == names(made, kind)
        assert cursors(made, kind) == [None, "1"] * 2


@pytest.mark.spec("cache.cursor-invalid")
@each_kind
def test_a_cursor_that_is_not_valid_any_more_makes_the_list_begin_anew(kind, clock):
    """[2026-07-28 server/utilities/caching §Interaction with Pagination] SHOULD"""
    row = LISTS[kind]
    with scene({row.method: pages_of(kind, ["a"], ["b"], ["c"], ttls=[60000, 1000, 60000])}) as made:
        assert names(made, kind) == ["a", "b", "c"]
        clock.move(2)
        fresh = listing(kind, "a", "x")
        made.answers[row.method] = lambda params: Failure(-32602) if "cursor" in params else fresh
        assert names(made, kind) == ["a", "x"], "nothing twice"
        assert cursors(made, kind) == [None, "1", "2", "1", None]
        assert names(made, kind) == ["a", "x"] and len(made.asked) == 5
        with pytest.raises(PeerError):
            getattr(made.client, "list_" + kind)("2")  # the page was discarded, though it was fresh
        made.answers[row.method] = lambda params: Failure(-32602)
        with pytest.raises(PeerError):
            names(made, kind, refresh=True)


@each_kind
def test_a_server_whose_cursors_are_never_valid_is_an_error(kind):
    row, always = LISTS[kind], pages_of(kind, ["a"], ["b"])
    with scene({row.method: lambda params: Failure(-32602) if "cursor" in params else always(params)}) as made:
        with pytest.raises(PeerError, match="-32602"):
            names(made, kind)
        assert cursors(made, kind) == [None, "1", None, "1"]


def test_other_errors_of_a_page_are_errors_and_the_other_pages_stay():
    pages = pages_of("tools", ["a"], ["b"])
    with scene({"tools/list": lambda params: Failure(-32603) if "cursor" in params else pages(params)}) as made:
        with pytest.raises(PeerError, match="-32603"):
            names(made, "tools")
        made.answers["tools/list"] = pages
        assert names(made, "tools") == ["a", "b"] and cursors(made, "tools") == [None, "1", "1"]


# --- changes ----------------------------------------------------------------------------------------------------------

@each_kind
def test_an_announced_change_ends_what_was_still_fresh(kind):
    """[2026-07-28 server/utilities/caching §Interaction with Notifications]"""
    row = LISTS[kind]
    with scene({row.method: pages_of(kind, ["a"], ["b"])}) as made:
        listening(made)
        names(made, kind)
        made.answers[row.method] = listing(kind, "new")
        tell(made, row.changed)
        assert names(made, kind) == names(made, kind) == ["new"] and len(made.asked) == 3


@pytest.mark.parametrize("changed, forgotten", [
    ("test://a", {"test://a", "test://a/b"}), ("test://a/b", {"test://a", "test://a/b"}), ("test://c", set()),
    ("test://a/b/c", {"test://a", "test://a/b"}), ("test://", {"test://a", "test://a/b", "test://b"}),
])
def test_a_resource_that_changed_is_read_again_and_what_it_is_part_of(changed, forgotten):
    """[2026-07-28 server/utilities/caching §Interaction with Notifications]"""
    uris = ["test://a", "test://a/b", "test://b"]
    with scene({"resources/read": lambda params: read(uri=params["uri"])}) as made:
        listening(made, *uris)
        for uri in uris:
            made.client.read_resource(uri)
        tell(made, "notifications/resources/updated", uri=changed)
        del made.requests[:]
        for uri in uris:
            made.client.read_resource(uri)
        assert {params["uri"] for params in made.params("resources/read")} == forgotten


def test_where_nothing_is_listened_to_an_answer_without_hints_is_never_fresh():
    """A server without handshake tells only those who listen [2026-07-28 basic/patterns/subscriptions]."""
    answer = listing("tools", "a")
    del answer["ttlMs"]
    everything = {"tools": {"listChanged": True}}
    with scene({"tools/list": answer}, capabilities=everything) as made:
        names(made, "tools")
        assert names(made, "tools") == ["a"] and len(made.asked) == 2
        wish = listening(made)
        names(made, "tools")
        assert names(made, "tools") == ["a"] and len(made.asked) == 1, "what was kept before may have changed"
        tell(made, "notifications/tools/list_changed")
        assert names(made, "tools") == names(made, "tools") == ["a"] and len(made.asked) == 2
        wish.close()
        names(made, "tools")
        names(made, "tools")
        assert len(made.asked) == 4


@pytest.mark.race
def test_a_change_while_a_resource_is_read_is_not_lost():
    def slow(params):
        made.peer.notify("notifications/resources/updated", {"uri": "test://a", "_meta": {SUBSCRIPTION: made.stream}})
        return read("old")

    with scene({"resources/read": slow}) as made:
        listening(made, "test://a")
        assert made.client.read_resource("test://a").text == "old"
        made.answers["resources/read"] = read("new")
        assert made.client.read_resource("test://a").text == "new"
        assert made.client.read_resource("test://a").text == "new" and len(made.asked) == 2


def test_what_was_kept_while_a_stream_was_lost_may_have_changed():
    """[2026-07-28 basic/patterns/subscriptions §Graceful Closure]"""
    answer = listing("tools", "a")
    del answer["ttlMs"]
    with scene({"tools/list": answer}) as made:
        listening(made)
        assert names(made, "tools") == names(made, "tools") == ["a"] and len(made.asked) == 1
        made.peer.respond(made.stream, {"_meta": {SUBSCRIPTION: made.stream}})
        eventually(lambda: "subscriptions/listen" in made.asked)
        made.client.ping()
        eventually(lambda: made.client.connection.state["lists"]["tools"].server_notifies)
        del made.requests[:]
        assert names(made, "tools") == ["a"] and made.asked == ["tools/list"]


def test_what_is_forgotten_is_asked_for_again():
    """For who changes the token [2026-07-28 server/utilities/caching §Cache Scope Field] MUST NOT."""
    with scene({"tools/list": listing("tools", "a"), "resources/read": read()}) as made:
        for _ in range(2):
            names(made, "tools")
            made.client.read_resource("test://a")
            made.client.forget()
        assert len(made.asked) == 4


# --- limits -----------------------------------------------------------------------------------------------------------

def test_what_was_read_is_bounded_oldest_dropped_first():
    big = "x" * 10000
    with scene({"resources/read": lambda params: read(big, uri=params["uri"])},
               limits=Limits(max_cached_resource_bytes=25000)) as made:
        for number in (1, 2, 3, 3, 2, 1):
            made.client.read_resource("test://%d" % number)
        assert [params["uri"][-1] for params in made.params("resources/read")] == ["1", "2", "3", "1"]
    sizes = {"test://small": "x", "test://big": big}
    with scene({"resources/read": lambda params: read(sizes[params["uri"]], uri=params["uri"])},
               limits=Limits(max_cached_resource_bytes=5000)) as made:
        for uri in ("test://small", "test://big", "test://big", "test://small"):
            made.client.read_resource(uri)
        assert [params["uri"] for params in made.params("resources/read")] == ["test://small"] + ["test://big"] * 2


@each_kind
def test_a_list_longer_than_the_limit_is_asked_for_each_time(kind):
    pages = {LISTS[kind].method: pages_of(kind, ["a", "b"], ["c"])}
    for limit, asked in ((2, 4), (3, 2)):
        with scene(dict(pages), limits=Limits(max_cached_items=limit)) as made:
            assert names(made, kind) == names(made, kind) == ["a", "b", "c"] and len(made.asked) == asked


# --- who may be given it ----------------------------------------------------------------------------------------------

def at(address, shared, answers):
    """A client with a shared cache; its server has this address."""
    from unittest import mock

    from mcp_ref.transports.memory import MemoryTransport

    with mock.patch.object(MemoryTransport, "address", address):
        return scene(answers, cache=shared)


@pytest.mark.spec("cache.private-not-shared", "cache.private-reuse")
@pytest.mark.parametrize("shared", [True, False])
@each_kind
def test_a_private_answer_is_for_one_client_alone(kind, shared):
    """[2026-07-28 server/utilities/caching §Cache Scope Field] MUST NOT"""
    cache = SharedAnswers() if shared else None
    method = LISTS[kind].method
    with at("one", cache, {method: listing(kind, "ann"), "resources/read": read("ann")}) as ann, \
            at("one", cache, {method: listing(kind, "bob"), "resources/read": read("bob")}) as bob:
        for _ in range(2):
            assert names(ann, kind) == ["ann"] and names(bob, kind) == ["bob"]
            assert [each.client.read_resource("test://a").text for each in (ann, bob)] == ["ann", "bob"]
        assert len(ann.asked) == len(bob.asked) == 2


@pytest.mark.spec("cache.public-shared", "cache.private-not-shared")
@each_kind
def test_a_public_answer_is_shared_by_those_who_are_given_one_cache(kind):
    """[2026-07-28 server/utilities/caching §Cache Scope Field] MAY"""
    cache, method = SharedAnswers(), LISTS[kind].method
    answers = {method: listing(kind, "all", scope="public"), "resources/read": read("all", scope="public")}
    with at("one", cache, dict(answers)) as ann, at("one", cache, dict(answers)) as bob, \
            at("other", cache, dict(answers)) as elsewhere, at("one", None, dict(answers)) as alone, \
            at(None, cache, dict(answers)) as nameless:
        everybody = (ann, bob, elsewhere, alone, nameless)
        for each in everybody:
            assert names(each, kind) == ["all"] and each.client.read_resource("test://a").text == "all"
        assert [len(each.asked) for each in everybody] == [2, 0, 2, 2, 2]
        listening(bob)
        tell(bob, LISTS[kind].changed)
        ann.answers[method] = listing(kind, "new", scope="public")
        assert names(ann, kind) == ["new"] == names(bob, kind) and len(ann.asked) == 3


def test_an_answer_that_became_private_is_shared_no_longer():
    cache = SharedAnswers()
    public, private = listing("tools", "all", scope="public"), listing("tools", "own")
    with at("one", cache, {"tools/list": public}) as ann, at("one", cache, {"tools/list": public}) as bob:
        names(ann, "tools")
        ann.answers["tools/list"] = private
        assert names(ann, "tools", refresh=True) == ["own"]
        bob.answers["tools/list"] = private
        assert names(bob, "tools") == ["own"] and len(bob.asked) == 1


@pytest.mark.parametrize("scopes", [
    ["public", "private", "public"], ["private", "public", "public"], ["public", "public", "private"],
])
def test_a_list_whose_pages_do_not_agree_is_private(scopes):
    """[2026-07-28 server/utilities/caching §Interaction with Pagination] MUST, and this server does not."""
    cache, pages = SharedAnswers(), pages_of("tools", ["a"], ["b"], ["c"], scopes=scopes)
    with at("one", cache, {"tools/list": pages}) as ann, at("one", cache, {"tools/list": pages}) as bob:
        assert names(ann, "tools") == names(ann, "tools") == ["a", "b", "c"] and len(ann.asked) == 3
        assert ann.count("mixed cache scope") >= 1
        assert names(bob, "tools") == ["a", "b", "c"] and len(bob.asked) == 3, "nothing of it was shared"
    with at("one", cache, {"tools/list": pages_of("tools", ["a"], ["b"], scopes=["public"] * 2)}) as ann:
        names(ann, "tools")
        assert ann.count("mixed cache scope") == 0


@pytest.mark.race
def test_many_threads_and_clients_with_one_cache_see_what_a_server_said():
    cache = SharedAnswers(Limits(max_cached_resource_bytes=20000))

    def answer(params):
        return read(params["uri"], scope="public", uri=params["uri"])

    with at("one", cache, {"resources/read": answer}) as ann, at("one", cache, {"resources/read": answer}) as bob:
        def use(made, start):
            for number in range(start, start + 60):
                uri = "test://%d" % (number % 30)
                assert made.client.read_resource(uri).text == uri
                if number % 20 == 0:
                    tell(made, "notifications/resources/updated", uri=uri)

        for made in (ann, bob):
            listening(made)
        users = [in_thread(use, made, start) for made in (ann, bob) for start in (0, 7)]
        for user in users:
            user.get()


# --- errors that come instead -----------------------------------------------------------------------------------------

@pytest.mark.spec("resources.not-found-legacy-accepted")
@pytest.mark.parametrize("code", [-32602, -32002])
def test_both_codes_of_a_missing_resource_arrive_as_what_they_are_and_nothing_is_kept(code):
    """[2026-07-28 server/resources §Error Handling] SHOULD"""
    with scene({"resources/read": Failure(code, "Resource not found")}) as made:
        for _ in range(2):
            with pytest.raises(PeerError) as caught:
                made.client.read_resource("test://nobody")
            assert caught.value.code == code
        assert len(made.asked) == 2


@pytest.mark.parametrize("ask", [
    lambda client: client.read_resource("\ud800"), lambda client: client.list_tools("\ud800"),
    lambda client: client.read_resource("test://a", meta={"traceparent": float("nan")}),
])
def test_what_cannot_be_sent_is_refused_as_without_a_cache(ask):
    with scene({}) as made, pytest.raises(LocalProtocolError):
        ask(made.client)


def test_what_the_server_says_of_itself_is_kept_as_long_as_it_said(clock):
    """[2026-07-28 server/discover §Response]"""
    answer = hinted({"supportedVersions": [STATELESS], "capabilities": {"tools": {}}}, 1000, "public")
    with scene({"server/discover": answer}) as made:
        del made.requests[:]
        for _ in range(2):
            assert made.client.discover().supported_versions == [STATELESS]
        assert len(made.asked) == 1
        made.client.discover(refresh=True)
        clock.move(1)
        made.client.discover()
        made.client.ping()
        assert len(made.asked) == 4
