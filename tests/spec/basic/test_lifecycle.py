"""The lifecycle of a handshake connection: opening, capability agreement, operation, end; as both parties keep it.

ALLOWED says it once more, written from the page and not from the library's table. The walks send every method of the
methods table in every phase, in both directions, and compare what the wire shows.
"""
import threading

import pytest

from mcp_ref.client import Client
from mcp_ref.errors import (
    CapabilityMissing, ConnectionLost, LocalProtocolError, PeerError, PeerProtocolError, RequestTimeout,
)
from mcp_ref.limits import Limits
from mcp_ref.messages.lifecycle import ClientCapabilities, RootsCapability
from mcp_ref.methods import METHODS, lookup
from mcp_ref.peer.context import Route
from mcp_ref.protocol import lifecycle
from mcp_ref.revisions import revision as revision_named
from mcp_ref.server import Server
from mcp_ref.transports.memory import pair
from tests.support.conversation import (
    CAPABILITIES, OTHER, PARTIES, Opening, SubjectClient, SubjectServer, conversation, opening_params,
)
from tests.support.requirements_table import HANDSHAKE, revisions_of
from tests.support.scripted import PATIENCE, ScriptedPeer

both_parties = pytest.mark.parametrize("party", PARTIES)

# --- every method in every phase --------------------------------------------------------------------------------------

ALLOWED = {
    ("client", "opening"): {"initialize", "ping"},
    ("client", "initializing"): {"ping", "notifications/cancelled"},
    ("client", "answered"): {"ping", "notifications/cancelled", "notifications/initialized"},
    ("server", "opening"): set(),
    ("server", "initializing"): {"ping", "notifications/message", "notifications/cancelled"},
    ("server", "answered"): {"ping", "notifications/message", "notifications/cancelled"},
}
"""What a sender may send in a phase before operation; a cancellation can only be one of a ping."""
ONCE = {"initialize", "notifications/initialized"}
"""What no client sends once the connection is operating."""
STEPS = {("client", "opening", "initialize"), ("client", "answered", "notifications/initialized")}
"""Messages that end their phase."""
NAMES = sorted({row.name for row in METHODS} | {"tools/no_such", "notifications/no_such", "", "*"})
PHASES = ("opening", "initializing", "answered", "operating")


def allowed(sender, phase, method):
    """Whether the page lets this party send this method in this phase."""
    if phase == "operating":
        return not (sender == "client" and method in ONCE)
    return method in ALLOWED[sender, phase]


def is_notification(method):
    return method.startswith("notifications/")


def known(method, sender, revision):
    """Whether the revision has this method for this sender."""
    row = lookup(method, revision_named(revision))
    return row is not None and row.sender in (sender, "both")


@pytest.mark.spec("lifecycle.init-first", "lifecycle.client-no-early-requests", "lifecycle.server-no-early-requests")
@pytest.mark.parametrize("phase", PHASES)
@both_parties
def test_the_table_says_of_each_method_what_the_page_says(party, phase):
    """[..2025-11-25 basic/lifecycle §Initialization] MUST"""
    for method in NAMES:
        verdict = lifecycle.consult(party, phase, method)
        assert verdict.allowed is allowed(party, phase, method), method
        assert (verdict.phase == phase) is ((party, phase, method) not in STEPS), method


@pytest.mark.spec("lifecycle.base-required", "lifecycle.init-first")
@pytest.mark.parametrize("revision", revisions_of("lifecycle.init-first"))
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("party, strict", [("server", True), ("server", False), ("client", False)])
@pytest.mark.sends_illegal(
    why="the client of this test answers no question",
    rules=lambda party, phase, revision, **_: ["elicit.one-mode"] * (
        (party, phase, revision) == ("client", "operating", "2025-11-25")))
