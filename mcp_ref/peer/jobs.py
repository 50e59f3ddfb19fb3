"""What the reader hands over: requests to be answered, and notifications to be delivered in order."""

import io
import threading
from collections import deque
from typing import TYPE_CHECKING, Callable, Deque, Generic, Optional, Tuple, TypeVar

from ..errors import INTERNAL_ERROR, McpError, RpcError
from ..jsonrpc import Error, Request, RequestId
from ..limits import DEFAULT
from .context import Route
from .executors import Job
from .inflight import Incoming

if TYPE_CHECKING:
    from .dispatcher import Connection
    from .session import Session


Item = TypeVar("Item")


class Call(Job):
    """A request to be answered by a worker."""

    __slots__ = ("connection", "request", "incoming", "route", "batch", "session")

    def __init__(
        self,
        connection: "Connection",
        request: Request,
        incoming: Incoming,
        route: Route,
        batch: "Optional[BatchAnswer]",
        session: "Optional[Session]" = None,
    ) -> None:
        self.connection = connection
        self.request = request
        self.incoming = incoming
        self.route = route
        self.batch = batch
        self.session = session

    def run(self) -> None:
        self.connection.perform(self)

    def abandon(self, error: McpError) -> None:
        rpc = error if isinstance(error, RpcError) else RpcError(INTERNAL_ERROR, str(error))
        self.connection.reply(self, Error(self.request.id, rpc.code, rpc.message, rpc.data))


class Lane(Job, Generic[Item]):
    """Notifications, or callbacks, on their way to user code: one after the other, in the order they came.

    ``run`` takes one of them; ``again`` schedules this lane, for what it could not finish. Nobody waits for an
    answer here, so nothing is abandoned: it waits, up to ``limit``, and up to ``most`` bytes of messages, if what waits
    is one or came by one; what is larger alone waits alone.
    """

    __slots__ = ("_run", "_again", "_lock", "_waiting", "_scheduled", "_limit", "_idle", "_most", "_bytes")

    def __init__(
        self, run: Callable[[Item], None], again: Callable[[Job], None], limit: int, most: int = 1 << 62
    ) -> None:
        self._run = run
        self._again = again
        self._lock = threading.Lock()
        self._waiting: Deque[Tuple[Item, int]] = deque()
        self._bytes = 0
        self._scheduled = False
        self._limit = limit
        self._most = most
        self._idle: Optional[threading.Event] = None

    def put(self, item: Item, always: bool = False, size: int = 0) -> Tuple[bool, bool]:
        """Append one: whether there was room (``always``: there is), and whether the lane must be scheduled."""
        with self._lock:
            waiting = len(self._waiting)
            if not always and (waiting >= self._limit or (waiting and self._bytes + size > self._most)):
                return False, False
            self._waiting.append((item, size))
            self._bytes += size
            schedule, self._scheduled = not self._scheduled, True
        return True, schedule

    def run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._scheduled = False
                    if self._idle is not None:
                        self._idle.set()
                    return
                item, size = self._waiting.popleft()
                self._bytes -= size
            try:
                self._run(item)
            except BaseException:  # Ctrl-C on the main thread; the rest is for later
                self._again(self)
                raise

    def abandon(self, error: McpError) -> None:
        self._again(self)

    def settle(self, seconds: float) -> None:
        """Have everything taken that was put, for at most so many seconds; after the last `put`."""
        with self._lock:
            if not self._scheduled:
                return
            idle = self._idle = threading.Event()
        idle.wait(seconds)


def contain(error: BaseException) -> None:
    """Called when user code has raised and that was dealt with: only Ctrl-C goes on, where the main thread ran it."""
    if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
        raise error


class BatchAnswer:
    """The encoded answers to one batch, sent together when the last is there [2025-03-26 basic/index §Batching].

    They are one message, of at most ``most`` bytes. Each request has an answer all the same [JSON-RPC 2.0 §6] SHOULD:
    room for an error is kept for each, and what does not fit beside these is left out for such an error.
    """

    def __init__(self, about: Optional[RequestId] = None, most: int = DEFAULT.max_batch_answer_bytes) -> None:
        self.about = about
        """What it is called in `ReplyTransport.post`."""
        self.most = most
        self.full = False
        """Whether an answer was left out; then handlers of this batch that have not begun need not run."""
        self.hold: Callable[[int], bool] = lambda more: True
        """Asked before so many bytes more are kept, under the lock; False: leave them out. For a total over batches."""
        self.turn = threading.Lock()
        """Held while an answer is encoded: on its way to bytes it is there three times, and it may be one too many."""
        self._lock = threading.Lock()
        self._answers: Optional[io.BytesIO] = None
        self._room = most
        self._open = 1  # one for the reader, until the whole batch is read

    def expect(self, id: Optional[RequestId]) -> None:
        """There will be an answer to a request of this id; None: to what has none."""
        with self._lock:
            self._open += 1
            self._room -= _room_for_error(id)

    def claim(self, size: int, id: RequestId) -> bool:
        """Whether there is room for an answer of this size; if not, the request of this id gets an error."""
        with self._lock:
            room = self._room + _room_for_error(id) - size
            if room < 0 or not self.hold(size):
                self.full = True
                return False
            self._room = room
        return True

    def add(self, answer: Optional[bytes]) -> Optional[bytes]:
        """One answer less to wait for; the whole, if that was the last; b"" if there is nothing to say then.

        Each answer is copied once, to where the whole is: joined from parts it would be there three times.
        """
        with self._lock:
            if answer is not None:
                if self._answers is None:
                    self._answers = io.BytesIO()
                self._answers.write(b"," if self._answers.tell() else b"[")
                self._answers.write(answer)
            self._open -= 1
            if self._open:
                return None
            if self._answers is None:
                return b""
            self._answers.write(b"]")
            whole, self._answers = self._answers.getvalue(), None
        return whole


def _room_for_error(id: Optional[RequestId]) -> int:
    """Bytes that an error for this id may take; a character of a string takes up to 12."""
    return _ERROR_BYTES + (12 * len(id) if isinstance(id, str) else id.bit_length() // 3 if id is not None else 0)


_ERROR_BYTES = 320
