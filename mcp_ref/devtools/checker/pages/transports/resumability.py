"""Rules of HTTP+SSE [2024-11-05 basic/transports §HTTP with SSE], and of resumed streams.

Streams are resumed by the ids of their events
[2025-03-26..2025-11-25 basic/transports §Resumability and Redelivery],
[2025-11-25 basic/transports §Sending Messages to the Server].
"""

from typing import Any, Iterator, List, NamedTuple, Optional, Tuple
from urllib.parse import urljoin, urlsplit

from ...bounds import Bounds, Forgetful
from ...httpfacts import is_streamable
from ...observed import (
    ERROR, RESULT, Message, ObservedConnection, ObservedEvent, ObservedExchange, ObservedSession, content,
)
from ...rules import (
    END, FINISH, HEAD, KEPT, MESSAGE, RESPONSE, SSE_EVENT, Broken, CannotTell, Verdict, noted, observe, rule,
)
from .http_endpoint import prose


class Announced:
    """The addresses that the streams of a connection have announced for messages: path and query, and their paths."""

    def __init__(self) -> None:
        self.targets: "Forgetful[str, None]" = Forgetful(Bounds().entries)
        self.paths: "Forgetful[str, ObservedExchange]" = Forgetful(Bounds().entries)
        self.missed = False
        """True if a stream was seen whose beginning was not recorded."""


def _is_stream(exchange: ObservedExchange) -> bool:
    """Return True for the GET of a stream of HTTP+SSE."""
    return exchange.connection.transport == "http+sse" and exchange.method == "GET"


def _target(exchange: ObservedExchange) -> str:
    """Return path and query of a request."""
    return exchange.path + ("?" + exchange.query if exchange.query else "")


def _address(seen: ObservedEvent) -> Optional[str]:
    """Return path and query of the address in an ``endpoint`` event; None if it is no address."""
    data = (seen.data or "").strip()
    try:
        parts = urlsplit(urljoin((seen.exchange.url or "http://host") + seen.exchange.path, data))
    except ValueError:
        return None
    if not data or any(char <= " " for char in data) or parts.scheme not in ("http", "https"):
        return None
    return parts.path + ("?" + parts.query if parts.query else "")


@rule("sse.endpoint-sse", on=RESPONSE, needs="http", scene="""
    on sse 2024-11-05
  + C [3] GET /sse {"Accept": "text/event-stream"}
  + S [3] 200 {"Content-Type": "text/event-stream"}
  - C [3] GET /sse {"Accept": "text/event-stream"}
  - S [3] 200 {"Content-Type": "text/html"}
""")
def streams(exchange: ObservedExchange) -> Verdict:
    """A GET of the address for streams opens a stream of events."""
    if not _is_stream(exchange) or exchange.status is None or exchange.status // 100 != 2:
        return None
    return KEPT if exchange.stream else Broken("%s" % (exchange.media_type[:60] or "no media type"), "Content-Type")


@rule("sse.endpoint-event", on=SSE_EVENT, needs="sse", scene="""
    on sse 2024-11-05
    C [3] GET /sse {"Accept": "text/event-stream"}
    S [3] 200 {"Content-Type": "text/event-stream"}
  + S [3] event {"event": "endpoint", "data": "/messages?sessionId=2"}
  - S [3] event {"event": "ready", "data": "/messages?sessionId=2"}
""")
def begins_with_endpoint(seen: ObservedEvent) -> Verdict:
    """A stream begins with the event ``endpoint``: the address for messages."""
    if not _is_stream(seen.exchange) or seen.exchange.event_count:
        return None
    if seen.name != "endpoint" or seen.message is not None:
        return "the first event is %s" % (seen.name or "message")[:40]
    return KEPT if _address(seen) is not None else Broken("no address", "data")


@observe(on=SSE_EVENT)
def note_endpoint(seen: ObservedEvent) -> None:
    """Note the address for messages."""
    if not _is_stream(seen.exchange):
        return
    address = _address(seen) if seen.name == "endpoint" else None
    if address is not None:
        announced = seen.exchange.connection.state(Announced)
        announced.targets[address] = None
        announced.paths[address.partition("?")[0]] = seen.exchange


