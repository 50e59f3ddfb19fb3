"""The ladder: the checks that a request passes before it is answered, walked in the order of the refusals.

`mcp_ref.protocol.streamable_http.refusals.ORDER` lists for each HTTP method the reasons to refuse a request, first to
last. RUNGS says which method of a `Way` looks for which reason; a way walks those that it has in that order, and then
answers. What the header fields alone decide (host, origin, media type and so on) was found before, by `Rules`.

A POST has this way in common, whatever it brings: `AnyPost`. When its message has been read, it goes on in another:

==================  =================================  ==========================================================
way                 the POST                           what it does
==================  =================================  ==========================================================
`InSession`         has a session id                   gives the message to the connection of that session
`OpeningPost`           is `initialize`, has none          begins a session
`Sessionless`       where there are no sessions        answers it on a connection of its own
`Stateless`         is of 2026-07-28                   answers it on the one connection of all such requests
==================  =================================  ==========================================================

The last is in `stateless`; the ways of GET and DELETE are in `endpoint`, those of HTTP+SSE in `http_sse`.

[2025-03-26..2025-11-25 basic/transports §Sending Messages to the Server] MUST,
[2026-07-28 basic/transports/streamable-http §Sending Messages] MUST.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ... import deadline
from ...diagnostics.packagelog import log_raised
from ...errors import RpcError
from ...http11.message import Exchange
from ...jsonrpc import Batch, Malformed, Notification, Request, RequestId, id_key, parse, shown
from ...methods import INITIALIZE
from ...protocol.streamable_http import refusals
from ...protocol.streamable_http.refusals import MODERN, HeaderVerdict
from ...revisions import R2025_03_26, revision
from ...transports.held import peer_of
from .authenticate import AccessDenied
from .reply_stream import ReplyStream
from .session import HttpSession

if TYPE_CHECKING:
    from .endpoint import Endpoint

ASSUMED = R2025_03_26
"""The revision of a client that sends no version header
[2025-06-18..2025-11-25 basic/transports §Protocol Version Header] SHOULD."""
NO_WAY_BACK = "sessions='none' (--stateless) has no way back to the client: its answer could reach another process"
SESSION_ID = "mcp-session-id"
VERSION = "mcp-protocol-version"


class RequestRefusal(NamedTuple):
    """A refusal that a check has found."""

    reason: str
    """A key of REFUSALS."""
    found: str = ""
    """The part of the text that depends on the request."""
    id: Optional[RequestId] = None
    """The id of the request that the reply names."""
    error: Optional[RpcError] = None
    """The error of the reply where its code or its data are not those of REFUSALS."""
    challenges: Sequence[str] = ()
    """The values of WWW-Authenticate."""


class Case:
    """The case of one HTTP request: the request, and what the checks have found so far."""

    principal: Any = None
    """The sender, as the guard says."""
    frame: Any = None
    """The message of a POST: a `Frame`, or the `Malformed` that says why it is none."""
    session_id: Optional[str] = None
    """The session id that came with the request."""
    session: Any = None
    """The `HttpSession` to which the request belongs."""
    keys: Tuple[Any, ...] = ()
    """The keys under which answers are expected, see `id_key`; () where nothing is to be answered."""
    about: Any = None
    """The key of the answer to a batch, in `Transport.post`."""
    transport: Any = None
    """The `StatelessTransport` that counts the request: if it is closed meanwhile, the endpoint has another one."""
    way: "Optional[Way]" = None
    """The way in which a POST goes on, once its era is known."""
    reply: Optional[ReplyStream] = None
    """The reply of a request of the stateless era."""

    def __init__(self, exchange: Exchange, verdict: HeaderVerdict) -> None:
        self.exchange = exchange
        self.verdict = verdict
        """The judgement of the header fields alone."""

    def id(self) -> Optional[RequestId]:
        """Return the id of the request, to name it in a refusal. A response has the id of a request of ours."""
        return self.frame.id if isinstance(self.frame, Request) else None


Check = Callable[[Case], Optional[RequestRefusal]]
RUNGS: Dict[str, str] = {
    "credentials": "admit", "unchecked": "admit", "principal": "admit",
    "length": "read",
    "scope": "allow",
    "era": "judge_era",
    "no session": "need_session",
    "session": "find_session",
    "body": "need_message",
    "version": "judge_version",
    "batch": "judge_batch",
    "closing": "be_open",
    "fields": "compare_fields",
    "no stream": "offer_stream",
    "busy": "acquire_slot",
    "full": "enter", "full share": "enter",
    "id in use": "expect",
}
"""Reason -> the method of a `Way` that looks for it. The reasons that are not here are found by `Rules`, or by the
answer itself."""


class Way:
    """A way in which requests are answered: its checks are the methods that RUNGS names, and `answer` ends it.

    A way has the checks that it defines; they are walked in its ``order``, whatever the order of their definitions.
    ``guarded``: the checks that are there only where the endpoint has a guard.
    """

    order: Sequence[str] = refusals.ORDER["POST"]
    guarded: Tuple[str, ...] = ("admit", "allow", "acquire_slot")

    def __init__(self, endpoint: "Endpoint") -> None:
        self.endpoint = endpoint
        self.checks: Tuple[Check, ...] = tuple(getattr(self, name) for name in self.rungs())

    def rungs(self) -> List[str]:
        """Return the names of the checks in the order in which they are walked."""
        names = [RUNGS[reason] for reason in self.order if hasattr(self, RUNGS.get(reason, "no check"))]
        if self.endpoint.guard is None:
            names = [name for name in names if name not in self.guarded]
        return list(dict.fromkeys(names))

    def answer(self, case: Case) -> Optional[RequestRefusal]:
        """Answer a request that has passed all checks; returns a refusal that is found only then."""
        raise NotImplementedError


def walk(case: Case, way: Way) -> Optional[RequestRefusal]:
    """Walk the ladder of a way, and answer. Returns the first refusal, and then nothing was sent."""
    while True:
        for check in way.checks:
            refused = check(case)
            if refused is not None:
                return refused
        if case.way is None:
            return way.answer(case)
        way, case.way = case.way, None


# -- Checks that several ways have -------------------------------------------------------------


class Guarded(Way):
    """The checks of the guard: who sends the request, and whether they may have it answered."""

    def admit(self, case: Case) -> Optional[RequestRefusal]:
        """Let the guard find the principal that sends the request, by its header fields."""
        guard: Any = self.endpoint.guard
        exchange = case.exchange
        try:
            principal = case.principal = guard.admit(exchange.request)
        except Exception as error:
            return self._denied(case, error)
        exchange.holder = peer_of(principal if guard.tells_apart else None, None)
        return None

    def allow(self, case: Case) -> Optional[RequestRefusal]:
        """Let the guard decide if this principal may have this message answered."""
        guard: Any = self.endpoint.guard
        frame = case.frame
        try:
            denied: Optional[Exception] = guard.allows(case.principal, None if isinstance(frame, Malformed) else frame)
        except Exception as error:
            denied = error
        return None if denied is None else self._denied(case, denied)

    def _denied(self, case: Case, error: Exception) -> RequestRefusal:
        """Return the refusal for what the guard has raised or returned."""
        if isinstance(error, AccessDenied):
            return RequestRefusal(refusals.DENIED[error.status], error.why, case.id(), None, error.challenges)
        request = case.exchange.request
        log_raised("authenticate", error, "%s %s" % (shown(request.method), shown(request.path)))
        return RequestRefusal("failure", "", case.id())


class ReadBody(Way):
    """The check of the body's size, which also reads the message: the guard is asked about it, whatever it is.

    ``reads_later``: True for a way that calls `parse` itself, in a later check.
    """

    reads_later = False

    def read(self, case: Case) -> Optional[RequestRefusal]:
        """Refuse a body that is too long, and read the message."""
        size = len(case.exchange.request.body)
        if size > self.endpoint.limits.max_message_bytes:
            return RequestRefusal("length", str(size))
        if not self.reads_later:
            self.parse(case)
        return None

    def parse(self, case: Case) -> None:
        """Read the message. One that is none is refused further up, by `need_message`."""
        try:
            frame = case.frame = parse(
                case.exchange.request.body, True, self.endpoint.limits,
                None if self.endpoint.strict else self.endpoint.counters.forgive)
        except Malformed as error:
            case.frame = error
            return
        if type(frame) is Request:
            case.keys = (id_key(frame.id),)


class Posted(Way):
    """The checks of a message that has been read."""

    def need_message(self, case: Case) -> Optional[RequestRefusal]:
        """Refuse a body that is no message."""
        error = case.frame
        if not isinstance(error, Malformed):
            return None
        if case.session is not None:
            case.session.connection.malformed(error)
        return RequestRefusal("body", error.message, None if error.silent else error.id, error)

    def be_open(self, case: Case) -> Optional[RequestRefusal]:
        """Refuse requests while the endpoint closes; answers are taken, for handlers may wait for them."""
        return RequestRefusal("closing", "", case.id()) if case.keys and self.endpoint.closing else None


def in_batch(case: Case, batching: bool) -> str:
    """Look into a batch and note which answers it expects. Returns why it breaks the rules, "" where it does not.

    [2025-03-26 basic/transports §Sending Messages to the Server] MUST. ``batching``: the revision has batches.
    """
    batch = case.frame
    if not isinstance(batch, Batch):
        return ""
    found = refusals.kinds(batch)
    if found.requests or found.broken:
        case.about = object()
        case.keys = (case.about, *dict.fromkeys(map(id_key, found.requests)))
    return refusals.batch_fault(found, batching)


def tell(case: Case, principal: Any = None) -> None:
    """Give the session a message whose answer, if there is one, goes another way than in this reply: 202."""
    # Step 4 [2025-03-26..2025-11-25 basic/transports §Sending Messages to the Server]: 202 and no body for a response
    # or notification that is accepted. It is sent before a handler runs.
    session = case.session
    jobs = session.receive(case.frame, case.exchange.request.body, principal=principal)
    case.exchange.reply(202, case.verdict.cors)
    session.connection.work(jobs)


# -- The ways of POSTs -------------------------------------------------------------------------


class AnyPost(Guarded, ReadBody):
    """The first part of the ladder of any POST. Its last check finds the way in which the POST goes on."""

    def judge_era(self, case: Case) -> Optional[RequestRefusal]:
        """Find out which revisions the message belongs to, see `refusals.HttpEras`."""
        endpoint, get = self.endpoint, case.exchange.request.headers.lower
        id = case.session_id = get(SESSION_ID)
        if endpoint.eras.modern:
            era = endpoint.eras.judge(case.frame, get(VERSION), id is not None)
            if era is MODERN:
                case.way = endpoint.stateless
                return None
            if not isinstance(era, str):
                return RequestRefusal("era", era.message, case.id(), era)
        if endpoint.sessions is None:
            case.way = endpoint.sessionless
        else:
            case.way = endpoint.opening if id is None else endpoint.in_session
        return None


class OfSession(Way):
    """The checks of a request of a session."""

    def find_session(self, case: Case) -> Optional[RequestRefusal]:
        """Find the session of the request, which must be this principal's, and note that it is used."""
        sessions: Any = self.endpoint.sessions
        session = sessions.get(case.session_id)
        # Step 3 [2025-03-26..2025-11-25 basic/transports §Session Management]: 404 for a session that has ended.
        if session is None or session.principal != case.principal or session.connection is None:
            return RequestRefusal("session")
        session.used = deadline.clock()
        session.shown = case.principal
        case.session, case.exchange.holder = session, session.holder
        return None

    def judge_version(self, case: Case) -> Optional[RequestRefusal]:
        """Compare the version header with the revision of the session."""
        version = case.exchange.request.headers.lower(VERSION)
        connection = case.session.connection
        agreed = connection.session.revision
        if version is None or (agreed is not None and version == agreed.name):
            return None
        fault = refusals.version_fault(version, self.endpoint.revisions, agreed, self.endpoint.strict)
        if fault:
            return RequestRefusal("version", fault)
        connection.counters.note("other version header", "%s in a session of %s" % (version, agreed))
        return None


