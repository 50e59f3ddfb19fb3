"""Rules of pipes: lines, streams and the server's process [..2025-11-25 basic/transports §stdio],
[2026-07-28 basic/transports/stdio], [2026-07-28 basic/transports/index §Messages].
"""

from typing import Any, Dict, Optional

from .....methods import DISCOVER, INITIALIZE
from .....wiretrace import CLIENT, SERVER
from ...observed import ERROR, NOISE, REQUEST, RESULT, Message, ObservedBatch, ObservedConnection
from ...rules import (
    BATCH, FINISH, KEPT, MESSAGE, PROCESS, UNDECIDED, Broken, CannotTell, Happening, Verdict, observe, rule,
)
from ...values import is_object_text

UNDECIDED.update({
    "stdio.client-support": "which transports a product has is not in the trace of one session",
    "stdio.stderr-not-error": "a client may end its server at any time, and does not say why",
    "stdio.restart": "whether the client, or its user, still wanted the server is not in the trace",
    "stdio.shutdown-force":
        "a server that stays after its input is closed is at fault first, and how long its client was there is unseen",
    "stdio.fallback-any-error": "one server refuses a probe in one way; what another one would see is in another trace",
    "stdio.modern-client-probe": "a client may have kept the era of the server from an earlier process",
    "transport.deliver": "a trace sees one end of a transport",
})

_FORCED = 0.1
"""Seconds after which a client that kills its server has not waited for it."""
_STAYED = 30.0
"""Seconds after which a server that was told to exit has not done so promptly."""
_LINES, _TEXT = 200, 16384
"""Lines and characters that are joined, to see whether they are one JSON value."""


class PartialLines:
    """The lines of one party that may be one JSON value together."""

    def __init__(self) -> None:
        self.text = ""
        self.lines = 0
        self.first: Optional[Message] = None


class Fragments:
    """The fragments of a pipe, by party."""

    def __init__(self) -> None:
        self.of: Dict[str, PartialLines] = {CLIENT: PartialLines(), SERVER: PartialLines()}


class Stop:
    """The end of a server's process, as far as it has come."""

    def __init__(self) -> None:
        self.closed: Optional[float] = None
        """When the client has closed the server's input."""
        self.term: Optional[float] = None
        """When the client has sent SIGTERM."""
        self.forced = False
        """True if the client has sent a signal."""
        self.gone = False


def _is_pipe(subject: Any) -> bool:
    return bool(subject.connection.transport == "stdio")


def _is_utf8(text: str) -> bool:
    return text.isascii() or not any("\udc80" <= each <= "\udcff" for each in text)


@rule("transport.utf8", on=(MESSAGE, NOISE), needs="bytes", scene="""
    on stdio 2025-06-18
  + C| {"jsonrpc": "2.0", "method": "notifications/roots/list_changed", "params": {"_meta": {"a": "\\xC3\\xA9"}}}
  - C| {"jsonrpc": "2.0", "method": "notifications/roots/list_changed", "params": {"_meta": {"a": "\\xE9"}}}
    C #1 ping
    S #1 {}
""")
def utf8(message: Message) -> Verdict:
    """Messages are UTF-8."""
    return KEPT if _is_utf8(message.event.text) else "bytes that are not UTF-8"


def _joined(message: Message) -> str:
    """Return the text that a line that is no message makes with those before it, if that may be a JSON value."""
    fragment, text = message.connection.state(Fragments).of[message.sender], message.event.text
    if fragment.lines:
        return fragment.text + "\n" + text
    return text if text.lstrip()[:1] in ("{", "[") else ""


def _is_whole(text: str) -> bool:
    return text.rstrip()[-1:] in ("}", "]") and is_object_text(text)


@rule("stdio.no-embedded-newlines", on=(MESSAGE, NOISE), when="pipe", needs="bytes", scene="""
    on stdio 2025-06-18
    C #1 ping
  + S> {"jsonrpc": "2.0", "id": 1, "result": {}}
  - S| {
  - S|   "jsonrpc": "2.0", "id": 1,
  - S|   "result": {}
  - S| }
""")
def no_embedded_newlines(message: Message) -> Verdict:
    """A message on a pipe is one line."""
    if not _is_pipe(message):
        return None
    if message.kind != NOISE:
        return KEPT
    fragment = message.connection.state(Fragments).of[message.sender]
    if message.batch is not None or not fragment.lines or not _is_whole(_joined(message)):
        return None
    return Broken("one message in %d lines" % (fragment.lines + 1), at=fragment.first)


