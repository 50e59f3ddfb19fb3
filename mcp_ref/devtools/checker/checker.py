"""The checker: takes the events of a trace one by one, and gives findings.

One pass; memory is bounded by `Bounds`, whatever the length of the trace. The checker is independent of the code that
it judges: it imports frames, vocabulary, tables and the trace, and has its own small idea of a conversation
(`mcp_ref.devtools.checker.observed`).

A `Watcher` follows a conversation in the same way and judges nothing: what replays or compares a recording reads it as
the judge does, with the same session, exchange, request and revision for each message.
"""

import re
from typing import Any, Callable, Dict, FrozenSet, Iterable, List, Optional, Tuple

from ...methods import LISTEN
from ...revisions import NAMES, Revision, revision
from ...wiretrace import (
    BODY, CLIENT, CLOSE, END, GAP, HEADER, MESSAGE, OPEN, PROCESS, RECORDED, REQUEST, RESPONSE, SERVER, SSE_EVENT,
    STDERR, Event,
)
from . import course, observed, rules
from .bounds import Bounds
from .findings import Finding, RuleTally, Verdicts
from .observed import (
    Message, ObservedBatch, ObservedConnection, ObservedEvent, ObservedExchange, ObservedSession, Shared, id_key,
)
from .rules import Happening, Rule

_MESSAGES_ONLY = frozenset(("both",))
_NOISE = 5
"""Lines that are no message, which are kept to be shown."""
_WEB_AREAS = frozenset(("http", "auth", "sse"))
_WEB, _PROCESS = frozenset(("http", "sse", "documents")), frozenset(("process", "stderr"))
"""The names of what is recorded of HTTP alone, and of pipes alone."""
_OFF_WEB = frozenset(rules.MOMENTS) - {rules.HEAD, rules.RESPONSE, rules.END, rules.SSE_EVENT}