class InSession(OfSession, Posted):
    """A POST that has a session id: its message goes to the connection of that session."""

    def judge_batch(self, case: Case) -> Optional[RequestRefusal]:
        """Refuse a batch that breaks the rules; a mixed one is taken unless we are strict."""
        connection = case.session.connection
        fault = in_batch(case, connection.batching)
        if fault and (self.endpoint.strict or not connection.batching):
            return RequestRefusal("batch", fault)
        if fault:
            connection.counters.note("mixed batch", fault)
        return None

    def expect(self, case: Case) -> Optional[RequestRefusal]:
        """Note where the answers go, unless one of the ids is in use."""
        if case.keys:
            reply = self.endpoint.reply_to(case, case.session)
            reason = case.session.expect(reply)
            if reason:
                return RequestRefusal(reason, "id is in use" if reason == "id in use" else "")
        return None

    def answer(self, case: Case) -> Optional[RequestRefusal]:
        """Give the connection the message. The reply comes with the answers, or before them as a stream."""
        if not case.keys:
            tell(case)
            return None
        session = case.session
        session.connection.work(session.receive(case.frame, case.exchange.request.body, case.about, case.principal))
        return None


class OpeningPost(Posted):
    """A POST without a session id, where there are sessions: `initialize` begins one."""

    def need_session(self, case: Case) -> Optional[RequestRefusal]:
        """Refuse anything but `initialize`."""
        # Step 2 [2025-03-26..2025-11-25 basic/transports §Session Management]: without an id SHOULD be 400.
        frame = case.frame
        if isinstance(frame, Request) and frame.method == INITIALIZE:
            return None
        return RequestRefusal("no session", "", case.id())

    def enter(self, case: Case) -> Optional[RequestRefusal]:
        """Make the session, which has a place in the table from now on."""
        sessions: Any = self.endpoint.sessions
        session = case.session = sessions.make(case.principal)
        return self.endpoint.enter(case, session)

    def answer(self, case: Case) -> Optional[RequestRefusal]:
        """Begin the session; its id goes with the result of `initialize`.

        [2025-03-26..2025-11-25 basic/transports §Session Management]
        """
        endpoint, session = self.endpoint, case.session
        sessions: Any = endpoint.sessions
        try:
            connection = endpoint.connected(session)
            sessions.connected(session)
        except BaseException:
            sessions.remove(session)
            raise
        # The answer is held back: only a session that has begun has its id in the reply, and the client must not see
        # the id before the table knows that the handshake succeeded.
        reply = endpoint.reply_to(case, session)
        held = reply.held = []
        session.expect(reply)
        connection.work(session.receive(case.frame, case.exchange.request.body))
        reply.held = None
        begun = connection.session.revision is not None
        if begun:
            # Step 1 [2025-03-26..2025-11-25 basic/transports §Session Management]: the id is a header field of the
            # reply that has the result.
            endpoint.counters.add("sessions begun")
            reply.headers = (*case.verdict.cors, ("Mcp-Session-Id", session.id or ""))
        reply.answer(b"".join(held))
        if not begun:
            sessions.remove(session)
            connection.close("initialize was refused")
        return None


