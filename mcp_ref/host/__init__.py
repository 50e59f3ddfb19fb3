"""The host role: several servers, consent, names, isolation, audit. The modules, in the order to read them:

===============  ==================================================================================================
module           contents
===============  ==================================================================================================
`catalogue`      names of servers and tools, and what servers offer
`policy`         consent: the questions, the answers, the policy, approvals that are remembered
`audit`          the audit log
`questions`      what a host answers to what servers ask: roots, the model (sampling), the user (elicitation); one
                 entry of the audit log
`configuration`  the file of a configuration: text to values, its entries in the dialects of all hosts, and what its
                 variables stand for
`member`         one server: how it is started, its client, its end; calls to several servers at the same time
`host`           `Host`: connects, restarts and closes servers, and puts each call to the policy
===============  ==================================================================================================

The skills of servers are in `mcp_ref.ext.skills.host`.

>>> from mcp_ref import Host
>>> from mcp_ref.host import AllowListed, Policy
>>> host = Host(policy=Policy(tool_call=AllowListed(["demo__add"])))
>>> host.connect("demo", "python3 examples/echo_server.py")                         # doctest: +SKIP
>>> host.call_tool("demo__add", {"a": 1, "b": 2}).structured_content                # doctest: +SKIP
"""

from .audit import Audit
from .catalogue import HostPrompt, HostResource, HostResourceTemplate, HostTool, NameRule
from .configuration import read_config
from .host import Host
from .policy import (
    Allow, AllowListed, AskOnce, Denied, Deny, ElicitationRequest, Policy, RootsRequest, SamplingRequest,
    SamplingResult, SkillLoad, ToolCall, allow, approval_key,
)

__all__ = [
    "Allow", "AllowListed", "AskOnce", "Audit", "Denied", "Deny", "ElicitationRequest", "Host", "HostPrompt",
    "HostResource", "HostResourceTemplate", "HostTool", "NameRule", "Policy", "RootsRequest", "SamplingRequest",
    "SamplingResult", "SkillLoad", "ToolCall", "allow", "approval_key", "read_config",
]
