"""A transport whose traffic is seen: wraps any other one and tells a `wiretrace.Trace` of all that passes.

Sent messages are told before they are written and received ones after they were read, so that a
request always comes before its answer. What could not be sent is told as a finding.
"""

import threading
from contextlib import contextmanager
from typing import Any, Callable, Iterator, List, Optional, Sequence

from ..deadline import Deadline
from ..diagnostics.packagelog import shown_error
from ..errors import TransportError
from ..jsonrpc import RequestId
from ..wiretrace import CLIENT, CLOSE, GAP, OPEN, PROCESS, SERVER, STDERR, Trace
from .base import Failed, Finding, Forwarding, Outgoing, Received, Transport, Unanswered, successor, was_read, why_ended

_OURS = frozenset((
    "refused work", "dropped notification", "dropped progress", "dropped log message", "sampling above the rate",
    "tool calls above the rate", "too many completions", "unchecked result", "listening", "listening again failed",
    "listening given up", "unencrypted link", "unasked answer", "embedded resource",
))
"""The names of counts that are our own doing, or our own limits; most others are about the peer."""


_OF_PROCESS = {"start": "command", "signal": "signal", "exit": "code"}
"""The event in the life of a process -> the member with more about it."""
_NAMES = {"child": "stdio", "http": "streamable-http", "sse": "http+sse"}
"""The name of a transport -> that in a trace, if it is another one."""


def tap(transport: Transport, trace: Optional[Trace], side: str, connection: Optional[str] = None) -> Transport:
    """Return the same transport, seen by ``trace``; itself, where that is None. ``side``: who we are, "client" or
    "server". ``connection``: the name of the connection, where another part tells of it and of its messages, as for a
    server over HTTP.

    Raises ValueError for another side, TypeError for a trace that is none.
    """
    return transport if trace is None else Tap(transport, trace, side, connection)