@rule("sse.endpoint-post", on=RESPONSE, needs="http", scene="""
    on sse 2024-11-05
    C [3] POST /messages?sessionId=***5e551011 {"Content-Type": "application/json"}
    C [3] notifications/roots/list_changed
  - S [3] 405
""")
def takes_posts(exchange: ObservedExchange) -> Verdict:
    """The address for messages takes POSTs."""
    if exchange.connection.transport != "http+sse" or exchange.method != "POST" or not exchange.sent:
        return None
    stream: Optional[ObservedExchange] = exchange.connection.state(Announced).paths.get(exchange.path)
    if stream is None or exchange.status is None:
        return None
    if exchange.status in (405, 501):  # 404 may be about the session
        if exchange.header("authorization") != stream.header("authorization") or _target(exchange) not in (
                exchange.connection.state(Announced).targets):
            return CannotTell("whether the stream is of this client")
        open_still = stream.ended is None
        return "%d to a POST" % exchange.status if open_still else CannotTell("whether the stream is open")
    return KEPT if exchange.status // 100 == 2 else None


@rule("sse.client-posts", on=MESSAGE, needs="http sse", scene="""
    on sse 2024-11-05
  + C [3] POST /messages?sessionId=***5e551011 {"Content-Type": "application/json"}
  - C [3] POST /other {"Content-Type": "application/json"}
    C [3] notifications/roots/list_changed
""")
def posts_there(message: Message) -> Verdict:
    """The client posts its messages to the address that the stream has announced."""
    exchange = message.exchange
    if exchange is None or message.sender != "client" or message.connection.transport != "http+sse":
        return None
    if exchange.method != "POST":
        return "a message by %s" % exchange.method[:20]
    announced = message.connection.state(Announced)
    if _target(exchange) in announced.targets:
        return KEPT
    if exchange.path in announced.paths:
        return CannotTell("what the queries of masked addresses are")
    known = announced.paths.keys()[-1:]
    if not known or announced.paths.forgot:
        return CannotTell("the address that was announced")
    if known[0].endswith(exchange.path) or exchange.path.endswith(known[0]):
        return CannotTell("whether a proxy has changed the path")
    return Broken("to %s, and %s was announced" % (exchange.path[:60], known[0][:60]), "target")


EARLY = 0.1
"""Seconds, and the part of the time to wait, by which a client may be early: timers and clocks are not exact."""
PATIENCE = 30.0
"""Seconds after which a client that goes on with other work is not about to resume a stream."""


class Cursor(NamedTuple):
    """The place at which an event id was given."""

    origin: ObservedExchange
    """The exchange that opened the stream; one that resumes it has the same."""
    content: int
    """A digest of the event's message or data; 0 for an event without data."""


class Activity:
    """The last activity of a client in a session."""

    def __init__(self) -> None:
        self.last = 0.0
        """The time of its last request."""
        self.leaving = False
        """True if it has asked to end the session."""


@observe(on=HEAD)
def note_activity(exchange: ObservedExchange) -> None:
    """Note a request of the client."""
    activity = exchange.session.state(Activity)
    activity.last = exchange.opened
    activity.leaving = activity.leaving or exchange.method == "DELETE"


class EventIds:
    """The event ids of a session, and the streams that the server has closed before their end."""

    def __init__(self) -> None:
        self.given: "Forgetful[str, Cursor]" = Forgetful(Bounds().entries)
        self.early: "Forgetful[int, ObservedExchange]" = Forgetful(Bounds().exchanges)
        """POST streams that the server has closed before all responses, by number."""
        self.unprimed = False
        """True if a stream has begun without a first event that has no data: servers do the same each time."""
        self.unjudged: List[ObservedExchange] = []
        """The streams among them after which nothing was served yet."""


def origin_of(exchange: ObservedExchange) -> ObservedExchange:
    """Return the exchange that opened the stream of another: itself, unless it resumes one."""
    found: ObservedExchange = exchange.notes.get("origin", exchange)
    return found


def is_resumed(exchange: ObservedExchange) -> bool:
    """Return True for a GET that asks for the rest of a stream."""
    return exchange.method == "GET" and exchange.header("last-event-id") is not None


def latest_of(exchange: ObservedExchange) -> ObservedExchange:
    """Return the last exchange that carried the stream which an exchange has opened."""
    found: ObservedExchange = exchange.notes.get("resumed", exchange)
    return found


def waiting(exchange: ObservedExchange) -> bool:
    """Return True if a request of an exchange was neither answered nor cancelled."""
    return any(each.kind == "request" and each.answer is None and each.cancelled is None for each in exchange.sent)


def closed_early(exchange: ObservedExchange) -> bool:
    """Return True for the stream of a POST that the server has closed in order, before all its responses.

    The end of a session ends its streams.
    """
    if exchange.session.state(Activity).leaving:
        return False
    return exchange.method == "POST" and exchange.stream and is_streamable(exchange) and waiting(exchange) and (
        exchange.ended_by == "server" and exchange.complete is True and exchange.session.ended is None)


