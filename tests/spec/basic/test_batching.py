"""Batches: several messages in one array, which 2025-03-26 has and no other revision.

Reading: the messages of a batch are handled as if they had come one by one, and their answers leave together, in any
order, when the last is there. A batch is one from the answer to `initialize` on, when the revision is agreed; what
its messages may be before `initialized` the lifecycle says.
"""
import itertools
import json

import pytest

from mcp_ref.errors import PeerProtocolError, RpcError
from mcp_ref.limits import Limits
from mcp_ref.peer.context import Route
from tests.support.conversation import PARTIES, conversation, opening_params
from tests.support.requirements_table import HANDSHAKE, revisions_of

both_parties = pytest.mark.parametrize("party", PARTIES)
BATCHING = revisions_of("batch.receive")
PING = {"jsonrpc": "2.0", "method": "ping"}
NOTE = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 99, "progress": 1}}


def ping(id):
    return dict(PING, id=id)


def by_id(answers):
    """The answers of a batch by id; those without one under None."""
    assert type(answers) is list
    found = {answer.get("id"): answer for answer in answers}
    assert len(found) == len(answers), answers
    return found


def code(answer):
    return answer.get("error", {}).get("code")


@pytest.mark.spec("jsonrpc.response-same-id", "batch.receive")
@pytest.mark.parametrize("revision", revisions_of("batch.receive"))
@both_parties
def test_requests_in_a_batch_are_answered_together(party, revision):
    """[2025-03-26 basic/index §Batching] MUST"""
    with conversation(party, revision) as talk:
        talk.peer.send([talk.quick(1), talk.quick("1"), ping(2), dict(PING, id=3, method="no/such"), talk.quick(4)])
        answers = talk.peer.receive()
        assert {(type(a["id"]), a["id"]): code(a) for a in answers} == {
            (int, 1): None, (str, "1"): None, (int, 2): None, (int, 3): -32601, (int, 4): None}
        assert [a for a in answers if a["id"] == 2] == [{"jsonrpc": "2.0", "id": 2, "result": {}}]
        talk.lives()


@pytest.mark.spec("batch.receive")
@pytest.mark.parametrize("revision", revisions_of("batch.receive"))
@both_parties
def test_a_batch_of_one_is_answered_by_a_batch_of_one(party, revision):
    """[2025-03-26 basic/index §Batching] MUST"""
    with conversation(party, revision) as talk:
        for message in (talk.quick(1), ping(2)):
            talk.peer.send([message])
            answers = talk.peer.receive()
            assert [answer["id"] for answer in answers] == [message["id"]] and "result" in answers[0]


@pytest.mark.spec("batch.receive")
@pytest.mark.parametrize("revision", revisions_of("batch.receive"))
@both_parties
def test_a_mixed_batch_is_taken_message_by_message(party, revision):
    """[2025-03-26 basic/index §Batching] MUST"""
    with conversation(party, revision) as talk:
        waiting = [talk.connection.open_request("ping") for _ in range(4)]
        ids = [talk.peer.receive()["id"] for _ in waiting]
        talk.peer.send([
            NOTE, ping(1), {"jsonrpc": "2.0", "id": ids[0], "result": {"a": 1}}, talk.quick("q"),
            {"jsonrpc": "2.0", "id": ids[1], "error": {"code": -7, "message": "no"}},
            {"jsonrpc": "2.0", "id": ids[2], "result": 5}, {"jsonrpc": "2.0", "id": 999, "result": {}},
            {"jsonrpc": "2.0", "id": ids[3], "result": {}, "error": {"code": 1, "message": "both"}},
            {"jsonrpc": "2.0", "error": {"code": -32700, "message": "what?"}}, dict(NOTE, params=[1]),
            {"jsonrpc": "2.0", "id": 2, "method": 7}, {"jsonrpc": "2.0", "id": None, "method": "ping"},
        ])
        answers = by_id(talk.peer.receive())
        assert {id: code(answer) for id, answer in answers.items()} == {1: None, "q": None, 2: -32600, None: -32600}
        assert talk.connection.wait(waiting[0]) == {"a": 1}
        for pending, fault in zip(waiting[1:], ("no", "malformed response", "malformed response")):
            with pytest.raises(Exception, match=fault) as caught:
                talk.connection.wait(pending)
            assert isinstance(caught.value, PeerProtocolError) is (fault != "no")
        talk.lives()
        expected = {"progress for no request", "unknown response", "error without id"}
        assert expected <= set(talk.counts()) and talk.count("malformed message") == 5


