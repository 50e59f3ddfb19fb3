"""A server on sockets: many clients at once, and silent ones that cost no thread."""
import contextlib
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from mcp_ref import Context, Server, connect, threads
from mcp_ref.errors import ConnectFailed
from mcp_ref.limits import Limits
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


# --- Bytes of another protocol ----------------------------------------------------------------------------------------

CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode() + b"\n"
HEAD = (b"POST / HTTP/1.1\r\n", b"Host: 127.0.0.1\r\n", b"Content-Type: text/plain\r\n", b"\r\n")


def said(address, *pieces):
    """What the server answers to these bytes before it closes the connection, or after a line that it answers."""
    host, port = address[len("tcp://"):].split(":")
    said = b""
    with socket.create_connection((host, int(port)), WAIT) as sock, contextlib.suppress(ConnectionError):
        with contextlib.suppress(OSError):  # it may have closed the connection already
            for piece in pieces:
                sock.sendall(piece)
            sock.shutdown(socket.SHUT_WR)
        while True:
            more = sock.recv(10_000)
            if not more:
                break
            said += more
    return said


@pytest.fixture
def tcp():
    with Server("listening", limits=Limits(max_message_bytes=1000)).listen("tcp://127.0.0.1:0", 0.05) as made:
        yield made.address


@pytest.mark.parametrize("pieces", [
    HEAD + (CALL,), (b"".join(HEAD) + CALL,), HEAD[1:] + (CALL,), (b"EHLO\n", CALL), (b"\n\nPING\r\n", CALL),
    (b"1\n", CALL), (b"\x16\x03\x01\n", CALL), (b"GET /" + 2000 * b"x" + b"\r\n", HEAD[1], CALL),
    (b'["POST /x HTTP/1.1"]\nhost:x\n' + CALL,), (b"{}\nput / http/1.1\n" + CALL,), (b"PRI * HTTP/2.0\r\n", CALL),
], ids=range(11))
def test_a_connection_ends_at_bytes_of_another_protocol(tcp, pieces, caplog):
    """Any web page may send such a request to a port of this machine, and the lines of its body are of its choice."""
    assert b"result" not in said(tcp, *pieces)
    assert "another protocol, such as HTTP" in caplog.text


@pytest.mark.parametrize("pieces, answers", [
    ((CALL,), 1), ((b"\r\n \t" + CALL,), 1), ((b"   \n", CALL), 1), ((CALL, b"no JSON\n", CALL), 3),
    ((b"{half\n", CALL), 2), ((b"[]\n", CALL), 2),
    ((b"{" + 2000 * b"x" + b"\n", CALL), 2), ((CALL, b'"Host: x"\n', CALL), 3),
], ids=range(8))
def test_a_peer_that_speaks_json_is_forgiven(tcp, pieces, answers):
    lines = said(tcp, *pieces).splitlines()
    assert len(lines) == answers and json.loads(lines[-1]) == {"jsonrpc": "2.0", "id": 1, "result": {}}
