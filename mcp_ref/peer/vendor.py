"""Methods outside of the specification, on which a vendor's clients and servers have agreed.

A server registers what it answers and hears by ``@server.method("acme/search")`` and ``@server.on_notification(...)``,
a client by ``@client.method("acme/ask")`` and its option ``on_notification``. A name has a prefix that no method of the
specification has, in any revision. Reading: no page forbids other methods, and ``experimental`` is for telling of them
[..2025-11-25 basic/lifecycle §Capability Negotiation]; a peer that does not know one answers with -32601, so no
declaration is asked for. What both sides are to negotiate is an `Extension`.

Who may send what, and how:

=====================  ==========================================  ===================================================
what                   with a handshake                            2026-07-28
=====================  ==========================================  ===================================================
request to a server    ``client.request``                          the same
request to a client    ``ctx.call`` in a handler, or               none: a server sends no requests
                       `Connection.request`                        [2026-07-28 basic/transports/index §Messages]
notification to a      ``client.notify``                           the same
server
notification to a      ``ctx.notify`` in a handler; unasked        ``ctx.notify``, as it belongs to the request; no
client                 ``server.broadcast``                        others, for a stream of changes has only those of the
                                                                   specification [2026-07-28
                                                                   basic/patterns/subscriptions §Notification Filter]
=====================  ==========================================  ===================================================
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Optional

from ..methods import is_vendor
from .context import Route

if TYPE_CHECKING:
    from .dispatcher import Connection


class VendorMethods:
    """The methods that one side answers, and the notifications that it takes, beyond the specification."""

    def __init__(self) -> None:
        self._routes: Dict[str, Route] = {}
        self._listeners: Dict[str, Callable[..., Any]] = {}

    def add(self, name: str, function: Callable[..., Any], route: Callable[[str, Any], Route]) -> None:
        """Register a function that answers; ``route(name, function)`` says how it is called.

        Raises ValueError for a name that is not a vendor's or is taken, TypeError for what is no function.
        """
        _check(name, function, self._routes)
        self._routes[name] = route(name, function)

    def listen(self, name: str, function: Callable[..., Any]) -> None:
        """Register a function that takes a notification; raises as `add`."""
        _check(name, function, self._listeners)
        self._listeners[name] = function

    def route(self, method: str) -> Optional[Route]:
        """Return how a request is answered; None if it is not."""
        return self._routes.get(method)

    def hears(self, method: str) -> bool:
        """Return True if a function takes this notification."""
        return method in self._listeners

    def heard(self, connection: "Connection", method: str, params: Dict[str, Any]) -> None:
        """Call the function that takes this notification."""
        function = self._listeners.get(method)
        if function is not None:
            function(connection, params)


def checked_result(name: str, result: Any) -> Dict[str, Any]:
    """Return the result of a request, {} for None. Raises TypeError for what is no object."""
    if result is None:
        return {}
    if not isinstance(result, dict):
        raise TypeError("%s returned %.80r; the result of a request is an object" % (name, result))
    return result


def _check(name: str, function: Any, taken: Dict[str, Any]) -> None:
    if not isinstance(name, str) or not is_vendor(name):
        raise ValueError("%.80r is no name for a method of your own: it needs a prefix, such as acme/search, that no "
                         "method of the specification has" % (name,))
    if not callable(function):
        raise TypeError("%s: expected a function, got %.80r" % (name, function))
    if name in taken:
        raise ValueError("there is a function for %s already" % name)
