"""What a client offers, asked for by results: roots, its model, its user. The rules are those of every revision.

[2026-07-28 client/roots §Root], [2026-07-28 client/sampling §Sampling with Tools], [2026-07-28 client/elicitation
§Form Mode Elicitation Requests]; how the rounds go is in test_mrtr_client.py.
"""
import pytest

from mcp_ref.client.elicitation import Elicitation
from mcp_ref.client.roots import Roots
from mcp_ref.client.sampling import Sampling
from mcp_ref.errors import InputUnavailable, LocalProtocolError, PeerProtocolError
from mcp_ref.limits import Limits
from tests.support.scene import Scene

STATELESS = "2026-07-28"
MESSAGE = {"role": "user", "content": {"type": "text", "text": "?"}}
TOOL = {"name": "look", "inputSchema": {"type": "object"}}
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}


def ask(method, params, **options):
    """Ask a client that offers this: the answer or None, what it declares, and the error of its call or None."""
    question = {"method": method} if params is None else {"method": method, "params": params}

    def answer(given):
        if "inputResponses" in given:
            return {"content": []}
        return {"resultType": "input_required", "inputRequests": {"q": question}}

    with Scene(STATELESS, {"tools/call": answer}, tasks=False, **options) as scene:
        declared = scene.opening["capabilities"]
        try:
            scene.client.call_tool("t")
        except (PeerProtocolError, InputUnavailable) as error:
            return None, declared, error
        return scene.requests[-1]["params"]["inputResponses"]["q"], declared, None


def sample(**more):
    """Params of a question to the model."""
    return dict({"messages": [MESSAGE], "maxTokens": 5}, **more)


@pytest.mark.spec("roots.file-uri", "roots.validate-uris")
def test_roots_that_are_listed_have_uris_of_files_and_none_leads_elsewhere():
    """[2026-07-28 client/roots §Root] MUST, [2026-07-28 client/roots §Security Considerations] MUST"""
    roots = Roots(["/disk/a b", "file:///srv"])
    for wrong in ("file:///a/../b", "file:///a/%2e%2e/b", "file://server/a", "https://example.com/"):
        with pytest.raises(LocalProtocolError):
            roots.add(wrong)
    answer, declared, _ = ask("roots/list", None, roots=roots)
    assert [root["uri"] for root in answer["roots"]] == ["file:///disk/a%20b", "file:///srv"]
    assert declared == {"roots": {}}


@pytest.mark.spec("sampling.tools-capability", "sampling.tools-undeclared-error")
@pytest.mark.parametrize("members", [{"tools": [TOOL]}, {"toolChoice": {"mode": "auto"}},
                                     {"tools": [TOOL], "toolChoice": {"mode": "required"}}], ids=str)
def test_a_model_gets_tools_only_where_that_was_declared(members):
    """[2026-07-28 client/sampling §Capabilities] MUST"""
    reached = []

    def model(params, context):
        reached.append(params)
        return "yes"

    answer, declared, error = ask("sampling/createMessage", sample(**members), sampling=Sampling(model, model="m"))
    assert declared == {"sampling": {}} and answer is None and reached == []
    assert isinstance(error, PeerProtocolError) and "tool" in str(error)
    if "tools" in members:
        offer = Sampling(model, model="m", tools=True)
        answer, declared, error = ask("sampling/createMessage", sample(**members), sampling=offer)
        assert declared == {"sampling": {"tools": {}}} and error is None
        assert answer["content"]["text"] == "yes" and [tool.name for tool in reached[0].tools] == ["look"]


@pytest.mark.spec("sampling.preserve-meta")
def test_the_meta_of_tool_use_and_of_its_result_reaches_the_model():
    """[2026-07-28 client/sampling §Sampling with Tools] SHOULD"""
    seen = []
    use = {"type": "tool_use", "id": "1", "name": "look", "input": {}, "_meta": {"com.example/cache": [1]}}
    result = {"type": "tool_result", "toolUseId": "1", "content": [], "_meta": {"com.example/of": "result"}}
    messages = [MESSAGE, {"role": "assistant", "content": use}, {"role": "user", "content": result}]
    offer = Sampling(lambda params, context: seen.append(params.messages) or "yes", tools=True, model="m")
    answer, _, error = ask("sampling/createMessage", sample(messages=messages, tools=[TOOL]), sampling=offer)
    assert error is None and answer["role"] == "assistant"
    assert [message.content.meta for message in seen[0][1:]] == [use["_meta"], result["_meta"]]


@pytest.mark.spec("sampling.rate-limit")
def test_a_server_asks_the_model_no_more_often_than_it_may():
    """[2026-07-28 client/sampling §Security Considerations] SHOULD"""
    asked = []

    def answer(given):
        asked.append(given)
        return {"resultType": "input_required", "inputRequests": {
            "q": {"method": "sampling/createMessage", "params": sample()}}}

    limits = Limits(max_samplings_per_second=3.0, max_input_rounds=100)
    offer = Sampling(lambda params, context: "yes", model="m")
    with Scene(STATELESS, {"tools/call": answer}, sampling=offer, limits=limits) as scene:
        with pytest.raises(InputUnavailable, match="max_samplings_per_second"):
            scene.client.call_tool("t")
    assert 4 <= len(asked) <= 10, "what came in a burst, and not without end"


@pytest.mark.spec("elicit.mode-default-form")
@pytest.mark.parametrize("mode", [{}, {"mode": "form"}], ids=str)
def test_a_question_without_a_mode_is_a_form(mode):
    """[2026-07-28 client/elicitation §Elicitation Requests] MUST"""
    offer = Elicitation(lambda params, context: {"name": params.message}, lambda request, context: False)
    params = dict({"message": "Who?", "requestedSchema": SCHEMA}, **mode)
    answer, declared, _ = ask("elicitation/create", params, elicitation=offer)
    assert declared == {"elicitation": {"form": {}, "url": {}}}
    assert answer == {"action": "accept", "content": {"name": "Who?"}}
