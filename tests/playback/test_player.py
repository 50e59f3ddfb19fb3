"""A recording is played to a live client as the server: what is found, what is rewritten, what waits, what is refused.
"""
import queue

import pytest

from mcp_ref.deadline import clock
from mcp_ref.devtools.playback.player import Book, Player

from .recorded import META, LiveClient, answer, ask, call, script, tell, text

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "theirs", "version": "1"}}
WELCOME = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
OPENING = [("C", ask(0, "initialize", **HELLO)), ("S", answer(0, **WELCOME)), ("C", tell("notifications/initialized"))]


def test_an_answer_has_the_id_of_the_live_request():
    client = LiveClient(("C", call(7, "echo", x=1)), ("S", text(7, "one")))
    assert client.say(call("mine", "echo", x=1)) == [text("mine", "one")]


def test_the_order_of_members_and_meta_make_no_other_request():
    client = LiveClient(("C", ask(1, "tools/call", name="f", arguments={"a": 1, "b": 2})), ("S", text(1, "x")))
    asked = ask(2, "tools/call", arguments={"b": 2, "a": 1}, name="f", _meta={"traceparent": "00-1-2-03"})
    assert client.say(asked) == [text(2, "x")]


def test_progress_and_notifications_come_in_their_order_with_the_live_token():
    client = LiveClient(
        ("C", call(1, "f", {"progressToken": 9})), ("S", tell("notifications/progress", progressToken=9, progress=1)),
        ("S", tell("notifications/message", level="info", data="x")),
        ("S", tell("notifications/progress", progressToken=9, progress=2)), ("S", text(1, "done")))
    got = client.say(call(5, "f", {"progressToken": "mine"}))
    assert [each.get("method", "answer") for each in got] == [
        "notifications/progress", "notifications/message", "notifications/progress", "answer"]
    assert [got[0]["params"]["progressToken"], got[2]["params"]["progressToken"]] == ["mine", "mine"]


def test_a_message_comes_after_the_pause_that_was_recorded_before_it():
    """A long pause is cut, and a higher speed divides all of them; what was cancelled in a pause goes no further."""
    steps = [("C", call(1, "f", {"progressToken": 9}))]
    steps += [("S", tell("notifications/progress", progressToken=9, progress=number)) for number in (1, 2)]
    steps += [("S", text(1, "done"))]
    book = Book(script(*steps, times=[5.0, 5.0, 1e9, 1e9 + 0.2]), 50.0)
    came = queue.Queue()
    player = Player(book, lambda message, place, apart: came.put((message, clock())))
    for id, last in (("a", "answer"), ("b", "notifications/progress")):
        player.receive(call(id, "f", {"progressToken": id}))
        if id == "b":
            player.receive(tell("notifications/cancelled", requestId="b"))
        player.drain()
        got = [came.get_nowait() for _ in range(came.qsize())]
        assert [each.get("method", "answer") for each, _ in got][-1] == last
    assert len(got) == 1, "the rest of a cancelled request was sent"


def test_pauses_are_as_long_as_recorded():
    steps = [("C", call(1, "f", {"progressToken": 9}))]
    steps += [("S", tell("notifications/progress", progressToken=9, progress=number)) for number in (1, 2)]
    steps += [("S", text(1, "done"))]
    times = []
    player = Player(Book(script(*steps, times=[5.0, 5.1, 5.3, 5.35]), 0.5),
                    lambda message, place, apart: times.append(clock()))
    begun = clock()
    player.receive(call(1, "f", {"progressToken": 1}))
    player.drain()
    waited = [after - before for before, after in zip([begun, *times], times)]
    assert all(live > 1.9 * there for live, there in zip(waited, (0.1, 0.2, 0.05))) and len(waited) == 3, waited


def test_who_asks_for_no_progress_gets_none():
    client = LiveClient(("C", call(1, "f", {"progressToken": 9})),
                        ("S", tell("notifications/progress", progressToken=9, progress=1)), ("S", text(1, "done")))
    assert client.say(call(5, "f")) == [text(5, "done")]


def test_the_nth_equal_request_gets_the_nth_answer_and_then_the_last():
    client = LiveClient(("C", call(1, "f")), ("S", text(1, "a")), ("C", call(2, "f")), ("S", text(2, "b")))
    said = [client.say(call(number, "f"))[0]["result"]["content"][0]["text"] for number in range(4)]
    assert said == ["a", "b", "b", "b"]


ASKING = [("C", call(1, "f")), ("S", ask(1, "elicitation/create", message="?")), ("C", answer(1, action="accept")),
          ("S", tell("notifications/message", level="info", data="x")), ("S", text(1, "done"))]


def test_a_question_holds_up_what_came_after_its_answer():
    client = LiveClient(*ASKING)
    question, = client.say(call("mine", "f"))
    assert question["method"] == "elicitation/create" and question["id"] != "mine"
    got = client.say(answer(question["id"], action="accept"))
    assert [each.get("method", "answer") for each in got] == ["notifications/message", "answer"]
    assert got[1]["id"] == "mine" and not client.book.tally.other


