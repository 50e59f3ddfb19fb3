"""Rules of prompts [.. server/prompts], beside those of their list (`lists`), of their contents (`content`) and of the
codes of errors (`errorcodes`).
"""

from ....wiretrace import CLIENT, SERVER
from ...observed import ERROR, NOTIFICATION, Message
from ...rules import KEPT, UNDECIDED, Broken, CannotTell, Verdict, rule
from ..basic.lifecycle import UNDECLARED, Served

UNDECIDED.update({
    "prompts.client-pagination": "a client that stops after a page may have what it wanted",
})


@rule("prompts.respect-capabilities", on=(ERROR, NOTIFICATION), follows=("lifecycle.*", UNDECLARED), scene="""
  + on stdio 2026-07-28 server={"prompts": {"listChanged": true}}
  - on stdio 2026-07-28 server={"prompts": {}}
    C #1 server/discover
    S #1 {}
    C #2 subscriptions/listen {"notifications": {"promptsListChanged": true}}
    S notifications/subscriptions/acknowledged {"_meta": {"io.modelcontextprotocol/subscriptionId": 2}, \
        "notifications": {"promptsListChanged": true}}
    S notifications/prompts/list_changed {"_meta": {"io.modelcontextprotocol/subscriptionId": 2}}
""", method=("prompts/list", "prompts/get", "notifications/prompts/list_changed"))
def respects(message: Message) -> Verdict:
    """Prompts are asked for, and changes of their list announced, only if the server has declared that."""
    listing = message.kind == NOTIFICATION
    if message.sender != SERVER:
        return None
    any_prompts = message.has_capability(SERVER, "prompts")
    capability = "prompts.listChanged" if listing and any_prompts else "prompts"
    known = message.has_capability(SERVER, capability)
    if known is None:
        return CannotTell("the capabilities of the server")
    if known:
        return KEPT
    if not listing and "prompts" in message.session.state(Served).features:
        return None
    # A request is judged with its refusal: a server that serves it has forgotten to declare it, which is another rule.
    return Broken("%s was not declared" % capability, "capabilities." + capability,
                  *(() if listing else (CLIENT, message.request)))
