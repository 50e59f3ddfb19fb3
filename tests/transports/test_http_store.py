"""Sessions that several processes share: two endpoints with a store each on one file, as two processes would have."""
import json
import threading
from types import SimpleNamespace

import pytest

from mcp_ref.ext.stores import contract, resumption, sqlite, table as table_module
from mcp_ref.limits import Limits
from mcp_ref.server import SqliteStore
from tests.support.clocks import of_stores
from tests.support.http_exchange import opening
from tests.support.requirements_table import HANDSHAKE
from tests.support.sides import eventually, in_thread
from tests.transports.sites import CAPABILITIES, Site, call, times

ASKS = [name for name in HANDSHAKE if name >= "2025-06-18"]
ANSWER = {"action": "accept", "content": {"region": "eu"}}


# -- What another process knows ----------------------------------------------------------------


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_another_process_goes_on_with_a_session(revision, tmp_path):
    with Site(tmp_path, revision, authenticate=lambda headers: {"name": "ada"}) as site:
        first, second = call(site[0], "state", 1), call(site[1], "state", 2)
        assert first == second == {
            "info": {"name": "scripted", "version": "0"}, "capabilities": CAPABILITIES, "phase": "operating",
            "revision": revision, "level": None, "principal": {"name": "ada"}, "subscriptions": []}


def test_what_changes_in_one_process_is_known_to_the_next_request_of_the_other(tmp_path):
    with Site(tmp_path) as site:
        call(site[1], "state", 1)
        for place, level, number in ((0, "error", 4), (1, "debug", 0), (0, "alert", 6)):
            assert site[place].ask("level %d" % number, "logging/setLevel", {"level": level}).status == 200
            assert call(site[1 - place], "state", "state %d" % number)["level"] == number
        uri = {"uri": "config://app"}
        assert site[0].ask(2, "resources/subscribe", uri).message["result"] == {}
        assert call(site[1], "state", 3)["subscriptions"] == ["config://app"]
        assert site[1].ask(4, "resources/unsubscribe", uri).message["result"] == {}
        assert call(site[0], "state", 5)["subscriptions"] == []


def test_a_handshake_may_end_in_another_process(tmp_path):
    with Site(tmp_path, None) as site:
        opened = site[0].post(opening("2025-11-25"))
        headers = {"Mcp-Session-Id": opened.headers.get("Mcp-Session-Id")}
        for web in site.webs:
            web.headers.update(headers)
        assert site[1].tell("notifications/initialized").status == 202
        assert call(site[0], "state", 1)["phase"] == call(site[1], "state", 2)["phase"] == "operating"


def test_a_session_outlives_the_process_that_began_it(tmp_path):
    with Site(tmp_path) as site:
        site[0].endpoint.close(0)
        assert call(site[1], "state", 1)["phase"] == "operating"
        assert call(site.add(), "state", 2)["phase"] == "operating"


def test_an_update_reaches_a_stream_of_the_process_that_announces_it(tmp_path):
    with Site(tmp_path) as site:
        stream = site[1].get()
        assert site[0].ask(2, "resources/subscribe", {"uri": "config://app"}).status == 200
        call(site[1], "state", 3)
        site.servers[1].resource_updated("config://app")
        assert stream.next()["params"] == {"uri": "config://app"}


def test_the_contract_is_tested_with_what_a_server_stores(tmp_path, monkeypatch):
    stored = []

    def noting(method):
        return lambda store, id, values, *more: stored.append(values) or method(store, id, values, *more)

    with Site(tmp_path, None) as site, site.hooked(
            create_session=noting(SqliteStore.create_session), update_session=noting(SqliteStore.update_session)):
        site[0].open("2025-06-18", CAPABILITIES)
        uri = {"uri": "config://app"}
        for id, (method, params) in enumerate([("logging/setLevel", {"level": "error"}), ("resources/subscribe", uri),
                                               ("resources/unsubscribe", uri)]):
            assert site[0].ask(id, method, params).status == 200
        assert site[0].tell("notifications/roots/list_changed").status == 202
    expected = json.loads(json.dumps(contract.SERVED))
    expected[1]["client"]["name"] = "scripted"
    assert stored == expected


