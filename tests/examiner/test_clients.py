"""The examiner against clients: ours keeps everything, and each scene notices a client that lies."""
import csv
import http.client
import json
import pathlib
import subprocess
import sys
import threading
import time
from shlex import quote
from urllib.parse import urlsplit
from typing import Any, Callable, Dict, List, NamedTuple, Set, Type

import pytest

from mcp_ref.requirements import requirements
from mcp_ref.devtools.checker.rules import UNDECIDED, load as load_rules
from mcp_ref.devtools.examiner.clients import script as script_module, stage
from mcp_ref.devtools.examiner.clients.pages import opening, stateless
from mcp_ref.devtools.examiner.clients.script import ServerScript
from mcp_ref.devtools.examiner.clients.stage import ClientExamination
from mcp_ref.devtools.examiner.clients.starts import CommandStart, Started
from mcp_ref.devtools.examiner.examination import BROKEN, KEPT, UNSURE, WARNED, Chapter
from mcp_ref.devtools.examiner.report import ExaminationReport
from mcp_ref.devtools.examiner.scenes import PIPE, SSE, WEB, load
from mcp_ref.errors import McpError
from mcp_ref.revisions import REVISIONS, revision
from mcp_ref.streamable.http_trace import TracedExchange
from mcp_ref.wiretrace import CLIENT
from tests.examiner import everything_client
from tests.examiner.careless_clients import Augments, Blind, Careless
from tests.examiner.small_client import Child, Ended, SmallClient, Web
from tests.support.patience import WAIT, patience

BRIEF = 0.3
"""The seconds of silence, on an idle machine, after which a client is ended that waits for what does not come."""
HANDSHAKE, LAST = "2025-11-25", "2026-07-28"
PROCESS_WAY = "process"
"""The client starts the process that stands for a server."""


@pytest.fixture(autouse=True)
def settling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for the end of a client's connection, and of its server, however long that takes."""
    monkeypatch.setattr(stage, "_SETTLE", WAIT)


class Threaded(Started):
    """A client on a thread of the tests."""

    def __init__(self, act: Callable[[], Any], end: Callable[[], Any] = lambda: None) -> None:
        self.act, self.end = act, end
        self.failed: List[BaseException] = []
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        try:
            self.act()
        except (McpError, Ended, OSError) as error:
            self.words = str(error)
        except BaseException as error:  # a bug of the test
            self.words = repr(error)
            self.failed.append(error)

    def wait(self, seconds: float) -> bool:
        self.thread.join(seconds)
        return not self.thread.is_alive()

    def stop(self) -> None:
        self.end()
        assert not self.failed, self.failed


def examined(start: Any, name: str, way: str = "stdio", only: Any = (), seconds: float = WAIT) -> Chapter:
    direct = way != PROCESS_WAY
    return ClientExamination(start, [revision(name)], way if direct else "stdio", only, seconds,
                             direct=direct).run()[0]


# --- Clients that keep everything ----------------------------------------------------------------------------------

@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the pauses in which a client must not act: one that does so acts at once."""
    monkeypatch.setattr(opening, "_LATE", 0.2)
    monkeypatch.setattr(stateless, "_LONG", 0.3)


def brief_in(scenes: Set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for as long as it takes for whatever comes, but in these scenes only until the client is silent."""
    run = stage.ClientStage.run

    def hasty(played: stage.ClientStage, *args: Any) -> stage.ClientRun:
        played.patience = patience(BRIEF) if played.scene in scenes else WAIT
        return run(played, *args)

    monkeypatch.setattr(stage.ClientStage, "run", hasty)


def ours(server: str, env: Dict[str, str]) -> Started:
    return Threaded(lambda: everything_client.run(server, env))


@pytest.mark.parametrize("way", ["stdio", "http"])
@pytest.mark.parametrize("name", [each.name for each in REVISIONS])
def test_our_client_keeps_everything(name: str, way: str, brief: None) -> None:
    chapter = examined(ours, name, way)
    assert not chapter.refused and chapter.faults == []
    unplayed = {scene for scene, why in chapter.scenes.items() if why}
    played = {scene for scene, row in load(CLIENT).items() if row.plays_in(chapter.revision, chapter.wire)}
    expected = PROCESS & played if chapter.wire == PIPE else set()
    assert unplayed == expected | ({"undeclared-mode"} if name == HANDSHAKE else set())
    assert set(chapter.scenes) == played
    counts = ExaminationReport([chapter]).counts(name)
    assert counts[KEPT] > 25 and counts[BROKEN] == counts[WARNED] == 0


