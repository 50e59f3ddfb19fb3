"""A server on sockets: many clients at once, and silent ones that cost no thread."""
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from mcp_ref import Context, Server, connect, threads
from mcp_ref.errors import ConnectFailed
from tests.support.patience import WAIT


@pytest.fixture(params=["tcp", "unix"])
def listener(request, tmp_path):
    server = Server("listening")

    @server.tool
    def who(name: str, ctx: Context) -> str:
        return "%s of %s" % (name, ctx.session.peer_info["name"])

    @server.tool
    def wait(ctx: Context) -> str:
        ctx.cancelled.wait(WAIT)
        return "cancelled"

    with server.listen("tcp://127.0.0.1:0" if request.param == "tcp" else "unix://%s" % (tmp_path / "s"), 0.05) as made:
        yield made


def readers():
    return [thread for thread in threading.enumerate() if thread.name.startswith(("mcp-ref:reader", "mcp-ref:worker"))]


def test_many_clients_are_served_at_once(listener):
    def use(number):
        with connect(listener.address, name="client%d" % number) as client:
            texts = [client.call_tool("who", {"name": str(n)}).content[0].text for n in range(20)]
            return texts == ["%d of client%d" % (n, number) for n in range(20)]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(16)))


def test_a_silent_connection_costs_the_server_no_thread_and_wakes_up_again(listener, monkeypatch):
    monkeypatch.setattr(threads, "IDLE", 0.05)
    clients = [connect(listener.address) for _ in range(5)]
    try:
        ours = len(clients)  # each client's own reader, for its side has no such place
        for _ in range(3):
            for client in clients:
                assert client.call_tool("who", {"name": "x"}).content[0].text == "x of mcp_ref"
            silent = threading.Event()
            for _ in range(1000):
                if len(readers()) <= ours:
                    break
                silent.wait(0.01)  # for a condition, bounded
            assert len(readers()) <= ours
    finally:
        for client in clients:
            client.close()


def test_closing_the_listener_ends_connections_with_work_in_flight(listener):
    client = connect(listener.address)
    future = client.submit_tool("wait")
    client.ping()
    listener.close()
    assert future.exception(WAIT) is not None
    client.close()


def test_a_second_listener_on_the_same_address_is_refused(listener):
    with pytest.raises(ConnectFailed):
        Server("second").listen(listener.address)
