"""Params as they arrive: decoded for a revision, or refused with -32602 and the path of the member."""

from typing import Any, Callable, Dict

from ..codec import DecodeError, decoder
from ..errors import INVALID_PARAMS, RpcError
from ..revisions import Revision


def params_reader(cls: Any, revision: Revision) -> Callable[[Dict[str, Any]], Any]:
    """The function that makes an instance of ``cls`` from params; it raises `RpcError` -32602 for what does not fit."""
    decode = decoder(cls, revision)

    def read(params: Dict[str, Any]) -> Any:
        try:
            return decode(params, "params")
        except DecodeError as error:
            raise RpcError(INVALID_PARAMS, "Invalid params: %s" % error) from None

    return read
