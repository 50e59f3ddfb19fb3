"""`_meta`: the names that its members may have, and members that mean nothing to us."""
import itertools
import re
import time
from typing import Any, Dict, List

import pytest

from mcp_ref import Context
from mcp_ref.errors import LocalProtocolError, PeerProtocolError
from mcp_ref.messages.content import TextContent, TextResourceContents
from mcp_ref.messages.resources import ReadResourceResult
from mcp_ref.messages.tools import CallToolResult
from mcp_ref.protocol.envelope import USUAL
from mcp_ref.protocol.metakeys import SHOWN, check_own, fault, metas, reserved, violations
from mcp_ref.revisions import REVISIONS, revision as revision_named
from tests.support.conversation import PARTIES, answering, asking, conversation
from tests.support.requirements_table import HANDSHAKE, STATELESS, every_revision_of, revisions_of
from tests.support.sides import in_thread

both_parties = pytest.mark.parametrize("party", PARTIES)
RULED = every_revision_of("meta.prefix-labels", "meta.name-alnum-ends")
ruled = pytest.mark.parametrize("revision", RULED)
when_we_ask = pytest.mark.parametrize("party, revision", asking(RULED))
when_we_answer = pytest.mark.parametrize("party, revision", answering(RULED))
unruled = [name for name in HANDSHAKE if name not in RULED]

GOOD = [
    "", "a", "Z", "0", "a1", "a-b", "a_b", "a.b", "a-_.b", "progressToken", "traceparent", "com.example/",
    "com.example/a",
    "c/a", "C-1.x/a-b_c.d", "a.b.c.d.e.f/0", "a--b/c", "com.example.mcp/x", "example.com/x", "x" * 5000,
    "a" * 5000 + "/b", "a." * 2000 + "a/b",
]
BAD_PREFIX = [
    "/", "/a", "./a", ".a/b", "a./b", "a..b/c", "1/a", "1a/b", "-a/b", "a-/b", "a.-b/c", "a.b-/c", "a.1b/c", "a_b/c",
    "_a/b", "a b/c", " a/b", "a /b", "a\n/b", "\u00e9/a", "a\u00e9/b", "\uff41/b", "a:b/c", "http://a/b", "a@b/c",
    "a.*/b",
    "a" * 5000 + "-/b",
]
BAD_NAME = [
    "-", "_", ".", "-a", "_a", ".a", "a-", "a_", "a.", "a b", " a", "a ", "a\n", "\na", "a\x00", "\u00e9", "a\u00e9b",
    "a:b", "a$", "$a", "a+b", "com.example/_a", "com.example/a.", "com.example/a b", "com.example/-", "com.example/a/b",
    "a//b", "a/b/", "\uff11", "\u0661", "a" * 5000 + "-",
]
RESERVED = [
    # key, reserved in 2025-06-18, reserved since 2025-11-25
    ("modelcontextprotocol.io/x", True, False), ("mcp.dev/x", True, False),
    ("api.modelcontextprotocol.org/x", True, True), ("tools.mcp.com/x", True, True),
    ("io.modelcontextprotocol/x", False, True), ("dev.mcp/x", False, True),
    ("org.modelcontextprotocol.api/x", True, True),
    ("com.mcp.tools/x", True, True), ("com.example.mcp/x", False, False), ("com.example.mcp.tools/x", True, False),
    ("mcp/x", False, False), ("modelcontextprotocol/x", False, False), ("com.mcp-x/x", False, False),
    ("com.xmcp/x", False, False), ("mcp", False, False), ("mcp.dev", False, False),
    ("io.modelcontextprotocol", False, False),
    ("com.example/mcp.x", False, False), ("dev.mcp/", False, True), ("DEV.MCP/x", False, True),
    ("Mcp.Dev/x", True, False),
    ("io.ModelContextProtocol/x", False, True), ("a.b.c.modelcontextprotocol.d/x", True, False),
]
JSON_VALUES: List[Any] = [
    None, True, False, 0, -1, 1.5, 10 ** 30, "", "text", "\u2028\x00\U0001f600", [], {}, [None, [1, {"a": []}]],
    {"progressToken": {"_meta": 1}}, {"jsonrpc": "2.0", "id": 1, "method": "ping"}, "x" * 10_000,
]
KEPT = [
    "io.modelcontextprotocol/related-task", "io.modelcontextprotocol/protocolVersion", "mcp.dev/unknown", "dev.mcp/",
    "io.modelcontextprotocol/logLevel", "org.modelcontextprotocol.api/clientCapabilities", "tools.mcp.com/x",
]


