"""Messages: requests, responses, notifications, ids and errors, as both parties send and take them.

The pages are basic/messages in 2024-11-05 and basic/index §Messages since.
"""
import json

import pytest

from mcp_ref import McpError, Server
from mcp_ref.errors import PeerError, PeerProtocolError, RequestCancelled, RequestTimeout, RpcError
from mcp_ref.limits import Limits
from mcp_ref.peer.context import Route
from tests.support.conversation import PARTIES, answering, asking, conversation
from tests.support.requirements_table import HANDSHAKE, STATELESS, every_revision_of, revisions_of
from tests.support.serving import served

both_parties = pytest.mark.parametrize("party", PARTIES)
NULL_IDS = HANDSHAKE[:3]
"""The revisions in which an error without readable id says `"id": null`; the schema requires the member."""


def frame_faults(message):
    """What is wrong with a message as JSON-RPC 2.0 and MCP have it; written apart from the library and the schemas."""
    faults = [] if message.get("jsonrpc") == "2.0" else ["jsonrpc is not 2.0"]
    id_known = type(message.get("id")) in (int, str)
    if "method" in message:
        extra = set(message) - {"jsonrpc", "id", "method", "params"}
        faults += ["id of a request is no string or integer"] if "id" in message and not id_known else []
        faults += ["params is no object"] if type(message.get("params", {})) is not dict else []
        faults += ["method is no string"] if type(message["method"]) is not str else []
        faults += ["a notification with id"] if "id" in message and "notifications/" in str(message["method"]) else []
    else:
        extra = set(message) - {"jsonrpc", "id", "result", "error"}
        faults += ["not one of result and error"] if ("result" in message) == ("error" in message) else []
        faults += ["result is no object"] if type(message.get("result", {})) is not dict else []
        faults += ["result without id"] if "result" in message and not id_known else []
        if "error" in message:
            error = message["error"]
            extra |= set(error) - {"code", "message", "data"}
            faults += ["code is no integer"] if type(error.get("code")) is not int else []
            faults += ["message is no string"] if type(error.get("message")) is not str else []
    return faults + (["members %s" % sorted(extra)] if extra else [])


def our_request(talk, method=None, **options):
    """A request of our side, and the scripted peer's view of it."""
    method = method or talk.any
    pending = talk.connection.open_request(method, **options)
    return pending, talk.peer.receive(lambda m: m.get("method") == method)


def everything(talk):
    """A conversation in which our side sends each kind of message; all that it sent, its opening included."""
    if talk.asks:
        pending, seen = our_request(talk)
        talk.peer.respond(seen["id"], {})
        talk.connection.wait(pending)
        pending, seen = our_request(talk)
        talk.peer.send({"jsonrpc": "2.0", "id": seen["id"], "error": {"code": -5, "message": "no"}})
        with pytest.raises(PeerError):
            talk.connection.wait(pending)
        pending, seen = our_request(talk)
        talk.connection.cancel(pending, "enough")
    if talk.asks and talk.answers:
        talk.connection.notify("notifications/progress", {"progressToken": 1, "progress": 1})
    if talk.answers:
        talk.peer.send(talk.quick("a"), talk.quick(2))
        for _ in range(2):  # of two workers, either may be the first
            talk.peer.receive(lambda m: m.get("id") in ("a", 2))
        talk.call("no/such")
        talk.call("tools/call" if talk.party == "server" else "tasks/list", {"name": 5})
    talk.peer.send(b"{", b"[]", b'{"jsonrpc":"2.0","id":null,"method":"ping"}')
    talk.unanswered()
    return talk.peer.seen


@pytest.mark.spec("jsonrpc.follow-spec", "jsonrpc.request-id-type", "jsonrpc.request-id-not-null",
                  "jsonrpc.notification-no-id", "jsonrpc.response-result-or-error", "jsonrpc.response-not-both",
                  "jsonrpc.result-field", "jsonrpc.error-code-message", "jsonrpc.error-code-integer")
@pytest.mark.parametrize("revision", every_revision_of("jsonrpc.follow-spec"))
@pytest.mark.sends_illegal(rules=lambda party, revision: ["progress.token-active"] * (revision in HANDSHAKE))
@both_parties
def test_each_message_that_is_sent_is_json_rpc(party, revision):
    """[2024-11-05 basic/messages §Requests] [2025-03-26.. basic/index §Messages] MUST"""
    with conversation(party, revision) as talk:
        sent = everything(talk)
    kinds = {(("method" in m), ("id" in m), ("result" in m), ("error" in m)) for m in sent}
    expected = 2 * (talk.asks + talk.answers)
    assert len(kinds) >= expected, "this test should see requests and notifications, results and errors"
    assert not [(message, frame_faults(message)) for message in sent if frame_faults(message)]


