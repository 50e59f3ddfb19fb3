"""Ladders: what stands on a rung, which way it points, and how several stand side by side."""
import pytest

from mcp_ref.devtools.ladder import Rung, beside, draw, rungs
from mcp_ref.wiretrace import Event

ASKED = {"resultType": "input_required", "inputRequests": {
    "a": {"method": "elicitation/create", "params": {}}, "b": {"method": "roots/list"}}}


@pytest.mark.parametrize("message, label", [
    ({"id": 1, "method": "tools/call", "params": {"name": "x"}}, "tools/call"),
    ({"id": 2, "method": "tools/call", "params": {"inputResponses": {}}}, "tools/call + answers"),
    ({"id": 3, "method": "tools/list"}, "tools/list"),
    ({"method": "notifications/initialized"}, "notifications/initialized"),
    ({"id": 4, "method": "acme/search"}, "acme/search (vendor)"),
    ({"id": 1, "result": {}}, "result"),
    ({"id": 1, "result": {"resultType": "complete"}}, "result"),
    ({"id": 1, "result": ASKED}, "input_required elicitation roots"),
    ({"id": 1, "result": {"resultType": "input_required", "requestState": "s"}}, "input_required"),
    ({"id": 1, "result": {"resultType": "input_required", "inputRequests": [5]}}, "input_required"),
    ({"id": 1, "result": 5}, "result"),
    ({"id": 1, "error": {"code": -32601, "message": "no"}}, "error -32601"),
    ({"id": 1, "error": 5}, "result"),
    ({"id": 1, "method": "a\x1b[2J\n"}, "a\\x1b[2J\\n"),
    ({"id": 1, "result": {"resultType": "task", "taskId": "t", "status": "working"}}, "task: working"),
    ({"id": 1, "result": {"task": {"taskId": "t", "status": "working", "statusMessage": "0%"}}}, "result: working, 0%"),
    ({"id": 1, "result": {"taskId": "t", "status": "working", "statusMessage": 5}}, "result: working"),
    ({"id": 1, "result": {"taskId": "t", "status": "input_required", "inputRequests": {"a": {"method": "roots/list"}}}},
     "result: input_required roots"),
    ({"id": 1, "result": {"taskId": "t", "status": {}, "inputRequests": {"a": {"method": "roots/list"}}}}, "result"),
    ({"method": "notifications/tasks", "params": {"taskId": "t", "status": "failed"}}, "notifications/tasks: failed"),
    ({"id": 1, "method": "tasks/get", "params": {"taskId": "t"}}, "tasks/get"),
    ({"id": 1, "result": {"status": "working"}}, "result"),
    (None, "not a message"),
    (5, "not a message"),
])
@pytest.mark.parametrize("direction", ["client", "server"])
def test_a_rung_says_what_a_message_is(direction, message, label):
    assert rungs([Event(0.0, direction, "message", message)]) == [Rung(direction, label)]


def test_a_batch_is_a_rung_for_each_and_what_is_no_message_is_left_out():
    ping = {"id": 1, "method": "ping"}
    events = [Event(0.0, "client", "message", [ping, ping]), Event(0.1, "", "state", None, "phase operating"),
              Event(0.2, "server", "finding", None, "odd"), Event(0.3, "server", "message", {"id": 1, "result": {}})]
    assert rungs(events) == [Rung("client", "ping"), Rung("client", "ping"), Rung("server", "result")]


def test_what_the_client_says_points_to_the_right():
    assert draw([Rung("client", "ping"), Rung("server", "result")], 10) == ["ping ---->", "<-- result"]


@pytest.mark.parametrize("width", [26, 28, 40])
def test_a_line_is_never_wider_than_its_ladder(width):
    lines = draw([Rung(direction, "notifications/" + "x" * length)
                  for direction in ("client", "server") for length in range(0, 60, 7)], width)
    assert all(len(line) == width for line in lines)


def test_ladders_stand_side_by_side_as_long_as_the_longest():
    ping, pong = Rung("client", "ping"), Rung("server", "pong")
    assert beside({"one": [ping], "two": [ping, pong]}, 10).splitlines() == [
        "   one         two", "ping ---->  ping ---->", "            <---- pong"]


def test_nothing_is_drawn_of_nothing():
    assert beside({}) == "" and beside({"one": []}, 5) == " one\n"
