"""The examiner against clients: ours keeps everything, and each scene notices a client that lies."""
import threading
from typing import Any, Callable, Dict, List, NamedTuple, Type

import pytest

from mcp_ref.errors import McpError
from mcp_ref.examiner.clients.examination import ClientExamination
from mcp_ref.examiner.clients.starts import Started
from mcp_ref.examiner.examination import BROKEN, KEPT, WARNED, Chapter
from mcp_ref.examiner.report import ExaminationReport
from mcp_ref.examiner.scenes import load
from mcp_ref.revisions import REVISIONS, revision
from mcp_ref.wiretrace import CLIENT
from tests.examiner import everything_client
from tests.examiner.small_client import Ended, SmallClient
from tests.examiner.test_servers import named

PATIENCE = 20.0
QUICK = 0.4
HANDSHAKE, LAST = "2025-11-25", "2026-07-28"


class Threaded(Started):
    """A client on a thread of the tests."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act
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
        assert not self.failed, self.failed


def examined(start: Any, name: str, way: str = "stdio", only: Any = (), patience: float = PATIENCE) -> Chapter:
    return ClientExamination(start, [revision(name)], way, only, patience, direct=True).run()[0]


# --- Clients that keep everything ----------------------------------------------------------------------------------

def ours(server: str, env: Dict[str, str]) -> Started:
    return Threaded(lambda: everything_client.run(server, env["MCP_EXAMINER_REVISION"]))


@pytest.mark.parametrize("way", ["stdio", "http"])
@pytest.mark.parametrize("name", [each.name for each in REVISIONS])
def test_our_client_keeps_everything(name: str, way: str) -> None:
    chapter = examined(ours, name, way)
    assert not chapter.refused and chapter.faults == []
    assert {scene: why for scene, why in chapter.scenes.items() if why} == {}
    played = {scene for scene, row in load(CLIENT).items() if row.plays_in(chapter.revision, chapter.wire)}
    assert set(chapter.scenes) == played
    counts = ExaminationReport([chapter]).counts(name)
    assert counts[KEPT] > 25 and counts[BROKEN] == counts[WARNED] == 0


@pytest.mark.parametrize("way", ["stdio", "http"])
@pytest.mark.parametrize("name", ["2025-03-26", HANDSHAKE, LAST])
def test_the_small_client_keeps_everything(name: str, way: str) -> None:
    chapter = examined(small(SmallClient), name, way)
    assert not chapter.refused and [each for each in chapter.faults if each.id not in LACKS] == []


LACKS = {"version.client-sends-latest"}
"""What the small client does not do, and need not."""


# --- Clients that lie ----------------------------------------------------------------------------------------------

def small(kind: Type[SmallClient]) -> Callable[[str, Dict[str, str]], Started]:
    return lambda server, env: Threaded(lambda: kind(server, env).run())


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


class Lie(NamedTuple):
    """A way in which a client is wrong, the scene that shows it, and the requirement that is named."""

    scene: str
    id: str
    client: Type[SmallClient]
    revision: str = LAST
    way: str = "stdio"


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
    Lie("unreadable", "jsonrpc.follow-spec", dies(lambda message: isinstance(message, bytes))),
    Lie("ping", "ping.respond", OddPong, HANDSHAKE),
    Lie("unknown-request", "lifecycle.base-required", KnowsEverything, HANDSHAKE),
    Lie("batch", "batch.receive", HalfBatch, "2025-03-26"),
    Lie("pages", "pagination.no-fixed-size", TwoPages),
    Lie("empty-cursor", "pagination.empty-cursor", NoEmptyCursor),
    Lie("undeclared-question", "lifecycle.negotiated-capabilities", Undeclared, HANDSHAKE),
)
UNSHOWN = {"ordinary", "errors"}
"""Scenes that decide nothing to the worse."""


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: "%s-%s" % (lie.scene, lie.client.__name__))
def test_a_lie_is_named(lie: Lie) -> None:
    chapter = examined(small(lie.client), lie.revision, lie.way, [lie.scene], QUICK)
    assert lie.id in named(chapter), (chapter.refused, chapter.scenes, chapter.faults)


def test_every_scene_that_decides_has_a_lie() -> None:
    assert {name for name, row in load(CLIENT).items() if row.ids} == {each.scene for each in LIES} | UNSHOWN
