"""Log messages where each request says whether it wants any.

[2026-07-28 server/utilities/logging §Per-request log level]

`Logging` is a client that sends requests to a server whose tool `say` logs by the three ways there are: its context,
the server, and a handler of `logging`.
"""
import logging
import threading
from typing import Any, Iterator, List, Optional

import pytest

from mcp_ref import deadline
from mcp_ref.limits import Limits
from mcp_ref.messages.logs import LEVELS
from mcp_ref.protocol import envelope
from mcp_ref.server import Context, Server
from mcp_ref.server.logs import LEFT_OUT
from tests.support.requirements_table import STATELESS
from tests.support.scripted import ScriptedPeer

WAYS = ("context", "server", "handler")


@pytest.fixture
def app() -> Iterator[logging.Logger]:
    return logging.Logger("tests.stateless", 1)


class Logging:
    """See the module; a context manager."""

    def __init__(self, app: logging.Logger, **options: Any) -> None:
        self.server = Server("logging", **options)
        app.addHandler(self.server.log_handler())

        @self.server.tool
        def say(level: str, ways: List[str], ctx: Context) -> str:
            """Log at a level."""
            for way in ways:
                if way == "context":
                    ctx.log(level, way, "by hand")
                elif way == "server":
                    self.server.log(level, way)
                else:
                    app.log({"debug": 10, "info": 20, "notice": 25, "warning": 30, "error": 40, "critical": 50,
                             "alert": 60, "emergency": 70}[level], {"token": "Bearer abcdefghijklmnopqrstuvwxyz"})
            return "said"

        self.peer = ScriptedPeer.of_server(self.server)
        self.peer.begin(STATELESS)

    def say(self, id: Any, level: str, wanted: Optional[Any], ways: Any = WAYS) -> List[Any]:
        """Call the tool, in a request that wants messages from a level up; the params of the messages."""
        params = {"name": "say", "arguments": {"level": level, "ways": list(ways)}}
        if wanted is not None:
            params["_meta"] = {envelope.LOG_LEVEL: wanted}
        start = len(self.peer.seen)
        answer = self.peer.call(id, "tools/call", params)
        assert "error" in answer or answer["result"]["content"][0]["text"] == "said", answer
        messages = self.peer.seen[start:-1]
        assert all(message["method"] == "notifications/message" for message in messages)
        return [message["params"] for message in messages] + ([answer["error"]] if "error" in answer else [])

    def __enter__(self) -> "Logging":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.peer.close()


@pytest.mark.spec("logging.opt-in", "logging.capability")
def test_a_request_without_a_level_is_sent_no_message_by_any_way(app: logging.Logger) -> None:
    """[2026-07-28 server/utilities/logging §Per-request log level] MUST NOT"""
    with Logging(app) as scene:
        assert scene.peer.handshake(STATELESS)["capabilities"]["logging"] == {}
        assert scene.say(1, "emergency", None) == []
        assert len(scene.say(2, "emergency", "debug")) == 3
        assert scene.say(3, "emergency", None) == [], "a level holds for its request alone"


@pytest.mark.spec("logging.at-or-above")
@pytest.mark.parametrize("wanted", LEVELS)
def test_messages_of_the_level_and_above_come_before_the_answer(app: logging.Logger, wanted: str) -> None:
    """[2026-07-28 server/utilities/logging §Per-request log level] MAY"""
    with Logging(app) as scene:
        for at, level in enumerate(LEVELS):
            said = scene.say(level, level, wanted)
            assert [message["level"] for message in said] == ([level] * 3 if at >= LEVELS.index(wanted) else [])


