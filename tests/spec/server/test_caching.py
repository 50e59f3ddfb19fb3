"""Caching hints of a server: on the complete results of six methods, as their author said, and nowhere else."""
import itertools

import pytest

from mcp_ref import Server
from mcp_ref.messages.content import TextResourceContents
from mcp_ref.messages.resources import ReadResourceResult
from mcp_ref.protocol.results import CACHEABLE
from mcp_ref.server import Cache, Context
from tests.support.requirements_table import HANDSHAKE
from tests.support.serving import ask, served

STATELESS = "2026-07-28"
PARAMS = {"resources/read": {"uri": "test://a"}}
HINTS = ("ttlMs", "cacheScope")
IDS = {
    "server/discover": "cache.hints-discover", "tools/list": "cache.hints-tools-list",
    "prompts/list": "cache.hints-prompts-list", "resources/list": "cache.hints-resources-list",
    "resources/templates/list": "cache.hints-resource-templates-list", "resources/read": "cache.hints-resources-read",
}


def full(**options):
    """A server with some of everything."""
    server = Server("cached", **options)
    for name in "ab":
        server.tool(lambda: "x", name=name)
        server.prompt(lambda: "x", name=name)
        server.resource("test://" + name)(lambda: "x")
        server.resource("test://%s/{x}" % name)(lambda x: x)
    return server


def hints(result):
    return tuple(result.get(name) for name in HINTS)


@pytest.mark.spec(
    "cache.hints-discover", "cache.hints-tools-list", "cache.hints-prompts-list", "cache.hints-resources-list",
    "cache.hints-resource-templates-list", "cache.hints-resources-read", "cache.ttl-nonnegative",
)
@pytest.mark.parametrize("method", CACHEABLE)
def test_each_result_that_may_be_kept_says_so_and_safely_where_the_author_says_nothing(method):
    """[2026-07-28 server/utilities/caching §Cacheable Results] MUST"""
    assert set(IDS) == set(CACHEABLE)
    with served(full(), STATELESS) as peer:
        result = ask(peer, method, PARAMS.get(method))["result"]
        assert result["resultType"] == "complete" and hints(result) == (0, "private")
    with served(full(cache=Cache(1.5, "public")), STATELESS) as peer:
        assert hints(ask(peer, method, PARAMS.get(method))["result"]) == (1500, "public")


@pytest.mark.parametrize("chosen", CACHEABLE)
def test_hints_by_method_are_those_of_this_method_alone(chosen):
    with served(full(cache={chosen: Cache(60, "public")}), STATELESS) as peer:
        for method in CACHEABLE:
            expected = (60000, "public") if method == chosen else (0, "private")
            assert hints(ask(peer, method, PARAMS.get(method))["result"]) == expected


@pytest.mark.parametrize("revision", HANDSHAKE)
@pytest.mark.parametrize("method", CACHEABLE[1:])
def test_results_of_the_handshake_era_have_no_hints(method, revision):
    with served(full(cache=Cache(60, "public")), revision) as peer:
        assert hints(ask(peer, method, PARAMS.get(method))["result"]) == (None, None)


@pytest.mark.parametrize("method, params", [
    ("tools/call", {"name": "a", "arguments": {}}), ("prompts/get", {"name": "a"}), ("tools/call", {"name": "nobody"}),
    ("resources/read", {"uri": "test://nobody"}),
])
def test_nothing_else_has_hints(method, params):
    with served(full(cache=Cache(60, "public")), STATELESS) as peer:
        answer = ask(peer, method, params)
        assert hints(answer.get("result", answer.get("error"))) == (None, None)


@pytest.mark.spec("cache.scope-same-on-pages")
@pytest.mark.parametrize("scope", ["public", "private"])
@pytest.mark.parametrize("method", CACHEABLE[1:5])
def test_all_pages_of_a_list_have_one_scope(method, scope, tmp_path):
    """[2026-07-28 server/utilities/caching §Interaction with Pagination] MUST"""
    (tmp_path / "one.txt").write_text("x")
    (tmp_path / "two.txt").write_text("x")
    server = full(page_size=1, cache=Cache(60, scope))
    server.directory(tmp_path, uri="file:///served/")
    with served(server, STATELESS) as peer:
        found, cursor = [], None
        for _ in range(10):
            result = ask(peer, method, {} if cursor is None else {"cursor": cursor})["result"]
            found.append(hints(result))
            cursor = result.get("nextCursor")
            if cursor is None:
                break
        assert cursor is None and len(found) >= 2 and set(found) == {(60000, scope)}


# --- one resource -----------------------------------------------------------------------------------------------------

