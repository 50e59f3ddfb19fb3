"""Rules of the streams of Streamable HTTP [2026-07-28 basic/transports/streamable-http §Receiving Messages].

They are about what streams carry and when they end
[2025-03-26..2025-11-25 basic/transports §Sending Messages to the Server], and about session ids
[2025-03-26..2025-11-25 basic/transports §Session Management].
"""

from typing import Any, List, Optional, Tuple

from ...bounds import Bounds, Forgetful
from ...httpfacts import is_streamable, mask_of
from ...observed import (
    ERROR, NOTIFICATION, REQUEST, RESULT, Message, ObservedConnection, ObservedExchange, ObservedSession,
)
from ...rules import END, FINISH, HEAD, KEPT, MESSAGE, RESPONSE, Broken, CannotTell, Verdict, noted, observe, rule
from ..basic.utilities import request_of_token
from .http_endpoint import NO_HANDSHAKE, OTHER_ERA, Modern, facts_of_post, is_get, prose
from .resumability import Activity, closed_early, closed_early_of, is_resumed, origin_of, sessions_of, waiting

LINGER = 10.0
"""Seconds for which a stream may stay open after its last response: proxies and slow peers close late."""
_CHANGES = (
    "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed",
    "notifications/resources/updated")


def _on_post(message: Message) -> Optional[ObservedExchange]:
    """Return the exchange of a message that the server sends on the stream of a POST."""
    exchange = message.exchange
    if exchange is None or message.sender != "server" or exchange.method != "POST" or not exchange.stream:
        return None
    return exchange if is_streamable(exchange) else None


def _asker(message: Message) -> Optional[Message]:
    """Return the request of the client whose token a progress notification of the server has."""
    if message.method != "notifications/progress" or message.sender != "server":
        return None
    return request_of_token(message)


# What a stream carries

@rule("http.stream-related-messages", on=NOTIFICATION, method="notifications/progress", needs="http", scene="""
    on http 2025-06-18
    C [3] #1 tools/call {"name": "slow", "_meta": {"progressToken": "a"}}
    S [3] stream
    C [4] #2 tools/call {"name": "slow", "_meta": {"progressToken": "b"}}
    S [4] stream
  + S [4] notifications/progress {"progressToken": "b", "progress": 1}
  - S [3] notifications/progress {"progressToken": "b", "progress": 1}
    S [3] #1 {"content": []}
    S [4] #2 {"content": []}
""")
def related(message: Message) -> Verdict:
    """A message on the stream of a request belongs to this request."""
    exchange, asked = _on_post(message), _asker(message)
    if exchange is None or asked is None or asked.exchange is None or asked.answer is not None:
        return None  # a task goes on after the response
    if asked.exchange is exchange:
        return KEPT
    return Broken("progress of exchange %d" % asked.exchange.number, "params.progressToken")


@rule("http.stream-related-notifications", on=NOTIFICATION, needs="http", follows="subscribe.*", scene="""
    on http 2026-07-28
    C [3] #1 tools/call {"name": "slow", "_meta": {"progressToken": "a"}}
    S [3] stream
    C [4] #2 tools/call {"name": "slow", "_meta": {"progressToken": "b"}}
    S [4] stream
  + S [4] notifications/progress {"progressToken": "b", "progress": 1}
  - S [3] notifications/progress {"progressToken": "b", "progress": 1}
    S [3] #1 {"content": []}
    S [4] #2 {"content": []}
""")
def related_notifications(message: Message) -> Verdict:
    """A notification on the stream of a request belongs to this request; changes have streams of their own."""
    exchange, asked = _on_post(message), _asker(message)
    own = exchange.request if exchange is not None else None
    if exchange is None or own is None:
        return None
    if message.method in _CHANGES and own.method != "subscriptions/listen":
        return "%s on the stream of %s" % (message.method, own.method[:60])
    if asked is None or asked.exchange is None:
        return None
    if asked.exchange is exchange:
        return KEPT
    return Broken("progress of exchange %d" % asked.exchange.number, "params.progressToken")


