"""Consent: the questions that are asked before anything happens between a model, a server and the user.

A `Policy` holds the user's decisions as functions. Each gets one question, an object that always names the server by
the host's own name, and answers `Allow`, `Deny`, True or False:

==================  ========================================================  ==========================================
function            is asked                                                  without it
==================  ========================================================  ==========================================
``tool_call``       before a tool is called: `ToolCall`                       denied
``sampling``        before the model is: `SamplingRequest`                    denied
``sampling_result`` before a server sees what the model said:                 passes: ``sampling`` has approved
                    `SamplingResult`
``elicitation``     before the user is asked something: `ElicitationRequest`  passes: the user answers it, or does not
``roots``           when a server asks for roots: `RootsRequest`              it gets those it was connected with
``skill_load``      before a skill's instructions are read: `SkillLoad`       denied
==================  ========================================================  ==========================================

So a host without a policy calls no tool and lets no server use the model
[.. index §Security and Trust & Safety > Key Principles]. A function that raises has denied, and so has one that returns
anything else, None above all: a forgotten ``return`` gives nothing away. Functions may block, as one that asks the user
does: they run on the thread of the caller (tools) or on one of the server's workers (all others).

``Allow(instead=...)`` allows with a change: other arguments of a tool, other params of a sampling or its result, fewer
roots. The host sends what was allowed: the question holds a copy, so a thread that changes its arguments meanwhile
changes nothing.

Approvals can be remembered, until the server changes its definition of the tool. A server may describe a harmless tool
until the user has approved it, and another one afterwards. So consent is for one *definition*: `HostTool.definition` is
the digest of name, title, description, schemas, annotations and whatever else the server says of the tool (only `_meta`
is left out). After `notifications/tools/list_changed`, or a restart, a tool whose digest differs is asked about again.

    Policy(tool_call=AskOnce(ask_the_user), skill_load=AskOnce(ask_about_a_skill))
    Policy(tool_call=AllowListed(["files__read", "files__list"], otherwise=ask_the_user))

A function that is given to `Policy` as it is, ``Policy(tool_call=ask_the_user)``, is asked about each call.
"""

import json
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, MutableSet, Optional, Set, Tuple, Union

from ..diagnostics.packagelog import log_raised, name_of
from ..errors import McpError
from ..options import strict_options

if TYPE_CHECKING:
    from ..client.elicitation import UrlRequest
    from ..client.sampling import ModelCard
    from ..ext.skills.host import HostSkill
    from ..messages.elicitation import ElicitRequestFormParams
    from ..messages.roots import Root
    from ..messages.sampling import CreateMessageRequestParams, CreateMessageResult
    from ..messages.tools import ToolAnnotations
    from ..peer.context import Context
    from .catalogue import HostTool


class Denied(McpError):
    """The policy, or the user, said no; nothing was sent. ``server`` and ``reason`` say to whom and why."""

    def __init__(self, what: str, server: str, reason: str) -> None:
        super().__init__("%s was denied: %s" % (what, reason))
        self.server = server
        self.reason = reason


# -- Answers -----------------------------------------------------------------------------------


@strict_options
@dataclass
class Allow:
    """A yes. ``instead``: a yes to this in place of what was asked for.

    ``all_servers``, for sampling: the prompt may carry context of the other servers, if it was asked for.
    """

    instead: Any = None
    all_servers: bool = False


@strict_options
@dataclass
class Deny:
    """A no. ``reason`` is for the caller and the audit log; no server sees it."""

    reason: str = "the policy said no"


_ARGUMENTS, _CHARACTERS = 12, 60
"""The number of arguments that a `ToolCall` shows as text, and of characters of each."""


def _argument(name: Any, value: Any) -> str:
    """Return an argument as text: JSON, with escapes for characters that would not be seen or would move what follows.
    """
    import json

    text = json.dumps(value, ensure_ascii=False, default=lambda other: type(other).__name__)
    if len(text) > _CHARACTERS:
        text = "%s ... (%d characters)" % (text[:_CHARACTERS], len(text))
    name = str(name)[:_CHARACTERS]
    both = "%s=%s" % (name if name.isidentifier() else json.dumps(name), text)
    return "".join(char if char.isprintable() else "\\u%04x" % ord(char) for char in both)


Decision = Union[Allow, Deny]
Answer = Union[Allow, Deny, bool]
"""The result of a function of a policy; anything else denies."""


