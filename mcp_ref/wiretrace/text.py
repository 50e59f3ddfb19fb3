"""A trace as text for people, one line for each event; `mcp_ref.wiretrace` has the events.

::

      0.000 ~~ process started: python3 server.py
      0.090 C> initialize #1            {"protocolVersion":"2025-06-18", ...}
      0.094 S> result #1 initialize     {"serverInfo": ...}
      0.096 == phase operating
      0.310 !! S  late response #4 dropped
      0.400 ~~ C  [7] POST /mcp (MCP-Protocol-Version: 2025-06-18, Mcp-Session-Id: ***0f3a97c1)
      0.402 ~~ S  [7] 200 text/event-stream
      0.403 ~~ S  [7] id p7-0, retry 1000
      0.405 S> result #2 tools/call     {"content": ...}  <id p7-1>
      0.405 ~~ S  [7] over after 2 events

Seconds since the start; then who has sent it, or ``==`` for a state, ``!!`` for a finding and ``~~`` for everything
else, followed by the party. ``[7]`` is the number of an HTTP exchange. Members keep their order, long values and long
lines lose their middle, a string id keeps its quotes. Of the `_meta` of messages only what differs from the last one is
shown, with a reference to the message that has the rest. Control characters in a peer's text are escaped, so that it
cannot paint over other lines.
"""

import re
from typing import IO, Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

from ..jsontext import dumps
from ..methods import is_vendor

WIDTH = 200
"""Characters of a message's contents that one line shows where there is no terminal."""
AUTO = 0
"""The width that says: as many as the terminal has room for, WIDTH where there is none."""

_PARTIES = {"client": "C", "server": "S"}
_MARKS = {"state": "==", "finding": "!!"}
_COLOURS = {"C>": "36", "S>": "32", "==": "33", "!!": "1;31", "~~": "2"}
_BODY = re.compile(r" {2}| [{\[\"]")
"""The beginning of the contents, after a label."""
_REMEMBERED = 4096  # requests without an answer whose method is kept
_NAMES = 256
"""The members of `_meta` that are remembered, of the last messages; beyond, those of the last one alone."""
_LABEL = 24
_LEAST = 20
"""The characters of contents that are shown however narrow a terminal is."""
_FIELD = 120
_FIELDS = {
    "mcp-protocol-version": "MCP-Protocol-Version", "mcp-session-id": "Mcp-Session-Id", "mcp-method": "Mcp-Method",
    "mcp-name": "Mcp-Name", "last-event-id": "Last-Event-ID", "authorization": "Authorization", "location": "Location",
    "www-authenticate": "WWW-Authenticate", "retry-after": "Retry-After", "allow": "Allow",
}
"""The header fields that are shown, in this order."""


