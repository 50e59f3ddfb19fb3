"""Logging: levels, rates and fields of what a server sends, and the handler that sends records of `logging`."""
import contextlib
import gc
import io
import logging
import queue
import sys
from collections import deque
from typing import Any, Dict, Iterator, List, Optional, Tuple

import pytest

from mcp_ref import Client, Context, Limits, Server, deadline
from mcp_ref.diagnostics.loghandlers import RedactionFilter
from mcp_ref.diagnostics.redaction import RULES
from mcp_ref.errors import CapabilityMissing, RequestCancelled
from mcp_ref.jsontext import JsonError
from mcp_ref.messages.logs import LEVELS
from mcp_ref.server.loghandler import severity
from mcp_ref.server.logs import LEFT_OUT
from mcp_ref.transports.memory import pair
from tests.support.patience import WAIT
from tests.support.requirements_table import HANDSHAKE, revisions_of
from tests.support.scripted import PATIENCE, ScriptedPeer
from tests.support.serving import assert_masked
from tests.support.sides import Gate, in_thread

all_revisions = pytest.mark.parametrize("revision", HANDSHAKE)
SECRET = "hunter2hunter2"
NO_LEVELS: List[Any] = ["loud", "", "INFO", "warn", "fatal", " info", "info\n", None, 5, True, ["info"], {}]


def logging_server(**options: Any) -> Server:
    """A server with a tool that logs what its arguments say."""
    server = Server("logs", **options)

    @server.tool
    def say(level: str, data: str, ctx: Context, logger: Optional[str] = None) -> str:
        """Log it."""
        ctx.log(level, data, logger)
        return "said"

    return server


@contextlib.contextmanager
def client_of(server: Server, revision: str = "2025-11-25", capacity: int = 1 << 20) -> Iterator[ScriptedPeer]:
    """A scripted client of this server, past the handshake."""
    with ScriptedPeer.of_server(server, capacity=capacity) as peer:
        peer.handshake(revision)
        peer.barrier()
        yield peer


_NUMBERS = iter(range(1 << 30))


def heard(peer: ScriptedPeer) -> List[Dict[str, Any]]:
    """The params of every log message that has come since."""
    found = peer.barrier("barrier %d" % next(_NUMBERS))
    assert all(message.get("method") == "notifications/message" for message in found), found
    return [message["params"] for message in found]


def set_level(peer: ScriptedPeer, level: Any) -> Any:
    """Ask for messages of this level and above; the response."""
    return peer.call("level %d" % next(_NUMBERS), "logging/setLevel", {"level": level})


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> List[float]:
    """The time, which tests set."""
    now = [100.0]
    monkeypatch.setattr(deadline, "clock", lambda: now[0])
    return now


@pytest.fixture
def app() -> logging.Logger:
    """A logger of an application, for one test: no other handler sees its records."""
    return logging.Logger("app", 1)


# --- capability -------------------------------------------------------------------------------------------------------

@pytest.mark.spec("logging.capability")
@pytest.mark.parametrize("revision", revisions_of("logging.capability"))
def test_a_server_declares_that_it_logs_and_then_may(revision: str, app: logging.Logger) -> None:
    """[.. server/utilities/logging §Capabilities] MUST"""
    server = logging_server()
    app.addHandler(server.log_handler())
    with ScriptedPeer.of_server(server) as peer:
        assert peer.handshake(revision)["capabilities"]["logging"] == {}
        peer.barrier()
        assert server.log("info", "one") == 1
        app.info("two")
        peer.request(1, "tools/call", {"name": "say", "arguments": {"level": "info", "data": "three"}})
        assert [peer.receive()["params"]["data"] for _ in range(3)] == ["one", {"message": "two"}, "three"]
        assert "result" in peer.answer_to(1)


