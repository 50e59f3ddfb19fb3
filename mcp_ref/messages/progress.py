"""Progress of a request that asked for it by a token in its `_meta`.

[..2025-11-25 basic/utilities/progress §Progress Flow], [2026-07-28 basic/patterns/progress §Progress Flow].
"""

from typing import Optional

from ..codec import Model, member, message
from ..revisions import R2025_03_26
from .base import MetaObject, ProgressToken, notification_meta


@message
class ProgressNotificationParams(Model):
    """The params of `notifications/progress`. ``progress`` only grows, even if ``total`` is not known."""

    progress_token: ProgressToken
    progress: float
    total: Optional[float] = member(default=None)
    message: Optional[str] = member(default=None, since=R2025_03_26)
    meta: Optional[MetaObject] = notification_meta()
