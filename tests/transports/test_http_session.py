"""A session as a transport: where messages go, what is kept of them and for how long, and threads that meet in it."""
import threading

import pytest

from mcp_ref.limits import Limits
from mcp_ref.peer.executors import CallerRuns
from mcp_ref.peer.outbox import Outbox
from mcp_ref.peer.routing import ReplyOutbox
from mcp_ref.revisions import revision
from mcp_ref.streamable.server.reply_stream import LISTENING, REPLY, EventId, Replay, ReplyStream, event_id
from mcp_ref.streamable.server.session import HttpSession
from mcp_ref.transports.tap import tap
from mcp_ref.wiretrace import Trace
from tests.support.clocks import by_hand
from tests.support.http_exchange import Web, exchange, request
from tests.support.patience import WAIT
from tests.support.sides import Gate, eventually, in_thread, said, work_params, working_server


class Agreed:
    """As much of a connection as a session asks for."""

    def __init__(self, name="2025-06-18"):
        self.session = self.role = self
        self.revision = revision(name)
        self.told = []

    def missed(self, connection, count):
        self.told.append(count)


@pytest.fixture
def session():
    made = HttpSession("id", None, Limits(max_session_streams=3))
    made.connection = Agreed()
    return made


def reply_to(session, *keys, json=True, sse=True):
    made = exchange("POST")
    stream = ReplyStream(made, (), json, sse, keys=keys, session=session)
    assert session.expect(stream) == ""
    return made


# -- Where messages go -------------------------------------------------------------------------


def test_answers_are_told_apart_by_type_of_id(session):
    number, text = reply_to(session, 1), reply_to(session, "1")
    session.post(b'"text"', "1", True)
    assert (number.calls, text.message) == ([], "text")
    session.post(b'"number"', 1, True)
    assert number.message == "number"


def test_an_id_may_be_used_again_after_its_answer_only(session):
    reply_to(session, 1)
    assert session.expect(ReplyStream(exchange("POST"), keys=(2, 1), session=session)) == "id in use"
    assert not reply_to(session, 2).calls  # the refused one has taken nothing
    session.post(b"1", 1, True)
    reply_to(session, 1)


def test_an_answer_that_nobody_waits_for_goes_nowhere(session):
    listening = exchange("GET")
    assert session.listen(listening)
    session.post(b"{}", 9, True)
    assert listening.events == [] and session.counters() == {"answers without a request": 1}


@pytest.mark.parametrize("json, sse, status, kind", [
    (True, True, 200, "text/event-stream"), (False, True, 200, "text/event-stream"), (True, False, 202, None)])
def test_a_request_that_gets_no_answer_has_its_reply_ended(session, json, sse, status, kind):
    reply = reply_to(session, 1, json=json, sse=sse)
    session.post(None, 1, True)
    assert (reply.status, reply.finished, reply.raw) == (status, True, b"")
    assert reply.headers.get("content-type") == kind and not session.busy


def test_what_belongs_to_a_reply_that_can_be_no_stream_goes_to_the_listener(session):
    reply, listening = reply_to(session, 1, sse=False), exchange("GET")
    session.post(b'"early"', 1)
    assert session.listen(listening) and listening.messages() == ["early"]
    session.post(b'"now"', 1)
    session.post(b'"answer"', 1, True)
    assert listening.messages() == ["early", "now"] and reply.message == "answer"


def test_no_more_streams_than_max_session_streams(session):
    streams = [exchange("GET") for _ in range(4)]
    for stream in streams[:3]:
        session.listen(stream)
    streams[1].leave()
    session.listen(streams[3])  # in the place of the dead one
    assert [stream.finished for stream in streams] == [False, False, False, False]
    session.listen(exchange("GET"))
    assert [stream.finished for stream in streams] == [True, False, False, False]


def test_messages_that_wait_are_bounded_by_bytes():
    session = HttpSession("id", None, Limits(max_waiting_bytes=25))
    session.connection = Agreed()
    for number in range(5):
        session.post(b'"%08d"' % number)
    listening = exchange("GET")
    session.listen(listening)
    assert listening.messages() == ["00000003", "00000004"]
    assert session.counters() == {"messages that waited too long": 3} and session.connection.told == [3]


def test_what_waits_stays_in_order_when_the_stream_breaks_on_the_way(session):
    for number in range(4):
        session.post(b"%d" % number)
    first, second = exchange("GET"), exchange("GET")
    first.lose_next = True
    session.listen(first)
    session.post(b"4")
    session.listen(second)
    assert (first.messages(), second.messages()) == ([], [0, 1, 2, 3, 4])


def test_a_late_loss_does_not_touch_the_next_connection(session):
    first, second = exchange("GET"), exchange("GET")
    session.listen(first)
    session.post(b"1")
    lost = first.on_close
    assert session.resume(second, event_id(first.events[0].id))
    lost()
    session.post(b"2")
    assert second.messages() == [2]


