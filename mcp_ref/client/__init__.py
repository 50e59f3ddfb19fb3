"""The client role: connect to a server and use it.

>>> from mcp_ref import connect
>>> with connect("python3 examples/echo_server.py") as client:   # doctest: +SKIP
...     client.call_tool("add", {"a": 1, "b": 2}).structured_content

Reading order: `client` (its life, and what it hears), `calls` (what it asks, page by page) and under
them `asking`, `remembering` with `caches` and `kept`, `completion`, `structured`, `futures`, `subscriptions`, `icons`;
`offers` and behind it `roots`, `sampling` with `models`, `elicitation` with `links` (what a server may ask of it);
`targets` (what it connects to).

What programs need beside `Client` and `connect` can be had from here, too: what the server may ask (`Sampling`,
`Elicitation`, `Roots`, `ModelCard`, `UrlRequest`), what callbacks get (`Context`) and ``submit_*`` gives
(`RequestFuture`), the wire (`Trace`, `to_text`, `to_file`), who runs callbacks (`Inline`, `MainThreadQueue`), what lies
beyond the protocol (`Extension`, with `Method` and `Route`), and what may be caught. It is loaded when it is first
asked for. Messages are in `mcp_ref.messages`.
"""

from typing import TYPE_CHECKING, Any

from .client import Client
from .kept import SharedAnswers
from .targets import connect

if TYPE_CHECKING:
    from ..errors import ConnectFailed, ConnectionLost, NoThreads, PeerError, RequestTimeout
    from ..methods import Method
    from ..peer.context import Context, Route
    from ..peer.extension import Extension
    from ..peer.future import RequestFuture
    from ..peer.mainthread import MainThreadQueue
    from ..peer.workers import Inline
    from ..wiretrace import Trace, to_file, to_text
    from .elicitation import Elicitation
    from .links import UrlRequest
    from .models import ModelCard
    from .roots import Roots
    from .sampling import Sampling

_LATE = {
    "ConnectFailed": "..errors", "ConnectionLost": "..errors", "NoThreads": "..errors",
    "PeerError": "..errors", "RequestTimeout": "..errors", "Method": "..methods", "Context": "..peer.context",
    "Route": "..peer.context", "Extension": "..peer.extension", "RequestFuture": "..peer.future",
    "MainThreadQueue": "..peer.mainthread", "Inline": "..peer.workers", "Trace": "..wiretrace",
    "to_file": "..wiretrace", "to_text": "..wiretrace", "Elicitation": ".elicitation", "UrlRequest": ".links",
    "ModelCard": ".models", "Roots": ".roots", "Sampling": ".sampling",
}
"""Name -> module."""

__all__ = [
    "Client", "ConnectFailed", "ConnectionLost", "Context", "Elicitation", "Extension", "Inline", "MainThreadQueue",
    "Method", "ModelCard", "NoThreads", "PeerError", "RequestFuture", "RequestTimeout", "Roots", "Route", "Sampling",
    "SharedAnswers", "Trace", "UrlRequest", "connect", "to_file", "to_text",
]


def __getattr__(name: str) -> Any:
    home = _LATE.get(name)
    if home is None:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    from importlib import import_module

    value = globals()[name] = getattr(import_module(home, __name__), name)
    return value