@rule("http.stream-no-server-requests", on=MESSAGE, when="http server", party="server", needs="http", scene="""
    on http 2026-07-28
    C [3] #1 tools/call {"name": "ask"}
    S [3] stream
  - S [3] #"s-1" roots/list
    S [3] #1 {"content": []}
""")
def no_server_requests(message: Message) -> Verdict:
    """The server sends no requests on a stream."""
    if message.sender != "server" or message.exchange is None or not message.exchange.stream:
        return None
    if not is_streamable(message.exchange):
        return None
    return "the request %s" % message.method[:60] if message.kind == REQUEST else KEPT


@rule("http.get-unrelated", on=NOTIFICATION, method="notifications/progress", needs="http", spoils=True, scene="""
    on http 2025-06-18
    C [3] #1 tools/call {"name": "slow", "_meta": {"progressToken": "a"}}
    S [3] stream
    C [4] GET /mcp {"Accept": "text/event-stream"}
    S [4] stream
  + S [3] notifications/progress {"progressToken": "a", "progress": 1}
  - S [4] notifications/progress {"progressToken": "a", "progress": 1}
    S [3] #1 {"content": []}
""")
def get_unrelated(message: Message) -> Verdict:
    """The stream of a GET carries nothing that belongs to a request which is being served."""
    asked, exchange = _asker(message), message.exchange
    if asked is None or exchange is None or asked.answer is not None or not is_streamable(exchange):
        return None
    if exchange.method == "POST" or is_resumed(exchange):
        return KEPT
    return Broken("progress of the request #%s" % str(asked.id)[:40], "params.progressToken")


@rule("http.get-no-response", on=(RESULT, ERROR, REQUEST, NOTIFICATION),
      when="fetched server", party="server", needs="http", scene="""
    on http 2025-06-18
    C [3] #1 tools/call {"name": "slow"}
    S [3] stream
    C [4] GET /mcp {"Accept": "text/event-stream"}
    S [4] stream
    S [4] notifications/message {"level": "info", "data": "a"}
  + S [3] #1 {"content": []}
  - S [4] #1 {"content": []}
""")
def get_no_response(message: Message) -> Verdict:
    """The stream of a GET carries responses only if it resumes the stream of a request."""
    exchange = message.exchange
    if exchange is None or message.sender != "server" or exchange.method != "GET" or not is_streamable(exchange):
        return None
    if message.kind not in (RESULT, ERROR):
        return KEPT
    if not exchange.stream:
        return None  # the body of a refusal, such as 409
    return None if is_resumed(exchange) or message.id is None else "a response on the stream of a GET"


@rule("http.no-broadcast", on=REQUEST, when="http server", party="server", needs="http", spoils=True, scene="""
    on http 2025-06-18
    C [3] GET /mcp {"Accept": "text/event-stream"}
    S [3] stream
    C [4] GET /mcp {"Accept": "text/event-stream"}
    S [4] stream
    S [3] #"s-1" roots/list
  - S [4] #"s-1" roots/list
    C #"s-1" {"roots": []}
""")
def no_broadcast(message: Message) -> Verdict:
    """The server sends a message on one of the streams, not on several."""
    exchange, before = message.exchange, message.pending
    if message.sender != "server" or exchange is None or not exchange.stream or not is_streamable(exchange):
        return None
    if before is None or before.exchange is None or before.exchange is exchange or before.data != message.data:
        return KEPT
    if is_resumed(exchange):
        return None
    return Broken("the request #%s was sent in exchange %d, too" % (str(message.id)[:40], before.exchange.number), "id")


# The end of a stream

@observe(on=(RESULT, ERROR), when="http server")
def note_done(message: Message) -> None:
    """Note that all requests of a POST have their responses."""
    exchange = _on_post(message)
    if exchange is not None and exchange.request is not None and not waiting_without(exchange, message):
        exchange.notes.setdefault("done", message)


def waiting_without(exchange: ObservedExchange, response: Message) -> bool:
    """Return True if a request of an exchange waits for another response than this."""
    return any(each.kind == REQUEST and each.answer is None and each is not response.request for each in exchange.sent)


