"""The course of a conversation: the revision that is in force for a message, whether it is new, and what it changes.

Methods and results that an extension adds are known here, too, with the party that has to declare the extension.
`mcp_ref.devtools.checker.checker` asks for each message; what is judged is not decided here.
"""

from functools import lru_cache
from typing import Any, Dict, Optional, Tuple

from ...messages.extensions.tasks import TASK
from ...methods import CALL_TOOL, EXTENSION_METHODS, NOTIFICATION, SENDER, TASKS, Method, known_since, lookup
from ...revisions import LATEST_HANDSHAKE, NAMES, Revision, revision
from ...wiretrace import CLIENT, SERVER
from . import observed, rules
from .observed import META_CAPABILITIES, META_REVISION, META_TASK, Message, ObservedExchange, ObservedSession, content

ADDED = frozenset(row.name for row in EXTENSION_METHODS)
_RESERVED = ("tasks/", "notifications/tasks/", "skills/")
"""The beginnings of methods that the official extensions keep to themselves."""
RESULTS = {(CALL_TOOL, TASK): (TASKS, "extensions.tasks:TaskCreated")}
"""Method and type of a result -> the extension that adds it, which the client declares, and its class."""


@lru_cache(maxsize=1024)
def _known(name: str, revision: Revision) -> Optional[Method]:
    return next((row for row in EXTENSION_METHODS if row.name == name and revision.has(row.since, row.until)), None)


def added(message: Message, revision: Revision) -> Optional[Method]:
    """Return the row of a message's method, or of its request's, if an extension that is declared adds it.

    Nothing tells before a notification of a server whether it has the extension, so one whose capabilities are not
    known is taken to have it.
    """
    row = _known(message.method, revision) if len(message.method) < _LONG else None
    if row is None or row.extension is None:
        return None
    asked = message.request or message
    holder = asked.sender if row.holder == SENDER else asked.receiver
    known = message.has_extension(holder, row.extension)
    return row if known or (known is None and row.kind == NOTIFICATION) else None


_LONG = 64
"""Characters of a name that is no method of an extension any more."""


def is_reserved(method: str, revision: Revision) -> bool:
    """Return True for a name that an official extension reserves, and that is no method of it."""
    return revision.stateless and method.startswith(_RESERVED) and method not in ADDED


def added_result(message: Message) -> Optional[str]:
    """Return the class of a result whose type an extension adds, if the client has declared it."""
    kind = message.result.get("resultType")
    extension, path = RESULTS.get((message.method, kind), ("", "")) if isinstance(kind, str) else ("", "")
    return path if extension and message.has_extension(CLIENT, extension) else None


def settle(message: Message, exchange: ObservedExchange) -> None:
    """Give a request without session id that opens a session, or needs none, to the default session."""
    connection, named = message.connection, message.meta.get(META_REVISION)
    opens = message.method == "initialize"
    stateless = isinstance(named, str) and named in NAMES and revision(named).stateless
    if not (opens or stateless) or exchange.header("mcp-session-id") is not None or connection.transport == "http+sse":
        return
    if opens and connection.default.initialize is not None:
        connection.default = ObservedSession(connection)  # a handshake without session id opens another
        connection.mixed = True
        connection.default.from_start = False
    message.session = exchange.session = connection.default


def revision_in_force(message: Message) -> Optional[Revision]:
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


def follow(message: Message) -> None:
    """Note what a message changes in its session, after it was judged."""
    session, request = message.session, message.request
    if message.kind in (observed.RESULT, observed.ERROR):
        if request is not None and request.answer is None:
            request.answer, request.answered = message.kind, message.time
    elif message.method == "notifications/cancelled" and request is not None and request.cancelled is None:
        request.cancelled = message.time
    if message.method in _OPENING:
        _open(message)
    if message.kind == observed.REQUEST and message.revision is not None and message.revision.stateless and (
            session.initialize_result is None):
        session.revision = message.revision
        session.capabilities[CLIENT] = _object(message.meta.get(META_CAPABILITIES))


_OPENING = frozenset(("initialize", "notifications/initialized", "server/discover"))
"""The methods that change a session."""


