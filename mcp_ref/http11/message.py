"""An HTTP request and its reply, as an endpoint sees them, without the socket or the WSGI server that carries them.

A *shell* (the socket engine in `mcp_ref.http11.server.server`, the WSGI application in
`mcp_ref.streamable.server.wsgi`) turns bytes into an `Exchange`, hands it to a handler on a thread of its own, and
carries the reply back. An *endpoint* (`mcp_ref.streamable.server.endpoint`, `mcp_ref.streamable.server.http_sse`) is
such a handler and knows nothing of sockets.

A reply is whole, `Exchange.reply`, or a stream: `start`, then `send` as often as there is something,
then `finish`. The handler may return while the stream is open; it then costs no thread, and any
thread may go on sending.
"""

import re
from typing import Callable, Dict, Hashable, Iterable, List, NamedTuple, Optional, Sequence, Tuple

Pairs = Sequence[Tuple[str, str]]
"""The names and values of header fields, in order."""
_ENDS_LINE = re.compile("[\r\n\0]").search


def check_fields(fields: Pairs) -> None:
    """Raise ValueError for a header field with CR, LF or NUL in it [RFC 9110 §5.5].

    With a line end in it, a value that an attacker chose could write a header, or a whole reply, of its own.
    """
    if _ENDS_LINE("".join([text for field in fields for text in field])):
        name = next(name for name, value in fields if _ENDS_LINE(name) or _ENDS_LINE(value))
        raise ValueError("a header with a line end in it: %s" % name.encode("ascii", "backslashreplace").decode())


class Headers:
    """The header fields of a request: names in any case, several fields of one name kept apart."""

    __slots__ = ("_values", "several", "lower")

    def __init__(self, pairs: Iterable[Tuple[str, str]] = ()) -> None:
        fields: Dict[str, List[str]] = {}
        for name, value in pairs:
            fields.setdefault(name.lower(), []).append(value)
        self._fill(fields)

    def _fill(self, fields: Dict[str, List[str]]) -> None:
        self.several = {name: values for name, values in fields.items() if len(values) > 1}
        """The values of each name, in lower case, that came more than once; see `repeated`."""
        self._values = {name: ", ".join(values) for name, values in fields.items()}
        self.lower: Callable[[str], Optional[str]] = self._values.get
        """A quicker `get`, for a name that is in lower case already; each request is asked for eight."""

    @classmethod
    def of(cls, fields: Dict[str, List[str]]) -> "Headers":
        """Make headers of names in lower case and their values."""
        headers = cls.__new__(cls)
        headers._fill(fields)
        return headers

    def get(self, name: str) -> Optional[str]:
        """Return the value, of several fields all values joined by commas [RFC 9110 §5.3]; None if there is none."""
        return self._values.get(name.lower())

    def get_all(self, name: str) -> List[str]:
        """Return the values of all fields of this name, in order."""
        name = name.lower()
        if name in self.several:
            return list(self.several[name])
        return [self._values[name]] if name in self._values else []

    def repeated(self, names: Iterable[str]) -> Optional[str]:
        """Return the first of these names that came more than once, or None.

        For fields that are no lists: a client that sends one twice breaks a rule [RFC 9110 §5.3] MUST NOT, and a proxy
        may go by the first where another goes by the last. So a request is refused if such a field decides something.
        """
        return next((name for name in names if name.lower() in self.several), None)

    def pairs(self) -> List[Tuple[str, str]]:
        """Return all fields, names in lower case, those of one name together."""
        return [(name, value) for name in self._values for value in self.get_all(name)]

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._values

    def __repr__(self) -> str:
        return "Headers(%s)" % ", ".join(sorted(self._values))  # names only: values may be secret


class HttpRequest(NamedTuple):
    """A request whose body has been read."""

    method: str
    path: str
    """The path as it came, without the query; not decoded."""
    headers: Headers
    body: bytes = b""
    """The body; b"" once the handler has returned and a stream has begun, which has no use for it."""
    query: str = ""
    """The text after the ``?``, not decoded."""
    version: str = "HTTP/1.1"
    peer: str = ""
    """The client's address, for logs."""
    secure: bool = False
    """True if it came over TLS."""
    root: str = ""
    """The prefix before ``path`` in the address, where an application is mounted below one."""

    def __repr__(self) -> str:
        return "HttpRequest(%s %s, %r, %d bytes)" % (self.method, self.path, self.headers, len(self.body))


class Exchange:
    """A request and the place for its reply; shells subclass it. Thread-safe.

    ``on_close`` is called once if the client goes away, or is closed because it reads too slowly, before the reply
    is finished; set it before `start`. It is called on a thread of the shell that may wait, never from inside `send`.
    """

    holder: Hashable = None
    """The peer for which an unread reply is counted, see `mcp_ref.transports.held`; None: not known, so the connection
    is the peer."""
    gone = False
    """True if the shell knows that the client went away before the reply was finished."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request
        self.on_close: Optional[Callable[[], None]] = None

    def watch(self) -> None:
        """Have ``on_close`` called as soon as the client ends its side, also before the reply has begun.

        For replies that are of no use to anybody then. Without it a client that ends its side still gets the reply. In
        a shell that does not see its clients before it sends something, this does nothing.
        """

    def reply(self, status: int, headers: Pairs = (), body: bytes = b"") -> None:
        """Send a whole reply. The shell adds Content-Length and the like."""
        raise NotImplementedError

    def start(self, status: int, headers: Pairs = ()) -> None:
        """Begin a reply whose end is not known yet."""
        raise NotImplementedError

    def send(self, data: bytes) -> bool:
        """Send a piece of the body that was begun by `start`. Never waits. Return False if the client is gone."""
        raise NotImplementedError

    def finish(self, data: bytes = b"") -> None:
        """End the body that was begun by `start`, with ``data`` as its last piece: one packet instead of two."""
        raise NotImplementedError
