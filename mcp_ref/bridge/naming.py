"""The names of several servers behind one bridge, kept apart by a prefix for each.

===========================  ===============================  ======================================================
what                         at the server behind ``git``     at the client
===========================  ===============================  ======================================================
a tool, a prompt             ``status``                       ``git__status``
the URI of a resource        ``file:///a``                    ``git+file:///a``
a URI template               ``file:///{path}``               ``git+file:///{path}``
===========================  ===============================  ======================================================

A URI is one wherever a message has it: in lists, contents, links and embedded resources of results, in subscriptions
and the notifications about them. It stays a URI: ``git+file`` is a scheme [RFC 3986 §3.1]. Text is not looked into: the
description of a tool that names another tool, or a text with a URI, are as the server wrote them. A prefix begins with
a lower-case letter and goes on with letters and digits, so that the first ``__`` and the first ``+`` end it.
"""

import re
from typing import Any, Callable, Dict, List, Tuple

from ..methods import (
    CALL_TOOL, COMPLETE, GET_PROMPT, LIST_PROMPTS, LIST_RESOURCES, LIST_RESOURCE_TEMPLATES, LIST_TOOLS, READ_RESOURCE,
    RESOURCE_UPDATED, SUBSCRIBE, UNSUBSCRIBE,
)
from .translation import Json

_PREFIX = re.compile(r"[a-z][a-z0-9]*")
SEPARATOR, SCHEME = "__", "+"
NAMED = frozenset((CALL_TOOL, GET_PROMPT))
LOCATED = frozenset((READ_RESOURCE, SUBSCRIBE, UNSUBSCRIBE))
"""The requests that name a tool or a prompt, and those that name a resource."""
LISTS: Dict[str, str] = {LIST_TOOLS: "tools", LIST_PROMPTS: "prompts", LIST_RESOURCES: "resources",
                         LIST_RESOURCE_TEMPLATES: "resourceTemplates"}
"""The request of a list -> the member of its result."""


def checked(prefix: str) -> str:
    """Return a prefix. Raises ValueError for a text that is none."""
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        raise ValueError("a prefix is a lower-case letter, and then such letters and digits, not %.80r" % (prefix,))
    return prefix


def prefix_of(method: str, params: Json) -> str:
    """Return the prefix of the name or the URI in the params of a request; "" where there is none."""
    text, mark = _subject(method, params)
    prefix, found, _ = text.partition(mark)
    return prefix if found and _PREFIX.fullmatch(prefix) else ""


def _subject(method: str, params: Json) -> Tuple[str, str]:
    ref = params.get("ref")
    if method == COMPLETE and isinstance(ref, dict):
        named = "name" in ref
        return str(ref.get("name" if named else "uri", "")), SEPARATOR if named else SCHEME
    return (str(params.get("name", "")), SEPARATOR) if method in NAMED else (str(params.get("uri", "")), SCHEME)


def inward(prefix: str, method: str, params: Json) -> Json:
    """Return the params of a request as the server behind knows its names."""
    if method == COMPLETE and isinstance(params.get("ref"), dict):
        ref = params["ref"]
        name, mark = ("name", SEPARATOR) if "name" in ref else ("uri", SCHEME)
        return dict(params, ref=dict(ref, **{name: str(ref.get(name, ""))[len(prefix + mark):]}))
    if method in NAMED:
        return dict(params, name=params["name"][len(prefix + SEPARATOR):])
    return dict(params, uri=params["uri"][len(prefix + SCHEME):]) if method in LOCATED else params


def outward(prefix: str, method: str, message: Json) -> Json:
    """Return a result, or the params of a notification, as the client knows the names."""
    change = _OUTWARD.get(method)
    return message if change is None else change(prefix, message)


def outer_uri(prefix: str, uri: str) -> str:
    """Return the URI of a resource as the client knows it."""
    return prefix + SCHEME + uri


def _each(items: Any, change: Callable[[Json], Json]) -> Any:
    return [change(item) if isinstance(item, dict) else item for item in items] if isinstance(items, list) else items


def _within(item: Json, names: List[str], before: str) -> Json:
    found = {name: before + item[name] for name in names if isinstance(item.get(name), str)}
    return dict(item, **found) if found else item


def _lister(member: str, names: List[str], mark: str) -> Callable[[str, Json], Json]:
    def change(prefix: str, result: Json) -> Json:
        return dict(result, **{member: _each(result.get(member), lambda item: _within(item, names, prefix + mark))})

    return change


def _block(prefix: str, block: Json) -> Json:
    """Return a block of content; one that is a link or has a resource in it has a URI."""
    if block.get("type") == "resource_link":
        return _within(block, ["uri"], prefix + SCHEME)
    if block.get("type") == "resource" and isinstance(block.get("resource"), dict):
        return dict(block, resource=_within(block["resource"], ["uri"], prefix + SCHEME))
    return block


def _tool_result(prefix: str, result: Json) -> Json:
    return dict(result, content=_each(result["content"], lambda block: _block(prefix, block))) if (
        "content" in result) else result


def _prompt_result(prefix: str, result: Json) -> Json:
    def message(item: Json) -> Json:
        content = item.get("content")
        return dict(item, content=_block(prefix, content)) if isinstance(content, dict) else item

    return dict(result, messages=_each(result["messages"], message)) if "messages" in result else result


def _read_result(prefix: str, result: Json) -> Json:
    if "contents" not in result:
        return result
    return dict(result, contents=_each(result["contents"], lambda item: _within(item, ["uri"], prefix + SCHEME)))


_OUTWARD: Dict[str, Callable[[str, Json], Json]] = {
    LIST_TOOLS: _lister("tools", ["name"], SEPARATOR),
    LIST_PROMPTS: _lister("prompts", ["name"], SEPARATOR),
    LIST_RESOURCES: _lister("resources", ["uri"], SCHEME),
    LIST_RESOURCE_TEMPLATES: _lister("resourceTemplates", ["uriTemplate"], SCHEME),
    CALL_TOOL: _tool_result,
    GET_PROMPT: _prompt_result,
    READ_RESOURCE: _read_result,
    RESOURCE_UPDATED: lambda prefix, params: _within(params, ["uri"], prefix + SCHEME),
}
"""Message -> the function that puts the prefix before the names in it."""