@pytest.mark.spec("logging.capability")
@pytest.mark.parametrize("revision", revisions_of("logging.capability"))
def test_a_server_that_has_not_declared_it_logs_nothing(revision: str, app: logging.Logger) -> None:
    """[.. server/utilities/logging §Capabilities] MUST"""
    server, caught = Server("mute"), []

    @server.tool
    def say(ctx: Context) -> str:
        """Try to log."""
        with pytest.raises(CapabilityMissing) as refused:
            ctx.log("emergency", "x")
        caught.append(refused.value.capability)
        return "not said"

    app.addHandler(server.log_handler())
    with client_of(server, revision) as peer:
        del server.connections[0].session.capabilities["logging"]
        assert server.log("emergency", "x") == 0
        app.critical("x")
        assert peer.call(1, "tools/call", {"name": "say"})["result"]["content"][0]["text"] == "not said"
        assert heard(peer) == [] and caught == ["logging"]


@all_revisions
def test_nobody_is_told_anything_before_the_handshake_is_over(revision: str) -> None:
    server = logging_server()
    with ScriptedPeer.of_server(server) as peer:
        assert server.log("emergency", "x") == 0
        peer.handshake(revision)
        assert heard(peer) == []
    assert server.log("emergency", "x") == 0


# --- levels -----------------------------------------------------------------------------------------------------------

@pytest.mark.spec("logging.set-level", "logging.default-level")
@all_revisions
def test_a_client_hears_the_level_it_asked_for_and_above_and_before_that_everything(revision: str) -> None:
    """[..2025-11-25 server/utilities/logging §Setting Log Level]"""
    server = logging_server()
    with client_of(server, revision) as peer:
        for least in (None, *LEVELS, *reversed(LEVELS)):
            if least is not None:
                assert set_level(peer, least)["result"] == {}
            for level in LEVELS:
                server.log(level, level, "table")
            expected = LEVELS[LEVELS.index(least):] if least else LEVELS
            assert heard(peer) == [{"level": level, "data": level, "logger": "table"} for level in expected]


@all_revisions
def test_each_client_has_a_level_of_its_own(revision: str) -> None:
    server = logging_server()
    with client_of(server, revision) as quiet, client_of(server, revision) as curious:
        set_level(quiet, "error")
        set_level(curious, "debug")
        assert [server.log("debug", 1), server.log("error", 2)] == [1, 2]
        assert [[said["data"] for said in heard(peer)] for peer in (quiet, curious)] == [[2], [1, 2]]


@pytest.mark.spec("logging.invalid-level")
@pytest.mark.parametrize("revision", revisions_of("logging.invalid-level"))
@pytest.mark.parametrize("params", [{"level": level} for level in NO_LEVELS] + [{}, {"levels": "info"}], ids=repr)
def test_an_unknown_level_is_invalid_params_and_the_old_one_stays(params: Dict[str, Any], revision: str) -> None:
    """[..2025-11-25 server/utilities/logging §Error Handling] SHOULD"""
    server = logging_server()
    with client_of(server, revision) as peer:
        set_level(peer, "error")
        assert peer.call(1, "logging/setLevel", params)["error"]["code"] == -32602
        assert peer.call(2, "logging/setLevel")["error"]["code"] == -32602
        server.log("warning", 1)
        server.log("error", 2)
        assert [said["data"] for said in heard(peer)] == [2]


@pytest.mark.spec("logging.configuration-error")
@pytest.mark.parametrize("revision", revisions_of("logging.configuration-error"))
def test_a_level_that_cannot_be_set_is_an_internal_error_and_the_old_one_stays(revision: str) -> None:
    """[..2025-11-25 server/utilities/logging §Error Handling] SHOULD"""
    wished: List[str] = []

    def set_up(connection: Any, level: str) -> None:
        wished.append(level)
        if level == "debug":
            raise OSError("/etc/secret.conf is broken")

    server = logging_server(on_log_level=set_up, mask_errors=True)
    with client_of(server, revision) as peer:
        assert set_level(peer, "error")["result"] == {}
        assert_masked(set_level(peer, "debug")["error"])
        assert set_level(peer, "nonsense")["error"]["code"] == -32602
        assert wished == ["error", "debug"]
        assert [server.log("warning", 1), server.log("error", 2)] == [0, 1]


