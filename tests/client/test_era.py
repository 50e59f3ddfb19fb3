"""How a client finds out what a server speaks: every answer to its first question, and what it remembers of it."""
import json
from dataclasses import replace

import pytest

from mcp_ref import connect
from mcp_ref.client import Client, opening as era_module
from mcp_ref.errors import (
    AnswerLost, ConnectFailed, ConnectionLost, HttpStatus, LocalProtocolError, PeerError, PeerProtocolError,
    RequestTimeout,
)
from mcp_ref.limits import Limits
from mcp_ref.protocol import envelope, lifecycle
from mcp_ref.revisions import HANDSHAKE_REVISIONS, REVISIONS
from mcp_ref.transports.base import Failed
from mcp_ref.transports.memory import pair
from tests.support.faults import Wrapper
from tests.support.scripted import PATIENCE, ScriptedPeer
from tests.support.sides import in_thread

MODERN = "2026-07-28"
HANDSHAKE = [revision.name for revision in HANDSHAKE_REVISIONS]
NAMES = [revision.name for revision in REVISIONS]
INFO = {"name": "scripted", "version": "0"}
PATIENT = Limits(probe_timeout=PATIENCE, initialize_timeout=PATIENCE, request_timeout=PATIENCE)
QUICK = replace(PATIENT, probe_timeout=0.02)
"""For servers that do not answer the first question, or late."""


def discovered(*versions, **more):
    """A result of `server/discover`."""
    return dict({
        "resultType": "complete", "supportedVersions": list(versions or [MODERN]), "capabilities": {"tools": {}},
        "ttlMs": 0, "cacheScope": "private",
    }, **more)


def initialized(revision):
    """A result of `initialize`."""
    return {"protocolVersion": revision, "capabilities": {"tools": {}}, "serverInfo": INFO}


def unsupported(*supported):
    """The error of a server that speaks these."""
    return {"code": -32022, "message": "no", "data": {"supported": list(supported), "requested": "x"}}


class Meeting:
    """A client that opens, and the server that the test plays; a context manager."""

    def __init__(self, limits=PATIENT, client=None, **options):
        ours, theirs = pair()
        self.ours = ours
        self.peer = ScriptedPeer(theirs)
        self.client = client or Client(limits=limits, **options)
        self._opening = in_thread(self.client.open, ours)

    def asked(self, method):
        """The client's next message, which is this request."""
        message = self.peer.receive()
        assert message["method"] == method, message
        return message

    def answer(self, message, result=None, error=None):
        """Answer it."""
        said = {"result": result} if error is None else {"error": error}
        self.peer.send(dict({"jsonrpc": "2.0", "id": message["id"]}, **said))

    def greet(self, revision="2025-11-25"):
        """Shake hands."""
        self.answer(self.asked("initialize"), initialized(revision))
        told = self.peer.receive(lambda message: "method" in message)  # and not that it could not read something
        assert told["method"] == "notifications/initialized"

    def opened(self):
        """What `open` gives or raises."""
        return self._opening.get()

    def works(self):
        """A call goes to and fro; the message that the server got."""
        call = in_thread(self.client.request, "tools/list")
        message = self.peer.receive()
        self.answer(message, {"tools": []})
        assert call.get() == {"tools": []}
        return message

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.client.close()
        self.peer.close()


# --- What a client is told to speak -----------------------------------------------------------

CHOICES = [
    (None, None, "legacy", HANDSHAKE),
    (None, None, "auto", NAMES),
    (None, None, "modern", [MODERN]),
    ("auto", None, "legacy", NAMES),
    ("modern", None, "legacy", [MODERN]),
    ("legacy", None, "auto", HANDSHAKE),
    ("2025-03-26", None, "auto", ["2025-03-26"]),
    (MODERN, None, "legacy", [MODERN]),
    (None, [MODERN, "2024-11-05"], "legacy", ["2024-11-05"]),
    (None, [MODERN, "2024-11-05"], "auto", ["2024-11-05", MODERN]),
    (None, [MODERN], "legacy", [MODERN]),
    (None, ["2024-11-05"], "modern", ["2024-11-05"]),
    ("auto", ["2025-06-18"], "legacy", ["2025-06-18"]),
    ("modern", [MODERN, "2025-06-18"], "legacy", [MODERN]),
]


