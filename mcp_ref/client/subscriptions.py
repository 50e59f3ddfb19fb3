"""The resources that a client is subscribed to, and who hears of each [..2025-11-25 server/resources §Subscriptions].

Reading: an update may name a part of what was subscribed to; that is a URI that goes on with ``/``, ``?`` or
``#`` after the subscribed one. Everybody subscribed to a whole hears of its parts.
"""

import threading
from typing import Callable, Dict, List, Optional

from ..errors import Busy

UpdateCallback = Callable[[str], object]
"""Called with the URI of the resource that changed."""


class Subscriptions:
    """The subscriptions of one connection; ``limit`` of them at most. Thread-safe."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._wanted: Dict[str, Optional[UpdateCallback]] = {}

    def add(self, uri: str, callback: Optional[UpdateCallback]) -> Callable[[], None]:
        """Enter a subscription, before it is asked for: the first update may come with the answer.

        Gives the function that undoes it. A second one for a URI replaces the first. Raises `Busy` over the limit.
        """
        with self._lock:
            known, before = uri in self._wanted, self._wanted.get(uri)
            if not known and len(self._wanted) >= self._limit:
                raise Busy("subscribed to %d resources; the limit is max_subscriptions" % len(self._wanted))
            self._wanted[uri] = callback

        def undo() -> None:
            with self._lock:
                if self._wanted.get(uri) is callback:
                    if known:
                        self._wanted[uri] = before
                    else:
                        self._wanted.pop(uri, None)

        return undo

    def remove(self, uri: str) -> None:
        """Nobody wants to hear of it any more."""
        with self._lock:
            self._wanted.pop(uri, None)

    def listeners(self, uri: str) -> List[UpdateCallback]:
        """Who is to be told of an update of this URI."""
        with self._lock:
            if uri in self._wanted:
                found = [self._wanted[uri]]
            else:
                found = [callback for whole, callback in self._wanted.items() if within(uri, whole)]
        return [callback for callback in found if callback is not None]


def within(uri: str, whole: str) -> bool:
    """Whether the first names a part of what the second names."""
    return uri.startswith(whole) and (whole.endswith("/") or uri[len(whole)] in "/?#")
