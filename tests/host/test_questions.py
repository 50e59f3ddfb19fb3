"""What servers ask of a host: the policy comes first, the server is named, and a refusal tells nothing."""
import threading

import pytest

from mcp_ref import Host
from mcp_ref.client.roots import Roots
from mcp_ref.client.sampling import ModelCard
from mcp_ref.errors import LocalProtocolError, PeerError
from mcp_ref.host import Allow, Deny, Policy, allow
from mcp_ref.host.questions import _Ask, AuditEntry, HostCallbacks
from mcp_ref.messages.content import TextContent
from mcp_ref.messages.roots import Root
from mcp_ref.messages.sampling import CreateMessageRequestParams, CreateMessageResult, SamplingMessage
from tests.support.hosting import scripted
from tests.support.scripted import PATIENCE
from tests.support.sides import HANDSHAKE, eventually

ELICITING = HANDSHAKE[2:]
CARDS = [ModelCard("big-model", cost=0.9, intelligence=0.9), ModelCard("small-model", cost=0.1, intelligence=0.2)]
FORM = {"type": "object", "properties": {"name": {"type": "string"}}}
LINK = {"mode": "url", "message": "Sign in", "url": "https://example.com/x?a=b", "elicitationId": "e1"}


def prompt(text="hello", **more):
    return dict({"messages": [{"role": "user", "content": {"type": "text", "text": text}}], "maxTokens": 9}, **more)


def sample(peer, id=1, **more):
    return peer.call(id, "sampling/createMessage", prompt(**more))


def text_of(answer):
    return answer["result"]["content"]["text"]


REJECTED = {"code": -1, "message": "User rejected sampling request"}


# -- Sampling ----------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", HANDSHAKE)
@pytest.mark.spec("sampling.ui-review", "sampling.ui-edit", "sampling.ui-response-review")
def test_a_prompt_and_what_the_model_said_are_seen_and_may_be_changed(revision):
    """[.. client/sampling §User Interaction Model] SHOULD"""
    seen, events = [], []

    def edit(request):
        seen.append((request.server, request.params.messages[0].content.text))
        return Allow(CreateMessageRequestParams([SamplingMessage("user", TextContent("edited"))], 5))

    def review(question):
        seen.append((question.server, question.params.messages[0].content.text, question.result.content.text))
        return Allow(CreateMessageResult("assistant", "m", TextContent("censored")))

    def ask_model(request):
        seen.append((request.server, request.params.messages[0].content.text, request.params.max_tokens))
        return CreateMessageResult("assistant", "m", TextContent("raw"))

    with Host(sampling=ask_model, policy=Policy(sampling=edit, sampling_result=review), audit=events.append) as host:
        peer = scripted(host, "asking", revision)
        assert text_of(sample(peer)) == "censored"
    assert seen == [("asking", "hello"), ("asking", "edited", 5), ("asking", "edited", "raw")]
    event, = [event for event in events if event["event"] == "sampling"]
    assert (event["decision"], event["messages"], event["outcome"]) == ("changed", 1, "ok")
    assert "hello" not in repr(events) and "raw" not in repr(events)


@pytest.mark.parametrize("revision", HANDSHAKE)
@pytest.mark.parametrize("policy", [
    {}, {"sampling": lambda request: False}, {"sampling": lambda request: Deny("secret reason")},
    {"sampling": lambda request: 1 / 0}, {"sampling": lambda request: None}, {"sampling": lambda request: Allow("x")},
    {"sampling": allow, "sampling_result": lambda question: False},
    {"sampling": allow, "sampling_result": lambda question: 1 / 0},
    {"sampling": allow, "sampling_result": lambda question: Allow("x")},
], ids=["no policy", "no", "deny", "raises", "None", "no params", "result: no", "result: raises", "result: no result"])
def test_a_denied_sampling_is_minus_one_and_tells_nothing(policy, revision):
    """[.. client/sampling §Error Handling] SHOULD"""
    asked, events = [], []

    def ask_model(request):
        asked.append(request)
        return CreateMessageResult("assistant", "m", TextContent("secret answer"))

    with Host(sampling=ask_model, policy=Policy(**policy), audit=events.append) as host:
        peer = scripted(host, "asking", revision)
        assert sample(peer)["error"] == REJECTED
        assert len(asked) == ("sampling_result" in policy)
        event, = [event for event in events if event["event"] == "sampling"]
        assert event["decision"] == "denied" and event["reason"] and event["outcome"] == "RpcError"


