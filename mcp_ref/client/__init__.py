"""The client role: connect to a server and use it.

>>> from mcp_ref import connect
>>> with connect("python3 examples/echo_server.py") as client:   # doctest: +SKIP
...     client.call_tool("add", {"a": 1, "b": 2}).structured_content

A reading order. First the client and its calls:

- `connecting`: from a command, an address or a server of this process to a connected client
- `client`: its life from `Client.open` to `Client.close`, its calls, page by page, and what happens with messages of
  the server
- `request_flow`: the way of a request from its params to its result, with all that the first answer does not settle:
  rounds, retries, extensions; `futures`: the same for callers who do not wait; `mrtr`: what the server asks first
- `options`: what each call accepts
- `cached_calls` and `cache`: answers that need not be asked for
- `structured`: the check of tool results; `completion`: suggestions while a user types; `icons`: which may be shown

Then how a connection begins, and what else it carries:

- `opening`: finding out what the server speaks, and what both sides say of themselves
- `subscriptions`: hearing of changes

And what a client does for its server: `client_capabilities`, with `roots`, `sampling` and `elicitation`.

The package exports more than `Client` and `connect`: the features of a client (`Sampling`, `Elicitation`, `Roots`,
`ModelCard`, `UrlRequest`), what callbacks get (`Context`), what ``submit_*`` and ``start_tool`` return
(`RequestFuture`, `ToolTask`), the wire (`Trace`, `to_text`, `to_file`), executors for callbacks (`Inline`,
`MainThreadQueue`), extensions (`Extension`, with `Method` and `Route`), and exceptions. Each name is loaded when it is
first used. Messages are in `mcp_ref.messages`.
"""

from typing import TYPE_CHECKING, Any

from .cache import SharedAnswers
from .client import Client
from .connecting import connect

if TYPE_CHECKING:
    from ..errors import ConnectFailed, ConnectionLost, NoThreads, PeerError, RequestTimeout
    from ..ext.skills.client import LoadedSkill, UnverifiedSkill
    from ..ext.tasks.client.task import ToolTask
    from ..methods import Method
    from ..peer.context import Context, Route
    from ..peer.executors import Inline
    from ..peer.extension import Extension
    from ..peer.future import RequestFuture
    from ..peer.main_thread import MainThreadQueue
    from ..wiretrace import Trace, to_file, to_text
    from .elicitation import Elicitation, UrlRequest
    from .roots import Roots
    from .sampling import ModelCard, Sampling

_LATE = {
    "ConnectFailed": "..errors", "ConnectionLost": "..errors", "NoThreads": "..errors",
    "PeerError": "..errors", "RequestTimeout": "..errors", "Method": "..methods", "Context": "..peer.context",
    "Route": "..peer.context", "Extension": "..peer.extension", "RequestFuture": "..peer.future",
    "MainThreadQueue": "..peer.main_thread", "Inline": "..peer.executors", "Trace": "..wiretrace",
    "to_file": "..wiretrace", "to_text": "..wiretrace", "Elicitation": ".elicitation", "UrlRequest": ".elicitation",
    "ModelCard": ".sampling", "Roots": ".roots", "Sampling": ".sampling",
    "LoadedSkill": "..ext.skills.client", "UnverifiedSkill": "..ext.skills.client",
    "ToolTask": "..ext.tasks.client.task",
}
"""Name -> module."""

__all__ = [
    "Client", "ConnectFailed", "ConnectionLost", "Context", "Elicitation", "Extension", "Inline", "LoadedSkill",
    "MainThreadQueue", "Method", "ModelCard", "NoThreads", "PeerError", "RequestFuture", "RequestTimeout", "Roots",
    "Route", "Sampling", "SharedAnswers", "ToolTask", "Trace", "UnverifiedSkill", "UrlRequest", "connect",
    "to_file", "to_text",
]


def __getattr__(name: str) -> Any:
    home = _LATE.get(name)
    if home is None:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    from importlib import import_module

    value = globals()[name] = getattr(import_module(home, __name__), name)
    return value
