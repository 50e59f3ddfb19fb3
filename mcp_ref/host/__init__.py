"""The host role: several servers, consent, names, isolation, audit.

Reading order: `names`, `policy`, `approvals`, `audit`, `catalogue`, `member`, `desk`, `roots`, `sampling`,
`elicitation`, `offers`, `servers`, `host`.

>>> from mcp_ref import Host
>>> from mcp_ref.host import AllowListed, Policy
>>> host = Host(policy=Policy(tool_call=AllowListed(["demo__add"])))
>>> host.connect("demo", "python3 examples/echo_server.py")                         # doctest: +SKIP
>>> host.call_tool("demo__add", {"a": 1, "b": 2}).structured_content                # doctest: +SKIP
"""

from .audit import Audit
from .catalogue import HostPrompt, HostResource, HostResourceTemplate, HostTool, NameRule
from .config import read_config
from .host import Host
from .policy import (
    Allow, AllowListed, AskOnce, Denied, Deny, ElicitationRequest, Policy, RootsRequest, SamplingRequest,
    SamplingResult, ToolCall, allow, approval_key,
)

__all__ = [
    "Allow", "AllowListed", "AskOnce", "Audit", "Denied", "Deny", "ElicitationRequest", "Host", "HostPrompt",
    "HostResource", "HostResourceTemplate", "HostTool", "NameRule", "Policy", "RootsRequest", "SamplingRequest",
    "SamplingResult", "ToolCall", "allow", "approval_key", "read_config",
]
