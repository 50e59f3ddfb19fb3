"""Rules of caching [2026-07-28 server/utilities/caching]."""

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from .....wiretrace import CLIENT
from ...bounds import Bounds, Forgetful
from ...listed import LISTS, NOTICES, PagedList, cursor_of
from ...observed import ERROR, NOTIFICATION, REQUEST, RESULT, Message
from ...rules import KEPT, UNDECIDED, Broken, Verdict, observe, rule
from ...values import masked, short
from ..basic.versioning import LONGEST
from .pagination import ISSUED

_CACHE = "a use of what is kept leaves no message"
UNDECIDED.update({
    "cache.key": _CACHE,
    "cache.no-mrtr": _CACHE,
    "cache.ttl-zero": _CACHE + ", and when a client needs a result is its own affair",
    "cache.ttl-absent": _CACHE + ", and the client may use measures of its own",
    "cache.ttl-negative": _CACHE + ", and when a client needs a result is its own affair",
    "cache.stale-refetch": "when a client needs a result again leaves no message, unless it asks for it",
    "cache.private-not-shared": _CACHE,
    "cache.page-refetch": "a client may begin a list anew where it would ask for a page again",
    "cache.snapshot": "whether a client needs a consistent list is its own affair",
})

DISCOVER = "server/discover"
_CACHED = (*LISTS, "resources/read", DISCOVER)
_REPEATS = 5
"""Times that a fresh result is asked for again before it counts: a user may want to look again."""
_POLLS = 5
"""Intervals in a row that make a habit."""
_NEAR = 0.1
"""Part of the time to live by which an interval may differ from it."""
_EVEN = 0.002
"""Part of an interval, and seconds, by which intervals without jitter differ: clocks and threads are no better."""
_SHORTEST = 0.5
"""Seconds below which intervals are the pace of a loop, not of a timer."""


def hints_missing(message: Message) -> Verdict:
    """Judge whether a result says how long it may be kept, and by whom."""
    result = message.result
    if result.get("resultType") != "complete":
        return None
    life, scope = result.get("ttlMs"), result.get("cacheScope")
    if not (isinstance(life, (int, float)) and not isinstance(life, bool)) and not masked(life):
        return Broken("ttlMs is %s" % short(life) if "ttlMs" in result else "ttlMs is missing", "result.ttlMs")
    if scope not in ("public", "private") and not masked(scope):
        return Broken("cacheScope is %s" % short(scope) if "cacheScope" in result else "cacheScope is missing",
                      "result.cacheScope")
    return KEPT


def _hints_of(id: str, method: str, params: str, result: str) -> Callable[[Message], Verdict]:
    """Return the rule that results of a method have hints."""
    def hints(message: Message) -> Verdict:
        return hints_missing(message)

    hints.__doc__ = "A complete result of `%s` says how long it may be kept, and by whom." % method
    return rule(id, on=RESULT, method=method, scene="""
    on stdio 2026-07-28
    C #1 %s %s
  + S #1 {%s"ttlMs": 60000, "cacheScope": "public"}
  - S> {"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", %s"cacheScope": "public"}}
""" % (method, params, result, result))(hints)


for _id, _method, _params, _result in (
    ("cache.hints-discover", DISCOVER, "", '"supportedVersions": ["2026-07-28"], "capabilities": {}, '
     '"serverInfo": {"name": "s", "version": "1"}, '),
    ("cache.hints-tools-list", "tools/list", "", '"tools": [], '),
    ("cache.hints-prompts-list", "prompts/list", "", '"prompts": [], '),
    ("cache.hints-resources-list", "resources/list", "", '"resources": [], '),
    ("cache.hints-resource-templates-list", "resources/templates/list", "", '"resourceTemplates": [], '),
    ("cache.hints-resources-read", "resources/read", '{"uri": "file:///a"}',
     '"contents": [{"uri": "file:///a", "text": "a"}], '),
):
    _hints_of(_id, _method, _params, _result)


@rule("cache.ttl-nonnegative", on=RESULT, method=_CACHED, scene="""
    on stdio 2026-07-28
    C #1 tools/list
  + S #1 {"tools": [], "ttlMs": 0}
  - S #1 {"tools": [], "ttlMs": -1}
""")
def not_negative(message: Message) -> Verdict:
    """A time to live is not negative."""
    life = message.result.get("ttlMs")
    if not isinstance(life, (int, float)) or isinstance(life, bool):
        return None
    return KEPT if life >= 0 else Broken("ttlMs is %s" % short(life), "result.ttlMs")


