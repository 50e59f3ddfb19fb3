"""What the reader hands over: requests to be answered, and notifications to be delivered in order."""

import threading
from collections import deque
from typing import TYPE_CHECKING, Callable, Deque, List, Optional, Tuple, Union

from ..errors import INTERNAL_ERROR, McpError, RpcError
from ..jsonrpc import Batch, Error, Malformed, Message, Notification, Request
from .context import Route
from .inflight import Incoming
from .workers import Job

if TYPE_CHECKING:
    from .dispatcher import Connection


class Call(Job):
    """A request to be answered by a worker."""

    __slots__ = ("connection", "request", "incoming", "route", "batch")

    def __init__(
        self,
        connection: "Connection",
        request: Request,
        incoming: Incoming,
        route: Route,
        batch: "Optional[BatchAnswer]",
    ) -> None:
        self.connection = connection
        self.request = request
        self.incoming = incoming
        self.route = route
        self.batch = batch

    def run(self) -> None:
        self.connection.perform(self)

    def abandon(self, error: McpError) -> None:
        rpc = error if isinstance(error, RpcError) else RpcError(INTERNAL_ERROR, str(error))
        self.connection.reply(self, Error(self.request.id, rpc.code, rpc.message, rpc.data))


class Lane(Job):
    """Notifications on their way to user code: one after the other, in the order they came."""

    __slots__ = ("_run", "_lock", "_waiting", "_scheduled", "_limit")

    def __init__(self, run: Callable[[Notification], None], limit: int) -> None:
        self._run = run
        self._lock = threading.Lock()
        self._waiting: Deque[Notification] = deque()
        self._scheduled = False
        self._limit = limit

    def put(self, notification: Notification) -> Tuple[bool, bool]:
        """Append one: whether there was room, and whether the lane must be scheduled."""
        with self._lock:
            if len(self._waiting) >= self._limit:
                return False, False
            self._waiting.append(notification)
            schedule, self._scheduled = not self._scheduled, True
        return True, schedule

    def run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._scheduled = False
                    return
                notification = self._waiting.popleft()
            self._run(notification)

    def abandon(self, error: McpError) -> None:
        with self._lock:
            self._waiting.clear()
            self._scheduled = False


class BatchAnswer:
    """The answers to one batch, sent together when the last is there [2025-03-26 basic/index §Batching]."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: List[Union[Message, Malformed]] = []
        self._open = 1  # one for the reader, until the whole batch is read

    def expect(self) -> None:
        with self._lock:
            self._open += 1

    def add(self, answer: Optional[Message]) -> Optional[Batch]:
        """One answer less to wait for; the whole, if that was the last and anything is to be said."""
        with self._lock:
            if answer is not None:
                self._answers.append(answer)
            self._open -= 1
            return Batch(self._answers) if not self._open and self._answers else None
