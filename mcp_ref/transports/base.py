"""What a transport is: a way to move frames, which knows nothing of tools.

A transport carries the bytes of whole messages, in order, in both directions, between exactly two
parties. To write one of your own, subclass `Transport` and fill in four methods; the contract test
of this project (`tests/transports/test_contract.py`) then says whether the promises hold
[2025-11-25 basic/transports §Custom Transports].

Promises, which the dispatcher relies on:

- ``read`` is called by one thread only, the connection's reader. ``write`` may be called by any
  thread, and ``close`` by any thread at any time, more than once, also while others are inside
  ``read`` or ``write``: it frees them.
- A message is bytes without line ends. What goes in at one side comes out at the other, whole, once,
  in order, or the connection is lost; ``write`` keeps the order of one call's messages together.
- ``read`` returns every message that has already arrived, so that a burst costs one wake-up; and
  None exactly once, when the peer is gone and everything it sent has been delivered.
- A message that had to be refused (too long) comes out of ``read`` as a `Rejected` in its place, and
  the connection goes on.
- Reading and writing never wait for each other.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Hashable, List, Optional, Sequence, Union

from ..errors import McpError, Rejected
from ..jsonrpc import RequestId

if TYPE_CHECKING:
    from ..deadline import Deadline
    from ..protocol.streamable_http.mirrored import Mirrored
    from ..revisions import Revision
    from .held import Held


class Failed:
    """Our request of this id gets no answer any more, if it has none yet; the connection goes on.

    ``guard``: only to make sure, the answer seems to have come just before.
    """

    __slots__ = ("id", "error", "guard")

    def __init__(self, id: RequestId, error: McpError, guard: bool = False) -> None:
        self.id = id
        self.error = error
        self.guard = guard


Received = Union[bytes, Rejected, Failed]
"""One item that `Transport.read` returns."""
Annotations = Callable[[str], "Optional[Sequence[Mirrored]]"]
"""What a tool mirrors, by its name, as `mcp_ref.protocol.streamable_http.mirrored.annotations` says; None: the tool is
not known."""

Standstill = Callable[[RequestId, bool], None]


class Transport:
    """Base of the transports; see the module's promises.

    ``name`` shows up in thread names and logs (``mcp-ref:reader:stdio``).
    """

    name = "transport"
    threadless = False
    """Whether it also works where no thread can be started (`mcp_ref.threads`): there `park` returns True, and what it
    was given is called on the thread that brings something."""
    routed = False
    """Whether each message goes its own way: the dispatcher then calls `post`, never `write`, and may get what
    arrives by other ways than `read`."""
    origin: Optional[str] = None
    """Scheme, host and port of the server, such as ``https://example.com``; None where there are none."""
    session_id: Optional[str] = None
    """The id of the session that the messages belong to (HTTP), a secret of its client; None where there is none."""
    same_machine = False
    """Whether the peer is certainly a process of this machine, which may be told more of what goes wrong."""
    address: Optional[str] = None
    """What names the server: its URL, a command, a socket's address. None: nothing does."""
    held: "Optional[Held]" = None
    """The account of what peers make this process hold, see `held`; None: the limits of the connection suffice."""
    holder: Hashable = None
    """The key of the peer in that account."""
    tells_apart = True
    """Whether different clients are different principals; False: they have one secret, and one principal, together."""
    mirrors = False
    """Whether each request of the stateless era is an exchange of its own (HTTP): `announce` is called before its
    bytes, for what goes beside them, and `given_up` is all that the peer hears of its cancellation."""
    finding: Optional[Callable[[str, str, Optional[BaseException]], None]] = None
    """Told of whatever the connection counts as odd: its name, a text, and an exception; for who watches the traffic.
    """
    annotations: Optional[Annotations] = None
    """Set by the client of a transport that ``mirrors``: what it knows of the server's tools; from any thread."""
    on_standstill: Optional[Standstill] = None
    """Set by the client: told when our request of an id begins (True) and ends (False) to wait for a person before
    it goes out, for such time does not count. From any thread; it does not wait."""

    def open(self) -> None:
        """Make the connection. Raises `ConnectFailed` with what was tried; called once, before anything else."""

    def read(self) -> Optional[List[Received]]:
        """Wait for the peer; at least one message, or None at the end of the connection.

        [] only where the owner asked for it: after a while of silence, so that the reader may `park`.
        Never raises for what the peer sends or for a connection that ends: why it ended is in `reason`.
        """
        raise NotImplementedError

    def write(self, messages: Sequence[bytes]) -> None:
        """Send these messages in this order. Waits while the peer does not read.

        Raises `ConnectionLost` if they cannot all be sent any more.
        """
        raise NotImplementedError

    def announce(self, id: RequestId, method: str, params: Optional[Dict[str, Any]]) -> None:
        """The bytes of this request of ours come next: see ``mirrors``; ``params`` with its whole `_meta`.

        Raises `LocalProtocolError` if it cannot be sent, and then no bytes may follow. Never blocks.
        """

    def ready(self, size: int) -> bool:
        """Whether writing ``size`` bytes now would certainly not wait. False is always a safe answer."""
        return False

    def write_now(self, messages: Sequence[bytes]) -> bool:
        """`write`, but only if that certainly needs no waiting; False: nothing was sent.

        For threads that must not wait (the reader, a caller with a deadline); they leave the rest to the
        connection's writer thread. One thread at a time writes. Raises as `write` does.
        """
        if not self.ready(sum(map(len, messages)) + len(messages)):
            return False
        self.write(messages)
        return True

    def attend(self, id: RequestId) -> None:
        """The calling thread sends our request of this id next, and then has only its answer to wait for: in `carry`.
        """

    def carry(self, id: RequestId, until: "Deadline", take: Callable[[bytes], bool]) -> None:
        """Wait in the place of the reader for the answer to a request that the calling thread attends.

        That is for transports whose answers come each by a way of its own; others do nothing. Returns when ``take`` has
        taken the answer (False: it is none), or when it is known that it will come by `read`, if at all, and at the
        latest at that time.
        """

    def post(self, message: Optional[bytes], about: Optional[RequestId] = None, final: bool = False) -> None:
        """Send one message where it belongs; for transports that are ``routed``. Never waits and never raises.

        ``about``: the id of the peer's request that it answers or belongs to. ``final``: it is the answer, nothing
        more comes for that request; None: there is none, because the request was cancelled.
        """
        raise NotImplementedError

    def arrived(self, message: bytes) -> None:
        """The dispatcher was given this message by another way than `read`; for who watches the traffic."""

    def refused(self, about: RequestId, code: int) -> None:
        """The request of this key is refused as such, with this code, before or instead of being worked on.

        Its answer follows by `post`. For transports that have a word of their own for that, such as a status of HTTP.
        """

    def poll_later(self, about: RequestId) -> bool:
        """End the connection that would carry the answer to this request, and have the peer ask for it again.

        False where there is no such thing, which is everywhere but on streams of HTTP.
        """
        return False

    def park(self, resume: Callable[[], None]) -> bool:
        """Give up the reader's thread while the peer is silent; the reader calls it instead of `read`.

        True: the reader may end, and ``resume`` is called once, on a thread that must not be kept, when there
        is something to `read` again, be it the end. False: this transport has no such place; read on. Only
        connections of a `SocketListener` have one, and those that are ``threadless`` where there are no threads.
        """
        return False

    def close(self) -> None:
        """End the connection and free what it holds; threads inside `read` get None, inside `write` ConnectionLost."""
        raise NotImplementedError

    def reason(self) -> str:
        """Why the connection ended, in one line, for error texts; of a child process also exit code and last words."""
        return "the connection was closed"

    def agreed(self, revision: "Revision") -> None:
        """The handshake of a client has settled on this revision."""

    def given_up(self, id: RequestId) -> None:
        """Nobody waits for the answer to our request of this id any more; never blocks."""

    def unsent(self, id: RequestId) -> bool:
        """Now that the connection has ended: whether our request of this id has certainly not reached the peer."""
        return False

    def again(self) -> "Optional[Transport]":
        """A transport to the same server, not open yet, if this one has ended only because of a session that expired;
        else None."""
        return None

    def renew(self) -> "Optional[Transport]":
        """Another transport to the same server, not open yet, to go on with once this one has ended: a new process, a
        new connection. None where there is none."""
        return None

    def counters(self) -> Dict[str, int]:
        """What the transport dropped or refused, by name: noise lines, rejected messages."""
        return {}
