"""The options of a client and of its calls, each with its default, and the types of the functions that calls accept.

The members of `SessionOptions`, `ClientOptions` and `ReachOptions` are described where users look for them, by
`mcp_ref.Client` and `mcp_ref.connect`.
"""

from typing import (
    TYPE_CHECKING, Any, Callable, Dict, List, Mapping, MutableMapping, Optional, Sequence, TypedDict, Union,
)

from ..limits import DEFAULT, Limits
from ..options import REQUEST_TIMEOUT, takes
from ..peer.request_table import ProgressCallback
from ..version import __version__

if TYPE_CHECKING:
    import os
    import ssl
    from typing import Literal

    from typing_extensions import Required

    from ..messages.base import Icon
    from ..messages.lifecycle import ClientCapabilities, Settings
    from ..peer.executors import Executor
    from ..peer.extension import Extension
    from ..revisions import Revision
    from ..streamable.client.auth_provider import Authorizer, Authorizing
    from ..transports.lines.stderr import LineTarget
    from ..wiretrace import Trace
    from .cache import SharedAnswers
    from .client_capabilities import GivenElicitation, GivenRoots, GivenSampling

Reader = Callable[[Dict[str, Any]], Any]
"""A function that makes the message of a result object."""
Keep = Callable[[Dict[str, Any], Any], None]
"""A function that caches a result; called with the result object and the message made of it."""
UpdateCallback = Callable[[str], object]
"""A function that is called with the URI of the resource that changed."""
NotificationCallback = Callable[[str, Dict[str, Any]], object]
"""A function that is called with method and params."""
LogCallback = Callable[[str, Any, Optional[str]], object]
"""A function that is called with level, data (any JSON value) and the logger's name."""


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


class SessionOptions(TypedDict, total=False):
    """The options of a client that a host gives each of its servers, too."""

    title: Optional[str]
    description: Optional[str]
    website_url: Optional[str]
    icons: "Optional[List[Icon]]"
    revisions: "Optional[Sequence[Union[str, Revision]]]"
    era: Optional[str]
    eras: Optional[MutableMapping[str, str]]
    experimental: "Optional[Dict[str, Settings]]"
    capabilities: "Optional[ClientCapabilities]"
    executor: "Optional[Executor]"
    strict: bool
    check_results: bool
    cache: "Optional[SharedAnswers]"
    extensions: "Optional[Sequence[Extension]]"
    tasks: Optional[bool]
    keepalive: Optional[float]
    tolerate: Sequence[str]


class ClientOptions(SessionOptions, total=False):
    """The options of a `Client`."""

    roots: "GivenRoots"
    sampling: "GivenSampling"
    elicitation: "GivenElicitation"
    on_log: Optional[LogCallback]
    on_update: Optional[UpdateCallback]
    on_notification: Optional[NotificationCallback]
    limits: Limits
    restart: bool


class StartOptions(TypedDict, total=False):
    """The options of `connect` that say how a server is started, or what a request to it carries."""

    env: Optional[Mapping[str, str]]
    inherit_env: Optional[bool]
    cwd: "Union[str, os.PathLike[str], None]"
    stderr: "LineTarget"
    headers: Optional[Mapping[str, str]]
    token: Optional[str]
    ssl_context: "Optional[ssl.SSLContext]"
    cafile: Optional[str]


class ReachOptions(StartOptions, total=False):
    """The options of `connect` that say how a server is started or reached."""

    auth: "Union[Authorizing, Authorizer, None]"
    trace: "Union[Trace, str, os.PathLike[str], None]"


class ConnectOptions(ReachOptions, ClientOptions, total=False):
    """The options of `connect`."""

    name: str
    version: str


SESSION_DEFAULTS: SessionOptions = {
    "title": None, "description": None, "website_url": None, "icons": None, "revisions": None, "era": None,
    "eras": None, "experimental": None, "capabilities": None, "executor": None, "strict": False, "check_results": True,
    "cache": None, "extensions": None, "tasks": None, "keepalive": None, "tolerate": (),
}
CLIENT_DEFAULTS: ClientOptions = {
    **SESSION_DEFAULTS, "roots": None, "sampling": None, "elicitation": None, "on_log": None, "on_update": None,
    "on_notification": None, "limits": DEFAULT, "restart": False,
}
REACH_DEFAULTS: ReachOptions = {
    "env": None, "inherit_env": None, "cwd": None, "stderr": None, "headers": None, "token": None, "auth": None,
    "ssl_context": None, "cafile": None, "trace": None,
}
CONNECT_DEFAULTS: ConnectOptions = {
    **REACH_DEFAULTS, "name": "mcp_ref", "version": __version__, **CLIENT_DEFAULTS,
}
takes_client_options = takes(ClientOptions, CLIENT_DEFAULTS)
takes_reach_options = takes(ReachOptions, REACH_DEFAULTS)
takes_connect_options = takes(ConnectOptions, CONNECT_DEFAULTS)
