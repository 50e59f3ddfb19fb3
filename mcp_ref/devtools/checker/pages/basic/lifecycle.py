"""Rules of the handshake, and of what was negotiated in it [..2025-11-25 basic/lifecycle].

Versions are judged in `mcp_ref.devtools.checker.pages.basic.versioning`.
"""

from typing import Any, Dict, List, Optional, Union

from .....methods import LOG_MESSAGE, NOTIFICATION as A_NOTIFICATION, SENDER, known_since, lookup
from .....wiretrace import CLIENT, SERVER
from ...observed import (
    ERROR, META_REVISION, NOTIFICATION, REQUEST, RESULT, Message, ObservedBatch, ObservedConnection, ObservedSession,
)
from ...rules import BATCH, FINISH, KEPT, UNDECIDED, Broken, CannotTell, Verdict, observe, rule
from ...values import short, typed

UNDECIDED.update({
    "lifecycle.error-version-mismatch": "being prepared is inside the party; a trace shows only what happened",
    "lifecycle.error-capabilities": "being prepared is inside the party; a trace shows only what happened",
    "lifecycle.error-request-timeout": "being prepared is inside the party; a trace shows only what happened",
    "lifecycle.error-initialize-timeout": "being prepared is inside the party; a trace shows only what happened",
    "lifecycle.error-shutdown-timeout": "being prepared is inside the party; a trace shows only what happened",
})

_BEFORE = ("initialize", "ping", "notifications/message")
"""Methods that may come before the handshake: pings, and the server's log."""


class EarlyMessages:
    """The first message of a session that came before `initialize`, and the first request before `initialized`."""

    def __init__(self) -> None:
        self.first: Optional[Message] = None
        self.unready: Optional[Message] = None
        self.told = False
        """True once the client was said to have gone on too early: what it does then is no other fault."""


class Served:
    """The features that a party has served though it has not declared them: who asks for more of it knows that."""

    def __init__(self) -> None:
        self.features: Dict[str, None] = {}


@rule("lifecycle.init-first", on=(REQUEST, FINISH), method=("initialize", ""), party=SENDER, always=True, scene="""
    on stdio 2025-06-18 bare
  - C #0 tools/list {}
  - S #0 {"tools": []}
    C #1 initialize {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    S #1 {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    C notifications/initialized
""")
def init_first(message: Union[Message, ObservedConnection]) -> Verdict:
    """A session begins with the handshake; only pings and log messages may come before it."""
    if isinstance(message, ObservedConnection):
        return _never_opened(message)
    if message.sender != CLIENT or message.session.initialize is not None:
        return None
    first = message.session.state(EarlyMessages).first
    if first is None:
        return KEPT if message.session.from_start else CannotTell("the beginning of the session")
    if message.exchange is not None and first.session.id is None and message.connection.transport != "http+sse":
        return CannotTell("which client it was, without session ids")
    return Broken("%s before initialize" % first.method, party=first.sender, at=first)


def _never_opened(connection: ObservedConnection) -> Verdict:
    """Return the verdict about a connection without handshake, and without a request that names its revision."""
    first = connection.default.state(EarlyMessages).first
    if first is None or connection.transport == "streamable-http" or connection.revision is not None:
        return None
    if not connection.default.from_start or connection.default.initialize is not None or connection.noise[CLIENT]:
        return None
    if first.method == "server/discover":
        return None
    return Broken("%s, but never initialize" % short(first.method), party=first.sender, at=first)


_OPENING = """
    on stdio 2025-06-18 bare
  + C #1 initialize {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
  - C #1 initialize %s
    S #1 {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    C notifications/initialized
"""


@rule("lifecycle.init-protocol-version", on=REQUEST, method="initialize",
      scene=_OPENING % '{"capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}')
def init_protocol_version(message: Message) -> Verdict:
    """The request `initialize` names a version, a string."""
    return None if message.sender != CLIENT else _member(message.params.get("protocolVersion"), str, "protocolVersion")


@rule("lifecycle.init-capabilities", on=REQUEST, method="initialize",
      scene=_OPENING % '{"protocolVersion": "2025-06-18", "clientInfo": {"name": "c", "version": "1"}}')
