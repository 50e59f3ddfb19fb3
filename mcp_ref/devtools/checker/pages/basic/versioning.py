"""Rules of versions and eras [..2025-11-25 basic/lifecycle §Version Negotiation], [2026-07-28 basic/versioning],
[2026-07-28 server/discover].
"""

import re
from typing import Any, Dict, List, Optional, Tuple

from .....methods import DISCOVER, INITIALIZE
from .....revisions import HANDSHAKE_REVISIONS, NAMES
from .....wiretrace import CLIENT, SERVER
from ...observed import ERROR, META_CAPABILITIES, META_REVISION, REQUEST, RESULT, Message, ObservedConnection
from ...rules import FINISH, KEPT, UNDECIDED, Broken, CannotTell, Verdict, noted, observe, rule
from ...values import is_dated, labels_are_fit, name_is_fit, prefix_has_labels, prefix_of, shown

_INSIDE = "the versions that a client supports are inside it"

UNDECIDED.update({
    "version.client-sends-latest": _INSIDE,
    "version.client-disconnect": _INSIDE + "; going on with an odd version is its server's fault first",
    "version.client-must-disconnect": _INSIDE + "; going on with an odd version is its server's fault first",
})

HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION = -32020, -32021, -32022
MODERN_CODES = (HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION)
_CORE_TYPES = ("complete", "input_required")
_GRACE = 5.0
"""Seconds within which a request may have been under way when its version was refused."""
_TELLING = (DISCOVER, INITIALIZE)
_MOST = 64
LONGEST = 2 ** 53
"""Milliseconds above which a time is as good as for ever: an integer of JSON may be too large for a float."""
_VERSION = re.compile(r"\d{4}-\d\d-\d\d")


class Era:
    """The versions of a connection's server, as far as they have shown."""

    def __init__(self) -> None:
        self.modern = False
        """True once the server has said something that only a revision without handshake has."""
        self.supported: Optional[List[str]] = None
        """The versions that it has listed last."""
        self.refused: Optional[Tuple[float, List[str]]] = None
        """When it has refused a version, and what it has listed then; None if the client has chosen one of them."""
        self.echoed: Dict[str, None] = {}
        """The versions that it has agreed to."""
        self.probe_failed = False
        """True if `server/discover` was answered by an error that says nothing of a revision without handshake."""
        self.refusal: Optional[Message] = None
        """The error that `initialize` was answered with, if it names no version."""
        self.fresh_until = 0.0
        """Until when the last answer to `server/discover` holds."""
        self.opened = False
        """True once `initialize` had a result."""
        self.unknown_discover: Optional[Message] = None
        """The error that says that there is no `server/discover`, if the server had not yet shown its versions."""


def speaks_modern(connection: ObservedConnection) -> bool:
    """Return True if the server has shown that it implements a revision without handshake.

    A server of an older revision may answer a request of a newer one as if it were its own, and breaks nothing by it.
    """
    return connection.state(Era).modern


def strings(value: Any) -> Optional[List[str]]:
    """Return a list of strings, at most 64; None if it is none."""
    return value[:_MOST] if isinstance(value, list) and all(isinstance(each, str) for each in value[:_MOST]) else None


def _error_data(message: Message) -> Dict[str, Any]:
    data = message.error.get("data")
    return data if isinstance(data, dict) else {}


@rule("version.client-sends-supported", on=REQUEST, method=INITIALIZE,
      follows="lifecycle.init-protocol-version", scene="""
    on stdio 2025-06-18 bare
  + C #1 initialize {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
  - C #1 initialize {"protocolVersion": "latest", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    S #1 {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    C notifications/initialized
""")
def client_sends_supported(message: Message) -> Verdict:
    """The client asks for a version of the protocol; a text that cannot be one is supported by nobody."""
    version = message.params.get("protocolVersion")
    if not isinstance(version, str) or message.sender != CLIENT:
        return None
    if is_dated(version):
        return KEPT if version in NAMES else CannotTell("the versions that the client supports")
    return Broken("the version is %s" % shown(version), "params.protocolVersion")


