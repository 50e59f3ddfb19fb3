"""A server under examination: what was tried, what was seen, and which cause explains it.

Almost everything is read off the trace of one real client, in which secrets are masked. Text of a server is quoted from
this trace only, never from an exception.

A `Symptom` is a row of a table: an id for programs, a function that recognises it, a sentence and advice. The function
returns None where it does not fit, else the words for sentence and advice. The first row that fits decides, so tables
go from certain to likely causes. Second attempts are made only where the first leaves the cause open; they return plain
values and raise nothing.
"""

import re
import socket
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ...deadline import clock
from ...errors import (
    UNSUPPORTED_PROTOCOL_VERSION, AuthError, ConnectFailed, ConnectionLost, HttpStatus, McpError, PeerError,
    PeerProtocolError, RequestTimeout, TransportError,
)
from ...jsontext import dumps
from ...limits import Limits
from ...methods import INITIALIZE
from ...urls import Url, scheme_of
from ...wiretrace import (
    BODY, CLIENT, END, GAP, MESSAGE, OPEN, PROCESS, REQUEST, RESPONSE, SERVER, SSE_EVENT, STDERR, Event, Trace,
)
from ..output import one_line

if TYPE_CHECKING:
    from ...client import Client
    from ...transports.lines.sockets import Address

COMMAND, HTTP, SOCKET = "command", "http", "socket"
"""The kinds of servers."""
_AGAIN, _GRACE = 3.0, 0.2
_MOST_EVENTS = 2000
_QUOTED = 300
"""The characters that are quoted of one line."""
_OWN_WORDS = re.compile(
    r"^cannot start ('[^']*'|\"[^\"]*\"): |; last stderr lines:.*|; looked in the child's PATH: .*"
    r"|[:;] it wants authorization: .*|; use era=.*|[:;] ask for the path of the server's endpoint; .*",
    re.DOTALL)
"""The parts of an error that are told in other words: the server's stderr, the PATH, and advice for Python programs."""


class SeenExchange(NamedTuple):
    """An HTTP request and what came of it. Names of fields are in lower case."""

    method: str
    target: str
    sent: Dict[str, str]
    status: int
    """The status; 0 where no response came."""
    fields: Dict[str, str]
    body: str
    """The beginning of the body."""
    complete: bool


