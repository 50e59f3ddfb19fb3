"""The wire made visible: every message, HTTP exchange, process and finding as an event, for people and for programs.

A `Trace` takes events and gives them to its sinks. `mcp_ref.transports.tap` puts one around a transport,
`mcp_ref.streamable.http_trace` around HTTP. Other parts report to it by `Trace.tell`. Without a tap there is no trace,
and it costs nothing.

The format, version 1
---------------------
JSON Lines: one object a line, UTF-8. ``#`` begins a comment line, empty lines do not count. The first object is the
header; all others are events, in the order in which they were reported (with two threads that order may differ from
the order of the times by microseconds).

The header: ``{"trace": 1, "recorder": "mcp_ref 0.7.0 tap", "started": "2026-11-23T01:40:00Z", "recorded": [...]}``.
``trace`` is the version; a reader refuses versions that it does not know. ``recorded`` names what the recorder sees:
what is not named was not recorded, and says nothing (`RECORDED` has the names). A file without a header is read as one
that has recorded messages only.

Members that every event may have:

==============  =====================================================================================================
``time``        seconds since the start of the trace, a number (needed)
``from``        ``client`` or ``server``: the sender, or the party that did it; absent: not known, or neither
``kind``        one of those below; absent: ``message``
``connection``  the name of the connection, a string; absent: the first, and most often the only one. A pipe, a
                socket, or the HTTP traffic of one client with one server (which may use several sockets); in the
                trace of a server all traffic at one address, where session ids tell clients apart
``exchange``    the number of the HTTP exchange, an integer from 1 that is used once in a trace
==============  =====================================================================================================

The kinds, and their members:

============  =======================================================================================================
message       ``message``: the JSON value, an object or a batch, if the bytes are canonical: UTF-8 without a byte order
              mark, on one line (white space around it does not count), no member name twice in an object. Otherwise
              ``raw``, the text of the bytes, or ``base64`` where they are not UTF-8; beside ``message`` where these
              bytes have one meaning (a byte order mark, line breaks), alone where they have not. ``sse``: of the event
              that carried it, an object of ``id``, ``event`` and ``retry``, each only if the event had it; several
              lines of data are joined by LF
open          a connection begins. ``transport``: stdio, streamable-http, http+sse, tcp, unix, memory, or the name of
              another one. A second one of the same connection: the client goes on by another transport
close         a connection is over, ended by ``from``. ``note``: the reason. What was under way may follow: the client's
              DELETE, ends of exchanges, the end of the process
process       the server's process. ``did``: start (``command``: array of strings), exit (``code``: integer, negative
              for a signal), signal (``signal``: such as TERM), stdin-closed. ``from`` is who did it: of exit the server
stderr        ``text``: a line that the server's process wrote on its standard error
request       the head of an HTTP request: ``method``, ``target``, ``fields`` (array of pairs of name and value; names
              as they were written, or in lower case, where the recorder has them so; those that frame the body may be
              missing), ``url`` (scheme and authority, if known). Without ``fields``: made by a user agent,
              only the URL is known (an authorization request is from the client, a redirect back from nobody)
response      the head of an HTTP response: ``status`` (integer), ``fields``
body          a body that is no message of the protocol (a metadata document, a form, an error page): ``json``, ``form``
              (array of pairs), ``text`` or ``base64``; ``size`` in bytes where it was shortened
event         an SSE event without a message: ``id``, ``event``, ``retry``, ``data``, each only if it had it
end           an HTTP exchange is over, ended by ``from``. ``complete``: false if bytes are missing, or the response;
              ``note``
state         ``note``: the conversation entered another state, as the recording party sees it
transport     ``note``: anything else of the transport
finding       ``note``: what the recording party has counted as odd; ``from`` is the party that did it
gap           ``note``: what was not recorded from here on, such as a body that was too long
============  =======================================================================================================

An HTTP exchange is a ``request``, the messages or the ``body`` of the client with its number, a ``response``, the
messages, events or body of the server with its number, and an ``end``. Over HTTP each message is told with its
exchange, when it is on the wire. Requests for documents and tokens are exchanges of the connection that they serve,
with the ``url`` of the server that was asked.

Secrets are masked before any sink sees them (`mcp_ref.diagnostics.masking`): tokens, codes, verifiers, challenges and
states of authorization, client secrets, assertions, ``Authorization`` (its scheme stays), cookies, session ids,
configured keys, request states, and the values of header fields and parameters that are not known to be harmless. In
``raw`` they are masked, too, a number as a string. A mask is ``***`` and eight hexadecimal digits of a digest that is
salted for each trace: equal secrets have equal masks in one trace, and nothing can be read or tried out, because the
salt is not kept. So a trace cannot be replayed to log in. A masked session id says in the mask's end what its
characters were, where a rule asks for it: ``***1f2e3d4c`` was of visible ASCII, ``***1f2e3d4c!`` was not.

For people there is one line for each event (`to_text`): `mcp_ref.wiretrace.text` describes it.

Threads: any thread may report. Each sink has a lock of its own and is called under it, so a sink that
blocks (a full pipe) blocks the thread that reports: never report while holding a lock of the protocol. A
sink that raises is dropped, with a log record; the conversation goes on.
"""

