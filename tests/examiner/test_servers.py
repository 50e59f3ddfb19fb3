"""The examiner against servers: ours keeps everything, and each scene notices a server that lies."""
import json
from dataclasses import replace
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Set

import pytest

from mcp_ref import Server
from mcp_ref.devtools.examiner.examination import BROKEN, KEPT, WARNED, Chapter, Examination
from mcp_ref.devtools.examiner.report import ExaminationReport
from mcp_ref.devtools.examiner.scenes import KEPT as KEEPS, Broken, CannotTell, load, refused as must_be_refused
from mcp_ref.devtools.examiner.wire import Pipe, Reaction, Web
from mcp_ref.revisions import REVISIONS, revision
from mcp_ref.transports.memory import InProcess
from tests.support.patience import WAIT, patience

QUICK = 0.3
"""The seconds for which an answer that does not come is waited for, on an idle machine."""
HANDSHAKE, LAST = "2025-11-25", "2026-07-28"
Message = Dict[str, Any]
Edit = Callable[[Message, Message], Any]


def make_server() -> Server:
    server = Server("examined", "1", features=["logging"])

    @server.tool(read_only=True)
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    def wipe() -> str:
        raise RuntimeError("this tool must not be called")

    @server.resource("config://app")
    def config() -> str:
        return "x = 1"

    @server.resource("file:///srv/a.txt")
    def file() -> str:
        return "a"

    @server.prompt
    def review(code: str) -> str:
        return "Review " + code

    @server.prompt
    def hello() -> str:
        return "Hello"

    @server.completion("review", "code")
    def codes(value: str) -> List[str]:
        return ["one"]

    return server


@pytest.fixture(scope="module")
def server() -> Server:
    return make_server()


class Lying(InProcess):
    """The examiner's end of a connection on which the server's responses are edited."""

    def __init__(self, serve: Any, edit: Edit, hears: Callable[[Message], bool]) -> None:
        super().__init__(serve)
        self.edit, self.hears = edit, hears
        self.requests: Dict[str, Message] = {}

    def write(self, messages: Any) -> None:
        for data in messages:
            value = parsed(data)
            if value is not None and not self.hears(value):
                self.close()
                return
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, dict):
                    self.requests[json.dumps(each.get("id"))] = each
            super().write([data])

    def read(self) -> Any:
        items = super().read()
        if items is None:
            return None
        found = []
        for item in items:
            value = parsed(item)
            if isinstance(value, dict) and ("result" in value or "error" in value):
                value = self.edit(self.requests.get(json.dumps(value.get("id")), {}), value)
                found += [] if value is None else [json.dumps(value).encode()]
            else:
                found.append(item)
        return found or []


def parsed(data: Any) -> Any:
    try:
        return json.loads(data)
    except (ValueError, TypeError):
        return None


def same(request: Message, response: Message) -> Message:
    return response


def examined(server: Server, name: str, only: Any = (), edit: Edit = same, hears: Any = lambda message: True,
             seconds: float = WAIT) -> Chapter:
    def make(trace: Any) -> Pipe:
        return Pipe(Lying(server.connect, edit, hears), trace)

    return Examination(make, [revision(name)], only=only, patience=seconds).run()[0]


# --- Servers that keep everything ----------------------------------------------------------------------------------

NOT_PLAYED = {"complete-undeclared", "end-of-input"}
"""Scenes that cannot be played with this server in memory or over HTTP."""
FIRST = {"complete", "call-tools", "tool-arguments"}
"""Scenes that cannot be played in 2024-11-05, which has neither hints of tools nor a capability of completion."""


OTHER_MODULES = {"authorization", "calls", "extensions", "resumption", "streams", "tasks"}
"""The pages of scenes that have a test module of their own, with the servers and the lies that they need."""
ROWS = {name: row for name, row in load().items()
        if row.play.__module__.rpartition(".")[2] not in OTHER_MODULES and row.wires != ("sse",)}


