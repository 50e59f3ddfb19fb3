"""The checker: takes the events of a trace one by one, and gives findings.

One pass; memory is bounded by `Bounds`, whatever the length of the trace. The checker is independent of the code that
it judges: it imports frames, vocabulary, tables and the trace, and has its own small idea of a conversation
(`mcp_ref.checker.observed`).
"""

from typing import Any, Callable, Dict, FrozenSet, Iterable, List, NamedTuple, Optional, Tuple

from ..methods import known_since
from ..revisions import LATEST_HANDSHAKE, NAMES, Revision, revision
from ..wiretrace import (
    BODY, CLIENT, CLOSE, END, GAP, HEADER, MESSAGE, OPEN, PROCESS, RECORDED, REQUEST, RESPONSE, SERVER, SSE_EVENT,
    STDERR, Event,
)
from ..wiretrace.text import plain, shorten
from . import observed, rules
from .bounds import Bounds, Forgetful
from .observed import (
    META_CAPABILITIES, META_REVISION, Batch, Connection, Exchange, Message, Session, Shared, SseEvent, content, id_key,
)
from .rules import KEPT, Broken, CannotTell, Happening, Observer, Rule, Verdict

VIOLATION, WARNING, DISAGREE, UNSURE = "violation", "warning", "disagreement", "cannot tell"

_EVIDENCE = 200
"""Characters of the evidence of a finding: there may be ids, methods and other text of a peer in it."""
_MESSAGES_ONLY = frozenset(("both",))


class Finding(NamedTuple):
    """A rule that was broken, at one place of a trace."""

    rule: Rule
    verdict: str
    """``violation`` for a MUST, ``warning`` for a SHOULD, ``disagreement`` where page and schema differ."""
    party: str
    """client, server, recorder, proxy or environment."""
    evidence: str
    where: str
    """The member or the header field; "" if there is none."""
    number: int
    """The number of the message, 0 if it is about none."""
    exchange: int
    """The number of the HTTP exchange, 0 if it is about none."""
    connection: str
    time: float
    id: Any
    """The id of the message, None if it has none."""
    method: str
    revision: Optional[Revision]
    """The revision in force, None if it is not known."""
    cause: "Optional[Finding]" = None
    """The finding that this one follows from; None for a root cause."""

    @property
    def key(self) -> str:
        """The stable id: the same for the same fault of the same party, in every trace."""
        from hashlib import sha256

        said = "\n".join((self.rule.id, self.party, self.method, self.where))
        return "%s:%s" % (self.rule.id, sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:8])


class Tally(NamedTuple):
    """The result of one rule."""

    judged: int
    """The number of times that it was kept or broken."""
    broken: int
    """The number of times that it was broken, causes and consequences."""
    unsure: Tuple[str, ...]
    """The reasons why it could not be told, each once."""


