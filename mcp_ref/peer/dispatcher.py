"""The dispatcher: one conversation with one peer.

A `Connection` joins the parts: the transport moves frames, the request table waits for answers, the
inflight table knows what we are working on, the executor runs handlers, the outbox collects what is
to be written. What the messages *mean* is the role's business (`Role`: a server or a client).

Threads, what each can block on, and what frees it:

=====================  =====================================  =========================================
thread                 blocks on                              freed by
=====================  =====================================  =========================================
``mcp-ref:reader:*``   `Transport.read`, nothing else         a message, the end of the stream, close
``mcp-ref:worker:*``   a handler; a write; its alarm          the handler; close; work or close
``mcp-ref:watcher:*``  its alarm, a millisecond at a time     work or close
``mcp-ref:writer:*``   a write; its alarm                     close; messages or close
``mcp-ref:timer:*``    the next deadline of a future          time or close
the caller's           the queue of its own request           answer, deadline, cancellation, close
=====================  =====================================  =========================================

The reader runs no user code and never writes where it could wait. It decodes, updates the tables,
answers ping and the handshake, applies cancellations, and hands the rest over in one piece for each
burst. So ping, responses, progress and cancellations never wait behind a handler, and a handler may
itself wait for the peer.

Over HTTP nobody reads at a server (`mcp_ref.transports.base`): threads of the HTTP server bring what arrives to
`receive`, one at a time, and run the handlers themselves (see `mcp_ref.peer.executors.CallerRuns`). A reader comes
only at the end, to `finish`.

Requests that arrive are refused in this order: malformed, id in use (dropped) or used before (where we are
strict), wrong phase, unknown method, names in `_meta` that break the rules (where we are strict), too many in flight
(but for those that are answered at once, such as ping).
"""

from __future__ import annotations  # unread, they cost nothing as the module is loaded

import os
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from ..deadline import Deadline
from ..errors import (
    INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, LocalProtocolError,
    PeerProtocolError, Rejected, RpcError,
)
from ..jsonrpc import (
    Batch, ErrorResponse, Frame, Malformed, Notification, Request, RequestId, ResultResponse, encode, parse, shown,
)
from ..limits import DEFAULT, Limits
from ..methods import BOTH, CANCELLED, INITIALIZE, INITIALIZED, NOTIFICATION, PROGRESS, REQUEST
from ..protocol import lifecycle
from ..protocol.envelope import SERVER_INFO, USUAL, carries
from ..revisions import Revision, revision
from ..threads import need, start_or_call
from ..transports.base import Failed, Received, Transport, why_ended
from ..transports.lines.fds import tell_of_fork
from .context import Context, Route, log_raised
from .executors import Executor, Job
from .inflight import Incoming, Inflight, RecentIds
from .jobs import NO_ROUTE, BatchAnswer, Call, SerialQueue, internal_error, reraise_interrupt
from .request_table import Progress
from .role import Role, admit, keep_alive
from .sender import LONG, Sender
from .session import Session

if TYPE_CHECKING:
    from ..transports.held import MemoryAccount

_LARGE = 64 * 1024
"""Bytes from which on a request counts as large; up to ``max_inflight`` smaller ones may run."""
_STAMP = {SERVER_INFO}