# -- Questions ---------------------------------------------------------------------------------


@strict_options
@dataclass
class ToolCall:
    """The question: may this tool be called with these arguments [.. server/tools §User Interaction Model] SHOULD?

    Arguments are there to be shown before the server sees them [.. server/tools §Security Considerations] SHOULD.
    """

    tool: "HostTool"
    arguments: Dict[str, Any]
    changed: bool = False
    """True if it was allowed before, and its server has changed the definition since."""

    def __str__(self) -> str:
        """Return the call on one line, for a dialog: ``files__write(path="a.txt", text="Dear ... (5120 characters)")``.

        Arguments that look like a secret are masked, and long values are cut, which is said: `arguments` has all of
        them.
        """
        from ..diagnostics.redaction import redact

        given = redact(self.arguments)
        shown = [_argument(name, given[name]) for name in list(given)[:_ARGUMENTS]]
        if len(given) > _ARGUMENTS:
            shown.append("... (%d arguments)" % len(given))
        changed = "; its server has changed what it says of this tool" if self.changed else ""
        return "%s(%s)%s" % (self.name, ", ".join(shown), changed)

    @property
    def server(self) -> str:
        """The host's name for the server."""
        return self.tool.server

    @property
    def name(self) -> str:
        """The qualified name, `HostTool.qualified`."""
        return self.tool.qualified

    @property
    def annotations(self) -> "Optional[ToolAnnotations]":
        """The behaviour that a trusted server declares; None from any other [2025-03-26.. server/tools §Tool] MUST."""
        return self.tool.annotations


@strict_options
@dataclass
class SamplingRequest:
    """The question: may this server have its prompt answered by a model [.. client/sampling §User Interaction Model]
    SHOULD?"""

    server: str
    params: "CreateMessageRequestParams"
    """The prompt and all else that the server asks for."""
    model: "Optional[ModelCard]"
    """The model that fits the server's preferences best; None if the host was given none."""
    context: "Context"
    """The context of the server's request: cancellation, progress."""
    context_from: Tuple[str, ...] = ()
    """Servers whose data may go into the prompt as context; other servers' only if the policy said ``all_servers``."""


@dataclass
class SamplingResult:
    """The question: may this server see what the model said [.. client/sampling §User Interaction Model] SHOULD?"""

    server: str
    params: "CreateMessageRequestParams"
    result: "CreateMessageResult"


@dataclass
class ElicitationRequest:
    """The question: may this server ask the user for this? It names the server that asks
    [2025-06-18.. client/elicitation §User Interaction Model]."""

    server: str
    mode: str
    """``"form"`` or ``"url"``."""
    params: "Union[ElicitRequestFormParams, UrlRequest]"
    """The form, or the link with its host and the warnings to show."""
    context: "Optional[Context]"
    """The context of the server's request: cancellation, progress. None for a link that came with an error."""


@dataclass
class RootsRequest:
    """The question: may this server see these roots [.. client/roots §Implementation Guidelines] SHOULD?"""

    server: str
    roots: "List[Root]"


@strict_options
@dataclass
class SkillLoad:
    """The question: may the instructions of this skill be given to the model
    [2026-07-28 extensions/skills/skills §Security Considerations] SHOULD?"""

    skill: "HostSkill"
    changed: bool = False
    """True if it was allowed before, and its server has changed the skill since."""

    @property
    def server(self) -> str:
        """The host's name for the server."""
        return self.skill.server


Question = Union[ToolCall, SamplingRequest, SamplingResult, ElicitationRequest, RootsRequest, SkillLoad]


# -- The policy --------------------------------------------------------------------------------


class Policy:
    """Decisions as functions; the table above says what holds without one."""

    @strict_options
    def __init__(
        self,
        *,
        tool_call: Optional[Callable[[ToolCall], Answer]] = None,
        sampling: Optional[Callable[[SamplingRequest], Answer]] = None,
        sampling_result: Optional[Callable[[SamplingResult], Answer]] = None,
        elicitation: Optional[Callable[[ElicitationRequest], Answer]] = None,
        roots: Optional[Callable[[RootsRequest], Answer]] = None,
        skill_load: Optional[Callable[[SkillLoad], Answer]] = None,
    ) -> None:
        self._functions: Dict[type, Optional[Callable[[Any], Answer]]] = {
            ToolCall: tool_call,
            SamplingRequest: sampling,
            SamplingResult: sampling_result,
            ElicitationRequest: elicitation,
            RootsRequest: roots,
            SkillLoad: skill_load,
        }

    def decide(self, question: Question) -> Decision:
        """Return the answer of the function for this kind of question, or the default.

        Raises nothing but a `BaseException` that is no `Exception`, such as Ctrl-C.
        """
        function = self._functions[type(question)]
        return _WITHOUT[type(question)] if function is None else ask(function, question)


