"""The back-off of everything that tries again."""
from mcp_ref.deadline import backoff


def test_the_wait_before_an_attempt_doubles_up_to_the_longest() -> None:
    assert [backoff(0.25, tries, 1.5) for tries in range(6)] == [0.0, 0.25, 0.5, 1.0, 1.5, 1.5]
    assert backoff(0.0, 5) == 0.0 and backoff(1.0, 3) == 4.0


def test_the_wait_is_a_number_however_often_it_was_in_vain() -> None:
    assert backoff(1.0, 10 ** 6) == backoff(1.0, 10 ** 6 + 1) < float("inf")
