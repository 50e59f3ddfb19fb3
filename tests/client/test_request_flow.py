"""The states of a call that takes several requests: each step by hand, without a server.

The drivers are tested with the rules that they keep: spec/client/test_mrtr_client.py, test_recovery.py and
test_restart.py.
"""
import queue
from types import SimpleNamespace

import pytest

from mcp_ref import deadline
from mcp_ref.client.request_flow import ANSWER, DONE, EXTEND, RETRY, SEND, RequestFlow
from mcp_ref.errors import AnswerLost, LocalProtocolError, PeerError, RequestCancelled, RequestTimeout
from mcp_ref.limits import Limits
from mcp_ref.messages.mrtr import InputRequiredResult
from mcp_ref.revisions import LATEST, LATEST_HANDSHAKE
from tests.support.scene import SILENT, Scene, rounds
from tests.support.scripted import PATIENCE
from tests.support.sides import eventually

ASKS = {"resultType": "input_required", "requestState": "s"}
COMPLETE = {"messages": []}
LOST = AnswerLost("gone")


def connection(rules=LATEST):
    return SimpleNamespace(session=SimpleNamespace(rules=rules, peer_capabilities={}), state={}, forgive=None)


class Owner:
    """The little of a client that a flow needs; `retries` is what was asked of it."""

    limits = Limits(request_ceiling=100.0)
    wanted = True

    def __init__(self, extensions=None):
        self.extensions = extensions
        self.connection = connection()
        self.other = connection()
        self.retries = []

    def _retry_connection(self, connection, error, method, params):
        self.retries.append((connection, error, method, params))
        return self.other


@pytest.fixture
def now(monkeypatch):
    """The clock, in a list of one: adding to it lets time pass."""
    seconds = [1000.0]
    monkeypatch.setattr(deadline, "clock", lambda: seconds[0])
    return seconds


MANUAL = {"options": {"rounds": "manual"}}


def flow_of(owner, **options):
    return RequestFlow(owner, owner.connection, "prompts/get", {"name": "p"}, **options)


@pytest.mark.parametrize("options, result, state, plain", [
    ({}, COMPLETE, DONE, True), ({}, dict(COMPLETE, resultType="complete"), DONE, True), ({}, ASKS, ANSWER, False),
    ({"raw": True}, ASKS, DONE, True), (MANUAL, ASKS, DONE, False), (MANUAL, COMPLETE, DONE, True),
])
def test_what_follows_a_result(options, result, state, plain):
    flow = flow_of(Owner(), **options)
    flow.received(result)
    assert (flow.state, flow.is_plain) == (state, plain)
    assert flow.is_input_required == isinstance(flow.result, InputRequiredResult)
    assert flow.is_input_required == (options == MANUAL and result is ASKS)


def test_in_a_revision_without_types_of_results_every_result_is_the_last():
    owner = Owner()
    owner.connection = connection(LATEST_HANDSHAKE)
    flow = flow_of(owner)
    flow.received(ASKS)
    assert flow.state is DONE and flow.result is ASKS


def test_a_new_round_has_the_state_of_the_one_before_and_the_first_params():
    owner = Owner()
    flow = flow_of(owner)
    for state in ("one", "two"):
        flow.received(dict(ASKS, requestState=state))
        flow.proceed()
        assert flow.state is SEND and flow.params == {"name": "p", "requestState": state}


def test_a_round_is_sent_again_once_on_the_connection_that_the_client_gives():
    owner = Owner()
    flow = flow_of(owner)
    first = flow.connection
    flow.failed(LOST)
    assert flow.state is RETRY and not owner.retries
    flow.proceed()
    assert flow.state is SEND and flow.connection is owner.other
    assert owner.retries == [(first, LOST, "prompts/get", {"name": "p"})]
    again = PeerError(-32603, "no", None, "prompts/get", 1)
    with pytest.raises(PeerError) as caught:
        flow.failed(again)
    assert caught.value is again and len(owner.retries) == 1


def test_each_round_may_be_sent_again():
    owner = Owner()
    flow = flow_of(owner)
    flow.failed(LOST)
    flow.proceed()
    flow.received(ASKS)
    flow.proceed()
    flow.failed(LOST)
    flow.proceed()
    assert flow.state is SEND and len(owner.retries) == 2
    with pytest.raises(AnswerLost):
        flow.failed(LOST)


