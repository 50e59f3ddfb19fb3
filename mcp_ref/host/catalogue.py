"""The tools, prompts and resources of a host's servers, under names with which none can stand in for another.

A host gives each server a name of its own and never uses `serverInfo.name`, which is not unique and says what the
server likes [2026-07-28 server/tools §Tool Names] SHOULD NOT. A tool or prompt is then called by a *qualified* name,
``<server>__<name>``, which has to please two parties:

- **Models** take letters, digits, ``_`` and ``-``, some of them also ``.``, and 64 or 128 characters. `NameRule` says
  which; the default is what all of them take.
- **The user**, whose approval of one tool must never count for another. So two tools never share a qualified name:

  * A server's name has no ``__`` and does not end in ``_``. So the first ``__`` of a qualified name is the separator,
    whatever a hostile tool's name contains, and two servers share no qualified name.
  * A name that breaks the rule or is too long is *shortened*: its first good characters, ``-`` and 16 digits of its
    SHA-256. A name that already has this form is shortened too, so none can pose as the short form of another.

Both depend on the two names alone, so a qualified name means the same tomorrow.

A tool's annotations are worth what its server is worth, so `HostTool.annotations` and the `HostTool.tool` that models
and users see have them only if the host was told to trust the server [2025-03-26.. server/tools §Tool] MUST.
"""

import hashlib
import itertools
import re
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple

from ..codec import encode
from ..diagnostics.packagelog import Counters
from ..errors import METHOD_NOT_FOUND, PeerError
from ..messages.prompts import Prompt
from ..messages.resources import Resource, ResourceTemplate
from ..messages.tools import Tool, ToolAnnotations
from ..options import strict_options
from ..protocol.metakeys import is_for_model
from ..revisions import Revision
from .audit import digest

if TYPE_CHECKING:
    from ..client import Client
    from ..client.cache import ServerCache

SEPARATOR = "__"
MAX_SERVER_NAME = 32
"""Characters of a server's name; the rest of a qualified name is the tool's."""
_DIGITS = 16
_SHORTENED = re.compile(r".*-[0-9a-f]{%d}" % _DIGITS, re.DOTALL)
_OTHERS, _OTHERS_WITH_DOTS = re.compile(r"[^A-Za-z0-9_-]"), re.compile(r"[^A-Za-z0-9_.-]")
_SERVER = re.compile(r"[A-Za-z0-9](?:_?[A-Za-z0-9-])*")
_SHORTEST_RULE = MAX_SERVER_NAME + len(SEPARATOR) + 1 + _DIGITS


@strict_options
@dataclass
class NameRule:
    """A rule for the names of tools that a model accepts: ``max_length`` letters, digits, ``_`` and ``-``; ``.`` with
    ``dots``.

    Raises ValueError for a length below 51, which could not keep names apart.
    """

    max_length: int = 64
    dots: bool = False

    def __post_init__(self) -> None:
        if self.max_length < _SHORTEST_RULE:
            raise ValueError("max_length %d: qualified names need at least %d" % (self.max_length, _SHORTEST_RULE))

    def clean(self, text: str) -> str:
        """Return the text with ``_`` in place of each character that is not accepted."""
        return (_OTHERS_WITH_DOTS if self.dots else _OTHERS).sub("_", text)


DEFAULT_RULE = NameRule()


def server_name(text: str, taken: Iterable[str] = ()) -> str:
    """Return the text, or a name made of it, if it cannot name a server beside those ``taken``."""
    try:
        return check_server_name(text, taken)
    except ValueError:
        used = {other.lower() for other in taken}
        plain = re.sub(r"[^A-Za-z0-9]+", "-", text)[-MAX_SERVER_NAME:].strip("-") or "server"
        numbered = ("%s-%d" % (plain[:MAX_SERVER_NAME - 5], number) for number in range(2, 10000))
        return next(name for name in itertools.chain([plain], numbered) if name.lower() not in used)


def check_server_name(name: str, taken: Iterable[str] = ()) -> str:
    """Return the name, if it may be a server's name beside those ``taken``. Raises ValueError that says what is wrong
    with it.

    Names that differ in upper and lower case alone count as the same: people and models mix them up.
    """
    if not isinstance(name, str) or len(name) > MAX_SERVER_NAME or not _SERVER.fullmatch(name):
        raise ValueError(
            "%.80r cannot name a server: give it a name of up to %d letters, digits, '-' and single '_', "
            "with a letter or digit first and no '_' at the end" % (name, MAX_SERVER_NAME)
        )
    for other in taken:
        if other.lower() == name.lower():
            raise ValueError("there is a server called %r already: give %r another name" % (other, name))
    return name