def test_a_process_hears_of_letters_after_the_store_has_begun_anew(tmp_path):
    """As after a failover to a replica that lags behind, which gives numbers again."""
    with Site(tmp_path) as site:
        site[0].endpoint.sessions._since = 1 << 40
        reply = site[0].begin(1, "tools/call", {"name": "ask"})
        assert site[1].respond(reply.next()["id"], ANSWER).status == 202
        assert reply.answer()["result"]["content"][0]["text"] == "eu"


# -- The end -----------------------------------------------------------------------------------


def test_a_session_that_was_ended_has_ended_everywhere(tmp_path):
    with Site(tmp_path) as site, site.gate:
        running = site[1].begin(1, "tools/call", {"name": "hold"})
        stream = site[1].get()
        site.gate.entered()
        assert site[0].delete().status == 204
        assert running.done().status == 404 and stream.done()
        for web in site.webs:
            assert web.ask(2, "ping").status == 404 and web.delete().status == 404 and web.get().status == 404
        assert all(len(web.endpoint.sessions) == 0 for web in site.webs)
        eventually(lambda: not any(web.endpoint.sessions.all() for web in site.webs))


def test_another_principal_has_no_such_session(tmp_path):
    with Site(tmp_path, authenticate=lambda headers: headers.get("who") or "ada") as site:
        assert site[1].ask(1, "ping", headers={"who": "eve"}).status == 404
        assert site[1].ask(1, "ping").status == 200


def test_a_principal_that_is_no_json_is_refused_at_the_beginning(tmp_path):
    with Site(tmp_path, None, authenticate=lambda headers: object()) as site:
        with pytest.raises(TypeError, match="have authenticate return a str"):
            site[0].post(opening("2025-11-25"))
        assert len(site[0].endpoint.sessions) == 0


def test_the_cap_is_that_of_all_processes_together(tmp_path):
    with Site(tmp_path, None, Limits(max_sessions=2)) as site:
        assert [site[place].post(opening("2025-11-25")).status for place in (0, 1, 0, 1)] == [200, 200, 503, 503]


def test_sessions_that_nobody_uses_end(tmp_path, monkeypatch):
    clock = of_stores(monkeypatch)
    with Site(tmp_path, limits=Limits(session_idle=100, max_sessions=1)) as site:
        clock.now += 60
        site[1].lives()
        clock.now += 60
        site[0].lives()
        clock.now += 101
        assert site[0].ask(1, "ping").status == site[1].ask(1, "ping").status == 404
        assert site[1].post(opening("2025-11-25"), {"Mcp-Session-Id": None}).status == 200
        assert len(site[0].endpoint.sessions) == 1


def test_an_open_stream_keeps_a_session(tmp_path, monkeypatch):
    clock = of_stores(monkeypatch)
    times(monkeypatch, _SWEEP_SECONDS=0)
    with Site(tmp_path, limits=Limits(session_idle=100)) as site:
        stream = site[1].get()
        for _ in range(4):
            clock.now += 60
            for web in site.webs:
                web.endpoint.tick()
        site[0].lives()
        assert not stream.finished


def test_copies_that_nobody_uses_go(tmp_path, monkeypatch):
    times(monkeypatch, REPLICA_SECONDS=0)
    with Site(tmp_path) as site:
        call(site[1], "state", 1)
        for web in site.webs:
            eventually(lambda: not web.endpoint.sessions.all() or web.endpoint.tick())
        assert len(site[0].endpoint.sessions) == 1
        assert call(site[0], "state", 2)["phase"] == call(site[1], "state", 3)["phase"] == "operating"


# -- Questions and cancellations ---------------------------------------------------------------


