"""The state of a conversation as the checker knows it: messages, HTTP exchanges, sessions and connections.

These classes hold what was observed, and judge nothing. `mcp_ref.devtools.checker.checker` fills them in, event by
event; rules read them. A rule keeps what it has to remember in a class of its own: ``session.state(Progress)`` makes
one for each session when it is first asked for, ``connection.state(...)`` one for each connection.
"""

from collections import deque
from typing import Any, Callable, Deque, Dict, FrozenSet, List, Mapping, Optional, Tuple, Type, TypeVar

from ...jsontext import JsonError, dumps
from ...revisions import Revision
from ...wiretrace import CLIENT, SERVER, Event
from .bounds import Bounds, Forgetful, UsedIds

REQUEST, NOTIFICATION, RESULT, ERROR = "request", "notification", "result", "error"
ODD, NOISE = "odd", "noise"
"""Kinds of messages: the four of JSON-RPC, an object that is none of them, and bytes that are no JSON object."""

OTHER = {CLIENT: SERVER, SERVER: CLIENT}
STATE = TypeVar("STATE")

META_REVISION = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_CLIENT = "io.modelcontextprotocol/clientInfo"
META_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
META_TASK = "io.modelcontextprotocol/related-task"

_EMPTY: Dict[str, Any] = {}
_NOTHING: Deque[Any] = deque()
"""The queue of an exchange that has had nothing for it; never changed."""
_NO_FIELDS: List[Tuple[str, str]] = []
"""The header fields of a response that was not seen; never changed."""
_HEADS = 256
"""Heads that are remembered: those of most exchanges are equal, and a reader gives equal ones as one object."""


def id_key(id: Any) -> Tuple[Any, Any]:
    """Return a key under which ids are the same only if their JSON types are: 1, "1" and true differ."""
    kind = type(id)
    return (kind, id) if kind is int or kind is str else (kind, repr(id))


