"""The states of a call that takes several requests: each step by hand, without a server.

The drivers are tested with the rules that they keep: spec/client/test_mrtr_client.py, test_recovery.py and
test_restart.py.
"""
import queue
from types import SimpleNamespace

import pytest

from mcp_ref import deadline
from mcp_ref.client.mrtr import InputRounds
from mcp_ref.client.request_flow import RequestFlow
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


OPTIONS = {"timeout": None, "progress": None, "extend_on_progress": False, "meta": None}
MANUAL = {**OPTIONS, "rounds": "manual"}
SEND, RETRY, EXTEND, ANSWER = RequestFlow.SEND, RequestFlow.RETRY, RequestFlow.EXTEND, RequestFlow.ANSWER
DONE = "done"


class Flow:
    """A flow that is driven by hand; `step` is what it wants next, DONE at its end with `result`."""

    def __init__(self, owner, options=OPTIONS, read=lambda result: result):
        self.kept = []
        self.flow = RequestFlow(owner, owner.connection, "prompts/get", {"name": "p"}, options, read,
                                lambda result, message: self.kept.append(message))
        self._steps = self.flow.steps()
        self.goes_on()

    def goes_on(self, outcome=None):
        try:
            self.step, self.result = self._steps.send(outcome), None
        except StopIteration as done:
            self.step, self.result = DONE, done.value
        return self.step

    def takes(self, outcome):
        """Return the step after this result, or after this error in place of one."""
        assert self.step is SEND
        return self.goes_on(outcome)


@pytest.mark.parametrize("how, result, step, is_kept", [
    ({}, COMPLETE, DONE, True), ({}, dict(COMPLETE, resultType="complete"), DONE, True), ({}, ASKS, ANSWER, False),
    ({"read": None}, ASKS, DONE, False), ({"options": MANUAL}, ASKS, DONE, False),
    ({"options": MANUAL}, COMPLETE, DONE, True),
])
def test_what_follows_a_result(how, result, step, is_kept):
    flow = Flow(Owner(), **how)
    assert flow.takes(result) == step and bool(flow.kept) == is_kept
    assert isinstance(flow.result, InputRequiredResult) == ("options" in how and result is ASKS)
    assert flow.flow.params == ({"name": "p"} if step is ANSWER else None)


def test_in_a_revision_without_types_of_results_every_result_is_the_last():
    owner = Owner()
    owner.connection = connection(LATEST_HANDSHAKE)
    flow = Flow(owner)
    assert flow.takes(ASKS) is DONE and flow.result is ASKS


def test_a_new_round_has_the_state_of_the_one_before_and_the_first_params():
    flow = Flow(Owner())
    for state in ("one", "two"):
        assert flow.takes(dict(ASKS, requestState=state)) is ANSWER
        assert flow.goes_on() is SEND and flow.flow.params == {"name": "p", "requestState": state}
    assert flow.takes(COMPLETE) is DONE and not flow.kept


def test_a_round_is_sent_again_once_on_the_connection_that_the_client_gives():
    owner = Owner()
    flow = Flow(owner)
    first = flow.flow.connection
    assert flow.takes(LOST) is RETRY and not owner.retries
    assert flow.goes_on() is SEND and flow.flow.connection is owner.other
    assert owner.retries == [(first, LOST, "prompts/get", {"name": "p"})]
    with pytest.raises(AnswerLost) as caught:
        flow.takes(LOST)
    assert caught.value is LOST and len(owner.retries) == 1


def test_each_round_may_be_sent_again():
    owner = Owner()
    flow = Flow(owner)
    assert flow.takes(LOST) is RETRY and flow.goes_on() is SEND
    assert flow.takes(ASKS) is ANSWER and flow.goes_on() is SEND
    assert flow.takes(LOST) is RETRY and flow.goes_on() is SEND
    assert len(owner.retries) == 2
    with pytest.raises(AnswerLost):
        flow.takes(LOST)


