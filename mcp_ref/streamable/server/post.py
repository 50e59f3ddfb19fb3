"""A POST to the MCP endpoint, from its header fields to its answer.

`post` has the steps that every POST begins with. Its message decides where it goes on:

===================  ================================  ==============================================================
function             the POST                          what it does
===================  ================================  ==============================================================
`post_in_session`    has a session id                  gives the message to the connection of that session
`post_opening`           is `initialize`, has none         begins a session
`post_sessionless`   where there are no sessions       answers it on a connection of its own
`post_stateless`     is of 2026-07-28                  answers it on the one connection of all such requests
===================  ================================  ==============================================================

The last is in `stateless`. Each function reads from top to bottom in the order of `refusals.ORDER["POST"]`, and raises
`PostRefused` at the first reason to refuse the request. What the header fields alone decide (host, origin, media type
and so on) was decided before, by `refusals.Rules`. GET, DELETE and OPTIONS are in `endpoint`, HTTP+SSE in `http_sse`;
they take the same steps.

[2025-03-26..2025-11-25 basic/transports §Sending Messages to the Server] MUST,
[2026-07-28 basic/transports/streamable-http §Sending Messages] MUST.
"""

from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Sequence, Tuple, Union

from ... import deadline
from ...diagnostics.packagelog import log_raised
from ...errors import RpcError
from ...http11.message import Exchange
from ...jsonrpc import Batch, Frame, Malformed, Notification, Request, RequestId, id_key, parse, shown
from ...methods import INITIALIZE
from ...protocol.streamable_http import refusals
from ...protocol.streamable_http.refusals import MODERN, HeaderVerdict
from ...revisions import R2025_03_26, revision
from ...transports.held import peer_of
from .authenticate import AccessDenied
from .session import HttpSession

if TYPE_CHECKING:
    from .endpoint import Endpoint

ASSUMED = R2025_03_26
"""The revision of a client that sends no version header
[2025-06-18..2025-11-25 basic/transports §Protocol Version Header] SHOULD."""
NO_WAY_BACK = "sessions='none' (--stateless) has no way back to the client: its answer could reach another process"
SESSION_ID = "mcp-session-id"
VERSION = "mcp-protocol-version"
Keys = Tuple[Any, ...]


