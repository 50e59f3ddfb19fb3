"""Ping: each party answers at once, whatever else it is doing, and notices when the other one does not."""
import logging
import threading

import pytest

from mcp_ref.client import Client
from mcp_ref.errors import ConnectionLost, PeerError, RequestTimeout
from mcp_ref.limits import Limits
from mcp_ref.peer.dispatcher import Connection
from mcp_ref.peer.executors import Inline
from tests.support.conversation import PARTIES, conversation
from tests.support.requirements_table import revisions_of
from tests.support.scripted import PATIENCE

both_parties = pytest.mark.parametrize("party", PARTIES)


NO_PING = {"code": -32601, "message": "Method not found: ping"}


def is_ping(message):
    return message.get("method") == "ping"


@pytest.mark.spec("ping.respond")
@pytest.mark.parametrize("revision", revisions_of("ping.respond"))
@both_parties
def test_a_ping_is_answered_emptily_with_its_id(party, revision):
    """[..2025-11-25 basic/utilities/ping §Behavior Requirements] MUST"""
    with conversation(party, revision) as talk:
        for number, params in enumerate([None, {}, {"_meta": {}}, {"_meta": {"progressToken": 1}}, {"more": [1]}]):
            for id in (number, str(number)):
                talk.peer.request(id, "ping", params)
                assert talk.peer.receive() == {"jsonrpc": "2.0", "id": id, "result": {}}


@pytest.mark.spec("ping.respond")
@pytest.mark.parametrize("revision", revisions_of("ping.respond"))
@pytest.mark.parametrize("party, phase", [
    ("server", "opening"), ("server", "initializing"), ("server", "answered"), ("server", "operating"),
    ("client", "initializing"), ("client", "answered"), ("client", "operating"),
])
def test_a_ping_is_answered_in_each_phase_that_allows_it(party, phase, revision):
    """[..2025-11-25 basic/utilities/ping §Behavior Requirements] MUST"""
    with conversation(party, revision, phase) as talk:
        talk.lives()


@pytest.mark.spec("ping.respond")
@pytest.mark.parametrize("revision", revisions_of("ping.respond"))
@both_parties
def test_a_ping_waits_for_no_handler(party, revision):
    """[..2025-11-25 basic/utilities/ping §Behavior Requirements] MUST"""
    with conversation(party, revision, limits=Limits(max_workers=2)) as talk:
        talk.hold(1)
        talk.hold(2)
        talk.peer.send(*[talk.held(number) for number in range(3, 20)])  # queued: both workers are busy
        for _ in range(3):
            talk.lives()
        assert talk.count("refused request") == 0
        talk.peer.send(talk.held("last"), {"jsonrpc": "2.0", "id": "behind", "method": "ping"})
        assert talk.peer.receive()["id"] == "behind"


@pytest.mark.spec("ping.respond")
@pytest.mark.parametrize("revision", revisions_of("ping.respond"))
@both_parties
def test_a_ping_is_answered_where_no_other_request_is_taken_any_more(party, revision):
    """[..2025-11-25 basic/utilities/ping §Behavior Requirements] MUST"""
    with conversation(party, revision, limits=Limits(max_inflight=1)) as talk:
        talk.hold(1)
        talk.peer.send(talk.quick(2))
        assert talk.peer.receive()["error"]["code"] == -32603
        talk.lives()


@pytest.mark.spec("ping.respond")
@pytest.mark.parametrize("revision", revisions_of("ping.respond"))
@both_parties
def test_two_parties_that_wait_for_each_others_ping_both_get_it(party, revision):
    """[..2025-11-25 basic/utilities/ping §Behavior Requirements] MUST"""
    with conversation(party, revision) as talk:
        pending = talk.connection.open_request("ping")
        asked = talk.peer.receive(is_ping)
        assert "params" not in asked, "a ping has no parameters"
        talk.lives()
        talk.peer.respond(asked["id"], {})
        assert talk.connection.wait(pending) == {}


@pytest.mark.spec("ping.respond")
def test_a_ping_is_answered_even_if_the_executor_runs_nothing():
    """[..2025-11-25 basic/utilities/ping §Behavior Requirements] MUST"""

    class Stuck(Inline):
        def submit(self, jobs, outbox):
            return True

    for party in PARTIES:
        with conversation(party, executor=Stuck(), limits=Limits(drain=0, shutdown_grace=0)) as talk:
            talk.peer.send(talk.quick(1))
            talk.lives()


