"""A transport whose traffic is seen: wraps any other one and tells a `wiretrace.Trace` of all that passes.

Sent messages are told before they are written and received ones after they were read, so that a
request always comes before its answer. What could not be sent is told as a finding.
"""

from typing import Any, Callable, Dict, List, Optional, Sequence

from ..deadline import Deadline
from ..diagnostics.usercode import shown_error
from ..errors import TransportError
from ..jsonrpc import RequestId
from ..revisions import Revision
from ..wiretrace import CLIENT, SERVER, Trace
from .base import Annotations, Failed, Received, Standstill, Transport

_OURS = frozenset((
    "refused work", "dropped notification", "dropped progress", "dropped log message", "sampling above the rate",
    "tool calls above the rate", "too many completions", "unchecked result", "listening", "listening again failed",
    "listening given up", "unencrypted link", "unasked answer", "embedded resource",
))
"""Names of counts that are our own doing, or our own limits; most are about the peer."""


def tap(transport: Transport, trace: Optional[Trace], side: str) -> Transport:
    """Return the same transport, seen by ``trace``; itself, where that is None. ``side``: who we are, "client" or
    "server".

    Raises ValueError for another side, TypeError for a trace that is none.
    """
    return transport if trace is None else Tap(transport, trace, side)


class Tap(Transport):
    """See the module. Attributes that a `Transport` does not have are those of the one inside."""

    def __init__(self, transport: Transport, trace: Trace, side: str) -> None:
        if side not in (CLIENT, SERVER):
            raise ValueError("side is %r or %r, not %r" % (CLIENT, SERVER, side))
        if not isinstance(trace, Trace):
            raise TypeError("trace is a Trace, such as mcp_ref.wiretrace.to_text(sys.stderr), not %s"
                            % type(trace).__name__)
        self.inner = transport
        self.name = transport.name
        self.origin = transport.origin
        self.address = transport.address
        self.routed, self.threadless = transport.routed, transport.threadless
        self.mirrors = transport.mirrors
        self.held, self.holder, self.tells_apart = transport.held, transport.holder, transport.tells_apart
        self.trace = trace
        self.side = side
        self.peer = SERVER if side == CLIENT else CLIENT
        self._closed = False
        self.finding = self._found
        if hasattr(transport, "show_http"):
            transport.show_http(trace)
        if hasattr(transport, "on_noise"):
            self._hear(transport)
        if hasattr(transport, "on_stderr"):
            self._hear_stderr(transport)

    def _found(self, name: str, text: str, error: Optional[BaseException]) -> None:
        """What the connection has counted, as a finding about whom it is the doing of."""
        if error is not None:
            text += ": " + shown_error(error)
        self.trace.finding("%s: %s" % (name, text), self.side if error is not None or name in _OURS else self.peer)

    def _hear(self, transport: Any) -> None:
        """Lines on a child's stdout that are no messages are not read, but were on the wire."""
        before = self._unseen = transport.on_noise

        def heard(line: bytes) -> None:
            self.trace.message(self.peer, line)
            if before is not None:
                before(line)

        transport.on_noise = heard

    def _hear_stderr(self, transport: Any) -> None:
        """What a child says on stderr. Its thread must not keep this object, and so the transport, alive."""
        before = self._unheard = transport.on_stderr
        told, peer = self.trace.transport, self.peer

        def heard(line: str) -> None:
            told("stderr: " + line, peer)
            if before is not None:
                before(line)

        transport.on_stderr = heard

    def __getattr__(self, name: str) -> Any:
        if name == "inner":  # before __init__
            raise AttributeError(name)
        return getattr(self.inner, name)

    def open(self) -> None:
        """See `Transport.open`."""
        try:
            self.inner.open()
        except TransportError as error:
            self.trace.transport("not connected: %s" % error)
            raise
        self.trace.transport("connected by %s" % self.name)

    def read(self) -> Optional[List[Received]]:
        """See `Transport.read`."""
        items = self.inner.read()
        if items is None:
            self.trace.transport("end of the connection: %s" % self.inner.reason())
            return None
        for item in items:
            if isinstance(item, bytes):
                self.trace.message(self.peer, item)
            elif isinstance(item, Failed):
                if not item.guard:
                    self.trace.finding("no answer to request %r: %s" % (item.id, item.error))
            else:
                self.trace.finding("refused: %s" % item, self.peer)
        return items

    def write(self, messages: Sequence[bytes]) -> None:
        """See `Transport.write`."""
        for message in messages:
            self.trace.message(self.side, message)
        try:
            self.inner.write(messages)
        except TransportError as error:
            self.trace.finding("not sent, or not all of it: %s" % error)
            raise

    def post(self, message: Optional[bytes], about: Optional[RequestId] = None, final: bool = False) -> None:
        """See `Transport.post`."""
        if message is not None:
            self.trace.message(self.side, message)
        self.inner.post(message, about, final)

    def arrived(self, message: bytes) -> None:
        """See `Transport.arrived`."""
        self.trace.message(self.peer, message)

    def refused(self, about: RequestId, code: int) -> None:
        """See `Transport.refused`."""
        self.inner.refused(about, code)

    def announce(self, id: RequestId, method: str, params: Optional[Dict[str, Any]]) -> None:
        """See `Transport.announce`."""
        self.inner.announce(id, method, params)

    def attend(self, id: RequestId) -> None:
        """See `Transport.attend`."""
        self.inner.attend(id)

    def carry(self, id: RequestId, until: Deadline, take: Callable[[bytes], bool]) -> None:
        """See `Transport.carry`."""
        self.inner.carry(id, until, take)

    @property
    def session_id(self) -> Optional[str]:  # type: ignore[override]  # of one inside that may get it later
        """See `Transport.session_id`."""
        return self.inner.session_id

    @property
    def same_machine(self) -> bool:  # type: ignore[override]
        """See `Transport.same_machine`."""
        return self.inner.same_machine

    @property
    def annotations(self) -> Optional[Annotations]:
        """See `Transport.annotations`."""
        return self.inner.annotations

    @annotations.setter
    def annotations(self, annotations: Optional[Annotations]) -> None:
        self.inner.annotations = annotations

    @property
    def on_standstill(self) -> Optional[Standstill]:
        """See `Transport.on_standstill`."""
        return self.inner.on_standstill

    @on_standstill.setter
    def on_standstill(self, told: Optional[Standstill]) -> None:
        self.inner.on_standstill = told

    def poll_later(self, about: RequestId) -> bool:
        """See `Transport.poll_later`."""
        return self.inner.poll_later(about)

    def agreed(self, revision: Revision) -> None:
        """See `Transport.agreed`."""
        self.inner.agreed(revision)

    def given_up(self, id: RequestId) -> None:
        """See `Transport.given_up`."""
        self.inner.given_up(id)

    def unsent(self, id: RequestId) -> bool:
        """See `Transport.unsent`."""
        return self.inner.unsent(id)

    def again(self) -> Optional[Transport]:
        """See `Transport.again`; that one is seen, too."""
        fresh = self.inner.again()
        return fresh and Tap(fresh, self.trace, self.side)

    def renew(self) -> Optional[Transport]:
        """See `Transport.renew`; that one is seen, too."""
        fresh: Any = self.inner.renew()
        if hasattr(fresh, "on_noise"):
            fresh.on_noise = self._unseen
        if hasattr(fresh, "on_stderr"):
            fresh.on_stderr = self._unheard
        return fresh and Tap(fresh, self.trace, self.side)

    def ready(self, size: int) -> bool:
        """See `Transport.ready`."""
        return self.inner.ready(size)

    def park(self, resume: Callable[[], None]) -> bool:
        """See `Transport.park`."""
        return self.inner.park(resume)

    def close(self) -> None:
        """See `Transport.close`."""
        if not self._closed:
            self._closed = True
            self.trace.transport("closed", self.side)
        self.inner.close()

    def reason(self) -> str:
        """See `Transport.reason`."""
        return self.inner.reason()

    def counters(self) -> Dict[str, int]:
        """See `Transport.counters`."""
        return self.inner.counters()