def expect_kept(chapter: Chapter) -> None:
    assert not chapter.refused and chapter.faults == []
    skipped = {name: why for name, why in chapter.scenes.items() if why and name in ROWS}
    assert set(skipped) <= NOT_PLAYED | (FIRST if chapter.revision.name == "2024-11-05" else set()), skipped
    played = {name for name, row in load().items() if row.plays_in(chapter.revision, chapter.wire)}
    assert set(chapter.scenes) == played
    counts = ExaminationReport([chapter]).counts(chapter.revision.name)
    assert counts[KEPT] > 35 and counts[BROKEN] == counts[WARNED] == 0


@pytest.mark.parametrize("name", [each.name for each in REVISIONS])
def test_our_server_keeps_everything_on_a_pipe(server: Server, name: str) -> None:
    expect_kept(examined(server, name))


@pytest.mark.parametrize("name", [each.name for each in REVISIONS[1:]])
def test_our_server_keeps_everything_over_http(server: Server, name: str) -> None:
    with server.listen("http://127.0.0.1:0") as listener:
        chapters = Examination(lambda trace: Web(listener.address, trace), [revision(name)], patience=WAIT).run()
        expect_kept(chapters[0])


def test_tools_that_do_not_say_that_they_only_read_are_not_called(server: Server) -> None:
    called: List[str] = []

    def hears(message: Any) -> bool:
        if isinstance(message, dict) and message.get("method") == "tools/call":
            called.append((message.get("params") or {}).get("name"))
        return True

    examined(server, LAST, hears=hears)
    assert "add" in called and "wipe" not in called
    del called[:]
    Examination(lambda trace: Pipe(Lying(server.connect, same, hears), trace), [revision(LAST)], ["wipe"],
                ["call-tools"], WAIT).run()
    assert "wipe" in called


# --- Servers that lie ----------------------------------------------------------------------------------------------

class Lie(NamedTuple):
    """A way in which a server is wrong, the scene that shows it, and the requirement that is named."""

    scene: str
    id: str
    edit: Edit = same
    revision: str = LAST
    hears: Callable[[Any], bool] = lambda message: True
    quick: bool = False  # an answer is missing: do not wait for it long


def params(message: Any) -> Message:
    found = message.get("params") if isinstance(message, dict) else None
    return found if isinstance(found, dict) else {}


def code(wrong: int, right: Optional[int] = None) -> Edit:
    """Errors get another code."""
    def edit(request: Message, response: Message) -> Message:
        if "error" in response and right in (None, response["error"]["code"]):
            response["error"]["code"] = wrong
        return response
    return edit


def result(method: str, value: Message, when: Callable[[Message], Any] = lambda given: True) -> Edit:
    """A method succeeds where it must not."""
    def edit(request: Message, response: Message) -> Message:
        if request.get("method") == method and when(params(request)) and "error" in response:
            return {"jsonrpc": "2.0", "id": response["id"], "result": {"resultType": "complete", **value}}
        return response
    return edit


def fails(method: str, when: Callable[[Message], Any] = lambda given: True) -> Edit:
    """A method fails where it must not."""
    def edit(request: Message, response: Message) -> Message:
        if request.get("method") == method and when(params(request)):
            return {"jsonrpc": "2.0", "id": response["id"], "error": {"code": -32000, "message": "broken"}}
        return response
    return edit


def drops(when: Callable[[Message], Any]) -> Edit:
    return lambda request, response: None if when(request) else response


def without(when: Callable[[Any], Any]) -> Callable[[Any], bool]:
    """The server dies when it hears something."""
    return lambda message: not when(message)


def strings_for_numbers(request: Message, response: Message) -> Message:
    return {**response, "id": "1"} if response.get("id") == -7 else response


def offers(version: str) -> Edit:
    def edit(request: Message, response: Message) -> Message:
        if request.get("method") == "initialize" and params(request)["protocolVersion"] not in (HANDSHAKE,):
            response["result"]["protocolVersion"] = version
        return response
    return edit


def takes_bad_arguments(request: Message, response: Message) -> Message:
    if request.get("method") == "tools/call" and response.get("result", {}).get("isError"):
        response["result"].update(isError=False, content=TEXT["content"])
    return response


def says_it_in_words(request: Message, response: Message) -> Message:
    if request.get("method") == "tools/call" and response.get("result", {}).get("isError"):
        response["result"]["isError"] = False
    return response