def test_a_resource_a_template_and_a_directory_have_hints_of_their_own(tmp_path):
    (tmp_path / "one.txt").write_text("x")
    server = Server("x", cache={"resources/read": Cache(1)})
    server.resource("test://own", cache=Cache(2, "public"))(lambda: "x")
    server.resource("test://own/{x}", cache=Cache(3))(lambda x: x)
    server.resource("test://plain")(lambda: "x")
    server.resources.add_fixed("x", "test://fixed", cache=Cache(4, "public"))
    server.directory(tmp_path, uri="file:///served/", cache=Cache(5, "public"))
    with served(server, STATELESS) as peer:
        for uri, expected in [("test://own", (2000, "public")), ("test://own/1", (3000, "private")),
                              ("test://plain", (1000, "private")), ("test://fixed", (4000, "public")),
                              ("file:///served/one.txt", (5000, "public"))]:
            assert hints(ask(peer, "resources/read", {"uri": uri})["result"]) == expected


@pytest.mark.spec("cache.ttl-nonnegative")
def test_a_result_that_the_author_made_keeps_its_hints_and_wrong_ones_are_an_error():
    """[2026-07-28 server/utilities/caching §Time-to-Live (TTL) Field] MUST"""
    server = Server("x")
    results = {
        "own": ((7, "public"), (7, "public")), "none": ((0, "private"), (9000, "public")),
        "negative": ((-1, "private"), None), "fraction": ((1.5, "private"), None), "flag": ((True, "public"), None),
        "text": (("5", "private"), None), "scope": ((5, "shared"), None), "endless": ((2 ** 60, "public"), None),
    }

    @server.resource("test://{name}", cache=Cache(9, "public"))
    def made(name):
        ttl, scope = results[name][0]
        return ReadResourceResult([TextResourceContents("test://" + name, "x")], ttl_ms=ttl, cache_scope=scope,
                                  meta={"com.example/x": 1})

    with served(server, STATELESS) as peer:
        for name, (_, expected) in results.items():
            answer = ask(peer, "resources/read", {"uri": "test://" + name})
            if expected is None:
                assert answer["error"]["code"] == -32603
            else:
                assert hints(answer["result"]) == expected and answer["result"]["_meta"]["com.example/x"] == 1


def test_what_was_read_with_answers_of_the_user_is_never_to_be_kept():
    """[2026-07-28 server/utilities/caching §Cache Key]; and a question has no hints at all."""
    server = Server("x", cache=Cache(60, "public"))

    @server.resource("test://asks", cache=Cache(60, "public"))
    def asks(ctx: Context):
        return ctx.elicit("Which?", {"which": str})["which"]

    @server.resource("test://own")
    def own(ctx: Context):
        which = ctx.elicit("Which?", {"which": str})["which"]
        return ReadResourceResult([TextResourceContents("test://own", which)], ttl_ms=60, cache_scope="public")

    for uri in ("test://asks", "test://own"):
        with served(server, STATELESS) as peer:
            peer.begin(STATELESS, {"elicitation": {}})
            peer.request("read", "resources/read", {"uri": uri})
            question = peer.receive(lambda message: message.get("method") == "elicitation/create")
            peer.respond(question["id"], {"action": "accept", "content": {"which": "this"}})
            done = peer.answer_to("read")["result"]
            first, = [each["result"] for each in peer.wire
                      if each.get("result", {}).get("resultType") == "input_required"]
            assert hints(first) == (None, None)
            assert done["contents"][0]["text"] == "this" and hints(done) == (0, "private")


# --- what an author may say -------------------------------------------------------------------------------------------

@pytest.mark.spec("cache.ttl-nonnegative")
@pytest.mark.parametrize("ttl, scope", [
    (-1, "public"), (-0.001, "public"), (float("nan"), "public"), (float("inf"), "public"), (2 ** 53, "public"),
    ("1", "public"), (None, "public"), (True, "public"), (1, "Public"), (1, None), (1, "shared"), (1, 1),
])
def test_hints_that_no_client_could_use_are_refused_when_they_are_written(ttl, scope):
    """[2026-07-28 server/utilities/caching §Time-to-Live (TTL) Field] MUST"""
    with pytest.raises((TypeError, ValueError), match="Cache: "):
        Cache(ttl, scope)


@pytest.mark.parametrize("ttl, expected", [(0, 0), (0.0, 0), (0.0004, 0), (0.001, 1), (300, 300000), (1e9, 10 ** 12)])
def test_a_ttl_is_seconds_and_milliseconds_on_the_wire(ttl, expected):
    made = Cache(ttl)
    assert made.hints == {"ttl_ms": expected, "cache_scope": "private"} and type(made.hints["ttl_ms"]) is int
    assert made == Cache(expected / 1000) and made != Cache(ttl, "public") and hash(made) == hash(Cache(ttl))


