"""Rules of session ids over HTTP [2025-03-26..2025-11-25 basic/transports §Session Management]."""

from typing import Any, Optional

from ...bounds import Bounds, Forgetful
from ...httpfacts import is_streamable, mask_of
from ...observed import REQUEST, RESULT, Connection, Exchange, Message, Session
from ...rules import END, FINISH, HEAD, KEPT, MESSAGE, RESPONSE, Broken, CannotTell, Verdict, noted, observe, rule
from .http_endpoint import is_get, said
from .http_messages import NO_HANDSHAKE, OTHER_ERA, Modern, facts_of_post
from .resumability import Activity

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


def _echoes(exchange: Exchange, session: Session, time: float) -> Verdict:
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
    if isinstance(subject, Exchange):
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
def missing_refused(exchange: Exchange) -> Verdict:
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
def gone(exchange: Exchange) -> Verdict:
    """A session that was ended is answered by 404."""
    deleted = exchange.session.state(Ending).deleted
    if deleted is None or exchange.opened <= deleted or exchange.status is None or not is_streamable(exchange):
        return None
    if exchange.header("mcp-session-id") is None or not exchange.is_mcp:
        return None
    if exchange.status == 404:
        return KEPT
    if exchange.status // 100 == 2 and exchange.sent or exchange.status == 410 or (
            exchange.status == 400 and "session" in said(exchange)):
        return Broken("%d after the session was deleted" % exchange.status, HEADER)
    return None


@observe(on=RESPONSE, when="unserved")
def note_ending(exchange: Exchange) -> None:
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
def starts_anew(exchange: Exchange) -> Verdict:
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
def deleted(connection: Connection) -> Verdict:
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
def no_sessions(exchange: Exchange) -> Verdict:
    """A server that knows no sessions gives no ids, and takes no notice of those that it gets."""
    if not is_streamable(exchange) or not exchange.sent or exchange.status is None:
        return None
    if not exchange.connection.state(Modern).only:
        return OTHER_ERA
    if exchange.answer_header("mcp-session-id") is not None:
        return Broken("a session id was given", HEADER)
    if exchange.header("mcp-session-id") is not None and 400 <= exchange.status < 500 and "session" in said(exchange):
        return Broken("refused by %d" % exchange.status, HEADER)
    return KEPT