# --- rates ------------------------------------------------------------------------------------------------------------

def left_out(number: int, limit: str = "3", level: str = "warning") -> Dict[str, Any]:
    """The message that says how many messages were left out."""
    text = "%d log messages left out: max_log_messages_per_second is %s" % (number, limit)
    return {"level": level, "data": {"message": text}}


@pytest.mark.spec("logging.rate-limit", "logging.rate-limit-both")
@pytest.mark.parametrize("revision", revisions_of("logging.rate-limit", "logging.rate-limit-both"))
def test_messages_above_the_rate_are_left_out_and_the_client_is_told_how_many(
    revision: str, clock: List[float]
) -> None:
    """[.. server/utilities/logging §Implementation Considerations] SHOULD"""
    server = logging_server(limits=Limits(max_log_messages_per_second=3))
    with client_of(server, revision) as peer:
        assert [server.log("info", number) for number in range(10)] == [1] * 3 + [0] * 7
        assert [said["data"] for said in heard(peer)] == [0, 1, 2]
        assert server.connections[0].counters[LEFT_OUT] == 7
        clock[0] += 1.0
        server.log("error", "room again")
        server.log("error", "more")
        again = [{"level": "error", "data": text} for text in ("room again", "more")]
        assert heard(peer) == [left_out(7), *again]


@all_revisions
def test_in_a_steady_flood_one_message_a_second_says_what_was_left_out(revision: str, clock: List[float]) -> None:
    server = logging_server(limits=Limits(max_log_messages_per_second=4))
    with client_of(server, revision) as peer:
        sent: List[Any] = []
        for number in range(100):  # ten a second, for ten seconds
            server.log("info", number)
            sent += heard(peer)
            clock[0] += 0.1
        messages = [said["data"] for said in sent if said["level"] == "info"]
        summaries = [said["data"]["message"] for said in sent if said["level"] == "warning"]
        assert 40 <= len(messages) <= 45 and len(summaries) in (8, 9, 10)
        clock[0] += 5.0
        server.log("info", "calm")
        said = heard(peer)
        total = sum(int(text.split()[0]) for text in summaries + [one["data"]["message"] for one in said[:-1]])
        assert total == 100 - len(messages) == server.connections[0].counters[LEFT_OUT]


@pytest.mark.parametrize("least, told", [("debug", "warning"), ("error", "error"), ("emergency", "emergency")])
def test_what_was_left_out_is_told_at_a_level_that_the_client_hears(least: str, told: str, clock: List[float]) -> None:
    server = logging_server(limits=Limits(max_log_messages_per_second=1))
    with client_of(server) as peer:
        set_level(peer, least)
        for severe in ("debug", "emergency", "emergency", "emergency"):
            server.log(severe, severe)
        number = server.connections[0].counters[LEFT_OUT]
        assert number == (3 if least == "debug" else 2), "only what the client wants to hear counts"
        heard(peer)
        clock[0] += 1.0
        server.log("emergency", "x")
        assert heard(peer) == [left_out(number, "1", told), {"level": "emergency", "data": "x"}]


def test_each_client_has_a_rate_of_its_own(clock: List[float]) -> None:
    server = logging_server(limits=Limits(max_log_messages_per_second=2))
    with client_of(server) as first:
        assert [server.log("info", 1) for _ in range(3)] == [1, 1, 0]
        with client_of(server) as second:
            assert [server.log("info", 1) for _ in range(3)] == [1, 1, 0]
            assert len(heard(first)) == len(heard(second)) == 2


@pytest.mark.race
def test_threads_that_log_at_once_lose_nothing_uncounted(clock: List[float]) -> None:
    server = logging_server(limits=Limits(max_log_messages_per_second=50))
    with client_of(server) as peer:
        def shout() -> None:
            for number in range(40):
                server.log("info", number)

        for shouting in [in_thread(shout) for _ in range(4)]:
            shouting.get()
        assert len(heard(peer)) == 50 and server.connections[0].counters[LEFT_OUT] == 110
        clock[0] += 1.0
        for shouting in [in_thread(server.log, "info", "x") for _ in range(4)]:
            assert shouting.get() == 1
        said = heard(peer)
        assert said.count(left_out(110, "50")) == 1 and len(said) == 5