def _open(message: Message) -> None:
    """Note what a message tells of its session: revision, capabilities, names."""
    session = message.session
    if message.kind == observed.REQUEST and message.method == "initialize" and message.sender == CLIENT:
        if session.initialize is None:
            session.initialize = message
            session.revision = None  # a probe before it was of another revision
            session.capabilities[CLIENT] = _object(message.params.get("capabilities"))
            session.info[CLIENT] = _object(message.params.get("clientInfo")) or {}
    elif message.kind == observed.RESULT and message.method == "initialize" and message.request is session.initialize:
        if session.initialize_result is None:
            session.initialize_result = message
            session.revision = message.revision
            session.capabilities[SERVER] = _object(message.result.get("capabilities"))
            session.info[SERVER] = _object(message.result.get("serverInfo")) or {}
            _named(message)
    elif message.method == "notifications/initialized" and message.kind == observed.NOTIFICATION:
        session.initialized = session.initialized or message
    elif message.method == "server/discover" and message.kind == observed.RESULT and (
            session.initialize_result is None):
        session.capabilities[SERVER] = _object(message.result.get("capabilities"))


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
        message.connection.default = ObservedSession(message.connection)


def is_ambiguous(message: Message) -> bool:
    """Return True for a response to one of two requests that had the same id at one time: nobody knows to which."""
    asked = message.request if message.kind in (observed.RESULT, observed.ERROR) else None
    if asked is None or asked.pending is None:
        return False
    return message.exchange is None or message.sender != SERVER or asked is not message.exchange.request


def is_astray(message: Message) -> bool:
    """Return True for a request or a notification of the wrong party, and for a response to such a request."""
    asked = message.request if message.kind in (observed.RESULT, observed.ERROR) else message
    return asked is not None and _sender(message.method) not in (asked.sender, "both")


@lru_cache(maxsize=1024)
def _sender(method: str) -> str:
    """Return the party that sends a method: client or server; both, if either does in some revision, or it is unknown.
    """
    rows = [lookup(method, revision) for revision in known_since(method)]
    senders = {row.sender for row in rows if row is not None}
    return senders.pop() if len(senders) == 1 else "both"


def request_moments(message: Message) -> Tuple[str, ...]:
    """Return the moments of questions, answers and outcomes that a message is, however they travel."""
    kind, stateless = message.kind, message.revision is not None and message.revision.stateless
    if kind == observed.REQUEST:
        if message.sender == SERVER:
            return (rules.ASKED,)
        return (rules.ANSWERED,) if stateless and _goes_on(message) else ()
    if kind == observed.NOTIFICATION and "fresh" in message.notes:
        return (rules.ASKED,)
    if kind not in (observed.RESULT, observed.ERROR):
        return ()
    if message.sender == CLIENT:
        return (rules.ANSWERED,)
    found: Tuple[str, ...] = ()
    if "fresh" in message.notes or stateless and message.result.get("resultType") == "input_required":
        found = (rules.ASKED,)
    if stateless and message.request is not None and _goes_on(message.request):
        found += (rules.OUTCOME,)
    return found


def is_of_task(message: Message) -> bool:
    """Tell whether a message is about a task."""
    asked = message.request or message
    return "task" in asked.params or META_TASK in message.meta or META_TASK in asked.meta or (
        "tasks/" in message.method or message.method == "notifications/progress")


def _goes_on(request: Message) -> bool:
    return "inputResponses" in request.params or "requestState" in request.params


def replayed(message: Message) -> bool:
    """Tell whether a message is an event that was sent before, on the stream that this one resumes or on another.

    It is no new message then: a recorder before the client sees twice what was lost behind it. A second response is
    known by its request.
    """
    exchange, id = message.exchange, message.sse.get("id") if message.sse else None
    if exchange is None or type(id) is not str or not id or message.kind not in (
            observed.REQUEST, observed.NOTIFICATION):
        return False
    events, said = message.session.events, content(message.data)
    message.notes["content"] = said
    if exchange.method == "GET" and exchange.header("last-event-id") is not None and events.get(id) == said:
        return True
    events[id] = said
    return False


def _object(value: Any) -> Optional[Dict[str, Any]]:
    return value if isinstance(value, dict) else None
