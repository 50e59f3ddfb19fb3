"""The contract of a transport: a way to move frames, which knows nothing of tools.

A transport carries the bytes of whole messages, in order, in both directions, between exactly two parties. To write one
of your own, subclass `Transport` and fill in three or four methods, as `examples/10_custom_transport.py` does; the
contract test of this project (`tests/transports/test_contract.py`) then says whether the promises hold
[2025-11-25 basic/transports §Custom Transports].

Promises, which the dispatcher relies on:

- ``read`` is called by one thread only, the connection's reader. ``write`` may be called by any thread, and ``close``
  by any thread at any time, more than once, also while others are inside ``read`` or ``write``: it frees them.
- A message is bytes without line ends. What goes in at one side comes out at the other, whole, once, in order, or the
  connection is lost; ``write`` keeps the order of one call's messages together.
- ``read`` returns every message that has already arrived, so that a burst costs one wake-up; and None exactly once,
  when the peer is gone and everything it sent has been delivered.
- A message that had to be refused (too long) comes out of ``read`` as a `Rejected` in its place, and the connection
  goes on.
- Reading and writing never wait for each other.

That is a pipe. HTTP is none: there are two more contracts, one for each side of it. The dispatcher asks a transport
once which of the three it fulfils (``contract``).

=============  ====================  =================================================================================
contract       class                 what it adds
=============  ====================  =================================================================================
PIPE           `Transport`           nothing
REPLIES        `ReplyTransport`      a server over HTTP: messages are brought to it, nobody reads. The answer to a
                                     request travels in the reply to the POST that brought it, what belongs to that
                                     request before it in the same reply, everything else on a stream of its own; the
                                     dispatcher says which of these a message is
EXCHANGES      `ExchangeTransport`   a client over HTTP: each message is a request of its own, with a reply of its
                                     own. It is handed an `Outgoing`, which says what the bytes are, so that nobody
                                     reads again what was just encoded
=============  ====================  =================================================================================

`Forwarding` is a transport around another one, of any of the three contracts.

A transport may have more methods than its contract has. Those who can use one look for it by its name, and do without
it where there is none:

===========================  ==================================================================  ================
method                       what it does                                                        who looks for it
===========================  ==================================================================  ================
``ready(size)``              return True if writing so many bytes now would certainly not wait   the outbox
``write_now(messages)``      write if that needs no waiting; return False if nothing was sent    the outbox
``park(resume)``             see `mcp_ref.transports.lines.sockets.SocketTransport.park`         the connection
``reason()``                 return why the connection ended, in one line; see `why_ended`       the connection
``renew()``                  return a transport to the same server; see `successor`             the client
``was_read()``               return False if it ended without reading what was written           see `was_read`
``arrived(message)``         hear of a message that came by another way than `read`, for traces   the connection
``counters()``               return what it dropped or refused, by name                          reports
===========================  ==================================================================  ================

For ``ready`` False is always a safe answer. ``write_now`` is for threads that must not wait (the reader, a caller with
a deadline), which leave the rest to the connection's writer thread. One thread at a time writes, and it raises as
``write`` does.
"""

import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, Hashable, List, Mapping, Optional, Sequence, Tuple, Union

from ..diagnostics.packagelog import Counters
from ..errors import McpError, Rejected
from ..jsonrpc import RequestId
from ..jsontext import JsonError, loads
from ..limits import Limits
from ..methods import INITIALIZE, NAMED

if TYPE_CHECKING:
    from ..deadline import Deadline
    from ..protocol.streamable_http.mirrored import Mirrored
    from ..revisions import Revision
    from .held import MemoryAccount

PIPE, REPLIES, EXCHANGES = "pipe", "replies", "exchanges"


class Failed:
    """The end of a request of ours, which gets no answer any more; the connection goes on."""

    __slots__ = ("id", "error")

    def __init__(self, id: RequestId, error: McpError) -> None:
        self.id = id
        self.error = error


Received = Union[bytes, Rejected, Failed]
"""An item that `Transport.read` returns."""
Finding = Callable[[str, str, Optional[BaseException]], None]