@pytest.mark.parametrize("era, choice, default, expected", CHOICES)
def test_policy_and_choice_together_say_what_is_spoken(era, choice, default, expected):
    assert [r.name for r in lifecycle.spoken(era, choice, default)] == expected


@pytest.mark.parametrize("era, choice", [("modern", HANDSHAKE), ("legacy", [MODERN]), ("2025-06-18", ["2025-11-25"]),
                                         ("", None), ("newest", None), ("2099-01-01", None), (None, [])])
def test_what_leaves_nothing_to_speak_is_refused_at_once(era, choice):
    with pytest.raises(ValueError):
        Client(era=era, revisions=choice)


def test_the_policy_of_who_says_nothing_is_one_constant(monkeypatch):
    assert era_module.DEFAULT_ERA in lifecycle.ERAS
    assert Client().revisions == lifecycle.spoken(None, None, era_module.DEFAULT_ERA)


@pytest.mark.parametrize("names, ours, expected", [
    ([MODERN, "2025-11-25"], NAMES, MODERN), (["2025-11-25", MODERN], NAMES, MODERN),
    (["2024-11-05"], NAMES, "2024-11-05"),
    (["2027-01-01", "2025-06-18"], NAMES, "2025-06-18"), (["2027-01-01"], NAMES, None), ([], NAMES, None),
    ([5, None, {}, "2025-06-18"], NAMES, "2025-06-18"), ([MODERN], HANDSHAKE, None),
])
def test_the_newest_revision_in_common_is_picked(names, ours, expected):
    found = lifecycle.pick(names, lifecycle.supported(ours))
    assert (found and found.name) == expected


# --- What the server answers ------------------------------------------------------------------


def test_a_client_of_one_handshake_revision_asks_nothing_first():
    for era in ("legacy", "2025-11-25"):
        with Meeting(era=era) as meeting:
            meeting.greet()
            meeting.opened()


def test_a_server_that_introduces_itself_is_spoken_to_without_a_handshake():
    meta = {envelope.SERVER_INFO: dict(INFO, title="T")}
    with Meeting(era="auto", limits=Limits(initialize_timeout=PATIENCE)) as meeting:
        asked = meeting.asked("server/discover")
        assert asked["params"]["_meta"][envelope.VERSION] == MODERN
        meeting.answer(asked, discovered("2025-11-25", MODERN, instructions="Be kind.", _meta=meta))
        client = meeting.opened()
        assert str(client.revision) == MODERN and client.instructions == "Be kind."
        assert client.server_info.title == "T" and client.server_capabilities == {"tools": {}}
        message = meeting.works()
        assert message["params"] == {"_meta": asked["params"]["_meta"]} and message["id"] != asked["id"]


OLD_CODES = (-32601, -32602, -32600, -32700, -32603, -32000, -32001, -32002, -1, 0, 1)
OLD_ANSWERS = [{"code": code, "message": "no"} for code in OLD_CODES] + [
    {"code": -32022, "message": "no"}, {"code": -32022, "message": "no", "data": {"supported": "all"}},
    {"code": -32022, "message": "no", "data": [MODERN]}, {"code": -32021, "message": "no"},
    {"code": -32021, "message": "no", "data": {"requiredCapabilities": []}},
    {"code": -32602, "message": "no", "data": {}},
    {"code": 404, "message": "Not found", "data": {"supported": [MODERN]}},
]


@pytest.mark.parametrize("revision", HANDSHAKE)
@pytest.mark.parametrize("error", OLD_ANSWERS, ids=lambda error: json.dumps(error)[8:50])
def test_any_other_error_is_followed_by_a_handshake(error, revision):
    with Meeting(era="auto", limits=Limits(initialize_timeout=PATIENCE)) as meeting:
        meeting.answer(meeting.asked("server/discover"), error=error)
        meeting.greet(revision)
        assert str(meeting.opened().revision) == revision
        assert "params" not in meeting.works(), "nothing of the other era is left"


