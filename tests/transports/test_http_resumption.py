"""Streams of sessions that processes share, resumed in another process: nothing is lost, and nothing comes twice."""
import contextlib
import http.client
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.parse

import pytest

from mcp_ref.limits import Limits
from mcp_ref.server import Context, SqliteStore
from mcp_ref.streamable.server.reply_stream import event_id
from tests.support.clocks import by_hand, of_stores
from tests.support.http_exchange import opening
from tests.support.patience import WAIT
from tests.support.requirements_table import HANDSHAKE
from tests.support.sides import Gate, eventually, in_thread
from tests.transports.sites import Site, call, times

RESUMING = HANDSHAKE[1:]
TALK = {"name": "talk"}


def talking(site, before=("a",), after=("b",)):
    """A tool that says something, waits at a gate, says something more and is done."""
    gate = Gate()
    for server in site.servers:
        @server.tool
        def talk(ctx: Context) -> str:
            for text in before:
                ctx.log("error", text)
            gate.hold()
            for text in after:
                ctx.log("error", text)
            return "done"
    return gate


def heard(*streams):
    """What was said on these streams, in order; the answer is "done"."""
    found = [message for stream in streams for message in stream.messages()]
    return [message["params"]["data"] if "params" in message else message["result"]["content"][0]["text"]
            for message in found]


def ids(*streams):
    return [event.id for stream in streams for event in stream.events if event.id]


def last(*streams):
    return ids(*streams)[-1]


def copy(site, place):
    session, = site[place].endpoint.sessions.all()
    return session


def rows(site, query="SELECT count(*) FROM events"):
    """How many events are kept, in the file."""
    with contextlib.closing(sqlite3.connect(site.path)) as database:
        return database.execute(query).fetchone()[0]


# -- Replies -----------------------------------------------------------------------------------


@pytest.mark.race
@pytest.mark.spec("http.resume-replay", "http.resume-no-cross-stream", "http.resume-offer",
                  "http.resume-event-id-unique")
@pytest.mark.parametrize("revision", RESUMING)
def test_a_reply_whose_connection_broke_goes_on_in_another_process(revision, tmp_path):
    """[2025-03-26..2025-11-25 basic/transports §Resumability and Redelivery] MUST NOT"""
    with Site(tmp_path, revision) as site, talking(site, "abc") as gate:
        reply, other = [site[0].begin(id, "tools/call", TALK) for id in (1, 2)]
        gate.entered(2)
        arrived = [event.id for event in reply.events if event.data]
        reply.leave()
        rest = site[1].get(arrived[0])
        assert heard(rest) == ["b", "c"] and not rest.finished
        gate.open()
        assert rest.answer()["id"] == 1 and heard(rest) == ["b", "c", "b", "done"]
        assert ids(rest)[:2] == arrived[1:] and len(set(ids(reply, rest))) == len(ids(reply)) + 2
        assert other.answer()["id"] == 2 and heard(other) == ["a", "b", "c", "b", "done"]
        assert heard(site[1].get(arrived[2]).done()) == heard(site[0].get(arrived[2]).done()) == ["b", "done"]
        eventually(lambda: not copy(site, 1).busy and not copy(site, 0).busy)


@pytest.mark.race
@pytest.mark.spec("http.no-broadcast")
def test_the_connection_that_was_left_ends_where_the_request_runs(tmp_path):
    """[2025-03-26..2025-11-25 basic/transports §Multiple Connections] MUST"""
    with Site(tmp_path) as site, talking(site) as gate:
        reply = site[0].begin(1, "tools/call", TALK)
        gate.entered()
        rest = site[1].get(last(reply))
        assert heard(reply.done()) == ["a"] and not rest.finished
        gate.open()
        assert rest.answer() and heard(rest) == ["b", "done"] and heard(reply) == ["a"]


