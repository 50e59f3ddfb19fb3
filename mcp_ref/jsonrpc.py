"""Frames: the four kinds of JSON-RPC message, and the batch that one revision has.

Everything on the wire is one of these [2025-11-25 basic/index §Messages]:

=============  ===========================================  ======================================
frame          members                                      what it is
=============  ===========================================  ======================================
Request        jsonrpc, id, method, params?                 wants exactly one answer
Notification   jsonrpc, method, params?                     never answered
Result         jsonrpc, id, result                          the answer that worked
Error          jsonrpc, id, error {code, message, data?}    the answer that did not
=============  ===========================================  ======================================

`parse` turns bytes into a frame, `encode` a frame into bytes. What is malformed raises `Malformed`,
which knows the code it is answered with and the id, where one could be read:

===========================================================  ========  ===========================
input                                                        code      Reading
===========================================================  ========  ===========================
not JSON (see `jsontext`)                                    -32700    the request or response fails
                                                                       whose id can be read all the same
not an object; a batch where the revision has none; an       -32600
empty batch
``jsonrpc`` is not ``"2.0"``; ``method`` is not a string     -32600
``id`` is null, true, 1.5 or 1.0                             -32600    stricter than JSON-RPC, as
                                                                       MCP says; answered without id
``params`` is an array                                       -32602    legal JSON-RPC, never MCP
``params`` is anything else but an object                    -32600
the same in a notification                                   none      notifications are never answered
a response with both result and error, a result that is no   none      a response is never answered;
object, an error without integer code                                  the request it names fails
neither method, result nor error                             -32600    a response if its id is that of
                                                                       a request of ours; then none
===========================================================  ========  ===========================

The ids ``1`` and ``"1"`` are different ids. Sources: [JSON-RPC 2.0 §4], [JSON-RPC 2.0 §5],
[2024-11-05 basic/messages §Requests], [2025-03-26 basic/index §Batching].
"""

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Union

from .errors import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, RpcError
from .jsontext import JsonError, dumps, glimpse, loads, null_for_nan
from .limits import DEFAULT, Limits

if TYPE_CHECKING:
    from .model import Forgive

RequestId = Union[str, int]
"""A string or an integer; never null, never a float, and ``True`` is no integer
[2025-11-25 basic/index §Requests] MUST."""

_MODULUS = sys.hash_info.modulus


@dataclass
class Request:
    """A message that is answered by a `ResultResponse` or an `ErrorResponse` with the same id."""

    id: RequestId
    method: str
    params: Optional[Dict[str, Any]] = None


@dataclass
class Notification:
    """A message that has no answer."""

    method: str
    params: Optional[Dict[str, Any]] = None


@dataclass
class ResultResponse:
    """The answer to the request of this id."""

    id: RequestId
    result: "Union[Dict[str, Any], Encoded]"


@dataclass
class ErrorResponse:
    """The refusal of the request of this id; ``id`` is None where the id could not be read.

    ``data`` None is left out. ``null_id``: write ``"id": null`` rather than no id, as the
    revisions before 2025-11-25 have it [JSON-RPC 2.0 §5].
    """

    id: Optional[RequestId]
    code: int
    message: str
    data: Any = None
    null_id: bool = False


class Malformed(RpcError):
    """A message that is no frame. ``code`` and ``message`` answer it; ``id`` is the request's if it could be read.

    ``silent`` is true for a broken response or notification, which gets no answer. ``either`` is true if it may be a
    response or a request: then a request of ours with this id has got a broken answer.
    """

    def __init__(
        self, code: int, message: str, id: Optional[RequestId] = None, silent: bool = False, either: bool = False
    ) -> None:
        super().__init__(code, message)
        self.id = id
        self.silent = silent
        self.either = either


@dataclass
class Batch:
    """Several messages in one array [2025-03-26 basic/index §Batching].

    An item that is no frame stands as the `Malformed` that `parse` would have raised for it.
    """

    items: List[Union[Request, Notification, ResultResponse, ErrorResponse, Malformed]]


class Encoded(str):
    """A result that is JSON text already: lists that rarely change are kept so, and plain texts are sent so."""


def decoded(result: Any) -> Any:
    """Return a result of ours as a JSON object, whether it is `Encoded` or not."""
    return json.loads(result) if isinstance(result, Encoded) else result


Message = Union[Request, Notification, ResultResponse, ErrorResponse]
Frame = Union[Request, Notification, ResultResponse, ErrorResponse, Batch]


def id_key(id: Any) -> Any:
    """Return the key for a peer's id in a table of ours: the id, but bytes for an integer whose hash others share.

    Python salts the hashes of strings and bytes, but those of integers are their remainders by 2^61-1: in a dict of its
    multiples each is compared with all others. The pages set no bound for integers, so all are taken
    [.. schema.json §RequestId].
    """
    return b"%x" % id if type(id) is int and not -_MODULUS < id < _MODULUS else id