@pytest.mark.spec("batch.receive", "jsonrpc.notification-no-response")
@pytest.mark.parametrize("revision", revisions_of("batch.receive"))
@both_parties
def test_a_batch_without_requests_is_not_answered_at_all(party, revision):
    """[2025-03-26 basic/index §Notifications] MUST NOT, [JSON-RPC 2.0 §6]"""
    with conversation(party, revision) as talk:
        pending = talk.connection.open_request("ping")
        ours = talk.peer.receive()["id"]
        for batch in ([NOTE], [NOTE, NOTE, dict(NOTE, method="notifications/none")], [dict(NOTE, params=[1])],
                      [{"jsonrpc": "2.0", "id": ours, "result": {}}], [PING],
                      [{"jsonrpc": "2.0", "id": 99, "result": {}}, {"jsonrpc": "2.0", "id": 98, "error": None}]):
            talk.peer.send(batch)
            assert talk.unanswered() == [], batch
        assert talk.connection.wait(pending) == {}


@pytest.mark.spec("batch.receive")
@pytest.mark.parametrize("revision", revisions_of("batch.receive"))
@both_parties
def test_items_that_are_no_messages_are_refused_one_by_one(party, revision):
    """[2025-03-26 basic/index §Batching] MUST, [JSON-RPC 2.0 §6]"""
    with conversation(party, revision) as talk:
        items = [1, "ping", None, True, 1.5, [], [ping(90)], [[ping(91)]], {}, {"jsonrpc": "2.0"}]
        talk.peer.send(items + [ping(5)])
        answers = talk.peer.receive()
        refused = [answer for answer in answers if "error" in answer]
        assert len(refused) == len(items)
        assert all(answer["id"] is None and code(answer) == -32600 for answer in refused)
        assert [answer for answer in answers if "result" in answer] == [{"jsonrpc": "2.0", "id": 5, "result": {}}]
        talk.peer.send(ping(90), ping(91))
        assert all("result" in talk.peer.receive() for _ in range(2)), "the nested requests were not taken"


@pytest.mark.spec("batch.receive")
@pytest.mark.parametrize("revision", revisions_of("batch.receive"))
@both_parties
def test_an_empty_batch_is_refused_by_a_single_error(party, revision):
    """[2025-03-26 basic/index §Batching] MUST, [JSON-RPC 2.0 §6]"""
    with conversation(party, revision) as talk:
        for text in ("[]", " [ ] "):
            talk.peer.send(text)
            answer = talk.peer.receive()
            assert code(answer) == -32600 and answer["id"] is None
            talk.lives()


@pytest.mark.spec("batch.receive")
@pytest.mark.parametrize("revision", revisions_of("batch.receive"))
@both_parties
@pytest.mark.sends_illegal("batch.receive", why="the limit of this test is five messages")
def test_a_batch_that_is_no_json_or_too_long_is_refused_whole(party, revision):
    """[2025-03-26 basic/index §Batching] MUST, [JSON-RPC 2.0 §6]"""
    with conversation(party, revision, limits=Limits(max_batch=5)) as talk:
        for text, expected in ((json.dumps([ping(1)])[:-1], -32700), ('[%s,NaN]' % json.dumps(ping(1)), -32700),
                               ('[{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}]', -32700),
                               (json.dumps([ping(number) for number in range(6)]), -32600)):
            talk.peer.send(text)
            answer = talk.peer.receive()
            assert code(answer) == expected and answer["id"] is None
            talk.lives()
        assert "max_batch (5)" in answer["error"]["message"]
        talk.peer.send([ping(number) for number in range(5)])
        assert len(talk.peer.receive()) == 5


