"""Multi round-trip requests: a server that cannot send requests asks the client by its result.

[2026-07-28 basic/patterns/mrtr §Core Types]. The requests that earlier revisions send from server to
client travel inside an `InputRequiredResult`, each under a key; the client sends the original
request again with an answer under each key, and with the server's ``request_state`` untouched.
"""

from dataclasses import field
from typing import Dict, Optional, Union

from ..codec import Mark, Model, member, message, tell_apart
from ..revisions import R2026_07_28
from .base import MetaObject, result_meta, result_type
from .elicitation import ElicitRequestParams, ElicitResult
from .roots import ListRootsRequestParams, ListRootsResult
from .sampling import CreateMessageRequestParams, CreateMessageResult


@message
class CreateMessageRequest(Model):
    """A sampling request inside a result. [2026-07-28 basic/patterns/mrtr §Supported Requests]"""

    since = R2026_07_28

    method: str = field(init=False, default="sampling/createMessage")
    params: CreateMessageRequestParams


@message
class ListRootsRequest(Model):
    """A request for roots inside a result. [2026-07-28 basic/patterns/mrtr §Supported Requests]"""

    since = R2026_07_28

    method: str = field(init=False, default="roots/list")
    params: Optional[ListRootsRequestParams] = member(default=None)


@message
class ElicitRequest(Model):
    """An elicitation request inside a result. [2026-07-28 basic/patterns/mrtr §Supported Requests]"""

    since = R2026_07_28

    method: str = field(init=False, default="elicitation/create")
    params: ElicitRequestParams


InputRequest = Union[CreateMessageRequest, ListRootsRequest, ElicitRequest]
InputRequests = Dict[str, InputRequest]
"""Requests by keys that the server chooses. [2026-07-28 basic/patterns/mrtr §InputRequests]"""

InputResponse = Union[CreateMessageResult, ListRootsResult, ElicitResult]
InputResponses = Dict[str, InputResponse]
"""Results by the keys of the requests. [2026-07-28 basic/patterns/mrtr §InputResponses]"""

tell_apart(Mark(ListRootsResult, "roots"), Mark(ElicitResult, "action"), Mark(CreateMessageResult, "model"))


@message
class InputRequiredResult(Model):
    """The result of a request that needs input first. [2026-07-28 basic/patterns/mrtr §InputRequiredResult]

    At least one of the two members is there.
    """

    since = R2026_07_28

    input_requests: Optional[InputRequests] = member(default=None)
    request_state: Optional[str] = member(default=None)
    """A text that has a meaning for the server only."""
    result_type: str = result_type("input_required")
    meta: Optional[MetaObject] = result_meta()