def kept(revision: str) -> List[str]:
    """Names that are reserved and mean nothing in this revision."""
    return [key for key in KEPT if revision != STATELESS or key not in USUAL]


# --- the names --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("key", GOOD)
def test_names_of_the_form_are_in_order(key: str) -> None:
    """[2025-06-18.. basic/index §`_meta`]"""
    assert fault(key) == ""


@pytest.mark.parametrize("key", BAD_PREFIX + BAD_NAME, ids=lambda key: ascii(key[:20]))
def test_other_names_are_not(key: str) -> None:
    """[2025-06-18.. basic/index §`_meta`] MUST"""
    assert ("prefix" if key in BAD_PREFIX else "name") in fault(key)


def test_every_short_name_is_judged_as_an_expression_would() -> None:
    """[2025-06-18.. basic/index §`_meta`] MUST; the grammar written down once more, in another way."""
    label = "[a-zA-Z]([a-zA-Z0-9-]*[a-zA-Z0-9])?"
    name = "([a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?)?"
    grammar = re.compile(r"(%s(\.%s)*/)?%s" % (label, label, name))
    for length in range(6):
        for signs in itertools.product("aZ9-_./~", repeat=length):
            key = "".join(signs)
            assert (fault(key) == "") == bool(grammar.fullmatch(key)), key


@pytest.mark.parametrize("key, first, then", RESERVED)
def test_reserved_prefixes_are_those_of_the_revision(key: str, first: bool, then: bool) -> None:
    """[2025-06-18.. basic/index §`_meta`]"""
    assert [reserved(key, revision) for revision in REVISIONS] == [False, False, first, then, then]


def test_every_prefix_of_few_labels_is_reserved_as_the_pages_say() -> None:
    """[2025-06-18.. basic/index §`_meta`]; written down once more, in another way."""
    for length in range(1, 5):
        for labels in itertools.product(("a", "mcp", "modelcontextprotocol"), repeat=length):
            key = ".".join(labels) + "/x"
            assert reserved(key, REVISIONS[2]) == bool(re.match(r"(\w+\.)*(modelcontextprotocol|mcp)\.\w+", key[:-2]))
            assert reserved(key, REVISIONS[3]) == bool(re.match(r"\w+\.(modelcontextprotocol|mcp)(\.|$)", key[:-2]))


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_the_faults_of_an_object_are_told_by_name_and_the_first_few_only(revision: str) -> None:
    rules = revision_named(revision)
    found = violations({"_a": 1, "b": 2, "1/c": 3}, rules)
    assert [line[:13] for line in found] == (["_meta key '_a", "_meta key '1/"] if rules.meta_key_rules else [])
    assert len(violations({"_%d" % number: 1 for number in range(100)}, rules)) == (SHOWN if found else 0)
    others: List[Any] = [None, [], "_a", 5]
    for other in others:
        assert violations(other, rules) == []


def test_a_hostile_object_costs_no_time() -> None:
    keys = {"a" * number + "-/" + "b" * number: number for number in range(1000)}
    keys.update({"a" * 100_000: 1, "-" * 100_000: 1, "a-" * 100_000: 1, "a." * 100_000: 1, "a/" * 100_000: 1})
    start = time.process_time()
    lines = violations(keys, REVISIONS[-1])
    assert all(len(line) < 400 for line in lines) and all(len(fault(key)) < 300 for key in keys)
    assert time.process_time() - start < 1.0