@pytest.mark.spec("logging.request-stream-only")
def test_messages_go_to_the_request_that_asked_and_nowhere_else(app: logging.Logger) -> None:
    """[2026-07-28 server/utilities/logging §Per-request log level] MUST NOT"""
    with Logging(app) as scene, Logging(app) as other:
        for one in (scene, other):
            one.peer.request("stream", "subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            assert one.peer.receive()["method"] == "notifications/subscriptions/acknowledged"
        assert [message["data"] for message in scene.say(1, "error", "info", ["context", "server"])] == [
            "context", "server"]
        assert scene.server.log("emergency", "of no request") == 0
        app.critical("of no request, either")
        outside = threading.Thread(target=lambda: scene.server.log("emergency", "of another thread"))
        outside.start()
        outside.join()
        for one in (scene, other):
            assert one.peer.barrier("after") == []


def test_a_session_beside_it_has_a_level_of_its_own(app: logging.Logger) -> None:
    """[2026-07-28 basic/versioning §Backward Compatibility with Initialization-Based Versions] MAY"""
    with Logging(app) as scene:
        scene.peer.envelope = None
        scene.peer.handshake("2025-11-25")
        scene.peer.call("level", "logging/setLevel", {"level": "alert"})
        assert scene.server.log("critical", "too quiet for the session") == 0
        scene.peer.begin(STATELESS)
        assert [message["data"] for message in scene.say(1, "critical", "debug", ["context", "server"])] == [
            "context", "server"]
        assert scene.say(2, "critical", None, ["context"]) == []


@pytest.mark.spec("logging.invalid-level-meta", "logging.validate-fields")
@pytest.mark.parametrize("level", ["loud", "INFO", "", 5, None, True, ["info"], {"level": "info"}])
def test_a_level_that_is_none_is_invalid_params(app: logging.Logger, level: Any) -> None:
    """[2026-07-28 server/utilities/logging §Error Handling] SHOULD"""
    with Logging(app) as scene:
        scene.peer.envelope = dict(scene.peer.envelope or {}, **{envelope.LOG_LEVEL: level})
        answer = scene.peer.call(1, "tools/call", {"name": "say", "arguments": {"level": "info", "ways": ["context"]}})
        assert answer["error"]["code"] == -32602 and "logLevel" in answer["error"]["message"]
        assert len(scene.peer.seen) == 1


@pytest.mark.spec("logging.internal-error")
def test_what_fails_in_a_request_that_wants_messages_is_an_internal_error(app: logging.Logger) -> None:
    """[2026-07-28 server/utilities/logging §Error Handling] SHOULD"""
    with Logging(app) as scene:
        scene.server.resource("test://broken")(lambda: 1 / 0)
        params = {"uri": "test://broken", "_meta": {envelope.LOG_LEVEL: "info"}}
        assert scene.peer.call(1, "resources/read", params)["error"]["code"] == -32603


@pytest.mark.spec("logging.rate-limit", "logging.rate-limit-both")
def test_messages_above_the_rate_are_left_out_and_counted(app: logging.Logger) -> None:
    """[.. server/utilities/logging §Implementation Considerations] SHOULD"""
    with Logging(app, limits=Limits(max_log_messages_per_second=3)) as scene:
        assert len(scene.say(1, "info", "info", ["context"] * 10)) == 3
        assert scene.peer.connection is not None and scene.peer.connection.counters[LEFT_OUT] >= 6


def test_who_stands_alone_is_not_told_how_many_messages_of_others_were_left_out(
    app: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a connection counts is of all requests on it, which may come from different clients."""
    now = [100.0]
    monkeypatch.setattr(deadline, "clock", lambda: now[0])
    with Logging(app, limits=Limits(max_log_messages_per_second=3)) as scene:
        assert len(scene.say(1, "info", "info", ["context"] * 5)) == 3
        assert scene.peer.connection is not None and scene.peer.connection.counters[LEFT_OUT] == 2
        now[0] += 5.0
        assert [said["data"] for said in scene.say(2, "info", "info", ["context"] * 2)] == ["context"] * 2


@pytest.mark.spec("logging.remove-sensitive", "logging.no-credentials")
def test_what_looks_like_a_secret_is_masked(app: logging.Logger) -> None:
    """[.. server/utilities/logging §Security] MUST NOT"""
    with Logging(app) as scene:
        (said,) = scene.say(1, "info", "info", ["handler"])
        assert said["data"] == {"token": "***"} and said["logger"] == "tests.stateless"