def init_capabilities(message: Message) -> Verdict:
    """The request `initialize` has the client's capabilities, an object."""
    return None if message.sender != CLIENT else _member(message.params.get("capabilities"), dict, "capabilities")


@rule("lifecycle.init-client-info", on=REQUEST, method="initialize",
      scene=_OPENING % '{"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c"}}')
def init_client_info(message: Message) -> Verdict:
    """The request `initialize` says which client it is, by name and version."""
    return None if message.sender != CLIENT else _info(message.params.get("clientInfo"), "clientInfo")


def _member(value: object, kind: type, name: str) -> Verdict:
    return KEPT if isinstance(value, kind) else Broken("%s is %s" % (
        name, "missing" if value is None else typed(value)), name)


def _info(value: object, name: str) -> Verdict:
    if not isinstance(value, dict):
        return _member(value, dict, name)
    missing = [each for each in ("name", "version") if not isinstance(value.get(each), str)]
    return Broken("%s without %s" % (name, " and ".join(missing)), name) if missing else KEPT


@rule("lifecycle.init-response", on=RESULT, method="initialize", scene="""
    on stdio 2025-06-18 bare
    C #1 initialize {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
  + S #1 {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
  - S #1 {"protocolVersion": "2025-06-18", "capabilities": {}}
    C notifications/initialized
""")
def init_response(message: Message) -> Verdict:
    """The result of `initialize` has a version, the server's capabilities, and its name and version."""
    if message.sender != SERVER:
        return None
    result = message.result
    verdicts = [_member(result.get("protocolVersion"), str, "protocolVersion"),
                _member(result.get("capabilities"), dict, "capabilities"),
                _info(result.get("serverInfo"), "serverInfo")]
    return next((each for each in verdicts if each is not KEPT), KEPT)


def phase(subject: object) -> Any:
    """Return the facts about the stage of a session in which a method is used, if it is before or after a handshake.

    During it, in a gap, and for methods that the revision does not have, what is judged itself.
    """
    if type(subject) is not Message or subject.revision is None or not subject.connection.recorded:
        return subject
    session, method, revision = subject.session, subject.method, subject.revision
    if session.initialize is not None and (session.initialized is None or session.initialize_result is None):
        return subject
    if lookup(method, revision) is None:
        return subject
    return method, subject.sender, subject.kind, revision.rank, session, session.initialize, session.initialized


@rule("lifecycle.initialized-notification", on=(REQUEST, FINISH), party=CLIENT, follows="session:jsonrpc.*",
      facts=phase, scene="""
    on stdio 2025-06-18 bare
    C #1 initialize {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    S #1 {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
  + C notifications/initialized
    C #2 tools/list {}
    S #2 {"tools": []}
""")
def initialized_notification(subject: object) -> Verdict:
    """After the handshake the client sends `notifications/initialized` before it goes on."""
    connection = subject if isinstance(subject, ObservedConnection) else getattr(subject, "connection")
    if not connection.recorded:
        return CannotTell("what was lost in a gap")
    if isinstance(subject, ObservedConnection):
        unready = [] if not subject.http else [each.state(EarlyMessages).unready for each in sessions_of(subject)
                                               if each.initialized is None]
        late: List[Message] = [each for each in unready if each is not None]
        return Broken("%s, but never notifications/initialized" % late[0].method, at=late[0]) if late else None
    if not isinstance(subject, Message) or subject.sender != CLIENT or not _is_work(subject):
        return None
    session = subject.session
    if session.initialize_result is None:
        return None
    if session.initialized is not None:
        return KEPT
    if subject.connection.http:  # two POSTs may overtake each other: told at the end
        return None if session.id is not None else CannotTell("which client it was, without session ids")
    return _once(subject, "%s, but not yet notifications/initialized" % subject.method)


def _once(message: Message, evidence: str) -> Verdict:
    early = message.session.state(EarlyMessages)
    told, early.told = early.told, True
    return None if told else evidence


def _is_work(message: Message) -> bool:
    return message.method not in ("initialize", "ping") and (
        message.revision is None or message.revision.handshake)


def sessions_of(connection: ObservedConnection) -> List[ObservedSession]:
    """Return the sessions of a connection that are remembered."""
    return [*connection.sessions.values(), connection.default]


