"""Cancelling a request that is under way.

[..2025-11-25 basic/utilities/cancellation §Cancellation Flow], [2026-07-28 basic/patterns/cancellation
§Cancellation Flow].
"""

from typing import Optional

from ..codec import Model, member, message
from ..revisions import R2025_06_18, R2026_07_28
from .base import MetaObject, RequestId, notification_meta


@message
class CancelledNotificationParams(Model):
    """The request to cancel, with or without a reason.

    The id may be missing in 2025-11-25 only, where tasks are cancelled by a request of their own.
    """

    request_id: Optional[RequestId] = member(default=None, required=((None, R2025_06_18), (R2026_07_28, None)))
    reason: Optional[str] = member(default=None)
    meta: Optional[MetaObject] = notification_meta()