@rule("cache.scope-same-on-pages", on=RESULT, method=tuple(LISTS), scene="""
    on stdio 2026-07-28
    C #1 tools/list
    S #1 {"tools": [], "nextCursor": "a", "cacheScope": "public"}
    C #2 tools/list {"cursor": "a"}
  + S #2 {"tools": [], "cacheScope": "public"}
  - S #2 {"tools": [], "cacheScope": "private"}
""")
def same_scope(message: Message) -> Verdict:
    """The pages of a list may be kept by the same parties."""
    listing: Optional[PagedList] = message.notes.get("listing")
    scope = message.result.get("cacheScope")
    if listing is None or listing.pages < 2 or not isinstance(scope, str) or not isinstance(listing.scope, str):
        return None
    if scope == listing.scope:
        return KEPT
    return Broken("%s after %s" % (short(scope), short(listing.scope)), "result.cacheScope")


# What clients do with it


class LastFetch(NamedTuple):
    """The last fetch under a key: method and cursor, or URI."""

    time: float
    life: float
    """Seconds for which it is fresh."""
    repeats: int
    """Requests for it while it was fresh."""
    asked: float
    """When it was asked for last."""
    messages: int
    """The messages of the connection until then."""
    intervals: Tuple[float, ...]
    """The last intervals between requests with nothing between them."""


class ClientCache:
    """Fetches of a client in a session, by method and cursor or URI."""

    def __init__(self) -> None:
        self.fetched: "Forgetful[Tuple[str, Any], LastFetch]" = Forgetful(Bounds().entries)
        self.failed = -1.0
        """When an error was seen last."""
        self.broken: Dict[str, Message] = {}
        """The error for a cursor that was given, by method, until the client asks again."""


def _key(request: Optional[Message]) -> Optional[Tuple[str, Any]]:
    if request is None or request.method == DISCOVER:
        return None
    params = request.params
    if "inputResponses" in params or "requestState" in params or any(
            not name.startswith("io.modelcontextprotocol/") for name in request.meta):
        return None  # more than the parameters of the key may count
    name = params.get("uri" if request.method == "resources/read" else "cursor")
    return (request.method, name) if name is None or isinstance(name, str) else None


def _last(message: Message) -> Optional[LastFetch]:
    key = _key(message)
    if key is None or message.sender != CLIENT:
        return None
    return message.session.state(ClientCache).fetched.get(key)  # type: ignore[no-any-return]


@rule("cache.ttl-positive", on=REQUEST, method=_CACHED, needs="times",
      reading="a client may look again; one that asks five times for what is fresh does not heed it", scene="""
    on stdio 2026-07-28
    C #1 tools/list
    S #1 {"tools": [], "ttlMs": 60000}
  + @ 70
    C #2 tools/list
    S #2 {"tools": [], "ttlMs": 60000}
  + @ 80
    C #3 tools/list
    S #3 {"tools": [], "ttlMs": 60000}
  + @ 100
    C #4 tools/list
    S #4 {"tools": [], "ttlMs": 60000}
  + @ 70
    C #5 tools/list
    S #5 {"tools": [], "ttlMs": 60000}
  + @ 90
    C #6 tools/list
    S #6 {"tools": [], "ttlMs": 60000}
""")
def heeds(message: Message) -> Verdict:
    """A client does not ask again and again for a result that is fresh."""
    last = _last(message)
    if last is None or last.life <= 0:
        return None
    if message.time >= last.time + last.life:
        return KEPT
    if message.session.state(ClientCache).failed >= last.asked or last.repeats + 1 != _REPEATS:
        return None
    return Broken("asked for %d times while it was fresh" % _REPEATS, "result.ttlMs")


def _every(seconds: Tuple[float, ...], life: int, first: int = 2) -> str:
    """Return a scene in which a list is asked for after these seconds."""
    lines = ["on stdio 2026-07-28", "C #1 tools/list", 'S #1 {"tools": [], "ttlMs": %d}' % life]
    for number, wait in enumerate(seconds, first):
        lines += ["@ %s" % wait, "C #%d tools/list" % number, 'S #%d {"tools": [], "ttlMs": %d}' % (number, life)]
    return "\n".join(lines)


def _two(kept: str, broken: str) -> str:
    """Return a scene of two whole traces."""
    return "\n".join([sign + " " + line for sign, text in (("+", kept), ("-", broken)) for line in text.splitlines()])


@rule("cache.no-polling", on=REQUEST, method=_CACHED, needs="times",
      reading="five requests in a row about one time to live apart, with nothing between them", scene=_two(
          _every((30.1, 95, 31, 260, 44), 30000), _every((30.1, 31.1, 32.2, 30.4, 31.9), 30000)))