@pytest.mark.race
def test_a_reply_is_passed_from_one_process_to_the_next_and_back(tmp_path, monkeypatch):
    times(monkeypatch, ASK_SECONDS=1e6)
    with Site(tmp_path) as site:
        site.add()
        with talking(site, "ab", "cd") as gate:
            streams = [site[0].begin(1, "tools/call", TALK)]
            gate.entered()
            for place in (1, 2, 1, 0, 2):
                streams.append(site[place].get(last(*streams)))
                streams[-2].done()
                assert not streams[-1].finished
            gate.open()
            assert streams[-1].answer()["id"] == 1 and heard(*streams) == ["a", "b", "c", "d", "done"]
            assert [stream.events for stream in streams[1:-1]] == [[]] * 4
        for place in range(3):
            eventually(lambda: not copy(site, place).busy)


@pytest.mark.spec("http.resume-server-may-close", "http.resume-retry-before-close")
def test_a_client_that_was_told_to_poll_comes_back_to_another_process(tmp_path):
    """[2025-11-25 basic/transports §Sending Messages to the Server] MAY"""
    with Site(tmp_path, "2025-11-25") as site, site.gate:
        for server in site.servers:
            @server.tool
            def long(ctx: Context) -> bool:
                told = ctx.poll_later()
                site.gate.hold()
                return told
        reply = site[0].begin(1, "tools/call", {"name": "long"}).done()
        assert reply.messages() == [] and len(reply.retries) == 1
        rest = site[1].get(last(reply))
        site[1].endpoint.poll_after = 0
        eventually(lambda: site[1].endpoint.tick() or rest.finished)  # once the first process was heard of
        assert rest.done().messages() == [] and len(rest.retries) == 1 and ids(rest) == []
        again = site[1].get(last(reply))
        site.gate.open()
        assert again.answer()["result"]["content"][0]["text"] == "true"


def test_an_answer_that_nobody_received_is_in_the_store_when_its_process_is_gone(tmp_path):
    with Site(tmp_path) as site, talking(site) as gate:
        gate.open()
        reply = site[0].ask(1, "tools/call", TALK)
        site[0].endpoint.close(0)
        assert heard(site.add().get(ids(reply)[0]).done()) == ["b", "done"]
        over = site[1].get(last(reply))
        assert over.status == 200 and over.done().messages() == []


@pytest.mark.race
def test_an_answer_and_a_resumption_at_the_same_time(tmp_path):
    with Site(tmp_path) as site, talking(site) as gate:
        reply = site[0].begin(1, "tools/call", TALK)
        gate.entered()
        reply.leave()
        opening_gate = in_thread(gate.open)
        rest = site[1].get(last(reply))
        opening_gate.get()
        rest.done()
        assert heard(rest) == ["b", "done"]


@pytest.mark.race
def test_every_event_of_a_reply_comes_once_whatever_is_cut_meanwhile(tmp_path):
    total = 60
    with Site(tmp_path) as site:
        for server in site.servers:
            @server.tool
            def many(ctx: Context) -> str:
                for number in range(total):
                    ctx.log("error", number)
                    ctx.cancelled.wait(0.002)
                return "done"
        streams = [site[0].begin(1, "tools/call", {"name": "many"})]
        eventually(lambda: ids(streams[0]))
        number = 0
        while not streams[-1].finished:
            number += 1
            streams[-1].leave()
            streams.append(site[number % 2].get(last(*streams)))
            before = len(ids(streams[-1]))
            eventually(lambda: streams[-1].finished or len(ids(streams[-1])) > before + 2)
        assert heard(*streams) == [*range(total), "done"] and len(streams) > 3


@pytest.mark.race
def test_an_answer_that_came_while_its_stream_was_resumed_is_seen_at_once(tmp_path, monkeypatch):
    """The reply ends after the events were read, and its process has nobody left who takes letters."""
    times(monkeypatch, ASK_SECONDS=1e6, LOST_SECONDS=1e6)
    with Site(tmp_path) as site, talking(site) as gate:
        reply = site[0].begin(1, "tools/call", TALK)
        gate.entered()
        call(site[1], "state", 2)
        site.deafen(0)
        table, tell = site[1].endpoint.sessions, site[1].endpoint.sessions.tell

        def ending(*arguments):
            tell(*arguments)
            gate.open()
            reply.done()

        monkeypatch.setattr(table, "tell", ending)
        assert heard(site[1].get(last(reply)).done()) == ["b", "done"]


