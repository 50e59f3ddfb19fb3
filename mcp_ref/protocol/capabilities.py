"""The capability that a message needs, and the party that has to declare it.

A request needs the *receiver's* capability, a notification about an offer of the sender the *sender's*
own; the method's row in `methods` names both. This is a MUST since 2025-06-18
[2025-06-18..2025-11-25 basic/lifecycle §Operation]. In the older revisions it is a SHOULD; we keep
to it in all of them.

Reading: that binds a client, too, so it does not ask a server for what that has not declared. Small servers declare
``{}`` and have tools all the same; a client with ``tolerate=["undeclared-capabilities"]`` asks for what is in TRIED:

==========================  =============================================================================
not declared                what a client then sends all the same, where its user asks for it
==========================  =============================================================================
``tools``                   `tools/list`, `tools/call`
``prompts``                 `prompts/list`, `prompts/get`
``resources``               `resources/list`, `resources/templates/list`, `resources/read`
``resources.subscribe``     `resources/subscribe`, `resources/unsubscribe`
``completions``             `completion/complete`
``logging``                 `logging/setLevel`
``tasks``, extensions       nothing [2025-11-25 basic/utilities/tasks §Tool-Level Negotiation] MUST NOT
features of clients         nothing, by a server
==========================  =============================================================================

A capability is present when its key is there: ``"logging": {}`` is a yes. A dotted name asks for a
member, and ``listChanged`` and ``subscribe`` are flags that count only when true.
"""

from typing import Any, Dict, Mapping, Sequence, Tuple

from ..errors import METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY, CapabilityMissing, RpcError
from ..methods import RECEIVER, SENDER, Method
from ..revisions import Revision

_PAGES = {
    "2024-11-05": "2024-11-05 basic/lifecycle §Capability Negotiation",
    "2025-03-26": "2025-03-26 basic/lifecycle §Capability Negotiation",
    "2025-06-18": "2025-06-18 basic/lifecycle §Capability Negotiation",
    "2025-11-25": "2025-11-25 basic/lifecycle §Capability Negotiation",
}

UNDECLARED = "undeclared-capabilities"
TRIED = frozenset(("tools", "prompts", "resources", "resources.subscribe", "completions", "logging"))
"""The capabilities that a client may do without, if its user says so."""
_ALL_THE_SAME = "; if it has that all the same, connect(..., tolerate=[%r]) asks for it" % UNDECLARED


def has(capabilities: Mapping[str, Any], name: str) -> bool:
    """Return True if a capabilities object (as on the wire) declares this dotted capability."""
    value: Any = capabilities
    for part in name.split("."):
        if type(value) is not dict and not isinstance(value, Mapping) or part not in value:
            return False
        value = value[part]
    return value is not False and value is not None


def check(method: Method, sender: Mapping[str, Any], receiver: Mapping[str, Any], revision: str) -> None:
    """Raise `CapabilityMissing` if this message may not be sent between parties with these capabilities."""
    if method.extension is not None:
        _check_extension(method, method.extension, ((receiver, "the peer"),) if method.holder == RECEIVER else (
            (sender, "this side"), (receiver, "the peer")))
    if method.capability is None:
        return
    holder, whose = (sender, "this side") if method.holder == SENDER else (receiver, "the peer")
    if not has(holder, method.capability):
        raise CapabilityMissing(
            "%s needs the capability %s, which %s did not declare%s" % (
                method.name, method.capability, whose, _ALL_THE_SAME if method.capability in TRIED else ""),
            method.capability,
            _PAGES.get(revision, ""),
        )


def extensions_in(capabilities: Mapping[str, Any]) -> Dict[str, Dict[str, Any]]:
    """Return the extensions in a capabilities object, as on the wire: identifier -> settings.

    Extensions whose settings are no object are left out.
    """
    found = capabilities.get("extensions")
    if not isinstance(found, dict):
        return {}
    return {name: settings for name, settings in found.items() if isinstance(settings, dict)}


def extension_missing(identifier: str, revision: Revision) -> RpcError:
    """Return the answer to a client that has not declared an extension which its request needs.

    [2026-07-28 basic/index §`_meta`] MUST
    """
    if not revision.stateless:
        return RpcError(METHOD_NOT_FOUND, "The extension %s was not declared" % identifier)
    text = "Missing required client capability: extension %s" % identifier
    return RpcError(MISSING_CLIENT_CAPABILITY, text, {"requiredCapabilities": {"extensions": {identifier: {}}}})


def _check_extension(method: Method, extension: str, sides: Sequence[Tuple[Mapping[str, Any], str]]) -> None:
    """Raise `CapabilityMissing` if one of these sides has not declared the extension of a message
    [2026-07-28 basic/versioning §Extension Negotiation] MUST."""
    for capabilities, whose in sides:
        if extension not in extensions_in(capabilities):
            text = "%s belongs to the extension %s, which %s did not declare" % (method.name, extension, whose)
            raise CapabilityMissing(text, extension, "2026-07-28 basic/versioning §Extension Negotiation")