def test_ping_of_the_client_returns_or_says_what_went_wrong():
    """[..2025-11-25 basic/utilities/ping §Message Format]"""
    with conversation("client") as talk:
        for respond, expected in (
            (lambda id: talk.peer.respond(id, {}), None),
            (lambda id: talk.peer.send({"jsonrpc": "2.0", "id": id, "error": NO_PING}), PeerError),
        ):
            errors = []
            thread = threading.Thread(target=lambda: errors.append(outcome(talk.role.ping)), daemon=True)
            thread.start()
            respond(talk.peer.receive(is_ping)["id"])
            thread.join(PATIENCE)
            assert [error and type(error) for error in errors] == [expected]
        assert type(outcome(lambda: talk.role.ping(timeout=0))) is RequestTimeout


def outcome(call):
    """What a call raises."""
    try:
        call()
    except Exception as error:
        return error
    return None


@pytest.mark.spec("ping.periodic", "ping.configurable")
@pytest.mark.parametrize("revision", revisions_of("ping.periodic"))
@both_parties
def test_a_party_pings_periodically_if_it_is_told_how_often(party, revision, monkeypatch):
    """[..2025-11-25 basic/utilities/ping §Implementation Considerations] SHOULD"""
    waited, ready, done = [], threading.Event(), threading.Event()

    def wait(connection, timeout=None):
        if timeout != 77.0:
            return usual(connection, timeout)
        waited.append(timeout)
        ready.wait(PATIENCE)
        if len(waited) > 3:
            done.set()
        return len(waited) > 3

    usual = Connection.wait_closed
    monkeypatch.setattr(Connection, "wait_closed", wait)
    with conversation(party, revision, keepalive=77.0) as talk:
        ready.set()
        for answer in ({"result": {}}, {"error": NO_PING}, {"result": {}}):
            talk.peer.send(dict({"jsonrpc": "2.0", "id": talk.peer.receive(is_ping)["id"]}, **answer))
        talk.lives()
        assert done.wait(PATIENCE) and waited == [77.0] * 4
        assert not talk.connection.closed, "an error is an answer"


@pytest.mark.spec("ping.configurable")
@pytest.mark.parametrize("revision", revisions_of("ping.configurable"))
@both_parties
def test_the_frequency_of_pings_is_configurable(party, revision, monkeypatch):
    """[..2025-11-25 basic/utilities/ping §Implementation Considerations] SHOULD"""
    intervals = []
    monkeypatch.setattr("mcp_ref.peer.dispatcher.keep_alive", lambda connection, interval: intervals.append(interval))
    for wanted in (None, 0.5, 30):
        with conversation(party, revision, keepalive=wanted) as talk:
            assert talk.unanswered() == []
    assert intervals == [0.5, 30]
    assert Client().keepalive is None, "nobody is pinged unasked"


@pytest.mark.spec("ping.timeout-is-failure", "ping.log-failures")
@pytest.mark.parametrize("revision", revisions_of("ping.timeout-is-failure"))
@both_parties
def test_a_ping_without_answer_ends_the_connection_and_is_logged(party, revision, caplog):
    """[..2025-11-25 basic/utilities/ping §Error Handling] SHOULD"""
    with caplog.at_level(logging.WARNING), conversation(party, revision) as talk:
        pending = talk.connection.open_request("ping", timeout=None)
        talk.role.keepalive = 0.005  # only now: a busy machine might take longer to shake hands
        talk.connection.keep_alive()
        assert talk.connection.wait_closed(PATIENCE)
        with pytest.raises(ConnectionLost, match="did not answer a ping within 0.005 seconds"):
            talk.connection.wait(pending)
        assert talk.peer.ended() and talk.count("failed ping") == 1
    records = [record for record in caplog.records if record.name.startswith("mcp_ref.peer.role")]
    assert [record.levelname for record in records] == ["WARNING"]
    assert "did not answer a ping" in records[0].getMessage()


@pytest.mark.spec("ping.log-failures")
@pytest.mark.parametrize("revision", revisions_of("ping.log-failures"))
@both_parties
def test_a_ping_of_the_caller_that_fails_is_logged(party, revision, caplog):
    """[..2025-11-25 basic/utilities/ping §Error Handling] SHOULD"""
    with caplog.at_level(logging.INFO, "mcp_ref"), conversation(party, revision) as talk:
        with pytest.raises(RequestTimeout):
            talk.connection.request("ping", timeout=0)
    assert [record for record in caplog.records if "ping (request" in record.getMessage()]


@both_parties
def test_the_pinging_thread_ends_with_the_connection(party):
    """[..2025-11-25 basic/utilities/ping §Implementation Considerations]"""
    with conversation(party, keepalive=1000.0) as talk:
        names = [thread.name for thread in threading.enumerate()]
        assert "mcp-ref:keepalive:memory" in names
        talk.lives()
    for thread in threading.enumerate():
        if thread.name == "mcp-ref:keepalive:memory":
            thread.join(PATIENCE)
            assert not thread.is_alive()
