"""Line-framed sockets: addresses, connecting, many connections, parking the silent ones, and limits."""
import contextlib
import logging
import os
import queue
import socket
import stat
import struct
import threading
from typing import Any, Iterator, List

import pytest

from mcp_ref.errors import ConnectFailed, ConnectionLost
from mcp_ref.limits import Limits
from mcp_ref.transports.base import Transport
from mcp_ref.transports.lines.listener import SocketListener
from mcp_ref.transports.lines.sockets import SocketTransport, connect_socket, parse_address
from tests.support.patience import WAIT
from tests.transports.makers import Running, collect, opened, until

HERE = "tcp://127.0.0.1:0"


def listener_threads() -> List[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("mcp-ref:")]


def connected(address: str) -> Any:
    return opened(connect_socket(address))


class Echoes:
    """Serves every connection as a frugal dispatcher would: a thread while there is traffic, parked otherwise."""

    def __init__(self) -> None:
        self.readers = 0
        self.most_readers = 0
        self.transports: List[SocketTransport] = []
        self.ended: "queue.Queue[str]" = queue.Queue()
        self._lock = threading.Lock()

    def serve(self, transport: SocketTransport) -> None:
        self.transports.append(transport)
        self.wait(transport)

    def wait(self, transport: SocketTransport) -> None:
        if not transport.park(lambda: self.start(transport)):
            self.start(transport)

    def start(self, transport: SocketTransport) -> None:
        Running(self.read, transport)

    def read(self, transport: SocketTransport) -> None:
        with self._lock:
            self.readers += 1
            self.most_readers = max(self.readers, self.most_readers)
        try:
            while True:
                items = transport.read()
                if items is None:
                    transport.close()
                    self.ended.put(transport.reason())
                    return
                if not items:
                    break
                transport.write([item for item in items if isinstance(item, bytes)])
        finally:
            with self._lock:
                self.readers -= 1
        self.wait(transport)


@pytest.fixture
def echoes() -> Iterator[Echoes]:
    yield Echoes()


# --- Addresses --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("address, expected", [
    ("tcp://127.0.0.1:80", "tcp://127.0.0.1:80"), ("tcp://[::1]:8000", "tcp://[::1]:8000"),
    ("tcp://localhost:0", "tcp://localhost:0"), ("tcp://:65535", "tcp://127.0.0.1:65535"),
    ("unix:///run/it.sock", "unix:///run/it.sock"), ("unix:///a b/%20", "unix:///a b/%20"),
])
def test_addresses_are_read(address: str, expected: str) -> None:
    assert str(parse_address(address)) == expected


@pytest.mark.parametrize("address, words", [
    ("", "is no address"), ("tcp://host", "is no address"), ("tcp://host:http", "is no address"),
    ("tcp://host:65536", "is no address"), ("tcp://::1:80", "stands in brackets"), ("http://host:80", "is no address"),
    ("tcp://host:-1", "is no address"),
    ("tcp://host:\xb2", "is no address"), ("unix://relative", "must be absolute"), ("unix://", "must be absolute"),
    ("unix:///a\0b", "must be absolute"), ("unix:///" + "x" * 107, "at most 107 bytes"),
    ("unix:///" + "\xe9" * 60, "at most 107 bytes"),
])
def test_what_is_no_address_is_refused_with_the_reason(address: str, words: str) -> None:
    for attempt in (connect_socket(address).open, SocketListener(address, print).open):
        with pytest.raises(ConnectFailed, match=words):
            attempt()


def test_connecting_to_nobody_names_every_address_that_was_tried() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        transport = connect_socket("tcp://127.0.0.1:%d" % port)
        with pytest.raises(ConnectFailed, match="cannot connect to .*127.0.0.1 port %d: Connection refused" % port):
            transport.open()
    transport.close()
    assert transport.read() is None
    with pytest.raises(ConnectionLost):
        transport.write([b"{}"])


def test_connecting_to_no_file_and_to_a_host_that_nobody_knows(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConnectFailed, match="No such file"):
        connect_socket("unix://%s/none" % tmp_path).open()

    def unknown(*arguments: Any, **options: Any) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ConnectFailed, match="tcp://nobody:80: Name or service not known"):
        connect_socket("tcp://nobody:80").open()


