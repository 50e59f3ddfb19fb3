"""Work that several threads want: done once, given up only when nobody is left, and a person's time told to all."""
import threading
from typing import Any, Callable, List, Optional

import pytest

from mcp_ref.auth import MemoryStore
from mcp_ref.auth.client.single_flight import Authorization
from mcp_ref.errors import AuthError, Unauthorized
from mcp_ref.http11.client.connect import CancelScope, Abandoned
from mcp_ref.limits import DEFAULT
from tests.support.patience import WAIT
from tests.support.scripted_grant import NOW, SERVER, ListFetcher


class Waiter:
    """A thread in a flight."""

    def __init__(self, flight: Authorization) -> None:
        self.cancel_scope = CancelScope()
        self.still: List[bool] = []
        self.stands = threading.Event()
        self.cancel_scope.on_pause = self._told
        ticket = flight.join()
        assert ticket is not None
        self.error: Optional[BaseException] = None
        self._thread = threading.Thread(target=self._run, args=(flight, ticket))

    def start(self) -> "Waiter":
        self._thread.start()
        return self

    def _told(self, begins: bool) -> None:
        self.still.append(begins)
        if begins:
            self.stands.set()

    def _run(self, flight: Authorization, ticket: threading.Event) -> None:
        try:
            flight.wait(ticket, self.cancel_scope)
        except BaseException as error:
            self.error = error

    def end(self) -> Optional[BaseException]:
        self._thread.join(WAIT)
        assert not self._thread.is_alive(), "nobody has told it"
        return self.error


class Work:
    """Work that waits until it is told how to go on."""

    def __init__(self, ends: Callable[[Authorization], None] = lambda flight: None) -> None:
        self.begun, self.go, self.over = threading.Event(), threading.Event(), threading.Event()
        self.error: Optional[BaseException] = None
        self.flight = Authorization(
            self._run, (), SERVER, ListFetcher(), MemoryStore(), DEFAULT, lambda: NOW)
        self._ends = ends
        self.runs = 0

    def _run(self, flight: Authorization) -> None:
        self.runs += 1
        self.begun.set()
        try:
            assert self.go.wait(WAIT)
            self._ends(flight)
        except BaseException as error:
            self.error = error
            raise
        finally:
            self.over.set()


def test_all_who_join_wait_for_one_piece_of_work() -> None:
    work = Work()
    waiters = [Waiter(work.flight) for _ in range(5)]
    work.flight.start()
    for waiter in waiters:
        waiter.start()
    assert work.begun.wait(WAIT) and not work.flight.over
    work.go.set()
    assert [waiter.end() for waiter in waiters] == [None] * 5 and work.runs == 1
    assert work.flight.over and work.flight.join() is None


@pytest.mark.parametrize("error", [Unauthorized("x"), Abandoned("x")])
def test_all_get_the_error(error: BaseException) -> None:
    def fail(flight: Authorization) -> None:
        raise error

    work = Work(fail)
    waiters = [Waiter(work.flight).start() for _ in range(3)]
    work.flight.start()
    work.go.set()
    assert [waiter.end() for waiter in waiters] == [error] * 3


def test_of_an_error_of_the_program_only_its_kind_is_told() -> None:
    def fail(flight: Authorization) -> None:
        raise OSError("no route to https://auth.example/authorize?state=secret")

    work = Work(fail)
    waiter = Waiter(work.flight).start()
    work.flight.start()
    work.go.set()
    told = waiter.end()
    assert isinstance(told, AuthError) and "OSError" in str(told) and "secret" not in str(told)
    assert told.__cause__ is work.error


def test_one_who_leaves_takes_nothing_away_from_the_others() -> None:
    work = Work(lambda flight: flight.pause(0))
    first, second = Waiter(work.flight).start(), Waiter(work.flight).start()
    work.flight.start()
    first.cancel_scope.cancel()
    assert isinstance(first.end(), Abandoned) and not work.flight.over
    work.go.set()
    assert second.end() is None and work.error is None


def test_when_nobody_is_left_the_work_ends_at_its_next_pause() -> None:
    tickets: List[Any] = []

    def work_on(flight: Authorization) -> None:
        try:
            flight.pause(WAIT)
        finally:
            tickets.append(flight.join())

    work = Work(work_on)
    waiters = [Waiter(work.flight).start() for _ in range(3)]
    work.flight.start()
    for waiter in waiters:
        waiter.cancel_scope.cancel()
        assert isinstance(waiter.end(), Abandoned)
    work.go.set()
    assert work.over.wait(WAIT) and isinstance(work.error, Abandoned)
    assert tickets == [None], "nobody can join what has been given up"


