"""Which capability a message needs, and of whom.

A request needs the *receiver's* capability, a notification about something one offers the *sender's*
own; the method's row in `methods` names both. This is a MUST since 2025-06-18
[2025-06-18..2025-11-25 basic/lifecycle §Operation]. In the older revisions it is a SHOULD; we keep
to it in all of them.

A capability is present when its key is there: ``"logging": {}`` is a yes. A dotted name asks for a
member, and ``listChanged`` and ``subscribe`` are flags that count only when true.
"""

from typing import Any, Mapping

from ..errors import CapabilityMissing
from ..methods import SENDER, Method

CITATION = {
    "2024-11-05": "2024-11-05 basic/lifecycle §Capability Negotiation",
    "2025-03-26": "2025-03-26 basic/lifecycle §Capability Negotiation",
    "2025-06-18": "2025-06-18 basic/lifecycle §Capability Negotiation",
    "2025-11-25": "2025-11-25 basic/lifecycle §Capability Negotiation",
}


def has(capabilities: Mapping[str, Any], name: str) -> bool:
    """Whether a capabilities object (as on the wire) declares this dotted capability."""
    value: Any = capabilities
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return False
        value = value[part]
    return value is not False and value is not None


def check(method: Method, sender: Mapping[str, Any], receiver: Mapping[str, Any], revision: str) -> None:
    """Raise `CapabilityMissing` if this message may not be sent between parties with these capabilities."""
    if method.capability is None:
        return
    holder, whose = (sender, "this side") if method.holder == SENDER else (receiver, "the peer")
    if not has(holder, method.capability):
        raise CapabilityMissing(
            "%s needs the capability %s, which %s did not declare" % (method.name, method.capability, whose),
            method.capability,
            CITATION.get(revision, ""),
        )