@pytest.mark.spec("logging.rate-limit-both")
@pytest.mark.parametrize("revision", revisions_of("logging.rate-limit-both"))
def test_a_client_passes_on_no_more_than_its_rate(revision: str, clock: List[float]) -> None:
    """[.. server/utilities/logging §Security] SHOULD"""
    with hearing_client(revision, limits=Limits(max_log_messages_per_second=3)) as (passed, peer):
        for number in range(10):
            peer.notify("notifications/message", {"level": "info", "data": number})
        peer.barrier("flood")
        clock[0] += 1.0
        peer.notify("notifications/message", {"level": "info", "data": "later"})
        assert [passed.get(timeout=PATIENCE)[1] for _ in range(4)] == [0, 1, 2, "later"]


@contextlib.contextmanager
def hearing_client(revision: str, **options: Any) -> "Iterator[Tuple[queue.Queue[Any], ScriptedPeer]]":
    """What the `on_log` of a client of ours gets, and the scripted server that the client is connected to."""
    near, far = pair()
    peer, passed = ScriptedPeer(far), queue.Queue()  # type: ignore[var-annotated]
    client = Client(on_log=lambda *heard: passed.put(heard), **options)
    opening = in_thread(client.open, near)
    peer.accept_handshake(revision)
    opening.get()
    try:
        yield passed, peer
    finally:
        client.close()
        peer.close()


# --- fields -----------------------------------------------------------------------------------------------------------

@pytest.mark.spec("logging.validate-fields")
@pytest.mark.parametrize("revision", revisions_of("logging.validate-fields"))
@pytest.mark.parametrize("level, data, logger, error, text", [
    ("loud", "x", None, ValueError, "'loud'"), (None, "x", None, ValueError, "None"), (5, "x", None, ValueError, "5"),
    (["info"], "x", None, ValueError, "info"), ("INFO", "x", None, ValueError, "info"),
    ("info", "x", 5, TypeError, "logger"), ("info", "x", b"app", TypeError, "logger"),
    ("info", {"mean": float("nan")}, None, JsonError, "$.mean is NaN"),
    ("info", {"a": [b"x"]}, None, JsonError, "$.a[0]"), ("info", object(), None, JsonError, "the value is of type"),
    ("info", "\ud800", None, JsonError, "$"), ("info", {5: {1, 2}}, None, JsonError, "$"),
])
def test_fields_that_are_none_are_refused_before_anything_is_sent(
    revision: str, level: Any, data: Any, logger: Any, error: Any, text: str
) -> None:
    """[.. server/utilities/logging §Security] SHOULD"""
    server = logging_server()
    with client_of(server, revision) as peer:
        with pytest.raises(error) as refused:
            server.log(level, data, logger)
        assert text in str(refused.value)
        assert heard(peer) == []
        assert server.log("info", "fine") == 1


@pytest.mark.spec("logging.validate-fields")
@pytest.mark.parametrize("revision", revisions_of("logging.validate-fields"))
@pytest.mark.parametrize("params", [
    {}, {"level": "info"}, {"data": "x"}, {"level": "loud", "data": "x"}, {"level": None, "data": "x"},
    {"level": "info", "data": "x", "logger": 5}, {"level": ["info"], "data": "x"}, {"level": "info", "logger": "x"},
], ids=repr)
def test_a_client_passes_on_no_message_whose_fields_are_none(params: Dict[str, Any], revision: str) -> None:
    """[.. server/utilities/logging §Security] SHOULD"""
    with hearing_client(revision) as (passed, peer):
        peer.notify("notifications/message", params)
        peer.notify("notifications/message", {"level": "info", "data": None})
        assert passed.get(timeout=PATIENCE) == ("info", None, None)


