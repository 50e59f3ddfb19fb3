"""Extensions: declared by both sides, as if not there where one lacks them, and each a module of its own."""
import pytest

from mcp_ref import Client, Server, connect
from mcp_ref.errors import CapabilityMissing, LocalProtocolError, PeerError, PeerProtocolError
from mcp_ref.jsontext import JsonError
from mcp_ref.methods import CLIENT, REQUEST, Method
from mcp_ref.peer.context import Route
from mcp_ref.peer.extension import Extension
from mcp_ref.protocol.envelope import SUBSCRIPTION
from mcp_ref.revisions import R2025_11_25, R2026_07_28, REVISIONS
from mcp_ref.server import Context
from mcp_ref.transports.memory import pair
from tests.support.http_modern import OUT, ModernWeb
from tests.support.later_extension import (
    COUNT, DROPPED, FETCH, FILTER, IDENTIFIER, KEY, KIND, TAKEN, CountParams, Later,
)
from tests.support.requirements_table import HANDSHAKE
from tests.support.scene import Scene
from tests.support.scripted import PATIENCE, ScriptedPeer
from tests.support.serving import ask, assert_masked, served
from tests.support.sides import delivered

STATELESS = "2026-07-28"
beyond_the_schema = pytest.mark.sends_illegal("schema.json", why="it knows the official methods and results only")
DECLARED = {"extensions": {IDENTIFIER: {}}}


class Plain(Extension):
    """One that only says that it is there."""

    identifier = "com.example/plain"

    def settings(self, role):
        return {"said by": role.party}


def serving(*extensions):
    server = Server("extended", extensions=extensions)
    seen = []

    @server.tool
    def count_later(text: str, ctx: Context) -> str:
        seen.append(dict(ctx.extensions))
        return text * 2

    @server.tool
    def needs(ctx: Context) -> str:
        return str(ctx.require_extension(IDENTIFIER))

    return server, seen


class Joined:
    """A client and a server of ours."""

    def __init__(self, ours, theirs, era="modern"):
        self.server, self.seen = serving(*theirs)
        self.client = Client(extensions=ours, era=era, tasks=False)
        near, far = pair()
        self.server.connect(far)
        self.client.open(near)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.client.close()
        for connection in self.server.connections:
            connection.close()


def heard(extension, method):
    with extension.changed:
        assert extension.changed.wait_for(lambda: any(name == method for name, _ in extension.heard_of), PATIENCE)
        return [ticket for name, ticket in extension.heard_of if name == method]


# --- identifiers ------------------------------------------------------------------------------------------------------

@pytest.mark.spec("extension.id-naming")
@pytest.mark.parametrize("identifier, fine", [
    ("com.example/thing", True), ("io.modelcontextprotocol/ui", True), ("a/b", True), ("com.example/", True),
    ("com.ex-ample.x1/a.b-c_d", True),
    ("thing", False), ("", False), ("/thing", False), ("com..example/thing", False), ("com.example/-x", False),
    ("1com/thing", False), ("com.-x/thing", False), ("com.x-/thing", False), ("com.example/a/b", False),
    ("com.example/th\u00efng", False), ("com.exampl\u00e9/x", False), ("com.example/a b", False), (None, False),
    (1, False), (b"com.example/x", False),
])
@pytest.mark.parametrize("make", [lambda given: Server("x", extensions=given), lambda given: Client(extensions=given)])
def test_identifiers_are_names_of_meta_with_a_prefix(make, identifier, fine):
    """[2026-07-28 basic/versioning §Extension Negotiation] MUST"""
    made = Plain()
    made.identifier = identifier
    if fine:
        make([made])
    else:
        with pytest.raises(ValueError, match="extension"):
            make([made])


def of(identifier="com.example/x", *names, since=R2026_07_28):
    made = Plain()
    made.identifier, made.since = identifier, since
    made.methods = tuple(Method(name, REQUEST, CLIENT, CountParams, None, None, None, "") for name in names)
    return made


@pytest.mark.parametrize("extensions, words", [
    ([of(), of()], "two extensions com.example/x"), ([of("a/b", "m"), of("c/d", "m")], "has a method m already"),
    ([of("a/b", "tools/call")], "tools/call already"), ([of("a/b", "m", "m")], "has a method m already"),
    ([of("a/b", "initialize", since=R2025_11_25)], "initialize already"), ([Plain], "objects of a subclass"),
    (["com.example/x"], "objects of a subclass"),
])
def test_extensions_that_cannot_stand_beside_each_other_are_refused(extensions, words):
    with pytest.raises((TypeError, ValueError), match=words):
        Server("x", extensions=extensions)


