"""The context of a server's handlers: what the client can be asked and told while a request runs."""

from typing import Any, Dict, Optional

from ..jsontext import dumps
from ..peer.context import Context as RequestContext

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""Severities, mildest first [.. server/utilities/logging §Log Levels]."""


class Context(RequestContext):
    """What a tool, resource or prompt gets when it declares a parameter of this type.

    ``progress``, ``cancelled`` and ``check`` are described at `mcp_ref.peer.context.Context`.
    """

    __slots__ = ()

    def log(self, level: str, data: Any, logger: Optional[str] = None) -> None:
        """Send a log message to the client, if its level is loud enough for it.

        ``level`` is one of LEVELS (ValueError otherwise), ``data`` any JSON value
        [..2025-11-25 server/utilities/logging §Log Message Notifications].
        """
        if level not in LEVELS:
            raise ValueError("unknown log level %r; levels are %s" % (level, ", ".join(LEVELS)))
        if LEVELS.index(level) < self.connection.state.get("log_level", 0):
            return
        dumps(data)  # refuse here, where the caller can see it
        params: Dict[str, Any] = {"level": level, "data": data}
        if logger is not None:
            params["logger"] = logger
        self.notify("notifications/message", params)