@pytest.mark.parametrize("name", ["a..b", ".", "a" * 70 + ".example"])
def test_a_name_that_no_host_can_have_is_a_failed_connection(name: str) -> None:
    with pytest.raises(ConnectFailed, match="no host can have this name"):
        connect_socket("tcp://%s:80" % name).open()


def test_closed_while_connecting_stays_closed(echoes: Echoes) -> None:
    with opened(SocketListener(HERE, echoes.serve)) as listener:
        transport = connect_socket(listener.address)
        transport.close()
        transport.open()
        assert transport.read() is None
        until(lambda: echoes.transports and not listener.connections)


# --- Listening --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost"])
def test_both_kinds_of_loopback_serve(host: str, echoes: Echoes) -> None:
    try:
        listener = SocketListener("tcp://%s:0" % host, echoes.serve)
        listener.open()
    except ConnectFailed as error:
        if host != "[::1]":
            raise
        pytest.skip("this machine has no IPv6: %s" % error)
    with contextlib.closing(listener), connected(listener.address) as transport:
        assert not listener.address.endswith(":0")
        transport.write([b"{}"])
        assert transport.read() == [b"{}"]


def test_an_address_that_other_machines_reach_gets_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        with opened(SocketListener(HERE, print)):
            assert not caplog.records
        with opened(SocketListener("tcp://0.0.0.0:0", print)):
            assert "no authentication" in caplog.text


def test_a_port_that_is_taken_is_connect_failed() -> None:
    with opened(SocketListener(HERE, print)) as listener:
        with pytest.raises(ConnectFailed, match="cannot listen on .*in use"):
            SocketListener(listener.address, print).open()
    with opened(SocketListener(listener.address, print)):
        pass  # it is free again, at once


def test_two_hundred_connections_at_once_and_each_has_its_own_conversation(echoes: Echoes) -> None:
    with opened(SocketListener(HERE, echoes.serve)) as listener:
        clients = [connect_socket(listener.address) for _ in range(200)]
        for client in clients:
            client.open()
        for number, client in enumerate(clients):
            client.write([b'{"%d": 0}' % number, b"{}"])
        assert [collect(client, 2)[0] for client in clients] == [b'{"%d": 0}' % number for number in range(200)]
        listener.close()
        assert all(client.read() is None for client in clients)
        for client in clients:
            client.close()
    until(lambda: listener.connections == 0)  # the last reader of each leaves in its own time


def test_close_ends_every_connection_promptly_also_those_that_are_stuck(echoes: Echoes) -> None:
    """One is silent and parked, one waits in read, one waits in write."""
    accepted: "queue.Queue[SocketTransport]" = queue.Queue()
    listener = SocketListener(HERE, accepted.put)
    listener.open()
    clients = [connect_socket(listener.address) for _ in range(3)]
    for client in clients:
        client.open()
    parked, reading, writing = [accepted.get(timeout=WAIT) for _ in clients]
    resumed = threading.Event()
    assert parked.park(resumed.set)
    waiting = Running(reading.read)
    stuck = Running(writing.write, [b"x" * 30_000_000])
    until(lambda: not writing.ready(1))
    listener.close()
    assert resumed.wait(WAIT) and parked.read() is None and waiting.result() is None
    with pytest.raises(ConnectionLost):
        stuck.result()
    assert not listener_threads()
    listener.close()
    for client in clients:
        client.close()


def test_close_resumes_who_is_parked_also_if_the_listener_was_busy() -> None:
    busy, gate, resumed = threading.Event(), threading.Event(), threading.Event()
    parked: List[SocketTransport] = []

    def serve(transport: SocketTransport) -> None:
        if parked:
            busy.set()
            gate.wait(WAIT)
        elif transport.park(resumed.set):
            parked.append(transport)

    listener = SocketListener(HERE, serve)
    with opened(listener), connected(listener.address):
        until(lambda: parked)
        with connected(listener.address):
            assert busy.wait(WAIT)
            closing = Running(listener.close)
            until(lambda: refused(listener.address))
            gate.set()
            closing.result()
    assert resumed.is_set() and parked[0].read() is None


def refused(address: str) -> bool:
    try:
        with connected(address):
            return False
    except ConnectFailed:
        return True


def test_a_listener_may_be_closed_by_what_it_calls_and_before_it_is_opened() -> None:
    SocketListener(HERE, print).close()
    closed = threading.Event()

    def close(transport: Transport) -> None:
        listener.close()
        closed.set()

    listener = SocketListener(HERE, close)
    listener.open()
    with connected(listener.address) as client:
        assert client.read() is None
        assert closed.wait(WAIT)
    until(lambda: not listener_threads())


