"""Rules of the endpoint of Streamable HTTP [2025-03-26..2025-11-25 basic/transports §Streamable HTTP].

They are about POSTs and their replies [2026-07-28 basic/transports/streamable-http], about who may speak to the
endpoint [..2025-11-25 basic/transports §Security Warning], and about GET
[2025-03-26..2025-11-25 basic/transports §Listening for Messages from the Server].
"""

from typing import Any, Optional, Tuple

from .....jsontext import JsonError, loads
from ...bounds import Bounds, Forgetful
from ...httpfacts import MOST, accepts, is_local, is_repeated, is_streamable, split, text_of
from ...observed import ERROR, NOISE, NOTIFICATION, REQUEST, RESULT, Message, ObservedConnection, ObservedExchange
from ...rules import (
    BATCH, END, HEAD, KEPT, MESSAGE, RESPONSE, UNDECIDED, Broken, CannotTell, Verdict, noted, observe, rule,
)

UNDECIDED.update({
    "http.client-supports-json-and-sse": "a client that leaves a reply may have cancelled, failed or lost the network; "
                                         "nothing on the wire says that the form of the reply was the reason",
})
MODERN_CODES = (-32020, -32021, -32022)
"""Codes of errors that only a server without handshake sends: HeaderMismatch, MissingRequiredClientCapability,
UnsupportedProtocolVersion."""


class Modern:
    """The era of a server: has it shown that it speaks a revision without handshake?

    A request in such a revision proves nothing: clients try it on servers that know older ones only.
    """

    def __init__(self) -> None:
        self.shown = False
        self.refused = False
        """True if it has refused a handshake as one that does not know any."""
        self.opened = False
        """True if it has answered a handshake."""

    @property
    def only(self) -> bool:
        """True if it knows no revision with a handshake; that it lists none proves nothing."""
        return self.refused and not self.opened


def shows_modern(message: Message) -> bool:
    """Return True for a response that a server of older revisions would not send."""
    if message.kind == RESULT:
        return "resultType" in message.result
    return message.kind == ERROR and message.error.get("code") in MODERN_CODES


def is_modern(connection: ObservedConnection) -> bool:
    """Return True if the server has shown that it speaks a revision without handshake."""
    return connection.state(Modern).shown


OTHER_ERA = CannotTell("whether the server speaks older revisions, too")
NO_HANDSHAKE = """
    C [1] #1 initialize {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "client", \
"version": "1"}}
    S [1] 400 {"Content-Type": "application/json"}
    S [1] #1 !-32022 "unsupported" {"supported": ["2026-07-28"], "requested": "2025-11-25"}
"""
"""The lines of a scene in which a server refuses a handshake."""
UNKNOWN_ERA = CannotTell("whether the server speaks this revision")


@observe(on=(RESULT, ERROR), when="http server")
def note_modern(message: Message) -> None:
    """Note that the server speaks a revision without handshake, and whether it knows of handshakes."""
    if message.sender != "server" or message.revision is None:
        return
    known = message.connection.state(Modern)
    if message.method == "initialize":
        known.opened = known.opened or message.kind == RESULT
        known.refused = known.refused or _knows_no_handshake(message)
    elif message.revision.stateless:
        known.shown = known.shown or shows_modern(message)


def _knows_no_handshake(message: Message) -> bool:
    code, data = message.error.get("code"), message.error.get("data")
    supported = data.get("supported") if isinstance(data, dict) else None
    if code == -32022:
        return isinstance(supported, list) and all(isinstance(each, str) and each >= "2026" for each in supported)
    return code in (-32601, -32020)


class Endpoints:
    """The paths of a connection on which a POST was served."""

    def __init__(self) -> None:
        self.served: "Forgetful[str, None]" = Forgetful(Bounds().entries)


def facts_of_response(exchange: ObservedExchange) -> Any:
    """Return the facts on which the rules of a response that is a success depend; of any other, the exchange itself."""
    if exchange.status is None or exchange.status // 100 != 2:
        return exchange
    return (exchange.head, exchange.answer_head, exchange.connection.transport, bool(exchange.sent),
            exchange.request is None)


