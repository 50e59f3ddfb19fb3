"""No server sees into another: two hostile servers side by side, and what each of them is ever sent.

Every byte that a scripted server hears is kept (`HostedPeer.heard`), so each test ends with the same question: does
anything of the other server's, marked SECRET, stand in it?
"""
import json

import pytest

from mcp_ref import Host
from mcp_ref.client.sampling import ModelCard
from mcp_ref.errors import PeerError
from mcp_ref.host import Allow, Denied, Policy, allow
from mcp_ref.messages.content import TextContent
from mcp_ref.messages.sampling import CreateMessageResult
from tests.support.hosting import SILENT, scripted, tool
from tests.support.scripted import PATIENCE
from tests.support.sides import HANDSHAKE, eventually, in_thread

SECRET = "SECRET-of-the-victim"
CARDS = [ModelCard("m")]


def asking(include=None, id=1):
    params = {"messages": [{"role": "user", "content": {"type": "text", "text": "?"}}], "maxTokens": 9}
    return id, "sampling/createMessage", params if include is None else dict(params, includeContext=include)


def saw_nothing(peer):
    """All that this server was sent, without a word of the victim's."""
    assert SECRET not in json.dumps(peer.heard) and "victim" not in json.dumps(peer.heard)


@pytest.fixture(params=HANDSHAKE)
def revision(request):
    return request.param


def test_what_one_server_has_reaches_no_other(revision):
    """[.. architecture/index §Design Principles]: lists, calls, results, resources, prompts, roots, logs, updates."""
    logs = []
    with Host(policy=Policy(tool_call=allow), on_log=lambda *log: logs.append(log)) as host:
        evil = scripted(host, "evil", revision, tools=[tool("read"), tool("other__read")], roots=["/srv/evil"],
                        answers={"resources/list": {"resources": []}, "prompts/list": {"prompts": []}})
        victim = scripted(host, "victim", revision, tools=[tool("read", SECRET)], roots=["/srv/" + SECRET], answers={
            "tools/call": {"content": [{"type": "text", "text": SECRET}]},
            "resources/list": {"resources": [{"uri": "x:" + SECRET, "name": SECRET}]},
            "resources/read": {"contents": [{"uri": "x:y", "text": SECRET}]},
            "resources/subscribe": {},
            "prompts/list": {"prompts": [{"name": SECRET}]},
            "prompts/get": {"messages": [{"role": "user", "content": {"type": "text", "text": SECRET}}]},
        })
        host.tools(), host.resources(), host.prompts()
        host.call_tool("victim__read", {"path": SECRET}, meta={"com.example/x": SECRET})
        host.read_resource("victim", "x:y")
        host.get_prompt("victim__" + SECRET, {"a": SECRET})
        host.clients["victim"].subscribe_resource("x:" + SECRET)
        victim.notify("notifications/message", {"level": "info", "data": SECRET})
        victim.notify("notifications/resources/updated", {"uri": "x:" + SECRET})
        eventually(lambda: logs)
        for tool_of_evil in host.tools("evil"):
            host.call_tool(tool_of_evil.qualified, {"own": 1})
        assert evil.call(1, "roots/list")["result"]["roots"] == [{"uri": "file:///srv/evil"}]
        assert logs == [("victim", "info", SECRET, None)]
        assert len(evil.called()) == 2 and len(victim.called()) == 1
        saw_nothing(evil)


@pytest.mark.parametrize("include", ["allServers", "thisServer", "none", None])
@pytest.mark.parametrize("generous", [False, True])
def test_context_of_other_servers_needs_the_policys_word(revision, include, generous):
    """[.. client/sampling §Creating Messages]: ``includeContext`` is a wish, which the client may change."""
    seen, prompts = [], {}

    def ask_model(request):
        seen.append((request.params.include_context, request.context_from))
        used = " ".join(prompts[server] for server in request.context_from)
        return CreateMessageResult("assistant", "m", TextContent("model saw: " + used))

    def policy(request):
        assert request.params.include_context == include and "victim" not in request.context_from
        return Allow(all_servers=generous)

    with Host(sampling=ask_model, sampling_context=True, policy=Policy(sampling=policy)) as host:
        evil, victim = scripted(host, "evil", revision), scripted(host, "victim", revision)
        prompts.update(evil="own", victim=SECRET)
        answer = evil.call(*asking(include))["result"]["content"]["text"]
    if include == "allServers" and generous:
        assert seen == [("allServers", ("evil", "victim"))] and SECRET in answer
    else:
        own = include in ("allServers", "thisServer")
        assert seen == [("thisServer" if own else include, ("evil",) if own else ())]
        assert answer == "model saw: " + ("own" if own else "")
        saw_nothing(evil)
    assert victim.methods() == ["initialize", "notifications/initialized"]  # it was asked nothing


FAILURES = {
    "a JSON-RPC error": {"error": {"code": -32000, "message": SECRET, "data": {"victim": SECRET}}},
    "an answer that does not fit": {"result": {"content": SECRET}},
    "an answer that is none": {"result": {"content": [{"type": SECRET}]}},
}


