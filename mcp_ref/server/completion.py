"""Completion: proposals for the value of a prompt's argument or a resource template's variable
[.. server/utilities/completion §Requesting Completions].

    @server.completion("review", "language")                 # a prompt's argument
    def languages(value: str) -> List[str]:
        return ranked(["python", "perl", "ruby"], value)

    @server.completion("repo://{owner}/{name}", "name")      # a template's variable
    def names(value, arguments, ctx):
        return database.names(owner=arguments.get("owner"), like=value)

The function gets the text that was typed so far. If it has a parameter ``arguments``, it also gets the values of
arguments that were entered before, by name; these are empty before 2025-06-18, when clients could not send them. A
parameter that is annotated `Context`, or called ``ctx``, gets the context. The function returns strings, best first, in
any iterable, or a `mcp_ref.messages.completion.Completion`. At most ``max_completion_values`` are sent, never more than
the 100 of the page [.. server/utilities/completion §Completion Results]. Of an iterator without a length
one more is taken, to know if there are more; it may be endless.

Arguments whose annotation lists their values (Literal, Enum, bool), and the paths of a directory, are completed without
a function.

The answers to a client:

==============================================  ==================================================
params that do not fit                          -32602 and the path of the member
                                                [.. server/utilities/completion §Security] MUST
an unknown prompt, template, argument           -32602
an argument without completions                 no values
more than ``max_completions_per_second``        -32603, naming the limit
                                                [.. server/utilities/completion §Security] MUST
the function raises `RpcError`                  that error
any other exception or a bad value              -32603 without text
a server without any completions                -32601
==============================================  ==================================================

Readings: a reference to a resource may be the template, or a URI that the template matches (the schema
says "the URI or URI template"). The arguments entered before have to be arguments of the same prompt or template.
"""

from itertools import islice
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple

from ..codec import encoder
from ..errors import INTERNAL_ERROR, INVALID_PARAMS, RpcError
from ..jsonrpc import shown
from ..messages.completion import (
    CompleteRequestParams, CompleteResult, Completion, PromptReference, Ref, ResourceTemplateReference,
)
from ..peer.context import Context, Route, params_reader
from ..protocol.uris import fault
from ..revisions import Revision
from .hints.signature import Signature

if TYPE_CHECKING:
    from .registry.registration import Registration

MOST = 100
"""The most values in one answer, even if ``max_completion_values`` allows more."""

_CALLED = {"ref/prompt": "prompt", "ref/resource": "resource template", "": "prompt or resource template"}


def ranked(values: Iterable[str], typed: str) -> List[str]:
    """Return the values that begin with the typed text, then those that contain it, ignoring case: sorted by relevance
    [.. server/utilities/completion §Implementation Considerations] SHOULD.
    """
    wanted = typed.lower()
    begin: List[str] = []
    hold: List[str] = []
    for value in values:
        at = value.lower().find(wanted)
        if at >= 0:
            (hold if at else begin).append(value)
    return begin + hold


class Completer:
    """A function that completes one argument."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.signature = signature = Signature(function, explicit=True)
        self._arguments = "arguments" in signature.parameters
        names = [name for name in signature.parameters if name != "arguments"]
        if not names:
            raise ValueError("%s: a completion takes what is typed so far: give it a parameter" % signature.name)
        self._value = names[0]
        surplus = set(names[1:]) & set(signature.required)
        if surplus:
            raise ValueError("%s: a completion takes the value, arguments and ctx, not also %s" % (
                signature.name, ", ".join(sorted(surplus))))

    def complete(self, context: Context, value: str, arguments: Dict[str, str]) -> Any:
        """Run the function, and return its value. ``value``: the typed text; ``arguments``: those entered before."""
        keywords: Dict[str, Any] = {self._value: value}
        if self._arguments:
            keywords["arguments"] = arguments
        if self.signature.context_parameter is not None:
            keywords[self.signature.context_parameter] = context
        return self.signature.call(**keywords)


class _Target(NamedTuple):
    """The prompt or template that a client's reference stands for."""

    kind: str
    key: str
    arguments: List[str]
    choices: Callable[[str, str], Optional[Iterable[str]]]
    """A function of an argument and the typed text that returns the values the argument can have; None if unknown."""
    chosen: bool = False
    """True if ``choices`` returns only values that fit the typed text, as a directory does; they are not ranked."""