@pytest.mark.parametrize("rules, error", [
    (LATEST, LocalProtocolError("no")), (LATEST, PeerError(-32603, "no", None, "prompts/get", 1)),
    (LATEST_HANDSHAKE, PeerError(-32022, "no", None, "prompts/get", 1)), (LATEST_HANDSHAKE, LOST),
])
def test_an_error_that_is_not_sent_again_needs_no_thread_that_waits(rules, error):
    owner = Owner()
    owner.connection = connection(rules)
    with pytest.raises(type(error)) as caught:
        Flow(owner).takes(error)
    assert caught.value is error and not owner.retries


def test_a_new_round_goes_to_the_connection_that_there_is_by_then():
    owner = Owner()
    flow = Flow(owner)
    flow.takes(ASKS)
    owner.connection = owner.other
    assert flow.goes_on() is SEND and flow.flow.connection is owner.other


@pytest.mark.parametrize("early", [True, False])
def test_after_a_cancellation_the_user_is_asked_nothing(early):
    """It may come before it is known that the server asks something."""
    flow = Flow(Owner())
    if early:
        flow.flow.cancel("enough")
    flow.takes(ASKS)
    if not early:
        flow.flow.cancel("enough")
    with pytest.raises(RequestCancelled, match="enough"):
        flow.goes_on()


@pytest.mark.parametrize("last, is_over", [(49.0, False), (51.0, True)])
def test_the_time_of_rounds_and_of_attempts_that_fail_is_counted_but_not_that_of_users(now, last, is_over):
    flow = Flow(Owner())
    now[0] += 30.0
    flow.takes(LOST)
    now[0] += 1000.0
    flow.goes_on()
    now[0] += 20.0
    flow.takes(ASKS)
    now[0] += 1000.0
    flow.goes_on()
    now[0] += last
    if is_over:
        with pytest.raises(RequestTimeout, match="request_ceiling"):
            flow.takes(COMPLETE)
    else:
        assert flow.takes(COMPLETE) is DONE


def test_an_attempt_that_fails_counts_against_the_ceiling_of_all_rounds(now):
    flow = Flow(Owner())
    now[0] += 60.0
    flow.takes(LOST)
    flow.goes_on()
    flow.takes(ASKS)
    flow.goes_on()
    now[0] += 60.0
    with pytest.raises(RequestTimeout, match="request_ceiling"):
        flow.takes(LOST)


def test_an_answer_without_rounds_is_taken_however_long_an_attempt_before_it_took(now):
    """The connection bounds each attempt, by a deadline that pauses while a person is asked."""
    flow = Flow(Owner())
    now[0] += 90.0
    flow.takes(LOST)
    flow.goes_on()
    now[0] += 150.0
    assert flow.takes(COMPLETE) is DONE and flow.result is COMPLETE


def test_an_extension_makes_a_result_of_its_own_type_another_one():
    finished = []

    class Extension:
        def finish(self, client, method, params, result, waiting):
            finished.append((method, params, result))
            return COMPLETE

    own = {"resultType": "later"}
    extensions = SimpleNamespace(of_result=lambda kind, capabilities, rules: Extension() if kind == "later" else None)
    flow = Flow(Owner(extensions))
    assert flow.takes(own) is EXTEND and not finished
    assert flow.goes_on() is DONE and flow.result is COMPLETE and not flow.kept
    assert finished == [("prompts/get", {"name": "p"}, own)]


def test_a_future_that_is_cancelled_between_two_rounds_is_cancelled_on_the_wire(monkeypatch):
    """The answers are there and the next round is not: its request is cancelled as soon as it is sent."""
    submitted = queue.Queue()
    answer = InputRounds.answer

    def answer_and_cancel(*args):
        params = answer(*args)
        assert submitted.get(timeout=PATIENCE).cancel()
        return params

    monkeypatch.setattr(InputRounds, "answer", answer_and_cancel)
    with Scene("2026-07-28", {"prompts/get": rounds(ASKS, SILENT)}) as scene:
        future = scene.client.submit_prompt("p")
        submitted.put(future)
        eventually(lambda: scene.notifications)
        assert future.cancelled()
        assert scene.notifications[0]["params"] == {
            "requestId": scene.requests[1]["id"], "reason": "cancelled by the caller"}
