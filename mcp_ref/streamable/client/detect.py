"""Finding out which HTTP transport a server speaks, and leaving it to the client to find out of which era it is.

A client that speaks both eras sends a request of the stateless era first; the answer, or `HttpStatus`, or `PeerError`
with its ``status``, tells it whether to go on or to begin again with `initialize` on the same `HttpAuto`
[2026-07-28 basic/transports/streamable-http §Backward Compatibility]; `mcp_ref.protocol.eras` has the signs.

`initialize` is tried on Streamable HTTP. If the server refuses the `POST` with one of the statuses that the
revision names (any 4xx until 2025-06-18; 400, 404 or 405 in 2025-11-25), the event stream of HTTP+SSE is asked for,
and if that begins with an `endpoint` it is HTTP+SSE; otherwise the first refusal stands
[2025-03-26..2025-11-25 basic/transports §Backwards Compatibility]. It stands, too, if it is an error of the stateless
era: that server has no older transport at this URL
[2026-07-28 basic/transports/streamable-http §HTTP+SSE Transport (2024-11-05)].

Reading: 401 and 403 ask for authorization or deny it, whatever the transport, and are left as they are.
"""

import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from ...deadline import Deadline
from ...errors import AnswerLost, TransportError
from ...jsonrpc import RequestId
from ...limits import DEFAULT, Limits
from ...options import spelt
from ...protocol.eras import modern
from ...revisions import LATEST_HANDSHAKE, Revision, find
from ...transports.base import Annotations, Failed, Received, Standstill, Transport
from .auth_provider import Authorizer, Authorizing
from .base import HttpChannel
from .inbox import offered, opening
from .streamable import StreamableHttp

if TYPE_CHECKING:
    import ssl

    from ...wiretrace import Trace

_AUTHORIZATION = (401, 403)


