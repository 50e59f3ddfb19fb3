"""The context that every request carries where there is no handshake: version, capabilities, identity, log level.

[2026-07-28 basic/index §`_meta`]. These members of `_meta` are all that a server knows of a client, and they hold for
this one request [2026-07-28 basic/index §Statelessness] MUST NOT [2026-07-28 schema.json §RequestMetaObject] MUST NOT.

======================================  ===========  ==================================================
member                                  required     if it is missing or is not what it should be
======================================  ===========  ==================================================
``.../protocolVersion``                 yes          -32602; one that we do not serve: -32022
``.../clientCapabilities``              yes          -32602
``.../clientInfo``                      no           -32602 if it is there and is no `Implementation`
``.../logLevel``                        no           -32602 if it is there and is no level
======================================  ===========  ==================================================

Reading: the version is read first, because it decides by which rules the others are read. Versions that open with
`initialize` are among those that an error lists as supported, since the page's own example does so; in `_meta` they
are refused like any other that we do not serve there.
"""

from typing import Any, Callable, Dict, Mapping, NamedTuple, NoReturn, Optional, Sequence, Set

from ..codec import DecodeError, decoder
from ..errors import INVALID_PARAMS, UNSUPPORTED_PROTOCOL_VERSION, RpcError
from ..jsonrpc import json_type, shown
from ..readers import Checked
from ..revisions import Revision, find

PREFIX = "io.modelcontextprotocol/"
VERSION = PREFIX + "protocolVersion"
CAPABILITIES = PREFIX + "clientCapabilities"
CLIENT_INFO = PREFIX + "clientInfo"
LOG_LEVEL = PREFIX + "logLevel"
SUBSCRIPTION = PREFIX + "subscriptionId"
SERVER_INFO = PREFIX + "serverInfo"
TRACE_KEYS = ("traceparent", "tracestate", "baggage")
"""The members that carry a distributed trace, see `mcp_ref.protocol.metakeys`."""
USUAL = frozenset((VERSION, CAPABILITIES, CLIENT_INFO, LOG_LEVEL, "progressToken"))
"""The names in the `_meta` of most requests; a `_meta` with no others needs no further check of its names."""


class Envelope(NamedTuple):
    """The context of one request; ``capabilities`` and ``client_info`` are as they came."""

    revision: Revision
    capabilities: Mapping[str, Any]
    client_info: Mapping[str, Any] = {}
    log_level: Optional[str] = None
    """The lowest level of log messages that the request asks for; None if it asks for none."""


def carries(params: Optional[Mapping[str, Any]]) -> bool:
    """Return True if a request is one of the stateless era, by the members of its `_meta`.

    One of the two required members is enough: a request that lacks the other is malformed, and not an older one.
    """
    meta = params.get("_meta") if params else None
    return isinstance(meta, dict) and (VERSION in meta or CAPABILITIES in meta)


def fields(
    revision: Revision, capabilities: Mapping[str, Any], client_info: Optional[Mapping[str, Any]] = None,
    log_level: Optional[str] = None,
) -> Dict[str, Any]:
    """Return the members that a client puts into `_meta` of each request; capabilities and identity are as on the
    wire."""
    made: Dict[str, Any] = {VERSION: revision.name, CAPABILITIES: capabilities}
    if client_info is not None:
        made[CLIENT_INFO] = client_info
    if log_level is not None:
        made[LOG_LEVEL] = log_level
    return made