def test_each_method_that_arrives_in_each_phase_is_taken_or_refused_as_the_page_says(party, strict, phase, revision):
    """[..2025-11-25 basic/lifecycle §Initialization] MUST"""
    sender = OTHER[party]
    rules = revision if phase in ("answered", "operating") else HANDSHAKE[-1]
    early = not strict and (sender, phase) == ("client", "answered")
    names = [name for name in NAMES if (sender, phase, name) not in STEPS]
    permitted = {name for name in names if allowed(sender, phase, name) or (early and name != "initialize")}
    present = {name for name in names if known(name, sender, rules)}
    requests = [name for name in names if not is_notification(name)]
    notes = {name for name in names if is_notification(name)}
    with conversation(party, revision, phase, strict=strict) as talk:
        if phase == "operating":
            talk.gate.open()
        talk.peer.send(*[{"jsonrpc": "2.0", "id": "id of %s" % name, "method": name} for name in requests])
        answers = [talk.peer.receive(lambda m: "method" not in m) for _ in requests]
        codes = {answer["id"][len("id of "):]: answer.get("error", {}).get("code") for answer in answers}
        for name in requests:
            if name not in permitted:
                assert codes[name] == -32600, name
            elif name not in present:
                assert codes[name] == -32601, name
            else:
                assert codes[name] != -32600, name
        assert talk.count("refused request") == len([code for code in codes.values() if code in (-32600, -32601)])
        talk.peer.send(*[{"jsonrpc": "2.0", "method": name} for name in sorted(notes)])
        assert [m for m in talk.unanswered() if m.get("method") != "notifications/message"] == []
        assert talk.count("refused notification") == len(notes - permitted)
        assert talk.count("unknown notification") == len(notes & permitted - present)
        assert talk.connection.session.phase == phase
    assert set(talk.role.reached) <= permitted & present | {"initialize", "ping"}, "something happened that was refused"


def broken_by_a_walk(party, phase, revision):
    """The rules that are broken where each method is sent without its params."""
    rules = {"schema.json"} if phase != "opening" else set()
    if revision == "2025-11-25" and phase != "opening":
        rules.add("cancel.request-id-required")
    if phase == "operating" or (phase != "opening" and revision != "2025-11-25") or (
            (party, phase) == ("server", "answered")):
        rules.add("schema.params")
    if (party, phase, revision) == ("server", "operating", "2025-11-25"):
        rules.update(["elicit.complete-id", "elicit.form-params", "elicit.param-message"])
    return rules


@pytest.mark.spec("lifecycle.init-first", "lifecycle.client-no-early-requests", "lifecycle.server-no-early-requests",
                  "lifecycle.respect-version", "lifecycle.respect-version-should")
@pytest.mark.sends_illegal(rules=broken_by_a_walk)
@pytest.mark.parametrize("revision", revisions_of("lifecycle.init-first"))
@pytest.mark.parametrize("phase", PHASES)
@both_parties
def test_each_method_is_sent_in_each_phase_or_refused_before_it_goes_out(party, phase, revision):
    """[..2025-11-25 basic/lifecycle §Initialization] SHOULD NOT"""
    rules = revision if phase in ("answered", "operating") else HANDSHAKE[-1]
    with conversation(party, revision, phase) as talk:
        connection = talk.connection
        for method in NAMES:
            if (party, phase, method) in STEPS:
                continue
            send = connection.notify if is_notification(method) else connection.open_request
            if allowed(party, phase, method) and known(method, party, rules):
                try:
                    send(method)
                except CapabilityMissing:
                    assert phase in ("opening", "initializing"), "capabilities are known afterwards"
                else:
                    assert talk.peer.receive()["method"] == method
            else:
                with pytest.raises(LocalProtocolError):
                    send(method)
            assert len(connection.table) == len([m for m in talk.peer.seen if "id" in m and "method" in m
                                                 and m["method"] not in ONCE]) + unanswered_opening(talk)
            assert connection.session.phase == phase, method
        assert talk.unanswered() == [], "something went out that was refused"


def unanswered_opening(talk):
    """1 while a client's `initialize` waits for its answer."""
    return int(talk.party == "client" and talk.connection.session.phase == "initializing")


@pytest.mark.spec("lifecycle.init-first")
@pytest.mark.parametrize("phase", PHASES)
@both_parties
def test_no_step_is_taken_by_a_message_that_only_has_its_name(party, phase):
    """[..2025-11-25 basic/lifecycle §Initialization] MUST"""
    names = ["initialize result", "initialize error", "*", "initialize", "notifications/initialized"]
    with conversation(party, phase=phase) as talk:
        for name in names:
            send = talk.connection.notify if name == "initialize" else talk.connection.open_request
            with pytest.raises(LocalProtocolError):
                send(name)
            assert talk.connection.session.phase == phase, name
            if name != "initialize":
                assert talk.call(name)["error"]["code"] in (-32600, -32601)
            if name != "notifications/initialized":
                talk.peer.notify(name)
            assert talk.unanswered() == [] and talk.connection.session.phase == phase, name


