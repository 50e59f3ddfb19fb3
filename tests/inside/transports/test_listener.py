"""A listener of a process that has no descriptor left."""
import errno
import logging
import queue
import threading
from typing import Any, Iterator, List

import pytest

from mcp_ref.transports.lines import listener as listener_module
from mcp_ref.transports.lines.listener import SocketListener
from mcp_ref.transports.lines.sockets import SocketTransport, connect_socket
from tests.transports.makers import Running, opened, until


HERE = "tcp://127.0.0.1:0"


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


@pytest.mark.parametrize("relief", ["a connection closes", "time passes"])
def test_accepting_pauses_when_there_are_no_descriptors_left(
        relief: str, echoes: Echoes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(listener_module, "_PAUSE_SECONDS", 0.05 if relief == "time passes" else 3600.0)
    scarce = threading.Event()
    attempts: List[int] = []
    with caplog.at_level(logging.ERROR), opened(SocketListener(HERE, echoes.serve)) as listener:
        real = listener._sockets[0]

        class Scarce:
            """The listening socket of a process that has no descriptor left."""

            def fileno(self) -> int:
                return real.fileno()

            def close(self) -> None:
                real.close()

            def accept(self) -> Any:
                attempts.append(1)
                if scarce.is_set():
                    raise OSError(errno.EMFILE, "Too many open files")
                return real.accept()

        first = connect_socket(listener.address)
        first.open()
        until(lambda: listener.connections == 1)
        listener._command(lambda: swap(listener, Scarce()))
        until(lambda: isinstance(listener._sockets[0], Scarce))
        scarce.set()
        with connected(listener.address) as second:
            until(lambda: attempts)
            scarce.clear()
            if relief == "a connection closes":
                first.close()
            second.write([b"{}"])
            assert second.read() == [b"{}"]
        first.close()
    assert "accepting pauses: Too many open files" in caplog.text
    assert len(attempts) < 50  # and it did not spin meanwhile


def swap(listener: SocketListener, other: Any) -> None:
    listener._listen(False)
    listener._sockets = [other]
    listener._listen(True)