@pytest.mark.spec("jsonrpc.request-id-unique-session")
@pytest.mark.parametrize("revision", revisions_of("jsonrpc.request-id-unique-session"))
@both_parties
def test_no_id_is_used_twice_whatever_became_of_the_first_request(party, revision):
    """[2024-11-05 basic/messages §Requests] [2025-03-26..2025-11-25 basic/index §Requests] MUST NOT"""
    with conversation(party, revision) as talk:
        connection = talk.connection
        pending, answered = our_request(talk)
        talk.peer.respond(answered["id"], {})
        connection.wait(pending)
        pending, refused = our_request(talk)
        talk.peer.send({"jsonrpc": "2.0", "id": refused["id"], "error": {"code": 1, "message": ""}})
        with pytest.raises(PeerError):
            connection.wait(pending)
        pending, late = our_request(talk, timeout=0)
        with pytest.raises(RequestTimeout):
            connection.wait(pending)
        pending, cancelled = our_request(talk)
        connection.cancel(pending, "enough")
        with pytest.raises(RequestCancelled):
            connection.wait(pending)
        waiting = [our_request(talk)[1] for _ in range(3)]
        ids = [message["id"] for message in talk.peer.seen if "method" in message and "id" in message]
    assert {answered["id"], refused["id"], late["id"], cancelled["id"]} | {m["id"] for m in waiting} <= set(ids)
    assert len(set(ids)) == len(ids) >= 7


IDS = [0, 1, -1, 2**31, 2**53 + 1, 10**30, "", "1", "-1", "null", "\u00e9\u2028\U0001f600", 'a"b\\', "x" * 1024]


@pytest.mark.spec("jsonrpc.response-same-id", "jsonrpc.error-same-id")
@pytest.mark.parametrize("party, revision", answering(every_revision_of("jsonrpc.response-same-id")))
def test_each_answer_has_the_id_of_its_request(party, revision):
    """[2024-11-05 basic/messages §Responses] [2025-03-26..2025-11-25 basic/index §Responses] MUST"""
    kinds = [lambda talk, id: talk.message(id, talk.any), lambda talk, id: talk.quick(id),
             lambda talk, id: talk.message(id, "no/such"),
             lambda talk, id: dict(talk.message(id, talk.any), params=[1])]
    for kind, member in zip(kinds, ("result", "result", "error", "error")):
        with conversation(party, revision) as talk:
            for id in IDS:
                talk.peer.send(kind(talk, id))
                answer = talk.peer.receive()
                assert (answer["id"], type(answer["id"]), member in answer) == (id, type(id), True)


@pytest.mark.spec("jsonrpc.response-same-id")
@pytest.mark.parametrize("revision", every_revision_of("jsonrpc.response-same-id"))
def test_the_result_of_a_tool_that_failed_has_the_id_of_its_call(revision):
    """[2024-11-05 basic/messages §Responses] [2025-03-26..2025-11-25 basic/index §Responses] MUST"""
    server = Server("failing")

    @server.tool
    def fail():
        raise ValueError("no")

    with served(server, revision) as peer:
        for id in IDS:
            result = peer.call(id, "tools/call", {"name": "fail", "arguments": {}})["result"]
            assert result["isError"] is True


@pytest.mark.spec("jsonrpc.response-same-id")
@pytest.mark.parametrize("party, revision", asking(every_revision_of("jsonrpc.response-same-id")))
def test_answers_in_another_order_reach_their_requests(party, revision):
    """[2024-11-05 basic/messages §Responses] [2025-03-26..2025-11-25 basic/index §Responses] MUST"""
    with conversation(party, revision) as talk:
        requests = [our_request(talk) for _ in range(5)]
        for _, seen in reversed(requests):
            talk.peer.respond(seen["id"], {"for": seen["id"]})
        assert [talk.connection.wait(pending)["for"] for pending, _ in requests] == [seen["id"] for _, seen in requests]