class Message:
    """A message, or bytes that are none."""

    __slots__ = ("index", "event", "time", "sender", "kind", "data", "id", "method", "params", "result", "error",
                 "request", "answer", "answered", "again", "reused", "pending", "cancelled", "revision", "session",
                 "connection", "exchange", "sse", "batch", "notes", "meta", "line", "unlike")

    def __init__(self, index: int, event: Event, data: Any, connection: "ObservedConnection") -> None:
        self.index = index
        """The number of the message in the trace, from 1. Messages of a batch have numbers of their own."""
        self.event = event
        self.time = event.time
        """Seconds since the start of the trace."""
        self.line = connection.line
        """The line of the recording, 0 if it is not known."""
        self.sender = event.direction
        """``client`` or ``server``."""
        self.data: Mapping[str, Any] = data if isinstance(data, dict) else _EMPTY
        """The members of the message; empty for bytes that are none."""
        self.kind = kind_of(data)
        told = self.data.get
        params, result, error = told("params"), told("result"), told("error")
        self.id: Any = told("id")
        self.method: str = ""
        """The method; of a response, that of its request, "" if it is not known."""
        self.params: Mapping[str, Any] = params if isinstance(params, dict) else _EMPTY
        """The params of a request or notification, empty if there are none or they are no object."""
        self.result: Mapping[str, Any] = result if isinstance(result, dict) else _EMPTY
        """The result of a response, empty if it has none or it is no object."""
        self.error: Mapping[str, Any] = error if isinstance(error, dict) else _EMPTY
        """The error of a response, empty if it has none or it is no object."""
        self.request: Optional[Message] = None
        """The request that a response answers, or that `notifications/cancelled` names; None if none is known."""
        self.answer: Optional[str] = None
        """The kind of the first response to a request, ``result`` or ``error``; None if there was none yet."""
        self.answered = 0.0
        """When the first response to a request was seen."""
        self.again = False
        """True for a response to a request that has one already, or to none that is known."""
        self.reused = False
        """True for a request whose id its sender has used before on this connection."""
        self.pending: Optional[Message] = None
        """The request with the same id of the same sender that had no response when this request was sent."""
        self.cancelled: Optional[float] = None
        """When `notifications/cancelled` for a request was seen; None if it was not."""
        self.revision: Optional[Revision] = None
        """The revision in force for this message; None if it is not known."""
        self.session: ObservedSession
        self.connection = connection
        self.exchange: Optional[ObservedExchange] = None
        """The HTTP exchange that carries it, or None."""
        self.sse: Optional[Mapping[str, Any]] = event.more.get("sse")
        """Members ``id``, ``event`` and ``retry`` of the SSE event that carries it; None if none does."""
        self.batch: Optional[Tuple[int, int]] = None
        """The position in a batch, from 0, and the number of messages in it; None outside of batches."""
        self.unlike = False
        """True for a request over HTTP whose header fields are more than a plain copy of what they repeat."""
        self.notes: Dict[str, Any] = {}
        """Notes of rules about the message."""
        if self.kind in (REQUEST, NOTIFICATION):
            self.method = self.data["method"]
        meta = (self.result if self.kind == RESULT else self.params).get("_meta")
        self.meta: Mapping[str, Any] = meta if isinstance(meta, dict) else _EMPTY
        """The ``_meta`` of the params or of the result; empty if there is none or it is no object."""

    @property
    def receiver(self) -> str:
        """The party that the message is for."""
        return OTHER[self.sender]

    def capabilities(self, party: str) -> Optional[Mapping[str, Any]]:
        """Return the capabilities of a party that are in force for this message; None if they are not known.

        Without a handshake those of the client are in ``_meta`` of the request; those of the server are known after
        `server/discover`.
        """
        if party == CLIENT and self.revision is not None and self.revision.stateless:
            asked = self.request or self
            value = asked.meta.get(META_CAPABILITIES)
            return value if isinstance(value, dict) else None
        if party == CLIENT and self.session.mixed:
            return None
        return self.session.capabilities[party]

    def has_capability(self, party: str, dotted: str) -> Optional[bool]:
        """Return whether a party has declared a capability, such as ``resources.subscribe``; None if unknown."""
        value: Any = self.capabilities(party)
        if value is None:
            return None
        for name in dotted.split("."):
            value = value.get(name) if isinstance(value, dict) else None
            if value is None or value is False:
                return False
        return True

    def settings(self, party: str, extension: str) -> Optional[Mapping[str, Any]]:
        """Return what a party has declared of an extension; None if it has not, or that is not known."""
        declared = (self.capabilities(party) or _EMPTY).get("extensions")
        found = declared.get(extension) if isinstance(declared, dict) else None
        return found if isinstance(found, dict) else None

    def has_extension(self, party: str, extension: str) -> Optional[bool]:
        """Return whether a party has declared an extension; None if unknown."""
        return None if self.capabilities(party) is None else self.settings(party, extension) is not None


def kind_of(data: Any) -> str:
    """Return the kind of a JSON value as a message: by its members ``method``, ``result`` and ``error``."""
    if not isinstance(data, dict):
        return NOISE
    if "method" in data:
        if not isinstance(data["method"], str):
            return ODD
        return REQUEST if "id" in data else NOTIFICATION
    if "error" in data:
        return ERROR
    return RESULT if "result" in data else ODD


class ObservedBatch(List[Message]):
    """The messages of an array that was sent as one; it may be empty."""

    def __init__(self, messages: List[Message], event: Event, session: "ObservedSession") -> None:
        super().__init__(messages)
        self.event = event
        self.sender = event.direction
        """``client`` or ``server``."""
        self.session = session
        self.exchange: Optional[ObservedExchange] = None
        """The HTTP exchange that carries it, or None."""
        self.revision = messages[0].revision if messages else session.revision
        """The revision in force for the first message; None if it is not known."""


class ObservedEvent:
    """An event of an SSE stream."""

    __slots__ = ("exchange", "event", "id", "name", "retry", "data", "message", "time")

    def __init__(self, exchange: "ObservedExchange", event: Event, fields: Mapping[str, Any],
                 data: Optional[str]) -> None:
        self.exchange = exchange
        self.event = event
        self.time = event.time
        id, name, retry = fields.get("id"), fields.get("event"), fields.get("retry")
        self.id: Optional[str] = id if isinstance(id, str) else None
        self.name: Optional[str] = name if isinstance(name, str) else None
        """The type of the event; None is ``message``."""
        self.retry: Optional[int] = max(0, min(retry, 2 ** 53)) if type(retry) is int else None
        """Milliseconds."""
        self.data = data
        """The data of an event that has no message; None if it has one."""
        self.message: Optional[Message] = None


