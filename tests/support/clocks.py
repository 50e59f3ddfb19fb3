"""A clock that goes on only when a test says so."""
import pytest

from mcp_ref import deadline
from mcp_ref.ext.stores import sqlite


class Clock:
    """The package's clock, by hand; where a test passes it on as ``now``, the wall clock as well."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def by_hand(monkeypatch: pytest.MonkeyPatch, now: float = 1000.0) -> Clock:
    """A clock in place of the package's, for as long as the test runs."""
    made = Clock(now)
    monkeypatch.setattr(deadline, "clock", made)
    return made


def of_stores(monkeypatch: pytest.MonkeyPatch, now: float = 1000.0) -> Clock:
    """A clock in place of that by which stores in a file tell how old their rows are."""
    made = Clock(now)
    monkeypatch.setattr(sqlite, "_clock", made)
    return made