@pytest.mark.spec("jsonrpc.response-same-id")
@pytest.mark.parametrize("party, revision", asking(every_revision_of("jsonrpc.response-same-id")))
def test_an_answer_with_another_id_answers_nothing(party, revision):
    """[2024-11-05 basic/messages §Responses] [2025-03-26..2025-11-25 basic/index §Responses] MUST"""
    with conversation(party, revision) as talk:
        pending, seen = our_request(talk)
        for other in ("0%d" % seen["id"], seen["id"] + 100, -seen["id"], "", "ping"):
            talk.peer.respond(other, {"wrong": True})
        for other in (seen["id"] + 0.5, True, None, [seen["id"]]):
            talk.peer.send({"jsonrpc": "2.0", "id": other, "result": {"wrong": True}})
        talk.lives()
        assert talk.count("unknown response") == 5 and talk.count("malformed message") == 4
        talk.peer.respond(seen["id"], {"right": True})
        assert talk.connection.wait(pending)["right"]
        talk.peer.respond(seen["id"], {"again": True})
        talk.lives()
        assert talk.count("late response") == 1


# Messages that are none. Code and id of the answer; the id None: it cannot be read.

REQUESTS_THAT_ARE_NONE = [
    ('1', -32600, None),
    ('"ping"', -32600, None),
    ('null', -32600, None),
    ('true', -32600, None),
    ('[]', -32600, None),
    ('{}', -32600, None),
    ('{"jsonrpc":"2.0"}', -32600, None),
    ('{"id":%s,"method":"ping"}', -32600, 1),
    ('{"jsonrpc":"1.0","id":%s,"method":"ping"}', -32600, 1),
    ('{"jsonrpc":2.0,"id":%s,"method":"ping"}', -32600, 1),
    ('{"jsonrpc":null,"id":%s,"method":"ping"}', -32600, 1),
    ('{"JSONRPC":"2.0","id":%s,"method":"ping"}', -32600, 1),
    ('{"jsonrpc":"2.0","id":%s}', -32600, 1),
    ('{"jsonrpc":"2.0","id":%s,"method":5}', -32600, 1),
    ('{"jsonrpc":"2.0","id":%s,"method":null}', -32600, 1),
    ('{"jsonrpc":"2.0","id":%s,"method":["ping"]}', -32600, 1),
    ('{"jsonrpc":"2.0","id":%s,"METHOD":"ping"}', -32600, 1),
    ('{"jsonrpc":"2.0","id":%s,"method":"ping","params":"{}"}', -32600, 1),
    ('{"jsonrpc":"2.0","id":%s,"method":"ping","params":0}', -32600, 1),
    ('{"jsonrpc":"2.0","id":%s,"method":"ping","params":[{}]}', -32602, 1),
    ('{"jsonrpc":"2.0","method":5}', -32600, None),
]
IDS_THAT_ARE_NONE = ["null", "true", "false", "1.5", "1.0", "1e3", "-0.0", "[]", "[1]", "{}", '"%s"' % ("x" * 1025)]


@pytest.mark.spec("jsonrpc.follow-spec", "jsonrpc.error-same-id")
@pytest.mark.parametrize("party, revision", answering(every_revision_of("jsonrpc.follow-spec") + (None,)))
def test_what_is_no_message_is_refused_with_its_code_and_the_conversation_goes_on(party, revision):
    """[2024-11-05 basic/messages §Requests] [2025-03-26..2025-11-25 basic/index §Messages] MUST, [JSON-RPC 2.0 §5]"""
    with refusing(party, revision) as talk:
        for number, (text, code, id) in enumerate(REQUESTS_THAT_ARE_NONE):
            id = id and "odd-%d" % number
            talk.peer.send(text % json.dumps(id) if id else text)
            assert_refused(talk, revision, text, code, id)
        assert talk.count("malformed message") == len(REQUESTS_THAT_ARE_NONE)


@pytest.mark.spec("jsonrpc.request-id-type", "jsonrpc.request-id-not-null")
@pytest.mark.parametrize("party, revision", answering(every_revision_of("jsonrpc.request-id-type") + (None,)))
def test_an_id_that_is_neither_string_nor_integer_is_refused(party, revision):
    """[2024-11-05 basic/messages §Requests] [2025-03-26..2025-11-25 basic/index §Requests] MUST NOT"""
    with refusing(party, revision) as talk:
        for text in IDS_THAT_ARE_NONE:
            talk.peer.send('{"jsonrpc":"2.0","id":%s,"method":"%s"}' % (text, talk.any))
            assert_refused(talk, revision, text, -32600, None)