import threading
from itertools import count
from time import gmtime, strftime
from dataclasses import replace
from typing import (
    IO, TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, Mapping, NamedTuple, Optional, Set, Tuple, Union,
)

from .. import deadline
from ..diagnostics.masking import MOST_LEARNT, Masker
from ..diagnostics.packagelog import USERCODE, get_logger, log_raised, name_of
from ..jsontext import JsonError, dumps, loads
from ..limits import DEFAULT
from ..options import strict_options
from ..version import __version__
from .text import AUTO, TextSink

if TYPE_CHECKING:
    import os

CLIENT, SERVER = "client", "server"
MESSAGE, STATE, TRANSPORT, FINDING = "message", "state", "transport", "finding"
OPEN, CLOSE, PROCESS, STDERR, GAP, HEADER = "open", "close", "process", "stderr", "gap", "trace"
REQUEST, RESPONSE, BODY, SSE_EVENT, END = "request", "response", "body", "event", "end"

FORMAT = 1
"""The version of the format; see the module."""

MEMBERS: Dict[str, Dict[str, Any]] = {
    MESSAGE: {"message": (dict, list), "raw": str, "base64": str, "sse": dict},
    OPEN: {"transport": str},
    CLOSE: {"note": str},
    PROCESS: {"did": str, "command": list, "code": int, "signal": str},
    STDERR: {"text": str},
    REQUEST: {"method": str, "target": str, "fields": list, "url": str},
    RESPONSE: {"status": int, "fields": list},
    BODY: {"json": object, "form": list, "text": str, "base64": str, "size": int},
    SSE_EVENT: {"id": str, "event": str, "retry": int, "data": str},
    END: {"complete": bool, "note": str},
    STATE: {"note": str}, TRANSPORT: {"note": str}, FINDING: {"note": str}, GAP: {"note": str},
}
"""The kinds of events, and the members that each may have beside those that all have, with their JSON types."""

RECORDED: Dict[str, str] = {
    "start": "the trace begins before the first byte of the conversation",
    "both": "messages of both parties",
    "times": "when each event was seen, so that how long and how often something was can be judged",
    "bytes": "bytes that are no canonical message are there as they were",
    "http": "HTTP requests and responses with their header fields",
    "sse": "ids, types and retry times of SSE events",
    "end": "which party ended a connection or an exchange",
    "documents": "HTTP requests beside the protocol's own: metadata documents, token requests",
    "process": "start, exit and signals of the server's process",
    "stderr": "what the server's process wrote on standard error",
}
"""The names in ``recorded`` of the header, and what each promises."""

_ALWAYS = ("start", "both", "times", "bytes", "http", "sse", "end")
"""The promises of every `Trace`; a tap adds what it sees of a process, and of authorization."""
_NOTED = (STATE, TRANSPORT, FINDING, GAP)
"""The kinds that are nothing without a note."""
LIMITS = replace(DEFAULT, max_depth=DEFAULT.max_depth + 2)
"""The limits of a line, which has two levels more than the message or the body that it tells of."""
_BOM = b"\xef\xbb\xbf"
_NONE: Dict[str, Any] = {}