@pytest.mark.spec("jsonrpc.follow-spec")
@pytest.mark.parametrize("revision", revisions_of("jsonrpc.follow-spec"))
@both_parties
@pytest.mark.sends_illegal("progress.token-active", why="a notification like any other: nobody has asked for progress")
def test_a_request_is_never_sent_as_a_notification_nor_the_other_way_round(party, revision):
    """[2024-11-05 basic/messages §Notifications] [2025-03-26..2025-11-25 basic/index §Notifications] MUST"""
    with conversation(party, revision) as talk:
        pending = talk.connection.open_request("ping")
        talk.peer.respond(talk.peer.receive()["id"], {})
        talk.connection.wait(pending)
        talk.connection.notify("notifications/progress", {"progressToken": 1, "progress": 1})
        talk.peer.receive()
        with pytest.raises(LocalProtocolError, match="no notification ping"):
            talk.connection.notify("ping")
        with pytest.raises(LocalProtocolError, match="no request notifications/progress"):
            talk.connection.open_request("notifications/progress")
        assert talk.unanswered() == []


# --- opening ----------------------------------------------------------------------------------------------------------

@pytest.mark.spec("lifecycle.init-first", "lifecycle.init-protocol-version", "lifecycle.init-capabilities",
                  "lifecycle.init-client-info", "lifecycle.initialized-notification")