def refusing(party, revision, **options):
    """A conversation in this revision; None: before a revision was agreed on."""
    if revision is None:
        return conversation(party, phase="opening" if party == "server" else "initializing", **options)
    return conversation(party, revision, **options)


def assert_refused(talk, revision, what, code, id):
    """The next message is this error, and a ping is answered as if nothing had happened."""
    answer = talk.peer.receive()
    assert answer.get("error", {}).get("code") == code, (what, answer)
    if id is not None or revision is None or revision in NULL_IDS:
        assert answer["id"] == id, (what, answer)
    else:
        assert "id" not in answer, (what, answer)
    talk.lives()


BROKEN_RESPONSES = [
    {"result": {}, "error": {"code": 1, "message": ""}},
    {"result": []},
    {"result": None},
    {"result": "ok"},
    {"error": None},
    {"error": "no"},
    {"error": []},
    {"error": {}},
    {"error": {"code": 1}},
    {"error": {"message": "no"}},
    {"error": {"code": "1", "message": "no"}},
    {"error": {"code": 1.5, "message": "no"}},
    {"error": {"code": True, "message": "no"}},
    {"error": {"code": None, "message": "no"}},
    {"error": {"code": 1, "message": None}},
    {"error": {"code": 1, "message": {}}},
    {"result": {}, "jsonrpc": "1.0"},
    {"result": {}, "jsonrpc": None},
]


@pytest.mark.spec("jsonrpc.response-result-or-error", "jsonrpc.response-not-both", "jsonrpc.result-field",
                  "jsonrpc.error-code-message", "jsonrpc.error-code-integer")
@pytest.mark.parametrize("party, revision", asking(every_revision_of("jsonrpc.error-code-integer")))
def test_a_broken_response_fails_its_request_and_gets_no_answer(party, revision):
    """[2024-11-05 basic/messages §Responses] [2025-03-26..2025-11-25 basic/index §Responses] MUST"""
    with conversation(party, revision) as talk:
        for members in [{}] + BROKEN_RESPONSES:  # the first may be a request, too, but for its id
            pending, seen = our_request(talk)
            talk.peer.send(dict({"jsonrpc": "2.0", "id": seen["id"]}, **members))
            with pytest.raises(PeerProtocolError, match="malformed response"):
                talk.connection.wait(pending)
            talk.lives()


@pytest.mark.spec("jsonrpc.error-code-integer", "jsonrpc.error-code-message")
@pytest.mark.parametrize("party, revision", asking(every_revision_of("jsonrpc.error-code-integer")))
def test_an_error_arrives_with_its_code_message_and_data(party, revision):
    """[2024-11-05 basic/messages §Responses] [2025-03-26..2025-11-25 basic/index §Responses] MUST"""
    for code, message, data in [(-32602, "no", None), (0, "", {"a": [1]}), (10**20, "\u2028", False), (-1, "x", "y")]:
        with conversation(party, revision) as talk:
            pending, seen = our_request(talk)
            error = {"code": code, "message": message}
            error = error if data is None else dict(error, data=data)
            talk.peer.send({"jsonrpc": "2.0", "id": seen["id"], "error": error})
            with pytest.raises(PeerError) as caught:
                talk.connection.wait(pending)
            assert (caught.value.code, caught.value.message, caught.value.data) == (code, message, data)


RAISED = [
    RpcError(1.5, "no"), RpcError(True, "no"), RpcError(float(2**70), "no"), RpcError(-1, None),
    RpcError(-1, {"text": "no"}), RpcError(-1, "no", float("nan")), RpcError(-1, "no", object()),
    RpcError(-1, "\ud800"),
    ValueError("secret"), PeerError(-5, "no", None, "ping", 1), McpError("secret"), SystemExit(3),
]


@pytest.mark.spec("jsonrpc.error-code-integer", "jsonrpc.error-code-message", "jsonrpc.response-same-id")
@pytest.mark.parametrize("party, revision", answering(every_revision_of("jsonrpc.error-code-integer")))
def test_a_handler_that_raises_nonsense_is_answered_by_a_proper_error(party, revision):
    """[2024-11-05 basic/messages §Responses] [2025-03-26..2025-11-25 basic/index §Responses] MUST"""
    for inline in (False, True):
        with conversation(party, revision) as talk:
            talk.role.mask_errors = True  # of a server; a client never tells
            raised = iter(RAISED)
            route = Route(lambda context, params: throw(next(raised)), inline=inline)
            talk.role.route = lambda connection, method, revision: route
            for error in RAISED:
                answer = talk.call("prompts/list" if party == "server" else "roots/list")
                assert not frame_faults(answer), (error, answer)
                assert answer["error"]["code"] == -32603, (error, answer)
                assert "secret" not in answer["error"]["message"], (error, answer)
            assert next(raised, None) is None


