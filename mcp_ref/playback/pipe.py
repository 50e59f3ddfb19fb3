"""The server's side of a recording on this process's standard streams."""

from typing import Any, Callable, Dict, Optional

from ..errors import INVALID_REQUEST, PARSE_ERROR, ConnectionLost
from ..jsontext import JsonError, dumps, loads
from ..transports.base import Transport
from ..transports.lines.stdio import StdioServer
from .player import Book, Player


def play(book: Book, transport: Optional[Transport] = None, tell: Callable[[str], Any] = lambda text: None) -> None:
    """Play to the client on the other end of a pipe, until it ends its side; by default on standard input and output.

    Messages of a batch are answered one by one. Raises `ConnectFailed` where there are no streams.
    """
    pipe = StdioServer() if transport is None else transport
    pipe.open()

    def send(message: Dict[str, Any], place: Any, apart: bool) -> None:
        pipe.write([dumps(message).encode("ascii")])

    player = Player(book, send)
    try:
        while True:
            items = pipe.read()
            if items is None:
                player.drain()
                return
            for item in items:
                if isinstance(item, bytes):
                    _receive(player, item, send)
                else:
                    send(_error(INVALID_REQUEST, str(getattr(item, "error", item))), None, False)
    except ConnectionLost as error:
        tell("the client went away: %s" % error)
    finally:
        player.close()
        pipe.close()


def _receive(player: Player, data: bytes, send: Callable[[Dict[str, Any], Any, bool], None]) -> None:
    try:
        value = loads(data)
    except JsonError as error:
        send(_error(PARSE_ERROR, "Parse error: %s" % error), None, False)
        return
    for message in value if isinstance(value, list) and value else [value]:
        player.receive(message)


def _error(code: int, text: str) -> Dict[str, Any]:
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": text}}
