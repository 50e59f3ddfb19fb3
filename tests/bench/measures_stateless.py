"""How the figures without a handshake are measured: our server against itself, with a session on the floor's side."""
import contextlib
import statistics
from typing import Iterator

from http_peer import HttpPeer
from measures import Pair, Setup
from peer import NotHere

ANSWER = {"action": "accept", "content": {"text": "yes"}}


def _check(setup: Setup) -> None:
    """NotHere where the floor is measured against itself: it knows nothing of this."""
    if setup.client == "floor":
        raise NotHere("the floor has no such thing")


@contextlib.contextmanager
def calls(setup: Setup, count: int) -> Iterator[Pair]:
    """Median seconds of small calls over stdio, one after the other."""
    _check(setup)
    texts = ["call %d" % number for number in range(setup.count(count))]
    with setup.sleeper() as floor, setup.sleeper() as subject:
        floor.initialize()
        subject.discover()
        yield (lambda: statistics.median(floor.echoes(texts))), (lambda: statistics.median(subject.echoes(texts)))


@contextlib.contextmanager
def http_calls(setup: Setup, count: int) -> Iterator[Pair]:
    """The same over HTTP, on one connection."""
    _check(setup)
    texts = ["call %d" % number for number in range(setup.count(count))]
    with setup.http_subject() as floor, setup.http_subject() as subject:
        floor.initialize()
        subject.discover()
        yield (lambda: statistics.median(floor.echoes(texts))), (lambda: statistics.median(subject.echoes(texts)))


@contextlib.contextmanager
def rounds(setup: Setup, count: int) -> Iterator[Pair]:
    """Median seconds of a call that is asked back twice; the floor is a plain call without a handshake."""
    _check(setup)
    texts = ["call %d" % number for number in range(setup.count(count))]
    with setup.sleeper() as floor, setup.sleeper() as subject:
        floor.discover()
        subject.discover()
        yield (lambda: statistics.median(floor.echoes(texts))), (
            lambda: statistics.median(subject.rounds("ask_twice", ANSWER, "yes yes", 3) for _ in texts))


@contextlib.contextmanager
def listeners_memory(setup: Setup, count: int) -> Iterator[Pair]:
    """Bytes that each listening stream costs; the floor is a session with its GET stream in the same server."""
    _check(setup)
    count //= setup.divisor

    def sample(listening: bool) -> float:
        with setup.http_subject() as peer:
            peer.discover() if listening else peer.initialize()
            peer.echoes(["call"] * 200)
            opened = peer.listeners if listening else peer.streams
            with opened(20):
                before = peer.memory("VmRSS")
                with opened(count):
                    return (peer.memory("VmRSS") - before) / count

    yield (lambda: sample(False)), (lambda: sample(True))


@contextlib.contextmanager
def listeners_threads(setup: Setup, count: int) -> Iterator[Pair]:
    """Threads of the whole process while so many streams listen; the floor has as many GET streams."""
    _check(setup)
    count //= setup.divisor

    def sample(peer: HttpPeer, listening: bool) -> float:
        with peer.listeners(count) if listening else peer.streams(count):
            peer.echoes(["call"] * 20)
            return peer.threads()

    with setup.http_subject() as floor, setup.http_subject() as subject:
        floor.initialize()
        subject.discover()
        yield (lambda: sample(floor, False)), (lambda: sample(subject, True))