ODD_RESULTS = [
    {}, {"supportedVersions": [MODERN]}, {"capabilities": {}}, {"supportedVersions": MODERN, "capabilities": {}},
    {"supportedVersions": [MODERN], "capabilities": []}, initialized("2025-11-25"), {"tools": []},
    {"resultType": "input_required", "supportedVersions": [MODERN], "capabilities": {}},
    {"resultType": ["x"], "supportedVersions": [MODERN], "capabilities": {}},
]


@pytest.mark.parametrize("result", ODD_RESULTS, ids=lambda result: json.dumps(result)[:40])
def test_a_result_of_another_form_is_followed_by_a_handshake(result):
    """Some servers answer whatever they do not know with a result."""
    with Meeting(era="auto") as meeting:
        meeting.answer(meeting.asked("server/discover"), result)
        meeting.greet()
        assert str(meeting.opened().revision) == "2025-11-25"


@pytest.mark.parametrize("answer, limits", [
    ("{", QUICK), ('{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', PATIENT), ('{"jsonrpc":"2.0","id":1}', PATIENT)])
def test_an_answer_that_is_none_counts_as_none_or_as_an_error(answer, limits):
    with Meeting(era="auto", limits=limits) as meeting:
        meeting.asked("server/discover")
        meeting.peer.send(answer)
        meeting.greet()
        assert str(meeting.opened().revision) == "2025-11-25"


def test_the_version_that_a_server_names_is_tried_even_if_it_is_the_same_one():
    """Some gateways refuse the first request of all."""
    with Meeting(era="auto") as meeting:
        first = meeting.asked("server/discover")
        meeting.answer(first, error=unsupported(MODERN))
        second = meeting.asked("server/discover")
        meeting.answer(second, discovered())
        assert str(meeting.opened().revision) == MODERN and first["id"] != second["id"]


@pytest.mark.parametrize("again", [unsupported(MODERN), {"code": -32601, "message": "no"}, unsupported("2025-11-25")],
                         ids=lambda error: json.dumps(error)[:60])
def test_and_only_once(again):
    with Meeting(era="auto") as meeting:
        meeting.answer(meeting.asked("server/discover"), error=unsupported(MODERN))
        meeting.answer(meeting.asked("server/discover"), error=again)
        with pytest.raises(PeerError) as caught:
            meeting.opened()
        assert caught.value.code == again["code"]


def test_a_server_that_names_only_older_versions_is_spoken_to_in_the_newest_of_them():
    for answer in ({"error": unsupported("2024-11-05", "2025-03-26", "2027-01-01")},
                   {"result": discovered("2025-03-26", "2024-11-05")}):
        with Meeting(era="auto") as meeting:
            meeting.answer(meeting.asked("server/discover"), **answer)
            asked = meeting.asked("initialize")
            assert asked["params"]["protocolVersion"] == "2025-03-26", "not a guess: the newest that it names"
            meeting.answer(asked, initialized("2025-03-26"))
            assert str(meeting.opened().revision) == "2025-03-26"


@pytest.mark.parametrize("answer", [
    {"error": unsupported("2027-01-01")}, {"result": discovered("2027-01-01", "2028-01-01")}, {"error": unsupported()},
], ids=["error", "result", "empty"])
@pytest.mark.parametrize("era", ["auto", "modern"])
def test_without_a_revision_in_common_the_error_names_those_of_both(era, answer):
    with Meeting(era=era) as meeting:
        meeting.answer(meeting.asked("server/discover"), **answer)
        with pytest.raises(PeerProtocolError) as caught:
            meeting.opened()
        assert MODERN in str(caught.value)
        assert "2027-01-01" in str(caught.value) or "none" in str(caught.value)
        with pytest.raises(ConnectionLost):
            meeting.peer.receive()