@pytest.mark.spec("batch.receive")
@pytest.mark.parametrize("revision", revisions_of("batch.receive"))
@both_parties
def test_the_answers_wait_for_the_slowest_and_nothing_else_does(party, revision):
    """[2025-03-26 basic/index §Batching] MUST"""
    with conversation(party, revision) as talk:
        talk.peer.send([ping(1), talk.held(2), talk.quick(3)])
        talk.gate.wait_entered()
        talk.lives()
        talk.peer.send([ping(4), talk.quick(5)])
        assert set(by_id(talk.peer.receive())) == {4, 5}
        talk.gate.open()
        assert set(by_id(talk.peer.receive())) == {1, 2, 3}


@pytest.mark.spec("batch.receive")
@pytest.mark.parametrize("revision", revisions_of("batch.receive"))
@both_parties
def test_a_cancelled_member_is_missing_from_the_answers(party, revision):
    """[2025-03-26 basic/index §Batching] MUST, [2025-03-26 basic/utilities/cancellation §Behavior Requirements]"""
    with conversation(party, revision) as talk:
        talk.peer.send([talk.held(1), ping(2)])
        talk.gate.wait_entered()
        talk.peer.notify("notifications/cancelled", {"requestId": 1})
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}
        talk.peer.send([talk.held(3), cancelled])
        talk.peer.send([talk.held(4)])
        talk.gate.wait_entered()
        talk.peer.notify("notifications/cancelled", {"requestId": 4})
        assert talk.unanswered() == []
        talk.gate.open()
        assert set(by_id(talk.peer.receive())) == {2}
        assert talk.connection.inflight.wait_empty(10) and talk.unanswered() == []


@pytest.mark.spec("batch.receive", "jsonrpc.request-id-unique-session")
@pytest.mark.parametrize("revision", revisions_of("batch.receive"))
@both_parties
def test_an_id_that_stands_in_a_batch_twice_is_answered_once_while_it_is_in_use(party, revision):
    """[2025-03-26 basic/index §Requests] MUST NOT"""
    with conversation(party, revision) as talk:
        talk.peer.send([talk.held(1), ping(1), talk.quick(1), {"jsonrpc": "2.0", "id": 1, "method": []}, ping("1")])
        talk.gate.wait_entered()
        assert talk.unanswered() == []
        talk.gate.open()
        answers = talk.peer.receive()
        assert sorted(map(repr, (answer["id"] for answer in answers))) == ["'1'", "1"]
        assert all("result" in answer for answer in answers)
        assert talk.count("duplicate id") == 3
        talk.peer.send([ping(2), ping(2), ping(1)])
        answers = talk.peer.receive()
        assert [(answer["id"], code(answer)) for answer in answers] == [(2, None), (2, None), (1, None)]
        assert talk.count("id used again") == 2


@pytest.mark.spec("batch.receive")
@pytest.mark.parametrize("revision", revisions_of("batch.receive"))
@both_parties
def test_an_answer_that_json_cannot_hold_spoils_no_other_answer(party, revision):
    """[2025-03-26 basic/index §Batching] MUST"""

    def spoiled(context, params):
        raise RpcError(-5, "no", float("nan"))

    broken = (spoiled, lambda context, params: {"mean": float("nan")})
    for handler, inline in itertools.product(broken, (True, False)):
        route = Route(handler, inline=inline)
        with conversation(party, revision) as talk:
            method, usual = talk.quick(0)["method"], talk.role.route
            talk.role.route = lambda connection, name, revision: (
                route if name == method else usual(connection, name, revision))
            good, bad = talk.fresh_id(), talk.fresh_id()
            talk.peer.send([talk.quick(bad), ping(good)])
            answers = by_id(talk.peer.receive())
            assert {id: code(answer) for id, answer in answers.items()} == {bad: -32603, good: None}
            talk.lives()


