"""What the servers of a host offer, each item with the server it comes from.

A tool's annotations are worth what its server is worth, so `HostTool.annotations` and the `HostTool.tool` that models
and users see have them only where the host was told to trust the server [2025-03-26.. server/tools §Tool] MUST.
"""

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Set, Tuple

from ..codec import encode
from ..errors import METHOD_NOT_FOUND, PeerError
from ..messages.prompts import Prompt
from ..messages.resources import Resource, ResourceTemplate
from ..messages.tools import Tool, ToolAnnotations
from ..peer.counters import Counters
from ..protocol.capabilities import has
from ..records import Record
from ..revisions import Revision
from .audit import digest
from .names import NameRule, qualify

if TYPE_CHECKING:
    from ..client import Client


@dataclass(eq=False, repr=False)
class HostTool(Record):
    """A tool of one of the servers."""

    server: str
    """The host's name for the server."""
    name: str
    """The server's name for the tool."""
    qualified: str
    """What the model calls it; see `mcp_ref.host.names`."""
    tool: Tool
    """Its description and schemas; without annotations unless the server is trusted."""
    annotations: Optional[ToolAnnotations]
    """What a trusted server says of its behaviour; None from any other."""
    untrusted_annotations: Optional[ToolAnnotations]
    """What a server that is not trusted says of it. A hint to show, never one to decide by."""
    trusted: bool
    definition: str
    """Digest of all that the server says of it but `_meta`; approvals are for this, see `mcp_ref.host.approvals`."""

    def describe(self) -> Dict[str, Any]:
        """The tool as a plain dict for a model: qualified name, description, input schema; title and output schema
        where it has them. The texts are the server's.
        """
        tool = self.tool
        described: Dict[str, Any] = {"name": self.qualified}
        if tool.title is not None:
            described["title"] = tool.title
        described["description"] = tool.description or ""
        described["inputSchema"] = tool.input_schema
        if tool.output_schema is not None:
            described["outputSchema"] = tool.output_schema
        return described


@dataclass(eq=False, repr=False)
class HostPrompt(Record):
    """A prompt of one of the servers; ``server``, ``name`` and ``qualified`` as for `HostTool`."""

    server: str
    name: str
    qualified: str
    prompt: Prompt


@dataclass(eq=False, repr=False)
class HostResource(Record):
    """A resource of one of the servers; two servers may each have their own at one URI."""

    server: str
    resource: Resource


@dataclass(eq=False, repr=False)
class HostResourceTemplate(Record):
    """A resource template of one of the servers."""

    server: str
    template: ResourceTemplate


CHANGED: Dict[str, str] = {
    "notifications/tools/list_changed": "tools",
    "notifications/prompts/list_changed": "prompts",
}
"""What makes a `Catalogue` out of date."""


class Catalogue:
    """The tools and prompts of one connection by qualified name, as last listed. Thread-safe without a lock: a listing
    that is under way when a change is announced is not kept.

    Of a server that announces no changes, what was listed last counts until it is listed again: that is what the user
    and the model have seen.
    """

    def __init__(self, server: str, trusted: bool, rule: NameRule, counters: Counters) -> None:
        self._server = server
        self._trusted = trusted
        self._rule = rule
        self._counters = counters
        self._changes = {"tools": 0, "prompts": 0}
        self._kept: Dict[str, Mapping[str, Any]] = {}
        self._told: Set[str] = set()
        self._seen: Dict[str, Tuple[Tool, HostTool]] = {}

    def heard(self, method: str) -> None:
        """The server sent this notification; what it changes is listed anew when it is needed next."""
        kind = CHANGED.get(method)
        if kind is not None:
            self._changes[kind] += 1  # only the connection's one lane of notifications comes here
            self._kept.pop(kind, None)

    def knows(self, kind: str) -> bool:
        """Whether the list is in memory, and its server would have told of a change."""
        return kind in self._told and kind in self._kept

    def tools(self, client: "Client") -> Mapping[str, HostTool]:
        """List the tools, from memory where `knows`. Raises what `Client.tools` does."""
        kept = self._kept.get("tools")
        if kept is not None and self.knows("tools"):
            return kept
        changes = self._changes["tools"]
        before, revision = self._seen, client.revision
        now: Dict[str, Tuple[Tool, HostTool]] = {}
        for tool in client.tools():
            qualified = qualify(self._server, tool.name, self._rule)
            known = before.get(qualified)
            if qualified in now:
                self._duplicate("tools", tool.name)
            elif known is not None and known[0] is tool:  # the client's cache has answered: nothing to digest
                now[qualified] = known
            else:
                now[qualified] = (tool, self._tool(tool, qualified, revision))
        self._seen = now
        return self._keep(client, "tools", {qualified: made for qualified, (_, made) in now.items()}, changes)

    def prompts(self, client: "Client") -> Mapping[str, HostPrompt]:
        """List the prompts, likewise."""
        kept = self._kept.get("prompts")
        if kept is not None and self.knows("prompts"):
            return kept
        changes = self._changes["prompts"]
        found: Dict[str, HostPrompt] = {}
        for prompt in client.prompts():
            qualified = qualify(self._server, prompt.name, self._rule)
            made = HostPrompt(self._server, prompt.name, qualified, prompt)
            if found.setdefault(qualified, made) is not made:
                self._duplicate("prompts", prompt.name)
        return self._keep(client, "prompts", found, changes)

    def tool(self, client: "Client", qualified: str) -> Optional[HostTool]:
        """The tool of this name as last listed, if nothing has changed since; else it is listed first."""
        found: Optional[HostTool] = self._kept.get("tools", {}).get(qualified)
        return found or self.tools(client).get(qualified)

    def prompt(self, client: "Client", qualified: str) -> Optional[HostPrompt]:
        """The prompt of this name, likewise."""
        found: Optional[HostPrompt] = self._kept.get("prompts", {}).get(qualified)
        return found or self.prompts(client).get(qualified)

    def _keep(self, client: "Client", kind: str, found: Mapping[str, Any], changes: int) -> Mapping[str, Any]:
        if has(client.server_capabilities, kind + ".listChanged"):
            self._told.add(kind)
        self._kept[kind] = found
        if self._changes[kind] != changes:
            self._kept.pop(kind, None)
        return found

    def _tool(self, tool: Tool, qualified: str, revision: Revision) -> HostTool:
        shown = copy(tool)
        shown.annotations = tool.annotations if self._trusted else None
        withheld = None if self._trusted else tool.annotations
        return HostTool(self._server, tool.name, qualified, shown, shown.annotations, withheld, self._trusted,
                        definition(tool, revision))

    def _duplicate(self, kind: str, name: str) -> None:
        self._counters.note("duplicate", "%s lists two %s called %.80r; the first counts" % (self._server, kind, name))


def definition(tool: Tool, revision: Revision) -> str:
    """Digest of what a server says of a tool. Reading: `_meta` is left out, because it may differ on each listing
    without meaning anything to the user or the model.
    """
    said = encode(tool, revision)
    said.pop("_meta", None)
    return digest(said)


def resources_of(server: str, client: "Client") -> List[HostResource]:
    """List the resources of one server."""
    return [HostResource(server, resource) for resource in client.resources()]


def templates_of(server: str, client: "Client") -> List[HostResourceTemplate]:
    """List the resource templates of one server; none of one that knows no such list, as many that have no templates.
    """
    try:
        return [HostResourceTemplate(server, template) for template in client.resource_templates()]
    except PeerError as error:
        if error.code != METHOD_NOT_FOUND:
            raise
        return []
