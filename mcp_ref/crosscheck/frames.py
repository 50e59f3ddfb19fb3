"""The definitions of JSON-RPC itself, compared with the behaviour of `mcp_ref.jsonrpc`.

Frames are no message classes, so their definitions are tried rather than read: a value that a
definition allows must parse and come back the same, and a value that it forbids (a required member
left out, a member of the wrong kind) must be refused. The batch exists where the revision has it.
"""

import json
from typing import Any, Callable, Dict, Iterator, List, Tuple

from ..jsonrpc import Batch, Frame, Malformed, parse, to_object
from .shapes import Comparison, Shape

FRAMES = (
    "Request", "Notification", "JSONRPCRequest", "JSONRPCNotification", "JSONRPCResponse", "JSONRPCResultResponse",
    "JSONRPCErrorResponse", "JSONRPCError", "JSONRPCBatchRequest", "JSONRPCBatchResponse", "JSONRPCMessage",
)
"""The definitions that are frames, or (the first two) the part of a frame that the transport does not add."""

_ENVELOPES: Dict[str, Dict[str, Any]] = {"Request": {"jsonrpc": "2.0", "id": 1}, "Notification": {"jsonrpc": "2.0"}}
_EXAMPLES: Dict[str, Any] = {"string": "x", "integer": 1, "number": 1.5, "boolean": True, "any": "x", "null": None}
_WRONG: Tuple[Any, ...] = (None, True, 1.5, "x", [], {}, 7)


def frame_differences(name: str, context: Comparison) -> Iterator[str]:
    """One line for each thing that the definition says and `jsonrpc` does not do."""
    batching = context.revision.batching
    shape = context.schema(Shape("definition", name=name))
    for value in examples(shape, context):
        if name in _ENVELOPES:
            value = dict(_ENVELOPES[name], **value)
        if _reads(value, batching) != value:
            yield "%s: %s is not read as it is written" % (name, json.dumps(value))
    if shape.kind == "object" and name not in _ENVELOPES:
        yield from _forbidden(name, shape, context)


def examples(shape: Shape, context: Comparison) -> List[Any]:
    """Values of a shape: for an object one with the required members only, and one with all of them."""
    shape = context.schema(shape)
    if shape.kind == "object":
        return [
            {k: examples(inner, context)[-1] for k, (required, inner) in shape.members.items() if required},
            {k: examples(inner, context)[-1] for k, (_, inner) in shape.members.items()},
        ]
    if shape.kind == "union":
        return [value for option in shape.options for value in examples(option, context)]
    if shape.kind == "array":
        return [examples(shape.item, context)]
    return [{"key": "value"} if shape.kind == "map" else sorted(shape.words)[0] if shape.words
            else _EXAMPLES[shape.kind]]


def _reads(value: Any, batching: bool) -> Any:
    """The value after parsing and writing, or None if it is refused."""
    try:
        frame: Frame = parse(json.dumps(value).encode(), batching)
    except Malformed:
        return None
    if isinstance(frame, Batch):
        return [None if isinstance(item, Malformed) else to_object(item) for item in frame.items]
    return to_object(frame)


def _forbidden(name: str, shape: Shape, context: Comparison) -> Iterator[str]:
    """The required members left out, and every member with values of other kinds; inside ``error`` too."""
    full = examples(shape, context)[-1]
    yield from _wrong_members(name, shape, full, lambda value: value, context)
    if "error" in shape.members:
        error = context.schema(shape.members["error"][1])
        yield from _wrong_members(name + ".error", error, full["error"], lambda value: dict(full, error=value), context)


def _wrong_members(place: str, shape: Shape, full: Dict[str, Any], frame: Callable[[Any], Any],
                   context: Comparison) -> Iterator[str]:
    for member, (required, inner) in shape.members.items():
        without = frame({k: v for k, v in full.items() if k != member})
        if required and _reads(without, False) == without and not _is_notification(without):
            yield "%s.%s: required in the schema, optional here" % (place, member)
        for wrong in _WRONG:
            value = frame(dict(full, **{member: wrong}))
            if not _allows(inner, wrong, context) and _reads(value, False) == value:
                yield "%s.%s: %s is accepted" % (place, member, json.dumps(wrong))


def _is_notification(value: Dict[str, Any]) -> bool:
    """A request without id is a frame of another kind, not a broken one."""
    return "method" in value and "id" not in value


_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None), "array": list,
          "map": dict, "object": dict}


def _allows(shape: Shape, value: Any, context: Comparison) -> bool:
    """True if a value is of the kind that the shape asks for; the insides of objects are compared elsewhere."""
    shape = context.schema(shape)
    if shape.kind == "union":
        return any(_allows(option, value, context) for option in shape.options)
    if shape.kind == "words":
        return type(value) is str and value in shape.words
    return shape.kind == "any" or type(value) is _TYPES[shape.kind]
