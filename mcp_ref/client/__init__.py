"""The client role: connect to a server and use it.

>>> from mcp_ref import connect
>>> with connect("python3 examples/echo_server.py") as client:   # doctest: +SKIP
...     client.call_tool("add", {"a": 1, "b": 2}).structured_content

Reading order: `client` (its life, and what it hears), `calls` (what it asks, page by page) and under
them `asking`, `remembering` with `caches` and `kept`, `completion`, `structured`, `futures`, `subscriptions`, `icons`;
`offers` and behind it `roots`, `sampling` with `models`, `elicitation` with `links` (what a server may ask of it);
`targets` (what it connects to).

What programs need beside `Client` and `connect` can be had from here, too: what the server may ask (`Sampling`,
`Elicitation`, `Roots`, `ModelCard`, `UrlRequest`), the wire (`Trace`, `to_text`), who runs callbacks (`Inline`,
`MainThreadQueue`), what lies beyond the protocol (`Extension`), and what may be caught. It is loaded when it is first
asked for.
"""

from typing import TYPE_CHECKING, Any

from .client import Client
from .kept import SharedAnswers
from .targets import connect

if TYPE_CHECKING:
    from ..errors import ConnectFailed, ConnectionLost, PeerError, RequestTimeout
    from ..peer.extension import Extension
    from ..peer.mainthread import MainThreadQueue
    from ..peer.workers import Inline
    from ..wiretrace import Trace, to_text
    from .elicitation import Elicitation
    from .links import UrlRequest
    from .models import ModelCard
    from .roots import Roots
    from .sampling import Sampling

_LATE = {
    "ConnectFailed": "..errors", "ConnectionLost": "..errors", "PeerError": "..errors",
    "RequestTimeout": "..errors", "Extension": "..peer.extension",
    "MainThreadQueue": "..peer.mainthread", "Inline": "..peer.workers", "Trace": "..wiretrace",
    "to_text": "..wiretrace", "Elicitation": ".elicitation", "UrlRequest": ".links", "ModelCard": ".models",
    "Roots": ".roots", "Sampling": ".sampling",
}
"""Name -> module."""

__all__ = [
    "Client", "ConnectFailed", "ConnectionLost", "Elicitation", "Extension", "Inline", "MainThreadQueue", "ModelCard",
    "PeerError", "RequestTimeout", "Roots", "Sampling", "SharedAnswers", "Trace", "UrlRequest", "connect", "to_text",
]


def __getattr__(name: str) -> Any:
    home = _LATE.get(name)
    if home is None:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    from importlib import import_module

    value = globals()[name] = getattr(import_module(home, __name__), name)
    return value