@pytest.mark.race
def test_who_followed_a_stream_before_does_not_take_it_back(tmp_path, monkeypatch):
    """The letter that says so may be lost: whoever asks is told again."""
    times(monkeypatch, ASK_SECONDS=0.02)
    with Site(tmp_path) as site, talking(site) as gate:
        site.add()
        third = site.servers[2].tool
        third(lambda: "", name="talk")
        reply = site[0].begin(1, "tools/call", TALK)
        gate.entered()
        second = site[1].get(last(reply))
        session, lost = copy(site, 1), []
        told = session.told
        monkeypatch.setattr(session, "told", lambda subject: lost.append(subject) if subject[0] == "gone" and not lost
                            else told(subject))
        reply.done()
        rest = site[2].get(last(reply))
        second.done()
        assert lost and second.messages() == []
        gate.open()
        assert heard(rest.done()) == ["b", "done"]


def test_a_question_stays_open_while_its_stream_is_followed(tmp_path):
    with Site(tmp_path, limits=Limits(question_grace=0.0)) as site:
        reply = site[0].begin(1, "tools/call", {"name": "ask"})
        id = reply.next()["id"]
        rest = site[1].get(last(reply))
        reply.done()
        for _ in range(3):
            site[0].endpoint.tick()
        assert site[1].respond(id, {"action": "accept", "content": {"region": "eu"}}).status == 202
        assert heard(rest.done()) == ["eu"]


def test_what_is_json_is_not_stored(tmp_path):
    with Site(tmp_path) as site:
        for number in range(5):
            call(site[number % 2], "state", number)
        assert rows(site) == 0 and site[0].get().status == 200 and rows(site) == 0


def test_where_no_get_is_served_nothing_is_kept_and_nobody_is_told_to_poll(tmp_path):
    with Site(tmp_path, "2025-11-25", streams=False) as site, talking(site) as gate:
        gate.open()
        reply = site[0].ask(1, "tools/call", TALK)
        assert heard(reply) == ["a", "b", "done"] and b"id:" not in reply.raw and rows(site) == 0


# -- Streams of GETs ---------------------------------------------------------------------------


@pytest.mark.race
@pytest.mark.spec("http.resume-replay", "http.resume-no-cross-stream", "http.resume-get-polling")
@pytest.mark.parametrize("revision", RESUMING)
def test_a_stream_of_a_get_goes_on_in_another_process(revision, tmp_path):
    """[2025-03-26..2025-11-25 basic/transports §Resumability and Redelivery] MUST NOT"""
    with Site(tmp_path, revision) as site:
        first = site[0].get()
        for text in "abc":
            site.servers[0].log("error", text)
        since = [event.id for event in first.events if event.data][0]
        second = site[1].get(since)
        assert heard(second) == ["b", "c"] and heard(first.done()) == ["a", "b", "c"]
        site.servers[0].log("error", "d")
        assert [second.next() for _ in "bcd"] and heard(second) == ["b", "c", "d"]
        second.leave()
        third = site[0].get(last(second))
        site.servers[1].log("error", "e")
        assert third.next()["params"]["data"] == "e"
        assert {event_id(id)[:2] for id in ids(first, second, third)} == {event_id(since)[:2]}
        flat = set(ids(first)) | set(ids(second)) | set(ids(third))
        assert len(flat) >= 5 and len(ids(third)) == 1
        assert heard(site[1].get(since)) == ["b", "c", "d", "e"]


@pytest.mark.race
@pytest.mark.spec("http.no-broadcast")
def test_every_message_arrives_once_whatever_is_cut_and_wherever_it_is_resumed(tmp_path):
    """[2025-03-26..2025-11-25 basic/transports §Multiple Connections] MUST"""
    total, streams = 40, []
    with Site(tmp_path) as site:
        call(site[1], "state", 1)
        streams.append(site[0].get())
        site.servers[0].log("error", -1)

        def talk(place):
            for number in range(place, total, 2):
                copy(site, place).connection.notify("notifications/message", {"level": "error", "data": number})

        talkers = [in_thread(talk, place) for place in (0, 1)]
        number = 0
        while len(heard(*streams)) < total + 1:
            number += 1
            before = len(heard(*streams))
            streams[-1].leave()
            streams.append(site[number % 2].get(last(*streams)))
            eventually(lambda: len(heard(*streams)) > min(before + 2, total))
        for talker in talkers:
            talker.get()
        assert sorted(heard(*streams)) == list(range(-1, total)) and len(set(ids(*streams))) == len(ids(*streams))


