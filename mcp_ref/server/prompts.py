"""Prompts: templates that a user picks [.. server/prompts §Protocol Messages].

Arguments are strings on the wire; a parameter annotated ``int``, ``float`` or ``bool`` gets its
argument converted. A function returns a str (one message of the user), a message, a content block,
or a list of these.

What goes wrong, and what the client sees [.. server/prompts §Error Handling] SHOULD:

=====================================================  =============================================
unknown prompt                                         error -32602
a missing or unknown argument, one that does not fit   error -32602, naming it
`RpcError`                                             that JSON-RPC error
any other exception of the function                    error -32603 without its text
messages that may not be sent (`..protocol.content`)   the same; the log has the place
=====================================================  =============================================
"""

from copy import copy
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional

from ..codec import Model, encoder
from ..errors import INVALID_PARAMS, RpcError
from ..jsonrpc import shown
from ..messages.prompts import (
    GetPromptRequestParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage,
)
from ..options import with_defaults
from ..peer.context import Context, Route, params_reader
from ..revisions import Revision
from .families import PROMPT, takes_prompt_options
from .hints.signature import BindError, LazyValidator, Signature
from .registry.checks import Paging, check_texts, name_of, visible_of
from .registry.listing import Listing
from .results import check_asking, checked_block, content_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .families import PromptOptions
    from .registry.caching import Cache
    from .registry.visibility import Visible


class RegisteredPrompt:
    """A function that is a prompt, and its message for `prompts/list`."""

    def __init__(self, prompt: Prompt, signature: Signature, visible: "Optional[Visible]" = None) -> None:
        self.prompt = prompt
        self.visible = visible
        """The function that says who sees it; None: everybody."""
        self.signature = signature
        self._inputs = LazyValidator(lambda: signature.input_schema)
        self._also_required = [argument.name for argument in prompt.arguments or () if argument.required]

    def describe(self) -> Prompt:
        """Return the message of this prompt for `prompts/list`."""
        if self.prompt.description is None:
            self.prompt.description = self.signature.description
        if self.prompt.arguments is None:
            self.prompt.arguments = _arguments(self.signature)
        return self.prompt

    def check(self) -> None:
        """Raise TypeError or ValueError, at registration, for icons, `_meta` and arguments that may not be sent."""
        prompt, where = self.prompt, "prompt %s" % self.prompt.name
        if prompt.icons is not None or prompt.meta is not None:
            from ..protocol.content import check_item

            check_item(where, icons=prompt.icons, meta=prompt.meta)
        if prompt.arguments is None:
            return
        named = [argument.name for argument in prompt.arguments]
        wrong = [name for name in named if name not in self.signature.parameters or named.count(name) > 1]
        wrong += [name for name in self.signature.required if name not in self._also_required]
        if wrong:
            raise ValueError("%s: arguments must be the function's parameters, each once, with required=True where it "
                             "has no default; see %s" % (where, ", ".join(wrong)))

    def get(self, context: Context, arguments: Dict[str, str]) -> GetPromptResult:
        """Run the function, and return its result. Raises `RpcError` -32602 for bad arguments, and its exceptions."""
        keywords = self._keywords(arguments)
        if self.signature.context_parameter is not None:
            keywords[self.signature.context_parameter] = context
        value = self.signature.call(**keywords)
        if isinstance(value, Model):
            check_asking(context, value)
        if isinstance(value, GetPromptResult):
            return _whole(value)
        return GetPromptResult(messages=_messages(value), description=self.describe().description)

    def _keywords(self, arguments: Dict[str, str]) -> Dict[str, Any]:
        """Return the function's keyword arguments, validated [.. server/prompts §Implementation Considerations] SHOULD.
        """
        missing = [name for name in self.signature.required + self._also_required if name not in arguments]
        unknown = [name for name in arguments if name not in self.signature.parameters]
        if missing or unknown:
            kind, names = ("missing", missing) if missing else ("unknown", unknown)
            text = "Prompt %s: %s argument %s" % (self.prompt.name, kind, shown(", ".join(dict.fromkeys(names)), 200))
            raise RpcError(INVALID_PARAMS, text)
        mended, _ = self.signature.coerce(arguments)
        for violation in self._inputs.validate(mended):
            raise RpcError(INVALID_PARAMS, "Prompt %s: %s" % (self.prompt.name, violation.about("arguments")))
        try:
            return dict(self.signature.bind(mended))
        except BindError as error:
            raise RpcError(INVALID_PARAMS, "Prompt %s: %s" % (self.prompt.name, error.about("arguments"))) from None


