"""The detection of the HTTP transport that a server speaks; the client detects the era.

A client that speaks both eras sends a request of the stateless era first; the answer, or `HttpStatus`, or `PeerError`
with its ``status``, tells it whether to go on or to begin again with `initialize` on the same `HttpAuto`
[2026-07-28 basic/transports/streamable-http §Backward Compatibility]; `mcp_ref.protocol.lifecycle` has the signs.

`initialize` is tried on Streamable HTTP. If the server rejects the `POST`, the event stream of HTTP+SSE is requested,
and if that begins with an `endpoint` the server speaks HTTP+SSE; otherwise the first error stands
[2025-03-26..2025-11-25 basic/transports §Backwards Compatibility]. It stands, too, if it is an error of the stateless
era: that server has no older transport at this URL
[2026-07-28 basic/transports/streamable-http §HTTP+SSE Transport (2024-11-05)].

Reading: the pages name the statuses of servers that they know of (any 4xx until 2025-06-18; 400, 404 or 405 since).
Others answer 406, 415, 422 or 5xx to a `POST` at the URL of their stream, and a `GET` does no harm, so every error
status leads to it but 401 and 403, which ask for authorization or deny it, whatever the transport.
"""

import threading
from typing import TYPE_CHECKING, Callable, List, Mapping, Optional, Sequence, Union

from ...deadline import Deadline
from ...errors import AnswerLost, TransportError
from ...jsonrpc import RequestId
from ...limits import DEFAULT, Limits
from ...methods import INITIALIZE
from ...options import strict_options
from ...protocol.lifecycle import modern
from ...revisions import Revision
from ...transports.base import Failed, Forwarding, Outgoing, Received, Transport, Unanswered
from .auth_provider import Authorizer, Authorizing
from .base import HttpChannel
from .streamable import StreamableHttp

if TYPE_CHECKING:
    import ssl

_AUTHORIZATION = (401, 403)


class HttpAuto(Forwarding):
    """A client's connection to the server at a URL; arguments and exceptions as `HttpChannel`."""

    inner: HttpChannel
    """The transport in use."""

    @strict_options
    def __init__(
        self, url: str, *, headers: Optional[Mapping[str, str]] = None, token: Optional[str] = None,
        auth: Union[Authorizing, Authorizer, None] = None, ssl_context: "Optional[ssl.SSLContext]" = None,
        cafile: Optional[str] = None, limits: Limits = DEFAULT,
    ) -> None:
        self._url = url
        self._first = StreamableHttp(
            url, headers=headers, token=token, auth=auth, ssl_context=ssl_context, cafile=cafile, limits=limits)
        self.inner = self._first
        self._lock = threading.Lock()
        self._closed = False
        self._initialize: Optional[Outgoing] = None
        self._asked: List[RequestId] = []
        """The ids of requests that were sent before it was clear what the server is."""
        self._clear = False

    def read(self) -> Optional[List[Received]]:
        """Return the messages that have come; fall back to HTTP+SSE if `initialize` was refused as there."""
        while True:
            items = self.inner.read()
            refused = next(filter(self._about_initialize, items or ()), None)
            if refused is None or self._initialize is None:
                return items
            # Only the reader comes here, so the first transport is left by one thread. Senders may use it meanwhile:
            # what they sent by it is answered by `_left_behind`.
            initialize, self._initialize = self._initialize, None  # it is tried once
            if not self._may_be_older(refused) or not self._fall_back(initialize):
                return items
            items = [item for item in items or () if item is not refused] + self._left_behind(initialize)
            if items:
                return items

    def _left_behind(self, initialize: Outgoing) -> List[Received]:
        """Return the ends of all other requests, for their answers are not read any more."""
        lost = AnswerLost("%s speaks HTTP+SSE: what was asked before is lost" % self.origin)
        return [Failed(id, lost) for id in self._asked if id != initialize.id]

    def _about_initialize(self, item: Received) -> bool:
        """Return True if this item says that `initialize` was refused."""
        return (isinstance(item, Failed) and not isinstance(item, Unanswered) and self._first.refusal is not None
                and self._initialize is not None and self._initialize.id == item.id)

    def _may_be_older(self, refused: Received) -> bool:
        """Return True if a server of HTTP+SSE might have rejected `initialize` like this."""
        status = self._first.refusal or 0
        if status in _AUTHORIZATION or (isinstance(refused, Failed) and modern(refused.error)):
            return False
        return status >= 400

    def _fall_back(self, initialize: Outgoing) -> bool:
        """Try HTTP+SSE. Returns True if the server speaks it; then the handshake has begun again."""
        from .http_sse import HttpSse

        second = HttpSse(self._url, **self._first.options)
        second.http_trace = self._first.http_trace
        second.opens_for, second.on_pause = initialize.id, self._first.on_pause
        with self._lock:
            if self._closed:
                return False
            self.inner = second
        try:
            second.open()
            if second.http_trace is not None:
                second.http_trace.opened("http+sse")
            second.send([initialize])
        except TransportError as error:
            from ...diagnostics.packagelog import get_logger

            get_logger(__name__).info("no HTTP+SSE either: %s", error)
            with self._lock:
                self.inner = self._first
            second.close()  # its stream may have begun, and ended before anything was sent
            return False
        self._first.close()
        return True

    def write(self, messages: Sequence[bytes]) -> None:
        """Send messages of which only the bytes are known."""
        self.send([Outgoing.read(message) for message in messages])

    def send(self, messages: Sequence[Outgoing]) -> None:
        """Send messages by the transport in use; until it is clear, remember which."""
        for message in () if self._clear else messages:
            self._note(message)
        self.inner.send(messages)

    def send_and_wait(self, message: Outgoing, until: Deadline, take: Callable[[bytes], bool]) -> bool:
        """Send a request by the transport in use, and wait for its reply."""
        if not self._clear:
            self._note(message)
        return self.inner.send_and_wait(message, until, take)

    def _note(self, message: Outgoing) -> None:
        if message.id is not None:
            self._asked.append(message.id)
        if message.method == INITIALIZE and self._first.refusal is None:
            self._initialize = message

    def agreed(self, revision: Revision) -> None:
        """Note that the transport in use is the right one."""
        self._clear, self._asked, self._initialize = True, [], None
        self.inner.agreed(revision)

    def renew(self) -> "HttpAuto":
        """Return another transport to the same server, not open yet."""
        return HttpAuto(self._url, **self._first.options)

    def reopen(self) -> Optional[Transport]:
        """Return another transport to the same server, if the session of this one has expired."""
        return self.renew() if self.inner.reopen() is not None else None

    def close(self) -> None:
        """Close the transport in use, and the first one."""
        with self._lock:
            self._closed = True
            inner = self.inner
        inner.close()
        self._first.close()