def _content(seen: ObservedEvent) -> int:
    if seen.message is not None:
        if "content" not in seen.message.notes:
            seen.message.notes["content"] = content(seen.message.data)
        return int(seen.message.notes["content"])
    return content(seen.data) if seen.data else 0


def _sent_again(seen: ObservedEvent, known: Cursor) -> bool:
    return _content(seen) in (known.content, 0) or not known.content  # servers make messages of events without data


# Event ids

@rule("http.resume-event-id-unique", "http.resume-event-id-encodes-stream", on=SSE_EVENT, needs="sse",
      follows="session:http.resume-no-cross-stream", scene="""
    on http 2025-06-18
    C [3] #1 tools/call {"name": "slow"}
    S [3] stream
    S [3 id=1] #1 {"content": []}
    C [4] #2 tools/call {"name": "slow"}
    S [4] stream
  + S [4 id=2] #2 {"content": []}
  - S [4 id=1] #2 {"content": []}
""")
def id_unique(seen: ObservedEvent) -> Verdict:
    """An event id is given once in a session: with it a stream is found again."""
    if not seen.id or not is_streamable(seen.exchange):
        return None
    known: Optional[Cursor] = seen.exchange.session.state(EventIds).given.get(seen.id)
    if known is None:
        return KEPT
    if is_resumed(seen.exchange) and _sent_again(seen, known):
        return None
    if seen.exchange.session.id is None:
        return CannotTell("which clients have the two streams: without sessions ids are of one client")
    return Broken("the id %s of exchange %d again" % (seen.id[:40], known.origin.number), "id")


@rule("http.resume-no-cross-stream", on=SSE_EVENT, needs="sse", scene="""
    on http 2025-06-18
    C [3] #1 tools/call {"name": "slow"}
    S [3] stream
    S [3 id=a-1] notifications/message {"level": "info", "data": "a"}
    S [3] end cut
    C [4] #2 tools/call {"name": "slow"}
    S [4] stream
    S [4 id=b-1] notifications/message {"level": "info", "data": "b"}
    S [4 id=b-2] #2 {"content": []}
    C [5] GET /mcp {"Accept": "text/event-stream", "Last-Event-ID": "a-1"}
    S [5] stream
  - S [5 id=b-1] notifications/message {"level": "info", "data": "b"}
    S [5 id=a-2] #1 {"content": []}
    S [5] end
""")
def no_cross_stream(seen: ObservedEvent) -> Verdict:
    """A stream that is resumed carries only what belongs on it."""
    exchange = seen.exchange
    if not is_resumed(exchange) or "origin" not in exchange.notes or not is_streamable(exchange) or (
            "crossed" in exchange.notes):  # once for a stream
        return None
    origin, message = origin_of(exchange), seen.message
    known: Optional[Cursor] = exchange.session.state(EventIds).given.get(seen.id) if seen.id else None
    if known is not None and known.origin is not origin and _sent_again(seen, known):
        exchange.notes["crossed"] = True
        return Broken("the event %s of exchange %d" % (str(seen.id)[:40], known.origin.number), "id", at=exchange)
    if message is not None and message.kind in (RESULT, ERROR) and message.request is not None and (
            exchange.session.id is not None):
        asked = message.request.exchange
        if asked is not None and asked is not origin:
            exchange.notes["crossed"] = True
            return Broken("the response to a request of exchange %d" % asked.number, at=exchange)
    return KEPT


@observe(on=SSE_EVENT)
def note_id(seen: ObservedEvent) -> None:
    """Note the id of an event."""
    given = seen.exchange.session.state(EventIds).given
    if seen.id and seen.id not in given:
        given[seen.id] = Cursor(origin_of(seen.exchange), _content(seen))


@rule("http.resume-prime-event", on=SSE_EVENT, needs="sse", scene="""
    on http 2025-11-25
    C [3] #1 tools/call {"name": "slow"}
    S [3] stream
  + S [3] event {"id": "a-0", "data": ""}
    S [3 id=a-1] #1 {"content": []}
""", reading="a server that gives no ids has streams that cannot be resumed, and nothing to prepare for; a request "
             "that names no revision is taken for one of 2025-03-26")
