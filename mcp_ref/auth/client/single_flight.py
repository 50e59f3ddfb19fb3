"""One piece of work that several threads want, done once.

Requests that are refused at the same time need one token, not one each, and one page in the browser. The first of them
starts a `Flight`, the others join it. The work has a thread of its own: it belongs to no request, so that one that is
given up does not take away what the others wait for. Only when nobody is left does it end, at its next `pause`.

=====================  =====================================  ==========================================
thread                 waits for                              comes free by
=====================  =====================================  ==========================================
of a request           the work, in `ride`                    its end; the end of the request's `Grip`
``mcp-ref:authorize``  authorization servers; `pause`        ``auth_timeout``; nobody being left
``mcp-ref:asking``     a callback, in an `errand.Errand`      the callback; nobody has to wait for it
=====================  =====================================  ==========================================
"""

import threading
from typing import Callable, List, Optional, Tuple

from ...errors import AuthError, McpError
from ...http11.client.connect import Grip, LetGo
from ...threads import start_thread

NAME = "mcp-ref:authorize"


class Flight:
    """Work that has been started. Thread-safe. ``about`` tells what for: its errors concern who wanted just that."""

    def __init__(self, work: "Callable[[Flight], None]", about: Tuple[str, ...] = ()) -> None:
        self.about = about
        self._work = work
        self._lock = threading.Lock()
        self._joined: List[threading.Event] = []
        self._alone = threading.Event()
        self._alone.set()
        self._over = False
        self._person = False
        self._error: Optional[BaseException] = None

    def board(self) -> Optional[threading.Event]:
        """Join it: something to `ride` with; None if it is over."""
        with self._lock:
            if self._over:
                return None
            seat = threading.Event()
            self._joined.append(seat)
            self._alone.clear()
            return seat

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self._over

    def start(self) -> None:
        """Begin, once somebody has boarded."""
        start_thread(NAME, self._run)

    def ride(self, seat: threading.Event, grip: Grip) -> None:
        """Wait for the end. Raises what the work has raised, and `LetGo`."""
        try:
            self._follow(grip, seat)
        finally:
            with self._lock:
                self._joined.remove(seat)
                if not self._joined:
                    self._alone.set()
        if self._error is not None:
            raise self._error

    def _follow(self, grip: Grip, seat: threading.Event) -> None:
        while not self._over:
            if self._person:
                with grip.standstill():
                    self._while_person(True, grip, seat)
            else:
                self._while_person(False, grip, seat)

    def _while_person(self, person: bool, grip: Grip, seat: threading.Event) -> None:
        while True:
            seat.clear()  # before looking, so that no change goes unseen
            if self._over or self._person is not person:
                return
            grip.wait(seat)

    def _run(self) -> None:
        error: Optional[BaseException] = None
        try:
            self._work(self)
        except McpError as raised:  # whoever waits has to know
            error = raised
        except BaseException as raised:  # by something of our user: its text may have the URL in it, and so the state
            error = AuthError("authorization failed by an error of the program: %s" % type(raised).__name__)
            error.__cause__ = raised
        self._change(True, False, error)

    def _change(self, over: bool, person: bool, error: Optional[BaseException] = None) -> None:
        with self._lock:
            self._error, self._person, self._over = error, person, over  # the last one is read without the lock
            for seat in self._joined:
                seat.set()

    # For the work

    def pause(self, seconds: float) -> None:
        """Wait for so long. Raises `LetGo` as soon as nobody wants the work any more; nobody can join it then."""
        if self._alone.wait(seconds):
            with self._lock:
                if self._joined:
                    return  # somebody came just now
                self._over = True
            raise LetGo("nobody waits for the authorization any more")

    def person(self, busy: bool) -> None:
        """A person is waited for from now on, whose time does not count; or not any more."""
        self._change(False, busy)