@pytest.mark.parametrize("error", [
    {"code": -32021, "message": "tell me", "data": {"requiredCapabilities": {"roots": {}}}},
    {"code": -32020, "message": "tell me"},
])
def test_other_modern_errors_are_those_of_opening(error):
    with Meeting(era="auto") as meeting:
        meeting.answer(meeting.asked("server/discover"), error=error)
        with pytest.raises(PeerError, match="tell me") as caught:
            meeting.opened()
        assert caught.value.code == error["code"]


def test_a_server_that_contradicts_itself_is_given_up():
    """Hostile: it never comes to an end by itself."""
    with Meeting(era="auto") as meeting:
        opening = in_thread(meeting.opened)
        asked = 0
        try:
            while asked < 20:
                message = meeting.peer.receive()
                asked += 1
                if message["method"] == "initialize":
                    meeting.answer(message, error=unsupported(MODERN))
                else:
                    meeting.answer(message, discovered("2025-11-25"))
        except ConnectionLost:
            pass
        with pytest.raises(PeerProtocolError, match="contradicts itself"):
            opening.get()
        assert asked < 10


# --- Silence ----------------------------------------------------------------------------------


def test_a_silent_server_is_offered_a_handshake_besides():
    with Meeting(era="auto", limits=QUICK) as meeting:
        meeting.asked("server/discover")
        meeting.greet()
        assert str(meeting.opened().revision) == "2025-11-25"
        assert "params" not in meeting.works()
        assert [m.get("method") for m in meeting.peer.wire] == [
            "server/discover", "initialize", "notifications/initialized", "tools/list"], "and nothing was cancelled"


def test_an_old_server_that_wakes_up_late_answers_both():
    with Meeting(era="auto", limits=QUICK) as meeting:
        question, offer = meeting.asked("server/discover"), meeting.asked("initialize")
        meeting.answer(question, error={"code": -32601, "message": "no"})
        meeting.answer(offer, initialized("2025-06-18"))
        assert meeting.peer.receive()["method"] == "notifications/initialized"
        assert str(meeting.opened().revision) == "2025-06-18"


def test_a_modern_server_that_wakes_up_late_is_recognized_all_the_same():
    with Meeting(era="auto", limits=QUICK) as meeting:
        question, offer = meeting.asked("server/discover"), meeting.asked("initialize")
        meeting.answer(question, discovered())
        meeting.answer(offer, error={"code": -32601, "message": "no"})
        client = meeting.opened()
        assert str(client.revision) == MODERN and envelope.VERSION in meeting.works()["params"]["_meta"]


@pytest.mark.parametrize("error", [{"code": -32601, "message": "no"}, {"code": -32602, "message": "no"}])
def test_also_if_it_refuses_the_handshake_first(error):
    with Meeting(era="auto", limits=Limits(probe_timeout=0.05)) as meeting:
        question, offer = meeting.asked("server/discover"), meeting.asked("initialize")
        meeting.answer(offer, error=error)
        meeting.answer(question, discovered())
        assert str(meeting.opened().revision) == MODERN


def test_or_names_its_versions_when_it_refuses():
    with Meeting(era="auto", limits=QUICK) as meeting:
        meeting.asked("server/discover")
        meeting.answer(meeting.asked("initialize"), error=unsupported(MODERN))
        meeting.answer(meeting.asked("server/discover"), discovered())
        assert str(meeting.opened().revision) == MODERN


def test_a_server_of_both_eras_that_shakes_hands_first_is_an_old_one():
    with Meeting(era="auto", limits=QUICK) as meeting:
        question, offer = meeting.asked("server/discover"), meeting.asked("initialize")
        meeting.answer(offer, initialized("2025-11-25"))
        assert meeting.peer.receive()["method"] == "notifications/initialized"
        client = meeting.opened()
        meeting.answer(question, discovered())
        assert str(client.revision) == "2025-11-25" and "params" not in meeting.works()
        assert client.connection.counters.snapshot() == {}, "it is as healthy as can be"
        meeting.answer(question, discovered())
        meeting.works()
        assert client.connection.counters["late response"] == 1, "but it answers once"


