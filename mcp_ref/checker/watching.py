"""A watcher: the checker's idea of a conversation, without its verdicts.

What a message belongs to (its session, its HTTP exchange, the request that it answers, the revision in force) is found
by the code that finds it for the rules. So what replays or compares a recording reads it as the judge does.
"""

from typing import Any, Callable

from . import course
from .bounds import Bounds
from .checker import Checker
from .observed import Message

WHOLE = 1_000_000
"""The entries of each table of a conversation that is needed as a whole."""


class Watcher(Checker):
    """Follows a conversation, and gives each message to ``take`` in order; one that is sent again only once."""

    def __init__(self, take: Callable[[Message], Any]) -> None:
        super().__init__(Bounds(WHOLE, WHOLE, WHOLE, WHOLE, WHOLE, WHOLE, WHOLE, WHOLE))
        self._taker = take
        self._judge = self._ignore  # type: ignore[assignment]

    @staticmethod
    def _ignore(*moment: Any) -> None:
        """Judge nothing."""

    def _said(self, message: Message) -> None:
        self._taker(message)
        course.follow(message)
