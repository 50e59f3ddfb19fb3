"""Recordings of other tools as events: HAR 1.2, and JSON-RPC messages one a line.

::

    for event in imported("session.har"): ...

The first event is a header whose ``recorded`` promises only what the format does. What a recording does not say is not
guessed:

====================  =================================================================================================
HAR                   promised: both, http, sse. Not: the beginning; bytes as they were (a HAR has text); who ended
                      what; documents (they are here, but a tool may leave requests out). Many tools leave out cookies
                      and Authorization, and a HAR does not say so: that such a field is absent means nothing. Exchanges
                      of an MCP endpoint, metadata documents and requests with ``grant_type`` become events, all others
                      are left out. A body that the file does not have is a gap. The events of a stream have the time of
                      its end
messages one a line   promised: both, or with ``direction`` nothing. The file has no times: all events have the time 0.
                      Whose a message is that has a method, the table of methods says, if one party alone may send it;
                      of an answer, whose request it answers; of progress and cancellation, whose request they name.
                      Where that leaves a doubt, a gap stands in place of the message
====================  =================================================================================================

A trace of this package is read as it is (`wiretrace.read`). Secrets are masked.
"""

import json
import sys
from base64 import b64decode
from datetime import datetime
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO, Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Set, Tuple
from urllib.parse import urlencode, urlsplit

from ...jsonrpc import id_key
from ...methods import BOTH, EMBEDDED, METHODS
from ...wiretrace import CLIENT, GAP, SERVER, Event, Position, TraceCut, TraceError, is_begun, read
from .exchanges import ExchangeRecorder, HttpRecorder, MessageHead, is_message, media_type
from .telling import EventWriter, canonical

IN_HAR = ("both", "http", "sse")
_MOST_OPEN = 10_000
"""The requests without an answer that are remembered, to know whose an answer is."""


def imported(path: Any, direction: str = "", position: Optional[Position] = None) -> Iterator[Event]:
    """Yield the events of a file, whose contents say which format it has; ``-`` is standard input.

    ``direction``: "client" or "server" for a file of messages of that party alone. ``position``: it is told the line
    of each event. Raises `TraceError` for a file of another format, `TraceCut` after the last whole line, and OSError.
    """
    with _opened(path) as file:
        begin = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
        file.seek(0)
        kind = format_of(begin, file)
        file.seek(0)
        if direction and kind != "messages":
            raise TraceError("this is a %s, which says itself who sent what: leave the sender out" % kind)
        if kind == "trace":
            yield from read(file, position)
        elif kind == "har":
            yield from har(file.read())
        else:
            yield from messages(file, direction, position)


def _opened(path: Any) -> IO[bytes]:
    """Open a file; what comes through a pipe is put into a temporary one, for it is read twice."""
    if path != "-":
        file: IO[bytes] = open(path, "rb")
        if file.seekable():
            return file
    else:
        file = sys.stdin.buffer
    copy = TemporaryFile()
    try:
        copyfileobj(file, copy)
        copy.seek(0)
    except BaseException:
        copy.close()
        raise
    finally:
        if path != "-":
            file.close()
    return copy


def format_of(begin: bytes, lines: Iterable[bytes]) -> str:
    """Return the format of a file: trace, har, or messages. Raises `TraceError`."""
    if not begin:
        raise TraceError("the file is empty")
    wanted = TraceError("neither a trace, nor a HAR, nor JSON-RPC messages one a line: it begins with %r" % begin[:40])
    if begin[:1] not in (b"{", b"[", b"#"):
        raise wanted
    for line in lines:
        line = line.lstrip(b"\xef\xbb\xbf").strip()
        if not line or line[:1] == b"#":
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            break
        if isinstance(value, dict) and "log" in value:
            return "har"
        if isinstance(value, dict) and ("trace" in value or "time" in value):
            return "trace"
        items = value if isinstance(value, list) else [value]
        if not any(isinstance(item, dict) and not _MESSAGE.isdisjoint(item) for item in items):
            raise wanted
        return "messages"
    if b'"log"' in begin:
        return "har"
    if b'"jsonrpc"' in begin:
        return "messages"
    raise wanted


_MESSAGE = frozenset(("jsonrpc", "method", "result", "error"))
"""Members by which a JSON-RPC message is known."""


# --- JSON-RPC messages one a line -------------------------------------------------------------------------------------

def messages(
    lines: Iterable[bytes], direction: str = "", position: Optional[Position] = None,
) -> Iterator[Event]:
    """Yield the events of lines, each with a message. ``direction``: the sender of all of them; "": of both parties.

    Raises ValueError for another direction, `TraceCut` for a last line that is not whole.
    """
    position = position or Position()
    if direction not in (CLIENT, SERVER, ""):
        raise ValueError("direction is client, server, or nothing, not %r" % direction)
    found: List[Event] = []
    teller = EventWriter(found.append, "import of JSON lines", () if direction else ("both",), "")
    senders = Senders()
    for number, line in enumerate(lines, 1):
        whole, line = line.endswith(b"\n"), line.rstrip(b"\r\n")
        if number == 1:
            line = line[3:] if line.startswith(b"\xef\xbb\xbf") else line
        if not line.strip():
            continue
        value = canonical(line)
        if value is None and number > 1 and not whole and is_begun(line.strip()):
            raise TraceCut("line %d is cut: the recording broke off there" % number)
        party = direction or senders.of(value)
        if party:
            teller.message(party, line, teller.start)
        else:
            teller.tell(GAP, "", teller.start, "line %d, because it cannot be told who sent it: %s" % (
                number, line[:200].decode("utf-8", "backslashreplace")))
        position.line = number
        yield from found
        found.clear()
    yield from found