@pytest.mark.spec("batch.receive")
@pytest.mark.parametrize("revision", revisions_of("batch.receive"))
@both_parties
def test_results_that_are_kept_as_text_fit_into_a_batch(party, revision):
    """[2025-03-26 basic/index §Batching] MUST"""
    with conversation("server", revision) as talk:
        alone = talk.call("tools/list")["result"]
        talk.peer.send([{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, ping(2)])
        assert by_id(talk.peer.receive())[1]["result"] == alone


@pytest.mark.spec("batch.initialize-not-batched")
@pytest.mark.parametrize("revision", revisions_of("batch.initialize-not-batched"))
def test_a_client_never_sends_initialize_in_a_batch(revision):
    """[2025-03-26 basic/lifecycle §Initialization] MUST NOT"""
    with conversation("client", revision, "initializing") as talk:
        assert [(type(message), message["method"]) for message in talk.peer.seen] == [(dict, "initialize")]


@pytest.mark.spec("batch.initialize-not-batched")
@pytest.mark.parametrize("phase", ["opening", "answered", "operating"])
@pytest.mark.parametrize("revision", revisions_of("batch.initialize-not-batched"))
def test_a_server_refuses_initialize_in_a_batch(phase, revision):
    """[2025-03-26 basic/lifecycle §Initialization] MUST NOT"""
    opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening_params(revision)}
    with conversation("server", revision, phase) as talk:
        talk.peer.send([opening, ping(2)])
        answer = talk.peer.receive()
        if phase == "opening":
            assert code(answer) == -32600 and answer["id"] is None, "there are no batches yet"
        else:
            assert {id: code(a) for id, a in by_id(answer).items()} == {1: -32600, 2: None}
        assert talk.connection.session.phase == phase
        assert "initialize" not in talk.role.reached[1:]
        talk.lives()


@pytest.mark.spec("batch.receive", "batch.initialize-not-batched")
@pytest.mark.parametrize("revision", [name for name in HANDSHAKE if name not in BATCHING] + [None])
@both_parties
def test_every_array_is_refused_where_there_are_no_batches(party, revision):
    """[2025-03-26 basic/index §Batching]: the revisions before and after have none, and the handshake neither."""
    phase = "operating" if revision else {"server": "opening", "client": "initializing"}[party]
    with conversation(party, revision or BATCHING[0], phase) as talk:
        for batch in ([], [ping(1)], [NOTE], [ping(1), talk.quick(2), NOTE], [1], [[]], [talk.held(3)],
                      [{"jsonrpc": "2.0", "id": 4, "method": "initialize", "params": opening_params(BATCHING[0])}],
                      [{"jsonrpc": "2.0", "id": 1, "result": {}}]):
            talk.peer.send(batch)
            answer = talk.peer.receive()
            assert type(answer) is dict and code(answer) == -32600, batch
            assert answer.get("id") is None and ("id" in answer) is (revision != "2025-11-25"), batch
            talk.lives()
        assert set(talk.role.reached) <= {"ping"}
        assert "result" in talk.peer.call(1, "ping"), "this id stood in an array only"


@pytest.mark.spec("batch.receive")
@pytest.mark.parametrize("revision", revisions_of("batch.receive"))
@pytest.mark.parametrize("strict", [True, False])
def test_a_batch_before_initialized_follows_the_lifecycle(strict, revision):
    """[2025-03-26 basic/lifecycle §Initialization] MUST"""
    with conversation("server", revision, "answered", strict=strict) as talk:
        talk.peer.send([ping(1), talk.quick(2)])
        answers = by_id(talk.peer.receive())
        assert (code(answers[1]), code(answers[2])) == (None, -32600 if strict else None)
        talk.peer.send([talk.quick(3), {"jsonrpc": "2.0", "method": "notifications/initialized"}, talk.quick(4)])
        answers = by_id(talk.peer.receive())
        assert (code(answers[3]), code(answers[4])) == (-32600 if strict else None, None)
        assert talk.connection.session.phase == "operating"


@pytest.mark.spec("batch.receive")
@pytest.mark.parametrize("revision", revisions_of("batch.receive"))
@both_parties
def test_no_more_requests_run_than_the_limit_says_batch_or_not(party, revision):
    """[2025-03-26 basic/index §Batching] MUST"""
    with conversation(party, revision, limits=Limits(max_inflight=3)) as talk:
        talk.peer.send([talk.held(1), talk.held(2), talk.held(3), talk.held(4), talk.quick(5), ping(6)])
        for _ in range(3):
            talk.gate.wait_entered()
        talk.gate.open()
        answers = by_id(talk.peer.receive())
        assert [code(answers[id]) for id in (1, 2, 3, 4, 5, 6)] == [None, None, None, -32603, -32603, None]
        assert "max_inflight (3)" in answers[4]["error"]["message"]