class ObservedHead:
    """The head of an HTTP request or response, as far as it alone tells. Exchanges may share one; nobody changes it."""

    __slots__ = ("told", "fields", "header", "method", "path", "query", "url", "status", "media_type",
                 "refuses", "marks")

    def __init__(self, told: Mapping[str, Any]) -> None:
        self.told = told
        """The members of the event: as long as this is here, nothing else is at its address."""
        self.fields = pairs_of(told.get("fields"))
        self.header: Callable[[str], Optional[str]] = by_name(self.fields).get
        self.method = str(told.get("method", ""))
        self.path, _, self.query = str(told.get("target", "")).partition("?")
        self.url = str(told.get("url", ""))
        status = told.get("status")
        self.status: Optional[int] = status if type(status) is int else None
        self.media_type = (self.header("content-type") or "").partition(";")[0].strip().lower()
        self.refuses = self.status in (401, 403) or self.header("www-authenticate") is not None
        """True for the head of a response that wants authorization."""
        self.marks = -1
        """The bits of `rules.CIRCUMSTANCES` that the head of a request alone makes true; -1 before they are asked for.
        """


class ObservedExchange:
    """An HTTP request and its response."""

    __slots__ = ("number", "connection", "session", "opened", "line", "head", "method", "path", "query", "url",
                 "fields", "header", "answer_head", "answer_header", "sent", "request", "sent_body", "status",
                 "answer_fields", "media_type", "stream", "refused", "answered", "answer_body", "received",
                 "received_count", "events", "event_count", "retry", "last_id", "ended", "ended_by", "complete",
                 "revision", "notes")

    def __init__(self, number: int, connection: "ObservedConnection", event: Event) -> None:
        self.number = number
        self.connection = connection
        self.session: ObservedSession = connection.default
        self.opened = event.time
        self.line = connection.line
        self.head = head = connection.trace.head(event.more)
        self.method, self.path, self.query = head.method, head.path, head.query
        self.url = head.url
        """Scheme and authority of the server; "" if not recorded."""
        self.fields = head.fields
        """The header fields of the request, in order."""
        self.header = head.header
        """A function that returns the value of a header field of the request (lower-case name); several are joined."""
        self.answer_head: Optional[ObservedHead] = None
        """The head of the response; None if it was not seen."""
        self.answer_header: Callable[[str], Optional[str]] = _EMPTY.get
        """A function that returns the value of a header field of the response."""
        self.sent: List[Message] = []
        """The messages that the client has sent in it."""
        self.request: Optional[Message] = None
        """The first request that was sent in it."""
        self.sent_body: Optional[Event] = None
        """The body of the request, if it is no message."""
        self.status: Optional[int] = None
        self.answer_fields: List[Tuple[str, str]] = _NO_FIELDS
        """The header fields of the response, in order."""
        self.media_type = ""
        """The media type of the response, in lower case, without parameters; "" if there is none."""
        self.stream = False
        """True if the response is a stream of events."""
        self.refused = False
        """True if the response wants authorization, by its status or a challenge."""
        self.answered: Optional[float] = None
        """When the head of the response was seen."""
        self.answer_body: Optional[Event] = None
        """The body of the response, if it is no message."""
        self.received: Deque[Message] = _NOTHING
        """The last messages that the server has sent in it."""
        self.received_count = 0
        self.events: Deque[ObservedEvent] = _NOTHING
        """The last SSE events."""
        self.event_count = 0
        self.retry: Optional[int] = None
        """The last ``retry`` of the stream, in milliseconds."""
        self.last_id: Optional[str] = None
        """The last event id of the stream."""
        self.ended: Optional[float] = None
        self.ended_by = ""
        """``client``, ``server`` or "" if it is not known."""
        self.complete: Optional[bool] = None
        """False if bytes of the exchange are missing, None if that is not known."""
        self.revision: Optional[Revision] = None
        """The revision in force: that of the message that was sent, or that of the session."""
        self.notes: Dict[str, Any] = {}
        """Notes of rules about the exchange."""

    def answer(self, event: Event) -> None:
        """Take the head of the response."""
        head = self.connection.trace.head(event.more)
        self.answer_head = head
        self.status, self.answer_fields, self.answer_header = head.status, head.fields, head.header
        self.media_type, self.refused = head.media_type, head.refuses
        self.stream = self.media_type == "text/event-stream"
        self.answered = event.time

    def carry(self, message: Message) -> None:
        """Take a message that is sent in it."""
        if message.sender == CLIENT:
            self.sent.append(message)
            if self.request is None and message.kind == REQUEST:
                self.request = message
            self.revision = message.revision or self.revision
        else:
            if not self.received_count:
                self.received = deque(maxlen=self.connection.bounds.messages)
            self.received.append(message)
            self.received_count += 1

    def stream_on(self, event: ObservedEvent) -> None:
        """Take an SSE event of the response."""
        if not self.event_count:
            self.events = deque(maxlen=self.connection.bounds.messages)
        self.events.append(event)
        self.event_count += 1
        self.last_id = self.last_id if event.id is None else event.id
        self.retry = self.retry if event.retry is None else event.retry

    def forget(self) -> None:
        """Forget the messages, which name the exchange: then both are freed at once, and wait for no collector."""
        self.sent, self.request, self.received, self.events = [], None, _NOTHING, _NOTHING

    @property
    def is_mcp(self) -> bool:
        """True if the exchange belongs to the protocol's endpoint: it carried a message, or its path did before."""
        return bool(self.sent) or (self.path in self.connection.endpoints)


