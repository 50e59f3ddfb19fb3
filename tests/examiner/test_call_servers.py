"""The examiner and calls under way, rounds, and header fields of parameters: ours keeps everything, lies are named."""
from dataclasses import replace
from typing import Any, Callable, Dict, List, Optional

import pytest

from mcp_ref import Context, Server
from mcp_ref.devtools.examiner import wire_to
from mcp_ref.devtools.examiner.examination import KEPT, Examination
from mcp_ref.devtools.examiner.scenes import load
from mcp_ref.devtools.examiner.wire import Reaction
from mcp_ref.revisions import REVISIONS, revision
from tests.examiner.test_servers import (
    HANDSHAKE, LAST, Lie, LyingWeb, Message, Request, examined, named, params, reached, without,
)
from tests.support.patience import WAIT

PAGES = ("calls", "resumption", "streams")
ROWS = {name: row for name, row in load().items() if row.play.__module__.rpartition(".")[2] in PAGES}


@pytest.fixture(scope="module")
def server() -> Server:
    server = Server("calls", "1", features=["logging"])

    @server.tool(read_only=True)
    def count(ctx: Context) -> str:
        ctx.log("info", "counting")
        for number in range(3):
            ctx.progress(number, 3)
        return "3"

    @server.tool(read_only=True)
    def ask(ctx: Context) -> str:
        first = ctx.elicit("Who?", {"name": str})
        return "%s" % (first,)

    @server.tool(read_only=True)
    def ask_both(ctx: Context) -> str:
        return "%s" % ctx.ask_all({"who": lambda: ctx.elicit("Who?", {"name": str}), "roots": ctx.list_roots})

    @server.resource("config://app")
    def config() -> str:
        return "{}"

    @server.tool(read_only=True, input_schema={
        "type": "object", "required": ["region"], "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "zone": {"type": ["string", "null"], "x-mcp-header": "Zone"}}})
    def query(region: str, zone: Optional[str] = None) -> str:
        return region

    return server


@pytest.fixture
def address(server: Server) -> Any:
    with server.listen("http://127.0.0.1:0") as listener:
        yield listener.address


def expect_kept(chapter: Any) -> None:
    assert not chapter.refused and chapter.faults == []
    assert {name: why for name, why in chapter.scenes.items() if why} == {}
    assert set(chapter.scenes) == {name for name, row in ROWS.items() if row.plays_in(chapter.revision, chapter.wire)}


@pytest.mark.parametrize("name", [each.name for each in REVISIONS[1:]])
def test_our_calls_keep_everything_on_a_pipe(server: Server, name: str) -> None:
    expect_kept(examined(server, name, ROWS))


def test_a_stream_is_resumed_after_each_event(address: str) -> None:
    chapter = Examination(wire_to(address), [revision(HANDSHAKE)], only=["broken-stream"], patience=WAIT).run()[0]
    assert "http.resume-no-cross-stream" in {row.requirement.id for row in chapter.rows() if row.state == KEPT}


@pytest.mark.parametrize("name, path", [(HANDSHAKE, "/mcp"), (HANDSHAKE, "/sse"), (LAST, "/mcp")])
def test_our_calls_keep_everything_over_http(address: str, name: str, path: str) -> None:
    wire = wire_to(address.replace("/mcp", path))
    expect_kept(Examination(wire, [revision(name)], only=ROWS, patience=WAIT).run()[0])


def retried(given: Message) -> bool:
    return "inputResponses" in given


def believes(request: Message, response: Message) -> Message:
    """Every state is as good as another."""
    given = params(request)
    if request.get("method") == "tools/call" and retried(given) and "requestState" in given:
        return {"jsonrpc": "2.0", "id": response["id"], "result": {"resultType": "complete", "content": []}}
    return response


def wants_all(request: Message, response: Message) -> Message:
    """A part of the answers of a round is an error."""
    if request.get("method") == "tools/call" and len(params(request).get("inputResponses", ())) == 1 and (
            params(request)["name"] == "ask_both"):
        return {"jsonrpc": "2.0", "id": response["id"], "error": {"code": -32602, "message": "one is missing"}}
    return response


LIES = (
    Lie("cancelled-call", "cancel.race", revision=HANDSHAKE, hears=without(
        lambda message: params(message).get("reason") == "examined")),
    Lie("odd-text", "transport.deliver", hears=without(lambda message: "example.com/text" in str(message))),
    Lie("odd-text", "version.base-required", hears=without(lambda message: "example.com/text" in str(message))),
    Lie("odd-text", "lifecycle.base-required", revision=HANDSHAKE, hears=without(
        lambda message: "example.com/text" in str(message))),
    Lie("part-of-a-round", "mrtr.re-request-missing", wants_all),
    Lie("altered-state", "mrtr.state-rejected", believes),
    Lie("junk-state", "mrtr.state-untrusted", hears=without(
        lambda message: params(message).get("requestState") == {"a": 1})),
)


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: "%s-%s" % (lie.scene, lie.id))
def test_a_lie_is_named(server: Server, lie: Lie) -> None:
    chapter = examined(server, lie.revision, [lie.scene], lie.edit, lie.hears)
    assert lie.id in named(chapter), (chapter.scenes, chapter.faults)


Edit = Callable[[Request, Reaction], Reaction]


def noted(method: str, **members: Any) -> Edit:
    """Each call gets a notification that it must not get."""
    note: Dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": members}

    def edit(asked: Request, answer: Reaction) -> Reaction:
        return replace(answer, others=(*answer.others, note)) if _calls(asked) else answer
    return edit


def _calls(asked: Request) -> bool:
    return isinstance(asked.message, dict) and asked.message.get("method") == "tools/call"


def swapped(asked: Request, answer: Reaction) -> Reaction:
    return replace(answer, message=dict(answer.message, id=-1)) if _calls(asked) and answer.message else answer


class Dying:
    """After a client has gone the server answers nobody."""

    def __init__(self) -> None:
        self.dead = False

    def __call__(self, asked: Request, answer: Reaction) -> Reaction:
        self.dead = self.dead or "examiner-gone" in str(asked.message)
        return replace(answer, message=None, status=500) if self.dead else answer


def with_field(test: Callable[[Optional[str]], Any]) -> Callable[[Request], Any]:
    """Calls of the tool with a header field of which this is true."""
    return lambda asked: _calls(asked) and asked.message["params"]["name"] == "query" and test(
        asked.fields.get("mcp-param-region"))


def refused(when: Callable[[Request], Any], status: int = 400, code: int = -32020) -> Edit:
    def edit(asked: Request, answer: Reaction) -> Reaction:
        if not when(asked):
            return answer
        return replace(answer, status=status, message={"jsonrpc": "2.0", "id": 1, "error": {
            "code": code, "message": "Header mismatch"}})
    return edit


def again(asked: Request, answer: Reaction) -> Reaction:
    """A stream that is resumed begins with the response to another request."""
    if "last-event-id" not in asked.fields:
        return answer
    other = {"jsonrpc": "2.0", "id": 1, "result": {}}
    if answer.status != 200:
        return replace(answer, status=200, message=other)
    return replace(answer, others=(other, *answer.others))


OTHER = "examiner-another-value"
WEB_LIES: List[Any] = [
    ("log-not-asked-for", "logging.opt-in", noted("notifications/message", level="info", data="x")),
    ("calls-at-once", "http.stream-related-notifications", noted(
        "notifications/progress", progressToken="examiner-at-once-9", progress=1)),
    ("calls-at-once", "transport.deliver", swapped),
    ("disconnect", "cancel.race", Dying()),
    ("disconnect", "cancel.http-disconnect-cancels", Dying()),
    ("broken-stream", "http.resume-no-cross-stream", again),
    ("unknown-event-id", "http.resume-no-cross-stream", again),
    ("parameter-fields", "http.param-mismatch-rejected", reached(with_field(lambda text: text == OTHER))),
    ("parameter-fields", "http.param-mismatch-rejected", refused(with_field(lambda text: text == OTHER), code=-32602)),
    ("parameter-fields", "http.param-validate-body", reached(with_field(
        lambda text: (text or "").startswith("=?base64?")))),
    ("parameter-fields", "http.param-missing-rejected", reached(with_field(lambda text: text is None))),
    ("parameter-fields", "http.param-invalid-chars", reached(with_field(lambda text: "\u00e9" in (text or "")))),
    ("parameter-fields", "http.param-server-decodes", refused(with_field(
        lambda text: (text or "").startswith("=?base64?")))),
    ("parameter-absent", "http.param-absent-not-expected", refused(
        lambda asked: _calls(asked) and "zone" not in asked.message["params"]["arguments"])),
    ("parameter-absent", "http.param-null-not-expected", refused(
        lambda asked: _calls(asked) and asked.message["params"]["arguments"].get("zone", "") is None)),
]


@pytest.mark.parametrize("scene, id, edit", WEB_LIES, ids=["%s-%s" % row[:2] for row in WEB_LIES])
def test_a_lie_over_http_is_named(address: str, scene: str, id: str, edit: Edit) -> None:
    name = LAST if LAST in [str(REVISIONS[rank]) for rank in ROWS[scene].ranks] else HANDSHAKE
    chapter = Examination(lambda trace: LyingWeb(address, trace, edit), [revision(name)], only=[scene],
                          patience=WAIT).run()[0]
    assert id in named(chapter), (chapter.refused, chapter.scenes, chapter.faults)


def test_every_scene_that_decides_has_a_lie() -> None:
    shown = {"cancel-calls", "calls-of-an-able-client", "stream-ends", "listening"}  # in test_sensitivity.py
    assert {(name, id) for name, row in ROWS.items() for id in row.ids if name not in shown} == {
        *((lie.scene, lie.id) for lie in LIES), *((row[0], row[1]) for row in WEB_LIES)}