class Event(NamedTuple):
    """An event on the wire, secrets masked; the module has the kinds.

    ``time``: seconds since the start. ``direction``: "client" or "server", the sender or the party concerned; "" for
    neither. ``kind``: a key of MEMBERS, or "trace" for the header. ``message``: the JSON value of a message, an object
    or a batch; None for bytes that are no message. ``text``: the note of an event, the text of stderr, or the bytes of
    a message that are not canonical (no UTF-8 as lone surrogates). ``connection``, ``exchange``: as in the format, ""
    and 0 if absent. ``more``: the other members of the kind; never changed.
    """

    time: float
    direction: str
    kind: str
    message: Any = None
    text: str = ""
    connection: str = ""
    exchange: int = 0
    more: Mapping[str, Any] = _NONE

    def data(self) -> bytes:
        """Return the bytes of a message, to send it again."""
        if self.message is None or self.text:
            return self.text.encode("utf-8", "surrogateescape")
        return dumps(self.message).encode("ascii")


Sink = Callable[[Event], None]
"""A function that takes events, such as the ``append`` of a list. One thread at a time calls it."""


class TraceError(ValueError):
    """A line of a recorded trace is no event; the text says which line."""


class TraceCut(TraceError):
    """The last line of a recording is not whole: it broke off while that was written. The lines before it are."""


class Position:
    """The place of a reader in a recording."""

    line = 0
    """The number of the line of the last event, from 1; 0 where the recording has no lines."""