class Completions:
    """The completions of one server, by prompt or template and argument."""

    def __init__(self, server: "Registration") -> None:
        self._server = server
        self._completers: Dict[Tuple[str, str, str], Completer] = {}

    # Registration

    def add(self, function: Callable[..., Any], ref: Ref, argument: str) -> None:
        """Register a function; see `Server.completion`. The prompt or template has to be there already.

        A ``ref`` that is a str is the name of a prompt or a URI template, whichever of them the server has.
        Raises ValueError if there is no such prompt or template, if it has no such argument, or if that has a
        completion already.
        """
        key = _key(ref)
        target = self._template(key[1]) if key[0] == "ref/resource" else self._prompt(key[1])
        if not key[0] and target is None:
            target = self._template(key[1])
        if target is None:
            raise ValueError("there is no %s %r to complete arguments of; register it before its completions" % (
                _CALLED[key[0]], key[1]))
        if argument not in target.arguments:
            raise ValueError("%r has no argument %r to complete; it has %s" % (
                key[1], argument, ", ".join(target.arguments) or "none"))
        if (*key, argument) in self._completers:
            raise ValueError("%r has a completion for %r already" % (key[1], argument))
        self._completers[(*key, argument)] = Completer(function)

    def values(self) -> List[Completer]:
        """Return the functions that were registered."""
        return list(self._completers.values())

    def completes(self) -> bool:
        """Return True if any function was registered."""
        return bool(self._completers)

    # Act

    def route(self, revision: Revision) -> Route:
        """Return the route of `completion/complete`."""
        read = params_reader(CompleteRequestParams, revision)
        write = encoder(CompleteResult, revision)

        def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
            limits = context.connection.limits
            # The rate limit [.. server/utilities/completion §Implementation Considerations] SHOULD
            # [.. server/utilities/completion §Security] MUST
            if not context.rate("max_completions_per_second").take():
                raise RpcError(INTERNAL_ERROR, "Too many completions: max_completions_per_second (%g) is reached; "
                               "ask again later" % limits.max_completions_per_second)
            asked = read(params, context)
            settled = asked.context if revision.completion_context else None
            arguments = dict(settled.arguments or {}) if settled is not None else {}
            value = self._complete(context, asked, arguments)
            return write(CompleteResult(completion=_cut(value, min(limits.max_completion_values, MOST))))

        return Route(answer)

    def _complete(self, context: Context, asked: CompleteRequestParams, arguments: Dict[str, str]) -> Any:
        """Return the values for the argument: of its function, or of its annotation; [] if it has neither."""
        target = self._find(asked.ref, context)
        name, typed = asked.argument.name, asked.argument.value
        for path, one in [("params.argument.name", name)] + [("params.context.arguments", one) for one in arguments]:
            if one not in target.arguments:
                text = "Invalid params: %s: %s has no argument %s" % (path, shown(target.key), shown(one))
                raise RpcError(INVALID_PARAMS, text)
        completer = self._completers.get((target.kind, target.key, name))
        completer = completer or self._completers.get(("", target.key, name))
        if completer is not None:
            return completer.complete(context, typed, arguments)
        choices = target.choices(name, typed)
        if choices is None:
            return []
        return list(choices) if target.chosen else ranked(choices, typed)

    def _find(self, ref: Any, context: Context) -> _Target:
        """Return what a reference stands for; `RpcError` -32602 for an unknown one
        [2025-03-26.. server/utilities/completion §Error Handling] SHOULD."""
        if isinstance(ref, PromptReference):
            prompt = self._prompt(ref.name, context)
            if prompt is None:
                raise RpcError(INVALID_PARAMS, "Unknown prompt: %s" % shown(ref.name))
            return prompt
        template = self._template(ref.uri, context) or self._resource(ref.uri, context)
        if template is None:
            raise RpcError(INVALID_PARAMS, "Unknown resource template: %s" % shown(ref.uri))
        return template

    # What there is to complete

    def _prompt(self, name: str, context: Optional[Context] = None) -> Optional[_Target]:
        found = self._server.prompts.listing.find(name, context) if self._server.has_feature("prompts") else None
        if found is None:
            return None
        arguments = [argument.name for argument in found.describe().arguments or ()]
        return _Target("ref/prompt", name, arguments, lambda argument, typed: found.signature.choices(argument))

    def _template(self, template: str, context: Optional[Context] = None) -> Optional[_Target]:
        if not self._server.has_feature("resources"):
            return None
        found = self._server.resources.templates.find(template, context)
        if found is None:
            return None
        return _Target("ref/resource", template, found.variables, found.choices, found.chosen)

    def _resource(self, uri: str, context: Context) -> Optional[_Target]:
        """Return the template that matches a URI; a registered resource is a target without variables."""
        if not self._server.has_feature("resources"):
            return None
        if self._server.resources.listing.find(uri, context) is not None:
            return _Target("ref/resource", uri, [], lambda argument, typed: None)
        if fault(uri, context.connection.limits.max_uri_length) is None:
            for found in self._server.resources.templates.seen(context):
                if found.covers(uri):
                    return self._template(found.describe().uri_template)
        return None


def _key(ref: Ref) -> Tuple[str, str]:
    """Return the kind of a reference ("" for a str, which may be either) and the name or URI template in it."""
    if isinstance(ref, PromptReference):
        return ref.type, ref.name
    if isinstance(ref, ResourceTemplateReference):
        return ref.type, ref.uri
    if isinstance(ref, str) and ref:
        return "", ref
    raise TypeError("a completion is for a prompt's name, a URI template or a reference, not %r" % (ref,))


def _cut(value: Any, limit: int) -> Completion:
    """Return the completion with at most ``limit`` values, and ``total`` if it is known. Raises TypeError for values
    that are no strings."""
    if isinstance(value, Completion):
        values, length, more, total = value.values[:limit], len(value.values), value.has_more, value.total
        total = length if total is None and length > limit else total and max(total, length)
        made = Completion(list(values), total, True if length > limit else more)
    elif value is None or isinstance(value, (str, bytes)):
        raise TypeError("a completion returns a list of strings, not %r" % (value,))
    elif hasattr(value, "__len__"):
        made = Completion(list(islice(value, limit)), len(value), len(value) > limit)
    else:
        values = list(islice(value, limit + 1))
        made = Completion(values[:limit], None if len(values) > limit else len(values), len(values) > limit)
    for one in made.values:
        if not isinstance(one, str):
            raise TypeError("a completion returns strings, not %r" % (one,))
    return made