@rule("http.stream-close-after-response", on=(MESSAGE, END), when="http server", party="server", needs="http", scene="""
    on http 2025-06-18
    C [3] #1 tools/call {"name": "slow"}
    S [3] stream
  + S [3] notifications/message {"level": "info", "data": "a"}
    S [3 open] #1 {"content": []}
  - S [3] notifications/message {"level": "info", "data": "a"}
    S [3] end
""")
def ends_with_response(subject: Any) -> Verdict:
    """The stream of a POST ends with its last response."""
    exchange = subject if isinstance(subject, ObservedExchange) else _on_post(subject)
    done: Optional[Message] = exchange.notes.get("done") if exchange is not None else None
    if exchange is None or done is None or not is_streamable(exchange):
        return None
    if isinstance(subject, Message):
        return "a message after the response" if subject.event is not done.event else None
    open_for = (exchange.ended or done.time) - done.time
    return "open for %.0f seconds after the response" % open_for if open_for > LINGER else KEPT


class ClosedEarly:
    """The streams that the server has closed before their responses, and after which nothing was served yet."""

    def __init__(self) -> None:
        self.closed: List[ObservedExchange] = []


@rule("http.stream-no-early-close", on=(RESPONSE, END), needs="http end", scene="""
    on http 2025-06-18
    C [3] #1 tools/call {"name": "slow"}
    S [3] stream
  + S [3] #1 {"content": []}
  - S [3] end
    C #2 tools/list {}
    S #2 {"tools": []}
""")
def no_early_close(exchange: ObservedExchange) -> Verdict:
    """The server does not close the stream of a request before the response while the session goes on."""
    early = exchange.session.state(ClosedEarly)
    if exchange.ended is not None:
        return KEPT if "done" in exchange.notes else None
    if exchange.status is None or exchange.status // 100 != 2:
        return None
    closed, early.closed = early.closed, []
    return [Broken("closed before the response", at=each) for each in closed if waiting(each)] or None


@observe(on=END, when="stream")
def note_early_close(exchange: ObservedExchange) -> None:
    """Note a stream that the server has closed before its responses."""
    if closed_early(exchange):
        closed = exchange.session.state(ClosedEarly).closed
        if len(closed) < Bounds().messages:
            closed.append(exchange)


@rule("http.stream-eventual-response", on=FINISH, party="server", needs="http sse end",
      follows=("http.stream-no-early-close", "http.resume-retry-before-close", "http.resume-client-poll"), scene="""
    on http 2025-11-25
    C [3] #1 tools/call {"name": "slow"}
    S [3] stream
    S [3] event {"id": "a-0", "retry": 100, "data": ""}
    S [3] end
    @ 1
    C [5] GET /mcp {"Accept": "text/event-stream", "Last-Event-ID": "a-0"}
    S [5] stream
  + S [5 id=a-1] #1 {"content": []}
    S [5] event {"id": "a-2", "retry": 100, "data": ""}
    S [5] end
    @ 60
    C #2 tools/list {}
    S #2 {"tools": []}
""")
def answered_in_the_end(connection: ObservedConnection) -> Verdict:
    """The stream of a request, with what resumes it, brings the response."""
    found: List[Any] = []
    judged = False
    for session, closed in closed_early_of(connection):
        judged = judged or not waiting(closed)
        last = closed.notes.get("resumed", closed)
        if not waiting(closed) or session.ended is not None or last.ended_by != "server":
            continue
        if closed.last_id and last is closed or session.state(Activity).last <= last.ended + LINGER:
            continue  # the rest was not asked for, or nothing came after
        found.append(Broken("closed without a response", at=closed))
    return found or (KEPT if judged else None)


# Streams that are cut off

@rule("http.disconnect-not-cancel", on=(RESULT, ERROR), when="fetched", party="server", needs="http", scene="""
    on http 2025-06-18
    C [3] #1 tools/call {"name": "slow"}
    S [3] stream
    S [3 id=a-1] notifications/message {"level": "info", "data": "a"}
    C [3] end cut
    C [5] GET /mcp {"Accept": "text/event-stream", "Last-Event-ID": "a-1"}
    S [5] stream
  + S [5 id=a-2] #1 {"content": []}
  - S [5 id=a-2] #1 !-32000 "cancelled by the client"
    S [5] end
""")
def not_cancelled_by_loss(message: Message) -> Verdict:
    """A stream that is lost does not cancel its request."""
    asked, exchange = message.request, message.exchange
    if asked is None or exchange is None or asked.exchange is None or not is_resumed(exchange):
        return None
    if origin_of(exchange) is not asked.exchange or asked.cancelled is not None:
        return None
    if message.kind == ERROR and "cancel" in str(message.error.get("message", ""))[:2000].lower():
        return Broken("the error says that the request was cancelled", "error.message")
    return KEPT