# --- what we send -----------------------------------------------------------------------------------------------------

REFUSED = ["_a", "a-", "1/a", "a-/b", "a_b/c", "a..b/c", "/a", "a//b", "\u00e9", "org.modelcontextprotocol.api/x"]


@pytest.mark.spec("meta.prefix-labels", "meta.prefix-label-chars", "meta.name-alnum-ends")
@when_we_ask
@pytest.mark.parametrize("key", REFUSED, ids=ascii)
def test_no_request_or_notification_of_ours_has_a_name_against_the_rules(party: str, key: str, revision: str) -> None:
    """[2025-06-18.. basic/index §`_meta`] MUST"""
    method = {"server": "notifications/message", "client": "notifications/roots/list_changed"}[party]
    method = "notifications/cancelled" if revision == STATELESS else method
    with conversation(party, revision) as talk:
        params: Dict[str, Any] = {"_meta": {"fine": 1, key: 2}, "level": "info", "data": 1}
        for send in (lambda: talk.connection.request(talk.any, params), lambda: talk.connection.notify(method, params)):
            with pytest.raises(LocalProtocolError, match="_meta key") as refused:
                send()
            assert ascii(key) in str(refused.value)
        assert talk.unanswered() == [] and len(talk.connection.table) == 0


@pytest.mark.spec("meta.prefix-labels", "meta.prefix-label-chars", "meta.name-alnum-ends")
@pytest.mark.parametrize("key", REFUSED, ids=ascii)
def test_no_notification_about_a_request_that_stands_alone_has_a_name_against_the_rules(key: str) -> None:
    """[2026-07-28 basic/index §`_meta`] MUST"""
    refused: List[str] = []

    def odd(ctx: Context) -> None:
        """Try to say it."""
        try:
            ctx.notify("notifications/progress", {"progressToken": "t", "progress": 1, "_meta": {"fine": 1, key: 2}})
        except LocalProtocolError as error:
            refused.append(str(error))

    with conversation("server", STATELESS) as talk:
        talk.role.tool(odd, name="odd")
        talk.peer.request("odd", "tools/call", {"name": "odd", "_meta": {"progressToken": "t"}})
        assert talk.peer.receive()["id"] == "odd", "nothing was said before the answer"
        assert len(refused) == 1 and "_meta key" in refused[0] and ascii(key) in refused[0]


@pytest.mark.spec("meta.prefix-labels", "meta.prefix-label-chars", "meta.name-alnum-ends")
@ruled
def test_no_call_of_a_client_has_a_name_against_the_rules(revision: str) -> None:
    """[2025-06-18.. basic/index §`_meta`] MUST"""
    with conversation("client", revision) as talk:
        for call in (talk.role.call_tool, talk.role.submit_tool, talk.role.get_prompt, talk.role.submit_prompt):
            with pytest.raises(LocalProtocolError, match="_meta key 'a b'"):
                call("x", meta={"a b": 1})
        assert talk.unanswered() == []


@pytest.mark.parametrize("revision", unruled)
@both_parties
def test_before_there_were_rules_names_are_free(party: str, revision: str) -> None:
    with conversation(party, revision) as talk:
        meta = {key: 1 for key in REFUSED}
        asked = in_thread(talk.connection.request, "ping", {"_meta": meta})
        request = talk.peer.receive()
        assert request["params"]["_meta"] == meta
        talk.peer.respond(request["id"], {"_meta": meta})
        assert asked.get() == {"_meta": meta}
        assert talk.call("ping", {"_meta": meta})["result"] == {} and talk.counts() == {}


RESULTS = [
    lambda meta: CallToolResult(content=[], meta=meta),
    lambda meta: CallToolResult(content=[TextContent(text="x", meta=meta)]),
    lambda meta: TextContent(text="x", meta=meta),
    lambda meta: CallToolResult(content=[TextContent(text="x" * 10_000), TextContent(text="x", meta=meta)]),
]