@strict_options
class Trace:
    """Takes events and gives them to the sinks; the module's docstring says on which threads.

    The first event is the header. ``secrets``: texts that are masked wherever they are, beside those that look like
    secrets. ``recorder``: the name of what records. Raises TypeError for a sink that cannot be called, ValueError for
    an empty secret.
    """

    def __init__(self, *sinks: Sink, secrets: Iterable[str] = (), recorder: str = "") -> None:
        for sink in sinks:
            if not callable(sink):
                raise TypeError("a sink is a function that takes events, not %s: for a stream use to_text(stream), for "
                                "a file to_file(path)" % type(sink).__name__)
        self.exchanges = count(1)
        """The numbers of HTTP exchanges."""
        self.masker = Masker(secrets)
        self._sinks = [(sink, threading.Lock()) for sink in sinks]
        self._start = deadline.clock()
        self._header: Dict[str, Any] = {
            "trace": FORMAT, "recorder": recorder or "mcp_ref %s tap" % __version__,
            "started": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime()), "recorded": list(_ALWAYS)}
        self._lock = threading.Lock()
        self._begun = False
        self._connections = self._open = 0
        self._forgot = False
        """True once it was told that the masker has forgotten secrets."""

    def records(self, *names: str) -> None:
        """Promise in the header that these are recorded, too, names of RECORDED; without effect once it is written."""
        with self._lock:
            if not self._begun:
                self._header["recorded"] += [name for name in names if name not in self._header["recorded"]]

    def hide(self, *secrets: str) -> None:
        """Mask these texts wherever they are, from now on. Raises ValueError for an empty one."""
        self.masker.configure(*secrets)

    def connection(self) -> str:
        """Return the name of a new connection: none for the first, then numbers from 2 on; `disconnected` is its end.
        """
        with self._lock:
            self._connections += 1
            self._open += 1
            name = "" if self._connections == 1 else str(self._connections)
        self._rest(False)
        return name

    def disconnected(self) -> None:
        """Note that a connection has ended. When none is left, no file is kept open."""
        with self._lock:
            self._open -= 1
            resting = self._open == 0
        if resting:
            self._rest(True)

    def _rest(self, resting: bool) -> None:
        for entry in list(self._sinks):
            sink, lock = entry
            rest = getattr(sink, "rest", None)
            try:
                if rest is not None:
                    with lock:
                        rest(resting)
            except Exception as error:
                self._drop(entry, error)

    @strict_options
    def message(
        self, direction: str, data: bytes, connection: str = "", exchange: int = 0,
        sse: Optional[Dict[str, Any]] = None,
    ) -> Set[str]:
        """Report bytes that went over the wire, sent by ``direction`` ("client" or "server").

        Returns the secrets in it that were told by the names of their members: they may be elsewhere, too.
        """
        value, text, found = None, "", set()  # type: Any, str, Set[str]
        try:
            value = loads(data[3:] if data[:3] == _BOM else data)
        except JsonError:
            pass
        if not isinstance(value, (dict, list)):
            value = None
        if value is None or data[:3] == _BOM or b"\n" in data.strip() or b"\r" in data.strip():
            text = self.masker.raw(data.decode("utf-8", "surrogateescape"))
        if value is not None:
            value, found = self.masker.message(value)
        more = _NONE if not sse else {
            "sse": {name: _MASKED.get(name, _same)(self.masker, part) for name, part in sse.items()}}
        self._give(Event(self._now(), direction, MESSAGE, value, text, connection, exchange, more))
        return found

    @strict_options
    def tell(
        self, kind: str, direction: str = "", members: Mapping[str, Any] = _NONE, note: str = "", connection: str = "",
        exchange: int = 0,
    ) -> None:
        """Report an event of any kind but a message, with the members of its kind (MEMBERS); None counts as absent.

        ``note``: that of the kinds that have one, and the text of stderr. Secrets are masked here, in all of them.
        Raises ValueError for a kind or a member that there is not.
        """
        unknown = [name for name in members if name not in MEMBERS.get(kind, ())]
        if unknown or kind not in MEMBERS:
            what = "there is no such kind of event"
            if kind in MEMBERS:
                what = "an event has no member " + ", ".join(unknown)
            raise ValueError("%s: %s" % (kind, what))
        more = {name: _encodable(_MASKED.get(name, _same)(self.masker, value)) for name, value in members.items()
                if value is not None}
        note = _encodable(note)
        text = self.masker.stderr(note, connection) if kind == STDERR else self.masker.text(note)
        self._give(Event(self._now(), direction, kind, None, text, connection, exchange, more or _NONE))
        if self.masker.forgot and not self._forgot:
            self._forgot = True
            self.tell(TRANSPORT, note="more than %d credentials were seen: the oldest are masked in their own places "
                                      "still, but no more where they are repeated in texts" % MOST_LEARNT)

    def state(self, text: str) -> None:
        """Report that the conversation entered another state."""
        self.tell(STATE, note=text)

    @strict_options
    def transport(self, text: str, direction: str = "", connection: str = "") -> None:
        """Report an event of the transport for which there is no kind."""
        self.tell(TRANSPORT, direction, note=text, connection=connection)

    @strict_options
    def finding(self, text: str, direction: str = "", connection: str = "") -> None:
        """Report a broken rule; ``direction`` is the party that broke it."""
        self.tell(FINDING, direction, note=text, connection=connection)

    def _now(self) -> float:
        return round(deadline.clock() - self._start, 6)

    def _give(self, event: Event) -> None:
        if not self._begun:
            with self._lock:  # no event overtakes the header
                if not self._begun:
                    self._begun = True
                    self._hand_out(Event(0.0, "", HEADER, more=self._header))
        self._hand_out(event)

    def _hand_out(self, event: Event) -> None:
        for entry in list(self._sinks):
            sink, lock = entry
            try:
                with lock:
                    sink(event)
            except Exception as error:
                self._drop(entry, error)

    def _drop(self, entry: Tuple[Sink, "threading.Lock"], error: Exception) -> None:
        """Remove a sink that raised: it would raise for every message."""
        try:
            self._sinks.remove(entry)
        except ValueError:
            return  # another thread was quicker
        if isinstance(entry[0], JsonLinesSink) and isinstance(error, OSError):  # a full disk needs no traceback
            get_logger(USERCODE).error("a trace ends here: it cannot be written: %s", error)
            try:
                entry[0].close()
            except OSError:
                pass  # what is still to be written; the interpreter would tell of it when it finds the file
        else:
            log_raised("sink %s of a trace, which ends here," % name_of(entry[0]), error)

    def close(self) -> None:
        """Close the sinks that can be closed."""
        for sink, lock in self._sinks:
            close = getattr(sink, "close", None)
            if close is not None:
                with lock:
                    close()

    def __enter__(self) -> "Trace":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _same(masker: Masker, value: Any) -> Any:
    return value


def _encodable(value: Any) -> Any:
    """Return a value whose texts can be written as UTF-8: arguments of a process, for one, may hold any bytes."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_encodable(name): _encodable(member) for name, member in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, (list, tuple)) else value


_MASKED: Dict[str, Callable[[Masker, Any], Any]] = {
    "fields": Masker.fields, "target": Masker.url, "url": Masker.url, "form": Masker.form, "json": Masker.document,
    "text": Masker.raw, "data": Masker.data, "id": Masker.text, "event": Masker.text, "command": Masker.command,
    "base64": Masker.base64,
}
"""Member -> how it is masked. Those that are not here hold no text of a peer's."""