def qualify(server: str, name: str, rule: NameRule = DEFAULT_RULE) -> str:
    """The qualified name of a server's tool or prompt; ``server`` has passed `check_server_name`, ``name`` is anything.

    >>> qualify("files", "read")
    'files__read'
    >>> qualify("files", "read/all")
    'files__read_all-4a2b2cdfdfac1c5a'
    """
    prefix = server + SEPARATOR
    cleaned = rule.clean(name)
    if name and cleaned == name and len(prefix) + len(name) <= rule.max_length and not _SHORTENED.fullmatch(name):
        return prefix + name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    room = rule.max_length - len(prefix) - 1 - _DIGITS
    return "%s%s-%s" % (prefix, cleaned[:room], digest)


def server_of(qualified: str) -> str:
    """The server's part of a qualified name; all of it, if there is no separator."""
    return qualified.partition(SEPARATOR)[0]


@dataclass
class HostTool:
    """A tool of one of the servers."""

    server: str
    """The host's name for the server."""
    name: str
    """The server's name for the tool."""
    qualified: str
    """The name by which the model calls it; see the module."""
    tool: Tool
    """The description and schemas; without annotations unless the server is trusted."""
    annotations: Optional[ToolAnnotations]
    """The behaviour that a trusted server declares; None from any other."""
    untrusted_annotations: Optional[ToolAnnotations]
    """The behaviour that an untrusted server declares. A hint to show, never one to decide by."""
    trusted: bool
    definition: str
    """A digest of all that the server says of it but `_meta`; approvals are for this, see `mcp_ref.host.policy`."""

    def describe(self) -> Dict[str, Any]:
        """Return the tool as a plain dict for a model: qualified name, description, input schema; title and output
        schema if it has them. The texts are the server's."""
        tool = self.tool
        described: Dict[str, Any] = {"name": self.qualified}
        if tool.title is not None:
            described["title"] = tool.title
        described["description"] = tool.description or ""
        described["inputSchema"] = tool.input_schema
        if tool.output_schema is not None:
            described["outputSchema"] = tool.output_schema
        return described


@dataclass
class HostPrompt:
    """A prompt of one of the servers; ``server``, ``name`` and ``qualified`` as for `HostTool`."""

    server: str
    name: str
    qualified: str
    prompt: Prompt


@dataclass
class HostResource:
    """A resource of one of the servers; two servers may each have their own at one URI."""

    server: str
    resource: Resource


@dataclass
class HostResourceTemplate:
    """A resource template of one of the servers."""

    server: str
    template: ResourceTemplate


class _Listing(NamedTuple):
    """One listing, and the state of the client's cache then (see `mcp_ref.client.cache`)."""

    found: Mapping[str, Any]
    lists: "ServerCache"
    """The cache of one process of the server: another process has another."""
    version: Any
    stamp: Any