class Senders:
    """Finds out who has sent each message of a conversation."""

    def __init__(self) -> None:
        self._open: Dict[Any, List[str]] = {}
        """The id of a request -> the parties that have sent one with it and have no answer."""
        self._tokens: Dict[Any, Set[str]] = {}
        """A progress token -> the parties that have asked for progress with it."""

    def of(self, value: Any) -> str:
        """Return the sender of a message or a batch, or "" if that cannot be told; remember its requests."""
        items = value if isinstance(value, list) else [value]
        parties = {self._one(item) for item in items if isinstance(item, dict)}
        parties.discard("")
        party = parties.pop() if len(parties) == 1 else ""
        for item in items:
            if isinstance(item, dict):
                self._remember(party, item)
        return party

    def _one(self, message: Dict[str, Any]) -> str:
        method = message.get("method")
        if not isinstance(method, str):
            return other(self._only(self._open.get(_key(message.get("id")), ())))
        if method in _SENDER:
            return _SENDER[method]
        params = message.get("params")
        if not isinstance(params, dict):
            return ""
        if method == "notifications/progress":
            return other(self._only(self._tokens.get(_key(params.get("progressToken")), ())))
        if method == "notifications/cancelled":
            return self._only(self._open.get(_key(params.get("requestId")), ()))
        return ""

    def _remember(self, party: str, message: Dict[str, Any]) -> None:
        key = _key(message.get("id"))
        if "method" not in message and party:
            asked = self._open.get(key, [])
            if other(party) in asked:
                asked.remove(other(party))
            return
        if "method" in message and message.get("id") is not None:
            _bound(self._open)
            _bound(self._tokens)
            # Of a request that may be anybody's, the answer may be anybody's, too.
            self._open.setdefault(key, []).extend((party,) if party else (CLIENT, SERVER))
            params = message.get("params")
            meta = params.get("_meta") if isinstance(params, dict) else None
            token = meta.get("progressToken") if isinstance(meta, dict) else None
            if token is not None:
                self._tokens.setdefault(_key(token), set()).update((party,) if party else (CLIENT, SERVER))

    @staticmethod
    def _only(parties: Iterable[str]) -> str:
        distinct = set(parties)
        return distinct.pop() if len(distinct) == 1 else ""


def _bound(table: Dict[Any, Any]) -> None:
    while len(table) >= _MOST_OPEN:
        del table[next(iter(table))]


def other(party: str) -> str:
    """Return the other party; "" for none."""
    return {CLIENT: SERVER, SERVER: CLIENT}.get(party, "")


def _key(id: Any) -> Any:
    return id_key(id) if isinstance(id, (str, int, float)) and not isinstance(id, bool) else None


def _senders() -> Dict[str, str]:
    found: Dict[str, Set[str]] = {}
    for row in METHODS:
        if row.carrier != EMBEDDED:
            found.setdefault(row.name, set()).add(row.sender)
    return {name: sender for name, (sender, *more) in ((name, tuple(each)) for name, each in found.items())
            if not more and sender != BOTH}


_SENDER: Dict[str, str] = _senders()
"""The methods that one party alone may send, in all revisions."""


# --- HAR --------------------------------------------------------------------------------------------------------------

class _Entry(NamedTuple):
    """An entry of a HAR, as far as it is needed."""

    begin: float
    """Seconds since the epoch."""
    end: float
    origin: str
    request: MessageHead
    sent: Optional[bytes]
    """The request's body; None if the file does not have it."""
    response: Optional[MessageHead]
    """The head of the response; None if there was none."""
    received: Optional[bytes]


def har(data: bytes) -> Iterator[Event]:
    """Yield the events of a HAR [HAR 1.2]. Raises `TraceError` if it is none."""
    try:
        value = json.loads(data.decode("utf-8-sig"))
        entries = [_entry(number, item) for number, item in enumerate(value["log"]["entries"], 1)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, TraceError):
            raise
        raise TraceError("no HAR: expected an object log with an array entries (%s: %s)" % (
            type(error).__name__, str(error)[:80])) from None
    entries.sort(key=lambda entry: entry.begin)
    found: List[Event] = []
    begin = entries[0].begin if entries else 0.0
    teller = EventWriter(found.append, "import of HAR", IN_HAR, _moment(begin))
    recorders = _recorders(teller, entries)
    for entry in entries:
        http = recorders.get(entry.origin)
        if http is not None and (
                entry.request.target.partition("?")[0] in http.endpoints or _is_document(entry)):
            _record(http, entry, teller.start - begin)
    header, *events = found
    yield header
    yield from sorted(events, key=lambda event: event.time)


