"""The wire of HTTP+SSE [2024-11-05 basic/transports §HTTP with SSE]: a stream that stays open, and POSTs beside it.

What the server says comes by the stream, at any time: so it is heard as on a pipe. Which of the two transports of HTTP
an address serves is found out by `serves_sse`.

Reading: the page gives no statuses. Each of 200 to 299 means that a message was taken.
"""

import threading
from typing import Any, List, Optional, Tuple

from ..errors import AnswerLost, ConnectFailed, ConnectionLost, TransportError
from ..http11.client.connect import CancelScope, Connector, server_url, server_url_from
from ..http11.client.connection_pool import ConnectionPool
from ..http11.client.response import Reply
from ..limits import DEFAULT
from ..methods import INITIALIZE
from ..revisions import REVISIONS
from ..streamable.http_trace import HttpTrace
from ..threads import start_thread
from ..version import __version__
from ..wiretrace import CLIENT, Trace
from ..wiretrace.sse import SseBlock, SseSplitter
from .wire import LONGEST, Fields, Heard, Reaction, as_bytes, exchanged, parsed

_OPENING = 10.0
"""Seconds for which the `endpoint` event is waited for."""
_PROBE = 3.0
"""Seconds in which the first event of a stream has to come, for an address to be taken for one of HTTP+SSE."""


class Sse(Heard):
    """HTTP+SSE to a server. ``fields``: header fields that every request gets, such as a token."""

    kind = "sse"

    def __init__(self, url: str, trace: Trace, fields: Fields = (), cafile: Optional[str] = None) -> None:
        super().__init__()
        self.where = server_url(url)
        self.fields = tuple(fields)
        self._pool = ConnectionPool(Connector(self.where, DEFAULT.connect_timeout, cafile=cafile), 1.0)
        self.trace = HttpTrace(trace, None, "http+sse")
        self._scope = CancelScope()
        self._begun = threading.Event()
        self.target = ""
        """Path and query of the address for messages."""
        self.status: Optional[int] = None
        """The status of the stream."""
        self.events: List[Tuple[str, str]] = []
        """Name and data of the events of the stream that are no messages, in order."""
        self.first = ""
        """The name of the first event."""

    def open(self, seconds: float = _OPENING) -> None:
        """Open the stream, and wait for the address for messages. Raises `TransportError`."""
        start_thread("mcp-ref:examiner", self._listen)
        self._begun.wait(seconds)
        if not self.target:
            why = self.ended or "no endpoint event in %g s" % seconds
            self.close()
            raise ConnectFailed("%s: %s" % (self.where.origin + self.where.path, why))

    def _listen(self) -> None:
        fields = (("Host", self.where.authority), *self.fields, ("Accept", "text/event-stream"))
        seen = self.trace.request("GET", self.where.target, fields, None, self.where.origin)
        try:
            reply = self._pool.send("GET", self.where.target, fields, None, self._scope)
        except (ConnectFailed, ConnectionLost, AnswerLost) as error:
            seen.lost(error)
            self._over(str(error))
            return
        self.status = reply.status
        seen.response(reply.status, reply.headers.pairs())
        reply.seen = seen
        try:
            self._events(reply)
        except (TransportError, OSError) as error:
            self._over(str(error))
        finally:
            self._scope.gone = True
            self._pool.finish(reply, self._scope)

    def _events(self, reply: Reply) -> None:
        kind = (reply.headers.lower("content-type") or "").partition(";")[0].strip().lower()
        if reply.status != 200 or kind != "text/event-stream":
            self._over("GET: status %d, Content-Type %r" % (reply.status, kind))
            return
        blocks = SseSplitter(LONGEST)
        while True:
            data = reply.piece()
            for block in blocks.feed(data):
                if block is not None:
                    self._take(block)
            if not data:
                self._over("the server closed the stream")
                return

    def _take(self, block: SseBlock) -> None:
        name = block.fields.get("event") or "message"
        text = (block.data or b"").decode("utf-8", "replace")
        self.first = self.first or name
        if block.is_message:
            self._hear([parsed(block.data or b"")])
            return
        self.events.append((name, text))
        if name == "endpoint" and not self.target and not self.ended:
            try:
                goal = server_url_from(self.where.url, text, "the endpoint event has")
            except ConnectFailed as error:
                self._over(str(error))
                return
            if goal.origin != self.where.origin:  # a token goes to nobody else
                self._over("the endpoint event names another origin, %s" % goal.origin)
                return
            self.target = goal.target
            self._begun.set()

    def _over(self, why: str) -> None:
        self._hear([], why)
        self._begun.set()

    def send(self, value: Any, fields: Fields = ()) -> Optional[Reaction]:
        """Post a message to the address of the stream; see `Heard.send`."""
        answer = self.post(value, fields)
        return None if answer.status is not None and answer.status // 100 == 2 else answer

    def post(self, value: Any, fields: Fields = (), seconds: float = _OPENING) -> Reaction:
        """Post a message, and return what came of the POST itself, whatever its status."""
        body = as_bytes(value)
        given = {name.lower() for name, _ in fields}
        host = () if "host" in given else (("Host", self.where.authority),)
        kind = () if "content-type" in given else (("Content-Type", "application/json"),)
        every = (*host, *self.fields, *kind, *fields)
        seen = self.trace.request("POST", self.target, [*every, ("Content-Length", str(len(body)))], body,
                                  self.where.origin)
        return exchanged(self._pool, seen, ("POST", self.target, every, body), seconds, _taken)

    def close(self) -> None:
        """End the stream, and the session with it."""
        self._scope.cancel()
        self._pool.close()
        self._hear([], "closed here")
        self.trace.closed(CLIENT)


def _taken(reply: Any, pairs: Fields) -> Reaction:
    """Return what came of a POST: its status, and a response in its body, which has no place there."""
    found = parsed(reply.whole(LONGEST))
    response = found if isinstance(found, dict) and ("result" in found or "error" in found) else None
    why = "the message was taken" if reply.status // 100 == 2 else "the message was not taken"
    return Reaction(response, "" if response else why, reply.status, pairs)


def serves_sse(url: str, fields: Fields = (), cafile: Optional[str] = None) -> bool:
    """Return True if an address serves HTTP+SSE, and not Streamable HTTP.

    GET opens a stream that begins with the `endpoint` event, and a POST of `initialize` to the same address is refused
    [2025-03-26..2025-11-25 basic/transports §Backwards Compatibility]. The other way round than the page has it: most
    servers of Streamable HTTP refuse such a GET, and so have no session for nothing.
    """
    wire = Sse(url, Trace(lambda event: None), fields, cafile)
    try:
        wire.open(_PROBE)
        wire.target = wire.where.target
        answer = wire.post({"jsonrpc": "2.0", "id": 1, "method": INITIALIZE, "params": {
            "protocolVersion": REVISIONS[0].name, "capabilities": {},
            "clientInfo": {"name": "mcp_ref examiner", "version": __version__}}},
            (("Accept", "application/json, text/event-stream"),))
        return answer.status is None or answer.status >= 400
    except TransportError:
        return False
    finally:
        wire.close()