@pytest.mark.parametrize("revision", revisions_of("lifecycle.init-first"))
@pytest.mark.parametrize("capabilities, declared", [
    (None, {}), (ClientCapabilities(roots=RootsCapability(list_changed=True)), {"roots": {"listChanged": True}}),
])
def test_a_client_opens_with_version_capabilities_and_identity_and_then_says_initialized(
    capabilities, declared, revision,
):
    """[..2025-11-25 basic/lifecycle §Initialization] MUST"""
    ours, theirs = pair()
    client = Client("me", "1.2.3", revisions=[revision], capabilities=capabilities)
    with ScriptedPeer(theirs) as peer:
        opening = Opening(client, ours)
        first = peer.receive()
        assert (first["jsonrpc"], first["method"], type(first["id"])) == ("2.0", "initialize", int)
        assert first["params"] == {
            "protocolVersion": revision, "capabilities": declared, "clientInfo": {"name": "me", "version": "1.2.3"},
        }
        peer.call("early", "ping")
        assert len(peer.seen) == 2, "nothing but the answer to a ping may come before the server has answered"
        info = {"name": "scripted", "version": "0"}
        peer.respond(first["id"], {"protocolVersion": revision, "capabilities": {}, "serverInfo": info})
        assert peer.receive() == {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert opening.join() is None
        assert peer.barrier() == [], "exactly one initialized"
        client.close()


@pytest.mark.spec("lifecycle.init-response", "lifecycle.base-required")
@pytest.mark.parametrize("revision", revisions_of("lifecycle.init-response"))
def test_a_server_answers_with_version_capabilities_and_identity(revision):
    """[..2025-11-25 basic/lifecycle §Initialization] MUST"""
    server = Server("me", "1.2.3", instructions="Use it well.")
    server.tool(lambda: "", name="one")
    with ScriptedPeer.of_server(server) as peer:
        result = peer.handshake(revision, {})
        assert result == {
            "protocolVersion": revision, "capabilities": {"logging": {}, "tools": {"listChanged": True}},
            "serverInfo": {"name": "me", "version": "1.2.3"}, "instructions": "Use it well.",
        }


@pytest.mark.spec("lifecycle.init-response", "lifecycle.respect-version", "lifecycle.respect-version-should")
@pytest.mark.parametrize("revision", revisions_of("lifecycle.init-response"))
def test_identity_has_only_the_members_of_the_agreed_revision(revision):
    """[..2025-11-25 basic/lifecycle §Initialization] MUST"""
    members = {"title": "2025-06-18", "description": "2025-11-25", "websiteUrl": "2025-11-25"}
    server = Server("me", "1", title="T", description="D", website_url="https://example.com")
    with ScriptedPeer.of_server(server) as peer:
        info = peer.handshake(revision)["serverInfo"]
    assert set(info) == {"name", "version"} | {name for name, since in members.items() if revision >= since}
    with conversation("client", revision, "initializing", title="T") as talk:
        info = talk.peer.seen[0]["params"]["clientInfo"]
    assert set(info) == {"name", "version"} | ({"title"} if revision >= members["title"] else set())


UNFIT = [
    {"protocolVersion": None}, {"protocolVersion": 20251125}, {"protocolVersion": ["2025-11-25"]},
    {"capabilities": None}, {"capabilities": []}, {"capabilities": {"roots": True}}, {"clientInfo": None},
    {"clientInfo": {}}, {"clientInfo": {"name": "x"}}, {"clientInfo": {"name": 5, "version": "1"}},
    {"clientInfo": "me"},
]


@pytest.mark.spec("lifecycle.init-protocol-version", "lifecycle.init-capabilities", "lifecycle.init-client-info")
@pytest.mark.parametrize("revision", revisions_of("lifecycle.init-protocol-version"))
@pytest.mark.parametrize("strict", [False, True])
def test_a_server_refuses_an_opening_that_lacks_something_and_takes_the_next_one(strict, revision):
    """[..2025-11-25 basic/lifecycle §Initialization] MUST"""
    whole = opening_params(revision)
    openings = [{}, None] + [
        dict(whole, **members) for members in UNFIT if strict or "[]" not in repr(members)]
    openings += [{name: whole[name] for name in whole if name != missing} for missing in whole]
    with ScriptedPeer.of_server(Server("me", revisions=HANDSHAKE, strict=strict)) as peer:
        for number, params in enumerate(openings):
            answer = peer.call(number, "initialize", params)
            assert answer["error"]["code"] == -32602, params
            assert peer.connection.session.phase == "opening"
            assert peer.call("early %d" % number, "tools/list")["error"]["code"] == -32600
        assert peer.handshake(revision)["protocolVersion"] == revision


@pytest.mark.spec("lifecycle.init-response", "lifecycle.initialized-notification")
@pytest.mark.parametrize("revision", revisions_of("lifecycle.init-response"))
@pytest.mark.parametrize("members", [
    {"capabilities": None}, {"capabilities": "all"}, {"serverInfo": None}, {"serverInfo": {"name": "x"}},
    {"instructions": 5}, {"capabilities": {"tools": [1]}},
], ids=repr)
def test_a_client_leaves_a_server_whose_answer_lacks_something(members, revision):
    """[..2025-11-25 basic/lifecycle §Initialization] MUST"""
    result = {"protocolVersion": revision, "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
    result.update(members)
    result = {name: value for name, value in result.items() if value is not None}
    error, sent = failed_opening(revision, lambda id: {"id": id, "result": result})
    assert isinstance(error, PeerProtocolError) and "initialize" in str(error)
    assert sent == ["initialize"]


def failed_opening(revision, answer, **options):
    """What `Client.open` raises for this answer, and the methods that the client sent."""
    ours, theirs = pair()
    client = Client("me", revisions=[revision], **options)
    with ScriptedPeer(theirs) as peer:
        opening = Opening(client, ours)
        peer.send(dict({"jsonrpc": "2.0"}, **answer(peer.receive()["id"])))
        error = opening.join()
        assert peer.ended(), "the client should have closed the connection"
        assert client.connection.closed
        return error, [message.get("method") for message in peer.seen]


@pytest.mark.spec("lifecycle.initialized-notification", "lifecycle.error-version-mismatch")
@pytest.mark.parametrize("revision", revisions_of("lifecycle.initialized-notification"))
def test_a_client_whose_opening_is_refused_says_so_and_leaves(revision):
    """[..2025-11-25 basic/lifecycle §Error Handling] SHOULD"""
    refusal = {"code": -32602, "message": "Unsupported protocol version", "data": {"supported": ["1.0"]}}
    error, sent = failed_opening(revision, lambda id: {"id": id, "error": refusal})
    assert isinstance(error, PeerError) and error.data == {"supported": ["1.0"]} and error.method == "initialize"
    assert sent == ["initialize"]


@pytest.mark.spec("lifecycle.client-no-early-requests")
@pytest.mark.parametrize("revision", revisions_of("lifecycle.client-no-early-requests"))
def test_a_client_sends_nothing_but_pings_before_the_server_has_answered(revision):
    """[..2025-11-25 basic/lifecycle §Initialization] SHOULD NOT"""
    with conversation("client", revision, "initializing") as talk:
        client = talk.role
        for early in (client.list_tools, client.list_resources, client.list_prompts, lambda: client.call_tool("echo"),
                      lambda: client.submit_tool("echo"), lambda: client.request("initialize", {})):
            with pytest.raises(LocalProtocolError):
                early()
        with pytest.raises(LocalProtocolError):
            talk.connection.notify("notifications/initialized")
        assert talk.unanswered() == []
        pinging = threading.Thread(target=client.ping, daemon=True)
        pinging.start()
        talk.peer.respond(talk.peer.receive(lambda m: m.get("method") == "ping")["id"], {})
        pinging.join(PATIENCE)
        assert not pinging.is_alive()


@pytest.mark.spec("lifecycle.server-no-early-requests")
@pytest.mark.parametrize("revision", revisions_of("lifecycle.server-no-early-requests"))
def test_a_tool_that_runs_early_cannot_ask_the_client_but_may_log(revision):
    """[..2025-11-25 basic/lifecycle §Initialization] SHOULD NOT"""
    server = SubjectServer()

    @server.tool
    def ask(ctx):
        ctx.log("info", "running")
        ctx.progress(1)
        return str(ctx.call("roots/list"))

    with ScriptedPeer.of_server(server) as peer:
        peer.call("init", "initialize", opening_params(revision))
        answer = peer.call(1, "tools/call", {"name": "ask"})
        assert [m["method"] for m in peer.seen if "method" in m] == ["notifications/message"]
        assert answer["result"]["isError"] and "roots/list" in answer["result"]["content"][0]["text"]
        assert peer.connection.counters["early request"] == 1


@pytest.mark.spec("lifecycle.init-first", "lifecycle.base-required")
@pytest.mark.parametrize("revision", revisions_of("lifecycle.init-first"))
def test_a_strict_server_waits_for_initialized_and_a_lenient_one_counts_what_came_early(revision):
    """[..2025-11-25 basic/lifecycle §Initialization] MUST"""
    for strict in (True, False):
        with conversation("server", revision, "answered", strict=strict) as talk:
            answer = talk.call("tools/list")
            talk.peer.notify("notifications/roots/list_changed")
            talk.unanswered()
            assert ("error" in answer, talk.count("early request"), talk.count("early notification")) == (
                (True, 0, 0) if strict else (False, 1, 1))
            talk.peer.notify("notifications/initialized")
            assert "result" in talk.call("tools/list")
            assert talk.count("early request") == (not strict)


@pytest.mark.spec("lifecycle.init-first")
@pytest.mark.parametrize("revision", revisions_of("lifecycle.init-first"))
def test_the_handshake_happens_once(revision):
    """[..2025-11-25 basic/lifecycle §Initialization] MUST"""
    with conversation("server", revision) as talk:
        for _ in range(2):
            assert talk.call("initialize", opening_params("2024-11-05"))["error"]["code"] == -32600
            talk.peer.notify("notifications/initialized")
            assert talk.unanswered() == []
        assert talk.role.reached.count("opened") == 0, "it was opened once, before the test looked"
        assert talk.connection.session.revision.name == revision
        assert talk.count("refused notification") == 2
    with conversation("server", revision, "answered") as talk:
        assert talk.call("initialize", opening_params("2024-11-05"))["error"]["code"] == -32600
        assert talk.connection.session.revision.name == revision


@pytest.mark.spec("lifecycle.init-first")
def test_a_step_of_the_handshake_is_not_undone_by_a_message_that_was_being_read_meanwhile():
    """[..2025-11-25 basic/lifecycle §Initialization] MUST"""

    class Racing(SubjectClient):
        def route(self, connection, method, revision):
            connection.agree(revision_named("2025-11-25"))  # as the thread that waits for the answer does
            return super().route(connection, method, revision)

    ours, theirs = pair()
    with ScriptedPeer(theirs) as peer:
        client = Racing(era="legacy")
        opening = Opening(client, ours)
        peer.receive()
        peer.call("early", "ping")
        assert client.connection.session.phase == "answered"
        peer.transport.close()
        assert isinstance(opening.join(), ConnectionLost)


# --- operation: the agreed version and capabilities -------------------------------------------------------------------

@pytest.mark.spec("lifecycle.respect-version", "lifecycle.respect-version-should")
@pytest.mark.parametrize("revision", revisions_of("lifecycle.respect-version", "lifecycle.respect-version-should"))
@both_parties
def test_no_method_of_another_revision_is_sent_or_answered(party, revision):
    """[..2025-11-25 basic/lifecycle §Operation] MUST since 2025-06-18, SHOULD before"""
    others = {row.name for row in METHODS if lookup(row.name, revision_named(revision)) is None}
    assert "server/discover" in others
    with conversation(party, revision) as talk:
        for method in sorted(others):
            note = is_notification(method)
            with pytest.raises(LocalProtocolError, match=revision):
                (talk.connection.notify if note else talk.connection.open_request)(method)
            if note:
                talk.peer.notify(method)
                assert talk.unanswered() == [], method
            else:
                assert talk.call(method)["error"]["code"] == -32601, method
        assert talk.unanswered() == [] and talk.role.reached.count("ping") == len(talk.role.reached)
        assert talk.count("unknown notification") == len([name for name in others if is_notification(name)])


@pytest.mark.spec("lifecycle.respect-version", "lifecycle.respect-version-should")
@pytest.mark.parametrize("revision", revisions_of("lifecycle.respect-version", "lifecycle.respect-version-should"))
def test_what_a_server_sends_has_the_members_of_the_agreed_revision(revision):
    """[..2025-11-25 basic/lifecycle §Operation] MUST since 2025-06-18, SHOULD before"""
    server = Server("me")

    @server.tool(title="Add up")
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    def work(ctx) -> str:
        ctx.progress(1, 2, "half")
        return "done"

    with ScriptedPeer.of_server(server) as peer:
        peer.handshake(revision)
        tool = peer.call(1, "tools/list")["result"]["tools"][0]
        result = peer.call(2, "tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})["result"]
        peer.call(3, "tools/call", {"name": "work", "_meta": {"progressToken": "t"}})
        progress = [m for m in peer.seen if m.get("method") == "notifications/progress"][0]["params"]
    assert ("title" in tool, "outputSchema" in tool, "structuredContent" in result) == (revision >= "2025-06-18",) * 3
    assert result["content"] == [{"type": "text", "text": "3"}]
    assert progress == dict({"progressToken": "t", "progress": 1, "total": 2},
                            **({"message": "half"} if revision >= "2025-03-26" else {}))


# Method, who sends it, who must have declared what, and since when.
NEEDS = [
    ("tools/list", "client", "server", "tools", "2024-11-05"),
    ("tools/call", "client", "server", "tools", "2024-11-05"),
    ("resources/list", "client", "server", "resources", "2024-11-05"),
    ("resources/templates/list", "client", "server", "resources", "2024-11-05"),
    ("resources/read", "client", "server", "resources", "2024-11-05"),
    ("resources/subscribe", "client", "server", "resources.subscribe", "2024-11-05"),
    ("resources/unsubscribe", "client", "server", "resources.subscribe", "2024-11-05"),
    ("prompts/list", "client", "server", "prompts", "2024-11-05"),
    ("prompts/get", "client", "server", "prompts", "2024-11-05"),
    ("completion/complete", "client", "server", "completions", "2025-03-26"),
    ("logging/setLevel", "client", "server", "logging", "2024-11-05"),
    ("notifications/roots/list_changed", "client", "client", "roots.listChanged", "2024-11-05"),
    ("notifications/message", "server", "server", "logging", "2024-11-05"),
    ("notifications/tools/list_changed", "server", "server", "tools.listChanged", "2024-11-05"),
    ("notifications/prompts/list_changed", "server", "server", "prompts.listChanged", "2024-11-05"),
    ("notifications/resources/list_changed", "server", "server", "resources.listChanged", "2024-11-05"),
    ("notifications/resources/updated", "server", "server", "resources.subscribe", "2024-11-05"),
    ("roots/list", "server", "client", "roots", "2024-11-05"),
    ("sampling/createMessage", "server", "client", "sampling", "2024-11-05"),
    ("elicitation/create", "server", "client", "elicitation", "2025-06-18"),
    ("notifications/elicitation/complete", "server", "client", "elicitation.url", "2025-11-25"),
] + [
    row for sender in PARTIES for row in (
        ("tasks/get", sender, OTHER[sender], "tasks", "2025-11-25"),
        ("tasks/result", sender, OTHER[sender], "tasks", "2025-11-25"),
        ("tasks/list", sender, OTHER[sender], "tasks.list", "2025-11-25"),
        ("tasks/cancel", sender, OTHER[sender], "tasks.cancel", "2025-11-25"),
        ("notifications/tasks/status", sender, sender, "tasks", "2025-11-25"),
    )
]


def without(capabilities, name):
    """These capabilities but for one, given with dots."""
    first, _, rest = name.partition(".")
    if not rest:
        return {key: value for key, value in capabilities.items() if key != first}
    return dict(capabilities, **{first: without(capabilities[first], rest)})


def test_each_method_that_needs_a_capability_is_walked():
    """[..2025-11-25 basic/lifecycle §Capability Negotiation]"""
    listed = {(method, sender) for method, sender, _, _, _ in NEEDS}
    senders = {"both": PARTIES, "client": ("client",), "server": ("server",)}
    rows = [row for row in METHODS
            if row.capability and any(revision_named(name).has(row.since, row.until) for name in HANDSHAKE)]
    assert listed == {(row.name, sender) for row in rows for sender in senders[row.sender]}


@pytest.mark.spec("lifecycle.negotiated-capabilities", "lifecycle.negotiated-capabilities-should",
                  "lifecycle.error-capabilities")
@pytest.mark.sends_illegal(rules=lambda party, revision: broken_by_a_walk(party, "operating", revision) - {
    "cancel.request-id-required"})
@pytest.mark.parametrize("revision", revisions_of("lifecycle.error-capabilities"))
@both_parties
def test_nothing_is_sent_that_needs_a_capability_which_was_not_declared(party, revision):
    """[..2025-11-25 basic/lifecycle §Operation] MUST since 2025-06-18, SHOULD before"""
    with conversation(party, revision) as talk:
        session = talk.connection.session
        for method, sender, holder, name, since in NEEDS:
            if sender != party or revision < since:
                continue
            send = talk.connection.notify if is_notification(method) else talk.connection.open_request
            first, _, rest = name.partition(".")
            for lacking in [without(CAPABILITIES[holder], name), without(CAPABILITIES[holder], first), {},
                            dict(CAPABILITIES[holder], **{first: {rest: False} if rest else None})]:
                session.capabilities, session.peer_capabilities = declared(party, holder, lacking)
                with pytest.raises(CapabilityMissing) as caught:
                    send(method)
                assert caught.value.capability == name and method in str(caught.value) and name in str(caught.value)
                assert ("this side" if holder == party else "the peer") in str(caught.value)
                assert revision in caught.value.citation
            assert talk.unanswered() == [], method
            session.capabilities, session.peer_capabilities = declared(party, holder, CAPABILITIES[holder])
            send(method)
            assert talk.peer.receive()["method"] == method


def declared(party, holder, capabilities):
    """What our party and the peer have declared, given what the holder has."""
    ours, theirs = CAPABILITIES[party], CAPABILITIES[OTHER[party]]
    return (capabilities, theirs) if holder == party else (ours, capabilities)


@pytest.mark.spec("lifecycle.negotiated-capabilities", "lifecycle.negotiated-capabilities-should",
                  "lifecycle.error-capabilities")
@pytest.mark.parametrize("revision", revisions_of("lifecycle.error-capabilities"))
def test_capabilities_are_those_of_the_handshake(revision):
    """[..2025-11-25 basic/lifecycle §Capability Negotiation] MUST since 2025-06-18, SHOULD before"""
    with conversation("client", revision, peer_capabilities={"logging": {}, "tools": {}}) as talk:
        with pytest.raises(CapabilityMissing, match="prompts/list needs the capability prompts"):
            talk.role.list_prompts()
        with pytest.raises(CapabilityMissing, match="resources"):
            list(talk.role.resources())
        with pytest.raises(CapabilityMissing, match="resources"):
            talk.role.submit_resource("test://x")
        assert talk.unanswered() == []
    with conversation("client", revision, capabilities=ClientCapabilities()) as talk:
        with pytest.raises(CapabilityMissing, match=r"roots\.listChanged, which this side did not declare"):
            talk.connection.notify("notifications/roots/list_changed")
        assert talk.unanswered() == []
    with conversation("server", revision, peer_capabilities={"sampling": {}}) as talk:
        talk.role.tool(lambda ctx: str(ctx.call("roots/list")), name="ask")
        text = talk.call("tools/call", {"name": "ask"})["result"]["content"][0]["text"]
        assert "roots/list needs the capability roots, which the peer did not declare" in text
        assert [m for m in talk.peer.seen if "method" in m] == []


@pytest.mark.spec("lifecycle.negotiated-capabilities", "lifecycle.negotiated-capabilities-should")
@pytest.mark.parametrize("revision", revisions_of("lifecycle.error-capabilities"))
def test_a_server_has_no_methods_for_what_it_did_not_declare(revision):
    """[..2025-11-25 basic/lifecycle §Capability Negotiation] MUST since 2025-06-18, SHOULD before"""
    with ScriptedPeer.of_server(Server("bare")) as peer:
        assert peer.handshake(revision)["capabilities"] == {"logging": {}}
        for number, method in enumerate(["tools/list", "tools/call", "resources/list", "resources/templates/list",
                                         "resources/read", "resources/subscribe", "prompts/list", "prompts/get",
                                         "completion/complete", "tasks/list"]):
            assert peer.call(number, method)["error"]["code"] == -32601, method


# --- errors and the end -----------------------------------------------------------------------------------------------

@pytest.mark.spec("lifecycle.error-request-timeout")
@pytest.mark.parametrize("revision", HANDSHAKE)
@both_parties
def test_a_request_without_an_answer_times_out_and_the_conversation_goes_on(party, revision):
    """[..2025-11-25 basic/lifecycle §Error Handling] SHOULD"""
    with conversation(party, revision) as talk:
        with pytest.raises(RequestTimeout, match=r"ping \(request \d+\)"):
            talk.connection.request("ping", timeout=0)
        asked, given_up = talk.peer.receive(), talk.peer.receive()
        assert given_up["method"] == "notifications/cancelled"
        assert given_up["params"]["requestId"] == asked["id"]
        talk.peer.respond(asked["id"], {})
        talk.lives()
        assert talk.count("late response") == 1


@pytest.mark.spec("lifecycle.error-initialize-timeout")
@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_client_gives_up_a_server_that_never_answers_its_opening(revision):
    """[2024-11-05 basic/lifecycle §Error Handling] SHOULD"""
    ours, theirs = pair()
    with ScriptedPeer(theirs) as peer:
        client = Client("me", revisions=[revision], limits=Limits(initialize_timeout=0.01))
        opening = Opening(client, ours)
        error = opening.join()
        assert isinstance(error, RequestTimeout) and "initialize" in str(error)
        assert peer.ended()
        assert [peer.receive().get("method")] == ["initialize"], "its first message, and it is never cancelled"
        with pytest.raises(ConnectionLost):
            peer.receive()


@pytest.mark.spec("lifecycle.error-initialize-timeout")
@pytest.mark.parametrize("phase", ["opening", "initializing", "answered"])
@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_server_survives_a_client_that_gives_up_during_the_handshake(revision, phase):
    """[2024-11-05 basic/lifecycle §Error Handling] SHOULD"""
    with conversation("server", revision, phase, limits=Limits(drain=0)) as talk:
        talk.peer.transport.close()
        talk.gate.open()
        assert talk.connection.wait_closed(PATIENCE)
        with ScriptedPeer.of_server(talk.role) as next_one:
            next_one.request("init", "initialize", opening_params(revision))
            assert next_one.answer_to("init")["result"]["protocolVersion"] == revision


@pytest.mark.spec("lifecycle.error-shutdown-timeout")
@pytest.mark.parametrize("revision", HANDSHAKE)
@pytest.mark.parametrize("who", ["we", "the peer"])
@both_parties
def test_the_end_does_not_wait_for_a_handler_that_is_stuck(party, who, revision):
    """[2024-11-05 basic/lifecycle §Error Handling] SHOULD"""
    with conversation(party, revision, limits=Limits(drain=0, shutdown_grace=0.001)) as talk:
        talk.hold("stuck")
        pending = talk.connection.open_request("ping")
        talk.connection.close() if who == "we" else talk.peer.transport.close()
        assert talk.connection.wait_closed(PATIENCE) and not talk.gate.opened
        with pytest.raises(ConnectionLost):
            talk.connection.wait(pending)
        with pytest.raises(ConnectionLost):
            talk.connection.request("ping")


@pytest.mark.spec("lifecycle.base-required")
@pytest.mark.parametrize("revision", revisions_of("lifecycle.base-required"))
@both_parties
def test_a_conversation_opens_works_and_ends(party, revision):
    """[..2025-11-25 basic/lifecycle §Lifecycle Phases] MUST"""
    with conversation(party, revision) as talk:
        assert talk.connection.session.phase == "operating" and talk.connection.session.revision.name == revision
        talk.peer.send(talk.quick(1))
        assert "result" in talk.peer.answer_to(1)
        pending = talk.connection.open_request("ping")
        talk.peer.respond(talk.peer.receive()["id"], {})
        assert talk.connection.wait(pending) == {}
        talk.peer.transport.close()
        assert talk.connection.wait_closed(PATIENCE) and talk.connection.closed


@pytest.mark.spec("lifecycle.base-required")
@pytest.mark.parametrize("revision", revisions_of("lifecycle.base-required"))
def test_our_client_and_our_server_understand_each_other(revision):
    """[..2025-11-25 basic/lifecycle §Lifecycle Phases] MUST"""
    server, client = SubjectServer(), SubjectClient(revisions=[revision])
    server.tool(lambda ctx: str(ctx.call("roots/list")), name="ask")
    ours, theirs = pair()
    connection = server.connect(theirs)
    with client.open(ours):
        assert client.revision.name == connection.session.revision.name == revision
        assert client.server_info.name == "subject" and connection.session.peer_info["name"] == "subject"
        assert client.call_tool("echo", {"text": "hello"}).content[0].text == "hello"
        assert client.call_tool("ask").content[0].text == "{'roots': []}"
        client.ping()
    assert connection.wait_closed(PATIENCE)


def test_a_route_is_found_anew_when_the_phase_changes():
    """[..2025-11-25 basic/lifecycle §Operation]"""
    with conversation("server", "2025-11-25", "answered", strict=True) as talk:
        assert talk.call("tools/list")["error"]["code"] == -32600
        talk.peer.notify("notifications/initialized")
        assert "result" in talk.call("tools/list")
        talk.role.route = lambda connection, method, revision: Route(lambda context, params: {"tools": []})
        assert len(talk.call("tools/list")["result"]["tools"]) == 2, "routes are kept"