def throw(error):
    raise error


@pytest.mark.spec("jsonrpc.request-id-unique-session")
@pytest.mark.parametrize("revision", revisions_of("jsonrpc.request-id-unique-session"))
@pytest.mark.parametrize("id", [0, "7", 10**30])
@both_parties
def test_an_id_in_use_is_dropped_and_the_first_request_answered_once(party, id, revision):
    """[2024-11-05 basic/messages §Requests] [2025-03-26..2025-11-25 basic/index §Requests] MUST NOT

    Reading: an error with that id would look like the first one's answer, so there is none.
    """
    with conversation(party, revision) as talk:
        talk.hold(id)
        talk.peer.request(id, "ping")
        talk.peer.send(talk.quick(id), talk.held(id))
        talk.peer.request(id, "no/such")
        talk.peer.send({"jsonrpc": "2.0", "id": id, "method": "ping", "params": []})
        talk.peer.send({"jsonrpc": "2.0", "id": id, "method": 5}, {"id": id, "method": "ping"})
        assert talk.unanswered() == []
        assert talk.count("duplicate id") == 7
        talk.gate.open()
        assert "result" in talk.peer.answer_to(id)
        assert talk.unanswered() == []


@pytest.mark.spec("jsonrpc.request-id-unique-session")
@pytest.mark.parametrize("revision", revisions_of("jsonrpc.request-id-unique-session"))
@pytest.mark.parametrize("ids", [(1, 2, 3), (3, 2, 1), ("a", "b", 1), (-5, 10**30, "")], ids=repr)
@both_parties
def test_an_id_that_was_answered_is_answered_again_and_counted(party, ids, revision):
    """[2024-11-05 basic/messages §Requests] [2025-03-26..2025-11-25 basic/index §Requests] MUST NOT

    Reading: that is the requestor's to keep; nothing is said of the receiver, and nothing is mixed up.
    """
    with conversation(party, revision) as talk:
        for id in ids:
            assert "result" in talk.peer.call(id, "ping")
        for id in ids:
            talk.peer.send(talk.quick(id))
            assert "result" in talk.peer.answer_to(id)
        assert talk.count("id used again") == len(ids) and talk.count("refused request") == 0


@pytest.mark.spec("jsonrpc.request-id-unique-session")
@pytest.mark.parametrize("revision", revisions_of("jsonrpc.request-id-unique-session"))
@pytest.mark.parametrize("ids", [(1, 2, 3), (3, 2, 1), ("a", "b", 1), (-5, 10**30, "")], ids=repr)
@both_parties
def test_an_id_that_was_answered_is_refused_by_a_strict_one(party, ids, revision):
    """[2024-11-05 basic/messages §Requests] [2025-03-26..2025-11-25 basic/index §Requests] MUST NOT"""
    with conversation(party, revision, strict=True) as talk:
        for id in ids:
            assert "result" in talk.peer.call(id, "ping")
        for id in ids:
            talk.peer.send(talk.quick(id))
            answer = talk.peer.answer_to(id)
            assert answer["error"]["code"] == -32600 and "id" in answer["error"]["message"]
        assert talk.role.reached == ["ping"] * len(ids)
        assert talk.count("refused request") == len(ids)


@pytest.mark.spec("jsonrpc.request-id-unique-session")
@pytest.mark.parametrize("revision", revisions_of("jsonrpc.request-id-unique-session"))
@both_parties
def test_number_and_string_are_different_ids(party, revision):
    """[2024-11-05 basic/messages §Requests] [2025-03-26..2025-11-25 basic/index §Requests] MUST NOT"""
    with conversation(party, revision) as talk:
        talk.hold(1)
        talk.peer.send(talk.quick("1"))
        assert "result" in talk.peer.answer_to("1")
        talk.gate.open()
        assert "result" in talk.peer.answer_to(1)
        assert talk.count("duplicate id") == 0