@pytest.mark.race
def test_what_could_not_be_sent_goes_another_way_unless_the_stream_was_taken_over(tmp_path, monkeypatch):
    """A message is kept, its connection turns out to be dead, and meanwhile another process may have resumed it."""
    with Site(tmp_path) as site:
        taken = []
        for resumed in (False, True):
            first = site[0].get()
            site.servers[0].log("error", "before")
            first.next()

            def unkeep(*arguments):
                if resumed:
                    taken.append(site[1].get(last(first)))
                return SqliteStore.unkeep(*arguments)

            with site.hooked(unkeep=unkeep):
                first.lose_next = True
                site.servers[0].log("error", "once")
            if not resumed:
                fresh = site[1].get()
                assert fresh.next()["params"]["data"] == "once"
                assert site[0].get(last(first)).messages() == []
                copy(site, 0).end_listening()
                copy(site, 1).end_listening()
        fresh = site[0].get()
        site.servers[0].log("error", "after")
        assert fresh.next()["params"]["data"] == "after" and heard(*taken) == ["once"]


@pytest.mark.race
def test_a_message_that_goes_another_way_while_its_stream_is_resumed_comes_once(tmp_path, monkeypatch):
    """The event is read by who resumes the stream, and then removed by who could not send it."""
    with Site(tmp_path) as site, Gate() as gate:
        first = site[0].get()
        site.servers[0].log("error", "before")
        first.next()
        resuming = []

        def slow_keep(self, id, event, *arguments):
            if event == ("g", event.stream, event.place, b"", False, ""):
                gate.hold()
            return SqliteStore.keep(self, id, event, *arguments)

        def unkeep_meanwhile(*arguments):
            resuming.append(in_thread(site[1].get, last(first)))
            gate.entered()
            found = SqliteStore.unkeep(*arguments)
            gate.open()
            return found

        with site.hooked(keep=slow_keep, unkeep=unkeep_meanwhile):
            first.lose_next = True
            site.servers[0].log("error", "once")
        resumed = resuming[0].get()
        site.servers[1].log("error", "after")
        eventually(lambda: {"once", "after"} <= set(heard(resumed)))
        assert sorted(heard(resumed)) == ["after", "once"]


@pytest.mark.race
def test_a_message_that_is_left_again_while_its_stream_is_resumed_here_is_sent(tmp_path, monkeypatch):
    """Of its own letters a process hears nothing, so whoever resumes the stream has to find this one."""
    with Site(tmp_path) as site:
        first = site[0].get()
        site.servers[0].log("error", "before")
        first.next()
        call(site[1], "state", 1)
        table, resumed = site[0].endpoint.sessions, []
        leave = table.post_to_stream_holder

        def leave_again(session, message):
            resumed.append(in_thread(site[0].get, last(first)))
            if not session.lock._is_owned():
                resumed[0].get()
            leave(session, message)

        monkeypatch.setattr(table, "post_to_stream_holder", leave_again)
        first.lose_next = True
        site.servers[1].log("error", "once")
        eventually(lambda: resumed)
        assert resumed[0].get().next()["params"]["data"] == "once"


def test_a_stream_that_came_back_is_not_ended_by_the_news_that_it_was_taken_over_before(tmp_path, monkeypatch):
    with Site(tmp_path) as site:
        first = site[0].get()
        site.servers[0].log("error", "a")
        first.next()
        site.deafen(0)
        stream, place = event_id(last(first))[1:]
        second = site[1].get(last(first))
        site.servers[1].log("error", "b")
        second.next()
        third = site[0].get(last(second))
        copy(site, 0).told(["taken", stream, place + 1])
        site.servers[0].log("error", "c")
        assert third.next()["params"]["data"] == "c" and not third.finished


# -- What is refused ---------------------------------------------------------------------------