@rule("lifecycle.client-no-early-requests", on=REQUEST, when="client", follows="session:jsonrpc.*",
      facts=phase, scene="""
    on stdio 2025-06-18 bare
    C #1 initialize {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
  + C #2 ping
  - C #2 tools/list {}
    S #1 {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    C notifications/initialized
  + S #2 {}
  - S #2 {"tools": []}
""")
def client_no_early_requests(message: Message) -> Verdict:
    """Until `initialize` is answered the client requests nothing but pings."""
    opened = message.session.initialize
    if message.sender != CLIENT or opened is None or message.method == "initialize":
        return None
    if opened.answer is not None or message.method == "ping":
        return KEPT
    if message.connection.http:
        return CannotTell("which client it was: no session id was given yet")
    return _once(message, "%s before the answer to initialize" % message.method)


@rule("lifecycle.server-no-early-requests", on=REQUEST, when="server", follows=(
    "session:lifecycle.initialized-notification", "session:jsonrpc.*"), scene="""
    on stdio 2025-06-18 bare
    C #1 initialize {"protocolVersion": "2025-06-18", "capabilities": {"roots": {}}, "clientInfo": {"name": "c", \
"version": "1"}}
    S #1 {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
  - S #1 roots/list
    C notifications/initialized
  + S #1 roots/list
    C #1 {"roots": []}
""")
def server_no_early_requests(message: Message) -> Verdict:
    """Until `notifications/initialized` has come the server requests nothing but pings."""
    if message.sender != SERVER or message.session.initialize is None:
        return None
    if message.session.initialized is not None or message.method == "ping":
        return KEPT
    if message.connection.http and message.session.id is None:
        return CannotTell("which client it was, without session ids")
    if message.connection.http and message.session.state(EarlyMessages).unready is not None:
        return CannotTell("whether notifications/initialized is on its way: two POSTs may overtake each other")
    return "%s before notifications/initialized" % message.method


def _foreign(subject: object) -> Verdict:
    """Return the verdict about a method of another revision, or a batch where there is none."""
    if isinstance(subject, ObservedBatch):
        if subject.session.initialize_result is None or subject.revision is None or not subject:
            return None
        return KEPT if subject.revision.batching else "a batch of %d messages" % len(subject)
    if not isinstance(subject, Message) or subject.revision is None or subject.session.initialize_result is None:
        return None
    if lookup(subject.method, subject.revision) is not None:
        return KEPT
    since = known_since(subject.method)
    return "%s is of %s" % (subject.method, " and ".join(each.name for each in since)) if since else None


@rule("lifecycle.respect-version", on=(REQUEST, NOTIFICATION, BATCH), follows=("http.*", "stdio.*"),
      facts=phase, scene="""
    on stdio 2025-06-18
  + C> {"jsonrpc": "2.0", "id": 1, "method": "ping"}
  - C> [{"jsonrpc": "2.0", "id": 1, "method": "ping"}]
    S #1 {}
""")
def respect_version(subject: object) -> Verdict:
    """In a session nothing is sent that only another revision has: no method of it, and no batch."""
    return _foreign(subject)


@rule("lifecycle.respect-version-should", on=(REQUEST, NOTIFICATION), facts=phase, scene="""
    on stdio 2025-03-26
  + S #1 sampling/createMessage {"messages": [], "maxTokens": 1}
  - S #1 elicitation/create {"message": "Name?", "requestedSchema": {"type": "object", "properties": {}}}
    C #1 !-32601 "Method not found"
""")
def respect_version_should(subject: object) -> Verdict:
    """In a session no method is used that only another revision has."""
    return _foreign(subject)


UNDECLARED = "same:*"
"""The causes of the rules of capabilities: each names the capability as the member, and that it lacks is one cause."""
_USE = ("logging.*", "roots.capability-init", "sampling.*", "elicit.*", "tasks.*", "prompts.capability*", "tools.*",
        "resources.*", "completion.*", UNDECLARED)


def declared_by_client(message: Message, capability: str) -> Verdict:
    """Judge what a client does, and needs a capability for."""
    if message.sender != CLIENT:
        return None
    known = message.has_capability(CLIENT, capability)
    if known is None:
        return CannotTell("the capabilities of the client")
    if not known:
        message.session.state(Served).features[capability] = None
    return KEPT if known else Broken("%s by a client that has not declared %s" % (message.method, capability),
                                     "capabilities." + capability)