class JoinsLate(threading.Event):
    """In place of the event that nobody is there: somebody comes just after it was looked at."""

    flight: Authorization

    def wait(self, timeout: Optional[float] = None) -> bool:
        self.ticket = self.flight.join()
        return True


def test_who_comes_at_the_very_last_moment_is_not_left_behind() -> None:
    def work_on(flight: Authorization) -> None:
        flight._alone = joins
        flight.pause(0)

    joins, work = JoinsLate(), Work(work_on)
    joins.flight = work.flight
    first = Waiter(work.flight).start()
    work.flight.start()
    work.go.set()
    assert first.end() is None and work.error is None and joins.ticket is not None
    work.flight.wait(joins.ticket, CancelScope())


class Counting(CancelScope):
    """Counts how often it waits."""

    waits = 0

    def wait(self, event: threading.Event) -> None:
        self.waits += 1
        assert self.waits < 10, "it waits without waiting"
        super().wait(event)


def test_waiting_sleeps() -> None:
    busy, seen = threading.Event(), threading.Event()

    def work_on(flight: Authorization) -> None:
        flight.waiting_for_user(True)
        assert busy.wait(WAIT)
        flight.waiting_for_user(False)

    work, cancel_scope = Work(work_on), Counting()
    cancel_scope.on_pause = lambda begins: seen.set()
    ticket = work.flight.join()
    assert ticket is not None
    work.flight.start()
    ends = threading.Timer(0.0, lambda: (work.go.set(), seen.wait(WAIT), busy.set()))
    ends.start()
    work.flight.wait(ticket, cancel_scope)
    ends.join(WAIT)
    assert 1 <= cancel_scope.waits <= 4


def test_who_comes_before_that_pause_keeps_it_going() -> None:
    work = Work(lambda flight: flight.pause(0))
    first = Waiter(work.flight).start()
    work.flight.start()
    assert work.begun.wait(WAIT)
    first.cancel_scope.cancel()
    first.end()
    second = Waiter(work.flight).start()
    work.go.set()
    assert second.end() is None and work.error is None


def test_a_request_that_was_given_up_before_does_not_wait() -> None:
    work = Work()
    waiter, other = Waiter(work.flight), Waiter(work.flight).start()
    waiter.cancel_scope.cancel()
    work.flight.start()
    assert isinstance(waiter.start().end(), Abandoned)
    work.go.set()
    assert other.end() is None


def test_while_a_person_is_waited_for_nobody_ages() -> None:
    asked, answered = threading.Event(), threading.Event()

    def ask(flight: Authorization) -> None:
        for _ in range(2):
            flight.waiting_for_user(True)
            asked.set()
            assert answered.wait(WAIT)
            flight.waiting_for_user(False)

    work = Work(ask)
    first, leaves = Waiter(work.flight).start(), Waiter(work.flight).start()
    work.flight.start()
    assert first.still == []
    work.go.set()
    assert asked.wait(WAIT) and first.stands.wait(WAIT) and leaves.stands.wait(WAIT)
    late = Waiter(work.flight).start()
    assert late.stands.wait(WAIT)
    leaves.cancel_scope.cancel()
    assert isinstance(leaves.end(), Abandoned) and leaves.still == [True, False]
    answered.set()
    for waiter in (first, late):
        assert waiter.end() is None
        assert waiter.still and waiter.still == [True, False] * (len(waiter.still) // 2)


@pytest.mark.race
def test_riders_that_come_and_go_at_the_end_all_come_free() -> None:
    begin = threading.Barrier(5)
    work = Work(lambda flight: None)
    stays = Waiter(work.flight).start()
    work.flight.start()
    outcomes: List[Any] = []

    def join_and_wait() -> None:
        begin.wait(WAIT)
        ticket = work.flight.join()
        if ticket is not None:
            work.flight.wait(ticket, CancelScope())
        outcomes.append(ticket)

    threads = [threading.Thread(target=join_and_wait) for _ in range(4)]
    for thread in threads:
        thread.start()
    begin.wait(WAIT)
    work.go.set()
    for thread in threads:
        thread.join(WAIT)
    assert stays.end() is None and len(outcomes) == 4
