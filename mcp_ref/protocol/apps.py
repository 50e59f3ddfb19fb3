"""The page of a tool: the `_meta` that names it, as servers and hosts read it.

``io.modelcontextprotocol/ui`` [2026-07-28 extensions/apps/apps §Resource Discovery]. What has another form than the
page gives it counts as not said.
"""

from typing import Any, Mapping, Optional

MODEL = "model"
"""The one of those in ``visibility`` whose calls come from a model."""


def ui_of(meta: Optional[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return what the `_meta` of a tool says of its page; {} for a tool without."""
    found = (meta or {}).get("ui")
    return found if isinstance(found, dict) else {}


def is_for_model(meta: Optional[Mapping[str, Any]]) -> bool:
    """Return False for the `_meta` of a tool that pages of apps alone may call
    [2026-07-28 extensions/apps/apps §Visibility:] MUST NOT."""
    visibility = ui_of(meta).get("visibility")
    return not isinstance(visibility, list) or MODEL in visibility