def test_events_that_nobody_has_sent_are_unknown(tmp_path):
    with Site(tmp_path) as site, talking(site) as gate:
        gate.open()
        reply = site[0].ask(1, "tools/call", TALK)
        stream = site[0].get()
        site.servers[0].log("error", "x")
        one, other = event_id(last(reply)), event_id(last(stream))
        bad = ["p1-0", "g1-0", "x", "%s%d-%d" % (one.kind, one.stream, one.place + 1),
               "%s%d-%d" % (other.kind, other.stream + 1, 0), "g%d-%d" % one[1:], "p" + "9" * 16 + "-0"]
        for web in site.webs:
            assert [web.get(id).status for id in bad] == [400] * len(bad)
            assert b"nothing of that stream is kept" in web.get(bad[0]).raw


def test_neither_another_session_nor_another_principal_reads_them(tmp_path):
    with Site(tmp_path, authenticate=lambda headers: headers.get("who") or "ada") as site, talking(site) as gate:
        gate.open()
        reply = site[0].ask(1, "tools/call", TALK)
        stream = site[0].get()
        site.servers[0].log("error", "x")
        other = site[1].post(opening("2025-06-18"), {"Mcp-Session-Id": None}).headers.get("Mcp-Session-Id")
        for id in (ids(reply)[0], ids(stream)[0]):
            for web in site.webs:
                assert web.get(id, {"Mcp-Session-Id": other}).status == 400
                assert web.get(id, {"who": "eve"}).status == 404
        assert site[0].delete().status == 204 and rows(site) == 0
        assert site[1].get(ids(reply)[0]).status == 404


# -- Bounds ------------------------------------------------------------------------------------


def test_events_are_bounded_by_number_and_age(tmp_path, monkeypatch):
    clock = of_stores(monkeypatch)
    with Site(tmp_path, limits=Limits(max_replay_events=3, replay_seconds=100)) as site:
        with talking(site, "abc", "de") as gate:
            gate.open()
            reply = site[0].ask(1, "tools/call", TALK)
        assert rows(site) == 3 and heard(site[1].get(ids(reply)[3])) == ["e", "done"]
        clock.now += 99
        assert site[1].get(last(reply)).status == 200
        clock.now += 1
        assert site[1].get(last(reply)).status == 400
        site[0].endpoint.sessions.store.sweep_sessions(10000)
        assert rows(site) == 0


def test_all_sessions_together_have_a_bound_and_what_is_not_kept_is_sent_all_the_same(tmp_path, caplog):
    limits = Limits(max_store_bytes=2000)
    with Site(tmp_path, limits=limits) as site, talking(site, ["x" * 1000], ["y" * 3000]) as gate:
        gate.open()
        reply = site[0].ask(1, "tools/call", TALK)
        assert heard(reply) == ["x" * 1000, "y" * 3000, "done"]
        other = site[1].post(opening("2025-06-18"), {"Mcp-Session-Id": None}).headers.get("Mcp-Session-Id")
        second = site[1].ask(1, "tools/call", TALK, headers={"Mcp-Session-Id": other})
        assert len(heard(second)) == 3
        assert "dropped event: no room in the store" in caplog.text
        assert rows(site, "SELECT size FROM boxes WHERE box = 'events'") <= 3500


def test_a_quiet_stream_is_kept_as_long_as_it_runs(tmp_path, monkeypatch):
    before = time.monotonic()
    of_stores(monkeypatch, before)
    with Site(tmp_path, limits=Limits(replay_seconds=100, session_idle=1e6)) as site, talking(site) as gate:
        reply = site[0].begin(1, "tools/call", TALK)
        stream = site[0].get()
        site.servers[0].log("error", "x")
        gate.entered()
        stored = of_stores(monkeypatch, before)
        with monkeypatch.context() as patch:
            clock = by_hand(patch, before)
            for _ in range(8):
                clock.now = stored.now = clock.now + 40
                for web in site.webs:
                    for session in web.endpoint.sessions.all():
                        session.tick(clock.now, None)
        stored.now += 10
        assert site[1].get(last(stream)).status == 200
        rest = site[1].get(last(reply))
        gate.open()
        assert heard(rest.done()) == ["b", "done"]