class Sessionless(Posted):
    """A POST of the handshake era where there are no sessions, so that any process may get any request.

    Each POST has a connection of its own, which operates at once by the revision that the version header names. Nothing
    is known of the client: the handshake was with another process, or is forgotten. The client cannot be asked
    anything, for its answer would be another POST, which knows nothing of the question. What a handler sends to the
    client before it answers still travels in the reply.
    """

    def judge_version(self, case: Case) -> Optional[RequestRefusal]:
        """Refuse a version that is not served; `initialize` says its own."""
        version = self._version(case)
        fault = "" if version is None else refusals.version_fault(version, self.endpoint.revisions, None, False)
        return RequestRefusal("version", fault) if fault else None

    def judge_batch(self, case: Case) -> Optional[RequestRefusal]:
        """Refuse a batch that breaks the rules, and a response, for no request waits for it."""
        frame = case.frame
        if not isinstance(frame, (Request, Batch, Notification)):
            return RequestRefusal("body", "Invalid request: no request waits for this response: " + NO_WAY_BACK)
        batching = bool(self._rules(case).batching)
        fault = in_batch(case, batching)
        return RequestRefusal("batch", fault) if fault and (self.endpoint.strict or not batching) else None

    def answer(self, case: Case) -> Optional[RequestRefusal]:
        """Answer on a connection that ends with the reply; a notification concerns nobody and is dropped."""
        endpoint, exchange = self.endpoint, case.exchange
        if not case.keys:
            exchange.reply(202, case.verdict.cors)
            return None
        session = HttpSession(None, case.principal, endpoint.limits)
        connection = endpoint.connected(session)
        if not self._is_opening(case):
            connection.assume(self._rules(case), NO_WAY_BACK)
        session.expect(endpoint.reply_to(case, session))
        endpoint.track(session)
        connection.work(connection.receive(case.frame, exchange.request.body, case.about))
        session.when_answered(lambda: endpoint.end(session, "the request was answered"))
        return None

    @staticmethod
    def _is_opening(case: Case) -> bool:
        return isinstance(case.frame, Request) and case.frame.method == INITIALIZE

    def _version(self, case: Case) -> Optional[str]:
        """Return the version header; None where there is none, or `initialize` makes it meaningless."""
        return None if self._is_opening(case) else case.exchange.request.headers.lower(VERSION)

    def _rules(self, case: Case) -> Any:
        return revision(self._version(case) or ASSUMED)
