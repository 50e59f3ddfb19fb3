"""The opening of a conversation: identities and capabilities of both sides. [..2025-11-25 basic/lifecycle
§Initialization]

A capability that is present counts as supported, even as an empty object; capabilities that the
page does not define may be declared, too, and are kept in `extra`. [..2025-11-25 basic/lifecycle §Capability
Negotiation]. The revision without a handshake declares the same objects elsewhere: a client in the
`_meta` of each request, a server in its answer to `server/discover`.
"""

from typing import TYPE_CHECKING, Any, Dict, Optional

from ..codec import Model, member, message
from ..revisions import R2025_03_26, R2025_06_18, R2025_11_25, R2026_07_28
from .base import Implementation, MetaObject, request_meta, result_meta

if TYPE_CHECKING:
    from .tasks import ClientTasksCapability, ServerTasksCapability  # noqa: F401

Settings = Dict[str, Any]
"""The value of a capability that has no members defined."""


@message
class RootsCapability(Model):
    """The capability ``roots``. [.. client/roots §Capabilities]"""

    list_changed: Optional[bool] = member(default=None, until=R2025_11_25)


@message
class SamplingCapability(Model):
    """The capability ``sampling``. [.. client/sampling §Capabilities]"""

    context: Optional[Settings] = member(default=None, since=R2025_11_25)
    """The client honours ``include_context`` other than ``none``."""
    tools: Optional[Settings] = member(default=None, since=R2025_11_25)


@message
class ElicitationCapability(Model):
    """The capability ``elicitation``; without members it means forms only. [2025-06-18.. client/elicitation
    §Capabilities]"""

    since = R2025_06_18

    form: Optional[Settings] = member(default=None, since=R2025_11_25)
    url: Optional[Settings] = member(default=None, since=R2025_11_25)


@message
class ClientCapabilities(Model):
    """The capabilities of a client."""

    experimental: Optional[Dict[str, Settings]] = member(default=None)
    roots: Optional[RootsCapability] = member(default=None)
    sampling: Optional[SamplingCapability] = member(default=None)
    elicitation: Optional[ElicitationCapability] = member(default=None, since=R2025_06_18)
    tasks: "Optional[ClientTasksCapability]" = member(default=None, since=R2025_11_25, until=R2025_11_25)
    extensions: Optional[Dict[str, Settings]] = member(default=None, since=R2026_07_28)
    """Extensions by identifier, such as ``com.example/thing``: their settings."""


@message
class ListChangedCapability(Model):
    """The capabilities ``tools`` and ``prompts``. [.. server/tools §Capabilities]"""

    list_changed: Optional[bool] = member(default=None)


@message
class ResourcesCapability(Model):
    """The capability ``resources``. [.. server/resources §Capabilities]"""

    subscribe: Optional[bool] = member(default=None)
    list_changed: Optional[bool] = member(default=None)


@message
class ServerCapabilities(Model):
    """The capabilities of a server."""

    experimental: Optional[Dict[str, Settings]] = member(default=None)
    logging: Optional[Settings] = member(default=None)
    completions: Optional[Settings] = member(default=None, since=R2025_03_26)
    prompts: Optional[ListChangedCapability] = member(default=None)
    resources: Optional[ResourcesCapability] = member(default=None)
    tools: Optional[ListChangedCapability] = member(default=None)
    tasks: "Optional[ServerTasksCapability]" = member(default=None, since=R2025_11_25, until=R2025_11_25)
    extensions: Optional[Dict[str, Settings]] = member(default=None, since=R2026_07_28)


@message
class InitializeRequestParams(Model):
    """The params of `initialize`, from the client. [..2025-11-25 basic/lifecycle §Initialization]"""

    until = R2025_11_25

    protocol_version: str
    """The newest revision that the client speaks, or the one it insists on."""
    capabilities: ClientCapabilities
    client_info: Implementation
    meta: Optional[MetaObject] = request_meta()


@message
class InitializeResult(Model):
    """The result of `initialize`, from the server. [..2025-11-25 basic/lifecycle §Version Negotiation]"""

    until = R2025_11_25

    protocol_version: str
    """The revision of this conversation; a client that does not speak it leaves."""
    capabilities: ServerCapabilities
    server_info: Implementation
    instructions: Optional[str] = member(default=None)
    """Instructions for the model: the use of this server."""
    meta: Optional[MetaObject] = result_meta()
