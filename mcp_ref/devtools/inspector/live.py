"""The session that goes on: what the page asks for again and again, and who may ask.

A `Feed` takes events, as a sink of a trace, and has *objects* beside them: values by kind and name, such as a
connection or a question, of which a page sees the last state. `Access.routes` are the addresses of the page; a listener
of an HTTP server answers them (`mcp_ref.streamable.server.own_routes`), and checks Host and Origin before:

======================  ==============================================================================================
``GET /``               the page; it has nothing of a session, so anybody of this machine may load it
``GET /events?...``     what came since a cursor, as an event stream with one event; the page asks again behind it, so
                        a page that is slow is sent less often, and not more than it can take
``POST /report``        the session so far as a page that can be kept
``POST /...``           what else a program lets the page do: a function that gets the JSON object of the body, as it
                        is, and returns one
======================  ==============================================================================================

All but the page want the token, in a header field that no page of another site can send; the token is in the fragment
of the URL that is shown to the user, which browsers do not send. Nothing is kept when the feed ends.
"""

import hmac
import json
import secrets
import threading
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple
from urllib.parse import parse_qsl

from ... import deadline
from ...errors import McpError
from ...http11.message import HttpRequest, Pairs
from ...jsontext import JsonError, loads
from ...wiretrace import GAP, Event
from ..checker import Checker
from .record import POLICY_OF_HEAD, LiveRecord, SessionRecord, page