@pytest.mark.spec("meta.prefix-labels", "meta.prefix-label-chars", "meta.name-alnum-ends")
@ruled
@pytest.mark.parametrize("make", RESULTS)
@pytest.mark.parametrize("key", REFUSED, ids=ascii)
def test_no_tool_result_has_a_name_against_the_rules(make: Any, key: str, revision: str) -> None:
    """[2025-06-18.. basic/index §`_meta`] MUST"""
    with conversation("server", revision) as talk:
        talk.role.tool(lambda: make({"fine": 1, key: 2}), name="odd", structured=False)
        result = talk.call("tools/call", {"name": "odd"})["result"]
        assert result["isError"] and ascii(key)[1:-1] in result["content"][0]["text"].replace("\\\\", "\\")
        assert not [meta for meta in metas(result) if key in meta]


@pytest.mark.spec("meta.prefix-labels", "meta.prefix-label-chars", "meta.name-alnum-ends")
@ruled
def test_no_other_result_has_a_name_against_the_rules(revision: str) -> None:
    """[2025-06-18.. basic/index §`_meta`] MUST"""
    odd = {"a b": 1}
    with conversation("server", revision) as talk:
        contents = TextResourceContents(uri="test://odd", text="x", meta=odd)
        talk.role.resource("test://odd")(lambda: ReadResourceResult(contents=[contents]))
        assert talk.call("resources/read", {"uri": "test://odd"})["error"]["code"] == -32603


@pytest.mark.spec("meta.prefix-labels", "meta.prefix-label-chars", "meta.name-alnum-ends")
@pytest.mark.parametrize("revision", [name for name in RULED if name in HANDSHAKE])
def test_no_result_of_a_client_has_a_name_against_the_rules(revision: str) -> None:
    """[2025-06-18..2025-11-25 basic/index §`_meta`] MUST"""
    odd = {"a b": 1}
    with conversation("client", revision) as talk:
        said = {"type": "text", "text": "", "_meta": odd}
        talk.role._sample = lambda: {"role": "assistant", "content": said, "model": "x"}
        message = {"role": "user", "content": {"type": "text", "text": "hello"}}
        answer = talk.call("sampling/createMessage", {"messages": [message], "maxTokens": 10})
        assert answer["error"] == {"code": -32603, "message": "Internal error"}


def test_names_that_users_fill_in_are_theirs() -> None:
    """What stands in arguments and in structured content is not the protocol's, whatever it is called."""
    theirs = {"_meta": {"a b": 1}, "content": [{"_meta": {"a b": 1}}]}
    with conversation("server") as talk:
        talk.role.tool(lambda: theirs, name="odd", structured=True)
        assert talk.call("tools/call", {"name": "odd"})["result"]["structuredContent"]["result"] == theirs
    with conversation("client") as talk:
        asked = in_thread(talk.role.call_tool, "x", {"_meta": {"a b": 1}})
        request = talk.peer.receive()
        assert request["params"]["arguments"] == {"_meta": {"a b": 1}}
        talk.peer.respond(request["id"], {"content": []})
        asked.get()


@pytest.mark.parametrize("register", [
    lambda server, meta: server.tool(lambda: "x", name="x", meta=meta),
    lambda server, meta: server.prompt(lambda: "x", name="x", meta=meta),
    lambda server, meta: server.resource("test://x", meta=meta)(lambda: "x"),
    lambda server, meta: server.resource("test://{x}", meta=meta)(lambda x: "x"),
])
@pytest.mark.parametrize("meta", [
    {"a b": 1}, {"mcp.dev/x": 1}, {"io.modelcontextprotocol/related-task": 1}, {"_a": 1}, {5: 1},
], ids=repr)
def test_what_is_registered_keeps_the_rules_of_all_revisions(register: Any, meta: Any) -> None:
    """[2025-06-18.. basic/index §`_meta`] MUST"""
    with conversation("server") as talk:
        with pytest.raises((ValueError, TypeError), match="_meta"):
            register(talk.role, meta)