def pairs_of(fields: Any) -> List[Tuple[str, str]]:
    """Return header fields as an event tells them; what is no pair of strings is left out."""
    return [(pair[0], pair[1]) for pair in fields if isinstance(pair, (list, tuple)) and len(pair) == 2
            and isinstance(pair[0], str) and isinstance(pair[1], str)] if isinstance(fields, list) else []


def by_name(fields: List[Tuple[str, str]]) -> Dict[str, str]:
    """Return the values of header fields by their names in lower case; several of a name are joined by commas."""
    found = {name.lower(): value for name, value in fields}
    if len(found) == len(fields):
        return found
    found.clear()
    for name, value in fields:
        name = name.lower()
        found[name] = "%s, %s" % (found[name], value) if name in found else value
    return found


class _States(Dict[Any, Any]):
    def __missing__(self, kind: Any) -> Any:
        made = self[kind] = kind()
        return made


class _Stateful:
    def __init__(self) -> None:
        # Rules ask for states twenty times for each message: so there is no function between
        self.state = _States().__getitem__  # type: ignore[method-assign, assignment]

    def state(self, kind: Type[STATE]) -> STATE:
        """Return the instance of a class that belongs here; it is made when it is first asked for."""
        raise NotImplementedError


class Shared(_Stateful):
    """The state of the whole trace: of all its connections."""

    def __init__(self) -> None:
        super().__init__()
        self.revision: Optional[Revision] = None
        """The last revision in force for a message of any connection; None if none was known."""
        self.guarded = False
        """True once anything was seen that may be of authorization."""
        self.noted = 0
        """The bits of `rules.CIRCUMSTANCES` that are true from some event on."""
        self._heads: Dict[int, ObservedHead] = {}

    def head(self, told: Mapping[str, Any]) -> ObservedHead:
        """Return the head that the members of an event tell; one for the same object."""
        found = self._heads.get(id(told))
        if found is None:
            if len(self._heads) >= _HEADS:
                self._heads.clear()
            found = self._heads[id(told)] = ObservedHead(told)
        return found


def content(data: Any) -> int:
    """Return a digest of what a message says, by which an event that is sent again is known."""
    from hashlib import sha256

    try:
        said = dumps(data) or ""
    except JsonError:  # half a surrogate pair, which JSON lets through
        said = repr(data)
    return int.from_bytes(sha256(said.encode("utf-8", "surrogatepass")).digest()[:8], "big")


class ObservedSession(_Stateful):
    """A conversation with one state: a pipe, a socket, an HTTP session; or the stateless requests of a connection."""

    def __init__(self, connection: "ObservedConnection", id: Optional[str] = None) -> None:
        super().__init__()
        self.connection = connection
        self.id = id
        """The session id of HTTP, masked; None without one."""
        self.revision: Optional[Revision] = None
        """The revision that was negotiated; without a handshake that of the last request."""
        self.initialize: Optional[Message] = None
        """The first `initialize`."""
        self.initialized: Optional[Message] = None
        """The first `notifications/initialized`."""
        self.initialize_result: Optional[Message] = None
        """The result of `initialize`."""
        self.capabilities: Dict[str, Optional[Mapping[str, Any]]] = {CLIENT: None, SERVER: None}
        """The capabilities that each party has declared; None if that was not seen."""
        self.info: Dict[str, Mapping[str, Any]] = {}
        self.from_start = connection.from_start
        """True if the first message of the session is in the trace."""
        self.ended: Optional[float] = None
        """When the session was deleted, or refused by 404."""
        self.events: "Forgetful[str, int]" = Forgetful(connection.bounds.entries)
        """A digest of each request and notification that came in an event with an id, by that id."""

    @property
    def stateless(self) -> Optional[bool]:
        """True without a handshake; None if that is not known."""
        return None if self.revision is None else self.revision.stateless

    @property
    def mixed(self) -> bool:
        """True if it is perhaps that of several clients: nothing tells them apart."""
        return self.id is None and self.connection.mixed