class Reversing:
    """Lists are another way round from the second connection on."""

    def __init__(self) -> None:
        self.connections = 0

    def __call__(self, request: Message, response: Message) -> Message:
        listed = response.get("result", {}).get("resources")
        self.connections += request.get("method") == "resources/list"
        if listed and self.connections > 2:
            listed.reverse()
        return response


class AfterFirst:
    """Nothing is found out a second time on a new connection."""

    def __init__(self) -> None:
        self.connections = 0

    def __call__(self, request: Message, response: Message) -> Message:
        self.connections += response.get("id") == 1
        return response if self.connections < 2 else fails("server/discover")(request, response)


ONE = {"contents": [{"uri": "config://app", "text": "x"}]}
TEXT = {"content": [{"type": "text", "text": "done"}]}
LIES = (
    Lie("unreadable", "jsonrpc.follow-spec", code(-32050, -32700), HANDSHAKE),
    Lie("unreadable", "jsonrpc.follow-spec", revision=HANDSHAKE, hears=without(lambda message: message == 7)),
    Lie("other-jsonrpc", "jsonrpc.follow-spec", lambda request, response: response if request.get("jsonrpc") != "1.0"
        else {"jsonrpc": "2.0", "id": request["id"], "result": {}}, HANDSHAKE),
    Lie("unknown-method", "version.base-required", code(-32602, -32601)),
    Lie("unknown-method", "lifecycle.base-required", code(-32602, -32601), HANDSHAKE),
    Lie("unknown-notification", "version.base-required", hears=without(
        lambda message: isinstance(message, dict) and message.get("method") == "notifications/examiner/unknown")),
    Lie("ids", "jsonrpc.response-same-id", strings_for_numbers, quick=True),
    Lie("response-to-nothing", "lifecycle.base-required", revision=HANDSHAKE,
        hears=without(lambda message: isinstance(message, dict) and message.get("id") == "nobody-asked")),
    Lie("batch", "batch.receive", revision="2025-03-26", hears=without(lambda message: isinstance(message, list))),
    Lie("batch-refused", "lifecycle.respect-version", lambda request, response: response if response.get("id")
        is not None else [{"jsonrpc": "2.0", "id": 2, "result": {}}], HANDSHAKE),
    Lie("batch-refused", "lifecycle.base-required", revision=HANDSHAKE, hears=without(
        lambda message: isinstance(message, list))),
    Lie("cancel-nothing", "cancel.ignore-unknown", hears=without(
        lambda message: params(message).get("requestId") == "examiner-never-used")),
    Lie("cancel-nothing", "cancel.ignore-malformed", hears=without(
        lambda message: params(message).get("requestId") == {})),
    Lie("cancel-nothing", "cancel.ignore-completed", hears=without(
        lambda message: params(message).get("reason") == "too late")),
    Lie("other-version", "version.server-other", offers("2030-01-01"), HANDSHAKE),
    Lie("other-version", "version.server-other", fails("initialize", lambda given: given["protocolVersion"]
                                                       == "1999-01-01"), HANDSHAKE),
    Lie("other-version", "version.server-latest", offers("2024-11-05"), HANDSHAKE),
    Lie("ping-first", "ping.respond", fails("ping"), HANDSHAKE),
    Lie("lists", "tools.list-responds", fails("tools/list")),
    Lie("lists", "prompts.list-responds", fails("prompts/list")),
    Lie("other-connection", "resources.list-not-per-connection", Reversing()),
    Lie("bad-cursor", "pagination.invalid-cursor-32602", code(-32603, -32602)),
    Lie("bad-cursor", "pagination.invalid-cursor-graceful", hears=without(
        lambda message: params(message).get("cursor") == "examiner-no-cursor")),
    Lie("unknown-tool", "tools.validate-inputs", result("tools/call", TEXT)),
    Lie("tool-arguments", "tools.validate-inputs", takes_bad_arguments),
    Lie("tool-arguments", "tools.errors-in-result", says_it_in_words),
    Lie("tool-without-name", "tools.validate-inputs", result("tools/call", TEXT)),
    Lie("unknown-resource", "resources.not-found-32602", code(-32002, -32602)),
    Lie("unknown-resource", "resources.not-found-32002", code(-32602, -32002), HANDSHAKE),
    Lie("unknown-resource", "resources.not-found-not-empty", result("resources/read", {"contents": []})),
    Lie("bad-uris", "resources.validate-uris", result("resources/read", ONE, lambda given: given.get("uri") == "::")),
    Lie("path-traversal", "resources.path-traversal", result(
        "resources/read", ONE, lambda given: "passwd" in given["uri"])),
    Lie("subscribe", "lifecycle.base-required", fails("resources/subscribe"), HANDSHAKE),
    Lie("unknown-prompt", "prompts.invalid-name", code(-32603, -32602)),
    Lie("prompt-arguments", "prompts.missing-arguments", code(-32603, -32602)),
    Lie("prompt-arguments", "prompts.validate-arguments", result("prompts/get", {"messages": []})),
    Lie("complete", "completion.invalid-prompt", code(-32603, -32602)),
    Lie("complete", "completion.missing-arguments", code(-32603, -32602)),
    Lie("complete", "completion.validate-inputs", result("completion/complete", {"completion": {"values": []}})),
    Lie("log-levels", "logging.invalid-level", code(-32603, -32602), HANDSHAKE),
    Lie("log-levels", "logging.validate-fields", result("logging/setLevel", {}), HANDSHAKE),
    Lie("discover", "discover.server-must", AfterFirst()),
    Lie("first-request", "stateless.no-prior-requests", lambda request, response: response if request.get("id") != 1
        or request.get("method") == "server/discover" else {
            "jsonrpc": "2.0", "id": 1, "error": {"code": -32600, "message": "discover first"}}),
    Lie("unknown-version", "version.unsupported-error", code(-32600, -32022)),
    Lie("unknown-version", "version.unsupported-error", lambda request, response: response if "data" not in (
        response.get("error", {})) else {**response, "error": {**response["error"], "data": {"supported": []}}}),
    Lie("missing-meta", "meta.missing-required-rejected", result("server/discover", {})),
    Lie("odd-meta", "meta.reserved-no-assumptions", fails(
        "server/discover", lambda given: "example.com/unknown" in given["_meta"])),
    Lie("log-level-meta", "logging.invalid-level-meta", code(-32603, -32602)),
    Lie("removed-methods", "version.base-required", result("ping", {})),
    Lie("undeclared-capability", "meta.undeclared-capabilities", lambda request, response: response if request.get(
        "method") != "tools/call" else {"jsonrpc": "2.0", "id": request["id"], "result": {
            "resultType": "input_required", "inputRequests": {"a": {"method": "roots/list"}}}}),
    Lie("many-at-once", "transport.deliver", drops(lambda request: request.get("id") == 30), quick=True),
    Lie("large", "transport.deliver", hears=without(lambda message: len(str(message)) > 100_000)),
)
UNSHOWN = {"undeclared", "listen", "line-ends", "end-of-input", "batch-of-notifications"}
"""Scenes whose faults need a server of another kind; the others have a lie each."""
WEB_SCENES = {name for name, row in ROWS.items() if row.wires == ("web",)}