@pytest.mark.parametrize("data", ["", "text", 0, -1.5, True, None, [], [None], {}, {"a": {"b": [1]}}, "\u2028\x00é😀"])
def test_data_is_any_json_value(data: Any) -> None:
    server = logging_server()
    with client_of(server) as peer:
        server.log("info", data, "")
        assert heard(peer) == [{"level": "info", "data": data, "logger": ""}]


@all_revisions
def test_what_a_handler_logs_comes_before_its_answer_and_nothing_after(revision: str) -> None:
    server, kept = Server("logs"), []

    @server.tool
    def keep(ctx: Context) -> str:
        """Log, and keep the context."""
        kept.append(ctx)
        for number in range(20):
            ctx.log("info", number)
        return "done"

    with client_of(server, revision) as peer:
        for id in range(5):
            peer.request(id, "tools/call", {"name": "keep"})
            for number in range(20):
                assert peer.receive()["params"]["data"] == number
            assert peer.receive()["id"] == id
            kept[-1].log("info", "too late")
        assert heard(peer) == []


def test_a_cancelled_handler_logs_nothing_more() -> None:
    server, gate, outcome = Server("logs"), Gate(), []

    @server.tool
    def wait(ctx: Context) -> str:
        """Wait for the test."""
        gate.hold()
        try:
            ctx.log("emergency", "x")
        except RequestCancelled as error:
            outcome.append(error)
        return "done"

    with client_of(server) as peer, gate:
        peer.request(1, "tools/call", {"name": "wait"})
        gate.entered()
        peer.notify("notifications/cancelled", {"requestId": 1})
        peer.barrier("cancelled")
        gate.open()
        assert server.connections[0].inflight.wait_empty(PATIENCE)
        assert heard(peer) == [] and len(outcome) == 1


# --- the handler of `logging` -----------------------------------------------------------------------------------------

@pytest.mark.parametrize("number, level", [
    (0, "debug"), (1, "debug"), (logging.DEBUG, "debug"), (19, "debug"), (logging.INFO, "info"), (24, "info"),
    (25, "notice"), (logging.WARNING, "warning"), (39, "warning"), (logging.ERROR, "error"),
    (logging.CRITICAL, "critical"), (59, "critical"), (60, "alert"), (70, "emergency"), (1000, "emergency"),
])
def test_each_level_of_a_record_has_one_of_the_eight(number: int, level: str, app: logging.Logger) -> None:
    """[.. server/utilities/logging §Log Levels]"""
    server = logging_server()
    app.addHandler(server.log_handler())
    assert severity(number) == level
    with client_of(server) as peer:
        app.log(number or 1, "x")
        assert heard(peer) == [{"level": level, "logger": "app", "data": {"message": "x"}}]


class Odd:
    """Something that JSON cannot hold."""

    def __str__(self) -> str:
        return "odd"


@pytest.mark.parametrize("message, arguments, extra, data", [
    ("plain", (), None, {"message": "plain"}),
    ("%s of %d", ("one", 2), None, {"message": "one of 2"}),
    ("%(a)s", ({"a": 5},), None, {"message": "5"}),
    ("100%", (), None, {"message": "100%"}),
    ("%d", ("x",), None, {"message": "%d (does not fit its arguments: ('x',))"}),
    ("Connection failed", (), {"host": "localhost", "port": 5432},
     {"message": "Connection failed", "details": {"host": "localhost", "port": 5432}}),
    ({"event": "start", "n": 1}, (), None, {"event": "start", "n": 1}),
    ({"event": Odd(), "nan": float("nan"), 5: [1]}, (), None, {"event": "odd", "nan": "nan", "5": [1]}),
    (Odd(), (), {"more": Odd()}, {"message": "odd", "details": {"more": "odd"}}),
    ("\ud800", (), {"x": "\ud800"}, {"message": "\\ud800", "details": {"x": "\\ud800"}}),
    ("", (), None, {"message": ""}),
])
def test_a_record_becomes_an_object_with_its_context(
    message: Any, arguments: Any, extra: Any, data: Any, app: logging.Logger
) -> None:
    """[.. server/utilities/logging §Implementation Considerations]"""
    server = logging_server()
    app.addHandler(server.log_handler())
    with client_of(server) as peer:
        app.warning(message, *arguments, extra=extra)
        assert heard(peer) == [{"level": "warning", "logger": "app", "data": data}]