def _only_mcp(subject: Any, party: str) -> Verdict:
    """Return the verdict about what a party writes into a pipe that is no message.

    Lines that may be parts of one message are judged when it is whole, or cannot become it.
    """
    if isinstance(subject, ObservedConnection):
        fragment = subject.state(Fragments).of[party]
        if subject.transport != "stdio" or fragment.first is None:
            return None
        return CannotTell("the rest of a line") if fragment.lines == 1 else _polluted(fragment.first)
    if isinstance(subject, ObservedBatch):
        return "a batch, which is no message of this revision" if (
            subject.sender == party and subject.session.connection.transport == "stdio"
            and subject.revision is not None and subject.revision.stateless) else None
    if subject.sender != party or not _is_pipe(subject):
        return None
    fragment = subject.connection.state(Fragments).of[party]
    if subject.kind != NOISE:
        return _polluted(fragment.first) if fragment.first is not None else KEPT
    text = subject.event.text
    if subject.batch is not None:
        return "an array with something else than messages"
    if not text.strip():  # the delimiter once more
        return None
    joined = _joined(subject)
    if not joined:
        return _polluted(subject)
    if fragment.lines >= _LINES or len(joined) > _TEXT:
        return _polluted(fragment.first or subject)
    if not fragment.lines and is_object_text(text.lstrip("\ufeff")):
        return CannotTell("a reading of a message that is not canonical JSON")
    return None


def _polluted(message: Message) -> Broken:
    return Broken("%d characters that are no message" % len(message.event.text), at=message)


_POLLUTED = """
    on stdio 2025-06-18
    C #1 ping
  - %s| %s
    S #1 {}
  + C #2 ping
"""
_MOMENTS = (MESSAGE, NOISE, BATCH, FINISH)


@rule("stdio.server-stdout-only-mcp", on=_MOMENTS, when="pipe server", needs="bytes", follows="transport.utf8",
      scene=_POLLUTED % ("S", "Server listening on stdio"))
def server_stdout_only_mcp(subject: Any) -> Verdict:
    """A server writes nothing but messages on its standard output."""
    return _only_mcp(subject, SERVER)


@rule("stdio.client-stdin-only-mcp", on=_MOMENTS, when="pipe client", needs="bytes", follows="transport.utf8",
      scene=_POLLUTED % ("C", "exit"))
def client_stdin_only_mcp(subject: Any) -> Verdict:
    """A client writes nothing but messages into the standard input of a server."""
    return _only_mcp(subject, CLIENT)


@rule("stdio.client-no-responses", on=MESSAGE, when="pipe client", follows="stdio.no-server-requests", scene="""
    on stdio 2026-07-28
    C #1 tools/list {}
    S #1 {"tools": []}
  - C> {"jsonrpc": "2.0", "id": 1, "result": {}}
""")
def client_no_responses(message: Message) -> Verdict:
    """A client writes no responses."""
    if not _is_pipe(message) or message.sender != CLIENT:
        return None
    return "a response" if message.kind in (RESULT, ERROR) else KEPT


@rule("stdio.no-server-requests", on=MESSAGE, when="pipe server", scene="""
    on stdio 2026-07-28
    C #1 tools/list {}
  - S #1 roots/list
    S #1 {"tools": []}
""")
def no_server_requests(message: Message) -> Verdict:
    """A server writes no requests: it asks in its results."""
    if not _is_pipe(message) or message.sender != SERVER:
        return None
    return "the request %s" % message.method if message.kind == REQUEST else KEPT


def _signal(happening: Happening) -> str:
    """Return the name of a signal that the client has sent to the server's process, without SIG; "" for other events.

    Others are not its own: the terminal sends INT to all processes at once.
    """
    more, event = happening.event.more, happening.event
    name = str(more.get("signal", "")) if more.get("did") == "signal" and event.direction == CLIENT else ""
    name = name[3:] if name.startswith("SIG") else name
    return name if name in ("TERM", "KILL") else ""


_EXIT = '* server process {"did": "exit", "code": %d}'
_CLOSED = '* client process {"did": "stdin-closed"}'
_TERM, _KILL = ('* client process {"did": "signal", "signal": "%s"}' % each for each in ("TERM", "KILL"))


@rule("stdio.shutdown-close-input", on=PROCESS, needs="process", party=CLIENT, scene="""
    on stdio 2025-06-18
  + %s
  - %s
    %s
""" % (_CLOSED, _TERM, _EXIT % 0))
def shutdown_close_input(happening: Happening) -> Verdict:
    """A client that ends its server closes the server's input first."""
    stop = happening.connection.state(Stop)
    if happening.event.more.get("did") == "stdin-closed":
        return None if stop.forced else KEPT
    signal = _signal(happening)
    return "SIG%s, and the input was open" % signal if signal and stop.closed is None and not stop.gone and (
        not stop.forced) else None


@rule("stdio.shutdown-wait", on=PROCESS, needs="process", party=CLIENT, follows="stdio.shutdown-close-input",
      reading="less than %.1f seconds are no waiting" % _FORCED, scene="""
    on stdio 2026-07-28
    C #1 tools/list {}
    S #1 {"tools": []}
    %s
  + @ 5
    %s
    %s
""" % (_CLOSED, _KILL, _EXIT % -9))
def shutdown_wait(happening: Happening) -> Verdict:
    """A client that has closed the input of its server gives it time to exit."""
    stop = happening.connection.state(Stop)
    if stop.closed is None or stop.gone or stop.forced:
        return None
    if happening.event.more.get("did") == "exit":
        return KEPT
    if not _signal(happening):
        return None
    waited = happening.event.time - stop.closed
    return "SIG%s after %.3f seconds" % (_signal(happening), waited) if waited < _FORCED else KEPT