@pytest.mark.parametrize("late", [{"error": {"code": -32601, "message": "no"}}, None])
def test_nor_is_one_without_handshake_blamed_for_its_answer_to_the_offer(late):
    with Meeting(era="auto", limits=QUICK) as meeting:
        question, offer = meeting.asked("server/discover"), meeting.asked("initialize")
        meeting.answer(question, discovered())
        client = meeting.opened()
        meeting.answer(offer, **(late or {"result": initialized("2025-11-25")}))
        meeting.works()
        assert client.connection.counters.snapshot() == {}


def test_a_server_that_refuses_both_is_an_error_with_its_words():
    with Meeting(era="auto", limits=QUICK) as meeting:
        question, offer = meeting.asked("server/discover"), meeting.asked("initialize")
        meeting.answer(question, error={"code": -32601, "message": "never heard"})
        meeting.answer(offer, error={"code": -32603, "message": "out of order"})
        with pytest.raises(PeerError, match="out of order"):
            meeting.opened()


def test_a_server_that_refuses_the_handshake_and_says_no_more_is_an_error_after_a_while():
    with Meeting(era="auto", limits=QUICK) as meeting:
        meeting.asked("server/discover")
        meeting.answer(meeting.asked("initialize"), error={"code": -32603, "message": "out of order"})
        with pytest.raises(PeerError, match="out of order"):
            meeting.opened()


def test_a_server_that_answers_nothing_at_all_is_a_timeout():
    with Meeting(era="auto", limits=Limits(probe_timeout=0.01, initialize_timeout=0.02)) as meeting:
        with pytest.raises(RequestTimeout, match="neither server/discover nor initialize"):
            meeting.opened()
    with Meeting(era="modern", limits=Limits(initialize_timeout=0.01)) as meeting:
        with pytest.raises(RequestTimeout, match='era="auto"'):
            meeting.opened()


def test_a_server_that_leaves_is_lost():
    for early in (True, False):
        with Meeting(era="auto", limits=QUICK) as meeting:
            meeting.asked("server/discover")
            if not early:
                meeting.asked("initialize")
            meeting.peer.transport.close()
            with pytest.raises(ConnectionLost):
                meeting.opened()


def test_closing_ends_the_waiting():
    with Meeting(era="auto", limits=Limits(probe_timeout=PATIENCE)) as meeting:
        meeting.asked("server/discover")
        meeting.client.close()
        with pytest.raises(ConnectionLost):
            meeting.opened()


# --- Over HTTP: what the transport tells ------------------------------------------------------


class Refusing(Wrapper):
    """A memory transport that fails the first request with an error of the transport, and may speak for HTTP."""

    def __init__(self, inner, error):
        super().__init__(inner)
        self.error, self.origin = error, "http://one.example"
        self._left = 1

    def write(self, messages):
        for message in messages:
            if self._left and json.loads(message)["method"] == "server/discover":
                self._left = 0
                self.failed = Failed(json.loads(message)["id"], self.error)
                self.on_failed(self.failed)
            else:
                self.inner.write([message])


def refused(error, era="auto"):
    """A client whose first request fails so: what it sends next, and what `open` comes to."""
    ours, theirs = pair()
    transport = Refusing(ours, error)
    client = Client(era=era, limits=QUICK)
    transport.on_failed = lambda failed: client._opening.table.fail(failed.id, failed.error)
    peer = ScriptedPeer(theirs)
    return client, peer, in_thread(client.open, transport)


def http_error(code, status, data=None):
    error = PeerError(code, "no", data, "server/discover", 1)
    error.status = status
    return error


