"""The parts that all pages share: identity, icons, annotations, `_meta`, and the plainest params and results.

[2025-06-18.. basic/index §General fields], [2025-03-26.. basic/index §Messages].

`_meta` stays a plain dict in every message: any program may put members into it, under names of its
own. The classes called ``...MetaObject`` describe the members that the protocol itself defines
there. A `_meta` is checked against them, and read with them: ``decode(RequestMetaObject,
params.meta, revision)``.
"""

from typing import TYPE_CHECKING, Any, Dict, List, Literal, Optional, Union

from ..codec import Model, member, message
from ..revisions import R2025_06_18, R2025_11_25, R2026_07_28

if TYPE_CHECKING:
    from .lifecycle import ClientCapabilities  # noqa: F401
    from .logs import LoggingLevel  # noqa: F401

RequestId = Union[str, int]
"""A string or an integer, never null, never a fraction; ``1`` and ``"1"`` are two ids."""
ProgressToken = Union[str, int]
Role = Literal["user", "assistant"]
COMPLETE = "complete"
"""The type of a result that is the answer [2026-07-28 basic/index §ResultType]."""
ResultType = str
"""``complete`` and ``input_required``; extensions may add more. [2026-07-28 basic/index §ResultType]"""
MetaObject = Dict[str, Any]

JSONValue = Any
"""Any JSON value."""
JSONObject = Dict[str, JSONValue]
JSONArray = List[JSONValue]


# -- Things that describe other things ---------------------------------------------------------


@message
class Icon(Model):
    """A picture for a user interface. [2025-11-25.. basic/index §`icons`]"""

    since = R2025_11_25

    src: str
    """An ``https:`` or ``data:`` URI."""
    mime_type: Optional[str] = member(default=None)
    sizes: Optional[List[str]] = member(default=None)
    """Sizes such as ``48x48``, or ``any``."""
    theme: Optional[Literal["light", "dark"]] = member(default=None)


@message
class Annotations(Model):
    """Hints on who should see something and how much it matters. [2025-06-18.. server/resources §Annotations]"""

    audience: Optional[List[Role]] = member(default=None)
    priority: Optional[float] = member(default=None)
    """A number from 0 (optional) to 1 (most important)."""
    last_modified: Optional[str] = member(default=None, since=R2025_06_18)
    """An ISO 8601 time."""


@message
class Implementation(Model):
    """Name and version of a client or a server. [..2025-11-25 basic/lifecycle §Initialization]"""

    name: str
    version: str
    title: Optional[str] = member(default=None, since=R2025_06_18)
    description: Optional[str] = member(default=None, since=R2025_11_25)
    website_url: Optional[str] = member(default=None, since=R2025_11_25)
    icons: Optional[List[Icon]] = member(default=None, since=R2025_11_25)


# -- `_meta` -----------------------------------------------------------------------------------


@message
class RequestMetaObject(Model):
    """The members that the protocol defines in the `_meta` of a request. [2026-07-28 basic/index §`_meta`]"""

    protocol_version: Optional[str] = member(default=None, since=R2026_07_28, required=((None, None),))
    client_capabilities: "Optional[ClientCapabilities]" = member(
        default=None, since=R2026_07_28, required=((None, None),))
    client_info: Optional[Implementation] = member(default=None, since=R2026_07_28)
    log_level: "Optional[LoggingLevel]" = member(default=None, since=R2026_07_28)
    progress_token: Optional[ProgressToken] = member(default=None)


@message
class NotificationMetaObject(Model):
    """The members that the protocol defines in the `_meta` of a notification. [2026-07-28 basic/patterns/subscriptions
    §Receiving Notifications]"""

    since = R2026_07_28

    subscription_id: Optional[RequestId] = member(default=None)
    """The id of the `subscriptions/listen` request on whose stream the notification travels."""


@message
class ResultMetaObject(Model):
    """The members that the protocol defines in the `_meta` of a result. [2026-07-28 basic/index §`_meta`]"""

    since = R2026_07_28

    server_info: Optional[Implementation] = member(default=None)


def request_meta() -> Any:
    """Declare the member ``meta`` of the params of a request: required where there is no handshake."""
    return member(default=None, required=((R2026_07_28, None),), shape=RequestMetaObject)


def notification_meta() -> Any:
    """Declare the member ``meta`` of the params of a notification."""
    return member(default=None, shape=NotificationMetaObject)


def result_meta() -> Any:
    """Declare the member ``meta`` of a result."""
    return member(default=None, shape=ResultMetaObject)


def result_type(value: str = "complete") -> Any:
    """Declare the member ``result_type`` of a result.

    A peer may leave it out, and then the result is complete: [2026-07-28 basic/index §ResultType] MUST.
    """
    return member(default=value, since=R2026_07_28, required=((None, None),), assume=value == "complete")


# -- Params and results without members of their own ------------------------------------------


@message
class RequestParams(Model):
    """The params of a request that has no others. [2025-03-26.. basic/index §Requests]"""

    meta: Optional[MetaObject] = request_meta()


@message
class NotificationParams(Model):
    """The params of a notification that has no others. [2025-03-26.. basic/index §Notifications]"""

    meta: Optional[MetaObject] = notification_meta()


@message
class Result(Model):
    """A result that says no more than *done*. [2025-03-26.. basic/index §Responses]"""

    result_type: str = result_type()
    meta: Optional[MetaObject] = result_meta()


EmptyResult = Result
"""The name of a `Result` that answers a request such as `ping`, which tests whether the peer is still there and has
no members but `_meta` [..2025-11-25 basic/utilities/ping §Message Format]."""


@message
class Error(Model):
    """The ``error`` member of an error response. [2025-11-25.. basic/index §Error Responses]"""

    code: int
    message: str
    data: Any = member(default=None)
