"""Subscriptions: a request that is answered by notifications. [2026-07-28 basic/patterns/subscriptions §Opening a
Stream]

The stream stays open; every message on it has the id of the request in its `_meta`.
"""

from typing import List, Optional

from ..codec import Model, member, message
from ..revisions import R2026_07_28
from .base import Implementation, MetaObject, RequestId, notification_meta, request_meta, result_type


@message
class SubscriptionFilter(Model):
    """The changes that a client asks for. [2026-07-28 basic/patterns/subscriptions §Notification Filter]"""

    since = R2026_07_28

    tools_list_changed: Optional[bool] = member(default=None)
    prompts_list_changed: Optional[bool] = member(default=None)
    resources_list_changed: Optional[bool] = member(default=None)
    resource_subscriptions: Optional[List[str]] = member(default=None)
    """URIs of resources."""


@message
class SubscriptionsListenRequestParams(Model):
    """The params of `subscriptions/listen`. [2026-07-28 basic/patterns/subscriptions §Opening a Stream]"""

    since = R2026_07_28

    notifications: SubscriptionFilter
    meta: Optional[MetaObject] = request_meta()


@message
class SubscriptionsAcknowledgedNotificationParams(Model):
    """The changes that the server will send. [2026-07-28 basic/patterns/subscriptions §Acknowledgment]"""

    since = R2026_07_28

    notifications: SubscriptionFilter
    meta: Optional[MetaObject] = notification_meta()


@message
class SubscriptionsListenResultMetaObject(Model):
    """The members that the protocol defines in the `_meta` of the last message of a stream."""

    since = R2026_07_28

    subscription_id: RequestId
    server_info: Optional[Implementation] = member(default=None)


@message
class SubscriptionsListenResult(Model):
    """The server has ended the stream. [2026-07-28 basic/patterns/subscriptions §Graceful Closure]"""

    since = R2026_07_28

    meta: MetaObject = member(shape=SubscriptionsListenResultMetaObject)
    result_type: str = result_type()