# -- What fails --------------------------------------------------------------------------------


def test_events_that_the_store_cannot_take_are_sent_all_the_same(tmp_path, monkeypatch, caplog):
    with Site(tmp_path) as site, talking(site) as gate:
        gate.open()
        with site.hooked(keep=lambda *arguments: 1 / 0):
            reply = site[0].ask(1, "tools/call", TALK)
            assert heard(reply) == ["a", "b", "done"] and caplog.text.count("keeping an event failed") == 1
        assert site[1].get(last(reply)).status == 400


def test_a_store_that_fails_again_is_logged_again(tmp_path, monkeypatch, caplog):
    with Site(tmp_path) as site, talking(site) as gate:
        gate.open()
        for failures in (1, 2):
            with site.hooked(keep=lambda *arguments: 1 / 0):
                assert heard(site[0].ask(failures, "tools/call", TALK)) == ["a", "b", "done"]
            assert caplog.text.count("keeping an event failed") == failures
            assert heard(site[0].ask(10 + failures, "tools/call", TALK)) == ["a", "b", "done"]


def test_a_reply_whose_end_could_not_be_kept_ends_with_an_error(tmp_path, monkeypatch):
    with Site(tmp_path) as site, talking(site) as gate:
        reply = site[0].begin(1, "tools/call", TALK)
        gate.entered()
        reply.leave()
        with site.hooked(keep=lambda *arguments: 1 / 0):
            gate.open()
            eventually(lambda: not copy(site, 0).busy)
        for place in (1, 0):
            answer = site[place].get(last(reply)).answer()
            assert (answer["id"], answer["error"]["code"]) == (1, -32603)


@pytest.mark.parametrize("batch", [False, True])
def test_a_request_whose_process_died_is_answered_by_an_error_once(batch, tmp_path, monkeypatch):
    """The process here has only stood still: what it says afterwards is not believed any more."""
    times(monkeypatch, ASK_SECONDS=0.02, LOST_SECONDS=0.2)
    with Site(tmp_path, "2025-03-26") as site, talking(site) as gate:
        asked = {"jsonrpc": "2.0", "id": "one", "method": "tools/call", "params": TALK}
        reply = site[0].later(site[0].made("POST", [asked] if batch else asked))
        gate.entered()
        site.deafen(0)
        rest = site[1].get(last(reply))
        answer = rest.answer()
        lost = answer[0] if batch else answer
        assert (lost["id"], lost["error"]["code"]) == ("one", -32603) and "has ended" in lost["error"]["message"]
        gate.open()
        eventually(lambda: not copy(site, 0).busy)
        assert heard(reply.done()) == ["a"]
        for place in (0, 1):
            assert site[place].get(last(reply)).answer() == answer


@pytest.mark.parametrize("dead", [True, False])
def test_who_follows_a_process_is_sent_on_only_when_that_was_heard_of(dead, tmp_path, monkeypatch):
    """Where clients are told to poll sooner than a process is taken for dead, each who follows it begins anew."""
    times(monkeypatch, ASK_SECONDS=0.02, LOST_SECONDS=0.2 if dead else 1e6)
    with Site(tmp_path, "2025-11-25", poll_after=0.0) as site, talking(site) as gate:
        reply = site[0].begin(1, "tools/call", TALK)
        gate.entered()
        reply.leave()
        if dead:
            site.deafen(0)
        rest = site[1].get(last(reply))
        site[1].endpoint.tick()
        if dead:
            assert "has ended" in rest.answer()["error"]["message"]
        eventually(lambda: site[1].endpoint.tick() or rest.finished)
        assert dead or rest.messages() == []
        gate.open()
        assert dead or heard(site[0].get(last(reply)).done()) == ["b", "done"]


@pytest.mark.race
def test_a_process_that_ends_says_so_to_whoever_follows(tmp_path, monkeypatch):
    times(monkeypatch, LOST_SECONDS=1e6)
    with Site(tmp_path) as site, talking(site) as gate:
        reply = site[0].begin(1, "tools/call", TALK)
        gate.entered()
        rest = site[1].get(last(reply))
        reply.done()
        ending = in_thread(site[0].endpoint.close, 0)
        assert rest.answer()["error"]["code"] == -32603
        gate.open()
        ending.get()