@pytest.mark.parametrize("failure", FAILURES)
def test_the_error_of_one_server_is_never_quoted_to_another(revision, failure):
    """The model's function uses the victim's tool while it works for the other server, and lets its error through."""
    errors = []

    def ask_model(request):
        try:
            host.call_tool("victim__read")
        except Exception as error:
            errors.append(str(error))
            raise
        return "unreachable"

    with Host(sampling=ask_model, models=CARDS, policy=Policy(sampling=allow, tool_call=allow)) as host:
        evil, victim = scripted(host, "evil", revision), scripted(host, "victim", revision, tools=[tool("read")])
        del victim.answers["tools/call"]
        evil.request(*asking())
        asked = victim.receive(lambda message: message.get("method") == "tools/call")
        victim.send(dict({"jsonrpc": "2.0", "id": asked["id"]}, **FAILURES[failure]))
        assert evil.answer_to(1)["error"] == {"code": -32603, "message": "Internal error"}
        assert len(errors) == 1
        saw_nothing(evil)


@pytest.mark.parametrize("question", ["sampling/createMessage", "elicitation/create", "roots/list"])
@pytest.mark.parametrize("error", [
    Denied("calling victim__" + SECRET, "victim", SECRET), ValueError(SECRET), KeyError("victim"),
    PeerError(-32000, SECRET, {"victim": SECRET}, "tools/call", 1),
], ids=lambda error: type(error).__name__)
def test_what_is_raised_in_the_hosts_functions_stays_there(question, error):
    def fail(*ignored):
        raise error

    params = {
        "sampling/createMessage": asking()[2],
        "elicitation/create": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}},
    }
    for policy in (Policy(sampling=allow), Policy(sampling=fail, elicitation=fail, roots=fail),
                   Policy(sampling=allow, sampling_result=fail)):
        with Host(sampling=fail, elicitation=fail, roots=["/srv/own"], policy=policy) as host:
            evil = scripted(host, "evil")
            evil.call(1, question, params.get(question))
            saw_nothing(evil)


def test_a_lost_server_is_not_named_to_another():
    lost = []

    def ask_model(request):
        return host.call_tool("victim__read").content[0].text

    with Host(sampling=ask_model, policy=Policy(sampling=allow, tool_call=allow),
              on_lost=lambda server, reason: lost.append(server)) as host:
        evil, victim = scripted(host, "evil"), scripted(host, "victim", tools=[tool("read")])
        victim.transport.close()
        eventually(lambda: lost == ["victim"])
        assert evil.call(*asking())["error"] == {"code": -32603, "message": "Internal error"}
        saw_nothing(evil)


def test_progress_of_one_server_never_counts_for_another():
    """Tokens are per connection: both servers get the same one, and one uses it for the other's call."""
    steps = []
    with Host(policy=Policy(tool_call=allow)) as host:
        evil, victim = (scripted(host, name, tools=[tool("t")]) for name in ("evil", "victim"))
        host.tools()
        del victim.answers["tools/call"]
        calling = in_thread(
            host.call_tool, "victim__t", progress=lambda value, total, text: steps.append((value, text)))
        asked = victim.receive(lambda message: message.get("method") == "tools/call")
        token = asked["params"]["_meta"]["progressToken"]
        for wrong in (token, str(token), 0, 1, 2, 3):
            evil.notify("notifications/progress", {"progressToken": wrong, "progress": 0.5, "message": "forged"})
        evil.respond(asked["id"], {"content": [{"type": "text", "text": "forged"}]})
        evil.notify("notifications/cancelled", {"requestId": asked["id"]})
        evil.barrier()
        victim.notify("notifications/progress", {"progressToken": token, "progress": 1, "message": "true"})
        victim.respond(asked["id"], {"content": [{"type": "text", "text": "true"}]})
        assert calling.get().content[0].text == "true"
    assert steps == [(1, "true")]


def test_an_announcement_of_one_server_changes_nothing_of_another():
    with Host() as host:
        evil, victim = scripted(host, "evil", tools=[tool("a")]), scripted(host, "victim", tools=[tool("b")])
        before = host.tools("victim")
        evil.answers["tools/list"] = {"tools": [tool("c")]}
        evil.notify("notifications/tools/list_changed")
        eventually(lambda: [t.name for t in host.tools("evil")] == ["c"])
        assert host.tools("victim") == before and victim.methods().count("tools/list") == 1


def test_a_completed_link_of_one_server_is_not_anothers():
    completed = []
    link = {"mode": "url", "message": "Sign in", "url": "https://example.com/", "elicitationId": "same"}
    with Host(elicitation_url=lambda request: True, on_complete=lambda server, done: completed.append(server)) as host:
        evil, victim = scripted(host, "evil"), scripted(host, "victim")
        assert victim.call(1, "elicitation/create", link)["result"] == {"action": "accept"}
        evil.notify("notifications/elicitation/complete", {"elicitationId": "same"})
        eventually(lambda: host.clients["evil"].connection.counters["completion of nothing"] == 1)
        assert completed == []
        victim.notify("notifications/elicitation/complete", {"elicitationId": "same"})
        eventually(lambda: completed == ["victim"])


@pytest.mark.race
def test_a_server_that_hangs_holds_nobody_up():
    with Host(policy=Policy(tool_call=allow)) as host:
        evil = scripted(host, "evil", tools=[tool("t")])
        scripted(host, "victim", capabilities=SILENT, tools=[tool("t")])
        del evil.answers["tools/call"], evil.answers["tools/list"]
        listing = in_thread(host.tools)
        evil.receive(lambda message: message.get("method") == "tools/list")
        for _ in range(3):
            assert host.call_tool("victim__t").content[0].text == "done"
        assert not listing.over
        evil.transport.close()
        assert [t.qualified for t in listing.get(PATIENCE)] == ["victim__t"]