class ObservedConnection(_Stateful):
    """A pipe, a socket, or the HTTP traffic of one client with one server."""

    def __init__(self, name: str, recorded: FrozenSet[str], bounds: Bounds, trace: "Shared") -> None:
        super().__init__()
        self.name = name
        self.trace = trace
        """The state that all connections of the trace share: authorization uses several."""
        self.bounds = bounds
        self.recorded = recorded
        """The names of what the recorder sees (`wiretrace.RECORDED`)."""
        self.transport = ""
        """stdio, streamable-http, http+sse, tcp, unix or memory; "" if that is not known."""
        self.from_start = "start" in recorded
        self.default = ObservedSession(self)
        """The session of a pipe or socket, and of HTTP requests without a session id."""
        self.sessions: "Forgetful[str, ObservedSession]" = Forgetful(bounds.sessions)
        self.streams: "Forgetful[str, ObservedExchange]" = Forgetful(bounds.sessions)
        """The GET of each session over HTTP+SSE, by the endpoint that its stream named."""
        self.latest: Optional[ObservedSession] = None
        """The session with an id that was opened last."""
        self.mixed = False
        """True once a second handshake without session id was seen: several clients share what has no id."""
        self.cancelled = False
        """True once `notifications/cancelled` was seen."""
        self.live = 0
        """The number of sessions with an id that were opened and have not ended."""
        self.revision: Optional[Revision] = None
        """The last revision in force for a message; None if none was known."""
        self.pending: Dict[str, "Forgetful[Any, Message]"] = {
            CLIENT: Forgetful(bounds.pending), SERVER: Forgetful(bounds.pending)}
        """Requests by sender and `id_key` that have no response yet."""
        self.answered: Dict[str, "Forgetful[Any, Message]"] = {
            CLIENT: Forgetful(bounds.answered), SERVER: Forgetful(bounds.answered)}
        """Requests by sender and `id_key` that have one; the last."""
        self.ids: Dict[str, UsedIds] = {CLIENT: UsedIds(bounds.ids), SERVER: UsedIds(bounds.ids)}
        """Ids of requests by sender."""
        self.exchanges: "Forgetful[int, ObservedExchange]" = Forgetful(bounds.exchanges)
        """HTTP exchanges by number that are not over."""
        self.over: "Forgetful[int, ObservedExchange]" = Forgetful(bounds.exchanges)
        """HTTP exchanges by number that are; the last. One that is forgotten has forgotten its messages, too, unless it
        was a stream: rules remember streams that have ended early."""
        self.endpoints: "Forgetful[str, None]" = Forgetful(bounds.entries)
        """Paths on which messages were exchanged."""
        self.closed: Optional[float] = None
        self.closed_by = ""
        self.messages = 0
        """The number of messages so far."""
        self.last: Dict[str, Message] = {}
        """The last message of each party that was judged."""
        self.last_time = 0.0
        self.line = 0
        """The line of the recording with the last event, 0 if it is not known."""
        self.exit = ""
        """The end of the server's process, such as ``exit code 1``; "" if it goes on, or that is not known."""
        self.noise = {CLIENT: 0, SERVER: 0}

    @property
    def http(self) -> bool:
        """True if the transport is one of HTTP."""
        return self.transport in ("streamable-http", "http+sse")

    def every_session(self) -> List[ObservedSession]:
        """Return the sessions that are remembered."""
        return [self.default, *(each for each in self.sessions.values() if each is not self.default)]

    def open_exchanges(self) -> List[ObservedExchange]:
        """Return the exchanges that are not over, oldest first."""
        return self.exchanges.values()