NOTES = [
    {"method": "notifications/cancelled"},
    {"method": "notifications/cancelled", "params": {"requestId": "nobody's", "reason": "none"}},
    {"method": "notifications/cancelled", "params": {"requestId": [], "reason": {}}},
    {"method": "notifications/progress"},
    {"method": "notifications/progress", "params": {"progressToken": 99, "progress": 1}},
    {"method": "notifications/progress", "params": {"progressToken": None, "progress": "much"}},
    {"method": "notifications/initialized"},
    {"method": "notifications/message", "params": {"level": "info", "data": 1}},
    {"method": "notifications/roots/list_changed"},
    {"method": "notifications/tools/list_changed"},
    {"method": "notifications/no_such"},
    {"method": "notifications/no_such", "params": {"a": {"b": None}}},
    {"method": "notifications/roots/list_changed", "params": []},
    {"method": "notifications/tools/list_changed", "params": [1]},
    {"method": "notifications/initialized", "params": None},
    {"method": "notifications/initialized", "params": "none"},
    {"method": ""},
    {"method": "ping"},
    {"method": "initialize", "params": {}},
    {"method": "tools/call", "params": {"name": "echo", "arguments": {"text": "unheard"}}},
    {"method": "tools/list"},
    {"method": "roots/list"},
    {"method": "sampling/createMessage"},
    {"method": "x" * 10000},
]


@pytest.mark.spec("jsonrpc.notification-no-response")
@pytest.mark.parametrize("revision", HANDSHAKE + (STATELESS,))
@both_parties
def test_a_notification_is_never_answered(party, revision):
    """[2024-11-05 basic/messages §Notifications] [2025-03-26..2025-11-25 basic/index §Notifications] MUST NOT"""
    with conversation(party, revision) as talk:
        for members in NOTES:
            talk.peer.send(dict({"jsonrpc": "2.0"}, **members))
            assert talk.unanswered() == [], members
        assert not set(talk.role.reached) & {"initialize", "tools/call", "tools/list", "roots/list"}


@pytest.mark.spec("jsonrpc.notification-no-response")
@pytest.mark.parametrize("revision", revisions_of("jsonrpc.notification-no-response"))
@both_parties
def test_a_notification_is_not_answered_before_the_handshake_either(party, revision):
    """[2025-03-26..2025-11-25 basic/index §Notifications] MUST NOT"""
    with conversation(party, revision, phase="opening" if party == "server" else "initializing") as talk:
        for members in NOTES:
            talk.peer.send(dict({"jsonrpc": "2.0"}, **members))
            assert talk.unanswered() == [], members
        assert set(talk.role.reached) <= {"ping"} | ({"notifications/message"} if party == "client" else set())


@pytest.mark.spec("jsonrpc.notification-no-response", "jsonrpc.notification-no-id")
@pytest.mark.parametrize("revision", revisions_of("jsonrpc.notification-no-id"))
@both_parties
def test_a_handler_of_a_notification_that_raises_says_nothing(party, revision):
    """[2024-11-05 basic/messages §Notifications] [2025-03-26..2025-11-25 basic/index §Notifications] MUST NOT"""
    method = {"server": "notifications/roots/list_changed", "client": "notifications/tools/list_changed"}[party]
    with conversation(party, revision, limits=Limits(max_workers=1)) as talk:
        talk.role.notification = lambda connection, method, params: throw(RpcError(-1, "no"))
        talk.peer.notify(method)
        talk.peer.send(talk.quick("after"))  # the one worker has run the handler when it answers this
        assert talk.peer.receive()["id"] == "after"
        assert talk.count("handler errors") == 1


@pytest.mark.spec("jsonrpc.notification-no-id")
@pytest.mark.parametrize("party, revision", answering(every_revision_of("jsonrpc.notification-no-id")))
def test_a_notification_with_an_id_is_a_request_that_nobody_answers_and_has_no_effect(party, revision):
    """[2024-11-05 basic/messages §Notifications] [2025-03-26..2025-11-25 basic/index §Notifications] MUST NOT"""
    with conversation(party, revision) as talk:
        talk.hold("held")
        for method in ("notifications/cancelled", "notifications/progress", "notifications/message",
                       "notifications/roots/list_changed", "notifications/tools/list_changed"):
            answer = talk.call(method, {"requestId": "held"})
            assert answer["error"]["code"] == -32601, answer
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "held"}}
        talk.peer.send(dict(cancelled, id=None))
        assert talk.peer.receive()["error"]["code"] == -32600
        talk.gate.open()
        assert "result" in talk.peer.answer_to("held"), "the cancellation that was none has cancelled"


HOSTILE_NAMES = ["x" * 100000, "a\nb\r\nc", "\u2028\u2029\x85", "\x00\x1b[31m", "'\"\\", "%s%d", "\u00e9" * 5000, ""]