def test_a_connection_that_cannot_be_served_is_closed_and_the_next_one_is_served(
        echoes: Echoes, caplog: pytest.LogCaptureFixture) -> None:
    failures = iter([ValueError("not today")])

    def serve(transport: SocketTransport) -> None:
        for failure in failures:
            raise failure
        echoes.serve(transport)

    with caplog.at_level(logging.ERROR), opened(SocketListener(HERE, serve)) as listener:
        with connected(listener.address) as first:
            assert first.read() is None
        with connected(listener.address) as second:
            second.write([b"{}"])
            assert second.read() == [b"{}"]
    assert "not today" in caplog.text


# --- Parking ----------------------------------------------------------------------------------------------------------

def test_silent_connections_cost_no_thread(echoes: Echoes) -> None:
    with opened(SocketListener(HERE, echoes.serve, idle_after=0.02)) as listener:
        clients = [connect_socket(listener.address) for _ in range(100)]
        for client in clients:
            client.open()
        until(lambda: listener.connections == 100)
        assert echoes.most_readers == 0
        for _ in range(3):  # traffic, silence, traffic: parked in between and resumed with nothing lost
            clients[7].write([b'{"a": 1}', b'{"b": 2}'])
            assert collect(clients[7], 2) == [b'{"a": 1}', b'{"b": 2}']
            until(lambda: echoes.readers == 0)
        assert echoes.most_readers == 1 and len(listener_threads()) == 1
        for client in clients:
            client.close()
        until(lambda: listener.connections == 0)


def test_half_a_message_waits_in_a_parked_connection(echoes: Echoes) -> None:
    with opened(SocketListener(HERE, echoes.serve, idle_after=0.02)) as listener:
        address = parse_address(listener.address)
        with socket.create_connection((address.host, address.port), WAIT) as raw:
            for piece in (b'{"cut', b'": "in', b' pieces"}', b"\n"):
                until(lambda: echoes.readers == 0)
                echoes.most_readers = 0
                raw.sendall(piece)
                until(lambda: echoes.most_readers)
            assert raw.recv(100) == b'{"cut": "in pieces"}\n'


def test_the_end_of_a_parked_connection_is_noticed_from_both_sides(echoes: Echoes) -> None:
    with opened(SocketListener(HERE, echoes.serve)) as listener:
        with connected(listener.address):
            until(lambda: listener.connections == 1)
        assert echoes.ended.get(timeout=WAIT) == "the peer closed the connection"
        with connected(listener.address) as client:
            until(lambda: listener.connections == 1)
            echoes.transports[-1].close()
            assert client.read() is None
        assert echoes.ended.get(timeout=WAIT) == "the connection was closed"
        until(lambda: listener.connections == 0)


def test_a_closed_connection_and_a_closed_listener_park_nobody() -> None:
    accepted: "queue.Queue[SocketTransport]" = queue.Queue()
    with opened(SocketListener(HERE, accepted.put)) as listener:
        with connected(listener.address), connected(listener.address):
            first, second = [accepted.get(timeout=WAIT) for _ in range(2)]
            first.close()
            assert not first.park(lambda: None)
            listener.close()
            assert not second.park(lambda: None)
    near, far = socket.socketpair()
    with opened(SocketTransport(near)) as transport, far:
        assert not transport.park(lambda: None)


