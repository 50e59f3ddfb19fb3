"""Finding out which HTTP transport a server speaks.

`HttpAuto` tries Streamable HTTP. If the server refuses the `POST` of `initialize` with one of the statuses that the
revision names (any 4xx until 2025-06-18; 400, 404 or 405 in 2025-11-25), it asks for the event stream of HTTP+SSE, and
if that begins with an `endpoint` goes on with HTTP+SSE; otherwise the first refusal stands
[2025-03-26..2025-11-25 basic/transports §Backwards Compatibility].

Reading: 401 and 403 ask for authorization or deny it, whatever the transport, and are left as they are.
"""

import json
import threading
from typing import Any, Dict, List, Optional, Sequence

from ..errors import TransportError
from ..jsonrpc import RequestId
from ..revisions import LATEST_HANDSHAKE, Revision, find
from .base import Failed, Received, Transport
from .http_channel import HttpChannel
from .http_client import StreamableHttp
from .http_inbox import opening

_AUTHORIZATION = (401, 403)


class HttpAuto(Transport):
    """A client's connection to the server at a URL; arguments and exceptions as `HttpChannel`."""

    name = "http"

    def __init__(self, url: str, **options: Any) -> None:
        self._url = url
        self._options = options
        self._first = StreamableHttp(url, **options)
        self.inner: HttpChannel = self._first
        """The transport in use."""
        self.origin = self._first.origin
        self._lock = threading.Lock()
        self._closed = False
        self._initialize: Optional[bytes] = None

    def open(self) -> None:
        """See `Transport.open`."""
        self.inner.open()

    def read(self) -> Optional[List[Received]]:
        """See `Transport.read`."""
        while True:
            items = self.inner.read()
            if items is None or self._initialize is None:
                return items
            initialize = self._initialize if self._refused(items) else None
            self._initialize = None  # it is tried once
            if initialize is None or not self._fall_back(initialize):
                return items

    def _refused(self, items: List[Received]) -> bool:
        """Whether `initialize` was refused as a server of HTTP+SSE might do it."""
        status = self._first.refused
        if status is None or status in _AUTHORIZATION or not any(isinstance(item, Failed) for item in items):
            return False
        named = _offered(self._initialize or b"").fallback_statuses
        return 400 <= status < 500 if named == "4xx" else str(status) in named.split()

    def _fall_back(self, initialize: bytes) -> bool:
        """Whether HTTP+SSE it is; the handshake has begun again then."""
        from .sse_client import HttpSse

        second = HttpSse(self._url, **self._options)
        with self._lock:
            if self._closed:
                return False
            self.inner = second
        try:
            second.open()
            second.write([initialize])
        except TransportError as error:
            from ..packagelog import get_logger

            get_logger(__name__).info("no HTTP+SSE either: %s", error)
            with self._lock:
                self.inner = self._first
            return False
        self.name = second.name
        self._first.close()
        return True

    def write(self, messages: Sequence[bytes]) -> None:
        """See `Transport.write`."""
        for message in messages:
            if self._initialize is None and self._first.refused is None and opening(message)[1] == "initialize":
                self._initialize = message
        self.inner.write(messages)

    def ready(self, size: int) -> bool:
        """See `Transport.ready`."""
        return self.inner.ready(size)

    def agreed(self, revision: Revision) -> None:
        """See `Transport.agreed`."""
        self._initialize = None
        self.inner.agreed(revision)

    def given_up(self, id: RequestId) -> None:
        """See `Transport.given_up`."""
        self.inner.given_up(id)

    def unsent(self, id: RequestId) -> bool:
        """See `Transport.unsent`."""
        return self.inner.unsent(id)

    def again(self) -> Optional[Transport]:
        """See `Transport.again`."""
        return HttpAuto(self._url, **self._options) if self.inner.again() is not None else None

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


def _offered(initialize: bytes) -> Revision:
    """The revision that a message offers."""
    try:
        return find(json.loads(initialize)["params"]["protocolVersion"]) or LATEST_HANDSHAKE
    except (ValueError, KeyError, TypeError):
        return LATEST_HANDSHAKE