def named(chapter: Chapter) -> Set[str]:
    """Return the requirements that faults name, those that say the same as another one, too."""
    rows = {row.requirement.id for row in chapter.rows() if row.state in (BROKEN, WARNED)}
    return rows.union(id for fault in chapter.faults for id in (fault.id, *fault.also))


@pytest.mark.parametrize("lie", [each for each in LIES if each.scene not in UNSHOWN],
                         ids=lambda lie: "%s-%s" % (lie.scene, lie.id))
def test_a_lie_is_named(server: Server, lie: Lie) -> None:
    chapter = examined(server, lie.revision, [lie.scene], lie.edit, lie.hears,
                       patience(QUICK) if lie.quick else WAIT)
    assert lie.id in named(chapter), (chapter.scenes, chapter.faults)


def answered(request: Message, response: Message) -> Message:
    return response if "error" not in response else {
        "jsonrpc": "2.0", "id": response.get("id"), "result": {"resultType": "complete"}}


@pytest.mark.parametrize("name, expected", [
    ("2024-11-05", {"lifecycle.base-required", "prompts.invalid-name", "prompts.missing-arguments",
                    "tools.validate-inputs", "logging.validate-fields", "pagination.invalid-cursor-32602"}),
    (HANDSHAKE, {"lifecycle.base-required", "prompts.invalid-name", "prompts.missing-arguments",
                 "tools.validate-inputs", "logging.validate-fields", "pagination.invalid-cursor-32602",
                 "completion.validate-inputs"}),
    (LAST, {"version.base-required", "prompts.invalid-name", "prompts.missing-arguments", "tools.validate-inputs",
            "pagination.invalid-cursor-32602", "completion.validate-inputs", "resources.not-found-not-empty"}),
])
def test_a_server_that_answers_what_it_has_to_refuse(server: Server, name: str, expected: Set[str]) -> None:
    def edit(request: Message, response: Message) -> Message:
        return response if request.get("method") == "server/discover" else answered(request, response)

    chapter = examined(server, name, edit=edit, seconds=WAIT)
    assert not chapter.refused and expected <= named(chapter), (expected - named(chapter), chapter.faults)
    told, = [fault.evidence for fault in chapter.faults if fault.id == "prompts.invalid-name"]
    assert told.endswith("in the place of -32602") and "result {" in told