class TextForm:
    """Turns the events of conversations into lines, each an `mcp_ref.wiretrace.Event`.

    Remembers requests, to name the method of a response; and the last `_meta`. ``width``: the characters of contents,
    None for everything. ``columns``: the characters of a whole line, None for as many as there are.
    """

    def __init__(self, width: Optional[int] = WIDTH, columns: Optional[int] = None) -> None:
        self._width = width
        self._columns = columns
        self._methods: Dict[Tuple[str, str, str], str] = {}
        self._shown: Dict[Tuple[str, str], Tuple[str, Dict[str, Any]]] = {}
        self._events: Dict[int, int] = {}
        """The number of events of each stream that is open."""
        self._connection = ""

    def lines(self, event: Any) -> List[str]:
        """Return the lines of one event, more than one for a batch, none for what nobody needs to see."""
        start = "%7.3f " % event.time
        party = _PARTIES.get(event.direction, "")
        if event.kind != "message":
            mark = start + _MARKS.get(event.kind, "~~") + (" " + party + " " if party else "") + " "
            return [mark + text if self._width is None else shorten(mark + text, self._columns)
                    for text in self.said(event)]
        self._connection = event.connection
        if event.exchange in self._events:
            self._events[event.exchange] += 1
        start += (party or "?") + "> "
        said = plain(_said(event.more.get("sse", {})))
        sse = "  <%s>" % said if said else ""
        if event.message is None:
            shown = dumps(event.data().decode("utf-8", "backslashreplace"))
            return [self._body(start + "%-*s " % (_LABEL, "not a message"), shown, sse)]
        if isinstance(event.message, dict):
            return [self._line(start, event.direction, event.message, sse)]
        total = len(event.message)
        return [start + "batch of %d%s" % (total, sse)] + [
            self._line("%s%d/%d " % (start, number, total), event.direction, item, "")
            for number, item in enumerate(event.message, 1)
        ]

    def said(self, event: Any) -> List[str]:
        """Return the texts of an event that is no message, without time and party."""
        return [plain(text) for text in _TEXTS.get(event.kind, _note)(self, event)]

    def _line(self, start: str, direction: str, message: Any, end: str) -> str:
        label, body = self._label(direction, message) if isinstance(message, dict) else ("not a message", message)
        if body is None:
            return start + label + end
        if self._width is not None:
            body = elide(self._with_reference(direction, label, body))
        return self._body(start + "%-*s " % (_LABEL, label), dumps(body), end)

    def _body(self, start: str, text: str, end: str) -> str:
        width = self._width
        if self._columns is not None and width is not None:
            width = max(self._columns - len(start) - len(end), _LEAST)
        return start + shorten(text, width) + end

    def _with_reference(self, direction: str, label: str, body: Any) -> Any:
        """Return the contents of a message with those parts of `_meta` left out that were there before."""
        meta = body.get("_meta") if isinstance(body, dict) else None
        if not isinstance(meta, dict):
            return body
        where, before = self._shown.get((self._connection, direction), ("", {}))
        new = {name: value for name, value in meta.items() if name not in before or before[name] != value}
        same = [name for name in meta if name not in new]
        if not same:
            if len(self._shown) >= _REMEMBERED:
                del self._shown[next(iter(self._shown))]
            self._shown[self._connection, direction] = label, meta
            return body
        known = {**before, **new} if len(before) < _NAMES else meta
        self._shown[self._connection, direction] = where, known
        return {**body, "_meta": {**new, "...": "%d as in %s" % (len(same), where)}}

    def _label(self, direction: str, message: Dict[str, Any]) -> Tuple[str, Any]:
        """Return the label of a message, and the part of it to show."""
        number = dumps(message["id"])[:80] if message.get("id") is not None else ""
        if "method" in message:
            method = plain(str(message["method"]))[:80]
            if is_vendor(method):
                method += " (vendor)"
            if not number:
                return method, message.get("params")
            if len(self._methods) >= _REMEMBERED:
                del self._methods[next(iter(self._methods))]
            self._methods[self._connection, direction, number] = method
            return "%s #%s" % (method, number), message.get("params")
        asked = "server" if direction == "client" else "client"
        method = self._methods.pop((self._connection, asked, number), "")
        for kind in ("result", "error"):
            if kind in message:
                return " ".join([kind] + ["#" + number] * bool(number) + [method] * bool(method)), message[kind]
        return "not a message", message

    def _begin_stream(self, exchange: int) -> None:
        if len(self._events) >= _REMEMBERED:
            del self._events[next(iter(self._events))]
        self._events[exchange] = 0


# --- The kinds beside messages ----------------------------------------------------------------------------------------

def _note(form: TextForm, event: Any) -> Iterable[str]:
    yield event.text


def _open(form: TextForm, event: Any) -> Iterable[str]:
    yield "connected by %s%s" % (event.more.get("transport", "a transport"), _of(event))


def _close(form: TextForm, event: Any) -> Iterable[str]:
    yield "closed%s%s" % (_of(event), ": " + event.text if event.text else "")


def _of(event: Any) -> str:
    return " (connection %s)" % event.connection if event.connection else ""


def _process(form: TextForm, event: Any) -> Iterable[str]:
    did, more = event.more.get("did"), event.more
    if did == "start":
        yield "process started: " + form_of(form, " ".join(map(str, more.get("command", ()))))
    elif did == "exit":
        yield "process exited with code %s" % more.get("code")
    else:
        yield "process: %s" % ("signal " + str(more.get("signal")) if did == "signal" else "its %s" % (
            "stdin was closed" if did == "stdin-closed" else did))


def _stderr(form: TextForm, event: Any) -> Iterable[str]:
    yield "stderr: " + event.text


def _request(form: TextForm, event: Any) -> Iterable[str]:
    more = event.more
    yield "[%d] %s %s%s" % (event.exchange, form_of(form, more.get("method")), form_of(form, more.get("target")),
                            _fields(form, more.get("fields")))


def _response(form: TextForm, event: Any) -> Iterable[str]:
    fields = event.more.get("fields") or ()
    kinds = [value.partition(";")[0].strip() for name, value in fields if name.lower() == "content-type"]
    if "text/event-stream" in kinds:
        form._begin_stream(event.exchange)
    yield "[%d] %s%s%s" % (event.exchange, event.more.get("status"),
                           "".join(" " + form_of(form, kind) for kind in kinds[:1]), _fields(form, fields))


def _body(form: TextForm, event: Any) -> Iterable[str]:
    for name, value in event.more.items():
        if name == "form":
            yield "[%d] %s" % (event.exchange, form_of(form, "&".join("%s=%s" % tuple(pair) for pair in value)))
        elif name == "json":
            yield "[%d] %s" % (event.exchange, shorten(dumps(elide(value) if form._width else value), form._width))
        elif name in ("text", "base64"):
            yield "[%d] %s" % (event.exchange, form_of(form, value))


def _event(form: TextForm, event: Any) -> Iterable[str]:
    if event.exchange in form._events:
        form._events[event.exchange] += 1
    data = event.more.get("data", "")
    yield "[%d] %s%s" % (event.exchange, _said(event.more) or "event",
                         " " + form_of(form, data) if data else ", no data")