@pytest.mark.parametrize("key", ["io.modelcontextprotocol/x", "mcp.dev/x", "tools.mcp.com/x"])
def test_the_refusal_of_a_reserved_prefix_says_what_to_do(key: str) -> None:
    with pytest.raises(ValueError, match="reserved for MCP in 2025-..-..; use .* com.example/x"):
        check_own({"fine": 1, key: 2})
    check_own({"com.example/x": 1, "progressToken": 1})
    check_own(None)


@pytest.mark.sends_illegal(why="any value stands for those of the revision", rules=lambda revision, key, **_: [
    "tasks.related-metadata"] * ((revision, key) == ("2025-11-25", "io.modelcontextprotocol/related-task")))
@both_parties
@pytest.mark.parametrize("revision, key", [
    ("2025-06-18", "io.modelcontextprotocol/related-task"), ("2025-11-25", "io.modelcontextprotocol/related-task"),
    ("2025-11-25", "io.modelcontextprotocol/model-immediate-response"), ("2025-11-25", "mcp.dev/x"),
    ("2025-06-18", "com.example/owner"), ("2025-11-25", "progressToken"),
])
def test_names_that_the_revision_defines_or_leaves_free_may_be_sent(party: str, revision: str, key: str) -> None:
    with conversation(party, revision) as talk:
        asked = in_thread(talk.connection.request, "ping", {"_meta": {key: 7}})
        request = talk.peer.receive()
        assert request["params"] == {"_meta": {key: 7}}
        talk.peer.respond(request["id"], {})
        assert asked.get() == {}


# --- what we receive --------------------------------------------------------------------------------------------------

@when_we_answer
@pytest.mark.parametrize("key", BAD_PREFIX[:6] + BAD_NAME[:6])
def test_a_request_with_a_bad_name_is_refused_where_we_are_strict_and_else_counted(
    party: str, key: str, revision: str
) -> None:
    """[2025-06-18.. basic/index §`_meta`] MUST"""
    params = {"_meta": {"fine": 1, key: None}}
    with conversation(party, revision, strict=True) as talk:
        error = talk.call(talk.any, params)["error"]
        assert error["code"] == -32602 and error["message"].startswith("Invalid params: _meta key '%s'" % key)
        assert "result" in talk.call(talk.any, {"_meta": {"fine": 1}})
        talk.lives()
    with conversation(party, revision) as talk:
        assert "result" in talk.call(talk.any, params)
        assert talk.counts() == {"misnamed meta": 1}


@when_we_ask
@pytest.mark.parametrize("long", ["", "x" * 10_000], ids=len)
def test_a_result_with_a_bad_name_is_refused_where_we_are_strict_and_else_counted(
    party: str, revision: str, long: str
) -> None:
    """[2025-06-18.. basic/index §`_meta`] MUST"""
    for strict in (True, False):
        with conversation(party, revision, strict=strict) as talk:
            asked = in_thread(talk.connection.request, talk.any)
            talk.peer.respond(talk.peer.receive()["id"], {"long": long, "_meta": {"a b": 1}})
            if strict:
                with pytest.raises(PeerProtocolError, match="_meta key 'a b'"):
                    asked.get()
            else:
                result = asked.get()
                assert (result["long"], result["_meta"]) == (long, {"a b": 1})
                assert talk.counts() == {"misnamed meta": 1}
            talk.lives()