def test_the_policy_has_a_copy_of_what_is_asked():
    def meddle(question):
        question.params.messages[0].content.text = "meddled"
        if hasattr(question, "result"):
            question.result.content.text = "meddled"
        return True

    with Host(sampling=lambda request: CreateMessageResult(
            "assistant", "m", TextContent(request.params.messages[0].content.text)),
            policy=Policy(sampling=meddle, sampling_result=meddle)) as host:
        assert text_of(sample(scripted(host, "a"))) == "hello"


@pytest.mark.parametrize("revision", HANDSHAKE)
@pytest.mark.parametrize("preferences, name", [
    (None, "big-model"), ({"hints": [{"name": "small"}]}, "small-model"), ({"costPriority": 1.0}, "small-model"),
    ({"intelligencePriority": 1.0}, "big-model"), ({"hints": [{"name": "none"}, {"name": "big"}]}, "big-model"),
])
@pytest.mark.spec("sampling.respect-hints")
def test_the_model_that_fits_is_shown_and_named(revision, preferences, name):
    """[.. client/sampling §Security Considerations] SHOULD"""
    seen = []

    def note(request):
        seen.append(request.model.name)
        return True if len(seen) == 1 else "text"

    more = {} if preferences is None else {"modelPreferences": preferences}
    with Host(sampling=note, models=CARDS, policy=Policy(sampling=note)) as host:
        answer = sample(scripted(host, "a", revision), **more)
    assert seen == [name, name] and answer["result"]["model"] == name


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_what_is_not_given_is_not_declared_nor_answered(revision):
    with Host() as host:
        peer = scripted(host, "a", revision)
        assert peer.heard[0]["params"]["capabilities"] == {}
        for id, method in enumerate(["sampling/createMessage", "roots/list", "elicitation/create"]):
            assert peer.call(id, method, {})["error"]["code"] == -32601


def test_what_is_given_is_declared():
    with Host(sampling=allow, sampling_tools=True, sampling_context=True, elicitation=allow, elicitation_url=allow,
              roots=[]) as host:
        peer = scripted(host, "a", roots=["/tmp"])
        assert peer.heard[0]["params"]["capabilities"] == {
            "roots": {"listChanged": True}, "sampling": {"tools": {}, "context": {}},
            "elicitation": {"form": {}, "url": {}}}


@pytest.mark.parametrize("model, asked", [(None, True), (None, False), (lambda request: "asked", False)])
def test_no_model_is_asked_that_is_not_there_nor_before_the_policy_was(model, asked):
    ask = _Ask(HostCallbacks(Policy(sampling=allow), lambda *event, **details: None, lambda: ["a"], sampling=model),
               AuditEntry(lambda *event, **details: None, "sampling", "a"))
    params = CreateMessageRequestParams([SamplingMessage("user", TextContent("hello"))], 9)
    if asked:
        assert ask._approve(params, None) is params
    with pytest.raises(LookupError, match="the host has no model"):
        ask._ask_model(params, None)
    ask._callbacks.sampling = lambda request: request.params.max_tokens
    ask._approve(params, None)
    assert ask._ask_model(params, None) == 9


@pytest.mark.parametrize("sampling", [lambda request: 1 / 0, lambda request: None, lambda request: "text"],
                         ids=["raises", "nothing", "text of a model without a name"])
def test_a_model_that_fails_tells_the_server_nothing(sampling):
    with Host(sampling=sampling, policy=Policy(sampling=allow)) as host:
        error = sample(scripted(host, "a"))["error"]
        assert error == {"code": -32603, "message": "Internal error"}


# -- Elicitation -------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", ELICITING)
@pytest.mark.spec("elicit.ui-server-name", "elicit.indicate-server", "elicit.ui-server-name-should",
                  "elicit.indicate-server-should")