def fail(app: logging.Logger) -> None:
    """Log an exception."""
    try:
        raise KeyError("nothing here")
    except KeyError:
        app.exception("failed", stack_info=True)


def test_an_exception_is_told_by_type_and_text_and_its_traceback_only_if_asked_for(app: logging.Logger) -> None:
    """[.. server/utilities/logging §Security] MUST NOT"""
    server = logging_server()
    app.addHandler(server.log_handler())
    app.addHandler(server.log_handler(traceback=True))
    with client_of(server) as peer:
        fail(app)
        short, long = [said["data"] for said in heard(peer)]
        assert short == {"message": "failed", "exception": "KeyError: 'nothing here'"}
        assert __file__ in long["traceback"] and "Stack" in long["stack"]
        app.error("no exception", exc_info=True)
        assert heard(peer)[0]["data"] == {"message": "no exception"}


def test_a_formatter_makes_the_message_but_no_traceback(app: logging.Logger) -> None:
    server = logging_server()
    handler = server.log_handler()
    handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    app.addHandler(handler)
    with client_of(server) as peer:
        fail(app)
        app.info({"a": 1})
        first, second = heard(peer)
        assert first["data"] == {"message": "ERROR: failed", "exception": "KeyError: 'nothing here'"}
        assert second["data"] == {"message": "INFO: {'a': 1}"}


def test_the_handlers_level_and_filters_hold(app: logging.Logger) -> None:
    server = logging_server()
    handler = server.log_handler(level=logging.ERROR)
    handler.addFilter(lambda record: "not" not in record.getMessage())
    app.addHandler(handler)
    with client_of(server) as peer:
        app.warning("quiet")
        app.error("not this")
        app.error("this")
        assert [said["data"]["message"] for said in heard(peer)] == ["this"]


@pytest.mark.spec("logging.no-credentials", "logging.remove-sensitive")
@pytest.mark.parametrize("revision", revisions_of("logging.no-credentials", "logging.remove-sensitive"))
@pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
def test_credentials_are_masked_wherever_they_stand_in_a_record(rule: Any, revision: str, app: logging.Logger) -> None:
    """[.. server/utilities/logging §Security] MUST NOT"""
    server = logging_server()
    app.addHandler(server.log_handler(traceback=True))
    with client_of(server, revision) as peer:
        app.info(rule.example)
        app.info("%s", rule.example, extra={"more": {"inner": [rule.example]}})
        app.info({"text": rule.example})
        try:
            raise ValueError(rule.example)
        except ValueError:
            app.exception("failed")
        said = heard(peer)
        assert len(said) == 4 and all("***" in repr(one["data"]) for one in said)
        secret = rule.example.split()[-1]
        assert secret not in repr(said)


@pytest.mark.spec("logging.no-credentials")
@pytest.mark.parametrize("revision", revisions_of("logging.no-credentials"))
def test_credentials_are_masked_by_the_names_of_members(revision: str, app: logging.Logger) -> None:
    """[.. server/utilities/logging §Security] MUST NOT"""
    server = logging_server()
    app.addHandler(server.log_handler())
    with client_of(server, revision) as peer:
        app.info({"user": "ann", "password": SECRET, "keys": [{"api_key": SECRET}]})
        app.info("login", extra={"user": "ann", "sessionToken": SECRET, "request": {"Authorization": SECRET}})
        assert [said["data"] for said in heard(peer)] == [
            {"user": "ann", "password": "***", "keys": [{"api_key": "***"}]},
            {"message": "login",
             "details": {"user": "ann", "sessionToken": "***", "request": {"Authorization": "***"}}},
        ]


def test_masking_can_be_turned_off(app: logging.Logger) -> None:
    server = logging_server()
    app.addHandler(server.log_handler(redact=False))
    with client_of(server) as peer:
        app.info("password=%s", SECRET)
        assert heard(peer)[0]["data"] == {"message": "password=" + SECRET}


