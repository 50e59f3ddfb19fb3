"""What a client without handshake does about errors by itself; processes that end are in test_restart.py."""
import pytest

from mcp_ref.errors import AnswerLost, ConnectionLost, HttpStatus, PeerError, PeerProtocolError
from mcp_ref.peer.extension import Extension
from mcp_ref.transports.base import Failed
from tests.support.scene import SILENT, Scene
from tests.support.scripted import PATIENCE
from tests.support.sides import eventually, in_thread

MODERN = "2026-07-28"
DONE = {"content": []}
SHARED = {"ttlMs": 0, "cacheScope": "private"}
TOOLS = dict(SHARED, tools=[
    {"name": "t", "inputSchema": {"type": "object"}},
    {"name": "reads", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
])


class Erring(Scene):
    """A server that answers the first requests of a method with these errors."""

    def __init__(self, answers, errors, **options):
        self.errors = {method: list(given) for method, given in errors.items()}
        super().__init__(MODERN, dict({"tools/list": TOOLS}, **answers), **options)

    def _answer(self, message):
        left = self.errors.get(message["method"])
        if left:
            self.requests.append(message)
            self.peer.send({"jsonrpc": "2.0", "id": message["id"], "error": left.pop(0)})
        else:
            super()._answer(message)

    def call(self, form, name="t"):
        """Call a tool."""
        if form == "call":
            return self.client.call_tool(name)
        return self.client.submit_tool(name).result(PATIENCE)


FORMS = pytest.mark.parametrize("form", ["call", "future"])
MISMATCH = {"code": -32020, "message": "Mcp-Param-Region is missing"}


@FORMS
def test_tools_are_listed_again_when_the_header_fields_were_not_what_they_should_be(form):
    """[2026-07-28 basic/transports/streamable-http §Client Behavior] SHOULD"""
    with Erring({"tools/call": DONE}, {"tools/call": [MISMATCH]}) as scene:
        scene.call(form)
        assert scene.asked == ["tools/call", "tools/list", "tools/call"]
        assert scene.requests[0]["id"] != scene.requests[2]["id"]


@FORMS
def test_and_called_again_once(form):
    with Erring({}, {"tools/call": [MISMATCH] * 9}) as scene:
        with pytest.raises(PeerError) as caught:
            scene.call(form)
        assert caught.value.code == -32020 and scene.asked == ["tools/call", "tools/list", "tools/call"]


@FORMS
def test_a_list_that_cannot_be_had_is_the_error(form):
    with Erring({}, {"tools/call": [MISMATCH], "tools/list": [{"code": -32603, "message": "no list"}]}) as scene:
        with pytest.raises(PeerError, match="no list"):
            scene.call(form)


def test_other_requests_have_no_header_fields_that_a_list_could_mend():
    with Erring({}, {"prompts/get": [MISMATCH]}) as scene:
        with pytest.raises(PeerError) as caught:
            scene.client.get_prompt("p")
        assert caught.value.code == -32020 and scene.asked == ["prompts/get"]


@FORMS
@pytest.mark.parametrize("data, named", [
    ({"requiredCapabilities": {"sampling": {}, "elicitation": {"form": {}}}}, "sampling, elicitation"),
    ({"requiredCapabilities": {}}, "not named"), ({}, "not named"), (None, "not named"), ([], "not named"),
    ({"requiredCapabilities": ["x"]}, "not named"),
], ids=str)
def test_a_capability_that_the_server_needs_is_named_with_what_to_do(form, data, named):
    """[2026-07-28 basic/index §`_meta`]"""
    error = {"code": -32021, "message": "Missing required client capability"}
    with Erring({}, {"tools/call": [dict(error, data=data) if data is not None else error]}, roots=["/a"]) as scene:
        with pytest.raises(PeerError, match="Missing required client capability") as caught:
            scene.call(form)
        assert all(words in str(caught.value) for words in (named, "declares roots", "Client(...)"))
        assert (caught.value.code, caught.value.data, caught.value.method) == (-32021, data, "tools/call")
        assert scene.asked == ["tools/call"]


@FORMS
@pytest.mark.parametrize("code", [-32602, -32601, -32603, -32000, -32002, -32042, -32023, 5])
def test_other_errors_are_those_of_the_call(code, form):
    with Erring({}, {"tools/call": [{"code": code, "message": "no"}]}) as scene:
        with pytest.raises(PeerError) as caught:
            scene.call(form)
        assert caught.value.code == code and scene.asked == ["tools/call"]


def lose(scene, error):
    """The server's last request gets no answer."""
    scene.client.connection.feed([Failed(scene.requests[-1]["id"], error)])


@FORMS
@pytest.mark.parametrize("error", [AnswerLost("cut off"), ConnectionLost("cut off")], ids=repr)
def test_a_stream_that_broke_is_begun_again_for_what_only_asks(error, form):
    """Reading: as for a process that ended; the connection as a whole goes on."""
    left = [SILENT, DONE]
    with Erring({"tools/call": lambda params: left.pop(0)}, {}) as scene:
        list(scene.client.tools())
        outcome = in_thread(scene.call, form, "reads")
        eventually(lambda: scene.asked[1:] == ["tools/call"])
        connection = scene.client.connection
        lose(scene, error)
        outcome.get()
        assert scene.asked == ["tools/list", "tools/call", "tools/call"] and scene.client.connection is connection
        assert scene.requests[1]["id"] != scene.requests[2]["id"]


@FORMS
def test_and_for_anything_else_the_caller_is_told_that_it_may_have_happened(form):
    with Erring({"tools/call": SILENT}, {}) as scene:
        outcome = in_thread(scene.call, form)
        eventually(lambda: scene.asked == ["tools/call"])
        lose(scene, AnswerLost("cut off"))
        with pytest.raises(ConnectionLost, match="cut off") as caught:
            outcome.get()
        assert caught.value.may_have_run and isinstance(caught.value.__cause__, AnswerLost)
        assert scene.asked == ["tools/call"]


def test_also_where_a_second_stream_breaks():
    with Erring({"resources/read": SILENT}, {}) as scene:
        outcome = in_thread(scene.client.read_resource, "x:y")
        for number in (1, 2):
            eventually(lambda: len(scene.requests) == number)
            lose(scene, AnswerLost("cut %d" % number))
        with pytest.raises(AnswerLost, match="cut 2"):
            outcome.get()
        assert len(scene.requests) == 2


@FORMS
def test_what_was_certainly_not_sent_is_sent_whatever_it_is(form):
    left = [SILENT, DONE]
    with Erring({"tools/call": lambda params: left.pop(0)}, {}) as scene:
        outcome = in_thread(scene.call, form)
        eventually(lambda: scene.asked == ["tools/call"])
        error = ConnectionLost("refused before")
        error.unsent = True
        lose(scene, error)
        outcome.get()
        assert scene.asked == ["tools/call"] * 2


@FORMS
def test_a_refusal_of_http_is_that_of_the_call(form):
    with Erring({"tools/call": SILENT}, {}) as scene:
        list(scene.client.tools())
        outcome = in_thread(scene.call, form, "reads")
        eventually(lambda: scene.asked[1:] == ["tools/call"])
        lose(scene, HttpStatus("403", 403))
        with pytest.raises(HttpStatus):
            outcome.get()
        assert scene.asked[1:] == ["tools/call"]


def test_with_a_handshake_nothing_is_sent_again():
    with Scene("2025-11-25", {"tools/call": SILENT, "tools/list": {"tools": TOOLS["tools"]}}) as scene:
        list(scene.client.tools())
        for error in (AnswerLost("cut"), PeerError(-32020, "no", None, "tools/call", 1)):
            before = len(scene.requests)
            outcome = in_thread(scene.client.call_tool, "reads")
            eventually(lambda: len(scene.requests) > before)
            lose(scene, error)
            with pytest.raises(type(error)) as caught:
                outcome.get()
            assert caught.value is error and not getattr(error, "may_have_run", False)


def test_an_answer_to_a_call_that_was_cancelled_between_two_rounds_harms_nobody():
    with Scene(MODERN, {"tools/call": SILENT, "tools/list": TOOLS}) as scene:
        future = scene.client.submit_tool("t")
        eventually(lambda: scene.requests)
        future._settle_cancelled()  # as `cancel` does while no round is out, and then one goes out all the same
        scene.peer.respond(scene.requests[0]["id"], DONE)
        assert [tool.name for tool in scene.client.tools()] == ["t", "reads"]
        assert future.cancelled()


class Adding(Extension):
    """Names its types in a set, where one cannot look for just anything."""

    identifier = "com.example/adding"
    result_types = {"another"}


@FORMS
@pytest.mark.parametrize("kind", [5, [], {}, ["task"], "task"])
def test_a_result_of_a_type_that_is_none_is_an_error_also_with_extensions(kind, form):
    """[2026-07-28 basic/index §ResultType] MUST"""
    with Erring({"tools/call": dict(DONE, resultType=kind)}, {}, extensions=[Adding()]) as scene:
        with pytest.raises(PeerProtocolError, match="resultType"):
            scene.call(form)
        assert scene.client.list_tools().tools