class Tap(Forwarding):
    """A transport of whichever contract whose traffic a trace is told of; see the module.

    Where HTTP tells of messages, with the exchange that each belongs to, they are not told again.
    """

    finding: Optional[Finding] = None

    def __init__(self, transport: Transport, trace: Trace, side: str, connection: Optional[str] = None) -> None:
        if side not in (CLIENT, SERVER):
            raise ValueError("side is %r or %r, not %r" % (CLIENT, SERVER, side))
        if not isinstance(trace, Trace):
            raise TypeError("trace is a Trace, such as mcp_ref.wiretrace.to_text(sys.stderr), not %s"
                            % type(trace).__name__)
        self.inner = transport
        self.trace = trace
        self.side = side
        self.peer = SERVER if side == CLIENT else CLIENT
        self._closed = self._over = False
        self._lock = threading.Lock()
        self.finding = self._found
        self._given = connection
        self._connection = trace.connection() if connection is None else connection
        self._tells = connection is None
        if hasattr(transport, "show_http"):
            trace.records("documents")
            transport.show_http(trace, self._connection)
            self._tells = False
        if hasattr(transport, "on_noise"):
            self._hear(transport)
        if hasattr(transport, "on_stderr"):
            self._hear_stderr(transport)
        if hasattr(transport, "on_process"):
            self._hear_process(transport)

    @property
    def connection_name(self) -> str:
        """The name of the connection in the trace."""
        return self._connection

    def _found(self, name: str, text: str, error: Optional[BaseException]) -> None:
        """Tell the trace what the connection has counted, as a finding about the side that has caused it."""
        if error is not None:
            text += ": " + shown_error(error)
        self._note("%s: %s" % (name, text), self.side if error is not None or name in _OURS else self.peer)

    def _note(self, text: str, party: str = "") -> None:
        self.trace.finding(text, party, self._connection)

    def _message(self, party: str, data: bytes) -> None:
        if self._tells:
            self.trace.message(party, data, self._connection)

    def _hear(self, transport: Any) -> None:
        """Tell the trace of lines on a child's stdout that are no messages: they are not read, but were on the wire."""
        before = self._unseen = transport.on_noise

        def heard(line: bytes) -> None:
            self._message(self.peer, line)
            if before is not None:
                before(line)

        transport.on_noise = heard

    def _hear_stderr(self, transport: Any) -> None:
        """Tell the trace what a child writes on stderr. Its thread must not keep this object, and so the transport,
        alive.
        """
        before = self._unheard = transport.on_stderr
        tell, peer, connection = self.trace.tell, self.peer, self._connection

        def heard(line: str) -> None:
            tell(STDERR, peer, note=line, connection=connection)
            if before is not None:
                before(line)

        transport.on_stderr = heard
        if getattr(transport, "hears_stderr", True):
            self.trace.records("stderr")

    def _hear_process(self, transport: Any) -> None:
        """Tell the trace what becomes of a child; also of one whose transport was forgotten."""
        tell, side, peer, connection = self.trace.tell, self.side, self.peer, self._connection
        self.trace.records("process")

        def heard(did: str, what: Any = None) -> None:
            tell(PROCESS, peer if did == "exit" else side, {"did": did, _OF_PROCESS.get(did, "code"): what},
                 connection=connection)

        transport.on_process = heard

    def open(self) -> None:
        """Make the connection, and tell the trace how that went."""
        try:
            self.inner.open()
        except TransportError as error:
            self.trace.transport("not connected: %s" % error, "", self._connection)
            if self._ends() and self._given is None:
                self.trace.disconnected()
            raise
        if self._given is None:
            name = _NAMES.get(self.name, self.name)
            if name == "socket":
                name = "unix" if self.same_machine else "tcp"
            self.trace.tell(OPEN, members={"transport": name}, connection=self._connection)

    def _end(self, party: str, why: str = "") -> None:
        """Tell the trace of the end of the connection, once."""
        if self._ends() and self._given is None:
            self.trace.tell(CLOSE, party, note=why, connection=self._connection)
            self.trace.disconnected()

    def _ends(self) -> bool:
        """Return True the first time."""
        with self._lock:  # the reader may find the end while another thread closes
            first, self._over = not self._over, True
        return first

    def read(self) -> Optional[List[Received]]:
        """Read, and tell the trace what has come."""
        items: Optional[List[Received]] = self.inner.read()
        if items is None:
            if not self._closed:
                self._end(self.peer, why_ended(self.inner))
            return None
        for item in items:
            if isinstance(item, bytes):
                self._message(self.peer, item)
            elif isinstance(item, Failed):
                if not isinstance(item, Unanswered):
                    self._note("no answer to request %r: %s" % (item.id, item.error))
            else:
                self._note("refused: %s" % item, self.peer)
                if self._tells:
                    self.trace.tell(GAP, note="a message that was refused: %s" % item, connection=self._connection)
        return items

    def write(self, messages: Sequence[bytes]) -> None:
        """Tell the trace of the messages, then write them; after the end they go nowhere, so they are not told."""
        for message in () if self._over else messages:
            self._message(self.side, message)
        with self._findings():
            self.inner.write(messages)

    @contextmanager
    def _findings(self) -> Iterator[None]:
        try:
            yield
        except TransportError as error:
            self._note("not sent, or not all of it: %s" % error)
            raise

    def post(self, message: Optional[bytes], about: Optional[RequestId] = None, final: bool = False) -> None:
        """Tell the trace of the message, then post it."""
        if message is not None:
            self._message(self.side, message)
        self.inner.post(message, about, final)

    def arrived(self, message: bytes) -> None:
        """Tell the trace of a message that came by another way than `read`."""
        self._message(self.peer, message)

    def send(self, messages: Sequence[Outgoing]) -> None:
        """Tell the trace of the messages, then send them."""
        for message in messages:
            self._show(message)
        with self._findings():
            self.inner.send(messages)

    def send_and_wait(self, message: Outgoing, until: Deadline, take: Callable[[bytes], bool]) -> bool:
        """Tell the trace of the request, then send it; if that is refused here, `send` does not tell of it again."""
        self._show(message)
        return bool(self.inner.send_and_wait(message, until, take))

    def _show(self, message: Outgoing) -> None:
        if not message.traced:
            message.traced = True
            self._message(self.side, message.data)

    def reopen(self) -> Optional[Transport]:
        """Return the transport that takes the place of this one, seen, too."""
        fresh = self.inner.reopen()
        return fresh and Tap(fresh, self.trace, self.side, self._given)

    def was_read(self) -> bool:
        """Return False if the transport knows that the peer ended without reading what was written."""
        return was_read(self.inner)

    def renew(self) -> Optional[Transport]:
        """Return the transport that takes the place of this one, seen, too."""
        fresh: Any = successor(self.inner)
        if hasattr(fresh, "on_noise"):
            fresh.on_noise = self._unseen
        if hasattr(fresh, "on_stderr"):
            fresh.on_stderr = self._unheard
        return fresh and Tap(fresh, self.trace, self.side, self._given)

    def close(self) -> None:
        """Close the transport, and tell the trace once."""
        self._closed = True
        try:
            self.inner.close()
        finally:
            self._end(self.side)