@pytest.mark.spec("meta.reserved-no-assumptions")
@pytest.mark.parametrize("party, revision", answering(every_revision_of("meta.reserved-no-assumptions")))
@pytest.mark.parametrize("strict", [False, True])
def test_any_value_at_a_reserved_name_of_a_request_is_kept_and_means_nothing(
    party: str, strict: bool, revision: str
) -> None:
    """[2025-06-18.. basic/index §`_meta`] MUST NOT"""
    seen: List[Any] = []
    params: Dict[str, Any] = {"name": "keep"}
    with conversation(party, revision, strict=strict) as talk:
        if party == "server":
            talk.role.tool(_keeping(seen), name="keep")
            method = "tools/call"
        else:
            talk.role._sample = lambda: {"role": "assistant", "content": {"type": "text", "text": ""}, "model": "x"}
            message = {"role": "user", "content": {"type": "text", "text": "hello"}}
            method, params = "sampling/createMessage", {"messages": [message], "maxTokens": 10}
        for value in JSON_VALUES:
            meta = {key: value for key in kept(revision)}
            before = talk.call(method, params)
            after = talk.call(method, dict(params, _meta=meta))
            assert after["result"] == before["result"], "it changed the answer"
            if party == "server":
                envelope = talk.peer.envelope or {}
                assert seen == [envelope, dict(envelope, **meta)]
                seen.clear()
            assert "result" in talk.call(talk.any, {"_meta": meta})
        assert talk.counts() == {}


def _keeping(seen: List[Any]) -> Any:
    def keep(ctx: Context) -> str:
        """Remember the request's `_meta`."""
        seen.append(ctx.meta)
        return "kept"

    return keep


@pytest.mark.spec("meta.reserved-no-assumptions")
@pytest.mark.parametrize("revision", every_revision_of("meta.reserved-no-assumptions"))
@pytest.mark.parametrize("strict", [False, True])
def test_any_value_at_a_reserved_name_of_a_result_is_kept_and_means_nothing(strict: bool, revision: str) -> None:
    """[2025-06-18.. basic/index §`_meta`] MUST NOT"""
    with conversation("client", revision, strict=strict) as talk:
        for value in JSON_VALUES:
            meta = {key: value for key in kept(revision)}
            asked = in_thread(talk.role.call_tool, "x")
            block = {"type": "text", "text": "y", "_meta": meta}
            talk.peer.respond(talk.peer.receive()["id"], {"content": [block], "_meta": meta})
            result = asked.get()
            assert result.meta == result.content[0].meta == meta and not result.is_error
            listed = in_thread(talk.role.list_tools, refresh=True)
            tool = {"name": "x", "inputSchema": {"type": "object"}, "_meta": meta}
            talk.peer.respond(talk.peer.receive()["id"], {"tools": [tool], "_meta": meta})
            assert listed.get().meta == listed.get().tools[0].meta == meta
        assert talk.counts() == {}


@pytest.mark.spec("meta.reserved-no-assumptions")
@pytest.mark.parametrize("revision", revisions_of("meta.reserved-no-assumptions"))
@both_parties
def test_any_value_at_a_reserved_name_of_a_notification_means_nothing(party: str, revision: str) -> None:
    """[2025-06-18.. basic/index §`_meta`] MUST NOT"""
    with conversation(party, revision) as talk:
        method = "notifications/roots/list_changed" if party == "server" else "notifications/tools/list_changed"
        for value in JSON_VALUES:
            talk.peer.notify(method, {"_meta": {key: value for key in KEPT}})
            assert talk.unanswered() == []
        assert talk.counts() == {}
        talk.lives()


@pytest.mark.spec("meta.reserved-no-assumptions")
def test_any_value_at_a_reserved_name_of_a_notification_about_our_request_means_nothing() -> None:
    """[2026-07-28 basic/index §`_meta`] MUST NOT"""
    steps: List[Any] = []
    with conversation("client", STATELESS) as talk:
        pending = talk.connection.open_request("tools/list", on_progress=lambda *step: steps.append(step))
        asked = talk.peer.receive()
        token = asked["params"]["_meta"]["progressToken"]
        for number, value in enumerate(JSON_VALUES):
            meta = {key: value for key in kept(STATELESS)}
            talk.peer.notify("notifications/progress", {"progressToken": token, "progress": number, "_meta": meta})
        talk.peer.respond(asked["id"], {"tools": []})
        assert talk.connection.wait(pending)["tools"] == []
        assert steps == [(number, None, None) for number in range(len(JSON_VALUES))]
        assert talk.counts() == {}