@strict_options
def to_text(stream: IO[str], width: Optional[int] = AUTO) -> Trace:
    """Return a trace that people read: lines on a text stream, which stays open; in colours on a terminal.

    ``width``: the characters of a message's contents that a line shows, None for all; by default as many as the
    terminal has room for, and 200 where there is none.
    """
    return Trace(TextSink(stream, width))


def to_file(path: Any) -> Trace:
    """Return a trace that programs read: JSON Lines in a new file (a path or a text stream). Close it in the end.

    Raises OSError for a file that cannot be made, or is there.
    """
    return Trace(JsonLinesSink(path))


def trace_of(given: "Union[Trace, str, os.PathLike[str], None]") -> Optional[Trace]:
    """Return a trace: the one given, or for a path one that is written to a new file, as `recording` makes it.

    Raises TypeError for what is neither.
    """
    if given is None or isinstance(given, Trace):
        return given
    if isinstance(given, str) or hasattr(given, "__fspath__"):
        sink, problem = recording(given)
        if problem:  # the author has named the file, so this is told as their exceptions are
            get_logger(USERCODE).warning("%s", problem)
        return None if sink is None else Trace(sink)
    raise TypeError("trace is a Trace, such as mcp_ref.wiretrace.to_text(sys.stderr), or a path, not %s"
                    % type(given).__name__)


# For programs

def recording(path: Any) -> "Tuple[Optional[JsonLinesSink], str]":
    """Return a sink for a new file at a path, and "" or a line about another place for it. It raises no OSError.

    A recorder must not keep what it records from starting. Where the file is there, the next free number comes before
    its suffix; where none can be made, one is made in the temporary folder; without that there is no sink.
    """
    import os
    import tempfile

    wanted, problem = os.fspath(path), "is there already"
    try:
        sink = _numbered(wanted)
    except OSError as error:
        problem = "cannot be written: %s" % (error.strerror or error)
        try:
            sink = _numbered(os.path.join(tempfile.gettempdir(), os.path.basename(wanted)))
        except OSError as another:
            return None, "%s %s, nor can a file of that name in the temporary folder (%s): nothing is recorded" % (
                wanted, problem, another.strerror or another)
    return sink, "" if sink.path == wanted else "%s %s: the trace is in %s" % (wanted, problem, sink.path)


def _numbered(path: str) -> "JsonLinesSink":
    import os

    stem, suffix = os.path.splitext(path)
    for number in count(2):
        try:
            return JsonLinesSink(path)
        except FileExistsError:
            pass
        path = "%s-%d%s" % (stem, number, suffix)
    raise AssertionError("there is always a next number")


class JsonLinesSink:
    """JSON Lines in a file that only its owner can read, or on a text stream; each line is flushed.

    ``target``: a path or a stream. A file is open while connections are (`rest`), so that nobody has to close it.
    Raises OSError for a file that cannot be made; FileExistsError for one that is there: a trace overwrites nothing.
    """

    def __init__(self, target: Any) -> None:
        self.path = None if hasattr(target, "write") else target
        self._stream: IO[str] = target if self.path is None else _owned(target, "x")
        self._resting = self._closed = False

    def __call__(self, event: Event) -> None:
        """Write one event."""
        if self._resting and not self._closed:
            with _owned(self.path, "a") as stream:
                stream.write(dumps(to_object(event), LIMITS) + "\n")
            return
        self._stream.write(dumps(to_object(event), LIMITS) + "\n")
        self._stream.flush()

    def rest(self, resting: bool) -> None:
        """Close the file, and open it for each event from now on; or open it again, if not ``resting``."""
        if self.path is None or self._closed or resting == self._resting:
            return
        self._resting = resting
        if resting:
            self._stream.close()
        else:
            self._stream = _owned(self.path, "a")

    def close(self) -> None:
        """Close the file, if it was opened here."""
        self._closed = True
        if self.path is not None:
            self._stream.close()


def _owned(path: Any, mode: str) -> IO[str]:
    import errno
    import os

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags, 0o600)

    try:
        return open(path, mode, encoding="utf-8", newline="\n", opener=opener)
    except FileExistsError as error:
        if not os.path.isfile(path):
            kind = "a folder" if os.path.isdir(path) else "no regular file"
            raise OSError(errno.EINVAL, "it is %s; name a new file" % kind,
                          path) from None
        raise FileExistsError(
            error.errno, "the file is there already, and a trace overwrites nothing: name a new file, or remove this "
            "one", path) from None


