"""The routes of vendors' methods of a server; the function gets the params by name, as a tool gets its arguments.

::

    @server.method("acme/search")
    def search(query: str, limit: int = 10) -> dict:
        return {"found": index.find(query, limit)}
"""

from typing import Any, Callable, Dict

from ...errors import INVALID_PARAMS, RpcError
from ...peer.context import Context, Route
from ...peer.vendor import checked_result
from ..hints.signature import BindError, LazyValidator, Signature, to_json


def route_of(name: str, function: Callable[..., Any]) -> Route:
    """Return the route of a vendor's method that a function answers. Raises as `Signature`."""
    signature = Signature(function)
    inputs = LazyValidator(lambda: signature.input_schema)

    def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
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
        return checked_result(name, None if value is None else to_json(value))

    return Route(answer)