@rule("stdio.shutdown-sigterm", on=PROCESS, needs="process", party=CLIENT, follows="stdio.shutdown-close-input",
      scene="""
    on stdio 2025-06-18
    %s
    @ 10
  + %s
  + @ 10
    %s
    %s
""" % (_CLOSED, _TERM, _KILL, _EXIT % -9))
def shutdown_sigterm(happening: Happening) -> Verdict:
    """A server that does not exit by itself is sent SIGTERM before SIGKILL."""
    stop = happening.connection.state(Stop)
    if stop.gone or stop.closed is None:
        return None
    if happening.event.more.get("did") == "exit":
        return None if stop.forced else KEPT
    signal = _signal(happening)
    if not signal:
        return None
    return "SIGKILL without SIGTERM" if signal == "KILL" and stop.term is None else KEPT


@rule("stdio.shutdown-sigkill", on=PROCESS, needs="process", party=CLIENT, follows="stdio.shutdown-sigterm",
      reading="more than %d seconds after SIGTERM are more than a reasonable time" % _STAYED, scene="""
    on stdio 2025-06-18
    %s
    @ 5
    %s
  + @ 5
  + %s
  - @ 300
    %s
""" % (_CLOSED, _TERM, _KILL, _EXIT % -9))
def shutdown_sigkill(happening: Happening) -> Verdict:
    """A server that does not exit on SIGTERM is sent SIGKILL."""
    stop = happening.connection.state(Stop)
    if stop.term is None or stop.gone:
        return None
    late = happening.event.time - stop.term
    if _signal(happening) == "KILL":
        return KEPT
    return "the process was there for %.0f seconds after SIGTERM" % late if (
        happening.event.more.get("did") == "exit" and late > _STAYED) else None


@rule("stdio.exit-on-eof", on=PROCESS, needs="process", party=SERVER,
      reading="an exit within %d seconds is prompt" % _STAYED, scene="""
    on stdio 2026-07-28
    C #1 tools/list {}
    S #1 {"tools": []}
    %s
  + @ 1
  - @ 60
    %s
""" % (_CLOSED, _EXIT % 0))
def exit_on_eof(happening: Happening) -> Verdict:
    """A server whose input is closed exits promptly."""
    stop = happening.connection.state(Stop)
    did = happening.event.more.get("did")
    if stop.closed is None or stop.forced or stop.gone or (did != "exit" and not _signal(happening)):
        return None
    late = happening.event.time - stop.closed
    if late > _STAYED:
        return "the process was there for %.0f seconds" % late
    return KEPT if did == "exit" else CannotTell("whether the server would have exited: the client did not wait longer")


@rule("stdio.dual-era-probe", on=REQUEST, method=INITIALIZE, when="pipe client", always=True, scene="""
    on stdio 2026-07-28
  + C #1 server/discover {}
  - C #1 tools/list {}
    S #1 !-32601 "Method not found"
    C #2 initialize {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
""")
def dual_era_probe(message: Message) -> Verdict:
    """A client of both eras asks `server/discover` before anything else."""
    first = message.connection.state(First).request
    if not _is_pipe(message) or message.sender != CLIENT or first is None or not message.session.from_start:
        return None
    if message.session.initialize is not None:
        return None
    if first.revision is None or not first.revision.stateless:
        return None
    return KEPT if first.method == DISCOVER else Broken("%s was the first request" % first.method, at=first)


class First:
    """The first request of the client on a pipe."""

    def __init__(self) -> None:
        self.request: Optional[Message] = None


@observe(on=REQUEST, when="client")
def remember_first(message: Message) -> None:
    """Note the first request of the client."""
    first = message.connection.state(First)
    if message.sender == CLIENT and first.request is None:
        first.request = message


@observe(on=(MESSAGE, NOISE), when="pipe noise")
def remember_fragment(message: Message) -> None:
    """Note lines that may be parts of one message."""
    if not _is_pipe(message) or message.batch is not None:
        return
    fragments = message.connection.state(Fragments)
    fragment = fragments.of[message.sender]
    joined = _joined(message) if message.kind == NOISE else ""
    if not joined or fragment.lines >= _LINES or len(joined) > _TEXT or is_object_text(joined.lstrip("\ufeff")):
        if fragment.lines:
            fragments.of[message.sender] = PartialLines()
    elif message.event.text.strip():
        fragment.text, fragment.lines = joined, fragment.lines + 1
        fragment.first = fragment.first or message


@observe(on=PROCESS)
def remember_process(happening: Happening) -> None:
    """Note how a client ends its server."""
    stop, event = happening.connection.state(Stop), happening.event
    did, signal = event.more.get("did"), _signal(happening)
    if did == "stdin-closed" and stop.closed is None:
        stop.closed = event.time
    if signal:
        stop.forced = True
    if signal == "TERM" and stop.term is None:
        stop.term = event.time
    stop.gone = stop.gone or did == "exit"