@pytest.mark.parametrize("answer, codes, verdict", [
    (Reaction({"error": {"code": -32602, "message": ""}}), (-32602,), KEEPS),
    (Reaction({"error": {"code": -32602, "message": ""}}), (-32601, -32602), KEEPS),
    (Reaction({"error": {"code": 5, "message": ""}}), (), KEEPS),
    (Reaction({"error": {"code": -32603, "message": ""}}), (-32602,), Broken),
    (Reaction({"error": {"code": True, "message": ""}}), (1,), Broken), (Reaction({"error": 7}), (), Broken),
    (Reaction({"result": {}}), (-32602,), Broken), (Reaction({"result": {}}), (), Broken),
    (Reaction({"result": {}}, status=200), (), Broken), (Reaction(status=400), (), Broken),
    (Reaction(), (), CannotTell), (Reaction(why="the process has ended"), (-32602,), CannotTell),
])
def test_what_has_to_be_refused_and_what_came_of_it(answer: Reaction, codes: Any, verdict: Any) -> None:
    said: Any = must_be_refused(answer, *codes)
    assert said is verdict if verdict is KEEPS else isinstance(said, verdict)
    if verdict is not KEEPS:
        wanted = "in the place of " + (" or ".join(map(str, codes)) or "an error")
        assert wanted in (str(said))


def test_every_scene_that_decides_has_a_lie() -> None:
    decides = {name for name, row in ROWS.items() if row.ids} - WEB_SCENES
    assert decides - {each.scene for each in LIES} - UNSHOWN == {"complete-undeclared", "initialize-without-params"}


def test_a_revision_that_is_not_spoken_has_no_faults(server: Server) -> None:
    def edit(request: Message, response: Message) -> Message:
        return {"jsonrpc": "2.0", "id": "another", "error": {"code": -32601, "message": "not found"}} if (
            request.get("method") == "server/discover") else response

    chapter = examined(server, LAST, edit=edit, seconds=patience(QUICK))
    assert chapter.refused and not chapter.faults


# --- Servers that lie over HTTP ------------------------------------------------------------------------------------

class Request(NamedTuple):
    """What the examiner has sent over HTTP."""

    method: str
    fields: Dict[str, str]
    message: Any


class LyingWeb(Web):
    """HTTP to a server whose answers are edited."""

    def __init__(self, url: str, trace: Any, edit: Callable[[Request, Reaction], Reaction]) -> None:
        super().__init__(url, trace)
        self.edit = edit

    def send(self, method: str, fields: Any, body: Any, *more: Any, **named: Any) -> Reaction:
        answer = super().send(method, fields, body, *more, **named)
        lower = {name.lower(): value for name, value in fields}
        asked = Request(method, {**lower, "host": named.get("host") or ""}, parsed(body))
        return self.edit(asked, answer)


def reached(when: Callable[[Request], Any], status: int = 200) -> Callable[[Request, Reaction], Reaction]:
    """A request gets a status, and with 200 a result, where it must not."""
    def edit(asked: Request, answer: Reaction) -> Reaction:
        if not when(asked):
            return answer
        message = {"jsonrpc": "2.0", "id": 1, "result": {}} if status == 200 else None
        return replace(answer, status=status, message=message, why="" if message else "an empty body")
    return edit