class Checker:
    """Judges a conversation; see the module. One thread at a time may use it.

    >>> from mcp_ref.wiretrace import read
    >>> checker = Checker()
    >>> checker.check([])
    []
    """

    def __init__(self, bounds: Bounds = Bounds()) -> None:
        self.bounds = bounds
        self.findings: List[Finding] = []
        """The findings that are kept, in the order in which they were found: `Bounds.findings` of a rule and party."""
        self.messages = 0
        """Messages so far."""
        self.seen: Dict[Tuple[str, str], int] = {}
        """The numbers of messages by transport and name of the revision; "" for what is not known."""
        self.connections: Dict[str, Connection] = {}
        self._trace = Shared()
        self._rules = list(rules.load().values())
        self._observers = list(rules.OBSERVERS)
        self._recorded: FrozenSet[str] = _MESSAGES_ONLY
        self._tables: Dict[Tuple[str, str, Optional[int], bool], Tuple[Tuple[Rule, ...], Tuple[Observer, ...]]] = {}
        self._kept: Dict[Tuple[str, str], int] = {}
        self._judged: Dict[str, int] = {}
        self._broken: Dict[str, int] = {}
        self._unsure: Dict[str, Dict[str, None]] = {}
        self._subjects: "Forgetful[Any, List[Finding]]" = Forgetful(bounds.entries)
        self._fresh: List[Finding] = []
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

    def feed(self, event: Event) -> List[Finding]:
        """Take one event, and return the findings about it."""
        self._fresh = []
        take = self._take.get(event.kind)
        if take is not None:
            take(event)
        return self._fresh

    def finish(self) -> List[Finding]:
        """Judge what can only be judged at the end, once, and return the findings."""
        self._fresh = []
        if not self._finished:
            self._finished = True
            for connection in list(self.connections.values()):
                self._over(connection)
        return self._fresh

    def tallies(self) -> Dict[str, Tally]:
        """Return what came of each rule, by id. A rule that never applied has zeros."""
        found = {}
        for row in self._rules:
            unsure = list(self._unsure.get(row.id, ()))
            if not row.needs <= self._recorded:
                unsure.append("not recorded: " + ", ".join(sorted(row.needs - self._recorded)))
            found[row.id] = Tally(self._judged.get(row.id, 0), self._broken.get(row.id, 0), tuple(unsure))
        return found

    def counted(self, row: Rule, party: str) -> int:
        """Return how often a party has broken a rule, kept or not."""
        return self._kept.get((row.id, party), 0)

    # Events

    def _header(self, event: Event) -> None:
        names = event.more.get("recorded")
        self._recorded = frozenset(RECORDED).intersection(
            each for each in (names if isinstance(names, list) else ()) if isinstance(each, str))
        self._tables.clear()

    def _connection(self, name: str) -> Connection:
        found = self.connections.get(name)
        if found is None:
            if len(self.connections) >= self.bounds.connections:
                oldest = next(iter(self.connections))
                self._over(self.connections.pop(oldest))
            found = self.connections[name] = Connection(name, self._recorded, self.bounds, self._trace)
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
    def _learn(connection: Connection, transport: str) -> None:
        """Take it that the exchanges that are open are of this transport: a recorder knows it when messages come."""
        connection.transport = transport
        if connection.messages:  # a client that tried another transport before
            connection.default = Session(connection)
            for exchange in connection.exchanges.values():
                exchange.session = connection.default

    def _close(self, event: Event) -> None:
        connection = self._connection(event.connection)
        if connection.closed is None:
            connection.closed = connection.last_time = event.time
            connection.closed_by = event.direction
            self._over(connection)

    def _over(self, connection: Connection) -> None:
        if not connection.state(_Finished).done:
            connection.state(_Finished).done = True
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
        self._judge(rules.PROCESS, "", connection.default.revision, Happening(event, connection), connection)

    def _stderr(self, event: Event) -> None:
        connection = self._connection(event.connection)
        self._judge(rules.STDERR, "", connection.default.revision, Happening(event, connection), connection)

    # HTTP

    def _request(self, event: Event) -> None:
        connection = self._connection(event.connection)
        connection.last_time = event.time
        connection.transport = connection.transport or "streamable-http"
        exchange = Exchange(event.exchange, connection, event, self.bounds)
        connection.exchanges[event.exchange] = exchange
        if connection.transport == "http+sse" and exchange.method == "GET":
            connection.mixed = connection.mixed or connection.default.initialize is not None
            connection.default = Session(connection)
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

    def _revision_of(self, exchange: Exchange) -> Optional[Revision]:
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
    def _session(connection: Connection, exchange: Exchange) -> Session:
        """Return the session of an exchange: that of its header field, or the default one of the connection.

        A client that leaves the id of its only session away is still in it, unless it speaks a revision without
        sessions.
        """
        id = exchange.header("mcp-session-id")
        if id is None:
            version = exchange.header("mcp-protocol-version")
            stateless = version in NAMES and revision(str(version)).stateless
            only = connection.latest if connection.live == 1 and not stateless else None
            return only if only is not None and only.ended is None else connection.default
        found: Optional[Session] = connection.sessions.get(id)
        if found is None:
            found = connection.sessions[id] = Session(connection, id)
            found.from_start = False
        return found

    def _exchange(self, event: Event) -> Optional[Exchange]:
        connection = self._connection(event.connection)
        connection.last_time = event.time
        if not event.exchange:
            return None
        found: Optional[Exchange] = connection.exchanges.get(event.exchange) or connection.over.get(event.exchange)
        return found

    def _response(self, event: Event) -> None:
        exchange = self._exchange(event)
        if exchange is None:
            return
        status = event.more.get("status")
        exchange.status = status if type(status) is int else None
        exchange.answer_fields = observed.pairs_of(event)
        exchange.answered = event.time
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
            seen = SseEvent(exchange, event, event.more, str(event.more.get("data", "")))
            if seen.name == "endpoint":
                exchange.connection.endpoints[str(seen.data).partition("?")[0]] = None
            self._streamed(seen)

    def _streamed(self, seen: SseEvent) -> None:
        exchange = seen.exchange
        self._judge(rules.SSE_EVENT, seen.message.method if seen.message else "", self._revision_of(exchange), seen,
                    exchange.connection)
        exchange.events.append(seen)
        exchange.event_count += 1
        exchange.last_id = exchange.last_id if seen.id is None else seen.id
        exchange.retry = exchange.retry if seen.retry is None else seen.retry

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
        exchange.connection.over[exchange.number] = exchange

    # Messages

    def _message(self, event: Event) -> None:
        connection = self._connection(event.connection)
        connection.last_time = event.time
        exchange = self._exchange(event)
        if not isinstance(event.message, list):
            self._one(event, event.message, connection, exchange, None)
            return
        total = len(event.message)
        batch = Batch([self._one(event, item, connection, exchange, (place, total))
                       for place, item in enumerate(event.message)], event,
                      exchange.session if exchange is not None else connection.default)
        batch.exchange = exchange
        self._judge(rules.BATCH, "", batch.revision, batch, connection)

    def _one(self, event: Event, data: Any, connection: Connection, exchange: Optional[Exchange],
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
        replayed = _replayed(message)
        if replayed:
            message.revision = self._revision(message)
        else:
            self._relate(message)
        kind = (connection.transport, message.revision.name if message.revision else "")
        self.seen[kind] = self.seen.get(kind, 0) + 1
        connection.revision = message.revision or connection.revision
        self._trace.revision = message.revision or self._trace.revision
        if exchange is not None:
            if message.sender == CLIENT:
                exchange.sent.append(message)
                exchange.revision = message.revision or exchange.revision
            else:
                exchange.received.append(message)
                exchange.received_count += 1
        if not replayed:
            self._said(message)
        if message.sse is not None and exchange is not None:
            seen = SseEvent(exchange, event, message.sse, None)
            seen.message = message
            self._streamed(seen)
        return message

    def _said(self, message: Message) -> None:
        connection = message.connection
        if message.kind == observed.NOISE:
            connection.noise[message.sender] += 1
        else:
            self._judge(rules.MESSAGE, message.method, message.revision, message, connection)
            for moment in _questions(message):
                self._judge(moment, message.method, message.revision, message, connection)
        self._judge(message.kind, message.method, message.revision, message, connection)
        self._follow(message)

    def _relate(self, message: Message) -> None:
        """Find the request, the session and the revision of a message, before it is judged."""
        connection, kind = message.connection, message.kind
        if kind == observed.REQUEST:
            if message.exchange is not None and message.sender == CLIENT:
                self._settle(message, message.exchange)
            key = self._key(message, message.id)
            message.reused = type(message.id) in (str, int) and not connection.ids[message.sender].add(message.id)
            message.pending = connection.pending[message.sender].get(key)
            connection.pending[message.sender][key] = message
        elif kind in (observed.RESULT, observed.ERROR) and message.id is not None:
            key, asker = self._key(message, message.id), message.receiver
            own = message.exchange.request if message.exchange is not None and message.sender == SERVER else None
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
        elif message.method == "notifications/cancelled":
            key = self._key(message, message.params.get("requestId"))
            for party in (message.sender, message.receiver):
                message.request = message.request or connection.pending[party].get(key) or (
                    connection.answered[party].get(key))
        message.revision = self._revision(message)

    @staticmethod
    def _key(message: Message, id: Any) -> Any:
        """Return the key of a request: over HTTP each session has ids of its own."""
        return id_key(id), message.session if message.session.connection.http else None

    @staticmethod
    def _settle(message: Message, exchange: Exchange) -> None:
        """Give a request without session id that opens a session, or needs none, to the default session."""
        connection, named = message.connection, message.meta.get(META_REVISION)
        opens = message.method == "initialize"
        stateless = isinstance(named, str) and named in NAMES and revision(named).stateless
        if not (opens or stateless) or exchange.header("mcp-session-id") is not None:
            return
        if opens and connection.default.initialize is not None and connection.transport != "http+sse":
            connection.default = Session(connection)  # a handshake without session id opens another
            connection.mixed = True
            connection.default.from_start = False
        message.session = exchange.session = connection.default

    @staticmethod
    def _revision(message: Message) -> Optional[Revision]:
        """Return the revision in force for a message."""
        session = message.session
        if message.kind in (observed.REQUEST, observed.NOTIFICATION):
            named = message.params.get("protocolVersion") if message.method == "initialize" else (
                message.meta.get(META_REVISION))
            if isinstance(named, str) and named in NAMES:
                return revision(named)
            if message.method == "initialize" and message.sender == CLIENT:
                return LATEST_HANDSHAKE  # another version: all revisions that have the handshake say the same
        if message.method == "initialize" and message.kind == observed.RESULT:
            named = message.result.get("protocolVersion")
            if isinstance(named, str) and named in NAMES:
                return revision(named)
        if message.request is not None and message.request.revision is not None and message.kind in (
                observed.RESULT, observed.ERROR):
            return message.request.revision
        if message.exchange is not None and message.exchange.revision is not None:
            return message.exchange.revision
        if session.mixed:
            return None
        opened = session.initialize
        if session.revision is None and opened is not None and opened.answer is None:
            return opened.revision
        return session.revision

    def _follow(self, message: Message) -> None:
        """Note what a message changes, after it was judged."""
        session, request = message.session, message.request
        if message.kind in (observed.RESULT, observed.ERROR):
            if request is not None and request.answer is None:
                request.answer, request.answered = message.kind, message.time
        elif message.method == "notifications/cancelled" and request is not None and request.cancelled is None:
            request.cancelled = message.time
        if message.kind == observed.REQUEST and message.method == "initialize" and message.sender == CLIENT:
            if session.initialize is None:
                session.initialize = message
                session.revision = None  # a probe before it was of another revision
                session.capabilities[CLIENT] = _object(message.params.get("capabilities"))
                session.info[CLIENT] = _object(message.params.get("clientInfo")) or {}
        elif message.kind == observed.RESULT and message.method == "initialize" and request is session.initialize:
            if session.initialize_result is None:
                session.initialize_result = message
                session.revision = message.revision
                session.capabilities[SERVER] = _object(message.result.get("capabilities"))
                session.info[SERVER] = _object(message.result.get("serverInfo")) or {}
                self._named(message)
        elif message.method == "notifications/initialized" and message.kind == observed.NOTIFICATION:
            session.initialized = session.initialized or message
        elif message.method == "server/discover" and message.kind == observed.RESULT and (
                session.initialize_result is None):
            session.capabilities[SERVER] = _object(message.result.get("capabilities"))
        if message.kind == observed.REQUEST and message.revision is not None and message.revision.stateless and (
                session.initialize_result is None):
            session.revision = message.revision
            session.capabilities[CLIENT] = _object(message.meta.get(META_CAPABILITIES))

    @staticmethod
    def _named(message: Message) -> None:
        """Note the session id that an `initialize` over HTTP was answered with."""
        exchange = message.exchange
        id = exchange.answer_header("mcp-session-id") if exchange is not None else None
        if exchange is not None:
            exchange.revision = message.revision
        if id is not None:
            message.session.id = id
            message.connection.sessions[id] = message.connection.latest = message.session
            message.connection.live += 1
            message.connection.default = Session(message.connection)

    # Verdicts

    def _judge(self, moment: str, method: str, where: Optional[Revision], subject: Any, connection: Connection) -> None:
        beside = isinstance(subject, Exchange) and not subject.is_mcp
        key = (moment, method, None if where is None else where.rank, beside)
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = self._table(*key)
        broken: List[Finding] = []
        for row in table[0]:
            verdict: Verdict = row.decide(subject)
            if verdict is None:
                continue
            if verdict is KEPT:
                self._judged[row.id] = self._judged.get(row.id, 0) + 1
            elif isinstance(verdict, CannotTell):
                reasons = self._unsure.setdefault(row.id, {})
                if len(reasons) < self.bounds.findings:
                    reasons[verdict.missing] = None
            else:
                self._judged[row.id] = self._judged.get(row.id, 0) + 1
                for each in verdict if isinstance(verdict, list) else [verdict]:
                    made = each if isinstance(each, Broken) else Broken(str(each))
                    broken.append(self._finding(row, made, subject, where, connection))
        for observer in table[1]:
            observer.note(subject)
        if broken:
            self._add(broken, subject)

    def _table(
        self, moment: str, method: str, rank: Optional[int], beside: bool,
    ) -> Tuple[Tuple[Rule, ...], Tuple[Observer, ...]]:
        if method and not known_since(method) and len(self._tables) > self.bounds.entries:
            self._tables.clear()  # a peer that makes up methods
        asked = rules.matching(self._rules, moment, method, rank, beside)
        return (tuple(row for row in asked if row.needs <= self._recorded),
                tuple(rules.matching(self._observers, moment, method, rank)))

    @staticmethod
    def _finding(row: Rule, made: Broken, subject: Any, where: Optional[Revision], connection: Connection) -> Finding:
        at = made.at or (subject[0] if isinstance(subject, list) and subject else subject)
        message = at if isinstance(at, Message) else at.message if isinstance(at, SseEvent) else None
        exchange = at if isinstance(at, Exchange) else getattr(at, "exchange", None)
        party = made.party or (row.party if row.party != rules.SENDER else getattr(message or at, "sender", ""))
        verdict = DISAGREE if row.disagree else VIOLATION if "MUST" in row.requirement.level else WARNING
        asked = exchange.request if exchange is not None else None
        return Finding(
            row, verdict, party, shorten(plain(made.evidence), _EVIDENCE), made.where, message.index if message else 0,
            exchange.number if exchange is not None else 0, connection.name,
            message.time if message else exchange.opened if exchange is not None else connection.last_time,
            message.id if message else None, message.method if message else asked.method if asked else "",
            message.revision if message else where)

    def _add(self, broken: List[Finding], subject: Any) -> None:
        """Add the findings of one moment; those that follow from another get it as their cause."""
        places = [self._places(each, subject) for each in broken]
        for finding, place in zip(broken, places):
            for where in place:
                known = self._subjects.get(where)
                if known is None:
                    known = self._subjects[where] = []
                if len(known) < self.bounds.findings:
                    known.append(finding)
        for number, cause in enumerate(_without_rings(broken, [
                self._cause(finding, place) for finding, place in zip(broken, places)])):
            finding = broken[number]
            if cause is not None:
                finding = finding._replace(cause=cause)
                for where in places[number]:  # what follows from it later has the same cause
                    known = self._subjects.get(where, ())
                    known[:] = [finding if each is broken[number] else each for each in known]
            self._broken[finding.rule.id] = self._broken.get(finding.rule.id, 0) + 1
            count = self._kept.get((finding.rule.id, finding.party), 0)
            self._kept[finding.rule.id, finding.party] = count + 1
            if count < self.bounds.findings:
                self.findings.append(finding)
            self._fresh.append(finding)

    @staticmethod
    def _places(finding: Finding, subject: Any) -> List[Any]:
        """Return where causes of a finding are looked for: its message, the request of that, exchange and session."""
        places: List[Any] = []
        if finding.number:
            places.append(("message", finding.number))
        request = getattr(subject, "request", None)
        if isinstance(request, Message):
            places.append(("message", request.index))
        if finding.exchange:
            places.append(("exchange", finding.exchange))
        holder = subject.exchange if isinstance(subject, SseEvent) else subject
        session = getattr(holder, "session", None) or getattr(holder, "default", None)
        if session is not None:
            places.append(("session", finding.connection, session.id))
        return places

    def _cause(self, finding: Finding, places: List[Any]) -> Optional[Finding]:
        for place in places:
            here = place == ("message", finding.number)
            wanted = [name.partition(":")[2] or name for name in finding.rule.follows
                      if name.startswith("session:") == (place[0] == "session")
                      and (here or not name.startswith("here:"))]
            for other in self._subjects.get(place, ()):
                if other.rule.id != finding.rule.id and any(
                        _fits(other.rule.id, name) and (name != "*" or "here:*" not in other.rule.follows)
                        for name in wanted):
                    while other.cause is not None:
                        other = other.cause
                    return other  # type: ignore[no-any-return]
        return None


def _questions(message: Message) -> Tuple[str, ...]:
    """Return the moments of questions, answers and outcomes that a message is, however they travel."""
    kind, stateless = message.kind, message.revision is not None and message.revision.stateless
    if kind == observed.REQUEST:
        if message.sender == SERVER:
            return (rules.ASKED,)
        return (rules.ANSWERED,) if stateless and _goes_on(message) else ()
    if kind not in (observed.RESULT, observed.ERROR):
        return ()
    if message.sender == CLIENT:
        return (rules.ANSWERED,)
    found: Tuple[str, ...] = ()
    if stateless and message.result.get("resultType") == "input_required":
        found = (rules.ASKED,)
    if stateless and message.request is not None and _goes_on(message.request):
        found += (rules.OUTCOME,)
    return found


def _goes_on(request: Message) -> bool:
    return "inputResponses" in request.params or "requestState" in request.params


def _without_rings(broken: List[Finding], causes: List[Optional[Finding]]) -> List[Optional[Finding]]:
    """Return the root cause of each finding of one moment; of rules that follow from each other the first is the root.
    """
    places = {id(finding): place for place, finding in enumerate(broken)}
    for start in range(len(broken)):
        passed, place = {start}, start
        while id(causes[place]) in places:
            place = places[id(causes[place])]
            if place in passed:
                causes[start] = None
                break
            passed.add(place)
    found: List[Optional[Finding]] = []
    for cause in causes:
        while id(cause) in places and causes[places[id(cause)]] is not None:
            cause = causes[places[id(cause)]]
        found.append(cause)
    return found


def _replayed(message: Message) -> bool:
    """Tell whether a message is an event that was sent before, on the stream that this one resumes or on another.

    It is no new message then: a recorder before the client sees twice what was lost behind it. A second response is
    known by its request.
    """
    exchange, id = message.exchange, message.sse.get("id") if message.sse else None
    if exchange is None or type(id) is not str or not id or message.kind not in (
            observed.REQUEST, observed.NOTIFICATION):
        return False
    events, said = message.session.events, content(message.data)
    if exchange.method == "GET" and exchange.header("last-event-id") is not None and events.get(id) == said:
        return True
    events[id] = said
    return False


class _Finished:
    """The state of a connection: True once the rules for its end were asked."""

    done = False


def _fits(id: str, name: str) -> bool:
    return id.startswith(name[:-1]) if name.endswith("*") else id == name


def _object(value: Any) -> Optional[Dict[str, Any]]:
    return value if isinstance(value, dict) else None
