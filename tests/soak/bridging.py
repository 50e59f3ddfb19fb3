"""Sessions with a bridge, each of which has a child process behind, opened and dropped."""
import random
import time

from peer import echo_request, result_of
from soaked import Failed, Soaked


def bridged(soaked: Soaked, count: int, chance: random.Random) -> str:
    """Some are deleted, the others are never heard of again; some call a tool before."""
    place, begin, most, calls = soaked.place("bridged"), time.monotonic(), 0, 0
    with place.line() as line:
        for number in range(count):
            session = soaked.opened(place, line)
            if chance.random() < 0.5:
                answer = line.ask(place.request("POST", echo_request(number + 1, "call"), session))
                found, result = result_of(answer.message)
                if found != number + 1 or result["content"][0]["text"] != "call":
                    raise Failed("a call through the bridge was answered %r" % (answer,))
                calls += 1
            if chance.random() < 0.9:
                line.ask(place.request("DELETE", session=session))
            if number % 50 == 0:
                most = max(most, soaked.report()["children"])
    seconds = time.monotonic() - begin
    soaked.settle()
    return "%.0f per second, %d calls, %d children at most" % (count / seconds, calls, most)