def _end(form: TextForm, event: Any) -> Iterable[str]:
    number = form._events.pop(event.exchange, None)
    cut = event.more.get("complete") is False
    if number is not None or cut or event.text:
        count = "" if number is None else " after %d event%s" % (number, "s" * (number != 1))
        how = "over" if not cut else "left" if event.direction == "client" else "cut off"
        yield "[%d] %s%s%s" % (event.exchange, how, count, event.text and ": " + event.text)


def _said(event: Any) -> str:
    """Return what an SSE event says of itself."""
    words = {"event": "event %s", "id": "id %s", "retry": "retry %s"}
    return ", ".join(text % shorten(str(event[name]), _FIELD) for name, text in words.items()
                     if name in event and event[name] != "message")


def form_of(form: TextForm, value: Any) -> str:
    """Return a text, without its middle if it is long and the form shortens."""
    return shorten(str(value), _FIELD if form._width is not None else None)


def _fields(form: TextForm, fields: Optional[Iterable[Sequence[str]]]) -> str:
    """Return the header fields that are shown, in brackets, with a blank before; "" for none."""
    order = list(_FIELDS)
    if form._width is None:
        shown = ["%s: %s" % tuple(field) for field in fields or ()]
    else:
        found = [(order.index(name.lower()), value) for name, value in fields or () if name.lower() in _FIELDS]
        shown = ["%s: %s" % (_FIELDS[order[place]], shorten(value, _FIELD)) for place, value in sorted(found)]
    return " (%s)" % ", ".join(shown) if shown else ""


_TEXTS: Dict[str, Callable[[TextForm, Any], Iterable[str]]] = {
    "trace": lambda form, event: (), "open": _open, "close": _close, "process": _process, "stderr": _stderr,
    "request": _request, "response": _response, "body": _body, "event": _event, "end": _end,
    "gap": lambda form, event: ("not recorded: " + event.text,),
}


# --- Short and plain --------------------------------------------------------------------------------------------------

def elide(value: Any, longest: int = 60, most: int = 8) -> Any:
    """Return a JSON value whose long strings and arrays have lost their middle."""
    if isinstance(value, str):
        return shorten(value, longest)
    if isinstance(value, dict):
        return {name: elide(member, longest, most) for name, member in value.items()}
    if isinstance(value, list):
        if len(value) > most:
            value = value[:most - 2] + ["... %d more ..." % (len(value) - most + 1)] + value[-1:]
        return [elide(item, longest, most) for item in value]
    return value


def shorten(text: str, width: Optional[int]) -> str:
    """Return a text of at most ``width`` characters (None: no limit); the middle becomes a count of its characters."""
    if width is None or len(text) <= width:
        return text
    kept = max(width - 20, 8)
    head = kept * 2 // 3
    return "%s ...%d more... %s" % (text[:head], len(text) - kept, text[len(text) - (kept - head):])


def plain(text: str) -> str:
    """Return a text that a terminal can show: one line of ASCII."""
    return text if text.isascii() and text.isprintable() else text.encode("unicode_escape").decode("ascii")


class TextSink:
    """Lines of text on a stream, in colours if it is a terminal and the environment has no ``NO_COLOR``.

    ``width`` as for `TextForm`, or AUTO.
    """

    def __init__(self, stream: IO[str], width: Optional[int] = AUTO) -> None:
        self._stream = stream
        self._coloured, columns = terminal(stream)
        self._form = TextForm(WIDTH if width == AUTO else width, columns if width == AUTO else None)

    def __call__(self, event: Any) -> None:
        """Write one event."""
        lines = self._form.lines(event)
        if lines:
            self._stream.write("".join((coloured(line) if self._coloured else line) + "\n" for line in lines))
            self._stream.flush()


def coloured(line: str) -> str:
    """Return a line with the colour of its kind, for a terminal."""
    at = line.index(" ", len(line) - len(line.lstrip())) + 1  # after the seconds
    mark = line[at:at + 2]
    body = _BODY.search(line, at) if mark in ("C>", "S>") else None
    end = body.start() if body else len(line)
    return line[:at] + painted(line[at:end], mark) + line[end:]


def painted(text: str, mark: str) -> str:
    """Return a text in the colour of lines with this mark, such as ``C>``, for a terminal."""
    colour = _COLOURS.get(mark, "")
    return "\x1b[%sm%s\x1b[0m" % (colour, text) if colour else text


def terminal(stream: IO[str]) -> Tuple[bool, Optional[int]]:
    """Return True if a stream shows colours, and its columns; they are None if it is no terminal."""
    if not getattr(stream, "isatty", lambda: False)():
        return False, None
    import os
    from shutil import get_terminal_size

    coloured = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return coloured, max(get_terminal_size((WIDTH, 24)).columns, 40)