def _undeclared(message: Union[Message, ObservedConnection]) -> Verdict:
    """Return the verdict about the use of a capability.

    A notification is judged when it comes. A request is judged with its response, which shows who is at fault: a party
    that serves what it has not declared breaks a rule of that feature. So does a server that sends log messages.
    """
    if isinstance(message, ObservedConnection):
        unanswered = [_undeclared(each) for party in (CLIENT, SERVER) for each in message.pending[party].values()]
        return [each for each in unanswered if isinstance(each, Broken)] or None
    used = message if message.kind in (NOTIFICATION, REQUEST) else message.request
    if used is None or message.revision is None or used.method == LOG_MESSAGE:
        return None
    row = lookup(used.method, message.revision)
    if row is None or row.capability is None or (used.kind == NOTIFICATION) != (row.kind == A_NOTIFICATION) or (
            row.sender not in (used.sender, "both")):
        return None
    holder = used.sender if row.holder == SENDER else used.receiver
    declared = used.has_capability(holder, row.capability)
    if declared is None:
        return CannotTell("the capabilities of the %s" % holder)
    if declared:
        return KEPT
    feature = row.capability.partition(".")[0]
    lacking = row.capability if used.has_capability(holder, feature) else feature
    if message.kind == RESULT and feature != "logging" and lacking == feature:
        return None
    if feature in used.session.state(Served).features and holder != used.sender:
        return None
    return Broken("%s, but the %s has not declared %s" % (used.method, holder, row.capability),
                  "capabilities." + lacking, used.sender, used)


def _use(message: Union[Message, ObservedConnection]) -> Any:
    """Return the facts on which the capability for a result depends, if all are known; else what is judged itself."""
    used = message.request if isinstance(message, Message) and message.kind == RESULT else None
    if used is None or used.revision is None or used.revision.stateless or used.session.mixed or (
            used.session.state(Served).features):
        return message
    known = used.session.capabilities
    return used.method, used.sender, known[CLIENT], known[SERVER]


@rule("lifecycle.negotiated-capabilities", on=(NOTIFICATION, RESULT, ERROR, FINISH), party=SENDER, follows=_USE,
      facts=_use, scene="""
    on stdio 2025-06-18 server={"resources": {}}
    C #1 resources/list {}
    S #1 {"resources": [{"uri": "file:///a", "name": "a"}]}
  + C #2 resources/read {"uri": "file:///a"}
  + S #2 {"contents": [{"uri": "file:///a", "text": "a"}]}
  - C #2 resources/subscribe {"uri": "file:///a"}
  - S #2 !-32601 "Method not found"
""")
def negotiated_capabilities(message: Union[Message, ObservedConnection]) -> Verdict:
    """A party uses a feature only if the one that has to declare its capability has done so."""
    return _undeclared(message)


@rule("lifecycle.negotiated-capabilities-should", "roots.check-capability", on=(NOTIFICATION, RESULT, ERROR, FINISH),
      party=SENDER, follows=_USE, facts=_use, scene="""
    on stdio 2025-03-26 client={"sampling": {}}
  + S #1 sampling/createMessage {"messages": [], "maxTokens": 1}
  - S #1 roots/list
  + C #1 !-1 "User rejected sampling request"
  - C #1 !-32601 "Method not found"
""")
def negotiated_capabilities_should(message: Union[Message, ObservedConnection]) -> Verdict:
    """A party should use a feature only if the one that has to declare its capability has done so, such as roots."""
    if message.revision is not None and message.revision.negotiated_only:
        return None  # there it must, and the other rule says so
    return _undeclared(message)


@observe(on=(REQUEST, NOTIFICATION))
def remember_early(message: Message) -> None:
    """Note the first message of a session that came before its handshake was over."""
    session = message.session
    early = session.state(EarlyMessages)
    if session.initialize is None and message.method not in _BEFORE and early.first is None and (
            META_REVISION not in message.meta and (message.revision is None or message.revision.handshake)):
        early.first = message
    if session.initialize_result is not None and session.initialized is None and early.unready is None and (
            session.id is not None or (message.connection.transport == "http+sse" and not session.mixed)) and (
            message.kind == REQUEST and message.sender == CLIENT and _is_work(message)):
        early.unready = message