def _versions(message: Message) -> Tuple[Any, Any]:
    """Return the version that was asked for, and the one in the answer."""
    asked = message.request.params.get("protocolVersion") if message.request is not None else None
    return asked, message.result.get("protocolVersion")


_SAME = """
    on stdio 2025-06-18 bare
    C #1 server/discover {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", \
"io.modelcontextprotocol/clientCapabilities": {}}}
    S #1 !-32022 "Unsupported protocol version" {"supported": ["2025-03-26", "2025-06-18"], "requested": "2026-07-28"}
    C #2 initialize {"protocolVersion": "%s", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
  + S #2 {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
  - S #2 {"protocolVersion": "2025-03-26", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
    C notifications/initialized
"""


@rule("version.server-same", on=RESULT, method=INITIALIZE, scene=_SAME % "2025-06-18")
def server_same(message: Message) -> Verdict:
    """A server that supports the version it is asked for answers with the same."""
    asked, answered = _versions(message)
    if not isinstance(asked, str) or not isinstance(answered, str) or message.sender != SERVER:
        return None
    if asked == answered:
        return KEPT
    era = message.connection.state(Era)
    if asked in era.echoed or asked in (era.supported or ()):
        return Broken("%s for %s, which it supports" % (shown(answered), asked), "result.protocolVersion")
    return CannotTell("the versions that the server supports")


@rule("version.server-other", on=(RESULT, ERROR), method=INITIALIZE, scene="""
    on stdio 2025-06-18 bare
    C #1 initialize {"protocolVersion": "2024-10-07", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
  + S #1 {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
  - S #1 {"protocolVersion": "1.0", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
    C notifications/initialized
""")
def server_other(message: Message) -> Verdict:
    """A server that does not support the version it is asked for answers with another version of the protocol."""
    asked, answered = _versions(message)
    if message.sender != SERVER:
        return None
    if message.kind == ERROR:
        return CannotTell("the rule for errors: the page's example refuses a version by one") if (
            asked not in NAMES) else None
    if not isinstance(answered, str):
        return None
    if is_dated(answered) or asked == answered:
        return KEPT if answered in NAMES else CannotTell("the versions that the server supports")
    return Broken("the version is %s" % shown(answered), "result.protocolVersion")


@rule("version.server-latest", on=RESULT, method=INITIALIZE, follows="version.server-same", scene=_SAME % "2024-10-07")
def server_latest(message: Message) -> Verdict:
    """A server that does not support the version it is asked for offers the latest that it has."""
    asked, answered = _versions(message)
    if asked == answered or answered not in NAMES or message.sender != SERVER:
        return None
    era = message.connection.state(Era)
    known = [each.name for each in HANDSHAKE_REVISIONS if each.name in era.echoed or each.name in (era.supported or ())]
    if asked in known:
        return None
    if known and NAMES.index(known[-1]) > NAMES.index(answered):
        return Broken("%s, and it supports %s" % (answered, known[-1]), "result.protocolVersion")
    return KEPT if known else CannotTell("the versions that the server supports")


@rule("version.unsupported-error", on=(RESULT, ERROR), always=True, scene="""
    on stdio 2026-07-28
    C #1 server/discover {}
    S #1 {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    C #2 tools/list {"_meta": {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}}
  + S #2 !-32022 "Unsupported protocol version" {"supported": ["2026-07-28"], "requested": "2099-01-01"}
  - S #2 {"tools": []}
""")
def unsupported_error(message: Message) -> Verdict:
    """A version that the server does not support is answered by the error -32022, which lists those that it does."""
    asked = message.request.meta.get(META_REVISION) if message.request is not None else None
    if not isinstance(asked, str) or message.sender != SERVER:
        return None
    if message.kind == ERROR:
        if message.error.get("code") != UNSUPPORTED_VERSION:
            return None
        return KEPT if strings(_error_data(message).get("supported")) else Broken(
            "no list of supported versions", "error.data.supported")
    supported = message.connection.state(Era).supported
    if supported is None and (asked in NAMES or is_dated(asked)):
        return None if asked in NAMES else CannotTell("the versions that the server supports")
    if supported is not None and asked in supported:
        return None
    if not speaks_modern(message.connection) and "resultType" not in message.result:
        return CannotTell("whether the server is of a revision without handshake")
    return Broken("a result for the version %s, which it has not listed" % shown(asked))


