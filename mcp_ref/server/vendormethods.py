"""Methods outside of the specification, which a vendor's clients and servers have agreed on between them.

::

    @server.method("acme/search")
    def search(query: str, limit: int = 10) -> dict:
        return {"found": index.find(query, limit)}

    @server.on_notification("acme/clicked")
    def clicked(connection, params): ...

A name has a prefix that no method of the specification has, in any revision. Reading: no page forbids other methods,
and ``experimental`` is for telling of them [..2025-11-25 basic/lifecycle §Capability Negotiation]; a peer that does not
know one answers with -32601, so no declaration is asked for. What both sides are to negotiate is an `Extension`.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Optional

from ..errors import INVALID_PARAMS, RpcError
from ..methods import is_vendor
from ..peer.context import Context, Route
from .signature import BindError, Signature, to_json
from .validation import LazyValidator

if TYPE_CHECKING:
    from ..peer.dispatcher import Connection


class VendorMethods:
    """What one server answers and hears beyond the specification."""

    def __init__(self) -> None:
        self._routes: Dict[str, Route] = {}
        self._listeners: Dict[str, Callable[..., Any]] = {}

    def add(self, name: str, function: Callable[..., Any]) -> None:
        """Register a function that answers; see `Server.method`."""
        _check(name, function, self._routes)
        self._routes[name] = Route(_answering(name, Signature(function)))

    def listen(self, name: str, function: Callable[..., Any]) -> None:
        """Register a function that hears; see `Server.on_notification`."""
        _check(name, function, self._listeners)
        self._listeners[name] = function

    def route(self, method: str) -> Optional[Route]:
        """How a request is answered; None: it is not."""
        return self._routes.get(method)

    def hears(self, method: str) -> bool:
        """Whether somebody hears of a notification."""
        return method in self._listeners

    def heard(self, connection: "Connection", method: str, params: Dict[str, Any]) -> None:
        """A notification came."""
        function = self._listeners.get(method)
        if function is not None:
            function(connection, params)


def _check(name: str, function: Any, taken: Dict[str, Any]) -> None:
    if not isinstance(name, str) or not is_vendor(name):
        raise ValueError("%.80r is no name for a method of your own: it needs a prefix, such as acme/search, that no "
                         "method of the specification has" % (name,))
    if not callable(function):
        raise TypeError("%s: expected a function, got %.80r" % (name, function))
    if name in taken:
        raise ValueError("there is a function for %s already" % name)


def _answering(name: str, signature: Signature) -> Callable[[Context, Dict[str, Any]], Any]:
    inputs = LazyValidator(lambda: signature.input_schema)

    def answer(context: Context, params: Dict[str, Any]) -> Any:
        given = {key: value for key, value in params.items() if key != "_meta"}
        for wrong in inputs.validate(given)[:1]:
            raise RpcError(INVALID_PARAMS, "Invalid params: %s" % wrong.about("params"))
        try:
            keywords = signature.bind(given)
        except BindError as error:
            raise RpcError(INVALID_PARAMS, "Invalid params: %s" % error.about("params")) from None
        if signature.context_parameter is not None:
            keywords = dict(keywords)
            keywords[signature.context_parameter] = context
        value = signature.call(**keywords)
        result = {} if value is None else to_json(value)
        if not isinstance(result, dict):
            raise TypeError("%s returned %.80r; the result of a request is an object" % (name, value))
        return result

    return answer
