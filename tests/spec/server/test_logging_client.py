"""Log messages as a client hears them, and the level it asks for."""
import threading

import pytest

from mcp_ref import deadline
from mcp_ref.errors import CapabilityMissing, LocalProtocolError, PeerError
from mcp_ref.limits import Limits
from mcp_ref.messages.logs import LEVELS
from tests.support.requirements_table import HANDSHAKE, every_revision_of, revisions_of
from tests.support.scene import Failure, Scene
from tests.support.scripted import PATIENCE
from tests.support.sides import Gate, delivered, eventually

METHOD = "notifications/message"
each_revision = pytest.mark.parametrize("revision", HANDSHAKE)


class Ear:
    """Remembers what it heard; `wait` for so many."""

    def __init__(self):
        self.heard = []
        self._more = threading.Condition()

    def __call__(self, *what):
        with self._more:
            self.heard.append(what)
            self._more.notify_all()

    def wait(self, count):
        with self._more:
            assert self._more.wait_for(lambda: len(self.heard) >= count, PATIENCE), self.heard
        return self.heard


@pytest.mark.spec("logging.set-level")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("revision", every_revision_of("logging.set-level"))
def test_the_level_is_asked_for(revision, level):
    """[..2025-11-25 server/utilities/logging §Setting Log Level] MAY"""
    with Scene(revision, {"logging/setLevel": {}}) as scene:
        assert scene.client.set_log_level(level) is None
        assert scene.params("logging/setLevel") == [{"level": level}]


@pytest.mark.parametrize("level", ["", "warn", "INFO", "trace", None, 20, ["info"]])
@each_revision
def test_a_level_that_there_is_not_is_not_sent(revision, level):
    with Scene(revision) as scene:
        with pytest.raises(LocalProtocolError, match="debug, info, notice"):
            scene.client.set_log_level(level)
        assert scene.asked == []


@each_revision
def test_the_server_may_have_no_logging_or_refuse(revision):
    with Scene(revision, capabilities={}) as scene:
        with pytest.raises(CapabilityMissing, match="logging"):
            scene.client.set_log_level("info")
    with Scene(revision, {"logging/setLevel": Failure(-32603)}) as scene:
        with pytest.raises(PeerError):
            scene.client.set_log_level("info")


@pytest.mark.parametrize("data", ["text", None, 0, 1.5, True, [], ["a", {"b": None}], {"error": {"code": 5}}, ""])
@each_revision
def test_messages_are_heard_with_any_data(revision, data):
    """[.. server/utilities/logging §Log Message Notifications]"""
    ear = Ear()
    with Scene(revision, on_log=ear) as scene:
        for level in LEVELS:
            scene.peer.notify(METHOD, {"level": level, "data": data})
            scene.peer.notify(METHOD, {"level": level, "data": data, "logger": "db", "_meta": {"com.example/x": 1}})
        expected = [(level, data, logger) for level in LEVELS for logger in (None, "db")]
        assert ear.wait(len(expected)) == expected


MALFORMED = [
    None, {}, {"level": "info"}, {"data": "no level"}, {"level": "loud", "data": 1}, {"level": "INFO", "data": 1},
    {"level": 3, "data": 1}, {"level": None, "data": 1}, {"level": ["info"], "data": 1},
    {"level": "info", "data": 1, "logger": 5}, {"level": "info", "data": 1, "logger": {}},
]


@pytest.mark.spec("logging.validate-fields")
@pytest.mark.parametrize("params", MALFORMED)
@pytest.mark.parametrize("revision", every_revision_of("logging.validate-fields"))
def test_a_message_that_is_none_reaches_nobody(revision, params):
    """[.. server/utilities/logging §Security] SHOULD"""
    ear, raw = Ear(), Ear()
    with Scene(revision, on_log=ear, on_notification=raw) as scene:
        scene.peer.notify(METHOD, params)
        scene.peer.notify(METHOD, {"level": "info", "data": "good"})
        assert ear.wait(1) == [("info", "good", None)]
        assert [params["data"] for _, params in raw.wait(1)] == ["good"]
        assert scene.count("malformed notification") == 1


@pytest.mark.spec("logging.rate-limit-both")
@pytest.mark.parametrize("revision", revisions_of("logging.rate-limit-both"))
def test_a_flood_is_cut_down_to_the_limit_and_hides_nothing_else(revision, monkeypatch):
    """[.. server/utilities/logging §Security] SHOULD"""
    now = [5000.0]
    monkeypatch.setattr(deadline, "clock", lambda: now[0])
    ear, raw = Ear(), Ear()
    limits = Limits(max_log_messages_per_second=5, max_inflight=8)
    with Scene(revision, on_log=ear, on_notification=raw, limits=limits) as scene:
        scene.peer.send(*[{"jsonrpc": "2.0", "method": METHOD, "params": {"level": "info", "data": n}}
                          for n in range(1000)])
        scene.tell("notifications/tools/list_changed")
        assert [data for _, data, _ in ear.wait(5)] == [0, 1, 2, 3, 4] and scene.count("dropped log message") == 995
        eventually(lambda: raw.heard[-1][0] == "notifications/tools/list_changed")
        now[0] += 0.5
        scene.tell(METHOD, {"level": "info", "data": "later"})
        assert ear.wait(6)[-1] == ("info", "later", None)


def test_a_callback_that_raises_keeps_nobody_else_from_hearing():
    raw = Ear()

    def broken(*what):
        raise RuntimeError("broken callback")

    with Scene(on_log=broken, on_notification=raw) as scene:
        for n in range(3):
            scene.tell(METHOD, {"level": "info", "data": n})
        assert [params["data"] for _, params in raw.wait(3)] == [0, 1, 2] and scene.count("handler errors") == 3


def test_messages_wait_while_a_callback_is_busy_up_to_the_limit():
    ear = Ear()

    def slow(*what):
        gate.hold()
        ear(*what)

    with Gate() as gate, Scene(on_log=slow, limits=Limits(max_inflight=4)) as scene:
        scene.tell(METHOD, {"level": "info", "data": 0})
        gate.entered()
        for n in range(1, 20):
            scene.tell(METHOD, {"level": "info", "data": n})
        assert scene.count("dropped notification") == 15
        gate.open()
        assert [data for _, data, _ in ear.wait(5)] == list(range(5))


def test_a_client_without_a_callback_takes_them_all_the_same():
    with Scene() as scene:
        scene.tell(METHOD, {"level": "info", "data": 1})
        delivered(scene.client.connection)
        assert scene.client.connection.counters.snapshot() == {}