@pytest.mark.race
@pytest.mark.parametrize("revision", ASKS)
def test_an_answer_finds_the_process_that_waits_for_it(revision, tmp_path):
    with Site(tmp_path, revision) as site:
        asking = [site[place].begin("ask %d" % place, "tools/call", {"name": "ask"}) for place in (0, 1)]
        ids = [answer.next()["id"] for answer in asking]
        assert len(set(ids)) == 2, "an id that the client has seen before"
        for place, id in enumerate(ids):
            assert site[1 - place].respond(id, ANSWER).status == 202
        for answer in asking:
            assert answer.answer()["result"]["content"][0]["text"] == "eu"
        eventually(lambda: not site[0].endpoint.sessions.store.news(0))


def test_progress_finds_it_too_and_comes_before_the_answer(tmp_path):
    with Site(tmp_path) as site:
        asking = site[0].begin(1, "tools/call", {"name": "steps"})
        id = asking.next()["id"]
        for step in (1, 2):
            assert site[1].tell("notifications/progress", {"progressToken": id, "progress": step}).status == 202
        assert site[1].respond(id, {"roots": []}).status == 202
        assert asking.answer()["result"]["content"][0]["text"] == "2"


def test_an_error_finds_it_too(tmp_path):
    with Site(tmp_path) as site:
        asking = site[0].begin(1, "tools/call", {"name": "roots"})
        id = asking.next()["id"]
        assert site[1].post({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}}).status == 202
        assert asking.answer()["result"]["isError"]


@pytest.mark.race
def test_a_cancellation_finds_the_process_that_works(tmp_path):
    with Site(tmp_path) as site, site.gate:
        running = site[0].begin(7, "tools/call", {"name": "hold"})
        site.gate.entered()
        assert site[1].tell("notifications/cancelled", {"requestId": 7}).status == 202
        assert running.done().raw == b""


def test_a_batch_is_taken_apart(tmp_path):
    with Site(tmp_path, "2025-03-26") as site, site.gate:
        asking = [site[place].begin("ask %d" % place, "tools/call", {"name": "roots"}) for place in (0, 1)]
        batch = [{"jsonrpc": "2.0", "id": answer.next()["id"], "result": {"roots": []}} for answer in asking]
        assert site[1].post(batch).status == 202
        for answer in asking:
            assert answer.answer()["result"]["content"][0]["text"] == "0"


def test_roots_that_have_changed_are_asked_for_again(tmp_path):
    with Site(tmp_path) as site:
        for place, told, id in ((0, None, 1), (1, None, 2), (0, 1, 3), (1, 0, 4)):
            if told is not None:
                assert site[told].tell("notifications/roots/list_changed").status == 202
            asking = site[place].begin(id, "tools/call", {"name": "roots"})
            roots = [{"uri": "file:///%d" % number} for number in range(id)]
            site[place].respond(asking.next()["id"], {"roots": roots})
            assert asking.answer()["result"]["content"][0]["text"] == str(id)


def letters(site):
    return site[0].endpoint.sessions.store.news(0)


def counted(site, name):
    return sum(connection.counters[name] for server in site.servers for connection in server.connections)


def test_answers_that_nobody_waits_for_are_not_stored_but_counted(tmp_path):
    with Site(tmp_path) as site:
        call(site[1], "state", 1)
        asking = site[0].begin(2, "tools/call", {"name": "roots"})
        id = asking.next()["id"]
        file = tmp_path / "sessions.db-wal"
        before = file.stat().st_size
        bogus = [1, id + 1, id - 1, id + resumption.BLOCK, 1 << 63, 1 << 70, 0, -id, "0%d" % id, "x"]
        for number in bogus:
            assert site[1].respond(number, {"padding": "x" * 50000}).status == 202
            assert site[1].post({"jsonrpc": "2.0", "id": number, "error": {"code": 1, "message": "no"}}).status == 202
        for token in bogus:
            params = {"progressToken": token, "progress": 1, "message": "x" * 50000}
            assert site[1].tell("notifications/progress", params).status == 202
        assert letters(site) == [] and file.stat().st_size == before, "something was written"
        assert counted(site, "unknown response") + counted(site, "late response") == 2 * len(bogus)
        assert counted(site, "progress for no request") == len(bogus)
        assert site[1].respond(id, {"roots": []}).status == 202
        assert asking.answer()["result"]["content"][0]["text"] == "0"
        assert site[1].respond(id, {"roots": [1]}).status == 202 and letters(site) == []
        assert counted(site, "unknown response") + counted(site, "late response") == 2 * len(bogus) + 1