class Checker:
    """Judges a conversation; see the module. One thread at a time may use it.

    ``binding``: True asks only rules that bind (MUST), in less time; a fault that follows from one against a mere
    recommendation is a root then.

    >>> from mcp_ref.wiretrace import read
    >>> checker = Checker()
    >>> checker.check([])
    []
    """

    def __init__(self, bounds: Bounds = Bounds(), binding: bool = False) -> None:
        self.bounds = bounds
        self.messages = 0
        """Messages so far."""
        self.seen: Dict[Tuple[str, str], int] = {}
        """The numbers of messages by transport and name of the revision; "" for what is not known."""
        self.connections: Dict[str, ObservedConnection] = {}
        self._trace = Shared()
        self._recorded: FrozenSet[str] = _MESSAGES_ONLY
        self._verdicts = Verdicts(bounds, self._recorded, binding)
        self._judge = self._verdicts.judge
        self.findings = self._verdicts.findings
        self.noise: List[Message] = []
        """The first lines that are no message of the protocol."""
        self._left: List[Message] = []
        self._methods: Dict[str, None] = {}
        self._line = 0
        self._finished = False
        self._take: Dict[str, Callable[[Event], None]] = {
            HEADER: self._header, OPEN: self._open, CLOSE: self._close, MESSAGE: self._message, REQUEST: self._request,
            RESPONSE: self._response, BODY: self._body, SSE_EVENT: self._sse_event, END: self._end,
            PROCESS: self._process, STDERR: self._stderr, GAP: self._gap,
        }

    def check(self, events: Iterable[Event]) -> List[Finding]:
        """Judge a whole trace, and return all findings that are kept."""
        for event in events:
            self.feed(event)
        self.finish()
        return self.findings

    def feed(self, event: Event, line: int = 0) -> List[Finding]:
        """Take one event, and return the findings about it. ``line``: that of the recording, if it has lines."""
        self._verdicts.fresh = []
        self._line = line
        take = self._take.get(event.kind)
        if take is not None:
            take(event)
        return self._verdicts.fresh

    def finish(self) -> List[Finding]:
        """Judge what can only be judged at the end, once, and return the findings."""
        self._verdicts.fresh = []
        if not self._finished:
            self._finished = True
            for connection in list(self.connections.values()):
                self._over(connection)
        return self._verdicts.fresh

    def tallies(self) -> Dict[str, RuleTally]:
        """Return what came of each rule, by id. A rule that never applied has zeros.

        Where too little was recorded for a rule, it counts as one that cannot tell only if the transports, revisions
        and methods that it is about were seen.
        """
        return self._verdicts.tallies(self._applies)

    def _applies(self, row: Rule) -> bool:
        names = {name for _, name in self.seen if name}
        if names and not row.ranks.intersection(revision(name).rank for name in names) and not row.always:
            return False
        transports = {transport for transport, _ in self.seen} | {each.transport for each in self.connections.values()}
        area, webs = row.id.partition(".")[0], {"streamable-http", "http+sse", ""}
        if (area in _WEB_AREAS or row.needs & _WEB or not _OFF_WEB.intersection(row.on)) and not transports & webs:
            return False
        if (area == "stdio" or row.needs & _PROCESS) and not transports & {"stdio", ""}:
            return False
        return row.methods is None or not set(row.on) <= rules.OF_METHODS or any(
            method in self._methods for method in row.methods)

    def unanswered(self) -> List[Message]:
        """Return the requests of connections that are over that have no response and were not cancelled: the first.

        One that HTTP has refused has got an answer, by its status.
        """
        return [each for each in self._left if each.answer is None and each.cancelled is None
                and (each.exchange is None or (each.exchange.status or 0) < 400)]

    def times(self, finding: Finding) -> int:
        """Return how often a fault was seen, of which this is one finding, kept or not."""
        return self._verdicts.times(finding)

    # Events

    def _header(self, event: Event) -> None:
        for connection in self.connections.values():  # of another trace in the same file
            self._over(connection)
        names = event.more.get("recorded")
        self._recorded = frozenset(RECORDED).intersection(
            each for each in (names if isinstance(names, list) else ()) if isinstance(each, str))
        self._trace = Shared()
        self._verdicts.recorded(self._recorded)

    def _connection(self, name: str) -> ObservedConnection:
        found = self.connections.get(name)
        if found is None:
            if len(self.connections) >= self.bounds.connections:
                oldest = next(iter(self.connections))
                self._over(self.connections.pop(oldest))
            found = self.connections[name] = ObservedConnection(name, self._recorded, self.bounds, self._trace)
        found.line = self._line
        return found

    def _open(self, event: Event) -> None:
        known, transport = self.connections.get(event.connection), str(event.more.get("transport", ""))
        if known is not None and known.exchanges and (not known.messages or known.transport != transport):
            self._learn(known, transport)
            return
        if known is not None:  # the same name again: a new connection
            self._over(self.connections.pop(event.connection))
        self._connection(event.connection).transport = transport

    @staticmethod
    def _learn(connection: ObservedConnection, transport: str) -> None:
        """Take it that the exchanges that are open are of this transport: a recorder knows it when messages come."""
        connection.transport = transport
        if connection.messages:  # a client that tried another transport before
            connection.default = ObservedSession(connection)
            for exchange in connection.exchanges.values():
                exchange.session = connection.default

    def _close(self, event: Event) -> None:
        connection = self._connection(event.connection)
        if connection.closed is None:
            connection.closed = connection.last_time = event.time
            connection.closed_by = event.direction
            if not connection.http:  # the DELETE and ends of exchanges may follow
                self._over(connection)

    def _over(self, connection: ObservedConnection) -> None:
        if not connection.state(_Finished).done:
            connection.state(_Finished).done = True
            if len(self._left) < self.bounds.findings:
                left = sorted((each for party in (CLIENT, SERVER) for each in connection.pending[party].values()
                               if each.answer is None and each.cancelled is None and each.method != LISTEN),
                              key=lambda each: each.index)
                self._left += left[:self.bounds.findings]
            self._judge(rules.FINISH, "", connection.default.revision or connection.revision, connection, connection)

    def _gap(self, event: Event) -> None:
        connection = self._connection(event.connection)
        connection.recorded = frozenset()
        connection.from_start = False
        for session in connection.every_session():
            session.from_start = False

    def _process(self, event: Event) -> None:
        connection = self._connection(event.connection)
        connection.last_time = event.time
        if event.more.get("did") == "exit":
            connection.exit = "exit code %s" % event.more.get("code")
        self._judge(rules.PROCESS, "", connection.default.revision, Happening(event, connection), connection)

    def _stderr(self, event: Event) -> None:
        connection = self._connection(event.connection)
        self._judge(rules.STDERR, "", connection.default.revision, Happening(event, connection), connection)

    # HTTP

    def _request(self, event: Event) -> None:
        connection = self._connection(event.connection)
        connection.last_time = event.time
        connection.transport = connection.transport or "streamable-http"
        exchange = ObservedExchange(event.exchange, connection, event)
        connection.exchanges[event.exchange] = exchange
        if connection.transport == "http+sse" and exchange.method == "GET":
            connection.mixed = connection.mixed or connection.default.initialize is not None
            connection.default = ObservedSession(connection)
            connection.default.from_start = connection.from_start and not connection.mixed
        exchange.session = self._session(connection, exchange)
        exchange.revision = None if exchange.session.mixed else exchange.session.revision
        version, before = exchange.header("mcp-protocol-version"), exchange.revision
        if version in NAMES:
            named = revision(str(version))
            # Without session ids requests of both eras may share a connection: the header field tells them apart.
            if before is None or (exchange.session.id is None and (
                    connection.mixed or before.stateless != named.stateless)):
                exchange.revision = named
        self._judge(rules.HEAD, "", self._revision_of(exchange), exchange, connection)

    def _revision_of(self, exchange: ObservedExchange) -> Optional[Revision]:
        """Return the revision by which the HTTP of an exchange is judged.

        The transport HTTP+SSE is of one revision; a document is fetched for a conversation in the last one that was
        named.
        """
        if exchange.revision is None and exchange.connection.transport == "http+sse":
            return revision(NAMES[0])
        if exchange.revision is None and not exchange.is_mcp:
            return self._trace.revision
        return exchange.revision

    @staticmethod
    def _session(connection: ObservedConnection, exchange: ObservedExchange) -> ObservedSession:
        """Return the session of an exchange, by its header field or, over HTTP+SSE, by the endpoint of a stream.

        Otherwise it is the default session of the connection. A client that omits the id of its only session is still
        in it, unless it uses a revision without sessions.
        """
        if connection.transport == "http+sse":
            target = exchange.path + ("?" + exchange.query if exchange.query else "")
            stream = connection.streams.get(target)
            return stream.session if stream is not None else connection.default
        id = exchange.header("mcp-session-id")
        if id is None:
            version = exchange.header("mcp-protocol-version")
            stateless = version in NAMES and revision(str(version)).stateless
            only = connection.latest if connection.live == 1 and not stateless else None
            return only if only is not None and only.ended is None else connection.default
        found: Optional[ObservedSession] = connection.sessions.get(id)
        if found is None:
            found = connection.sessions[id] = ObservedSession(connection, id)
            found.from_start = False
        return found

    def _exchange(self, event: Event, connection: Optional[ObservedConnection] = None) -> Optional[ObservedExchange]:
        connection = connection or self._connection(event.connection)
        connection.last_time = event.time
        if not event.exchange:
            return None
        found: Optional[ObservedExchange] = (
            connection.exchanges.get(event.exchange) or connection.over.get(event.exchange))
        return found

    def _response(self, event: Event) -> None:
        exchange = self._exchange(event)
        if exchange is None:
            return
        exchange.answer(event)
        if exchange.revision is None and not exchange.session.mixed:
            exchange.revision = exchange.session.revision
        self._judge(rules.RESPONSE, exchange.request.method if exchange.request else "", self._revision_of(exchange),
                    exchange, exchange.connection)
        session = exchange.session
        if session.id is not None and session.ended is None and exchange.header("mcp-session-id") is not None and (
                exchange.status == 404 or (exchange.method == "DELETE" and exchange.status in (200, 202, 204))):
            session.ended = event.time
            session.connection.live -= session.initialize is not None

    def _body(self, event: Event) -> None:
        exchange = self._exchange(event)
        if exchange is not None:
            if event.direction == CLIENT:
                exchange.sent_body = event
            else:
                exchange.answer_body = event

    def _sse_event(self, event: Event) -> None:
        exchange = self._exchange(event)
        if exchange is not None:
            seen = ObservedEvent(exchange, event, event.more, str(event.more.get("data", "")))
            if seen.name == "endpoint":
                target = re.sub("^[a-z]+://[^/]*", "", str(seen.data))
                exchange.connection.endpoints[target.partition("?")[0]] = None
                exchange.connection.streams[target] = exchange
            self._streamed(seen)

    def _streamed(self, seen: ObservedEvent) -> None:
        exchange = seen.exchange
        self._judge(rules.SSE_EVENT, seen.message.method if seen.message else "", self._revision_of(exchange), seen,
                    exchange.connection)
        exchange.stream_on(seen)

    def _end(self, event: Event) -> None:
        exchange = self._exchange(event)
        if exchange is None or exchange.ended is not None:
            return
        exchange.ended = event.time
        exchange.ended_by = event.direction
        complete = event.more.get("complete")
        exchange.complete = complete if isinstance(complete, bool) else None
        self._judge(rules.END, exchange.request.method if exchange.request else "", self._revision_of(exchange),
                    exchange, exchange.connection)
        exchange.connection.exchanges.pop(exchange.number)
        forgotten = exchange.connection.over.push(exchange.number, exchange)
        if forgotten is not None and not forgotten.stream:
            forgotten.forget()

    # Messages

    def _message(self, event: Event) -> None:
        connection = self._connection(event.connection)
        exchange = self._exchange(event, connection)
        if not isinstance(event.message, list):
            self._one(event, event.message, connection, exchange, None)
            return
        total = len(event.message)
        batch = ObservedBatch([self._one(event, item, connection, exchange, (place, total))
                               for place, item in enumerate(event.message)], event,
                              exchange.session if exchange is not None else connection.default)
        batch.exchange = exchange
        self._judge(rules.BATCH, "", batch.revision, batch, connection)

    def _one(self, event: Event, data: Any, connection: ObservedConnection, exchange: Optional[ObservedExchange],
             batch: Optional[Tuple[int, int]]) -> Message:
        self.messages += 1
        connection.messages += 1
        message = Message(self.messages, event, data, connection)
        message.batch = batch
        message.session = connection.default
        if exchange is not None:
            message.exchange = exchange
            message.session = exchange.session
            if message.kind != observed.NOISE:
                connection.endpoints[exchange.path] = None
        replayed = course.replayed(message)
        if replayed:
            message.revision = course.revision_in_force(message)
        else:
            self._relate(message)
        if len(self._methods) < self.bounds.entries:
            self._methods[message.method] = None
        kind = (connection.transport, message.revision.name if message.revision else "")
        self.seen[kind] = self.seen.get(kind, 0) + 1
        connection.revision = message.revision or connection.revision
        self._trace.revision = message.revision or self._trace.revision
        if exchange is not None:
            exchange.carry(message)
        if not replayed:
            self._said(message)
        if message.sse is not None and exchange is not None and (batch is None or batch[0] == batch[1] - 1):
            seen = ObservedEvent(exchange, event, message.sse, None)
            seen.message = message
            self._streamed(seen)
        return message

    def _said(self, message: Message) -> None:
        connection = message.connection
        method = "" if course.is_astray(message) else message.method  # rules of a method are about its own party
        if course.is_ambiguous(message):
            course.follow(message)
            return
        if message.kind == observed.NOISE:
            connection.noise[message.sender] += 1
            rules.noted(connection, "noise")
            if len(self.noise) < _NOISE:
                self.noise.append(message)
        seen = rules.circumstances(message)
        if message.kind != observed.NOISE:
            self._judge(rules.MESSAGE, method, message.revision, message, connection, seen)
            for moment in course.request_moments(message) if method == message.method else ():
                self._judge(moment, method, message.revision, message, connection, seen)
            if course.is_of_task(message):
                self._judge(rules.TASKED, method, message.revision, message, connection, seen)
        self._judge(message.kind, method, message.revision, message, connection, seen)
        if message.kind != observed.NOISE:
            connection.last[message.sender] = message
        course.follow(message)

    def _relate(self, message: Message) -> None:
        """Find the request, the session and the revision of a message, before it is judged."""
        connection, kind = message.connection, message.kind
        own = message.exchange.request if message.exchange is not None and message.sender == SERVER else None
        if kind == observed.REQUEST:
            if message.exchange is not None and message.sender == CLIENT:
                course.settle(message, message.exchange)
            key = self._key(message, message.id)
            message.reused = type(message.id) in (str, int) and not connection.ids[message.sender].add(message.id)
            message.pending = connection.pending[message.sender].get(key)
            connection.pending[message.sender][key] = message
        elif kind in (observed.RESULT, observed.ERROR) and message.id is not None:
            key, asker = self._key(message, message.id), message.receiver
            if own is not None and id_key(own.id) == id_key(message.id):
                message.request = own
                message.again = own.answer is not None
                if connection.pending[asker].get(key) is own:
                    connection.pending[asker].pop(key)
            else:
                found: Optional[Message] = connection.pending[asker].pop(key)
                message.again = found is None
                message.request = found or connection.answered[asker].get(key)
            if message.request is not None:
                message.method = message.request.method
                connection.answered[asker][key] = message.request
        if message.method == "notifications/cancelled" and kind in (observed.REQUEST, observed.NOTIFICATION):
            connection.cancelled = True
            key = self._key(message, message.params.get("requestId"))
            if own is not None and own.method == "subscriptions/listen" and id_key(own.id) == key[0]:
                message.request = own  # another client may have one with this id
            for party in (message.sender, message.receiver):
                message.request = message.request or connection.pending[party].get(key) or (
                    connection.answered[party].get(key))
        message.revision = course.revision_in_force(message)

    @staticmethod
    def _key(message: Message, id: Any) -> Any:
        """Return the key of a request: over HTTP each session has ids of its own."""
        return id_key(id), message.session if message.session.connection.http else None


class _Finished:
    """The state of a connection: True once the rules for its end were asked."""

    done = False


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
