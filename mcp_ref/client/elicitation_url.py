"""Links that a server wants the user to follow: what a callback is told, and which are done with.

A link comes in a question of its own (`mcp_ref.client.elicitation` answers it), or in the error -32042 with which a
server refuses a request until the user has been there:

    try:
        client.call_tool("list_files")
    except PeerError as error:
        for request in required(error, client):      # or: elicitation.follow(error, client)
            ...

Every link is looked at by `mcp_ref.protocol.links` before anybody is asked. Nothing is fetched, ever
[2025-11-25.. client/elicitation §Safe URL Handling] MUST NOT.
"""

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, List, Optional, Tuple

from ..codec import DecodeError, decode
from ..errors import URL_ELICITATION_REQUIRED, PeerError, PeerProtocolError
from ..messages.elicitation import ElicitRequestURLParams, URLElicitationRequiredErrorData
from ..options import spelt
from ..peer.dispatcher import Connection
from ..protocol.links import LinkError, perhaps_here, read_link
from ..transports.base import Transport

if TYPE_CHECKING:
    from .client import Client


HERE = "it leads to a program on this machine, where the server that sends it is not"


def is_elsewhere(transport: Transport) -> bool:
    """Whether the server at the other end may be on another machine: one at a URL or a TCP address that is not here."""
    scheme, _, rest = (transport.origin or transport.address or "").partition("://")
    if scheme not in ("http", "https", "tcp"):
        return False
    host = rest.partition("/")[0]
    host = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return not perhaps_here(host.lower())


@spelt
class UrlRequest:
    """A link that a server wants the user to follow, as a callback gets it.

    ``message`` says why, ``url`` is the whole link, ``host`` where it leads, in ASCII; ``unicode_host`` is how the host
    looks, ``punycode`` whether the two differ; ``warnings`` are for the user's eyes. ``elicitation_id`` means nothing
    but itself. ``completed`` is set when the server says that the user is done there, which not every server does.

    Made of what arrived, with a URL of at most ``max_length`` characters. ``elsewhere``: whether the server is on
    another machine; then a link to this one is warned of, for it leads to a program that is not the server's. Raises
    `LinkError` if it is none.
    """

    __slots__ = ("message", "url", "host", "unicode_host", "punycode", "warnings", "elicitation_id", "completed")

    def __init__(self, params: ElicitRequestURLParams, max_length: int, elsewhere: bool = False) -> None:
        link = read_link(params.url, max_length)
        self.message = params.message
        self.url = params.url
        self.host = link.host
        self.unicode_host = link.unicode_host
        self.punycode = link.punycode
        self.warnings: Tuple[str, ...] = link.warnings
        if elsewhere and perhaps_here(link.host):
            self.warnings = (HERE, *self.warnings)
        self.elicitation_id = params.elicitation_id
        self.completed = threading.Event()

    def __repr__(self) -> str:
        return "UrlRequest(%r, %r)" % (self.message, self.url)


class Links:
    """The links that one server asked for, pending and completed, by id. Thread-safe, bounded: the oldest goes."""

    def __init__(self, most: int) -> None:
        self._lock = threading.Lock()
        self._asked: "OrderedDict[Optional[str], UrlRequest]" = OrderedDict()
        self._most = most

    def add(self, request: UrlRequest) -> None:
        """A question that was asked now."""
        with self._lock:
            self._asked.pop(request.elicitation_id, None)
            self._asked[request.elicitation_id] = request
            if len(self._asked) > self._most:
                self._asked.popitem(last=False)

    def known(self, request: UrlRequest) -> UrlRequest:
        """The one of this id that is there already, or this one."""
        with self._lock:
            found = self._asked.get(request.elicitation_id)
        if found is not None:
            return found
        self.add(request)
        return request

    def drop(self, request: UrlRequest) -> None:
        """It was not agreed to."""
        with self._lock:
            if self._asked.get(request.elicitation_id) is request:
                del self._asked[request.elicitation_id]

    def finish(self, id: str) -> Optional[UrlRequest]:
        """The pending request of this id, once."""
        with self._lock:
            request = self._asked.get(id)
            if request is None or request.completed.is_set():
                return None
            request.completed.set()
            return request


def links_of(connection: Connection) -> Links:
    """The links of one server, in the state of its connection, so that they end with it."""
    found: Optional[Links] = connection.state.get("elicitations")
    return found or connection.state.setdefault("elicitations", Links(connection.limits.max_pending_elicitations))


def required(error: PeerError, client: "Client") -> List[UrlRequest]:
    """The links that an error -32042 requires the user to follow; their completion is noticed from now on.

    [2025-11-25 client/elicitation §URL Elicitation Required Error]. Raises ValueError for another error, and
    `PeerProtocolError` for one whose links are missing or such that no user should be sent there.
    """
    if error.code != URL_ELICITATION_REQUIRED:
        raise ValueError("error %d requires no links, only %d does" % (error.code, URL_ELICITATION_REQUIRED))
    connection = client.connection
    try:
        data = decode(URLElicitationRequiredErrorData, error.data, connection.session.rules, "error.data")
        longest, elsewhere = connection.limits.max_uri_length, is_elsewhere(connection.transport)
        requests = [UrlRequest(one, longest, elsewhere) for one in data.elicitations]
        if not requests:
            raise LinkError("error.data.elicitations: there is none")
    except (DecodeError, LinkError) as problem:
        raise PeerProtocolError("the error %d of %s: %s" % (error.code, error.method, problem)) from None
    links = links_of(connection)
    return [links.known(request) for request in requests]
