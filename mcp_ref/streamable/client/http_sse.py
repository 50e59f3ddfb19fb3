"""The client's side of HTTP+SSE [2024-11-05 basic/transports §HTTP with SSE].

One `GET` opens a stream on which everything comes; its first event, ``endpoint``, says where messages are to be
posted. It must be on the server's own origin. The stream cannot be resumed: when it ends, the connection has ended.

Any handshake revision may be spoken over it.
"""

import threading
from functools import partial
from typing import TYPE_CHECKING, Mapping, Optional, Sequence, Union

from ...deadline import Deadline
from ...errors import AnswerLost, ConnectFailed, McpError
from ...http11.client.connect import Abandoned, CancelScope, server_url_from
from ...http11.client.response import Reply
from ...jsonrpc import RequestId
from ...limits import DEFAULT, Limits
from ...options import strict_options
from ...protocol.streamable_http.header_values import SseEvent, SseParser, media_type
from ...transports.base import Received
from .auth_provider import Authorizer, Authorizing
from .base import HttpChannel
from .posts import Post
from .streamable import EVENTS

if TYPE_CHECKING:
    import ssl

_SLICE = 0.5
"""The seconds that `open` waits in one go, for its clock may be paused."""


class HttpSse(HttpChannel):
    """A client's connection to a server of HTTP+SSE; arguments and exceptions as `HttpChannel`."""

    name = "sse"

    @strict_options
    def __init__(
        self, url: str, *, headers: Optional[Mapping[str, str]] = None, token: Optional[str] = None,
        auth: Union[Authorizing, Authorizer, None] = None, ssl_context: "Optional[ssl.SSLContext]" = None,
        cafile: Optional[str] = None, limits: Limits = DEFAULT,
    ) -> None:
        super().__init__(
            url, headers=headers, token=token, auth=auth, ssl_context=ssl_context, cafile=cafile, limits=limits)
        self._stream = CancelScope()
        self._ready = threading.Event()
        self._failure: Optional[McpError] = None
        self.opens_for: Optional[RequestId] = None
        """The request that waits for `open`, if there is one."""

    def open(self) -> None:
        """Open the stream and wait for the endpoint. Raises `ConnectFailed` or, for a status, `HttpStatus`."""
        end = Deadline(self.limits.initialize_timeout)
        self._stream.on_pause = partial(self._waits_for_person, end)
        self._threads.submit(self._listen, urgent=True)
        left = end.left()
        while left != 0 and not self._ready.wait(_SLICE if left is None else min(left, _SLICE)):
            left = end.left()
        ready = self._ready.is_set()
        failure = self._failure if ready else ConnectFailed("%s sent no endpoint event in time" % self._shown)
        if failure is not None:
            self.close()
            raise failure

    def _waits_for_person(self, end: Deadline, begins: bool) -> None:
        if begins:
            end.stop()
        else:
            end.resume()
        if self.opens_for is not None:
            self._pause_clock(self.opens_for, begins)

    def _listen(self) -> None:
        """Read the stream to its end."""
        try:
            reply = self._exchange("GET", None, self._stream)
            try:
                self._check(reply)
                self._events(reply)
            finally:
                self._pool.finish(reply, self._stream)
        except Abandoned:
            self._over(ConnectFailed("closed while it was being opened"))
        except AnswerLost as error:
            self._over(ConnectFailed(str(error)))
        except McpError as error:
            self._over(error)

    def _over(self, error: McpError) -> None:
        if not self._ready.is_set():
            self._failure = error
            self._ready.set()
        self._end(str(error))

    def _events(self, reply: Reply) -> None:
        kind = media_type(reply.headers.get("content-type"))
        if kind != EVENTS:
            raise ConnectFailed("%s answered with content type %.80r, not %s" % (self._shown, kind, EVENTS))
        parser = SseParser(self.limits.max_message_bytes)
        while True:
            piece = reply.piece()
            if not piece:
                raise ConnectFailed("the server closed the event stream")
            try:
                events = parser.feed(piece)
            except ValueError as error:
                raise ConnectFailed("%s: %s" % (self._shown, error)) from None
            for event in events:
                self._take(event)

    def _take(self, event: SseEvent) -> None:
        if event.event == "endpoint":
            if not self._ready.is_set():
                goal = server_url_from(self.where.url, event.data.decode("utf-8", "replace"),
                                       "%s wants messages to be posted to" % self._shown)
                if goal.origin != self.origin:
                    raise ConnectFailed("%s wants messages to be posted to another origin, %s: that is not done"
                                        % (self._shown, goal.origin))
                self._target = goal.target
                self._ready.set()
        elif event.event == "message" and event.data and self._ready.is_set():
            self._inbox.put(event.data)

    def _perform(self, post: Post, begun: Optional[Reply] = None) -> Sequence[Received]:
        """POST to the endpoint; the answer comes on the stream [2024-11-05 basic/transports §HTTP with SSE] MUST."""
        reply = self._exchange("POST", post.data, post.cancel_scope, begun=begun, message=post.message)
        try:
            self._check(reply, post)
            reply.whole(self.limits.max_message_bytes)
            return ()
        finally:
            self._pool.finish(reply, post.cancel_scope)

    def _stop_listening(self) -> None:
        self._stream.cancel()