# -- The end -----------------------------------------------------------------------------------


def test_the_end_wakes_whoever_parked_once_and_whoever_comes_later():
    for parked_before in (True, False):
        session, woken = HttpSession("id", None, Limits()), []
        if parked_before:
            assert session.park(lambda: woken.append(1))
        session.close()
        if not parked_before:
            assert session.park(lambda: woken.append(1))
        session.close()
        assert woken == [1] and session.read() is None


def test_after_the_end_nothing_is_taken(session):
    session.close()
    stream = ReplyStream(exchange("POST"), keys=(1,), session=session)
    assert session.expect(stream) == "session"
    assert session.listen(exchange("GET")) is False
    session.post(b"1")
    session.post(b"1", 1, True)
    assert not session.busy and session._waiting == []


# -- What is kept ------------------------------------------------------------------------------


def kept(replay, kind=REPLY, stream=1):
    return [event.data for event in replay.of(kind, stream)]


def test_kept_events_are_bounded_by_number_bytes_and_time():
    replay = Replay(Limits(max_replay_events=3, max_replay_bytes=1000, replay_seconds=10.0))
    for place in range(5):
        replay.add(EventId(REPLY, 1, place), b"%d" % place, float(place))
    assert kept(replay) == [b"2", b"3", b"4"]
    replay.forget(13.0)
    assert kept(replay) == [b"4"]
    replay.add(EventId(REPLY, 1, 5), b"5" * 999, 5.0)
    assert kept(replay) == [b"4", b"5" * 999]
    replay.add(EventId(REPLY, 1, 6), b"6" * 5000, 5.0)
    assert kept(replay) == [b"6" * 5000]  # more than the limit: it is the answer that somebody waits for
    replay.add(EventId(REPLY, 1, 7), b"7", 5.0)
    assert kept(replay) == [b"7"]


def test_events_of_streams_are_kept_apart():
    replay = Replay(Limits())
    for kind in (REPLY, LISTENING):
        for stream in (1, 2):
            replay.add(EventId(kind, stream, 0), b"%d" % (stream + 10 * (kind == REPLY)), 0.0)
    assert [kept(replay, kind, stream) for kind in (REPLY, LISTENING) for stream in (1, 2, 3)] == [
        [b"11"], [b"12"], [], [b"1"], [b"2"], []]


@pytest.mark.parametrize("text", ["p1-2", "g12345-0"])
def test_event_ids_are_read_as_they_are_written(text):
    assert str(event_id(text)) == text


@pytest.mark.parametrize("text", ["", "p1", "1-2", "x1-2", "p1-2 ", " p1-2", "p1-2\n", "p-1", "p1-", "p1--2", "p1.0-2",
                                  "p\u0661-1", "p1-" + "9" * 17])
def test_other_texts_are_no_event_ids(text):
    assert event_id(text) is None


def count(ctx):
    for number in range(3):
        ctx.log("info", number)
    return "counted"


def test_an_answer_is_kept_for_replay_seconds(monkeypatch):
    limits = Limits(replay_seconds=100.0, session_idle=1000.0)
    with Web(working_server({"count": count}, limits=limits), limits=limits) as web:
        reply, now = web.ask(1, "tools/call", work_params("count")), web.session.used
        for after, status in ((99.0, 200), (101.0, 400)):
            by_hand(monkeypatch, now + after)
            web.endpoint.tick()
            assert web.get(reply.events[0].id).status == status
        monkeypatch.undo()


def test_a_listener_goes_on_though_nothing_of_it_is_kept(monkeypatch):
    with Web(working_server({}), limits=Limits(replay_seconds=1.0, max_session_streams=1)) as web:
        stream, now = web.get(), web.session.used
        stream.leave()
        web.get()  # takes its place
        by_hand(monkeypatch, now + 5.0)
        web.endpoint.tick()
        again = web.get(stream.events[-1].id)
        web.server.broadcast("notifications/tools/list_changed")
        assert again.status == 200 and not again.finished and len(again.messages()) == 1
        assert again.events[0].id.partition("-")[0] == stream.events[0].id.partition("-")[0]
        assert again.events[0].id != stream.events[0].id


def test_json_replies_are_not_kept():
    with Web(working_server({"quick": lambda ctx: "x"})) as web:
        for number in range(20):
            web.ask(number, "tools/call", work_params("quick"))
        assert len(web.session.replay) == 0 and not web.session.busy


# -- Threads -----------------------------------------------------------------------------------