class Transport:
    """Base of the transports; see the module's promises.

    ``name`` shows up in thread names and logs (``mcp-ref:reader:stdio``).
    """

    name = "transport"
    contract = PIPE
    """The contract that it fulfils: PIPE, REPLIES or EXCHANGES; see the module."""
    threadless = False
    """True if it also works where no thread can be started (`mcp_ref.threads`): there ``park`` returns True, and what
    it was given is called on the thread that brings something."""
    origin: Optional[str] = None
    """The scheme, host and port of the server, such as ``https://example.com``; None where there are none."""
    address: Optional[str] = None
    """The name of the server: its URL, a command, a socket's address. None: nothing names it."""
    session_id: Optional[str] = None
    """The id of the session that the messages belong to (HTTP), a secret of its client; None where there is none."""
    same_machine = False
    """True if the peer is certainly a process of this machine, which may be told more of what goes wrong."""
    held: "Optional[MemoryAccount]" = None
    """The account of what peers make this process hold, see `held`; None: the limits of the connection suffice."""
    holder: Hashable = None
    """The key of the peer in that account."""
    tells_apart = True
    """True if different clients are different principals; False: they have one secret, and one principal, together."""
    finding: Optional[Finding] = None
    """A function that is called with every oddity that the connection counts: its name, a text, and an exception. For
    traces."""

    def open(self) -> None:
        """Make the connection. Raises `ConnectFailed` with what was tried; called once, before anything else."""

    def read(self) -> Optional[List[Received]]:
        """Wait for the peer. Returns at least one message, or None at the end of the connection.

        [] only where the owner asked for it: after a while of silence, so that the reader may ``park``.
        Never raises for what the peer sends or for a connection that ends.
        """
        raise NotImplementedError

    def write(self, messages: Sequence[bytes]) -> None:
        """Send these messages in this order. Waits while the peer does not read.

        Raises `ConnectionLost` if they cannot all be sent any more.
        """
        raise NotImplementedError

    def close(self) -> None:
        """End the connection and free what it holds; threads inside `read` get None, inside `write` ConnectionLost."""
        raise NotImplementedError


def why_ended(transport: Transport) -> str:
    """Return why the connection ended, in one line, for error texts; of a child process also its exit code and last
    words."""
    reason = getattr(transport, "reason", None)
    return "the connection was closed" if reason is None else str(reason())


def last_words(transport: Transport, errors: bool = True) -> str:
    """Return what a child process has written that is no message, as the end of an error text; "" for nothing.

    ``errors``: its standard error, too.
    """
    words: Optional[Callable[[bool], str]] = getattr(transport, "last_words", None)
    return "" if words is None else words(errors)


def was_read(transport: Transport) -> bool:
    """Return False if the transport knows that the peer ended without reading what was written."""
    known: Optional[Callable[[], bool]] = getattr(transport, "was_read", None)
    return known is None or known()


def successor(transport: Transport) -> Optional[Transport]:
    """Return another transport to the same server, not open yet, to go on with once this one has ended: a new process,
    a new connection. None where there is none."""
    renew: Optional[Callable[[], Optional[Transport]]] = getattr(transport, "renew", None)
    return None if renew is None else renew()


