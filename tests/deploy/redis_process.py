"""A real Redis that writes every change to its file before it answers, in a folder of its own, on loopback."""
import importlib.util
import os
import pathlib
import shutil
import socket
import subprocess
import time
from types import TracebackType
from typing import List, Optional, Type

SECONDS = 25
PROGRAM, LIBRARIES = "MCP_REF_TEST_REDIS", "MCP_REF_TEST_REDIS_LIBRARIES"
"""Variables with the path of the program where it is not on PATH, and of what it is linked to; `run` sets them."""


def missing() -> str:
    """What is not here of what the tests on Redis need; "" if all is."""
    if importlib.util.find_spec("redis") is None:
        return "there is no library `redis` here"
    return "" if shutil.which(os.environ.get(PROGRAM, "redis-server")) else "there is no redis-server here"


def free_port(host: str = "127.0.0.1") -> int:
    """A port that nobody has at this moment."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


class Redis:
    """A server, started with the object, and again by `start` after `kill`."""

    def __init__(self, folder: pathlib.Path) -> None:
        folder.mkdir(parents=True)
        self.folder, self.port = folder, free_port()
        self.url = "redis://127.0.0.1:%d/0" % self.port
        self._process: "Optional[subprocess.Popen[bytes]]" = None

    @property
    def pid(self) -> int:
        """The id of the process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start, with the data of the folder, and return when clients can connect."""
        command: List[str] = [
            os.environ.get(PROGRAM, "redis-server"), "--bind", "127.0.0.1", "--port", str(self.port), "--save", "",
            "--appendonly", "yes", "--appendfsync", "always", "--dir", str(self.folder), "--logfile", "redis.log"]
        settings = dict(os.environ)
        if settings.get(LIBRARIES):
            settings["LD_LIBRARY_PATH"] = settings[LIBRARIES]
        self._process = subprocess.Popen(command, env=settings, stdin=subprocess.DEVNULL, cwd=str(self.folder))
        end = time.monotonic() + SECONDS
        while not self._answers():
            assert self._process.poll() is None and time.monotonic() < end, "Redis did not start"
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), SECONDS) as probe:
                probe.sendall(b"PING\r\n")  # it is refused while the data is loaded
                return probe.recv(100).startswith(b"+PONG")
        except OSError:
            return False

    def kill(self) -> None:
        """Kill it, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(SECONDS)

    def __enter__(self) -> "Redis":
        self.start()
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.kill()