def test_an_answer_to_another_session_is_not_stored(tmp_path):
    with Site(tmp_path) as site:
        asking = site[0].begin(2, "tools/call", {"name": "roots"})
        id = asking.next()["id"]
        other = site[1].post(opening("2025-06-18"), {"Mcp-Session-Id": None}).headers.get("Mcp-Session-Id")
        answer = {"jsonrpc": "2.0", "id": id, "result": {"roots": [1, 2, 3]}}
        assert site[1].post(answer, {"Mcp-Session-Id": other}).status == 202 and letters(site) == []
        site[1].respond(id, {"roots": []})
        assert asking.answer()["result"]["content"][0]["text"] == "0"


def test_an_answer_that_comes_too_late_is_not_stored(tmp_path):
    with Site(tmp_path, limits=Limits(request_timeout=0.01)) as site:
        asking = site[0].begin(2, "tools/call", {"name": "roots"})
        id = asking.next()["id"]
        asking.answer()
        assert site[1].respond(id, {"roots": []}).status == 202 and letters(site) == []


def test_a_question_that_the_store_cannot_take_fails_and_is_not_asked(tmp_path, monkeypatch):
    with Site(tmp_path) as site:
        call(site[0], "state", 1)
        with site.hooked(expect=lambda *arguments: 1 / 0):
            answer = site[0].ask(2, "tools/call", {"name": "roots"})
            assert answer.answer()["result"]["isError"] and len(answer.messages()) == 1
        assert not any(session.asks for session in site[0].endpoint.sessions.all())


def test_notes_of_one_session_are_bounded_and_swept(tmp_path, monkeypatch):
    clock = of_stores(monkeypatch)
    with Site(tmp_path, limits=Limits(max_store_letters=5, max_store_letter_bytes=20000)) as site:
        for number in range(8):
            params = {"requestId": number, "reason": "x" * 100000}
            assert site[0].tell("notifications/cancelled", params).status == 202
        assert [letter.subject for letter in letters(site)] == ['["cancel", %d]' % number for number in range(5)]
        assert counted(site, "dropped letter") == 3
        store = site[1].endpoint.sessions.store
        assert all(len(store.take(letter.number)) < 2000 for letter in letters(site)[:1])
        for id in ("x" * 5000, ["list"], None, 1.5):
            assert site[0].tell("notifications/cancelled", {"requestId": id}).status == 202
        assert len(letters(site)) == 4 and counted(site, "cancellation of nothing") == 4
        clock.now += 61
        store.sweep_sessions(1000)
        assert letters(site) == [] and store.count_sessions() == 1


def test_what_waits_for_streams_has_a_bound_over_all_sessions(tmp_path):
    with Site(tmp_path, limits=Limits(max_store_bytes=2000)) as site:
        for number in range(9):
            site.servers[0].log("error", "x" * 300)
        assert 2 <= len(letters(site)) <= 4
        assert counted(site, "dropped letter") == 9 - len(letters(site))


# -- What a change costs -----------------------------------------------------------------------


