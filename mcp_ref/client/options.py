"""The options of calls, each with its default and its meaning, and the types of the functions that calls accept."""

from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Optional, TypedDict

from ..options import REQUEST_TIMEOUT, takes
from ..peer.request_table import ProgressCallback

if TYPE_CHECKING:
    from typing import Literal

    from typing_extensions import Required

Reader = Callable[[Dict[str, Any]], Any]
"""A function that makes the message of a result object."""
Keep = Callable[[Dict[str, Any], Any], None]
"""A function that caches a result; called with the result object and the message made of it."""
UpdateCallback = Callable[[str], object]
"""A function that is called with the URI of the resource that changed."""


class RequestOptions(TypedDict, total=False):
    """The options of every call of a client.

    ``timeout``: seconds without an answer, after which the request is cancelled and `RequestTimeout` raised (default:
    ``request_timeout`` of the limits; None: only their ``request_ceiling``). For a list: for each page.
    ``progress``: a function ``(value, total, message)`` that is called while the request is worked on, in the thread
    that waits, or for futures on the executor.
    ``extend_on_progress``: True to start ``timeout`` again with each progress that comes.
    ``meta``: members for the `_meta` of the request.
    """

    timeout: Optional[float]
    progress: Optional[ProgressCallback]
    extend_on_progress: bool
    meta: Optional[Dict[str, Any]]


class AnswerOptions(RequestOptions, total=False):
    """The options of calls that a server may answer by questions (2026-07-28), see `mcp_ref.client.mrtr`.

    ``input_responses``: the caller's answers, by the key of the question.
    ``request_state``: the text that came with the questions.
    ``rounds="manual"``: return what the server asks, an `InputRequiredResult`, to the caller, and do not call the
    callbacks of the client.
    """

    input_responses: Optional[Mapping[str, Any]]
    request_state: Optional[str]


class CallOptions(AnswerOptions, total=False):
    """The options of a call that returns its result."""

    rounds: None


class ManualOptions(AnswerOptions, total=False):
    """The options of a call that may return an `InputRequiredResult` instead."""

    rounds: "Required[Literal['manual']]"


class Options(AnswerOptions, total=False):
    """The options of a call inside the client: all of `RequestOptions`, and the others where a call takes them."""

    rounds: Optional[str]


REQUEST_DEFAULTS: Options = {"timeout": REQUEST_TIMEOUT, "progress": None, "extend_on_progress": False, "meta": None}
"""The defaults of `RequestOptions`."""
CALL_DEFAULTS: Options = {**REQUEST_DEFAULTS, "rounds": None, "input_responses": None, "request_state": None}
"""The defaults of `CallOptions`."""
takes_request_options = takes(RequestOptions, REQUEST_DEFAULTS)
takes_call_options = takes(Options, CALL_DEFAULTS)