@pytest.mark.spec("errors.message-concise")
@pytest.mark.parametrize("party, revision", answering(every_revision_of("errors.message-concise")))
def test_the_message_of_an_error_is_one_short_line(party, revision):
    """[2024-11-05 basic/messages §Responses] [2025-03-26..2025-11-25 basic/index §Responses] SHOULD

    The schema says it, of `error.message`: a concise single sentence.
    """
    with conversation(party, revision) as talk:
        for name in HOSTILE_NAMES:
            talk.call(name)
            talk.call("initialize", {"protocolVersion": name})
            talk.call("tools/call", {"name": name})
            talk.call("tools/call", {"name": "echo", "arguments": [name]})
            talk.call("tools/call", {name: name})
            talk.call("prompts/get", {"name": name})
            talk.call("resources/read", {"uri": name})
            talk.call("logging/setLevel", {"level": name})
            talk.call("tools/list", {"cursor": name})
            for members in ({"jsonrpc": name}, {"params": name}, {"id": [name]}, {"id": "!" + name},
                            {"method": [name]}):
                talk.peer.send(dict({"jsonrpc": "2.0", "id": talk.fresh_id(), "method": "ping"}, **members))
            talk.peer.send(json.dumps(name)[1:], '{"%s":1,"%s":1}' % ((json.dumps(name)[1:-1],) * 2))
        talk.unanswered()
        messages = [answer["error"]["message"] for answer in talk.peer.seen if "error" in answer]
    assert len(messages) > 80
    assert not [text for text in messages if len(text) > 300 or len(text.splitlines()) != 1 or not text.isprintable()]


# JSON that is none, and messages that are too much.

SMALL = Limits(max_nodes=20000, max_message_bytes=300000)
PING = '{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":%s}}'
HOSTILE_JSON = {
    "nothing": b"",
    "white space": b" \t ",
    "no JSON at all": b"hello",
    "half a message": b'{"jsonrpc":"2.0","id":1,"meth',
    "two messages": b'{"jsonrpc":"2.0","method":"a"} {"jsonrpc":"2.0","method":"b"}',
    "single quotes": b"{'jsonrpc':'2.0'}",
    "trailing comma": b'{"jsonrpc":"2.0","method":"a",}',
    "a comment": b'{"jsonrpc":"2.0" /* two */,"method":"a"}',
    "NaN": PING % "NaN",
    "Infinity": PING % "[Infinity]",
    "minus Infinity": PING % "-Infinity",
    "1e400": PING % "1e400",
    "-1e400": PING % "-1E+400",
    "5,000 digits": PING % ("9" * 5000),
    "5,000 digits in a large message": PING % ("[%s%s]" % ("0," * 2000, "9" * 5000)),
    "1e400 in a large message": PING % ("[%s1e400]" % ("0," * 2000)),
    "duplicate key": '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
    "duplicate key below": PING % '{"a":1,"\\u0061":2}',
    "duplicate key in a large message": PING % ('[%s{"a":1,"a":2}]' % ("0," * 2000)),
    "lone surrogate": PING % '"\\ud800"',
    "lone surrogate as key": PING % '{"\\uDC00":1}',
    "surrogates in wrong order": PING % '"\\ude00\\ud83d"',
    "lone surrogate as bytes": (PING % '"?"').encode().replace(b"?", b"\xed\xa0\x80"),
    "broken UTF-8": (PING % '"?"').encode().replace(b"?", b"\xff"),
    "overlong UTF-8": (PING % '"?"').encode().replace(b"?", b"\xc0\xaf"),
    "cut UTF-8": (PING % '"?"').encode().replace(b"?", b"\xf0\x9f\x98"),
    "byte order mark": b"\xef\xbb\xbf" + (PING % 1).encode(),
    "UTF-16": (PING % 1).encode("utf-16"),
    "UTF-32": (PING % 1).encode("utf-32-le"),
    "NUL": (PING % 1).encode() + b"\x00",
    "control character in a string": PING % '"\x01"',
    "100,000 arrays in each other": PING % ("[" * 100000 + "]" * 100000),
    "100,000 open arrays": "[" * 100000,
    "200 objects in each other": PING % ('{"a":' * 200 + "1" + "}" * 200),
    "30,000 empty objects": PING % ("[" + "{}," * 30000 + "{}]"),
}