def test_an_answer_that_was_not_recorded_is_noted_and_the_recording_goes_on():
    client = LiveClient(*ASKING)
    question, = client.say(call(3, "f"))
    assert client.say(answer(question["id"], action="decline"))[-1] == text(3, "done")
    assert 'result.action: "accept" there, "decline" here' in client.book.tally.other[0]


def test_an_answer_to_nothing_changes_nothing():
    client = LiveClient(*ASKING)
    client.say(call(3, "f"))
    assert client.say(answer("replay-9", action="accept")) == []


@pytest.mark.parametrize("asked, code, words", [
    (call(2, "add", a=1, b=3), -32602, [
        "not in the recording", "tools/call", "line 1 of it", "arguments.b: 3 here, 2 there"]),
    (call(2, "sub", a=1, b=2), -32602, ['name: "sub" here, "add" there']),
    (ask(2, "tools/lst"), -32601, ["the recording has no tools/lst", "nearest is tools/list"]),
    (call(2, "add", META, a=1, b=2), -32600, ["recorded with a handshake: begin with initialize"]),
])
def test_what_was_not_recorded_gets_an_error_that_names_the_nearest_request(asked, code, words):
    client = LiveClient(("C", call(1, "add", a=1, b=2)), ("S", text(1, "3")), ("C", ask(2, "tools/list")),
                        ("S", answer(2, tools=[])))
    got, = client.say(asked)
    assert got["id"] == 2 and got["error"]["code"] == code
    assert all(word in got["error"]["message"] for word in words), got
    assert len(client.book.tally.refused) == 1


def test_a_recording_without_requests_says_so():
    got, = LiveClient(("C", tell("notifications/initialized"))).say(ask(1, "ping"))
    assert "it has no request of a client" in got["error"]["message"]


def test_a_request_whose_answer_is_missing_is_no_silence():
    got, = LiveClient(("C", call(1, "f")), "the rest").say(call(8, "f"))
    assert got["id"] == 8 and "does not say what came of" in got["error"]["message"]


def test_a_request_that_was_given_up_has_no_answer():
    client = LiveClient(("C", call(1, "f")), ("C", tell("notifications/cancelled", requestId=1)))
    assert client.say(call(8, "f")) == [] and not client.book.tally.refused


def test_a_request_that_the_live_client_gives_up_ends():
    client = LiveClient(*ASKING)
    question, = client.say(call(3, "f"))
    client.say(tell("notifications/cancelled", requestId=3))
    assert client.say(answer(question["id"], action="accept")) == []


def test_initialize_is_answered_whatever_the_client_is_called():
    client = LiveClient(*OPENING, ("S", ask(0, "roots/list")), ("C", answer(0, roots=[])))
    params = {**HELLO, "protocolVersion": "2025-06-18", "clientInfo": {"name": "ours", "version": "2"}}
    assert client.say(ask("a", "initialize", **params)) == [answer("a", **WELCOME)]
    question, = client.say(tell("notifications/initialized"))
    assert question["method"] == "roots/list"


def test_each_live_client_follows_a_recorded_one_of_its_own():
    steps = []
    for name in ("first", "second"):
        steps += [("C", ask(0, "initialize", **HELLO)), ("S", answer(0, **WELCOME)), ("C", call(1, "who")),
                  ("S", text(1, name))]
    client = LiveClient(*steps)
    said = []
    for _ in range(2):
        client.say(ask(0, "initialize", **HELLO))
        said.append(client.say(call(1, "who"))[0]["result"]["content"][0]["text"])
    assert said == ["first", "second"]


def test_both_eras_of_one_recording_are_kept_apart():
    client = LiveClient(("C", call(1, "f", META)), ("S", text(1, "new")), ("C", ask(2, "initialize", **HELLO)),
                        ("S", answer(2, **WELCOME)), ("C", call(3, "f")), ("S", text(3, "old")))
    assert client.say(call(1, "f")) == [text(1, "old")]
    assert client.say(call(2, "f", META)) == [text(2, "new")]


def test_a_subscription_has_the_live_id_and_its_own_place():
    about = {"io.modelcontextprotocol/subscriptionId": 1}
    client = LiveClient(
        ("C", ask(1, "subscriptions/listen", notifications={}, _meta=META)),
        ("S", tell("notifications/subscriptions/acknowledged", notifications={}, _meta=about)),
        ("C", call(2, "visit", META)), ("S", tell("notifications/resources/updated", uri="a:b", _meta=about)),
        ("S", text(2, "done")))
    acknowledged, = client.say(ask("mine", "subscriptions/listen", notifications={}, _meta=META), "stream")
    assert acknowledged["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "mine"}
    updated, _ = client.say(call("next", "visit", META), "post")
    assert updated["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "mine"}
    assert client.places == ["stream", "stream", "post"]


def test_what_is_no_message_is_refused():
    got, = LiveClient(*OPENING).say(3)
    assert got["error"]["code"] == -32600


def test_a_masked_secret_is_told_with_its_place():
    made = script(("C", call(1, "f", token="***0123abcd")), ("S", text(1, "x")))
    assert made.masked == ["message 1 (tools/call): params.arguments.token"]
