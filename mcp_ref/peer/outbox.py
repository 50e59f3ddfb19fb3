"""The queue of messages that wait to be written, shared by every thread of a connection.

Threads `put` messages; a thread that is free `flush`es them all with one write. One thread writes at a
time and takes along what the others put meanwhile, so a burst of answers costs one system call,
and a finished answer never waits behind a running handler: any thread can flush it.

Workers may wait inside a write, because there are many. The reader may not (else two
peers that write much at once would wait for each other for ever), nor may callers with a deadline.
Those use `flush_soon`, which writes only when the transport promises not to wait, and otherwise
leaves it to the writer thread, which is started when first needed. From then until the writer thread
has had its turn no other thread tries: one that sends without a pause would always be there before it.
"""

from __future__ import annotations  # unread, they cost nothing as the module is loaded

import threading
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional

from ..errors import ConnectionLost
from ..jsonrpc import RequestId
from ..threads import available, start_thread
from ..transports.base import Transport

CHUNK = 1024 * 1024
"""The bytes that go out in one write, about, unless a single message is larger."""


class Outbox:
    """The outgoing messages of one connection; see the module."""

    def __init__(self, transport: Transport, name: str, max_bytes: int) -> None:
        self._transport = transport
        self._write_at_once: Optional[Callable[[List[Any]], bool]] = getattr(transport, "write_now", None)
        self._name = name
        self._max_bytes = max_bytes
        self._waiting: Deque[Any] = deque()
        """The messages as `outgoing` has made them: bytes, or objects whose length is that of their bytes."""
        self._size = 0
        self._counted = 0
        """The bytes that are counted in the account, see `mcp_ref.transports.held`."""
        self._crowded = False
        """True while the account has no room for what is queued."""
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)
        self._writing = threading.Lock()
        self._wake: Optional[threading.Semaphore] = None
        self._left = False
        self._closed = False
        self.on_failure: Callable[[ConnectionLost], None] = lambda error: None
        """Called once when the peer cannot be written to any more."""

    def outgoing(
        self, data: bytes, method: str, id: Optional[RequestId] = None, params: Optional[Dict[str, Any]] = None,
    ) -> Any:
        """Return what `put` and `send` take for a request or a notification: here its bytes, which say all.

        An answer always goes as bytes.
        """
        return data

    def put(self, message: Any, wait: bool = True, about: Optional[RequestId] = None, final: bool = False) -> None:
        """Append a message without writing it.

        A sender that may ``wait`` does so while more than ``max_outbox_bytes`` are queued. ``about`` and ``final`` tell
        what it belongs to, see `ReplyTransport.post`; here everything goes the same way.
        """
        with self._lock:
            if wait and (self._size > self._max_bytes or self._crowded):  # see `full`
                self._room.wait_for(lambda: self._closed or not self.full)
            if self._closed:
                return
            self._waiting.append(message)
            self._size += len(message)
            if self._size > self._counted + CHUNK:
                self._count()

    @property
    def full(self) -> bool:
        """True if more than ``max_outbox_bytes`` are queued, or more than `mcp_ref.transports.held` has room for."""
        return self._size > self._max_bytes or self._crowded

    def wait_for_room(self) -> None:
        """Wait while the outbox is `full`."""
        with self._lock:
            self._room.wait_for(lambda: self._closed or not self.full)

    def _count(self) -> None:
        """Bring the account up to date; up to CHUNK bytes are not counted. Lock held."""
        held, holder = self._transport.held, self._transport.holder
        if held is None:
            return
        if self._size <= self._counted + CHUNK:
            if self._counted > self._size:
                held.free(holder, self._counted - self._size)
                self._counted = self._size
            self._crowded = False
        elif held.take(holder, self._size - self._counted, "messages that are not read"):
            self._counted = self._size
            self._crowded = False
        else:
            self._crowded = True  # until this peer reads

    def flush(self) -> None:
        """Write what waits. Returns at once if another thread is writing, for that one takes it along."""
        # `_writing` is held by the one thread that writes. A message that is put after its last look, and before it
        # releases the lock, is seen by this loop: by that thread, or by the one that has put it.
        while self._waiting and self._writing.acquire(False):
            try:
                self._drain()
            finally:
                self._writing.release()

    def flush_soon(self) -> None:
        """Have everything written that waits, without waiting in the calling thread."""
        while self._waiting and not self._left and self._writing.acquire(False):
            try:
                messages = self._take()
                written = self._write_now(messages)
                if not written:
                    self._put_back(messages)
                    self._left = True
            finally:
                self._writing.release()
            if not written:
                # Only now, without the lock: the writer thread gives up at once while another thread writes.
                self._writer().release()
                return

    def unanswered(self, about: RequestId) -> None:
        """Note that there will be no answer to this request of the peer's."""

    def send(self, message: Any, about: Optional[RequestId] = None, final: bool = False) -> None:
        """Append a message and have it written; at once, if none is before it and nothing needs waiting."""
        if not self._waiting and not self._closed and self._writing.acquire(False):
            try:
                sent = not self._waiting and self._write_now([message])
            finally:
                self._writing.release()
            if sent:
                self.flush_soon()  # what others put meanwhile
                return
        self.put(message, wait=False)
        self.flush_soon()

    def flush_within(self, seconds: float) -> None:
        """Write everything that was put, for at most so many seconds; before `close`.

        Another thread does it, because a peer that does not read any more may block it.
        """
        if not available():
            self.flush()
        elif self._waiting or self._writing.locked():
            start_thread("mcp-ref:writer:%s" % self._name, self._write_all).join(seconds)

    def close(self) -> None:
        """Drop what waits; later messages go nowhere, and the writer thread ends."""
        with self._lock:
            self._closed = True
            self._waiting.clear()
            self._size = 0
            self._count()
            self._room.notify_all()
            wake = self._wake
        if wake is not None:
            wake.release()

    def _write_all(self) -> None:
        with self._writing:
            self._left = False
            self._drain()

    def _drain(self) -> None:
        while self._waiting:
            messages = self._take()
            if messages:
                try:
                    self._write(messages)
                except ConnectionLost as error:
                    self._failed(error)

    def _take(self) -> List[Any]:
        messages: List[Any] = []
        size = 0
        with self._lock:
            while self._waiting and (not messages or size + len(self._waiting[0]) <= CHUNK):
                message = self._waiting.popleft()
                size += len(message)
                messages.append(message)
            full = self._size > self._max_bytes or self._crowded
            self._size -= size
            if self._counted > self._size or self._crowded:
                self._count()
            if full:
                self._room.notify_all()
        return messages

    def _write(self, messages: List[Any]) -> None:
        self._transport.write(messages)

    def _write_now(self, messages: List[Any]) -> bool:
        """Write without waiting. Returns False if nothing was written; for a peer that is gone it returns True."""
        if not messages:
            return True
        try:
            return (self._write_at_once or self._write_if_ready)(messages)
        except ConnectionLost as error:
            self._failed(error)
            return True

    def _write_if_ready(self, messages: List[Any]) -> bool:
        """Write if the transport says that it need not wait for that; a transport that never says so is not asked."""
        ready = getattr(self._transport, "ready", None)
        if ready is None or not ready(sum(map(len, messages)) + len(messages)):
            return False
        self._transport.write(messages)
        return True

    def _failed(self, error: ConnectionLost) -> None:
        self.close()
        self.on_failure(error)

    def _put_back(self, messages: List[Any]) -> None:
        with self._lock:
            if not self._closed:
                self._waiting.extendleft(reversed(messages))
                self._size += sum(map(len, messages))

    def _writer(self) -> threading.Semaphore:
        """Return the semaphore that wakes the writer thread, which starts with the first call."""
        with self._lock:
            wake = self._wake
            if wake is None:
                wake = self._wake = threading.Semaphore(0)
                start_thread("mcp-ref:writer:%s" % self._name, self._write_when_woken, wake)
        return wake

    def _write_when_woken(self, wake: threading.Semaphore) -> None:
        while not self._closed:
            wake.acquire()
            self._write_all()
            self.flush()  # what was put after the last look of a thread that was writing