DETECTABLE = {
    "1e400", "-1e400", "5,000 digits", "5,000 digits in a large message", "1e400 in a large message",
    "lone surrogate", "lone surrogate as key", "surrogates in wrong order",
}
"""Those that keep the grammar of JSON, and whose depth and size are no danger, so that their id is read."""


@pytest.mark.spec("jsonrpc.follow-spec", "jsonrpc.error-same-id")
@pytest.mark.parametrize("party, revision", [
    pair for pair in answering(every_revision_of("jsonrpc.follow-spec") + (None,))
    if pair != ("client", None)])  # which waits for an answer: what it cannot read is taken for that
def test_hostile_json_gets_one_answer_and_the_connection_lives(party, revision):
    """[JSON-RPC 2.0 §5.1] [RFC 8259 §8.1]: parse error, and no id where that cannot be detected."""
    with refusing(party, revision, limits=SMALL) as talk:
        for name, data in HOSTILE_JSON.items():
            talk.peer.send(data)
            assert_refused(talk, revision, name, -32700, 5 if name in DETECTABLE else None)
        assert talk.count("malformed message") == len(HOSTILE_JSON)


@pytest.mark.spec("jsonrpc.follow-spec")
@both_parties
def test_a_message_that_is_too_long_is_refused_with_the_name_of_the_limit(party):
    """[JSON-RPC 2.0 §5.1]"""
    with conversation(party, limits=SMALL) as talk:
        talk.peer.send(PING % ('"%s"' % ("x" * 300000)))
        assert_refused(talk, "2025-11-25", "300 KB", -32600, None)
        assert "max_message_bytes" in talk.peer.seen[-2]["error"]["message"]
        assert talk.count("refused message") == 1


LEGAL_JSON = [
    ' \t{"id" : "%s" ,"jsonrpc":"2.0", "method":"ping"}\r\n ',
    '{"jsonrpc":"2.0","id":"%s","method":"\\u0070ing"}',
    '{"jsonrpc":"2.0","id":"%s","method":"ping","more":null,"id2":[1e308,1e-400,-0.0]}',
    '{"jsonrpc":"2.0","id":"%s","method":"ping","params":{"n":' + "9" * 4300 + "}}",
    '{"jsonrpc":"2.0","id":"%s","method":"ping","params":{"text":"\\ud83d\\ude00 \\\\ud800 \u2028 \U0001f600"}}',
    '{"jsonrpc":"2.0","id":"%s","method":"ping","params":' + '{"a":' * 120 + "{}" + "}" * 120 + "}",
    '{"jsonrpc":"2.0","id":"%s","method":"ping","params":{"text":"' + "[{" * 50000 + '"}}',
    '{"method":"ping","params":{"":{"_meta":0}},"id":"%s","jsonrpc":"2.0"}',
]


def in_its_era(talk, text):
    """The same request as its revision has it: where there is no ping, `server/discover`, saying what it must."""
    if talk.any == "ping":
        return text
    text = text.replace('"ping"', '"server/discover"').replace('\\u0070ing', '\\u0073erver/discover')
    meta = '"_meta":' + json.dumps(talk.peer.envelope)
    if '"params":{' in text:
        return text.replace('"params":{', '"params":{%s,' % meta)
    end = text.rindex("}")
    return '%s,"params":{%s}%s' % (text[:end], meta, text[end:])


@pytest.mark.spec("jsonrpc.follow-spec")
@pytest.mark.parametrize("party, revision", answering(every_revision_of("jsonrpc.follow-spec")))
def test_odd_but_legal_json_is_understood(party, revision):
    """[RFC 8259 §8.1] [2025-03-26..2025-11-25 basic/index §Messages]"""
    with conversation(party, revision) as talk:
        for text in LEGAL_JSON:
            id = talk.fresh_id()
            talk.peer.send(in_its_era(talk, text) % id)
            answer = talk.peer.receive()
            assert answer["id"] == id and "result" in answer, text[:100]


@both_parties
def test_two_peers_that_refuse_everything_do_not_refuse_for_ever(party):
    """[JSON-RPC 2.0 §5]: an answer is never answered, not even a broken one or one for nobody."""
    with conversation(party) as talk:
        for members in BROKEN_RESPONSES + [{"error": {"code": -32700, "message": "Parse error"}}, {"result": {}}]:
            for id in ({}, {"id": None}, {"id": 99}, {"id": "99"}, {"id": 1.5}):
                talk.peer.send(dict(dict({"jsonrpc": "2.0"}, **id), **members))
                talk.lives()
