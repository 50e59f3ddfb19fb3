"""Rules of the transport HTTP+SSE [2024-11-05 basic/transports §HTTP with SSE]."""

from typing import Optional
from urllib.parse import urljoin, urlsplit

from ...bounds import Bounds, Forgetful
from ...observed import Exchange, Message, SseEvent
from ...rules import KEPT, MESSAGE, RESPONSE, SSE_EVENT, Broken, CannotTell, Verdict, observe, rule


class Announced:
    """The addresses that the streams of a connection have announced for messages: path and query, and their paths."""

    def __init__(self) -> None:
        self.targets: "Forgetful[str, None]" = Forgetful(Bounds().entries)
        self.paths: "Forgetful[str, Exchange]" = Forgetful(Bounds().entries)
        self.missed = False
        """True if a stream was seen whose beginning was not recorded."""


def _is_stream(exchange: Exchange) -> bool:
    """Return True for the GET of a stream of HTTP+SSE."""
    return exchange.connection.transport == "http+sse" and exchange.method == "GET"


def _target(exchange: Exchange) -> str:
    """Return path and query of a request."""
    return exchange.path + ("?" + exchange.query if exchange.query else "")


def _address(seen: SseEvent) -> Optional[str]:
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
def streams(exchange: Exchange) -> Verdict:
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
def begins_with_endpoint(seen: SseEvent) -> Verdict:
    """A stream begins with the event ``endpoint``: the address for messages."""
    if not _is_stream(seen.exchange) or seen.exchange.event_count:
        return None
    if seen.name != "endpoint" or seen.message is not None:
        return "the first event is %s" % (seen.name or "message")[:40]
    return KEPT if _address(seen) is not None else Broken("no address", "data")


@observe(on=SSE_EVENT)
def note_endpoint(seen: SseEvent) -> None:
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
def takes_posts(exchange: Exchange) -> Verdict:
    """The address for messages takes POSTs."""
    if exchange.connection.transport != "http+sse" or exchange.method != "POST" or not exchange.sent:
        return None
    stream: Optional[Exchange] = exchange.connection.state(Announced).paths.get(exchange.path)
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
