"""The host: an application's servers, each with a client of its own, and the user's word on what happens.

::

    host = Host(policy=Policy(tool_call=AskOnce(ask_the_user)), audit="audit.jsonl")
    with host:
        host.connect("files", ["npx", "-y", "some-server", "."], roots=["."])
        host.connect("time", "uvx another-server")
        offer_to_model([tool.describe() for tool in host.tools()])
        host.call_tool("files__read", {"path": "README.md"})

A host adds this to its clients [.. architecture/index §Core Components > Host]:

- **Names.** Servers have the host's names, tools and prompts qualified ones: `mcp_ref.host.catalogue`.
- **Consent.** Nothing is called, sampled or shown that the `Policy` has not allowed, and an approval is for one
  definition of a tool: `mcp_ref.host.policy`.
- **Isolation** [.. architecture/index §Design Principles]. Each server has a connection, caches, progress, logs,
  subscriptions and roots of its own; what one says or does reaches no other. A sampling carries context of other
  servers only if the policy says so, and no error of one server is quoted to another: an exception in the host's
  functions is an internal error without text to the server that asked.
- **Audit.** Who did what, as JSON lines: `mcp_ref.host.audit`.

A server that dies takes no other with it: ``on_lost(name, reason)`` is called on a thread of its own, where it may call
`Host.restart`. If there is no handshake, the server is started again without that, and is lost only if it cannot be;
either way approvals are held against its definitions of tools then. Every method may be called from any thread.
"""

from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple, Union, overload

from ..client.options import CALL_DEFAULTS, takes_call_options
from ..errors import McpError, PeerError
from ..jsontext import JsonError, is_deep
from ..limits import DEFAULT
from ..messages.mrtr import InputRequiredResult
from ..methods import SKILLS
from ..options import spelt, with_defaults
from .catalogue import HostPrompt, HostResource, HostResourceTemplate, HostTool, resources_of, server_of, templates_of
from .member import Member
from .parallel import in_parallel, values
from .policy import Allow, Denied, Deny, SkillLoad, ToolCall
from .questions import AuditEntry, HostElicitation
from .servers import Servers

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..client.options import CallOptions, ManualOptions
    from ..messages.prompts import GetPromptResult
    from ..messages.resources import ReadResourceResult
    from ..messages.tools import CallToolResult
    from .skills import HostLoadedSkill, HostSkill

_CONSENT_ROUNDS = 3
"""The number of times that a tool may change while its approval is asked for, before the call is denied."""