@pytest.mark.parametrize("error", [
    HttpStatus("400", 400), HttpStatus("404", 404), HttpStatus("405", 405), HttpStatus("406", 406),
    http_error(-32601, 400), http_error(-32000, 400), http_error(-32600, 400),
    http_error(-32602, 400), http_error(-32601, None), PeerProtocolError("what?"),
    http_error(-32603, 500), HttpStatus("500", 500), HttpStatus("503", 503),
    AnswerLost("the connection was closed"),
], ids=lambda error: "%s %s" % (type(error).__name__, getattr(error, "status", "")))
def test_a_refusal_without_a_modern_error_is_followed_by_a_handshake(error):
    client, peer, opening = refused(error)
    with peer:
        peer.accept_handshake("2025-11-25")
        assert str(opening.get().revision) == "2025-11-25"
        assert client.eras == {"http://one.example": "2025-11-25"}
        client.close()


@pytest.mark.parametrize("error", [
    HttpStatus("401", 401), HttpStatus("403", 403),
    ConnectFailed("nobody there"), ConnectionLost("gone"), http_error(-32020, 400),
], ids=repr)
def test_what_says_nothing_of_the_era_is_an_error_of_opening(error):
    _, peer, opening = refused(error)
    with peer:
        with pytest.raises(type(error)) as caught:
            opening.get()
        assert caught.value is error
        assert peer.ended() and not peer.has_mail


@pytest.mark.parametrize("error", [HttpStatus("500", 500), AnswerLost("gone"), http_error(-32603, 500)], ids=repr)
def test_a_failure_that_has_nothing_to_do_with_the_era_is_the_error_of_opening(error):
    _, peer, opening = refused(error)
    with peer:
        peer.send({"jsonrpc": "2.0", "id": peer.receive()["id"], "error": {"code": -32603, "message": "broken"}})
        with pytest.raises(type(error)) as caught:
            opening.get()
        assert caught.value is error
    _, peer, opening = refused(error, "modern")
    with peer, pytest.raises(type(error)) as caught:
        opening.get()
    assert caught.value is error


def test_a_modern_server_that_does_not_know_discovery_is_one_all_the_same():
    """404 with -32601 is how modern servers refuse a method; reading: that it should know this one is its own fault."""
    for era in ("auto", "modern"):
        client, peer, opening = refused(http_error(-32601, 404), era)
        with peer:
            assert opening.get().server_info is None and client.server_capabilities == {}
            call = in_thread(client.list_tools)
            asked = peer.receive()
            result = {"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private",
                      "_meta": {envelope.SERVER_INFO: INFO}}
            peer.send({"jsonrpc": "2.0", "id": asked["id"], "result": result})
            call.get()
            assert client.server_info.name == "scripted", "known from the first result that says so"
            client.close()


# --- What is remembered -----------------------------------------------------------------------


class Named:
    """Clients of one server that has an address."""

    def __init__(self, eras):
        self.eras = eras

    def meet(self, address="server one", **options):
        """A client that opens a transport of this address."""
        ours, theirs = pair()
        ours.address = address
        client = Client(eras=self.eras, **dict({"era": "auto", "limits": QUICK}, **options))
        peer = ScriptedPeer(theirs)
        opening = in_thread(client.open, ours)
        return client, peer, opening


def test_the_era_of_a_server_is_found_out_once():
    eras = {}
    named = Named(eras)
    client, peer, opening = named.meet()
    with peer:
        question = peer.receive()
        peer.send({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32601, "message": "no"}})
        peer.accept_handshake("2025-06-18")
        opening.get().close()
    assert eras == {"server one": "2025-06-18"}
    client, peer, opening = named.meet()
    with peer:
        assert peer.receive()["method"] == "initialize", "no question"
        peer.transport.close()
    with pytest.raises(ConnectionLost):
        opening.get()
    client, peer, opening = named.meet("server two")
    with peer:
        assert peer.receive()["method"] == "server/discover", "another server"
        peer.transport.close()
    with pytest.raises(ConnectionLost):
        opening.get()


def test_a_client_that_is_opened_again_remembers():
    client = Client(era="auto", limits=QUICK)
    for number in range(2):
        ours, theirs = pair()
        ours.address = "server"
        with ScriptedPeer(theirs) as peer:
            opening = in_thread(client.open, ours)
            if number == 0:
                question = peer.receive()
                peer.send({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32601, "message": "no"}})
            peer.accept_handshake("2025-11-25")
            opening.get().close()
            assert [m["method"] for m in peer.wire].count("server/discover") == (number == 0)