@pytest.mark.race
def test_every_message_arrives_once_whatever_is_cut_meanwhile():
    """[2025-03-26..2025-11-25 basic/transports §Multiple Connections] MUST"""
    total = 60
    with Web(working_server({"quick": lambda ctx: "x"})) as web:
        heard, last = [], None

        def listen():
            nonlocal last
            while len(heard) < total:
                stream = web.get(last)
                eventually(lambda: len(stream.messages()) >= min(3, total - len(heard)))
                stream.leave()
                events = [event for event in stream.events if event.data]
                heard.extend(event.data for event in events)
                last = stream.events[-1].id if stream.events else last

        def talk(start):
            for number in range(start, total, 3):
                web.connection.notify("notifications/message", {"level": "info", "data": number})

        listener = in_thread(listen)
        for talker in [in_thread(talk, start) for start in range(3)]:
            talker.get()
        listener.get()
        assert len(heard) == len(set(heard)) == total


@pytest.mark.race
def test_an_answer_and_a_resumption_at_the_same_time():
    with Gate() as gate, Web(working_server({"slow": lambda ctx: (count(ctx), gate.hold())[0]})) as web:
        reply = web.begin(1, "tools/call", work_params("slow"))
        gate.entered()
        reply.leave()
        opening_gate = in_thread(gate.open)
        rest = web.get(reply.events[-1].id)
        opening_gate.get()
        assert rest.answer()["id"] == 1 and len(rest.messages()) == 1


@pytest.mark.race
def test_many_posts_of_one_session_at_once():
    with Web(working_server({"quick": lambda ctx: str(ctx.request_id), "count": count})) as web:
        made = [web.made("POST", request(n, "tools/call", work_params("count" if n % 3 == 0 else "quick")))
                for n in range(24)]
        posting = [in_thread(lambda part: [web.endpoint.handle(one) for one in part], made[n::4]) for n in range(4)]
        for outcome in posting:
            outcome.get()
        for n, one in enumerate(made):
            assert one.answer()["id"] == n and len(one.messages()) == (4 if n % 3 == 0 else 1)
        assert not web.session.busy


@pytest.mark.race
def test_a_session_that_ends_while_posts_come():
    with Web(working_server({"quick": lambda ctx: "x"})) as web:
        made = [web.made("POST", request(n, "tools/call", work_params("quick"))) for n in range(20)]
        posting = in_thread(lambda: [web.endpoint.handle(one) for one in made])
        assert web.delete().status == 204
        posting.get()
        assert {one.done().status for one in made} <= {200, 404} and len(web.endpoint.sessions) == 0


# -- The dispatcher's side ---------------------------------------------------------------------


def test_a_routed_outbox_has_the_methods_of_an_outbox():
    public = {name for name in vars(Outbox) if not name.startswith("_")}
    assert public - set(vars(ReplyOutbox)) == {"outgoing"}  # which is the same for both: bytes


def test_a_borrowed_thread_knows_that_it_is_inside_a_job():
    executor, other, seen = CallerRuns("test"), CallerRuns("other"), []

    class Job:
        def run(self):
            seen.append((executor.in_worker(), other.in_worker(), executor.may_wait()))

    assert executor.run_or_submit([Job()], None) and seen == [(True, False, True)] and not executor.in_worker()
    assert executor.run_or_submit([Job(), Job(), Job()], ReplyOutbox(HttpSession(None, None, Limits())))
    eventually(lambda: len(seen) == 4)
    assert seen[1:] == [(True, False, True)] * 3
    executor.close()
    assert not executor.run_or_submit([Job()], None) and not executor.submit([Job()], None)
    other.close()


def test_a_handler_that_ends_its_own_session_does_not_wait_for_itself():
    def end(ctx):
        ctx.connection.close("by the handler")
        return str(ctx.connection.wait_closed(WAIT))

    with Web(working_server({"end": end})) as web:
        connection = web.connection
        assert web.begin(1, "tools/call", work_params("end")).done().status == 404
        assert connection.wait_closed(WAIT) and web.ask(2, "ping").status == 404


def test_pings_are_not_sent_where_no_stream_may_carry_them():
    server = working_server({"quick": lambda ctx: "x"}, keepalive=0.001)
    with Web(server) as web:
        names = {thread.name for thread in threading.enumerate()}
        assert not any(name.startswith("mcp-ref:keepalive") for name in names)
        web.lives()


def tapped(server, sink):
    """An endpoint of a server whose connections have a tap on them."""
    web, trace = Web(server, None), Trace(sink)
    web.endpoint.connect = lambda transport: server.connect(tap(transport, trace, "server"))
    web.open("2025-11-25")
    return web


def test_the_traffic_of_a_session_is_seen_by_a_tap():
    events = []
    with tapped(working_server({"count": count}), events.append) as web:
        assert said(web.ask(1, "tools/call", work_params("count")).answer()) == "counted"
    text = repr(events)
    for part in ("initialize", "protocolVersion", "tools/call", "notifications/message", "counted"):
        assert part in text, text


def test_a_session_with_a_tap_on_it_can_be_polled():
    with tapped(working_server({"slow": lambda ctx: str(ctx.poll_later())}), lambda event: None) as web:
        reply = web.ask(1, "tools/call", work_params("slow"))
        assert said(web.get(reply.events[0].id).answer()) == "True"