def parse(
    data: bytes, batching: bool = False, limits: Limits = DEFAULT, forgive: "Optional[Forgive]" = None
) -> Frame:
    """Return the frame in the bytes of one message. With ``batching`` an array is a batch, and not malformed.

    ``forgive``: told of params that are null or ``[]``, which are read as none, of ids of answers that came back as
    text or ``1.0``, and of NaN in answers, read as null; None refuses all these. Raises `Malformed`.
    """
    try:
        value = loads(data, limits)
    except JsonError as error:
        mended = data if forgive is None else null_for_nan(data)
        if mended != data:
            try:
                frame = parse(mended, batching, limits, forgive)
            except Malformed:
                frame = None
            if isinstance(frame, (ResultResponse, ErrorResponse)):
                forgive("number", "NaN or an infinity, read as null")  # type: ignore[misc]
                return frame
        raise _unreadable(data, "Parse error: %s" % error, limits) from None
    if type(value) is dict:
        return from_object(value, limits, forgive)
    if type(value) is list:
        return _batch(value, batching, limits, forgive)
    raise Malformed(INVALID_REQUEST, "Invalid request: a message is an object, not %s" % json_type(value))


def _unreadable(data: bytes, text: str, limits: Limits) -> Malformed:
    """Return the error for what we do not take as JSON, with the id where it can be detected [JSON-RPC 2.0 §5.1].

    A request has one if it keeps the grammar of JSON, as half a character written ``\\ud83d`` does. A response has one
    also beside NaN or bytes of another encoding, so that the request which it names need not wait for its timeout.
    """
    value, exact = glimpse(data, limits)
    if type(value) is not dict:
        return Malformed(PARSE_ERROR, text)
    id, silent = _readable_id(value, limits), "method" not in value
    if not (exact or silent) or type(id) is str and id.encode("utf-8", "replace").decode("utf-8") != id:
        id = None  # the last is no Unicode, and cannot be written into an answer
    return Malformed(PARSE_ERROR, text, id, silent)


def from_object(value: Dict[str, Any], limits: Limits = DEFAULT, forgive: "Optional[Forgive]" = None) -> Message:
    """Return the frame of a parsed JSON object; see `parse`."""
    if "method" not in value:
        return _response(value, limits, forgive)
    if value.get("jsonrpc") != "2.0":
        raise Malformed(INVALID_REQUEST, 'Invalid request: jsonrpc must be "2.0"', _readable_id(value, limits))
    method = value["method"]
    if type(method) is not str:
        text = "Invalid request: method: expected string, got %s" % json_type(method)
        raise Malformed(INVALID_REQUEST, text, _readable_id(value, limits))
    id = value.get("id")
    if type(id) is not int and "id" in value and not (type(id) is str and len(id) <= limits.max_id_length):
        raise Malformed(INVALID_REQUEST, _bad_id(id, limits))
    params = value.get("params")
    if forgive is not None and "params" in value and (params is None or params == []):
        forgive("params", "params of %s: %s, read as none" % (shown(method), json_type(params)))
        params = None
    elif type(params) is not dict and "params" in value:
        code = INVALID_PARAMS if type(params) is list else INVALID_REQUEST
        text = "Invalid params: params: expected object, got %s" % json_type(params)
        raise Malformed(code, text, id, silent="id" not in value)
    return Request(id, method, params) if "id" in value else Notification(method, params)  # type: ignore[arg-type]


def _readable_id(value: Dict[str, Any], limits: Limits) -> Optional[RequestId]:
    found = value.get("id")
    if type(found) is int or (type(found) is str and len(found) <= limits.max_id_length):
        return found
    return None


def _bad_id(found: Any, limits: Limits) -> str:
    if type(found) is str:
        return "Invalid request: id of %d characters exceeds max_id_length (%d)" % (len(found), limits.max_id_length)
    return "Invalid request: id: expected string or integer, got %s" % json_type(found)


def _number_of(id: Any, forgive: "Forgive") -> Any:
    """Return the number for an id that came back as text or as a float: our requests have numbers."""
    whole = id.is_integer() if type(id) is float else id.isdecimal() and len(id) < 20 and str(int(id)) == id
    if not whole:
        return id
    forgive("id", "the id of an answer came back as %s" % json_type(id))
    return int(id)