def test_masking_changes_no_record_that_other_handlers_get(app: logging.Logger) -> None:
    stream, server = io.StringIO(), logging_server()
    app.addHandler(server.log_handler())
    app.addHandler(logging.StreamHandler(stream))
    with client_of(server) as peer:
        app.info("password=%s", SECRET)
        assert heard(peer)[0]["data"] == {"message": "password=***"}
    assert stream.getvalue() == "password=%s\n" % SECRET


def test_the_filter_alone_masks_the_records_of_any_handler(app: logging.Logger) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(message)s %(key)s"))
    handler.addFilter(RedactionFilter())
    app.addHandler(handler)
    try:
        raise ValueError("password=" + SECRET)
    except ValueError:
        app.exception("sent token=%s", SECRET, extra={"key": {"secret": SECRET}}, stack_info=True)
    app.info({"password": SECRET}, extra={"key": 1})
    app.info("%d", "x", extra={"key": SECRET})
    text = stream.getvalue()
    assert "sent token=*** {'secret': '***'}" in text and "ValueError: password=***" in text
    assert "{'password': '***'} 1" in text and "%d (does not fit its arguments: ('x',))" in text
    assert text.count(SECRET) == 1, "a value without a name, and that looks like a word, is none"
    handler.filters[:] = [RedactionFilter("other")]
    app.info("nothing", extra={"key": 1})
    assert "nothing" not in stream.getvalue()


# --- it neither waits, nor prints, nor recurs -------------------------------------------------------------------------

def test_records_of_this_package_are_not_sent() -> None:
    server, root = logging_server(), logging.getLogger()
    handler = server.log_handler()
    root.addHandler(handler)
    try:
        with client_of(server) as peer:
            for name in ("mcp_ref", "mcp_ref.peer", "mcp_ref.server.logs"):
                logging.getLogger(name).warning("own")
            logging.getLogger("mcp_reference").warning("another one's")
            peer.notify("notifications/nonsense")  # is logged
            assert [said["logger"] for said in heard(peer)] == ["mcp_reference"]
            assert handler.counters["own records"] >= 4
    finally:
        root.removeHandler(handler)


class LoggingTransport:
    """Wraps a transport, and logs each write."""

    def __init__(self, inner: Any, app: logging.Logger) -> None:
        self._inner = inner
        self._app = app

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def write(self, messages: Any) -> None:
        self._app.warning("wrote %d", len(messages))
        self._inner.write(messages)

    def write_now(self, messages: Any) -> bool:
        self._app.warning("about to write %d", len(messages))
        return bool(self._inner.write_now(messages))


def test_a_transport_that_logs_its_writes_starts_no_endless_loop(app: logging.Logger) -> None:
    server = logging_server()
    handler = server.log_handler()
    app.addHandler(handler)
    ours, theirs = pair()
    connection = server.connect(LoggingTransport(ours, app))  # type: ignore[arg-type]
    with ScriptedPeer(theirs) as peer:
        peer.connection = connection
        peer.handshake("2025-11-25")
        peer.barrier()
        app.info("by the application")
        peer.call(1, "tools/call", {"name": "say", "arguments": {"level": "info", "data": "x"}})
        assert [said["data"] for said in heard(peer)] == []
        said = [message["params"] for message in peer.seen if message.get("method") == "notifications/message"]
        assert [one["data"] for one in said] == [{"message": "by the application"}, "x"]
        assert handler.counters["records while sending"] >= 4


def test_a_formatter_and_a_text_that_log_start_no_endless_loop(app: logging.Logger) -> None:
    class Chatty:
        def __str__(self) -> str:
            app.warning("asked for my text")
            return "chatty"

    server = logging_server()
    handler = server.log_handler()
    app.addHandler(handler)
    with client_of(server) as peer:
        app.info("%s", Chatty())
        assert [said["data"]["message"] for said in heard(peer)] == ["chatty"]
        assert handler.counters["records while sending"] == 1