def test_the_user_is_told_which_server_asks(revision):
    """[2025-11-25.. client/elicitation §User Interaction Model] MUST: by the host's name, not the server's own."""
    asked, events = [], []

    def ask_user(request):
        asked.append((request.server, request.mode, request.params.message))
        return {"name": "Ada"}

    with Host(elicitation=ask_user, audit=events.append) as host:
        for name in ("one", "two"):
            peer = scripted(host, name, revision)
            answer = peer.call(1, "elicitation/create", {"message": "Who? -- from two", "requestedSchema": FORM})
            assert answer["result"] == {"action": "accept", "content": {"name": "Ada"}}
    assert asked == [("one", "form", "Who? -- from two"), ("two", "form", "Who? -- from two")]
    assert [(e["server"], e["action"], e["mode"]) for e in events if e["event"] == "elicitation"] == [
        ("one", "accept", "form"), ("two", "accept", "form")]
    assert "Ada" not in repr(events)


@pytest.mark.parametrize("revision", ELICITING)
@pytest.mark.parametrize("answer", [False, Deny("secret"), None, lambda question: 1 / 0, Allow({"message": "other"})],
                         ids=repr)
@pytest.mark.spec("elicit.approval-controls")
def test_what_the_policy_denies_does_not_bother_the_user(revision, answer):
    """[2025-06-18..2025-11-25 client/elicitation §Security Considerations] SHOULD"""
    asked, events = [], []
    policy = Policy(elicitation=answer if callable(answer) else lambda question: answer)
    with Host(elicitation=asked.append, elicitation_url=asked.append, policy=policy, audit=events.append) as host:
        peer = scripted(host, "a", revision)
        forms = [{"message": "Who?", "requestedSchema": FORM}] + ([LINK] if revision == "2025-11-25" else [])
        for id, params in enumerate(forms):
            assert peer.call(id, "elicitation/create", params)["result"] == {"action": "decline"}
    assert asked == []
    assert {(e["decision"], e["action"]) for e in events if e["event"] == "elicitation"} == {("denied", "decline")}


@pytest.mark.parametrize("revision", ELICITING)
@pytest.mark.parametrize("given, action", [(False, "decline"), (None, "cancel"), ("cancel", "cancel")])
@pytest.mark.spec("elicit.decline-anytime")
def test_the_user_may_decline_and_cancel(revision, given, action):
    """[2025-06-18..2025-11-25 client/elicitation §Security Considerations] SHOULD"""
    with Host(elicitation=lambda request: given) as host:
        peer = scripted(host, "a", revision)
        answer = peer.call(1, "elicitation/create", {"message": "Who?", "requestedSchema": FORM})
        assert answer["result"] == {"action": action}


@pytest.mark.spec("elicit.url-shown", "elicit.ui-url-domain")
def test_a_link_is_shown_with_its_host_and_opened_after_a_yes():
    """[2025-11-25.. client/elicitation §Safe URL Handling] MUST"""
    steps, completed = [], []

    def consent(request):
        steps.append((request.server, request.params.url, request.params.host))
        return True

    with Host(elicitation_url=consent, open_url=steps.append,
              on_complete=lambda server, link: completed.append((server, link.elicitation_id))) as host:
        peer = scripted(host, "a")
        assert peer.call(1, "elicitation/create", LINK)["result"] == {"action": "accept"}
        peer.notify("notifications/elicitation/complete", {"elicitationId": "e1"})
        peer.notify("notifications/elicitation/complete", {"elicitationId": "unknown"})
        eventually(lambda: host.clients["a"].connection.counters["completion of nothing"] == 1)
    assert steps == [("a", LINK["url"], "example.com"), LINK["url"]] and completed == [("a", "e1")]


@pytest.mark.parametrize("agree", [True, False])
def test_links_that_an_error_requires_are_put_to_policy_and_user(agree):
    asked, opened = [], []

    def policy(question):
        asked.append((question.server, question.params.url, question.context))
        return agree

    with Host(elicitation_url=lambda request: True, open_url=opened.append,
              policy=Policy(elicitation=policy)) as host:
        scripted(host, "a")
        error = PeerError(-32042, "m", {"elicitations": [LINK]}, "tools/call", 1)
        assert host.follow("a", error) is agree
    assert asked == [("a", LINK["url"], None)] and opened == ([LINK["url"]] if agree else [])


def test_links_cannot_be_followed_without_a_user():
    with Host(elicitation=allow) as host:
        scripted(host, "a")
        with pytest.raises(LocalProtocolError, match="url="):
            host.follow("a", PeerError(-32042, "m", {"elicitations": [LINK]}, "tools/call", 1))


# -- Roots -------------------------------------------------------------------------------------


