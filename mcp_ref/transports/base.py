"""The contract of a transport: a way to move frames, which knows nothing of tools.

A transport carries the bytes of whole messages, in order, in both directions, between exactly two
parties. To write one of your own, subclass `Transport` and fill in three or four methods, as
`examples/10_custom_transport.py` does; the contract test of this project (`tests/transports/test_contract.py`) then
says whether the promises hold [2025-11-25 basic/transports §Custom Transports].

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

That is a pipe. HTTP is none: there are two more contracts, one for each side of it. The dispatcher asks a transport
once which of the three it fulfils (``contract``).

=============  =============================================  ==========================================================
contract       class                                          what it adds
=============  =============================================  ==========================================================
PIPE           `Transport`                                    nothing
REPLIES        `mcp_ref.transports.replies.ReplyTransport`    each message goes its own way, in the reply to a request
EXCHANGES      `mcp_ref.transports.exchanges                  each message is a request of its own, with a reply
               .ExchangeTransport`
=============  =============================================  ==========================================================

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

from typing import Callable, Hashable, List, Optional, Sequence, Union, TYPE_CHECKING

from ..errors import McpError, Rejected
from ..jsonrpc import RequestId

if TYPE_CHECKING:
    from .held import Held

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
    held: "Optional[Held]" = None
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
