"""The sending half of a connection: our requests and notifications.

`Sender` checks that a message may be sent now, enters requests in the table, writes, waits, gives up.
`mcp_ref.peer.dispatcher.Connection` adds the receiving half.
"""

from __future__ import annotations  # unread, they cost nothing as the module is loaded

import threading
from functools import partial
from queue import Empty
from typing import TYPE_CHECKING, Any, Callable, Dict, Hashable, Optional, Sequence, Tuple, cast

from .. import deadline
from ..deadline import Deadline, Rates
from ..diagnostics.packagelog import Counters
from ..errors import ConnectionLost, LocalProtocolError, McpError, NoThreads, RequestCancelled, TooManyQuestions
from ..jsonrpc import ErrorResponse, Message, Notification, Request, RequestId, encode
from ..jsontext import JsonError, dumps
from ..limits import Limits
from ..methods import CANCELLED, INITIALIZE, NOTIFICATION, PROGRESS, REQUEST
from ..options import REQUEST_TIMEOUT
from ..protocol.envelope import VERSION
from ..threads import Tally, Wait, available, count_waiting, start_thread
from ..transports.base import EXCHANGES, REPLIES, Transport, last_words
from .executors import CallerRuns, Executor, Inline, Workers
from .inflight import Incoming
from .outbox import Outbox
from .request_table import Pending, Progress, ProgressCallback, RequestTable, Settle
from .session import Session

if TYPE_CHECKING:
    from ..transports.base import ExchangeTransport, Outgoing, ReplyTransport
    from .routing import ExchangeOutbox

_SLICE = 0.5
"""The seconds that a caller waits in one go. A Ctrl-C that comes between looking for signals and beginning to wait is
seen only when the wait ends; so is any on Windows. Other threads than the main one get no signals: each of their waits
is twice as long as the one before, up to _LONGEST_SLICE, because thousands of them may wait."""
_LONGEST_SLICE = 8.0
LONG = 4096
"""The bytes from which on it costs less to go through a message than to search it for a `_meta`, which few have; see
`mcp_ref.protocol.metakeys`."""


