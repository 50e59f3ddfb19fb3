"""The HTTP clients that `client_runner.py` measures, against the json loop of `http_floor.py`."""
import json
import pathlib
import subprocess
import sys
from http.client import HTTPConnection
from typing import Any, Callable, Tuple
from urllib.parse import urlsplit

from peer import echo_request

FLOOR = [sys.executable, str(pathlib.Path(__file__).with_name("http_floor.py"))]
SESSIONLESS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def start() -> Tuple[str, Callable[[], None]]:
    """A floor server: its URL, how to end it."""
    process = subprocess.Popen(FLOOR, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    url = process.stdout.readline().decode().strip()

    def end() -> None:
        process.communicate()

    return url, end


def floor() -> Tuple[Any, Any, Callable[[str], str], Callable[[], None]]:
    """A loop over `http.client`; it does one call after the other, and cannot have several in flight."""
    url, end = start()
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port)
    numbers = iter(range(1, sys.maxsize))

    def call(text: str) -> str:
        number = next(numbers)
        connection.request("POST", parts.path, echo_request(number, text), SESSIONLESS)
        message = json.loads(connection.getresponse().read())
        if message["id"] != number:
            raise SystemExit("wrong id")
        return str(message["result"]["content"][0]["text"])

    def close() -> None:
        connection.close()
        end()

    return None, None, call, close


def mcp_ref() -> Tuple[Any, Any, Callable[[str], str], Callable[[], None]]:
    """Our client."""
    from mcp_ref import connect

    url, end = start()
    client: Any = connect(url).__enter__()

    def call(text: str) -> str:
        return str(client.call_tool("echo", {"text": text}).content[0].text)

    def close() -> None:
        client.__exit__(None, None, None)
        end()

    return None, None, call, close


CLIENTS = {"floor": floor, "mcp_ref": mcp_ref}