def primed(seen: ObservedEvent) -> Verdict:
    """The stream of a POST begins with an event that has an id and no data."""
    exchange = seen.exchange
    asked = exchange.request
    if exchange.method != "POST" or exchange.event_count or asked is None or not is_streamable(exchange):
        return None
    if asked.method == "initialize" or exchange.header("mcp-protocol-version") is None:
        return None  # the revision is being agreed on, or the request is taken for one of 2025-03-26
    if seen.id and not seen.data and seen.message is None:
        return KEPT
    if not seen.id or exchange.header("mcp-protocol-version") is None:
        return None
    cursors = exchange.session.state(EventIds)
    if cursors.unprimed:
        return None
    cursors.unprimed = True
    return Broken("the first event is another one", at=exchange)


# Resuming

@rule("http.resume-get", on=HEAD, when="unposted", needs="http sse end start", scene="""
    on http 2025-11-25
    C [3] #1 tools/call {"name": "slow"}
    S [3] stream
    S [3] event {"id": "a-0", "retry": 0, "data": ""}
    S [3 id=a-1] notifications/message {"level": "info", "data": "a"}
    S [3] end
  + C [5] GET /mcp {"Accept": "text/event-stream", "Last-Event-ID": "a-1"}
  - C [5] GET /mcp {"Accept": "text/event-stream", "Last-Event-ID": "a-0"}
    S [5] stream
    S [5 id=a-2] #1 {"content": []}
    S [5] end
""")
def resumes_from_last(exchange: ObservedExchange) -> Verdict:
    """A client resumes a stream from the last event that it has received."""
    id = exchange.header("last-event-id")
    if id is None or exchange.method != "GET" or not is_streamable(exchange):
        return None
    cursors = exchange.session.state(EventIds)
    known: Optional[Cursor] = cursors.given.get(id)
    if known is None:
        unsure = cursors.given.forgot or not exchange.session.from_start
        return CannotTell("the events before") if unsure else Broken("no event had the id " + id[:40], "Last-Event-ID")
    last = latest_of(known.origin)
    if last.last_id == id:
        return KEPT
    if last.complete is not True or last.ended_by != "server" or not last.last_id:
        return CannotTell("which events have reached the client")
    return Broken("%s, and the last was %s" % (id[:40], last.last_id[:40]), "Last-Event-ID")


@rule("http.resume-respect-retry", on=HEAD, when="cursor", needs="http sse end times", scene="""
    on http 2025-11-25
    C [3] #1 tools/call {"name": "slow"}
    S [3] stream
    S [3] event {"id": "a-0", "retry": 5000, "data": ""}
    S [3] end
  + @ 5
    C [5] GET /mcp {"Accept": "text/event-stream", "Last-Event-ID": "a-0"}
    S [5] stream
    S [5 id=a-1] #1 {"content": []}
    S [5] end
""")
def waits(exchange: ObservedExchange) -> Verdict:
    """A client waits as long as `retry` says before it resumes a stream."""
    known: Optional[Cursor] = exchange.session.state(EventIds).given.get(exchange.header("last-event-id") or "")
    if known is None or not is_resumed(exchange):
        return None
    last = latest_of(known.origin)
    if last.ended is None or last.ended_by != "server" or type(last.retry) is not int:
        return None
    wanted, waited = last.retry / 1000, exchange.opened - last.ended
    if waited >= wanted * (1 - EARLY) - EARLY:
        return KEPT
    return Broken("after %.0f ms instead of %d" % (waited * 1000, last.retry), "Last-Event-ID")


@rule("http.resume-get-polling", on=RESPONSE, when="cursor stream", needs="http sse end", scene="""
    on http 2025-11-25
    C [3] GET /mcp {"Accept": "text/event-stream"}
    S [3] stream
  + S [3] event {"id": "g-0", "retry": 100, "data": ""}
  - S [3] event {"id": "g-0", "data": ""}
    S [3] end
    @ 1
    C [5] GET /mcp {"Accept": "text/event-stream", "Last-Event-ID": "g-0"}
    S [5] stream
    C [5] end
""")
def get_retry(exchange: ObservedExchange) -> Verdict:
    """A server that closes the connection of a GET stream which can be resumed says by `retry` when."""
    last: Optional[ObservedExchange] = exchange.notes.get("before")
    if last is None or origin_of(exchange).method != "GET" or not exchange.stream or exchange.status != 200:
        return None
    if last.ended_by != "server" or last.complete is not True:
        return None
    return KEPT if last.retry is not None else Broken("closed without retry", "retry", at=last)


