"""The options of a call, and the types of the functions that calls accept."""

from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional

from ..options import REQUEST_TIMEOUT
from ..peer.request_table import ProgressCallback

Reader = Callable[[Dict[str, Any]], Any]
"""A function that makes the message of a result object."""
Keep = Callable[[Dict[str, Any], Any], None]
"""A function that caches a result; called with the result object and the message made of it."""
UpdateCallback = Callable[[str], object]
"""A function that is called with the URI of the resource that changed."""


class Options(NamedTuple):
    """The options of a call, as its caller gave them; see `Calls.call_tool`."""

    timeout: Optional[float] = REQUEST_TIMEOUT
    progress: Optional[ProgressCallback] = None
    extend_on_progress: bool = False
    meta: Optional[Dict[str, Any]] = None
    rounds: Optional[str] = None
    input_responses: Optional[Mapping[str, Any]] = None
    request_state: Optional[str] = None


PLAIN = Options()
"""The options of a call whose caller gave none."""