class HttpAuto(Transport):
    """A client's connection to the server at a URL; arguments and exceptions as `HttpChannel`."""

    name = "http"
    mirrors = True

    @spelt
    def __init__(
        self, url: str, *, headers: Optional[Mapping[str, str]] = None, token: Optional[str] = None,
        auth: Union[Authorizing, Authorizer, None] = None, ssl_context: "Optional[ssl.SSLContext]" = None,
        cafile: Optional[str] = None, limits: Limits = DEFAULT,
    ) -> None:
        self._url = url
        self._first = StreamableHttp(
            url, headers=headers, token=token, auth=auth, ssl_context=ssl_context, cafile=cafile, limits=limits)
        self.inner: HttpChannel = self._first
        """The transport in use."""
        self.origin = self._first.origin
        self.address = self._first.address
        self._lock = threading.Lock()
        self._closed = False
        self._initialize: Optional[bytes] = None
        self._asked: List[RequestId] = []
        """Ids of what was sent until it was clear what the server is."""
        self._clear = False

    def open(self) -> None:
        """See `Transport.open`."""
        self.inner.open()

    def read(self) -> Optional[List[Received]]:
        """See `Transport.read`."""
        while True:
            items = self.inner.read()
            refused = next(filter(self._about_initialize, items or ()), None)
            if refused is None or self._initialize is None:
                return items
            initialize, self._initialize = self._initialize, None  # it is tried once
            if not self._may_be_older(initialize, refused) or not self._fall_back(initialize):
                return items
            items = [item for item in items or () if item is not refused] + self._left_behind(initialize)
            if items:
                return items

    def _left_behind(self, initialize: bytes) -> List[Received]:
        """The end of whatever else was asked, for nobody reads the answers to it any more."""
        lost = AnswerLost("%s speaks HTTP+SSE: what was asked before is lost" % self.origin)
        return [Failed(id, lost) for id in self._asked if id != opening(initialize)[0]]

    def _about_initialize(self, item: Received) -> bool:
        """Whether this says that `initialize` was refused."""
        return (isinstance(item, Failed) and not item.guard and self._first.refusal is not None
                and self._initialize is not None and opening(self._initialize)[0] == item.id)

    def _may_be_older(self, initialize: bytes, refused: Received) -> bool:
        """Whether `initialize` was refused as a server of HTTP+SSE might do it."""
        status = self._first.refusal or 0
        if status in _AUTHORIZATION or (isinstance(refused, Failed) and modern(refused.error)):
            return False
        named = (find(offered(initialize) or "") or LATEST_HANDSHAKE).fallback_statuses
        return 400 <= status < 500 if named == "4xx" else str(status) in named.split()

    def _fall_back(self, initialize: bytes) -> bool:
        """Whether HTTP+SSE it is; the handshake has begun again then."""
        from .http_sse import HttpSse

        second = HttpSse(self._url, **self._first.options)
        second.http_trace = self._first.http_trace
        second.opens_for, second.on_standstill = opening(initialize)[0], self._first.on_standstill
        with self._lock:
            if self._closed:
                return False
            self.inner = second
        try:
            second.open()
            second.write([initialize])
        except TransportError as error:
            from ...diagnostics.packagelog import get_logger

            get_logger(__name__).info("no HTTP+SSE either: %s", error)
            with self._lock:
                self.inner = self._first
            return False
        self.name = second.name
        self._first.close()
        return True

    def write(self, messages: Sequence[bytes]) -> None:
        """See `Transport.write`."""
        for message in () if self._clear else messages:
            id, method = opening(message)
            if id is not None:
                self._asked.append(id)
            if method == "initialize" and self._first.refusal is None:
                self._initialize = message
        self.inner.write(messages)

    def announce(self, id: RequestId, method: str, params: Optional[Dict[str, Any]]) -> None:
        """See `Transport.announce`."""
        self.inner.announce(id, method, params)

    def attend(self, id: RequestId) -> None:
        """See `Transport.attend`; HTTP+SSE has nothing to carry, for its answers come all by one stream."""
        self._first.attend(id)

    def carry(self, id: RequestId, until: Deadline, take: Callable[[bytes], bool]) -> None:
        """See `Transport.carry`."""
        self._first.carry(id, until, take)

    def show_http(self, trace: "Trace") -> None:
        """See `HttpChannel.show_http`."""
        self._first.show_http(trace)

    @property
    def annotations(self) -> Optional[Annotations]:
        """See `Transport.annotations`."""
        return self._first.annotations

    @annotations.setter
    def annotations(self, annotations: Optional[Annotations]) -> None:
        self._first.annotations = annotations

    @property
    def on_standstill(self) -> Optional[Standstill]:
        """See `Transport.on_standstill`."""
        return self._first.on_standstill

    @on_standstill.setter
    def on_standstill(self, told: Optional[Standstill]) -> None:
        self._first.on_standstill = told

    def ready(self, size: int) -> bool:
        """See `Transport.ready`."""
        return self.inner.ready(size)

    def agreed(self, revision: Revision) -> None:
        """See `Transport.agreed`."""
        self._clear, self._asked, self._initialize = True, [], None
        self.inner.agreed(revision)

    def given_up(self, id: RequestId) -> None:
        """See `Transport.given_up`."""
        self.inner.given_up(id)

    def unsent(self, id: RequestId) -> bool:
        """See `Transport.unsent`."""
        return self.inner.unsent(id)

    def again(self) -> Optional[Transport]:
        """See `Transport.again`."""
        return HttpAuto(self._url, **self._first.options) if self.inner.again() is not None else None

    def close(self) -> None:
        """See `Transport.close`."""
        with self._lock:
            self._closed = True
            inner = self.inner
        inner.close()
        self._first.close()

    def reason(self) -> str:
        """See `Transport.reason`."""
        return self.inner.reason()

    def counters(self) -> Dict[str, int]:
        """See `HttpChannel.counters`."""
        return self.inner.counters()
