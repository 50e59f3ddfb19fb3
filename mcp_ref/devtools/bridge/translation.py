"""Translation between the two sides of a bridge: messages and errors of other revisions, names of several servers.

Where both sides speak the same revision, everything passes as it came, unknown members included. Otherwise a message is
read by the rules of the revision that it came in and written by those of the other: `mcp_ref.codec` keeps members that
nobody knows, leaves out those that the other revision lacks, and has a form for content that must not be left out
(`mcp_ref.messages.downgrade`).

Some members of `_meta` belong to one side alone and are taken out: the progress token, for each side has its own, and
what a stateless request says of its sender.

The names of several servers behind one bridge are kept apart by a prefix for each:

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
from secrets import token_hex
from typing import Any, Callable, Dict, Mapping, Optional, Tuple

from ...codec import DecodeError, Unrepresentable, decode, encode, members
from ...errors import ABOUT_REQUESTS, INTERNAL_ERROR, INVALID_PARAMS, RESOURCE_NOT_FOUND, PeerError, RpcError
from ...messages.lifecycle import ClientCapabilities, ServerCapabilities
from ...methods import (
    CALL_TOOL, COMPLETE, GET_PROMPT, LIST_PROMPTS, LIST_RESOURCES, LIST_RESOURCE_TEMPLATES, LIST_TOOLS, READ_RESOURCE,
    RESOURCE_UPDATED, SKILLS, SUBSCRIBE, TASKS, UNSUBSCRIBE, Method, lookup, params_class, result_class,
)
from ...protocol.envelope import CAPABILITIES, CLIENT_INFO, LOG_LEVEL, SERVER_INFO, VERSION
from ...protocol.lifecycle import extensions_in
from ...revisions import Revision

Json = Dict[str, Any]
OF_ONE_SIDE = frozenset((VERSION, CAPABILITIES, CLIENT_INFO, LOG_LEVEL, "progressToken"))
"""The members of the `_meta` of a request that are not for the other side."""
OFFICIAL = (TASKS, SKILLS)
"""The extensions whose methods have names without a prefix of their own, so that a bridge has to know them."""
OF_TASKS = ("tasks",)
"""The capabilities whose requests a bridge passes on only between two sides of one revision."""


def known_to_both(method: str, source: Revision, target: Revision) -> Optional[Method]:
    """Return the row of a method in ``target``; None for a method outside of the specification.

    Raises `RpcError` -32601 for one that only ``source`` has.
    """
    here, there = lookup(method, source), lookup(method, target)
    if here is not None and there is None:
        text = "Method not found: %s, which revision %s of the server behind this bridge does not have"
        raise RpcError(-32601, text % (method, target))
    return there if here is not None else None


def params_of(method: str, params: Json, source: Revision, target: Revision) -> Json:
    """Return the params of a request in the other revision, without a `_meta`.

    Raises `RpcError` -32602 for params that are none, and where the other revision has no form for them.
    """
    row, made = known_to_both(method, source, target), params
    if source is not target and row is not None:
        try:
            message = decode(params_class(row), params, source)
            message.meta = message.meta or {}  # stateless requests have one; the sender fills it
            if target.elicitation_ids and getattr(message, "mode", None) == "url" and not message.elicitation_id:
                message.elicitation_id = token_hex(8)  # nothing will tell of its completion, which is a MAY
            made = encode(message, target)
        except (DecodeError, Unrepresentable) as error:
            raise RpcError(INVALID_PARAMS, "Invalid params: %s" % error) from None
    return {name: value for name, value in made.items() if name != "_meta"}


def meta_of(params: Mapping[str, Any]) -> Json:
    """Return the members of the `_meta` of a request that are for the other side, too."""
    meta = params.get("_meta")
    return {name: value for name, value in meta.items() if name not in OF_ONE_SIDE} if isinstance(meta, dict) else {}


def result_of(method: str, result: Json, source: Revision, target: Revision) -> Json:
    """Return a result in the other revision. Raises `RpcError` -32603 where that has no form for it."""
    row = lookup(method, target)
    if source is target or row is None:
        return result
    try:
        made = encode(decode(result_class(row), result, source, "result"), target)
    except (DecodeError, Unrepresentable) as error:
        raise RpcError(INTERNAL_ERROR, "The answer to %s cannot be passed on: %s" % (method, error)) from None
    meta = made.get("_meta")
    if not target.stateless and isinstance(meta, dict) and SERVER_INFO in meta:
        made["_meta"] = {name: value for name, value in meta.items() if name != SERVER_INFO}
        if not made["_meta"]:
            del made["_meta"]
    return made


def error_of(error: PeerError, method: str, source: Revision, target: Revision) -> RpcError:
    """Return the error of the server as that which the client gets.

    Code, message and data are the same. What a code means in the handshake era only, `mcp_ref.server.results`
    replaces; refusals that the stateless era alone has, such as that of a client which lacks a capability, become
    -32603. A stateless server says -32602 of a resource that is not there; with its URI beside, it is told from wrong
    params.
    """
    code, data = error.code, error.data
    if not target.stateless and code in ABOUT_REQUESTS:
        code = INTERNAL_ERROR
    if source.stateless and method == READ_RESOURCE and code == INVALID_PARAMS and (
            isinstance(data, dict) and "uri" in data):
        code = RESOURCE_NOT_FOUND
    return RpcError(code, error.message, data)


def client_capabilities(declared: Mapping[str, Any], source: Revision) -> ClientCapabilities:
    """Return what the client can do, to be declared to the server behind, in whatever revision that speaks."""
    made: ClientCapabilities = decode(ClientCapabilities, dict(declared), source, "capabilities")
    if source.stateless and made.roots is not None:
        made.roots.list_changed = None  # nobody would tell
    return made


def server_capabilities(declared: Mapping[str, Any], source: Revision, target: Revision) -> Json:
    """Return what the server behind can do, as it is declared to the client.

    2024-11-05 has completions and no capability for them, so a newer client is told that there are some. Extensions
    that have methods of their own names are declared between two sides of one revision; of the others, such as apps, a
    bridge need know nothing, and they are declared in all revisions, see `mcp_ref.peer.extension`.
    """
    made: ServerCapabilities = decode(ServerCapabilities, dict(declared), source, "capabilities")
    if source is not target:
        named = {member.wire for member in members(ServerCapabilities) if member.exists(source)}
        if "completions" not in named:
            made.completions = {}
        for name in OF_TASKS:
            setattr(made, name, None)
    wire: Json = encode(made, target)
    found = {name: settings for name, settings in extensions_in(declared).items()
             if source is target and target.stateless or name not in OFFICIAL}
    wire.pop("extensions", None)
    return dict(wire, extensions=found) if found else wire


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


Change = Callable[[str, Json], Json]
"""A function that puts a prefix before the names in an object."""


def _before(name: str, mark: str) -> Change:
    """Return a function that puts the prefix before one member of an object."""
    def change(prefix: str, item: Json) -> Json:
        return dict(item, **{name: prefix + mark + item[name]}) if isinstance(item.get(name), str) else item

    return change


def _in_each(member: str, change: Change) -> Change:
    """Return a function that changes each object in a list, which is one member of a result."""
    def change_all(prefix: str, result: Json) -> Json:
        items = result.get(member)
        if not isinstance(items, list):
            return result
        return dict(result, **{member: [change(prefix, item) if isinstance(item, dict) else item for item in items]})

    return change_all


_URI = _before("uri", SCHEME)


def _block(prefix: str, block: Json) -> Json:
    """Return a block of content; one that is a link or has a resource in it has a URI."""
    if block.get("type") == "resource_link":
        return _URI(prefix, block)
    if block.get("type") == "resource" and isinstance(block.get("resource"), dict):
        return dict(block, resource=_URI(prefix, block["resource"]))
    return block


def _message(prefix: str, item: Json) -> Json:
    content = item.get("content")
    return dict(item, content=_block(prefix, content)) if isinstance(content, dict) else item


_OUTWARD: Dict[str, Change] = {
    LIST_TOOLS: _in_each("tools", _before("name", SEPARATOR)),
    LIST_PROMPTS: _in_each("prompts", _before("name", SEPARATOR)),
    LIST_RESOURCES: _in_each("resources", _URI),
    LIST_RESOURCE_TEMPLATES: _in_each("resourceTemplates", _before("uriTemplate", SCHEME)),
    CALL_TOOL: _in_each("content", _block),
    GET_PROMPT: _in_each("messages", _message),
    READ_RESOURCE: _in_each("contents", _URI),
    RESOURCE_UPDATED: _URI,
}
"""Message -> the function that puts the prefix before the names in it."""