_WITHOUT: Dict[type, Decision] = {
    ToolCall: Deny("the host has no Policy(tool_call=...) to allow it"),
    SamplingRequest: Deny("the host has no Policy(sampling=...) to allow it"),
    SamplingResult: Allow(),
    ElicitationRequest: Allow(),
    RootsRequest: Allow(),
    SkillLoad: Deny("the host has no Policy(skill_load=...) to allow it"),
}
"""The decision for each kind of question without a function."""


def ask(function: Callable[[Any], Any], question: Question) -> Decision:
    """Return the answer of one function. An exception denies, and so does a value that is no answer."""
    try:
        answer = function(question)
    except Exception as error:
        log_raised("policy %s, which denies thereby," % name_of(function), error, type(question).__name__)
        return Deny("the policy raised %s" % type(error).__name__)
    if isinstance(answer, (Allow, Deny)):
        return answer
    if answer is True or answer is False:
        return Allow() if answer else Deny()
    return Deny("the policy answered %.80r, which is neither Allow nor Deny" % (answer,))


def allow(question: Question) -> Answer:
    """Allow everything: a policy's function for servers of your own."""
    return True


def approval_key(question: Union[ToolCall, SkillLoad]) -> str:
    """Return the subject of an approval as one line of text: server, tool or skill, and definition."""
    if isinstance(question, ToolCall):
        return json.dumps([question.server, question.tool.name, question.tool.definition])
    return json.dumps([question.server, "skill", question.skill.uri, question.skill.definition])


class AskOnce:
    """A policy's function for tools, or skills, that asks once for each definition, and remembers a plain yes.

    ``ask`` answers as a policy does. A yes with other arguments holds for that call alone, and after a no it is asked
    again next time. ``approved``: where approvals are kept, a set of `approval_key` lines or anything with its ``add``,
    ``discard`` and ``in`` (default: in memory). A skill whose files are generated is asked about each time.
    Thread-safe; two calls at the same time may both be asked about.
    """

    @strict_options
    def __init__(self, ask: Callable[[Any], Answer], approved: Optional[MutableSet[str]] = None) -> None:
        self.approved: MutableSet[str] = set() if approved is None else approved
        self._ask = ask
        self._lock = threading.Lock()

    def __call__(self, call: Union[ToolCall, SkillLoad]) -> Answer:
        """Decide about a call, or a skill; see `Policy`."""
        if isinstance(call, SkillLoad) and not call.skill.definition:
            return ask(self._ask, call)
        key = approval_key(call)
        with self._lock:
            if key in self.approved:
                return Allow()
        decision = ask(self._ask, call)
        if isinstance(decision, Allow) and decision.instead is None:
            with self._lock:
                self.approved.add(key)
        return decision

    def forget(self, call: Union[ToolCall, SkillLoad]) -> None:
        """Forget the approval of this definition of a tool or skill; the user is asked at its next use."""
        with self._lock:
            self.approved.discard(approval_key(call))


class AllowListed:
    """A policy's function for tools that allows those with these qualified names, without asking.

    A listed tool is allowed with the definition it has when it is first called. Another definition is left to
    ``otherwise``, like every tool that is not listed (default: deny). A yes of ``otherwise`` is not remembered: wrap it
    in `AskOnce` for that. Thread-safe.
    """

    @strict_options
    def __init__(self, names: Iterable[str], otherwise: Optional[Callable[[ToolCall], Answer]] = None) -> None:
        self.names: Set[str] = set(names)
        self._otherwise = otherwise
        self._definitions: Dict[str, str] = {}
        self._lock = threading.Lock()

    def __call__(self, call: ToolCall) -> Answer:
        """Decide about a call; see `Policy`."""
        if call.name in self.names:
            with self._lock:
                if self._definitions.setdefault(call.name, call.tool.definition) == call.tool.definition:
                    return Allow()
        if self._otherwise is not None:
            return ask(self._otherwise, call)
        listed = "its definition has changed" if call.name in self.names else "it is not on the list"
        return Deny(listed)