def test_a_subscription_costs_what_it_is_and_not_what_there_was_before(tmp_path, monkeypatch):
    """Long URIs: what is written and what is read grows with their number, and not with its square."""
    with Site(tmp_path) as site:
        for server in site.servers:
            server.resource("file:///{+name}", name="files")(lambda name: name)
        uris = ["file:///%04d%s" % (number, "x" * 2300) for number in range(300)]
        read = []
        reading = watched(SqliteStore.read_session, lambda record: read.append(len(record.values)))
        for store in site.stores:
            store.hooks["read_session"] = reading
        for number, uri in enumerate(uris):
            assert site[number % 2].ask(number, "resources/subscribe", {"uri": uri}).message["result"] == {}
        assert call(site[0], "state", "a")["subscriptions"] == call(site[1], "state", "b")["subscriptions"] == uris
        assert max(read[1:]) < 10 and sum(read) < 4 * len(uris), "values that were known are read again"
        written = sum(file.stat().st_size for file in tmp_path.iterdir())
        assert written < 20 * sum(map(len, uris))
        for number, uri in enumerate(uris):
            assert site[number % 2].ask("u%d" % number, "resources/unsubscribe", {"uri": uri}).message["result"] == {}
        assert call(site[0], "state", "c")["subscriptions"] == call(site[1], "state", "d")["subscriptions"] == []


def watched(function, see):
    def watching(*arguments):
        found = function(*arguments)
        if found is not None:
            see(found)
        return found

    return watching


def test_a_record_that_has_not_changed_is_not_parsed(tmp_path, monkeypatch):
    with Site(tmp_path) as site:
        for number in range(4):
            call(site[number % 2], "state", "first %d" % number)
            site[number % 2].ask("level %d" % number, "logging/setLevel", {"level": "error"})
        for place in (0, 1):
            site[place].ask("once more %d" % place, "ping")
        monkeypatch.setattr(sqlite, "json", SimpleNamespace(dumps=json.dumps, loads=lambda text: 1 / 0))
        for number in range(6):
            assert site[number % 2].ask("again %d" % number, "ping").status == 200


def test_what_others_have_ended_is_heard_of_by_who_has_missed_much(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite, "_MOST_GONE", 4)
    with Site(tmp_path) as site:
        for server in site.servers:
            server.resource("file:///{name}", name="files")(lambda name: name)
        for number in range(9):
            site[0].ask(number, "resources/subscribe", {"uri": "file:///%d" % number})
        assert len(call(site[1], "state", "a")["subscriptions"]) == 9
        for number in range(8):
            site[0].ask("u%d" % number, "resources/unsubscribe", {"uri": "file:///%d" % number})
        for place in (1, 0):
            assert call(site[place], "state", "b%d" % place)["subscriptions"] == ["file:///8"]


def test_notifications_that_are_made_up_are_not_kept(tmp_path):
    with Site(tmp_path) as site:
        call(site[0], "state", 1)
        session, = site[0].endpoint.sessions.all()
        for number in range(50):
            assert site[0].tell("notifications/made/up/%d" % number).status == 202
        record = site[0].endpoint.sessions.store.read_session(session.key, 100)
        assert session.announced == {} and "told" not in record.values


@pytest.mark.race
def test_subscriptions_from_both_sides_at_once_are_all_there(tmp_path):
    with Site(tmp_path) as site:
        for server in site.servers:
            server.resource("file:///{name}", name="files")(lambda name: name)

        def subscribe(place):
            for number in range(20):
                uri = {"uri": "file:///%d-%02d" % (place % 4, number)}
                assert site[place % 2].ask("%d/%d" % (place, number), "resources/subscribe", uri).status == 200

        for outcome in [in_thread(subscribe, place) for place in range(4)]:
            outcome.get()
        wanted = ["file:///%d-%02d" % (place, number) for place in range(4) for number in range(20)]
        assert call(site[0], "state", "a")["subscriptions"] == wanted
        assert call(site[1], "state", "b")["subscriptions"] == wanted == call(site.add(), "state", "c")["subscriptions"]


# -- Streams -----------------------------------------------------------------------------------


@pytest.mark.race
def test_what_belongs_to_no_request_goes_to_the_process_that_has_a_stream(tmp_path):
    with Site(tmp_path) as site:
        call(site[0], "state", 1)
        site.servers[0].log("error", "before")
        stream = site[1].get()
        assert stream.next()["params"]["data"] == "before"
        site.servers[0].log("error", "after")
        assert stream.next()["params"]["data"] == "after"
        assert site[0].endpoint.sessions.store.news(0) == []


