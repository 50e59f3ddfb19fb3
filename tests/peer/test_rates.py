"""A `Rate`: so many a second in the long run, a second's worth at once, whatever the threads do."""
from typing import List

import pytest

from mcp_ref import deadline
from mcp_ref.deadline import Rate
from mcp_ref.limits import Limits
from tests.support.conversation import conversation
from tests.support.sides import in_thread


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> List[float]:
    """The time, which tests set."""
    now = [1000.0]
    monkeypatch.setattr(deadline, "clock", lambda: now[0])
    return now


def taken(rate: Rate, times: int = 1000) -> int:
    """How many permissions there are now, of at most so many."""
    return sum(rate.take() for _ in range(times))


@pytest.mark.parametrize("per_second, burst, at_once", [
    (1, None, 1), (5, None, 5), (100.0, None, 100), (2.5, None, 2), (0.1, None, 1), (0, None, 1), (-3, None, 1),
    (5, 1, 1), (5, 20, 20), (5, 0, 1), (5, -1, 1), (0.5, 3.9, 3),
])
def test_as_many_as_the_burst_may_come_at_once(per_second: float, burst: float, at_once: int,
                                               clock: List[float]) -> None:
    rate = Rate(per_second, burst)
    assert taken(rate) == at_once
    assert not rate.take(), "and no more while no time passes"


@pytest.mark.parametrize("per_second, seconds, more", [
    (5, 0.2, 1), (5, 0.19, 0), (5, 1.0, 5), (5, 0.5, 2), (5, 100.0, 5), (0.5, 1.9, 0), (0.5, 2.0, 1), (0.5, 60.0, 1),
    (0, 3600.0, 0), (-3, 3600.0, 0),
])
def test_it_fills_evenly_up_to_the_burst(per_second: float, seconds: float, more: int, clock: List[float]) -> None:
    rate = Rate(per_second)
    taken(rate)
    clock[0] += seconds
    assert taken(rate) == more


@pytest.mark.parametrize("step", [0.001, 0.01, 0.03, 0.1, 0.25, 1.0, 7.0])
def test_no_more_than_its_number_pass_in_the_long_run_however_often_one_asks(step: float, clock: List[float]) -> None:
    rate, passed, start = Rate(10), 0, clock[0]
    for _ in range(int(50 / step) if step < 1 else 50):
        passed += taken(rate, 30)
        clock[0] += step
    span = clock[0] - start
    assert passed <= 10 + 10 * span + 1e-6
    assert passed >= min(10 * span, 10 * span / step) - 10


def test_a_refusal_costs_nothing(clock: List[float]) -> None:
    rate = Rate(1)
    assert rate.take()
    for _ in range(9):
        clock[0] += 0.1
        assert not rate.take()
    clock[0] += 0.1000001
    assert rate.take()


def test_a_clock_that_stands_still_or_goes_back_gives_nothing_away(clock: List[float]) -> None:
    rate = Rate(2)
    assert taken(rate) == 2
    clock[0] -= 100.0
    assert taken(rate) == 0


@pytest.mark.race
def test_threads_take_no_permission_twice(clock: List[float]) -> None:
    rate = Rate(1000, 500)
    counts = [in_thread(taken, rate, 200) for _ in range(4)]
    assert sum(count.get() for count in counts) == 500


NAMES = [name for name in vars(Limits) if name.startswith("max_") and name.endswith("_per_second")
         and name != "max_progress_per_second"]


@pytest.mark.parametrize("name", NAMES)
def test_each_connection_has_one_rate_for_each_limit_that_names_one(name: str, clock: List[float]) -> None:
    with conversation("server", limits=Limits(**{name: 3})) as talk, conversation("server") as other:
        assert taken(talk.connection.rate(name)) == 3
        assert talk.connection.rate(name) is talk.connection.rate(name) is not other.connection.rate(name)
        assert other.connection.rate(name).per_second == getattr(Limits(), name)


@pytest.mark.race
def test_threads_that_ask_for_a_rate_at_once_get_the_same_one() -> None:
    with conversation("server") as talk:
        made = [in_thread(talk.connection.rate, "max_completions_per_second") for _ in range(4)]
        assert len({id(rate.get()) for rate in made}) == 1


def test_a_bucket_of_many_principals_is_kept_while_it_is_not_full(clock: List[float]) -> None:
    name = "max_completions_per_second"
    with conversation("server", limits=Limits(**{name: 3})) as talk:
        rate, held = talk.connection.rate, talk.connection.rates.kept
        assert taken(rate(name, "busy")) == 3
        for number in range(1000):
            rate(name, "guest %d" % number).take()
            clock[0] += 0.0001
        assert len(held) > 1000 and taken(rate(name, "busy")) == 0, "a second has not passed"
        clock[0] += 0.5
        assert rate(name, "busy").take()
        clock[0] += 0.4
        for number in range(2000):
            rate(name, "another %d" % number)
        assert len(held) < 1000, "those that are full are as good as new ones"
        assert taken(rate(name, "busy")) == 1, "0.4 seconds at 3 a second"


def test_buckets_are_bounded_and_go_by_the_text_of_a_principal(clock: List[float]) -> None:
    class Principal(str):
        """A text that has more to it."""

    with conversation("server") as talk:
        rate, held = talk.connection.rate, talk.connection.rates.kept
        for number in range(25_000):
            rate("max_completions_per_second", Principal(number)).take()
        assert len(held) <= 10_000
        assert rate("max_completions_per_second", Principal("x")) is rate("max_completions_per_second", "x")
        assert {type(key[1]) for key in held if isinstance(key, tuple)} == {str}