def uris(peer, id=1):
    return [root["uri"] for root in peer.call(id, "roots/list")["result"]["roots"]]


@pytest.mark.parametrize("revision", HANDSHAKE)
@pytest.mark.spec("roots.consent")
def test_each_server_gets_its_roots_as_far_as_the_policy_lets_it(revision):
    """[.. client/roots §Implementation Guidelines] SHOULD"""
    events = []

    def choose(question):
        if question.server == "none":
            return False
        return Allow(question.roots[:1]) if question.server == "fewer" else True

    with Host(roots=["/srv/shared", "/srv/more"], policy=Policy(roots=choose), audit=events.append) as host:
        everything = ["file:///srv/shared", "file:///srv/more"]
        assert uris(scripted(host, "all", revision)) == everything
        assert uris(scripted(host, "fewer", revision)) == everything[:1]
        assert uris(scripted(host, "none", revision)) == []
        assert uris(scripted(host, "own", revision, roots=["/srv/own"])) == ["file:///srv/own"]
        assert uris(scripted(host, "empty", revision, roots=[])) == []
    assert [(e["server"], e["decision"], len(e["roots"])) for e in events if e["event"] == "roots"] == [
        ("all", "allowed", 2), ("fewer", "changed", 1), ("none", "denied", 0), ("own", "allowed", 1),
        ("empty", "allowed", 0)]


@pytest.mark.parametrize("answer", [
    None, Allow([Root("https://example.com/")]), Allow(5), lambda question: 1 / 0,
], ids=repr)
def test_a_broken_policy_exposes_no_root(answer):
    policy = Policy(roots=answer if callable(answer) else lambda question: answer)
    with Host(roots=["/srv/shared"], policy=policy) as host:
        answered = scripted(host, "a").call(1, "roots/list")
        assert answered.get("result", {"roots": []})["roots"] == [] and "srv" not in repr(answered)


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_change_of_roots_is_told_to_those_that_have_them(revision):
    shared = Roots(["/srv/a"])
    with Host(roots=shared) as host:
        one, own = scripted(host, "one", revision), scripted(host, "own", revision, roots=["/srv/b"])
        shared.add("/srv/c")
        assert one.receive()["method"] == "notifications/roots/list_changed"
        assert uris(one) == ["file:///srv/a", "file:///srv/c"] and own.barrier() == []


def test_a_question_of_a_server_can_be_cancelled():
    asked, ended = threading.Event(), threading.Event()

    def ask_user(request):
        asked.set()
        if request.context.cancelled.wait(PATIENCE):
            ended.set()

    with Host(elicitation=ask_user) as host:
        peer = scripted(host, "a")
        peer.request(1, "elicitation/create", {"message": "Who?", "requestedSchema": FORM})
        assert asked.wait(PATIENCE)
        peer.notify("notifications/cancelled", {"requestId": 1})
        assert ended.wait(PATIENCE) and peer.barrier() == []


def test_a_server_that_asks_without_end_does_not_fill_the_audit_log():
    """What was put to the user is written each time; what was refused, or is the same as before, ever more rarely."""
    events, asked = [], []

    def ask_user(request):
        asked.append(request.server)
        return {}

    with Host(elicitation=ask_user, roots=["/srv/a"], audit=events.append) as host:
        peer = scripted(host, "a")
        for start in range(0, 2400, 400):
            for number in range(start, start + 400, 2):
                peer.request(number, "elicitation/create", {"message": "Who?", "requestedSchema": FORM})
                peer.request(number + 1, "roots/list")
            for _ in range(400):
                peer.receive(lambda m: "method" not in m)
    written = [event for event in events if event["event"] == "elicitation"]
    assert len([event for event in written if "decision" in event]) == len(asked) >= 10
    refused = [event for event in written if "decision" not in event]
    assert sorted(event.get("count", 0) for event in refused) == [0] * 10 + [1000]
    listed = [event for event in events if event["event"] == "roots"]
    assert sorted(event.get("count", 0) for event in listed) == [0] * 10 + [1000]


def test_roots_that_differ_from_before_are_always_in_the_audit_log():
    events, shared = [], Roots(["/srv/0"])
    with Host(roots=shared, audit=events.append) as host:
        peer = scripted(host, "a")
        for number in range(30):
            shared.set(["/srv/%d" % number])
            uris(peer, number)
    assert len([event for event in events if event["event"] == "roots"]) == 30