def test_a_method_that_only_an_earlier_revision_has_is_free():
    made = of("a/b", "tasks/get", "initialize")
    assert Server("x", extensions=[made]).extensions.lookup("tasks/get", REVISIONS[-1]).extension == "a/b"


# --- declaring --------------------------------------------------------------------------------------------------------

@beyond_the_schema
def test_both_sides_declare_and_see_what_the_other_has():
    """[2026-07-28 basic/versioning §Extension Negotiation]"""
    with Joined([Plain(), Later()], [Plain(), Later(limit=3)]) as both:
        assert both.client.server_extensions == {"com.example/plain": {"said by": "server"}, IDENTIFIER: {"limit": 3}}
        both.client.call_tool("count_later", {"text": "a"})
        assert both.seen == [{"com.example/plain": {"said by": "client"}, IDENTIFIER: {}}]
    with Joined([], []) as both:
        both.client.call_tool("count_later", {"text": "a"})
        assert both.client.server_extensions == {} and both.seen == [{}]


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_earlier_revisions_declare_only_what_says_that_it_is_older(revision):
    """[..2025-11-25 basic/lifecycle §Capability Negotiation]: capabilities are no closed set."""
    older = of("com.example/old", since=R2025_11_25)
    server, seen = serving(Plain(), older)
    with served(server, revision) as peer:
        found = peer.capabilities.get("extensions")
        assert found == ({"com.example/old": {"said by": "server"}} if revision == R2025_11_25 else None)
    with Scene(revision, {}, extensions=[Plain(), older], era="legacy", revisions=[revision],
               capabilities={"extensions": {"com.example/theirs": {"a": 1}}}) as scene:
        found = scene.opening["capabilities"].get("extensions")
        assert found == ({"com.example/old": {"said by": "client"}} if revision == R2025_11_25 else None)
        assert scene.client.server_extensions == {"com.example/theirs": {"a": 1}}


@pytest.mark.parametrize("declared", [None, [], "x", {"com.example/later": 1}, {"com.example/later": None}])
def test_what_a_server_declares_oddly_is_no_extension(declared):
    with Scene("2025-11-25", {}, capabilities={"extensions": declared}, extensions=[Later()]) as scene:
        assert scene.client.server_extensions == {}


# --- where both have it -----------------------------------------------------------------------------------------------

@beyond_the_schema
@pytest.mark.spec("jsonrpc.result-type-known-set", "jsonrpc.result-type-extensions")
@pytest.mark.parametrize("submit", [True, False])
def test_a_result_of_a_type_that_it_adds_is_finished_by_it(submit):
    """[2026-07-28 basic/index §ResultType] MUST"""
    ours, theirs = Later(), Later()
    with Joined([ours], [theirs]) as both:
        client = both.client
        ask_for = client.submit_tool("count_later", {"text": "a"}).result if submit else \
            lambda timeout: client.call_tool("count_later", {"text": "a"})
        result = ask_for(PATIENCE)
        assert result.text == "aa" and result.meta[KEY] == "t1"
        assert heard(ours, TAKEN) == heard(theirs, DROPPED) == ["t1"]
        assert client.request(COUNT)["waiting"] == 0


def test_methods_of_an_extension_are_read_by_its_classes():
    with Joined([Later()], [Later()]) as both:
        assert both.client._requests.call(COUNT, None).waiting == 0
        with pytest.raises(PeerError):
            both.client.request(FETCH, {"ticket": "nobody's"})


def test_settings_decide():
    with Joined([Later()], [Later(limit=0)]) as both:
        assert both.client.call_tool("count_later", {"text": "a"}).text == "aa"


# --- where one has it -------------------------------------------------------------------------------------------------

