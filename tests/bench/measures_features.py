"""How the figures beyond tool calls are measured: prompts, resources, subscriptions, and a host over many servers."""
import contextlib
import json
import statistics
import time
from typing import Any, Dict, Iterator, List

from measures import WINDOW, Pair, Setup
from peer import Peer, WrongAnswer, request


def _medians(setup: Setup, floor: Peer, ask: Any, calls: int) -> Pair:
    count = setup.count(calls)
    texts = ["call %d" % number for number in range(count)]

    def sample() -> float:
        seconds = []
        for _ in range(count):
            begin = time.perf_counter()
            ask()
            seconds.append(time.perf_counter() - begin)
        return statistics.median(seconds)

    return (lambda: statistics.median(floor.echoes(texts))), sample


@contextlib.contextmanager
def one_request(setup: Setup, method: str, params: Dict[str, Any], member: str, calls: int) -> Iterator[Pair]:
    """Median seconds of a request whose result has this member; the floor's echo is the least that one costs."""
    with setup.ready(sleeper=True) as (floor, subject):

        def ask() -> None:
            if not subject.ask(method, params)[member]:
                raise WrongAnswer("%s was answered without %s" % (method, member))

        yield _medians(setup, floor, ask, calls)


@contextlib.contextmanager
def updates(setup: Setup, count: int) -> Iterator[Pair]:
    """Seconds until a client that subscribed to so many was told that all have changed; the floor echoes as often."""
    texts = ["call %d" % number for number in range(count)]
    with setup.ready(sleeper=True) as (floor, subject):
        for number in range(count):
            subject.ask("resources/subscribe", {"uri": "item://%d" % number})
        yield (lambda: floor.echoes_in_flight(texts, WINDOW)), (lambda: _told(subject, count))


def _told(subject: Peer, count: int) -> float:
    number, = subject.numbers(1)
    lines: List[bytes] = []
    begin = time.perf_counter()
    subject.write(request(number, "tools/call", {"name": "touch", "arguments": {"count": count}}))
    while len(lines) <= count:
        lines.append(subject.line())
    seconds = time.perf_counter() - begin
    messages = [json.loads(line) for line in lines]
    told = {message["params"]["uri"] for message in messages
            if message.get("method") == "notifications/resources/updated"}
    if told != {"item://%d" % number for number in range(count)}:
        raise WrongAnswer("%d of %d updates came" % (len(told), count))
    return seconds


@contextlib.contextmanager
def host(setup: Setup, how: str, count: int) -> Iterator[Pair]:
    """Seconds of a host over ten servers; the floor is ten bare clients, opened on a thread each."""
    with setup.host_runner("floor") as floor, setup.host_runner(setup.client) as subject:

        def sample(peer: Peer) -> float:
            peer.write(b"%s %d\n" % (how.encode(), count))
            return float(peer.line())

        yield (lambda: sample(floor)), (lambda: sample(subject))