class ReplyTransport(Transport):
    """A server's transport over HTTP; a subclass says where a message goes. Thread-safe."""

    name = "http"
    contract = REPLIES
    threadless = True

    def __init__(self, limits: Limits) -> None:
        self.connection: Any = None
        """The `Connection` over this transport, set by who makes it."""
        self._limits = limits
        self._lock = threading.RLock()  # an exchange may find out that the client is gone while it is given something
        self._resume: Optional[Callable[[], None]] = None
        self.ended = False
        """True once it was closed."""
        self._counts = Counters()

    def post(self, message: Optional[bytes], about: Optional[RequestId] = None, final: bool = False) -> None:
        """Send one message where it belongs. Never waits and never raises.

        ``about``: the id of the peer's request that it answers or belongs to. ``final``: it is the answer, nothing
        more comes for that request; None: there is none, because the request was cancelled.
        """
        raise NotImplementedError

    def refused(self, about: RequestId, code: int) -> None:
        """Note that the request of this key is refused as such, with this code, before or instead of being worked on.

        Its answer follows by `post`. For transports that have a word of their own for that, such as a status of HTTP.
        """

    def poll_later(self, about: RequestId) -> bool:
        """End the connection that would carry the answer to this request, and have the peer ask for it again.

        Returns False where there is no such thing.
        """
        return False

    def request_of(self, about: RequestId) -> Any:
        """Return the HTTP request by which the peer's request of this key came; None if it is not there any more."""
        return None

    def is_heard(self) -> bool:
        """Return True if the peer has a stream open on which a message that belongs to no request would come now."""
        return False

    def given_up(self, id: RequestId) -> None:
        """Note that nobody waits for the answer to our request of this id any more. Never waits."""

    def read(self) -> Optional[List[Received]]:
        """Return the end, for nothing else is ever read."""
        return None

    def park(self, resume: Callable[[], None]) -> bool:
        """Have ``resume`` called when this ends, once, for nobody waits in `read`. Returns True."""
        with self._lock:
            self._resume = resume
            ended = self.ended
        if ended:
            self._wake()
        return True

    def _wake(self) -> None:
        """Let the dispatcher see to the end, which has come."""
        with self._lock:
            resume, self._resume = self._resume, None
        if resume is not None:
            resume()

    def counters(self) -> Dict[str, int]:
        """Return what was dropped, by reason."""
        return self._counts.snapshot()

    def _count(self, name: str) -> None:
        self._counts.add(name)


Annotations = Callable[[str], "Optional[Sequence[Mirrored]]"]
"""A function from a tool's name to what it mirrors, as `mcp_ref.protocol.streamable_http.mirrored.annotations` returns
it; None: the tool is not known."""
OnPause = Callable[[RequestId, bool], None]


class Outgoing:
    """A message of ours: its bytes, and what they say.

    ``id``: None for notifications, and for answers. ``method``: "" for answers. ``params``: with their whole `_meta`,
    where `ExchangeTransport.prepare` has to see them.
    """

    __slots__ = ("data", "id", "method", "params", "fields", "given_up", "traced")

    def __init__(
        self, data: bytes, id: Optional[RequestId] = None, method: str = "", params: Optional[Dict[str, Any]] = None,
    ) -> None:
        self.data = data
        self.id = id
        self.method = method
        self.params = params
        self.fields: Optional[Tuple[Tuple[str, str], ...]] = None
        """The header fields of the HTTP request, all of them, made by `ExchangeTransport.prepare`; None: those of
        every message."""
        self.given_up = False
        """True once nobody waits for the answer any more."""
        self.traced = False
        """True once a trace was told of it."""

    def __len__(self) -> int:
        return len(self.data)

    @property
    def offered(self) -> Optional[str]:
        """The revision that it offers, if it is an `initialize`; else None."""
        name = (self.params or {}).get("protocolVersion") if self.method == INITIALIZE else None
        return name if isinstance(name, str) else None

    @classmethod
    def read(cls, data: bytes) -> "Outgoing":
        """Return the message that these bytes are, for callers who have nothing else; a batch has no id, no method."""
        try:
            value = loads(data)
        except JsonError:
            return cls(data)
        if not isinstance(value, dict) or not isinstance(value.get("method"), str):
            return cls(data)
        params = value.get("params")
        return cls(data, value.get("id"), value["method"], params if isinstance(params, dict) else None)


class Unanswered(Failed):
    """The end of a request whose answer seems to have come just before, in case that was none."""

    __slots__ = ("_make",)

    def __init__(self, id: RequestId, make: Callable[[], McpError]) -> None:
        self.id = id
        self._make = make

    @property
    def error(self) -> McpError:  # type: ignore[override]  # an exception costs much, and is rarely wanted here
        """The failure of the request."""
        return self._make()