def test_a_server_that_has_become_a_modern_one_is_found_out_again():
    eras = {"server one": "2025-11-25"}
    for error in ({"code": -32601, "message": "no"}, unsupported(MODERN)):
        client, peer, opening = Named(eras).meet()
        with peer:
            asked = peer.receive()
            assert asked["method"] == "initialize"
            peer.send({"jsonrpc": "2.0", "id": asked["id"], "error": error})
            asked = peer.receive()
            assert asked["method"] == "server/discover"
            peer.send({"jsonrpc": "2.0", "id": asked["id"], "result": discovered()})
            assert str(opening.get().revision) == MODERN
            client.close()
        assert eras["server one"] == MODERN
        eras["server one"] = "2025-11-25"


def test_a_server_that_has_become_an_old_one_is_found_out_again():
    eras = {"server one": MODERN}
    client, peer, opening = Named(eras).meet()
    with peer:
        asked = peer.receive()
        peer.send({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}})
        peer.accept_handshake("2025-03-26")
        assert str(opening.get().revision) == "2025-03-26" == eras["server one"]
        client.close()


def test_a_server_known_as_a_modern_one_has_more_time():
    """It would not answer a handshake anyway."""
    client, peer, opening = Named({"server one": MODERN}).meet(limits=Limits(probe_timeout=0.0))
    with peer:
        asked = peer.receive()
        peer.send({"jsonrpc": "2.0", "id": asked["id"], "result": discovered()})
        assert str(opening.get().revision) == MODERN
        client.close()
        assert [m["method"] for m in peer.wire] == ["server/discover"]


@pytest.mark.parametrize("kept", ["", "nonsense", "2025-11-25", MODERN])
def test_what_is_remembered_counts_only_among_what_is_spoken(kept):
    client, peer, opening = Named({"server one": kept}).meet(era="2025-06-18")
    with peer:
        assert peer.accept_handshake()["protocolVersion"] == "2025-06-18"
        opening.get().close()
    client, peer, opening = Named({"server one": kept}).meet(era="modern")
    with peer:
        assert peer.receive()["method"] == "server/discover"
        peer.transport.close()
    with pytest.raises(ConnectionLost):
        opening.get()


def test_commands_and_addresses_name_their_servers():
    from mcp_ref.transports.lines.child import StdioChild
    from mcp_ref.transports.lines.sockets import connect_socket

    assert StdioChild(["python3", "a.py"]).address == "python3 a.py" == StdioChild("python3 a.py").address
    assert connect_socket("tcp://localhost:1").address == "tcp://localhost:1"


# --- Requests of this era ---------------------------------------------------------------------


def modern_client(meeting, **more):
    """Open it as a modern client."""
    meeting.answer(meeting.asked("server/discover"), discovered(**more))
    return meeting.opened()


def test_members_of_meta_that_a_caller_gives_are_kept_beside_ours():
    with Meeting(era="modern") as meeting:
        client = modern_client(meeting)
        given = {"com.example/a": [1], envelope.LOG_LEVEL: "debug", envelope.CAPABILITIES: {"elicitation": {}}}
        call = in_thread(client.call_tool, "t", meta=given, progress=lambda *told: None)
        message = meeting.peer.receive()
        meeting.answer(message, {"resultType": "complete", "content": []})
        call.get()
        assert message["params"]["_meta"] == dict(
            client.connection.envelope, progressToken=message["id"], **given)
        assert envelope.LOG_LEVEL not in client.connection.envelope, "and hold for this request only"


@pytest.mark.parametrize("key", ["io.modelcontextprotocol/other", "com.mcp/x", "dev.mcp.tools/y", "-bad", "a/b/c"])
def test_reserved_and_malformed_names_are_refused_as_ever(key):
    with Meeting(era="modern") as meeting:
        client = modern_client(meeting)
        with pytest.raises(LocalProtocolError, match="_meta key"):
            client.call_tool("t", meta={key: 1})
        assert len(meeting.peer.wire) == 1 and len(client.connection.table) == 0


