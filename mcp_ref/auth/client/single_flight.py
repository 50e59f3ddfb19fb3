"""Single-flight: one piece of work that several threads want is done once, and all of them get its outcome.

Requests that are refused at the same time need one token, not one each, and one page in the browser. The first of them
starts an `Authorization`, the others join it. The work runs on a thread of its own, because it belongs to no request:
if one request is given up, the others still get their token. The work ends early, at its next `Authorization.pause`,
only when no request waits for it any more.

=====================  ============================================  ==========================================
thread                 blocks on                                     is released by
=====================  ============================================  ==========================================
of a request           the work, in `Authorization.wait`             the end of the work, or of the request's
                                                                     `CancelScope`
``mcp-ref:authorize``  authorization servers; `Authorization.pause`  ``auth_timeout``; the last request leaving
``mcp-ref:asking``     a callback, see `call_in_thread`              the callback's return; no thread has to
                                                                     wait for it
=====================  ============================================  ==========================================
"""

import threading
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Tuple

from ...deadline import Deadline
from ...errors import AuthError, McpError, Unauthorized
from ...http11.client.connect import CancelScope, Abandoned
from ...limits import Limits
from ...threads import start_thread
from .store import TokenStore
from .token_endpoint import ClientInfo, TokenEndpoint

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ...ext.auth.dpop import Prover
    from ..discover import Discovered
    from ..fetch import Fetcher
    from ..jose import Signer

NAME = "mcp-ref:authorize"
CALLBACK_NAME = "mcp-ref:asking"
_SLICE = 0.1
"""Seconds between two checks that a request still waits for the token."""


class Authorization:
    """One authorization: work that is shared by the threads that want it, and all that a grant needs for it.

    Thread-safe. ``work(authorization)`` is the work. ``purpose`` says what it is for, in words that only compare equal
    for the same goal: an error of the work concerns only the requests that wanted exactly that. ``server_url`` is the
    URL of the MCP server, as the user gave it; ``now`` the time in seconds since 1970; ``prover`` makes proofs for DPoP
    (None: tokens are not bound to a key); ``revision`` is the MCP revision that the refused request named (None: not
    known).
    """

    def __init__(
        self, work: "Callable[[Authorization], None]", purpose: Tuple[str, ...], server_url: str, fetcher: "Fetcher",
        store: TokenStore, limits: Limits, now: Callable[[], float], prover: "Optional[Prover]" = None,
        revision: Optional[str] = None,
    ) -> None:
        self.purpose = purpose
        self.server_url, self.fetcher, self.store, self.limits, self.now = server_url, fetcher, store, limits, now
        self.prover, self.revision = prover, revision
        self._work = work
        # Guards all that follows. `_over`, `_user_busy` and `_error` are written under the lock and then announced to
        # every ticket; a waiting thread reads them without the lock, after it has cleared its ticket.
        self._lock = threading.Lock()
        self._tickets: List[threading.Event] = []
        self._alone = threading.Event()
        self._alone.set()
        self._over = False
        self._user_busy = False
        self._error: Optional[BaseException] = None

    def join(self) -> Optional[threading.Event]:
        """Take part. Returns a ticket to `wait` with, or None if the work is over or was given up."""
        with self._lock:
            if self._over:
                return None
            ticket = threading.Event()
            self._tickets.append(ticket)
            self._alone.clear()
            return ticket

    @property
    def over(self) -> bool:
        """True if the work has ended or was given up."""
        return self._over

    def start(self) -> None:
        """Start the work on its thread, after the first thread has joined."""
        start_thread(NAME, self._run)

    def wait(self, ticket: threading.Event, cancel_scope: CancelScope) -> None:
        """Wait for the end of the work. Raises what the work raised, and `Abandoned` if ``cancel_scope`` ends
        before."""
        try:
            while not self._over:
                busy = self._user_busy
                # While the work waits for the user, the clock of the request stands still.
                with cancel_scope.pause_clock() if busy else nullcontext():
                    while True:
                        ticket.clear()  # before the flags are read, so that a change in between sets the ticket again
                        if self._over or self._user_busy is not busy:
                            break
                        cancel_scope.wait(ticket)
        finally:
            with self._lock:
                self._tickets.remove(ticket)
                if not self._tickets:
                    self._alone.set()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        error: Optional[BaseException] = None
        try:
            self._work(self)
        except McpError as raised:
            error = raised
        except BaseException as raised:  # by a callback of the user: its text may show the URL, and so the state
            error = AuthError("authorization failed by an error of the program: %s" % type(raised).__name__)
            error.__cause__ = raised
        self._change(True, False, error)

    def _change(self, over: bool, user_busy: bool, error: Optional[BaseException] = None) -> None:
        with self._lock:
            # `_over` comes last: a thread that reads it as True without the lock must find the error in place.
            self._error, self._user_busy, self._over = error, user_busy, over
            for ticket in self._tickets:
                ticket.set()

    # For the work

    def pause(self, seconds: float) -> None:
        """Sleep. Raises `Abandoned` as soon as no request waits for the work; from then on no thread can join it."""
        if self._alone.wait(seconds):
            with self._lock:
                if self._tickets:
                    return  # a thread has joined after the event was seen: the work goes on for it
                self._over = True
            raise Abandoned("no request waits for the authorization any more")

    def waiting_for_user(self, busy: bool) -> None:
        """Say that the work waits for a person from now on (True), whose time does not count, or no longer (False)."""
        self._change(False, busy)

    def ask_user(self, callback: Callable[..., Any], *arguments: Any) -> Any:
        """Call a callback of the user that asks a person, whose time does not count. Returns its result.

        Raises what the callback raises, `Unauthorized` if it has not returned after ``authorization_patience``, and
        `Abandoned`.
        """
        from concurrent.futures import wait

        patience = self.limits.authorization_patience
        self.waiting_for_user(True)
        try:
            future, deadline = call_in_thread(callback, *arguments), Deadline(patience)
            while not wait((future,), min(_SLICE, deadline.left() or 0.0)).done:
                if deadline.expired():
                    raise Unauthorized("there was no answer within authorization_patience (%g seconds)" % patience)
                self.pause(0)
            return future.result()
        finally:
            self.waiting_for_user(False)

    def endpoint(
        self, discovered: "Discovered", client: ClientInfo, signer: "Optional[Signer]" = None,
    ) -> TokenEndpoint:
        """Return the token endpoint of the discovered authorization server, for this client."""
        return TokenEndpoint(self.fetcher, discovered.server, client, signer, self.prover, self.now)


def call_in_thread(callback: Callable[..., Any], *arguments: Any) -> "Future[Any]":
    """Call a function that asks a person, on a thread of its own. Returns the future of its result.

    The function may show a page and return, or take as long as the person does, or never return. A thread that waits
    for the future can stop at any time: the thread is then left to the function, and its result is dropped.
    """
    from concurrent.futures import Future

    future: "Future[Any]" = Future()

    def call() -> None:
        try:
            result = callback(*arguments)
        except BaseException as error:  # raised where the future is waited for
            future.set_exception(error)
        else:
            future.set_result(result)

    start_thread(CALLBACK_NAME, call)
    return future
