"""A few of the trains of `tests.fuzz.http_trains`, and whether servers that differ are found out."""
import re
from typing import Any, Callable

import pytest

from mcp_ref.http11.message import Exchange
from mcp_ref.http11.server.server import HttpServer
from tests.fuzz import http_trains
from tests.support.patience import WAIT

SEED = 20260728


def test_a_server_answers_trains_alike_however_they_arrive() -> None:
    outcome = http_trains.explore(http_trains.HERE, http_trains.HERE, False, WAIT, SEED, range(400))
    assert (outcome.count, outcome.examples) == (400, {})


def test_trains_are_of_every_sort() -> None:
    trains = [http_trains.train(SEED, number) for number in range(400)]
    assert trains == [http_trains.train(SEED, number) for number in range(400)]
    sent = b"".join(b"".join(pieces) for pieces, _ in trains)
    for part in (b"OPTIONS * HTTP/1.1", b"GET http://h:1/x?y", b" HTTP/1.0\r\n", b"100-continue", b"/smuggled",
                 b"/stream", b"Connection: close", b"Transfer-Encoding: chunked", b"\r\n\r\n\r\n"):
        assert part in sent, part
    assert any(b"" in pieces for pieces, _ in trains), "none waits for 100 Continue"
    assert {ends for _, ends in trains} == {0, 1}


class Changed(HttpServer):
    """A server that goes wrong on one path."""

    def __init__(self, handler: Callable[[Exchange], None], *arguments: Any, **options: Any) -> None:
        def other(exchange: Exchange) -> None:
            if exchange.request.path == "/a%20b":
                self.go_wrong(exchange, handler)
            else:
                handler(exchange)

        super().__init__(other, *arguments, **options)

    def go_wrong(self, exchange: Exchange, handler: Callable[[Exchange], None]) -> None:
        raise NotImplementedError


class Misreading(Changed):
    """It decodes the path."""

    def go_wrong(self, exchange: Exchange, handler: Callable[[Exchange], None]) -> None:
        exchange.request = exchange.request._replace(path="/a b")
        handler(exchange)


class Refusing(Changed):
    """It answers 400."""

    def go_wrong(self, exchange: Exchange, handler: Callable[[Exchange], None]) -> None:
        exchange.reply(400)


class Losing(Changed):
    """It ends the connection in the middle of the answer."""

    def go_wrong(self, exchange: Exchange, handler: Callable[[Exchange], None]) -> None:
        exchange.start(200)
        exchange.send(b"half")
        raise ValueError


class Stuttering(Changed):
    """It calls the handler twice."""

    def go_wrong(self, exchange: Exchange, handler: Callable[[Exchange], None]) -> None:
        handler(exchange)
        try:
            handler(exchange)
        except RuntimeError:
            pass


def goes_there(train: http_trains.Train) -> bool:
    """Return True if the train begins with a good request for the path."""
    pieces, ends = train
    return not ends and re.match(rb"(GET|PUT) /a%20b\?c=d HTTP/1.1\r\n", b"".join(pieces)) is not None


@pytest.mark.parametrize("server, kind", [
    (Misreading, "differ, two sorts of 200 by their fields"), (Refusing, "differ, 200 and 400"), (Losing, "cut off"),
    (Stuttering, "unanswered"),
])
def test_a_server_that_goes_wrong_is_found_out(server: Any, kind: str, capsys: Any) -> None:
    name = "%s:%s" % (__name__, server.__name__)
    number = next(number for number in range(1000) if goes_there(http_trains.train(SEED, number)))
    outcome = http_trains.explore(http_trains.HERE, name, False, WAIT, SEED, [number])
    assert list(outcome.examples) == [kind] and outcome.examples[kind][0] == number


def test_the_command_shows_the_smallest_train_that_differs(capsys: Any) -> None:
    number = next(number for number in range(1000) if goes_there(http_trains.train(SEED, number)))
    given = ["--seed", str(SEED), "--case", str(number)]
    assert http_trains.main([*given, "--right", "%s:Refusing" % __name__]) == 1
    out = capsys.readouterr().out
    assert "\ndiffer, 200 and 400\n  train %d of seed %d, as small as it gets: ([b'" % (number, SEED) in out
    assert out.splitlines()[-1] == "1 trains; differ, 200 and 400: 1"
    assert http_trains.main(given) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 trains; all alike"
