"""The three contracts of transports: what each has, and that wrappers and the dispatcher keep to them.

What a pipe promises is tested in test_contract.py.
"""
import threading
from typing import Any, List

import pytest

from mcp_ref import Client, Server, connect
from mcp_ref.jsonrpc import ResultResponse
from mcp_ref.limits import Limits
from mcp_ref.peer import outbox, routing
from mcp_ref.server import Connection
from mcp_ref.streamable.client.detect import HttpAuto
from mcp_ref.streamable.client.http_sse import HttpSse
from mcp_ref.streamable.client.streamable import StreamableHttp
from mcp_ref.streamable.server.session import HttpSession
from mcp_ref.transports.base import (
    EXCHANGES, PIPE, REPLIES, ExchangeTransport, Failed, Forwarding, Outgoing, ReplyTransport, Transport, Unanswered,
)
from mcp_ref.transports.memory import pair
from mcp_ref.transports.tap import Tap, tap
from mcp_ref.wiretrace import Trace
from tests.support.patience import WAIT
from tests.support.scripted_http import ScriptedHttp
from tests.transports.makers import custom_transport

CONTRACTS = (Transport, ReplyTransport, ExchangeTransport)
URL = "http://127.0.0.1:1/mcp"


def members(contract: type) -> List[str]:
    return [name for name in vars(contract) if not name.startswith("_")]


def test_a_pipe_has_what_a_pipe_needs_and_no_more() -> None:
    methods = {name for name in members(Transport) if callable(getattr(Transport, name))}
    assert methods == {"open", "read", "write", "close"}
    example = custom_transport()
    assert {name for name in members(example) if callable(getattr(example, name))} == methods - {"open"}


@pytest.mark.parametrize("transport, contract", [
    (lambda: pair()[0], PIPE), (lambda: HttpSession("id", None, Limits()), REPLIES),
    (lambda: StreamableHttp(URL), EXCHANGES), (lambda: HttpSse(URL), EXCHANGES), (lambda: HttpAuto(URL), EXCHANGES),
], ids=["memory", "session", "streamable", "sse", "detecting"])
def test_who_wraps_a_transport_fulfils_its_contract(transport: Any, contract: str) -> None:
    made = transport()
    assert made.contract == tap(made, Trace(), "client").contract == contract


class Noting:
    """What is inside: says which members were asked for."""

    def __getattr__(self, name: str) -> str:
        return "the one inside: " + name


def test_every_member_of_every_contract_is_passed_on_but_what_needs_two_others() -> None:
    around: Any = Forwarding()
    around.inner = Noting()
    own = {"ready", "park", "reason", "renew", "counters"}
    for name in {name for contract in CONTRACTS for name in members(contract)} | own:
        assert getattr(around, name) == "the one inside: " + name
    around.annotations = around.on_pause = 5
    assert vars(around.inner) == {"annotations": 5, "on_pause": 5}


def test_a_message_that_is_written_at_once_passes_whoever_overrides_writing() -> None:
    near, far = pair()
    told: List[Any] = []
    outbox.Outbox(tap(near, Trace(told.append), "client"), "near", 100).send(b"{}")
    assert far.read() == [b"{}"] and [event.message for event in told if event.kind == "message"] == [{}]


@pytest.mark.parametrize("transport, kind", [
    (lambda: pair()[0], outbox.Outbox), (lambda: HttpSession("id", None, Limits()), routing.ReplyOutbox),
    (lambda: StreamableHttp(URL), routing.ExchangeOutbox),
], ids=["pipe", "replies", "exchanges"])
def test_a_connection_asks_once_which_contract_it_has(transport: Any, kind: type) -> None:
    connection = Connection(transport(), Server("s"))
    assert type(connection.outbox) is kind
    assert (connection.replies is None, connection.exchanges is None) == (
        kind is not routing.ReplyOutbox, kind is not routing.ExchangeOutbox)


def test_a_pipe_is_handed_bytes() -> None:
    seen: List[Any] = []

    class Watched(Tap):
        def write(self, messages: Any) -> None:
            seen.extend(messages)
            super().write(messages)

    near, far = pair()
    server = Server("s")
    server.tool(lambda: "done", name="it")
    server.connect(far)
    with Client().open(Watched(near, Trace(), "client")) as client:
        client.call_tool("it")
    assert len(seen) >= 2 and {type(message) for message in seen} == {bytes}


def test_nothing_that_we_send_over_http_is_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def parsed(data: bytes) -> Outgoing:
        read.append(data)
        return Outgoing(data)

    read: List[bytes] = []
    monkeypatch.setattr(Outgoing, "read", parsed)
    with ScriptedHttp() as server:
        server.on["GET"] = lambda request: (
            request.begin_events(), request.event({"jsonrpc": "2.0", "id": 7, "method": "ping"}),
            server.wait_for("response"), request.end_events())[0]
        with connect(server.url, check_results=False, revisions=["2025-11-25"], roots=["/"]) as client:
            server.wait_for("response")
            client.call_tool("it", progress=lambda *step: None)
            client.submit_tool("it").result(WAIT)
            client.connection.notify("notifications/roots/list_changed")
            server.wait_for("notifications/roots/list_changed")
    assert read == [] and server.seen("tools/call")


def test_the_error_of_a_request_that_has_its_answer_is_not_made() -> None:
    def make() -> Any:
        made.append(threading.current_thread().name)
        return RuntimeError("no answer")

    made: List[str] = []
    near, _ = pair()
    connection = Connection(near, Client())
    connection.session.phase = "operating"
    first, second = connection.open_request("ping"), connection.open_request("ping")
    connection.table.resolve(ResultResponse(first.id, {}))
    connection.feed([Unanswered(first.id, make)])
    assert made == [] and connection.wait(first) == {}
    failed = Unanswered(second.id, make)
    assert isinstance(failed, Failed)
    connection.feed([failed])
    with pytest.raises(RuntimeError):
        connection.wait(second)
    assert len(made) == 1
    connection.close()