class Prompts:
    """The prompts of one server."""

    def __init__(
        self, paging: Paging, changed: "Optional[Callable[[Optional[Visible]], None]]" = None,
        cache: "Optional[Cache]" = None,
    ) -> None:
        self.listing: Listing[RegisteredPrompt] = Listing(
            "prompt", ListPromptsResult, "prompts", RegisteredPrompt.describe, paging, changed, cache
        )

    # Registration

    @takes_prompt_options
    def add(self, function: Callable[..., Any], **options: "Unpack[PromptOptions]") -> RegisteredPrompt:
        """Register a function; see `Server.prompt`."""
        given = with_defaults(Prompts.add, PROMPT, options)
        name, title, description = name_of("prompt", function, given["name"]), given["title"], given["description"]
        check_texts("prompt %s" % (name,), name=name, title=title, description=description)
        prompt = Prompt(name, title, description, given["arguments"], given["icons"], given["meta"])
        registered = RegisteredPrompt(prompt, Signature(function), visible_of("prompt %s" % name, given["visible"]))
        registered.check()
        self.listing.add(name, registered)
        return registered

    def resolve(self) -> None:
        """Raise `Unresolved` for an annotation that is still undefined, without which no list can be made."""
        for prompt in self.listing.values():
            prompt.signature.resolve()

    def completes(self) -> bool:
        """Return True if the annotation of any prompt's argument lists its values; see `mcp_ref.server.completion`."""
        return any(prompt.signature.choices(name) is not None
                   for prompt in self.listing.values() for name in prompt.signature.parameters)

    # Act

    def get_route(self, revision: Revision) -> Route:
        """Return the route of `prompts/get`."""
        read = params_reader(GetPromptRequestParams, revision)
        write = encoder(GetPromptResult, revision)

        def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
            wanted = read(params, context)
            prompt = self.listing.find(wanted.name, context)
            if prompt is None:
                raise RpcError(INVALID_PARAMS, "Unknown prompt: %s" % shown(wanted.name))
            return write(prompt.get(context, wanted.arguments or {}))

        return Route(answer)


def _arguments(signature: Signature) -> Optional[List[PromptArgument]]:
    described = signature.input_schema.get("properties", {})
    arguments = []
    for name in signature.parameters:
        description = described.get(name, {}).get("description")
        arguments.append(PromptArgument(name, None, description, True if name in signature.required else None))
    return arguments or None


def _messages(value: Any) -> List[PromptMessage]:
    """Return the messages of a function's return value."""
    items = value if isinstance(value, (list, tuple)) else [value]
    messages: List[PromptMessage] = []
    for at, item in enumerate(items):
        path = "messages[%d]" % at
        if isinstance(item, PromptMessage):
            messages.append(_message(path, item))
        else:
            messages += [PromptMessage("user", block) for block in content_of(item, path + ".content")]
    return messages


def _message(path: str, given: PromptMessage) -> PromptMessage:
    """Return a message that the author made, checked: a role and one block [.. server/prompts §PromptMessage]."""
    from ..protocol.content import check_role

    check_role(path + ".role", given.role)
    made = copy(given)
    made.content = checked_block(path + ".content", given.content)
    return made


def _whole(given: GetPromptResult) -> GetPromptResult:
    """Return a result that the author made, checked."""
    if given.meta is not None:
        from ..protocol.content import check_meta

        check_meta("_meta", given.meta)
    for message in given.messages:
        if not isinstance(message, PromptMessage):
            raise TypeError("messages: expected PromptMessage, got %s" % type(message).__name__)
    made = copy(given)
    made.messages = _messages(given.messages)
    return made