def lacks(name: str) -> Callable[[Request], bool]:
    """A POST after the opening has not this header field."""
    return lambda asked: asked.method == "POST" and name not in asked.fields and (
        asked.message or {}).get("method") not in ("initialize", "notifications/initialized")


def same_ids(asked: Request, answer: Reaction) -> Reaction:
    fields = [(name, "session" if name.lower() == "mcp-session-id" else value) for name, value in answer.fields]
    return replace(answer, fields=fields)


WEB_LIES = (
    ("foreign-origin", "http.origin-validate", LAST, reached(lambda asked: "origin" in asked.fields)),
    ("foreign-origin", "http.origin-403", LAST, reached(lambda asked: "origin" in asked.fields, 400)),
    ("foreign-host", "http.origin-validate", LAST, reached(lambda asked: asked.fields["host"])),
    ("get-stream", "http.get-sse-or-405", HANDSHAKE, reached(lambda asked: asked.method == "GET", 404)),
    ("get-stream", "http.endpoint-post-get", HANDSHAKE, reached(lambda asked: asked.method == "GET", 404)),
    ("bad-notification", "http.notification-rejected", LAST, reached(
        lambda asked: asked.fields.get("mcp-protocol-version") == "1999-01-01", 202)),
    ("session-ids", "http.session-id-unique", HANDSHAKE, same_ids),
    ("no-session", "http.session-missing-400", HANDSHAKE, reached(lacks("mcp-session-id"), 404)),
    ("dead-session", "http.session-404", HANDSHAKE, reached(
        lambda asked: (asked.message or {}).get("method") == "ping", 400)),
    ("version-header", "http.header-version-invalid-400", HANDSHAKE, reached(
        lambda asked: asked.fields.get("mcp-protocol-version") == "tomorrow")),
    ("no-version-header", "http.header-version-absent-assume", HANDSHAKE, reached(lacks("mcp-protocol-version"), 400)),
    ("header-mismatch", "http.header-version-mismatch-rejected", LAST, reached(
        lambda asked: asked.fields.get("mcp-protocol-version") == HANDSHAKE)),
    ("header-mismatch", "http.header-mismatch-rejected", LAST, reached(
        lambda asked: asked.fields.get("mcp-method") == "tools/list")),
    ("header-mismatch", "http.header-mismatch-error", LAST, reached(
        lambda asked: asked.fields.get("mcp-method") == "tools/list", 400)),
    ("name-header", "http.header-mismatch-rejected", LAST, reached(
        lambda asked: asked.fields.get("mcp-name") == "examiner-another-name")),
    ("name-header", "http.param-server-decodes", LAST, reached(
        lambda asked: asked.fields.get("mcp-name", "").startswith("=?base64"), 400)),
    ("header-case", "http.header-case-insensitive", LAST, reached(
        lambda asked: asked.fields.get("mcp-method") == "server/discover" and "id" in asked.message
        and asked.message["id"] > 1, 400)),
    ("no-version", "http.header-version-absent-reject", LAST, reached(lacks("mcp-protocol-version"), 404)),
    ("old-fields", "http.session-ignored-modern", LAST, reached(lambda asked: "mcp-session-id" in asked.fields, 404)),
    ("old-fields", "http.resume-ignored-modern", LAST, reached(lambda asked: "last-event-id" in asked.fields, 400)),
)


@pytest.fixture
def address(server: Server) -> Any:
    with server.listen("http://127.0.0.1:0") as listener:
        yield listener.address


@pytest.mark.parametrize("scene, id, name, edit", WEB_LIES, ids=["%s-%s" % row[:2] for row in WEB_LIES])
def test_a_lie_over_http_is_named(address: str, scene: str, id: str, name: str, edit: Any) -> None:
    chapter = Examination(lambda trace: LyingWeb(address, trace, edit), [revision(name)], only=[scene],
                          patience=WAIT).run()[0]
    assert id in named(chapter), (chapter.refused, chapter.scenes, chapter.faults)


def test_every_scene_over_http_that_decides_has_a_lie() -> None:
    assert {name for name in WEB_SCENES if ROWS[name].ids} == {row[0] for row in WEB_LIES}
