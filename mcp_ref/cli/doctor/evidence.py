"""A server under examination: how it is to be reached, what was tried, what was seen.

Almost everything is read off the trace of one real client, in which secrets are masked. So what is quoted of a server
comes from here, and never from an exception as it stands.
"""

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional

from ...errors import McpError
from ...limits import Limits
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