@rule("http.cancel-explicit", on=FINISH, party="client", needs="http end", scene="""
    on http 2025-06-18
    C [3] #1 tools/call {"name": "slow"}
    S [3] stream
    C [3] end cut
  + C notifications/cancelled {"requestId": 1}
    @ 60
    C #2 tools/list {}
    S #2 {"tools": []}
""", reading="a client that ends a stream itself, and goes on without the response, has cancelled the request")
def cancels_in_words(connection: ObservedConnection) -> Verdict:
    """A client that leaves the stream of a request and does not come back says that it cancels the request."""
    found: List[Any] = []
    judged = False
    for session in sessions_of(connection):
        for left, again in session.state(Left).streams.values():
            cancelled = any(each.cancelled is not None for each in left.sent)
            judged = judged or cancelled or "resumed" in left.notes
            if not cancelled and "resumed" not in left.notes and waiting(left) and session.state(
                    Activity).last > again + LINGER:
                found.append(Broken("left, and not cancelled", at=left))
    return found or (KEPT if judged else None)


class Left:
    """The streams of a session that the client has left before their responses, and when."""

    def __init__(self) -> None:
        self.streams: "Forgetful[int, Tuple[ObservedExchange, float]]" = Forgetful(Bounds().exchanges)


@observe(on=END, when="stream")
def note_left(exchange: ObservedExchange) -> None:
    """Note a stream that the client has left."""
    if exchange.ended_by == "client" and exchange.stream and exchange.method == "POST" and waiting(exchange):
        if is_streamable(exchange) and exchange.ended is not None:
            exchange.session.state(Left).streams[exchange.number] = exchange, exchange.ended


@rule("http.x-accel-buffering", on=RESPONSE, when="stream", needs="http", scene="""
    on http 2026-07-28
    C [3] #1 tools/list {}
  + S [3] 200 {"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"}
  - S [3] 200 {"Content-Type": "text/event-stream"}
    S [3] #1 {"tools": []}
""")
def not_buffered(exchange: ObservedExchange) -> Verdict:
    """A stream asks proxies not to hold it back."""
    if not exchange.stream or not exchange.sent or not is_streamable(exchange) or exchange.status != 200:
        return None
    value = (exchange.answer_header("x-accel-buffering") or "").strip().lower()
    if value == "no":
        return KEPT
    if exchange.answer_header("via") or "nginx" in (exchange.answer_header("server") or "").lower():
        return CannotTell("whether a proxy has removed the header")
    return Broken("X-Accel-Buffering: %s" % (value[:40] or "(none)"), "X-Accel-Buffering")


HEADER = "Mcp-Session-Id"
CROSSING = 1.0
"""Seconds in which requests may cross a response that they should have known: a client has threads."""


class Given:
    """The session ids that the servers of the trace have given, by server."""

    def __init__(self) -> None:
        self.ids: "Forgetful[Any, None]" = Forgetful(Bounds().entries)


class Ending:
    """The end of a session: the time of its DELETE or of the 404 to one of its requests."""

    def __init__(self) -> None:
        self.deleted: Optional[float] = None
        self.refused: Optional[float] = None


def _given(message: Message) -> Optional[str]:
    """Return the session id that comes with the result of `initialize`; None if there is none."""
    exchange = message.exchange
    if exchange is None or not is_streamable(exchange) or exchange.header("mcp-session-id") is not None:
        return None
    return exchange.answer_header("mcp-session-id")


# The id