def to_object(event: Event) -> Dict[str, Any]:
    """Return an event as the JSON object of one line."""
    value: Dict[str, Any] = {"time": event.time}
    if event.kind == HEADER:
        return dict(event.more)
    if event.direction:
        value["from"] = event.direction
    if event.connection:
        value["connection"] = event.connection
    if event.exchange:
        value["exchange"] = event.exchange
    if event.kind != MESSAGE:
        value["kind"] = event.kind
        if event.text or event.kind in _NOTED:
            value["text" if "text" in MEMBERS[event.kind] else "note"] = event.text
    else:
        if event.message is not None:
            value["message"] = event.message
        if event.text or event.message is None:
            value.update(_bytes(event.text))
    value.update(event.more)
    return value


def _bytes(text: str) -> Dict[str, Any]:
    """Return the member for bytes: ``raw``, or ``base64`` if they are not UTF-8."""
    try:
        text.encode("utf-8")
        return {"raw": text}
    except UnicodeEncodeError:
        from base64 import b64encode

        return {"base64": b64encode(text.encode("utf-8", "surrogateescape")).decode("ascii")}


def read(source: Any, position: Optional[Position] = None) -> Iterator[Event]:
    """Yield the events of a recording: a path, or lines (str or bytes).

    Behind a second header begins another trace: from there on connections have its number before their names, and the
    numbers of exchanges go on. Raises `TraceError` for a line that is no event, `TraceCut` after the last whole line.
    """
    if isinstance(source, (str, bytes)) or hasattr(source, "__fspath__"):
        with open(source, "rb") as lines:
            yield from read(lines, position)
        return
    position, quick = position or Position(), QuickReader()
    traces = events = last = before = 0
    cut: Optional[TraceError] = None
    for number, line in enumerate(source, 1):
        data = line.encode("utf-8", "surrogateescape") if isinstance(line, str) else line
        text = data.strip()
        if cut is not None:
            raise cut
        if text and not text.startswith(b"#"):
            try:
                event = quick.event(text)
            except (JsonError, TraceError) as error:
                cut = TraceError("line %d: %s" % (number, error))
                if not events or data.endswith(b"\n") or not is_begun(text):
                    raise cut from None
                continue  # the writer broke off, if it is the last one
            position.line = number
            if event.kind == HEADER and events:
                traces, before = max(traces, 1) + 1, last
            elif traces:
                event = event._replace(connection=("trace %d %s" % (traces, event.connection)).strip(),
                                       exchange=event.exchange and event.exchange + before)
            events += 1
            last = max(last, event.exchange)
            yield event
    if cut is not None:
        raise TraceCut("line %d is cut: the recording broke off there" % number)


_HEAD = (r'\{"time": ?((?:0|[1-9]\d{0,9})(?:\.\d{1,9})?), ?"from": ?"(client|server)", ?'
         r'(?:"connection": ?"([ !#-\[\]-~]*)", ?)?(?:"exchange": ?([1-9]\d{0,15}), ?)?(?:"(kind|message)": ?)')
_PARTIES = {b"client": CLIENT, b"server": SERVER}
_made = tuple.__new__
"""The maker of an event of its members, in half the time of the class."""
_IN_HEAD = ("time", "from", "connection", "exchange", "trace")
_IN_MESSAGE = replace(LIMITS, max_depth=LIMITS.max_depth - 1)
_LONGEST_END, _MOST_ENDS = 1024, 256
"""The bytes of the ends of lines that are remembered, and their number."""
_SSE = 200
"""The bytes at the end of a line in which the SSE event of a message is looked for, to read such a line only once."""