def test_an_answer_finds_the_stream_that_has_just_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client of HTTP+SSE may send its first request before the thread that announced the endpoint has gone on."""
    answered, begins, says = threading.Event(), TracedExchange.send, ServerScript.say

    def begin(exchange: TracedExchange, data: bytes) -> bool:
        if not data.startswith(b"event: endpoint"):
            return begins(exchange, data)
        answered.clear()
        sent = begins(exchange, data)
        assert answered.wait(WAIT)
        return sent

    def say(script: ServerScript, value: Any) -> bool:
        sent = says(script, value)
        answered.set()
        return sent

    monkeypatch.setattr(TracedExchange, "send", begin)
    monkeypatch.setattr(ServerScript, "say", say)
    chapter = examined(ours, "2024-11-05", "http", ["unknown-notification"])
    assert not chapter.refused and chapter.faults == [] and chapter.scenes == {"unknown-notification": ""}


def test_our_client_refuses_a_mode_that_it_has_not_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(everything_client.OFFERS, "elicitation", everything_client.fill)
    chapter = examined(ours, HANDSHAKE, only=["undeclared-mode"])
    assert chapter.scenes == {"undeclared-mode": ""} and chapter.faults == []


@pytest.mark.parametrize("name, scenes", [
    (HANDSHAKE, {"shutdown", "stays", "deaf"}), (LAST, {"shutdown", "stays", "deaf"}),
    (LAST, {"exits", "mute", "killed"}), (LAST, {"stderr", "noise", "much-stderr"})],
    ids=lambda value: value if isinstance(value, str) else min(value))
def test_our_client_bears_what_its_server_does_and_ends_it_in_every_way(
        name: str, scenes: Set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    if "exits" in scenes:  # before the connection is made whose end is waited for
        monkeypatch.setattr(stage, "_SETTLE", SOON["_SETTLE"])
    command = " ".join(map(quote, (sys.executable, everything_client.__file__)))
    chapter = ClientExamination(CommandStart(command), [revision(name)], "stdio", scenes, WAIT).run()[0]
    assert not chapter.refused and chapter.faults == [] and set(chapter.scenes.values()) == {""}
    said = {row.requirement.id: row.state for row in chapter.rows() if row.requirement.id.startswith("stdio.shutdown")}
    assert "deaf" not in scenes or set(said.values()) == {KEPT}, said


@pytest.mark.parametrize("way", ["stdio", "http"])
@pytest.mark.parametrize("name", ["2025-03-26", HANDSHAKE, LAST])
def test_the_small_client_keeps_everything(
        name: str, way: str, brief: None, monkeypatch: pytest.MonkeyPatch) -> None:
    brief_in({"give-up"}, monkeypatch)  # it waits for the answer for ever
    chapter = examined(small(SmallClient), name, way)
    assert not chapter.refused and [each for each in chapter.faults if each.id not in LACKS] == []


def test_the_small_client_ends_its_server_in_every_way() -> None:
    chapter = examined(small(SmallClient), HANDSHAKE, PROCESS_WAY, ENDS)
    assert chapter.scenes == dict.fromkeys(ENDS, "") and chapter.faults == []


ENDS = ("stderr", "shutdown", "stays", "deaf")
PROCESS = {"shutdown", "stays", "deaf", "exits", "mute", "killed", "stderr", "noise", "much-stderr"}
"""Scenes for which the client has to start a process."""
LACKS = {"version.client-sends-latest", "http.session-reinitialize", "http.param-client-support", "http.param-mirror",
         "http.param-reject-tool", "http.param-exclude-tool", "http.param-append", "http.param-extract",
         "tasks.tool-required", "http.resume-client-poll"}
"""What the small client does not do."""


def test_a_client_is_silent_only_since_it_has_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    late, looked = [0.0], threading.Event()

    class StartsLate(SmallClient):
        def __init__(self, address: str, env: Dict[str, str]) -> None:
            late[0] += 2 * WAIT
            super().__init__(address, env)

        def begin(self) -> None:
            assert looked.wait(WAIT)
            super().begin()

    scripts: List[ServerScript] = []
    measured: Any = ServerScript.silence

    def silence(script: ServerScript) -> float:
        scripts.append(script)
        found: float = measured.fget(script)
        looked.set()
        return found

    for module in (stage, script_module):
        monkeypatch.setattr(module, "clock", lambda: time.monotonic() + late[0])
    monkeypatch.setattr(ServerScript, "silence", property(silence))
    monkeypatch.setattr(Started, "first_seconds", 10 * WAIT)
    chapter = examined(small(StartsLate), HANDSHAKE, PROCESS_WAY, ["ordinary"])
    assert not chapter.refused and chapter.scenes == {"ordinary": ""}
    assert scripts and not any(each.stopped for each in scripts)


def test_no_time_of_a_peer_passes_while_rules_are_loaded() -> None:
    program = """if True:
        import sys
        from mcp_ref.devtools.examiner.examination import Examination
        from mcp_ref.devtools.examiner.clients.stage import ClientExamination
        from mcp_ref.errors import ConnectFailed

        def start(*given):
            print("mcp_ref.devtools.checker.pages.server.tools" in sys.modules)
            raise ConnectFailed("it was only to be seen when")

        try:
            %s.run()
        except ConnectFailed:
            pass
        """
    for made in ("Examination(start)", "ClientExamination(start)"):
        ended = subprocess.run([sys.executable, "-c", program % made], stdout=subprocess.PIPE, check=True)
        assert ended.stdout.split()[0] == b"True", made


# --- Clients that lie ----------------------------------------------------------------------------------------------

def small(kind: Type[SmallClient]) -> Callable[[str, Dict[str, str]], Started]:
    def start(server: str, env: Dict[str, str]) -> Started:
        made: List[SmallClient] = []

        def act() -> None:
            made.append(kind(server, env))
            made[0].run()

        return Threaded(act, lambda: [each.wire.stop() for each in made])
    return start


class GoesOnAnyway(SmallClient):
    def agree(self, version: str) -> None:
        self.version = version


class SaysInitialized(SmallClient):
    def begin(self) -> None:
        try:
            super().begin()
        except Ended:
            list(self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            raise


class AsksUndeclared(SmallClient):
    def begin(self) -> None:
        super().begin()
        self.opened["result"]["capabilities"]["tools"] = {}


class GivesUpVersion(SmallClient):
    def request(self, method: str, params: Any = None) -> Any:
        answer = super().request(method, params)
        if answer.get("error", {}).get("code") == -32022:
            raise Ended("refused")
        return answer


class Dies(SmallClient):
    """Ends when something comes that it did not expect."""

    on: Callable[[Any], Any] = staticmethod(lambda message: True)

    def other(self, message: Any) -> None:
        if self.on(message):
            raise Ended("unexpected: %r" % (message,))
        super().other(message)


def dies(on: Callable[[Any], Any]) -> Type[SmallClient]:
    return type("DiesOn", (Dies,), {"on": staticmethod(on)})


def is_method(name: str) -> Callable[[Any], Any]:
    return lambda message: isinstance(message, dict) and message.get("method") == name


class OddPong(SmallClient):
    def ping(self, params: Any) -> Any:
        return {"pong": True}


class KnowsEverything(SmallClient):
    def answer(self, asked: Any) -> Any:
        made = super().answer(asked)
        return {"jsonrpc": "2.0", "id": asked["id"], "result": {}} if "error" in made else made


class Undeclared(KnowsEverything):
    capabilities: Dict[str, Any] = {}


class HalfBatch(SmallClient):
    def post(self, message: Any) -> Any:
        return super().post(message[:1] if isinstance(message, list) else message)


class TwoPages(SmallClient):
    def goes_on(self, result: Any) -> bool:
        return super().goes_on(result) and len(result["tools"]) > 2


class NoEmptyCursor(SmallClient):
    def goes_on(self, result: Any) -> bool:
        return bool(result.get("nextCursor"))


class AsksNoMode(SmallClient):
    """Refuses forms, and lets the model use tools that it has not declared."""

    capabilities = {"elicitation": {"form": {}, "url": {}}, "sampling": {}}

    def elicitation_create(self, params: Any) -> Any:
        return -32602

    def sampling_createMessage(self, params: Any) -> Any:
        return {"role": "assistant", "content": {"type": "text", "text": "Yes."}, "model": "m"}


class Fetches(SmallClient):
    capabilities = {"elicitation": {"form": {}, "url": {}}}

    def elicitation_create(self, params: Any) -> Any:
        fetch(params["url"])
        return {"action": "decline"}

    def pages(self) -> Any:
        found = super().pages()
        for tool in found:
            for each in tool["inputSchema"].get("properties", {}).values():
                if "$ref" in each:
                    fetch(each["$ref"])
            for icon in tool.get("icons", ()):
                fetch(icon["src"])
        return found


def fetch(url: str, headers: Dict[str, str] = {}) -> None:
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=WAIT)
    connection.request("GET", where.path, headers=headers)
    connection.getresponse().read()
    connection.close()


class AssumesMeta(SmallClient):
    def goes_on(self, result: Any) -> bool:
        if any("examiner" in name for name in result.get("_meta", {})):
            raise Ended("a name that is not known")
        return super().goes_on(result)


class TakesModes(SmallClient):
    def elicitation_create(self, params: Any) -> Any:
        return {"action": "accept"}


class WebRoots(SmallClient):
    def roots_list(self, params: Any) -> Any:
        return {"roots": [{"uri": "https://example.com/"}]}


class Rounds(SmallClient):
    """Goes on with results that want input."""

    def call(self, tool: Any) -> None:
        params = {"name": tool["name"], "arguments": self.arguments(tool)}
        result = self.request("tools/call", params).get("result", {})
        for _ in range(3):
            if result.get("resultType") != "input_required":
                return
            result = self.request("tools/call", {**params, **self.given(result)}).get("result", {})

    def arguments(self, tool: Any) -> Any:
        return {name: 1 for name in tool["inputSchema"].get("properties", {})}

    def given(self, result: Any) -> Any:
        made = {}
        if "inputRequests" in result:
            made["inputResponses"] = {name: self.input(each) for name, each in result["inputRequests"].items()}
        if "requestState" in result:
            made["requestState"] = self.state(result["requestState"])
        return made

    def input(self, asked: Any) -> Any:
        if asked["method"] == "elicitation/create":
            return {"action": "decline"}
        return {"role": "assistant", "content": {"type": "text", "text": "Yes."}, "model": "m"}

    def state(self, given: str) -> Any:
        return given


class ChangesState(Rounds):
    def state(self, given: str) -> Any:
        return json.dumps(given)


class RepeatsState(Rounds):
    kept: Dict[str, Any] = {}

    def given(self, result: Any) -> Any:
        self.kept = super().given(result)
        return self.kept

    def request(self, method: str, params: Any = None) -> Any:
        return super().request(method, {**self.kept, **(params or {})} if method == "tools/call" else params)


class GivesUndeclared(Rounds):
    capabilities: Dict[str, Any] = {}


class StripsState(Rounds):
    def state(self, given: str) -> Any:
        return given.strip()


class SkipsUnknown(Rounds):
    def given(self, result: Any) -> Any:
        made = super().given(result)
        known = {name for name, each in result.get("inputRequests", {}).items() if "examiner" not in each["method"]}
        return {**made, "inputResponses": {name: each for name, each in made.get("inputResponses", {}).items()
                                           if name in known}}


class FetchesInput(Rounds):
    capabilities = {"elicitation": {"url": {}}}

    def input(self, asked: Any) -> Any:
        fetch(asked["params"]["url"])
        return {"action": "decline"}


class TakesAnyVersion(SmallClient):
    """Takes the first version that an error names."""

    def request(self, method: str, params: Any = None) -> Any:
        answer = super().request(method, params)
        if answer.get("error", {}).get("code") == -32022:
            self.named, self.revision = self.revision, answer["error"]["data"]["supported"][0]
            answer = super().request(method, params)
            self.revision = self.named
        return answer

    @property
    def modern(self) -> bool:
        return True


class WantsTtl(SmallClient):
    def goes_on(self, result: Any) -> bool:
        if result.get("ttlMs", -1) < 0:
            raise Ended("no ttlMs")
        return super().goes_on(result)


class Polls(SmallClient):
    """Fetches the list again and again, however fresh it is."""

    def call(self, tool: Any) -> None:
        calling = threading.Thread(target=super().call, args=(tool,))
        calling.start()
        while calling.is_alive():
            Polls(self.env["MCP_EXAMINER_SERVER"], self.env).pages()
            calling.join(0.02)


class Listens(SmallClient):
    """Listens to changes of tools, and ends when that is not to its liking."""

    def begin(self) -> None:
        super().begin()
        asked = {"jsonrpc": "2.0", "id": self.id(), "method": "subscriptions/listen", "params": {
            "_meta": self.meta(), "notifications": {"toolsListChanged": True}}}
        self.stream = self.post(asked)
        first = next(self.stream, None)
        if first is None or "error" in first or not first["params"]["notifications"]:
            raise Ended("no subscription")

    def other(self, message: Any) -> None:
        if "subscriptionId" in json.dumps(message):
            raise Ended("a change of another subscription")


class ReadsAnyType(SmallClient):
    def goes_on(self, result: Any) -> bool:
        return result.get("nextCursor") is not None


class WantsType(SmallClient):
    """Wants a type in each result, also in those of an earlier server."""

    def begin(self) -> None:
        try:
            super().begin()
        except Ended:
            self.revision = HANDSHAKE
            super().begin()

    def goes_on(self, result: Any) -> bool:
        return super().goes_on(result) and "resultType" in result


class WantsTypeOfModernServers(WantsType):
    def goes_on(self, result: Any) -> bool:
        return SmallClient.goes_on(self, result) and (not self.modern or "resultType" in result)


class FallsBack(SmallClient):
    """Takes one code alone for the answer of a server that needs a handshake."""

    def begin(self) -> None:
        if self.env["MCP_EXAMINER_SCENE"] != "legacy-server":
            super().begin()
        elif self.request("server/discover").get("error", {}).get("code") == -32601:
            self.request("initialize")
            raise Ended("well")
        else:
            raise Ended("no fallback")


class OnlyJson(SmallClient):
    def post(self, message: Any) -> Any:
        for each in super().post(message):
            if isinstance(self.wire, Web) and "event-stream" in (self.wire.headers.get("Content-Type") or ""):
                raise Ended("a stream")
            yield each


class WantsStream(SmallClient):
    def begin(self) -> None:
        super().begin()
        if not self.modern:
            connection, response = self.wire.send("GET", None, {"Accept": "text/event-stream", **self.headers})
            response.close()
            connection.close()
            if response.status != 200:
                raise Ended("no stream")


class Resumes(SmallClient):
    """Asks for the rest of a stream behind an event that there was not."""

    def call(self, tool: Any) -> None:
        try:
            super().call(tool)
        except Ended:
            connection, response = self.wire.send("GET", None, {
                "Accept": "text/event-stream", "Last-Event-ID": "none", **self.headers})
            response.close()
            connection.close()


class CaseSensitive(SmallClient):
    def post(self, message: Any) -> Any:
        for each in super().post(message):
            if "Content-Type" not in list(self.wire.headers.keys()):
                raise Ended("no Content-Type")
            yield each


class Repeats(SmallClient):
    """Sends a request again and again until it is answered."""

    def request(self, method: str, params: Any = None) -> Any:
        while True:
            try:
                return super().request(method, params)
            except Ended:
                pass


class Follows(SmallClient):
    """Follows a redirect, or a challenge, with all that it sends, to wherever it leads."""

    def fields(self, message: Any) -> Dict[str, str]:
        return {"Authorization": "Bearer example", **super().fields(message)}

    def request(self, method: str, params: Any = None) -> Any:
        try:
            return super().request(method, params)
        except Ended:
            for link in [self.wire.headers.get("Location")] + (
                    self.wire.headers.get("WWW-Authenticate") or "").split('"')[1:2]:
                if link:
                    fetch(link, self.fields({"method": method}))
            raise


class GoesOnAfterStatus(SmallClient):
    def request(self, method: str, params: Any = None) -> Any:
        try:
            return super().request(method, params)
        except Ended:
            list(self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            raise


class FixedVersion(SmallClient):
    """Names the revision that it has asked for, whatever was agreed on, and uses what that has."""

    def agree(self, version: str) -> None:
        super().agree(self.revision)

    def begin(self) -> None:
        super().begin()
        asked = {"jsonrpc": "2.0", "id": self.id(), "method": "ping"}
        if self.revision == "2025-03-26":
            list(self.post([asked]))
        elif self.revision == HANDSHAKE:
            self.request("tasks/list")


class TakesErrors(SmallClient):
    """Takes text on standard error for a failure."""

    def begin(self) -> None:
        super().begin()
        if self.wire.said:
            raise Ended("an error")


class StartsAgain(SmallClient):
    """Starts its server again once, and does not listen again."""

    capabilities: Dict[str, Any] = {}
    again = False

    def begin(self) -> None:
        super().begin()
        if not self.again:
            self.post({"jsonrpc": "2.0", "id": self.id(), "method": "subscriptions/listen", "params": {
                "_meta": self.meta(), "notifications": {"toolsListChanged": True}}})

    def request(self, method: str, params: Any = None) -> Any:
        try:
            return super().request(method, params)
        except Ended:
            if self.again:
                raise
            self.again = True
            self.end()
            self.wire = Child(self.env["MCP_EXAMINER_SERVER"])
            self.begin()
            return super().request(method, params)


class GivesUpSilently(SmallClient):
    def request(self, method: str, params: Any = None) -> Any:
        if method == "tools/call" and (params or {}).get("name") == "slow":
            self.wire.sock.sendall(json.dumps({"jsonrpc": "2.0", "id": self.id(), "method": method, "params": {
                **params, **({"_meta": self.meta()} if self.modern else {})}}).encode() + b"\n")
            return {}
        return super().request(method, params)


class MindsComplaints(SmallClient):
    def begin(self) -> None:
        super().begin()
        if self.wire.said:
            raise Ended("it has failed")


class Leaves(SmallClient):
    """Closes the input of its server, and leaves it alone."""

    left: List[Any] = []

    def end(self) -> None:
        self.wire.stdin.close()
        self.left.append(self.wire)


class OnlyAsks(Leaves):
    """Asks its server to end by a signal, and leaves it alone."""

    def end(self) -> None:
        super().end()
        self.wire.process.terminate()


class Lie(NamedTuple):
    """A way in which a client is wrong, the scene that shows it, and the requirement that is named."""

    scene: str
    id: str
    client: Type[SmallClient]
    revision: str = LAST
    way: str = "stdio"
    less: Dict[str, float] = {}
    """Lower values for constants of `stage`, where the whole of the usual ones would be used up."""


FEW, SOON = {"_MOST": 50}, {"_SETTLE": 0.1}
LIES = (
    Lie("unknown-version", "version.client-must-disconnect", GoesOnAnyway, HANDSHAKE),
    Lie("refused-opening", "lifecycle.initialized-notification", SaysInitialized, HANDSHAKE),
    Lie("nothing-declared", "lifecycle.negotiated-capabilities", AsksUndeclared, HANDSHAKE),
    Lie("refused-version", "version.select-supported", GivesUpVersion),
    Lie("unknown-notification", "version.base-required", dies(is_method("notifications/examiner/unknown"))),
    Lie("unknown-notification", "lifecycle.base-required", dies(is_method("notifications/examiner/unknown")),
        HANDSHAKE),
    Lie("foreign-answer", "lifecycle.base-required", dies(lambda message: "result" in message), HANDSHAKE),
    Lie("foreign-progress", "progress.track-tokens", dies(is_method("notifications/progress"))),
    Lie("foreign-cancel", "cancel.ignore-unknown", dies(is_method("notifications/cancelled")), HANDSHAKE),
    Lie("ping", "ping.respond", OddPong, HANDSHAKE),
    Lie("unknown-request", "jsonrpc.follow-spec", KnowsEverything, HANDSHAKE),
    Lie("batch", "batch.receive", HalfBatch, "2025-03-26"),
    Lie("pages", "pagination.no-fixed-size", TwoPages),
    Lie("empty-cursor", "pagination.empty-cursor", NoEmptyCursor),
    Lie("odd-meta", "meta.reserved-no-assumptions", AssumesMeta),
    Lie("icons", "icons.uri-scheme", Fetches, HANDSHAKE, "http"),
    Lie("form", "elicit.mode-default-form", AsksNoMode, HANDSHAKE),
    Lie("form", "elicit.one-mode", AsksNoMode, HANDSHAKE),
    Lie("undeclared-mode", "elicit.undeclared-mode-error", TakesModes, HANDSHAKE),
    Lie("link", "elicit.url-no-prefetch", Fetches, HANDSHAKE, "http"),
    Lie("unknown-completion", "elicit.complete-unknown-ignored",
        dies(is_method("notifications/elicitation/complete")), HANDSHAKE),
    Lie("sample", "lifecycle.base-required", type("NoModel", (SmallClient,), {
        "sampling_createMessage": lambda self, params: -32603}), HANDSHAKE),
    Lie("sample-with-tools", "sampling.tools-undeclared-error", AsksNoMode, HANDSHAKE),
    Lie("roots", "roots.validate-uris", WebRoots, HANDSHAKE),
    Lie("state", "mrtr.state-opaque", ChangesState),
    Lie("state", "mrtr.not-for-other-requests", RepeatsState),
    Lie("state-alone", "mrtr.state-opaque", ChangesState),
    Lie("undeclared-input", "sampling.capability-per-request", GivesUndeclared),
    Lie("input-with-tools", "sampling.tools-undeclared-error", Rounds),
    Lie("result-types", "jsonrpc.result-type-unknown-invalid", ReadsAnyType),
    Lie("result-types", "jsonrpc.result-type-absent-complete", WantsType),
    Lie("legacy-server", "stdio.fallback-any-error", FallsBack),
    Lie("streams", "http.client-supports-json-and-sse", OnlyJson, HANDSHAKE, "http"),
    Lie("odd-streams", "http.client-supports-json-and-sse", OnlyJson, HANDSHAKE, "http"),
    Lie("no-get-stream", "lifecycle.base-required", WantsStream, HANDSHAKE, "http"),
    Lie("session-gone", "http.session-reinitialize", SmallClient, HANDSHAKE, "http"),
    Lie("cut", "http.resume-get", Resumes, HANDSHAKE, "http"),
    Lie("field-case", "http.header-case-insensitive", CaseSensitive, LAST, "http"),
    Lie("param-fields", "http.param-client-support", SmallClient, LAST, "http"),
    Lie("impossible-fields", "http.param-reject-tool", SmallClient, LAST, "http"),
    Lie("foreign-schema", "schema.no-network-ref", Fetches, LAST, "http"),
    Lie("refused-by-http", "lifecycle.initialized-notification", GoesOnAfterStatus, HANDSHAKE, "http"),
    Lie("redirected", "auth.only-issued-tokens", Follows, LAST, "http"),
    Lie("redirected", "http.session-id-secure-handling", Follows, HANDSHAKE, "http"),
    Lie("challenged", "auth.only-issued-tokens", Follows, HANDSHAKE, "http"),
    Lie("challenged", "auth.parse-www-authenticate", Repeats, LAST, "http", FEW),
    Lie("older-version", "lifecycle.respect-version", FixedVersion, HANDSHAKE),
    Lie("older-version", "lifecycle.respect-version-should", FixedVersion, "2025-03-26"),
    Lie("older-version", "http.header-version-negotiated", FixedVersion, HANDSHAKE, "http"),
    Lie("undeclared-changes", "lifecycle.base-required", dies(is_method("notifications/resources/updated")),
        HANDSHAKE),
    Lie("changes", "lifecycle.base-required", dies(is_method("notifications/prompts/list_changed")), HANDSHAKE),
    Lie("answers-again", "version.base-required", dies(lambda message: "result" in message)),
    Lie("much-stderr", "version.base-required", TakesErrors, LAST, "process"),
    Lie("killed", "subscribe.stdio-resubscribe", StartsAgain, LAST, "process"),
    Lie("odd-states", "mrtr.state-opaque", StripsState),
    Lie("unknown-input", "mrtr.client-constructs-inputs", SkipsUnknown),
    Lie("link-input", "elicit.url-no-prefetch", FetchesInput, LAST, "http"),
    Lie("supported-list", "version.select-supported", TakesAnyVersion),
    Lie("supported-list", "version.select-supported", GivesUpVersion, LAST, "http"),
    Lie("odd-ttl", "cache.ttl-absent", WantsTtl),
    Lie("odd-ttl", "cache.ttl-negative", WantsTtl),
    Lie("brief-ttl", "cache.no-polling", Polls, LAST, "http"),
    Lie("listen-subset", "subscribe.client-checks-ack", Listens),
    Lie("listen-cut", "version.base-required", Listens, LAST, "http"),
    Lie("listen-refused", "version.base-required", Listens),
    Lie("listen-foreign", "version.base-required", Listens),
    Lie("give-up", "cancel.stdio-notification", GivesUpSilently),
    Lie("give-up", "timeout.cancel", GivesUpSilently, HANDSHAKE),
    Lie("undeclared-question", "lifecycle.negotiated-capabilities", Undeclared, HANDSHAKE),
    *(Lie(scene, id, Careless, LAST, "http") for scene, id in (
        ("authorized", "auth.pkce-s256"), ("authorized", "auth.resource-in-both-requests"),
        ("authorized", "auth.scope-authoritative"), ("discovery", "auth.as-discovery-path-oidc-insert"),
        ("bare-challenge", "auth.prm-well-known-order"), ("other-issuer", "auth.as-issuer-mismatch-rejected"),
        ("no-pkce", "auth.pkce-absent-refuse"), ("iss", "auth.iss-no-normalization"))),
    Lie("no-metadata", "auth.metadata-before-fallback", Blind, "2025-03-26", "http"),
    Lie("task-tools", "tasks.no-reliance-on-notification", Augments, HANDSHAKE),
    Lie("task-tools", "tasks.tool-forbidden", Augments, HANDSHAKE),
    Lie("undeclared-tasks", "tasks.tools-call-capability", Augments, HANDSHAKE),
    Lie("undeclared-task-question", "tasks.ignored-when-undeclared", Augments, HANDSHAKE),
    Lie("stderr", "stdio.stderr-not-error", MindsComplaints, HANDSHAKE, PROCESS_WAY),
    Lie("stays", "stdio.shutdown-force", Leaves, LAST, PROCESS_WAY, SOON),
    Lie("deaf", "stdio.shutdown-force", OnlyAsks, LAST, PROCESS_WAY, SOON),
)
WAITS = {"batch", "task-tools"}
"""Scenes in which a lie is that something does not come."""
UNSHOWN = {"ordinary", "errors", "unreadable", "statuses", "noise", "exits", "mute"}
"""Scenes that decide nothing to the worse: a client that does not bear them breaks no rule of a page."""


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: "%s-%s" % (lie.scene, lie.client.__name__))
def test_a_lie_is_named(lie: Lie, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in lie.less.items():
        monkeypatch.setattr(stage, name, value)
    brief_in(WAITS, monkeypatch)
    chapter = examined(small(lie.client), lie.revision, lie.way, [lie.scene])
    while Leaves.left:
        Leaves.left.pop().reap()
    named = {row.requirement.id for row in chapter.rows() if row.state in (BROKEN, WARNED)}
    assert lie.id in named, (chapter.refused, chapter.scenes, chapter.faults)


class TriesEarlierTransport(SmallClient):
    """Looks for a server of HTTP+SSE where it has agreed on no version."""

    def agree(self, version: str) -> None:
        try:
            super().agree(version)
        except Ended:
            connection, response = self.wire.send("GET", None, {"Accept": "text/event-stream"})
            response.close()
            connection.close()
            raise


def test_no_session_begins_with_a_version_that_there_is_not() -> None:
    chapter = examined(small(TriesEarlierTransport), HANDSHAKE, "http", ["unknown-version"])
    assert chapter.scenes == {"unknown-version": ""} and chapter.faults == []


@pytest.mark.parametrize("kind, way, expected", [
    (WantsTypeOfModernServers, "stdio", KEPT), (WantsTypeOfModernServers, "http", UNSURE),
    (WantsType, "http", UNSURE), (SmallClient, "http", KEPT)])
def test_only_an_earlier_server_may_leave_the_type_of_a_result_out(kind: Any, way: str, expected: str) -> None:
    chapter = examined(small(kind), LAST, way, ["result-types"])
    states = {row.requirement.id: row.state for row in chapter.rows()}
    assert states["jsonrpc.result-type-absent-complete"] == expected and chapter.faults == []


def test_every_scene_that_decides_has_a_lie() -> None:
    assert {name for name, row in load(CLIENT).items() if row.ids} == {each.scene for each in LIES} | UNSHOWN


# --- What no scene shows -------------------------------------------------------------------------------------------

_INSIDE = "what the client keeps, assumes or shows leaves no message, and it is not asked by anything on the wire"
_FAMILIES = {"skills.": "skills are not examined yet", "apps.": "apps are not examined yet"}
LEFT = {
    "auth.iss-error-responses": _INSIDE,
    "auth.iss-record": _INSIDE,
    "auth.scope-no-assumption": _INSIDE,
    "tasks-ext.client-handles-both-results": "the scripted server does not have that extension",
    "tasks-ext.input-like-standalone-request": "the scripted server does not have that extension",
    "tasks.http-compliance": "the page names no message of its own: the rules of the transport hold",
    "transport.deliver": "a message that was lost on the way to a client is missed by nobody but its user",
    "completion.rate-limit": "the page names no limit",
    "elicit.url-consent": "the consent of a user leaves no message",
    "subscribe.stdio-correlate": _INSIDE,
    "cache.key": _INSIDE, "cache.no-mrtr": _INSIDE,
    "cache.private-not-shared": "it takes two users, and a start of the client has one",
    "icons.reject-unsafe-schemes": "only a client that shows icons fetches them, and most show none",
    "icons.same-origin": "which domains a client trusts is its own affair",
    "schema.support-2020-12": "whether a client validates at all is seen in no message",
    "schema.unsupported-dialect-error": "the error may be one for the user",
}
"""Requirements of clients at MUST that neither the checker nor a scene decides, with the reason."""


def test_what_nobody_decides_has_a_reason() -> None:
    load_rules()
    decided = {id for row in load(CLIENT).values() for id in row.ids}
    left = {id for id, row in requirements().items() if row.role in ("client", "both") and "MUST" in row.level
            and id in UNDECIDED and id not in decided and not id.startswith(tuple(_FAMILIES))}
    assert left == set(LEFT)


# --- Clients of others ---------------------------------------------------------------------------------------------

REAL = pathlib.Path(__file__).with_name("real_clients.tsv")
"""What was found at clients of others, judged by hand against the page of the revision.