class ExchangeTransport(Transport):
    """A client's transport over HTTP."""

    contract = EXCHANGES
    mirrors = False
    """True if the head of a request of the stateless era repeats parts of its body: `prepare` makes it. There
    `given_up` is all that the server hears of a cancellation."""
    annotations: Optional[Annotations] = None
    """The client's knowledge of the server's tools, which it sets for a transport that ``mirrors``. Called from any
    thread."""
    named: Mapping[str, str] = NAMED
    """Method -> the member of its params that `Mcp-Name` repeats; the client sets it where extensions add some."""
    on_pause: Optional[OnPause] = None
    """A function, set by the connection, that is called when our request of an id begins (True) and ends (False) to
    wait for a person before it goes out, for such time does not count. From any thread; it does not wait."""

    def prepare(self, message: Outgoing) -> None:
        """Make what goes beside the bytes of this request; called before it is sent, if ``mirrors``. Never waits.

        Raises `LocalProtocolError` if it cannot be sent.
        """

    def ready(self, size: int) -> bool:
        """Return True if sending messages of so many bytes now would certainly not wait. False is a safe answer."""
        return False

    def send(self, messages: Sequence[Outgoing]) -> None:
        """Send these messages. Waits while too much waits for threads that send it; see `ready`.

        Raises `ConnectionLost` if they cannot all be sent any more.
        """
        raise NotImplementedError

    def write(self, messages: Sequence[bytes]) -> None:
        """Send messages of which only the bytes are known; they are read for that."""
        self.send([Outgoing.read(message) for message in messages])

    def send_and_wait(self, message: Outgoing, until: "Deadline", take: Callable[[bytes], bool]) -> bool:
        """Send a request on the calling thread, which then waits for its reply in place of the reader.

        Returns False if that cannot be done: nothing was sent, so `send` it. Returns True when ``take`` has taken the
        answer (it returns False for what is none), or when it is known that the answer will come by `read`, if at all,
        and at the latest at that time.
        """
        return False

    def given_up(self, id: RequestId) -> None:
        """Note that nobody waits for the answer to our request of this id any more. Never waits."""

    def unsent(self, id: RequestId) -> bool:
        """Return True if our request of this id has certainly not reached the server; for a connection that has ended.
        """
        return False

    def agreed(self, revision: "Revision") -> None:
        """Note that the client speaks this revision from now on."""

    def reopen(self) -> "Optional[Transport]":
        """Return a transport to the same server, not open yet, if this one has ended only because of a session that
        expired; else None."""
        return None


class _Inside:
    """A member of a contract: that of the transport inside, to be called, read or set."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, outside: Any, owner: Any = None) -> Any:
        return self if outside is None else getattr(outside.inner, self._name)

    def __set__(self, outside: Any, value: Any) -> None:
        setattr(outside.inner, self._name, value)


class Forwarding(Transport):
    """A transport that passes every member of the contracts on to ``inner``, which a subclass sets, and may change.

    A subclass overrides what it does otherwise. What is not listed here is looked up in the transport inside.
    """

    inner: Any
    """The transport inside."""
    write_now = None  # so the outbox calls `ready` and `write`, and a subclass that overrides these sees everything

    # What `Transport` has
    open: Any = _Inside()
    read: Any = _Inside()
    write: Any = _Inside()
    close: Any = _Inside()
    name: Any = _Inside()
    contract: Any = _Inside()
    threadless: Any = _Inside()
    origin: Any = _Inside()
    address: Any = _Inside()
    session_id: Any = _Inside()
    same_machine: Any = _Inside()
    held: Any = _Inside()
    holder: Any = _Inside()
    tells_apart: Any = _Inside()
    finding: Any = _Inside()
    # What a client sets
    annotations: Any = _Inside()
    named: Any = _Inside()
    on_pause: Any = _Inside()

    def __getattr__(self, name: str) -> Any:
        if name == "inner":  # before it is set
            raise AttributeError(name)
        return getattr(self.inner, name)
