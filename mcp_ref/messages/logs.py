"""Log messages from a server. [.. server/utilities/logging §Log Message Notifications]

Up to 2025-11-25 the client sets the least severe level once, by a request; since 2026-07-28 the `_meta` of each
request has the level for the messages that are sent while it runs.
"""

from typing import Any, Literal, Optional, Tuple

from ..codec import Model, member, message
from ..revisions import R2025_11_25
from .base import MetaObject, notification_meta, request_meta

LoggingLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]

LEVELS: Tuple[str, ...] = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""The levels, least severe first, as in RFC 5424. [.. server/utilities/logging §Log Levels]"""


@message
class SetLevelRequestParams(Model):
    """The params of `logging/setLevel`. [..2025-11-25 server/utilities/logging §Setting Log Level]"""

    until = R2025_11_25

    level: LoggingLevel
    """The least severe level that is sent."""
    meta: Optional[MetaObject] = request_meta()


@message
class LoggingMessageNotificationParams(Model):
    """The params of `notifications/message`. [.. server/utilities/logging §Log Message Notifications]"""

    level: LoggingLevel
    data: Any
    """Any JSON value: a text, or an object with details."""
    logger: Optional[str] = member(default=None)
    meta: Optional[MetaObject] = notification_meta()
