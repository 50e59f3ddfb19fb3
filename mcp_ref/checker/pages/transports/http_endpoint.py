"""Rules of the endpoint: who may speak to it, and what it does with GET [..2025-11-25 basic/transports §Security
Warning], [2025-03-26..2025-11-25 basic/transports §Listening for Messages from the Server]."""

from typing import Any, Optional, Tuple

from ...bounds import Bounds, Forgetful
from ...httpfacts import accepts, is_local, is_repeated, is_streamable, split, text_of
from ...observed import Exchange
from ...rules import END, HEAD, KEPT, RESPONSE, UNDECIDED, Broken, CannotTell, Verdict, observe, rule
from .http_messages import NO_HANDSHAKE, OTHER_ERA, Modern

UNDECIDED.update({
    "http.bind-localhost": "the address to which a server is bound is in no message; a connection shows one of them",
})
_CREDENTIALS = ("authorization", "proxy-authorization", "cookie", "mcp-session-id")


def _served(exchange: Exchange) -> bool:
    return exchange.status is not None and exchange.status // 100 == 2


# Origins

def _is_origin(value: str) -> bool:
    """Return True if a value can be an origin: ``null``, or a scheme and a host."""
    scheme, apart, host = value.partition("://")
    return value == "null" or bool(scheme and apart and host and " " not in value)


def said(exchange: Exchange) -> str:
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
def origin_validated(exchange: Exchange) -> Verdict:
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
def origin_forbidden(exchange: Exchange) -> Verdict:
    """An origin that is not allowed is refused by 403."""
    origin, status = exchange.header("origin"), exchange.status
    if origin is None or exchange.method == "OPTIONS" or not exchange.is_mcp or status is None:
        return None
    if status == 403:
        return KEPT
    if _served(exchange) and not _is_origin(origin):
        return Broken("%s was served, and is no origin" % origin[:60], "Origin")
    if 400 <= status < 500 and "origin" in said(exchange) and not is_repeated(exchange, "origin"):
        return Broken("an origin was refused by %d" % status, "Origin")
    return None


# Authentication

class Refused:
    """The requests without any credentials that were refused by 401: path, methods and name."""

    def __init__(self) -> None:
        self.seen: "Forgetful[Any, None]" = Forgetful(Bounds().entries)


def _anonymous(exchange: Exchange) -> Optional[Tuple[str, str, str, str]]:
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
def authenticated(exchange: Exchange) -> Verdict:
    """A server that wants credentials for a request wants them each time."""
    refused = exchange.connection.state(Refused).seen
    if exchange.status != 401 and not len(refused):
        return None
    asked = _anonymous(exchange)
    if asked is None or not exchange.is_mcp:
        return None
    if exchange.status == 401:
        return KEPT
    return "served without credentials, which were wanted before" if _served(exchange) and asked in refused else None


@observe(on=RESPONSE, when="refused")
def note_refused(exchange: Exchange) -> None:
    """Note that a request without credentials was refused."""
    asked = _anonymous(exchange) if exchange.status == 401 else None
    if asked is not None:
        exchange.connection.state(Refused).seen[asked] = None


# GET

def is_get(exchange: Exchange) -> bool:
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
def get_accepts(exchange: Exchange) -> Verdict:
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
def note_taken(exchange: Exchange) -> None:
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
def get_streams(exchange: Exchange) -> Verdict:
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
def gone_methods(exchange: Exchange) -> Verdict:
    """A server that knows no revision with sessions answers GET and DELETE by 405."""
    if not is_streamable(exchange) or exchange.method not in ("GET", "DELETE") or not exchange.is_mcp:
        return None
    if exchange.status is None or exchange.status in (401, 403, 429) or exchange.status >= 500:
        return None
    if not exchange.connection.state(Modern).only:
        return OTHER_ERA
    return KEPT if exchange.status == 405 else "%d to %s" % (exchange.status, exchange.method)