class PostRefused(Exception):
    """The refusal of a request, before anything was sent.

    ``reason``: a key of REFUSALS. ``found``: the part of its text that depends on the request. ``id``: the id of the
    request that the reply names. ``error``: the error of the reply where its code or data are not those of REFUSALS.
    ``challenges``: the values of WWW-Authenticate.
    """

    def __init__(self, reason: str, found: str = "", id: Optional[RequestId] = None, error: Optional[RpcError] = None,
                 challenges: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.reason, self.found, self.id, self.error, self.challenges = reason, found, id, error, challenges


class Posted(NamedTuple):
    """A POST whose sender and message are known."""

    exchange: Exchange
    verdict: HeaderVerdict
    """The judgement of the header fields alone."""
    principal: Any
    """The sender, as the guard says."""
    frame: Union[Frame, Malformed]
    """The message, or the reason why it is none."""

    @property
    def keys(self) -> Keys:
        """The keys under which the answer to a single message is expected, see `id_key`; () where there is none."""
        return (id_key(self.frame.id),) if isinstance(self.frame, Request) else ()

    @property
    def id(self) -> Optional[RequestId]:
        """The id of the request, to name it in a refusal. A response has the id of a request of ours."""
        return self.frame.id if isinstance(self.frame, Request) else None


# -- Steps -------------------------------------------------------------------------------------


def admit(endpoint: "Endpoint", exchange: Exchange) -> Any:
    """Return the principal that sends a request, by its header fields; None where the endpoint has no guard."""
    guard = endpoint.guard
    if guard is None:
        return None
    try:
        principal = guard.admit(exchange.request)
    except Exception as error:
        raise _denied(exchange, error, None) from None
    exchange.holder = peer_of(principal if guard.tells_apart else None, None)
    return principal


def allow(endpoint: "Endpoint", exchange: Exchange, principal: Any, frame: Union[Frame, Malformed, None] = None
          ) -> None:
    """Let the guard decide if this principal may have this message answered."""
    guard = endpoint.guard
    if guard is None:
        return
    try:
        denied: Optional[Exception] = guard.allows(principal, None if isinstance(frame, Malformed) else frame)
    except Exception as error:
        denied = error
    if denied is not None:
        raise _denied(exchange, denied, frame.id if isinstance(frame, Request) else None)


def _denied(exchange: Exchange, error: Exception, id: Optional[RequestId]) -> PostRefused:
    """Return the refusal for what the guard has raised or returned."""
    if isinstance(error, AccessDenied):
        return PostRefused(refusals.DENIED[error.status], error.why, id, None, error.challenges)
    request = exchange.request
    log_raised("authenticate", error, "%s %s" % (shown(request.method), shown(request.path)))
    return PostRefused("failure", "", id)


def check_length(endpoint: "Endpoint", exchange: Exchange) -> None:
    """Refuse a body that is too long."""
    size = len(exchange.request.body)
    if size > endpoint.limits.max_message_bytes:
        raise PostRefused("length", str(size))


def read(endpoint: "Endpoint", exchange: Exchange) -> Union[Frame, Malformed]:
    """Return the message of a body. One that is none is refused further down, by `need_message`."""
    try:
        return parse(exchange.request.body, True, endpoint.limits,
                     None if endpoint.strict else endpoint.counters.forgive)
    except Malformed as error:
        return error


def need_message(frame: Union[Frame, Malformed], session: Optional[HttpSession] = None) -> Frame:
    """Return the message of a body; refuse one that is none."""
    if isinstance(frame, Malformed):
        if session is not None:
            session.connection.malformed(frame)
        raise PostRefused("body", frame.message, None if frame.silent else frame.id, frame)
    return frame


def find_session(endpoint: "Endpoint", exchange: Exchange, principal: Any, id: str) -> HttpSession:
    """Return the session of a request, which must be this principal's, and note that it is used."""
    sessions: Any = endpoint.sessions
    session: Optional[HttpSession] = sessions.get(id)
    # Step 3 [2025-03-26..2025-11-25 basic/transports §Session Management]: 404 for a session that has ended.
    if session is None or session.principal != principal or session.connection is None:
        raise PostRefused("session")
    session.used = deadline.clock()
    session.shown = principal
    exchange.holder = session.holder
    return session


def judge_version(endpoint: "Endpoint", exchange: Exchange, session: HttpSession) -> None:
    """Compare the version header with the revision of the session."""
    version = exchange.request.headers.lower(VERSION)
    connection = session.connection
    agreed = connection.session.revision
    if version is None or (agreed is not None and version == agreed.name):
        return
    fault = refusals.version_fault(version, endpoint.revisions, agreed, endpoint.strict)
    if fault:
        raise PostRefused("version", fault)
    connection.counters.note("other version header", "%s in a session of %s" % (version, agreed))


def look_into(batch: Batch, batching: bool) -> Tuple[str, Any, Keys]:
    """Return why a batch breaks the rules, "" where it does not; the key of its answer; the keys that are expected.

    [2025-03-26 basic/transports §Sending Messages to the Server] MUST. ``batching``: the revision has batches.
    """
    found, about, keys = refusals.kinds(batch), None, ()
    if found.requests or found.broken:
        about = object()
        keys = (about, *dict.fromkeys(map(id_key, found.requests)))
    return refusals.batch_fault(found, batching), about, keys


def pass_on(post: Posted, frame: Frame, session: HttpSession, principal: Any = None) -> None:
    """Give the session a message whose answer, if there is one, goes another way than in this reply: 202."""
    # Step 4 [2025-03-26..2025-11-25 basic/transports §Sending Messages to the Server]: 202 and no body for a response
    # or notification that is accepted. It is sent before a handler runs. The client may send the next request on this
    # connection then, such as the answer to a question of that handler: so the handler gets another thread.
    jobs = session.receive(frame, post.exchange.request.body, principal=principal)
    post.exchange.reply(202, post.verdict.cors)
    session.connection.work(jobs, elsewhere=True)


# -- POSTs -------------------------------------------------------------------------------------


def post(endpoint: "Endpoint", exchange: Exchange, verdict: HeaderVerdict) -> None:
    """Answer a POST: find its sender, read its message, and go on as the message demands."""
    principal = admit(endpoint, exchange)
    check_length(endpoint, exchange)
    frame = read(endpoint, exchange)
    allow(endpoint, exchange, principal, frame)
    made = Posted(exchange, verdict, principal, frame)
    session_id = exchange.request.headers.lower(SESSION_ID)
    if endpoint.eras.modern:
        era = endpoint.eras.judge(frame, exchange.request.headers.lower(VERSION), session_id is not None)
        if era is MODERN:
            endpoint.stateless.post(made)
            return
        if not isinstance(era, str):
            raise PostRefused("era", era.message, made.id, era)
    if endpoint.sessions is None:
        post_sessionless(endpoint, made)
    elif session_id is None:
        post_opening(endpoint, made)
    else:
        post_in_session(endpoint, made, session_id)


def post_in_session(endpoint: "Endpoint", post: Posted, session_id: str) -> None:
    """Give the connection of a session a message. The reply comes with the answers, or before them as a stream."""
    exchange, keys, about = post.exchange, post.keys, None
    session = find_session(endpoint, exchange, post.principal, session_id)
    frame = need_message(post.frame, session)
    judge_version(endpoint, exchange, session)
    connection = session.connection
    if isinstance(frame, Batch):  # a mixed one is taken unless we are strict
        fault, about, keys = look_into(frame, connection.batching)
        if fault and (endpoint.strict or not connection.batching):
            raise PostRefused("batch", fault)
        if fault:
            connection.counters.note("mixed batch", fault)
    if not keys:
        pass_on(post, frame, session)
        return
    if endpoint.closing:  # answers are taken, for handlers may wait for them
        raise PostRefused("closing", "", post.id)
    in_use = session.expect(endpoint.reply_to(exchange, post.verdict, keys, session))
    if in_use:
        raise PostRefused(in_use, "id is in use" if in_use == "id in use" else "")
    connection.work(session.receive(frame, exchange.request.body, about, post.principal))


def post_opening(endpoint: "Endpoint", post: Posted) -> None:
    """Begin a session by `initialize`; its id goes with the result.

    [2025-03-26..2025-11-25 basic/transports §Session Management]
    """
    exchange, frame = post.exchange, need_message(post.frame)
    # Step 2 [2025-03-26..2025-11-25 basic/transports §Session Management]: without an id SHOULD be 400.
    if not isinstance(frame, Request) or frame.method != INITIALIZE:
        raise PostRefused("no session", "", post.id)
    if endpoint.closing:
        raise PostRefused("closing", "", post.id)
    sessions: Any = endpoint.sessions
    session = sessions.make(post.principal)
    endpoint.enter(exchange, session, post.id)
    try:
        connection = endpoint.connected(session)
        sessions.connected(session)
    except BaseException:
        sessions.remove(session)
        raise
    # The answer is held back: only a session that has begun has its id in the reply, and the client must not see the id
    # before the table knows that the handshake succeeded.
    reply = endpoint.reply_to(exchange, post.verdict, post.keys, session)
    held = reply.held = []
    session.expect(reply)
    connection.work(session.receive(frame, exchange.request.body))
    reply.held = None
    begun = connection.session.revision is not None
    if begun:
        # Step 1 [2025-03-26..2025-11-25 basic/transports §Session Management]: the id is a header field of the reply
        # that has the result.
        endpoint.counters.add("sessions begun")
        reply.headers = (*post.verdict.cors, ("Mcp-Session-Id", session.id or ""))
    reply.answer(b"".join(held))
    if not begun:
        sessions.remove(session)
        connection.close("initialize was refused")


def post_sessionless(endpoint: "Endpoint", post: Posted) -> None:
    """Answer a POST of the handshake era where there are no sessions, so that any process may get any request.

    Each POST has a connection of its own, which operates at once by the revision that the version header names, and
    ends with the reply. Nothing is known of the client: the handshake was with another process, or is forgotten. The
    client cannot be asked anything, for its answer would be another POST, which knows nothing of the question. What a
    handler sends to the client before it answers still travels in the reply. A notification concerns nobody and is
    dropped.
    """
    exchange, frame, keys, about = post.exchange, need_message(post.frame), post.keys, None
    opens = isinstance(frame, Request) and frame.method == INITIALIZE
    version = None if opens else exchange.request.headers.lower(VERSION)  # `initialize` says its own
    fault = "" if version is None else refusals.version_fault(version, endpoint.revisions, None, False)
    if fault:
        raise PostRefused("version", fault)
    if not isinstance(frame, (Request, Batch, Notification)):
        raise PostRefused("body", "Invalid request: no request waits for this response: " + NO_WAY_BACK)
    rules = revision(version or ASSUMED)
    if isinstance(frame, Batch):
        fault, about, keys = look_into(frame, bool(rules.batching))
        if fault and (endpoint.strict or not rules.batching):
            raise PostRefused("batch", fault)
    if not keys:
        exchange.reply(202, post.verdict.cors)
        return
    if endpoint.closing:
        raise PostRefused("closing", "", post.id)
    session = HttpSession(None, post.principal, endpoint.limits)
    connection = endpoint.connected(session)
    if not opens:
        connection.assume(rules, NO_WAY_BACK)
    session.expect(endpoint.reply_to(exchange, post.verdict, keys, session))
    endpoint.track(session)
    connection.work(connection.receive(frame, exchange.request.body, about))
    session.when_answered(lambda: endpoint.end(session, "the request was answered"))