@rule("http.endpoint-post", "http.endpoint-post-get", on=RESPONSE, facts=facts_of_response, needs="http", scene="""
    on http 2026-07-28
    C #1 tools/list {}
    S #1 {"tools": []}
    C [3] #2 prompts/list {}
  + S [3] #2 {"prompts": []}
  - S [3] 405
  - S [3] end
""")
def endpoint_takes_posts(exchange: ObservedExchange) -> Verdict:
    """The endpoint takes POSTs: it does not answer some that the method is not allowed or not known."""
    if not is_streamable(exchange) or exchange.method != "POST" or not exchange.sent:
        return None
    if exchange.status in (405, 501):
        if exchange.path in exchange.connection.state(Endpoints).served:
            return "%d to a POST" % exchange.status
        return UNKNOWN_ERA
    return KEPT if exchange.status is not None and exchange.status // 100 == 2 else None


@observe(on=RESPONSE)
def note_served(exchange: ObservedExchange) -> None:
    """Note that a POST was served."""
    served = exchange.connection.state(Endpoints).served
    if exchange.path not in served and exchange.sent and exchange.method == "POST" and (
            exchange.status is not None and exchange.status // 100 == 2):
        served[exchange.path] = None


# What the client sends

def _is_post(message: Message) -> Optional[ObservedExchange]:
    """Return the exchange of a message that the client posts over Streamable HTTP."""
    exchange = message.exchange
    if exchange is None or message.sender != "client" or exchange.method != "POST" or not is_streamable(exchange):
        return None
    return exchange


def facts_of_post(subject: Any) -> Any:
    """Return the facts on which the rules of the messages of a client depend: those of one POST are those of the next.

    Whether it is a message that begins the exchange, and whether that was opened after a handshake, is among them.
    """
    if type(subject) is not Message or subject.kind == NOISE or subject.batch is not None or (
            subject.method == "initialize"):
        return subject
    exchange, session = subject.exchange, subject.session
    if exchange is None:
        return subject
    result = session.initialize_result
    return (exchange.head, exchange.sent[0] is subject, session, session.id, session.revision, result,
            result is None or exchange.opened <= result.time, subject.connection.transport,
            subject.connection.mixed, subject.connection.live > 1)


def _several(text: str) -> bool:
    """Return True for the text of two or more JSON objects, one after the other on lines of their own."""
    lines = [line for line in text[:MOST].splitlines() if line.strip()]
    try:
        return len(lines) > 1 and all(isinstance(loads(line.encode("utf-8")), dict) for line in lines[:8])
    except (JsonError, UnicodeError):
        return False


@rule("http.post-each-message", on=(MESSAGE, NOISE), when="http client", facts=facts_of_post, needs="http", scene="""
    on http 2025-06-18
    C [3] #1 tools/list {}
  - C [3] #2 prompts/list {}
    S [3] #1 {"tools": []}
""")
def post_of_its_own(message: Message) -> Verdict:
    """Each message of the client has a POST of its own."""
    exchange = _is_post(message)
    if exchange is None:
        return None
    if message.kind == NOISE:
        return "several messages in one body" if _several(message.event.text) else None
    if exchange.sent and exchange.sent[0].event is not message.event:
        return "another message in the same POST"
    return KEPT


@rule("http.client-uses-post", on=MESSAGE, when="http client", facts=facts_of_post, needs="http", scene="""
    on http 2025-06-18
  + C [3] POST /mcp {"Accept": "application/json, text/event-stream"}
  - C [3] PUT /mcp {"Accept": "application/json, text/event-stream"}
    C [3] #1 tools/list {}
    S [3] #1 {"tools": []}
""")
def posts(message: Message) -> Verdict:
    """The client sends its messages by the method POST."""
    exchange = message.exchange
    if exchange is None or message.sender != "client" or not is_streamable(exchange):
        return None
    return KEPT if exchange.method == "POST" else "a message by %s" % exchange.method[:20]


@rule("http.accept-both", on=MESSAGE, when="http client", facts=facts_of_post, needs="http",
      reading="a wildcard that covers a media type lists it", scene="""
    on http 2025-06-18
  + C [3] #1 tools/list {}
  - C [3 Accept=application/json] #1 tools/list {}
    S [3] #1 {"tools": []}
""")
def accepts_both(message: Message) -> Verdict:
    """A POST accepts both a JSON object and a stream of events."""
    exchange = _is_post(message)
    if exchange is None or not exchange.sent or exchange.sent[0] is not message:
        return None
    value = exchange.header("accept") or ""
    if accepts(value, "application/json") and accepts(value, "text/event-stream"):
        return KEPT
    return Broken("Accept: %s" % (value[:80] or "(none)"), "Accept")


@rule("http.post-body-single-or-response", "http.post-body-single", on=(BATCH, MESSAGE),
      when="http client", facts=facts_of_post, party="client", needs="http", scene="""
    on http 2025-06-18
  + C [3] #1 tools/list {}
  - C> [3] [{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}]
    S [3] #1 {"tools": []}
""")
def single(subject: Any) -> Verdict:
    """The body of a POST is one message, not an array of messages."""
    if isinstance(subject, Message):
        return KEPT if subject.batch is None and _is_post(subject) is not None else None
    if not subject or _is_post(subject[0]) is None:
        return None
    return Broken("an array of %d" % len(subject), "body")


@rule("http.client-no-responses", on=(RESULT, ERROR, REQUEST), when="http client", needs="http", scene="""
    on http 2026-07-28
    C #1 tools/list {}
    S #1 {"tools": []}
  - C [3] #"s-1" {"roots": []}
  - S [3] 400
  - S [3] end
""")
def no_responses(message: Message) -> Verdict:
    """The client posts no responses."""
    exchange = _is_post(message)
    if exchange is None or exchange.sent[0] is not message:
        return None
    return KEPT if message.kind == REQUEST else "a response in a POST"


# What the server answers

def _carries(exchange: ObservedExchange) -> bool:
    """Return True for a POST of notifications or responses only."""
    return is_streamable(exchange) and exchange.method == "POST" and bool(exchange.sent) and all(
        each.kind in (NOTIFICATION, RESULT, ERROR) for each in exchange.sent)


def _has_body(exchange: ObservedExchange) -> bool:
    body = exchange.answer_body
    return exchange.received_count > 0 or body is not None and (
        bool(text_of(body)) or any(body.more.get(name) not in (None, "") for name in ("json", "form", "base64"))
        or "json" in body.more)


@rule("http.notification-202", on=END, when="unasked", needs="http", follows="http.notification-rejected", scene="""
    on http 2025-06-18
    C [3] notifications/roots/list_changed
  + S [3] 202
  - S [3] 200 {"Content-Type": "application/json"}
  - S [3] body {"json": {}}
    S [3] end
""")
def accepted(exchange: ObservedExchange) -> Verdict:
    """A POST without a request that is accepted is answered by 202, without a body."""
    if not _carries(exchange) or exchange.status is None or exchange.status // 100 != 2:
        return None
    if any(each.kind == ERROR for each in exchange.received):
        return None  # it was not accepted
    if exchange.status != 202:
        return "%d instead of 202" % exchange.status
    return "202 with a body" if _has_body(exchange) else KEPT


@rule("http.notification-rejected", on=END, when="unasked", needs="http", scene="""
    on http 2025-06-18
    C [3] notifications/roots/list_changed
  + S [3] 400 {"Content-Type": "application/json"}
  - S [3] 200 {"Content-Type": "application/json"}
    S [3] !-32600 "not accepted"
    S [3] end
""")
def rejected(exchange: ObservedExchange) -> Verdict:
    """A POST without a request that is not accepted is answered by the status of an error."""
    if not _carries(exchange) or exchange.status is None:
        return None
    if exchange.status >= 400:
        return KEPT
    refused = exchange.status // 100 == 2 and any(each.kind == ERROR for each in exchange.received)
    return "%d with an error in the body" % exchange.status if refused else None


@rule("http.post-response-content-type", on=RESPONSE, facts=facts_of_response, needs="http", scene="""
    on http 2025-06-18
    C [3] #1 tools/list {}
  + S [3] 200 {"Content-Type": "application/json"}
  - S [3] 200 {"Content-Type": "text/plain"}
    S [3] #1 {"tools": []}
""")
def content_type(exchange: ObservedExchange) -> Verdict:
    """A request is answered by a JSON object or by a stream of events, and says so."""
    if not is_streamable(exchange) or exchange.request is None or exchange.status is None:
        return None
    if exchange.status // 100 != 2:
        return None
    if exchange.media_type in ("application/json", "text/event-stream"):
        return KEPT
    return Broken("%d with %s" % (exchange.status, exchange.media_type[:60] or "no media type"), "Content-Type")


@rule("http.method-not-found-404", on=ERROR, party="server", needs="http",
      follows=("resources.not-found-32602", "prompts.invalid-name"), scene="""
    on http 2026-07-28
    C #1 tools/list {}
    S #1 {"tools": []}
    C [3] #2 vendor/what {}
  + S [3] 404 {"Content-Type": "application/json"}
  - S [3] 200 {"Content-Type": "application/json"}
    S [3] #2 !-32601 "Method not found"
""")
def method_not_found(message: Message) -> Verdict:
    """A method that the server does not have is answered by 404 and the error -32601."""
    exchange = message.exchange
    if message.sender != "server" or message.error.get("code") != -32601 or not is_streamable(exchange):
        return None
    if exchange is None or exchange.status is None or exchange.request is None:
        return None
    if exchange.status == 404:
        return KEPT
    return "%d with the error -32601" % exchange.status if is_modern(message.connection) else UNKNOWN_ERA


# The eras

class LastRefusal:
    """The refusal of the last request of a client without handshake."""

    def __init__(self) -> None:
        self.error: Optional[Message] = None


def _client_name(message: Message) -> Any:
    info = message.params.get("clientInfo", message.meta.get("io.modelcontextprotocol/clientInfo"))
    return info.get("name") if isinstance(info, dict) else None


@rule("http.dual-era-inspect-400", on=REQUEST, when="http client fallback", always=True, needs="http", scene="""
    on http 2026-07-28 bare client={}
    C [1] #1 tools/call {"name": "ask"}
    S [1] 400 {"Content-Type": "application/json"}
    S [1] #1 !-32021 "a capability is missing" {"requiredCapabilities": {"sampling": {}}}
  + C [2] #2 tools/list {}
  + S [2] #2 {"tools": []}
  - C [2] #2 initialize {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "client", \
"version": "1"}}
  - S [2] 400
  - S [2] end
""")
def no_blind_fallback(message: Message) -> Verdict:
    """A client that is refused by an error of a server without handshake does not fall back to the handshake."""
    error = message.connection.state(LastRefusal).error
    if error is None or message.sender != "client" or not is_streamable(message.exchange):
        return None
    if message.method != "initialize":
        return KEPT
    data = error.error.get("data")
    supported = data.get("supported") if isinstance(data, dict) else None
    if error.error.get("code") == -32022 and (not isinstance(supported, list) or any(
            not isinstance(each, str) or each < "2026" for each in supported)):
        return None  # an older revision may have been offered
    if error.request is None or _client_name(error.request) != _client_name(message):
        return CannotTell("whether the same client falls back")
    return "initialize after the error %s" % error.error.get("code")


@observe(on=REQUEST, when="http client fallback")
def forget_refusal(message: Message) -> None:
    """Forget a refusal with the next request."""
    message.connection.state(LastRefusal).error = None


@observe(on=ERROR, when="http")
def note_refusal(message: Message) -> None:
    """Note the refusal of a request without handshake."""
    if message.error.get("code") in MODERN_CODES and message.revision is not None and message.revision.stateless and (
            message.exchange is not None and message.exchange.status == 400):
        message.connection.state(LastRefusal).error = message
        noted(message.connection, "fallback")


UNDECIDED.update({
    "http.bind-localhost": "the address to which a server is bound is in no message; a connection shows one of them",
})
_CREDENTIALS = ("authorization", "proxy-authorization", "cookie", "mcp-session-id")


def _served(exchange: ObservedExchange) -> bool:
    return exchange.status is not None and exchange.status // 100 == 2


# Origins

def _is_origin(value: str) -> bool:
    """Return True if a value can be an origin: ``null``, or a scheme and a host."""
    scheme, apart, host = value.partition("://")
    return value == "null" or bool(scheme and apart and host and " " not in value)


def prose(exchange: ObservedExchange) -> str:
    """Return what an answer says to people, in lower case."""
    parts = [str(each.error.get("message", "")) for each in exchange.received]
    body = exchange.answer_body
    if body is not None:
        json = body.more.get("json")
        parts += [text_of(body), str(json)[:2000] if isinstance(json, dict) else ""]
    return " ".join(part[:2000] for part in parts).lower()


@rule("http.origin-validate", on=RESPONSE, when="origin", needs="http", scene="""
    on http 2025-06-18
    C [3 Origin=http://evil.example] #1 tools/list {}
  + S [3] 403
  + S [3] end
  - S [3] #1 {"tools": []}
""", reading="a server on this machine that lets no page of another origin read its answers has no reason to serve one")
def origin_validated(exchange: ObservedExchange) -> Verdict:
    """A server refuses requests of pages from elsewhere: one on this machine does not serve a foreign origin."""
    origin = exchange.header("origin")
    if origin is None or exchange.method == "OPTIONS" or not exchange.is_mcp:
        return None
    if exchange.status == 403:
        return KEPT
    host = exchange.url or "http://" + (exchange.header("host") or "")
    away, parts = is_local(origin), split(origin)
    if not _served(exchange) or away is not False or parts is None or parts[0] not in ("http", "https"):
        return None
    if not is_local(host) or exchange.answer_header("access-control-allow-origin") is not None:
        return CannotTell("which origins the server allows")
    return Broken("the origin %s was served" % origin[:80], "Origin")


@rule("http.origin-403", on=END, when="origin", needs="http", scene="""
    on http 2025-11-25
    C [3 Origin=http://evil.example] #1 tools/list {}
  + S [3] 403
  - S [3] 400 {"Content-Type": "text/plain"}
    S [3] body {"text": "Invalid Origin header"}
    S [3] end
""")
def origin_forbidden(exchange: ObservedExchange) -> Verdict:
    """An origin that is not allowed is refused by 403."""
    origin, status = exchange.header("origin"), exchange.status
    if origin is None or exchange.method == "OPTIONS" or not exchange.is_mcp or status is None:
        return None
    if status == 403:
        return KEPT
    if _served(exchange) and not _is_origin(origin):
        return Broken("%s was served, and is no origin" % origin[:60], "Origin")
    if 400 <= status < 500 and "origin" in prose(exchange) and not is_repeated(exchange, "origin"):
        return Broken("an origin was refused by %d" % status, "Origin")
    return None


# Authentication

class RefusedRequests:
    """The requests without any credentials that were refused by 401: path, methods and name."""

    def __init__(self) -> None:
        self.seen: "Forgetful[Any, None]" = Forgetful(Bounds().entries)


def _anonymous(exchange: ObservedExchange) -> Optional[Tuple[str, str, str, str]]:
    """Return what a request without any credentials asks for; None if it may have some."""
    first = exchange.sent[0] if exchange.sent else None
    if first is None or exchange.query or any(
            name.lower() in _CREDENTIALS or name.lower().endswith(("key", "token")) for name, _ in exchange.fields):
        return None
    return exchange.path, exchange.method, first.method, str(first.params.get("name", first.params.get("uri")))[:200]


@rule("http.authenticate", on=RESPONSE, when="guarded", needs="http", scene="""
    on http 2025-03-26 nosession
    C [3] #1 tools/list {}
    S [3] 401
    S [3] end
  + C [4 Authorization="Bearer ***0a0b0c0d"] #2 tools/list {}
  - C [4] #2 tools/list {}
    S [4] #2 {"tools": []}
""")
def authenticated(exchange: ObservedExchange) -> Verdict:
    """A server that wants credentials for a request wants them each time."""
    refused = exchange.connection.state(RefusedRequests).seen
    if exchange.status != 401 and not len(refused):
        return None
    asked = _anonymous(exchange)
    if asked is None or not exchange.is_mcp:
        return None
    if exchange.status == 401:
        return KEPT
    return "served without credentials, which were wanted before" if _served(exchange) and asked in refused else None


@observe(on=RESPONSE, when="refused")
def note_refused(exchange: ObservedExchange) -> None:
    """Note that a request without credentials was refused."""
    asked = _anonymous(exchange) if exchange.status == 401 else None
    if asked is not None:
        exchange.connection.state(RefusedRequests).seen[asked] = None


# GET

def is_get(exchange: ObservedExchange) -> bool:
    """Return True for a GET of the endpoint that comes from a client: others visit the address, too."""
    return is_streamable(exchange) and exchange.method == "GET" and exchange.is_mcp and (
        exchange.header("mcp-session-id") is not None or exchange.header("mcp-protocol-version") is not None
        or "text/event-stream" in (exchange.header("accept") or "").lower())


@rule("http.get-accept", on=HEAD,
      when="unposted", needs="http", reading="a wildcard that covers a media type lists it", scene="""
    on http 2025-06-18
  + C [3] GET /mcp {"Accept": "text/event-stream"}
  - C [3] GET /mcp {"Accept": "application/json"}
    S [3] 405
    S [3] end
""")
def get_accepts(exchange: ObservedExchange) -> Verdict:
    """A GET of the endpoint accepts a stream of events."""
    if not is_get(exchange):
        return None
    value = exchange.header("accept") or ""
    return KEPT if accepts(value, "text/event-stream") else Broken("Accept: %s" % (value[:80] or "(none)"), "Accept")


class Taken:
    """The paths at which a POST of a connection was accepted."""

    def __init__(self) -> None:
        self.paths: "Forgetful[str, None]" = Forgetful(Bounds().entries)


@observe(on=RESPONSE)
def note_taken(exchange: ObservedExchange) -> None:
    """Note where the endpoint is."""
    paths = exchange.connection.state(Taken).paths
    if exchange.path not in paths and exchange.method == "POST" and _served(exchange):
        paths[exchange.path] = None


@rule("http.get-sse-or-405", on=RESPONSE, when="unposted", needs="http", scene="""
    on http 2025-06-18
    C [3] GET /mcp {"Accept": "text/event-stream"}
  + S [3] 405
  - S [3] 200 {"Content-Type": "text/html"}
    S [3] end
""")
def get_streams(exchange: ObservedExchange) -> Verdict:
    """A GET of the endpoint is answered by a stream of events, or by 405."""
    if not is_get(exchange) or exchange.status is None:
        return None
    if exchange.status == 405 or _served(exchange) and exchange.stream:
        return KEPT
    if _served(exchange):
        return Broken("%d with %s" % (exchange.status, exchange.media_type[:60] or "no media type"), "Content-Type")
    if exchange.status == 404 and exchange.path not in exchange.connection.state(Taken).paths:
        return CannotTell("whether the endpoint is at this path")
    if exchange.status == 501 or exchange.status == 404 and exchange.header("mcp-session-id") is None:
        return "%d to a GET" % exchange.status
    return CannotTell("why a GET was refused by %d" % exchange.status) if exchange.status == 409 else None


@rule("http.legacy-get-delete-405", on=RESPONSE, when="unposted", always=True, needs="http", scene="""
    on http 2026-07-28
""" + NO_HANDSHAKE + """
    C [3] DELETE /mcp {"MCP-Protocol-Version": null, "Mcp-Session-Id": "***11223344"}
  + S [3] 405
  - S [3] 404
    S [3] end
""")
def gone_methods(exchange: ObservedExchange) -> Verdict:
    """A server that knows no revision with sessions answers GET and DELETE by 405."""
    if not is_streamable(exchange) or exchange.method not in ("GET", "DELETE") or not exchange.is_mcp:
        return None
    if exchange.status is None or exchange.status in (401, 403, 429) or exchange.status >= 500:
        return None
    if not exchange.connection.state(Modern).only:
        return OTHER_ERA
    return KEPT if exchange.status == 405 else "%d to %s" % (exchange.status, exchange.method)
