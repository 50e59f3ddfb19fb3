"""Checks of the names, texts and options that an author gives a server or registers.

They are checked at registration, because a client refuses the whole list in which one title is no text.
Icons, annotations and `_meta` are checked by `mcp_ref.protocol.content`, which is loaded only where an author gives
some.

The schemas, annotations and names of tools are checked here, too. What those checks need is loaded with the first tool
that has more than a function of a plain name.
"""

import sys
from dataclasses import replace
from types import FrameType, FunctionType
from typing import TYPE_CHECKING, Any, Callable, Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Tuple

from ...codec import DecodeError, decode
from ...options import closest
from ...revisions import LATEST_HANDSHAKE

if TYPE_CHECKING:
    from ...messages.base import Icon
    from ..tools import RegisteredTool
    from .visibility import Visible

TOOL_NAMES = "2025-11-25.. server/tools §Tool Names"
"""The section that has the rule of names."""
MAX_NAME_LENGTH = 128

_ALLOWED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")


def name_of(kind: str, function: Any, name: Optional[str]) -> str:
    """Return the name of a tool or a prompt: ``name`` if it was given, or that of the function.

    ``kind`` is "tool" or "prompt", for errors. Raises TypeError for an object that cannot be called, and ValueError
    if there is no name.
    """
    if not callable(function):
        text = "@server.%s is for a function, not %.80r; a name goes in as @server.%s(name=...)"
        raise TypeError(text % (kind, function, kind))
    name = name or getattr(function, "__name__", None) or ""
    if not name or name == "<lambda>":
        raise ValueError("a %s needs a name: pass name=..." % kind)
    return name


def check_texts(where: str, **texts: Any) -> None:
    """Raise TypeError, naming the option, for a value that is neither a str nor None. ``texts``: option -> value."""
    for option, text in texts.items():
        if text is not None and not isinstance(text, str):
            raise TypeError("%s: %s is a str, got %.80r" % (where, option, text))


class Paging(NamedTuple):
    """The form of a server's lists. ``size``: items in a page, None for all. ``by_name``: sorted by key (name or URI).
    """

    size: Optional[int] = None
    by_name: bool = False


def paging_of(page_size: Optional[int], order: str) -> Paging:
    """Return the `Paging` of a server. Raises ValueError for a page of no items, and for an unknown order."""
    if page_size is not None and page_size < 1:
        raise ValueError("page_size must be at least 1, got %r" % (page_size,))
    if order not in ("registration", "name"):
        raise ValueError('order, of lists, is "registration" or "name", not %r' % (order,))
    return Paging(page_size, order == "name")


FEATURES = ("tools", "resources", "prompts", "completions", "logging")
"""The features that a server may declare before anything of them is registered."""


def check_features(features: Sequence[str]) -> FrozenSet[str]:
    """Return the features that a server declares in any case. Raises TypeError or ValueError for unknown names."""
    if isinstance(features, str):
        raise TypeError("features is a list of names, such as [%r], not a str" % features)
    for name in features:
        if name not in FEATURES:
            close = closest(name, FEATURES) if isinstance(name, str) else ""
            raise ValueError("%r is no feature of a server%s (features: %s)" % (
                name, "; did you mean %r?" % close if close else "", ", ".join(FEATURES)))
    return frozenset(features)


def check_cache(where: str, cache: Any) -> None:
    """Raise TypeError for a value that is neither a `Cache` nor None; ``where`` begins the text."""
    if cache is not None:
        from .caching import check_hint

        check_hint(where, cache)


def visible_of(where: str, function: Optional[Callable[..., Any]]) -> "Optional[Visible]":
    """Return what the option ``visible`` of a member says, None if everybody sees the member. Raises as `Visible`."""
    if function is None:
        return None
    from .visibility import Visible

    return Visible(where, function)


def check_introduction(website_url: Optional[str], icons: "Optional[List[Icon]]", experimental: Any) -> None:
    """Check the website, icons and experimental capabilities of a server. Raises TypeError or ValueError."""
    if website_url is not None or icons is not None:
        from ...protocol.content import check_item, check_uri

        check_item("Server", icons=icons)
        if website_url is not None:
            check_uri("Server.website_url", website_url)
    if experimental is None:
        return
    if not isinstance(experimental, dict) or not all(isinstance(value, dict) for value in experimental.values()):
        raise TypeError("experimental is a dict of dicts: capability -> settings, got %.80r" % (experimental,))