@rule("version.select-supported", on=REQUEST, when="outdated", always=True, scene="""
    on stdio 2026-07-28
    C #1 tools/list {"_meta": {"io.modelcontextprotocol/protocolVersion": "2027-01-01"}}
    S #1 !-32022 "Unsupported protocol version" {"supported": ["2026-07-28"], "requested": "2027-01-01"}
    @ 10
  + C #2 tools/list {}
  + S #2 {"tools": []}
  - C #2 tools/list {"_meta": {"io.modelcontextprotocol/protocolVersion": "2027-01-01"}}
""")
def select_supported(message: Message) -> Verdict:
    """After its version was refused a client goes on with one that the server has listed, or stops."""
    refused = message.connection.state(Era).refused
    named = message.params.get("protocolVersion") if message.method == INITIALIZE else message.meta.get(META_REVISION)
    if refused is None or message.sender != CLIENT or not isinstance(named, str):
        return None
    since, supported = refused
    if named in supported:
        return KEPT
    if message.connection.http or message.time - since <= _GRACE:
        return CannotTell("whether the client knew the answer when it sent the request")
    return Broken("%s with the version %s" % (message.method, shown(named)))


@rule("version.cache-era", on=REQUEST, method=DISCOVER, scene="""
    on stdio 2026-07-28
    C #1 server/discover {}
    S #1 !-32601 "Method not found"
    C #2 initialize {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    S> {"jsonrpc": "2.0", "id": 2, "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, \
"serverInfo": {"name": "s", "version": "1"}}}
    C notifications/initialized
  - C #3 server/discover {}
  - S #3 !-32601 "Method not found"
""")
def cache_era(message: Message) -> Verdict:
    """A client asks a server's process for its era once, and keeps the answer."""
    if message.connection.http or message.sender != CLIENT:
        return None
    era = message.connection.state(Era)
    return "one more probe after the handshake" if era.probe_failed and era.opened else KEPT


@rule("version.modern-only-initialize-error", on=(ERROR, FINISH), always=True, scene="""
    on stdio 2026-07-28
    C #1 initialize {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
  + S #1 !-32601 "Only 2026-07-28 is supported: send requests with _meta"
  - S #1 !-32601 "Method not found"
    C #2 tools/list {}
    S #2 {"tools": []}
""")
def modern_only_initialize_error(subject: Any) -> Verdict:
    """A server without handshake names the versions it supports when it refuses `initialize`."""
    if isinstance(subject, ObservedConnection):
        era = subject.state(Era)
        return Broken("the error names no version", "error", at=era.refusal) if (
            era.refusal is not None and era.modern and not era.opened) else None
    if subject.method != INITIALIZE or subject.sender != SERVER:
        return None
    return KEPT if _VERSION.search(shown(subject.error, 4096)) else None


@rule("discover.server-must", "version.base-required", on=(RESULT, ERROR, FINISH), method=(DISCOVER, ""), scene="""
    on stdio 2026-07-28
    C #1 tools/list {}
    S #1 {"tools": []}
    C #2 server/discover {}
  + S #2 {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
  - S #2 !-32601 "Method not found"
""")
def server_must(subject: Any) -> Verdict:
    """A server answers `server/discover`."""
    if isinstance(subject, ObservedConnection):
        era = subject.state(Era)
        return Broken("the method is not found", at=era.unknown_discover) if (
            era.unknown_discover is not None and era.modern and not subject.http) else None
    if subject.method != DISCOVER:
        return None
    if subject.kind == RESULT:
        return KEPT
    if subject.error.get("code") != -32601:
        return None
    if speaks_modern(subject.connection):
        return Broken("the method is not found")
    subject.connection.state(Era).unknown_discover = subject
    return CannotTell("whether the server is of a revision without handshake")