@pytest.mark.parametrize("make, words", [
    (lambda: Server("x", cache=60), "cache is a Cache, or a dict"),
    (lambda: Server("x", cache={"tools/list": 60}), "cache of tools/list"),
    (lambda: Server("x", cache={"tools/call": Cache(1)}), "tools/call' may not be kept; these may: server/discover"),
    (lambda: Server("x").resource("test://a", cache=60)(lambda: ""), "resource 'test://a': cache is a Cache"),
    (lambda: Server("x").resource("test://{a}", cache="public")(lambda a: ""), "cache is a Cache"),
    (lambda: Server("x").directory(".", cache=5), "directory: cache is a Cache"),
])
def test_a_mistake_is_told_at_registration(make, words):
    with pytest.raises((TypeError, ValueError), match=words.replace("(", "\\(")):
        make()


@pytest.mark.spec("cache.ttl-without-list-changed", "cache.ttl-with-list-changed")
def test_hints_and_announcements_go_together():
    """[2026-07-28 server/utilities/caching §Interaction with Notifications] MAY"""
    with served(full(cache=Cache(60)), STATELESS) as peer:
        assert peer.capabilities["tools"]["listChanged"] is True
        assert hints(ask(peer, "tools/list")["result"]) == (60000, "private")


# --- order ------------------------------------------------------------------------------------------------------------

@pytest.mark.spec("tools.deterministic-order")
@pytest.mark.parametrize("revision", [*HANDSHAKE, STATELESS])
def test_lists_are_the_same_whatever_the_order_of_registration_was(revision):
    """[2026-07-28 server/tools §Capabilities] SHOULD; another process, or one that was started again, says the same."""
    seen = set()
    for order in itertools.permutations(["b", "a", "c"]):
        server = Server("ordered", page_size=2, order="name")
        for name in order:
            server.tool(lambda: "x", name=name)
            server.prompt(lambda: "x", name=name)
            server.resource("test://" + name)(lambda: "x")
            server.resource("test://%s/{x}" % name)(lambda x: x)
        server.remove_tool("a")
        server.tool(lambda: "x", name="a")
        with served(server, revision) as peer:
            pages = []
            for method in CACHEABLE[1:5]:
                first = ask(peer, method)["result"]
                pages += [first, ask(peer, method, {"cursor": first["nextCursor"]})["result"]]
                assert ask(peer, method)["result"] == first
            seen.add(repr(pages))
    assert len(seen) == 1


@pytest.mark.spec("tools.list-responds", "resources.list-responds", "prompts.list-responds")
@pytest.mark.parametrize("method, member, key, add, remove", [
    ("tools/list", "tools", "name", lambda server, name, **options: server.tool(lambda: "x", name=name, **options),
     Server.remove_tool),
    ("prompts/list", "prompts", "name",
     lambda server, name, **options: server.prompt(lambda: "x", name=name, **options), Server.remove_prompt),
    ("resources/list", "resources", "uri",
     lambda server, name, **options: server.resource(name, **options)(lambda: "x"), Server.remove_resource),
])
@pytest.mark.parametrize("page_size", [None, 2])
def test_a_list_has_what_this_client_can_use_at_present(method, member, key, add, remove, page_size):
    """[2026-07-28 server/tools §Capabilities] [2026-07-28 server/prompts §Capabilities]
    [2026-07-28 server/resources §Capabilities] MUST"""
    server = Server("x", page_size=page_size)

    def listed(peer):
        found, params = [], {}
        while params is not None:
            result = ask(peer, method, params)["result"]
            found += [each[key] for each in result[member]]
            params = {"cursor": result["nextCursor"]} if "nextCursor" in result else None
        return found

    names = ["test://%s" % letter for letter in "abcde"] if key == "uri" else list("abcde")
    for name in names[:4]:
        add(server, name)
    add(server, names[0] + "x", visible=lambda principal: principal is not None)
    with served(server, STATELESS) as peer:
        assert member in peer.capabilities and listed(peer) == names[:4]
        remove(server, names[1])
        assert listed(peer) == [names[0], *names[2:4]]
        add(server, names[4])
        assert listed(peer) == [names[0], *names[2:]]


@pytest.mark.spec("tools.list-not-per-connection", "resources.list-not-per-connection",
                  "prompts.list-not-per-connection", "tools.list-responds", "resources.list-responds",
                  "prompts.list-responds")
@pytest.mark.parametrize("method", CACHEABLE[1:5])
def test_every_connection_sees_the_same_list_whatever_was_asked_on_it_before(method):
    """[2026-07-28 server/tools §Capabilities] MUST NOT"""
    server = full()
    with served(server, STATELESS) as one, served(server, STATELESS) as other:
        for _ in range(2):
            ask(one, "tools/call", {"name": "a", "arguments": {}})
            ask(one, "resources/read", {"uri": "test://a"})
            first, second = ask(one, method)["result"], ask(other, method)["result"]
            assert first == second
            listed, = [items for name, items in first.items() if isinstance(items, list)]
            assert len(listed) == 2
