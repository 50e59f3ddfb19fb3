"""The contract of a server's side of HTTP: messages are brought to it, nobody reads, and each goes its own way.

The answer to a request travels in the reply to the POST that brought it, what belongs to that request before it in the
same reply, and everything else on a stream of its own. Which of these a message is, the dispatcher knows and says.
"""

import threading
from typing import Any, Callable, Dict, List, Optional

from ..diagnostics.packagelog import Counters
from ..jsonrpc import RequestId
from ..limits import Limits
from .base import REPLIES, Received, Transport


class ReplyTransport(Transport):
    """A server's transport over HTTP; a subclass says where a message goes. Thread-safe."""

    name = "http"
    contract = REPLIES
    threadless = True

    def __init__(self, limits: Limits) -> None:
        self.connection: Any = None
        """The `Connection` over this transport, set by who makes it."""
        self._limits = limits
        self._lock = threading.RLock()  # an exchange may find out that the client is gone while it is given something
        self._resume: Optional[Callable[[], None]] = None
        self.ended = False
        """True once it was closed."""
        self._counts = Counters()

    def post(self, message: Optional[bytes], about: Optional[RequestId] = None, final: bool = False) -> None:
        """Send one message where it belongs. Never waits and never raises.

        ``about``: the id of the peer's request that it answers or belongs to. ``final``: it is the answer, nothing
        more comes for that request; None: there is none, because the request was cancelled.
        """
        raise NotImplementedError

    def refused(self, about: RequestId, code: int) -> None:
        """Note that the request of this key is refused as such, with this code, before or instead of being worked on.

        Its answer follows by `post`. For transports that have a word of their own for that, such as a status of HTTP.
        """

    def poll_later(self, about: RequestId) -> bool:
        """End the connection that would carry the answer to this request, and have the peer ask for it again.

        Returns False where there is no such thing.
        """
        return False

    def request_of(self, about: RequestId) -> Any:
        """Return the HTTP request by which the peer's request of this key came; None if it is not there any more."""
        return None

    def is_heard(self) -> bool:
        """Return True if the peer has a stream open on which a message that belongs to no request would come now."""
        return False

    def given_up(self, id: RequestId) -> None:
        """Note that nobody waits for the answer to our request of this id any more. Never waits."""

    def read(self) -> Optional[List[Received]]:
        """Return the end, for nothing else is ever read."""
        return None

    def park(self, resume: Callable[[], None]) -> bool:
        """Have ``resume`` called when this ends, once, for nobody waits in `read`. Returns True."""
        with self._lock:
            self._resume = resume
            ended = self.ended
        if ended:
            self._wake()
        return True

    def _wake(self) -> None:
        """Let the dispatcher see to the end, which has come."""
        with self._lock:
            resume, self._resume = self._resume, None
        if resume is not None:
            resume()

    def counters(self) -> Dict[str, int]:
        """Return what was dropped, by reason."""
        return self._counts.snapshot()

    def _count(self, name: str) -> None:
        self._counts.add(name)