class Sender:
    """The part of a connection that both halves share, and everything that sends. Thread-safe."""

    # What few connections ever set stands here: of more than 30 attributes the names are stored with each object.
    stateless_only = False
    """True if only stateless requests are taken, see `mcp_ref.peer.role`."""
    _envelope: Optional[Dict[str, Any]] = None
    _sealed = b""  # the same, encoded, and the end of a request after it
    replies: "Optional[ReplyTransport]" = None
    """The transport, if messages each go their own way (a server over HTTP); see `mcp_ref.transports.base`."""
    exchanges: "Optional[ExchangeTransport]" = None
    """The transport, if each message is a request of its own (a client over HTTP)."""
    _timer: Optional["_Timer"] = None
    _timers_over = False
    questions: Sequence[Tuple[Tally, Hashable]] = ()
    """The counts of requests that handlers have open, and their keys, if peers may have only so many."""

    def __init__(
        self, transport: Transport, party: str, limits: Limits, executor: Optional[Executor], lenient: bool
    ) -> None:
        self.transport = transport
        self.limits = limits
        self.counters = Counters(transport.finding)
        self.session = Session(party, lenient)
        self.forgive = self.counters.forgive if lenient else None
        """The function that `decode` tells what it forgives; None refuses careless messages."""
        self._own_executor = executor is None
        """True if `close` has to close the executor. One that was given may serve other connections as well."""
        self.table = RequestTable(limits, self.counters)
        self.outbox, usual = self._by_contract(transport, limits)
        self.executor = executor or (usual(transport.name, limits) if available() else Inline())
        self._lock = threading.Lock()
        self.rates = Rates(limits)
        self.rate = self.rates.get

    def _by_contract(self, transport: Transport, limits: Limits) -> Tuple[Outbox, Callable[[str, Limits], Executor]]:
        """Return the outbox that fits the contract of the transport, and what makes the usual executor."""
        if transport.contract == REPLIES:
            from .routing import ReplyOutbox

            self.replies = cast("ReplyTransport", transport)
            return ReplyOutbox(self.replies), CallerRuns
        if transport.contract == EXCHANGES:
            from .routing import ExchangeOutbox

            self.exchanges = cast("ExchangeTransport", transport)
            self.exchanges.on_pause = self.pause_clock
            return ExchangeOutbox(self.exchanges, transport.name, limits.max_outbox_bytes), Workers
        return Outbox(transport, transport.name, limits.max_outbox_bytes), Workers

    def _with_id(self, error: ErrorResponse) -> ErrorResponse:
        """Set how an error without readable id is written, by the revision; see `jsonrpc.ErrorResponse`."""
        agreed = self.session.revision
        may_omit = self.stateless_only or agreed is not None and agreed.errors_may_omit_id
        error.null_id = error.id is None and not may_omit
        return error

    def check_meta(self, data: bytes, message: Any, session: Optional[Session] = None) -> None:
        """Raise `LocalProtocolError` if params or a result (encoded: ``data``) hold a `_meta` that may not be sent."""
        if isinstance(message, dict) and (len(data) > LONG or b'"_meta"' in data):
            from ..protocol import metakeys

            rules, extensions = (session or self.session).rules, (session or self.session).extensions
            metakeys.check(message, rules, () if extensions is None else extensions.meta_keys(rules))

    def _send(self, message: Message, about: Optional[RequestId] = None) -> None:
        """Send an error, or a notification that the dispatcher itself has to send."""
        data = encode(self._with_id(message) if isinstance(message, ErrorResponse) else message, self.limits)
        self.outbox.send(
            self.outbox.outgoing(data, message.method) if isinstance(message, Notification) else data, about)

    def notify(
        self, method: str, params: Optional[Dict[str, Any]] = None, within: Optional[Incoming] = None,
        session: Optional[Session] = None, wait: bool = True, data: Optional[bytes] = None,
    ) -> None:
        """Send a notification. Raises `LocalProtocolError` if it may not be sent now; after the end it is dropped.

        ``within``: the peer's request that it belongs to, whose handler calls this. After the answer to that request
        the notification is dropped; before, this waits while more than ``max_outbox_bytes`` are queued.
        ``wait=False``: it does not wait. ``session``: the rules, if that request has some of its own. ``data``: the
        bytes, where others are sent the same.
        """
        session = session or self.session
        session.check_sending(method, NOTIFICATION)
        if data is None:
            data = encode(Notification(method, params), self.limits)
        self.check_meta(data, params, session)
        message = self.outbox.outgoing(data, method)
        if within is None:
            self.outbox.send(message)
            return
        if wait and self.executor.blocking:
            self.outbox.wait_for_room()
        if within.while_wanted(lambda: self.outbox.put(message, wait=False, about=within.id)):
            self.outbox.flush_soon()

    def request(
        self,
        method: str,
        params: Optional[Dict[str, Any]] = None,
        timeout: Optional[float] = REQUEST_TIMEOUT,
        on_progress: Optional[ProgressCallback] = None,
        extend_on_progress: bool = False,
        within: Optional[Incoming] = None,
    ) -> Dict[str, Any]:
        """Send a request and wait for its result object.

        ``timeout``: idle seconds until it is given up and cancelled (default: ``request_timeout``; None: only the
        ceiling); ``extend_on_progress``: progress starts that time again. ``within``: the peer's request that we are
        answering; its cancellation ends this wait, too. Raises `PeerError`, `RequestTimeout`, `RequestCancelled`,
        `ConnectionLost`, and before sending `LocalProtocolError` or `Busy`: in a handler also if too many handlers
        wait already (``max_waiting``, ``max_questions``).
        """
        if not self.executor.may_wait():
            instead = ("use another executor than inline" if available() else
                       "no other can be started here, so only clients of 2026-07-28 can be asked something")
            text = "%s would wait for the peer on the thread that reads from it; %s"
            raise LocalProtocolError(text % (method, instead))
        if within is not None:
            return self._request_within(method, params, timeout, on_progress, extend_on_progress, within)
        pending, message = self._enter(method, params, timeout, on_progress, extend_on_progress)
        if self.exchanges is not None:
            return self.wait(pending, message)
        self.outbox.send(message)
        return self.wait(pending)

    def _request_within(
        self, method: str, params: Optional[Dict[str, Any]], timeout: Optional[float],
        on_progress: Optional[ProgressCallback], extend_on_progress: bool, within: Incoming,
    ) -> Dict[str, Any]:
        """Send a request of a handler; see `request`."""
        self._check_room_to_ask(method)
        try:
            pending = self.open_request(method, params, timeout, on_progress, extend_on_progress, about=within.id)

            def cancelled() -> None:
                self.cancel(pending, "the request it belongs to was cancelled")

            within.watch(cancelled, first=True)
            try:
                return self.wait(pending)
            finally:
                within.unwatch(cancelled)
        finally:
            for tally, key in self.questions:
                tally.leave(key)

    def _check_room_to_ask(self, method: str) -> None:
        """Count a request of a handler, if those are counted. Raises `TooManyQuestions`; then nothing is counted."""
        text = ""
        if count_waiting() >= self.limits.max_waiting:
            text = "max_waiting (%d) handlers wait for their peers already" % self.limits.max_waiting
        else:
            for number, (tally, key) in enumerate(self.questions):
                if not tally.enter(key):
                    for entered, its in self.questions[:number]:
                        entered.leave(its)
                    text = "%s (%d) are open already for this client" % (tally.name, tally.most)
                    break
        if not text:
            return
        text = "%s was not sent: %s; try again later" % (method, text)
        self.counters.note("questions above the limit", text)
        raise TooManyQuestions(text)

    def open_request(
        self,
        method: str,
        params: Optional[Dict[str, Any]] = None,
        timeout: Optional[float] = REQUEST_TIMEOUT,
        on_progress: Optional[ProgressCallback] = None,
        extend_on_progress: bool = False,
        settle: Optional[Settle] = None,
        about: Optional[RequestId] = None,
    ) -> Pending:
        """Enter a request in the table and send it, without waiting; ``settle`` takes what arrives for it.

        ``about``: the id of the peer's request that it belongs to.
        """
        pending, message = self._enter(method, params, timeout, on_progress, extend_on_progress, settle)
        pending.about = about
        self.outbox.send(message, about)
        return pending

    def _enter(
        self, method: str, params: Optional[Dict[str, Any]], timeout: Optional[float],
        on_progress: Optional[ProgressCallback], extend_on_progress: bool, settle: Optional[Settle] = None,
    ) -> Tuple[Pending, Any]:
        """Enter a request in the table; its time begins. Returns it, and the message that is to be sent at once."""
        self.session.check_sending(method, REQUEST)
        if timeout is REQUEST_TIMEOUT:
            timeout = self.limits.request_timeout
        pending = self.table.add(method, Deadline(timeout, self.limits.request_ceiling),
                                 timeout if extend_on_progress else None, on_progress, settle)
        pending.seconds = timeout
        if params is not None:
            pending.target = params.get("name", params.get("uri"))
            pending.as_task = "task" in params and self.session.rules.tasks
        if on_progress is not None:
            params = dict(params or {})
            params["_meta"] = dict(params.get("_meta") or {}, progressToken=pending.id)
        try:
            return pending, self._enclosed(pending, params)
        except (JsonError, LocalProtocolError) as error:
            self.table.remove(pending)
            raise LocalProtocolError("%s: %s" % (method, error)) from None

    @property
    def envelope(self) -> Optional[Dict[str, Any]]:
        """The members of the `_meta` of each request, where there is no handshake: see `mcp_ref.protocol.envelope`.

        None in a session of the handshake era. A new value holds for the requests that follow; do not change the dict.
        """
        return self._envelope

    @envelope.setter
    def envelope(self, envelope: Optional[Dict[str, Any]]) -> None:
        self._envelope = envelope
        self._sealed = b"" if envelope is None else b'"_meta":%b}}' % dumps(envelope).encode("ascii")

    def _enclosed(self, pending: Pending, params: Optional[Dict[str, Any]]) -> Any:
        """Return the message of a request, for the outbox; in its envelope, if there is one.

        Most requests have no `_meta` of their own: they get the bytes that are made already. Raises `JsonError`, and
        `LocalProtocolError` for what may not be sent.
        """
        sealed, method = self._sealed, pending.method
        if sealed and params and "_meta" in params:
            params = self._with_envelope(params)
            sealed = b""
        data = encode(Request(pending.id, method, params if params or not sealed else {}), self.limits)
        if len(data) > LONG or b'"_meta"' in data:
            self.check_meta(data, params)
        if sealed:  # the bytes end with the params
            data = b"%b%b%b" % (data[:-2], b"," if params else b"", sealed)
        if self.exchanges is None:
            return data
        message = pending.message = self.outbox.outgoing(data, method, pending.id, params)
        if self._sealed and self.exchanges.mirrors:
            message.params = {"_meta": self._envelope, **(params or {})}
            self.exchanges.prepare(message)
        return message

    def _with_envelope(self, params: Dict[str, Any]) -> Dict[str, Any]:
        """Return the params with the envelope in their `_meta`.

        Members that the caller has given hold for this request, but the version is not theirs to set.
        """
        envelope, given = self._envelope or {}, params.get("_meta") or {}
        if given.get(VERSION, envelope[VERSION]) != envelope[VERSION]:
            raise LocalProtocolError("_meta[%s] is the connection's to set, to %s" % (VERSION, envelope[VERSION]))
        return dict(params, _meta=dict(envelope, **given))

    def wait(self, pending: Pending, unsent: "Optional[Outgoing]" = None) -> Dict[str, Any]:
        """Wait for the outcome of an open request in this thread; see `request`.

        ``unsent``: its message, which is still to be sent, by this thread.
        """
        try:
            work = self.executor.wait_hook()
            with Wait(self.limits.max_waiting):
                if unsent is not None:
                    # Over HTTP this thread sends its request and waits for the reply, if the transport takes that; else
                    # the request goes as all others do. Nothing that this thread has sent before may be overtaken, such
                    # as `notifications/initialized`: so that has to have left the outbox. Progress comes by the reader,
                    # and would wait for this thread, which has nothing else to do meanwhile.
                    outbox, transport = cast("ExchangeOutbox", self.outbox), cast("ExchangeTransport", self.exchanges)
                    if not (work is None and pending.on_progress is None and outbox.idle and transport.send_and_wait(
                            unsent, pending.deadline, partial(self.take_answer, pending.id))):
                        outbox.send(unsent)
                while True:
                    item = self._next(pending, work)
                    if item is None:
                        if self.cancel(pending, "timeout"):
                            raise self.table.timed_out(pending, last_words(self.transport, False))
                        pending.deadline = Deadline(None)  # the outcome came in the last moment: it is in the queue
                    elif isinstance(item, Progress):
                        pending.report(item)
                    else:
                        return pending.answer(item)
        except BaseException:
            self.cancel(pending, "the caller gave up")  # does nothing if the outcome is there
            raise

    def take_answer(self, id: RequestId, data: bytes) -> bool:
        """Take the answer to our request of this id, which did not come by `Transport.read`. Returns False if it is
        none."""
        raise NotImplementedError

    def _next(self, pending: Pending, work: Optional[Callable[[float], None]]) -> Any:
        """Return what arrives next for this request, or None when its time is over."""
        longest = _SLICE
        while True:
            left = pending.deadline.left()
            if left is not None and left <= 0:
                return None
            try:
                if work is None:
                    return pending.next(longest if left is None else min(left, longest))
                work(0.01 if left is None else min(left, 0.01))
                return pending.next(0.001)
            except Empty:
                if not available():
                    raise NoThreads("%s (request %d): the answer cannot come while this thread waits for it, and no"
                                    " other can be started here" % (pending.method, pending.id)) from None
                if longest < _LONGEST_SLICE and threading.current_thread() is not threading.main_thread():
                    longest *= 2

    def cancel(self, pending: Pending, reason: str) -> bool:
        """Give up a request: its waiter gets `RequestCancelled`, and the peer a notification.

        Returns False if it is over already. Of `initialize` the peer is not notified
        [..2025-11-25 basic/utilities/cancellation §Behavior Requirements] MUST NOT.
        """
        error = RequestCancelled("%s (request %d) was cancelled: %s" % (pending.method, pending.id, reason))
        return self._withdraw(pending, error, reason)

    def give_up(self, pending: Pending) -> None:
        """End a request whose deadline has passed and which no thread waits for."""
        self._withdraw(pending, self.table.timed_out(pending, last_words(self.transport, False)), "timeout")

    def _withdraw(self, pending: Pending, error: McpError, reason: str) -> bool:
        # Whoever takes the request out of the table gives it its outcome: an answer that is read from here on is late,
        # and of two threads that give up one only tells the peer.
        if not self.table.remove(pending):
            return False
        from ..diagnostics.packagelog import get_logger

        try:
            # [..2025-11-25 basic/utilities/cancellation §Implementation Notes] SHOULD: both parties log the reason.
            get_logger(__name__).info("%s (request %d) given up: %s", pending.method, pending.id, reason)
            # [2026-07-28 basic/patterns/cancellation §Transport-Specific Cancellation]: or the transport shows it
            # [2025-11-25 basic/utilities/cancellation §Behavior Requirements] MUST: a task is cancelled by
            # `tasks/cancel`
            if pending.method != INITIALIZE and not pending.as_task and not (
                    self._sealed and self.exchanges is not None and self.exchanges.mirrors):
                cancelled = Notification(CANCELLED, {"requestId": pending.id, "reason": reason})
                self._send(cancelled, pending.about)
            self.abandon(pending)
        finally:
            # Only now: a handler that is woken may return, and its answer ends the stream that the notification takes.
            pending.deliver(error)
        return True

    def abandon(self, pending: Pending) -> None:
        """Have the transport know that nobody waits for the answer to this request any more."""
        if self.exchanges is not None:
            # Flag first, call second: a thread that is just about to send either sees the flag, under the lock of the
            # transport, or has entered the request there already, and `given_up` finds it.
            if pending.message is not None:
                pending.message.given_up = True
            self.exchanges.given_up(pending.id)
        elif self.replies is not None:
            self.replies.given_up(pending.id)

    def _unsent(self, id: RequestId) -> bool:
        """Return True if our request of this id has certainly not reached the peer, now that the connection has ended.
        """
        return self.exchanges is not None and self.exchanges.unsent(id)

    def give_up_all(self, reason: str) -> None:
        """End all our requests that have no answer yet, for the peer has gone away, though the connection goes on."""
        for pending in self.table.waiting():
            lost = ConnectionLost("%s (request %d) was given up: %s" % (pending.method, pending.id, reason))
            lost.left = self
            if self._withdraw(pending, lost, reason):
                self.counters.note("questions given up", str(lost))

    def time_out_later(self, pending: Pending) -> None:
        """Let the timer thread give this request up at its deadline; for requests that no thread waits for."""
        timer = self._timer
        if timer is None:
            with self._lock:
                if self._timers_over or not available():
                    return  # nothing waits any more; or what has not come by now does not come later
                timer = self._timer = self._timer or _Timer(self)
        timer.watch(pending.deadline)
        # The end of the connection looks for a timer once: one that was made just after that is closed here.
        if self.table.ended:
            timer.close()

    def pause_clock(self, id: RequestId, begins: bool) -> None:
        """Pause the clock of a request, or resume it; see `mcp_ref.transports.base.ExchangeTransport.on_pause`."""
        pending = self.table.pause_clock(id, begins)
        if pending is not None and not begins and pending.settle is not None:
            self.time_out_later(pending)

    def _stop_timer(self) -> None:
        """End the timer, for the connection has ended; no other one is begun."""
        with self._lock:
            timer, self._timers_over = self._timer, True
        if timer is not None:
            timer.close()

    # Progress

    def progress_due(self, due: float, final: bool) -> Optional[float]:
        """Return the value of ``due`` for the next progress notification; None if this one would be too many.

        ``due``: the time of the next one at an even rate; a burst may run ahead of that.
        """
        now, interval = deadline.clock(), 1.0 / self.limits.max_progress_per_second
        if not final and due - now > interval * self.limits.max_progress_burst:
            return None
        return max(now, due) + interval

    def put_progress(
        self, token: RequestId, progress: float, total: Optional[float], message: Optional[str], about: RequestId,
        session: Session,
    ) -> None:
        """Put one progress notification on the request ``about`` into the outbox, which the caller flushes."""
        params: Dict[str, Any] = {"progressToken": token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None and session.rules.progress_message:
            params["message"] = message
        session.check_sending(PROGRESS, NOTIFICATION)
        data = encode(Notification(PROGRESS, params))
        self.outbox.put(self.outbox.outgoing(data, PROGRESS), wait=False, about=about)


class _Timer:
    """A thread that gives up requests which no thread waits for, at their deadline; it sleeps until the next one."""

    def __init__(self, connection: Sender) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._next: Optional[float] = None
        self._closed = False
        start_thread("mcp-ref:timer:%s" % connection.transport.name, self._run)

    def watch(self, deadline: Deadline) -> None:
        at, upcoming = deadline.at, self._next
        if at is None or (upcoming is not None and upcoming <= at):
            return  # awake before then, and that deadline is in the table already
        with self._lock:
            if self._next is None or at < self._next:
                self._next = at
                self._changed.notify()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._lock:
                if self._closed:
                    return
                left = None if self._next is None else max(0.0, self._next - deadline.clock())
                if left is None or left > 0:
                    self._changed.wait(left)
                    continue
                self._next = None
            connection = self._connection
            for pending in connection.table.expired():
                if pending.settle is not None:
                    connection.give_up(pending)
            upcoming = connection.table.next_deadline()
            if upcoming is not None:
                self.watch(upcoming)
