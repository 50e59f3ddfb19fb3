"""Completion: suggestions while a user types [.. server/utilities/completion §Requesting Completions].

Each key that the user presses asks: so the answers are kept for a while
[.. server/utilities/completion §Implementation Considerations] SHOULD, questions are limited by
``max_completions_per_second`` [.. server/utilities/completion §Security] MUST, and each is checked before
it is sent (the same MUST). An answer with gaps is no error of the user's: a missing member counts as empty.

Reading: a server does not announce that suggestions changed. Answers are forgotten after
``cached_completion_seconds``, and all of them when the server says that its prompts or resources changed.
"""

import threading
from collections import OrderedDict
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from .. import deadline
from ..codec import DecodeError, decode, encode
from ..errors import Busy, LocalProtocolError, PeerProtocolError
from ..messages.completion import (
    CompleteRequestParams, CompleteResult, CompletionArgument, CompletionContext, PromptReference, Ref,
    ResourceTemplateReference,
)
from ..peer.dispatcher import Connection
from ..uritemplate import variables
from .cache import ServerCache, Version

CITATION = ".. server/utilities/completion §Security"
MOST = 100
"""The values of one answer, at most [.. server/utilities/completion §Completion Results]."""
_KINDS = ("resources", "resource_templates", "prompts")


_LARGEST = 64 * 1024
"""The characters of an answer that is kept, at most."""


class CompletionCache:
    """The completions asked of one server, and its answers that are kept. Thread-safe."""

    def __init__(self, connection: Connection, cache: ServerCache, strict: bool) -> None:
        self._connection = connection
        self._cache = cache
        self._strict = strict
        self._lock = threading.Lock()
        self._version: List[Version] = []
        self._kept: "OrderedDict[Any, Tuple[float, CompleteResult]]" = OrderedDict()

    def ask(
        self, ref: Ref, argument: str, value: str, arguments: Optional[Mapping[str, str]], fresh: bool
    ) -> Tuple[Dict[str, Any], Optional[CompleteResult], Callable[[Dict[str, Any]], CompleteResult]]:
        """Check the question, and return its params, its answer, if that is cached, and the function that makes the
        message of an answer, and keeps it. ``fresh``: True to leave the cache out.

        Raises `LocalProtocolError` for what may not be asked, `Busy` if this was asked too often.
        """
        reference = _reference(ref)
        _check(reference, argument, value, arguments)
        context = CompletionContext(dict(arguments)) if arguments else None
        params = CompleteRequestParams(reference, CompletionArgument(argument, value), context, meta={})
        rules = self._connection.session.rules
        wire = encode(params, rules)
        del wire["_meta"]  # the connection writes it
        key = (wire["ref"]["type"], wire["ref"].get("name"), wire["ref"].get("uri"), argument, value,
               tuple(sorted(wire["context"]["arguments"].items())) if "context" in wire else ())
        answer = None if fresh else self._find(key)
        limits = self._connection.limits
        if answer is None and not self._connection.rate("max_completions_per_second").take():
            raise Busy("more completions than max_completions_per_second (%g)" % limits.max_completions_per_second)
        version = self._cache.version(_KINDS)

        def read(result: Dict[str, Any]) -> CompleteResult:
            answer = self._read(result)
            self._keep(key, version, answer)
            return answer

        return wire, answer, read

    def _find(self, key: Any) -> Optional[CompleteResult]:
        with self._lock:
            if self._version != self._cache.version(_KINDS):
                return None
            until, answer = self._kept.get(key, (0.0, None))
            return answer if until > deadline.clock() else None

    def _keep(self, key: Any, version: List[Version], answer: CompleteResult) -> None:
        limits = self._connection.limits
        if sum(map(len, answer.completion.values)) > _LARGEST:
            return
        with self._lock:
            if version != self._cache.version(_KINDS):
                return  # out of date already
            if self._version != version:
                self._kept.clear()
                self._version = version
            self._kept.pop(key, None)
            self._kept[key] = (deadline.clock() + limits.cached_completion_seconds, answer)
            while len(self._kept) > limits.max_cached_completions:
                self._kept.popitem(last=False)

    def _read(self, result: Dict[str, Any]) -> CompleteResult:
        """Make the message, also of missing or partial results
        [.. server/utilities/completion §Implementation Considerations] SHOULD."""
        mended = result if self._strict else self._mend(result)
        try:
            answer: CompleteResult = decode(CompleteResult, mended, self._connection.session.rules, "result")
        except DecodeError as error:
            raise PeerProtocolError("the answer to completion/complete: %s" % error) from None
        values = answer.completion.values
        if len(values) > MOST:
            text = "%d values in one answer, where %d are allowed" % (len(values), MOST)
            if self._strict:
                raise PeerProtocolError("the answer to completion/complete: %s" % text,
                                        ".. server/utilities/completion §Completion Results")
            self._connection.counters.note("too many completions", text)
            answer.completion.values = values[:MOST]
            answer.completion.has_more = True
        return answer

    def _mend(self, result: Dict[str, Any]) -> Dict[str, Any]:
        """Return the result with empty values where they are missing or null."""
        given = result.get("completion")
        completion = {} if given is None else given
        if isinstance(completion, dict):
            completion = {name: item for name, item in completion.items() if item is not None}
            completion.setdefault("values", [])
        if completion != given:
            self._connection.counters.note("incomplete completion", "the answer had no values, or nulls")
            result = dict(result, completion=completion)
        return result


def _reference(ref: Ref) -> Union[PromptReference, ResourceTemplateReference]:
    if isinstance(ref, str):
        return ResourceTemplateReference(ref) if "{" in ref or "://" in ref else PromptReference(ref)
    if isinstance(ref, (PromptReference, ResourceTemplateReference)):
        return ref
    raise _wrong("ref is the name of a prompt, a URI template, or a reference to one of them, not %r" % (ref,))


def _check(
    ref: Union[PromptReference, ResourceTemplateReference], argument: Any, value: Any, arguments: Any
) -> None:
    named = ref.name if isinstance(ref, PromptReference) else ref.uri
    for what, text in (("ref", named), ("argument", argument), ("value", value)):
        if not isinstance(text, str) or not (text or what == "value"):
            raise _wrong("%s must be a str%s, not %r" % (what, "" if what == "value" else " that is not empty", text))
    if arguments is not None and not isinstance(arguments, Mapping):
        raise _wrong("arguments must be a mapping of names to values, not %r" % (arguments,))
    for name, settled in (arguments or {}).items():
        if not isinstance(name, str) or not isinstance(settled, str):
            raise _wrong("arguments: names and values must be str, not %r: %r" % (name, settled))
    if isinstance(ref, ResourceTemplateReference):
        _check_variable(ref.uri, argument)


def _check_variable(uri: str, argument: str) -> None:
    """Raise `LocalProtocolError` for a variable that a template does not have. A plain URI may have any."""
    try:
        names = variables(uri)
    except ValueError as error:
        raise _wrong("ref %.200r is no URI template: %s" % (uri, error)) from None
    if names and argument not in names:
        raise _wrong("the template %.200s has no variable %.80r; it has %s" % (uri, argument, ", ".join(names)))


def _wrong(text: str) -> LocalProtocolError:
    return LocalProtocolError(text, CITATION)