def _extensions(capabilities: Any) -> Dict[str, Any]:
    value = capabilities.get("extensions") if isinstance(capabilities, dict) else None
    return value if isinstance(value, dict) else {}


@rule("extension.id-naming", on=(REQUEST, RESULT), when="extends", scene="""
    on stdio 2026-07-28
    C #1 server/discover {}
  + S #1 {"supportedVersions": ["2026-07-28"], "capabilities": {"extensions": {"com.example/ext": {}}}}
  - S #1 {"supportedVersions": ["2026-07-28"], "capabilities": {"extensions": {"ext": {}}}}
""")
def id_naming(message: Message) -> Verdict:
    """The identifier of an extension has a prefix, and the form of a key of ``_meta``."""
    if message.kind == RESULT and message.method != DISCOVER:
        return None
    capabilities = (message.meta.get(META_CAPABILITIES) if message.kind == REQUEST
                    else message.result.get("capabilities"))
    names = list(_extensions(capabilities))[:_MOST]
    for name in names:
        if not prefix_of(name) or not (prefix_has_labels(name) and labels_are_fit(name) and name_is_fit(name)):
            return Broken("the identifier %s" % shown(name), "capabilities.extensions")
    return KEPT if names else None


@rule("extension.fallback", on=RESULT, follows=("tasks-ext.*", "skills.*", "meta.*", "mrtr.*"), party=SERVER, scene="""
    on stdio 2026-07-28
    C #1 tools/call {"name": "slow", "arguments": {}}
  + S #1 {"content": []}
  - S #1 {"resultType": "com.example/ticket", "ticket": "7"}
""")
def fallback(message: Message) -> Verdict:
    """A server answers in the core protocol where the client has declared no extension."""
    kind, declared = message.result.get("resultType"), message.capabilities(CLIENT)
    if message.sender != SERVER or not isinstance(kind, str) or declared is None or _extensions(declared):
        return None
    return KEPT if kind in _CORE_TYPES else Broken(
        "a result of the type %s, and the client has declared no extension" % shown(kind), "result.resultType")


@observe(on=(RESULT, ERROR), when="server")
def remember_era(message: Message) -> None:
    """Note what a server's answer shows of its versions."""
    if message.sender != SERVER:
        return
    if message.kind == RESULT and message.method not in _TELLING and "resultType" not in message.result:
        return  # as nearly always before 2026-07-28
    era, request = message.connection.state(Era), message.request
    code = message.error.get("code")
    if (message.kind == RESULT and isinstance(message.result.get("resultType"), str)) or code in MODERN_CODES:
        era.modern = True
    if message.method == DISCOVER and message.kind == RESULT:
        listed = strings(message.result.get("supportedVersions"))
        if listed is not None:
            era.modern, era.supported = True, listed
        lasts = message.result.get("ttlMs")
        era.fresh_until = message.time + (min(lasts, LONGEST) / 1000 if type(lasts) is int and lasts > 0 else 0)
    elif message.method == DISCOVER and code not in MODERN_CODES:
        era.probe_failed = True
    if code == UNSUPPORTED_VERSION:
        listed = strings(_error_data(message).get("supported"))
        if listed:
            era.supported, era.refused = listed, (message.time, listed)
            noted(message.connection, "outdated")
    if message.method == INITIALIZE and request is not None:
        if message.kind == RESULT:
            era.opened = True
            answered = message.result.get("protocolVersion")
            if answered == request.params.get("protocolVersion") and isinstance(answered, str) and (
                    len(era.echoed) < _MOST):
                era.echoed[answered] = None
        elif not _VERSION.search(shown(message.error, 4096)) and META_REVISION not in request.meta:
            era.refusal = message


@observe(on=REQUEST, when="outdated")
def remember_choice(message: Message) -> None:
    """Note that a client has chosen a version that the server has listed."""
    era = message.connection.state(Era)
    named = message.params.get("protocolVersion") if message.method == INITIALIZE else message.meta.get(META_REVISION)
    if era.refused is not None and isinstance(named, str) and named in era.refused[1]:
        era.refused = None