def test_a_connection_whose_reader_cannot_be_resumed_is_closed(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise RuntimeError("can't start new thread")

    with caplog.at_level(logging.ERROR), opened(SocketListener(HERE, lambda t: t.park(fail))) as listener:
        with connected(listener.address) as client:
            client.write([b"{}"])
            assert client.read() is None
    assert "can't start new thread" in caplog.text


@pytest.mark.race
def test_parking_while_bytes_arrive_and_others_close_loses_nothing(echoes: Echoes) -> None:
    with opened(SocketListener(HERE, echoes.serve, idle_after=0)) as listener:
        def talk() -> None:
            with connected(listener.address) as client:
                for number in range(30):
                    client.write([b'{"%d": 0}' % number])
                    assert client.read() == [b'{"%d": 0}' % number]

        for talking in [Running(talk) for _ in range(5)]:
            talking.result()


# --- Limits -----------------------------------------------------------------------------------------------------------

def test_one_connection_too_many_is_closed_and_named_in_the_log(
        echoes: Echoes, caplog: pytest.LogCaptureFixture) -> None:
    limits = Limits(max_connections=2)
    with caplog.at_level(logging.WARNING), opened(SocketListener(HERE, echoes.serve, limits)) as listener:
        with connected(listener.address) as first, connected(listener.address):
            until(lambda: listener.connections == 2)
            with connected(listener.address) as third:
                assert third.read() is None
            assert listener.refused == 1
            until(lambda: "max_connections (2)" in caplog.text)
            first.write([b"{}"])
            assert first.read() == [b"{}"]
        until(lambda: listener.connections == 0)
        with connected(listener.address) as fourth:
            fourth.write([b"{}"])
            assert fourth.read() == [b"{}"]


# --- The stream -------------------------------------------------------------------------------------------------------

def test_a_reset_connection_says_so() -> None:
    accepted: "queue.Queue[SocketTransport]" = queue.Queue()
    with opened(SocketListener(HERE, accepted.put)) as listener:
        address = parse_address(listener.address)
        raw = socket.create_connection((address.host, address.port), WAIT)
        transport = accepted.get(timeout=WAIT)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raw.close()
        assert transport.read() is None
        assert transport.reason() == "the peer has gone (Connection reset by peer)"
        with pytest.raises(ConnectionLost, match="reset by peer"):
            transport.write([b"{}"])


def test_a_connection_cut_inside_a_message_drops_the_rest_and_counts_it() -> None:
    near, far = socket.socketpair()
    with opened(SocketTransport(near)) as transport:
        far.sendall(b'{"whole": 1}\n{"cut')
        far.close()
        assert collect(transport) == [b'{"whole": 1}']
        assert transport.counters() == {"rejected": 0, "unfinished": 1}


def test_small_messages_are_not_held_back_and_ready_is_small_minded() -> None:
    accepted: "queue.Queue[SocketTransport]" = queue.Queue()
    with opened(SocketListener(HERE, accepted.put)) as listener, connected(listener.address) as client:
        for transport in (client, accepted.get(timeout=WAIT)):
            assert transport.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert transport.socket.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            assert transport.ready(4096) and not transport.ready(4097)
        client.close()
        assert client.ready(10**9)  # for writing says at once that it is over


# --- Unix sockets -----------------------------------------------------------------------------------------------------

def mode(path: Any) -> int:
    return stat.S_IMODE(os.lstat(str(path)).st_mode)


def test_a_unix_socket_is_for_its_owner_only_and_goes_with_its_listener(tmp_path: Any) -> None:
    path = tmp_path / "made" / "it"
    with opened(SocketListener("unix://%s" % path, print)):
        assert mode(path.parent) == 0o700 and mode(path) == 0o600
    assert not path.exists()


def test_a_stale_socket_file_is_removed_and_a_living_one_is_not(tmp_path: Any) -> None:
    path = tmp_path / "it"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with opened(SocketListener("unix://%s" % path, print)) as listener:
        with pytest.raises(ConnectFailed, match="another program does"):
            SocketListener(listener.address, print).open()
        assert path.exists()


@pytest.mark.parametrize("kind", ["file", "folder", "dangling link"])
def test_what_is_no_socket_is_left_alone(kind: str, tmp_path: Any) -> None:
    path = tmp_path / "it"
    {"file": lambda: path.write_text("precious"), "folder": path.mkdir,
     "dangling link": lambda: path.symlink_to(tmp_path / "nowhere")}[kind]()
    with pytest.raises(ConnectFailed, match="there is a file that is no socket"):
        SocketListener("unix://%s" % path, print).open()
    assert os.path.lexists(str(path))


def test_a_socket_file_that_was_replaced_is_not_removed(tmp_path: Any) -> None:
    path = tmp_path / "it"
    with opened(SocketListener("unix://%s" % path, print)):
        path.unlink()
        path.write_text("somebody else's")
    assert path.read_text() == "somebody else's"


def test_a_folder_that_cannot_be_made_is_connect_failed(tmp_path: Any) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConnectFailed, match="cannot listen on unix://.*(Not a directory|File exists)"):
        SocketListener("unix://%s/file/it" % tmp_path, print).open()
