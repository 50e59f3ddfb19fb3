"""The contract of a client's side of HTTP: each message is a request of its own, which has a reply of its own.

Such a transport needs to know more of a message than its bytes: which request it is, so that its reply can be told
from others, and what goes into the head of the HTTP request. So it is handed an `Outgoing`, and nobody has to read
again what was just encoded.
"""

from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple, TYPE_CHECKING

from ..errors import McpError
from ..jsonrpc import RequestId
from ..jsontext import JsonError, loads
from ..methods import INITIALIZE, NAMED
from .base import EXCHANGES, Failed, Transport

if TYPE_CHECKING:
    from ..deadline import Deadline
    from ..protocol.streamable_http.mirrored import Mirrored
    from ..revisions import Revision

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