class Patient:
    """The server and the evidence.

    ``target``: as `mcp_ref.client.connect` takes it, with ``arguments`` that say how it is reached. ``trace`` returns
    the trace that gives its events to a function.
    """

    words: List[str]
    """The words of a command."""
    env: Dict[str, str]
    """The environment that a command gets."""
    where: Url
    """The address of an HTTP server."""
    address: "Address"
    """The address of a socket."""
    through = ""
    """The host and port of the proxy in between; "" for none."""
    client: "Client"
    late: Optional[float] = None
    """The seconds after which a server answered that had been silent, when it was asked again."""

    def __init__(self, target: Any, arguments: Dict[str, Any], era: Optional[str], limits: Limits,
                 trace: Callable[[Callable[[Event], None]], Trace]) -> None:
        self.target = target
        self.arguments = arguments
        self.era = era
        self.limits = limits
        self.kind = {"http": HTTP, "https": HTTP, "tcp": SOCKET, "unix": SOCKET}.get(scheme_of(target), COMMAND)
        self.events: List[Event] = []
        self.trace = trace(self._take)
        self.step = ""
        """The name of the step under way."""
        self.error: Optional[BaseException] = None
        """The error that ended it."""

    def _take(self, event: Event) -> None:
        if len(self.events) < _MOST_EVENTS:
            self.events.append(event)

    def connect(self, url: str = "", era: Optional[str] = None, limits: Optional[Limits] = None) -> "Client":
        """Return a connected client of ours; with another address, era or limits than the server's own."""
        from ...client import connect

        return connect(url or self.target, trace=self.trace, limits=limits or self.limits, era=era or self.era,
                       stderr=False if self.kind == COMMAND else None, **self.arguments)

    @property
    def again_seconds(self) -> float:
        """The time for the handshake that a silent server has when it is started again."""
        return min(2 * self.limits.initialize_timeout, _AGAIN)

    def waiting(self, seconds: float) -> Limits:
        """Return the limits for another look at a server, which has so many seconds for the handshake."""
        return replace(self.limits, initialize_timeout=seconds, shutdown_grace=min(_GRACE, self.limits.shutdown_grace))

    # What was seen

    def quote(self, text: str) -> str:
        """Return words of a server on one line, not too long and without secrets."""
        line = one_line(self.trace.masker.text(text))
        return line if len(line) <= _QUOTED else line[:_QUOTED] + "..."

    def said_by(self, error: BaseException) -> str:
        """Return what an error says, without what is told elsewhere."""
        citation = getattr(error, "citation", "")
        text = str(error) or type(error).__name__
        return self.quote(_OWN_WORDS.sub("", text[:-len(citation) - 3] if citation else text)).rstrip(".")

    @property
    def lives(self) -> List[List[Event]]:
        """The events from each start of the process on; of a server that is not started here, one list."""
        found: List[List[Event]] = [[]]
        for event in self.events:
            if event.kind == PROCESS and event.more.get("did") == "start":
                found.append([])
            found[-1].append(event)
        return found[1:] or found

    @property
    def stderr(self) -> List[str]:
        """The lines that the process wrote on its standard error in all of its lives; what each of them said, once.

        They are read by a thread of their own, so a line may be told before the start of the process that wrote it.
        """
        lines = [event.text for event in self.events if event.kind == STDERR]
        once = lines[:len(lines) // len(self.lives)]
        return once if lines == once * len(self.lives) else lines

    @property
    def exit_code(self) -> Optional[int]:
        """The code with which the process ended by itself the last time; None if we ended it, or it runs."""
        for event in self.lives[-1]:
            if event.kind == PROCESS and event.more.get("did") in ("stdin-closed", "signal"):
                return None
            if event.kind == PROCESS and event.more.get("did") == "exit":
                code: int = event.more["code"]
                return code
        return None

    @property
    def noise(self) -> List[str]:
        """The lines that came instead of messages."""
        return [event.text for event in self.events
                if event.kind == MESSAGE and event.direction == SERVER and event.message is None]

    @property
    def answers(self) -> List[Dict[str, Any]]:
        """The JSON objects of the server that are no requests and no notifications."""
        return [event.message for event in self.events if event.kind == MESSAGE and event.direction == SERVER
                and isinstance(event.message, dict) and "method" not in event.message]

    @property
    def requests(self) -> List[Dict[str, Any]]:
        """The requests of the server."""
        return [event.message for event in self.events if event.kind == MESSAGE and event.direction == SERVER
                and isinstance(event.message, dict) and "method" in event.message and "id" in event.message]

    @property
    def asked(self) -> List[Dict[str, Any]]:
        """Our requests."""
        return [event.message for event in self.events if event.kind == MESSAGE and event.direction == CLIENT
                and isinstance(event.message, dict) and "method" in event.message and "id" in event.message]

    @property
    def transport(self) -> str:
        """The name of the transport that was opened last; "" for none."""
        return next((str(event.more["transport"]) for event in reversed(self.events) if event.kind == OPEN), "")

    @property
    def exchanges(self) -> List[SeenExchange]:
        """The HTTP exchanges in their order."""
        by_number: Dict[int, Dict[str, Any]] = {}
        for event in self.events:
            if event.exchange:
                _into(by_number.setdefault(event.exchange, {"sent": {}, "fields": {}}), event)
        return [SeenExchange(each.get("method", ""), each.get("target", ""), each["sent"], each.get("status", 0),
                             each["fields"], each.get("body", ""), each.get("complete", False))
                for each in by_number.values()]


def _into(exchange: Dict[str, Any], event: Event) -> None:
    """Add an event to what is known of its exchange."""
    more = event.more
    if event.kind == REQUEST:
        exchange.update(method=more.get("method", ""), target=more.get("target", ""), sent=_fields(more))
    elif event.kind == RESPONSE:
        exchange.update(status=more.get("status", 0), fields=_fields(more))
    elif event.kind == END:
        exchange["complete"] = more.get("complete", False)
    elif event.direction == SERVER and event.kind in (MESSAGE, BODY, SSE_EVENT, GAP) and "body" not in exchange:
        exchange["body"] = _text(event)


def _fields(more: Any) -> Dict[str, str]:
    return {name.lower(): value for name, value in more.get("fields") or ()}


def _text(event: Event) -> str:
    """Return a body as text; of an error of JSON-RPC its message."""
    value = event.message if event.kind == MESSAGE else event.more.get("json")
    error = value.get("error") if isinstance(value, dict) else None
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        return str(error["message"])
    if value is not None:
        from ...jsontext import dumps

        return dumps(value)
    return event.text or str(event.more.get("text") or event.more.get("data") or "")


Finding = Optional[Dict[str, Any]]
"""The words that a sentence needs; None: it is not this."""
Doubt = (McpError, OSError, ValueError)
"""The errors by which a look ends that finds nothing."""


_MOST_BYTES = 200
_PATIENCE = 3.0
"""The seconds that another path has to answer."""
_END = 1.5
"""The seconds that a silent server has to end when its input does."""
_PATHS = ("/mcp", "/sse", "/mcp/", "/")
"""The paths at which servers usually are."""


def again_without_probe(patient: Patient) -> Optional[float]:
    """Start a silent server again and send `initialize` first. Returns the seconds to its answer; None without one."""
    began = clock()
    try:
        with patient.connect(era="legacy", limits=patient.waiting(patient.again_seconds)):
            return clock() - began
    except Doubt as error:
        patient.error = error
        return None


def answers_at_the_end(patient: Patient) -> bool:
    """Start a silent server again, send `initialize`, and close its input. Returns True if it answers then."""
    from ...transports.lines.process import spawn

    opening = next((event.message for event in reversed(patient.events) if event.kind == MESSAGE
                    and event.direction == CLIENT and event.message.get("method") == "initialize"), None)
    if opening is None:
        return False
    try:
        child = spawn(patient.words, patient.env, patient.arguments.get("cwd"), "ring", patient.limits)
    except ConnectFailed:
        return False
    try:
        child.stdin.write(dumps(opening).encode("ascii") + b"\n")
        child.stdin.close()
        return child.wait(min(_END, patient.limits.initialize_timeout)) and b'"result"' in child.stdout.read()
    except OSError:
        return False
    finally:
        child.end(0.0, patient.limits.terminate_grace)
        child.release()


def elsewhere(patient: Patient) -> str:
    """Return the URL of an MCP server at one of the usual paths of the same origin; "" for none."""
    limits = patient.waiting(min(_PATIENCE, patient.limits.initialize_timeout))
    for path in _PATHS:
        if path == patient.where.path:
            continue
        url = patient.where._replace(path=path, query="").url
        try:
            with patient.connect(url, limits=limits):
                return url
        except HttpStatus as error:
            if error.status == 401:
                return url
        except Doubt:
            pass
    return ""


def first_words(patient: Patient, say: bytes = b"") -> str:
    """Return the first line that the port says, after it was sent these bytes; "" for nothing."""
    if patient.through:
        return ""
    try:
        with socket.create_connection(_host_and_port(patient), patient.limits.connect_timeout) as sock:
            sock.sendall(say)
            data = sock.recv(_MOST_BYTES)
    except OSError:
        return ""
    return patient.quote(data.decode("latin-1").splitlines()[0]) if data.strip() else ""


def speaks_tls(patient: Patient) -> bool:
    """Return True if the port takes a TLS handshake, whatever its certificate."""
    import ssl

    return bool(_host_and_port(patient)[0]) and _handshake(patient, ssl.CERT_NONE) is not None


def names_in_certificate(patient: Patient) -> str:
    """Return the names that the server's certificate is for, if it is to be trusted."""
    import ssl

    shown = _handshake(patient, ssl.CERT_REQUIRED) or {}
    return patient.quote(", ".join(str(value) for _, value in shown.get("subjectAltName", ()))) or "other names"


def _handshake(patient: Patient, verify: Any) -> Optional[Dict[str, Any]]:
    """Return the certificate after a TLS handshake by any name, {} if it is not verified; None if that failed."""
    if patient.through:
        return None
    import ssl

    try:
        context = ssl.create_default_context(cafile=patient.arguments.get("cafile"))
        context.check_hostname = False
        context.verify_mode = verify
        host, port = _host_and_port(patient)
        with socket.create_connection((host, port), patient.limits.connect_timeout) as sock:
            with context.wrap_socket(sock, server_hostname=host) as secure:
                return dict(secure.getpeercert() or {})
    except (OSError, ValueError):
        return None


def _host_and_port(patient: Patient) -> Any:
    place: Any = patient.where if hasattr(patient, "where") else patient.address
    return place.host, place.port


def login(patient: Patient, error: HttpStatus) -> Dict[str, str]:
    """Return ``issuer``, the authorization server that the server names, or ``problem``, why there is none."""
    from ...auth.discover import discover, find, parse
    from ...auth.fetch import AddressPolicy, Fetcher

    challenges = parse(error.challenges)
    limits = replace(patient.limits, auth_timeout=patient.limits.initialize_timeout)
    fetcher = Fetcher(limits, cafile=patient.arguments.get("cafile"), reach=AddressPolicy(patient.where.url))
    try:
        found = discover(fetcher, patient.where.url, challenges)
    except AuthError as failed:
        return {"metadata": find(challenges, "resource_metadata") or "", "problem": patient.said_by(failed)}
    return {} if found.legacy else {"issuer": found.server.issuer}


class Cause(NamedTuple):
    """The one cause that was found."""

    id: str
    sentence: str
    advice: str


class Symptom(NamedTuple):
    """A row of the tables; sentence and advice are formats for the words that ``seen`` returns."""

    id: str
    seen: Callable[[Patient], Finding]
    sentence: str
    advice: str


def decide(patient: Patient, table: Sequence[Symptom]) -> Cause:
    """Return the cause of ``patient.error``."""
    for row in (*FIRST, *table, *LAST):
        words = row.seen(patient)
        if words is not None:
            return Cause(row.id, row.sentence.format(**words), row.advice.format(**words))
    raise LookupError("the last row fits everything")


def fails_at(step: str) -> Callable[[Patient], Finding]:
    """Return a function that recognises any error of a step, in its own words."""
    return lambda patient: {"said": patient.said_by(patient.error)} if patient.step == step and patient.error else None


# What servers of all kinds have in common: the conversation itself

LISTS = "lists"
"""The step after the handshake."""


def _no_common_revision(patient: Patient) -> Finding:
    error = patient.error
    if isinstance(error, PeerError) and error.code == UNSUPPORTED_PROTOCOL_VERSION:
        return {"said": patient.said_by(error)}
    if isinstance(error, PeerProtocolError) and ("Negotiation" in error.citation or "Matrix" in error.citation or (
            "speaks revision" in str(error))) and ": expected " not in str(error):
        return {"said": patient.said_by(error)}
    return None


def _initialize_refused(patient: Patient) -> Finding:
    error = patient.error
    if isinstance(error, PeerError) and patient.step != LISTS:
        return {"method": error.method, "code": error.code, "said": patient.quote(error.message)}
    return None


def answers_unusably(patient: Patient) -> bool:
    """Return True if the server answered in time, but by something that is no usable message."""
    return "could not be used" in str(patient.error)


def _bad_result(patient: Patient) -> Finding:
    is_it = patient.step != LISTS and (isinstance(patient.error, PeerProtocolError) or answers_unusably(patient))
    return {"said": patient.said_by(patient.error), "method": _asked_last(patient)} if is_it and patient.error else None


def _session_lost(patient: Patient) -> Finding:
    forgot = any(seen.status == 404 and "mcp-session-id" in seen.sent for seen in patient.exchanges)
    if not forgot or not isinstance(patient.error, ConnectionLost):
        return None
    return {"said": patient.said_by(patient.error)}


def _dies_later(patient: Patient) -> Finding:
    if patient.step == LISTS and isinstance(patient.error, ConnectionLost):
        return {"method": _asked_last(patient), "said": patient.said_by(patient.error)}
    return None


def _list_silent(patient: Patient) -> Finding:
    is_it = patient.step == LISTS and isinstance(patient.error, RequestTimeout)
    return {"method": _asked_last(patient)} if is_it else None


def _list_fails(patient: Patient) -> Finding:
    if patient.step == LISTS and patient.error is not None:
        return {"method": _asked_last(patient), "said": patient.said_by(patient.error)}
    return None


def _cut(patient: Patient) -> Finding:
    is_it = isinstance(patient.error, ConnectionLost) or "no answer came" in str(patient.error)
    return {"said": patient.said_by(patient.error)} if is_it and patient.error else None


def _never_answers(patient: Patient) -> Finding:
    seconds = patient.limits.initialize_timeout
    return {"seconds": seconds} if isinstance(patient.error, RequestTimeout) else None


def _unknown(patient: Patient) -> Finding:
    return {"said": patient.said_by(patient.error or TransportError("no error"))}


def _asked_last(patient: Patient) -> str:
    methods = [str(asked["method"]) for asked in patient.asked]
    lists = [method for method in methods if method.endswith("/list")] if patient.step == LISTS else methods
    return lists[-1] if lists else INITIALIZE


_RECORD = "--trace=FILE records everything for its author; secrets are masked there."
FIRST: Tuple[Symptom, ...] = (
    Symptom("session-lost", _session_lost,
            "The server forgets the session that it has just given: {said}.",
            "Several workers or machines without a common store do that: let one process serve, share sessions, or "
            "serve without (sessions=\"none\")."),
    Symptom("dies-later", _dies_later,
            "The server shook hands, and then ended when it was asked {method}: {said}.",
            "The fault is in how the server makes this list: look at what it wrote on stderr. " + _RECORD),
    Symptom("list-silent", _list_silent,
            "The server shook hands, and then did not answer {method}.",
            "Most often it waits for something else, such as a network: look at its own log. --timeout waits longer."),
    Symptom("list-fails", _list_fails,
            "The server shook hands, but {method} fails: {said}.",
            "The fault is in how the server makes this list. " + _RECORD),
    Symptom("no-common-revision", _no_common_revision,
            "Client and server have no revision of the protocol in common: {said}.",
            "Leave --revision and --era out, if they were given; else update the server, or the host that uses it."),
)
"""The rows that come before those of each kind of servers: what went well until then rules all of those out."""

LAST: Tuple[Symptom, ...] = (
    Symptom("initialize-refused", _initialize_refused,
            "The server refuses {method} with error {code}: {said}",
            "It runs and understands us, so what it misses is on its side: look at its log and its settings, "
            "credentials above all. Another revision may do: --era legacy, --revision 2025-06-18."),
    Symptom("bad-result", _bad_result,
            "The server's answer to {method} breaks the protocol: {said}.",
            "Tell the server's author; `explain` and `check` name the rule. " + _RECORD),
    Symptom("cut", _cut,
            "Something accepts the connection and ends it without an answer: {said}.",
            "Look whether it is the right port, and at the log of the server, or of a proxy in front of it."),
    Symptom("never-answers", _never_answers,
            "The server takes what it is sent and answered nothing in {seconds:g} s.",
            "Look whether it is an MCP server at all, and what it waits for: a download, a login, a lock, a prompt. "
            "--timeout SECONDS waits longer."),
    Symptom("unknown", _unknown,
            "{said}.",
            _RECORD),
)
"""The rows that come after those of each kind; the last one fits everything."""