@pytest.mark.parametrize("text", [KeyError("x"), RecursionError(), MemoryError()], ids=repr)
def test_a_record_that_cannot_be_told_is_counted_and_nothing_is_raised_or_printed(
    text: Exception, app: logging.Logger, capfd: Any
) -> None:
    class Broken:
        def __str__(self) -> str:
            raise text

        __repr__ = __str__

    server = logging_server()
    handler = server.log_handler()
    app.addHandler(handler)
    with client_of(server) as peer:
        app.info("one", extra={"more": Broken()})
        app.info(Broken())
        app.info("%s", Broken())
        app.info("three")
        texts = [said["data"]["message"] for said in heard(peer)]
        assert texts == ["(no text: Broken has none)", "(no text: str has none)", "three"]
    assert handler.counters["broken records"] == 1
    assert RedactionFilter().filter(logging.makeLogRecord({"msg": Broken()}))
    assert "Logging error" not in capfd.readouterr().err


def test_a_filter_that_fails_fails_no_program_that_logs(app: logging.Logger) -> None:
    def broken(record: logging.LogRecord) -> bool:
        raise RuntimeError("no")

    server = logging_server()
    handler = server.log_handler()
    handler.addFilter(broken)
    app.addHandler(handler)
    with client_of(server) as peer:
        app.info("one")
        handler.removeFilter(broken)
        app.info("two")
        assert [said["data"]["message"] for said in heard(peer)] == ["two"]
    assert handler.counters["broken records"] == 1


def test_a_record_made_while_the_outbox_is_locked_waits_for_nothing(app: logging.Logger) -> None:
    """As a finalizer or a signal handler may make one: it runs in the middle of anything."""
    class Interrupted(deque):  # type: ignore[type-arg]
        def append(self, item: Any) -> None:
            app.error("in the middle")
            super().append(item)

    server = logging_server()
    handler = server.log_handler()
    app.addHandler(handler)
    with client_of(server) as peer:
        server.connections[0].outbox._waiting = Interrupted()
        answered = in_thread(peer.call, 1, "tools/call", {"name": "say", "arguments": {"level": "info", "data": "x"}})
        assert "result" in answered.get()
        assert handler.counters["records while sending"] >= 1
        gc.collect()


def test_a_client_that_does_not_read_keeps_no_thread_that_logs(app: logging.Logger) -> None:
    server = logging_server()
    app.addHandler(server.log_handler())
    ours, theirs = pair(capacity=2000)
    connection = server.connect(ours)
    theirs.open()
    opening = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",' \
              b'"capabilities":{},"clientInfo":{"name":"deaf","version":"0"}}}'
    theirs.write([opening, b'{"jsonrpc":"2.0","method":"notifications/initialized"}'])
    while not server.connections:
        assert not connection.wait_closed(0.001)
    logging_thread = in_thread(lambda: [server.log("info", "x" * 100) for _ in range(500)])
    assert logging_thread.get() == [1] * 500
    theirs.close()
    connection.close()
    assert connection.wait_closed(PATIENCE)


def test_a_handler_needs_no_client_and_outlives_its_clients(app: logging.Logger) -> None:
    server = logging_server()
    handler = server.log_handler()
    app.addHandler(handler)
    app.info("nobody listens")
    with client_of(server) as peer:
        app.info("one")
        assert len(heard(peer)) == 1
    app.info("nobody any more")
    with client_of(server) as peer:
        handler.flush()
        app.info("two")
        assert len(heard(peer)) == 1
    handler.close()
    assert handler.counters.snapshot() == {} or "broken records" not in handler.counters.snapshot()


def test_logging_is_loaded_by_the_handler_alone() -> None:
    import subprocess

    code = "import mcp_ref, sys\nfrom mcp_ref.server import logs\nassert 'logging' not in sys.modules\n" \
           "mcp_ref.Server('x').log('info', 1)\nassert 'logging' not in sys.modules\n" \
           "mcp_ref.Server('x').log_handler()\nassert 'logging' in sys.modules"
    subprocess.run([sys.executable, "-S", "-c", code], check=True, timeout=WAIT)