def read(params: Optional[Mapping[str, Any]], ours: Sequence[Revision]) -> Envelope:
    """Return the context of a request; ``ours`` are the revisions that this server speaks.

    Raises `RpcError` -32602 for malformed members [2026-07-28 basic/index §`_meta`] MUST, and -32022 for a version that
    is not served [2026-07-28 basic/versioning §Protocol Version Negotiation] MUST.
    """
    meta = params.get("_meta") if params else None
    if meta is None and not (params and "_meta" in params):
        _refuse("_meta: expected object, got nothing: send initialize first (up to 2025-11-25), or name the protocol "
                "version in _meta of each request (2026-07-28)")
    if not isinstance(meta, dict):
        _refuse("_meta: expected object, got %s" % json_type(meta))
    version = meta.get(VERSION)
    if type(version) is not str:
        _refuse("_meta[%s]: expected string, got %s" % (VERSION, _found(meta, VERSION)))
    revision = find(version)
    if revision is None or not revision.stateless or revision not in ours:
        raise unsupported(version, ours)
    capabilities = meta.get(CAPABILITIES)
    if not isinstance(capabilities, dict):
        _refuse("_meta[%s]: expected object, got %s" % (CAPABILITIES, _found(meta, CAPABILITIES)))
    if capabilities:
        _check_capabilities(capabilities, revision)
    info = meta.get(CLIENT_INFO)
    if (info is not None or CLIENT_INFO in meta) and not _is_plain(info):
        _check(_readers(revision)[1], info, CLIENT_INFO)
    level = meta.get(LOG_LEVEL)
    if level is not None or LOG_LEVEL in meta:
        # [2026-07-28 server/utilities/logging §Error Handling] SHOULD
        from ..messages.logs import LEVELS

        if level not in LEVELS:
            _refuse("_meta[%s]: expected one of %s, got %s" % (LOG_LEVEL, ", ".join(LEVELS), shown(str(level))))
    return Envelope(revision, capabilities, info if info is not None else {}, level)


def unsupported(version: Any, ours: Sequence[Revision]) -> RpcError:
    """Return the refusal of a version, with those that this server speaks, newest first."""
    supported = [revision.name for revision in reversed(ours)]
    text = "Unsupported protocol version: %s; supported are %s" % (shown(str(version)), ", ".join(supported))
    return RpcError(UNSUPPORTED_PROTOCOL_VERSION, text, {"supported": supported, "requested": str(version)[:80]})


def _found(meta: Mapping[str, Any], name: str) -> str:
    return json_type(meta[name]) if name in meta else "nothing"


def _refuse(what: str) -> NoReturn:
    raise RpcError(INVALID_PARAMS, "Invalid params: params.%s" % what)


def _check(read: Callable[[Any, str], Any], value: Any, name: str) -> None:
    try:
        read(value, name)
    except DecodeError as error:
        error.location = error.location[1:]  # the name of the member is longer than what a path shows in full
        inner = "." + error.path if error.location else ""
        _refuse("_meta[%s]%s: expected %s, got %s" % (name, inner, error.expected, error.got))


def _check_capabilities(capabilities: Dict[str, Any], revision: Revision) -> None:
    """Check a declaration, each text once: most clients send the same in all their requests."""
    text = revision.name + repr(capabilities)
    if text not in _KNOWN:
        _check(_readers(revision)[0], capabilities, CAPABILITIES)
        if len(text) < _LONG:
            if len(_KNOWN) >= _MANY:
                _KNOWN.clear()
            _KNOWN.add(text)


def _is_plain(info: Any) -> bool:
    """Return True if an identity is a name and a version and nothing more, as most are: it needs no reader."""
    return (type(info) is dict and len(info) == 2 and type(info.get("name")) is str
            and type(info.get("version")) is str)


def checked(meta: Dict[str, Any]) -> Dict[str, Any]:
    """Return a `_meta` that `read` has accepted, marked so that the reader of the params does not check it again.

    A progress token of a wrong type is not refused here but by the reader of the params.
    """
    return Checked(meta) if type(meta.get("progressToken", 0)) in (int, str) else meta


_KNOWN: Set[str] = set()
"""Declarations that were found to be well-formed."""
_MANY, _LONG = 64, 1000
_MADE: Dict[str, Any] = {}


def _readers(revision: Revision) -> Any:
    """Return the readers of capabilities and of an identity, made when the first request needs them."""
    found = _MADE.get(revision.name)
    if found is None:
        from ..messages.base import Implementation
        from ..messages.lifecycle import ClientCapabilities

        found = _MADE[revision.name] = (decoder(ClientCapabilities, revision), decoder(Implementation, revision))
    return found