class Host(Servers):
    """Several servers under names of the host's own.

    ``name`` and ``version`` introduce it to each server. ``policy``: see `Policy`; without one no tool is called and no
    model used. ``roots``: those of each server that is connected without roots of its own. ``audit``: an `Audit`, or a
    path, file or function to make one for. ``skill_cache``: a folder in which the files of skills are kept as they are
    read, each server's until it is disconnected; by default each read asks the server.

    What servers may ask, each declared to them only if it is given: ``sampling(request)`` asks the model, see
    `mcp_ref.host.questions`, with ``models`` (`ModelCard`) to choose from by the server's preferences,
    ``sampling_tools`` if the model is given its tools, and ``sampling_context`` if it is given context;
    ``elicitation(request)`` asks the user to fill in a form, ``elicitation_url(request)`` to follow a link, which
    ``open_url(url)`` then opens, see `mcp_ref.host.questions`; ``on_complete(server, link)`` is called when a link is
    done with.

    Callbacks for what servers send, each with the server's name first, on that server's thread for such things:
    ``on_log(server, level, data, logger)``, ``on_update(server, uri)``, ``on_notification(server, method, params)``;
    and ``on_lost(server, reason)`` when one has died.

    ``name_rule``: the names that the model accepts. ``stderr``: the receiver of what servers write on stderr that are
    started here, as for `mcp_ref.connect`; by default it is shown, with the server's name in front. All other options
    are those of `Client`, for every server.
    """

    # Tools

    @spelt
    def tools(self, server: Optional[str] = None) -> List[HostTool]:
        """Return the tools of all servers, or of one, by server and in its order; from memory if nothing has changed.

        A server whose tools cannot be listed is left out, which is logged; for a ``server`` that is named the error is
        raised, and LookupError for one that is not there.
        """
        return self._gather("tools", server, lambda member: member.catalogue.tools(member.client).values())

    def tool(self, qualified: str) -> HostTool:
        """Return the tool of this qualified name. Raises LookupError; asks no server but the one that it names."""
        return self._tool(qualified)[1]

    @overload
    def call_tool(
        self, qualified: str, arguments: Optional[Dict[str, Any]] = None, **options: "Unpack[CallOptions]"
    ) -> "CallToolResult": ...

    @overload
    def call_tool(
        self, qualified: str, arguments: Optional[Dict[str, Any]] = None, **options: "Unpack[ManualOptions]"
    ) -> "Union[CallToolResult, InputRequiredResult]": ...

    @takes_call_options
    def call_tool(
        self, qualified: str, arguments: Optional[Dict[str, Any]] = None, **options: Any
    ) -> "Union[CallToolResult, InputRequiredResult]":
        """Call a tool, if the policy allows it; options and exceptions as `Client.call_tool`.

        Raises `Denied`, and then nothing was sent; LookupError for a name that is no tool's.
        """
        with_defaults(Host.call_tool, CALL_DEFAULTS, options)
        if is_deep(arguments, DEFAULT.max_depth):  # before they are copied and recorded, which recurses
            raise JsonError("the arguments contain themselves or nest deeper than max_depth (%d)" % DEFAULT.max_depth)
        member, tool = self._tool(qualified)
        with AuditEntry(self.record, "tool_call", member.name, tool=tool.name, arguments=arguments) as entry:
            tool, sent = self._consent(member, tool, arguments, entry)
            result = member.client.call_tool(tool.name, sent, **options)
            if isinstance(result, InputRequiredResult):
                entry.details["outcome"] = "input_required"
            elif result.is_error:
                entry.details["outcome"] = "tool_error"
            return result  # type: ignore[no-any-return]

    def _tool(self, qualified: str) -> Tuple[Member, HostTool]:
        member = self._find(server_of(qualified))
        found = member.catalogue.tool(member.client, qualified)
        if found is None:
            raise LookupError("%s has no tool called %.80r" % (member.name, qualified))
        return member, found

    def _consent(
        self, member: Member, tool: HostTool, arguments: Optional[Dict[str, Any]], entry: AuditEntry
    ) -> Tuple[HostTool, Optional[Dict[str, Any]]]:
        """Return what may be called, and with which arguments. Raises `Denied`; notes in ``entry`` what was decided.

        If the server has changed the tool while its approval was asked for, it is asked for again.
        """
        asked = deepcopy(arguments)
        for _ in range(_CONSENT_ROUNDS):
            decision = self._decide(member, tool, asked, entry)
            now = self._tool(tool.qualified)[1]
            if now.definition == tool.definition:
                member.approved[tool.name] = tool.definition
                sent = asked if decision.instead is None else deepcopy(decision.instead)
                entry.details["arguments"] = sent
                return tool, sent
            tool = now
        raise _denied(tool, Deny("its definition changed again and again"), entry)

    def _decide(self, member: Member, tool: HostTool, arguments: Optional[Dict[str, Any]], entry: AuditEntry) -> Allow:
        before = member.approved.get(tool.name)
        changed = before is not None and before != tool.definition
        if changed:
            self.record("definition", member.name, tool=tool.name, definition=tool.definition, before=before)
        entry.details["definition"] = tool.definition
        decision = self.policy.decide(ToolCall(tool, deepcopy(arguments or {}), changed))
        if isinstance(decision, Allow) and not isinstance(decision.instead, (dict, type(None))):
            decision = Deny("the policy gave arguments that are no dict: %.80r" % (decision.instead,))
        if isinstance(decision, Deny):
            raise _denied(tool, decision, entry)
        entry.note(decision)
        return decision

    # Resources

    @spelt
    def resources(self, server: Optional[str] = None) -> List[HostResource]:
        """Return the resources that all servers list, or only ``server``: in the order of the servers' names, each
        server's in its own order.

        Their URIs are not changed, so two servers may list the same one: `read_resource` takes the server and the URI.
        Servers whose list fails, and what is raised: as in `tools`.
        """
        return self._gather("resources", server, lambda member: resources_of(member.name, member.client))

    @spelt
    def resource_templates(self, server: Optional[str] = None) -> List[HostResourceTemplate]:
        """Return the resource templates that all servers list, or only ``server``; in order and raising as `resources`.
        """
        return self._gather("resources", server, lambda member: templates_of(member.name, member.client))

    @overload
    def read_resource(
        self, server: str, uri: str, refresh: bool = False, **options: "Unpack[CallOptions]"
    ) -> "ReadResourceResult": ...

    @overload
    def read_resource(
        self, server: str, uri: str, refresh: bool = False, **options: "Unpack[ManualOptions]"
    ) -> "Union[ReadResourceResult, InputRequiredResult]": ...

    @takes_call_options
    def read_resource(
        self, server: str, uri: str, refresh: bool = False, **options: Any
    ) -> "Union[ReadResourceResult, InputRequiredResult]":
        """Return the contents of a resource of this server; as `Client.read_resource`. Raises LookupError for no
        server."""
        with_defaults(Host.read_resource, CALL_DEFAULTS, options)
        member = self._find(server)
        with AuditEntry(self.record, "resource", server, uri=uri):
            return member.client.read_resource(uri, refresh, **options)  # type: ignore[no-any-return]

    # Prompts

    @spelt
    def prompts(self, server: Optional[str] = None) -> List[HostPrompt]:
        """Return the prompts that all servers list, or only ``server``, each under its qualified name; in order and
        raising as `tools`."""
        return self._gather("prompts", server, lambda member: member.catalogue.prompts(member.client).values())

    @overload
    def get_prompt(
        self, qualified: str, arguments: Optional[Dict[str, str]] = None, **options: "Unpack[CallOptions]"
    ) -> "GetPromptResult": ...

    @overload
    def get_prompt(
        self, qualified: str, arguments: Optional[Dict[str, str]] = None, **options: "Unpack[ManualOptions]"
    ) -> "Union[GetPromptResult, InputRequiredResult]": ...

    @takes_call_options
    def get_prompt(
        self, qualified: str, arguments: Optional[Dict[str, str]] = None, **options: Any
    ) -> "Union[GetPromptResult, InputRequiredResult]":
        """Return the messages of a prompt; as `Client.get_prompt`. Raises LookupError for a name that is no prompt's.
        """
        with_defaults(Host.get_prompt, CALL_DEFAULTS, options)
        member = self._find(server_of(qualified))
        found = member.catalogue.prompt(member.client, qualified)
        if found is None:
            raise LookupError("%s has no prompt called %.80r" % (member.name, qualified))
        with AuditEntry(self.record, "prompt", member.name, prompt=found.name, arguments=arguments):
            return member.client.get_prompt(found.name, arguments, **options)  # type: ignore[no-any-return]

    # Skills

    @spelt
    def skills(self, server: Optional[str] = None) -> "List[HostSkill]":
        """Return the skills that all servers list, or only ``server``; in order and raising as `tools`. See
        `mcp_ref.host.skills`."""
        from .skills import HostSkill

        return self._gather("skills", server, lambda member: [
            HostSkill(member.name, entry) for entry in member.client.skills()], SKILLS)

    def load_skill(self, server: str, uri: str) -> "HostLoadedSkill":
        """Load the skill of this server whose ``SKILL.md`` has this URI, if the policy allows it.

        Raises `Denied`, and then no file was read; LookupError for no server; and as `Client.load_skill`.
        """
        from .skills import HostLoadedSkill, HostSkill, SkillCache

        if not isinstance(uri, str):
            raise TypeError("load_skill takes the server's name and the URI of a skill, host.load_skill(skill.server, "
                            "skill.uri); got %.80r" % (uri,))
        member = self._find(server)
        with AuditEntry(self.record, "skill", server, uri=uri) as entry:
            skill = HostSkill(server, member.client.skill(uri))
            before = member.approved.get("skill " + uri)
            entry.details["definition"] = skill.definition
            decision = self.policy.decide(SkillLoad(skill, before is not None and before != skill.definition))
            entry.note(decision)
            if isinstance(decision, Deny):
                raise Denied("loading %s" % uri, server, decision.reason)
            cache = None if self._skill_cache is None else SkillCache(self._skill_cache, server)
            loaded = HostLoadedSkill(member.client, skill, cache)
            member.approved["skill " + uri] = skill.definition
            return loaded

    # Links that an error requires

    def follow(self, server: str, error: PeerError) -> bool:
        """Have the user follow the links with which this server refused a request (error -32042). Returns True if they
        agreed.

        The policy and then ``elicitation_url`` are asked about each, as in `Elicitation.follow` of the client.
        Raises LookupError for no server, `LocalProtocolError` without ``elicitation_url``.
        """
        member = self._find(server)
        return HostElicitation(self._callbacks, server).follow(error, member.client)

    # All servers

    def _gather(
        self, capability: str, server: Optional[str], list_one: Callable[[Member], Any], extension: str = "",
    ) -> List[Any]:
        """List what each server that declares this capability, or this extension, has; all at the same time."""
        if server is not None:
            return list(list_one(self._find(server)))
        members = [member for _, member in sorted(self._current().items())
                   if (member.extends(extension) if extension else member.declares(capability))]
        known = [member.name for member in members if member.knows(capability)]
        calls = {member.name: partial(list_one, member) for member in members}
        found, errors = values(in_parallel("list", calls, self.limits.request_ceiling, known))
        for name, error in errors.items():
            if not isinstance(error, McpError):
                raise error
            self.counters.note("unlisted", "%s: its %s could not be listed: %s" % (name, capability, error))
            self.record("error", name, what="listing %s" % capability, reason=str(error))
        return [item for items in found.values() for item in items]


def _denied(tool: HostTool, decision: Deny, entry: AuditEntry) -> Denied:
    entry.note(decision)
    return Denied("calling %s" % tool.qualified, tool.server, decision.reason)