class Catalogue:
    """The tools and prompts of one server by qualified name, as last listed. Thread-safe without a lock: a listing
    that is under way when a change is announced is not kept.

    If a server announces no changes, the last listing counts until it is listed again, or the server has been started
    again: the user and the model have seen that listing.
    """

    def __init__(self, server: str, trusted: bool, rule: NameRule, counters: Counters) -> None:
        self._server = server
        self._trusted = trusted
        self._rule = rule
        self._counters = counters
        self._kept: Dict[str, _Listing] = {}
        self._seen: Dict[str, Tuple[Tool, HostTool]] = {}

    def knows(self, client: "Client", kind: str) -> bool:
        """True if the list is in memory, and the server would answer the same."""
        kept = self._valid(client, kind)
        return kept is not None and kept.stamp == kept.lists[kind].stamp and kept.lists[kind].current() is not None

    def _valid(self, client: "Client", kind: str) -> Optional[_Listing]:
        """Return the last listing, if no change has been announced since and it is still the same process; else None.
        """
        kept = self._kept.get(kind)
        if kept is None or kept.lists is not _lists(client) or kept.version != kept.lists[kind].version:
            return None
        return kept

    def tools(self, client: "Client") -> Mapping[str, HostTool]:
        """List the tools, from memory if `knows`; those that are for the pages of apps alone are left out, because what
        a host lists is for the model [2026-07-28 extensions/apps/apps §Visibility:] MUST NOT. Raises as `Client.tools`.
        """
        if self.knows(client, "tools"):
            return self._kept["tools"].found
        lists = _lists(client)
        version = lists["tools"].version
        before, revision = self._seen, client.revision
        now: Dict[str, Tuple[Tool, HostTool]] = {}
        for tool in client.tools():
            if not is_for_model(tool.meta):
                continue
            qualified = qualify(self._server, tool.name, self._rule)
            known = before.get(qualified)
            if qualified in now:
                self._duplicate("tools", tool.name)
            elif known is not None and known[0] is tool:  # from the client's cache, so the digest is known
                now[qualified] = known
            else:
                now[qualified] = (tool, self._tool(tool, qualified, revision))
        self._seen = now
        return self._keep("tools", {qualified: made for qualified, (_, made) in now.items()}, lists, version)

    def prompts(self, client: "Client") -> Mapping[str, HostPrompt]:
        """List the prompts, from memory if `knows`. Raises as `Client.prompts`."""
        if self.knows(client, "prompts"):
            return self._kept["prompts"].found
        lists = _lists(client)
        version = lists["prompts"].version
        found: Dict[str, HostPrompt] = {}
        for prompt in client.prompts():
            qualified = qualify(self._server, prompt.name, self._rule)
            made = HostPrompt(self._server, prompt.name, qualified, prompt)
            if found.setdefault(qualified, made) is not made:
                self._duplicate("prompts", prompt.name)
        return self._keep("prompts", found, lists, version)

    def tool(self, client: "Client", qualified: str) -> Optional[HostTool]:
        """Return the tool of this name as last listed, if nothing has changed since; else list the tools first.

        Returns None if there is no such tool.
        """
        kept = self._valid(client, "tools")
        found: Optional[HostTool] = None if kept is None else kept.found.get(qualified)
        return found or self.tools(client).get(qualified)

    def prompt(self, client: "Client", qualified: str) -> Optional[HostPrompt]:
        """Return the prompt of this name as last listed, if nothing has changed since; else list the prompts first.

        Returns None if there is no such prompt.
        """
        kept = self._valid(client, "prompts")
        found: Optional[HostPrompt] = None if kept is None else kept.found.get(qualified)
        return found or self.prompts(client).get(qualified)

    def _keep(self, kind: str, found: Mapping[str, Any], lists: "ServerCache", version: Any) -> Mapping[str, Any]:
        """Keep a listing. ``lists`` and ``version`` are from before the server was asked: after a change meanwhile this
        listing never counts."""
        self._kept[kind] = _Listing(found, lists, version, lists[kind].stamp)
        return found

    def _tool(self, tool: Tool, qualified: str, revision: Revision) -> HostTool:
        shown = copy(tool)
        shown.annotations = tool.annotations if self._trusted else None
        withheld = None if self._trusted else tool.annotations
        return HostTool(self._server, tool.name, qualified, shown, shown.annotations, withheld, self._trusted,
                        definition(tool, revision))

    def _duplicate(self, kind: str, name: str) -> None:
        self._counters.note("duplicate", "%s lists two %s called %.80r; the first counts" % (self._server, kind, name))


def _lists(client: "Client") -> "ServerCache":
    """Return the client's cache for the running process of the server."""
    return client.connection.state["lists"]  # type: ignore[no-any-return]


def definition(tool: Tool, revision: Revision) -> str:
    """Return the digest of what a server says of a tool.

    Reading: `_meta` is left out, because it may differ on each listing without meaning anything to the user or the
    model.
    """
    said = encode(tool, revision)
    said.pop("_meta", None)
    return digest(said)


def resources_of(server: str, client: "Client") -> List[HostResource]:
    """List the resources of one server."""
    return [HostResource(server, resource) for resource in client.resources()]


def templates_of(server: str, client: "Client") -> List[HostResourceTemplate]:
    """List the resource templates of one server. Returns [] if it knows no such list, as many that have no templates.
    """
    try:
        return [HostResourceTemplate(server, template) for template in client.resource_templates()]
    except PeerError as error:
        if error.code != METHOD_NOT_FOUND:
            raise
        return []
