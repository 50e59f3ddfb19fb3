"""Messages and errors of one revision as those of another, for the two sides of a bridge.

Where both sides speak the same revision, everything passes as it came, unknown members included. Otherwise a message is
read by the rules of the revision that it came in and written by those of the other: `mcp_ref.codec` keeps members that
nobody knows, leaves out those that the other revision lacks, and has a form for content that must not be left out
(`mcp_ref.messages.downgrade`).

Some members of `_meta` belong to one side alone and are taken out: the progress token, for each side has its own, and
what a stateless request says of its sender.
"""

from secrets import token_hex
from typing import Any, Dict, Mapping, Optional

from ..codec import DecodeError, Unrepresentable, decode, encode, members
from ..errors import ABOUT_REQUESTS, INTERNAL_ERROR, INVALID_PARAMS, RESOURCE_NOT_FOUND, PeerError, RpcError
from ..messages.lifecycle import ClientCapabilities, ServerCapabilities
from ..methods import READ_RESOURCE, SKILLS, TASKS, Method, lookup, params_class, result_class
from ..protocol.capabilities import extensions_in
from ..protocol.envelope import CAPABILITIES, CLIENT_INFO, LOG_LEVEL, SERVER_INFO, VERSION
from ..revisions import Revision

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

    Code, message and data are the same. What a code means in the handshake era only, `mcp_ref.server.failures`
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