@rule("http.session-id-unique", on=RESULT, method="initialize", needs="http", scene="""
    on http 2025-06-18
    C [3] #1 initialize {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "client", \
"version": "1"}}
  + S [3] 200 {"Content-Type": "application/json", "Mcp-Session-Id": "***00000002"}
  - S [3] 200 {"Content-Type": "application/json", "Mcp-Session-Id": "***5e551011"}
    S [3] #1 {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "server", "version": "1"}}
    C notifications/initialized
""")
def id_unique(message: Message) -> Verdict:
    """Each session has an id of its own."""
    id = _given(message)
    if id is None or message.exchange is None:
        return None
    known = (message.exchange.url, id) in message.connection.trace.state(Given).ids
    return Broken("the id of an earlier session", HEADER) if known else KEPT


@observe(on=RESULT, method="initialize")
def note_given(message: Message) -> None:
    """Note the id of a session."""
    id = _given(message)
    if id is not None and message.exchange is not None:
        message.connection.trace.state(Given).ids[message.exchange.url, id] = None


@rule("http.session-id-ascii", on=RESULT, method="initialize", needs="http", scene="""
    on http 2025-06-18 bare
    C [1] #1 initialize {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "client", \
"version": "1"}}
  + S [1] 200 {"Content-Type": "application/json", "Mcp-Session-Id": "***00000002"}
  - S [1] 200 {"Content-Type": "application/json", "Mcp-Session-Id": "***00000002!"}
    S [1] #1 {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "server", "version": "1"}}
""")
def id_visible(message: Message) -> Verdict:
    """A session id is of visible ASCII characters."""
    id = _given(message)
    if id is None:
        return None
    masked = mask_of(id) is not None
    odd = id.endswith("!") if masked else not id or any(not "!" <= char <= "~" for char in id)
    return Broken("the id has other characters", HEADER) if odd else KEPT


def _echoes(exchange: ObservedExchange, session: ObservedSession, time: float) -> Verdict:
    """Judge a request after `initialize`: is it in the session that was opened?"""
    first = session.initialize_result
    if exchange.connection.live > 1 and exchange.header("mcp-session-id") is None:
        return CannotTell("which of several sessions a request belongs to")
    if first is None or session.id is None or time <= first.time:
        return None
    return KEPT if exchange.header("mcp-session-id") is not None else Broken("a request without the id", HEADER)


@rule("http.session-id-echo", on=(MESSAGE, HEAD), when="http client unposted", facts=facts_of_post, needs="http",
      scene="""
    on http 2025-06-18
  + C [3] #1 tools/list {}
  - C [3 Mcp-Session-Id=] #1 tools/list {}
    S [3] #1 {"tools": []}
""")
def id_echoed(subject: Any) -> Verdict:
    """A client sends the session id that it was given with all later requests."""
    if isinstance(subject, ObservedExchange):
        asks = is_get(subject) or subject.method == "DELETE" and subject.is_mcp and is_streamable(subject)
        return _echoes(subject, subject.session, subject.opened) if asks else None
    exchange = subject.exchange
    if subject.sender != "client" or exchange is None or exchange.sent[0] is not subject:
        return None
    if subject.kind == REQUEST and subject.method == "initialize" or not is_streamable(exchange):
        return None
    return _echoes(exchange, subject.session, exchange.opened)


@rule("http.session-missing-400", on=RESPONSE, when="unserved", needs="http", provoked="http.session-id-echo", scene="""
    on http 2025-06-18
    C [3 Mcp-Session-Id=] #1 tools/list {}
  + S [3] 400
  - S [3] 422
    S [3] end
""")
def missing_refused(exchange: ObservedExchange) -> Verdict:
    """A server that wants a session id answers requests without it by 400."""
    session, status = exchange.session, exchange.status
    if exchange.header("mcp-session-id") is not None or session.id is None or session.initialize_result is None:
        return None
    if exchange.method != "POST" or not exchange.sent or not is_streamable(exchange) or status is None:
        return None
    if status == 400:
        return KEPT
    return Broken("%d without an id" % status, HEADER) if status in (404, 409, 410, 412, 422, 428) else None


# The end of a session

