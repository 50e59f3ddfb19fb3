"""Checks of the schemas, annotations and names of tools at registration, before any client sees them.

The module is loaded with the first tool that has more than a function of a plain name.
"""

import sys
import warnings
from types import FrameType
from typing import TYPE_CHECKING, Any, Dict, Optional

from ...codec import DecodeError, decode
from ...messages.tools import ToolAnnotations, ToolInputSchema
from ...protocol.content import check_item
from ...revisions import LATEST_HANDSHAKE

if TYPE_CHECKING:
    from ..interface import ToolInterface


def odd_name(text: str, lenient: bool) -> None:
    """Warn of a name, or raise ValueError if the server is strict; ``text`` says what is wrong with the name.

    Some clients refuse tools of such names [2025-11-25.. server/tools §Tool Names] SHOULD.
    """
    if not lenient:
        raise ValueError(text)
    warnings.warn(text, stacklevel=_frames_inside() + 1)


def check(tool: "ToolInterface") -> None:
    """Refuse schemas, annotations, icons and `_meta` that may not be sent. Raises TypeError or ValueError.

    A schema may have an unsupported dialect, a reference that leads nowhere, a keyword with a wrong value, and an
    input schema must be one of an object [.. server/tools §Tool]. Output schemas may describe anything; revisions that
    only know objects do not get the others (`mcp_ref.messages.downgrade`).
    """
    where = "tool %s" % tool.name
    for schema, validator in ((tool.explicit_input, tool.inputs), (tool.explicit_output, tool.outputs)):
        if schema is not None:
            if not isinstance(schema, dict):
                raise TypeError("%s: a schema is a dict, got %s" % (where, type(schema).__name__))
            validator.validate({})
    if tool.explicit_input is not None:
        _check_object_schema(where, tool.explicit_input)
    if tool.described["annotations"] is not None:
        _check_hints(where, tool.described["annotations"])
    check_item(where, icons=tool.described["icons"], meta=tool.described["meta"])


def _check_object_schema(where: str, schema: Dict[str, Any]) -> None:
    """Raise ValueError unless the root of the schema says ``object``, by the rules of the latest handshake revision.

    No other revision asks for more.
    """
    try:
        decode(ToolInputSchema, schema, LATEST_HANDSHAKE, "input_schema")
    except DecodeError as error:
        raise ValueError('%s: %s; arguments are an object: {"type": "object", ...}' % (where, error)) from None


def _check_hints(where: str, annotations: Any) -> None:
    if not isinstance(annotations, ToolAnnotations):
        raise TypeError("%s.annotations: expected ToolAnnotations, got %s" % (where, type(annotations).__name__))
    for name, value in vars(annotations).items():
        if name.endswith("_hint") and value is not None and type(value) is not bool:
            raise TypeError("%s.annotations.%s: expected a bool, got %r" % (where, name, value))


def _frames_inside() -> int:
    """Return the number of frames of this package on the stack, so that a warning names a line of the author's."""
    package = __name__.rpartition(".server.")[0] + "."
    frame: Optional[FrameType] = sys._getframe(1)
    count = 0
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(package):
        frame, count = frame.f_back, count + 1
    return count