def _response(value: Dict[str, Any], limits: Limits, forgive: "Optional[Forgive]") -> Message:
    """Return a result or an error; ``error: null`` beside a result counts as absent: real peers send it."""
    if forgive is not None and type(value.get("id")) in (str, float):
        value["id"] = _number_of(value["id"], forgive)
    found = _readable_id(value, limits)

    def malformed(text: str) -> Malformed:
        response = "result" in value or "error" in value
        kind = "response" if response else "request"
        return Malformed(INVALID_REQUEST, "Invalid %s: %s" % (kind, text), found, response, not response)

    error = value.get("error")
    if "result" not in value and error is None:
        raise malformed("neither method, result nor error")
    if value.get("jsonrpc") != "2.0":
        raise malformed('jsonrpc must be "2.0"')
    if found is None and ("result" in value or value.get("id") is not None):
        raise malformed("id: expected string or integer, got %s" % json_type(value.get("id")))
    if "result" not in value:
        return _error(error, found, malformed)
    if error is not None:
        said = error.get("message") if isinstance(error, dict) else error
        raise malformed("both result and error, and neither was used; the error says %.200r" % (said,))
    if type(value["result"]) is not dict:
        raise malformed("result: expected object, got %s" % json_type(value["result"]))
    return ResultResponse(found, value["result"])  # type: ignore[arg-type]  # None was refused above


def _error(error: Any, id: Optional[RequestId], malformed: Any) -> ErrorResponse:
    if type(error) is not dict:
        raise malformed("error: expected object, got %s" % json_type(error))
    if type(error.get("code")) is not int:
        raise malformed("error.code: expected integer, got %s" % json_type(error.get("code")))
    if type(error.get("message")) is not str:
        raise malformed("error.message: expected string, got %s" % json_type(error.get("message")))
    return ErrorResponse(id, error["code"], error["message"], error.get("data"))


def _batch(items: List[Any], batching: bool, limits: Limits, forgive: "Optional[Forgive]") -> Batch:
    if not batching:
        raise Malformed(INVALID_REQUEST, "Invalid request: this revision has no batches")
    if not items:
        raise Malformed(INVALID_REQUEST, "Invalid request: an empty batch")
    if len(items) > limits.max_batch:
        raise Malformed(INVALID_REQUEST, "batch of %d messages exceeds max_batch (%d)" % (len(items), limits.max_batch))
    return Batch([_batch_item(item, limits, forgive) for item in items])


def _batch_item(item: Any, limits: Limits, forgive: "Optional[Forgive]") -> Union[Message, Malformed]:
    if type(item) is not dict:
        return Malformed(INVALID_REQUEST, "Invalid request: a message is an object, not %s" % json_type(item))
    try:
        return from_object(item, limits, forgive)
    except Malformed as error:
        return error


def to_object(frame: Message) -> Dict[str, Any]:
    """Return the JSON object of a frame."""
    if isinstance(frame, ResultResponse):
        return {"jsonrpc": "2.0", "id": frame.id, "result": decoded(frame.result)}
    if isinstance(frame, ErrorResponse):
        return _error_object(frame)
    value: Dict[str, Any] = {"jsonrpc": "2.0"}
    if isinstance(frame, Request):
        value["id"] = frame.id
    value["method"] = frame.method
    if frame.params is not None:
        value["params"] = frame.params
    return value


def _error_object(frame: ErrorResponse) -> Dict[str, Any]:
    value: Dict[str, Any] = {"jsonrpc": "2.0"}
    if frame.id is not None or frame.null_id:
        value["id"] = frame.id
    value["error"] = {"code": frame.code, "message": frame.message}
    if frame.data is not None:
        value["error"]["data"] = frame.data
    return value


def encode(frame: Frame, limits: Limits = DEFAULT) -> bytes:
    """Return the bytes of a frame or batch: one line of ASCII, without the line end. Raises `JsonError`."""
    if isinstance(frame, ResultResponse):
        id, result = frame.id if type(frame.id) is int else dumps(frame.id), frame.result
        try:
            text = result if isinstance(result, Encoded) else dumps(result, limits, 1)
        except JsonError:
            pass  # said below, with the place in the message
        else:
            return ('{"jsonrpc":"2.0","id":%s,"result":%s}' % (id, text)).encode("ascii")
    if isinstance(frame, Batch):
        objects = [to_object(item) for item in frame.items if not isinstance(item, Malformed)]
        return dumps(objects, limits).encode("ascii")
    return dumps(to_object(frame), limits).encode("ascii")


_JSON_TYPES = {dict: "object", list: "array", str: "string", int: "integer", float: "number", bool: "boolean"}


def shown(text: str, length: int = 80) -> str:
    """Return a text of the peer for error texts and logs: cut, and escaped to one line."""
    return repr(text[:length])[1:-1]


def json_type(value: Any) -> str:
    """Return the JSON name of a Python value's type, for error texts."""
    return "null" if value is None else _JSON_TYPES.get(type(value), type(value).__name__)