@rule("http.session-404", on=RESPONSE, when="left", needs="http", scene="""
    on http 2025-06-18
    C [3] DELETE /mcp {}
    S [3] 200
    S [3] end
    @ 2
    C [4] #1 tools/list {}
  + S [4] 404
  + S [4] end
  - S [4] #1 {"tools": []}
""")
def gone(exchange: ObservedExchange) -> Verdict:
    """A session that was ended is answered by 404."""
    deleted = exchange.session.state(Ending).deleted
    if deleted is None or exchange.opened <= deleted or exchange.status is None or not is_streamable(exchange):
        return None
    if exchange.header("mcp-session-id") is None or not exchange.is_mcp:
        return None
    if exchange.status == 404:
        return KEPT
    if exchange.status // 100 == 2 and exchange.sent or exchange.status == 410 or (
            exchange.status == 400 and "session" in prose(exchange)):
        return Broken("%d after the session was deleted" % exchange.status, HEADER)
    return None


@observe(on=RESPONSE, when="unserved")
def note_ending(exchange: ObservedExchange) -> None:
    """Note that a session was deleted, or that it is not known any more."""
    if exchange.header("mcp-session-id") is None or not is_streamable(exchange):
        return
    ending = exchange.session.state(Ending)
    if exchange.method == "DELETE" and exchange.status in (200, 204):
        ending.deleted = exchange.answered if ending.deleted is None else ending.deleted
        noted(exchange.connection, "left")
    elif exchange.status == 404 and ending.refused is None and exchange.method != "DELETE" and ending.deleted is None:
        ending.refused = exchange.answered
        noted(exchange.connection, "left")


@rule("http.session-reinitialize", on=HEAD, when="left", needs="http", scene="""
    on http 2025-06-18
    C [3] #1 tools/list {}
    S [3] 404
    S [3] end
    @ 2
  - C [4] #2 tools/list {}
  - S [4] 404
  - S [4] end
  + C [4] #2 initialize {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "client", \
"version": "1"}}
  + S [4] #2 {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "server", "version": "1"}}
  + C [5 Mcp-Session-Id=] notifications/initialized
""")
def starts_anew(exchange: ObservedExchange) -> Verdict:
    """A client whose session is not known any more opens another, and does not use the id again."""
    if not is_streamable(exchange) or exchange.method == "DELETE":
        return None
    if exchange.header("mcp-session-id") is None:
        latest = exchange.connection.latest
        return KEPT if latest is not None and latest.state(Ending).refused is not None else None
    refused = exchange.session.state(Ending).refused
    if refused is None or exchange.opened - refused <= CROSSING:
        return None
    return Broken("the id again, after 404", HEADER)


@rule("http.session-delete", on=FINISH, party="client", needs="http end", scene="""
    on http 2025-06-18
  + C [3] DELETE /mcp {}
  + S [3] 200
  + S [3] end
    * client close {}
""", reading="a client that closes its connection needs the session no longer")
def deleted(connection: ObservedConnection) -> Verdict:
    """A client that leaves deletes its session."""
    session = connection.latest
    if session is None or not connection.http:
        return None
    if session.state(Activity).leaving:
        return KEPT
    if connection.closed_by != "client" or session.ended is not None or connection.live != 1:
        return CannotTell("whether the client needs the session")
    return Broken("closed without DELETE", HEADER)


@rule("http.session-ignored-modern", on=END, needs="http", scene="""
    on http 2026-07-28
""" + NO_HANDSHAKE + """
    C [3] #2 tools/list {}
  + S [3] 200 {"Content-Type": "application/json"}
  - S [3] 200 {"Content-Type": "application/json", "Mcp-Session-Id": "***00000002"}
    S [3] #2 {"tools": []}
""")
def no_sessions(exchange: ObservedExchange) -> Verdict:
    """A server that knows no sessions gives no ids, and takes no notice of those that it gets."""
    if not is_streamable(exchange) or not exchange.sent or exchange.status is None:
        return None
    if not exchange.connection.state(Modern).only:
        return OTHER_ERA
    if exchange.answer_header("mcp-session-id") is not None:
        return Broken("a session id was given", HEADER)
    if exchange.header("mcp-session-id") is not None and 400 <= exchange.status < 500 and "session" in prose(exchange):
        return Broken("refused by %d" % exchange.status, HEADER)
    return KEPT
