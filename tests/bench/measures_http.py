"""How the HTTP figures are measured: the same calls over HTTP, open streams, sessions, and the client."""
import contextlib
import pathlib
import statistics
from typing import Iterator, Tuple

from http_peer import HttpPeer
from measures import Pair, Setup, letters


@contextlib.contextmanager
def _ready(setup: Setup, *arguments: str, canned: bool = True) -> Iterator[Tuple[HttpPeer, HttpPeer]]:
    with setup.http_floor(canned) as floor, setup.http_subject(*arguments) as subject:
        floor.initialize()
        subject.initialize()
        yield floor, subject


@contextlib.contextmanager
def sequential(setup: Setup, calls: int, *arguments: str) -> Iterator[Pair]:
    """Median seconds of small calls on one connection, one after the other."""
    texts = ["call %d" % number for number in range(setup.count(calls))]
    with _ready(setup, *arguments) as (floor, subject):
        yield (lambda: statistics.median(floor.echoes(texts))), (lambda: statistics.median(subject.echoes(texts)))


@contextlib.contextmanager
def connections(setup: Setup, count: int, calls: int) -> Iterator[Pair]:
    """Calls per second over so many connections, one in flight on each."""
    texts = ["call %d" % number for number in range(setup.count(calls))]
    with _ready(setup) as (floor, subject):

        def sample(peer: HttpPeer) -> float:
            return len(texts) / peer.echoes_in_flight(texts, count)

        yield (lambda: sample(floor)), (lambda: sample(subject))


@contextlib.contextmanager
def workers(setup: Setup, count: int, window: int, calls: int) -> Iterator[Pair]:
    """Calls per second over ``window`` connections, of a tool that computes; the floor is one worker of the same."""
    texts = ["call %d" % number for number in range(setup.count(calls))]
    command = [setup.python, str(pathlib.Path(__file__).with_name("workers_subject.py"))]
    with HttpPeer([*command, "1"], setup.environment) as floor:
        with HttpPeer([*command, str(count)], setup.environment) as subject:
            floor.initialize()
            subject.initialize()

            def sample(peer: HttpPeer) -> float:
                return len(texts) / peer.echoes_in_flight(texts, window)

            yield (lambda: sample(floor)), (lambda: sample(subject))


@contextlib.contextmanager
def payload(setup: Setup, size: int, calls: int) -> Iterator[Pair]:
    """Median seconds to send a text and get it back; the floor is the json loop, since it has to send it back, too."""
    texts = [letters(size)] * max(1, calls // setup.divisor)
    with _ready(setup, canned=False) as (floor, subject):
        yield (lambda: statistics.median(floor.echoes(texts))), (lambda: statistics.median(subject.echoes(texts)))


@contextlib.contextmanager
def streams_threads(setup: Setup, count: int) -> Iterator[Pair]:
    """Threads of the whole process while so many sessions have a stream open each, and one calls."""
    count //= setup.divisor

    def sample(peer: HttpPeer) -> float:
        with peer.streams(count):
            peer.echoes(["call"] * 20)
            return peer.threads()

    with _ready(setup) as (floor, subject):
        yield (lambda: sample(floor)), (lambda: sample(subject))


@contextlib.contextmanager
def streams_memory(setup: Setup, count: int) -> Iterator[Pair]:
    """Bytes that each session with an open stream costs, in a fresh server that has done some calls."""
    count //= setup.divisor

    def sample(canned: bool) -> float:
        with setup.http_floor(True) if canned else setup.http_subject() as peer:
            peer.initialize()
            peer.echoes(["call"] * 200)
            with peer.streams(20):
                before = peer.memory("VmRSS")
                with peer.streams(count):
                    return (peer.memory("VmRSS") - before) / count

    yield (lambda: sample(True)), (lambda: sample(False))


@contextlib.contextmanager
def streams_calls(setup: Setup, count: int, calls: int) -> Iterator[Pair]:
    """Median seconds of small calls beside so many open streams; the floor is the same server beside none."""
    texts = ["call %d" % number for number in range(setup.count(calls))]
    with setup.http_subject() as floor, setup.http_subject() as subject:
        floor.initialize()
        subject.initialize()
        with subject.streams(count // setup.divisor):
            yield (lambda: statistics.median(floor.echoes(texts))), (lambda: statistics.median(subject.echoes(texts)))


@contextlib.contextmanager
def sessions(setup: Setup, count: int) -> Iterator[Pair]:
    """Sessions per second that are opened, used once and deleted, one after the other: four requests each."""
    count = setup.count(count)
    with _ready(setup) as (floor, subject):
        yield (lambda: count / floor.used_sessions(count)), (lambda: count / subject.used_sessions(count))
