"""Completion of arguments while a user types. [.. server/utilities/completion §Requesting Completions]"""

from dataclasses import field
from typing import Dict, List, Optional, Union

from ..codec import Model, member, message
from ..revisions import R2025_06_18
from .base import MetaObject, request_meta, result_meta, result_type


@message
class PromptReference(Model):
    """An argument of a prompt. [.. server/utilities/completion §Reference Types]"""

    type: str = field(init=False, default="ref/prompt")
    name: str
    title: Optional[str] = member(default=None, since=R2025_06_18)


@message
class ResourceTemplateReference(Model):
    """A variable of a resource template. [.. server/utilities/completion §Reference Types]"""

    type: str = field(init=False, default="ref/resource")
    uri: str
    """The template, or a URI."""


Ref = Union[str, PromptReference, ResourceTemplateReference]
"""The reference of a completion, as users write it: a prompt by its name, a resource template by its URI."""


@message
class CompletionArgument(Model):
    """The argument that is being typed. [.. server/utilities/completion §Requesting Completions]"""

    name: str
    value: str
    """The text as far as it has been typed."""


@message
class CompletionContext(Model):
    """The arguments that have values already. [2025-06-18.. server/utilities/completion §Requesting Completions]"""

    since = R2025_06_18

    arguments: Optional[Dict[str, str]] = member(default=None)


@message
class CompleteRequestParams(Model):
    """The params of `completion/complete`. [.. server/utilities/completion §CompleteRequest]"""

    ref: Union[PromptReference, ResourceTemplateReference]
    argument: CompletionArgument
    context: Optional[CompletionContext] = member(default=None, since=R2025_06_18)
    meta: Optional[MetaObject] = request_meta()


@message
class Completion(Model):
    """Suggestions, best first. [.. server/utilities/completion §Completion Results]"""

    values: List[str]
    """At most 100 suggestions."""
    total: Optional[int] = member(default=None)
    """The number of all suggestions, with those that were not sent."""
    has_more: Optional[bool] = member(default=None)


@message
class CompleteResult(Model):
    """The result of `completion/complete`. [.. server/utilities/completion §CompleteResult]"""

    completion: Completion
    result_type: str = result_type()
    meta: Optional[MetaObject] = result_meta()