def polls(message: Message) -> Verdict:
    """A client does not take the time to live for the period of a timer."""
    last = _last(message)
    if last is None or last.life < _SHORTEST:
        return None
    seen = _intervals(last, message)
    if len(seen) < _POLLS:
        return None
    if all(0 <= each - last.life <= _NEAR * last.life for each in seen[-_POLLS:]):
        return Broken("asked for every %.1f seconds, the time to live" % seen[-1], "result.ttlMs") if len(
            seen) == _POLLS else None
    return KEPT


@rule("cache.poll-jitter", on=REQUEST, method=_CACHED, needs="times", follows="session:cache.no-polling",
      reading="ten requests in a row whose intervals are the same to two thousandths, with nothing between them",
      scene=_two(_every((10, 11.5, 9.2, 10.8, 12, 10.1, 9.9, 11, 10.3, 12.2), 0), _every((10,) * 10, 0)))
def jitters(message: Message) -> Verdict:
    """A client that asks again and again by itself does so at varying times."""
    last = _last(message)
    if last is None:
        return None
    seen = _intervals(last, message)
    if len(seen) < 2 * _POLLS or min(seen) < _SHORTEST:
        return None
    if max(seen) - min(seen) > max(_EVEN, _EVEN * min(seen)):
        return KEPT
    return Broken("asked for every %.3f seconds, %d times" % (seen[-1], len(seen)), "method")


def _intervals(last: LastFetch, message: Message) -> Tuple[float, ...]:
    """Return the last intervals between requests, with that before this one; () if there was anything between."""
    if message.connection.messages - last.messages != 2:
        return ()
    return (last.intervals + (message.time - last.asked,))[-2 * _POLLS:]


@rule("cache.cursor-invalid", on=REQUEST, method=tuple(LISTS), scene="""
    on stdio 2026-07-28
    C #1 tools/list
    S #1 {"tools": [], "nextCursor": "a"}
    @ 100
    C #2 tools/list {"cursor": "a"}
    S #2 !-32602 "Invalid cursor"
  + C #3 tools/list
  - C #3 tools/list {"cursor": "a"}
    S #3 {"tools": []}
""")
def begins_anew(message: Message) -> Verdict:
    """A client whose cursor is refused begins the list anew."""
    error = message.session.state(ClientCache).broken.get(message.method)
    if error is None or error.time > message.time:
        return None
    if "cursor" not in message.params:
        return KEPT
    if cursor_of(message) is None or cursor_of(message) != cursor_of(error.request):
        return None  # perhaps another run through the list
    return Broken("goes on with the cursor that was refused", "params.cursor")


@observe(on=REQUEST, method=_CACHED)
def note_request(message: Message) -> None:
    """Note that a result is asked for."""
    known, key = message.session.state(ClientCache), _key(message)
    known.broken.pop(message.method, None)
    last = _last(message)
    if key is not None and last is not None:
        fresh = message.time < last.time + last.life and known.failed < last.asked
        known.fetched[key] = last._replace(
            repeats=last.repeats + 1 if fresh else 0, asked=message.time, intervals=_intervals(last, message),
            messages=message.connection.messages)
    elif key is not None and message.sender == CLIENT:
        known.fetched[key] = LastFetch(message.time, 0.0, 0, message.time, message.connection.messages, ())


@observe(on=RESULT, method=_CACHED)
def note_result(message: Message) -> None:
    """Note a result and how long it is fresh."""
    known, key = message.session.state(ClientCache), _key(message.request)
    last: Optional[LastFetch] = known.fetched.get(key) if key is not None else None
    life = message.result.get("ttlMs")
    if key is not None and last is not None:
        seconds = 0.0
        if isinstance(life, (int, float)) and not isinstance(life, bool):
            seconds = max(0, min(life, LONGEST)) / 1000.0
        fresh = message.time < last.time + last.life
        known.fetched[key] = last._replace(time=last.time if fresh else message.time,
                                           life=last.life if fresh else max(seconds, 0.0))


@observe(on=ERROR)
def note_error(message: Message) -> None:
    """Note that something has failed: what was fetched may be wrong, so a client may ask again."""
    known = message.session.state(ClientCache)
    request = message.request
    if request is not None and request.notes.get("cursor") == ISSUED and message.error.get("code") == -32602:
        known.broken[message.method] = message
    known.failed = message.time


@observe(on=NOTIFICATION, method=(*NOTICES, "notifications/resources/updated"))
def note_change(message: Message) -> None:
    """Note that what was fetched has changed."""
    known: ClientCache = message.session.state(ClientCache)
    methods: List[str] = list(NOTICES.get(message.method, ("resources/read",)))
    for method in methods:
        known.fetched.pop((method, None))
    known.fetched.pop(("resources/read", message.params.get("uri") if isinstance(
        message.params.get("uri"), str) else None))