def _recorders(teller: EventWriter, entries: List[_Entry]) -> Dict[str, HttpRecorder]:
    """Return a recorder for each origin that has anything of MCP, with the paths of its endpoints."""
    paths: Dict[str, Set[str]] = {}
    for entry in entries:
        if is_message(canonical(entry.sent or b"")):
            paths.setdefault(entry.origin, set()).add(entry.request.target.partition("?")[0])
        elif entry.received and _is_stream(entry) and b"event: endpoint" in entry.received:
            paths.setdefault(entry.origin, set()).add(entry.request.target.partition("?")[0])
        elif _is_document(entry):
            paths.setdefault(entry.origin, set())
    several = len(paths) > 1
    made = {origin: HttpRecorder(teller, origin, "", origin if several else "") for origin in paths}
    for origin, http in made.items():
        for path in sorted(paths[origin]):
            http.add(path)
    return made


def _is_document(entry: _Entry) -> bool:
    return "/.well-known/" in entry.request.target or b"grant_type=" in (entry.sent or b"")


def _is_stream(entry: _Entry) -> bool:
    return entry.response is not None and media_type(entry.response.fields) == "text/event-stream"


def _record(http: HttpRecorder, entry: _Entry, shift: float) -> None:
    exchange = ExchangeRecorder(http, True)
    begin, end = entry.begin + shift, entry.end + shift
    exchange.request(begin, entry.request)
    _body(exchange, begin, CLIENT, entry.sent)
    if entry.response is None:
        exchange.end(end, "", False, "the recording has no response")
        return
    exchange.response(end, entry.response)
    _body(exchange, end, SERVER, entry.received)
    exchange.end(end, "", entry.received is not None, "" if entry.received is not None else "the body was not recorded")


def _body(exchange: ExchangeRecorder, at: float, party: str, data: Optional[bytes]) -> None:
    if data is None:
        exchange.tell(at, GAP, party, {}, "the body, which the HAR does not have")
    else:
        exchange.data(at, party, data)
    exchange.body_end(at, party)


def _entry(number: int, item: Any) -> _Entry:
    try:
        request, response = item["request"], item.get("response") or {}
        begin = _seconds(item["startedDateTime"])
        url = urlsplit(request["url"])
        target = (url.path or "/") + ("?" + url.query if url.query else "")
        asked = MessageHead(str(request["method"]), target, 0, [], _fields(request))
        status = int(response.get("status") or 0)
        answered = MessageHead(asked.method, "", status, [], _fields(response)) if status > 0 else None
        took = max(0.0, float(item.get("time") or 0)) / 1000
        origin = "%s://%s" % (url.scheme, url.netloc.rpartition("@")[2])  # a user and a password are nobody's business
        return _Entry(begin, begin + took, origin, asked, _sent(request), answered,
                      _received(response, answered))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise TraceError("no HAR: entry %d: %s: %s" % (number, type(error).__name__, str(error)[:80])) from None


def _fields(message: Dict[str, Any]) -> List[Tuple[str, str]]:
    """Return the header fields, without those of HTTP/2 that are none (``:method``)."""
    return [(str(field["name"]), str(field["value"])) for field in message.get("headers") or ()
            if not str(field["name"]).startswith(":")]


def _sent(request: Dict[str, Any]) -> Optional[bytes]:
    posted = request.get("postData")
    if not posted:
        return b"" if int(request.get("bodySize") or 0) <= 0 else None
    if posted.get("text"):
        text = str(posted["text"])
        return b64decode(text) if posted.get("encoding") == "base64" else text.encode("utf-8", "surrogatepass")
    pairs = [(str(pair["name"]), str(pair.get("value") or "")) for pair in posted.get("params") or ()]
    return urlencode(pairs).encode("ascii") if pairs else None


def _received(response: Dict[str, Any], head: Optional[MessageHead]) -> Optional[bytes]:
    content = response.get("content") or {}
    text = content.get("text")
    if text is None:
        streamed = head is None or media_type(head.fields) == "text/event-stream"
        return None if streamed or int(content.get("size") or 0) else b""
    if content.get("encoding") == "base64":
        return b64decode(text)
    return str(text).encode("utf-8", "surrogatepass")


def _seconds(text: str) -> float:
    """Return the seconds since the epoch of a time in ISO 8601."""
    text = text.strip().replace("Z", "+00:00")
    head, point, rest = text.partition(".")
    if point:  # more digits than six, or fewer, are an error up to 3.10
        digits = len(rest) - len(rest.lstrip("0123456789"))
        text = "%s.%s%s" % (head, (rest[:digits] + "000000")[:6], rest[digits:])
    if len(text) > 5 and text[-5] in "+-" and ":" not in text[-5:]:
        text = text[:-2] + ":" + text[-2:]
    return datetime.fromisoformat(text).timestamp()


def _moment(seconds: float) -> str:
    from time import gmtime, strftime

    return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(seconds)) if seconds else ""