class Connection(Sender):
    """A conversation with one peer. Thread-safe; every method may be called from any thread.

    ``role`` says what messages mean. ``executor`` runs the handlers (default: `Workers` of its own).
    """

    batching = False  # for what stands here see `Sender`
    _lane: Optional[SerialQueue[Notification]] = None
    _reason: Optional[str] = None
    _reader: Optional[int] = None
    _arrived = 0
    """The size of the message that is being taken; set by the reader, or with ``_receiving`` held."""
    _own_held: "Optional[MemoryAccount]" = None
    large: "Optional[Dict[Incoming, Tuple[MemoryAccount, int]]]" = None
    """The large requests without an answer, each with its account and its size there."""

    def __init__(
        self,
        transport: Transport,
        role: Role,
        limits: Limits = DEFAULT,
        executor: Optional[Executor] = None,
        lenient: bool = True,
    ) -> None:
        super().__init__(transport, role.party, limits, executor, lenient)
        self.role = role
        self.session.extensions = role.extensions
        self.inflight = Inflight()
        self.context_class: Callable[["Connection", Incoming, Request, Optional[Session]], Context] = Context
        self.outbox.on_failure = lambda error: self.transport.close()
        stateless = role.party == lifecycle.SERVER and any(revision.stateless for revision in role.revisions)
        self.stateless = stateless
        """True for a server that takes stateless requests, see `mcp_ref.peer.role`."""
        self.stateless_only = stateless and not any(revision.handshake for revision in role.revisions)
        self.stateless_routes: Dict[Tuple[str, Revision], Route] = {}
        self.state: Dict[str, Any] = {}
        """The values that a role remembers about this connection, such as the log level."""
        self._receiving = threading.Lock()
        self._ids = RecentIds()
        self._routes: Dict[str, Route] = {}
        self._ended = threading.Event()
        self._owner = os.getpid()
        self._arrival: Optional[Callable[[bytes], None]] = getattr(self.transport, "arrived", None)
        if role.party == lifecycle.CLIENT:
            tell_of_fork(self.table)

    # Life

    def start(self) -> "Connection":
        """Open the transport and read on a thread of its own, while there is something to read.

        Raises `ConnectFailed`, and `NoThreads` where the transport needs threads and there are none.
        """
        if not self.transport.threadless:
            need("the transport %s" % self.transport.name)
        self.transport.open()
        if self.replies is not None:
            self.replies.park(self._end_routed)
        elif not self._park():
            self._start_reader()
        return self

    def _end_routed(self) -> None:
        """Finish with a transport that nobody reads; in this thread, if nothing has to be waited for."""
        if self.inflight.wait_empty(0):
            self.run()
        else:
            self._start_reader()

    def assume(self, revision: Revision, why: str) -> None:
        """Operate at once, by this revision and without a handshake: the peer has declared nothing.

        ``why``: the reason that a handler is given if it sends a request to the peer.
        """
        self.session.capabilities = self.role.declared(revision)
        self.agree(revision)
        self.session.phase = lifecycle.OPERATING
        self.session.unasked = why

    def export_state(self, uris: Iterable[str] = ()) -> Dict[str, Any]:
        """Return what another process has to know to go on with this session, as JSON; {} before the handshake.

        It is what was agreed on, what the client said of itself, and what the role adds. ``uris``: the resources whose
        subscriptions may have changed; the others are left out.
        """
        state = self.session.export_state()
        if state:
            state.update(self.role.export_state(self, uris))
        return state

    def import_state(self, kept: Dict[str, Any], whole: bool = True) -> None:
        """Take over values of `export_state`: all of them (``whole``), or those that have changed, None for those gone.

        Raises KeyError where the first ones are not what `export_state` has made.
        """
        session = self.session
        if session.revision is None:
            agreed = revision(kept["revision"])
            session.capabilities = self.role.declared(agreed)
            self.agree(agreed)
            session.peer_capabilities, session.peer_info = kept["capabilities"], kept["client"]
        self.role.import_state(self, kept, whole)
        before, session.phase = session.phase, kept.get("phase", session.phase)
        if session.phase == lifecycle.OPERATING != before:
            self.role.on_open(self)

    def share(self, most: int) -> None:
        """Take stateless requests and no others, from any number of clients, up to ``most`` at a time."""
        self.stateless_only = True
        self.limits = replace(self.limits, max_inflight=most)

    def run(self) -> None:
        """Read until the connection ends; for a caller that gives its own thread to it, after `Transport.open`."""
        self._reader = threading.get_ident()
        parked = False
        try:
            parked = self._read_until_silent()
        finally:
            if not parked:
                self.finish(why_ended(self.transport))

    def _park(self) -> bool:
        """Leave it to the transport to have a reader started when there is something to read, if it can do that."""
        park = getattr(self.transport, "park", None)
        return park is not None and bool(park(self._start_reader))

    def _start_reader(self) -> None:
        start_or_call("mcp-ref:reader:%s" % self.transport.name, self.run)

    def _read_until_silent(self) -> bool:
        """Read until the end, or until the transport takes over the waiting: then another thread reads on."""
        while True:
            items = self.transport.read()
            if items is None:
                return False
            if items:
                self.feed(items)
            else:
                # Cleared before parking: the transport may start the next reader at once, on another thread.
                reader, self._reader = self._reader, None
                if self._park():
                    return True
                self._reader = reader
            del items  # the next may be long in coming, and these large

    def close(self, reason: str = "the connection was closed by this side") -> None:
        """End the connection, from any thread, and more than once if need be. Waiting callers get `ConnectionLost`.

        In a forked copy of the process that made the connection no thread waits, and the peer is not told.
        """
        if self._owner != os.getpid():  # its locks may be held by threads that are not here
            self.transport.close()
            return
        # `_lock` guards `_reason`: of several threads that close, and the reader that ends, the first says why, and it
        # alone has the role answer what is deferred.
        with self._lock:
            first, self._reason = self._reason is None, self._reason or reason
        if first and not self.outbox.full and self._tell_of_the_end():
            self.outbox.flush_within(self.limits.drain)
        self.table.end(self._reason, self._unsent)
        self.transport.close()

    def stop_accepting(self) -> None:
        """Refuse new requests from now on, and have the role answer what is deferred; answers are still taken."""
        self.limits = replace(self.limits, max_inflight=-1)
        self.role.on_closing(self)

    def shut_down(self, reason: str, grace: float) -> None:
        """End the connection in order: take no new requests, give those that run ``grace`` seconds, then `close`."""
        self.stop_accepting()
        self.inflight.wait_empty(grace)
        self.outbox.flush_within(self.limits.drain)
        self.close(reason)

    def _tell_of_the_end(self) -> bool:
        """Let the role answer its deferred requests (open `subscriptions/listen`) before the connection closes.

        Returns True if there were any.
        """
        return len(self.inflight) > 0 and self.role.on_closing(self)

    def keep_alive(self) -> None:
        """Start to ping the peer, if the role wants that; called when the connection is operating.

        Not at a server over HTTP: there may be no stream that could carry a ping, while the peer is well.
        """
        if self.role.keepalive is not None and self.replies is None:
            keep_alive(self, self.role.keepalive)

    def wait_closed(self, timeout: Optional[float] = None) -> bool:
        """Wait for the end of the connection; False after ``timeout`` seconds.

        At once where waiting would be in vain: in a handler, on the thread that reads, and in a forked copy of this
        process, where no thread reads.
        """
        if self._owner != os.getpid():
            return False
        if self._reader == threading.get_ident() or self.executor.in_worker():
            timeout = 0
        return self._ended.wait(timeout)

    @property
    def closed(self) -> bool:
        """True once the connection has ended."""
        return self._ended.is_set()

    def finish(self, reason: str) -> None:
        """End everything after the end of the stream: free waiting callers, let quick handlers end, cancel the
        others."""
        with self._lock:
            ours, self._reason = self._reason is not None, self._reason or reason
            reason = self._reason
        # The order matters. First our own requests fail, for handlers may be waiting for them. If the peer ended the
        # connection, it may still read: quick handlers end by themselves and their answers go out. Then the rest is
        # cancelled, and gets the grace to notice.
        self.table.end(reason, self._unsent)
        if not ours:
            self._tell_of_the_end()
            self._drain()
            self.outbox.flush_within(self.limits.shutdown_grace)
        self.inflight.cancel_all("the connection ended")
        self.inflight.wait_empty(self.limits.shutdown_grace)
        if self._lane is not None and not self.executor.needs_pump and not self.executor.in_worker():
            self._lane.wait_idle(self.limits.drain)  # what has arrived is told before whoever closes goes on, or exits
        if self._own_executor:
            self.executor.close()
        self.outbox.close()
        self.transport.close()
        self._stop_timer()
        self._ended.set()
        self.role.on_closed(self, reason)

    def _drain(self) -> None:
        """Let handlers end by themselves as long as one does in each ``drain`` seconds, up to ``shutdown_grace``."""
        end, before = Deadline(self.limits.shutdown_grace), -1
        while len(self.inflight) != before and not end.expired():
            before = len(self.inflight)
            if self.inflight.wait_empty(self.limits.drain):
                return

    # Receiving

    def feed(self, items: List[Received]) -> None:
        """Take what the transport's reader has read, in order."""
        jobs: List[Job] = []
        for item in items:
            if isinstance(item, Rejected):
                self.table.note("refused message", str(item))
                if not (self._answers_nothing or self._waits_for_answers):
                    self._send(ErrorResponse(None, item.code, str(item)))
                continue
            if isinstance(item, Failed):
                if self.table.active(item.id):
                    self.table.fail(item.id, item.error)
                continue
            self._arrived = len(item)
            try:
                frame = parse(item, self.batching, self.limits, self.forgive)
            except Malformed as error:
                self._malformed(error)
                continue
            self._receive(frame, item, jobs)
        if jobs and not self.executor.submit(jobs, self.outbox):
            self._refuse_work(jobs)

    def receive(self, frame: Frame, data: bytes, about: Optional[RequestId] = None, principal: Any = None) -> List[Job]:
        """Take one message that came by another way than `Transport.read`. Returns the jobs that it makes, for `work`.

        ``data``: its bytes. ``about``: what the answer is called in `ReplyTransport.post`, for a batch, and for a
        request whose id need not be unique here. ``principal``: the sender. From any thread.
        """
        jobs: List[Job] = []
        if self._arrival is not None:
            self._arrival(data)
        # One message at a time, as a reader would bring them: the phase of the session, the ids and the lane of
        # notifications are changed under this lock or by the one reader.
        with self._receiving:
            self._arrived = len(data)
            self._receive(frame, data, jobs, about, principal)
        return jobs

    def take_answer(self, id: RequestId, data: bytes) -> bool:
        """Take the answer to our request of this id. From any thread, for an answer changes nothing but its request."""
        try:
            frame = parse(data, self.batching, self.limits)
        except Malformed:
            return False
        if not isinstance(frame, (ResultResponse, ErrorResponse)) or frame.id != id:
            return False
        if self._arrival is not None:
            self._arrival(data)
        self._receive(frame, data, [])
        return True

    def work(self, jobs: Sequence[Job], elsewhere: bool = False) -> None:
        """Do the jobs of `receive`, in this thread if the executor takes it and they need not be done ``elsewhere``."""
        run = self.executor.submit if elsewhere else self.executor.run_or_submit
        if jobs and not run(jobs, self.outbox):
            self._refuse_work(jobs)

    def _hand_over(self, *jobs: Job) -> None:
        if not self.executor.submit(jobs, self.outbox):
            self._refuse_work(jobs)

    def _refuse_work(self, jobs: Sequence[Job]) -> None:
        self.counters.note("refused work", "the executor is closed")
        for job in jobs:
            if isinstance(job, Call):
                job.abandon(RpcError(INTERNAL_ERROR, "The executor is closed"))
        self.outbox.flush_soon()

    def _fails_by_names(self, frame: ResultResponse, data: bytes) -> bool:
        """Check the names in the `_meta` of a result (encoded: ``data``).

        If they break the rules and we are strict, the request that it answers fails; then True is returned.
        """
        meta = frame.result.get("_meta") if type(frame.result) is dict else None
        usual = type(meta) is dict and meta.keys() <= _STAMP and data.count(b'"_meta"') == 1
        if usual and self.session.rules.stateless:
            return False  # as nearly all results have it there
        misnamed = self._misnamed(frame.result, self.session)
        if misnamed:
            self.table.fail(frame.id, PeerProtocolError("malformed result: %s" % misnamed))
        return bool(misnamed)

    def _receive(
        self, frame: Frame, data: bytes, jobs: List[Job], about: Optional[RequestId] = None, principal: Any = None
    ) -> None:
        """Take one message, of which these are the bytes (b"" for one of a batch); arguments as `receive`."""
        if isinstance(frame, Request):
            self._request(frame, jobs, None, about, principal)
        elif isinstance(frame, Notification):
            self._notification(frame, jobs)
        elif isinstance(frame, Batch):
            self._batch(frame, jobs, about, principal)
        elif not (isinstance(frame, ResultResponse) and (len(data) > LONG or b'"_meta"' in data)
                  and self._fails_by_names(frame, data)):
            self.table.resolve(frame)

    @property
    def _answers_nothing(self) -> bool:
        """True for a client without handshake, which answers nothing, whatever comes
        [2026-07-28 basic/transports/index §Messages], [2026-07-28 basic/transports/stdio §Sending Messages] MUST NOT.
        """
        session = self.session
        return session.party == lifecycle.CLIENT and not session.rules.peer_requests

    @property
    def _waits_for_answers(self) -> bool:
        """True if a message that cannot be read most likely is an answer. Answers get none; some servers die of one."""
        return self.session.party == lifecycle.CLIENT and len(self.table) > 0

    def _malformed(self, error: Malformed, batch: Optional[BatchAnswer] = None) -> None:
        """Answer a message that is no frame. A broken response fails the request it names; a notification gets
        nothing."""
        self.malformed(error)
        if error.silent or self._answers_nothing:
            return
        if error.code == PARSE_ERROR and self._waits_for_answers:
            return
        if error.id is not None and error.id in self.inflight:
            self._drop_duplicate(error.id)
        else:
            self._answer(ErrorResponse(error.id, error.code, error.message), batch)

    def malformed(self, error: Malformed) -> None:
        """Count a message that is no frame; a broken response fails the request that it names."""
        if error.either and error.id is not None and self.table.active(error.id):
            error.silent = True
        self.table.note("malformed message", error.message)
        if error.silent and error.id is not None:
            self.table.fail(error.id, PeerProtocolError("malformed response: %s" % error.message))

    def _batch(
        self, frame: Batch, jobs: List[Job], about: Optional[RequestId] = None, principal: Any = None
    ) -> None:
        batch = BatchAnswer(about, self.limits.max_batch_answer_bytes)
        self._arrived //= max(1, len(frame.items))  # an even share: only the sum has to be right
        for item in frame.items:
            if isinstance(item, Malformed):
                self._malformed(item, batch)
            elif isinstance(item, Request):
                self._request(item, jobs, batch, None, principal)
            else:
                self._receive(item, b"", jobs)
        self.send_batch(batch, batch.add(None))

    def _request(
        self, request: Request, jobs: List[Job], batch: Optional[BatchAnswer], about: Optional[RequestId] = None,
        principal: Any = None,
    ) -> None:
        if self.session.party == lifecycle.CLIENT and self._answers_nothing:
            text = "%s: in revision %s a server sends no requests" % (shown(request.method), self.session.rules)
            self.counters.note("refused request", text)
            return
        # Entered before anything else is looked at, so that a cancellation that is read next finds the request.
        incoming = self.inflight.begin(request.id if about is None else about)
        if incoming is None:
            self._drop_duplicate(request.id)
            return
        incoming.principal = principal
        if batch is not None:
            batch.expect(request.id)
        session: Optional[Session] = None
        params = request.params
        has_meta = params is not None and "_meta" in params
        if has_meta and params["_meta"] is None and self.forgive is not None:  # type: ignore[index]
            del params["_meta"]  # type: ignore[union-attr]  # read below, before the params are decoded
            self.forgive("null", "params._meta of %s, read as absent" % shown(request.method))
            has_meta = False
        try:
            # The table of `mcp_ref.peer.role` says which requests are stateless.
            if self.stateless and batch is None and (
                    self.stateless_only or has_meta and carries(params) or self.session.phase == lifecycle.OPENING
                    and (lifecycle.CLIENT, lifecycle.OPENING, request.method) not in lifecycle.TABLE):
                route, session = admit(self, request, self.session.principal if principal is None else principal)
            else:
                used = not self._ids.add(request.id) and self.session.rules.ids_unique_per_session
                route = (used and self._used_id(request)) or self._routes.get(request.method) or self._find_route(
                    request, batch)
        except Exception as error:  # what an extension declares, and how it answers, is its author's code
            route = internal_error(self.context_class(self, incoming, request, session), error)
        if has_meta and isinstance(route, Route):
            route = self._check_names(params or {}, session or self.session) or route
        if isinstance(route, Route) and not route.inline:
            if len(self.inflight.incoming) > self.limits.max_inflight:
                route = self._busy()
            elif self._arrived > _LARGE and self.replies is None:
                route = self._count_large(incoming) or route
        call = Call(self, request, incoming, route if isinstance(route, Route) else NO_ROUTE, batch, session)
        if isinstance(route, RpcError):
            self.counters.note("refused request", "%s: %s" % (shown(request.method), route.message))
            if self.replies is not None:
                self.replies.refused(incoming.id, route.code)
            call.abandon(route)
        elif route.inline:
            call.run()
            self.outbox.flush_soon()
        else:
            jobs.append(call)

    def _used_id(self, request: Request) -> Optional[RpcError]:
        """Count a request whose id was used before; a strict session refuses it."""
        if not self.session.lenient:
            return RpcError(INVALID_REQUEST, "Invalid request: id was used before")
        self.counters.note("id used again", "%s with id %.80r" % (shown(request.method), request.id))
        return None

    def _check_names(self, params: Dict[str, Any], session: Session) -> Optional[RpcError]:
        """Return the refusal of a request for names in its `_meta`; None: they are as they have to be."""
        if session.rules.stateless and USUAL.issuperset(params["_meta"]):
            return None
        misnamed = self._misnamed(params, session)
        return RpcError(INVALID_PARAMS, "Invalid params: %s" % misnamed) if misnamed else None

    def _busy(self) -> RpcError:
        most = self.limits.max_inflight
        return RpcError(INTERNAL_ERROR, "Busy: max_inflight (%d) requests are running" % most if most >= 0 else
                        "The server is shutting down")

    def _count_large(self, incoming: Incoming) -> Optional[RpcError]:
        """Count a large request until it is answered. Returns the refusal if there is no room. On the reader.

        Over HTTP the account of bodies does that. Where a connection has no account with others, it has one of its own.
        """
        held, holder = self.transport.held, self.transport.holder
        if held is None:
            from ..transports.held import MemoryAccount

            held = self._own_held = self._own_held or MemoryAccount(replace(
                self.limits, max_held_bytes_per_peer=self.limits.max_held_bytes))
        size = self._arrived
        if not held.take(holder, size, "large requests"):
            return RpcError(INTERNAL_ERROR, "Busy: large requests are running, and max_held_bytes (%d) or"
                            " max_held_bytes_per_peer (%d) has been reached; try again later"
                            % (self.limits.max_held_bytes, self.limits.max_held_bytes_per_peer))
        if self.large is None:
            self.large = {}
        self.large[incoming] = held, size
        return None

    def _misnamed(self, message: Any, session: Session) -> str:
        """Return which names in the `_meta` of params or of a result break the rules; "" if none does, or we are
        lenient.

        [2025-06-18.. basic/index §`_meta`] MUST. Reading: the rules bind the sender, so a lenient session takes the
        message and counts it.
        """
        agreed = session.revision
        if agreed is None or not agreed.meta_key_rules:
            return ""
        from ..protocol.metakeys import violations_in

        found = violations_in(message, agreed)
        if found and session.lenient:
            self.counters.note("misnamed meta", found[0])
            return ""
        return "; ".join(found)

    def _drop_duplicate(self, id: RequestId) -> None:
        self.counters.note("duplicate id", "dropped a second request with id %.80r" % (id,))

    def _find_route(self, request: Request, batch: Optional[BatchAnswer]) -> Union[RpcError, Route]:
        """Return the route of a request that has none cached, or its refusal: by lifecycle, then revision, then
        role."""
        session, phase, method = self.session, self.session.phase, request.method
        verdict = lifecycle.consult(session.peer, phase, method, session.lenient)
        if not verdict.allowed or (method == INITIALIZE and batch is not None):
            when = "in a batch" if verdict.allowed else lifecycle.WHEN[phase]
            return RpcError(INVALID_REQUEST, "Invalid request: %s is not allowed %s" % (shown(method), when))
        if verdict.lenient:
            self.counters.note("early request", "%s came before notifications/initialized" % shown(method))
        row = session.lookup(method)
        known = row is None or (row.kind == REQUEST and row.sender in (session.peer, BOTH))
        route = self.role.route(self, method, session.rules) if known else None
        if route is None:
            return self.role.refused(method) or RpcError(METHOD_NOT_FOUND, "Method not found: %s" % shown(method))
        session.move(phase, verdict.phase)
        if session.phase == lifecycle.OPERATING:
            self._routes[method] = route
        return route

    def agree(self, revision: Revision) -> None:
        """Set the revision that the handshake has agreed on; from here on its rules hold."""
        self.session.revision = revision
        self.session.phase = lifecycle.ANSWERED
        self.batching = revision.batching
        self._routes = {}

    def _notification(self, notification: Notification, jobs: List[Job]) -> None:
        method, session, phase = notification.method, self.session, self.session.phase
        verdict = lifecycle.consult(session.peer, phase, method, session.lenient)
        row = session.lookup(method)
        if row is None and self.stateless and (
                self.role.hears(method)
                or self.role.extensions is not None and self.role.extensions.hears(method)):
            self._to_lane(notification, jobs, self._arrived)
        elif not verdict.allowed and not (self.stateless and method == CANCELLED):
            self.counters.note("refused notification", "%s while %s" % (shown(method), phase))
        elif row is None and self.role.hears(method):
            if self.role.on_notification_read(self, method, notification.params or {}):
                self._to_lane(notification, jobs, self._arrived)
        elif row is None or row.kind != NOTIFICATION or row.sender not in (session.peer, BOTH):
            self.counters.note("unknown notification", "%s in revision %s" % (shown(method), session.rules))
        else:
            if verdict.lenient:
                self.counters.note("early notification", "%s came before notifications/initialized" % method)
            session.move(phase, verdict.phase)
            handler = _NOTIFICATIONS.get(method)
            if handler is not None:
                handler(self, notification.params or {})
            elif self.role.on_notification_read(self, method, notification.params or {}):
                self._to_lane(notification, jobs, self._arrived)

    def hear(self, notification: Notification) -> None:
        """Have the role take a notification as if the peer had sent it, after those that came before."""
        jobs: List[Job] = []
        self._to_lane(notification, jobs)
        if jobs:
            self._hand_over(*jobs)

    def wait_heard(self, timeout: float) -> None:
        """Wait until the role has taken the notifications that have come, at most so many seconds."""
        if self._lane is not None and not self.executor.in_worker():
            self._lane.wait_idle(timeout)

    def _to_lane(self, notification: Notification, jobs: List[Job], size: int = 0) -> None:
        lane, limits = self._lane, self.limits
        if lane is None:
            lane = self._lane = SerialQueue(
                self._run_notification, self._hand_over, limits.max_inflight, limits.max_unheard_bytes)
        room, schedule = lane.put(notification, size=size)
        if not room:
            self.counters.note("dropped notification", "max_inflight (%d) are waiting, or max_unheard_bytes (%d)"
                               % (limits.max_inflight, limits.max_unheard_bytes))
        if schedule:
            jobs.append(lane)

    def _run_notification(self, notification: Notification) -> None:
        method, params = notification.method, notification.params or {}
        try:
            self.role.notification(self, method, params)
        except BaseException as error:
            log_raised(self, self.role.handler_of(method, params, self.session.rules), error, method)
            reraise_interrupt(error)

    def _initialized(self, params: Dict[str, Any]) -> None:
        self._routes = {}
        self.keep_alive()
        self.role.on_open(self)

    def _cancelled(self, params: Dict[str, Any]) -> None:
        """Apply a cancellation; unknown, finished and malformed ones are ignored
        [2025-11-25 basic/utilities/cancellation §Error Handling] SHOULD."""
        id: Any = params.get("requestId")
        reason = params.get("reason")
        reason = reason if isinstance(reason, str) else None
        known = isinstance(id, (int, str)) and not isinstance(id, bool)
        if known and not self.session.rules.peer_requests and self.role.on_stream_ended(self, id, reason or ""):
            return
        if not known or not self.inflight.cancel(id, reason):
            self.counters.add("cancellation of nothing")
            return
        from ..diagnostics.packagelog import get_logger

        get_logger(__name__).info("request %.80r cancelled by the peer: %.200r", id, reason or "no reason given")

    def _progressed(self, params: Dict[str, Any]) -> None:
        token, value, total = params.get("progressToken"), params.get("progress"), params.get("total")
        message = params.get("message")
        numbers = type(value) in (int, float) and type(total) in (int, float, type(None))
        if type(token) not in (int, str) or not numbers:
            self.counters.note("malformed progress", "token %.80r, progress %.80r" % (token, value))
        else:
            text = message if isinstance(message, str) else None
            self.table.progress(token, Progress(value, total, text))  # type: ignore[arg-type]

    # Answering

    def complete(self, context: Context, result: Union[Dict[str, Any], RpcError, None]) -> None:
        """Answer a request whose route is deferred; see `Context.complete`."""
        request = context.request
        if context.incoming.done:
            raise LocalProtocolError("%s (request %.80r) has its answer already" % (request.method, request.id))
        data, call = None, Call(self, request, context.incoming, NO_ROUTE, None, context.session)
        if isinstance(result, RpcError):
            call.abandon(result)
            return
        if result is not None:
            stamped = self.role.stamp(result, context.session.rules)
            data = encode(ResultResponse(request.id, stamped), self.limits)
            self.check_meta(data, stamped, context.session)
        call.reply(None, data)

    def _answer(self, answer: ErrorResponse, batch: Optional[BatchAnswer]) -> None:
        if batch is None:
            self._send(answer)
        else:
            batch.expect(answer.id)
            self.send_batch(batch, batch.add(encode(self._with_id(answer))))

    def free_large(self, incoming: Incoming) -> None:
        """Free the account of a large request, for it has its answer."""
        held, size = (self.large or {}).pop(incoming, (None, 0))
        if held is not None:
            held.free(self.transport.holder, size)

    def send_batch(self, batch: BatchAnswer, whole: Optional[bytes], may_wait: Optional[bool] = None) -> None:
        """Send the answers to a batch if these are all. ``may_wait``: as `Outbox.put`, for callers that flush later."""
        if whole:
            if may_wait is None:
                self.outbox.send(whole, batch.about, True)
            else:
                self.outbox.put(whole, may_wait, batch.about, True)
        elif whole is not None and batch.about is not None:
            self.outbox.unanswered(batch.about)


_NOTIFICATIONS: Dict[str, Callable[[Connection, Dict[str, Any]], None]] = {
    INITIALIZED: Connection._initialized,
    CANCELLED: Connection._cancelled,
    PROGRESS: Connection._progressed,
}
"""The notifications that the dispatcher itself handles, on the reader; all others are for the role."""