@observe(on=HEAD, when="cursor")
def note_resumed(exchange: ObservedExchange) -> None:
    """Note which stream a GET resumes."""
    id = exchange.header("last-event-id")
    known: Optional[Cursor] = exchange.session.state(EventIds).given.get(id) if id else None
    if known is not None and exchange.method == "GET":
        exchange.notes["origin"] = known.origin
        exchange.notes["before"] = latest_of(known.origin)
        known.origin.notes["resumed"] = exchange


# Streams that are closed before their end

@rule("http.resume-retry-before-close", on=RESPONSE, when="early", needs="http sse end", scene="""
    on http 2025-11-25
    C [3] #1 tools/call {"name": "slow"}
    S [3] stream
  + S [3] event {"id": "a-0", "retry": 100, "data": ""}
  - S [3] event {"id": "a-0", "data": ""}
    S [3] end
    @ 1
    C [5] GET /mcp {"Accept": "text/event-stream", "Last-Event-ID": "a-0"}
    S [5] stream
    S [5 id=a-1] #1 {"content": []}
    S [5] end
""")
def retry_before_close(exchange: ObservedExchange) -> Verdict:
    """A server that closes the connection of a stream before its end says by `retry` when to come back."""
    if exchange.status is None or exchange.status // 100 != 2:
        return None  # the session may be over
    found: List[Any] = []
    cursors = exchange.session.state(EventIds)
    early, cursors.unjudged = cursors.unjudged, []
    for closed in early:
        if closed.last_id and closed.retry is None:
            found.append(Broken("closed without retry", "retry", at=closed))
    return found or (KEPT if early else None)


@observe(on=END, when="stream")
def note_early(exchange: ObservedExchange) -> None:
    """Note a stream that the server has closed before all its responses."""
    if closed_early(exchange):
        cursors = exchange.session.state(EventIds)
        cursors.early[exchange.number] = exchange
        if len(cursors.unjudged) < Bounds().messages:
            cursors.unjudged.append(exchange)
            noted(exchange.connection, "early")


def sessions_of(connection: ObservedConnection) -> List[ObservedSession]:
    """Return the sessions of a connection that are remembered."""
    named = connection.sessions.values()
    return named if connection.default in named else [*named, connection.default]


def closed_early_of(connection: ObservedConnection) -> Iterator[Tuple[ObservedSession, ObservedExchange]]:
    """Yield the streams of POSTs that the server has closed before all responses, each after its session."""
    for session in sessions_of(connection):
        for closed in session.state(EventIds).early.values():
            yield session, closed


@rule("http.resume-client-poll", on=FINISH, party="client", needs="http sse end", scene="""
    on http 2025-11-25
    C [3] #1 tools/call {"name": "slow"}
    S [3] stream
    S [3] event {"id": "a-0", "retry": 100, "data": ""}
    S [3] end
    @ 1
  + C [5] GET /mcp {"Accept": "text/event-stream", "Last-Event-ID": "a-0"}
  + S [5] stream
  + S [5 id=a-1] #1 {"content": []}
  + S [5] end
    @ 60
    C #2 tools/list {}
    S #2 {"tools": []}
""")
def polls(connection: ObservedConnection) -> Verdict:
    """A client whose stream was closed before its end comes back for the rest."""
    found: List[Any] = []
    judged = False
    for session, closed in closed_early_of(connection):
        judged = judged or "resumed" in closed.notes
        if not closed.last_id or "resumed" in closed.notes or not waiting(closed):
            continue
        since = (closed.ended or 0.0) + (closed.retry or 0) / 1000 + PATIENCE
        if session.state(Activity).last > since and session.ended is None:
            found.append(Broken("never resumed", "Last-Event-ID", at=closed))
    return found or (KEPT if judged else None)


@rule("http.resume-ignored-modern", on=END, when="cursor", needs="http", scene="""
    on http 2026-07-28
    C [3 Last-Event-ID=a-1] #1 tools/list {}
  + S [3] #1 {"tools": []}
  - S [3] 400 {"Content-Type": "text/plain"}
  - S [3] body {"text": "Last-Event-ID is not allowed"}
  - S [3] end
""")
def cursor_ignored(exchange: ObservedExchange) -> Verdict:
    """A server without resumable streams takes no notice of `Last-Event-ID`."""
    if exchange.header("last-event-id") is None or exchange.method != "POST" or exchange.status is None:
        return None
    if exchange.status // 100 == 2:
        return KEPT
    return Broken("refused by %d" % exchange.status, "Last-Event-ID") if "last-event-id" in prose(exchange) else None