def test_what_was_seen_to_wait_is_sent_on_a_later_stream(tmp_path):
    with Site(tmp_path) as site, site.gate:
        running = site[1].begin(7, "tools/call", {"name": "hold"})
        site.gate.entered()
        seen = []
        site.stores[1].hooks["news"] = lambda *given: seen.append(SqliteStore.news(*given)) or seen[-1]
        site.servers[0].log("error", "early")
        eventually(lambda: any(seen))
        assert site[1].get().next()["params"]["data"] == "early"
        site[1].tell("notifications/cancelled", {"requestId": 7})
        running.done()


def test_what_waits_for_a_stream_is_bounded(tmp_path):
    with Site(tmp_path, limits=Limits(max_waiting_messages=3, max_waiting_bytes=5000)) as site:
        for number in range(5):
            site.servers[0].log("error", number)
        stream = site[1].get()
        assert [stream.next()["params"]["data"] for _ in range(3)] == [2, 3, 4]


def test_a_stream_that_breaks_leaves_what_comes_to_the_next(tmp_path):
    with Site(tmp_path) as site:
        first = site[1].get()
        first.lose_next = True
        site.servers[0].log("error", "once")
        eventually(lambda: first.gone)
        second = site[0].get()
        assert second.next()["params"]["data"] == "once"


def test_the_thread_that_looks_for_letters_ends(tmp_path, monkeypatch):
    times(monkeypatch, LINGER_SECONDS=0)
    with Site(tmp_path) as site:
        stream = site[0].get()
        looks = []
        site.stores[0].hooks["version"] = lambda store: looks.append(threading.current_thread()) or SqliteStore.version(
            store)
        eventually(lambda: looks)
        stream.leave()
        eventually(lambda: not looks[0].is_alive())


def test_a_store_that_fails_is_logged_once_and_goes_on(tmp_path, monkeypatch, caplog):
    with Site(tmp_path) as site:
        asking = site[0].begin(1, "tools/call", {"name": "roots"})
        id = asking.next()["id"]
        failures = []
        with site.hooked(version=lambda store: failures.append(1) or 1 / 0):
            eventually(lambda: len(failures) > 2)
        site[1].respond(id, {"roots": []})
        assert asking.answer()["result"]["content"][0]["text"] == "0"
        assert caplog.text.count("looking for letters failed") == 1


def test_threads_that_make_a_copy_at_once_share_one(tmp_path):
    with Site(tmp_path) as site:
        outcomes = [in_thread(site[1].ask, number, "ping") for number in range(8)]
        assert [outcome.get().status for outcome in outcomes] == [200] * 8
        assert len(site[1].endpoint.sessions.all()) == 1
        assert len(site.servers[1].connections) == 1


def test_nothing_secret_is_in_the_file(tmp_path):
    with Site(tmp_path) as site:
        call(site[1], "state", 1)
        id = site[0].headers["Mcp-Session-Id"].encode()
        assert not any(id in path.read_bytes() for path in tmp_path.iterdir())
        assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_who_looks_for_letters_looks_at_sessions_without_keeping_others_from_what_they_need(tmp_path):
    """A session's locks are held when it asks for an id or to be watched, and they are taken to see whether it is busy.
    """
    store = SqliteStore(tmp_path / "sessions.db")
    table = table_module.StoreTable(store, Limits(), lambda session: None, True)
    seen = []

    class Session:
        """Is busy once, and finds out that meanwhile others got what they asked for."""

        asks = False

        @property
        def busy(self):
            if not seen:
                seen.append(in_thread(table.next_id).get() > 0)
                seen.append(in_thread(table.watch, self).get() is None)
            return len(seen) < 2

    session = Session()
    table.watch(session)
    eventually(lambda: not table._polling)
    assert seen == [True, True] and not table._watched
    table.close()