class QuickReader:
    """Reads lines as recorders write them in less time than `from_object` takes, and all others with it.

    Reading was a third of what the command `check` does. Two things save most of it: the members that all events have
    stand at the beginning, always in one order; and what follows is often what was in a line before (an end, the head
    of a response), so that it need not be read again.
    """

    def __init__(self) -> None:
        import re

        self._head = re.compile(_HEAD.encode("ascii")).match
        self._ends: Dict[bytes, Tuple[str, str, Mapping[str, Any]]] = {}

    def event(self, line: bytes) -> Event:
        """Return the event of a line without white space around it. Raises `TraceError` or `JsonError`."""
        head = self._head(line)
        if head is None:
            return from_object(loads(line, LIMITS))
        time, party, connection, exchange, first = head.groups()
        known: Tuple[str, str, Mapping[str, Any]]
        if first == b"message":
            message = _message_alone(line, head.end())
            if message is None:
                return from_object(loads(line, LIMITS))
            known = MESSAGE, "", _NONE
        else:
            message, end = None, line[head.end():]
            found = self._ends.get(end)
            if found is None:
                return self._learn(line, end, 2 + (connection is not None) + (exchange is not None))
            known = found
        kind, text, more = known
        return _made(Event, (float(time), _PARTIES[party], kind, message, text, (connection or b"").decode(),
                             int(exchange or 0), more))

    def _learn(self, line: bytes, end: bytes, members: int) -> Event:
        """Read a line, and remember its end if it has none of the members that stand at the beginning."""
        value = loads(line, LIMITS)
        event = from_object(value)
        if len(end) <= _LONGEST_END and event.message is None and sum(name in value for name in _IN_HEAD) == members:
            if len(self._ends) >= _MOST_ENDS:
                self._ends.clear()
            self._ends[end] = event.kind, event.text, event.more
        return event


def _message_alone(line: bytes, start: int) -> Any:
    """Return the message that fills the rest of a line but its last brace; None if it is none, or more follows."""
    if line[start:start + 1] not in b"{[" or line[-1:] != b"}" or line.rfind(b'"sse":', -_SSE) >= 0:
        return None
    try:
        return loads(line[start:-1], _IN_MESSAGE)
    except JsonError:
        return None


def is_begun(text: bytes) -> bool:
    """Tell whether a text is the beginning of a JSON object or array, whose end is missing."""
    import json

    try:
        json.loads(text.decode("utf-8", "replace"))
        return False
    except (ValueError, RecursionError):
        return text[:1] in (b"{", b"[")


def from_object(value: Any) -> Event:
    """Return the event of one line's JSON object. Raises `TraceError`."""
    if not isinstance(value, dict):
        raise TraceError("not an object")
    if "trace" in value:
        return _header(value)
    get = value.get
    time, direction, kind = get("time"), get("from", ""), get("kind", MESSAGE)
    connection, exchange = get("connection", ""), get("exchange", 0)
    if isinstance(time, bool) or not isinstance(time, (int, float)):
        raise TraceError("time: expected seconds, got %s" % _shown(time))
    if not isinstance(kind, str) or kind not in MEMBERS:
        raise TraceError("kind: expected one of %s" % ", ".join(MEMBERS))
    if direction not in (CLIENT, SERVER, "") or (kind == MESSAGE and not direction):
        raise TraceError("from: expected client or server")
    if not isinstance(connection, str) or type(exchange) is not int:
        raise TraceError("connection: expected a string; exchange: expected an integer")
    known, rest = MEMBERS[kind], {}
    for name, member in value.items():
        if name in known:  # unknown members belong to later versions
            if not isinstance(member, known[name]) or known[name] is int and type(member) is not int:
                raise TraceError("%s: not of the right type" % name)
            rest[name] = member
    message, text = rest.pop("message", None), ""
    if kind == MESSAGE:
        text = _raw(rest, message is not None)
    elif "note" in known:
        if "note" not in rest and kind in _NOTED:
            raise TraceError("note: expected a string")
        text = rest.pop("note", "")
    elif kind == STDERR:
        text = rest.pop("text", "")
    return Event(float(time), direction, kind, message, text, connection, exchange, rest or _NONE)


def _header(value: Dict[str, Any]) -> Event:
    if value["trace"] != FORMAT:
        raise TraceError("trace: version %s is not known, only %d" % (_shown(value["trace"]), FORMAT))
    return Event(0.0, "", HEADER, more=value)


def _shown(value: Any) -> str:
    from json import dumps as shown

    return shown(value)[:80]  # a lone surrogate is no reason for another error


def _raw(rest: Dict[str, Any], optional: bool) -> str:
    """Take the text of a message's bytes out of the members; "" if there is none and it is ``optional``."""
    from base64 import b64decode

    raw, coded = rest.pop("raw", None), rest.pop("base64", None)
    if isinstance(raw, str):
        return raw
    if coded is None and optional:
        return ""
    try:
        return b64decode(coded, validate=True).decode("utf-8", "surrogateescape")
    except (TypeError, ValueError):
        raise TraceError("expected message (an object or array), raw, base64, or kind and note") from None