def check_socket(auth: Any, address: str) -> None:
    """Raise ValueError for a server with ``auth`` on a TCP socket, where clients cannot present a token.

    On a Unix socket, which only its owner can open, a warning is logged instead.
    """
    if auth is None:
        return
    if not address.startswith("unix:"):
        raise ValueError("this server has auth, and on %s nobody could show a token: listen on http://, or on unix://, "
                         "whose file only its owner can open" % address)
    from ...diagnostics.packagelog import get_logger

    get_logger(__name__).warning("auth is for HTTP: on %s nobody has to show a token", address)


def tool_name_fault(name: str) -> str:
    """Describe what is wrong with the name of a tool, with the rule and its page; "" for a good name.

    A name is 1 to 128 characters, each an ASCII letter, a digit, ``_``, ``-`` or ``.``; upper and lower case differ
    [2025-11-25.. server/tools §Tool Names]. All of this is a SHOULD, and older revisions have no rule, so a tool of a
    peer may have another name. For a tool of our own another name is worth a warning, because some clients refuse
    such tools; a strict server refuses it.

    >>> tool_name_fault("admin.tools.list"), tool_name_fault("DATA_EXPORT_v2")
    ('', '')
    >>> tool_name_fault("get user")
    "tool name 'get user' has ' ': only A-Z a-z 0-9 _ - . SHOULD be used [2025-11-25.. server/tools §Tool Names]"
    """
    if not 1 <= len(name) <= MAX_NAME_LENGTH:
        text = "has %d characters: there SHOULD be 1 to %d" % (len(name), MAX_NAME_LENGTH)
    elif not _ALLOWED.issuperset(name):
        strange = next(sign for sign in name if sign not in _ALLOWED)
        text = "has %s: only A-Z a-z 0-9 _ - . SHOULD be used" % ascii(strange)
    else:
        return ""
    shown = name if len(name) <= 40 else name[:37] + "..."
    return "tool name %s %s [%s]" % (ascii(shown), text, TOOL_NAMES)


def check_odd_name(text: str, lenient: bool) -> None:
    """Warn of a name, or raise ValueError if the server is strict; ``text`` says what is wrong with the name.

    Some clients refuse tools of such names [2025-11-25.. server/tools §Tool Names] SHOULD.
    """
    if not lenient:
        raise ValueError(text)
    import warnings

    warnings.warn(text, stacklevel=_frames_inside() + 1)


def check_tool(tool: "RegisteredTool") -> None:
    """Refuse schemas, annotations, icons and `_meta` that may not be sent. Raises TypeError or ValueError.

    A schema may have an unsupported dialect, a reference that leads nowhere, a keyword with a wrong value, and an
    input schema must be one of an object [.. server/tools §Tool]. Output schemas may describe anything; revisions that
    only know objects do not get the others (`mcp_ref.messages.downgrade`).
    """
    from ...protocol.content import check_item

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
    from ...messages.tools import ToolInputSchema

    try:
        decode(ToolInputSchema, schema, LATEST_HANDSHAKE, "input_schema")
    except DecodeError as error:
        raise ValueError('%s: %s; arguments are an object: {"type": "object", ...}' % (where, error)) from None


def _check_hints(where: str, annotations: Any) -> None:
    from ...messages.tools import ToolAnnotations

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


def with_hints(annotations: Any, hints: Dict[str, Optional[bool]]) -> Any:
    """Return the annotations of a tool with these hints: attribute -> True, False, or None for none of it.

    Raises TypeError for a hint that is no bool, and ValueError for one that the annotations have, too.
    """
    from ...messages.tools import ToolAnnotations

    given: Dict[str, Any] = {name: value for name, value in hints.items() if value is not None}
    for name, value in given.items():
        if type(value) is not bool:
            raise TypeError("%s of a tool is True or False, got %.80r" % (name[:-len("_hint")], value))
        if annotations is not None and getattr(annotations, name, None) is not None:
            raise ValueError("%s of a tool is said twice: as an option and in annotations" % name[:-len("_hint")])
    return ToolAnnotations(**given) if annotations is None else replace(annotations, **given)


def public_methods(source: object) -> List[Tuple[str, Callable[..., Any]]]:
    """Return the public methods of an object by name, as `Server.add` takes them: those of base classes first.

    Raises TypeError for a class, and for an object without any.
    """
    if isinstance(source, type):
        raise TypeError("add takes an object, and %s is a class: make the object first" % source.__name__)
    names = [name for each in reversed(type(source).__mro__) if each is not object for name in vars(each)]
    found = [(name, getattr(source, name)) for name in dict.fromkeys(names)
             if not name.startswith("_") and isinstance(getattr(type(source), name, None), FunctionType)]
    if not found:
        raise TypeError("%.80r has no public methods, which add could make tools" % (source,))
    return found