# -- Real processes ----------------------------------------------------------------------------

APP = """
import os, sys, threading
from mcp_ref import Context, Server
from mcp_ref.ext.stores import resumption
resumption.ASK_SECONDS, resumption.LOST_SECONDS = 0.1, 1.0
server = Server("app")

@server.tool
def count(to: int, ctx: Context) -> int:
    for number in range(to):
        ctx.log("error", number)
        ctx.cancelled.wait(0.01)
    return os.getpid()

@server.tool
def hang(ctx: Context) -> int:
    ctx.log("error", os.getpid())
    threading.Event().wait()
"""


class Process:
    """A server in a process of its own, with the store in this folder."""

    def __init__(self, folder, *options):
        file = folder / "app.py"
        file.write_text(APP)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mcp_ref", "run", str(file), "--http", "127.0.0.1:0", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        found = self.process.stderr.readline().decode()
        assert "serving on " in found, found
        self.url = urllib.parse.urlsplit(found.split()[2].rstrip(";"))
        self.connections = []

    def ask(self, method, body=None, last=None, id=None):
        """One request on a connection of its own: the reply, unread."""
        connection = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=WAIT)
        fields = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        fields.update({"Last-Event-ID": last} if last else {}, **({"Mcp-Session-Id": id} if id else {}))
        connection.request(method, self.url.path, None if body is None else json.dumps(body), fields)
        self.connections.append(connection)
        reply = connection.getresponse()
        reply.cut = connection.close
        return reply

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=WAIT)
        self.close()

    def close(self):
        for connection in self.connections:
            connection.close()


def opened(process):
    reply = process.ask("POST", opening("2025-11-25"))
    reply.read()
    id = reply.getheader("Mcp-Session-Id")
    process.ask("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}, id=id).read()
    return id


def called(process, session, name, **arguments):
    return process.ask("POST", {"jsonrpc": "2.0", "id": 7, "method": "tools/call",
                                "params": {"name": name, "arguments": arguments}}, id=session)


def some(reply, most):
    """The ids and messages of up to so many events with data; then the connection is cut."""
    seen, messages, id = [], [], None
    while len(messages) < most:
        line = reply.readline()
        if not line:
            break
        if line.startswith(b"id: "):
            id = line[4:].strip().decode()
            seen.append(id)
        elif line.startswith(b"data: {"):
            messages.append(json.loads(line[6:]))
    reply.close()
    reply.cut()
    return seen, messages


@pytest.mark.skipif(os.name != "posix", reason="the processes share a file with rights of POSIX")
def test_a_reply_is_resumed_by_turns_in_two_processes(tmp_path):
    tmp_path.chmod(0o700)
    sharing = ("--sessions", "store:%s" % (tmp_path / "sessions.db"))
    with Process(tmp_path, *sharing) as one, Process(tmp_path, *sharing) as two:
        session = opened(one)
        seen, messages = some(called(one, session, "count", to=60), 5)
        for number in range(50):
            more, found = some((one, two)[number % 2 == 0].ask("GET", last=seen[-1], id=session), 9)
            seen, messages = seen + more, messages + found
            if "id" in messages[-1]:
                break
        assert [message["params"]["data"] for message in messages[:-1]] == list(range(60)) and number > 4
        assert messages[-1]["id"] == 7 and messages[-1]["result"]["content"][0]["text"] == str(one.process.pid)
        assert len(set(seen)) == len(seen)


@pytest.mark.skipif(os.name != "posix", reason="workers are for POSIX")
def test_a_call_whose_worker_was_killed_ends_with_an_error_at_another(tmp_path):
    with Process(tmp_path, "--workers", "2") as run:
        session = opened(run)
        seen, messages = some(called(run, session, "hang"), 1)
        os.kill(messages[0]["params"]["data"], signal.SIGKILL)
        _, messages = some(run.ask("GET", last=seen[-1], id=session), 2)
        assert [(message["id"], message["error"]["code"]) for message in messages] == [(7, -32603)]
        assert run.ask("GET", last="p1-0", id=session).status == 400
