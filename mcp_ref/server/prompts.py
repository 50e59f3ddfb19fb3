"""Prompts: templates that a user picks [.. server/prompts §Protocol Messages].

Arguments are strings on the wire; a parameter annotated ``int``, ``float`` or ``bool`` gets its
argument converted. A function returns a str (one message of the user), a message, a content block,
or a list of these. An unknown prompt or a missing argument is -32602
[.. server/prompts §Error Handling] SHOULD.
"""

from typing import Any, Callable, Dict, List, Optional

from ..codec import encoder
from ..errors import INVALID_PARAMS, RpcError
from ..jsonrpc import shown
from ..messages.base import Icon
from ..messages.prompts import (
    GetPromptRequestParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage,
)
from ..peer.context import Context, Route
from ..revisions import Revision
from .content import content_of
from .listing import Listing
from .params import params_reader
from .signature import BindError, Signature


class RegisteredPrompt:
    """A function and how it is shown."""

    def __init__(self, prompt: Prompt, signature: Signature) -> None:
        self.prompt = prompt
        self.signature = signature
        self._validate: Optional[Callable[[Any], List[Any]]] = None

    def describe(self) -> Prompt:
        """As `prompts/list` shows it."""
        if self.prompt.description is None:
            self.prompt.description = self.signature.description
        if self.prompt.arguments is None:
            self.prompt.arguments = _arguments(self.signature)
        return self.prompt

    def get(self, context: Context, arguments: Dict[str, str]) -> GetPromptResult:
        """Run the function. Raises `RpcError` -32602 for arguments that do not fit, and what the function raises."""
        keywords = self._keywords(arguments)
        if self.signature.context_parameter is not None:
            keywords[self.signature.context_parameter] = context
        value = self.signature.call(**keywords)
        if isinstance(value, GetPromptResult):
            return value
        return GetPromptResult(messages=_messages(value), description=self.describe().description)

    def _keywords(self, arguments: Dict[str, str]) -> Dict[str, Any]:
        missing = [name for name in self.signature.required if name not in arguments]
        unknown = [name for name in arguments if name not in self.signature.parameters]
        if missing or unknown:
            kind, names = ("missing", missing) if missing else ("unknown", unknown)
            text = "Prompt %s: %s argument %s" % (self.prompt.name, kind, ", ".join(names)[:200])
            raise RpcError(INVALID_PARAMS, text)
        mended, _ = self.signature.coerce(arguments)
        for violation in self._violations(mended):
            raise RpcError(INVALID_PARAMS, "Prompt %s: %s" % (self.prompt.name, violation))
        try:
            return dict(self.signature.bind(mended))
        except BindError as error:
            raise RpcError(INVALID_PARAMS, "Prompt %s: %s" % (self.prompt.name, error)) from None

    def _violations(self, arguments: Dict[str, Any]) -> List[Any]:
        if self._validate is None:
            from ..jsonschema import compile

            self._validate = compile(self.signature.input_schema).validate
        return self._validate(arguments)


class Prompts:
    """The prompts of one server."""

    def __init__(self, page_size: Optional[int]) -> None:
        self.listing: Listing[RegisteredPrompt] = Listing(
            "prompt", ListPromptsResult, "prompts", RegisteredPrompt.describe, page_size
        )

    # Registration

    def add(
        self,
        function: Callable[..., Any],
        *,
        name: Optional[str] = None,
        title: Optional[str] = None,
        description: Optional[str] = None,
        arguments: Optional[List[PromptArgument]] = None,
        icons: Optional[List[Icon]] = None,
        meta: Optional[Dict[str, Any]] = None,
    ) -> RegisteredPrompt:
        """Register a function; see `Server.prompt`."""
        name = name or str(getattr(function, "__name__", ""))
        prompt = Prompt(name, title, description, arguments, icons, meta)
        registered = RegisteredPrompt(prompt, Signature(function))
        self.listing.add(name, registered)
        return registered

    # Act

    def get_route(self, revision: Revision) -> Route:
        """Answers `prompts/get`."""
        read = params_reader(GetPromptRequestParams, revision)
        write = encoder(GetPromptResult, revision)

        def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
            wanted = read(params)
            prompt = self.listing.get(wanted.name)
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
    items = value if isinstance(value, (list, tuple)) else [value]
    messages: List[PromptMessage] = []
    for item in items:
        if isinstance(item, PromptMessage):
            messages.append(item)
        else:
            messages += [PromptMessage("user", block) for block in content_of(item)]
    return messages