FIELD = "Mcp-Inspector-Token"
"""The header field that has the token."""
WAIT = 10.0
"""The seconds after which a page that waits for news gets an answer without any."""
MOST_STEPS, MOST_SIZE = 250_000, 256 * 1024 * 1024
"""The steps and the characters of messages that are kept; behind them the page says that it shows no more."""
PART_STEPS, PART_SIZE = 2000, 2 * 1024 * 1024
"""The steps and the characters of messages of one answer."""
_PAUSE = 0.05
"""Seconds for which an answer waits for more, so that a flood of messages comes in few answers."""
_CURSOR = ("steps", "groups", "phases", "findings", "taken", "objects")
_SAFE = (("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
         ("Cross-Origin-Resource-Policy", "same-origin"), ("Content-Security-Policy", POLICY_OF_HEAD))
Reply = Tuple[int, Pairs, bytes]
Act = Callable[[Dict[str, Any]], Dict[str, Any]]
Glossary = Callable[[Iterable[Tuple[str, str]]], Dict[str, Any]]


class Feed:
    """The session and the objects beside it. Thread-safe.

    ``glossary``: what `SessionRecord.document` is to be given, for revisions and methods; nothing by default.
    """

    def __init__(self, title: str, glossary: Glossary = lambda used: {}) -> None:
        self.title = title
        self._glossary = glossary
        self._changed = threading.Condition()
        self._record, self._checker = LiveRecord(), Checker()
        self._events: List[Event] = []
        self._taken = self._version = 0
        self._full = self._closed = False
        self._objects: Dict[Tuple[str, str], Tuple[int, Any]] = {}
        self._described: Dict[Tuple[str, str], None] = {}

    def take(self, event: Event) -> None:
        """Take the next event; a sink of a trace."""
        with self._changed:
            if self._full:
                return
            if self._record.steps >= MOST_STEPS or self._record.size >= MOST_SIZE:
                self._full = True
                event = Event(event.time, "", GAP, text="the inspector keeps no more than this: begin anew",
                              connection=event.connection)
            self._events.append(event)
            self._record.take(event)
            self._checker.feed(event)
            self._taken += 1
            self._changed.notify_all()

    def put(self, kind: str, name: str, value: Any) -> None:
        """Set an object; None: it is there no more."""
        with self._changed:
            self._version += 1
            self._objects.pop((kind, name), None)  # so that they are in the order of their versions
            self._objects[kind, name] = self._version, value
            self._changed.notify_all()

    def get(self, kind: str) -> Dict[str, Any]:
        """Return the objects of a kind by name."""
        with self._changed:
            return {name: value for (each, name), (_, value) in self._objects.items()
                    if each == kind and value is not None}

    def close(self) -> None:
        """End the waiting of all pages."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def news(self, cursor: Mapping[str, int], wait: float = WAIT) -> Dict[str, Any]:
        """Return what came since a cursor, as soon as there is something, with the cursor behind it."""
        before = {name: cursor.get(name, 0) for name in _CURSOR}
        until = deadline.clock() + wait
        with self._changed:
            if not self._is_behind(before):
                while not self._is_behind(before) and not self._closed and deadline.clock() < until:
                    self._changed.wait(max(0.0, until - deadline.clock()))
                if wait and not self._closed:
                    paused = deadline.clock() + _PAUSE
                    while deadline.clock() < paused:
                        self._changed.wait(max(0.0, paused - deadline.clock()))
            news, after = self._record.news(before, self._checker.findings, PART_STEPS, PART_SIZE)
            whole = news["from"] + len(news["steps"]) == self._record.steps
            objects = [[kind, name, value] for (kind, name), (version, value) in self._objects.items()
                       if version > before["objects"]]
            after.update(taken=self._taken if whole else before["taken"], objects=self._version)
        methods = {(news["revisions"][row[11]], news["counted"][row[7]]) for row in news["steps"]
                   if row[11] >= 0 and row[7] >= 0}
        news.update(objects=objects, cursor=after, glossary=self._glossary(methods) if methods else {},
                    closed=self._closed)
        return news

    def _is_behind(self, cursor: Mapping[str, int]) -> bool:
        return self._taken > cursor["taken"] or self._version > cursor["objects"]

    def report(self) -> str:
        """Return the session so far as a page by itself."""
        with self._changed:
            events = list(self._events)
        record, checker = SessionRecord(), Checker()
        for event in events:
            record.take(event)
            checker.feed(event)
        checker.finish()
        return page(record.document(self.title, checker.findings, self._glossary(record.methods())))


class Access:
    """The addresses of a page and who may ask them: those who have the token.

    ``acts``: what the page can have done, by the names of their addresses below ``prefix``. ``document``: a recorded
    session that is shown instead of the feed. It is in the page itself, so the path of that has the token.
    """

    def __init__(self, feed: Feed, acts: Mapping[str, Act] = {}, prefix: str = "",
                 document: Optional[Mapping[str, Any]] = None) -> None:
        self.feed = feed
        self.token = secrets.token_urlsafe(32)
        self.prefix = prefix.rstrip("/") + ("" if document is None else "/" + self.token)
        self._acts = dict(acts)
        shown = dict(document or SessionRecord().document(feed.title))
        if document is None:
            shown["live"] = sorted(acts)
        self._recorded = document is not None
        self._page = page(shown).encode("utf-8", "backslashreplace")

    def url(self, origin: str) -> str:
        """Return the URL for the user, with the token; ``origin`` without a path."""
        return "%s%s/%s" % (origin, self.prefix, "" if self._recorded else "#" + self.token)

    def routes(self) -> List[Tuple[str, str, Callable[[HttpRequest], Any]]]:
        """Return method, path and function of each address."""
        found: List[Tuple[str, str, Callable[[HttpRequest], Any]]] = [
            ("GET", self.prefix + "/", self._shown)]
        if self._recorded:
            return found
        found += [("GET", self.prefix + "/events", self._news), ("POST", self.prefix + "/report", self._report)]
        for name, act in self._acts.items():
            found.append(("POST", "%s/%s" % (self.prefix, name),
                          lambda request, act=act: self._done(request, act)))  # type: ignore[misc]
        return found

    def _shown(self, request: HttpRequest) -> Reply:
        shown = 200, (("Content-Type", "text/html; charset=utf-8"), *_SAFE), self._page
        return self._foreign(request) or shown

    def _news(self, request: HttpRequest) -> Reply:
        refused = self._refusal(request)
        if refused is not None:
            return refused
        try:
            cursor = {name: int(value) for name, value in parse_qsl(request.query)}
        except ValueError:
            return _failed(400, "a cursor has numbers")
        if any(not 0 <= value < 1 << 53 for value in cursor.values()):
            return _failed(400, "a cursor has no such numbers")
        # One event: "<" and line ends are escapes in it, so it is one line.
        text = "data: %s\n\n" % json.dumps(self.feed.news(cursor))
        return 200, (("Content-Type", "text/event-stream"), *_SAFE), text.encode("ascii")

    def _report(self, request: HttpRequest) -> Reply:
        refused = self._refusal(request)
        if refused is not None:
            return refused
        body = self.feed.report().encode("utf-8", "backslashreplace")
        return 200, (("Content-Type", "text/html; charset=utf-8"), ("Content-Disposition", "attachment"), *_SAFE), body

    def _done(self, request: HttpRequest, act: Act) -> Reply:
        refused = self._refusal(request)
        if refused is not None:
            return refused
        kind = (request.headers.get("content-type") or "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return _failed(415, "the body is application/json")
        try:
            given = loads(request.body)
            if not isinstance(given, dict):
                raise ValueError("the body is an object")
            return _json(200, act(given))
        except (JsonError, KeyError, LookupError, OSError, TypeError, ValueError, McpError) as error:
            return _failed(400, "%s" % (error.args[0] if isinstance(error, KeyError) and error.args else error))

    def _refusal(self, request: HttpRequest) -> Optional[Reply]:
        """Return the answer to who has not the token, or is a page of another origin; None for others."""
        shown = (request.headers.get(FIELD) or "").encode("utf-8", "replace")
        if not hmac.compare_digest(shown, self.token.encode("ascii")):
            return self._foreign(request) or _failed(
                401, "the token is missing or wrong: open the URL that the program has printed")
        return self._foreign(request)

    def _foreign(self, request: HttpRequest) -> Optional[Reply]:
        """Return the answer to a page of another origin; None for others. Pages of other ports of this machine are
        foreign, too, which the rules for endpoints do not say."""
        origin, host = request.headers.get("origin"), request.headers.get("host")
        scheme = "https" if request.secure else "http"
        if origin is not None and origin != "%s://%s" % (scheme, host):
            return _failed(403, "this page is of another origin")
        if request.method != "GET" and request.headers.get("sec-fetch-site") not in (None, "same-origin", "none"):
            return _failed(403, "this page is of another site")
        return None


def _json(status: int, value: Dict[str, Any]) -> Reply:
    return status, (("Content-Type", "application/json"), *_SAFE), json.dumps(value).encode("ascii")


def _failed(status: int, text: str) -> Reply:
    return _json(status, {"error": text or "it failed without a text"})