@pytest.mark.spec("extension.fallback", "meta.capability-missing-error")
def test_a_request_of_an_extension_that_the_client_did_not_declare_is_refused_and_names_it():
    """[2026-07-28 basic/versioning §Extension Negotiation] MUST"""
    server, _ = serving(Later())
    with served(server, STATELESS) as peer:
        for method, params in ((COUNT, {}), (FETCH, {"ticket": "t"})):
            error = ask(peer, method, params)["error"]
            assert error["code"] == -32021
            assert error["data"] == {"requiredCapabilities": {"extensions": {IDENTIFIER: {}}}}
        answer = ask(peer, "tools/call", {"name": "needs", "arguments": {}})
        assert answer["error"]["code"] == -32021 and IDENTIFIER in str(answer["error"]["data"])
        peer.begin(STATELESS, DECLARED)
        assert ask(peer, COUNT)["result"]["waiting"] == 0
        assert ask(peer, "tools/call", {"name": "needs", "arguments": {}})["result"]["content"][0]["text"] == "{}"
        peer.begin(STATELESS, {"extensions": {"com.example/other": {}}})
        assert ask(peer, COUNT)["error"]["code"] == -32021, "nothing is remembered of the request before"


@beyond_the_schema
@pytest.mark.spec("extension.fallback")
def test_a_client_without_it_is_served_by_the_protocol_alone():
    """[2026-07-28 basic/versioning §Extension Negotiation] MUST"""
    server, _ = serving(Later())
    with served(server, STATELESS) as peer:
        call = {"name": "count_later", "arguments": {"text": "a"}}
        result = ask(peer, "tools/call", call)["result"]
        assert result["resultType"] == "complete" and result["content"][0]["text"] == "aa"
        assert not any(message.get("method") == TAKEN for message in peer.seen)
        peer.begin(STATELESS, DECLARED)
        assert ask(peer, "tools/call", call)["result"] == {
            "resultType": KIND, "ticket": "t1", "_meta": result["_meta"]}
        assert any(message.get("method") == TAKEN for message in peer.seen)


@pytest.mark.spec("extension.fallback")
def test_a_server_without_it_knows_no_method_of_it():
    """[2026-07-28 basic/versioning §Extension Negotiation] MUST"""
    server, _ = serving()
    with served(server, STATELESS) as peer:
        peer.begin(STATELESS, DECLARED)
        assert ask(peer, COUNT)["error"]["code"] == -32601


@pytest.mark.spec("extension.fallback")
def test_a_client_sends_nothing_of_an_extension_that_the_server_lacks():
    """[2026-07-28 basic/versioning §Extension Negotiation] MUST"""
    with Scene(STATELESS, {}, extensions=[Later()], capabilities={"tools": {}}) as scene:
        with pytest.raises(CapabilityMissing, match="com.example/later"):
            scene.client.request(COUNT)
        with pytest.raises(CapabilityMissing, match="com.example/later"):
            scene.client.connection.notify(DROPPED, {"ticket": "t"})
        assert scene.asked == [] and scene.notifications == []


@pytest.mark.spec("jsonrpc.result-type-known-set")
@pytest.mark.parametrize("extensions, capabilities", [
    ([Later()], {"tools": {}}), ([], {"tools": {}, "extensions": {IDENTIFIER: {}}}), ([], {"tools": {}}),
    ([Plain()], {"tools": {}, "extensions": {IDENTIFIER: {}, "com.example/plain": {}}}),
])
@pytest.mark.parametrize("submit", [True, False])
def test_a_type_of_result_that_not_both_have_is_invalid(submit, extensions, capabilities):
    """[2026-07-28 basic/index §ResultType] MUST"""
    ticket = {"resultType": KIND, "ticket": "t1"}
    with Scene(STATELESS, {"tools/call": ticket}, extensions=extensions,
               capabilities=capabilities) as scene, pytest.raises(PeerProtocolError, match="com.example/ticket"):
        if submit:
            scene.client.submit_tool("x", {}).result(PATIENCE)
        else:
            scene.client.call_tool("x", {})


def test_a_notification_of_an_extension_that_the_server_did_not_declare_is_dropped_and_counted():
    made, told = Later(), []
    with Scene(STATELESS, {}, extensions=[made], capabilities={"tools": {}},
               on_notification=lambda *of: told.append(of)) as scene:
        scene.tell(TAKEN, {"ticket": "t"})
        scene.tell(TAKEN, {"ticket": "t"})
        delivered(scene.client.connection)
        assert made.heard_of == [] and told == [] and scene.count("undeclared extension") >= 1


def test_in_a_handshake_session_a_refusal_has_the_code_of_its_revision():
    older = Later()
    older.since = R2025_11_25
    older.methods = tuple(row._replace(since=R2025_11_25) for row in Later.methods)
    server, _ = serving(older)
    with served(server, R2025_11_25) as peer:
        assert ask(peer, COUNT)["error"]["code"] == -32601
    with served(server, "2025-06-18") as peer:
        assert ask(peer, COUNT)["error"]["code"] == -32601