def test_an_error_of_our_own_is_not_sent_again():
    flow = flow_of(Owner())
    with pytest.raises(LocalProtocolError):
        flow.failed(LocalProtocolError("no"))
    assert flow.state is SEND


def test_a_new_round_goes_to_the_connection_that_there_is_by_then():
    owner = Owner()
    flow = flow_of(owner)
    flow.received(ASKS)
    owner.connection = owner.other
    flow.proceed()
    assert flow.connection is owner.other


@pytest.mark.parametrize("early", [True, False])
def test_after_a_cancellation_the_user_is_asked_nothing(early):
    """It may come before it is known that the server asks something."""
    flow = flow_of(Owner())
    if early:
        flow.cancel("enough")
    flow.received(ASKS)
    if not early:
        flow.cancel("enough")
    with pytest.raises(RequestCancelled, match="enough"):
        flow.proceed()


@pytest.mark.parametrize("last, is_over", [(49.0, False), (51.0, True)])
def test_the_time_of_rounds_and_of_attempts_that_fail_is_counted_but_not_that_of_users(now, last, is_over):
    flow = flow_of(Owner())
    flow.sent()
    now[0] += 30.0
    flow.failed(LOST)
    flow.proceed()
    flow.sent()
    now[0] += 20.0
    flow.received(ASKS)
    now[0] += 1000.0
    flow.proceed()
    flow.sent()
    now[0] += last
    if is_over:
        with pytest.raises(RequestTimeout, match="request_ceiling"):
            flow.received(COMPLETE)
    else:
        flow.received(COMPLETE)
        assert flow.state is DONE


def test_an_attempt_that_fails_counts_against_the_ceiling_of_all_rounds(now):
    flow = flow_of(Owner())
    flow.sent()
    now[0] += 60.0
    flow.failed(LOST)
    flow.proceed()
    flow.sent()
    flow.received(ASKS)
    flow.proceed()
    flow.sent()
    now[0] += 60.0
    with pytest.raises(RequestTimeout, match="request_ceiling"):
        flow.failed(LOST)


def test_an_answer_without_rounds_is_taken_however_long_an_attempt_before_it_took(now):
    """The connection bounds each attempt, by a deadline that pauses while a person is asked."""
    flow = flow_of(Owner())
    flow.sent()
    now[0] += 90.0
    flow.failed(LOST)
    flow.proceed()
    flow.sent()
    now[0] += 150.0
    flow.received(COMPLETE)
    assert flow.state is DONE and flow.result is COMPLETE


def test_an_extension_makes_a_result_of_its_own_type_another_one():
    finished = []

    class Extension:
        def finish(self, client, method, params, result, waiting):
            finished.append((method, params, result))
            return COMPLETE

    own = {"resultType": "later"}
    extensions = SimpleNamespace(of_result=lambda kind, capabilities, rules: Extension() if kind == "later" else None)
    flow = flow_of(Owner(extensions))
    flow.received(own)
    assert flow.state is EXTEND and not finished
    flow.proceed()
    assert flow.state is DONE and flow.result is COMPLETE and not flow.is_plain
    assert finished == [("prompts/get", {"name": "p"}, own)]


def test_a_future_that_is_cancelled_between_two_rounds_is_cancelled_on_the_wire(monkeypatch):
    """The answers are there and the next round is not: its request is cancelled as soon as it is sent."""
    submitted = queue.Queue()
    proceed = RequestFlow.proceed

    def proceed_and_cancel(flow):
        proceed(flow)
        assert submitted.get(timeout=PATIENCE).cancel()

    monkeypatch.setattr(RequestFlow, "proceed", proceed_and_cancel)
    with Scene("2026-07-28", {"prompts/get": rounds(ASKS, SILENT)}) as scene:
        future = scene.client.submit_prompt("p")
        submitted.put(future)
        eventually(lambda: scene.notifications)
        assert future.cancelled()
        assert scene.notifications[0]["params"] == {
            "requestId": scene.requests[1]["id"], "reason": "cancelled by the caller"}