``fault``: the client's. ``sometimes``: so, and it is not found each time. ``mended``: it was the examiner's.

The table is made, and held against them, by ``make examined ARGS=--clients``: `tests/interop/examined_clients.py` has
the clients, which `tests/interop/examined_client.py`, `examined_client.cjs` and `examined_tiny.py` drive.
"""
FIGURES = REAL.with_name("real_clients_figures.tsv")
"""What came of the requirements, in figures."""


def table(path: pathlib.Path) -> List[Dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_what_was_found_at_clients_of_others_names_scenes_and_requirements() -> None:
    rows = table(REAL)
    assert {row["judged"] for row in rows} <= {"fault", "sometimes", "mended"}
    for row in rows:
        assert row["id"] in requirements() and row["why"], row
        if row["scene"]:
            assert load(CLIENT)[row["scene"]].plays_in(
                revision(row["revision"]), PIPE if row["over"] == "stdio" else SSE if (
                    revision(row["revision"]).rank == 0) else WEB), row
    keys = [tuple(row[name] for name in ("client", "version", "over", "revision", "scene", "id")) for row in rows]
    assert len(set(keys)) == len(keys)


def test_the_clients_of_others_are_eight_at_least_and_speak_every_revision_and_transport() -> None:
    rows = table(FIGURES)
    assert len({row["client"] for row in rows}) >= 8
    assert {row["revision"] for row in rows} == {each.name for each in REVISIONS}
    assert {row["over"] for row in rows} == {"stdio", "http"}
    examined_so = {(row["client"], row["version"], row["over"], row["revision"]) for row in rows}
    for row in table(REAL):
        assert (row["client"], row["version"], row["over"], row["revision"]) in examined_so, row