def test_a_reserved_name_in_meta_needs_the_extension_that_defines_it():
    with Scene(STATELESS, {"tools/call": {"content": [], "resultType": "complete"}},
               extensions=[Later()]) as scene:
        scene.client.call_tool("x", {}, meta={KEY: "t"})
        assert scene.requests[-1]["params"]["_meta"][KEY] == "t"
    with Scene(STATELESS, {"tools/call": {"content": []}}) as scene:
        with pytest.raises(Exception, match="reserved"):
            scene.client.call_tool("x", {}, meta={KEY: "t"})


def test_an_extension_may_put_itself_around_any_method():
    class Shout(Extension):
        identifier = "com.example/shout"

        def adapt(self, role, method, revision, route):
            if method != "tools/list":
                return route

            def call(context, params):
                if self.identifier in context.extensions:
                    return {"tools": [], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
                return route.call(context, params)

            return Route(call, route.fault)

    server, _ = serving(Shout())
    with served(server, STATELESS) as peer:
        assert len(ask(peer, "tools/list")["result"]["tools"]) == 2
        peer.begin(STATELESS, {"extensions": {"com.example/shout": {}}})
        assert ask(peer, "tools/list")["result"]["tools"] == []


# --- what its author does wrong, or later -----------------------------------------------------------------------------

@pytest.mark.parametrize("revision", [*HANDSHAKE, STATELESS])
def test_one_that_fails_fails_requests_and_not_the_connection(revision):
    class Broken(Extension):
        identifier = "com.example/broken"
        since = None
        methods = (Method("com.example/do", REQUEST, CLIENT, None, None, None, None, "x"),)
        works = True

        def route(self, role, method, revision):
            raise ValueError("secret")

        def settings(self, role):
            if self.works:
                return {}
            raise ValueError("secret")

    extension = Broken()
    server, _ = serving(extension)
    server.mask_errors = True
    with ScriptedPeer.of_server(server) as peer:
        peer.handshake(revision, {"extensions": {"com.example/broken": {}}})
        for _ in range(2):
            assert_masked(ask(peer, "com.example/do")["error"])
        assert ask(peer, "tools/list")["result"]["tools"]
        connection = peer.connection
        assert connection.counters["handler errors"] == 2 and len(connection.inflight) == 0
    extension.works = False
    other, _ = serving(extension)
    other.mask_errors = True
    with ScriptedPeer.of_server(other) as peer:
        peer.begin(STATELESS)
        for method in ("tools/list", "server/discover"):
            assert_masked(ask(peer, method)["error"])
        assert len(peer.connection.inflight) == 0 and not peer.connection.closed


@pytest.mark.spec("jsonrpc.result-type-required")
@pytest.mark.parametrize("revision", ["2025-11-25", STATELESS])
def test_a_deferred_answer_is_like_any_other_and_there_is_one(revision):
    waiting = []

    class Slow(Extension):
        identifier = "com.example/slow"
        since = None
        methods = (Method("com.example/wait", REQUEST, CLIENT, None, None, None, None, "x"),)

        def route(self, role, method, revision):
            return Route(lambda context, params: waiting.append(context), inline=True, deferred=True)

    server, _ = serving(Slow())
    with ScriptedPeer.of_server(server) as peer:
        peer.handshake(revision, {"extensions": {Slow.identifier: {}}})
        peer.request("w", "com.example/wait")
        peer.barrier()
        context, = waiting
        with pytest.raises(JsonError):
            context.complete({"done": object()})
        context.complete({"done": True})
        result = peer.answer_to("w")["result"]
        assert result.pop("done") is True
        assert (set(result) == {"resultType", "_meta"}) == (revision == STATELESS)
        peer.request("w2", "com.example/wait")
        peer.barrier("again")
        with pytest.raises(LocalProtocolError, match="has its answer already"):
            context.complete({"done": False})
        waiting[1].complete({"done": 2})
        assert peer.answer_to("w2")["result"]["done"] == 2


@beyond_the_schema
@pytest.mark.parametrize("name, code", [("t1", None), ("t2", -32020), (OUT, -32020)])
def test_a_method_of_an_extension_says_what_mcp_name_repeats(name, code):
    """[2026-07-28 basic/transports/streamable-http §Server Validation] MUST"""
    server, _ = serving(Later())
    with ModernWeb(server) as web:
        ticket = web.ask(1, "tools/call", {"name": "count_later", "arguments": {"text": "ab"}}, capabilities=DECLARED)
        assert ticket.answer()["result"]["ticket"] == "t1"
        fetched = web.ask(2, FETCH, {"ticket": "t1"}, headers={"Mcp-Name": name}, capabilities=DECLARED)
        assert fetched.answer().get("error", {}).get("code") == code and fetched.status == (400 if code else 200)


@beyond_the_schema
def test_a_client_repeats_what_the_row_of_an_extension_names():
    """[2026-07-28 basic/transports/streamable-http §Standard Request Headers] MUST"""
    server, _ = serving(Later())
    with server.listen("http://127.0.0.1:0/mcp") as listener, connect(listener.address, extensions=[Later()]) as client:
        assert client.call_tool("count_later", {"text": "ab"}).text == "abab"


# --- the filter of subscriptions/listen -------------------------------------------------------------------------------

@beyond_the_schema
def test_a_server_tells_those_streams_that_asked_for_a_text_by_a_member_of_an_extension():
    """[2026-07-28 basic/patterns/subscriptions §Acknowledgment]"""
    server, _ = serving(Later())
    with ScriptedPeer.of_server(server) as peer:
        peer.begin(STATELESS, DECLARED)
        for id in (1, 2):
            ask(peer, "tools/call", {"name": "count_later", "arguments": {"text": "ab"}})
        peer.request("all", "subscriptions/listen", {"notifications": {FILTER: ["t1", "t2", "t1", "t9"], "other": 1}})
        peer.request("one", "subscriptions/listen", {"notifications": {FILTER: ["t2"]}})
        told = [peer.receive(lambda message: "method" in message) for _ in range(2)]
        assert [each["params"]["notifications"] for each in told] == [{FILTER: ["t1", "t2"]}, {FILTER: ["t2"]}]
        assert server.listeners.tell(FILTER, "t1", TAKEN, {"ticket": "t1"}) == 1
        assert server.listeners.tell(FILTER, "t2", TAKEN, {"ticket": "t2"}) == 2
        assert server.listeners.tell(FILTER, "t9", TAKEN, {"ticket": "t9"}) == 0
        told = [peer.receive(lambda message: "method" in message)["params"] for _ in range(3)]
        assert [(each["ticket"], each["_meta"][SUBSCRIPTION]) for each in told] == [
            ("t1", "all"), ("t2", "all"), ("t2", "one")]
        peer.notify("notifications/cancelled", {"requestId": "all"})
        peer.barrier()
        assert server.listeners.tell(FILTER, "t1", TAKEN, {"ticket": "t1"}) == 0
        assert server.listeners.tell(FILTER, "t2", TAKEN, {"ticket": "t2"}) == 1


@pytest.mark.parametrize("declared, asked, code", [
    ({}, ["t1"], -32021), (DECLARED, "t1", -32602), (DECLARED, [1], -32602), (DECLARED, {"t1": 1}, -32602),
    (DECLARED, ["t%d" % number for number in range(10001)], -32603),
])
def test_streams_that_an_extension_cannot_serve_are_refused(declared, asked, code):
    """[2026-07-28 basic/versioning §Extension Negotiation] MUST"""
    server, _ = serving(Later())
    with ScriptedPeer.of_server(server) as peer:
        peer.begin(STATELESS, declared)
        answer = ask(peer, "subscriptions/listen", {"notifications": {FILTER: asked}})
        assert answer["error"]["code"] == code
        assert len(server.listeners) == 0


@beyond_the_schema
def test_a_client_listens_by_a_member_of_an_extension():
    mine, theirs = Later(), Later()
    with Joined([mine], [theirs]) as joined:
        theirs._waiting["t7"] = {}
        with joined.client.listen(more={FILTER: ["t7", "t8"]}) as subscription:
            assert subscription.agreed.more == {(FILTER, "t7")}
            assert joined.server.listeners.tell(FILTER, "t7", TAKEN, {"ticket": "t7"}) == 1
            assert heard(mine, TAKEN) == ["t7"]
        with Joined([mine], [theirs], era="legacy") as older, pytest.raises(LocalProtocolError, match="no filter"):
            older.client.listen(more={FILTER: ["t7"]})
