"""A callback of our user that asks a person: on a thread of its own, so that nobody has to wait until it returns.

It may show a page and return, or take as long as the person does, or never come back. What waits for it can be given
up at any time; the thread is then left to the callback, and what that returns is lost.
"""

import threading
from typing import Any, Callable, List, Optional

from ...threads import start_thread

NAME = "mcp-ref:asking"


class Errand:
    """A callback that has been called with these arguments. Used by one thread."""

    def __init__(self, callback: Callable[..., Any], *arguments: Any) -> None:
        self._over = threading.Event()
        self._came: List[Any] = []
        self._error: Optional[BaseException] = None
        start_thread(NAME, self._run, callback, arguments)

    def _run(self, callback: Callable[..., Any], arguments: Any) -> None:
        try:
            self._came.append(callback(*arguments))
        except BaseException as error:  # for whoever waits
            self._error = error
        self._over.set()

    def wait(self, seconds: float) -> bool:
        """Whether it has returned, within so long. Raises what it has raised."""
        over = self._over.wait(seconds)
        if self._error is not None:
            raise self._error
        return over

    @property
    def result(self) -> Any:
        """What it has returned, once `wait` has said so."""
        return self._came[0]