def test_the_version_is_not_the_callers_to_set():
    with Meeting(era="modern") as meeting:
        client = modern_client(meeting)
        with pytest.raises(LocalProtocolError, match="protocolVersion"):
            client.call_tool("t", meta={envelope.VERSION: "2025-11-25"})
        assert len(meeting.peer.wire) == 1 and len(client.connection.table) == 0


def test_log_levels_go_with_each_request_from_then_on():
    with Meeting(era="modern") as meeting:
        client = modern_client(meeting, capabilities={"tools": {}, "logging": {}})
        assert envelope.LOG_LEVEL not in meeting.works()["params"]["_meta"]
        client.set_log_level("warning")
        assert meeting.works()["params"]["_meta"][envelope.LOG_LEVEL] == "warning"
        with pytest.raises(LocalProtocolError, match="log level"):
            client.set_log_level("loud")
        client.set_log_level("error")
        assert meeting.works()["params"]["_meta"][envelope.LOG_LEVEL] == "error"


def test_a_server_that_is_opened_again_is_asked_for_no_log_messages():
    with Meeting(era="modern") as meeting:
        client = modern_client(meeting)
        client.set_log_level("warning")
        client.close()
        with Meeting(client=client) as other:
            asked = other.asked("server/discover")
            other.answer(asked, discovered())
            other.opened()
            assert envelope.LOG_LEVEL not in asked["params"]["_meta"]


def test_ping_is_a_question_that_every_server_answers():
    with Meeting(era="modern") as meeting:
        client = modern_client(meeting)
        call = in_thread(client.ping)
        meeting.answer(meeting.asked("server/discover"), discovered())
        call.get()


def test_discovery_may_be_asked_again_and_what_it_says_counts():
    with Meeting(era="modern") as meeting:
        client = modern_client(meeting)
        call = in_thread(client.discover)
        meeting.answer(meeting.asked("server/discover"), discovered(
            MODERN, "2025-11-25", capabilities={"prompts": {}}, instructions="New.", ttlMs=5))
        answer = call.get()
        assert (answer.supported_versions, answer.ttl_ms) == ([MODERN, "2025-11-25"], 5)
        assert client.server_capabilities == {"prompts": {}} and client.instructions == "New."
        call = in_thread(client.list_prompts)
        meeting.answer(meeting.asked("prompts/list"), {"resultType": "complete", "prompts": []})
        call.get()


def test_a_session_with_a_handshake_has_no_discovery():
    with Meeting(era="legacy") as meeting:
        meeting.greet()
        client = meeting.opened()
        with pytest.raises(LocalProtocolError, match="no request server/discover"):
            client.discover()


@pytest.mark.parametrize("beside, malformed", [(INFO, 0), (None, 0), (5, 1), ({"name": 5}, 1)])
def test_a_name_beside_the_rest_of_a_discovery_is_taken_if_it_is_one(beside, malformed):
    """Reading: some servers say it where the handshake has it."""
    with Meeting(era="modern") as meeting:
        client = modern_client(meeting, **({} if beside is None else {"serverInfo": beside}))
        assert (client.server_info is not None) == (beside is INFO)
        assert client.connection.counters["malformed server info"] == malformed


def test_roots_that_change_are_not_announced_where_nobody_could_be_told():
    from mcp_ref.client.roots import Roots

    roots = Roots(["/one"])
    with Meeting(era="modern", roots=roots) as meeting:
        modern_client(meeting)
        roots.add("/two")
        meeting.works()
        assert len(meeting.peer.wire) == 2


def test_no_pings_are_sent_where_there_are_none():
    with Meeting(era="modern", keepalive=0.001) as meeting:
        modern_client(meeting)
        meeting.works()
        meeting.works()
        assert [m["method"] for m in meeting.peer.wire] == ["server/discover", "tools/list", "tools/list"]


def test_connect_takes_the_policy():
    with pytest.raises(ValueError, match="era is one of"):
        connect("true", era="x")
